// The page's messages to the person in front of it.

/** An error whose message is a sentence for the person in front of the page. */
export class Sentence extends Error {}

const CSS = `
.meanwhile-notice { position: fixed; z-index: 10; display: flex; align-items: center; justify-content: center; pointer-events: none;
  font: 15px/1.5 -apple-system, BlinkMacSystemFont, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; color: #d7dee8; transition: opacity .25s; }
.meanwhile-notice.quiet { opacity: 0; }
.meanwhile-notice > div { box-sizing: border-box; max-width: min(30em, 90%); text-align: center; }
.meanwhile-notice.veil { background: rgba(11, 15, 20, .82); }
.meanwhile-notice.banner { align-items: flex-start; }
.meanwhile-notice.banner > div { max-width: min(46em, 90%); margin-top: 14px; padding: 7px 16px; border-radius: 99px; background: rgba(11, 15, 20, .88);
  border: 1px solid rgba(255, 93, 115, .5); font-size: 13px; }
.meanwhile-notice p { margin: 0; text-wrap: balance; white-space: pre-line; }
.meanwhile-notice p + p { margin-top: .5em; font-size: 13px; color: #8593a6; }
.meanwhile-notice .bar { height: 3px; width: 220px; margin: 14px auto 0; border-radius: 2px; overflow: hidden; background: rgba(215, 222, 232, .14); }
.meanwhile-notice .bar i { display: block; height: 100%; border-radius: 2px; background: #56b4e9; transition: width .12s; }
.meanwhile-notice .bar.unknown i { width: 30% !important; animation: meanwhile-run 1.1s ease-in-out infinite alternate; }
@keyframes meanwhile-run { from { margin-left: 0 } to { margin-left: 70% } }
.meanwhile-notice button { pointer-events: auto; margin-top: 16px; padding: 7px 18px; font: inherit; font-size: 14px; color: #0b0f14;
  background: #d7dee8; border: 0; border-radius: 6px; cursor: pointer; }
.meanwhile-notice input { pointer-events: auto; width: 9em; margin: 16px 8px 0 0; padding: 6px 10px; font: inherit; font-size: 14px;
  color: #d7dee8; background: #0b0f14; border: 1px solid #8593a6; border-radius: 6px; }
`

/** One message over the canvas: a veil that hides the world, or a banner at its top. */
export class Notice {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas
    if (!document.getElementById("meanwhile-style")) {
      const style = document.createElement("style")
      style.id = "meanwhile-style"
      style.textContent = CSS
      document.head.append(style)
    }
    this.box = document.createElement("div")
    this.box.className = "meanwhile-notice quiet"
    this.box.setAttribute("role", "status")
    const [column, first, second, bar, fill] = ["div", "p", "p", "div", "i"].map(tag => document.createElement(tag))
    const form = document.createElement("form"), answer = document.createElement("input"), button = document.createElement("button")
    bar.className = "bar"
    bar.hidden = form.hidden = true
    answer.autocomplete = "off"
    form.onsubmit = e => {
      e.preventDefault()
      this.pressed(answer.value.trim())
    }
    bar.append(fill)
    form.append(answer, button)
    column.append(first, second, bar, form)
    this.box.append(column)
    this.first = first
    this.second = second
    this.bar = bar
    this.fill = fill
    this.form = form
    this.answer = answer
    this.button = button
    this.pressed = (/** @type {string} */ _) => {}
    document.body.append(this.box)
    /** The sentence that is shown, "" while there is none. */
    this.text = ""
  }

  /** Moves the message to where the canvas is. */
  place() {
    const { left, top, width, height } = this.canvas.getBoundingClientRect()
    Object.assign(this.box.style, { left: left + "px", top: top + "px", width: width + "px", height: height + "px" })
  }

  /**
   * Shows a sentence.
   * @param {"veil" | "banner"} kind
   * @param {string} first
   * @param {{second?: string, progress?: number | null, reload?: boolean, ask?: (answer: string) => void}} [more] second: a smaller
   *   line below. progress: 0 to 1 fills a bar, null shows a bar of unknown length, undefined shows none. reload: offers a button that
   *   reloads the page. ask: offers a line for an answer, which is called with it.
   */
  show(kind, first, { second = "", progress, reload = false, ask } = {}) {
    this.text = first
    this.box.className = `meanwhile-notice ${kind}`
    this.first.textContent = first
    this.second.textContent = second
    this.second.hidden = !second
    this.form.hidden = !reload && !ask
    this.answer.hidden = !ask
    this.answer.value = ""
    this.answer.setAttribute("aria-label", first)
    this.button.textContent = ask ? "Enter" : "Reload"
    this.pressed = ask ?? (() => location.reload())
    this.bar.hidden = progress === undefined
    this.bar.classList.toggle("unknown", progress === null)
    if (progress != null) this.fill.style.width = `${Math.round(100 * Math.min(1, progress))}%`
    this.place()
    if (ask) this.answer.focus()
  }

  hide() {
    if (!this.text) return
    this.text = ""
    this.box.classList.add("quiet")
  }
}
