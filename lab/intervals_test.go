package lab

import (
	"testing"
	"time"

	"meanwhile/netsim"
)

// Records come as the budget allows. The client knows how soon, in nearly all cases soon enough,
// and draws at an even pace. A client that draws everything two send intervals back lets far things
// stop and go. Of R41 this holds the stalls, at most 5 %, and not the 80 to 95 % of intervals that
// are predicted too long, as an estimate must: here half of the records come just when the server
// announced, nearly all others sooner.
//
// seeds: R41 R42
func TestAnnouncedIntervals(t *testing.T) {
	budget, err := crowdBudget(netsim.Fiber, 40)
	if err != nil {
		t.Fatal(err)
	}
	o, err := watch(netsim.Fiber, 9, budget, false, []string{"global-2"}, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if o.promised < 5000 || o.broken*20 > o.promised {
		t.Errorf("%d of %d records came later than announced", o.broken, o.promised)
	}
	ours, naive := o.own.drawn.variance(), o.rivals[0].scores[0].drawn.variance()
	if ours > naive/2 {
		t.Errorf("the variance of drawn speeds is %v, and %v where everything is two intervals back", ours, naive)
	}
	t.Logf("broken %d of %d, early %d; variance of speed %.4f and %.4f", o.broken, o.promised, o.early, ours, naive)
}

// Extrapolation beyond the newest snapshot draws a runner closer to where he is now, and jolts at
// his turns. Interpolation draws nothing that was not there.
//
// seeds: B8
func TestExtrapolationAgainstInterpolation(t *testing.T) {
	s, err := newStream(3, netsim.HotelWiFi, 20, 90*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	run := newRunner(3, 90*time.Second)
	mean := func(v []float64) (sum float64) {
		for _, x := range v {
			sum += x / float64(len(v))
		}
		return sum
	}
	hold, err := s.draw("interpolate", run)
	if err != nil {
		t.Fatal(err)
	}
	extrapolated, err := s.draw("extrapolate", run)
	if err != nil {
		t.Fatal(err)
	}
	if h, g := mean(hold.now), mean(extrapolated.now); g > h*2/3 {
		t.Errorf("error now %.1f cm, and %.1f with extrapolation", h, g)
	}
	if h, g := mean(hold.view), mean(extrapolated.view); g < h || extrapolated.jolts < hold.jolts*5/4 {
		t.Errorf("error of what is drawn %.2f cm and %d jolts, and %.2f cm and %d with extrapolation", h,
			hold.jolts, g, extrapolated.jolts)
	}
}
