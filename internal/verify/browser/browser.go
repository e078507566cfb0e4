// Package browser drives a real Chromium from tests: only a browser can show that the page, its
// WebAssembly client and WebTransport work.
//
//	p := browser.New(t)
//	p.Open(server.URL)
//	p.WaitFor("game.tick > 10")
//	p.KeyDown("KeyW")
//	p.Screenshot("running")
//
// A test that finds no browser is skipped with a line that says so; in continuous integration
// (CI=true) it fails. A test also fails when its page reported an error that the test did not fetch
// with Errors.
package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cdplog "github.com/chromedp/cdproto/log"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Limits on how long a broken test hangs. Within them a machine may be as slow as it likes.
const (
	startLimit  = 60 * time.Second // from starting the program to its first word
	actionLimit = 30 * time.Second // one call of a method, except of those that wait
	waitLimit   = 2 * time.Minute  // WaitFor
	closeLimit  = 10 * time.Second // closing the browser politely, before it is killed
	pollEvery   = 20 * time.Millisecond
	starts      = 3    // attempts: Chromium sometimes crashes at its start, which is no test's failure
	maxConsole  = 1000 // lines kept per page; later ones are dropped and counted
)

// The size of a page's content in CSS pixels, at one device pixel each, unless Resize changes it.
const (
	Width  = 1280
	Height = 800
)

// Environment variables.
const (
	// EnvBrowser names the browser's program, instead of searching the path for one.
	EnvBrowser = "MEANWHILE_BROWSER"
	// EnvScreenshots names the folder that keeps screenshots. Without it they are deleted when
	// their test ends.
	EnvScreenshots = "MEANWHILE_SCREENSHOTS"
)

// programs are the names under which a Chromium is commonly installed, the first found wins.
var programs = []string{
	"chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
}

// flags start the browser. There is no sandbox because tests run as root in containers; QUIC stays
// enabled, because WebTransport is among what is tested; timers of hidden pages stay slow, as they
// are for players.
var flags = map[string]any{
	"headless":                      "new",
	"no-sandbox":                    true,
	"disable-gpu":                   true, // Canvas 2D is several times faster on the processor than on an emulated GPU
	"disable-dev-shm-usage":         true, // containers give /dev/shm 64 MB, too little
	"no-first-run":                  true,
	"no-default-browser-check":      true,
	"disable-background-networking": true,
	"disable-component-update":      true,
	"disable-default-apps":          true,
	"disable-extensions":            true,
	"disable-sync":                  true,
	"metrics-recording-only":        true,
	"mute-audio":                    true,
	"hide-scrollbars":               true,
	"password-store":                "basic",
	"force-device-scale-factor":     "1",
	"force-color-profile":           "srgb",
}

// Find returns the path of a browser, or false when none is installed.
func Find() (string, bool) {
	names := programs
	if name := os.Getenv(EnvBrowser); name != "" {
		names = []string{name}
	}
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			return found, true
		}
	}
	return "", false
}

// inCI reports whether continuous integration runs the test, where nothing may be skipped.
func inCI() bool {
	v := strings.ToLower(os.Getenv("CI"))
	return v != "" && v != "false" && v != "0"
}

// Page is one page of a browser, in a window of its own. Its methods end the test when they fail,
// so they are called by the test's own goroutine only.
type Page struct {
	t   testing.TB
	ctx context.Context

	held  int64   // modifier keys that are down, as input.Modifier bits
	x, y  float64 // where the mouse is
	mouse int64   // mouse buttons that are down
	cover target.ID

	mu      sync.Mutex // guards what listeners write
	console []string
	errors  []string
	dropped int
}

// Options are what a browser is started with beside the usual.
type Options struct {
	Flags map[string]any // of the command line, without the dashes
	Home  string         // the person's folder, whose certificates are trusted; "" leaves it
}

// New starts a browser with a fresh profile and returns its first page, which is blank. The browser
// ends with the test.
func New(t testing.TB) *Page {
	t.Helper()
	return NewWith(t, Options{})
}

// NewWith is New with Options.
func NewWith(t testing.TB, o Options) *Page {
	t.Helper()
	program, ok := Find()
	if !ok {
		missing := fmt.Sprintf("NO BROWSER: %s did not run. Install Chromium (apt-get install chromium) or set %s.",
			t.Name(), EnvBrowser)
		if inCI() {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	var failed error
	for range starts {
		var p *Page
		if p, failed = start(t, program, o); failed == nil {
			p.prepare()
			return p
		}
		t.Logf("browser: start %s: %v", program, failed)
	}
	t.Fatalf("browser: %s did not start %d times: %v", program, starts, failed)
	return nil
}

// start starts a browser. When that fails, nothing of it remains.
func start(t testing.TB, program string, o Options) (*Page, error) {
	t.Helper()
	profile, err := os.MkdirTemp("", "meanwhile-browser-")
	if err != nil {
		t.Fatal(err)
	}
	opts := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(program), chromedp.UserDataDir(profile), chromedp.WindowSize(Width, Height),
		chromedp.WSURLReadTimeout(startLimit),
	}
	for name, value := range flags {
		opts = append(opts, chromedp.Flag(name, value))
	}
	for name, value := range o.Flags {
		opts = append(opts, chromedp.Flag(name, value))
	}
	if o.Home != "" {
		opts = append(opts, chromedp.Env("HOME="+o.Home))
	}
	alloc, kill := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, cancel := chromedp.NewContext(alloc, chromedp.WithBrowserOption(chromedp.WithDialTimeout(startLimit)),
		chromedp.WithLogf(quiet), chromedp.WithErrorf(quiet))
	if err := chromedp.Run(ctx); err != nil { // its life must not depend on a deadline
		cancel()
		kill()
		removeAll(profile)
		return nil, err
	}
	t.Cleanup(func() {
		polite, done := context.WithTimeout(ctx, closeLimit)
		_ = chromedp.Cancel(polite) // what does not end politely is killed
		done()
		cancel()
		kill()
		removeAll(profile)
	})
	return newPage(t, ctx), nil
}

// quiet drops what the driver logs. It complains of every event field that is newer than itself.
func quiet(string, ...any) {}

// removeAll removes a profile. The last processes of a browser may still write into it, so it tries
// again.
func removeAll(dir string) {
	for range 50 {
		if os.RemoveAll(dir) == nil {
			return
		}
		time.Sleep(pollEvery)
	}
}

func newPage(t testing.TB, ctx context.Context) *Page {
	p := &Page{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, p.listen)
	t.Cleanup(p.close)
	return p
}

// prepare sets what each page begins with.
func (p *Page) prepare() {
	p.t.Helper()
	p.Run(emulation.SetFocusEmulationEnabled(true))
	p.Resize(Width, Height)
}

// NewWindow opens a second page of the same browser, with the same profile.
func (p *Page) NewWindow() *Page {
	p.t.Helper()
	var id target.ID
	p.Run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		c := chromedp.FromContext(ctx)
		id, err = target.CreateTarget("about:blank").WithNewWindow(true).Do(withBrowser(ctx, c))
		return err
	}))
	ctx, cancel := chromedp.NewContext(p.ctx, chromedp.WithTargetID(id))
	p.t.Cleanup(cancel)
	q := newPage(p.t, ctx)
	if err := chromedp.Run(ctx); err != nil {
		p.t.Fatalf("browser: second page: %v", err)
	}
	q.prepare()
	return q
}

// close runs when the test ends, while the browser still lives.
func (p *Page) close() {
	if p.t.Failed() {
		p.t.Logf("the page's console:\n%s", strings.Join(p.Console(), "\n"))
		if img, err := p.capture(); err == nil && os.Getenv(EnvScreenshots) != "" {
			if name, err := p.save("failed", img); err == nil {
				p.t.Logf("the page when the test failed: %s", name)
			}
		}
	}
	for _, e := range p.Errors() {
		p.t.Errorf("the page reported: %s", e)
	}
}

// Run runs actions of the driver, for whatever has no method here.
func (p *Page) Run(actions ...chromedp.Action) {
	p.t.Helper()
	if err := p.try(actions...); err != nil {
		p.t.Fatalf("browser: %v", err)
	}
}

func (p *Page) try(actions ...chromedp.Action) error {
	ctx, cancel := context.WithTimeout(p.ctx, actionLimit)
	defer cancel()
	return chromedp.Run(ctx, actions...)
}

// Open goes to a page and waits until the page and its scripts, styles and images are loaded.
func (p *Page) Open(url string) {
	p.t.Helper()
	if err := p.try(chromedp.Navigate(url)); err != nil {
		p.t.Fatalf("browser: open %s: %v", url, err)
	}
}

// Before runs a script in every page that is opened later, before the page's own scripts.
func (p *Page) Before(js string) {
	p.t.Helper()
	p.Run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(js).Do(ctx)
		return err
	}))
}

// Resize sets the size of the page's content in CSS pixels.
func (p *Page) Resize(width, height int) {
	p.t.Helper()
	p.Run(emulation.SetDeviceMetricsOverride(int64(width), int64(height), 1, false))
}

// Eval evaluates an expression in the page, waits for it if it is a promise, and stores its value,
// which travels as JSON, in what into points to. A nil into drops the value.
func (p *Page) Eval(js string, into any) {
	p.t.Helper()
	if err := p.eval(js, into); err != nil {
		p.t.Fatalf("browser: %s: %v", js, err)
	}
}

func (p *Page) eval(js string, into any) error {
	var raw []byte
	err := p.try(chromedp.Evaluate(js, &raw, func(e *runtime.EvaluateParams) *runtime.EvaluateParams {
		return e.WithAwaitPromise(true).WithReturnByValue(true).WithUserGesture(true)
	}))
	if err != nil || into == nil {
		return err
	}
	if len(raw) == 0 { // undefined
		raw = []byte("null")
	}
	return json.Unmarshal(raw, into)
}

// WaitFor waits until an expression is true, as JavaScript sees it. An expression that throws is
// not true yet.
func (p *Page) WaitFor(js string) {
	p.t.Helper()
	p.WaitLonger(js, waitLimit)
}

// WaitLonger is WaitFor with a limit of its own.
func (p *Page) WaitLonger(js string, limit time.Duration) {
	p.t.Helper()
	var last string
	for end := time.Now().Add(limit); ; time.Sleep(pollEvery) {
		var got struct {
			OK    bool
			Value string
		}
		err := p.eval(`(async () => { const v = await (`+js+`); return {OK: !!v, Value: String(v)} })()`, &got)
		if err == nil && got.OK {
			return
		}
		if last = got.Value; err != nil {
			last = err.Error()
		}
		if p.ctx.Err() != nil || time.Now().After(end) {
			p.t.Fatalf("browser: waited %v for %s; it is %s", limit, js, last)
		}
	}
}

// Text returns the text that the first element of a selector shows.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	var s string
	p.Eval(fmt.Sprintf("document.querySelector(%q).innerText", selector), &s)
	return s
}

// Screenshot takes a picture of the page and keeps it as a PNG, named after the test and name, in
// the folder that EnvScreenshots names.
func (p *Page) Screenshot(name string) image.Image {
	p.t.Helper()
	b, err := p.capture()
	if err != nil {
		p.t.Fatalf("browser: screenshot %s: %v", name, err)
	}
	file, err := p.save(name, b)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Logf("screenshot: %s", file)
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		p.t.Fatalf("browser: screenshot %s: %v", name, err)
	}
	return img
}

func (p *Page) capture() (b []byte, err error) {
	err = p.try(chromedp.ActionFunc(func(ctx context.Context) error {
		b, err = page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatPng).Do(ctx)
		return err
	}))
	return b, err
}

var unfit = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func (p *Page) save(name string, b []byte) (string, error) {
	dir := os.Getenv(EnvScreenshots)
	if dir == "" {
		dir = p.t.TempDir()
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	file := filepath.Join(dir, unfit.ReplaceAllString(p.t.Name()+"-"+name, "_")+".png")
	return file, os.WriteFile(file, b, 0o644)
}

// Hide puts another tab in front of the page. The browser then reports the page as hidden, draws no
// frames and slows its timers. Show brings it back.
func (p *Page) Hide() {
	p.t.Helper()
	p.Run(emulation.SetFocusEmulationEnabled(false), chromedp.ActionFunc(func(ctx context.Context) (err error) {
		b := withBrowser(ctx, chromedp.FromContext(ctx))
		if p.cover, err = target.CreateTarget("about:blank").Do(b); err == nil {
			err = target.ActivateTarget(p.cover).Do(b)
		}
		return err
	}))
	p.WaitFor("document.hidden")
}

// Show undoes Hide.
func (p *Page) Show() {
	p.t.Helper()
	p.Run(page.BringToFront(), emulation.SetFocusEmulationEnabled(true))
	p.WaitFor("!document.hidden")
	if p.cover != "" {
		p.Run(chromedp.ActionFunc(func(ctx context.Context) error {
			return target.CloseTarget(p.cover).Do(withBrowser(ctx, chromedp.FromContext(ctx)))
		}))
		p.cover = ""
	}
}

// listen handles an event of the page. The driver calls it, so it must not wait for anything.
func (p *Page) listen(ev any) {
	switch ev := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		words := make([]string, len(ev.Args))
		for i, a := range ev.Args {
			words[i] = describe(a)
		}
		bad := ev.Type == runtime.APITypeError || ev.Type == runtime.APITypeAssert
		p.keep(string(ev.Type), strings.Join(words, " "), bad)
	case *runtime.EventExceptionThrown:
		d := ev.ExceptionDetails
		text := d.Text
		if d.Exception != nil {
			text += " " + describe(d.Exception)
		}
		p.keep("exception", fmt.Sprintf("%s (%s:%d)", text, d.URL, d.LineNumber+1), true)
	case *cdplog.EventEntryAdded:
		// Messages of the network, of the browser itself, and of the consoles of Workers.
		e := ev.Entry
		icon := strings.HasSuffix(e.URL, "/favicon.ico") // the browser asks for it, not the page
		p.keep(string(e.Level), fmt.Sprintf("%s (%s)", e.Text, e.URL), e.Level == cdplog.LevelError && !icon)
	}
}

// keep keeps one line of a page's console.
func (p *Page) keep(kind, text string, bad bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.console) >= maxConsole {
		p.dropped++
	} else {
		p.console = append(p.console, kind+": "+text)
	}
	if bad && len(p.errors) < maxConsole {
		p.errors = append(p.errors, kind+": "+text)
	}
}

// describe renders a value of the page's console.
func describe(o *runtime.RemoteObject) string {
	if len(o.Value) > 0 {
		var s string
		if json.Unmarshal(o.Value, &s) == nil {
			return s
		}
		return string(o.Value)
	}
	if o.Description != "" {
		return o.Description
	}
	return string(o.Type)
}

// Console returns what the page has written to its console so far.
func (p *Page) Console() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := slices.Clone(p.console)
	if p.dropped > 0 {
		lines = append(lines, fmt.Sprintf("(and %d more)", p.dropped))
	}
	return lines
}

// Errors returns and forgets the errors that the page has reported: errors on its console,
// exceptions that nobody caught, loads that failed. Errors that are still there when the test ends
// fail it.
func (p *Page) Errors() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	errors := p.errors
	p.errors = nil
	return errors
}
