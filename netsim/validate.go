//go:build !js

package netsim

import (
	"errors"
	"time"

	"meanwhile/internal/fault"
)

// Validate reports what is wrong with either direction.
func (p Profile) Validate() error {
	var errs []error
	if err := p.Down.Validate(); err != nil {
		errs = append(errs, fault.Errorf("profile %q, down: %w", p.Name, err))
	}
	if err := p.Up.Validate(); err != nil {
		errs = append(errs, fault.Errorf("profile %q, up: %w", p.Name, err))
	}
	return errors.Join(errs...)
}

// faults collects what is wrong with a configuration. Its methods are not inlined: at a few dozen
// calls each they would be a hundredth of a page's program.
type faults struct {
	where string
	errs  []error
}

//go:noinline
func (f *faults) add(format string, args ...any) {
	f.errs = append(f.errs, fault.Errorf(f.where+format, args...))
}

//go:noinline
func (f *faults) span(name string, d, most time.Duration) {
	if d < 0 || d > most {
		f.add("%s %v is outside [0, %v]", name, d, most)
	}
}

//go:noinline
func (f *faults) share(name string, x float64) {
	if !(x >= 0 && x <= 1) {
		f.add("%s %v is outside [0, 1]", name, x)
	}
}

// Validate reports everything that is wrong with c, each with its value and bound.
func (c LinkConfig) Validate() error {
	f := faults{where: "netsim: "}
	f.span("Delay", c.Delay, MaxDelay)
	f.span("Jitter.Scale", c.Jitter.Scale, MaxDelay)
	if c.Jitter.Shape > LogNormalJitter {
		f.add("Jitter.Shape %d is none of the known ones, 0 to %d", c.Jitter.Shape, LogNormalJitter)
	}
	if !(c.Jitter.Sigma >= 0 && c.Jitter.Sigma <= 3) {
		f.add("Jitter.Sigma %v is outside [0, 3]", c.Jitter.Sigma)
	}
	f.share("Loss.ToBad", c.Loss.ToBad)
	f.share("Loss.ToGood", c.Loss.ToGood)
	f.share("Loss.InGood", c.Loss.InGood)
	f.share("Loss.InBad", c.Loss.InBad)
	f.share("Duplicate", c.Duplicate)
	f.share("Cross", c.Cross)
	f.span("Pause.Every", c.Pause.Every, time.Hour)
	f.span("Pause.Max", c.Pause.Max, MaxDelay)
	f.span("Pause.Min", c.Pause.Min, max(c.Pause.Max, 0))
	capacities := 0
	if c.Rate != 0 {
		capacities++
		if c.Rate < MinRate || c.Rate > MaxRate {
			f.add("Rate %d bit/s is outside [%d, %d], and not 0 for none", c.Rate, int64(MinRate), int64(MaxRate))
		}
	}
	if c.Cell.Mean != 0 {
		capacities++
		if err := c.Cell.validate(); err != nil {
			f.errs = append(f.errs, err)
		}
	}
	if c.Trace != nil {
		capacities++
		if len(c.Trace.opps) == 0 {
			f.add("Trace is empty: use ReadTrace")
		}
		f.span("TraceStart", c.TraceStart, time.Hour)
	}
	if capacities > 1 {
		f.add("%d of Rate, Cell and Trace are set, at most 1 can be", capacities)
	}
	if c.Cross > 0 && capacities == 0 {
		f.add("Cross %v needs a Rate, Cell or Trace", c.Cross)
	}
	if c.Queue < 0 || c.Queue > MaxQueue {
		f.add("Queue %d B is outside [0, %d]", c.Queue, MaxQueue)
	}
	return errors.Join(f.errs...)
}

func (c Cell) validate() error {
	f := faults{where: "netsim: Cell."}
	if c.Mean < MinRate || c.Mean > 200_000_000 {
		f.add("Mean %d bit/s is outside [%d, %d]", c.Mean, MinRate, 200_000_000)
	}
	if !(c.Grant >= 1 && c.Grant <= 32) {
		f.add("Grant %v is outside [1, 32]", c.Grant)
	}
	for _, w := range []struct {
		name string
		Wander
	}{{"Slow", c.Slow}, {"Fast", c.Fast}} {
		if !(w.Sigma >= 0 && w.Sigma <= 2) {
			f.add("%s.Sigma %v is outside [0, 2]", w.name, w.Sigma)
		}
		if w.Sigma > 0 && (w.Time < cellStep || w.Time > 10*time.Minute) {
			f.add("%s.Time %v is outside [%v, %v]", w.name, w.Time, cellStep, 10*time.Minute)
		}
	}
	if !(c.FadesPerMinute >= 0 && c.FadesPerMinute <= 1000) {
		f.add("FadesPerMinute %v is outside [0, 1000]", c.FadesPerMinute)
	}
	if c.FadeMean < 0 || c.FadeMean > MaxDelay {
		f.add("FadeMean %v is outside [0, %v]", c.FadeMean, MaxDelay)
	}
	if !(c.OutagesPerMinute >= 0 && c.OutagesPerMinute <= 100) {
		f.add("OutagesPerMinute %v is outside [0, 100]", c.OutagesPerMinute)
	}
	if c.OutagesPerMinute > 0 {
		if c.OutageMin < cellSlot || c.OutageMin > c.OutageMax {
			f.add("OutageMin %v is outside [%v, OutageMax %v]", c.OutageMin, cellSlot, c.OutageMax)
		}
		if c.OutageMax > MaxDelay {
			f.add("OutageMax %v is above %v", c.OutageMax, MaxDelay)
		}
		if !(c.OutageShape >= 0.2 && c.OutageShape <= 5) {
			f.add("OutageShape %v is outside [0.2, 5]", c.OutageShape)
		}
	}
	if len(f.errs) == 0 {
		if open := c.open(); open < 0.1 {
			f.add("Fades and Outages leave %.3f of the time, less than 0.1", open)
		}
	}
	return errors.Join(f.errs...)
}
