package site

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"meanwhile/transport/cert"
)

// A certificate is what a site proves itself with, on TCP and UDP.
type certificate struct {
	get   func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	pins  func() ([]cert.Fingerprint, error) // nil: browsers trust its authority
	names []string                           // of hosts, without wildcards
	acme  *acmeIssuer                        // or nil
}

// expiresSoon is how long before its end a certificate from a file is complained of.
const expiresSoon = 7 * 24 * time.Hour

// certificate returns the certificate that the flags ask for.
func (s *Site) certificate(hosts []string) (*certificate, error) {
	d := &s.cfg.Door
	switch {
	case d.TLSCert != "":
		return fromFiles(d.TLSCert, d.TLSKey, s.log)
	case len(d.ACME) > 0:
		return fromAuthority(d), nil
	}
	own, err := cert.NewSelfSigned(cert.Config{Hosts: hosts})
	if err != nil {
		return nil, err
	}
	return &certificate{get: own.GetCertificate, pins: own.Fingerprints}, nil
}

func fromFiles(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	f, err := cert.NewFiles(cert.FilesConfig{Cert: certFile, Key: keyFile, Changed: func(err error) {
		if err != nil {
			log.Error("the changed certificate cannot be used; the old one stays in use", "error", err)
			return
		}
		log.Info("the changed certificate is in use", "file", certFile)
	}})
	if err != nil {
		return nil, fmt.Errorf("--tls-cert and --tls-key: %s", strings.TrimPrefix(err.Error(), "cert: "))
	}
	c, err := f.GetCertificate(nil)
	if err != nil {
		return nil, err
	}
	if left := time.Until(c.Leaf.NotAfter); left < expiresSoon {
		log.Warn("the certificate expires soon", "file", certFile, "until", c.Leaf.NotAfter)
	}
	names := slices.DeleteFunc(slices.Clone(c.Leaf.DNSNames), func(name string) bool { return !isName(name) })
	return &certificate{get: f.GetCertificate, names: names}, nil
}

// An acmeIssuer gets certificates from an authority by ACME.
type acmeIssuer struct {
	manager *autocert.Manager
	names   []string
	ready   sync.Map // names whose certificate was got
}

func fromAuthority(d *Door) *certificate {
	a := &acmeIssuer{manager: &autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(d.State), HostPolicy: autocert.HostWhitelist(d.ACME...),
	}}
	for _, name := range d.ACME {
		a.names = append(a.names, strings.ToLower(name))
	}
	if d.ACMEURL != "" {
		a.manager.Client = &acme.Client{DirectoryURL: d.ACMEURL}
	}
	return &certificate{get: a.get, names: a.names, acme: a}
}

// get returns the certificate for a handshake. It does not wait for the authority, and nobody but
// obtain asks that for a first certificate: handshakes of strangers would wait with us for minutes,
// and each failure counts among the few that authorities allow in an hour.
func (a *acmeIssuer) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if slices.Equal(hello.SupportedProtos, []string{acme.ALPNProto}) { // the authority itself
		return a.manager.GetCertificate(hello)
	}
	name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
	if name == "" { // asked by its address
		name = a.names[0]
	}
	if _, ok := a.ready.Load(name); !ok {
		return nil, fmt.Errorf("site: there is no certificate for %q yet", name)
	}
	return a.issued(name)
}

// issued returns the certificate for a name, and gets it first if there is none. It is of ECDSA
// whatever the client says: autocert would get a second one, of RSA, for those without, for which
// it takes QUIC, as that has no cipher suite of TLS 1.2.
func (a *acmeIssuer) issued(name string) (*tls.Certificate, error) {
	return a.manager.GetCertificate(&tls.ClientHelloInfo{ServerName: name,
		CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}})
}

// Bounds of the time between two attempts to get a certificate. Let's Encrypt allows five failures
// an hour; autocert itself remembers one for a minute.
const (
	firstRetry = 2 * time.Minute
	mostRetry  = time.Hour
)

// obtain gets the first certificates, and says what hinders it. Later ones come by themselves.
func (a *acmeIssuer) obtain(ctx context.Context, log *slog.Logger) {
	missing := slices.Clone(a.names)
	for wait := firstRetry; ; wait = min(2*wait, mostRetry) {
		missing = slices.DeleteFunc(missing, func(name string) bool {
			c, err := a.issued(name)
			if ctx.Err() != nil {
				return false
			}
			if err != nil {
				log.Error("there is no certificate, so nobody gets in by this name; it is tried again. "+
					"The authority must reach port 443 (or 80, with --redirect) of this server under that name",
					"domain", name, "for", wait, "error", err)
				return false
			}
			a.ready.Store(name, true)
			log.Info("there is a certificate", "domain", name, "until", c.Leaf.NotAfter)
			return true
		})
		if len(missing) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// tls returns the configuration of https, or nil for plain http.
func (s *Site) tls() *tls.Config {
	if !s.cfg.Door.secure() {
		return nil
	}
	// Without HTTP/2: browsers open WebSockets over HTTP/1.1, and the page's files are few.
	t := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.cert.get, NextProtos: []string{"http/1.1"}}
	if s.cert.acme != nil {
		t.NextProtos = append(t.NextProtos, acme.ALPNProto)
	}
	return t
}

// toHTTPS answers plain http: it sends browsers to https, and authorities what proves the domain.
func (s *Site) toHTTPS() http.Handler {
	_, port, _ := splitAddr(s.tcp.Addr())
	redirect := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u := *r.URL
		u.Scheme, u.Host = "https", s.front.public
		if u.Host == "" {
			u.Host = withPort(hostOf(r.Host), port)
		}
		http.Redirect(w, r, u.String(), http.StatusPermanentRedirect)
	})
	if s.cert.acme == nil {
		return s.known(redirect)
	}
	challenge := s.cert.acme.manager.HTTPHandler(redirect)
	return s.known(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := *r
		c.Host = hostOf(r.Host) // it knows its domains without a port
		challenge.ServeHTTP(w, &c)
	}))
}
