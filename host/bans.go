package host

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"time"

	"meanwhile/netcode/wire"
	"meanwhile/session"
)

const (
	// MaxBans is how many bans a host keeps. One more is an error.
	MaxBans = 10_000
	// CodeTries is how many wrong codes of private rooms an address or account may try at once, and
	// CodeRefill in which time it may try as many again.
	CodeTries  = 10
	CodeRefill = 10 * time.Minute
)

// Who names players: those of one account of connect tokens, or those from addresses. The zero Who
// is nobody.
type Who struct {
	Account uint64       `json:"account,omitempty"`
	From    netip.Prefix `json:"from,omitzero"`
}

// counted returns w with addresses as players count by them: those of IPv6 by their /64.
func (w Who) counted() Who {
	a, bits := w.From.Addr(), w.From.Bits()
	switch {
	case !w.From.IsValid():
		return w
	case a.Is4In6() && bits >= 96:
		a, bits = a.Unmap(), bits-96
	case a.Is6():
		bits = min(bits, 64)
	}
	w.From = netip.PrefixFrom(a, bits).Masked()
	return w
}

func (w Who) is(account uint64, from netip.Addr) bool {
	return w.Account != 0 && w.Account == account || w.From.IsValid() && w.From.Contains(from)
}

// A ban keeps somebody out until an instant.
type ban struct {
	Who
	Until time.Time `json:"until"`
	Why   string    `json:"why,omitempty"`
}

type bans struct {
	mu   sync.Mutex
	list []ban
	path string // of the file; "": none
}

// check refuses whoever is banned.
func (b *bans) check(account uint64, from netip.Addr) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, x := range b.list {
		if x.is(account, from) && time.Now().Before(x.Until) {
			text := "you may not play here until " + x.Until.UTC().Format(time.DateTime+" MST")
			if x.Why != "" {
				text += ": " + x.Why
			}
			return refusal(session.Removed, "%s", text)
		}
	}
	return nil
}

// KeepBans makes the host remember bans in a file, which it makes if need be. It is called before
// Run.
func (h *Host) KeepBans(path string) error {
	h.bans.mu.Lock()
	defer h.bans.mu.Unlock()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &h.bans.list)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("host: bans: %w", err)
	}
	for i := range h.bans.list {
		h.bans.list[i].Who = h.bans.list[i].counted()
	}
	h.bans.path = path
	return nil
}

// Ban keeps somebody out for a time, from all rooms, and sends away who is in. A ban of the same
// Who is replaced; one for no time is lifted. why is shown to the player. An address of IPv6 stands
// for its /64, as everywhere.
func (h *Host) Ban(who Who, length time.Duration, why string) error {
	if who = who.counted(); who == (Who{}) {
		return errors.New("host: a ban needs an account or addresses")
	}
	if err := h.bans.add(ban{who, time.Now().Add(length), why}); err != nil {
		return err
	}
	if length <= 0 {
		h.log.Info("ban lifted", "account", who.Account, "from", who.From)
		return nil
	}
	h.log.Info("banned", "account", who.Account, "from", who.From, "for", length, "reason", why)
	h.Kick(who, why)
	return nil
}

func (b *bans) add(x ban) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	list := make([]ban, 0, len(b.list)+1)
	for _, y := range b.list {
		if now.Before(y.Until) && y.Who != x.Who {
			list = append(list, y)
		}
	}
	if now.Before(x.Until) {
		list = append(list, x)
	}
	if len(list) > MaxBans {
		return fmt.Errorf("host: all %d bans are taken", MaxBans)
	}
	b.list = list
	if b.path == "" {
		return nil
	}
	text, err := json.Marshal(list)
	if err == nil {
		err = os.WriteFile(b.path+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(b.path+".new", b.path)
	}
	if err != nil {
		return fmt.Errorf("host: bans: %w", err)
	}
	return nil
}

// Kick sends somebody away, from all rooms, and returns how many players that were. why is shown to
// them. They may join again.
func (h *Host) Kick(who Who, why string) int {
	who = who.counted()
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for p, r := range h.seats {
		if who.is(p.account, p.address) {
			h.unseat(r, p, session.Refusal{Code: session.Removed, Text: wire.CutText(why, session.MaxText)})
			n++
		}
	}
	return n
}

// sit notes that a human is in a room until rise is called, also without a connection. The newest
// connection of an account wins, whatever rooms they are in.
func (h *Host) sit(r *room, p *player) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for other, in := range h.seats {
		if p.account != 0 && other.account == p.account && in != r {
			h.unseat(in, other, session.Refusal{Code: session.TakenOver, Text: takenOver})
		}
	}
	h.seats[p] = r
	// Somebody may have been banned while on the way in.
	var why session.Refusal
	if err := h.bans.check(p.account, p.address); errors.As(err, &why) {
		why.Text = wire.CutText(why.Text, session.MaxText)
		h.unseat(r, p, why)
	}
}

// rise notes that a human is not in its room any more.
func (h *Host) rise(p *player) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.seats, p)
}

// unseat sends a player away between two ticks of its room. It does not wait for that. h.mu is
// held.
func (h *Host) unseat(r *room, p *player, why session.Refusal) {
	go r.call(func() { // ends with the room at the latest
		if r.players[p.id] == p {
			r.sendAway(p, why)
		}
	})
}

// mayEnter refuses whoever does not know the code of a private room. Guesses are bounded. h.mu is
// held.
func (h *Host) mayEnter(r *room, code string, by origin) error {
	if r.name == h.cfg.Room || subtle.ConstantTimeCompare([]byte(r.code), []byte(code)) == 1 {
		return nil
	}
	if r.code == "" {
		return refusal(session.NoRoom, "room %s is open to everybody, without a code. Choose another name for yours.",
			r.name)
	}
	if code != "" && by != (origin{}) && !h.guesses.Take(by) {
		return refusal(session.Busy, "you tried too many codes; wait a few minutes")
	}
	return refusedCode(r.name, code)
}
