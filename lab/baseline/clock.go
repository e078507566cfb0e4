package baseline

import (
	"time"

	"meanwhile/netcode/clock"
)

// Exchange is one round trip as a client knows it: its request was sent at T0 and the answer
// arrived at T3 (its own clock); the server received at T1 and answered at T2 (the server's clock).
type Exchange struct{ T0, T1, T2, T3 clock.Time }

// rtt is the round trip without the time that the server kept the request.
func (x Exchange) rtt() time.Duration { return x.T3.Sub(x.T0) - x.T2.Sub(x.T1) }

// offset is how far the server's clock is ahead when both ways take as long (RFC 5905 section 8).
func (x Exchange) offset() time.Duration { return (x.T1.Sub(x.T0) + x.T2.Sub(x.T3)) / 2 }

// A Clock estimates a server's time.
type Clock interface {
	// Exchange records a round trip; calls come in order of arrival.
	Exchange(x Exchange)
	// Now returns the server's time at a local time, and how wrong that can be as far as this clock
	// knows: half the round trip that it goes by. It is false before the first exchange.
	Now(local clock.Time) (server clock.Time, bound time.Duration, ok bool)
}

// Clocks returns the rivals by name, in the order of tables.
func Clocks() []struct {
	Name string
	New  func() Clock
} {
	return []struct {
		Name string
		New  func() Clock
	}{
		{"one-shot", func() Clock { return &oneShot{} }},
		{"unreal", func() Clock { return &unreal{} }},
		{"mirror", func() Clock { return &mirrorClock{} }},
		{"lightyear", func() Clock { return &lightyearClock{} }},
		{"ntp", func() Clock { return &ntp{} }},
	}
}

// oneShot asks once: server + RTT/2 - local, and never again (what most tutorials show).
type oneShot struct {
	offset, rtt time.Duration
	known       bool
}

func (c *oneShot) Exchange(x Exchange) {
	if !c.known {
		c.offset, c.rtt, c.known = x.offset(), x.rtt(), true
	}
}

func (c *oneShot) Now(local clock.Time) (clock.Time, time.Duration, bool) {
	return local.Add(c.offset), c.rtt / 2, c.known
}

// unreal is AGameStateBase's server time: each replicated stamp minus the local time goes into a
// running mean, which is halved and begun anew at 250 samples; the delta moves half of the way to
// the mean each time. It knows no latency, so it lags by the way down.
type unreal struct {
	sum   time.Duration
	n     int64
	delta time.Duration
	rtt   time.Duration
}

func (c *unreal) Exchange(x Exchange) {
	now := x.T2.Sub(x.T3)
	if c.n == 0 {
		c.sum, c.n, c.delta = now, 1, now
	} else {
		if c.n >= 250 {
			c.sum /= time.Duration(c.n)
			c.n = 1
		}
		c.sum += now
		c.n++
		c.delta += (c.sum/time.Duration(c.n) - c.delta) / 2
	}
	c.rtt = x.rtt()
}

func (c *unreal) Now(local clock.Time) (clock.Time, time.Duration, bool) {
	return local.Add(c.delta), c.rtt / 2, c.n > 0
}

// average is an exponential moving average over about n samples.
type average struct {
	v     float64
	known bool
}

func (a *average) add(x, alpha float64) {
	if !a.known {
		a.v, a.known = x, true
		return
	}
	a.v += alpha * (x - a.v)
}

// mirrorClock is Mirror's NetworkTime: moving averages over 50 pings of the round trip and of the
// offset, each with weight 2/(50+1).
type mirrorClock struct{ offset, rtt average }

func (c *mirrorClock) Exchange(x Exchange) {
	const alpha = 2.0 / 51
	c.rtt.add(float64(x.rtt()), alpha)
	c.offset.add(float64(x.offset()), alpha)
}

func (c *mirrorClock) Now(local clock.Time) (clock.Time, time.Duration, bool) {
	return local.Add(time.Duration(c.offset.v)), time.Duration(c.rtt.v) / 2, c.offset.known
}

// lightyearClock is lightyear's sync: a smoothed round trip (gain 1/12) with its mean deviation
// (gain 1/6) over samples that are capped, and the newest server tick plus half of it, averaged
// with a weight from 0.10 at 1 ms of jitter down to 0.02 at 10 ms; an error of more than 10 ticks
// of 1/60 s is jumped over. The first three pings are a handshake: their mean is where it begins.
type lightyearClock struct {
	pings     int
	srtt, dev float64
	offset    average
}

func (c *lightyearClock) Exchange(x Exchange) {
	const (
		msec = float64(time.Millisecond)
		jump = 10 * float64(time.Second) / 60
	)
	rtt := float64(x.rtt())
	c.pings++
	if c.pings == 1 {
		c.srtt, c.dev = rtt, rtt/2
	} else {
		most := max(min(c.srtt+3*c.dev, 3*c.srtt, c.srtt+float64(500*time.Millisecond)), 1.2*c.srtt)
		rtt = min(rtt, most)
		off := rtt - c.srtt
		c.srtt += off / 12
		c.dev += (max(off, -off) - c.dev) / 6
	}
	sample := float64(x.T2.Sub(x.T3)) + c.srtt/2
	if c.pings <= 3 {
		c.offset.add(sample, 1/float64(c.pings))
		return
	}
	if off := sample - c.offset.v; off > jump || off < -jump {
		c.offset.v = sample
		return
	}
	jitter := min(max(c.dev/2, msec), 10*msec)
	c.offset.add(sample, 0.10-0.08*(jitter-msec)/(9*msec))
}

func (c *lightyearClock) Now(local clock.Time) (clock.Time, time.Duration, bool) {
	return local.Add(time.Duration(c.offset.v)), time.Duration(c.srtt) / 2, c.pings > 0
}

// ntp is the clock filter of RFC 5905 section 10 without the discipline behind it: of the last
// eight round trips the one with the least delay, counting 15 ppm of its age as delay on either
// side.
type ntp struct {
	last [8]Exchange
	n    int
	best Exchange
}

// tolerance is RFC 5905's PHI, 15 ppm, in time per million.
const tolerance = 15

func (c *ntp) Exchange(x Exchange) {
	c.last[c.n%len(c.last)] = x
	c.n++
	least := time.Duration(1<<63 - 1)
	for _, e := range c.last[:min(c.n, len(c.last))] {
		if d := e.rtt()/2 + x.T3.Sub(e.T3)*tolerance/1_000_000; d < least {
			least, c.best = d, e
		}
	}
}

func (c *ntp) Now(local clock.Time) (clock.Time, time.Duration, bool) {
	age := local.Sub(c.best.T3)
	return local.Add(c.best.offset()), c.best.rtt()/2 + age*tolerance/1_000_000, c.n > 0
}
