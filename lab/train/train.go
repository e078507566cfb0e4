// Package train makes the tables that package codec codes differences by, from movement.
package train

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"meanwhile/lab/movement"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// A histogram counts symbols; what follows a symbol as it is counts for the choice of damping only.
type histogram [wire.Symbols]float64

func (h *histogram) total() (t float64) {
	for _, v := range h {
		t += v
	}
	return t
}

func (h *histogram) add(o *histogram, weight float64) {
	for i, v := range o {
		h[i] += v * weight
	}
}

// dampings are the eighths that are tried.
const dampings = 9

// A trainer counts how movement differs from what is expected of it.
type trainer struct {
	damp [codec.Models][][dampings]histogram // by context, at the models' own precision
	more [codec.Models][][dampings]float64   // bits that follow symbols, by context

	chosen [codec.Models][]uint8 // damping of each context
	// What remains is by code, once contexts have one.
	codes   [codec.Models][]histogram
	context [codec.Models][]uint8
	octaves [codec.Models][codec.Octaves][]histogram
	final   bool // the second walk
}

// pair is the age of a baseline and of the state before it, in steps; gap 0 is none. Weight is how
// often it is met.
type pair struct {
	age, gap int
	weight   float64
}

var pairs = []pair{
	{1, 1, 3}, {2, 1, 2}, {3, 1, 3}, {4, 1, 1}, {5, 1, 1}, {6, 1, 2}, {8, 1, 1}, {10, 1, 1}, {12, 1, 1}, {16, 1, 1},
	{20, 1, 1},
	{1, 2, .5}, {1, 3, .5}, {2, 2, .5}, {3, 2, .5}, {3, 3, .5}, {4, 4, .5}, {6, 2, .5}, {6, 6, .5}, {8, 8, .5},
	{10, 10, .5}, {20, 20, .5}, {30, 30, .5},
	{1, 0, .5}, {2, 0, .5}, {3, 0, .5}, {4, 0, .5}, {6, 0, .5}, {12, 0, .5}, {24, 0, .5}, {40, 0, .5},
}

// densePairs are those of movement at 60 Hz, of which every third state is sent, or each.
var densePairs = []pair{
	{1, 1, .5}, {2, 1, .5}, {2, 2, .5}, {3, 3, 1}, {4, 1, .5}, {5, 3, .5}, {6, 3, 1}, {7, 3, .5}, {8, 3, .5}, {9, 3, 1},
	{12, 3, .5}, {18, 3, .5}, {30, 3, .5}, {1, 0, .5}, {2, 0, .5}, {4, 0, .5}, {9, 0, .5}, {18, 0, .5}, {36, 0, .5},
}

const (
	step  = 50 * time.Millisecond
	dense = time.Second / 60
)

// Each calls f for every changed record of a track: the record, and what it differs from.
func each[T int32 | int64](rows [][]T, age, gap int, f func(cur []T, base *codec.Base[T])) {
	for i := age + gap; i < len(rows); i++ {
		b := codec.Base[T]{Vals: rows[i-age], Age: clock.Tick(age), Gap: clock.Tick(gap)}
		if gap > 0 {
			b.Prior = rows[i-age-gap]
		}
		if !slices.Equal(rows[i], b.Vals) {
			f(rows[i], &b)
		}
	}
}

// note adds what a record shows.
func (t *trainer) note(e *codec.Expectation, weight float64, difference func(eighths int64) int64) {
	if t.final {
		c := t.context[e.Model][e.Context]
		s, _ := wire.Bucket(difference(int64(t.chosen[e.Model][e.Context])) >> e.Raw)
		t.octaves[e.Model][e.Octave][c][s] += weight
		return
	}
	for d := range int64(dampings) {
		s, n := wire.Bucket(difference(d) >> e.Raw)
		t.damp[e.Model][e.Context][d][s] += weight
		t.more[e.Model][e.Context][d] += weight * float64(n)
	}
}

// walk notes a movement in one precision. every thins it out.
func (t *trainer) walk(
	m *movement.Movement, p movement.Precision, rate int, ps []pair, weight float64, own bool,
) error {
	k, err := movement.Kind(m.Sort, p, rate)
	if err != nil {
		return err
	}
	coder := codec.For(k)
	weight *= 1e5 / float64(m.Samples()+1)
	for _, track := range m.Tracks {
		sim, obs := movement.Values(k, track)
		for _, p := range ps {
			w := weight * p.weight
			if own {
				each(sim, p.age, p.gap, func(cur []int64, base *codec.Base[int64]) {
					codec.Expect(coder, schema.OwnerGroup, cur, base, func(e *codec.Expectation, _ int, v int64) {
						if e.Model == codec.OwnPlace || e.Model == codec.OwnSpeed {
							t.note(e, w, func(d int64) int64 { return codec.Difference(e, v, d) })
						}
					})
				})
				continue
			}
			each(obs, p.age, p.gap, func(cur []int32, base *codec.Base[int32]) {
				codec.Expect(coder, 0, cur, base, func(e *codec.Expectation, _ int, v int32) {
					t.note(e, w, func(d int64) int64 { return codec.Difference(e, v, d) })
				})
			})
		}
	}
	return nil
}

// octaves are the precisions that the second walk visits, from the finest.
var octaves = []movement.Precision{
	{Pos: "0.6mm", Vel: "0.6mm/s", Angle: "12bit"},
	{Pos: "1.2mm", Vel: "1.2mm/s", Angle: "11bit"},
	{Pos: "2.5mm", Vel: "2.5mm/s", Angle: "10bit"},
	{Pos: "5mm", Vel: "5mm/s", Angle: "9bit"},
	{Pos: "1cm", Vel: "1cm/s", Angle: "8bit", Float: "0.01"},
	{Pos: "2cm", Vel: "2cm/s", Angle: "7bit"},
	{Pos: "4cm", Vel: "4cm/s", Angle: "6bit"},
	{Pos: "8cm", Vel: "8cm/s", Angle: "5bit"},
	{Pos: "16cm", Vel: "16cm/s", Angle: "4bit"},
	{Pos: "32cm", Vel: "32cm/s"},
	{Pos: "64cm", Vel: "64cm/s"},
	{Pos: "128cm", Vel: "128cm/s"},
	{Pos: "256cm", Vel: "256cm/s"},
}

const ownOctave = 4 // index of the models' own precision

// Tables trains on recordings, and on generated movement where there are none: what owners receive,
// and, with little weight, everything.
func Tables(recs []*movement.Recording, about string) (string, error) {
	t := &trainer{}
	for m := range codec.Models {
		t.damp[m] = make([][dampings]histogram, codec.Model(m).Contexts())
		t.more[m] = make([][dampings]float64, codec.Model(m).Contexts())
	}
	type source struct {
		m      *movement.Movement
		rate   int
		pairs  []pair
		weight float64
	}
	var sources []source
	for _, r := range recs {
		m := r.At(step)
		sources = append(sources, source{m, 20, pairs, 1})
		if r.Sort != movement.Walkers {
			d := r.At(dense)
			for i, track := range d.Tracks { // it is as much as is needed
				d.Tracks[i] = track[:min(len(track), 3000)]
			}
			sources = append(sources, source{d, 60, densePairs, 0.3})
		}
	}
	var own []source
	for s := range movement.Sort(movement.Sorts) {
		sources = append(sources, source{movement.Generate(s, 4, 60*time.Second, step, 60, 1), 20, pairs, 0.02})
		if s != movement.Walkers {
			own = append(own, source{movement.Generate(s, 6, 60*time.Second, dense, 60, 1), 60, densePairs, 1})
		}
	}
	walkOwn := func() error {
		for _, s := range own {
			s.m.Sort = movement.Cars // shooters, too, have a velocity to their owners
			p := movement.Precision{Pos: "1/256mm", Vel: fmt.Sprintf("%d/256mm/s", s.rate), Angle: "16bit"}
			if err := t.walk(s.m, p, s.rate, s.pairs, s.weight, true); err != nil {
				return err
			}
		}
		return nil
	}
	for _, s := range sources {
		if err := t.walk(s.m, octaves[ownOctave], s.rate, s.pairs, s.weight, false); err != nil {
			return "", err
		}
	}
	if err := walkOwn(); err != nil {
		return "", err
	}
	t.choose()
	t.final = true
	for _, s := range sources {
		if s.rate != 20 {
			continue
		}
		for o, p := range octaves {
			ps := s.pairs
			if o != ownOctave { // a third of them shows as much
				ps = []pair{s.pairs[0], s.pairs[2], s.pairs[5], s.pairs[10], s.pairs[15], s.pairs[21]}
			}
			if err := t.walk(s.m, p, s.rate, ps, s.weight, false); err != nil {
				return "", err
			}
		}
	}
	if err := walkOwn(); err != nil {
		return "", err
	}
	return t.text(about), nil
}

// otherShare is the probability that is kept for symbol Other. Every code pays for it, and only a
// record's first may use it.
const otherShare = 1.0 / 256

// smooth returns probabilities: of the histogram, with a little of everywhere's, and something for
// each symbol.
func smooth(h, around *histogram, pull float64) (p histogram) {
	n, m := h.total(), around.total()
	left := 1 - otherShare
	for s := range p {
		far := math.Exp2(-float64(s)/10) * 1e-3 // what nobody has met
		v := h[s] + far*pull
		if m > 0 {
			v += around[s] / m * pull
		}
		p[s] = v / (n + pull*1.02)
	}
	sum := p.total()
	for s := range p {
		p[s] *= left / sum
	}
	p[wire.Other] = otherShare
	return p
}

// codesOf is how many codes a model has.
var codesOf = [codec.Models]int{
	codec.PlaceXY: 32, codec.PlaceZ: 32, codec.PlaceXYDriven: 20, codec.PlaceZDriven: 24,
	codec.SpeedXY: 32, codec.SpeedZ: 28,
	codec.Angle: 34, codec.Scalar: 1, codec.OwnPlace: 16, codec.OwnSpeed: 16, // no recording has a figure
}

// choose settles the damping and the code of each context.
func (t *trainer) choose() {
	for m := range codec.Models {
		n := codec.Model(m).Contexts()
		row := n / codec.Spans // contexts of one span
		items := make([]histogram, n)
		t.chosen[m] = make([]uint8, n)
		var spans [codec.Spans][dampings]histogram
		var moreSpans [codec.Spans][dampings]float64
		for c := range n {
			for d := range dampings {
				spans[c/row][d].add(&t.damp[m][c][d], 1)
				moreSpans[c/row][d] += t.more[m][c][d]
			}
		}
		for c := range n {
			near := c / row // the nearest span that has data
			for off := 0; off < codec.Spans; off++ {
				if s := c/row - off; s >= 0 && spans[s][0].total() > 0 {
					near = s
					break
				}
				if s := c/row + off; s < codec.Spans && spans[s][0].total() > 0 {
					near = s
					break
				}
			}
			best, least := 0, math.Inf(1)
			for d := range dampings {
				h, more := t.damp[m][c][d], t.more[m][c][d]
				if w := spans[near][d].total(); w > 0 {
					h.add(&spans[near][d], min(prior/w, 1))
					more += moreSpans[near][d] * min(prior/w, 1)
				}
				p := smooth(&h, &h, 1)
				cost := more
				for s, v := range h {
					cost -= v * math.Log2(p[s])
				}
				if cost < least {
					best, least, items[c] = d, cost, h
				}
			}
			t.chosen[m][c] = uint8(best)
		}
		t.codes[m], t.context[m] = cluster(items, codesOf[m])
		for o := range t.octaves[m] {
			t.octaves[m][o] = make([]histogram, len(t.codes[m]))
		}
	}
}

// prior is the weight of a span's histogram in each of its contexts.
const prior = 12

// cluster groups histograms into at most k, so that coding each by its group's code costs least.
func cluster(items []histogram, k int) (groups []histogram, of []uint8) {
	type mean struct {
		at int
		v  float64
	}
	var order []mean
	all := histogram{}
	weight := 0.0
	for i := range items {
		n := items[i].total()
		v := 0.0
		for s, c := range items[i] {
			v += float64(s) * c
		}
		order = append(order, mean{i, v / max(n, 1e-9)})
		all.add(&items[i], 1)
		weight += math.Sqrt(n)
	}
	slices.SortStableFunc(order, func(a, b mean) int {
		switch {
		case a.v < b.v:
			return -1
		case a.v > b.v:
			return 1
		}
		return a.at - b.at
	})
	of = make([]uint8, len(items))
	sum := 0.0
	for _, o := range order { // equal shares of the order to begin with
		of[o.at] = uint8(min(int(sum/weight*float64(k)), k-1))
		sum += math.Sqrt(items[o.at].total())
	}
	for range 40 {
		groups = make([]histogram, k)
		for i := range items {
			groups[of[i]].add(&items[i], 1)
		}
		var costs [64]histogram
		for g := range groups {
			p := smooth(&groups[g], &all, 1)
			for s := range p {
				costs[g][s] = -math.Log2(p[s])
			}
		}
		moved := false
		for i := range items {
			best, least := of[i], math.Inf(1)
			for g := range groups {
				cost := 0.0
				for s, v := range items[i] {
					if v > 0 {
						cost += v * costs[g][s]
					}
				}
				if cost < least-1e-9 {
					best, least = uint8(g), cost
				}
			}
			moved = moved || of[i] != best
			of[i] = best
		}
		if !moved {
			break
		}
	}
	groups = make([]histogram, k)
	for i := range items {
		groups[of[i]].add(&items[i], 1)
	}
	return groups, of
}

// lengths returns the lengths of a prefix code that is short for h.
func lengths(p *histogram) []uint8 {
	for floor := 1.0 / (1 << wire.MaxCode); ; floor *= 1.5 {
		type node struct {
			p           float64
			left, right int
		}
		var nodes []node
		var live []int
		for _, v := range p {
			live = append(live, len(nodes))
			nodes = append(nodes, node{max(v, floor), -1, -1})
		}
		for len(live) > 1 {
			slices.SortStableFunc(live, func(a, b int) int {
				switch {
				case nodes[a].p < nodes[b].p:
					return -1
				case nodes[a].p > nodes[b].p:
					return 1
				}
				return a - b
			})
			nodes = append(nodes, node{nodes[live[0]].p + nodes[live[1]].p, live[0], live[1]})
			live = append(live[2:], len(nodes)-1)
		}
		out := make([]uint8, wire.Symbols)
		longest := 0
		var down func(i, depth int)
		down = func(i, depth int) {
			if nodes[i].left < 0 {
				out[i] = uint8(depth)
				longest = max(longest, depth)
				return
			}
			down(nodes[i].left, depth+1)
			down(nodes[i].right, depth+1)
		}
		down(live[0], 0)
		if longest <= wire.MaxCode {
			return out
		}
	}
}

// text writes the tables down.
func (t *trainer) text(about string) string {
	var b strings.Builder
	for _, line := range strings.Split(about, "\n") {
		fmt.Fprintf(&b, "# %s\n", line)
	}
	for m := range codec.Models {
		fmt.Fprintf(&b, "\nmodel %s\n", codec.Model(m))
		n := codec.Model(m).Contexts()
		row := n / codec.Spans
		for c := 0; c < n; c += row {
			b.WriteString("damp ")
			for _, d := range t.chosen[m][c : c+row] {
				b.WriteByte('0' + d)
			}
			b.WriteByte('\n')
		}
		for c := 0; c < n; c += row {
			b.WriteString("context ")
			for _, g := range t.context[m][c : c+row] {
				b.WriteByte('A' + g)
			}
			b.WriteByte('\n')
		}
		all := histogram{}
		for g := range t.codes[m] {
			all.add(&t.codes[m][g], 1)
		}
		var lens [][]uint8
		for g := range t.codes[m] {
			p := smooth(&t.codes[m][g], &all, 1)
			l := lengths(&p)
			lens = append(lens, l)
			b.WriteString("code ")
			for _, n := range l {
				b.WriteByte("0123456789abcde"[n])
			}
			b.WriteByte('\n')
		}
		b.WriteString("zero ")
		for g := range t.codes[m] {
			h := &t.codes[m][g]
			fmt.Fprintf(&b, "%02x", min(int(h[0]/max(h.total(), 1e-9)*256), 255))
		}
		b.WriteByte('\n')
		for o := range t.octaves[m] {
			b.WriteString("octave ")
			for g := range t.codes[m] {
				h := &t.octaves[m][o][g]
				if o == ownOctave && (codec.Model(m) != codec.Scalar) || h.total() == 0 {
					b.WriteByte('A' + byte(g))
					continue
				}
				best, least := 0, math.Inf(1)
				for i, l := range lens {
					cost := 0.0
					for s, v := range h {
						cost += v * float64(l[s])
					}
					if cost < least {
						best, least = i, cost
					}
				}
				b.WriteByte('A' + byte(best))
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
