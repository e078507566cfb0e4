package site

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
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
	acme  *autocert.Manager                  // or nil
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
		log.Warn("the certificate expires soon", "file", certFile, "at", c.Leaf.NotAfter)
	}
	names := slices.DeleteFunc(slices.Clone(c.Leaf.DNSNames), func(name string) bool { return !isName(name) })
	return &certificate{get: f.GetCertificate, names: names}, nil
}

func fromAuthority(d *Door) *certificate {
	m := &autocert.Manager{
		Prompt:     autocert.AcceptTOS,
		Cache:      autocert.DirCache(d.State),
		HostPolicy: autocert.HostWhitelist(d.ACME...),
	}
	if d.ACMEURL != "" {
		m.Client = &acme.Client{DirectoryURL: d.ACMEURL}
	}
	get := func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		h := *hello
		if h.ServerName == "" { // asked by its address
			h.ServerName = d.ACME[0]
		}
		// autocert looks for a cipher suite of TLS 1.2 before it trusts a client with ECDSA. QUIC
		// has none, and would cost a second certificate, of RSA.
		if slices.Contains(h.SupportedVersions, tls.VersionTLS13) {
			h.CipherSuites = append(slices.Clone(h.CipherSuites), tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256)
		}
		return m.GetCertificate(&h)
	}
	return &certificate{get: get, names: d.ACME, acme: m}
}

// obtain gets the certificates of --acme before players ask for them, and says what hinders it.
func (s *Site) obtain(ctx context.Context) {
	for _, name := range s.cfg.Door.ACME {
		c, err := s.cert.get(&tls.ClientHelloInfo{ServerName: name, SupportedVersions: []uint16{tls.VersionTLS13}})
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.log.Error("no certificate for "+name+"; it is tried again a minute later, when somebody asks for the page. "+
				"The authority must reach port 443 (or 80, with --redirect) of this server under that name", "error", err)
		default:
			s.log.Info("there is a certificate", "name", name, "until", c.Leaf.NotAfter)
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
	challenge := s.cert.acme.HTTPHandler(redirect)
	return s.known(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := *r
		c.Host = hostOf(r.Host) // it knows its domains without a port
		challenge.ServeHTTP(w, &c)
	}))
}
