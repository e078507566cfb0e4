package relay

import (
	"bytes"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"
)

// echo answers on TCP and UDP of one port, and counts from where datagrams arrive.
func echo(t *testing.T) (addr string, from chan string) {
	t.Helper()
	tcp, udp, err := listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	addr = tcp.Addr().String()
	t.Cleanup(func() { tcp.Close(); udp.Close() })
	go func() {
		for {
			c, err := tcp.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); io.Copy(c, c) }()
		}
	}()
	from = make(chan string, 100)
	go func() {
		for b := make([]byte, 2048); ; {
			n, a, err := udp.ReadFrom(b)
			if err != nil {
				return
			}
			from <- a.String()
			udp.WriteTo(b[:n], a)
		}
	}()
	return addr, from
}

func newRelay(t *testing.T, server string) *Relay {
	t.Helper()
	r, err := New("127.0.0.1")
	if err == nil {
		err = r.To(server)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func dial(t *testing.T, network, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

func write(t *testing.T, c net.Conn, s string) {
	t.Helper()
	if _, err := c.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, c net.Conn, want string) {
	t.Helper()
	b := make([]byte, len(want))
	if _, err := io.ReadFull(c, b); err != nil || !bytes.Equal(b, []byte(want)) {
		t.Fatalf("read %q, %v; want %q", b, err, want)
	}
}

// lose waits until the relay has lost n datagrams.
func lose(t *testing.T, r *Relay, n uint64) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, _, lost := r.Passed(); lost >= n {
			return
		} else if time.Now().After(end) {
			t.Fatalf("%d datagrams were lost, want %d", lost, n)
		}
	}
}

// Datagrams pass both ways, are lost while the relay is cut, and come from another port when the
// relay has forgotten its clients.
func TestDatagrams(t *testing.T) {
	server, from := echo(t)
	r := newRelay(t, server)
	c, other := dial(t, "udp", r.Addr()), dial(t, "udp", r.Addr())
	write(t, c, "one")
	read(t, c, "one")
	write(t, other, "two")
	read(t, other, "two")
	first, second := <-from, <-from
	if first == second {
		t.Errorf("two clients come from %s", first)
	}
	r.Cut(true)
	write(t, c, "gone")
	lose(t, r, 1)
	r.Cut(false)
	write(t, c, "back")
	read(t, c, "back")
	if again := <-from; again != first {
		t.Errorf("a client comes from %s, then from %s", first, again)
	}
	r.Move()
	write(t, c, "moved")
	read(t, c, "moved")
	if again := <-from; again == first {
		t.Errorf("a client still comes from %s", again)
	}
}

// A connection stands still while the relay is cut, goes on where it was, and ends with a reset
// where one was asked for.
func TestConnections(t *testing.T) {
	server, _ := echo(t)
	r := newRelay(t, server)
	c := dial(t, "tcp", r.Addr())
	write(t, c, "one")
	read(t, c, "one")
	r.Cut(true)
	write(t, c, "two")
	late := dial(t, "tcp", r.Addr())
	write(t, late, "three")
	for _, c := range []net.Conn{c, late} {
		c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Errorf("read %d bytes over a cable that is cut, %v", n, err)
		}
		c.SetReadDeadline(time.Now().Add(20 * time.Second))
	}
	r.Cut(false)
	read(t, c, "two")
	read(t, late, "three")
	r.Reset()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a connection outlives a reset")
	}
	// What the client ends the server sees as ended.
	c = dial(t, "tcp", r.Addr())
	write(t, c, "end")
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(c); err != nil || string(b) != "end" {
		t.Errorf("read %q, %v", b, err)
	}
}

// Other servers can be behind the same address, and Close ends what waits for a cable.
func TestServersComeAndGo(t *testing.T) {
	one, _ := echo(t)
	two, from := echo(t)
	r := newRelay(t, one)
	c := dial(t, "udp", r.Addr())
	write(t, c, "one")
	read(t, c, "one")
	if err := r.To(two); err != nil {
		t.Fatal(err)
	}
	write(t, c, "two")
	read(t, c, "two")
	<-from
	r.Cut(true)
	waits := dial(t, "tcp", r.Addr())
	write(t, waits, "never")
	r.Close()
	if _, err := New("localhost"); err == nil {
		t.Error("a name is an IP address")
	}
	if r.To("nowhere") == nil {
		t.Error("an address without a port is a server's")
	}
}

// An error of accept ends nothing: the next connection passes.
func TestAcceptGoesOn(t *testing.T) {
	server, _ := echo(t)
	r := newRelay(t, server)
	r.tcp.SetDeadline(time.Now().Add(-time.Second))
	c := dial(t, "tcp", r.Addr())
	write(t, c, "one")
	time.Sleep(2 * breath) // for accept to fail; if it does not, the rest holds all the more
	r.tcp.SetDeadline(time.Time{})
	read(t, c, "one")
}

// A client that is silent for long is forgotten and leaves no socket behind; when it speaks again it
// is a new one. One that speaks now and then is not.
func TestSilentClientsAreForgotten(t *testing.T) {
	server, from := echo(t)
	r := newRelay(t, server)
	c := dial(t, "udp", r.Addr())
	write(t, c, "one")
	read(t, c, "one")
	first := <-from
	// look makes the relay look whether the client is there still, by what its clock says at last.
	look := func(silence time.Duration) (gone chan struct{}) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, c := range r.clients {
			c.heard = r.now().Add(-silence)
			c.conn.SetReadDeadline(time.Now().Add(-time.Second))
			gone = c.gone
		}
		return gone
	}
	look(forget / 2)
	write(t, c, "two")
	read(t, c, "two")
	if again := <-from; again != first {
		t.Errorf("a client comes from %s, then from %s", first, again)
	}
	select {
	case <-look(forget):
	case <-time.After(20 * time.Second):
		t.Fatal("a silent client is not forgotten")
	}
	write(t, c, "three")
	read(t, c, "three")
	if again := <-from; again == first {
		t.Errorf("a client that was forgotten still comes from %s", again)
	}
}
