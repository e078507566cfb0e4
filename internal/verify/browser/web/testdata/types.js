// Calls that tsc must accept, and calls that it must refuse: each line after @ts-expect-error is a mistake that a page's author
// could make. No test loads this file; tsc --project web/tsconfig.pages.json checks it.
import { join, panel } from "/meanwhile.js"

/** @typedef {import("/meanwhile.js").Vec2} Vec2 */
/** @typedef {{kinds: {pilot: {pos: Vec2}}, avatar: {pos: Vec2}, command: {move: Vec2}, events: {zap: {from: Vec2}}}} Zap */

const canvas = document.querySelector("canvas")
const g = await join({ canvas, view: { width: 40 }, settings: { delayMs: 80, profile: "" } })
g.command = () => ({ move: g.keys.wasd, aim: g.mouse.angleFrom(g.me.pos), fire: g.mouse.pressed })
g.on.zap = zap => g.ctx.fillText(String(zap.key), zap.from.x, zap.from.y)
g.draw = world => world.pilot.forEach(p => g.camera.toWorld(p.pos.x, p.lateMs))
g.autopilot = g.set("delayMs", 100) === ""

panel(g, { title: "Lag", switches: [{ name: "grid", title: "Grid", help: "Draws lines.", on: true, change: on => g.set("packets", on) }] })
  .add(document.createElement("p"), "top")

// @ts-expect-error: there is no such place
panel(g).add(document.createElement("p"), "middle")
// @ts-expect-error: there is no such option
await join({ canvas, vew: { width: 40 } })
// @ts-expect-error: there is no such key
g.keys.wsad
// @ts-expect-error: a setting needs a value
g.set("delayMs")
// @ts-expect-error: the angle is measured from a place
g.mouse.angleFrom(3)
// @ts-expect-error: the page cannot choose the transport after joining
g.transport = "websocket"
// @ts-expect-error: there is no such function to provide
g.drew = () => {}

const typed = /** @type {import("/meanwhile.js").Game<Zap>} */ (/** @type {any} */ (g))
typed.command = () => ({ move: typed.keys.wasd })
typed.draw = world => world.pilot[0].pos.x
// @ts-expect-error: the game has no such event
typed.on.zip = () => {}
// @ts-expect-error: the command has no such field
typed.command = () => ({ mov: typed.keys.wasd })
// @ts-expect-error: positions have two parts
typed.world.pilot[0].pos.z
