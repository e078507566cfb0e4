// The connection to the server: the race of two transports, the handshake, and what happens when it breaks. The sockets
// live in the Worker ../transport.js, which never waits behind a drawn frame.
import { clock, epochMs, mark } from "./clock.js"
import { Sentence } from "./notice.js"

/** @typedef {import("./engine.js").Config} Config */
/** @typedef {import("../meanwhile.d.ts").JoinOptions} JoinOptions */
/** @typedef {import("./game.js").PageGame} PageGame */

/** How long to wait before each attempt; later ones wait as long as the last. */
const RETRY_MS = [0, 250, 500, 1000, 2000, 4000]
/** For how long the winner of a race gets the head start in the next one. */
const REMEMBER_MS = 10 * 60_000
/** How often the clocks of page and Worker are compared; the closest comparison counts. */
const COMPARISONS = 5
/** How long an answer to the page may take: a path that was cut lets a request wait for minutes. */
const CONFIG_MS = 10_000
/** For how long a page says why it begins anew. */
const NOTE_MS = 5000
/** What the address of the next server's page keeps of this one's. */
const CARRIED = ["name", "room", "code"]
/** A difference of the two clocks beyond what the comparison itself can be wrong by, plus this, is real. */
const CLOCK_GRAIN_MS = 0.1

/** Keeps one connection at a time: opens it, loses it, opens the next one. */
export class Connection {
  /** @param {PageGame} game */
  constructor(game) {
    this.game = game
    this.attempts = 0
    /** Number of the present connect order; messages of earlier ones are ignored. */
    this.n = 0
    /** Name of the open connection's transport, "" while there is none. */
    this.transport = ""
    this.everJoined = false
    /** The server answered that it needs a connect token: a session that goes on does without. */
    this.needsToken = false
    /** Why the connection is about to end, as the server said; null: it is not.
     * @type {{notice: string, atMs: number, to: string} | null} */
    this.ending = null
    this.countdown = 0
    this.timer = 0
    this.skew = 0
    /** How many datagrams the Worker dropped, by reason.
     * @type {Record<string, number>} */
    this.dropped = {}
    this.worker = startWorker(new URL("../transport.js", import.meta.url))
    this.worker.onmessage = e => this.receive(e.data)
    this.worker.onerror = e => game.fail(new Sentence(`The page's transport could not start (${e.message || "no module Workers in this browser"}).`))
    /** @type {(comparison: {sent: number, now: number}) => void} */
    this.onclock = () => {}
    this.resolve = () => {}
    this.reject = (/** @type {Error} */ _) => {}
    /** Resolves with the first welcome. */
    this.joined = new Promise((resolve, reject) => { this.resolve = () => resolve(undefined); this.reject = reject })
    window.addEventListener("online", () => this.hurry())
  }

  /** Compares the clocks of page and Worker: some browsers give them different origins. */
  async compareClocks() {
    let least = Infinity, skew = 0
    for (let i = 0; i < COMPARISONS; i++) {
      const { sent, now } = await new Promise(resolve => {
        this.onclock = resolve
        this.worker.postMessage({ do: "clock", epochMs, sent: clock() })
      })
      const back = clock(), trip = back - sent
      if (trip < least) {
        least = trip
        skew = now - (sent + back) / 2
      }
    }
    this.skew = Math.abs(skew) > least / 2 + CLOCK_GRAIN_MS ? skew : 0
  }

  /** Tries to connect now. */
  async attempt() {
    clearTimeout(this.timer)
    this.timer = 0
    const { game } = this
    let { config } = game
    if (this.attempts++ > 0) {
      try {
        config = await loadConfig(game.options) // certificates change over time
      } catch (e) {
        return this.again(e instanceof Error ? e.message : String(e))
      }
      if (config.schema !== game.config.schema) return this.outdated(config.schema)
    }
    // Not to the own address, which could go on for ever: who waits gets in once the next server is there.
    if (config.to && new URL(config.to).host !== location.host) return this.go(config.to)
    /** @type {Uint8Array} */
    let token = new Uint8Array()
    try {
      if (this.needsToken || !game.resume.key) token = await connectToken(config, game.options)
    } catch (e) {
      const reason = e instanceof Error ? e.message : String(e)
      return e instanceof Refused ? this.refused(reason) : this.again(reason)
    }
    if (game.stopped) return // its engine has ended, or the page has left
    const only = game.options.transport
    this.n++
    this.worker.postMessage({
      do: "connect", epochMs: epochMs + this.skew, first: remembered(),
      webtransport: config.webtransport && only !== "websocket" ? { url: config.webtransport.url, hashes: hashes(config.webtransport) } : null,
      websocket: config.websocket && only !== "webtransport" ? config.websocket : null,
      hello: game.engine.hello(token, game.options.code ?? "").slice().buffer,
    })
  }

  /**
   * Reloads the page, since the server has changed; but never twice for the same version, which could go on for ever.
   * @param {string} schema the server's
   */
  outdated(schema) {
    const key = "meanwhile.reloaded"
    try {
      if (sessionStorage.getItem(key) !== schema) {
        sessionStorage.setItem(key, schema)
        return location.reload()
      }
    } catch { /* no storage: the person decides */ }
    this.game.notice.show("veil", "The game was updated on the server.", { reload: true })
  }

  /**
   * Tries again later.
   * @param {string} reason why there is no connection
   * @param {number} [retryMs] after how long; as the server asks with its reason; undefined: after longer and longer
   */
  again(reason, retryMs) {
    if (this.game.stopped) return
    const ms = retryMs ?? RETRY_MS[Math.min(this.attempts, RETRY_MS.length - 1)]
    if (this.attempts > 1 || retryMs) {
      const when = ms >= 1000 ? ` Trying again in ${Math.round(ms / 1000)} s.` : ""
      if (this.everJoined) this.game.notice.show("banner", `${this.lost()} Reconnecting…${when}`)
      else if (retryMs) this.game.notice.show("veil", reason + when) // the server's own sentence
      else this.game.notice.show("veil", `No connection to the server.${when}`, { second: reason })
    }
    clearTimeout(this.timer)
    this.timer = window.setTimeout(() => this.attempt(), ms)
  }

  /** Tries again at once if an attempt is waiting: the network or the person is back. */
  hurry() { if (this.timer) this.attempt() }

  /** Gives up the open connection and opens another. */
  renew() {
    if (!this.transport) return
    this.worker.postMessage({ do: "close" })
    this.receive({ did: "lost", n: this.n, reason: "nothing arrived any more" })
  }

  /** Opens another connection in place of the open one, since the path is another: client and server learn anew what it carries. */
  change() {
    if (!this.transport) return
    this.worker.postMessage({ do: "close" })
    this.transport = this.game.transport = ""
    this.game.call("lost", clock())
    this.again("the path is another", 0)
  }

  /** Handles a message of the Worker; transport.js lists them.
   * @param {any} message */
  receive(message) {
    if (message.did === "clock") return this.onclock(message)
    if (message.n !== this.n) return
    const { game } = this
    switch (message.did) {
      case "datagrams":
        for (let i = 0; i < message.list.length; i += 2) game.call("receive", new Uint8Array(message.list[i]), message.list[i + 1])
        this.worker.postMessage({ do: "took", n: this.n, count: message.list.length / 2 })
        return game.passTime()
      case "dropped":
        for (const seq of message.seqs) game.call("dropped", seq)
        return
      case "counts":
        this.dropped = message
        return
      case "message": {
        const reply = game.call("message", new Uint8Array(message.bytes))
        if (reply?.notice) this.announce(reply)
        if (!reply?.goodbye) return
        this.worker.postMessage({ do: "close" })
        this.transport = game.transport = ""
        clearInterval(this.countdown)
        return this.refused(reply.goodbye)
      }
      case "welcome": return this.welcome(message)
      case "lost":
        // Given up already, by the server's word or by us: the Worker said so before it knew. That is no reason to come back.
        if (!this.transport) return
        this.transport = game.transport = ""
        game.call("lost", clock())
        clearInterval(this.countdown)
        if (this.ending?.to) return this.go(this.ending.to)
        game.notice.show("banner", `${this.lost()} Reconnecting…`)
        return this.again(message.reason, 0)
      case "failed": return this.failed(message.reasons)
    }
  }

  /** Why there is no connection, in a sentence. */
  lost() { return this.ending?.notice || "Connection lost." }

  /**
   * Shows that the connection is about to end, and when.
   * @param {{notice: string, inMs: number, to: string}} reply
   */
  announce({ notice, inMs, to }) {
    if (this.ending && !inMs) to ||= this.ending.to // the end that was announced before
    this.ending = { notice, atMs: clock() + inMs, to }
    clearInterval(this.countdown)
    const show = () => {
      const left = Math.ceil((/** @type {any} */ (this.ending).atMs - clock()) / 1000)
      this.game.notice.show("banner", left > 0 ? `${notice} ${left} s left.` : notice)
    }
    show()
    if (inMs > 0) this.countdown = window.setInterval(show, 1000)
  }

  /** Loads the page to which the server sends its players.
   * @param {string} to */
  go(to) {
    try {
      const url = new URL(to, location.href)
      if (!/^https?:$/.test(url.protocol)) throw new Error("no page")
      const here = new URLSearchParams(location.search)
      for (const name of CARRIED) if (here.has(name) && !url.searchParams.has(name)) url.searchParams.set(name, here.get(name) ?? "")
      this.game.notice.show("veil", `Moving to ${url.host}…`)
      location.assign(url.href)
    } catch {
      this.ending = null
      this.game.notice.show("banner", "Connection lost. Reconnecting…")
      this.again("the server named no page to go to", 0)
    }
  }

  /** Ends the connection, telling the server why.
   * @param {string} reason */
  close(reason) {
    clearTimeout(this.timer)
    clearInterval(this.countdown)
    this.worker.postMessage({ do: "close", reason })
  }

  /** Passes the server's first message to the engine, which says whether we may play.
   * @param {{bytes: ArrayBuffer, transport: "webtransport" | "websocket"}} message */
  welcome({ bytes, transport }) {
    const { game } = this
    const { error, retryMs, needsToken, needsCode, note, resume } = game.call("welcome", new Uint8Array(bytes), transport, clock())
    if (error) {
      this.worker.postMessage({ do: "close" })
      if (needsToken && !this.needsToken && game.resume.key) {
        this.needsToken = true
        return this.again(error, 0)
      }
      if (needsCode) return this.askForCode(error)
      return retryMs ? this.again(error, retryMs) : this.refused(error)
    }
    this.attempts = 1
    this.transport = game.transport = transport
    if (!this.everJoined) mark("joined")
    this.everJoined = true
    this.needsToken = false
    this.ending = null
    game.resume.key = resume || ""
    remember(transport)
    if (note) {
      game.notice.show("banner", note)
      setTimeout(() => { if (game.notice.text === note) game.notice.hide() }, NOTE_MS)
    } else game.notice.hide()
    this.resolve()
  }

  /** No transport got through.
   * @param {{webtransport: string, websocket: string}} reasons */
  failed({ webtransport, websocket }) {
    remember("")
    if (/^this browser/.test(webtransport) && /^this browser/.test(websocket)) {
      return this.refused("This browser offers neither WebTransport nor WebSocket, so it cannot play here. Any current browser can.")
    }
    this.again(`WebTransport: ${webtransport}. WebSocket: ${websocket}.`)
  }

  /** Lets the person enter the code of a private room.
   * @param {string} sentence */
  askForCode(sentence) {
    this.game.notice.show("veil", sentence, { ask: code => {
      if (!code) return
      this.game.options.code = code
      this.game.notice.show("veil", "Connecting…", { progress: null })
      this.attempt()
    } })
  }

  /** Shows why there will be no connection.
   * @param {string} sentence */
  refused(sentence) {
    this.game.notice.show("veil", sentence, { reload: true })
    this.reject(new Sentence(sentence))
  }

  /** Sends a datagram of the engine.
   * @type {import("./engine.js").Send} */
  send(bytes, releaseMs, stamped) {
    this.worker.postMessage({ do: "datagram", bytes: bytes.buffer, releaseMs: releaseMs || 0, stamped: !!stamped }, [bytes.buffer])
  }

  /** Sends a message of the engine on the reliable stream.
   * @param {Uint8Array} bytes */
  message(bytes) { this.worker.postMessage({ do: "message", bytes: bytes.buffer }, [bytes.buffer]) }
}

/** The login says no: trying again would not help. */
class Refused extends Sentence {}

/**
 * Returns the connect token for the next connection: the page's own, or what the server's login gives for the page's
 * credential or cookies; empty where no token is needed.
 * @param {Config} config
 * @param {JoinOptions} options
 * @returns {Promise<Uint8Array>}
 */
async function connectToken(config, options) {
  const value = (/** @type {JoinOptions["token"]} */ v) => typeof v === "function" ? v() : v
  let text = await value(options.token)
  if (text === undefined && config.login) {
    const credential = await value(options.credential)
    const url = new URL(config.login)
    if (options.room) url.searchParams.set("room", options.room)
    const response = await fetch(url, {
      method: "POST", cache: "no-store", headers: credential ? { Authorization: `Bearer ${credential}` } : {},
    })
    if (!response.ok) {
      const reason = (await response.text()).trim().split("\n")[0].slice(0, 200) || `The login answered ${response.status}.`
      throw response.status === 401 || response.status === 403 ? new Refused(reason) : new Sentence(reason)
    }
    text = (await response.json()).token
  }
  try {
    return Uint8Array.from(atob(text ?? ""), c => c.charCodeAt(0))
  } catch {
    throw new Refused("This link is not valid. Log in again.")
  }
}

/**
 * Starts the Worker. Its script must come from the page's own host, but what that imports need not.
 * @param {URL} script
 */
function startWorker(script) {
  if (script.origin === location.origin) return new Worker(script, { type: "module" })
  const own = URL.createObjectURL(new Blob([`import ${JSON.stringify(script.href)}`], { type: "text/javascript" }))
  return new Worker(own, { type: "module" })
}

/** The address of the server's answers to pages.
 * @param {JoinOptions} options */
export const configURL = options => new URL(options.config ?? new URL("/meanwhile.json", import.meta.url), location.href)

/**
 * Asks the server what to load and where to connect. Every address of the answer is whole.
 * @param {JoinOptions} options
 * @returns {Promise<Config>}
 */
export async function loadConfig(options) {
  const url = configURL(options)
  if (options.room) url.searchParams.set("room", options.room)
  let response
  try {
    response = await fetch(url, { cache: "no-store", signal: AbortSignal.timeout(CONFIG_MS) })
  } catch (e) {
    if (url.origin === location.origin) throw new Sentence("The server does not answer.")
    if (location.protocol === "https:" && url.protocol === "http:" && !/^(localhost|127\..*|\[::1\])$/.test(url.hostname)) {
      throw new Sentence(`This page came over https, so browsers let it play on servers with https only, and ${url.origin} has none.`)
    }
    if (!(e instanceof DOMException) && await answers(url)) {
      throw new Sentence(`The server ${url.origin} answers, but not to pages of ${location.origin}: its answer has no CORS header. ` +
        "If it is a game's server behind a proxy, the proxy removes the header; else the address is wrong.")
    }
    throw new Sentence(`The server ${url.origin} does not answer, or its certificate is not valid.`)
  }
  if (!response.ok) throw new Sentence((await response.text()).trim().split("\n")[0].slice(0, 200) || `The server answered ${response.status}.`)
  const config = await response.json()
  for (const name of ["wasm", "exec", "engine", "login", "to"]) if (config[name]) config[name] = new URL(config[name], url).href
  config.exec ??= new URL("/wasm_exec.js", url).href
  if (config.webtransport) config.webtransport.url = address(config.webtransport.url, "https:", url)
  if (config.websocket) config.websocket = address(config.websocket, url.protocol === "https:" ? "wss:" : "ws:", url)
  return config
}

/** Whether anything answers at an address, though this page may not read it.
 * @param {URL} url */
async function answers(url) {
  try {
    await fetch(url, { mode: "no-cors", cache: "no-store", signal: AbortSignal.timeout(CONFIG_MS) })
    return true
  } catch { return false }
}

/**
 * Completes an address of the configuration: a whole one, a path on the server, or ":port/path" on its host.
 * @param {string} url
 * @param {string} protocol
 * @param {URL} server
 */
function address(url, protocol, server) {
  if (url.startsWith(":")) {
    const host = server.hostname === "localhost" ? "127.0.0.1" : server.hostname // QUIC tries one address only
    url = `${protocol}//${host}${url}`
  }
  const whole = new URL(url, server)
  if (/^https?:$/.test(whole.protocol) && protocol.startsWith("ws")) whole.protocol = protocol
  return whole.href
}

/**
 * The SHA-256 hashes of certificates: hexadecimal or base64 text, or an array of bytes; one (hash) or several (hashes).
 * @param {{hash?: string, hashes?: (string | number[])[]}} entry
 */
function hashes({ hash, hashes }) {
  return (hashes ?? (hash ? [hash] : [])).map(h => {
    if (typeof h !== "string") return new Uint8Array(h)
    if (/^[0-9a-f]{64}$/i.test(h)) return Uint8Array.from(h.match(/../g) ?? [], x => parseInt(x, 16))
    return Uint8Array.from(atob(h), c => c.charCodeAt(0))
  })
}

const MEMORY = "meanwhile.transport"

/** The transport that gets the head start. */
function remembered() {
  try {
    const { name, until } = JSON.parse(localStorage.getItem(MEMORY) ?? "{}")
    return until > Date.now() && until <= Date.now() + REMEMBER_MS ? name : "webtransport"
  } catch { return "webtransport" }
}

/** Remembers the winner of a race; "" forgets it.
 * @param {string} name */
function remember(name) {
  try {
    if (name) localStorage.setItem(MEMORY, JSON.stringify({ name, until: Date.now() + REMEMBER_MS }))
    else localStorage.removeItem(MEMORY)
  } catch { /* no storage: WebTransport goes first each time */ }
}
