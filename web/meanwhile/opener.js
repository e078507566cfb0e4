// The panel's key, F2, and its button. The panel itself is fetched when it is opened for the first time.

/** @typedef {import("../meanwhile.d.ts").PanelOptions} PanelOptions */
/** @typedef {import("./game.js").PageGame} PageGame */

// The page's own rules win over these.
const CSS = `
:where(.meanwhile-panel-button) { position: fixed; top: 10px; right: 10px; z-index: 8; padding: 7px 13px; border: 1px solid rgba(215, 222, 232, .25);
  border-radius: 99px; background: rgba(16, 21, 29, .78); color: #d7dee8; font: 13px/1.3 system-ui, sans-serif; cursor: pointer; touch-action: manipulation; }
:where(.meanwhile-panel-button:focus-visible) { outline: 2px solid #56b4e9; outline-offset: 2px; }
`

export class Opener {
  /** @param {PageGame} game */
  constructor(game) {
    this.game = game
    /** @type {PanelOptions} */
    this.options = {}
    /** @type {[element: HTMLElement, place: string][]} */
    this.elements = []
    /** @type {Promise<import("./panel/panel.js").Panel> | null} */
    this.loading = null
    /** @type {import("./panel/panel.js").Panel | null} */
    this.panel = null
    /** @type {HTMLButtonElement | null} */
    this.button = null
    this.onkey = (/** @type {KeyboardEvent} */ e) => this.key(e)
  }

  /** Listens for the key. */
  begin() {
    if (this.game.options.panel !== false) addEventListener("keydown", this.onkey)
  }

  end() {
    removeEventListener("keydown", this.onkey)
    this.close()
  }

  /** @param {KeyboardEvent} e */
  key(e) {
    if (e.code !== "F2" || e.repeat || e.ctrlKey || e.altKey || e.metaKey) return
    e.preventDefault()
    this.toggle()
  }

  /**
   * Offers the panel with a button, and to the page what it can do with it.
   * @param {PanelOptions} options
   */
  offer(options) {
    this.options = { ...this.options, ...options }
    if (options.button !== false && !this.button) this.addButton()
    if (options.open) this.open(true)
    const opened = () => this.opened
    return {
      open: () => this.open(), close: () => this.close(), toggle: () => this.toggle(),
      add: (/** @type {HTMLElement} */ element, place = "bottom") => this.add(element, place),
      get opened() { return opened() },
    }
  }

  addButton() {
    const style = document.createElement("style"), button = this.button = document.createElement("button")
    style.textContent = CSS
    document.head.prepend(style)
    button.type = "button"
    button.className = "meanwhile-panel-button"
    button.textContent = "Network"
    button.title = "Network panel (F2)"
    button.setAttribute("aria-expanded", "false")
    button.addEventListener("click", () => this.toggle())
    document.body.append(button)
  }

  get opened() { return !!this.panel?.opened }

  /** Opens the panel.
   * @param {boolean} [first] the page does it, at its start */
  async open(first) {
    this.loading ??= import("./panel/panel.js").then(({ Panel }) => {
      const panel = this.panel = new Panel(this.game, this.options, () => this.show())
      for (const [element, place] of this.elements) panel.add(element, place)
      return panel
    })
    try {
      (await this.loading).open(first)
    } catch (e) {
      this.loading = null
      this.game.notice.show("banner", "The panel could not be loaded.")
      console.error(e)
    }
  }

  close() { this.panel?.close() }
  toggle() { this.opened ? this.close() : this.open() }

  /**
   * Adds an element of the page to the panel.
   * @param {HTMLElement} element
   * @param {string} place
   */
  add(element, place) {
    this.elements.push([element, place])
    this.panel?.add(element, place)
  }

  /** Shows on the button whether the panel is open. */
  show() { this.button?.setAttribute("aria-expanded", String(this.opened)) }
}
