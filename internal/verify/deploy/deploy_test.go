// Package deploy_test runs the recipes of docs/deploy.md, as far as a machine without an internet
// address allows.
package deploy_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"meanwhile/examples/zap"
	"meanwhile/headless"
	"meanwhile/internal/verify/authority"
	"meanwhile/internal/verify/process"
	"meanwhile/netcode/clock"
	"meanwhile/session"
	"meanwhile/transport"
	ws "meanwhile/transport/websocket"
)

// limit bounds each wait. Within it a machine may be as slow as it likes.
const limit = time.Minute

// block returns the text of the page that is named so behind its fence.
func block(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(page), " "+name+"\n")
	text, _, end := strings.Cut(text, "\n```\n")
	if !ok || !end {
		t.Fatalf("docs/deploy.md has no block %s", name)
	}
	return text + "\n"
}

// tool returns the path of a program, or skips the test.
func tool(t *testing.T, name, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is missing: apt-get install %s", name, pkg)
		}
		t.Skipf("%s is missing: apt-get install %s", name, pkg)
	}
	return path
}

// A rootfs is what the Dockerfile puts into its image.
type rootfs struct {
	dir   string
	user  [2]uint32
	entry []string
	files []string // of the image, below root
}

var imageDir string // what TestMain removes

// image makes the root of the image once for all tests.
var image = sync.OnceValues(func() (*rootfs, error) {
	dir, err := os.MkdirTemp("", "deploy")
	if err != nil {
		return nil, err
	}
	imageDir = dir
	page, err := os.ReadFile("../../../docs/deploy.md")
	if err != nil {
		return nil, err
	}
	_, text, _ := strings.Cut(string(page), "```dockerfile Dockerfile\n")
	text, _, _ = strings.Cut(text, "\n```\n")
	return unpack(dir, text)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if imageDir != "" {
		os.RemoveAll(imageDir)
	}
	os.Exit(code)
}

// unpack does what a Dockerfile of two stages says: commands of the first run in this repository
// instead of a copy, files of the second come from there.
func unpack(dir, dockerfile string) (*rootfs, error) {
	r := &rootfs{dir: dir}
	out, root := filepath.Join(dir, "out"), r.root()
	env := append(os.Environ(), "MAIN=./examples/zap/cmd/zap", "WEB=./examples/zap/web")
	for line := range strings.Lines(dockerfile) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		words := strings.Fields(rest)
		var err error
		switch word {
		case "", "FROM", "ARG", "WORKDIR", "EXPOSE", "VOLUME":
		case "RUN":
			cmd := exec.Command("sh", "-ec", strings.ReplaceAll(rest, "/out/", out+"/"))
			cmd.Dir, cmd.Env = "../../..", env
			var b []byte
			if b, err = cmd.CombinedOutput(); err != nil {
				err = fmt.Errorf("%w: %s", err, b)
			}
		case "COPY":
			if len(words) < 3 || words[0] != "--from=build" {
				break // of the sources
			}
			from, to := words[len(words)-2], filepath.Join(root, words[len(words)-1])
			if strings.HasPrefix(from, "/out/") {
				from = filepath.Join(out, from[len("/out/"):])
			}
			if err = os.MkdirAll(filepath.Dir(to), 0o755); err == nil {
				err = exec.Command("cp", "-r", from, to).Run()
			}
			if owner, ok := strings.CutPrefix(words[1], "--chown="); ok && err == nil && os.Getuid() == 0 {
				var uid, gid int
				if _, err = fmt.Sscanf(owner, "%d:%d", &uid, &gid); err == nil {
					err = os.Chown(to, uid, gid)
				}
			}
		case "USER":
			_, err = fmt.Sscanf(rest, "%d:%d", &r.user[0], &r.user[1])
		case "ENTRYPOINT":
			for _, w := range strings.Split(strings.Trim(rest, "[]"), ", ") {
				r.entry = append(r.entry, strings.Trim(w, `"`))
			}
		default:
			err = fmt.Errorf("this test does not know %s", word)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
		}
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(root, path); err == nil && !d.IsDir() {
			r.files = append(r.files, rel)
		}
		return err
	})
	return r, errors.Join(err, os.Chmod(dir, 0o755))
}

func (r *rootfs) root() string { return filepath.Join(r.dir, "root") }

// built returns the image, or fails the test.
func built(t *testing.T) *rootfs {
	t.Helper()
	r, err := image()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// start starts a program, which ends with the test at the latest.
func start(t *testing.T, cmd *exec.Cmd) *process.Process {
	t.Helper()
	return process.Start(t, cmd, 5*limit)
}

// waitFor waits until a server answers over TCP.
func waitFor(t *testing.T, addr string) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			return
		}
		if time.Since(begin) > limit {
			t.Fatal(err)
		}
	}
}

// visit looks at the page, the program and the answers to the page, and plays for a moment over
// WebSocket.
func visit(t *testing.T, url string, trust *x509.CertPool) {
	t.Helper()
	config := &tls.Config{RootCAs: trust}
	client := &http.Client{Timeout: limit, Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	for path, want := range map[string]string{"/": "<!doctype html>", "/game.js": "join(", "/meanwhile.js": "join",
		"/meanwhile.json": `"websocket":"/meanwhile"`, "/zap.wasm": "\x00asm"} {
		resp, err := client.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 200 || !strings.Contains(string(b), want) {
			t.Errorf("%s: %s, %v, %.200q", path, resp.Status, err, b)
		}
	}
	begin := time.Now()
	now := func() clock.Time { return clock.Time(time.Since(begin)) }
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	conn, err := ws.Dial(ctx, "ws"+strings.TrimPrefix(url, "http")+transport.Path, ws.DialConfig{Clock: now, TLS: config})
	if err != nil {
		t.Fatal(err)
	}
	play(t, ctx, conn, now)
}

// play joins over a connection, and plays until the avatar is in the world.
func play(t *testing.T, ctx context.Context, conn transport.Conn, now transport.Clock) {
	t.Helper()
	rules, err := zap.Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	p, err := headless.Join(ctx, conn, headless.Config{Rules: rules, Clock: now, Name: "ann", Bot: rules.Bot(),
		Guest: [session.KeySize]byte{1}})
	if err != nil {
		t.Fatal(err)
	}
	running, leave := context.WithCancel(ctx)
	left := make(chan error, 1)
	go func() { left <- p.Run(running) }()
	for inWorld(p) == 0 && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	if ctx.Err() != nil {
		t.Error("the player got no avatar")
	}
	leave()
	if err := <-left; err != nil {
		t.Error(err)
	}
}

// The unit is one that systemd loads without complaint, and leaves the server little of the machine.
func TestSystemd(t *testing.T) {
	analyze := tool(t, "systemd-analyze", "systemd")
	unit := block(t, "play.service")
	if !strings.Contains(unit, "ExecStart=/usr/local/bin/play --addr=:443") {
		t.Fatal("the unit starts something else")
	}
	path := filepath.Join(t.TempDir(), "play.service")
	unit = strings.Replace(unit, "/usr/local/bin/play", "/bin/true", 1) // it looks whether the program is there
	if err := os.WriteFile(path, []byte(unit), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, "verify", "--man=no", path).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, path) || strings.Contains(line, "play.service") {
			t.Errorf("systemd-analyze verify: %s", line)
		}
	}
	if err != nil && len(out) == 0 {
		t.Error(err)
	}
	out, err = exec.Command(analyze, "security", "--offline=true", "--threshold=25", path).CombinedOutput()
	if err != nil {
		t.Errorf("the unit is more exposed than 2.5 of 10: %v\n%s", err, out)
	}
}

// flags returns the flags of a command in the page that begins with a program's name.
func flags(t *testing.T, begin string) []string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "\n"+begin)
	if !ok {
		t.Fatalf("docs/deploy.md has no command %s", begin)
	}
	line, _, _ := strings.Cut(begin+rest, "\n")
	return strings.Fields(line)[1:]
}

// behind starts the game as the page says for a server behind a proxy.
func behind(t *testing.T, public string) (game *process.Process, addr string) {
	t.Helper()
	r := built(t)
	addr = "127.0.0.1:" + process.Port(t)
	args := flags(t, "play --addr 127.0.0.1:8080")
	for i, a := range args {
		switch a {
		case "127.0.0.1:8080":
			args[i] = addr
		case "game.example":
			args[i] = public
		case "web":
			args[i] = filepath.Join(r.root(), "web")
		case "/var/lib/play":
			args[i] = t.TempDir()
		}
	}
	game = start(t, exec.Command(filepath.Join(r.root(), "play"), append(args, "--verbose")...))
	game.URL()
	return game, addr
}

// forwarded checks that the game knows where a player behind the proxy comes from.
func forwarded(t *testing.T, game *process.Process) {
	t.Helper()
	if err := game.Stop(syscall.SIGTERM); err != nil { // first, as its log is written behind it
		t.Errorf("the game ended with %v", err)
	}
	if !strings.Contains(game.Log(), "from=127.0.0.1:0") {
		t.Errorf("no player came through X-Forwarded-For:\n%s", game.Log())
	}
}

// Page and WebSocket reach players through Caddy, over https by Caddy's own authority.
func TestCaddy(t *testing.T) {
	caddy := tool(t, "caddy", "caddy")
	public := "localhost:" + process.Port(t)
	game, addr := behind(t, public)
	dir := t.TempDir()
	site := strings.NewReplacer("game.example", public, "127.0.0.1:8080", addr).Replace(block(t, "Caddyfile"))
	config := filepath.Join(dir, "Caddyfile")
	head := "{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n\tlocal_certs\n}\n"
	if err := os.WriteFile(config, []byte(head+site), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(caddy, "run", "--config", config, "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	start(t, cmd)
	waitFor(t, public)
	root := filepath.Join(dir, "caddy/pki/authorities/local/root.crt")
	pem, err := os.ReadFile(root)
	for begin := time.Now(); err != nil && time.Since(begin) < limit; pem, err = os.ReadFile(root) {
		time.Sleep(20 * time.Millisecond)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		t.Fatalf("Caddy's authority cannot be read: %v", err)
	}
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) { // it listens before it has a certificate
		c, err := tls.Dial("tcp", public, &tls.Config{RootCAs: pool})
		if err == nil {
			c.Close()
			break
		}
		if time.Since(begin) > limit {
			t.Fatal(err)
		}
	}
	visit(t, "https://"+public, pool)
	forwarded(t, game)
}

// Page and WebSocket reach players through nginx.
func TestNginx(t *testing.T) {
	nginx := tool(t, "nginx", "nginx-light")
	listen := process.Port(t)
	public := "localhost:" + listen
	game, addr := behind(t, "localhost")
	dir := t.TempDir()
	a := authority.New(t)
	cert, key := a.Issue(time.Now().Add(time.Hour), "localhost")
	site := strings.NewReplacer("listen 443", "listen 127.0.0.1:"+listen, "game.example;", "localhost;",
		"127.0.0.1:8080", addr, "/etc/letsencrypt/live/game.example/fullchain.pem", cert,
		"/etc/letsencrypt/live/game.example/privkey.pem", key).Replace(block(t, "play.nginx"))
	temp := ""
	for _, what := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temp += fmt.Sprintf("\t%s_temp_path %s/%s;\n", what, dir, what)
	}
	config := filepath.Join(dir, "nginx.conf")
	head := fmt.Sprintf("daemon off;\nmaster_process off;\npid %s/pid;\nerror_log stderr;\nevents {}\nhttp {\n"+
		"\taccess_log off;\n%s", dir, temp)
	if err := os.WriteFile(config, []byte(head+site+"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	start(t, exec.Command(nginx, "-p", dir, "-c", config))
	waitFor(t, public)
	visit(t, "https://"+public, a.Pool())
	forwarded(t, game)
}
