package bridge_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"meanwhile/app/site"
	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/geom"
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

// reload loads a page again until that was fast enough for the server, which keeps the place of a
// page for ten seconds, and returns the avatar's id, before and after.
func reload(t *testing.T, p *browser.Page, log *sites.Log) (before, after float64) {
	t.Helper()
	for range 6 {
		p.WaitFor("g.me && g.me.mine")
		before, gone := number(p, "g.me.id"), strings.Count(log.String(), "did not come back")
		p.Eval("window.old = true; setTimeout(() => location.reload(), 0)", nil)
		p.WaitFor(`typeof old === "undefined" && window.g && g.me && g.me.mine`)
		if strings.Count(log.String(), "did not come back") == gone {
			return before, number(p, "g.me.id")
		}
		moves(p) // who has done nothing is not waited for as long
	}
	t.Fatal("this machine is too slow: no page came back within ten seconds")
	return 0, 0
}

// A page whose network is cut for five seconds says so, comes back to its avatar without a reload,
// and so does one that is loaded again.
func TestComingBack(t *testing.T) {
	p := browser.New(t)
	r := sites.Relay(t)
	log := &sites.Log{}
	url, _ := behind(t, r, site.Config{Host: host.Config{Rules: sites.Rules(t, &zap.Game), Bots: 2, Log: log.Logger()}})
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
		if id, got := reload(t, p, log); got != id {
			t.Errorf("the avatar is %v, was %v", got, id)
		}
		p.WaitFor(sites.Notice + ` === ""`)
		moves(p)
		p.Screenshot("reloaded")
		p.WaitFor("g.world.pilot.length === 3") // the page's and two bots
	})
}

// Two pages, one over WebTransport and one over WebSocket, have their network cut. After five
// seconds both go on over the connection that they had; after thirteen they have opened another
// one. Either way they have their avatars and scores, nobody has joined anew, and differences go
// on, so that the server sends nothing again that had arrived.
func TestCut(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: cuts of five and thirteen seconds in a browser")
	}
	r, log := sites.Relay(t), &sites.Log{}
	def := zap.Game // with bots, or the server would have nothing to say for seconds; nobody shoots
	def.Act = func(w *game.World, me game.ID, c zap.Cmd) {
		c.Fire = false
		zap.Game.Act(w, me, c)
	}
	def.Referee = func(w *game.World) { // nor does a gem fall to whoever stands
		zap.Game.Referee(w)
		for id, gem := range zap.Gems.All(w) {
			for _, p := range zap.Pilots.All(w) {
				if p.Vel == (geom.Vec2{}) && gem.Pos.Dist(p.Pos) < 2 {
					w.Despawn(id)
					break
				}
			}
		}
	}
	url, _ := behind(t, r, site.Config{Host: host.Config{Rules: sites.Rules(t, &def), Bots: 3, Log: log.Logger()}})
	p := browser.New(t) // after the site, so that it is closed before it
	pages := map[string]*browser.Page{"webtransport": p, "websocket": p.NewWindow()}
	before := map[string]string{}
	const self = "JSON.stringify([g.me.id, g.me.score])"
	for transport, p := range pages {
		fresh(p, url, "?transport="+transport)
		p.Eval("g.autopilot = true", nil)
	}
	for _, p := range pages {
		p.WaitFor("g.me && g.me.score > 0")
		p.Eval("g.autopilot = false", nil)
	}
	for _, cut := range []struct {
		length time.Duration
		notice string
	}{{5 * time.Second, "Nothing from the server for "}, {13 * time.Second, "Connection lost. Reconnecting…"}} {
		for transport, p := range pages {
			p.Eval("window.since = g.stats.serverMs", nil)
			p.WaitFor("g.me && g.stats.state === 1 && g.stats.newestMs > since + 1000") // it stands, and gains nothing
			before[transport] = words(p, self)
		}
		resumed := strings.Count(log.String(), "player came back")
		began := time.Now()
		r.Cut(true)
		time.Sleep(cut.length)
		for transport, p := range pages {
			p.WaitFor(sites.Notice + `.startsWith("` + cut.notice + `")`)
			if cut.length > 10*time.Second { // the shorter one would become a longer one
				p.Screenshot(transport + cut.length.String())
			}
		}
		r.Cut(false)
		mended := time.Now()
		for _, p := range pages {
			p.WaitFor(`g.transport && g.stats.state === 1 && g.me && g.stats.silentMs < 300`)
			t.Logf("cut for %v: back over %s after %v", cut.length, words(p, "g.transport"),
				time.Since(mended).Round(10*time.Millisecond))
		}
		for transport, p := range pages {
			if now := words(p, self); now != before[transport] {
				t.Errorf("%s, cut for %v: avatar and score are %s, were %s", transport, cut.length, now, before[transport])
			}
			moves(p)
		}
		took := mended.Sub(began) // longer than asked for, where the machine is busy
		if n := strings.Count(log.String(), "player came back") - resumed; n != 0 && took < 7*time.Second {
			t.Errorf("cut for %v: %d connections were new", cut.length, n)
		} else if n < 2 && cut.length > 10*time.Second {
			t.Errorf("cut for %v: %d connections were new, want 2", cut.length, n)
		}
	}
	if strings.Contains(log.String(), "kept=false") || strings.Count(log.String(), "player joined") != 2 {
		t.Errorf("somebody began anew:\n%s", log.String())
	}
	for _, p := range pages {
		p.Errors() // of what was cut
	}
}
