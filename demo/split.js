// One world, three nows: beside what this page shows stands the same moment as the server has it, as another player sees it, or
// without the techniques. The truth comes straight from the server. The other two are a second client in a frame: a player of
// its own, whom the game's bot plays, and whose camera looks at this one.
import { Scene } from "/scene.js"

/** @type {(id: string) => any} */
const $ = id => document.getElementById(id)
const ms = v => `${Math.max(0, Math.round(v))} ms`

/** What each half shows, in a sentence. second: of the second client. */
const SAYS = {
  truth: () => "<b>The server, now.</b> Where it has everybody, past every technique and your simulated network.",
  opponent: second => `<b>Another player’s screen</b>, joined by this page on your real network. You are in the middle${second ? `, ${ms(second.stats.delayMs)} late` : ""}.`,
  raw: second => `<b>Without the techniques.</b> Another player on a network as bad as yours: everybody at the newest record, you, too${second ? `, ${ms(second.stats.ageMs + second.stats.rttMs / 2)} old` : ""}.`,
}

export class Split {
  /**
   * @param {any} g
   * @param {any} map
   */
  constructor(g, map) {
    this.g = g
    this.map = map
    /** "" while there is one picture only. */
    this.mode = ""
    /** @type {HTMLIFrameElement | null} */
    this.frame = null
    /** @type {Scene | null} */
    this.scene = null
    this.list = []
    $("compare").addEventListener("change", () => this.show($("compare").value))
    if (!g.config.truth) $("compare").querySelector("[value=truth]").disabled = true
  }

  /** Shows another half: "truth", "opponent", "raw", or "" for none. */
  show(mode) {
    this.mode = mode
    $("compare").value = mode
    document.body.classList.toggle("split", !!mode)
    $("other").hidden = $("mine").hidden = !mode
    this.frame?.remove()
    this.frame = this.scene = null
    $("second").hidden = mode !== "truth"
    if (mode === "truth") {
      this.scene = new Scene($("second").getContext("2d", { alpha: false }))
      this.scene.build(this.map)
    } else if (mode) {
      const frame = this.frame = document.createElement("iframe")
      frame.title = "The second screen"
      frame.src = `/second.html?${mode}`
      $("other").prepend(frame)
    }
    this.g.canvas.focus({ preventScroll: true })
  }

  /** The second client, once it plays. */
  get second() { return /** @type {any} */ (this.frame?.contentWindow)?.g }

  /**
   * Draws the server's half: seen are the players as this page draws them, truth where the server has them.
   * @param {{x: number, y: number}} eye what the own half looks at
   * @param {Map<number, any>} seen
   * @param {any[]} truth
   * @param {any[]} doors
   * @param {any[]} things of which it shows the platforms
   */
  draw(eye, seen, truth, doors, things, now, dt) {
    const { scene, list } = this
    if (!scene) return
    const canvas = scene.ctx.canvas, ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight
    const w = Math.round(width * ratio), h = Math.round(height * ratio)
    if (canvas.width !== w) canvas.width = w
    if (canvas.height !== h) canvas.height = h
    scene.ctx.setTransform(ratio, 0, 0, ratio, 0, 0)
    list.length = 0
    let me
    Object.assign(scene.eye, { x: eye.x, y: eye.y }) // the same piece of the world
    for (const t of truth) {
      const p = seen.get(t.id)
      if (!p) continue // nobody tells this page what it is
      const q = { ...p, x: t.x, y: t.y, z: t.z }
      list.push(q)
      if (p.mine) me = q
    }
    scene.draw({
      width, height, now, dt, players: list, things: things.filter(t => t.type === "platform"), doors, truth: null, me: me?.id, cut: false,
      focus: null, lead: { x: 0, y: 0 }, aim: null, crosshair: null,
    })
  }

  /** Says what each half shows, a few times a second. */
  say() {
    if (!this.mode) return
    const { stats } = this.g, mine = this.g.me && !this.g.me.predicted ? "you as late as they" : `you ${ms(stats.commandMs - stats.serverMs)} ahead of the server`
    html($("mine"), `<b>Your screen:</b> others ${ms(stats.delayMs)} late, ${mine}.`)
    html($("theirs"), SAYS[this.mode](this.second?.stats?.rttMs ? this.second : null))
  }
}

function html(element, text) {
  if (element.dataset.text === text) return
  element.dataset.text = text
  element.innerHTML = text
}
