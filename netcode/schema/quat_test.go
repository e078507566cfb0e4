package schema_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"meanwhile/geom"
	"meanwhile/internal/verify/golden"
	"meanwhile/netcode/schema"
)

// again stores and extracts the integers of a rotation.
func again(k *schema.Kind, v []int64) []int64 {
	var q geom.Quat
	k.Store(unsafe.Pointer(&q), v)
	out := make([]int64, 3)
	k.Extract(unsafe.Pointer(&q), out)
	return out
}

// Every rotation of 4 and 5 bits a component, and what is none: brought to what rounding gives
// once, it stays that.
func TestEveryQuatOfFewBits(t *testing.T) {
	for _, bit := range []int64{4, 5} {
		k, err := one(geom.Quat{}, fmt.Sprintf("quat,%dbit,others=%dbit", bit, bit))
		if err != nil {
			t.Fatal(err)
		}
		base, most := int64(1)<<bit, int64(1)<<(bit-1)-1
		n, kept := 0, 0
		for a := -most; a <= base+most; a++ {
			for b := -most; b <= base+most; b++ {
				for c := -most; c <= most; c++ {
					v := []int64{a, b, c}
					k.Clamp(v)
					if n++; slices.Equal(v, []int64{a, b, c}) {
						kept++
					}
					if got := again(k, v); !slices.Equal(got, v) {
						t.Fatalf("%d bits: %v becomes %v when stored and extracted again (it was %v)", bit, v, got, []int64{a, b, c})
					}
				}
			}
		}
		if kept < n/4 {
			t.Errorf("%d bits: of %d only %d stand for themselves", bit, n, kept)
		}
	}
}

// Any rotation, and above all those with two components of nearly the same size, is rounded once,
// alike with its negative, and is not further off than the steps say.
func TestQuatRoundTrip(t *testing.T) {
	for _, bit := range []int{4, 9, 16, 20} {
		k, err := one(geom.Quat{}, fmt.Sprintf("quat,%dbit,others=4bit", bit))
		if err != nil {
			t.Fatal(err)
		}
		m := float64(int64(1)<<(bit-1) - 1)
		rapid.Check(t, func(t *rapid.T) {
			f := rapid.Float64Range(-1, 1)
			q := [4]float64{f.Draw(t, "w"), f.Draw(t, "x"), f.Draw(t, "y"), f.Draw(t, "z")}
			if rapid.Bool().Draw(t, "tie") {
				i, j := rapid.IntRange(0, 3).Draw(t, "i"), rapid.IntRange(0, 3).Draw(t, "j")
				q[i] = q[j] + rapid.Float64Range(-2, 2).Draw(t, "by")/m
				if rapid.Bool().Draw(t, "opposite") {
					q[i] = -q[i]
				}
			}
			rot := geom.Quat{W: q[0], X: q[1], Y: q[2], Z: q[3]}.Unit()
			v := make([]int64, 3)
			k.Extract(unsafe.Pointer(&rot), v)
			if got := again(k, v); !slices.Equal(got, v) {
				t.Fatalf("%v is %v, and stored and extracted again %v", rot, v, got)
			}
			neg := geom.Quat{W: -rot.W, X: -rot.X, Y: -rot.Y, Z: -rot.Z}
			w := make([]int64, 3)
			if k.Extract(unsafe.Pointer(&neg), w); !slices.Equal(v, w) {
				t.Fatalf("%v is %v, and its negative %v", rot, v, w)
			}
			var back geom.Quat
			k.Store(unsafe.Pointer(&back), v)
			// Three components are off by half a step each, or one by a step more where it ties
			// with the largest, and the largest by at most their sum: together 3 steps of 1/(m sqrt
			// 2).
			if off := 2 * math.Acos(min(math.Abs(back.Dot(rot)), 1)); off > 2*3/(m*math.Sqrt2)+5e-8 {
				t.Fatalf("%v is rounded to %v, %v radians off", rot, back, off)
			}
		})
	}
}

// The rotation that turns nothing is all zeros, which a first sight does not write.
func TestNoRotationIsZero(t *testing.T) {
	k, err := one(geom.Quat{}, "quat")
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []geom.Quat{{}, geom.One, {W: -1}, {W: 1e-200}, {W: math.NaN()}} {
		v := make([]int64, 3)
		if k.Extract(unsafe.Pointer(&q), v); !slices.Equal(v, make([]int64, 3)) {
			t.Errorf("%v is %v", q, v)
		}
	}
}

func TestQuatIntegers(t *testing.T) {
	k, err := one(geom.Quat{}, "quat,9bit")
	if err != nil {
		t.Fatal(err)
	}
	half := math.Sqrt(0.5)
	for _, c := range []struct {
		q    geom.Quat
		want []int64 // +512 in the first: X or Z was left out; in the second: Y or Z
	}{
		{geom.Quat{X: 1}, []int64{512, 0, 0}},
		{geom.Quat{Y: -1}, []int64{0, 512, 0}},
		{geom.Quat{Z: 1}, []int64{512, 512, 0}},
		{geom.Quat{W: half, Z: half}, []int64{0, 0, 255}},
		{geom.Quat{W: half, X: -half}, []int64{-255, 0, 0}},
		{geom.Quat{W: -half, X: half}, []int64{-255, 0, 0}},
		{geom.Quat{W: 0.5, X: 0.5, Y: 0.5, Z: 0.5}, []int64{180, 180, 180}}, // 255 sqrt(2) / 2 = 180.3
		{geom.Quat{W: 0.1, X: 0.9, Y: 0.3, Z: -0.3}, []int64{512 + 36, 108, -108}},
	} {
		q := c.q.Unit()
		got := make([]int64, 3)
		if k.Extract(unsafe.Pointer(&q), got); !slices.Equal(got, c.want) {
			t.Errorf("%v is %v, want %v", c.q, got, c.want)
		}
	}
}

// How values are rounded, for clients in other languages: testdata/rounded.txt has, for properties
// of each graded class, simulation integers, what observers receive of them, and what of that is
// left at coarser levels.
func TestRoundingVectors(t *testing.T) {
	k := kindOf[rigid](t)
	var b strings.Builder
	b.WriteString("# Values as simulation integers, as observers receive them, and at the coarser levels of the kind " +
		"in rigid.txt: property, integers.\n")
	r := random(5)
	sims, row := make([]int64, k.Sims), make([]int32, k.Obs)
	for range 6 {
		for i := range sims {
			sims[i] = int64(r.next()) >> (40 + r.next()%22)
		}
		k.Clamp(sims)
		k.Observe(sims, row)
		for i := range k.Props {
			q := &k.Props[i]
			if q.ObsAt < 0 || q.Sim == q.Obs && q.Shift == [schema.MaxLevels]uint8{} {
				continue
			}
			fmt.Fprintf(&b, "%s %v observed %v", q.Name, sims[q.At:q.At+q.Comps], row[q.ObsAt:q.ObsAt+q.Comps])
			for level := 1; level <= len(k.Levels) && q.Shift[level] > 0; level++ {
				var coarse []int32
				for _, v := range row[q.ObsAt : q.ObsAt+q.Comps] {
					coarse = append(coarse, q.Coarsen(v, level))
				}
				fmt.Fprintf(&b, " level %d %v", level, coarse)
			}
			b.WriteString("\n")
		}
	}
	golden.Check(t, "testdata/rounded.txt", b.String())
}
