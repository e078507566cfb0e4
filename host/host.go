// Package host runs worlds: it takes connections in, keeps a room for each world, with a loop that
// runs its ticks at an even pace, and carries datagrams between the two. It is the edge of the
// server: package server computes, and is told the time; sockets belong to package transport.
//
// A Host owns every goroutine that it starts: one for each connection, one for each room and its
// bots, and a few helpers that encode; Run returns when all have ended.
package host

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"time"

	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/server"
	"meanwhile/session"
	"meanwhile/session/token"
	"meanwhile/transport"
)

// Limits and defaults.
const (
	// DefaultRooms is how many rooms are open at once at most, MaxRooms how many may be asked for.
	DefaultRooms = 64
	MaxRooms     = 4096
	// DefaultPlayers is how many humans fit a room.
	DefaultPlayers = 64
	// DefaultPlayersPerAddress is how many humans may play from one address: a school behind one
	// router.
	DefaultPlayersPerAddress = 64
	// MaxBots is how many bots may be asked for in a room.
	MaxBots = 1024
	// DefaultGrace is how long a room without players stays open.
	DefaultGrace = 30 * time.Second
	// DefaultRoom is where players go who name no room.
	DefaultRoom = "lobby"
	// EndPatience is how long Run waits for rooms and connections to end before it gives up on
	// them: rules that never return cannot be stopped.
	EndPatience = 10 * time.Second
	// guest is who says no name.
	guest = "Guest"
	// strayMessages is how many reliable messages that nobody asked for a player may send.
	strayMessages = 16
)

// Config describes a Host. Rules must be set; the rest has sound defaults.
type Config struct {
	// Rules is the game that is played in every room.
	Rules *game.Rules
	// Rooms is how many rooms are open at once at most; 0 means DefaultRooms, at most MaxRooms.
	Rooms int
	// Players is how many humans fit a room; 0 means DefaultPlayers. With Bots, at most
	// server.MaxClients.
	Players int
	// PlayersPerAddress is how many humans may play from one address, in all rooms together; 0
	// means DefaultPlayersPerAddress. Those of this machine are not counted.
	PlayersPerAddress int
	// Bots is how many of the game's own bots join each room; at most MaxBots. They need NewBot.
	Bots int
	// NewBot makes the client of a bot that a room has welcomed; now is on the host's Clock.
	// Package headless has one.
	NewBot func(rules *game.Rules, welcome session.Welcome, now clock.Time) (Bot, error)
	// Room is where players go who name none; empty means DefaultRoom.
	Room string
	// Budget and Rewind are those of server.Config.
	Budget int
	Rewind time.Duration
	// Seed makes what rooms draw repeatable, for tests. 0 draws at random.
	Seed uint64
	// Grace is how long a room without players stays open; 0 means DefaultGrace.
	Grace time.Duration
	// HelloTimeout is how long a connection may take to say its hello; 0 means
	// transport.HelloTimeout.
	HelloTimeout time.Duration
	// Login checks connect tokens. Nil admits players without one.
	Login *Login
	// Clock is the time of the host, of all its worlds and of all its connections; see Host.Clock.
	// Nil means the time since New.
	Clock transport.Clock
	// Log is told what happens. Nil discards it.
	Log *slog.Logger
}

// A Host runs the rooms of one game. See New. Safe for concurrent use.
type Host struct {
	cfg   Config
	clock transport.Clock
	log   *slog.Logger
	pool  *pool
	n     hostCounters

	mu    sync.Mutex
	ctx   context.Context // of the rooms; nil unless Run runs
	rooms map[string]*room
	from  map[netip.Addr]int // humans by origin
	alive map[*room]struct{} // those in rooms, and those that are about to end
	wg    sync.WaitGroup     // of the rooms
}

// New returns a Host. It fails on a Config outside its bounds. Nothing runs before Run.
func New(cfg Config) (*Host, error) {
	if cfg.Rules == nil {
		return nil, errors.New("host: Config.Rules must be set")
	}
	if cfg.Rooms == 0 {
		cfg.Rooms = DefaultRooms
	}
	if cfg.Players == 0 {
		cfg.Players = DefaultPlayers
	}
	if cfg.PlayersPerAddress == 0 {
		cfg.PlayersPerAddress = DefaultPlayersPerAddress
	}
	if cfg.Room == "" {
		cfg.Room = DefaultRoom
	}
	if cfg.Grace == 0 {
		cfg.Grace = DefaultGrace
	}
	if cfg.HelloTimeout == 0 {
		cfg.HelloTimeout = transport.HelloTimeout
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		start := time.Now()
		cfg.Clock = func() clock.Time { return clock.Time(time.Since(start)) }
	}
	switch {
	case cfg.Rooms < 1 || cfg.Rooms > MaxRooms:
		return nil, fmt.Errorf("host: Rooms %d is outside [1, %d]", cfg.Rooms, MaxRooms)
	case cfg.Bots < 0 || cfg.Bots > MaxBots:
		return nil, fmt.Errorf("host: Bots %d is outside [0, %d]", cfg.Bots, MaxBots)
	case cfg.Players < 1 || cfg.Players+cfg.Bots > server.MaxClients:
		return nil, fmt.Errorf("host: Players %d is outside [1, %d]", cfg.Players, server.MaxClients-cfg.Bots)
	case cfg.PlayersPerAddress < 1:
		return nil, fmt.Errorf("host: PlayersPerAddress %d is below 1", cfg.PlayersPerAddress)
	case cfg.Grace < 0 || cfg.HelloTimeout < 0:
		return nil, fmt.Errorf("host: Grace %v and HelloTimeout %v must not be negative", cfg.Grace, cfg.HelloTimeout)
	case cfg.Bots > 0 && cfg.Rules.Bot() == nil:
		return nil, fmt.Errorf("host: game %s has no bot, so Bots must be 0, not %d", cfg.Rules.Name, cfg.Bots)
	case cfg.Bots > 0 && cfg.NewBot == nil:
		return nil, fmt.Errorf("host: Bots is %d and NewBot is not set", cfg.Bots)
	}
	if err := CheckRoom(cfg.Room); err != nil {
		return nil, err
	}
	if _, err := server.New(cfg.Rules, server.Config{Budget: cfg.Budget, Rewind: cfg.Rewind}); err != nil {
		return nil, err
	}
	h := &Host{cfg: cfg, clock: cfg.Clock, log: cfg.Log, rooms: make(map[string]*room),
		alive: make(map[*room]struct{}), from: make(map[netip.Addr]int)}
	h.n.refused = make(map[session.Code]uint64)
	return h, nil
}

// CheckRoom says what is wrong with the name of a room: it must be 1 to session.MaxRoom lower-case
// letters, digits and dashes, so that it looks the same in addresses, logs and file names.
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

// Clock is the time of the host. Listeners whose connections it takes in must stamp with it.
func (h *Host) Clock() transport.Clock { return h.clock }

// Rules returns the game that is played.
func (h *Host) Rules() *game.Rules { return h.cfg.Rules }

// Room returns the name of the room that a player gets who asks for name, which may be empty, or
// why there is no such room or no place for it.
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

// ErrStuck is returned by Run when rooms or connections did not end within EndPatience.
var ErrStuck = errors.New("host: some rooms or connections did not end")

// Run accepts connections from the listeners until ctx ends. Then it tells the players, closes the
// listeners, and returns when every goroutine has ended. It returns nil then, ErrStuck, or the
// error of a listener that failed, which ends everything too. It may be called once.
func (h *Host) Run(ctx context.Context, listeners ...transport.Listener) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	h.mu.Lock()
	if h.ctx != nil {
		h.mu.Unlock()
		return errors.New("host: Run was called twice")
	}
	h.ctx = ctx
	h.pool = newPool(runtime.GOMAXPROCS(0))
	h.mu.Unlock()

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
	h.mu.Lock() // no room opens any more
	h.mu.Unlock()
	ended := waitFor(&h.wg, EndPatience)
	var closing sync.WaitGroup
	for _, l := range listeners {
		closing.Go(func() { l.Close(shuttingDown) })
	}
	ended = waitFor(&closing, EndPatience) && waitFor(&greeting, EndPatience) && ended
	if !ended {
		return ErrStuck // the helpers stay with the rooms that need them
	}
	h.pool.close()
	if err := context.Cause(ctx); errors.Is(err, errListener) {
		return err
	}
	return nil
}

// errListener marks the failure of a listener.
var errListener = errors.New("host: a listener failed")

// shuttingDown is the text that players get when the host ends.
const shuttingDown = "the server is shutting down"

// accept takes connections in and greets each in a goroutine of its own. There are no more of them
// than the listener's gate lets in unadmitted, and than fit the rooms.
func (h *Host) accept(ctx context.Context, l transport.Listener, greeting *sync.WaitGroup) error {
	for {
		conn, err := l.Accept(ctx)
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close(shuttingDown)
			}
			return nil
		case err != nil:
			return fmt.Errorf("%w: %s: %w", errListener, l.Addr(), err)
		}
		h.n.accepted.Add(1)
		greeting.Go(func() { h.greet(ctx, conn) })
	}
}

// greet lets a connection in or refuses it, and returns when it has ended.
func (h *Host) greet(ctx context.Context, conn transport.Conn) {
	h.n.greeting.Add(1)
	leave, err := h.count(conn.Remote())
	var r *room
	var p *player
	if err == nil {
		defer leave()
		r, p, err = h.admit(ctx, conn)
	}
	h.n.greeting.Add(-1)
	if err != nil {
		h.refuse(conn, err)
	} else {
		left := h.attend(r, conn)
		select {
		case r.leaves <- leaving{p.id, left}:
		case <-r.done:
		}
	}
	<-conn.Done()
}

// count counts a connection under its address until leave is called, or says that there are too
// many.
func (h *Host) count(remote string) (leave func(), err error) {
	a, counted := transport.Origin(remote)
	if !counted {
		return func() {}, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := h.from[a]; n >= h.cfg.PlayersPerAddress {
		return nil,
			session.Refusal{Code: session.Busy, Text: fmt.Sprintf("%d players come from your address already", n)}
	}
	h.from[a]++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.from[a]--; h.from[a] == 0 {
			delete(h.from, a)
		}
	}, nil
}

// refuse says why, and closes the connection.
func (h *Host) refuse(conn transport.Conn, err error) {
	var refusal session.Refusal
	if !errors.As(err, &refusal) { // it has ended by itself, or said nothing in time
		h.log.Debug("no hello", "transport", conn.Name(), "remote", conn.Remote(), "reason", err)
		conn.Close(err.Error())
		return
	}
	h.n.mu.Lock()
	h.n.refused[refusal.Code]++
	h.n.mu.Unlock()
	h.log.Debug("player refused", "transport", conn.Name(), "remote", conn.Remote(), "code", refusal.Code, "text",
		refusal.Text)
	refusal.Text = cut(refusal.Text, session.MaxText)
	if b, err := refusal.Append(nil); err == nil {
		_ = conn.SendMessage(b)
	}
	conn.Close(reason(refusal))
}

// cut shortens a text to at most n bytes, at the end of a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}

// admit reads the hello of a connection and brings its player into a room.
func (h *Host) admit(ctx context.Context, conn transport.Conn) (*room, *player, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, h.cfg.HelloTimeout,
		fmt.Errorf("no hello within %v", h.cfg.HelloTimeout))
	defer cancel()
	message, err := conn.ReceiveMessage(bounded)
	if err != nil {
		if ctx.Err() != nil {
			err = session.Refusal{Code: session.ShuttingDown, Text: shuttingDown}
		}
		return nil, nil, err
	}
	hello, err := session.DecodeHello(message)
	var version *session.VersionError
	switch {
	case errors.As(err, &version):
		return nil, nil, session.Refusal{Code: session.WrongVersion,
			Text: fmt.Sprintf("this server speaks version %d of the protocol, you speak version %d", version.Want,
				version.Got)}
	case err != nil:
		return nil, nil, session.Refusal{Code: session.Malformed, Text: err.Error()}
	}
	h.n.hellos.Add(1)
	rules := h.cfg.Rules
	if hello.Schema != rules.Hash {
		return nil, nil, session.Refusal{Code: session.WrongSchema,
			Text:       "this server plays other rules of " + rules.Name,
			SchemaText: wholeLines(rules.Text, session.MaxSchemaText)}
	}
	if hello.Room == "" {
		hello.Room = h.cfg.Room
	}
	if err := CheckRoom(hello.Room); err != nil {
		return nil, nil, session.Refusal{Code: session.NoRoom, Text: err.Error()}
	}
	grant, err := h.cfg.Login.check(&hello)
	if err != nil {
		return nil, nil, session.Refusal{Code: session.BadToken, Text: err.Error()}
	}
	if grant.Name != "" {
		hello.Name = grant.Name
	}
	if hello.Name = strings.TrimSpace(hello.Name); hello.Name == "" {
		hello.Name = guest
	}
	return h.enter(bounded, conn, &hello, grant)
}

// enter brings a player into a room, which it opens if need be.
func (h *Host) enter(ctx context.Context, conn transport.Conn, hello *session.Hello, grant token.Grant) (*room,
	*player, error) {
	r, err := h.open(hello.Room)
	if err != nil {
		return nil, nil, err
	}
	defer h.entered(r)
	var in *player
	j := &joining{
		name: hello.Name, peer: conn, nonce: hello.Nonce, account: grant.Player, answer: make(chan error, 1),
		where: []slog.Attr{slog.String("transport", conn.Name()), slog.String("remote", conn.Remote())},
		ready: func(p *player, w session.Welcome) {
			in = p
			conn.Deliver(p.in.Put)
			conn.Admit() // before the welcome: its answer may be a datagram
			b, err := w.Append(nil)
			if err == nil {
				err = conn.SendMessage(b)
			}
			if err != nil {
				conn.Close(err.Error())
			}
		},
	}
	select {
	case r.joins <- j:
	default:
		return nil, nil,
			session.Refusal{Code: session.Busy, Text: fmt.Sprintf("%d players wait to enter room %s", joinQueue,
				r.name)}
	}
	// The loop answers within a tick, unless the rules of its world hang.
	select {
	case err := <-j.answer:
		return r, in, err
	case <-r.done:
		if j.taken.CompareAndSwap(false, true) {
			return nil, nil, r.why
		}
	case <-ctx.Done():
		if j.taken.CompareAndSwap(false, true) {
			return nil, nil, session.Refusal{Code: session.Busy,
				Text: fmt.Sprintf("room %s did not answer in time", r.name)}
		}
	}
	select { // the loop is about to answer
	case err := <-j.answer:
		return r, in, err
	case <-r.done: // or has answered, or failed over it
	}
	select {
	case err := <-j.answer:
		return r, in, err
	default:
		return nil, nil, r.why
	}
}

// open returns the room of a name, with a place kept so that it does not end before entered is
// called.
func (h *Host) open(name string) (*room, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx == nil || h.ctx.Err() != nil {
		return nil, session.Refusal{Code: session.ShuttingDown, Text: shuttingDown}
	}
	r := h.rooms[name]
	if r == nil {
		// whoever fills the rooms does not lock the door of the house
		if len(h.rooms) >= h.cfg.Rooms && name != h.cfg.Room {
			return nil, session.Refusal{Code: session.Busy, Text: fmt.Sprintf("all %d rooms are taken", h.cfg.Rooms)}
		}
		var err error
		if r, err = newRoom(h, name); err != nil {
			h.log.Error("a room could not be opened", "room", name, "error", err)
			return nil, session.Refusal{Code: session.InternalError, Text: "the room could not be opened"}
		}
		h.rooms[name], h.alive[r] = r, struct{}{}
		h.n.mu.Lock()
		h.n.opened++
		h.n.mu.Unlock()
		ctx := h.ctx
		h.wg.Go(func() { r.run(ctx) })
	}
	r.pending++
	return r, nil
}

// entered gives back the place that open kept.
func (h *Host) entered(r *room) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.pending--
}

// retire takes an empty room off the list, so that nobody finds it any more, unless somebody is on
// the way in.
func (h *Host) retire(r *room) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.pending > 0 {
		return false
	}
	h.forget(r)
	return true
}

// forget takes a room off the list. h.mu is held.
func (h *Host) forget(r *room) {
	if h.rooms[r.name] == r {
		delete(h.rooms, r.name)
	}
}

// ended notes that the loop of a room has ended.
func (h *Host) ended(r *room, why session.Refusal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget(r)
	delete(h.alive, r)
	h.n.mu.Lock()
	defer h.n.mu.Unlock()
	h.n.closed++
	if why.Code == session.InternalError {
		h.n.failed++
	}
	h.n.past.add(r.stats().Totals)
}

// attend reads what a player sends on its stream, which is nothing yet, until its connection ends,
// and says why.
func (h *Host) attend(r *room, conn transport.Conn) error {
	for n := 0; ; n++ {
		_, err := conn.ReceiveMessage(context.Background()) // ends with the connection
		if err != nil {
			return err
		}
		r.n.stray.Add(1)
		if n >= strayMessages {
			conn.Close("too many messages that nobody asked for")
		}
	}
}

// wholeLines cuts a text to at most n bytes at the end of a line.
func wholeLines(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n-1] != '\n' {
		n--
	}
	return s[:n]
}

// randomPair draws two numbers that nobody can guess and that are not 0.
func randomPair() (a, b uint64, err error) {
	var buf [16]byte
	if _, err := io.ReadFull(rand.Reader, buf[:]); err != nil {
		return 0, 0, fmt.Errorf("host: drawing a seed: %w", err)
	}
	return binary.LittleEndian.Uint64(buf[:]) | 1, binary.LittleEndian.Uint64(buf[8:]) | 1, nil
}
