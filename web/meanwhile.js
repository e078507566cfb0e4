// Meanwhile in a browser: join() connects a page to a game and hands it the world to draw, sixty times a
// second, and asks it for a command, once per tick. The game's rules run here too, compiled to WebAssembly.
//
//   import { join } from "/meanwhile.js"
//   const g = await join({ canvas, view: { width: 40 } })
//   g.command = () => ({ move: g.keys.wasd, aim: g.mouse.angleFrom(g.me.pos), fire: g.mouse.pressed })
//   g.on.zap = zap => ...          // once per event, never again in a replay
//   g.draw = world => ...          // world.pilot is an array of plain objects, one per entity
//
// THE PAGE'S SIDE
//
// Axes: x to the right, y *down* the screen, z up out of it, as Canvas 2D has x and y, so that text drawn in metres
// is readable. Angles are radians from +x towards +y (clockwise on the screen), in (-pi, pi]. keys.wasd is {x: 0, y: -1} for W.
//
// join(options) resolves when the server has welcomed us.
//   canvas     where to draw; given no size by the page it fills the window
//   view       {width: 40}: forty metres across, centred on the own avatar; {x, y, width, height}: this rectangle,
//              always whole; null: no camera, g.draw gets CSS pixels and sets g.camera = {toWorld(x, y)} itself.
//              background: colour; grid: false leaves the faint lines out (one every 5 m)
//   name room  default: ?name= and ?room= of the page's address
//   autopilot  true: the game's bot drives until someone touches a key, the mouse button or the screen
//   transport  "webtransport" or "websocket": only this one
//   settings   {name: value} for the engine, see setting() below
//   config     address of the configuration, default "/meanwhile.json"
//
// g.ctx g.canvas g.width g.height    the 2D context; the canvas' size in CSS pixels
// g.world g.me g.now                 arrays by kind; the own avatar or undefined; instant of this frame in ms
// g.command g.draw g.on g.undo       what the page provides. g.on.<event>(e) gets a new object each time; g.undo.<event>(e)
//                                    is told, with the same e.key, when a predicted event turns out not to have happened
// g.keys                             wasd, space, shift, has("KeyE"): held, or tapped since the last command
// g.mouse                            x, y (CSS px), pos (metres), pressed, right, angleFrom(pos), stick
// g.camera g.stats g.packets         see Camera and "draw" below
// g.transport g.layout g.autopilot   "webtransport" or "websocket"; what the game is made of; who drives
// g.set(name, value)                 a setting; returns the refusal's sentence or ""
// g.leave()                          goes away for good
// Each entity has id, mine, cut (moved without a way since the last frame: a teleport), predicted, lateMs (drawn so much later than
// playout time) and its properties;
// vec2 is {x, y}, vec3 {x, y, z}, view {yaw, pitch}, quat {x, y, z, w}, enum its word, bytes an array. A property that this client may not know is undefined. The object of an entity stays
// the same as long as the entity is here. During g.command g.me holds the newest predicted tick, during g.draw what is drawn.
// On a touch screen the left half moves, the right half aims (drag) and fires (drag far, or tap a place).
//
// THE SERVER'S SIDE: /meanwhile.json
//
// Asked for when the page opens, with ?room= if there is one, and again before each reconnection (certificates rotate):
//   game          its name
//   schema        any text that differs when the page and the server could not play together; a changed one reloads the page
//   wasm          address of the program, for example "/zap.wasm"; wasmBytes its size as the page sees it (unpacked), for the
//                 progress bar; exec Go's wasm_exec.js, default "/wasm_exec.js"
//   webtransport  {url, hashes: [SHA-256 of a certificate, as hex, base64 or an array of bytes]}, or null
//   websocket     url, or null. Both urls may be whole, a path of this server, or ":port/path" on this host
//   truth         true: /truth tells where the server has everybody
//   local         true: no transport at all, the engine plays alone
//   engine        address of a JavaScript module whose boot(config) returns an engine, in place of WebAssembly
// An answer other than 200 is shown to the person: its first line, as plain text. Serve every file with the headers
// Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp, or the browser makes its clock coarse.
//
// THE ENGINE'S SIDE: THE BRIDGE, VERSION 1
//
// The engine is a Go program compiled to WebAssembly. Before its main first blocks it sets the global __meanwhile to an
// object with the functions below; the page takes it away at once, so a page can run several engines. All are synchronous
// and run on the page's thread. Instants are milliseconds (float64) since the page's epoch, on a clock that Worker and page
// share; the engine's clock.Time is that times 1e6. Uint8Arrays given by the page are valid during the call only. Errors are
// sentences for a person to read; none is thrown. A panic ends the engine; the page then shows the panic's first line.
//
//   start(config, send, message) -> {error: string, layout: string}
//       config: JSON {bridge: 1, game, room, name, epochMs, settings: {name: value}}; epochMs is Unix ms, whole.
//       send(bytes: Uint8Array, releaseMs, stamped) is called by the engine to send a datagram of at most 1150 B: the array is
//           the page's from then on. The Worker holds it until releaseMs (0: at once) and, unless stamped, writes the uint32
//           LE microseconds of its clock at offset 5 right before the socket gets it.
//       message(bytes: Uint8Array) sends a message on the reliable stream.
//       layout: JSON {game, rate, kinds: [{name, properties: [field]}], events: [{name, fields: [field]}],
//           command: [field], stats: [name], profiles: [{name, title, delayMs, jitterMs, lossPct}]}
//           field {name, type}; type is vec2 (2 floats), vec3 (3), view (2: yaw, pitch), quat (3: x, y, z of the one whose w is not
//           negative), angle, number, bool, text (1 each), enum (1, with names: [word]), bytes (with length n: k = ceil(n/4) floats
//           of ceil(n/k) bytes each, the first byte lowest), in commands also press (1). Names are as JavaScript sees them: pos, not Pos. rate is ticks per second. stats and profiles may be empty.
//   hello() -> Uint8Array         the first stream message of the next connection, with what is needed to resume. A race may
//                                 send it on two transports, the second one later: same bytes, so the same player.
//   welcome(bytes, transport, nowMs) -> {error: string, retryMs: number}     the first stream message from the server.
//                                 error "" = joined; retryMs 0 = do not try again (another version: the sentence says what differs)
//   message(bytes) -> string      every later stream message; "" or undefined, or why the server sends us away for good
//   lost(nowMs)                   the connection closed; the page is making another
//   dropped(seq)                  the datagram with this sequence number (offset 3, uint16 LE) never left the browser: not a loss on
//                                 the path. May be missing
//   receive(bytes, arrivalMs)     queues a datagram, applied by the next frame; arrivalMs may be later than that frame's nowMs
//   frame(nowMs, shownMs) -> due  takes packets in, advances the timelines; due = commands to ask for now. shownMs <= nowMs is the
//                                 display's own time of this frame: evenly spaced, so the better one to draw by. In a hidden tab
//                                 (setting away is then 1) it is called about once a second: keep-alives go out from here
//   me(into) -> floats            the own avatar as of the newest predicted tick: kind's index, id, flags, values; 0 = none
//   tick(command)                 runs one command: float 0 = instant of the first press in it (0: none), then the fields' floats.
//                                 All zero when there is no avatar. With autopilot on, the engine asks the game's bot instead
//   draw(into) -> floats needed   the world as it is drawn now. More than fits: nothing is written, nothing consumed, and the page
//                                 calls again with a larger array. Floats, little-endian float64:
//       0 version 1 | 1 floats in all | 2 own id, 0 = none | 3 version of texts | 4 stats S | 5 kinds K | 6 events E | 7 packets P
//       S stats, in the order of layout.stats
//       K times, in the order of layout.kinds: n, then n times id, flags, values; sorted by id
//           flags: 1 mine, 2 cut, 4 predicted (drawn in command time), 8 held (drawn past its newest record), plus 16 times the
//           whole milliseconds by which it is drawn later than the others, since its records come seldom (lateMs)
//           a text's value is an index into texts; NaN = this client may not know it
//       E times: index of the event, key, entity id (0 = none), flags (1 mine, 2 taken back), values; each is written by one draw only
//           and what happened while the tab was hidden by none
//       P times: direction (0 down, 1 up), sentMs, arrivedMs (NaN = lost, where known), bytes; for the demo's timelines, at most
//           256 a frame, none unless setting packets is 1
//   texts() -> JSON [string]      asked for when its version changes; index 0 is ""
//   setting(name, value) -> string  "" or why it was refused. value is number or string. Names that the page and the demo use:
//       away 0|1  autopilot 0|1  packets 0|1
//       delayMs jitterMs lossPct (each direction; loss in bursts of mean 1)  profile (name of layout.profiles; "" = by the sliders)
//       outageMs (for so long from now nothing gets through in either direction)
//       playoutMs (0 = automatic)  predict 0|1  interpolate 0|1  lagcomp 0|1
//   leave(nowMs)                  the page goes: tell the server (through send), so that nobody waits for us
//
// Stats (of layout.stats; units in the name, any may be missing; instants of timelines are on the page's clock):
//   tick, periodMs                newest known server tick; its length now
//   commandMs serverMs newestMs playoutMs     where the four timelines are: a tick run at the server at time s (estimated, on the
//                                 page's clock) has instant s. serverMs is "now" at the server, commandMs ahead of it, newestMs the
//                                 newest record that has arrived, playoutMs what is drawn of others
//   rttMs rttMinMs clockBoundMs   round trip smoothed and least; error bound of serverMs, whatever the path does
//   clockEstimatedMs              the same while the rates of both clocks change slowly: narrower where the path has become worse
//   delayMs ageMs leadMs          playout delay = serverMs - playoutMs, at least the age while others stand still; age of the
//                                 newest record; command lead
//   downBps upBps                 bytes in the last second, 42 per datagram included
//   corrections correctionCm      mispredictions so far; the fading error of the own avatar now
//   hitches starved               drawn without a record to draw towards, so far; commands that came too late, so far
//   state                         0 connecting, 1 playing, 2 away, 3 silent (nothing for 0.7 s), 4 lost (give up this connection)
//   silentMs                      since the last datagram
//   targetMs                      playout delay aimed at, above the path's least
//   entityHitches                 of single entities, which stood still though records of others came, so far
//   upCarriesBps                  bytes a second that the way up carries, as far as is known, and at most what is needed

const BRIDGE = 1
const PARTS = { vec2: ["x", "y"], vec3: ["x", "y", "z"], view: ["yaw", "pitch"], quat: ["x", "y", "z"] }
const SIZES = { vec2: 2, vec3: 3, view: 2, quat: 3, angle: 1, number: 1, bool: 1, text: 1, enum: 1, bytes: 0, press: 1 }
const HEADER = 8
const MINE = 1, CUT = 2, PREDICTED = 4, HELD = 8
const TAKEN_BACK = 2
const SILENT = 3, LOST = 4
const RETRY_MS = [0, 250, 500, 1000, 2000, 4000]
/** How long the winner of a race is believed to win the next one. */
const REMEMBER_MS = 10 * 60_000
/** How long it is said that there was silence. */
const NOTE_MS = 1200
/** Beats of a hidden tab; browsers stretch them to a second or more. */
const AWAY_BEAT_MS = 500

/** Notes how far the start has come, for the browser's own tools and for meanwhile bench page. */
const reached = step => performance.mark(`meanwhile ${step}`)

const epochMs = Math.floor(performance.timeOrigin + performance.now())
const clock = () => performance.timeOrigin - epochMs + performance.now()

/** An error whose message is a sentence for the person in front of the page. */
class Sentence extends Error {}

export async function join(options) {
  const g = new Game(options)
  try {
    await g.begin()
  } catch (e) {
    g.fail(e)
    throw e
  }
  return g
}

// ---- Layout: plain objects from floats -------------------------------------------------------------------------------

/** Reads and makes the values of a list of fields. */
class Fields {
  constructor(list) {
    this.list = list
    this.size = 0
    for (const { name, type, length } of list) {
      if (!(type in SIZES)) throw new Sentence(`The engine describes ${name} as ${type}, which this page does not know. Reload the page.`)
      this.size += type === "bytes" ? Math.ceil(length / 4) : SIZES[type]
    }
  }

  /** Writes the values at floats[at...] into object, in place. */
  read(object, floats, at, texts) {
    for (const { name, type, names, length } of this.list) {
      const v = floats[at], parts = PARTS[type]
      if (type === "bytes") {
        const words = Math.ceil(length / 4), width = Math.ceil(length / words)
        object[name] = v !== v ? undefined : Array.from({ length }, (_, i) => floats[at + Math.floor(i / width)] >>> 8 * (i % width) & 255)
        at += words
        continue
      }
      if (v !== v) object[name] = undefined
      else if (parts) {
        const p = object[name] ??= {}
        for (let i = 0; i < parts.length; i++) p[parts[i]] = floats[at + i]
        if (type === "quat") p.w = Math.sqrt(Math.max(0, 1 - p.x * p.x - p.y * p.y - p.z * p.z))
      } else object[name] = type === "bool" ? v !== 0 : type === "text" ? texts[v] ?? "" : type === "enum" ? names[v] : v
      at += SIZES[type]
    }
    return at
  }

  /** Writes a command into floats[at...]; what is missing is zero. Returns the name of a field that is no number, or "". */
  write(object, floats, at) {
    let bad = ""
    const put = (v, name) => {
      v = +(v ?? 0)
      if (v !== v) { bad = name; v = 0 }
      floats[at++] = v
    }
    for (const { name, type, names, length } of this.list) {
      const v = object[name]
      if (type === "bytes") {
        const words = Math.ceil(length / 4), width = Math.ceil(length / words)
        for (let w = 0; w < words; w++) {
          let sum = 0
          for (let i = 0; i < width && w * width + i < length; i++) sum += (v?.[w * width + i] & 255) * 256 ** i
          put(sum, name)
        }
      } else if (type === "quat") {
        const n = Math.hypot(v?.x ?? 0, v?.y ?? 0, v?.z ?? 0, v?.w ?? 0) * (v?.w < 0 ? -1 : 1) || 1
        for (const part of PARTS.quat) put((v?.[part] ?? 0) / n, name)
      } else if (PARTS[type]) for (const part of PARTS[type]) put(v?.[part], name)
      else put(type === "enum" && typeof v === "string" ? (names.includes(v) ? names.indexOf(v) : NaN) : v, name)
    }
    return bad
  }
}

/** The world of one page: what draw() filled in, as objects that stay. */
class World {
  constructor(layout) {
    this.kinds = layout.kinds.map(k => ({ name: k.name, fields: new Fields(k.properties), list: [], known: new Map() }))
    this.events = layout.events.map(e => ({ name: e.name, fields: new Fields(e.fields) }))
    this.statNames = layout.stats
    this.lists = Object.fromEntries(this.kinds.map(k => [k.name, k.list]))
    this.stats = Object.fromEntries(layout.stats.map(name => [name, 0]))
    this.packets = []
    this.texts = [""]
    this.textsVersion = 0
    this.me = undefined
    this.meKind = null
    this.frame = 0
  }

  /** Takes one draw(). Returns the events in it. */
  take(floats, texts) {
    if (floats[0] !== BRIDGE) throw new Sentence(`The engine speaks version ${floats[0]} of the bridge, this page version ${BRIDGE}. Reload the page.`)
    if (floats[3] !== this.textsVersion) {
      this.texts = JSON.parse(texts())
      this.textsVersion = floats[3]
    }
    const frame = ++this.frame
    let at = HEADER
    const stats = Math.min(floats[4], this.statNames.length)
    for (let i = 0; i < stats; i++) this.stats[this.statNames[i]] = floats[at + i]
    at += floats[4]
    this.me = undefined
    for (const kind of this.kinds) {
      const n = floats[at++], { list, known, fields } = kind
      list.length = n
      for (let i = 0; i < n; i++) {
        const id = floats[at++], flags = floats[at++]
        let entry = known.get(id)
        if (!entry) known.set(id, entry = { object: { id, mine: false, cut: false, predicted: false, held: false, lateMs: 0 }, frame })
        entry.frame = frame
        const object = entry.object
        this.flag(object, flags)
        at = fields.read(object, floats, at, this.texts)
        list[i] = object
        if (flags & MINE && !this.me) {
          this.me = object
          this.meKind = kind
        }
      }
      if (known.size > n) for (const [id, entry] of known) if (entry.frame !== frame) known.delete(id)
    }
    const events = []
    for (let i = 0; i < floats[6]; i++) {
      const kind = this.events[floats[at]]
      const e = { key: floats[at + 1], entity: floats[at + 2], mine: (floats[at + 3] & MINE) !== 0 }
      const back = (floats[at + 3] & TAKEN_BACK) !== 0
      at = kind.fields.read(e, floats, at + 4, this.texts)
      events.push(kind.name, e, back)
    }
    this.packets.length = 0
    for (let i = 0; i < floats[7]; i++, at += 4) {
      this.packets.push({ up: floats[at] === 1, sentMs: floats[at + 1], arrivedMs: floats[at + 2], bytes: floats[at + 3] })
    }
    return events
  }

  /** Takes one me(): the own avatar as of the newest predicted tick. */
  takeMe(floats, n) {
    if (n < 3) return (this.me = undefined)
    const kind = this.kinds[floats[0]], entry = kind.known.get(floats[1])
    if (!entry) return // it has not been drawn yet
    this.me = entry.object
    this.meKind = kind
    this.flag(entry.object, floats[2])
    kind.fields.read(entry.object, floats, 3, this.texts)
  }

  flag(object, flags) {
    object.mine = (flags & MINE) !== 0
    object.cut = (flags & CUT) !== 0
    object.predicted = (flags & PREDICTED) !== 0
    object.held = (flags & HELD) !== 0
    object.lateMs = flags >> 4
  }
}

// ---- Camera -----------------------------------------------------------------------------------------------------------

/** Metres to CSS pixels, seen straight from above. scale: CSS pixels a metre; x, y: the metres in the middle of the canvas. */
class Camera {
  constructor(view) {
    this.view = { width: 40, ...view }
    this.x = this.y = 0
    this.scale = 1
    this.width = this.height = 1
  }

  /** Aims for this frame; the size is in CSS pixels. */
  set(width, height, me) {
    const v = this.view
    this.width = width
    this.height = height
    this.scale = v.height ? Math.min(width / v.width, height / v.height) : width / v.width
    if (v.x !== undefined) {
      this.x = v.x + v.width / 2
      this.y = (v.y ?? 0) + (v.height ?? height / this.scale) / 2
    } else if (me?.pos) {
      this.x = me.pos.x
      this.y = me.pos.y
    }
  }

  toWorld(x, y) { return { x: this.x + (x - this.width / 2) / this.scale, y: this.y + (y - this.height / 2) / this.scale } }
  toScreen(pos) { return { x: this.width / 2 + (pos.x - this.x) * this.scale, y: this.height / 2 + (pos.y - this.y) * this.scale } }

  /** Clears and sets metres as units. */
  apply(ctx, ratio) {
    const s = this.scale * ratio, v = this.view
    ctx.setTransform(1, 0, 0, 1, 0, 0)
    ctx.fillStyle = v.background ?? "#0b0f14"
    ctx.fillRect(0, 0, ctx.canvas.width, ctx.canvas.height)
    ctx.setTransform(s, 0, 0, s, this.width * ratio / 2 - this.x * s, this.height * ratio / 2 - this.y * s)
    if (v.grid === false) return
    const w = this.width / this.scale / 2, h = this.height / this.scale / 2, step = 5
    ctx.strokeStyle = "rgba(160, 190, 230, 0.07)"
    ctx.lineWidth = 1 / this.scale
    ctx.beginPath()
    for (let x = Math.ceil((this.x - w) / step) * step; x <= this.x + w; x += step) { ctx.moveTo(x, this.y - h); ctx.lineTo(x, this.y + h) }
    for (let y = Math.ceil((this.y - h) / step) * step; y <= this.y + h; y += step) { ctx.moveTo(this.x - w, y); ctx.lineTo(this.x + w, y) }
    ctx.stroke()
  }
}

// ---- Input ------------------------------------------------------------------------------------------------------------

const MOVES = { KeyW: [0, -1], ArrowUp: [0, -1], KeyS: [0, 1], ArrowDown: [0, 1], KeyA: [-1, 0], ArrowLeft: [-1, 0], KeyD: [1, 0], ArrowRight: [1, 0] }
const STICK_PX = 52, FIRE_PX = 26, TAP_PX = 12, TAP_MS = 220

/** Keys, mouse and touch. A press that begins and ends between two commands is kept for the next one. */
class Input {
  constructor(canvas, game) {
    this.held = new Set()
    this.tapped = new Set()
    this.pressMs = 0 // when the first press since the last command began
    this.x = this.y = 0
    this.touch = false // the last pointer was a finger
    this.move = this.aim = null // fingers on the sticks: {id, x0, y0, x, y, ms, far}
    const stop = new AbortController(), on = (target, type, f, more) => target.addEventListener(type, f, { signal: stop.signal, ...more })
    this.stop = () => stop.abort()
    const self = this
    this.keys = {
      has: code => self.held.has(code) || self.tapped.has(code),
      get wasd() { return self.wasd() },
      get space() { return this.has("Space") },
      get shift() { return this.has("ShiftLeft") || this.has("ShiftRight") },
      /** For buttons on the page: press("Space"), release("Space"). */
      press: code => self.press(code),
      release: code => self.held.delete(code),
    }
    this.mouse = {
      get x() { return self.x },
      get y() { return self.y },
      get pos() {
        if (!this.stick || !game.me?.pos) return game.camera.toWorld(self.x, self.y)
        return { x: game.me.pos.x + 5 * this.stick.x, y: game.me.pos.y + 5 * this.stick.y }
      },
      get pressed() { return self.has("Mouse0") },
      get right() { return self.has("Mouse2") },
      /** Direction of the finger that aims, as {x, y} of length at most 1, or null when the pointer itself aims. */
      get stick() { return self.stick },
      angleFrom(pos) {
        if (this.stick) return Math.atan2(this.stick.y, this.stick.x)
        const p = game.camera.toWorld(self.x, self.y)
        return Math.atan2(p.y - pos.y, p.x - pos.x)
      },
    }
    this.has = this.keys.has
    this.stick = null
    this.onuse = () => {}

    // Text fields keep all keys, other controls of the page those that work them.
    const taken = e => e.target.matches?.("textarea, select, [contenteditable], input:not([type=range], [type=checkbox], [type=radio], [type=button])")
      || e.target.matches?.("input, button, a") && /^(Space|Enter|Arrow)/.test(e.code)
    on(window, "keydown", e => {
      if (e.ctrlKey || e.metaKey || e.altKey || taken(e)) return
      if (e.code === "Space" || e.code.startsWith("Arrow")) e.preventDefault()
      if (e.repeat || /^(Control|Alt|Meta|F\d|Escape|Tab)/.test(e.code)) return
      this.press(e.code, e.timeStamp)
      this.onuse()
    })
    on(window, "keyup", e => this.held.delete(e.code))
    on(window, "blur", () => this.clear())
    on(canvas, "contextmenu", e => e.preventDefault())
    canvas.style.touchAction = "none"
    const place = e => {
      const box = canvas.getBoundingClientRect()
      return [e.clientX - box.left, e.clientY - box.top]
    }
    on(window, "pointermove", e => {
      const [x, y] = place(e)
      if (e.pointerType !== "touch") {
        this.touch = false
        this.stick = null
        this.x = x
        this.y = y
        return
      }
      for (const finger of [this.move, this.aim]) if (finger?.id === e.pointerId) {
        finger.x = x
        finger.y = y
        if (Math.hypot(x - finger.x0, y - finger.y0) > TAP_PX) finger.far = true
      }
      if (this.aim?.id === e.pointerId && this.aim.far) {
        this.stick = reach(this.aim)
        if (Math.hypot(x - this.aim.x0, y - this.aim.y0) > FIRE_PX) { if (!this.held.has("Mouse0")) this.press("Mouse0", e.timeStamp) }
        else this.held.delete("Mouse0")
      }
    })
    on(canvas, "pointerdown", e => {
      e.preventDefault()
      document.activeElement?.blur?.()
      this.onuse()
      const [x, y] = place(e)
      if (e.pointerType !== "touch") {
        this.x = x
        this.y = y
        this.stick = null
        return this.press("Mouse" + e.button, e.timeStamp)
      }
      this.touch = true
      const finger = { id: e.pointerId, x0: x, y0: y, x, y, ms: e.timeStamp, far: false }
      if (x < game.width / 2 && !this.move) this.move = finger
      else if (!this.aim) this.aim = finger
    })
    const up = e => {
      if (e.pointerType !== "touch") return this.held.delete("Mouse" + e.button)
      if (this.aim?.id === e.pointerId) {
        this.held.delete("Mouse0")
        if (!this.aim.far && e.timeStamp - this.aim.ms < TAP_MS && e.type === "pointerup") {
          this.stick = null
          this.x = this.aim.x
          this.y = this.aim.y
          this.tap("Mouse0", e.timeStamp)
        }
        this.aim = null
      }
      if (this.move?.id === e.pointerId) this.move = null
    }
    on(window, "pointerup", up)
    on(window, "pointercancel", up)
  }

  press(code, timeStamp = performance.now()) {
    this.held.add(code)
    this.tap(code, timeStamp)
  }
  tap(code, timeStamp) {
    this.tapped.add(code)
    this.pressMs ||= Math.min(clock(), performance.timeOrigin - epochMs + timeStamp)
  }
  /** After each command: what was tapped has been said. */
  said() {
    this.tapped.clear()
    this.pressMs = 0
  }
  clear() {
    this.held.clear()
    this.tapped.clear()
    this.move = this.aim = null
  }
  wasd() {
    if (this.move) return reach(this.move)
    let x = 0, y = 0
    for (const code in MOVES) if (this.has(code)) { x += MOVES[code][0]; y += MOVES[code][1] }
    x = Math.sign(x)
    y = Math.sign(y)
    return x && y ? { x: x * Math.SQRT1_2, y: y * Math.SQRT1_2 } : { x, y }
  }

  /** The sticks under the fingers, in CSS pixels. */
  draw(ctx) {
    for (const f of [this.move, this.aim]) if (f) {
      const d = reach(f)
      ctx.fillStyle = "rgba(215, 222, 232, 0.08)"
      ctx.strokeStyle = "rgba(215, 222, 232, 0.22)"
      ctx.lineWidth = 1.5
      ctx.beginPath()
      ctx.arc(f.x0, f.y0, STICK_PX, 0, 7)
      ctx.fill()
      ctx.stroke()
      ctx.fillStyle = "rgba(215, 222, 232, 0.35)"
      ctx.beginPath()
      ctx.arc(f.x0 + d.x * STICK_PX, f.y0 + d.y * STICK_PX, 20, 0, 7)
      ctx.fill()
    }
  }
}

function reach(finger) {
  let x = (finger.x - finger.x0) / STICK_PX, y = (finger.y - finger.y0) / STICK_PX
  const len = Math.hypot(x, y)
  if (len > 1) { x /= len; y /= len }
  return { x, y }
}

// ---- What the page says in words -------------------------------------------------------------------------------------

const NOTICE_CSS = `
.meanwhile-notice { position: fixed; z-index: 10; display: flex; align-items: center; justify-content: center; pointer-events: none;
  font: 15px/1.5 -apple-system, BlinkMacSystemFont, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; color: #d7dee8; transition: opacity .25s; }
.meanwhile-notice.quiet { opacity: 0; }
.meanwhile-notice > div { box-sizing: border-box; max-width: min(30em, 90%); text-align: center; }
.meanwhile-notice.veil { background: rgba(11, 15, 20, .82); }
.meanwhile-notice.banner { align-items: flex-start; }
.meanwhile-notice.banner > div { margin-top: 14px; padding: 7px 16px; border-radius: 99px; background: rgba(11, 15, 20, .88); border: 1px solid rgba(255, 93, 115, .5); font-size: 13px; }
.meanwhile-notice p { margin: 0; text-wrap: balance; }
.meanwhile-notice p + p { margin-top: .5em; font-size: 13px; color: #8593a6; }
.meanwhile-notice .bar { height: 3px; width: 220px; margin: 14px auto 0; border-radius: 2px; overflow: hidden; background: rgba(215, 222, 232, .14); }
.meanwhile-notice .bar i { display: block; height: 100%; border-radius: 2px; background: #56b4e9; transition: width .12s; }
.meanwhile-notice .bar.unknown i { width: 30% !important; animation: meanwhile-run 1.1s ease-in-out infinite alternate; }
@keyframes meanwhile-run { from { margin-left: 0 } to { margin-left: 70% } }
.meanwhile-notice button { pointer-events: auto; margin-top: 16px; padding: 7px 18px; font: inherit; font-size: 14px; color: #0b0f14; background: #d7dee8; border: 0; border-radius: 6px; cursor: pointer; }
`

/** One notice over the canvas: a veil with a sentence (nothing to see behind it), or a banner above the world. */
class Notice {
  constructor(canvas) {
    this.canvas = canvas
    if (!document.getElementById("meanwhile-style")) {
      const style = document.createElement("style")
      style.id = "meanwhile-style"
      style.textContent = NOTICE_CSS
      document.head.append(style)
    }
    this.box = document.createElement("div")
    this.box.className = "meanwhile-notice quiet"
    this.box.setAttribute("role", "status")
    this.box.innerHTML = "<div><p></p><p></p><div class=bar hidden><i></i></div><button hidden>Reload</button></div>";
    [this.first, this.second] = this.box.querySelectorAll("p")
    this.bar = this.box.querySelector(".bar")
    this.button = this.box.querySelector("button")
    this.button.onclick = () => location.reload()
    document.body.append(this.box)
    this.text = ""
  }

  place() {
    const { left, top, width, height } = this.canvas.getBoundingClientRect()
    Object.assign(this.box.style, { left: left + "px", top: top + "px", width: width + "px", height: height + "px" })
  }
  show(kind, first, { second = "", progress, reload = false } = {}) {
    this.text = first
    this.box.className = `meanwhile-notice ${kind}`
    this.first.textContent = first
    this.second.textContent = second
    this.second.hidden = !second
    this.button.hidden = !reload
    this.bar.hidden = progress === undefined
    this.bar.classList.toggle("unknown", progress === null)
    if (progress != null) this.bar.firstChild.style.width = `${Math.round(100 * Math.min(1, progress))}%`
    this.place()
  }
  hide() {
    if (!this.text) return
    this.text = ""
    this.box.classList.add("quiet")
  }
}

// ---- The engine -------------------------------------------------------------------------------------------------------

/** Fetches and starts the engine; progress gets 0..1, or null when nobody says how long it is. */
async function startEngine(config, progress) {
  if (config.engine) return (await import(new URL(config.engine, location.href))).boot(config) // a module in place of WebAssembly
  if (typeof WebAssembly === "undefined") throw new Sentence("This browser cannot run WebAssembly, which the game is made of.")
  const fetched = fetch(config.wasm)
  fetched.catch(() => {}) // it is waited for below
  await import(new URL(config.exec ?? "/wasm_exec.js", location.href))
  const lines = [], write = globalThis.fs.writeSync
  globalThis.fs.writeSync = (fd, bytes) => { // the panic's first line is worth showing
    const text = new TextDecoder().decode(bytes)
    if (lines.length < 40) lines.push(text)
    return write(fd, bytes)
  }
  const response = await fetched
  if (!response.ok) throw new Sentence(`The game's program ${config.wasm} could not be loaded (${response.status} ${response.statusText}).`)
  const total = config.wasmBytes || (response.headers.get("Content-Encoding") ? 0 : +response.headers.get("Content-Length"))
  const count = async reader => {
    for (let got = 0; ;) {
      const { value, done } = await reader.read()
      if (done) return
      progress(total ? (got += value.byteLength) / total : null)
    }
  }
  count(response.clone().body.getReader()).catch(() => {})
  const go = new globalThis.Go()
  const { instance } = await WebAssembly.instantiateStreaming(response, go.importObject)
  reached("compiled")
  delete globalThis.__meanwhile
  go.run(instance)
  reached("started")
  const engine = globalThis.__meanwhile
  delete globalThis.__meanwhile
  if (!engine) throw new Sentence("The game's program started, but did not offer itself to this page.")
  engine.lastWords = () => /(panic: .*|fatal error: .*)/.exec(lines.join(""))?.[1] ?? ""
  return engine
}

// ---- The connection ---------------------------------------------------------------------------------------------------

/** Keeps a connection: races, welcomes, loses, comes back. */
class Connection {
  constructor(game) {
    this.game = game
    this.attempts = 0
    this.n = 0
    this.transport = "" // of the open connection, "" while there is none
    this.everJoined = false
    this.timer = 0
    this.dropped = {}
    this.worker = new Worker(new URL("./transport.js", import.meta.url), { type: "module" })
    this.worker.onmessage = e => this.heard(e.data)
    this.worker.onerror = e => game.fail(new Sentence(`The page's transport could not start (${e.message || "no module Workers in this browser"}).`))
    this.joined = new Promise((resolve, reject) => { this.resolve = resolve; this.reject = reject })
    window.addEventListener("online", () => this.hurry())
  }

  /** Compares the clocks of both threads: some browsers give them different origins. Keeps the closest of a few. */
  async compareClocks() {
    let best = null
    for (let i = 0; i < 5; i++) {
      const { sent, now } = await new Promise(resolve => {
        this.onclock = resolve
        this.worker.postMessage({ do: "clock", epochMs, sent: clock() })
      })
      const back = clock(), trip = back - sent
      if (!best || trip < best.trip) best = { trip, skew: now - (sent + back) / 2 }
    }
    this.skew = Math.abs(best.skew) > best.trip / 2 + 0.1 ? best.skew : 0
  }

  /** Tries to connect now. */
  async attempt() {
    clearTimeout(this.timer)
    this.timer = 0
    const game = this.game
    let config = game.config
    if (this.attempts++ > 0) {
      try {
        config = await loadConfig(game.options) // certificates rotate
      } catch (e) {
        return this.again(e.message)
      }
      if (config.schema !== game.config.schema) return this.outdated(config.schema)
    }
    const only = game.options.transport
    this.n++
    const hello = game.engine.hello()
    this.worker.postMessage({
      do: "connect", epochMs: epochMs + this.skew, first: remembered(),
      webtransport: config.webtransport && only !== "websocket" ? { url: address(config.webtransport.url, "https:"), hashes: hashes(config.webtransport) } : null,
      websocket: config.websocket && only !== "webtransport" ? address(config.websocket, location.protocol === "https:" ? "wss:" : "ws:") : null,
      hello: hello.slice().buffer,
    })
  }

  /** The server has changed since the page was loaded: reload, but never twice for the same version. */
  outdated(schema) {
    const once = "meanwhile.reloaded"
    try {
      if (sessionStorage.getItem(once) !== schema) {
        sessionStorage.setItem(once, schema)
        return location.reload()
      }
    } catch { /* no storage: ask the person */ }
    this.game.notice.show("veil", "The game was updated on the server.", { reload: true })
  }

  again(reason, retryMs) {
    const ms = retryMs ?? RETRY_MS[Math.min(this.attempts, RETRY_MS.length - 1)]
    if (this.attempts > 1 || retryMs) {
      const when = ms >= 1000 ? ` Trying again in ${Math.round(ms / 1000)} s.` : ""
      if (this.everJoined) this.game.notice.show("banner", `Connection lost. Reconnecting…${when}`)
      else this.game.notice.show("veil", `No connection to the server.${when}`, { second: reason })
    }
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.attempt(), ms)
  }

  /** The network or the person is back: do not wait for the timer. */
  hurry() { if (this.timer) this.attempt() }

  /** Gives up the open connection and makes another. */
  renew() {
    if (!this.transport) return
    this.worker.postMessage({ do: "close" })
    this.heard({ did: "lost", n: this.n, reason: "nothing arrived any more" })
  }

  heard(message) {
    if (message.did === "clock") return this.onclock(message)
    if (message.n !== this.n) return
    const { game } = this, now = clock()
    switch (message.did) {
      case "datagrams":
        for (let i = 0; i < message.list.length; i += 2) game.call("receive", new Uint8Array(message.list[i]), message.list[i + 1])
        this.worker.postMessage({ do: "took", n: this.n, count: message.list.length / 2 })
        return game.beat()
      case "dropped":
        if (game.engine.dropped) for (const seq of message.seqs) game.call("dropped", seq)
        return
      case "message": {
        const away = game.call("message", new Uint8Array(message.bytes))
        if (!away) return
        this.worker.postMessage({ do: "close" })
        this.transport = game.transport = ""
        return this.refused(away)
      }
      case "counts":
        this.dropped = message
        return
      case "welcome": {
        const { error, retryMs } = game.call("welcome", new Uint8Array(message.bytes), message.transport, now)
        if (error) {
          this.worker.postMessage({ do: "close" })
          if (retryMs) return this.again(error, retryMs)
          return this.refused(error)
        }
        this.attempts = 1
        this.transport = game.transport = message.transport
        if (!this.everJoined) reached("joined")
        this.everJoined = true
        remember(message.transport)
        game.notice.hide()
        return this.resolve()
      }
      case "lost":
        this.transport = game.transport = ""
        game.call("lost", now)
        game.notice.show("banner", "Connection lost. Reconnecting…")
        return this.again(message.reason, 0)
      case "failed": {
        const { webtransport, websocket } = message.reasons
        remember("")
        if (/^this browser/.test(webtransport) && /^this browser/.test(websocket)) {
          return this.refused("This browser offers neither WebTransport nor WebSocket, so it cannot play here. Any current browser can.")
        }
        return this.again(`WebTransport: ${webtransport}. WebSocket: ${websocket}.`)
      }
    }
  }

  refused(sentence) {
    this.game.notice.show("veil", sentence, { reload: true })
    this.reject(new Sentence(sentence))
  }

  send(bytes, releaseMs, stamped) {
    this.worker.postMessage({ do: "datagram", bytes: bytes.buffer, releaseMs: releaseMs || 0, stamped: !!stamped }, [bytes.buffer])
  }
  message(bytes) { this.worker.postMessage({ do: "message", bytes: bytes.buffer }, [bytes.buffer]) }
}

async function loadConfig(options) {
  const url = new URL(options.config ?? "/meanwhile.json", location.href)
  if (options.room) url.searchParams.set("room", options.room)
  let response
  try {
    response = await fetch(url, { cache: "no-store" })
  } catch {
    throw new Sentence("The server does not answer.")
  }
  if (!response.ok) throw new Sentence((await response.text()).trim().split("\n")[0].slice(0, 200) || `The server answered ${response.status}.`)
  return response.json()
}

/** Resolves an address of the configuration: whole, a path on this server, or ":port/path" on this host. */
function address(url, protocol) {
  if (url.startsWith(":")) {
    const host = location.hostname === "localhost" ? "127.0.0.1" : location.hostname // QUIC tries one address only
    url = `${protocol}//${host}${url}`
  }
  const whole = new URL(url, location.href)
  if (/^https?:$/.test(whole.protocol) && protocol.startsWith("ws")) whole.protocol = protocol
  return whole.href
}

/** SHA-256 hashes of certificates: hex or base64 text, or an array of bytes; one (hash) or several (hashes). */
function hashes({ hash, hashes }) {
  const list = hashes ?? (hash ? [hash] : [])
  return list.map(h => {
    if (typeof h !== "string") return new Uint8Array(h)
    if (/^[0-9a-f]{64}$/i.test(h)) return Uint8Array.from(h.match(/../g), x => parseInt(x, 16))
    return Uint8Array.from(atob(h), c => c.charCodeAt(0))
  })
}

const MEMORY = "meanwhile.transport"
function remembered() {
  try {
    const { name, until } = JSON.parse(localStorage.getItem(MEMORY) ?? "{}")
    return until > Date.now() && until <= Date.now() + REMEMBER_MS ? name : "webtransport"
  } catch { return "webtransport" }
}
function remember(name) {
  try {
    if (name) localStorage.setItem(MEMORY, JSON.stringify({ name, until: Date.now() + REMEMBER_MS }))
    else localStorage.removeItem(MEMORY)
  } catch { /* no storage: every race starts even */ }
}

// ---- The game ---------------------------------------------------------------------------------------------------------

class Game {
  constructor(options) {
    if (!(options?.canvas instanceof HTMLCanvasElement)) throw new Error("join: options.canvas is not a canvas element")
    const address = new URLSearchParams(location.search)
    this.options = { ...options, room: options.room ?? address.get("room") ?? "", name: options.name ?? address.get("name") ?? "" }
    this.canvas = options.canvas
    this.ctx = this.canvas.getContext("2d", { alpha: false })
    this.notice = new Notice(this.canvas)
    this.on = {}
    this.undo = {}
    this.command = () => ({})
    this.draw = () => {}
    this.now = clock()
    this.transport = ""
    this.world = {}
    this.stats = {}
    this.packets = []
    this.me = undefined
    this.width = this.height = this.ratio = 1
    this.ownCamera = options.view === null ? null : new Camera(options.view)
    this.camera = this.ownCamera ?? { toWorld: (x, y) => ({ x, y }) }
    this.input = new Input(this.canvas, this)
    this.keys = this.input.keys
    this.mouse = this.input.mouse
    this.stopped = false
    this.said = new Set()
    this.fit()
    this.input.x = this.width * 0.75 // before the mouse has moved: aim to the right
    this.input.y = this.height / 2
  }

  get touch() { return this.input.touch }
  get dropped() { return this.connection?.dropped ?? {} }

  get autopilot() { return !!this.driving }
  set autopilot(on) {
    this.driving = on
    this.set("autopilot", on ? 1 : 0)
  }
  set(name, value) {
    return this.call("setting", name, typeof value === "boolean" ? +value : value) ?? ""
  }

  async begin() {
    this.notice.show("veil", "Loading…", { progress: null })
    const { options } = this
    const config = this.config = await loadConfig(options)
    reached("configured")
    this.notice.show("veil", `Loading ${config.game}…`, { progress: 0 })
    const connection = this.connection = config.local ? null : new Connection(this)
    const [engine] = await Promise.all([
      startEngine(config, progress => { if (!this.engine) this.notice.show("veil", `Loading ${config.game}…`, { progress }) }),
      connection?.compareClocks(),
    ])
    this.engine = engine
    const settings = { autopilot: options.autopilot ? 1 : 0, ...options.settings }
    const { error, layout } = this.call("start",
      JSON.stringify({ bridge: BRIDGE, game: config.game, room: options.room, name: options.name, epochMs, settings }),
      (bytes, releaseMs, stamped) => connection?.send(bytes, releaseMs, stamped),
      bytes => connection?.message(bytes))
    if (error) throw new Sentence(error)
    this.layout = JSON.parse(layout)
    this.driving = !!options.autopilot
    this.input.onuse = () => { if (this.driving) this.autopilot = false }
    this.commandFields = new Fields(this.layout.command)
    this.commandFloats = new Float64Array(1 + this.commandFields.size)
    this.commandBytes = new Uint8Array(this.commandFloats.buffer)
    this.meFloats = new Float64Array(64)
    this.model = new World(this.layout)
    this.world = this.model.lists
    this.stats = this.model.stats
    this.packets = this.model.packets
    this.grow(4096)
    this.watch()
    if (connection) {
      this.notice.show("veil", "Connecting…", { progress: null })
      connection.attempt()
      reached("connecting")
      await connection.joined
    } else this.notice.hide()
    this.playing = true
    requestAnimationFrame(ms => this.frame(ms))
  }

  grow(floats) {
    this.floats = new Float64Array(floats)
    this.bytes = new Uint8Array(this.floats.buffer)
  }

  /** Watches the canvas' size, the tab and the page's end. */
  watch() {
    new ResizeObserver(() => this.fit()).observe(this.canvas)
    document.addEventListener("visibilitychange", () => {
      this.set("away", document.hidden ? 1 : 0)
      this.input.clear()
      if (document.hidden) this.beats = setInterval(() => this.beat(), AWAY_BEAT_MS)
      else {
        clearInterval(this.beats)
        this.connection?.hurry()
      }
      this.beat()
    })
    window.addEventListener("pagehide", e => { if (!e.persisted) this.leave() })
    window.addEventListener("scroll", () => this.notice.place(), { passive: true })
  }

  /** Gives the canvas as many pixels as it covers. */
  fit() {
    const { canvas } = this
    if (!this.sized) { // does the canvas' size follow its pixels? Then the page gave it none
      const width = canvas.clientWidth
      canvas.width += 7
      if (canvas.clientWidth !== width) Object.assign(canvas.style, { position: "fixed", inset: "0", width: "100%", height: "100%", display: "block" })
      this.sized = true
    }
    this.ratio = window.devicePixelRatio || 1
    this.width = canvas.clientWidth || 1
    this.height = canvas.clientHeight || 1
    const w = Math.round(this.width * this.ratio), h = Math.round(this.height * this.ratio)
    if (canvas.width !== w) canvas.width = w
    if (canvas.height !== h) canvas.height = h
    this.notice.place()
  }

  /** Calls the engine; when it has died, says so once and stops. */
  call(name, ...args) {
    if (this.stopped || !this.engine) return name === "welcome" || name === "start" ? { error: "The game has stopped." } : 0
    try {
      return this.engine[name](...args)
    } catch (e) {
      const words = this.engine.lastWords?.() || e.message
      this.fail(new Sentence(`The game stopped in this browser: ${words}`))
      console.error(e)
      return 0
    }
  }

  /** Shows why there is nothing to play, and stops. */
  fail(e) {
    if (this.stopped) return
    this.stopped = true
    this.connection?.worker.terminate()
    this.notice.show("veil", e instanceof Sentence ? e.message : `The game could not start: ${e.message}`, { reload: true })
  }

  /** Runs the page's own function; a mistake in it is shown once and the game goes on. */
  ask(name, f, ...args) {
    try {
      return f(...args)
    } catch (e) {
      this.mistake(name, `${e.name}: ${e.message}`)
      if (!this.said.has(e.stack)) console.error(e)
      this.said.add(e.stack)
    }
  }
  mistake(name, text) {
    const line = `${name}: ${text}`
    if (this.said.has(line)) return
    this.said.add(line)
    this.notice.show("banner", line)
  }

  /** Time passes without a drawn frame: in a hidden tab. */
  beat() {
    if (!document.hidden || !this.playing) return
    const now = clock()
    if (now - this.now < AWAY_BEAT_MS / 2) return
    this.now = now
    this.ticks(this.call("frame", now, now))
  }

  ticks(due) {
    for (; due > 0; due--) {
      this.commandFloats.fill(0)
      this.model.takeMe(this.meFloats, this.me0())
      this.me = this.model.me
      if (this.me && !this.driving) {
        const command = this.ask("g.command", this.command) ?? {}
        const bad = this.commandFields.write(command, this.commandFloats, 1)
        if (bad) this.mistake("g.command", `${bad} is not a number`)
        this.commandFloats[0] = this.input.pressMs
      }
      this.input.said()
      this.call("tick", this.commandBytes)
    }
  }
  me0() {
    const into = new Uint8Array(this.meFloats.buffer)
    let n = this.call("me", into)
    if (n > this.meFloats.length) {
      this.meFloats = new Float64Array(2 * n)
      n = this.call("me", new Uint8Array(this.meFloats.buffer))
    }
    return n
  }

  frame(ms) {
    if (this.stopped) return
    requestAnimationFrame(next => this.frame(next))
    const now = this.now = clock(), shown = Math.min(now, performance.timeOrigin - epochMs + ms)
    if (this.ratio !== (window.devicePixelRatio || 1)) this.fit()
    this.ticks(this.call("frame", now, shown))
    let n = this.call("draw", this.bytes)
    if (n > this.floats.length) {
      this.grow(2 * n)
      n = this.call("draw", this.bytes)
    }
    if (this.stopped) return
    let events
    try {
      events = this.model.take(this.floats, () => this.engine.texts())
    } catch (e) {
      return this.fail(e)
    }
    this.me = this.model.me
    for (let i = 0; i < events.length; i += 3) {
      const f = (events[i + 2] ? this.undo : this.on)[events[i]]
      if (f) this.ask(`g.on.${events[i]}`, f, events[i + 1])
    }
    const { state, silentMs } = this.stats
    if (state === LOST) this.connection?.renew()
    if (this.transport && state === SILENT) {
      this.silentMs = silentMs
      this.notice.show("banner", `Nothing from the server for ${(silentMs / 1000).toFixed(1)} s`)
    } else if (this.transport && /^Nothing from/.test(this.notice.text)) { // stays long enough to be read
      this.notice.show("banner", `Nothing came for ${(this.silentMs / 1000).toFixed(1)} s`)
      this.silentAt = now
    } else if (/^Nothing came/.test(this.notice.text) && now - this.silentAt > NOTE_MS) this.notice.hide()

    const { ctx, ratio } = this
    if (this.ownCamera && this.camera === this.ownCamera) {
      this.camera.set(this.width, this.height, this.me)
      this.camera.apply(ctx, ratio)
    } else ctx.setTransform(ratio, 0, 0, ratio, 0, 0)
    ctx.save()
    this.ask("g.draw", this.draw, this.world)
    ctx.restore()
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0)
    this.input.draw(ctx)
  }

  leave() {
    this.call("leave", clock())
    this.stopped = true
    this.input.stop()
    setTimeout(() => this.connection?.worker.terminate(), 200) // the farewell is still on its way to the Worker
  }
}
