package crowd

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"

	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
	"meanwhile/server"
)

// Config says what is run.
type Config struct {
	Walkers    int // each with its client
	Hot        bool
	Budget     int // bits a second to each client, wire.Overhead per datagram included
	Properties int // Few or Many
	Viewers    int // clients that decode what they receive, and draw it; the others only acknowledge
	// Interpolated says that clients draw walkers in the past, between records. Otherwise they are
	// drawn at the present: nobody can hit them.
	Interpolated bool
	// Alone says that nobody but viewers has a client: the other walkers are without players.
	Alone   bool
	Order   *snapshot.Order // see server.Config.Order
	Workers int             // that encode at the same time; zero means one
	Seed    uint64
	// Clock returns the CPU time of the calling thread. It may be nil where nobody asks what
	// workers cost.
	Clock func() time.Duration

	late int // of the walkers, the last so many connect when the crowd runs
}

// The network of every client: a fixed delay and independent loss, each way.
const (
	delay = 50 * time.Millisecond
	loss  = 0.02

	// upEvery is how often a client sends, in ticks: ten times a second.
	upEvery = 2

	tick = time.Second / Rate
)

// Phase is a part of a tick of the server.
type Phase int

// The phases: datagrams that arrived are applied, the world is computed and recorded, datagrams are
// written.
const (
	Receive Phase = iota
	Begin
	Encode
	Phases
)

// Run is a server and its clients in virtual time. See New.
type Run struct {
	// Around is called for each phase of each tick and must call f. Nothing but the server's own
	// calls runs within f.
	Around func(p Phase, f func())
	// Spent is the time by Config.Clock that each worker spent so far.
	Spent []time.Duration

	server *server.Server

	cfg      Config
	scene    scene
	rules    *game.Rules
	now      clock.Time
	tick     clock.Tick
	clients  []*peer // by player, from 1
	viewers  []*viewer
	arrived  []datagram // that the server has not read yet
	bytes    []byte     // of those
	w        wire.BitWriter
	commands [many]packet.Command
	outs     []server.Outbox
	// looks, where set, is called after each frame of viewer i, with its number within the tick.
	looks  func(i, frame int, now clock.Time)
	Sums   Sums
	phases [Phases]func()
	past   past // for Wrong
}

// Sums are what all clients were sent since ResetSums.
type Sums struct {
	Packets, Bytes uint64 // of datagrams, without wire.Overhead
	// MaxWindow is the most bits that a client was sent in a second, overhead included. It counts
	// what leaves the server, and knows nothing of how the server counts.
	MaxWindow int
}

// datagram is one that the server receives.
type datagram struct {
	from     server.PlayerID
	at       clock.Time
	from0, n int // its place in Run.bytes
}

// New connects all clients but those that are late.
func New(cfg Config) (*Run, error) {
	if cfg.Walkers < 1 || cfg.Walkers > server.MaxClients {
		return nil, fmt.Errorf("crowd: %d walkers: outside [1, %d]", cfg.Walkers, server.MaxClients)
	}
	if cfg.Viewers < 0 || cfg.Viewers > cfg.Walkers || cfg.late < 0 || cfg.late > cfg.Walkers {
		return nil, fmt.Errorf("crowd: %d viewers, %d late: outside [0, %d]", cfg.Viewers, cfg.late, cfg.Walkers)
	}
	r := &Run{cfg: cfg, Around: func(_ Phase, f func()) { f() }}
	r.scene = scene{walkers: NewWalkers(cfg.Walkers, cfg.Hot), ids: make([]game.ID, cfg.Walkers), random: random(cfg.Seed),
		rests: make([]spell, cfg.Walkers)}
	if cfg.Properties == Many {
		r.scene.others = make([]uint8, cfg.Walkers*others)
	}
	r.scene.drawn = game.Extrapolated
	if cfg.Interpolated {
		r.scene.drawn = game.Playout
	}
	var err error
	if r.rules, err = r.scene.rules(cfg.Properties); err != nil {
		return nil, err
	}
	r.server, err = server.New(r.rules, server.Config{Clients: cfg.Walkers, Budget: cfg.Budget / 8, Seed: cfg.Seed,
		Order: cfg.Order})
	if err != nil {
		return nil, err
	}
	r.clients = make([]*peer, 1)
	for i := range r.commands {
		r.commands[i].Vals = make([]int64, r.rules.Command.Sims)
	}
	r.phases = [Phases]func(){r.receive, r.begin, r.encode}
	r.outs = make([]server.Outbox, max(cfg.Workers, 1))
	r.Spent = make([]time.Duration, len(r.outs))
	here := cfg.Walkers - cfg.late
	for i := range here {
		// Viewers are spread over the crowd.
		views := cfg.Viewers > 0 && (i+1)*cfg.Viewers/here > i*cfg.Viewers/here
		if cfg.Alone && !views {
			r.scene.alone = append(r.scene.alone, int32(i))
		} else if err := r.connect(i, views); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// connect connects the player of walker i.
func (r *Run) connect(i int, views bool) error {
	id, w, err := r.server.Connect(r.now, name(i))
	if err != nil {
		return err
	}
	c := newPeer(r, id, i, w)
	r.clients = append(r.clients, c)
	if views {
		v, err := newViewer(r, c, w)
		if err != nil {
			return err
		}
		r.viewers = append(r.viewers, v)
	}
	return nil
}

// frames is how many frames a viewer draws in a tick: 60 a second.
const frames = 3

// Tick advances the world by one tick, and the clients up to the next. q, where not nil, measures
// what the viewers know and draw at the moment of the tick.
func (r *Run) Tick(q *Quality) error {
	r.tick++
	r.now = r.now.Add(tick)
	r.scene.step(r.tick)
	if r.cfg.Order != nil {
		r.past.note(r.tick, r.scene.walkers)
	}
	r.collect()
	for p, f := range r.phases {
		r.Around(Phase(p), f)
	}
	if f := r.server.Faults(); len(f) > 0 {
		return f[0]
	}
	r.deliver()
	for _, c := range r.clients[1:] {
		if c.viewer == nil {
			c.run(r)
		}
	}
	for i, v := range r.viewers {
		for f := range frames {
			now := r.now.Add(tick * time.Duration(f) / frames)
			v.frame(now, r, q != nil || r.looks != nil)
			if f == 0 && q != nil {
				q.measure(r, v)
			}
			if r.looks != nil {
				r.looks(i, f, now)
			}
		}
	}
	return nil
}

// collect lists the datagrams that reach the server until now, by arrival.
func (r *Run) collect() {
	r.arrived, r.bytes = r.arrived[:0], r.bytes[:0]
	for _, c := range r.clients[1:] {
		n := 0
		for i := range c.up {
			f := &c.up[i]
			if f.at > r.now {
				c.up[n], c.up[i] = c.up[i], c.up[n]
				n++
				continue
			}
			r.arrived = append(r.arrived, datagram{c.id, f.at, len(r.bytes), len(f.data)})
			r.bytes = append(r.bytes, f.data...)
		}
		c.spare = append(c.spare, c.up[n:]...)
		c.up = c.up[:n]
	}
}

func (r *Run) receive() {
	for i := range r.arrived {
		d := &r.arrived[i]
		r.server.Receive(d.from, d.at, r.bytes[d.from0:d.from0+d.n])
	}
}

func (r *Run) begin() { r.server.Begin(r.now) }

func (r *Run) encode() {
	n, of := r.server.Clients(), len(r.outs)
	if of == 1 {
		r.outs[0].Reset()
		r.server.Encode(0, n, &r.outs[0])
		r.server.End()
		return
	}
	var all sync.WaitGroup
	for i := range r.outs {
		all.Go(func() {
			runtime.LockOSThread() // Config.Clock is that of a thread
			defer runtime.UnlockOSThread()
			begun := time.Duration(0)
			if r.cfg.Clock != nil {
				begun = r.cfg.Clock()
			}
			r.outs[i].Reset()
			r.server.Encode(n*i/of, n*(i+1)/of, &r.outs[i])
			if r.cfg.Clock != nil {
				r.Spent[i] += r.cfg.Clock() - begun
			}
		})
	}
	all.Wait()
	r.server.End()
}

// deliver puts what the server sent on its way to the clients, and counts it.
func (r *Run) deliver() {
	for i := range r.outs {
		for j := range r.outs[i].Len() {
			id, b := r.outs[i].At(j)
			c := r.clients[id]
			c.sent(r, b)
			if c.random.chance(loss) {
				continue
			}
			if c.viewer != nil {
				c.viewer.put(r.now.Add(delay), b)
			} else {
				c.put(r.now.Add(delay), b)
			}
		}
	}
	for _, c := range r.clients[1:] {
		c.pass(r)
	}
}

// sent counts a datagram to the client.
func (c *peer) sent(r *Run, b []byte) {
	r.Sums.Packets++
	r.Sums.Bytes += uint64(len(b))
	bits := (len(b) + wire.Overhead) * 8
	c.window[r.tick%Rate] += bits
	c.inWindow += bits
}

// pass ends the client's tick: a second of ticks is in its window.
func (c *peer) pass(r *Run) {
	r.Sums.MaxWindow = max(r.Sums.MaxWindow, c.inWindow)
	next := &c.window[(r.tick+1)%Rate]
	c.inWindow -= *next
	*next = 0
}

// Counts are sums over all clients of what the server counted.
type Counts struct {
	Records, Moving, First                     uint64
	MovingBits, FirstBits, GoneBits, OtherBits uint64
	HeaderBits, FeedbackBits                   uint64
}

func (s *Counts) add(o *server.DownlinkStats) {
	s.Records, s.Moving, s.First = s.Records+o.Records, s.Moving+o.Moving, s.First+o.First
	s.MovingBits, s.FirstBits = s.MovingBits+o.MovingBits, s.FirstBits+o.FirstBits
	s.GoneBits, s.OtherBits = s.GoneBits+o.GoneBits, s.OtherBits+o.OtherBits
	s.HeaderBits, s.FeedbackBits = s.HeaderBits+o.HeaderBits, s.FeedbackBits+o.FeedbackBits
}

// Sub takes what was counted before out of the counts.
func (s *Counts) Sub(o *Counts) {
	s.Records, s.Moving, s.First = s.Records-o.Records, s.Moving-o.Moving, s.First-o.First
	s.MovingBits, s.FirstBits = s.MovingBits-o.MovingBits, s.FirstBits-o.FirstBits
	s.GoneBits, s.OtherBits = s.GoneBits-o.GoneBits, s.OtherBits-o.OtherBits
	s.HeaderBits, s.FeedbackBits = s.HeaderBits-o.HeaderBits, s.FeedbackBits-o.FeedbackBits
}

// Downlink returns what the server counted of all clients since they connected, and how many
// records moved somebody at the viewers.
func (r *Run) Downlink() (all Counts, moves uint64) {
	for _, c := range r.clients[1:] {
		if s, ok := r.server.Stats(c.id); ok {
			all.add(&s.DownlinkStats)
		}
	}
	for _, v := range r.viewers {
		moves += v.moves
	}
	return all, moves
}

// Wrong returns by how many millimetres a place of an entity as of a tick is wrong now, and how long
// the way is that the entity went since then, in the distance along both axes. Both are those of the
// oldest tick that is remembered, if the tick is older.
func (r *Run) Wrong(ent int32, since clock.Tick) (off float64, way int64) {
	i := r.scene.numbers[r.server.History().At(ent).ID]
	p := &r.past
	now, old := p.at(r.tick), p.at(max(since, r.tick-min(r.tick, pastTicks-1)))
	if len(old) == 0 {
		return 0, 0
	}
	a, b := old[i], now[i]
	return 10 * math.Hypot(float64(a.x-b.x), float64(a.y-b.y)), 10 * int64(b.way-a.way)
}

// pastTicks is how many ticks of places a Run remembers for Wrong.
const pastTicks = 128

// past is where the walkers were.
type past [pastTicks][]been

// been is a place and the length of the way there, in cm.
type been struct{ x, y, way int32 }

func (p *past) at(t clock.Tick) []been { return p[t%pastTicks] }

// note remembers the places of a tick.
func (p *past) note(t clock.Tick, w *Walkers) {
	before, now := p.at(t-1), &p[t%pastTicks]
	*now = (*now)[:0]
	for i := range w.x {
		b := been{x: w.x[i], y: w.y[i]}
		if len(before) > 0 {
			dx, dy := b.x-before[i].x, b.y-before[i].y
			b.way = before[i].way + max(dx, -dx) + max(dy, -dy)
		}
		*now = append(*now, b)
	}
}

// Slots returns the most slots that one of the clients has in use.
func (r *Run) Slots() (most int) {
	for _, c := range r.clients[1:] {
		if v := r.server.View(c.id); v != nil {
			_, n := v.Count()
			most = max(most, n)
		}
	}
	return most
}

// DisconnectAll takes all clients out.
func (r *Run) DisconnectAll() {
	for i := len(r.clients) - 1; i > 0; i-- {
		r.server.Disconnect(r.clients[i].id)
	}
}
