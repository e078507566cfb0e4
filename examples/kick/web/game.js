// The page of kick: everything is drawn here, on one canvas. Sizes are metres, as in field.go.
import { join, panel } from "/meanwhile.js" // fetches kick.wasm, picks a transport, resumes

const HALF_LENGTH = 15, HALF_WIDTH = 9, CORNER = 3, GOAL_HALF = 2.4, GOAL_DEPTH = 1.6, POST = 0.12
const PLAYER = 0.45, BALL = 0.35, CRATE = 1.1, CART = { length: 2.3, width: 1.4 }
const LOOK = { grid: false, background: "#10231a" }
const VIEW = { x: -17.6, y: -11.9, width: 35.2, height: 22.4, ...LOOK }
const NEAR = { width: 17, ...LOOK } // around the own avatar, on a tall screen
const TEAMS = { // amber and blue differ for every kind of sight; so do the shirts: amber has a stripe, blue has sleeves
  amber: { name: "Amber", fill: "#f2a33a", dark: "#8a4f05", light: "#ffd894" },
  blue: { name: "Blue", fill: "#4aa3e8", dark: "#0f4a80", light: "#bfe2ff" },
}
const KEYS = "WASD or arrows: run   ·   Space or click: kick   ·   Shift: sprint   ·   E: get on and off the cart"
const TAU = 2 * Math.PI

// The address may name a simulated network, as in ?delayMs=75&lossPct=3 or ?profile=ocean; ?bot lets the bot play.
const address = new URLSearchParams(location.search)
/** @type {Record<string, any>} */
const settings = {}
for (const name of ["delayMs", "jitterMs", "lossPct"]) if (address.has(name)) settings[name] = +address.get(name)
if (address.has("profile")) settings.profile = address.get("profile")

const g = await join({
  canvas: document.querySelector("canvas"), view: VIEW, settings, autopilot: address.has("bot"),
})
const { ctx, keys, mouse } = g
panel(g) // F2
Object.assign(window, { game: g }) // for the browser's console

// What the player wants: once per tick. A click kicks towards the pointer, a key towards where the player runs.
let heading = 0
g.command = () => {
  const move = keys.wasd, click = mouse.pressed
  if (move.x || move.y) heading = Math.atan2(move.y, move.x)
  else if (!click) heading = g.me.aim
  return {
    move, aim: click || g.touch ? mouse.angleFrom(g.me.pos) : heading,
    kick: keys.space || click, use: keys.has("KeyE"), sprint: keys.shift,
  }
}

// Effects: each is drawn until it dies. An event comes once.
const effects = []
let lastGoal = null
g.on.kick = e => effects.push({ draw: kickFlash, from: g.now, ms: 320, ...e })
g.undo.kick = e => { // the server let nobody kick there
  const i = effects.findIndex(shown => shown.key === e.key)
  if (i >= 0) effects.splice(i, 1)
}
g.on.goal = e => {
  const by = g.world.player.find(p => p.id === e.by)
  lastGoal = { team: e.team, by: by?.name ?? "", own: !!by && by.team !== e.team, at: g.now }
  for (let i = 0; i < 110; i++) effects.push(confetto(e, i))
}

/** Whether the screen is tall, as a phone's: the camera is near then, and score and texts stand at the screen's edges. */
const tall = () => g.width < 0.9 * g.height

/** Draws texts: on a tall screen with what is at height y of the whole pitch at height at of the screen, in CSS pixels. */
function onScreen(y, at, draw) {
  if (!tall()) return draw()
  const unit = g.width / NEAR.width * devicePixelRatio
  ctx.save()
  ctx.setTransform(unit, 0, 0, unit, g.width * devicePixelRatio / 2, at * devicePixelRatio - y * unit)
  draw()
  ctx.restore()
}

// A finger gets on and off the cart with a button.
const ride = document.createElement("button")
ride.style.cssText = "position:fixed;left:50%;bottom:64px;transform:translateX(-50%);padding:12px 22px;border:0;border-radius:99px;background:#f4f1e8;color:#20242b;font:600 15px system-ui,sans-serif;touch-action:manipulation"
ride.addEventListener("pointerdown", () => keys.press("KeyE"))
for (const end of ["pointerup", "pointercancel", "pointerleave"]) ride.addEventListener(end, () => keys.release("KeyE"))
ride.hidden = true
document.body.append(ride)

g.draw = world => {
  g.camera.view = tall() ? NEAR : VIEW // of the next frame
  const match = world.match[0]
  const players = world.player
  drawPitch()
  drawBall.trail(world.ball[0])
  for (const c of world.cart) shadow(c.pos, () => box(c, CART.length, CART.width, 0.25))
  for (const c of world.crate) shadow(c.pos, () => box(c, CRATE, CRATE, 0.06))
  for (const p of players) if (!p.cart) shadow(p.pos, () => disc(0, 0, PLAYER))
  for (const b of world.ball) shadow(b.pos, () => disc(0, 0, BALL))
  for (const c of world.crate) at(c.pos, c.turn, drawCrate)
  for (const c of world.cart) at(c.pos, c.turn, () => drawCart(c))
  const facing = p => world.cart.find(c => c.id === p.cart)?.turn ?? p.aim // a rider looks ahead
  for (const p of players) if (!p.mine) drawPlayer(p, facing(p))
  for (const b of world.ball) drawBall(b)
  for (const p of players) if (p.mine) drawPlayer(p, facing(p))
  drawGoals()
  if (tall()) for (const b of world.ball) pointTo(b)
  for (let i = effects.length - 1; i >= 0; i--) {
    const e = effects[i], share = (g.now - e.from) / e.ms
    if (share >= 1) effects.splice(i, 1)
    else if (share >= 0) e.draw(e, share)
  }
  for (const p of players) label(p)
  if (match) {
    onScreen(-10.75, 84, () => scoreBoard(match))
    onScreen(0, g.height / 2, () => headline(match))
  }
  onScreen(9.95, g.height - 24, () => hint(world))
}

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
}

/** The outline of a box, turned as a thing is. */
function box(thing, length, width, round) {
  ctx.rotate(thing.turn)
  ctx.beginPath()
  ctx.roundRect(-length / 2, -width / 2, length, width, round)
}

/** Fills an outline a little to the lower right, as the sun would. */
function shadow(pos, outline) {
  ctx.save()
  ctx.translate(pos.x + 0.13, pos.y + 0.17)
  outline()
  ctx.fillStyle = "rgba(0, 20, 10, 0.32)"
  ctx.fill()
  ctx.restore()
}

// The pitch never changes: it is drawn once for each size of the window.
const pitch = { canvas: document.createElement("canvas"), key: "" }

/** The edge of the field: rounded corners, and a bay for each goal. */
function edge(c, grow = 0) {
  const x = HALF_LENGTH + grow, y = HALF_WIDTH + grow, r = CORNER + grow, goal = GOAL_HALF + grow, deep = x + GOAL_DEPTH
  c.beginPath()
  c.moveTo(-x + r, -y)
  c.arcTo(x, -y, x, 0, r)
  for (const [px, py] of [[x, -goal], [deep, -goal], [deep, goal], [x, goal]]) c.lineTo(px, py)
  c.arcTo(x, y, 0, y, r)
  c.arcTo(-x, y, -x, 0, r)
  for (const [px, py] of [[-x, goal], [-deep, goal], [-deep, -goal], [-x, -goal]]) c.lineTo(px, py)
  c.arcTo(-x, -y, 0, -y, r)
  c.closePath()
}

function drawPitch() {
  const { canvas } = pitch, scale = g.camera.scale * (window.devicePixelRatio || 1), key = `${g.width} ${g.height} ${scale}`
  if (pitch.key !== key) {
    pitch.key = key
    canvas.width = Math.ceil(VIEW.width * scale)
    canvas.height = Math.ceil(VIEW.height * scale)
    const c = canvas.getContext("2d")
    c.setTransform(scale, 0, 0, scale, -VIEW.x * scale, -VIEW.y * scale)
    paintPitch(c)
  }
  ctx.drawImage(canvas, VIEW.x, VIEW.y, canvas.width / scale, canvas.height / scale)
}

function paintPitch(c) {
  edge(c, 0.32)
  c.shadowColor = "rgba(0, 0, 0, 0.5)"
  c.shadowBlur = 24
  c.fillStyle = "#e8ece6"
  c.fill()
  c.shadowBlur = 0
  edge(c, 0.1)
  c.fillStyle = "#233a4d"
  c.fill()
  c.save()
  edge(c)
  c.clip()
  const stripe = 2.5
  for (let i = -7; i < 7; i++) {
    c.fillStyle = i & 1 ? "#3f8f52" : "#469a5a"
    c.fillRect(i * stripe, -HALF_WIDTH, stripe + 0.02, 2 * HALF_WIDTH)
  }
  const light = c.createRadialGradient(-3, -4, 2, 0, 0, 19)
  light.addColorStop(0, "rgba(255, 255, 220, 0.13)")
  light.addColorStop(1, "rgba(0, 20, 20, 0.22)")
  c.fillStyle = light
  c.fillRect(-18, -10, 36, 20)
  for (const side of [-1, 1]) {
    c.fillStyle = (side < 0 ? TEAMS.amber : TEAMS.blue).dark
    c.globalAlpha = 0.55
    c.fillRect(side > 0 ? HALF_LENGTH : -HALF_LENGTH - GOAL_DEPTH, -GOAL_HALF, GOAL_DEPTH, 2 * GOAL_HALF)
    c.globalAlpha = 1
  }
  paintLines(c)
  c.restore()
}

function paintLines(c) {
  c.strokeStyle = c.fillStyle = "rgba(255, 255, 255, 0.78)"
  c.lineWidth = 0.1
  const circle = (x, r, from = 0, to = TAU) => { c.beginPath(); c.arc(x, 0, r, from, to) }
  c.beginPath()
  c.moveTo(0, -HALF_WIDTH)
  c.lineTo(0, HALF_WIDTH)
  c.stroke()
  circle(0, 2.6)
  c.stroke()
  circle(0, 0.16)
  c.fill()
  for (const side of [-1, 1]) {
    const x = side * HALF_LENGTH
    c.strokeRect(Math.min(x, x - side * 3.4), -4.2, 3.4, 8.4)
    c.strokeRect(Math.min(x, x - side * 1.3), -3.1, 1.3, 6.2)
    circle(x - side * 2.5, 0.12)
    c.fill()
    c.save()
    c.beginPath()
    c.rect(side > 0 ? 0 : -HALF_LENGTH + 3.4, -9, HALF_LENGTH - 3.4, 18)
    c.clip()
    circle(x - side * 2.5, 1.9)
    c.stroke()
    c.restore()
    c.beginPath()
    c.moveTo(x, -HALF_WIDTH + CORNER)
    c.lineTo(x, HALF_WIDTH - CORNER)
    c.stroke()
  }
}

/** Nets and posts, above everything that may be in a goal. */
function drawGoals() {
  for (const side of [-1, 1]) {
    const x = side * HALF_LENGTH, team = side < 0 ? TEAMS.amber : TEAMS.blue
    ctx.strokeStyle = "rgba(255, 255, 255, 0.28)"
    ctx.lineWidth = 0.03
    ctx.beginPath()
    for (let d = 0.2; d <= GOAL_DEPTH; d += 0.28) { ctx.moveTo(x + side * d, -GOAL_HALF); ctx.lineTo(x + side * d, GOAL_HALF) }
    for (let y = -GOAL_HALF + 0.2; y < GOAL_HALF; y += 0.285) { ctx.moveTo(x, y); ctx.lineTo(x + side * GOAL_DEPTH, y) }
    ctx.stroke()
    ctx.strokeStyle = team.fill
    ctx.lineWidth = 0.16
    ctx.lineJoin = "round"
    ctx.beginPath()
    ctx.moveTo(x, -GOAL_HALF)
    ctx.lineTo(x + side * GOAL_DEPTH, -GOAL_HALF)
    ctx.lineTo(x + side * GOAL_DEPTH, GOAL_HALF)
    ctx.lineTo(x, GOAL_HALF)
    ctx.stroke()
    ctx.fillStyle = "#ffffff"
    for (const y of [-GOAL_HALF, GOAL_HALF]) {
      disc(x, y, POST + 0.04)
      ctx.fill()
    }
  }
}

function drawCrate() {
  const h = CRATE / 2
  ctx.fillStyle = "#b9834a"
  ctx.strokeStyle = "#6d4520"
  ctx.lineWidth = 0.05
  ctx.beginPath()
  ctx.roundRect(-h, -h, CRATE, CRATE, 0.06)
  ctx.fill()
  ctx.stroke()
  ctx.beginPath()
  for (const y of [-h / 3, h / 3]) { ctx.moveTo(-h, y); ctx.lineTo(h, y) }
  ctx.stroke()
  ctx.strokeStyle = "#93632f"
  ctx.lineWidth = 0.15
  ctx.beginPath()
  ctx.moveTo(-h + 0.1, -h + 0.1)
  ctx.lineTo(h - 0.1, h - 0.1)
  ctx.stroke()
  ctx.strokeRect(-h + 0.08, -h + 0.08, CRATE - 0.16, CRATE - 0.16)
}

/** How far each thing rolled, for its picture alone: nothing of it is sent. */
const rolled = new Map()
function roll(thing) {
  let r = rolled.get(thing.id)
  if (!r) rolled.set(thing.id, r = { x: thing.pos.x, y: thing.pos.y, way: 0, steer: 0, turn: [1, 0, 0, 0, 1, 0, 0, 0, 1] })
  const dx = thing.pos.x - r.x, dy = thing.pos.y - r.y, cut = thing.cut || Math.hypot(dx, dy) > 2
  r.x = thing.pos.x
  r.y = thing.pos.y
  return { r, dx: cut ? 0 : dx, dy: cut ? 0 : dy }
}

function drawCart(c) {
  const { r, dx, dy } = roll(c), { length, width } = CART
  r.way += dx * Math.cos(c.turn) + dy * Math.sin(c.turn)
  const wish = c.gas > 0 ? Math.atan2(Math.sin(c.want - c.turn), Math.cos(c.want - c.turn)) : 0
  r.steer += 0.2 * (Math.max(-0.5, Math.min(0.5, wish)) - r.steer)
  for (const [x, y, steer] of [[0.72, -1, r.steer], [0.72, 1, r.steer], [-0.72, -1, 0], [-0.72, 1, 0]]) {
    at({ x, y: y * (width / 2 - 0.02) }, steer, () => {
      ctx.fillStyle = "#1b1f26"
      ctx.beginPath()
      ctx.roundRect(-0.28, -0.14, 0.56, 0.28, 0.08)
      ctx.fill()
      ctx.fillStyle = "#5a6572" // the tread shows how the wheel turns
      for (let i = 0; i < 4; i++) {
        const tread = ((r.way * 0.9 + i * 0.14) % 0.56 + 0.56) % 0.56 - 0.28
        ctx.fillRect(tread, -0.12, 0.04, 0.24)
      }
    })
  }
  const paint = ctx.createLinearGradient(0, -width / 2, 0, width / 2)
  paint.addColorStop(0, "#f4f1e8")
  paint.addColorStop(1, "#c3c6c4")
  ctx.fillStyle = paint
  ctx.strokeStyle = "#39424d"
  ctx.lineWidth = 0.06
  ctx.beginPath()
  ctx.roundRect(-length / 2, -width / 2 + 0.12, length, width - 0.24, [0.18, 0.42, 0.42, 0.18])
  ctx.fill()
  ctx.stroke()
  ctx.fillStyle = "#c23b4e"
  ctx.fillRect(0.45, -width / 2 + 0.15, 0.16, width - 0.3)
  ctx.fillStyle = "#2c333c"
  ctx.beginPath()
  ctx.roundRect(-0.72, -0.42, 1.02, 0.84, 0.2)
  ctx.fill()
  ctx.fillStyle = "#ffe9a8"
  for (const y of [-0.36, 0.36]) {
    disc(length / 2 - 0.12, y, 0.09)
    ctx.fill()
  }
}

function drawPlayer(p, angle) {
  const team = TEAMS[p.team], step = p.cart ? 0 : Math.hypot(p.vel.x, p.vel.y), r = PLAYER
  if (p.mine) {
    ctx.strokeStyle = "rgba(255, 255, 255, 0.9)"
    ctx.lineWidth = 0.07
    disc(p.pos.x, p.pos.y, r + 0.17)
    ctx.stroke()
  }
  at(p.pos, angle, () => {
    if (step > 0.5) { // feet
      const swing = Math.sin(g.now / 1000 * (6 + step * 1.6)) * 0.28
      ctx.fillStyle = "#20242b"
      for (const [y, s] of [[-0.2, swing], [0.2, -swing]]) {
        ctx.beginPath()
        ctx.ellipse(s + 0.1, y, 0.2, 0.1, 0, 0, TAU)
        ctx.fill()
      }
    }
    ctx.fillStyle = team.fill
    ctx.strokeStyle = team.dark
    ctx.lineWidth = 0.06
    disc(0, 0, r)
    ctx.fill()
    ctx.save()
    ctx.clip()
    if (p.team === "amber") {
      ctx.fillStyle = team.light
      ctx.fillRect(-r, -0.1, 2 * r, 0.2)
    } else {
      ctx.fillStyle = team.light
      ctx.fillRect(-r, -r, 2 * r, 0.2)
      ctx.fillRect(-r, r - 0.2, 2 * r, 0.2)
    }
    ctx.restore()
    disc(0, 0, r)
    ctx.stroke()
    const face = 0.1
    ctx.fillStyle = "#4b3322"
    disc(face - 0.04, 0, 0.22)
    ctx.fill()
    ctx.fillStyle = "#f1c9a0"
    disc(face + 0.03, 0, 0.19)
    ctx.fill()
    ctx.fillStyle = "#232323"
    for (const y of [-0.075, 0.075]) {
      disc(face + 0.14, y, 0.03)
      ctx.fill()
    }
  })
}

// The ball's twelve dark spots are the corners of an icosahedron; they turn as the ball rolls.
const SPOTS = (() => {
  const f = (1 + Math.sqrt(5)) / 2, n = Math.hypot(1, f), out = []
  for (const a of [-1, 1]) for (const b of [-f, f]) out.push([0, a / n, b / n], [a / n, b / n, 0], [b / n, 0, a / n])
  return out
})()

/** Turns a rotation matrix by an angle about the axis (x, y, 0) of length 1. */
function turned(m, x, y, angle) {
  const c = Math.cos(angle), s = Math.sin(angle), k = 1 - c
  const q = [c + x * x * k, x * y * k, y * s, x * y * k, c + y * y * k, -x * s, -y * s, x * s, c]
  const out = new Array(9)
  for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) out[3 * i + j] = q[3 * i] * m[j] + q[3 * i + 1] * m[3 + j] + q[3 * i + 2] * m[6 + j]
  return out
}

function drawBall(b) {
  const { r, dx, dy } = roll(b), way = Math.hypot(dx, dy)
  if (way > 1e-5) r.turn = turned(r.turn, -dy / way, dx / way, way / BALL)
  at(b.pos, 0, () => {
    ctx.fillStyle = "#fbfbf7"
    disc(0, 0, BALL)
    ctx.fill()
    ctx.save()
    ctx.clip()
    ctx.fillStyle = "#252a33"
    for (const [x, y, z] of SPOTS) {
      const m = r.turn, px = m[0] * x + m[1] * y + m[2] * z, py = m[3] * x + m[4] * y + m[5] * z, pz = m[6] * x + m[7] * y + m[8] * z
      if (pz < -0.1) continue
      ctx.beginPath()
      ctx.ellipse(px * BALL, py * BALL, 0.11, Math.max(0.11 * pz, 0.025), Math.atan2(py, px) + Math.PI / 2, 0, TAU)
      ctx.fill()
    }
    const light = ctx.createRadialGradient(-0.12, -0.14, 0.02, 0, 0, BALL)
    light.addColorStop(0, "rgba(255, 255, 255, 0.5)")
    light.addColorStop(0.5, "rgba(255, 255, 255, 0)")
    light.addColorStop(1, "rgba(0, 0, 0, 0.38)")
    ctx.fillStyle = light
    ctx.fillRect(-BALL, -BALL, 2 * BALL, 2 * BALL)
    ctx.restore()
    ctx.strokeStyle = "rgba(20, 25, 30, 0.7)"
    ctx.lineWidth = 0.035
    disc(0, 0, BALL)
    ctx.stroke()
  })
}

/** Draws an arrow at the edge of the screen towards a ball that is out of it. */
function pointTo(b) {
  const { x, y, scale } = g.camera, w = g.width / 2 / scale - 0.7, h = g.height / 2 / scale - 5 // between the texts
  const dx = b.pos.x - x, dy = b.pos.y - y, out = Math.max(Math.abs(dx) / w, Math.abs(dy) / h)
  if (out < 1.1) return
  at({ x: x + dx / out, y: y + dy / out }, Math.atan2(dy, dx), () => {
    ctx.beginPath()
    for (const [px, py] of [[0.5, 0], [-0.35, -0.45], [-0.1, 0], [-0.35, 0.45]]) ctx.lineTo(px, py)
    ctx.closePath()
    ctx.lineWidth = 0.12
    ctx.strokeStyle = "rgba(20, 25, 30, 0.7)"
    ctx.stroke()
    ctx.fillStyle = "#fbfbf7"
    ctx.fill()
  })
}

const trail = []
drawBall.trail = ball => {
  if (!ball || ball.cut) trail.length = 0
  if (!ball) return
  trail.push({ x: ball.pos.x, y: ball.pos.y, at: g.now })
  while (trail.length && g.now - trail[0].at > 260) trail.shift()
  for (let i = 1; i < trail.length; i++) {
    const a = trail[i - 1], b = trail[i], fast = Math.hypot(b.x - a.x, b.y - a.y) / Math.max(1, b.at - a.at) * 1000
    const share = 1 - (g.now - b.at) / 260
    if (fast < 7) continue
    ctx.strokeStyle = `rgba(255, 255, 255, ${(Math.min(0.45, (fast - 7) / 20) * share).toFixed(3)})`
    ctx.lineWidth = 2 * BALL * share
    ctx.beginPath()
    ctx.moveTo(a.x, a.y)
    ctx.lineTo(b.x, b.y)
    ctx.stroke()
  }
}

function kickFlash(e, share) {
  ctx.save()
  ctx.globalAlpha = 1 - share
  ctx.strokeStyle = "#fff6c9"
  ctx.lineWidth = 0.12 * (1 - share) + 0.02
  disc(e.at.x, e.at.y, BALL + share * 0.9)
  ctx.stroke()
  ctx.beginPath()
  for (let i = -2; i <= 2; i++) {
    const angle = e.dir + Math.PI + i * 0.35, from = 0.5 + share * 0.7, to = from + 0.5 * (1 - share)
    ctx.moveTo(e.at.x + Math.cos(angle) * from, e.at.y + Math.sin(angle) * from)
    ctx.lineTo(e.at.x + Math.cos(angle) * to, e.at.y + Math.sin(angle) * to)
  }
  ctx.stroke()
  ctx.restore()
}

function confetto(e, i) {
  const angle = i * 2.39996, fast = 2 + (i * 37 % 50) / 7, team = TEAMS[e.team]
  return {
    from: g.now + i % 9 * 25, ms: 1500 + i * 53 % 900, at: e.at, angle, fast,
    color: [team.fill, team.light, "#ffffff", team.dark][i & 3],
    draw(c, share) {
      const way = c.fast * (1 - (1 - share) ** 3) // slows down as it falls
      at({ x: c.at.x + Math.cos(c.angle) * way, y: c.at.y + Math.sin(c.angle) * way * 0.8 }, c.angle + share * 9, () => {
        ctx.globalAlpha = Math.min(1, 3 * (1 - share))
        ctx.fillStyle = c.color
        ctx.fillRect(-0.13, -0.07 * Math.cos(share * 20 + i), 0.26, 0.14 * Math.cos(share * 20 + i))
      })
    },
  }
}

function write(text, x, y, size, color, { weight = 600, outline = "" } = {}) {
  ctx.save()
  ctx.translate(x, y) // letters smaller than a unit are badly spaced, so they are drawn large and scaled down
  ctx.scale(size / 64, size / 64)
  ctx.font = `${weight} 64px system-ui, "Segoe UI", sans-serif`
  ctx.textAlign = "center"
  ctx.textBaseline = "middle"
  if (outline) {
    ctx.lineJoin = "round"
    ctx.lineWidth = 14
    ctx.strokeStyle = outline
    ctx.strokeText(text, 0, 0)
  }
  ctx.fillStyle = color
  ctx.fillText(text, 0, 0)
  ctx.restore()
}

function label(p) {
  if (p.name) write(p.name, p.pos.x, p.pos.y - 0.92, p.mine ? 0.52 : 0.44, p.mine ? "#ffffff" : TEAMS[p.team].light,
    { weight: p.mine ? 800 : 600, outline: "rgba(10, 25, 20, 0.55)" })
}

function scoreBoard(match) {
  const y = -10.75, { rate } = g.layout, tick = g.stats.tick ?? 0
  const left = Math.max(0, (match.ends - Math.max(tick, match.start)) / rate), seconds = Math.ceil(left)
  const clock = match.phase === "result" ? "END" : `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`
  ctx.fillStyle = "rgba(8, 16, 24, 0.85)"
  ctx.beginPath()
  ctx.roundRect(-7.4, y - 0.75, 14.8, 1.5, 0.35)
  ctx.fill()
  for (const key of ["amber", "blue"]) {
    const team = TEAMS[key], side = key === "amber" ? -1 : 1
    ctx.fillStyle = team.fill
    ctx.beginPath()
    ctx.roundRect(side < 0 ? -7.4 : 7.1, y - 0.75, 0.3, 1.5, side < 0 ? [0.35, 0, 0, 0.35] : [0, 0.35, 0.35, 0])
    ctx.fill()
    write(team.name, side * 5.2, y + 0.03, 0.72, team.light, { weight: 700 })
    write(String(match[key]), side * 2.5, y + 0.04, 1.15, "#ffffff", { weight: 800 })
  }
  write(clock, 0, y + 0.03, 0.85, seconds <= 10 && match.phase === "play" ? "#ffd35c" : "#e6eef5", { weight: 700 })
}

/** What happened just now, in the middle. */
function headline(match) {
  if (match.phase === "cheer" && lastGoal && g.now - lastGoal.at < 4000) {
    const team = TEAMS[lastGoal.team], age = g.now - lastGoal.at, size = 3.2 * Math.min(1, age / 180) * (1 + 0.03 * Math.sin(age / 90))
    write("GOAL!", 0, -1, size, team.fill, { weight: 900, outline: "rgba(8, 16, 24, 0.9)" })
    const who = lastGoal.own ? `own goal by ${lastGoal.by}` : lastGoal.by ? `by ${lastGoal.by}` : ""
    write(`${team.name} scores${who ? `, ${who}` : ""}`, 0, 1.4, 0.95, "#ffffff", { weight: 700, outline: "rgba(8, 16, 24, 0.85)" })
  } else if (match.phase === "result") {
    const lead = match.amber - match.blue, team = lead > 0 ? TEAMS.amber : TEAMS.blue
    write(lead ? `${team.name} wins` : "A draw", 0, -1, 2.6, lead ? team.fill : "#ffffff", { weight: 900, outline: "rgba(8, 16, 24, 0.9)" })
    write(`${match.amber} : ${match.blue}`, 0, 1.5, 1.5, "#ffffff", { weight: 800, outline: "rgba(8, 16, 24, 0.9)" })
  } else if (match.phase === "play" && (g.stats.tick ?? 0) < match.start) {
    write("Ready …", 0, -2.2, 1.5, "#ffffff", { weight: 800, outline: "rgba(8, 16, 24, 0.85)" })
  }
}

/** One line below the pitch: the keys, or what is near. */
function hint(world) {
  const { me } = g
  const near = me && !me.cart && world.cart.some(c => Math.hypot(c.pos.x - me.pos.x, c.pos.y - me.pos.y) < 2)
  const touch = g.touch || matchMedia("(pointer: coarse)").matches
  const text = touch ? "Left thumb: run   ·   right thumb: kick" : me?.cart ? "You drive: WASD   ·   E: get off" : near ? "E: get on the cart" : KEYS
  write(text, 0, 9.95, 0.52, "rgba(230, 240, 235, 0.8)", { weight: 500 })
  ride.hidden = !touch || g.autopilot || !near && !me?.cart
  ride.textContent = me?.cart ? "Get off the cart" : "Get on the cart"
  if (g.stats.rttMs && !tall()) write(`${Math.round(g.stats.rttMs)} ms`, HALF_LENGTH + 1.6, 9.95, 0.44, "rgba(230, 240, 235, 0.55)", { weight: 500 })
}
