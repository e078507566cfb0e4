package interest

import (
	"math"
	"math/bits"
	"slices"
)

// Radian is the score of a visible error of one radian: scores are angles, as the viewer sees them.
const Radian = 1 << 20

// A Scale turns the error of what a client holds of an entity into a score, its priority. With err
// and Creep in units of position and age in ticks,
//
//	score = (err + Creep*age) / max(distance, Near), in 1/Radian
//
// which is how far from its true place the entity seems to be, as an angle. Serving the greatest
// score first makes the rate of records fall with distance (twice as far, half as often) and grow
// with speed, and keeps the greatest visible error as small as the budget allows.
//
// err is how far the entity moved since the state that the client is known or expected to
// hold: the distance between the two, or the length of the path for what moves in circles. For an
// entity that the client does not know yet it is what not being shown is worth, such as 5 m.
// age is the time since the client was last up to date; it stands for what err cannot express,
// and it sees to it that nothing out of date waits for ever. Both are 0 for an entity of
// which the client holds the newest state: it scores 0, and Select leaves it out.
type Scale struct {
	// Near is the distance below which things look no larger, in units of position. Zero and
	// negative values mean 1.
	Near int32
	// Creep is the error assumed for each tick of age, in units of position. It bounds the wait:
	// where the budget lets errors grow to an angle a before they are served, a change without
	// movement is served after a * distance / Creep ticks.
	Creep uint32
}

// weightShift is the exponent of weights beyond that of Radian: weight = 1<<32 / distance.
const weightShift = 12

// Weight returns the weight of an entity at the squared distance dist2, to be kept as long as the
// distance is good enough: 1<<32 / distance to within 0.4 % and 1, never growing with distance. It is
// what Score multiplies with, so that scoring takes no division.
func (s Scale) Weight(dist2 int64) uint32 {
	near := int64(max(s.Near, 1))
	d := uint64(max(dist2, near*near))
	// d = m * 4^e with m in [rootFirst, 4*rootFirst): 1/sqrt(d) = 1/sqrt(m) / 2^e.
	e := (bits.Len64(d) - rootBits + 1) &^ 1
	if e >= 0 {
		return inverseRoots[d>>e-rootFirst] >> (e / 2)
	}
	w := uint64(inverseRoots[d<<-e-rootFirst]) << (-e / 2)
	return uint32(min(w, math.MaxUint32))
}

// Score returns the score of an entity from the error of what its client holds, the age of that
// in ticks, and the entity's weight. It is at least 1 unless err and Creep*age are 0.
func (s Scale) Score(err, age, weight uint32) uint32 {
	e := min(uint64(err)+uint64(age)*uint64(s.Creep), math.MaxUint32)
	score := e * uint64(weight) >> weightShift
	if score == 0 && e > 0 {
		return 1
	}
	return uint32(min(score, math.MaxUint32))
}

// Priority returns Score(err, age, Weight(dist2)).
func (s Scale) Priority(err, age uint32, dist2 int64) uint32 {
	return s.Score(err, age, s.Weight(dist2))
}

// PerBits scales the score of a record of size bits to that of the usual record of usual bits, so that a
// long record (a first sight with a name) must be worth what it displaces. It keeps a score
// above 0 above 0. Sizes below 1 count as 1.
func PerBits(score uint32, size, usual int) uint32 {
	v := uint64(score) * uint64(max(usual, 1)) / uint64(max(size, 1))
	if v == 0 && score > 0 {
		return 1
	}
	return uint32(min(v, math.MaxUint32))
}

// inverseRoots[i] is 1<<32 / sqrt(rootFirst+i), rounded down, for one value of
// each pair of octaves with rootBits-1 to rootBits significant bits.
const (
	rootBits  = 9
	rootFirst = 1 << (rootBits - 2) // 128
)

var inverseRoots = makeInverseRoots()

func makeInverseRoots() (table [3 * rootFirst]uint32) {
	for i := range table {
		// The greatest r with r*r*(rootFirst+i) <= 1<<64, bit by bit: r < 1<<29.
		r := uint64(0)
		for bit := uint64(1) << 28; bit > 0; bit >>= 1 {
			t := r | bit
			if hi, lo := bits.Mul64(t*t, uint64(rootFirst+i)); hi == 0 || hi == 1 && lo == 0 {
				r = t
			}
		}
		table[i] = uint32(r)
	}
	return table
}

// A Key orders candidates: greater scores first, lesser numbers first among equals. Lesser keys
// come first, so slices.Sort sorts them best first.
type Key uint64

// MakeKey returns the key of a candidate, which id tells apart from all others.
func MakeKey(score, id uint32) Key { return Key(^score)<<32 | Key(id) }

// Score returns the score of the candidate.
func (k Key) Score() uint32 { return ^uint32(k >> 32) }

// ID returns the number of the candidate.
func (k Key) ID() uint32 { return uint32(k) }

// Scores fall into buckets by their highest five bits: 16 to an octave, and one for each score
// below 16.
const scoreBuckets = 29 * 16

func scoreBucket(score uint32) int {
	e := uint(bits.Len32(score|16)) - 5
	return int(e<<4 + uint(score>>(e&31)))
}

// leastScore returns the least score in a bucket.
func leastScore(bucket int) uint32 {
	if bucket < 16 {
		return uint32(bucket)
	}
	e := bucket>>4 - 1
	return uint32(bucket-e<<4) << e
}

// Select returns the k best of keys, best first, without those of score 0: what sorting all of
// them would give. It overwrites dst, grows it as needed, and returns the part that holds the answer; dst
// must not overlap keys. It takes time linear in the number of keys unless many scores are within
// 6 % of the last one selected.
func Select(keys []Key, k int, dst []Key) []Key {
	dst = dst[:0]
	if k <= 0 {
		return dst
	}
	var at [512]uint32 // scoreBuckets, and a size that needs no bounds checks
	top := Key(math.MaxUint64)
	for _, key := range keys {
		at[scoreBucket(key.Score())&511]++
		top = min(top, key)
	}
	// Turn counts into places, from the best bucket down to the one where k is reached.
	total, most := uint32(0), uint32(0)
	first := scoreBucket(top.Score())
	b := first
	for ; b > 0; b-- {
		n := at[b]
		at[b] = total
		most = max(most, n)
		if total += n; uint64(total) >= uint64(k) {
			break
		}
	}
	if total == 0 {
		return dst
	}
	last := MakeKey(leastScore(max(b, 1)), math.MaxUint32)
	// Pick them without a branch, because which they are is noise, then put them into their places.
	dst = slices.Grow(dst, 2*int(total)+1)[:2*int(total)+1]
	picked := dst[total:]
	for _, key := range picked[:pick(keys, last, picked)] {
		place := &at[scoreBucket(key.Score())&511]
		dst[*place] = key
		*place++
	}
	dst = dst[:total]
	// Sort within buckets: large ones by themselves, then all of it by insertion.
	if most > smallSort {
		begin := uint32(0)
		for b := first; begin < total; b-- {
			end := at[b]
			if end-begin > smallSort {
				slices.Sort(dst[begin:end])
			}
			begin = end
		}
	}
	for i, v := range dst {
		j := i
		for ; j > 0 && v < dst[j-1]; j-- {
			dst[j] = dst[j-1]
		}
		dst[j] = v
	}
	return dst[:min(k, len(dst))]
}

// pick copies the keys up to last to dst, which has room for one more, and returns how many there are.
//
//go:noinline
func pick(keys []Key, last Key, dst []Key) int {
	m := 0
	for _, key := range keys {
		dst[m] = key
		if key <= last {
			m++
		}
	}
	return m
}
