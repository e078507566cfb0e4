package motion_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
)

// states are motion.Records by rising tick.
type states []*motion.State

func (s states) Since(t clock.Tick) (a, b *motion.State) {
	for _, v := range s {
		if v.Tick > t {
			return a, v
		}
		a = v
	}
	return a, nil
}

// At the present places are where their newest records carry them, for as long as the kind's
// entities go on; all else is as it was last.
//
// seeds: B8 B12
func TestCarry(t *testing.T) {
	k := kind(t, plane{}, 20)
	with := func(s *motion.State, f func(s *motion.State)) *motion.State { f(s); return s }
	at := func(tick clock.Tick, x int64) *motion.State { return planeAt(tick, x, 40, 200, 10, 54) }
	b := at(104, 40)
	for _, c := range []struct {
		name   string
		held   states
		tick   float64
		x, alt float64
	}{
		{"at the record", states{at(100, 0), b}, 104, 40, 40},
		{"before it", states{at(100, 0), b}, 103, 30, 30},
		{"ten ticks on", states{at(100, 0), b}, 114, 140, 140},
		{"slowing down", states{at(100, 0), b}, 124, 40 + 10*17.5, 40 + 10*17.5},
		{"at one and a half seconds, and beyond", states{at(100, 0), b}, 140, 240, 240},
		{"one record: only what has a velocity", states{b}, 106, 40, 60},
		{"rests", states{at(100, 0), with(at(104, 40), func(s *motion.State) { s.Rest = true })}, 106, 40, 40},
		{"cut between", states{at(100, 0), with(at(104, 40), func(s *motion.State) { s.Cut = 102 })}, 106, 40, 60},
		{"further apart than warp", states{at(100, -9000), b}, 106, 40, 60},
		{"began two ticks before", states{at(100, 0), with(at(104, 40), func(s *motion.State) { s.Start = 103 })},
			105, 60, 50},
		{"announced for later", states{at(100, 0), with(at(104, 40), func(s *motion.State) { s.Bound = 9 })}, 106, 60, 60},
		{"two records within 100 ms: the one before", states{at(100, 0), at(103, 36), b}, 106, 60, 60},
		{"but not over a teleport", states{at(100, 0), with(at(103, 36), func(s *motion.State) { s.Cut = 103 }), b},
			105, 44, 50},
	} {
		var carry motion.Carry
		dst := make([]int64, planeComps)
		carry.Draw(k, &k.Groups[0], c.held, &motion.Horizon{}, clock.TickFrac(c.tick*clock.FracPerTick), 0, dst)
		got := func(at int) float64 { return float64(dst[at]) / schema.SubSteps }
		if math.Abs(got(planeX)-c.x) > 0.01 || math.Abs(got(planeAlt)-c.alt) > 0.02 || got(planeYaw) != 10 ||
			got(planeFuel) != 54 || dst[planeComps-1] != schema.SubSteps {
			t.Errorf("%s: x %v, alt %v, yaw %v, fuel %v; want %v %v 10 54", c.name, got(planeX), got(planeAlt),
				got(planeYaw), got(planeFuel), c.x, c.alt)
		}
		if reach := carry.Reach(); reach != clock.Tick(30).Frac() {
			t.Errorf("%s: goes on for %v ticks, want 30", c.name, float64(reach)/clock.FracPerTick)
		}
	}
}

// walk draws a plane for so many ticks, whose records arrive at once, and returns its alt in each
// frame, in cm.
func walk(t *testing.T, fps, ticks int, held states) (cm []float64) {
	k := kind(t, plane{}, 20)
	var carry motion.Carry
	var h motion.Horizon
	for i := 0; i <= ticks*fps/20; i++ {
		s := float64(i) / float64(fps)
		at := held[0].Tick.Frac() + clock.TickFrac(20*s*clock.FracPerTick)
		n := len(held)
		if _, next := held.Since(at.Tick()); next != nil {
			n = slices.Index(held, next)
		}
		dst := make([]int64, planeComps)
		carry.Draw(k, &k.Groups[0], held[:n], &h, at, clock.Time(s*1e9), dst)
		cm = append(cm, float64(dst[planeAlt])/schema.SubSteps)
	}
	return cm
}

// A record that says something else makes no step and no kink, however wrong the drawing was, at
// any frame rate alike, and in the end the record is right.
//
// seeds: R4 R7
func TestCarryBlends(t *testing.T) {
	for _, off := range []int64{20, -100, 390} { // cm
		after := map[int]float64{}
		for _, fps := range []int{30, 60, 144} {
			// 10 cm a tick; at tick 110 it turns out to be elsewhere, and to go on as before
			x := walk(t, fps, 60, states{planeAt(100, 0, 0, 200, 0, 0), planeAt(110, 0, 100+off, 200, 0, 0),
				planeAt(120, 0, 200+off, 200, 0, 0), planeAt(135, 0, 350+off, 200, 0, 0), planeAt(150, 0, 500+off, 200, 0, 0)})
			for i := 2; i < len(x); i++ {
				if bend := (x[i] - 2*x[i-1] + x[i-2]) * float64(fps*fps) / 100; math.Abs(bend) > 125 && i*20 < 58*fps {
					t.Errorf("%d cm, %d fps: frame %d bends by %.0f m/s2, want 120", off, fps, i, bend)
				}
			}
			if got := x[59*fps/20]; math.Abs(got-float64(590+off)) > 11 {
				t.Errorf("%d cm, %d fps: ends at %.1f", off, fps, got)
			}
			after[fps] = x[fps*7/10] - 140
		}
		if d := after[30] - after[144]; math.Abs(d) > 0.15*math.Abs(float64(off)) {
			t.Errorf("%d cm: 200 ms later it depends on the frame rate: %v", off, after)
		}
		if share := after[60] / float64(off); share < 0.3 {
			t.Errorf("%d cm: after 200 ms %.2f of it are gone", off, share)
		}
	}
}

// An entity that stopped is drawn where it stands, and not past the place where its record found it
// drawn.
//
// seeds: R44
func TestCarryStops(t *testing.T) {
	rest := planeAt(110, 0, 90, 0, 0, 0) // it stopped a tick before, and is drawn 10 cm further
	rest.Rest = true
	x := walk(t, 60, 30, states{planeAt(100, 0, 0, 200, 0, 0), rest})
	if most := slices.Max(x); most > 100.1 {
		t.Errorf("it slides on to %.1f cm, want 100", most)
	}
	if least := slices.Min(x[30:]); least < 89.9 {
		t.Errorf("it swings back to %.1f cm, want 90", least)
	}
	if last := x[len(x)-1]; math.Abs(last-90) > 0.1 {
		t.Errorf("it stands at %.1f cm, want 90", last)
	}
}

// Places and directions fade, the short way round and up to Warp; everything else is drawn as the
// newest record has it at once.
func TestCarryOfEachClass(t *testing.T) {
	k := kind(t, fore{}, 30)
	g := &k.Groups[0]
	rec := &motion.State{Tick: 100, Vals: make([]int64, foreComps)}
	const gone, kept = 0.0, 1.0
	for _, c := range []struct {
		name  string
		at    int
		steps int64
		cut   clock.Tick
		want  float64 // share of the difference that is left at once
	}{
		{"a place", forePos, 200, 0, kept},
		{"a place back", forePos, -200, 0, kept},
		{"a place four metres off", forePos, 400, 0, kept},
		{"a place further off", forePos, 401, 0, gone},
		{"a place further off, back", forePos, -401, 0, gone},
		{"a cubic place, which has no warp", foreBow, 400, 0, kept},
		{"one too far off to fade", foreBow, 401, 0, gone},
		{"a velocity", foreVel, 200, 0, gone},
		{"what is dead reckoned", foreDead, 200, 0, kept},
		{"looking about", foreLook, 350, 0, kept},
		{"looking up", foreLook + 1, 20, 0, kept},
		{"an angle", foreYaw, 20, 0, kept},
		{"an angle over north", foreYaw, 350, 0, kept},
		{"a number", foreHeat, 20, 0, gone},
		{"a count", foreGear, 5, 0, gone},
		{"a place, after a teleport that had been shown", forePos, 200, 100, kept},
		{"a place, after a teleport since", forePos, 200, 101, gone},
	} {
		next := &motion.State{Tick: 103, Cut: c.cut, Vals: make([]int64, foreComps), Rest: true}
		next.Vals[c.at] = c.steps
		var carry motion.Carry
		var h motion.Horizon
		dst := make([]int64, foreComps)
		carry.Draw(k, g, states{rec}, &h, rec.Tick.Frac(), 5, dst)
		carry.Draw(k, g, states{rec, next}, &h, next.Tick.Frac(), 5, dst) // no time passed: it stands where it stood
		want := int64((1 - c.want) * float64(c.steps*schema.SubSteps))
		if d := dst[c.at] - want; max(d, -d) > 1 {
			t.Errorf("%s: %d/256, want %d/256", c.name, dst[c.at], want)
		}
		at, now := next.Tick.Frac(), clock.Time(5)
		for range 240 {
			at, now = at+clock.FracPerTick/2, now+clock.Time(time.Second/60)
			carry.Draw(k, g, states{rec, next}, &h, at, now, dst)
		}
		if d := dst[c.at] - c.steps*schema.SubSteps; max(d, -d) > 2 {
			t.Errorf("%s: after four seconds %d/256, want %d/256", c.name, dst[c.at], c.steps*schema.SubSteps)
		}
		for i, v := range dst {
			if i != c.at && v != 0 {
				t.Errorf("%s: component %d moves to %d", c.name, i, v)
			}
		}
		carry.Draw(k, g, states{rec, next, &motion.State{Tick: 104, Rest: true, Vals: rec.Vals}}, &h, at, now+1e9, dst)
		if dst[c.at] != 0 {
			t.Errorf("%s: a drawing of a second ago fades: %d/256", c.name, dst[c.at])
		}
	}
}

// Warp bounds how far off fades, where it is less than what fades anyway. Jumped says that it did
// not.
func TestCarryWarps(t *testing.T) {
	k := kind(t, struct {
		Pos geom.Vec2 `net:"pos,others=1cm,warp=2m"`
	}{}, 20)
	g := &k.Groups[0]
	for _, c := range []struct{ x, want int64 }{{140, 0}, {150, 150}} { // and as much along y
		var carry motion.Carry
		var h motion.Horizon
		dst := make([]int64, 2)
		held := states{{Tick: 100, Vals: []int64{0, 0}, Rest: true}, {Tick: 110, Vals: []int64{c.x, c.x}, Rest: true}}
		carry.Draw(k, g, held[:1], &h, clock.Tick(104).Frac(), 0, dst)
		carry.Draw(k, g, held, &h, clock.Tick(112).Frac(), 0, dst)
		if dst[0] != c.want*schema.SubSteps || (carry.Jumped() == 110) != (c.want != 0) {
			t.Errorf("%d cm off: drawn at %d/256, jumped to tick %d", c.x, dst[0], carry.Jumped())
		}
	}
}

// Entities that go on for long are carried for long, those that dodge hardly.
func TestHorizonLearns(t *testing.T) {
	k := kind(t, plane{}, 20)
	g := &k.Groups[0]
	for _, c := range []struct {
		name   string
		period int64 // ticks from turn to turn
		least  float64
		most   float64 // seconds
	}{{"straight on", 1 << 40, 4, 8}, {"to and fro", 17, 0.25, 0.5}} {
		var carry motion.Carry
		var h motion.Horizon
		if got := h.Ticks(20); got != 20 {
			t.Fatalf("begins with %v ticks, want 20", got)
		}
		var held states
		dst := make([]int64, planeComps)
		r := geom.NewRand(5, 6)
		tick := int64(100)
		for i := range 200 {
			tick += 10 + int64(r.IntN(120))
			x := tick * 10
			if p := tick % (2 * c.period); c.period < 1<<30 {
				x = 10 * min(p, 2*c.period-p)
			}
			held = append(held, &motion.State{Tick: clock.Tick(tick), Vals: make([]int64, 9)})
			held[i].Vals[planeX] = x
			carry.Draw(k, g, held, &h, clock.Tick(tick).Frac(), clock.Time(i), dst)
		}
		if got := h.Ticks(20) / 20; got < c.least || got > c.most {
			t.Errorf("%s: goes on for %v s, want %v to %v", c.name, got, c.least, c.most)
		}
	}
}

// Whatever records say, nothing panics, and a place lies no further from the newest than the pace
// and the horizon allow.
func TestCarryOfAnything(t *testing.T) {
	k := kind(t, fore{}, 30)
	g := &k.Groups[0]
	rapid.Check(t, func(t *rapid.T) {
		var carry motion.Carry
		var h motion.Horizon
		var held states
		tick, now := clock.Tick(1), clock.Time(0)
		dst := make([]int64, foreComps)
		for range rapid.IntRange(1, 12).Draw(t, "records") {
			s := &motion.State{Tick: tick, Vals: make([]int64, foreComps), Rest: rapid.Bool().Draw(t, "rest"),
				Cut: clock.Tick(rapid.IntRange(0, 300).Draw(t, "cut")), Start: clock.Tick(rapid.IntRange(0, 300).Draw(t, "start"))}
			for i := range s.Vals {
				s.Vals[i] = rapid.Int64Range(math.MinInt32, math.MaxInt32).Draw(t, "value")
			}
			held = append(held, s)
			tick += clock.Tick(rapid.IntRange(1, 90).Draw(t, "ticks"))
			now += clock.Time(rapid.Int64Range(-1e8, 3e8).Draw(t, "ns"))
			carry.Draw(k, g, held, &h, clock.TickFrac(rapid.Int64Range(0, 1<<34).Draw(t, "at")), now, dst)
			if yaw := dst[foreYaw]; yaw < 0 || yaw >= 360*schema.SubSteps {
				t.Fatalf("an angle of %d", yaw)
			}
		}
	})
}

// Mix goes from one drawing to the other: exactly the one, exactly the other, and half way what can
// be between; directions the short way round.
func TestMix(t *testing.T) {
	k := kind(t, fore{}, 30)
	g := &k.Groups[0]
	a, b, dst := make([]int64, foreComps), make([]int64, foreComps), make([]int64, foreComps)
	for i := range b {
		b[i] = 100
	}
	a[foreYaw], b[foreYaw] = 350*schema.SubSteps, 20*schema.SubSteps
	for _, c := range []struct{ w, pos, yaw, gear int64 }{
		{0, 0, 350 * 256, 0}, {16384, 25, 357*256 + 128, 0}, {32768, 50, 5 * 256, 100}, {65536, 100, 20 * 256, 100},
	} {
		motion.Mix(k, g, a, b, c.w, dst)
		if dst[forePos] != c.pos || dst[foreYaw] != c.yaw || dst[foreGear] != c.gear {
			t.Errorf("%d: %v", c.w, dst)
		}
	}
	motion.Mix(k, g, a, b, 0, dst)
	if !slices.Equal(dst, a) {
		t.Errorf("none of b: %v, want %v", dst, a)
	}
	if motion.Mix(k, g, a, b, 65536, dst); !slices.Equal(dst, b) {
		t.Errorf("all of b: %v, want %v", dst, b)
	}
}

func TestCarryAllocatesNothing(t *testing.T) {
	k := kind(t, fore{}, 30)
	var carry motion.Carry
	var h motion.Horizon
	held := states{{Tick: 100, Vals: make([]int64, foreComps)}, {Tick: 104, Vals: make([]int64, foreComps)}}
	dst := make([]int64, foreComps)
	n, records := 0, []motion.Records{held[:1], held}
	draw := func() {
		n++
		carry.Draw(k, &k.Groups[0], records[n%2], &h, 110*clock.FracPerTick, clock.Time(n), dst)
	}
	draw()
	if got := testing.AllocsPerRun(20, draw); got != 0 {
		t.Errorf("%v allocations", got)
	}
}
