package motion_test

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/big"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
)

// mover has a property of each way of drawing. 30 ticks a second, all in observer steps of 1 cm, 1
// cm/s, 1 degree.
type mover struct {
	Pos   geom.Vec2  `net:"pos,draw=hermite"`
	Vel   geom.Vec2  `net:"vel"`
	Line  geom.Vec2  `net:"pos"`
	Yaw   geom.Angle `net:"angle,1deg"`
	Fine  geom.Angle `net:"angle,24bit"`
	Heat  float64    `net:"float,0.5,group=0"`
	Score int        `net:"int,0..999,group=0"`
	Name  string     `net:"text,4,group=0"`
	Jump  geom.Vec2  `net:"pos,draw=step"`
}

// Places of the components among a mover's integers.
const (
	posX, velX, lineX, yaw, fine, heat, score, name, jump = 0, 2, 4, 6, 7, 8, 9, 10, 11
	comps                                                 = 13
)

func kind(t testing.TB, v any, rate int) *schema.Kind {
	t.Helper()
	k, err := schema.New("mover", reflect.TypeOf(v), rate)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func state(tick clock.Tick, at map[int]int64) *motion.State {
	s := &motion.State{Tick: tick, Vals: make([]int64, comps)}
	for c, v := range at {
		s.Vals[c] = v
	}
	return s
}

func TestBetween(t *testing.T) {
	const half = clock.FracPerTick / 2
	a := &motion.State{Tick: 10}
	for _, c := range []struct {
		name string
		b    motion.State
		t    clock.TickFrac
		want int64
	}{
		{"long before", motion.State{Tick: 14}, math.MinInt64, 0},
		{"before", motion.State{Tick: 14}, clock.Tick(9).Frac(), 0},
		{"at the older", motion.State{Tick: 14}, clock.Tick(10).Frac(), 0},
		{"the least moment after", motion.State{Tick: 14}, clock.Tick(10).Frac() + 1, 64}, // 65536 / (4*256)
		{"a quarter", motion.State{Tick: 14}, clock.Tick(11).Frac(), 16384},
		{"half", motion.State{Tick: 11}, clock.Tick(10).Frac() + half, 32768},
		{"the least moment before the newer", motion.State{Tick: 14}, clock.Tick(14).Frac() - 1, 65536 - 64},
		{"at the newer", motion.State{Tick: 14}, clock.Tick(14).Frac(), 65536},
		{"after", motion.State{Tick: 14}, math.MaxInt64, 65536},
		{"far apart", motion.State{Tick: 1<<32 - 1}, clock.Tick(1 << 31).Frac(), 32767}, // (2^31-10)/(2^32-11), rounded down

		{"just before a cut", motion.State{Tick: 14, Cut: 12}, clock.Tick(12).Frac() - 1, 0},
		{"at a cut", motion.State{Tick: 14, Cut: 12}, clock.Tick(12).Frac(), 65536},
		{"cut at the newer", motion.State{Tick: 14, Cut: 14}, clock.Tick(14).Frac() - 1, 0},
		{"cut right after the older", motion.State{Tick: 14, Cut: 11}, clock.Tick(11).Frac(), 65536},
		{"cut at the older, which shows it", motion.State{Tick: 14, Cut: 10}, clock.Tick(12).Frac(), 32768},
		{"a cut of long ago", motion.State{Tick: 14, Cut: 3}, clock.Tick(12).Frac(), 32768},

		{"still resting", motion.State{Tick: 14, Start: 13}, clock.Tick(12).Frac(), 0}, // moved from 12 to 13
		{"half of the first movement", motion.State{Tick: 14, Start: 13}, clock.Tick(12).Frac() + half, 16384},
		{"moving", motion.State{Tick: 14, Start: 13}, clock.Tick(13).Frac(), 32768},
		{"began right after the older", motion.State{Tick: 14, Start: 11}, clock.Tick(11).Frac(), 16384},
		{"began at the newer", motion.State{Tick: 14, Start: 14}, clock.Tick(13).Frac() + half, 32768},
		{"began before the older", motion.State{Tick: 14, Start: 2}, clock.Tick(12).Frac(), 32768},
		{"cut and start: a cut goes before", motion.State{Tick: 14, Start: 11, Cut: 13}, clock.Tick(12).Frac(), 0},

		{"nonsense: begins after the newer", motion.State{Tick: 14, Start: 90}, clock.Tick(13).Frac(), 0},
		{"nonsense: of the same tick", motion.State{Tick: 10}, clock.Tick(10).Frac(), 65536},

		{"later: before", motion.State{Tick: 14, Bound: 4}, clock.Tick(10).Frac(), 0},
		{"later: half of 4+4 ticks", motion.State{Tick: 14, Bound: 4}, clock.Tick(14).Frac(), 32768},
		{"later: at the newer", motion.State{Tick: 14, Bound: 4}, clock.Tick(18).Frac(), 65536},
		{"later: a cut is later too", motion.State{Tick: 14, Cut: 12, Bound: 4}, clock.Tick(16).Frac() - 1, 0},
		{"later: at a cut", motion.State{Tick: 14, Cut: 12, Bound: 4}, clock.Tick(16).Frac(), 65536},
		{"later: still resting, 4 ticks more at once", motion.State{Tick: 14, Start: 13, Bound: 4}, clock.Tick(16).Frac(), 0},
		{"later: half of the two ticks that it moves", motion.State{Tick: 14, Start: 13, Bound: 4},
			clock.Tick(17).Frac(), 32768},
	} {
		if got := motion.Between(a, &c.b, c.t); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// seeds: B9
func TestDraw(t *testing.T) {
	k := kind(t, mover{}, 30)
	g := &k.Groups[0]
	if g.N != comps || len(k.Groups) != 1 {
		t.Fatalf("a mover has %d integers in %d groups", g.N, len(k.Groups))
	}
	const half = clock.FracPerTick / 2
	at := func(v map[int]int64) map[int]int64 { return v }
	for _, c := range []struct {
		name string
		a, b *motion.State
		t    clock.TickFrac
		at   int
		want int64 // in 1/256
	}{
		{"a line, half way", state(10, at(map[int]int64{lineX: 100})), state(11, at(map[int]int64{lineX: 200})),
			clock.Tick(10).Frac() + half, lineX, 150 * 256},
		{"a line back, a quarter", state(10, at(map[int]int64{lineX: 100})), state(14, at(map[int]int64{lineX: -100})),
			clock.Tick(11).Frac(), lineX, 50 * 256},
		{"less than a step", state(10, nil), state(14, at(map[int]int64{lineX: 1})), clock.Tick(11).Frac(), lineX, 64},
		{"rounded down", state(10, nil), state(13, at(map[int]int64{lineX: -1})), clock.Tick(11).Frac(), lineX, -86}, // -85.3
		{"alone, it is held", state(10, at(map[int]int64{lineX: 7})), nil, clock.Tick(99).Frac(), lineX, 7 * 256},
		{"after both, the newer is held", state(10, nil), state(11, at(map[int]int64{lineX: 7})),
			clock.Tick(99).Frac(), lineX, 7 * 256},
		{"before both, the older is held", state(10, at(map[int]int64{lineX: 3})), state(11, at(map[int]int64{lineX: 7})),
			0, lineX, 3 * 256},

		{"an angle over north", state(10, at(map[int]int64{yaw: 350})), state(11, at(map[int]int64{yaw: 20})),
			clock.Tick(10).Frac() + half, yaw, 5 * 256},
		{"an angle back over north", state(10, at(map[int]int64{yaw: 20})), state(11, at(map[int]int64{yaw: 350})),
			clock.Tick(10).Frac() + half, yaw, 5 * 256},
		{"half a turn goes left", state(10, at(map[int]int64{yaw: 0})), state(11, at(map[int]int64{yaw: 180})),
			clock.Tick(10).Frac() + half, yaw, 90 * 256},
		{"just more than half a turn goes right", state(10, at(map[int]int64{yaw: 0})),
			state(11, at(map[int]int64{yaw: 181})), clock.Tick(10).Frac() + half, yaw, 360*256 - 179*128},

		{"an integer steps late", state(10, at(map[int]int64{score: 5})), state(11, at(map[int]int64{score: 9})),
			clock.Tick(11).Frac() - 1, score, 5 * 256},
		{"an integer has stepped", state(10, at(map[int]int64{score: 5})), state(11, at(map[int]int64{score: 9})),
			clock.Tick(11).Frac(), score, 9 * 256},
		{"a text steps", state(10, at(map[int]int64{name: 'a'})), state(11, at(map[int]int64{name: 'b'})),
			clock.Tick(10).Frac() + half, name, 'a' * 256},
		{"a place that steps", state(10, nil), state(11, at(map[int]int64{jump: 90})), clock.Tick(10).Frac() + half, jump, 0},

		// At 30 Hz 300 cm/s are 10 cm a tick. Over 4 ticks that is 40 cm, just the way: a straight
		// line.
		{"a steady run is a line", state(10, at(map[int]int64{velX: 300})),
			state(14, at(map[int]int64{posX: 40, velX: 300})), clock.Tick(11).Frac(), posX, 10 * 256},
		// From rest to rest: 3u^2-2u^3 at 1/4 is 0.15625, of 64 cm 10 cm.
		{"speeding up and slowing down", state(10, nil), state(14, at(map[int]int64{posX: 64})),
			clock.Tick(11).Frac(), posX, 10 * 256},
		// A velocity away from the goal counts as none.
		{"the wrong way", state(10, at(map[int]int64{velX: -300})), state(14, at(map[int]int64{posX: 64, velX: -900})),
			clock.Tick(11).Frac(), posX, 10 * 256},
		// 3 m/tick is limited to three times the chord: 0.15625*64 + 0.140625*192 = 37.
		{"far too fast", state(10, at(map[int]int64{velX: 9000})), state(14, at(map[int]int64{posX: 64})),
			clock.Tick(11).Frac(), posX, 37 * 256},
		// At 63917/65536 the rounded powers of u add up to 65537/65536 of the way.
		{"not beyond, by rounding either", state(10, at(map[int]int64{velX: 1 << 24})),
			state(266, at(map[int]int64{posX: 40e6})), clock.Tick(10).Frac() + 63917, posX, 40e6 * 256},
		{"a velocity without a way", state(10, at(map[int]int64{posX: 5, velX: 300})),
			state(14, at(map[int]int64{posX: 5, velX: 300})), clock.Tick(12).Frac(), posX, 5 * 256},
		{"a velocity is drawn as a line", state(10, at(map[int]int64{velX: 100})),
			state(14, at(map[int]int64{velX: 300})), clock.Tick(11).Frac(), velX, 150 * 256},
	} {
		dst := make([]int64, comps)
		motion.Draw(k, g, c.a, c.b, c.t, dst)
		if dst[c.at] != c.want {
			t.Errorf("%s: %d/256, want %d/256", c.name, dst[c.at], c.want)
		}
	}
}

// A teleport is never drawn as a slide: at every moment each component is that of one of both
// records.
//
// seeds: B13
func TestCutIsNeverASlide(t *testing.T) {
	k := kind(t, mover{}, 30)
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPair(t, k)
		b.Cut = a.Tick + clock.Tick(rapid.Uint32Range(1, uint32(b.Tick-a.Tick)).Draw(t, "cut after"))
		at := a.Tick.Frac() + clock.TickFrac(rapid.Int64Range(-300, int64(b.Tick.Frac()-a.Tick.Frac())+300).Draw(t, "time"))
		dst := make([]int64, comps)
		motion.Draw(k, &k.Groups[0], a, b, at, dst)
		show := a
		if at >= b.Cut.Frac() {
			show = b
		}
		for c := range dst {
			if dst[c] != show.Vals[c]*256 {
				t.Fatalf("component %d is drawn at %d/256, between %d and %d", c, dst[c], a.Vals[c], b.Vals[c])
			}
		}
	})
}

// What rested after a record stays exactly there until its movement began.
func TestNoDriftBeforeTheStart(t *testing.T) {
	k := kind(t, mover{}, 30)
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPair(t, k)
		b.Start = a.Tick + clock.Tick(rapid.Uint32Range(1, uint32(b.Tick-a.Tick)).Draw(t, "start after"))
		rest := (b.Start - 1).Frac()
		at := rapid.Int64Range(int64(a.Tick.Frac()), int64(rest)).Draw(t, "time")
		dst := make([]int64, comps)
		motion.Draw(k, &k.Groups[0], a, b, clock.TickFrac(at), dst)
		for c := range dst {
			if dst[c] != a.Vals[c]*256 {
				t.Fatalf("component %d has moved to %d/256 from %d, movement begins at %d", c, dst[c], a.Vals[c], b.Start)
			}
		}
		// From there on it is drawn as if the older record were that of the tick before the start.
		later := clock.TickFrac(rapid.Int64Range(int64(rest), int64(b.Tick.Frac())).Draw(t, "later"))
		from := &motion.State{Tick: b.Start - 1, Vals: a.Vals}
		to := &motion.State{Tick: b.Tick, Vals: b.Vals}
		want := make([]int64, comps)
		motion.Draw(k, &k.Groups[0], from, to, later, want)
		if motion.Draw(k, &k.Groups[0], a, b, later, dst); !slices.Equal(dst, want) {
			t.Fatalf("at %d: %v, want %v", later, dst, want)
		}
	})
}

func drawPair(t *rapid.T, k *schema.Kind) (a, b *motion.State) {
	value := func(p *schema.Prop, label string) int64 {
		if p.Turn > 0 {
			return rapid.Int64Range(0, p.Turn-1).Draw(t, label)
		}
		return rapid.OneOf(rapid.Int64Range(math.MinInt32, math.MaxInt32), rapid.Int64Range(-2000, 2000),
			rapid.SampledFrom([]int64{math.MinInt32, 0, math.MaxInt32})).Draw(t, label)
	}
	a = &motion.State{Tick: clock.Tick(rapid.OneOf(rapid.Uint32Range(1, 1000), rapid.Uint32Range(1, 1<<32-2)).Draw(t,
		"tick"))}
	gap := rapid.OneOf(rapid.Uint32Range(1, 20), rapid.Uint32Range(1, 1<<32-1)).Draw(t, "gap")
	b = &motion.State{Tick: a.Tick + clock.Tick(min(gap, 1<<32-1-uint32(a.Tick)))}
	for i := range k.Props {
		p := &k.Props[i]
		for range p.Comps {
			a.Vals = append(a.Vals, value(p, "from "+p.Name))
			b.Vals = append(b.Vals, value(p, "to "+p.Name))
		}
	}
	return a, b
}

// For values of every size, up to what 32 bits hold, what is drawn is what exact arithmetic gives,
// to within the stated rounding, never lies beyond both records, and an angle never goes the long
// way.
func TestDrawAgainstExactArithmetic(t *testing.T) {
	for _, rate := range []int{1, 30, 1000} {
		k := kind(t, mover{}, rate)
		rapid.Check(t, func(t *rapid.T) {
			a, b := drawPair(t, k)
			span := int64(b.Tick.Frac() - a.Tick.Frac())
			at := rapid.OneOf(rapid.Int64Range(0, span), rapid.SampledFrom([]int64{0, 1, span / 2, span - 1, span})).Draw(t,
				"time")
			dst := make([]int64, comps)
			motion.Draw(k, &k.Groups[0], a, b, a.Tick.Frac()+clock.TickFrac(at), dst)
			u := new(big.Rat).SetFrac64(at<<16/span, 65536)
			for i := range k.Props {
				p := &k.Props[i]
				for c := p.ObsAt; c < p.ObsAt+p.Comps; c++ {
					va, vb := a.Vals[c], b.Vals[c]
					if p.Turn > 0 {
						checkAngle(t, p, va, vb, u, dst[c])
						continue
					}
					if dst[c] < min(va, vb)*256 || dst[c] > max(va, vb)*256 {
						t.Fatalf("%s: %d/256 is not between %d and %d", p.Name, dst[c], va, vb)
					}
					switch p.Draw {
					case schema.Step:
						if want := va; at < span && dst[c] != want*256 {
							t.Fatalf("%s: %d/256 before %d is reached, want %d", p.Name, dst[c], vb, want)
						}
					case schema.Linear:
						if off := difference(line(va, vb, u), dst[c]); off < 0 || off >= 1 {
							t.Fatalf("%s: %d/256 is off by %v of them", p.Name, dst[c], off)
						}
					case schema.Hermite:
						v := k.Props[p.Tangent].ObsAt + c - p.ObsAt
						want := cubic(va, vb, tangent(p, k.Props[p.Tangent].Obs, rate, a.Vals[v], va, vb, b.Tick-a.Tick),
							tangent(p, k.Props[p.Tangent].Obs, rate, b.Vals[v], va, vb, b.Tick-a.Tick), u)
						// Each power of u is off by at most 2/65536, and the tangents by 1 part in
						// 2^16 and one step.
						most := 2 + (24*math.Abs(float64(vb-va))/65536+2)*256
						if off := difference(want, dst[c]); math.Abs(off) > most {
							t.Fatalf("%s: %d/256 between %d and %d is off by %v of them, at most %v is allowed", p.Name,
								dst[c], va, vb, off, most)
						}
					}
				}
			}
		})
	}
}

func rat(v int64) *big.Rat { return new(big.Rat).SetInt64(v) }

// line returns 256 x (a + (b-a)u).
func line(a, b int64, u *big.Rat) *big.Rat {
	v := new(big.Rat).Mul(rat(b-a), u)
	return v.Add(v, rat(a)).Mul(v, rat(256))
}

func difference(want *big.Rat, got int64) float64 {
	f, _ := new(big.Rat).Sub(want, rat(got)).Float64()
	return f
}

// tangent returns position steps over the whole interval, limited as package motion says.
func tangent(p *schema.Prop, velObs float64, rate int, v, from, to int64, ticks clock.Tick) *big.Rat {
	m := new(big.Rat).SetFloat64(p.Obs)
	m.Quo(m, new(big.Rat).SetFloat64(velObs)).Quo(m, rat(int64(rate)))
	m.Mul(m, rat(min(max(v, -1<<24), 1<<24))).Mul(m, rat(min(int64(ticks), 256)))
	lo, hi := rat(min(3*(to-from), 0)), rat(max(3*(to-from), 0))
	if m.Cmp(lo) < 0 {
		return lo
	}
	if m.Cmp(hi) > 0 {
		return hi
	}
	return m
}

// cubic returns 256 x the Hermite curve.
func cubic(a, b int64, ma, mb, u *big.Rat) *big.Rat {
	mul := func(x, y *big.Rat) *big.Rat { return new(big.Rat).Mul(x, y) }
	u2 := mul(u, u)
	u3 := mul(u2, u)
	h01 := new(big.Rat).Sub(mul(rat(3), u2), mul(rat(2), u3))
	h10 := new(big.Rat).Add(new(big.Rat).Sub(u3, mul(rat(2), u2)), u)
	h11 := new(big.Rat).Sub(u3, u2)
	sum := rat(a)
	sum.Add(sum, mul(h01, rat(b-a))).Add(sum, mul(h10, ma)).Add(sum, mul(h11, mb))
	return sum.Mul(sum, rat(256))
}

func checkAngle(t *rapid.T, p *schema.Prop, va, vb int64, u *big.Rat, got int64) {
	turn := p.Turn
	if got < 0 || got >= turn*256 {
		t.Fatalf("%s: %d/256 is no angle of %d a turn", p.Name, got, turn)
	}
	d := ((vb-va)%turn + turn) % turn
	if 2*d > turn {
		d -= turn
	}
	want := line(0, d, u)
	want.Add(want, rat(va*256))
	off := difference(want, got)
	for off >= float64(turn*256)-1 {
		off -= float64(turn * 256)
	}
	for off < -1 {
		off += float64(turn * 256)
	}
	if off < 0 || off >= 1 {
		t.Fatalf("%s: %d/256 from %d to %d is off by %v of them", p.Name, got, va, vb, off)
	}
}

// A curve through growing places never runs back, up to the rounding of the powers of u.
func TestHermiteIsMonotone(t *testing.T) {
	k := kind(t, mover{}, 30)
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Int64Range(-100000, 100000)
		a, b := state(10, nil), state(10+clock.Tick(rapid.Uint32Range(1, 12).Draw(t, "gap")), nil)
		a.Vals[posX], b.Vals[posX] = value.Draw(t, "from"), value.Draw(t, "to")
		a.Vals[velX], b.Vals[velX] = value.Draw(t, "leaving at"), value.Draw(t, "arriving at")
		slack := max(b.Vals[posX]-a.Vals[posX], a.Vals[posX]-b.Vals[posX])*256*16>>16 + 2
		dst := make([]int64, comps)
		last := a.Vals[posX] * 256
		for f := a.Tick.Frac(); f <= b.Tick.Frac(); f++ {
			motion.Draw(k, &k.Groups[0], a, b, f, dst)
			if step := dst[posX] - last; (b.Vals[posX] >= a.Vals[posX] && step < -slack) ||
				(b.Vals[posX] <= a.Vals[posX] && step > slack) {
				t.Fatalf("at %d it steps by %d/256 on its way from %d to %d", f, step, a.Vals[posX], b.Vals[posX])
			}
			last = dst[posX]
		}
	})
}

// The integers that are drawn, condensed and pinned: a server judges shots by recomputing them, on
// another machine than the one that drew them.
func TestDigest(t *testing.T) {
	k := kind(t, mover{}, 30)
	h := fnv.New64a()
	r := uint64(1)
	next := func(n uint64) int64 {
		r += 0x9e3779b97f4a7c15
		z := r
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return int64((z ^ z>>31) % n)
	}
	dst := make([]int64, comps)
	for range 20000 {
		a := &motion.State{Tick: clock.Tick(1 + next(1000)), Vals: make([]int64, comps)}
		b := &motion.State{Tick: a.Tick + clock.Tick(1+next(40)), Vals: make([]int64, comps)}
		if next(4) == 0 {
			b.Start = a.Tick + clock.Tick(next(uint64(b.Tick-a.Tick))) + 1
		}
		if next(8) == 0 {
			b.Cut = a.Tick + clock.Tick(next(uint64(b.Tick-a.Tick))) + 1
		}
		for i := range k.Props {
			p := &k.Props[i]
			for c := p.ObsAt; c < p.ObsAt+p.Comps; c++ {
				if p.Turn > 0 {
					a.Vals[c], b.Vals[c] = next(uint64(p.Turn)), next(uint64(p.Turn))
					continue
				}
				shift := next(32)
				a.Vals[c] = int64(int32(next(1<<32))) >> shift
				b.Vals[c] = a.Vals[c] + int64(int32(next(1<<32)))>>(shift+8)
			}
		}
		motion.Draw(k, &k.Groups[0], a, b, a.Tick.Frac()+clock.TickFrac(next(uint64(b.Tick.Frac()-a.Tick.Frac()))), dst)
		for _, v := range dst {
			h.Write(binary.LittleEndian.AppendUint64(nil, uint64(v)))
		}
	}
	// A new number means that old clients draw, and old servers judge, something else: a change of
	// the protocol.
	if got, want := fmt.Sprintf("%016x", h.Sum64()), "8d29e3f2d0e6ea26"; got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

func TestNoAllocations(t *testing.T) {
	k := kind(t, mover{}, 30)
	a, b := state(10, map[int]int64{posX: 5}), state(14, map[int]int64{posX: 50, yaw: 90})
	dst := make([]int64, comps)
	if n := testing.AllocsPerRun(100, func() { motion.Draw(k, &k.Groups[0], a, b, clock.Tick(12).Frac(), dst) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkDraw(b *testing.B) {
	k := kind(b, mover{}, 30)
	from, to := state(10, map[int]int64{posX: 5, velX: 100}), state(14, map[int]int64{posX: 50, yaw: 90})
	dst := make([]int64, comps)
	b.Run("entities=256", func(b *testing.B) {
		for b.Loop() {
			for i := range 256 {
				motion.Draw(k, &k.Groups[0], from, to, clock.Tick(10).Frac()+clock.TickFrac(4*i), dst)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/entity")
	})
}

// Whatever classes the records of a moving thing have, what is drawn passes through them in order,
// never runs back, and, where the sender lets the bound fall by no more than a third of the time
// between two records, never by more than half faster than it was.
func TestTimeOfAThingNeverRunsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states := []motion.State{{Tick: 1}}
		tame := rapid.Bool().Draw(t, "tame")
		for range rapid.IntRange(1, 20).Draw(t, "records") {
			last := states[len(states)-1]
			gap := clock.Tick(rapid.IntRange(1, 40).Draw(t, "gap"))
			s := motion.State{Tick: last.Tick + gap, Bound: uint8(rapid.IntRange(0, motion.Bounds-1).Draw(t, "class"))}
			if w := motion.Wait(last.Bound); tame && w > gap/3 {
				s.Bound = max(s.Bound, motion.Class(w-gap/3))
			}
			states = append(states, s)
		}
		held := states // or a part of them, where packets are lost
		held = slices.DeleteFunc(slices.Clone(held), func(s motion.State) bool {
			return s.Tick > 1 &&
				rapid.IntRange(0, 3).Draw(t, "lost") == 0
		})
		at := func(p clock.TickFrac) int64 { // the tick that is drawn, in 1/65536
			var b *motion.State
			for i := len(held) - 1; i >= 0; i-- {
				a := &held[i]
				if a.Shown() > p {
					b = a
					continue
				}
				if b == nil {
					return int64(a.Tick) << 16
				}
				return int64(a.Tick)<<16 + int64(b.Tick-a.Tick)*motion.Between(a, b, p)
			}
			return 1 << 16
		}
		before := at(0)
		for p := clock.TickFrac(0); p < held[len(held)-1].Shown()+512; p += 64 {
			now := at(p)
			if now < before {
				t.Fatalf("at %d tick %d/65536 is drawn, before it was %d: %+v", p, now, before, held)
			}
			if most := int64(64*256*3/2 + 256); tame && now-before > most {
				t.Fatalf("at %d the drawn tick moves by %d/65536 in a quarter of a tick: %+v", p, now-before, held)
			}
			before = now
		}
		for i := range held {
			s := &held[i]
			skipped := slices.ContainsFunc(held[i+1:], func(n motion.State) bool { return n.Shown() <= s.Shown() })
			if got := at(s.Shown()); !skipped && got != int64(s.Tick)<<16 {
				t.Fatalf("when tick %d is shown, %d/65536 is drawn: %+v", s.Tick, got, held)
			}
		}
	})
}

func TestClasses(t *testing.T) {
	for c := range uint8(motion.Bounds) {
		w := motion.Wait(c)
		if got := motion.Class(w); got != c {
			t.Errorf("class of %d ticks: %d, want %d", w, got, c)
		}
		if c > 0 && motion.Class(motion.Wait(c-1)+1) != c {
			t.Errorf("one tick more than class %d is not class %d", c-1, c)
		}
	}
	if motion.Wait(200) != motion.Wait(motion.Bounds-1) || motion.Class(1<<31) != motion.Bounds-1 {
		t.Error("beyond the last class it is not the last")
	}
}
