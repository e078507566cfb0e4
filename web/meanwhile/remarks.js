// What the page's author should mend: each sentence comes once, in the console, and on the page while it is developed.

const LINES = 3 // more are in the console only

const CSS = `
.meanwhile-remarks { position: fixed; z-index: 21; left: 12px; bottom: calc(12px + var(--meanwhile-bottom, 0px)); max-width: min(34em, calc(100vw - 24px)); box-sizing: border-box; padding: 8px 38px 8px 14px;
  border: 1px solid rgba(232, 179, 57, .65); border-radius: 8px; background: rgba(24, 21, 12, .95); color: #f1e3c0; font: 13px/1.5 system-ui, sans-serif; }
.meanwhile-remarks p { margin: 0; overflow-wrap: anywhere; }
.meanwhile-remarks button { position: absolute; top: 3px; right: 3px; width: 30px; height: 30px; border: 0; border-radius: 6px; background: none; color: inherit;
  font: 18px/1 system-ui, sans-serif; cursor: pointer; }
.meanwhile-remarks button:focus-visible { outline: 2px solid #56b4e9; }
`

/** Whether somebody develops the page: it comes from this very machine. */
const developed = /^(localhost|.*\.localhost|127\..*|\[::1\])$/.test(location.hostname)

export class Remarks {
  constructor() {
    /** @type {Set<string>} */
    this.made = new Set()
    /** @type {HTMLElement | null} */
    this.box = null
  }

  /** Makes a remark, once.
   * @param {string} sentence "": none */
  make(sentence) {
    if (!sentence || this.made.has(sentence)) return
    this.made.add(sentence)
    console.warn(sentence)
    if (developed) this.show(sentence)
  }

  /** @param {string} sentence */
  show(sentence) {
    const line = document.createElement("p"), box = this.box ??= this.open()
    if (box.querySelectorAll("p").length < LINES) line.textContent = sentence
    else if (!box.lastElementChild?.classList.contains("more")) {
      line.className = "more"
      line.textContent = "More in the console."
    }
    if (line.textContent) box.append(line)
  }

  open() {
    const box = document.createElement("div"), style = document.createElement("style"), close = document.createElement("button")
    style.textContent = CSS
    close.type = "button"
    close.textContent = "×"
    close.setAttribute("aria-label", "Dismiss")
    close.addEventListener("click", () => {
      box.remove()
      this.box = null
    })
    box.className = "meanwhile-remarks"
    box.setAttribute("role", "status")
    box.append(style, close)
    document.body.append(box)
    return box
  }
}

/**
 * Asks whether another name was meant.
 * @param {string} name
 * @param {Iterable<string>} names
 * @returns {string} what follows a sentence about the name, with a question mark; "." if none is near
 */
export function meant(name, names) {
  let best = "", least = Infinity
  for (const n of names) {
    const d = distance(name.toLowerCase(), n.toLowerCase())
    if (d < least) { least = d; best = n }
  }
  return least <= Math.max(2, name.length / 2) ? `; did you mean "${best}"?` : "."
}

/**
 * How many letters have to change to make one word of another. Two neighbours that changed places count as one.
 * @param {string} a
 * @param {string} b
 */
function distance(a, b) {
  /** @type {number[]} */
  let before = []
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) next[j] = Math.min(next[j], before[j - 2] + 1)
    }
    before = row
    row = next
  }
  return row[b.length]
}

/**
 * An object of functions by names, which remarks on a name that does not exist.
 * @param {(name: string) => string} wrong a sentence about the name, "" if it is right
 * @param {Remarks} remarks
 * @returns {Record<string, (...args: any[]) => void>}
 */
export function checked(wrong, remarks) {
  return new Proxy({}, {
    set(target, name, value) {
      if (typeof name === "string") {
        remarks.make(wrong(name))
        if (typeof value !== "function" && value !== undefined && value !== null) remarks.make(`g.on.${name} is ${typeof value}, and should be a function.`)
      }
      return Reflect.set(target, name, value)
    },
  })
}
