package interest

import "math/bits"

// A Set works out what one client sees now from what it saw before: the nearest entities, with
// hysteresis, and without those that the rules of the game forbid. The zero Set is empty.
//
// A Set may be kept for each client, or be shared by all clients of one goroutine whose members are
// kept elsewhere: Clear it, Add those members, then call Follow. It takes two bits for each index
// up to the greatest one that it has seen, and room for the candidates of one call.
type Set struct {
	// Entered and Left are what the last Follow did, in order of distance and in order of index.
	Entered, Left []int32
	// Reach2 is the squared distance up to which everything that is allowed was a member after the
	// last Follow. Negative: all of it was, however far away.
	Reach2 int64

	words, next []uint64 // members, and those after the present call
	near        []Neighbour
}

// Clear removes all members and keeps the memory.
func (s *Set) Clear() { clear(s.words) }

// Add makes index a member. It must not be negative.
func (s *Set) Add(index int32) {
	w := int(index) >> 6
	if w >= len(s.words) {
		s.words = grow(s.words, w+1+w/4)
	}
	s.words[w] |= 1 << (index & 63)
}

// Follow makes s follow the points of g that are nearest to x, y. It ranks by distance those that
// allow says may be seen; nil allows all. The first n enter; a member stays until margin more than
// that are nearer, or until it is not allowed or not in g any more. So s holds at least n (as far
// as there are so many) and at most n + margin, the nearest n are always in it, and an entity that
// moves to and fro at the edge does not flicker. Negative n and margin count as 0. Indexes must not
// be negative; of several points with the same index only the nearest counts.
//
// Follow returns the members with their distances, in order of distance. They are valid until the
// next call. allow is called once for each candidate, and again where more candidates must be found
// in place of those that it forbids; it must give the same answer each time.
func (s *Set) Follow(g *Grid, x, y int32, n, margin int, allow func(index int32) bool) (members []Neighbour) {
	n, margin = max(n, 0), max(margin, 0)
	for ask := n + margin; ; ask *= 2 {
		s.near = g.Nearest(x, y, ask, s.near)
		found := len(s.near)
		members, ranks := s.rank(n, margin, allow)
		if ranks < n+margin && found < g.Len() {
			continue
		}
		s.Left = s.Left[:0]
		for w, old := range s.words {
			for gone := old &^ s.next[w]; gone != 0; gone &= gone - 1 {
				s.Left = append(s.Left, int32(w<<6+bits.TrailingZeros64(gone)))
			}
		}
		s.words, s.next = s.next, s.words
		return members
	}
}

// rank makes next and Entered of the candidates near. It returns the members, a part of near, and
// how many candidates had a rank.
func (s *Set) rank(n, margin int, allow func(index int32) bool) (members []Neighbour, ranks int) {
	s.Entered, s.Reach2 = s.Entered[:0], -1
	if len(s.next) < len(s.words) {
		s.next = grow(s.next, len(s.words))
	}
	clear(s.next)
	count, edge := 0, int64(0)
	for _, v := range s.near {
		if ranks >= n+margin {
			break
		}
		if allow != nil && !allow(v.Index) {
			continue
		}
		w, bit := int(v.Index)>>6, uint64(1)<<(v.Index&63)
		if w >= len(s.words) {
			s.words = grow(s.words, w+1+w/4)
			s.next = grow(s.next, len(s.words))
		}
		if s.next[w]&bit != 0 {
			continue
		}
		member := s.words[w]&bit != 0
		if ranks < n || member {
			s.next[w] |= bit
			s.near[count] = v
			count++
			if !member {
				s.Entered = append(s.Entered, v.Index)
			}
		}
		if ranks < n {
			edge = v.Dist2
		}
		ranks++
	}
	if ranks > n {
		s.Reach2 = edge
	}
	return s.near[:count], ranks
}

func grow(words []uint64, size int) []uint64 {
	return append(make([]uint64, 0, size), words...)[:size]
}
