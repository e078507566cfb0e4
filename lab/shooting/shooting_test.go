package shooting

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
	"meanwhile/server"
)

func play(t *testing.T, cfg Config, d time.Duration) *Range {
	t.Helper()
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(d); err != nil {
		t.Fatal(err)
	}
	return r
}

// A shot counts only if the screen showed what it was aimed at; the server decides as the screen
// did far more often by what was seen than by the present, and one seed gives one result.
//
// seeds: B15
func TestRange(t *testing.T) {
	cfg := Config{Profile: netsim.Fiber, Shooters: 4, Targets: 18, Seed: 1}
	r := play(t, cfg, 5*time.Second)
	ours, none := r.Tally("meanwhile"), r.Tally("none")
	share := func(y *Tally) float64 { return float64(y.Agreed) / float64(y.Shots) }
	if ours.Shots < 120 || none.Shots != ours.Shots {
		t.Errorf("%d shots, %d of them judged by the present", ours.Shots, none.Shots)
	}
	if share(ours) < 0.88 || share(none) > 0.8 {
		t.Errorf("agreement %.3f, by the present %.3f", share(ours), share(none))
	}
	for _, name := range Policies()[2:] {
		if y := r.Tally(name); y.Shots < ours.Shots*9/10 || share(y) < 0.5 {
			t.Errorf("%s: agreement %.3f of %d shots", name, share(y), y.Shots)
		}
	}
	hits := 0
	for _, s := range ours.Matters {
		hits += s
	}
	if hits < 25 {
		t.Errorf("%d shots about something that servers get wrong", hits)
	}
	if again := play(t, cfg, 5*time.Second); !reflect.DeepEqual(again.ours, r.ours) {
		t.Errorf("the same seed: %+v and %+v", again.ours, r.ours)
	}
}

// Every shot is contestable: it passes within 30 cm of the edge of a hull, in or out, and both
// happen.
func TestMarksAreContestable(t *testing.T) {
	rng := geom.NewRand(3)
	hits := 0
	const n = 2000
	for range n {
		b := body{id: 1, at: geom.Vec3{X: rng.Range(-20, 20), Y: rng.Range(2, 20)}, crouch: rng.Chance(0.3), alive: true}
		eye := geom.Vec3{Y: -2, Z: 1.5}
		way := mark(eye, &b, &rng).Sub(eye)
		r := geom.Ray3{From: eye, Dir: way.Unit(), Len: farthest}
		grown := geom.Vec3{Z: -near}
		_, outside := r.Cylinder(b.at.Add(grown), hullRadius+near+0.02, b.height()+2*near)
		if !outside {
			t.Fatalf("a shot at %+v that passes farther than %v m", b, near)
		}
		if _, ok := r.Cylinder(b.at, hullRadius, b.height()); ok {
			hits++
		}
	}
	if hits < n*2/5 || hits > n*3/5 {
		t.Errorf("%d of %d shots hit, want about half", hits, n)
	}
}

// Others' servers keep what they keep: each tick or a capture in six, interpolated between, and
// nothing beyond.
func TestPastInterpolates(t *testing.T) {
	var p past
	for tick := clock.Tick(1); tick <= 100; tick++ {
		p.newest = tick
		p.moments[tick%pastTicks] = sight{bodies: []body{{id: 7, at: geom.Vec3{X: float64(tick)}, alive: true}}}
	}
	at := func(t float64) clock.TickFrac { return clock.TickFrac(t * clock.FracPerTick) }
	for _, c := range []struct {
		name  string
		t     float64
		every clock.Tick
		kept  int
		x     float64 // NaN: refused
	}{
		{"on a tick", 50, 1, 60, 50},
		{"between", 50.5, 1, 60, 50.5},
		{"the newest", 100, 1, 60, 100},
		{"after the newest", 101, 1, 60, 100},
		{"the oldest kept", 41, 1, 60, 41},
		{"older than that", 40.5, 1, 60, math.NaN()},
		{"between captures at 84 and 90", 87, 6, 6, 87},
		{"past the newest capture, at 96", 100, 6, 6, 100},
		{"one interval past it at most", 110, 6, 6, 102},
		{"the oldest capture", 66, 6, 6, 66},
		{"older than that", 65, 6, 6, math.NaN()},
	} {
		var s sight
		got := p.at(at(c.t), c.every, c.kept, &s)
		switch {
		case got == nil && math.IsNaN(c.x):
		case got == nil || math.IsNaN(c.x) || got.bodies[0].at.X != c.x:
			t.Errorf("%s: %+v, want x %v", c.name, got, c.x)
		}
	}
}

// A victim behind a wall has been there since the shooter saw him last.
//
// seeds: B18
func TestBehindCover(t *testing.T) {
	var p past
	hides := clock.Tick(40)
	for tick := clock.Tick(1); tick <= 100; tick++ {
		p.newest = tick
		victim := body{id: 2, at: geom.Vec3{X: -12, Y: -6}, alive: true} // behind the wall at -12, -8
		if tick <= hides {
			victim.at.X = -20
		}
		p.moments[tick%pastTicks] = sight{bodies: []body{{id: 1, at: geom.Vec3{X: -12, Y: -12}, alive: true}, victim}}
	}
	for _, c := range []struct {
		now  clock.Tick
		want clock.Tick
	}{{39, 0}, {40, 0}, {41, 1}, {60, 20}, {100, 60}} {
		if got := p.behind(1, 2, c.now); got != c.want {
			t.Errorf("at tick %d behind cover for %d ticks, want %d", c.now, got, c.want)
		}
	}
	if got := p.behind(1, 0, 100); got != 0 {
		t.Errorf("nobody was hit, and has been behind cover for %d ticks", got)
	}
}

// Who is shot by a far player has been behind cover for longer, nearly as long as the picture is
// old; without lag compensation for no time at all, and then hardly any shot of that player counts.
// Who comes round a corner is earlier by the other's round trip and playout delay.
//
// seeds: B17 B18
func TestDuel(t *testing.T) {
	run := func(holds int, rewind time.Duration) *Duel {
		d, err := NewDuel(time.Duration(holds)*time.Millisecond, 50*time.Millisecond, server.Config{Rewind: rewind}, 1,
			20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	longest := func(d *Duel) float64 { return slices.Max(append(d.Behind, 0)) }
	close, far, off := run(2, 0), run(200, 0), run(200, -1)
	if close.Honoured < close.OnScreen*95/100 || far.Honoured < far.OnScreen*95/100 || far.OnScreen < 50 {
		t.Errorf("%d of %d and %d of %d hits are confirmed", close.Honoured, close.OnScreen, far.Honoured, far.OnScreen)
	}
	if age := far.Ages[len(far.Ages)/2]; age < 220 || age > 340 {
		t.Errorf("a picture over a round trip of 200 ms is %.0f ms old", age)
	}
	if a, b := longest(close), longest(far); a > 40 || b < 100 || b > 300 {
		t.Errorf("behind cover for %.0f ms at a round trip of 2 ms, for %.0f at 200", a, b)
	}
	if b := longest(off); b != 0 || off.Honoured > off.OnScreen/4 {
		t.Errorf("without lag compensation behind cover for %.0f ms, and %d of %d hits", b, off.Honoured, off.OnScreen)
	}
	if a, b := slices.Max(close.Advantage), slices.Min(far.Advantage); a > 100 || b < 200 {
		t.Errorf("peeker's advantage %.0f ms at most at 2 ms, %.0f ms at least at 200", a, b)
	}
}
