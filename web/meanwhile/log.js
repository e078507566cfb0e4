// The log of the engine: all that it got, so that a reported moment can be computed again, bit for bit. Package
// app/internal/rerun reads it, and docs/BRIDGE.md describes it.

import { configURL } from "./connection.js"
import { Sentence } from "./notice.js"

/** @typedef {import("./engine.js").Engine} Engine */
/** @typedef {import("../meanwhile.d.ts").JoinOptions} JoinOptions */

/** Most bytes of a log: 26 minutes at the whole default budget. Of a page that has played for longer nothing is kept. */
export const MAX_LOG = 16 << 20
/** It is kept in pieces of this size. */
const PIECE = 1 << 16
const MAGIC = "meanwhile page log 1\n"

/** Kinds of entries. */
const SETTING = 1, WELCOME = 2, MESSAGE = 3, LOST = 4, DROPPED = 5, RECEIVE = 6, FRAME = 7, CLOCK = 8, ME = 9, TICK = 10, DRAW = 11,
  TEXTS = 12, HEARD = 13, SAY = 14, LEAVE = 15, REPORT = 16

/** Digits of the key of a session, which the name of the room follows. */
const DIGITS = 32

const utf8 = new TextEncoder()

/** What an engine got and drew. */
export class Log {
  constructor() {
    /** Pieces that are full.
     * @type {Uint8Array<ArrayBuffer>[]} */
    this.pieces = []
    this.piece = new Uint8Array(PIECE)
    this.at = 0
    /** There was too much; nothing is kept. */
    this.full = false
    this.us = this.clockUs = 0 // the last instants that were written
    /** The last command. */
    this.command = new Uint8Array()
    /** What was drawn last, as words of 32 bits.
     * @type {Uint32Array} */
    this.drawn = new Uint32Array()
  }

  /** @param {number} v */
  byte(v) {
    if (this.at === PIECE) this.next()
    this.piece[this.at++] = v
  }

  /** Begins another piece. */
  next() {
    this.at = 0
    if (this.full ||= (this.pieces.length + 2) * PIECE > MAX_LOG) this.pieces = []
    else {
      this.pieces.push(this.piece)
      this.piece = new Uint8Array(PIECE)
    }
  }

  /** Writes a whole number from 0 on, in 7 bits a byte.
   * @param {number} n */
  number(n) {
    for (; n >= 128; n = Math.floor(n / 128)) this.byte(n % 128 + 128)
    this.byte(n)
  }

  /** @param {number} n */
  signed(n) { this.number(n < 0 ? -2 * n - 1 : 2 * n) }

  /** @param {Uint8Array} b */
  bytes(b) {
    this.number(b.length)
    this.raw(b)
  }

  /** @param {Uint8Array} b */
  raw(b) {
    for (let i = 0; i < b.length;) {
      if (this.at === PIECE) this.next()
      const n = Math.min(b.length - i, PIECE - this.at)
      this.piece.set(b.subarray(i, i + n), this.at)
      this.at += n
      i += n
    }
  }

  /** @param {string} s */
  text(s) { this.bytes(utf8.encode(s)) }

  /**
   * Writes an instant, and returns it as a replay has it: in whole microseconds.
   * @param {number} ms
   */
  instant(ms) {
    const us = Math.round(ms * 1000) || 0
    this.signed(us - this.us)
    this.us = us
    return us / 1000
  }

  /** The same of an instant that may not be known.
   * @param {number} [ms] */
  pressed(ms = 0) {
    this.byte(ms > 0 ? 1 : 0)
    return ms > 0 ? this.instant(ms) : 0
  }

  /** Tells the engine how long something takes. */
  clock() {
    const us = Math.round(performance.now() * 1000)
    this.byte(CLOCK)
    this.signed(us - this.clockUs)
    this.clockUs = us
    return us / 1000
  }

  /** Writes a command: which of its floats are others than before, and those.
   * @param {Uint8Array} command */
  floats(command) {
    const n = command.length / 8
    if (this.command.length !== command.length) this.command = new Uint8Array(command.length)
    this.number(n)
    for (let i = 0; i < n; i += 8) {
      let changed = 0
      for (let j = i; j < Math.min(n, i + 8); j++) if (!same(command, this.command, 8 * j)) changed |= 1 << j - i
      this.byte(changed)
      for (let j = i; j < Math.min(n, i + 8); j++) if (changed >> j - i & 1) this.raw(command.subarray(8 * j, 8 * j + 8))
    }
    this.command.set(command)
  }

  /** Notes what was drawn: how many floats, and a sum of them.
   * @param {Uint8Array} into
   * @param {number} n */
  draw(into, n) {
    this.byte(DRAW)
    const fits = n * 8 <= into.length
    this.byte(fits ? 1 : 0)
    if (!fits) return
    this.number(n)
    const words = this.drawn = new Uint32Array(into.buffer, into.byteOffset, 2 * n)
    let sum = 0x811c9dc5
    for (let i = 0; i < words.length; i++) {
      sum = Math.imul(sum ^ words[i], 0x01000193)
      sum ^= sum >>> 15
    }
    for (let i = 0; i < 32; i += 8) this.byte(sum >>> i & 255)
  }

  /**
   * Returns an engine that does what another one does, and writes down what it is asked.
   * @param {Engine} engine
   * @param {string} schema of the game
   * @returns {Engine}
   */
  record(engine, schema) {
    return {
      hello: (token, code) => engine.hello(token, code),
      desyncs: () => engine.desyncs(),
      lastWords: () => engine.lastWords?.() ?? "",
      start: (config, send, message) => {
        const { bridge, game, room, settings } = JSON.parse(config)
        this.raw(utf8.encode(MAGIC))
        this.text(JSON.stringify({ bridge, game, room, schema, agent: navigator.userAgent }))
        for (const name in settings) this.setting(name, settings[name])
        return engine.start(config, send, message, () => this.clock())
      },
      setting: (name, value) => {
        this.setting(name, value)
        return engine.setting(name, value)
      },
      welcome: (bytes, transport, ms) => {
        this.byte(WELCOME)
        ms = this.instant(ms)
        this.bytes(bytes)
        return engine.welcome(bytes, transport, ms)
      },
      message: bytes => {
        this.byte(MESSAGE)
        this.bytes(bytes)
        return engine.message(bytes)
      },
      lost: ms => {
        this.byte(LOST)
        engine.lost(ms)
      },
      dropped: seq => {
        this.byte(DROPPED)
        this.number(seq)
        engine.dropped(seq)
      },
      receive: (bytes, ms) => {
        this.byte(RECEIVE)
        ms = this.instant(ms)
        this.bytes(bytes)
        engine.receive(bytes, ms)
      },
      frame: (now, shown) => {
        this.byte(FRAME)
        return engine.frame(this.instant(now), this.instant(shown))
      },
      me: (into, pressed) => {
        this.byte(ME)
        return engine.me(into, this.pressed(pressed))
      },
      tick: (command, pressed) => {
        this.byte(TICK)
        pressed = this.pressed(pressed)
        this.floats(command)
        engine.tick(command, pressed)
      },
      draw: into => {
        const n = engine.draw(into)
        this.draw(into, n)
        return n
      },
      texts: () => {
        this.byte(TEXTS)
        return engine.texts()
      },
      heard: () => {
        this.byte(HEARD)
        return engine.heard()
      },
      say: (message, floats, texts) => {
        this.byte(SAY)
        this.number(message)
        this.bytes(floats)
        this.text(texts)
        return engine.say(message, floats, texts)
      },
      leave: ms => {
        this.byte(LEAVE)
        engine.leave(ms)
      },
    }
  }

  /** @param {string} name
   * @param {number | string | boolean} value */
  setting(name, value) {
    this.byte(SETTING)
    this.text(name)
    this.text(JSON.stringify(value))
  }

  /** Returns the log up to now, in pieces, with what was drawn last at its end; nothing if it is too long. */
  report() {
    this.byte(REPORT)
    this.bytes(new Uint8Array(this.drawn.buffer, this.drawn.byteOffset, this.drawn.byteLength))
    return this.full ? [] : [...this.pieces, this.piece.slice(0, this.at)]
  }
}

/**
 * Sends a log to the server, which saves it with what its room recorded.
 * @param {Log} log
 * @param {string} key that of the session, and its room
 * @param {JoinOptions} options
 * @returns {Promise<{name: string, log: boolean}>} where it is saved, and whether it has the log
 */
export async function sendReport(log, key, options) {
  const secret = Uint8Array.from(key.slice(0, DIGITS).match(/../g) ?? [], x => parseInt(x, 16))
  const url = new URL("/report", configURL(options))
  url.searchParams.set("room", key.slice(DIGITS))
  const body = new Blob([secret, ...log.report()])
  let response
  try {
    response = await fetch(url, { method: "POST", body })
  } catch {
    throw new Sentence("The server could not be reached, so nothing was saved.")
  }
  if (!response.ok) throw new Sentence((await response.text()).trim().split("\n")[0].slice(0, 200) || `The server answered ${response.status}.`)
  return response.json()
}

/** Whether two arrays have the same eight bytes.
 * @param {Uint8Array} a
 * @param {Uint8Array} b
 * @param {number} at */
function same(a, b, at) {
  for (let i = at; i < at + 8; i++) if (a[i] !== b[i]) return false
  return true
}
