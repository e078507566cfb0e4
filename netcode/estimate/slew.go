package estimate

import (
	"math"

	"time"
)

// Overdue slows a playout clock down while a packet is overdue, before nothing is left to play. The
// zero Overdue is the default.
type Overdue struct {
	// Share is the part of the slack (the buffered time beyond the typical age) that passes before
	// the full slow-down, in (0, 1]. Smaller brakes earlier. Zero, and anything outside, means 0.3.
	Share float64
	// Most is the full slow-down, a share of the clock's speed in (0, 1]. Zero, and anything
	// outside, means 0.5.
	Most float64
}

const overdueSlack = 5 * time.Millisecond // beyond 1.1 x typical, before a packet counts as late

// Slow returns by which share of its speed the clock is to run slower, in [0, Most]. All spans are
// above the floor: age of the newest information, delay is the present playout delay, typical and
// target are those of the Estimator. It is 0 until the age exceeds the usual. It is also 0 when the
// delay is already so long (over MaxTarget, or 2.5 times the target) that slowing would stretch an
// outage instead of bridging a hitch.
func (o Overdue) Slow(age, delay, typical, target time.Duration) float64 {
	late := age - typical - typical/10 - overdueSlack
	if late <= 0 || delay > min(MaxTarget, target*5/2) {
		return 0
	}
	share, most := o.limits()
	slack := float64(share * float64(delay-typical))
	if slack <= float64(late) {
		return most
	}
	return float64(most * (float64(late) / slack))
}

// need returns the least delay with which a clock that slows down like this bridges a gap in which
// information becomes age old, where the Estimator finds typical usual. Up to where the slowing
// begins, that is age itself, and less beyond. From the delay v on, the full slow-down bridges v +
// Most x (age - begin - half of the ramp), which must reach age.
func (o Overdue) need(age, typical time.Duration) time.Duration {
	late := age - typical - typical/10 - overdueSlack
	if late <= 0 {
		return age
	}
	share, most := o.limits()
	a, t, l := float64(age), float64(typical), float64(late)
	half := float64(float64(most*share) / 2)
	v := (a - float64(most*l) - float64(half*t)) / (1 - half)
	if ramp := float64(share * (v - t)); l < ramp || v <= t {
		// The gap ends before the slow-down is full: v + most late^2 / (2 share (v - typical)) =
		// age.
		b := a - t
		v = t + float64((b+math.Sqrt(max(float64(b*b)-float64(2*float64(most*float64(l*l)))/share, 0)))/2)
	}
	return min(time.Duration(v), age)
}

func (o Overdue) limits() (share, most float64) {
	share, most = o.Share, o.Most
	if !(share > 0 && share <= 1) {
		share = 0.3
	}
	if !(most > 0 && most <= 1) {
		most = 0.5
	}
	return share, most
}

// A Slew moves a delay towards its target no faster than players can bear.
type Slew struct {
	UpMost, DownMost float64       // largest change per unit of time, as a share
	UpTime, DownTime time.Duration // an error shrinks to 1/e in about this time
}

// PlayoutSlew moves a playout delay: by a tenth of real time at most, growing faster than
// shrinking. InputSlew moves an input lead.
var (
	PlayoutSlew = Slew{UpMost: 0.10, DownMost: 0.10, UpTime: 300 * time.Millisecond, DownTime: time.Second}
	InputSlew   = Slew{UpMost: 0.10, DownMost: 0.03, UpTime: 200 * time.Millisecond, DownTime: time.Second}
	// What is left of the path before is worth nothing on another one: PlayoutChange and
	// InputChange shrink it faster, by a quarter of real time and by a tenth.
	PlayoutChange = Slew{UpMost: 0.10, DownMost: 0.25, UpTime: 300 * time.Millisecond, DownTime: 300 * time.Millisecond}
	InputChange   = Slew{UpMost: 0.10, DownMost: 0.10, UpTime: 200 * time.Millisecond, DownTime: 300 * time.Millisecond}
)

// Step returns have, moved towards want during dt. It never passes want.
func (s Slew) Step(have, want, dt time.Duration) time.Duration {
	off := want - have
	if off == 0 || dt <= 0 {
		return have
	}
	most, span := s.UpMost, s.UpTime
	if off < 0 {
		most, span = s.DownMost, s.DownTime
	}
	part := 1.0
	if span > dt {
		part = float64(dt) / float64(span)
	}
	step := time.Duration(float64(part * float64(off)))
	limit := time.Duration(float64(most * float64(dt)))
	return have + min(max(step, -limit), limit)
}
