package client

import (
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
)

type dasher struct {
	Pos geom.Vec2 `net:"pos,others=1mm"`
}

// Nothing comes from the server for a while, again and again. A runner is drawn as far as the
// newest place that arrived and waits exactly there, never beyond and never back. What the delay
// covers is drawn running evenly as if nothing had been. Beyond that he does not jump when it goes
// on: he runs on from where he stood, three times as fast at most, and within a second he is where
// he would be drawn anyway.
//
// seeds: R14
func TestWaitsWhenStarved(t *testing.T) {
	const speed = 6.0
	const cuts = 5
	for _, c := range []struct {
		gap    clock.Time
		fixed  time.Duration
		waits  int     // frames at least, in all cuts
		fast   int     // frames at most in which he runs more than half as fast again, in a cut
		within float64 // times his speed, in a frame
	}{
		{1000 * ms, 0, 60 * cuts / 2, 45, 3.15},
		{400 * ms, 200 * time.Millisecond, 60 * cuts / 10, 20, 3.15},
		{400 * ms, 500 * time.Millisecond, 0, 0, 1.5},
	} {
		rules, id := dash(t, speed)
		d := newDuo(t, rules)
		p := d.join(40*ms, Config{Playout: c.fixed})
		p.play = func() []int64 { return []int64{0} }
		p.path = func(up bool) []clock.Time {
			if !up && d.now%(8000*ms) > 8000*ms-c.gap {
				return nil
			}
			return []clock.Time{0}
		}
		d.run(6 * time.Second)             // before the first cut
		const step = 20 * time.Millisecond // one frame
		p.fps = 50
		last, waits, fast, longest := -1.0, 0, 0, 0.0
		for end := d.now.Add(8 * cuts * time.Second); d.now < end; {
			d.run(step)
			var x float64
			p.c.Draw(nil, func(e *Entity) {
				if e.ID == *id {
					x = e.Vals[0]
				}
			})
			newest := float64(p.c.store.Find(uint32(*id)).Groups[0].Newest().Vals[0]) / 1000
			switch s := x - last; {
			case x > newest+0.0005:
				t.Fatalf("gap %v: at %v drawn at %.3f m, the newest that arrived is %.3f", c.gap, d.now, x, newest)
			case last < 0:
			case s < 0:
				t.Fatalf("gap %v: at %v drawn at %.3f m after %.3f", c.gap, d.now, x, last)
			case s == 0:
				if waits++; x != newest {
					t.Fatalf("gap %v: at %v waits at %.3f m, %.3f had arrived", c.gap, d.now, x, newest)
				}
			case s > 1.5*speed*step.Seconds():
				fast++
			}
			if last >= 0 {
				longest = max(longest, (x-last)/(speed*step.Seconds()))
			}
			last = x
		}
		t.Logf("gap %v, delay %v: waited in %d frames, fast in %d, %.2f times his speed at most", c.gap, c.fixed,
			waits, fast, longest)
		if waits < c.waits || c.waits == 0 && waits > 0 || fast > c.fast*cuts || longest > c.within {
			t.Errorf("gap %v, delay %v: waited in %d frames, want %d; "+
				"fast in %d, want at most %d; %.2f times his speed, want at most %.2f",
				c.gap, c.fixed, waits, c.waits, fast, c.fast*cuts, longest, c.within)
		}
	}
}

// The server runs no tick for half a second, and then goes on where it was. What is drawn waits at
// the newest that arrived, and goes on from there: the world stood, so there is nothing to make up
// for but the way of one send interval, somewhere in which it stood.
//
// seeds: R16
func TestServerStalls(t *testing.T) {
	const speed = 6.0
	rules, id := dash(t, speed)
	d := newDuo(t, rules)
	p := d.join(40*ms, Config{})
	p.play = func() []int64 { return []int64{0} }
	d.run(6 * time.Second)
	const step = 17 * time.Millisecond
	last, waits, longest := -1.0, 0, 0.0
	for i := range 4 * 60 {
		if i == 60 {
			d.tick += 500 * ms
		}
		d.run(step)
		var x float64
		p.c.Draw(nil, func(e *Entity) {
			if e.ID == *id {
				x = e.Vals[0]
			}
		})
		if newest := float64(p.c.store.Find(uint32(*id)).Groups[0].Newest().Vals[0]) / 1000; x > newest+0.0005 ||
			x < last {
			t.Fatalf("frame %d: drawn at %.3f m after %.3f, %.3f had arrived", i, x, last, newest)
		}
		if last >= 0 {
			if longest = max(longest, x-last); x == last {
				waits++
			}
		}
		last = x
	}
	t.Logf("waited in %d frames, at most %.3f m in one", waits, longest)
	if most := speed * (step + time.Second/20).Seconds(); waits < 20 || longest > most {
		t.Errorf("waited in %d frames, want about 28; at most %.3f m in one, want %.3f", waits, longest, most)
	}
}

// dash returns the rules of a world in which somebody dashes along at so many metres a second, and
// where its ID stands once a player has joined.
func dash(t *testing.T, speed float64) (*game.Rules, *game.ID) {
	dashers := game.NewKind[dasher]("dasher")
	id := new(game.ID)
	def := game.Definition[riderCmd]{
		Name: "dash", Rate: 60, Send: 20, Kinds: game.Kinds(dashers),
		Join: func(w *game.World, name string) game.ID {
			*id = dashers.Spawn(w, dasher{})
			return dashers.Spawn(w, dasher{Pos: geom.Vec2{X: 50}})
		},
		Act:     func(w *game.World, me game.ID, c riderCmd) {},
		Referee: func(w *game.World) { dashers.Get(w, *id).Pos.X += float64(speed * w.Dt()) },
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return rules, id
}
