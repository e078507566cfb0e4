package cert

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// lookEvery is how often Files looks whether its files have changed, at most.
const lookEvery = time.Second

// FilesConfig describes Files. Cert and Key must be set.
type FilesConfig struct {
	// Cert and Key name the files: the chain of certificates, the server's own first, and its
	// private key, both in PEM.
	Cert, Key string
	// Changed is called when the files have changed: with nil when the new certificate is in use,
	// and with the reason when it cannot be, once for each reason. Nil drops these. It must not
	// call methods of the Files.
	Changed func(error)
	// Now is the calendar. Nil means time.Now. It must be safe for concurrent use.
	Now func() time.Time
}

// Files is a server's certificate from an authority, kept in files that another program replaces
// while the server runs. It looks at them during handshakes: no goroutine waits for a change. What
// cannot be used, as when only one of the two has been replaced, leaves the old certificate in use.
// Connections that are open keep theirs. Safe for concurrent use.
type Files struct {
	cfg FilesConfig

	mu      sync.Mutex
	current *tls.Certificate
	looked  time.Time
	read    [2]stamp // of the files that current was made of
	failure string   // the newest reason that Changed got
}

// A stamp tells two contents of a file apart.
type stamp struct {
	modified time.Time
	size     int64
}

// NewFiles reads the files. It fails if they cannot be used.
func NewFiles(cfg FilesConfig) (*Files, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Changed == nil {
		cfg.Changed = func(error) {}
	}
	f := &Files{cfg: cfg, looked: cfg.Now()}
	var err error
	if f.read, err = f.stamps(); err != nil {
		return nil, err
	}
	if f.current, err = f.load(); err != nil {
		return nil, err
	}
	return f, nil
}

// GetCertificate is for tls.Config: it returns the newest certificate that could be used. It never
// fails.
func (f *Files) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.cfg.Now()
	if since := now.Sub(f.looked); since >= lookEvery || since < 0 {
		f.looked = now
		f.look()
	}
	return f.current, nil
}

// look reads the files if they have changed. f.mu is held.
func (f *Files) look() {
	stamps, err := f.stamps()
	if err == nil && stamps == f.read {
		return
	}
	var c *tls.Certificate
	if err == nil {
		c, err = f.load()
	}
	if err != nil { // the other file may follow: it looks again next time
		if text := err.Error(); text != f.failure {
			f.failure = text
			f.cfg.Changed(err)
		}
		return
	}
	f.current, f.read, f.failure = c, stamps, ""
	f.cfg.Changed(nil)
}

func (f *Files) stamps() (s [2]stamp, err error) {
	for i, name := range []string{f.cfg.Cert, f.cfg.Key} {
		info, err := os.Stat(name)
		if err != nil {
			return s, fmt.Errorf("cert: %w", err)
		}
		s[i] = stamp{info.ModTime(), info.Size()}
	}
	return s, nil
}

func (f *Files) load() (*tls.Certificate, error) {
	c, err := tls.LoadX509KeyPair(f.cfg.Cert, f.cfg.Key)
	if err != nil {
		return nil, fmt.Errorf("cert: %s with the key %s: %w", f.cfg.Cert, f.cfg.Key, err)
	}
	switch now := f.cfg.Now(); {
	case now.After(c.Leaf.NotAfter):
		return nil, fmt.Errorf("cert: %s expired on %s", f.cfg.Cert, c.Leaf.NotAfter.UTC().Format(time.DateOnly))
	case len(c.Leaf.DNSNames)+len(c.Leaf.IPAddresses) == 0:
		return nil, errors.New("cert: " + f.cfg.Cert + " names no host: browsers look at its subject alternative names alone")
	}
	return &c, nil
}
