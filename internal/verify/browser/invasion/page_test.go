// Package invasion_test plays examples/invasion in a page of a browser, among bots.
package invasion_test

import (
	"os/exec"
	"testing"
	"time"

	"meanwhile/internal/verify/browser"
	"meanwhile/internal/verify/process"
)

// A page knows hundreds of creatures; records of the near ones come more often than those of the far
// ones, and the page colours them by it.
//
// seeds: R34 R45
func TestPage(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: invasion in a page of a browser")
	}
	cmd := exec.Command(process.Build(t, "meanwhile/cmd/meanwhile"), "demo", "--game", "invasion", "--addr", "127.0.0.1:0",
		"--bots", "120", "--kbit", "13")
	url := process.Start(t, cmd, 5*time.Minute).URL()
	p := browser.New(t)
	p.Resize(1280, 800)
	p.Open(url + "?bot&name=ann&downKbps=13")
	p.WaitFor(`window.game?.me && game.world.creature.length > 150 && game.world.beacon.length === 9 && figures.kbit > 3`)
	p.WaitFor(`game.world.creature.filter(c =>
		Math.hypot(c.pos.x - game.me.pos.x, c.pos.y - game.me.pos.y) < 30).length > 12`) // until a herd has arrived
	p.Screenshot("battle")
	p.Eval(`dispatchEvent(new KeyboardEvent("keydown", { code: "KeyR" }))`, nil)
	var mean struct{ Near, Far, Known float64 }
	p.Eval(`(() => {
		const me = game.me.pos, moving = game.world.creature.filter(c => c.intervalMs > 0)
			.map(c => ({ d: Math.hypot(c.pos.x - me.x, c.pos.y - me.y), ms: c.intervalMs }))
			.sort((a, b) => a.d - b.d).map(c => c.ms)
		const near = moving.slice(0, 30), far = moving.slice(-30)
		const mean = list => list.reduce((a, b) => a + b, 0) / list.length
		return { Near: mean(near), Far: mean(far), Known: game.world.creature.length }
	})()`, &mean)
	t.Logf("records every %.0f ms near, %.0f ms far, %v creatures known", mean.Near, mean.Far, mean.Known)
	if !(mean.Near > 0 && mean.Near < 0.7*mean.Far) {
		t.Errorf("records come every %.0f ms near and every %.0f ms far", mean.Near, mean.Far)
	}
	time.Sleep(500 * time.Millisecond)
	p.Screenshot("rates")
	p.Eval(`camera.width = 210`, nil)
	time.Sleep(500 * time.Millisecond)
	p.Screenshot("far")
}
