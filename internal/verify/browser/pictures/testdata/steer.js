// Plays the demo for a moving picture, with events as keys and mouse make them, and keeps pictures of the two halves and of the keys
// that are down. It waits for nothing: on a slow machine there are fewer pictures.
{
  const { g } = globalThis, second = document.querySelector("iframe").contentWindow
  const style = document.createElement("style")
  style.textContent = ":root { --bar: 0px !important; --ribbon: 0px !important; --side: 0px !important; } #bar, #panel, #timeline { display: none !important; }"
  document.head.append(style)
  for (const e of [eye, second.eye]) { // nearer
    const { fit } = e
    e.fit = (width, height) => {
      fit.call(e, width, height)
      e.scale *= 1.25
      e.focal *= 1.25
    }
  }

  /** What happened, and what was drawn, with the time in milliseconds. */
  const log = [], kept = [], time = () => performance.timeOrigin + performance.now()
  const { receipt } = g.on
  g.on.receipt = e => { receipt(e); if (e.hit) log.push({ MS: time(), What: "hit" }) }

  const down = new Set()
  const press = (code, on) => {
    if (down.has(code) === on) return
    on ? down.add(code) : down.delete(code)
    if (code === "Mouse") point(on ? "pointerdown" : "pointerup")
    else dispatchEvent(new KeyboardEvent(on ? "keydown" : "keyup", { code, bubbles: true }))
  }
  let mouse = { x: 300, y: 100 }
  const point = type => {
    const box = g.canvas.getBoundingClientRect()
    g.canvas.dispatchEvent(new PointerEvent(type, { bubbles: true, pointerType: "mouse", pointerId: 1, button: type === "pointermove" ? -1 : 0,
      buttons: down.has("Mouse") ? 1 : 0, clientX: box.left + mouse.x, clientY: box.top + mouse.y }))
  }

  let maps = [], walls = [], size = [0, 0], way = 1, turned = 0
  const from = performance.now()
  const free = (a, b) => {
    for (let i = 1; i < 30; i++) {
      const x = a.x + (b.x - a.x) * i / 30, y = a.y + (b.y - a.y) * i / 30
      for (const { min, max } of walls) if (x > min[0] - 0.2 && x < max[0] + 0.2 && y > min[1] - 0.2 && y < max[1] + 0.2) return false
    }
    return true
  }
  /** Whom to shoot at: the nearest one to whom the line is free. */
  const target = () => {
    let best = null, least = 14
    for (const p of g.world.player) {
      const d = Math.hypot(p.pos.x - g.me.pos.x, p.pos.y - g.me.pos.y)
      if (!p.mine && p.alive && d < least && free(g.me.pos, p.pos)) { least = d; best = p }
    }
    return best
  }
  const play = () => {
    requestAnimationFrame(play)
    draw()
    if (!g.me?.alive) return log.push({ MS: time(), What: "dead" })
    walls = maps[g.world.round?.[0]?.map ?? 0].walls
    // To and fro for longer than the path's round trip, around the middle of the place; jumps between.
    const now = performance.now() - from, t = target(), { x, y } = g.me.pos
    const stuck = Math.abs(g.me.vel?.x ?? 0) < 0.3 && now - turned > 400, aside = (x - size[0] / 2) * way > 9
    if (stuck || now - turned > (aside ? 700 : 1300)) { way = -way; turned = now }
    press("KeyD", way > 0)
    press("KeyA", way < 0)
    const off = y - size[1] / 2 - 3
    press("KeyW", off > 5)
    press("KeyS", off < -5)
    press("Space", now % 2300 < 110)
    if (t) {
      const a = eye.at(t.pos.x, t.pos.y, (t.pos.z ?? 0) + 0.95)
      mouse = { x: mouse.x + 0.5 * (a.x - mouse.x), y: mouse.y + 0.5 * (a.y - mouse.y) }
      point("pointermove")
    }
    press("Mouse", !!t && now % 800 < 500)
  }

  // ---- The picture ----

  const KEYS = { KeyA: "A", KeyD: "D", KeyW: "W", KeyS: "S", Space: "Space", Mouse: "Fire" }, FONT = "system-ui, sans-serif"
  let record = null
  const draw = () => {
    const at = time()
    if (!record || at < record.next) return
    if (at > record.end) return record = null
    record.next = Math.max(record.next + record.every, at + record.every / 2)
    const { width, height } = record, c = new OffscreenCanvas(width, height), ctx = c.getContext("2d")
    const half = width / 2
    ctx.imageSmoothingQuality = "high"
    ctx.drawImage(g.canvas, 0, 0, half, height)
    ctx.drawImage(second.document.getElementById("view"), half, 0, half, height)
    ctx.fillStyle = "#3a4656"
    ctx.fillRect(half - 1, 0, 2, height)
    ctx.textBaseline = "middle"
    const plate = (x, y, w, h, r, color) => {
      ctx.fillStyle = color
      ctx.beginPath()
      ctx.roundRect(x, y, w, h, r)
      ctx.fill()
    }
    for (const [middle, text, bold] of [[half / 2, "Across an ocean, ", "with Meanwhile"], [1.5 * half, "The same moment ", "without"]]) {
      const plain = `500 16px ${FONT}`, heavy = `700 16px ${FONT}`
      ctx.font = plain
      const a = ctx.measureText(text).width
      ctx.font = heavy
      const b = ctx.measureText(bold).width, x = middle - (a + b) / 2
      plate(x - 14, 10, a + b + 28, 32, 9, "#0b0f15")
      ctx.fillStyle = "#ffffff"
      ctx.fillText(bold, x + a, 27)
      ctx.font = plain
      ctx.fillStyle = "#aeb9c7"
      ctx.fillText(text, x, 27)
    }
    ctx.font = `700 14px ${FONT}`
    const wide = Object.values(KEYS).map(text => ctx.measureText(text).width + 20), all = wide.reduce((sum, w) => sum + w + 6, 14)
    let x = half - all / 2
    plate(x, height - 50, all, 40, 11, "#0b0f15")
    x += 10
    Object.entries(KEYS).forEach(([code, text], i) => {
      plate(x, height - 43, wide[i], 26, 6, down.has(code) ? "#56b4e9" : "#202a36")
      ctx.fillStyle = down.has(code) ? "#0a0d12" : "#7d8a9b"
      ctx.fillText(text, x + 10, height - 29)
      x += wide[i] + 6
    })
    kept.push({ MS: at, picture: c })
  }

  fetch("/arena/map.json").then(r => r.json()).then(map => {
    ({ maps, size } = map)
    requestAnimationFrame(play)
    globalThis.steered = {
      log, kept,
      /** Keeps a picture every so many milliseconds. */
      record: (width, height, every, lasts) => { record = { width, height, every, next: time(), end: time() + lasts } },
      done: () => !record,
      /** A picture, as base64 of a PNG. */
      async picture(i) {
        const blob = await kept[i].picture.convertToBlob()
        return new Promise(done => {
          const r = new FileReader()
          r.onload = () => done(String(r.result).split(",")[1])
          r.readAsDataURL(blob)
        })
      },
    }
  })
}
