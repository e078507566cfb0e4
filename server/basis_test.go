package server

import (
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/wire"
)

// The packets of a command's frame are those that it states, without what had not arrived when it
// did. What it says is taken back where the client had acknowledged otherwise long before, or does
// not acknowledge at all.
//
// seeds: B17
func TestBasisOfACommand(t *testing.T) {
	const period = 20 * time.Millisecond
	type step struct {
		ack  wire.Ack
		tick clock.Tick // newest command that has arrived then
	}
	steps := []step{ // 4 was lost, 7 is overtaken and comes with the last one
		{ack: wire.Ack{Latest: 5, History: 0b1110}, tick: 100},
		{ack: wire.Ack{Latest: 6, History: 0b11101}, tick: 103},
		{ack: wire.Ack{Latest: 8, History: 0b1110110}, tick: 105},
		{ack: wire.Ack{Latest: 10, History: 0b111011111}, tick: 109},
	}
	for _, c := range []struct {
		name    string
		cmd     packet.Command
		want    wire.Basis // the bits of packets 1 to 10
		against bool
	}{
		{"all that it had", packet.Command{Tick: 110, Newest: 10}, wire.Basis{Newest: 10, Without: 1 << 5}, false},
		{"a frame before", packet.Command{Tick: 110, Newest: 8}, wire.Basis{Newest: 8, Without: 1 << 3}, false},
		{"before the overtaken one", packet.Command{Tick: 110, Newest: 8, Without: 1}, wire.Basis{Newest: 8,
			Without: 1 | 1<<3}, false},
		{"without what it had long before", packet.Command{Tick: 110, Newest: 8, Without: 1 | 1<<1 | 1<<2},
			wire.Basis{Newest: 8, Without: 1 | 1<<3}, true},
		{"older than what it had long before", packet.Command{Tick: 110, Newest: 3, Without: 1},
			wire.Basis{Newest: 8, Without: 1 | 1<<3}, true},
		{"a command of long before", packet.Command{Tick: 104, Newest: 3, Without: 1}, wire.Basis{Newest: 3,
			Without: 1}, false},
		{"that contradicts what was before that", packet.Command{Tick: 105, Newest: 3, Without: 1},
			wire.Basis{Newest: 5, Without: 1}, true},
		{"what it does not acknowledge", packet.Command{Tick: 110, Newest: 12}, wire.Basis{Newest: 10,
			Without: 1 << 5}, true},
	} {
		var u uplink
		var log wire.Log
		for range 12 {
			log.Charge(log.Sent(0, 1, func(*wire.Packet) {}), 100)
		}
		for _, s := range steps {
			nothing := func(*wire.Packet) {}
			if !log.Acked(s.ack, nothing, nothing) {
				t.Fatal("an honest ack was refused")
			}
			u.prove(&log, s.tick, period)
		}
		against := u.completeBasis(&c.cmd, &log, period)
		got := c.cmd.Basis()
		if got.Without &= 1<<(got.Newest-1) - 1; got != c.want || against != c.against {
			t.Errorf("%s: %d without %b, contradicts: %v; want %d without %b, %v", c.name, got.Newest, got.Without, against,
				c.want.Newest, c.want.Without, c.against)
		}
	}
}

// Which commands a client is making follows from most of them: a few far ahead do not put it into
// the future, and a client that moves on by a whole lead is followed within a second.
//
// seeds: B17
func TestFarCommandsProveNothing(t *testing.T) {
	n := newNest(t, Config{})
	peer := n.connect("ann")
	_, p := n.s.find(peer.id)
	c, slowest := &p.commands, clock.Tick(0)
	for i := range clock.Tick(100) {
		n.tick(nil)
		lead := clock.Tick(3)
		if i > 50 {
			lead += 5
		}
		c.acceptCommand(n.s, &packet.Command{Tick: n.s.tick + lead, Vals: []int64{0, 0, 0, 0}}, false, n.s.now)
		if i%3 == 0 {
			c.acceptCommand(n.s, &packet.Command{Tick: n.s.tick + MaxAhead, Vals: []int64{0, 0, 0, 0}}, false, n.s.now)
		}
		if made := c.making(n.s); i > 20 && made > n.s.tick+lead+4 {
			t.Fatalf("it seems to make commands %d ticks ahead, and they are %d", made-n.s.tick, lead)
		} else if i > 20 && made < n.s.tick+lead {
			slowest = i
		}
	}
	if slowest > 70 {
		t.Errorf("after %d ticks it still seems to make older commands than it does", slowest-50)
	}
}

// A picture stands still where the next packet was due and is not in it, however long ago that was.
// The newest packet that was sent has none that follows it.
//
// seeds: B17
func TestPicturesThatLackPackets(t *testing.T) {
	n := newNest(t, Config{})
	peer := n.connect("ann")
	for range 300 {
		n.tick(nil)
	}
	_, p := n.s.find(peer.id)
	newest := p.down.log.NextSeq() - 1
	for len(p.down.log.Get(newest).Refs) == 0 { // it shows nothing
		newest--
	}
	at := func(s wire.Seq) clock.TickFrac { return p.down.log.Get(s).Tick.Frac() }
	for _, c := range []struct {
		name   string
		newest wire.Seq
		want   bool
		stands clock.TickFrac
	}{
		{"all packets", newest, false, n.s.tick.Frac()},
		{"all but the last", newest - 1, true, at(newest - 1)},
		{"what the log has forgotten", newest - 1<<14, true, 0},
	} {
		seen := n.s.tick.Frac()
		if got := p.lacks(c.newest, &seen); got != c.want || seen != c.stands {
			t.Errorf("%s: stands still %v, at %d; want %v, %d", c.name, got, seen, c.want, c.stands)
		}
	}
}
