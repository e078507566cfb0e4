// Package play is for a game's own program with a window: a typed client for an engine such as
// Ebitengine, on desktops and, compiled to WebAssembly, in browsers. The program runs the frames and
// draws; a Client connects, predicts, keeps time and comes back where a connection is lost.
//
//	c, err := play.Dial(ctx, &zap.Game, "https://play.example.org", play.Options{Name: "Ada"})
//	for each frame of the screen {
//		err = c.Frame(zap.Cmd{Move: stick, Fire: clicked})
//		for e, pilot := range zap.Pilots.Drawn(c) { ... }
//		for e, shot := range zap.Zaps.Shown(c) { ... }
//	}
//
// docs/guide/native.md builds a program with it. Pages made with meanwhile.js need no part of it.
package play

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/headless"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/schema"
	"meanwhile/session"
	"meanwhile/transport"
)

// Options are the player's wishes, and what the program trusts. The zero Options suit most.
type Options struct {
	// Name and Room go to the server; an empty Room leaves the choice to it. Code is that of a
	// private room.
	Name, Room, Code string
	// Guest is a secret of a player without an account, who finds again what the server stored
	// under it. All zero stores nothing.
	Guest [session.KeySize]byte
	// Token returns a connect token, where the server asks for one; a token opens one connection.
	// It is called by Dial, and later by another goroutine. Nil: there is none.
	Token func(ctx context.Context) ([]byte, error)
	// Watch asks to see without an avatar, some time later.
	Watch bool
	// Roots are the authorities that may vouch for the server, and Fingerprint, if it is not empty,
	// the only certificate that is trusted: the 64 hexadecimal digits of its SHA-256. Without both
	// it is the authorities of this machine, and any certificate on this machine itself. Browsers
	// decide by themselves and ignore both.
	Roots       *x509.CertPool
	Fingerprint string
	// Transport is the only one that is tried: "quic" or "websocket", in browsers "webtransport" or
	// "websocket". Empty tries both, and what answers first is used.
	Transport string
	// Core tunes the client core.
	Core client.Config
}

// DrawnInfo is what a frame shows of an entity beside its state; game.Kind.Drawn yields it.
type DrawnInfo = engine.DrawnInfo

// ShownInfo is what a frame shows of an event beside its payload; game.Event.Shown yields it.
type ShownInfo = engine.ShownInfo

const (
	// keepPicture is for how long the last picture stays when a connection begins anew and has
	// nothing to show yet.
	keepPicture = time.Second
	// keepNotice is for how long Notice says that the player begins anew.
	keepNotice = 5 * time.Second
	// pressAge is by how much a command with a press may be older than the newest one: the server
	// runs those that come a little later than that.
	pressAge = packet.LatePress / 2
)

// A Client is one player of a game with commands of type C. See Dial. Not safe for concurrent use:
// it belongs to the goroutine that runs the frames.
type Client[C any] struct {
	rules   *game.Rules
	clock   transport.Clock
	player  *headless.Player
	drive   *headless.Drive
	picture *engine.Picture
	over    error // why no frame follows

	network    network
	techniques Techniques

	core  *client.Client // of the newest frame
	since clock.Time     // when it began
	away  bool

	command []int64
	presses []int  // of the command: where its presses are
	clicked []bool // which of them are, in this frame
	pressed []bool // which were since the newest command

	words  []client.Word
	floats []float64
	period time.Duration // of a tick
	each   func(e *client.Entity)
	step   func(core *client.Client, now clock.Time, due int)

	quality sampler
	began   clock.Time // when the player began anew; 0: it has not
	note    string     // why
}

// Dial connects to the server of a game and waits until the player is in. address is that of the
// server's page, such as "https://play.example.org" or "localhost:8080"; in a browser "" is where
// the program comes from. Options are the first of opts. ctx bounds the wait alone. The error is a
// sentence for whoever plays, or runs the server.
func Dial[C any](
	ctx context.Context, def *game.Definition[C], address string, opts ...Options,
) (*Client[C], error) {
	rules, err := def.Rules()
	if err != nil {
		return nil, err
	}
	var o Options
	if len(opts) > 0 {
		o = opts[0]
	}
	d, err := newDialer(rules, address, &o)
	if err != nil {
		return nil, err
	}
	conn, err := d.dial(ctx)
	if err != nil {
		return nil, err
	}
	var c *Client[C]
	c, err = join[C](ctx, rules, d.clock, conn, &o, func(ctx context.Context) (transport.Conn, error) {
		if f, _, ok := c.player.Farewell(); ok && f.To != "" {
			d.follow(f.To)
		}
		return d.dial(ctx)
	})
	return c, err
}

// join waits until the player is in over a connection, and dials others by dial, not before it
// returns.
func join[C any](
	ctx context.Context, rules *game.Rules, now transport.Clock, conn transport.Conn, o *Options,
	dial func(context.Context) (transport.Conn, error),
) (*Client[C], error) {
	c := &Client[C]{rules: rules, clock: now, picture: engine.NewPicture(rules),
		command: make([]int64, rules.Command.Sims)}
	c.network.clock = now
	c.techniques = Techniques{o.Core.NoPrediction, o.Core.NoInterpolation, o.Core.NoRewind}
	var err error
	c.player, err = headless.Join(ctx, c.network.over(conn), headless.Config{
		Rules: rules, Clock: now, Name: o.Name, Room: o.Room, Code: o.Code, Guest: o.Guest, Token: o.Token,
		Watch: o.Watch, Client: o.Core,
		Dial: func(ctx context.Context) (transport.Conn, error) {
			conn, err := dial(ctx)
			if err != nil {
				return nil, err
			}
			return c.network.over(conn), nil
		},
		Hear:     func(_ *client.Client, w *client.Word) { c.words = append(c.words, *w) },
		OnReturn: c.returned,
	})
	if err != nil {
		return nil, refused(rules, err)
	}
	for i := range rules.Command.Props {
		if p := &rules.Command.Props[i]; p.Input() == schema.InputPress {
			c.presses = append(c.presses, p.At)
		}
	}
	c.clicked, c.pressed = make([]bool, len(c.presses)), make([]bool, len(c.presses))
	c.each, c.step = c.entity, c.frame
	c.drive = c.player.Drive()
	return c, nil
}

// returned notes how the player came back.
func (c *Client[C]) returned(w session.Welcome, restarted bool) {
	c.began = c.clock()
	switch {
	case restarted:
		c.note = "The server has restarted."
	case w.Resumed:
		c.note = ""
	default:
		c.note = "Your place was not kept, so you begin anew."
	}
}

// Frame runs one frame, before the program draws it: it applies what has arrived and makes the
// commands that are due, all of them cmd, which is what the player wants now. A press (a field with
// net:"press") counts once, for the next command; frames come more often than commands, so set it
// in the frame in which the player pressed. The error says why the player is out for good: every
// later call returns it, too, and only Close is of use.
func (c *Client[C]) Frame(cmd C) error {
	if c.over != nil {
		return c.over
	}
	c.words = c.words[:0]
	engine.ToInts(c.rules.Command, &cmd, c.command)
	if err := c.drive.Frame(c.step); err != nil {
		c.over = refused(c.rules, err)
	}
	return c.over
}

// frame is what Frame does with the client core.
func (c *Client[C]) frame(core *client.Client, now clock.Time, due int) {
	if core != c.core {
		c.core, c.since = core, now
		core.SetAway(c.away)
		c.applyTechniques(core)
		c.quality.reset()
		clear(c.pressed) // that was the former avatar's
	}
	c.commands(core, now, due)
	_, _, c.period = core.Newest()
	if core.Me() != 0 || now.Sub(c.since) > keepPicture {
		c.picture.ResetEntities()
		c.floats = core.Draw(c.floats, c.each)
	}
	c.picture.ResetEvents()
	for _, e := range core.Events() {
		c.picture.AddEvent(e.Event, ShownInfo{Actor: e.Actor, Tick: e.Tick, Number: e.Number, Cancelled: e.Cancelled,
			Mine: e.Own || e.Actor != 0 && e.Actor == core.Me()}, e.Vals)
	}
	core.Drawn()
	c.quality.sample(core, now)
}

// commands makes the commands that are due. What was pressed in this frame is in the last of them:
// after a pause the first ones may be too late for a press.
func (c *Client[C]) commands(core *client.Client, now clock.Time, due int) {
	for i, at := range c.presses {
		c.clicked[i] = c.command[at] != 0
	}
	if due == 0 {
		c.press(core, now)
	}
	for ; due > 0; due-- {
		if due == 1 {
			c.press(core, now)
		}
		inTime := due == 1 || time.Duration(due-1)*c.period <= pressAge
		for i, at := range c.presses {
			c.command[at] = 0
			if c.pressed[i] && inTime {
				c.command[at], c.pressed[i] = 1, false
			}
		}
		core.Tick(c.command)
	}
}

// press keeps what was pressed in this frame for the next command.
func (c *Client[C]) press(core *client.Client, now clock.Time) {
	for i, clicked := range c.clicked {
		if clicked && !c.pressed[i] {
			c.pressed[i] = true
			core.Pressed(now)
		}
	}
}

// entity keeps one entity for the program.
func (c *Client[C]) entity(e *client.Entity) {
	late := time.Duration(float64(e.Late()) / clock.FracPerTick * float64(c.period))
	c.picture.AddEntity(e.Kind, DrawnInfo{ID: e.ID, Mine: e.Mine, Predicted: e.Predicted, Cut: e.Cut(),
		Stalled: e.Stalled(), Late: late}, e.Vals)
}

// Picture is what the newest frame shows, for game.Kind.Drawn and game.Event.Shown.
func (c *Client[C]) Picture() *engine.Picture { return c.picture }

// Me returns the player's avatar, 0 before it is known and for those who watch.
func (c *Client[C]) Me() game.ID {
	if c.core == nil {
		return 0
	}
	return c.core.Me()
}

// Core returns the client core of the newest frame, nil before the first: for client.Say and
// client.Ask, and all that it knows. It may be another one after the next frame.
func (c *Client[C]) Core() *client.Client { return c.core }

// Words returns the messages and answers that arrived with the newest frame; client.Heard and
// client.Answered read them.
func (c *Client[C]) Words() []client.Word { return c.words }

// SetAway says whether nobody looks: the window is minimised, or the game paused. The avatar then
// stands still.
func (c *Client[C]) SetAway(away bool) {
	if c.away = away; c.core != nil {
		c.core.SetAway(away)
	}
}

// Notice returns a sentence about the connection for the player, "" while there is nothing to say:
// it is lost and comes back, or the server is about to end.
func (c *Client[C]) Notice() string {
	if c.over != nil {
		return c.over.Error()
	}
	if c.drive.Returning() {
		return "The connection was lost. Reconnecting…"
	}
	if f, in, ok := c.player.Farewell(); ok {
		text := f.Text
		if text == "" {
			text = "The server is about to end."
		}
		return fmt.Sprintf("%s (in %d s)", text, int(in.Seconds()+0.5))
	}
	if c.note != "" && c.clock().Sub(c.began) < keepNotice {
		return c.note
	}
	return ""
}

// Player returns the connection and what the server allows, for tools.
func (c *Client[C]) Player() *headless.Player { return c.player }

// Close leaves the game. It waits until the server knows, for two seconds at most.
func (c *Client[C]) Close() {
	if c.drive != nil {
		c.drive.Leave()
		c.drive = nil
	}
	if c.over == nil {
		c.over = errors.New("play: the client is closed")
	}
}
