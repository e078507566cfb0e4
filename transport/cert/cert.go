// Package cert makes the certificates of servers that have none from an authority, in the one form
// that browsers accept by fingerprint (serverCertificateHashes of WebTransport): ECDSA P-256, valid
// for no more than 14 days. They are replaced while the server runs, long before they expire.
package cert

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"
)

// The life of a certificate. It is made, and its fingerprint published, Ahead of its use; used for
// Use; and still good for a week when the next one takes over.
const (
	// Validity is how long a certificate is valid, Backdate included. Browsers accept 14 days.
	Validity = 13 * 24 * time.Hour
	// Backdate is how far its validity begins in the past, for clients whose clock is late.
	Backdate = time.Hour
	// Use is how long a certificate is shown to clients before the next one is.
	Use = 4 * 24 * time.Hour
	// Ahead is how long before its use the fingerprint of a certificate is published, so that a
	// page loaded just before the change can connect just after it.
	Ahead = 24 * time.Hour
)

// A Fingerprint is the SHA-256 of a certificate's DER form, which is what pages and clients pin.
type Fingerprint [sha256.Size]byte

// String returns the fingerprint in hexadecimal digits.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// Config describes certificates. The zero Config is for a server on the same machine.
type Config struct {
	// Hosts are the names and addresses that the certificates are for. Clients that pin a
	// fingerprint do not look at them. Empty means localhost, 127.0.0.1 and ::1.
	Hosts []string
	// Now is the calendar. Nil means time.Now. It must be safe for concurrent use.
	Now func() time.Time
}

// SelfSigned is a server's certificate, which replaces itself when it is looked at and its time has
// come: no goroutine waits for that. Safe for concurrent use.
type SelfSigned struct {
	hosts []string
	now   func() time.Time

	mu      sync.Mutex
	current *made
	next    *made // nil until Ahead of the change
}

type made struct {
	cert  *tls.Certificate
	hash  Fingerprint
	since time.Time // when it becomes, or became, the one in use
}

// NewSelfSigned makes the first certificate.
func NewSelfSigned(cfg Config) (*SelfSigned, error) {
	s := &SelfSigned{hosts: append([]string(nil), cfg.Hosts...), now: cfg.Now}
	if len(s.hosts) == 0 {
		s.hosts = []string{"localhost", "127.0.0.1", "::1"}
	}
	if s.now == nil {
		s.now = time.Now
	}
	m, err := s.make(s.now(), s.now())
	if err != nil {
		return nil, err
	}
	s.current = m
	return s, nil
}

// GetCertificate is for tls.Config: it returns the certificate in use. It fails only when a new one
// cannot be made and the old one has expired.
func (s *SelfSigned) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.turn(); err != nil {
		return nil, err
	}
	return s.current.cert, nil
}

// Fingerprints returns what clients may pin: that of the certificate in use, and during the last
// day before a change also that of the next. It fails like GetCertificate.
func (s *SelfSigned) Fingerprints() ([]Fingerprint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.turn(); err != nil {
		return nil, err
	}
	f := []Fingerprint{s.current.hash}
	if s.next != nil {
		f = append(f, s.next.hash)
	}
	return f, nil
}

// turn makes the next certificate and puts it to use when it is time. s.mu is held.
func (s *SelfSigned) turn() error {
	now := s.now()
	change := s.current.since.Add(Use)
	if now.Before(change.Add(-Ahead)) {
		return nil
	}
	if s.next == nil || now.After(s.next.cert.Leaf.NotAfter) {
		since := change
		if now.After(since) {
			since = now // nobody looked for days
		}
		m, err := s.make(now, since)
		if err != nil {
			if now.Before(s.current.cert.Leaf.NotAfter) {
				return nil // good for days yet; try again at the next look
			}
			return err
		}
		s.next = m
	}
	if !now.Before(s.next.since) {
		// Nobody looked for days: a certificate made long ago serves the rest of its time only.
		s.current, s.next = s.next, nil
		if now.After(s.current.since.Add(Use)) {
			return s.turn()
		}
	}
	return nil
}

// make returns a certificate made now and used since.
func (s *SelfSigned) make(now, since time.Time) (*made, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cert: making a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("cert: drawing a serial number: %w", err)
	}
	notBefore := now.Add(-Backdate)
	t := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "meanwhile"},
		NotBefore:    notBefore,
		NotAfter:     notBefore.Add(Validity),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, h := range s.hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("cert: signing: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("cert: reading back: %w", err)
	}
	return &made{&tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, sha256.Sum256(der), since},
		nil
}

// ErrNotPinned reports a server that shows a certificate other than the pinned ones.
var ErrNotPinned = errors.New("cert: the server's certificate is not one of the pinned ones")

// Pin returns a client's TLS config that trusts exactly the certificates with these fingerprints,
// as a browser does with serverCertificateHashes, and no authority.
func Pin(fingerprints ...Fingerprint) *tls.Config {
	pinned := append([]Fingerprint(nil), fingerprints...)
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // VerifyConnection decides
		VerifyConnection: func(cs tls.ConnectionState) error {
			if len(cs.PeerCertificates) > 0 {
				got := sha256.Sum256(cs.PeerCertificates[0].Raw)
				for _, p := range pinned {
					if bytes.Equal(got[:], p[:]) {
						return nil
					}
				}
			}
			return ErrNotPinned
		},
	}
}
