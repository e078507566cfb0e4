// The ribbon of timelines below the arena: one axis of time with three marks, playout time, server time and command time, and
// a line for each packet from when and where it was sent to when and where it arrived.
import { COLOR } from "/scene.js"

const SANS = "-apple-system, BlinkMacSystemFont, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
const KEEP = 512 // packets
const SILENCE = 250 // ms: a gap between packets that is at least this long is shown in red
const LABELLED = 400 // ms: such a gap gets a label
const LONGEST = 2500 // ms: the axis grows with a gap up to here

export class Ribbon {
  constructor(canvas) {
    this.canvas = canvas
    this.ctx = canvas.getContext("2d")
    this.packets = []
    this.arrived = [] // instants at which packets came, in order
    this.past = 600
    this.future = 200
    this.delay = this.lead = 0
    new ResizeObserver(() => this.fit()).observe(canvas)
    this.fit()
  }

  fit() {
    const ratio = window.devicePixelRatio || 1
    this.width = this.canvas.clientWidth
    this.height = this.canvas.clientHeight
    this.canvas.width = Math.round(this.width * ratio)
    this.canvas.height = Math.round(this.height * ratio)
    this.ratio = ratio
  }

  /** Draws the timelines. packets are those of this frame; others are the entities drawn at playout time, or lateMs later. */
  draw(stats, packets, others) {
    const { ctx, width, height } = this, now = stats.serverMs
    if (this.ratio !== (window.devicePixelRatio || 1)) this.fit()
    for (const p of packets) this.packets.push({ ...p })
    ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0)
    ctx.clearRect(0, 0, width, height)
    if (!(now > 0)) return
    const delay = now - stats.playoutMs, lead = stats.commandMs - now
    this.delay += (delay - this.delay) * 0.1
    this.lead += (lead - this.lead) * 0.1
    const silent = stats.state === 2 ? 0 : stats.silentMs ?? 0
    this.past += (Math.max(420, 1.35 * this.delay + 160, Math.min(LONGEST, 1.2 * silent)) - this.past) * 0.04
    this.future += (Math.max(170, 1.25 * this.lead + 110) - this.future) * 0.04
    const small = height < 84, top = small ? 20 : 32, bottom = height - (small ? 12 : 24)
    const k = width / (this.past + this.future), x = ms => width - (this.future + now - ms) * k
    this.packets = this.packets.filter(p => p.sentMs > now - this.past * 1.3 && p.sentMs < now + 1e4)
    if (this.packets.length > KEEP) this.packets.splice(0, this.packets.length - KEEP)

    // Between playout time and now, and between now and command time.
    const xp = x(stats.playoutMs), xn = x(now), xc = x(stats.commandMs)
    ctx.fillStyle = "rgba(215, 222, 232, 0.05)"
    ctx.fillRect(xp, top, xn - xp, bottom - top)
    ctx.fillStyle = "rgba(86, 180, 233, 0.09)"
    ctx.fillRect(xn, top, xc - xn, bottom - top)

    // Rails, with a tick every 100 ms of the axis.
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

    // Gaps: between two arrivals, and since the last one.
    const gap = (from, to, label) => {
      if (to - from < SILENCE) return
      const a = x(from), b = x(to)
      ctx.fillStyle = "rgba(255, 93, 115, 0.16)"
      ctx.fillRect(a, bottom - 9, b - a, 9)
      ctx.fillStyle = COLOR.hit
      ctx.fillRect(a, bottom - 1, b - a, 2)
      if (b - a < 130 || to - from < LABELLED) return
      ctx.font = `10.5px ${SANS}`
      ctx.textAlign = "center"
      ctx.textBaseline = "alphabetic"
      const text = `${label} ${((to - from) / 1000).toFixed(1)} s`, half = ctx.measureText(text).width / 2 + 4, mid = (Math.max(a, 70) + b) / 2
      ctx.fillStyle = "#0c1016"
      ctx.fillRect(mid - half, bottom - 23, 2 * half, 13)
      ctx.fillStyle = COLOR.hit
      ctx.fillText(text, mid, bottom - 13)
    }
    this.arrived.push(...packets.filter(p => !p.up && p.arrivedMs > 0).map(p => p.arrivedMs).sort((a, b) => a - b))
    while (this.arrived.length > 1 && this.arrived[1] < now - this.past) this.arrived.shift()
    for (let i = 1; i < this.arrived.length; i++) gap(this.arrived[i - 1], this.arrived[i], "nothing came for")
    if (this.arrived.length && silent > 0) gap(this.arrived.at(-1), now, "nothing for")

    // Packets.
    for (const p of this.packets) {
      const from = p.up ? bottom : top, to = p.up ? top : bottom, a = x(p.sentMs)
      const lost = !(p.arrivedMs === p.arrivedMs)
      if (lost) {
        const mx = a + 7, my = from + (to - from) * 0.32
        ctx.strokeStyle = COLOR.hit
        ctx.globalAlpha = 0.85
        ctx.lineWidth = 1
        ctx.beginPath()
        ctx.moveTo(a, from); ctx.lineTo(mx, my)
        ctx.moveTo(mx - 2.5, my - 2.5); ctx.lineTo(mx + 2.5, my + 2.5)
        ctx.moveTo(mx + 2.5, my - 2.5); ctx.lineTo(mx - 2.5, my + 2.5)
        ctx.stroke()
        continue
      }
      const b = x(p.arrivedMs)
      ctx.strokeStyle = p.up ? COLOR.mine : COLOR.other
      ctx.globalAlpha = p.up ? 0.38 : 0.62
      ctx.lineWidth = p.up ? 1 : 1 + Math.min(1.5, p.bytes / 500)
      ctx.beginPath(); ctx.moveTo(a, from); ctx.lineTo(b, to); ctx.stroke()
      ctx.globalAlpha = 0.9
      ctx.fillStyle = p.up ? COLOR.mine : COLOR.other
      ctx.beginPath(); ctx.arc(b, to, p.up ? 1.3 : 2, 0, 7); ctx.fill()
    }
    ctx.globalAlpha = 1

    // Playout time, server time, command time.
    const rule = (at, color, wide) => {
      ctx.strokeStyle = color
      ctx.lineWidth = wide
      ctx.beginPath(); ctx.moveTo(at, top - 6); ctx.lineTo(at, bottom + (small ? 2 : 5)); ctx.stroke()
    }
    rule(xp, COLOR.other, 2)
    rule(xn, COLOR.truth, 2)
    rule(xc, COLOR.mine, 2)
    const newest = x(stats.newestMs)
    ctx.fillStyle = COLOR.other
    ctx.beginPath(); ctx.moveTo(newest, top - 1); ctx.lineTo(newest - 4, top - 7); ctx.lineTo(newest + 4, top - 7); ctx.closePath(); ctx.fill()

    // Entities whose records come seldom are drawn later than playout time.
    ctx.fillStyle = COLOR.other
    for (const o of others) if (!o.mine && o.lateMs > 0) ctx.fillRect(x(stats.playoutMs - o.lateMs) - 0.75, (top + bottom) / 2 - 6, 1.5, 12)

    const ms = v => `${Math.round(v)} ms`
    ctx.font = `500 11.5px ${SANS}`
    ctx.textBaseline = "middle"
    const ly = small ? 8 : 14
    ctx.textAlign = "right"
    ctx.fillStyle = COLOR.other
    const seen = small ? `others −${ms(this.delay)}` : `playout time: others as they were ${ms(this.delay)} ago`
    ctx.fillText(seen, Math.max(xp + 4, ctx.measureText(seen).width + 8), ly)
    ctx.textAlign = "left"
    ctx.fillStyle = COLOR.mine
    const label = small ? `you +${ms(this.lead)}` : `command time: you, ${ms(this.lead)} ahead`
    ctx.fillText(label, Math.min(xc - 4, width - ctx.measureText(label).width - 8), ly)
    if (!small) {
      ctx.textAlign = "center"
      ctx.fillStyle = COLOR.truth
      ctx.fillText("server time: now", xn, bottom + 14)
      ctx.textAlign = "left"
      ctx.font = `11px ${SANS}`
      for (const { text, y } of [{ text: "server", y: top }, { text: "this page", y: bottom }]) {
        ctx.fillStyle = "#0c1016"
        ctx.fillRect(10, y - 8, ctx.measureText(text).width + 10, 16)
        ctx.fillStyle = "rgba(133, 147, 166, 0.95)"
        ctx.fillText(text, 15, y)
      }
    }
  }
}
