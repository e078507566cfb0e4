// Package session codes the messages of the handshake: the player's Hello, and the server's Welcome or
// Refusal. They travel on the reliable stream of a transport, the Hello first. Connect tokens, which a
// Hello carries, are made and checked in package session/token; here they are opaque, so that a client
// links no cryptography. docs/PROTOCOL.md lays the messages out, offset by offset.
//
// Every message begins with two bytes that never change their meaning:
//
//	offset  size  field
//	0       1     Kind: 1 hello, 2 welcome, 3 refusal
//	1       1     Version of the protocol that its sender speaks
//
// The rest is laid out at each type. Integers are little-endian; a text or blob is its length in two
// bytes, then its bytes; texts are UTF-8 without control characters. A decoder refuses a message that
// is cut short, goes on after its last field, or breaks a bound, and then returns the zero message.
package session

import (
	"time"

	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
)

// Version is the version of the protocol. Peers of different versions cannot read each other's
// Hello and Welcome. A Refusal has the same layout in every version, so that it can say so.
const Version = 4

// Kind tells the messages apart.
type Kind uint8

// The kinds of message. 0 is none.
const (
	KindHello Kind = 1 + iota
	KindWelcome
	KindRefusal
	kindLimits
	kindFarewell
	kindFollow
)

// KindOf returns the kind of message b, or 0 if it is empty. The kind may be unknown.
func KindOf(b []byte) Kind {
	if len(b) == 0 {
		return 0
	}
	return Kind(b[0])
}

// Bounds of fields, in bytes unless the name says otherwise.
const (
	KeySize       = 16   // nonces and resume keys
	RunSize       = 4    // of a resume key: the part that names the run of the server
	MaxName       = 48   // a player's name
	MaxRoom       = 64   // a room's name
	MaxGame       = 64   // a game's name
	MaxToken      = 1024 // a connect token
	MaxCode       = 32   // the code of a private room
	MaxAddress    = 256  // where a Farewell sends players
	MaxText       = 256  // the sentence of a Refusal
	MaxSchemaText = 4096 // the schema in a Refusal
	MaxPeriod     = 10 * time.Second
	MaxGrace      = 10 * time.Minute
)

// Goodbye is the reason with which a player closes a connection that it does not want to resume.
const Goodbye = "goodbye"

// MaxMessage is the size of the largest message of this package in bytes: a Refusal with its
// schema.
const MaxMessage = 2 + 2 + (2 + MaxText) + (2 + MaxSchemaText)

// A VersionError reports a peer that speaks another version of the protocol.
type VersionError struct{ Got, Want uint8 }

func (e *VersionError) Error() string {
	return fault.Sprintf("session: the peer speaks protocol version %d, this program version %d", e.Got, e.Want)
}

// header codes the first two bytes.
func (c *codec) header(k Kind, frozen bool) {
	kind, version := uint8(k), uint8(Version)
	c.u8(&kind)
	c.u8(&version)
	switch {
	case c.err != nil:
	case kind != uint8(k):
		c.fail("message is of kind %d, want %d", kind, k)
	case version != Version && !frozen:
		c.err = &VersionError{Got: version, Want: Version}
	}
}

// Hello is a player's first message.
//
//	size  field
//	2     kind 1, version
//	8     Schema
//	16    Nonce
//	16    Resume
//	16    Guest
//	1     Kept, 0 or 1
//	1     Watch, 0 or 1
//	2+n   Room, at most 64 bytes
//	2+n   Name, at most 48 bytes
//	2+n   Token, at most 1024 bytes
//	2+n   Code, at most 32 bytes
type Hello struct {
	// Schema is the hash of the client's schema text (game.Rules.Hash). A server with another hash
	// refuses and sends its own schema text.
	Schema uint64
	// Nonce is drawn anew by the client for each time it joins, and is the same in every attempt of
	// that join: a client that tries two transports at once is one player, not two.
	Nonce [KeySize]byte
	// Resume is the key from the Welcome of a session that the client wants to continue; all zero
	// asks for a new one.
	Resume [KeySize]byte
	// Guest is a secret that a client without an account draws once and keeps: who sends it again
	// finds again what the server stored. All zero asks for nothing to be stored.
	Guest [KeySize]byte
	// Kept says that the client still has all that it received in that session, so that the server
	// can go on with differences. A page that was reloaded has not.
	Kept bool
	// Watch asks to see what happens there, some time later, without an avatar.
	Watch bool
	// Room is where the client would like to play. Empty leaves the choice to the server.
	Room string
	// Name is what others call the player. The name in a token overrides it.
	Name string
	// Token is the connect token; empty if the server needs none.
	Token []byte
	// Code opens a private room. The first player of a room that is not open yet sets its code with
	// it; empty makes the room public.
	Code string
}

func (h *Hello) code(c *codec) {
	c.header(KindHello, false)
	c.u64(&h.Schema)
	c.key(&h.Nonce)
	c.key(&h.Resume)
	c.key(&h.Guest)
	c.flag(&h.Kept, "kept")
	c.flag(&h.Watch, "watch")
	c.text(&h.Room, MaxRoom, false, "room")
	c.text(&h.Name, MaxName, false, "name")
	c.blob(&h.Token, MaxToken, "token")
	c.text(&h.Code, MaxCode, false, "code")
}

// Append appends the encoded message to b. It fails only on a field outside its bounds.
func (h Hello) Append(b []byte) ([]byte, error) { return encode(b, h.code) }

// DecodeHello reads a Hello that fills b. It fails with a *VersionError if the peer speaks another
// version, with ErrTruncated, or with an error that names the field; b is not retained.
func DecodeHello(b []byte) (h Hello, err error) {
	if err = decode(b, h.code); err != nil {
		return Hello{}, err
	}
	return h, nil
}

// Welcome is the server's answer to a Hello that it accepts.
//
//	size  field
//	2     kind 2, version
//	2     Session
//	4     Player
//	4     Tick
//	8     ServerTime in nanoseconds
//	8     Period in nanoseconds, 1 to 10^10
//	2     SendRate in Hz
//	8     Seed
//	2     History in ticks
//	4     BudgetDown in bit/s
//	4     BudgetUp in bit/s
//	16    Resume
//	8     Grace in nanoseconds, 0 to 6x10^11
//	1     Resumed, 0 or 1
//	1     Kept, 0 or 1
//	8     Late in nanoseconds, 0 to 6x10^11
//	2+n   Room, at most 64 bytes
//	2+n   Game, at most 64 bytes
type Welcome struct {
	// Session is in the header of every datagram of this session, both ways.
	Session uint16
	// Player is the player's number in this room.
	Player uint32
	// Tick began at ServerTime; ticks follow every Period.
	Tick       clock.Tick
	ServerTime clock.Time
	Period     time.Duration
	// SendRate is the most packets a second, each way, in normal running. 0 means once a tick.
	SendRate uint16
	// Seed seeds the random numbers that clients predict.
	Seed uint64
	// History is how far back the server can name a baseline, in ticks.
	History uint16
	// BudgetDown and BudgetUp bound what the server sends and accepts, in bit/s, 42 bytes per
	// datagram included. 0 means no bound.
	BudgetDown, BudgetUp uint32
	// Resume is the secret with which a later Hello continues this session, within Grace after its
	// connection is lost; all zero: it cannot be continued. It is good for one Hello. Its first
	// RunSize bytes name this run of the server: where they differ from those of a key before, the
	// server has restarted.
	Resume [KeySize]byte
	Grace  time.Duration
	// Resumed reports that the session of the key in the Hello continues, with its avatar; Kept that
	// datagrams go on, too, as after an outage of the path. Otherwise the client begins anew.
	Resumed, Kept bool
	// Late is how long ago what this client sees has happened: it watches. 0: it plays.
	Late time.Duration
	// Room is where the player is, Game what is played there.
	Room, Game string
}

func (w *Welcome) code(c *codec) {
	c.header(KindWelcome, false)
	c.u16(&w.Session)
	c.u32(&w.Player)
	c.u32((*uint32)(&w.Tick))
	when := uint64(w.ServerTime)
	c.u64(&when)
	w.ServerTime = clock.Time(when)
	c.span(&w.Period, 1, MaxPeriod, "period")
	c.u16(&w.SendRate)
	c.u64(&w.Seed)
	c.u16(&w.History)
	c.u32(&w.BudgetDown)
	c.u32(&w.BudgetUp)
	c.key(&w.Resume)
	c.span(&w.Grace, 0, MaxGrace, "grace")
	c.flag(&w.Resumed, "resumed")
	c.flag(&w.Kept, "kept")
	c.span(&w.Late, 0, MaxGrace, "delay")
	c.text(&w.Room, MaxRoom, false, "room")
	c.text(&w.Game, MaxGame, false, "game")
}

// Append appends the encoded message to b. It fails only on a field outside its bounds.
func (w Welcome) Append(b []byte) ([]byte, error) { return encode(b, w.code) }

// DecodeWelcome reads a Welcome that fills b. Failures are those of DecodeHello.
func DecodeWelcome(b []byte) (w Welcome, err error) {
	if err = decode(b, w.code); err != nil {
		return Welcome{}, err
	}
	return w, nil
}

// Code says why a server refuses.
type Code uint16

// The reasons for a Refusal. Numbers are never given a new meaning.
const (
	Malformed     Code = 1 + iota // the Hello could not be read
	WrongVersion                  // another version of the protocol
	WrongSchema                   // other rules; SchemaText has the server's
	BadToken                      // forged, expired, spent, or for somewhere else
	RoomFull                      // no place left in the room
	NoRoom                        // the room does not exist
	Busy                          // the server cannot take more players now
	TakenOver                     // the same player joined again; the newest connection wins
	Removed                       // removed by the game or an operator
	ShuttingDown                  // the server is about to end
	InternalError                 // the server's own fault
	NoToken                       // no connect token; a Hello with one may follow at once
	NoCode                        // a private room whose code the Hello has not
)

var codeNames = [...]string{"", "malformed hello", "wrong protocol version", "wrong schema", "bad token",
	"room is full",
	"no such room", "server is busy", "joined again elsewhere", "removed", "server is shutting down", "internal error",
	"no connect token", "no code of the room"}

// String returns the reason in words.
func (c Code) String() string {
	if int(c) < len(codeNames) && c > 0 {
		return codeNames[c]
	}
	return fault.Sprintf("code %d", uint16(c))
}

// Refusal is the server's last message to a client that it does not admit or sends away. Its layout is
// the same in every version of the protocol.
//
//	size  field
//	2     kind 3, version of the server
//	2     Code
//	2+n   Text, at most 256 bytes
//	2+n   SchemaText, at most 4096 bytes
type Refusal struct {
	Code Code
	// Text is a sentence for a person, which may be empty.
	Text string
	// SchemaText is the server's schema in words if Code is WrongSchema.
	SchemaText string
}

func (r *Refusal) code(c *codec) {
	c.header(KindRefusal, true)
	c.u16((*uint16)(&r.Code))
	c.text(&r.Text, MaxText, true, "text")
	c.text(&r.SchemaText, MaxSchemaText, true, "schema text")
}

// Append appends the encoded message to b. It fails only on a field outside its bounds.
func (r Refusal) Append(b []byte) ([]byte, error) { return encode(b, r.code) }

// DecodeRefusal reads a Refusal of any version that fills b. It fails with ErrTruncated or with an
// error that names the field; b is not retained.
func DecodeRefusal(b []byte) (r Refusal, err error) {
	if err = decode(b, r.code); err != nil {
		return Refusal{}, err
	}
	return r, nil
}

// Error makes a Refusal an error that a client can return as it is.
func (r Refusal) Error() string {
	if r.Text == "" {
		return "session: refused: " + r.Code.String()
	}
	return "session: refused: " + r.Code.String() + ": " + r.Text
}

// Limits is what is sent to one player at most. A player asks for it with this message, after the
// Welcome and as often as it changes its mind; the server answers with what holds from then on. Where
// all players of a server share a budget it may be less for a time.
//
//	size  field
//	2     kind 4, version
//	4     BudgetDown in bit/s
//	2     SendRate in Hz
type Limits struct {
	// BudgetDown is what the server sends in any one second, in bit/s, 42 bytes per datagram
	// included. A player's 0 asks for as much as the server allows.
	BudgetDown uint32
	// SendRate is the most packets a second. A player's 0 asks for as many as the server allows.
	SendRate uint16
}

func (l *Limits) code(c *codec) {
	c.header(kindLimits, false)
	c.u32(&l.BudgetDown)
	c.u16(&l.SendRate)
}

// Append appends the encoded message to b. It does not fail.
func (l Limits) Append(b []byte) ([]byte, error) { return encode(b, l.code) }

// DecodeLimits reads Limits that fill b. Failures are those of DecodeHello.
func DecodeLimits(b []byte) (l Limits, err error) {
	if err = decode(b, l.code); err != nil {
		return Limits{}, err
	}
	return l, nil
}

// Farewell says that the player's room is about to end, and when: the server is shutting down or is
// being replaced. The player plays on until then, and gets a Refusal at the end.
//
//	size  field
//	2     kind 5, version
//	8     In in nanoseconds, 0 to 6x10^11
//	2+n   To, at most 256 bytes
//	2+n   Text, at most 256 bytes
type Farewell struct {
	// In is how long the room still runs.
	In time.Duration
	// To is where to go then: the address of a page for browsers, host:port for other programs.
	// Empty is the same server, once it is back.
	To string
	// Text is a sentence for a person, which may be empty.
	Text string
}

func (f *Farewell) code(c *codec) {
	c.header(kindFarewell, false)
	c.span(&f.In, 0, MaxGrace, "time left")
	c.text(&f.To, MaxAddress, false, "address")
	c.text(&f.Text, MaxText, true, "text")
}

// Append appends the encoded message to b. It fails only on a field outside its bounds.
func (f Farewell) Append(b []byte) ([]byte, error) { return encode(b, f.code) }

// DecodeFarewell reads a Farewell that fills b. Failures are those of DecodeHello.
func DecodeFarewell(b []byte) (f Farewell, err error) {
	if err = decode(b, f.code); err != nil {
		return Farewell{}, err
	}
	return f, nil
}

// Follow says whom a client that watches looks from: it is sent what is near that entity. It is the
// client's message, as often as it changes its mind.
//
//	size  field
//	2     kind 6, version
//	4     Entity
type Follow struct {
	// Entity is its ID; 0 leaves the choice to the server, which takes the first player.
	Entity uint32
}

func (f *Follow) code(c *codec) {
	c.header(kindFollow, false)
	c.u32(&f.Entity)
}

// Append appends the encoded message to b. It does not fail.
func (f Follow) Append(b []byte) ([]byte, error) { return encode(b, f.code) }

// DecodeFollow reads a Follow that fills b. Failures are those of DecodeHello.
func DecodeFollow(b []byte) (f Follow, err error) {
	if err = decode(b, f.code); err != nil {
		return Follow{}, err
	}
	return f, nil
}

func encode(b []byte, code func(*codec)) ([]byte, error) {
	c := codec{buf: b}
	code(&c)
	if err := c.end(); err != nil {
		return nil, err
	}
	return c.buf, nil
}

func decode(b []byte, code func(*codec)) error {
	c := codec{buf: b, reading: true}
	code(&c)
	return c.end()
}
