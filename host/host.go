// Package host runs the worlds of a game: it accepts connections, opens a room for each world, runs
// the room's ticks at an even pace and carries datagrams between players and world. It is the edge
// of the server: package server computes and gets the time as an argument; sockets belong to
// package transport, players without a screen to package headless.
//
// A Host owns every goroutine that it starts: one for each connection, two or three for each room
// (its loop, its heartbeats, its bots), and one for each processor that encodes. Run returns when
// all have ended.
package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/server"
	"meanwhile/session"
	"meanwhile/transport"
)

// Limits and defaults of a Config.
const (
	// DefaultRooms is how many rooms are open at once, at most; MaxRooms is the largest such limit.
	DefaultRooms = 64
	MaxRooms     = 4096
	// DefaultPlayers is how many humans a room admits.
	DefaultPlayers = 64
	// DefaultRoomsPerAddress is how many open rooms one address, or one account, may have opened.
	DefaultRoomsPerAddress = 4
	// RoomRefill is the time after which an address or account that opened as many rooms as it may
	// can open one more, and then another after as long again.
	RoomRefill = 15 * time.Second
	// Stay is how long a player must have been in a room for the room to wait for Config.Grace when
	// all have left. A room in which nobody stayed ends at once.
	Stay = 10 * time.Second
	// IdleTime is how long a player may do nothing before it makes place for a newcomer to a full
	// room.
	IdleTime = 3 * time.Minute
	// DefaultPlayersPerAddress is how many humans may play from one address, such as a school
	// behind one router.
	DefaultPlayersPerAddress = 64
	// MaxBots is how many bots a room has at most.
	MaxBots = 1024
	// DefaultGrace is how long a room without players stays open.
	DefaultGrace = 30 * time.Second
	// DefaultRoom is the room of players who name none.
	DefaultRoom = "lobby"
)

const (
	// endPatience is how long Run waits for rooms and connections to end. Rules that never return
	// cannot be stopped, so Run gives up on them then.
	endPatience = 10 * time.Second
	// guest is the name of players who give none.
	guest = "Guest"
	// strayMessages is how many unexpected reliable messages a player may send.
	strayMessages = 16
	// shuttingDown is the text that players get when the host ends.
	shuttingDown = "the server is shutting down"
)

// Config describes a Host. Rules must be set; zeros elsewhere are sound defaults. Negative values
// are errors.
type Config struct {
	// Rules is the game that every room plays.
	Rules *game.Rules
	// Rooms is how many rooms are open at once, at most MaxRooms; 0 means DefaultRooms. The default
	// room opens even beyond that.
	Rooms int
	// Players is how many humans a room admits; 0 means DefaultPlayers. With Bots it is at most
	// server.MaxClients.
	Players int
	// RoomsPerAddress is how many open rooms one address may have opened, or one account of connect
	// tokens; 0 means DefaultRoomsPerAddress. This machine is not bounded, nor is the default room.
	RoomsPerAddress int
	// PlayersPerAddress is how many humans may play from one address, in all rooms together; 0
	// means DefaultPlayersPerAddress. Players on this machine are not counted.
	PlayersPerAddress int
	// Bots is how many bots join each room, at most MaxBots. They need NewBot, and a game with a
	// Bot function.
	Bots int
	// NewBot makes the client of a bot that a room has welcomed; now is on the host's Clock.
	// headless.NewBot makes one.
	NewBot func(rules *game.Rules, welcome session.Welcome, now clock.Time) (Bot, error)
	// Room is the room of players who name none; empty means DefaultRoom.
	Room string
	// Budget, Rewind, RewindTotal and Playout are those of server.Config.
	Budget                       int
	Rewind, RewindTotal, Playout time.Duration
	// LimitsOf returns what a player is sent at most and how far back its shots are judged, by
	// whatever class the game has: those who pay, guests, who only watches, rooms for far players.
	// It is called when a player joins, with what the token says if there is one, and may be called
	// by several goroutines. Players may ask for less to be sent. Nil gives everybody the Budget.
	LimitsOf func(v Visitor) server.Limits
	// TotalBudget is how many bytes are sent in any one second to all humans of all rooms together,
	// wire.Overhead per datagram included; at least server.MinBudget. They share it: where it does
	// not suffice each gets an equal part, or less where it wants less. Zero means that there is no
	// such bound. Where not even server.MinBudget is left for one more player, it waits or is
	// refused.
	TotalBudget int
	// Seed makes the random numbers of rooms repeatable, for tests. 0 draws them anew.
	Seed uint64
	// Grace is how long a room without players stays open; 0 means DefaultGrace.
	Grace time.Duration
	// Resume is how long a player whose connection was lost can come back to its avatar, at most
	// session.MaxGrace; 0 means DefaultResume. Negative: players leave with their connection.
	Resume time.Duration
	// Drain is how long rooms go on after Run's context has ended, at most session.MaxGrace:
	// players learn when the end is, and DrainTo, if it is set: the page, or host:port, where they
	// go on. Zero ends the rooms at once.
	Drain   time.Duration
	DrainTo string
	// HelloTimeout is how long a connection may take to send its hello; 0 means
	// transport.HelloTimeout.
	HelloTimeout time.Duration
	// Store keeps what the rules save of players and rooms; see package game/saved. Nil keeps
	// nothing.
	Store Store
	// SaveEvery is how often what changed is stored, so that a crash loses no more; players who
	// leave are stored at once. 0 means five seconds.
	SaveEvery time.Duration
	// Journal is a folder in which each room records what happens in it, so that it can be replayed
	// (Host.Save, package journal) and goes on after a crash of this program: New restores the
	// rooms that the last run with the same build left there. No second Host, of this program or
	// another one, may have the folder at the same time: it would remove the rooms of the first.
	// Nothing here locks it, so the caller does, as package app/site does by a file that it keeps
	// open. Empty records nothing.
	Journal string
	// Spectators is how many clients may watch one room without playing, at most MaxSpectators.
	// They see all of it, WatchLate after it happened. A watched room is computed a second time, so
	// it takes the processor and the memory of two. Zero admits none.
	Spectators int
	// WatchLate is at least MinWatchLate and at most session.MaxGrace; 0 means ten seconds.
	WatchLate time.Duration
	// Check computes every room a second time from what is recorded of it, whether somebody watches
	// or not, to find rules that are not deterministic, and memory that fails: Stats counts them,
	// the log names them, and Journal gets what was recorded before.
	Check bool
	// Develop is for the machine of whoever writes the rules: players read what the rules did wrong.
	Develop bool
	// AnyBuild lets rooms of Journal go on that another build of the program recorded, where what they
	// are made of has the same form (docs/adr/0051-dev.md). Otherwise they begin anew.
	AnyBuild bool
	// Gate is that of the listeners. It expects players whose connections are lost, so that no
	// crowd of strangers keeps them out. May be nil.
	Gate *transport.Gate
	// Login checks connect tokens. Nil admits players without one.
	Login *Login
	// Clock is the clock of the host, its worlds and its connections; see Host.Clock. Nil means the
	// time since New.
	Clock transport.Clock
	// Log gets a line for each room and player, and for what goes wrong. Nil discards it.
	Log *slog.Logger
	// Spans gets what took time, see Span. Tick loops call it, and several goroutines at once: it must
	// not block. Nil: nobody asks. Package otlp has one that sends them on.
	Spans func(Span)

	create func(path string) (segmentFile, error) // nil: createFile
}

// A Visitor is a player who joins, as LimitsOf sees it.
type Visitor struct {
	Name    string
	Account uint64 // of the connect token; 0: none
	Room    string
}

// A Host runs the rooms of one game. See New. Safe for concurrent use.
type Host struct {
	name    [session.RunSize]byte // of this run, in resume keys
	cfg     Config
	clock   transport.Clock
	log     *slog.Logger
	logs    *logLines // what log writes through
	pool    *pool
	total   shares
	keeper  *keeper // nil: nothing lasts
	n       hostCounters
	opening *transport.Rates[origin] // of rooms
	guesses *transport.Rates[origin] // of codes of private rooms
	bans    bans
	reports *transport.Rates[struct{}]

	fault        atomic.Pointer[string] // see Fault
	unwritten    atomic.Int64           // bytes of journals that wait for the disk
	newestFolder atomic.Int64           // see folderTime

	restored []*restoredWorld // until Run
	base     clock.Time       // where the clock begins: after the newest tick of all restored worlds

	mu     sync.Mutex
	ctx    context.Context // of the rooms; nil before Run
	ends   clock.Time      // when the host ends, while it drains; 0: it does not
	rooms  map[string]*room
	from   map[netip.Addr]int // connections of humans by address
	opened map[origin]int     // open rooms by who opened them
	seats  map[*player]*room  // humans in rooms
	alive  map[*room]struct{} // rooms whose loop runs: those in rooms, and those about to end
	wg     sync.WaitGroup     // of the rooms
}

// fill puts in the defaults.
func (cfg *Config) fill() {
	cfg.Rooms = cmp.Or(cfg.Rooms, DefaultRooms)
	cfg.Players = cmp.Or(cfg.Players, DefaultPlayers)
	cfg.PlayersPerAddress = cmp.Or(cfg.PlayersPerAddress, DefaultPlayersPerAddress)
	cfg.RoomsPerAddress = cmp.Or(cfg.RoomsPerAddress, DefaultRoomsPerAddress)
	cfg.Room = cmp.Or(cfg.Room, DefaultRoom)
	cfg.Grace = cmp.Or(cfg.Grace, DefaultGrace)
	cfg.SaveEvery = cmp.Or(cfg.SaveEvery, defaultSaveEvery)
	cfg.HelloTimeout = cmp.Or(cfg.HelloTimeout, transport.HelloTimeout)
	cfg.Resume = cmp.Or(cfg.Resume, DefaultResume)
	if cfg.create == nil {
		cfg.create = createFile
	}
	cfg.WatchLate = cmp.Or(cfg.WatchLate, defaultWatchLate)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		start := time.Now()
		cfg.Clock = func() clock.Time { return clock.Time(time.Since(start)) }
	}
}

// check returns an error unless every field is within its bounds.
func (cfg *Config) check() error {
	switch {
	case cfg.Rooms < 1 || cfg.Rooms > MaxRooms:
		return fmt.Errorf("host: Rooms %d is outside [1, %d]", cfg.Rooms, MaxRooms)
	case cfg.Bots < 0 || cfg.Bots > MaxBots:
		return fmt.Errorf("host: Bots %d is outside [0, %d]", cfg.Bots, MaxBots)
	case cfg.Players < 1 || cfg.Players+cfg.Bots > server.MaxClients:
		return fmt.Errorf("host: Players %d is outside [1, %d]", cfg.Players, server.MaxClients-cfg.Bots)
	case cfg.TotalBudget != 0 && cfg.TotalBudget < server.MinBudget:
		return fmt.Errorf("host: TotalBudget %d is below %d bytes a second", cfg.TotalBudget, server.MinBudget)
	case cfg.PlayersPerAddress < 1:
		return fmt.Errorf("host: PlayersPerAddress %d is below 1", cfg.PlayersPerAddress)
	case cfg.RoomsPerAddress < 1:
		return fmt.Errorf("host: RoomsPerAddress %d is below 1", cfg.RoomsPerAddress)
	case cfg.SaveEvery < 0:
		return fmt.Errorf("host: SaveEvery %v must not be negative", cfg.SaveEvery)
	case cfg.Drain < 0 || cfg.Drain > session.MaxGrace:
		return fmt.Errorf("host: Drain %v is outside [0, %v]", cfg.Drain, session.MaxGrace)
	case len(cfg.DrainTo) > session.MaxAddress:
		return fmt.Errorf("host: DrainTo is %d bytes long, at most %d", len(cfg.DrainTo), session.MaxAddress)
	case cfg.Resume > session.MaxGrace:
		return fmt.Errorf("host: Resume %v is above %v", cfg.Resume, session.MaxGrace)
	case cfg.Spectators < 0 || cfg.Spectators > MaxSpectators:
		return fmt.Errorf("host: Spectators %d is outside [0, %d]", cfg.Spectators, MaxSpectators)
	case cfg.WatchLate < MinWatchLate || cfg.WatchLate > session.MaxGrace:
		return fmt.Errorf("host: WatchLate %v is outside [%v, %v]", cfg.WatchLate, MinWatchLate, session.MaxGrace)
	case cfg.Grace < 0 || cfg.HelloTimeout < 0:
		return fmt.Errorf("host: Grace %v and HelloTimeout %v must not be negative", cfg.Grace, cfg.HelloTimeout)
	case cfg.Bots > 0 && cfg.Rules.Bot() == nil:
		return fmt.Errorf("host: game %s has no bot, so Bots must be 0, not %d", cfg.Rules.Name, cfg.Bots)
	case cfg.Bots > 0 && cfg.NewBot == nil:
		return fmt.Errorf("host: Bots is %d and NewBot is not set", cfg.Bots)
	}
	if err := CheckRoom(cfg.Room); err != nil {
		return err
	}
	if _, err := server.New(cfg.Rules, server.Config{Budget: cfg.Budget, Rewind: cfg.Rewind,
		RewindTotal: cfg.RewindTotal, Playout: cfg.Playout}); err != nil {
		return err
	}
	return nil
}

// New returns a Host. It fails on a Config outside its bounds. Nothing runs before Run.
func New(cfg Config) (*Host, error) {
	if cfg.Rules == nil {
		return nil, errors.New("host: Config.Rules must be set")
	}
	cfg.fill()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	logs := newLogQueue(cfg.Log.Handler())
	cfg.Log = slog.New(logs)
	h := &Host{logs: logs.logLines, cfg: cfg, clock: cfg.Clock, log: cfg.Log, rooms: make(map[string]*room),
		alive: make(map[*room]struct{}), from: make(map[netip.Addr]int),
		opened:  make(map[origin]int),
		opening: transport.NewRates[origin](cfg.RoomsPerAddress, time.Duration(cfg.RoomsPerAddress)*RoomRefill),
		guesses: transport.NewRates[origin](CodeTries, CodeRefill), reports: newReports(),
		seats: make(map[*player]*room)}
	h.total.total, h.total.usual = int64(cfg.TotalBudget), int64(cfg.Budget)
	if cfg.Budget == 0 {
		h.total.usual = server.DefaultBudget
	}
	_, _ = rand.Read(h.name[:]) // never fails
	h.n.refused = make(map[session.Code]uint64)
	h.n.flooded = make(map[string]uint64)
	if cfg.Store != nil {
		h.keeper = newKeeper(timedStore{cfg.Store, h}, h.log)
	}
	return h, h.openJournals()
}

// CheckRoom returns an error unless name can be the name of a room: 1 to session.MaxRoom lower-case
// letters, digits and dashes, which look the same in addresses, logs and file names.
func CheckRoom(name string) error {
	if name == "" || len(name) > session.MaxRoom {
		return fmt.Errorf("host: the name of a room is %d bytes long, want 1 to %d", len(name), session.MaxRoom)
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return fmt.Errorf("host: room %q: names of rooms are lower-case letters, digits and dashes", name)
		}
	}
	return nil
}

// Clock returns the clock of the host. Its listeners must stamp with it.
func (h *Host) Clock() transport.Clock { return h.clock }

// Room returns the room that a player who asks for name would join; an empty name asks for the
// default room. It fails on a name that no room can have, and when all rooms are taken.
func (h *Host) Room(name string) (string, error) {
	if name == "" {
		name = h.cfg.Room
	}
	if err := CheckRoom(name); err != nil {
		return "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rooms[name] == nil && len(h.rooms) >= h.cfg.Rooms && name != h.cfg.Room {
		return "", fmt.Errorf("host: all %d rooms are taken", h.cfg.Rooms)
	}
	return name, nil
}

// ErrStuck is returned by Run when rooms or connections did not end within ten seconds.
var ErrStuck = errors.New("host: some rooms or connections did not end")

// Run accepts connections from the listeners until ctx ends or a listener fails. Then it drains, as
// Config.Drain says, sends the players away, closes the listeners, waits for every goroutine, and
// returns nil, ErrStuck, or the error of the listener. It may be called once.
func (h *Host) Run(ctx context.Context, listeners ...transport.Listener) error {
	stopped := ctx
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	h.mu.Lock()
	if h.ctx != nil {
		h.mu.Unlock()
		return errors.New("host: Run was called twice")
	}
	h.ctx = ctx
	h.logs.start()
	defer h.logs.end()
	h.pool = newPool(runtime.GOMAXPROCS(0))
	h.revive()
	for r := range h.alive {
		h.wg.Go(func() { r.run(ctx) })
	}
	h.mu.Unlock()

	var draining sync.WaitGroup
	defer draining.Wait()
	draining.Go(func() {
		select {
		case <-stopped.Done():
			h.drain(ctx)
			cancel(context.Cause(stopped))
		case <-ctx.Done():
		}
	})
	if h.total.total > 0 {
		h.wg.Go(func() { h.total.run(ctx) })
	}
	storing, stopStoring := context.WithCancel(context.Background())
	defer stopStoring()
	var keeping sync.WaitGroup
	if h.keeper != nil {
		keeping.Go(func() { h.keeper.run(storing) })
	}
	var accepting, greeting sync.WaitGroup
	for _, l := range listeners {
		accepting.Go(func() {
			if err := h.accept(ctx, l, &greeting); err != nil {
				cancel(err)
			}
		})
	}
	<-ctx.Done()
	accepting.Wait()
	h.mu.Lock() // who opens a room holds the lock and looks at ctx: from here on no room opens
	//lint:ignore SA2001 holding it once is all that is needed
	h.mu.Unlock()
	ended := waitFor(&h.wg, endPatience)
	stopStoring() // rooms have handed over the newest
	ended = waitFor(&keeping, saveTimeout+endPatience) && ended
	var closing sync.WaitGroup
	for _, l := range listeners {
		closing.Go(func() { l.Close(shuttingDown) })
	}
	ended = waitFor(&closing, endPatience) && waitFor(&greeting, endPatience) && ended
	if ended && h.keeper != nil {
		ended = waitFor(&h.keeper.loading, endPatience)
	}
	if !ended {
		return ErrStuck // rooms that have not ended still need the pool
	}
	h.pool.close()
	if err := context.Cause(ctx); errors.Is(err, errListener) {
		return err
	}
	return nil
}

// errListener marks the failure of a listener.
var errListener = errors.New("host: a listener failed")

// open returns the room that a hello asks for, which it opens for by if need be. The room does not
// retire before entered is called.
func (h *Host) open(hello *session.Hello, by origin) (*room, error) {
	name := hello.Room
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx == nil || h.ctx.Err() != nil {
		return nil, refusal(session.ShuttingDown, shuttingDown)
	}
	r := h.rooms[name]
	if r == nil {
		// The default room stays joinable when all rooms are taken: otherwise a stranger could open
		// rooms until nobody gets in.
		if len(h.rooms) >= h.cfg.Rooms && name != h.cfg.Room {
			return nil, refusal(session.Busy, "all %d rooms are taken", h.cfg.Rooms)
		}
		if name == h.cfg.Room {
			by = origin{}
		}
		err := h.mayOpen(by)
		if err != nil {
			return nil, err
		}
		if r, err = newRoom(h, name, by); err == nil && name != h.cfg.Room {
			r.code = hello.Code
			r.noteRoom()
		}
		if err != nil {
			h.log.Error("a room could not be opened", "room", name, "error", err)
			return nil, refusal(session.InternalError, "the room could not be opened")
		}
		h.rooms[name], h.alive[r] = r, struct{}{}
		h.countRoom(by)
		h.n.mu.Lock()
		h.n.opened++
		h.n.mu.Unlock()
		ctx := h.ctx
		h.wg.Go(func() { r.run(ctx) })
	}
	if err := h.mayEnter(r, hello.Code, by); err != nil {
		return nil, err
	}
	r.pending++
	return r, nil
}

// mayOpen refuses one who opened as many rooms as it may, or opens them too fast. A gallery counts
// as the room that it costs. h.mu is held.
func (h *Host) mayOpen(by origin) error {
	if by != (origin{}) && (h.opened[by] >= h.cfg.RoomsPerAddress || !h.opening.Take(by)) {
		return refusal(session.Busy, "you opened %d rooms already; wait a little, or join one that is open",
			h.cfg.RoomsPerAddress)
	}
	return nil
}

// countRoom counts a room or gallery for whoever opened it. h.mu is held.
func (h *Host) countRoom(by origin) {
	if by != (origin{}) {
		h.opened[by]++
	}
}

// uncountRoom forgets one that has ended. h.mu is held.
func (h *Host) uncountRoom(by origin) {
	if by == (origin{}) {
		return
	}
	if h.opened[by]--; h.opened[by] == 0 {
		delete(h.opened, by)
	}
}

// entered ends the protection that open gave a room.
func (h *Host) entered(r *room) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.pending--
}

// retire removes an empty room from the list, so that nobody finds it any more, and reports whether
// it did: it does not while a player is on the way in.
func (h *Host) retire(r *room) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.pending > 0 {
		return false
	}
	h.forget(r)
	return true
}

// forget removes a room from the list. h.mu is held.
func (h *Host) forget(r *room) {
	if h.rooms[r.name] == r {
		delete(h.rooms, r.name)
	}
	if r.of != nil && r.of.r.gallery == r {
		r.of.r.gallery = nil
	}
}

// ended notes that the loop of a room has ended.
func (h *Host) ended(r *room, why session.Refusal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget(r)
	delete(h.alive, r)
	h.uncountRoom(r.by)
	h.n.mu.Lock()
	defer h.n.mu.Unlock()
	h.n.closed++
	if why.Code == session.InternalError {
		h.n.failed++
	}
	h.n.past.add(r.stats().Totals)
}

// randomPair draws two numbers that nobody can guess. Neither is 0.
func randomPair() (a, b uint64, err error) {
	var buf [16]byte
	if _, err := io.ReadFull(rand.Reader, buf[:]); err != nil {
		return 0, 0, fmt.Errorf("host: drawing a seed: %w", err)
	}
	return binary.LittleEndian.Uint64(buf[:]) | 1, binary.LittleEndian.Uint64(buf[8:]) | 1, nil
}
