// Watching: a page without an avatar that sees a room some time later, from where one of its entities is.

import { notForGame } from "./input.js"

/** @typedef {import("./game.js").PageGame} PageGame */

/** The keys that go on to the next entity, and back to the one before. */
const NEXT = ["ArrowRight", "Space", "KeyD"], BEFORE = ["ArrowLeft", "KeyA"]

/** Whom a page that watches looks from. */
export class Watch {
  /** @param {PageGame} game */
  constructor(game) {
    this.game = game
    /** Whether the page watches because of its address: then Escape plays. */
    this.asked = new URLSearchParams(location.search).has("watch")
    /** ID of the entity; 0: none was chosen. */
    this.id = 0
    /** The entity, while it is there.
     * @type {any} */
    this.seen = undefined
    /** @type {HTMLElement | null} */
    this.label = null
    this.onkey = (/** @type {KeyboardEvent} */ e) => this.key(e)
    this.onsize = () => this.place()
    this.onclick = () => { if (this.on) this.step(1) }
  }

  /** Whether the server lets this page watch. */
  get on() { return this.game.stats.watchMs > 0 }

  /** Whom one can look from: everything of the kind that is looked from, at first of the first kind that has somebody. */
  list() {
    const { world } = this.game
    const lists = /** @type {any[][]} */ (Object.values(world))
    return lists.find(l => l.some(e => e.id === this.id)) ?? lists.find(l => l.length && l[0].pos) ?? []
  }

  /** Looks from an entity.
   * @param {number} id */
  from(id) {
    this.id = id
    this.game.set("follow", id)
  }

  /** Looks from the next one, or the one before.
   * @param {number} by */
  step(by) {
    const list = this.list(), at = list.findIndex(e => e.id === this.id)
    if (list.length) this.from(list[(at + by + list.length) % list.length].id)
  }

  /** Finds the entity of this frame. */
  frame() {
    if (!this.on) return
    if (!this.label) this.begin()
    const list = this.list()
    this.seen = list.find(e => e.id === this.id)
    if (!this.seen && list.length) this.from((this.seen = list[0]).id)
    const text = `Watching, ${Math.round(this.game.stats.watchMs / 1000)} s late. Arrows or click: another player.${this.asked ? " Esc: play." : ""}`
    if (this.label && this.label.textContent !== text) {
      this.label.textContent = text
      this.place()
    }
  }

  /** Puts the label to the lower edge of the canvas. */
  place() {
    const { left, width, bottom } = this.game.canvas.getBoundingClientRect()
    if (this.label) Object.assign(this.label.style, { left: `${left + width / 2}px`, top: `${Math.min(bottom, innerHeight) - 14}px` })
  }

  begin() {
    const label = this.label = document.createElement("div")
    label.className = "meanwhile-watching"
    label.style.cssText = "position:fixed;z-index:9;transform:translate(-50%,-100%);padding:5px 14px;border-radius:16px;box-sizing:border-box;" +
      "background:rgba(11,15,20,.8);color:#d7dee8;font:13px/1.5 system-ui,sans-serif;text-align:center;pointer-events:none;width:max-content;max-width:95vw"
    document.body.append(label)
    addEventListener("keydown", this.onkey)
    addEventListener("resize", this.onsize)
    this.game.canvas.addEventListener("click", this.onclick)
  }

  /** @param {KeyboardEvent} e */
  key(e) {
    if (!this.on || notForGame(e)) return
    if (NEXT.includes(e.code)) this.step(1)
    else if (BEFORE.includes(e.code)) this.step(-1)
    else if (e.code === "Escape" && this.asked) this.play()
    else return
    e.preventDefault()
  }

  /** Leaves the audience to play. */
  play() {
    const address = new URL(location.href)
    address.searchParams.delete("watch")
    this.game.leave()
    location.replace(address)
  }

  /** Stops. */
  end() {
    removeEventListener("keydown", this.onkey)
    removeEventListener("resize", this.onsize)
    this.game.canvas.removeEventListener("click", this.onclick)
    this.label?.remove()
    this.label = null
  }
}
