//go:build js && wasm

package play

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall/js"
	"time"

	"meanwhile/app/offer"
	"meanwhile/netcode/clock"
	"meanwhile/transport"
)

// In a browser the page's transport carries the connection: web/transport.js, a Worker that races
// WebTransport against WebSocket and stamps datagrams at the socket. Its head describes the
// messages.

// compareClocks is how often the clocks of program and Worker are compared; the closest comparison
// counts.
const compareClocks = 5

// epochMs is when the clock of this program and its Workers began, in Unix time.
var epochMs = js.Global().Get("performance").Get("timeOrigin").Float()

// here is where the program comes from.
func here() string { return js.Global().Get("location").Get("origin").String() }

// newClock returns the clock that Workers stamp by.
func newClock() transport.Clock { return pageClock }

func pageClock() clock.Time {
	return clock.Time(js.Global().Get("performance").Call("now").Float() * 1e6)
}

// dial connects to the server by what answers first. The Worker needs the hello for that, so it
// begins with the first message.
func (d *dialer) dial(ctx context.Context) (transport.Conn, error) {
	s, err := d.ask(ctx)
	if err != nil {
		return nil, err
	}
	order := map[string]any{"do": "connect", "first": "", "webtransport": nil, "websocket": nil}
	if s.Session != nil && d.o.Transport != offer.WebSocket {
		hashes := make([]any, len(s.Hashes))
		for i, h := range s.Hashes {
			hashes[i] = bytesOf(h[:])
		}
		order["webtransport"] = map[string]any{"url": s.Session.String(), "hashes": hashes}
	}
	if d.o.Transport != offer.WebTransport {
		order["websocket"] = s.Socket
	}
	return newPage(ctx, d.base, order)
}

// A page is a connection by the page's transport.
type page struct {
	*transport.Link
	worker js.Value
	order  map[string]any // what makes the Worker connect; nil: it was sent
	name   atomic.Pointer[string]
	hear   js.Func

	clocks   chan float64 // what the Worker's clock says, in milliseconds
	messages chan []byte
	closed   chan struct{}
	ending   sync.Once
	why      error // why closed is closed
}

// newPage starts a Worker. order lacks the hello and the epoch.
func newPage(ctx context.Context, base *url.URL, order map[string]any) (*page, error) {
	p := &page{order: order, clocks: make(chan float64, 1), closed: make(chan struct{}),
		messages: make(chan []byte, 4*transport.ArrivedMessages)}
	script := *base.JoinPath("transport.js")
	script.RawQuery = ""
	from := script.String()
	if base.Scheme+"://"+base.Host != here() { // a page starts no Worker of another one
		blob := js.Global().Get("Blob").New([]any{fmt.Sprintf("import %q", from)}, map[string]any{"type": "text/javascript"})
		from = js.Global().Get("URL").Call("createObjectURL", blob).String()
	}
	p.worker = js.Global().Get("Worker").New(from, map[string]any{"type": "module"})
	p.hear = js.FuncOf(func(_ js.Value, args []js.Value) any {
		if data := args[0].Get("data"); data.Type() == js.TypeObject {
			p.heard(data)
		} else {
			p.end("the page's transport could not start")
		}
		return nil
	})
	p.worker.Set("onmessage", p.hear)
	p.worker.Set("onerror", p.hear)
	none := ""
	p.name.Store(&none)
	p.Link = transport.NewLink(transport.LinkConfig{Remote: base.Host, Clock: pageClock, Direct: true}, p, p.read)
	skew, err := p.skew(ctx)
	if err != nil {
		p.Link.Close("")
		return nil, err
	}
	order["epochMs"] = epochMs + skew
	return p, nil
}

// skew returns by how many milliseconds the Worker's clock is ahead of the program's.
func (p *page) skew(ctx context.Context) (skew float64, err error) {
	least := 0.0
	for i := range compareClocks {
		sent := float64(pageClock()) / 1e6
		p.post(map[string]any{"do": "clock", "epochMs": epochMs, "sent": sent})
		select {
		case at := <-p.clocks:
			back := float64(pageClock()) / 1e6
			if i == 0 || back-sent < least {
				least, skew = back-sent, at-(sent+back)/2
			}
		case <-p.closed:
			return 0, p.why
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	if max(skew, -skew) < 0.1+least/2 { // the comparison itself may be as wrong
		skew = 0
	}
	return skew, nil
}

func (p *page) post(message map[string]any, transfer ...any) {
	p.worker.Call("postMessage", message, transfer)
}

// heard handles a message of the Worker. It runs in the page's event loop and must not wait.
func (p *page) heard(m js.Value) {
	switch did := m.Get("did").String(); did {
	case "clock":
		select {
		case p.clocks <- m.Get("now").Float():
		default:
		}
	case "welcome", "message":
		if did == "welcome" {
			name := m.Get("transport").String()
			p.name.Store(&name)
		}
		select {
		case p.messages <- goBytes(m.Get("bytes")):
		default:
			p.end("the server sends too many messages")
		}
	case "datagrams":
		list := m.Get("list")
		n := list.Length() / 2
		for i := range n {
			p.Arrived(goBytes(list.Index(2*i)), true, clock.Time(list.Index(2*i+1).Float()*1e6))
		}
		p.post(map[string]any{"do": "took", "n": m.Get("n"), "count": n})
	case "lost":
		p.end(m.Get("reason").String())
	case "failed":
		text := "no transport was welcomed"
		for _, name := range []string{offer.WebTransport, offer.WebSocket} {
			if why := m.Get("reasons").Get(name); why.Type() == js.TypeString {
				text += fmt.Sprintf("; %s: %s", name, why.String())
			}
		}
		p.end(text)
	}
}

// end makes the reader return.
func (p *page) end(why string) {
	p.ending.Do(func() {
		p.why = errors.New(why)
		close(p.closed)
	})
}

// read is the Link's reader. What arrived before the end is still read.
func (p *page) read(l *transport.Link) error {
	for {
		select {
		case m := <-p.messages:
			l.Incoming(m)
		case <-p.closed:
			for len(p.messages) > 0 {
				l.Incoming(<-p.messages)
			}
			return p.why
		}
	}
}

// Name implements transport.Conn.
func (p *page) Name() string { return *p.name.Load() }

// SendDatagram implements transport.Carrier.
func (p *page) SendDatagram(b []byte) error {
	buffer := bytesOf(b).Get("buffer")
	p.post(map[string]any{"do": "datagram", "bytes": buffer, "releaseMs": 0, "stamped": p.KeepsStamps()}, buffer)
	return nil
}

// WriteMessage implements transport.Carrier.
func (p *page) WriteMessage(b []byte) error {
	buffer := bytesOf(b).Get("buffer")
	order := map[string]any{"do": "message", "bytes": buffer}
	if p.order != nil {
		order, p.order = p.order, nil
		order["hello"] = buffer
	}
	p.post(order, buffer)
	return nil
}

// Finish implements transport.Carrier: Close says all.
func (p *page) Finish() {}

// Close implements transport.Carrier.
func (p *page) Close(reason string) {
	p.post(map[string]any{"do": "close", "reason": reason})
	p.end(reason)
	time.AfterFunc(2*transport.Linger, func() {
		p.worker.Call("terminate")
		p.hear.Release()
	})
}

// Explain implements transport.Carrier.
func (p *page) Explain(err error) *transport.CloseError {
	return &transport.CloseError{Reason: err.Error(), Remote: true, Cause: err}
}

// Measure implements transport.Carrier.
func (p *page) Measure(*transport.Stats) {}

// bytesOf returns a new Uint8Array with a copy of b.
func bytesOf(b []byte) js.Value {
	a := js.Global().Get("Uint8Array").New(len(b))
	js.CopyBytesToJS(a, b)
	return a
}

// goBytes returns a copy of an ArrayBuffer.
func goBytes(buffer js.Value) []byte {
	a := js.Global().Get("Uint8Array").New(buffer)
	b := make([]byte, a.Length())
	js.CopyBytesToGo(b, a)
	return b
}
