// Package relay is a piece of network between clients and a server: it passes UDP datagrams and TCP
// connections on, and can be cut and mended. Neither side notices it while it is whole.
package relay

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
)

const (
	// portTries is how many ports New tries to get for both TCP and UDP.
	portTries = 20
	// maxDatagram is the largest UDP payload in bytes.
	maxDatagram = 64 << 10
	// maxClients is how many UDP addresses a Relay tells apart; datagrams of further ones are
	// dropped.
	maxClients = 1024
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
	clients map[netip.AddrPort]*net.UDPConn // the sockets towards the server, by client
	lost    uint64
}

// New returns a Relay that listens on a free port of the IP address host. Before To it leads nowhere.
func New(host string) (*Relay, error) {
	tcp, udp, err := listen(host)
	if err != nil {
		return nil, err
	}
	r := &Relay{tcp: tcp, udp: udp, conns: make(map[*net.TCPConn]struct{}),
		clients: make(map[netip.AddrPort]*net.UDPConn)}
	r.changed.L = &r.mu
	r.wg.Go(r.accept)
	r.wg.Go(r.up)
	return r, nil
}

// listen listens on a port that is free for both TCP and UDP.
func listen(host string) (*net.TCPListener, *net.UDPConn, error) {
	ip := net.ParseIP(host)
	if ip == nil {
		return nil, nil, fmt.Errorf("relay: %q is no IP address", host)
	}
	for range portTries { // the port that TCP got may be taken for UDP
		tcp, err := net.ListenTCP("tcp", &net.TCPAddr{IP: ip})
		if err != nil {
			return nil, nil, fmt.Errorf("relay: %w", err)
		}
		if at, ok := tcp.Addr().(*net.TCPAddr); ok {
			if udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: ip, Port: at.Port}); err == nil {
				return tcp, udp, nil
			}
		}
		_ = tcp.Close()
	}
	return nil, nil, errors.New("relay: no port is free for both TCP and UDP")
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
	for _, out := range r.clients {
		_ = out.Close()
	}
	clear(r.clients)
}

// Cut pulls the cable out, or puts it back in.
func (r *Relay) Cut(cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = cut
	r.changed.Broadcast()
}

// Lost returns how many datagrams were lost to a cut, both ways together.
func (r *Relay) Lost() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
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
	r.closed = true
	r.changed.Broadcast()
	_, _ = r.tcp.Close(), r.udp.Close()
	r.reset()
	r.move()
	r.mu.Unlock()
	r.wg.Wait()
}

// accept passes TCP connections on.
func (r *Relay) accept() {
	for {
		in, err := r.tcp.AcceptTCP()
		if err != nil {
			return
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
			var both sync.WaitGroup
			both.Go(func() { r.pass(out, in) })
			both.Go(func() { r.pass(in, out) })
			both.Wait()
		})
	}
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
		switch {
		case errors.Is(err, io.EOF):
			r.whole() // the end travels on the cable, too
			_ = to.CloseWrite()
			return
		case err != nil:
			_ = to.SetLinger(0)
			_ = to.Close()
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
			if r.over() {
				return
			}
			continue // of one datagram: a client's port is closed
		}
		if out := r.outside(from); out != nil {
			_, _ = out.Write(b[:n])
		}
	}
}

func (r *Relay) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// outside returns the socket of a client towards the server; nil while the Relay is cut.
func (r *Relay) outside(client netip.AddrPort) *net.UDPConn {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut {
		r.lost++
	}
	if r.cut || r.closed || r.server == nil {
		return nil
	}
	if out := r.clients[client]; out != nil || len(r.clients) >= maxClients {
		return out
	}
	out, err := net.DialUDP("udp", nil, &net.UDPAddr{IP: r.server.IP, Port: r.server.Port, Zone: r.server.Zone})
	if err != nil {
		return nil
	}
	r.clients[client] = out
	r.wg.Go(func() { r.down(out, client) })
	return out
}

// down passes on datagrams to a client until its socket is closed.
func (r *Relay) down(out *net.UDPConn, client netip.AddrPort) {
	b := make([]byte, maxDatagram)
	for {
		n, err := out.Read(b)
		r.mu.Lock()
		mine, cut := r.clients[client] == out, r.cut
		if mine && cut && err == nil {
			r.lost++
		}
		r.mu.Unlock()
		switch {
		case !mine:
			return
		case err == nil && !cut:
			_, _ = r.udp.WriteToUDPAddrPort(b[:n], client)
		case errors.Is(err, net.ErrClosed):
			return
		}
	}
}
