package lobby

import (
	"testing"
	"time"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/reliable"
	"meanwhile/netcode/wire"
	"meanwhile/netsim"
)

// A room is a lobby on a network: walkers walk and stop, watchers draw all of them. Ten times a
// second the server sends the places of those who walk unreliably, and the place of each stop once
// more reliably. A datagram is a header, a count, so many places, and a section of the reliable
// channel.
type room struct {
	walkers  []walker
	watchers []*watcher
	now      clock.Time
	tick     int
}

type walker struct {
	at      geom.Vec2
	seq     wire.Seq
	walking bool
}

type watcher struct {
	down, up *netsim.Pipe
	log      wire.Log
	stops    *reliable.Sender
	received wire.Received
	messages reliable.Receiver
	players  [256]Interpolator
	owesAck  bool
	sent     int // bytes, both ways
}

const rto = 400 * time.Millisecond

// newRoom makes a room on a bad network: loss in bursts, jitter, reordering, duplicates.
func newRoom(t testing.TB, seed uint64, walkers, watchers int, loss float64) *room {
	r := &room{}
	for i := range walkers {
		r.walkers = append(r.walkers, walker{at: geom.Vec2{X: float64(i), Y: 1}})
	}
	cfg := netsim.LinkConfig{
		Delay:     40 * time.Millisecond,
		Jitter:    netsim.Uniform(120 * time.Millisecond),
		Loss:      netsim.Bursts(loss, 2),
		Reorder:   true,
		Duplicate: 0.02,
	}
	for i := range watchers {
		w := &watcher{}
		var err error
		if w.down, err = netsim.NewPipe(seed<<16+uint64(2*i), cfg); err != nil {
			t.Fatal(err)
		}
		if w.up, err = netsim.NewPipe(seed<<16+uint64(2*i+1), cfg); err != nil {
			t.Fatal(err)
		}
		if w.stops, err = reliable.NewSender(reliable.Config{}); err != nil {
			t.Fatal(err)
		}
		for j := range r.walkers {
			w.players[j].Reset(r.walkers[j].at)
		}
		r.watchers = append(r.watchers, w)
	}
	return r
}

func (w *walker) place(i int) Place {
	return Place{User: uint8(i), Seq: w.seq, X: float32(w.at.X), Y: float32(w.at.Y)}
}

// round is a tenth of a second: walkers for whom walks is true move by step; the others stop, if
// they walked.
func (r *room) round(t testing.TB, walks func(i int) bool, step func(i int) geom.Vec2) {
	r.tick++
	var moving []Place
	for i := range r.walkers {
		p := &r.walkers[i]
		was := p.walking
		p.walking = walks(i)
		if !was && !p.walking {
			continue
		}
		p.at = p.at.Add(step(i))
		p.seq++
		if p.walking {
			moving = append(moving, p.place(i))
			continue
		}
		stop := reliable.Message{Tick: clock.Tick(r.tick), AtOnce: true, Body: p.place(i).Append(nil)}
		for _, w := range r.watchers {
			if err := w.stops.Send(stop); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, w := range r.watchers {
		w.send(r.now, clock.Tick(r.tick), moving)
	}
	for end := r.now + 100*ms; r.now < end; r.now += 10 * ms {
		for _, w := range r.watchers {
			w.deliver(t, r.now)
		}
	}
}

// send sends the server's datagram to a watcher, or nothing if there is nothing to say.
func (w *watcher) send(now clock.Time, tick clock.Tick, moving []Place) {
	if len(moving) == 0 && !w.stops.NeedsSend(now, rto) {
		return
	}
	p := w.log.Sent(now, tick, func(p *wire.Packet) { w.stops.Lost(uint16(p.Seq)) })
	h := wire.Header{Seq: p.Seq, Elicits: true}
	b := append(headerBytes(&h), byte(len(moving)))
	for _, m := range moving {
		b = m.Append(b)
	}
	b = w.stops.Append(b, uint16(p.Seq), wire.MaxDatagram-len(b), now, rto)
	w.log.Charge(p, len(b))
	w.down.Push(now, b)
	w.sent += len(b)
}

// headerBytes encodes a header alone.
func headerBytes(h *wire.Header) []byte {
	var w wire.BitWriter
	w.Reset(nil)
	h.Append(&w, wire.Known{})
	return w.Bytes()
}

// deliver hands over what arrived by now: datagrams at the watcher, acknowledgements at the server.
func (w *watcher) deliver(t testing.TB, now clock.Time) {
	for b, _, ok := w.down.Pop(now); ok; b, _, ok = w.down.Pop(now) {
		w.receive(t, now, b)
	}
	if w.owesAck {
		w.owesAck = false
		h := wire.Header{Seq: 1, HasAck: true}
		h.Ack, _ = w.received.Ack()
		b := headerBytes(&h)
		w.up.Push(now, b)
		w.sent += len(b)
	}
	for b, _, ok := w.up.Pop(now); ok; b, _, ok = w.up.Pop(now) {
		var r wire.BitReader
		h, err := wire.DecodeUp(&r, b, w.log.NextSeq())
		if err != nil {
			t.Fatal(err)
		}
		w.log.Acked(h.Ack,
			func(p *wire.Packet) { w.stops.Delivered(uint16(p.Seq)) },
			func(p *wire.Packet) { w.stops.Lost(uint16(p.Seq)) })
	}
}

// receive pushes the places of a datagram.
func (w *watcher) receive(t testing.TB, now clock.Time, b []byte) {
	var r wire.BitReader
	h, err := wire.DecodeUp(&r, b, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.owesAck = true
	if !w.received.Accepts(h.Seq) {
		return
	}
	w.received.Applied(h.Seq)
	push := func(b []byte) {
		p, _, err := DecodePlace(b)
		if err == nil {
			_, err = w.players[p.User].Push(now, p.Seq, geom.Vec2{X: float64(p.X), Y: float64(p.Y)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b = r.Rest()
	count := int(b[0])
	for i := range count {
		push(b[1+i*PlaceBytes:])
	}
	if rest := b[1+count*PlaceBytes:]; len(rest) > 0 {
		if _, err := w.messages.Read(rest); err != nil {
			t.Fatal(err)
		}
	}
	for m, ok := w.messages.Next(); ok; m, ok = w.messages.Next() {
		push(m.Body)
	}
}

// rest lets n tenths of a second pass in which nobody walks.
func (r *room) rest(t testing.TB, n int) {
	for range n {
		r.round(t, func(int) bool { return false }, nil)
	}
}

// busy reports whether a stop is not acknowledged yet, or a datagram is on its way.
func (r *room) busy() bool {
	for _, w := range r.watchers {
		if w.stops.Pending() > 0 || w.up.InFlight() > 0 || w.down.InFlight() > 0 || w.owesAck {
			return true
		}
	}
	return false
}

func (r *room) bytes() (sum int) {
	for _, w := range r.watchers {
		sum += w.sent
	}
	return sum
}

// With 20 % loss each way, jitter, reordering and duplicates: after every walk all watchers draw
// each player exactly where it stopped, and nothing is sent once the stops are acknowledged.
//
// seeds: S6
func TestStopsAreExactAndRestIsSilent(t *testing.T) {
	seeds := uint64(5)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		r := newRoom(t, seed, 8, 12, 0.2)
		for walk := range 10 {
			rounds := 5 + 7*walk
			for b := range rounds + 1 { // in the last round everybody stops
				r.round(t,
					func(i int) bool { return b < rounds && (b+i*5+walk)%23 < 17 },
					func(i int) geom.Vec2 {
						a := float64(b*i+walk) / 7
						return geom.Vec2{X: float64(0.4 * geom.Cos(a)), Y: float64(0.4 * geom.Sin(a))}
					})
			}
			for waited := 0; r.busy(); waited++ {
				if waited > 300 {
					t.Fatalf("seed %d walk %d: stops are not acknowledged after 30 s", seed, walk)
				}
				r.rest(t, 1)
			}
			before := r.bytes()
			r.rest(t, 100) // 10 s: time to draw the last stretch, too
			if sent := r.bytes() - before; sent != 0 {
				t.Fatalf("seed %d walk %d: %d bytes in 10 s of rest", seed, walk, sent)
			}
			for k, w := range r.watchers {
				for i := range r.walkers {
					got, err := w.players[i].Draw(r.now)
					want := r.walkers[i].place(i)
					if err != nil || got != (geom.Vec2{X: float64(want.X), Y: float64(want.Y)}) {
						t.Fatalf("seed %d walk %d: watcher %d draws player %d at %v, %v; it stopped at %v, %v",
							seed, walk, k, i, got, err, want.X, want.Y)
					}
				}
			}
		}
		for k, w := range r.watchers { // the network is as bad as it should be
			if s := w.down.Stats(); float64(s.Lost) < 0.1*float64(s.Sent) || s.Sent < 300 {
				t.Errorf("seed %d: watcher %d lost %d of %d datagrams", seed, k, s.Lost, s.Sent)
			}
		}
	}
}
