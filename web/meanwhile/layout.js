// The world as plain objects: what the engine writes as floats becomes objects by the names that the game's Go fields have.
// docs/BRIDGE.md describes the floats.
import { Sentence } from "./notice.js"
import { meant } from "./remarks.js"

/** @typedef {{name: string, type: string, names?: string[], length?: number}} Field */
/**
 * What the engine says the game is made of.
 * @typedef {object} Layout
 * @property {string} game
 * @property {number} rate ticks per second
 * @property {{name: string, properties: Field[]}[]} kinds
 * @property {{name: string, fields: Field[]}[]} events
 * @property {{name: string, fields: Field[], answer?: Field[]}[]} [messages]
 * @property {Field[]} command
 * @property {string[]} stats
 * @property {{name: string, title: string, delayMs: number, jitterMs: number, lossPct: number}[]} profiles
 */
/** @typedef {Float64Array} Floats */
/** @typedef {Record<string, any>} Plain */

/** The version of the bridge that this page speaks. */
export const BRIDGE = 2
/** Floats before the stats in what draw() writes. */
const HEADER = 8
/** Flags of an entity; the whole milliseconds of lateMs stand above them. */
const MINE = 1, CUT = 2, PREDICTED = 4, STALLED = 8, LATE_SHIFT = 4
const UNDO = 2 // of events

/** @type {Record<string, string[]>} */
const PARTS = { vec2: ["x", "y"], vec3: ["x", "y", "z"], view: ["yaw", "pitch"], quat: ["x", "y", "z"] }
/** Floats of a value by type; those of bytes depend on its length.
 * @type {Record<string, number>} */
const SIZES = { vec2: 2, vec3: 3, view: 2, quat: 3, angle: 1, number: 1, bool: 1, text: 1, enum: 1, bytes: 0, press: 1 }

const utf8 = new TextEncoder()

/** How an array of bytes is packed: this many floats, of this many bytes each. */
const packing = (/** @type {number} */ length) => {
  const words = Math.ceil(length / 4)
  return { words, width: Math.ceil(length / words) }
}

/** Reads and writes the values of one list of fields. */
export class Fields {
  /** @param {Field[]} list */
  constructor(list) {
    this.list = list
    this.names = new Set(list.map(f => f.name))
    /** Floats of all values together. */
    this.size = 0
    for (const { name, type, length = 0 } of list) {
      if (!(type in SIZES)) throw new Sentence(`The engine describes ${name} as ${type}, which this page does not know. Reload the page.`)
      this.size += type === "bytes" ? packing(length).words : SIZES[type]
    }
  }

  /**
   * Writes the values that begin at floats[at] into an object, in place.
   * @param {Plain} object
   * @param {Floats} floats
   * @param {number} at
   * @param {string[]} texts
   * @returns {number} the index after the last value
   */
  read(object, floats, at, texts) {
    for (const { name, type, names, length = 0 } of this.list) {
      const v = floats[at], parts = PARTS[type], unknown = v !== v
      if (type === "bytes") {
        const { words, width } = packing(length), from = at
        object[name] = unknown ? undefined : Array.from({ length }, (_, i) => floats[from + Math.floor(i / width)] >>> 8 * (i % width) & 255)
        at += words
        continue
      }
      if (unknown) object[name] = undefined
      else if (parts) {
        const p = object[name] ??= {}
        for (let i = 0; i < parts.length; i++) p[parts[i]] = floats[at + i]
        if (type === "quat") p.w = Math.sqrt(Math.max(0, 1 - p.x * p.x - p.y * p.y - p.z * p.z))
      } else object[name] = type === "bool" ? v !== 0 : type === "text" ? texts[v] ?? "" : type === "enum" ? names?.[v] : v
      at += SIZES[type]
    }
    return at
  }

  /**
   * Writes the fields of an object into floats; a missing field is zero. A text becomes its length in bytes.
   * @param {Plain} object
   * @param {Floats} floats
   * @param {string[]} [texts] gets the texts, in their order
   * @returns {string} what is wrong with a field, or ""
   */
  write(object, floats, texts) {
    let bad = "", at = 0
    const put = (/** @type {any} */ v, /** @type {string} */ name, /** @type {string[]} */ words = []) => {
      v = +(v ?? 0)
      if (v !== v) { bad ||= `${name} is ${words.length ? "none of " + words.join(", ") : "not a number"}`; v = 0 }
      floats[at++] = v
    }
    for (const { name, type, names = [], length = 0 } of this.list) {
      const v = object[name]
      if (type === "bytes") {
        const { words, width } = packing(length)
        for (let w = 0; w < words; w++) {
          let sum = 0
          for (let i = 0; i < width && w * width + i < length; i++) sum += (v?.[w * width + i] & 255) * 256 ** i
          put(sum, name)
        }
      } else if (type === "quat") {
        const n = Math.hypot(v?.x ?? 0, v?.y ?? 0, v?.z ?? 0, v?.w ?? 0) * (v?.w < 0 ? -1 : 1) || 1
        for (const part of PARTS.quat) put((v?.[part] ?? 0) / n, name)
      } else if (type === "text" && texts) {
        const s = String(v ?? "")
        put(utf8.encode(s).length, name)
        texts.push(s)
      } else if (PARTS[type]) for (const part of PARTS[type]) put(v?.[part], name)
      else put(type === "enum" && typeof v === "string" ? (names.includes(v) ? names.indexOf(v) : NaN) : v, name, names)
    }
    return bad
  }

  /**
   * Finds a name of an object that is no field.
   * @param {Plain} object
   * @param {string} whose such as "zap's command"
   * @returns {string} a sentence about the first one, or ""
   */
  stray(object, whose) {
    for (const name in object) if (!this.names.has(name)) return `there is no field "${name}" in ${whose}${meant(name, this.names)}`
    return ""
  }

  /**
   * Finds a value of an object that is undefined, as a name that was mistyped gives.
   * @param {Plain} object
   * @param {string} whose
   * @returns {string} a sentence about the first one, or ""
   */
  hollow(object, whose) {
    for (const name in object) {
      const v = object[name]
      if (v === undefined) return `"${name}" of ${whose} is undefined, which counts as 0.`
      if (v === null || typeof v !== "object") continue
      for (const part in v) if (v[part] === undefined) return `"${name}.${part}" of ${whose} is undefined, which counts as 0.`
    }
    return ""
  }
}

/** The world of one page: objects that stay as long as their entities, filled in anew by each frame. */
export class World {
  /** @param {Layout} layout */
  constructor(layout) {
    this.kinds = layout.kinds.map(k => ({
      name: k.name, fields: new Fields(k.properties), list: /** @type {Plain[]} */ ([]),
      known: /** @type {Map<number, {object: Plain, frame: number}>} */ (new Map()),
    }))
    this.events = layout.events.map(e => ({ name: e.name, fields: new Fields(e.fields) }))
    this.statNames = layout.stats
    /** @type {Record<string, Plain[]>} */
    this.lists = Object.fromEntries(this.kinds.map(k => [k.name, k.list]))
    /** @type {Record<string, number>} */
    this.stats = Object.fromEntries(layout.stats.map(name => [name, 0]))
    /** @type {{up: boolean, sentMs: number, arrivedMs: number, bytes: number}[]} */
    this.packets = []
    this.texts = [""]
    this.textsVersion = 0
    /** @type {Plain | undefined} */
    this.me = undefined
    this.frame = 0
  }

  /**
   * Reads what draw() wrote.
   * @param {Floats} floats
   * @param {() => string} texts the engine's texts, asked for when they have changed
   * @returns {{name: string, event: Plain, undo: boolean}[]} the events of this frame; undo: taken back
   */
  read(floats, texts) {
    if (floats[0] !== BRIDGE) throw new Sentence(`The engine speaks version ${floats[0]} of the bridge, this page version ${BRIDGE}. Reload the page.`)
    if (floats[3] !== this.textsVersion) {
      this.texts = JSON.parse(texts())
      this.textsVersion = floats[3]
    }
    const frame = ++this.frame
    let at = HEADER
    const stats = Math.min(floats[4], this.statNames.length)
    for (let i = 0; i < stats; i++) this.stats[this.statNames[i]] = floats[at + i]
    at += floats[4]
    this.me = undefined
    for (const kind of this.kinds) {
      const n = floats[at++], { list, known, fields } = kind
      list.length = n
      for (let i = 0; i < n; i++) {
        const id = floats[at++], flags = floats[at++], intervalMs = floats[at++]
        let entry = known.get(id)
        if (!entry) known.set(id, entry = { object: { id, mine: false, cut: false, predicted: false, stalled: false, lateMs: 0, intervalMs: 0 }, frame })
        entry.frame = frame
        const object = entry.object
        setFlags(object, flags)
        object.intervalMs = intervalMs
        at = fields.read(object, floats, at, this.texts)
        list[i] = object
        if (flags & MINE && !this.me) this.me = object
      }
      if (known.size > n) for (const [id, entry] of known) if (entry.frame !== frame) known.delete(id)
    }
    const events = []
    for (let i = 0; i < floats[6]; i++) {
      const kind = this.events[floats[at]]
      const undo = (floats[at + 3] & UNDO) !== 0
      const event = { key: floats[at + 1], entity: floats[at + 2], mine: (floats[at + 3] & MINE) !== 0 }
      at = kind.fields.read(event, floats, at + 4, this.texts)
      events.push({ name: kind.name, event, undo })
    }
    this.packets.length = 0
    for (let i = 0; i < floats[7]; i++, at += 4) {
      this.packets.push({ up: floats[at] === 1, sentMs: floats[at + 1], arrivedMs: floats[at + 2], bytes: floats[at + 3] })
    }
    return events
  }

  /**
   * Reads what me() wrote: the own avatar at the newest predicted tick.
   * @param {Floats} floats
   * @param {number} n how many floats me() wrote
   */
  readMe(floats, n) {
    if (n < 3) {
      this.me = undefined
      return
    }
    const kind = this.kinds[floats[0]], entry = kind.known.get(floats[1])
    if (!entry) return // it has not been drawn yet
    this.me = entry.object
    setFlags(entry.object, floats[2])
    kind.fields.read(entry.object, floats, 3, this.texts)
  }
}

/**
 * @param {Plain} object
 * @param {number} flags
 */
function setFlags(object, flags) {
  object.mine = (flags & MINE) !== 0
  object.cut = (flags & CUT) !== 0
  object.predicted = (flags & PREDICTED) !== 0
  object.stalled = (flags & STALLED) !== 0
  object.lateMs = flags >> LATE_SHIFT
}
