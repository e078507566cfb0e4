// The side panel: what the person may change, what is measured, and the address that remembers all of it.

const HISTORY = 300, SAMPLE_MS = 100 // 30 s

/** Ranges and switches by id: the engine's setting, its default, and how a value reads. */
const CONTROLS = {
  delay: { setting: "delayMs", initial: 0, text: v => `${v} ms` },
  jitter: { setting: "jitterMs", initial: 0, text: v => v ? `0–${v} ms` : "none" },
  loss: { setting: "lossPct", initial: 0, text: v => `${v} %` },
  playout: { setting: "playoutMs", initial: 0, text: v => v ? `${v} ms` : "automatic" },
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

const GRAPHS = [
  { unit: "ms", least: 60, series: [{ name: "Round trip", stat: "rttMs", color: "#9fb0c4", fill: true }, { name: "±", stat: "clockBoundMs", color: "#8a99ae" }] },
  { unit: "ms", least: 120, series: [{ name: "Playout", stat: "delayMs", color: "#d7dee8", fill: true }, { name: "age", stat: "ageMs", color: "#8a99ae" }] },
  { unit: "kB/s", least: 4, scale: 1 / 1000, digits: 1, series: [{ name: "Down", stat: "downBps", color: "#d7dee8", fill: true }, { name: "Up", stat: "upBps", color: "#56b4e9" }] },
  { unit: "cm", least: 10, digits: 0, series: [{ name: "Correction", stat: "correctionCm", color: "#56b4e9", fill: true, peak: true }] },
]

const $ = id => document.getElementById(id)

/** Reads the address: {room, name, bot, transport, profile and every control}. */
export function readAddress() {
  const q = new URLSearchParams(location.search), state = {}
  for (const id in CONTROLS) {
    const v = q.get(id), n = Number(v)
    const input = $(id), max = input.type === "checkbox" ? 1 : +input.max
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
    this.graphs = GRAPHS.map(spec => new Graph(spec, $("graphs"), this))
    this.cursor = null // index of the sample under the pointer, shared by all graphs
    this.sampledAt = 0
    this.peaks = {}
    for (const id in CONTROLS) {
      const input = $(id)
      input.addEventListener("input", () => this.choose({ [id]: input.type === "checkbox" ? +input.checked : +input.value }))
    }
    this.presets = PRESETS.map(p => this.chip(p.title, () => this.choose({ delay: p.delay, jitter: p.jitter, loss: p.loss }), p))
    $("presets").style.visibility = "hidden" // until it is known which networks there are
    $("panelbutton").addEventListener("click", () => this.open(!$("panel").classList.contains("open")))
    document.addEventListener("keydown", e => { if (e.key === "Escape") this.open(false) })
    $("view").addEventListener("pointerdown", () => this.open(false))
    $("panel").addEventListener("pointerup", () => setTimeout(() => $("view").focus({ preventScroll: true }))) // space jumps again
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
    }
    this.show()
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
      else {
        input.value = state[id]
        input.style.setProperty("--at", `${100 * state[id] / input.max}%`)
        input.closest("label").querySelector("output").textContent = CONTROLS[id].text(state[id])
      }
    }
    for (const { b, about } of this.presets) {
      b.setAttribute("aria-pressed", state.profile ? about.profile === state.profile : !about.profile && NETWORK.every(id => about[id] === state[id]))
    }
  }

  remember() {
    const q = new URLSearchParams(location.search), { state } = this
    for (const id in CONTROLS) {
      if (state[id] === CONTROLS[id].initial) q.delete(id)
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
    for (const graph of GRAPHS) for (const s of graph.series) if (s.peak) this.peaks[s.stat] = Math.max(this.peaks[s.stat] ?? 0, stats[s.stat] ?? 0)
    if (now - this.sampledAt < SAMPLE_MS) return
    this.sampledAt = now
    for (const graph of this.graphs) graph.sample(stats, this.peaks)
    this.peaks = {}
    this.draw()
    if (++this.turn % 3) return
    const names = { webtransport: "WebTransport", websocket: "WebSocket" }
    const link = $("link")
    link.className = g.transport || g.config.local ? "on" : "bad"
    link.lastChild.textContent = names[g.transport] ?? (g.config.local ? "in this page" : "no connection")
    link.title = g.transport === "websocket" && !self.isSecureContext
      ? "WebSocket, because the page was not loaded over https or from localhost: there browsers offer no WebTransport" : "How this page is connected"
    $("bot").textContent = g.autopilot ? "Play yourself" : "Let a bot play"
    $("build").textContent = [g.layout.game, `${g.layout.rate} ticks a second`, `tick ${Math.floor(stats.tick ?? 0)}`].join(" · ")
  }
  turn = 0

  draw() { for (const graph of this.graphs) graph.draw(this.cursor) }
}

/** One small graph of the last 30 seconds; all share a cursor. */
class Graph {
  constructor(spec, parent, panel) {
    this.spec = spec
    this.box = document.createElement("div")
    this.box.className = "graph"
    const row = document.createElement("p")
    this.values = spec.series.map(s => {
      const span = document.createElement("span"), b = document.createElement("b")
      if (spec.series.length > 1) b.style.color = s.color
      span.append(`${s.name} `, b)
      row.append(span)
      return b
    })
    this.canvas = document.createElement("canvas")
    this.box.append(row, this.canvas)
    parent.append(this.box)
    this.ctx = this.canvas.getContext("2d")
    this.data = spec.series.map(() => new Float32Array(HISTORY))
    this.n = 0
    this.top = spec.least
    this.canvas.addEventListener("pointermove", e => {
      panel.cursor = Math.round(e.offsetX / this.canvas.clientWidth * (HISTORY - 1))
      panel.draw()
    })
    this.canvas.addEventListener("pointerleave", () => { panel.cursor = null; panel.draw() })
  }

  sample(stats, peaks) {
    this.spec.series.forEach((s, i) => {
      this.data[i].copyWithin(0, 1)
      const v = s.peak ? peaks[s.stat] : stats[s.stat]
      this.data[i][HISTORY - 1] = (v > 0 ? v : 0) * (this.spec.scale ?? 1)
    })
    this.n = Math.min(HISTORY, this.n + 1)
  }

  draw(cursor) {
    const { ctx, canvas, spec } = this, ratio = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight
    if (canvas.width !== Math.round(w * ratio)) canvas.width = Math.round(w * ratio)
    if (canvas.height !== Math.round(h * ratio)) canvas.height = Math.round(h * ratio)
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0)
    ctx.clearRect(0, 0, w, h)
    let most = spec.least
    for (const d of this.data) for (let i = HISTORY - this.n; i < HISTORY; i++) if (d[i] > most) most = d[i]
    most *= 1.12
    this.top += (most - this.top) * (most > this.top ? 0.5 : 0.08)
    const x = i => i / (HISTORY - 1) * w, y = v => h - 1.5 - v / this.top * (h - 4)
    ctx.strokeStyle = "rgba(150, 180, 220, 0.12)"
    ctx.lineWidth = 1
    ctx.beginPath()
    ctx.moveTo(0, h - 0.5); ctx.lineTo(w, h - 0.5)
    for (let i = HISTORY - 100; i > 0; i -= 100) { ctx.moveTo(x(i), 2); ctx.lineTo(x(i), h) }
    ctx.stroke()
    this.data.forEach((d, s) => {
      const { color, fill } = spec.series[s], first = HISTORY - this.n
      ctx.beginPath()
      for (let i = first; i < HISTORY; i++) i === first ? ctx.moveTo(x(i), y(d[i])) : ctx.lineTo(x(i), y(d[i]))
      ctx.strokeStyle = color
      ctx.lineWidth = 1.3
      ctx.lineJoin = "round"
      ctx.stroke()
      if (!fill || !this.n) return
      ctx.lineTo(w, h)
      ctx.lineTo(x(first), h)
      const g = ctx.createLinearGradient(0, 0, 0, h)
      g.addColorStop(0, color + "40")
      g.addColorStop(1, color + "05")
      ctx.fillStyle = g
      ctx.fill()
    })
    const at = cursor ?? HISTORY - 1
    if (cursor !== null) {
      ctx.strokeStyle = "rgba(215, 222, 232, 0.5)"
      ctx.beginPath(); ctx.moveTo(x(at), 0); ctx.lineTo(x(at), h); ctx.stroke()
    }
    this.data.forEach((d, s) => {
      const unit = s === this.data.length - 1 ? ` ${spec.unit}` : ""
      this.values[s].textContent = d[at].toFixed(spec.digits ?? 0) + unit
      if (cursor !== null) { ctx.fillStyle = spec.series[s].color; ctx.beginPath(); ctx.arc(x(at), y(d[at]), 2.5, 0, 7); ctx.fill() }
    })
  }
}
