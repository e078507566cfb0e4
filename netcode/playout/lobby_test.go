package playout

import (
	"reflect"
	"testing"
	"time"
	"unsafe"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/reliable"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
	"meanwhile/netsim"
)

// A lobby: players walk and stop, everyone watches. Places of those who walk go out unreliably ten times a second, the place of each stop once
// more on a lane; a datagram is a header, a count, so many places, and a section of the lane.
type lobby struct {
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
	lane     *reliable.Sender
	received wire.Received
	events   reliable.Receiver
	players  [256]Interpolator
	owes     bool // an acknowledgement
	sent     int  // bytes, both ways
}

const (
	lobbyRTO = 400 * time.Millisecond
	lobbyMs  = clock.Time(time.Millisecond)
)

func newLobby(t testing.TB, seed uint64, walkers, watchers int, loss float64) *lobby {
	l := &lobby{}
	for i := range walkers {
		l.walkers = append(l.walkers, walker{at: geom.Vec2{X: float64(i), Y: 1}})
	}
	for i := range watchers {
		cfg := netsim.LinkConfig{Delay: 40 * time.Millisecond, Jitter: netsim.Uniform(120 * time.Millisecond), Loss: netsim.Bursts(loss, 2), Reorder: true, Duplicate: 0.02}
		w := &watcher{}
		var err error
		if w.down, err = netsim.NewPipe(seed<<16+uint64(2*i), cfg); err != nil {
			t.Fatal(err)
		}
		if w.up, err = netsim.NewPipe(seed<<16+uint64(2*i+1), cfg); err != nil {
			t.Fatal(err)
		}
		if w.lane, err = reliable.NewSender(reliable.Config{}); err != nil {
			t.Fatal(err)
		}
		for j := range l.walkers {
			w.players[j].Reset(l.walkers[j].at)
		}
		l.watchers = append(l.watchers, w)
	}
	return l
}

func (w *walker) place(i int) wire.Place {
	return wire.Place{User: uint8(i), Seq: w.seq, X: float32(w.at.X), Y: float32(w.at.Y)}
}

// beat is a tenth of a second of the server: walkers for whom walks holds go on, others stop if they walked.
func (l *lobby) beat(t testing.TB, walks func(i int) bool, turn func(i int) geom.Vec2) {
	l.tick++
	var moving []wire.Place
	for i := range l.walkers {
		p := &l.walkers[i]
		was := p.walking
		p.walking = walks(i)
		if !was && !p.walking {
			continue
		}
		p.at = p.at.Add(turn(i))
		p.seq++
		if p.walking {
			moving = append(moving, p.place(i))
			continue
		}
		for _, w := range l.watchers {
			if err := w.lane.Send(reliable.Message{Tick: clock.Tick(l.tick), AtOnce: true, Body: p.place(i).Append(nil)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, w := range l.watchers {
		if len(moving) == 0 && !w.lane.Due(l.now, lobbyRTO) {
			continue
		}
		p := w.log.Sent(l.now, clock.Tick(l.tick), func(p *wire.Packet) { w.lane.Lost(uint16(p.Seq)) })
		h := wire.Header{Seq: p.Seq, Elicits: true}
		b := append(h.Append(nil), byte(len(moving)))
		for _, m := range moving {
			b = m.Append(b)
		}
		b = w.lane.Append(b, uint16(p.Seq), wire.MaxDatagram-len(b), l.now, lobbyRTO)
		w.log.Charge(p, len(b))
		w.down.Push(l.now, b)
		w.sent += len(b)
	}
}

// run lets a tenth of a second pass for the network and the watchers.
func (l *lobby) run(t testing.TB, each func(w *watcher)) {
	for end := l.now + 100*lobbyMs; l.now < end; l.now += 10 * lobbyMs {
		for _, w := range l.watchers {
			for b, _, ok := w.down.Pop(l.now); ok; b, _, ok = w.down.Pop(l.now) {
				w.receive(t, l.now, b)
			}
			if w.owes {
				w.owes = false
				h := wire.Header{Seq: 1, HasAck: true}
				h.Ack, _ = w.received.Ack()
				b := h.Append(nil)
				w.up.Push(l.now, b)
				w.sent += len(b)
			}
			for b, _, ok := w.up.Pop(l.now); ok; b, _, ok = w.up.Pop(l.now) {
				h, _, err := wire.DecodeHeader(b)
				if err != nil {
					t.Fatal(err)
				}
				w.log.Acked(h.Ack, func(p *wire.Packet) { w.lane.Delivered(uint16(p.Seq)) }, func(p *wire.Packet) { w.lane.Lost(uint16(p.Seq)) })
			}
			if each != nil {
				each(w)
			}
		}
	}
}

func (w *watcher) receive(t testing.TB, now clock.Time, b []byte) {
	h, n, err := wire.DecodeHeader(b)
	if err != nil {
		t.Fatal(err)
	}
	w.owes = true
	if !w.received.Accepts(h.Seq) {
		return
	}
	w.received.Applied(h.Seq)
	take := func(b []byte) {
		p, _, err := wire.DecodePlace(b)
		if err == nil {
			_, err = w.players[p.User].Push(now, p.Seq, geom.Vec2{X: float64(p.X), Y: float64(p.Y)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	count := int(b[n])
	for i := range count {
		take(b[n+1+i*wire.PlaceBytes:])
	}
	if rest := b[n+1+count*wire.PlaceBytes:]; len(rest) > 0 {
		if _, err := w.events.Read(rest); err != nil {
			t.Fatal(err)
		}
	}
	for m, ok := w.events.Next(); ok; m, ok = w.events.Next() {
		take(m.Body)
	}
}

// With 20 % loss each way, jitter, reordering and duplicates: after every walk all watchers draw exactly the place where it stopped, and
// nothing at all is sent once that is acknowledged.
//
// seeds: S6
func TestStopsAreExactAndRestIsSilent(t *testing.T) {
	seeds := uint64(5)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		l := newLobby(t, seed, 8, 12, 0.2)
		for round := range 10 {
			beats := 5 + 7*round
			for b := range beats + 1 { // in the last beat all stop
				l.beat(t, func(i int) bool { return b < beats && (b+i*5+round)%23 < 17 }, func(i int) geom.Vec2 {
					a := float64(b*i+round) / 7
					return geom.Vec2{X: float64(0.4 * geom.Cos(a)), Y: float64(0.4 * geom.Sin(a))}
				})
				l.run(t, nil)
			}
			for pending, waited := true, 0; pending; waited++ {
				if waited > 300 {
					t.Fatalf("seed %d round %d: stops are not acknowledged after 30 s", seed, round)
				}
				l.beat(t, func(int) bool { return false }, nil)
				l.run(t, nil)
				pending = false
				for _, w := range l.watchers {
					pending = pending || w.lane.Pending() > 0 || w.up.InFlight() > 0 || w.down.InFlight() > 0 || w.owes
				}
			}
			before := 0
			for _, w := range l.watchers {
				before += w.sent
			}
			for range 100 { // 10 s of rest: time to draw the last stretch, too
				l.beat(t, func(int) bool { return false }, nil)
				l.run(t, nil)
			}
			after := 0
			for k, w := range l.watchers {
				after += w.sent
				for i := range l.walkers {
					got, err := w.players[i].Draw(l.now)
					if want := l.walkers[i].place(i); err != nil || got != (geom.Vec2{X: float64(want.X), Y: float64(want.Y)}) {
						t.Fatalf("seed %d round %d: watcher %d draws player %d at %v, %v; it stopped at %v, %v", seed, round, k, i, got, err, want.X, want.Y)
					}
				}
			}
			if after != before {
				t.Fatalf("seed %d round %d: %d bytes in 10 s of rest", seed, round, after-before)
			}
		}
		for k, w := range l.watchers { // the path is as bad as it should be
			if s := w.down.Stats(); float64(s.Lost) < 0.1*float64(s.Sent) || s.Sent < 300 {
				t.Errorf("seed %d: watcher %d lost %d of %d datagrams", seed, k, s.Lost, s.Sent)
			}
		}
	}
}

type stroller struct {
	Pos geom.Vec2 `net:"pos,1cm"`
}

// The same walk in both formats, at ten states a second: what the place of one player costs.
//
// seeds: S8
func TestPlaceBesideARecord(t *testing.T) {
	kind, err := schema.New("stroller", reflect.TypeFor[stroller](), 10)
	if err != nil {
		t.Fatal(err)
	}
	const players = 255
	h := snapshot.NewHistory([]*schema.Kind{kind})
	v := snapshot.NewView(h)
	store := snapshot.NewStore([]*schema.Kind{kind})
	var log wire.Log
	var received wire.Received
	var ids [players]int32
	sims := make([]int64, kind.Sims)
	bits, places := 0, 0
	for tick := clock.Tick(1); tick <= 60; tick++ {
		h.Begin(tick)
		for i := range players {
			if tick == 1 {
				ids[i] = h.Add(uint32(i+1), 0, false)
				if i < 250 {
					v.Enter(ids[i], false)
				}
			}
			a := float64(i) + float64(tick)/9 // everyone turns, at 4 m/s
			s := stroller{Pos: geom.Vec2{X: 20 + float64(i%16) + float64(3.6*geom.Cos(a)), Y: 20 + float64(i/16) + float64(3.6*geom.Sin(a))}}
			kind.Extract(unsafe.Pointer(&s), sims)
			h.Record(ids[i], sims, false)
		}
		now := clock.Time(tick) * 100 * lobbyMs
		p := log.Sent(now, tick, v.Missing)
		due := v.Pending(now, time.Second, nil)
		var w wire.BitWriter
		w.Reset(nil)
		new(snapshot.Writer).All(&w, v, due, p, now)
		if tick > 2 { // first sights are over
			bits += w.Len()
			places += len(due)
		}
		var r wire.BitReader
		r.Reset(w.Bytes())
		if err := store.Read(&r, tick, ^uint64(0)); err != nil {
			t.Fatal(err)
		}
		received.Applied(p.Seq)
		ack, _ := received.Ack()
		log.Acked(ack, v.Delivered, v.Missing)
	}
	ours := float64(bits) / float64(places)
	t.Logf("a place: %d bits, as a message %d; a record with slot and flags, 1 cm: %.1f bits", 8*wire.PlaceBytes, 8*wire.PlaceMessageBytes, ours)
	if places != 250*58 || ours > 8*wire.PlaceMessageBytes/6 {
		t.Errorf("%d records of %.1f bits", places, ours)
	}
}
