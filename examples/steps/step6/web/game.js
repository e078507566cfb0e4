import { join } from "/meanwhile.js"

const g = await join({ canvas: document.querySelector("canvas"), view: { x: 0, y: 0, width: 40, height: 24 } })
const { ctx, keys, mouse } = g
const sparks = [], lines = []

g.command = () => ({ move: keys.wasd, aim: mouse.angleFrom(g.me.pos), fire: mouse.pressed }) // once per tick
g.on.zap = zap => sparks.push({ ...zap, die: g.now + 120 }) // once per shot

const say = Object.assign(document.createElement("input"), { placeholder: "Say something", maxLength: 40 })
say.style.cssText = "position: fixed; left: 12px; bottom: 12px; width: 220px"
say.onkeydown = e => {
  if (e.key !== "Enter") return
  g.send("chat", { text: say.value }) // once and in order, on any network
  say.value = ""
  say.blur()
}
document.body.append(say)
g.on.chat = (line, from) => {
  lines.push(`${g.world.pilot.find(p => p.id === from)?.name ?? "?"}: ${line.text}`)
  if (lines.length > 4) lines.shift()
}

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
  ctx.font = "0.8px system-ui"
  ctx.fillStyle = "#d7dee8"
  for (const p of world.pilot) ctx.fillText(`${p.name} ${p.score}`, p.pos.x + 0.8, p.pos.y - 0.8)
  lines.forEach((text, i) => ctx.fillText(text, 1, 2 + i * 1.2))
  ctx.strokeStyle = "#ff5d73"
  for (const s of sparks) if (s.die > g.now) {
    ctx.beginPath()
    ctx.moveTo(s.from.x, s.from.y)
    ctx.lineTo(s.to.x, s.to.y)
    ctx.stroke()
  }
}
