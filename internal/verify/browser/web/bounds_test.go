package web_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"meanwhile/internal/verify/browser"
)

// script returns a file's content, for Eval.
func script(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Every queue of the page's transport has a bound, and so have datagrams and messages. A datagram
// that is dropped before it leaves is reported by its number.
func TestBounds(t *testing.T) {
	s := newSite(t)
	p := browser.New(t)
	p.Open(s.URL + "/testdata/bridge.js") // any page of this origin
	p.Eval(script(t, "testdata/bounds.js"), nil)
	between := func(from, to int) (list []int) {
		for i := from; i <= to; i++ {
			list = append(list, i)
		}
		return list
	}
	numbers := func(t *testing.T, js string) (got []int) {
		t.Helper()
		p.Eval(`(async () => { `+js+` })()`, &got)
		return got
	}
	same := func(t *testing.T, what string, got, want []int) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	for _, name := range []string{"webtransport", "websocket"} {
		t.Run(name, func(t *testing.T) {
			begin := func() {
				p.Eval(fmt.Sprintf("(async () => { window.w?.end(); window.w = await start(%q) })()", name), nil)
			}

			begin()
			same(t, "sizes that are sent", numbers(t, `
				for (const size of [4, 5, 1150, 1151]) w.datagram(size, size)
				await w.settle()
				return w.sent`), []int{5, 1150})
			same(t, "sizes that are reported as dropped", numbers(t, "return w.dropped()"), []int{1151})
			same(t, "sizes that arrive", numbers(t, `
				await w.run("for (const size of [4, 5, 1150, 1151]) arrive(size, size)")
				await w.settle()
				return w.arrived()`), []int{5, 1150})

			// 2,048 may wait for their release time; they stay in order.
			begin()
			same(t, "scheduled beyond the bound", numbers(t, `
				for (let i = 1; i <= 2050; i++) w.datagram(i, 20, 1e9)
				await w.settle()
				return w.dropped()`), []int{2049, 2050})

			// 256 may be on their way to the page and 256 may wait behind them; then the oldest of
			// these goes.
			begin()
			same(t, "before the page has handled any", numbers(t, `
				await w.run("for (let i = 1; i <= 520; i++) { arrive(i, 20); await new Promise(done => setTimeout(done)) }")
				return w.arrived()`), between(1, 256))
			same(t, "when the page has handled one", numbers(t, `
				w.post({ do: "took", n: 1, count: 1 })
				await w.settle()
				return w.arrived().slice(256)`), between(520-255, 520))

			// Messages of 64 KB pass either way; one byte more ends the connection.
			begin()
			p.Eval("w.post({ do: 'message', bytes: new ArrayBuffer(65536) })", nil)
			same(t, "sizes of messages that are sent", numbers(t, `
				await w.settle()
				await w.run("link.message(65536)")
				await w.settle()
				return w.messages.slice(1)`), []int{65536})
			same(t, "sizes of messages that arrive", numbers(t, `
				return w.posted.filter(m => m.did === "message").map(m => m.bytes.byteLength)`), []int{65536})
			for _, larger := range []string{
				`w.post({ do: "message", bytes: new ArrayBuffer(65537) })`, `await w.run("link.message(65537)")`,
			} {
				begin()
				var got struct {
					Lost     string
					Closed   int
					Messages int
				}
				p.Eval(`(async () => {
					`+larger+`
					await w.settle()
					const got = w.posted.filter(m => m.did === "message").length
					const lost = w.posted.find(m => m.did === "lost")
					return { Lost: lost?.reason ?? "", Closed: w.closed, Messages: w.messages.length - 1 + got }
				})()`, &got)
				if got.Lost == "" || got.Closed != 1 || got.Messages != 0 {
					t.Errorf("after %s: %+v", larger, got)
				}
			}
		})
	}

	// While WebTransport's writer is busy, 16 datagrams wait and the oldest makes way; a WebSocket
	// that has 32 KB to send gets no more.
	same(t, "displaced while the writer is busy", numbers(t, `
		w.end()
		window.w = await start("webtransport")
		await w.run("link.blocked = true")
		for (let i = 1; i <= 20; i++) w.datagram(i)
		await w.settle()
		return w.dropped()`), between(2, 4))
	same(t, "sent in the end", numbers(t, `
		await w.run("link.blocked = false; link.unblock()")
		await w.settle()
		return w.sent`), append([]int{1}, between(5, 20)...))
	// A datagram that the browser refuses is reported; but not when the page has connected again by
	// then, since the next connection has its own numbers.
	for _, c := range []struct {
		what, before string
		want         []int
	}{
		{"refused by the browser", "", []int{7}},
		{"refused after the next connection has begun", "await w.connect()", []int{}},
	} {
		same(t, c.what, numbers(t, `
			w.end()
			window.w = await start("webtransport")
			await w.run("self.first = link; link.blocked = true")
			w.datagram(7)
			await w.settle()
			`+c.before+`
			await w.run("first.unblock(Promise.reject(new Error('refused')))")
			await w.settle()
			return w.dropped()`), c.want)
	}
	p.Eval(`(async () => { w.end(); window.w = await start("websocket") })()`, nil)
	same(t, "dropped by a full WebSocket", numbers(t, `
		await w.run("link.bufferedAmount = 32768"); w.datagram(1)
		await w.run("link.bufferedAmount = 32769"); w.datagram(2)
		await w.settle()
		return [...w.sent, ...w.dropped()]`), []int{1, 2})
	var reasons map[string]float64
	p.Eval(`(async () => {
		for (;;) {
			const found = w.posted.find(m => m.did === "counts")
			if (found) return Object.fromEntries(Object.entries(found).filter(([name]) => /Up$|Down$/.test(name)))
			await w.settle()
		}
	})()`, &reasons)
	if len(reasons) != 6 || reasons["displacedUp"] != 1 {
		t.Errorf("counts %v", reasons)
	}
	// What is sent while a WebSocket closes goes nowhere, and the browser is not asked to send it.
	same(t, "sent into a WebSocket that closes", numbers(t, `
		w.end()
		window.w = await start("websocket")
		await w.run("link.readyState = 2")
		w.datagram(3)
		w.post({ do: "message", bytes: new ArrayBuffer(4) })
		await w.settle()
		return [w.sent.length, w.messages.length - 1, ...w.dropped()]`), []int{0, 0, 3})
	p.Eval("w.end()", nil)
}
