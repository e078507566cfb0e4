package hostile

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"

	"meanwhile/session"
	"meanwhile/transport"
)

// mostOpen is how many connections a stranger keeps open at once.
const mostOpen = 400

// A crowd is connections that stay open. One more than mostOpen closes the oldest.
type crowd struct {
	r  *raid
	mu sync.Mutex
	in []transport.Conn
}

// add keeps a connection until it or the raid ends.
func (c *crowd) add(conn transport.Conn) {
	c.r.wg.Go(func() {
		select {
		case <-conn.Done():
			c.r.end(conn.Err())
		case <-c.r.ctx.Done():
			conn.Close(session.Goodbye)
			<-conn.Done()
		}
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.in = append(c.in, conn); len(c.in) > mostOpen {
		c.in[0].Close(session.Goodbye)
		c.in = c.in[1:]
	}
}

// dialAway connects from one of so many addresses of the same network, where the transport passes
// a reverse proxy.
func (r *raid) dialAway(p *Proxy, i, addresses int) (transport.Conn, error) {
	ctx, cancel := context.WithTimeout(r.ctx, transport.HelloTimeout)
	defer cancel()
	if r.over != "websocket" {
		return r.Dial(ctx, r.over)
	}
	return r.dial(ctx, r.over, r.QUIC, p.From(fmt.Sprintf("203.0.113.%d", 1+i%addresses)))
}

// each dials from so many addresses at the raid's rate, with at most a few attempts under way, and
// hands each connection to act, which must not wait for long.
func (r *raid) each(addresses int, act func(conn transport.Conn, rnd *rand.Rand, i int)) {
	p, err := NewProxy(r.Page)
	if err != nil {
		r.end(err)
		return
	}
	defer p.Close()
	var trying sync.WaitGroup
	slots := make(chan struct{}, 64)
	for i := 0; r.turn(); i++ {
		slots <- struct{}{}
		trying.Go(func() {
			defer func() { <-slots }()
			conn, err := r.dialAway(p, i, addresses)
			if err != nil {
				r.end(err)
				return
			}
			act(conn, rand.New(rand.NewPCG(r.seed, uint64(i))), i)
		})
	}
	trying.Wait()
	r.wg.Wait() // connections that pass the proxy
}

// stand connects and says nothing.
func stand(r *raid) {
	c := &crowd{r: r}
	r.each(5, func(conn transport.Conn, _ *rand.Rand, _ int) { c.add(conn) })
}

// stammer sends hellos that nobody can read, and of other rules.
func stammer(r *raid) {
	r.each(50, func(conn transport.Conn, rnd *rand.Rand, i int) {
		b := r.hello(rnd, "")
		switch i % 5 {
		case 0:
			b[2] ^= 1 // other rules
		case 1:
			b = b[:rnd.IntN(len(b))]
		case 2:
			bit := rnd.IntN(8 * len(b))
			b[bit/8] ^= 1 << (bit % 8)
		case 3:
			b = make([]byte, transport.MaxEarlyMessage+1)
		case 4:
			b = append(b, make([]byte, rnd.IntN(1000))...)
		}
		r.end(r.greet(conn, b))
		conn.Close(session.Goodbye)
		<-conn.Done()
	})
}

// openRooms opens one room after the other, and leaves each at once.
func openRooms(r *raid) {
	r.each(1, func(conn transport.Conn, rnd *rand.Rand, i int) {
		r.end(r.enter(conn, rnd, fmt.Sprintf("room%d", i%63)))
		conn.Close(session.Goodbye)
		<-conn.Done()
	})
}

// occupy fills the default room, and does nothing in it.
func occupy(r *raid) {
	c := &crowd{r: r}
	r.each(1, func(conn transport.Conn, rnd *rand.Rand, _ int) {
		if err := r.enter(conn, rnd, ""); err != nil {
			r.end(err)
			conn.Close(session.Goodbye)
			<-conn.Done()
			return
		}
		c.add(conn)
	})
}

// halfOpen begins handshakes and drops the answers, as one does who forges addresses.
func halfOpen(r *raid) {
	slots := make(chan struct{}, 128)
	for r.turn() {
		slots <- struct{}{}
		r.wg.Go(func() {
			defer func() { <-slots }()
			l, err := newRelay(r.QUIC, func(b []byte, send func([]byte)) {
				r.sent.Add(int64(len(b)))
				send(b)
			}, func(b []byte, _ func([]byte)) { r.got.Add(int64(len(b))) })
			if err != nil {
				r.end(err)
				return
			}
			defer l.close()
			ctx, cancel := context.WithTimeout(r.ctx, transport.CrowdedHelloTimeout/2)
			defer cancel()
			if conn, err := r.dial(ctx, r.over, l.addr(), r.Page); err == nil {
				conn.Close("") // which no server lets happen
			}
		})
	}
}

// pass plays honestly by way of a path that does up to each of QUIC's packets that leaves.
func (r *raid) pass(rnd *rand.Rand, up func(rnd *rand.Rand, b []byte, send func([]byte))) error {
	l, err := newRelay(r.QUIC, func(b []byte, send func([]byte)) {
		r.count()
		up(rnd, b, send)
	}, func(b []byte, send func([]byte)) { send(b) })
	if err != nil {
		return err
	}
	defer l.close()
	conn, err := r.dial(r.ctx, r.over, l.addr(), r.Page)
	if err != nil {
		return err
	}
	p, err := r.play(conn, nil)
	if err != nil {
		return err
	}
	return p.Run(r.ctx)
}

// garble plays over a path that flips, cuts, repeats and invents QUIC's own packets.
func garble(r *raid) {
	r.again(4, func(rnd *rand.Rand) error {
		var kept [][]byte
		return r.pass(rnd, func(rnd *rand.Rand, b []byte, send func([]byte)) {
			if kept = append(kept, b); len(kept) > remembered {
				kept = kept[1:]
			}
			c := append([]byte(nil), b...)
			switch rnd.IntN(8) {
			case 0:
				c[rnd.IntN(len(c))] ^= byte(1 + rnd.IntN(255))
			case 1:
				c = c[:rnd.IntN(len(c))]
			case 2:
				send(kept[rnd.IntN(len(kept))])
			case 3:
				for i := 1 + rnd.IntN(20); i < len(c); i++ {
					c[i] = byte(rnd.Uint32())
				}
				send(c)
				c = b
			}
			send(c)
		})
	})
}

// multiply plays over a path that repeats QUIC's own packets.
func multiply(r *raid) {
	r.again(2, func(rnd *rand.Rand) error {
		return r.pass(rnd, func(_ *rand.Rand, b []byte, send func([]byte)) {
			for range 100 {
				send(b)
			}
		})
	})
}

// litter sends datagrams to the UDP port that are no QUIC, or begin like it.
func litter(r *raid) {
	rnd, conn := r.litterer()
	if conn == nil {
		return
	}
	r.wg.Go(func() {
		defer conn.Close()
		all := rubbish(rnd)
		for r.turn() {
			at, n := rnd.IntN(len(all)-1400), 1+rnd.IntN(1350)
			b := append([]byte(nil), all[at:at+n]...)
			startLikeQUIC(b, rnd)
			m, _ := conn.Write(b)
			r.sent.Add(int64(m))
		}
	})
}

// delugeStep is how many datagrams deluge hands to the kernel at a time: one by one, 100,000 a second
// would take the attacker more than a processor.
const delugeStep = 50

// deluge is litter in steps of many datagrams of one size.
func deluge(r *raid) {
	rnd, conn := r.litterer()
	if conn == nil {
		return
	}
	r.wg.Go(func() {
		defer conn.Close()
		all := rubbish(rnd)
		for r.turn() {
			n := 1 + rnd.IntN(1250)
			at := rnd.IntN(len(all) - n*delugeStep)
			b := all[at : at+n*delugeStep]
			for i := range delugeStep {
				startLikeQUIC(b[i*n:(i+1)*n], rnd)
			}
			m, _ := writeSegments(conn, b, n)
			r.sent.Add(int64(m))
		}
	})
}

// writeEach sends b as datagrams of size bytes, one by one.
func writeEach(conn *net.UDPConn, b []byte, size int) (sent int, err error) {
	for len(b) > 0 && err == nil {
		var n int
		n, err = conn.Write(b[:min(size, len(b))])
		b, sent = b[n:], sent+n
	}
	return sent, err
}

// litterer returns a socket towards the server, whose answers are counted; nil: there is none.
func (r *raid) litterer() (*rand.Rand, *net.UDPConn) {
	c, err := net.Dial("udp", r.QUIC)
	if err != nil {
		r.end(err)
		return nil, nil
	}
	conn, ok := c.(*net.UDPConn)
	if !ok {
		panic("hostile: net.Dial of udp is no UDPConn")
	}
	r.wg.Go(func() {
		b := make([]byte, 2048)
		for {
			n, err := conn.Read(b)
			if err != nil && r.ctx.Err() != nil {
				return
			}
			r.got.Add(int64(n))
		}
	})
	return rand.New(rand.NewPCG(r.seed, 0)), conn
}

// rubbish returns 64 kB of noise.
func rubbish(rnd *rand.Rand) []byte {
	all := make([]byte, 64<<10)
	for i := range all {
		all[i] = byte(rnd.Uint32())
	}
	return all
}

// startLikeQUIC makes half of the datagrams the first packet of a handshake, as far as its head says.
func startLikeQUIC(b []byte, rnd *rand.Rand) {
	if len(b) > 8 && rnd.IntN(2) == 0 {
		copy(b, []byte{0xc0 | b[0]&0xf, 0, 0, 0, byte(rnd.IntN(2)), 8})
	}
}
