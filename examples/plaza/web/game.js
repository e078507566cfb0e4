// The page of plaza: everything is drawn here, on one canvas, with a chat and a few controls beside it. Sizes are metres.
//
// This page decides where its avatar is, and the server checks it (plaza.go): so the avatar walks here, 60 times a second, and
// each command says where it is. The address may name a simulated network, as in ?delayMs=75&lossPct=3 or ?profile=lte-c; ?bot lets
// the bot stroll, ?article draws as the article behind this game does, ?both shows that beside.
import { join, panel } from "/meanwhile.js" // fetches plaza.wasm, picks a transport, resumes
import { Article } from "./article.js"

const SQUARE = { x: 29, y: 17 } // metres from the middle to the edges
const FOUNTAIN = 4.2
const TREES = [[-17, -9], [17, -9], [-17, 9], [17, 9]].map(([x, y]) => ({ x, y }))
const BLOCKS = [{ x: 0, y: 0, r: FOUNTAIN }, ...TREES.map(t => ({ ...t, r: 1.5 }))]
const WALK = 3, RUN = 4.4 // m/s; the server allows 4.6
const BODY = 0.42
const TAU = 2 * Math.PI
const SILENT = 3 // stats.state: nothing arrives
const EMOTES = [
  { name: "wave", face: "Hi!", color: "#2f7de1" }, { name: "heart", face: "♥", color: "#e0405e" }, { name: "laugh", face: "Ha!", color: "#e08a00" },
  { name: "dance", face: "♫", color: "#8a4fd0" }, { name: "wow", face: "!!", color: "#d9480f" }, { name: "question", face: "?", color: "#2b8a5e" },
]
const LOOKS = [ // shirt, hair
  ["#e4572e", "#3b2314"], ["#2e86ab", "#1c1c22"], ["#f2b134", "#6b3e1f"], ["#4f9d69", "#2a1a12"], ["#8e5aa8", "#d9b36a"], ["#d64577", "#22181c"],
  ["#3d5a80", "#a0522d"], ["#e9e4d4", "#4a2c17"], ["#2f9c95", "#151519"], ["#c9622b", "#e3c07b"], ["#5b6ee1", "#5a3a22"], ["#9aa83a", "#2d2d33"],
]
const SKIN = ["#f1c9a0", "#d9a06f", "#8d5a34", "#f5d6b8", "#b97a4b"]

const address = new URLSearchParams(location.search)
/** @type {Record<string, any>} */
const settings = {}
for (const name of ["delayMs", "jitterMs", "lossPct"]) if (address.has(name)) settings[name] = +address.get(name)
if (address.has("profile")) settings.profile = address.get("profile")

const canvas = document.querySelector("canvas")
const g = await join({ canvas, view: null, settings, autopilot: address.has("bot") })
const { ctx, keys, mouse } = g
globalThis.g = g // for the browser's console
panel(g, { changed: set => { for (const name in set) if (name !== "interpolate") article?.g.set(name, set[name]) } }) // F2

// The camera: the whole square if it fits, otherwise a part of it with the own avatar.
const camera = {
  x: 0, y: 0, scale: 20, zoom: 1,
  toWorld: (x, y) => ({ x: camera.x + (x - g.width / 2) / camera.scale, y: camera.y + (y - g.height / 2) / camera.scale }),
  toScreen: p => ({ x: g.width / 2 + (p.x - camera.x) * camera.scale, y: g.height / 2 + (p.y - camera.y) * camera.scale }),
}
g.camera = camera
const EDGE = 3.2 // metres of houses around the square
addEventListener("wheel", e => { camera.zoom = Math.min(3, Math.max(1, camera.zoom * 1.0015 ** -e.deltaY)) }, { passive: true })

function aimCamera(here) {
  const whole = Math.min(g.width / (2 * (SQUARE.x + EDGE)), g.height / (2 * (SQUARE.y + EDGE)))
  camera.scale = Math.max(whole, Math.min(23, g.width / 22)) * camera.zoom
  const within = (at, half, size) => {
    const room = Math.max(0, half + EDGE - size / camera.scale / 2)
    return Math.max(-room, Math.min(room, at))
  }
  camera.x = within(here.x, SQUARE.x, g.width)
  camera.y = within(here.y, SQUARE.y, g.height)
}

// ---- the own avatar: this page decides where it is

/** @type {{x: number, y: number} | null} */
let here = null
/** @type {{x: number, y: number} | null} */
let goal = null // where a click sends it
let fix = -1 // counts how often the server has put the avatar somewhere
let emote = -1, emoted = 0 // what the next command shows

g.command = () => {
  const me = g.me
  if (me.fix !== fix || !here) { // the server has put it here: it goes on from there
    here = { x: me.pos.x, y: me.pos.y }
    fix = me.fix
    goal = null
  }
  const show = emote >= 0
  if (show) emoted = emote
  emote = -1
  return { at: here, fix, emote: EMOTES[emoted].name, show }
}

/** Moves the own avatar by so many seconds. */
function walk(seconds) {
  if (g.autopilot && g.me) {
    here = { x: g.me.pos.x, y: g.me.pos.y }
    fix = g.me.fix
  }
  if (!here || !g.me || g.autopilot || g.stats.state === SILENT) return
  let { x, y } = keys.wasd, speed = keys.shift ? RUN : WALK
  if (x || y) goal = null
  else {
    if (mouse.pressed && !mouse.stick) goal = { ...mouse.pos }
    if (mouse.stick) ({ x, y } = mouse.stick)
    else if (goal) {
      const d = Math.hypot(goal.x - here.x, goal.y - here.y)
      if (d < 0.05) goal = null
      else { x = (goal.x - here.x) / d; y = (goal.y - here.y) / d; speed = Math.min(speed, d / seconds) }
    }
  }
  if (!x && !y) return
  const to = clear({ x: here.x + x * speed * seconds, y: here.y + y * speed * seconds })
  if (goal && Math.hypot(to.x - here.x, to.y - here.y) < 0.2 * speed * seconds) goal = null // it cannot get there
  here = to
}

/** The nearest place where a person can be. */
function clear(p) {
  let { x, y } = p
  for (const b of BLOCKS) {
    const dx = x - b.x, dy = y - b.y, d = Math.hypot(dx, dy)
    if (d < b.r && d > 0) { x = b.x + dx / d * b.r; y = b.y + dy / d * b.r }
  }
  return { x: Math.max(-SQUARE.x, Math.min(SQUARE.x, x)), y: Math.max(-SQUARE.y, Math.min(SQUARE.y, y)) }
}

// ---- what people show and say

/** Newest bubble of each avatar: {text, at, ms, color}. @type {Map<number, any>} */
const bubbles = new Map()
g.on.emote = e => {
  const shown = EMOTES.find(one => one.name === e.what)
  if (shown) bubbles.set(e.entity, { text: shown.face, color: shown.color, emote: shown.name, at: g.now, ms: 2600, key: e.key })
}
g.undo.emote = e => { if (bubbles.get(e.entity)?.key === e.key) bubbles.delete(e.entity) }
g.on.chat = (m, from) => {
  const who = g.world.avatar.find(a => a.id === from)
  bubbles.set(from, { text: m.text, at: g.now, ms: 3500 + 60 * m.text.length, color: "" })
  chat.show(who?.name || "Somebody", m.text, !!who?.mine)
}

// ---- drawing

/** What the page remembers of each avatar, to turn it and to let it walk. @type {Map<number, any>} */
const tracks = new Map()
let frame = 0, before = g.now
/** How others are drawn: "ours", "article" or "both". */
let mode = address.has("both") ? "both" : address.has("article") ? "article" : "ours"
/** @type {Article | null} */
let article = null

g.draw = world => {
  frame++
  walk(Math.min(0.1, (g.now - before) / 1000))
  const passed = Math.max(1, g.now - before)
  before = g.now
  aimCamera(here ?? { x: 0, y: 0 })
  const shown = []
  for (const a of world.avatar) {
    const other = article && mode !== "ours" && !a.mine ? article.place(a.id) : undefined
    const pos = a.mine && here ? here : mode === "article" && other ? other : a.pos
    shown.push({ a, pos, ghost: mode === "both" ? other : undefined, t: follow(a, pos, passed) })
  }
  for (const [id, t] of tracks) if (t.frame !== frame) { tracks.delete(id); bubbles.delete(id) }
  shown.sort((p, q) => p.pos.y - q.pos.y)
  ctx.fillStyle = "#2c3a35"
  ctx.fillRect(0, 0, g.width, g.height)
  ctx.save()
  ctx.translate(g.width / 2, g.height / 2)
  ctx.scale(camera.scale, camera.scale)
  ctx.translate(-camera.x, -camera.y)
  drawGround()
  if (goal) drawGoal()
  drawFountain()
  for (const s of shown) if (s.ghost) drawGhost(s)
  for (const s of shown) drawAvatar(s)
  for (const tree of TREES) drawTree(tree)
  ctx.restore()
  taken.length = 0
  for (const s of shown.sort((p, q) => +q.a.mine - +p.a.mine || p.a.id - q.a.id)) drawName(s) // the same ones in each frame
  for (const s of shown) drawBubble(s)
  figures(world)
}

/** Follows an avatar: which way it faces, and how far it went. */
function follow(a, pos, passed) {
  let t = tracks.get(a.id)
  if (!t) tracks.set(a.id, t = { x: pos.x, y: pos.y, dir: a.id * 2.4 % TAU, way: a.id, speed: 0 })
  const dx = pos.x - t.x, dy = pos.y - t.y, d = Math.hypot(dx, dy)
  t.speed += (Math.min(6, d / passed * 1000) - t.speed) * Math.min(1, passed / 90)
  if (d > 0.003 && d < 2) {
    const turn = Math.atan2(dy, dx) - t.dir
    t.dir += Math.atan2(Math.sin(turn), Math.cos(turn)) * Math.min(1, passed / 90)
    t.way += d
  }
  t.x = pos.x
  t.y = pos.y
  t.frame = frame
  return t
}

function disc(c, x, y, r) {
  c.beginPath()
  c.arc(x, y, r, 0, TAU)
  c.fill()
}

/** A hash of integers, from 0 to 1. */
function hash(x, y, n = 0) {
  let h = Math.imul(x, 0x9e3779b1) ^ Math.imul(y, 0x85ebca6b) ^ Math.imul(n + 1, 0xc2b2ae35)
  h = Math.imul(h ^ h >>> 15, 0x2c1b3c6d)
  h = Math.imul(h ^ h >>> 12, 0x297a2d39)
  return ((h ^ h >>> 15) >>> 0) / 4294967296
}

// The ground never changes: it is drawn once for each scale.
const ground = { canvas: document.createElement("canvas"), key: 0 }
const OUT = 16 // metres around the square that are painted

function drawGround() {
  const scale = Math.min(48, camera.scale * (devicePixelRatio || 1)), key = Math.round(scale * 4)
  const w = 2 * (SQUARE.x + OUT), h = 2 * (SQUARE.y + OUT)
  if (ground.key !== key) {
    ground.key = key
    ground.canvas.width = Math.ceil(w * scale)
    ground.canvas.height = Math.ceil(h * scale)
    const c = ground.canvas.getContext("2d")
    c.setTransform(scale, 0, 0, scale, w / 2 * scale, h / 2 * scale)
    paintGround(c)
  }
  ctx.drawImage(ground.canvas, -w / 2, -h / 2, w, h)
}

function paintGround(c) {
  const { x, y } = SQUARE, pave = 1.1
  c.fillStyle = "#31453a"
  c.fillRect(-x - OUT, -y - OUT, 2 * (x + OUT), 2 * (y + OUT))
  for (let i = 0; i < 1500; i++) { // grass
    c.fillStyle = i & 1 ? "rgba(112, 150, 104, 0.14)" : "rgba(16, 28, 22, 0.2)"
    disc(c, (hash(i, 1) - 0.5) * 2 * (x + OUT), (hash(i, 2) - 0.5) * 2 * (y + OUT), 0.1 + hash(i, 3) * 0.5)
  }
  c.shadowColor = "rgba(0, 0, 0, 0.45)"
  c.shadowBlur = 30
  c.fillStyle = "#8c8375"
  c.beginPath()
  c.roundRect(-x - pave, -y - pave, 2 * (x + pave), 2 * (y + pave), 1.6)
  c.fill()
  c.shadowBlur = 0
  c.save()
  c.beginPath()
  c.roundRect(-x - 0.6, -y - 0.6, 2 * x + 1.2, 2 * y + 1.2, 1.2)
  c.clip()
  c.fillStyle = "#d8ccb4"
  c.fillRect(-x - 1, -y - 1, 2 * x + 2, 2 * y + 2)
  for (let i = -x - 1, n = 0; i < x + 1; i += 1.2, n++) for (let j = -y - 1, m = 0; j < y + 1; j += 1.2, m++) { // slabs
    const shade = hash(n, m)
    c.fillStyle = shade < 0.5 ? `rgba(120, 98, 66, ${0.10 * shade})` : `rgba(255, 250, 235, ${0.28 * (shade - 0.5)})`
    c.fillRect(i + 0.03, j + 0.03, 1.14, 1.14)
  }
  c.strokeStyle = "rgba(110, 92, 66, 0.16)"
  c.lineWidth = 0.045
  c.beginPath()
  for (let i = -x - 1; i < x + 1; i += 1.2) { c.moveTo(i, -y - 1); c.lineTo(i, y + 1) }
  for (let j = -y - 1; j < y + 1; j += 1.2) { c.moveTo(-x - 1, j); c.lineTo(x + 1, j) }
  c.stroke()
  paintRings(c)
  for (const [r, color] of [[1, "rgba(168, 92, 66, 0.5)"], [0.35, "rgba(245, 232, 205, 0.65)"]]) { // a border of brick
    c.strokeStyle = /** @type {string} */ (color)
    c.lineWidth = /** @type {number} */ (r)
    c.strokeRect(-x + 0.9, -y + 0.9, 2 * x - 1.8, 2 * y - 1.8)
  }
  const light = c.createRadialGradient(-6, -8, 3, 0, 0, 34)
  light.addColorStop(0, "rgba(255, 240, 205, 0.30)")
  light.addColorStop(0.6, "rgba(255, 235, 200, 0)")
  light.addColorStop(1, "rgba(52, 34, 60, 0.28)")
  c.fillStyle = light
  c.fillRect(-x - 1, -y - 1, 2 * x + 2, 2 * y + 2)
  for (const t of TREES) paintBed(c, t)
  for (const [bx, by] of [[-8.5, -9], [8.5, -9], [-8.5, 9], [8.5, 9], [-23, 0], [23, 0]]) paintBench(c, bx, by)
  c.restore()
}

/** Rings of stone around the fountain, with the points of a compass. */
function paintRings(c) {
  for (const [r, wide, color] of [[11, 6, "rgba(196, 168, 126, 0.35)"], [8.1, 0.35, "rgba(120, 84, 60, 0.5)"], [13.9, 0.35, "rgba(120, 84, 60, 0.5)"],
    [5.6, 2.6, "rgba(150, 116, 84, 0.35)"]]) {
    c.strokeStyle = color
    c.lineWidth = wide
    c.beginPath()
    c.arc(0, 0, r, 0, TAU)
    c.stroke()
  }
  for (let i = 0; i < 16; i++) {
    c.save()
    c.rotate(i * TAU / 16)
    c.fillStyle = i & 1 ? "rgba(246, 236, 214, 0.55)" : "rgba(140, 92, 66, 0.42)"
    c.beginPath()
    c.moveTo(13.6, 0)
    c.lineTo(8.6, i & 1 ? -0.55 : -0.95)
    c.lineTo(8.6, i & 1 ? 0.55 : 0.95)
    c.fill()
    c.restore()
  }
}

function paintBed(c, t) {
  c.fillStyle = "rgba(30, 24, 18, 0.25)"
  disc(c, t.x + 0.12, t.y + 0.18, 1.32)
  c.fillStyle = "#a89a80"
  disc(c, t.x, t.y, 1.28)
  c.fillStyle = "#4b3a2a"
  disc(c, t.x, t.y, 1.02)
}

function paintBench(c, x, y) {
  c.save()
  c.translate(x, y)
  if (y === 0) c.rotate(Math.PI / 2)
  c.fillStyle = "rgba(30, 20, 14, 0.25)"
  c.fillRect(-1.2 + 0.1, -0.3 + 0.15, 2.4, 0.6)
  for (let i = 0; i < 3; i++) {
    c.fillStyle = i & 1 ? "#9a6a40" : "#a87748"
    c.fillRect(-1.2, -0.3 + i * 0.21, 2.4, 0.17)
  }
  c.fillStyle = "#4d4640"
  for (const side of [-1, 1]) c.fillRect(side * 1 - 0.06, -0.36, 0.12, 0.72)
  c.restore()
}

function drawGoal() {
  const beat = g.now / 400 % 1
  ctx.strokeStyle = `rgba(40, 90, 150, ${0.8 * (1 - beat)})`
  ctx.lineWidth = 0.08
  ctx.beginPath()
  ctx.arc(goal.x, goal.y, 0.15 + 0.4 * beat, 0, TAU)
  ctx.stroke()
}

function drawFountain() {
  const s = g.now / 1000
  ctx.fillStyle = "rgba(40, 28, 20, 0.25)"
  disc(ctx, 0.2, 0.3, 3.95)
  ctx.fillStyle = "#b9ae9a"
  disc(ctx, 0, 0, 3.85)
  ctx.fillStyle = "#e6dcc8"
  disc(ctx, 0, 0, 3.7)
  const water = ctx.createRadialGradient(-0.6, -0.9, 0.3, 0, 0, 3.3)
  water.addColorStop(0, "#bfeaf2")
  water.addColorStop(0.55, "#63b7cf")
  water.addColorStop(1, "#3a87a8")
  ctx.fillStyle = water
  disc(ctx, 0, 0, 3.3)
  ctx.lineWidth = 0.05
  for (let i = 0; i < 4; i++) { // rings run outwards
    const share = (s * 0.35 + i / 4) % 1
    ctx.strokeStyle = `rgba(255, 255, 255, ${0.55 * (1 - share)})`
    ctx.beginPath()
    ctx.arc(0, 0, 1.1 + 2.15 * share, 0, TAU)
    ctx.stroke()
  }
  ctx.fillStyle = "rgba(255, 255, 255, 0.85)"
  for (let i = 0; i < 28; i++) { // drops fly in arcs from the bowl
    const share = (s * 0.9 + hash(i, 5)) % 1, a = i * TAU / 28 + hash(i, 6), r = 0.5 + 1.9 * share
    const up = 1.2 * share * (1 - share)
    disc(ctx, Math.cos(a) * r, Math.sin(a) * r * 0.96 - up, 0.05 + 0.04 * (1 - share))
  }
  ctx.fillStyle = "#cfc4ae"
  disc(ctx, 0, 0, 0.95)
  ctx.fillStyle = "#8fd0e2"
  disc(ctx, 0, 0, 0.75)
  ctx.fillStyle = "#e9e0cd"
  disc(ctx, 0, -0.05, 0.28)
}

function drawTree(t) {
  const near = here ? Math.hypot(here.x - t.x, here.y - t.y) : 9
  ctx.save()
  ctx.globalAlpha = near < 3.2 ? 0.55 : 0.94 // who walks below can be seen
  ctx.fillStyle = "rgba(20, 30, 16, 0.3)"
  disc(ctx, t.x + 0.6, t.y + 0.8, 2.5)
  const sway = Math.sin(g.now / 1700 + t.x) * 0.06
  for (const [dx, dy, r, color] of [[-0.9, 0.5, 1.6, "#3f6b3a"], [0.9, 0.6, 1.5, "#44733d"], [0, -0.8, 1.7, "#4d8044"], [-0.7, -0.6, 1.2, "#5e9450"],
    [0.6, -0.5, 1.1, "#68a058"], [-0.1, 0.1, 1.0, "#74ad61"]]) {
    ctx.fillStyle = /** @type {string} */ (color)
    disc(ctx, t.x + +dx + sway * +r, t.y + +dy, +r)
  }
  ctx.fillStyle = "rgba(255, 226, 236, 0.8)" // blossoms
  for (let i = 0; i < 16; i++) disc(ctx, t.x + (hash(i, t.x) - 0.5) * 3.6 + sway, t.y + (hash(i, t.y, 2) - 0.5) * 3.4, 0.09)
  ctx.restore()
}

/** Where the article draws an avatar that we draw elsewhere. */
function drawGhost({ pos, ghost }) {
  const d = Math.hypot(pos.x - ghost.x, pos.y - ghost.y)
  if (d < 0.12) return
  ctx.strokeStyle = ctx.fillStyle = "rgba(216, 58, 40, 0.75)"
  ctx.lineWidth = 0.07
  ctx.beginPath()
  ctx.moveTo(ghost.x, ghost.y)
  ctx.lineTo(pos.x, pos.y)
  ctx.stroke()
  ctx.setLineDash([0.16, 0.12])
  ctx.beginPath()
  ctx.arc(ghost.x, ghost.y, BODY, 0, TAU)
  ctx.stroke()
  ctx.setLineDash([])
}

function drawAvatar({ a, pos, t }) {
  const [shirt, hair] = LOOKS[a.look % LOOKS.length] ?? LOOKS[0], skin = SKIN[a.id % SKIN.length]
  const bubble = bubbles.get(a.id), dance = bubble?.emote === "dance" && g.now - bubble.at < bubble.ms
  const hop = dance ? Math.abs(Math.sin(g.now / 130)) * 0.16 : 0, turn = dance ? t.dir + Math.sin(g.now / 190) * 0.8 : t.dir
  ctx.fillStyle = "rgba(48, 34, 22, 0.32)"
  ctx.beginPath()
  ctx.ellipse(pos.x + 0.14, pos.y + 0.18, BODY * 1.1, BODY * 0.95, 0, 0, TAU)
  ctx.fill()
  if (a.mine) {
    ctx.strokeStyle = "#ffffff"
    ctx.lineWidth = 0.08
    ctx.beginPath()
    ctx.arc(pos.x, pos.y, BODY + 0.28, 0, TAU)
    ctx.stroke()
  }
  ctx.save()
  ctx.translate(pos.x, pos.y - hop)
  ctx.rotate(turn)
  ctx.scale(1.2, 1.2)
  const stride = Math.min(1, t.speed / 2) * Math.sin(t.way * 4.2) * 0.26
  ctx.fillStyle = "#33302f"
  for (const side of [-1, 1]) { // shoes
    ctx.beginPath()
    ctx.ellipse(0.04 + side * stride, side * 0.15, 0.17, 0.09, 0, 0, TAU)
    ctx.fill()
  }
  ctx.fillStyle = skin
  const wave = bubble?.emote === "wave" && g.now - bubble.at < bubble.ms ? 0.3 + 0.2 * Math.sin(g.now / 90) : 0
  disc(ctx, -stride * 0.8 + wave, -0.4, 0.1) // hands
  disc(ctx, stride * 0.8, 0.4, 0.1)
  ctx.fillStyle = shirt
  ctx.strokeStyle = "rgba(20, 16, 14, 0.35)"
  ctx.lineWidth = 0.04
  ctx.beginPath()
  ctx.ellipse(0, 0, 0.25, BODY, 0, 0, TAU)
  ctx.fill()
  ctx.stroke()
  ctx.fillStyle = skin
  disc(ctx, 0.08, 0, 0.22)
  ctx.fillStyle = hair
  ctx.beginPath()
  ctx.arc(0.02, 0, 0.235, Math.PI * 0.42, Math.PI * 1.58)
  ctx.fill()
  disc(ctx, -0.02, 0, 0.2)
  ctx.restore()
}

/** @param {CanvasTextAlign} align */
function write(text, x, y, size, color, outline, align = "center", weight = 600) {
  ctx.font = `${weight} ${size}px system-ui, "Segoe UI", sans-serif`
  ctx.textAlign = align
  ctx.textBaseline = "middle"
  if (outline) {
    ctx.lineJoin = "round"
    ctx.lineWidth = 3
    ctx.strokeStyle = outline
    ctx.strokeText(text, x, y)
  }
  ctx.fillStyle = color
  ctx.fillText(text, x, y)
}

/** Names: one's own and that at the pointer always, others' where there is room. */
const taken = []
function drawName({ a, pos }) {
  if (!a.name) return
  const s = camera.toScreen(pos), size = Math.max(9.5, Math.min(13, camera.scale * 0.5)), y = s.y + camera.scale * 0.92
  if (s.x < -60 || y < -20 || s.x > g.width + 60 || y > g.height + 20) return
  const pointed = Math.hypot(s.x - mouse.x, s.y - mouse.y) < 16, wide = 0.31 * size * a.name.length + 3
  if (!a.mine && !pointed && taken.some(r => Math.abs(r.x - s.x) < r.wide + wide && Math.abs(r.y - y) < size)) return
  taken.push({ x: s.x, y, wide })
  write(a.name, s.x, y, a.mine || pointed ? size + 1.5 : size, a.mine || pointed ? "#ffffff" : "rgba(255, 253, 246, 0.92)", "rgba(46, 34, 26, 0.62)",
    "center", a.mine ? 800 : 600)
}

/** Breaks a text into lines of at most so many letters. */
function lines(text, most) {
  const out = [""]
  for (let word of text.split(" ")) {
    while (word.length > most) { out.push(word.slice(0, most)); word = word.slice(most) }
    if ((out[out.length - 1] + word).length >= most) out.push("")
    out[out.length - 1] += (out[out.length - 1] ? " " : "") + word
  }
  return out.filter(Boolean).slice(0, 5)
}

function drawBubble({ a, pos }) {
  const b = bubbles.get(a.id), age = b ? g.now - b.at : 0
  if (!b || age > b.ms) return
  const s = camera.toScreen(pos), in_ = Math.min(1, age / 140), out = Math.min(1, (b.ms - age) / 300)
  const rows = b.emote ? [b.text] : lines(b.text, 26), size = b.emote ? 17 : 12.5
  ctx.save()
  ctx.globalAlpha = out
  ctx.translate(s.x, s.y - camera.scale * 0.75 - (b.emote ? 3 * Math.sin(age / 160) : 0))
  ctx.scale(0.6 + 0.4 * in_, 0.6 + 0.4 * in_)
  ctx.font = `${b.emote ? 800 : 500} ${size}px system-ui, "Segoe UI", sans-serif`
  const w = Math.max(...rows.map(row => ctx.measureText(row).width)) + (b.emote ? 16 : 20), h = rows.length * (size + 4) + (b.emote ? 8 : 10)
  ctx.shadowColor = "rgba(40, 26, 16, 0.35)"
  ctx.shadowBlur = 8
  ctx.shadowOffsetY = 2
  ctx.fillStyle = "#fffdf8"
  ctx.beginPath()
  ctx.roundRect(-w / 2, -h - 7, w, h, Math.min(13, h / 2))
  ctx.moveTo(-6, -7.5)
  ctx.lineTo(0, 0)
  ctx.lineTo(6, -7.5)
  ctx.fill()
  ctx.shadowColor = "transparent"
  rows.forEach((row, i) => write(row, 0, -h - 7 + (b.emote ? 4 : 5) + (i + 0.5) * (size + 4), size, b.color || "#2c2622", "", "center", b.emote ? 800 : 500))
  ctx.restore()
}

// ---- beside the square: figures, chat, emotes

const style = document.createElement("style")
style.textContent = `
  .card { position: fixed; background: rgba(38, 30, 26, 0.80); color: #fff7ea; border: 1px solid rgba(255, 236, 205, 0.16); border-radius: 12px;
    font: 13px/1.45 system-ui, "Segoe UI", sans-serif; backdrop-filter: blur(6px); box-sizing: border-box }
  .card button { font: inherit; color: inherit; border: 0; border-radius: 8px; background: rgba(255, 240, 215, 0.12); cursor: pointer; padding: 5px 9px }
  .card button:hover { background: rgba(255, 240, 215, 0.24) } .card button.on { background: #f0b95c; color: #2b1d10; font-weight: 700 }
  .card :focus-visible { outline: 2px solid #ffd68a; outline-offset: 1px }
  #about { left: 14px; top: 14px; width: 290px; padding: 12px 14px } #about h1 { font-size: 18px; margin: 0; letter-spacing: 0.06em }
  #about p { margin: 2px 0 8px; color: rgba(255, 244, 226, 0.78) } #about dl { display: grid; grid-template-columns: 1fr auto; gap: 2px 10px; margin: 0 0 8px }
  #about dd { margin: 0; font-weight: 700; font-variant-numeric: tabular-nums; text-align: right } #about .row { display: flex; gap: 6px } #about .row button { flex: 1 }
  #about small { display: block; margin-top: 7px; color: rgba(255, 244, 226, 0.7); min-height: 3.6em }
  #emotes { left: max(345px, 50vw - var(--meanwhile-right, 0px) / 2); bottom: calc(14px + var(--meanwhile-bottom, 0px)); transform: translateX(-50%); display: flex; gap: 6px; padding: 7px } #emotes button { min-width: 46px; min-height: 40px; font-weight: 800; background: #fffaf0 }
  #emotes button:hover { background: #ffe9bd } #emotes sup { font-size: 9px; color: #8a7a68; font-weight: 500; margin-left: 2px }
  #chat { left: 14px; bottom: calc(14px + var(--meanwhile-bottom, 0px)); width: clamp(160px, 50vw - var(--meanwhile-right, 0px) / 2 - 240px, 320px); padding: 8px } #chat .log { max-height: 150px; overflow-y: auto; display: flex; flex-direction: column; gap: 2px; scrollbar-width: thin }
  #chat .log p { margin: 0; overflow-wrap: anywhere } #chat .log b { color: #ffd68a } #chat .log .mine b { color: #9fdcff }
  #chat input { width: 100%; box-sizing: border-box; margin-top: 6px; font: inherit; color: inherit; background: rgba(0, 0, 0, 0.28); border: 1px solid rgba(255, 236, 205, 0.2); border-radius: 8px; padding: 7px 9px }
  #chat input::placeholder { color: rgba(255, 244, 226, 0.55) } #hint { right: calc(14px + var(--meanwhile-right, 0px)); bottom: calc(14px + var(--meanwhile-bottom, 0px)); max-width: calc(50vw - var(--meanwhile-right, 0px) / 2 - 196px); padding: 7px 12px; color: rgba(255, 244, 226, 0.85) }
  @media (max-width: 1480px) { #hint { display: none } }
  @media (max-width: 760px) { #about { width: auto; right: 14px; padding: 8px 12px } #about p, #about small, #about .more { display: none } #about h1 { font-size: 15px; float: left; margin-right: 10px }
    #about dl { margin: 0 0 6px; font-size: 12px; clear: both } #emotes { left: auto; right: 10px; bottom: 150px; transform: none; flex-direction: column } #emotes button { min-height: 36px } #emotes sup { display: none }
    #chat { left: 10px; right: 10px; bottom: 10px; width: auto; padding: 6px 8px } #chat .log { max-height: 62px; font-size: 12px } #chat input { margin-top: 4px; font-size: 16px }
    .meanwhile-panel-button { top: auto; bottom: 150px; left: 10px; right: auto } }
  @media (max-height: 480px) { #about p, #about small { display: none } #chat .log { max-height: 62px } }`
document.head.append(style)

/** Makes a card. */
function card(id, html) {
  const box = document.createElement("div")
  box.className = "card"
  box.id = id
  box.innerHTML = html
  document.body.append(box)
  return box
}

const about = card("about", `<h1>PLAZA</h1><p>Each page decides where its own avatar is. The server checks that nobody runs or jumps too far.</p>
  <dl><dt>People in sight</dt><dd class="people"></dd><dt>Down, with headers</dt><dd class="down"></dd><dt>Up, with headers</dt><dd class="up"></dd>
  <dt>How late others are drawn</dt><dd class="late"></dd></dl>
  <div class="row" role="group" aria-label="How others are drawn"><button data-mode="ours">Meanwhile</button><button data-mode="article">350 ms</button><button data-mode="both">Both</button></div>
  <small></small>`)
const SAYS = {
  ours: "The delay follows the network: as late as needed and no later.",
  article: "The article's lobby: ten places a second, drawn 350 ms late, whatever the network is like.",
  both: "Dashed: where a fixed delay of 350 ms draws the same person, from a connection of its own.",
}
for (const b of about.querySelectorAll("button")) b.onclick = () => setMode(b.dataset.mode)
about.addEventListener("keydown", e => { if (e.code.startsWith("Digit")) e.stopPropagation() })

/** Chooses how others are drawn. The article's way needs a second connection, which has no avatar. */
async function setMode(wanted) {
  mode = wanted
  for (const b of about.querySelectorAll("button")) b.classList.toggle("on", b.dataset.mode === mode)
  about.querySelector("small").textContent = SAYS[mode]
  if (mode === "ours" || article || setMode.joining) return
  setMode.joining = true
  const other = document.createElement("canvas")
  other.style.cssText = "position: fixed; left: -9999px; width: 2px; height: 2px" // and its notices with it
  document.body.append(other)
  const second = await join({ canvas: other, view: null, panel: false, name: "(viewer)", config: "/meanwhile.json?viewer",
    settings: { ...settings, interpolate: 0 } })
  article = new Article(second)
}
setMode.joining = false
setMode(mode)

let nextFigures = 0
function figures(world) {
  if (g.now < nextFigures) return
  nextFigures = g.now + 250
  const set = (name, text) => { about.querySelector(name).textContent = text }
  const bytes = n => n < 1000 ? `${Math.round(n)} B/s` : `${(n / 1000).toFixed(1)} kB/s`
  set(".people", String(world.avatar.length))
  set(".down", bytes(g.stats.downBps ?? 0))
  set(".up", bytes(g.stats.upBps ?? 0))
  const ours = Math.round(g.stats.delayMs ?? 0), theirs = Math.round(article?.lateMs ?? 0)
  set(".late", mode === "ours" || !theirs ? `${ours} ms` : mode === "article" ? `${theirs} ms` : `${ours} and ${theirs} ms`)
}

const emotes = card("emotes", EMOTES.map((e, i) => `<button title="${e.name} (${i + 1})" style="color: ${e.color}">${e.face}<sup>${i + 1}</sup></button>`).join(""))
emotes.querySelectorAll("button").forEach((b, i) => { b.onclick = () => { emote = i; g.autopilot = false; b.blur() } })
addEventListener("keydown", e => {
  const n = e.code.startsWith("Digit") ? +e.code.slice(5) : 0
  if (n >= 1 && n <= EMOTES.length && !e.repeat && !(e.target instanceof HTMLInputElement)) { emote = n - 1; g.autopilot = false }
})

const chat = {
  box: card("chat", `<div class="log"></div><input maxlength="150" placeholder="Enter: say something" aria-label="Say something">`),
  /** Adds a line. */
  show(name, text, mine) {
    const log = this.box.querySelector(".log"), p = document.createElement("p"), b = document.createElement("b")
    b.textContent = name
    p.append(b, " ", text)
    p.className = mine ? "mine" : ""
    log.append(p)
    while (log.childElementCount > 40) log.firstChild.remove()
    log.scrollTop = log.scrollHeight
  },
}
const input = chat.box.querySelector("input")
input.addEventListener("keydown", e => {
  e.stopPropagation() // no keys of the game
  if (e.code === "Escape") input.blur()
  if (e.key !== "Enter" || e.isComposing) return
  const text = input.value.trim(), refused = text ? g.send("chat", { text }) : ""
  input.placeholder = refused ? "Not so fast: wait a moment" : "Enter: say something"
  if (!refused || refused.includes("often")) input.value = refused ? text : ""
  if (!refused) input.blur()
})
addEventListener("keydown", e => { if (e.key === "Enter" && document.activeElement !== input) { input.focus(); e.preventDefault() } })
card("hint", "WASD or click: walk   ·   Shift: run   ·   1 to 6: emotes   ·   Enter: chat   ·   wheel: zoom")

// For the browser's console.
Object.assign(window, { game: g, camera, plaza: { place: () => here, put: p => { here = p }, mode: setMode, article: () => article } })
