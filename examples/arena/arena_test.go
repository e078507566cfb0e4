package arena

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"
	"unsafe"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/engine"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// put writes a command as the simulation integers in which it travels.
func put(r *game.Rules, c Cmd, into []int64) { r.Command.Extract(unsafe.Pointer(&c), into) }

// hall is a server's world without a network.
type hall struct {
	t     *testing.T
	rules *game.Rules
	e     *engine.Engine
	tick  game.Tick
	seen  map[game.ID]Player // what shooters see instead of the present
	age   float64            // ticks by which what shooters see is older than the tick
	most  time.Duration      // how far back the newest command may reach that says so
}

func newHall(t *testing.T) *hall {
	t.Helper()
	rules, err := Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	h := &hall{t: t, rules: rules, e: engine.NewServer(rules, 3, 4), seen: map[game.ID]Player{}}
	h.pass(1)
	return h
}

// pass lets n ticks go by without commands.
func (h *hall) pass(n int) {
	for range n {
		h.step(0, Cmd{})
	}
}

// step is one tick with a command of one player, 0: nobody. It returns the events.
func (h *hall) step(id game.ID, c Cmd) []engine.Emitted {
	h.t.Helper()
	h.e.Drain()
	h.tick++
	h.e.SetTick(h.tick)
	if id != 0 {
		cmd := make([]int64, h.rules.Command.Sims)
		put(h.rules, c, cmd)
		if err := h.e.Act(id, cmd, h, false); err != nil {
			h.t.Fatal(err)
		}
	}
	if err := h.e.Step(false); err != nil {
		h.t.Fatal(err)
	}
	if err := h.e.Referee(); err != nil {
		h.t.Fatal(err)
	}
	return h.e.Events()
}

func (h *hall) join(x, y, z float64) game.ID {
	h.t.Helper()
	id, err := h.e.Join("someone", nil)
	if err != nil {
		h.t.Fatal(err)
	}
	p := h.get(id)
	p.Pos, p.Aim = geom.Vec3{X: x, Y: y, Z: z}, 0
	return id
}

func (h *hall) world() *game.World { return (*game.World)(h.e.World()) }

func (h *hall) get(id game.ID) *Player { return Players.Get(h.world(), id) }

func (h *hall) Receipt() engine.Receipt { return engine.Receipt{Used: float64(h.tick) - h.age} }

// RewindAtMost notes what a weapon says.
func (h *hall) RewindAtMost(most time.Duration) { h.most = most }

// Seen implements engine.Seer: the present, unless h.seen says otherwise.
func (*hall) Past(game.ID, game.Tick) ([]int64, game.Tick) { return nil, 0 }

func (h *hall) Seen(q engine.Query, dst *engine.Sight) {
	k := h.rules.Kinds[q.Kind]
	sims, obs, drawn := make([]int64, k.Sims), make([]int32, k.Obs), make([]int64, k.Obs)
	for id, p := range Players.All(h.world()) {
		if id == q.Me {
			continue
		}
		v := *p
		if s, ok := h.seen[id]; ok {
			v = s
		}
		k.Extract(unsafe.Pointer(&v), sims)
		k.Observe(sims, obs)
		for i := range obs {
			drawn[i] = int64(obs[i]) * schema.SubSteps
		}
		dst.Add(id, drawn)
	}
}

// shots returns what was fired.
func (h *hall) shots(events []engine.Emitted) (all []Shot) {
	for _, e := range events {
		if e.Event == 0 {
			var s Shot
			h.rules.Events[0].Store(unsafe.Pointer(&s), e.Vals)
			all = append(all, s)
		}
	}
	return all
}

// Hits are decided by what the shooter saw: where a player stood, whether it crouched and whether
// it was alive.
//
// seeds: B16
func TestCover(t *testing.T) {
	const away = 0.3 // from the wall's face to the hull's
	for _, c := range []struct {
		name         string
		from         geom.Vec3
		there        geom.Vec3
		aim          geom.Angle
		me, it       bool // crouch
		dead, behind bool
		hit          bool
	}{
		{name: "in the open", from: geom.Vec3{X: 27, Y: 20}, there: geom.Vec3{X: 33, Y: 20}, hit: true},
		{name: "beside it", from: geom.Vec3{X: 27, Y: 20}, there: geom.Vec3{X: 33, Y: 20.8}},
		{name: "dead", from: geom.Vec3{X: 27, Y: 20}, there: geom.Vec3{X: 33, Y: 20}, dead: true},
		{name: "in the back", from: geom.Vec3{X: 27, Y: 20}, there: geom.Vec3{X: 33, Y: 20}, aim: geom.Pi},
		{name: "jumping", from: geom.Vec3{X: 27, Y: 20}, there: geom.Vec3{X: 33, Y: 20, Z: 1.3}, hit: true},
		// The cover at x 24 to 28, y 15 to 16 is 1 m high.
		{name: "over a low wall", from: geom.Vec3{X: 26, Y: 20}, there: geom.Vec3{X: 26, Y: 15 - Radius - away},
			aim: -geom.Pi / 2, hit: true},
		{name: "crouched behind it", from: geom.Vec3{X: 26, Y: 20}, there: geom.Vec3{X: 26, Y: 15 - Radius - away},
			aim: -geom.Pi / 2, it: true},
		{name: "crouching in front of it", from: geom.Vec3{X: 26, Y: 16.6}, there: geom.Vec3{X: 26, Y: 12}, aim: -geom.Pi / 2,
			me: true},
		{name: "on top of it", from: geom.Vec3{X: 26, Y: 20}, there: geom.Vec3{X: 26, Y: 15.5, Z: low}, aim: -geom.Pi / 2,
			hit: true},
		{name: "from on top of it, crouched on the far side", from: geom.Vec3{X: 26, Y: 15.5, Z: low},
			there: geom.Vec3{X: 26, Y: 12}, aim: -geom.Pi / 2, it: true, hit: true},
		// The tower at x 4 to 7, y 18 to 21 is 2.2 m high, the screen at x 15 to 16.2 is 2.6 m.
		{name: "down from a tower", from: geom.Vec3{X: 5.5, Y: 20.5, Z: middle}, there: geom.Vec3{X: 5.5, Y: 30},
			aim: geom.Pi / 2, hit: true},
		{name: "up to a tower", from: geom.Vec3{X: 5.5, Y: 30}, there: geom.Vec3{X: 5.5, Y: 20.8, Z: middle},
			aim: -geom.Pi / 2, hit: true},
		{name: "behind a tower", from: geom.Vec3{X: 5.5, Y: 30}, there: geom.Vec3{X: 5.5, Y: 17}, aim: -geom.Pi / 2},
		{name: "behind a screen", from: geom.Vec3{X: 12, Y: 20}, there: geom.Vec3{X: 18, Y: 20}},
	} {
		h := newHall(t)
		me, it := h.join(c.from.X, c.from.Y, c.from.Z), h.join(50, 30, 0)
		p := h.get(me)
		if p.Gun = gunStanding; c.me {
			p.Gun = gunCrouching
		}
		h.seen[it] = Player{Pos: c.there, Crouch: c.it, Alive: !c.dead}
		shots := h.shots(h.step(me, Cmd{Aim: c.aim, Crouch: c.me, Fire: true}))
		if len(shots) != 1 {
			t.Fatalf("%s: %d shots", c.name, len(shots))
		}
		hurt := h.get(it).Health < MaxHealth
		if s := shots[0]; (s.Hit == it) != c.hit || hurt != c.hit {
			t.Errorf("%s: hit %d at %v, hurt %v; want %v", c.name, s.Hit, s.To, hurt, c.hit)
		}
	}
}

// The nearest player is hit, and a bullet that meets no player ends at a wall.
func TestBulletsEnd(t *testing.T) {
	h := newHall(t)
	me, far, close := h.join(24, 20, 0), h.join(34, 20, 0), h.join(29, 20.1, 0)
	s := h.shots(h.step(me, Cmd{Fire: true, Crouch: true}))[0]
	if s.Hit != close || h.get(far).Health != MaxHealth || h.get(close).Health != MaxHealth-Damage {
		t.Errorf("hit %d of %d and %d", s.Hit, close, far)
	}
	h.get(close).Pos.Y, h.get(far).Pos.Y = 30, 30
	h.pass(int(armoury[Rifle].cooldown))
	h.get(me).Vel = geom.Vec3{}
	s = h.shots(h.step(me, Cmd{Fire: true}))[0] // the screen at x 37.3
	if !near(s.To.X, 37.3, 0.01) || s.To.Dist(geom.Vec3{X: 37.3, Y: 20, Z: gunStanding}) > 0.2 {
		t.Errorf("the bullet ended at %v", s.To)
	}
	h.get(me).Pos = geom.Vec3{X: 30, Y: 38}
	h.pass(int(armoury[Rifle].cooldown))
	if s = h.shots(h.step(me, Cmd{Fire: true, Aim: geom.Pi / 2}))[0]; !near(s.To.Y, 38+Range, 0.05) {
		t.Errorf("over the southern wall the bullet flew to %v", s.To)
	}
}

func TestDeath(t *testing.T) {
	h := newHall(t)
	me, it := h.join(27, 20, 0), h.join(31, 20, 0)
	var frags int
	for i := 0; h.get(it).Alive; i++ {
		for _, e := range h.step(me, Cmd{Fire: true, Crouch: true}) {
			if e.Event == 1 {
				var f Frag
				h.rules.Events[1].Store(unsafe.Pointer(&f), e.Vals)
				if frags++; f != (Frag{me, it}) {
					t.Errorf("frag %+v", f)
				}
			}
		}
		if i > 100 {
			t.Fatal("it does not die")
		}
	}
	died := h.tick
	if a, b := h.get(me), h.get(it); frags != 1 || a.Score != 1 || a.Deaths != 0 || b.Deaths != 1 || b.Health != 0 {
		t.Errorf("%d frags; killer %d:%d, victim %d:%d", frags, a.Score, a.Deaths, b.Score, b.Deaths)
	}
	before := h.get(it).Pos
	h.step(it, Cmd{Move: geom.Vec2{X: 1}, Jump: true, Fire: true})
	if p := h.get(it); p.Pos != before || p.Ammo != armoury[Rifle].magazine {
		t.Errorf("the dead player moved to %v and has %d rounds", p.Pos, p.Ammo)
	}
	for !h.get(it).Alive {
		h.pass(1)
	}
	if p := h.get(it); h.tick-died != RespawnAfter || p.Health != MaxHealth || p.Pos == before || p.Pos.Z != 0 ||
		flat.blocked(p.Pos.XY(), 0) {
		t.Errorf("back after %d ticks at %v with health %d", h.tick-died, p.Pos, p.Health)
	}
	cut := false
	h.e.Changed(func(c engine.Change) int32 { cut = cut || c.ID == it && c.Cut; return 0 })
	if !cut {
		t.Error("the way to the new place would be drawn as a slide")
	}
}

func TestPacks(t *testing.T) {
	h := newHall(t)
	if n := Packs.Len(h.world()); n != len(pads) {
		t.Fatalf("%d packs, want %d", n, len(pads))
	}
	me := h.join(pads[0].pos.X+0.5, pads[0].pos.Y, 0) // health
	if h.step(me, Cmd{}); Packs.Len(h.world()) != len(pads) {
		t.Error("somebody in good health took a health pack")
	}
	h.get(me).Health = 30
	if h.step(me, Cmd{}); Packs.Len(h.world()) != len(pads)-1 || h.get(me).Health != 80 {
		t.Errorf("health %d", h.get(me).Health)
	}
	for i := range pads {
		if pads[i].sort == AmmoPack {
			h.get(me).Pos = pads[i].pos
			break
		}
	}
	if h.step(me, Cmd{}); h.get(me).Spare != armoury[Rifle].start+armoury[Rifle].pack ||
		h.get(me).Crate != armoury[Launcher].start+armoury[Launcher].pack {
		t.Errorf("%d bullets and %d rockets in spare", h.get(me).Spare, h.get(me).Crate)
	}
	h.get(me).Pos = open.At(0)
	h.pass(RefillEvery)
	if n := Packs.Len(h.world()); n != len(pads) {
		t.Errorf("%d packs after a while, want %d", n, len(pads))
	}
}

func TestRounds(t *testing.T) {
	h := newHall(t)
	me := h.join(30, 20, 0)
	round := func() *Round {
		for _, r := range Rounds.All(h.world()) {
			return r
		}
		t.Fatal("no round")
		return nil
	}
	h.get(me).Score, h.get(me).Deaths = 5, 3
	ends := game.Tick(1 + WarmUpTicks)
	for i, c := range []struct {
		number, phase int
		lasts         game.Tick
	}{{1, WarmUp, 0}, {1, Play, RoundTicks}, {1, Result, ResultTicks}, {2, Play, RoundTicks}, {2, Result, ResultTicks},
		{3, Play, RoundTicks}} {
		ends += c.lasts
		if r := round(); r.Number != c.number || r.Phase != c.phase || r.Ends != ends {
			t.Fatalf("phase %d, tick %d: %+v, want number %d, phase %d, ends %d", i, h.tick, *r, c.number, c.phase, ends)
		}
		if c.number == 2 && c.phase == Play && (h.get(me).Score != 0 || h.get(me).Deaths != 0) {
			t.Errorf("scores of the last round stand: %+v", h.get(me))
		}
		// At the begin of a further round nobody moves or shoots.
		for range StandTicks {
			if c.number == 1 || c.phase != Play {
				break
			}
			at := h.get(me).Pos
			shots := len(h.shots(h.step(me, Cmd{Fire: true, Jump: true, Move: geom.Vec2{X: 1}})))
			if h.get(me).Pos != at || shots > 0 {
				t.Fatalf("tick %d, %d before weapons work: %d shots, from %v to %v", h.tick, round().Open-h.tick, shots, at,
					h.get(me).Pos)
			}
		}
		// The first and the last tick of the phase: whether the rifle works.
		fires := func() bool {
			arm(h.get(me))
			return len(h.shots(h.step(me, Cmd{Fire: true}))) == 1
		}
		if got := fires(); got != (c.phase != Result) {
			t.Errorf("phase %d: at its begin, tick %d, the rifle works: %v", i, h.tick, got)
		}
		h.pass(int(ends-h.tick) - 2)
		if got := fires(); got != (c.phase != Result) || h.tick+1 != ends {
			t.Errorf("phase %d: at its end, tick %d, the rifle works: %v", i, h.tick, got)
		}
	}
}

// A drawnMap is a level as the page receives it.
type drawnMap struct {
	Name  string
	Tint  [3]float64
	Walls []struct {
		Min, Max [2]float64
		Height   float64
	}
	Packs []struct {
		Pos  [3]float64
		Sort int
	}
	Doors []struct {
		Min, Max, Plate [2]float64
		Height          float64
	}
	Platforms []struct {
		From, To [3]float64
		Size     [2]float64
		Thick    float64
	}
}

// check compares a map with its level.
func (k *drawnMap) check(t *testing.T, l *level) {
	if k.Name != l.name || k.Name == "" || k.Tint[0] == 0 || len(k.Walls) != len(l.boxes) ||
		len(k.Packs) != len(l.pads) || len(k.Doors) != len(l.gates) || len(k.Platforms) != len(l.tracks) {
		t.Fatalf("the map is %+v", k)
	}
	for i, w := range k.Walls {
		if b := l.boxes[i]; w.Min != [2]float64{b.Min.X, b.Min.Y} || w.Max != [2]float64{b.Max.X, b.Max.Y} ||
			w.Height != b.Max.Z {
			t.Errorf("%s: wall %d is %+v, want %+v", l.name, i, w, b)
		}
	}
	for i, d := range k.Doors {
		k := &l.gates[i]
		if (geom.Vec2{X: d.Min[0], Y: d.Min[1]}) != k.floor.Min || (geom.Vec2{X: d.Max[0], Y: d.Max[1]}) != k.floor.Max ||
			(geom.Vec2{X: d.Plate[0], Y: d.Plate[1]}) != k.plate || d.Height != DoorTop {
			t.Errorf("%s: door %d is %+v, want %+v", l.name, i, d, k)
		}
	}
	for i, p := range k.Platforms {
		k := &l.tracks[i]
		if p.From != [3]float64{k.from.X, k.from.Y, k.from.Z} || p.To != [3]float64{k.to.X, k.to.Y, k.to.Z} ||
			p.Size != [2]float64{k.size.X, k.size.Y} || p.Thick != platformThick {
			t.Errorf("%s: platform %d is %+v, want %+v", l.name, i, p, k)
		}
	}
}

// MapJSON describes everything that the page draws, and the hash of the map refuses other maps.
func TestMapJSON(t *testing.T) {
	var m struct {
		Size    [2]float64
		Maps    []drawnMap
		Avatar  struct{ Radius, Standing, Crouching, GunStanding, GunCrouching float64 }
		Weapons []struct {
			Name                  string
			Holster, Draw, Reload game.Tick
		}
		Blast float64
		Blade struct{ Reach, Arc, Ticks float64 }
		Shove float64
	}
	d := json.NewDecoder(bytes.NewReader(MapJSON()))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%v in %s", err, MapJSON())
	}
	if m.Size != [2]float64{Width, Depth} || len(m.Maps) != len(levels) || m.Avatar.Radius != Radius {
		t.Fatalf("the map is %+v", m)
	}
	for n, l := range levels {
		m.Maps[n].check(t, l)
	}
	for i, w := range m.Weapons {
		if k := &armoury[Rifle+i]; w.Name != k.name || w.Holster != k.holster || w.Draw != k.draw || w.Reload != k.reload {
			t.Errorf("weapon %d is %+v, want %+v", i, w, k)
		}
	}
	if len(m.Weapons) != endOfWeapons-1 || m.Blast != BlastRadius {
		t.Errorf("%d weapons, blasts of %v m", len(m.Weapons), m.Blast)
	}
	if m.Blade.Reach != SwingReach || m.Blade.Ticks != SwingTicks || m.Shove != ShoveRadius {
		t.Errorf("blade %+v, shove %v", m.Blade, m.Shove)
	}
	if Game.Static == 0 || Game.Static != mapHash() {
		t.Errorf("the map's hash is %x", Game.Static)
	}
}

// The command has movement, view direction and buttons, as in the first article. Its duration is
// one tick, and packet.Command carries the moment that its player saw.
//
// seeds: B2
func TestCommand(t *testing.T) {
	h := newHall(t)
	want := Cmd{Move: geom.Vec2{X: -1}, Aim: 45 * geom.Degree, Jump: true, Crouch: true, Fire: true,
		Reload: true, Weapon: Launcher}
	vals := make([]int64, h.rules.Command.Sims)
	put(h.rules, want, vals)
	var got Cmd
	h.rules.Command.Store(unsafe.Pointer(&got), vals)
	if got != want {
		t.Errorf("%+v arrives as %+v", want, got)
	}
	sent := packet.Command{Tick: 1000, Seen: 990<<8 | 77, Newest: 7, Vals: vals}
	var w wire.BitWriter
	packet.AppendCommands(&w, h.rules.Command, []packet.Command{sent}, wire.Ack{Latest: 9})
	var r wire.BitReader
	r.Reset(w.Bytes())
	back, err := packet.DecodeCommands(&r, h.rules.Command, nil, 9, 1000)
	if err != nil || len(back) != 1 || back[0].Tick != sent.Tick || back[0].Seen != sent.Seen ||
		back[0].Newest != sent.Newest || !slices.Equal(back[0].Vals, vals) {
		t.Errorf("%+v arrives as %+v: %v", sent, back, err)
	}
	for _, word := range []string{"Move stick", "Aim angle", "Jump press", "Crouch bool", "Fire press",
		"Reload press", "Weapon int"} {
		if !bytes.Contains([]byte(h.rules.Command.Text()), []byte(word)) {
			t.Errorf("no %q in %s", word, h.rules.Command.Text())
		}
	}
}
