package transport_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"meanwhile/internal/verify/browser"
	"meanwhile/netcode/clock"
	"meanwhile/transport"
	"meanwhile/transport/cert"
	"meanwhile/transport/quic"
	"meanwhile/transport/websocket"
)

// page is the least that a page must do, written from the description of package transport alone.
const page = `<!doctype html><meta charset=utf-8><link rel=icon href="data:,"><script type=module>
const bytes = hex => new Uint8Array(hex.match(/../g).map(h => parseInt(h, 16)))
const text = b => new TextDecoder().decode(b)
const frame = b => {
  const f = new Uint8Array(4 + b.length)
  new DataView(f.buffer).setUint32(0, b.length, true)
  f.set(b, 4)
  return f
}
const hello = new TextEncoder().encode("hello")
const datagram = new Uint8Array(100).map((_, i) => i)

window.web = async (url, hashes) => {
  const s = new WebTransport(url, {serverCertificateHashes: hashes.map(h => ({algorithm: "sha-256", value: bytes(h)}))})
  await s.ready
  const stream = await s.createBidirectionalStream()
  const writer = stream.writable.getWriter(), reader = stream.readable.getReader()
  let held = new Uint8Array(0)
  const message = async () => {
    for (;;) {
      if (held.length >= 4) {
        const n = new DataView(held.buffer, held.byteOffset).getUint32(0, true)
        if (held.length >= 4 + n) { const m = held.slice(4, 4 + n); held = held.slice(4 + n); return m }
      }
      const {value, done} = await reader.read()
      if (done) return null
      const joined = new Uint8Array(held.length + value.length)
      joined.set(held); joined.set(value, held.length); held = joined
    }
  }
  await writer.write(frame(hello))
  const welcome = text(await message())
  await s.datagrams.writable.getWriter().write(datagram)
  const echo = (await s.datagrams.readable.getReader().read()).value
  let more = 0
  for (let m; (m = await message()) !== null; ) more += m.length
  writer.close().catch(() => {}) // the answer to the server's goodbye
  const reason = await s.closed.then(info => info.reason, () => "")
  return {welcome, echo: Array.from(echo), more, reason}
}

window.socket = url => new Promise((resolve, reject) => {
  const s = new WebSocket(url), got = {welcome: "", echo: [], more: 0, reason: ""}
  s.binaryType = "arraybuffer"
  s.onopen = () => s.send(new Uint8Array([1, ...hello]))
  s.onmessage = e => {
    const b = new Uint8Array(e.data), rest = b.slice(1)
    if (b[0] === 0) got.echo = Array.from(rest)
    else if (got.welcome) got.more += rest.length
    else { got.welcome = text(rest); s.send(new Uint8Array([0, ...datagram])) }
  }
  s.onclose = e => { got.reason = e.reason; resolve(got) }
})

window.start = f => { window.result = ""; f().then(r => result = JSON.stringify(r), e => result = "failed: " + e) }
</script>`

// A real browser speaks to the listener over WebTransport and to the server over WebSocket, and
// gets the same from both: a welcome, its datagram back, all messages, and the reason for the end.
// Over loopback WebTransport sometimes loses the reason: webtransport-go resets the session's
// stream when the browser ends it, and over loopback the reset can arrive before Chromium has
// reported the reason. So the server sends texts for players as messages.
func TestBrowser(t *testing.T) {
	p := browser.New(t)
	own, err := cert.NewSelfSigned(cert.Config{})
	if err != nil {
		t.Fatal(err)
	}
	prints, err := own.Fingerprints()
	if err != nil {
		t.Fatal(err)
	}
	udp, err := quic.Listen(quic.Config{
		Clock: now, Certificate: own.GetCertificate, Origins: transport.Origins{"http://127.0.0.1:*"},
	})
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := websocket.NewServer(websocket.Config{Clock: now})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(page))
	})
	mux.Handle(transport.Path, tcp)
	h := httptest.NewServer(mux)

	var serving sync.WaitGroup
	for _, l := range []transport.Listener{udp, tcp} {
		serving.Go(func() {
			for {
				c, err := l.Accept(context.Background())
				if err != nil {
					return
				}
				serving.Go(func() { serveRound(t, c) })
			}
		})
	}
	t.Cleanup(func() {
		udp.Close("test is over")
		tcp.Close("test is over")
		h.Close()
		serving.Wait()
	})

	p.Open(h.URL)
	p.WaitFor("window.start")
	list, _ := json.Marshal([]string{prints[0].String()})
	for _, c := range []struct{ name, call string }{
		{"webtransport", fmt.Sprintf("web('https://%s%s', %s)", udp.Addr(), transport.Path, list)},
		{"websocket", fmt.Sprintf("socket(location.origin.replace('http', 'ws') + '%s')", transport.Path)},
	} {
		told := 0
		for range 3 { // the second and third come in over a browser that knows the way
			p.Eval(fmt.Sprintf("start(() => %s), true", c.call), new(bool))
			p.WaitFor("result")
			var text string
			p.Eval("result", &text)
			var got struct {
				Welcome, Reason string
				More            int
				Echo            []int
			}
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatalf("%s: %s", c.name, text)
			}
			if got.Welcome != "welcome over "+c.name || got.More != roundMessages*roundSize || len(got.Echo) != 100 {
				t.Errorf("%s: %s", c.name, text)
			}
			if got.Reason == "the round is over" {
				told++
			} else if c.name != "webtransport" || got.Reason != "" {
				t.Errorf("%s: the reason is %q", c.name, got.Reason)
			}
			for i, b := range got.Echo {
				if stamp := i < 3; !stamp && b != i {
					t.Errorf("%s: byte %d of the echo is %d", c.name, i, b)
				}
			}
		}
		t.Logf("%s: the reason was told %d times of 3", c.name, told)
	}
	// Without a fingerprint that fits, the browser does not connect.
	p.Eval(fmt.Sprintf("start(() => web('https://%s%s', ['%064x'])), true", udp.Addr(), transport.Path, 1), new(bool))
	p.WaitFor("result")
	var text string
	if p.Eval("result", &text); !bytes.HasPrefix([]byte(text), []byte("failed: ")) {
		t.Errorf("wrong fingerprint: %s", text)
	}
	p.Errors() // the console tells of it
}

const roundMessages, roundSize = 30, 3000

// patience bounds one round. It is generous: beyond it something hangs.
const patience = 30 * time.Second

var began = time.Now()

// now is the time since the test program started.
func now() clock.Time { return clock.Time(time.Since(began)) }

// serveRound is a server's side of a short match.
func serveRound(t *testing.T, c transport.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if m, err := c.ReceiveMessage(ctx); err != nil || string(m) != "hello" {
		t.Errorf("%s: %q, %v", c.Name(), m, err)
	}
	c.Admit()
	if err := c.SendMessage([]byte("welcome over " + c.Name())); err != nil {
		t.Error(err)
	}
	d, _, err := c.Receive(ctx)
	if err != nil {
		t.Errorf("%s: %v", c.Name(), err)
	}
	c.Send(d)
	for range roundMessages {
		if err := c.SendMessage(make([]byte, roundSize)); err != nil {
			t.Error(err)
		}
	}
	for c.Stats().Sent == 0 && ctx.Err() == nil { // the echo is on its way
		time.Sleep(time.Millisecond)
	}
	c.Close("the round is over")
	select {
	case <-c.Done():
	case <-ctx.Done():
		t.Error("the connection does not end")
	}
}
