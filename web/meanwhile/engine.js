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
  const go = new page.Go()
  const { instance } = await WebAssembly.instantiateStreaming(response, go.importObject)
  mark("compiled")
  delete page.__meanwhile
  go.run(instance)
  mark("started")
  const engine = page.__meanwhile
  delete page.__meanwhile
  if (!engine) throw new Sentence("The game's program started, but it offers this page no engine.")
  engine.lastWords = () => /(panic: .*|fatal error: .*)/.exec(lines.join(""))?.[1] ?? ""
  return engine
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
