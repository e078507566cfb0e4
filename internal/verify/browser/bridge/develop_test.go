package bridge_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"meanwhile/app/site"
	"meanwhile/examples/zap"
	"meanwhile/host"
	"meanwhile/internal/verify/browser"
	"meanwhile/internal/verify/sites"
)

// Whoever writes a game reads in its page what the page's own scripts did wrong, with the line, also
// where nothing else is to be seen. A click closes it.
func TestMistakesOfScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: errors of a page's own scripts, in a browser")
	}
	page := func(body string) *fstest.MapFile { return &fstest.MapFile{Data: []byte("<!doctype html>" + body)} }
	s, _ := sites.Serve(t, site.Config{
		Develop: true, Host: host.Config{Rules: sites.Rules(t, &zap.Game)},
		Pages: []fs.FS{fstest.MapFS{
			"wrong.html": page(`<script type="module" src="wrong.js"></script>`),
			"wrong.js":   {Data: []byte("\nnothing.here()\n")},
			"lost.html":  page(`<script type="module" src="lost.js"></script>`),
		}},
	}, nil)
	const box = `document.querySelector(".meanwhile-dev:not([hidden])")`
	p := browser.New(t)
	for name, want := range map[string]string{
		"wrong.html": "Uncaught ReferenceError: nothing is not defined (wrong.js:2)",
		"lost.html":  s.URL() + "lost.js, or what it imports, cannot be loaded.",
	} {
		p.Open(s.URL() + name)
		p.WaitFor(box + `?.innerText.startsWith("The page went wrong.")`)
		if got := words(p, box+".lastElementChild.textContent"); got != want {
			t.Errorf("%s says %q, want %q", name, got, want)
		}
		p.Click(".meanwhile-dev")
		p.WaitFor("!" + box)
		p.Errors()
	}
}
