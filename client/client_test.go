package client

import (
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/predict"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
	"meanwhile/server"
	"meanwhile/session"
)

const ms = clock.Time(time.Millisecond)

type pilot struct {
	Pos   geom.Vec2  `net:"pos,others=1cm,draw=hermite"`
	Vel   geom.Vec2  `net:"vel,others=1cm/s"`
	Aim   geom.Angle `net:"angle,8bit"`
	Score int        `net:"int,0..9999"`
	Shots int        `net:"int,0..9999"`
	Ammo  int        `net:"int,0..99,to=owner"`
	Ready game.Tick  `net:"tick,to=owner"`
	Duck  int        `net:"int,0..30,kept"`
}

type gem struct {
	Pos    geom.Vec2 `net:"pos,1cm"`
	Locked bool      `net:"bool,server"` // what no client can know
}

type shot struct {
	N int `net:"int,0..9999"`
}

type pilotCmd struct {
	Move geom.Vec2  `net:"stick,5bit"`
	Aim  geom.Angle `net:"angle,8bit"`
	Fire bool       `net:"press"`
	Duck bool       `net:"bool"`
}

var (
	pilots = game.NewKind[pilot]("pilot")
	gems   = game.NewKind[gem]("gem")
	shots  = game.NewEvent[shot]("shot")
	boings = game.NewEvent[shot]("boing") // emitted by Step
)

// sky is the rules of a match whose Step and Referee a test may fill in.
type sky struct {
	referee func(w *game.World)
	rate    int
}

func (s *sky) rules(t testing.TB) *game.Rules {
	t.Helper()
	def := game.Definition[pilotCmd]{
		Name: "sky", Rate: max(s.rate, 30), Kinds: game.Kinds(pilots, gems), Events: game.Events(shots, boings),
		Join: func(w *game.World, name string) game.ID {
			return pilots.Spawn(w, pilot{Pos: geom.Vec2{X: 10 * float64(pilots.Len(w))}, Ammo: 99})
		},
		Act: func(w *game.World, me game.ID, c pilotCmd) {
			p := pilots.Get(w, me)
			p.Aim = c.Aim
			p.Vel = p.Vel.Toward(c.Move.Mul(9), 60*w.Dt())
			p.Pos = p.Pos.Add(p.Vel.Mul(w.Dt()))
			if p.Duck = max(p.Duck-1, 0); c.Duck {
				p.Duck = min(p.Duck+2, 30)
			}
			for id, g := range gems.All(w) {
				if g.Pos.Sub(p.Pos).Len() < 1 && !g.Locked {
					w.Despawn(id)
					p.Score++
				}
			}
			if c.Fire && p.Ammo > 0 && w.Tick() >= p.Ready {
				p.Ammo, p.Ready, p.Shots = p.Ammo-1, w.Tick()+3, p.Shots+1
				shots.Emit(w, me, p.Pos, shot{p.Shots})
			}
		},
		Step: func(w *game.World) {
			for id, p := range pilots.All(w) {
				if w.Tick()%50 == 0 {
					boings.Emit(w, id, p.Pos, shot{int(w.Tick())})
				}
			}
		},
		Referee: func(w *game.World) {
			if s.referee != nil {
				s.referee(w)
			}
		},
		Bot: func(w *game.World, me game.ID) (c pilotCmd) {
			r := geom.NewRand(uint64(me), uint64(w.Tick())/15)
			c.Move, c.Aim, c.Duck = r.Angle().Dir(), r.Angle(), r.Chance(0.5)
			c.Fire = w.Tick()%4 == 0
			return c
		},
	}
	r, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// flight is a datagram under way.
type flight struct {
	at   clock.Time
	data []byte
}

// side is one player of a duo: a client and its paths.
type side struct {
	d        *duo
	c        *Client
	id       server.PlayerID
	up, down []flight
	delay    clock.Time                 // each way
	path     func(up bool) []clock.Time // extra delay of each copy that arrives; nil: one copy, in time
	offset   clock.Time                 // of the local clock
	fps      int
	next     clock.Time // frame
	sendHz   int        // 0: each frame
	lastSend clock.Time
	play     func() []int64 // makes the command; nil: the bot
	events   []Event
	frame    func() // after each frame
	paused   bool
	mute     bool // there is no connection to send over

	corrections int // that were not foreseen
	confirmed   int
	lastOff     float64 // metres of the newest correction
}

// duo is a real server and real clients on paths that a test decides on, in steps of a millisecond.
type duo struct {
	t     testing.TB
	rules *game.Rules
	s     *server.Server
	sides []*side
	now   clock.Time
	tick  clock.Time // of the next tick
	hangs clock.Time // until then the server stands still, and nothing that arrives is read
	out   server.Outbox
	after func() // each tick, before its datagrams are coded
	watch func() // each tick
	shots map[game.ID]int
}

func newDuo(t testing.TB, rules *game.Rules) *duo {
	t.Helper()
	s, err := server.New(rules, server.Config{Seed: 1, Secret: 2})
	if err != nil {
		t.Fatal(err)
	}
	return &duo{t: t, rules: rules, s: s, now: 1000 * ms, tick: 1000 * ms, shots: map[game.ID]int{}}
}

func (d *duo) join(delay clock.Time, cfg Config) *side {
	d.t.Helper()
	id, w, err := d.s.Connect(d.now, "x")
	if err != nil {
		d.t.Fatal(err)
	}
	p := &side{d: d, id: id, delay: delay, offset: clock.Time(len(d.sides)+1) * 777_777 * ms, fps: 60,
		next: d.now + 5*ms}
	if p.c, err = New(d.rules, w, d.now+p.offset, cfg); err != nil {
		d.t.Fatal(err)
	}
	p.c.OnConfirm = func(_ clock.Tick, o predict.Outcome, off float64) {
		p.confirmed++
		if o.Corrected {
			p.lastOff = off
			p.corrections++
		}
	}
	d.sides = append(d.sides, p)
	return p
}

func (p *side) fly(list *[]flight, up bool, data []byte) {
	extra := []clock.Time{0}
	if p.path != nil {
		extra = p.path(up)
	}
	for _, x := range extra {
		*list = append(*list, flight{p.d.now + p.delay + x, slices.Clone(data)})
	}
}

func land(list *[]flight, now clock.Time, f func(at clock.Time, data []byte)) {
	keep := (*list)[:0]
	for _, x := range *list {
		if x.at <= now {
			f(x.at, x.data)
		} else {
			keep = append(keep, x)
		}
	}
	*list = keep
}

// run lets time pass.
func (d *duo) run(span time.Duration) {
	for end := d.now.Add(span); d.now < end; d.now += ms {
		for _, p := range d.sides {
			if d.now >= d.hangs {
				land(&p.up, d.now, func(_ clock.Time, b []byte) { d.s.Receive(p.id, d.now, b) })
			}
			land(&p.down, d.now, func(at clock.Time, b []byte) { p.c.Receive(at+p.offset, b) })
		}
		if d.now >= max(d.tick, d.hangs) {
			d.tick = max(d.tick, d.hangs) // ticks are not made up for
			d.s.Begin(d.tick)
			for _, e := range d.s.Engine().Events() {
				if e.Event == 0 {
					d.shots[e.Actor]++
				}
			}
			if d.watch != nil {
				d.watch()
			}
			if d.after != nil {
				d.after()
			}
			d.out.Reset()
			d.s.Encode(0, d.s.Clients(), &d.out)
			for i := range d.out.Len() {
				id, b := d.out.At(i)
				for _, p := range d.sides {
					if p.id == id {
						p.fly(&p.down, false, b)
					}
				}
			}
			d.s.End()
			if f := d.s.Faults(); f != nil {
				d.t.Fatal(f)
			}
			d.tick = d.tick.Add(d.s.Period())
		}
		for _, p := range d.sides {
			if d.now >= p.next && !p.paused {
				p.next = max(p.next.Add(time.Second/time.Duration(p.fps)), d.now)
				p.step()
			}
		}
	}
}

// step is one frame of a player.
func (p *side) step() {
	now := p.d.now + p.offset
	for range p.c.Frame(now) {
		if p.play != nil {
			p.c.Tick(p.play())
		} else if err := p.c.Think(p.d.rules.Bot()); err != nil {
			p.d.t.Fatal(err)
		}
	}
	for _, e := range p.c.Events() {
		e.Vals = slices.Clone(e.Vals)
		p.events = append(p.events, e)
	}
	if p.frame != nil {
		p.frame()
	}
	if p.mute {
		return
	}
	if p.sendHz == 0 || p.d.now-p.lastSend >= clock.Time(time.Second)/clock.Time(p.sendHz) {
		if b := p.c.Encode(now); b != nil {
			p.fly(&p.up, true, b)
			p.lastSend = p.d.now
		}
	}
}

// counts returns how often each number of an event of one actor was shown.
func (p *side) counts(event int, actor game.ID) map[int64]int {
	n := map[int64]int{}
	for _, e := range p.events {
		if e.Event == event && e.Actor == actor {
			n[e.Vals[0]]++
		}
	}
	return n
}

// lossy returns a path that loses, repeats and reorders.
func lossy(seed uint64, loss float64) func(bool) []clock.Time {
	r := geom.NewRand(seed)
	return func(bool) (out []clock.Time) {
		for range 2 {
			if !r.Chance(loss) {
				out = append(out, clock.Time(r.IntN(60))*ms)
			}
			if !r.Chance(0.05) {
				break
			}
		}
		return out
	}
}

func TestNewRefuses(t *testing.T) {
	rules := new(sky).rules(t)
	good := session.Welcome{History: snapshot.HistoryTicks, Game: "sky", Period: time.Second / 30, SendRate: 20}
	if _, err := New(rules, good, 0, Config{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(w *session.Welcome, cfg *Config)
		want   string
	}{
		{func(w *session.Welcome, _ *Config) { w.History = 64 },
			"client: the server's history is 64 ticks, this client's 128"},
		{func(w *session.Welcome, _ *Config) { w.Game = "sea" }, `client: the server plays "sea", this client "sky"`},
		{func(w *session.Welcome, _ *Config) { w.Period = 0 },
			"client: the welcome's tick period 0s is outside [1ms, 2s]"},
		{func(w *session.Welcome, _ *Config) { w.Period = time.Hour },
			"client: the welcome's tick period 1h0m0s is outside [1ms, 2s]"},
		{func(_ *session.Welcome, cfg *Config) { cfg.Playout = time.Hour },
			"playout: Fixed 1h0m0s is outside [0, 500ms]"},
		{func(_ *session.Welcome, cfg *Config) { cfg.SendRate = 241 },
			"client: SendRate 241 is outside [0, 240] packets a second"},
	} {
		w, cfg := good, Config{}
		c.change(&w, &cfg)
		if _, err := New(rules, w, 0, cfg); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	for _, rate := range []uint16{0, 1, 65535} { // whatever it says, it is no reason to fail
		w := good
		w.SendRate = rate
		if _, err := New(rules, w, 0, Config{}); err != nil {
			t.Errorf("%d packets a second: %v", rate, err)
		}
	}
}

// A command moves the own avatar in the very tick it is made for, and what was predicted is what
// the server decides.
//
// seeds: P2 P3 B3 B7 R11
func TestPredictionIsImmediateAndExact(t *testing.T) {
	d := newDuo(t, new(sky).rules(t))
	p := d.join(80*ms, Config{})
	d.run(3 * time.Second)
	p.corrections, p.confirmed = 0, 0
	moved, fired := 0, 0
	p.play = func() []int64 {
		before := p.c.Own(p.c.CommandTick())
		tick := p.c.CommandTick() + 1
		cmd := []int64{15, 0, 64, 0, 0}
		if tick%10 == 0 {
			cmd[3] = 1
		}
		if before == nil {
			t.Fatal("no own state")
		}
		x := before[0]
		ammo := before[7]
		p.frame = func() {
			p.frame = nil
			if after := p.c.Own(tick); after != nil && after[0] > x {
				moved++
				if after[7] != ammo {
					fired++
				}
			}
		}
		return cmd
	}
	d.run(4 * time.Second)
	if moved < 110 || fired < 10 {
		t.Errorf("moved in %d ticks of 120, fired in %d: not in the tick of the command", moved, fired)
	}
	if p.confirmed < 60 || p.corrections != 0 {
		t.Errorf("%d of %d predictions were corrected", p.corrections, p.confirmed)
	}
	st := p.c.Stats()
	if st.Malformed+st.Duplicate+st.NoBaseline+st.ClockSteps+st.InboxDropped+st.EventsLost != 0 ||
		st.Prediction.Faults != 0 {
		t.Errorf("%+v", st)
	}
	if lead := st.Lead; lead < 80*time.Millisecond || lead > 180*time.Millisecond {
		t.Errorf("lead %v on a path of 80 ms", lead)
	}
}

// Whatever is lost, repeated or reordered, and however often the prediction is corrected: a shot is
// shown once to each, at once to who fired it; and what Step emits is shown once as well.
//
// seeds: B5
func TestEventsAreShownOnce(t *testing.T) {
	for seed := uint64(1); seed <= 4; seed++ {
		k := &sky{}
		k.referee = func(w *game.World) { // someone pushes them around, so that every prediction is wrong now and then
			for _, p := range pilots.All(w) {
				if w.Rand().Chance(0.1) {
					p.Pos.Y += 0.3
				}
			}
		}
		d := newDuo(t, k.rules(t))
		a, b := d.join(40*ms, Config{}), d.join(60*ms, Config{})
		d.run(2 * time.Second)
		a.path, b.path = lossy(seed, 0.15), lossy(seed+10, 0.15)
		d.run(15 * time.Second)
		a.path, b.path = nil, nil
		still := func() []int64 { return make([]int64, d.rules.Command.Sims) }
		a.play, b.play = still, still
		d.run(4 * time.Second)
		if a.corrections < 20 {
			t.Errorf("seed %d: only %d corrections", seed, a.corrections)
		}
		for i, viewer := range d.sides {
			actor := d.s.Avatar(d.sides[1-i].id)
			seen := viewer.counts(0, actor)
			if len(seen) != d.shots[actor] {
				t.Errorf("seed %d: of %d shots of the other %d were shown", seed, d.shots[actor], len(seen))
			}
			own := viewer.counts(0, viewer.c.Me())
			for _, counts := range []map[int64]int{seen, viewer.counts(1, actor), viewer.counts(1, viewer.c.Me())} {
				for n, times := range counts {
					if times != 1 {
						t.Errorf("seed %d: event %d was shown %d times", seed, n, times)
					}
				}
			}
			// A shot that came too late is shown, and not fired, and the next one has its number
			// again. One that only the server could know of, because an earlier one had not been
			// fired, is not shown.
			shown, extra := 0, 0
			for _, times := range own {
				shown++
				extra += times - 1
			}
			if fired := d.shots[viewer.c.Me()]; shown < fired*95/100 || extra > fired/10 {
				t.Errorf("seed %d: %d of its own %d shots were shown, %d more than once", seed, shown, fired, extra)
			}
			for _, e := range viewer.events {
				if e.Own && e.Actor != viewer.c.Me() {
					t.Fatalf("seed %d: %+v", seed, e)
				}
			}
			if n := len(viewer.counts(1, actor)); n < 8 {
				t.Errorf("seed %d: only %d events of Step", seed, n)
			}
		}
	}
}

// sight is how often a thing came into view, and whether it is in view.
type sight struct {
	came int
	in   bool
}

// watchGems notes when gems come and go on a player's screen.
func (p *side) watchGems() map[game.ID]*sight {
	seen := map[game.ID]*sight{}
	var vals []float64
	p.frame = func() {
		now := map[game.ID]bool{}
		vals = p.c.Draw(vals, func(e *Entity) {
			if e.Kind == 1 {
				now[e.ID] = true
			}
		})
		for id := range now { // any order: each on its own
			if seen[id] == nil {
				seen[id] = &sight{}
			}
			if s := seen[id]; !s.in {
				s.in = true
				s.came++
			}
		}
		for id, s := range seen { // any order: each on its own
			s.in = s.in && now[id]
		}
	}
	return seen
}

// A gem that a prediction took is gone at once and stays away if the server agrees, also if someone
// else got it; if the server does not let it go, it comes back. It never flickers.
func TestPredictedDespawn(t *testing.T) {
	for _, c := range []struct {
		loss float64
		seed uint64
	}{{0, 0}, {0.2, 3}, {0.2, 5}, {0.2, 7}, {0.2, 9}, {0.2, 11}, {0.2, 13}, {0.2, 15}, {0.2, 17}, {0.2, 19}, {0.2,
		21}} {
		loss, seed := c.loss, c.seed
		k := &sky{}
		k.referee = func(w *game.World) {
			if w.Tick() == 1 {
				for i := range 12 { // on the way of both; each third is locked, which no client knows
					gems.Spawn(w, gem{Pos: geom.Vec2{X: 5, Y: 4 + 2.5*float64(i)}, Locked: i%3 == 2})
				}
			}
			for id, p := range pilots.All(w) {
				if w.Tick() < 75 {
					p.Pos = geom.Vec2{X: 4.6 + 0.4*float64(id%2)} // side by side
				}
			}
		}
		d := newDuo(t, k.rules(t))
		a, b := d.join(50*ms, Config{}), d.join(90*ms, Config{})
		still := func() []int64 { return make([]int64, 5) }
		a.play, b.play = still, still
		d.run(2500 * time.Millisecond)
		seenA, seenB := a.watchGems(), b.watchGems()
		d.run(500 * time.Millisecond)
		if len(seenA) != 12 || len(seenB) != 12 {
			t.Fatalf("%d and %d gems in sight", len(seenA), len(seenB))
		}
		if loss > 0 {
			a.path, b.path = lossy(seed, loss), lossy(seed+1, loss)
		}
		up := func() []int64 { return []int64{0, 15, 0, 0, 0} }
		a.play, b.play = up, up
		d.run(6 * time.Second)
		a.path, b.path = nil, nil
		a.play, b.play = still, still
		d.run(4 * time.Second)
		if n := gems.Len(d.s.World()); n != 4 {
			t.Fatalf("%d gems are left, want the 4 that are locked", n)
		}
		hid := 0
		for name, seen := range map[string]map[game.ID]*sight{"a": seenA, "b": seenB} {
			for id, s := range seen {
				locked := gems.Has(d.s.World(), id)
				if s.in != locked {
					t.Errorf("loss %v, %s: gem %d is in view: %v, exists: %v", loss, name, id, s.in, locked)
				}
				if s.came > 1 && !locked {
					t.Errorf("loss %v, %s: gem %d, which is gone, came into view %d times", loss, name, id, s.came)
				}
				if locked && s.came > 1 {
					hid++
				}
				if locked && s.came > 3 {
					t.Errorf("loss %v, %s: gem %d, which stays, came into view %d times", loss, name, id, s.came)
				}
			}
		}
		if hid < 4 {
			t.Errorf("loss %v: only %d times a locked gem was hidden and came back", loss, hid)
		}
	}
}

// Datagrams that no frame applies do not pile up.
func TestInboxIsBounded(t *testing.T) {
	d := newDuo(t, new(sky).rules(t))
	p := d.join(10*ms, Config{})
	d.run(time.Second)
	before := p.c.Stats()
	b := make([]byte, wire.MaxDatagram)
	b[4], b[5] = 1, 2 // packet 256 of tick 0, in full
	for range 10 * maxInbox {
		p.c.Receive(d.now, b)
	}
	p.c.Receive(d.now, append(b, 0))
	if st := p.c.Stats(); st.InboxDropped != 9*maxInbox || st.Malformed != before.Malformed+1 ||
		len(p.c.down.inbox) != maxInbox {
		t.Errorf("%d dropped, %d in the inbox, %d malformed", st.InboxDropped, len(p.c.down.inbox),
			st.Malformed-before.Malformed)
	}
	d.run(time.Second)
	if st := p.c.Stats(); st.Malformed != before.Malformed+1+maxInbox || len(p.c.down.spare) > 2*maxInbox {
		t.Errorf("%d malformed, %d spare buffers", st.Malformed-before.Malformed, len(p.c.down.spare))
	}
}

// What the server does not send is kept through corrections: how far down the player ducks is as
// the server has it, although it says nothing of it.
//
// seeds: B6
func TestKeptFieldsSurviveCorrections(t *testing.T) {
	k := &sky{referee: func(w *game.World) {
		if w.Tick()%20 == 0 {
			for _, p := range pilots.All(w) {
				p.Pos.Y += 0.2
			}
		}
	}}
	d := newDuo(t, k.rules(t))
	p := d.join(60*ms, Config{})
	p.play = func() []int64 { return []int64{15, 0, 0, 0, int64(p.c.CommandTick() / 25 % 2)} }
	d.run(3 * time.Second)
	at := d.rules.Kinds[0].Props[7].At
	p.corrections = 0
	compared, highest := 0, int64(0)
	ours := map[clock.Tick]int64{}
	p.frame = func() {
		tick := p.c.CommandTick()
		ours[tick] = p.c.Own(tick)[at]
		highest = max(highest, ours[tick])
	}
	d.after = func() {
		_, sims := d.s.Engine().Sims(d.s.Avatar(p.id))
		if v, ok := ours[d.s.Tick()]; ok {
			if compared++; v != sims[at] {
				t.Fatalf("tick %d: ducks %d, the server says %d", d.s.Tick(), v, sims[at])
			}
		}
	}
	d.run(6 * time.Second)
	if p.corrections < 5 || compared < 150 || highest < 10 {
		t.Errorf("%d corrections, %d ticks compared, ducked by %d at most", p.corrections, compared, highest)
	}
}

// A fixed playout delay is kept, on top of what the path takes.
//
// seeds: B11
func TestFixedPlayout(t *testing.T) {
	for _, fixed := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 350 * time.Millisecond} {
		d := newDuo(t, new(sky).rules(t))
		a, _ := d.join(40*ms, Config{Playout: fixed}), d.join(10*ms, Config{})
		d.run(4 * time.Second)
		if got, want := a.c.Stats().Delay, fixed+40*time.Millisecond; got < want-3*time.Millisecond ||
			got > want+3*time.Millisecond {
			t.Errorf("fixed %v on a path of 40 ms: others are drawn %v behind the server, want %v", fixed, got, want)
		}
		if err := a.c.SetPlayout(0); err != nil {
			t.Fatal(err)
		}
		d.run(6 * time.Second)
		if got := a.c.Stats().Delay; got > 200*time.Millisecond {
			t.Errorf("adaptive again: %v behind", got)
		}
	}
}

// Without prediction the avatar answers after a round trip, and so do its shots; each is shown once
// all the same.
func TestNoPrediction(t *testing.T) {
	d := newDuo(t, new(sky).rules(t))
	p := d.join(100*ms, Config{NoPrediction: true})
	p.play = func() []int64 { return make([]int64, 5) }
	d.run(4 * time.Second)
	press := clock.Time(0)
	p.play = func() []int64 {
		cmd := []int64{15, 0, 0, 0, 0}
		if press == 0 {
			press, cmd[3] = d.now, 1
		}
		return cmd
	}
	p.events = nil
	shownAt, movedAt := clock.Time(0), clock.Time(0)
	var vals []float64
	start := math.Inf(1)
	frames, places := 0, map[float64]bool{}
	p.frame = func() {
		if len(p.counts(0, p.c.Me())) > 0 && shownAt == 0 {
			shownAt = d.now
		}
		vals = p.c.Draw(vals, func(e *Entity) {
			if e.Mine {
				if start = min(start, e.Vals[2]); e.Vals[2] > 5 && movedAt == 0 { // velocity
					movedAt = d.now
				}
				if movedAt != 0 {
					frames++
					places[e.Vals[0]] = true
				}
			}
		})
	}
	d.run(2 * time.Second)
	if len(places) < frames*9/10 { // it glides, and does not step with the packets
		t.Errorf("%d places in %d frames", len(places), frames)
	}
	for what, at := range map[string]clock.Time{"shot": shownAt, "movement": movedAt} {
		if late := at - press; at == 0 || late < 200*ms || late > 500*ms {
			t.Errorf("the %s is shown %v after the command, with a round trip of 200 ms", what, time.Duration(late))
		}
	}
	if n := p.counts(0, p.c.Me()); len(n) != 1 {
		t.Errorf("shots shown: %v", n)
	}
	p.c.SetTechniques(true, true)
	p.play = nil
	p.healthy("prediction switched on again")
}

// Without interpolation others stand where their newest record put them.
func TestNoInterpolation(t *testing.T) {
	d := newDuo(t, new(sky).rules(t))
	a, b := d.join(50*ms, Config{NoInterpolation: true}), d.join(10*ms, Config{})
	b.play = func() []int64 { return []int64{15, 0, 0, 0, 0} }
	d.run(3 * time.Second)
	places := map[float64]bool{}
	frames := 0
	var vals []float64
	a.frame = func() {
		frames++
		vals = a.c.Draw(vals, func(e *Entity) {
			if !e.Mine && e.Kind == 0 {
				places[e.Vals[0]] = true
				if s := e.Replica.Groups[0].Newest(); float64(s.Vals[0])/100 != e.Vals[0] {
					t.Fatalf("drawn at %v, the newest record says %v cm", e.Vals[0], s.Vals[0])
				}
			}
		})
	}
	d.run(2 * time.Second)
	if frames < 110 || len(places) > 45 { // 20 records a second
		t.Errorf("%d places in %d frames", len(places), frames)
	}
	a.c.SetTechniques(true, true)
	clear(places)
	before := frames
	a.frame = func() {
		frames++
		vals = a.c.Draw(vals, func(e *Entity) {
			if !e.Mine && e.Kind == 0 {
				places[e.Vals[0]] = true
			}
		})
	}
	d.run(2 * time.Second)
	if n := frames - before; len(places) < n*9/10 {
		t.Errorf("with interpolation %d places in %d frames", len(places), n)
	}
}

// How often commands are sent changes how far ahead they are made, and nothing else.
//
// seeds: P7
func TestSendRateIsIndependentOfTickRate(t *testing.T) {
	for _, c := range []struct{ rate, hz int }{{30, 2}, {30, 5}, {30, 20}, {30, 60}, {30, 128}, {64, 2}, {64, 10},
		{64, 128}} {
		d := newDuo(t, (&sky{rate: c.rate}).rules(t))
		p := d.join(40*ms, Config{})
		p.fps, p.sendHz = 128, c.hz
		d.run(20 * time.Second)
		p.corrections, p.confirmed = 0, 0
		before, _ := d.s.Stats(p.id)
		d.run(10 * time.Second)
		after, _ := d.s.Stats(p.id)
		t.Logf("%d ticks and %d packets a second: lead %v, %d of %d predictions corrected, %d ticks starved", c.rate,
			c.hz,
			p.c.Stats().Lead.Round(time.Millisecond), p.corrections, p.confirmed, after.Starved-before.Starved)
		most := uint64(0)
		if c.hz == 2 { // 540 ms are more than what a lead may cost
			most = 30
		}
		if p.corrections > int(most/10) || p.confirmed < 20 || after.Starved-before.Starved > most {
			t.Errorf("%d ticks and %d packets a second: %d of %d predictions corrected, %d ticks starved", c.rate,
				c.hz, p.corrections, p.confirmed, after.Starved-before.Starved)
		}
	}
}

// On a path without jitter no command is late, however frames lie to ticks and however many there
// are: the lead settles, and does not swing between commands made a frame too late and a frame
// early.
func TestLeadSettles(t *testing.T) {
	for _, fps := range []int{25, 30, 48, 60, 75, 144} {
		d := newDuo(t, new(sky).rules(t))
		for i := range 6 { // of different phase
			d.join(clock.Time(1+i%2)*ms, Config{}).fps = fps
			d.now += 5 * ms
		}
		d.tick = d.now
		d.run(12 * time.Second)
		var before [6]uint64
		for i, p := range d.sides {
			st, _ := d.s.Stats(p.id)
			before[i] = st.Starved
		}
		d.run(10 * time.Second)
		for i, p := range d.sides {
			st, _ := d.s.Stats(p.id)
			most := 33*time.Millisecond + 2*time.Second/time.Duration(fps) // two frames and a little
			if n := st.Starved - before[i]; n > 0 || p.c.Stats().Lead > most {
				t.Errorf("%d fps, player %d: %d ticks of 300 starved, lead %v", fps, i, n, p.c.Stats().Lead)
			}
		}
	}
}

// Datagrams stay within what a path carries, however large a command is.
func TestLargeCommandsFit(t *testing.T) {
	type essay struct {
		A, B, C, D [31]byte `net:"bytes"`
		Fire       bool     `net:"press"`
	}
	def := game.Definition[essay]{Name: "essay", Kinds: game.Kinds(gems),
		Join: func(w *game.World, name string) game.ID { return gems.Spawn(w, gem{}) }, Act: func(w *game.World,
			me game.ID, c essay) {
		}}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	d := newDuo(t, rules)
	p := d.join(200*ms, Config{})
	n := int64(0)
	most := 0
	p.path = func(up bool) []clock.Time { return []clock.Time{0} }
	p.play = func() []int64 {
		cmd := make([]int64, rules.Command.Sims)
		for i := range cmd {
			n++
			cmd[i] = (0x20202020 + n%0x40404040) & 0xffffff
		}
		return cmd
	}
	p.frame = func() {
		for _, f := range p.up {
			most = max(most, len(f.data))
		}
	}
	d.run(8 * time.Second)
	if most > wire.MaxDatagram || most < wire.MaxDatagram/2 {
		t.Errorf("the largest datagram has %d bytes, at most %d fit", most, wire.MaxDatagram)
	}
	if st, _ := d.s.Stats(p.id); st.LastStarved == d.s.Tick() {
		t.Error("commands do not arrive")
	}
}

// Commands of a wrong length are no reason to fall over.
func TestTickTakesAnyLength(t *testing.T) {
	d := newDuo(t, new(sky).rules(t))
	p := d.join(10*ms, Config{})
	lengths := [][]int64{nil, {1}, {1, 2, 3, 4, 5}, make([]int64, 50)}
	i := 0
	p.play = func() []int64 { i++; return lengths[i%4] }
	d.run(2 * time.Second)
	p.c.up.due = 0
	p.c.Tick(nil) // none is due: nothing happens
	if i < 30 {
		t.Errorf("%d commands", i)
	}
}

// Events that nobody asks for do not pile up.
func TestEventsAreBounded(t *testing.T) {
	rules := new(sky).rules(t)
	d := newDuo(t, rules)
	p := d.join(10*ms, Config{})
	d.run(time.Second)
	p.c.Events()
	for i := range 3 * maxEvents {
		if list := p.c.events.next; len(list.list) < maxEvents {
			list.add(Event{Tick: clock.Tick(i), Vals: []int64{0}})
		}
	}
	before := p.c.Stats().EventsLost
	p.play = func() []int64 { return []int64{0, 0, 0, 1, 0} }
	for range 30 {
		for range p.c.Frame(d.now + p.offset) {
			p.c.Tick(p.play())
		}
		d.now += 40 * ms
	}
	if p.c.Stats().EventsLost == before || len(p.c.events.next.list) > maxEvents {
		t.Errorf("%d events wait, %d lost", len(p.c.events.next.list), p.c.Stats().EventsLost)
	}
}

// A steady frame allocates nothing: taking packets in, commands, prediction, drawing, events, the
// next datagram.
func TestSteadyFrameAllocatesNothing(t *testing.T) {
	k := &sky{referee: func(w *game.World) {
		for gems.Len(w) < 20 {
			gems.Spawn(w, gem{Pos: geom.Vec2{X: w.Rand().Range(-9, 9), Y: w.Rand().Range(-9, 9)}})
		}
	}}
	d := newDuo(t, k.rules(t))
	var sides []*side
	for range 6 {
		sides = append(sides, d.join(30*ms, Config{}))
	}
	a := sides[0]
	d.run(36 * time.Second) // once round the ring of predictions
	a.paused = true         // its frames are made here
	var vals []float64
	cmd := []int64{0, 0, 0, 0, 0}
	bot := d.rules.Bot()
	var counted, frames uint64
	old := runtime.GOMAXPROCS(1) // others' allocations are not ours
	defer runtime.GOMAXPROCS(old)
	for n := range 400 {
		d.run(17 * time.Millisecond)
		now := d.now + a.offset
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range a.c.Frame(now) {
			cmd[0], cmd[2] = (cmd[0]+1)%15, (cmd[2]+1)%255
			cmd[3] = (cmd[3] + 1) % 2
			if n%2 == 0 {
				a.c.Tick(cmd)
			} else {
				a.c.Think(bot)
			}
		}
		vals = a.c.Draw(vals, func(e *Entity) {})
		a.c.Events()
		b := a.c.Encode(now)
		runtime.ReadMemStats(&after)
		counted += after.Mallocs - before.Mallocs
		frames++
		if b != nil {
			a.fly(&a.up, true, b)
		}
	}
	if mean := float64(counted) / float64(frames); mean >= 0.5 {
		t.Errorf("%.2f allocations in a frame, want 0", mean)
	}
}
