package lab

import (
	"fmt"
	"math"
	"time"

	"meanwhile/geom"
	"meanwhile/netcode/predict"
)

var smoothingExperiment = &experiment{
	name:  "smoothing",
	about: "how a correction fades, and a change from one timeline to another, at 30, 60 and 144 frames a second",
	notes: `No network: one thing is drawn. Change <b>correction</b>: the thing stands, and is corrected by
1 m and 60 degrees. <b>meanwhile</b> fades with 100 ms, and no faster than 8 m/s. <b>place_100ms_cm</b>,
<b>turn_100ms_deg</b> and so on are what is left of that, between two frames as the line between them.
<b>deviation_pct</b> is the largest difference of a frame of the first half second from what the policy leaves
of it at that instant in one step, or, of per-frame, at 60 frames a second. <b>classic</b> is the offset times
0.9 and a slerp by 0.1 per frame as samples show it, in the form of package predict, which does not depend on
the frame rate; <b>per-frame</b> is the same as the samples have it, once a frame. Change <b>join</b>: a thing
moves at 10 m/s and is drawn 200 ms in the past; from then on it is drawn 200 ms later in time, as when it joins
the predicted set. Change <b>leave</b> is the opposite. <b>slowest_share</b> and <b>fastest_share</b> are the
drawn speed over the true one, below 0 where the picture steps back; <b>jerk_share</b> is the largest change of
it from one frame to the next, <b>settled_ms</b> the time until less than 1 cm is left.`,
	takes:    byPolicy,
	policies: []string{ours, classicSmoothing, perFrame, unsmoothed},
	run:      runSmoothing,
}

// Policies of experiment smoothing.
const (
	classicSmoothing = "classic"
	perFrame         = "per-frame"
	unsmoothed       = "none"
)

// frameRates are those of the step responses, frames a second.
var frameRates = []int{30, 60, 144}

const (
	stepPlace   = 1.0              // metres
	stepTurn    = 60 * geom.Degree // of a correction
	stepSpeed   = 10.0             // metres a second, of a thing that changes its timeline
	stepGap     = 200 * time.Millisecond
	stepSpan    = time.Second // that is looked at
	perFrameOf  = 0.9         // what samples keep of the offset in each frame
	closeEnough = 0.01        // metres
)

// hidden is what a policy hides of a step: metres along it, and radians.
type hidden interface {
	correct(place float64, turn geom.Angle)
	change(place float64, gap time.Duration) // to another timeline
	step(dt float64) (place float64, turn geom.Angle)
}

func newHidden(policy string) hidden {
	switch policy {
	case ours:
		return &smoothed{}
	case classicSmoothing:
		by := predict.Classic()
		return &smoothed{Smoother: predict.Smoother{By: &by}, corrects: true}
	case perFrame:
		return &everyFrame{keep: perFrameOf}
	}
	return &everyFrame{}
}

// smoothed is package predict.
type smoothed struct {
	predict.Smoother
	corrects bool // a change of timelines as if it were a correction: there is no blend
}

func (s *smoothed) correct(place float64, turn geom.Angle) {
	s.Correct(geom.Vec3{X: place}, predict.BetweenAngles(turn, 0))
}

func (s *smoothed) change(place float64, gap time.Duration) {
	if s.corrects {
		s.Correct(geom.Vec3{X: place}, geom.Quat{})
		return
	}
	s.Blend(geom.Vec3{X: place}, geom.Quat{}, gap)
}

func (s *smoothed) step(dt float64) (float64, geom.Angle) { return s.Step(dt).X, s.Yaw() }

// everyFrame keeps a share of the error in each frame, whatever its length; 0 hides nothing.
type everyFrame struct{ keep, place, turn float64 }

func (s *everyFrame) correct(place float64, turn geom.Angle) { s.place, s.turn = place, float64(turn) }
func (s *everyFrame) change(place float64, _ time.Duration)  { s.place = place }
func (s *everyFrame) step(float64) (place float64, _ geom.Angle) {
	s.place, s.turn = float64(s.place*s.keep), float64(s.turn*s.keep)
	return s.place, geom.Angle(s.turn)
}

// fading is what is left after each frame of a second: metres, and degrees.
type fading struct{ place, turn []xy }

func fadingOf(policy string, fps int) (f fading) {
	h := newHidden(policy)
	h.correct(stepPlace, stepTurn)
	f = fading{[]xy{{0, stepPlace}}, []xy{{0, stepTurn.Degrees()}}}
	for i := 1; i <= int(stepSpan.Seconds()*float64(fps)); i++ {
		place, turn := h.step(1 / float64(fps))
		at := float64(i) / float64(fps)
		f.place = append(f.place, xy{at, place})
		f.turn = append(f.turn, xy{at, turn.Degrees()})
	}
	return f
}

// after returns the value at an instant, in seconds, on the line between the frames around it.
func after(at []xy, seconds float64) float64 {
	for i := 1; i < len(at); i++ {
		if a, b := at[i-1], at[i]; b.x >= seconds {
			return a.y + (b.y-a.y)*(seconds-a.x)/(b.x-a.x)
		}
	}
	return at[len(at)-1].y
}

// deviation returns by how many percent the fading at a frame rate differs at most from that of the
// policy when the whole span is one frame; where that would be another fading, from that at 60
// frames a second.
func deviation(policy string, f fading) float64 {
	worst := 0.0
	for _, p := range f.place {
		want := math.Pow(perFrameOf, 60*p.x)
		if policy != perFrame {
			h := newHidden(policy)
			h.correct(stepPlace, stepTurn)
			want, _ = h.step(p.x)
		}
		if p.x <= 0.5 {
			worst = max(worst, 100*math.Abs(p.y-want)/want)
		}
	}
	return worst
}

// switched is how a moving thing is drawn that changes its timeline: its place in metres less that
// of the timeline it was on, and its speed as a share of the true one, after each frame.
type switched struct {
	place, speed []xy
	settled      float64 // seconds
}

func switchOf(policy string, fps int, sign float64) (s switched) {
	h := newHidden(policy)
	ahead := sign * stepSpeed * stepGap.Seconds()
	h.change(-ahead, stepGap)
	last, now := 0.0, 0.0
	for i := 1; i <= int(stepSpan.Seconds()*float64(fps)); i++ {
		at := float64(i) / float64(fps)
		left, _ := h.step(1 / float64(fps))
		now = stepSpeed*at + ahead + left
		s.place = append(s.place, xy{at, now - stepSpeed*at})
		s.speed = append(s.speed, xy{at, (now - last) * float64(fps) / stepSpeed})
		last = now
		if math.Abs(left) > closeEnough {
			s.settled = at
		}
	}
	return s
}

func runSmoothing(r *run) error {
	for _, policy := range r.chosen {
		for _, fps := range frameRates {
			if policy == unsmoothed {
				break // there is nothing to fade
			}
			f := fadingOf(policy, fps)
			r.emit(Row{r.name, "", policy, r.seed, r.params(Value{"change", "correction"}, Value{"frame_hz", fps}), Values{
				{"place_100ms_cm", 100 * after(f.place, 0.1)}, {"place_300ms_cm", 100 * after(f.place, 0.3)},
				{"turn_100ms_deg", after(f.turn, 0.1)}, {"turn_300ms_deg", after(f.turn, 0.3)},
				{"deviation_pct", deviation(policy, f)},
			}})
		}
		for _, change := range []struct {
			name string
			sign float64
		}{{"join", 1}, {"leave", -1}} {
			s := switchOf(policy, 60, change.sign)
			slowest, fastest, jerk, before := math.Inf(1), math.Inf(-1), 0.0, 1.0
			for _, v := range s.speed {
				slowest, fastest = min(slowest, v.y), max(fastest, v.y)
				jerk = max(jerk, math.Abs(v.y-before))
				before = v.y
			}
			r.emit(Row{r.name, "", policy, r.seed, r.params(Value{"change", change.name}, Value{"frame_hz", 60}), Values{
				{"slowest_share", slowest}, {"fastest_share", fastest}, {"jerk_share", jerk},
				{"settled_ms", 1000 * s.settled},
			}})
		}
	}
	if r.drawing {
		r.figures = append(r.figures, stepFigure(), switchFigure())
	}
	return nil
}

// stepFigure draws the step response of corrections at three frame rates.
func stepFigure() figure {
	f := figure{title: "Step response: what is left of a correction by 1 m", x: "milliseconds", y: "cm", dots: true,
		file: "predict-step", answers: answers{predictionArticle, "smoothing"},
		caption: "The article keeps 0.9 of the error in each frame: another fading at each frame rate. Ours is the same at " +
			"all three, and its lines lie on each other."}
	for _, policy := range []string{ours, perFrame} {
		for _, fps := range frameRates {
			name := fmt.Sprintf("%s, %d fps", policy, fps)
			if policy == ours && fps == 60 {
				name = ours
			}
			var at []xy
			for _, p := range fadingOf(policy, fps).place {
				if p.x <= 0.5 {
					at = append(at, xy{1000 * p.x, 100 * p.y})
				}
			}
			f.lines = append(f.lines, line{name: name, at: at})
		}
	}
	return f
}

// switchFigure draws the speed of a thing that joins the predicted set, and leaves it half a second
// later.
func switchFigure() figure {
	f := figure{title: "A thing at 10 m/s joins the predicted set (200 ms apart), and leaves it after a second",
		x: "milliseconds", y: "drawn speed / true speed (clipped at 4)", clip: 4, file: "predict-join",
		caption: "A change of timelines is spread: the thing never steps back, and is never more than 1.6 times as fast."}
	for _, policy := range []string{ours, classicSmoothing, unsmoothed} {
		at := []xy{{0, 1}}
		for i, sign := range []float64{1, -1} {
			for _, p := range switchOf(policy, 60, sign).speed {
				at = append(at, xy{1000 * (p.x + float64(i)*stepSpan.Seconds()), p.y})
			}
		}
		f.lines = append(f.lines, line{name: policy, at: at})
	}
	return f
}
