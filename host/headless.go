package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/server"
	"meanwhile/session"
	"meanwhile/transport"
)

// HeadlessConfig describes a Headless player. Rules and Clock must be set.
type HeadlessConfig struct {
	// Rules is the game that is played; the server must have the same.
	Rules *game.Rules
	// Clock is that of the connection.
	Clock transport.Clock
	// Name and Room are said in the hello; an empty Room leaves the choice to the server.
	Name, Room string
	// Token is the connect token, where the server asks for one.
	Token []byte
	// Bot makes the commands. Nil makes none: the avatar stands still.
	Bot game.BotFunc
	// FrameRate is how many frames a second it lives by; 0 means DefaultFrameRate.
	FrameRate int
	// Client is that of the core.
	Client client.Config
}

// DefaultFrameRate is that of most screens.
const DefaultFrameRate = 60

// A Headless is a player without a screen, for load, tests and tools: a client core over a connection, driven as often
// as a screen would be. See Join.
type Headless struct {
	cfg  HeadlessConfig
	id   server.PlayerID
	conn transport.Conn
	in   queue

	mu   sync.Mutex
	c    *client.Client
	idle []int64 // a command that does nothing
	bot  game.BotFunc
	buf  []byte
	told error // the refusal with which the server ended the session
}

// Join says hello over a connection and waits for the welcome. ctx bounds the wait. A refusal is a session.Refusal for
// errors.As, and its text says where the schemas differ. On an error the connection is closed.
func Join(ctx context.Context, conn transport.Conn, cfg HeadlessConfig) (*Headless, error) {
	p, err := join(ctx, conn, cfg)
	if err != nil {
		conn.Close("")
		return nil, err
	}
	return p, nil
}

func join(ctx context.Context, conn transport.Conn, cfg HeadlessConfig) (*Headless, error) {
	if cfg.Rules == nil || cfg.Clock == nil {
		return nil, errors.New("host: HeadlessConfig.Rules and HeadlessConfig.Clock must be set")
	}
	if cfg.FrameRate <= 0 {
		cfg.FrameRate = DefaultFrameRate
	}
	hello := session.Hello{Schema: cfg.Rules.Hash, Room: cfg.Room, Name: cfg.Name, Token: cfg.Token}
	if _, err := io.ReadFull(rand.Reader, hello.Nonce[:]); err != nil {
		return nil, fmt.Errorf("host: drawing a nonce: %w", err)
	}
	b, err := hello.Append(nil)
	if err != nil {
		return nil, err
	}
	if err := conn.SendMessage(b); err != nil {
		return nil, err
	}
	answer, err := conn.ReceiveMessage(ctx)
	if err != nil {
		return nil, fmt.Errorf("host: no welcome: %w", err)
	}
	if session.KindOf(answer) == session.KindRefusal {
		return nil, refused(answer, cfg.Rules)
	}
	welcome, err := session.DecodeWelcome(answer)
	if err != nil {
		return nil, err
	}
	p := &Headless{cfg: cfg, id: server.PlayerID(welcome.Player), conn: conn, bot: cfg.Bot, idle: make([]int64, cfg.Rules.Command.Sims)}
	if p.c, err = client.New(cfg.Rules, welcome, cfg.Clock(), cfg.Client); err != nil {
		return nil, err
	}
	return p, nil
}

// refused makes an error of a refusal, for somebody who plays by rules.
func refused(message []byte, rules *game.Rules) error {
	r, err := session.DecodeRefusal(message)
	if err != nil {
		return err
	}
	text := r.Error()
	if d := game.Difference(r.SchemaText, rules.Text); r.Code == session.WrongSchema && d != "" {
		text += ": " + d
	}
	return &refusedError{r, text}
}

type refusedError struct {
	refusal session.Refusal
	text    string
}

func (e *refusedError) Error() string { return e.text }
func (e *refusedError) Unwrap() error { return e.refusal }

// Run plays until ctx ends, and then says goodbye and returns nil; or until the connection ends, and then returns why.
// It returns when the connection is closed.
func (p *Headless) Run(ctx context.Context) error {
	var reading sync.WaitGroup
	reading.Go(p.read)
	ticker := time.NewTicker(time.Second / time.Duration(p.cfg.FrameRate))
	defer ticker.Stop()
	var err error
	for err == nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			err = p.conn.Err()
			p.frame()
		}
	}
	p.conn.Close("goodbye")
	<-p.conn.Done()
	reading.Wait()
	if ctx.Err() != nil && err == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told != nil {
		return p.told
	}
	return err
}

// read takes what arrives until the connection ends.
func (p *Headless) read() {
	p.conn.Deliver(p.in.put) // never waits for a frame, which would make later arrivals look late
	for {
		m, err := p.conn.ReceiveMessage(context.Background()) // ends with the connection
		if err != nil {
			return
		}
		if session.KindOf(m) == session.KindRefusal {
			p.mu.Lock()
			p.told = refused(m, p.cfg.Rules)
			p.mu.Unlock()
		}
	}
}

// frame is one frame of the client.
func (p *Headless) frame() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ok := true; ok; {
		var at clock.Time
		if p.buf, at, ok = p.in.take(p.buf); ok {
			p.c.Receive(at, p.buf)
		}
	}
	now := p.cfg.Clock()
	due := p.c.Frame(now)
	for range due {
		if p.bot == nil {
			p.c.Tick(p.idle)
		} else {
			_ = p.c.Think(p.bot) // a bot that panics commands nothing
		}
	}
	p.c.Events()
	if b := p.c.Encode(now); b != nil {
		p.conn.Send(b)
	}
}

// Do runs f with the client, between two frames. f must not keep it.
func (p *Headless) Do(f func(c *client.Client)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p.c)
}

// SetBot changes who makes the commands; nil stands still.
func (p *Headless) SetBot(bot game.BotFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bot = bot
}

// ID returns the player's number in its room.
func (p *Headless) ID() server.PlayerID { return p.id }

// Conn returns the connection, for its counters.
func (p *Headless) Conn() transport.Conn { return p.conn }
