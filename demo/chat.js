// What players say and vote on. Enter opens the line, Esc closes it; on a touch screen a button does. Lines fade after a
// while and are all there again while the line is open. A vote is a banner with two buttons, and the keys Y and N.

const KEPT = 40 // lines
const FADE_MS = 9000
const NOTE_MS = 4000
const WHAT = { restart: "start the round anew", longer: "play a minute longer", map: "play on the next map", easier: "have easier bots", harder: "have harder bots" }

/** @type {(id: string) => any} */
const $ = id => document.getElementById(id)

export class Chat {
  /**
   * @param {import("/meanwhile.js").Game} g
   * @param {HTMLElement} canvas gets the keys back
   */
  constructor(g, canvas) {
    this.g = g
    this.canvas = canvas
    this.log = $("log")
    this.line = $("line")
    this.open = false
    this.voted = 0 // id of the poll in which this page voted
    this.noteTimer = 0
    g.on.chat = (m, from) => this.show(m.name, m.text, from !== 0 && from === g.me?.id)

    // Before the game's own listener: the Enter that opens the line is no key of the game.
    addEventListener("keydown", e => this.key(e), { capture: true })
    $("talk").addEventListener("submit", e => {
      e.preventDefault()
      this.send()
    })
    this.line.addEventListener("blur", e => { if (!$("talk").contains(e.relatedTarget)) this.toggle(false) })
    $("chatbutton").addEventListener("click", () => this.toggle(true))
    for (const b of document.querySelectorAll("#talk [data-vote]")) {
      b.addEventListener("click", () => {
        this.vote(b.getAttribute("data-vote"), true)
        this.toggle(false)
      })
    }
    $("yes").addEventListener("click", () => this.vote("", true))
    $("no").addEventListener("click", () => this.vote("", false))
  }

  /** @param {KeyboardEvent} e */
  key(e) {
    const target = e.target instanceof Element ? e.target : null
    if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing) return
    if (this.open) {
      if (e.code === "Escape") this.toggle(false)
      else return
    } else if ((e.code === "Enter" || e.code === "NumpadEnter") && !target?.matches("input, button, select, a")) this.toggle(true)
    else if ((e.code === "KeyY" || e.code === "KeyN") && !$("poll").hidden && !$("yes").disabled && !target?.matches("input")) this.vote("", e.code === "KeyY")
    else return
    e.preventDefault()
    e.stopImmediatePropagation()
  }

  /** @param {boolean} open */
  toggle(open) {
    if (open === this.open) return
    this.open = open
    $("chat").classList.toggle("open", open)
    $("talk").hidden = !open
    if (open) {
      this.log.scrollTop = this.log.scrollHeight
      this.line.focus()
    } else {
      this.line.value = ""
      if (document.activeElement === this.line || $("talk").contains(document.activeElement)) this.canvas.focus({ preventScroll: true })
    }
  }

  /** Sends what stands in the line. What the server refuses stays there. */
  send() {
    const text = this.line.value.trim()
    if (text) {
      const refused = this.g.send("chat", { text })
      if (refused) return this.note(refused.includes("too often") ? "Not so fast: wait a second." : refused)
    }
    this.toggle(false)
  }

  /**
   * Votes: yes or no in the vote that is open, or for what, which opens one.
   * @param {string | null} what
   * @param {boolean} yes
   */
  async vote(what, yes) {
    try {
      await this.g.request("vote", { what: what || "restart", yes })
    } catch (e) {
      this.note(e.message[0].toUpperCase() + e.message.slice(1) + ".")
    }
    this.voted = this.poll?.id ?? this.voted
  }

  /** Shows a sentence to this player alone.
   * @param {string} text */
  note(text) {
    $("note").textContent = text
    $("note").hidden = false
    clearTimeout(this.noteTimer)
    this.noteTimer = window.setTimeout(() => { $("note").hidden = true }, NOTE_MS)
  }

  /**
   * Adds a line.
   * @param {string} name "" is the arena itself
   * @param {string} text
   * @param {boolean} mine
   */
  show(name, text, mine) {
    const p = document.createElement("p")
    if (name) {
      const b = document.createElement("b")
      b.textContent = name
      p.append(b, " ")
    }
    p.append(text)
    p.className = name ? mine ? "mine" : "" : "news"
    this.log.append(p)
    while (this.log.childElementCount > KEPT) this.log.firstChild.remove()
    this.log.scrollTop = this.log.scrollHeight
    setTimeout(() => p.classList.add("old"), FADE_MS)
  }

  /**
   * Shows the vote that is open, once a frame of the display's numbers.
   * @param {any} world
   * @param {boolean} plays whether this page has an avatar
   */
  draw(world, plays) {
    const poll = this.poll = (world.poll ?? []).find(v => v.open), box = $("poll")
    const left = poll ? (poll.ends - (this.g.stats.tick ?? 0)) / this.g.layout.rate : 0
    box.hidden = !poll
    if (!poll) return
    const set = (/** @type {string} */ id, /** @type {string} */ text) => { if ($(id).textContent !== text) $(id).textContent = text }
    set("pollby", poll.by)
    set("pollwhat", ` wants to ${WHAT[poll.what] ?? poll.what}`)
    set("pollyes", String(poll.yes))
    set("pollno", String(poll.no))
    $("pollbar").style.width = `${Math.max(0, Math.min(100, 100 * left / 20))}%`
    const done = !plays || this.voted === poll.id || poll.by === this.g.me?.name
    $("yes").disabled = $("no").disabled = done
    box.classList.toggle("done", done)
  }
}
