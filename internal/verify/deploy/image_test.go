package deploy_test

import (
	"context"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/headless"
	"meanwhile/internal/verify/process"
	"meanwhile/netcode/clock"
	"meanwhile/transport/cert"
	"meanwhile/transport/quic"
)

func inWorld(p *headless.Player) (me game.ID) {
	p.Do(func(c *client.Client) { me = c.Me() })
	return me
}

// offered returns what a server on this machine tells pages of WebTransport: the certificates to pin,
// and the address.
func offered(t *testing.T, addr string) (pins []cert.Fingerprint, url string) {
	t.Helper()
	resp, err := http.Get("http://" + addr + "/meanwhile.json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var config struct {
		WebTransport struct {
			URL    string
			Hashes []string
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&config); err != nil {
		t.Fatal(err)
	}
	for _, h := range config.WebTransport.Hashes {
		b, err := hex.DecodeString(h)
		if err != nil || len(b) != len(cert.Fingerprint{}) {
			t.Fatalf("fingerprint %q", h)
		}
		pins = append(pins, cert.Fingerprint(b))
	}
	return pins, config.WebTransport.URL
}

// The image is a static program, the page and authorities. In a root of its own, as a user of its
// own, on a file system where only the state can be written, it serves pages, WebSocket and QUIC,
// and ends by SIGTERM.
func TestDocker(t *testing.T) {
	r := built(t)
	want := "etc/ssl/certs/ca-certificates.crt play web/game.js web/wasm_exec.js web/zap.wasm"
	if got := strings.Join(r.files, " "); got != want {
		t.Errorf("the image has %s, want %s", got, want)
	}
	program, err := elf.Open(filepath.Join(r.root(), "play"))
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if libraries, err := program.ImportedLibraries(); len(libraries) > 0 || err != nil {
		t.Errorf("the program needs %v, %v", libraries, err)
	}
	if len(r.entry) < 4 || r.user[0] == 0 || r.user[1] == 0 {
		t.Fatalf("the image runs %v as %v", r.entry, r.user)
	}
	if os.Getuid() != 0 {
		t.Skip("only root can change the root of a process")
	}

	addr := "127.0.0.1:" + process.Port(t)
	args := append(r.entry[1:len(r.entry):len(r.entry)], "--addr="+addr, "--verbose")
	cmd := exec.Command(r.entry[0], args...)
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: r.root(),
		Credential: &syscall.Credential{Uid: r.user[0], Gid: r.user[1], NoSetGroups: false}}
	p := start(t, cmd)
	if url := p.URL(); url != "http://"+addr+"/" {
		t.Fatalf("it printed %q", url)
	}
	visit(t, "http://"+addr, nil)

	begin := time.Now()
	now := func() clock.Time { return clock.Time(time.Since(begin)) }
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	pins, _ := offered(t, addr)
	conn, err := quic.Dial(ctx, addr, quic.DialConfig{Clock: now, TLS: cert.Pin(pins...)})
	if err != nil {
		t.Fatal(err)
	}
	play(t, ctx, conn, now)
	if err := p.Stop(syscall.SIGTERM); err != nil {
		t.Errorf("after SIGTERM it ended with %v", err)
	}
}

// Without a network a game that keeps its own copy of the module is built, for server and page.
func TestVendored(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles everything once more")
	}
	dir := t.TempDir()
	for _, c := range []struct{ from, to string }{{"examples/zap/zap.go", "zap/zap.go"},
		{"examples/zap/cmd/zap/main.go", "cmd/zap/main.go"}, {"go.sum", "go.sum"}} {
		b, err := os.ReadFile(filepath.Join("../../..", c.from))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(dir, c.to)), 0o755)
		}
		if err == nil {
			text := strings.ReplaceAll(string(b), "meanwhile/examples/zap", "game.example/zap/zap")
			err = os.WriteFile(filepath.Join(dir, c.to), []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	err = os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module game.example/zap\n\ngo 1.26.0\n"), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	const clone = "git clone --depth 1 $MEANWHILE third_party/meanwhile && rm -rf third_party/meanwhile/.git"
	copied := "mkdir -p third_party/meanwhile && cp -r " + root + "/* third_party/meanwhile" // as it is, committed or not
	script := strings.Replace(block(t, "vendor"), clone, copied, 1)
	if !strings.Contains(script, root) {
		t.Fatal("the page clones the module in another way")
	}
	cmd := exec.Command("sh", "-ec", script+"GOOS=js GOARCH=wasm go build -mod=vendor -o zap.wasm ./cmd/zap\n")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-trimpath", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "vendor/meanwhile/app")); err != nil {
		t.Error(err)
	}
}
