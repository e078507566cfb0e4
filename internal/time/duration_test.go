package time

import (
	"math"
	"testing"
	"time"
)

// A browser's lengths of time are the standard package's; only their texts leave hours and minutes out.
func TestDuration(t *testing.T) {
	for _, d := range []time.Duration{
		0, 1, -1, 999, 1000, 1500, -1500, 499_999, 500_000, 1_500_000, 2 * time.Second, -2500 * time.Millisecond, 59 * time.Second,
		90 * time.Minute, math.MaxInt64, math.MinInt64 + 1,
	} {
		own := duration(d)
		if own.Nanoseconds() != d.Nanoseconds() || own.Microseconds() != d.Microseconds() || own.Milliseconds() != d.Milliseconds() ||
			own.Seconds() != d.Seconds() || time.Duration(own.Abs()) != d.Abs() {
			t.Errorf("%v differs as a number", d)
		}
		for _, m := range []time.Duration{-1, 0, 1, 3, 1000, time.Millisecond, time.Second} {
			if got := own.Round(duration(m)); time.Duration(got) != d.Round(m) && d.Abs() < math.MaxInt64/2 {
				t.Errorf("%v rounded to %v is %d, want %d", d, m, got, d.Round(m))
			}
		}
		if d.Abs() < time.Minute && own.String() != d.String() {
			t.Errorf("%v reads %v", d, own)
		}
	}
	if got := duration(90 * time.Second).String(); got != "90s" {
		t.Errorf("90 s read %s", got)
	}
}
