// Package door_test plays over https, on host names that are not this machine's, with certificates
// of an authority that the browser trusts.
package door_test

import (
	"crypto/tls"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"meanwhile/app/site"
	"meanwhile/examples/zap"
	"meanwhile/host"
	"meanwhile/internal/verify/authority"
	"meanwhile/internal/verify/browser"
	"meanwhile/internal/verify/process"
	"meanwhile/internal/verify/sites"
)

// page draws the sample game, with the library of the server at a URL.
const page = `<!doctype html><meta charset=utf-8><title>zap</title><link rel=icon href="data:,"><canvas></canvas>
<script type=module>
import { join } from %q
const transport = new URLSearchParams(location.search).get("transport") ?? undefined
const g = globalThis.game = await join({ canvas: document.querySelector("canvas"), view: { width: 40 }, transport })
g.command = () => ({ move: g.keys.wasd, aim: 0, fire: false })
g.draw = () => {}
</script>`

// overUDP makes the page use WebTransport alone: on a busy machine WebSocket could win the race.
const overUDP = "?transport=webtransport"

// serve serves zap as game.example over https, and returns its address under that name.
func serve(t *testing.T, a *authority.Authority, d site.Door) string {
	t.Helper()
	d.TLSCert, d.TLSKey = a.Issue(time.Now().Add(100*time.Hour), "game.example")
	url := listen(t, "127.0.0.1:0", d, slog.New(slog.DiscardHandler))
	if !strings.HasPrefix(url, "https://game.example:") {
		t.Fatalf("the address is %s", url)
	}
	return url
}

// listen serves zap until the test ends and returns its address.
func listen(t *testing.T, addr string, d site.Door, log *slog.Logger) string {
	t.Helper()
	s, _ := sites.Serve(t, site.Config{
		Addr: addr, Door: d, Host: host.Config{Rules: sites.Rules(t, &zap.Game), Bots: 1, Seed: 3, Log: log},
		Pages: []fs.FS{fstest.MapFS{"index.html": {Data: fmt.Appendf(nil, page, "/meanwhile.js")}}},
	}, sites.Zap(t))
	return s.URL()
}

// open starts a browser that trusts the authority like those it came with, finds every host of
// .example on this machine, and lets more certificates pass as flags say.
func open(t *testing.T, a *authority.Authority, flags map[string]any) *browser.Page {
	t.Helper()
	home := t.TempDir()
	store := filepath.Join(home, ".pki", "nssdb")
	if err := os.MkdirAll(store, 0o700); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(home, "root.pem")
	if err := os.WriteFile(root, a.Root, 0o600); err != nil {
		t.Fatal(err)
	}
	tool, err := exec.LookPath("certutil")
	if err != nil {
		missing := "NO CERTUTIL: " + t.Name() + " did not run. Install it (apt-get install libnss3-tools)."
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	for _, args := range [][]string{
		{"-N", "--empty-password"}, {"-A", "-n", "meanwhile", "-t", "C,,", "-i", root},
	} {
		if out, err := exec.Command(tool, append([]string{"-d", "sql:" + store}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("certutil: %v\n%s", err, out)
		}
	}
	all := map[string]any{"host-resolver-rules": "MAP *.example 127.0.0.1"}
	for name, value := range flags {
		all[name] = value
	}
	return browser.NewWith(t, browser.Options{Flags: all, Home: home})
}

// anyRoot lets WebTransport trust the authority: browsers want one that the whole world knows.
var anyRoot = map[string]any{"webtransport-developer-mode": true}

// another serves a static page as name, and returns its address.
func another(t *testing.T, a *authority.Authority, name, library string) string {
	t.Helper()
	return front(t, a, name, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, page, library)
	}))
}

// front serves https as name, and returns its address.
func front(t *testing.T, a *authority.Authority, name string, h http.Handler) string {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(a.Issue(time.Now().Add(100*time.Hour), name))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return strings.Replace(s.URL, "127.0.0.1", name, 1)
}

// A page over https plays over WebTransport, whose certificate the browser checks as it checks the
// page's: nothing is pinned.
func TestPlayOverHTTPS(t *testing.T) {
	a := authority.New(t)
	url := serve(t, a, site.Door{})
	p := open(t, a, anyRoot)
	p.Open(url + overUDP)
	p.WaitFor("globalThis.game?.me && game.stats.tick > 60 && game.world.pilot.length === 2")
	var got struct {
		Transport      string
		Isolated       bool
		Pins           int
		Secure, Hidden bool
	}
	p.Eval(`(async () => {
		const c = await (await fetch("/meanwhile.json")).json()
		return { Transport: game.transport, Isolated: crossOriginIsolated, Secure: isSecureContext,
			Pins: c.webtransport.hashes?.length ?? 0 }
	})()`, &got)
	if got.Transport != "webtransport" || !got.Isolated || !got.Secure || got.Pins != 0 {
		t.Errorf("the page has %+v", got)
	}
}

// A browser that trusts an authority of a company or a test alone refuses it for WebTransport, and
// the page plays over WebSocket.
func TestPrivateAuthorityIsForWebSocketAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: a browser over WebSocket beside a private authority")
	}
	a := authority.New(t)
	url := serve(t, a, site.Door{})
	p := open(t, a, nil)
	p.Open(url)
	p.WaitFor(`globalThis.game?.me && game.stats.tick > 60`)
	var transport string
	p.Eval("game.transport", &transport)
	if transport != "websocket" {
		t.Errorf("the page plays over %s", transport)
	}
	p.Errors() // of the refused handshake
}

// A static page of another host plays, if the server names that host, with the library of the
// server.
func TestPageOfAnotherHost(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: a page of another host in a browser")
	}
	a := authority.New(t)
	url := serve(t, a, site.Door{Origin: []string{"https://static.example:*"}})
	p := open(t, a, anyRoot)
	p.Open(another(t, a, "static.example", url+"meanwhile.js") + "/" + overUDP)
	p.WaitFor("globalThis.game?.me && game.stats.tick > 60")
	var transport string
	p.Eval("game.transport", &transport)
	if transport != "webtransport" {
		t.Errorf("the page plays over %s", transport)
	}
}

// A page of a host that the server does not name says so.
func TestWrongOriginIsRefusedWithASentence(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: a page that may not play in a browser")
	}
	a := authority.New(t)
	url := serve(t, a, site.Door{Origin: []string{"https://static.example:*"}})
	evil := another(t, a, "evil.example", url+"meanwhile.js")
	p := open(t, a, anyRoot)
	p.Open(evil)
	p.WaitFor(sites.Notice + `.includes("This server lets no pages of ` + evil +
		` in. Whoever runs it can allow them with --origin ` + evil + `.")`)
	var got struct{ WebTransport, WebSocket, File bool }
	p.Eval(fmt.Sprintf(`(async () => { // what a page tries that brings a library of its own along
		const at = new URL(%q), t = new WebTransport(at.href.replace(/\/$/, "") + "/meanwhile")
		t.closed.catch(() => {})
		return {
			WebTransport: await t.ready.then(() => true, () => false),
			WebSocket: await new Promise(done => {
				const s = new WebSocket("wss://" + at.host + "/meanwhile")
				s.onopen = () => done(true)
				s.onclose = () => done(false)
			}),
			File: await fetch(at).then(() => true, () => false),
		}
	})()`, url), &got)
	if got.WebTransport || got.WebSocket || got.File {
		t.Errorf("the page got %+v", got)
	}
	p.Errors() // of what was refused
}

// A page over https says why it does not play on a server without.
func TestMixedContentIsExplained(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: a page over https and a server without in a browser")
	}
	a := authority.New(t)
	url := serve(t, a, site.Door{Origin: []string{"https://static.example:*"}})
	p := open(t, a, anyRoot)
	p.Open(another(t, a, "static.example", url+"meanwhile.js"))
	p.WaitFor("globalThis.game?.me")
	var sentence string
	p.Eval(fmt.Sprintf(`(async () => {
		const { join } = await import(%q)
		const canvas = document.querySelector("canvas"), config = "http://other.example/meanwhile.json"
		return join({ canvas, config }).then(() => "", e => e.message)
	})()`, url+"meanwhile.js"), &sentence)
	const want = "This page came over https, so browsers let it play on servers with https only, and " +
		"http://other.example has none."
	if sentence != want {
		t.Errorf("the page says %q, want %q", sentence, want)
	}
	// A server that answers, but not to this page, is not one that does not answer.
	deaf := front(t, a, "deaf.example", http.NotFoundHandler())
	for config, want := range map[string]string{
		deaf + "/meanwhile.json": "The server " + deaf + " answers, but not to pages of https://static.example:",
		"https://deaf.example:1": "The server https://deaf.example:1 does not answer, or its certificate is not valid.",
	} {
		p.Eval(fmt.Sprintf(`(async () => {
			const { join } = await import(%q)
			return join({ canvas: document.querySelector("canvas"), config: %q }).then(() => "", e => e.message)
		})()`, url+"meanwhile.js", config), &sentence)
		if !strings.HasPrefix(sentence, want) {
			t.Errorf("the page says %q, want %q", sentence, want)
		}
	}
	p.Errors() // of the blocked requests
}

// Behind a reverse proxy with https the page plays over WebSocket, or over WebTransport where UDP
// reaches the server itself, and the server knows each player's own address.
func TestBehindAReverseProxy(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: a page behind a reverse proxy in a browser")
	}
	a := authority.New(t)
	for udp, want := range map[string]string{"off": "websocket", "": "webtransport"} {
		var log sites.Log
		inner := &url.URL{Scheme: "http", Host: "127.0.0.1:" + process.Port(t)}
		if got := listen(t, inner.Host, site.Door{UDP: udp, TrustProxy: []string{"127.0.0.1"}, PublicAddr: "game.example"},
			log.Logger()); got != "https://game.example/" {
			t.Errorf("the address is %s", got)
		}
		p := open(t, a, nil)
		p.Open(front(t, a, "game.example", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(inner)
			r.Out.Host = r.In.Host
			r.Out.Header.Set("X-Forwarded-For", "192.0.2.44")
		}}) + "/?transport=" + want)
		p.WaitFor("globalThis.game?.me && game.stats.tick > 60")
		var got string
		p.Eval("game.transport", &got)
		if got != want {
			t.Errorf("UDP %q: the page plays over %s, want %s", udp, got, want)
		}
		if known := strings.Contains(log.String(), "192.0.2.44:0"); known != (want == "websocket") {
			t.Errorf("UDP %q: the log says\n%s", udp, log.String())
		}
	}
}
