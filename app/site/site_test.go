package site

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/coder/websocket"

	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/headless"
	"meanwhile/host"
	"meanwhile/session"
	"meanwhile/transport/cert"
	"meanwhile/transport/quic"
	"meanwhile/web"
)

func rules(t testing.TB) *game.Rules {
	t.Helper()
	r, err := zap.Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fake is a program that no browser could run.
func fake(t testing.TB) *Program {
	p, err := NewProgram([]byte("\x00asm"+strings.Repeat("meanwhile ", 1000)), nil, []byte("// wasm_exec.js"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// serve serves a site on a free port until the test ends.
func serve(t testing.TB, cfg Config, p *Program) *Site {
	t.Helper()
	cfg.Host.Rules = rules(t)
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	s, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, p) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

func get(t testing.TB, url string, header ...string) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "identity")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, b
}

func TestHandlers(t *testing.T) {
	answer := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
	}
	s := serve(t, Config{
		Pages:    []fs.FS{fstest.MapFS{"best.json": {Data: []byte("not this one")}, "other.txt": {Data: []byte("a file")}}},
		Handlers: map[string]http.Handler{"GET /best.json": answer("best"), "/api/": answer("api")},
	}, fake(t))
	for path, want := range map[string]string{"best.json": "best", "api/x": "api", "other.txt": "a file"} {
		if r, b := get(t, s.URL()+path); string(b) != want || r.Header.Get("Cross-Origin-Opener-Policy") != "same-origin" {
			t.Errorf("%s: %q, %v", path, b, r.Header)
		}
	}
	for pattern, why := range map[string]string{
		"GET /meanwhile.json": "/meanwhile.json is the library's own", "/{any...}": "conflicts with pattern \"/\"",
		"GET /" + rules(t).Name + ".wasm": ".wasm is the library's own", "POST /report": "/report is the library's own",
		"GET /{": "bad wildcard", "best": "missing /",
	} {
		_, err := Listen(Config{Addr: "127.0.0.1:0", Host: host.Config{Rules: rules(t)},
			Handlers: map[string]http.Handler{pattern: answer("")}})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q cannot be added: ", pattern)) ||
			!strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

func TestFiles(t *testing.T) {
	text := strings.Repeat("all work and no play ", 200)
	tree := fstest.MapFS{
		"index.html": {Data: []byte("<!doctype html>mine")}, "big.txt": {Data: []byte(text)},
		"sub/index.html": {Data: []byte("below")},
		".env":           {Data: []byte("secret")}, "sub/.git/config": {Data: []byte("secret")},
		"picture.png": {Data: []byte(text)},
	}
	second := fstest.MapFS{"index.html": {Data: []byte("not this one")}, "other.css": {Data: []byte("b{}")}}
	s := serve(t, Config{Pages: []fs.FS{tree, second}}, fake(t))
	url := s.URL()
	for _, c := range []struct {
		path, contentType, body string
		status                  int
	}{
		{"", "text/html; charset=utf-8", "<!doctype html>mine", 200},
		{"index.html", "text/html; charset=utf-8", "<!doctype html>mine", 200},
		{"sub/", "text/html; charset=utf-8", "below", 200},
		{"sub", "", "there is no sub here\n", 404},
		{"other.css", "text/css; charset=utf-8", "b{}", 200},
		{"big.txt", "text/plain; charset=utf-8", text, 200},
		{"nothing", "", "there is no nothing here\n", 404},
		{".env", "", "there is no .env here\n", 404},
		{"sub/.git/config", "", "there is no sub/.git/config here\n", 404},
		{"%2e%2e/%2e%2e/etc/passwd", "", "there is no etc/passwd here\n", 404},
		{"metrics", "", "there is no metrics here\n", 404}, // not asked for
		{"truth", "", "there is no truth here\n", 404},
	} {
		r, b := get(t, url+c.path)
		if r.StatusCode != c.status || string(b) != c.body || c.contentType != "" &&
			r.Header.Get("Content-Type") != c.contentType {
			t.Errorf("%q: %s, %s, %.60q", c.path, r.Status, r.Header.Get("Content-Type"), b)
		}
		if r.Header.Get("Cross-Origin-Opener-Policy") != "same-origin" ||
			r.Header.Get("Cross-Origin-Embedder-Policy") != "require-corp" {
			t.Errorf("%q: %v", c.path, r.Header)
		}
	}
	if _, b := get(t, url+"meanwhile.js"); !bytes.Contains(b, []byte("export async function join")) {
		t.Error("the library is not served")
	}
	for _, module := range web.Modules() {
		r, _ := get(t, url+strings.TrimPrefix(module, "/"))
		if r.StatusCode != 200 || r.Header.Get("Content-Type") != "text/javascript; charset=utf-8" {
			t.Errorf("%s: %s, %s", module, r.Status, r.Header.Get("Content-Type"))
		}
	}

	// The browser chooses the packing, each has its tag, and nothing is sent twice.
	unpack := map[string]func(io.Reader) io.Reader{
		"br": func(r io.Reader) io.Reader { return brotli.NewReader(r) },
		"gzip": func(r io.Reader) io.Reader {
			z, err := gzip.NewReader(r)
			if err != nil {
				t.Fatal(err)
			}
			return z
		},
		"": func(r io.Reader) io.Reader { return r },
	}
	tags := map[string]bool{}
	for accept, want := range map[string]string{
		"gzip, deflate, br, zstd": "br", "gzip, deflate": "gzip", "br;q=0, gzip;q=0.5": "gzip", "deflate": "", "BR": "br",
	} {
		r, b := get(t, url+"big.txt", "Accept-Encoding", accept)
		plain, err := io.ReadAll(unpack[want](bytes.NewReader(b)))
		large := want != "" && len(b) > len(text)/10
		if err != nil || string(plain) != text || large ||
			r.Header.Get("Content-Encoding") != want || r.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: %v, %d bytes, %v", accept, r.Header, len(b), err)
		}
		tags[r.Header.Get("ETag")] = true
		r, b = get(t, url+"big.txt", "Accept-Encoding", accept, "If-None-Match", r.Header.Get("ETag"))
		if r.StatusCode != http.StatusNotModified || len(b) != 0 {
			t.Errorf("%q again: %s, %d bytes", accept, r.Status, len(b))
		}
	}
	if len(tags) != 3 {
		t.Errorf("three packings have the tags %v", tags)
	}
	if r, _ := get(t, url+"picture.png", "Accept-Encoding", "br"); r.Header.Get("Content-Encoding") != "" {
		t.Error("a picture is packed again")
	}
	if r, err := http.Post(url+"big.txt", "text/plain", nil); err != nil ||
		r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("%v, %v", r, err)
	}
	r, b := get(t, url+"zap.wasm", "Accept-Encoding", "br")
	if r.Header.Get("Content-Type") != "application/wasm" || r.Header.Get("Content-Encoding") != "br" || len(b) > 200 {
		t.Errorf("%v, %d bytes", r.Header, len(b))
	}
}

// A file that is edited is served as it is now; one that is beyond the folder is not served.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "web"), 0o755); err != nil {
		t.Fatal(err)
	}
	write("secret.txt", "secret")
	write("web/game.js", "one")
	if err := os.Symlink("../secret.txt", filepath.Join(dir, "web", "link.txt")); err != nil {
		t.Skipf("NOT CHECKED: no symbolic links here: %v", err)
	}
	root, err := os.OpenRoot(filepath.Join(dir, "web"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	f := &files{trees: []fs.FS{root.FS()}, log: slog.New(slog.DiscardHandler)}
	ask := func(name string) string {
		w := httptest.NewRecorder()
		f.ServeHTTP(w, httptest.NewRequest("GET", name, nil))
		return fmt.Sprint(w.Code, " ", w.Body)
	}
	if got := ask("/game.js"); got != "200 one" {
		t.Error(got)
	}
	write("web/game.js", "two")
	if got := ask("/game.js"); got != "200 two" {
		t.Error(got)
	}
	if got := ask("/link.txt"); !strings.HasPrefix(got, "404") {
		t.Error(got)
	}
	for i := range 3 * keptAssets {
		write("web/game.js", fmt.Sprint(i))
		ask("/game.js")
	}
	if len(f.kept) > keptAssets {
		t.Errorf("%d assets are kept", len(f.kept))
	}
}

func TestConfig(t *testing.T) {
	s := serve(t, Config{Host: host.Config{Rooms: 1}}, fake(t))
	ask := func(query string) (int, string, pageConfig) {
		var c pageConfig
		r, b := get(t, s.URL()+"meanwhile.json"+query)
		if r.StatusCode == 200 {
			if err := json.Unmarshal(b, &c); err != nil {
				t.Fatal(err)
			}
		}
		return r.StatusCode, string(b), c
	}
	_, port, _ := net.SplitHostPort(s.QUIC())
	_, text, c := ask("")
	if c.Game != "zap" || c.Room != "lobby" || c.Wasm != "/zap.wasm" || c.WasmBytes != 10004 ||
		c.Exec != "/wasm_exec.js" || c.WebSocket != "/meanwhile" ||
		c.WebTransport.URL != ":"+port+"/meanwhile" || len(c.WebTransport.Hashes) != 1 ||
		len(c.WebTransport.Hashes[0]) != 64 || !strings.HasPrefix(c.Schema, strconv.Itoa(session.Version)+"-") {
		t.Error(text)
	}
	if _, tcp, _ := net.SplitHostPort(strings.Trim(strings.TrimPrefix(s.URL(), "http://"), "/")); tcp != port {
		t.Logf("TCP port %s, UDP port %s", tcp, port) // the number was taken by another program
	}
	if code, text, _ := ask("?room=A%20B"); code != 404 ||
		text != "Room \"A B\": names of rooms are lower-case letters, digits and dashes.\n" {
		t.Errorf("%d %q", code, text)
	}
	if code, _, c := ask("?room=cellar"); code != 200 || c.Room != "cellar" {
		t.Error(code)
	}

	// The only room is taken: a request for another gets an error.
	now := s.Host().Clock()
	prints, err := s.Fingerprints()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := quic.Dial(context.Background(), s.QUIC(), quic.DialConfig{Clock: now, TLS: cert.Pin(prints...)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := headless.Join(context.Background(), conn, headless.Config{Rules: rules(t), Clock: now}); err != nil {
		t.Fatal(err)
	}
	if code, text, _ := ask("?room=cellar"); code != 503 || text != "All 1 rooms are taken.\n" {
		t.Errorf("%d %q", code, text)
	}
	if code, _, _ := ask("?room=lobby"); code != 200 {
		t.Error(code)
	}
	conn.Close("")
	<-conn.Done()

	if r, b := get(t, serve(t, Config{}, nil).URL()+"meanwhile.json"); r.StatusCode != 404 ||
		string(b) != noProgram+"\n" {
		t.Errorf("without a program: %s, %s", r.Status, b)
	}
}

func TestTruth(t *testing.T) {
	s := serve(t, Config{Truth: true, Host: host.Config{Bots: 2}}, fake(t))
	url := "ws" + strings.TrimPrefix(s.URL(), "http") + "truth"
	ctx := t.Context()
	if _, r, err := websocket.Dial(ctx, url, nil); err == nil || r.StatusCode != http.StatusNotFound {
		t.Fatalf("truth of a room that is not open: %v", err)
	}
	now := s.Host().Clock()
	prints, err := s.Fingerprints()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := quic.Dial(ctx, s.QUIC(), quic.DialConfig{Clock: now, TLS: cert.Pin(prints...)})
	if err != nil {
		t.Fatal(err)
	}
	player, err := headless.Join(ctx, conn, headless.Config{Rules: rules(t), Clock: now})
	if err != nil {
		t.Fatal(err)
	}
	var playing sync.WaitGroup // or the server would remove it for its silence
	playing.Go(func() { _ = player.Run(ctx) })
	t.Cleanup(playing.Wait)
	evil := &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"https://evil.example"}}}
	if _, r, err := websocket.Dial(ctx, url, evil); err == nil || r.StatusCode != http.StatusForbidden {
		t.Fatalf("truth for a stranger's page: %v", err)
	}
	w, _, err := websocket.Dial(ctx, url+"?room=lobby", nil)
	if err != nil {
		t.Fatal(err)
	}
	watchPositions(t, w)
	// A plain request gets what the paths carry.
	r, b := get(t, s.URL()+"truth?room=lobby")
	var carries map[string]int
	if err := json.Unmarshal(b, &carries); err != nil || r.StatusCode != http.StatusOK || len(carries) != 3 {
		t.Fatalf("%s, %s: %v", r.Status, b, err)
	}
	for id, bps := range carries {
		if bps < 1000 || bps > 8000 {
			t.Errorf("the path to %s carries %d bytes a second", id, bps)
		}
	}
	// The site ends while the truth is watched: serve's cleanup waits for it.
}

// watchPositions reads three messages with a player and two bots, and checks where they are.
func watchPositions(t *testing.T, w *websocket.Conn) {
	t.Helper()
	last := float32(0)
	for n := 0; n < 3; {
		kind, b, err := w.Read(t.Context())
		if err != nil || kind != websocket.MessageBinary || len(b)%4 != 0 {
			t.Fatalf("%v, %v, %d bytes", err, kind, len(b))
		}
		f := make([]float32, len(b)/4)
		for i := range f {
			f[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
		if len(f) < 2 || f[0] <= last || len(f) != 2+4*int(f[1]) {
			t.Fatalf("%v after tick %v", f, last)
		}
		last = f[0]
		if f[1] == 3 { // a player and two bots
			n++
			for i := 2; i < len(f); i += 4 {
				if f[i] < 1 || f[i+1] < 0 || f[i+1] > 40 || f[i+2] < 0 || f[i+2] > 24 || f[i+3] != 0 {
					t.Fatal(f)
				}
			}
		}
	}
}

func TestAddresses(t *testing.T) {
	cfg := Config{Host: host.Config{Rules: rules(t)}}
	for _, addr := range []string{"", "nonsense", "127.0.0.1", "127.0.0.1:http", "127.0.0.1:70000", "::1:80"} {
		cfg.Addr = addr
		_, err := Listen(cfg)
		if err == nil || !strings.Contains(err.Error(), "is not an address of the form host:port") || Status(err) != 2 {
			t.Errorf("%q: %v", addr, err)
		}
	}
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	cfg.Addr = first.Addr().String()
	_, err = Listen(cfg)
	want := cfg.Addr + " is in use by another program; stop that one or choose another address with --addr"
	if err == nil || err.Error() != want || Status(err) != 1 {
		t.Errorf("a used port: %v", err)
	}

	// A UDP port that is taken is no reason to fail.
	for range 20 {
		udp, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		cfg.Addr = udp.LocalAddr().String()
		s, err := Listen(cfg)
		if err != nil { // its TCP twin is taken: the next one, then
			udp.Close()
			continue
		}
		if s.QUIC() == cfg.Addr || !strings.HasPrefix(s.QUIC(), "127.0.0.1:") {
			t.Errorf("listens on %s, which is taken", s.QUIC())
		}
		if s.URL() != "http://"+cfg.Addr+"/" || !strings.HasPrefix(s.players(), "Players on this machine get: page, Web") {
			t.Errorf("%s %q", s.URL(), s.players())
		}
		s.Close()
		udp.Close()
		break
	}
	cfg.Addr = ":0"
	s, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(s.URL(), "http://127.0.0.1:") || !strings.Contains(s.players(), "WebSocket only: no https") {
		t.Errorf("%s %q", s.URL(), s.players())
	}
	s.Close()
}

// build writes a small program and builds it.
func build(t *testing.T, source string) (*Program, string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module x\n\ngo 1.26\n", "main.go": source} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var progress bytes.Buffer
	p, err := Build(context.Background(), dir, "x", &progress)
	return p, progress.String(), err
}

func TestBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: a page's program builds and is packed")
	}
	p, progress, err := build(t, "package main\n\nfunc main() { println(\"hello\") }\n")
	if err != nil {
		t.Fatal(err)
	}
	plain, packed := p.Size()
	if !strings.HasPrefix(progress, "building x.wasm ... ") || !strings.HasSuffix(progress, "\n") || plain < 100_000 ||
		packed > plain/2 || !bytes.Contains(p.exec.raw, []byte("globalThis.Go")) {
		t.Errorf("%q, %d bytes, %d packed", progress, plain, packed)
	}
	again, err := NewProgram(nil, p.wasm.brotli(), p.exec.raw)
	if err != nil || again.wasm.hash != p.wasm.hash {
		t.Errorf("unpacked again: %v", err)
	}

	_, progress, err = build(t, "package main\n\nfunc main() { undefined() }\n")
	var failed *BuildError
	if !errors.As(err, &failed) || !strings.Contains(failed.Output, "undefined: undefined") ||
		!strings.HasSuffix(progress, "failed\n") {
		t.Errorf("%q, %v", progress, err)
	}

	t.Setenv("PATH", "")
	for _, root := range []string{"", t.TempDir()} {
		if tool, err := toolchain(root); !errors.Is(err, errNoToolchain) {
			t.Errorf("without a toolchain: %q, %v", tool, err)
		}
	}
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "bin", "go"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if tool, err := toolchain(root); err != nil || tool != filepath.Join(root, "bin", "go") {
		t.Errorf("%q, %v", tool, err)
	}
}

func TestPrograms(t *testing.T) {
	if _, err := NewProgram([]byte("<!doctype html>"), nil, []byte("x")); err == nil {
		t.Error("a page is no program")
	}
	if _, err := NewProgram([]byte("\x00asm"), nil, nil); err == nil {
		t.Error("a program without wasm_exec.js")
	}
	if _, err := NewProgram(nil, []byte("rubbish"), []byte("x")); err == nil {
		t.Error("rubbish was unpacked")
	}
	tree := fstest.MapFS{}
	if _, err := Prebuilt(tree, "zap"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	tree["zap.wasm"] = &fstest.MapFile{Data: []byte("\x00asm")}
	if _, err := Prebuilt(tree, "zap"); err == nil ||
		!strings.Contains(err.Error(), "wasm_exec.js of the Go that built it") {
		t.Error(err)
	}
	tree["wasm_exec.js"] = &fstest.MapFile{Data: []byte("x")}
	if _, err := Prebuilt(tree, "zap"); err != nil {
		t.Error(err)
	}
}

func TestSource(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"cmd/zap", "web", "cmd/web", "other"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "// a comment\nmodule \"example/zap\" // the game\n\ngo 1.26\n")
	main := filepath.Join(root, "cmd", "zap")
	if got, ok := moduleAbove(main); !ok || got != root || moduleName(root) != "example/zap" {
		t.Errorf("%s is in module %q at %s", main, moduleName(root), got)
	}
	s := Source{main, root}
	if web, ok := s.Web(); ok {
		t.Errorf("a folder without a page was taken: %s", web)
	}
	write("web/game.js", "")
	if web, ok := s.Web(); !ok || web != filepath.Join(root, "web") {
		t.Error(web)
	}
	write("cmd/web/index.html", "")
	if web, ok := s.Web(); !ok || web != filepath.Join(root, "cmd", "web") {
		t.Error(web)
	}
	if here, err := FindSource(); err != nil || !strings.HasSuffix(filepath.ToSlash(here.Main), "app/site") ||
		moduleName(here.Root) != "meanwhile" {
		t.Errorf("%+v, %v", here, err)
	}
	t.Chdir(t.TempDir())
	if _, err := FindSource(); !errors.Is(err, errNoSource) {
		t.Error(err)
	}
}

func TestPrune(t *testing.T) {
	dir := t.TempDir()
	for i := range 10 {
		name := filepath.Join(dir, fmt.Sprint(i, ".br"))
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		when := time.Unix(int64(1000+i), 0)
		if err := os.Chtimes(name, when, when); err != nil {
			t.Fatal(err)
		}
	}
	prune(dir, "*.br", 3)
	list, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(list) != 3 || filepath.Base(list[0]) != "7.br" {
		t.Error(list)
	}
}

// A page is sent with the addresses of all that it will load, so that the browser fetches them at
// once. Without a program there is nothing to fetch.
func TestFetchedAhead(t *testing.T) {
	r, _ := get(t, serve(t, Config{}, fake(t)).URL())
	links := r.Header.Values("Link")
	for _, want := range append(web.Modules(), "/wasm_exec.js") {
		if !slices.Contains(links, "<"+want+">; rel=modulepreload") {
			t.Errorf("%s is not among %q", want, links)
		}
	}
	if want := "</zap.wasm>; rel=preload; as=fetch; crossorigin"; !slices.Contains(links, want) {
		t.Errorf("%s is not among %q", want, links)
	}
	if r, _ := get(t, serve(t, Config{}, nil).URL()); len(r.Header.Values("Link")) != 0 {
		t.Errorf("without a program: %q", r.Header.Values("Link"))
	}
}
