// Package bridge is the engine's side of a page: the calls of docs/BRIDGE.md, which
// web/meanwhile.js makes, over package client. It knows nothing of WebAssembly: package app passes
// it numbers and bytes, and a test can do the same.
//
// Instants are milliseconds of the page's clock; clock.Time here is that times 1e6. No call blocks,
// and none keeps the bytes that it gets. Not safe for concurrent use.
package bridge

import (
	"math"
	"strconv"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/wire"
	"meanwhile/session"
)

// Version is the version of the bridge.
const Version = 2

const (
	// maxLate is how long before its call a frame may be shown. A page that hangs for longer draws
	// the present.
	maxLate = 40 * time.Millisecond
	// pressAge is by how much a command with a press may be older than the newest one.
	pressAge = packet.LatePress / 2
	// maxStep is the most silence that one pause between frames counts for: a machine that slept
	// did not listen.
	maxStep = 300 * time.Millisecond
)

// Config is what a page starts an engine with.
type Config struct {
	// Game is the game that the page's server plays; Room and Name are the player's wishes. All may
	// be empty.
	Game, Room, Name string
	// Guest is the secret under which the server stores what the player gains, in hexadecimal
	// digits. Empty stores nothing.
	Guest string
	// Resume is what Answer.Resume said last, before the page was loaded again; "" joins anew.
	Resume string
	// Random fills b with random bytes that nobody can guess.
	Random func(b []byte)
	// Send sends a datagram at releaseMs, 0 for now; stamped: it has its final stamp. b is valid
	// during the call.
	Send func(b []byte, releaseMs float64, stamped bool)
	// Message sends a message on the reliable stream. b is valid during the call. Nil drops it.
	Message func(b []byte)
	// Clock returns the time that has passed since any instant, by which frames are timed, so that
	// they keep to the setting replayMs. Nil times nothing.
	Clock func() time.Duration
	// Complain reports panics of the game's rules to whoever develops it, and Warn mistakes in
	// them, each text once. Nil drops them.
	Complain, Warn func(text string)
}

// Bridge is one page's engine. See New.
type Bridge struct {
	rules   *game.Rules
	cfg     Config
	set     settings
	network network

	client   *client.Client // nil before the first welcome
	previous *client.Client // of the lost connection, while its picture is still shown
	welcome  session.Welcome
	welcomed clock.Time
	races    int  // see mostRaces
	joined   bool // the connection is open
	nonce    [session.KeySize]byte
	guest    [session.KeySize]byte
	hasNonce bool
	resume   [session.KeySize]byte // of the session to go on with; zeros: none
	place    string                // its room

	now, shown clock.Time // of the newest frame: when it was called, and when the display shows it
	due        int        // commands that the page still owes
	silence    time.Duration
	down, up   meter
	ints       []int64 // of a command
	waits      []int64 // as ints: presses that wait for a newer command

	write      writer
	picture    *client.Client         // whose world is drawn
	each       func(e *client.Entity) // writes one entity
	composed   bool                   // write.out is this frame's
	me         []float64
	vals       []float64
	pending    []event
	receipts   []client.Receipt
	key        float64                // of the newest event
	numbered   [maxTakenBack]numbered // keys of predicted events
	flights    []flight
	calls      int        // number of the page's newest request
	asked      []asked    // of client
	broken     []asked    // they get no answer any more
	lost       clock.Time // when the connection was lost
	complained map[string]bool
}

// New returns the engine of a page that is about to connect. The error is a sentence for the person
// in front of the page.
func New(rules *game.Rules, cfg Config) (*Bridge, error) {
	b := &Bridge{rules: rules, cfg: cfg, complained: map[string]bool{}}
	b.each = b.entity
	if err := b.write.describe(rules); err != nil {
		return nil, err
	}
	if cfg.Game != "" && cfg.Game != rules.Name {
		return nil, sentence("This page's program plays " + rules.Name + ", but the server plays " + cfg.Game +
			". Reload the page.")
	}
	if len(cfg.Room) > session.MaxRoom {
		return nil, sentence("The name of the room is " + strconv.Itoa(len(cfg.Room)) + " bytes long; at most " +
			strconv.Itoa(session.MaxRoom) + " are possible.")
	}
	if !parseKey(b.guest[:], cfg.Guest) {
		return nil, sentence("The key of this browser's player is not " + strconv.Itoa(2*session.KeySize) +
			" hexadecimal digits.")
	}
	b.cfg.Room, b.cfg.Name = clean(cfg.Room, session.MaxRoom), clean(cfg.Name, session.MaxName)
	b.setResume(cfg.Resume)
	b.ints = make([]int64, rules.Command.Floats())
	b.waits = make([]int64, len(b.ints))
	b.set = settings{predict: true, interpolate: true, lagcomp: true, predicts: allPredicted}
	return b, nil
}

// sentence is an error for a person to read.
type sentence string

func (s sentence) Error() string { return string(s) }

func instant(ms float64) clock.Time {
	if !(ms > 0) {
		return 0
	}
	return clock.Time(min(ms, 1e12) * 1e6)
}

func millis(t clock.Time) float64 { return float64(t) / 1e6 }

func spanMs(d time.Duration) float64 { return float64(d) / 1e6 }

func span(ms float64) time.Duration { return time.Duration(ms * 1e6) }

// Dropped reports that the page threw away the datagram with this sequence number before it reached
// the path. Its commands are repeated at once, and it does not count as a loss on the path.
func (b *Bridge) Dropped(seq wire.Seq) {
	if b.client != nil && b.joined {
		b.client.Dropped(seq)
	}
}

// Receive accepts a datagram that arrived at arrivalMs; the next frame applies it.
func (b *Bridge) Receive(data []byte, arrivalMs float64) {
	if b.client == nil || !b.joined || len(data) > wire.MaxDatagram {
		return
	}
	at := instant(arrivalMs)
	switch {
	case at < b.network.outage:
		b.noteDown(data, at, math.NaN())
	case !b.network.active:
		b.deliver(data, at)
	case b.network.path.Down.Push(at, data) == 0:
		b.noteDown(data, at, math.NaN())
	}
}

// deliver passes a datagram to the client as having arrived at an instant.
func (b *Bridge) deliver(data []byte, at clock.Time) {
	b.silence = 0
	b.down.add(at, len(data)+wire.Overhead)
	b.noteDown(data, at, millis(at))
	b.client.Receive(at, data)
}

// Frame applies what has arrived, moves the timelines on and returns how many commands are due.
// shownMs, at most nowMs, is when the display shows this frame. It is evenly spaced, so the world
// is drawn by it.
func (b *Bridge) Frame(nowMs, shownMs float64) (due int) {
	now := max(instant(nowMs), b.now)
	shown := min(max(instant(shownMs), b.shown, now.Add(-maxLate)), now)
	pause := now.Sub(b.now)
	b.now, b.shown = now, shown
	b.composed, b.due = false, 0
	c := b.client
	if c == nil || !b.joined {
		if now.Sub(b.lost) > b.welcome.Grace { // the session cannot go on
			b.giveUp()
		}
		return 0
	}
	b.silence += min(pause, maxStep)
	for b.network.path != nil {
		data, at, ok := b.network.path.Down.Pop(now)
		if !ok {
			break
		}
		b.deliver(data, at)
	}
	b.due = b.timed(shown)
	if b.set.away { // nobody looks
		c.Events()
		b.receipts = c.Receipts(b.receipts)[:0]
		b.pending = b.pending[:0]
	}
	if b.due == 0 {
		b.flush()
	}
	return b.due
}

// timed begins the client's frame and times it.
func (b *Bridge) timed(shown clock.Time) (due int) {
	if b.cfg.Clock == nil {
		return b.client.Frame(shown)
	}
	began := b.cfg.Clock()
	due = b.client.Frame(shown)
	b.client.FrameTook(b.cfg.Clock() - began)
	return due
}

// Client returns the client of the present session, nil before the first one. It is for reading, by
// programs that replay a page's log.
func (b *Bridge) Client() *client.Client { return b.client }

// Tick makes the next due command: from its fields as floats, or by the game's bot on autopilot.
// Too few floats count as zeros. pressedMs is when the first of its presses happened; 0 or less:
// not known.
func (b *Bridge) Tick(floats []float64, pressedMs float64) {
	if b.due <= 0 {
		return
	}
	c := b.client
	if b.set.autopilot && !b.set.away {
		if err := c.Think(b.rules.Bot()); err != nil {
			b.complain(err.Error())
		}
	} else {
		clear(b.ints)
		if len(floats) >= len(b.ints) {
			b.rules.Command.FromFloats(floats[:len(b.ints)], b.ints)
		}
		b.newer()
		b.press(pressedMs)
		c.Tick(b.ints)
	}
	if b.due--; b.due == 0 {
		b.flush()
	}
}

// newer keeps the presses in b.ints for the first command of at most pressAge: after a pause the
// server would not run them any more.
func (b *Bridge) newer() {
	for i, v := range b.waits {
		b.ints[i] |= v
		b.waits[i] = b.ints[i]
	}
	if (b.due-1)*int(time.Second/pressAge) > b.rules.Rate {
		packet.ClearPresses(b.rules.Command, b.ints)
	}
	for i, v := range b.ints {
		b.waits[i] ^= v
	}
}

// press says when the first press of the next command happened; 0 or less: not known.
func (b *Bridge) press(ms float64) {
	if ms > 0 && b.due > 0 {
		b.client.Pressed(max(min(instant(ms), b.shown), b.shown.Add(-maxLate)))
	}
}

// sendAway makes the next tick's command a little early, since it tells the server that this page
// is hidden: the next frame of a hidden page may be a second away.
func (b *Bridge) sendAway() {
	if b.client == nil || !b.joined {
		return
	}
	_, _, period := b.client.Newest()
	next := millis(b.now.Add(period))
	for range b.Frame(next, next) {
		b.Tick(nil, 0)
	}
}

// flush sends the datagrams of this frame.
func (b *Bridge) flush() {
	for d := b.client.Encode(b.now); d != nil; d = b.client.Encode(b.now) {
		b.send(d)
	}
}

// send sends a datagram, through the simulated network if there is one.
func (b *Bridge) send(d []byte) {
	b.up.add(b.now, len(d)+wire.Overhead)
	if b.now < b.network.outage {
		b.noteLostUp(d)
		return
	}
	if !b.network.active {
		b.noteUp(d, b.now)
		b.cfg.Send(d, 0, false)
		return
	}
	arrivals, n := b.network.path.Up.Send(b.now, len(d))
	if n == 0 {
		b.noteLostUp(d)
	}
	for i := range n {
		b.noteUp(d, arrivals[i])
		b.cfg.Send(d, millis(arrivals[i]), true)
	}
}

// maxComplaints is how many different mistakes are reported.
const maxComplaints = 100

func (b *Bridge) complain(text string) { b.once(b.cfg.Complain, text) }
func (b *Bridge) warn(text string)     { b.once(b.cfg.Warn, text) }

func (b *Bridge) once(to func(text string), text string) {
	if to != nil && !b.complained[text] && len(b.complained) < maxComplaints {
		b.complained[text] = true
		to(text)
	}
}
