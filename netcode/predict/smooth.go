package predict

import (
	"math"
	"time"

	"meanwhile/geom"
	"meanwhile/internal/fault"
)

// Smoothing says how corrections are hidden: what is drawn keeps its place and turn, and the error
// fades. The zero Smoothing is a sound default.
//
// An error fades by the factor exp(-t/Tau), whatever the frame rate, and no faster than MaxSpeed: a
// large one shrinks evenly first.
type Smoothing struct {
	// Tau is the time constant with which an error of place fades. Zero means 100 ms; at most
	// MaxTau.
	Tau time.Duration
	// TurnTau is that of an error of rotation. Zero means Tau.
	TurnTau time.Duration
	// MaxSpeed is how fast an error of place shrinks at most, in metres per second, so that a large
	// one does not look like a step. Zero means 8, which is 13 cm in a frame at 60 Hz; infinity
	// does not limit it.
	MaxSpeed float64
	// Snap is the distance in metres beyond which nothing is hidden, neither place nor turn. Zero
	// means 4; infinity always hides.
	Snap float64
	// SnapAngle is the angle beyond which a turn is not hidden. Zero means a quarter turn; from
	// half a turn on, every turn is hidden.
	SnapAngle geom.Angle
}

// MaxTau bounds the time constants of a Smoothing.
const MaxTau = 10 * time.Second

const (
	defaultTau       = 100 * time.Millisecond
	defaultMaxSpeed  = 8.0
	defaultSnap      = 4.0
	defaultSnapAngle = geom.Pi / 2
)

// Classic returns the smoothing of the well-known samples in frame-rate independent form: each
// frame at 60 Hz keeps 0.9 of the offset, and turns the rotation 0.1 of the way back. From 2 m on
// nothing is hidden.
//
// Both are one exponential: 0.9 per 1/60 s is a time constant of 1 s / (60 × -ln 0.9) = 158.19 ms,
// and to go 0.1 of the way on a great circle is to keep 0.9 of the angle.
func Classic() Smoothing {
	return Smoothing{Tau: 158_187_027 * time.Nanosecond, MaxSpeed: math.Inf(1), Snap: 2, SnapAngle: geom.Pi}
}

// Check returns an error that names the field that is outside its bounds.
func (s Smoothing) Check() error {
	switch {
	case s.Tau < 0 || s.Tau > MaxTau:
		return fault.Errorf("predict: Smoothing.Tau %v is outside [0, %v]", s.Tau, MaxTau)
	case s.TurnTau < 0 || s.TurnTau > MaxTau:
		return fault.Errorf("predict: Smoothing.TurnTau %v is outside [0, %v]", s.TurnTau, MaxTau)
	case !(s.MaxSpeed >= 0):
		return fault.Errorf("predict: Smoothing.MaxSpeed %v m/s is negative", s.MaxSpeed)
	case !(s.Snap >= 0):
		return fault.Errorf("predict: Smoothing.Snap %v m is negative", s.Snap)
	case !(s.SnapAngle >= 0):
		return fault.Errorf("predict: Smoothing.SnapAngle %v rad is negative", float64(s.SnapAngle))
	}
	return nil
}

// fade lets dt seconds pass for an error.
func (s Smoothing) fade(p pose, dt float64) pose {
	tau, turnTau, most := s.Tau, s.TurnTau, s.MaxSpeed
	if tau == 0 {
		tau = defaultTau
	}
	if turnTau == 0 {
		turnTau = tau
	}
	if most == 0 {
		most = defaultMaxSpeed
	}
	p.turn = p.turn.Mul(geom.Exp(-dt / turnTau.Seconds()))
	even := float64(most * tau.Seconds()) // from where on the exponential is no faster than most
	if n := p.place.Len(); n > even {
		span := min(dt, (n-even)/most)
		p.place = p.place.Mul((n - float64(most*span)) / n)
		dt -= span
	}
	p.place = p.place.Mul(geom.Exp(-dt / tau.Seconds()))
	return p
}

func (s Smoothing) snap() (place, turn float64) {
	place, turn = s.Snap, float64(s.SnapAngle)
	if place == 0 {
		place = defaultSnap
	}
	if turn == 0 {
		turn = float64(defaultSnapAngle)
	}
	return place, turn
}

// Tolerance says from where on a difference between prediction and server counts. The zero
// Tolerance is exact: every bit counts, in everything that the server sends. Otherwise only place
// and turn are compared, and a prediction within both is kept as if it were right.
type Tolerance struct {
	Place float64    // metres
	Turn  geom.Angle // of the whole rotation
}

// ClassicTolerance returns the limits of the well-known samples: an offset of which the square is
// 1e-7 square metres, which is 0.32 mm, and two unit quaternions of which the dot product is 1 -
// 1e-5. That product is the cosine of half the angle, so the angle is 2·acos(1 - 1e-5) = 8.94 mrad,
// half a degree.
func ClassicTolerance() Tolerance {
	return Tolerance{Place: 0.00031622776601683794, Turn: 0.008944279363555501}
}

// Exact reports whether every bit counts.
func (t Tolerance) Exact() bool { return t == Tolerance{} }

// Within reports whether a difference of place and turn is too small to count.
func (t Tolerance) Within(place geom.Vec3, turn geom.Quat) bool {
	return place.Len() <= t.Place && vectorOf(turn).Len() <= float64(t.Turn)
}

// Check returns an error that names the field that is outside its bounds.
func (t Tolerance) Check() error {
	if !(t.Place >= 0) {
		return fault.Errorf("predict: Tolerance.Place %v m is negative", t.Place)
	}
	if !(t.Turn >= 0) {
		return fault.Errorf("predict: Tolerance.Turn %v rad is negative", float64(t.Turn))
	}
	return nil
}

// A Smoother hides the steps that one drawn thing would make: a correction of its prediction fades
// exponentially, see Correct; a change to another timeline fades as slowly as the two are apart,
// see Blend. The zero Smoother is ready for use.
//
// The drawn place is the true place plus Error, the drawn rotation is Turn times the true one.
// Rules and aim go by what is true: only the picture is smoothed.
type Smoother struct {
	// By says how corrections fade. Nil means the zero Smoothing. Several Smoothers may share one,
	// and it may change at any time.
	By *Smoothing

	fading pose // error of corrections
	blend  blend
}

// pose is an error: metres, and a rotation as its axis times its angle in radians.
type pose struct{ place, turn geom.Vec3 }

// gone is the error, in metres and radians, that nobody can see any more.
const gone = 1e-6

func (p *pose) small() bool { return p.place.Len() < gone && p.turn.Len() < gone }

// blend leads an error to zero on the cubic curve that begins with the error and its rate and ends
// with neither. at and span are seconds; span 0 means that nothing is blended.
type blend struct {
	_ [0]func() // no == for it, which pages would have to load

	from, rate, now pose
	at, span        float64
}

// Add is Correct for a thing that does not turn.
func (s *Smoother) Add(place geom.Vec3) { s.Correct(place, geom.Quat{}) }

// Correct hides that what is drawn would jump: place is the old place minus the new one, turn the
// old rotation times the opposite of the new one, and the zero Quat where nothing turns. If the
// error, with what still fades, is then larger than the Smoothing hides, it is shown at once.
func (s *Smoother) Correct(place geom.Vec3, turn geom.Quat) {
	snap, snapAngle := s.by().snap()
	f := &s.fading
	f.place = f.place.Add(place)
	f.turn = compose(f.turn, turn)
	if !(f.turn.Len() <= snapAngle) {
		f.turn = geom.Vec3{}
	}
	if !(f.place.Len() <= snap) {
		*f = pose{}
	}
}

// Blend hides that from now on the thing is drawn by another timeline, gap earlier or later, such
// as a ball that is predicted from now on and was drawn in the past. place and turn are as for
// Correct.
//
// A thing that moves evenly on both timelines is drawn at 0.3 to 1.7 of its speed meanwhile: it
// never steps back, and its speed never jumps, even if further changes come before the first has
// faded. It takes blendSpans × gap, with gap at least minBlend, and what an earlier Blend still
// takes. No distance is too large, since fast things are far apart on the two timelines; call Clear
// across a teleport.
func (s *Smoother) Blend(place geom.Vec3, turn geom.Quat, gap time.Duration) {
	b := &s.blend
	rate, left := b.rateNow(), b.span-b.at
	if f := s.fading.turn; f != (geom.Vec3{}) && turn != (geom.Quat{}) { // which turns the true rotation first
		q := quatOf(f)
		turn = q.Mul(turn).Mul(q.Conj())
	}
	from := pose{b.now.place.Add(place), compose(b.now.turn, turn)}
	if *b = (blend{}); !from.place.Finite() || !from.turn.Finite() {
		return
	}
	b.from, b.now, b.rate = from, from, rate
	b.span = max(left, float64(blendSpans*max(gap.Abs(), minBlend).Seconds()))
}

// blendSpans is for how many times the gap between two timelines a Smoother blends them. The
// steepest point of the curve is 1.5 times its mean, so an error of v × gap changes by 0.6 v at
// most; the rest, up to 0.7 v, is for changes that come before the last one has faded.
const blendSpans = 2.5

// minBlend is the shortest gap that a blend is planned for: things whose speed changes are further
// apart on two timelines than the gap tells.
const minBlend = 40 * time.Millisecond

// value returns the error at the share u of the span, and slope its rate in units per second.
func (b *blend) value(u float64) pose {
	v := 1 - u
	level := float64(float64(v*v) * (1 + float64(2*u)))
	carry := float64(float64(u*float64(v*v)) * b.span)
	return pose{mix(b.from.place, level, b.rate.place, carry), mix(b.from.turn, level, b.rate.turn, carry)}
}

func (b *blend) slope(u float64) pose {
	v := 1 - u
	level := float64(float64(-6*u)*v) / b.span
	carry := float64(v * (1 - float64(3*u)))
	return pose{mix(b.from.place, level, b.rate.place, carry), mix(b.from.turn, level, b.rate.turn, carry)}
}

func (b *blend) rateNow() pose {
	if b.span == 0 {
		return pose{}
	}
	return b.slope(b.at / b.span)
}

func (b *blend) step(dt float64) {
	if b.span == 0 {
		return
	}
	if b.at += dt; b.at >= b.span {
		*b = blend{}
		return
	}
	b.now = b.value(b.at / b.span)
}

func mix(a geom.Vec3, x float64, b geom.Vec3, y float64) geom.Vec3 { return a.Mul(x).Add(b.Mul(y)) }

// Clear forgets the error, as after a teleport.
func (s *Smoother) Clear() { s.fading, s.blend = pose{}, blend{} }

// Step lets dt seconds pass and returns the new Error. The result does not depend on how a span is
// divided into frames. A dt that is not positive changes nothing.
func (s *Smoother) Step(dt float64) geom.Vec3 {
	if dt > 0 {
		s.blend.step(dt)
		if f := &s.fading; *f != (pose{}) {
			if *f = s.by().fade(*f, dt); f.small() {
				*f = pose{}
			}
		}
	}
	return s.Error()
}

// Error returns what to add to the true place, in metres.
func (s *Smoother) Error() geom.Vec3 { return s.fading.place.Add(s.blend.now.place) }

// Turn returns the rotation by which to turn the true one further.
func (s *Smoother) Turn() geom.Quat {
	return quatOf(s.blend.now.turn).Mul(quatOf(s.fading.turn))
}

// Yaw returns the part of Turn about the Z axis: all of it for things that turn in the plane only.
func (s *Smoother) Yaw() geom.Angle {
	return geom.Angle(s.blend.now.turn.Z + s.fading.turn.Z).Norm()
}

// Idle reports whether nothing is hidden now.
func (s *Smoother) Idle() bool { return s.fading == (pose{}) && s.blend.span == 0 }

func (s *Smoother) by() Smoothing {
	if s.By == nil {
		return Smoothing{}
	}
	return *s.By
}

// compose returns the rotation vector of turning by d first and by the rotation vector v then.
func compose(v geom.Vec3, d geom.Quat) geom.Vec3 {
	if d == (geom.Quat{}) || d == geom.One {
		return v
	}
	return vectorOf(quatOf(v).Mul(d))
}

func quatOf(v geom.Vec3) geom.Quat { return geom.Around(v, geom.Angle(v.Len())) }

// vectorOf returns a rotation's axis times its angle, the short way round: at most π.
func vectorOf(q geom.Quat) geom.Vec3 {
	v := geom.Vec3{X: q.X, Y: q.Y, Z: q.Z}
	n := v.Len()
	if n == 0 {
		return geom.Vec3{}
	}
	if q.W < 0 {
		v, q.W = v.Neg(), -q.W
	}
	return v.Mul(float64(2*geom.Atan2(n, q.W)) / n)
}

// Between returns the rotation that Correct and Blend want for a thing whose rotation was a and is
// b now.
func Between(a, b geom.Quat) geom.Quat { return a.Mul(b.Conj()) }

// BetweenAngles is Between for a thing that turns in the plane.
func BetweenAngles(a, b geom.Angle) geom.Quat { return geom.Around(geom.Vec3{Z: 1}, b.Diff(a)) }
