package bridge_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"meanwhile/app/site"
	"meanwhile/examples/zap"
	"meanwhile/host"
	"meanwhile/internal/verify/browser"
	"meanwhile/internal/verify/sites"
)

// Who is sent away for good reads why, and does not come back by itself, however late the page
// reads it: the server ends the connection meanwhile, and the page hears of that end too.
func TestSentAway(t *testing.T) {
	const account = 7
	s, _ := sites.Serve(t, site.Config{
		Pages:        []fs.FS{os.DirFS("testdata")},
		Host:         host.Config{Rules: sites.Rules(t, &zap.Game)},
		Authenticate: func(site.Applicant) (site.Account, error) { return site.Account{ID: account}, nil },
	}, sites.Zap(t))
	p := browser.New(t) // after the site, so that it is closed before it
	kick := func() { s.Host().Kick(host.Who{Account: account}, "enough") }
	ban := func() {
		if err := s.Host().Ban(host.Who{Account: account}, time.Hour, "enough"); err != nil {
			t.Error(err)
		}
	}
	for _, away := range []struct {
		name, transport string
		send            func()
	}{
		{"kicked over WebTransport", "webtransport", kick},
		{"kicked over WebSocket", "websocket", kick},
		{"banned over WebTransport", "webtransport", ban},
	} {
		t.Run(away.name, func(t *testing.T) {
			fresh(p, s.URL(), "?transport="+away.transport)
			// A page that is busy until its transport has reported the end.
			p.Eval(`{
				const { worker } = g.connection, handle = worker.onmessage, late = []
				window.n = g.connection.n
				worker.onmessage = e => {
					late.push(e)
					if (e.data.did !== "lost") return
					worker.onmessage = handle
					for (const e of late) handle.call(worker, e)
					window.heard = late.map(e => e.data.did).filter(did => /message|lost/.test(did)).join(" ")
				}
			}`, nil)
			away.send()
			p.WaitFor("window.heard")
			if got := words(p, "heard"); !strings.HasSuffix(got, "message lost") {
				t.Errorf("the page got %q, want the server's word before the end", got)
			}
			if got := words(p, sites.Notice); got != "Enough.\n\nReload" {
				t.Errorf("the page says %q", got)
			}
			if n := number(p, "g.connection.n - n"); n != 0 || number(p, "g.connection.timer") != 0 {
				t.Error("the page connects again")
			}
		})
	}
}
