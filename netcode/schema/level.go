package schema

import (
	"math"
	"slices"
)

// At returns the kind by which records of a level are coded: observers' integers count its own,
// coarser steps.
func (k *Kind) At(level int) *Kind {
	if level == 0 || len(k.coarse) == 0 {
		return k
	}
	return k.coarse[min(level, len(k.coarse))-1]
}

// coarser derives the kinds of all levels but the first. Whatever Kind makes of the finished
// properties it makes of theirs, too.
func (k *Kind) coarser() (kinds []*Kind) {
	for level := 1; level <= len(k.Levels); level++ {
		c := *k
		c.Props = slices.Clone(k.Props)
		for i := range c.Props {
			q := &c.Props[i]
			s := q.steps(level)
			q.Obs /= float64(int64(1) << s)
			q.Turn >>= s
			code := &q.others.code
			switch code.alone = max(code.alone-int(s), min(code.alone, 2)); {
			case s == 0:
			case q.Turn > 0:
				code.bound(0, q.Turn-1)
				code.turn = q.Turn
			case q.ranged:
				code.bound(0, (code.most-code.least)>>s)
			}
		}
		c.reduced = nil
		for g := range k.Groups {
			c.reduced = append(c.reduced, k.reductions(g, level))
		}
		kinds = append(kinds, &c)
	}
	return kinds
}

// Where a viewer sees no difference: from gradeFrom[n] metres on, places and velocities of a kind
// may come in steps of a 500th of that (a second), so that they are wrong by a 1000th of the
// distance at most: a pixel or so of a screen. Directions may come in a number of steps a turn that
// is finer than that, as something long or a beam may stand out along them.
var (
	gradeFrom  = [MaxLevels - 1]float64{20, 80, 320}
	gradeTurns = [MaxLevels - 1]int64{1 << 12, 1 << 10, 1 << 8}
)

const gradeSteps = 500 // of a place, in the distance

// Grade gives the kind levels by distance, unless its tags name some: its place, its velocities and
// its directions come in coarser steps where nobody sees the difference. Where a place stands by
// itself it is coded beside the viewer, in as many bits as that takes. A kind without a place has
// none, nor has one with dead reckoning, whose bound is the precision. Properties with the word
// levels=none stay as they are. It is called before the kind is used, for entities.
func (k *Kind) Grade() {
	if k.Place < 0 || len(k.Levels) > 0 {
		return
	}
	for i := range k.Props {
		if k.Props[i].Draw == Reckon {
			return
		}
	}
	var shifts [MaxProps]uint8
	for n, from := range gradeFrom {
		coarser := false
		for i := range k.Props {
			s := k.Props[i].grade(i == k.Place, n, from)
			coarser = coarser || s > shifts[i]
			shifts[i] = s
		}
		if !coarser {
			continue
		}
		k.Levels = append(k.Levels, from)
		for i := range k.Props {
			k.Props[i].Shift[len(k.Levels)] = shifts[i]
		}
	}
	if p := &k.Props[k.Place]; p.Near == 0 && !p.tag.even && k.Parent < 0 {
		p.Near = p.reach()
		k.Near = true
	}
	k.coarse = k.coarser()
}

// reach returns how many bits a coordinate takes beside a viewer at the greatest distance of each
// level that Grade gives a place.
func (p *Prop) reach() (bits uint8) {
	for n := range MaxLevels {
		step := 1 / p.Obs
		if n > 0 {
			step = float64(float64(int64(1)<<p.grade(true, n-1, gradeFrom[n-1])) / p.Obs)
		}
		upTo := float64(4 * gradeFrom[len(gradeFrom)-1])
		if n < len(gradeFrom) {
			upTo = gradeFrom[n]
		}
		for float64(step*float64(int64(1)<<bits)) < float64(2*upTo) && bits < NearBits {
			bits++
		}
	}
	return bits
}

// grade returns by how many bits the property may be coarser at the n-th of the distances.
func (p *Prop) grade(isPlace bool, n int, from float64) (shift uint8) {
	if !p.observed() || p.tag.even {
		return 0
	}
	switch class := classes[p.Class]; {
	case isPlace || p.Class == Vel:
		for shift < 16 && float64(float64(int64(2)<<shift)/p.Obs) <= float64(from/gradeSteps) {
			shift++
		}
	case class.facts.turns && p.Turn > 0:
		for turn := p.Turn; turn&1 == 0 && turn/2 >= gradeTurns[n]; turn /= 2 {
			shift++
		}
	}
	return shift
}

// steps returns by how many bits the integers of a level are shorter on the wire. Turns that are no
// whole number of coarse steps, and rotations, which have more in them than their components, are
// as long as ever.
func (p *Prop) steps(level int) uint8 {
	s := p.Shift[level]
	if p.Rotates() || p.Turn&(1<<s-1) != 0 {
		return 0
	}
	return s
}

// Graded reports whether some property of group g is coarser at some level.
func (k *Kind) Graded(g int) bool {
	if g == OwnerGroup {
		return false
	}
	for _, i := range k.Groups[g].Props {
		if k.Props[i].Shift[len(k.Levels)] != 0 {
			return true
		}
	}
	return false
}

// Limited reports whether group g is for a team, or for those who are near. Its properties are zero
// for all others.
func (k *Kind) Limited(g int) bool {
	return g != OwnerGroup && (k.Groups[g].Audience == Team || k.Groups[g].Far > 0)
}

// Later reports whether group g may come after the first sight of an entity, or not at all: it is
// limited, or does not move in a kind that does. Its properties are zero until it comes.
func (k *Kind) Later(g int) bool {
	return g != OwnerGroup && (k.Limited(g) || !k.Groups[g].Moving && k.Moves())
}

// Moves reports whether some group of the kind is drawn between records.
func (k *Kind) Moves() bool {
	return slices.ContainsFunc(k.Groups, func(g Group) bool { return g.Moving })
}

// Exact reports whether players may receive entities of the kind, other than their avatars, at
// simulation precision: it is Predicted or Near, and everyone receives all that anyone receives of
// it. Exact records are not cut to what a player may know.
func (k *Kind) Exact() bool {
	if k.Ahead == Playout {
		return false
	}
	for i := range k.Props {
		if p := &k.Props[i]; p.Audience == Owner || p.Audience == Team || p.Far > 0 {
			return false
		}
	}
	return true
}

// Coarsen rounds the observer integers of group g to the precision of a level.
func Coarsen[T int32 | int64](k *Kind, g, level int, vals []T) {
	if level == 0 {
		return
	}
	for _, i := range k.Groups[g].Props {
		q := &k.Props[i]
		if q.Shift[level] == 0 {
			continue
		}
		at := q.ObsAt - k.Groups[g].At
		for c := at; c < at+q.Comps; c++ {
			vals[c] = T(q.Coarsen(int32(vals[c]), level))
		}
	}
}

// Differ returns the set of the properties of group g that are not the same in a and b.
func Differ[T int32 | int64](k *Kind, g int, a, b []T) (set uint64) {
	for _, i := range k.Members(g) {
		q := &k.Props[i]
		at := k.Offset(g, i)
		for c := at; c < at+q.Comps; c++ {
			if a[c] != b[c] {
				set |= 1 << i
				break
			}
		}
	}
	return set
}

// Shifted returns the set of the properties of group g that are not as coarse at two levels.
func (k *Kind) Shifted(g, a, b int) (set uint64) {
	for _, i := range k.Groups[g].Props {
		if q := &k.Props[i]; q.Shift[a] != q.Shift[b] {
			set |= 1 << i
		}
	}
	return set
}

// A reduction is how the integers of one property become those of a level.
type reduction struct {
	at, n int // which of the group's
	prop  *Prop
	shift uint8 // of the level; 0: the property is as fine as ever
	steps uint8
	plain bool // nothing but shift limits it
	least int64
}

// reductions lists how the properties of group g become those of a level.
func (k *Kind) reductions(g, level int) (all []reduction) {
	for _, i := range k.Groups[g].Props {
		q := &k.Props[i]
		if q.Shift[level] != 0 {
			all = append(all, reduction{q.ObsAt - k.Groups[g].At, q.Comps, q, q.Shift[level], q.steps(level),
				!q.ranged && q.others.grid.base == 0 && q.Turn == 0, q.least()})
		}
	}
	return all
}

// Reduce writes src, the observer integers of group g as a client has them at level was, into dst,
// which has room for them: rounded to the precision of a level, and divided by its steps as Shrink
// does it. It returns the part of dst that it wrote.
func (k *Kind) Reduce(g, was, level int, dst, src []int32) []int32 {
	dst = dst[:copy(dst, src)]
	if was != 0 && was != level {
		Coarsen(k, g, was, dst)
	}
	if level == 0 {
		return dst
	}
	for i := range k.coarse[level-1].reduced[g] {
		r := &k.coarse[level-1].reduced[g][i]
		vals := dst[r.at : r.at+r.n]
		for c, v := range vals {
			if w := int64(v) + 1<<(r.shift-1); r.plain && w <= math.MaxInt32>>r.shift<<r.shift {
				v = int32(w >> r.shift << r.shift)
			} else {
				v = r.prop.Coarsen(v, level)
			}
			vals[c] = int32((int64(v) - r.least) >> r.steps)
		}
	}
	return dst
}

// Shrink turns observer integers of group g, rounded to a level, into steps of At(level).
func Shrink[T int32 | int64](k *Kind, g, level int, vals []T) {
	for _, i := range k.Groups[g].Props {
		q := &k.Props[i]
		s := q.steps(level)
		if s == 0 {
			continue
		}
		least := q.least()
		at := q.ObsAt - k.Groups[g].At
		for c := at; c < at+q.Comps; c++ {
			vals[c] = T((int64(vals[c]) - least) >> s)
		}
	}
}

// Grow undoes Shrink.
func Grow[T int32 | int64](k *Kind, g, level int, vals []T) {
	for _, i := range k.Groups[g].Props {
		q := &k.Props[i]
		s := q.steps(level)
		if s == 0 {
			continue
		}
		least := q.least()
		at := q.ObsAt - k.Groups[g].At
		for c := at; c < at+q.Comps; c++ {
			vals[c] = T(int32(int64(vals[c])<<s + least))
		}
	}
}

// least is the observer integer that coarser steps are counted from.
func (p *Prop) least() int64 {
	if p.ranged {
		return p.others.code.least
	}
	return 0
}
