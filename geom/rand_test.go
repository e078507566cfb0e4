package geom_test

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	. "meanwhile/geom"
)

// The numbers are part of what server and browser agree on.
func TestRandIsPinned(t *testing.T) {
	r := NewRand(1, 2, 3)
	var got [4]uint64
	for i := range got {
		got[i] = r.Uint64()
	}
	if want := [4]uint64{0x9637cf1c72f84c3b, 0x2cad6c292567bbe2, 0x9a086f75edf7a8f2, 0xc13b5ce264138cbd}; got != want {
		t.Errorf("NewRand(1, 2, 3) draws %#x, want %#x", got, want)
	}
	again := NewRand(1, 2, 3)
	if again.Uint64() != got[0] {
		t.Error("the same parts give other numbers")
	}
}

func TestRandPartsMatter(t *testing.T) {
	seen := map[uint64][]uint64{}
	for _, parts := range [][]uint64{{}, {0}, {0, 0}, {1}, {0, 1}, {1, 0}, {1, 1}, {2}, {1 << 63}, {0, 0, 0},
		{math.MaxUint64}} {
		r := NewRand(parts...)
		v := r.Uint64()
		if other, ok := seen[v]; ok {
			t.Errorf("%v and %v draw the same", parts, other)
		}
		seen[v] = parts
	}

	// One bit of one part flips half of the bits of each number.
	const rounds = 2000
	flips := 0
	for i := range uint64(rounds) {
		a, b := NewRand(7, i, 3), NewRand(7, i^1<<(i%64), 3)
		flips += bits.OnesCount64(a.Uint64() ^ b.Uint64())
	}
	if mean := float64(flips) / rounds; math.Abs(mean-32) > 5*4/math.Sqrt(rounds) {
		t.Errorf("%.2f bits flip, expected 32", mean)
	}
}

// chi2 tells how uneven counts are; for k even cells it is k-1 ± √(2(k-1)).
func chi2(counts []int, total int) (sigmas float64) {
	want, sum := float64(total)/float64(len(counts)), 0.0
	for _, c := range counts {
		sum += (float64(c) - want) * (float64(c) - want) / want
	}
	k := float64(len(counts) - 1)
	return (sum - k) / math.Sqrt(2*k)
}

func TestRandIsEven(t *testing.T) {
	const n = 200_000
	draws := map[string]func(i uint64) (cell, cells int){
		"Float64 of one stream": func() func(uint64) (int, int) {
			r := NewRand(5)
			return func(uint64) (int, int) { return int(r.Float64() * 256), 256 }
		}(),
		"first number of neighbouring keys": func(i uint64) (int, int) {
			r := NewRand(9, i)
			return int(r.Uint64() >> 56), 256
		},
		"low bits of neighbouring keys": func(i uint64) (int, int) {
			r := NewRand(i, 9)
			return int(r.Uint64() & 255), 256
		},
		"pairs": func(i uint64) (int, int) {
			r := NewRand(i)
			return r.IntN(16)*16 + r.IntN(16), 256
		},
		"IntN(7)": func(i uint64) (int, int) {
			r := NewRand(i)
			return r.IntN(7), 7
		},
		"Angle": func(i uint64) (int, int) {
			r := NewRand(i)
			return int((Pi - r.Angle()) / Turn * 64), 64
		},
		"Disc by area": func(i uint64) (int, int) {
			r := NewRand(i)
			return min(int(r.Disc(3).Len2()/9*64), 63), 64
		},
		"Shuffle of 4": func(i uint64) (int, int) {
			r, order := NewRand(i), []int{0, 1, 2, 3}
			r.Shuffle(4, func(i, j int) { order[i], order[j] = order[j], order[i] })
			rank := 0
			for i, v := range order { // Lehmer code
				less := 0
				for _, w := range order[i+1:] {
					if w < v {
						less++
					}
				}
				rank = rank*(4-i) + less
			}
			return rank, 24
		},
		"Norm by quartile": func(i uint64) (int, int) {
			r := NewRand(i)
			switch x := r.Norm(); {
			case x < -0.6744897501960817:
				return 0, 4
			case x < 0:
				return 1, 4
			case x < 0.6744897501960817:
				return 2, 4
			}
			return 3, 4
		},
		"Exp by octave": func(i uint64) (int, int) {
			r := NewRand(i)
			return min(int(Exp(-r.Exp())*8), 7), 8 // e^-x of an exponential x is even in (0, 1]
		},
	}
	for name, draw := range draws {
		var counts []int
		for i := range uint64(n) {
			cell, cells := draw(i)
			if counts == nil {
				counts = make([]int, cells)
			}
			counts[cell]++
		}
		if s := chi2(counts, n); math.Abs(s) > 5 {
			t.Errorf("%s: %.1f standard deviations from even: %v", name, s, counts)
		}
	}
}

func TestRandBounds(t *testing.T) {
	r := NewRand(3)
	sum, sum2, lo, hi := 0.0, 0.0, 1.0, 0.0
	const n = 100_000
	for range n {
		if f := r.Float64(); !(f >= 0 && f < 1) {
			t.Fatalf("Float64 = %v", f)
		} else {
			lo, hi = min(lo, f), max(hi, f)
		}
		x := r.Norm()
		sum, sum2 = sum+x, sum2+x*x
		if v := r.Range(1, math.Nextafter(1, 2)); v != 1 {
			t.Fatalf("Range of one value = %v", v)
		}
		if v := r.Range(-3, 5); !(v >= -3 && v < 5) {
			t.Fatalf("Range(-3, 5) = %v", v)
		}
		if a := r.Angle(); !(a > -Pi && a <= Pi) {
			t.Fatalf("Angle = %v", a)
		}
		if e := r.Exp(); !(e >= 0 && e < 37) { // -log 2^-53 = 36.7
			t.Fatalf("Exp = %v", e)
		}
		if i := r.IntN(3); i < 0 || i > 2 {
			t.Fatalf("IntN(3) = %v", i)
		}
		if i := r.IntN(math.MaxInt); i < 0 {
			t.Fatalf("IntN(MaxInt) = %v", i)
		}
	}
	if mean, dev := sum/n, math.Sqrt(sum2/n); math.Abs(mean) > 0.02 || math.Abs(dev-1) > 0.02 {
		t.Errorf("Norm has mean %v and deviation %v", mean, dev)
	}
	if lo > 1e-4 || hi < 1-1e-4 {
		t.Errorf("Float64 stays in [%v, %v]", lo, hi)
	}
	var zero, again Rand
	for name, got := range map[string]any{
		"IntN(0)":           r.IntN(0) == 0,
		"IntN(-5)":          r.IntN(-5) == 0,
		"IntN(1)":           r.IntN(1) == 0,
		"Range(2, 2)":       r.Range(2, 2) == 2,
		"Range(2, 1)":       r.Range(2, 1) == 2,
		"Range(2, NaN)":     r.Range(2, math.NaN()) == 2,
		"Chance(0)":         !r.Chance(0),
		"Chance(1)":         r.Chance(1),
		"Chance(NaN)":       !r.Chance(math.NaN()),
		"Disc(0)":           r.Disc(0).Len() == 0,
		"the zero Rand":     zero.Uint64() == again.Uint64(),
		"Random in a point": Rect{Vec2{1, 2}, Vec2{1, 2}}.Random(&r) == Vec2{1, 2},
	} {
		if got != true {
			t.Errorf("%s is wrong", name)
		}
	}
}

// A replayed prediction draws the same numbers, wherever it is between other draws, as long as the
// number of draws does not hang on the arguments.
func TestRandDrawsDoNotHangOnArguments(t *testing.T) {
	after := func(f func(*Rand)) uint64 {
		r := NewRand(4)
		f(&r)
		return r.Uint64()
	}
	if after(func(r *Rand) { r.Range(0, 1) }) != after(func(r *Rand) { r.Range(5, 5) }) {
		t.Error("an empty Range draws another number of numbers")
	}
	if after(func(r *Rand) { r.Chance(0) }) != after(func(r *Rand) { r.Chance(1) }) {
		t.Error("Chance draws another number of numbers")
	}
	var one, two []uint64
	a, b := NewRand(1, 7), NewRand(2, 7)
	for range 5 { // interleaved with another stream
		one = append(one, a.Uint64())
		b.Uint64()
	}
	a = NewRand(1, 7)
	for range 5 {
		two = append(two, a.Uint64())
	}
	if !slices.Equal(one, two) {
		t.Error("streams are not independent")
	}
}
