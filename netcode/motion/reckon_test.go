package motion_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meanwhile/geom"
	"meanwhile/internal/verify/golden"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
)

// boat is dead reckoned, in steps of 1 cm, 1 cm/s, 1 degree and 1 degree/s, at 30 ticks a second.
type boat struct {
	Pos  geom.Vec2  `net:"pos,1mm,others=1cm,draw=dr:10cm"`
	Vel  geom.Vec2  `net:"vel,1cm/s"`
	Yaw  geom.Angle `net:"angle,1deg,draw=dr:3deg"`
	Spin geom.Angle `net:"spin,1deg/s"`
	Flag int        `net:"int,0..9,group=0"`
}

// Places among a boat's integers.
const (
	boatX, boatVX, boatYaw, boatSpin, boatFlag, boatComps = 0, 2, 4, 5, 6, 7
)

func boatAt(tick clock.Tick, x, vx, yaw, spin int64) *motion.State {
	return &motion.State{Tick: tick, Vals: []int64{x, 0, vx, 0, yaw, spin, 1}}
}

func drawBoat(k *schema.Kind, a, b *motion.State, t clock.TickFrac) []int64 {
	dst := make([]int64, boatComps)
	motion.Draw(k, &k.Groups[0], a, b, t, dst)
	return dst
}

func TestReckon(t *testing.T) {
	k := kind(t, boat{}, 30)
	rests := boatAt(100, 0, 300, 0, 30)
	rests.Rest = true
	cut := boatAt(120, 5000, 0, 90, 0)
	cut.Cut = 115
	started := boatAt(120, 100, 0, 0, 0)
	started.Start = 118
	later := boatAt(100, 0, 300, 0, 30)
	later.Bound = 3 // shown 3 ticks later
	for _, c := range []struct {
		name string
		a, b *motion.State
		tick float64
		x    float64 // cm
		yaw  float64 // degrees
	}{
		// 300 cm/s is 10 cm a tick, 30 degrees a second one degree.
		{"at a record", boatAt(100, 50, 300, 10, 30), nil, 100, 50, 10},
		{"on from it", boatAt(100, 50, 300, 10, 30), nil, 107.5, 125, 17.5},
		{"backwards, over north", boatAt(100, 0, -300, 3, -30), nil, 110, -100, 353},
		{"not before it", boatAt(100, 50, 300, 10, 30), nil, 90, 50, 10},
		{"at most so far", boatAt(100, 0, 300, 0, 0), nil, 1e6, 10 * motion.MaxForward, 0},
		{"at rest", rests, nil, 110, 0, 0},
		{"long before the next", boatAt(100, 0, 300, 0, 30), boatAt(120, 280, 300, 15, 0), 112, 120, 12},
		{"half way to the next", boatAt(100, 0, 300, 0, 30), boatAt(120, 280, 300, 15, 0), 118, 180 + 0.5*(280-200),
			18 + 0.5*(15-20)},
		{"at the next", boatAt(100, 0, 300, 0, 30), boatAt(120, 280, 300, 15, 0), 120, 280, 15},
		{"beyond the next", boatAt(100, 0, 300, 0, 30), boatAt(120, 280, 600, 15, 60), 125, 280 + 100, 25},
		{"close records", boatAt(100, 0, 300, 0, 0), boatAt(104, 80, 300, 0, 0), 102, 20 + 0.5*40, 0},
		{"before a teleport", boatAt(100, 0, 300, 0, 0), cut, 114.5, 145, 0},
		{"after a teleport", boatAt(100, 0, 300, 0, 0), cut, 115, 5000, 90},
		{"at rest until it starts", rests, started, 117, 0, 0},
		{"and then on its way", rests, started, 118.5, 50, 0}, // from 117 to 120
		{"one that is shown later", later, nil, 103, 0, 0},
		{"and goes on from there", later, nil, 105, 20, 2},
	} {
		got := drawBoat(k, c.a, c.b, clock.TickFrac(c.tick*clock.FracPerTick))
		if x, yaw := float64(got[boatX])/256, float64(got[boatYaw])/256; math.Abs(x-c.x) > 0.1 || math.Abs(yaw-c.yaw) > 0.1 {
			t.Errorf("%s: at %v cm and %v degrees, want %v and %v", c.name, x, yaw, c.x, c.yaw)
		}
	}
}

// No step and no jolt: from one 1/256 tick to the next it moves by what its velocity says and the
// correction spread over Converge ticks, and it arrives at every record exactly.
//
// seeds: R7
func TestReckonHasNoSteps(t *testing.T) {
	k := kind(t, boat{}, 30)
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64Range(-3000, 3000)
		gap := clock.Tick(rapid.IntRange(1, 40).Draw(t, "gap"))
		a := boatAt(100, 0, v.Draw(t, "from speed"), 0, rapid.Int64Range(-90, 90).Draw(t, "spin"))
		there := a.Vals[boatVX] * int64(gap) / 30
		b := boatAt(100+gap, there+rapid.Int64Range(-200, 200).Draw(t, "wrong by"), v.Draw(t, "to speed"),
			rapid.Int64Range(0, 359).Draw(t, "yaw"), 0)
		off := max(b.Vals[boatX]-there, there-b.Vals[boatX]) + 2
		within := int64(min(gap, motion.Converge)) * 256
		most := max(a.Vals[boatVX], -a.Vals[boatVX])/30 + off*256/within + 2
		last := drawBoat(k, a, b, a.Tick.Frac())
		for f := a.Tick.Frac() + 1; f <= b.Tick.Frac(); f++ {
			now := drawBoat(k, a, b, f)
			if d := now[boatX] - last[boatX]; d > most || d < -most {
				t.Fatalf("at %d it moves by %d/256 cm, %d at most is allowed", f, d, most)
			}
			if d := (now[boatYaw] - last[boatYaw] + 540*256) % (360 * 256); d < 180*256-3*256 || d > 180*256+3*256 {
				t.Fatalf("at %d it turns from %d/256 to %d/256", f, last[boatYaw], now[boatYaw])
			}
			last = now
		}
		if last[boatX] != b.Vals[boatX]*256 || last[boatYaw] != b.Vals[boatYaw]*256 {
			t.Fatalf("it arrives at %v, want %v", last, b.Vals)
		}
	})
}

// sail plays a boat with a mind for some seconds: the sender sends when a receiver of the last
// record strays. It returns the share of ticks with a record and the largest error in cm that a
// receiver without delay sees.
func sail(k *schema.Kind, steer func(tick clock.Tick, b *boat)) (share, most float64) {
	b := boat{Vel: geom.Vec2{X: 5}}
	sims, row := make([]int64, k.Sims), make([]int32, k.Obs)
	vals := make([]int64, k.Obs)
	var sent *motion.State
	n, ticks := 0, clock.Tick(30*60)
	for tick := clock.Tick(1); tick <= ticks; tick++ {
		steer(tick, &b)
		b.Pos = b.Pos.Add(b.Vel.Mul(1.0 / 30))
		b.Yaw += b.Spin / 30
		k.FromFloats([]float64{b.Pos.X, b.Pos.Y, b.Vel.X, b.Vel.Y, float64(b.Yaw), float64(b.Spin), 0}, sims)
		k.Observe(sims, row)
		for i, v := range row {
			vals[i] = int64(v)
		}
		if sent == nil || tick-sent.Tick >= motion.Repeat || motion.Strays(k, &k.Groups[0], sent, vals, tick) {
			sent = &motion.State{Tick: tick, Vals: append([]int64(nil), vals...)}
			n++
		}
		shown := drawBoat(k, sent, nil, tick.Frac())
		dx, dy := float64(shown[0])/256-b.Pos.X*100, float64(shown[1])/256-b.Pos.Y*100
		most = max(most, math.Hypot(dx, dy))
	}
	return float64(n) / float64(ticks), most
}

// A boat that sails straight on is hardly ever sent, and one that steers is never drawn further off
// than the bound and the rounding: 10 cm and half a step in place and in velocity.
//
// seeds: R6
func TestReckonSendsWhenWrong(t *testing.T) {
	k := kind(t, boat{}, 30)
	share, most := sail(k, func(clock.Tick, *boat) {})
	if share > 0.05 || most > 11 {
		t.Errorf("straight on: sent in %.1f %% of the ticks, wrong by %.1f cm", 100*share, most)
	}
	turning, most := sail(k, func(tick clock.Tick, b *boat) {
		b.Spin = geom.Angle(0.4 * math.Sin(float64(tick)/40))
		b.Vel = geom.Vec2{X: 5 * math.Cos(float64(b.Yaw)), Y: 5 * math.Sin(float64(b.Yaw))}
	})
	if turning > 0.3 || turning <= share || most > 11 {
		t.Errorf("steering: sent in %.1f %% of the ticks, wrong by %.1f cm", 100*turning, most)
	}
	t.Logf("straight on %.2f %%, steering %.1f %% of the ticks", 100*share, 100*turning)
}

func TestStrays(t *testing.T) {
	k := kind(t, boat{}, 30)
	s := boatAt(100, 0, 300, 0, 30)
	rests := boatAt(100, 0, 300, 0, 30)
	rests.Rest = true
	for _, c := range []struct {
		name   string
		s      *motion.State
		x, yaw int64
		now    clock.Tick
		want   bool
	}{
		{"as it was said", s, 100, 10, 110, false},
		{"10 cm off", s, 110, 10, 110, false},
		{"11 cm off", s, 111, 10, 110, true},
		{"3 degrees off", s, 100, 7, 110, false},
		{"4 degrees off", s, 100, 6, 110, true},
		{"as long as it is drawn on", s, 10 * motion.MaxForward, motion.MaxForward, 100 + motion.MaxForward, false},
		{"once it stands", s, 10 * (motion.MaxForward + 2), motion.MaxForward, 100 + motion.MaxForward + 2, true},
		{"at rest for long", rests, 0, 0, 5000, false},
		{"no longer at rest", rests, 11, 0, 101, true},
		{"of the future", s, 0, 0, 99, true},
	} {
		vals := []int64{c.x, 0, 0, 0, c.yaw, 0, 9}
		if got := motion.Strays(k, &k.Groups[0], c.s, vals, c.now); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// What nobody can hit is drawn on for as long as a projectile flies, and nothing overflows; it
// flies while it keeps its velocities and half its bounds.
func TestFlies(t *testing.T) {
	k := kind(t, boat{}, 30)
	k.Extrapolated = true
	s := boatAt(100, 0, 300, 0, 30)
	for _, c := range []struct {
		after clock.Tick
		want  int64
	}{{motion.MaxForward + 1, 10 * (motion.MaxForward + 1)}, {motion.MaxFlight, 10 * motion.MaxFlight},
		{motion.MaxFlight + 9, 10 * motion.MaxFlight}} {
		if got := drawBoat(k, s, nil, (100 + c.after).Frac())[boatX]; max(got-256*c.want, 256*c.want-got) > 256 {
			t.Errorf("after %d ticks it is drawn at %d cm, want %d", c.after, got/256, c.want)
		}
	}
	for _, v := range []int64{1 << 40, -1 << 40} {
		k.Props[0].TangentQ = 1 << 40
		if got := drawBoat(k, boatAt(1, 0, v, 0, 0), nil, 1<<30)[boatX]; (got > 0) != (v > 0) {
			t.Errorf("at %d cm/s it is drawn at %d", v, got)
		}
	}
	k = kind(t, boat{}, 30)
	for _, c := range []struct {
		name          string
		x, vx, yaw, w int64
		want          bool
	}{
		{"as it did", 100, 300, 10, 30, true},
		{"5 cm off", 105, 300, 10, 30, true},
		{"6 cm off", 106, 300, 10, 30, false},
		{"faster", 100, 301, 10, 30, false},
		{"2 degrees off", 100, 300, 12, 30, false},
		{"turns faster", 100, 300, 10, 31, false},
	} {
		if got := motion.Flies(k, &k.Groups[0], s, []int64{c.x, 0, c.vx, 0, c.yaw, c.w, 5}, 110); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// warper has a place that is not drawn over more than 2 m, and may be relative to another entity.
type warper struct {
	On  uint32    `net:"handle,parent"`
	Pos geom.Vec3 `net:"pos,warp=2m"`
	Yaw float64   `net:"angle,1deg"`
}

// Too far apart, or on another parent, records are not joined: no moment shows a place between
// them.
//
// seeds: B13
func TestJumpsAreNoSlides(t *testing.T) {
	k := kind(t, warper{}, 30)
	g := &k.Groups[0]
	at := func(on, x, y, z, yaw int64) []int64 { return []int64{on, x, y, z, yaw} }
	for _, c := range []struct {
		name string
		b    []int64
		want bool
	}{
		{"near", at(7, 100, 100, 100, 90), false},
		{"just 2 m", at(7, 0, 0, -200, 90), false},
		{"more along one axis", at(7, 201, 0, 0, 90), true},
		{"more in all", at(7, 120, 120, -120, 90), true}, // 207.8 cm
		{"another parent", at(8, 1, 0, 0, 90), true},
		{"let go", at(0, 1, 0, 0, 90), true},
		{"as far as 32 bits go", at(7, math.MinInt32, math.MaxInt32, 0, 90), true},
	} {
		a := at(7, 0, 0, 0, 0)
		if got := motion.Jumps(k, g, a, c.b); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		dst := make([]int64, 5)
		for f := clock.TickFrac(0); f <= 4*256; f += 32 {
			motion.Draw(k, g, &motion.State{Tick: 10, Vals: a}, &motion.State{Tick: 14, Vals: c.b}, clock.Tick(10).Frac()+f, dst)
			old, now := dst[4] == 0, dst[4] == 90*256
			if slid := !old && !now; slid == c.want && f > 0 && f < 4*256 || f == 4*256 && !now {
				t.Errorf("%s: at %d/256 ticks the yaw is %d/256", c.name, f, dst[4])
			}
		}
	}
}

// A child stands where its parent is drawn, turned with it.
func TestAttach(t *testing.T) {
	type car struct {
		Pos  geom.Vec2  `net:"pos,1mm,others=1mm"`
		Head geom.Angle `net:"angle,1deg"`
	}
	type ship struct {
		Pos  geom.Vec3 `net:"pos"`
		Turn geom.Quat `net:"quat,others=16bit"`
	}
	type rock struct {
		Flag bool `net:"bool"`
	}
	ck := kind(t, warper{}, 30)
	drawn := func(k *schema.Kind, floats ...float64) []int64 {
		sims, row := make([]int64, k.Sims), make([]int32, k.Obs)
		k.FromFloats(floats, sims)
		k.Observe(sims, row)
		out := make([]int64, k.Obs)
		for i, v := range row {
			out[i] = int64(v) * schema.SubSteps
		}
		return out
	}
	cars, ships, rocks := kind(t, car{}, 30), kind(t, ship{}, 30), kind(t, rock{}, 30)
	half := math.Sqrt(0.5)
	for _, c := range []struct {
		name   string
		pk     *schema.Kind
		parent []int64
		want   geom.Vec3
	}{
		{"a car that stands", cars, drawn(cars, 10, 20, 0), geom.Vec3{X: 11, Y: 22, Z: 3}},
		{"a car that looks along Y", cars, drawn(cars, 10, 20, math.Pi/2), geom.Vec3{X: 8, Y: 21, Z: 3}},
		// about X: Y to Z, Z to -Y
		{"a ship on its side", ships, drawn(ships, 10, 20, 30, half, 0, 0), geom.Vec3{X: 11, Y: 17, Z: 32}},
		{"a ship that looks along Y", ships, drawn(ships, 10, 20, 30, 0, 0, half), geom.Vec3{X: 8, Y: 21, Z: 33}},
		{"a thing without a place", rocks, drawn(rocks, 1), geom.Vec3{X: 1, Y: 2, Z: 3}},
	} {
		child := drawn(ck, 5, 1, 2, 3, 1)
		motion.Attach(ck, child, c.pk, c.parent)
		f := ck.AppendDrawn(nil, child)
		if got := (geom.Vec3{X: f[1], Y: f[2], Z: f[3]}); got.Dist(c.want) > 0.001 || math.Abs(f[4]-1) > 0.01 {
			t.Errorf("%s: the child is at %v, yaw %v, want %v", c.name, got, f[4], c.want)
		}
	}
}

func TestError(t *testing.T) {
	k := kind(t, warper{}, 30)
	for _, c := range []struct {
		a, b []int64
		want int64
	}{
		{[]int64{1, 0, 0, 0, 0}, []int64{2, 0, 0, 0, 99}, 0},
		{[]int64{1, 1, 2, 3, 0}, []int64{1, 1, 5, 7, 0}, 5},
		{[]int64{1, -1, -1, 0, 0}, []int64{1, 1, 1, 0, 0}, 2}, // 2.8
		{[]int64{1, math.MinInt32, 0, 0, 0}, []int64{1, math.MaxInt32, 0, 0, 0}, 1 << 30},
	} {
		if got := motion.Error(k, c.a, c.b); got != c.want {
			t.Errorf("from %v to %v is %d, want %d", c.a, c.b, got, c.want)
		}
	}
	type flat struct {
		On bool `net:"bool"`
	}
	if got := motion.Error(kind(t, flat{}, 30), []int64{0}, []int64{1}); got != 0 {
		t.Errorf("without a place: %d", got)
	}
}

// ball bounces: its height in cm.
type ball struct {
	Pos geom.Vec2 `net:"pos,1cm"`
}

// A ball that bounces between uneven records, drawn 200 ms late at 20 Hz: from the pair of records
// around each moment its drawn path goes through every record, so the lowest and highest ones are
// kept. A client with the two newest records only, which slides from where the ball is drawn towards
// the newest, cuts both off. testdata/bounce.txt is the figure: milliseconds, truth, history, two
// points.
//
// seeds: B10
func TestBounceKeepsItsPeak(t *testing.T) {
	k := kind(t, ball{}, 60)
	const delay = 12 // ticks of 1/60 s
	height := func(tick float64) float64 {
		s := math.Mod(tick/60, 0.8)              // up and down again in 0.8 s: 4 m/s against 10 m/s^2
		return float64(400*s) - float64(500*s*s) // no product fuses: the figure is the same on every machine
	}
	var history []*motion.State
	for tick, i := 1, 0; tick < 200; i++ {
		h := int64(math.Floor(height(float64(tick)) + 0.5))
		history = append(history, &motion.State{Tick: clock.Tick(tick), Vals: []int64{int64(tick), h}})
		tick += []int{3, 2, 4, 3, 3}[i%5] // 20 Hz, unevenly
	}
	around := func(t clock.TickFrac) (a, b *motion.State) {
		for _, s := range history {
			if s.Shown() > t {
				return a, s
			}
			a = s
		}
		return a, nil
	}
	var fig strings.Builder
	dst := make([]int64, 2)
	kept, low, high := 0.0, 1e9, 0.0 // largest distance of a record from the path, and the extremes of the two point path
	two, from := 0.0, 0.0
	var newest *motion.State
	since := 0
	for now := 20; now < 190; now++ {
		a, b := around(clock.Tick(now - delay).Frac())
		motion.Draw(k, &k.Groups[0], a, b, clock.Tick(now-delay).Frac(), dst)
		h := float64(dst[1]) / 256
		if int(a.Tick) == now-delay {
			kept = max(kept, math.Abs(h-float64(a.Vals[1])))
		}
		// Two points: a record arrives, and the thing slides to it from where it is drawn within
		// the delay.
		if n, _ := around(clock.Tick(now).Frac()); n != newest {
			newest, from, since = n, two, now
		}
		two = from + float64((float64(newest.Vals[1])-from)*min(1, float64(now-since)/delay))
		if now > 60 {
			low, high = min(low, two), max(high, two)
		}
		fmt.Fprintf(&fig, "%4d %6.1f %6.1f %6.1f\n", now*1000/60, height(float64(now-delay)), h, two)
	}
	if kept != 0 {
		t.Errorf("the path misses a record by %v cm", kept)
	}
	if low < 10 || high > 75 { // the records go from 0 to 80 cm
		t.Errorf("two points reach %.1f to %.1f cm: nothing is cut off", low, high)
	}
	golden.Check(t, "testdata/bounce.txt", fig.String())
}

func TestNoAllocationsOfTurnsAndReckoning(t *testing.T) {
	k, w := kind(t, boat{}, 30), kind(t, warper{}, 30)
	bodies := kind(t, body{}, 30)
	a, b := boatAt(100, 0, 300, 0, 30), boatAt(120, 50, 300, 10, 30)
	x, y := &motion.State{Tick: 1, Vals: make([]int64, 5)}, &motion.State{Tick: 5, Vals: []int64{40, 50, 60, 7, 8}}
	dst, child := make([]int64, 8), make([]int64, 5)
	if n := testing.AllocsPerRun(100, func() {
		motion.Draw(k, &k.Groups[0], a, b, clock.Tick(115).Frac(), dst)
		motion.Strays(k, &k.Groups[0], a, b.Vals, 110)
		motion.Draw(bodies, &bodies.Groups[0], x, y, clock.Tick(3).Frac(), dst)
		motion.Attach(w, child, w, x.Vals)
		motion.Error(w, x.Vals, y.Vals)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkTurns(b *testing.B) {
	k := kind(b, body{}, 30)
	x, y := &motion.State{Tick: 1, Vals: make([]int64, 5)}, &motion.State{Tick: 5, Vals: []int64{4000, 500, 60, 7, 8}}
	dst := make([]int64, 5)
	for b.Loop() {
		motion.Draw(k, &k.Groups[0], x, y, clock.Tick(3).Frac(), dst)
	}
}
