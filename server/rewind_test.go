package server

import (
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/rewind"
)

// How far back a shot is judged is Config.Rewind beyond what a picture is old on the client's path as
// a rule, and no more than Config.RewindTotal and what the history has. Limits of the player and a
// bound of the weapon make it less, never more.
//
// seeds: B17
func TestRewindBound(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name  string
		cfg   Config
		own   Limits
		most  time.Duration // of the weapon
		trip  time.Duration
		want  time.Duration // beyond the path's own
		total time.Duration // instead; 0: not bounded by it
		off   bool
	}{
		{name: "the default", want: 250 * ms},
		{name: "less than the default", cfg: Config{Rewind: 150 * ms}, want: 150 * ms},
		{name: "more than the default", cfg: Config{Rewind: 500 * ms}, want: 500 * ms},
		{name: "and the round trip", cfg: Config{Rewind: 150 * ms}, trip: 200 * ms, want: 150 * ms},
		{name: "the whole", cfg: Config{RewindTotal: 200 * ms}, trip: 100 * ms, total: 200 * ms},
		{name: "the most of a slow client", trip: 5 * time.Second, total: time.Second},
		{name: "switched off", cfg: Config{Rewind: -1}, trip: 200 * ms, off: true},
		{name: "less for the player", own: Limits{Rewind: 100 * ms}, want: 100 * ms},
		{name: "more for the player", own: Limits{Rewind: 900 * ms}, want: 250 * ms},
		{name: "off for the player", own: Limits{Rewind: -1}, off: true},
		{name: "off but for the player", cfg: Config{Rewind: -1}, own: Limits{Rewind: 100 * ms}, off: true},
		{name: "less in all for the player", own: Limits{RewindTotal: 150 * ms}, total: 150 * ms},
		{name: "more in all for the player", cfg: Config{RewindTotal: 200 * ms}, own: Limits{RewindTotal: time.Second},
			total: 200 * ms},
		{name: "nothing in all for the player", own: Limits{RewindTotal: -1}, want: 250 * ms},
		{name: "less for the weapon", own: Limits{RewindTotal: 150 * ms}, most: 100 * ms, total: 100 * ms},
		{name: "more for the weapon", own: Limits{RewindTotal: 150 * ms}, most: 400 * ms, total: 150 * ms},
	} {
		n := newNest(t, c.cfg)
		peer := n.connect("ann")
		for range 60 { // of 50 ms
			n.tick(nil)
		}
		n.s.SetLimits(peer.id, c.own)
		_, p := n.s.find(peer.id)
		if c.trip > 0 {
			p.down.path.answer.Sample(n.now, c.trip)
		}
		p.commands.claims.Acknowledged(n.s.now, 0) // from then on a second of shots may be beyond the path
		judge := func(seen clock.TickFrac) rewind.Receipt {
			n.s.seer.begin(p, &packet.Command{Seen: seen, Newest: p.down.log.NextSeq() - 1})
			n.s.seer.claim.Late = true // a cause to be beyond the path
			n.s.seer.judge()
			if c.most > 0 {
				n.s.seer.RewindAtMost(c.most)
			}
			return n.s.seer.receipt
		}
		got := judge(1)
		if c.off {
			if got.Reason != rewind.Off {
				t.Errorf("%s: judged by %+v", c.name, got)
			}
			continue
		}
		back := c.total
		if back == 0 {
			back = n.s.seer.claim.Norm.Age + c.want
		}
		want := n.s.Tick().Frac() - clock.TickFrac(int64(back)*clock.FracPerTick/int64(n.s.Period()))
		if got.Reason != rewind.TooOld || got.Used != want {
			t.Errorf("%s: the beginning of the match is judged at %v (%v), want %v", c.name, got.Used, got.Reason, want)
		}
		if got := judge(want); got.Reason != rewind.Exact {
			t.Errorf("%s: %v back is judged at %v (%v), want %v", c.name, back, got.Used, got.Reason, want)
		}
		if st, _ := n.s.Stats(peer.id); st.Clamped != 1 || st.Judged != 2 || st.Reasons[rewind.TooOld] != 1 {
			t.Errorf("%s: %d of %d commands counted as clamped, want 1 of 2", c.name, st.Clamped, st.Judged)
		}
	}
}

// A weapon bounds the age of the picture by which it is judged, or switches lag compensation off, for
// the rest of its command.
//
// seeds: B17
func TestRewindAtMost(t *testing.T) {
	n := newNest(t, Config{})
	peer := n.connect("ann")
	for range 60 {
		n.tick(nil)
	}
	_, p := n.s.find(peer.id)
	p.commands.claims.Acknowledged(n.s.now, 0) // from then on a second of shots may be beyond the path
	now := n.s.Tick().Frac()
	for _, c := range []struct {
		most   time.Duration
		used   clock.TickFrac
		reason rewind.Reason
		oldest clock.Tick // before now, that what moves is judged by though newer packets were withheld
		stood  time.Duration
	}{
		{time.Second, now - 3*clock.FracPerTick, rewind.Exact, 18, 700 * time.Millisecond},
		{time.Second, now - 3*clock.FracPerTick, rewind.TooOld, 18, time.Second}, // older than twice what is allowed
		{150 * time.Millisecond, now - 3*clock.FracPerTick, rewind.Exact, 3, 150 * time.Millisecond},
		{150 * time.Millisecond, now - 3*clock.FracPerTick, rewind.TooOld, 3, 300 * time.Millisecond},
		{100 * time.Millisecond, now - 2*clock.FracPerTick, rewind.TooOld, 2, 150 * time.Millisecond},
		{0, now, rewind.Off, 0, 150 * time.Millisecond},
	} {
		n.s.seer.begin(p, &packet.Command{Tick: n.s.Tick(), Seen: now - 3*clock.FracPerTick})
		n.s.seer.claim.Stalled, n.s.seer.claim.Claimed = true, c.stood
		n.s.seer.RewindAtMost(c.most)
		got, oldest := n.s.seer.receipt, n.s.tick-c.oldest
		if got.Used != c.used || got.Reason != c.reason || got.Oldest != oldest {
			t.Errorf("at most %v, stood for %v: %+v, want %v, %v, %v", c.most, c.stood, got, c.used, c.reason, oldest)
		}
	}
}
