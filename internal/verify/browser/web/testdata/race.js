// Runs Workers of transport.js in the test's own time. The test evaluates this file: window.race(first, script) runs a race whose
// transports are fakes: they open, answer and fail as the script says, [[ms, name, what]], and report what is sent.
(async () => {
  const prelude = `
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
  `
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
})()
