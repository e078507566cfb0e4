// What a page shows of the program that serves it while somebody writes the game: that it is built anew, compile errors over
// the game, and what the rules or the page's own scripts did wrong. Servers of "dev", and those for this machine alone, put it into their pages.

/** How often the page asks under "dev", and otherwise. */
const BUSY_MS = 300, CALM_MS = 2000

/**
 * What the server answers.
 * @typedef {object} Status
 * @property {boolean} dev it runs under "dev"
 * @property {number} build of the program; another one loads the page again
 * @property {number} page of the files of the page; the same
 * @property {string} state what is happening, "" if nothing is
 * @property {string} error why the newest source is not what runs
 * @property {string} note what the newest build has changed
 * @property {string} fault what the rules did wrong last
 */

const LOOKS = `
.meanwhile-dev { position: fixed; z-index: 20; left: 12px; right: 12px; bottom: 12px; max-height: 70vh; overflow: auto; box-sizing: border-box;
  padding: 12px 16px; border-radius: 8px; border: 1px solid rgba(255, 93, 115, .7); background: rgba(20, 10, 14, .94); color: #f3d9de;
  font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.meanwhile-dev b { display: block; margin-bottom: 4px; color: #ff8a9b; font: 600 14px/1.4 system-ui, sans-serif; }
.meanwhile-dev.calm { right: auto; padding: 7px 14px; border-color: rgba(86, 180, 233, .6); background: rgba(11, 15, 20, .9); color: #d7dee8; }
.meanwhile-dev.calm b { display: none; }
.meanwhile-dev[hidden] { display: none; }
`

const style = document.createElement("style"), box = document.createElement("div"), title = document.createElement("b")
const text = document.createElement("span")
style.textContent = LOOKS
box.className = "meanwhile-dev"
box.hidden = true
box.setAttribute("role", "status")
box.append(title, text)
document.head.append(style)
document.body.append(box)

/** @type {Status | null} */
let first = null
let note = "" // what the newest build has changed: read by whoever plays on
/** Texts that the person has closed.
 * @type {Set<string>} */
const dismissed = new Set()

const dismiss = () => {
  dismissed.add(text.textContent ?? "")
  box.hidden = true
}
box.addEventListener("click", dismiss)
addEventListener("keydown", () => { if (note && text.textContent === note) dismiss() })

/** @returns {string} what went wrong in the page's own scripts before or while it played, "" if nothing did */
function wrong() {
  if (document.querySelector(".meanwhile-notice.veil:not(.quiet)")) return "" // it says so itself
  /** @type {(ErrorEvent | Event)[]} */
  const events = /** @type {any} */ (window).meanwhileWrong ?? []
  for (const e of events) {
    if (e instanceof ErrorEvent && e.error) return `${e.message} (${e.filename.slice(e.filename.lastIndexOf("/") + 1)}:${e.lineno})`
    if (e.target instanceof HTMLScriptElement) return `${e.target.src}, or what it imports, cannot be loaded.`
  }
  return ""
}

/**
 * @param {string} heading "" for what is no error
 * @param {string} body "" hides the box
 */
function show(heading, body) {
  box.hidden = !body || dismissed.has(body)
  box.classList.toggle("calm", !heading)
  title.textContent = heading
  text.textContent = body
}

/** @param {Status} now */
function tell(now) {
  if (now.error) show("The game goes on as it was before: the newest source cannot run.", now.error)
  else if (now.state) show("", now.state)
  else if (now.fault && !dismissed.has(now.fault)) show("The rules went wrong. (A click closes this.)", now.fault)
  else if (wrong() && !dismissed.has(wrong())) show("The page went wrong. (A click closes this.)", wrong())
  else show("", note = now.note)
}

async function ask() {
  try {
    const response = await fetch("/meanwhile/dev/status", { cache: "no-store" })
    /** @type {Status} */
    const now = await response.json()
    if (first && (now.build !== first.build || now.page !== first.page)) return location.reload()
    first ??= now
    tell(now)
  } catch {
    if (first?.dev) show("", "The server starts again…")
  }
  setTimeout(ask, first?.dev ? BUSY_MS : CALM_MS)
}

ask()
