// Loading the engine: the game's Go program, compiled to WebAssembly. docs/BRIDGE.md describes the calls it offers.
import { mark } from "./clock.js"
import { Sentence } from "./notice.js"

/**
 * /meanwhile.json, the server's answer to "what do I load and where do I connect?". docs/BRIDGE.md has its table.
 * @typedef {object} Config
 * @property {string} game
 * @property {string} schema
 * @property {string} [wasm]
 * @property {number} [wasmBytes]
 * @property {string} [exec]
 * @property {string} [engine]
 * @property {{url: string, hash?: string, hashes?: (string | number[])[]} | null} [webtransport]
 * @property {string | null} [websocket]
 * @property {boolean} [truth]
 * @property {boolean} [saves]
 * @property {boolean} [reports]
 * @property {string} [login]
 * @property {boolean} [ends]
 * @property {string} [to]
 * @property {boolean} [local]
 */

/**
 * The engine's side of the bridge.
 * @typedef {object} Engine
 * @property {(config: string, send: Send, message: (bytes: Uint8Array) => void, clock?: () => number) => {error: string, layout: string}} start
 * @property {(token: Uint8Array, code: string) => Uint8Array} hello
 * @property {(bytes: Uint8Array, transport: string, nowMs: number) => {error: string, retryMs: number, needsToken: boolean, needsCode: boolean, note: string, resume: string}} welcome
 * @property {(bytes: Uint8Array) => {goodbye: string, notice: string, inMs: number, to: string}} message
 * @property {(nowMs: number) => void} lost
 * @property {(seq: number) => void} dropped
 * @property {(bytes: Uint8Array, arrivalMs: number) => void} receive
 * @property {(nowMs: number, shownMs: number) => number} frame
 * @property {(into: Uint8Array, pressedMs?: number) => number} me
 * @property {(command: Uint8Array, pressedMs: number) => void} tick
 * @property {(into: Uint8Array) => number} draw
 * @property {() => string} texts
 * @property {() => string} desyncs
 * @property {(message: number, floats: Uint8Array, texts: string) => {error: string, call: number}} say
 * @property {() => string} heard
 * @property {(name: string, value: number | string) => string} setting
 * @property {(nowMs: number) => void} leave
 * @property {() => string} [lastWords] the first line of the panic that ended the engine, or ""
 */

/** @typedef {(bytes: Uint8Array, releaseMs: number, stamped: boolean) => void} Send */

/** Lines of the engine's output that are kept, to find the panic in them. */
const MAX_LINES = 40

/**
 * Fetches and starts the engine.
 * @param {Config} config
 * @param {(part: number | null) => void} progress gets 0 to 1 while the program is fetched, or null when its size is not known
 * @returns {Promise<Engine>}
 */
export async function startEngine(config, progress) {
  if (config.engine) return (await import(config.engine)).boot(config)
  if (typeof WebAssembly === "undefined") throw new Sentence("This browser cannot run WebAssembly, which the game needs.")
  const page = /** @type {any} */ (globalThis)
  const fetched = fetch(config.wasm ?? "")
  fetched.catch(() => {}) // awaited below
  await import(/** @type {string} */ (config.exec))
  /** @type {string[]} */
  const lines = []
  const write = page.fs.writeSync
  page.fs.writeSync = (/** @type {number} */ fd, /** @type {Uint8Array} */ bytes) => {
    if (lines.length < MAX_LINES) lines.push(new TextDecoder().decode(bytes))
    return write(fd, bytes)
  }
  const response = await fetched
  if (!response.ok) throw new Sentence(`The game's program ${config.wasm} could not be loaded (${response.status} ${response.statusText}).`)
  const total = config.wasmBytes || (response.headers.get("Content-Encoding") ? 0 : Number(response.headers.get("Content-Length")))
  report(response.clone(), got => progress(total ? got / total : null)).catch(() => {})
  const go = new page.Go(), calls = new Calls(go)
  const { instance } = await WebAssembly.instantiateStreaming(response, go.importObject)
  mark("compiled")
  delete page.__meanwhile
  calls.program = instance.exports
  go.run(instance)
  mark("started")
  const offered = page.__meanwhile
  delete page.__meanwhile
  if (!offered) throw new Sentence("The game's program started, but it offers this page no engine.")
  const lastWords = () => /(panic: .*|fatal error: .*)/.exec(lines.join(""))?.[1] ?? ""
  return { ...offered, ...calls.engine(offered.start), lastWords }
}

/** The calls for each frame and each datagram, which go straight to the program's exports and memory: docs/BRIDGE.md. */
class Calls {
  /** @param {any} go what runs the program; it gets the functions that the program imports */
  constructor(go) {
    this.go = go
    /** The program's exports.
     * @type {any} */
    this.program = null
    /** @type {Send} */
    this.send = () => {}
    this.clock = () => performance.now()
    go.importObject.meanwhile = {
      send: (/** @type {number} */ at, /** @type {number} */ n, /** @type {number} */ releaseMs, /** @type {number} */ stamped) =>
        this.send(this.bytes(at, n).slice(), releaseMs, stamped !== 0),
      clock: () => this.clock(),
    }
  }

  /** The program's memory, which may have moved since the last call.
   * @param {number} at
   * @param {number} n */
  bytes(at, n) { return new Uint8Array(this.program.mem.buffer, at, n) }

  /**
   * Calls an export. A program that has ended does not say so itself.
   * @param {string} name
   * @param {number[]} args
   * @returns {number}
   */
  call(name, ...args) {
    if (!this.go.exited) {
      const answer = this.program[`engine_${name}`](...args)
      if (!this.go.exited) return answer
    }
    throw new Error("the program has ended")
  }

  /** @param {Uint8Array} bytes */
  put(bytes) { this.bytes(this.call("buffer", bytes.length), bytes.length).set(bytes) }

  /** Copies n floats of the program, if they fit.
   * @param {Uint8Array} into
   * @param {number} n */
  take(into, n) {
    const fits = 8 * n <= into.length
    if (fits && n) into.set(this.bytes(this.call("floats"), 8 * n))
    return fits
  }

  /**
   * Returns these calls as an engine offers them.
   * @param {(config: string, message: (bytes: Uint8Array) => void) => {error: string, layout: string}} start
   * @returns {Pick<Engine, "start" | "receive" | "frame" | "me" | "tick" | "draw">}
   */
  engine(start) {
    return {
      start: (config, send, message, clock) => {
        this.send = send
        if (clock) this.clock = clock
        return start(config, message)
      },
      receive: (bytes, arrivalMs) => {
        this.put(bytes)
        this.call("receive", bytes.length, arrivalMs)
      },
      frame: (nowMs, shownMs) => this.call("frame", nowMs, shownMs),
      me: (into, pressedMs = 0) => {
        const n = this.call("me", pressedMs)
        this.take(into, n)
        return n
      },
      tick: (command, pressedMs) => {
        this.put(command)
        this.call("tick", command.length / 8, pressedMs)
      },
      draw: into => {
        const n = this.call("draw")
        if (this.take(into, n)) this.call("drawn")
        return n
      },
    }
  }
}

/**
 * Reports how many bytes of a response have arrived, whenever some have.
 * @param {Response} response
 * @param {(bytes: number) => void} progress
 */
async function report(response, progress) {
  const reader = response.body?.getReader()
  for (let got = 0; reader;) {
    const { value, done } = await reader.read()
    if (done) return
    progress(got += value.byteLength)
  }
}
