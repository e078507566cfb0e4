// Package relay is a piece of network between clients and a server: it passes UDP datagrams and TCP
// connections on, can be cut and mended, and can be as bad as any network of package netsim. Neither
// side notices it while it is whole and has no Weather.
package relay

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netsim"
)

const (
	// portTries is how many ports New tries to get for both TCP and UDP.
	portTries = 20
	// maxDatagram is the largest UDP payload in bytes.
	maxDatagram = 64 << 10
	// maxClients is how many UDP addresses a Relay tells apart; datagrams of further ones are
	// dropped.
	maxClients = 1024
	// forget is how long a client's UDP address may be silent until the Relay forgets it, as routers
	// do (RFC 4787 §4.3); from then on the client comes from another port.
	forget = 2 * time.Minute
	// breath is how long accepting rests after an error.
	breath = 10 * time.Millisecond
	// chunk is how many bytes of a TCP connection are passed on at once.
	chunk = 32 << 10
)

// A Relay listens on one port, TCP and UDP, and passes on what arrives there. While it is cut,
// datagrams are lost and connections stand still, as on a cable that was pulled out: nobody is
// informed. Safe for concurrent use.
type Relay struct {
	tcp *net.TCPListener
	udp *net.UDPConn
	wg  sync.WaitGroup

	mu      sync.Mutex
	changed sync.Cond // of cut and closed
	server  *net.TCPAddr
	cut     bool
	closed  bool
	conns   map[*net.TCPConn]struct{}
	clients map[netip.AddrPort]*client
	lost    uint64
	passed  [2]uint64 // datagrams of clients and of the server that were not lost to a cut
	weather *Weather  // nil: none
	made    uint64    // clients and connections in it, from which their seeds follow

	began time.Time
	over  chan struct{} // closed by Close
}

// A client is what a Relay keeps for a UDP address.
type client struct {
	conn     *net.UDPConn // towards the server
	up, down *line        // nil: without weather
	gone     chan struct{}
	heard    clock.Time // the newest datagram from the client
}

// New returns a Relay that listens on a free port of the IP address host. Before To it leads nowhere.
func New(host string) (*Relay, error) {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return nil, fmt.Errorf("relay: %q is no IP address", host)
	}
	return Listen(netip.AddrPortFrom(ip, 0))
}

// Listen returns a Relay that listens on an address; port 0 is a free one. Before To it leads
// nowhere.
func Listen(addr netip.AddrPort) (*Relay, error) {
	tcp, udp, err := listen(addr)
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	return begin(tcp, udp), nil
}

func begin(tcp *net.TCPListener, udp *net.UDPConn) *Relay {
	r := &Relay{tcp: tcp, udp: udp, conns: make(map[*net.TCPConn]struct{}),
		clients: make(map[netip.AddrPort]*client), began: time.Now(), over: make(chan struct{})}
	r.changed.L = &r.mu
	r.wg.Go(r.accept)
	r.wg.Go(r.up)
	return r
}

// listen listens on an address, TCP and UDP on the same port.
func listen(addr netip.AddrPort) (tcp *net.TCPListener, udp *net.UDPConn, err error) {
	for range portTries { // the free port that TCP got may be taken for UDP
		if tcp, err = net.ListenTCP("tcp", net.TCPAddrFromAddrPort(addr)); err != nil {
			return nil, nil, err
		}
		at := tcp.Addr().(*net.TCPAddr).AddrPort()
		if udp, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(at)); err == nil {
			return tcp, udp, nil
		}
		_ = tcp.Close()
		if addr.Port() != 0 {
			break
		}
	}
	return nil, nil, err
}

// Addr is the address of the Relay, "host:port".
func (r *Relay) Addr() string { return r.tcp.Addr().String() }

// To sets the server, "host:port" of TCP and UDP. Connections that are open stay with the server
// before; datagrams go to the new one at once, from new ports.
func (r *Relay) To(server string) error {
	at, err := net.ResolveTCPAddr("tcp", server)
	if err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.server = at
	r.move()
	return nil
}

// Move gives all clients new ports towards the server, as a router does that forgot them.
func (r *Relay) Move() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.move()
}

func (r *Relay) move() {
	for from := range r.clients {
		r.drop(from)
	}
}

// drop forgets a client. r.mu is locked.
func (r *Relay) drop(from netip.AddrPort) {
	c := r.clients[from]
	delete(r.clients, from)
	close(c.gone)
	_ = c.conn.Close()
}

// Cut pulls the cable out, or puts it back in.
func (r *Relay) Cut(cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = cut
	r.changed.Broadcast()
}

// Passed returns how many datagrams came from clients and from the server, and how many of either were
// lost to a cut. Those lost to the weather count as passed.
func (r *Relay) Passed() (up, down, lost uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.passed[0], r.passed[1], r.lost
}

// Reset ends all TCP connections with a reset, as a machine does that has lost its memory of them.
func (r *Relay) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reset()
}

func (r *Relay) reset() {
	for c := range r.conns {
		_ = c.SetLinger(0)
		_ = c.Close()
	}
	clear(r.conns)
}

// Close ends everything and waits until it has ended.
func (r *Relay) Close() {
	r.mu.Lock()
	if !r.closed {
		close(r.over)
	}
	r.closed = true
	r.changed.Broadcast()
	_, _ = r.tcp.Close(), r.udp.Close()
	r.reset()
	r.move()
	r.mu.Unlock()
	r.wg.Wait()
}

// accept passes TCP connections on. An error of one, or too many open files, ends nothing.
func (r *Relay) accept() {
	for {
		in, err := r.tcp.AcceptTCP()
		if err != nil {
			select {
			case <-r.over:
				return
			case <-time.After(breath):
				continue
			}
		}
		r.wg.Go(func() {
			defer in.Close()
			if !r.keep(in) {
				return
			}
			defer r.forget(in)
			server := r.whole()
			if server == nil {
				return
			}
			out, err := net.DialTCP("tcp", nil, server)
			if err != nil {
				return
			}
			defer out.Close()
			if !r.keep(out) {
				return
			}
			defer r.forget(out)
			r.passBoth(out, in)
		})
	}
}

// passBoth passes both directions of a connection on until they end.
func (r *Relay) passBoth(server, client *net.TCPConn) {
	var both sync.WaitGroup
	r.mu.Lock()
	w := r.weather
	if w == nil {
		r.mu.Unlock()
		both.Go(func() { r.pass(server, client) })
		both.Go(func() { r.pass(client, server) })
		both.Wait()
		return
	}
	path, err := netsim.NewPath(r.seed(), w.Profile)
	r.mu.Unlock()
	if err != nil {
		panic(err) // Impair validated it
	}
	rtt := w.Profile.Up.Delay + w.Profile.Down.Delay
	both.Go(func() { r.passBy(path.Up.Link, rtt, server, client) })
	both.Go(func() { r.passBy(path.Down.Link, rtt, client, server) })
	both.Wait()
}

// keep notes a connection, so that Reset and Close end it; false if the Relay is closed.
func (r *Relay) keep(c *net.TCPConn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.conns[c] = struct{}{}
	}
	return !r.closed
}

func (r *Relay) forget(c *net.TCPConn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c)
}

// whole waits while the Relay is cut, and returns the server; nil if there is none or the Relay is
// closed.
func (r *Relay) whole() *net.TCPAddr {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.cut && !r.closed {
		r.changed.Wait()
	}
	if r.closed {
		return nil
	}
	return r.server
}

// pass passes one direction of a connection on until it ends.
func (r *Relay) pass(to, from *net.TCPConn) {
	b := make([]byte, chunk)
	for {
		n, err := from.Read(b)
		if n > 0 {
			if r.whole() == nil {
				return
			}
			if _, err := to.Write(b[:n]); err != nil {
				_ = from.Close() // whoever still sends must notice
				return
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				r.whole() // the end travels on the cable, too
			}
			end(to, err)
			return
		}
	}
}

// up passes on datagrams of clients.
func (r *Relay) up() {
	b := make([]byte, maxDatagram)
	for {
		n, from, err := r.udp.ReadFromUDPAddrPort(b)
		if err != nil {
			select {
			case <-r.over:
				return
			default:
			}
			continue // of one datagram: a client's port is closed
		}
		switch c := r.client(from); {
		case c == nil:
		case c.up != nil:
			c.up.push(r.now(), b[:n])
		default:
			_, _ = c.conn.Write(b[:n])
		}
	}
}

// client returns what is kept for an address, from its first datagram on; nil while the Relay is
// cut.
func (r *Relay) client(from netip.AddrPort) *client {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut {
		r.lost++
	}
	if r.cut || r.closed || r.server == nil {
		return nil
	}
	r.passed[0]++
	if c := r.clients[from]; c != nil {
		c.heard = r.now()
		return c
	}
	if len(r.clients) >= maxClients {
		return nil
	}
	out, err := net.DialUDP("udp", nil, &net.UDPAddr{IP: r.server.IP, Port: r.server.Port, Zone: r.server.Zone})
	if err != nil {
		return nil
	}
	c := &client{conn: out, gone: make(chan struct{}), heard: r.now()}
	_ = out.SetReadDeadline(time.Now().Add(forget))
	r.clients[from] = c
	if c.up, c.down = r.lines(); c.up != nil {
		r.wg.Go(func() { c.up.run(r.now, c.gone, func(b []byte) { _, _ = c.conn.Write(b) }) })
		r.wg.Go(func() { c.down.run(r.now, c.gone, func(b []byte) { _, _ = r.udp.WriteToUDPAddrPort(b, from) }) })
	}
	r.wg.Go(func() { r.down(c, from) })
	return c
}

// down passes on datagrams to a client until it is forgotten.
func (r *Relay) down(c *client, to netip.AddrPort) {
	b := make([]byte, maxDatagram)
	for {
		n, err := c.conn.Read(b)
		mine, pass := r.fromServer(c, to, err)
		switch {
		case !mine:
			return
		case !pass:
		case c.down != nil:
			c.down.push(r.now(), b[:n])
		default:
			_, _ = r.udp.WriteToUDPAddrPort(b[:n], to)
		}
	}
}

// fromServer counts what was read from the server for a client: pass is whether it is a datagram to
// pass on, mine whether the client is known still. A client that was silent for long is forgotten.
func (r *Relay) fromServer(c *client, to netip.AddrPort, err error) (mine, pass bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.clients[to] != c:
		return false, false
	case errors.Is(err, os.ErrDeadlineExceeded):
		left := forget - r.now().Sub(c.heard)
		if left <= 0 {
			r.drop(to)
			return false, false
		}
		_ = c.conn.SetReadDeadline(time.Now().Add(left))
		return true, false
	case err != nil: // the server's port is closed, for instance
		return true, false
	case r.cut:
		r.lost++
		return true, false
	default:
		r.passed[1]++
		return true, true
	}
}
