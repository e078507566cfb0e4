package site

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/headless"
	"meanwhile/host"
	"meanwhile/transport"
	"meanwhile/transport/websocket"
)

type mole struct {
	Pos geom.Vec2 `net:"pos"`
}

var moles = game.NewKind[mole]("mole")

// moleHill is a game whose Join fails.
var moleHill = game.Definition[mole]{Name: "moles", Rate: 30, Kinds: game.Kinds(moles),
	Join: func(*game.World, string) game.ID { panic("no hill is left") },
	Act:  func(*game.World, game.ID, mole) {},
}

// A player whose Join fails reads that it has. Only on the machine of whoever writes the rules it
// reads why, as does every page.
func TestPagesReadWhatTheRulesDidWrong(t *testing.T) {
	rules, err := moleHill.Rules()
	if err != nil {
		t.Fatal(err)
	}
	for _, develop := range []bool{true, false} {
		s, err := Listen(
			Config{Addr: "127.0.0.1:0", Host: host.Config{Rules: rules}, Door: Door{UDP: udpOff}, Develop: develop},
		)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(ctx, nil) }()
		get := func(path string) (status int, body string) {
			t.Helper()
			r, err := http.Get(s.URL() + path)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			b, err := io.ReadAll(r.Body)
			if err != nil {
				t.Fatal(err)
			}
			return r.StatusCode, string(b)
		}
		if _, page := get(""); strings.Contains(page, "/meanwhile/dev/dev.js") != develop ||
			strings.Contains(page, "window.meanwhileWrong") != develop {
			t.Errorf("develop %v: the page is %s", develop, page)
		}
		if status, script := get("meanwhile/dev/dev.js"); status != 200 || !strings.Contains(script, devStatusPath) {
			t.Errorf("the script: %d %s", status, script)
		}
		conn, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(s.URL(), "http")+transport.Path[1:],
			websocket.DialConfig{Clock: s.host.Clock()})
		if err != nil {
			t.Fatal(err)
		}
		p, err := headless.Join(ctx, conn, headless.Config{Rules: rules, Clock: s.host.Clock(), Name: "ann"})
		if err == nil {
			err = p.Run(ctx)
		}
		const why = `Join of game "moles" panicked at tick`
		if told := err.Error(); strings.Contains(told, why) != develop ||
			strings.Contains(told, "no hill is left (site/develop_test.go:") != develop ||
			strings.Contains(told, joinFailedText) == develop {
			t.Errorf("develop %v: the player reads %q", develop, told)
		}
		var shown DevStatus
		status, body := get("meanwhile/dev/status")
		if err := json.Unmarshal([]byte(body), &shown); develop && (err != nil || shown.Dev ||
			!strings.HasPrefix(shown.Fault, why)) || !develop && status != http.StatusNotFound {
			t.Errorf("develop %v: pages are shown %d %s", develop, status, body)
		}
		http.DefaultClient.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// joinFailedText is in what players of other servers read.
const joinFailedText = "the game could not let you in"

// Pages have the script only where nobody but this machine reaches the server.
func TestForThisMachine(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want bool
	}{
		{Config{Addr: "127.0.0.1:8080"}, true},
		{Config{Addr: "[::1]:8080"}, true},
		{Config{Addr: ":8080"}, false},
		{Config{Addr: "192.0.2.1:8080"}, false},
		{Config{Addr: "127.0.0.1:8080", Door: Door{PublicAddr: "game.example"}}, false},
		{Config{Addr: "127.0.0.1:8080", Door: Door{TrustProxy: []string{"127.0.0.1"}}}, false},
	} {
		if c.cfg.forThisMachine() != c.want {
			t.Errorf("%s %+v: %v", c.cfg.Addr, c.cfg.Door, !c.want)
		}
	}
}
