// A stand-in for the arena's engine, in JavaScript: the same bridge, a small simulation behind it, no server. It exists so
// that the page can be looked at and tested alone. It plays back others late, as a client does, and knows the truth.
import { Bridge } from "./bridge.js"

const LAYOUT = {
  game: "arena", rate: 60,
  kinds: [
    { name: "player", properties: [
      { name: "pos", type: "vec3" }, { name: "vel", type: "vec3" }, { name: "aim", type: "angle" }, { name: "health", type: "number" },
      { name: "score", type: "number" }, { name: "deaths", type: "number" }, { name: "name", type: "text" }, { name: "crouch", type: "bool" },
      { name: "alive", type: "bool" }, { name: "ammo", type: "number" }] },
    { name: "round", properties: [{ name: "ends", type: "number" }, { name: "phase", type: "number" }] },
    { name: "ball", properties: [{ name: "pos", type: "vec3" }] },
    { name: "cart", properties: [{ name: "pos", type: "vec3" }, { name: "angle", type: "angle" }] },
    { name: "rocket", properties: [{ name: "pos", type: "vec3" }, { name: "vel", type: "vec3" }] },
  ],
  events: [
    { name: "shot", fields: [{ name: "from", type: "vec3" }, { name: "to", type: "vec3" }, { name: "hit", type: "number" }] },
    { name: "frag", fields: [{ name: "killer", type: "number" }, { name: "victim", type: "number" }] },
    { name: "launch", fields: [{ name: "from", type: "vec3" }] },
    { name: "blast", fields: [{ name: "at", type: "vec3" }] },
    { name: "swing", fields: [{ name: "at", type: "vec3" }, { name: "aim", type: "angle" }] },
    { name: "cut", fields: [{ name: "at", type: "vec3" }] },
    { name: "shove", fields: [{ name: "at", type: "vec3" }] },
    { name: "press", fields: [{ name: "gate", type: "number" }] },
  ],
  command: [
    { name: "move", type: "vec2" }, { name: "aim", type: "angle" }, { name: "pitch", type: "angle" },
    { name: "jump", type: "press" }, { name: "crouch", type: "bool" }, { name: "fire", type: "press" },
    { name: "reload", type: "press" }, { name: "weapon", type: "number" },
    { name: "swing", type: "press" }, { name: "shove", type: "press" }, { name: "press", type: "press" }],
  stats: ["tick", "periodMs", "commandMs", "serverMs", "newestMs", "playoutMs", "rttMs", "delayMs", "ageMs", "leadMs", "downBps", "upBps",
    "corrections", "correctionCm", "hitches", "starved", "state", "silentMs"],
  profiles: [],
}
const NAMES = ["", "You", "Ada", "Barbara", "Cleve", "Dijkstra", "Emmy", "Frances", "Grace", "Hedy", "Ivan", "Joan"]
const R = 0.4

class Arena extends Bridge {
  constructor(map) {
    super(LAYOUT, NAMES)
    this.map = map
    this.settings = { delayMs: 0, jitterMs: 0, lossPct: 0, predict: 1, interpolate: 1, playoutMs: 0, autopilot: 1 }
    this.seed = 20
    this.players = []
    this.history = []
    this.packets = []
    this.events = []
    this.down = []
    for (let id = 1; id <= 9; id++) this.players.push({ id, kind: 0, x: 0, y: 0, z: 0, vx: 0, vy: 0, vz: 0, aim: 0, health: 100, score: 0, deaths: 0, crouch: 0, alive: 1, ammo: 30, back: 0, goal: null, ready: 0, turn: 0 })
    for (const p of this.players) this.spawn(p)
    this.players[0].x = 28; this.players[0].y = 20.5
    this.tickNo = 1
    this.roundEnds = 60 * 154
    this.corrections = 0
    this.error = 0
    for (let i = 0; i < 60 * 40; i++) this.step(null)
    this.events.length = 0
    this.base = this.tickNo
  }
  random() { this.seed = (this.seed * 1664525 + 1013904223) >>> 0; return this.seed / 4294967296 }

  blocked(x, y, z, r = R) {
    return this.map.walls.some(w => x > w.min[0] - r && x < w.max[0] + r && y > w.min[1] - r && y < w.max[1] + r && z < w.height - 0.05)
  }
  floorAt(x, y, z) {
    let top = 0
    for (const w of this.map.walls) if (x > w.min[0] - 0.3 && x < w.max[0] + 0.3 && y > w.min[1] - 0.3 && y < w.max[1] + 0.3 && w.height <= z + 0.2) top = Math.max(top, w.height)
    return top
  }
  spawn(p) {
    do { p.x = 2 + this.random() * 52; p.y = 2 + this.random() * 34 } while (this.blocked(p.x, p.y, 0, 0.8))
    Object.assign(p, { z: 0, vx: 0, vy: 0, vz: 0, health: 100, alive: 1, ammo: 30, cut: 1, goal: null })
  }
  /** How far a ray goes before a wall. */
  reach(x, y, z, dx, dy, far) {
    for (const w of this.map.walls) {
      if (w.height < z) continue
      let t0 = 0, t1 = far
      for (const [o, d, a, b] of [[x, dx, w.min[0], w.max[0]], [y, dy, w.min[1], w.max[1]]]) {
        if (Math.abs(d) < 1e-9) { if (o < a || o > b) t1 = -1; continue }
        let u = (a - o) / d, v = (b - o) / d
        if (u > v) [u, v] = [v, u]
        t0 = Math.max(t0, u); t1 = Math.min(t1, v)
      }
      if (t0 < t1) far = Math.min(far, t0)
    }
    return far
  }
  bot(p) {
    if (!p.goal || Math.hypot(p.goal.x - p.x, p.goal.y - p.y) < 1.2 || p.turn-- < 0) {
      p.turn = 120 + this.random() * 120
      do { p.goal = { x: 3 + this.random() * 50, y: 3 + this.random() * 32 } } while (this.blocked(p.goal.x, p.goal.y, 0, 1))
    }
    const gx = p.goal.x - p.x, gy = p.goal.y - p.y, gl = Math.hypot(gx, gy) || 1
    let best = null, far = 24
    for (const o of this.players) {
      if (o === p || !o.alive) continue
      const d = Math.hypot(o.x - p.x, o.y - p.y)
      if (d < far && this.reach(p.x, p.y, p.z + 1.2, (o.x - p.x) / d, (o.y - p.y) / d, d) >= d - 0.01) { best = o; far = d }
    }
    let aim = Math.atan2(gy, gx)
    if (best) aim = Math.atan2(best.y - p.y, best.x - p.x) + 0.12 * Math.sin(this.tickNo / 17 + p.id * 3)
    const stuck = Math.hypot(p.vx, p.vy) < 1
    return { x: gx / gl, y: gy / gl, aim, jump: stuck || this.random() < 0.008, crouch: best && far < 8 && p.id % 3 === 0, fire: !!best && this.random() < 0.8 }
  }
  act(p, c) {
    const dt = 1 / 60, want = c.crouch ? 3 : 6.4
    let turn = c.aim - p.aim
    turn -= Math.round(turn / (2 * Math.PI)) * 2 * Math.PI
    p.aim += p.id === 1 && !this.settings.autopilot ? turn : Math.max(-0.16, Math.min(0.16, turn))
    p.crouch = c.crouch ? 1 : 0
    p.vx += (c.x * want - p.vx) * 0.2
    p.vy += (c.y * want - p.vy) * 0.2
    const floor = this.floorAt(p.x, p.y, p.z)
    if (p.z <= floor + 0.001) { p.z = floor; p.vz = 0; if (c.jump) p.vz = 6.2 }
    p.vz -= 16 * dt
    p.z = Math.max(floor, p.z + p.vz * dt)
    const nx = p.x + p.vx * dt, ny = p.y + p.vy * dt
    if (!this.blocked(nx, p.y, p.z)) p.x = nx; else p.vx = 0
    if (!this.blocked(p.x, ny, p.z)) p.y = ny; else p.vy = 0
    if (c.fire && this.tickNo > p.ready && p.ammo > 0) {
      p.ready = this.tickNo + 8
      if (--p.ammo === 0) { p.ammo = 30; p.ready += 80 }
      const dx = Math.cos(p.aim), dy = Math.sin(p.aim), z = p.z + (c.crouch ? 0.8 : 1.22)
      let far = this.reach(p.x, p.y, z, dx, dy, 40), hit = null
      for (const o of this.players) {
        if (o === p || !o.alive) continue
        const t = (o.x - p.x) * dx + (o.y - p.y) * dy, off = Math.abs((o.x - p.x) * dy - (o.y - p.y) * dx)
        if (t > 0 && t < far && off < R + 0.05 && z > o.z && z < o.z + 1.8) { far = t - 0.3; hit = o }
      }
      this.events.push({ at: this.tickNo, kind: 0, entity: p.id, mine: p.id === 1, values: [p.x, p.y, z, p.x + dx * far, p.y + dy * far, z, hit ? hit.id : 0] })
      if (hit && (hit.health -= 14) <= 0) {
        hit.alive = 0
        hit.deaths++
        hit.back = this.tickNo + 110
        p.score++
        this.events.push({ at: this.tickNo, kind: 1, entity: hit.id, mine: false, values: [p.id, hit.id] })
      }
    }
  }
  step(command) {
    this.tickNo++
    for (const p of this.players) {
      p.cut = 0
      if (!p.alive) { if (this.tickNo >= p.back) this.spawn(p); continue }
      this.act(p, p.id === 1 && command ? command : this.bot(p))
    }
    this.history.push(this.players.map(p => ({ ...p })))
    if (this.history.length > 90) this.history.shift()
  }

  frame(now) {
    this.start0 ??= now
    this.now = now
    const s = this.settings, due = Math.min(8, Math.floor((now - this.start0) / (1000 / 60)) - (this.ran ?? 0))
    const one = 8 + +s.delayMs, jitter = () => Math.abs(this.random() + this.random() - 1) * s.jitterMs
    for (; (this.sentAt ??= now) <= now; this.sentAt += 50) { // records at 20 Hz down, commands at 30 Hz up
      const bytes = 180 + 260 * this.random(), lost = this.random() * 100 < s.lossPct
      this.down.push([this.sentAt, lost ? NaN : this.sentAt + one + jitter(), bytes])
    }
    for (; (this.upAt ??= now) <= now; this.upAt += 33.3) this.packets.push([1, this.upAt, this.random() * 100 < s.lossPct ? NaN : this.upAt + one + jitter(), 48])
    this.down = this.down.filter(([sent, at, bytes]) => {
      if (!(at === at)) { this.packets.push([0, sent, NaN, bytes]); return false }
      if (at > now) return true
      this.newest = Math.max(this.newest ?? 0, sent)
      this.packets.push([0, sent, at, bytes])
      return false
    })
    const want = +s.playoutMs || one + 50 + 0.9 * s.jitterMs + 4 * s.lossPct + 12
    this.playout = this.playout === undefined ? want : this.playout + (want - this.playout) * 0.03
    if (this.random() < 0.004 + s.lossPct / 2500) { this.corrections++; this.error = 2 + this.random() * (6 + s.delayMs / 8) }
    this.error *= 0.93
    return due > 0 ? due : 0
  }
  tick(c) {
    this.ran = (this.ran ?? 0) + 1
    this.step(this.settings.autopilot ? null : { x: c[0], y: c[1], aim: c[2], pitch: c[3], jump: c[4], crouch: c[5], fire: c[6] })
  }
  setting(name, value) {
    this.settings[name] = value
    return ""
  }
  world() {
    const late = Math.round(this.playout / (1000 / 60)), then = this.history[Math.max(0, this.history.length - 1 - (this.settings.interpolate ? late : Math.round(late / 3) * 3))]
    const drawn = this.players.map(p => p.id === 1 && this.settings.predict ? p : then.find(q => q.id === p.id))
    const one = 8 + +this.settings.delayMs, t = this.tickNo / 60
    const events = this.events.filter(e => e.mine || e.at <= this.tickNo - late)
    this.events = this.events.filter(e => !events.includes(e))
    const packets = this.packets
    this.packets = []
    return {
      own: 1,
      stats: { tick: this.tickNo, periodMs: 1000 / 60, commandMs: this.now + one + 25 + this.settings.jitterMs * 0.4, serverMs: this.now, newestMs: this.newest ?? this.now,
        playoutMs: this.now - this.playout, rttMs: 2 * one + this.settings.jitterMs * (0.3 + 0.3 * Math.sin(t)), delayMs: this.playout, ageMs: this.now - (this.newest ?? this.now), leadMs: one + 25,
        downBps: 6400 + 900 * Math.sin(t * 0.9) + 500 * Math.sin(t * 3.1), upBps: 2600 + 120 * Math.sin(t * 2), corrections: this.corrections, correctionCm: this.error, hitches: 0, starved: 0, state: 1, silentMs: 0 },
      entities: [
        drawn.map(p => [p.id, (p.id === 1 ? 1 | (this.settings.predict ? 4 : 0) : 0) | (p.cut ? 2 : 0), p.x, p.y, p.z, p.vx, p.vy, p.vz, p.aim, p.health, p.score, p.deaths, p.id, p.crouch, p.alive, p.id === 1 ? p.ammo : NaN]),
        [[100, 0, this.roundEnds + this.base, 1]],
        [[101, 0, 31 + 3 * Math.cos(t * 0.7), 18.4 + 1.6 * Math.sin(t * 0.9), 0.05 + Math.abs(Math.sin(t * 3)) * 0.7]],
        [[102, 0, 20, 18.2, 0, 0.4], [103, 0, 36.2, 20, 0, -0.3]],
        [],
      ],
      events: events.map(e => [e.kind, e.at * 16 + e.entity, e.entity, e.mine ? 1 : 0, ...e.values]),
      packets,
    }
  }
}

export async function boot() {
  const map = await (await fetch("/arena/map.json")).json()
  const arena = new Arena({ ...map, ...map.maps[0] })
  // The truth comes by WebSocket; here it comes from next door.
  const Real = globalThis.WebSocket
  globalThis.WebSocket = function (url, ...rest) {
    if (!new URL(url).pathname.startsWith("/truth")) return new Real(url, ...rest)
    const socket = { close() { clearInterval(timer) } }
    const timer = setInterval(() => {
      const f = new Float32Array(2 + 4 * arena.players.length)
      f[0] = arena.tickNo
      let n = 0
      for (const p of arena.players) if (p.alive) f.set([p.id, p.x, p.y, p.z], 2 + 4 * n++)
      f[1] = n
      socket.onmessage?.({ data: f.slice(0, 2 + 4 * n).buffer })
    }, 33)
    return socket
  }
  globalThis.arena = arena
  return arena
}
