package headless

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/server"
	"meanwhile/session"
	"meanwhile/transport"
)

// Config describes a Player. Rules and Clock must be set.
type Config struct {
	// Rules is the game that is played; the server must have the same.
	Rules *game.Rules
	// Clock is the clock of the connection.
	Clock transport.Clock
	// Watch asks to see what happens, some time later, without an avatar; Welcome.Late says how
	// much.
	Watch bool
	// Name and Room go into the hello; an empty Room leaves the choice to the server.
	Name, Room string
	// Token returns a connect token, where the server asks for one; a token opens one connection.
	// It is called by the goroutine of Join, and later by another one. Nil: there is none.
	Token func(ctx context.Context) ([]byte, error)
	// Code is that of a private room, where the server asks for one.
	Code string
	// Guest is a secret of a player without an account, who finds again what the server stored
	// under it. All zero stores nothing.
	Guest [session.KeySize]byte
	// Dial opens another connection where the one before was lost, so that the player goes on where
	// it was, or joins anew where the server does not know it any more. Nil: the player ends with
	// its connection.
	Dial func(ctx context.Context) (transport.Conn, error)
	// OnReturn is called when the player is in again; restarted says that the server has restarted.
	// It may be nil, and must not call the Player.
	OnReturn func(w session.Welcome, restarted bool)
	// Bot makes the commands. Nil makes none: the avatar stands still.
	Bot client.BotFunc
	// Decisions is how often a second Bot decides at most, for instance 10 as people do; between,
	// its last command is repeated without presses. 0 or less: once a frame.
	Decisions int
	// Limits is what the player asks for as soon as it is in; zeros ask for as much as the server
	// allows. See Player.Ask.
	Limits session.Limits
	// Hear is called for each message and answer of the rules, in the goroutine of Run. It may
	// send, and must not keep c and w. Nil drops them. Player.Do sends at other times. A request
	// whose answer cannot come any more, as the server does not know the player, is refused.
	Hear func(c *client.Client, w *client.Word)
	// FrameRate is in frames a second; 0 or less means DefaultFrameRate.
	FrameRate int
	// Client configures the client core.
	Client client.Config
}

// DefaultFrameRate is the refresh rate of most screens, in frames a second.
const DefaultFrameRate = 60

// A Player plays over a connection, at the frame rate of a screen. See Join. Safe for concurrent
// use.
type Player struct {
	cfg Config
	id  atomic.Uint32
	now atomic.Pointer[transport.Conn] // conn, for those who have no lock

	mu      sync.Mutex
	conn    transport.Conn
	drained bool             // it has ended, and its messages have been read
	in      *transport.Queue // of it
	heard   clock.Time       // when something was taken from it
	welcome session.Welcome
	bot     *Bot
	buf     []byte
	dropped []wire.Seq
	refusal error // why the server sent this player away; nil: it has not
	limits  session.Limits

	farewell session.Farewell // of this connection
	ends     clock.Time       // when it says that the room ends; 0: there is none
}

// Join says hello over a connection and waits for the welcome. ctx bounds the wait. A refusal is an
// error of session.Refused: errors.As finds the session.Refusal, and the text says where schemas
// differ. On any error the connection is closed.
func Join(ctx context.Context, conn transport.Conn, cfg Config) (*Player, error) {
	p, err := join(ctx, conn, cfg)
	if err != nil {
		conn.Close("")
		return nil, err
	}
	return p, nil
}

func join(ctx context.Context, conn transport.Conn, cfg Config) (*Player, error) {
	if cfg.Rules == nil || cfg.Clock == nil {
		return nil, errors.New("headless: Config.Rules and Config.Clock must be set")
	}
	if cfg.FrameRate <= 0 {
		cfg.FrameRate = DefaultFrameRate
	}
	hello, err := withToken(ctx, &cfg, session.Hello{})
	if err != nil {
		return nil, err
	}
	welcome, err := greet(ctx, conn, &cfg, hello)
	if err != nil {
		return nil, err
	}
	p := &Player{cfg: cfg, conn: conn, in: new(transport.Queue), heard: cfg.Clock(), welcome: welcome}
	p.id.Store(welcome.Player)
	p.now.Store(&conn)
	if p.bot, err = newBot(cfg.Rules, welcome, cfg.Clock(), cfg.Client, cfg.Bot); err != nil {
		return nil, err
	}
	p.bot.clock, p.bot.hear = cfg.Clock, cfg.Hear
	if cfg.Decisions > 0 {
		p.bot.pause = time.Second / time.Duration(cfg.Decisions)
	}
	p.limits = session.Limits{BudgetDown: welcome.BudgetDown, SendRate: welcome.SendRate}
	if cfg.Limits != (session.Limits{}) {
		if err := p.Ask(cfg.Limits); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// withToken adds a connect token to a hello, if the player can have one.
func withToken(ctx context.Context, cfg *Config, hello session.Hello) (session.Hello, error) {
	if cfg.Token == nil {
		return hello, nil
	}
	var err error
	if hello.Token, err = cfg.Token(ctx); err != nil {
		return hello, fmt.Errorf("headless: no connect token: %w", err)
	}
	return hello, nil
}

// greet says hello over a connection, and returns the welcome. What hello leaves open comes from
// cfg.
func greet(ctx context.Context, conn transport.Conn, cfg *Config, hello session.Hello) (w session.Welcome, err error) {
	hello.Schema, hello.Name = cfg.Rules.Hash, cfg.Name
	hello.Guest, hello.Watch, hello.Code = cfg.Guest, cfg.Watch, cfg.Code
	if hello.Room == "" {
		hello.Room = cfg.Room
	}
	if _, err := io.ReadFull(rand.Reader, hello.Nonce[:]); err != nil {
		return w, fmt.Errorf("headless: drawing a nonce: %w", err)
	}
	b, err := hello.Append(nil)
	if err != nil {
		return w, err
	}
	if err := conn.SendMessage(b); err != nil {
		return w, err
	}
	answer, err := conn.ReceiveMessage(ctx)
	if err != nil {
		return w, fmt.Errorf("headless: no welcome: %w", err)
	}
	if session.KindOf(answer) == session.KindRefusal {
		return w, session.Refused(answer, cfg.Rules.Text)
	}
	return session.DecodeWelcome(answer)
}

// Run plays until ctx ends, then leaves and returns nil; or until the connection ends for good, and
// then returns why. The connection is closed when it returns. It may be called once.
func (p *Player) Run(ctx context.Context) error {
	d := p.Drive()
	ticker := time.NewTicker(time.Second / time.Duration(p.cfg.FrameRate))
	defer ticker.Stop()
	var err error
	for err == nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case a := <-d.dialled:
			err = d.arrive(a)
		case <-ticker.C:
			err = d.Frame(nil)
		}
	}
	d.Leave()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// read receives datagrams and messages until the connection ends.
func (p *Player) read(conn transport.Conn, in *transport.Queue) {
	conn.Deliver(in.Put) // never waits for a frame, which would make later arrivals look late
	for {
		m, err := conn.ReceiveMessage(context.Background()) // ends with the connection
		p.mu.Lock()
		if err != nil {
			p.drained = p.drained || p.conn == conn
			p.mu.Unlock()
			return
		}
		if p.conn != conn {
			p.mu.Unlock()
			continue
		}
		if session.KindOf(m) == session.KindRefusal {
			p.refusal = session.Refused(m, p.cfg.Rules.Text)
		} else if l, err := session.DecodeLimits(m); err == nil {
			p.limits = l
		} else if f, err := session.DecodeFarewell(m); err == nil {
			p.farewell, p.ends = f, p.cfg.Clock().Add(f.In)
		}
		p.mu.Unlock()
	}
}

// frame runs one frame of the client, by f if it is not nil. Datagrams that the connection dropped
// before the path are no loss on it, so the client learns of them before it encodes the next one.
func (p *Player) frame(f func(c *client.Client, now clock.Time, due int)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ok := true; ok; {
		var at clock.Time
		if p.buf, at, ok = p.in.Take(p.buf); ok {
			p.bot.Receive(at, p.buf)
			p.heard = p.cfg.Clock()
		}
	}
	p.dropped = p.conn.Dropped(p.dropped[:0])
	for _, seq := range p.dropped {
		p.bot.core.Dropped(seq)
	}
	now := p.cfg.Clock()
	var datagram []byte
	if f == nil {
		datagram, _ = p.bot.Frame(now) // a Bot function that panics commands nothing
	} else {
		datagram = p.bot.driven(now, f)
	}
	for ; datagram != nil; datagram = p.bot.core.Encode(now) {
		p.conn.Send(datagram)
	}
}

// Do runs f with the client core, between two frames. f must not keep it.
func (p *Player) Do(f func(c *client.Client)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p.bot.core)
}

// Ask asks the server to send at most that much, within what it allows; zeros ask for as much as it
// allows. Limits says what it answered.
func (p *Player) Ask(l session.Limits) error {
	b, err := l.Append(nil)
	if err != nil {
		return err
	}
	return p.Conn().SendMessage(b)
}

// Follow makes a player who watches look from where an entity is; 0 leaves the choice to the
// server.
func (p *Player) Follow(id game.ID) error {
	b, err := session.Follow{Entity: uint32(id)}.Append(nil)
	if err != nil {
		return err
	}
	return p.Conn().SendMessage(b)
}

// Late returns how long ago what the player sees has happened; 0 if it plays.
func (p *Player) Late() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.welcome.Late
}

// Limits returns what the server sends at most, as it said last.
func (p *Player) Limits() session.Limits {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limits
}

// Farewell returns the server's word that the room is about to end, and in how long; ok is false if
// it said nothing of it. The player comes back by itself, by Config.Dial.
func (p *Player) Farewell() (f session.Farewell, in time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.farewell, max(p.ends.Sub(p.cfg.Clock()), 0), p.ends != 0
}

// SetBot changes who makes the commands; nil makes the avatar stand still.
func (p *Player) SetBot(bot client.BotFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bot.think = bot
}

// ID returns the player's number in its room.
func (p *Player) ID() server.PlayerID {
	return server.PlayerID(p.id.Load())
}

// Conn returns the connection, for its counters.
func (p *Player) Conn() transport.Conn { return *p.now.Load() }
