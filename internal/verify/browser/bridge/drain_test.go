package bridge_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"meanwhile/app/site"
	"meanwhile/examples/zap"
	"meanwhile/host"
	"meanwhile/internal/verify/browser"
	"meanwhile/internal/verify/process"
	"meanwhile/internal/verify/sites"
)

// ends waits until the page has announced the end of its server and counted down for a while.
func ends(t *testing.T, p *browser.Page, announced string) {
	t.Helper()
	p.WaitFor(sites.Notice + `.startsWith("` + announced + `")`)
	p.WaitFor(`(() => {
		const left = +(/ (\d+) s left\.$/.exec(` + sites.Notice + `) ?? [])[1]
		window.most = Math.max(window.most ?? 0, left || 0)
		return left > 0 && left < most
	})()`)
	moves(p)              // the game goes on meanwhile
	p.Screenshot("drain") // last, as it may take longer than the server goes on
}

// A server that is ended by the system says when it ends, lets its players play until then, and sends
// their pages, and those of newcomers, to the next server, where they come in.
func TestDrainToAnotherServer(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: a server that sends its players to another one, in a browser")
	}
	next, _ := serve(t, sites.Rules(t, &zap.Game), 0)
	cmd := exec.Command(process.Build(t, "meanwhile/examples/zap/cmd/zap"), "--addr", "127.0.0.1:0", "--bots", "2",
		"--web", "testdata", "--drain", "8s", "--drain-to", next+"test.html")
	server := process.Start(t, cmd, 5*time.Minute)
	url := server.URL()
	p := browser.New(t) // after the servers, so that it is closed before them
	fresh(p, url, "?name=Ann&room=den&code=7f212k")
	q := p.NewWindow()
	ended := make(chan error, 1)
	go func() { ended <- server.Stop(syscall.SIGTERM) }()
	const announced = "This server is about to end. You go on at another one."
	p.WaitFor(sites.Notice + `.startsWith("` + announced + `")`)
	q.Open(url + "test.html?name=Bob") // at once, as the server does not wait for it
	ends(t, p, announced)
	q.WaitFor(`location.href.startsWith("` + next + `test.html?") && window.g?.me && g.stats.state === 1`)
	if got := words(q, "location.search"); got != "?name=Bob" {
		t.Errorf("the newcomer's page came with %s", got)
	}
	q.Open("about:blank")
	p.WaitFor(`location.href.startsWith("` + next + `test.html?") && window.g?.me && g.stats.state === 1`)
	if got := words(p, "location.search"); got != "?name=Ann&room=den&code=7f212k" {
		t.Errorf("the page came with %s", got)
	}
	moves(p)
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
	p.Errors() // of connections that ended
	q.Errors()
}

// Without another server the page says that the server ends, waits for it, and plays on when it is
// back.
func TestDrainAndBack(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: a server that ends and comes back, in a browser")
	}
	r, cfg := sites.Relay(t), site.Config{Host: host.Config{Rules: sites.Rules(t, &zap.Game)}}
	cfg.Door.Drain = 6 * time.Second
	url, stop := behind(t, r, cfg)
	p := browser.New(t)
	fresh(p, url, "")
	stopped := make(chan struct{})
	go func() {
		stop()
		close(stopped)
	}()
	ends(t, p, "This server is about to end.")
	p.WaitFor(sites.Notice + `.startsWith("The server is shutting down. Reconnecting…")`)
	p.Screenshot("gone")
	<-stopped
	cfg.Door.Drain = 0
	behind(t, r, cfg)
	t.Cleanup(func() { p.Open("about:blank") }) // before this site ends
	p.WaitFor(sites.Notice + `.startsWith("The server has restarted.")`)
	p.Screenshot("back")
	p.WaitFor(sites.Notice + ` === "" && g.me && g.stats.state === 1`)
	moves(p)
	for _, e := range p.Errors() { // of the time between the two
		if strings.Contains(e, "exception") {
			t.Error(e)
		}
	}
}
