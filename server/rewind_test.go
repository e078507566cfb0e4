package server

import (
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/rewind"
)

// How far back a shot is judged is Config.Rewind, and beyond it the round trip and the command's
// wait, which the server measured; all of it together no more than MaxRewind and what the history
// has.
//
// seeds: B17
func TestRewindBound(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name              string
		cfg               Config
		rtt, waited, want time.Duration
		off               bool
	}{
		{name: "the default", want: 500 * ms},
		{name: "less than the default", cfg: Config{Rewind: 150 * ms}, want: 150 * ms},
		{name: "more than the default", cfg: Config{Rewind: 800 * ms}, want: 800 * ms},
		{name: "and the round trip", cfg: Config{Rewind: 150 * ms}, rtt: 200 * ms, want: 350 * ms},
		{name: "and the wait", cfg: Config{Rewind: 150 * ms}, waited: 50 * ms, want: 200 * ms},
		{name: "and both", cfg: Config{Rewind: 150 * ms}, rtt: 200 * ms, waited: 50 * ms, want: 400 * ms},
		{name: "the most of all", cfg: Config{Rewind: MaxRewind}, rtt: 900 * ms, waited: 500 * ms, want: time.Second},
		{name: "the most of a slow client", rtt: 5 * time.Second, waited: time.Second, want: time.Second},
		{name: "switched off", cfg: Config{Rewind: -1}, rtt: 200 * ms, waited: 50 * ms, off: true},
	} {
		n := newNest(t, c.cfg)
		peer := n.connect("ann")
		for range 60 { // of 50 ms
			n.tick(nil)
		}
		_, p := n.s.find(peer.id)
		if c.rtt > 0 {
			p.down.path.rtt.Sample(n.now, c.rtt)
		}
		if n.s.seer.begin(p, &packet.Command{Seen: 1}, c.waited); c.off {
			if n.s.seer.receipt.Reason != rewind.Off {
				t.Errorf("%s: judged by %+v", c.name, n.s.seer.receipt)
			}
			continue
		}
		want := n.s.Tick().Frac() - clock.TickFrac(int64(c.want)*clock.FracPerTick/int64(n.s.Period()))
		if got := n.s.seer.receipt; got.Reason != rewind.TooOld || got.Used != want {
			t.Errorf("%s: the beginning of the match is judged at %v (%v), want %v", c.name, got.Used, got.Reason, want)
		}
		n.s.seer.begin(p, &packet.Command{Seen: want}, c.waited)
		if got := n.s.seer.receipt; got.Reason != rewind.Exact {
			t.Errorf("%s: %v back is judged at %v (%v), want %v", c.name, c.want, got.Used, got.Reason, want)
		}
		if st, _ := n.s.Stats(peer.id); st.Clamped != 1 {
			t.Errorf("%s: %d commands counted as clamped, want 1", c.name, st.Clamped)
		}
	}
}
