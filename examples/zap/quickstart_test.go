package zap_test

import (
	"bufio"
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

	"meanwhile/internal/browser"
)

// checkout is the folder of this repository's go.mod.
const checkout = "../.."

// quickstart makes the game a module of its own, as the README tells a newcomer to, and returns its folder.
func quickstart(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "zap")
	for to, from := range map[string]string{
		"zap/zap.go": "zap.go", "zap/zap_test.go": "zap_test.go", "cmd/zap/main.go": "cmd/zap/main.go", "web/game.js": "web/game.js",
	} {
		b, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if to == "cmd/zap/main.go" {
			b = bytes.Replace(b, []byte(`"meanwhile/examples/zap"`), []byte("\n\t\"zap/zap\""), 1)
		}
		to = filepath.Join(dir, to)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := filepath.Abs(checkout)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"mod", "init", "zap"},
		{"mod", "edit", "-require", "meanwhile@v0.0.0", "-replace", "meanwhile=" + root},
		{"mod", "tidy"},
		{"build", "-buildvcs=false", "./..."},
		{"vet", "./..."},
		{"build", "-buildvcs=false", "-o", "zap.out", "./cmd/zap"},
	} {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			offline := strings.Contains(string(out), "dial tcp") || strings.Contains(string(out), "module lookup disabled")
			if args[1] == "tidy" && offline && os.Getenv("CI") == "" {
				t.Skipf("go mod tidy needs modules that are not on this machine: %s", out)
			}
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	return dir
}

// A newcomer's module compiles, runs, and is played in a browser.
func TestQuickstart(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	dir := quickstart(t)
	cmd := exec.Command(filepath.Join(dir, "zap.out"), "--addr", "127.0.0.1:0", "--bots", "2", "-v")
	cmd.Dir = dir
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := func() string {
		b, err := os.ReadFile(log.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	defer func() {
		if t.Failed() {
			t.Logf("the program said:\n%s", said())
		}
		_ = cmd.Process.Kill()
	}()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("no address was printed:\n%s", said())
	}
	url := lines.Text()
	if !strings.HasPrefix(url, "http://127.0.0.1:") || !strings.HasSuffix(url, "/") {
		t.Fatalf("the address is %q", url)
	}

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
	if !bytes.Contains(page, []byte("/game.js")) || header.Get("Cross-Origin-Opener-Policy") != "same-origin" || header.Get("Cross-Origin-Embedder-Policy") != "require-corp" {
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
	if err := json.Unmarshal(b, &config); err != nil || config.Game != "zap" || config.Wasm != "/zap.wasm" || len(config.WebTransport.Hashes) != 1 || config.WebSocket != "/meanwhile" {
		t.Fatalf("%s, %v", b, err)
	}
	wasm, header := get("zap.wasm")
	if len(wasm) != config.WasmBytes || !bytes.HasPrefix(wasm, []byte("\x00asm")) || header.Get("Content-Type") != "application/wasm" {
		t.Errorf("%d bytes of WebAssembly, %d were announced: %v", len(wasm), config.WasmBytes, header)
	}
	get("wasm_exec.js")
	get("meanwhile.js")
	get("transport.js")

	t.Run("browser", func(t *testing.T) { play(t, url, said) })

	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the program ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the program did not end when it was interrupted")
	}
}

// play opens the page as a newcomer would, and walks.
func play(t *testing.T, url string, said func() string) {
	p := browser.New(t)
	p.Open(url)
	// The own avatar stays in the middle of the window, and what is around it moves when a key is held.
	mine := func() bool {
		img := p.Screenshot("zap")
		r, g, b, _ := img.At(browser.Width/2, browser.Height/2-10).RGBA()
		return fmt.Sprintf("%02x%02x%02x", r>>8, g>>8, b>>8) == "56b4e9"
	}
	for i := 0; !mine(); i++ {
		if i == 100 {
			t.Fatal("the own avatar is not in the middle of the window")
		}
		time.Sleep(100 * time.Millisecond)
	}
	if !strings.Contains(said(), "msg=\"player joined\"") || !strings.Contains(said(), "transport=webtransport") {
		t.Errorf("nobody joined over WebTransport:\n%s", said())
	}
	p.KeyDown("KeyD")
	p.MouseMove(browser.Width/2+200, browser.Height/2)
	p.MouseDown(browser.Left)
	time.Sleep(500 * time.Millisecond)
	p.MouseUp(browser.Left)
	p.KeyUp("KeyD")
	if !mine() {
		t.Error("the avatar was lost on the way")
	}
}
