//go:build !js

package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meanwhile/examples/zap"
	"meanwhile/host"
	"meanwhile/server"
)

// start runs the quickstart's program with arguments and returns what it did.
func start(t *testing.T, ctx context.Context, stdout io.Writer, args ...string) (code int, stderr string) {
	t.Helper()
	rules, err := zap.Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	code = run(ctx, "zap", rules, nil, nil, args, stdout, &errs)
	return code, errs.String()
}

func TestSentences(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	addr := taken.Addr().String()
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"--flubber", 2, "zap: unknown flag --flubber; see zap --help"},
		{"extra", 2, "zap: unexpected argument extra; see zap --help"},
		{"--addr here", 2, `zap: "here" is not an address of the form host:port, such as 127.0.0.1:8080 or :8080`},
		{"--addr " + addr, 1,
			"zap: " + addr + " is in use by another program; stop that one or choose another address with --addr"},
		{"load --players 0", 2, "zap: --players 0 is outside [1, 2000]"},
		{"load --flubber", 2, "zap load: unknown flag --flubber; see zap load --help"},
		{"--web /nonexistent", 2,
			"zap: the folder of the page cannot be read: open /nonexistent: no such file or directory"},
		{"--kbit 3", 2, "zap: --kbit 3 is outside [8, 33554]"},
		{"--bots 5000", 2, "zap: --bots 5000 is outside [0, 1024]"},
		{"--bots -1", 2, "zap: --bots -1 is outside [0, 1024]"},
		{"--players -1 --bots 0", 2, "zap: --players -1 is outside [1, 16384]"},
		{"--room A", 2, `zap: room "A": names of rooms are lower-case letters, digits and dashes`},
	} {
		var out bytes.Buffer
		code, got := start(t, context.Background(), &out, strings.Fields(c.args)...)
		if code != c.code || strings.TrimSuffix(got, "\n") != c.want || out.Len() > 0 {
			t.Errorf("zap %s: status %d, %q; want %d, %q", c.args, code, got, c.code, c.want)
		}
	}
	var out, errs bytes.Buffer
	if code := run(context.Background(), "zap", nil, errors.New("game: zap: Pilot.Pos has a bad tag"), nil, nil, &out,
		&errs); code != 2 || errs.String() != "zap: Pilot.Pos has a bad tag\n" {
		t.Errorf("status %d, %q", code, errs.String())
	}
	if code, _ := start(t, context.Background(), &out, "--help"); code != 0 ||
		!strings.Contains(out.String(), `--addr="127.0.0.1:8080"`) {
		t.Errorf("status %d, %s", code, out.String())
	}
}

// What lies beside the page is served and not built; the program ends when it is interrupted.
func TestPrebuilt(t *testing.T) {
	web := t.TempDir()
	for name, text := range map[string]string{"zap.wasm": "\x00asm", "wasm_exec.js": "//", "game.js": "// the page"} {
		if err := os.WriteFile(filepath.Join(web, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, w := io.Pipe()
	type end struct {
		code int
		text string
	}
	done := make(chan end, 1)
	go func() {
		code, text := start(t, ctx, w, "--addr", "127.0.0.1:0", "--web", web)
		w.Close()
		done <- end{code, text}
	}()
	line := make([]byte, 100)
	n, err := r.Read(line)
	if err != nil {
		t.Fatal(err, <-done)
	}
	url := strings.TrimSpace(string(line[:n]))
	for name, want := range map[string]string{"game.js": "// the page", "zap.wasm": "\x00asm", "": "/game.js"} {
		response, err := http.Get(url + name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	cancel()
	if e := <-done; e.code != 0 || !strings.HasPrefix(e.text, "using the zap.wasm beside the page\n"+
		"Players on this machine get: page, WebTransport, WebSocket.") || strings.Count(e.text, "\n") != 2 {
		t.Errorf("status %d, %q", e.code, e.text)
	}
}

// A folder without a page is named at the start.
func TestFolderWithoutPage(t *testing.T) {
	web := t.TempDir()
	for name, text := range map[string]string{"zap.wasm": "\x00asm", "wasm_exec.js": "//"} {
		if err := os.WriteFile(filepath.Join(web, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	code, text := start(t, ctx, io.Discard, "--addr", "127.0.0.1:0", "--web", web)
	want := "zap: the folder " + web + " has neither index.html nor game.js, so its page stays empty\n"
	if code != 0 || !strings.HasPrefix(text, want) {
		t.Errorf("status %d, %q; want %q first", code, text, want)
	}
}

// A program says in kbit/s what a class of players is sent; without Options all get what the flags
// say.
func TestLimitsOfOptions(t *testing.T) {
	if limitsOf(&Options{}) != nil {
		t.Error("without a function there are limits")
	}
	f := limitsOf(&Options{LimitsOf: func(v Visitor) Limits {
		if v.Name == "guest" && v.Room == "hall" {
			return Limits{Kbit: 16, Packets: 6, Rewind: 1, RewindTotal: 2}
		}
		return Limits{}
	}})
	want := server.Limits{Budget: 2000, Send: 6, Rewind: 1, RewindTotal: 2}
	if got := f(host.Visitor{Name: "guest", Room: "hall"}); got != want {
		t.Errorf("a guest gets %+v, want %+v", got, want)
	}
	if got := f(host.Visitor{Name: "ann", Room: "hall"}); got != (server.Limits{}) {
		t.Errorf("others get %+v", got)
	}
}
