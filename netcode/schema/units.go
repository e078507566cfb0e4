package schema

import (
	"math"
	"strconv"
	"strings"

	"meanwhile/internal/fault"
)

func number(s string) (float64, bool) {
	num, den, frac := strings.Cut(s, "/")
	v, err := strconv.ParseFloat(num, 64)
	if frac && err == nil {
		d, err2 := strconv.ParseFloat(den, 64)
		v, err = v/d, err2
	}
	return v, err == nil && v > 0 && !math.IsInf(v, 0)
}

// length parses a length and returns how many of it make a metre.
func length(s string) (float64, bool) {
	for _, u := range [...]struct {
		suffix string
		per    float64
	}{{"mm", 1000}, {"cm", 100}, {"m", 1}} {
		if v, found := strings.CutSuffix(s, u.suffix); found {
			n, ok := number(v)
			return u.per / n, ok && u.per/n >= 1e-3 && u.per/n <= 1e9
		}
	}
	return 0, false
}

// metres parses a distance.
func metres(s string) (float64, error) {
	for _, u := range [...]struct {
		suffix string
		per    float64
	}{{"mm", 1000}, {"cm", 100}, {"km", 1e-3}, {"m", 1}} {
		if v, found := strings.CutSuffix(s, u.suffix); found {
			if n, ok := number(v); ok && n/u.per >= 1e-3 && n/u.per <= 1e6 {
				return n / u.per, nil
			}
			break
		}
	}
	return 0, fault.Errorf("distance %q, want one such as 50m, from 1mm to 1000km", s)
}

// bitWord parses a number of bits, such as 8bit; 0 if it is none, or outside of least to most.
func bitWord(s string, least, most int) int {
	if v, ok := strings.CutSuffix(s, "bit"); ok {
		if n, err := strconv.Atoi(v); err == nil && n >= least && n <= most {
			return n
		}
	}
	return 0
}

// A unit is how messages write amounts of a class: metres in millimetres, radians in degrees.
type unit struct {
	suffix  string
	degrees bool
	speed   bool // the values are speeds themselves
}

// slow is an example of slow=.
func (u unit) slow() string {
	if u.degrees {
		return "1deg/s"
	}
	return "1cm/s"
}

// amount writes an amount of the property's unit with so many digits.
func (p *Prop) amount(v float64, digits int) string {
	u := classes[p.Class].tags.unit
	if u.degrees {
		v = float64(v*360) / twoPi
	} else {
		v = float64(v * 1000)
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	return strconv.FormatFloat(v, 'f', -1, 64) + u.suffix
}

// advice writes a precision no coarser than v.
func (p *Prop) advice(v float64) string {
	per, _ := p.stepsOf(p.amount(v, 2))
	if float64(p.perUnit(per)*v) < 1 { // it was rounded up
		return p.amount(float64(v*0.95), 2)
	}
	return p.amount(v, 2)
}

// perUnit takes steps as Prop.Sim counts them, in a turn of angles, into those per radian.
func (p *Prop) perUnit(steps float64) float64 {
	if classes[p.Class].facts.turns {
		return steps / twoPi
	}
	return steps
}
