// Package plaza_test plays examples/plaza in a page of a browser, among bots.
package plaza_test

import (
	"os/exec"
	"testing"
	"time"

	"meanwhile/internal/verify/browser"
	"meanwhile/internal/verify/process"
)

// The page shows everybody, sends what its player says, and has room on a phone. How pages decide
// where they are is tested with the rules in examples/plaza.
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
	p.WaitFor(`document.querySelector("#chat .log .mine")?.textContent === "ann Good evening!"`)
	p.WaitFor(`plaza.article() && game.world.avatar.length === 61`)
	p.Screenshot("both")
	p.Resize(390, 844)
	p.WaitFor(`game.width === 390`)
	p.Screenshot("phone")
}
