// Meanwhile in a browser: join() connects a page to a game. From then on the page draws the world that it is given, once per
// displayed frame, and says what the player wants, once per tick. The game's rules run in the page too, compiled to
// WebAssembly, so the player's own avatar moves at once.
//
//   import { join, panel } from "/meanwhile.js"
//   const g = await join({ canvas, view: { width: 40 } })
//   g.command = () => ({ move: g.keys.wasd, aim: g.mouse.angleFrom(g.me.pos), fire: g.mouse.pressed })
//   g.on.zap = zap => ...        // called once per event
//   g.draw = world => ...        // world.pilot is an array of plain objects, one per entity
//   panel(g)                     // a button for the network panel: F2 opens it in any game, unless join() got panel: false
//
// Axes as on a canvas: x to the right, y down the screen, z up out of it. W is {x: 0, y: -1}. Positions are metres, angles
// radians from +x towards +y (clockwise on the screen), in (-pi, pi]. Instants are milliseconds on the clock of g.now.
//
// join(options) resolves when the server has let the player in.
//   canvas      the canvas to draw on; without a size of its own it fills the window
//   view        {width: 40} shows 40 metres across around the own avatar; {x, y, width, height} always shows this rectangle;
//               null switches the camera off: g.draw gets CSS pixels and the page sets g.camera = {toWorld(x, y)}.
//               background: a colour. grid: false hides the faint lines, one every 5 m
//   name, room, code   of player, match and private room, whose first player chooses it; default: ?name= ?room= ?code=
//   token, credential  a connect token in base64, or what the server's login reads; or a function that returns the next one
//   autopilot   true: the game's bot plays until somebody touches a key, a mouse button or the screen
//   transport   "webtransport" or "websocket" uses only this one; default: whichever answers first
//   settings    {name: value} for the engine, as for g.set; default: the network ?profile=. config: address of the server's answers, default "/meanwhile.json"
//   watch       true: sees the room some time later, without an avatar, from where entity g.follow is; default: ?watch
//
// The page provides these:
//   g.command() returns the command of the next tick; a missing field is zero. Not called without an avatar or on autopilot
//   g.draw(world) draws one frame. world has one array per kind, as g.world
//   g.on.<event>(e) handles an event: its fields, e.key (unique), e.entity (who caused it, 0: nobody), e.mine
//   g.on.receipt(e) shows how the server judged a shot of one's own: e.target, e.hit, e.reason, e.seen and e.used (where the
//     target was on the screen, and where it was judged), e.offMm (between the two). Each of these three may be undefined
//   g.on.<message>(m, from, tick) handles a message of the rules: its fields, who caused it (0: nobody), when it was sent
//   g.undo.<event>(e) takes back an event of the same key that was shown as predicted and has not happened
// and reads these:
//   g.ctx g.canvas g.width g.height   2D context; size of the canvas in CSS pixels
//   g.world g.me g.now                entities by kind; the own avatar or undefined; instant of this frame
//   g.offset                          {x, y, z}: how far g.me is drawn from where the rules have it
//   g.keys     wasd, space, shift, has("KeyE"): down now, or pressed since the last command; press(code) release(code)
//   g.mouse    x, y (CSS pixels), pos (metres), pressed, right, angleFrom(pos), stick (direction of the aiming finger, or null)
//   g.camera   toWorld(x, y) and toScreen(pos); x and y in the middle of the canvas; scale in CSS pixels per metre
//   g.stats g.packets                 measurements; the datagrams since the last frame, if setting packets is 1
//   g.transport g.layout g.autopilot  "webtransport", "websocket" or "" while offline; what the game is made of; who plays
//   g.send(name, fields)              sends a message to the rules, once and in order; returns "" or why it was not sent
//   await g.request(name, fields)     asks the rules: returns the answer's fields, or fails with the sentence of a refusal
//   g.set(name, value) g.leave()      changes a setting, returns "" or why it was refused; leaves for good
//   g.desyncs() await g.report()      texts about wrong predictions; saves this moment on the server for replays: {name, log}
//
// An entity has its properties and id, mine, predicted (drawn at command time), cut (teleported since the last frame),
// stalled (drawn without a newer record: it stands still), lateMs (drawn later than the others by this much, because its
// records come seldom) and intervalMs (mean time between its newest records, or since the newest one; 0: it rests). vec2 is {x, y}, vec3 {x, y, z}, view {yaw, pitch}, quat {x, y, z, w}, an enum its word, bytes an
// array. A property that this player may not know is undefined. The object stays the same while the entity exists.
//
// In g.command, g.me is the eye: the newest predicted tick, from which the rules aim. In g.draw, g.me is what is drawn, and so
// is the camera: after a misprediction they are g.offset away from the eye, which fades. To hit what is under the crosshair,
// aim in g.command from g.me.pos at the place that the crosshair covers, as g.mouse.angleFrom does; a camera of your own
// follows g.me.pos as drawn.
// On a touch screen the left half moves; the right half aims by dragging and fires by dragging far, or by a tap at the place.
// Types for an editor: meanwhile.d.ts. Settings, measurements and /meanwhile.json: docs/BRIDGE.md.
import { PageGame } from "./meanwhile/game.js"

/**
 * Connects the page to a game.
 * @type {typeof import("./meanwhile.d.ts").join}
 */
export async function join(options) {
  const g = new PageGame(options)
  try {
    await g.begin()
  } catch (e) {
    g.fail(e)
    throw e
  }
  return /** @type {any} */ (g)
}

/**
 * Offers the network panel of a game.
 * @type {typeof import("./meanwhile.d.ts").panel}
 */
export function panel(game, options = {}) {
  return /** @type {any} */ (game).opener.offer(options)
}
