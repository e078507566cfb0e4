// Package bridge is the engine's side of a page: the calls of docs/BRIDGE.md, which web/meanwhile.js makes, over package
// client. It knows nothing of WebAssembly: package app passes it numbers and bytes, and a test can do the same.
//
// Instants are milliseconds of the page's clock; clock.Time here is that times 1e6. Nothing blocks, and nothing is retained of
// what is passed in. Not safe for concurrent use.
package bridge

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/wire"
	"meanwhile/session"
)

// Version is the version of the bridge.
const Version = 1

// Limits.
const (
	// maxLate is how long before its call a frame may be shown: pages that hang for longer are shown the present.
	maxLate = 40 * time.Millisecond
	// maxStep is the silence that one pause between frames counts as: a machine that slept has not listened.
	maxStep = 300 * time.Millisecond
	// silentAfter and lostAfter are how long nothing may arrive before the page is told that the server is silent, and that the
	// connection should be made anew; the quiet ones count while the server said that there is nothing to tell.
	silentAfter, quietSilentAfter = 700 * time.Millisecond, packet.KeepAlive + 3*time.Second
	lostAfter, quietLostAfter     = 10 * time.Second, 3 * packet.KeepAlive
	// keepPicture is how long the last picture of a lost connection stays while the new one has nothing to show.
	keepPicture = time.Second
	// maxEvents is how many events wait to be drawn; the oldest are dropped beyond it.
	maxEvents = 512
)

// How long a page waits before it asks again after a refusal.
const (
	retrySoon  = 1000 // milliseconds
	retryLater = 5000
)

// ownRace is how long after a welcome the other transport of the same race may still be let in, and put this one out.
const ownRace = 10 * time.Second

// Config is what a page starts an engine with.
type Config struct {
	// Game is what the server of the page plays, Room and Name what the player would like; all may be empty.
	Game, Room, Name string
	// Random fills b with numbers that nobody can guess.
	Random func(b []byte)
	// Send sends a datagram at releaseMs (0: now); stamped says that its stamp is the final one. b is valid during the call.
	Send func(b []byte, releaseMs float64, stamped bool)
	// Complain is told of mistakes of the game's rules, once each, as a text for whoever develops it.
	Complain func(text string)
}

// state says how the connection is, as stats tell the page.
type state int

const (
	connecting state = iota
	playing
	away
	silent
	lost
)

type flag = float64

// Flags of entities and events.
const (
	flagMine      flag = 1
	flagCut       flag = 2
	flagPredicted flag = 4
	flagHeld      flag = 8
	lateUnit      flag = 16 // of the milliseconds above the flags
)

// Bridge is one page's engine. See New.
type Bridge struct {
	rules   *game.Rules
	cfg     Config
	set     settings
	kinds   []kindLayout
	events  []kindLayout
	texts   texts
	network network

	client   *client.Client // nil before the first welcome
	previous *client.Client // of the lost connection, whose picture is still shown
	welcome  session.Welcome
	welcomed clock.Time
	joined   bool // the connection is open
	nonce    [session.KeySize]byte
	drawn    bool // nonce is

	now, shown clock.Time
	due        int
	silence    time.Duration
	down, up   meter

	composed   bool
	out        []float64
	me         []float64
	vals       []float64
	counted    int // place in out of the number of entities of the kind that is being written
	kind       int // that kind
	count      int // of its entities
	each       func(*client.Entity)
	picture    *client.Client // whose world is being written
	pending    []event
	key        float64
	flights    []flight
	ints       []int64
	complained map[string]bool
}

// New returns the engine of a page that is about to connect. The error is a sentence.
func New(rules *game.Rules, cfg Config) (*Bridge, error) {
	b := &Bridge{rules: rules, cfg: cfg, complained: map[string]bool{}}
	b.each = b.entity
	if err := b.describe(); err != nil {
		return nil, err
	}
	if cfg.Game != "" && cfg.Game != rules.Name {
		return nil, sentence("This page's program plays " + rules.Name + ", but the server plays " + cfg.Game + ". Reload the page.")
	}
	if len(cfg.Room) > session.MaxRoom {
		return nil, sentence("The name of the room is " + strconv.Itoa(len(cfg.Room)) + " bytes long; at most " + strconv.Itoa(session.MaxRoom) + " are possible.")
	}
	b.cfg.Room, b.cfg.Name = clean(cfg.Room, session.MaxRoom), clean(cfg.Name, session.MaxName)
	b.ints = make([]int64, rules.Command.Floats())
	b.texts.reset()
	b.set = settings{predict: true, interpolate: true, lagcomp: true}
	return b, nil
}

// sentence is an error for a person to read.
type sentence string

func (s sentence) Error() string { return string(s) }

// clean makes s fit a message: valid UTF-8 without control characters, at most so many bytes.
func clean(s string, most int) string {
	s = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 || r == utf8.RuneError {
			return -1
		}
		return r
	}, s))
	for len(s) > most {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return strings.TrimSpace(s)
}

func instant(ms float64) clock.Time {
	if !(ms > 0) {
		return 0
	}
	return clock.Time(min(ms, 1e12) * 1e6)
}

func millis(t clock.Time) float64 { return float64(t) / 1e6 }

func spanMs(d time.Duration) float64 { return float64(d) / 1e6 }

func span(ms float64) time.Duration { return time.Duration(ms * 1e6) }

// Hello returns the first stream message of the next connection.
func (b *Bridge) Hello() []byte {
	if !b.drawn {
		b.cfg.Random(b.nonce[:])
		b.drawn = true
	}
	h := session.Hello{Schema: b.rules.Hash, Nonce: b.nonce, Room: b.cfg.Room, Name: b.cfg.Name}
	if b.client != nil {
		h.Resume, h.Newest = b.welcome.Resume, b.client.NewestPacket()
	}
	msg, err := h.Append(nil)
	if err != nil { // every field was made to fit
		panic(err)
	}
	return msg
}

// Welcome takes the first stream message from the server. sentence is "" if it lets us play, and otherwise says why not;
// retryMs is then after how long to try again, 0 for never.
func (b *Bridge) Welcome(msg []byte, nowMs float64) (sentence string, retryMs float64) {
	if session.KindOf(msg) == session.KindRefusal {
		return b.refusal(msg)
	}
	w, err := session.DecodeWelcome(msg)
	if v, ok := err.(*session.VersionError); ok {
		return versions(v.Got), 0
	}
	if err != nil {
		return "The server's answer is not one of ours (" + err.Error() + ").", retryLater
	}
	now := max(instant(nowMs), b.now)
	b.drawn = false // the next hello is another join
	b.silence = 0
	if w.Resumed && b.client != nil && w.Session == b.welcome.Session {
		b.welcome, b.joined = w, true // the same session on a new path: everything that is held still counts
		return "", 0
	}
	c, err := client.New(b.rules, w, now, b.set.client())
	if err != nil {
		return "This page cannot play on that server (" + err.Error() + "). Reload the page.", 0
	}
	b.previous = b.client
	b.client, b.welcome, b.joined, b.welcomed, b.due = c, w, true, now, 0
	b.client.SetAway(b.set.away)
	b.network.clear()
	return "", 0
}

func versions(server uint8) string {
	return "The server speaks version " + strconv.Itoa(int(server)) + " of the protocol, this page version " + strconv.Itoa(session.Version) + ". Reload the page."
}

// refusal puts a Refusal into words.
func (b *Bridge) refusal(msg []byte) (string, float64) {
	r, err := session.DecodeRefusal(msg)
	if err != nil {
		return "The server refused, but its reason cannot be read (" + err.Error() + ").", retryLater
	}
	switch r.Code {
	case session.WrongVersion:
		if len(msg) > 1 && msg[1] != session.Version {
			return versions(msg[1]), 0
		}
	case session.WrongSchema:
		if d := session.Difference(r.SchemaText, b.rules.Text); d != "" && r.SchemaText != "" {
			return "The server plays another version of " + b.rules.Name + ": " + d + ".", 0
		}
		return "The server plays another version of " + b.rules.Name + ". Reload the page.", 0
	}
	say := r.Text
	if say == "" {
		say = "The server refused: " + r.Code.String() + "."
	}
	switch r.Code {
	case session.RoomFull, session.Busy, session.InternalError:
		return say, retryLater
	case session.ShuttingDown:
		return say, retrySoon
	}
	return say, 0
}

// Message takes a later stream message. It returns "", or why the server does not want this player any more: then it is no
// use to connect again.
func (b *Bridge) Message(msg []byte) string {
	if session.KindOf(msg) != session.KindRefusal {
		return "" // of a newer server
	}
	say, retry := b.refusal(msg)
	if r, err := session.DecodeRefusal(msg); err == nil && r.Code == session.TakenOver && b.now.Sub(b.welcomed) < ownRace {
		return "" // by ourselves: the other transport of a race was let in as well, and later
	}
	if retry > 0 {
		return ""
	}
	b.joined = false
	return say
}

// Lost says that the connection has closed and that another is being made. The last picture stays.
func (b *Bridge) Lost() {
	b.joined, b.due = false, 0
	b.network.clear()
}

// Dropped reports that the page threw away the datagram with this sequence number before it reached the path. Its
// commands are repeated at once, and it does not count as a loss on the path.
func (b *Bridge) Dropped(seq wire.Seq) {
	if b.client != nil && b.joined {
		b.client.Dropped(seq)
	}
}

// Receive takes a datagram that arrived at arrivalMs.
func (b *Bridge) Receive(data []byte, arrivalMs float64) {
	if b.client == nil || !b.joined || len(data) > wire.MaxDatagram {
		return
	}
	at := instant(arrivalMs)
	if at < b.network.outage {
		b.flew(data, at, math.NaN())
		return
	}
	if !b.network.active {
		b.deliver(data, at)
		return
	}
	if b.network.path.Down.Push(at, data) == 0 {
		b.flew(data, at, math.NaN())
	}
}

// deliver hands a datagram over to the client as having arrived at that instant.
func (b *Bridge) deliver(data []byte, at clock.Time) {
	b.silence = 0
	b.down.add(at, len(data)+wire.Overhead)
	b.flew(data, at, millis(at))
	b.client.Receive(at, data)
}

// Frame takes in what has arrived, moves the timelines on and says how many commands are due. shownMs, at most nowMs, is when the display
// says that this frame is: evenly spaced, and so what is drawn by.
func (b *Bridge) Frame(nowMs, shownMs float64) (due int) {
	now := max(instant(nowMs), b.now)
	shown := min(max(instant(shownMs), b.shown, now.Add(-maxLate)), now)
	pause := now.Sub(b.now)
	b.now, b.shown = now, shown
	b.composed, b.due = false, 0
	c := b.client
	if c == nil || !b.joined {
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
	b.due = c.Frame(shown)
	if b.set.away {
		c.Events() // nobody looks
		b.pending = b.pending[:0]
	}
	if b.due == 0 {
		b.flush()
	}
	return b.due
}

// Tick makes the next due command: from its fields as floats, or by the game's bot on autopilot. Too few floats
// count as zeros.
func (b *Bridge) Tick(floats []float64) {
	if b.due <= 0 {
		return
	}
	b.due--
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
		c.Tick(b.ints)
	}
	if b.due == 0 {
		b.flush()
	}
}

// sendAway makes the command of the next tick a little early, the one that tells the server that this page goes away: the next frame
// of a hidden page may be a second away.
func (b *Bridge) sendAway() {
	if b.client == nil || !b.joined {
		return
	}
	_, _, period := b.client.Newest()
	next := millis(b.now.Add(period))
	for range b.Frame(next, next) {
		b.Tick(nil)
	}
}

// flush sends the datagram of this frame, if there is one.
func (b *Bridge) flush() {
	d := b.client.Encode(b.now)
	if d == nil {
		return
	}
	b.up.add(b.now, len(d)+wire.Overhead)
	if b.now < b.network.outage {
		b.lostUp(d)
		return
	}
	if !b.network.active {
		b.rose(d, b.now)
		b.cfg.Send(d, 0, false)
		return
	}
	arrivals, n := b.network.path.Up.Send(b.now, len(d))
	if n == 0 {
		b.lostUp(d)
	}
	for i := range n {
		b.rose(d, arrivals[i])
		b.cfg.Send(d, millis(arrivals[i]), true)
	}
}

// Leave says that the page goes away.
func (b *Bridge) Leave() { b.joined, b.due = false, 0 }

func (b *Bridge) complain(text string) {
	if b.cfg.Complain != nil && !b.complained[text] && len(b.complained) < 100 {
		b.complained[text] = true
		b.cfg.Complain(text)
	}
}

// state says how the connection is.
func (b *Bridge) state() state {
	c := b.client
	silentAfter, lostAfter := silentAfter, lostAfter
	switch {
	case c == nil || !b.joined:
		return connecting
	case b.set.away:
		return away
	case c.Quiet():
		silentAfter, lostAfter = quietSilentAfter, quietLostAfter
	}
	switch {
	case b.silence > lostAfter:
		return lost
	case b.silence > silentAfter:
		return silent
	}
	return playing
}

// meter counts the bytes of the last second, in slots of a 32nd of it.
type meter struct {
	slots [32]int
	at    int64 // newest slot
	sum   int
}

func (m *meter) add(now clock.Time, bytes int) {
	m.advance(now)
	m.slots[m.at%int64(len(m.slots))] += bytes
	m.sum += bytes
}

func (m *meter) advance(now clock.Time) {
	at := int64(now) / (int64(time.Second) / int64(len(m.slots)))
	for n := 0; m.at < at && n < len(m.slots); n++ {
		m.at++
		s := &m.slots[m.at%int64(len(m.slots))]
		m.sum -= *s
		*s = 0
	}
	m.at = max(m.at, at)
}

// second returns the bytes of the last second.
func (m *meter) second(now clock.Time) int {
	m.advance(now)
	return m.sum
}
