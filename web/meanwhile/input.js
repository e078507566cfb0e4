// Keys, mouse and fingers.

import { clock, toClock } from "./clock.js"

/** @typedef {import("../meanwhile.d.ts").Vec2} Vec2 */
/** A finger on the screen, in CSS pixels of the canvas. far: it was dragged, so its lifting is no tap.
 * @typedef {{id: number, x0: number, y0: number, x: number, y: number, ms: number, far: boolean}} Finger */

/** @type {Record<string, number[]>} */
const MOVES = {
  KeyW: [0, -1], ArrowUp: [0, -1], KeyS: [0, 1], ArrowDown: [0, 1],
  KeyA: [-1, 0], ArrowLeft: [-1, 0], KeyD: [1, 0], ArrowRight: [1, 0],
}
/** How far a finger moves for a full stick, how far the aiming finger moves to fire, and how far and long a tap may be. */
const STICK_PX = 52, FIRE_PX = 26, TAP_PX = 12, TAP_MS = 220
/** Where the mouse points while a finger aims: this many metres from the avatar. */
const AIM_METRES = 5
const KNOB_PX = 20

/** Keys of text fields stay there, and so do the keys that work the page's other controls. */
const TEXT = "textarea, select, [contenteditable], input:not([type=range], [type=checkbox], [type=radio], [type=button])"
const CONTROLS = "input, button, a"

/** The state of all input devices. A press that begins and ends between two commands is kept for the next command. */
export class Input {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {{width: number, me: any, camera: {toWorld(x: number, y: number): Vec2}}} game
   */
  constructor(canvas, game) {
    this.canvas = canvas
    this.game = game
    /** Codes of keys and buttons that are down now: "KeyW", "Mouse0".
     * @type {Set<string>} */
    this.down = new Set()
    /** Codes of those that went down since the last command.
     * @type {Set<string>} */
    this.tapped = new Set()
    /** When the first of them did, a mouse button before any key; 0: none.
     * @type {number} */
    this.pressedMs = 0
    /** Whether that was a mouse button, which aims. */
    this.button = false
    /** The point of the world under the pointer at that click, on the frame that was on the screen then.
     * @type {Vec2 | null} */
    this.clicked = null
    /** Whether the page is asked for a command now, which aims as at the click. */
    this.commanding = false
    /** Where the pointer is, in CSS pixels of the canvas. */
    this.x = this.y = 0
    /** Whether the last pointer was a finger. */
    this.touch = false
    /** The finger that moves and the finger that aims.
     * @type {Finger | null} */
    this.move = null
    /** @type {Finger | null} */
    this.aim = null
    /** The direction in which the aiming finger points, null while the pointer itself aims.
     * @type {Vec2 | null} */
    this.stick = null
    /** Called when the person uses the game: a key, a mouse button, a finger. */
    this.onuse = () => {}
    this.keys = this.makeKeys()
    this.mouse = this.makeMouse()
    const stop = new AbortController()
    this.stop = () => stop.abort()
    this.listen(stop.signal)
  }

  makeKeys() {
    const has = (/** @type {string} */ code) => this.has(code), wasd = () => this.wasd()
    return {
      has,
      get wasd() { return wasd() },
      get space() { return has("Space") },
      get shift() { return has("ShiftLeft") || has("ShiftRight") },
      press: (/** @type {string} */ code) => this.press(code),
      release: (/** @type {string} */ code) => { this.down.delete(code) },
    }
  }

  makeMouse() {
    const input = this, { game } = this
    return {
      get x() { return input.x },
      get y() { return input.y },
      get pos() {
        const { stick } = input, me = game.me?.pos
        if (!stick || !me) return input.pointed()
        return { x: me.x + AIM_METRES * stick.x, y: me.y + AIM_METRES * stick.y }
      },
      get pressed() { return input.has("Mouse0") },
      get right() { return input.has("Mouse2") },
      get stick() { return input.stick },
      angleFrom(/** @type {Vec2} */ pos) {
        const { stick } = input
        if (stick) return Math.atan2(stick.y, stick.x)
        const p = input.pointed()
        return Math.atan2(p.y - pos.y, p.x - pos.x)
      },
    }
  }

  /** @param {AbortSignal} signal ends all listeners */
  listen(signal) {
    const { canvas } = this
    canvas.style.touchAction = "none"
    window.addEventListener("keydown", e => this.keydown(e), { signal })
    window.addEventListener("keyup", e => this.down.delete(e.code), { signal })
    window.addEventListener("blur", () => this.clear(), { signal })
    canvas.addEventListener("contextmenu", e => e.preventDefault(), { signal })
    canvas.addEventListener("pointerdown", e => this.pointerdown(e), { signal })
    window.addEventListener("pointermove", e => this.pointermove(e), { signal })
    window.addEventListener("pointerup", e => this.pointerup(e), { signal })
    window.addEventListener("pointercancel", e => this.pointerup(e), { signal })
  }

  /** @param {KeyboardEvent} e */
  keydown(e) {
    if (notForGame(e)) return
    if (e.code === "Space" || e.code.startsWith("Arrow")) e.preventDefault()
    if (e.repeat || /^(Control|Alt|Meta|F\d|Escape|Tab)/.test(e.code)) return
    this.press(e.code, e)
    this.onuse()
  }

  /**
   * Where a pointer is, in CSS pixels of the canvas.
   * @param {PointerEvent} e
   */
  place(e) {
    const box = this.canvas.getBoundingClientRect()
    return { x: e.clientX - box.left, y: e.clientY - box.top }
  }

  /** @param {PointerEvent} e */
  pointerdown(e) {
    e.preventDefault()
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
    this.onuse()
    const { x, y } = this.place(e)
    if (e.pointerType !== "touch") {
      this.x = x
      this.y = y
      this.stick = null
      return this.press("Mouse" + e.button, e)
    }
    this.touch = true
    const finger = { id: e.pointerId, x0: x, y0: y, x, y, ms: e.timeStamp, far: false }
    if (x < this.game.width / 2 && !this.move) this.move = finger
    else if (!this.aim) this.aim = finger
  }

  /** @param {PointerEvent} e */
  pointermove(e) {
    const { x, y } = this.place(e)
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
      this.stick = deflection(this.aim)
      if (Math.hypot(x - this.aim.x0, y - this.aim.y0) <= FIRE_PX) this.down.delete("Mouse0")
      else if (!this.down.has("Mouse0")) this.press("Mouse0", e)
    }
  }

  /** @param {PointerEvent} e */
  pointerup(e) {
    if (e.pointerType !== "touch") {
      this.down.delete("Mouse" + e.button)
      return
    }
    if (this.aim?.id === e.pointerId) {
      this.down.delete("Mouse0")
      if (!this.aim.far && e.timeStamp - this.aim.ms < TAP_MS && e.type === "pointerup") {
        this.stick = null
        this.x = this.aim.x
        this.y = this.aim.y
        this.tap("Mouse0", e)
      }
      this.aim = null
    }
    if (this.move?.id === e.pointerId) this.move = null
  }

  /** Whether a key or button is down, or went down since the last command.
   * @param {string} code */
  has(code) { return this.down.has(code) || this.tapped.has(code) }

  /**
   * @param {string} code
   * @param {Event} [e] what says when; without it now
   */
  press(code, e) {
    this.down.add(code)
    this.tap(code, e)
  }

  /**
   * @param {string} code
   * @param {Event} [e]
   */
  tap(code, e) {
    this.tapped.add(code)
    const button = code.startsWith("Mouse")
    if (this.pressedMs && (this.button || !button)) return
    this.pressedMs = e ? toClock(e.timeStamp) : clock()
    this.button = button
    this.clicked = button ? this.game.camera.toWorld(this.x, this.y) : null
  }

  /** The point of the world under the pointer: now, or for a command with a click as it was then. */
  pointed() {
    return this.commanding && this.clicked || this.game.camera.toWorld(this.x, this.y)
  }

  /** Called before each command.
   * @returns {number} when the first of its presses happened; 0: none */
  commandBegins() {
    this.commanding = true
    return this.pressedMs
  }

  /** Called after each command: its presses have been used. */
  commandMade() {
    this.tapped.clear()
    this.pressedMs = 0
    this.clicked = null
    this.commanding = false
  }

  clear() {
    this.down.clear()
    this.commandMade()
    this.move = this.aim = null
  }

  /** The direction of W, A, S and D, of the arrow keys or of the moving finger; its length is at most 1. */
  wasd() {
    if (this.move) return deflection(this.move)
    let x = 0, y = 0
    for (const code in MOVES) if (this.has(code)) { x += MOVES[code][0]; y += MOVES[code][1] }
    x = Math.sign(x)
    y = Math.sign(y)
    return x && y ? { x: x * Math.SQRT1_2, y: y * Math.SQRT1_2 } : { x, y }
  }

  /** Draws the sticks under the fingers, in CSS pixels.
   * @param {CanvasRenderingContext2D} ctx */
  draw(ctx) {
    for (const f of [this.move, this.aim]) if (f) {
      const d = deflection(f)
      ctx.fillStyle = "rgba(215, 222, 232, 0.08)"
      ctx.strokeStyle = "rgba(215, 222, 232, 0.22)"
      ctx.lineWidth = 1.5
      ctx.beginPath()
      ctx.arc(f.x0, f.y0, STICK_PX, 0, 7)
      ctx.fill()
      ctx.stroke()
      ctx.fillStyle = "rgba(215, 222, 232, 0.35)"
      ctx.beginPath()
      ctx.arc(f.x0 + d.x * STICK_PX, f.y0 + d.y * STICK_PX, KNOB_PX, 0, 7)
      ctx.fill()
    }
  }
}

/** How far a finger has moved its stick: a vector of length at most 1.
 * @param {Finger} finger */
function deflection(finger) {
  const x = (finger.x - finger.x0) / STICK_PX, y = (finger.y - finger.y0) / STICK_PX, length = Math.max(1, Math.hypot(x, y))
  return { x: x / length, y: y / length }
}

/** Whether a key is for the browser or for a control of the page.
 * @param {KeyboardEvent} e */
export function notForGame(e) {
  const target = e.target instanceof Element ? e.target : null
  return e.ctrlKey || e.metaKey || e.altKey || !!target?.matches(TEXT) || !!target?.matches(CONTROLS) && /^(Space|Enter|Arrow)/.test(e.code)
}
