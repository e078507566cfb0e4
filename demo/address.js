// The page's address, which remembers what the panel was set to.

/** The engine's settings by their names in the address, with what they are at first and at most.
 * @type {Record<string, {setting: string, initial: number, most: number}>} */
const CONTROLS = {
  delay: { setting: "delayMs", initial: 0, most: 400 },
  jitter: { setting: "jitterMs", initial: 0, most: 200 },
  loss: { setting: "lossPct", initial: 0, most: 30 },
  playout: { setting: "playoutMs", initial: 0, most: 500 },
  predict: { setting: "predict", initial: 1, most: 1 },
  ahead: { setting: "predictMs", initial: 5000, most: 5000 },
  interpolate: { setting: "interpolate", initial: 1, most: 1 },
  lagcomp: { setting: "lagcomp", initial: 1, most: 1 },
  down: { setting: "downKbps", initial: 0, most: 100000 },
}
const NETWORK = ["delay", "jitter", "loss"]

/** Reads the address: {bot, ghost, transport, profile and every control}. */
export function readAddress() {
  const q = new URLSearchParams(location.search)
  /** @type {any} */
  const state = {}
  for (const id in CONTROLS) {
    const v = q.get(id), n = Number(v)
    state[id] = v === null || !(n >= 0) ? CONTROLS[id].initial : Math.min(n, CONTROLS[id].most)
  }
  state.profile = q.get("profile") ?? ""
  state.ghost = q.get("ghost") === "1" ? 1 : 0
  state.bot = q.get("bot") !== "0"
  state.transport = q.get("transport") ?? undefined
  return state
}

/** The engine's settings for a state. */
export function settingsOf(state) {
  /** @type {Record<string, number | string>} */
  const settings = { profile: state.profile }
  for (const id in CONTROLS) settings[CONTROLS[id].setting] = state[id]
  return settings
}

/** Writes settings, and what the page itself remembers, to the address. */
export function remember(state, settings) {
  const q = new URLSearchParams(location.search), put = (id, v, initial) => v === initial ? q.delete(id) : q.set(id, v)
  for (const id in CONTROLS) {
    const { setting, initial } = CONTROLS[id]
    put(id, settings.profile && NETWORK.includes(id) ? initial : settings[setting] ?? initial, initial)
  }
  put("profile", settings.profile ?? "", "")
  put("ghost", state.ghost, 0)
  put("bot", state.bot ? 1 : 0, 1)
  const text = q.toString()
  history.replaceState(null, "", text ? `?${text}` : location.pathname)
}
