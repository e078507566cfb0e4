package client

import (
	"time"

	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/estimate"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/playout"
	"meanwhile/netcode/rate"
	"meanwhile/netcode/wire"
)

// timelines relates the local clock to the four times of a session: server time, estimated from
// stamps; tick time, announced with each packet; the playout time, at which others are drawn; and
// command time, at which the server will run the command that is made now.
type timelines struct {
	cfg     *Config
	period  time.Duration // nominal, of a tick
	spacing time.Duration // usual, from one packet of the server to the next
	queued  bool          // commands run when they arrive: they need no lead

	now    clock.Time // local, of this frame
	est    clock.Estimator
	server *clock.Output  // local time to server time
	ticks  clock.Timeline // server time to tick time
	rtt    rate.RTT
	down   rate.OneWay // how long packets stand in queues on the way down

	play         *playout.Clock
	drawTick     clock.TickFrac // playout time of this frame
	prevDrawTick clock.TickFrac // and of the frame before
	nowTick      clock.TickFrac // the present, at which extrapolated kinds are drawn
	prevNowTick  clock.TickFrac
	prevNewest   clock.Tick // newest tick known when the frame before was drawn

	lead    *Lead
	oneWay  time.Duration // how long queued commands take to the server, which is their lead
	overdue time.Duration // by which the server announced that its next tick is late
	stuckAt clock.Tick    // newest tick of which a heartbeat said that the next one is overdue

	paced struct { // the newest packet
		tick clock.Tick
		at   clock.Time // server time of its tick
	}
}

func (t *timelines) init(c *Client, local clock.Time) (err error) {
	w := &c.welcome
	send := c.rules.Send
	if w.SendRate > 0 {
		send = int(w.SendRate)
	}
	t.cfg, t.now, t.queued = &c.cfg, local, c.rules.Mode == game.Queued
	t.period, t.spacing = w.Period, time.Second/time.Duration(send)
	t.play, err = playout.New(playout.Config{Fixed: c.cfg.Playout, Interval: min(t.spacing, playout.MaxDelay)})
	if err != nil {
		return err
	}
	t.anotherPath()
	t.server = clock.NewOutput(&t.est)
	t.est.Seed(local, w.ServerTime)
	t.ticks.Update(w.Tick, w.ServerTime, w.Period)
	return nil
}

// anotherPath forgets what was known of the path. The server's clock is the same on all of them.
func (t *timelines) anotherPath() {
	t.rtt, t.down = rate.RTT{}, rate.OneWay{}
	t.lead = NewLead(t.period, t.cfg.SendRate == 0 && !t.queued)
}

// begin notes the local time of a frame and returns how long ago the frame before was: negative if
// the local clock was set back.
func (t *timelines) begin(now clock.Time) (dt time.Duration) {
	dt = now.Sub(t.now)
	t.now = now
	t.prevNewest, _, _ = t.ticks.Newest()
	return dt
}

// synced reports whether the server's time is known.
func (t *timelines) synced() bool {
	_, known := t.est.Offset()
	return known
}

// synchronise learns from the header of a datagram that arrived at the local time at: the server's
// clock, the path and the ticks. quiet says that pauses are no jitter, as the server sends little
// to a player who is away. It returns how long ticks are now, and the round trip without what stood
// in queues on the way down, as to send less would not shorten those; 0 if the datagram shows none.
// sent is our packet that it acknowledges as the newest, which is the one that it echoes; nil: it is
// forgotten, and so old that its echo shows nothing.
func (t *timelines) synchronise(
	at clock.Time, h *wire.Header, sent *wire.Packet, quiet bool,
) (period, trip time.Duration) {
	queued := t.down.Queued(at, at.Sub(at.Near(h.Stamp)))
	begun := t.est.Resets()
	if h.HasEcho && sent != nil {
		left := at.Near(h.Stamp)
		hold := left.Sub(h.Arrival(left))               // how long the server kept our stamp
		echoed := h.Echoed(sent.Sent.Add(-time.Second)) // the edge may read a coarser clock
		t.est.Receive(at, h.Stamp, echoed.Stamp(), hold)
		if rtt := at.Sub(echoed) - hold; rtt > 0 && rtt < rate.MaxTimeout {
			t.rtt.Sample(at, rtt)
			trip = max(rtt-queued, min(t.rtt.Least(), rtt))
		}
	} else {
		t.est.ReceiveOneWay(at, h.Stamp)
	}
	if offset, _ := t.est.Offset(); t.est.Resets() != begun && t.play.Floor()+offset < -clock.StepLimit {
		t.play.Reset() // a clock was set: what came before would have come sooner than it left
	}
	if period = h.Period; period == 0 {
		period = t.period
	}
	expect := t.server.Now(t.now) // near enough to place a stamp; read at the arrival, the clock would pass this frame
	if !t.synced() {
		_, expect, _ = t.ticks.Newest()
	}
	tickTime := expect.Near(h.Time)
	t.pace(at, h, tickTime, period)
	t.play.Arrive(at, tickTime, h.NextDue == wire.Quiet || quiet)
	if t.play.FasterPath() {
		t.lead.FasterPath()
	}
	return period, trip
}

// periodTolerance: a period change below 1/16 keeps the lead's history.
const periodTolerance = 16

// pace passes on how regularly the server works, as a packet shows it: how long the ticks since the
// packet before really took, how long the next ones will take, and how long after its instant the
// tick left. A tick that is computed for longer than its period delays the next.
func (t *timelines) pace(at clock.Time, h *wire.Header, tickTime clock.Time, period time.Duration) {
	before := t.paced
	if h.Tick <= before.tick {
		return
	}
	// Both stamps are of the server's clock.
	hold := min(time.Duration(int32(h.Stamp-h.Time))*time.Microsecond, clock.MaxPeriod)
	t.paced.tick, t.paced.at = h.Tick, tickTime
	if before.tick != 0 {
		late := tickTime.Sub(before.at) - time.Duration(h.Tick-before.tick)*t.period
		longer := int64(min(max(period, hold), clock.MaxPeriod) - t.period)
		t.play.Paced(at, late, time.Duration(int64(t.spacing)*longer/int64(t.period)), hold)
	}
	_, _, usual := t.ticks.Newest()
	if t.ticks.Update(h.Tick, tickTime, period) && (period-usual).Abs() > usual/periodTolerance {
		t.lead.remapped()
	}
	if newest, _, _ := t.ticks.Newest(); h.Tick == newest {
		if t.overdue = 0; t.stuckAt == h.Tick {
			// This tick is computed for longer than its period: the next one began no sooner than
			// it left.
			t.overdue = max(hold-period, 0)
		}
	}
}

// heartbeat learns that the tick after the one that b names should have begun by now, and has not.
// Until it has, command time stands still by as much, as more commands would only wait, and playout
// slows before it has nothing left to draw.
func (t *timelines) heartbeat(at clock.Time, b *packet.Heartbeat) {
	tick, began, period := t.ticks.Newest()
	if tick == 0 || b.Tick < tick {
		return // a later tick is known
	}
	if b.Tick > tick { // its packet is still to come, or was lost, or there is none
		if period = b.Period; period == 0 {
			period = t.period
		}
		began = began.Near(b.Time)
		t.ticks.Update(b.Tick, began, period)
		t.overdue = 0
	}
	t.stuckAt = b.Tick
	t.est.ReceiveOneWay(at, b.Stamp)
	if late := min(began.Near(b.Stamp).Sub(began)-period, clock.MaxPeriod); late > t.overdue {
		t.overdue = late
		t.play.Overdue(late)
	}
}

// followStep reports whether a clock was set, the local one or the server's, and starts anew what
// was dated by the wrong time. dt is what begin returned.
func (t *timelines) followStep(dt time.Duration) bool {
	t.server.Now(t.now)
	if !t.server.Behind() && dt > -clock.StepLimit {
		return false
	}
	t.server.Step(t.now)
	t.play.Reset()
	t.rtt, t.down = rate.RTT{}, rate.OneWay{}
	t.drawTick = 0
	return true
}

// movePlayout moves the playout time on to this frame.
func (t *timelines) movePlayout() {
	t.prevDrawTick, t.prevNowTick = t.drawTick, t.nowTick
	if t.play.Advance(t.now) == 0 {
		return // nothing arrived yet
	}
	at := t.play.DisplayTime()
	// Beyond what was received, ticks were only assumed to run on. A server that stalled has not
	// run them: then the playout time goes back, to where what is drawn has stood still since.
	t.drawTick = max(min(t.drawTick, t.prevNewest.Frac()), t.ticks.TickAt(at))
	t.nowTick = max(t.drawTick, t.ticks.TickAt(t.server.Now(t.now).Add(-t.overdue)))
}

// commandTick moves the lead on by dt and returns the tick of the newest command that is due; 0
// while the server's time is not known. The lead of a player who is away stays: a hidden page makes
// its commands when it can.
func (t *timelines) commandTick(dt time.Duration, away bool) clock.Tick {
	least, _ := t.est.RTT()
	lead := t.lead.Now()
	if !away || lead == 0 {
		lead = t.lead.Move(dt, least)
	}
	if t.queued {
		if t.oneWay == 0 {
			t.oneWay = least / 2
		}
		slew := &estimate.InputSlew
		if t.oneWay-least/2 > leadJump {
			slew = &estimate.InputChange // the first round trips came out of an outage
		}
		t.oneWay = slew.Step(t.oneWay, least/2, dt)
		lead = t.oneWay
	} else if !t.lead.reported() {
		// Where frames are as long as ticks, no command would ever be made that the server could
		// report on.
		lead += t.period
	}
	if !t.synced() {
		return 0
	}
	return t.ticks.TickAt(t.server.Now(t.now).Add(lead - t.overdue)).Tick()
}

// made tells the lead that the command of a tick was made now, as the best estimate has it: after
// a clock was set the output follows that slowly.
func (t *timelines) made(tick clock.Tick) {
	t.lead.Made(tick, t.ticks.TimeOf(tick.Frac()).Sub(t.server.Now(t.now).Add(t.server.Error())))
}

// ahead returns command time minus server time.
func (t *timelines) ahead() time.Duration {
	if t.queued {
		return t.oneWay - t.overdue
	}
	return t.lead.Now() - t.overdue
}

// tickAhead returns the command time of this frame in tick time.
func (t *timelines) tickAhead() clock.TickFrac { return t.tickAt(t.now) }

// tickAt returns the command time in tick time at a local time near that of this frame.
func (t *timelines) tickAt(local clock.Time) clock.TickFrac {
	return t.ticks.TickAt(t.server.Now(t.now).Add(t.ahead() + local.Sub(t.now)))
}

// runBy returns the newest tick that the server has surely run when a packet arrives that leaves at
// the local time now.
func (t *timelines) runBy(now clock.Time) clock.Tick {
	first := t.ticks.TickAt(t.server.Now(now).Add(t.rtt.Least() / 2)).Tick()
	return max(first, spareTicks) - spareTicks
}

// spareTicks is by how many ticks runBy may be wrong: the two ways differ, and ticks do not run at
// once.
const spareTicks = 2
