package bridge_test

import (
	"encoding/json"
	"fmt"
	"image/color"
	"io/fs"
	"math"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"meanwhile/app/site"
	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/host"
	"meanwhile/internal/verify/browser"
	"meanwhile/internal/verify/sites"
	"meanwhile/transport"
	"meanwhile/transport/relay"
)

// serve serves a game with bots, and its page.
func serve(t *testing.T, rules *game.Rules, bots int) (url string, stop func()) {
	t.Helper()
	return behind(t, nil, site.Config{Host: host.Config{Rules: rules, Bots: bots}})
}

// behind is serve for a site behind a relay, or without one for nil.
func behind(t *testing.T, r *relay.Relay, cfg site.Config) (url string, stop func()) {
	t.Helper()
	var s *site.Site
	// /meanwhile.json with changes: UDP goes to a port that never answers, or the server plays
	// another game.
	black, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { black.Close() })
	changed := func(change func(config map[string]any)) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer, err := http.Get(s.URL() + "meanwhile.json")
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
			defer answer.Body.Close()
			var config map[string]any
			if err := json.NewDecoder(answer.Body).Decode(&config); err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
			change(config)
			json.NewEncoder(w).Encode(config)
		})
	}
	cfg.Host.Seed = 7
	cfg.Pages = []fs.FS{os.DirFS("testdata"), os.DirFS("../../../../examples/zap/web")}
	cfg.Handlers = map[string]http.Handler{
		"/blocked.json": changed(func(c map[string]any) {
			c["webtransport"] = map[string]any{
				"url":    "https://" + black.LocalAddr().String() + transport.Path,
				"hashes": []string{strings.Repeat("00", 32)},
			}
		}),
		"/chess.json": changed(func(c map[string]any) { c["game"] = "chess" }),
	}
	if r == nil {
		s, stop = sites.Serve(t, cfg, sites.Zap(t))
	} else {
		s, stop = sites.ServeBehind(t, r, cfg, sites.Zap(t))
	}
	return s.URL(), stop
}

// The whole quickstart in a browser: page, program and server.
func TestQuickstart(t *testing.T) {
	url, _ := serve(t, sites.Rules(t, &zap.Game), 3)
	p := browser.New(t) // after the site, so that it is closed before it
	p.Open(url)
	p.WaitFor(sites.Notice + ` === "" && document.querySelector("canvas").width === 1280`)
	var mine color.Color = color.RGBA{0x56, 0xb4, 0xe9, 255}
	p.WaitFor(`(() => { // the veil is gone, and the avatar in the middle of a world with others
		if (getComputedStyle(document.querySelector(".meanwhile-notice")).opacity !== "0") return false
		const d = document.querySelector("canvas").getContext("2d").getImageData(0, 0, 1280, 800).data
		let others = 0
		for (let i = 0; i < d.length; i += 4) if (d[i] === 0xd7 && d[i + 1] === 0xde) others++
		const mid = 4 * (400 * 1280 + 640)
		return d[mid] === 0x56 && d[mid + 1] === 0xb4 && others > 1500
	})()`)
	for end := time.Now().Add(30 * time.Second); ; { // others move on before the picture is taken, and shoot
		img := p.Screenshot("bots")
		middle, others := color.RGBAModel.Convert(img.At(640, 400)), 0
		for x := range browser.Width {
			for y := range browser.Height {
				if r, g, b, _ := img.At(x, y).RGBA(); r>>8 == 0xd7 && g>>8 == 0xde && b>>8 == 0xe8 {
					others++
				}
			}
		}
		if middle == mine && others >= 500 {
			return
		} else if time.Now().After(end) {
			t.Fatalf("the middle of the page is %v, not the own avatar, or there are only %d pixels of others", middle, others)
		}
	}
}

// fresh opens the page under test and waits until it plays.
func fresh(p *browser.Page, url, query string) {
	p.Open(url + "test.html" + query)
	p.WaitFor("failure || g.me && g.stats.state === 1 && g.stats.serverMs > 0")
}

func number(p *browser.Page, js string) (v float64) {
	p.Eval(js, &v)
	return v
}

func words(p *browser.Page, js string) (v string) {
	p.Eval(js, &v)
	return v
}

func TestPlaying(t *testing.T) {
	url, _ := serve(t, sites.Rules(t, &zap.Game), 4)
	p := browser.New(t)                               // after the site, so that it is closed before it
	fresh(p, url, "?name=Ann&transport=webtransport") // or WebSocket could win on a busy machine

	t.Run("over WebTransport", func(t *testing.T) {
		if got := words(p, "g.transport"); got != "webtransport" {
			t.Errorf("connected by %q", got)
		}
	})

	// The key goes into the next command and the next command into the next picture, whatever the
	// network is like. Two ticks: the picture lies between the newest two. A busy machine may draw
	// none before there are more.
	t.Run("the own avatar moves at once", func(t *testing.T) {
		for _, delay := range []int{0, 300} {
			p.Eval(fmt.Sprintf("g.set('delayMs', %d)", delay), nil)
			p.WaitFor(fmt.Sprintf("g.stats.rttMs > %d", 2*delay-20))
			p.WaitFor("Math.abs(g.me.vel.x) < 0.01")
			p.Eval(`window.trial = new Promise(done => {
				const draw = g.draw, command = g.command, x = g.me.pos.x, code = x < 20 ? "KeyD" : "KeyA"
				let ticks = 0, still = 0 // commands since the key, and until the last picture without movement
				g.command = () => { ticks++; return command() }
				g.keys.press(code)
				g.draw = w => {
					draw(w)
					const late = still >= 2 && ticks > still
					if (!late && Math.abs(g.me.pos.x - x) < 0.01) {
						still = ticks
						return
					}
					g.draw = draw
					g.command = command
					setTimeout(() => { g.keys.release(code); done(late ? still : 0) }, 500)
				}
			})`, nil)
			if still := number(p, "trial"); still > 0 {
				t.Errorf("with %d ms each way the avatar was drawn where it was after %v commands", delay, still)
			}
		}
		p.Eval("g.set('delayMs', 0)", nil)
	})

	t.Run("hidden and back", func(t *testing.T) {
		// What a page reports while it draws nothing.
		p.Eval(`window.look = () => {
			g.fill("draw", "floats")
			g.model.read(g.floats, () => g.engine.texts())
			return g.stats
		}`, nil)
		p.Eval("g.keys.press(g.me.pos.x < 20 ? 'KeyD' : 'KeyA')", nil)
		p.WaitFor("Math.abs(g.me.vel.x) > 8")
		p.Hide()
		p.Eval("window.since = look().serverMs", nil)
		// By now the server knows that the page is away, and the page has what came before.
		p.WaitFor("look().newestMs > since + 500")
		before := number(p, "g.stats.starved")
		p.WaitFor("look().newestMs > since + 4500")
		if n := number(p, "g.stats.starved") - before; n > 15 {
			t.Errorf("%v commands were missed by a page that was away", n)
		}
		p.Show()
		p.WaitFor("g.stats.state === 1 && g.me && Math.abs(g.me.vel.x) < 0.01")
		p.Eval("g.keys.press('KeyW'); g.keys.press('KeyS')", nil)
		p.Eval("g.keys.release('KeyW'); g.keys.release('KeyS')", nil)
		y := number(p, "g.me.pos.y")
		p.Eval("window.way = g.me.pos.y < 12 ? 'KeyS' : 'KeyW'; g.keys.press(way)", nil)
		p.WaitFor(fmt.Sprintf("Math.abs(g.me.pos.y - %v) > 2", y))
		p.Eval("g.keys.release(way)", nil)
	})

	t.Run("two pages see each other", func(t *testing.T) {
		q := p.NewWindow()
		fresh(q, url, "?name=Bob")
		ann, bob := number(p, "g.me.id"), number(q, "g.me.id")
		if ann == bob {
			t.Fatalf("both are %v", ann)
		}
		for _, c := range []struct {
			p, of *browser.Page
			id    float64
		}{{p, q, ann}, {q, p, bob}} {
			c.p.Eval("window.way = g.me.pos.x < 20 ? 'KeyD' : 'KeyA'; g.keys.press(way)", nil)
			at := number(c.p, "g.me.pos.x")
			c.of.WaitFor(fmt.Sprintf(`g.world.pilot.some(p =>
				p.id === %v && !p.mine && p.ammo === undefined && Math.abs(p.pos.x - %v) > 2)`, c.id, at))
			c.p.Eval("g.keys.release(way)", nil)
			c.p.WaitFor("Math.abs(g.me.vel.x) < 0.01")
			// Asked of both again and again: a correction may still be fading, and bots that hit
			// somebody move him.
			off := math.Inf(1)
			for end := time.Now().Add(30 * time.Second); math.Abs(off) >= 0.05; time.Sleep(50 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%v is seen %v m beside where it sees itself", c.id, off)
				}
				seen := number(c.of, fmt.Sprintf("(g.world.pilot.find(p => p.id === %v) || {pos: {x: 1e9}}).pos.x", c.id))
				off = seen - number(c.p, "g.me ? g.me.pos.x : -1e9")
			}
		}
		p.Screenshot("ann")
		q.Screenshot("bob")
		q.Eval("g.leave()", nil)
		p.WaitFor(fmt.Sprintf("!g.world.pilot.some(p => p.id === %v)", bob))
	})

	t.Run("a shot is seen once", func(t *testing.T) {
		// A bot finds ammunition; the server agrees that it is there, and the weapon has cooled
		// down.
		p.WaitFor(`g.me.ammo === 0 ? (g.autopilot = true, false)
			: g.autopilot ? (g.autopilot = false, window.since = g.stats.serverMs, false)
			: !(g.stats.newestMs < window.since + 500) && g.stats.tick > g.me.ready`)
		p.Eval("zaps.length = 0", nil)
		p.MouseMove(900, 300)
		p.MouseDown(browser.Left)
		p.MouseUp(browser.Left)
		p.WaitFor("zaps.some(z => z.mine)")
		p.Eval("new Promise(r => setTimeout(r, 500))", nil)
		if n := number(p, "zaps.filter(z => z.mine).length"); n != 1 {
			t.Errorf("%v shots", n)
		}
		if n := number(p, "new Set(zaps.map(z => z.key)).size - zaps.length"); n != 0 {
			t.Errorf("%v keys are not unique", -n)
		}
		p.WaitFor("zaps.some(z => !z.mine && z.entity > 0)") // the bots shoot too
	})

	t.Run("the network panel", func(t *testing.T) {
		p.Eval("g.autopilot = true", nil)
		p.Eval("g.set('delayMs', 80)", nil)
		p.WaitFor("g.stats.rttMs > 160 && g.stats.delayMs > 80")
		p.Eval("window.flown = []; { const draw = g.draw; g.draw = w => { draw(w); flown.push(...g.packets) } }", nil)
		p.Press("F2")
		p.WaitFor("g.opener.opened")
		p.Eval(`[...document.querySelector(".meanwhile-panel").shadowRoot.querySelectorAll(".presets button")]
			.find(b => b.textContent === "Across an ocean").click()`, nil)
		p.WaitFor("flown.some(f => f.up && f.arrivedMs - f.sentMs > 75)")
		p.WaitFor("flown.some(f => !f.up && f.arrivedMs - f.sentMs > 70)")
		p.WaitFor("flown.some(f => Number.isNaN(f.arrivedMs))")
		p.Press("F2")
		p.WaitFor("!g.opener.opened && g.settings.profile === 'ocean' && g.settings.packets === 1")
		if got := words(p, "g.set('profile', 'moon')"); !strings.HasPrefix(got, `There is no network "moon". There are: `) {
			t.Errorf("refused with %q", got)
		}
		p.Eval("for (const name of ['delayMs', 'jitterMs', 'lossPct']) g.set(name, 0)", nil)
		p.Eval("g.set('profile', ''); window.cleared = g.now", nil)
		p.WaitFor(`[true, false].every(up =>
			flown.some(f => f.up === up && f.sentMs > cleared && f.arrivedMs - f.sentMs < 50))`)
		p.Eval("g.autopilot = false", nil)
	})

	t.Run("the techniques", func(t *testing.T) {
		for _, c := range []string{"predict", "interpolate", "lagcomp"} {
			if refused := words(p, fmt.Sprintf("g.set('%s', 0)", c)); refused != "" {
				t.Error(refused)
			}
		}
		p.WaitFor("g.me && !g.me.predicted")
		for _, c := range []string{"predict", "interpolate", "lagcomp"} {
			p.Eval(fmt.Sprintf("g.set('%s', 1)", c), nil)
		}
		p.WaitFor("g.me && g.me.predicted")
	})

	t.Run("what it costs", func(t *testing.T) {
		t.Logf("joined after %.0f ms, playable after %.0f ms", number(p, "joinedMs"), number(p, "playableMs"))
		p.Eval("g.autopilot = true; for (const k in costs) costs[k] = 0", nil)
		p.WaitFor("costs.frames > 200")
		t.Logf("milliseconds a frame: %s", words(p, `JSON.stringify(Object.fromEntries(Object.entries(costs).map(([k, v]) =>
			[k, k === "frames" || k === "most" ? v : +(v / costs.frames).toFixed(3)])))`))
	})
}

func TestConnecting(t *testing.T) {
	p := browser.New(t)
	t.Run("UDP is blocked", func(t *testing.T) {
		url, _ := serve(t, sites.Rules(t, &zap.Game), 1)
		t.Cleanup(func() { p.Open("about:blank") }) // before the site ends
		fresh(p, url, "?config=/blocked.json")
		if got := words(p, "g.transport"); got != "websocket" {
			t.Errorf("connected by %q", got)
		}
		x := number(p, "g.me.pos.x")
		p.Eval("g.keys.press(g.me.pos.x < 20 ? 'KeyD' : 'KeyA')", nil)
		p.WaitFor(fmt.Sprintf("Math.abs(g.me.pos.x - %v) > 3", x))
		p.Errors() // of the handshake that failed
	})

	t.Run("other rules", func(t *testing.T) {
		other := zap.Game
		other.Kinds = game.Kinds(zap.Pilots, zap.Gems, game.NewKind[wall]("wall"))
		url, _ := serve(t, sites.Rules(t, &other), 0)
		t.Cleanup(func() { p.Open("about:blank") }) // before the site ends
		p.Open(url + "test.html")
		p.WaitFor("failure")
		const want = "The server plays another version of zap: wall exists there and not here."
		if got := words(p, "failure"); got != want {
			t.Errorf("failed with %q", got)
		}
		if got := words(p, sites.Notice); !strings.HasPrefix(got, want) {
			t.Errorf("the page says %q", got)
		}
		p.Screenshot("refused")
	})

	t.Run("another game", func(t *testing.T) {
		url, _ := serve(t, sites.Rules(t, &zap.Game), 0)
		t.Cleanup(func() { p.Open("about:blank") }) // before the site ends
		p.Open(url + "test.html?config=/chess.json")
		p.WaitFor(`failure === "This page's program plays zap, but the server plays chess. Reload the page."`)
	})

	t.Run("the server restarts", func(t *testing.T) {
		r, cfg := sites.Relay(t), site.Config{Host: host.Config{Rules: sites.Rules(t, &zap.Game), Bots: 2}}
		url, stop := behind(t, r, cfg)
		t.Cleanup(func() { p.Open("about:blank") }) // before the site ends
		fresh(p, url, "?name=Ann")
		p.Eval("window.before = { me: g.me, pilots: g.world.pilot, id: g.me.id }", nil)
		stop()
		p.WaitFor(sites.Notice + `.startsWith("The server is shutting down. Reconnecting")`)
		p.WaitFor("g.stats.state === 0 && g.world.pilot.length > 1") // the last picture stays
		p.Screenshot("reconnecting")
		behind(t, r, cfg)
		p.WaitFor(sites.Notice + ` === "The server has restarted. You begin anew."`)
		p.Screenshot("restarted")
		p.WaitFor(sites.Notice + ` === "" && g.stats.state === 1 && g.me && g.me.mine`)
		x := number(p, "g.me.pos.x")
		p.Eval("g.keys.press(g.me.pos.x < 20 ? 'KeyD' : 'KeyA')", nil)
		p.WaitFor(fmt.Sprintf("Math.abs(g.me.pos.x - %v) > 3", x))
		p.Open("about:blank") // before the second site ends, too
		p.Errors()            // of the time between the two
	})
}

type wall struct {
	Pos geom.Vec2 `net:"pos"`
}

// A shot that the server refuses is shown at once, and taken back once, under the same key. One
// that it accepts stays.
//
// seeds: B5
func TestUndo(t *testing.T) {
	var refuse atomic.Bool
	def := zap.Game
	def.Act = func(w *game.World, me game.ID, c zap.Cmd) {
		c.Fire = c.Fire && !refuse.Load()
		zap.Game.Act(w, me, c)
	}
	def.Referee = func(w *game.World) { // with gems that tremble, or the server would have nothing to say for seconds
		zap.Game.Referee(w)
		for _, gem := range zap.Gems.All(w) {
			gem.Pos.X += []float64{-0.02, 0.02}[w.Tick()%2]
		}
	}
	url, _ := serve(t, sites.Rules(t, &def), 0)
	p := browser.New(t) // after the site, so that it is closed before it
	fresh(p, url, "?delayMs=60")
	p.WaitFor("g.stats.leadMs > 0 && g.me.ammo > 1")
	p.Eval(`window.fire = () => {
		const { command } = g
		g.command = () => { g.command = command; return { ...command(), fire: true } }
	}`, nil)
	p.Eval("fire()", nil)
	p.WaitFor("zaps.length === 1")
	p.WaitFor("g.me.ammo === 2 && g.stats.tick > g.me.ready + 30")
	refuse.Store(true)
	p.Eval("fire()", nil)
	p.WaitFor("undone.length > 0")
	p.WaitFor("g.stats.tick > g.me.ready + 60")
	var got struct {
		Shown, Undone []float64
		Equal         bool
	}
	p.Eval(`({ shown: zaps.map(z => z.key), undone: undone.map(z => z.key),
		equal: JSON.stringify(zaps[1]) === JSON.stringify(undone[0]) })`, &got)
	if len(got.Shown) != 2 || len(got.Undone) != 1 || got.Undone[0] != got.Shown[1] || !got.Equal {
		t.Errorf("%+v", got)
	}
}
