package headless

import (
	"context"
	"sync"

	"meanwhile/client"
	"meanwhile/netcode/clock"
	"meanwhile/session"
)

// A Drive runs a Player frame by frame, for programs with a loop of their own, such as games that
// draw. It comes back as Run does. Not safe for concurrent use; the Player may be used meanwhile.
type Drive struct {
	p       *Player
	running context.Context
	stop    context.CancelFunc
	others  sync.WaitGroup // readers, and who dials
	dialled chan another   // nil: nobody dials
}

// Drive begins to read what arrives. It takes the place of Run, and may be called once.
func (p *Player) Drive() *Drive {
	d := &Drive{p: p}
	d.running, d.stop = context.WithCancel(context.Background())
	conn, in := p.conn, p.in
	d.others.Go(func() { p.read(conn, in) })
	return d
}

// Frame runs one frame: f gets the client core, the time on its clock, and how many commands are
// due, which it makes with Tick; it may draw and take events. It must not keep c, nor call the
// Player. The error says why the player is out for good; only Leave may follow.
func (d *Drive) Frame(f func(c *client.Client, now clock.Time, due int)) error {
	select {
	case a := <-d.dialled:
		if err := d.arrive(a); err != nil {
			return err
		}
	default:
	}
	p := d.p
	p.frame(f) // first: a program that paused has not listened
	if d.dialled == nil {
		why, err := p.lost()
		if err != nil {
			return p.reason(err)
		}
		if why != nil {
			dialled := make(chan another, 1)
			d.dialled = dialled
			d.others.Go(func() { dialled <- p.dial(d.running, why) })
		}
	}
	return nil
}

// arrive goes on over a connection that was dialled.
func (d *Drive) arrive(a another) error {
	p := d.p
	if d.dialled = nil; a.err != nil {
		return p.reason(a.err)
	}
	if err := p.switchTo(a); err != nil {
		return err
	}
	in := p.in
	d.others.Go(func() { p.read(a.conn, in) })
	return nil
}

// Returning reports whether the connection is lost, and another one is being opened.
func (d *Drive) Returning() bool { return d.dialled != nil }

// Leave closes the connection and waits until all has ended. Requests without an answer are
// refused.
func (d *Drive) Leave() {
	d.stop()
	p := d.p
	p.Conn().Close(session.Goodbye)
	<-p.Conn().Done()
	d.others.Wait()
	select {
	case a := <-d.dialled:
		if a.conn != nil {
			a.conn.Close(session.Goodbye)
		}
	default:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bot.core.RefuseOpen(errLost)
	p.bot.listen(p.bot.core)
}

// reason returns why the server sent the player away, or err if it did not.
func (p *Player) reason(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refusal != nil {
		return p.refusal
	}
	return err
}
