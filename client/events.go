package client

import (
	"slices"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/reliable"
)

// Event is something that happened, to be shown now.
type Event struct {
	Event int // index in the game's Events
	Actor game.ID
	Tick  clock.Tick
	Vals  []int64 // simulation integers of the payload
	Own   bool    // predicted here
	// Number names a predicted event: that it is Cancelled is said under the same one. 0: not
	// predicted.
	Number uint32
	// Cancelled says that the event was shown as predicted, and has not happened: take it back.
	Cancelled bool
	At        geom.Vec2 // where in the world, as predicted; of own events only
}

// maxEvents is how many events wait for Client.Events to be called. Those beyond it are lost and
// counted.
const maxEvents = 512

// eventQueue has the events of a player: those to be shown next, and those that wait until their
// entity is drawn at their tick, or until the server has confirmed them.
type eventQueue struct {
	rules *game.Rules
	cfg   *Config
	eng   *engine.Engine
	play  *playback
	own   *reconcile
	stats *Stats

	next, shown *eventList // for the next call of Events; what the last one returned

	foreseen  foreseen
	number    uint32        // of the newest predicted event
	starved   uint8         // the server's count of starved ticks
	starvedAt clock.Tick    // when it grew
	hold      reliable.Hold // others' events until their time has come
	delayed   eventList     // own events where less is shown than is predicted
	spare     eventList
	payload   []int64 // of the event that is read
}

func (q *eventQueue) init(c *Client) {
	q.rules, q.cfg, q.eng, q.play, q.own, q.stats = c.rules, &c.cfg, c.eng, &c.play, &c.own, &c.stats
	q.next, q.shown, q.foreseen.q = &eventList{}, &eventList{}, q
}

// eventList is a list of events with memory of its own for their payloads.
type eventList struct {
	list []Event
	vals []int64
}

func (l *eventList) clear() { l.list, l.vals = l.list[:0], l.vals[:0] }

// add appends an event and a copy of its payload.
func (l *eventList) add(e Event) {
	at := len(l.vals)
	l.vals = append(l.vals, e.Vals...)
	e.Vals = l.vals[at:len(l.vals):len(l.vals)]
	l.list = append(l.list, e)
}

// collect takes over what predicted rules emitted: to be shown next or, where not all prediction is
// shown, with the picture of their tick.
func (q *eventQueue) collect() {
	for i := range q.eng.Events() {
		e := &q.eng.Events()[i]
		if e.Replay && (q.foreseen.again(e.Event, e.Actor, e.Tick) || e.Tick <= q.play.down.newestTick) {
			continue // it was shown, or the server has decided on it
		}
		to := q.next
		if q.cfg.NoPrediction && (!e.ByActor || e.Replay) {
			continue // the server sends it, or it waits already
		}
		if q.cfg.NoPrediction || q.play.time.limited() {
			to = &q.delayed
		}
		if len(to.list) >= maxEvents {
			q.stats.EventsLost++
			continue
		}
		q.number++
		event := Event{Number: q.number, Event: e.Event, Actor: e.Actor, Tick: e.Tick, Vals: e.Vals, Own: true, At: e.At}
		if to.add(event); !q.cfg.NoPrediction {
			q.foreseen.add(event, !e.ByActor)
		}
	}
	q.eng.Drain()
	if q.own.ring.Debt() == 0 {
		q.foreseen.end()
	}
}

// decide takes back predicted events that the server refused, as far as a packet of a tick says.
func (q *eventQueue) decide(tick clock.Tick, f *packet.Feedback) {
	period := q.play.time.period
	grace := clock.Tick(0)
	if f.Starved != q.starved { // presses of late commands run later
		q.starved, q.starvedAt = f.Starved, tick
	}
	late := clock.Tick(packet.LatePress / period)
	if q.starvedAt != 0 && tick < q.starvedAt+2*late {
		grace = late
	}
	if !q.play.time.queued {
		q.foreseen.confirm(tick, f.Events, grace)
	}
	wait := despawnGrace
	if q.play.down.gapTick+clock.Tick(despawnGraceLossy/period) > tick {
		wait = despawnGraceLossy
	}
	q.foreseen.expire(tick, clock.Tick(wait/period))
}

// put keeps an event that the server sent until its time has come. If too many wait, the oldest is
// shown at once.
func (q *eventQueue) put(m reliable.Message) {
	if q.foreseen.matches(&m, clock.Tick(despawnGrace/q.play.time.period)) {
		return // it was shown when it was predicted
	}
	for !q.hold.Put(m) {
		q.show(q.hold.Pop())
	}
}

// showDue moves on the events whose entity is drawn at their tick.
func (q *eventQueue) showDue() {
	for {
		m, ok := q.hold.Take(func(id uint32, t clock.Tick) bool {
			at := q.play.time.drawTick
			if h := q.play.store.Find(id); h != nil {
				at, _ = q.play.timeOf(h)
			}
			return t.Frac() <= at
		})
		if !ok {
			return
		}
		q.show(m)
	}
}

// releaseDelayed moves on the own events that the avatar is drawn doing by now: without prediction
// those of ticks that the server has confirmed.
func (q *eventQueue) releaseDelayed() {
	if len(q.delayed.list) == 0 {
		return
	}
	shown := q.own.newestDrawn()
	if q.cfg.NoPrediction {
		shown = q.own.ring.Base()
	}
	keep := &q.spare
	keep.clear()
	for _, e := range q.delayed.list {
		to := q.next
		if e.Tick > shown {
			to = keep
		}
		to.add(e)
	}
	q.delayed, q.spare = q.spare, q.delayed
}

// withdraw forgets an own event that was not shown yet. It returns false if it was.
func (q *eventQueue) withdraw(e *Event) bool {
	for i := range q.delayed.list {
		if d := &q.delayed.list[i]; d.Event == e.Event && d.Actor == e.Actor && d.Tick == e.Tick {
			q.delayed.list = append(q.delayed.list[:i], q.delayed.list[i+1:]...)
			return true
		}
	}
	return false
}

// take returns the events that are to be shown now, valid until the next call.
func (q *eventQueue) take() []Event {
	q.next, q.shown = q.shown, q.next
	q.next.clear()
	for i := range q.shown.list {
		e := &q.shown.list[i]
		e.Actor = q.play.ahead.shownID(e.Actor)
	}
	return q.shown.list
}

// show reads an event that the server sent, to be shown next.
func (q *eventQueue) show(m reliable.Message) {
	if int(m.Kind) >= len(q.rules.Events) {
		q.stats.Malformed++
		return
	}
	if len(q.next.list) >= maxEvents {
		q.stats.EventsLost++
		return
	}
	k := q.rules.Events[m.Kind]
	q.payload = slices.Grow(q.payload[:0], k.Sims)[:k.Sims]
	clear(q.payload)
	if packet.DecodeEvent(m.Body, k, m.Tick, q.payload) != nil {
		q.stats.Malformed++
		return
	}
	q.next.add(Event{Event: int(m.Kind), Actor: game.ID(m.Entity), Tick: m.Tick, Vals: q.payload})
}
