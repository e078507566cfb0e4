package cert_test

import (
	"crypto/tls"
	"os"
	"strings"
	"testing"
	"time"

	"meanwhile/internal/verify/authority"
	"meanwhile/transport/cert"
)

// A certificate that was replaced is used from the next handshake on; what cannot be used is
// reported once and leaves the old one.
func TestFilesAreReadAgain(t *testing.T) {
	a := authority.New(t)
	now := time.Now()
	certFile, keyFile := a.Issue(now.Add(time.Hour), "one.example")
	var changed []string
	f, err := cert.NewFiles(cert.FilesConfig{Cert: certFile, Key: keyFile, Now: func() time.Time { return now },
		Changed: func(err error) {
			if err == nil {
				changed = append(changed, "in use")
				return
			}
			changed = append(changed, err.Error())
		}})
	if err != nil {
		t.Fatal(err)
	}
	name := func() string {
		c, err := f.GetCertificate(&tls.ClientHelloInfo{})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Certificate) != 2 {
			t.Errorf("the chain has %d certificates, want 2", len(c.Certificate))
		}
		return c.Leaf.DNSNames[0]
	}
	expect := func(want string, reports ...string) {
		t.Helper()
		for range 3 {
			now = now.Add(2 * time.Second)
			if got := name(); got != want {
				t.Errorf("it is for %s, want %s", got, want)
			}
		}
		if len(changed) != len(reports) {
			t.Errorf("reported %q, want %q", changed, reports)
		} else {
			for i := range reports {
				if !strings.Contains(changed[i], reports[i]) {
					t.Errorf("reported %q, want %q", changed[i], reports[i])
				}
			}
		}
		changed = nil
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expect("one.example")

	otherCert, otherKey := a.Issue(now.Add(time.Hour), "two-longer.example")
	newCert, err := os.ReadFile(otherCert)
	if err != nil {
		t.Fatal(err)
	}
	newKey, err := os.ReadFile(otherKey)
	if err != nil {
		t.Fatal(err)
	}
	write(certFile, string(newCert)) // its key follows later
	expect("one.example", "private key does not match")
	write(keyFile, string(newKey))
	expect("two-longer.example", "in use")

	write(certFile, "nonsense")
	expect("two-longer.example", "failed to find any PEM data")
	if err := os.Remove(certFile); err != nil {
		t.Fatal(err)
	}
	expect("two-longer.example", "no such file")
	a.Write(certFile, keyFile, now.Add(-time.Minute), "expired.example")
	expect("two-longer.example", "expired on ")
	a.Write(certFile, keyFile, now.Add(time.Hour), "three.example")
	expect("three.example", "in use")

	for _, c := range []struct{ cert, key, want string }{
		{certFile, certFile + "x", "no such file"}, {certFile, otherKey, "does not match"},
	} {
		if _, err := cert.NewFiles(cert.FilesConfig{Cert: c.cert, Key: c.key}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s and %s: %v, want %q", c.cert, c.key, err, c.want)
		}
	}
}
