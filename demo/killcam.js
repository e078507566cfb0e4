// The last seconds of the own avatar once more, with the camera on who killed it. They come from what this page has drawn, so
// they cost the server nothing, and show nothing that the player was not sent.
import { Scene } from "/scene.js"

const AGO_MS = 2000 // how old the picture is
const AFTER_MS = 500 // from the death to its first picture
const SIGHT_MS = 500 // a killer who was drawn for less than this before the death was not in sight
const LATE_MS = 1000 // for this long a frag waits for the avatar to be dead
const APART_MS = 10 // between two frames that are kept, at least
const FRAMES = 240, PLAYERS = 48, THINGS = 32, DOORS = 8, EFFECTS = 256 // what is kept; more is left out
const RED = ["#ffa3b0", "#ff5d73", "#8e2438"] // of the killer's body

/**
 * @typedef {object} Frame what was drawn at one time; its slots are made once
 * @property {number} at in ms; -1: none yet
 * @property {any[]} players
 * @property {any[]} things
 * @property {any[]} doors
 * @property {number} nPlayers how many slots are of this frame
 * @property {number} nThings
 * @property {number} nDoors
 */

export class Killcam {
  /** @param {any} ctx the canvas that the page's own scene draws on */
  constructor(ctx) {
    this.ctx = ctx
    this.map = null
    /** It is shown now. */
    this.on = false
    this.killer = 0 // 0: nothing is to be shown
    this.diedAt = 0
    this.name = ""
    this.scene = null
    this.shownTo = 0 // the time up to which effects were shown
    /** @type {Frame[]} */
    this.frames = Array.from({ length: FRAMES }, () => ({
      at: -1, players: Array.from({ length: PLAYERS }, () => ({})), things: new Array(THINGS).fill(null), doors: new Array(DOORS).fill(null),
      nPlayers: 0, nThings: 0, nDoors: 0,
    }))
    this.newest = 0
    this.effects = Array.from({ length: EFFECTS }, () => ({ at: -1, key: 0, name: "", args: [] }))
    this.nEffects = 0
    this.players = []
    this.stage = { focus: { x: 0, y: 0 }, lead: { x: 0, y: 0 } }
  }

  /** Keeps what is drawn at this time. Things and doors are the caller's no longer. */
  keep(now, players, things, doors) {
    if (now - this.frames[this.newest].at < APART_MS) return
    this.newest = (this.newest + 1) % FRAMES
    const f = this.frames[this.newest]
    f.at = now
    f.nPlayers = Math.min(players.length, PLAYERS)
    f.nThings = Math.min(things.length, THINGS)
    f.nDoors = Math.min(doors.length, DOORS)
    for (let i = 0; i < f.nPlayers; i++) Object.assign(f.players[i], players[i])
    for (let i = 0; i < f.nThings; i++) f.things[i] = things[i]
    for (let i = 0; i < f.nDoors; i++) f.doors[i] = doors[i]
  }

  /** Keeps a call of the scene that showed what happened. */
  note(name, args, key, now) {
    const e = this.effects[this.nEffects++ % EFFECTS]
    e.at = now
    e.key = key
    e.name = name
    e.args = args
  }

  /** Forgets what has not happened. */
  takeBack(key) {
    for (const e of this.effects) if (e.key === key) e.name = ""
    this.scene?.takeBack(key)
  }

  /** The own avatar dies by somebody else. */
  died(killer, name, now) {
    this.skip()
    this.killer = killer
    this.name = name
    this.diedAt = now
  }

  /** Ends it, or keeps it from beginning. */
  skip() {
    this.killer = 0
    this.on = false
    this.scene = null
  }

  /** Forgets what was drawn: the level is another one. */
  forget() {
    this.skip()
    for (const f of this.frames) f.at = -1
  }

  /** A press: it skips what is shown now. */
  press() {
    if (this.on) this.skip()
  }

  /** The newest frame that was drawn before this time, or null when none was shortly before. */
  frame(at) {
    for (let i = 0; i < FRAMES; i++) {
      const f = this.frames[(this.newest + FRAMES - i) % FRAMES]
      if (f.at < 0) return null
      if (f.at <= at) return at - f.at < AFTER_MS ? f : null
    }
    return null
  }

  /** Draws the past instead of the present, and returns whether it did. me is the own avatar, {alive}, or undefined. */
  draw(me, width, height, now, dt) {
    if (!this.killer) return false
    const dead = me && !me.alive, since = now - this.diedAt
    if (!dead && (this.on || since > LATE_MS || !me)) this.skip() // it is back
    if (!dead || since < AFTER_MS || !this.map) return false
    const at = now - AGO_MS, f = this.frame(at)
    if (this.on ? !f : at > this.diedAt - SIGHT_MS) this.skip()
    if (!f || !this.killer) return false
    const { players, stage } = this
    players.length = f.nPlayers
    let killer = null, victim = null
    for (let i = 0; i < f.nPlayers; i++) {
      const p = players[i] = f.players[i]
      p.color = p.id === this.killer ? RED : undefined
      if (p.id === this.killer && p.alive) killer = p
      if (p.mine) victim = p
    }
    const begins = !this.on
    if (begins) {
      if (!killer) return false
      this.on = true
      this.shownTo = at
      this.scene = new Scene(this.ctx)
      this.scene.build(this.map)
    }
    for (let i = Math.max(0, this.nEffects - EFFECTS); i < this.nEffects; i++) {
      const e = this.effects[i % EFFECTS]
      if (e.at <= this.shownTo || e.at > at || !e.name) continue
      this.scene.key = e.key
      this.scene[e.name](...e.args, e.at)
      this.scene.key = 0
    }
    this.shownTo = at
    if (killer) {
      stage.focus.x = killer.x
      stage.focus.y = killer.y
      stage.lead.x = victim ? Math.max(-3, Math.min(3, (victim.x - killer.x) / 4)) : 0 // a little towards the victim
      stage.lead.y = victim ? Math.max(-3, Math.min(3, (victim.y - killer.y) / 4)) : 0
    }
    this.scene.draw({
      width, height, now: at, dt, players, things: f.things.slice(0, f.nThings), doors: f.doors.slice(0, f.nDoors),
      truth: null, me: victim?.id, cut: begins, focus: stage.focus, lead: stage.lead, aim: null, crosshair: null,
    })
    return true
  }
}
