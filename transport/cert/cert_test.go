package cert

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"testing"
	"time"
)

// calendar is a clock that a test sets.
type calendar struct {
	mu  sync.Mutex
	now time.Time
}

func (c *calendar) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }
func (c *calendar) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newCalendar() *calendar { return &calendar{now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)} }

func look(t *testing.T, s *SelfSigned) (Fingerprint, []Fingerprint, *tls.Certificate) {
	t.Helper()
	c, err := s.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.Fingerprints()
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(c.Certificate[0]), f, c
}

// What browsers demand of a certificate that is pinned by its hash.
func TestForm(t *testing.T) {
	cal := newCalendar()
	s, err := NewSelfSigned(Config{Now: cal.Now})
	if err != nil {
		t.Fatal(err)
	}
	got, published, c := look(t, s)
	if len(published) != 1 || published[0] != got {
		t.Errorf("published %v, used %v", published, got)
	}
	key, ok := c.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		t.Errorf("key is %T", c.PrivateKey)
	}
	if d := c.Leaf.NotAfter.Sub(c.Leaf.NotBefore); d > 14*24*time.Hour || d != Validity {
		t.Errorf("valid for %v", d)
	}
	if !c.Leaf.NotBefore.Before(cal.Now()) {
		t.Errorf("valid from %v, made at %v", c.Leaf.NotBefore, cal.Now())
	}
	for _, h := range []string{"localhost", "127.0.0.1", "::1"} {
		if err := c.Leaf.VerifyHostname(h); err != nil {
			t.Error(err)
		}
	}
}

// Whoever fetched the fingerprints less than Ahead ago can connect at any time, also right across a
// change, and what is used is never near its end.
func TestTurnsWhileItRuns(t *testing.T) {
	cal := newCalendar()
	s, err := NewSelfSigned(Config{Now: cal.Now})
	if err != nil {
		t.Fatal(err)
	}
	type fetched struct {
		at time.Time
		f  []Fingerprint
	}
	var pages []fetched
	seen := map[Fingerprint]bool{}
	for range 24 * 30 { // every hour for a month
		used, published, c := look(t, s)
		seen[used] = true
		pages = append(pages, fetched{cal.Now(), published})
		for len(pages) > 0 && cal.Now().Sub(pages[0].at) >= Ahead {
			pages = pages[1:]
		}
		for _, p := range pages {
			ok := false
			for _, f := range p.f {
				ok = ok || f == used
			}
			if !ok {
				t.Fatalf("a page loaded at %v cannot connect at %v", p.at, cal.Now())
			}
		}
		if left := c.Leaf.NotAfter.Sub(cal.Now()); left < 7*24*time.Hour {
			t.Fatalf("at %v only %v are left", cal.Now(), left)
		}
		cal.add(time.Hour)
	}
	if len(seen) != 8 { // 30 days, 4 each
		t.Errorf("%d certificates in a month, want 8", len(seen))
	}
}

// A server that nobody visits for weeks wakes up with a certificate that is good.
func TestLongSleep(t *testing.T) {
	for _, sleep := range []time.Duration{
		Use - Ahead + time.Hour, Use + time.Hour, 9 * 24 * time.Hour, 100 * 24 * time.Hour,
	} {
		cal := newCalendar()
		s, err := NewSelfSigned(Config{Now: cal.Now})
		if err != nil {
			t.Fatal(err)
		}
		cal.add(Use - Ahead + time.Minute)
		look(t, s) // the next one exists now
		cal.add(sleep)
		used, published, c := look(t, s)
		if published[0] != used {
			t.Errorf("after %v: published %v, used %v", sleep, published, used)
		}
		if left := c.Leaf.NotAfter.Sub(cal.Now()); left < 5*24*time.Hour {
			t.Errorf("after %v: only %v are left", sleep, left)
		}
	}
}

func TestPin(t *testing.T) {
	s, err := NewSelfSigned(Config{})
	if err != nil {
		t.Fatal(err)
	}
	used, _, _ := look(t, s)
	server := &tls.Config{GetCertificate: s.GetCertificate}
	for _, c := range []struct {
		name string
		pins []Fingerprint
		want error
	}{
		{"right", []Fingerprint{used}, nil},
		{"one of two", []Fingerprint{{1}, used}, nil},
		{"wrong", []Fingerprint{{1}}, ErrNotPinned},
		{"none", nil, ErrNotPinned},
	} {
		ln, err := tls.Listen("tcp", "127.0.0.1:0", server)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if conn, err := ln.Accept(); err == nil {
				_ = conn.(*tls.Conn).Handshake()
				conn.Close()
			}
		}()
		b, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		client := tls.Client(b, Pin(c.pins...))
		if err := client.Handshake(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		b.Close()
		ln.Close()
		<-ended
	}
}
