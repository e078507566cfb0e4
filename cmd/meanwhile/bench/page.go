// Package bench measures how long a person waits for a page: it loads the page in real browsers and
// presses keys there.
package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// programs are the browsers to try, in order.
var programs = [...]string{"chromium", "chromium-browser", "google-chrome", "chrome"}

// errNoBrowser reports that no browser is installed.
var errNoBrowser = errors.New("bench: no browser; install Chromium (apt-get install chromium) or set MEANWHILE_BROWSER")

// PageResult is what fresh browsers measured of a page.
type PageResult struct {
	Browser, Transport string
	// PaintedMS is from the page's first byte to the first paint with text or pictures, per load.
	PaintedMS []float64
	// PlayableMS is from the page's first byte to the first frame with the player's avatar, per
	// load.
	PlayableMS []float64
	// Steps is from the first byte to each of Steps, in milliseconds, per load.
	Steps [len(Steps)][]float64
	// KeyTicks and KeyMS are from a key press to the first frame in which the avatar has moved, in
	// ticks and in milliseconds, per press.
	KeyTicks, KeyMS []float64
}

// Steps are the marks of meanwhile.js before a page is playable: the configuration was read, the
// program was compiled, it started, the connection was ordered, the server's welcome arrived.
var Steps = [...]string{"configured", "compiled", "started", "connecting", "joined"}

// limit bounds the wait for a page; one that is not playable by then is broken.
const limit = 60 * time.Second

// watch runs in the page before its own scripts and notes when the avatar is first drawn.
const watch = `(() => {
  const tell = {}
  globalThis.bench = tell
  const look = () => {
    const g = globalThis.g
    if (g?.me && g.draw && tell.playable === undefined) {
      tell.playable = performance.now() - performance.getEntriesByType("navigation")[0].responseStart
    }
    if (tell.pending && g?.me && g.me.pos.x !== tell.pending.x) {
      tell.moved = { ticks: tell.n - tell.pending.n, ms: performance.now() - tell.pending.at }
      tell.pending = null
    }
    requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
  addEventListener("keydown", () => {
    if (!tell.armed) return
    tell.armed = false
    tell.pending = { n: tell.n, at: performance.now(), x: globalThis.g.me.pos.x }
  }, true)
  tell.arm = () => {
    const g = globalThis.g
    if (!tell.n) {
      tell.n = 1
      const command = g.command
      g.command = () => { tell.n++; return command() }
    }
    tell.moved = null
    tell.armed = true
  }
})()`

// marks evaluates to the page's marks and paints, in milliseconds from the first byte.
const marks = `(t0 => Object.fromEntries(
	["mark", "paint"].flatMap(type => performance.getEntriesByType(type)).map(m => [m.name, m.startTime - t0])
))(performance.getEntriesByType("navigation")[0].responseStart)`

// Page opens url in fresh browsers, loads times, and presses keys presses times in the last one.
func Page(ctx context.Context, url string, loads, presses int) (PageResult, error) {
	var r PageResult
	program, err := find()
	if err != nil {
		return r, err
	}
	for i := range loads {
		err := open(ctx, program, func(tab context.Context) error {
			return load(tab, url, &r, i == loads-1, presses)
		})
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

func find() (string, error) {
	names := programs[:]
	if name := os.Getenv("MEANWHILE_BROWSER"); name != "" {
		names = []string{name}
	}
	for _, n := range names {
		if p, err := exec.LookPath(n); err == nil {
			return p, nil
		}
	}
	return "", errNoBrowser
}

// open calls use with the tab of a fresh browser.
func open(ctx context.Context, program string, use func(tab context.Context) error) error {
	profile, err := os.MkdirTemp("", "meanwhile-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(profile)
	opts := []chromedp.ExecAllocatorOption{chromedp.ExecPath(program), chromedp.UserDataDir(profile),
		chromedp.WindowSize(1280, 800), chromedp.WSURLReadTimeout(limit)}
	for _, f := range [...]string{"headless", "no-sandbox", "disable-gpu", "no-first-run",
		"disable-background-networking", "disable-component-update", "disable-sync"} {
		opts = append(opts, chromedp.Flag(f, true))
	}
	alloc, kill := chromedp.NewExecAllocator(ctx, opts...)
	defer kill()
	quiet := func(string, ...any) {}
	tab, closeTab := chromedp.NewContext(alloc, chromedp.WithLogf(quiet), chromedp.WithErrorf(quiet))
	defer closeTab()
	if err := chromedp.Run(tab); err != nil {
		return fmt.Errorf("bench: start %s: %w", program, err)
	}
	return use(tab)
}

// before runs a script in each page before the scripts of its own.
func before(script string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(script).Do(ctx)
		return err
	})
}

// product evaluates to the browser's name and version.
const product = `navigator.userAgent.match(/Chrom[a-z]*\/[0-9.]+/)?.[0] ?? navigator.userAgent`

func load(tab context.Context, url string, r *PageResult, last bool, presses int) error {
	within, cancel := context.WithTimeout(tab, limit)
	defer cancel()
	var playable float64
	var steps map[string]float64
	err := chromedp.Run(within,
		before(watch),
		chromedp.Navigate(url),
		chromedp.Poll("bench.playable", &playable, chromedp.WithPollingInterval(20*time.Millisecond),
			chromedp.WithPollingTimeout(limit)),
		chromedp.Evaluate(marks, &steps),
		chromedp.Evaluate(product, &r.Browser),
	)
	if err != nil {
		return fmt.Errorf("bench: %s did not become playable in %v: %w", url, limit, err)
	}
	r.PaintedMS = append(r.PaintedMS, steps["first-contentful-paint"])
	r.PlayableMS = append(r.PlayableMS, playable)
	for i, name := range Steps {
		r.Steps[i] = append(r.Steps[i], steps["meanwhile "+name])
	}
	if !last {
		return nil
	}
	for i := range presses {
		key, code := "d", "KeyD"
		if i%2 == 1 {
			key, code = "a", "KeyA"
		}
		press := func(kind input.KeyType) chromedp.Action {
			return input.DispatchKeyEvent(kind).WithKey(key).WithCode(code).WithWindowsVirtualKeyCode(int64(code[3]))
		}
		var moved struct{ Ticks, MS float64 }
		err := chromedp.Run(within, chromedp.Sleep(700*time.Millisecond), chromedp.Evaluate("bench.arm()", nil),
			press(input.KeyDown),
			chromedp.Poll("bench.moved", &moved, chromedp.WithPollingInterval(20*time.Millisecond),
				chromedp.WithPollingTimeout(10*time.Second)),
			press(input.KeyUp))
		if err != nil {
			return fmt.Errorf("bench: the avatar did not move within 10 s of key %s: %w", code, err)
		}
		if i > 0 { // the first press takes over from the bot
			r.KeyTicks, r.KeyMS = append(r.KeyTicks, moved.Ticks), append(r.KeyMS, moved.MS)
		}
	}
	return chromedp.Run(within,
		chromedp.Evaluate("document.querySelector('#link em')?.textContent ?? ''", &r.Transport))
}

// Median returns the middle of v, 0 for none.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}
