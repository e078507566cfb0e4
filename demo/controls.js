// Two buttons of the page below its panel: who plays, and the report of a moment.

const SAY_MS = 8000 // for how long the page says what it did

export class Controls {
  constructor(g) {
    this.g = g
    this.bot = document.getElementById("bot")
    this.button = /** @type {HTMLButtonElement} */ (document.getElementById("report"))
    this.button.hidden = !g.config.reports // the server keeps nothing that could be replayed
    this.bot.addEventListener("click", () => { g.autopilot = !g.autopilot })
    this.button.addEventListener("click", () => this.report())
    document.addEventListener("keydown", e => {
      if (e.code !== "F8" || e.repeat) return
      e.preventDefault()
      this.report()
    })
    this.show()
  }

  show() { this.bot.textContent = this.g.autopilot ? "Play yourself" : "Let a bot play" }

  /** Reports this moment, and says where it is saved. */
  async report() {
    const { g, button } = this
    if (!g.config.reports || button.disabled) return
    button.disabled = true
    let answer
    try {
      const { name, log } = await g.report()
      answer = `Saved as ${name}${log ? "" : ", without this page's own log, which was too long"}.`
    } catch (e) {
      answer = e.message
    }
    button.disabled = false
    this.say(answer)
  }

  /** Shows a sentence for a while. */
  say(text) {
    const { notice } = this.g
    notice.show("banner", text)
    setTimeout(() => { if (notice.text === text) notice.hide() }, SAY_MS)
  }
}
