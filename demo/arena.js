// The arena's page: joins the game, turns keys, mouse and fingers into commands, and passes the world to the scene.
import { join, panel } from "/meanwhile.js"
import { Scene, COLOR, FORESHORTENED } from "/scene.js"
import { Killcam } from "/killcam.js"
import { readAddress, remember, settingsOf } from "/address.js"
import { Controls } from "/controls.js"
import { Chat } from "/chat.js"
import { Split } from "/split.js"
import { Tour, ownName } from "/tour.js"
import { readDoors, readPlayer, readRound, readTallies, readThings } from "/world.js"
import { Sound } from "/sound.js"

// ---- Names: only this section knows what the rules call things ---------------------------------------------------------

const players = world => world.player ?? []

const toCommand = ({ move, aim, jump, crouch, fire, reload, weapon, swing, shove, press }) =>
  ({ move, aim, jump, crouch, fire, reload, weapon, swing, shove, press })

/** Events: their names, and the fields that the page needs. */
const EVENTS = {
  shot: e => shot(e.from, e.to, e.hit, e.entity, e.mine),
  frag: e => frag(e.killer, e.victim),
  launch: e => launch(e.from, e.entity, e.mine),
  blast: e => blast(e.at),
  swing: e => swing(e.at, e.aim, e.entity, e.mine),
  cut: e => cut(e.at, e.mine),
  shove: e => shove(e.at, e.mine),
  press: e => press(e.gate),
  receipt: e => receipt(e), // the engine's own
}

// ---- The page ----------------------------------------------------------------------------------------------------------

/** @type {(id: string) => any} */
const $ = id => document.getElementById(id)
const state = readAddress()
const canvas = $("view")
const SETTLED_MS = 150
/** What is to be known of a network that a person chose. */
const NETWORKS = {
  modem: "A telephone line: 13,000 bits a second each way, a quarter of a second there and back. The first seconds are rough, until both ends know that. Then others are drawn half a second late; you still move at once, and hit what you see.",
}
const EYE = 1.22 // metres from the feet to where a standing player shoots from

const sound = new Sound()
let g, scene, killcam
const seen = new Map() // players by id, as readPlayer made them
const list = [], things = [], doors = []
const names = new Map()
let map = { weapons: [], maps: [], level: 0 } // as the server describes it, and the level of this round

const mapped = fetch("/arena/map.json") // while the game is loaded
mapped.catch(() => {}) // awaited below
g = await join({
  canvas, view: null, autopilot: state.bot, name: ownName(() => g),
  transport: state.transport, settings: settingsOf(state),
})
globalThis.g = g // for the console
document.body.classList.toggle("watching", !!g.options.watch)
scene = new Scene(g.ctx)
globalThis.eye = scene.eye // for the second screen
killcam = new Killcam(g.ctx)
if (!g.config.truth && !g.config.local) state.ghost = 0 // this server does not show it
const pathOf = settings => ["profile", "delayMs", "jitterMs", "lossPct"].map(name => settings[name]).join()
globalThis.path = pathOf(g.settings) // also for the second screen
let moving = 0
const network = panel(g, {
  title: "Meanwhile", into: $("panel"), ribbon: $("timeline"), open: true,
  switches: [{
    name: "truth", title: "The truth", help: "Yellow ghosts show where the server has everybody at this moment.",
    on: !!state.ghost, disabled: !g.config.truth && !g.config.local, change: on => { state.ghost = +on; remember(state, g.settings) },
  }],
  changed: settings => remember(state, settings), moved,
})
network.add($("sound"), "header")
network.add($("lead"), "top")
network.add($("acts"), "bottom")
const controls = new Controls(g)
const refused = state.profile && g.set("profile", state.profile)
if (refused) controls.say(refused) // the address names a network that there is not
if (document.activeElement !== $("name")) canvas.focus({ preventScroll: true })

try {
  const response = await mapped
  if (!response.ok) throw new Error(`${response.status}`)
  map = { level: 0, ...await response.json() }
  scene.build(map)
  killcam.map = map
} catch (e) {
  console.error("arena: the map could not be loaded:", e)
}

g.camera = { toWorld: (x, y) => scene.eye.ground(x, y, aimHeight()) }
for (const [name, happened] of Object.entries(EVENTS)) {
  g.on[name] = e => {
    scene.key = e.key
    happened(e)
    scene.key = 0
  }
  g.undo[name] = e => {
    scene.takeBack(e.key)
    killcam.takeBack(e.key)
    sound.takeBack(e.key)
  }
}
const tour = new Tour(g)
const split = new Split(g, map)
const chat = new Chat(g, canvas)
g.command = command
g.draw = draw
buildSlots()

/** Another simulated network is another path: client and server learn what it carries from the start, on a new connection. */
function moved() {
  const path = pathOf(g.settings), { profile } = g.settings
  clearTimeout(moving)
  if (path === globalThis.path) return
  if (NETWORKS[profile]) controls.say(NETWORKS[profile])
  moving = setTimeout(() => { // keys move a slider step by step
    globalThis.path = path
    g.connection?.change()
  }, SETTLED_MS)
}

// ---- Commands ----------------------------------------------------------------------------------------------------------

const mine = () => g.me && seen.get(g.me.id)
const aimHeight = () => (g.me?.pos?.z ?? 0) + (g.me?.crouch ? EYE * 0.64 : EYE)

/** The point that is aimed at: on the player under the pointer, or at the height of the gun. */
function aimPoint() {
  const { mouse } = g, z = aimHeight(), me = g.me?.pos
  if (mouse.stick && me) return { x: me.x + mouse.stick.x * 12, y: me.y + mouse.stick.y * 12 / FORESHORTENED, z }
  let best = null, least = 1.7
  for (const p of seen.values()) {
    if (p.mine || !p.alive) continue
    const a = scene.eye.at(p.x, p.y, p.z + 0.95), off = Math.hypot(a.x - mouse.x, (a.y - mouse.y) * 0.6) / (0.4 * a.s)
    if (off < least) { least = off; best = p }
  }
  const ground = scene.eye.ground(mouse.x, mouse.y, z)
  if (!best) return { ...ground, z }
  // Towards the target's own height, through the point under the pointer.
  const there = scene.eye.ground(mouse.x, mouse.y, best.z + 0.95)
  return { ...there, z: best.z + 0.95 }
}

// ---- Weapons -----------------------------------------------------------------------------------------------------------

// The weapon that every command asks for, so that a lost command loses no switch; 0: whichever is in the hands. 1 and 2 choose
// one, Q and the wheel the other one.
let wanted = 0, held = false, wheeled = 0

const other = () => (wanted || (g.me?.next ?? 1)) === 1 ? 2 : 1

/** The weapon for the next command. */
function weapon() {
  if (g.keys.has("Digit1")) wanted = 1
  if (g.keys.has("Digit2")) wanted = 2
  const q = g.keys.has("KeyQ")
  if (q && !held) wanted = other()
  held = q
  return wanted
}

canvas.addEventListener("wheel", e => {
  e.preventDefault()
  if (g.autopilot || !e.deltaY || e.timeStamp - wheeled < 180) return // one turn of the wheel is many events
  wheeled = e.timeStamp
  wanted = other()
}, { passive: false })

/** One button for each weapon in the corner, for fingers and as a list of keys. */
function buildSlots() {
  map.weapons?.forEach((w, i) => {
    const b = document.createElement("button"), key = document.createElement("kbd")
    b.type = "button"
    b.tabIndex = -1
    key.textContent = String(i + 1)
    b.append(key, w.name)
    b.addEventListener("pointerdown", e => {
      e.preventDefault()
      g.autopilot = false
      wanted = i + 1
    })
    $("slots").append(b)
  })
}

/** How far the hands are with what they do, from 0 to 1; 1 while they do nothing. */
function progress(me) {
  const w = map.weapons?.[me.weapon - 1], lasts = w?.[me.doing]
  if (!lasts) return 1
  const { tick, commandMs, serverMs, periodMs } = g.stats
  const now = tick + (commandMs - serverMs) / periodMs
  return Math.max(0, Math.min(1, 1 - (me.ready - now) / lasts)) || 0
}

function command() {
  const me = g.me.pos, p = aimPoint(), dx = p.x - me.x, dy = p.y - me.y
  return toCommand({
    move: g.keys.wasd,
    aim: Math.atan2(dy, dx),
    jump: g.keys.space,
    crouch: g.keys.shift || g.keys.has("KeyC"),
    fire: g.mouse.pressed,
    reload: g.keys.has("KeyR"),
    swing: g.keys.has("KeyF"),
    shove: g.keys.has("KeyV"),
    press: g.keys.has("KeyE"),
    weapon: weapon(),
  })
}

// ---- What happened -----------------------------------------------------------------------------------------------------

for (const use of ["keydown", "pointerdown"]) addEventListener(use, () => sound.unlock())
for (const use of ["keydown", "pointerdown"]) addEventListener(use, e => { if (!(e instanceof KeyboardEvent && e.repeat)) killcam.press() }, true)

/** Shows what happened in the scene, by the name of the scene's method, and keeps it for the killcam. */
function show(name, ...args) {
  scene[name](...args, g.now)
  killcam.note(name, args, scene.key, g.now)
}
$("sound").addEventListener("click", () => {
  sound.toggle()
  $("sound").setAttribute("aria-pressed", String(sound.on))
})

/** Plays what the event that is shown now sounds like at a place. */
function heard(name, at) {
  const me = mine() ?? scene.eye
  sound.play(name, Math.hypot(at.x - me.x, at.y - me.y), (at.x - me.x) / 20, scene.key)
}

/** What the own hands sound like: they are predicted, so they answer at once. */
let did = "idle"
function hear(me) {
  if (me.doing === did) return
  const what = me.doing === "idle" ? { reload: "loaded" }[did] : me.doing
  did = me.doing
  if (what && me.alive) sound.play(what)
}

function shot(from, to, hit, shooter, isMine) {
  const a = scene.avatars.get(shooter)
  if (a && Math.hypot(a.x - from.x, a.y - from.y) < 1.5) from = scene.muzzle({ ...a, aim: Math.atan2(to.y - a.y, to.x - a.x) })
  show("shot", { ...from }, { ...to }, hit, isMine)
  if (isMine && hit) scene.marker = 1
  heard("shot", from)
  if (isMine && hit) sound.play("hit", 0, 0, scene.key)
}

function launch(from, shooter, isMine) {
  const a = scene.avatars.get(shooter)
  show("flash", a && Math.hypot(a.x - from.x, a.y - from.y) < 1.5 ? scene.muzzle(a) : { ...from }, a?.aim ?? 0, isMine)
  heard("launch", from)
}

function blast(at) {
  show("blast", { ...at }, map.blast ?? 3)
  heard("blast", at)
}

function swing(at, aim, who, isMine) {
  show("swing", who, { ...at }, aim, isMine)
  heard("swing", at)
}

/** A blade meets somebody. */
function cut(at, isMine) {
  show("burst", { ...at }, COLOR.hit, 18, 5, { x: 0, y: 0 })
  if (!isMine) return
  scene.marker = 1
  sound.play("hit", 0, 0, scene.key)
}

function shove(at, isMine) {
  show("ring", { ...at }, isMine ? COLOR.mine : COLOR.other, map.shove ?? 3, 380)
  for (let i = 0; i < 10; i++) {
    const a = i * Math.PI / 5
    show("puff", { x: at.x + 1.2 * Math.cos(a), y: at.y + 1.2 * Math.sin(a), z: at.z + 0.2 }, 0.35, 420)
  }
  heard("shove", at)
}

function press(gate) {
  const plate = map.maps[map.level]?.doors[gate]?.plate
  if (plate) heard("press", { x: plate[0], y: plate[1] })
}

/** How the server judged an own shot that hit, here or there. */
function receipt(e) {
  const { target, seen, used, hit, offMm, reason } = e
  tour.receipt(e)
  const off = !seen ? "not seen" : offMm === undefined ? "" : `${Math.round(offMm / 10)} cm`
  const why = { "none stated": "no rewind", exact: "" }[reason] ?? reason
  scene.receipt(target, seen, used, hit, `${hit ? "✓" : "✕"} ${[off, why].filter(Boolean).join(" · ")}`.trim(), g.now)
}

const nameOf = id => names.get(id) ?? "Someone"

function frag(killer, victim) {
  const v = seen.get(victim)
  if (v) {
    const at = { x: v.x, y: v.y, z: v.z + 0.9 }
    show("burst", at, v.mine ? COLOR.mine : COLOR.other, 26, 6, { x: 0, y: 0 })
    show("burst", at, COLOR.hit, 14, 5, { x: 0, y: 0 })
    show("ring", { x: v.x, y: v.y, z: 0 }, COLOR.hit, 2.4, 450)
  }
  const line = document.createElement("p"), me = g.me?.id
  if (victim === me && killer && killer !== me && !g.autopilot) killcam.died(killer, nameOf(killer), g.now)
  const who = id => {
    const b = document.createElement("b")
    b.textContent = nameOf(id)
    if (id === me) b.className = "me"
    return b
  }
  line.innerHTML = `<svg viewBox="0 0 15 9"><path d="M0 4.5h13M9.5 1l3.5 3.5L9.5 8"/></svg>`
  if (killer && killer !== victim) line.prepend(who(killer))
  line.append(who(victim))
  if (killer === victim) line.append(" · own rocket")
  if (me !== undefined && (killer === me || victim === me)) line.className = "mine"
  $("feed").append(line)
  while ($("feed").childElementCount > 5) $("feed").firstChild.remove()
  setTimeout(() => line.classList.add("old"), 5000)
  setTimeout(() => line.remove(), 5600)
}

// ---- Drawing -----------------------------------------------------------------------------------------------------------

let last = 0, hudAt = 0
function draw(world) {
  const { now } = g, dt = Math.min(100, now - (last || now - 16))
  last = now
  const level = world.round?.[0]?.map ?? 0
  if (level !== map.level && map.maps[level]) {
    map.level = level
    scene.build(map)
    split.scene?.build(map)
    killcam.forget()
  }
  list.length = 0
  for (const p of players(world)) {
    let s = seen.get(p.id)
    if (!s) seen.set(p.id, s = {})
    list.push(readPlayer(p, s))
    names.set(p.id, s.name)
  }
  if (seen.size > list.length) for (const [id, s] of seen) if (!list.includes(s)) seen.delete(id)

  const me = mine(), from = me ?? seen.get(g.follow) // of a page that watches, whom it looks from
  if (g.autopilot) wanted = 0
  if (me) hear(me)
  const busy = me ? progress(me) : 1
  const pointer = !g.autopilot && !g.touch && !g.follow
  const lead = { x: 0, y: 0 }
  if (me && pointer) { // look a little towards the aim
    lead.x = Math.max(-4, Math.min(4, (g.mouse.x - g.width / 2) / scene.eye.scale * 0.22)) || 0
    lead.y = Math.max(-4, Math.min(4, (g.mouse.y - g.height / 2) / scene.eye.scale * 0.26)) || 0
  }
  readThings(world, things, g.me?.id)
  readDoors(world, g.stats.tick ?? 0, doors)
  killcam.keep(now, list, things, doors)
  if (!killcam.draw(me, g.width, g.height, now, dt)) scene.draw({
    width: g.width, height: g.height, now, dt, players: list, things, doors,
    truth: state.ghost ? truth.now() : null, me: me?.id, cut: me?.cut,
    focus: from ? { x: from.x, y: from.y } : null, lead,
    aim: me && !g.autopilot ? aimPoint() : null,
    crosshair: pointer ? { x: g.mouse.x, y: g.mouse.y, busy } : null,
  })
  if (split.mode === "truth") split.draw(scene.eye, seen, truth.now(), doors, things, now, dt)
  if ($("killcam").hidden === killcam.on) {
    $("killcam").hidden = !killcam.on
    $("stage").classList.toggle("past", killcam.on)
    set("got", `How ${killcam.name} got you, 2 s ago`)
  }
  $("stage").classList.toggle("aiming", pointer)
  if (me) $("handsbar").style.width = `${100 * busy}%`
  if (now - hudAt > 120) {
    hudAt = now
    hud(world, me)
  }
  const wantsTruth = +(!!state.ghost || split.mode === "truth")
  if (wantsTruth !== truth.wanted) truth.want(wantsTruth)
}

function set(id, text) {
  const e = $(id)
  if (e.textContent !== text) e.textContent = text
}

function hud(world, me) {
  tour.draw()
  split.say()
  const round = readRound(world, g.stats, g.layout.rate)
  $("clock").hidden = !round
  if (round) {
    const s = Math.ceil(round.left)
    set("time", `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`)
    set("phase", round.label || (map.maps.length > 1 ? map.maps[round.level].name : ""))
    $("clock").classList.toggle("soon", s <= 10)
  }
  $("vitals").hidden = !me
  if (me) {
    set("health", String(Math.max(0, Math.round(me.health))))
    $("healthbar").style.width = `${Math.max(0, me.health)}%`
    $("health").parentElement.classList.toggle("low", me.health <= 35)
    $("arms").hidden = me.inside === undefined
    if (me.inside !== undefined) arms(me)
  }
  result(world, round, me)
  $("dead").hidden = !me || me.alive || killcam.on || !$("result").hidden
  const more = list.length - 8
  setMore(more)
  const best = list.slice().sort((a, b) => b.score - a.score || a.id - b.id), top = best.slice(0, 8)
  if (me && !top.includes(me)) top[7] = me
  $("scores").hidden = !top.length
  const rows = $("scores").firstElementChild
  while (rows.childElementCount > top.length) rows.lastChild.remove()
  top.forEach((p, i) => {
    let row = rows.children[i]
    if (!row) {
      row = document.createElement("li")
      row.append(document.createElement("span"), document.createElement("b"))
      rows.append(row)
    }
    if (row.firstChild.textContent !== p.name) row.firstChild.textContent = p.name
    if (row.lastChild.textContent !== String(p.score)) row.lastChild.textContent = p.score
    row.className = (p.mine ? "mine" : "") + (p.alive ? "" : " gone")
  })
  chat.draw(world, !!me && !g.autopilot)
  showBest(g.world.best ?? [], me?.name)
  hint(me)
}

/** Shows who won the round that is over, what everybody did in it, and what comes next. */
function result(world, round, me) {
  const all = round?.over ? readTallies(world) : [], top = all.slice(0, 8), own = all.find(t => t.id === me?.id)
  $("result").hidden = !all.length
  if (!all.length) return
  if (own && !top.includes(own)) top[7] = own
  const [first, second] = all, drawn = first.frags === second?.frags && first.deaths === second.deaths
  set("winner", !first.frags ? "Nobody hit anybody" : drawn ? "A draw" : first === own ? "You win this round" : `${first.name} wins this round`)
  const next = map.maps[(round.level + 1) % map.maps.length]
  set("upnext", `Next round${next && map.maps.length > 1 ? ` on ${next.name}` : ""} in ${Math.ceil(round.left)} s`)
  const rows = $("tallies")
  while (rows.childElementCount > top.length) rows.lastChild.remove()
  while (rows.childElementCount < top.length) rows.append(document.createElement("tr"))
  top.forEach((t, i) => {
    const cells = [t.name || `Player ${t.id}`, t.frags, t.deaths, t.hits, t.shots ? `${Math.round(100 * t.hits / t.shots)} %` : "–"], row = rows.children[i]
    while (row.childElementCount < cells.length) row.append(document.createElement("td"))
    cells.forEach((c, j) => { if (row.children[j].textContent !== String(c)) row.children[j].textContent = c })
    row.className = t === own ? "mine" : ""
  })
}

/** Shows who has the most frags of all time, as the server remembers it: all of them between rounds, else the first three. */
function showBest(all, own) {
  const rows = all.slice().sort((a, b) => a.rank - b.rank), list = $("best").lastElementChild
  $("best").hidden = !rows.length
  $("best").classList.toggle("whole", !$("dead").hidden || g.world.round?.[0]?.phase === 2)
  while (list.childElementCount > rows.length) list.lastChild.remove()
  rows.forEach((r, i) => {
    let row = list.children[i]
    if (!row) {
      row = document.createElement("li")
      row.append(document.createElement("i"), document.createElement("span"), document.createElement("b"))
      list.append(row)
    }
    const [rank, name, frags] = row.children
    if (rank.textContent !== String(r.rank)) rank.textContent = r.rank
    if (name.textContent !== r.name) name.textContent = r.name
    if (frags.textContent !== String(r.frags)) frags.textContent = r.frags
    row.className = r.name === own ? "mine" : ""
    row.title = `at most ${r.round} in one round`
  })
}

/** Shows the weapon in the hands: its rounds, and what the hands do with it. */
function arms(me) {
  set("ammo", String(me.inside))
  set("spare", String(me.beside ?? ""))
  const empty = me.inside === 0 && me.beside === 0
  set("doing", { holster: "Switching", draw: "Switching", reload: "Reloading" }[me.doing] ?? (empty ? "No rounds left" : ""))
  $("arms").classList.toggle("low", me.inside === 0)
  $("arms").classList.toggle("busy", me.doing !== "idle")
  const out = me.doing === "holster" ? me.next : me.weapon
  for (const [i, b] of [...$("slots").children].entries()) b.classList.toggle("out", i + 1 === out)
}

/** Shows how many players the list leaves out. */
function setMore(n) {
  const text = n > 0 ? `and ${n} more` : ""
  const rows = $("scores").firstElementChild
  if (rows.dataset.more !== text) rows.dataset.more = text
}

// Without a connection the last numbers are no longer true, so they are hidden.
setInterval(() => document.body.classList.toggle("offline", g.stats.state === 0 || g.stats.state === 4 || !g.me && !g.follow), 250)

// ---- Who drives, and the hint ------------------------------------------------------------------------------------------

let hintKind = "", takenAt = 0
function hint(me) {
  if (state.bot !== g.autopilot) { // somebody took over from the bot, or gave back to it
    state.bot = g.autopilot
    takenAt = g.now
    remember(state, g.settings)
    controls.show()
  }
  document.body.classList.toggle("bot", g.autopilot)
  const touch = g.touch || matchMedia("(pointer: coarse)").matches
  const kind = !me ? "" : g.autopilot ? "bot" : g.now - takenAt < 9000 ? "keys" : ""
  $("jump").hidden = !touch || !me || g.autopilot
  $("chatbutton").hidden = !touch || !me
  if (kind + touch === hintKind) return
  hintKind = kind + touch
  const box = $("hint")
  const aim = kind === "keys" ? "<kbd>Mouse</kbd> shoot" : "<kbd>Mouse</kbd> aim, click to shoot"
  const keys = touch ? ["<b>Left thumb</b> moves", "<b>right thumb</b> aims and fires"]
    : ["<kbd>W</kbd><kbd>A</kbd><kbd>S</kbd><kbd>D</kbd> move", "<kbd>Space</kbd> jump", aim]
  const more = ["<kbd>Shift</kbd> crouch", "<kbd>R</kbd> reload", "<kbd>F</kbd> blade", "<kbd>V</kbd> shove", "<kbd>E</kbd> door", "<kbd>Enter</kbd> chat"]
  const line = all => all.map(s => `<span>${s}</span>`).join("<i>·</i>")
  if (kind === "bot") box.innerHTML = touch ? "A bot plays for you. Tap to take over.<br>" + line(keys) : line(["A bot plays until you touch a key", ...keys])
  if (kind === "keys") box.innerHTML = line(touch ? keys : [...keys, ...more])
  if (kind) box.hidden = false
  box.classList.toggle("gone", !kind)
}
$("jump").addEventListener("pointerdown", e => { e.preventDefault(); g.keys.press("Space") })
for (const end of ["pointerup", "pointercancel", "pointerleave"]) $("jump").addEventListener(end, () => g.keys.release("Space"))

// ---- The truth ---------------------------------------------------------------------------------------------------------

/**
 * The server's own positions, which bypass every technique and the simulated network: a WebSocket on /truth sends Float32
 * [tick, n, n times id, x, y, z] about thirty times a second. Between two messages the ghosts move on in a straight line.
 */
const truth = {
  wanted: 0, socket: null, at: 0, list: [], timer: 0,

  want(on) {
    this.wanted = on
    clearTimeout(this.timer)
    this.socket?.close()
    this.socket = null
    this.list = []
    if (!on) return
    const url = new URL("/truth", location.href)
    url.protocol = url.protocol.replace("http", "ws")
    url.searchParams.set("room", g.options.room)
    const socket = this.socket = new WebSocket(url)
    socket.binaryType = "arraybuffer"
    socket.onmessage = e => { if (socket === this.socket && e.data.byteLength % 4 === 0) this.take(new Float32Array(e.data)) }
    socket.onclose = () => { if (socket === this.socket) this.timer = setTimeout(() => this.want(this.wanted), 1000) }
  },

  take(f) {
    const now = performance.now(), dt = now - this.at, before = new Map(this.list.map(t => [t.id, t]))
    this.at = now
    this.list = []
    for (let i = 2, n = Math.min(f[1], (f.length - 2) / 4); n > 0; n--, i += 4) {
      const t = { id: f[i], px: f[i + 1], py: f[i + 2], pz: f[i + 3], vx: 0, vy: 0, vz: 0, x: 0, y: 0, z: 0 }, b = before.get(t.id)
      if (b && dt > 5 && Math.hypot(t.px - b.px, t.py - b.py) < 2) {
        t.vx = (t.px - b.px) / dt
        t.vy = (t.py - b.py) / dt
        t.vz = (t.pz - b.pz) / dt
      }
      this.list.push(t)
    }
  },

  now() {
    const ms = Math.min(50, performance.now() - this.at)
    for (const t of this.list) {
      t.x = t.px + t.vx * ms
      t.y = t.py + t.vy * ms
      t.z = Math.max(0, t.pz + t.vz * ms)
    }
    return this.list
  },
}
