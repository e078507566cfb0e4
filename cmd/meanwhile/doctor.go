package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"meanwhile/app/offer"
	"meanwhile/app/site"
	"meanwhile/netcode/clock"
	"meanwhile/session"
	"meanwhile/transport"
	"meanwhile/transport/quic"
	"meanwhile/transport/websocket"
	"meanwhile/transport/webtransport"
)

// Bounds of what a doctor calls well.
const (
	leastValidity = 7 * 24 * time.Hour // of a certificate
	mostClockOff  = 30 * time.Second
	mostTimeout   = time.Minute
	// goodbye is how long a doctor waits for the end of a connection.
	goodbye = 100 * time.Millisecond
)

// doctor holds the flags of meanwhile doctor.
type doctor struct {
	Address string        `arg:"" help:"The page of a server, such as https://game.example or game.example:8443."`
	Origin  []string      `placeholder:"ORIGIN" help:"Check that pages from there may play, too."`
	Timeout time.Duration `default:"5s" help:"How long each check waits for an answer."`

	roots  *x509.CertPool // of authorities, nil: this machine's
	stdout io.Writer
	base   *url.URL
	server *offer.Server
	checks int
	failed int
}

// errUnwell reports checks that failed. They have been printed.
type errUnwell struct{ failed, checks int }

func (e errUnwell) Error() string { return fmt.Sprintf("%d of %d checks failed", e.failed, e.checks) }

// run examines a server and prints a line for each check.
func (d *doctor) run(ctx context.Context, stdout io.Writer) error {
	if d.Timeout <= 0 || d.Timeout > mostTimeout {
		return usageError{fmt.Errorf("--timeout %v is outside (0, %v]", d.Timeout, mostTimeout)}
	}
	for _, origin := range d.Origin {
		if err := site.CheckOrigin(origin); err != nil {
			return usageError{err}
		}
	}
	d.stdout = stdout
	address := d.Address
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	var err error
	if d.base, err = url.Parse(address); err != nil || d.base.Host == "" ||
		d.base.Scheme != "http" && d.base.Scheme != "https" {
		return usageError{fmt.Errorf("%q is not an address such as https://game.example", d.Address)}
	}
	if d.base.Path == "" {
		d.base.Path = "/"
	}
	for _, step := range []func(context.Context) bool{
		d.name, d.https, d.page, d.configuration, d.program, d.transports, d.origins, d.private,
	} {
		if !step(ctx) {
			break // what follows needs what failed
		}
	}
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	if d.failed > 0 {
		return errUnwell{d.failed, d.checks}
	}
	fmt.Fprintf(stdout, "\nAll %d checks passed: players can open %s\n", d.checks, d.base)
	return nil
}

// ok prints a check that passed, fails one that did not and how to mend it, skips one that does not
// apply. fails returns false.
func (d *doctor) ok(what, format string, args ...any) {
	d.checks++
	fmt.Fprintf(d.stdout, "ok     %-13s %s\n", what, fmt.Sprintf(format, args...))
}

func (d *doctor) fails(what, mend, format string, args ...any) bool {
	d.checks++
	d.failed++
	fmt.Fprintf(d.stdout, "FAILS  %-13s %s: %s\n", what, fmt.Sprintf(format, args...), mend)
	return false
}

func (d *doctor) skips(what, format string, args ...any) {
	fmt.Fprintf(d.stdout, "-      %-13s %s\n", what, fmt.Sprintf(format, args...))
}

func (d *doctor) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d.Timeout)
}

// name looks the host's addresses up.
func (d *doctor) name(ctx context.Context) bool {
	host := d.base.Hostname()
	if net.ParseIP(host) != nil {
		return true
	}
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	list, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return d.fails("name", "where you manage the domain, add a record of type A with the server's public IPv4 "+
			"address, or AAAA with its IPv6 address, and wait up to an hour", "%s leads nowhere (%v)", host, err)
	}
	d.ok("name", "%s is %s", host, strings.Join(list, ", "))
	return true
}

// https looks at the certificate, or finds that there is none.
func (d *doctor) https(ctx context.Context) bool {
	const none = "start the server with --acme DOMAIN --state DIR, and it gets a certificate by itself; with --tls-cert " +
		"and --tls-key if you have one; or behind a proxy with https"
	port := d.base.Port()
	if d.base.Scheme == "http" {
		if offer.Loopback(d.base.Hostname()) {
			d.skips("certificate", "none is needed on this machine")
			return true
		}
		d.fails("certificate", none, "there is no https, so browsers play over WebSocket "+
			"alone, where a lost packet holds up all behind it, and have a coarse clock")
		return true
	}
	if port == "" {
		port = "443"
	}
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	address := net.JoinHostPort(d.base.Hostname(), port)
	c, err := (&tls.Dialer{Config: &tls.Config{RootCAs: d.roots}}).DialContext(ctx, "tcp", address)
	var plain tls.RecordHeaderError
	var unknown x509.UnknownAuthorityError
	var other x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case err == nil:
		defer c.Close()
		leaf := c.(*tls.Conn).ConnectionState().PeerCertificates[0]
		left := time.Until(leaf.NotAfter)
		if left < leastValidity {
			d.fails("certificate", "see why it was not renewed", "it ends in %v, on %s", left.Round(time.Hour),
				leaf.NotAfter.UTC().Format(time.DateTime))
			return true
		}
		d.ok("certificate", "for %s, by %s, for %d more days", strings.Join(leaf.DNSNames, ", "), issuer(leaf),
			int(left.Hours()/24))
		return true
	case errors.As(err, &plain) && !strings.Contains(d.Address, "://"): // its scheme was our guess
		d.base.Scheme = "http"
		return d.https(ctx)
	case errors.As(err, &plain):
		return d.fails("certificate", none, "port %s speaks plain http", port)
	case errors.As(err, &other):
		return d.fails("certificate", "get one for this name, or ask for the server by one of those",
			"it is for %s, not for %s", strings.Join(other.Certificate.DNSNames, ", "), d.base.Hostname())
	case errors.As(err, &unknown):
		by := "somebody"
		if unknown.Cert != nil {
			by = issuer(unknown.Cert)
		}
		return d.fails("certificate", "give --tls-cert the whole chain (fullchain.pem), of an authority that browsers know",
			"it is by %s, whom this machine does not trust", by)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return d.fails("certificate", "renew it, or set the clock that is wrong", "it is good from %s to %s, and now is %s",
			invalid.Cert.NotBefore.UTC().Format(time.DateTime), invalid.Cert.NotAfter.UTC().Format(time.DateTime),
			time.Now().UTC().Format(time.DateTime))
	}
	return d.fails("certificate", "see that the server runs, with --addr :"+port+" and not 127.0.0.1, which is its "+
		"own machine alone; that TCP port "+port+" is open at your provider and in the machine's firewall, and forwarded by "+
		"the router of a server at home; with --acme, see its log", "nothing speaks https at %s (%v)", address, err)
}

func issuer(c *x509.Certificate) string {
	return strings.TrimSpace(strings.Join(c.Issuer.Organization, " ") + " " + c.Issuer.CommonName)
}

// get fetches a path of the server as a page of origin does.
func (d *doctor) get(ctx context.Context, path, origin string) (*http.Response, []byte, error) {
	u, err := d.base.Parse(path)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	return offer.Fetch(ctx, u, origin, &tls.Config{RootCAs: d.roots})
}

// page looks at the page and its headers, and compares clocks.
func (d *doctor) page(ctx context.Context) bool {
	start := time.Now()
	r, b, err := d.get(ctx, "", "")
	took := time.Since(start)
	switch {
	case err != nil:
		return d.fails("page", "see that the server runs, and that its TCP port is open in every firewall",
			"%s does not answer (%v)", d.base, err)
	case r.StatusCode == http.StatusMisdirectedRequest:
		return d.fails("page", "start it with --public-addr "+d.base.Host, "the server does not know its name %s",
			d.base.Hostname())
	case r.StatusCode == http.StatusNotFound:
		d.fails("page", "see that --web names the folder with index.html or game.js", "there is none")
	case r.StatusCode != http.StatusOK:
		return d.fails(
			"page",
			"see the log of the server, or of the proxy before it",
			"the answer is %s, %.100q",
			r.Status,
			b,
		)
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html"):
		d.fails("page", "see that a proxy leaves Content-Type alone", "it is %q", r.Header.Get("Content-Type"))
	default:
		d.ok("page", "%s in %d ms", d.base, took.Milliseconds())
	}
	if r.Header.Get("Cross-Origin-Opener-Policy") != "same-origin" ||
		r.Header.Get("Cross-Origin-Embedder-Policy") != "require-corp" {
		d.fails("headers", "see that a proxy leaves Cross-Origin-Opener-Policy and Cross-Origin-Embedder-Policy alone",
			"the page gets a coarse clock")
	}
	date, err := http.ParseTime(r.Header.Get("Date"))
	if err != nil {
		d.skips("clock", "the server does not say its time")
		return true
	}
	switch off := date.Sub(start.Add(took / 2)); { // Date has whole seconds
	case off.Abs() > mostClockOff:
		d.fails("clock", "set both by NTP (timedatectl set-ntp true): certificates and tokens depend on it",
			"the server's is %v off", off.Round(time.Second))
	default:
		d.ok("clock", "within %v of this machine's", off.Abs().Truncate(time.Second)+time.Second)
	}
	return true
}

// configuration reads /meanwhile.json.
func (d *doctor) configuration(ctx context.Context) bool {
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	var err error
	if d.server, err = offer.Ask(ctx, d.base, "", &tls.Config{RootCAs: d.roots}); err != nil {
		return d.fails(
			"game",
			"see that the address leads to a server of Meanwhile, and a proxy passes all paths on",
			"%v",
			err,
		)
	}
	if d.server.Ends {
		d.fails("game", "wait for the next one", "the server is about to end and admits nobody new")
	} else {
		d.ok("game", "%s, room %s", d.server.Game, d.server.Room)
	}
	version, _, _ := strings.Cut(d.server.Schema, "-")
	if own := fmt.Sprint(session.Version); version != own {
		d.fails("version", "use programs of one version on both sides", "the server speaks version %s of the protocol, "+
			"this program %s", version, own)
	} else {
		d.ok("version", "%s of the protocol, as this program", version)
	}
	return true
}

// program looks at what the page loads.
func (d *doctor) program(ctx context.Context) bool {
	for _, path := range []string{d.server.Wasm, d.server.Exec} {
		want := "text/javascript"
		if path == d.server.Wasm {
			want = "application/wasm"
		}
		r, _, err := d.get(ctx, path, "")
		switch {
		case err != nil:
			d.fails("program", "see the log of the server, or of the proxy before it", "%s: %v", path, err)
		case r.StatusCode != http.StatusOK:
			d.fails("program", "see that a proxy passes all paths on", "%s: %s", path, r.Status)
		case !strings.HasPrefix(r.Header.Get("Content-Type"), want):
			d.fails("program", "see that a proxy leaves Content-Type alone", "%s is %q, not %q", path,
				r.Header.Get("Content-Type"), want)
		default:
			d.ok("program", "%s", path)
		}
	}
	return true
}

// own is the origin of the server's page.
func (d *doctor) own() string { return d.base.Scheme + "://" + d.base.Host }

// transports says hello over each transport.
func (d *doctor) transports(ctx context.Context) bool {
	start := time.Now()
	now := func() clock.Time { return clock.Time(time.Since(start)) }
	s := d.server
	if s.Session == nil {
		d.skips("udp", "the server offers none (--udp off), so players get WebSocket alone")
	} else {
		port := s.Session.Port()
		closed := "open UDP port " + port + " beside TCP, at your provider and in the machine's firewall; forward it in " +
			"the router of a server at home, and map it in Docker (-p " + port + ":" + port + "/udp). Until then players get " +
			"WebSocket; start the server with --udp off if it has to stay so"
		quicOK := d.greet(ctx, "udp", closed, func(ctx context.Context) (transport.Conn, error) {
			return quic.Dial(ctx, s.Session.Host, quic.DialConfig{Clock: now, TLS: s.Trust})
		})
		mend := "see that the UDP port leads to the same server as the page"
		if !quicOK {
			mend = closed
		}
		d.greet(ctx, "webtransport", mend, func(ctx context.Context) (transport.Conn, error) {
			return webtransport.Dial(ctx, s.Session.String(),
				webtransport.DialConfig{Clock: now, TLS: s.Trust, Origin: d.own()})
		})
	}
	d.greet(
		ctx,
		"websocket",
		"let the proxy pass WebSockets on (nginx: proxy_http_version 1.1 and the headers Upgrade and "+
			"Connection) with the Host that it was asked for",
		d.dialSocket(d.own(), now),
	)
	return true
}

func (d *doctor) dialSocket(origin string, now transport.Clock) func(context.Context) (transport.Conn, error) {
	return func(ctx context.Context) (transport.Conn, error) {
		return websocket.Dial(ctx, d.server.Socket, websocket.DialConfig{Clock: now, Origin: origin,
			TLS: &tls.Config{RootCAs: d.roots}})
	}
}

// forbidden finds the status of a refused origin, and no port that has these digits.
var forbidden = regexp.MustCompile(`\b403\b`)

// greet dials and says hello as a player of a game that does not exist: the server refuses it,
// which proves the way there and back and takes nobody's place.
func (d *doctor) greet(
	ctx context.Context, what, mend string, dial func(context.Context) (transport.Conn, error),
) bool {
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	began := time.Now()
	conn, err := dial(ctx)
	if err != nil {
		if forbidden.MatchString(err.Error()) {
			mend = "start the server with --public-addr " + d.base.Host + " or --origin " + d.own()
		}
		return d.fails(what, mend, "%v", err)
	}
	defer part(conn)
	hello := session.Hello{Name: "doctor"}
	_, _ = rand.Read(hello.Nonce[:]) // it never fails
	b, err := hello.Append(nil)
	if err != nil {
		return d.fails(what, "report this", "%v", err)
	}
	if err = conn.SendMessage(b); err == nil {
		b, err = conn.ReceiveMessage(ctx)
	}
	if err != nil {
		return d.fails(what, mend, "the server is reached, and does not answer (%v)", err)
	}
	var refusal session.Refusal
	switch errors.As(session.Refused(b, ""), &refusal); refusal.Code {
	case session.WrongSchema, session.WrongVersion:
		d.ok(what, "an answer in %d ms, from %s", time.Since(began).Milliseconds(), conn.Remote())
	default:
		d.ok(what, "an answer in %d ms: %q", time.Since(began).Milliseconds(), refusal.Text)
	}
	return true
}

// part ends a connection. The server learns of it at once if that can be.
func part(conn transport.Conn) {
	conn.Close("")
	select {
	case <-conn.Done():
	case <-time.After(goodbye):
	}
}

// origins checks that pages of named hosts may play, and those of strangers may not.
func (d *doctor) origins(ctx context.Context) bool {
	now := func() clock.Time { return 0 }
	try := func(origin string) error {
		r, b, err := d.get(ctx, "/meanwhile.json", origin)
		if err != nil {
			return err
		}
		if allow := r.Header.Get("Access-Control-Allow-Origin"); r.StatusCode != http.StatusOK ||
			allow != origin && allow != "*" {
			return fmt.Errorf("%s %.200s", r.Status, strings.TrimSpace(string(b)))
		}
		ctx, cancel := d.bounded(ctx)
		defer cancel()
		conn, err := d.dialSocket(origin, now)(ctx)
		if err != nil {
			return err
		}
		part(conn)
		return nil
	}
	for _, origin := range d.Origin {
		if err := try(origin); err != nil {
			d.fails("origin", "start the server with --origin "+origin, "pages of %s may not play (%v)", origin, err)
		} else {
			d.ok("origin", "pages of %s may play", origin)
		}
	}
	if try(site.Stranger) == nil {
		d.ok("origin", "pages of every host may play (--origin '*')")
	} else {
		d.ok("origin", "pages of other hosts may not play")
	}
	return true
}

// private checks that what is for the operator is not for everybody.
func (d *doctor) private(ctx context.Context) bool {
	if offer.Loopback(d.base.Hostname()) {
		return true
	}
	for _, path := range []string{"/metrics", "/receipts", "/truth", "/debug/pprof/"} {
		if r, _, err := d.get(ctx, path, ""); err == nil && r.StatusCode == http.StatusOK {
			d.fails("private", "serve it on an address of its own alone (--metrics 127.0.0.1:9090), and look at the proxy",
				"everybody can read %s", path)
		}
	}
	return true
}
