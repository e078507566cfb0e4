package bridge_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"

	"meanwhile/app/site"
	"meanwhile/examples/zap"
	"meanwhile/host"
	"meanwhile/internal/verify/browser"
	"meanwhile/internal/verify/process"
	"meanwhile/internal/verify/sites"
	"meanwhile/session/token"
)

// Players who do not get in read why, in words for players, and what to do.
func TestRefusals(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: what players read in a browser who do not get in")
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	issuer, err := token.NewIssuer(private.Seed(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	orders := "127.0.0.1:" + process.Port(t)
	s, _ := sites.Serve(t, site.Config{
		Pages: []fs.FS{os.DirFS("testdata")}, Host: host.Config{Rules: sites.Rules(t, &zap.Game)},
		Door: site.Door{Login: true, Metrics: orders, LoginKey: []string{hex.EncodeToString(public)}},
	}, sites.Zap(t))
	order := func(path, body string) []byte {
		t.Helper()
		r, err := http.Post("http://"+orders+path, "application/json", bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: %s %s, %v", path, body, r.Status, b, err)
		}
		return b
	}
	issue := func(player string) string {
		t.Helper()
		var answer struct{ Token string }
		if err := json.Unmarshal(order("/token", `{"player": `+player+`}`), &answer); err != nil {
			t.Fatal(err)
		}
		return answer.Token
	}
	used, revoked := issue("7"), issue("8")
	order("/revoke", `{"player": 8}`)
	made := func(g token.Grant, at time.Time) string {
		t.Helper()
		b, err := issuer.Issue(g, at, 0)
		if err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(b)
	}

	p := browser.New(t) // after the site, so that it is closed before it
	fresh(p, s.URL(), "?token="+url.QueryEscape(used))
	q := p.NewWindow() // the first one would go on with its session
	for _, c := range []struct{ name, token, want string }{
		{"none", "", "This game needs a login. Log in first."},
		{"used", used, "This link was used before. Log in again."},
		{"revoked", revoked, "Your login was withdrawn. Log in again."},
		{"expired", made(token.Grant{}, time.Now().Add(-time.Hour)), "This link has expired. Log in again."},
		{"short", "abc=", "This link is not valid here. Log in again."},
		{"no base64", "a%", "This link is not valid. Log in again."},
		{"another room", made(token.Grant{Room: "cellar"}, time.Now()),
			"This link is for another room. Log in again for this one."},
	} {
		q.Open(s.URL() + "test.html?token=" + url.QueryEscape(c.token))
		q.WaitFor("failure")
		if got := words(q, sites.Notice); got != c.want+"\n\nReload" {
			t.Errorf("%s: the page says %q, want %q", c.name, got, c.want)
		}
		if got := words(q, "failure"); got != c.want {
			t.Errorf("%s: join failed with %q", c.name, got)
		}
		q.Screenshot(c.name)
	}
}

// Whoever comes to a private room without its code is asked for it, and may try again.
func TestCodeOfARoom(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: the code of a private room in a browser")
	}
	url, _ := serve(t, sites.Rules(t, &zap.Game), 0)
	p := browser.New(t) // after the site, so that it is closed before it
	fresh(p, url, "?room=den&code=7f212k")
	q := p.NewWindow()
	enter := func(code string) {
		t.Helper()
		q.WaitFor("document.activeElement?.matches('.meanwhile-notice input')")
		q.Eval(`document.activeElement.value = "`+code+`", 0`, nil)
		q.Press("Enter")
	}
	q.Open(url + "test.html?room=den")
	q.WaitFor(sites.Notice + `.startsWith("Room den is private. What is its code?")`)
	q.Screenshot("none")
	enter("")
	enter("guess")
	q.WaitFor(sites.Notice + `.startsWith("This is not the code of room den. What is it?")`)
	q.Screenshot("wrong")
	enter(" 7f212k ")
	q.WaitFor("window.g && g.me && g.stats.state === 1 && " + sites.Notice + ` === ""`)
	q.WaitFor("g.world.pilot.length === 2")
	q.WaitFor("document.activeElement === document.body") // the keys are the game's again
	moves(q)
	q.Open(url + "test.html?room=open")
	q.WaitFor("window.g && g.me")
	p.Open(url + "test.html?room=open&code=mine")
	p.WaitFor("failure")
	const want = "Room open is open to everybody, without a code. Choose another name for yours."
	if got := words(p, "failure"); got != want {
		t.Errorf("the page says %q, want %q", got, want)
	}
}
