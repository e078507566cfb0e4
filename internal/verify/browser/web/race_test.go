package web_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"meanwhile/internal/verify/browser"
)

// virtual makes a Worker of transport.js whose time is the test's and whose transports are none:
// each says when it is opened, does what it is told to, and says what is sent.
const virtual = `(async () => {
	const prelude = ` + "`" + `
		{
		let now = 0, timers = []
		const links = {}, say = (...what) => self.postMessage({ did: "said", what: what.join(" ") })
		performance.now = () => now
		self.setTimeout = (f, ms) => { const t = { f, at: now + ms }; timers.push(t); return t }
		self.clearTimeout = t => { timers = timers.filter(u => u !== t) }
		self.WebTransport = class {
			constructor() {
				say(now, "webtransport")
				links.webtransport = this
				this.closed = new Promise((_, fail) => this.fail = () => fail(new Error("refused")))
				this.ready = new Promise(done => this.open = done)
				this.datagrams = { writable: new WritableStream, readable: new ReadableStream }
			}
			async createBidirectionalStream() {
				return {
					readable: new ReadableStream({ start: c => { this.answer = () => c.enqueue(new Uint8Array([1, 0, 0, 0, 9])) } }),
					writable: new WritableStream({ write: () => say(now, "webtransport is greeted") }),
				}
			}
			close() { say(now, "webtransport is closed") }
		}
		self.WebSocket = class {
			constructor() { say(now, "websocket"); links.websocket = this }
			open() { this.onopen() }
			fail() { this.onclose({ reason: "refused" }) }
			answer() { this.onmessage({ data: new Uint8Array([1, 9]).buffer }) }
			send() { say(now, "websocket is greeted") }
			close() { say(now, "websocket is closed") }
		}
		const settled = () => new Promise(done => { const c = new MessageChannel(); c.port1.onmessage = () => done(); c.port2.postMessage(0) })
		self.addEventListener("message", async ({ data }) => {
			if (data.do !== "script") return
			for (const [at, name, does] of data.script) {
				for (;;) {
					for (let i = 0; i < 5; i++) await settled()
					timers.sort((a, b) => a.at - b.at)
					if (!timers.length || timers[0].at > at) break
					const t = timers.shift()
					now = t.at
					t.f()
				}
				now = at
				if (name) links[name][does]()
			}
			for (let i = 0; i < 5; i++) await settled()
			say("end")
		})
		}
	` + "`" + `
	const source = await (await fetch("/transport.js")).text()
	window.race = (first, script) => new Promise(done => {
		const said = [], worker = new Worker(URL.createObjectURL(new Blob([prelude, source], { type: "text/javascript" })), { type: "module" })
		worker.onmessage = ({ data }) => {
			if (data.did === "said" && data.what === "end") { worker.terminate(); done(said) }
			else if (data.did === "said") said.push(data.what)
			else if (data.did === "welcome") said.push(data.transport + " wins")
			else if (data.did === "failed") said.push("failed")
		}
		worker.onerror = e => done([e.message])
		worker.postMessage({ do: "connect", epochMs: performance.timeOrigin, webtransport: { url: "https://a/", hashes: [] }, websocket: "wss://a/", first, hello: new Uint8Array([7]).buffer })
		worker.postMessage({ do: "script", script })
	})
	return 0
})()`

// The race of the two transports to the millisecond, in the Worker's own code: who goes first is
// alone for 400 ms, a hello waits for the other's answer for a second and a half, and all is over
// after nine.
func TestRaceInVirtualTime(t *testing.T) {
	s := newSite(t)
	p := browser.New(t)
	p.Open(s.URL + "/testdata/bridge.js") // any page of this origin
	p.Eval(virtual, nil)
	for _, c := range []struct {
		name, first, script string
		want                []string
	}{
		{"nobody answers", "", `[[9000]]`, []string{"0 webtransport", "400 websocket", "9000 websocket is closed", "failed", "9000 webtransport is closed"}},
		{"who went first last time goes first again", "websocket", `[[399], [9000]]`,
			[]string{"0 websocket", "400 webtransport", "9000 websocket is closed", "failed", "9000 webtransport is closed"}},
		{"the first answers in time", "", `[[300, "webtransport", "open"], [399, "webtransport", "answer"], [20000]]`,
			[]string{"0 webtransport", "300 webtransport is greeted", "webtransport wins"}},
		{"the first answers too late to be alone", "", `[[300, "webtransport", "open"], [500, "webtransport", "answer"], [20000]]`,
			[]string{"0 webtransport", "300 webtransport is greeted", "400 websocket", "500 websocket is closed", "webtransport wins"}},
		{"the first fails", "", `[[100, "webtransport", "fail"], [150, "websocket", "open"], [200, "websocket", "answer"], [20000]]`,
			[]string{"0 webtransport", "100 webtransport is closed", "100 websocket", "150 websocket is greeted", "websocket wins"}},
		{"the first takes a hello and says nothing", "", `[[100, "webtransport", "open"], [450, "websocket", "open"], [1700, "websocket", "answer"], [20000]]`,
			[]string{"0 webtransport", "100 webtransport is greeted", "400 websocket", "1600 websocket is greeted", "websocket wins", "1700 webtransport is closed"}},
		{"the first takes a hello and fails", "", `[[100, "webtransport", "open"], [450, "websocket", "open"], [700, "webtransport", "fail"], [800, "websocket", "answer"], [20000]]`,
			[]string{"0 webtransport", "100 webtransport is greeted", "400 websocket", "700 webtransport is closed", "700 websocket is greeted", "websocket wins"}},
		{"both fail", "", `[[100, "webtransport", "fail"], [200, "websocket", "fail"], [20000]]`,
			[]string{"0 webtransport", "100 webtransport is closed", "100 websocket", "failed"}},
	} {
		var got []string
		p.Eval(fmt.Sprintf("race(%q, %s)", c.first, c.script), &got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}
