package client

import (
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

// rider walks, or rides the wagon.
type rider struct {
	Pos   geom.Vec2 `net:"pos,others=1cm"`
	Wagon game.ID   `net:"handle,parent"`
	Team  int       `net:"enum,amber|blue|green"`
	Name  string    `net:"text,12,ref"`
}

// wagon has more properties than a rider, in another order.
type wagon struct {
	Gas  float64    `net:"float,0.05,0..1"`
	Want geom.Angle `net:"angle,7bit"`
	Load int        `net:"int,0..9999"`
	Pos  geom.Vec2  `net:"pos,others=1cm"`
	Turn geom.Angle `net:"angle,16bit,others=9bit"`
}

// station is a game in which the second player rides a wagon, and all may be near. The server's
// referee moves the wagon.
func station(t testing.TB, moves func(w *game.World, x *wagon)) (*game.Rules, game.Kind[rider], game.Kind[wagon]) {
	t.Helper()
	riders, wagons := game.NewKind[rider]("rider", game.Near(3)), game.NewKind[wagon]("wagon", game.Near(3))
	def := game.Definition[kickerCmd]{
		Name: "station", Rate: 60, Kinds: game.Kinds(riders, wagons),
		Join: func(w *game.World, name string) game.ID {
			if riders.Len(w) == 0 {
				return riders.Spawn(w, rider{Team: 2, Name: "first"})
			}
			id := wagons.Spawn(w, wagon{Pos: geom.Vec2{X: 2}, Gas: 0.95, Want: 3, Load: 7777})
			return riders.Spawn(w, rider{Pos: geom.Vec2{X: 0.5}, Wagon: id, Team: 1, Name: "second"})
		},
		Act: func(w *game.World, me game.ID, c kickerCmd) {
			r := riders.Get(w, me)
			r.Pos = r.Pos.Add(c.Move.Mul(float64(5 * w.Dt())))
			if c.Throw {
				r.Wagon = 0
			}
		},
		Referee: func(w *game.World) {
			for _, x := range wagons.All(w) {
				moves(w, x)
			}
		},
	}
	r, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return r, riders, wagons
}

// idle returns commands that ask for nothing.
func idle(rules *game.Rules) func() []int64 {
	return func() []int64 { return make([]int64, rules.Command.Sims) }
}

// Who rides something that comes near and goes away is drawn on it in each frame, with all of its
// properties: those of what carries it never take their place.
func TestRiderKeepsItsProperties(t *testing.T) {
	n := 0
	rules, _, _ := station(t, func(w *game.World, x *wagon) {
		n++
		x.Pos.X = 14 + 14*geom.Sin(float64(n)/60)
		x.Turn = geom.Angle(float64(n) / 50).Norm()
	})
	d := newDuo(t, rules)
	a, b := d.join(60*ms, Config{}), d.join(40*ms, Config{})
	a.play, b.play = idle(rules), idle(rules)
	d.run(time.Second)
	frames, changes, exact := 0, 0, false
	for i, s := range d.sides {
		s.frame = func() {
			var at geom.Vec2
			s.c.Draw(nil, func(e *Entity) {
				if e.Kind == 1 {
					at = geom.Vec2{X: e.Vals[3], Y: e.Vals[4]}
				}
				if e.Kind == 1 && i == 0 && e.Predicted != exact {
					exact = e.Predicted
					changes++
				}
			})
			seen := 0
			s.c.Draw(nil, func(e *Entity) {
				if e.Kind != 0 {
					return
				}
				seen++
				want := 2.0
				if e.ID != d.sides[0].c.Me() {
					want = 1
					place := geom.Vec2{X: e.Vals[0], Y: e.Vals[1]}
					if off := place.Sub(at).Len(); off < 0.4 || off > 0.6 {
						t.Errorf("player %d: the rider is drawn %.2f m from the wagon", i, off)
					}
				}
				if e.Vals[3] != want {
					t.Errorf("player %d: rider %d has team %v", i, e.ID, e.Vals[3])
				}
			})
			if frames++; seen != 2 {
				t.Errorf("player %d: %d riders are drawn", i, seen)
			}
		}
	}
	d.run(15 * time.Second)
	if changes < 4 || frames < 1000 {
		t.Errorf("the wagon changed timelines %d times in %d frames", changes, frames)
	}
}

// Another player who left while it was run ahead is gone for the rules, too, whatever is predicted
// again in the frame in which the news arrives.
func TestGuestWhoLeftIsGone(t *testing.T) {
	rules, riders, _ := station(t, func(w *game.World, x *wagon) { x.Pos.X = 2 + float64(w.Tick()%7)/10 })
	d := newDuo(t, rules)
	a, b := d.join(60*ms, Config{}), d.join(40*ms, Config{})
	a.play, b.play = idle(rules), idle(rules)
	d.run(2 * time.Second)
	if len(a.c.ahead.guests) != 1 || riders.Len(a.c.World()) != 2 {
		t.Fatalf("guests %v, %d riders", a.c.ahead.guests, riders.Len(a.c.World()))
	}
	d.s.Disconnect(b.id)
	b.paused = true
	gone := 0
	a.frame = func() {
		if a.c.store.Find(3) != nil {
			return
		}
		if gone++; riders.Len(a.c.World()) != 1 {
			t.Errorf("frame %d after the news: %d riders in the world", gone, riders.Len(a.c.World()))
		}
	}
	d.run(time.Second)
	if gone < 30 {
		t.Errorf("gone in %d frames", gone)
	}
}

// With queued commands, too, an avatar that moves beside a ball which is run ahead is predicted
// right: its records are compared by command, those of the ball by the server's tick.
func TestQueuedCommandsBesideABall(t *testing.T) {
	kickers, balls := game.NewKind[kicker]("kicker"), game.NewKind[ball]("ball", game.Predicted)
	def := game.Definition[kickerCmd]{
		Name: "queue", Rate: 60, Kinds: game.Kinds(kickers, balls), Commands: game.Queued,
		Join: func(w *game.World, name string) game.ID {
			balls.Spawn(w, ball{Pos: geom.Vec2{X: 2}, Vel: geom.Vec2{X: 1}})
			return kickers.Spawn(w, kicker{})
		},
		Act: func(w *game.World, me game.ID, c kickerCmd) {
			k := kickers.Get(w, me)
			k.Pos = k.Pos.Add(c.Move.Mul(float64(5 * w.Dt())))
		},
		Step: func(w *game.World) {
			for _, b := range balls.All(w) {
				b.Pos = b.Pos.Add(b.Vel.Mul(w.Dt()))
			}
		},
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	d := newDuo(t, rules)
	a := d.join(60*ms, Config{})
	n := 0
	a.play = func() []int64 {
		v := make([]int64, rules.Command.Sims)
		n++
		v[0] = int64(n/30%2*2-1) * 15
		return v
	}
	d.run(2 * time.Second)
	a.corrections, a.confirmed = 0, 0
	replayed := a.c.Stats().Prediction.Replayed
	d.run(8 * time.Second)
	if more := a.c.Stats().Prediction.Replayed - replayed; a.corrections > 0 || a.confirmed < 100 || more > 100 {
		t.Errorf("%d corrections of %d, %d ticks replayed", a.corrections, a.confirmed, more)
	}
}

// A server that gives the ID of a thing to one of another kind, as none of ours does, ends the
// first: what is known of it is never read as the other.
func TestKindOfAThingChanges(t *testing.T) {
	for _, exact := range []snapshot.Detail{snapshot.Exact, snapshot.Observed} {
		rules, _, _ := (&pitch{near: true}).rules(t)
		d := newDuo(t, rules)
		a := d.join(60*ms, Config{})
		a.play = idle(rules)
		d.run(2 * time.Second)
		if a.c.ahead.find(1) == nil {
			t.Fatal("the ball is not run ahead")
		}
		tick := a.c.down.newestTick
		h := snapshot.NewHistory(rules.Coders)
		h.Begin(tick)
		v := snapshot.NewView(h)
		add := func(id uint32, detail snapshot.Detail) int32 {
			i := h.Add(id, 2, false)
			h.Record(i, make([]int64, rules.Kinds[2].Sims), false)
			v.Enter(i, detail)
			return i
		}
		for n := range uint32(20) { // the slots that the server uses
			add(100+n, snapshot.Observed)
		}
		dart := add(1, exact)
		var w wire.BitWriter
		var log wire.Log
		var writer snapshot.Writer
		due := v.Pending(0, time.Second, nil)
		packet := log.Sent(0, tick, v.Missing)
		writer.Begin(v, due, 8*wire.MaxDatagram)
		for j := range due {
			if due[j].Ent == dart {
				writer.Try(&due[j])
				writer.Keep()
			}
		}
		writer.End(&w, packet, 0)
		var r wire.BitReader
		r.Reset(w.Bytes())
		if err := a.c.store.Read(&r, tick, 0); err != nil {
			t.Fatal(err)
		}
		if kind := a.c.store.Find(1).Kind; kind != 2 {
			t.Fatalf("kind %d", kind)
		}
		a.c.down.fresh = true
		drawn := 0
		a.frame = func() {
			a.c.Draw(nil, func(e *Entity) {
				if e.ID == 1 && e.Kind == 2 && len(e.Vals) == rules.Kinds[2].Sims {
					drawn++
				}
			})
		}
		d.run(500 * time.Millisecond)
		if drawn == 0 {
			t.Errorf("detail %d: the dart was never drawn", exact)
		}
	}
}

// What a command has spawned keeps the ID under which it is drawn when the player's avatar goes.
func TestSpawnOutlivesItsPlayer(t *testing.T) {
	p := &pitch{life: 90}
	rules, _, darts := p.rules(t)
	d := newDuo(t, rules)
	a := d.join(60*ms, Config{})
	thrown, n := clock.Tick(0), 0
	a.play = func() []int64 {
		v := make([]int64, rules.Command.Sims)
		if n++; n == 120 {
			v[2] = 1
		}
		return v
	}
	p.rolls = func(w *game.World, _ *ball) {
		if darts.Len(w) > 0 && thrown == 0 {
			thrown = w.Tick()
		}
		if thrown != 0 && w.Tick() == thrown+12 {
			w.Despawn(a.c.Me())
		}
	}
	drawn, after := map[game.ID]int{}, 0
	a.frame = func() {
		a.c.Draw(nil, func(e *Entity) {
			if e.Kind != 2 {
				return
			}
			if drawn[e.ID]++; a.c.Me() == 0 {
				after++
			}
		})
	}
	d.run(5 * time.Second)
	if len(drawn) != 1 || after < 10 {
		t.Errorf("drawn under %v, in %d frames without an avatar", drawn, after)
	}
}

// Whatever the frame rate and the loss, the events of darts that a player was shown, less those
// that were taken back, are those that happened.
func TestEventsAtAnyFrameRate(t *testing.T) {
	for i, fps := range []int{3, 5, 10, 60, 144} {
		p := &pitch{life: 30, bounce: 8}
		rules, _, _ := p.rules(t)
		d := newDuo(t, rules)
		a, b := d.join(60*ms, Config{}), d.join(40*ms, Config{})
		a.fps, b.play = fps, idle(rules)
		a.path = lossy(uint64(i), 0.1*float64(i%3))
		n, happened := 0, 0
		a.play = func() []int64 {
			v := make([]int64, rules.Command.Sims)
			if n++; n > 120 && n%20 == 0 && n < 720 {
				v[2] = 1
			}
			return v
		}
		d.watch = func() {
			for _, e := range d.s.Engine().Events() {
				happened += e.Event
			}
		}
		d.run(time.Minute)
		for j, s := range d.sides {
			shown := 0
			for _, e := range s.events {
				if e.Cancelled {
					shown -= e.Event
				} else {
					shown += e.Event
				}
			}
			if shown != happened || happened < 4 {
				t.Errorf("%d frames a second, player %d: %d thuds were shown, %d happened", fps, j, shown, happened)
			}
		}
	}
}
