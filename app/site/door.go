package site

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"meanwhile/host"
	"meanwhile/session"
	"meanwhile/transport"
)

// A Door is the flags that say how players on other machines reach a server. The zero Door serves
// plain http, which browsers give WebTransport only from the same machine.
type Door struct {
	TLSCert string `name:"tls-cert" placeholder:"FILE" help:"Serve https with these certificates (PEM)."`
	TLSKey  string `name:"tls-key" placeholder:"FILE" help:"Their private key (PEM); changed files are read again."`

	ACME    []string `name:"acme" placeholder:"DOMAIN" help:"Serve https for it by Let's Encrypt, on its terms."`
	ACMEURL string   `name:"acme-url" placeholder:"URL" help:"The directory of another ACME authority."`
	State   string   `placeholder:"DIR" help:"The folder for what outlasts the program, such as certificates."`

	KeepRooms bool `help:"Record rooms in the folder of --state: for replays, and so that they go on after a crash."`

	Origin     []string `placeholder:"ORIGIN" help:"Let pages from there in, too, such as https://me.github.io."`
	PublicAddr string   `placeholder:"HOST[:PORT]" help:"What players call this server, where --addr differs."`
	UDP        string   `name:"udp" placeholder:"HOST:PORT" help:"Listen there for QUIC; off: WebSocket alone."`
	TrustProxy []string `placeholder:"CIDR" help:"Believe the X-Forwarded-For of proxies in this network."`
	Redirect   string   `placeholder:"HOST:PORT" help:"Listen there for plain http that leads to https."`

	Login    bool     `help:"Let in players with connect tokens alone, which POST /token at --metrics issues."`
	LoginKey []string `placeholder:"HEX" help:"Let in players with tokens of the login that has this public key."`
	Audience string   `placeholder:"NAME" help:"Take only tokens made for this server name."`

	RoomsPerAddress int `placeholder:"N" help:"How many open rooms one address or account may have opened, by default 4."`

	Spectators int           `placeholder:"N" help:"Let N people watch each room; a watched room is computed twice."`
	WatchDelay time.Duration `placeholder:"TIME" help:"How late they see what happens, 1s to 10m; by default 10s."`
	Check      bool          `help:"Compute all rooms twice, to find rules that are not deterministic, and bad memory."`

	Drain   time.Duration `default:"5s" help:"When interrupted, let players go on for so long; a second time ends it."`
	DrainTo string        `placeholder:"URL" help:"Send them to this page then."`

	Metrics string `placeholder:"HOST:PORT" help:"Serve figures, health and profiles there, for whoever runs it."`
	OTLP    string `name:"otlp" placeholder:"URL" help:"Send figures and spans to this OpenTelemetry collector."`
}

// A front is a Door that was checked: what it says of names, pages and proxies.
type front struct {
	public  string   // host, and port if it was given, or ""
	https   bool     // whether players get to the page over https, whoever ends it
	names   []string // under which the server may be asked, in lower case; IP addresses and localhost need no entry
	origins transport.Origins
	proxies []netip.Prefix
}

// checkHost checks flags that the host of the rooms gets, by their names.
func (d *Door) checkHost() error {
	if d.RoomsPerAddress < 0 {
		return fmt.Errorf("--rooms-per-address %d is below 1", d.RoomsPerAddress)
	}
	if d.Spectators < 0 || d.Spectators > host.MaxSpectators {
		return fmt.Errorf("--spectators %d is outside [0, %d]", d.Spectators, host.MaxSpectators)
	}
	if d.WatchDelay != 0 && (d.WatchDelay < host.MinWatchLate || d.WatchDelay > session.MaxGrace) {
		return fmt.Errorf("--watch-delay %v is outside [%v, %v]", d.WatchDelay, host.MinWatchLate, session.MaxGrace)
	}
	u, err := url.Parse(d.DrainTo)
	if d.DrainTo != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return fmt.Errorf("--drain-to %q is no address of a page, such as https://eu2.game.example/", d.DrainTo)
	}
	return nil
}

// check reads what the flags say. addr is the address to listen on.
func (d *Door) check(addr string) (*front, error) {
	f := &front{https: d.secure()}
	switch {
	case (d.TLSCert == "") != (d.TLSKey == ""):
		return nil, errors.New("--tls-cert and --tls-key need each other: one names the certificate, one its key")
	case d.TLSCert != "" && len(d.ACME) > 0:
		return nil, errors.New("--tls-cert and --acme exclude each other: certificates come from files or from an authority")
	case len(d.ACME) > 0 && d.State == "":
		return nil, errors.New("--acme needs --state DIR, a folder where its certificates outlast a restart")
	case d.ACMEURL != "" && len(d.ACME) == 0:
		return nil, errors.New("--acme-url needs --acme DOMAIN")
	case d.Redirect != "" && !f.https:
		return nil, errors.New("--redirect needs https to send browsers to: give --acme, or --tls-cert and --tls-key")
	case d.Metrics != "" && d.Metrics == addr:
		return nil, fmt.Errorf("--metrics %s is the address of the players; choose one of its own, such as 127.0.0.1:9090",
			d.Metrics)
	}
	if err := d.checkHost(); err != nil {
		return nil, err
	}
	for _, a := range []string{d.Metrics, d.Redirect, d.UDP} {
		if a != "" && a != udpOff {
			if err := checkAddr(a); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range d.ACME {
		if !isName(name) || !strings.Contains(name, ".") {
			return nil, fmt.Errorf("--acme %q is not a domain such as game.example; authorities prove no addresses", name)
		}
		f.names = append(f.names, strings.ToLower(name))
	}
	if err := f.call(d.PublicAddr, len(d.TrustProxy) > 0); err != nil {
		return nil, err
	}
	for _, a := range []string{addr, d.Metrics, d.Redirect} {
		if host, _, _ := net.SplitHostPort(a); isName(host) {
			f.names = append(f.names, strings.ToLower(host))
		}
	}
	if host, err := os.Hostname(); err == nil && isName(host) {
		f.names = append(f.names, strings.ToLower(host), strings.ToLower(host)+".local")
	}
	for _, text := range d.TrustProxy {
		p, err := proxy(text)
		if err != nil {
			return nil, err
		}
		f.proxies = append(f.proxies, p)
	}
	for _, o := range d.Origin {
		o, host, err := checkOrigin(o)
		if err != nil {
			return nil, err
		}
		f.origins = append(f.origins, o)
		if host != "" {
			f.names = append(f.names, host)
		}
	}
	return f, nil
}

// udpOff is the value of --udp that leaves QUIC and WebTransport out.
const udpOff = "off"

// secure reports whether this program serves https.
func (d *Door) secure() bool { return d.TLSCert != "" || len(d.ACME) > 0 }

// call sets what players call the server.
func (f *front) call(public string, proxied bool) error {
	if public == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(public)
	if err != nil {
		host, port = strings.Trim(public, "[]"), ""
	} else if err := checkAddr(public); err != nil || port == "0" {
		host = ""
	}
	_, notIP := netip.ParseAddr(host)
	if notIP != nil && !isName(host) {
		return fmt.Errorf("--public-addr %q is not of the form HOST or HOST:PORT, such as game.example:443", public)
	}
	if notIP != nil {
		f.names = append(f.names, strings.ToLower(host))
	}
	f.https = f.https || proxied && port != "80"
	f.public = public
	return nil
}

// isName reports whether s may be the name of a host: letters, digits, dashes and dots, and not an
// IP address.
func isName(s string) bool {
	if s == "" || len(s) > 253 || strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
	}) {
		return false
	}
	_, err := netip.ParseAddr(s)
	return err != nil
}

// proxy reads a network or an address of --trust-proxy.
func proxy(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, fmt.Errorf("--trust-proxy %q is neither an address nor a network such as 10.0.0.0/8", text)
	}
	if p.Bits() == 0 {
		return p, fmt.Errorf("--trust-proxy %s is everybody, who could then claim any address; name the proxy's", text)
	}
	return p.Masked(), nil
}

// Stranger is an origin that no server names and no page has. Whoever checks a server asks with it;
// nothing is logged then.
const Stranger = "https://meanwhile-doctor.invalid"

// CheckOrigin returns an error unless a text can be given to --origin.
func CheckOrigin(text string) error {
	_, _, err := checkOrigin(text)
	return err
}

// checkOrigin returns an origin as browsers write it, and the name of its host, or "" for an IP
// address.
func checkOrigin(text string) (origin, host string, err error) {
	if text == "*" {
		return text, "", nil
	}
	u, err := url.Parse(strings.TrimSuffix(strings.Replace(strings.ToLower(text), ":*", ":0", 1), "/"))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.Path != "" || u.RawQuery != "" ||
		u.User != nil || u.Fragment != "" {
		return "", "", fmt.Errorf("--origin %q is not an origin as browsers write it, such as https://me.github.io: "+
			"scheme, host, port if it is not the usual one, no path", text)
	}
	origin = u.Scheme + "://" + u.Host
	switch port := u.Port(); {
	case port == "0":
		origin = strings.TrimSuffix(origin, ":0") + ":*"
	case port == "443" && u.Scheme == "https", port == "80" && u.Scheme == "http": // browsers leave these out
		origin = strings.TrimSuffix(origin, ":"+port)
	}
	if isName(u.Hostname()) {
		host = u.Hostname()
	}
	return origin, host, nil
}

// allowed returns the pages that may connect: those of the server's own names and addresses, on any
// port, and those of --origin. port is that of the page, certified are the names of the
// certificate.
func (f *front) allowed(port string, certified []string) transport.Origins {
	scheme := "http"
	if f.https {
		scheme = "https"
	}
	// A page from localhost connects to 127.0.0.1, which is another host: QUIC tries one address
	// only.
	list := transport.Origins{"self", scheme + "://localhost:" + port, scheme + "://127.0.0.1:" + port,
		scheme + "://[::1]:" + port}
	names := append(slices.Clone(f.names), certified...)
	if host, _, err := net.SplitHostPort(f.public); err == nil {
		names = append(names, host)
	} else if f.public != "" {
		names = append(names, f.public)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		list = append(list, scheme+"://"+name+":*")
	}
	return append(list, f.origins...)
}
