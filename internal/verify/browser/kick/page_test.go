// Package kick_test plays examples/kick in two real pages on a slow network.
package kick_test

import (
	"os/exec"
	"testing"
	"time"

	"meanwhile/internal/verify/browser"
	"meanwhile/internal/verify/process"
)

// Two people play on paths of 150 ms with 3 % loss, one by hand and one on autopilot. What a hand
// touches answers at once, and both see the same match.
func TestTwoPages(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: kick in two pages of a browser")
	}
	cmd := exec.Command(process.Build(t, "meanwhile/examples/kick/cmd/kick"), "--addr", "127.0.0.1:0", "--bots", "4")
	cmd.Dir = "../../../../examples/kick"
	url := process.Start(t, cmd, 5*time.Minute).URL()
	const path = "?delayMs=75&lossPct=3&name="
	ann, bob := browser.New(t), browser.New(t)
	ann.Open(url + path + "ann")
	bob.Open(url + path + "bob&bot")
	for _, p := range []*browser.Page{ann, bob} {
		p.WaitFor(`game.me && game.world.ball[0]?.predicted && game.world.player.length === 6 && game.stats.rttMs > 140 &&
			game.world.match[0]?.phase === "play" && game.stats.tick > game.world.match[0].start + 60`)
	}
	// The page itself counts frames from the key to the first movement: a round trip would be 9. After a
	// goal nobody may move for a second.
	var frames int
	ann.Eval(`new Promise(done => requestAnimationFrame(function begin() {
		const { phase, start } = game.world.match[0]
		if (phase !== "play" || game.stats.tick < start + 60) return requestAnimationFrame(begin)
		const { x, y } = game.me.pos
		window.dispatchEvent(new KeyboardEvent("keydown", { code: x > 0 ? "KeyA" : "KeyD" }))
		let frames = 0
		const look = () => {
			const way = Math.hypot(game.me.pos.x - x, game.me.pos.y - y)
			if (way > 0.003 || ++frames > 100) done(frames)
			else requestAnimationFrame(look)
		}
		look()
	}))`, &frames)
	t.Logf("the avatar moved %d frames after the key", frames)
	if frames > 5 {
		t.Errorf("the avatar moved %d frames after the key", frames)
	}
	for i := range 4 {
		time.Sleep(500 * time.Millisecond)
		ann.Screenshot("ann" + string(rune('1'+i)))
		bob.Screenshot("bob" + string(rune('1'+i)))
	}
	var one, two [2]int
	const score = `[game.world.match[0].amber, game.world.match[0].blue]`
	for range 10 { // a goal may fall between the two questions
		ann.Eval(score, &one)
		bob.Eval(score, &two)
		if one == two {
			return
		}
		time.Sleep(300 * time.Millisecond)
	}
	t.Errorf("ann sees %v, bob %v", one, two)
}
