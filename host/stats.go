package host

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/rewind"
	"meanwhile/server"
	"meanwhile/session"
	"meanwhile/transport"
)

// TickBounds divide ticks by how long they took, for Totals.TickTimes: 25 to a decade from 0.1 to
// 100 ms, each at most a tenth above the one before, so that quantiles are known within 5 %.
var TickBounds = tickBounds()

// decade divides a decade, in hundredths.
var decade = [...]time.Duration{
	100, 110, 120, 132, 145, 159, 174, 190, 209, 229, 251, 275, 302, 331, 363, 398, 436, 478, 525, 575, 631, 692, 759,
	832, 912,
}

func tickBounds() (all [3*len(decade) + 5]time.Duration) {
	at, unit := 0, time.Microsecond
	for range 3 {
		for _, n := range decade {
			all[at] = n * unit
			at++
		}
		unit *= 10
	}
	const ms = time.Millisecond
	copy(all[at:], []time.Duration{100 * ms, 200 * ms, 500 * ms, 1000 * ms, 2000 * ms})
	return all
}

// Totals counts what happened in one room, or in all rooms that a host ever had.
type Totals struct {
	Joined, Left uint64 // humans
	Resumed      uint64 // humans who came back over another connection
	Ticks        uint64
	Busy         time.Duration // spent in ticks
	Longest      time.Duration // the longest tick
	// TickTimes counts ticks by how long they took: up to each of TickBounds, then longer ones.
	TickTimes [len(TickBounds) + 1]uint64
	Faults    uint64 // callbacks of the rules that panicked
	Silent    uint64 // players removed because nothing had arrived from them for server.Timeout
	// Received counts datagrams that ticks took from players' queues, Displaced those that newer
	// ones displaced there.
	Received, Displaced uint64
	// Sent and SentBytes count datagrams handed to connections, without headers of the transport.
	// Blocked counts those that newer ones displaced before the path accepted them.
	Sent, SentBytes, Blocked uint64
	// MaxWindow is the most bytes that one human was sent in any one second, wire.Overhead for each
	// datagram included. They are counted where datagrams leave, apart from the budgets.
	MaxWindow     int
	StrayMessages uint64 // unexpected reliable messages
	// TextRefOverflow counts texts that were not sent because no reference was free, once a tick.
	TextRefOverflow uint64
	Drops           server.Drops // datagrams that changed nothing, by reason
	// Words counts messages between players, bots included, and the rules. SentAway counts players
	// whose connections ended because of them: they sent too many, or did not receive.
	Words    server.WordStats
	SentAway uint64
	// Desyncs counts how often a room, computed again from what was recorded of it, came out
	// otherwise; see Config.Check.
	Desyncs uint64
	// RecordBits are those of a sample of the datagrams: of one client in every seventh tick.
	RecordBits RecordBits
	// Agreed, Disagreed and Reasons count shots of humans, and Contradicted their commands, as
	// server.CommandStats does.
	Agreed, Disagreed, Contradicted uint64
	Reasons                         [rewind.Reasons]uint64
	// Paths are what happened to humans, by the class of their paths.
	Paths [PathClasses]PathStats
	// Transports are what happened to humans, by how they are connected.
	Transports [len(Transports)]PathStats
}

func (t *Totals) add(u Totals) {
	t.Joined += u.Joined
	t.Left += u.Left
	t.Resumed += u.Resumed
	t.Ticks += u.Ticks
	t.Busy += u.Busy
	t.Longest = max(t.Longest, u.Longest)
	for i, n := range u.TickTimes {
		t.TickTimes[i] += n
	}
	t.Faults += u.Faults
	t.Silent += u.Silent
	t.Received += u.Received
	t.Displaced += u.Displaced
	t.Sent += u.Sent
	t.SentBytes += u.SentBytes
	t.Blocked += u.Blocked
	t.MaxWindow = max(t.MaxWindow, u.MaxWindow)
	t.StrayMessages += u.StrayMessages
	t.TextRefOverflow += u.TextRefOverflow
	t.Agreed += u.Agreed
	t.Disagreed += u.Disagreed
	t.Contradicted += u.Contradicted
	for i, n := range u.Reasons {
		t.Reasons[i] += n
	}
	for i := range u.Paths {
		t.Paths[i].add(&u.Paths[i])
	}
	for i := range u.Transports {
		t.Transports[i].add(&u.Transports[i])
	}
	t.RecordBits = t.RecordBits.plus(u.RecordBits)
	t.Words.Heard += u.Words.Heard
	t.Words.Refused += u.Words.Refused
	t.Words.Told += u.Words.Told
	t.SentAway += u.SentAway
	t.Desyncs += u.Desyncs
	t.Drops.Unknown += u.Drops.Unknown
	t.Drops.Malformed += u.Drops.Malformed
	t.Drops.Duplicate += u.Drops.Duplicate
	t.Drops.HostileAck += u.Drops.HostileAck
}

// RoomStats describes one room, at most a second ago.
type RoomStats struct {
	Name      string
	Players   int                  // humans
	Connected [len(Transports)]int // of these, by transport
	Absent    int                  // of these, without a connection: they may come back
	Bots      int
	Watched   int // by so many spectators
	Tick      clock.Tick
	Period    time.Duration // of a tick; above the game's own under overload
	Stretch   float64       // Period in periods of the game; 1: time runs as it should
	Load      float64       // the part of the last second that was spent in ticks
	// Suspicion is the highest of the humans in the room, see server.CommandStats.
	Suspicion int
	Totals
}

// Stats describes a host and its rooms.
type Stats struct {
	Rooms    []RoomStats // the open ones, by name
	Players  int         // humans in them
	Absent   int         // of these, without a connection: they may come back
	Bots     int
	Greeting int // connections that are neither admitted nor refused yet

	Opened, Closed, Failed uint64 // rooms so far; failed ones are closed too
	Accepted               uint64 // connections
	Hellos                 uint64 // readable ones
	Refused                map[session.Code]uint64
	// Flooded counts players who were put out because they sent too much, by the reason of the
	// transport.
	Flooded map[string]uint64
	// LogDropped counts log lines that were not written: too many of one kind, or nobody read them.
	LogDropped uint64
	Records    RecordStats
	Totals     // of all rooms, including closed ones
}

// roomCounters are written by a room's loop. Everybody may read the atomic ones.
type roomCounters struct {
	joins, leaves, faults, silent, stray, resumed, desyncs atomic.Uint64
	ticks                                                  atomic.Uint64
	busy, longest                                          atomic.Int64
	tickTimes                                              [len(TickBounds) + 1]atomic.Uint64
	// Of players that have left; for the loop alone.
	sent, bytes, blocked, received, displaced uint64
	maxWindow                                 int
	sentAway                                  uint64
	judged                                    Totals                 // their shots
	paths                                     [PathClasses]PathStats // for the loop alone, of all humans
	transports                                [len(Transports)]PathStats
}

func (n *roomCounters) ran(took time.Duration) {
	n.ticks.Add(1)
	n.busy.Add(int64(took))
	i, _ := slices.BinarySearch(TickBounds[:], took)
	n.tickTimes[i].Add(1)
	if int64(took) > n.longest.Load() {
		n.longest.Store(int64(took))
	}
}

func (n *roomCounters) joined(p *player) {
	if !p.bot {
		n.joins.Add(1)
	}
}

// judge adds what became of a human's shots.
func (t *Totals) judge(p *player, s *server.Server) {
	if stats, ok := s.Stats(p.id); ok && !p.bot {
		t.add(Totals{Agreed: stats.Agreed, Disagreed: stats.Disagreed, Contradicted: stats.Contradicted,
			Reasons: stats.Reasons})
	}
}

func (n *roomCounters) left(p *player) {
	taken, dropped := p.in.Counts()
	n.received += taken
	n.displaced += dropped
	n.sent += p.sent.Load()
	n.bytes += p.sentBytes.Load()
	n.blocked += p.blocked()
	if !p.bot {
		n.maxWindow = max(n.maxWindow, p.meter.most())
		n.leaves.Add(1)
	}
}

// blocked is how many datagrams the connection dropped because the path was slower than they came.
func (p *player) blocked() uint64 {
	if c, ok := p.peer.(transport.Conn); ok {
		return c.Stats().DroppedOld
	}
	return 0
}

// publish copies the loop's counters to where others may read them.
func (r *room) publish() {
	s := RoomStats{
		Name: r.name, Players: r.humans, Bots: len(r.order) - r.humans, Tick: r.srv.Tick(), Period: r.pacer.Period(),
		Load: r.pacer.Load(), Stretch: float64(r.pacer.Period()) * float64(r.srv.Rules().Rate) / float64(time.Second),
		Totals: Totals{
			Received: r.n.received, Displaced: r.n.displaced, Sent: r.n.sent, SentBytes: r.n.bytes,
			Blocked: r.n.blocked, Drops: r.srv.Drops(), Words: r.srv.Words(), SentAway: r.n.sentAway, MaxWindow: r.n.maxWindow,
			Paths: r.n.paths, Transports: r.n.transports, TextRefOverflow: r.srv.History().TextRefOverflow(),
		},
	}
	s.add(r.n.judged)
	for i := range r.batch.outs {
		s.RecordBits = s.RecordBits.plus(matrixOf(r.batch.outs[i].Bits()))
	}
	for _, p := range r.order {
		if p.absent() {
			s.Absent++
		} else if !p.bot {
			s.Connected[transportOf(p.peer)]++
		}
		s.judge(p, r.srv.Server)
		if stats, ok := r.srv.Stats(p.id); ok && !p.bot {
			s.Suspicion = max(s.Suspicion, stats.Suspicion)
		}
		taken, dropped := p.in.Counts()
		s.Received += taken
		s.Displaced += dropped
		s.Sent += p.sent.Load()
		s.SentBytes += p.sentBytes.Load()
		s.Blocked += p.blocked()
		if !p.bot {
			s.MaxWindow = max(s.MaxWindow, p.meter.most())
		}
	}
	r.pub.Lock()
	r.pub.RoomStats = s
	r.pub.Unlock()
}

// stats returns what was published last, with the present values of the atomic counters.
func (r *room) stats() RoomStats {
	r.pub.Lock()
	s := r.pub.RoomStats
	r.pub.Unlock()
	s.Name = r.name
	s.Joined, s.Left = r.n.joins.Load(), r.n.leaves.Load()
	s.Resumed = r.n.resumed.Load()
	s.Ticks, s.Busy, s.Longest = r.n.ticks.Load(), time.Duration(r.n.busy.Load()), time.Duration(r.n.longest.Load())
	for i := range s.TickTimes {
		s.TickTimes[i] = r.n.tickTimes[i].Load()
	}
	s.Desyncs = r.n.desyncs.Load()
	s.Faults, s.Silent, s.StrayMessages = r.n.faults.Load(), r.n.silent.Load(), r.n.stray.Load()
	return s
}

// hostCounters counts what happens before somebody is in a room, and what closed rooms leave
// behind.
type hostCounters struct {
	accepted, hellos atomic.Uint64
	greeting         atomic.Int64

	mu                     sync.Mutex
	refused                map[session.Code]uint64
	flooded                map[string]uint64
	opened, closed, failed uint64
	past                   Totals // of closed rooms
}

// Stats returns a consistent enough copy of the counters.
func (h *Host) Stats() Stats {
	s := Stats{
		LogDropped: h.logs.dropped.Load(),
		Greeting:   int(h.n.greeting.Load()),
		Accepted:   h.n.accepted.Load(),
		Hellos:     h.n.hellos.Load(),
		Records:    h.keeper.stats(),
	}
	// Closing moves a room from the open ones to the past under both locks, so it is counted once.
	h.mu.Lock()
	h.n.mu.Lock()
	s.Opened, s.Closed, s.Failed, s.Totals = h.n.opened, h.n.closed, h.n.failed, h.n.past
	s.Refused = make(map[session.Code]uint64, len(h.n.refused))
	for c, n := range h.n.refused {
		s.Refused[c] = n
	}
	s.Flooded = maps.Clone(h.n.flooded)
	h.n.mu.Unlock()
	for r := range h.alive {
		one := r.stats()
		if r.gallery != nil {
			g := r.gallery.stats()
			one.Watched = g.Players
			one.Totals.add(traffic(g.Totals))
		}
		s.Rooms = append(s.Rooms, one)
	}
	h.mu.Unlock()
	slices.SortFunc(s.Rooms, func(a, b RoomStats) int { return strings.Compare(a.Name, b.Name) })
	for _, r := range s.Rooms {
		s.Players += r.Players
		s.Absent += r.Absent
		s.Bots += r.Bots
		s.Totals.add(r.Totals)
	}
	return s
}
