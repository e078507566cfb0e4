// Package site serves one game: its page, the page's program in WebAssembly, and the sockets on
// which players connect. Package app and the program meanwhile share it.
package site

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"log/slog"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
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
	"meanwhile/host/bolt"
	"meanwhile/host/otlp"
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
	readTimeout   = 10 * time.Second // of a whole request; only reports have large bodies, see reportTimeout
	idleTimeout   = 60 * time.Second
	writeTimeout  = 5 * time.Minute // of an answer that is not written in pieces, see StallTimeout
	maxHeader     = 16 << 10
	endPatience   = 2 * time.Second
	truthTimeout  = 2 * time.Second // to write one message of /truth; slower readers are dropped
)

// Config describes a Site. Host.Rules and Addr must be set.
type Config struct {
	// Host configures the host. Its NewBot is set here; its Log is the site's too.
	Host host.Config
	// Addr is the TCP address of the page and of WebSocket, "host:port". QUIC and WebTransport get
	// the UDP port of the same number if it is free, else any other.
	Addr string
	// Door says how players on other machines reach the site.
	Door Door
	// Pages are the trees of the page's files; the first that has a name wins. The library's own
	// files come last.
	Pages []fs.FS
	// Handlers answer further requests, by patterns of http.ServeMux, before Pages do. Listen
	// refuses patterns that are malformed or the site's own.
	Handlers map[string]http.Handler
	// Truth serves /truth, the server's own positions of all avatars, and what Door.Metrics offers
	// at /metrics and /receipts. Cheats would profit, so it is for demonstrations on this machine:
	// it has no effect on addresses that others reach.
	Truth bool
	// Authenticate says who asks for a connect token, at POST /token. It may wait for others, and
	// is called by several goroutines. If it is set, only players with a token get in. Its error is
	// shown to the player.
	Authenticate func(Applicant) (Account, error)
	// Develop shows in pages what the rules did wrong, where nobody but this machine reaches Addr.
	Develop bool
	// Dev is set where "dev" runs this program; it implies Develop.
	Dev *Dev
}

// A Site is the sockets of a game and the handlers behind them. See Listen.
type Site struct {
	cfg   Config
	log   *slog.Logger
	host  *host.Host
	store *bolt.Store // of Host.Store, if the site opened it
	lock  *bolt.Store // nil: no rooms are kept
	login *login      // issues connect tokens, or nil
	tcp   net.Listener
	udp   *quic.Listener // or nil
	ws    *ws.Server
	gate  *transport.Gate
	op    net.Listener // of whoever runs the server, or nil
	// exporter sends figures to a collector, or is nil.
	exporter *otlp.Exporter
	plain    net.Listener // of plain http that leads to https, or nil
	cert     *certificate
	front    *front
	origins  transport.Origins
	program  atomic.Pointer[Program]
	develop  bool           // pages have the script of whoever writes the game
	feeds    sync.WaitGroup // handlers that http.Server no longer knows

	refused  atomic.Uint64 // TCP connections beyond the limits
	mistakes sync.Map      // sentences about the rules that were logged

	mu     sync.Mutex
	logged map[string][]string // by once: values by sentence
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

// Listen opens the sockets of a site. The caller must then call Serve or Close. See Status for what
// an error means.
func Listen(cfg Config) (*Site, error) {
	if err := checkAddr(cfg.Addr); err != nil {
		return nil, err
	}
	if err := checkHandlers(cfg); err != nil {
		return nil, err
	}
	if cfg.Host.Log == nil {
		cfg.Host.Log = slog.New(slog.DiscardHandler)
	}
	s := &Site{log: cfg.Host.Log}
	cfg.Host.NewBot = s.newBot
	s.cfg = cfg
	var err error
	if s.front, err = cfg.Door.check(cfg.Addr); err != nil {
		return nil, err
	}
	s.openDevelop()
	if err := s.openStore(); err != nil {
		return nil, err
	}
	if s.cfg.Host.Drain, s.cfg.Host.DrainTo = cfg.Door.Drain, cfg.Door.DrainTo; cfg.Host.Drain > 0 {
		s.cfg.Host.Drain, s.cfg.Host.DrainTo = cfg.Host.Drain, cfg.Host.DrainTo
	}
	if n := cfg.Door.RoomsPerAddress; n != 0 {
		s.cfg.Host.RoomsPerAddress = n
	}
	s.cfg.Host.Spectators, s.cfg.Host.WatchLate = cfg.Door.Spectators, cfg.Door.WatchDelay
	s.cfg.Host.Check = cfg.Door.Check
	s.gate = transport.NewGate(0, 0)
	s.cfg.Host.Gate = s.gate
	if err := s.openLogin(); err != nil {
		s.Close()
		return nil, err
	}
	if err := s.openExporter(); err != nil {
		s.Close()
		return nil, err
	}
	if s.host, err = host.New(s.cfg.Host); err == nil {
		s.log = s.host.Log()
	}
	if err == nil && cfg.Door.State != "" {
		err = s.host.KeepBans(filepath.Join(cfg.Door.State, bansFile))
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	if err := s.listen(); err != nil {
		s.Close()
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

// unusable explains why the address of a flag cannot be listened on.
func unusable(flag, addr string, err error) error {
	text := fmt.Sprintf("cannot listen on %s: %v; choose another address with %s", addr, err, flag)
	var errno syscall.Errno
	if errors.As(err, &errno) && (errno == syscall.EADDRINUSE || errno == wsaAddrInUse) {
		text = fmt.Sprintf("%s is in use by another program; stop that one or choose another address with %s", addr, flag)
	} else if errors.As(err, &errno) && errno == syscall.EACCES {
		text = fmt.Sprintf("this user may not listen on %s; choose a port above 1023 with %s, "+
			"or allow it (systemd: AmbientCapabilities=CAP_NET_BIND_SERVICE)", addr, flag)
	}
	return &addrError{addr, text, err}
}

// listen opens the sockets and makes the handler of WebSockets. Close closes those that are open.
func (s *Site) listen() error {
	d := &s.cfg.Door
	for _, l := range []struct {
		flag, addr string
		into       *net.Listener
	}{{"--addr", s.cfg.Addr, &s.tcp}, {"--metrics", d.Metrics, &s.op}, {"--redirect", d.Redirect, &s.plain}} {
		if l.addr == "" {
			continue
		}
		var err error
		if *l.into, err = net.Listen("tcp", l.addr); err != nil {
			return unusable(l.flag, l.addr, err)
		}
	}
	if s.op != nil {
		if ip, _, _ := splitAddr(s.op.Addr()); !ip.IsLoopback() {
			s.log.Warn("--metrics is not on this machine's own address; let only those reach it who run the server",
				"address", s.op.Addr().String())
		}
	}
	ip, port, err := net.SplitHostPort(s.tcp.Addr().String())
	if err != nil {
		return err
	}
	if s.cert, err = s.certificate(append([]string{"localhost", "127.0.0.1", "::1"}, s.front.names...)); err != nil {
		return err
	}
	s.origins = s.front.allowed(port, s.cert.names)
	s.ws, err = ws.NewServer(ws.Config{Clock: s.host.Clock(), Origins: s.origins, Gate: s.gate,
		HelloTimeout: s.cfg.Host.HelloTimeout})
	if err != nil || d.UDP == udpOff {
		return err
	}
	key, err := resetKey(d.State)
	if err != nil {
		return err
	}
	open := func(addr string) (*quic.Listener, error) {
		return quic.Listen(quic.Config{
			Addr: addr, Clock: s.host.Clock(), Certificate: s.cert.get, Origins: s.origins, Gate: s.gate,
			HelloTimeout: s.cfg.Host.HelloTimeout, ResetKey: key,
		})
	}
	if d.UDP != "" {
		if s.udp, err = open(d.UDP); err != nil {
			return unusable("--udp", d.UDP, err)
		}
		return nil
	}
	if s.udp, err = open(net.JoinHostPort(ip, port)); err != nil {
		s.log.Warn("the UDP port is taken; another one is used, which a firewall may not let through", "port", port,
			"error", err)
		if s.udp, err = open(net.JoinHostPort(ip, "0")); err != nil {
			return unusable("--addr", s.cfg.Addr, err)
		}
	}
	return nil
}

// local reports whether only this machine reaches the site.
func (s *Site) local() bool {
	a, ok := s.tcp.Addr().(*net.TCPAddr)
	return ok && a.IP.IsLoopback() && s.front.public == "" && len(s.front.proxies) == 0
}

// Host returns the host, for its counters.
func (s *Site) Host() *host.Host { return s.host }

// URL is the address of the page, as players know it if that is known, else on this machine.
func (s *Site) URL() string {
	scheme := "http://"
	if s.front.https {
		scheme = "https://"
	}
	if s.front.public != "" {
		return scheme + strings.TrimSuffix(s.front.public, ":443") + "/"
	}
	a, ok := s.tcp.Addr().(*net.TCPAddr)
	if !ok {
		return scheme + s.tcp.Addr().String() + "/"
	}
	ip := a.IP.String()
	switch {
	case len(s.cert.names) > 0:
		return scheme + withPort(s.cert.names[0], strconv.Itoa(a.Port)) + "/"
	case a.IP.IsUnspecified():
		ip = "127.0.0.1"
	case a.Zone != "":
		ip += "%25" + a.Zone
	}
	return scheme + net.JoinHostPort(ip, strconv.Itoa(a.Port)) + "/"
}

// players says what players get, and how they would get more.
func (s *Site) players() string {
	_, port, _ := splitAddr(s.tcp.Addr())
	udp := ""
	if s.udp != nil {
		_, udp, _ = net.SplitHostPort(s.udp.Addr())
	}
	switch {
	case s.local() && udp == "":
		return "Players on this machine get: page, WebSocket."
	case s.local():
		return "Players on this machine get: page, WebTransport, WebSocket. Others need --addr :" + port + "."
	case udp != "" && !s.front.https && thisMachine(s.front.public): // as behind "meanwhile proxy"
		return "Players on this machine get: page, WebTransport, WebSocket. Others need another --public-addr."
	case !s.front.https:
		return "Players get: page, WebSocket only: no https, so browsers on other machines have no WebTransport and a " +
			"coarse clock. Mend it with --acme DOMAIN, with --tls-cert and --tls-key, or with a reverse proxy and --trust-proxy."
	case udp == "":
		return "Players get: page, WebSocket only: --udp off leaves WebTransport out."
	case !s.cfg.Door.secure():
		return "Players get, through the reverse proxy: page, WebSocket; WebTransport where UDP port " + udp +
			" of this server is reached directly under the page's name. Leave it out with --udp off."
	}
	text := "Players get: page, WebTransport, WebSocket, if TCP port " + port + " and UDP port " + udp + " are open."
	if s.cert.acme != nil && port != "443" && s.plain == nil {
		text += " The authority of --acme asks at TCP port 443, which must lead to port " + port + " here."
	}
	return text
}

// thisMachine reports whether a HOST or HOST:PORT is an address of this machine alone, whose pages
// browsers trust without https.
func thisMachine(public string) bool {
	name, _, err := net.SplitHostPort(public)
	if err != nil {
		name = public
	}
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// QUIC returns the UDP address of native clients and WebTransport, "host:port", or "" without any.
func (s *Site) QUIC() string {
	if s.udp == nil {
		return ""
	}
	return s.udp.Addr()
}

// Fingerprints returns the certificates that clients may pin: none if they trust an authority.
func (s *Site) Fingerprints() ([]cert.Fingerprint, error) {
	if s.cert.pins == nil {
		return nil, nil
	}
	return s.cert.pins()
}

// Close releases the sockets of a site that is not served.
func (s *Site) Close() {
	for _, l := range []net.Listener{s.tcp, s.op, s.plain} {
		if l != nil {
			_ = l.Close()
		}
	}
	if s.udp != nil {
		s.udp.Close("")
	}
	if s.ws != nil {
		s.ws.Close("")
	}
	s.closeStore()
}

// Serve serves until ctx ends, then sends the players away and returns when everything has ended.
// If program is nil, the page gets an error, and only native clients play.
func (s *Site) Serve(ctx context.Context, program *Program) error {
	s.program.Store(program)
	base, endBase := context.WithCancel(context.WithoutCancel(ctx)) // of requests, until the players have left
	defer endBase()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		serving sync.WaitGroup
		servers []*http.Server
		once    sync.Once
		failed  error // of HTTP, which ends everything
	)
	serve := func(l net.Listener, t *tls.Config, handler http.Handler) {
		if l == nil {
			return
		}
		if t != nil {
			l = tls.NewListener(l, t)
		}
		h := newHTTPServer(handler, s.log)
		h.BaseContext = func(net.Listener) context.Context { return base }
		servers = append(servers, h)
		serving.Go(func() {
			if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				once.Do(func() { failed = fmt.Errorf("site: %w", err) })
				cancel()
			}
		})
	}
	serve(bound(s.tcp, s.front.trusts, &s.refused, s.log), s.tls(), s.handler())
	serve(s.op, nil, s.operator())
	if s.plain != nil {
		serve(bound(s.plain, s.front.trusts, &s.refused, s.log), nil, s.toHTTPS())
	}
	if s.cert.acme != nil {
		go s.cert.acme.obtain(ctx, s.log) // the authority may take minutes, for which nobody waits
	}
	listeners := []transport.Listener{s.ws}
	if s.udp != nil {
		listeners = append(listeners, s.udp)
	}
	endExports := s.exportFigures()
	if s.cfg.Dev != nil {
		go s.obey(s.cfg.Dev) // ends with its orders, or with the program
	}
	err := s.host.Run(ctx, listeners...)
	cancel() // if it was the host that failed
	endBase()
	end, done := context.WithTimeout(context.Background(), endPatience)
	defer done()
	for _, h := range servers {
		if h.Shutdown(end) != nil {
			_ = h.Close()
		}
	}
	serving.Wait()
	endExports()
	s.feeds.Wait()
	s.closeStore()
	return errors.Join(err, failed)
}

// newHTTPServer returns an HTTP server that no client can hold up or fill with headers.
func newHTTPServer(h http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           brisk(h),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(complaints{logger}, "", 0),
	}
}

// complaints logs what net/http complains of, which is mostly what strangers do. The text is an
// attribute, since it has their addresses: the log bounds lines by their message.
type complaints struct{ log *slog.Logger }

// Write implements io.Writer.
func (c complaints) Write(line []byte) (int, error) {
	c.log.Debug("a connection failed", "error", strings.TrimSpace(string(line)))
	return len(line), nil
}

// checkHandlers returns an error that names the pattern of a handler that cannot be one.
func checkHandlers(cfg Config) error {
	own := []string{
		"/", "/meanwhile.json", "/" + cfg.Host.Rules.Name + ".wasm", "/wasm_exec.js", transport.Path, reportPath,
		tokenPath, "/truth", devStatusPath,
	}
	mux := http.NewServeMux()
	for _, path := range own {
		mux.Handle(path, http.NotFoundHandler())
	}
	for _, pattern := range slices.Sorted(maps.Keys(cfg.Handlers)) {
		err := addHandler(mux, pattern, cfg.Handlers[pattern])
		for _, path := range own {
			for _, method := range []string{"GET", "POST"} {
				r := &http.Request{Method: method, URL: &url.URL{Path: path}}
				if _, got := mux.Handler(r); got != path && err == nil {
					err = fmt.Errorf("%s is the library's own", path)
				}
			}
		}
		if err != nil {
			return fmt.Errorf("site: the handler of %q cannot be added: %w", pattern, err)
		}
	}
	return nil
}

func addHandler(mux *http.ServeMux, pattern string, h http.Handler) (err error) {
	defer func() {
		if why := recover(); why != nil { // which is how net/http refuses, with lines of source behind the first one
			first, _, _ := strings.Cut(fmt.Sprint(why), "\n")
			err = errors.New(first)
		}
	}()
	mux.Handle(pattern, h)
	return nil
}

// handler answers every request over HTTP.
func (s *Site) handler() http.Handler {
	mux := http.NewServeMux()
	name := s.cfg.Host.Rules.Name
	mux.HandleFunc("GET /meanwhile.json", s.config)
	mux.HandleFunc("GET /"+name+".wasm", s.part(func(p *Program) *asset { return p.wasm }))
	mux.HandleFunc("GET /wasm_exec.js", s.part(func(p *Program) *asset { return p.exec }))
	mux.Handle(transport.Path, s.ws)
	reports := newReports()
	mux.HandleFunc("POST "+reportPath, func(w http.ResponseWriter, r *http.Request) { reports.answer(s, w, r) })
	if s.cfg.Authenticate != nil {
		mux.HandleFunc("POST "+tokenPath, s.token)
		mux.HandleFunc("OPTIONS "+tokenPath, s.mayAsk)
	}
	if s.cfg.Truth && s.local() {
		mux.HandleFunc("GET /truth", s.truth)
		s.figures(mux)
	}
	for pattern, h := range s.cfg.Handlers {
		mux.Handle(pattern, h)
	}
	tree := &files{trees: append(append([]fs.FS(nil), s.cfg.Pages...), web.Files), log: s.log}
	if s.develop {
		mux.HandleFunc("GET "+devStatusPath, s.devStatus)
		tree.tail = devScript
	}
	mux.Handle("/", s.ahead(tree))
	return s.forwarded(s.known(headers(s.shared(mux))))
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
	WebTransport *webTransport `json:"webtransport,omitempty"`
	WebSocket    string        `json:"websocket"`
	Truth        bool          `json:"truth,omitempty"`
	Saves        bool          `json:"saves,omitempty"`
	Reports      bool          `json:"reports,omitempty"`
	Login        string        `json:"login,omitempty"`
	Ends         bool          `json:"ends,omitempty"`
	To           string        `json:"to,omitempty"`
}

type webTransport struct {
	URL    string   `json:"url"`
	Hashes []string `json:"hashes,omitempty"` // none: the page trusts the certificate's authority
}

// udpPort is the UDP port that players use: what maps the TCP port for them maps that of the same
// number, too, unless it is a proxy.
func (s *Site) udpPort() string {
	_, port, _ := net.SplitHostPort(s.udp.Addr())
	_, tcp, _ := splitAddr(s.tcp.Addr())
	if _, public, err := net.SplitHostPort(s.front.public); err == nil && port == tcp && len(s.front.proxies) == 0 {
		return public
	}
	return port
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
	prints, err := s.Fingerprints()
	if err != nil {
		s.log.Error("no certificate", "error", err)
		refuse(http.StatusInternalServerError, "The server has no certificate.")
		return
	}
	rules := s.cfg.Host.Rules
	c := pageConfig{
		Game: rules.Name, Room: room,
		// Other rules, another protocol or another program: the page has to be loaded again.
		Schema: fmt.Sprintf("%d-%016x-%s", session.Version, rules.Hash, p.wasm.hash[:16]),
		Wasm:   "/" + rules.Name + ".wasm", WasmBytes: len(p.wasm.raw), Exec: "/wasm_exec.js",
		WebSocket: transport.Path, Truth: s.cfg.Truth && s.local(),
		Saves: s.cfg.Host.Store != nil && rules.Saved(false) != nil, Reports: s.cfg.Host.Journal != "",
	}
	if s.cfg.Authenticate != nil {
		c.Login = tokenPath
	}
	if s.host.State() == "draining" {
		c.Ends, c.To = true, s.cfg.Host.DrainTo
	}
	if s.udp != nil {
		c.WebTransport = &webTransport{URL: ":" + s.udpPort() + transport.Path}
		for _, f := range prints {
			c.WebTransport.Hashes = append(c.WebTransport.Hashes, f.String())
		}
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

// truth answers /truth with the server's own positions of the avatars in a room. A WebSocket gets
// them about thirty times a second, as float32 little-endian: tick, n, then n times id, x, y, z in
// metres. A plain request gets the estimated capacity of each player's path once: {"id": bytes a
// second}.
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
