package playout

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

func newInterpolator(t testing.TB, cfg InterpolatorConfig) *Interpolator {
	t.Helper()
	p, err := NewInterpolator(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestInterpolatorConfig(t *testing.T) {
	for _, c := range []struct {
		cfg  InterpolatorConfig
		want string
	}{
		{InterpolatorConfig{Interval: -1}, "playout: Interval -1ns is outside [0, 10s]"},
		{InterpolatorConfig{Interval: 10*time.Second + 1}, "playout: Interval 10.000000001s is outside [0, 10s]"},
		{InterpolatorConfig{StartDelay: 11 * time.Second}, "playout: StartDelay 11s is more than 10s"},
	} {
		if _, err := NewInterpolator(c.cfg); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.want)
		}
	}
}

const us = clock.Time(time.Microsecond)

// What happens and what is then drawn, at exact times.
//
// seeds: S4 S5 S7
func TestInterpolatorTable(t *testing.T) {
	type step struct {
		at    clock.Time
		what  string // "reset", "push", or "" to look
		seq   wire.Seq
		x     float64 // of the place reset to or pushed
		taken bool
		draw  float64 // x drawn afterwards; y is its negative
	}
	for _, c := range []struct {
		name  string
		cfg   InterpolatorConfig
		steps []step
	}{
		{"one state: that one, for ever", InterpolatorConfig{}, []step{
			{0, "reset", 0, 7, true, 7}, {1 * us, "", 0, 0, true, 7}, {3600 * 1000 * ms, "", 0, 0, true, 7}}},
		{"350 ms: 100 until the second state, 250 more", InterpolatorConfig{}, []step{
			{0, "reset", 0, 0, true, 0},
			{100 * ms, "push", 1, 10, true, 0},
			{200 * ms, "push", 2, 30, true, 0},
			{349 * ms, "", 0, 0, true, 0},
			{350 * ms, "", 0, 0, true, 0},       // the first one's time
			{350*ms + us, "", 0, 0, true, 1e-4}, // 10 a 100 ms: a ten thousandth a microsecond
			{400 * ms, "", 0, 0, true, 5},
			{450 * ms, "", 0, 0, true, 10},         // the second one's time
			{450*ms + us, "", 0, 0, true, 10.0002}, // past it: twice as fast from there on
			{500 * ms, "", 0, 0, true, 20},
			{550 * ms, "", 0, 0, true, 30},
			{550*ms + us, "", 0, 0, true, 30}, // past the last: wait
			{9000 * ms, "", 0, 0, true, 30}}},
		{"a lost state is a longer line", InterpolatorConfig{}, []step{
			{0, "reset", 0, 0, true, 0},
			{100 * ms, "push", 1, 10, true, 0},
			{400 * ms, "push", 4, 70, true, 5}, // 3 x 100 ms after the first one, drawn from 450 ms to 750 ms
			{450 * ms, "", 0, 0, true, 10},
			{550 * ms, "", 0, 0, true, 30},
			{750 * ms, "", 0, 0, true, 70}}},
		{"one that comes late and has its time to come", InterpolatorConfig{}, []step{
			{0, "reset", 0, 0, true, 0},
			{100 * ms, "push", 1, 10, true, 0},
			{310 * ms, "push", 3, 50, true, 0},
			{320 * ms, "push", 2, 0, true, 0},
			{500 * ms, "", 0, 0, true, 5}, // on the way back from 10 to 0
			{600 * ms, "", 0, 0, true, 25}}},
		{"one whose time is over, one that is held, one from before", InterpolatorConfig{}, []step{
			{0, "reset", 0, 0, true, 0},
			{100 * ms, "push", 1, 10, true, 0},
			{400 * ms, "push", 4, 70, true, 5},
			{560 * ms, "push", 2, 999, false, 32}, // it would have been drawn at 550 ms
			{560 * ms, "push", 3, 54, true, 34.2}, // at 650 ms; 110 of 200 ms on the way from 10 to 54 are over
			{560 * ms, "push", 4, 999, false, 34.2},
			{560 * ms, "push", 1, 999, false, 34.2},
			{560 * ms, "push", 0, 999, false, 34.2},
			{560 * ms, "push", 65535, 999, false, 34.2},
			{650 * ms, "", 0, 0, true, 54}}},
		{"after a pause it loads again", InterpolatorConfig{}, []step{
			{0, "reset", 0, 0, true, 0},
			{100 * ms, "push", 1, 10, true, 0},
			{10000 * ms, "push", 2, 20, true, 10},
			{10100 * ms, "push", 3, 30, true, 10},
			{10250 * ms, "", 0, 0, true, 10},
			{10300 * ms, "", 0, 0, true, 15},
			{10450 * ms, "", 0, 0, true, 30}}},
		{"a pause that no one looked at", InterpolatorConfig{}, []step{
			{0, "reset", 0, 0, true, 0},
			{100 * ms, "push", 1, 10, true, 0},
			{10000 * ms, "push", 2, 20, true, 10},
			{10300 * ms, "", 0, 0, true, 15}}},
		{"another player takes the number", InterpolatorConfig{}, []step{
			{0, "reset", 0, 0, true, 0},
			{100 * ms, "push", 1, 10, true, 0},
			{400 * ms, "push", 40000, 999, false, 5}, // more than half the range ahead lies behind
			{400 * ms, "push", 32767, 999, true, 5},
			{410 * ms, "reset", 0, -3, true, -3},
			{500 * ms, "push", 1, -5, true, -3},
			{800 * ms, "", 0, 0, true, -4}}},
		{"20 a second, no start delay", InterpolatorConfig{Interval: 50 * time.Millisecond, StartDelay: -1}, []step{
			{0, "reset", 0, 0, true, 0},
			{50 * ms, "push", 1, 10, true, 0},
			{75 * ms, "", 0, 0, true, 5},
			{100 * ms, "push", 2, 30, true, 10},
			{125 * ms, "", 0, 0, true, 20}}},
	} {
		p := newInterpolator(t, c.cfg)
		for _, s := range c.steps {
			taken, err := true, error(nil)
			switch s.what {
			case "reset":
				p.Reset(geom.Vec2{X: s.x, Y: -s.x})
			case "push":
				taken, err = p.Push(s.at, s.seq, geom.Vec2{X: s.x, Y: -s.x})
			}
			got, err2 := p.Draw(s.at)
			if err != nil || err2 != nil || taken != s.taken || math.Abs(got.X-s.draw) > 1e-9 || math.Abs(got.Y+s.draw) > 1e-9 {
				t.Errorf("%s: at %v %s %d: taken %v, %v, drawn %v, %v; want %v, %v", c.name, time.Duration(s.at), s.what, s.seq, taken, err, got, err2, s.taken, s.draw)
			}
		}
	}
}

// Before Reset there is no place to draw.
//
// seeds: S7
func TestInterpolatorBeforeReset(t *testing.T) {
	var p Interpolator
	if _, err := p.Draw(1); !errors.Is(err, ErrNotReset) {
		t.Errorf("Draw: %v", err)
	}
	if taken, err := p.Push(1, 1, geom.Vec2{}); taken || !errors.Is(err, ErrNotReset) || p.Held() != 0 {
		t.Errorf("Push: %v, %v, %d held", taken, err, p.Held())
	}
	if p.Reset(geom.Vec2{X: 1}); p.Held() != 1 {
		t.Errorf("%d held after Reset", p.Held())
	}
}

// naiveInterpolator does the same with a list that is sorted anew each time and numbers that never wrap.
type naiveInterpolator struct {
	list []naiveState
	at   clock.Time
}

type naiveState struct {
	seq   int64
	place geom.Vec2
}

const naiveInterval = clock.Time(DefaultSendInterval)

func (n *naiveInterpolator) draw(now clock.Time) geom.Vec2 {
	for {
		if len(n.list) == 1 || now <= n.at {
			return n.list[0].place
		}
		second := n.at + clock.Time(n.list[1].seq-n.list[0].seq)*naiveInterval
		if now > second {
			n.list, n.at = n.list[1:], second
			continue
		}
		a, b := n.list[0].place, n.list[1].place
		return a.Add(b.Sub(a).Mul(float64(now-n.at) / float64(second-n.at)))
	}
}

func (n *naiveInterpolator) push(now clock.Time, s naiveState) bool {
	n.draw(now)
	if s.seq <= n.list[0].seq || len(n.list) > 1 && n.at+clock.Time(s.seq-n.list[0].seq)*naiveInterval < now ||
		slices.ContainsFunc(n.list, func(h naiveState) bool { return h.seq == s.seq }) {
		return false
	}
	n.list = append(n.list, s)
	slices.SortFunc(n.list, func(a, b naiveState) int { return int(a.seq - b.seq) })
	if len(n.list) == 2 {
		n.at = now.Add(DefaultStartDelay)
	}
	if len(n.list) > InterpolatorStates {
		n.at += clock.Time(n.list[1].seq-n.list[0].seq) * naiveInterval
		n.list = n.list[1:]
	}
	return true
}

// Whatever arrives in whatever order, wherever numbers wrap: what a sorted list of all states draws is drawn.
//
// seeds: S1 S3
func TestInterpolatorAgainstSortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Interpolator
		var n naiveInterpolator
		var now clock.Time
		newest := int64(0)
		reset := func() {
			place := geom.Vec2{X: float64(rapid.IntRange(-100, 100).Draw(t, "x"))}
			p.Reset(place)
			n = naiveInterpolator{list: []naiveState{{0, place}}}
			newest = 0
		}
		reset()
		if rapid.Bool().Draw(t, "long life") { // as if it had moved for an hour: the numbers are about to wrap
			newest = 65536 - int64(rapid.IntRange(0, 40).Draw(t, "before the wrap"))
			p.states[0].seq, n.list[0].seq = wire.Seq(newest), newest
		}
		push := func(seq int64) {
			place := geom.Vec2{X: float64(rapid.IntRange(-1000, 1000).Draw(t, "x")), Y: float64(seq)}
			got, err := p.Push(now, wire.Seq(seq), place)
			if want := n.push(now, naiveState{seq, place}); got != want || err != nil {
				t.Fatalf("at %v: state %d is taken: %v, %v; want %v", time.Duration(now), seq, got, err, want)
			}
			newest = max(newest, seq)
		}
		t.Repeat(map[string]func(*rapid.T){
			"next":  func(t *rapid.T) { push(newest + 1) },
			"lost":  func(t *rapid.T) { push(newest + int64(rapid.IntRange(2, 30).Draw(t, "gap"))) },
			"late":  func(t *rapid.T) { push(max(newest-int64(rapid.IntRange(0, 40).Draw(t, "back")), 0)) },
			"reset": func(t *rapid.T) { reset() },
			"time": func(t *rapid.T) {
				now += clock.Time(rapid.OneOf(rapid.IntRange(0, 300_000), rapid.IntRange(0, 5_000_000)).Draw(t, "us")) * us
			},
			"burst": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "burst") {
					push(newest + 1)
				}
			},
			"": func(t *rapid.T) {
				got, err := p.Draw(now)
				if want := n.draw(now); got != want || err != nil {
					t.Fatalf("at %v: drawn %v, %v; want %v", time.Duration(now), got, err, want)
				}
				if p.Held() != len(n.list) {
					t.Fatalf("%d held, want %d", p.Held(), len(n.list))
				}
			},
		})
	})
}

// A path of states arrives in order, or shuffled, delayed by up to the start delay, some of it twice: what is drawn is the same, and
// how often one looks changes nothing.
//
// seeds: S2
func TestInterpolatorArrivalOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type arrival struct {
			at  clock.Time
			seq wire.Seq
		}
		const states = 40
		place := func(seq wire.Seq) geom.Vec2 {
			return geom.Vec2{X: geom.Cos(float64(seq) / 3), Y: float64(seq) * 0.7}
		}
		// The second state begins the wait in both cases, so it comes on time; all others may be late.
		inOrder := []arrival{{100 * ms, 1}}
		mixed := []arrival{{100 * ms, 1}}
		for seq := wire.Seq(2); seq <= states; seq++ {
			sent := clock.Time(seq) * 100 * ms
			inOrder = append(inOrder, arrival{sent, seq})
			for range rapid.IntRange(1, 2).Draw(t, "copies") {
				mixed = append(mixed, arrival{sent + clock.Time(rapid.IntRange(0, 149).Draw(t, "late"))*ms, seq})
			}
		}
		slices.SortStableFunc(mixed, func(a, b arrival) int { return int(a.at - b.at) })
		path := func(arrivals []arrival, frame clock.Time) (drawn []geom.Vec2) {
			var p Interpolator
			p.Reset(place(0))
			for now := clock.Time(0); now < (states+5)*100*ms; now += ms {
				for len(arrivals) > 0 && arrivals[0].at <= now {
					if _, err := p.Push(now, arrivals[0].seq, place(arrivals[0].seq)); err != nil {
						t.Fatal(err)
					}
					arrivals = arrivals[1:]
				}
				if now%frame != 0 {
					continue
				}
				at, err := p.Draw(now)
				if err != nil {
					t.Fatal(err)
				}
				if now%(48*ms) == 0 {
					drawn = append(drawn, at)
				}
			}
			return drawn
		}
		want := path(inOrder, ms)
		for _, frame := range []clock.Time{ms, 16 * ms, 48 * ms} {
			if got := path(mixed, frame); !slices.Equal(got, want) {
				t.Fatalf("drawn every %v: %v, want %v", time.Duration(frame), got, want)
			}
		}
	})
}

// A frame of a full lobby allocates nothing.
func TestInterpolatorAllocations(t *testing.T) {
	var lobby [255]Interpolator
	for i := range lobby {
		lobby[i].Reset(geom.Vec2{})
	}
	now, seq := clock.Time(0), wire.Seq(0)
	if n := testing.AllocsPerRun(100, func() {
		now += 100 * ms
		seq++
		for i := range lobby {
			lobby[i].Push(now, seq, geom.Vec2{X: float64(seq)})
			lobby[i].Draw(now)
		}
	}); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}

func BenchmarkInterpolator(b *testing.B) {
	var lobby [255]Interpolator
	for i := range lobby {
		lobby[i].Reset(geom.Vec2{})
	}
	now, seq := clock.Time(0), wire.Seq(0)
	for b.Loop() { // a frame at 60 Hz; each sixth one everybody's state arrives
		now += 16 * ms
		for i := range lobby {
			if now%(96*ms) == 0 {
				lobby[i].Push(now, seq, geom.Vec2{X: float64(seq)})
			}
			lobby[i].Draw(now)
		}
		if now%(96*ms) == 0 {
			seq++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/255, "ns/player")
}

func ExampleInterpolator() {
	var lobby [255]Interpolator // by the player's number
	now := clock.Time(0)
	at := func(millis int) { now = clock.Time(millis) * clock.Time(time.Millisecond) }
	look := func() {
		p, err := lobby[3].Draw(now)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d ms: %.1f %.1f\n", time.Duration(now).Milliseconds(), p.X, p.Y)
	}
	receive := func(datagram []byte) {
		m, _, err := wire.DecodePlaceMessage(datagram)
		if err != nil {
			return // count it
		}
		lobby[m.User].Push(now, m.Seq, geom.Vec2{X: float64(m.X), Y: float64(m.Y)})
	}

	look() // no one has that number yet
	lobby[3].Reset(geom.Vec2{X: 1, Y: 2})
	at(100)
	receive(wire.Place{User: 3, Seq: 1, X: 2, Y: 2}.AppendMessage(nil))
	at(310)
	receive(wire.Place{User: 3, Seq: 3, X: 4, Y: 3}.AppendMessage(nil)) // overtook the one before
	at(320)
	receive(wire.Place{User: 3, Seq: 2, X: 3, Y: 2}.AppendMessage(nil))
	for _, t := range []int{350, 400, 450, 500, 600, 650, 5000} {
		at(t)
		look()
	}
	// Output:
	// playout: Interpolator is used before Reset
	// 350 ms: 1.0 2.0
	// 400 ms: 1.5 2.0
	// 450 ms: 2.0 2.0
	// 500 ms: 2.5 2.0
	// 600 ms: 3.5 2.5
	// 650 ms: 4.0 3.0
	// 5000 ms: 4.0 3.0
}
