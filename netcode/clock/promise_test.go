package clock

import (
	"math"
	"testing"
	"time"
)

// path feeds an estimator: a remote clock an hour ahead, 20 ms each way.
type path struct{ e Estimator }

const hourAhead = time.Hour

func (p *path) exchange(at Time, extra time.Duration) bool {
	t1 := at.Add(20*time.Millisecond + hourAhead)
	return p.e.Exchange(at, t1, t1.Add(5*time.Millisecond), at.Add(45*time.Millisecond+extra))
}

func (p *path) oneWay(at Time) bool {
	return p.e.OneWay(at.Add(hourAhead), at.Add(20*time.Millisecond))
}

// One-way packets alone say nothing about the offset. Between exchanges they neither move it out of
// its bound nor count as round trips.
func TestOneWayPacketsBoundOneSideOnly(t *testing.T) {
	var p path
	for i := range 10 {
		p.oneWay(Time(i) * Time(100*time.Millisecond))
	}
	if _, ok := p.e.Offset(); ok {
		t.Error("an offset from packets of one direction")
	}
	if _, _, ok := p.e.At(Time(time.Second)); ok {
		t.Error("a time from packets of one direction")
	}
	if least, smoothed := p.e.RTT(); least != 0 || smoothed != 0 {
		t.Errorf("a round trip of %v, %v from packets of one direction", least, smoothed)
	}
	for i := 10; i < 20; i++ {
		p.exchange(Time(i)*Time(100*time.Millisecond), 0)
	}
	for i := 20; i < 200; i++ { // 18 s without an exchange
		now := Time(i) * Time(100*time.Millisecond)
		if !p.oneWay(now) {
			t.Fatal("refused")
		}
		off, ok := p.e.Offset()
		if bound := p.e.MaxError(); !ok || (off-hourAhead).Abs() > bound ||
			bound > 40*time.Millisecond+2*perBillion(now.Sub(0), MaxSkew) {
			t.Fatalf("after %v: offset %v, bound %v", now, off, bound)
		}
		if least, smoothed := p.e.RTT(); least != 40*time.Millisecond || smoothed != 40*time.Millisecond {
			t.Fatalf("round trip %v, %v, want 40 ms", least, smoothed)
		}
	}
	if p.e.Resets() != 0 || p.e.Refused() != 0 {
		t.Errorf("%d resets, %d refused", p.e.Resets(), p.e.Refused())
	}
}

// One-way packets too show that the remote clock was set forward. Instants beyond all bounds are
// refused.
func TestOneWayPacketsShowASteppedClock(t *testing.T) {
	var p path
	for i := range 30 {
		p.exchange(Time(i)*Time(100*time.Millisecond), 0)
	}
	now := Time(4 * time.Second)
	if p.e.OneWay(now.Add(hourAhead+50*time.Millisecond), now.Add(20*time.Millisecond)); p.e.Resets() != 1 {
		t.Errorf("%d resets after a step of 50 ms", p.e.Resets())
	}
	if _, ok := p.e.Offset(); ok {
		t.Error("an offset from before the step")
	}
	for _, c := range [][2]Time{{maxInstant, 0}, {-maxInstant, 0}, {0, maxInstant}, {0, -maxInstant},
		{math.MaxInt64, math.MinInt64}} {
		if p.e.OneWay(c[0], c[1]) {
			t.Errorf("a packet from %d to %d is used", c[0], c[1])
		}
	}
	if p.e.Refused() != 5 {
		t.Errorf("%d refused, want 5", p.e.Refused())
	}
	if p.e.ReceiveOneWay(maxInstant+1, 7) || p.e.Receive(-maxInstant-1, 7, 7, 0) || p.e.Refused() != 7 {
		t.Errorf("an arrival beyond all instants is used, %d refused", p.e.Refused())
	}
}

// The smoothed round trip follows with a gain of 1/8; the least is that of the last window.
func TestRoundTrips(t *testing.T) {
	var p path
	p.exchange(0, 0)
	want := 40 * time.Millisecond
	for i := 1; i < 900; i++ { // 90 s
		extra := 80 * time.Millisecond
		if i == 1 {
			extra = 0
		}
		p.exchange(Time(i)*Time(100*time.Millisecond), extra)
		want += (40*time.Millisecond + extra - want) / 8
		least, smoothed := p.e.RTT()
		if smoothed != want {
			t.Fatalf("after %d exchanges smoothed to %v, want %v", i+1, smoothed, want)
		}
		if at := time.Duration(i) * 100 * time.Millisecond; at < window && least != 40*time.Millisecond ||
			at > window+time.Second && least != 120*time.Millisecond {
			t.Fatalf("after %v the least is %v", at, least)
		}
	}
}

// After more than a minute without an exchange the least round trip is as it was, not the longest
// one that is used.
func TestLeastOutlivesWindow(t *testing.T) {
	var p path
	for i := range 10 {
		p.exchange(Time(i)*Time(100*time.Millisecond), 0)
	}
	for now := Time(2 * time.Second); now < Time(100*time.Second); now = now.Add(500 * time.Millisecond) {
		p.oneWay(now)
		if least, smoothed := p.e.RTT(); least != 40*time.Millisecond || smoothed != 40*time.Millisecond {
			t.Fatalf("at %v round trip %v, %v, want 40 ms", now, least, smoothed)
		}
	}
}

// The speed of an Output depends on its error, in both directions: half a per cent, 2 beyond 10 ms,
// 10 beyond 50 ms. Error returns the rest.
func TestOutputRates(t *testing.T) {
	for _, c := range []struct {
		off  time.Duration
		most float64 // of the time
	}{{8 * time.Millisecond, 0.005}, {30 * time.Millisecond, 0.02}, {200 * time.Millisecond, 0.1},
		{-8 * time.Millisecond, 0.005}, {-30 * time.Millisecond, 0.02}, {-200 * time.Millisecond, 0.1}} {
		e := Estimator{known: true, offset: time.Second, solvedAt: 0}
		o := NewOutput(&e)
		o.Now(0)
		local := Time(2 * time.Second)
		before := o.Now(local)
		e.offset += c.off
		local = local.Add(16 * time.Millisecond)
		after := o.Now(local)
		moved := after.Sub(before) - 16*time.Millisecond
		want := time.Duration(math.Copysign(float64(16*time.Millisecond)*c.most, float64(c.off)))
		if moved != want {
			t.Errorf("%v off: moved by %v in 16 ms, want %v", c.off, moved, want)
		}
		if got := o.Error(); got != c.off-moved {
			t.Errorf("%v off: %v left after %v, says Error", c.off, got, moved)
		}
		if o.Behind() {
			t.Errorf("%v off: behind", c.off)
		}
	}
}

// A Step takes the new time at once. An estimate that begins anew knows only the newest packets,
// the first of which may have waited: for a second it is followed at once, and later as before.
func TestNewEstimateIsAcquired(t *testing.T) {
	e := Estimator{known: true, offset: time.Second}
	o := NewOutput(&e)
	o.Now(0)
	o.Now(Time(10 * time.Second))
	e.offset = -time.Second
	e.resets++
	if o.Now(Time(10*time.Second) + 1); !o.Behind() {
		t.Fatal("two seconds back are not noticed")
	}
	o.Step(Time(10*time.Second) + 2)
	at := o.Now(Time(10*time.Second) + 2)
	if at != Time(9*time.Second)+2 || o.Behind() || o.Error() != 0 {
		t.Fatalf("after Step %d, error %v", at, o.Error())
	}
	move := func(to Time, by time.Duration, want time.Duration) {
		t.Helper()
		e.offset += by
		if got := o.Now(to).Sub(at); got != want {
			t.Errorf("at %v it moves by %v for an estimate that moved by %v, not %v", to, got, by, want)
		}
		at = o.out
	}
	move(Time(10*time.Second)+2+Time(10*time.Millisecond), 100*time.Millisecond, 110*time.Millisecond)
	at = o.Now(Time(12 * time.Second))
	move(Time(12*time.Second+10*time.Millisecond), 100*time.Millisecond, 11*time.Millisecond)
	e.resets++ // by less than what asks for a Step
	move(Time(12*time.Second+20*time.Millisecond), 50*time.Millisecond, 159*time.Millisecond)
	move(Time(12*time.Second+60*time.Millisecond), -30*time.Millisecond, 10*time.Millisecond)
	// Where a frame takes long the clock does not stand still instead of asking for a Step.
	e.offset -= 700 * time.Millisecond
	if o.Now(Time(12*time.Second + 660*time.Millisecond)); !o.Behind() {
		t.Error("700 ms back are not noticed in a frame of 600 ms")
	}
}

// Instants that no match reaches give the ends of the axes, not an overflow.
func TestTimelineAtTheEnds(t *testing.T) {
	var l Timeline
	l.Update(1<<31, 0, MinPeriod)
	l.Update(1<<31+1, 1, MinPeriod)
	for _, at := range []Time{math.MaxInt64, 1 << 62, -1 << 62, math.MinInt64 + 2} {
		f := l.TickAt(at)
		if at > 0 && f < Tick(1<<31).Frac() || at < 0 && f > Tick(1<<31).Frac() {
			t.Errorf("at %d the tick axis is at %d", at, f)
		}
	}
	l = Timeline{}
	l.Update(10, 0, MaxPeriod)
	for _, f := range []TickFrac{math.MaxInt64, 1 << 62, -1 << 62} {
		if at := l.TimeOf(f); f > 0 != (at > 0) || max(at, -at) < 1<<60 {
			t.Errorf("%d is reached at %d", f, at)
		}
	}
	if got := mulDivFloor(math.MaxInt64, math.MaxInt64, 1); got != 1<<62 {
		t.Errorf("too large a quotient is %d", got)
	}
	if got := mulDivCeil(-math.MaxInt64, math.MaxInt64, 1); got != -1<<62 {
		t.Errorf("too small a quotient is %d", got)
	}
}

// The first distance between ticks is the period: before there are three ticks, the announced
// spacing is neither zero nor twice the period.
func TestPacerFirstTicks(t *testing.T) {
	p := Pacer{Step: 50 * time.Millisecond}
	for i := range 4 {
		now := Time(i) * Time(50*time.Millisecond)
		if n := p.Due(now); n != 1 || p.Spacing() != 50*time.Millisecond {
			t.Errorf("tick %d: %d due, %v apart", i, n, p.Spacing())
		}
		p.Ran(time.Millisecond)
	}
	if p.apart[2] != 50*time.Millisecond {
		t.Errorf("the first ticks are %v apart", p.apart)
	}
}
