package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"meanwhile/app/js"
	"meanwhile/internal/browser"
	"meanwhile/web"
)

// serve serves the arena's page with an engine that plays alone.
func serve(t *testing.T) string {
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServerFS(web.Files))
	mux.Handle("/meanwhile.js", http.FileServerFS(js.Files))
	mux.Handle("/testdata/", http.StripPrefix("/testdata", http.FileServer(http.Dir("../app/js/testdata"))))
	mux.HandleFunc("/arena/map.json", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "../app/js/testdata/map.json") })
	mux.HandleFunc("/meanwhile.json", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"game": "arena", "local": true, "engine": "/testdata/arena.js", "schema": "1"}`)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// near counts the pixels of the stage that are about this colour.
func near(p *browser.Page, name string, r, g, b int) (n int) {
	img := p.Screenshot(name)
	for y := range img.Bounds().Max.Y - 110 {
		for x := range img.Bounds().Max.X {
			if x > 950 {
				break
			}
			cr, cg, cb, _ := img.At(x, y).RGBA()
			dr, dg, db := int(cr>>8)-r, int(cg>>8)-g, int(cb>>8)-b
			if dr*dr+dg*dg+db*db < 400 {
				n++
			}
		}
	}
	return n
}

func TestArena(t *testing.T) {
	url := serve(t)
	p := browser.New(t)
	p.Open(url + "/?delay=110&loss=3&predict=0")
	p.WaitFor("g.me && arena.tickNo > 0 && document.querySelectorAll('#scores li').length === 8")

	// What the address says reaches the engine and the controls.
	var settings map[string]float64
	p.Eval("Object.fromEntries(Object.entries(arena.settings).filter(([, v]) => typeof v === 'number'))", &settings)
	for name, want := range map[string]float64{"delayMs": 110, "jitterMs": 0, "lossPct": 3, "predict": 0, "interpolate": 1, "lagcomp": 1, "autopilot": 1, "packets": 1} {
		if settings[name] != want {
			t.Errorf("setting %s is %v, want %v", name, settings[name], want)
		}
	}
	if got := p.Text("label[for=delay] output"); got != "110 ms" {
		t.Errorf("the slider reads %q", got)
	}

	// And back: a preset and a switch change the engine and the address.
	p.Eval(`[...document.querySelectorAll("#presets button")].find(b => b.textContent === "Train").click()`, nil)
	p.Click("#predict")
	p.WaitFor("arena.settings.delayMs === 70 && arena.settings.jitterMs === 140 && arena.settings.lossPct === 6 && arena.settings.predict === 1")
	var query string
	if p.Eval("location.search", &query); query != "?delay=70&loss=6&jitter=140" {
		t.Errorf("the address is %s", query)
	}

	// The ghost is yellow, and only there when it is asked for.
	if n := near(p, "plain", 0xe8, 0xb3, 0x39); n > 0 {
		t.Errorf("%d yellow pixels without the ghost", n)
	}
	p.Click("#ghost")
	p.WaitFor("document.getElementById('ghost').checked")
	p.Eval("new Promise(done => setTimeout(() => done(0), 300))", nil)
	if n := near(p, "ghost", 0xe8, 0xb3, 0x39); n < 30 {
		t.Errorf("%d yellow pixels with the ghost", n)
	}

	// A key takes over from the bot; the hint says how to play; the avatar goes where it is told.
	if got := p.Text("#hint"); !strings.Contains(got, "A bot plays") {
		t.Errorf("the hint says %q", got)
	}
	p.Press("KeyE")
	p.WaitFor("!g.autopilot && arena.settings.autopilot === 0 && location.search.includes('bot=0')")
	p.WaitFor("document.getElementById('hint').innerText.includes('crouch')")
	p.Eval(`arena.sent = []; { const tick = arena.tick; arena.tick = b => { arena.sent.push([...new Float64Array(b.buffer)]); tick(b) } }`, nil)
	p.MouseMove(478, 100)
	p.KeyDown("KeyD")
	p.KeyDown("Space")
	p.MouseDown(browser.Left)
	p.WaitFor("arena.sent.some(c => c[0] > 0 && c[1] === 1 && c[2] === 0 && c[5] === 1 && c[7] === 1 && c[3] < 0)")
	p.KeyUp("KeyD")
	p.KeyUp("Space")
	p.MouseUp(browser.Left)

	// Small screens have the panel behind a button.
	p.Resize(390, 844)
	p.WaitFor("getComputedStyle(document.getElementById('panel')).visibility === 'hidden' && g.width === 390")
	p.Click("#panelbutton")
	p.WaitFor("getComputedStyle(document.getElementById('panel')).visibility === 'visible'")
	p.Screenshot("phone")
}
