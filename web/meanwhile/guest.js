// Who plays in this browser, where no login says it: a secret that is drawn once and kept. The server stores what the player
// gains under it. A second tab that plays at the same time is another player, for as long as it is open.

const NAME = "meanwhile.guest"

/** The secret, 32 hexadecimal digits, or "" where the browser keeps nothing.
 * @returns {Promise<string>} */
export async function guestKey() {
  try {
    return await first() ? keyIn(localStorage) : keyIn(sessionStorage)
  } catch {
    return "" // storage is switched off
  }
}

/** @param {Storage} storage */
function keyIn(storage) {
  let key = storage.getItem(NAME) ?? ""
  if (!/^[0-9a-f]{32}$/.test(key)) {
    key = Array.from(crypto.getRandomValues(new Uint8Array(16)), b => b.toString(16).padStart(2, "0")).join("")
    storage.setItem(NAME, key)
  }
  return key
}

/** Whether no other tab of this browser plays on this site. Without locks, as on plain http, nobody knows.
 * @returns {Promise<boolean>} */
async function first() {
  if (!navigator.locks) return true
  // A page that is loaded again may still wait for its own last lock.
  const again = sessionStorage.getItem(NAME + ".first") === "1"
  const won = await new Promise(resolve => {
    const options = again ? { signal: AbortSignal.timeout(1000) } : { ifAvailable: true }
    navigator.locks.request(NAME, options, lock => {
      resolve(!!lock)
      return lock ? new Promise(() => {}) : undefined // until the page goes
    }).catch(() => resolve(false))
  })
  if (won) sessionStorage.setItem(NAME + ".first", "1")
  else sessionStorage.removeItem(NAME + ".first")
  return won
}
