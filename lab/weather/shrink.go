package weather

import (
	"slices"
	"strings"
)

// maxTries bounds how many plans a shrinking runs.
const maxTries = 400

// Shrink returns the smallest plan found that fails in the same way as p, which failed with err:
// without faults, with shorter ones, fewer players and an earlier end.
func Shrink(p Plan, err error) Plan {
	tries := 0
	return shrink(p, func(q Plan) bool {
		if tries++; tries > maxTries {
			return false
		}
		r := Run(q)
		return r.Failed != nil && sort(r.Failed) == sort(err)
	})
}

// shrink makes p smaller as long as it fails.
func shrink(p Plan, fails func(q Plan) bool) Plan {
	for again := true; again; {
		again = false
		for _, q := range smaller(p) {
			if q.check() == nil && fails(q) {
				p, again = q, true
				break
			}
		}
	}
	return p
}

// sort returns which check failed.
func sort(err error) string {
	text := err.Error()
	if _, after, ok := strings.Cut(text, " s: "); ok && strings.HasPrefix(text, "at ") {
		text = after
	}
	name, _, _ := strings.Cut(text, ":")
	return name
}

// smaller returns plans that are a step smaller than p, the smallest first.
func smaller(p Plan) (list []Plan) {
	with := func(change func(q *Plan)) {
		q := p
		q.Faults, q.Paths = slices.Clone(p.Faults), slices.Clone(p.Paths)
		change(&q)
		list = append(list, q)
	}
	if n := len(p.Faults); n > 3 {
		with(func(q *Plan) { q.Faults = q.Faults[:n/2] })
		with(func(q *Plan) { q.Faults = q.Faults[n/2:] })
	}
	for i := range p.Faults {
		with(func(q *Plan) { q.Faults = slices.Delete(q.Faults, i, i+1) })
	}
	for i := range p.Paths {
		if len(p.Paths) > 1 {
			with(func(q *Plan) { q.drop(i) })
		}
	}
	last := warm
	for _, f := range p.Faults {
		last = max(last, f.until())
	}
	if last < p.End {
		with(func(q *Plan) { q.End = last })
	}
	for _, n := range []int{0, p.Things / 2} {
		if p.Things > 0 {
			with(func(q *Plan) { q.Things = n })
		}
	}
	for i, f := range p.Faults {
		if f.For >= 40 {
			with(func(q *Plan) { q.Faults[i].For = f.For / 20 * 10 })
			with(func(q *Plan) { q.Faults[i].For = f.For * 3 / 40 * 10 })
		}
		if f.Who < 0 && !kinds[f.Kind].server {
			for who := range p.Paths {
				with(func(q *Plan) { q.Faults[i].Who = who })
			}
		}
	}
	for i, path := range p.Paths {
		if path != "lan" {
			with(func(q *Plan) { q.Paths[i] = "lan" })
		}
	}
	return list
}

// drop takes player i and its faults out of the plan.
func (p *Plan) drop(i int) {
	p.Paths = slices.Delete(p.Paths, i, i+1)
	p.Faults = slices.DeleteFunc(p.Faults, func(f fault) bool { return f.Who == i })
	for j := range p.Faults {
		if p.Faults[j].Who > i {
			p.Faults[j].Who--
		}
	}
}
