package bridge

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"meanwhile/client"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/wire"
	"meanwhile/session"
)

// How long the page waits before it connects again after a refusal, in milliseconds.
const (
	retrySoon  = 1000
	retryLater = 5000
)

// raceLasts is for how long after a welcome the server may still admit the other transport of the
// same race, which sends this one away.
const raceLasts = 10 * time.Second

// mostRaces is how many such races may follow each other. More are those of two pages of one player,
// which would take over from each other for ever.
const mostRaces = 3

// clean makes s fit a message: valid UTF-8 without control characters, at most that many bytes.
func clean(s string, most int) string {
	var kept []byte
	for _, r := range s {
		if r >= 0x20 && r < 0x7f || r >= 0xa0 && r != utf8.RuneError {
			kept = utf8.AppendRune(kept, r)
		}
	}
	return strings.TrimSpace(wire.CutText(strings.TrimSpace(string(kept)), most))
}

// parseKey reads hexadecimal digits into all of key, and leaves it as it is if there are none.
func parseKey(key []byte, digits string) bool {
	if digits == "" {
		return true
	}
	if len(digits) != 2*len(key) {
		return false
	}
	for i := range key {
		n, err := strconv.ParseUint(digits[2*i:2*i+2], 16, 8)
		if err != nil {
			return false
		}
		key[i] = byte(n)
	}
	return true
}

// Hello returns the first stream message of the next connection. It is the same until the next
// welcome, but for the connect token, which may be empty, and the code of a private room.
func (b *Bridge) Hello(token []byte, code string) []byte {
	if !b.hasNonce {
		b.cfg.Random(b.nonce[:])
		b.hasNonce = true
	}
	h := session.Hello{Schema: b.rules.Hash, Nonce: b.nonce, Room: b.cfg.Room, Name: b.cfg.Name, Guest: b.guest,
		Watch: b.set.watch, Code: clean(code, session.MaxCode)}
	if len(token) <= session.MaxToken {
		h.Token = token
	}
	if b.resume != [session.KeySize]byte{} {
		h.Resume, h.Kept, h.Room = b.resume, b.client != nil, b.place
	}
	msg, err := h.Append(nil)
	if err != nil { // New made every field fit
		panic(err)
	}
	return msg
}

// An Answer is what the server's first stream message means.
type Answer struct {
	// Refused is "" if the player is in, and otherwise says why not; RetryMs is then after how many
	// milliseconds to try again, 0 for never.
	Refused string
	RetryMs float64
	// NeedsToken and NeedsCode say that the same hello may get the player in with a connect token, or
	// with the code of the room.
	NeedsToken, NeedsCode bool
	// Note is "", or says why the player is in anew though it asked to go on where it was.
	Note string
	// Resume is what the page should keep for Config.Resume, where it is loaded again; "" if it
	// cannot go on then.
	Resume string
}

// Welcome reads the server's first stream message.
func (b *Bridge) Welcome(msg []byte, nowMs float64) Answer {
	if session.KindOf(msg) == session.KindRefusal {
		say, retry := b.refusal(msg)
		r, _ := session.DecodeRefusal(msg)
		a := Answer{Refused: say, RetryMs: retry, NeedsToken: r.Code == session.NoToken, NeedsCode: r.Code == session.NoCode}
		if retry == 0 && !a.NeedsToken && !a.NeedsCode {
			b.giveUp()
		}
		return a
	}
	w, err := session.DecodeWelcome(msg)
	if v, ok := err.(*session.VersionError); ok {
		return Answer{Refused: versions(v.Got)}
	}
	if err != nil {
		return Answer{Refused: "The server's answer is not one of ours (" + err.Error() + ").", RetryMs: retryLater}
	}
	now := max(instant(nowMs), b.now)
	if now.Sub(b.welcomed) >= raceLasts {
		b.races = 0
	}
	b.hasNonce = false // the next hello joins anew
	// Where the client resumes the records stay, and only the path is another.
	if b.client == nil || b.client.Resume(w) != nil {
		cfg := b.set.client()
		cfg.Report = b.warn
		c, err := client.New(b.rules, w, now, cfg)
		if err != nil {
			return Answer{Refused: "This page cannot play on that server (" + err.Error() + "). Reload the page."}
		}
		b.previous, b.client, b.due = b.client, c, 0
		b.giveUp()
		b.client.SetAway(b.set.away)
	}
	answer := Answer{Note: b.began(&w)}
	b.welcome, b.joined, b.welcomed, b.silence = w, true, now, 0
	b.resume, b.place = w.Resume, w.Room
	if b.resume != [session.KeySize]byte{} {
		answer.Resume = hexadecimal(b.resume) + w.Room
	}
	b.network.clear()
	if b.set.limits != (session.Limits{}) {
		b.ask()
	}
	if b.set.follow != 0 {
		b.sayFollow()
	}
	return answer
}

// began says why a welcome begins a new session although the page had one.
func (b *Bridge) began(w *session.Welcome) string {
	switch {
	case w.Resumed || b.resume == [session.KeySize]byte{}:
		return ""
	case [session.RunSize]byte(b.resume[:]) != [session.RunSize]byte(w.Resume[:]):
		if b.guest != [session.KeySize]byte{} { // it keeps what players gain
			return "The server has restarted."
		}
		return "The server has restarted. You begin anew."
	}
	return "Your place was not kept, so you begin anew."
}

// setResume notes what an Answer told a page to keep. Anything else is ignored.
func (b *Bridge) setResume(s string) {
	const digits = 2 * session.KeySize
	if len(s) <= digits || len(s) > digits+session.MaxRoom {
		return
	}
	var key [session.KeySize]byte
	if !parseKey(key[:], s[:digits]) {
		return
	}
	b.resume, b.place = key, clean(s[digits:], session.MaxRoom)
}

// hexadecimal returns the digits of a key. Package encoding/hex would make a larger program.
func hexadecimal(key [session.KeySize]byte) string {
	const digits = "0123456789abcdef"
	var b []byte
	for _, v := range key {
		b = append(b, digits[v>>4], digits[v&15])
	}
	return string(b)
}

func versions(server uint8) string {
	return "The server speaks version " + strconv.Itoa(int(server)) + " of the protocol, this page version " +
		strconv.Itoa(session.Version) + ". Reload the page."
}

// refusal puts a refusal into words.
func (b *Bridge) refusal(msg []byte) (sentence string, retryMs float64) {
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
	say := whole(r.Text)
	switch {
	case r.Text == "" && r.Code == session.ShuttingDown:
		say = "The server is shutting down."
	case r.Text == "":
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

// whole makes a whole sentence of the words of a server.
func whole(s string) string {
	if s == "" {
		return s
	}
	if c := s[0]; c >= 'a' && c <= 'z' {
		s = string(c-'a'+'A') + s[1:]
	}
	if c := s[len(s)-1]; c != '.' && c != '!' && c != '?' {
		s += "."
	}
	return s
}

// A Reply is what a later stream message means for the page. The zero Reply is nothing.
type Reply struct {
	// Goodbye is why the server sends this player away for good: the page does not connect again.
	Goodbye string
	// Notice is to be shown: the connection is about to end, in InMs milliseconds.
	Notice string
	InMs   float64
	// To is where the page should go then; "": it connects again.
	To string
}

// Message reads a later stream message.
func (b *Bridge) Message(msg []byte) Reply {
	if l, err := session.DecodeLimits(msg); err == nil {
		b.welcome.BudgetDown, b.welcome.SendRate = l.BudgetDown, l.SendRate
	}
	if f, err := session.DecodeFarewell(msg); err == nil {
		if f.Text == "" {
			f.Text = "The server is about to end."
		}
		return Reply{Notice: whole(f.Text), InMs: float64(f.In) / float64(time.Millisecond), To: f.To}
	}
	if session.KindOf(msg) != session.KindRefusal {
		return Reply{} // or a kind that only newer servers know
	}
	say, retry := b.refusal(msg)
	r, err := session.DecodeRefusal(msg)
	if err == nil && r.Code == session.TakenOver && b.now.Sub(b.welcomed) < raceLasts && b.races < mostRaces {
		b.races++
		return Reply{} // we took over ourselves: the other transport of the race was admitted too, and later
	}
	if retry > 0 {
		return Reply{Notice: say}
	}
	b.joined = false
	b.giveUp()
	return Reply{Goodbye: say}
}

// Lost reports that the connection has closed and that the page opens another. The last picture
// stays.
func (b *Bridge) Lost() {
	b.joined, b.due, b.lost = false, 0, b.now
	b.network.clear()
}

// Leave reports that the page goes away for good.
func (b *Bridge) Leave() { b.joined, b.due = false, 0 }

// How long nothing may arrive before the page learns that the server is silent, and that it should
// open another connection. The quiet ones hold while the server has announced that it has nothing
// to send.
const (
	silentAfter, quietSilentAfter = 700 * time.Millisecond, packet.KeepAlive + 3*time.Second
	lostAfter, quietLostAfter     = 10 * time.Second, 3 * packet.KeepAlive
)

// state is the state of the connection, as stats report it to the page.
type state int

const (
	connecting state = iota
	playing
	away
	silent
	lost
)

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
