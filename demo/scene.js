// The picture of the arena: from above at an angle, in perspective, on Canvas 2D. Everything is drawn from numbers in metres
// (x right, y down the screen, z up). Nothing here knows of the network.

/** Colours carry meaning and are the same everywhere on the page. */
export const COLOR = {
  mine: "#56b4e9", // the own avatar: prediction
  other: "#d7dee8", // everybody else: playout
  truth: "#e8b339", // the server's own, unseen by any technique
  hit: "#ff5d73",
  floor: "#131a24", void: "#0a0d12", line: "150, 180, 220",
}
const SANS = "-apple-system, BlinkMacSystemFont, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

const ELEVATION = 57 * Math.PI / 180 // of the camera above the horizon
const SIN = Math.sin(ELEVATION), COS = Math.cos(ELEVATION)
/** How long one metre towards the north looks in the middle of the screen, in metres. */
export const FORESHORTENED = SIN
const DISTANCE = 44 // metres from the camera to what it looks at
const NEAR = 4
const RADIUS = 0.4, STANDING = 1.8, CROUCHING = 1.15, GUN = 0.68 // of an avatar; the gun's height is a share of its height
const SIGNS = 1024 // names that are kept as pictures
const RECEIPT_MS = 1500 // for how long a receipt is shown
const SUN = { x: 0.42, y: 0.3 } // where the shadow of one metre of wall falls

/** A perspective camera that looks north and down. */
export class Eye {
  constructor() {
    this.x = this.y = 0 // what it looks at
    this.width = this.height = 1
    this.middle = 1 // screen y of what it looks at
    this.focal = 1
    this.point = { x: 0, y: 0, s: 1 }
  }

  /** Fits a stage of this size (CSS px). */
  fit(width, height) {
    this.width = width
    this.height = height
    this.middle = height / 2
    this.scale = Math.sqrt(width * height) / 26.5 // CSS px a metre where it looks
    this.focal = this.scale * DISTANCE
  }

  /** Projects to CSS px; s is pixels a metre there. The result is reused by the next call. */
  at(x, y, z) {
    const dy = y - this.y
    let depth = DISTANCE - dy * COS - z * SIN
    if (depth < NEAR) depth = NEAR
    const s = this.focal / depth, p = this.point
    p.x = this.width / 2 + (x - this.x) * s
    p.y = this.middle + (dy * SIN - z * COS) * s
    p.s = s
    return p
  }

  /** The point of the plane at height z under a screen point. */
  ground(sx, sy, z) {
    const u = (sx - this.width / 2) / this.focal, v = (sy - this.middle) / this.focal
    // s = focal/depth; v*depth = dy*SIN - z*COS, depth = DISTANCE - dy*COS - z*SIN
    const dy = (v * (DISTANCE - z * SIN) + z * COS) / (SIN + v * COS)
    const depth = DISTANCE - dy * COS - z * SIN
    return { x: this.x + u * depth, y: this.y + dy }
  }

  /** Ground x of the camera itself decides which side of a box is seen. */
  seesWest(box) { return this.x < box.x0 }
  seesEast(box) { return this.x > box.x1 }
}

/** A box along the axes with a draw() of its own; boxes are painted from the farthest to the nearest. */
class Solid {
  constructor(x0, y0, z0, x1, y1, z1, draw = () => {}) {
    this.set(x0, y0, z0, x1, y1, z1)
    this.draw = draw
    this.left = this.right = this.top = this.bottom = this.mark = 0
  }
  set(x0, y0, z0, x1, y1, z1) {
    this.x0 = x0; this.y0 = y0; this.z0 = z0; this.x1 = x1; this.y1 = y1; this.z1 = z1
  }
  /** Screen bounds, generously. */
  bound(eye) {
    const a = eye.at(this.x0, this.y0, this.z1), al = a.x, at = a.y
    const b = eye.at(this.x1, this.y0, this.z1), br = b.x, bt = b.y
    const c = eye.at(this.x0, this.y1, this.z0), cl = c.x, cb = c.y
    const d = eye.at(this.x1, this.y1, this.z0), dr = d.x, db = d.y
    const e = eye.at(this.x0, this.y1, this.z1), el = e.x
    const f = eye.at(this.x1, this.y1, this.z1), fr = f.x
    this.left = Math.min(al, cl, el) - 2
    this.right = Math.max(br, dr, fr) + 2
    this.top = Math.min(at, bt) - 2
    this.bottom = Math.max(cb, db) + 2
  }
  get seen() { return this.right > this.left }
}

const EPS = 0.02
/** Whether a must be painted before b: a plane separates them and the camera is on b's side. */
function behind(a, b, eye) {
  if (a.y1 <= b.y0 + EPS) return true // the camera looks from the south
  if (b.y1 <= a.y0 + EPS) return false
  if (a.z1 <= b.z0 + EPS) return true // and from above
  if (b.z1 <= a.z0 + EPS) return false
  if (a.x1 <= b.x0 + EPS) return eye.x > (a.x1 + b.x0) / 2
  if (b.x1 <= a.x0 + EPS) return eye.x < (b.x1 + a.x0) / 2
  return a.y0 + a.y1 < b.y0 + b.y1
}

/** Sorts solids from the farthest to the nearest. Only those that overlap on the screen are compared. */
function paintOrder(solids, eye, out, round) {
  out.length = 0
  const visit = a => {
    a.mark = round
    for (const b of solids) {
      if (b.mark === round || b.left > a.right || b.right < a.left || b.top > a.bottom || b.bottom < a.top) continue
      if (behind(b, a, eye)) visit(b)
    }
    out.push(a)
  }
  for (const s of solids) if (s.mark !== round) visit(s)
  return out
}

/** Makes a box of the screen hold a capsule's outline, too. */
function widen(box, { fx, fy, fr, hx, hy, hr }) {
  box.left = Math.min(box.left, fx - fr, hx - hr)
  box.right = Math.max(box.right, fx + fr, hx + hr)
  box.top = Math.min(box.top, hy - hr)
  box.bottom = Math.max(box.bottom, fy + fr)
  return box
}

/** The area (square CSS px) that two boxes of the screen share. */
function overlap(a, b) {
  const w = Math.min(a.right, b.right) - Math.max(a.left, b.left), h = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)
  return w > 0 && h > 0 ? w * h : 0
}

/** A round soft light, drawn once and copied wherever it is needed. */
function glow(color, size = 64) {
  const c = document.createElement("canvas")
  c.width = c.height = size
  const x = c.getContext("2d"), g = x.createRadialGradient(size / 2, size / 2, 0, size / 2, size / 2, size / 2)
  g.addColorStop(0, color)
  g.addColorStop(0.35, color.replace(/[\d.]+\)$/, "0.28)"))
  g.addColorStop(1, color.replace(/[\d.]+\)$/, "0)"))
  x.fillStyle = g
  x.fillRect(0, 0, size, size)
  return c
}

const mix = (a, b, t) => a + (b - a) * t
/** Moves half of the way to a target in this many milliseconds, at any frame rate. */
const ease = (from, to, ms, half) => to + (from - to) * Math.pow(0.5, ms / half)

export class Scene {
  constructor(ctx) {
    this.ctx = ctx
    this.eye = new Eye()
    this.size = [60, 40]
    this.walls = []
    this.tint = [1, 1, 1] // of the walls and the floor: red, green, blue
    this.tracks = [] // of the platforms
    this.decks = [] // the platforms, where they are
    this.avatars = new Map()
    this.signs = new Map() // names as pictures
    this.tracers = []
    this.sparks = []
    this.rings = []
    this.puffs = [] // smoke
    this.blasts = []
    this.swings = []
    this.doors = []
    this.blade = { reach: 1.7, arc: 2.1, ticks: 3 }
    this.receipts = []
    this.solids = []
    this.order = []
    this.round = 0
    this.lights = { mine: glow("rgba(86, 180, 233, 0.9)"), other: glow("rgba(255, 240, 220, 0.9)"), hit: glow("rgba(255, 93, 115, 0.9)"), fire: glow("rgba(255, 176, 84, 0.9)"), truth: glow("rgba(232, 179, 57, 0.9)") }
    this.hurt = 0 // red at the edges, fading
    this.marker = 0 // cross at the aim, fading
    this.key = 0 // of the event that is shown; 0: none
  }

  /**
   * Builds the level of a map: {size: [w, h], blade, level: its number, maps: [{tint: [r, g, b], walls: [{min: [x, y], max: [x, y], height}],
   * doors: [{min, max, plate: [x, y], height}], platforms: [{from: [x, y, z], to, size: [w, h], thick}]}]}.
   */
  build(map) {
    const level = map.maps[map.level ?? 0]
    this.size = map.size
    this.eye.x = map.size[0] / 2
    this.eye.y = map.size[1] / 2
    this.tint = level.tint ?? [1, 1, 1]
    this.tracks = level.platforms ?? []
    this.walls = level.walls.map(w => {
      const box = new Solid(w.min[0], w.min[1], 0, w.max[0], w.max[1], w.height)
      box.draw = () => this.wall(box)
      return box
    })
    this.doors = (level.doors ?? []).map(d => {
      const door = new Solid(d.min[0], d.min[1], 0, d.max[0], d.max[1], 0)
      door.draw = () => this.door(door)
      return Object.assign(door, { plate: { x: d.plate[0], y: d.plate[1] }, lit: false })
    })
    Object.assign(this.blade, map.blade)
  }

  /** Height of the ground under somebody at (x, y) and height z. */
  standing(x, y, z) {
    let top = 0
    for (const list of [this.walls, this.doors]) for (const w of list) if (x > w.x0 - 0.2 && x < w.x1 + 0.2 && y > w.y0 - 0.2 && y < w.y1 + 0.2 && w.z1 <= z + 0.3 && w.z1 > top) top = w.z1
    for (const d of this.decks) if (x > d.x0 - 0.2 && x < d.x1 + 0.2 && y > d.y0 - 0.2 && y < d.y1 + 0.2 && d.z1 <= z + 0.3 && d.z1 > top) top = d.z1
    return top
  }

  /** A colour of the walls or the floor, as the level has it. */
  tone(r, g, b) {
    const { tint } = this
    return `rgb(${Math.min(255, r * tint[0]) | 0}, ${Math.min(255, g * tint[1]) | 0}, ${Math.min(255, b * tint[2]) | 0})`
  }

  // ---- What happened ----

  shot(from, to, hit, mine, now) {
    this.tracers.push({ from, to, mine, hit, at: now, key: this.key })
    if (this.tracers.length > 96) this.tracers.shift()
    const dx = from.x - to.x, dy = from.y - to.y, len = Math.hypot(dx, dy) || 1
    this.burst(to, hit ? COLOR.hit : "#cfe0f5", hit ? 14 : 9, hit ? 4.5 : 5.5, { x: dx / len, y: dy / len }, now)
  }

  burst(at, color, n, speed, toward, now) {
    for (let i = 0; i < n; i++) {
      const a = Math.random() * 2 * Math.PI, v = speed * (0.25 + Math.random())
      this.sparks.push({
        x: at.x, y: at.y, z: at.z, color, at: now, key: this.key, life: 180 + 320 * Math.random(),
        vx: Math.cos(a) * v * 0.6 + toward.x * v * 0.7, vy: Math.sin(a) * v * 0.6 + toward.y * v * 0.7, vz: Math.random() * v * 0.8,
      })
    }
    if (this.sparks.length > 600) this.sparks.splice(0, this.sparks.length - 600)
  }

  ring(at, color, radius, life, now) { this.rings.push({ x: at.x, y: at.y, z: at.z, color, radius, life, at: now, key: this.key }) }

  /** Takes back what was shown of an event that has not happened. */
  takeBack(key) {
    for (const list of ["tracers", "sparks", "rings", "puffs", "blasts", "swings"]) this[list] = this[list].filter(k => k.key !== key)
  }

  /** A player swings its blade. */
  swing(who, at, aim, mine, now) { this.swings.push({ who, x: at.x, y: at.y, z: at.z, aim, mine, at: now, key: this.key }) }

  puff(at, size, life, now) {
    this.puffs.push({ x: at.x, y: at.y, z: at.z, size, life, at: now, key: this.key })
    if (this.puffs.length > 240) this.puffs.shift()
  }

  /** A launcher fires: a flash in front, smoke behind. */
  flash(at, aim, mine, now) {
    this.blasts.push({ x: at.x, y: at.y, z: at.z, size: 0.9, life: 120, light: mine ? "mine" : "fire", at: now, key: this.key })
    for (let i = 1; i <= 3; i++) this.puff({ x: at.x - Math.cos(aim) * 0.45 * i, y: at.y - Math.sin(aim) * 0.45 * i, z: at.z }, 0.22 + 0.1 * i, 520, now)
  }

  /** A rocket bursts: it hurts within the radius. */
  blast(at, radius, now) {
    this.blasts.push({ x: at.x, y: at.y, z: at.z, size: radius * 0.85, life: 320, light: "fire", at: now, key: this.key })
    this.ring({ x: at.x, y: at.y, z: this.standing(at.x, at.y, at.z) }, "#ffb054", radius, 420, now)
    this.burst(at, "#ffd9a8", 34, 9, { x: 0, y: 0 }, now)
    for (let i = 0; i < 9; i++) {
      const a = Math.random() * 2 * Math.PI, d = radius * 0.35 * Math.random()
      this.puff({ x: at.x + Math.cos(a) * d, y: at.y + Math.sin(a) * d, z: at.z + 0.2 + 0.5 * Math.random() }, 0.5 + 0.4 * Math.random(), 700 + 500 * Math.random(), now)
    }
  }

  /** How the server judged a shot: where its target was seen and where it was judged, as {x, y, z} or undefined. */
  receipt(id, seen, used, hit, text, now) {
    if (!seen && !used) return
    const tall = this.avatars.get(id)?.tall ?? STANDING
    this.receipts.push({ id, seen: seen && { ...seen }, used: used && { ...used }, hit, text, tall, at: now })
    if (this.receipts.length > 12) this.receipts.shift()
  }

  // ---- Drawing ----

  /** One frame. stage: {width, height, now, dt, players, truth, focus, lead, aim, crosshair, things, doors}. */
  draw(stage) {
    const { eye } = this, { now, dt } = stage
    this.now = now
    eye.fit(stage.width, stage.height)
    if (stage.focus) {
      const half = stage.cut ? 1e-6 : 45, far = eye.ground(0, 0, 0), near = eye.ground(0, stage.height, 0)
      const within = (v, before, after, size) => before + after > size ? (size + before - after) / 2 : Math.max(before, Math.min(size - after, v))
      const side = 0.62 * (eye.x - near.x)
      eye.x = ease(eye.x, within(stage.focus.x + stage.lead.x, side, side, this.size[0]), dt, half)
      eye.y = ease(eye.y, within(stage.focus.y + stage.lead.y, 0.6 * (eye.y - far.y), 0.8 * (near.y - eye.y), this.size[1]), dt, half)
    }
    for (const d of stage.doors) if (this.doors[d.gate]) Object.assign(this.doors[d.gate], { z1: d.top, lit: d.lit || d.top > 0.02 })
    this.decks = stage.things.filter(t => t.type === "platform" && this.tracks[t.track]).map(t => this.deck(t))
    this.floor(stage)
    this.drawPlates()
    this.drawTracks()
    this.update(stage)
    for (const a of this.avatars.values()) if (a.alive) this.shadow(a)
    this.drawRings(now)

    const { solids } = this
    solids.length = 0
    const add = s => {
      s.bound(eye)
      if (s.right > 0 && s.left < stage.width && s.bottom > 0 && s.top < stage.height) solids.push(s)
    }
    for (const w of this.walls) add(w)
    for (const d of this.doors) if (d.z1 > 0.02) add(d)
    for (const a of this.avatars.values()) if (a.alive) add(a.solid)
    for (const d of this.decks) add(d)
    for (const t of stage.things) if (t.type !== "platform") add(this.thing(t))
    for (const s of paintOrder(solids, eye, this.order, ++this.round)) s.draw()

    const me = stage.me && this.avatars.get(stage.me)
    if (me?.alive) this.xray(me)
    if (stage.truth) this.drawTruth(stage.truth)
    this.drawReceipts(now)
    this.drawSmoke(now)
    this.drawSwings(now)
    this.drawTracers(now)
    this.drawBlasts(now)
    this.drawSparks(now, dt)
    if (me?.alive && stage.crosshair) this.aimLine(me, stage.aim)
    for (const a of this.avatars.values()) if (a.alive && a.id !== stage.me) this.plate(a)
    this.labelReceipts()
    this.vignette(stage)
    if (stage.crosshair) this.crosshair(stage.crosshair, dt)
    this.hurt = ease(this.hurt, 0, dt, 130)
  }

  floor({ width, height }) {
    const { ctx, eye } = this, [w, h] = this.size
    ctx.fillStyle = COLOR.void
    ctx.fillRect(0, 0, width, height)
    this.quad(0, 0, w, h, 0)
    const light = ctx.createRadialGradient(width / 2, eye.middle, 0, width / 2, eye.middle, Math.max(width, height) * 0.62)
    light.addColorStop(0, this.tone(27, 37, 50))
    light.addColorStop(0.55, this.tone(20, 28, 39))
    light.addColorStop(1, this.tone(14, 20, 28))
    ctx.fillStyle = light
    ctx.fill()

    const a = eye.ground(0, 0, 0), b = eye.ground(width, 0, 0), c = eye.ground(width, height, 0)
    const x0 = Math.max(0, a.x), x1 = Math.min(w, b.x), y0 = Math.max(0, a.y), y1 = Math.min(h, c.y)
    for (const [step, alpha] of [[2, 0.045], [10, 0.1]]) {
      ctx.strokeStyle = `rgba(${COLOR.line}, ${alpha})`
      ctx.lineWidth = 1
      ctx.beginPath()
      for (let x = Math.ceil(x0 / step) * step; x <= x1; x += step) this.edge(x, y0, 0, x, y1, 0)
      for (let y = Math.ceil(y0 / step) * step; y <= y1; y += step) this.edge(x0, y, 0, x1, y, 0)
      ctx.stroke()
    }
    // The middle of the place.
    ctx.strokeStyle = `rgba(${COLOR.line}, 0.13)`
    ctx.lineWidth = 1.5
    for (const r of [3.2, 3.5]) { this.circle(w / 2, h / 2, 0, r); ctx.stroke() }
    // Its border: a low kerb of light.
    this.quad(0, 0, w, h, 0)
    ctx.strokeStyle = `rgba(${COLOR.line}, 0.35)`
    ctx.lineWidth = 1.5
    ctx.stroke()

    // Shadows of the walls, all in one path so that they do not add up; a dark seam where a wall meets the floor.
    ctx.save()
    this.quad(0, 0, w, h, 0)
    ctx.clip()
    ctx.beginPath()
    for (const k of this.walls) {
      const dx = SUN.x * k.z1, dy = SUN.y * k.z1
      this.polygon([[k.x0, k.y0], [k.x1, k.y0], [k.x1 + dx, k.y0 + dy], [k.x1 + dx, k.y1 + dy], [k.x0 + dx, k.y1 + dy], [k.x0, k.y1]], 0)
    }
    ctx.fillStyle = "rgba(3, 5, 9, 0.42)"
    ctx.fill()
    ctx.strokeStyle = "rgba(3, 5, 9, 0.075)"
    ctx.lineJoin = "round"
    ctx.beginPath()
    for (const k of this.walls) this.polygon([[k.x0, k.y0], [k.x1, k.y0], [k.x1, k.y1], [k.x0, k.y1]], 0)
    for (const width of [1.15, 0.85, 0.6, 0.4, 0.2]) { ctx.lineWidth = width * eye.scale; ctx.stroke() }
    ctx.restore()
  }

  wall(w) {
    const { ctx, eye } = this, { x0, y0, x1, y1, z1: z } = w
    const side = eye.seesWest(w) ? x0 : eye.seesEast(w) ? x1 : null
    if (side !== null) {
      ctx.beginPath()
      this.corner(side, y0, 0, true); this.corner(side, y0, z); this.corner(side, y1, z); this.corner(side, y1, 0)
      ctx.closePath()
      ctx.fillStyle = side === x0 ? this.tone(42, 54, 72) : this.tone(24, 32, 44) // the light comes from the west
      ctx.fill()
    }
    // South face: darker towards the floor.
    const up = eye.at(x0, y1, z).y, down = eye.at(x0, y1, 0).y
    const g = ctx.createLinearGradient(0, up, 0, down)
    g.addColorStop(0, this.tone(38, 50, 69))
    g.addColorStop(1, this.tone(21, 28, 39))
    ctx.beginPath()
    this.corner(x0, y1, 0, true); this.corner(x0, y1, z); this.corner(x1, y1, z); this.corner(x1, y1, 0)
    ctx.closePath()
    ctx.fillStyle = g
    ctx.fill()
    // Top: the higher the lighter.
    const l = Math.min(1, z / 3)
    this.quad(x0, y0, x1, y1, z)
    ctx.fillStyle = this.tone(mix(44, 62, l), mix(57, 78, l), mix(76, 102, l))
    ctx.fill()
    ctx.lineWidth = 1
    ctx.strokeStyle = "rgba(190, 215, 245, 0.16)"
    ctx.stroke()
    ctx.strokeStyle = "rgba(200, 222, 250, 0.5)" // the edge that catches the light
    ctx.beginPath()
    this.edge(x0, y1, z, x1, y1, z)
    ctx.stroke()
  }

  /** A door that is up: a wall with a light along its top. */
  door(d) {
    this.wall(d)
    const { ctx } = this
    ctx.strokeStyle = "rgba(255, 176, 84, 0.85)"
    ctx.lineWidth = 1.5
    this.quad(d.x0, d.y0, d.x1, d.y1, d.z1)
    ctx.stroke()
  }

  /** On the floor: the slots of the doors and their plates, which shine once somebody has pressed them. */
  drawPlates() {
    const { ctx } = this
    for (const d of this.doors) {
      const color = d.lit ? "rgba(255, 176, 84, 0.9)" : `rgba(${COLOR.line}, 0.4)`
      ctx.strokeStyle = color
      ctx.lineWidth = 1.25
      this.quad(d.x0, d.y0, d.x1, d.y1, 0)
      ctx.fillStyle = "rgba(3, 5, 9, 0.6)"
      ctx.fill()
      ctx.stroke()
      for (const r of [0.42, 0.62]) { this.circle(d.plate.x, d.plate.y, 0, r); ctx.stroke() }
      if (!d.lit) continue
      ctx.globalCompositeOperation = "lighter"
      ctx.globalAlpha = 0.6
      this.light({ x: d.plate.x, y: d.plate.y, z: 0 }, "fire", 1.3)
      ctx.globalAlpha = 1
      ctx.globalCompositeOperation = "source-over"
    }
  }

  /** A platform as a solid: a plate that hovers. */
  deck(t) {
    const { size: [w, h], thick } = this.tracks[t.track]
    const d = new Solid(t.x - w / 2, t.y - h / 2, t.z - thick, t.x + w / 2, t.y + h / 2, t.z)
    d.draw = () => {
      const { ctx, eye } = this, side = eye.seesWest(d) ? d.x0 : eye.seesEast(d) ? d.x1 : null
      if (side !== null) {
        ctx.beginPath()
        this.corner(side, d.y0, d.z0, true); this.corner(side, d.y0, d.z1); this.corner(side, d.y1, d.z1); this.corner(side, d.y1, d.z0)
        ctx.closePath()
        ctx.fillStyle = this.tone(34, 44, 60)
        ctx.fill()
      }
      ctx.beginPath()
      this.corner(d.x0, d.y1, d.z0, true); this.corner(d.x0, d.y1, d.z1); this.corner(d.x1, d.y1, d.z1); this.corner(d.x1, d.y1, d.z0)
      ctx.closePath()
      ctx.fillStyle = this.tone(26, 34, 47)
      ctx.fill()
      this.quad(d.x0, d.y0, d.x1, d.y1, d.z1)
      ctx.fillStyle = this.tone(70, 87, 110)
      ctx.fill()
      ctx.strokeStyle = "rgba(255, 176, 84, 0.85)" // what moves by itself has this light, as the doors
      ctx.lineWidth = 1.5
      ctx.stroke()
      this.quad(d.x0 + 0.35, d.y0 + 0.35, d.x1 - 0.35, d.y1 - 0.35, d.z1)
      ctx.strokeStyle = "rgba(190, 215, 245, 0.22)"
      ctx.lineWidth = 1
      ctx.stroke()
    }
    return d
  }

  /** On the floor: where the platforms go, and their shadows. */
  drawTracks() {
    const { ctx } = this
    ctx.strokeStyle = "rgba(255, 176, 84, 0.2)"
    ctx.lineWidth = 1.25
    ctx.setLineDash([7, 7])
    ctx.beginPath()
    for (const t of this.tracks) this.edge(t.from[0], t.from[1], 0, t.to[0], t.to[1], 0)
    ctx.stroke()
    ctx.setLineDash([])
    ctx.fillStyle = "rgba(3, 5, 9, 0.5)"
    for (const d of this.decks) {
      const dx = SUN.x * d.z0, dy = SUN.y * d.z0
      this.quad(d.x0 + dx, d.y0 + dy, d.x1 + dx, d.y1 + dy, 0)
      ctx.fill()
    }
  }

  /** Updates the avatars from this frame's players. */
  update({ players, now, dt }) {
    for (const a of this.avatars.values()) a.here = false
    for (const p of players) {
      let a = this.avatars.get(p.id)
      if (!a) {
        a = { id: p.id, tall: STANDING, health: p.health, flash: 0, low: 0, bornAt: now, alive: false }
        a.solid = new Solid(0, 0, 0, 0, 0, 0, () => this.avatar(a))
        this.avatars.set(p.id, a)
      }
      if (p.alive && !a.alive) a.bornAt = now
      if (p.health < a.health && a.alive) {
        a.flash = 1
        if (p.mine) this.hurt = Math.min(1, this.hurt + (a.health - p.health) / 45)
      }
      Object.assign(a, { here: true, x: p.x, y: p.y, z: p.z, aim: p.aim, vx: p.vx, vy: p.vy, mine: p.mine, name: p.name, health: p.health, alive: p.alive, color: p.color, weapon: p.weapon, doing: p.doing })
      a.low = ease(a.low, { holster: 1, reload: 0.6 }[p.doing] ?? 0, dt, 45)
      a.tall = ease(a.tall, p.crouch ? CROUCHING : STANDING, dt, 35)
      a.flash = ease(a.flash, 0, dt, 60)
      a.ground = this.standing(p.x, p.y, p.z)
      a.solid.set(p.x - RADIUS, p.y - RADIUS, p.z, p.x + RADIUS, p.y + RADIUS, p.z + a.tall)
    }
    for (const [id, a] of this.avatars) if (!a.here) this.avatars.delete(id)
  }

  shadow(a) {
    const { ctx, eye } = this, high = Math.max(0, a.z - a.ground)
    const p = eye.at(a.x + SUN.x * 0.15, a.y + SUN.y * 0.15, a.ground), r = RADIUS * p.s * (1.35 - Math.min(0.5, high * 0.2))
    ctx.fillStyle = `rgba(2, 4, 8, ${0.55 - Math.min(0.25, high * 0.12)})`
    ctx.beginPath()
    ctx.ellipse(p.x, p.y, r, r * SIN, 0, 0, 7)
    ctx.fill()
    if (a.mine) {
      ctx.strokeStyle = "rgba(86, 180, 233, 0.75)"
      ctx.lineWidth = 1.5
      ctx.beginPath()
      ctx.ellipse(p.x, p.y, RADIUS * p.s * 1.75, RADIUS * p.s * 1.75 * SIN, 0, 0, 7)
      ctx.stroke()
      const light = this.lights.mine, s = 2.6 * p.s
      ctx.globalCompositeOperation = "lighter"
      ctx.globalAlpha = 0.22
      ctx.drawImage(light, p.x - s, p.y - s * SIN, 2 * s, 2 * s * SIN)
      ctx.globalAlpha = 1
      ctx.globalCompositeOperation = "source-over"
    }
    if (high > 0.15) { // how high: a plumb line to the shadow
      const q = eye.at(a.x, a.y, a.z), qx = q.x, qy = q.y
      ctx.strokeStyle = a.mine ? "rgba(86, 180, 233, 0.55)" : "rgba(215, 222, 232, 0.4)"
      ctx.lineWidth = 1
      ctx.setLineDash([3, 3])
      ctx.beginPath()
      ctx.moveTo(p.x, p.y)
      ctx.lineTo(qx, qy)
      ctx.stroke()
      ctx.setLineDash([])
    }
  }

  /** The capsule's outline as a path; more widens it by pixels. */
  capsule(x, y, z, tall, more = 0) {
    const { ctx, eye } = this
    const f = eye.at(x, y, z + RADIUS), fx = f.x, fy = f.y, fr = RADIUS * f.s + more
    const h = eye.at(x, y, z + tall - RADIUS), hx = h.x, hy = h.y, hr = RADIUS * h.s + more
    ctx.beginPath()
    ctx.arc(hx, hy, hr, Math.PI, 0)
    ctx.arc(fx, fy, fr, 0, Math.PI)
    ctx.closePath()
    return this.shape = { fx, fy, fr, hx, hy, hr }
  }

  avatar(a) {
    const { ctx, eye } = this
    const fx = Math.cos(a.aim), fy = Math.sin(a.aim)
    if (fy < 0.1) this.gun(a)
    // Dark rim, then the body: light from the west, as on the walls.
    this.capsule(a.x, a.y, a.z, a.tall, 1.6)
    ctx.fillStyle = "#080b10"
    ctx.fill()
    const { hx, hy, hr, fy: bottom, fr } = this.capsule(a.x, a.y, a.z, a.tall)
    const body = ctx.createLinearGradient(hx - hr, 0, hx + hr, 0)
    const tones = a.mine ? ["#8fd3fa", "#56b4e9", "#24658e"] : a.color ?? ["#f4f7fb", "#c3ccd8", "#6c7889"]
    body.addColorStop(0.05, tones[0])
    body.addColorStop(0.42, tones[1])
    body.addColorStop(1, tones[2])
    ctx.fillStyle = body
    ctx.fill()
    const shade = ctx.createLinearGradient(0, hy, 0, bottom + fr)
    shade.addColorStop(0.2, "rgba(8, 11, 16, 0)")
    shade.addColorStop(1, "rgba(8, 11, 16, 0.55)")
    ctx.fillStyle = shade
    ctx.fill()
    if (a.flash > 0.03) {
      ctx.globalAlpha = Math.min(1, a.flash)
      ctx.fillStyle = COLOR.hit
      ctx.fill()
      ctx.globalAlpha = 1
    }
    // The crown catches the light; the visor shows where the avatar looks, and is hidden while it looks away.
    ctx.save()
    this.capsule(a.x, a.y, a.z, a.tall)
    ctx.clip()
    ctx.fillStyle = "rgba(255, 255, 255, 0.2)"
    ctx.beginPath()
    ctx.ellipse(hx - hr * 0.12, hy - hr * 0.45, hr * 0.62, hr * 0.36, 0, 0, 7)
    ctx.fill()
    if (fy > -0.62) {
      const front = Math.min(1, (fy + 0.62) / 1.2), v = eye.at(a.x + fx * RADIUS * 0.7, a.y + fy * RADIUS * 0.7, a.z + a.tall - RADIUS * 0.92)
      ctx.fillStyle = a.mine ? "#0a2233" : "#161d28"
      ctx.beginPath()
      ctx.ellipse(v.x, v.y, hr * (0.34 + 0.44 * front), hr * (0.16 + 0.14 * front), fx * (fy < 0 ? -0.25 : 0.12), 0, 7)
      ctx.fill()
      ctx.strokeStyle = a.mine ? "rgba(160, 220, 255, 0.5)" : "rgba(255, 255, 255, 0.28)"
      ctx.lineWidth = Math.max(0.75, hr * 0.09)
      ctx.beginPath()
      ctx.ellipse(v.x, v.y, hr * (0.34 + 0.44 * front), hr * (0.16 + 0.14 * front), fx * (fy < 0 ? -0.25 : 0.12), Math.PI * 1.1, Math.PI * 1.75)
      ctx.stroke()
    }
    ctx.restore()
    if (fy >= 0.1) this.gun(a)
  }

  /** The point in front of an avatar's body, by default its muzzle. Hands that are busy hold the weapon lower. */
  muzzle(a, far = a.weapon === 2 ? 0.95 : 0.85) {
    const fx = Math.cos(a.aim), fy = Math.sin(a.aim), low = a.low ?? 0, out = far * (1 - 0.4 * low)
    return { x: a.x + fx * out - fy * 0.24, y: a.y + fy * out + fx * 0.24, z: a.z + a.tall * GUN - 0.5 * low * far }
  }

  gun(a) {
    const { ctx, eye } = this, launcher = a.weapon === 2, m = this.muzzle(a), b = this.muzzle(a, launcher ? -0.35 : 0.1)
    const p = eye.at(b.x, b.y, b.z), px = p.x, py = p.y, q = eye.at(m.x, m.y, m.z), qx = q.x, qy = q.y, s = q.s
    const line = (width, color) => {
      ctx.strokeStyle = color
      ctx.lineWidth = width * s
      ctx.beginPath(); ctx.moveTo(px, py); ctx.lineTo(qx, qy); ctx.stroke()
    }
    ctx.lineCap = launcher ? "butt" : "round"
    line(launcher ? 0.4 : 0.26, "#080b10")
    line(launcher ? 0.27 : 0.13, a.mine ? "#9fd0ee" : "#8d99aa")
    ctx.lineCap = "butt"
    if (!launcher) return
    line(0.09, a.mine ? "#d6eefc" : "#c3ccd8") // the light on the tube
    ctx.fillStyle = "#080b10" // its open end
    ctx.beginPath(); ctx.ellipse(qx, qy, 0.15 * s, 0.13 * s, 0, 0, 7); ctx.fill()
  }

  /** The own outline shows through walls. */
  xray(a) {
    const { ctx } = this
    this.capsule(a.x, a.y, a.z, a.tall)
    ctx.strokeStyle = "rgba(86, 180, 233, 0.4)"
    ctx.lineWidth = 1.25
    ctx.stroke()
  }

  /** Ghosts: where the server has everybody now, with a line to where they are drawn. */
  drawTruth(truth) {
    const { ctx, eye } = this
    for (const t of truth) {
      const a = this.avatars.get(t.id)
      if (a && !a.alive) continue
      const p = eye.at(t.x, t.y, t.z), px = p.x, py = p.y, r = RADIUS * p.s * 1.2
      ctx.strokeStyle = COLOR.truth
      if (a) {
        const q = eye.at(a.x, a.y, a.z)
        if (Math.hypot(q.x - px, q.y - py) > 3) {
          ctx.lineWidth = 1
          ctx.globalAlpha = 0.7
          ctx.setLineDash([2, 3])
          ctx.beginPath(); ctx.moveTo(px, py); ctx.lineTo(q.x, q.y); ctx.stroke()
          ctx.setLineDash([])
        }
      }
      ctx.globalAlpha = 0.55
      ctx.lineWidth = 1
      ctx.beginPath(); ctx.ellipse(px, py, r, r * SIN, 0, 0, 7); ctx.stroke()
      this.capsule(t.x, t.y, t.z, a?.tall ?? STANDING)
      ctx.globalAlpha = 0.09
      ctx.fillStyle = COLOR.truth
      ctx.fill()
      ctx.globalAlpha = 0.95
      ctx.lineWidth = 1.6
      ctx.stroke()
      ctx.globalAlpha = 1
    }
  }

  /**
   * Hollow: where the target was on the screen. Filled: where the server judged it. Between them a line. A newer receipt of
   * the same target makes the older ones faint, and they vanish soon.
   */
  drawReceipts(now) {
    const { ctx, eye } = this, newer = new Map() // when the next receipt of this target came
    this.receipts = this.receipts.reverse().filter(r => {
      r.fade = Math.min(1, 2 * (1 - (now - r.at) / RECEIPT_MS))
      r.newest = !newer.has(r.id)
      if (!r.newest) r.fade *= 0.3 * (1 - (now - newer.get(r.id)) / 250)
      newer.set(r.id, r.at)
      return r.fade > 0
    }).reverse()
    for (const r of this.receipts) {
      const { seen, used, tall, fade } = r
      r.box = { left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity }
      if (used) {
        widen(r.box, this.capsule(used.x, used.y, used.z, tall))
        ctx.globalAlpha = 0.75 * fade
        ctx.fillStyle = COLOR.truth
        ctx.fill()
      }
      if (seen) {
        widen(r.box, this.capsule(seen.x, seen.y, seen.z, tall, 2))
        ctx.globalAlpha = fade
        ctx.lineWidth = 4
        ctx.strokeStyle = "rgba(8, 11, 16, 0.7)"
        ctx.stroke()
        ctx.lineWidth = 2
        ctx.strokeStyle = "#ffffff"
        ctx.stroke()
      }
      if (seen && used && r.newest) {
        const p = eye.at(seen.x, seen.y, seen.z + tall / 2), px = p.x, py = p.y, q = eye.at(used.x, used.y, used.z + tall / 2)
        if (Math.hypot(q.x - px, q.y - py) > 3) {
          ctx.setLineDash([2, 3])
          ctx.beginPath(); ctx.moveTo(px, py); ctx.lineTo(q.x, q.y); ctx.stroke()
          ctx.setLineDash([])
        }
      }
    }
    ctx.globalAlpha = 1
  }

  /** What the newest receipts say, each near its shapes where it covers no name, no body and no other receipt. */
  labelReceipts() {
    const { ctx, eye } = this, shown = ({ left, right, top, bottom }) => right > 0 && left < eye.width && bottom > 0 && top < eye.height
    const labelled = this.receipts.filter(r => r.newest && shown(r.box))
    if (!labelled.length) return
    const taken = labelled.map(r => r.box)
    for (const a of this.avatars.values()) {
      if (!a.alive) continue
      taken.push(widen({ left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity }, this.capsule(a.x, a.y, a.z, a.tall)))
      if (a.sign) taken.push(a.sign)
    }
    ctx.textAlign = "center"
    ctx.textBaseline = "middle"
    for (const r of labelled) {
      const { box } = r, x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2
      ctx.font = `600 12px ${SANS}`
      const w = ctx.measureText(r.text).width / 2 + 7, h = 10, gap = 5
      const spots = [
        [x, box.top - h - gap], [box.right + w + gap, y], [box.left - w - gap, y], [x, box.bottom + h + gap],
        [x, box.top - h - 32], [box.right + w + gap, box.bottom], [box.left - w - gap, box.bottom], [x, box.bottom + h + 32],
        [box.right + w + 40, y], [box.left - w - 40, y],
      ]
      const before = r.spot // a label that jumps from frame to frame cannot be read
      let best = box, least = Infinity
      spots.forEach(([cx, cy], i) => {
        const at = { left: cx - w, right: cx + w, top: cy - h, bottom: cy + h }
        let cost = i === before ? -1 : 0
        for (const other of taken) cost += overlap(at, other)
        if (at.left < 4 || at.right > eye.width - 4 || at.top < 4 || at.bottom > eye.height - 4) cost += 1e4
        if (cost < least) [best, least, r.spot] = [at, cost, i]
      })
      taken.push(best)
      ctx.globalAlpha = r.fade
      ctx.fillStyle = "rgba(8, 11, 16, 0.82)"
      ctx.beginPath(); ctx.roundRect(best.left, best.top, 2 * w, 2 * h, 6); ctx.fill()
      ctx.fillStyle = r.hit ? "#ffffff" : COLOR.hit
      ctx.fillText(r.text, best.left + w, best.top + h + 0.5)
    }
    ctx.globalAlpha = 1
  }

  /** Name and health above a head. */
  plate(a) {
    const { ctx, eye } = this, p = eye.at(a.x, a.y, a.z + a.tall)
    const size = Math.round(Math.max(10, Math.min(13, 0.42 * p.s))), y = p.y - 0.32 * p.s - 4
    const lift = a.health < 100 ? 7 : 0, sign = this.sign(a.name, size)
    ctx.drawImage(sign.canvas, p.x - sign.width / 2, y - lift - size - 2, sign.width, sign.height)
    const half = Math.max(lift && 18, sign.width / 2 - 4) + 2
    a.sign = { left: p.x - half, right: p.x + half, top: y - lift - size, bottom: y + 4 }
    if (lift) {
      const w = 34, x = p.x - w / 2
      ctx.fillStyle = "rgba(8, 11, 16, 0.75)"
      ctx.fillRect(x - 1, y - 4, w + 2, 5)
      ctx.fillStyle = a.health > 35 ? COLOR.other : COLOR.hit
      ctx.fillRect(x, y - 3, w * Math.max(0, a.health) / 100, 3)
    }
  }

  /** A name as a picture: to write it anew in each frame costs more than all else of an avatar. */
  sign(name, size) {
    const key = `${size} ${name}`, ratio = window.devicePixelRatio || 1
    let sign = this.signs.get(key)
    if (sign) return sign
    if (this.signs.size >= SIGNS) this.signs.clear()
    const canvas = document.createElement("canvas"), x = canvas.getContext("2d"), font = `500 ${size}px ${SANS}`
    x.font = font
    const width = Math.ceil(x.measureText(name).width) + 8, height = size + 8
    canvas.title = name
    canvas.width = Math.ceil(width * ratio)
    canvas.height = Math.ceil(height * ratio)
    x.scale(ratio, ratio)
    x.font = font
    x.textAlign = "center"
    x.lineWidth = 3
    x.lineJoin = "round"
    x.strokeStyle = "rgba(8, 11, 16, 0.75)"
    x.strokeText(name, width / 2, size + 2)
    x.fillStyle = "rgba(215, 222, 232, 0.82)"
    x.fillText(name, width / 2, size + 2)
    this.signs.set(key, sign = { canvas, width, height })
    return sign
  }

  drawTracers(now) {
    const { ctx, eye } = this
    ctx.globalCompositeOperation = "lighter"
    ctx.lineCap = "round"
    this.tracers = this.tracers.filter(t => now - t.at < 190)
    for (const t of this.tracers) {
      const age = (now - t.at) / 190, fade = (1 - age) * (1 - age)
      // The bullet's light runs along the way in the first third; what stays is its trace.
      const run = Math.min(1, age * 3), back = Math.max(0, age * 1.6 - 0.45)
      const p = eye.at(mix(t.from.x, t.to.x, back), mix(t.from.y, t.to.y, back), mix(t.from.z, t.to.z, back)), px = p.x, py = p.y
      const q = eye.at(mix(t.from.x, t.to.x, run), mix(t.from.y, t.to.y, run), mix(t.from.z, t.to.z, run)), s = q.s
      const rgb = t.mine ? "150, 215, 255" : "255, 232, 205"
      const g = ctx.createLinearGradient(px, py, q.x, q.y)
      g.addColorStop(0, `rgba(${rgb}, 0)`)
      g.addColorStop(0.25, `rgba(${rgb}, ${0.18 * fade})`)
      g.addColorStop(1, `rgba(${rgb}, ${0.95 * fade})`)
      ctx.strokeStyle = g
      for (const [width, alpha] of [[0.3, 0.25], [0.075, 1]]) {
        ctx.globalAlpha = alpha
        ctx.lineWidth = Math.max(1, width * s)
        ctx.beginPath(); ctx.moveTo(px, py); ctx.lineTo(q.x, q.y); ctx.stroke()
      }
      ctx.globalAlpha = fade
      if (age < 0.35) this.light(t.from, t.mine ? "mine" : "other", 0.75 * (1 - age))
      if (run === 1) this.light(t.to, t.hit ? "hit" : "other", t.hit ? 0.9 : 0.5)
    }
    ctx.globalAlpha = 1
    ctx.lineCap = "butt"
    ctx.globalCompositeOperation = "source-over"
  }

  light(at, name, metres) {
    const p = this.eye.at(at.x, at.y, at.z), r = metres * p.s
    this.ctx.drawImage(this.lights[name], p.x - r, p.y - r, 2 * r, 2 * r)
  }

  drawSparks(now, dt) {
    const { ctx, eye } = this, s = dt / 1000
    this.sparks = this.sparks.filter(k => now - k.at < k.life)
    ctx.globalCompositeOperation = "lighter"
    ctx.lineCap = "round"
    for (const k of this.sparks) {
      k.vz -= 14 * s
      k.x += k.vx * s
      k.y += k.vy * s
      k.z += k.vz * s
      if (k.z < 0.03) { k.z = 0.03; k.vz *= -0.4; k.vx *= 0.7; k.vy *= 0.7 }
      const p = eye.at(k.x, k.y, k.z), px = p.x, py = p.y
      const q = eye.at(k.x - k.vx * 0.022, k.y - k.vy * 0.022, k.z - k.vz * 0.022)
      ctx.globalAlpha = 1 - (now - k.at) / k.life
      ctx.strokeStyle = k.color
      ctx.lineWidth = Math.max(1, 0.055 * p.s)
      ctx.beginPath(); ctx.moveTo(px, py); ctx.lineTo(q.x, q.y); ctx.stroke()
    }
    ctx.globalAlpha = 1
    ctx.lineCap = "butt"
    ctx.globalCompositeOperation = "source-over"
  }

  drawSmoke(now) {
    const { ctx, eye } = this
    this.puffs = this.puffs.filter(k => now - k.at < k.life)
    ctx.fillStyle = "#8b96a5"
    for (const k of this.puffs) {
      const t = (now - k.at) / k.life, p = eye.at(k.x, k.y, k.z + 0.5 * t)
      ctx.globalAlpha = 0.3 * (1 - t) * (1 - t)
      ctx.beginPath(); ctx.arc(p.x, p.y, k.size * (0.6 + t) * p.s, 0, 7); ctx.fill()
    }
    ctx.globalAlpha = 1
  }

  /** The arc that a blade cuts runs from right to left within its ticks, and fades. */
  drawSwings(now) {
    const { ctx, eye } = this, life = 240, runs = 90, { reach, arc } = this.blade
    this.swings = this.swings.filter(k => now - k.at < life)
    ctx.globalCompositeOperation = "lighter"
    for (const k of this.swings) {
      const a = this.avatars.get(k.who), at = a?.alive ? a : k, t = (now - k.at) / life
      const begin = k.aim + arc / 2, end = begin - arc * Math.min(1, (now - k.at) / runs), z = at.z + 0.9
      const rgb = k.mine ? "150, 215, 255" : "255, 232, 205"
      for (const [inner, alpha] of [[0.45, 0.3], [0.8, 0.6]]) {
        ctx.beginPath()
        for (let i = 0; i <= 16; i++) { const w = begin + (end - begin) * i / 16; this.corner(at.x + reach * Math.cos(w), at.y + reach * Math.sin(w), z, i === 0) }
        for (let i = 16; i >= 0; i--) { const w = begin + (end - begin) * i / 16, r = reach * (1 - (1 - inner) * i / 16); this.corner(at.x + r * Math.cos(w), at.y + r * Math.sin(w), z) }
        ctx.closePath()
        ctx.fillStyle = `rgba(${rgb}, ${alpha * (1 - t) * (1 - t)})`
        ctx.fill()
      }
      const p = eye.at(at.x + 0.3 * Math.cos(end), at.y + 0.3 * Math.sin(end), z), px = p.x, py = p.y
      const q = eye.at(at.x + reach * Math.cos(end), at.y + reach * Math.sin(end), z)
      ctx.strokeStyle = `rgba(${rgb}, ${1 - t})`
      ctx.lineWidth = Math.max(1, 0.09 * q.s)
      ctx.beginPath(); ctx.moveTo(px, py); ctx.lineTo(q.x, q.y); ctx.stroke()
    }
    ctx.globalCompositeOperation = "source-over"
  }

  drawBlasts(now) {
    const { ctx } = this
    this.blasts = this.blasts.filter(k => now - k.at < k.life)
    ctx.globalCompositeOperation = "lighter"
    for (const k of this.blasts) {
      const t = (now - k.at) / k.life
      ctx.globalAlpha = 1 - t
      this.light(k, k.light, k.size * (0.5 + 0.7 * Math.sqrt(t)))
      if (t < 0.5) this.light(k, "other", k.size * 0.5 * (1 - t))
    }
    ctx.globalAlpha = 1
    ctx.globalCompositeOperation = "source-over"
  }

  drawRings(now) {
    const { ctx } = this
    this.rings = this.rings.filter(r => now - r.at < r.life)
    for (const r of this.rings) {
      const t = (now - r.at) / r.life
      this.circle(r.x, r.y, r.z, r.radius * (1 - Math.pow(1 - t, 3)))
      ctx.strokeStyle = r.color
      ctx.globalAlpha = (1 - t) * 0.8
      ctx.lineWidth = 3 * (1 - t) + 0.5
      ctx.stroke()
    }
    ctx.globalAlpha = 1
  }

  /** Balls, rockets and carts: {type, x, y, z, ...}. */
  thing(t) {
    const { ctx, eye } = this, r = t.radius ?? 0.3
    const solid = new Solid(t.x - r, t.y - r, t.z, t.x + r, t.y + r, t.z + (t.tall ?? 2 * r))
    solid.draw = () => {
      const g = eye.at(t.x, t.y, this.standing(t.x, t.y, t.z))
      ctx.fillStyle = "rgba(2, 4, 8, 0.5)"
      ctx.beginPath(); ctx.ellipse(g.x, g.y, r * g.s * 1.1, r * g.s * 1.1 * SIN, 0, 0, 7); ctx.fill()
      if (t.type === "cart") return this.crate(t)
      const p = eye.at(t.x, t.y, t.z + r), s = r * p.s
      if (t.type === "rocket") {
        this.puff({ x: t.x - t.vx * 0.02, y: t.y - t.vy * 0.02, z: t.z + r }, 0.16, 420, this.now)
        ctx.globalCompositeOperation = "lighter"
        this.light({ x: t.x, y: t.y, z: t.z + r }, t.mine ? "mine" : "other", 1.1)
        const q = eye.at(t.x - t.vx * 0.06, t.y - t.vy * 0.06, t.z + r - (t.vz ?? 0) * 0.06)
        ctx.strokeStyle = t.mine ? "rgba(150, 215, 255, 0.8)" : "rgba(255, 232, 205, 0.8)"
        ctx.lineCap = "round"
        ctx.lineWidth = 0.16 * q.s
        ctx.beginPath(); ctx.moveTo(q.x, q.y)
        const e = eye.at(t.x, t.y, t.z + r)
        ctx.lineTo(e.x, e.y); ctx.stroke()
        ctx.lineCap = "butt"
        ctx.globalCompositeOperation = "source-over"
        return
      }
      const b = ctx.createRadialGradient(p.x - s * 0.4, p.y - s * 0.45, s * 0.1, p.x, p.y, s)
      b.addColorStop(0, "#ffffff")
      b.addColorStop(0.5, "#b9c4d2")
      b.addColorStop(1, "#465265")
      ctx.fillStyle = b
      ctx.beginPath(); ctx.arc(p.x, p.y, s, 0, 7); ctx.fill()
    }
    return solid
  }

  crate(t) {
    const { ctx } = this, c = Math.cos(t.angle ?? 0), s = Math.sin(t.angle ?? 0), w = t.width ?? 0.7, d = t.depth ?? 0.5, h = t.tall ?? 0.8
    const at = (u, v) => [t.x + u * c - v * s, t.y + u * s + v * c]
    const q = [at(-w, -d), at(w, -d), at(w, d), at(-w, d)]
    for (let i = 0; i < 4; i++) {
      const a = q[i], b = q[(i + 1) % 4]
      if (a[0] <= b[0]) continue // its outside looks north
      ctx.beginPath()
      this.corner(a[0], a[1], t.z, true); this.corner(b[0], b[1], t.z); this.corner(b[0], b[1], t.z + h); this.corner(a[0], a[1], t.z + h)
      ctx.closePath()
      ctx.fillStyle = i % 2 ? "#3a4557" : "#2c3646"
      ctx.fill()
    }
    ctx.beginPath()
    this.polygon(q, t.z + h)
    ctx.fillStyle = "#5d6b80"
    ctx.fill()
    ctx.strokeStyle = "rgba(220, 235, 255, 0.45)"
    ctx.lineWidth = 1
    ctx.stroke()
  }

  aimLine(me, aim) {
    if (!aim) return
    const { ctx, eye } = this, m = this.muzzle(me)
    const p = eye.at(m.x, m.y, m.z), px = p.x, py = p.y, q = eye.at(aim.x, aim.y, aim.z)
    const g = ctx.createLinearGradient(px, py, q.x, q.y)
    g.addColorStop(0, "rgba(86, 180, 233, 0.3)")
    g.addColorStop(1, "rgba(86, 180, 233, 0.05)")
    ctx.strokeStyle = g
    ctx.lineWidth = 1
    ctx.beginPath(); ctx.moveTo(px, py); ctx.lineTo(q.x, q.y); ctx.stroke()
  }

  vignette({ width, height }) {
    const { ctx } = this
    if (!this.edgeDark || this.edgeDark.width !== width || this.edgeDark.height !== height) {
      const g = ctx.createRadialGradient(width / 2, height / 2, Math.min(width, height) * 0.42, width / 2, height / 2, Math.hypot(width, height) * 0.56)
      g.addColorStop(0, "rgba(5, 7, 11, 0)")
      g.addColorStop(1, "rgba(5, 7, 11, 0.62)")
      this.edgeDark = { width, height, g }
      const r = ctx.createRadialGradient(width / 2, height / 2, Math.min(width, height) * 0.38, width / 2, height / 2, Math.hypot(width, height) * 0.55)
      r.addColorStop(0, "rgba(255, 93, 115, 0)")
      r.addColorStop(1, "rgba(255, 93, 115, 0.55)")
      this.edgeRed = r
    }
    ctx.fillStyle = this.edgeDark.g
    ctx.fillRect(0, 0, width, height)
    if (this.hurt > 0.02) {
      ctx.globalAlpha = Math.min(1, this.hurt)
      ctx.fillStyle = this.edgeRed
      ctx.fillRect(0, 0, width, height)
      ctx.globalAlpha = 1
    }
  }

  crosshair({ x, y, busy }, dt) {
    const { ctx } = this
    this.marker = ease(this.marker, 0, dt, 90)
    ctx.lineCap = "round"
    for (const [color, width] of [["rgba(5, 7, 11, 0.7)", 4], [COLOR.other, 1.75]]) {
      ctx.strokeStyle = color
      ctx.lineWidth = width
      ctx.beginPath()
      for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) { ctx.moveTo(x + dx * 6, y + dy * 6); ctx.lineTo(x + dx * 11, y + dy * 11) }
      ctx.stroke()
    }
    if (busy < 1) { // the hands are not ready
      for (const [color, width, from, to] of [["rgba(5, 7, 11, 0.55)", 5, 0, 1], [COLOR.mine, 2.5, 0, busy]]) {
        ctx.strokeStyle = color
        ctx.lineWidth = width
        ctx.beginPath(); ctx.arc(x, y, 17, (2 * from - 0.5) * Math.PI, (2 * to - 0.5) * Math.PI); ctx.stroke()
      }
    }
    ctx.fillStyle = COLOR.other
    ctx.beginPath(); ctx.arc(x, y, 1.4, 0, 7); ctx.fill()
    if (this.marker > 0.05) {
      ctx.globalAlpha = Math.min(1, this.marker * 1.5)
      ctx.strokeStyle = COLOR.hit
      ctx.lineWidth = 2.25
      ctx.beginPath()
      for (const [dx, dy] of [[1, 1], [-1, 1], [1, -1], [-1, -1]]) { ctx.moveTo(x + dx * 7, y + dy * 7); ctx.lineTo(x + dx * 14, y + dy * 14) }
      ctx.stroke()
      ctx.globalAlpha = 1
    }
    ctx.lineCap = "butt"
  }

  // ---- Paths ----

  corner(x, y, z, first = false) {
    const p = this.eye.at(x, y, z)
    if (first) this.ctx.moveTo(p.x, p.y)
    else this.ctx.lineTo(p.x, p.y)
  }
  edge(ax, ay, az, bx, by, bz) {
    this.corner(ax, ay, az, true)
    this.corner(bx, by, bz)
  }
  polygon(points, z) {
    points.forEach(([x, y], i) => this.corner(x, y, z, i === 0))
    this.ctx.closePath()
  }
  quad(x0, y0, x1, y1, z) {
    this.ctx.beginPath()
    this.polygon([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], z)
  }
  circle(x, y, z, r) {
    const { ctx } = this
    ctx.beginPath()
    for (let i = 0; i < 40; i++) {
      const a = i * Math.PI / 20
      this.corner(x + r * Math.cos(a), y + r * Math.sin(a), z, i === 0)
    }
    ctx.closePath()
  }
}
