package demo_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"testing"

	"meanwhile/demo"
	"meanwhile/docs"
	"meanwhile/internal/verify/browser"
)

// The guides are pages: each has a heading, its pictures are there, and each link to a guide or to a
// place in it leads somewhere.
func TestGuide(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: the pages of the guide in a browser")
	}
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServerFS(demo.Files))
	for _, dir := range []string{"guide", "images"} {
		if _, err := fs.Stat(docs.Guides, dir); err != nil {
			t.Fatal(err)
		}
		mux.Handle("/"+dir+"/", http.FileServerFS(docs.Guides))
	}
	s := httptest.NewServer(mux)
	defer s.Close()
	p := browser.New(t)
	p.Open(s.URL + "/guide.html")
	const shown = `document.querySelector("main h1") && [...document.images].every(i => i.complete)`
	p.WaitFor(shown)
	var pages []string
	p.Eval(`[...document.querySelectorAll("#pages a")].map(a => a.getAttribute("href")).filter(h => h !== "/")`, &pages)
	if len(pages) < 5 {
		t.Fatalf("the guide has the pages %q", pages)
	}
	ids, links := map[string]bool{}, map[string]string{}
	for _, page := range pages {
		p.Open(s.URL + page)
		p.WaitFor(shown)
		var got struct {
			IDs, Links, Missing []string
			Current             string
		}
		p.Eval(`({
			IDs: [...document.querySelectorAll("[id]")].map(e => e.id),
			Links: [...document.querySelectorAll("main a")].map(a => a.getAttribute("href"))
				.filter(h => /^(#|\/guide)/.test(h)),
			Missing: [...document.images].filter(i => !i.naturalWidth).map(i => i.src),
			Current: document.querySelector("#pages [aria-current]")?.getAttribute("href") ?? "",
		})`, &got)
		if got.Current != page || len(got.Missing) > 0 {
			t.Errorf("%s: %q is marked; pictures are missing: %q", page, got.Current, got.Missing)
		}
		ids[page] = true
		for _, id := range got.IDs {
			ids[page+"#"+id] = true
		}
		for _, l := range got.Links {
			if l[0] == '#' {
				l = page + l
			}
			links[l] = page
		}
	}
	for l, page := range links {
		if !ids[l] {
			t.Errorf("%s links to %s, which there is not", page, l)
		}
	}
}

// A player writes a name: the page joins anew under it, and keeps it for the next time. The field
// works before there is a game.
func TestName(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: the field for a player's name in a browser")
	}
	url := live(t)
	p := browser.New(t)
	p.Open(url)
	p.WaitFor(ready)
	p.Eval(`{
		document.getElementById("name").value = "  Grace  "
		document.getElementById("who").requestSubmit()
	}`, nil)
	p.WaitFor(`globalThis.g?.me?.name === "Grace" && new URLSearchParams(location.search).get("name") === "Grace" &&
		document.getElementById("name").value === "Grace"`)
	p.Open(url)
	p.WaitFor(`globalThis.g?.me?.name.startsWith("Grace") && g.options.name === "Grace"`)

	p.Before(`{
		const { fetch } = window
		window.fetch = (of, ...more) => String(of).endsWith("/meanwhile.json") ? new Promise(() => {}) : fetch(of, ...more)
	}`)
	p.Open(url)
	p.WaitFor(`document.getElementById("name")?.value === "Grace"`)
	p.Eval(`{
		document.getElementById("name").value = "Ada"
		document.getElementById("who").requestSubmit()
	}`, nil)
	p.WaitFor(`new URLSearchParams(location.search).get("name") === "Ada" &&
		document.getElementById("name")?.value === "Ada"`)
}
