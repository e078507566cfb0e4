import { join } from "/meanwhile.js"

const g = await join({ canvas: document.querySelector("canvas"), view: { x: 0, y: 0, width: 40, height: 24 } })
const { ctx, keys } = g

g.command = () => ({ move: keys.wasd }) // once per tick
g.draw = world => { // once per frame, in metres
  ctx.lineWidth = 0.12
  ctx.strokeStyle = "#44546a"
  ctx.strokeRect(0, 0, 40, 24)
  ctx.fillStyle = "#e8b339"
  for (const gem of world.gem) ctx.fillRect(gem.pos.x - 0.2, gem.pos.y - 0.2, 0.4, 0.4)
  for (const p of world.pilot) {
    ctx.fillStyle = p.mine ? "#56b4e9" : "#d7dee8"
    ctx.beginPath()
    ctx.arc(p.pos.x, p.pos.y, 0.6, 0, 7)
    ctx.fill()
  }
}
