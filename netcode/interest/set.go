package interest

import "math/bits"

// A Set is what one client sees: a set of indexes, such as entity numbers. The zero Set is empty.
// It takes one bit for each index up to the greatest one that it has held.
type Set struct {
	words []uint64
	count int
}

// Changes is what an Update did, and its scratch. It may be reused for Sets of many clients, one
// Changes to each goroutine; the zero Changes is ready to use.
type Changes struct {
	Entered []int32 // in order of distance
	Left    []int32 // in order of index
	seen    []uint64
}

// Update makes s follow near, the candidates in order of distance as Grid.Nearest returns them.
// It ranks those that allow says may be seen; nil allows all. The first n enter; a member stays until
// margin more than that are nearer, or until it is not allowed or not a candidate any more. So s
// holds at least n (as far as there are candidates) and at most n + margin, the nearest n are always
// in it, and an entity that moves to and fro at the edge does not flicker. Negative n and margin
// count as 0.
//
// A caller whose rules forbid many candidates asks Nearest for more of them; about n + margin must
// remain. Indexes are not negative; of several candidates with the same index only the first counts.
//
// Update writes what happened to c and returns the members with their distances, in order of
// distance: a part of near, which it overwrites.
func (s *Set) Update(near []Neighbour, n, margin int, allow func(index int32) bool, c *Changes) []Neighbour {
	c.Entered, c.Left = c.Entered[:0], c.Left[:0]
	if len(c.seen) < len(s.words) {
		c.seen = grow(c.seen, len(s.words))
	}
	clear(c.seen)
	n, margin = max(n, 0), max(margin, 0)
	rank, count := 0, 0
	for _, v := range near {
		if rank >= n+margin {
			break
		}
		if allow != nil && !allow(v.Index) {
			continue
		}
		w, bit := int(v.Index)>>6, uint64(1)<<(v.Index&63)
		if w >= len(s.words) {
			s.words = grow(s.words, w+1+w/4)
		}
		if len(c.seen) < len(s.words) {
			c.seen = grow(c.seen, len(s.words))
		}
		if c.seen[w]&bit != 0 {
			continue
		}
		member := s.words[w]&bit != 0
		if rank < n || member {
			c.seen[w] |= bit
			near[count] = v
			count++
			if !member {
				c.Entered = append(c.Entered, v.Index)
			}
		}
		rank++
	}
	for w, old := range s.words {
		for gone := old &^ c.seen[w]; gone != 0; gone &= gone - 1 {
			c.Left = append(c.Left, int32(w<<6+bits.TrailingZeros64(gone)))
		}
		s.words[w] = c.seen[w]
	}
	s.count = count
	return near[:count]
}

// Remove takes index out of s, whether or not it is a member: the entity is gone, and a new one may
// get its index. The next Update does not mention it.
func (s *Set) Remove(index int32) {
	if s.Has(index) {
		s.words[index>>6] &^= 1 << (index & 63)
		s.count--
	}
}

// Has reports whether index is a member.
func (s *Set) Has(index int32) bool {
	w := int(index) >> 6
	return w < len(s.words) && s.words[w]>>(index&63)&1 != 0
}

// Len returns the number of members.
func (s *Set) Len() int { return s.count }

// Append appends the members to dst in order of index.
func (s *Set) Append(dst []int32) []int32 {
	for w, word := range s.words {
		for ; word != 0; word &= word - 1 {
			dst = append(dst, int32(w<<6+bits.TrailingZeros64(word)))
		}
	}
	return dst
}

// Clear removes all members and keeps the memory.
func (s *Set) Clear() {
	clear(s.words)
	s.count = 0
}

func grow(words []uint64, size int) []uint64 {
	return append(make([]uint64, 0, size), words...)[:size]
}
