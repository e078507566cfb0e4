// What the page says of itself: three steps to try, each checked by what the engine measures, how the server judged the hits
// of this page, and the player's name.

const STORE = "meanwhile.demo.steps", NAME = "meanwhile.demo.name"

/** @type {(id: string) => any} */
const $ = id => document.getElementById(id)
const ms = v => `${Math.max(0, Math.round(v))} ms`

/**
 * The steps. done: whether the page's state shows that it was done. says: what there is to see now, as long as it is so.
 * @type {{ask: string, done: (g: any) => boolean, says: (g: any) => string}[]}
 */
const STEPS = [
  {
    ask: "Press <b>Across an ocean</b>",
    done: g => g.settings.profile === "ocean" && g.stats.rttMs > 120,
    says: ({ stats }) => `Packets need ${ms(stats.rttMs)} there and back, one of twenty is lost. Others are drawn ${ms(stats.delayMs)} late, you still move at once.`,
  },
  {
    ask: "Switch <b>Prediction</b> off",
    done: g => g.settings.predict === 0 && !!g.me && !g.me.predicted && g.stats.commandMs > g.stats.playoutMs,
    says: ({ stats }) => `Now you, too, wait for the server: ${ms(stats.commandMs - stats.playoutMs)} from a key to the picture.`,
  },
  {
    ask: "Prediction on again, shoot at a white one",
    done: () => false, // a receipt does
    says: () => "",
  },
]

export class Tour {
  /** @param {any} g */
  constructor(g) {
    this.g = g
    /** Shots of this page that hit somebody on its screen, and how many of these the server honoured: without rewind, with it. */
    this.hits = [{ seen: 0, honoured: 0 }, { seen: 0, honoured: 0 }]
    /** @type {boolean[]} */
    this.done = STEPS.map(() => false)
    this.closed = false
    try {
      const kept = JSON.parse(localStorage.getItem(STORE) ?? "{}")
      this.done = STEPS.map((_, i) => kept.done?.[i] === true)
      this.closed = kept.closed === true
    } catch { /* nothing is kept */ }
    this.said = STEPS.map(() => "")
    this.rows = STEPS.map(({ ask }) => {
      const row = document.createElement("li"), what = document.createElement("span"), says = document.createElement("small")
      what.innerHTML = ask
      row.append(what, says)
      $("steps").querySelector("ol").append(row)
      return row
    })
    $("stepsclose").addEventListener("click", () => this.close(true))
    $("tour").addEventListener("click", () => this.again())
    this.show()
  }

  /** Begins anew, or takes the steps away. */
  close(on) {
    this.closed = on
    this.keep()
    this.show()
  }
  again() {
    if (!this.closed) return this.close(true)
    this.done = STEPS.map(() => false)
    this.said = STEPS.map(() => "")
    this.close(false)
  }

  keep() {
    try { localStorage.setItem(STORE, JSON.stringify({ done: this.done, closed: this.closed })) } catch { /* as above */ }
  }

  /** A few times a second: what was done, and what there is to see. */
  draw() {
    const { g } = this, at = this.done.indexOf(false)
    STEPS.forEach((step, i) => {
      if (!step.done(g) || i > at && at >= 0) return
      if (!this.done[i]) this.mark(i)
      this.said[i] = step.says(g)
    })
    this.show()
  }

  mark(i) {
    this.done[i] = true
    this.keep()
  }

  /** How the server judged a shot. The last step is done by one of the person's own. */
  receipt({ seen, hit, offMm, reason }) {
    const { g } = this
    if (seen) {
      const sum = this.hits[reason === "none stated" ? 0 : 1]
      sum.seen++
      if (hit) sum.honoured++
    }
    if (!seen || g.autopilot) return
    const off = offMm === undefined ? "" : `, ${Math.round(offMm / 10)} cm from where you saw it`
    this.said[2] = reason === "none stated"
      ? `${hit ? "A hit" : "A miss"}: without Rewind the server judged its own present${off}.`
      : `${hit ? "A hit" : "A miss"}: the server went back ${ms(g.stats.commandMs - g.stats.playoutMs)} to what was on your screen${off}. The ghost marks it.`
    if (!this.done[2] && this.done[0] && this.done[1]) this.mark(2)
  }

  show() {
    const now = this.done.indexOf(false), last = this.done.lastIndexOf(true)
    $("steps").hidden = this.closed
    $("tour").setAttribute("aria-pressed", String(!this.closed))
    set($("stepsdone"), now < 0 ? "Well done" : `Try it: ${now + 1} of ${STEPS.length}`)
    this.rows.forEach((row, i) => {
      const says = i === last ? this.said[i] : ""
      row.className = this.done[i] ? i === last && says ? "done last" : "done" : i === now ? "now" : ""
      set(row.lastChild, says)
    })
    const [off, on] = this.hits, part = ({ seen, honoured }) => `${honoured} of ${seen}`
    $("honoured").hidden = !on.seen && !off.seen
    set($("honouredon"), on.seen ? part(on) : "–")
    set($("honouredoff"), off.seen ? part(off) : "–")
    $("honouredoff").parentElement.hidden = !off.seen
  }
}

/**
 * The player's name, and the field for it. The server learns a name when the page joins, so another one joins anew. The field
 * works before there is a game.
 * @param {() => any} game
 */
export function ownName(game) {
  let name = new URLSearchParams(location.search).get("name")
  try { name ??= localStorage.getItem(NAME) } catch { /* nothing is kept */ }
  const field = $("name"), own = field.value = name ?? ""
  $("who").addEventListener("submit", e => {
    e.preventDefault()
    const next = field.value.trim()
    if (next === own) return $("view").focus({ preventScroll: true })
    try { localStorage.setItem(NAME, next) } catch { /* then the address alone has it */ }
    const address = new URL(location.href)
    if (next) address.searchParams.set("name", next)
    else address.searchParams.delete("name")
    game()?.leave()
    location.replace(address)
  })
  return own
}

function set(element, text) {
  if (element.textContent !== text) element.textContent = text
}
