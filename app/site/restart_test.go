package site

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"meanwhile/examples/zap"
	"meanwhile/headless"
	"meanwhile/host"
	"meanwhile/internal/verify/process"
	"meanwhile/netcode/clock"
	"meanwhile/session"
	"meanwhile/transport"
	"meanwhile/transport/websocket"
)

// serving is the environment variable that makes this test program a server: the folder of --state.
const serving = "SITE_TEST_SERVES"

func TestMain(m *testing.M) {
	if os.Getenv(replaying) != "" && len(os.Args) > 1 && os.Args[1] == "replay" {
		os.Exit(replayZap())
	}
	if state := os.Getenv(serving); state != "" {
		serve := serveWith
		if os.Getenv(keeping) != "" {
			serve = keepWith
		}
		if err := serve(state); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serveWith serves for as long as the process lives, a minute at most, and prints its two
// addresses.
func serveWith(state string) error {
	rules, err := zap.Game.Rules()
	if err != nil {
		return err
	}
	s, err := Listen(Config{Addr: "127.0.0.1:0", Host: host.Config{Rules: rules},
		Door: Door{Login: true, Metrics: "localhost:0", State: state, UDP: udpOff}})
	if err != nil {
		return err
	}
	fmt.Println(s.tcp.Addr(), s.op.Addr())
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return s.Serve(ctx, nil)
}

// A server that is killed knows afterwards which tokens were used or revoked, and who is banned.
func TestKilledServerKeepsWhoIsOut(t *testing.T) {
	state := t.TempDir()
	start := func() (players, op string, kill func()) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), serving+"="+state)
		p := process.Start(t, cmd, time.Minute)
		line, _ := p.Line()
		if _, err := fmt.Sscan(line, &players, &op); err != nil {
			t.Fatalf("the server printed %q: %v", line, err)
		}
		return players, op, func() {
			p.Kill()
			_ = p.Wait()
		}
	}
	begun := time.Now()
	now := func() clock.Time { return clock.Time(time.Since(begun)) }
	g := &gated{t: t}
	order := func(op, path, body string) string {
		t.Helper()
		status, answer := g.post("http://"+op+path, body, "Content-Type", "application/json")
		if status != 200 {
			t.Fatalf("%s %s: %d %s", path, body, status, answer)
		}
		return answer
	}
	issue := func(op string, player int) []byte {
		t.Helper()
		var got struct {
			Token []byte `json:"token"`
		}
		if err := json.Unmarshal([]byte(order(op, "/token", fmt.Sprintf(`{"player": %d}`, player))), &got); err != nil {
			t.Fatal(err)
		}
		return got.Token
	}
	join := func(players string, tok []byte) error {
		t.Helper()
		conn, err := websocket.Dial(t.Context(), "ws://"+players+transport.Path, websocket.DialConfig{Clock: now})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close("")
		rules, err := zap.Game.Rules()
		if err != nil {
			t.Fatal(err)
		}
		_, err = headless.Join(t.Context(), conn, headless.Config{Rules: rules, Clock: now,
			Token: func(context.Context) ([]byte, error) { return tok, nil }})
		return err
	}

	players, op, kill := start()
	used, revoked, banned, free := issue(op, 7), issue(op, 8), issue(op, 9), issue(op, 10)
	if err := join(players, used); err != nil {
		t.Fatal(err)
	}
	order(op, "/revoke", `{"player": 8}`)
	order(op, "/ban", `{"player": 9, "seconds": 3600, "why": "enough"}`)
	kill()
	players, op, _ = start()
	for _, c := range []struct {
		name string
		tok  []byte
		code session.Code
		text string
	}{
		{"used", used, session.BadToken, "used before"},
		{"revoked", revoked, session.BadToken, "withdrawn"},
		{"banned", banned, session.Removed, "enough"},
		{"banned, with a new token", issue(op, 9), session.Removed, "enough"},
	} {
		if err := join(players, c.tok); !refusedWith(err, c.code) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := join(players, free); err != nil { // the key of the login lasts, too
		t.Errorf("a token of the former run: %v", err)
	}
}
