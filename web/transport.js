// The page's transport. It is a Worker, so that send and arrival stamps are taken at the socket and never wait behind a drawn
// frame. It races WebTransport against WebSocket, carries datagrams and one reliable stream, and stamps what leaves and what
// arrives. It knows nothing of the game: the bytes belong to the engine in the page.
//
// Instants are milliseconds since the page's epoch, on the same clock as g.now in the page.
//
// Page to Worker
//   {do: "connect", epochMs, webtransport: {url, hashes}|null, websocket: url|null, first, hello}
//       first: name of the transport that gets the head start; hello: ArrayBuffer, the first stream message
//   {do: "datagram", bytes, releaseMs, stamped}   bytes: ArrayBuffer; releaseMs 0 or in the past: send at once
//   {do: "message", bytes}                        a message on the reliable stream
//   {do: "took", n, count}                        the page has handled count datagrams of connection n
//   {do: "clock", epochMs, sent}                  answered with this thread's clock, to compare the two threads
//   {do: "close"}
// Worker to page; all but clock carry n, the number of the connect order that they belong to: 1, 2, ...
//   {did: "welcome", transport, bytes}            the first message of the winning stream
//   {did: "message", bytes}                       every later one
//   {did: "datagrams", list: [bytes, arrivalMs, bytes, arrivalMs, ...]}
//   {did: "lost", reason}                         the winner closed; nothing more comes
//   {did: "failed", reasons: {webtransport, websocket}}   no transport was welcomed
//   {did: "dropped", seqs: [seq]}                 datagrams that never left: they are no loss on the path
//   {did: "counts", ...}                          how many datagrams were dropped, by reason; once a second when it changed
//   {did: "clock", sent, now}
//
// On the wire: WebTransport sends datagrams as they are, and frames each stream message as a uint32 LE length and its bytes,
// on one bidirectional stream that this side opens. WebSocket sends binary messages whose first byte is 0 for a datagram and
// 1 for a stream message.

/** The transport that goes first is alone for this long; the other starts then, or as soon as the first fails. */
const HEAD_START_MS = 400
/** Hello goes to one transport at a time: the second waits this long for the first to be welcomed. */
const HELLO_GAP_MS = 1500
/** A race without a welcome ends after this long. Chromium gives up on an unanswered handshake later than this. */
const RACE_MS = 9000
/** The largest stream message either way, in bytes. A larger one ends the connection: the peer is not ours. */
const MAX_MESSAGE = 64 << 10
/** The smallest and the largest datagram either way, in bytes. Others are dropped and counted. */
const MIN_DATAGRAM = 5, MAX_DATAGRAM = 1150
/** Offsets in a datagram: its send stamp, the low 24 bits of microseconds, LE, and its sequence number, uint16 LE. */
const STAMP_AT = 0, SEQ_AT = 3
/** How long a closing connection may take: to send what the stream still holds, and to hear the server's reason. */
const LINGER_MS = 2000
/** Datagrams that may wait for WebTransport's writer. Beyond it the oldest is dropped: the newest one knows more. */
const MAX_WAITING = 16
/** Bytes that may wait inside a WebSocket. Beyond it new datagrams are dropped instead of queued behind them. */
const MAX_BUFFERED = 32 << 10
/** Datagrams that may wait for their release time (the demo's simulated network). Beyond it the newest is dropped. */
const MAX_SCHEDULED = 2048
/** Datagrams that the page may have been given and not yet handled. Beyond it they wait here. */
const MAX_POSTED = 256
/** Datagrams that may wait here for the page. Beyond it the oldest is dropped. */
const MAX_ARRIVED = 256
/** A timer cannot be set more finely than this. */
const TIMER_GRAIN_MS = 0.25

let epochMs = 0
const clock = () => performance.timeOrigin - epochMs + performance.now()

/**
 * How many datagrams were dropped, by reason. Up: displacedUp (newer ones took their place), scheduledUp (too many wait for
 * their release), sizeUp, refusedUp (by the browser). Down: sizeDown, displacedDown (the page did not handle them in time).
 */
const counts = { displacedUp: 0, scheduledUp: 0, sizeUp: 0, refusedUp: 0, sizeDown: 0, displacedDown: 0 }
let countsChanged = false

/** @param {keyof typeof counts} reason */
function count(reason) {
  counts[reason]++
  countsChanged = true
}

/**
 * Counts an outgoing datagram as dropped and tells the page.
 * @param {ArrayBuffer} bytes
 * @param {keyof typeof counts} reason
 */
function drop(bytes, reason) {
  count(reason)
  if (bytes.byteLength >= MIN_DATAGRAM) postMessage({ did: "dropped", n: number, seqs: [new DataView(bytes).getUint16(SEQ_AT, true)] })
}

const reasonOf = (/** @type {any} */ e) => (e && (e.message || e.reason || e.name)) || String(e || "closed")
const wait = (/** @type {number} */ ms) => new Promise(done => setTimeout(done, ms))

/** Splits a byte stream into messages: each is a uint32 LE length and its bytes. */
class Messages {
  /** @param {(message: ArrayBuffer) => void} deliver */
  constructor(deliver) {
    this.deliver = deliver
    this.rest = new Uint8Array(0)
  }

  /**
   * Adds the next bytes of the stream. Throws when a message is longer than MAX_MESSAGE.
   * @param {Uint8Array} chunk
   */
  push(chunk) {
    if (this.rest.length) {
      const joined = new Uint8Array(this.rest.length + chunk.length)
      joined.set(this.rest)
      joined.set(chunk, this.rest.length)
      chunk = joined
    }
    let at = 0
    while (chunk.length - at >= 4) {
      const size = new DataView(chunk.buffer, chunk.byteOffset + at, 4).getUint32(0, true)
      if (size > MAX_MESSAGE) throw new Error(tooLong("got", size))
      if (chunk.length - at - 4 < size) break
      this.deliver(chunk.slice(at + 4, at + 4 + size).buffer)
      at += 4 + size
    }
    this.rest = chunk.slice(at)
  }
}

/** @param {ArrayBuffer} bytes */
function framed(bytes) {
  const frame = new Uint8Array(4 + bytes.byteLength)
  new DataView(frame.buffer).setUint32(0, bytes.byteLength, true)
  frame.set(new Uint8Array(bytes), 4)
  return frame
}

/** @param {ArrayBuffer} bytes */
function stamp(bytes) {
  const view = new DataView(bytes), us = Math.floor(clock() * 1000) >>> 0
  view.setUint16(STAMP_AT, us & 0xffff, true)
  view.setUint8(STAMP_AT + 2, us >>> 16 & 0xff)
}

const tooLong = (/** @type {string} */ what, /** @type {number} */ bytes) => `${what} a stream message of ${bytes} bytes, beyond ${MAX_MESSAGE}`

/**
 * One transport's attempt to connect.
 * @typedef {object} Link
 * @property {(bytes: ArrayBuffer) => void} message
 * @property {(bytes: ArrayBuffer, stamped: boolean) => void} datagram
 * @property {(reason?: string) => void} close
 * @property {() => void} [greet] sends the hello, when it is this transport's turn
 */
/**
 * What a link reports; closed at most once.
 * @typedef {object} Reports
 * @property {() => void} opened
 * @property {(bytes: ArrayBuffer) => void} message
 * @property {(bytes: ArrayBuffer, arrivalMs: number) => void} datagram
 * @property {(reason: string) => void} closed
 */

/**
 * @param {{url: string, hashes: Uint8Array<ArrayBuffer>[]}} target
 * @param {Reports} on
 * @returns {Link}
 */
function webTransport(target, on) {
  /** @type {any} */
  let session = null
  /** @type {Promise<WritableStreamDefaultWriter> | null} */
  let stream = null
  /** @type {WritableStreamDefaultWriter} */
  let writer
  let over = false, pumping = false
  /** @type {{bytes: ArrayBuffer, stamped: boolean}[]} */
  const waiting = []

  const end = (/** @type {string} */ reason) => {
    if (over) return
    over = true
    waiting.length = 0
    try { session?.close() } catch { /* already closed, or never opened */ }
    on.closed(reason)
  }
  /** @param {string} [reason] */
  async function close(reason) { // the stream's end tells the server that this is all
    over = true
    await Promise.race([stream?.then(w => w.close()), wait(LINGER_MS)]).catch(() => {})
    try { session?.close({ closeCode: 0, reason: reason ?? "" }) } catch { /* as above */ }
  }

  /** @param {ArrayBuffer} bytes */
  function message(bytes) {
    if (bytes.byteLength > MAX_MESSAGE) return end(tooLong("refused to send", bytes.byteLength))
    if (!stream) stream = open()
    stream.then(w => w.write(framed(bytes))).catch(e => end(reasonOf(e)))
  }
  async function open() {
    const pair = await session.createBidirectionalStream()
    read(pair.readable.getReader())
    return pair.writable.getWriter()
  }
  /** @param {ReadableStreamDefaultReader<Uint8Array>} reader */
  async function read(reader) {
    const messages = new Messages(on.message)
    try {
      for (;;) {
        const { value, done } = await reader.read()
        if (done) { // the reason comes with the session's end
          stream?.then(w => w.close()).catch(() => {})
          setTimeout(() => end("the server closed the connection"), LINGER_MS)
          return
        }
        if (!over) messages.push(value)
      }
    } catch (e) { end(reasonOf(e)) }
  }

  /**
   * @param {ArrayBuffer} bytes
   * @param {boolean} stamped
   */
  function datagram(bytes, stamped) {
    waiting.push({ bytes, stamped })
    if (waiting.length > MAX_WAITING) drop(/** @type {any} */ (waiting.shift()).bytes, "displacedUp")
    if (!pumping) pump()
  }
  // The stamp is written when the writer is ready, right before it gets the bytes.
  async function pump() {
    pumping = true
    try {
      while (waiting.length && !over) {
        await writer.ready
        const next = waiting.shift()
        if (over || !next) break
        if (!next.stamped) stamp(next.bytes)
        // Refused: too large for this path. After the end it does not matter, and a new connection has its own numbers.
        writer.write(new Uint8Array(next.bytes)).catch(() => { if (!over) drop(next.bytes, "refusedUp") })
      }
    } catch (e) { end(reasonOf(e)) }
    pumping = false
  }

  async function run() {
    /** @type {any} */
    const options = { requireUnreliable: true }
    if (target.hashes?.length) options.serverCertificateHashes = target.hashes.map(value => ({ algorithm: "sha-256", value }))
    session = new WebTransport(target.url, options)
    session.closed.then(
      (/** @type {any} */ info) => end(info?.reason || "the server closed the connection"),
      (/** @type {any} */ e) => end(reasonOf(e)))
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
  return { message, datagram, close }
}

/**
 * @param {string} url
 * @param {Reports} on
 * @returns {Link}
 */
function webSocket(url, on) {
  /** @type {any} */
  let socket = null
  let over = false
  const end = (/** @type {string} */ reason) => {
    if (over) return
    over = true
    on.closed(reason)
  }
  const refuse = (/** @type {string} */ reason) => {
    socket.close()
    end(reason)
  }
  // The server has closed it, or the network, and onclose has not run yet: the browser would complain of each frame.
  const closing = () => socket.readyState > 1
  const send = (/** @type {number} */ kind, /** @type {ArrayBuffer} */ bytes) => {
    const b = new Uint8Array(1 + bytes.byteLength)
    b[0] = kind
    b.set(new Uint8Array(bytes), 1)
    socket.send(b)
  }
  /** @type {Link} */
  const link = {
    message(bytes) {
      if (bytes.byteLength > MAX_MESSAGE) return refuse(tooLong("refused to send", bytes.byteLength))
      if (!closing()) send(1, bytes)
    },
    datagram(bytes, stamped) {
      if (closing()) return drop(bytes, "refusedUp")
      if (socket.bufferedAmount > MAX_BUFFERED) return drop(bytes, "displacedUp")
      if (!stamped) stamp(bytes)
      send(0, bytes)
    },
    close(reason) {
      over = true
      const late = socket
      // One that still connects (readyState 0) would leave a warning on the console.
      if (late?.readyState === 0) late.onopen = () => late.close(1000, reason)
      else late?.close(1000, reason)
    },
  }
  try {
    socket = new WebSocket(url)
  } catch (e) { // a malformed address, or an insecure one on a secure page
    queueMicrotask(() => end(reasonOf(e)))
    return link
  }
  socket.binaryType = "arraybuffer"
  socket.onopen = () => { if (!over) on.opened() }
  socket.onclose = (/** @type {CloseEvent} */ e) => end(e.reason || `closed with code ${e.code}`)
  socket.onmessage = (/** @type {MessageEvent} */ e) => {
    const arrival = clock()
    if (over || !(e.data instanceof ArrayBuffer) || e.data.byteLength < 1) return
    const kind = new Uint8Array(e.data)[0], size = e.data.byteLength - 1
    if (kind === 0) on.datagram(e.data.slice(1), arrival)
    else if (kind === 1 && size <= MAX_MESSAGE) on.message(e.data.slice(1))
    else if (kind === 1) refuse(tooLong("got", size))
  }
  return link
}

// Delivery to the page: what arrives in one turn of the event loop goes in one message.
const turn = new MessageChannel()
/** @type {(ArrayBuffer | number)[]} */
let batch = [] // bytes, arrivalMs, bytes, arrivalMs, ...
let turning = false, posted = 0
turn.port1.onmessage = () => { turning = false; deliver() }

/**
 * @param {ArrayBuffer} bytes
 * @param {number} arrivalMs
 */
function arrived(bytes, arrivalMs) {
  if (bytes.byteLength < MIN_DATAGRAM || bytes.byteLength > MAX_DATAGRAM) return count("sizeDown")
  batch.push(bytes, arrivalMs)
  if (batch.length > 2 * MAX_ARRIVED) { batch.splice(0, 2); count("displacedDown") }
  if (!turning) { turning = true; turn.port2.postMessage(0) }
}

function deliver() {
  if (!batch.length || posted >= MAX_POSTED) return
  const list = batch
  batch = []
  posted += list.length / 2
  postMessage({ did: "datagrams", n: number, list }, /** @type {any} */ (list.filter((_, i) => i % 2 === 0)))
}

// One race at a time. number: of the connect order; links: attempts under way; winner: the link that was welcomed.
let number = 0
/** @type {Link[]} */
let links = []
/** @type {Link | null} */
let winner = null
/** @type {any[]} */
let timers = []

const later = (/** @type {number} */ ms, /** @type {() => void} */ f) => { timers.push(setTimeout(f, ms)) }

/** Ends the race and its links.
 * @param {string} [reason] told to the server */
function stop(reason) {
  for (const t of timers) clearTimeout(t)
  for (const link of links) link.close(reason)
  timers = []
  links = []
  winner = null
  batch = []
  scheduled.length = 0
}

/** Starts a race.
 * @param {any} order the page's message */
function connect(order) {
  stop()
  number++
  epochMs = order.epochMs
  posted = 0
  const race = number
  /** @type {Record<string, string>} */
  const reasons = {}
  let helloAt = -Infinity, open = 0, started = 0

  /** @type {Record<string, (on: Reports) => Link>} */
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
  if (order.first && names.includes(order.first)) names.sort((a, b) => Number(b === order.first) - Number(a === order.first))

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
          const gap = helloAt + HELLO_GAP_MS - clock()
          if (gap > 0) return later(gap, () => link.greet?.())
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
          if (hello) { // nothing will answer its hello: the other transport need not wait
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

/** Datagrams that wait for their release time, the next one first.
 * @type {{releaseMs: number, bytes: ArrayBuffer, stamped: boolean}[]} */
const scheduled = []
/** @type {any} */
let releaseTimer = 0

/**
 * Sends a datagram, now or at its release time.
 * @param {ArrayBuffer} bytes
 * @param {number} releaseMs
 * @param {boolean} stamped
 */
function send(bytes, releaseMs, stamped) {
  if (!winner) return
  if (bytes.byteLength < MIN_DATAGRAM || bytes.byteLength > MAX_DATAGRAM) return drop(bytes, "sizeUp")
  if (!(releaseMs > clock())) return winner.datagram(bytes, stamped)
  if (scheduled.length >= MAX_SCHEDULED) return drop(bytes, "scheduledUp")
  let i = scheduled.length
  while (i > 0 && scheduled[i - 1].releaseMs > releaseMs) i--
  scheduled.splice(i, 0, { releaseMs, bytes, stamped })
  if (i === 0) release()
}

/** Sends due datagrams, and sets the timer for the next one. */
function release() {
  clearTimeout(releaseTimer)
  const now = clock()
  while (scheduled.length && scheduled[0].releaseMs <= now + TIMER_GRAIN_MS) {
    const { bytes, stamped } = /** @type {any} */ (scheduled.shift())
    winner?.datagram(bytes, stamped)
  }
  if (scheduled.length) releaseTimer = setTimeout(release, scheduled[0].releaseMs - now)
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
    case "close": return stop(data.reason)
  }
}
