package browser

import (
	"fmt"
	"image"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// testPage shows the keys and buttons that are held and counts drawn frames.
const testPage = `<!doctype html>
<meta charset="utf-8">
<title>test</title>
<style>
	body { margin: 0; font: 20px sans-serif }
	canvas { display: block }
	#far { margin-top: 3000px }
</style>
<canvas width="400" height="300"></canvas>
<p id="said">ready</p>
<button id="far">press me</button>
<script>
	const held = new Set(), mouse = {x: 0, y: 0, buttons: 0}
	let frames = 0, typed = "", presses = 0
	addEventListener("keydown", e => { held.add(e.code); if (e.key.length === 1) typed += e.key })
	addEventListener("keyup", e => held.delete(e.code))
	for (const kind of ["mousemove", "mousedown", "mouseup"])
		addEventListener(kind, e => Object.assign(mouse, {x: e.clientX, y: e.clientY, buttons: e.buttons}))
	document.querySelector("#far").onclick = () => presses++
	const pen = document.querySelector("canvas").getContext("2d")
	requestAnimationFrame(function draw() {
		frames++
		pen.fillStyle = "#204080"
		pen.fillRect(0, 0, 400, 300)
		pen.fillStyle = "#ffcc00"
		pen.fillRect(100, 100, 50, 50)
		requestAnimationFrame(draw)
	})
</script>`

func serve(t *testing.T) string {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, testPage)
	})
	mux.HandleFunc("/worker.js", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprint(w, `console.log("quiet worker"); console.error("from the worker"); postMessage("up")
			setTimeout(() => { throw new Error("worker died") })`)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestPage(t *testing.T) {
	dir := t.TempDir()
	if os.Getenv(EnvScreenshots) == "" {
		t.Setenv(EnvScreenshots, dir)
	} else {
		dir = os.Getenv(EnvScreenshots)
	}
	url := serve(t)
	p := New(t)
	p.Open(url)

	var sum int
	p.Eval("1 + 1", &sum)
	if sum != 2 {
		t.Errorf("1 + 1 is %d", sum)
	}
	p.Eval("new Promise(done => setTimeout(() => done(7), 10))", &sum)
	if sum != 7 {
		t.Errorf("the promise gave %d", sum)
	}
	p.Eval("undefined", nil)
	var secure bool // what a page of ours needs to open WebTransport
	if p.Eval(`isSecureContext && typeof WebTransport === "function"`, &secure); !secure {
		t.Error("no WebTransport here")
	}
	if got := p.Text("#said"); got != "ready" {
		t.Errorf("text %q", got)
	}
	p.WaitFor("frames > 5")

	held := func() (codes []string) {
		t.Helper()
		p.Eval("[...held].sort()", &codes)
		return codes
	}
	p.KeyDown("KeyW")
	p.KeyDown("ShiftLeft")
	p.KeyDown("ArrowLeft")
	p.KeyDown("Space")
	if got := held(); !slices.Equal(got, []string{"ArrowLeft", "KeyW", "ShiftLeft", "Space"}) {
		t.Errorf("held %q", got)
	}
	p.Press("KeyA")
	p.KeyUp("ShiftLeft")
	p.KeyUp("KeyW")
	p.KeyUp("ArrowLeft")
	p.KeyUp("Space")
	p.Press("KeyA")
	p.Press("Digit1")
	if got := held(); len(got) != 0 {
		t.Errorf("held %q after all keys went up", got)
	}
	var typed string
	if p.Eval("typed", &typed); typed != "w Aa1" {
		t.Errorf("typed %q", typed)
	}

	var m struct{ X, Y, Buttons int }
	p.MouseMove(30, 40)
	p.MouseDown(Left)
	p.MouseDown(Right)
	if p.Eval("mouse", &m); m.X != 30 || m.Y != 40 || m.Buttons != 3 {
		t.Errorf("mouse %+v", m)
	}
	p.MouseUp(Right)
	p.MouseUp(Left)
	if p.Eval("mouse", &m); m.Buttons != 0 {
		t.Errorf("mouse %+v", m)
	}
	p.Click("#far")
	var presses int
	if p.Eval("presses", &presses); presses != 1 {
		t.Errorf("%d presses", presses)
	}
	p.Eval("scrollTo(0, 0)", nil)

	p.Resize(640, 480)
	img := p.Screenshot("shapes")
	if got := img.Bounds().Size(); got != image.Pt(640, 480) {
		t.Errorf("the screenshot is %v", got)
	}
	at := func(x, y int) string {
		r, g, b, _ := img.At(x, y).RGBA()
		return fmt.Sprintf("%02x%02x%02x", r>>8, g>>8, b>>8)
	}
	if at(10, 10) != "204080" || at(125, 125) != "ffcc00" || at(600, 100) != "ffffff" {
		t.Errorf("colours %s %s %s", at(10, 10), at(125, 125), at(600, 100))
	}
	files, err := filepath.Glob(filepath.Join(dir, "TestPage-shapes.png"))
	if err != nil || len(files) != 1 {
		t.Errorf("screenshots in %s: %q, %v", dir, files, err)
	}
	if errors := p.Errors(); len(errors) != 0 {
		t.Errorf("errors %q", errors)
	}
}

func TestErrorsAreCollected(t *testing.T) {
	url := serve(t)
	p := New(t)
	p.Open(url)
	p.Eval(`console.log("fine", 1, {a: 2})`, nil)
	p.Eval(`console.error("broken", 2)`, nil)
	p.Eval(`setTimeout(() => { throw new Error("nobody caught me") })`, nil)
	p.Eval(`fetch("/none").then(() => 0)`, nil)
	p.Eval(`new Promise(up => {
		window.w = new Worker("/worker.js", {type: "module"})
		w.onmessage = up
	}).then(() => 0)`, nil)
	var got []string
	for _, want := range []string{"broken 2", "nobody caught me", "404", "from the worker", "worker died"} {
		for !strings.Contains(strings.Join(got, "\n"), want) {
			p.Eval("new Promise(done => setTimeout(() => done(0), 20))", nil) // events come in their own time
			got = append(got, p.Errors()...)
		}
	}
	if len(got) != 5 {
		t.Errorf("errors %q", got)
	}
	all := strings.Join(p.Console(), "\n")
	if !strings.Contains(all, "log: fine 1 Object") || !strings.Contains(all, "quiet worker") {
		t.Errorf("console:\n%s", all)
	}
}

func TestTwoWindowsBothRun(t *testing.T) {
	url := serve(t)
	a := New(t)
	b := a.NewWindow()
	a.Open(url)
	b.Open(url)
	for _, p := range []*Page{a, b, a} {
		p.Eval("frames = 0", nil)
		p.WaitFor("frames > 5 && document.hasFocus() && !document.hidden")
	}
	a.KeyDown("KeyW")
	var n int
	if b.Eval("held.size", &n); n != 0 {
		t.Error("a key of one window reached the other")
	}
}

func TestHide(t *testing.T) {
	url := serve(t)
	p := New(t)
	p.Open(url)
	p.WaitFor("frames > 5")
	p.Hide()
	var before, after int
	p.Eval("frames", &before)
	p.Eval("new Promise(done => setTimeout(() => done(frames), 300))", &after)
	if after > before+1 {
		t.Errorf("a hidden page drew %d frames", after-before)
	}
	p.Show()
	p.WaitFor(fmt.Sprintf("frames > %d", after+5))
}

// recorder is a testing.TB that notes how a test ended.
type recorder struct {
	testing.TB
	skipped, failed string
	errors          []string
	cleanups        []func()
}

func (r *recorder) Helper()                      {}
func (r *recorder) Name() string                 { return "TestX" }
func (r *recorder) Failed() bool                 { return false }
func (r *recorder) Cleanup(f func())             { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Skip(args ...any)             { r.skipped = fmt.Sprint(args...); panic(r) }
func (r *recorder) Fatal(args ...any)            { r.failed = fmt.Sprint(args...); panic(r) }
func (r *recorder) Fatalf(f string, args ...any) { r.Fatal(fmt.Sprintf(f, args...)) }
func (r *recorder) Errorf(f string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(f, args...))
}

// run calls f and what it asked to clean up, as the end of a test would.
func (r *recorder) run(f func()) {
	defer func() {
		if got := recover(); got != nil && got != r {
			panic(got)
		}
		for _, c := range slices.Backward(r.cleanups) {
			c()
		}
	}()
	f()
}

func TestUnaskedErrorsFail(t *testing.T) {
	if _, ok := Find(); !ok {
		New(t) // skips, or fails, and says so
	}
	url := serve(t)
	r := &recorder{TB: t}
	r.run(func() {
		p := New(r)
		p.Open(url)
		p.Eval(`console.error("nobody asked")`, nil)
		p.Eval("new Promise(done => setTimeout(() => done(0), 50))", nil)
		p.Eval("no such thing", nil)
	})
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "nobody asked") {
		t.Errorf("errors %q", r.errors)
	}
	if !strings.Contains(r.failed, "SyntaxError") {
		t.Errorf("failed %q", r.failed)
	}
}

func TestWithoutBrowser(t *testing.T) {
	t.Setenv(EnvBrowser, filepath.Join(t.TempDir(), "none"))
	for ci, fails := range map[string]bool{"": false, "false": false, "true": true, "1": true} {
		t.Setenv("CI", ci)
		r := &recorder{TB: t}
		r.run(func() { New(r) })
		if said := r.skipped + r.failed; (r.failed != "") != fails || strings.Contains(said, "\n") ||
			!strings.Contains(said, "NO BROWSER: TestX did not run") {
			t.Errorf("CI=%q: skipped %q, failed %q", ci, r.skipped, r.failed)
		}
	}
}

// A browser that crashes before its first word is started again.
func TestCrashAtTheStart(t *testing.T) {
	program, ok := Find()
	if !ok {
		New(t) // skips, or fails, and says so
	}
	dir := t.TempDir()
	once := filepath.Join(dir, "once")
	script := fmt.Sprintf("#!/bin/sh\n[ -e '%[1]s' ] || { : >'%[1]s'; echo oh no >&2; exit 1; }\n"+
		"exec '%[2]s' \"$@\"\n", once, program)
	if err := os.WriteFile(filepath.Join(dir, "browser"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(EnvBrowser, filepath.Join(dir, "browser"))
	p := New(t)
	var sum int
	if p.Eval("1 + 2", &sum); sum != 3 {
		t.Errorf("the sum is %d", sum)
	}
	if _, err := os.Stat(once); err != nil {
		t.Error("the first start did not crash")
	}
}
