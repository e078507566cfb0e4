package bridge_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"meanwhile/examples/zap"
	"meanwhile/internal/verify/browser"
)

// A cable forwards TCP connections to a server until it is cut.
type cable struct {
	listener net.Listener
	server   string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]struct{}
	wg    sync.WaitGroup
}

func newCable(t *testing.T, url string) *cable {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: l, server: strings.Trim(strings.TrimPrefix(url, "http://"), "/"),
		conns: map[net.Conn]struct{}{}}
	c.wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			c.wg.Go(func() { c.carry(in) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		c.set(true)
		c.wg.Wait()
	})
	return c
}

// URL is the address of the server's page over the cable.
func (c *cable) URL() string { return "http://" + c.listener.Addr().String() + "/" }

// set cuts the cable, which ends its connections without a word to the server's program, or mends it.
func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut = cut; cut {
		for conn := range c.conns {
			if tcp, ok := conn.(*net.TCPConn); ok {
				tcp.SetLinger(0) // a reset, and no close frame
			}
			conn.Close()
		}
		clear(c.conns)
	}
}

func (c *cable) carry(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", c.server)
	if err != nil {
		return
	}
	defer out.Close()
	c.mu.Lock()
	if c.cut {
		c.mu.Unlock()
		return
	}
	c.conns[in], c.conns[out] = struct{}{}, struct{}{}
	c.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { io.Copy(out, in); out.Close() })
	both.Go(func() { io.Copy(in, out); in.Close() })
	both.Wait()
}

// moves walks, and waits until the avatar has moved.
func moves(p *browser.Page) {
	x := number(p, "g.me.pos.x")
	p.Eval("g.keys.press(g.me.pos.x < 20 ? 'KeyD' : 'KeyA')", nil)
	p.WaitFor(fmt.Sprintf("Math.abs(g.me.pos.x - %v) > 3", x))
	p.Eval("g.keys.release('KeyD'); g.keys.release('KeyA')", nil)
}

// A page whose network is cut for five seconds says so, comes back to its avatar without a reload,
// and so does one that is loaded again.
func TestComingBack(t *testing.T) {
	p := browser.New(t)
	s := serve(t, rules(t, &zap.Game), 2)
	c := newCable(t, s.URL)
	t.Cleanup(func() { p.Open("about:blank") }) // before the site ends
	fresh(p, &server{URL: c.URL()}, "?config=/blocked.json&name=Ann")
	p.Eval("window.sinceMs = performance.now()", nil)
	p.WaitFor(`g.transport === "websocket" && performance.now() - sinceMs > 4000`) // who has just come is not waited for
	id := number(p, "g.me.id")

	t.Run("the network is cut", func(t *testing.T) {
		c.set(true)
		p.WaitFor(notice + `.startsWith("Connection lost. Reconnecting")`)
		p.Screenshot("cut")
		p.Eval("window.cutMs = performance.now()", nil)
		p.WaitFor("performance.now() - cutMs > 5000")
		c.set(false)
		p.WaitFor(notice + ` === "" && g.stats.state === 1 && g.me && g.me.mine`)
		if got := number(p, "g.me.id"); got != id {
			t.Errorf("the avatar is %v, was %v", got, id)
		}
		moves(p)
	})

	t.Run("the page is loaded again", func(t *testing.T) {
		p.Errors() // of the cut
		p.Eval("window.old = true; setTimeout(() => location.reload(), 0)", nil)
		p.WaitFor(`typeof old === "undefined" && window.g && g.me && g.me.mine`)
		if got := number(p, "g.me.id"); got != id {
			t.Errorf("the avatar is %v, was %v", got, id)
		}
		p.WaitFor(notice + ` === ""`)
		moves(p)
		p.Screenshot("reloaded")
		if n := number(p, "g.world.pilot.length"); n != 3 {
			t.Errorf("%v pilots are there, want 3: the page's and two bots", n)
		}
	})
}
