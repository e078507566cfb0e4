package clock

import "time"

// How an Output follows its estimate.
const (
	// StepLimit is the error beyond which an Output jumps forward, or asks for a Step back.
	StepLimit = 250 * time.Millisecond

	// After the first estimate, and after one that begins anew: the clock may jump forward and stand
	// still.
	acquisition = time.Second
	slewTime    = 500 * time.Millisecond // time constant of a correction
)

// An Output is the clock that a client reads: server time that runs smoothly and never goes back,
// while the estimate under it jumps with each better sample.
//
// In the first second after the first estimate, and after one that begins anew as samples
// contradicted all before, it follows at once, and stands still where the estimate falls behind it.
// Later it runs at most 0.5 % too fast or too slow; 2 % while the error is above 10 ms, 10 % above
// 50 ms. It jumps forward over errors beyond StepLimit. It never jumps back: Behind reports such an
// error, and Step takes the new estimate. The caller of Step clears what was dated with the wrong
// time.
//
// Reading is arithmetic: no allocation, no request. Not safe for concurrent use.
type Output struct {
	src     *Estimator
	running bool
	begun   Time   // local time of the first estimate, or of the newest that began anew
	resets  uint64 // of the estimate then
	local   Time   // of the last reading
	out     Time
	err     time.Duration // estimate minus output, at the last reading
}

// NewOutput returns a clock that follows e.
func NewOutput(e *Estimator) *Output { return &Output{src: e} }

// Now returns the server's time at a local instant. Before the first estimate it returns local
// itself. A local instant before that of the last call gives the same result as that call.
func (o *Output) Now(local Time) Time {
	target, _, ok := o.src.At(local)
	if !ok && !o.running {
		return local
	}
	if !o.running {
		o.running, o.begun, o.local, o.out = true, local, local, target
		return target
	}
	dt := local.Sub(o.local)
	if dt <= 0 {
		return o.out
	}
	o.local = local
	before := o.out
	o.out = o.out.Add(dt)
	if ok {
		if o.resets != o.src.resets {
			o.begun, o.resets = local, o.src.resets
		}
		o.out = o.out.Add(perBillion(dt, o.src.skew))
		o.steer(dt, before, target)
	}
	return o.out
}

func (o *Output) steer(dt time.Duration, before, target Time) {
	err := target.Sub(o.out)
	switch {
	case o.local.Sub(o.begun) <= acquisition && err >= -StepLimit, err > StepLimit:
		o.out = max(before, target)
		o.err = target.Sub(o.out)
		return
	}
	most := dt / 200
	switch {
	case err > 50*time.Millisecond || err < -50*time.Millisecond:
		most = dt / 10
	case err > 10*time.Millisecond || err < -10*time.Millisecond:
		most = dt / 50
	}
	fix := err
	if dt < slewTime {
		fix = time.Duration(mulDivTrunc(int64(err), int64(dt), int64(slewTime)))
	}
	fix = min(max(fix, -most), most)
	o.out = o.out.Add(fix)
	o.err = err - fix
}

// Error returns how far the estimate was ahead of this clock at the last reading: the rest that the
// clock still has to slew.
func (o *Output) Error() time.Duration { return o.err }

// Behind reports whether the clock is more than StepLimit ahead of its estimate: the server set its
// clock back, or the local clock jumped. Step resolves that.
func (o *Output) Behind() bool { return o.err < -StepLimit }

// Step takes the estimate at once, in either direction. Without an estimate the clock runs on from
// where it stands, with local as the present: a local clock that was set back must not stop it.
func (o *Output) Step(local Time) {
	target, _, ok := o.src.At(local)
	switch {
	case ok:
		o.running, o.out = true, target
	case !o.running:
		return
	}
	o.local, o.err = local, 0
	o.begun = min(o.begun, local)
}

// perBillion returns d*ppb/1e9 without overflow for |ppb| <= 1e9.
func perBillion(d time.Duration, ppb int64) time.Duration {
	return time.Duration(int64(d)/1e9*ppb + int64(d)%1e9*ppb/1e9)
}

// mulDivTrunc returns a*b/d rounded toward zero, b >= 0, d > 0.
func mulDivTrunc(a, b, d int64) int64 {
	if a < 0 {
		return mulDivCeil(a, b, d)
	}
	return mulDivFloor(a, b, d)
}
