package bridge

import (
	"math"

	"meanwhile/client"
	"meanwhile/netcode/clock"
)

const headFloats = 8

// Draw returns the world as it is drawn now, as the page reads it. It is valid until the next call of any method, and the same until Drawn or the
// next Frame.
func (b *Bridge) Draw() []float64 {
	if !b.composed {
		b.compose()
		b.composed = true
	}
	return b.out
}

// Drawn says that the page has what Draw returned: its events and packets have been told.
func (b *Bridge) Drawn() {
	b.pending, b.flights = b.pending[:0], b.flights[:0]
	b.composed = false
	if b.picture != nil {
		b.picture.Drawn()
	}
}

func (b *Bridge) compose() {
	if len(b.texts.list) > maxTexts {
		b.texts.reset()
	}
	c := b.client
	if b.previous != nil && (c.Me() != 0 || b.now.Sub(b.welcomed) > keepPicture) {
		b.previous = nil
	}
	b.picture = c
	if b.previous != nil {
		b.picture = b.previous
	}
	b.takeEvents()
	var head [headFloats]float64
	b.out = append(b.out[:0], head[:]...)
	b.stats()
	b.kind, b.count = -1, 0
	if b.picture != nil {
		b.vals = b.picture.Draw(b.vals, b.each)
	}
	b.begin(len(b.kinds))
	for i := range b.pending {
		b.event(&b.pending[i])
	}
	for i := range b.flights {
		f := &b.flights[i]
		b.out = append(b.out, f.up, f.sent, f.arrived, f.bytes)
	}
	me := 0.0
	if b.picture != nil {
		me = float64(b.picture.Me())
	}
	copy(b.out, []float64{Version, float64(len(b.out)), me, b.texts.version, float64(len(statNames)), float64(len(b.kinds)),
		float64(len(b.pending)), float64(len(b.flights))})
}

// begin ends the list of the present kind and begins those up to the next one, of which the last stays open.
func (b *Bridge) begin(kind int) {
	for b.kind < kind {
		if b.kind >= 0 {
			b.out[b.counted] = float64(b.count)
		}
		if b.kind++; b.kind < len(b.kinds) {
			b.counted, b.count = len(b.out), 0
			b.out = append(b.out, 0)
		}
	}
}

// entity writes one entity. Client.Draw gives them by kind and rising ID.
func (b *Bridge) entity(e *client.Entity) {
	b.begin(e.Kind)
	b.count++
	b.out = append(b.out, float64(e.ID), b.flags(e))
	b.values(&b.kinds[e.Kind], e.Vals, e)
}

func (b *Bridge) flags(e *client.Entity) (f flag) {
	if e.Mine {
		f = flagMine
		if b.set.predict {
			f += flagPredicted
		}
	}
	if e.Cut() {
		f += flagCut
	}
	if e.Stalled() {
		f += flagHeld
	}
	if late := e.Late(); late > 0 {
		_, _, period := b.picture.Newest()
		f += lateUnit * math.Round(float64(late)/clock.FracPerTick*spanMs(period))
	}
	return f
}

// values writes the properties of an entity or event from their simulation floats; of is the entity, nil if it may be known whole.
func (b *Bridge) values(l *kindLayout, vals []float64, of *client.Entity) {
	for i := range l.props {
		p := &l.props[i]
		switch v := vals[p.at : p.at+p.comps]; {
		case of != nil && (p.private && !of.Mine || p.limited && !of.Has(p.group)):
			for range p.floats() {
				b.out = append(b.out, math.NaN())
			}
		case p.text:
			b.out = append(b.out, b.texts.of(v))
		default:
			b.out = append(b.out, v...)
		}
	}
}

// event is one that waits to be drawn.
type event struct {
	client.Event
	key float64 // tells it from all others of this page
}

// takeEvents takes over what the client has to show now.
func (b *Bridge) takeEvents() {
	if b.client == nil || !b.joined {
		return
	}
	for _, e := range b.client.Events() {
		if len(b.pending) >= maxEvents {
			b.pending = append(b.pending[:0], b.pending[1:]...)
		}
		b.key++
		b.pending = append(b.pending, event{e, b.key})
	}
}

func (b *Bridge) event(e *event) {
	f := 0.0
	if e.Own || e.Actor != 0 && e.Actor == b.client.Me() {
		f = flagMine
	}
	l := &b.events[e.Event.Event]
	b.out = append(b.out, float64(e.Event.Event), e.key, float64(e.Actor), f)
	b.vals = l.kind.AppendExact(b.vals[:0], nil, e.Vals, 65536)
	b.values(l, b.vals, nil)
}

// Me returns the own avatar as of the newest predicted tick: its kind, id, flags and values; nothing while there is none.
// It is valid until the next call of any method.
func (b *Bridge) Me() []float64 {
	c := b.client
	if c == nil || !b.joined {
		return nil
	}
	vals, kind, ok := c.AppendMe(b.vals[:0])
	b.vals = vals
	if !ok {
		return nil
	}
	f := flagMine
	if b.set.predict {
		f += flagPredicted
	}
	out := b.out
	b.out = append(b.me[:0], float64(kind), float64(c.Me()), f)
	b.values(&b.kinds[kind], vals, nil)
	b.me, b.out = b.out, out
	return b.me
}

// stats writes what statNames names.
func (b *Bridge) stats() {
	at := len(b.out)
	b.out = append(b.out, make([]float64, len(statNames))...)
	v := b.out[at:]
	c := b.client
	v[18], v[19] = float64(b.state()), spanMs(b.silence)
	if c == nil {
		return
	}
	s := c.Stats()
	tick, when, period := c.Newest()
	v[0], v[1] = float64(tick), spanMs(period)
	if s.Synced && b.joined {
		now := b.shown
		age := c.ServerTime(now).Sub(when)
		if c.Quiet() {
			age = min(age, s.LeastRTT/2) // what was new then still is
		}
		behind := s.Delay
		if b.set.interpolate {
			behind = max(behind, age) // past the newest record others stand
		} else {
			behind = age
		}
		v[2], v[3] = millis(now.Add(s.Lead)), millis(now)
		v[4], v[5] = millis(now.Add(-age)), millis(now.Add(-behind))
		v[9], v[10], v[11] = spanMs(behind), spanMs(age), spanMs(s.Lead)
	}
	v[6], v[7], v[8] = spanMs(s.RTT), spanMs(s.LeastRTT), spanMs(s.Bound)
	v[12], v[13] = float64(b.down.second(b.now)), float64(b.up.second(b.now))
	v[14], v[15] = float64(s.Corrections), 100*c.OwnOffset().Len()
	v[16], v[17] = float64(s.Hitches), float64(s.Starved)
	v[20], v[21], v[22] = spanMs(s.DelayTarget), float64(s.SingleHitches), float64(s.UpRate)
	v[23] = spanMs(s.Estimated)
}

// flight is a datagram of the page's ribbon of timelines.
type flight struct{ up, sent, arrived, bytes float64 }

// maxFlights is how many datagrams are told a frame; the oldest are dropped beyond it.
const maxFlights = 256

func (b *Bridge) fly(f flight) {
	if len(b.flights) >= maxFlights {
		b.flights = append(b.flights[:0], b.flights[1:]...)
	}
	b.flights = append(b.flights, f)
}

// flew notes a datagram from the server, which arrived at the instant at, or never; when it was sent is read off its stamp, by the estimate of the
// server's clock.
func (b *Bridge) flew(data []byte, at clock.Time, arrived float64) {
	if !b.set.packets || len(data) < stampEnd {
		return
	}
	b.fly(flight{0, min(millis(b.sentAt(data, at)), millis(at)), arrived, float64(len(data))})
}

// rose notes a datagram to the server that leaves at release.
func (b *Bridge) rose(d []byte, release clock.Time) {
	if b.set.packets {
		b.fly(flight{1, millis(b.now), millis(max(release, b.now.Add(b.client.Stats().LeastRTT/2))), float64(len(d))})
	}
}

func (b *Bridge) lostUp(d []byte) {
	if b.set.packets {
		b.fly(flight{1, millis(b.now), math.NaN(), float64(len(d))})
	}
}
