package rewind

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

// Three kinds of things. Wagons are coarser the further away they are, only their side receives
// what they plan, and only who is near what they have aboard. Birds are the same for everyone.
// Riders crouch, and ride on wagons or not.
type wagon struct {
	Pos  geom.Vec2 `net:"pos,others=1cm,4cm@30m,64cm@100m,warp=20m"`
	Load int       `net:"int,0..9"`
	Side int       `net:"int,0..2,server,team"`
	Plan int       `net:"int,1..99,to=team"`
	Fuel int       `net:"int,1..99,far=70m"`
}

type bird struct {
	Pos  geom.Vec3 `net:"pos,others=1cm"`
	Wing float64   `net:"angle,1deg"`
}

type rider struct {
	On     uint32    `net:"handle,parent"`
	Pos    geom.Vec2 `net:"pos,others=1cm"`
	Crouch bool      `net:"bool"`
}

// thing is an entity of the world.
type thing struct {
	i      int32
	id     uint32
	kind   int
	x, y   int64 // mm
	vx     int64
	side   int64
	on     uint32
	crouch int64
	inView bool
}

// fates are what may become of packets, and of things.
type fates struct {
	name    string
	rate    int        // ticks a second
	packets int        // packets a second
	most    int        // entries for which a packet has room
	things  int        // a third of each kind
	delay   clock.Tick // each way
	jitter  clock.Tick // at most, on top
	loss    float64    // each way
	flaps   float64    // how often a thing leaves the client's sight, a tick
	class   uint8      // the greatest bound
	wait    clock.Tick // for which a command waits for its tick at most
	back    clock.Tick // how far back is looked at most
	ticks   int
	least   map[string]int // of what at least so many were compared
	// counted is how much at most may have been drawn from what is older than the history: what
	// does not move, waits for room, and is lost, again and again.
	counted int
}

// A range of things that come and go, die, jump, stop and start, near and far, of the client's own
// side and of others; and a path that delays, reorders and loses packets both ways.
type shootingRange struct {
	*fates
	t        *testing.T
	seed     uint64
	kinds    []*schema.Kind
	h        *snapshot.History
	view     *snapshot.View
	log      wire.Log
	writer   snapshot.Writer
	urgent   snapshot.Scratch
	rewinder Rewinder
	random   geom.Rand
	tick     clock.Tick
	list     []*thing
	ids      uint32

	client
	down     []downPacket
	up       []shot
	latest   wire.Seq          // newest packet of the client that the server has
	acked    map[wire.Seq]bool // packets that the server knows to be applied
	compared map[string]int
}

// client is the far end.
type client struct {
	store     *snapshot.Store
	received  wire.Received
	agreement wire.Agreement
	sent      wire.Seq   // the client's own packets
	newest    wire.Seq   // newest packet applied
	applied   []wire.Seq // packets in the order in which they were applied
}

type downPacket struct {
	at     clock.Tick // when it arrives
	seq    wire.Seq
	tick   clock.Tick
	latest wire.Seq
	body   []byte
}

// shot is a packet of the client: an acknowledgement, and what the client drew when it was sent.
type shot struct {
	at      clock.Tick // when it arrives
	runs    clock.Tick // when it is judged
	seq     wire.Seq
	ack     wire.Ack
	newest  wire.Seq
	applied int // how many packets the client had applied
	drawn   []drawing
}

// drawing is what a client drew of one kind at a playout time.
type drawing struct {
	t    clock.TickFrac
	kind int
	want map[uint32]string // drawn values by ID
}

func newShootingRange(t *testing.T, f *fates, seed uint64) *shootingRange {
	const team = 1
	s := &shootingRange{fates: f, t: t, seed: seed, random: geom.NewRand(seed), list: make([]*thing, f.things),
		acked: map[wire.Seq]bool{}, compared: map[string]int{}}
	for _, k := range []struct {
		name string
		of   reflect.Type
	}{{"wagon", reflect.TypeFor[wagon]()}, {"bird", reflect.TypeFor[bird]()}, {"rider", reflect.TypeFor[rider]()}} {
		kind, err := schema.New(k.name, k.of, f.rate)
		if err != nil {
			t.Fatal(err)
		}
		s.kinds = append(s.kinds, kind)
	}
	s.h, s.store = snapshot.NewHistory(codec.All(s.kinds...)), snapshot.NewStore(codec.All(s.kinds...))
	s.view = snapshot.NewView(s.h)
	s.view.Team(team)
	s.rewinder = Rewinder{History: s.h, View: s.view, Log: &s.log}
	return s
}

func (s *shootingRange) chance(p float64) bool { return s.random.Float64() < p }

// arrival returns when a packet that is sent now arrives: some overtake others.
func (s *shootingRange) arrival() clock.Tick {
	return s.tick + s.delay + clock.Tick(s.random.Uint64()%uint64(s.jitter+1))
}

// move plays one tick of the world.
func (s *shootingRange) move() {
	s.tick++
	s.h.Begin(s.tick)
	for n, w := range s.list {
		if w != nil && s.chance(0.004) {
			s.h.Remove(w.i)
			s.view.Leave(w.i)
			w = nil
		}
		if w == nil {
			s.ids++
			w = &thing{id: s.ids*7%1000 + s.ids*1000, kind: n % 3, side: int64(n / 3 % 3), x: int64(n) * 17_000 % 220_000}
			w.i = s.h.Add(w.id, w.kind, false)
		}
		s.list[n] = w
		if s.chance(0.03) {
			w.vx = int64(s.random.Uint64()%3) * 137 // and 0: rest
		}
		cut := s.chance(0.004)
		if cut {
			w.y += 40_000
		}
		if w.x += w.vx; w.x > 220_000 {
			w.x, cut = 0, true
		}
		sims := []int64{w.x * 256, w.y * 256, w.vx * 256, w.x / 100 % 360}
		switch w.kind {
		case 0:
			sims = []int64{w.x * 256, w.y * 256, int64(s.tick) / 40 % 10, w.side, 1 + w.x/1000%99, 1 + w.x/700%99}
		case 2:
			if s.chance(0.02) {
				w.on = s.list[n-2].id * uint32(s.random.Uint64()%2)
			}
			if s.chance(0.02) {
				w.crouch ^= 1
			}
			sims = []int64{int64(w.on), w.x * 256, w.y * 256, w.crouch}
		}
		s.h.Record(w.i, sims[:s.kinds[w.kind].Sims], cut)
		switch {
		case w.inView && s.chance(s.flaps):
			s.view.Leave(w.i)
			w.inView = false
		case !w.inView && s.chance(0.1):
			w.inView = s.view.Enter(w.i, snapshot.Observed)
		}
	}
	s.view.Look(&snapshot.Look{Pace: snapshot.Pace{Rate: uint16(s.rate), Send: uint16(s.packets), Records: uint16(s.most),
		MaxClass: s.class}})
}

// send sends a packet of the server.
func (s *shootingRange) send() {
	every := clock.Tick(s.rate / s.packets)
	if s.tick%every != 0 {
		return
	}
	now := clock.Time(s.tick) * clock.Time(time.Second) / clock.Time(s.rate)
	s.log.Expire(now-clock.Time(time.Second), s.view.Missing)
	timeout := time.Duration(2*(s.delay+s.jitter)+4*every) * time.Second / time.Duration(s.rate)
	due := s.view.Due(now, timeout, every, s.most, &s.urgent, nil)
	p := s.log.Sent(now, s.tick, s.view.Missing)
	var out wire.BitWriter
	out.Reset(nil)
	s.writer.All(&out, s.view, due[:min(len(due), s.most)], p, now)
	d := downPacket{s.arrival(), p.Seq, s.tick, s.latest, out.Bytes()}
	s.log.Charge(p, len(d.body))
	if !s.chance(s.loss) {
		s.down = append(s.down, d)
	}
	if s.chance(0.05) { // the network doubles it
		d.at = s.arrival()
		s.down = append(s.down, d)
	}
}

// arrive gives the client the packets that arrive now.
func (s *shootingRange) arrive() {
	left := s.down[:0]
	for _, p := range s.down {
		if p.at > s.tick {
			left = append(left, p)
			continue
		}
		agreed, known := s.agreement.Agreed(p.tick, p.latest)
		if !known || !s.received.Accepts(p.seq) {
			continue
		}
		var b wire.BitReader
		b.Reset(p.body)
		if s.store.Read(&b, p.tick, agreed) != nil {
			continue // its baseline came too late
		}
		s.received.Applied(p.seq)
		s.agreement.Applied(p.tick, s.sent+1)
		s.applied = append(s.applied, p.seq)
		if len(s.applied) == 1 || p.seq.Newer(s.newest) {
			s.newest = p.seq
		}
	}
	s.down = left
}

// shoot sends the client's acknowledgement, with what it draws now.
func (s *shootingRange) shoot() {
	ack, ok := s.received.Ack()
	if !ok {
		return
	}
	s.sent++
	x := shot{at: s.arrival(), seq: s.sent, ack: ack, newest: s.newest, applied: len(s.applied)}
	x.runs = x.at + clock.Tick(s.random.Uint64()%uint64(s.wait+1))
	most := s.back.Frac()
	for _, back := range []clock.TickFrac{0, 1, most/10 + 77, most / 4, most/2 + 200, most} {
		if at := s.tick.Frac() - back; at > 0 {
			for kind := range s.kinds {
				x.drawn = append(x.drawn, s.draw(kind, at))
			}
		}
	}
	if !s.chance(s.loss) {
		s.up = append(s.up, x)
	}
}

// draw draws all things of a kind as the client does.
func (s *shootingRange) draw(kind int, at clock.TickFrac) drawing {
	k := s.kinds[kind]
	x := drawing{at, kind, map[uint32]string{}}
	drawn := make([]int64, k.Obs)
	for _, e := range s.store.Entities() {
		if e.Kind != kind {
			continue
		}
		what := "whole"
		for g := range k.Groups {
			group := &k.Groups[g]
			a, b := e.Groups[g].Around(at)
			if a == nil {
				if !k.Later(g) {
					s.t.Fatalf("tick %d: no record of %d", s.tick, e.ID)
				}
				clear(drawn[group.At : group.At+group.N])
				what = "limited"
				continue
			}
			if a.Level > 0 {
				what = "coarse"
			}
			if s.tick-a.Tick > snapshot.HistoryTicks {
				s.compared["old"]++
			}
			motion.Draw(k, group, a, b, at, drawn[group.At:group.At+group.N])
		}
		s.compared[what]++
		x.want[e.ID] = fmt.Sprint(drawn)
	}
	return x
}

// judge gives the server the client's packets that arrive now, and judges those whose turn it is.
// What it rewinds for each must be what the client drew.
func (s *shootingRange) judge() {
	left := s.up[:0]
	for _, x := range s.up {
		if x.at == s.tick {
			delivered := func(p *wire.Packet) {
				s.view.Delivered(p)
				s.acked[p.Seq] = true
			}
			if !s.log.Acked(x.ack, delivered, s.view.Missing) {
				s.t.Fatalf("tick %d: an honest ack was refused", s.tick)
			}
			if x.seq.Newer(s.latest) {
				s.latest = x.seq
			}
		}
		if x.runs > s.tick {
			left = append(left, x)
			continue
		}
		if s.overtaken(&x) {
			s.compared["overtaken"]++
		}
		for i := range x.drawn {
			s.compare(&x, &x.drawn[i])
		}
	}
	s.up = left
}

// overtaken reports whether the server has learned, by the client's later packets, that an older
// packet than the newest was applied after the shot.
func (s *shootingRange) overtaken(x *shot) bool {
	for _, seq := range s.applied[x.applied:] {
		if !seq.Newer(x.newest) && s.acked[seq] {
			return true
		}
	}
	return false
}

func (s *shootingRange) compare(x *shot, d *drawing) {
	last := uint32(0)
	missing := maps.Clone(d.want)
	counted := s.rewinder.Substituted
	r := Receipt{Used: d.t, By: wire.Basis{Newest: x.newest, Without: ^x.ack.History}}
	s.rewinder.Each(s.kinds[d.kind], Query{Kind: d.kind, Self: -1}, r, func(id uint32, got []int64) bool {
		if id <= last {
			s.t.Fatalf("tick %d: %d comes after %d", s.tick, id, last)
		}
		last = id
		if n := s.rewinder.Substituted; n > counted { // drawn from what is older than the history
			s.compared["counted"], counted = s.compared["counted"]+int(n-counted), n
		} else if text := fmt.Sprint(got); text != d.want[id] {
			s.t.Fatalf("seed %d, tick %d, at %d/256 by packet %d: %d of kind %d rewound %v, drawn %q",
				s.seed, s.tick, d.t, x.newest, id, d.kind, text, d.want[id])
		}
		delete(missing, id)
		return true
	})
	if len(missing) > 0 {
		s.t.Fatalf("seed %d, tick %d, at %d/256 by packet %d: kind %d, not rewound: %v", s.seed, s.tick,
			d.t, x.newest, d.kind, missing)
	}
	s.compared["pictures"]++
}

// present compares what is judged with lag compensation switched off: all that is alive and in
// sight, or was while the server does not know that the client dropped it, as it is now.
func (s *shootingRange) present() {
	for kind, k := range s.kinds {
		var present []uint32
		self, r := s.list[kind].i, Receipt{Used: s.tick.Frac(), By: wire.Basis{Newest: s.newest}, Reason: Off}
		s.rewinder.Each(k, Query{Kind: kind, Self: self}, r, func(id uint32, _ []int64) bool {
			present = append(present, id)
			return true
		})
		for n, w := range s.list {
			is := slices.Index(present, w.id)
			if w.kind == kind && w.inView && n != kind && is < 0 || is >= 0 && (n == kind || w.kind != kind) {
				s.t.Fatalf("tick %d: %d of kind %d, in sight %v: switched off the rewind draws %v",
					s.tick, w.id, w.kind, w.inView, present)
			}
			if is >= 0 {
				present = slices.Delete(present, is, is+1)
			}
		}
		if len(present) > 0 {
			s.t.Fatalf("tick %d: switched off the rewind draws %v, which are dead", s.tick, present)
		}
	}
}

// The rewind draws each thing exactly as the client drew it, and nothing else, whatever the client
// holds: packets are lost, late, doubled and overtaken, and so are its acknowledgements; things
// come and go, die, are teleported, crouch and ride on others; and commands wait for their tick
// while more is acknowledged.
//
// seeds: B15 B16
func TestEachDrawsWhatTheClientDrew(t *testing.T) {
	for _, f := range []fates{
		{name: "room for all", rate: 20, packets: 20, most: 99, things: 12, jitter: 3, loss: 0.2, flaps: 0.01, class: 8,
			back: 19, ticks: 3000,
			least: map[string]int{"whole": 50_000, "coarse": 20_000, "limited": 50_000, "overtaken": 100}},
		{name: "at the edge of sight", rate: 20, packets: 20, most: 99, things: 12, delay: 2, jitter: 6, loss: 0.2,
			flaps: 0.2, wait: 4, class: 8, back: 15, ticks: 3000, least: map[string]int{"whole": 50_000}},
		{name: "little room", rate: 60, packets: 20, most: 8, things: 36, delay: 5, jitter: 6, loss: 0.05,
			flaps: 0.002, class: 11, wait: 9, back: 36, ticks: 1500,
			least: map[string]int{"whole": 50_000, "old": 1000}, counted: 20},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			compared := map[string]int{}
			for _, seed := range []uint64{1, 2, 3, 7} {
				s := newShootingRange(t, &f, seed)
				for range f.ticks {
					s.move()
					s.send()
					s.arrive()
					s.shoot()
					s.judge()
					s.present()
				}
				for what, n := range s.compared {
					compared[what] += n
				}
			}
			t.Log(compared)
			if compared["counted"] > f.counted {
				t.Errorf("%v: too much is judged by something newer than was drawn", compared)
			}
			for what, n := range f.least {
				if compared[what] < n {
					t.Errorf("%v compared", compared)
				}
			}
		})
	}
}

// Nothing that moves is judged by anything older than MaxGap before the moment that is used, and by
// nothing older than the bound where that is used in place of an older one: a client that had
// nothing newer must not gain by it. Without lag
// compensation, and where no time before the present is stated, by nothing but the present.
func TestJudgeOldest(t *testing.T) {
	const now = clock.Tick(100) // 50 ms: 20 ticks are MaxGap
	for _, c := range []struct {
		stated clock.TickFrac
		bound  time.Duration
		now    clock.Tick
		want   clock.Tick
	}{
		{clock.Tick(95).Frac(), time.Second, now, 75},
		{clock.Tick(95).Frac() + 255, time.Second, now, 75},
		{clock.Tick(10).Frac(), time.Second, now, 80}, // 80 is used
		{clock.Tick(95).Frac(), -1, now, 100},
		{0, time.Second, now, 100},
		{clock.Tick(101).Frac(), time.Second, now, 100},
		{clock.Tick(5).Frac(), time.Second, 10, 0},
	} {
		if got := Judge(c.stated, wire.Basis{Newest: 1}, c.now, c.bound, period).Oldest; got != c.want {
			t.Errorf("%d stated at %d, bound %v: oldest %d, want %d", c.stated, c.now, c.bound, got, c.want)
		}
	}
}
