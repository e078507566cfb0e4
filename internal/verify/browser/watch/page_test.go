package watch_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"testing"
	"time"

	"meanwhile/app/site"
	"meanwhile/demo"
	"meanwhile/examples/arena"
	"meanwhile/host"
	"meanwhile/internal/verify/browser"
	"meanwhile/internal/verify/sites"
)

// A page with ?watch sees the arena some time later, from one player after the other, and plays when
// it is asked to.
func TestWatch(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: watching, in a browser")
	}
	s, _ := sites.Serve(t, site.Config{
		Door: site.Door{Spectators: 2, WatchDelay: 2 * time.Second}, Pages: []fs.FS{demo.Files},
		Host:     host.Config{Rules: sites.Rules(t, &arena.Game), Bots: 4},
		Handlers: map[string]http.Handler{"GET /arena/map.json": site.Static("application/json", arena.MapJSON())},
	}, sites.Program(t, "demo/client", "arena"))
	url := s.URL()
	ann := browser.New(t)
	eve := ann.NewWindow()
	eve.Open(url + "?watch&name=eve")
	eve.WaitFor(sites.Notice + `.startsWith("Nobody plays in room lobby yet. Trying again in ")`)
	ann.Open(url + "?name=ann")
	ann.WaitFor("globalThis.g?.me && g.stats.serverMs > 0")
	// A room that has just begun cannot be watched yet: the page says so and tries again.
	eve.WaitFor("globalThis.g?.follow && g.world.player?.length >= 5")
	var first, second float64
	eve.Eval("g.follow", &first)
	eve.Eval("g.stats.watchMs >= 2000 && !g.me || crash", nil) // later on a machine that was too slow
	eve.WaitFor(`document.querySelector(".meanwhile-panel")?.shadowRoot.querySelectorAll(".measure").length > 5`)
	var own []string // what the page says of an avatar of its own
	eve.Eval(`[...document.querySelectorAll("#steps, #who, #bot")].filter(e => e.checkVisibility()).map(e => e.id).concat(
		[...document.querySelector(".meanwhile-panel").shadowRoot.querySelectorAll(
			"[data-setting=predict], [data-setting=lagcomp], [data-setting=predictMs]")].map(e => e.dataset.setting))`, &own)
	if len(own) > 0 {
		t.Errorf("a page that watches shows %q", own)
	}
	eve.Screenshot("watching")
	eve.Press("ArrowRight")
	eve.WaitFor("g.follow && g.follow !== " + fmt.Sprint(first) + " && g.world.player.some(p => p.id === g.follow)")
	eve.Eval("g.follow", &second)
	eve.Eval(`g.world.player.every(p => p.name !== "eve") || crash`, nil)
	ann.Eval(`g.world.player.every(p => p.name !== "eve") || crash`, nil)
	eve.Press("Escape")
	eve.WaitFor(`globalThis.g?.me && g.stats.watchMs === 0 && !location.search.includes("watch")`)
	eve.Screenshot("playing")
	if first == second {
		t.Errorf("it looks from %v all the time", first)
	}
}
