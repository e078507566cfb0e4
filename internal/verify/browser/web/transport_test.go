package web_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/webtransport-go"

	"meanwhile/internal/verify/browser"
	"meanwhile/transport/cert"
)

// peer is a server written from the description of the wire alone: it answers a hello with answer,
// echoes datagrams, and counts both, over either transport.
type peer struct {
	answer func(transport, hello string) string // "" says nothing
	late   chan struct{}                        // if not nil, WebSockets open when it is closed
	hellos atomic.Int32
	grams  atomic.Int32

	mu    sync.Mutex
	close []func() // of the connections that are open
}

func welcome(string, string) string { return "welcome" }

func (s *peer) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.close {
		f()
	}
	s.close = nil
}

func (s *peer) opened(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close = append(s.close, f)
}

func (s *peer) websocket(w http.ResponseWriter, r *http.Request) {
	if s.late != nil {
		select {
		case <-s.late:
		case <-r.Context().Done():
			return
		}
	}
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	s.opened(func() { c.CloseNow() })
	for {
		kind, b, err := c.Read(r.Context())
		if err != nil || kind != websocket.MessageBinary || len(b) == 0 {
			return
		}
		if b[0] == 0 {
			s.grams.Add(1)
			c.Write(r.Context(), kind, b)
			continue
		}
		s.hellos.Add(1)
		if answer := s.answer("websocket", string(b[1:])); answer != "" {
			c.Write(r.Context(), kind, append([]byte{1}, answer...))
		}
	}
}

// webtransport serves sessions on a UDP socket of its own and returns the entry of the
// configuration.
func (s *peer) webtransport(t *testing.T, origin string) string {
	own, err := cert.NewSelfSigned(cert.Config{})
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	server := &webtransport.Server{
		H3: &http3.Server{
			Handler:         mux,
			TLSConfig:       &tls.Config{GetCertificate: own.GetCertificate, NextProtos: []string{"h3"}},
			QUICConfig:      &quic.Config{EnableDatagrams: true, EnableStreamResetPartialDelivery: true},
			EnableDatagrams: true,
		},
		CheckOrigin: func(r *http.Request) bool { return r.Header.Get("Origin") == origin },
	}
	webtransport.ConfigureHTTP3Server(server.H3)
	mux.HandleFunc("/meanwhile", func(w http.ResponseWriter, r *http.Request) {
		session, err := server.Upgrade(w, r)
		if err != nil {
			return
		}
		s.opened(func() { session.CloseWithError(0, "the server is restarted") })
		go s.session(session)
	})
	done := make(chan struct{})
	go func() { defer close(done); server.Serve(udp) }()
	t.Cleanup(func() { server.Close(); udp.Close(); <-done })
	prints, err := own.Fingerprints()
	if err != nil {
		t.Fatal(err)
	}
	var hex []string
	for _, f := range prints {
		hex = append(hex, fmt.Sprintf("%q", f))
	}
	return fmt.Sprintf(`{"url": "https://%s/meanwhile", "hashes": [%s]}`, udp.LocalAddr(), strings.Join(hex, ","))
}

func (s *peer) session(session *webtransport.Session) {
	ctx := session.Context()
	go func() {
		for {
			b, err := session.ReceiveDatagram(ctx)
			if err != nil {
				return
			}
			s.grams.Add(1)
			session.SendDatagram(b)
		}
	}()
	stream, err := session.AcceptStream(context.WithoutCancel(ctx))
	if err != nil {
		return
	}
	for {
		var size [4]byte
		if _, err := io.ReadFull(stream, size[:]); err != nil {
			return
		}
		b := make([]byte, min(binary.LittleEndian.Uint32(size[:]), 1<<16))
		if _, err := io.ReadFull(stream, b); err != nil {
			return
		}
		s.hellos.Add(1)
		if answer := s.answer("webtransport", string(b)); answer != "" {
			frame := binary.LittleEndian.AppendUint32(nil, uint32(len(answer)))
			stream.Write(frame[:2]) // in pieces, as a network may deliver it
			stream.Write(append(frame[2:], answer...))
		}
	}
}

// online returns a /meanwhile.json with these transports.
func online(webtransport, websocket, schema string) string {
	return fmt.Sprintf(`{"game": "zap", "engine": "/testdata/zap.js", "schema": %q, "webtransport": %s, "websocket": %s}`,
		schema, webtransport, websocket)
}

const socket = `"/meanwhile"` // the WebSocket of the page's own server

func newPeer(s *site, answer func(string, string) string) *peer {
	p := &peer{answer: answer}
	s.mux.HandleFunc("/meanwhile", p.websocket)
	return p
}

// echoes checks the stamps and arrivals of the engine's datagrams that the server sent back.
func echoes(t *testing.T, p *browser.Page) {
	t.Helper()
	p.WaitFor("engine.received.length > 30")
	var got [][3]float64 // number, stamp in microseconds, arrival in milliseconds
	p.Eval("engine.received", &got)
	var now float64
	p.Eval("g.now", &now)
	for _, e := range got {
		if trip := e[2] - e[1]/1000; trip < 0 || trip > 10_000 || e[2] > now+1000 {
			t.Fatalf("datagram %v was stamped at %v ms, its echo arrived at %v; it is %v", e[0], e[1]/1000, e[2], now)
		}
	}
}

func TestTransports(t *testing.T) {
	closed := func() string { // a port where nobody listens
		c, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.LocalAddr().String()
	}()
	black, err := net.ListenPacket("udp", "127.0.0.1:0") // a port that swallows everything
	if err != nil {
		t.Fatal(err)
	}
	defer black.Close()
	dead := func(address string) string {
		return fmt.Sprintf(`{"url": "https://%s/meanwhile", "hash": "%064x"}`, address, 1)
	}

	p := browser.New(t)
	open := func(t *testing.T, s *site, query string) {
		p.Open(s.URL + "/open.html" + query)
		t.Cleanup(func() { p.Errors() }) // a failed handshake is an error in the browser's console
	}
	transport := func(t *testing.T) (name string) {
		p.WaitFor("g.me && g.transport")
		p.Eval("g.transport", &name)
		return name
	}

	t.Run("both", func(t *testing.T) {
		s := newSite(t)
		peer := newPeer(s, welcome)
		peer.late = make(chan struct{}) // on a busy machine the head start may not do; TestRaceInVirtualTime holds it
		t.Cleanup(func() { close(peer.late) })
		s.set(online(peer.webtransport(t, s.URL), socket, "1"))
		open(t, s, "")
		if got := transport(t); got != "webtransport" {
			t.Errorf("won by %s", got)
		}
		if n := peer.hellos.Load(); n != 1 {
			t.Errorf("%d hellos", n)
		}
		echoes(t, p)
		if got := p.Errors(); len(got) != 0 {
			t.Errorf("errors %q", got)
		}

		// The server goes and comes back with another certificate.
		p.Eval("engine.received.length = 0; engine.sends = 0", nil)
		s.set("The server is being restarted.")
		peer.hangUp()
		p.WaitFor(notice + `.startsWith("Connection lost. Reconnecting")`)
		p.WaitFor("engine.heard.some(h => h[0] === 'lost')")
		s.set(online(peer.webtransport(t, s.URL), socket, "1"))
		p.WaitFor(`engine.heard.filter(h => h[0] === "welcome").length === 2 && ` + notice + ` === ""`)
		echoes(t, p)
		var hellos int
		if p.Eval("engine.hellos", &hellos); hellos != 2 {
			t.Errorf("the engine was asked for %d hellos", hellos)
		}

		// It comes back as another version of the game: the page loads anew, by itself.
		p.Eval("window.old = true", nil)
		s.set(online(peer.webtransport(t, s.URL), socket, "2"))
		peer.hangUp()
		p.WaitFor("!window.old && g.me && g.transport")
	})

	t.Run("closed port", func(t *testing.T) {
		s := newSite(t)
		newPeer(s, welcome)
		s.set(online(dead(closed), socket, "1"))
		open(t, s, "")
		if got := transport(t); got != "websocket" {
			t.Errorf("won by %s", got)
		}
		echoes(t, p)
		var memory string
		if p.Eval("localStorage['meanwhile.transport']", &memory); !strings.Contains(memory, "websocket") {
			t.Errorf("remembered %s", memory)
		}
	})

	t.Run("UDP goes into a black hole", func(t *testing.T) {
		s := newSite(t)
		peer := newPeer(s, welcome)
		s.set(online(dead(black.LocalAddr().String()), socket, "1"))
		open(t, s, "")
		if got := transport(t); got != "websocket" {
			t.Errorf("won by %s", got)
		}
		echoes(t, p)
		if n := peer.hellos.Load(); n != 1 {
			t.Errorf("%d hellos", n)
		}
	})

	t.Run("the first answers nothing", func(t *testing.T) {
		s := newSite(t)
		late := make(chan struct{})
		heard := sync.OnceFunc(func() { close(late) })
		t.Cleanup(heard)
		peer := newPeer(s, func(transport, hello string) string {
			if transport == "webtransport" {
				heard()
				return ""
			}
			return "welcome"
		})
		peer.late = late // the first is the one that answers nothing
		s.set(online(peer.webtransport(t, s.URL), socket, "1"))
		open(t, s, "")
		if got := transport(t); got != "websocket" {
			t.Errorf("won by %s", got)
		}
		if n := peer.hellos.Load(); n != 2 {
			t.Errorf("%d hellos, want one on each", n)
		}
	})

	t.Run("only one is wanted", func(t *testing.T) {
		s := newSite(t)
		peer := newPeer(s, welcome)
		s.set(online(peer.webtransport(t, s.URL), socket, "1"))
		open(t, s, "?transport=websocket")
		if got := transport(t); got != "websocket" {
			t.Errorf("won by %s", got)
		}
		// The engine learns which of its datagrams never left.
		p.Eval(`{
			const b = new Uint8Array(1151)
			new DataView(b.buffer).setUint16(3, 777, true)
			engine.send(b, 0, false)
		}`, nil)
		p.WaitFor("engine.neverSent.length === 1 && engine.neverSent[0] === 777")
	})

	// Two servers of different versions answer in turn: the page reloads for the other version
	// once, and then asks the person.
	t.Run("the version changes back and forth", func(t *testing.T) {
		s := newSite(t)
		peer := newPeer(s, welcome)
		loads := s.count("/open.html")
		s.set(online("null", socket, "1"))
		open(t, s, "")
		transport(t)
		p.Eval("window.old = true", nil)
		s.set(online("null", socket, "2"))
		peer.hangUp()
		p.WaitFor("!window.old")
		s.set(online("null", socket, "1")) // the first server answers the reloaded page
		p.Open(s.URL + "/open.html")
		transport(t)
		before := loads.Load()
		s.set(online("null", socket, "2"))
		peer.hangUp()
		p.WaitFor(notice + `.startsWith("The game was updated on the server.")`)
		p.Eval("new Promise(r => setTimeout(r, 300))", nil)
		if n := loads.Load(); n != before || p.Text("button") != "Reload" {
			t.Errorf("the page reloaded %d times by itself; want none, and a button", n-before)
		}
	})

	t.Run("nobody answers, then somebody does", func(t *testing.T) {
		s := newSite(t)
		s.set(online("null", socket, "1"))
		open(t, s, "")
		p.WaitFor(notice + `.startsWith("No connection to the server.")`)
		newPeer(s, welcome)
		transport(t)
	})

	t.Run("refused", func(t *testing.T) {
		const sentence = "The server plays another version of zap: pilot.aim is angle,1deg there and angle,2deg here."
		s := newSite(t)
		newPeer(s, func(string, string) string { return "refuse " + sentence })
		s.set(online("null", socket, "1"))
		open(t, s, "")
		p.WaitFor("failure")
		p.WaitFor(fmt.Sprintf(`%s.replace(/\s+Reload$/, "") === %q`, notice, sentence))
	})

	t.Run("sent away for good", func(t *testing.T) {
		s := newSite(t)
		peer := newPeer(s, func(string, string) string { return "welcome" })
		s.set(online("null", socket, "1"))
		open(t, s, "")
		transport(t)
		p.Eval(`window.say = text => g.connection.receive({
			did: "message", n: g.connection.n, bytes: new TextEncoder().encode(text).buffer })`, nil)
		p.Eval(`say("hello")`, nil)
		p.WaitFor(`engine.heard.at(-1)[1] === "hello" && g.transport === "websocket"`)
		p.Eval(`say("away You joined again elsewhere.")`, nil)
		p.WaitFor(notice + `.startsWith("You joined again elsewhere.")`)
		p.Eval("new Promise(r => setTimeout(r, 600))", nil)
		if n := peer.hellos.Load(); n != 1 || p.Text("button") != "Reload" {
			t.Errorf("%d hellos; the page must not come back by itself", n)
		}
	})

	t.Run("refused for now", func(t *testing.T) {
		var asked atomic.Int32
		s := newSite(t)
		newPeer(s, func(string, string) string {
			if asked.Add(1) < 3 {
				return "later The room is full."
			}
			return "welcome"
		})
		s.set(online("null", socket, "1"))
		open(t, s, "")
		transport(t)
	})
}
