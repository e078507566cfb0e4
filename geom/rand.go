package geom

import (
	"math"
	"math/bits"
)

// Rand is a stream of random numbers that is a hash: the n-th number is a function of the key and
// n. Two machines that make a Rand of the same parts draw the same numbers, whatever they drew
// before, so a prediction can be replayed. It is not for secrets: the key tells all numbers.
//
// The zero Rand is ready to use (and always draws the same). A Rand is not safe for concurrent use.
type Rand struct{ key, n uint64 }

// NewRand returns the Rand of the given parts, such as world seed, tick and entity. Their number
// and order matter; parts that differ in one bit give unrelated streams.
func NewRand(parts ...uint64) Rand {
	key := mix(uint64(len(parts)))
	for _, p := range parts {
		key = mix((key ^ mix(p+golden)) + golden)
	}
	return Rand{key: key}
}

// golden is 2^64 divided by the golden ratio, made odd: the increment of splitmix64 (Steele, Lea,
// Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
const golden = 0x9e3779b97f4a7c15

// mix is the finaliser of splitmix64 (Stafford's variant 13): a bijection of 64-bit numbers.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Uint64 returns a number with 64 random bits.
func (r *Rand) Uint64() uint64 {
	r.n++
	return mix(r.key + r.n*golden)
}

// Float64 returns a number in [0, 1), a multiple of 2^-53.
func (r *Rand) Float64() float64 { return float64(float64(r.Uint64()>>11) * 0x1p-53) }

// IntN returns a number in [0, n), each equally likely, and 0 if n is not positive.
func (r *Rand) IntN(n int) int {
	if n <= 0 {
		return 0
	}
	// Lemire, "Fast random integer generation in an interval", 2019: the upper half of a product
	// is fair except for 2^64 mod n low halves, which are drawn again.
	u := uint64(n)
	hi, lo := bits.Mul64(r.Uint64(), u)
	if lo < u {
		for unfair := -u % u; lo < unfair; {
			hi, lo = bits.Mul64(r.Uint64(), u)
		}
	}
	return int(hi)
}

// Range returns a number in [a, b), and a if b is not above a.
func (r *Rand) Range(a, b float64) float64 {
	a, b = float64(a), float64(b)
	f := r.Float64() // drawn in any case, so that the numbers after it do not depend on a and b
	if !(b > a) {
		return a
	}
	if x := a + float64((b-a)*f); x < b {
		return x
	}
	return math.Nextafter(b, a) // the sum was rounded up to b
}

// Chance reports true with probability p: never if p is 0 or less, always if it is 1 or more.
func (r *Rand) Chance(p float64) bool { return r.Float64() < p }

// Angle returns a direction in (-π, π].
func (r *Rand) Angle() Angle { return Pi - Angle(float64(r.Float64()*float64(Turn))) }

// Dir returns a unit vector in a random direction.
func (r *Rand) Dir() Vec2 { return r.Angle().Dir() }

// Disc returns a point in the disc of the given radius around the origin, each place equally
// likely.
func (r *Rand) Disc(radius float64) Vec2 {
	d := math.Sqrt(r.Float64())
	return r.Dir().Mul(float64(d * radius))
}

// Norm returns a number of the standard normal distribution: mean 0, standard deviation 1.
func (r *Rand) Norm() float64 {
	// Box and Muller, 1958. 1 - [0, 1) is never 0.
	d := math.Sqrt(float64(-2 * Log(1-r.Float64())))
	return float64(d * Cos(float64(2*math.Pi*r.Float64())))
}

// Exp returns a number of the exponential distribution with mean 1.
func (r *Rand) Exp() float64 { return -Log(1 - r.Float64()) }

// Shuffle puts n elements into random order, each order equally likely, by calls of swap.
func (r *Rand) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, r.IntN(i+1))
	}
}
