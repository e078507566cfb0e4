// Package plaza_test plays examples/plaza in a page of a browser, among bots.
package plaza_test

import (
	"os/exec"
	"testing"
	"time"

	"meanwhile/internal/verify/browser"
	"meanwhile/internal/verify/process"
)

// The page shows everybody, sends what its player says, goes on from where the server puts its avatar back,
// and has room on a phone. What the server allows is tested with the rules in examples/plaza.
func TestPage(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: plaza in a page of a browser")
	}
	cmd := exec.Command(process.Build(t, "meanwhile/examples/plaza/cmd/plaza"), "--addr", "127.0.0.1:0", "--bots", "60")
	cmd.Dir = "../../../../examples/plaza"
	url := process.Start(t, cmd, 5*time.Minute).URL()
	p := browser.New(t)
	p.Open(url + "?name=ann")
	p.WaitFor(`window.game?.me && plaza.place() && game.world.avatar.length === 61 && game.stats.rttMs > 0`)
	p.Eval(`{
		game.send("chat", { text: "Good evening!" })
		dispatchEvent(new KeyboardEvent("keydown", { code: "Digit1" }))
		plaza.mode("both")
	}`, nil)
	// A place that the server does not allow is not kept: the page goes on from the last one that it does.
	p.Eval(`{
		const { x, y } = plaza.place()
		window.left = { x, y, fix: game.me.fix }
		plaza.put({ x: x + 60, y })
	}`, nil)
	p.WaitFor(`game.me.fix === left.fix % 255 + 1 && Math.hypot(plaza.place().x - left.x, plaza.place().y - left.y) < 0.1`)
	p.WaitFor(`document.querySelector("#chat .log .mine")?.textContent === "ann Good evening!"`)
	p.WaitFor(`plaza.article() && game.world.avatar.length === 61`)
	p.Screenshot("both")
	p.Resize(390, 844)
	p.WaitFor(`game.width === 390`)
	p.Screenshot("phone")
}
