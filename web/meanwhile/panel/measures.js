// The panel's measurements, a line for each: its name, the last 30 seconds, and its number.

export const HISTORY = 300, SAMPLE_MS = 100 // 30 s

/** Colours of the panel, which differ for every kind of sight; what they mean has a shape or a word beside it. */
export const COLOR = { other: "#d7dee8", mine: "#56b4e9", plain: "#9fb0c4", truth: "#e8b339", bad: "#ff5d73" }

const ms = (/** @type {number} */ v) => `${Math.round(v)} ms`
const within = (/** @type {number} */ v) => `± ${v < 9.95 ? v.toFixed(1) : Math.round(v)} ms`
const kbit = (/** @type {number} */ v) => Math.round(v / 125)
const rate = (/** @type {number[]} */ v) => `${kbit(v[0])}${v[1] ? ` of ${kbit(v[1])}` : ""} kbit/s`

/** @typedef {Record<string, number>} Stats */

/** The engine counts the target from the path's shortest delay; here it is counted from the server's now, like the delay.
 * @param {Stats} s */
const aim = s => s.targetMs > 0 ? s.targetMs + (s.rttMinMs ?? 0) / 2 : 0

/**
 * A line. read: its numbers; the graph fills the first and draws the others as thin dashes. text: what the line shows. least: the
 * smallest value at the top of the graph. peak: keeps the largest value between two samples. bars: a count, shown as a bar when it
 * grows. more: is added to the help. sub: belongs to the line above. own: about the own avatar, which a page that watches has not.
 * @typedef {{name: string, help: string, color: string, read: (s: Stats, carries: number) => number[], text: (v: number[]) => string,
 *   least?: number, peak?: boolean, bars?: boolean, sub?: boolean, own?: boolean, more?: (v: number[]) => string}} Measure
 */

/** @type {Measure[]} */
export const MEASURES = [
  { name: "How late others are drawn", color: COLOR.other, least: 120, read: s => [s.delayMs, aim(s)], text: v => ms(v[0]),
    help: "Others are drawn as they were this long ago, so that the next record has arrived before it is needed. Also called playout delay, or interpolation delay." },
  { name: "the least that works", sub: true, color: COLOR.other, least: 120, read: s => [aim(s)], text: v => ms(v[0]),
    help: "How late others should be drawn on this path: the shortest delay that keeps stalls to about one a minute. The line above goes there." },
  { name: "Newest record", color: COLOR.plain, least: 120, read: s => [s.ageMs], text: v => `${ms(v[0])} old`,
    help: "How long ago the server made the newest record that you have. It grows while nothing arrives." },
  { name: "Stalls", color: COLOR.bad, bars: true, read: s => [s.hitches], text: v => `${v[0]}`,
    help: "Times in these 30 seconds that all others stood still, because no newer record had arrived. Also called hitches." },
  { name: "single stalls", sub: true, color: COLOR.plain, bars: true, read: s => [s.entityHitches], text: v => `${v[0]}`,
    help: "Times that one of the others was drawn at rest while records of others came: it paused for a moment, which is no fault, or its record was missing." },
  { name: "Clock error", color: COLOR.plain, least: 10, read: s => [s.clockEstimatedMs ?? s.clockBoundMs, s.clockBoundMs], text: v => within(v[0]),
    help: "How wrong the estimate of the server’s clock can be while both clocks run at a steady rate. The dashes are its bound whatever the clocks do.",
    more: v => `It is now ${within(v[1])}.` },
  { name: "How early you send", own: true, color: COLOR.mine, least: 60, read: s => [s.leadMs], text: v => ms(v[0]),
    help: "Your commands are made this far ahead of the server, so that each arrives before its tick runs. Also called command lead, or input buffer." },
  { name: "Correction", own: true, color: COLOR.mine, least: 10, peak: true, read: s => [s.correctionCm], text: v => `${Math.round(v[0])} cm`,
    help: "How far your avatar is drawn from where it should be after a wrong prediction. It fades within moments." },
  { name: "Round trip", color: COLOR.plain, least: 60, read: s => [s.rttMs], text: v => ms(v[0]),
    help: "To the server and back: a smoothed average. Also called ping." },
  { name: "Received", color: COLOR.other, least: 3000, read: (s, carries) => [s.downBps, carries || s.budgetBps], text: rate,
    help: "What you receive, and the most that the server sends you. If it stays at that limit, far things come seldom." },
  { name: "Sent", color: COLOR.mine, least: 3000, read: s => [s.upBps, s.upCarriesBps], text: rate,
    help: "What you send, and what your path to the server is known to carry." },
]

/** The drawn part of a line. */
export class Graph {
  /** @param {Measure} spec */
  constructor(spec) {
    this.spec = spec
    this.canvas = document.createElement("canvas")
    this.ctx = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"))
    this.width = this.height = 0
    /** Values by number of the line, the newest last. */
    this.data = spec.read({}, 0).map(() => new Float32Array(HISTORY))
    this.now = this.data.map(() => 0)
    this.n = 0
    this.seen = false
    this.top = spec.least ?? 1
  }

  /**
   * Reads the numbers of a frame.
   * @param {Stats} stats
   * @param {number} carries
   */
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
      const fell = d[HISTORY - 1] - this.now[i]
      if (this.spec.bars && fell > 0) for (let k = 0; k < HISTORY; k++) d[k] -= fell // it counts from zero again, on a new connection
      d.copyWithin(0, 1)
      d[HISTORY - 1] = this.now[i]
    })
    this.seen = false
    this.n = Math.min(HISTORY, this.n + 1)
  }

  /** Forgets all samples. */
  clear() { this.n = 0 }

  /** What the line shows of a sample.
   * @param {number} at */
  text(at) {
    if (at < HISTORY - this.n) return ""
    return this.spec.text(this.data.map(d => d[at] - (this.spec.bars ? d[0] : 0)))
  }

  /** Follows the size of the canvas, which is read here only: asking for it makes the browser compute the layout. */
  fit() {
    const ratio = devicePixelRatio || 1
    this.width = this.canvas.clientWidth
    this.height = this.canvas.clientHeight
    this.canvas.width = Math.round(this.width * ratio)
    this.canvas.height = Math.round(this.height * ratio)
    this.ctx.setTransform(ratio, 0, 0, ratio, 0, 0)
  }

  /** Draws the line, with the cursor at a sample if there is one.
   * @param {number | null} cursor */
  draw(cursor) {
    const { ctx, spec, data, width: w, height: h } = this, first = HISTORY - this.n
    const x = (/** @type {number} */ i) => i / (HISTORY - 1) * w
    ctx.clearRect(0, 0, w, h)
    if (spec.bars) {
      const [d] = data
      ctx.fillStyle = spec.color
      for (let i = first + 1; i < HISTORY; i++) if (d[i] > d[i - 1]) ctx.fillRect(x(i) - 1, spec.sub ? h / 2 : 2, 2, h)
    } else {
      let most = spec.least ?? 0
      for (const d of data) for (let i = first; i < HISTORY; i++) if (d[i] > most) most = d[i]
      most *= 1.08
      this.top += (most - this.top) * (most > this.top ? 0.5 : 0.08)
      data.forEach((d, s) => this.line(d, s > 0, first, x))
    }
    if (cursor === null) return
    ctx.fillStyle = "rgba(215, 222, 232, 0.6)"
    ctx.fillRect(x(cursor) - 0.5, 0, 1, h)
  }

  /**
   * @param {Float32Array} d
   * @param {boolean} thin
   * @param {number} first
   * @param {(i: number) => number} x
   */
  line(d, thin, first, x) {
    const { ctx, spec, width: w, height: h } = this
    ctx.beginPath()
    for (let i = first; i < HISTORY; i++) {
      const y = h - 1 - d[i] / this.top * (h - 3)
      i === first ? ctx.moveTo(x(i), y) : ctx.lineTo(x(i), y)
    }
    ctx.strokeStyle = thin ? spec.color + "90" : spec.color
    ctx.lineWidth = thin ? 1 : 1.2
    ctx.setLineDash(thin ? [3, 3] : [])
    ctx.stroke()
    ctx.setLineDash([])
    if (thin || !this.n) return
    ctx.lineTo(w, h)
    ctx.lineTo(x(first), h)
    ctx.fillStyle = spec.color + "22"
    ctx.fill()
  }
}
