// Package server is the authoritative side of one world as a pure core: datagrams and the time go
// in, datagrams come out. Transports, goroutines and clocks belong to package host.
//
// A tick is Begin (run the commands and the rules, record the state), Encode for ranges of clients,
// which may run at the same time, and End. A Server is otherwise not safe for concurrent use.
//
// A game chooses when commands run. Timed commands run at the tick that they were made for, or
// never; the presses of a late one run at the next tick, with the aim and the view that they were
// made with. A player whose commands do not arrive goes on moving for RepeatFor and then stands
// still. Queued commands (game.Queued) each run once, in order, as soon as they arrive. Players
// take turns at going first.
//
// A client is sent what it may know, the nearest first, within a budget that holds in any one
// second. Records that do not fit wait and grow in priority. A lost record is sent again, as it is
// by then, until the client acknowledged it; a world at rest costs no state bytes.
//
// Everything that a client says is a claim: it is checked, bounded and counted, and can neither
// move state outside the rules nor reach another player.
package server

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"meanwhile/game"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/interest"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/playout"
	"meanwhile/netcode/rewind"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
	"meanwhile/session"
)

// Limits and defaults.
const (
	MaxClients     = 1 << 14
	DefaultClients = 256
	DefaultBudget  = 8000 // bytes a second down to one client, wire.Overhead per datagram included: 64 kbit/s
	MinBudget      = 1000
	MaxBudget      = 4 << 20

	// Timeout is how long a client may be silent before it counts as gone.
	Timeout = 35 * time.Second

	// RepeatFor is how long the movement of a starved player goes on before it stands still.
	RepeatFor = 250 * time.Millisecond
	// DefaultRewind bounds how far back a shot is judged beyond the age that a picture has on the
	// shooter's path as a rule, which the server measures (rewind.Claims.Norm).
	DefaultRewind = 250 * time.Millisecond
	// MaxRewind bounds both together, however slow a client is or pretends to be. A moving target
	// is judged by a state at most rewind.MaxGap older than that, whatever a client acknowledges.
	// Where packets failed to arrive it is judged by one up to twice as old as both allow, unless
	// Config.RewindTotal is less.
	MaxRewind = time.Second

	// MaxAhead is how many ticks ahead of the present commands are stored; later ones are refused.
	MaxAhead = 64

	cmdWindow = 128 // ticks of commands: those stored ahead, and those remembered behind
)

// Config tunes a Server. The zero Config is a sound default.
type Config struct {
	// Seed draws the randomness of Act and Step. Clients know it.
	Seed uint64
	// Secret draws the randomness of Join and Referee. It should be random in production.
	Secret uint64
	// Clients is how many players may be connected at once, at most MaxClients. Zero means
	// DefaultClients.
	Clients int
	// Budget is how many bytes are sent to one client at most in any one second, wire.Overhead per
	// datagram included; from MinBudget to MaxBudget. Zero means DefaultBudget.
	Budget int
	// Guard is by how much the times may differ that datagrams take from Encode to the network,
	// which package server does not see. Budgets count each datagram for a second and this. Zero is
	// for tests; package host sets it. Negative counts as zero.
	Guard time.Duration
	// Rewind bounds how far back a shot is judged beyond what the shooter's path asks for; at most
	// MaxRewind. Zero means DefaultRewind, negative switches lag compensation off.
	Rewind time.Duration
	// RewindTotal bounds how far back a shot is judged in all, at most MaxRewind: beyond it the
	// target is favoured, and slow players must aim ahead. Zero means MaxRewind.
	RewindTotal time.Duration
	// Playout is the playout delay that clients may choose, above the path's floor, whatever their
	// path asks for; at most playout.MaxDelay. Zero leaves no choice, so that nobody is judged by
	// an older picture than the path asks for.
	Playout time.Duration
	// Unchecked are checks of what clients claim to have seen that are left out, for experiments.
	Unchecked rewind.Checks
	// Order says which records go first where the budget does not reach for all. Nil is best;
	// others are for experiments that compare.
	Order *snapshot.Order
	// Room is the name of the world.
	Room string
}

// PlayerID numbers a connected player. It is never 0 and never reused.
type PlayerID uint32

// Errors of Connect.
var (
	ErrFull = errors.New("server: the world is full")
	ErrName = errors.New("server: unusable player name")
)

// Drops counts datagrams that had no effect, by reason. None of them changed any state.
type Drops struct {
	Unknown    uint64 // from a player that is not connected
	Malformed  uint64 // not decodable
	Duplicate  uint64 // applied before, or too old
	HostileAck uint64 // acknowledges what was never sent
}

// Server is one world. See New.
type Server struct {
	rules *game.Rules
	cfg   Config
	eng   *engine.Engine
	hist  *snapshot.History

	tick    clock.Tick
	now     clock.Time    // server time of the tick
	leaves  clock.Time    // when the tick's datagrams leave
	period  time.Duration // nominal
	current time.Duration // announced
	line    line
	send    int // packets a second to one client at most

	clients []*player // by PlayerID
	nextID  PlayerID
	joins   []*player // who appears with the next tick
	quit    []game.ID // avatars of players who left
	drops   Drops
	faults  []error
	ends    []End

	wordStats WordStats

	scene
	owners owners
	ahead  ahead // whether clients run entities ahead

	past // of an audience

	// Scratch of Receive and Begin, for one command after the other.
	look    snapshot.Lookback
	seer    seer
	scratch []packet.Command
	run     packet.Command
	writer  wire.BitWriter
	body    []byte
	calls   calls
}

// calls is methods of a Server as values, made once.
type calls struct {
	record func(c engine.Change) (index int32)
	show   func(id game.ID, groups uint64)
	watch  func(id game.ID, times int)
}

// owners finds the players of entities.
type owners struct {
	avatars map[game.ID]*player
	spawns  map[int32]*player // by index in the history: of what player.spawns listed and is alive
}

// Away implements engine.Presence.
func (o *owners) Away(avatar game.ID) bool {
	p := o.avatars[avatar]
	return p != nil && (p.absent || p.up.away)
}

// New returns a world at tick 0. It fails on a Config outside its bounds.
func New(rules *game.Rules, cfg Config) (*Server, error) {
	if cfg.Clients == 0 {
		cfg.Clients = DefaultClients
	}
	if cfg.Budget == 0 {
		cfg.Budget = DefaultBudget
	}
	if cfg.Rewind == 0 {
		cfg.Rewind = DefaultRewind
	}
	if cfg.RewindTotal == 0 {
		cfg.RewindTotal = MaxRewind
	}
	if cfg.Clients < 1 || cfg.Clients > MaxClients {
		return nil, fmt.Errorf("server: Clients %d is outside [1, %d]", cfg.Clients, MaxClients)
	}
	if cfg.Budget < MinBudget || cfg.Budget > MaxBudget {
		return nil, fmt.Errorf("server: Budget %d is outside [%d, %d] bytes a second", cfg.Budget, MinBudget, MaxBudget)
	}
	if cfg.Rewind > MaxRewind {
		return nil, fmt.Errorf("server: Rewind %v is above %v", cfg.Rewind, MaxRewind)
	}
	if cfg.Playout < 0 || cfg.Playout > playout.MaxDelay {
		return nil, fmt.Errorf("server: Playout %v is outside [0, %v]", cfg.Playout, playout.MaxDelay)
	}
	if cfg.RewindTotal < 0 || cfg.RewindTotal > MaxRewind {
		return nil, fmt.Errorf("server: RewindTotal %v is outside [0, %v]", cfg.RewindTotal, MaxRewind)
	}
	grid, err := interest.NewGrid(gridCell)
	if err != nil {
		return nil, err
	}
	s := &Server{rules: rules, cfg: cfg, eng: engine.NewServer(rules, cfg.Seed, cfg.Secret),
		hist: snapshot.NewHistory(rules.Coders), nextID: 1, period: time.Second / time.Duration(rules.Rate),
		owners: owners{map[game.ID]*player{}, map[int32]*player{}}}
	s.eng.SetAway(&s.owners)
	s.current, s.calls = s.period, calls{s.recordEntity, s.showEntity, s.watchEntity}
	s.grid, s.line.Period = grid, s.period
	s.send = s.sendRate(cfg.Budget)
	s.ahead = aheadOf(rules)
	if rules.Hides() {
		s.removedShownTo = map[game.ID]uint64{}
	}
	return s, nil
}

// sendRate returns how many packets a second may go out at most with a budget in bytes a second.
func (s *Server) sendRate(budget int) int { return min(s.rules.Send, max(budget/packetWorth, 2)) }

// Rules returns the game that is played.
func (s *Server) Rules() *game.Rules { return s.rules }

// World returns the world as rules see it; valid between End and the next Begin, for reading.
func (s *Server) World() *game.World { return (*game.World)(s.eng.World()) }

// Engine returns the driver of the world, for tests.
func (s *Server) Engine() *engine.Engine { return s.eng }

// History returns the shared history, for reading between End and the next Begin.
func (s *Server) History() *snapshot.History { return s.hist }

// Tick returns the newest computed tick.
func (s *Server) Tick() clock.Tick { return s.tick }

// Worn returns which share of its ticks' numbers or of its entities' IDs the world has used up,
// whichever is larger. Ticks last 2.3 years at 60 a second, IDs 50 days if a thousand entities
// appear in each. At 1 the world breaks: whoever runs it ends it before.
func (s *Server) Worn() float64 {
	const all = 1 << 32
	return float64(float64(max(uint32(s.tick), uint32(s.eng.NextID()))) / all)
}

// Now returns the server time of the newest tick.
func (s *Server) Now() clock.Time { return s.now }

// Period returns the nominal tick period.
func (s *Server) Period() time.Duration { return s.period }

// SetPeriod announces the tick period from now on, where ticks take longer than nominal, or shorter
// again. It is cut to what packets can carry: whole microseconds in [clock.MinPeriod,
// clock.MaxPeriod]. A host announces its pacer's Spacing before each tick.
func (s *Server) SetPeriod(d time.Duration) {
	s.current = min(max(d.Truncate(time.Microsecond), clock.MinPeriod), clock.MaxPeriod)
	if s.current == s.period.Truncate(time.Microsecond) {
		s.current = s.period // as it is when nothing is announced
	}
}

// Drops returns the counts of datagrams that had no effect.
func (s *Server) Drops() Drops { return s.drops }

// Connect lets a player in. Its avatar appears with the next tick.
func (s *Server) Connect(now clock.Time, name string) (PlayerID, session.Welcome, error) {
	if len(s.clients) >= s.cfg.Clients {
		return 0, session.Welcome{}, fmt.Errorf("%w: %d players of %d", ErrFull, len(s.clients), s.cfg.Clients)
	}
	if len(name) > session.MaxName {
		return 0, session.Welcome{}, fmt.Errorf("%w: %d bytes, at most %d", ErrName, len(name), session.MaxName)
	}
	p := &player{s: s, id: s.nextID, name: name, ent: -1, limits: Limits{Budget: s.cfg.Budget, Send: s.send,
		Rewind: s.cfg.Rewind, RewindTotal: s.cfg.RewindTotal}}
	if err := p.begin(now); err != nil {
		return 0, session.Welcome{}, err
	}
	s.nextID++
	s.clients = append(s.clients, p)
	s.joins = append(s.joins, p)
	return p.id, p.welcome(), nil
}

// find returns a player and its place in clients; nil if it is not connected.
func (s *Server) find(id PlayerID) (int, *player) {
	i, ok := slices.BinarySearchFunc(s.clients, id, func(p *player, id PlayerID) int { return cmp.Compare(p.id, id) })
	if !ok {
		return -1, nil
	}
	return i, s.clients[i]
}

// Disconnect takes a player out. Its avatar goes with the next tick.
func (s *Server) Disconnect(id PlayerID) {
	i, p := s.find(id)
	if p == nil {
		return
	}
	s.clients = slices.Delete(s.clients, i, i+1)
	if p.avatar != 0 {
		s.quit = append(s.quit, p.avatar)
		delete(s.owners.avatars, p.avatar)
	}
	if i := slices.Index(s.joins, p); i >= 0 {
		s.joins = slices.Delete(s.joins, i, i+1)
	}
}

// Silent appends to dst the players that sent nothing for longer than Timeout; the host suspends or
// disconnects them. Those that are suspended are left out.
func (s *Server) Silent(now clock.Time, dst []PlayerID) []PlayerID {
	for _, p := range s.clients {
		if !p.absent && now.Sub(p.up.heard) > Timeout {
			dst = append(dst, p.id)
		}
	}
	return dst
}

// maxFaults is how many faults wait for Faults; later ones are dropped.
const maxFaults = 100

// Faults returns errors of the game's own code (panics) since the last call.
func (s *Server) Faults() []error {
	f := s.faults
	s.faults = nil
	return f
}

func (s *Server) fault(err error) {
	if err != nil && len(s.faults) < maxFaults {
		s.faults = append(s.faults, err)
	}
}

// Begin computes the next tick. now is the instant at which it was planned, not that of a late
// wake-up.
func (s *Server) Begin(now clock.Time) {
	if s.world != nil {
		s.watch()
		return
	}
	s.tick++
	s.now, s.leaves = now, now
	s.followLine()
	s.eng.SetTick(s.tick)
	s.admit()
	s.hear()
	s.runCommands()
	s.fault(s.eng.Step(false))
	s.fault(s.eng.Referee())
	s.hist.Begin(s.tick)
	s.removeGone()
	s.grid.Reset()
	old := 0
	for old < len(s.popups) && s.tick-s.popups[old].at >= clock.Tick(s.rules.Rate) {
		old++
	}
	s.popups = s.popups[:copy(s.popups, s.popups[old:])]
	if s.hist.TextsMissing() {
		s.eng.ChangeAll() // there may be room for them by now
	}
	s.eng.Changed(s.calls.record)
	s.hist.End()
	s.place()
	s.hide()
	s.tellAll()
	s.attend()
	for _, p := range s.clients {
		if p.commands.surprised && p.ent >= 0 {
			s.hist.Touch(p.ent)
			p.commands.surprised = false
		}
	}
	s.grid.Build()
}

// A line is that on which the newest tick lies, within lineTolerance; its number counts lines.
type line struct {
	wire.Line
	no uint32
}

// lineTolerance is by how much ticks may begin beside the line that clients know. It is far below
// what a client knows of the server's clock.
const lineTolerance = 100 * time.Microsecond

// followLine begins a new line where the newest tick does not lie on the present one.
func (s *Server) followLine() {
	beside := s.now.Sub(s.line.Time(s.tick))
	if s.line.Period != s.current || beside.Abs() > lineTolerance {
		s.line = line{wire.Line{Tick: s.tick, At: s.now, Period: s.current}, s.line.no + 1}
	}
}

// joinFailed is what a player reads for whom the rules' Join failed.
const joinFailed = "the game could not let you in: its rules failed, as the log of the server says"

// admit takes out the avatars of players who left and lets new players in.
func (s *Server) admit() {
	for _, id := range s.quit {
		s.fault(s.eng.Leave(id))
	}
	s.quit = s.quit[:0]
	for _, p := range s.joins {
		id, err := s.eng.Join(p.name, p.record)
		s.fault(err)
		p.avatar = id
		p.joined = s.tick
		if err != nil {
			p.end(End{Why: joinFailed, Refused: true, Err: err})
		}
		if id != 0 {
			s.owners.avatars[id] = p
		}
	}
	clear(s.joins) // or they would keep players who have left
	s.joins = s.joins[:0]
}

// runCommands runs the commands of all players. They take turns at going first, so that nobody
// always wins a tie.
func (s *Server) runCommands() {
	n := len(s.clients)
	for i := range n {
		p := s.clients[(i+int(s.tick))%n]
		if p.avatar == 0 || p.joined == s.tick {
			continue
		}
		if s.rules.Mode == game.Queued {
			s.runQueued(p)
			continue
		}
		s.act(p, p.commands.nextCommand(s, &p.down.log))
	}
}

// act runs one command of a player.
func (s *Server) act(p *player, cmd *packet.Command) {
	s.seer.begin(p, cmd)
	s.eng.SetMoment(cmd.Moment)
	s.eng.SetEye(cmd.Eye)
	s.fault(s.eng.Act(p.avatar, cmd.Vals, &s.seer, false))
	s.seer.end(cmd)
	s.seer.follow()
}

// removeGone takes what the rules removed out of the history and of all views.
func (s *Server) removeGone() {
	clear(s.removedShownTo)
	for _, id := range s.eng.Removed() {
		if i, ok := s.hist.Find(uint32(id)); ok {
			if s.rules.Hides() {
				s.removedShownTo[id] = s.shownWith(i)
			}
			s.hist.Remove(i)
			if !s.hist.At(i).Placed {
				s.placeless = slices.DeleteFunc(s.placeless, func(j int32) bool { return j == i })
			}
			if p := s.owners.spawns[i]; p != nil {
				p.forgetSpawn(i)
				delete(s.owners.spawns, i)
			}
		}
		if p := s.owners.avatars[id]; p != nil {
			p.avatar, p.lost, p.ent = 0, id, -1 // the rules removed an avatar whose player is here: it watches
			delete(s.owners.avatars, id)
		}
	}
}

// recordEntity writes the state of one entity that is new or has changed into the history, and
// returns its index there.
func (s *Server) recordEntity(c engine.Change) (index int32) {
	i := c.Index
	if i < 0 {
		i = s.hist.Add(uint32(c.ID), c.Kind, c.Owned)
		if p := s.owners.avatars[c.ID]; c.Owned && p != nil {
			p.ent = i
		}
		if !c.Owned {
			s.noteSpawn(i)
		}
		if !s.hist.At(i).Placed {
			s.placeless = append(s.placeless, i)
		}
	}
	s.hist.Update(i, c.Sims, c.Changed, c.Cut)
	if (c.Cut || c.Index < 0) && s.hist.At(i).Placed {
		s.popups = append(s.popups, popup{i, s.tick})
	}
	return i
}

// LeaveAt says that the datagrams of this tick leave at now, later than the tick began, because it
// took long. Budgets count from then on. It is called between Begin and Encode.
func (s *Server) LeaveAt(now clock.Time) { s.leaves = max(s.now, now) }

// Clients returns the number of connected players, which is the bound of Encode's ranges.
func (s *Server) Clients() int { return len(s.clients) }

// Encode writes the datagrams of this tick for the clients in the range [from, to). Distinct ranges
// may run at the same time, each with its own Outbox; the result does not depend on how clients are
// divided.
func (s *Server) Encode(from, to int, out *Outbox) {
	sampled := s.sampled()
	for i, p := range s.clients[from:to] {
		if from+i == sampled {
			if out.tally == nil {
				out.tally = snapshot.NewTally(s.hist)
			}
			out.entries.Tally = out.tally
		}
		p.encode(out)
		out.entries.Tally = nil
	}
}

// sampleEvery is how many ticks lie between two in which a client's records are counted. It has no
// common divisor with the ticks between packets, so that each kind of tick has its turn.
const sampleEvery = 7

// sampled returns the index of the client whose records are counted in this tick; -1: none.
func (s *Server) sampled() int { return sampledAt(s.tick, len(s.clients)) }

// sampledAt is sampled of n clients. They have their turns in no order: one that comes round would
// meet some clients only in ticks without packets.
func sampledAt(tick clock.Tick, n int) int {
	if tick%sampleEvery != 0 || n == 0 {
		return -1
	}
	const golden = 0x9e3779b9 // 2^32 over the golden ratio: its multiples lie everywhere, evenly
	return int(uint64(uint32(tick/sampleEvery)*golden) * uint64(n) >> 32)
}

// End finishes the tick. An audience leaves that to its world.
func (s *Server) End() {
	if s.world == nil {
		s.eng.Drain()
	}
}
