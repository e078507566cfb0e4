package server

import (
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// An acknowledgement of what was never sent is no sign of life: the player counts as silent since
// its last valid datagram.
//
// seeds: B20
func TestHostileAckIsNoSignOfLife(t *testing.T) {
	n := newNest(t, Config{})
	p := n.connect("eve")
	for range 10 {
		n.tick(func(_ PlayerID, b []byte) { p.take(b) })
		p.send()
	}
	before := n.s.Heard(p.id)
	for range 100 {
		n.tick(nil)
		n.s.Receive(p.id, n.now, p.packetWith(func(h *wire.Header) {
			h.HasAck, h.Ack = true, wire.Ack{Latest: 30000, History: ^uint64(0)}
		}))
	}
	if got := n.s.Heard(p.id); got != before || n.s.Drops().HostileAck != 100 {
		t.Errorf("heard at %v, want %v; %d hostile acknowledgements", got, before, n.s.Drops().HostileAck)
	}
	if got := n.s.Silent(before.Add(Timeout+1), nil); len(got) != 1 {
		t.Error("it is not silent")
	}
}

// The round trip is measured only by the echo of a stamp that was sent with the acknowledged
// packet. Any other echo is ignored: a longer round trip would let the client shoot further into
// the past.
//
// seeds: B20
func TestEchoOfNoStampIsIgnored(t *testing.T) {
	const trip = 100 * time.Millisecond
	for _, c := range []struct {
		name string
		lie  time.Duration // the echoed stamp, beside the true one
		want time.Duration
	}{{"true", 0, trip}, {"stamped late by the edge", trip / 2, trip / 2}, {"before it was sent", -trip, 0},
		{"long before", -5 * time.Second, 0}, {"later than now", 3 * trip, 0}} {
		n := newNest(t, Config{})
		p := n.connect("eve")
		for range 20 {
			n.tick(func(_ PlayerID, b []byte) {
				h := p.take(b)
				n.now = n.now.Add(trip)
				at := n.now.Stamp()
				n.s.Receive(p.id, n.now, p.packetWith(func(up *wire.Header) {
					up.Stamp, up.HasEcho, up.EchoAt = at, true, at
					up.Echo = h.Stamp + clock.Stamp(c.lie.Microseconds())
				}))
			})
		}
		if st, _ := n.s.Stats(p.id); st.RTT.Round(time.Millisecond) != c.want {
			t.Errorf("%s: a round trip of %v, want %v", c.name, st.RTT, c.want)
		}
	}
}

// The first twenty echoes go at once, later ones take a hundredth of the budget.
func TestEchoesTakeAHundredthOfTheBudget(t *testing.T) {
	n := newNest(t, Config{Budget: 2000})
	p := n.connect("ann")
	var at []clock.Time
	for n.now < clock.Time(20*time.Second) {
		n.tick(func(_ PlayerID, b []byte) {
			if p.take(b).HasEcho {
				at = append(at, n.now)
			}
		})
		p.send(command(n.s.Tick()+2, antCmd{}))
	}
	if len(at) < firstEchoes+30 {
		t.Fatalf("%d echoes in 20 s", len(at))
	}
	if first := at[firstEchoes-1]; first > clock.Time(3*time.Second) {
		t.Errorf("the first %d echoes take %v", firstEchoes, time.Duration(first))
	}
	for i := firstEchoes; i < len(at); i++ {
		if gap := at[i].Sub(at[i-1]); gap < 300*time.Millisecond {
			t.Errorf("echo %d comes %v after the one before, want 300 ms", i, gap)
		}
	}
}
