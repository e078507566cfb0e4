package client

import (
	"fmt"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/predict"
	"meanwhile/netcode/snapshot"
)

// pitch is a game in which players push balls and throw darts.
type pitch struct {
	near   bool
	rolls  func(w *game.World, b *ball)         // the server's referee, for each ball
	balls  int                                  // how many there are; 0: one
	bounce int                                  // age of a dart at which it is heard; 0: none
	life   int                                  // ticks that a dart lives; 0: 40
	ends   bool                                 // the referee removes the balls
	refuse func(w *game.World, me game.ID) bool // a throw, on the server
}

type kicker struct {
	Pos   geom.Vec2 `net:"pos,others=1cm"`
	Darts int       `net:"int,0..99"`
}

type ball struct {
	Pos geom.Vec2 `net:"pos,others=1cm"`
	Vel geom.Vec2 `net:"vel,others=1cm/s"`
}

type dart struct {
	Pos geom.Vec2 `net:"pos,others=1cm"`
	Vel geom.Vec2 `net:"vel,others=1cm/s"`
	Age int       `net:"int,0..99"`
}

type kickerCmd struct {
	Move  geom.Vec2 `net:"stick"`
	Throw bool      `net:"press"`
}

type thud struct {
	N int `net:"int,0..9999"`
}

func (p *pitch) rules(t testing.TB) (*game.Rules, game.Kind[ball], game.Kind[dart]) {
	t.Helper()
	kickers := game.NewKind[kicker]("kicker")
	how := game.Predicted
	if p.near {
		how = game.Near(3)
	}
	balls := game.NewKind[ball]("ball", how)
	darts := game.NewKind[dart]("dart", game.Near(2))
	thuds := game.NewEvent[thud]("thud")
	throws := game.NewEvent[thud]("throw")
	def := game.Definition[kickerCmd]{
		Name: "pitch", Rate: 60, Kinds: game.Kinds(kickers, balls, darts), Events: game.Events(throws, thuds),
		Join: func(w *game.World, name string) game.ID {
			if balls.Len(w) == 0 {
				for i := range max(p.balls, 1) {
					balls.Spawn(w, ball{Pos: geom.Vec2{X: 2, Y: float64(i) * 9}})
				}
			}
			return kickers.Spawn(w, kicker{Pos: geom.Vec2{X: 40 * float64(kickers.Len(w))}, Darts: 99})
		},
		Act: func(w *game.World, me game.ID, c kickerCmd) {
			k := kickers.Get(w, me)
			k.Pos = k.Pos.Add(c.Move.Mul(float64(5 * w.Dt())))
			if c.Throw && k.Darts > 0 && !(p.refuse != nil && p.refuse(w, me)) {
				k.Darts--
				darts.Spawn(w, dart{Pos: k.Pos, Vel: geom.Vec2{X: 12, Y: 3}})
				throws.Emit(w, me, k.Pos, thud{k.Darts})
			}
		},
		Referee: func(w *game.World) {
			for id, b := range balls.All(w) {
				if p.rolls != nil {
					p.rolls(w, b)
				}
				if p.ends {
					w.Despawn(id)
				}
			}
		},
		Step: func(w *game.World) {
			for _, b := range balls.All(w) {
				for _, k := range kickers.All(w) {
					if d := b.Pos.Sub(k.Pos); d.Len() < 0.6 {
						b.Vel = d.Unit().Mul(6)
					}
				}
				b.Vel = b.Vel.Mul(0.98)
				if b.Vel.Len() < 0.05 {
					b.Vel = geom.Vec2{}
				}
				b.Pos = b.Pos.Add(b.Vel.Mul(w.Dt()))
			}
			for id, x := range darts.All(w) {
				x.Pos = x.Pos.Add(x.Vel.Mul(w.Dt()))
				if x.Age++; x.Age == p.bounce {
					thuds.Emit(w, id, x.Pos, thud{x.Age})
				}
				if x.Age >= 40 && p.life < 40 || x.Age == p.life {
					thuds.Emit(w, id, x.Pos, thud{x.Age})
					w.Despawn(id)
				}
			}
		},
	}
	r, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return r, balls, darts
}

// A ball that nobody else touches is predicted exactly, and answers in the tick of the touch.
func TestBallIsPredictedExactly(t *testing.T) {
	rules, balls, _ := (&pitch{}).rules(t)
	d := newDuo(t, rules)
	a := d.join(60*ms, Config{})
	truth := map[clock.Tick]ball{}
	d.watch = func() {
		for _, b := range balls.All(d.s.World()) {
			truth[d.s.Tick()] = *b
		}
	}
	n := 0
	a.play = func() []int64 {
		v := make([]int64, rules.Command.Sims)
		n++
		v[0] = int64(1-n/60%2*2) * 15
		return v
	}
	compared, moved := 0, 0
	a.frame = func() {
		base := a.c.Confirmed()
		s := a.c.own.ring.State(base)
		want, ok := truth[base]
		if s == nil || !ok || base < 100 {
			return
		}
		compared++
		m := s.Find(1)
		if m == nil {
			t.Fatalf("tick %d: the ball is not predicted: %+v", base, s.Members)
		}
		if want.Vel != (geom.Vec2{}) {
			moved++
		}
		k := rules.Kinds[m.Kind]
		vals := k.AppendExact(nil, nil, s.Of(m, k), 65536)
		if vals[0] != want.Pos.X || vals[1] != want.Pos.Y {
			t.Fatalf("tick %d: predicted %v, want %+v", base, vals, want)
		}
	}
	d.run(10 * time.Second)
	if compared < 100 || moved < 50 || a.corrections != 0 {
		t.Errorf("%d compared, %d moved, %d corrections", compared, moved, a.corrections)
	}
	if st := a.c.Stats(); st.Prediction.Replayed > 100 {
		t.Errorf("%+v", st)
	}
}

// A dart is there in the tick of the throw, becomes the server's without a step, and keeps the ID
// under which it is drawn. What the server refuses goes, with its event.
//
// seeds: B5
func TestSpawnIsPredicted(t *testing.T) {
	refused := false
	p := &pitch{}
	rules, _, darts := p.rules(t)
	d := newDuo(t, rules)
	p.refuse = func(w *game.World, me game.ID) bool {
		refuse := w == d.s.World() && refused
		return refuse
	}
	a := d.join(60*ms, Config{})
	throw := false
	a.play = func() []int64 {
		v := make([]int64, rules.Command.Sims)
		if throw {
			v[2], throw = 1, false
		}
		return v
	}
	drawn := map[game.ID][]geom.Vec2{}
	a.frame = func() {
		a.c.Draw(nil, func(e *Entity) {
			if e.Kind == 2 {
				drawn[e.ID] = append(drawn[e.ID], geom.Vec2{X: e.Vals[0], Y: e.Vals[1]})
			}
		})
	}
	d.run(2 * time.Second)
	for n := range 8 {
		throw = true
		d.run(18 * time.Millisecond)
		if len(drawn) != n+1 {
			t.Fatalf("throw %d: %d darts were drawn", n, len(drawn))
		}
		if darts.Len(d.s.World()) != 0 {
			t.Fatal("the server has it already")
		}
		d.run(1500 * time.Millisecond)
	}
	for id, way := range drawn {
		for i := 1; i < len(way); i++ {
			if step := way[i].Sub(way[i-1]).Len(); step > 0.3 {
				t.Errorf("dart %x: a step of %.2f m in frame %d of %d", id, step, i, len(way))
			}
		}
		if n := len(way); n < 35 || n > 45 {
			t.Errorf("dart %x was drawn in %d frames", id, n)
		}
	}
	counts := func(event int, cancelled bool) (n int) {
		for _, e := range a.events {
			if e.Event == event && e.Cancelled == cancelled {
				n++
			}
		}
		return n
	}
	if throws, thuds := counts(0, false), counts(1, false); throws != 8 || thuds != 8 || a.corrections != 0 {
		t.Errorf("%d throws and %d thuds were shown, %d corrections", throws, thuds, a.corrections)
	}
	if n := counts(0, true) + counts(1, true); n != 0 {
		t.Errorf("%d events were taken back", n)
	}

	refused, drawn = true, map[game.ID][]geom.Vec2{}
	throw = true
	d.run(1500 * time.Millisecond)
	if len(drawn) != 1 {
		t.Fatalf("%d refused darts were drawn", len(drawn))
	}
	for _, way := range drawn {
		if n := len(way); n < 8 || n > 14 { // the round trip of 120 ms, two ticks and the next packet
			t.Errorf("a refused dart was drawn in %d frames", n)
		}
	}
	if throws, back := counts(0, false), counts(0, true); throws != 9 || back != 1 {
		t.Errorf("%d throws were shown, %d taken back", throws, back)
	}
	if n := counts(1, false); n != 8 {
		t.Errorf("%d thuds", n)
	}
}

// A ball that rolls past a player is predicted while it is near, and nobody sees it change between
// the two timelines: it goes on in its direction, without a step and never back.
func TestNearBallChangesTimelines(t *testing.T) {
	p := &pitch{near: true}
	rules, _, _ := p.rules(t)
	d := newDuo(t, rules)
	a := d.join(70*ms, Config{})
	a.play = func() []int64 { return make([]int64, rules.Command.Sims) }
	d.run(2 * time.Second)
	began := false
	p.rolls = func(w *game.World, b *ball) {
		if !began {
			began, b.Pos = true, geom.Vec2{X: -25, Y: 1.5}
		}
		b.Vel = geom.Vec2{X: 12}
	}
	var way []geom.Vec2
	predicted, changes := false, 0
	a.frame = func() {
		a.c.Draw(nil, func(e *Entity) {
			if e.Kind != 1 {
				return
			}
			way = append(way, geom.Vec2{X: e.Vals[0], Y: e.Vals[1]})
			if e.Predicted != predicted {
				if len(way) > 20 { // it began near, and was moved away
					changes++
				}
				predicted = e.Predicted
			}
		})
	}
	d.run(5 * time.Second)
	if changes != 2 {
		t.Errorf("the ball changed between the timelines %d times", changes)
	}
	for i := 20; i < len(way); i++ {
		step := way[i].Sub(way[i-1])
		if step.X < -1e-9 || step.Len() > 12.0/60*2.2 {
			t.Errorf("frame %d: from %v to %v", i, way[i-1], way[i])
		}
	}
}

// Whatever two players do, lose and refuse, what each predicts is in the end what the server has,
// and every event was shown once to each, less what was taken back.
//
// seeds: P9
func TestPredictedSetConverges(t *testing.T) {
	for seed := uint64(1); seed <= 12; seed++ {
		p := &pitch{near: seed%2 == 0, balls: 3}
		rules, _, _ := p.rules(t)
		d := newDuo(t, rules)
		fate := geom.NewRand(seed, 99)
		p.refuse = func(w *game.World, me game.ID) bool {
			return w == d.s.World() && fate.Chance(0.3)
		}
		p.rolls = func(w *game.World, b *ball) {
			switch {
			case w.Rand().Chance(0.03):
				b.Pos.Y += 0.5
			case w.Rand().Chance(0.01):
				b.Vel = geom.Vec2{X: w.Rand().Range(-5, 5), Y: w.Rand().Range(-5, 5)}
			}
		}
		sides := []*side{d.join(clock.Time(20+10*seed)*ms, Config{}), d.join(45*ms, Config{})}
		happened := map[[3]int64]int{} // event, actor and payload
		d.watch = func() {
			for _, e := range d.s.Engine().Events() {
				happened[[3]int64{int64(e.Event), int64(e.Actor), e.Vals[0]}]++
			}
		}
		busy := true
		for i, s := range sides {
			s.play = wildly(rules, geom.NewRand(seed, uint64(i)), i, &busy)
		}
		for i, s := range sides {
			s.frame = func() {
				if err := s.holds(); err != nil {
					t.Errorf("seed %d, player %d: %v", seed, i, err)
				}
			}
		}
		d.run(2 * time.Second)
		for i, s := range sides {
			s.path = lossy(seed+uint64(10*i), 0.15)
		}
		d.run(12 * time.Second)
		busy = false
		p.rolls = nil
		for _, s := range sides {
			s.path = nil
		}
		d.run(5 * time.Second)
		for i, s := range sides {
			if err := s.isSettled(); err != nil {
				t.Errorf("seed %d, player %d: %v", seed, i, err)
			}
			shown := s.throws()
			// A throw has another number where the one before it was refused, so they are counted.
			for _, other := range d.sides {
				threw, saw := 0, 0
				for n := range int64(100) {
					threw += happened[[3]int64{0, int64(other.c.Me()), n}]
					saw += shown[[3]int64{0, int64(other.c.Me()), n}]
				}
				// One that only the server could know of is not shown to who threw it.
				if threw < 10 || saw > threw || saw < threw-1 || saw != threw && other != s {
					t.Errorf("seed %d, player %d: saw %d of %d throws of %d", seed, i, saw, threw, other.c.Me())
				}
			}
		}
	}
}

// wildly returns commands that run to and fro and throw, while busy is true.
func wildly(rules *game.Rules, r geom.Rand, i int, busy *bool) func() []int64 {
	n := 0
	return func() []int64 {
		v := make([]int64, rules.Command.Sims)
		if n++; !*busy {
			return v
		}
		v[0], v[1] = int64(1-(n/40+i)%2*2)*15, int64(r.IntN(31)-15)
		if r.Chance(0.05) {
			v[2] = 1
		}
		return v
	}
}

// holds returns an error if the prediction is not, in this very frame, what the newest records say.
func (p *side) holds() error {
	r := &p.c.own
	newest := r.ring.State(r.ring.Done())
	if newest == nil || r.me == 0 || r.ring.Debt() > 0 {
		return nil
	}
	for _, h := range p.c.store.Entities() {
		st := h.Groups[snapshot.OwnerGroup].Newest()
		if !h.Exact || st == nil || r.ring.State(st.Tick) == nil {
			continue
		}
		m := r.ring.State(st.Tick).Find(game.ID(h.ID))
		k := p.d.rules.Kinds[h.Kind]
		if m == nil || m.Gone != 0 || !sameOwned(k, r.ring.State(st.Tick).Of(m, k), st.Vals) {
			return fmt.Errorf("%d is not as the server said of tick %d", h.ID, st.Tick)
		}
	}
	for _, x := range p.c.ahead.tracks {
		if x.shown != x.id && newest.Find(x.shown) != nil {
			return fmt.Errorf("%x is predicted beside the server's %d", x.shown, x.id)
		}
	}
	for _, m := range newest.Members {
		if m.ID.Foreseen() && r.over(&m) {
			return fmt.Errorf("%x was refused, and is still predicted", m.ID)
		}
	}
	return nil
}

// isSettled returns an error if what is predicted is not what the server has now.
func (p *side) isSettled() error {
	set := p.c.own.ring.State(p.c.own.ring.Done())
	for j := range set.Members {
		m := &set.Members[j]
		_, want := p.d.s.Engine().Sims(m.ID)
		k := p.d.rules.Kinds[m.Kind]
		if m.Gone != 0 || want == nil || !sameOwned(k, set.Of(m, k), want) {
			return fmt.Errorf("predicted %+v %v, on the server %v", *m, set.Of(m, k), want)
		}
	}
	return nil
}

// throws counts the events that were shown and not taken back, by event, by actor for throws, and
// by payload.
func (p *side) throws() map[[3]int64]int {
	shown := map[[3]int64]int{}
	for _, e := range p.events {
		key := [3]int64{int64(e.Event), 0, e.Vals[0]}
		if key[0] == 0 {
			key[1] = int64(e.Actor)
		}
		if e.Cancelled {
			shown[key]--
		} else {
			shown[key]++
		}
	}
	return shown
}

// What the server removes is gone for the rules, too, though nothing else happens.
func TestRemovedThingLeavesThePrediction(t *testing.T) {
	p := &pitch{}
	rules, _, _ := p.rules(t)
	d := newDuo(t, rules)
	a := d.join(60*ms, Config{})
	a.play = func() []int64 { return make([]int64, rules.Command.Sims) }
	d.run(3 * time.Second)
	r := &a.c.own
	if s := r.ring.State(r.ring.Done()); len(s.Members) != 2 {
		t.Fatalf("%+v", s.Members)
	}
	p.ends = true
	d.run(200 * time.Millisecond)
	if s := r.ring.State(r.ring.Done()); len(s.Members) != 1 || s.Members[0].ID != r.me {
		t.Errorf("%+v", s.Members)
	}
}

// A push that the server never saw is undone, although the ball rests there and is not sent again.
func TestPushThatNeverWasIsUndone(t *testing.T) {
	p := &pitch{}
	rules, balls, _ := p.rules(t)
	d := newDuo(t, rules)
	a := d.join(60*ms, Config{})
	run := false
	a.play = func() []int64 {
		v := make([]int64, rules.Command.Sims)
		if run {
			v[0] = 15
		}
		return v
	}
	d.run(3 * time.Second)
	a.path = func(up bool) []clock.Time {
		if up {
			return nil // nothing arrives
		}
		return []clock.Time{0}
	}
	run = true
	d.run(600 * time.Millisecond)
	r := &a.c.own
	moved := func() bool {
		s := r.ring.State(r.ring.Done())
		m := s.Find(1)
		at := rules.Kinds[m.Kind].AppendExact(nil, nil, s.Of(m, rules.Kinds[m.Kind]), 65536)
		for _, b := range balls.All(d.s.World()) {
			return at[0] != b.Pos.X || at[1] != b.Pos.Y
		}
		return true
	}
	if !moved() {
		t.Fatal("nothing was pushed")
	}
	run, a.path = false, nil
	d.run(500 * time.Millisecond)
	if moved() {
		t.Error("the ball is still predicted where it was pushed to")
	}
}

// What is heard of a dart is heard once, whether the server's dart has arrived by then or not, and
// also if it is gone before the server could send it.
func TestEventsOfSpawns(t *testing.T) {
	for _, x := range []struct{ life, bounce, want int }{{2, 0, 29}, {30, 3, 58}, {30, 12, 58}} {
		p := &pitch{life: x.life, bounce: x.bounce}
		rules, _, _ := p.rules(t)
		d := newDuo(t, rules)
		a := d.join(60*ms, Config{})
		n := 0
		a.play = func() []int64 {
			v := make([]int64, rules.Command.Sims)
			if n++; n > 120 && n%20 == 0 && n < 720 {
				v[2] = 1
			}
			return v
		}
		d.run(15 * time.Second)
		thuds := 0
		for _, e := range a.events {
			if e.Cancelled {
				t.Errorf("%+v: taken back: %+v", x, e)
			}
			if e.Event == 1 {
				thuds++
			}
		}
		if thuds != x.want {
			t.Errorf("%+v: %d thuds were shown", x, thuds)
		}
	}
}

// A correction of a predicted ball fades: nothing that is drawn of it jumps.
func TestBallCorrectionFades(t *testing.T) {
	p := &pitch{}
	rules, _, _ := p.rules(t)
	d := newDuo(t, rules)
	a := d.join(60*ms, Config{})
	a.play = func() []int64 { return make([]int64, rules.Command.Sims) }
	d.run(3 * time.Second)
	way := []float64(nil)
	a.frame = func() {
		a.c.Draw(nil, func(e *Entity) {
			if e.Kind == 1 {
				way = append(way, e.Vals[1])
			}
		})
	}
	pushed := false
	p.rolls = func(w *game.World, b *ball) {
		if !pushed {
			pushed = true
			b.Pos.Y += 1
		}
	}
	d.run(2 * time.Second)
	for i := 1; i < len(way); i++ {
		if step := way[i] - way[i-1]; step > 0.2 || step < 0 {
			t.Errorf("frame %d: from %.3f to %.3f", i, way[i-1], way[i])
		}
	}
	if last := way[len(way)-1]; last < 0.99 {
		t.Errorf("drawn at %.3f in the end", last)
	}
}

// OnConfirm reports each wrong prediction of the avatar as one, also where a ball that was run ahead
// is put right with it: a match test counts nothing else.
//
// seeds: P4
func TestCorrectionsBesideABall(t *testing.T) {
	var d *duo
	p := &pitch{refuse: func(w *game.World, _ game.ID) bool { return d != nil && w == d.s.World() }}
	rules, _, _ := p.rules(t)
	d = newDuo(t, rules)
	a := d.join(40*ms, Config{})
	throws, wrong, set := 0, 0, 0
	a.play = func() []int64 {
		v := make([]int64, rules.Command.Sims)
		if throws++; throws%60 == 0 {
			v[2] = 1
		}
		return v
	}
	d.run(time.Second)
	a.c.OnConfirm = func(tick clock.Tick, o predict.Outcome, _ float64) {
		if o.Stale || o.Unknown {
			t.Errorf("tick %d: %+v", tick, o)
		}
		if o.Corrected {
			wrong++
		}
		if a.c.own.ring.State(tick).Find(1) != nil {
			set++
		}
	}
	d.run(5 * time.Second)
	if wrong < 4 || set < wrong {
		t.Errorf("%d throws that the server refused were corrected; %d states with the ball", wrong, set)
	}
}

// A teleport is flagged in the frame in which the picture passes it, and nothing of it fades,
// whichever timeline a thing is drawn by.
func TestTeleportOfThings(t *testing.T) {
	for _, x := range []struct {
		near, jump float64
		exact      bool // after the jump
	}{
		{2, 0.5, true},   // on time
		{4.4, 0.5, true}, // exact, and drawn late
		{4.4, 2, false},  // and goes away by the jump
		{30, 2, false},   // observed
	} {
		near := x.near
		p := &pitch{near: true}
		rules, balls, _ := p.rules(t)
		d := newDuo(t, rules)
		a := d.join(60*ms, Config{})
		a.play = func() []int64 { return make([]int64, rules.Command.Sims) }
		n := 0
		p.rolls = func(w *game.World, b *ball) {
			switch n++; n {
			case 60, 90, 120: // it comes near, and goes where the test wants it
				b.Pos.X = map[int]float64{60: 2, 90: (2 + near) / 2, 120: near}[n]
			case 400:
				b.Pos.Y = x.jump
				for id := range balls.All(w) {
					w.Cut(id)
				}
			}
		}
		exact, was, jumps, flags := false, 0.0, 0, 0
		a.frame = func() {
			a.c.Draw(nil, func(e *Entity) {
				if e.Kind != 1 {
					return
				}
				exact = e.Replica.Exact
				step := e.Vals[1] - was
				if was = e.Vals[1]; e.Cut() {
					flags++
				}
				if step == x.jump && e.Cut() {
					jumps++
				} else if step != 0 {
					t.Errorf("at %v m: a step of %v m, flagged %v", near, step, e.Cut())
				}
			})
			a.c.Drawn()
		}
		d.run(8 * time.Second)
		if jumps != 1 || flags != 1 || exact != x.exact {
			t.Errorf("at %v m: %d jumps, %d flags, exact %v", near, jumps, flags, exact)
		}
	}
}
