package bridge_test

import (
	"testing"

	"meanwhile/examples/zap"
	"meanwhile/internal/verify/browser"
	"meanwhile/internal/verify/sites"
)

// references evaluates to how many JavaScript objects Go holds, and how many frames there were.
const references = `[go._values.length - go._idPool.length, frames]`

// What a page calls for each frame leaves Go no references to JavaScript objects, which it would give
// back by the ten thousands at once. Through syscall/js a frame left nine.
func TestFramesLeaveNoReferences(t *testing.T) {
	url, _ := serve(t, sites.Rules(t, &zap.Game), 4)
	p := browser.New(t)
	p.Before(`
		globalThis.frames = 0
		const count = () => { frames++; requestAnimationFrame(count) }
		requestAnimationFrame(count)
		Object.defineProperty(globalThis, "Go", { configurable: true, set: Go => {
			const value = class extends Go { constructor() { super(); globalThis.go = this } }
			Object.defineProperty(globalThis, "Go", { value })
		} })`)
	p.Open(url + "test.html?name=ann")
	p.WaitFor("globalThis.g?.me && frames > 60")
	var from, to [2]float64
	p.Eval(references, &from)
	p.WaitFor("frames > 360")
	p.Eval(references, &to)
	each := (to[0] - from[0]) / (to[1] - from[1])
	t.Logf("%.2f references a frame, %.0f in all", each, to[0])
	if each > 1 {
		t.Errorf("a frame leaves %.1f references, not almost none", each)
	}
}
