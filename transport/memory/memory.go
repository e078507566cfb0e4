// Package memory connects a client and a server inside one process, without sockets: for tests,
// also in virtual time (testing/synctest), and for playing alone.
//
// A datagram arrives in the moment in which it is sent, unless a Filter decides otherwise. Nothing
// is ever displaced on the sending side, because the path never blocks; at the receiving end the
// bounds of package transport hold.
package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/transport"
)

// A Filter stands in the path of datagrams, below their stamps. It may call deliver at once, later,
// several times or never, from any goroutine; the datagram is its own.
type Filter func(datagram []byte, deliver func(datagram []byte))

// Config describes both ends of a pair. The zero Config works in the browser and in tests, except
// for the clocks, which must be set.
type Config struct {
	// Client and Server are the clocks of the two ends.
	Client, Server transport.Clock
	// Up is the path from the client to the server, Down the way back. Nil passes everything on.
	Up, Down Filter
	// HelloTimeout is how long a client may take to be admitted; 0 means the default.
	HelloTimeout time.Duration
	// Gate bounds how many clients a Listener holds unadmitted. Nil means one of its own with the
	// default bounds.
	Gate *transport.Gate
}

func (c Config) check() error {
	if c.Client == nil || c.Server == nil {
		return errors.New("memory: Config.Client and Config.Server must be set")
	}
	return nil
}

// Pair returns the two ends of a new connection. The server's end begins in probation, as
// everywhere.
func Pair(cfg Config) (client, server transport.Conn, err error) {
	if err := cfg.check(); err != nil {
		return nil, nil, err
	}
	client, server = pair(cfg, transport.LinkConfig{Remote: "memory:1"})
	return client, server, nil
}

// pair makes both ends; link has what is known of the server's.
func pair(cfg Config, link transport.LinkConfig) (client, server *transport.Link) {
	up, down := &carrier{filter: cfg.Up}, &carrier{filter: cfg.Down}
	client = transport.NewLink(transport.LinkConfig{
		Name: "memory", Remote: "memory:0", Clock: cfg.Client, HalfClose: true, Direct: true,
	}, up)
	link.Name, link.Clock, link.HalfClose, link.Direct = "memory", cfg.Server, true, true
	link.Visitor, link.HelloTimeout = true, cfg.HelloTimeout
	server = transport.NewLink(link, down)
	up.connect(server, cfg.Server)
	down.connect(client, cfg.Client)
	return client, server
}

// A carrier hands what one end sends to the other end. It is connected right after both ends exist,
// before anybody can send.
type carrier struct {
	filter Filter

	mu     sync.Mutex
	peer   *transport.Link
	clock  transport.Clock // the peer's
	closed bool
}

func (c *carrier) connect(peer *transport.Link, clock transport.Clock) {
	c.mu.Lock()
	c.peer, c.clock = peer, clock
	c.mu.Unlock()
}

func (c *carrier) to() (peer *transport.Link, now clock.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.peer == nil {
		return nil, 0, transport.ErrClosed
	}
	return c.peer, c.clock(), nil
}

// SendDatagram implements transport.Carrier. The Link gives it a slice that it makes for each call.
func (c *carrier) SendDatagram(b []byte) error {
	if _, _, err := c.to(); err != nil {
		return err
	}
	if c.filter != nil {
		c.filter(b, c.deliver)
	} else {
		c.deliver(b)
	}
	return nil
}

func (c *carrier) deliver(b []byte) {
	if peer, now, err := c.to(); err == nil {
		peer.Arrived(b, c.filter == nil, now)
	}
}

// WriteMessage implements transport.Carrier.
func (c *carrier) WriteMessage(b []byte) error {
	peer, _, err := c.to()
	if err != nil {
		return err
	}
	if n := peer.MessageLimit(); len(b) > n {
		peer.Lost(fmt.Errorf("%w: a message of %d bytes, over the bound of %d", transport.ErrTooLarge, len(b), n))
		return transport.ErrClosed
	}
	peer.Incoming(append([]byte(nil), b...))
	return nil
}

// Finish implements transport.Carrier.
func (c *carrier) Finish() {
	if peer, _, err := c.to(); err == nil {
		peer.Finished()
	}
}

// Close implements transport.Carrier.
func (c *carrier) Close(reason string) {
	peer, _, err := c.to()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	if err == nil {
		peer.Lost(&transport.CloseError{Reason: reason, Remote: true})
	}
}

// Explain implements transport.Carrier.
func (c *carrier) Explain(err error) *transport.CloseError {
	var closed *transport.CloseError
	if errors.As(err, &closed) {
		return closed
	}
	return &transport.CloseError{Reason: err.Error(), Cause: err}
}

// Measure implements transport.Carrier: there are no packets to count.
func (c *carrier) Measure(*transport.Stats) {}

// A Listener is a server that clients of the same process can dial.
type Listener struct {
	cfg    Config
	gate   *transport.Gate
	in     *transport.Intake
	number atomic.Uint64
}

var _ transport.Listener = (*Listener)(nil)

// Listen returns a Listener whose connections are all made with cfg.
func Listen(cfg Config) (*Listener, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	l := &Listener{cfg: cfg, gate: cfg.Gate, in: transport.NewIntake()}
	if l.gate == nil {
		l.gate = transport.NewGate(0, 0)
	}
	return l, nil
}

// Dial connects to the Listener. Paths and clocks are those of its Config. It fails with ErrClosed
// when the Listener is closed, and when it holds too many visitors or connections that nobody
// accepted.
func (l *Listener) Dial() (transport.Conn, error) {
	return l.DialVia(l.cfg.Up, l.cfg.Down)
}

// DialVia is Dial over paths of the caller's choice.
func (l *Listener) DialVia(up, down Filter) (transport.Conn, error) {
	visitor, ok := l.gate.Enter("127.0.0.1:1")
	if !ok {
		return nil, errors.New("memory: too many visitors")
	}
	cfg := l.cfg
	cfg.Up, cfg.Down = up, down
	var client *transport.Link
	err := l.in.Join(transport.LinkConfig{
		Remote: fmt.Sprintf("memory:%d", l.number.Add(1)), OnAdmit: visitor.Leave, OnDone: visitor.Leave,
	}, func(link transport.LinkConfig) (server *transport.Link, err error) {
		client, server = pair(cfg, link)
		visitor.Ends(server.PutOut)
		return server, nil
	})
	if err != nil {
		visitor.Leave()
		if client != nil {
			client.Close("")
		}
		return nil, err
	}
	return client, nil
}

// Accept implements transport.Listener.
func (l *Listener) Accept(ctx context.Context) (transport.Conn, error) { return l.in.Accept(ctx) }

// Close implements transport.Listener.
func (l *Listener) Close(reason string) { l.in.Close(reason) }

// Addr implements transport.Listener.
func (l *Listener) Addr() string { return "memory" }
