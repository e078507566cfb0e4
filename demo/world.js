// What the arena's rules call things, and how the scene draws them.

/** A player as the scene draws it. */
export const readPlayer = (p, into) => Object.assign(into, {
  id: p.id, mine: p.mine, cut: p.cut, lateMs: p.lateMs ?? 0,
  x: p.pos.x, y: p.pos.y, z: p.pos.z ?? 0, vx: p.vel?.x ?? 0, vy: p.vel?.y ?? 0,
  aim: p.aim ?? 0, health: p.health ?? 100, alive: p.alive ?? true, crouch: p.crouch ?? false,
  name: p.name || `Player ${p.id}`, score: p.score ?? 0, deaths: p.deaths ?? 0,
  weapon: p.weapon ?? 1, doing: p.doing ?? "idle", next: p.next ?? p.weapon ?? 1, ready: p.ready ?? 0,
  inside: p.weapon === 2 ? p.rockets : p.ammo, beside: p.weapon === 2 ? p.crate : p.spare,
})

/** Things without a name: {type, x, y, z, ...}. me: the own avatar's id. */
export function readThings(world, out, me) {
  out.length = 0
  for (const b of world.ball ?? []) out.push({ type: "ball", ...b.pos, radius: 0.45 })
  for (const r of world.rocket ?? []) if (!r.vel || r.vel.x || r.vel.y) out.push({ type: "rocket", ...r.pos, vx: r.vel?.x ?? 0, vy: r.vel?.y ?? 0, vz: r.vel?.z ?? 0, id: r.id, mine: r.mine || r.owner !== undefined && r.owner === me, radius: 0.12 })
  for (const p of world.platform ?? []) out.push({ type: "platform", track: p.track, ...p.pos })
  for (const c of world.cart ?? []) out.push({ type: "cart", x: c.pos.x, y: c.pos.y, z: c.pos.z ?? 0, angle: c.angle ?? c.yaw, radius: 0.8, tall: 0.8 })
  return out
}

/** Doors: how high each one is, in metres, and whether it will rise. */
export function readDoors(world, tick, out) {
  out.length = 0
  for (const d of world.door ?? []) out.push({ gate: d.gate ?? 0, top: d.pos?.z ?? 0, lit: d.rises > tick })
  return out
}

/** What everybody did in the round that is over, the best first: {id, name, frags, deaths, shots, hits}. Empty while one is played. */
export const readTallies = world => (world.tally ?? [])
  .map(t => ({ id: t.player, name: t.name, frags: t.score, deaths: t.deaths, shots: t.shots, hits: t.hits }))
  .sort((a, b) => b.frags - a.frags || a.deaths - b.deaths || a.id - b.id)

/** The round: {left in seconds, label, over, level: the number of its map}, or null when the rules have none. phase 0 warm-up, 1 play, 2 result. */
export function readRound(world, stats, rate) {
  const r = world.round?.[0]
  if (!r) return null
  const left = r.left ?? (r.ends - (stats.tick ?? 0)) / rate
  return { left: Math.max(0, left), label: ["Warm-up", "", "Next round"][r.phase ?? 1] ?? "", over: r.phase === 2, level: r.map ?? 0 }
}
