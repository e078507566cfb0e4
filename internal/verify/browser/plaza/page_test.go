// Package plaza_test plays examples/plaza in a page of a browser, among bots.
package plaza_test

import (
	"os/exec"
	"testing"
	"time"

	"meanwhile/internal/verify/browser"
	"meanwhile/internal/verify/process"
)

// A page decides where its avatar is: it walks at once, and the server follows it; when the page
// jumps, the server puts it back. The way of the article is drawn from a second connection, which has
// no avatar.
//
// seeds: S4 S10
func TestPage(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: plaza in a page of a browser")
	}
	cmd := exec.Command(process.Build(t, "meanwhile/examples/plaza/cmd/plaza"), "--addr", "127.0.0.1:0", "--bots", "60")
	cmd.Dir = "../../../../examples/plaza"
	url := process.Start(t, cmd, 5*time.Minute).URL()
	p := browser.New(t)
	p.Open(url + "?name=ann")
	p.WaitLonger(
		`window.game?.me && plaza.place() && game.world.avatar.length === 61 && game.stats.rttMs > 0`,
		40*time.Second,
	)
	var frames int
	p.Eval(`new Promise(done => { // the page itself counts frames from the key to the first movement
		const { x, y } = plaza.place()
		const to = x - 17 * Math.round(x / 17) // away from what stands in a row there
		dispatchEvent(new KeyboardEvent("keydown", { code: to > 0 ? "KeyD" : "KeyA" }))
		let frames = 0
		const look = () => Math.hypot(plaza.place().x - x, plaza.place().y - y) > 0.01 || ++frames > 100 ? done(frames)
			: requestAnimationFrame(look)
		look()
	})`, &frames)
	if frames > 5 {
		t.Errorf("the avatar moved %d frames after the key", frames)
	}
	p.Eval(`["KeyA", "KeyD"].forEach(code => dispatchEvent(new KeyboardEvent("keyup", { code })))`, nil)
	p.WaitFor(`Math.hypot(game.me.pos.x - plaza.place().x, game.me.pos.y - plaza.place().y) < 0.03`)
	p.Eval(`{
		const { fix, pos: { x, y } } = game.me
		window.jumped = { fix, x, y }
		const jump = () => plaza.put({ x: x < 0 ? 20 - x : -20 - x, y })
		jump()
		jumped.timer = setInterval(() => game.me.fix === fix && jump(), 500) // a command may come too late on a busy machine
	}`, nil)
	p.WaitFor(`game.me.fix !== jumped.fix && Math.hypot(plaza.place().x - jumped.x, plaza.place().y - jumped.y) < 0.03`)

	p.Eval(`{
		clearInterval(jumped.timer)
		game.send("chat", { text: "Good evening!" })
		dispatchEvent(new KeyboardEvent("keydown", { code: "Digit1" }))
		plaza.mode("both")
	}`, nil)
	p.WaitLonger(`document.querySelector("#chat .log .mine")?.textContent === "ann Good evening!"`, 10*time.Second)
	p.WaitLonger(`plaza.article()?.avatars.size === 61 && game.world.avatar.length === 61`, time.Minute)
	p.WaitLonger(`plaza.article().lateMs > 250`, time.Minute)
	p.Screenshot("both")
	p.Resize(390, 844)
	p.WaitFor(`game.width === 390`)
	p.Screenshot("phone")
}
