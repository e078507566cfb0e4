package geom

import (
	"math"
	"math/big"
	"testing"
)

// The functions are measured against series in 320-bit (for reductions 1,400-bit) arithmetic.
const prec = 320

func bigFloat(x float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(x) }

// ulps returns by how many units in the last place got is off, counted as steps between floats.
func ulps(got float64, want *big.Float) float64 {
	near, _ := want.Float64()
	if got == near {
		return 0
	}
	if math.IsInf(near, 0) || math.IsInf(got, 0) || near != near || got != got {
		return math.Inf(1)
	}
	ulp := math.Nextafter(math.Abs(near), math.Inf(1)) - math.Abs(near)
	if math.IsInf(ulp, 0) {
		ulp = math.Abs(near) - math.Nextafter(math.Abs(near), 0)
	}
	d := new(big.Float).Sub(bigFloat(got), want)
	d.Quo(d, bigFloat(ulp))
	f, _ := d.Float64()
	return math.Abs(f)
}

// bigPi is π by Machin's formula, with bits binary digits.
func bigPi(bits uint) *big.Float {
	one := new(big.Int).Lsh(big.NewInt(1), bits+32)
	atanInv := func(k int64) *big.Int {
		term := new(big.Int).Div(one, big.NewInt(k))
		sum, square := new(big.Int).Set(term), big.NewInt(k*k)
		for n := int64(3); term.Sign() != 0; n += 2 {
			term.Div(term, square)
			part := new(big.Int).Div(term, big.NewInt(n))
			if n%4 == 3 {
				sum.Sub(sum, part)
			} else {
				sum.Add(sum, part)
			}
		}
		return sum
	}
	pi := new(big.Int).Mul(big.NewInt(4), atanInv(5))
	pi.Sub(pi, atanInv(239))
	f := new(big.Float).SetPrec(bits).SetInt(pi)
	return f.SetMantExp(f, 2-int(bits+32))
}

var piLong = bigPi(1400)

// bigReduce returns x modulo π/2 in [-π/4, π/4], and the quarter.
func bigReduce(x float64) (int, *big.Float) {
	half := new(big.Float).SetMantExp(piLong, -1)
	q := new(big.Float).SetPrec(1400).Quo(new(big.Float).SetPrec(1400).SetFloat64(x), half)
	if q.Sign() < 0 {
		q.Sub(q, big.NewFloat(0.5))
	} else {
		q.Add(q, big.NewFloat(0.5))
	}
	k, _ := q.Int(nil)
	r := new(big.Float).SetPrec(1400).SetInt(k)
	r.Mul(r, half)
	r.Sub(new(big.Float).SetPrec(1400).SetFloat64(x), r)
	quarter := new(big.Int).And(k, big.NewInt(3))
	return int(quarter.Int64()), new(big.Float).SetPrec(prec).Set(r)
}

// bigSeries sums first + first·z·f(1) + first·z·f(1)·z·f(2) + ..., f(n) = 1/((2n+a)(2n+a+1)).
func bigSeries(first, z *big.Float, a int) *big.Float {
	sum, term := new(big.Float).SetPrec(prec).Set(first), new(big.Float).SetPrec(prec).Set(first)
	for n := 0; n < 60; n++ {
		term.Mul(term, z)
		term.Quo(term, bigFloat(float64((2*n+a)*(2*n+a+1))))
		sum.Add(sum, term)
	}
	return sum
}

func bigSinCos(x float64) (sin, cos *big.Float) {
	q, r := bigReduce(x)
	z := new(big.Float).Mul(r, r)
	z.Neg(z)
	s, c := bigSeries(r, z, 2), bigSeries(bigFloat(1), z, 1)
	neg := func(f *big.Float) *big.Float { return new(big.Float).Neg(f) }
	switch q {
	case 0:
		return s, c
	case 1:
		return c, neg(s)
	case 2:
		return neg(s), neg(c)
	}
	return neg(c), s
}

// bigExp halves the argument ten times and squares back.
func bigExp(x *big.Float) *big.Float {
	x = new(big.Float).SetPrec(prec).Set(x)
	if x.Sign() != 0 {
		x.SetMantExp(x, -20)
	}
	sum, term := bigFloat(1), bigFloat(1)
	for n := 1; n < 40; n++ {
		term.Mul(term, x)
		term.Quo(term, bigFloat(float64(n)))
		sum.Add(sum, term)
	}
	for range 20 {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigLog improves the standard library's result, which on amd64 is 0.6 off for subnormal x, by
// Halley steps y += 2 (x-e^y)/(x+e^y).
func bigLog(x float64) *big.Float {
	y, bx := bigFloat(math.Log(x)), bigFloat(x)
	for range 4 {
		e := bigExp(y)
		num := new(big.Float).Sub(bx, e)
		num.Mul(num, bigFloat(2))
		y.Add(y, num.Quo(num, e.Add(e, bx)))
	}
	return y
}

// bigAtan2 improves the standard library's result a: the rest is atan((y cos a - x sin a) / (x cos
// a + y sin a)).
func bigAtan2(y, x float64) *big.Float {
	a := math.Atan2(y, x)
	s, c := bigSinCos(a)
	by, bx := bigFloat(y), bigFloat(x)
	num := new(big.Float).Sub(new(big.Float).Mul(by, c), new(big.Float).Mul(bx, s))
	den := new(big.Float).Add(new(big.Float).Mul(bx, c), new(big.Float).Mul(by, s))
	t := num.Quo(num, den) // below 1e-15, so that t - t³/3 is enough
	cube := new(big.Float).Mul(t, t)
	cube.Mul(cube, t)
	cube.Quo(cube, bigFloat(3))
	return new(big.Float).SetPrec(prec).Add(bigFloat(a), t.Sub(t, cube))
}

func TestAccuracy(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 200
	}
	small := func(r *Rand) float64 { return r.Range(-7, 7) }
	wide := func(r *Rand) float64 { // any sign and size that float64 has
		for {
			if x := math.Float64frombits(r.Uint64()); finite(x) {
				return x
			}
		}
	}
	turns := func(r *Rand) float64 { return r.Range(-2000, 2000) }
	corner := func(r *Rand) float64 { // next to a multiple of π/4
		x := float64(r.IntN(4000)-2000) * (math.Pi / 4)
		return math.Float64frombits(math.Float64bits(x) + r.Uint64()%5)
	}
	unit := func(r *Rand) float64 { return r.Range(-1, 1) }
	exponent := func(r *Rand) float64 { return r.Range(-708, 709.7) }
	positive := func(r *Rand) float64 { return math.Abs(wide(r)) }
	nearOne := func(r *Rand) float64 { return 1 + r.Range(-1, 1)*Exp(r.Range(-36, -0.7)) }

	sin := func(x float64) *big.Float { s, _ := bigSinCos(x); return s }
	cos := func(x float64) *big.Float { _, c := bigSinCos(x); return c }
	tan := func(x float64) *big.Float { s, c := bigSinCos(x); return s.Quo(s, c) }
	norm := func(x float64) *big.Float {
		two := new(big.Float).SetMantExp(piLong, 1)
		k, _ := new(big.Float).Quo(new(big.Float).SetPrec(1400).SetFloat64(x), two).Int(nil)
		r := new(big.Float).SetPrec(1400).SetInt(k)
		r.Sub(new(big.Float).SetPrec(1400).SetFloat64(x), r.Mul(r, two))
		switch {
		case r.Cmp(piLong) > 0:
			r.Sub(r, two)
		case new(big.Float).Neg(r).Cmp(piLong) > 0:
			r.Add(r, two)
		}
		return r
	}
	asin := func(x float64) *big.Float { // atan2(x, √(1-x²)), improved like bigAtan2
		a := math.Asin(x)
		s, c := bigSinCos(a)
		d := new(big.Float).Sub(bigFloat(x), s) // sin(a+d) = s + c d - s d²/2
		if c.Sign() == 0 {
			return bigFloat(a)
		}
		first := new(big.Float).Quo(d, c)
		second := new(big.Float).Mul(first, first)
		second.Mul(second, s).Quo(second, c).Quo(second, bigFloat(2))
		return new(big.Float).SetPrec(prec).Add(bigFloat(a), first.Add(first, second))
	}

	for _, c := range []struct {
		name  string
		bound float64 // ulp, as the documentation of the function states
		f     func(float64) float64
		want  func(float64) *big.Float
		draw  func(*Rand) float64
	}{
		{"Sin small", 1, Sin, sin, small},
		{"Sin turns", 1, Sin, sin, turns},
		{"Sin wide", 1, Sin, sin, wide},
		{"Sin corner", 1, Sin, sin, corner},
		{"Cos small", 1, Cos, cos, small},
		{"Cos turns", 1, Cos, cos, turns},
		{"Cos wide", 1, Cos, cos, wide},
		{"Cos corner", 1, Cos, cos, corner},
		{"Tan small", 3, Tan, tan, small},
		{"Tan wide", 3, Tan, tan, wide},
		{"Norm turns", 1, func(x float64) float64 { return float64(Angle(x).Norm()) }, norm, turns},
		{"Norm wide", 1, func(x float64) float64 { return float64(Angle(x).Norm()) }, norm, wide},
		{"Norm corner", 1, func(x float64) float64 { return float64(Angle(x).Norm()) }, norm, corner},
		{"Atan", 2, Atan, func(x float64) *big.Float { return bigAtan2(x, 1) }, small},
		{"Asin", 3, Asin, asin, func(r *Rand) float64 { return r.Range(-0.9999, 0.9999) }},
		{"Acos", 3, Acos, func(x float64) *big.Float {
			half := new(big.Float).SetMantExp(piLong, -1)
			return half.Sub(half, asin(x))
		}, func(r *Rand) float64 { return r.Range(-0.9999, 0.9999) }},
		{"Vec3.Len", 2, func(x float64) float64 { return Vec3{x, 1, -0.3}.Len() }, func(x float64) *big.Float {
			l := bigHypot(x, 1)
			z := bigFloat(0.3)
			return l.Sqrt(l.Add(l.Mul(l, l), z.Mul(z, z)))
		}, small},
		{"Exp", 1, Exp, func(x float64) *big.Float { return bigExp(bigFloat(x)) }, exponent},
		{"Exp small", 1, Exp, func(x float64) *big.Float { return bigExp(bigFloat(x)) }, unit},
		{"Exp tiny", 2, Exp, func(x float64) *big.Float { return bigExp(bigFloat(x)) },
			func(r *Rand) float64 { return r.Range(-745.1, -708) }},
		{"Log wide", 1, Log, bigLog, positive},
		{"Log near 1", 1, Log, bigLog, nearOne},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, worst, at := NewRand(1), 0.0, 0.0
			for range n {
				x := c.draw(&r)
				if u := ulps(c.f(x), c.want(x)); u > worst {
					worst, at = u, x
				}
			}
			t.Logf("worst %.3f ulp, at %v", worst, at)
			if worst > c.bound {
				t.Errorf("%.3f ulp off at %v (%x), bound %v: got %v", worst, at, at, c.bound, c.f(at))
			}
		})
	}
	for _, c := range []struct {
		name  string
		bound float64
		f     func(x, y float64) float64
		want  func(x, y float64) *big.Float
		draw  func(*Rand) (x, y float64)
	}{
		{"Atan2", 2, Atan2, bigAtan2, func(r *Rand) (float64, float64) { return small(r), small(r) }},
		{"Atan2 sizes", 2, Atan2, bigAtan2, func(r *Rand) (float64, float64) {
			e := r.Range(-600, 600)
			return small(r) * Exp(e), small(r) * Exp(e+r.Range(-8, 8))
		}},
		{"Hypot", 1.5, Hypot, bigHypot, func(r *Rand) (float64, float64) { return small(r), small(r) }},
		{"Hypot sizes", 1.5, Hypot, bigHypot, func(r *Rand) (float64, float64) {
			e := r.Range(-700, 700)
			return small(r) * Exp(e), small(r) * Exp(e+r.Range(-8, 8))
		}},
		{"Pow", 1, Pow, bigPow, func(r *Rand) (float64, float64) { return r.Range(0, 100), r.Range(-100, 100) }},
		{"Pow near 1", 1, Pow, bigPow, func(r *Rand) (float64, float64) {
			x := nearOne(r)
			return x, r.Range(-700, 700) / max(math.Abs(Log(x)), 1e-300)
		}},
		{"Pow sizes", 1, Pow, bigPow, func(r *Rand) (float64, float64) {
			x := positive(r)
			return x, r.Range(-700, 700) / Log(x)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, worst, atX, atY := NewRand(1), 0.0, 0.0, 0.0
			for range n {
				x, y := c.draw(&r)
				if !finite(y) {
					continue
				}
				if u := ulps(c.f(x, y), c.want(x, y)); u > worst {
					worst, atX, atY = u, x, y
				}
			}
			t.Logf("worst %.3f ulp, at %v, %v", worst, atX, atY)
			if worst > c.bound {
				t.Errorf("%.3f ulp off at %v, %v (%x, %x), bound %v: got %v", worst, atX, atY, atX, atY, c.bound, c.f(atX, atY))
			}
		})
	}
}

func bigHypot(x, y float64) *big.Float {
	s := new(big.Float).Mul(bigFloat(x), bigFloat(x))
	s.Add(s, new(big.Float).Mul(bigFloat(y), bigFloat(y)))
	return s.Sqrt(s)
}

func bigPow(x, y float64) *big.Float {
	l := bigLog(x)
	return bigExp(l.Mul(l, bigFloat(y)))
}

// The tables and constants of the reduction are digits of π.
func TestConstants(t *testing.T) {
	two := new(big.Float).SetPrec(1400).SetInt64(2)
	twoOverPi := new(big.Float).SetPrec(1300).Quo(two, piLong)
	digits, _ := new(big.Float).SetMantExp(twoOverPi, 64*(len(twoOverPiBits)-1)).Int(nil)
	for i := len(twoOverPiBits) - 1; i >= 0; i-- {
		word := new(big.Int).And(digits, new(big.Int).SetUint64(math.MaxUint64))
		if word.Uint64() != twoOverPiBits[i] {
			t.Errorf("word %d of 2/π is %#x, want %#x", i, twoOverPiBits[i], word)
		}
		digits.Rsh(digits, 64)
	}

	half := new(big.Float).SetMantExp(piLong, -1)
	near := func(name string, tolerance float64, want *big.Float, parts ...float64) {
		t.Helper()
		d := new(big.Float).SetPrec(1400).Set(want)
		for _, p := range parts {
			d.Sub(d, new(big.Float).SetPrec(1400).SetFloat64(p))
		}
		if f, _ := d.Float64(); math.Abs(f) > tolerance {
			t.Errorf("%s is off by %g, tolerance %g", name, f, tolerance)
		}
	}
	near("π/2 in three parts", 0x1p-139, half, halfPi1, halfPi2, halfPi3)
	near("π/2 in two parts", 0x1p-107, half, halfPiHi, halfPiLo)
	for _, part := range []float64{halfPi1, halfPi2, ln2Hi} {
		if b := math.Float64bits(part); b&(1<<10-1) != 0 {
			t.Errorf("%x has more than 43 bits", part)
		}
	}
	near("ln 2", 0x1p-97, bigLog(2), ln2Hi, ln2Lo)
	for i, a := range atanTable {
		near("an arc tangent", 0x1p-107, bigAtan2(float64(i), 8), a[0], a[1])
	}
}

// reduce must keep all digits where they cancel worst. 6381956970095103·2^797 is the float64 that
// comes nearest to a multiple of π/2 (Muller, Elementary Functions, 11.2).
func TestReduceWorstCase(t *testing.T) {
	for _, x := range []float64{math.Ldexp(6381956970095103, 797), math.MaxFloat64, 1e22, 1570.7963267948965,
		1570.7963267948967, 1571, 22, 355, 52174, 1.5707963267948966, 0x1p1023} {
		for _, x := range []float64{x, -x} {
			q, hi, lo := reduce(x)
			wantQ, want := bigReduce(x)
			d := new(big.Float).Sub(want, bigFloat(hi))
			rest, _ := d.Sub(d, bigFloat(lo)).Float64()
			size, _ := want.Float64()
			if q != wantQ || math.Abs(rest) > math.Abs(size)*0x1p-66 {
				t.Errorf("reduce(%v) = %d, %v + %v, which is off by %g; want %d, %v", x, q, hi, lo, rest, wantQ, want)
			}
		}
	}
}

func TestSpecialCases(t *testing.T) {
	inf, nan, zero := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	same := func(a, b float64) bool {
		return a != a && b != b || math.Float64bits(a) == math.Float64bits(b)
	}
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"Sin 0", Sin(0), 0}, {"Sin -0", Sin(zero), zero}, {"Sin Inf", Sin(inf), nan}, {"Sin NaN", Sin(nan), nan},
		{"Cos 0", Cos(0), 1}, {"Cos -Inf", Cos(-inf), nan}, {"Tan -0", Tan(zero), zero}, {"Tan Inf", Tan(inf), nan},
		{"Sin tiny", Sin(0x1p-1074), 0x1p-1074}, {"Tan tiny", Tan(-0x1p-1074), -0x1p-1074},
		{"Asin 1", Asin(1), math.Pi / 2}, {"Asin 2", Asin(2), nan}, {"Acos -1", Acos(-1), math.Pi}, {"Acos 1", Acos(1), 0},
		{"Acos 1.1", Acos(1.1), nan},
		{"Atan Inf", Atan(inf), math.Pi / 2}, {"Atan -Inf", Atan(-inf), -math.Pi / 2},
		{"Exp 0", Exp(0), 1}, {"Exp 1", Exp(1), math.E}, {"Exp Inf", Exp(inf), inf}, {"Exp -Inf", Exp(-inf), 0},
		{"Exp NaN", Exp(nan), nan},
		{"Exp last", Exp(709.782712893384), 1.7976931348622732e308}, {"Exp over", Exp(709.7827128933841), inf},
		{"Exp least", Exp(-745.1332191019411), 0x1p-1074}, {"Exp under", Exp(-745.1332191019412), 0},
		{"Log 0", Log(0), -inf}, {"Log -0", Log(zero), -inf}, {"Log 1", Log(1), 0}, {"Log -1", Log(-1), nan},
		{"Log Inf", Log(inf), inf}, {"Log -Inf", Log(-inf), nan}, {"Log NaN", Log(nan), nan},
		{"Log least", Log(0x1p-1074), -744.4400719213812}, {"Log 2", Log(2), math.Ln2},
		{"Sqrt -1", Sqrt(-1), nan}, {"Sqrt 2", Sqrt(2), math.Sqrt2},
		{"Hypot Inf NaN", Hypot(-inf, nan), inf}, {"Hypot NaN", Hypot(nan, 1), nan}, {"Hypot 3 4", Hypot(-3, 4), 5},
		{"Hypot 0", Hypot(zero, 0), 0},
		{"Hypot tiny", Hypot(3*0x1p-1074, 4*0x1p-1074), 5 * 0x1p-1074},
		{"Hypot huge", Hypot(3*0x1p1020, 4*0x1p1020), 5 * 0x1p1020},
		{"Hypot over", Hypot(math.MaxFloat64, math.MaxFloat64), inf},
		{"Lerp at 1", Lerp(0.1, 0.7, 1), 0.7}, {"Lerp at 0", Lerp(0.1, 0.7, 0), 0.1},
		{"Lerp equal", Lerp(0.1, 0.1, 0.3), 0.1},
		{"Clamp NaN", Clamp(nan, 1, 2), 1}, {"Clamp below", Clamp(-inf, 1, 2), 1}, {"Clamp above", Clamp(3, 1, 2), 2},
		{"Clamp empty", Clamp(3, 2, 1), 2},
	} {
		if !same(c.got, c.want) {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}

	// Atan2 and Pow agree with the standard library about every meeting of special values.
	values := []float64{
		nan, inf, -inf, 0, zero, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1.5, -2.5, 1e300, -1e300,
		0x1p-1074, -0x1p-1074, 0x1p53, -0x1p53 - 2, 0x1p53 + 2, 1e18 + 1,
	}
	for _, x := range values {
		for _, y := range values {
			close := func(name string, got, want float64) {
				if !same(got, want) && !(math.Abs(got-want) <= 2e-15*math.Abs(want) && math.Signbit(got) == math.Signbit(want)) {
					t.Errorf("%s(%v, %v) = %v, want %v", name, x, y, got, want)
				}
			}
			if math.Abs(x/y) > 0x1p-1074 || x == 0 { // math.Atan2 loses the sign of x with the quotient
				close("Atan2", Atan2(x, y), math.Atan2(x, y))
			}
			close("Pow", Pow(x, y), math.Pow(x, y))
		}
	}

	// Whole numbers that fit come out whole.
	for x := 1.0; x <= 20; x++ {
		want := 1.0
		for n := 0.0; want < 1<<53; n++ {
			if got := Pow(x, n); got != want {
				t.Errorf("Pow(%v, %v) = %v, want %v", x, n, got, want)
			}
			if want *= x; x == 1 && n > 10 {
				break
			}
		}
	}
}
