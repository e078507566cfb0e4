// The page's transport, run as a Worker so that arrival and send stamps are taken at the socket and
// never wait behind a drawn frame.
//
// It races WebTransport against WebSocket, carries datagrams and the one reliable stream, stamps what
// leaves and what arrives, and knows nothing of the game: the bytes belong to the engine in the page.
//
// Instants are milliseconds since the page's epoch, the same clock that the page calls g.now, so that a
// stamp here and a time there can be subtracted.
//
// Page to Worker
//   {do: "connect", epochMs, webtransport: {url, hashes}|null, websocket: url|null, first, hello}
//       first: name of the transport that gets the head start; hello: ArrayBuffer, the first stream message
//   {do: "datagram", bytes, releaseMs, stamped}   bytes: ArrayBuffer; releaseMs 0 or in the past: at once
//   {do: "message", bytes}                        a reliable stream message
//   {do: "took", n, count}                        the page has handled count datagrams of connection n
//   {do: "clock", epochMs, sent}                  answered with the clock, to compare the two threads
//   {do: "close"}
// Worker to page; all but clock carry n, the number of the connect order they belong to: 1, 2, ...
//   {did: "welcome", transport, bytes}            first message of the winning stream
//   {did: "message", bytes}                       every later one
//   {did: "datagrams", list: [bytes, arrivalMs, bytes, arrivalMs, ...]}
//   {did: "lost", reason}                         the winner closed; nothing more comes
//   {did: "failed", reasons: {webtransport, websocket}}   nobody was welcomed
//   {did: "dropped", seqs: [seq]}                 datagrams that never left: the engine must not blame the path for them
//   {did: "counts", ...}                          what was dropped and why, when it changed, once a second
//   {did: "clock", sent, now}
//
// On the wire: WebTransport sends datagrams as they are, and frames each stream message as a uint32 LE
// length and its bytes, on one bidirectional stream that this side opens. WebSocket sends binary
// messages whose first byte says 0 datagram, 1 stream message.

/** The transport that goes first is alone for this long; the other starts then, or as soon as the first fails. */
const HEAD_START_MS = 400
/** Hello goes to one transport at a time: the next one waits this long for the first to be welcomed. */
const HELLO_GAP_MS = 1500
/** A race without a welcome ends after this long. Chromium gives up on a blackholed handshake later than this. */
const RACE_MS = 9000
/** Bytes of one stream message, either way. A longer one ends the connection: the peer is not ours. */
const MAX_MESSAGE = 64 << 10
/** Bytes of one datagram either way; others are dropped and counted. */
const MIN_DATAGRAM = 9, MAX_DATAGRAM = 1150
/** Where a datagram's sequence number stands, uint16 LE, and its send stamp, uint32 LE: microseconds since the epoch, wrapping. */
const SEQ_AT = 3, STAMP_AT = 5
/** How long a farewell may take: what the stream still holds, and the other side's reason. */
const LINGER_MS = 2000
/** Datagrams that may wait for WebTransport's writer; then the oldest is dropped: the newest knows more. */
const MAX_WAITING = 16
/** Bytes that may wait inside a WebSocket before datagrams are dropped instead of queued behind them. */
const MAX_BUFFERED = 32 << 10
/** Datagrams held for their release time (the demo's network panel); then the newest is dropped. */
const MAX_HELD = 2048
/** Datagrams posted to the page and not yet taken; beyond it they wait here, and then the oldest is dropped. */
const MAX_POSTED = 256

let epochMs = 0
const clock = () => performance.timeOrigin - epochMs + performance.now()

// What was dropped. Up: stale (displaced by newer ones), held (too many wait for their release), size, unsent (refused by the
// browser). Down: size, page (displaced, because the page did not take what had arrived).
const counts = { staleUp: 0, heldUp: 0, sizeUp: 0, unsentUp: 0, sizeDown: 0, pageDown: 0 }
let countsChanged = false
const count = name => { counts[name]++; countsChanged = true }
/** Counts an outgoing datagram as dropped and tells the engine. */
function drop(bytes, name) {
  count(name)
  if (bytes.byteLength >= MIN_DATAGRAM) postMessage({ did: "dropped", n: number, seqs: [new DataView(bytes).getUint16(SEQ_AT, true)] })
}

const reasonOf = e => (e && (e.message || e.reason || e.name)) || String(e || "closed")

/** Joins chunks of a byte stream into length-prefixed messages. */
class Messages {
  constructor(deliver) { this.deliver = deliver; this.held = new Uint8Array(0) }

  /** Takes a chunk; throws when a length is beyond MAX_MESSAGE. */
  push(chunk) {
    if (this.held.length) {
      const joined = new Uint8Array(this.held.length + chunk.length)
      joined.set(this.held)
      joined.set(chunk, this.held.length)
      chunk = joined
    }
    let at = 0
    while (chunk.length - at >= 4) {
      const size = new DataView(chunk.buffer, chunk.byteOffset + at, 4).getUint32(0, true)
      if (size > MAX_MESSAGE) throw new Error(`a stream message of ${size} bytes is beyond ${MAX_MESSAGE}`)
      if (chunk.length - at - 4 < size) break
      this.deliver(chunk.slice(at + 4, at + 4 + size).buffer)
      at += 4 + size
    }
    this.held = chunk.slice(at)
  }
}

const framed = bytes => {
  const frame = new Uint8Array(4 + bytes.byteLength)
  new DataView(frame.buffer).setUint32(0, bytes.byteLength, true)
  frame.set(new Uint8Array(bytes), 4)
  return frame
}

const stamp = bytes => new DataView(bytes).setUint32(STAMP_AT, Math.floor(clock() * 1000) >>> 0, true)

// A link is one transport's attempt: {name, message(bytes), datagram(bytes, stamped), close()}. It reports
// through on: opened(), message(ArrayBuffer), datagram(ArrayBuffer, arrivalMs), closed(reason) at most once.

function webTransport(target, on) {
  let session = null, stream = null, writer = null, over = false, pumping = false
  const waiting = []
  const link = { name: "webtransport", message, datagram, close }

  const end = reason => {
    if (over) return
    over = true
    waiting.length = 0
    try { session?.close() } catch { /* already closed, or never opened */ }
    on.closed(reason)
  }
  async function close() { // the stream's end tells the server that this is all
    over = true
    await Promise.race([stream?.then(w => w.close()), new Promise(r => setTimeout(r, LINGER_MS))]).catch(() => {})
    try { session?.close() } catch { /* as above */ }
  }

  function message(bytes) {
    if (bytes.byteLength > MAX_MESSAGE) return end(`refused to send a stream message of ${bytes.byteLength} bytes, beyond ${MAX_MESSAGE}`)
    if (!stream) stream = open()
    stream.then(w => w.write(framed(bytes))).catch(e => end(reasonOf(e)))
  }
  async function open() {
    const pair = await session.createBidirectionalStream()
    read(pair.readable.getReader())
    return pair.writable.getWriter()
  }
  async function read(reader) {
    const messages = new Messages(on.message)
    try {
      for (;;) {
        const { value, done } = await reader.read()
        if (done) { // the reason comes with the session's end
          stream.then(w => w.close()).catch(() => {})
          return setTimeout(() => end("the server closed the connection"), LINGER_MS)
        }
        if (!over) messages.push(value)
      }
    } catch (e) { end(reasonOf(e)) }
  }

  function datagram(bytes, stamped) {
    waiting.push(bytes, stamped)
    if (waiting.length > 2 * MAX_WAITING) drop(waiting.splice(0, 2)[0], "staleUp")
    if (!pumping) pump()
  }
  // The stamp is patched when the writer is ready, right before the bytes are handed over.
  async function pump() {
    pumping = true
    try {
      while (waiting.length && !over) {
        await writer.ready
        if (over || !waiting.length) break
        const bytes = waiting.shift(), stamped = waiting.shift()
        if (!stamped) stamp(bytes)
        writer.write(new Uint8Array(bytes)).catch(() => drop(bytes, "unsentUp")) // too large for this path, or closed
      }
    } catch (e) { end(reasonOf(e)) }
    pumping = false
  }

  async function run() {
    const options = { requireUnreliable: true }
    if (target.hashes?.length) options.serverCertificateHashes = target.hashes.map(value => ({ algorithm: "sha-256", value }))
    session = new WebTransport(target.url, options)
    session.closed.then(info => end(info?.reason || "the server closed the connection"), e => end(reasonOf(e)))
    await session.ready
    if (over) return
    const d = session.datagrams
    if ("incomingHighWaterMark" in d) d.incomingHighWaterMark = 64
    writer = (d.createWritable ? d.createWritable() : d.writable).getWriter() // the former replaced the latter in the standard
    writer.closed.catch(() => {}) // reported by session.closed
    on.opened()
    const reader = d.readable.getReader()
    for (;;) {
      const { value, done } = await reader.read()
      const arrival = clock()
      if (done || over) return
      on.datagram(value.byteLength === value.buffer.byteLength ? value.buffer : value.slice().buffer, arrival)
    }
  }
  run().catch(e => end(reasonOf(e)))
  return link
}

function webSocket(url, on) {
  let socket = null, over = false
  const end = reason => {
    if (over) return
    over = true
    on.closed(reason)
  }
  const send = (kind, bytes) => {
    const b = new Uint8Array(1 + bytes.byteLength)
    b[0] = kind
    b.set(new Uint8Array(bytes), 1)
    socket.send(b)
  }
  const link = {
    name: "websocket",
    message: bytes => send(1, bytes),
    datagram(bytes, stamped) {
      if (socket.bufferedAmount > MAX_BUFFERED) return drop(bytes, "staleUp")
      if (!stamped) stamp(bytes)
      send(0, bytes)
    },
    close() { over = true; socket?.close() },
  }
  try {
    socket = new WebSocket(url)
  } catch (e) { // a malformed address, or an insecure one on a secure page
    queueMicrotask(() => end(reasonOf(e)))
    return link
  }
  socket.binaryType = "arraybuffer"
  socket.onopen = () => { if (!over) on.opened() }
  socket.onclose = e => end(e.reason || `closed with code ${e.code}`)
  socket.onmessage = e => {
    const arrival = clock()
    if (over || !(e.data instanceof ArrayBuffer) || e.data.byteLength < 1) return
    const kind = new Uint8Array(e.data)[0]
    if (kind === 0) on.datagram(e.data.slice(1), arrival)
    else if (kind === 1) on.message(e.data.slice(1))
  }
  return link
}

// Delivery to the page: what arrived in one turn of the event loop goes in one message.
const turn = new MessageChannel()
let batch = [], turning = false, posted = 0
turn.port1.onmessage = () => { turning = false; deliver() }
function arrived(bytes, arrivalMs) {
  if (bytes.byteLength < MIN_DATAGRAM || bytes.byteLength > MAX_DATAGRAM) return count("sizeDown")
  batch.push(bytes, arrivalMs)
  if (batch.length > 2 * MAX_POSTED) { batch.splice(0, 2); count("pageDown") }
  if (!turning) { turning = true; turn.port2.postMessage(0) }
}
function deliver() {
  if (!batch.length || posted >= MAX_POSTED) return
  const list = batch
  batch = []
  posted += list.length / 2
  postMessage({ did: "datagrams", n: number, list }, list.filter((_, i) => i % 2 === 0))
}

// One race at a time. links: attempts under way; winner: the one that was welcomed.
let number = 0, links = [], winner = null, timers = []

const later = (ms, f) => timers.push(setTimeout(f, ms))

function stop() {
  for (const t of timers) clearTimeout(t)
  for (const link of links) link.close()
  timers = []
  links = []
  winner = null
  batch = []
  held.length = 0
}

function connect(order) {
  stop()
  number++
  epochMs = order.epochMs
  posted = 0
  const race = number, reasons = {}
  let helloAt = -Infinity, open = 0, started = 0

  const starts = {
    webtransport: on => webTransport(order.webtransport, on),
    websocket: on => webSocket(order.websocket, on),
  }
  const names = ["webtransport", "websocket"].filter(name => {
    if (!order[name]) reasons[name] = "the server does not offer it"
    else if (name === "webtransport" && typeof WebTransport === "undefined") {
      reasons[name] = self.isSecureContext ? "this browser does not have it" : "this page was not loaded over https or from localhost"
    } else if (name === "websocket" && typeof WebSocket === "undefined") reasons[name] = "this browser does not have it"
    else return true
  })
  if (order.first && names.includes(order.first)) names.sort((a, b) => (b === order.first) - (a === order.first))

  const failed = () => {
    if (race !== number || winner) return
    stop()
    postMessage({ did: "failed", n: race, reasons })
  }
  const startNext = () => {
    if (race !== number || winner || started >= names.length) return
    const name = names[started++]
    open++
    let hello = false
    const link = starts[name]({
      opened() {
        link.greet = () => {
          if (race !== number || winner || hello || !links.includes(link)) return
          const wait = helloAt + HELLO_GAP_MS - clock()
          if (wait > 0) return later(wait, link.greet)
          helloAt = clock()
          hello = true
          link.message(order.hello)
        }
        link.greet()
      },
      message(bytes) {
        if (race !== number) return
        if (winner === link) return postMessage({ did: "message", n: race, bytes }, [bytes])
        if (winner || !hello) return
        winner = link
        for (const t of timers) clearTimeout(t)
        for (const other of links) if (other !== link) other.close()
        links = [link]
        postMessage({ did: "welcome", n: race, transport: name, bytes }, [bytes])
      },
      datagram(bytes, arrivalMs) { if (race === number && winner === link) arrived(bytes, arrivalMs) },
      closed(reason) {
        if (race !== number) return
        reasons[name] = reason
        links = links.filter(l => l !== link)
        open--
        if (winner === link) {
          deliver()
          stop()
          postMessage({ did: "lost", n: race, reason })
        } else if (!winner) {
          if (hello) { // its hello is void: nobody needs to wait for the answer
            helloAt = -Infinity
            for (const l of links) l.greet?.()
          }
          if (started < names.length) startNext()
          else if (open === 0) failed()
        }
      },
    })
    links.push(link)
  }

  if (!names.length) return failed()
  startNext()
  later(HEAD_START_MS, startNext)
  later(RACE_MS, () => {
    for (const name of names) reasons[name] ??= "no answer"
    failed()
  })
}

// Held datagrams, sorted by release time: [releaseMs, bytes, stamped].
const held = []
let holdTimer = 0
function send(bytes, releaseMs, stamped) {
  if (!winner) return
  if (bytes.byteLength < MIN_DATAGRAM || bytes.byteLength > MAX_DATAGRAM) return count("sizeUp")
  if (!(releaseMs > clock())) return winner.datagram(bytes, stamped)
  if (held.length >= MAX_HELD) return drop(bytes, "heldUp")
  let i = held.length
  while (i > 0 && held[i - 1][0] > releaseMs) i--
  held.splice(i, 0, [releaseMs, bytes, stamped])
  if (i === 0) release()
}
function release() {
  clearTimeout(holdTimer)
  const now = clock()
  while (held.length && held[0][0] <= now + 0.25) { // a timer cannot be set more finely
    const [, bytes, stamped] = held.shift()
    winner?.datagram(bytes, stamped)
  }
  if (held.length) holdTimer = setTimeout(release, held[0][0] - now)
}

setInterval(() => {
  if (countsChanged) postMessage({ did: "counts", n: number, ...counts })
  countsChanged = false
}, 1000)

onmessage = ({ data }) => {
  switch (data.do) {
    case "connect": return connect(data)
    case "datagram": return send(data.bytes, data.releaseMs, data.stamped)
    case "message": return winner?.message(data.bytes)
    case "took":
      if (data.n === number) posted -= data.count
      return deliver()
    case "clock":
      epochMs = data.epochMs
      return postMessage({ did: "clock", sent: data.sent, now: clock() })
    case "close": return stop()
  }
}
