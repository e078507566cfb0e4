// How many lobbies draw others: snapshot interpolation with one fixed delay, ten states a second, 350 ms. It is here to compare
// with what the engine does. netcode/lobby has the same in Go, with all cases explained.

/** Milliseconds from one state to the next, and from the arrival of the second one until drawing leaves the first one. */
export const INTERVAL = 100, START_DELAY = 250
const MOST = 32

/** Draws one avatar. A state is a place with a sequence number: one more is one interval later. */
export class Interpolator {
  /** @param {{x: number, y: number}} place */
  constructor(place) {
    this.states = [{ seq: 0, x: place.x, y: place.y, at: 0 }]
    this.start = 0 // when states[0] is drawn
    this.stalls = 0
  }

  /**
   * Adds a state that arrived now; at is when it was true, which is for measurements alone.
   * @param {number} now @param {number} seq @param {{x: number, y: number}} place @param {number} at
   */
  push(now, seq, place, at) {
    this.advance(now)
    const s = this.states
    if (seq <= s[0].seq || s.some(one => one.seq === seq)) return
    s.push({ seq, x: place.x, y: place.y, at })
    s.sort((a, b) => a.seq - b.seq)
    if (s.length === 2) this.start = now + START_DELAY // waits again, as a video does that has run out
    if (s.length > MOST) { this.start += (s[1].seq - s[0].seq) * INTERVAL; s.shift() }
  }

  /** Goes on to the states between which to draw. @param {number} now */
  advance(now) {
    const s = this.states
    while (s.length > 1) {
      const end = this.start + (s[1].seq - s[0].seq) * INTERVAL
      if (now <= end) return
      this.start = end
      s.shift()
    }
  }

  /**
   * Where to draw the avatar, and the instant when it was there; moving: whether there is something to draw between.
   * @param {number} now
   */
  draw(now) {
    this.advance(now)
    const [a, b] = this.states
    if (!b || now <= this.start) return { x: a.x, y: a.y, at: a.at, moving: false }
    const share = (now - this.start) / ((b.seq - a.seq) * INTERVAL)
    return { x: a.x + (b.x - a.x) * share, y: a.y + (b.y - a.y) * share, at: a.at + (b.at - a.at) * share, moving: true }
  }
}

/** A second connection that draws nothing between records, and what the article makes of its records. */
export class Article {
  /** @param {any} g a game that was joined with the setting interpolate: 0 */
  constructor(g) {
    this.g = g
    /** @type {Map<number, {draw: Interpolator, seq: number, tick: number, x: number, y: number, rested: boolean, frame: number}>} */
    this.avatars = new Map()
    this.frame = 0
    this.lateMs = 0
    g.draw = (/** @type {any} */ world) => this.look(world)
  }

  /** Notes what has arrived since the last frame. */
  look(world) {
    const { g } = this, tick = g.stats.tick ?? 0
    this.frame++
    for (const e of world.avatar) {
      let a = this.avatars.get(e.id)
      if (!a) {
        a = { draw: new Interpolator(e.pos), seq: 0, tick, x: e.pos.x, y: e.pos.y, rested: true, frame: 0 }
        this.avatars.set(e.id, a)
      }
      a.frame = this.frame
      if (a.x !== e.pos.x || a.y !== e.pos.y) { // its sender numbers what it sends: nothing while it rests
        a.seq += a.rested ? 1 : Math.max(1, tick - a.tick)
        Object.assign(a, { tick, x: e.pos.x, y: e.pos.y, rested: false })
        a.draw.push(g.now, a.seq, e.pos, g.stats.newestMs ?? g.now)
      } else if (e.intervalMs === 0) a.rested = true
    }
    for (const [id, a] of this.avatars) if (a.frame !== this.frame) this.avatars.delete(id)
  }

  /** Where the article draws an avatar now; undefined if it knows of none. @param {number} id */
  place(id) {
    const p = this.avatars.get(id)?.draw.draw(this.g.now)
    if (p?.moving && this.g.stats.serverMs) this.lateMs += 0.02 * (this.g.stats.serverMs - p.at - this.lateMs)
    return p
  }
}
