// The page of invasion: everything is drawn here, on one canvas, with a few controls beside it. Sizes are metres.
//
// R colours everything by how often records of it arrive; the wheel, + and - zoom. The address may name a simulated network, as in
// ?delayMs=75&lossPct=3 or ?profile=modem; ?bot lets the bot play, ?rates begins with the colours, ?downKbps=13 with a budget of its own.
// ?watch looks on without an avatar, some seconds late: a click on a player follows it.
import { join, panel as networkPanel } from "/meanwhile.js" // fetches invasion.wasm, picks a transport, resumes

const SITES = [[-1040, -930], [60, -1110], [980, -890], [-1150, 110], [0, 0], [1090, 70], [-910, 1010], [-70, 1080], [1020, 940]]
  .map(([x, y]) => ({ x, y }))
const WORLD = 1600 // metres from the middle to an edge
const STRIKE = 2.6, BLAST = 7, BLAST_TICKS = 160, RESPAWN_TICKS = 80
const BREEDS = {
  crawler: { size: 0.62, body: "#d4523f", dark: "#4a1518", eye: "#ffd36a", health: 4 },
  hound: { size: 0.58, body: "#e0953f", dark: "#54300f", eye: "#fff0a8", health: 3 },
  brute: { size: 1.1, body: "#9a63c9", dark: "#2c1640", eye: "#ff8a7a", health: 7 },
}
const TAU = 2 * Math.PI
const KEYS = "WASD: run   ·   hold the mouse: strike   ·   right button or Space: blast   ·   R: colours by update rate   ·   wheel, + and −: zoom"

const address = new URLSearchParams(location.search)
/** @type {Record<string, any>} */
const settings = {}
for (const name of ["delayMs", "jitterMs", "lossPct"]) if (address.has(name)) settings[name] = +address.get(name)
if (address.has("profile")) settings.profile = address.get("profile")

const g = await join({
  canvas: document.querySelector("canvas"), view: null, settings, autopilot: address.has("bot"),
})
const { ctx, keys, mouse } = g
globalThis.g = g // for the browser's console
networkPanel(g) // F2

// The camera: metres to CSS pixels, with the avatar in the middle.
const camera = {
  x: 0, y: 0, scale: 12, width: Math.min(1200, Math.max(30, +(address.get("view") ?? 72) || 72)),
  toWorld: (x, y) => ({ x: camera.x + (x - g.width / 2) / camera.scale, y: camera.y + (y - g.height / 2) / camera.scale }),
  toScreen: p => ({ x: g.width / 2 + (p.x - camera.x) * camera.scale, y: g.height / 2 + (p.y - camera.y) * camera.scale }),
}
g.camera = camera
const zoom = factor => { camera.width = Math.min(1200, Math.max(30, camera.width * factor)) }
addEventListener("wheel", e => zoom(1.0015 ** e.deltaY), { passive: true })
addEventListener("keydown", e => { if (e.key === "+" || e.key === "-") zoom(e.key === "+" ? 0.8 : 1.25) })

// Who watches follows a player: that which was clicked at, or the next one if none was.
const watching = address.has("watch")
if (watching) addEventListener("click", e => {
  if (e.target !== g.canvas) return
  const near = g.world.player.map(p => ({ id: p.id, ...camera.toScreen(p.pos) })).map(p => ({ id: p.id, d: Math.hypot(p.x - e.clientX, p.y - e.clientY) }))
    .reduce((a, b) => a.d < b.d ? a : b, { id: 0, d: 40 })
  if (!near.id) return
  g.follow = near.id
  e.stopPropagation() // before the library goes on to the next one
}, { capture: true })

// What the player wants: once per tick.
g.command = () => ({
  move: keys.wasd, aim: mouse.angleFrom(g.me.pos), strike: mouse.pressed, blast: mouse.right || keys.space,
})

// Effects: each is drawn until it dies.
const effects = [], stains = []
const add = (draw, ms, more) => effects.push({ draw, from: g.now, ms, ...more })
g.on.blast = e => add(drawBlast, 700, e)
g.undo.blast = e => {
  const i = effects.findIndex(shown => shown.key === e.key)
  if (i >= 0) effects.splice(i, 1)
}
g.on.slain = e => add(drawSlain, 1600, e)
g.on.fallen = e => { banner.text = `Beacon ${e.site + 1} has fallen`; banner.at = g.now }
const banner = { text: "", at: -1e9 }

// What the page remembers of each thing, to turn it, to let it walk and to see it strike.
/** @type {Map<number, any>} */
const tracks = new Map()
let frame = 0

/** Follows an entity: which way it goes, and how far it went. */
function follow(e, kind) {
  let t = tracks.get(e.id)
  if (!t) tracks.set(e.id, t = { x: e.pos.x, y: e.pos.y, dir: e.id * 2.4, way: e.id, swing: e.swing, swungAt: -1e9, pain: -1e9, health: e.health })
  const dx = e.pos.x - t.x, dy = e.pos.y - t.y, d = Math.hypot(dx, dy)
  if (d > 0.004 && !e.cut) {
    const turn = Math.atan2(dy, dx) - t.dir
    t.dir += Math.atan2(Math.sin(turn), Math.cos(turn)) * Math.min(1, 0.06 + d * 3)
    t.way += Math.min(d, 1)
  }
  if (e.swing !== t.swing) { t.swing = e.swing; t.swungAt = g.now }
  if (e.health < t.health) t.pain = g.now
  t.x = e.pos.x
  t.y = e.pos.y
  t.health = e.health
  t.frame = frame
  t.kind = kind
  t.breed = e.breed
  return t
}

/** What is gone close by has died: far ones leave the sight. */
function forget(here) {
  for (const [id, t] of tracks) {
    if (t.frame === frame) continue
    tracks.delete(id)
    if (t.kind === "creature" && Math.hypot(t.x - here.x, t.y - here.y) < 25) {
      add(drawDeath, 500, { at: { x: t.x, y: t.y }, breed: t.breed, dir: t.dir })
      stains.push({ x: t.x, y: t.y, at: g.now, size: BREEDS[t.breed]?.size ?? 0.6, turn: t.dir })
      if (stains.length > 300) stains.shift()
    }
  }
}

g.draw = world => {
  frame++
  const me = g.me, followed = watching ? world.player.find(p => p.id === g.follow) : undefined, here = (me ?? followed)?.pos ?? SITES[4]
  camera.x += (here.x - camera.x) * (Math.hypot(here.x - camera.x, here.y - camera.y) > 30 ? 1 : 0.35)
  camera.y += (here.y - camera.y) * (Math.abs(here.y - camera.y) > 30 ? 1 : 0.35)
  camera.scale = g.width / camera.width
  const beacons = world.beacon, players = world.player, creatures = world.creature
  ctx.save()
  ctx.translate(g.width / 2, g.height / 2)
  ctx.scale(camera.scale, camera.scale)
  ctx.translate(-camera.x, -camera.y)
  drawGround()
  for (const b of beacons) drawBeacon(b)
  drawStains()
  if (followed) drawFollowed(followed)
  for (const p of players) if (p.health === 0) drawPlayer(p, follow(p, "player"))
  for (const c of creatures) drawCreature(c, follow(c, "creature"))
  for (const p of players) if (p.health > 0 && !p.mine) drawPlayer(p, follow(p, "player"))
  for (const p of players) if (p.health > 0 && p.mine) drawPlayer(p, follow(p, "player"))
  for (let i = effects.length - 1; i >= 0; i--) {
    const e = effects[i], share = (g.now - e.from) / e.ms
    if (share >= 1) effects.splice(i, 1)
    else if (share >= 0) e.draw(e, share)
  }
  ctx.restore()
  drawNight(players, beacons)
  for (const p of players) label(p)
  forget(here)
  drawHud(world, me)
}

// ---- the ground

/** A hash of two integers, from 0 to 1. */
function hash(x, y, n = 0) {
  let h = Math.imul(x, 0x9e3779b1) ^ Math.imul(y, 0x85ebca6b) ^ Math.imul(n + 1, 0xc2b2ae35)
  h = Math.imul(h ^ h >>> 15, 0x2c1b3c6d)
  h = Math.imul(h ^ h >>> 12, 0x297a2d39)
  return ((h ^ h >>> 15) >>> 0) / 4294967296
}

const soil = (() => { // a tile of 64 m that repeats
  const size = 512, canvas = document.createElement("canvas")
  canvas.width = canvas.height = size
  const c = canvas.getContext("2d")
  c.fillStyle = "#4c5a3e"
  c.fillRect(0, 0, size, size)
  for (let i = 0; i < 900; i++) {
    const x = hash(i, 1) * size, y = hash(i, 2) * size, r = 8 + hash(i, 3) * 34
    c.fillStyle = ["rgba(112, 124, 74, 0.12)", "rgba(40, 52, 38, 0.13)", "rgba(132, 112, 74, 0.10)"][i % 3]
    for (const dx of [-size, 0, size]) for (const dy of [-size, 0, size]) {
      c.beginPath()
      c.ellipse(x + dx, y + dy, r, r * (0.5 + hash(i, 4) / 2), hash(i, 5) * TAU, 0, TAU)
      c.fill()
    }
  }
  for (let i = 0; i < 1500; i++) {
    c.fillStyle = i & 1 ? "rgba(130, 140, 92, 0.22)" : "rgba(16, 22, 16, 0.25)"
    c.fillRect(hash(i, 7) * size, hash(i, 8) * size, 1.4, 1.4)
  }
  return canvas
})()
const pattern = ctx.createPattern(soil, "repeat")
pattern.setTransform(new DOMMatrix().scale(64 / 512))

function drawGround() {
  const { x: x0, y: y0 } = camera.toWorld(0, 0), { x: x1, y: y1 } = camera.toWorld(g.width, g.height)
  ctx.fillStyle = "#0a0d10"
  ctx.fillRect(x0, y0, x1 - x0, y1 - y0)
  ctx.save()
  ctx.beginPath()
  ctx.rect(-WORLD, -WORLD, 2 * WORLD, 2 * WORLD)
  ctx.clip()
  ctx.fillStyle = pattern
  ctx.fillRect(x0, y0, x1 - x0, y1 - y0)
  ctx.lineCap = "round"
  const roads = [{ width: 7.5, color: "rgba(30, 28, 20, 0.22)" }, { width: 6, color: "rgba(140, 122, 88, 0.32)" },
    { width: 3, color: "rgba(164, 144, 104, 0.16)" }]
  for (const { width, color } of roads) { // they join the beacons
    ctx.strokeStyle = color
    ctx.lineWidth = width
    ctx.beginPath()
    for (let i = 0; i < 9; i++) for (const j of [i % 3 < 2 ? i + 1 : -1, i < 6 ? i + 3 : -1]) {
      if (j < 0) continue
      const a = SITES[i], b = SITES[j], bend = (hash(i, j) - 0.5) * 300
      ctx.moveTo(a.x, a.y)
      ctx.quadraticCurveTo((a.x + b.x) / 2 + bend, (a.y + b.y) / 2 - bend, b.x, b.y)
    }
    ctx.stroke()
  }
  if (camera.scale > 4) {
    const step = 9
    for (let i = Math.floor(x0 / step); i <= x1 / step; i++) for (let j = Math.floor(y0 / step); j <= y1 / step; j++) {
      const what = hash(i, j), x = (i + hash(i, j, 1)) * step, y = (j + hash(i, j, 2)) * step
      if (what < 0.09) rock(x, y, 0.3 + hash(i, j, 3) * 0.9, hash(i, j, 4) * TAU)
      else if (what < 0.34) tuft(x, y, hash(i, j, 3))
    }
  }
  ctx.restore()
}

function rock(x, y, r, turn) {
  at({ x, y }, turn, () => {
    ctx.fillStyle = "rgba(8, 10, 10, 0.4)"
    ctx.beginPath()
    ctx.ellipse(0.12, 0.14, r * 1.05, r * 0.8, 0, 0, TAU)
    ctx.fill()
    ctx.fillStyle = "#6b6c66"
    ctx.beginPath()
    ctx.moveTo(-r, 0)
    for (const [px, py] of [[-0.5, -0.7], [0.3, -0.75], [1, -0.1], [0.55, 0.6], [-0.4, 0.65]]) ctx.lineTo(px * r, py * r)
    ctx.fill()
    ctx.fillStyle = "#83847c"
    ctx.beginPath()
    ctx.moveTo(-0.7 * r, -0.1 * r)
    for (const [px, py] of [[-0.4, -0.6], [0.25, -0.6], [0.5, -0.05], [-0.1, 0.2]]) ctx.lineTo(px * r, py * r)
    ctx.fill()
  })
}

function tuft(x, y, n) {
  ctx.strokeStyle = n < 0.5 ? "rgba(128, 142, 84, 0.5)" : "rgba(104, 122, 76, 0.5)"
  ctx.lineWidth = 0.07
  ctx.beginPath()
  for (let k = -2; k <= 2; k++) { ctx.moveTo(x, y); ctx.lineTo(x + k * 0.13, y - 0.45 - 0.2 * (2 - Math.abs(k)) * n) }
  ctx.stroke()
}

function drawStains() {
  for (let i = stains.length - 1; i >= 0; i--) {
    const s = stains[i], share = (g.now - s.at) / 20000
    if (share >= 1) { stains.splice(i, 1); continue }
    ctx.fillStyle = `rgba(52, 16, 24, ${0.5 * (1 - share)})`
    for (let k = 0; k < 4; k++) disc(s.x + Math.cos(s.turn + k * 1.9) * s.size * 0.5, s.y + Math.sin(s.turn + k * 1.9) * s.size * 0.5, s.size * (0.7 - 0.1 * k))
  }
}

// ---- what lives

/** Draws with the origin at a place, turned. */
function at(pos, angle, draw) {
  ctx.save()
  ctx.translate(pos.x, pos.y)
  ctx.rotate(angle)
  draw()
  ctx.restore()
}

function disc(x, y, r) {
  ctx.beginPath()
  ctx.arc(x, y, r, 0, TAU)
  ctx.fill()
}

/** The colour of an interval between records: green at a tenth of a second, red at a second, violet at three. */
function rateColor(ms) {
  if (!ms) return "#8d98a3" // it rests
  const share = Math.max(0, Math.min(1, Math.log(ms / 90) / Math.log(3000 / 90)))
  return `hsl(${share < 0.7 ? 150 - 215 * share : 360 - (share - 0.7) * 250}, ${82}%, ${56 - 10 * share}%)`
}

let rates = address.has("rates")

function drawCreature(c, t) {
  const breed = BREEDS[c.breed] ?? BREEDS.crawler, s = Math.max(breed.size, 5.2 / camera.scale)
  const body = rates ? rateColor(c.intervalMs) : breed.body, dark = rates ? "rgba(10, 12, 16, 0.85)" : breed.dark
  if (camera.scale < 5) { // a dot
    ctx.fillStyle = body
    disc(c.pos.x, c.pos.y, Math.min(s, 3 / camera.scale))
    return
  }
  ctx.fillStyle = "rgba(0, 0, 0, 0.35)"
  ctx.beginPath()
  ctx.ellipse(c.pos.x + 0.12, c.pos.y + 0.16, s * 1.05, s * 0.85, 0, 0, TAU)
  ctx.fill()
  const white = g.now - t.pain < 110
  at(c.pos, t.dir, () => {
    ctx.strokeStyle = dark
    ctx.lineWidth = s * 0.16
    ctx.lineCap = "round"
    const legs = c.breed === "crawler" ? 3 : 2, long = c.breed === "hound" ? 1.25 : 1
    ctx.beginPath()
    for (let i = 0; i < legs; i++) for (const side of [-1, 1]) { // legs swing as it walks
      const x = (i - (legs - 1) / 2) * s * 0.75 * long, swing = Math.sin(t.way * (2.4 / s) + i * 2.1 + side) * s * 0.32
      ctx.moveTo(x, side * s * 0.4)
      ctx.lineTo(x + swing, side * s * 1.15)
    }
    ctx.stroke()
    ctx.fillStyle = white ? "#fff3e6" : body
    ctx.strokeStyle = dark
    ctx.lineWidth = s * 0.12
    ctx.beginPath()
    if (c.breed === "crawler") ctx.ellipse(0, 0, s, s * 0.72, 0, 0, TAU)
    else if (c.breed === "hound") ctx.ellipse(-0.05, 0, s * 1.25, s * 0.5, 0, 0, TAU)
    else ctx.ellipse(0, 0, s * 0.95, s * 0.95, 0, 0, TAU)
    ctx.fill()
    ctx.stroke()
    if (c.breed === "brute") { // horns and plates
      ctx.fillStyle = dark
      for (const side of [-1, 1]) {
        ctx.beginPath()
        ctx.moveTo(s * 0.55, side * s * 0.5)
        ctx.lineTo(s * 1.35, side * s * 0.45)
        ctx.lineTo(s * 0.75, side * s * 0.15)
        ctx.fill()
      }
      ctx.fillRect(-s * 0.55, -s * 0.5, s * 0.16, s)
      ctx.fillRect(-s * 0.15, -s * 0.6, s * 0.16, s * 1.2)
    } else if (c.breed === "crawler") {
      ctx.beginPath()
      ctx.moveTo(-s * 0.85, 0)
      ctx.lineTo(s * 0.25, 0)
      ctx.stroke()
    }
    ctx.fillStyle = rates ? "#10141a" : breed.eye
    for (const side of [-1, 1]) disc(s * (c.breed === "hound" ? 0.85 : 0.62), side * s * 0.24, s * 0.13)
  })
}

function drawPlayer(p, t) {
  const r = Math.max(0.5, 5 / camera.scale), mine = p.mine, color = rates ? (mine ? "#ffffff" : rateColor(p.intervalMs)) : mine ? "#7fe3ff" : "#4d9fd6"
  if (p.health === 0) {
    at(p.pos, t.dir, () => {
      ctx.fillStyle = rates ? color : "rgba(70, 92, 112, 0.8)"
      ctx.beginPath()
      ctx.ellipse(0, 0, r * 1.3, r * 0.6, 0, 0, TAU)
      ctx.fill()
    })
    return
  }
  if (camera.scale < 5) {
    ctx.fillStyle = color
    disc(p.pos.x, p.pos.y, r * 1.2)
    return
  }
  ctx.fillStyle = "rgba(0, 0, 0, 0.4)"
  disc(p.pos.x + 0.12, p.pos.y + 0.16, r)
  if (mine) {
    ctx.strokeStyle = "rgba(255, 255, 255, 0.85)"
    ctx.lineWidth = 0.07
    ctx.beginPath()
    ctx.arc(p.pos.x, p.pos.y, r + 0.28, 0, TAU)
    ctx.stroke()
  }
  const share = (g.now - t.swungAt) / 260
  at(p.pos, p.aim, () => {
    if (share < 1) { // the arc of a strike
      const wide = 1.25, from = -wide + 2 * wide * share
      ctx.strokeStyle = `rgba(255, 244, 200, ${0.85 * (1 - share)})`
      ctx.lineWidth = 0.35 * (1 - share) + 0.05
      ctx.beginPath()
      ctx.arc(0, 0, STRIKE * 0.82, -wide, from)
      ctx.stroke()
    }
    const blade = share < 1 ? -1.1 + 2.2 * share : 0.5
    ctx.strokeStyle = "#e8eef2"
    ctx.lineWidth = 0.1
    ctx.beginPath()
    ctx.moveTo(Math.cos(blade) * 0.4, Math.sin(blade) * 0.4)
    ctx.lineTo(Math.cos(blade) * 1.55, Math.sin(blade) * 1.55)
    ctx.stroke()
    ctx.fillStyle = g.now - t.pain < 130 ? "#ffd9d0" : color
    ctx.strokeStyle = "#0c2638"
    ctx.lineWidth = 0.08
    disc(0, 0, r)
    ctx.stroke()
    ctx.fillStyle = "rgba(12, 38, 56, 0.75)"
    ctx.beginPath()
    ctx.ellipse(-0.05, -0.36, 0.3, 0.14, 0.5, 0, TAU) // the shield
    ctx.fill()
    ctx.fillStyle = "#f3d8b8"
    disc(0.08, 0, 0.22)
  })
  if (p.health < 100) {
    const w = 1.5
    ctx.fillStyle = "rgba(8, 12, 16, 0.75)"
    ctx.fillRect(p.pos.x - w / 2 - 0.05, p.pos.y - 1.05, w + 0.1, 0.24)
    ctx.fillStyle = p.health > 50 ? "#69d38a" : p.health > 25 ? "#f0c04e" : "#f0654e"
    ctx.fillRect(p.pos.x - w / 2, p.pos.y - 1, w * p.health / 100, 0.14)
  }
}

/** A ring around the player that the camera follows. */
function drawFollowed(p) {
  ctx.strokeStyle = "rgba(255, 214, 110, 0.9)"
  ctx.lineWidth = Math.max(0.12, 1.6 / camera.scale)
  ctx.setLineDash([0.6, 0.35])
  ctx.beginPath()
  ctx.arc(p.pos.x, p.pos.y, Math.max(1.15, 11 / camera.scale), g.now / 900, g.now / 900 + TAU)
  ctx.stroke()
  ctx.setLineDash([])
}

function drawBeacon(b) {
  const pos = SITES[b.site], charge = b.charge / 100, beat = 0.94 + 0.06 * Math.sin(g.now / 420 + b.site)
  at(pos, 0, () => {
    ctx.fillStyle = "rgba(126, 122, 108, 0.5)"
    disc(0, 0, 7)
    ctx.strokeStyle = "rgba(30, 32, 30, 0.55)"
    ctx.lineWidth = 0.16
    for (const r of [2.6, 4.8, 7]) { ctx.beginPath(); ctx.arc(0, 0, r, 0, TAU); ctx.stroke() }
    ctx.beginPath()
    for (let i = 0; i < 12; i++) { const a = i * TAU / 12; ctx.moveTo(Math.cos(a) * 2.6, Math.sin(a) * 2.6); ctx.lineTo(Math.cos(a) * 7, Math.sin(a) * 7) }
    ctx.stroke()
    ctx.strokeStyle = "rgba(120, 220, 255, 0.25)"
    ctx.lineWidth = 0.5
    ctx.beginPath()
    ctx.arc(0, 0, 7.5, 0, TAU)
    ctx.stroke()
    ctx.strokeStyle = charge > 0.5 ? "#8fe9ff" : charge > 0.2 ? "#ffcf6b" : "#ff6d5a"
    ctx.beginPath()
    ctx.arc(0, 0, 7.5, -Math.PI / 2, -Math.PI / 2 + TAU * charge)
    ctx.stroke()
    const glow = ctx.createRadialGradient(0, 0, 0.2, 0, 0, 6)
    glow.addColorStop(0, `rgba(190, 245, 255, ${0.85 * charge * beat})`)
    glow.addColorStop(1, "rgba(120, 220, 255, 0)")
    ctx.fillStyle = glow
    disc(0, 0, 6)
    ctx.rotate(Math.PI / 4 + (charge > 0 ? g.now / 4000 : 0))
    ctx.fillStyle = charge > 0 ? "#dffaff" : "#4b5157"
    ctx.strokeStyle = "#20323c"
    ctx.lineWidth = 0.14
    ctx.beginPath()
    ctx.rect(-0.9, -0.9, 1.8, 1.8)
    ctx.fill()
    ctx.stroke()
  })
}

function drawBlast(e, share) {
  const r = BLAST * (1 - (1 - share) ** 3)
  ctx.strokeStyle = `rgba(160, 235, 255, ${1 - share})`
  ctx.lineWidth = 0.9 * (1 - share) + 0.05
  ctx.beginPath()
  ctx.arc(e.at.x, e.at.y, r, 0, TAU)
  ctx.stroke()
  const glow = ctx.createRadialGradient(e.at.x, e.at.y, r * 0.4, e.at.x, e.at.y, r)
  glow.addColorStop(0, "rgba(120, 220, 255, 0)")
  glow.addColorStop(1, `rgba(150, 230, 255, ${0.4 * (1 - share)})`)
  ctx.fillStyle = glow
  disc(e.at.x, e.at.y, r)
}

function drawDeath(e, share) {
  const size = BREEDS[e.breed]?.size ?? 0.6
  ctx.fillStyle = `rgba(210, 150, 130, ${0.7 * (1 - share)})`
  for (let i = 0; i < 6; i++) {
    const a = e.dir + i * TAU / 6, d = size * (0.3 + 1.6 * share)
    disc(e.at.x + Math.cos(a) * d, e.at.y + Math.sin(a) * d, size * 0.45 * (1 - share))
  }
}

function drawSlain(e, share) {
  ctx.strokeStyle = `rgba(255, 96, 80, ${1 - share})`
  ctx.lineWidth = 0.16
  ctx.beginPath()
  ctx.arc(e.at.x, e.at.y, 0.6 + 2.5 * share, 0, TAU)
  ctx.stroke()
}

// ---- the night: a dark sheet with holes where there is light, drawn at a quarter of the size

const night = document.createElement("canvas")
function drawNight(players, beacons) {
  const k = 1 / 4, w = Math.ceil(g.width * k), h = Math.ceil(g.height * k), c = night.getContext("2d")
  if (night.width !== w || night.height !== h) { night.width = w; night.height = h }
  c.globalCompositeOperation = "source-over"
  c.clearRect(0, 0, w, h)
  c.fillStyle = `rgba(8, 12, 30, ${rates ? 0.3 : 0.46})`
  c.fillRect(0, 0, w, h)
  c.globalCompositeOperation = "destination-out"
  const light = (pos, metres, strength) => {
    const p = camera.toScreen(pos), r = metres * camera.scale * k, x = p.x * k, y = p.y * k
    if (x < -r || y < -r || x > w + r || y > h + r) return
    const glow = c.createRadialGradient(x, y, 0, x, y, r)
    glow.addColorStop(0, `rgba(0, 0, 0, ${strength})`)
    glow.addColorStop(1, "rgba(0, 0, 0, 0)")
    c.fillStyle = glow
    c.fillRect(x - r, y - r, 2 * r, 2 * r)
  }
  for (const b of beacons) light(SITES[b.site], 8 + 26 * b.charge / 100, 0.35 + 0.5 * b.charge / 100)
  for (const p of players) if (p.health > 0) light(p.pos, p.mine ? 28 : 12, p.mine ? 0.85 : 0.6)
  for (const e of effects) if (e.draw === drawBlast) light(e.at, 16, 0.9 * (1 - (g.now - e.from) / e.ms))
  ctx.drawImage(night, 0, 0, g.width, g.height)
}

function label(p) {
  if (!p.name || camera.scale < 7) return
  const s = camera.toScreen(p.pos)
  write(p.name, s.x, s.y - camera.scale * 1.5, p.mine ? 13 : 11, p.mine ? "#ffffff" : "rgba(190, 222, 240, 0.85)", "center", p.mine ? 700 : 500)
}

/** @param {CanvasTextAlign} align */
function write(text, x, y, size, color, align = "left", weight = 500) {
  ctx.font = `${weight} ${size}px system-ui, "Segoe UI", sans-serif`
  ctx.textAlign = align
  ctx.textBaseline = "middle"
  ctx.lineJoin = "round"
  ctx.lineWidth = 3
  ctx.strokeStyle = "rgba(6, 10, 14, 0.65)"
  ctx.strokeText(text, x, y)
  ctx.fillStyle = color
  ctx.fillText(text, x, y)
}

// ---- beside the world: figures, the map, controls

const history = [] // kbit/s, one for each quarter of a second
let asked = 64, budget = 64 // kbit/s that the player asks for, and what the server grants of it
let lastSample = 0

function panel(x, y, w, h) {
  ctx.fillStyle = "rgba(9, 14, 20, 0.78)"
  ctx.strokeStyle = "rgba(130, 170, 195, 0.25)"
  ctx.lineWidth = 1
  ctx.beginPath()
  ctx.roundRect(x, y, w, h, 10)
  ctx.fill()
  ctx.stroke()
}

function drawHud(world, me) {
  const known = world.creature.length + world.player.length
  let perSecond = 0
  for (const list of [world.creature, world.player]) for (const e of list) if (e.intervalMs > 0) perSecond += 1000 / e.intervalMs
  const kbit = (g.stats.downBps ?? 0) * 8 / 1000
  if (g.now - lastSample > 250) {
    lastSample = g.now
    history.push(kbit)
    if (history.length > 120) history.shift()
  }
  const most = Math.round((g.stats.budgetBps ?? 0) * 8 / 1000) || asked
  budget = Math.min(asked, most)
  budgetText.textContent = most < asked ? `${asked}, the server allows ${most} kbit/s` : `${asked} kbit/s`
  Object.assign(window, { figures: { kbit, known, perSecond } }) // for the browser's console

  panel(14, 14, 268, 118)
  write("INVASION", 28, 34, 15, "#dff4ff", "left", 800)
  const rows = [["received, kbit/s", kbit.toFixed(1)], ["creatures and players", String(known)], ["updates a second", perSecond.toFixed(0)]]
  rows.forEach(([name, value], i) => {
    write(name, 28, 58 + i * 18, 12, "rgba(190, 212, 226, 0.85)")
    write(value, 268, 58 + i * 18, 13, "#ffffff", "right", 700)
  })
  sparkline(28, 104, 240, 22)

  drawMap(world, me)
  if (me) {
    const w = 260, x = g.width / 2 - w / 2, y = g.height - 68
    panel(x - 14, y - 16, w + 28, 50)
    ctx.fillStyle = "rgba(255, 255, 255, 0.1)"
    ctx.fillRect(x, y - 4, w, 10)
    ctx.fillStyle = me.health > 50 ? "#69d38a" : me.health > 25 ? "#f0c04e" : "#f0654e"
    ctx.fillRect(x, y - 4, w * me.health / 100, 10)
    const tick = g.stats.tick ?? 0, ready = Math.max(0, Math.min(1, 1 - (me.loaded - tick) / BLAST_TICKS))
    ctx.fillStyle = "rgba(255, 255, 255, 0.1)"
    ctx.fillRect(x, y + 10, w, 4)
    ctx.fillStyle = ready === 1 ? "#8fe9ff" : "#4a7f92"
    ctx.fillRect(x, y + 10, w * ready, 4)
    write(`${me.kills} slain`, x, y + 24, 12, "#dff4ff", "left", 600)
    write(ready === 1 ? "blast ready" : "blast", x + w, y + 24, 12, ready === 1 ? "#8fe9ff" : "#7797a5", "right", 600)
    if (me.health === 0) {
      const left = Math.max(0, Math.min(RESPAWN_TICKS, me.back - tick)) / g.layout.rate
      write("You fell", g.width / 2, g.height * 0.36, 44, "#ff8a78", "center", 800)
      write(`back at your beacon in ${Math.ceil(left)} s`, g.width / 2, g.height * 0.36 + 36, 17, "#ffffff", "center", 600)
    }
  }
  if (g.now - banner.at < 4000) write(banner.text, g.width / 2, 46, 26, "#ffb46b", "center", 800)
  if (!watching && g.width > 860) { // a finger has no keys
    ctx.fillStyle = "rgba(9, 14, 20, 0.6)"
    ctx.fillRect(0, g.height - 24, g.width, 24)
    write(KEYS, g.width / 2, g.height - 11, 12, "rgba(205, 222, 232, 0.8)", "center")
  }
  if (rates) drawLegend()
}

function sparkline(x, y, w, h) {
  const top = Math.max(16, budget, ...history) * 1.1, px = i => x + w * i / 119
  ctx.beginPath()
  ctx.moveTo(x, y + h)
  history.forEach((v, i) => ctx.lineTo(px(i), y + h - h * v / top))
  ctx.lineTo(px(history.length - 1), y + h)
  ctx.fillStyle = "rgba(110, 205, 240, 0.28)"
  ctx.fill()
  ctx.beginPath()
  history.forEach((v, i) => ctx.lineTo(px(i), y + h - h * v / top))
  ctx.strokeStyle = "#7fd8f7"
  ctx.lineWidth = 1.5
  ctx.stroke()
  ctx.fillStyle = "rgba(255, 190, 110, 0.8)" // the budget
  ctx.fillRect(x, y + h - h * budget / top, w, 1)
}

/** The whole world, 3.2 km across: the beacons, the hordes that go for them, and everything that this client knows. */
function drawMap(world, me) {
  const size = Math.max(140, Math.min(230, g.width * 0.2, g.height * 0.34)), x0 = g.width - size - 26, k = size / (2 * WORLD)
  const y0 = x0 > 310 ? 26 : rates ? 240 : 158 // below the figures where both are not beside each other
  panel(x0 - 12, y0 - 12, size + 24, size + 40)
  const px = p => x0 + (p.x + WORLD) * k, py = p => y0 + (p.y + WORLD) * k
  ctx.save()
  ctx.beginPath()
  ctx.roundRect(x0, y0, size, size, 6)
  ctx.clip()
  ctx.fillStyle = "#1d2620"
  ctx.fillRect(x0, y0, size, size)
  ctx.strokeStyle = "rgba(255, 255, 255, 0.07)"
  ctx.lineWidth = 1
  ctx.beginPath()
  for (let km = -1; km <= 1; km++) {
    ctx.moveTo(x0 + (km * 1000 + WORLD) * k, y0); ctx.lineTo(x0 + (km * 1000 + WORLD) * k, y0 + size)
    ctx.moveTo(x0, y0 + (km * 1000 + WORLD) * k); ctx.lineTo(x0 + size, y0 + (km * 1000 + WORLD) * k)
  }
  ctx.stroke()
  let foes = 0
  for (const b of world.beacon) {
    const x = px(SITES[b.site]), y = py(SITES[b.site]), r = Math.sqrt(b.foes * 10) * 1.05
    foes += b.foes * 10
    if (r > 0) {
      const glow = ctx.createRadialGradient(x, y, 0, x, y, r)
      glow.addColorStop(0, "rgba(235, 80, 60, 0.75)")
      glow.addColorStop(1, "rgba(235, 80, 60, 0)")
      ctx.fillStyle = glow
      disc(x, y, r)
    }
    ctx.fillStyle = b.charge > 50 ? "#8fe9ff" : b.charge > 20 ? "#ffcf6b" : b.charge > 0 ? "#ff6d5a" : "#566068"
    disc(x, y, 3.4)
  }
  for (const [list, color] of [[world.creature, "#ff9a7a"], [world.player, "#8fd4ff"]]) for (const e of list) {
    ctx.fillStyle = rates ? rateColor(e.intervalMs) : color
    ctx.fillRect(px(e.pos) - 0.6, py(e.pos) - 0.6, 1.2, 1.2)
  }
  if (me || watching) {
    ctx.strokeStyle = "#ffffff"
    ctx.lineWidth = 1.2
    const w = Math.max(12, camera.width * k), h = w * g.height / g.width
    ctx.strokeRect(px(camera) - w / 2, py(camera) - h / 2, w, h)
  }
  ctx.restore()
  write(`about ${Math.round(foes / 100) * 100} creatures`, x0, y0 + size + 15, 12, "#ffb9a6", "left", 600)
  if (size > 190) write("3.2 km", x0 + size, y0 + size + 15, 12, "rgba(190, 212, 226, 0.7)", "right")
}

function drawLegend() {
  const low = g.height < 480, w = 268, x = low ? 296 : 14, y = low ? 14 : 144 // beside the figures where the controls are below them
  panel(x, y, w, 70)
  write("time between updates · grey: at rest", x + 14, y + 17, 12, "#dff4ff", "left", 600)
  const from = x + 14, wide = w - 28
  for (let i = 0; i < wide; i++) {
    ctx.fillStyle = rateColor(90 * (3000 / 90) ** (i / wide))
    ctx.fillRect(from + i, y + 29, 1.5, 10)
  }
  for (const { ms, text } of [{ ms: 100, text: "0.1 s" }, { ms: 300, text: "0.3" }, { ms: 1000, text: "1" }, { ms: 2900, text: "3 s" }]) {
    const share = Math.log(ms / 90) / Math.log(3000 / 90)
    write(text, from + wide * share, y + 53, 11, "rgba(205, 222, 232, 0.9)", share < 0.1 ? "left" : share > 0.9 ? "right" : "center")
  }
}

// Controls: the colours, and how much of the line the game may use.
const style = document.createElement("style")
style.textContent = `
  .meanwhile-panel-button { top: auto; bottom: 36px } /* above is the map */
  .controls { position: fixed; left: 14px; bottom: calc(34px + var(--meanwhile-bottom, 0px)); padding: 10px 14px; border-radius: 10px; background: rgba(9, 14, 20, 0.78);
    border: 1px solid rgba(130, 170, 195, 0.25); color: #dff4ff; font: 12px system-ui, "Segoe UI", sans-serif; display: grid; gap: 8px; width: 240px }
  .controls label { display: grid; gap: 4px } .controls b { float: right } .controls input[type=range] { width: 100%; accent-color: #7fd8f7 }
  .controls .row { display: flex; gap: 8px; align-items: center }
  .controls button { font: inherit; color: inherit; background: rgba(130, 170, 195, 0.18); border: 1px solid rgba(130, 170, 195, 0.3); border-radius: 6px; padding: 4px 10px; cursor: pointer }
  .controls button:hover { background: rgba(130, 170, 195, 0.34) } .controls button.watch { margin-left: auto }
  @media (max-width: 860px) { .controls { bottom: calc(96px + var(--meanwhile-bottom, 0px)); width: 216px; padding: 8px 12px } .controls button { padding: 8px 10px; min-width: 36px }
    .meanwhile-panel-button { bottom: calc(96px + var(--meanwhile-bottom, 0px)) } }`
document.head.append(style)
const controls = document.createElement("div")
controls.className = "controls"
controls.innerHTML = `<label class="budget"><span>bandwidth <b></b></span><input type="range" min="0" max="1" step="0.001"></label>
  <label class="row"><input type="checkbox" class="rates"><span>colours by update rate (R)</span></label>
  <div class="row"><button class="nearer" aria-label="nearer">+</button><button class="farther" aria-label="farther">−</button><button class="watch"></button></div>`
document.body.append(controls)

const button = (name, press) => { controls.querySelector(`button.${name}`).addEventListener("click", press) }
button("nearer", () => zoom(0.7))
button("farther", () => zoom(1.4))
controls.querySelector("button.watch").textContent = watching ? "Play" : "Follow any player"
button("watch", () => { // without an avatar, or with one again
  const to = new URL(location.href)
  if (watching) to.searchParams.delete("watch")
  else to.searchParams.set("watch", "")
  g.leave()
  location.replace(to)
})

const box = /** @type {HTMLInputElement} */ (controls.querySelector(".rates"))
const setRates = on => { rates = box.checked = on }
box.onchange = () => setRates(box.checked)
addEventListener("keydown", e => { if (e.code === "KeyR" && !e.repeat) setRates(!rates) })
setRates(rates)

// The slider goes from 13 to 256 kbit/s in equal ratios.
const BUDGET = { least: 13, most: 256 }
const slider = /** @type {HTMLInputElement} */ (controls.querySelector("input[type=range]"))
const budgetText = controls.querySelector("b")
let asking = 0
function setBudget(kbit) {
  asked = kbit
  clearTimeout(asking)
  asking = setTimeout(() => g.set("downKbps", kbit), 150) // the server hears of it a few times a second at most
}
slider.oninput = () => setBudget(Math.round(BUDGET.least * (BUDGET.most / BUDGET.least) ** +slider.value))
const first = address.get("downKbps") ?? await fetch("/budget.json").then(r => r.ok ? r.json() : null).then(o => o?.downKbps ?? 0, () => 0)
const wanted = Math.min(BUDGET.most, Math.max(BUDGET.least, Math.round(+first) || 64))
slider.value = String(Math.log(wanted / BUDGET.least) / Math.log(BUDGET.most / BUDGET.least))
setBudget(wanted)

Object.assign(window, { game: g, camera }) // for the browser's console
