// The ribbon of timelines: one axis of time with three marks, how late others are drawn, the server's now and where the own
// avatar is, and a line for each packet from when and where it was sent to when and where it arrived.
import { COLOR } from "./measures.js"

const SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
const BACK = "#0c1016"
const KEEP = 512 // packets
const SILENCE = 250 // ms: a gap between packets that is at least this long is shown in red
const LABELLED = 400 // ms: such a gap gets a label
const LONGEST = 2500 // ms: the axis grows with a gap up to here
const FLAT = 84 // CSS pixels: below this height there is room for short texts only
const ROOMY = 640 // CSS pixels: narrower than this likewise

/** @typedef {import("../../meanwhile.d.ts").Packet} Packet */
/** @typedef {(ms: number) => number} Scale from an instant to CSS pixels */

export class Ribbon {
  constructor() {
    this.canvas = document.createElement("canvas")
    this.canvas.setAttribute("role", "img")
    this.canvas.setAttribute("aria-label", "Timelines: when others are drawn, now at the server, and when your avatar is drawn")
    this.ctx = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"))
    /** @type {Packet[]} */
    this.packets = []
    /** Instants at which packets came, in order.
     * @type {number[]} */
    this.arrived = []
    this.past = 600
    this.future = 200
    this.delay = this.lead = 0
    this.width = this.height = 0
    this.ratio = 1
    this.watching = false // without an own avatar
  }

  /** Forgets all packets. */
  clear() {
    this.packets = []
    this.arrived = []
  }

  fit() {
    this.ratio = devicePixelRatio || 1
    this.width = this.canvas.clientWidth
    this.height = this.canvas.clientHeight
    this.canvas.width = Math.round(this.width * this.ratio)
    this.canvas.height = Math.round(this.height * this.ratio)
  }

  /** Keeps the packets of a frame.
   * @param {readonly Packet[]} packets */
  see(packets) {
    for (const p of packets) {
      this.packets.push({ ...p })
      if (p.up || !(p.arrivedMs > 0)) continue
      let i = this.arrived.length
      while (i > 0 && this.arrived[i - 1] > p.arrivedMs) i--
      this.arrived.splice(i, 0, p.arrivedMs)
    }
  }

  /**
   * Draws the timelines, about ten times a second.
   * @param {Record<string, number>} stats
   * @param {Iterable<number>} late of everything that is drawn later than the others: by how many milliseconds
   */
  draw(stats, late) {
    const { ctx, width, height } = this, now = stats.serverMs
    ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0)
    ctx.clearRect(0, 0, width, height)
    if (!(now > 0)) return
    const delay = now - stats.playoutMs, lead = this.watching ? 0 : stats.commandMs - now
    this.delay += (delay - this.delay) * 0.4
    this.lead += (lead - this.lead) * 0.4
    const silent = stats.state === 2 ? 0 : stats.silentMs ?? 0
    this.past += (Math.max(420, 1.35 * this.delay + 160, Math.min(LONGEST, 1.2 * silent)) - this.past) * 0.22
    this.future += (Math.max(170, 1.25 * this.lead + 110) - this.future) * 0.22
    const short = height < FLAT || width < ROOMY, top = short ? 22 : 32, bottom = height - (short ? 10 : 24)
    const k = width / (this.past + this.future), x = (/** @type {number} */ ms) => width - (this.future + now - ms) * k
    this.packets = this.packets.filter(p => p.sentMs > now - this.past * 1.3 && p.sentMs < now + 1e4)
    if (this.packets.length > KEEP) this.packets.splice(0, this.packets.length - KEEP)
    while (this.arrived.length > 1 && this.arrived[1] < now - this.past) this.arrived.shift()

    const xp = x(stats.playoutMs), xn = x(now), xc = x(this.watching ? now : stats.commandMs)
    ctx.fillStyle = "rgba(215, 222, 232, 0.05)"
    ctx.fillRect(xp, top, xn - xp, bottom - top)
    ctx.fillStyle = "rgba(86, 180, 233, 0.09)"
    ctx.fillRect(xn, top, xc - xn, bottom - top)
    this.rails(now, x, top, bottom)
    for (let i = 1; i < this.arrived.length; i++) this.gap(this.arrived[i - 1], this.arrived[i], "nothing came for", x, bottom)
    if (this.arrived.length && silent > 0) this.gap(this.arrived[this.arrived.length - 1], now, "nothing for", x, bottom)
    this.flights(x, top, bottom)

    // The newest record, and everything that is drawn later than the others.
    const newest = x(stats.newestMs)
    ctx.fillStyle = COLOR.other
    ctx.beginPath(); ctx.moveTo(newest, top - 1); ctx.lineTo(newest - 4, top - 7); ctx.lineTo(newest + 4, top - 7); ctx.closePath(); ctx.fill()
    for (const ms of late) ctx.fillRect(x(stats.playoutMs - ms) - 0.75, (top + bottom) / 2 - 6, 1.5, 12)

    // The three nows: each has its colour and its own kind of line.
    this.rule(xp, COLOR.other, [], top, bottom)
    this.rule(xn, COLOR.truth, [5, 3], top, bottom)
    if (!this.watching) this.rule(xc, COLOR.mine, [1.5, 2.5], top, bottom)
    this.labels(xp, xn, xc, top, bottom, short)
  }

  /** Two rails, with a tick every 100 ms of the axis.
   * @param {number} now
   * @param {Scale} x
   * @param {number} top
   * @param {number} bottom */
  rails(now, x, top, bottom) {
    const { ctx, width } = this
    ctx.strokeStyle = "rgba(150, 180, 220, 0.22)"
    ctx.lineWidth = 1
    ctx.beginPath()
    for (const y of [top, bottom]) { ctx.moveTo(0, y + 0.5); ctx.lineTo(width, y + 0.5) }
    for (let t = Math.ceil((now - this.past) / 100) * 100; t < now + this.future; t += 100) {
      const tx = x(t)
      ctx.moveTo(tx, top - 2); ctx.lineTo(tx, top + 3)
      ctx.moveTo(tx, bottom - 2); ctx.lineTo(tx, bottom + 3)
    }
    ctx.stroke()
  }

  /** A gap between two arrivals, or since the last one.
   * @param {number} from
   * @param {number} to
   * @param {string} label
   * @param {Scale} x
   * @param {number} bottom */
  gap(from, to, label, x, bottom) {
    if (to - from < SILENCE) return
    const { ctx } = this, a = x(from), b = x(to)
    ctx.fillStyle = "rgba(255, 93, 115, 0.16)"
    ctx.fillRect(a, bottom - 9, b - a, 9)
    ctx.fillStyle = COLOR.bad
    ctx.fillRect(a, bottom - 1, b - a, 2)
    if (b - a < 140 || to - from < LABELLED) return
    ctx.font = `12px ${SANS}`
    ctx.textAlign = "center"
    ctx.textBaseline = "alphabetic"
    const text = `${label} ${((to - from) / 1000).toFixed(1)} s`, half = ctx.measureText(text).width / 2 + 4, mid = (Math.max(a, 70) + b) / 2
    ctx.fillStyle = BACK
    ctx.fillRect(mid - half, bottom - 24, 2 * half, 14)
    ctx.fillStyle = COLOR.bad
    ctx.fillText(text, mid, bottom - 13)
  }

  /** Packets: those that arrived end in a dot if they came down and in a square if they went up, those that were lost in a cross.
   * @param {Scale} x
   * @param {number} top
   * @param {number} bottom */
  flights(x, top, bottom) {
    const { ctx } = this
    for (const up of [true, false]) { // each way is one path, so that many packets cost little
      const from = up ? bottom : top, to = up ? top : bottom, color = up ? COLOR.mine : COLOR.other
      const ends = new Path2D(), crosses = new Path2D()
      ctx.beginPath()
      for (const p of this.packets) {
        if (p.up !== up) continue
        const a = x(p.sentMs)
        if (!(p.arrivedMs === p.arrivedMs)) {
          const mx = a + 7, my = from + (to - from) * 0.32
          crosses.moveTo(a, from); crosses.lineTo(mx, my)
          crosses.moveTo(mx - 3, my - 3); crosses.lineTo(mx + 3, my + 3)
          crosses.moveTo(mx + 3, my - 3); crosses.lineTo(mx - 3, my + 3)
          continue
        }
        const b = x(p.arrivedMs)
        ctx.moveTo(a, from); ctx.lineTo(b, to)
        if (up) ends.rect(b - 1.25, to - 1.25, 2.5, 2.5)
        else { ends.moveTo(b + 2, to); ends.arc(b, to, 2, 0, 7) }
      }
      ctx.strokeStyle = color
      ctx.lineWidth = up ? 1 : 1.4
      ctx.globalAlpha = up ? 0.38 : 0.6
      ctx.stroke()
      ctx.globalAlpha = 0.9
      ctx.fillStyle = color
      ctx.fill(ends)
      ctx.strokeStyle = COLOR.bad
      ctx.lineWidth = 1.2
      ctx.stroke(crosses)
      ctx.globalAlpha = 1
    }
  }

  /**
   * @param {number} at
   * @param {string} color
   * @param {number[]} dash
   * @param {number} top
   * @param {number} bottom
   */
  rule(at, color, dash, top, bottom) {
    const { ctx } = this
    ctx.strokeStyle = color
    ctx.lineWidth = 2
    ctx.setLineDash(dash)
    ctx.beginPath(); ctx.moveTo(at, top - 6); ctx.lineTo(at, bottom + 5); ctx.stroke()
    ctx.setLineDash([])
  }

  /**
   * @param {number} xp
   * @param {number} xn
   * @param {number} xc
   * @param {number} top
   * @param {number} bottom
   * @param {boolean} short
   */
  labels(xp, xn, xc, top, bottom, short) {
    const { ctx, width } = this, ms = (/** @type {number} */ v) => `${Math.round(v)} ms`, y = short ? 9 : 14
    ctx.font = `500 12px ${SANS}`
    ctx.textBaseline = "middle"
    ctx.textAlign = "right"
    ctx.fillStyle = COLOR.other
    const seen = short ? `others −${ms(this.delay)}` : `others, as they were ${ms(this.delay)} ago`
    ctx.fillText(seen, Math.max(xp + 4, ctx.measureText(seen).width + 8), y)
    ctx.textAlign = "left"
    ctx.fillStyle = COLOR.mine
    const own = short ? `you +${ms(this.lead)}` : `you, ${ms(this.lead)} ahead`
    if (!this.watching) ctx.fillText(own, Math.min(xc - 4, width - ctx.measureText(own).width - 8), y)
    if (short) return
    ctx.textAlign = "center"
    ctx.fillStyle = COLOR.truth
    ctx.fillText("now at the server", xn, bottom + 14)
    ctx.textAlign = "left"
    ctx.font = `12px ${SANS}`
    for (const { text, at } of [{ text: "server", at: top }, { text: "this page", at: bottom }]) {
      ctx.fillStyle = BACK
      ctx.fillRect(10, at - 8, ctx.measureText(text).width + 10, 16)
      ctx.fillStyle = COLOR.plain
      ctx.fillText(text, 15, at)
    }
  }
}
