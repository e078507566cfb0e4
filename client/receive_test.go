package client

import (
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/wire"
)

// A packet that was overtaken is applied, and is not the newest: its stamp is not sent back, its
// promise of silence and the packet that commands name are those of the newest.
func TestOvertakenPacketIsNotTheNewest(t *testing.T) {
	d := downlink{received: wire.NewIncoming(1, 0, testPeriod)}
	arrive := func(seq wire.Seq, due wire.Due) bool {
		h := wire.Header{Server: true, Seq: seq, Tick: clock.Tick(100 + 3*int(seq)), Stamp: clock.Stamp(seq) * 1000,
			NextDue: due}
		if !d.received.Accepts(seq) {
			t.Fatalf("packet %d is refused", seq)
		}
		return d.applied(clock.Time(seq)*50*ms, &h, 1)
	}
	for _, c := range []struct {
		seq    wire.Seq
		due    wire.Due
		newest bool
		gap    clock.Tick // of the newest packet that came without the one before
	}{
		{1, 5, true, 0}, {2, 5, true, 0}, {4, wire.Quiet, true, 112}, {3, 5, false, 112}, {5, 5, true, 112}, {8, 5,
			true, 124}, {7, wire.Quiet, false, 124},
	} {
		if got := arrive(c.seq, c.due); got != c.newest || d.gapTick != c.gap {
			t.Errorf("packet %d: newest %v, want %v; gap before tick %d, want %d", c.seq, got, c.newest, d.gapTick,
				c.gap)
		}
		if c.seq == 3 && (d.newest != 4 || d.newestTick != 112 || !d.quiet) {
			t.Errorf("after packet 3, which 4 overtook: newest %d of tick %d, quiet %v", d.newest, d.newestTick,
				d.quiet)
		}
	}
	var h wire.Header
	d.report(&h, 500*clock.Time(time.Millisecond))
	if !h.HasEcho || h.Echo != 8000 || h.EchoAt != (400*ms).Stamp() || !h.HasAck || h.Ack.Latest != 8 {
		t.Errorf("reported: %+v", h)
	}
	var again wire.Header
	if d.report(&again, 500*clock.Time(time.Millisecond)); again.HasEcho || !again.HasAck {
		t.Errorf("reported again: %+v", again)
	}
}

// After 17 packets in a row that need a baseline which is gone the client asks for everything anew,
// as PROTOCOL.md says, and any packet that it can apply ends that.
func TestResyncAfterSeventeen(t *testing.T) {
	d := downlink{received: wire.NewIncoming(1, 0, testPeriod)}
	for i := 1; i <= 30; i++ {
		d.lostBaseline()
		if want := i >= 17; d.resync != want || d.mustAck != want {
			t.Fatalf("after %d packets: resync %v, must acknowledge %v, want %v", i, d.resync, d.mustAck, want)
		}
	}
	d.applied(0, &wire.Header{Seq: 1, Tick: 5}, 1)
	if d.resync || d.unusable != 0 {
		t.Error("a packet that was applied does not end the resync")
	}
	for range 16 {
		d.lostBaseline()
	}
	if d.resync {
		t.Error("packets of before the last one that was applied count")
	}
}

// Reports count for the lead only while the player is there, starved ticks only once the server
// knows of commands, and heartbeats only while commands wait for ticks.
func TestReportsThatDoNotCount(t *testing.T) {
	c := newClient(t)
	for i := range clock.Tick(10) {
		c.time.arrives(100+i, 0, 0)
	}
	c.up.made = 110
	c.time.lead.Made(110, 60*time.Millisecond)
	report := packet.Feedback{Acked: 500, HasSlack: true, Slack: 8, Starved: 3}
	c.SetAway(true)
	c.applyFeedback(&report, 0, testPeriod)
	c.SetAway(false)
	c.applyFeedback(&report, 0, testPeriod) // the server may not know yet
	if c.time.lead.reported() || c.stats.Starved != 0 || c.up.acked != 110 {
		t.Errorf("away: reported %v, %d starved, acknowledged up to %d", c.time.lead.reported(), c.stats.Starved,
			c.up.acked)
	}
	c.up.awayKnown = true
	c.applyFeedback(&report, 0, testPeriod)
	report.Starved = 5
	if c.applyFeedback(&report, 0, testPeriod); !c.time.lead.reported() || c.stats.Starved != 2 {
		t.Errorf("back: reported %v, %d starved, want 2", c.time.lead.reported(), c.stats.Starved)
	}
	late := tickTime(109).Add(3 * testPeriod)
	beat := packet.Heartbeat{Tick: 109, Time: tickTime(109).Stamp(), Stamp: late.Stamp()}
	c.up.idleKnown = true
	if c.apply(late-tickTime(100), beat.Append(nil)); c.time.overdue != 0 || c.stats.Heartbeats != 1 {
		t.Errorf("idle: overdue by %v", c.time.overdue)
	}
	c.up.idleKnown = false
	if c.apply(late-tickTime(100), beat.Append(nil)); c.time.overdue != 2*testPeriod {
		t.Errorf("overdue by %v, want %v", c.time.overdue, 2*testPeriod)
	}
}
