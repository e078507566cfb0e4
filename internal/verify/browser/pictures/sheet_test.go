// Package pictures_test takes pictures of the pages: a contact sheet of all of them in three sizes,
// and the moving picture of the README.
//
//	MEANWHILE_SCREENSHOTS=pictures go test ./internal/verify/browser/pictures -run Sheet
//	go test ./internal/verify/browser/pictures -run Moving -update
package pictures_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"

	"meanwhile/internal/verify/browser"
	"meanwhile/internal/verify/process"
)

// sizes of a page: a laptop, a large screen, a phone.
var sizes = []struct {
	name          string
	width, height int64
	phone         bool
}{
	{"laptop", 1280, 800, false},
	{"large", 1920, 1080, false},
	{"phone", 390, 844, true},
}

// scenes are what the sheet shows. serve is the program, with its folder and arguments; ready is
// true once there is something to see, and after settle the picture is taken.
var scenes = []struct {
	name, serve, page, ready string
	prepare                  string // evaluated when the page is ready
	settle                   time.Duration
}{
	{"demo", "demo", "", `globalThis.g?.me && g.world.player.length >= 8 && !hint.hidden`, ``, 4 * time.Second},
	{"playing", "demo", "?bot=0&name=Ann", playing, `dispatchEvent(new KeyboardEvent("keydown", { code: "KeyD" }))`,
		2 * time.Second},
	{"ocean", "demo", "?bot=0&name=Ann&profile=ocean", playing, openPanel, 5 * time.Second},
	{"beside server", "demo", "?name=Ann&profile=ocean", playing, beside + `("truth")`, 4 * time.Second},
	{"beside raw", "demo", "?name=Ann&profile=ocean", playing, beside + `("raw")`, 6 * time.Second},
	{"guide", "demo", "guide.html", `document.querySelector("main h1")`, ``, 0},
	{"guide table", "demo", "guide.html?coming-from", `document.querySelector("main h1")`, ``, 0},
	{"zap", "zap", "?name=Ann", `document.querySelector("canvas").width > 300`, ``,
		3 * time.Second},
	{"kick", "kick", "?name=Ann&bot", `globalThis.game?.me && game.world.ball.length`, ``, 6 * time.Second},
	{"plaza", "plaza", "?name=Ann", `globalThis.game?.me && game.world.avatar.length > 50`, ``, 4 * time.Second},
	{"invasion", "invasion", "?name=Ann&bot", `globalThis.game?.me && game.world.creature.length > 150`, ``,
		8 * time.Second},
	// The last one is for eyes alone, as a round must end before it.
	{"second map", "demo", "?name=Ann", playing + ` && g.world.round[0].map > 0`, ``, 4 * time.Second},
}

const (
	playing = `globalThis.g?.me && g.on.frag && g.world.player.length >= 8 && g.stats.rttMs > 0`
	// openPanel opens the panel where it is a sheet.
	openPanel = `{
		const button = document.querySelector(".meanwhile-panel-button")
		if (button?.offsetWidth) button.click()
	}`
	// beside is a function that shows another half of the demo.
	beside = `(mode => {
		const list = document.getElementById("compare")
		list.value = mode
		list.dispatchEvent(new Event("change"))
	})`
)

// programs are the ways to serve a scene's page.
var programs = map[string]struct {
	pkg, dir string
	args     []string
}{
	"demo":     {"meanwhile/cmd/meanwhile", "", []string{"demo"}},
	"invasion": {"meanwhile/cmd/meanwhile", "", []string{"demo", "--game", "invasion"}},
	"plaza":    {"meanwhile/cmd/meanwhile", "", []string{"demo", "--game", "plaza"}},
	"kick":     {"meanwhile/examples/kick/cmd/kick", "examples/kick", []string{"--bots", "7"}},
	"zap":      {"meanwhile/examples/zap/cmd/zap", "examples/zap", []string{"--bots", "4"}},
}

const root = "../../../.."

// resize gives a page one of the sizes.
func resize(p *browser.Page, i int) {
	s := sizes[i]
	p.Run(emulation.SetDeviceMetricsOverride(s.width, s.height, 1, s.phone),
		emulation.SetTouchEmulationEnabled(s.phone))
}

// Each page opens in each size, and nothing sticks out of it sideways. Where pictures are kept, they are put
// together as sheet.html and sheet.png.
func TestSheet(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: how the pages look in three sizes")
	}
	urls, built := map[string]string{}, map[string]string{}
	serve := func(name string) string {
		if urls[name] == "" {
			p := programs[name]
			if built[p.pkg] == "" {
				built[p.pkg] = process.Build(t, p.pkg)
			}
			cmd := exec.Command(built[p.pkg], append(p.args, "--addr", "127.0.0.1:0")...)
			cmd.Dir = filepath.Join(root, p.dir)
			urls[name] = process.Start(t, cmd, 20*time.Minute).URL()
		}
		return urls[name]
	}
	shown := scenes
	if os.Getenv(browser.EnvScreenshots) == "" {
		shown = scenes[:len(scenes)-1]
	}
	for _, s := range shown {
		t.Run(s.name, func(t *testing.T) {
			url := serve(s.serve)
			p := browser.New(t)
			for i, size := range sizes {
				resize(p, i)
				p.Open(url + s.page)
				p.WaitLonger(s.ready, 5*time.Minute) // a map lasts three
				if s.prepare != "" {
					p.Eval(s.prepare, nil)
				}
				if os.Getenv(browser.EnvScreenshots) != "" {
					time.Sleep(s.settle)
				}
				p.Screenshot(size.name)
				var wide int
				if p.Eval("document.documentElement.scrollWidth - innerWidth", &wide); wide > 0 {
					t.Errorf("%s: the page is %d px too wide", size.name, wide)
				}
			}
		})
	}
	if dir := os.Getenv(browser.EnvScreenshots); dir != "" {
		if err := sheet(t, dir); err != nil {
			t.Error(err)
		}
	}
}

// sheet puts the pictures in a folder together, as a page and as one picture.
func sheet(t *testing.T, dir string) error {
	var b strings.Builder
	b.WriteString("<!doctype html><meta charset=utf-8><style>body { margin: 16px; background: #20242b; color: #fff; " +
		"font: 16px system-ui; } div { display: flex; gap: 12px; align-items: start } img { height: 420px }</style>\n")
	for _, s := range scenes {
		fmt.Fprintf(&b, "<h3>%s</h3><div>", s.name)
		for _, size := range sizes {
			name := fmt.Sprintf("TestSheet_%s-%s.png", strings.ReplaceAll(s.name, " ", "_"), size.name)
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil { // the scene was run
				fmt.Fprintf(&b, `<img src="%s">`, name)
			}
		}
		b.WriteString("</div>\n")
	}
	file, err := filepath.Abs(filepath.Join(dir, "sheet.html"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		return err
	}
	p := browser.New(t)
	p.Open("file://" + file)
	var high float64
	p.Eval("document.documentElement.scrollHeight", &high)
	p.Resize(1680, int(high))
	p.Screenshot("sheet")
	return nil
}
