// The camera that the page gets when it brings none of its own.

/** @typedef {import("../meanwhile.d.ts").View} View */
/** @typedef {import("../meanwhile.d.ts").Vec2} Vec2 */

const DEFAULT_WIDTH = 40 // metres
const GRID_STEP = 5 // metres

/** Maps metres to CSS pixels, looking straight down. */
export class Camera {
  /** @param {Partial<View>} [view] */
  constructor(view) {
    /** @type {View} */
    this.view = { width: DEFAULT_WIDTH, ...view }
    /** The place in the middle of the canvas, in metres. */
    this.x = this.y = 0
    /** CSS pixels per metre. */
    this.scale = 1
    /** The size of the canvas in CSS pixels. */
    this.width = this.height = 1
  }

  /**
   * Points the camera for the next frame.
   * @param {number} width of the canvas, in CSS pixels
   * @param {number} height of the canvas, in CSS pixels
   * @param {{pos?: Vec2} | undefined} me the own avatar; without one the camera stays where it is
   */
  aim(width, height, me) {
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

  /**
   * @param {number} x in CSS pixels
   * @param {number} y in CSS pixels
   * @returns {Vec2} in metres
   */
  toWorld(x, y) { return { x: this.x + (x - this.width / 2) / this.scale, y: this.y + (y - this.height / 2) / this.scale } }

  /**
   * @param {Vec2} pos in metres
   * @returns {Vec2} in CSS pixels
   */
  toScreen(pos) { return { x: this.width / 2 + (pos.x - this.x) * this.scale, y: this.height / 2 + (pos.y - this.y) * this.scale } }

  /**
   * Clears the canvas, sets metres as the unit and draws the grid.
   * @param {CanvasRenderingContext2D} ctx
   * @param {number} ratio device pixels per CSS pixel
   */
  apply(ctx, ratio) {
    const s = this.scale * ratio, v = this.view
    ctx.setTransform(1, 0, 0, 1, 0, 0)
    ctx.fillStyle = v.background ?? "#0b0f14"
    ctx.fillRect(0, 0, ctx.canvas.width, ctx.canvas.height)
    ctx.setTransform(s, 0, 0, s, this.width * ratio / 2 - this.x * s, this.height * ratio / 2 - this.y * s)
    if (v.grid === false) return
    const w = this.width / this.scale / 2, h = this.height / this.scale / 2, step = GRID_STEP
    ctx.strokeStyle = "rgba(160, 190, 230, 0.07)"
    ctx.lineWidth = 1 / this.scale
    ctx.beginPath()
    for (let x = Math.ceil((this.x - w) / step) * step; x <= this.x + w; x += step) { ctx.moveTo(x, this.y - h); ctx.lineTo(x, this.y + h) }
    for (let y = Math.ceil((this.y - h) / step) * step; y <= this.y + h; y += step) { ctx.moveTo(this.x - w, y); ctx.lineTo(this.x + w, y) }
    ctx.stroke()
  }
}
