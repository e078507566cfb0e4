package site

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"meanwhile/host"
	"meanwhile/internal/verify/authority"
	"meanwhile/netcode/clock"
	"meanwhile/session"
	"meanwhile/transport"
	"meanwhile/transport/quic"
	"meanwhile/transport/websocket"
	"meanwhile/transport/webtransport"
)

func TestDoorSentences(t *testing.T) {
	for _, c := range []struct {
		door Door
		want string
	}{
		{Door{TLSCert: "a"}, "--tls-cert and --tls-key need each other"},
		{Door{TLSKey: "a"}, "--tls-cert and --tls-key need each other"},
		{Door{TLSCert: "a", TLSKey: "b", ACME: []string{"game.example"}}, "exclude each other"},
		{Door{ACME: []string{"game.example"}}, "--acme needs --state DIR"},
		{Door{ACME: []string{"192.0.2.1"}, State: "s"}, `--acme "192.0.2.1" is not a domain`},
		{Door{ACME: []string{"game"}, State: "s"}, `--acme "game" is not a domain`},
		{Door{ACMEURL: "https://a.example"}, "--acme-url needs --acme"},
		{Door{Redirect: ":80"}, "--redirect needs https"},
		{Door{DrainTo: "b.example:443"}, "--drain-to \"b.example:443\" is no address of a page"},
		{Door{DrainTo: "javascript:x"}, "--drain-to"},
		{Door{RoomsPerAddress: -1}, "--rooms-per-address -1"},
		{Door{Metrics: "127.0.0.1:8080"}, "is the address of the players"},
		{Door{Metrics: "9090"}, `"9090" is not an address`},
		{Door{UDP: "none"}, `"none" is not an address`},
		{Door{PublicAddr: "https://game.example"}, `--public-addr "https://game.example" is not`},
		{Door{PublicAddr: "game.example:x"}, `--public-addr "game.example:x" is not`},
		{Door{PublicAddr: ":443"}, `--public-addr ":443" is not`},
		{Door{PublicAddr: "game.example:0"}, `--public-addr "game.example:0" is not`},
		{Door{PublicAddr: "my game"}, `--public-addr "my game" is not`},
		{Door{PublicAddr: strings.Repeat("a.", 127)}, "is not of the form"},
		{Door{TrustProxy: []string{"proxy"}}, `--trust-proxy "proxy" is neither`},
		{Door{TrustProxy: []string{"0.0.0.0/0"}}, "--trust-proxy 0.0.0.0/0 is everybody"},
		{Door{TrustProxy: []string{"::/0"}}, "--trust-proxy ::/0 is everybody"},
		{Door{Origin: []string{"me.github.io"}}, `--origin "me.github.io" is not an origin`},
		{Door{Origin: []string{"https://me.github.io/game"}}, `--origin "https://me.github.io/game" is not an origin`},
		{Door{Origin: []string{"null"}}, `--origin "null" is not an origin`},
		{Door{Origin: []string{"https://:443"}}, "is not an origin"},
		{Door{Origin: []string{"ftp://me.example"}}, "is not an origin"},
		{Door{Origin: []string{"https://me.example?game"}}, "is not an origin"},
		{Door{Origin: []string{"https://me.example#game"}}, "is not an origin"},
		{Door{Origin: []string{"https://me@me.example"}}, "is not an origin"},
		{Door{Origin: []string{"https://me.example:x"}}, "is not an origin"},
	} {
		if _, err := c.door.check("127.0.0.1:8080"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.door, err, c.want)
		}
	}
	for _, text := range []string{"https://Me.github.io:443/", "http://me.example:80", "https://me.example:8443",
		"https://me.example:*", "*", "http://192.0.2.1:8080", "http://[2001:db8::1]"} {
		d := Door{Origin: []string{text}, TrustProxy: []string{"127.0.0.1", "10.0.0.0/8", "fd00::/8"}}
		if _, err := d.check(":8080"); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A server answers to every name that its flags have and to that of its machine, however they are
// written; addresses need no name. Its pages may come from each of them, once.
func TestNamesOfADoor(t *testing.T) {
	d := Door{ACME: []string{"Acme.example"}, ACMEURL: "https://a.example", State: "s", PublicAddr: "Public.example",
		Metrics: "Metrics.example:9090", Redirect: "Redirect.example:80", Origin: []string{"https://Page.example:*"}}
	f, err := d.check("Main.example:443")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"acme.example", "public.example", "main.example", "metrics.example", "redirect.example"}
	if host, err := os.Hostname(); err == nil && isName(host) {
		want = append(want, strings.ToLower(host), strings.ToLower(host)+".local")
	}
	if want = append(want, "page.example"); !slices.Equal(f.names, want) {
		t.Errorf("names %q, want %q", f.names, want)
	}
	for public, named := range map[string]bool{"192.0.2.1:443": false, "[2001:db8::1]": false, "a.example:443": true} {
		f := &front{}
		if err := f.call(public, false); err != nil || len(f.names) > 0 != named {
			t.Errorf("%s: names %q, %v", public, f.names, err)
		}
	}
	for public, page := range map[string]string{"game.example": "http://game.example:*",
		"game.example:80": "http://game.example:*", "": ""} {
		f := &front{public: public, names: []string{"b.example", "a.example"}}
		list := f.allowed("80", []string{"b.example"})[4:] // behind those of this machine
		want := transport.Origins{"http://a.example:*", "http://b.example:*"}
		if page != "" {
			want = append(want, page)
		}
		if !slices.Equal(list, want) {
			t.Errorf("called %q, pages of %q may connect, want %q", public, list, want)
		}
	}
	if _, err := (&Door{}).check(""); err != nil {
		t.Error(err)
	}
}

// An origin is written as browsers do: in lower case, without the usual port of its scheme.
func TestOriginsAreWrittenAsBrowsersDo(t *testing.T) {
	for text, want := range map[string][2]string{
		"https://Me.github.io:443/": {"https://me.github.io", "me.github.io"},
		"http://me.example:80":      {"http://me.example", "me.example"},
		"https://me.example:80":     {"https://me.example:80", "me.example"},
		"http://me.example:443":     {"http://me.example:443", "me.example"},
		"https://me.example:*":      {"https://me.example:*", "me.example"},
		"http://192.0.2.1:8080":     {"http://192.0.2.1:8080", ""},
		"*":                         {"*", ""},
	} {
		origin, host, err := checkOrigin(text)
		if got := [2]string{origin, host}; got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}

// The entries of --origin are compared as browsers write origins.
func TestOriginsOfADoor(t *testing.T) {
	d := Door{Origin: []string{"https://Me.github.io:443/", "https://any.example:*"}, PublicAddr: "game.example:443",
		TrustProxy: []string{"10.0.0.0/8"}}
	f, err := d.check(":8080")
	if err != nil {
		t.Fatal(err)
	}
	list := f.allowed("8080", []string{"cert.example"})
	for origin, want := range map[string]bool{
		"https://me.github.io": true, "https://any.example:5": true, "https://game.example": true,
		"https://cert.example:8443": true, "https://evil.example": false, "http://game.example": false,
		"https://127.0.0.1:8080": true, "": true, "null": false,
	} {
		if got := list.Allow(origin, "game.example"); got != want {
			t.Errorf("%q: %v, want %v", origin, got, want)
		}
	}
}

// A player behind proxies counts as the address that the outermost trusted one saw.
func TestForwardedAddresses(t *testing.T) {
	f, err := (&Door{TrustProxy: []string{"10.0.0.0/8", "127.0.0.1", "fd00::1"}}).check(":1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		values []string
		want   string
	}{
		{[]string{"192.0.2.1"}, "192.0.2.1"},
		{[]string{"203.0.113.9, 192.0.2.1"}, "192.0.2.1"}, // the first is the player's own word
		{[]string{"203.0.113.9", "192.0.2.1, 10.1.2.3"}, "192.0.2.1"},
		{[]string{"192.0.2.1,10.0.0.2,127.0.0.1,fd00::1"}, "192.0.2.1"},
		{[]string{"10.0.0.2"}, "10.0.0.2"}, // the proxy itself asks
		{[]string{"2001:db8::7"}, "2001:db8::7"},
		{[]string{"[2001:db8::7]:443"}, "2001:db8::7"},
		{[]string{"192.0.2.1:5555"}, "192.0.2.1"},
		{[]string{"::ffff:192.0.2.1"}, "192.0.2.1"},
		{[]string{"unknown"}, ""},
		{[]string{"192.0.2.1, nonsense"}, ""},
		{[]string{""}, ""},
	} {
		a, ok := f.player(c.values)
		if got := a.String(); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%q: %s, %v; want %q", c.values, got, ok, c.want)
		}
	}
	for text, want := range map[string]bool{"10.255.0.1": true, "11.0.0.1": false, "::ffff:10.0.0.1": true,
		"127.0.0.2": false, "fd00::1": true, "fd00::2": false} {
		if got := f.trusts(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// ask sends a request for a path under a host and returns status, headers and body.
func ask(t *testing.T, l net.Listener, hostName, path string, header ...string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, "http://"+l.Addr().String()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = hostName
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, strings.TrimSpace(string(b))
}

// A page whose owner makes its name lead to this server gets nothing: no page, no configuration, no
// truth, no connection.
func TestUnknownHostsAreRefused(t *testing.T) {
	s := serve(t, Config{Truth: true, Door: Door{Origin: []string{"https://page.example"}}}, fake(t))
	port := s.URL()[strings.LastIndexByte(s.URL(), ':'):]
	port = strings.TrimSuffix(port, "/")
	for name, want := range map[string]int{
		"127.0.0.1" + port: 200, "localhost" + port: 200, "game.localhost": 200, "192.0.2.1": 200, "[::1]" + port: 200,
		"page.example": 200, "evil.example" + port: 421, "evil.example": 421, "127.0.0.1.evil.example": 421,
		"localhost.evil.example": 421,
	} {
		for _, path := range []string{"/", "/meanwhile.json", "/truth", "/metrics"} {
			status, _, text := ask(t, s.tcp, name, path)
			if want == 200 && path == "/truth" {
				continue // there is no room yet
			}
			if status != want || want == 421 && !strings.Contains(text, "--public-addr") {
				t.Errorf("%s%s: %d %q, want %d", name, path, status, text, want)
			}
		}
	}
	status, _, _ := ask(t, s.tcp, "evil.example"+port, transport.Path, "Origin", "http://evil.example"+port,
		"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "x")
	if status != http.StatusMisdirectedRequest {
		t.Errorf("a rebound WebSocket got %d", status)
	}
}

// Pages of other hosts may read what they need if they are named; others may read the library, and
// the sentence that says why no more.
func TestCORS(t *testing.T) {
	s := serve(t, Config{Door: Door{Origin: []string{"https://page.example"}}}, fake(t))
	for _, c := range []struct {
		origin, path, allow string
		status              int
	}{
		{"", "/meanwhile.json", "", 200},
		{"https://page.example", "/meanwhile.json", "https://page.example", 200},
		{"https://page.example", "/zap.wasm", "https://page.example", 200},
		{"https://page.example", "/wasm_exec.js", "https://page.example", 200},
		{"https://evil.example", "/meanwhile.json", "*", 403},
		{"null", "/meanwhile.json", "*", 403},
		{"https://evil.example", "/meanwhile.js", "*", 200},
		{"https://evil.example", "/meanwhile/connection.js", "*", 200},
		{"https://evil.example", "/zap.wasm", "", 200},
	} {
		var header []string
		if c.origin != "" {
			header = []string{"Origin", c.origin}
		}
		status, h, text := ask(t, s.tcp, "127.0.0.1", c.path, header...)
		if got := h.Get("Access-Control-Allow-Origin"); status != c.status || got != c.allow {
			t.Errorf("%s for %q: %d, allowed %q; want %d, %q", c.path, c.origin, status, got, c.status, c.allow)
		}
		if c.status == 403 && !strings.Contains(text, "--origin "+c.origin) {
			t.Errorf("%q is refused with %q", c.origin, text)
		}
		if c.origin != "" && !strings.Contains(strings.Join(h.Values("Vary"), ","), "Origin") {
			t.Errorf("%s may be cached for other origins", c.path)
		}
	}
}

// What is for whoever runs the server has an address of its own, and the players' has none of it.
func TestOperatorHasItsOwnAddress(t *testing.T) {
	s := serve(t, Config{Addr: ":0", Truth: true, Door: Door{Metrics: "127.0.0.1:0"}}, fake(t))
	url := "http://" + s.op.Addr().String()
	for path, want := range map[string]string{"/metrics": "meanwhile_rooms", "/receipts": "[]", "/healthz": "ok",
		"/readyz": "ready", "/debug/pprof/": "goroutine", "/debug/pprof/cmdline": ""} {
		r, b := get(t, url+path)
		if r.StatusCode != http.StatusOK || !strings.Contains(string(b), want) {
			t.Errorf("%s: %d, %.60q", path, r.StatusCode, b)
		}
		if status, _, _ := ask(t, s.tcp, "127.0.0.1", path); status != http.StatusNotFound {
			t.Errorf("%s is on the players' address, too: %d", path, status)
		}
	}
	r, _ := get(t, url+"/receipts")
	if h := r.Header; h.Get("Content-Type") != "application/json" || h.Get("Cache-Control") != "no-store" {
		t.Errorf("/receipts has the headers %v", h)
	}
	if status, _, _ := ask(t, s.tcp, "127.0.0.1", "/truth"); status != http.StatusNotFound {
		t.Errorf("/truth is where others reach it: %d", status)
	}
	if _, b := get(t, s.URL()+"meanwhile.json"); strings.Contains(string(b), "truth") {
		t.Errorf("the page is offered the truth: %s", b)
	}
}

// A log collects what a site says.
type diary struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *diary) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *diary) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Players behind a proxy have addresses of their own if it is trusted, and only then: strangers may
// not choose one.
func TestProxiedPlayers(t *testing.T) {
	for _, trusted := range []bool{true, false} {
		var log diary
		d := Door{UDP: udpOff}
		if trusted {
			d.TrustProxy, d.PublicAddr = []string{"127.0.0.0/8"}, "game.example"
		}
		s, err := Listen(Config{Addr: "127.0.0.1:0", Door: d, Host: host.Config{Rules: rules(t), // and no more:
			// while a host runs, its log is written behind it
			Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		var seen string
		h := s.forwarded(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.RemoteAddr }))
		r, err := http.NewRequest(http.MethodGet, "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.RemoteAddr = "127.0.0.1:5000"
		r.Header.Set("X-Forwarded-For", "192.0.2.44")
		h.ServeHTTP(nil, r)
		want := "127.0.0.1:5000"
		if trusted {
			want = "192.0.2.44:0"
		}
		if seen != want {
			t.Errorf("trusted %v: the player comes from %s, want %s", trusted, seen, want)
		}
		if complained := strings.Contains(log.String(), "mend it with --trust-proxy"); complained == trusted {
			t.Errorf("trusted %v: the log says %q", trusted, log.String())
		}
		if trusted && (s.URL() != "https://game.example/" || !strings.Contains(s.players(), "WebSocket only")) {
			t.Errorf("%s %s", s.URL(), s.players())
		}
	}
}

// Limits per address are those of the players behind a proxy, each with its own.
func TestLimitsBehindAProxy(t *testing.T) {
	s := serve(t, Config{Door: Door{UDP: udpOff, TrustProxy: []string{"127.0.0.1"}},
		Host: host.Config{PlayersPerAddress: 1}}, fake(t))
	inner := &url.URL{Scheme: "http", Host: s.tcp.Addr().String()}
	var from atomic.Value
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(inner)
		r.Out.Header.Set("X-Forwarded-For", "203.0.113.5, "+from.Load().(string)) // the first is made up
	}})
	defer proxy.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for i, c := range []struct {
		from string
		in   bool
	}{{"192.0.2.1", true}, {"192.0.2.1", false}, {"192.0.2.2", true}, {"2001:db8::1", true}, {"2001:db8::2", false}} {
		from.Store(c.from)
		conn, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(proxy.URL, "http")+transport.Path,
			websocket.DialConfig{Clock: func() clock.Time { return 0 }})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close("")
		hello := session.Hello{Schema: rules(t).Hash, Name: "player", Nonce: [session.KeySize]byte{byte(i + 1)}}
		b, err := hello.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SendMessage(b) // a refusal may have ended the connection already
		if b, err = conn.ReceiveMessage(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := session.DecodeWelcome(b); (err == nil) != c.in {
			t.Errorf("player %d from %s: in is %v, want %v (%v)", i, c.from, err == nil, c.in, session.Refused(b, ""))
		}
	}
}

// Over https with a certificate of an authority nothing is pinned: clients trust it on QUIC and
// WebTransport as on TCP. A certificate that changes is used by new connections, and the old ones
// stay.
func TestOneCertificateForAllTransports(t *testing.T) {
	a := authority.New(t)
	certFile, keyFile := a.Issue(time.Now().Add(100*time.Hour), "game.example")
	s := serve(t, Config{Door: Door{TLSCert: certFile, TLSKey: keyFile}}, fake(t))
	if !strings.HasPrefix(s.URL(), "https://game.example:") {
		t.Errorf("the address is %s", s.URL())
	}
	_, port, _ := splitAddr(s.tcp.Addr())
	trust := &tls.Config{RootCAs: a.Pool(), ServerName: "game.example"}
	page := &http.Client{Transport: &http.Transport{TLSClientConfig: trust, DisableKeepAlives: true}}
	response, err := page.Get("https://127.0.0.1:" + port + "/meanwhile.json")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var config pageConfig
	if err := json.NewDecoder(response.Body).Decode(&config); err != nil {
		t.Fatal(err)
	}
	if config.WebTransport == nil || config.WebTransport.URL != ":"+port+transport.Path ||
		config.WebTransport.Hashes != nil {
		t.Errorf("the page gets %+v", config.WebTransport)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	now := func() clock.Time { return 0 }
	dials := map[string]func() (transport.Conn, error){
		"quic": func() (transport.Conn, error) {
			return quic.Dial(ctx, s.QUIC(), quic.DialConfig{Clock: now, TLS: trust})
		},
		"webtransport": func() (transport.Conn, error) {
			return webtransport.Dial(ctx, "https://127.0.0.1:"+port+transport.Path,
				webtransport.DialConfig{Clock: now, TLS: trust})
		},
		"websocket": func() (transport.Conn, error) {
			return websocket.Dial(ctx, "wss://127.0.0.1:"+port+transport.Path,
				websocket.DialConfig{Clock: now, TLS: trust})
		},
	}
	open := map[string]transport.Conn{}
	for name, dial := range dials {
		if open[name], err = dial(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	later := time.Now().Add(200 * time.Hour)
	a.Write(certFile, keyFile, later, "game.example")
	until := func() time.Time {
		c, err := tls.Dial("tcp", "127.0.0.1:"+port, trust)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].NotAfter
	}
	for until().Before(later.Add(-time.Minute)) { // it looks at the files once a second
		time.Sleep(50 * time.Millisecond)
	}
	for name, conn := range open {
		if conn == nil {
			continue
		}
		if err := conn.Err(); err != nil {
			t.Errorf("%s ended: %v", name, err)
		}
		conn.Close("")
		again, err := dials[name]()
		if err != nil {
			t.Errorf("%s with the new certificate: %v", name, err)
			continue
		}
		again.Close("")
	}
	trust.ServerName = "other.example"
	if _, err := dials["quic"](); err == nil {
		t.Error("a certificate for another name passes")
	}
}

// The secret that ends connections of the last run outlasts it, and nobody else reads it.
func TestResetKeyIsKept(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "state")
	first, err := resetKey(folder)
	if err != nil || *first == [quic.ResetKeySize]byte{} {
		t.Fatal(first, err)
	}
	if again, err := resetKey(folder); err != nil || *again != *first {
		t.Errorf("%x, then %x, %v", *first, again, err)
	}
	name := filepath.Join(folder, resetFile)
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(name, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := resetKey(folder); err == nil || !strings.Contains(err.Error(), "has 5 bytes instead of 32; delete it") {
		t.Error(err)
	}
	if key, err := resetKey(""); key != nil || err != nil {
		t.Error(key, err)
	}
}

// The first lines of a server say where it is and what players get there.
func TestPlayersAreTold(t *testing.T) {
	a := authority.New(t)
	certFile, keyFile := a.Issue(time.Now().Add(100*time.Hour), "game.example", "*.game.example")
	for _, c := range []struct {
		addr string
		door Door
		url  string // P stands for the port
		want string
	}{
		{"127.0.0.1:0", Door{}, "http://127.0.0.1:P/",
			"on this machine get: page, WebTransport, WebSocket. Others need --addr :P."},
		{"127.0.0.1:0", Door{UDP: "off"}, "http://127.0.0.1:P/", "on this machine get: page, WebSocket."},
		{"0.0.0.0:0", Door{}, "http://127.0.0.1:P/", "page, WebSocket only: no https"},
		{"0.0.0.0:0", Door{PublicAddr: "192.0.2.1:80"}, "http://192.0.2.1:80/", "page, WebSocket only: no https"},
		{"127.0.0.1:0", Door{PublicAddr: "127.0.0.1:81"}, "http://127.0.0.1:81/",
			"on this machine get: page, WebTransport, WebSocket. Others need another --public-addr."},
		{"127.0.0.1:0", Door{PublicAddr: "localhost:81", UDP: "off"}, "http://localhost:81/", "page, WebSocket only"},
		{"0.0.0.0:0", Door{TLSCert: certFile, TLSKey: keyFile}, "https://game.example:P/",
			"page, WebTransport, WebSocket, if TCP port P and UDP port U are open."},
		{"0.0.0.0:0", Door{TLSCert: certFile, TLSKey: keyFile, PublicAddr: "game.example:443"}, "https://game.example/",
			"page, WebTransport, WebSocket, if TCP port P and UDP port U are open."},
		{"0.0.0.0:0", Door{TLSCert: certFile, TLSKey: keyFile, UDP: "off"}, "https://game.example:P/",
			"page, WebSocket only: --udp off"},
		{"0.0.0.0:0", Door{ACME: []string{"play.example"}, State: t.TempDir()}, "https://play.example:P/",
			"The authority of --acme asks at TCP port 443, which must lead to port P here."},
		{"127.0.0.1:0", Door{TrustProxy: []string{"127.0.0.1"}, PublicAddr: "game.example"}, "https://game.example/",
			"through the reverse proxy: page, WebSocket; WebTransport where UDP port U"},
		{"127.0.0.1:0", Door{TrustProxy: []string{"127.0.0.1"}, PublicAddr: "game.example:80"}, "http://game.example:80/",
			"page, WebSocket only: no https"},
	} {
		s, err := Listen(Config{Addr: c.addr, Door: c.door, Host: host.Config{Rules: rules(t)}})
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := splitAddr(s.tcp.Addr())
		url, want := strings.Replace(c.url, ":P/", ":"+port+"/", 1), strings.ReplaceAll(c.want, "ort P", "ort "+port)
		_, udp, _ := net.SplitHostPort(s.QUIC()) // another one if that of the same number is taken
		want = strings.Replace(strings.Replace(want, ":P.", ":"+port+".", 1), "UDP port U", "UDP port "+udp, 1)
		if s.URL() != url || !strings.Contains(s.players(), want) {
			t.Errorf("%+v: %s %q; want %s %q", c.door, s.URL(), s.players(), url, want)
		}
		s.Close()
	}
}

// Plain http leads to https, for the server's own names alone.
func TestRedirect(t *testing.T) {
	a := authority.New(t)
	certFile, keyFile := a.Issue(time.Now().Add(100*time.Hour), "game.example")
	s := serve(t, Config{Door: Door{TLSCert: certFile, TLSKey: keyFile, Redirect: "127.0.0.1:0",
		PublicAddr: "game.example"}}, fake(t))
	status, h, _ := ask(t, s.plain, "game.example", "/room?room=hall")
	if status != http.StatusPermanentRedirect || h.Get("Location") != "https://game.example/room?room=hall" {
		t.Errorf("%d to %q", status, h.Get("Location"))
	}
	if status, _, _ := ask(t, s.plain, "evil.example", "/"); status != http.StatusMisdirectedRequest {
		t.Errorf("another name: %d", status)
	}
}

// Handshakes neither wait for the authority nor ask it for anything: that is for the server alone.
func TestHandshakesDoNotWaitForTheAuthority(t *testing.T) {
	asked := make(chan struct{}, 100)
	directory := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{} }))
	defer directory.Close()
	state := t.TempDir()
	c := fromAuthority(&Door{ACME: []string{"Game.example"}, ACMEURL: directory.URL, State: state})
	for _, name := range []string{"game.example", "GAME.example.", "", "other.example"} {
		_, err := c.get(&tls.ClientHelloInfo{ServerName: name, SupportedVersions: []uint16{tls.VersionTLS13}})
		if err == nil || !strings.Contains(err.Error(), "there is no certificate for") {
			t.Errorf("%q: %v", name, err)
		}
	}
	// Nor does one of a client that knows RSA alone, once there is a certificate.
	certFile, keyFile := authority.New(t).Issue(time.Now().Add(100*time.Hour), "game.example")
	var both []byte
	for _, name := range []string{keyFile, certFile} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		both = append(both, b...)
	}
	if err := os.WriteFile(filepath.Join(state, "game.example"), both, 0o600); err != nil { // as autocert keeps it
		t.Fatal(err)
	}
	c.acme.ready.Store("game.example", true)
	if _, err := c.get(&tls.ClientHelloInfo{ServerName: "Game.example", SupportedVersions: []uint16{tls.VersionTLS12},
		SignatureSchemes: []tls.SignatureScheme{tls.PKCS1WithSHA256},
		CipherSuites:     []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}}); err != nil {
		t.Error(err)
	}
	if len(asked) > 0 {
		t.Error("a handshake asked the authority")
	}
}

// A program speaks under its name, once: neither the package nor the game of that name comes again.
func TestSentence(t *testing.T) {
	for _, err := range []string{"site: no page", "game: no page", "no page", "game: pilots: no page", "pilots: no page"} {
		if got := Sentence("pilots", errors.New(err)); got != "pilots: no page" {
			t.Errorf("%q becomes %q", err, got)
		}
	}
}
