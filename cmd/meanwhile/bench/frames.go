package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/heapprofiler"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// settle is for how long a page plays before it is measured: the bots arrive, code is optimized.
const settle = 20 * time.Second

// looks is how often the page is asked how much it draws.
const looks = 10

// FramesResult is what one browser computed for a page while it showed the game.
type FramesResult struct {
	Browser string
	// Avatars is how many avatars the page had to draw, its own among them: the mean of ten looks.
	Avatars float64
	// FPS is how many frames were shown in a second, on a machine that may have no graphics processor.
	FPS float64
	// FrameMS is what the page's scripts took for each frame, sorted; MainMS is all that the page's main
	// thread did, for a frame on the average, without what a graphics processor does.
	FrameMS []float64
	MainMS  float64
	// HeapMB is what JavaScript held at the beginning and at the end, after a collection.
	HeapMB [2]float64
	// Console has what the page, its workers and the browser wrote to the console.
	Console []string
}

// frames runs in the page before its own scripts: bench has how long each frame's callbacks took.
const frames = `(() => {
  const bench = globalThis.bench = { took: [] }, order = requestAnimationFrame.bind(globalThis)
  let last = -1
  globalThis.requestAnimationFrame = f => order(ms => {
    const begun = performance.now()
    try { f(ms) } finally {
      const took = performance.now() - begun
      if (ms === last) bench.took[bench.took.length - 1] += took
      else bench.took.push(took)
      last = ms
    }
  })
})()`

// avatars evaluates to how many avatars the page knows.
const avatars = `Object.values(g.world).find(all => all.some(e => e.mine))?.length ?? 0`

// metrics reads the browser's own measurements of the page.
func metrics(into *map[string]float64) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		all, err := performance.GetMetrics().Do(ctx)
		*into = map[string]float64{}
		for _, m := range all {
			(*into)[m.Name] = m.Value
		}
		return err
	})
}

// Frames opens url in a fresh browser and lets it play for span.
func Frames(ctx context.Context, url string, span time.Duration) (r FramesResult, err error) {
	program, err := find()
	if err != nil {
		return r, err
	}
	err = open(ctx, program, func(tab context.Context) error { return r.measure(tab, url, span) })
	return r, err
}

func (r *FramesResult) measure(tab context.Context, url string, span time.Duration) error {
	var mu sync.Mutex
	chromedp.ListenTarget(tab, func(ev any) {
		mu.Lock()
		defer mu.Unlock()
		switch ev := ev.(type) {
		case *runtime.EventConsoleAPICalled:
			var words []string
			for _, a := range ev.Args {
				words = append(words, string(a.Value)+a.Description)
			}
			r.Console = append(r.Console, string(ev.Type)+": "+strings.Join(words, " "))
		case *runtime.EventExceptionThrown:
			r.Console = append(r.Console, "exception: "+ev.ExceptionDetails.Error())
		case *cdplog.EventEntryAdded:
			if !strings.HasSuffix(ev.Entry.URL, "/favicon.ico") { // the browser asks for it, not the page
				r.Console = append(r.Console, string(ev.Entry.Level)+": "+ev.Entry.Text)
			}
		}
	})
	within, cancel := context.WithTimeout(tab, limit+settle+span+time.Minute)
	defer cancel()
	var begun, ended, after map[string]float64
	var begin int
	err := chromedp.Run(within, before(frames), performance.Enable(), cdplog.Enable(), chromedp.Navigate(url),
		chromedp.Poll("globalThis.g?.me && g.draw", nil, chromedp.WithPollingTimeout(limit)),
		chromedp.Evaluate(product, &r.Browser), chromedp.Sleep(settle), heapprofiler.CollectGarbage(),
		metrics(&begun), chromedp.Evaluate("bench.took.length", &begin))
	if err != nil {
		return fmt.Errorf("bench: %s did not play: %w", url, err)
	}
	for range looks {
		var n float64
		if err := chromedp.Run(within, chromedp.Sleep(span/looks), chromedp.Evaluate(avatars, &n)); err != nil {
			return fmt.Errorf("bench: %s ceased to play: %w", url, err)
		}
		r.Avatars += n / looks
	}
	err = chromedp.Run(within, metrics(&ended),
		chromedp.Evaluate(fmt.Sprintf("bench.took.slice(%d)", begin), &r.FrameMS),
		heapprofiler.CollectGarbage(), metrics(&after))
	if err != nil {
		return fmt.Errorf("bench: %s ceased to play: %w", url, err)
	}
	n := float64(len(r.FrameMS))
	if n == 0 {
		return fmt.Errorf("bench: %s drew no frame in %v", url, span)
	}
	r.FPS = n / (ended["Timestamp"] - begun["Timestamp"])
	r.MainMS = 1000 * (ended["TaskDuration"] - begun["TaskDuration"]) / n
	r.HeapMB = [2]float64{begun["JSHeapUsedSize"] / 1e6, after["JSHeapUsedSize"] / 1e6}
	slices.Sort(r.FrameMS)
	mu.Lock()
	defer mu.Unlock()
	r.Console = slices.Clone(r.Console)
	return nil
}
