package client

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/predict"
)

// mine returns the own avatar's values as they are drawn.
func (p *side) mine() (vals []float64) {
	p.c.Draw(nil, func(e *Entity) {
		if e.Mine {
			vals = append([]float64(nil), e.Vals...)
		}
	})
	return vals
}

// With less prediction the avatar answers that much later, and its shots are shown with it, each
// once; with as much as the way is long it answers at once.
//
// seeds: B19
func TestMaxPrediction(t *testing.T) {
	answers := func(most time.Duration) (moved, shot time.Duration) {
		d := newDuo(t, new(sky).rules(t))
		p := d.join(100*ms, Config{MaxPrediction: most})
		p.play = func() []int64 { return make([]int64, 5) }
		d.run(4 * time.Second)
		press := d.now
		pressed := false
		p.play = func() []int64 {
			cmd := []int64{15, 0, 0, 0, 0}
			if !pressed {
				pressed, press, cmd[3] = true, d.now, 1
			}
			return cmd
		}
		p.events = nil
		p.frame = func() {
			if len(p.counts(0, p.c.Me())) > 0 && shot == 0 {
				shot = time.Duration(d.now - press)
			}
			if v := p.mine(); v[2] > 0.1 && moved == 0 { // velocity
				moved = time.Duration(d.now - press)
			}
		}
		d.run(2 * time.Second)
		if n := p.counts(0, p.c.Me()); len(n) != 1 {
			t.Errorf("most %v: shots shown: %v", most, n)
		}
		p.play = nil
		p.healthy("with less prediction")
		return moved, shot
	}
	for _, c := range []struct{ most, least, longest time.Duration }{
		{0, 0, 34 * time.Millisecond},
		{10 * time.Second, 0, 34 * time.Millisecond},
		{100 * time.Millisecond, 150 * time.Millisecond, 350 * time.Millisecond},
		{1, 250 * time.Millisecond, 450 * time.Millisecond},
	} {
		moved, shot := answers(c.most)
		if moved < c.least || moved > c.longest {
			t.Errorf("at most %v predicted: it moves %v after the press, want %v to %v", c.most, moved, c.least, c.longest)
		}
		if d := (moved - shot).Abs(); d > 40*time.Millisecond {
			t.Errorf("at most %v predicted: it moves %v after the press, its shot is shown after %v", c.most, moved, shot)
		}
	}
}

// While somebody drags the setting to and fro, the avatar is drawn without a jump and without a step
// back, and nobody is corrected.
//
// seeds: B19
func TestMaxPredictionChanges(t *testing.T) {
	d := newDuo(t, new(sky).rules(t))
	p := d.join(100*ms, Config{})
	p.play = func() []int64 { return []int64{15, 0, 0, 0, 0} }
	d.run(4 * time.Second)
	last, frames := p.mine()[0], 0
	p.frame = func() {
		x := p.mine()[0]
		if v := (x - last) * 60; v < 0.2*9 || v > 1.8*9 {
			t.Errorf("frame %d: drawn at %.2f m/s, it moves at 9", frames, v)
		}
		last = x
		if frames++; frames%20 == 0 {
			most := time.Duration(frames%7) * 50 * time.Millisecond
			if err := p.c.SetMaxPrediction(most); err != nil {
				t.Fatal(err)
			}
		}
	}
	d.run(5 * time.Second)
	if p.corrections > 0 || frames < 250 {
		t.Errorf("%d corrections in %d frames", p.corrections, frames)
	}
	if err := p.c.SetMaxPrediction(-1); err == nil || p.c.cfg.MaxPrediction < 0 {
		t.Errorf("%v, and at most %v is predicted", err, p.c.cfg.MaxPrediction)
	}
}

// The same for a ball that the client runs ahead: it rolls on evenly on the screen.
//
// seeds: B19
func TestMaxPredictionChangesBalls(t *testing.T) {
	rules, balls, _ := (&pitch{}).rules(t)
	d := newDuo(t, rules)
	p := d.join(100*ms, Config{})
	p.play = func() []int64 { return make([]int64, rules.Command.Sims) }
	d.run(4 * time.Second)
	for _, b := range balls.All(d.s.World()) {
		b.Vel = geom.Vec2{X: 30} // slows down to 9 m/s within a second
	}
	last, frames, changes := math.NaN(), 0, 0
	p.frame = func() {
		x := math.NaN()
		p.c.Draw(nil, func(e *Entity) {
			if e.Kind == 1 {
				x = e.Vals[0]
			}
		})
		if frames++; frames > 40 { // the kick has arrived, and its correction faded
			if v := (x - last) * 60; !(v > 0) || v > 40 {
				t.Errorf("frame %d: the ball is drawn at %.2f m/s", frames, v)
			}
			if frames%15 == 0 {
				changes++
				if err := p.c.SetMaxPrediction(time.Duration(changes%3) * 100 * time.Millisecond); err != nil {
					t.Fatal(err)
				}
			}
		}
		last = x
	}
	d.run(2 * time.Second)
	if changes < 4 {
		t.Errorf("%d changes", changes)
	}
}

// An event that is taken back before the picture has come to it is not shown at all; one that was
// shown is taken back.
func TestDelayedEventIsWithdrawn(t *testing.T) {
	c := newClient(t)
	q := &c.events
	early, late := Event{Tick: 40, Own: true, Vals: []int64{1}}, Event{Tick: 50, Own: true, Vals: []int64{2}}
	for _, e := range []Event{early, late} {
		q.foreseen.add(e, false)
	}
	q.delayed.add(late)
	q.foreseen.cancel(func(*expected) bool { return true })
	got := q.take()
	if len(got) != 1 || !got[0].Cancelled || got[0].Tick != 40 || len(q.delayed.list) != 0 {
		t.Errorf("shown: %+v, waiting: %+v", got, q.delayed.list)
	}
}

// A correction is hidden in place and turn.
//
// seeds: P8
func TestCorrectionIsHidden(t *testing.T) {
	c := newClient(t)
	r := &c.own
	k := c.rules.Kinds[0]
	state := func(x, aim int64) *engine.Set {
		vals := make([]int64, k.Sims)
		vals[0], vals[k.Props[k.Facing].At] = x, aim
		return &engine.Set{Members: []engine.Member{{ID: 1}}, Vals: vals}
	}
	steps := k.Props[k.Facing].SimTurn
	r.me, c.up.made = 1, 50
	r.ring.Push(50)
	r.ring.Confirm(49, state(0, 0))
	before := r.pose()
	r.ring.Reset()
	r.ring.Confirm(50, state(int64(0.5*k.PlaceProp().Sim), steps/8))
	hide(&r.smooth, before, r.pose())
	if e := r.smooth.Error(); math.Abs(e.X+0.5) > 1e-3 {
		t.Errorf("half a metre forward is hidden by %v", e)
	}
	if d := r.smooth.Yaw().Degrees(); math.Abs(d+45) > 0.1 {
		t.Errorf("an eighth of a turn is hidden by %v°", d)
	}
	r.smooth.Clear()
	from, to := before, r.pose()
	from.parent = 7
	if hide(&r.smooth, from, to); r.smooth.Yaw() != 0 || r.smooth.Error().X == 0 {
		t.Errorf("onto another parent, %v and %v° are hidden; the angles cannot be compared", r.smooth.Error(),
			r.smooth.Yaw().Degrees())
	}
}

// While a correction fades, the avatar and the camera on it are drawn where they were; the eye,
// from which the game aims, is where the rules have it.
func TestEyeIsNotSmoothed(t *testing.T) {
	d := newDuo(t, new(sky).rules(t))
	p := d.join(20*ms, Config{})
	p.play = func() []int64 { return make([]int64, 5) }
	d.run(time.Second)
	was := p.mine()
	p.c.own.smooth.Correct(geom.Vec3{X: 0.5}, geom.Around(geom.Vec3{Z: 1}, 0.25))
	eye, _, ok := p.c.AppendMe(nil)
	facing := p.c.rules.Kinds[0].Props[p.c.rules.Kinds[0].Facing].At
	if drawn := p.mine(); math.Abs(drawn[0]-was[0]-0.5) > 1e-9 || math.Abs(drawn[facing]-was[facing]-0.25) > 1e-9 {
		t.Errorf("drawn at %v, it was at %v", drawn, was)
	}
	if !ok || eye[0] != was[0] || eye[facing] != was[facing] || p.c.OwnOffset().X != 0.5 {
		t.Errorf("the eye is at %v, the rules have it at %v; the picture is %v off", eye, was, p.c.OwnOffset())
	}
}

// The smoothing of a Config is that of the avatar, and changes at any time.
//
// seeds: P8
func TestSmoothingOfAConfig(t *testing.T) {
	classic := predict.Classic()
	for _, c := range []struct {
		name string
		cfg  Config
		set  bool
		tau  float64
	}{
		{"default", Config{}, false, 0.1},
		{"classic", Config{Smoothing: classic}, false, 0.158187},
		{"set later", Config{}, true, 0.158187},
	} {
		d := newDuo(t, new(sky).rules(t))
		p := d.join(20*ms, c.cfg)
		p.play = func() []int64 { return make([]int64, 5) }
		frame := clock.Time(0)
		p.frame = func() { frame = d.now }
		d.run(time.Second)
		if c.set {
			if err := p.c.SetSmoothing(classic, predict.Tolerance{}); err != nil {
				t.Fatal(err)
			}
		}
		p.c.own.smooth.Add(geom.Vec3{X: 0.5})
		from := frame
		d.run(300 * time.Millisecond)
		want := 0.5 * math.Exp(-time.Duration(frame-from).Seconds()/c.tau)
		if got := p.c.OwnOffset().X; math.Abs(got-want) > 0.01*want {
			t.Errorf("%s: of 0.5 m are %v left after %v, want %v", c.name, got, time.Duration(frame-from), want)
		}
	}
}

// A server that moves the avatar by 0.2 mm is a correction where every bit counts, and none within
// the tolerance of the samples; 0.5 mm is one for both. The samples look at place and turn only: a server
// that takes a shot away is not believed.
//
// seeds: P4
func TestTolerance(t *testing.T) {
	run := func(by float64, ammo int, tolerance predict.Tolerance) int {
		s := new(sky)
		nudge := game.Tick(0)
		s.referee = func(w *game.World) {
			for _, p := range pilots.All(w) {
				if w.Tick() > 60 && nudge == 0 {
					nudge = w.Tick()
					p.Pos.X += by
					p.Ammo -= ammo
				}
			}
		}
		d := newDuo(t, s.rules(t))
		p := d.join(30*ms, Config{Tolerance: tolerance})
		p.play = func() []int64 { return make([]int64, 5) }
		d.run(4 * time.Second)
		return p.corrections
	}
	for _, c := range []struct {
		by            float64
		ammo          int
		exact, within int
	}{{0.0002, 0, 1, 0}, {0.0005, 0, 1, 1}, {0, 1, 1, 0}} {
		if n := run(c.by, c.ammo, predict.Tolerance{}); n != c.exact {
			t.Errorf("%v m, %d shots, exact: %d corrections, want %d", c.by, c.ammo, n, c.exact)
		}
		if n := run(c.by, c.ammo, predict.ClassicTolerance()); n != c.within {
			t.Errorf("%v m, %d shots, classic: %d corrections, want %d", c.by, c.ammo, n, c.within)
		}
	}
}

// What New refuses, the setters refuse, and change nothing.
func TestPredictionIsChecked(t *testing.T) {
	c := newClient(t)
	was := c.cfg
	for want, err := range map[string]error{
		"Smoothing.Tau -1ns": c.SetSmoothing(predict.Smoothing{Tau: -1}, predict.Tolerance{}),
		"Tolerance.Place -1": c.SetSmoothing(predict.Smoothing{}, predict.Tolerance{Place: -1}),
		"MaxPrediction -1ns": c.SetMaxPrediction(-1),
	} {
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "client: ") {
			t.Errorf("%v, want something about %s", err, want)
		}
	}
	if !reflect.DeepEqual(c.cfg, was) {
		t.Errorf("%+v", c.cfg)
	}
}
