// The page's loop: time passes, commands go to the engine, the world comes back and is drawn.
import { Camera } from "./camera.js"
import { clock, epochMs, mark, toClock } from "./clock.js"
import { Connection, loadConfig } from "./connection.js"
import { startEngine } from "./engine.js"
import { guestKey } from "./guest.js"
import { Input } from "./input.js"
import { BRIDGE, Fields, World } from "./layout.js"
import { Log, sendReport } from "./log.js"
import { Notice, Sentence } from "./notice.js"
import { Opener } from "./opener.js"
import { Remarks, checked, meant } from "./remarks.js"
import { Resume } from "./resume.js"
import { Watch } from "./watch.js"
import { Words } from "./words.js"

/** @typedef {import("../meanwhile.d.ts").JoinOptions} JoinOptions */

/** Values of stats.state that the page reacts to. */
const SILENT = 3, LOST = 4
/** For how long a banner says that there was silence, after it has ended. */
const SILENCE_NOTE_MS = 1200
/** The banner of a mistake goes when the same function has run well for this long. */
const MENDED_MS = 2000
/** How often a hidden tab lets time pass; browsers stretch this to a second or more. */
const AWAY_MS = 500
/** The reason by which the server knows that a player does not come back. */
const GOODBYE = "goodbye"
/** How long the Worker stays for the goodbye of a page that leaves. */
const GOODBYE_MS = 200
/** After how long without progress the page says what it waits for. */
const SLOW_MS = 8000
/** The engine's own event, which games without presses do not have. */
const RECEIPT = "receipt"
/** Floats for the own avatar and for the world at first; both grow as needed. */
const FIRST_ME = 64, FIRST_DRAW = 4096

/** What join() returns. The members that a page may use are described in meanwhile.d.ts. */
export class PageGame {
  /** @param {JoinOptions} options */
  constructor(options) {
    if (!(options?.canvas instanceof HTMLCanvasElement)) throw new Error("join: options.canvas is not a canvas element")
    const query = new URLSearchParams(location.search)
    const settings = query.has("profile") ? { profile: query.get("profile") ?? "", ...options.settings } : options.settings
    this.options = { ...options, settings, room: options.room ?? query.get("room") ?? "", name: options.name ?? query.get("name") ?? "", code: options.code ?? query.get("code") ?? "", watch: options.watch ?? query.has("watch") }
    this.canvas = options.canvas
    this.ctx = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d", { alpha: false }))
    this.notice = new Notice(this.canvas)
    this.remarks = new Remarks()
    /** @type {Record<string, (event: any, from?: any, tick?: any) => void>} */
    this.on = checked(name => this.noEvent(name, true), this.remarks)
    /** @type {Record<string, (event: any) => void>} */
    this.undo = checked(name => this.noEvent(name, false), this.remarks)
    /** @type {() => Record<string, any>} */
    this.command = () => ({})
    /** @type {(world: any) => void} */
    this.draw = () => {}
    this.now = clock()
    /** @type {"" | "webtransport" | "websocket"} */
    this.transport = ""
    /** @type {any} */
    this.world = {}
    /** @type {Record<string, number>} */
    this.stats = {}
    /** @type {import("../meanwhile.d.ts").Packet[]} */
    this.packets = []
    /** @type {any} */
    this.me = undefined
    this.width = this.height = this.ratio = 1
    this.ownCamera = options.view === null ? null : new Camera(options.view)
    /** @type {import("../meanwhile.d.ts").Camera} */
    this.camera = this.ownCamera ?? { toWorld: (x, y) => ({ x, y }) }
    this.input = new Input(this.canvas, this)
    this.keys = this.input.keys
    this.mouse = this.input.mouse
    this.watching = new Watch(this)
    this.opener = new Opener(this)
    /** Sees each frame after it was drawn, with its events: the panel, while it is open.
     * @type {{frame(events: any[]): void, stale: boolean} | null} */
    this.observer = null
    /** The engine's settings, as far as the page has changed them.
     * @type {Record<string, number | string>} */
    this.settings = { ...settings }
    this.stopped = false
    this.playing = false
    this.driving = false // by the game's bot
    this.fitted = false
    this.awayTimer = 0
    this.silentMs = this.silentEnd = 0
    /** Mistakes that have been shown.
     * @type {Set<string | undefined>} */
    this.reported = new Set()
    /** The mistake that the banner shows, and when it happened last.
     * @type {{name: string, line: string, at: number} | null} */
    this.wrong = null
    /** @type {Connection | null} */
    this.connection = null
    this.resume = new Resume(options.config ?? "/meanwhile.json")
    this.log = new Log()
    // Set by begin():
    this.config = /** @type {import("./engine.js").Config} */ (/** @type {unknown} */ (null))
    this.engine = /** @type {import("./engine.js").Engine} */ (/** @type {unknown} */ (null))
    this.layout = /** @type {import("./layout.js").Layout} */ (/** @type {unknown} */ (null))
    this.model = /** @type {World} */ (/** @type {unknown} */ (null))
    this.words = new Words({ game: "", rate: 0, kinds: [], events: [], command: [], stats: [], profiles: [] }, () => ({ error: "You are not connected.", call: 0 }))
    this.commandFields = new Fields([])
    this.commandFloats = new Float64Array(0)
    this.meFloats = new Float64Array(FIRST_ME)
    this.floats = new Float64Array(FIRST_DRAW)
    this.fit()
    this.input.x = this.width * 0.75 // before the mouse has moved: aim to the right
    this.input.y = this.height / 2
  }

  /** Whether the last pointer was a finger. */
  get touch() { return this.input.touch }
  /** How many datagrams the page's transport dropped, by reason. */
  get dropped() { return this.connection?.dropped ?? {} }

  /** How far the own avatar is drawn from where the rules have it, in metres. */
  get offset() {
    const { offsetX, offsetY, offsetZ } = this.stats
    return { x: offsetX || 0, y: offsetY || 0, z: offsetZ || 0 }
  }

  /** ID of the entity that a page which watches looks from; 0 before there is one. */
  get follow() { return this.watching.on ? this.watching.id : 0 }
  set follow(id) { this.watching.from(id) }

  get autopilot() { return this.driving }
  set autopilot(on) {
    this.driving = !!on
    this.set("autopilot", on ? 1 : 0)
  }

  /**
   * Changes a setting of the engine; docs/BRIDGE.md lists them.
   * @param {string} name
   * @param {number | string | boolean} value
   * @returns {string} "" or why it was refused
   */
  set(name, value) {
    const plain = typeof value === "boolean" ? +value : value, refused = this.call("setting", name, plain) || ""
    if (!refused) this.settings[name] = plain
    if (this.observer) this.observer.stale = true
    return refused
  }

  /**
   * Texts about the newest wrong predictions, at most 64 and the newest first: what was predicted, what the server said,
   * and the likely cause.
   * @returns {string[]}
   */
  desyncs() { return JSON.parse(this.call("desyncs") || "[]") }

  /**
   * Saves this moment on the server, with this page's log, so that it can be replayed.
   * @returns {Promise<{name: string, log: boolean}>} fails with a sentence
   */
  report() { return sendReport(this.log, this.resume.key, this.options) }

  /**
   * Sends a message to the rules.
   * @param {string} name
   * @param {Record<string, any>} [fields]
   * @returns {string} "" or why nothing was sent
   */
  send(name, fields) { return this.words.send(name, fields) }

  /**
   * Asks the rules, and waits for the answer.
   * @param {string} name
   * @param {Record<string, any>} [fields]
   * @returns {Promise<any>} fails with the sentence of a refusal
   */
  request(name, fields) { return this.words.request(name, fields) }

  /** Hands out what the rules said. */
  hear() {
    if (!this.layout.messages?.length) return
    this.words.deliver(this.call("heard") || "", (name, message, from, tick) => {
      if (this.on[name]) this.ask(`g.on.${name}`, this.on[name], message, from, tick)
    })
  }

  /** Loads the engine, connects, and starts the loop. */
  async begin() {
    this.notice.show("veil", "Loading…", { progress: null })
    const { options } = this
    const config = this.config = await loadConfig(options)
    mark("configured")
    const connection = this.connection = config.local ? null : new Connection(this)
    let slow = 0, missing = "the game’s program"
    const show = (/** @type {string} */ doing, /** @type {number | null} */ progress) => {
      const first = `${doing} ${config.game}…`
      this.notice.show("veil", first, { progress })
      clearTimeout(slow)
      slow = window.setTimeout(() => {
        if (!this.stopped) this.notice.show("veil", first, { progress: null, second: `Still waiting for ${missing}.` })
      }, SLOW_MS)
    }
    show("Loading", 0)
    const starting = startEngine(config, progress => {
      const all = progress !== null && progress >= 1 // what is left is the browser's: it compiles
      if (slow) show(all ? "Starting" : "Loading", all ? null : progress)
    }).then(engine => {
      missing = "this page’s transport"
      if (slow) show("Starting", null)
      return engine
    })
    const [engine, guest] = await Promise.all([starting, config.saves ? guestKey() : "", connection?.compareClocks()]).finally(() => {
      clearTimeout(slow)
      slow = 0
    })
    this.engine = this.log.record(engine, config.schema)
    const settings = { autopilot: options.autopilot ? 1 : 0, watch: this.options.watch ? 1 : 0, ...options.settings }
    const { error, layout } = this.call("start",
      JSON.stringify({ bridge: BRIDGE, game: config.game, room: options.room, name: options.name, guest, resume: this.resume.take(options.room), epochMs, settings }),
      (/** @type {Uint8Array} */ bytes, /** @type {number} */ releaseMs, /** @type {boolean} */ stamped) => connection?.send(bytes, releaseMs, stamped),
      (/** @type {Uint8Array} */ bytes) => connection?.message(bytes))
    if (error) throw new Sentence(error)
    this.layout = JSON.parse(layout)
    this.driving = !!options.autopilot
    this.input.onuse = () => { if (this.driving) this.autopilot = false }
    this.commandFields = new Fields(this.layout.command)
    this.commandFloats = new Float64Array(this.commandFields.size)
    this.words = new Words(this.layout, (message, floats, texts) => this.call("say", message, floats, texts))
    this.model = new World(this.layout)
    this.world = this.model.lists
    this.stats = this.model.stats
    this.packets = this.model.packets
    this.watch()
    if (connection) {
      this.notice.show("veil", "Connecting…", { progress: null })
      connection.attempt()
      mark("connecting")
      await connection.joined
    } else this.notice.hide()
    this.playing = true
    this.opener.begin()
    requestAnimationFrame(ms => this.frame(ms))
  }

  /** Watches the canvas' size, the tab, and the page's end. */
  watch() {
    new ResizeObserver(() => this.fit()).observe(this.canvas)
    document.addEventListener("visibilitychange", () => {
      this.set("away", document.hidden ? 1 : 0)
      this.input.clear()
      this.resume.leave(document.hidden) // a browser may end a hidden tab without a word
      if (document.hidden) this.awayTimer = window.setInterval(() => this.passTime(), AWAY_MS)
      else {
        clearInterval(this.awayTimer)
        this.connection?.hurry()
      }
      this.passTime()
    })
    window.addEventListener("pagehide", e => {
      this.resume.leave(true)
      if (!e.persisted) this.end()
    })
    window.addEventListener("pageshow", () => this.resume.leave(false))
    window.addEventListener("scroll", () => this.notice.place(), { passive: true })
  }

  /** Gives the canvas as many pixels as it covers. A canvas whose size the page leaves open fills the window. */
  fit() {
    const { canvas } = this
    if (!this.fitted) {
      const width = canvas.clientWidth
      canvas.width += 7 // the page gave the canvas no size if its size follows its pixels
      if (canvas.clientWidth !== width) Object.assign(canvas.style, { position: "fixed", inset: "0", width: "100%", height: "100%", display: "block" })
      this.fitted = true
    }
    this.ratio = window.devicePixelRatio || 1
    this.width = canvas.clientWidth || 1
    this.height = canvas.clientHeight || 1
    const w = Math.round(this.width * this.ratio), h = Math.round(this.height * this.ratio)
    if (canvas.width !== w) canvas.width = w
    if (canvas.height !== h) canvas.height = h
    this.notice.place()
    this.watching.place()
  }

  /**
   * Calls the engine. When the engine has ended, shows why and stops.
   * @template {Exclude<keyof import("./engine.js").Engine, "lastWords">} Name
   * @param {Name} name
   * @param {Parameters<import("./engine.js").Engine[Name]>} args
   * @returns {any} the engine's answer; 0 or an error when it has ended
   */
  call(name, ...args) {
    if (this.stopped || !this.engine) return name === "welcome" || name === "start" ? { error: "The game has stopped." } : 0
    try {
      const f = /** @type {(...args: any[]) => any} */ (this.engine[name])
      return f.apply(this.engine, args)
    } catch (e) {
      const words = this.engine.lastWords?.() || (e instanceof Error ? e.message : String(e))
      this.fail(new Sentence(`The game stopped in this browser: ${words}`))
      console.error(e)
      return 0
    }
  }

  /** Shows why there is nothing to play, and stops.
   * @param {any} e */
  fail(e) {
    if (this.stopped) return
    this.stopped = true
    this.words.giveUp("The game has stopped.")
    this.connection?.worker.terminate()
    this.notice.show("veil", e instanceof Sentence ? e.message : `The game could not start: ${e.message}`, { reload: true })
  }

  /**
   * Runs one of the page's own functions. A mistake in it is shown once, and the game goes on.
   * @template T
   * @param {string} name
   * @param {(...args: any[]) => T} f
   * @param {any[]} args
   * @returns {T | undefined}
   */
  ask(name, f, ...args) {
    try {
      const result = f(...args)
      if (this.wrong?.name === name && this.now - this.wrong.at > MENDED_MS) this.mended()
      return result
    } catch (e) {
      const error = e instanceof Error ? e : new Error(String(e)), line = `${name}: ${error.name}: ${error.message}`
      this.mistake(line)
      if (this.notice.text === line) this.wrong = { name, line, at: this.now }
      if (!this.reported.has(error.stack)) console.error(e)
      this.reported.add(error.stack)
    }
  }

  /**
   * What is wrong with the name of a handler.
   * @param {string} name
   * @param {boolean} said whether messages have handlers there, too
   * @returns {string} a sentence, or ""
   */
  noEvent(name, said) {
    const { layout } = this
    if (!layout || name === RECEIPT) return ""
    const names = [...layout.events, ...said ? layout.messages ?? [] : []].map(e => e.name)
    return names.includes(name) ? "" : `${layout.game} has no event${said ? " or message" : ""} "${name}"${meant(name, names)}`
  }

  /** Shows a mistake of the page once.
   * @param {string} line */
  mistake(line) {
    if (this.reported.has(line)) return
    this.reported.add(line)
    this.notice.show("banner", line)
  }

  /** Takes the banner away: what was wrong has run well for a while. */
  mended() {
    const line = this.wrong?.line ?? ""
    this.wrong = null
    this.reported.delete(line) // it is news again
    if (this.notice.text === line) this.notice.hide()
  }

  /** Lets time pass in a hidden tab, which draws no frames. */
  passTime() {
    if (!document.hidden || !this.playing) return
    const now = clock()
    if (now - this.now < AWAY_MS / 2) return
    this.now = now
    this.runTicks(this.call("frame", now, now))
    this.hear()
  }

  /** Makes the commands that are due.
   * @param {number} due */
  runTicks(due) {
    const { commandFloats } = this, bytes = new Uint8Array(commandFloats.buffer)
    for (; due > 0; due--) {
      commandFloats.fill(0)
      const pressedMs = this.input.commandBegins()
      const n = this.fill("me", "meFloats", pressedMs)
      this.model.readMe(this.meFloats, n)
      this.me = this.model.me
      if (this.me && !this.driving) {
        const command = this.ask("g.command", this.command) ?? {}
        const bad = this.commandFields.write(command, commandFloats), whose = `${this.layout.game}'s command`
        this.remarks.make(bad && `g.command: ${bad}, which counts as 0.`)
        for (const doubt of [this.commandFields.stray(command, whose), this.commandFields.hollow(command, whose)]) {
          this.remarks.make(doubt && `g.command: ${doubt}`)
        }
      }
      this.input.commandMade()
      this.call("tick", bytes, pressedMs)
    }
  }

  /**
   * Lets the engine write floats; when they do not fit, again into a larger array.
   * @param {"me" | "draw"} name
   * @param {"meFloats" | "floats"} into
   * @param {number} [pressedMs]
   * @returns {number} how many it wrote
   */
  fill(name, into, pressedMs = 0) {
    let n = this.call(name, new Uint8Array(this[into].buffer), pressedMs)
    if (n > this[into].length) {
      this[into] = new Float64Array(2 * n)
      n = this.call(name, new Uint8Array(this[into].buffer), pressedMs)
    }
    return n
  }

  /** Draws one frame.
   * @param {number} ms when the display says that the frame is */
  frame(ms) {
    if (this.stopped) return
    requestAnimationFrame(next => this.frame(next))
    const now = this.now = clock(), shown = Math.min(now, toClock(ms))
    if (this.ratio !== (window.devicePixelRatio || 1)) this.fit()
    this.runTicks(this.call("frame", now, shown))
    this.fill("draw", "floats")
    if (this.stopped) return
    let events
    try {
      events = this.model.read(this.floats, () => this.engine.texts())
    } catch (e) {
      return this.fail(e)
    }
    this.me = this.model.me
    this.watching.frame()
    for (const { name, event, undo } of events) {
      const handlers = undo ? this.undo : this.on
      if (handlers[name]) this.ask(`g.${undo ? "undo" : "on"}.${name}`, handlers[name], event)
    }
    this.hear()
    this.watchSilence()

    const { ctx, ratio } = this
    if (this.ownCamera && this.camera === this.ownCamera) {
      this.ownCamera.aim(this.width, this.height, this.me ?? this.watching.seen)
      this.ownCamera.apply(ctx, ratio)
    } else ctx.setTransform(ratio, 0, 0, ratio, 0, 0)
    ctx.save()
    this.ask("g.draw", this.draw, this.world)
    ctx.restore()
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0)
    this.input.draw(ctx)
    this.observer?.frame(events)
  }

  /** Says when nothing arrives, and for a moment after it has ended for how long nothing did. */
  watchSilence() {
    const { state, silentMs } = this.stats, { notice, now } = this
    const seconds = () => (this.silentMs / 1000).toFixed(1)
    if (state === LOST) this.connection?.renew()
    if (this.transport && state === SILENT) {
      this.silentMs = silentMs
      notice.show("banner", `Nothing from the server for ${seconds()} s`)
    } else if (this.transport && notice.text.startsWith("Nothing from")) {
      notice.show("banner", `Nothing came for ${seconds()} s`)
      this.silentEnd = now
    } else if (notice.text.startsWith("Nothing came") && now - this.silentEnd > SILENCE_NOTE_MS) notice.hide()
  }

  /** Leaves the game for good. */
  leave() {
    this.resume.key = ""
    this.connection?.close(GOODBYE)
    this.end()
  }

  /** Ends the game in this page. The server waits a while for it to be loaded again. */
  end() {
    this.call("leave", clock())
    this.stopped = true
    this.words.giveUp("You have left.")
    this.input.stop()
    this.watching.end()
    this.opener.end()
    setTimeout(() => this.connection?.worker.terminate(), GOODBYE_MS) // its last datagram is still on the way to the Worker
  }
}
