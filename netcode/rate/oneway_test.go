package rate

import (
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netsim"
)

// A queue on one way is distinguished from the constant by which two clocks differ. A path that has
// become longer for good is believed after leastWindow.
func TestOneWay(t *testing.T) {
	const ms = time.Millisecond
	for _, offset := range []time.Duration{0, time.Hour, -time.Hour} {
		var o OneWay
		at := clock.Time(5 * time.Hour)
		for i, c := range []struct{ transit, want time.Duration }{{40 * ms, 0}, {90 * ms, 50 * ms}, {35 * ms, 0},
			{40 * ms, 5 * ms}} {
			if got := o.Queued(at, c.transit+offset); got != c.want {
				t.Errorf("offset %v, packet %d: %v queued, want %v", offset, i, got, c.want)
			}
			at = at.Add(time.Second)
		}
		for range 9 {
			at = at.Add(time.Second)
			o.Queued(at, 60*ms+offset)
		}
		if got := o.Queued(at.Add(time.Second), 60*ms+offset); got != 0 {
			t.Errorf("offset %v: after ten seconds on a longer path %v are still taken for a queue", offset, got)
		}
	}
	var o OneWay
	if n := testing.AllocsPerRun(100, func() { o.Queued(1e9, ms) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A path whose queue is full from the first second on shows no gradient, but its deliveries show
// its rate.
func TestCapacityFindsAFullQueue(t *testing.T) {
	got := run(t, netsim.Modem, CapacityConfig{Floor: 800, Ceiling: 16000}, 0, 60)
	if got.rate < 900 || got.rate > 1700 || got.rtt > 900 {
		t.Errorf("13 kbit/s of a modem: %.0f B/s at a round trip of %.0f ms", got.rate, got.rtt)
	}
}

// A radio that pauses and then delivers its backlog at once does not lower the rate.
func TestCapacityForgivesPauses(t *testing.T) {
	c, err := NewCapacity(CapacityConfig{Floor: 800, Ceiling: 8000})
	if err != nil {
		t.Fatal(err)
	}
	now := clock.Time(0)
	for range 40 { // 1.2 s of every 3 s nothing arrives, and then all of it
		for range 36 {
			now = now.Add(50 * time.Millisecond)
			c.Delivered(now, 250, 60*time.Millisecond)
		}
		late := now.Add(1200 * time.Millisecond)
		for i := range 24 {
			now = late.Add(time.Duration(i) * 5 * time.Millisecond)
			c.Delivered(now, 250, 1200*time.Millisecond-time.Duration(i)*45*time.Millisecond)
		}
	}
	if c.Rate() < 7000 {
		t.Errorf("the rate fell to %d B/s", c.Rate())
	}
}
