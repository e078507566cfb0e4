package host

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/netip"
	"slices"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/server"
	"meanwhile/session"
	"meanwhile/transport"
)

const (
	// DefaultResume is how long a player whose connection was lost can come back to its avatar.
	DefaultResume = 30 * time.Second
	// reloadFor is the same for a player whose program closed the connection without a goodbye, as
	// a page does that is loaded again; most such pages were closed for good.
	reloadFor = 10 * time.Second
	// resumeAfter is how long a player must have been here to be waited for that long if it has not
	// acted yet; before, it is waited for as long as resumeBefore: strangers who only look in would
	// keep rooms and places.
	resumeAfter, resumeBefore = 3 * time.Second, 2 * time.Second
	// maxKeys is how many keys of one player are good at once: the one that its client is known to
	// have, and the newest of those after it, until the client shows that it has one of them.
	maxKeys = 4
)

// errNoSession refuses a hello that may only resume.
var errNoSession = errors.New("host: no such session")

// A resumption is what a room knows of a player who may come back over another connection.
type resumption struct {
	keys  []issuedKey // the newest last
	begun int         // how often its client began anew
	heard bool        // a datagram arrived
	until clock.Time  // when the place of a player without a connection is given up; 0: it has one
	since clock.Time  // since when it has none
}

// An issuedKey is good for one hello, or for several until the client shows that it has the next
// one: a welcome may be lost.
type issuedKey struct {
	key   [session.KeySize]byte
	begun int // resumption.begun of the welcome: what the client has kept is of that
}

// absent reports whether the player has no connection.
func (p *player) absent() bool { return p.back.until != 0 }

// confirm notes that something arrived over the newest connection: the client has its key.
func (b *resumption) confirm() {
	b.heard = true
	if n := len(b.keys); n > 1 {
		b.keys = append(b.keys[:0], b.keys[n-1])
	}
}

// issue writes a new resume key into a welcome.
func (r *room) issue(p *player, w *session.Welcome) {
	if r.h.cfg.Resume < 0 {
		return
	}
	k := issuedKey{begun: p.back.begun}
	copy(k.key[:], r.h.name[:])
	_, _ = rand.Read(k.key[session.RunSize:]) // never fails
	if b := &p.back; len(b.keys) < maxKeys {
		b.keys = append(b.keys, k)
	} else {
		b.keys = append(b.keys[:1], append(b.keys[2:], k)...)
	}
	w.Resume, w.Grace = k.key, r.h.cfg.Resume
	r.note(p)
}

// returning returns the player that the one who joins was before, nil if there is none: by the key,
// by the account of the token or the record of a guest, or by the nonce, as of a client that tries
// two transports at once. kept says that its client may go on with what it received.
func (r *room) returning(j *joining) (found *player, kept bool) {
	none := [session.KeySize]byte{}
	for _, p := range r.order {
		for _, k := range p.back.keys { // bots have none
			if subtle.ConstantTimeCompare(k.key[:], j.resume[:]) == 1 {
				return p, j.kept && k.begun == p.back.begun
			}
		}
		if p.nonce == j.nonce && j.nonce != none || p.account == j.account && j.account != 0 ||
			p.profile == j.profile && j.profile != nil {
			found = p
		}
	}
	if j.only {
		return nil, false
	}
	return found, false
}

// resume gives a player the connection over which it comes back. The newest connection wins.
func (r *room) resume(p *player, j *joining, kept bool) error {
	now := r.h.clock()
	gone := time.Duration(0)
	if p.absent() {
		gone = now.Sub(p.back.since)
	} else {
		taken := session.Refusal{Code: session.TakenOver, Text: takenOver}
		if b, err := taken.Append(nil); err == nil {
			_ = p.peer.SendMessage(b)
		}
		p.peer.Close(reason(taken))
	}
	if r.disconnect(p); j.profile != nil {
		r.h.keeper.release(j.profile) // the player has it already
		j.profile = nil
	}
	w, ok := r.srv.Resume(p.id, now, kept)
	if !ok {
		return refusal(session.InternalError, "the session could not be continued")
	}
	r.h.mu.Lock()
	p.address = j.address
	r.h.mu.Unlock()
	p.counted = j.address
	_ = r.h.count(p.counted, false)
	if p.peer, p.nonce = j.peer, j.nonce; !w.Kept {
		p.back.begun++
		p.wish = session.Limits{} // its client asks anew
	}
	p.back.until, p.back.since = 0, 0
	if p.share = j.share; p.share != nil {
		r.h.total.belongs(p.share, p)
	}
	own := limitsOf(r.limit(p))
	w.BudgetDown, w.SendRate = own.BudgetDown, own.SendRate
	r.issue(p, &w)
	r.heart.players(r)
	r.n.resumed.Add(1)
	p.log = r.logOf(p, j.where)
	p.log.Info("player came back", "after", gone.Round(time.Millisecond), "kept", w.Kept)
	j.ready(p, w)
	r.h.sayFarewell(p)
	return nil
}

// disconnect takes a player's connection away, and keeps what it counted.
func (r *room) disconnect(p *player) {
	taken, dropped := p.in.Counts()
	r.n.received += taken
	r.n.displaced += dropped
	r.n.blocked += p.blocked()
	p.in.Close()
	r.h.uncount(p.counted)
	p.counted = netip.Addr{}
	p.visit++
	p.peer, p.in, p.share = nobody{}, new(transport.Queue), nil
}

// leave handles the end of a connection: its player may come back for a while, or has left.
func (r *room) leave(l leaving) {
	if p := r.players[l.id]; p != nil && p.visit == l.visit {
		r.suspend(p, l.why)
	}
}

// suspend waits for a player whose connection ended to come back, or removes it if it will not.
func (r *room) suspend(p *player, why error) {
	now := r.h.clock()
	grace := r.grace(p, why, now)
	if grace <= 0 {
		r.remove(p, why.Error())
		return
	}
	r.disconnect(p)
	p.back.until, p.back.since = now.Add(grace), now
	if r.h.cfg.Gate != nil {
		r.h.cfg.Gate.Expect(p.address, grace)
	}
	r.srv.Suspend(p.id, now)
	r.heart.players(r)
	p.log.Info("player lost its connection", "reason", why, "for", grace)
}

// grace returns for how long a player whose connection ended is waited for. It is not if it said
// goodbye, if this server ended the connection, or if nothing arrived from it.
func (r *room) grace(p *player, why error, now clock.Time) time.Duration {
	most := r.h.cfg.Resume
	if p.bot || most < 0 || !p.back.heard {
		return 0
	}
	if stats, _ := r.srv.Stats(p.id); now.Sub(p.joined) < resumeAfter && stats.LastActed <= p.entered {
		most = min(most, resumeBefore)
	}
	var end *transport.CloseError
	switch {
	case !errors.As(why, &end):
		return most
	case end.Remote && end.Reason == session.Goodbye, !end.Remote && end.Cause == nil:
		return 0
	case end.Remote:
		return min(reloadFor, most)
	}
	return most
}

// giveUp removes the players that did not come back in time.
func (r *room) giveUp(now clock.Time) {
	for _, p := range slices.Clone(r.order) {
		if p.absent() && now >= p.back.until {
			r.remove(p, "did not come back")
		}
	}
}

// dropAbsent removes a player without a connection for a newcomer from an address, and reports
// whether there was one: a place is kept only while nobody else needs it. One from the same address
// goes first, so that nobody takes the places of others by coming and going; else the one whose
// time ends first.
func (r *room) dropAbsent(newcomer netip.Addr) bool {
	var first *player
	near := func(p *player) bool { return newcomer.IsValid() && p.address == newcomer }
	for _, p := range r.order {
		if p.absent() && (first == nil || near(p) && !near(first) ||
			near(p) == near(first) && p.back.until < first.back.until) {
			first = p
		}
	}
	if first == nil {
		return false
	}
	r.remove(first, "did not come back, and the room is full")
	return true
}

// nobody is the peer of a player without a connection.
type nobody struct{}

func (nobody) Send([]byte)                        {}
func (nobody) Dropped(seqs []wire.Seq) []wire.Seq { return seqs }
func (nobody) SendMessage([]byte) error           { return transport.ErrClosed }
func (nobody) Close(string)                       {}

// comeBack brings the player of a connection back to its session; nil if there is none to come back
// to. Then the player joins as others do.
func (h *Host) comeBack(ctx context.Context, conn transport.Conn, hello *session.Hello) (*entry, error) {
	if hello.Resume == [session.KeySize]byte{} || [session.RunSize]byte(hello.Resume[:]) != h.name {
		return nil, nil
	}
	if err := h.bans.check(0, address(conn.Remote())); err != nil { // who was sent away has no session
		return nil, err
	}
	h.mu.Lock()
	r := h.rooms[hello.Room]
	if r != nil && hello.Watch {
		r = r.gallery
	}
	if r != nil {
		r.pending++
	}
	h.mu.Unlock()
	if r == nil {
		return nil, nil
	}
	defer h.entered(r)
	in, err := h.request(
		ctx,
		r,
		conn,
		hello.Guest,
		&joining{nonce: hello.Nonce, resume: hello.Resume, kept: hello.Kept, only: true},
	)
	if errors.Is(err, errNoSession) {
		return nil, nil
	}
	return in, err
}

// errSilent is why a silent player loses its connection.
var errSilent = errors.New("nothing was heard from you for " + server.Timeout.String())
