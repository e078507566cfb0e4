package codec

import (
	"math/rand/v2"
	"testing"

	"meanwhile/netcode/clock"
)

// A class is how many limits a value reaches, over a gap as well.
func TestClassesAreCounted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 300 {
		limits := make([]int64, 1+r.IntN(15))
		least := int64(0)
		for i := range limits {
			least += r.Int64N(1 << r.IntN(2+n%38))
			limits[i] = least + 1
		}
		of := newScale(limits)
		count := func(v int64) (n int) {
			for _, l := range limits {
				if v >= l {
					n++
				}
			}
			return n
		}
		values := []int64{0, 1<<scaleBits - 1}
		for v := range int64(70) {
			values = append(values, v)
		}
		for _, l := range limits {
			values = append(values, l-1, l, l+1)
		}
		for range 200 {
			values = append(values, r.Int64N(1<<r.IntN(scaleBits)+1))
		}
		for _, v := range values {
			if got := of.of(v); got != count(v) {
				t.Fatalf("%d reaches %d of %d, want %d", v, got, limits, count(v))
			}
			var s contexts
			gap := 1 + r.Uint32N(1<<r.IntN(11))
			s.see(&group{times: &times{spans: *of}}, 100, clock.Tick(gap), true)
			if v = min(v, 1<<37-1); s.class(of, v) != count(v<<16/int64(gap)) || s.far(of, v) != s.class(of, v) {
				t.Fatalf("%d over %d reaches %d and %d of %d, want %d", v, gap, s.class(of, v), s.far(of, v), limits,
					count(v<<16/int64(gap)))
			}
			if v = r.Int64N(1 << 53); s.over(v) != v/int64(gap) {
				t.Fatalf("%d over %d is %d", v, gap, s.over(v))
			}
		}
	}
}
