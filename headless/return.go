package headless

import (
	"context"
	"errors"
	"time"

	"meanwhile/netcode/packet"
	"meanwhile/session"
	"meanwhile/transport"
)

const (
	// silentAfter is for how long nothing may arrive of a server that is not quiet until another
	// connection is dialled: the path, or the socket, may be dead although nothing says so.
	silentAfter = 3 * time.Second
	// dialTimeout bounds one attempt, from dialling to the welcome.
	dialTimeout = 5 * time.Second
	// patience is for how long a player tries to come back where the server gives it less time.
	patience = time.Minute
)

// retries are the waits before attempts to come back. Later ones wait as long as the last.
var retries = [...]time.Duration{0, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second,
	4 * time.Second}

// another is a further connection of a player, or why there is none.
type another struct {
	conn    transport.Conn
	welcome session.Welcome
	err     error
}

// errLost is what becomes of requests whose answers cannot come any more.
const errLost = "the connection was lost"

// errDeaf is why a connection is given up that does not say that it is lost.
var errDeaf = errors.New("headless: nothing arrives any more")

// lost returns why the connection is lost, nil while it is not. err is the same where the player
// does not come back: it has nowhere to dial, or the server sent it away.
func (p *Player) lost() (why, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	silent := p.cfg.Clock().Sub(p.heard)
	if why = p.conn.Err(); why != nil && !p.drained {
		return nil, nil // its last message may say that the player is not to come back
	}
	if why == nil && p.cfg.Dial != nil && silent > silentAfter &&
		(!p.bot.core.Quiet() || silent > packet.KeepAlive+silentAfter) {
		why = errDeaf
	}
	if why == nil {
		return nil, nil
	}
	if p.cfg.Dial == nil || p.refusal != nil && !comesBack(p.refusal) {
		return why, why
	}
	p.refusal = nil
	if p.conn.Err() != nil {
		p.bot.mute = true
	}
	return why, nil
}

// comesBack reports whether a player should try again after a refusal.
func comesBack(err error) bool {
	var r session.Refusal
	if !errors.As(err, &r) {
		return true
	}
	switch r.Code {
	case session.RoomFull, session.Busy, session.ShuttingDown, session.InternalError:
		return true
	}
	return false
}

// dial tries to come back until it is welcomed, refused for good, or out of patience.
func (p *Player) dial(ctx context.Context, why error) another {
	p.mu.Lock()
	w := p.welcome
	p.mu.Unlock()
	began := p.cfg.Clock()
	needsToken := w.Resume == [session.KeySize]byte{} // a session goes on without one
	for n := 0; p.cfg.Clock().Sub(began) < max(patience, w.Grace); n++ {
		select {
		case <-time.After(retries[min(n, len(retries)-1)]):
		case <-ctx.Done():
			return another{err: ctx.Err()}
		}
		a := p.attempt(ctx, &w, needsToken)
		var r session.Refusal
		if errors.As(a.err, &r) && r.Code == session.NoToken && !needsToken && p.cfg.Token != nil {
			needsToken = true
			a = p.attempt(ctx, &w, needsToken)
		}
		if a.err == nil || !comesBack(a.err) {
			return a
		}
	}
	return another{err: why}
}

// attempt tries once to come back to the session of w, or to join anew.
func (p *Player) attempt(ctx context.Context, w *session.Welcome, needsToken bool) another {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := p.cfg.Dial(ctx)
	if err != nil {
		return another{err: err}
	}
	hello := session.Hello{Room: w.Room, Resume: w.Resume, Kept: w.Resume != [session.KeySize]byte{}}
	if needsToken {
		hello, err = withToken(ctx, &p.cfg, hello)
	}
	var welcome session.Welcome
	if err == nil {
		welcome, err = greet(ctx, conn, &p.cfg, hello)
	}
	if err != nil {
		conn.Close("")
		return another{err: err}
	}
	return another{conn: conn, welcome: welcome}
}

// switchTo goes on over another connection.
func (p *Player) switchTo(a another) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	was, w := p.welcome, a.welcome
	p.conn.Close("")
	p.refusal = nil // of the former connection: this one took over from it
	p.conn, p.drained, p.in, p.heard, p.welcome = a.conn, false, new(transport.Queue), p.cfg.Clock(), w
	if p.bot.core.Resume(w) != nil { // the server does not go on from what the client has
		b, err := newBot(p.cfg.Rules, w, p.cfg.Clock(), p.cfg.Client, p.bot.think)
		if err != nil {
			return err
		}
		b.clock, b.hear, b.pause = p.bot.clock, p.bot.hear, p.bot.pause
		p.bot.core.RefuseOpen(errLost)
		p.bot.listen(b.core)
		p.bot = b
		p.limits = session.Limits{BudgetDown: w.BudgetDown, SendRate: w.SendRate}
		if p.cfg.Limits != (session.Limits{}) {
			if b, err := p.cfg.Limits.Append(nil); err == nil {
				_ = p.conn.SendMessage(b)
			}
		}
	}
	p.bot.mute, p.farewell, p.ends = false, session.Farewell{}, 0
	p.id.Store(w.Player)
	p.now.Store(&a.conn)
	if p.cfg.OnReturn != nil {
		p.cfg.OnReturn(w, !w.Resumed && [session.RunSize]byte(was.Resume[:]) != [session.RunSize]byte(w.Resume[:]))
	}
	return nil
}
