// Package site serves one game: its page, the page's program in WebAssembly, and the sockets on which
// players connect. Package app and the program meanwhile share it.
package site

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coder/websocket"

	"meanwhile/game"
	"meanwhile/headless"
	"meanwhile/host"
	"meanwhile/host/metrics"
	"meanwhile/netcode/clock"
	"meanwhile/session"
	"meanwhile/transport"
	"meanwhile/transport/cert"
	"meanwhile/transport/quic"
	ws "meanwhile/transport/websocket"
	"meanwhile/web"
)

// Limits of HTTP.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second // of a whole request: nothing that is asked for here has a body
	idleTimeout   = 60 * time.Second
	writeTimeout  = 5 * time.Minute // of a file, on the slowest network that could still play
	maxHeader     = 16 << 10
	endPatience   = 2 * time.Second
	truthTimeout  = 2 * time.Second // to write one message of /truth; slower readers are dropped
)

// Config describes a Site. Host.Rules and Addr must be set.
type Config struct {
	// Host configures the host. Its NewBot is set here; its Log is the site's too.
	Host host.Config
	// Addr is the TCP address of the page and of WebSocket, "host:port". QUIC and WebTransport get the
	// UDP port of the same number if it is free, else any other.
	Addr string
	// Pages are the trees of the page's files; the first that has a name wins. The library's own files
	// come last.
	Pages []fs.FS
	// Handlers answer further requests, by patterns of http.ServeMux.
	Handlers map[string]http.Handler
	// Truth serves /truth, the server's own positions of all avatars: for demonstrations only, since
	// cheats would profit.
	Truth bool
	// Metrics serves /metrics to Prometheus, and /receipts: how each player's newest shots were
	// judged. It is for whoever runs the server.
	Metrics bool
}

// A Site is the sockets of a game and the handlers behind them. See Listen.
type Site struct {
	cfg     Config
	log     *slog.Logger
	host    *host.Host
	tcp     net.Listener
	udp     *quic.Listener
	ws      *ws.Server
	cert    *cert.SelfSigned
	origins transport.Origins
	program atomic.Pointer[Program]
	feeds   sync.WaitGroup // handlers that http.Server no longer knows

	mistakes sync.Map // sentences about the rules that were logged
}

// An addrError reports an address on which the site cannot listen. Its text is for a person.
type addrError struct {
	Addr string
	Text string
	Err  error
}

func (e *addrError) Error() string { return e.Text }
func (e *addrError) Unwrap() error { return e.Err }

// checkAddr returns an error unless addr has the form host:port.
func checkAddr(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return &addrError{addr,
			fmt.Sprintf("%q is not an address of the form host:port, such as 127.0.0.1:8080 or :8080", addr), err}
	}
	return nil
}

// wsaAddrInUse is EADDRINUSE on Windows.
const wsaAddrInUse = syscall.Errno(10048)

// Listen opens the sockets of a site. The caller must then call Serve or Close. See Status for what an
// error means.
func Listen(cfg Config) (*Site, error) {
	if err := checkAddr(cfg.Addr); err != nil {
		return nil, err
	}
	if cfg.Host.Log == nil {
		cfg.Host.Log = slog.New(slog.DiscardHandler)
	}
	s := &Site{log: cfg.Host.Log}
	cfg.Host.NewBot = s.newBot
	s.cfg = cfg
	var err error
	if s.host, err = host.New(cfg.Host); err != nil {
		return nil, err
	}
	if s.tcp, err = net.Listen("tcp", cfg.Addr); err != nil {
		return nil, unusable(cfg.Addr, err)
	}
	if err := s.listen(); err != nil {
		_ = s.tcp.Close()
		return nil, err
	}
	return s, nil
}

// newBot makes the bots of rooms. What they notice about the rules is logged once.
func (s *Site) newBot(rules *game.Rules, welcome session.Welcome, now clock.Time) (host.Bot, error) {
	return headless.NewBot(rules, welcome, now, func(sentence string) {
		if _, known := s.mistakes.LoadOrStore(sentence, true); !known {
			s.log.Warn(sentence)
		}
	})
}

// unusable explains why an address cannot be listened on.
func unusable(addr string, err error) error {
	text := fmt.Sprintf("cannot listen on %s: %v; choose another address with --addr", addr, err)
	var errno syscall.Errno
	if errors.As(err, &errno) && (errno == syscall.EADDRINUSE || errno == wsaAddrInUse) {
		text = fmt.Sprintf("%s is in use by another program; stop that one or choose another address with --addr", addr)
	} else if errors.As(err, &errno) && errno == syscall.EACCES {
		text = fmt.Sprintf("this user may not listen on %s; choose a port above 1023 with --addr", addr)
	}
	return &addrError{addr, text, err}
}

// listen opens the UDP socket and makes the WebSocket handler.
func (s *Site) listen() error {
	name, _, _ := net.SplitHostPort(s.cfg.Addr) // looked at before
	ip, port, err := net.SplitHostPort(s.tcp.Addr().String())
	if err != nil {
		return err
	}
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if name != "" && !s.local() {
		hosts = append(hosts, name)
	}
	if s.cert, err = cert.NewSelfSigned(cert.Config{Hosts: hosts}); err != nil {
		return err
	}
	// A page from localhost connects to 127.0.0.1, which is another host: QUIC tries one address
	// only.
	s.origins = transport.Origins{"self", "http://localhost:" + port, "http://127.0.0.1:" + port,
		"http://[::1]:" + port}
	gate := transport.NewGate(0, 0)
	open := func(addr string) (*quic.Listener, error) {
		return quic.Listen(quic.Config{
			Addr: addr, Clock: s.host.Clock(), Certificate: s.cert.GetCertificate, Origins: s.origins, Gate: gate,
			HelloTimeout: s.cfg.Host.HelloTimeout,
		})
	}
	if s.udp, err = open(net.JoinHostPort(ip, port)); err != nil {
		s.log.Warn("the UDP port is taken; another one is used, which a firewall may not let through", "port", port,
			"error", err)
		if s.udp, err = open(net.JoinHostPort(ip, "0")); err != nil {
			return unusable(s.cfg.Addr, err)
		}
	}
	s.ws, err = ws.NewServer(ws.Config{Clock: s.host.Clock(), Origins: s.origins, Gate: gate,
		HelloTimeout: s.cfg.Host.HelloTimeout})
	if err != nil {
		s.udp.Close("")
	}
	return err
}

// local reports whether only this machine reaches the site.
func (s *Site) local() bool {
	a, ok := s.tcp.Addr().(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}

// Host returns the host, for its counters.
func (s *Site) Host() *host.Host { return s.host }

// URL is the address of the page on this machine.
func (s *Site) URL() string {
	a, ok := s.tcp.Addr().(*net.TCPAddr)
	if !ok {
		return "http://" + s.tcp.Addr().String() + "/"
	}
	ip := a.IP.String()
	switch {
	case a.IP.IsUnspecified():
		ip = "127.0.0.1"
	case a.Zone != "":
		ip += "%25" + a.Zone
	}
	return "http://" + net.JoinHostPort(ip, strconv.Itoa(a.Port)) + "/"
}

// note returns what whoever gives the address to others should know, or "".
func (s *Site) note() string {
	if s.local() {
		return ""
	}
	return "Over plain http, browsers on other machines play over WebSocket, without WebTransport; " +
		"put https in front of this server for WebTransport."
}

// QUIC returns the UDP address of native clients and WebTransport, "host:port".
func (s *Site) QUIC() string { return s.udp.Addr() }

// Fingerprints returns the certificates that clients may pin.
func (s *Site) Fingerprints() ([]cert.Fingerprint, error) { return s.cert.Fingerprints() }

// Close releases the sockets of a site that is not served.
func (s *Site) Close() {
	_ = s.tcp.Close()
	s.udp.Close("")
	s.ws.Close("")
}

// Serve serves until ctx ends, then sends the players away and returns when everything has ended. If
// program is nil, the page gets an error, and only native clients play.
func (s *Site) Serve(ctx context.Context, program *Program) error {
	s.program.Store(program)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := newHTTPServer(s.handler(), s.log)
	h.BaseContext = func(net.Listener) context.Context { return ctx }
	var (
		serving sync.WaitGroup
		failed  error // of HTTP, which ends everything
	)
	serving.Go(func() {
		if err := h.Serve(s.tcp); !errors.Is(err, http.ErrServerClosed) {
			failed = fmt.Errorf("site: %w", err)
			cancel()
		}
	})
	err := s.host.Run(ctx, s.udp, s.ws)
	cancel() // if it was the host that failed
	end, done := context.WithTimeout(context.Background(), endPatience)
	defer done()
	if h.Shutdown(end) != nil {
		_ = h.Close()
	}
	serving.Wait()
	s.feeds.Wait()
	return errors.Join(err, failed)
}

// newHTTPServer returns an HTTP server that no client can hold up or fill with headers.
func newHTTPServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// handler answers every request over HTTP.
func (s *Site) handler() http.Handler {
	mux := http.NewServeMux()
	name := s.cfg.Host.Rules.Name
	mux.HandleFunc("GET /meanwhile.json", s.config)
	mux.HandleFunc("GET /"+name+".wasm", s.part(func(p *Program) *asset { return p.wasm }))
	mux.HandleFunc("GET /wasm_exec.js", s.part(func(p *Program) *asset { return p.exec }))
	mux.Handle(transport.Path, s.ws)
	if s.cfg.Truth {
		mux.HandleFunc("GET /truth", s.truth)
	}
	if s.cfg.Metrics {
		mux.Handle("GET /metrics", metrics.Handler(s.host))
		mux.HandleFunc("GET /receipts", s.receipts)
	}
	for pattern, h := range s.cfg.Handlers {
		mux.Handle(pattern, h)
	}
	mux.Handle("/", s.ahead(&files{trees: append(append([]fs.FS(nil), s.cfg.Pages...), web.Files), log: s.log}))
	return headers(mux)
}

// headers adds the headers of every answer. The first two make the browser give pages a fine clock.
func headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Embedder-Policy", "require-corp")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// ahead lets the browser fetch the program and the library while it still reads the page.
func (s *Site) ahead(next http.Handler) http.Handler {
	links := []string{"</" + s.cfg.Host.Rules.Name + ".wasm>; rel=preload; as=fetch; crossorigin",
		"</wasm_exec.js>; rel=modulepreload"}
	for _, url := range web.Modules() {
		links = append(links, "<"+url+">; rel=modulepreload")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if (strings.HasSuffix(r.URL.Path, "/") || strings.HasSuffix(r.URL.Path, ".html")) && s.program.Load() != nil {
			w.Header()["Link"] = links
		}
		next.ServeHTTP(w, r)
	})
}

// part serves one file of the program.
func (s *Site) part(of func(*Program) *asset) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := s.program.Load()
		if p == nil {
			http.Error(w, noProgram, http.StatusNotFound)
			return
		}
		of(p).ServeHTTP(w, r)
	}
}

const noProgram = "This server has no program for browsers; it serves native clients only."

// pageConfig is /meanwhile.json; docs/BRIDGE.md describes it.
type pageConfig struct {
	Game         string        `json:"game"`
	Room         string        `json:"room"`
	Schema       string        `json:"schema"`
	Wasm         string        `json:"wasm"`
	WasmBytes    int           `json:"wasmBytes"`
	Exec         string        `json:"exec"`
	WebTransport *webTransport `json:"webtransport"`
	WebSocket    string        `json:"websocket"`
	Truth        bool          `json:"truth,omitempty"`
}

type webTransport struct {
	URL    string   `json:"url"`
	Hashes []string `json:"hashes"`
}

// config answers /meanwhile.json.
func (s *Site) config(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	refuse := func(status int, text string) { http.Error(w, text, status) }
	p := s.program.Load()
	if p == nil {
		refuse(http.StatusNotFound, noProgram)
		return
	}
	asked := r.URL.Query().Get("room")
	room, err := s.host.Room(asked)
	if err != nil {
		text := strings.TrimPrefix(err.Error(), "host: ")
		status := http.StatusServiceUnavailable
		if asked != "" && host.CheckRoom(asked) != nil {
			status = http.StatusNotFound
		}
		refuse(status, sentence(text))
		return
	}
	prints, err := s.cert.Fingerprints()
	if err != nil {
		s.log.Error("no certificate", "error", err)
		refuse(http.StatusInternalServerError, "The server has no certificate.")
		return
	}
	_, port, err := net.SplitHostPort(s.udp.Addr())
	if err != nil {
		refuse(http.StatusInternalServerError, "The server does not know its port.")
		return
	}
	rules := s.cfg.Host.Rules
	c := pageConfig{
		Game: rules.Name, Room: room,
		// Other rules, another protocol or another program: the page has to be loaded again.
		Schema: fmt.Sprintf("%d-%016x-%s", session.Version, rules.Hash, p.wasm.hash[:16]),
		Wasm:   "/" + rules.Name + ".wasm", WasmBytes: len(p.wasm.raw), Exec: "/wasm_exec.js",
		WebTransport: &webTransport{URL: ":" + port + transport.Path}, WebSocket: transport.Path, Truth: s.cfg.Truth,
	}
	for _, f := range prints {
		c.WebTransport.Hashes = append(c.WebTransport.Hashes, f.String())
	}
	w.Header().Set("Content-Type", types[".json"])
	_ = json.NewEncoder(w).Encode(c)
}

// sentence makes a sentence of the text of an error.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// truth answers /truth with the server's own positions of the avatars in a room. A WebSocket gets them
// about thirty times a second, as float32 little-endian: tick, n, then n times id, x, y, z in metres. A
// plain request gets the estimated capacity of each player's path once: {"id": bytes a second}.
func (s *Site) truth(w http.ResponseWriter, r *http.Request) {
	s.feeds.Add(1) // http.Server still knows the request, and so nobody waits for feeds yet
	defer s.feeds.Done()
	if o := r.Header.Get("Origin"); !s.origins.Allow(o, r.Host) {
		http.Error(w, "not from this page", http.StatusForbidden)
		return
	}
	spectator, err := s.host.Spectate(r.URL.Query().Get("room"))
	if err != nil {
		http.Error(w, sentence(strings.TrimPrefix(err.Error(), "host: ")), http.StatusNotFound)
		return
	}
	defer spectator.Close()
	if r.Header.Get("Upgrade") == "" {
		t, err := spectator.Next(r.Context()) // however long the tick takes
		if err != nil {
			http.Error(w, "The room has ended.", http.StatusNotFound)
			return
		}
		carries := map[game.ID]int{}
		for _, a := range t.Avatars {
			carries[a.ID] = a.Capacity
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_ = json.NewEncoder(w).Encode(carries)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // origins are checked above
	if err != nil {
		return
	}
	defer conn.CloseNow()
	ctx := conn.CloseRead(r.Context())
	var b []byte
	for {
		t, err := spectator.Next(ctx)
		if err != nil {
			_ = conn.Close(websocket.StatusGoingAway, "the room has ended")
			return
		}
		b = b[:0]
		put := func(v float64) { b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v))) }
		put(float64(t.Tick))
		put(float64(len(t.Avatars)))
		for _, a := range t.Avatars {
			put(float64(a.ID))
			put(a.At.X)
			put(a.At.Y)
			put(a.At.Z)
		}
		bounded, cancel := context.WithTimeout(ctx, truthTimeout)
		err = conn.Write(bounded, websocket.MessageBinary, b)
		cancel()
		if err != nil {
			return
		}
	}
}
