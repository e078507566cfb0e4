package interest

import (
	"math"
	"math/bits"
	"slices"
)

// Bounds of the search for the nearest.
const (
	buckets   = 256 // by which distances are selected
	tooMany   = 4   // times as many points as needed around the last reach: it says nothing any more
	slack     = 16  // 1 / slack more than the circle that the last reach suggests
	smallSort = 12  // elements up to which sorting by insertion is fastest
)

// marks of entities
const (
	unknown = iota
	known   // and not a member, so far
	member
)

// A Set works out what one client sees now from what it saw before: the nearest entities, with
// hysteresis, and without those that the rules of the game forbid. It keeps nothing of a client
// from one call to the next, so one Set serves all clients of a goroutine. The zero Set is ready.
// It takes a byte for each index up to the greatest one that it has seen, and room for the
// candidates of one call.
type Set struct {
	// Entered and Left are what the last Follow found to change: Entered by rising distance, Left
	// in the order in which they were known.
	Entered, Left []int32
	// Reach2 is the squared distance up to which everything that is allowed was a member after the
	// last Follow. Negative: all of it was, however far away.
	Reach2 int64

	marks        []uint8     // by index; all unknown between calls
	near, far    []Neighbour // near becomes the members
	inner, outer []Neighbour // those of far in the ranges where the ranks n and n+margin fall
	entered      []Neighbour
	counts       [buckets]uint32
}

// A Viewer is one client that looks: from where, and how far.
type Viewer struct {
	X, Y int32
	// Nearest is how many of those that are allowed enter. Those that are known stay until so many
	// and Margin more are nearer. Negative values count as 0.
	Nearest, Margin int
	// Last2 is Set.Reach2 of the last call for this client, which says where to search. It changes
	// what a search costs, and nothing else. 0 or less: not known.
	Last2 int64
	// Allow says whether the client may see an entity; nil: it may see all. It is called once for
	// each candidate, and again where more candidates must be found in place of those that it
	// forbids; it must give the same answer each time.
	Allow func(index int32) bool
}

// Follow ranks the points of g that the viewer may see by their distance from it, and by index
// among equals. The first v.Nearest are members; of those in knows also all that come less than
// v.Margin later. So there are at least v.Nearest members (as far as there are so many points) and
// at most v.Margin more, the nearest are always among them, and an entity that moves to and fro at
// the edge does not flicker. Indexes in knows must not be negative, and must differ.
//
// Follow returns the members with their distances, in no order. They, Entered and Left are valid
// until the next call.
func (s *Set) Follow(g *Grid, v *Viewer, knows []int32) (members []Neighbour) {
	s.marks = grow(s.marks, g.bound)
	for _, i := range knows {
		if int(i) >= len(s.marks) {
			s.marks = grow(s.marks, int(i)+1)
		}
		s.marks[i] = known
	}
	s.entered, s.Reach2 = s.entered[:0], -1
	n := max(v.Nearest, 0)
	most := n + max(v.Margin, 0)
	s.near, s.far = s.near[:0], s.far[:0]
	if most > 0 {
		edge, limit := s.search(g, v, n, max(most, n+1)) // with one that is out of reach, if there is one
		s.choose(n, most, edge, limit)
	}
	for _, e := range s.near {
		if s.marks[e.Index] == unknown {
			s.entered = append(s.entered, e)
		}
		s.marks[e.Index] = member
	}

	s.Left = s.Left[:0]
	for _, i := range knows {
		if s.marks[i] == known {
			s.Left = append(s.Left, i)
		}
		s.marks[i] = unknown
	}
	slices.SortFunc(s.entered, compareNeighbours)
	s.Entered = s.Entered[:0]
	for _, e := range s.entered {
		s.marks[e.Index] = unknown
		s.Entered = append(s.Entered, e.Index)
	}
	return s.near
}

// search finds what is allowed within a circle that holds at least so many of it, or all there is.
// Those that are sure to be among the first n go to near, others to far. The n-th is in far.
func (s *Set) search(g *Grid, v *Viewer, n, most int) (edge, limit int64) {
	px, py := int64(v.X), int64(v.Y)
	times := float64(float64(most)/float64(max(n, 1))) + 1.0/slack
	if wanted := float64(float64(v.Last2) * times); v.Last2 > 0 && wanted < 1<<62 {
		limit, edge = int64(wanted), v.Last2-v.Last2/slack
	}
	for ask := most; ; ask += ask/2 + 1 {
		b := g.around(px, py, radius(limit))
		if limit == 0 || v.Allow == nil && g.count(b) > tooMany*most {
			edge, limit = 0, g.reach(px, py, ask)
			b = g.around(px, py, radius(limit))
		}
		s.near, s.far = g.within(px, py, edge, limit, b, s.near, s.far)
		found := len(s.near) + len(s.far)
		if v.Allow != nil {
			hidden := func(e Neighbour) bool { return !v.Allow(e.Index) }
			s.near, s.far = slices.DeleteFunc(s.near, hidden), slices.DeleteFunc(s.far, hidden)
		}
		if len(s.near) < max(n, 1) && (len(s.near)+len(s.far) >= most || found == len(g.points)) {
			return edge, limit
		}
		limit = 0
	}
}

// radius returns a length beyond which nothing is within limit, squared. What is limited to
// math.MaxInt64 may be anywhere.
func radius(limit int64) int64 {
	if limit == math.MaxInt64 {
		return math.MaxUint32
	}
	return int64(math.Sqrt(float64(limit))) + 1
}

// choose moves to near those of far that are among the first n, and those among the first most that
// are known. It needs their ranks, but no order: these come from how many there are of each range
// of distances, and only within the two ranges where the ranks n and most fall they are compared.
func (s *Set) choose(n, most int, edge, limit int64) {
	n, most = n-len(s.near), most-len(s.near)
	if len(s.far) <= n {
		s.near = append(s.near, s.far...)
		return
	}
	if limit == math.MaxInt64 {
		for i := range s.far {
			limit = max(limit, s.far[i].Dist2)
		}
	}
	shift := max(0, bits.Len64(uint64(limit-edge))-bits.Len(buckets-1))
	s.counts = [buckets]uint32{}
	for i := range s.far {
		s.counts[uint64(s.far[i].Dist2-edge)>>shift&(buckets-1)]++
	}
	inner, before := s.bucket(0, 0, n)
	outer, beforeOuter := int64(buckets), 0
	if len(s.far) > most {
		outer, beforeOuter = s.bucket(inner, before, most)
	}
	k, size := len(s.near), len(s.far)
	s.near = slices.Grow(s.near, size+1)[:k+size+1]
	s.inner, s.outer = slices.Grow(s.inner[:0], size+1)[:size+1], slices.Grow(s.outer[:0], size+1)[:size+1]
	in, out := 0, 0
	for _, e := range s.far {
		b := (e.Dist2 - edge) >> shift
		s.near[k], s.inner[in], s.outer[out] = e, e, e
		beyond := less(inner, b)
		at := 1 - beyond - less(b, inner)
		k += less(b, inner) | beyond&less(b, outer)&int(s.marks[e.Index])
		in += at
		out += (1 - less(b, outer) - less(outer, b)) &^ at
	}
	s.near, s.inner, s.outer = s.near[:k], s.inner[:in], s.outer[:out]
	in = n - before
	first(s.inner, in)
	if s.Reach2 = farthest(s.inner[:in]); in > 0 {
		if as := together(s.inner[in:], s.Reach2); n+as <= most {
			in += as
		}
	}
	s.near = append(s.near, s.inner[:in]...)
	staying := s.inner[in:]
	if inner == outer {
		staying = s.whole(staying, most-before-in)
	}
	s.stay(staying)
	if outer > inner && outer < buckets {
		s.stay(s.whole(s.outer, most-beforeOuter))
	}
}

// whole returns the first n of a without those that are as far as one that is left out.
func (s *Set) whole(a []Neighbour, n int) []Neighbour {
	first(a, n)
	last := farthest(a[:n])
	if together(a[n:], last) == 0 {
		return a[:n]
	}
	return slices.DeleteFunc(a[:n], func(e Neighbour) bool { return e.Dist2 == last })
}

// farthest returns the greatest distance in a.
func farthest(a []Neighbour) (dist2 int64) {
	for _, e := range a {
		dist2 = max(dist2, e.Dist2)
	}
	return dist2
}

// together moves those at a distance to the front and returns how many there are.
func together(a []Neighbour, dist2 int64) (n int) {
	for i, e := range a {
		if e.Dist2 == dist2 {
			a[i], a[n] = a[n], e
			n++
		}
	}
	return n
}

// bucket returns which bucket holds the n-th by distance, and how many come in buckets before it.
// Counting starts at a bucket that so many come before.
func (s *Set) bucket(b int64, before, n int) (int64, int) {
	for before+int(s.counts[b]) < n {
		before += int(s.counts[b])
		b++
	}
	return b, before
}

// stay makes members of those that are known.
func (s *Set) stay(a []Neighbour) {
	for _, e := range a {
		if s.marks[e.Index] == known {
			s.near = append(s.near, e)
		}
	}
}

// grow returns marks with room for size indexes.
func grow(marks []uint8, size int) []uint8 {
	if size <= len(marks) {
		return marks
	}
	return append(make([]uint8, 0, size+size/4), marks...)[:size+size/4]
}

// first reorders a so that its n first come first.
func first(a []Neighbour, n int) {
	for len(a) > smallSort {
		// The pivot is the middle of three.
		x, y, z := a[0], a[len(a)/2], a[len(a)-1]
		if y.Before(x) {
			x, y = y, x
		}
		if z.Before(y) {
			y = z
			if y.Before(x) {
				y = x
			}
		}
		i, j := 0, len(a)-1
		for i <= j {
			for a[i].Before(y) {
				i++
			}
			for y.Before(a[j]) {
				j--
			}
			if i <= j {
				a[i], a[j] = a[j], a[i]
				i, j = i+1, j-1
			}
		}
		switch { // a[:j+1] come before a[i:], between them is at most the pivot
		case n <= j+1:
			a = a[:j+1]
		case n >= i:
			a, n = a[i:], n-i
		default:
			return
		}
	}
	for i, v := range a { // by insertion
		j := i
		for ; j > 0 && v.Before(a[j-1]); j-- {
			a[j] = a[j-1]
		}
		a[j] = v
	}
}
