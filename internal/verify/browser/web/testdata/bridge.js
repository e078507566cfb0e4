// The bridge's byte layout, written from the engine's side: what an engine in JavaScript needs to stand in for the Go one.
// Subclasses say what the world is (world()), when ticks are due (frame()) and what a tick does (tick()).
export class Bridge {
  constructor(layout, texts = [""]) {
    this.layout = layout
    this.strings = texts
    this.textsVersion = 1
    this.pending = null
    this.calls = []
  }
  start(config, send, message) {
    this.config = JSON.parse(config)
    this.send = send
    this.sendMessage = message
    for (const [name, value] of Object.entries(this.config.settings)) this.setting(name, value)
    const bridged = this.tick.bind(this)
    this.tick = bytes => bridged(new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 8))
    return { error: "", layout: JSON.stringify(this.layout) }
  }
  hello() { return new TextEncoder().encode("hello") }
  welcome() { return { error: "", retryMs: 0 } }
  message() {}
  lost() {}
  dropped() {}
  receive() {}
  frame() { return 0 }
  tick() {}
  setting() { return "" }
  leave() {}
  desyncs() { return "[]" }
  texts() { return JSON.stringify(this.strings) }

  me(into) {
    const { entities } = this.world0(), floats = new Float64Array(into.buffer)
    for (let k = 0; k < entities.length; k++) for (const e of entities[k]) if (e[1] & 1) {
      floats.set([k, ...e])
      return 1 + e.length
    }
    return 0
  }
  world0() { return this.last ?? { entities: [] } }

  draw(into) {
    const w = this.pending ??= this.world()
    const flat = [2, 0, w.own, this.textsVersion, this.layout.stats.length, this.layout.kinds.length, w.events.length, w.packets.length]
    for (const name of this.layout.stats) flat.push(w.stats[name] ?? 0)
    for (const list of w.entities) { flat.push(list.length); for (const [id, flags, ...values] of list) flat.push(id, flags, 0, ...values) }
    for (const e of w.events) flat.push(...e)
    for (const p of w.packets) flat.push(...p)
    flat[1] = flat.length
    if (flat.length * 8 <= into.byteLength) {
      new Float64Array(into.buffer, into.byteOffset, flat.length).set(flat)
      this.last = w
      this.pending = null
    }
    return flat.length
  }
}
