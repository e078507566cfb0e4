package bridge_test

import (
	"fmt"
	"testing"

	"meanwhile/app/site"
	"meanwhile/examples/zap"
	"meanwhile/host"
	"meanwhile/internal/verify/browser"
	"meanwhile/internal/verify/sites"
)

// moves walks, and waits until the avatar has moved.
func moves(p *browser.Page) {
	x := number(p, "g.me.pos.x")
	p.Eval("g.keys.press(g.me.pos.x < 20 ? 'KeyD' : 'KeyA')", nil)
	p.WaitFor(fmt.Sprintf("Math.abs(g.me.pos.x - %v) > 3", x))
	p.Eval("g.keys.release('KeyD'); g.keys.release('KeyA')", nil)
}

// A page whose network is cut for five seconds says so, comes back to its avatar without a reload,
// and so does one that is loaded again.
func TestComingBack(t *testing.T) {
	p := browser.New(t)
	r := sites.Relay(t)
	url, _ := behind(t, r, site.Config{Host: host.Config{Rules: sites.Rules(t, &zap.Game), Bots: 2}})
	t.Cleanup(func() { p.Open("about:blank") }) // before the site ends
	fresh(p, url, "?transport=websocket&name=Ann")
	p.Eval("window.sinceMs = performance.now()", nil)
	p.WaitFor(`g.transport === "websocket" && performance.now() - sinceMs > 4000`) // who has just come is not waited for
	id := number(p, "g.me.id")

	t.Run("the network is cut", func(t *testing.T) {
		r.Cut(true)
		r.Reset()
		p.WaitFor(sites.Notice + `.startsWith("Connection lost. Reconnecting")`)
		p.Screenshot("cut")
		p.Eval("window.cutMs = performance.now()", nil)
		p.WaitFor("performance.now() - cutMs > 5000")
		r.Cut(false)
		p.WaitFor(sites.Notice + ` === "" && g.stats.state === 1 && g.me && g.me.mine`)
		if got := number(p, "g.me.id"); got != id {
			t.Errorf("the avatar is %v, was %v", got, id)
		}
		moves(p)
	})

	t.Run("the page is loaded again", func(t *testing.T) {
		p.Errors() // of the cut
		p.Eval("window.old = true; setTimeout(() => location.reload(), 0)", nil)
		p.WaitFor(`typeof old === "undefined" && window.g && g.me && g.me.mine`)
		if got := number(p, "g.me.id"); got != id {
			t.Errorf("the avatar is %v, was %v", got, id)
		}
		p.WaitFor(sites.Notice + ` === ""`)
		moves(p)
		p.Screenshot("reloaded")
		if n := number(p, "g.world.pilot.length"); n != 3 {
			t.Errorf("%v pilots are there, want 3: the page's and two bots", n)
		}
	})
}
