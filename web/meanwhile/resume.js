// What a page keeps to go on where it was when it is loaded again.

/** Where in sessionStorage; the address of the server's configuration follows. */
const NAME = "meanwhile.resume "
/** Digits of the key, which the name of the room follows. */
const DIGITS = 32

/** The key of the present session. It is stored only while the page goes away: a copy of a tab must not take the session over. */
export class Resume {
  /** @param {string} config address of the server's configuration */
  constructor(config) {
    this.name = NAME + new URL(config, location.href).href
    this.key = ""
  }

  /**
   * Takes out what the page before left, if that was in a room. The next page may need it, too.
   * @param {string} room "" for any
   */
  take(room) {
    let kept = ""
    try {
      kept = sessionStorage.getItem(this.name) ?? ""
      sessionStorage.removeItem(this.name)
    } catch { /* no storage: a page that is loaded again joins anew */ }
    return this.key = !room || kept.slice(DIGITS) === room ? kept : ""
  }

  /** Leaves the key for the next page, or takes it back.
   * @param {boolean} away */
  leave(away) {
    try {
      if (away && this.key) sessionStorage.setItem(this.name, this.key)
      else sessionStorage.removeItem(this.name)
    } catch { /* as above */ }
  }
}
