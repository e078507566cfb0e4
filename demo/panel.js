// The side panel: what the person may change, what is measured, and the address that remembers all of it.

const HISTORY = 300, SAMPLE_MS = 100 // 30 s
const OUTAGE_MS = 1000
const SETTLE_MS = 700

/** Ranges and switches by id: the engine's setting, its default, and how a value reads. */
const CONTROLS = {
  delay: { setting: "delayMs", initial: 0, text: v => `${v} ms` },
  jitter: { setting: "jitterMs", initial: 0, text: v => v ? `0–${v} ms` : "none" },
  loss: { setting: "lossPct", initial: 0, text: v => `${v} %` },
  playout: { setting: "playoutMs", initial: 0 },
  predict: { setting: "predict", initial: 1 },
  interpolate: { setting: "interpolate", initial: 1 },
  lagcomp: { setting: "lagcomp", initial: 1 },
  ghost: { initial: 0 }, // drawn by the page alone
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
 * What is measured: a line each. read makes its numbers from the stats, the first of which is filled, the others are thin lines; text says them.
 * least is what the graph's height is at least; peak keeps the largest of the frames between two samples; bars counts what was added, and shows when;
 * more is added to the tooltip.
 */
const MEASURES = [
  { name: "Playout delay", about: "How far behind the server’s now others are drawn, so that a record is there before it is needed.",
    color: OTHER, least: 120, read: s => [s.delayMs, aim(s)], text: v => ms(v[0]) },
  { name: "it aims at", sub: true, about: "The delay to which playout speeds up or slows down: the least that keeps to about one hitch a minute.",
    color: OTHER, least: 120, read: s => [aim(s)], text: v => ms(v[0]) },
  { name: "Newest record", about: "Its age: how long ago the server made the newest record that has arrived. It grows while nothing comes.",
    color: PLAIN, least: 120, read: s => [s.ageMs], text: v => `${ms(v[0])} old` },
  { name: "Clock known to", about: "By so much the estimate of the server’s clock can be off while both clocks run evenly: half of the shortest round trip that still counts. The thin line is what it can be off whatever they do.",
    color: PLAIN, least: 10, read: s => [s.clockEstimatedMs ?? s.clockBoundMs, s.clockBoundMs], text: v => within(v[0]), more: v => `Now ${within(v[1])}.` },
  { name: "Command lead", about: "How far your commands are stamped ahead of the server’s now, so that each is there when its tick runs.",
    color: MINE, least: 60, read: s => [s.leadMs], text: v => ms(v[0]) },
  { name: "Correction", about: "How far your avatar is drawn from where the server has put it; it fades.",
    color: MINE, least: 10, peak: true, read: s => [s.correctionCm], text: v => `${Math.round(v[0])} cm` },
  { name: "Round trip", about: "To the server and back, smoothed.",
    color: PLAIN, least: 60, read: s => [s.rttMs], text: v => ms(v[0]) },
  { name: "Hitches", about: "How often, in these 30 seconds, all others stood still because nothing newer had come.",
    color: HIT, bars: true, read: s => [s.hitches], text: v => `${v[0]}` },
  { name: "of single ones", sub: true, about: "How often one of them stood still for want of a record of its own, while others’ came.",
    color: HIT, bars: true, read: s => [s.entityHitches], text: v => `${v[0]}` },
  { name: "Down", about: "What you get, of what the server takes the path to carry; it allows itself no more than its budget.",
    color: OTHER, least: 3000, read: (s, carries) => [s.downBps, carries], text: v => `${kbit(v[0])}${v[1] ? ` of ${kbit(v[1])}` : ""} kbit/s` },
  { name: "Up", about: "What you send, of what your path is found to carry.",
    color: MINE, least: 3000, read: s => [s.upBps, s.upCarriesBps], text: v => `${kbit(v[0])}${v[1] ? ` of ${kbit(v[1])}` : ""} kbit/s` },
]
/** The target is told above the path's least; here it is counted from the server's now, as the delay is. */
const aim = s => s.targetMs > 0 ? s.targetMs + (s.rttMinMs ?? 0) / 2 : 0

const $ = id => document.getElementById(id)

/** Reads the address: {room, name, bot, transport, profile and every control}. */
export function readAddress() {
  const q = new URLSearchParams(location.search), state = {}
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
  const settings = { packets: 1, profile: state.profile }
  for (const id in CONTROLS) if (CONTROLS[id].setting) settings[CONTROLS[id].setting] = state[id]
  return settings
}

export class Panel {
  constructor(state) {
    this.state = state
    this.g = null
    this.graphs = MEASURES.map(spec => new Graph(spec, $("graphs"), this))
    this.cursor = null // index of the sample under the pointer, shared by all graphs
    this.sampledAt = 0
    this.settled = Infinity
    this.carries = 0 // bytes a second that the server takes the way to us to carry, 0 = not known
    for (const id in CONTROLS) {
      const input = $(id)
      input.addEventListener("input", () => this.choose({ [id]: input.type === "checkbox" ? +input.checked : +input.value }))
    }
    this.presets = PRESETS.map(p => this.chip(p.title, () => this.choose({ delay: p.delay, jitter: p.jitter, loss: p.loss }), p))
    $("presets").style.visibility = "hidden" // until it is known which networks there are
    $("panelbutton").addEventListener("click", () => this.open(!$("panel").classList.contains("open")))
    document.addEventListener("keydown", e => { if (e.key === "Escape") this.open(false) })
    $("view").addEventListener("pointerdown", () => this.open(false))
    const back = () => setTimeout(() => $("view").focus({ preventScroll: true })) // space jumps again
    $("panel").addEventListener("pointerup", e => { if (e.target !== $("playout")) back() }) // the list would close
    $("playout").addEventListener("change", back)
    $("bot").addEventListener("click", () => { if (this.g) this.g.autopilot = !this.g.autopilot })
    this.show()
  }

  /** The engine is there: real networks to choose from instead of rough ones, and somebody to tell. */
  attach(g) {
    this.g = g
    $("presets").style.visibility = ""
    if (g.layout.profiles?.length) for (const { b } of this.presets.splice(1)) b.remove()
    for (const p of g.layout.profiles ?? []) {
      const about = { profile: p.name, delay: p.delayMs, jitter: p.jitterMs, loss: p.lossPct }
      this.presets.push(this.chip(p.title, () => this.choose(about), about))
      if (p.name === this.state.profile) Object.assign(this.state, about)
    }
    const { b } = this.chip("1 s outage", () => {
      g.set("outageMs", OUTAGE_MS)
      b.setAttribute("aria-pressed", true)
      setTimeout(() => b.setAttribute("aria-pressed", false), OUTAGE_MS)
    })
    b.className = "cut"
    b.title = "Nothing gets through for a second, in either direction"
    if (g.config.truth) setTimeout(() => this.askCarries())
    else if (!g.config.local) { // this server keeps it to itself
      $("ghost").disabled = true
      this.state.ghost = 0
    }
    this.show()
  }

  /** What the server takes the way to us to carry only the server knows; it is asked past the network panel, once a second. */
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
    const known = this.presets.some(({ about }) => about.profile === state.profile) // another one's name only the address tells
    $("profile").textContent = !state.profile ? "each way" : known || !this.g ? "each way, roughly" : state.profile
    for (const { b, about } of this.presets) {
      b.setAttribute("aria-pressed", state.profile ? about.profile === state.profile : !about.profile && NETWORK.every(id => about[id] === state[id]))
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
    else q.set("bot", 0)
    const text = q.toString()
    history.replaceState(null, "", text ? `?${text}` : location.pathname)
  }

  /** Once a frame. */
  measure(g) {
    const { stats, now } = g
    for (const graph of this.graphs) graph.see(stats, this.carries)
    if (now - this.sampledAt < SAMPLE_MS) return
    this.sampledAt = now
    this.tell(g)
    if (!(stats.serverMs > 0)) {
      this.settled = Infinity
      for (const graph of this.graphs) graph.rest()
    } else if (this.settled === Infinity) this.settled = now + SETTLE_MS // also when the first frame comes this late
    if (now < this.settled) return // the first estimates would flatten all that follows
    for (const graph of this.graphs) graph.sample()
    this.draw()
  }

  /** What is so with and without numbers. */
  tell(g) {
    if (this.turn++ % 3) return
    const names = { webtransport: "WebTransport", websocket: "WebSocket" }
    const link = $("link")
    link.className = g.transport || g.config.local ? "on" : "bad"
    link.lastChild.textContent = names[g.transport] ?? (g.config.local ? "in this page" : "no connection")
    link.title = g.transport === "websocket" && !self.isSecureContext
      ? "WebSocket, because the page was not loaded over https or from localhost: there browsers offer no WebTransport" : "How this page is connected"
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

/** One line: a name, the last 30 seconds, the number. All lines share a cursor. */
class Graph {
  constructor(spec, parent, panel) {
    this.spec = spec
    const row = document.createElement("div")
    row.className = spec.sub ? "measure sub" : "measure"
    row.title = spec.about
    row.innerHTML = "<span></span><canvas></canvas><b></b><small></small>"
    ;[this.name, this.canvas, this.value, this.about] = row.children
    this.name.textContent = spec.name
    this.about.textContent = spec.about
    this.value.style.color = spec.color
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
      if (!this.n) d.fill(this.now[i]) // what was before is not an increase
      d.copyWithin(0, 1)
      d[HISTORY - 1] = this.now[i]
    })
    this.seen = false
    this.n = Math.min(HISTORY, this.n + 1)
  }

  /** There is no connection: what was measured last is not so any more. */
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
