package bridge

import (
	"math"
	"time"

	"meanwhile/client"
	"meanwhile/netcode/clock"
)

const (
	// keepPicture is for how long the last picture of a lost connection stays while the new one has
	// nothing to show.
	keepPicture = time.Second
	// maxEvents is how many events wait to be drawn. Beyond it the oldest are dropped.
	maxEvents = 512
)

type flag = float64

// Flags of entities and events.
const (
	flagMine      flag = 1
	flagCut       flag = 2
	flagUndo      flag = 2 // of events
	flagPredicted flag = 4
	flagStalled   flag = 8
	lateUnit      flag = 16 // one millisecond of lateness, which stands above the flags
)

// Draw returns the world of this frame as the page reads it. It is valid until the next call of any
// method. Until Drawn or the next Frame, Draw returns the same again.
func (b *Bridge) Draw() []float64 {
	if !b.composed {
		b.compose()
		b.composed = true
	}
	return b.write.out
}

// Drawn reports that the page has read what Draw returned: its events and packets are not written
// again.
func (b *Bridge) Drawn() {
	b.pending, b.receipts, b.flights = b.pending[:0], b.receipts[:0], b.flights[:0]
	b.composed = false
	if b.picture != nil {
		b.picture.Drawn()
	}
}

func (b *Bridge) compose() {
	w, c := &b.write, b.client
	w.texts.limit()
	if b.previous != nil && (c.Me() != 0 || b.now.Sub(b.welcomed) > keepPicture) {
		b.previous = nil
	}
	b.picture = c
	if b.previous != nil {
		b.picture = b.previous
	}
	b.collectEvents()
	w.reset()
	b.stats()
	me := 0.0
	if b.picture != nil {
		me = float64(b.picture.Me())
		b.vals = b.picture.Draw(b.vals, b.each)
	}
	w.begin(len(w.kinds))
	for i := range b.pending {
		b.event(&b.pending[i])
	}
	for i := range b.receipts {
		b.receipt(&b.receipts[i])
	}
	for i := range b.flights {
		f := &b.flights[i]
		w.out = append(w.out, f.up, f.sent, f.arrived, f.bytes)
	}
	w.head(me, len(b.pending)+len(b.receipts), len(b.flights))
}

// entity writes one entity. Client.Draw passes them by kind and rising ID.
func (b *Bridge) entity(e *client.Entity) {
	w := &b.write
	w.begin(e.Kind)
	w.count++
	w.out = append(w.out, float64(e.ID), b.flags(e), b.tickMs(e.Interval()))
	w.values(&w.kinds[e.Kind], e.Vals, e)
}

func (b *Bridge) flags(e *client.Entity) (f flag) {
	if e.Mine {
		f = b.ownFlags()
	} else if e.Predicted {
		f = flagPredicted
	}
	if e.Cut() {
		f += flagCut
	}
	if e.Stalled() {
		f += flagStalled
	}
	if late := e.Late(); late > 0 {
		f += lateUnit * math.Round(b.tickMs(late))
	}
	return f
}

// tickMs returns a span of tick time in milliseconds.
func (b *Bridge) tickMs(t clock.TickFrac) float64 {
	_, _, period := b.picture.Newest()
	return float64(t) / clock.FracPerTick * spanMs(period)
}

func (b *Bridge) ownFlags() flag {
	if b.set.predicting() {
		return flagMine + flagPredicted
	}
	return flagMine
}

// event is one that waits to be drawn.
type event struct {
	client.Event
	key float64 // differs from that of every other event of this page
}

// collectEvents queues the events that the client shows now.
func (b *Bridge) collectEvents() {
	if b.client == nil || !b.joined {
		return
	}
	b.receipts = b.client.Receipts(b.receipts)
	for _, e := range b.client.Events() {
		if len(b.pending) >= maxEvents {
			b.pending = append(b.pending[:0], b.pending[1:]...)
		}
		b.pending = append(b.pending, event{e, b.keyOf(&e)})
	}
}

// maxTakenBack is how many predicted events the bridge remembers in case one is taken back.
const maxTakenBack = 64

// numbered is the key of a predicted event.
type numbered struct {
	number uint32
	key    float64
}

// keyOf returns the key of an event: a new one, or that under which the event was shown that it
// takes back.
func (b *Bridge) keyOf(e *client.Event) float64 {
	at := &b.numbered[e.Number%maxTakenBack]
	if e.Cancelled && at.number == e.Number {
		return at.key
	}
	b.key++
	if e.Number != 0 {
		*at = numbered{e.Number, b.key}
	}
	return b.key
}

// eventUnit converts an event's exact values, in 1/65536, to floats.
const eventUnit = 65536

func (b *Bridge) event(e *event) {
	f := 0.0
	if e.Own || e.Actor != 0 && e.Actor == b.client.Me() {
		f = flagMine
	}
	if e.Cancelled {
		f += flagUndo
	}
	w := &b.write
	l := &w.events[e.Event.Event]
	w.out = append(w.out, float64(e.Event.Event), e.key, float64(e.Actor), f)
	b.vals = l.kind.AppendExact(b.vals[:0], nil, e.Vals, eventUnit)
	w.values(l, b.vals, nil)
}

// Me returns the own avatar at the newest predicted tick, its place where the next command aims
// from: index of its kind, id, flags and values; nothing without an avatar. pressedMs is that of
// the Tick that follows. The result is valid until the next call of any method.
func (b *Bridge) Me(pressedMs float64) []float64 {
	c := b.client
	if c == nil || !b.joined {
		return nil
	}
	b.press(pressedMs)
	vals, kind, ok := c.AppendMe(b.vals[:0])
	b.vals = vals
	if !ok {
		return nil
	}
	w := &b.write
	out := w.out
	w.out = append(b.me[:0], float64(kind), float64(c.Me()), b.ownFlags())
	w.values(&w.kinds[kind], vals, nil)
	b.me, w.out = w.out, out
	return b.me
}

// stats writes the measurements that statNames lists, in its order.
func (b *Bridge) stats() {
	w := &b.write
	at := len(w.out)
	w.out = append(w.out, make([]float64, len(statNames))...)
	v := w.out[at:]
	c := b.client
	v[18], v[19] = float64(b.state()), spanMs(b.silence)
	if c == nil {
		return
	}
	v[30], v[31] = float64(b.welcome.BudgetDown/8), spanMs(b.welcome.Late)
	s := c.Stats()
	tick, when, period := c.Newest()
	v[0], v[1] = float64(tick), spanMs(period)
	if s.Synced && b.joined {
		now := b.shown
		age := c.ServerTime(now).Sub(when)
		if c.Quiet() {
			age = min(age, s.LeastRTT/2) // nothing has changed since
		}
		behind := s.Delay
		if b.set.interpolate {
			behind = max(behind, age) // past the newest record others stand still
		} else {
			behind = age
		}
		v[2], v[3] = millis(now.Add(s.Lead)), millis(now)
		v[4], v[5] = millis(now.Add(-age)), millis(now.Add(-behind))
		v[9], v[10], v[11] = spanMs(behind), spanMs(age), spanMs(s.Lead)
	}
	v[6], v[7], v[8] = spanMs(s.RTT), spanMs(s.LeastRTT), spanMs(s.Bound)
	v[12], v[13] = float64(b.down.second(b.now)), float64(b.up.second(b.now))
	off := c.OwnOffset()
	v[14], v[15] = float64(s.Prediction.Corrections), 100*off.Len()
	v[16], v[17] = float64(s.Hitches), float64(s.Starved)
	v[20], v[21], v[22] = spanMs(s.DelayTarget), float64(s.SingleHitches), float64(s.UpRate)
	v[23] = spanMs(s.Estimated)
	v[24], v[25], v[26] = off.X, off.Y, off.Z
	v[27], v[28], v[29] = float64(s.Prediction.Replayed), float64(s.Prediction.Owed), float64(s.Prediction.Deferred)
}
