// Package authority issues certificates to tests, as an authority of the internet does to servers:
// a root, which clients trust, an intermediate below it, and certificates of hosts below that.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An Authority issues certificates.
type Authority struct {
	// Root is its own certificate, in PEM.
	Root []byte

	t      testing.TB
	middle *x509.Certificate
	chain  []byte // the intermediate's certificate, in PEM
	key    *ecdsa.PrivateKey
	last   int64 // serial number
}

// New makes an Authority.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, last: time.Now().UnixNano()}
	from, to := time.Now().Add(-48*time.Hour), time.Now().Add(240*time.Hour)
	root, rootKey := a.make(&x509.Certificate{
		Subject: pkix.Name{CommonName: "Meanwhile test root"}, NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil, nil)
	a.Root = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Raw})
	a.middle, a.key = a.make(&x509.Certificate{
		Subject: pkix.Name{CommonName: "Meanwhile test intermediate"}, NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, MaxPathLenZero: true,
	}, root, rootKey)
	a.chain = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.middle.Raw})
	return a
}

// make signs a certificate. Without a parent it signs itself.
func (a *Authority) make(
	c, parent *x509.Certificate, by *ecdsa.PrivateKey,
) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	a.last++
	c.SerialNumber = big.NewInt(a.last)
	if parent == nil {
		parent, by = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), by)
	if err != nil {
		a.t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return made, key
}

// Issue writes a certificate for hosts, names or addresses, that is valid until an instant, and its
// key to two files, and returns their names.
func (a *Authority) Issue(until time.Time, hosts ...string) (certFile, keyFile string) {
	a.t.Helper()
	dir := a.t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	a.Write(certFile, keyFile, until, hosts...)
	return certFile, keyFile
}

// Write is Issue into given files.
func (a *Authority) Write(certFile, keyFile string, until time.Time, hosts ...string) {
	a.t.Helper()
	c := &x509.Certificate{
		Subject: pkix.Name{CommonName: hosts[0]}, NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, h)
		}
	}
	made, key := a.make(c, a.middle, a.key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	chain := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made.Raw}), a.chain...)
	for name, b := range map[string][]byte{
		certFile: chain, keyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
}

// Pool returns the roots of clients that trust the Authority.
func (a *Authority) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AppendCertsFromPEM(a.Root)
	return p
}
