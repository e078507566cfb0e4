package predict

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meanwhile/geom"
)

// left returns what a Smoother that hides 1.5 m and 80 degrees still hides at some instants, given
// in sixtieths of a second, at a frame rate: metres and radians.
func left(by *Smoothing, fps int, sixtieths []int) (place, turn []float64) {
	s := Smoother{By: by}
	s.Correct(geom.Vec3{X: 1.2, Z: -0.9}, geom.Around(geom.Vec3{X: 1, Y: 2, Z: 3}, 80*geom.Degree))
	frame := 0
	for _, at := range sixtieths {
		for ; (frame+1)*60 <= at*fps; frame++ {
			s.Step(1 / float64(fps))
		}
		rest := float64(at)/60 - float64(frame)/float64(fps)
		between := s // what the next frame would show, if it came now
		between.Step(rest)
		place = append(place, between.Error().Len())
		turn = append(turn, vectorOf(between.Turn()).Len())
	}
	return place, turn
}

// shrunk returns what is left of 1.5 m after some seconds, in small steps: it shrinks by its
// tau-th part a second, and no faster than most.
func shrunk(seconds, tau, most float64) float64 {
	const dt = 1e-5
	left := 1.5
	for range int(seconds / dt) {
		left -= dt * min(left/tau, most)
	}
	return left
}

// A step of 1.5 m and 80 degrees fades alike at 30, 60 and 144 frames a second, within 1 %, and as
// the time constants and the largest speed say.
//
// seeds: P8
func TestStepResponse(t *testing.T) {
	classic := Classic()
	at := []int{2, 4, 6, 12, 30, 60}
	for _, c := range []struct {
		name            string
		by              *Smoothing
		tau, turn, most float64
	}{
		{"default", nil, 0.1, 0.1, 8},
		{"classic", &classic, 0.158187, 0.158187, math.Inf(1)},
		{"own", &Smoothing{Tau: 200 * time.Millisecond, TurnTau: 50 * time.Millisecond, MaxSpeed: 3}, 0.2, 0.05, 3},
	} {
		for _, fps := range []int{30, 60, 144} {
			place, turn := left(c.by, fps, at)
			for i, n := range at {
				x := float64(n) / 60
				wantPlace, wantTurn := shrunk(x, c.tau, c.most), 80*math.Pi/180*math.Exp(-x/c.turn)
				if math.Abs(place[i]-wantPlace) > 0.01*wantPlace {
					t.Errorf("%s, %d fps after %.3f s: %.6f m left, want %.6f", c.name, fps, x, place[i], wantPlace)
				}
				if math.Abs(turn[i]-wantTurn) > 0.01*wantTurn+gone {
					t.Errorf("%s, %d fps after %.3f s: %.6f rad left, want %.6f", c.name, fps, x, turn[i], wantTurn)
				}
			}
		}
	}
}

// At 60 frames a second the classic smoothing does what the samples do in each frame: 0.9 of the
// offset, slerp by 0.1 towards no rotation. From 2 m on neither is hidden.
//
// seeds: P8
func TestClassicIsTheSamples(t *testing.T) {
	by := Classic()
	s := Smoother{By: &by}
	s.Correct(geom.Vec3{X: 1.9}, geom.Around(geom.Vec3{Z: 1}, 170*geom.Degree))
	place, turn := 1.9, 170*math.Pi/180
	for frame := range 60 {
		place, turn = 0.9*place, 0.9*turn
		if got := s.Step(1.0 / 60).X; math.Abs(got-place) > 1e-6*place {
			t.Fatalf("frame %d: %.9f m, want %.9f", frame, got, place)
		}
		if got := float64(s.Yaw()); math.Abs(got-turn) > 1e-6*turn {
			t.Fatalf("frame %d: %.9f rad, want %.9f", frame, got, turn)
		}
	}
	s.Clear()
	if s.Add(geom.Vec3{X: 2}); s.Error().X != 2 {
		t.Errorf("at 2 m: %v", s.Error())
	}
	s.Clear()
	s.Correct(geom.Vec3{X: 2.01}, geom.Around(geom.Vec3{Z: 1}, 1))
	if !s.Idle() {
		t.Errorf("2.01 m are hidden: %v, %v rad", s.Error(), s.Yaw())
	}
}

// The limits of the samples, as they write them: the squared offset, and 1 minus the dot product.
//
// seeds: P4
func TestClassicTolerance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		place := geom.Vec3{X: rapid.Float64Range(-4e-4, 4e-4).Draw(t, "x"), Y: rapid.Float64Range(-4e-4, 4e-4).Draw(t, "y")}
		angle := rapid.Float64Range(-0.012, 0.012).Draw(t, "angle")
		turn := geom.Around(geom.Vec3{X: 1, Z: -2}, geom.Angle(angle))
		squared, off := place.Len2(), 1-turn.Dot(geom.One)
		if math.Abs(squared-1e-7) < 1e-13 || math.Abs(off-1e-5) < 1e-11 {
			t.Skip("on the edge")
		}
		if got, want := ClassicTolerance().Within(place, turn), squared <= 1e-7 && off <= 1e-5; got != want {
			t.Fatalf("%v m² and %v: within is %v, want %v", squared, off, got, want)
		}
	})
	if ClassicTolerance().Exact() || !(Tolerance{}).Exact() {
		t.Error("only the zero Tolerance is exact")
	}
}

// What is hidden adds up, and what is too much is shown at once.
//
// seeds: P8
func TestSnap(t *testing.T) {
	z := func(degrees geom.Angle) geom.Quat { return geom.Around(geom.Vec3{Z: 1}, degrees*geom.Degree) }
	var s Smoother
	if s.Error() != (geom.Vec3{}) || s.Step(1) != (geom.Vec3{}) || s.Turn() != geom.One || !s.Idle() {
		t.Error("a new Smoother moves something")
	}
	s.Correct(geom.Vec3{X: 3.9}, z(50))
	s.Correct(geom.Vec3{}, z(30))
	if s.Error().X != 3.9 || math.Abs(s.Yaw().Degrees()-80) > 1e-9 {
		t.Errorf("below 4 m and 90°: %v, %v°", s.Error(), s.Yaw().Degrees())
	}
	if s.Correct(geom.Vec3{}, z(11)); s.Error().X != 3.9 || s.Yaw() != 0 {
		t.Errorf("91° in all: %v, %v°", s.Error(), s.Yaw().Degrees())
	}
	s.Correct(geom.Vec3{}, z(-20))
	if s.Add(geom.Vec3{X: 0.2}); !s.Idle() {
		t.Errorf("4.1 m in all: %v, %v°", s.Error(), s.Yaw().Degrees())
	}
	s.Add(geom.Vec3{Y: -1})
	if s.Step(0); s.Step(-1).Y != -1 {
		t.Error("no time passed, and the error faded")
	}
	if s.Clear(); !s.Idle() || s.Error() != (geom.Vec3{}) {
		t.Error("cleared")
	}
	s.By = &Smoothing{Snap: 10, SnapAngle: 0.1}
	s.Correct(geom.Vec3{X: 9}, z(5))
	if s.Error().X != 9 || s.Yaw() == 0 {
		t.Errorf("below the own limits: %v, %v", s.Error(), s.Yaw())
	}
	if s.Add(geom.Vec3{X: 2}); !s.Idle() {
		t.Errorf("beyond the own limit: %v", s.Error())
	}
	if s.Add(geom.Vec3{X: math.NaN()}); !s.Idle() {
		t.Error("a place that is no number is hidden")
	}
	if s.Blend(geom.Vec3{X: math.Inf(1)}, geom.Quat{}, time.Second); !s.Idle() {
		t.Error("a place that is infinite is blended")
	}
}

// A correction by less than is shown at once is never drawn as a step of more than 15 cm at 60
// frames a second, however many come.
func TestNoStepIsLarge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Smoother
		is, last := geom.Vec3{}, geom.Vec3{}
		for range 60 {
			if rapid.IntRange(0, 5).Draw(t, "corrected") == 0 {
				by := geom.Vec3{X: rapid.Float64Range(-2, 2).Draw(t, "x"), Y: rapid.Float64Range(-2, 2).Draw(t, "y")}
				if s.Error().Sub(by).Len() > 3.9 {
					continue
				}
				is = is.Add(by)
				s.Add(by.Neg())
			}
			s.Step(1.0 / 60)
			drawn := is.Add(s.Error())
			if d := drawn.Dist(last); d > 0.15 {
				t.Fatalf("a step of %.3f m", d)
			}
			last = drawn
		}
	})
}

// What has faded is gone: nothing is computed for a thing that stands still, and nothing that is
// drawn changes any more.
func TestFadedIsGone(t *testing.T) {
	var s Smoother
	s.Correct(geom.Vec3{X: 1}, geom.Around(geom.Vec3{Z: 1}, 1))
	s.Blend(geom.Vec3{X: 1}, geom.Quat{}, 200*time.Millisecond)
	for range 60 * 3 {
		s.Step(1.0 / 60)
	}
	if !s.Idle() || s.Error() != (geom.Vec3{}) || s.Turn() != geom.One {
		t.Errorf("after three seconds %v, %v", s.Error(), s.Turn())
	}
}

// A thing that turns is drawn where it was before each correction, whatever the axes.
func TestTurnsAreHidden(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Smoother{By: &Smoothing{SnapAngle: geom.Pi}}
		draw := func(name string, most float64) geom.Quat {
			r := rapid.Float64Range(-1, 1)
			axis := geom.Vec3{X: r.Draw(t, name+" x"), Y: r.Draw(t, name+" y"), Z: r.Draw(t, name+" z")}
			return geom.Around(axis, geom.Angle(rapid.Float64Range(-most, most).Draw(t, name)))
		}
		is := draw("first", 3)
		for i := range rapid.IntRange(1, 4).Draw(t, "corrections") {
			shown := s.Turn().Mul(is)
			next := draw("error", 0.7).Mul(is)
			if rapid.Bool().Draw(t, "negative") { // the same rotation
				next = geom.Quat{W: -next.W, X: -next.X, Y: -next.Y, Z: -next.Z}
			}
			if i%2 == 0 {
				s.Correct(geom.Vec3{}, Between(is, next))
			} else {
				s.Blend(geom.Vec3{}, Between(is, next), 100*time.Millisecond)
			}
			is = next
			if d := vectorOf(Between(shown, s.Turn().Mul(is))).Len(); d > 1e-6 {
				t.Fatalf("the picture turned by %v rad", d)
			}
			s.Step(rapid.Float64Range(0, 0.5).Draw(t, "dt"))
		}
	})
}

// A thing that moves evenly joins the predicted set and leaves it, again and again, also before the
// last change has faded. The picture never steps back, its speed stays within 0.3 and 1.7 of the
// true one, and never jumps. Where the gap between the timelines is another one each time, the
// bounds are 0 and 1.8.
func TestBlendNeverStepsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const v = 20.0 // m/s
		gap := time.Duration(rapid.IntRange(40, 600).Draw(t, "gap ms")) * time.Millisecond
		fps := float64(rapid.SampledFrom([]int{30, 60, 144, 1000}).Draw(t, "fps"))
		switches := rapid.SliceOfN(rapid.IntRange(0, 2*int(gap.Seconds()*blendSpans*fps)), 1, 12).Draw(t, "frames between")
		slowest, fastest, spread := 0.3, 1.7, 0
		if rapid.Bool().Draw(t, "gap changes") {
			slowest, fastest, spread = 0, 1.8, 3
		}
		var s Smoother
		dir := geom.Vec3{X: v * 0.6, Y: v * 0.8}
		ahead, now := 0.0, 0.0
		place := func() float64 { return dir.Mul(now+ahead).Add(s.Error()).Dot(dir) / v }
		last, speed := place(), v
		step := func(frames int) {
			for range frames {
				now += 1 / fps
				s.Step(1 / fps)
				is := place()
				before := speed
				speed = (is - last) * fps
				last = is
				if speed < slowest*v || speed > fastest*v {
					t.Fatalf("drawn at %.3f of its speed", speed/v)
				}
				// 6v/T per second, T the shortest span; plus what a change in mid-blend adds.
				if most := 8 * v / (blendSpans * fps * gap.Seconds()); math.Abs(speed-before) > most {
					t.Fatalf("its speed jumps by %.3f of it, at most %.3f is smooth", math.Abs(speed-before)/v, most/v)
				}
			}
		}
		for _, frames := range switches {
			next := 0.0
			if ahead == 0 {
				next = gap.Seconds() * (1 + float64(rapid.IntRange(0, spread).Draw(t, "wider")))
			}
			further := next - ahead
			s.Blend(dir.Mul(-further), geom.Quat{}, time.Duration(further*1e9))
			ahead = next
			if d := place() - last; math.Abs(d) > 1e-9 {
				t.Fatalf("the picture jumps by %v m", d)
			}
			step(frames)
		}
		step(int(blendSpans*gap.Seconds()*float64(1+spread)*fps) + 2)
		if !s.Idle() || math.Abs(speed-v) > 1e-6 {
			t.Fatalf("in the end %v m are left, at %v m/s", s.Error(), speed)
		}
	})
}

// A thing leaves a timeline that is far ahead and joins one that is little ahead, at once: what is
// left of the first blend takes as long as it would have taken.
func TestBlendIsNotHurried(t *testing.T) {
	var s Smoother
	s.Blend(geom.Vec3{X: 0.6}, geom.Quat{}, 600*time.Millisecond)
	s.Step(0.1)
	s.Blend(geom.Vec3{X: -0.1}, geom.Quat{}, 100*time.Millisecond)
	for frame := range 120 {
		before := s.Error().X
		if v := 1 + 60*(s.Step(1.0/60).X-before); v < 0.3 {
			t.Fatalf("frame %d: drawn at %.3f of its speed", frame, v)
		}
	}
}

// A blend, too, is the same at all frame rates.
//
// seeds: P8
func TestBlendStepResponse(t *testing.T) {
	shown := func(fps int) (at []float64) {
		var s Smoother
		s.Blend(geom.Vec3{X: 1}, BetweenAngles(0.5, 0), 150*time.Millisecond)
		for i := 1; i <= fps/2; i++ {
			if s.Step(1 / float64(fps)); i%(fps/6) == 0 {
				at = append(at, s.Error().X, float64(s.Yaw()))
			}
		}
		return at
	}
	want := shown(30)
	for _, fps := range []int{60, 144} {
		for i, got := range shown(fps) {
			if math.Abs(got-want[i]) > 0.01*want[i] {
				t.Errorf("%d fps: %v, at 30 fps %v", fps, got, want[i])
			}
		}
	}
}

func TestSmoothingIsChecked(t *testing.T) {
	for _, c := range []struct {
		by   Smoothing
		want string
	}{
		{Smoothing{}, ""}, {Classic(), ""}, {Smoothing{Tau: MaxTau, Snap: math.Inf(1)}, ""},
		{Smoothing{Tau: -1}, "Tau"}, {Smoothing{Tau: MaxTau + 1}, "Tau"}, {Smoothing{TurnTau: -1}, "TurnTau"},
		{Smoothing{Snap: -1}, "Snap"}, {Smoothing{MaxSpeed: -1}, "MaxSpeed"}, {Smoothing{Snap: math.NaN()}, "Snap"},
		{Smoothing{SnapAngle: -1}, "SnapAngle"},
	} {
		err := c.by.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), "."+c.want+" ") {
			t.Errorf("%+v: %v, want %q", c.by, err, c.want)
		}
	}
	for _, bad := range []Tolerance{{Place: -1}, {Turn: -1}, {Place: math.NaN()}} {
		if bad.Check() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if err := ClassicTolerance().Check(); err != nil {
		t.Error(err)
	}
}

func TestSmoothingAllocatesNothing(t *testing.T) {
	var s Smoother
	if n := testing.AllocsPerRun(100, func() {
		s.Correct(geom.Vec3{X: 0.1}, geom.Around(geom.Vec3{Z: 1}, 0.1))
		s.Blend(geom.Vec3{X: 0.1}, geom.Quat{}, time.Second)
		s.Step(0.01)
		s.Turn()
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkSmoother(b *testing.B) {
	var s Smoother
	for b.Loop() {
		s.Add(geom.Vec3{X: 0.01})
		s.Step(1.0 / 60)
	}
}

func ExampleSmoother() {
	var s Smoother
	s.Add(geom.Vec3{X: 0.5}) // a correction moved the avatar half a metre: draw it where it was
	for range 3 {
		fmt.Printf("%.2f ", s.Step(0.1).X) // and let that fade
	}
	// Output: 0.18 0.07 0.02
}

// A ball that rolls at 10 m/s was drawn 100 ms in the past, and is predicted 100 ms ahead from now
// on: 2 m further. It is drawn a little faster until it has arrived there.
func ExampleSmoother_Blend() {
	const gap = 200 * time.Millisecond
	old, predicted := geom.Vec3{X: 1}, geom.Vec3{X: 3}
	var s Smoother
	s.Blend(old.Sub(predicted), geom.Quat{}, gap)
	for range 6 {
		predicted.X += 1
		fmt.Printf("%.1f ", predicted.Add(s.Step(0.1)).X)
	}
	// Output: 2.2 3.7 5.3 6.8 8.0 9.0
}
