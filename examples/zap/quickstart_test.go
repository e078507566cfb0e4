package zap_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"meanwhile/internal/verify/browser"
	"meanwhile/internal/verify/process"
)

// script returns the commands of the README's section "Your first game", with this repository in
// the place of ../meanwhile.
func script(t *testing.T) []string {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## Your first game\n")
	_, block, _ := strings.Cut(section, "\n```\n")
	block, _, ok := strings.Cut(block, "\n```\n")
	if !ok {
		t.Fatal("the README has no commands under \"Your first game\"")
	}
	return strings.Split(strings.ReplaceAll(block, "../meanwhile", root), "\n")
}

// quickstart makes the game a module of its own, as the README tells a newcomer to, and returns its
// folder.
func quickstart(t *testing.T) string {
	parent := t.TempDir()
	lines := script(t)
	if last := lines[len(lines)-1]; last != "go run ./cmd/zap" {
		t.Fatalf("the last command is %q", last)
	}
	lines[len(lines)-1] = "go build -buildvcs=false -o zap.out ./cmd/zap && go build ./... && go vet ./..."
	cmd := exec.Command("bash", "-ec", strings.Join(lines, "\n"))
	cmd.Dir, cmd.Env = parent, append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		offline := strings.Contains(string(out), "dial tcp") || strings.Contains(string(out), "module lookup disabled")
		if offline && os.Getenv("CI") == "" {
			t.Skipf("NOT CHECKED: go mod tidy needs modules that are not on this machine: %s", out)
		}
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(parent, "zap")
}

// A newcomer's module compiles, runs, and is played in a browser.
func TestQuickstart(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: the README's commands make a game that is played in a browser")
	}
	dir := quickstart(t)
	cmd := exec.Command(filepath.Join(dir, "zap.out"), "--addr", "127.0.0.1:0", "--bots", "2", "-v")
	cmd.Dir = dir
	server := process.Start(t, cmd, 5*time.Minute)
	url := server.URL()

	get := func(name string) (body []byte, h http.Header) {
		t.Helper()
		r, err := http.Get(url + name)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if body, err = io.ReadAll(r.Body); err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v\n%s", name, r.Status, err, body)
		}
		return body, r.Header
	}
	page, header := get("")
	if !bytes.Contains(page, []byte("/game.js")) || header.Get("Cross-Origin-Opener-Policy") != "same-origin" ||
		header.Get("Cross-Origin-Embedder-Policy") != "require-corp" {
		t.Errorf("the page: %v\n%s", header, page)
	}
	var config struct {
		Game, Schema, Wasm string
		WasmBytes          int
		WebTransport       struct {
			URL    string
			Hashes []string
		}
		WebSocket string
	}
	b, _ := get("meanwhile.json")
	if err := json.Unmarshal(b, &config); err != nil || config.Game != "zap" || config.Wasm != "/zap.wasm" ||
		len(config.WebTransport.Hashes) != 1 || config.WebSocket != "/meanwhile" {
		t.Fatalf("%s, %v", b, err)
	}
	wasm, header := get("zap.wasm")
	if len(wasm) != config.WasmBytes || !bytes.HasPrefix(wasm, []byte("\x00asm")) ||
		header.Get("Content-Type") != "application/wasm" {
		t.Errorf("%d bytes of WebAssembly, %d were announced: %v", len(wasm), config.WasmBytes, header)
	}
	get("wasm_exec.js")
	get("meanwhile.js")
	get("transport.js")

	t.Run("browser", func(t *testing.T) { play(t, url, server.Log) })

	if err := server.Stop(os.Interrupt); err != nil {
		t.Errorf("interrupted, the program ends with %v", err)
	}
}

// play opens the page as a newcomer would, and walks.
func play(t *testing.T, url string, log func() string) {
	p := browser.New(t)
	// Over WebTransport alone: on a busy machine WebSocket could win.
	p.Before(`Worker = class extends Worker {
		postMessage(order, ...rest) {
			super.postMessage(order.do === "connect" ? { ...order, websocket: null } : order, ...rest)
		}
	}`)
	p.Open(url)
	// The own avatar stays in the middle of the window, and what is around it moves when a key is
	// held.
	mine := func() bool {
		img := p.Screenshot("zap")
		r, g, b, _ := img.At(browser.Width/2, browser.Height/2-10).RGBA()
		return fmt.Sprintf("%02x%02x%02x", r>>8, g>>8, b>>8) == "56b4e9"
	}
	inTheMiddle := func(when string) {
		t.Helper()
		end := time.Now().Add(30 * time.Second)
		for ; !mine(); time.Sleep(100 * time.Millisecond) { // a shot may cover it for a moment
			if time.Now().After(end) {
				t.Fatalf("the own avatar is not in the middle of the window %s", when)
			}
		}
	}
	inTheMiddle("at first")
	if !strings.Contains(log(), "msg=\"player joined\"") || !strings.Contains(log(), "transport=webtransport") {
		t.Errorf("nobody joined over WebTransport:\n%s", log())
	}
	p.KeyDown("KeyD")
	p.MouseMove(browser.Width/2+200, browser.Height/2)
	p.MouseDown(browser.Left)
	time.Sleep(500 * time.Millisecond)
	p.MouseUp(browser.Left)
	p.KeyUp("KeyD")
	inTheMiddle("after a walk")
}
