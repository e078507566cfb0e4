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
// welcome.
func (b *Bridge) Hello() []byte {
	if !b.hasNonce {
		b.cfg.Random(b.nonce[:])
		b.hasNonce = true
	}
	h := session.Hello{Schema: b.rules.Hash, Nonce: b.nonce, Room: b.cfg.Room, Name: b.cfg.Name, Guest: b.guest}
	if b.client != nil {
		h.Resume, h.Kept = b.welcome.Resume, true
	}
	msg, err := h.Append(nil)
	if err != nil { // New made every field fit
		panic(err)
	}
	return msg
}

// Welcome reads the server's first stream message. sentence is "" if the player is in, and
// otherwise says why not; retryMs is then after how many milliseconds to try again, 0 for never.
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
	b.hasNonce = false // the next hello joins anew
	b.silence = 0
	if w.Resumed && b.client != nil && w.Session == b.welcome.Session {
		b.welcome, b.joined = w, true // the same session on a new path: the client keeps its records
		return "", 0
	}
	cfg := b.set.client()
	cfg.Report = b.warn
	c, err := client.New(b.rules, w, now, cfg)
	if err != nil {
		return "This page cannot play on that server (" + err.Error() + "). Reload the page.", 0
	}
	b.previous = b.client
	b.broken, b.asked = append(b.broken, b.asked...), nil
	b.client, b.welcome, b.joined, b.welcomed, b.due = c, w, true, now, 0
	b.client.SetAway(b.set.away)
	b.network.clear()
	if b.set.limits != (session.Limits{}) {
		b.ask()
	}
	return "", 0
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

// Message reads a later stream message. It returns "", or why the server sends this player away for
// good: the page then does not connect again.
func (b *Bridge) Message(msg []byte) string {
	if l, err := session.DecodeLimits(msg); err == nil {
		b.welcome.BudgetDown, b.welcome.SendRate = l.BudgetDown, l.SendRate
	}
	if session.KindOf(msg) != session.KindRefusal {
		return "" // or a kind that only newer servers know
	}
	say, retry := b.refusal(msg)
	r, err := session.DecodeRefusal(msg)
	if err == nil && r.Code == session.TakenOver && b.now.Sub(b.welcomed) < raceLasts {
		return "" // we took over ourselves: the other transport of the race was admitted too, and later
	}
	if retry > 0 {
		return ""
	}
	b.joined = false
	return say
}

// Lost reports that the connection has closed and that the page opens another. The last picture
// stays.
func (b *Bridge) Lost() {
	b.joined, b.due = false, 0
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
