// What the page and the rules say to each other: messages, and requests with their answers.
import { Fields } from "./layout.js"
import { meant } from "./remarks.js"

/** @typedef {import("./layout.js").Plain} Plain */

export class Words {
  /**
   * @param {import("./layout.js").Layout} layout
   * @param {(message: number, floats: Uint8Array, texts: string) => {error: string, call: number}} say hands a message to the engine
   */
  constructor(layout, say) {
    this.say = say
    this.messages = (layout.messages ?? []).map(m => (
      { name: m.name, fields: new Fields(m.fields), answer: m.answer && new Fields(m.answer) }))
    /** Requests without an answer, by their numbers.
     * @type {Map<number, {resolve: (answer: Plain) => void, reject: (why: Error) => void}>} */
    this.open = new Map()
  }

  /**
   * @param {string} name
   * @param {Plain} [fields]
   * @param {boolean} [asks] it is a request
   * @returns {{error: string, call: number}}
   */
  pass(name, fields = {}, asks = false) {
    const at = this.messages.findIndex(m => m.name === name), message = this.messages[at]
    if (!message) return { error: `This game has no message "${name}"${meant(name, this.messages.map(m => m.name))}`, call: 0 }
    if (asks !== !!message.answer) return { error: `${name} is ${asks ? "no request: use g.send" : "a request: use g.request"}.`, call: 0 }
    const floats = new Float64Array(message.fields.size), texts = /** @type {string[]} */ ([])
    const bad = message.fields.write(fields, floats, texts)
    if (bad) return { error: `${name}: ${bad}.`, call: 0 }
    const doubt = message.fields.stray(fields, `the message ${name}`)
    if (doubt) return { error: doubt[0].toUpperCase() + doubt.slice(1), call: 0 }
    return this.say(at, new Uint8Array(floats.buffer), texts.join("")) || { error: "The game has stopped.", call: 0 }
  }

  /**
   * Sends a message.
   * @param {string} name
   * @param {Plain} [fields]
   * @returns {string} "" or why nothing was sent
   */
  send(name, fields) { return this.pass(name, fields).error }

  /**
   * Sends a request and waits for the answer.
   * @param {string} name
   * @param {Plain} [fields]
   * @returns {Promise<Plain>} fails with the sentence of a refusal
   */
  request(name, fields) {
    const { error, call } = this.pass(name, fields, true)
    if (error) return Promise.reject(new Error(error))
    return new Promise((resolve, reject) => this.open.set(call, { resolve, reject }))
  }

  /** Fails all requests without an answer: none comes any more.
   * @param {string} why */
  giveUp(why) {
    for (const { reject } of this.open.values()) reject(new Error(why))
    this.open.clear()
  }

  /**
   * Hands out what arrived: answers to those who wait for them, messages to f.
   * @param {string} json what the engine's heard() returned
   * @param {(name: string, message: Plain, from: number, tick: number) => void} f
   */
  deliver(json, f) {
    for (const { message, from, tick, call, refused, floats, texts } of JSON.parse(json || "[]")) {
      const { name, fields, answer } = this.messages[message]
      const value = {}
      if (call === undefined) {
        fields.read(value, floats, 0, texts)
        f(name, value, from, tick)
        continue
      }
      const waiting = this.open.get(call)
      this.open.delete(call)
      if (refused !== undefined) waiting?.reject(new Error(refused))
      else {
        answer?.read(value, floats, 0, texts)
        waiting?.resolve(value)
      }
    }
  }
}
