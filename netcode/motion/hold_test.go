package motion_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
)

// Two kinds with the same properties, once as their first group and once behind another.
type (
	fore struct {
		Pos  geom.Vec2  `net:"pos,others=1cm,warp=5m,group=0"`
		Bow  geom.Vec2  `net:"pos,others=1cm,draw=hermite,group=0"`
		Vel  geom.Vec2  `net:"vel,1cm/s,group=0"`
		Dead geom.Vec2  `net:"pos,others=1cm,draw=dr:10cm,group=0"`
		Turn geom.Quat  `net:"quat,9bit,group=0"`
		Fix  geom.Quat  `net:"quat,9bit,draw=step,group=0"`
		Look geom.View  `net:"view,1deg,group=0"`
		Yaw  geom.Angle `net:"angle,1deg,group=0"`
		Heat float64    `net:"float,0..100,1,group=0"`
		Gear int        `net:"int,0..9,group=0"`
	}
	behind struct {
		Flag int        `net:"int,0..9,group=0"`
		More float64    `net:"float,0..100,1,group=0"`
		Pos  geom.Vec2  `net:"pos,others=1cm,warp=5m,group=1"`
		Bow  geom.Vec2  `net:"pos,others=1cm,draw=hermite,group=1"`
		Vel  geom.Vec2  `net:"vel,1cm/s,group=1"`
		Dead geom.Vec2  `net:"pos,others=1cm,draw=dr:10cm,group=1"`
		Turn geom.Quat  `net:"quat,9bit,group=1"`
		Fix  geom.Quat  `net:"quat,9bit,draw=step,group=1"`
		Look geom.View  `net:"view,1deg,group=1"`
		Yaw  geom.Angle `net:"angle,1deg,group=1"`
		Heat float64    `net:"float,0..100,1,group=1"`
		Gear int        `net:"int,0..9,group=1"`
	}
)

// Places among the integers of fore.
const forePos, foreBow, foreVel, foreDead, foreTurn, foreFix, foreLook, foreYaw, foreHeat, foreGear,
	foreComps = 0, 2, 4, 6, 8, 11, 14, 16, 17, 18, 19

func drawFore(t *rapid.T, label string, tick clock.Tick) *motion.State {
	s := &motion.State{Tick: tick, Vals: make([]int64, foreComps),
		Bound: uint8(rapid.IntRange(0, motion.Bounds-1).Draw(t, label+" bound"))}
	for c := range s.Vals {
		switch {
		case c >= foreLook && c <= foreYaw:
			s.Vals[c] = rapid.Int64Range(0, 359).Draw(t, label)
		case c >= foreTurn && c < foreLook:
			s.Vals[c] = rapid.Int64Range(-150, 150).Draw(t, label)
		default:
			s.Vals[c] = rapid.Int64Range(-300, 300).Draw(t, label)
		}
	}
	return s
}

// A group is drawn, drawn on, carried and judged the same wherever its integers lie among those of
// its kind.
func TestGroupsBehindOthers(t *testing.T) {
	one, two := kind(t, fore{}, 30), kind(t, behind{}, 30)
	if len(one.Groups) != 1 || one.Obs != foreComps || len(two.Groups) != 2 || two.Groups[1].At == 0 ||
		two.Groups[1].N != foreComps {
		t.Fatalf("groups %+v and %+v", one.Groups, two.Groups)
	}
	g, h := &one.Groups[0], &two.Groups[1]
	rapid.Check(t, func(t *rapid.T) {
		a := drawFore(t, "a", 100)
		b := drawFore(t, "b", 100+clock.Tick(rapid.IntRange(1, 12).Draw(t, "gap")))
		b.Cut, b.Start = clock.Tick(rapid.IntRange(95, 112).Draw(t, "cut")),
			clock.Tick(rapid.IntRange(95, 112).Draw(t, "start"))
		at := clock.Tick(99).Frac() + clock.TickFrac(rapid.IntRange(0, 150*clock.FracPerTick).Draw(t, "time"))
		got, want := make([]int64, foreComps), make([]int64, foreComps)
		motion.Draw(one, g, a, b, at, want)
		if motion.Draw(two, h, a, b, at, got); !slices.Equal(got, want) {
			t.Fatalf("drawn %v, alone %v", got, want)
		}
		motion.Ahead(one, g, a, b, at, 10*clock.FracPerTick, want)
		if motion.Ahead(two, h, a, b, at, 10*clock.FracPerTick, got); !slices.Equal(got, want) {
			t.Fatalf("drawn on %v, alone %v", got, want)
		}
		var c, d motion.Carry
		var first, second motion.Horizon
		for i, r := range []states{{a}, {a, b}} {
			now := clock.Time(i) * 1e7
			c.Draw(one, g, r, &first, at, now, want)
			if d.Draw(two, h, r, &second, at, now, got); !slices.Equal(got, want) {
				t.Fatalf("carried %v, alone %v", got, want)
			}
		}
		if motion.Jumps(one, g, a.Vals, b.Vals) != motion.Jumps(two, h, a.Vals, b.Vals) ||
			motion.Strays(one, g, a, b.Vals, b.Tick) != motion.Strays(two, h, a, b.Vals, b.Tick) ||
			motion.Flies(one, g, a, a.Vals, b.Tick) != motion.Flies(two, h, a, a.Vals, b.Tick) ||
			motion.Warped(one, g, a.Vals, b.Vals) != motion.Warped(two, h, a.Vals, b.Vals) {
			t.Fatal("judged in two ways")
		}
	})
}

// What a record tells of the time up to the one before it, which showed it, is nothing new: a
// teleport or a start up to there changes nothing.
func TestWhatTheOlderShowsIsOver(t *testing.T) {
	k := kind(t, fore{}, 30)
	g := &k.Groups[0]
	rapid.Check(t, func(t *rapid.T) {
		a := drawFore(t, "a", 100)
		b := drawFore(t, "b", 100+clock.Tick(rapid.IntRange(1, 12).Draw(t, "gap")))
		told := *b
		told.Cut, told.Start = clock.Tick(rapid.IntRange(0, 100).Draw(t, "cut")),
			clock.Tick(rapid.IntRange(0, 101).Draw(t, "start"))
		if rapid.Bool().Draw(t, "just then") {
			told.Cut, told.Start = 100, clock.Tick(rapid.IntRange(99, 101).Draw(t, "just"))
		}
		at := clock.Tick(99).Frac() + clock.TickFrac(rapid.IntRange(0, 140*clock.FracPerTick).Draw(t, "time"))
		got, want := make([]int64, foreComps), make([]int64, foreComps)
		motion.Draw(k, g, a, b, at, want)
		if motion.Draw(k, g, a, &told, at, got); !slices.Equal(got, want) || motion.Time(a, &told,
			at) != motion.Time(a, b, at) {
			t.Fatalf("drawn %v, without cut and start %v", got, want)
		}
		motion.Ahead(k, g, a, b, at, 10*clock.FracPerTick, want)
		if motion.Ahead(k, g, a, &told, at, 10*clock.FracPerTick, got); !slices.Equal(got, want) {
			t.Fatalf("drawn on %v, without cut and start %v", got, want)
		}
	})
}

// Time is the tick that is drawn: a thing that moves a metre a tick is drawn at as many metres,
// whatever its records say of how soon the next one comes, and what belongs to a tick of its rest
// falls between the ticks around it.
func TestTimeIsTheTickThatIsDrawn(t *testing.T) {
	k := kind(t, struct {
		X geom.Vec2 `net:"pos,others=1cm"`
	}{}, 30)
	state := func(tick clock.Tick, class uint8) *motion.State {
		return &motion.State{Tick: tick, Bound: class, Vals: []int64{int64(tick) * 100, 0}}
	}
	class := func(t *rapid.T, name string) uint8 {
		return uint8(rapid.OneOf(rapid.IntRange(0, 5), rapid.IntRange(0, motion.Bounds-1)).Draw(t, name))
	}
	rapid.Check(t, func(t *rapid.T) {
		a := state(100, class(t, "class"))
		b := state(100+clock.Tick(rapid.SampledFrom([]int{1, 2, 5, 17, 40}).Draw(t, "gap")), class(t, "next class"))
		if b.Shown() <= a.Shown() {
			return // b is shown first: a never is
		}
		moves := a.Tick // from when on
		if rapid.Bool().Draw(t, "rested") {
			b.Start = a.Tick + clock.Tick(rapid.SampledFrom([]int{1, int(b.Tick-a.Tick+1) / 2, int(b.Tick - a.Tick)}).Draw(t,
				"start"))
			moves = b.Start - 1
			a.Vals[0] = int64(moves) * 100
		}
		p := rapid.OneOf(rapid.Int64Range(int64(a.Tick.Frac())-500, int64(b.Shown())+500),
			rapid.Int64Range(int64(max(a.Shown(), b.Shown()-(b.Tick-moves).Frac())), int64(b.Shown()))).Draw(t, "time")
		at := clock.TickFrac(p)
		dst := make([]int64, 2)
		motion.Draw(k, &k.Groups[0], a, b, at, dst)
		got := motion.Time(a, b, at)
		switch drawn := dst[0] / 100; {
		case at >= b.Shown():
			if got != at-motion.Wait(b.Bound).Frac() || got < b.Tick.Frac() {
				t.Fatalf("after the newer one, at %d: %d", at, got)
			}
		case dst[0] > a.Vals[0]*schema.SubSteps:
			if d := int64(got) - drawn; max(d, -d) > 2 {
				t.Fatalf("at %d: %d/256, drawn is %d/256", at, got, drawn)
			}
		default:
			if got < a.Tick.Frac() || got > moves.Frac() {
				t.Fatalf("where it stands, at %d: %d/256, it stands from %d to %d", at, got, a.Tick, moves)
			}
			if at > b.Shown()-(b.Tick-moves).Frac() && motion.Wait(a.Bound) <= motion.Wait(b.Bound) && got != moves.Frac() {
				t.Fatalf("just as it starts, at %d: %d/256, want tick %d", at, got, moves)
			}
		}
		if later := motion.Time(a, b, at+1); later < got {
			t.Fatalf("time runs back from %d to %d", got, later)
		}
		if got := motion.Time(b, nil, at); got != at-motion.Wait(b.Bound).Frac() {
			t.Fatalf("alone, at %d: %d", at, got)
		}
	})
	if s := (&motion.State{Tick: 9, Bound: 4}); s.CutShown() != 0 {
		t.Errorf("a record that tells of no teleport shows one at %d", s.CutShown())
	}
}

// Beyond the newest record nobody looks up ever further, and records that cannot follow one another
// carry nothing on.
func TestAheadOfOddRecords(t *testing.T) {
	k := kind(t, fore{}, 30)
	at := func(tick clock.Tick, pos, yaw, pitch int64) *motion.State {
		s := &motion.State{Tick: tick, Vals: make([]int64, foreComps)}
		s.Vals[forePos], s.Vals[foreLook], s.Vals[foreLook+1] = pos, yaw, pitch
		return s
	}
	b := at(110, 100, 20, 350)
	late := at(110, 100, 20, 350)
	late.Start = 111 // after itself, which no sender says
	for _, c := range []struct {
		name     string
		a, b     *motion.State
		pos, yaw int64 // a tick after b, in 1/256 steps
	}{
		{"ten steps and two degrees a tick", at(109, 90, 18, 5), b, 110 * 256, 22 * 256},
		{"the same in ten ticks", at(100, 0, 0, 5), b, 110 * 256, 22 * 256},
		{"two records of one tick", at(110, 90, 18, 5), b, 100 * 256, 20 * 256},
		{"the older is newer", at(111, 90, 18, 5), b, 100 * 256, 20 * 256},
		{"begins after itself", at(100, 0, 0, 5), late, 110 * 256, 22 * 256},
	} {
		dst := make([]int64, foreComps)
		motion.Ahead(k, &k.Groups[0], c.a, c.b, clock.Tick(111).Frac(), 5*clock.FracPerTick, dst)
		if dst[forePos] != c.pos || dst[foreLook] != c.yaw || dst[foreLook+1] != 350*256 {
			t.Errorf("%s: place %d, yaw %d, pitch %d; want %d %d %d", c.name, dst[forePos], dst[foreLook],
				dst[foreLook+1], c.pos, c.yaw, 350*256)
		}
	}
}

// A rotation that steps steps, and looking about goes the short way also over south, where up and
// down never do.
func TestStepsAndSouth(t *testing.T) {
	k := kind(t, fore{}, 30)
	at := func(tick clock.Tick, turn, yaw, pitch int64) *motion.State {
		s := &motion.State{Tick: tick, Vals: make([]int64, foreComps)}
		s.Vals[foreTurn], s.Vals[foreFix], s.Vals[foreLook], s.Vals[foreLook+1] = turn, turn, yaw, pitch
		return s
	}
	for _, c := range []struct {
		from, to   *motion.State
		yaw, pitch int64 // half way
	}{
		{at(100, 0, 170, 350), at(102, 100, 190, 20), 180, 5},
		{at(100, 0, 350, 20), at(102, 100, 20, 350), 5, 5},
		{at(100, 0, 190, 280), at(102, 100, 170, 80), 180, 0},
	} {
		dst := make([]int64, foreComps)
		motion.Draw(k, &k.Groups[0], c.from, c.to, clock.Tick(101).Frac(), dst)
		if dst[foreFix] != 0 || dst[foreTurn] == 0 || dst[foreTurn] >= 100*256 || dst[foreLook] != c.yaw*256 ||
			dst[foreLook+1] != c.pitch*256 {
			t.Errorf("half way from %v to %v: %v", c.from.Vals[foreTurn:foreYaw], c.to.Vals[foreTurn:foreYaw],
				dst[foreTurn:foreYaw])
		}
	}
}

// A receiver's angle strays the short way round; between records closer than Converge it leaves the
// older one as it is.
func TestReckonAcrossNorthAndBetweenCloseRecords(t *testing.T) {
	k := kind(t, boat{}, 30)
	s := boatAt(100, 0, 0, 359, 0)
	for yaw, want := range map[int64]bool{356: false, 355: true, 0: false, 2: false, 3: true, 179: true} {
		if got := motion.Strays(k, &k.Groups[0], s, []int64{0, 0, 0, 0, yaw, 0, 1}, 105); got != want {
			t.Errorf("at %d degrees instead of 359: strays %v", yaw, got)
		}
	}
	a, b := boatAt(100, 0, 300, 0, 0), boatAt(102, 100, 300, 0, 0) // 80 cm off
	for f, want := range map[clock.TickFrac]int64{0: 0, 256: 10 + 40, 512: 100} {
		if got := drawBoat(k, a, b, clock.Tick(100).Frac()+f)[boatX]; max(got-want*256, want*256-got) > 256 {
			t.Errorf("%d/256 ticks after the older: at %d cm, want %d", f, got/256, want)
		}
	}
}

// The length of a difference is rounded down exactly, also where a float64 cannot tell squares
// apart.
func TestErrorIsExact(t *testing.T) {
	k := kind(t, warper{}, 30)
	for p := int64(1); p < 1<<15; p += 97 {
		for _, c := range []struct{ x, y, z, want int64 }{
			{p * p, p, p, p * p},                     // (p²+1)² - 1
			{p*p + 1, 0, 0, p*p + 1},                 // a square
			{p * p, p, p + 1, p*p + 1},               // (p²+1)² + 2p
			{-(p*p + 1), 1, 0, p*p + 1},              // a square + 1
			{p << 15, -(p << 15), 0, isqrt(p, 2)},    // far out
			{p << 15, p << 15, p << 15, isqrt(p, 3)}, // further
		} {
			if got := motion.Error(k, make([]int64, k.Obs), []int64{0, c.x, c.y, c.z, 0}); got != c.want {
				t.Fatalf("%d, %d, %d are %d long, want %d", c.x, c.y, c.z, got, c.want)
			}
		}
	}
}

// isqrt is the root of n (p 2^15)², rounded down, found by halving.
func isqrt(p, n int64) int64 {
	lo, hi := int64(0), int64(1)<<31
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; mid*mid <= n*(p<<15)*(p<<15) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// Further apart than Warp and still relative to the same parent: warped. On another parent, or
// near: not.
func TestWarped(t *testing.T) {
	k := kind(t, warper{}, 30)
	g := &k.Groups[0]
	a := []int64{7, 0, 0, 0, 0}
	for _, c := range []struct {
		name          string
		b             []int64
		jumps, warped bool
	}{
		{"near", []int64{7, 100, 0, 0, 0}, false, false},
		{"far", []int64{7, 300, 0, 0, 0}, true, true},
		{"another parent", []int64{8, 100, 0, 0, 0}, true, false},
		{"another parent, far", []int64{8, 300, 0, 0, 0}, true, false},
	} {
		if j, w := motion.Jumps(k, g, a, c.b), motion.Warped(k, g, a, c.b); j != c.jumps || w != c.warped {
			t.Errorf("%s: jumps %v, warped %v", c.name, j, w)
		}
	}
}

// A dead reckoned place that warps, or that a teleport cuts, is drawn on from the older record
// until the newer is shown: it does not lean towards it before.
//
// seeds: B13
func TestReckonJumps(t *testing.T) {
	k := kind(t, struct {
		Pos geom.Vec2 `net:"pos,others=1cm,draw=dr:10cm,warp=2m"`
		Vel geom.Vec2 `net:"vel,1cm/s"`
	}{}, 30)
	at := func(tick, cut clock.Tick, x int64, class uint8) *motion.State {
		return &motion.State{Tick: tick, Cut: cut, Bound: class, Vals: []int64{x, 0, 300, 0}} // 10 cm a tick
	}
	for _, c := range []struct {
		name string
		b    *motion.State
		tick float64
		x    float64
	}{
		{"near: half way of the last four ticks", at(108, 0, 100, 0), 106, 60 + 10},
		{"just begun", at(108, 0, 100, 0), 104, 40},
		{"beyond warp", at(108, 0, 900, 0), 107.5, 75},
		{"beyond warp, shown", at(108, 0, 900, 0), 108, 900},
		{"a teleport", at(108, 108, 100, 0), 107.5, 75},
		{"a teleport that the older shows", at(108, 100, 100, 0), 106, 60 + 10},
		{"a start, later by two ticks", &motion.State{Tick: 108, Start: 108, Bound: 2, Vals: []int64{100, 0, 300, 0}},
			109.5, 95 + 0}, // from 109 to 110
	} {
		dst := make([]int64, 4)
		motion.Draw(k, &k.Groups[0], at(100, 0, 0, 0), c.b, clock.TickFrac(c.tick*clock.FracPerTick), dst)
		if got := float64(dst[0]) / schema.SubSteps; math.Abs(got-c.x) > 0.3 {
			t.Errorf("%s: at %v, want %v", c.name, got, c.x)
		}
	}
}

// A child of a parent on a coarse grid and far out stays within what integers hold, and one without
// a place stays as it is.
func TestAttachFarOut(t *testing.T) {
	type town struct {
		Pos geom.Vec2 `net:"pos,1m,others=1000m"`
	}
	ck, pk := kind(t, warper{}, 30), kind(t, town{}, 30)
	for _, far := range []int64{math.MaxInt32, math.MinInt32} {
		child := []int64{1, 5 * 256, 6 * 256, 7 * 256, 0}
		motion.Attach(ck, child, pk, []int64{far * schema.SubSteps, 0})
		want := int64(1 << 50)
		if far < 0 {
			want = -want
		}
		if child[1] != want || child[2] != 6*256 || child[3] != 7*256 {
			t.Errorf("%d km away: %v, want %d", far, child, want)
		}
	}
	child := []int64{3}
	motion.Attach(kind(t, struct {
		Flag bool `net:"bool"`
	}{}, 30), child, pk, []int64{1, 2})
	if child[0] != 3 {
		t.Errorf("a child without a place becomes %v", child)
	}
}
