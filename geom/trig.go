package geom

import (
	"math"
	"math/bits"
)

// Sin returns the sine of x, right to 1 ulp for every finite x. Infinities give NaN.
func Sin(x float64) float64 {
	q, hi, lo := reduce(x)
	switch q {
	case 0:
		return sinKernel(hi, lo)
	case 1:
		return cosKernel(hi, lo)
	case 2:
		return -sinKernel(hi, lo)
	}
	return -cosKernel(hi, lo)
}

// Cos returns the cosine of x, right to 1 ulp for every finite x. Infinities give NaN.
func Cos(x float64) float64 {
	q, hi, lo := reduce(x)
	switch q {
	case 0:
		return cosKernel(hi, lo)
	case 1:
		return -sinKernel(hi, lo)
	case 2:
		return -cosKernel(hi, lo)
	}
	return sinKernel(hi, lo)
}

// SinCos returns Sin(x) and Cos(x).
func SinCos(x float64) (sin, cos float64) {
	q, hi, lo := reduce(x)
	s, c := sinKernel(hi, lo), cosKernel(hi, lo)
	switch q {
	case 0:
		return s, c
	case 1:
		return c, -s
	case 2:
		return -s, -c
	}
	return -c, s
}

// Tan returns the tangent of x, right to 3 ulp for every finite x. Infinities give NaN.
func Tan(x float64) float64 {
	q, hi, lo := reduce(x)
	s, c := sinKernel(hi, lo), cosKernel(hi, lo)
	if q&1 == 0 {
		return s / c
	}
	return -c / s
}

// sinKernel is the sine of hi+lo for |hi| <= π/4 and |lo| <= ulp(hi)/2. The coefficients are those
// of the series, 1/3!, 1/5!, ...; the first one left out, x^18/19!, is 1e-19 of the result.
func sinKernel(hi, lo float64) float64 {
	if hi == 0 {
		return hi // keeps the sign of a zero
	}
	z := float64(hi * hi)
	p := 1 / 355687428096000.0
	p = float64(p*z) - 1/1307674368000.0
	p = float64(p*z) + 1/6227020800.0
	p = float64(p*z) - 1/39916800.0
	p = float64(p*z) + 1/362880.0
	p = float64(p*z) - 1/5040.0
	p = float64(p*z) + 1/120.0
	p = float64(p*z) - 1/6.0
	return hi + (float64(float64(hi*z)*p) + (lo - float64(lo*float64(z*0.5))))
}

// cosKernel is the cosine of hi+lo under the same conditions, by 1/2!, 1/4!, ...; the first term
// left out is x^20/20!, 3e-21.
func cosKernel(hi, lo float64) float64 {
	z := float64(hi * hi)
	p := -1 / 6402373705728000.0
	p = float64(p*z) + 1/20922789888000.0
	p = float64(p*z) - 1/87178291200.0
	p = float64(p*z) + 1/479001600.0
	p = float64(p*z) - 1/3628800.0
	p = float64(p*z) + 1/40320.0
	p = float64(p*z) - 1/720.0
	p = float64(p*z) + 1/24.0
	half := float64(z * 0.5)
	w := 1 - half // what this rounding loses goes into the small terms
	return w + (((1 - w) - half) + (float64(float64(z*z)*p) - float64(hi*lo)))
}

// π/2 in pieces. The first two have 43 bits each, so that a multiple of fewer than 1024 is exact.
const (
	halfPi1 = 0x1.921fb54442c00p+0
	halfPi2 = 0x1.18469898cc000p-44
	halfPi3 = 0x1.45c06e0e68948p-86

	halfPiHi = 0x1.921fb54442d18p+0 // the nearest float64
	halfPiLo = 0x1.1a62633145c07p-54
	piHi     = 2 * halfPiHi
	piLo     = 2 * halfPiLo

	twoOverPi = 0x1.45f306dc9c883p-1
)

// reduce writes x as k quarter turns and a rest hi+lo with |hi| <= π/4 (and a hair), |lo| <=
// ulp(hi)/2. It returns k mod 4. For infinities and NaN the rest is NaN.
func reduce(x float64) (quarter int, hi, lo float64) {
	x = float64(x)
	a := math.Abs(x)
	if a <= math.Pi/4 {
		return 0, x, 0
	}
	if a < 1000*math.Pi/2 {
		// Cody and Waite, Software Manual for the Elementary Functions, 1980: subtract π/2 in
		// pieces so short that each product is exact.
		k := math.Floor(float64(x*twoOverPi) + 0.5)
		r := x - float64(k*halfPi1) // exact: both are multiples of 2^-53, and they nearly cancel
		hi, lo = twoSum(r, -float64(k*halfPi2), 0)
		hi, lo = twoSum(hi, lo-float64(k*halfPi3), 0)
		return int(k) & 3, hi, lo
	}
	return reduceLarge(x)
}

// twoSum returns a+b+c as hi+lo, where hi is a+b rounded and c is a small part of it
// (Knuth, TAOCP 2, 4.2.2, theorem B: the rounding error of a sum is itself a float).
func twoSum(a, b, c float64) (hi, lo float64) {
	s := a + b
	v := s - a
	return s, ((a - (s - v)) + (b - v)) + c
}

// twoProd returns a*b as hi+lo exactly (Dekker 1971), if neither overflows nor underflows.
func twoProd(a, b float64) (hi, lo float64) {
	const split = 1<<27 + 1
	c := float64(split * a)
	ah := c - (c - a)
	al := a - ah
	c = float64(split * b)
	bh := c - (c - b)
	bl := b - bh
	hi = float64(a * b)
	return hi, float64(al*bl) - (((hi - float64(ah*bh)) - float64(al*bh)) - float64(ah*bl))
}

// twoOverPiBits is 2/π in binary, behind a word of zeros: enough for the largest float64.
var twoOverPiBits = [20]uint64{
	0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
	0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
	0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
	0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
	0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
}

// reduceLarge is reduce for |x| of at least 1000 quarter turns (Payne and Hanek, "Radian reduction
// for trigonometric functions", 1983): x is m·2^e with an integer m of 53 bits, and of the product
// with 2/π only the bits that say the quarter and the rest are worked out, in integers.
func reduceLarge(x float64) (quarter int, hi, lo float64) {
	b := math.Float64bits(x)
	exp := int(b>>52) & 0x7ff
	if exp == 0x7ff {
		return 0, math.NaN(), 0
	}
	m := b&(1<<52-1) | 1<<52
	// e = exp-1075. The window of 192 bits begins with the bits whose weight after the product
	// with 2^e is 2 and 1; bit i of the table has weight 2^(63-i).
	i := uint(exp-1075) + 62
	w, s := i/64, i%64
	word := func(j uint) uint64 {
		return twoOverPiBits[w+j]<<s | twoOverPiBits[w+j+1]>>(64-s)
	}
	p2hi, p2 := bits.Mul64(word(2), m)
	p1hi, p1 := bits.Mul64(word(1), m)
	p0 := word(0) * m // multiples of a full turn fall off the top
	p1, c := bits.Add64(p1, p2hi, 0)
	p0, _ = bits.Add64(p0, p1hi, c)
	_ = p2 // below 2^-126 of a quarter turn

	quarter = int(p0 >> 62)
	fhi, flo := p0<<2|p1>>62, p1<<2|p2>>62 // the fraction of a quarter turn, in 128 bits
	negative := false
	if fhi>>63 == 1 { // above a half: round up to the next quarter
		quarter, negative = (quarter+1)&3, true
		flo, c = bits.Sub64(0, flo, 0)
		fhi, _ = bits.Sub64(0, fhi, c)
	}
	// To hi+lo: the first 53 bits that count, and the next 53. No float64 comes so near to a
	// quarter turn that more than 62 bits cancel (see TestReduceWorstCase).
	n := uint(bits.LeadingZeros64(fhi))
	fhi, flo = fhi<<n|flo>>(64-n), flo<<n
	unit := math.Float64frombits(uint64(1023-53-n) << 52)
	hi = float64(float64(fhi>>11) * unit)
	lo = float64(float64(fhi<<53>>11|flo>>22) * float64(unit*0x1p-53))
	// times π/2
	ph, pl := twoProd(hi, halfPiHi)
	pl += float64(hi*halfPiLo) + float64(lo*halfPiHi)
	hi, lo = twoSum(ph, pl, 0)
	if negative != (x < 0) {
		hi, lo = -hi, -lo
	}
	if x < 0 {
		quarter = -quarter & 3
	}
	return quarter, hi, lo
}

// atanTable holds atan(i/8) as hi+lo.
var atanTable = [9][2]float64{
	{0, 0},
	{0x1.fd5ba9aac2f6ep-4, -0x1.cd37686760c17p-59},
	{0x1.f5b75f92c80ddp-3, 0x1.8ab6e3cf7afbdp-57},
	{0x1.6f61941e4def1p-2, -0x1.c63aae6f6e918p-56},
	{0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
	{0x1.1e00babdefeb4p-1, -0x1.928df287a668fp-58},
	{0x1.4978fa3269ee1p-1, 0x1.2419a87f2a458p-56},
	{0x1.700a7c5784634p-1, -0x1.8c34d25aadef6p-56},
	{halfPiHi / 2, halfPiLo / 2},
}

// Atan2 returns the direction of (x, y) in [-π, π], right to 2 ulp. Zeros and infinities are as
// in math.Atan2; NaN gives NaN.
func Atan2(y, x float64) float64 {
	x, y = float64(x), float64(y)
	ax, ay := math.Abs(x), math.Abs(y)
	switch {
	case !(ax <= math.MaxFloat64 && ay <= math.MaxFloat64): // infinite or NaN
		if math.IsNaN(x) || math.IsNaN(y) {
			return math.NaN()
		}
		inf := func(v float64) float64 {
			if math.IsInf(v, 1) {
				return 1
			}
			return 0
		}
		return Atan2(math.Copysign(inf(ay), y), math.Copysign(inf(ax), x))
	case ay == 0:
		if math.Signbit(x) {
			return math.Copysign(math.Pi, y)
		}
		return y
	case ax == 0:
		return math.Copysign(halfPiHi, y)
	}
	steep := ay > ax
	num, den := ay, ax
	if steep {
		num, den = ax, ay
	}
	if den > 0x1p1000 { // so that nothing below overflows
		num, den = float64(num*0x1p-100), float64(den*0x1p-100)
	} else if den < 0x1p-900 { // nor underflows without need
		num, den = float64(num*0x1p100), float64(den*0x1p100)
	}
	// num/den is in [0, 1]. With c the nearest eighth, atan(num/den) = atan(c) + atan(t) where
	// t = (num - c·den) / (den + c·num) is at most 1/15.
	i := math.Floor(float64(num/den*8) + 0.5)
	c := float64(i * 0.125)
	t := (num - float64(c*den)) / (den + float64(c*num))
	z := float64(t * t)
	p := 1 / 17.0
	p = float64(p*z) - 1/15.0
	p = 1/13.0 + float64(p*z)
	p = float64(p*z) - 1/11.0
	p = 1/9.0 + float64(p*z)
	p = float64(p*z) - 1/7.0
	p = 1/5.0 + float64(p*z)
	p = float64(p*z) - 1/3.0
	base := atanTable[int(i)]
	// a = hi + lo, with lo holding everything small
	hi, lo := base[0], base[1]+float64(float64(t*z)*p)
	hi, lo = twoSum(hi, t, lo)
	if steep { // atan(1/a) = π/2 - atan(a)
		hi, lo = twoSum(halfPiHi, -hi, halfPiLo-lo)
	}
	if math.Signbit(x) {
		hi, lo = twoSum(piHi, -hi, piLo-lo)
	}
	return math.Copysign(hi+lo, y)
}

// Atan returns the angle in [-π/2, π/2] whose tangent is x, right to 2 ulp.
func Atan(x float64) float64 { return Atan2(x, 1) }

// Asin returns the angle in [-π/2, π/2] whose sine is x, right to 3 ulp; NaN outside [-1, 1].
func Asin(x float64) float64 { return Atan2(x, math.Sqrt(float64(sub(1, x)*add(1, x)))) }

// Acos returns the angle in [0, π] whose cosine is x, right to 3 ulp; NaN outside [-1, 1].
func Acos(x float64) float64 { return Atan2(math.Sqrt(float64(sub(1, x)*add(1, x))), x) }

// Sqrt returns the square root of x, correctly rounded as IEEE 754 wants it; NaN if x is negative.
func Sqrt(x float64) float64 { return math.Sqrt(x) }

// Squares between these neither overflow in a sum nor lose digits to underflow.
const (
	tiny2 = 0x1p-900
	huge2 = 0x1p1020
)

// Hypot returns √(x²+y²), right to 1.5 ulp, without undue overflow or underflow. An infinity gives
// +Inf, also beside a NaN; otherwise NaN gives NaN.
func Hypot(x, y float64) float64 {
	h2 := float64(x*x) + float64(y*y)
	if h2 > tiny2 && h2 < huge2 {
		return math.Sqrt(h2)
	}
	return hypotSlow(math.Abs(x), math.Abs(y))
}

func hypotSlow(x, y float64) float64 {
	switch {
	case math.IsInf(x, 1) || math.IsInf(y, 1):
		return math.Inf(1)
	case x == 0 && y == 0:
		return 0
	case max(x, y) < 1:
		x, y = float64(x*0x1p600), float64(y*0x1p600)
		return float64(math.Sqrt(float64(x*x)+float64(y*y)) * 0x1p-600)
	}
	x, y = float64(x*0x1p-600), float64(y*0x1p-600)
	return float64(math.Sqrt(float64(x*x)+float64(y*y)) * 0x1p600)
}
