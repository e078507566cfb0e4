package client

import (
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/predict"
)

// A slow machine keeps to its budget while every packet corrects the prediction. Its commands
// answer at once and it moves evenly all the same; it shows each throw once, catches up, and is
// then exactly where the server is.
func TestReplayBudget(t *testing.T) {
	for _, x := range []struct {
		name          string
		tick, rest    time.Duration // what a replayed tick costs, and a frame besides
		budget        time.Duration
		least, behind int // ticks a frame runs again at least while it owes some; owed at most
	}{
		{"fast", 10 * time.Microsecond, time.Millisecond, 0, 0, 0},
		{"slow", 500 * time.Microsecond, 2 * time.Millisecond, 0, 7, 40},
		{"generous", 500 * time.Microsecond, 2 * time.Millisecond, 20 * time.Millisecond, 0, 0},
		{"slowest", 5 * time.Millisecond, 2 * time.Millisecond, 0, leastReplay, 40},
	} {
		t.Run(x.name, func(t *testing.T) {
			wild := false
			field := &pitch{rolls: func(w *game.World, b *ball) {
				if wild {
					b.Vel = geom.Vec2{X: float64(w.Tick()%17) / 10}
				}
			}}
			rules, balls, _ := field.rules(t)
			d := newDuo(t, rules)
			a := d.join(120*ms, Config{ReplayBudget: x.budget})
			truth := map[clock.Tick]ball{}
			d.watch = func() {
				for _, b := range balls.All(d.s.World()) {
					truth[d.s.Tick()] = *b
				}
			}
			n, thrown := 0, 0
			a.play = func() []int64 {
				v := make([]int64, rules.Command.Sims)
				v[1] = 15
				if n++; n%30 == 0 {
					v[2] = 1
					thrown++
				}
				return v
			}
			var last geom.Vec3
			over, owed, frames := 0, 0, 0
			var step float64
			a.frame = func() {
				c := a.c
				if frames > 200 && c.own.newestDrawn() != c.up.made {
					t.Fatalf("command %d is made, %d is drawn", c.up.made, c.own.newestDrawn())
				}
				if shown := len(a.counts(0, c.Me())); frames > 200 && shown != thrown {
					t.Fatalf("%d darts were thrown, %d shown", thrown, shown)
				}
				cost := time.Duration(c.replay.ran) * x.tick
				budget := x.budget
				if budget == 0 {
					budget = defaultReplayBudget
				}
				if c.replay.ran > leastReplay && cost > budget {
					over++
				}
				c.FrameTook(x.rest + cost)
				owed = max(owed, c.Stats().Prediction.Owed)
				c.Draw(nil, func(e *Entity) {
					if e.Mine {
						at := geom.Vec3{X: e.Vals[0], Y: e.Vals[1]}
						if frames++; frames > 200 {
							step = max(step, at.Sub(last).Len())
						}
						last = at
					}
				})
			}
			d.run(3 * time.Second)
			wild = true
			d.run(4 * time.Second)
			st := a.c.Stats().Prediction
			if st.Replayed < 500 || over > 2 || owed > x.behind || (st.Deferred > 0) != (x.behind > 0) {
				t.Errorf("%d replayed, %d frames over the budget, %d ticks owed at most, %d deferred", st.Replayed, over,
					owed, st.Deferred)
			}
			if x.least > 0 && st.Owed == 0 {
				t.Error("nothing is owed while every packet corrects")
			}
			if step > 1.4*5.0/60 {
				t.Errorf("the avatar is drawn %.3f m further on in one frame", step)
			}
			wild = false
			d.run(time.Second)
			for _, e := range a.events {
				if e.Event == 0 && e.Cancelled {
					t.Errorf("taken back: %+v", e)
				}
			}
			if len(a.counts(0, a.c.Me())) != thrown || countOf(a.events, 0) != thrown {
				t.Errorf("%d events of %d throws", countOf(a.events, 0), thrown)
			}
			base := a.c.Confirmed()
			s := a.c.own.ring.State(base)
			if owed := a.c.Stats().Prediction.Owed; owed != 0 || s == nil {
				t.Fatalf("%d ticks are still owed", owed)
			}
			m := s.Find(1)
			k := rules.Kinds[m.Kind]
			vals := k.AppendExact(nil, nil, s.Of(m, k), 65536)
			if want := truth[base]; vals[0] != want.Pos.X || vals[2] != want.Vel.X {
				t.Errorf("tick %d: predicted %v, want %+v", base, vals, want)
			}
		})
	}
}

func countOf(events []Event, kind int) (n int) {
	for i := range events {
		if events[i].Event == kind {
			n++
		}
	}
	return n
}

// A debt of more than predict.MaxReplay ticks, as after a pause, ends with the server's next state.
func TestReplayDebtAfterPause(t *testing.T) {
	rules, _, _ := (&pitch{}).rules(t)
	d := newDuo(t, rules)
	a := d.join(60*ms, Config{})
	a.play = func() []int64 { return make([]int64, rules.Command.Sims) }
	d.run(2 * time.Second)
	a.c.replay.ran = 1
	a.c.FrameTook(time.Second)
	a.paused = true
	d.run(3 * time.Second)
	a.paused = false
	most := 0
	a.frame = func() { most = max(most, a.c.Stats().Prediction.Owed) }
	d.run(100 * time.Millisecond)
	if most <= predict.MaxReplay {
		t.Errorf("%d ticks were owed", most)
	}
	a.c.SetReplayBudget(time.Millisecond)
	d.run(time.Second)
	if n := a.c.Stats().Prediction.Owed; n != 0 {
		t.Errorf("%d ticks are still owed", n)
	}
}

// What a tick costs is learned within a few frames, and one slow frame does not count for long.
func TestReplayCost(t *testing.T) {
	var b budget
	frame := func(ran uint64, took time.Duration) {
		b.ran = ran
		b.took(took)
	}
	if n := b.limit(0); n != predict.MaxReplay {
		t.Errorf("%d ticks before anything is known", n)
	}
	for range 100 {
		frame(0, 2*time.Millisecond)
	}
	frame(20, 12*time.Millisecond)
	if n := b.limit(0); n < 7 || n > 9 {
		t.Errorf("%d ticks of 0.5 ms in 4 ms", n)
	}
	if n := b.limit(MaxReplayBudget); n != predict.MaxReplay {
		t.Errorf("%d ticks of 0.5 ms in 100 ms", n)
	}
	frame(8, time.Minute)
	if n := b.limit(0); n < leastReplay {
		t.Errorf("%d ticks after a pause", n)
	}
	for range 12 {
		frame(4, 4*time.Millisecond)
	}
	if n := b.limit(0); n < 7 || n > 9 {
		t.Errorf("%d ticks a while after a pause", n)
	}
	for range 40 { // a clock without resolution
		frame(4, 0)
	}
	if n := b.limit(0); n != predict.MaxReplay {
		t.Errorf("%d ticks that cost nothing", n)
	}
}
