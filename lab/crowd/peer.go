package crowd

import (
	"math"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/wire"
	"meanwhile/server"
	"meanwhile/session"
)

// peer is the far end of one connection. It sends real headers, acknowledgements, echoes and
// commands, and decodes nothing behind the header, unless a viewer does: it does not ask for a
// resync, and does not adapt its lead.
type peer struct {
	id       server.PlayerID
	walker   int
	viewer   *viewer // nil for most
	random   random  // loss both ways
	up       []flying
	spare    []flying
	down     []pending // on the way to it
	received *wire.Incoming
	seq      wire.Seq
	phase    clock.Tick    // in which of upEvery ticks it sends
	within   time.Duration // how long after the tick
	echo     clock.Stamp
	echoAt   clock.Time
	echoes   bool

	window   [Rate]int // bits that were sent to it in each tick of a second
	inWindow int       // their sum
}

// flying is a datagram on its way up.
type flying struct {
	at   clock.Time
	data []byte
}

// pending is what a client without a viewer reads of a datagram.
type pending struct {
	at clock.Time
	h  wire.Header
}

func newPeer(r *Run, id server.PlayerID, walker int, w session.Welcome) *peer {
	c := &peer{id: id, walker: walker, seq: wire.FirstSeq - 1,
		received: wire.NewIncoming(w.Tick, w.ServerTime, w.Period)}
	c.random = random(r.cfg.Seed*0x9E37 + uint64(id)*0x1000003)
	c.phase, c.within = clock.Tick(c.random.below(upEvery)), time.Duration(c.random.below(int(tick/time.Microsecond)))*
		time.Microsecond
	return c
}

// put puts a datagram on its way.
func (c *peer) put(at clock.Time, b []byte) {
	var r wire.BitReader
	h, err := c.received.Decode(&r, b)
	if err != nil {
		panic(err)
	}
	c.down = append(c.down, pending{at, h})
}

// The commands of a client: each datagram has the new ones, and repeats some.
const (
	ahead   = 3 // ticks from the newest computed tick to the oldest new command
	repeats = 4
	many    = repeats + upEvery
)

// run sends the datagram of this tick, if it is one in which the client sends.
func (c *peer) run(r *Run) {
	if (r.tick+c.phase)%upEvery != 0 {
		return
	}
	now := r.now.Add(c.within)
	n := 0
	for i := range c.down {
		p := &c.down[i]
		if p.at > now {
			c.down[n] = *p
			n++
			continue
		}
		c.received.Applied(&p.h)
		if p.h.HasAck {
			c.received.Delivered(p.h.Ack.Latest)
		}
		c.echo, c.echoAt, c.echoes = p.h.Stamp, p.at, true
	}
	c.down = c.down[:n]
	c.seq++
	h := wire.Header{Seq: c.seq, Stamp: now.Stamp(), Elicits: true}
	h.Ack, h.HasAck = c.received.Ack()
	c.received.Stated(h.Seq)
	if c.echoes {
		h.HasEcho, h.Echo, h.EchoAt, c.echoes = true, c.echo, c.echoAt.Stamp(), false
	}
	var f flying
	if n := len(c.spare); n > 0 {
		f, c.spare = c.spare[n-1], c.spare[:n-1]
	}
	r.w.Reset(f.data[:0])
	h.Append(&r.w, wire.Known{Ack: c.received.Known()})
	packet.Uplink{}.Append(&r.w)
	vals, aim := r.commands[:], int64(r.scene.walkers.heading[c.walker]>>8)
	for i := range vals {
		v := &vals[i]
		v.Tick = r.tick + ahead + clock.Tick(i) - repeats
		if r.tick+ahead < repeats+1 {
			v.Tick = clock.Tick(i) + 1
		}
		v.Seen, v.Newest = (v.Tick - min(v.Tick-1, 9)).Frac(), h.Ack.Latest
		v.Vals[0], v.Vals[1], v.Vals[2] = stick(aim, 0), stick(aim, -64), aim
	}
	packet.AppendCommands(&r.w, r.rules.Command, vals, h.Ack)
	f.data, f.at = r.w.Bytes(), now.Add(delay)
	if c.random.chance(loss) {
		c.spare = append(c.spare, f)
		return
	}
	c.up = append(c.up, f)
}

// stick returns a component of the direction in which a player holds its stick.
func stick(heading, turn int64) int64 {
	return int64(100 * math.Cos(float64(heading+turn)*math.Pi/128))
}
