// What went wrong, and why: the panel's list of what happened, from what the page itself can see.

const KEEP = 40 // entries
const PACKETS_MS = 1500 // for how long packets count
const LATE_MS = 30 // beyond the usual, a packet is worth a line
const LATE_TIMES = 3 // and beyond this many times the usual deviation
const TOGETHER_MS = 12 // packets that arrive so soon after one another left a queue together
const FRAME_MS = 120 // a frame that lasts longer stood still
const SPACING_MS = 1000 // least time between two entries of one kind
const CORRECTION_CM = 2 // a smaller correction is not seen

/** What an entry is about: a word for its colour and shape. @typedef {"stall" | "late" | "you" | "hit" | "miss" | "page"} Kind */
/** @typedef {{atMs: number, kind: Kind, text: string}} Happened */
/** @typedef {import("../../meanwhile.d.ts").Packet} Packet */

/** Of the causes that g.desyncs() names: in plain words.
 * @type {Record<string, string>} */
const PLAIN = {
  starved: "missing commands", late: "a late command", "a teleport by the server": "the server moved you",
  "the server refused the spawn": "spawn refused", "the server removed it": "the server removed it",
  "Referee, or another player's command": "another player, or the server", "impure rules, see the report": "impure rules, see the console",
}

/** Why a receipt says no.
 * @type {Record<string, string>} */
const REASONS = {
  "none stated": "without rewind", "too old": "your view was too old", "switched off": "rewind is off", "a jump": "your view jumped",
  "in the future": "your view was ahead of the server", "older than the path asks for": "your view was older than your path asks for",
}

export class Causes {
  constructor() {
    /** The newest first.
     * @type {Happened[]} */
    this.list = []
    /** Packets from the server that have arrived, in order, and those that are known to be lost.
     * @type {{at: number, sent: number, lost: boolean}[]} */
    this.packets = []
    this.usual = NaN // ms from sending to arriving
    this.spread = 0 // mean deviation from it
    /** @type {Record<string, number> | null} */
    this.last = null
    this.frameAt = 0
    this.stood = 0 // the longest frame of late
    this.stoodAt = -1e9
  }

  /** Begins anew: the panel was closed, or the path is another one. */
  forget() {
    this.packets = []
    this.usual = NaN
    this.spread = 0
    this.last = null
    this.frameAt = 0
  }

  /**
   * Adds an entry. Too soon after another one of its kind it takes its place.
   * @param {number} now
   * @param {Kind} kind
   * @param {string} text
   */
  add(now, kind, text) {
    const { list } = this, near = list.findIndex(h => h.kind === kind && now - h.atMs < SPACING_MS)
    if (near >= 0 && kind !== "hit" && kind !== "miss") list.splice(near, 1)
    list.unshift({ atMs: now, kind, text })
    if (list.length > KEEP) list.pop()
  }

  /**
   * Reads a frame.
   * @param {number} now
   * @param {Record<string, number>} stats
   * @param {readonly Packet[]} packets
   * @param {() => string[]} desyncs
   */
  frame(now, stats, packets, desyncs) {
    const gap = this.frameAt ? now - this.frameAt : 0
    this.frameAt = now
    if (gap > FRAME_MS && !document.hidden) {
      this.stood = gap
      this.stoodAt = now
      this.add(now, "page", `This page stood still for ${Math.round(gap)} ms`)
    }
    const late = this.arrive(now, packets)
    const was = this.last
    this.last = { hitches: stats.hitches, corrections: stats.corrections, starved: stats.starved }
    if (!was || stats.state !== 1 || now - this.stoodAt < 100) return
    if (stats.hitches > was.hitches) this.add(now, "stall", `Others stood still: ${this.why(now, late, stats.ageMs)}`)
    else if (late) this.add(now, "late", late)
    if (stats.watchMs > 0) return // without an own avatar
    if (stats.starved > was.starved) this.add(now, "you", "Your command came too late")
    if (stats.corrections > was.corrections && stats.correctionCm >= CORRECTION_CM) {
      const cause = /likely cause: ([^;]*)$/.exec(desyncs()[0] ?? "")?.[1] ?? ""
      this.add(now, "you", `Corrected by ${Math.round(stats.correctionCm)} cm: ${PLAIN[cause] ?? (cause || "the server differs")}`)
    }
  }

  /**
   * Reads the packets of a frame.
   * @param {number} now
   * @param {readonly Packet[]} packets
   * @returns {string} what to say of the latest one; "": all came as usual
   */
  arrive(now, packets) {
    let worst = 0
    const before = this.packets.length, limit = Math.max(LATE_MS, LATE_TIMES * this.spread)
    for (const p of packets) {
      if (p.up) continue
      const lost = !(p.arrivedMs > 0)
      this.packets.push({ at: lost ? now : p.arrivedMs, sent: p.sentMs, lost })
      if (lost) continue
      const way = p.arrivedMs - p.sentMs, off = way - this.usual
      if (off > limit) worst = Math.max(worst, off)
      if (off !== off) this.usual = way
      else { // a path that has become longer is the usual one after a second or two
        this.usual += off * (off < 0 ? 0.2 : 0.02)
        this.spread += (Math.abs(off) - this.spread) * 0.02
      }
    }
    const came = this.packets.slice(before).filter(p => !p.lost)
    this.packets = this.packets.filter(p => now - p.at < PACKETS_MS)
    return worst ? `${Math.round(worst)} ms late: ${this.manner(came)}` : ""
  }

  /**
   * In which manner packets came late.
   * @param {{at: number}[]} came
   */
  manner(came) {
    let most = 1, run = 1
    came.sort((a, b) => a.at - b.at)
    for (let i = 1; i < came.length; i++) most = Math.max(most, run = came[i].at - came[i - 1].at < TOGETHER_MS ? run + 1 : 1)
    return most > 2 ? `burst, ${most} at once` : "a slow packet"
  }

  /**
   * Why nothing newer had arrived.
   * @param {number} now
   * @param {string} late
   * @param {number} ageMs of the newest record
   */
  why(now, late, ageMs) {
    if (late) return late
    const lost = this.packets.filter(p => p.lost && now - p.at < 500).length
    if (lost) return lost > 1 ? `${lost} packets were lost` : "a packet was lost"
    const came = this.packets.findLast(p => !p.lost)
    if (!came || now - came.at > 100) return `nothing came for ${came ? Math.round(now - came.at) : PACKETS_MS} ms`
    return ageMs > 0 ? `newest record ${Math.round(ageMs)} ms old` : "records came too late"
  }

  /**
   * Says how the server judged a shot.
   * @param {number} now
   * @param {{hit: boolean, seen?: any, offMm?: number, reason: string}} receipt
   */
  judged(now, { hit, seen, offMm, reason }) {
    const where = !seen ? "you did not see it" : offMm === undefined ? "" : offMm < 10 ? "where you saw it" : `${Math.round(offMm / 10)} cm from there`
    const why = reason === "exact" ? "" : REASONS[reason] ?? reason
    this.add(now, hit ? "hit" : "miss", [hit ? "Your shot hit" : "Your shot missed", [where, why].filter(Boolean).join(", ")].filter(Boolean).join(": "))
  }
}
