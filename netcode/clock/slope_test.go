package clock

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// nth is what sorting would put at each index, with many equal values too.
func TestNthEqualsSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(0, rapid.SampledFrom([]float64{0, 1, 1e9}).Draw(t, "most")), 1,
			blockCount).Draw(t, "values")
		if rapid.Bool().Draw(t, "whole numbers") {
			for i := range v {
				v[i] = float64(int64(v[i]))
			}
		}
		sorted := slices.Clone(v)
		slices.Sort(sorted)
		k := rapid.IntRange(0, len(v)-1).Draw(t, "index")
		got := nth(v, k)
		if slices.Sort(v); got != sorted[k] || !slices.Equal(v, sorted) {
			t.Fatalf("%v at index %d of %v", got, k, sorted)
		}
	})
}
