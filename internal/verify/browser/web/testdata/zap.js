// A stand-in for the quickstart's engine: the same bridge, hardly a game. What the page told it is kept for the test to read.
import { Bridge } from "./bridge.js"

const LAYOUT = {
  game: "zap", rate: 30,
  kinds: [
    { name: "pilot", properties: [
      { name: "pos", type: "vec2" }, { name: "vel", type: "vec2" }, { name: "aim", type: "angle" }, { name: "score", type: "number" },
      { name: "ammo", type: "number" }, { name: "name", type: "text" }] },
    { name: "gem", properties: [{ name: "pos", type: "vec2" }] },
  ],
  events: [{ name: "zap", fields: [{ name: "from", type: "vec2" }, { name: "to", type: "vec2" }] }],
  command: [{ name: "move", type: "vec2" }, { name: "aim", type: "angle" }, { name: "fire", type: "press" }],
  stats: ["tick", "serverMs", "rttMs", "state", "silentMs"], profiles: [],
}

class Zap extends Bridge {
  constructor() {
    super(LAYOUT, ["", "ann", "bob"])
    this.x = 20
    this.y = 12
    this.aim = 0
    this.ticks = 0
    this.commands = [] // [move x, move y, aim, fire]
    this.heard = [] // [name, ...]
    this.received = [] // [byte 9, sent stamp in µs, arrivalMs]
    this.neverSent = [] // sequence numbers
    this.settings = {}
    this.events = []
    this.gems = 12
    this.state = 1
    this.sends = 0
    this.hellos = 0
  }
  hello() { return new TextEncoder().encode(`hello ${++this.hellos}`) }
  welcome(bytes, transport, now) {
    const text = new TextDecoder().decode(bytes)
    this.heard.push(["welcome", text, transport])
    if (text.startsWith("refuse ")) return { error: text.slice(7), retryMs: 0 }
    if (text.startsWith("later ")) return { error: text.slice(6), retryMs: 100 }
    return { error: "", retryMs: 0 }
  }
  message(bytes) {
    const text = new TextDecoder().decode(bytes)
    this.heard.push(["message", text])
    return { goodbye: text.startsWith("away ") ? text.slice(5) : "", notice: "", inMs: 0, to: "" }
  }
  lost() { this.heard.push(["lost"]) }
  dropped(seq) { this.neverSent.push(seq) }
  leave() { this.heard.push(["leave"]) }
  receive(bytes, arrivalMs) { this.received.push([bytes[9], new DataView(bytes.buffer, bytes.byteOffset).getUint32(5, true), arrivalMs]) }
  setting(name, value) {
    this.settings[name] = value
    return name === "nonsense" ? "there is no setting nonsense" : ""
  }
  frame(now) {
    if (this.dies) throw new Error(this.dies)
    this.now = now
    this.start0 ??= now
    if (this.hellos && this.sends < 200 && this.heard.length) { // one datagram a frame: an own number at 9, the stamp left to the Worker
      const b = new Uint8Array(12)
      b[9] = ++this.sends & 255
      this.send(b, this.sends % 3 === 0 ? now + 20 : 0, false)
    }
    return Math.max(0, Math.min(4, Math.floor((now - this.start0) / (1000 / 30)) - this.ticks))
  }
  tick(c) {
    this.ticks++
    this.commands.push([...c])
    this.x += c[0] * 9 / 30
    this.y += c[1] * 9 / 30
    this.aim = c[2]
    if (c[3]) this.events.push([0, this.ticks, 7, 1, this.x, this.y, this.x + 10 * Math.cos(c[2]), this.y + 10 * Math.sin(c[2])])
  }
  world() {
    const events = this.events
    this.events = []
    const pilots = [[7, 1 | 4, this.x, this.y, 0, 0, this.aim, 3, 5, 1], [9, 0, 26, 12, 0, 0, Math.PI, 1, NaN, 2]]
    return {
      own: 7, stats: { tick: this.ticks, serverMs: this.now, rttMs: 20, state: this.state, silentMs: this.state === 3 ? 2300 : 0 },
      entities: [this.gone ? pilots.slice(1) : pilots, Array.from({ length: this.gems }, (_, i) => [20 + i, 0, 10 + 2 * (i % 10), 6 + (i > 9 ? 2 : 0)])],
      events, packets: [],
    }
  }
}

export async function boot(config) {
  if (config.boot === "fails") throw new Error("no engine today")
  return globalThis.engine = new Zap()
}
