// The side panel: the controls, the measurements, and the page's address, which remembers the controls.

const HISTORY = 300, SAMPLE_MS = 100 // 30 s
const OUTAGE_MS = 1000
const SAY_MS = 8000 // for how long the page says what it did, or did not understand
const SETTLE_MS = 700 // after connecting, before the graphs begin

/** The controls by id: the engine's setting, its default, and the text of a value. */
/** @type {Record<string, {setting?: string, initial: number, text?: (v: number) => string}>} */
const CONTROLS = {
  delay: { setting: "delayMs", initial: 0, text: v => `${v} ms` },
  jitter: { setting: "jitterMs", initial: 0, text: v => v ? `0–${v} ms` : "none" },
  loss: { setting: "lossPct", initial: 0, text: v => `${v} %` },
  playout: { setting: "playoutMs", initial: 0 },
  predict: { setting: "predict", initial: 1 },
  ahead: { setting: "predictMs", initial: 5000 },
  interpolate: { setting: "interpolate", initial: 1 },
  lagcomp: { setting: "lagcomp", initial: 1 },
  ghost: { initial: 0 }, // the page draws it, the engine does not know of it
}
const NETWORK = ["delay", "jitter", "loss"]

const PRESETS = [
  { title: "As it is", delay: 0, jitter: 0, loss: 0 },
  { title: "Fibre", delay: 10, jitter: 5, loss: 0 },
  { title: "Hotel Wi-Fi", delay: 30, jitter: 60, loss: 2 },
  { title: "Overseas", delay: 110, jitter: 20, loss: 1 },
  { title: "Train", delay: 70, jitter: 140, loss: 6 },
  { title: "Hopeless", delay: 250, jitter: 200, loss: 20 },
]

const ms = v => `${Math.round(v)} ms`
const within = v => `± ${v < 9.95 ? v.toFixed(1) : Math.round(v)} ms`
const kbit = v => Math.round(v / 125)
const OTHER = "#d7dee8", MINE = "#56b4e9", PLAIN = "#9fb0c4", HIT = "#ff5d73"

/**
 * The measurements, one line each. about: help, one or two sentences. read: its numbers; the graph fills the first and draws the others
 * as thin lines. text: what the line shows. least: the smallest value at the top of the graph. peak: keeps the largest value between two
 * samples. bars: a count, shown as a bar when it grows. more: is added to the help. sub: belongs to the line above.
 * @typedef {{name: string, about: string, color: string, read: (s: Record<string, number>, carries?: number) => number[],
 *   text: (v: number[]) => string, least?: number, peak?: boolean, bars?: boolean, sub?: boolean, more?: (v: number[]) => string}} Measure
 * @type {Measure[]}
 */
const MEASURES = [
  { name: "Playout delay", about: "Others are drawn this far in the past, so that the next record has arrived before it is needed. Also called interpolation delay.",
    color: OTHER, least: 120, read: s => [s.delayMs, aim(s)], text: v => ms(v[0]) },
  { name: "target", sub: true, about: "The playout delay is heading here: the shortest that keeps hitches to about one a minute.",
    color: OTHER, least: 120, read: s => [aim(s)], text: v => ms(v[0]) },
  { name: "Newest record", about: "Its age: how long ago the server made it. It grows while nothing arrives.",
    color: PLAIN, least: 120, read: s => [s.ageMs], text: v => `${ms(v[0])} old` },
  { name: "Clock error", about: "How wrong the estimate of the server’s clock can be while both clocks run at a steady rate. The thin line is its bound whatever the clocks do.",
    color: PLAIN, least: 10, read: s => [s.clockEstimatedMs ?? s.clockBoundMs, s.clockBoundMs], text: v => within(v[0]), more: v => `It is now ${within(v[1])}.` },
  { name: "Command lead", about: "Your commands are made this far ahead of the server, so that each arrives before its tick runs. Also called input buffer.",
    color: MINE, least: 60, read: s => [s.leadMs], text: v => ms(v[0]) },
  { name: "Correction", about: "How far your avatar is drawn from where it should be after a misprediction. It fades within moments.",
    color: MINE, least: 10, peak: true, read: s => [s.correctionCm], text: v => `${Math.round(v[0])} cm` },
  { name: "Round trip", about: "To the server and back: a smoothed average.",
    color: PLAIN, least: 60, read: s => [s.rttMs], text: v => ms(v[0]) },
  { name: "Hitches", about: "Times in these 30 seconds that all others stood still, because no newer record had arrived.",
    color: HIT, bars: true, read: s => [s.hitches], text: v => `${v[0]}` },
  { name: "single stalls", sub: true, about: "Times that one of the others was drawn at rest while records of others came: it paused for a moment, or its record was missing.",
    color: HIT, bars: true, read: s => [s.entityHitches], text: v => `${v[0]}` },
  { name: "Down", about: "What you receive, and the most that the server sends you: what your path carries, within the bandwidth limit.",
    color: OTHER, least: 3000, read: (s, carries) => [s.downBps, carries], text: v => `${kbit(v[0])}${v[1] ? ` of ${kbit(v[1])}` : ""} kbit/s` },
  { name: "Up", about: "What you send, and what your path to the server is known to carry.",
    color: MINE, least: 3000, read: s => [s.upBps, s.upCarriesBps], text: v => `${kbit(v[0])}${v[1] ? ` of ${kbit(v[1])}` : ""} kbit/s` },
]
/** The engine counts the target from the path's shortest delay; here it is counted from the server's now, like the delay. */
const aim = s => s.targetMs > 0 ? s.targetMs + (s.rttMinMs ?? 0) / 2 : 0

/** @type {(id: string) => any} */
const $ = id => document.getElementById(id)

/** Reads the address: {room, name, bot, transport, profile and every control}. */
export function readAddress() {
  const q = new URLSearchParams(location.search)
  /** @type {any} */
  const state = {}
  for (const id in CONTROLS) {
    const v = q.get(id), n = Number(v)
    const input = $(id), max = input.type === "checkbox" ? 1 : +(input.max || 500)
    state[id] = v === null || !(n >= 0) ? CONTROLS[id].initial : Math.min(n, max)
  }
  state.profile = q.get("profile") ?? ""
  state.bot = q.get("bot") !== "0"
  state.transport = q.get("transport") ?? undefined
  return state
}

/** The engine's settings for a state. */
export function settingsOf(state) {
  /** @type {Record<string, number | string>} */
  const settings = { packets: 1, profile: state.profile }
  for (const id in CONTROLS) if (CONTROLS[id].setting) settings[CONTROLS[id].setting] = state[id]
  return settings
}

export class Panel {
  constructor(state) {
    this.state = state
    this.g = null
    /** @type {Graph[]} */
    this.graphs = MEASURES.map(spec => new Graph(spec, $("graphs"), this))
    this.cursor = null // index of the sample under the pointer, shared by all graphs
    this.sampledAt = 0
    this.settled = Infinity
    this.carries = 0 // bytes per second that the server sends us at most; 0: not known
    for (const id in CONTROLS) {
      const input = $(id)
      input.addEventListener("input", () => this.choose({ [id]: input.type === "checkbox" ? +input.checked : +input.value }))
    }
    this.presets = PRESETS.map(p => this.chip(p.title, () => this.choose({ delay: p.delay, jitter: p.jitter, loss: p.loss }), p))
    $("presets").style.visibility = "hidden" // until the engine has listed its networks
    $("panelbutton").addEventListener("click", () => this.open(!$("panel").classList.contains("open")))
    document.addEventListener("keydown", e => { if (e.key === "Escape") this.open(false) })
    $("view").addEventListener("pointerdown", () => this.open(false))
    const back = () => setTimeout(() => $("view").focus({ preventScroll: true })) // space jumps again
    $("panel").addEventListener("pointerup", e => { if (e.target.tagName !== "SELECT") back() }) // the list would close
    for (const list of document.querySelectorAll("#panel select")) list.addEventListener("change", back)
    $("bot").addEventListener("click", () => { if (this.g) this.g.autopilot = !this.g.autopilot })
    $("report").addEventListener("click", () => this.report())
    document.addEventListener("keydown", e => {
      if (e.code !== "F8" || e.repeat) return
      e.preventDefault()
      this.report()
    })
    this.show()
  }

  /** Reports this moment, and says where it is saved. */
  async report() {
    const { g } = this, button = $("report")
    if (!g?.config.reports || button.disabled) return
    button.disabled = true
    let answer
    try {
      const { name, log } = await g.report()
      answer = `Saved as ${name}${log ? "" : ", without this page's own log, which was too long"}.`
    } catch (e) {
      answer = e.message
    }
    button.disabled = false
    this.say(answer)
  }

  /** Shows a sentence for a while. */
  say(text) {
    const { notice } = this.g
    notice.show("banner", text)
    setTimeout(() => { if (notice.text === text) notice.hide() }, SAY_MS)
  }

  /** Connects the panel to the engine, which brings better networks to choose from. */
  attach(g) {
    this.g = g
    $("presets").style.visibility = ""
    $("report").hidden = !g.config.reports // the server keeps nothing that could be replayed
    if (g.layout.profiles?.length) for (const { b } of this.presets.splice(1)) b.remove()
    for (const p of g.layout.profiles ?? []) {
      const about = { profile: p.name, delay: p.delayMs, jitter: p.jitterMs, loss: p.lossPct }
      this.presets.push(this.chip(p.title, () => this.choose(about), about))
      if (p.name === this.state.profile) Object.assign(this.state, about)
    }
    const refused = this.state.profile && g.set("profile", this.state.profile)
    if (refused) { // the address names a network that there is not
      this.state.profile = ""
      this.say(refused)
    }
    const { b } = this.chip("1 s outage", () => {
      g.set("outageMs", OUTAGE_MS)
      b.setAttribute("aria-pressed", "true")
      setTimeout(() => b.setAttribute("aria-pressed", "false"), OUTAGE_MS)
    })
    b.className = "cut"
    b.title = "Nothing gets through for one second, in either direction."
    if (g.config.truth) setTimeout(() => this.askCarries())
    else if (!g.config.local) { // this server does not show it
      $("ghost").disabled = true
      this.state.ghost = 0
    }
    this.show()
  }

  /** Asks the server once a second how much it sends us at most. The simulated network does not delay the answer. */
  async askCarries() {
    const { g } = this
    if (!document.hidden && g.me) {
      const response = await fetch(`/truth?room=${encodeURIComponent(g.options.room ?? "")}`).catch(() => null)
      this.carries = response?.ok ? (await response.json())[g.me?.id] ?? 0 : 0
    }
    setTimeout(() => this.askCarries(), 1000)
  }

  open(on) {
    $("panel").classList.toggle("open", on)
    $("panelbutton").setAttribute("aria-expanded", on)
    $("panelbutton").textContent = on ? "Close" : "Network"
  }

  chip(title, f, about) {
    const b = document.createElement("button")
    b.type = "button"
    b.textContent = title
    b.onclick = f
    $("presets").append(b)
    return { b, about }
  }

  /** Changes some of the state: engine, address and controls follow. */
  choose(changes) {
    if (NETWORK.some(id => id in changes) && !("profile" in changes)) changes.profile = ""
    Object.assign(this.state, changes)
    for (const id in changes) {
      const setting = id === "profile" ? "profile" : CONTROLS[id]?.setting
      if (setting && this.g) this.g.set(setting, changes[id])
    }
    this.show()
    this.remember()
  }

  show() {
    const { state } = this
    for (const id in CONTROLS) {
      const input = $(id)
      if (input.type === "checkbox") input.checked = !!state[id]
      else if (input.options) {
        if (![...input.options].some(o => +o.value === state[id])) input.append(new Option(`${state[id]} ms`, state[id]))
        input.value = state[id]
      } else {
        input.value = state[id]
        input.style.setProperty("--at", `${100 * state[id] / input.max}%`)
        input.closest("label").querySelector("output").textContent = (state.profile && state[id] ? "≈ " : "") + CONTROLS[id].text(state[id])
      }
    }
    const known = this.presets.some(({ about }) => about.profile === state.profile) // the address may name another one
    $("profile").textContent = !state.profile ? "each way" : known || !this.g ? "each way, roughly" : state.profile
    for (const { b, about } of this.presets) {
      b.setAttribute("aria-pressed", String(state.profile ? about.profile === state.profile : !about.profile && NETWORK.every(id => about[id] === state[id])))
    }
  }

  remember() {
    const q = new URLSearchParams(location.search), { state } = this
    for (const id in CONTROLS) {
      if (state[id] === CONTROLS[id].initial || state.profile && NETWORK.includes(id)) q.delete(id)
      else q.set(id, state[id])
    }
    if (state.profile) q.set("profile", state.profile)
    else q.delete("profile")
    if (state.bot) q.delete("bot")
    else q.set("bot", "0")
    const text = q.toString()
    history.replaceState(null, "", text ? `?${text}` : location.pathname)
  }

  /** Once a frame. */
  measure(g) {
    const { stats, now } = g
    for (const graph of this.graphs) graph.see(stats, this.carries)
    if (now - this.sampledAt < SAMPLE_MS) return
    this.sampledAt = now
    this.status(g)
    if (!(stats.serverMs > 0)) {
      this.settled = Infinity
      for (const graph of this.graphs) graph.rest()
    } else if (this.settled === Infinity) this.settled = now + SETTLE_MS
    if (now < this.settled) return // the first estimates are so large that the graphs would look flat afterwards
    for (const graph of this.graphs) graph.sample()
    this.draw()
  }

  /** Shows how the page is connected, who plays and what is played. */
  status(g) {
    if (this.turn++ % 3) return
    const names = { webtransport: "WebTransport", websocket: "WebSocket" }
    const link = $("link")
    link.className = g.transport || g.config.local ? "on" : "bad"
    link.lastChild.textContent = names[g.transport] ?? (g.config.local ? "in this page" : "no connection")
    link.title = g.transport === "websocket" && !self.isSecureContext
      ? "WebSocket. Browsers offer WebTransport only to pages loaded over https or from localhost." : "How this page is connected"
    $("bot").textContent = g.autopilot ? "Play yourself" : "Let a bot play"
    $("build").textContent = [g.layout.game, `${g.layout.rate} ticks a second`, `tick ${Math.floor(g.stats.tick ?? 0)}`].join(" · ")
  }
  turn = 0

  draw() {
    for (const graph of this.graphs) graph.draw(this.cursor)
    const ago = this.cursor === null ? 0 : (HISTORY - 1 - this.cursor) * SAMPLE_MS / 1000
    $("when").textContent = ago ? `${ago.toFixed(1)} s ago` : "now"
  }
}

/** One line: a name, a graph of the last 30 seconds, the number. All lines share a cursor. */
class Graph {
  /**
   * @param {Measure} spec
   * @param {HTMLElement} parent
   * @param {Panel} panel
   */
  constructor(spec, parent, panel) {
    this.spec = spec
    const row = document.createElement("div")
    row.className = spec.sub ? "measure sub" : "measure"
    row.title = spec.about
    const name = document.createElement("span"), about = document.createElement("small")
    this.canvas = document.createElement("canvas")
    this.value = document.createElement("b")
    name.textContent = spec.name
    about.textContent = spec.about
    this.value.style.color = spec.color
    row.append(name, this.canvas, this.value, about)
    parent.append(row)
    this.ctx = this.canvas.getContext("2d")
    this.data = spec.read({}).map(() => new Float32Array(HISTORY))
    this.now = this.data.map(() => 0)
    this.n = 0
    this.top = spec.least
    this.canvas.addEventListener("pointermove", e => {
      panel.cursor = Math.max(0, Math.min(HISTORY - 1, Math.round(e.offsetX / this.canvas.clientWidth * (HISTORY - 1))))
      panel.draw()
    })
    if (spec.more) row.addEventListener("pointerenter", () => { row.title = `${spec.about} ${spec.more(this.now)}` })
    this.canvas.addEventListener("pointerleave", () => { panel.cursor = null; panel.draw() })
  }

  /** Once a frame. */
  see(stats, carries) {
    this.spec.read(stats, carries).forEach((v, i) => {
      v = v > 0 ? v : 0
      this.now[i] = this.spec.peak && this.seen ? Math.max(this.now[i], v) : v
    })
    this.seen = true
  }

  sample() {
    this.data.forEach((d, i) => {
      if (!this.n) d.fill(this.now[i]) // the first sample is no increase
      d.copyWithin(0, 1)
      d[HISTORY - 1] = this.now[i]
    })
    this.seen = false
    this.n = Math.min(HISTORY, this.n + 1)
  }

  /** Without a connection the last value is no longer true. */
  rest() {
    if (this.n) this.value.textContent = "–"
  }

  draw(cursor) {
    const { ctx, canvas, spec, data } = this, ratio = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight
    if (canvas.width !== Math.round(w * ratio)) canvas.width = Math.round(w * ratio)
    if (canvas.height !== Math.round(h * ratio)) canvas.height = Math.round(h * ratio)
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0)
    ctx.clearRect(0, 0, w, h)
    const first = HISTORY - this.n, x = i => i / (HISTORY - 1) * w
    ctx.lineWidth = 1
    ctx.strokeStyle = "rgba(150, 180, 220, 0.14)"
    ctx.beginPath()
    ctx.moveTo(0, h - 0.5); ctx.lineTo(w, h - 0.5)
    ctx.stroke()
    if (spec.bars) {
      const [d] = data
      ctx.fillStyle = spec.color + (spec.sub ? "90" : "")
      for (let i = first + 1; i < HISTORY; i++) if (d[i] > d[i - 1]) ctx.fillRect(x(i) - 1, 1, 2, h)
    } else {
      let most = spec.least
      for (const d of data) for (let i = first; i < HISTORY; i++) if (d[i] > most) most = d[i]
      most *= 1.08
      this.top += (most - this.top) * (most > this.top ? 0.5 : 0.08)
      const y = v => h - 1 - v / this.top * (h - 3)
      data.forEach((d, s) => {
        ctx.beginPath()
        for (let i = first; i < HISTORY; i++) i === first ? ctx.moveTo(x(i), y(d[i])) : ctx.lineTo(x(i), y(d[i]))
        ctx.strokeStyle = s ? spec.color + "70" : spec.color
        ctx.lineWidth = s ? 1 : 1.2
        ctx.lineJoin = "round"
        ctx.stroke()
        if (s || !this.n) return
        ctx.lineTo(w, h)
        ctx.lineTo(x(first), h)
        ctx.fillStyle = spec.color + "22"
        ctx.fill()
      })
    }
    const at = cursor ?? HISTORY - 1
    if (cursor !== null) {
      ctx.fillStyle = "rgba(215, 222, 232, 0.6)"
      ctx.fillRect(x(at) - 0.5, 0, 1, h)
    }
    this.value.textContent = cursor !== null && at < first ? "" : spec.text(data.map(d => d[at] - (spec.bars ? d[0] : 0)))
  }
}
