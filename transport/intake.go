package transport

import (
	"context"
	"errors"
	"sync"
)

// Backlog is how many connections wait for Accept. More are turned away.
const Backlog = 64

// ErrBusy reports a connection that was turned away because Backlog others wait for Accept.
var ErrBusy = errors.New("transport: too many connections wait to be accepted")

// An Intake is the part that all listeners share: the connections that wait for Accept, and those
// that are open and have to end before the listener has. Safe for concurrent use.
type Intake struct {
	queue  chan *Link
	closed chan struct{}

	mu   sync.Mutex
	open map[*Link]struct{} // nil once closed
	wg   sync.WaitGroup
}

// NewIntake returns an empty Intake.
func NewIntake() *Intake {
	return &Intake{queue: make(chan *Link, Backlog), closed: make(chan struct{}), open: make(map[*Link]struct{})}
}

// Join makes a connection with start, which must hand the cfg that it gets to NewLink, and queues
// it for Accept. It fails with ErrClosed before start is called, with the error of start, or with
// ErrBusy, in which case the connection is closed.
func (in *Intake) Join(cfg LinkConfig, start func(LinkConfig) (*Link, error)) error {
	in.mu.Lock()
	if in.open == nil {
		in.mu.Unlock()
		return ErrClosed
	}
	in.wg.Add(1)
	in.mu.Unlock()

	var l *Link
	known := make(chan struct{}) // l is set: the connection may end before start returns
	cfg.ended = func() {
		<-known
		in.mu.Lock()
		delete(in.open, l)
		in.mu.Unlock()
		in.wg.Done()
	}
	l, err := start(cfg)
	if err != nil {
		in.wg.Done()
		return err
	}
	in.mu.Lock()
	alive := in.open != nil
	if alive {
		in.open[l] = struct{}{}
	}
	in.mu.Unlock()
	close(known)
	if !alive {
		l.Close("server is closed")
		return ErrClosed
	}
	select {
	case in.queue <- l:
		return nil
	default:
		l.Close("server is busy")
		return ErrBusy
	}
}

// Accept is that of a Listener.
func (in *Intake) Accept(ctx context.Context) (Conn, error) {
	select {
	case <-in.closed: // goes before connections that still wait
		return nil, ErrClosed
	default:
	}
	select {
	case l := <-in.queue:
		return l, nil
	case <-in.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Close closes all connections with the reason and waits until they have ended. Accept and Join
// fail from now on.
func (in *Intake) Close(reason string) {
	in.mu.Lock()
	for l := range in.open {
		l.Close(reason)
	}
	if in.open != nil {
		in.open = nil
		close(in.closed)
	}
	in.mu.Unlock()
	in.wg.Wait()
}
