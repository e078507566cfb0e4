package load

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A mixture is what players are spread over, by whole weights.
type mixture struct {
	order []string // one turn, each as often as it weighs
	sum   int
}

// mixed is the text of a mixture in which all weigh the same.
const mixed = "mixed"

// maxWeight bounds a weight.
const maxWeight = 100

// mix reads a name, "mixed" for all alike, or weights such as a=3,b=1; a name alone weighs 1. what
// names the flag.
func mix(what, text string, names []string) (m mixture, err error) {
	weights := map[string]int{}
	if text == mixed {
		for _, n := range names {
			if n != noNetwork {
				weights[n] = 1
			}
		}
	} else {
		for part := range strings.SplitSeq(text, ",") {
			name, number, given := strings.Cut(part, "=")
			n := 1
			if given {
				n, err = strconv.Atoi(number)
			}
			if err != nil || n < 1 || n > maxWeight {
				return m, fmt.Errorf("--%s %s: the weight %q is not a whole number in [1, %d]", what, text, number, maxWeight)
			}
			if !slices.Contains(names, name) {
				return m, fmt.Errorf("--%s: there is no %s %q; there are %s, and %s", what, what, name,
					strings.Join(names, ", "), mixed)
			}
			weights[name] += n
		}
	}
	for _, n := range names {
		m.sum += weights[n]
	}
	// Each turn goes to the name that is furthest behind its share, the first of equals.
	given := map[string]int{}
	for turn := 1; turn <= m.sum; turn++ {
		best, most := "", 0
		for _, n := range names {
			if behind := turn*weights[n] - given[n]*m.sum; weights[n] > 0 && (best == "" || behind > most) {
				best, most = n, behind
			}
		}
		given[best]++
		m.order = append(m.order, best)
	}
	return m, nil
}

// pick returns the name that player number i gets.
func (m *mixture) pick(i int) string { return m.order[i%m.sum] }
