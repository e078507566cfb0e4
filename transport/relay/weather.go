package relay

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netsim"
)

const (
	// segment is how many bytes of a TCP connection meet the weather together, as in one packet.
	segment = 1400
	// window is how many segments of a connection are under way at most, each way.
	window = 256
	// recovery is how long a lost segment takes longer than a round trip until it is sent again.
	recovery = 10 * time.Millisecond
	// patience is how long a segment is sent again before its connection ends.
	patience = time.Minute
	// leastMTU is the smallest Weather.MTU: IPv6 has no smaller one, less its headers.
	leastMTU = 1232
)

var errLost = errors.New("relay: a segment was lost again and again")

// Weather is what a Relay does to what passes, besides Cut, Move and Reset. The zero Weather is none.
type Weather struct {
	Profile netsim.Profile // delay, jitter, loss and capacity; up is towards the server
	Seed    uint64         // of all that is drawn; each client and connection has its own numbers
	Corrupt float64        // the share of datagrams of which one bit changes, in [0, 1]
	MTU     int            // larger UDP payloads are dropped, in bytes; 0: none
}

// Validate reports what is wrong with w.
func (w *Weather) Validate() error {
	if w.Corrupt < 0 || w.Corrupt > 1 || w.Corrupt != w.Corrupt {
		return fmt.Errorf("relay: Corrupt %v is outside [0, 1]", w.Corrupt)
	}
	if w.MTU != 0 && (w.MTU < leastMTU || w.MTU > maxDatagram) {
		return fmt.Errorf("relay: MTU %d is neither 0 nor in [%d, %d]", w.MTU, leastMTU, maxDatagram)
	}
	return w.Profile.Validate()
}

// Impair sets the weather of clients and connections that are new from now on.
func (r *Relay) Impair(w Weather) error {
	if err := w.Validate(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.weather = &w
	return nil
}

// now is the time of the simulated links.
func (r *Relay) now() clock.Time { return clock.Time(time.Since(r.began)) }

// A line carries datagrams one way through the weather.
type line struct {
	mtu     int
	corrupt float64

	mu   sync.Mutex
	pipe *netsim.Pipe
	rng  *rand.Rand
	wake chan struct{} // a datagram was pushed; room for one
}

// lines returns both directions of a new client; nil without weather. r.mu is locked.
func (r *Relay) lines() (up, down *line) {
	w := r.weather
	if w == nil {
		return nil, nil
	}
	path, err := netsim.NewPath(r.seed(), w.Profile)
	if err != nil {
		panic(err) // Impair validated it
	}
	oneWay := func(p *netsim.Pipe, stream uint64) *line {
		return &line{mtu: w.MTU, corrupt: w.Corrupt, pipe: p, rng: rand.New(rand.NewPCG(r.made, stream)),
			wake: make(chan struct{}, 1)}
	}
	return oneWay(path.Up, 0), oneWay(path.Down, 1)
}

// seed returns the seed of the next client or connection. r.mu is locked.
func (r *Relay) seed() uint64 {
	r.made++
	return r.weather.Seed + r.made - 1
}

// push sends a datagram at an instant.
func (l *line) push(now clock.Time, b []byte) {
	if l.mtu > 0 && len(b) > l.mtu {
		return
	}
	l.mu.Lock()
	if l.corrupt > 0 && len(b) > 0 && l.rng.Float64() < l.corrupt {
		b[l.rng.IntN(len(b))] ^= 1 << l.rng.IntN(8)
	}
	l.pipe.Push(now, b)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run delivers datagrams when they arrive, until gone is closed.
func (l *line) run(now func() clock.Time, gone <-chan struct{}, deliver func([]byte)) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		l.mu.Lock()
		for b, _, ok := l.pipe.Pop(now()); ok; b, _, ok = l.pipe.Pop(now()) {
			deliver(b)
		}
		if next, ok := l.pipe.Next(); ok {
			timer.Reset(next.Sub(now()))
		}
		l.mu.Unlock()
		select {
		case <-timer.C:
		case <-l.wake:
		case <-gone:
			return
		}
	}
}

// A part is what of a TCP connection arrives at once.
type part struct {
	at  clock.Time
	b   []byte
	err error // why nothing follows
}

// passBy passes one direction of a connection through the weather. A segment that the link loses is
// sent again a round trip later, and what follows waits for it, as TCP does.
func (r *Relay) passBy(link *netsim.Link, rtt time.Duration, to, from *net.TCPConn) {
	parts := make(chan part, window)
	var writer sync.WaitGroup
	writer.Go(func() { r.writeParts(parts, to, from) })
	sent, arrived := clock.Time(0), clock.Time(0)
	for {
		p := part{b: make([]byte, segment)}
		var n int
		n, p.err = from.Read(p.b)
		p.b = p.b[:n]
		sent = max(sent, r.now())
		at, copies := link.Send(sent, n)
		for giveUp := r.now().Add(patience); copies == 0 && sent < giveUp; {
			sent = sent.Add(rtt + recovery)
			at, copies = link.Send(sent, n)
		}
		if copies == 0 {
			p.b, p.err = nil, errLost
			_ = from.Close()
		}
		arrived = max(arrived, at[0])
		p.at = arrived
		parts <- p
		if p.err != nil {
			break
		}
	}
	close(parts)
	writer.Wait()
}

// writeParts writes what arrives.
func (r *Relay) writeParts(parts <-chan part, to, from *net.TCPConn) {
	broken := false
	for p := range parts {
		if broken {
			continue
		}
		select {
		case <-time.After(p.at.Sub(r.now())):
		case <-r.over:
		}
		if r.whole() == nil {
			broken = true
		} else if _, err := to.Write(p.b); err != nil {
			broken = true
			_ = from.Close() // whoever still sends must notice
		} else if p.err != nil {
			end(to, p.err)
		}
	}
}

// end ends a connection as the other side's ended.
func end(to *net.TCPConn, err error) {
	if errors.Is(err, io.EOF) {
		_ = to.CloseWrite()
		return
	}
	_ = to.SetLinger(0)
	_ = to.Close()
}
