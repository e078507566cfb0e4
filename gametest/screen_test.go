package gametest_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/predict"
	"meanwhile/netcode/rewind"
	"meanwhile/netsim"
	"meanwhile/server"
)

// The yard has what players can see and hit, each in its own way: each other, standing, crouched
// and on what moves; a raft and a gate, which are drawn in the past; a lift, which clients run
// ahead; and deer, which are drawn at the present where nobody can hit them.
type guard struct {
	Pos    geom.Vec3 `net:"pos,others=1cm,draw=hermite"`
	Vel    geom.Vec3 `net:"vel,others=1cm/s"`
	On     game.ID   `net:"handle,parent"`
	Crouch bool      `net:"bool"`
	Gun    float64   `net:"float,0.00001,to=owner"` // height of the eye, which takes time to change
}

type raft struct {
	Pos  geom.Vec2  `net:"pos,others=1cm"`
	Head geom.Angle `net:"angle,12bit"`
}

type gate struct {
	Pos geom.Vec2 `net:"pos,others=1cm"`
}

type lift struct {
	Pos geom.Vec2 `net:"pos"`
}

type stag struct {
	Pos geom.Vec2 `net:"pos,others=1cm"`
	Vel geom.Vec2 `net:"vel,others=1cm/s"`
}

type watch struct {
	Move   geom.Vec2 `net:"stick"`
	Crouch bool      `net:"bool"`
	Ride   int       `net:"int,0..2"` // what the player stands on: ground, raft or lift
	Fire   bool      `net:"press"`
	Shot   int       `net:"int,0..65535"`
}

var (
	guards = game.NewKind[guard]("guard")
	rafts  = game.NewKind[raft]("raft")
	gates  = game.NewKind[gate]("gate")
	lifts  = game.NewKind[lift]("lift", game.Predicted)
	stags  = game.NewKind[stag]("stag", game.ExtrapolatedBeyond(stagReach))
)

const stagReach = 12.0

// A glimpse is what a player saw at a click: its eye, and everything else in the world.
type glimpse struct {
	tick   game.Tick
	eye    geom.Vec3
	foot   geom.Vec3 // below it
	low    bool
	others map[game.ID]other
}

type other struct {
	at  geom.Vec3
	low bool
}

// is reports whether two are the same: to the bit, but for the rounding of a place that turns with
// a raft.
func (o other) is(p other) bool { return o.low == p.low && o.at.Dist(p.at) <= 0.0001 }

func (g *glimpse) add(id game.ID, at geom.Vec3, low bool) {
	if g.others == nil {
		g.others = map[game.ID]other{}
	}
	g.others[id] = other{at, low}
}

// A yard is a session whose players draw frames at their own rate, click between two of them, and
// aim by what the frame before showed.
type yard struct {
	t        *testing.T
	loop     netsim.Loop
	rules    *game.Rules
	srv      *server.Server
	out      server.Outbox
	players  []*looker
	judged   map[int]glimpse
	foreseen map[int][]glimpse
}

type looker struct {
	y        *yard
	id       server.PlayerID
	c        *client.Client
	up, down *netsim.Pipe
	offset   clock.Time
	rng      geom.Rand
	vals     []float64
	drawn    glimpse // of the newest frame
	ok       bool
	click    int // number of the click that the next command has; 0: none
	clickAt  clock.Time
	move     geom.Vec2
	low      bool
	rides    int
	seen     map[int]glimpse
	next     int
	wrong    []clock.Tick // of which the prediction was
}

func (y *yard) act(w *game.World, me game.ID, c watch) {
	g := guards.Get(w, me)
	g.Crouch = c.Crouch
	if c.Crouch {
		g.Gun = max(g.Gun-4*w.Dt(), 0.8)
	} else {
		g.Gun = min(g.Gun+4*w.Dt(), 1.6)
	}
	on := game.ID(0)
	for id := range rafts.All(w) {
		if c.Ride == 1 {
			on = id
		}
	}
	for id := range lifts.All(w) {
		if c.Ride == 2 {
			on = id
		}
	}
	if on != g.On {
		g.On, g.Pos, g.Vel = on, geom.Vec3{X: 1}, geom.Vec3{}
	}
	g.Vel = g.Vel.XY().Toward(c.Move.Mul(7), 60*w.Dt()).At(0)
	most := 30.0
	if g.On != 0 {
		most = 2
	}
	g.Pos = g.Pos.Add(g.Vel.Mul(w.Dt())).Limit(most)
	if !c.Fire {
		return
	}
	eye := guards.Eye(w, me)
	see := glimpse{tick: w.Tick(), low: eye.Crouch}
	if at, ok := w.SeenOn(me, eye.On, eye.Pos); ok {
		see.eye = at.Add(geom.Vec3{Z: eye.Gun})
	}
	for id, o := range guards.Seen(w, me) {
		if at, ok := w.SeenOn(me, o.On, o.Pos); ok {
			see.add(id, at, o.Crouch)
		}
	}
	for id, o := range rafts.Seen(w, me) {
		see.add(id, o.Pos.At(0), false)
	}
	for id, o := range gates.Seen(w, me) {
		see.add(id, o.Pos.At(0), false)
	}
	for id, o := range lifts.Seen(w, me) {
		if y.rules.Mode == game.Queued { // in ticks of its own
			break
		}
		see.add(id, o.Pos.At(0), false)
	}
	for id, o := range stags.Seen(w, me) {
		see.add(id, o.Pos.At(0), false)
	}
	if w == y.srv.World() {
		y.judged[c.Shot] = see
	} else {
		y.foreseen[c.Shot] = append(y.foreseen[c.Shot], see)
	}
}

func (y *yard) referee(w *game.World) {
	s := float64(float64(w.Tick()) * w.Dt())
	if w.Tick() == 1 {
		rafts.Spawn(w, raft{})
		gates.Spawn(w, gate{})
		lifts.Spawn(w, lift{})
		for i := range 4 {
			stags.Spawn(w, stag{Pos: geom.Vec2{X: 5 * float64(i)}})
		}
	}
	for _, r := range rafts.All(w) {
		r.Pos, r.Head = geom.Vec2{X: 9 * geom.Sin(s/2), Y: 5}, geom.Angle(s/3).Norm()
	}
	for _, g := range gates.All(w) {
		g.Pos = geom.Vec2{X: 2 * geom.Sin(3*s), Y: -4}
	}
	for id, d := range stags.All(w) { // they run to and fro, over the distance of hits
		v := geom.Vec2{X: 9 * geom.Cos(s/2+float64(id)), Y: 4 * geom.Sin(s+float64(id))}
		d.Vel, d.Pos = v, d.Pos.Add(v.Mul(w.Dt()))
	}
}

func (y *yard) step(w *game.World) {
	for _, l := range lifts.All(w) {
		l.Pos = geom.Vec2{X: 6 * geom.Sin(float64(float64(w.Tick())*w.Dt())), Y: -8}
	}
}

// newYard starts a session of three players.
func newYard(t *testing.T, rate, fps int, p netsim.Profile, delay time.Duration, mode game.CommandMode) *yard {
	y := &yard{t: t, judged: map[int]glimpse{}, foreseen: map[int][]glimpse{}}
	def := game.Definition[watch]{
		Name: "yard", Rate: rate, Send: 20, Commands: mode, Kinds: game.Kinds(guards, rafts, gates, lifts, stags),
		Join: func(w *game.World, name string) game.ID { return guards.Spawn(w, guard{Gun: 1.6}) },
		Act:  y.act, Step: y.step, Referee: y.referee,
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	y.rules = rules
	cfg := server.Config{Seed: 1, Secret: 2, Rewind: server.MaxRewind, Unchecked: ^rewind.Checks(0)}
	if y.srv, err = server.New(rules, cfg); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		y.join(uint64(i), fps, p, delay)
	}
	y.loop.Every(y.loop.Now().Add(y.srv.Period()), y.srv.Period(), y.tick)
	return y
}

func (y *yard) tick() bool {
	now := y.loop.Now()
	y.srv.Begin(now)
	y.out.Reset()
	y.srv.Encode(0, y.srv.Clients(), &y.out)
	for i := range y.out.Len() {
		to, data := y.out.At(i)
		for _, p := range y.players {
			if p.id == to {
				p.down.Push(now, data)
				p.down.Deliver(&y.loop, func(at clock.Time, data []byte) { p.c.Receive(at+p.offset, data) })
			}
		}
	}
	y.srv.End()
	return true
}

func (y *yard) join(n uint64, fps int, profile netsim.Profile, delay time.Duration) {
	up, err := netsim.NewPipe(2*n+1, profile.Up)
	if err != nil {
		y.t.Fatal(err)
	}
	down, err := netsim.NewPipe(2*n+2, profile.Down)
	if err != nil {
		y.t.Fatal(err)
	}
	p := &looker{y: y, up: up, down: down, offset: clock.Time(n+1) * clock.Time(time.Minute),
		rng: geom.NewRand(n, 5), seen: map[int]glimpse{}, next: int(n) * 10_000}
	id, w, err := y.srv.Connect(0, fmt.Sprint(n))
	if err != nil {
		y.t.Fatal(err)
	}
	if p.c, err = client.New(y.rules, w, p.offset, client.Config{Playout: delay}); err != nil {
		y.t.Fatal(err)
	}
	p.c.OnConfirm = func(tick clock.Tick, o predict.Outcome, off float64) {
		if o.Corrected {
			p.wrong = append(p.wrong, tick)
		}
	}
	p.id = id
	y.players = append(y.players, p)
	frame := time.Second / time.Duration(fps)
	y.loop.Every(clock.Time(n)*clock.Time(frame)/3, frame, func() bool { return p.frame(frame) })
}

// frame is one frame of a player: commands, then the picture, then perhaps a click by it.
func (p *looker) frame(length time.Duration) bool {
	now := p.y.loop.Now()
	local := now + p.offset
	for range p.c.Frame(local) {
		p.command()
	}
	p.look()
	p.c.Events()
	if b := p.c.Encode(local); b != nil {
		p.up.Push(now, b)
		p.up.Deliver(&p.y.loop, func(at clock.Time, data []byte) { p.y.srv.Receive(p.id, at, data) })
	}
	if p.click == 0 && p.ok && p.rng.Chance(0.2) {
		p.next++
		p.click, p.clickAt = p.next, local.Add(time.Duration(p.rng.IntN(int(length))))
		p.seen[p.click] = p.drawn
	}
	return true
}

func (p *looker) command() {
	if p.rng.Chance(0.04) {
		p.move, p.low, p.rides = p.rng.Disc(1), p.rng.Chance(0.3), p.rng.IntN(3-int(p.y.rules.Mode))
	}
	floats := make([]float64, p.y.rules.Command.Floats())
	ints := make([]int64, p.y.rules.Command.Sims)
	floats[0], floats[1] = p.move.X, p.move.Y
	if floats[3], floats[5] = float64(p.rides), float64(p.click); p.low {
		floats[2] = 1
	}
	if p.click != 0 {
		floats[4] = 1
	}
	p.y.rules.Command.FromFloats(floats, ints)
	if p.click != 0 {
		p.c.Pressed(p.clickAt)
	}
	p.c.Tick(ints)
	if p.click != 0 {
		s := p.seen[p.click]
		s.tick = p.c.CommandTick()
		p.seen[p.click] = s
	}
	p.click = 0
}

// look draws a frame.
func (p *looker) look() {
	p.drawn, p.ok = glimpse{}, false
	p.vals = p.c.Draw(p.vals, func(e *client.Entity) {
		k := p.y.rules.Kinds[e.Kind]
		at, _ := k.PlaceOf(e.Vals)
		crouch, gun := false, 0.0
		if k.Name == "guard" {
			crouch, gun = e.Vals[k.Props[3].At] != 0, e.Vals[k.Props[4].At]
		}
		switch {
		case e.Mine:
			p.drawn.foot, p.drawn.low, p.ok = at.Sub(p.c.OwnOffset()), crouch, true
			p.drawn.eye = p.drawn.foot.Add(geom.Vec3{Z: gun})
		case k.Name == "lift" && p.y.rules.Mode == game.Queued: // in ticks of its own
		case k.Name != "stag":
			p.drawn.add(e.ID, at, crouch)
		case at.Dist(p.drawn.foot) < stagReach: // kinds are drawn in order, guards first
			p.drawn.add(e.ID, at, false)
		}
	})
	p.c.Drawn()
}

// What a player has on the screen when it clicks is what the server judges the click by: its own eye
// to a unit of simulation, and everything that can be hit to the bit. That holds for screens that
// are faster and slower than ticks, on perfect paths and bad ones, for crouched players, riders and
// shooters on a raft that turns and a lift that is run ahead, for gates, and for what is drawn at the present further
// away. The prediction goes by the same, also when it is repeated after later packets have come.
//
// seeds: B15 B16
func TestClicksAreJudgedByTheScreen(t *testing.T) {
	for _, c := range []struct {
		rate, fps int
		profile   netsim.Profile
		delay     time.Duration // 0: as the path asks for
		mode      game.CommandMode
	}{
		{60, 60, netsim.LAN, 0, game.Timed}, {60, 144, netsim.LAN, 0, game.Timed},
		{60, 30, netsim.LAN, 0, game.Timed}, {30, 60, netsim.LAN, 0, game.Timed},
		{60, 20, netsim.LAN, 0, game.Timed}, {60, 60, netsim.Ocean, 0, game.Timed},
		{30, 144, netsim.Ocean, 0, game.Timed}, {60, 30, netsim.Ocean, 0, game.Timed},
		{60, 60, netsim.Ocean, 0, game.Queued}, {60, 30, netsim.LAN, 0, game.Queued},
		{60, 60, netsim.Ocean, time.Millisecond, game.Timed}, // what is drawn often changes when a record arrives
	} {
		name := fmt.Sprintf("%d ticks, %d frames on %s", c.rate, c.fps, c.profile.Name)
		y := newYard(t, c.rate, c.fps, c.profile, c.delay, c.mode)
		y.loop.Run(y.loop.Now().Add(20 * time.Second))
		all, predicted := 0, 0
		for _, p := range y.players {
			for shot, seen := range p.seen {
				judged, ok := y.judged[shot]
				if !ok || seen.tick != judged.tick || seen.tick < game.Tick(6*c.rate) {
					continue // lost, late, or before the clocks had settled
				}
				for _, f := range y.foreseen[shot] {
					predicted++
					for id, o := range f.others {
						if j, ok := judged.others[id]; ok && o != j {
							t.Errorf("%s: click %d: %d was predicted at %v, and judged at %v", name, shot, id, o, j)
						}
					}
				}
				if p.wasWrong(seen.tick) {
					continue
				}
				all++
				if judged.eye.Dist(seen.eye) > 0.0001 || seen.low != judged.low {
					t.Errorf("%s: click %d of tick %d: the eye was drawn at %v, crouched %v, and judged at %v, %v", name, shot,
						seen.tick, seen.eye, seen.low, judged.eye, judged.low)
				}
				for id, o := range seen.others {
					if !judged.others[id].is(o) {
						t.Errorf("%s: click %d: %d was drawn at %v, and judged at %v", name, shot, id, o, judged.others[id])
					}
				}
				if f := y.foreseen[shot][0]; f.eye != judged.eye || !maps.Equal(f.others, judged.others) {
					t.Errorf("%s: click %d: predicted by %v, and judged by %v", name, shot, f, judged)
				}
			}
		}
		if t.Logf("%s: %d clicks, predicted %d times", name, all, predicted); all < 90 ||
			predicted < all {
			t.Errorf("%s: %d clicks, predicted %d times: the test tests little", name, all, predicted)
		}
	}
}

// wasWrong reports whether a prediction was wrong around a tick: then the avatar was drawn where it
// never was.
func (p *looker) wasWrong(tick clock.Tick) bool {
	second := clock.Tick(p.y.rules.Rate)
	return slices.ContainsFunc(p.wrong, func(t clock.Tick) bool { return t+second > tick && t < tick+second/2 })
}
