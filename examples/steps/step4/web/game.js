import { join } from "/meanwhile.js"

const g = await join({ canvas: document.querySelector("canvas"), view: { x: 0, y: 0, width: 40, height: 24 } })
const { ctx, keys, mouse } = g
const sparks = []

g.command = () => ({ move: keys.wasd, aim: mouse.angleFrom(g.me.pos), fire: mouse.pressed }) // once per tick
g.on.zap = zap => sparks.push({ ...zap, die: g.now + 120 }) // once per shot
g.draw = world => { // once per frame, in metres
  ctx.lineWidth = 0.12
  ctx.strokeStyle = "#44546a"
  ctx.strokeRect(0, 0, 40, 24)
  ctx.fillStyle = "#e8b339"
  for (const gem of world.gem) ctx.fillRect(gem.pos.x - 0.2, gem.pos.y - 0.2, 0.4, 0.4)
  for (const p of world.pilot) {
    ctx.fillStyle = p.mine ? "#56b4e9" : "#d7dee8"
    ctx.beginPath()
    ctx.arc(p.pos.x, p.pos.y, 0.6, p.aim + 0.5, p.aim - 0.5)
    ctx.fill()
  }
  ctx.strokeStyle = "#ff5d73"
  for (const s of sparks) if (s.die > g.now) {
    ctx.beginPath()
    ctx.moveTo(s.from.x, s.from.y)
    ctx.lineTo(s.to.x, s.to.y)
    ctx.stroke()
  }
}
