package lobby

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

const (
	us = clock.Time(time.Microsecond)
	ms = clock.Time(time.Millisecond)
)

func newInterpolator(t testing.TB, cfg Config) *Interpolator {
	t.Helper()
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Interval: -1}, "lobby: Interval -1ns is outside [0, 10s]"},
		{Config{Interval: 10*time.Second + 1}, "lobby: Interval 10.000000001s is outside [0, 10s]"},
		{Config{StartDelay: 11 * time.Second}, "lobby: StartDelay 11s is more than 10s"},
	} {
		if _, err := New(c.cfg); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.want)
		}
	}
}

// Scripts of states and the places that are drawn, at exact times.
//
// seeds: S4 S5 S7
func TestScripts(t *testing.T) {
	type step struct {
		at    clock.Time
		what  string // "reset", "push", or "" to draw only
		seq   wire.Seq
		x     float64 // of the place given to Reset or Push
		added bool    // what Push reports; true for the others
		draw  float64 // x drawn afterwards; y is its negative
	}
	for _, c := range []struct {
		name  string
		cfg   Config
		steps []step
	}{
		{"one state: the player stands there", Config{}, []step{
			{0, "reset", 0, 7, true, 7}, {1 * us, "", 0, 0, true, 7}, {3600 * 1000 * ms, "", 0, 0, true, 7}}},
		{"350 ms late: 100 until the second state, 250 more", Config{}, []step{
			{0, "reset", 0, 0, true, 0},
			{100 * ms, "push", 1, 10, true, 0},
			{200 * ms, "push", 2, 30, true, 0},
			{349 * ms, "", 0, 0, true, 0},
			{350 * ms, "", 0, 0, true, 0},       // the first state
			{350*ms + us, "", 0, 0, true, 1e-4}, // 10 in 100 ms: 0.0001 in a microsecond
			{400 * ms, "", 0, 0, true, 5},
			{450 * ms, "", 0, 0, true, 10},         // the second state
			{450*ms + us, "", 0, 0, true, 10.0002}, // twice as fast from there on
			{500 * ms, "", 0, 0, true, 20},
			{550 * ms, "", 0, 0, true, 30},
			{550*ms + us, "", 0, 0, true, 30}, // past the last state: it waits
			{9000 * ms, "", 0, 0, true, 30}}},
		{"lost states are bridged by a line", Config{}, []step{
			{0, "reset", 0, 0, true, 0},
			{100 * ms, "push", 1, 10, true, 0},
			{400 * ms, "push", 4, 70, true, 5}, // 300 ms after state 1: drawn from 450 ms to 750 ms
			{450 * ms, "", 0, 0, true, 10},
			{550 * ms, "", 0, 0, true, 30},
			{750 * ms, "", 0, 0, true, 70}}},
		{"a late state that is not due yet is sorted in", Config{}, []step{
			{0, "reset", 0, 0, true, 0},
			{100 * ms, "push", 1, 10, true, 0},
			{310 * ms, "push", 3, 50, true, 0},
			{320 * ms, "push", 2, 0, true, 0},
			{500 * ms, "", 0, 0, true, 5}, // on the way back from 10 to 0
			{600 * ms, "", 0, 0, true, 25}}},
		{"states that are overdue, duplicate or older than drawn are dropped", Config{}, []step{
			{0, "reset", 0, 0, true, 0},
			{100 * ms, "push", 1, 10, true, 0},
			{400 * ms, "push", 4, 70, true, 5},
			{560 * ms, "push", 2, 999, false, 32}, // it was due at 550 ms
			{560 * ms, "push", 3, 54, true, 34.2}, // due at 650 ms; 110 of the 200 ms from 10 to 54 are over
			{560 * ms, "push", 4, 999, false, 34.2},
			{560 * ms, "push", 1, 999, false, 34.2},
			{560 * ms, "push", 0, 999, false, 34.2},
			{560 * ms, "push", 65535, 999, false, 34.2},
			{650 * ms, "", 0, 0, true, 54}}},
		{"after a pause the start delay runs again", Config{}, []step{
			{0, "reset", 0, 0, true, 0},
			{100 * ms, "push", 1, 10, true, 0},
			{10000 * ms, "push", 2, 20, true, 10},
			{10100 * ms, "push", 3, 30, true, 10},
			{10250 * ms, "", 0, 0, true, 10},
			{10300 * ms, "", 0, 0, true, 15},
			{10450 * ms, "", 0, 0, true, 30}}},
		{"a pause in which nobody drew", Config{}, []step{
			{0, "reset", 0, 0, true, 0},
			{100 * ms, "push", 1, 10, true, 0},
			{10000 * ms, "push", 2, 20, true, 10},
			{10300 * ms, "", 0, 0, true, 15}}},
		{"another player is given the number", Config{}, []step{
			{0, "reset", 0, 0, true, 0},
			{100 * ms, "push", 1, 10, true, 0},
			{400 * ms, "push", 40000, 999, false, 5}, // more than half the range ahead is behind
			{400 * ms, "push", 32767, 999, true, 5},
			{410 * ms, "reset", 0, -3, true, -3},
			{500 * ms, "push", 1, -5, true, -3},
			{800 * ms, "", 0, 0, true, -4}}},
		{"a reset in the middle of a walk: numbers begin again", Config{}, []step{
			{0, "reset", 0, 0, true, 0},
			{100 * ms, "push", 1, 10, true, 0},
			{200 * ms, "push", 2, 20, true, 0},
			{500 * ms, "", 0, 0, true, 15},
			{500 * ms, "reset", 0, -3, true, -3},
			{600 * ms, "push", 1, -5, true, -3},
			{900 * ms, "", 0, 0, true, -4},
			{950 * ms, "", 0, 0, true, -5}}},
		{"20 a second, no start delay", Config{Interval: 50 * time.Millisecond, StartDelay: -1}, []step{
			{0, "reset", 0, 0, true, 0},
			{50 * ms, "push", 1, 10, true, 0},
			{75 * ms, "", 0, 0, true, 5},
			{100 * ms, "push", 2, 30, true, 10},
			{125 * ms, "", 0, 0, true, 20}}},
	} {
		p := newInterpolator(t, c.cfg)
		for _, s := range c.steps {
			added, err := true, error(nil)
			switch s.what {
			case "reset":
				p.Reset(geom.Vec2{X: s.x, Y: -s.x})
			case "push":
				added, err = p.Push(s.at, s.seq, geom.Vec2{X: s.x, Y: -s.x})
			}
			got, err2 := p.Draw(s.at)
			if err != nil || err2 != nil || added != s.added ||
				math.Abs(got.X-s.draw) > 1e-9 || math.Abs(got.Y+s.draw) > 1e-9 {
				t.Errorf("%s: at %v %s %d: added %v, %v, drawn %v, %v; want %v, %v",
					c.name, time.Duration(s.at), s.what, s.seq, added, err, got, err2, s.added, s.draw)
			}
		}
	}
}

// Before Reset there is no place to draw.
//
// seeds: S7
func TestBeforeReset(t *testing.T) {
	var p Interpolator
	if _, err := p.Draw(1); !errors.Is(err, ErrNotReset) {
		t.Errorf("Draw: %v", err)
	}
	if added, err := p.Push(1, 1, geom.Vec2{}); added || !errors.Is(err, ErrNotReset) || p.n != 0 {
		t.Errorf("Push: %v, %v, %d states", added, err, p.n)
	}
	if p.Reset(geom.Vec2{X: 1}); p.n != 1 {
		t.Errorf("%d states after Reset", p.n)
	}
}

// A walk is 40 states, one each 100 ms, and what the network does to them.
type walk struct {
	lost   [41]bool  // by sequence number; never two in a row, and not the first
	late   [41][]int // ms until each copy arrives; below 150
	frames clock.Time
}

const walkStates = 40

func walkPlace(seq int) geom.Vec2 {
	return geom.Vec2{X: geom.Cos(float64(seq) / 3), Y: float64(seq) * 0.7}
}

// want is where the player must be drawn at now, by the sequence numbers of what arrived alone: the
// first state is drawn at 350 ms.
func (w *walk) want(now clock.Time) geom.Vec2 {
	at := float64(now-350*ms) / float64(100*ms) // as a sequence number
	a, b := 0, 0
	for seq := 1; seq <= walkStates && float64(b) < at; seq++ {
		if !w.lost[seq] {
			a, b = b, seq
		}
	}
	if a == b || at >= float64(b) {
		return walkPlace(b)
	}
	from := walkPlace(a)
	return from.Add(walkPlace(b).Sub(from).Mul(max(at-float64(a), 0) / float64(b-a)))
}

// drawn returns what an Interpolator draws each 48 ms, looked at every w.frames.
func (w *walk) drawn(t interface{ Fatal(...any) }) (places []geom.Vec2) {
	type arrival struct {
		at  clock.Time
		seq int
	}
	var arrivals []arrival
	for seq := 1; seq <= walkStates; seq++ {
		if w.lost[seq] {
			continue
		}
		for _, late := range w.late[seq] {
			arrivals = append(arrivals, arrival{clock.Time(seq)*100*ms + clock.Time(late)*ms, seq})
		}
	}
	slices.SortStableFunc(arrivals, func(a, b arrival) int { return int(a.at - b.at) })
	var p Interpolator
	p.Reset(walkPlace(0))
	for now := clock.Time(0); now < (walkStates+5)*100*ms; now += ms {
		for len(arrivals) > 0 && arrivals[0].at <= now {
			if _, err := p.Push(now, wire.Seq(arrivals[0].seq), walkPlace(arrivals[0].seq)); err != nil {
				t.Fatal(err)
			}
			arrivals = arrivals[1:]
		}
		if now%w.frames != 0 {
			continue
		}
		place, err := p.Draw(now)
		if err != nil {
			t.Fatal(err)
		}
		if now%(48*ms) == 0 {
			places = append(places, place)
		}
	}
	return places
}

// check draws the walk with states that arrive on time, and as w has them, at several frame rates.
func (w *walk) check(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}) {
	onTime := walk{lost: w.lost, frames: ms}
	for seq := range onTime.late {
		onTime.late[seq] = []int{0}
	}
	straight := onTime.drawn(t)
	for i, got := range straight {
		now := clock.Time(i) * 48 * ms
		if want := w.want(now); math.Abs(got.X-want.X) > 1e-9 || math.Abs(got.Y-want.Y) > 1e-9 {
			t.Fatalf("lost %v: at %v drawn %v, want %v", w.lost, time.Duration(now), got, want)
		}
	}
	for _, w.frames = range []clock.Time{ms, 16 * ms, 48 * ms} {
		if got := w.drawn(t); !slices.Equal(got, straight) {
			t.Fatalf("lost %v, late %v, drawn every %v: %v, want %v",
				w.lost, w.late, time.Duration(w.frames), got, straight)
		}
	}
}

// Sequence numbers date a state: a gap is drawn for as long as it stands for, and states that
// arrive shuffled, late and twice are drawn like those that arrive on time, at any frame rate.
//
// seeds: S2
func TestSequenceNumbersDateStates(t *testing.T) {
	// The second state starts the clock in all walks, so it arrives, and on time.
	var fixed walk
	for seq := range fixed.late {
		fixed.lost[seq] = seq > 1 && seq%3 == 0
		fixed.late[seq] = []int{seq * 67 % 150}
		if seq%4 == 0 {
			fixed.late[seq] = append(fixed.late[seq], seq*31%150)
		}
	}
	fixed.late[1] = []int{0}
	fixed.check(t)
	rapid.Check(t, func(t *rapid.T) {
		w := walk{}
		w.late[1] = []int{0}
		for seq := 2; seq <= walkStates; seq++ {
			w.lost[seq] = !w.lost[seq-1] && rapid.IntRange(0, 3).Draw(t, "lost") == 0
			w.late[seq] = rapid.SliceOfN(rapid.IntRange(0, 149), 1, 2).Draw(t, "late")
		}
		w.check(t)
	})
}

// A sortedList does what an Interpolator does with a list that is sorted each time and numbers that
// do not wrap.
type sortedList struct {
	list  []listed
	start clock.Time
}

type listed struct {
	seq   int64
	place geom.Vec2
}

func (l *sortedList) drawnAt(seq int64) clock.Time {
	return l.start + clock.Time(seq-l.list[0].seq)*clock.Time(DefaultInterval)
}

func (l *sortedList) draw(now clock.Time) geom.Vec2 {
	for {
		if len(l.list) == 1 || now <= l.start {
			return l.list[0].place
		}
		second := l.drawnAt(l.list[1].seq)
		if now > second {
			l.list, l.start = l.list[1:], second
			continue
		}
		a, b := l.list[0].place, l.list[1].place
		return a.Add(b.Sub(a).Mul(float64(now-l.start) / float64(second-l.start)))
	}
}

func (l *sortedList) push(now clock.Time, s listed) bool {
	l.draw(now)
	if s.seq <= l.list[0].seq || len(l.list) > 1 && l.drawnAt(s.seq) < now ||
		slices.ContainsFunc(l.list, func(h listed) bool { return h.seq == s.seq }) {
		return false
	}
	l.list = append(l.list, s)
	slices.SortFunc(l.list, func(a, b listed) int { return int(a.seq - b.seq) })
	if len(l.list) == 2 {
		l.start = now.Add(DefaultStartDelay)
	}
	if len(l.list) > maxStates {
		l.start = l.drawnAt(l.list[1].seq)
		l.list = l.list[1:]
	}
	return true
}

// A pair is an Interpolator and the list that it must agree with.
type pair struct {
	p Interpolator
	l sortedList
}

// newPair has one state, whose number is seq modulo 1<<16.
func newPair(seq int64, place geom.Vec2) pair {
	var b pair
	b.p.Reset(place)
	b.p.states[0].seq = wire.Seq(seq)
	b.l.list = []listed{{seq, place}}
	return b
}

func (b *pair) clone() pair {
	return pair{b.p, sortedList{slices.Clone(b.l.list), b.l.start}}
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func (b *pair) push(t fataler, now clock.Time, seq int64, place geom.Vec2) {
	t.Helper()
	got, err := b.p.Push(now, wire.Seq(seq), place)
	if want := b.l.push(now, listed{seq, place}); got != want || err != nil {
		t.Fatalf("at %v: state %d is added: %v, %v; want %v", time.Duration(now), seq, got, err, want)
	}
}

func (b *pair) draw(t fataler, now clock.Time) {
	t.Helper()
	got, err := b.p.Draw(now)
	if want := b.l.draw(now); got != want || err != nil {
		t.Fatalf("at %v: drawn %v, %v; want %v", time.Duration(now), got, err, want)
	}
	if b.p.n != len(b.l.list) {
		t.Fatalf("at %v: %d states, want %d", time.Duration(now), b.p.n, len(b.l.list))
	}
}

// drawOn draws the next second.
func (b *pair) drawOn(t fataler, now clock.Time) {
	t.Helper()
	for end := now + 1000*ms; now <= end; now += 25 * ms {
		b.draw(t, now)
	}
}

// In the middle of a walk with gaps, at every 10 ms, one more state arrives: each number from
// before what was drawn to after the newest. It is sorted in or dropped as in a sorted list, also
// where the numbers wrap.
//
// seeds: S1 S3
func TestLateStates(t *testing.T) {
	for _, first := range []int64{0, 65530, 65534} {
		walk := newPair(first, geom.Vec2{X: 5})
		walk.push(t, 100*ms, first+1, geom.Vec2{X: 10})
		walk.push(t, 310*ms, first+4, geom.Vec2{X: 50})
		walk.push(t, 320*ms, first+7, geom.Vec2{X: 20})
		for now := 320 * ms; now < 1200*ms; now += 10 * ms {
			for seq := first - 3; seq <= first+9; seq++ {
				b := walk.clone()
				b.push(t, now, seq, geom.Vec2{X: -100, Y: 30})
				b.push(t, now, seq, geom.Vec2{X: 999}) // a duplicate
				b.drawOn(t, now)
			}
		}
	}
}

// A full buffer forgets its oldest state.
func TestMoreStatesThanFit(t *testing.T) {
	for n := int64(maxStates - 3); n < maxStates+10; n++ {
		b := newPair(65520, geom.Vec2{})
		for i := range n {
			b.push(t, 100*ms, 65521+i, geom.Vec2{X: float64(i * i)})
		}
		for now := 100 * ms; now < 6000*ms; now += 30 * ms {
			b.draw(t, now)
		}
	}
}

// Any states in any order, with numbers that wrap: an Interpolator draws what a sorted list draws.
//
// seeds: S1 S3
func TestAgainstSortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var now clock.Time
		newest := int64(0)
		draw := func(from, to int, label string) int64 { return int64(rapid.IntRange(from, to).Draw(t, label)) }
		start := func() pair { return newPair(newest, geom.Vec2{X: float64(draw(-100, 100, "x"))}) }
		if rapid.Bool().Draw(t, "long life") { // an hour of walking: the numbers are about to wrap
			newest = 65536 - draw(0, 40, "before the wrap")
		}
		b := start()
		push := func(seq int64) {
			b.push(t, now, seq, geom.Vec2{X: float64(draw(-1000, 1000, "x")), Y: float64(seq)})
			newest = max(newest, seq)
		}
		t.Repeat(map[string]func(*rapid.T){
			"next":  func(t *rapid.T) { push(newest + 1) },
			"lost":  func(t *rapid.T) { push(newest + draw(2, 30, "gap")) },
			"late":  func(t *rapid.T) { push(max(newest-draw(0, 40, "back"), 0)) },
			"reset": func(t *rapid.T) { newest = 0; b = start() },
			"time": func(t *rapid.T) {
				long := rapid.OneOf(rapid.IntRange(0, 300_000), rapid.IntRange(0, 5_000_000))
				now += clock.Time(long.Draw(t, "us")) * us
			},
			"burst": func(t *rapid.T) {
				for range draw(1, 40, "burst") {
					push(newest + 1)
				}
			},
			"": func(t *rapid.T) { b.draw(t, now) },
		})
	})
}

// A frame of a full lobby allocates nothing.
func TestAllocations(t *testing.T) {
	var players [255]Interpolator
	for i := range players {
		players[i].Reset(geom.Vec2{})
	}
	now, seq := clock.Time(0), wire.Seq(0)
	if n := testing.AllocsPerRun(100, func() {
		now += 100 * ms
		seq++
		for i := range players {
			players[i].Push(now, seq, geom.Vec2{X: float64(seq)})
			players[i].Draw(now)
		}
	}); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}

func BenchmarkInterpolator(b *testing.B) {
	var players [255]Interpolator
	for i := range players {
		players[i].Reset(geom.Vec2{})
	}
	now, seq := clock.Time(0), wire.Seq(0)
	for b.Loop() { // a frame at 60 Hz; at each sixth one everybody's state arrives
		now += 16 * ms
		for i := range players {
			if now%(96*ms) == 0 {
				players[i].Push(now, seq, geom.Vec2{X: float64(seq)})
			}
			players[i].Draw(now)
		}
		if now%(96*ms) == 0 {
			seq++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/255, "ns/player")
}
