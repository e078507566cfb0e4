package web_test

import (
	"context"
	"fmt"
	"image/color"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"meanwhile/internal/verify/browser"
	"meanwhile/web"
)

// site serves a page whose engine is a stand-in. config is its /meanwhile.json, which may change at
// any time.
type site struct {
	*httptest.Server
	mux *http.ServeMux

	mu     sync.Mutex
	config string
	counts map[string]*atomic.Int32 // requests by path
}

// count returns the number of requests for a path from now on.
func (s *site) count(path string) *atomic.Int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := &atomic.Int32{}
	s.counts[path] = n
	return n
}

func newSite(t *testing.T) *site {
	s := &site{config: local, mux: http.NewServeMux(), counts: map[string]*atomic.Int32{}}
	lib := http.FileServerFS(web.Files)
	for _, name := range append(web.Modules(), "/transport.js", "/meanwhile/panel/", "/{$}") {
		s.mux.Handle(name, lib)
	}
	for url, file := range map[string]string{
		"/game.js": "../../../../examples/zap/web/game.js", "/open.html": "testdata/open.html",
		"/testdata/zap.js": "testdata/zap.js", "/testdata/bridge.js": "testdata/bridge.js",
	} {
		s.mux.HandleFunc(url, func(w http.ResponseWriter, r *http.Request) {
			b, err := os.ReadFile(file)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			types := map[string]string{".js": "text/javascript", ".html": "text/html"}
			w.Header().Set("Content-Type", types[path.Ext(file)])
			w.Write(b)
		})
	}
	s.mux.HandleFunc("/meanwhile.json", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !strings.HasPrefix(s.config, "{") {
			http.Error(w, s.config, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, s.config)
	})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		n := s.counts[r.URL.Path]
		s.mu.Unlock()
		if n != nil {
			n.Add(1)
		}
		s.mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Server.Close)
	return s
}

func (s *site) set(config string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config = config
}

// local is a /meanwhile.json for playing without a server.
const local = `{"game": "zap", "local": true, "engine": "/testdata/zap.js", "schema": "1"}`

// notice is an expression of the page: the text over the canvas, or "".
const notice = `(() => {
	const n = document.querySelector(".meanwhile-notice")
	return n.classList.contains("quiet") ? "" : n.innerText.trim()
})()`

// The quickstart's page as it is.
func TestQuickstart(t *testing.T) {
	s := newSite(t)
	p := browser.New(t)
	p.Open(s.URL)
	p.WaitFor("engine.commands.length > 3")
	p.WaitFor(`getComputedStyle(document.querySelector(".meanwhile-notice")).opacity === "0"`) // the veil has faded

	// It fills the window and follows the own avatar. 40 metres across 1280 pixels are 32 pixels
	// per metre.
	img := p.Screenshot("zap")
	for _, at := range []struct {
		x, y int
		what string
		want color.RGBA
	}{
		{640, 390, "the own avatar", color.RGBA{0x56, 0xb4, 0xe9, 255}},
		{640 + 6*32, 400 - 10, "another avatar, 6 m to the right", color.RGBA{0xd7, 0xde, 0xe8, 255}},
		{640 - 10*32, 400 - 6*32, "a gem, 10 m to the left and 6 m up", color.RGBA{0xe8, 0xb3, 0x39, 255}},
		{20, 20, "the ground", color.RGBA{0x0b, 0x0f, 0x14, 255}},
	} {
		if got := color.RGBAModel.Convert(img.At(at.x, at.y)); got != at.want {
			t.Errorf("%s at %d, %d is %v, want %v", at.what, at.x, at.y, got, at.want)
		}
	}

	// W moves up the screen, towards smaller y. W and D together are no faster than one of them.
	var moved []float64
	p.KeyDown("KeyW")
	p.Eval("engine.commands.length = 0", nil)
	p.WaitFor("engine.commands.length > 1")
	if p.Eval("engine.commands.at(-1)", &moved); moved[0] != 0 || moved[1] != -1 {
		t.Errorf("W moves by %v, want 0, -1", moved[:2])
	}
	p.KeyDown("KeyD")
	p.Eval("engine.commands.length = 0", nil)
	p.WaitFor("engine.commands.length > 1")
	p.Eval("engine.commands.at(-1)", &moved)
	if moved[0] < 0.70 || moved[0] > 0.71 || moved[1] > -0.70 || moved[1] < -0.71 {
		t.Errorf("W and D move by %v", moved[:2])
	}
	p.KeyUp("KeyW")
	p.KeyUp("KeyD")

	// The mouse aims from the avatar, which is in the middle.
	var aim float64
	p.MouseMove(640, 700)
	p.Eval("engine.commands.length = 0", nil)
	p.WaitFor("engine.commands.length > 1")
	if p.Eval("engine.commands.at(-1)[2]", &aim); aim < 1.55 || aim > 1.59 {
		t.Errorf("the mouse below the avatar aims at %v, want pi/2", aim)
	}

	// F2 opens the network panel, which is fetched only now. The game gets the rest of the window.
	var fetched int
	const count = `performance.getEntriesByType("resource").filter(e => e.name.includes("/panel/")).length`
	if p.Eval(count, &fetched); fetched > 0 {
		t.Errorf("%d files of the panel were fetched before it was opened", fetched)
	}
	const root = `document.querySelector(".meanwhile-panel")?.shadowRoot`
	const canvas = `document.querySelector("canvas")`
	p.Press("F2")
	p.WaitFor(root + `?.querySelectorAll(".measure b")[0].textContent !== ""`)
	p.WaitFor(canvas + ".clientWidth === innerWidth - " + root + ".querySelector('.panel').offsetWidth")
	p.WaitFor("engine.settings.packets === 1")
	p.Eval(`[...`+root+`.querySelectorAll(".presets button")].find(b => b.textContent === "Overseas").click()`, nil)
	p.WaitFor("engine.settings.delayMs === 110 && engine.settings.lossPct === 1")
	p.WaitFor(root + `.querySelector("[aria-pressed=true]").textContent === "Overseas"`)
	p.Eval(root+`.querySelector("[data-setting=predict]").click()`, nil)
	p.WaitFor("engine.settings.predict === 0")

	// Each line has its help, for pointers and for keys, and the keys of its controls are not the game's.
	var mute int
	p.Eval(`[...`+root+`.querySelectorAll(".measure .name, .switch input, .pick select, .slide input")]
		.filter(e => !(e.ariaDescription?.length > 20 && e.closest("[data-help]"))).length`, &mute)
	if mute > 0 {
		t.Errorf("%d figures and controls have no help", mute)
	}
	p.Eval(root+`.querySelector("[data-setting=lossPct]").focus(), 0`, nil)
	p.Press("Tab")
	p.Press("Tab")
	p.Eval("engine.commands.length = 0", nil)
	p.Press("ArrowDown")
	p.WaitFor(root + `.querySelector(".help").textContent.length > 20 && !` + root + `.querySelector(".help").hidden`)
	p.WaitFor("engine.commands.length > 3 && engine.commands.every(c => c[1] === 0)")

	// Closed, it leaves nothing behind.
	p.Press("F2")
	p.WaitFor("engine.settings.packets === 0 && !" + root + " && " + canvas + ".clientWidth === innerWidth")
	if n := len(p.Console()); n > 0 {
		t.Errorf("the console says %q", p.Console())
	}
}

func TestPage(t *testing.T) {
	s := newSite(t)
	p := browser.New(t)
	p.Open(s.URL + "/open.html")
	p.WaitFor("g.me")

	t.Run("objects stay", func(t *testing.T) {
		p.Eval("window.kept = {me: g.me, pos: g.me.pos, list: g.world.pilot, gem: g.world.gem[3]}", nil)
		var x float64
		p.Eval("g.me.pos.x", &x)
		p.KeyDown("KeyD")
		p.WaitFor(fmt.Sprintf("g.me.pos.x > %v + 1", x))
		p.KeyUp("KeyD")
		var same bool
		p.Eval(`kept.me === g.me && kept.pos === g.me.pos && kept.list === g.world.pilot && kept.gem === g.world.gem[3] &&
			g.me === g.world.pilot[0] && g.me.mine && !g.world.pilot[1].mine`, &same)
		if !same {
			t.Error("an object of the world was replaced")
		}
		var other struct{ Name, Ammo string }
		p.Eval("({Name: g.world.pilot[1].name, Ammo: String(g.world.pilot[1].ammo)})", &other)
		if other.Name != "bob" || other.Ammo != "undefined" {
			t.Errorf("the other is %+v; its name is bob and its ammunition is not for us", other)
		}
	})

	t.Run("a world larger than the buffer", func(t *testing.T) {
		p.Eval("engine.gems = 3000", nil)
		p.WaitFor("g.world.gem.length === 3000")
		p.Eval("engine.gems = 2", nil)
		p.WaitFor("g.world.gem.length === 2 && g.world.gem[1].id === 21")
	})

	t.Run("a click between two ticks fires once", func(t *testing.T) {
		p.Eval("engine.commands.length = 0; zaps.length = 0", nil)
		p.Eval(`{
			const c = document.querySelector("canvas")
			const e = { bubbles: true, button: 0, pointerId: 1, clientX: 900, clientY: 400 }
			c.dispatchEvent(new PointerEvent("pointerdown", e))
			c.dispatchEvent(new PointerEvent("pointerup", e))
		}`, nil)
		p.WaitFor("engine.commands.length > 5 && zaps.length > 0")
		var fired int
		if p.Eval("engine.commands.filter(c => c[3]).length", &fired); fired != 1 {
			t.Errorf("%d commands fire, want one", fired)
		}
		var zap struct {
			N    int
			Mine bool
			To   struct{ X, Y float64 }
		}
		p.Eval("({N: zaps.length, Mine: zaps[0].mine, To: zaps[0].to})", &zap)
		if zap.N != 1 || !zap.Mine || zap.To.X == 0 {
			t.Errorf("events %+v", zap)
		}
	})

	t.Run("fingers", func(t *testing.T) {
		p.Eval(`window.finger = (type, id, x, y) => {
			const e = { bubbles: true, pointerType: "touch", pointerId: id, clientX: x, clientY: y }
			document.querySelector("canvas").dispatchEvent(new PointerEvent("pointer" + type, e))
			engine.commands.length = 0
		}`, nil)
		// The left thumb moves: 26 px to the right of where it was put is half a stick.
		p.Eval(`finger("down", 11, 200, 500); finger("move", 11, 226, 500)`, nil)
		p.WaitFor("engine.commands.some(c => c[0] === 0.5 && c[1] === 0 && c[3] === 0)")
		// The right thumb aims, and fires when it is dragged far.
		p.Eval(`finger("down", 12, 900, 500); finger("move", 12, 900, 480)`, nil)
		p.WaitFor("engine.commands.some(c => c[0] === 0.5 && Math.abs(c[2] + Math.PI / 2) < 1e-9 && c[3] === 0)")
		p.Eval(`finger("move", 12, 860, 500)`, nil)
		p.WaitFor("engine.commands.some(c => Math.abs(c[2] - Math.PI) < 1e-9 && c[3] === 1)")
		p.Eval(`finger("up", 11, 226, 500); finger("up", 12, 860, 500)`, nil)
		p.WaitFor("engine.commands.some(c => c[0] === 0 && c[3] === 0)")
		// A tap on the right fires once, at the place.
		p.Eval(`finger("down", 13, 1000, 400); finger("up", 13, 1000, 400)`, nil)
		p.WaitFor("engine.commands.length > 4")
		var aims []float64
		p.Eval("engine.commands.filter(c => c[3]).map(c => c[2])", &aims)
		if len(aims) != 1 || aims[0] < -0.01 || aims[0] > 0.01 {
			t.Errorf("the tap to the right fired at %v, want once at 0", aims)
		}
	})

	t.Run("without an avatar nobody is asked", func(t *testing.T) {
		p.Eval("engine.gone = true", nil)
		p.WaitFor("g.me === undefined")
		var before, after int
		p.Eval("asked", &before)
		p.Eval("engine.commands.length = 0", nil)
		p.WaitFor("engine.commands.length > 3 && engine.commands.every(c => c.every(v => v === 0))")
		if p.Eval("asked", &after); after != before {
			t.Errorf("g.command was asked %d times", after-before)
		}
		p.Eval("engine.gone = false", nil)
		p.WaitFor("g.me")
	})

	t.Run("hidden", func(t *testing.T) {
		p.Hide()
		p.WaitFor("engine.settings.away === 1")
		p.Show()
		p.WaitFor("engine.settings.away === 0")
	})

	t.Run("resized", func(t *testing.T) {
		p.Resize(500, 300)
		p.WaitFor(`g.width === 500 && g.canvas.width === 500 * devicePixelRatio &&
			g.canvas.height === 300 * devicePixelRatio`)
		p.Resize(browser.Width, browser.Height)
	})

	t.Run("silence is said and taken back", func(t *testing.T) {
		p.Eval("g.transport = 'websocket'; engine.state = 3", nil)
		p.WaitFor(notice + ` === "Nothing from the server for 2.3 s"`)
		p.Eval("engine.state = 1", nil)
		p.WaitFor(notice + ` === ""`)
	})

	t.Run("settings", func(t *testing.T) {
		var refused string
		if p.Eval(`g.set("delayMs", 80) + g.set("nonsense", 1)`, &refused); refused != "there is no setting nonsense" {
			t.Errorf("refused with %q", refused)
		}
		p.WaitFor("engine.settings.delayMs === 80")
	})

	t.Run("mistakes of the page are shown", func(t *testing.T) {
		// What the page's author should mend comes once, in the console and, on this machine, on the page.
		const remarks = `[...document.querySelectorAll(".meanwhile-remarks p")].map(p => p.textContent).join(" | ")`
		p.Eval(`g.on.zpa = () => {}, g.command = () => ({ aim: "north" })`, nil)
		p.WaitFor(remarks + ` === 'zap has no event or message "zpa"; did you mean "zap"? | ' +
			"g.command: aim is not a number, which counts as 0."`)
		p.Eval("g.command = () => ({ move: { x: 1, y: undefined } })", nil)
		p.WaitFor(remarks + `.endsWith(' | g.command: "move.y" of zap\'s command is undefined, which counts as 0.')`)
		p.Click(".meanwhile-remarks button")
		p.Eval("g.command = () => ({ fier: true, aim: 0 })", nil)
		p.WaitFor(remarks + ` === 'g.command: there is no field "fier" in zap\'s command; did you mean "fire"?'`)
		p.Eval("g.on.receipt = g.on.zap, g.undo.zap = () => {}, engine.commands.length = 0", nil)
		p.WaitFor("engine.commands.length > 3")
		console := strings.Join(p.Console(), "\n")
		for _, c := range []string{`"zpa"`, "aim is not a number", `"move.y"`, `"fier"`} {
			if n := strings.Count(console, c); n != 1 {
				t.Errorf("%d lines of the console about %s, want 1: %s", n, c, console)
			}
		}
		p.Eval("g.command = () => ({})", nil)
		p.Eval("g.draw = () => nothing.here()", nil)
		p.WaitFor(notice + ` === "g.draw: ReferenceError: nothing is not defined"`)
		p.WaitFor("engine.ticks > 0 && !g.stopped")
		if got := p.Errors(); len(got) != 1 || !strings.Contains(got[0], "nothing is not defined") {
			t.Errorf("errors %q", got)
		}
		p.Eval("g.draw = () => {}", nil)
		p.WaitFor(notice + ` === ""`) // it runs well again
	})

	t.Run("an engine that dies", func(t *testing.T) {
		p.Eval("engine.dies = 'index out of range [3]'", nil)
		p.WaitFor(notice + `.startsWith("The game stopped in this browser: index out of range [3]")`)
		p.WaitFor("g.stopped")
		if got := p.Errors(); len(got) != 1 {
			t.Errorf("errors %q", got)
		}
	})
}

func TestStarting(t *testing.T) {
	p := browser.New(t)
	t.Run("a bot drives until someone touches a key", func(t *testing.T) {
		p.Open(newSite(t).URL + "/open.html?autopilot")
		p.WaitFor("g.me && engine.commands.length > 3")
		var n int
		if p.Eval("asked", &n); n != 0 {
			t.Errorf("the page was asked for %d commands while a bot drives", n)
		}
		p.WaitFor("engine.config.settings.autopilot === 1 && g.autopilot")
		p.Press("KeyW")
		p.WaitFor("!g.autopilot && engine.settings.autopilot === 0 && asked > 0")
	})
	// When the game cannot start, a sentence says why.
	for _, c := range []struct{ name, config, want string }{
		{"no server", "The room is closed for today.", "The room is closed for today."},
		{"no engine", `{"game": "zap", "local": true, "engine": "/testdata/none.js"}`, "The game could not start:"},
		{"no program", `{"game": "zap", "local": true, "wasm": "/none.wasm", "exec": "/testdata/zap.js"}`,
			"The game could not start:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			s.set(c.config)
			p.Open(s.URL + "/open.html")
			p.WaitFor("failure !== ''")
			p.WaitFor(notice + fmt.Sprintf(".startsWith(%q)", c.want))
			p.Errors() // the browser complains of what is missing as well
		})
	}
	// After eight seconds without progress, which are short here, the page says what it waits for.
	p.Run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(`{
			const { setTimeout } = window
			window.setTimeout = (f, ms, ...more) => setTimeout(f, ms === 8000 ? 300 : ms, ...more)
			if (location.search === "?deaf") window.Worker = class { postMessage() {} }
		}`).Do(ctx)
		return err
	}))
	s := newSite(t)
	held := make(chan struct{})
	release := sync.OnceFunc(func() { close(held) })
	t.Cleanup(release) // before the site ends
	s.mux.HandleFunc("/slow.js", func(http.ResponseWriter, *http.Request) { <-held })
	s.set(`{"game": "zap", "local": true, "engine": "/slow.js"}`)
	p.Open(s.URL + "/open.html")
	p.WaitFor(notice + ` === "Loading zap…\n\nStill waiting for the game’s program."`)
	release()
	p.WaitFor(notice + `.startsWith("The game could not start:")`)
	p.Errors()
	// Once a slow program has come, the transport alone is missing.
	come := make(chan struct{})
	arrive := sync.OnceFunc(func() { close(come) })
	t.Cleanup(arrive)
	s.mux.HandleFunc("/late.js", func(w http.ResponseWriter, r *http.Request) {
		<-come
		http.Redirect(w, r, "/testdata/zap.js", http.StatusFound)
	})
	s.set(`{"game": "zap", "engine": "/late.js", "schema": "1", "websocket": "/none"}`)
	p.Open(s.URL + "/open.html?deaf")
	p.WaitFor(notice + ` === "Loading zap…\n\nStill waiting for the game’s program."`)
	arrive()
	p.WaitFor(notice + ` === "Starting zap…\n\nStill waiting for this page’s transport."`)
}

// A real program in WebAssembly is fetched, starts and plays, and the page shows its panic.
func TestWebAssembly(t *testing.T) {
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", dir+"/engine.wasm", "testdata/engine/main.go")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t)
	s.mux.Handle("/engine.wasm", http.FileServer(http.Dir(dir)))
	s.mux.Handle("/wasm_exec.js", http.FileServer(http.Dir(strings.TrimSpace(string(root))+"/lib/wasm")))
	s.set(`{"game": "zap", "local": true, "wasm": "/engine.wasm", "schema": "1"}`)
	p := browser.New(t)
	p.Open(s.URL + "/open.html")
	p.WaitFor("g.me && g.me.mine && g.me.name === 'ann' && g.stats.tick > 3 && !globalThis.__meanwhile")
	p.KeyDown("KeyS")
	p.WaitFor("g.me.pos.y > 1 && g.me.pos.x === 0")
	p.KeyUp("KeyS")
	p.Eval("g.set('die', 1)", nil)
	p.WaitFor(notice + `.startsWith("The game stopped in this browser: panic: as the test asked")`)
	p.Errors()
	p.Open(s.URL + "/open.html") // an export that panics returns as if nothing had happened
	p.WaitFor("g.me && g.stats.tick > 3")
	p.Eval("g.set('die in a frame', 1)", nil)
	p.WaitFor(notice + `.startsWith("The game stopped in this browser: panic: in a frame, as the test asked")`)
	p.Errors()
}
