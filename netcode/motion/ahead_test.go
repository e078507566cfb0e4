package motion_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
)

type plane struct { // steps of 1 cm, 1 cm/s, 1 degree, at 20 ticks a second
	Pos  geom.Vec2  `net:"pos,1mm,others=1cm,warp=5m"`
	Alt  geom.Vec2  `net:"pos,1mm,others=1cm,draw=hermite"`
	Vel  geom.Vec2  `net:"vel,1cm/s"`
	Yaw  geom.Angle `net:"angle,1deg"`
	Fuel float64    `net:"float,0..100,1,group=0"`
	Gear bool       `net:"bool,group=0"`
}

const planeX, planeAlt, planeVX, planeYaw, planeFuel, planeComps = 0, 2, 4, 6, 7, 9

func planeAt(tick clock.Tick, x, alt, vx, yaw, fuel int64) *motion.State {
	return &motion.State{Tick: tick, Vals: []int64{x, 0, alt, 0, vx, 0, yaw, fuel, 1}}
}

// Beyond the newest record places and directions go on, for so long and no longer; nothing else
// does.
//
// seeds: B8 B12
func TestAhead(t *testing.T) {
	k := kind(t, plane{}, 20)
	if len(k.Groups) != 1 || k.Obs != planeComps {
		t.Fatalf("%d groups, %d integers", len(k.Groups), k.Obs)
	}
	with := func(s *motion.State, f func(s *motion.State)) *motion.State { f(s); return s }
	a := planeAt(100, 0, 0, 200, 350, 50)
	b := planeAt(104, 40, 40, 200, 10, 54) // 10 cm a tick both, 5 degrees a tick, a unit of fuel a tick
	for _, c := range []struct {
		name              string
		a, b              *motion.State
		tick              float64
		x, alt, yaw, fuel float64
	}{
		{"at the record", a, b, 104, 40, 40, 10, 54},
		{"before it", a, b, 103, 40, 40, 10, 54}, // not asked for: Draw's part
		{"a tick on", a, b, 105, 50, 50, 15, 54},
		{"at the limit of two ticks", a, b, 106, 60, 60, 20, 54},
		{"beyond", a, b, 150, 60, 60, 20, 54},
		{"one record: only what has a velocity", nil, b, 106, 40, 60, 10, 54},
		{"rests", a, with(planeAt(104, 40, 40, 200, 10, 54), func(s *motion.State) { s.Rest = true }), 106, 40, 40, 10, 54},
		{"cut between", a, with(planeAt(104, 40, 40, 200, 10, 54), func(s *motion.State) { s.Cut = 102 }),
			106, 40, 60, 10, 54},
		{"further apart than warp", planeAt(100, -9000, 0, 200, 350, 50), b, 106, 40, 60, 10, 54},
		{"began two ticks before", a, with(planeAt(104, 40, 40, 200, 10, 54), func(s *motion.State) { s.Start = 103 }),
			105, 60, 50, 20, 54},
		{"shown three ticks later", a, with(planeAt(104, 40, 40, 200, 10, 54), func(s *motion.State) { s.Bound = 3 }),
			108, 50, 50, 15, 54},
		{"across north", planeAt(100, 0, 0, 0, 340, 0), planeAt(104, 0, 0, 0, 356, 0), 106, 0, 0, 4, 0},
	} {
		dst := make([]int64, planeComps)
		motion.Ahead(k, &k.Groups[0], c.a, c.b, clock.TickFrac(c.tick*clock.FracPerTick), 2*clock.FracPerTick, dst)
		got := func(at int) float64 { return float64(dst[at]) / schema.SubSteps }
		if math.Abs(got(planeX)-c.x) > 0.01 || math.Abs(got(planeAlt)-c.alt) > 0.02 ||
			math.Abs(got(planeYaw)-c.yaw) > 0.01 || got(planeFuel) != c.fuel || dst[planeComps-1] != schema.SubSteps {
			t.Errorf("%s: x %v, alt %v, yaw %v, fuel %v; want %v %v %v %v", c.name, got(planeX), got(planeAlt),
				got(planeYaw), got(planeFuel), c.x, c.alt, c.yaw, c.fuel)
		}
	}
}

// Whatever two records say, an extrapolation lies no further from the newest than the pace of both,
// or the velocity, allows for the extrapolated time.
func TestAheadIsBounded(t *testing.T) {
	k := kind(t, plane{}, 20)
	any32 := rapid.Int64Range(math.MinInt32, math.MaxInt32)
	rapid.Check(t, func(t *rapid.T) {
		st := func(name string) *motion.State {
			s := &motion.State{Tick: clock.Tick(rapid.Uint32Range(1, 1000).Draw(t, name)),
				Bound: rapid.Uint8().Draw(t, name+" bound"), Vals: make([]int64, planeComps)}
			for i := range s.Vals {
				s.Vals[i] = any32.Draw(t, name)
			}
			return s
		}
		a, b := st("a"), st("b")
		at := clock.TickFrac(rapid.Int64Range(0, 3000*clock.FracPerTick).Draw(t, "t"))
		most := clock.TickFrac(rapid.Int64Range(0, 24*clock.FracPerTick).Draw(t, "most"))
		dst := make([]int64, planeComps)
		motion.Ahead(k, &k.Groups[0], a, b, at, most, dst)
		ticks := int64(most)/clock.FracPerTick + 1
		for c := planeX; c < planeX+2; c++ {
			d, step := dst[c]-b.Vals[c]*schema.SubSteps, b.Vals[c]-a.Vals[c]
			if max(d, -d) > max(step, -step)*schema.SubSteps*ticks {
				t.Fatalf("%d off, from %d to %d in %d ticks", d, a.Vals[c], b.Vals[c], ticks)
			}
		}
		if yaw := dst[planeYaw]; yaw < 0 && b.Vals[planeYaw] >= 0 {
			t.Fatalf("an angle of %d", yaw)
		}
	})
}
