package demo_test

import (
	"testing"

	"meanwhile/internal/verify/browser"
)

// A request that is open when the connection is lost is answered after the page came back; one that is
// open when the player leaves fails.
func TestRequestsOverALostConnection(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: requests over a lost connection in a browser")
	}
	p := browser.New(t)
	p.Open(live(t) + "/?bot=0&name=ann")
	p.WaitFor(ready)
	p.Eval("window.sinceMs = performance.now(), 0", nil)
	p.WaitFor("performance.now() - sinceMs > 4000") // who has just come is not waited for
	// Nothing that the page sends from here on leaves it, and the answer is none yet.
	ask := `window.answer = "", window.id = g.me.id
		Object.assign(g.connection, { send() {} })
		g.request("vote", { what: "longer", yes: true }).then(() => answer = "answered", e => answer = e.message), 0`
	p.Eval(ask, nil)
	p.Eval("sinceMs = performance.now(), 0", nil)
	p.WaitFor("performance.now() - sinceMs > 500")
	p.Eval(`answer && crash`, nil)
	p.Eval(`delete g.connection.send, g.connection.renew(), 0`, nil)
	p.WaitFor(`answer && g.me`)
	p.Eval(`answer === "answered" && g.me.id === id || crash`, nil)

	p.Eval(ask, nil)
	p.Eval(`g.leave(), 0`, nil)
	p.WaitFor(`answer === "You have left."`)
}
