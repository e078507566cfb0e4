package geom

import "math"

// ln 2 in two pieces. The first has 42 bits, so that a multiple of any exponent is exact.
const (
	ln2Hi   = 0x1.62e42fefa3800p-1
	ln2Lo   = 0x1.ef35793c76730p-45
	log2e   = 0x1.71547652b82fep+0
	maxExp  = 0x1.62e42fefa39efp+9  // the largest x whose exponential is finite
	minExp  = -0x1.74910d52d3051p+9 // below, the exponential rounds to 0
	sqrtTwo = 0x1.6a09e667f3bcdp+0
)

// Exp returns e^x, right to 1 ulp (2 where the result is subnormal). It overflows to +Inf above
// 709.78 and underflows to 0 below -745.13.
func Exp(x float64) float64 { return exp(float64(x), 0) }

// exp returns the exponential of hi+lo, where |lo| <= ulp(hi)/2.
func exp(hi, lo float64) float64 {
	switch {
	case hi > maxExp:
		return math.Inf(1)
	case hi < minExp:
		return 0
	case hi != hi:
		return hi
	}
	// e^x = 2^k e^r with |r| <= ln 2 / 2
	k := math.Floor(float64(hi*log2e) + 0.5)
	r, rest := twoSum(hi-float64(k*ln2Hi), -float64(k*ln2Lo), lo)
	r, rest = twoSum(r, rest, 0) // lo is small beside hi, not always beside r
	// e^r = 1 + r + r²(1/2! + r/3! + ... + r^11/13!); the next term is 4e-18.
	p := 1 / 6227020800.0
	p = float64(p*r) + 1/479001600.0
	p = float64(p*r) + 1/39916800.0
	p = float64(p*r) + 1/3628800.0
	p = float64(p*r) + 1/362880.0
	p = float64(p*r) + 1/40320.0
	p = float64(p*r) + 1/5040.0
	p = float64(p*r) + 1/720.0
	p = float64(p*r) + 1/120.0
	p = float64(p*r) + 1/24.0
	p = float64(p*r) + 1/6.0
	p = float64(p*r) + 0.5
	y, low := twoSum(1, r, rest+float64(float64(r*r)*p))
	return scale(y+low, int(k))
}

// scale returns y·2^k for y around 1.
func scale(y float64, k int) float64 {
	switch {
	case k > 1023:
		y, k = float64(y*0x1p1023), k-1023
	case k < -1022:
		y, k = float64(y*0x1p-200), k+200
		return float64(y * math.Float64frombits(uint64(k+1023)<<52)) // the one rounding of a subnormal
	}
	return float64(y * math.Float64frombits(uint64(k+1023)<<52))
}

// Log returns the natural logarithm of x, right to 1 ulp. Log(0) is -Inf, that of a negative
// number NaN.
func Log(x float64) float64 {
	x = float64(x)
	switch {
	case x == 0:
		return math.Inf(-1)
	case x < 0:
		return math.NaN()
	case !(x <= math.MaxFloat64): // +Inf and NaN
		return x
	}
	hi, _ := logParts(x)
	return hi
}

// logParts returns the logarithm of a positive finite x as hi+lo, right to 2^-64 of it.
func logParts(x float64) (hi, lo float64) {
	k := 0
	if x < 0x1p-1022 { // subnormal
		x, k = float64(x*0x1p54), -54
	}
	b := math.Float64bits(x)
	k += int(b>>52) - 1023
	m := math.Float64frombits(b&(1<<52-1) | 1023<<52)
	if m > sqrtTwo {
		m, k = float64(m*0.5), k+1
	}
	// x = m·2^k and log m = 2 atanh s = 2s + 2s³/3 + 2s⁵/5 + ..., s = (m-1)/(m+1), |s| < 0.172.
	// The first two terms are worked out in pairs of floats, the others are below 2^-12 of them.
	f := m - 1
	den, denLo := twoSum(m, 1, 0)
	s := f / den
	ph, pl := twoProd(s, den)
	sLo := (((f - ph) - pl) - float64(s*denLo)) / den
	z, zLo := twoProd(s, s)
	zLo += float64(2 * float64(s*sLo))

	const twoThirds, twoThirdsLo = 2.0 / 3, 0x1.5555555555555p-55
	c, cLo := twoProd(s, z)
	cLo += float64(s*zLo) + float64(sLo*z)
	t, tLo := twoProd(c, twoThirds)
	tLo += float64(c*twoThirdsLo) + float64(cLo*twoThirds)

	p := 2 / 23.0
	p = float64(p*z) + 2/21.0
	p = float64(p*z) + 2/19.0
	p = float64(p*z) + 2/17.0
	p = float64(p*z) + 2/15.0
	p = float64(p*z) + 2/13.0
	p = float64(p*z) + 2/11.0
	p = float64(p*z) + 2/9.0
	p = float64(p*z) + 2/7.0
	p = float64(p*z) + 2/5.0
	tail := float64(float64(c*z) * p)

	hi, lo = twoSum(float64(float64(k)*ln2Hi), float64(2*s), 0)
	hi, t = twoSum(hi, t, 0)
	return twoSum(hi, (lo+t)+((float64(2*sLo)+tLo)+(tail+float64(float64(k)*ln2Lo))), 0)
}

// Pow returns x^y, right to 1 ulp (2 where the result is subnormal). Special cases are as in
// math.Pow: x^0 and 1^y are 1, a negative x with a fractional y gives NaN.
func Pow(x, y float64) float64 {
	x, y = float64(x), float64(y)
	switch {
	case y == 0 || x == 1:
		return 1
	case x != x || y != y:
		return math.NaN()
	}
	odd := oddInteger(y)
	switch a := math.Abs(x); {
	case a == 1 && math.IsInf(y, 0):
		return 1
	case a == 0 || math.IsInf(a, 1) || math.IsInf(y, 0):
		v := 0.0
		if (a < 1) == (y < 0) {
			v = math.Inf(1)
		}
		if odd && math.Signbit(x) {
			v = -v
		}
		return v
	case x < 0 && math.Floor(y) != y:
		return math.NaN()
	}
	hi, lo := logParts(math.Abs(x))
	v := 0.0
	switch t := float64(y * hi); {
	case t > 2*maxExp:
		v = math.Inf(1)
	case t > 2*minExp:
		th, tl := twoProd(y, hi)
		th, tl = twoSum(th, tl+float64(y*lo), 0)
		v = exp(th, tl)
	}
	if odd && x < 0 {
		v = -v
	}
	return v
}

// oddInteger reports whether y is an odd integer.
func oddInteger(y float64) bool {
	return math.Abs(y) < 1<<53 && math.Floor(y) == y && int64(y)&1 == 1
}
