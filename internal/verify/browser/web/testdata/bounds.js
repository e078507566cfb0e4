// Starts Workers of transport.js whose sockets are fakes. The test evaluates this file: window.start(name) connects by one
// transport and returns an object that sends orders, connects again, runs code beside the fakes (link), and keeps what the
// Worker posts and what the sockets get.
(async () => {
  const prelude = `{
    const note = (...what) => self.postMessage({ did: "note", what })
    const seq = (b, at) => new DataView(b.buffer, b.byteOffset).getUint16(at, true)
    self.WebTransport = class {
      constructor() {
        self.link = this
        this.ready = Promise.resolve()
        this.closed = new Promise(() => {})
        this.blocked = false
        this.datagrams = {
          writable: new WritableStream({ write: b => { note("sent", seq(b, 3)); return this.blocked ? new Promise(done => this.unblock = done) : undefined } }),
          readable: new ReadableStream({ start: c => { this.arrive = b => c.enqueue(b) } }),
        }
      }
      async createBidirectionalStream() {
        return {
          readable: new ReadableStream({ start: c => { this.chunk = b => c.enqueue(b) } }),
          writable: new WritableStream({ write: b => note("message", b.length - 4) }),
        }
      }
      message(size) {
        const b = new Uint8Array(4 + size)
        new DataView(b.buffer).setUint32(0, size, true)
        this.chunk(b)
      }
      close() { note("closed") }
    }
    self.WebSocket = class {
      constructor() { self.link = this; this.bufferedAmount = 0; queueMicrotask(() => this.onopen()) }
      send(b) { b[0] ? note("message", b.length - 1) : note("sent", seq(b, 4)) }
      message(size) { const b = new Uint8Array(1 + size); b[0] = 1; this.onmessage({ data: b.buffer }) }
      arrive(d) { const b = new Uint8Array(1 + d.length); b.set(d, 1); this.onmessage({ data: b.buffer }) }
      close() { note("closed") }
    }
    self.arrive = (number, size) => {
      const b = new Uint8Array(size)
      if (size > 4) new DataView(b.buffer).setUint16(3, number, true)
      link.arrive(b)
    }
    self.addEventListener("message", async ({ data }) => {
      if (data.do !== "run") return
      await (0, eval)("(async () => {" + data.js + "})()")
      note("ran")
    })
  }`
  const source = await (await fetch("/transport.js")).text()
  window.start = async name => {
    const w = { posted: [], sent: [], messages: [], closed: 0 }
    const thread = new Worker(URL.createObjectURL(new Blob([prelude, source], { type: "text/javascript" })), { type: "module" })
    let ran, welcome
    thread.onmessage = ({ data }) => {
      if (data.did !== "note") w.posted.push(data)
      if (data.did === "welcome") welcome()
      const [what, n] = data.what ?? []
      if (what === "sent") w.sent.push(n)
      if (what === "message") w.messages.push(n)
      if (what === "closed") w.closed++
      if (what === "ran") ran()
    }
    w.post = message => thread.postMessage(message)
    w.run = js => new Promise(done => { ran = done; w.post({ do: "run", js }) })
    w.datagram = (seq, size = 20, releaseMs = 0) => {
      const b = new Uint8Array(size)
      if (size > 4) new DataView(b.buffer).setUint16(3, seq, true)
      w.post({ do: "datagram", bytes: b.buffer, releaseMs, stamped: false })
    }
    w.settle = () => w.run("for (let i = 0; i < 20; i++) await new Promise(done => setTimeout(done))")
    w.dropped = () => w.posted.filter(m => m.did === "dropped").flatMap(m => m.seqs)
    w.arrived = () => w.posted.filter(m => m.did === "datagrams").flatMap(m => m.list.filter((_, i) => i % 2 === 0)).map(b => new DataView(b).getUint16(3, true))
    w.end = () => thread.terminate()
    w.connect = async () => {
      const welcomed = new Promise(done => welcome = done)
      w.post({ do: "connect", epochMs: performance.timeOrigin, first: name, hello: new Uint8Array([7]).buffer,
        webtransport: name === "webtransport" ? { url: "https://a/", hashes: [] } : null, websocket: name === "websocket" ? "wss://a/" : null })
      await w.settle()
      await w.run("link.message(1)")
      await welcomed
    }
    await w.connect()
    return w
  }
  return 0
})()
