// The network panel of any game: a worse network at a click, the engine's techniques one by one, what the engine measures, and
// what went wrong and why. It draws ten times a second while it is open, and does nothing while it is closed.
import { configURL } from "../connection.js"
import { Causes } from "./causes.js"
import { Graph, HISTORY, MEASURES, SAMPLE_MS } from "./measures.js"
import { Ribbon } from "./ribbon.js"
import { CSS } from "./style.js"

/** @typedef {import("../game.js").PageGame} PageGame */
/** @typedef {import("../../meanwhile.d.ts").PanelOptions} PanelOptions */

const OUTAGE_MS = 1000
const SETTLE_MS = 700 // after connecting, before the graphs begin
const ASK_MS = 1000 // how often the server is asked how much it sends this page at most
const HELP_MS = 6000 // for how long a tap shows help
const SHEET = "(max-width: 820px), (max-height: 480px)" // as in style.js

/** Settings that the panel changes, as they are at first.
 * @type {Record<string, number | string>} */
const INITIAL = { profile: "", delayMs: 0, jitterMs: 0, lossPct: 0, predict: 1, interpolate: 1, lagcomp: 1, playoutMs: 0, predictMs: 5000, downKbps: 0 }
const NETWORK = ["delayMs", "jitterMs", "lossPct"]

/** Networks for engines that list none. */
const NETWORKS = [
  { name: "", title: "Fibre", delayMs: 10, jitterMs: 5, lossPct: 0 },
  { name: "", title: "Hotel Wi-Fi", delayMs: 30, jitterMs: 60, lossPct: 2 },
  { name: "", title: "Overseas", delayMs: 110, jitterMs: 20, lossPct: 1 },
  { name: "", title: "Train", delayMs: 70, jitterMs: 140, lossPct: 6 },
  { name: "", title: "Hopeless", delayMs: 250, jitterMs: 200, lossPct: 20 },
]
const AS_IT_IS = { name: "", title: "As it is", delayMs: 0, jitterMs: 0, lossPct: 0 }

const SLIDES = [
  { setting: "delayMs", title: "Delay", max: 400, step: 5, text: (/** @type {number} */ v) => `${v} ms`, help: "Every packet takes this much longer, each way." },
  { setting: "jitterMs", title: "Jitter", max: 200, step: 5, text: (/** @type {number} */ v) => `${v} ms`, help: "Every packet takes up to this much longer still, each a different time." },
  { setting: "lossPct", title: "Loss", max: 30, step: 1, text: (/** @type {number} */ v) => `${v} %`, help: "This many packets of a hundred never arrive, each way." },
]
/** own: about the own avatar, which a page that watches has not. */
const SWITCHES = [
  { setting: "predict", own: true, title: "Prediction", help: "On: your avatar moves at once, before the server has answered. Off: you wait for a round trip." },
  { setting: "interpolate", title: "Interpolation", help: "On: others glide between two records that have arrived. Off: they jump from record to record." },
  { setting: "lagcomp", own: true, title: "Rewind", help: "On: the server judges your shot by what you saw when you fired. Off: you must aim ahead of others. Also called lag compensation." },
]
/** @type {{setting: string, own?: boolean, title: string, help: string, values: [number, string][], unit: string}[]} */
const PICKS = [
  { setting: "playoutMs", title: "Others late by", unit: "ms", help: "How far in the past others are drawn. Adaptive picks the shortest delay that works; a fixed one is added to the path’s own delay.",
    values: [[0, "adaptive"], [100, "100 ms (Half-Life)"], [150, "150 ms (3 send intervals)"], [200, "200 ms (Half-Life, safe)"], [350, "350 ms (lobby)"]] },
  { setting: "predictMs", own: true, title: "You ahead", unit: "ms", help: "How far ahead of others your avatar is drawn at most. Less than all of it makes you wait for the rest, as on ice. Half-Life called this pushlatency.",
    values: [[5000, "all the way"], [200, "at most 200 ms"], [100, "at most 100 ms"], [50, "at most 50 ms"]] },
  { setting: "downKbps", title: "Bandwidth", unit: "kbit/s", help: "The most that the server sends you. With less, what is far away is updated less often.",
    values: [[0, "unlimited"], [256, "256 kbit/s"], [64, "64 kbit/s"], [32, "32 kbit/s"], [13, "13 kbit/s"]] },
]
/** What the shapes mean. */
const LEGEND = [
  { title: "you", own: true, help: "Your avatar, predicted: it is drawn ahead of the server. Your packets end in squares.", svg: `<rect x="4" y="3" width="7" height="7" fill="#56b4e9"/>` },
  { title: "others", help: "Everybody else, drawn late. Packets that come to you end in dots.", svg: `<circle cx="7" cy="6.5" r="4" fill="#d7dee8"/>` },
  { title: "server", help: "Where the server has things now: dashed, in yellow.", svg: `<path d="M7 0v12" stroke="#e8b339" stroke-width="2.4" stroke-dasharray="4 2.5"/>` },
  { title: "lost, or a stall", help: "A packet that never arrived ends in a cross. Stalls are red, too.", svg: `<path d="M3.5 3l7 7m0-7l-7 7" stroke="#ff5d73" stroke-width="2"/>` },
]
/** @type {Record<string, string>} */
const SHAPES = { stall: "■", late: "▲", you: "◆", hit: "✓", miss: "✕", page: "●" }
/** @type {Record<string, string>} */
const LINKS = { webtransport: "WebTransport", websocket: "WebSocket" }

/**
 * Makes an element. data: its help, shown beside it and read aloud.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} [className]
 * @param {string} [text]
 * @param {string} [help]
 */
function make(tag, className = "", text = "", help = "") {
  const e = document.createElement(tag)
  if (className) e.className = className
  if (text) e.textContent = text
  if (help) e.dataset.help = help
  return e
}

/** What a network does, in words.
 * @param {typeof AS_IT_IS} about */
function claims({ delayMs, jitterMs, lossPct }) {
  const parts = [delayMs && `${delayMs} ms each way`, jitterMs && `at times up to ${jitterMs} ms more`, lossPct && `${lossPct} % of all packets lost`].filter(Boolean)
  return parts.length ? `About ${parts.join(", ")}.` : "Nothing is simulated."
}

export class Panel {
  /**
   * @param {PageGame} game
   * @param {PanelOptions} options
   * @param {() => void} changed called when it opened or closed
   */
  constructor(game, options, changed) {
    this.game = game
    this.options = options
    this.changed = changed
    this.opened = false
    this.sheet = matchMedia(SHEET)
    /** The sample under the pointer, shared by all graphs; null: the newest.
     * @type {number | null} */
    this.cursor = null
    this.sampledAt = this.slowAt = 0
    this.settled = Infinity
    this.turn = false
    this.unfit = true // sizes of canvases may have changed
    this.stale = false // a setting was changed, not by this panel
    this.carries = 0 // bytes per second that the server sends this page at most; 0: not known
    this.asking = 0
    this.causes = new Causes()
    this.ribbon = new Ribbon()
    this.watching = this.ribbon.watching = !!game.options.watch
    this.networks = [AS_IT_IS, ...game.layout.profiles?.length ? game.layout.profiles : NETWORKS]
    /** @type {(() => void)[]} */
    this.controls = [] // each shows its setting
    this.host = make("div", "meanwhile-panel")
    this.host.toggleAttribute("docked", !!options.into)
    this.root = this.host.attachShadow({ mode: "open" })
    this.build()
    this.listen()
  }

  // ---- What it is made of ----------------------------------------------------------------------------------------------

  build() {
    const { options } = this
    this.box = make("div", "panel")
    this.box.setAttribute("role", "region")
    this.box.setAttribute("aria-label", "Network panel")
    this.bubble = make("div", "help")
    this.bubble.setAttribute("role", "tooltip")
    this.bubble.hidden = true
    const style = make("style", "", CSS), footer = make("footer"), legend = make("ul", "legend")
    for (const { title, own, help, svg } of LEGEND) {
      if (own && this.watching) continue
      const item = make("li", "", "", help)
      item.innerHTML = `<svg viewBox="0 0 14 12" aria-hidden="true">${svg}</svg>`
      item.append(title)
      legend.append(item)
    }
    this.version = make("p", "build")
    footer.append(this.slot("bottom"), legend, this.version)
    this.box.append(this.header(), this.slot("top"), this.network(), this.techniques(), this.measures(), this.happened(), footer)
    if (options.ribbon) options.ribbon.append(this.ribbon.canvas)
    else {
      const strip = this.strip = make("div", "strip")
      strip.append(this.ribbon.canvas)
      this.box.append(strip)
    }
    this.root.append(style, this.box, this.bubble)
  }

  /** A place for elements of the page.
   * @param {string} name */
  slot(name) {
    const slot = make("slot")
    slot.name = name
    return slot
  }

  header() {
    const header = make("header"), close = make("button", "close", "×")
    header.innerHTML = `<svg viewBox="0 0 26 22" width="26" height="22" aria-hidden="true"><g stroke-width="3.2" stroke-linecap="round"><path d="M2 4h11" stroke="#d7dee8"/><path d="M2 11h16" stroke="#e8b339"/><path d="M2 18h22" stroke="#56b4e9"/></g></svg>`
    this.link = make("span", "link", "", "How this page is connected.")
    this.link.append(make("i"), make("span"))
    close.type = "button"
    close.title = "Close (F2)"
    close.setAttribute("aria-label", "Close the panel")
    close.addEventListener("click", () => this.close())
    header.append(make("h1", "", this.options.title ?? "Network"), this.slot("header"), this.link, close)
    return header
  }

  /**
   * A part of the panel.
   * @param {string} className
   * @param {string} title
   */
  section(className, title) {
    const section = make("section", className), head = make("h2", "", title), small = make("small")
    head.append(small)
    section.append(head)
    section.setAttribute("aria-label", title)
    return { section, small, head }
  }

  network() {
    const { section, small, head } = this.section("network", "Your network"), presets = make("div", "presets"), slides = make("div", "slides")
    head.firstChild?.replaceWith(make("span", "", "Your network", "A worse network, simulated in this page on top of your real one. It affects only you."))
    presets.setAttribute("role", "group")
    presets.setAttribute("aria-label", "Networks")
    for (const about of this.networks) {
      const help = claims(about), b = make("button", "", about.title, help)
      b.type = "button"
      b.setAttribute("aria-description", help)
      b.addEventListener("click", () => {
        this.choose({ delayMs: about.delayMs, jitterMs: about.jitterMs, lossPct: about.lossPct, profile: about.name })
        this.move()
      })
      presets.append(b)
      this.controls.push(() => {
        const profile = this.value("profile")
        const on = profile ? about.name === profile : !about.name && NETWORK.every(name => about[/** @type {"delayMs"} */ (name)] === this.value(name))
        b.setAttribute("aria-pressed", String(on))
      })
    }
    const cut = make("button", "cut", "1 s outage", "Nothing gets through for one second, in either direction.")
    cut.type = "button"
    cut.addEventListener("click", () => {
      this.game.set("outageMs", OUTAGE_MS)
      cut.setAttribute("aria-pressed", "true")
      setTimeout(() => cut.setAttribute("aria-pressed", "false"), OUTAGE_MS)
    })
    presets.append(cut)
    for (const s of SLIDES) slides.append(this.slide(s))
    section.append(presets, slides)
    this.controls.push(() => { small.textContent = this.value("profile") ? "each way, roughly" : "each way" })
    return section
  }

  /** @param {typeof SLIDES[0]} spec */
  slide({ setting, title, max, step, text, help }) {
    const label = make("label", "slide", "", help), top = make("span"), output = make("output"), input = make("input")
    top.append(title, output)
    Object.assign(input, { type: "range", min: "0", max: `${max}`, step: `${step}` })
    input.dataset.setting = setting
    input.setAttribute("aria-description", help)
    input.addEventListener("input", () => {
      const changes = /** @type {Record<string, number | string>} */ ({ profile: "" })
      for (const name of NETWORK) changes[name] = this.value(name)
      this.choose({ ...changes, [setting]: +input.value })
    })
    input.addEventListener("change", () => this.move()) // the drag has ended
    label.append(top, input)
    this.controls.push(() => {
      const v = +this.value(setting)
      input.value = `${v}`
      input.style.setProperty("--at", `${Math.min(100, 100 * v / max)}%`)
      input.setAttribute("aria-valuetext", text(v))
      output.textContent = (this.value("profile") && v ? "≈ " : "") + text(v)
    })
    return label
  }

  techniques() {
    const { section } = this.section("techniques", "Techniques"), switches = make("div", "switches"), picks = make("div", "slides picks")
    const judges = this.game.layout.events.some(e => e.name === "receipt") // otherwise there is nothing to rewind for
    for (const { setting, own, title, help } of SWITCHES) {
      if (own && this.watching || setting === "lagcomp" && !judges) continue
      const { label, input } = this.toggle(title, help, on => this.choose({ [setting]: on ? 1 : 0 }))
      input.dataset.setting = setting
      this.controls.push(() => { input.checked = !!this.value(setting) })
      switches.append(label)
    }
    for (const own of this.options.switches ?? []) {
      const { label, input } = this.toggle(own.title, own.help, on => own.change(on))
      label.classList.add(own.name)
      input.dataset.setting = own.name
      input.checked = own.on
      input.disabled = !!own.disabled
      switches.append(label)
    }
    for (const p of PICKS) if (!p.own || !this.watching) picks.append(this.pick(p))
    section.append(switches, this.slot("techniques"), picks)
    return section
  }

  /**
   * A switch.
   * @param {string} title
   * @param {string} help
   * @param {(on: boolean) => void} change
   */
  toggle(title, help, change) {
    const label = make("label", "switch", "", help), input = make("input")
    input.type = "checkbox"
    input.setAttribute("role", "switch")
    input.setAttribute("aria-description", help)
    input.addEventListener("input", () => change(input.checked))
    label.append(make("b", "", title), input)
    return { label, input }
  }

  /** @param {typeof PICKS[0]} spec */
  pick({ setting, title, help, values, unit }) {
    const label = make("label", "pick", "", help), select = make("select")
    select.dataset.setting = setting
    select.setAttribute("aria-description", help)
    for (const [v, text] of values) select.append(new Option(text, `${v}`))
    select.addEventListener("input", () => this.choose({ [setting]: +select.value }))
    label.append(make("span", "", title), select)
    this.controls.push(() => {
      const v = `${this.value(setting)}`
      if (![...select.options].some(o => o.value === v)) select.append(new Option(`${v} ${unit}`, v))
      select.value = v
    })
    return label
  }

  measures() {
    const { section, small } = this.section("measures", "The last 30 seconds"), lines = make("div", "lines")
    this.when = small
    this.rows = MEASURES.filter(spec => !spec.own || !this.watching).map(spec => {
      const row = make("div", spec.sub ? "measure sub" : "measure", "", spec.help), plot = make("div", "plot")
      const name = make("button", "name", spec.name), value = make("b"), graph = new Graph(spec)
      name.type = "button"
      name.setAttribute("aria-description", spec.help)
      value.style.color = spec.color
      graph.canvas.setAttribute("aria-hidden", "true")
      graph.canvas.addEventListener("pointermove", e => {
        this.cursor = Math.max(0, Math.min(HISTORY - 1, Math.round(e.offsetX / graph.width * (HISTORY - 1))))
      })
      graph.canvas.addEventListener("pointerleave", () => { this.cursor = null })
      plot.append(graph.canvas, name)
      row.append(plot, value)
      lines.append(row)
      return { row, value, graph, shown: "" }
    })
    section.append(lines)
    return section
  }

  happened() {
    const { section } = this.section("happened", "What happened")
    this.log = make("ol")
    section.append(this.log)
    return section
  }

  // ---- Opening and closing ---------------------------------------------------------------------------------------------

  listen() {
    const { root } = this
    root.addEventListener("keydown", e => this.key(/** @type {KeyboardEvent} */ (e)))
    root.addEventListener("pointerover", e => this.explain(e.target, /** @type {PointerEvent} */ (e).pointerType === "touch"))
    root.addEventListener("pointerout", e => { if (/** @type {PointerEvent} */ (e).pointerType !== "touch") this.bubble && (this.bubble.hidden = true) })
    root.addEventListener("focusin", e => { if (e.target instanceof Element && e.target.matches(":focus-visible")) this.explain(e.target, false) })
    root.addEventListener("focusout", () => { if (this.bubble) this.bubble.hidden = true })
    root.addEventListener("pointerup", e => { if (!(e.target instanceof HTMLSelectElement)) setTimeout(() => this.release()) }) // a list would close
    root.addEventListener("change", e => { if (e.target instanceof HTMLSelectElement) this.release() })
    this.game.canvas.addEventListener("pointerdown", () => { if (this.sheet.matches) this.close() })
    const sized = new ResizeObserver(() => { this.unfit = true })
    for (const e of [this.box, this.ribbon.canvas]) if (e) sized.observe(e)
    addEventListener("resize", () => {
      if (this.bubble) this.bubble.hidden = true
      this.makeRoom()
    })
    // A panel that is always open on a wide screen is closed when it becomes a sheet.
    this.sheet.addEventListener("change", () => { if (this.options.into) this.sheet.matches ? this.close() : this.open() })
  }

  /** Opens it. At first a sheet stays closed where the page has a place of its own for the panel, but its timelines begin.
   * @param {boolean} [first] */
  open(first) {
    if (this.opened) return
    this.opened = !(first && this.options.into && this.sheet.matches)
    if (!this.host.parentNode) (this.options.into ?? document.body).append(this.host)
    if (this.box) this.box.hidden = !this.opened
    this.begin()
    this.makeRoom()
    this.changed()
  }

  /** Closes it. Timelines in a place of the page go on where there are any. */
  close() {
    if (!this.opened || this.options.into && !this.sheet.matches) return
    this.opened = false
    if (this.root.activeElement) this.release()
    if (this.bubble) this.bubble.hidden = true
    if (this.box) this.box.hidden = true
    if (!this.options.ribbon) this.end()
    this.makeRoom()
    this.changed()
  }

  /** Gives a game that fills the window what the open panel leaves free of it. Other parts of the page read from variables how wide and
   * high the rest is not. */
  makeRoom() {
    const { canvas } = this.game, { style } = document.documentElement
    if (this.own) Object.assign(canvas.style, this.own)
    this.own = null
    const aside = this.opened && !this.options.into && !this.sheet.matches
    style.setProperty("--meanwhile-right", `${aside ? this.box?.offsetWidth : 0}px`)
    style.setProperty("--meanwhile-bottom", `${aside ? this.strip?.offsetHeight ?? 0 : 0}px`)
    if (!aside || !this.box || !this.strip) return
    const { left, top, width, height } = canvas.getBoundingClientRect()
    if (left > 1 || top > 1 || width < innerWidth - 1 || height < innerHeight - 1) return // it has a place of its own
    this.own = { width: canvas.style.width, height: canvas.style.height }
    canvas.style.width = `${innerWidth - this.box.offsetWidth}px`
    canvas.style.height = `${innerHeight - this.strip.offsetHeight}px`
  }

  /** Begins to measure. */
  begin() {
    const { game } = this
    this.unfit = this.stale = true
    if (game.observer === this) return
    this.settled = Infinity
    this.causes.forget()
    for (const { graph } of this.rows ?? []) graph.clear()
    this.ribbon.clear()
    this.before = game.settings.packets ?? 0
    game.set("packets", 1)
    game.observer = this
    if (game.config.truth) this.ask()
  }

  end() {
    const { game } = this
    if (game.observer === this) game.observer = null
    game.set("packets", this.before ?? 0)
    clearTimeout(this.asking)
    this.host.remove()
  }

  /** Gives the keys back to the game. */
  release() {
    const { canvas } = this.game
    if (this.root.activeElement instanceof HTMLElement) this.root.activeElement.blur()
    if (canvas.tabIndex >= 0) canvas.focus({ preventScroll: true })
  }

  /** Keys that work the panel's own controls do not reach the game.
   * @param {KeyboardEvent} e */
  key(e) {
    if (e.code === "Escape") {
      if (this.bubble && !this.bubble.hidden) this.bubble.hidden = true
      else this.close()
      e.stopPropagation()
    }
    if (/^(Space|Enter|Arrow|Home|End|Page)/.test(e.code)) e.stopPropagation()
  }

  /**
   * Adds an element of the page.
   * @param {HTMLElement} element
   * @param {string} place "header", "top", "techniques" or "bottom"
   */
  add(element, place) {
    element.slot = place
    this.host.append(element)
  }

  // ---- Help ------------------------------------------------------------------------------------------------------------

  /**
   * Shows the help of what is under the pointer, or has the focus.
   * @param {EventTarget | null} target
   * @param {boolean} tapped
   */
  explain(target, tapped) {
    const of = target instanceof Element ? /** @type {HTMLElement | null} */ (target.closest("[data-help]")) : null, { bubble, box } = this
    if (!bubble || !box) return
    bubble.hidden = !of
    clearTimeout(this.hiding)
    if (!of) return
    const row = this.rows?.find(r => r.row === of), more = row?.graph.spec.more?.(row.graph.now)
    bubble.textContent = [of.dataset.help, more].filter(Boolean).join(" ")
    const at = of.getBoundingClientRect(), size = bubble.getBoundingClientRect(), edge = box.getBoundingClientRect()
    let left = edge.left - size.width - 10, top = at.top + at.height / 2 - size.height / 2
    if (left < 8) { // no room beside the panel
      left = Math.min(Math.max(12, at.left), innerWidth - size.width - 12)
      top = at.top - size.height - 6
      if (top < 8) top = at.bottom + 6
    }
    bubble.style.left = `${left}px`
    bubble.style.top = `${Math.max(8, Math.min(top, innerHeight - size.height - 8))}px`
    if (tapped) this.hiding = setTimeout(() => { bubble.hidden = true }, HELP_MS)
  }

  // ---- Settings --------------------------------------------------------------------------------------------------------

  /** A setting as it is now.
   * @param {string} name */
  value(name) {
    const profile = NETWORK.includes(name) && this.game.settings.profile
    const about = profile && this.networks.find(n => n.name === profile)
    if (about) return about[/** @type {"delayMs"} */ (name)] // the engine counts by the profile
    return this.game.settings[name] ?? INITIAL[name]
  }

  /**
   * Changes settings of the engine.
   * @param {Record<string, number | string>} changes
   */
  choose(changes) {
    for (const name in changes) this.game.set(name, changes[name])
    this.show()
  }

  /** Another network was chosen: what was usual on the path is not any more. */
  move() {
    this.causes.forget()
    this.options.moved?.()
  }

  /** Shows all settings as they are. */
  show() {
    this.stale = false
    for (const show of this.controls) show()
    this.options.changed?.(this.game.settings)
  }

  // ---- Measuring -------------------------------------------------------------------------------------------------------

  /** Asks the server how much it sends this page at most. The simulated network does not delay the answer. */
  async ask() {
    const { game } = this
    if (!document.hidden && game.me) {
      const address = new URL("/truth", configURL(game.options)) // the page may come from another host
      address.searchParams.set("room", game.options.room ?? "")
      const response = await fetch(address).catch(() => null)
      this.carries = response?.ok ? (await response.json())[game.me?.id] ?? 0 : 0
    }
    if (game.observer === this && !game.stopped) this.asking = window.setTimeout(() => this.ask(), ASK_MS)
  }

  /**
   * Called once a frame while it measures.
   * @param {{name: string, event: any, undo: boolean}[]} events
   */
  frame(events) {
    const { game } = this, { stats, now } = game
    this.ribbon.see(game.packets)
    this.causes.frame(now, stats, game.packets, () => game.desyncs())
    for (const { name, event, undo } of events) if (name === "receipt" && !undo) this.causes.judged(now, event)
    for (const { graph } of this.rows ?? []) if (graph.spec.peak) graph.see(stats, this.carries)
    if (now - this.sampledAt < SAMPLE_MS) return
    if (this.unfit) this.fit()
    if (this.turn = !this.turn) { // the ribbon and the lines in two frames, so that none takes long
      this.ribbon.draw(stats, this.late())
      return
    }
    this.sampledAt = now
    this.sample(now)
    if (!this.opened) return
    if (this.stale) this.show()
    this.draw()
    if (now - this.slowAt < 3 * SAMPLE_MS) return
    this.slowAt = now
    this.status()
    this.tell(now)
  }

  /** @param {number} now */
  sample(now) {
    const { stats } = this.game
    for (const { graph } of this.rows ?? []) graph.see(stats, this.carries)
    if (!(stats.serverMs > 0)) this.settled = Infinity
    else if (this.settled === Infinity) this.settled = now + SETTLE_MS
    if (now < this.settled) return // the first estimates are so large that the graphs would look flat afterwards
    for (const { graph } of this.rows ?? []) graph.sample()
  }

  /** By how much things are drawn later than the others. */
  *late() {
    const lists = /** @type {any[][]} */ (Object.values(this.game.world))
    for (const list of lists) for (const e of list) if (!e.mine && e.lateMs > 0) yield /** @type {number} */ (e.lateMs)
  }

  fit() {
    this.unfit = false
    this.ribbon.fit()
    if (this.opened) for (const { graph } of this.rows ?? []) graph.fit()
  }

  draw() {
    const { cursor } = this, live = this.settled !== Infinity
    for (const row of this.rows ?? []) {
      row.graph.draw(cursor)
      const text = live || cursor !== null ? row.graph.text(cursor ?? HISTORY - 1) : row.graph.n ? "–" : ""
      if (text === row.shown) continue
      row.value.textContent = row.shown = text
      row.value.classList.toggle("zero", text === "0") // no stall: nothing to look at
    }
    const ago = cursor === null ? 0 : (HISTORY - 1 - cursor) * SAMPLE_MS / 1000, text = ago ? `${ago.toFixed(1)} s ago` : "now"
    if (this.when && this.when.textContent !== text) this.when.textContent = text
  }

  /** Shows how the page is connected and what is played. */
  status() {
    const { game, link, version } = this
    if (!link || !version) return
    link.className = game.transport || game.config.local ? "link" : "link bad"
    const name = LINKS[game.transport] ?? (game.config.local ? "in this page" : "no connection")
    if (link.lastChild && link.lastChild.textContent !== name) link.lastChild.textContent = name
    link.dataset.help = game.transport === "websocket" && !isSecureContext
      ? "WebSocket. Browsers offer WebTransport only to pages loaded over https or from localhost." : "How this page is connected."
    version.textContent = [game.layout.game, `${game.layout.rate} ticks a second`, `tick ${Math.floor(game.stats.tick ?? 0)}`].join(" · ")
  }

  /** Shows what happened.
   * @param {number} now */
  tell(now) {
    const { log, causes } = this
    if (!log) return
    const shown = causes.list.slice(0, 8)
    if (!shown.length) {
      if (!log.querySelector(".none")) log.replaceChildren(make("li", "none", "Nothing went wrong so far."))
      return
    }
    while (log.childElementCount > shown.length || log.querySelector(".none")) log.lastChild?.remove()
    shown.forEach(({ atMs, kind, text }, i) => {
      let row = /** @type {HTMLElement} */ (log.children[i])
      if (!row) {
        row = make("li")
        row.append(make("i"), make("span"), make("time"))
        log.append(row)
      }
      const [shape, what, ago] = /** @type {HTMLElement[]} */ ([...row.children]), seconds = Math.floor((now - atMs) / 1000)
      const when = seconds < 1 ? "now" : seconds < 100 ? `${seconds} s` : `${Math.round(seconds / 60)} min`
      if (row.className !== kind) row.className = kind
      if (what.textContent !== text) {
        shape.textContent = SHAPES[kind]
        what.textContent = text
        row.dataset.help = text
      }
      if (ago.textContent !== when) ago.textContent = when
    })
  }
}
