// The second screen of the demo: a client of its own in a frame, whom the game's bot plays. Its camera looks at the
// same piece of the world as the page around it. ?raw: on the same simulated network, with prediction and interpolation off.
import { join } from "/meanwhile.js"
import { Scene } from "/scene.js"
import { readDoors, readPlayer, readThings } from "/world.js"

const around = /** @type {any} */ (window.parent), first = around.g
const raw = location.search === "?raw"
const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById("view"))
const NETWORK = ["profile", "delayMs", "jitterMs", "lossPct"]

const settings = raw ? { predict: 0, interpolate: 0 } : {}
const g = /** @type {any} */ (await join({
  // Another address of the configuration: a page keeps its session under it, and this one's is not that of the page around.
  canvas, view: null, autopilot: true, settings, config: "/meanwhile.json?second", panel: false, watch: false,
  name: "Beside", room: first.options.room, code: first.options.code, transport: first.options.transport,
}))
const scene = new Scene(g.ctx), map = await (await fetch("/arena/map.json")).json()
globalThis.eye = scene.eye
scene.build(map)
const seen = new Map(), list = [], things = [], doors = []
let last = 0, path = around.path

g.on.shot = e => scene.shot({ ...e.from }, { ...e.to }, e.hit, false, g.now)
g.on.blast = e => scene.blast({ ...e.at }, 3, g.now)
g.draw = world => {
  for (const name of raw ? NETWORK : []) {
    const want = first.settings[name] ?? (name === "profile" ? "" : 0)
    if ((g.settings[name] ?? (name === "profile" ? "" : 0)) === want) continue
    g.set(name, want)
  }
  if (raw && path !== around.path) { // as the page around does
    path = around.path
    g.connection?.change()
  }
  const { now } = g, dt = Math.min(100, now - (last || now - 16)), watched = first.me?.id
  last = now
  const level = world.round?.[0]?.map ?? 0
  if (level !== (map.level ?? 0)) {
    map.level = level
    scene.build(map)
  }
  list.length = 0
  for (const p of world.player ?? []) {
    let s = seen.get(p.id)
    if (!s) seen.set(p.id, s = {})
    readPlayer(p, s)
    s.mine = p.id === watched // coloured as in the page around
    list.push(s)
  }
  readThings(world, things, g.me?.id)
  readDoors(world, g.stats.tick ?? 0, doors)
  Object.assign(scene.eye, { x: around.eye.x, y: around.eye.y }) // the same piece of the world
  scene.draw({
    width: g.width, height: g.height, now, dt, players: list, things, doors, truth: null, me: watched, cut: false,
    focus: null, lead: { x: 0, y: 0 }, aim: null, crosshair: null,
  })
}
addEventListener("pagehide", () => g.leave()) // a page that is loaded again has another second screen
globalThis.g = g
