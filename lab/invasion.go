package lab

import (
	"fmt"
	"math"
	"slices"
	"time"

	"meanwhile/client"
	"meanwhile/examples/invasion"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/playout"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
	"meanwhile/netsim"
	"meanwhile/server"
)

var invasionExperiment = &experiment{
	name:  "invasion",
	about: "thousands of creatures attack hundreds of players: how right is what each knows, at 13 kbit/s and more",
	notes: `Three hundred bots defend nine beacons, which lie a kilometre apart, against 3000 creatures of the game
<b>invasion</b>. Each client receives budget_bps at most, on a path of 100 ms there and back that loses 2 %. All
are whole clients; of every tenth it is compared what it holds and draws with the truth, for half a minute that
begins when all creatures have arrived. <b>max_window_bits</b> is the most in any one second to any client, 42
bytes for each datagram included, counted where datagrams leave, since the first. <b>held_10m</b> is the mean
distance between the newest place that a client has received and where the thing is by now, over all that is
within 10 m of its avatar; held_30m and held_100m likewise, and an unknown one counts as 500 cm.
<b>drawn_30m</b> is the distance between where a thing is drawn and where it is by now, for the half of these
clients that draw as the game asks for: at the present; <b>jolts</b> are frames in which one is drawn to move
more than twice as far as it did, plus 5 cm. By the definition of a hitch, extrapolated time is always one. So
the other half draws everything between records: <b>between_30m</b> is their distance, and a <b>hitch</b> is
more than 16.7 ms in which a moving thing within 30 m is drawn other than between two received records, and one
more for each further 250 ms. Both count per minute of one moving thing within 30 m. <b>known_share</b> is over
the nearest 249. <b>tick_cpu</b> is the CPU time of the server for one tick, with the rules and the garbage
collector; of it <b>rules_cpu</b> is for the rules and for recording the state. Both differ from machine to
machine. --rate gives one budget in kbit/s.`,
	takes:    byProfile | byRate,
	profiles: []netsim.Profile{rtt100},
	policies: []string{ours},
	rates:    []int{13, 32, 64},
	first:    firstLook{metrics: "max_window_bits held_10m_cm held_30m_cm hitches_per_min known_share tick_cpu_ms"},
	run:      runInvasion,
}

// rtt100 is a steady path of 100 ms there and back.
var rtt100 = netsim.Profile{Name: "rtt-100",
	Down: netsim.LinkConfig{Delay: 50 * time.Millisecond, Loss: netsim.Loss{InGood: 0.02}},
	Up:   netsim.LinkConfig{Delay: 50 * time.Millisecond, Loss: netsim.Loss{InGood: 0.02}}}

const (
	invaders        = 300 // players
	invadersQuick   = 40
	invasionViewers = 10 // one of so many players is compared with the truth
	invasionFrame   = time.Second / 60
	invasionThink   = time.Second / invasion.Rate // between two frames of those that are not compared
	invasionSample  = 6                           // frames from one comparison to the next
	unknownError    = 5.0                         // metres that count for what is not known
	nearestKnown    = 249
)

func runInvasion(r *run) error {
	players, warm, span := invaders, 40*time.Second, 30*time.Second
	rates := r.rates
	if r.quick {
		players, warm, span, rates = invadersQuick, 12*time.Second, 8*time.Second, rates[:1]
	}
	rules, err := invasion.Game.Rules()
	if err != nil {
		return err
	}
	for _, p := range r.profiles {
		for _, kbit := range rates {
			b, err := newBattle(rules, r.seed, players, kbit*1000, p)
			if err != nil {
				return err
			}
			b.loop.Run(clock.Time(warm))
			b.measure()
			b.loop.Run(clock.Time(warm + span))
			if err := b.fault; err != nil {
				return fmt.Errorf("lab: invasion at %d kbit/s, seed %d: %w", kbit, r.seed, err)
			}
			r.emit(Row{r.name, p.Name, ours, r.seed,
				r.params(Value{"budget_bps", kbit * 1000}, Value{"match_s", int(span.Seconds())}), b.metrics(span)})
		}
	}
	return nil
}

// battle is one world of invasion with its clients, in virtual time.
type battle struct {
	loop     netsim.Loop
	rules    *game.Rules
	srv      *server.Server
	out      server.Outbox
	fighters []*fighter
	byID     map[server.PlayerID]*fighter
	fault    error

	measuring bool
	ticks     int
	ruled     time.Duration // CPU of Begin
	spent     time.Duration // CPU of whole ticks
	most      int           // bytes in one second to one client
	ups       int           // bytes of all clients to the server
	sum       sight

	truth []truePlace // of everything that is drawn, as of the newest tick
}

// truePlace is where a thing is.
type truePlace struct {
	id   game.ID
	kind int
	at   geom.Vec2
}

// sight is what the viewers' clients know and draw, compared with the truth.
type sight struct {
	held          [3]mean // within bands
	known         mean
	drawn         mean          // at the present, within the second band
	between       mean          // between records
	present       time.Duration // for which moving things within the second band were drawn at the present
	jolts         int
	moving        time.Duration // for which moving things within the second band were drawn between records
	hitches       int
	records, sent uint64 // of all clients, when measuring began
	packets       uint64
}

var sightBands = [...]float64{10, 30, 100}

// mean is the mean of many numbers.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(x float64) { m.sum, m.n = m.sum+x, m.n+1 }

func (m *mean) get() float64 { return m.sum / math.Max(1, float64(m.n)) }

// fighter is one player.
type fighter struct {
	b        *battle
	id       server.PlayerID
	viewer   bool // it is compared with the truth
	between  bool // it draws everything between records
	client   *client.Client
	up, down *netsim.Pipe
	offset   clock.Time // local clock minus server clock
	frames   int
	vals     []float64
	tracks   map[game.ID]*seenThing
	near     map[game.ID]nearThing // in this frame
	order    []float64
	window   []sentDatagram // of the last second
	bytes    int            // in it
}

// seenThing is how a client drew one thing in its last frame.
type seenThing struct {
	stall playout.Stall
	at    geom.Vec2
	frame int
}

// nearThing is an index in battle.truth and a distance.
type nearThing struct {
	index  int
	metres float64
}

// sentDatagram is one datagram to a client, its headers included.
type sentDatagram struct {
	at   clock.Time
	size int
}

func newBattle(rules *game.Rules, seed uint64, players, bitsPerSecond int, p netsim.Profile) (*battle, error) {
	srv, err := server.New(rules, server.Config{Seed: 2*seed + 1, Secret: 2*seed + 2, Clients: players,
		Budget: bitsPerSecond / 8})
	if err != nil {
		return nil, err
	}
	b := &battle{rules: rules, srv: srv, byID: map[server.PlayerID]*fighter{}}
	for i := range players {
		f := &fighter{b: b, viewer: i%invasionViewers == 0, between: i/invasionViewers%2 == 1,
			tracks: map[game.ID]*seenThing{}, near: map[game.ID]nearThing{}}
		r := geom.NewRand(seed, uint64(i))
		f.offset = clock.Time(r.IntN(int(time.Hour)))
		if f.up, err = netsim.NewPipe(r.Uint64(), p.Up); err != nil {
			return nil, err
		}
		if f.down, err = netsim.NewPipe(r.Uint64(), p.Down); err != nil {
			return nil, err
		}
		b.fighters = append(b.fighters, f)
		b.loop.At(clock.Time(r.IntN(int(time.Second))), func() { b.fail(f.join(i, p.Down.Delay)) })
	}
	b.loop.Every(clock.Time(srv.Period()), srv.Period(), b.tick)
	return b, nil
}

func (b *battle) fail(err error) {
	if b.fault == nil {
		b.fault = err
	}
}

// tick is one tick of the server.
func (b *battle) tick() bool {
	now, began := b.loop.Now(), cpuTime()
	b.srv.Begin(now)
	ruled := cpuTime()
	b.out.Reset()
	b.srv.Encode(0, b.srv.Clients(), &b.out)
	b.srv.End()
	if b.measuring {
		b.ticks++
		b.ruled += ruled - began
		b.spent += cpuTime() - began
	}
	for i := range b.out.Len() {
		to, data := b.out.At(i)
		if f := b.byID[to]; f != nil {
			b.most = max(b.most, f.sent(now, len(data)+wire.Overhead))
			f.down.Push(now, data)
			f.pump(f.down)
		}
	}
	for _, err := range b.srv.Faults() {
		b.fail(err)
	}
	b.readTruth()
	return b.fault == nil
}

// readTruth notes where everything is.
func (b *battle) readTruth() {
	b.truth = b.truth[:0]
	h := b.srv.History()
	var buf [schema.MaxComps]int64
	for i := range int32(h.Len()) {
		e := h.At(i)
		k := h.Kind(e)
		if !e.Alive() || k.Place < 0 {
			continue
		}
		place := k.PlaceProp()
		if vals, ok := h.Values(i, place.Group, h.Tick(), buf[:0]); ok {
			b.truth = append(b.truth, truePlace{game.ID(e.ID), e.Kind, placeOf(k, place.Group, vals)})
		}
	}
}

// placeOf returns a place of a group's observer integers in metres.
func placeOf[T int32 | int64](k *schema.Kind, group int, vals []T) geom.Vec2 {
	c, mm := k.Offset(group, k.Place), k.PlaceProp().Millimetres()/1000
	return geom.Vec2{X: float64(vals[c]) * mm, Y: float64(vals[c+1]) * mm}
}

// measure begins to measure.
func (b *battle) measure() {
	b.measuring = true
	for _, f := range b.fighters {
		st, _ := b.srv.Stats(f.id)
		b.sum.records += st.Records
		b.sum.sent += st.SentBytes
		b.sum.packets += st.Sent
	}
}

func (b *battle) metrics(span time.Duration) Values {
	s := &b.sum
	records, sent := -float64(s.records), -float64(s.sent)
	creatures := 0
	for _, t := range b.truth {
		if b.rules.Kinds[t.kind].Name == "creature" {
			creatures++
		}
	}
	for _, f := range b.fighters {
		st, _ := b.srv.Stats(f.id)
		records += float64(st.Records)
		sent += float64(st.SentBytes)
	}
	n := float64(len(b.fighters)) * span.Seconds()
	return Values{
		{"players", len(b.fighters)}, {"creatures", creatures}, {"max_window_bits", b.most * 8},
		{"held_10m_cm", s.held[0].get() * 100}, {"hitches_per_min", perMinute(s.hitches, s.moving)},
		{"tick_cpu_ms", ms(b.spent) / float64(b.ticks)},
		{"rules_cpu_ms", ms(b.ruled) / float64(b.ticks)},
		{"held_30m_cm", s.held[1].get() * 100}, {"held_100m_cm", s.held[2].get() * 100},
		{"drawn_30m_cm", s.drawn.get() * 100}, {"jolts_per_min", perMinute(s.jolts, s.present)},
		{"between_30m_cm", s.between.get() * 100},
		{"known_share", s.known.get()}, {"records_per_s", records / n}, {"down_kbps", sent * 8 / n / 1000},
	}
}

// join lets a player in. The welcome takes a round trip.
func (f *fighter) join(i int, delay time.Duration) error {
	b := f.b
	id, w, err := b.srv.Connect(b.loop.Now(), fmt.Sprint("bot", i))
	if err != nil {
		return err
	}
	f.id = id
	b.byID[id] = f
	b.loop.After(2*delay+20*time.Millisecond, func() {
		f.client, err = client.New(b.rules, w, f.local(b.loop.Now()), client.Config{NoExtrapolation: f.between})
		b.fail(err)
		if err != nil {
			return
		}
		every := invasionThink
		if f.viewer {
			every = invasionFrame
		}
		b.loop.Every(b.loop.Now(), every, f.frame)
	})
	return nil
}

func (f *fighter) local(t clock.Time) clock.Time { return t + f.offset }

// sent counts a datagram to the player and returns the bytes of the second that ends now.
func (f *fighter) sent(now clock.Time, size int) int {
	f.window, f.bytes = append(f.window, sentDatagram{now, size}), f.bytes+size
	for now.Sub(f.window[0].at) >= time.Second {
		f.bytes -= f.window[0].size
		f.window = slices.Delete(f.window, 0, 1)
	}
	return f.bytes
}

// pump schedules the delivery of what is under way.
func (f *fighter) pump(pipe *netsim.Pipe) {
	pipe.Deliver(&f.b.loop, func(at clock.Time, data []byte) {
		switch {
		case pipe == f.up:
			f.b.srv.Receive(f.id, at, data)
		case f.client != nil:
			f.client.Receive(f.local(at), data)
		}
	})
}

// frame is one frame of the client.
func (f *fighter) frame() bool {
	b := f.b
	now := b.loop.Now()
	for range f.client.Frame(f.local(now)) {
		b.fail(f.client.Think(b.rules.Bot()))
	}
	f.client.Events()
	if f.viewer && b.measuring {
		f.look()
	}
	for data := f.client.Encode(f.local(now)); data != nil; data = f.client.Encode(f.local(now)) {
		if f.up.Push(now, data); b.measuring {
			b.ups += len(data) + wire.Overhead
		}
		f.pump(f.up)
	}
	f.frames++
	return b.fault == nil
}

// look compares what the client knows and draws with the truth.
func (f *fighter) look() {
	b, me := f.b, f.client.Me()
	at := slices.IndexFunc(b.truth, func(t truePlace) bool { return t.id == me })
	if at < 0 || f.client.Playout() == 0 {
		return
	}
	here := b.truth[at].at
	sample := f.frames%invasionSample == 0
	clear(f.near)
	for i, t := range b.truth {
		if d := t.at.Dist(here); t.id != me && (sample || d < sightBands[1]) {
			f.near[t.id] = nearThing{i, d}
		}
	}
	if sample {
		f.compareHeld()
	}
	f.vals = f.client.Draw(f.vals, func(e *client.Entity) {
		if n, ok := f.near[e.ID]; ok && n.metres < sightBands[1] && e.Drawn != nil {
			f.compareDrawn(e, b.truth[n.index].at, sample)
		}
	})
	f.client.Drawn()
}

// compareHeld compares the newest places that the client has received with the truth now.
func (f *fighter) compareHeld() {
	b := f.b
	held := map[game.ID]geom.Vec2{}
	for _, h := range f.client.Store().Entities() {
		k := b.rules.Kinds[h.Kind]
		if k.Place < 0 {
			continue
		}
		g := k.PlaceProp().Group
		if s := h.Groups[g].Newest(); s != nil {
			held[game.ID(h.ID)] = placeOf(k, g, s.Vals)
		}
	}
	f.order = f.order[:0]
	for _, n := range f.near {
		f.order = append(f.order, n.metres)
	}
	slices.Sort(f.order)
	within := math.Inf(1)
	if len(f.order) > nearestKnown {
		within = f.order[nearestKnown-1]
	}
	for _, t := range b.truth {
		n, ok := f.near[t.id]
		if !ok || n.metres > within {
			continue
		}
		at, known := held[t.id]
		off := unknownError
		if known {
			off = at.Dist(t.at)
		}
		b.sum.known.add(float64(number(known)))
		for i, band := range sightBands {
			if n.metres <= band {
				b.sum.held[i].add(off)
			}
		}
	}
}

// compareDrawn compares one drawn thing with the truth: now is where it is.
func (f *fighter) compareDrawn(e *client.Entity, now geom.Vec2, sample bool) {
	b := f.b
	k := b.rules.Kinds[e.Kind]
	place := k.PlaceProp()
	h := b.srv.History()
	i, ok := h.Find(uint32(e.ID))
	if !ok {
		return
	}
	var a, z [schema.MaxComps]int64
	mm := place.Millimetres() / 1000
	drawn := geom.Vec2{X: float64(e.Drawn[place.ObsAt]), Y: float64(e.Drawn[place.ObsAt+1])}.Mul(mm / schema.SubSteps)
	t, past := f.client.TimeOf(e.Replica)
	if !f.between {
		t = h.Tick().Frac() - clock.FracPerTick
	}
	from, okA := h.Values(i, place.Group, t.Tick(), a[:0])
	to, okB := h.Values(i, place.Group, min(t.Tick()+1, h.Tick()), z[:0])
	if !past || !okA || !okB {
		return
	}
	step := placeOf(k, place.Group, to).Sub(placeOf(k, place.Group, from)) // of a tick
	seen := f.tracks[e.ID]
	if seen == nil {
		seen = &seenThing{}
		f.tracks[e.ID] = seen
	}
	jump, before := drawn.Dist(seen.at), seen.frame == f.frames-1
	seen.at, seen.frame = drawn, f.frames
	if f.between {
		if sample {
			b.sum.between.add(drawn.Dist(now))
		}
		if step == (geom.Vec2{}) {
			return
		}
		b.sum.moving += invasionFrame
		if newest := e.Replica.Groups[place.Group].Newest(); newest != nil && newest.Tick.Frac() >= t {
			seen.stall.End()
		} else if seen.stall.Add(invasionFrame) {
			b.sum.hitches++
		}
		return
	}
	if sample {
		b.sum.drawn.add(drawn.Dist(now))
	}
	if step == (geom.Vec2{}) {
		return
	}
	b.sum.present += invasionFrame
	if before && !e.Cut() && jump > 2*step.Len()*invasion.Rate*invasionFrame.Seconds()+0.05 {
		b.sum.jolts++
	}
}

// perMinute returns how often something happened in each minute of a time.
func perMinute(n int, of time.Duration) float64 { return float64(n) / math.Max(of.Minutes(), 1e-9) }
