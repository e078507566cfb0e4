package time

import "strconv"

// duration is Duration in a browser.
type duration int64

// String writes 1500000 as "1.5ms", as the standard package does, but hours and minutes as seconds.
func (d duration) String() string {
	for _, u := range [...]struct {
		size duration
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if d >= u.size || d <= -u.size {
			return strconv.FormatFloat(float64(d)/float64(u.size), 'f', -1, 64) + u.name
		}
	}
	if d == 0 {
		return "0s"
	}
	return strconv.FormatInt(int64(d), 10) + "ns"
}

func (d duration) Nanoseconds() int64  { return int64(d) }
func (d duration) Microseconds() int64 { return int64(d) / 1e3 }
func (d duration) Milliseconds() int64 { return int64(d) / 1e6 }

// Seconds is the number of seconds; as in the standard package, whole ones stay exact.
func (d duration) Seconds() float64 { return float64(d/1e9) + float64(d%1e9)/1e9 }

func (d duration) Abs() duration {
	if d < 0 {
		return -d
	}
	return d
}

// Round returns the multiple of m that is nearest to d; halves go away from zero.
func (d duration) Round(m duration) duration {
	if m <= 0 {
		return d
	}
	r := d % m
	switch {
	case r >= 0 && r >= m-r:
		return d - r + m
	case r < 0 && -r >= m+r:
		return d - r - m
	}
	return d - r
}
