package bridge_test

import (
	"io/fs"
	"os"
	"sync/atomic"
	"testing"

	"meanwhile/app/site"
	"meanwhile/examples/zap"
	"meanwhile/host"
	"meanwhile/internal/verify/browser"
	"meanwhile/internal/verify/sites"
)

// A page asks its login for a token when it joins, and not when it goes on with its session: a whole
// school behind one address comes back at once. Where the session is no more, it asks then.
func TestSessionsNeedNoToken(t *testing.T) {
	var asked atomic.Int64
	s, _ := sites.Serve(t, site.Config{
		Pages: []fs.FS{os.DirFS("testdata")},
		Host:  host.Config{Rules: sites.Rules(t, &zap.Game)},
		Authenticate: func(site.Applicant) (site.Account, error) {
			asked.Add(1)
			return site.Account{ID: 7}, nil
		},
	}, sites.Zap(t))
	p := browser.New(t) // after the site, so that it is closed before it
	fresh(p, s.URL(), "")
	p.Eval("window.sinceMs = performance.now()", nil)
	p.WaitFor("performance.now() - sinceMs > 4000") // who has just come is not waited for
	id := number(p, "g.me.id")
	check := func(what string) {
		t.Helper()
		p.WaitFor(`window.g && g.transport && g.stats.state === 1 && g.me && g.me.mine`)
		if got := number(p, "g.me.id"); got != id {
			t.Errorf("%s: the avatar is %v, was %v", what, got, id)
		}
		if n := asked.Load(); n != 1 {
			t.Errorf("%s: the login was asked %d times, want once", what, n)
		}
	}
	check("joined")
	p.Eval("g.connection.renew()", nil)
	check("lost its connection")
	p.Eval("window.old = true; setTimeout(() => location.reload(), 0)", nil)
	p.WaitFor(`typeof old === "undefined"`)
	check("loaded again")
	p.Eval(`window.old = true; g.resume.key = "0".repeat(32) + "lobby"; setTimeout(() => location.reload(), 0)`, nil)
	p.WaitFor(`typeof old === "undefined" && window.g && g.transport`)
	if n := asked.Load(); n != 2 {
		t.Errorf("with a session that is no more the login was asked %d times, want 2", n)
	}
}
