package token

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"meanwhile/internal/verify/golden"
	"meanwhile/session"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// counting is a source of "randomness" that gives 0, 1, 2, ...
type counting byte

func (c *counting) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(*c)
		*c++
	}
	return len(p), nil
}

func newPair(t testing.TB) (*Issuer, *Verifier) {
	t.Helper()
	i, v, err := Development(new(counting))
	if err != nil {
		t.Fatal(err)
	}
	return i, v
}

var grant = Grant{Player: 77, Name: "Zoë", Room: "lobby", Audience: "eu1.example:4433"}

func issue(t testing.TB, i *Issuer, g Grant, life time.Duration) []byte {
	t.Helper()
	b, err := i.Issue(g, now, life)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRoundTrip(t *testing.T) {
	i, v := newPair(t)
	b := issue(t, i, grant, 0)
	g, err := v.Verify(b, "lobby", now)
	if err != nil {
		t.Fatal(err)
	}
	want := grant
	want.Issued, want.Expires = now, now.Add(DefaultLifetime)
	for n := range want.Nonce {
		want.Nonce[n] = byte(32 + n) // the key took the first 32
	}
	if g != want {
		t.Errorf("got %+v, want %+v", g, want)
	}
	if other := issue(t, i, grant, 0); bytes.Equal(b, other) {
		t.Error("two tokens are equal")
	}
	if MaxSize > session.MaxToken {
		t.Errorf("MaxSize %d does not fit a Hello's %d", MaxSize, session.MaxToken)
	}
}

func TestGolden(t *testing.T) {
	i, v := newPair(t)
	b := issue(t, i, grant, 0)
	const path = "testdata/token.hex"
	golden.Check(t, path, hex.EncodeToString(i.PublicKey())+"\n"+hex.EncodeToString(b)+"\n")
	if _, err := v.Verify(b, "", now); err != nil {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	i, v := newPair(t)
	elsewhere, err := NewIssuer(bytes.Repeat([]byte{9}, 32), new(counting))
	if err != nil {
		t.Fatal(err)
	}
	here, err := NewVerifier("us1.example:4433", i.PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	good := issue(t, i, grant, time.Minute)
	bent := func(at int) []byte { b := bytes.Clone(good); b[at] ^= 1; return b }
	for _, c := range []struct {
		name string
		v    *Verifier
		b    []byte
		room string
		now  time.Time
		want error
	}{
		{"good", v, good, "lobby", now, nil},
		{"any room asked", v, good, "", now, nil},
		{"other room", v, good, "cellar", now, ErrRoom},
		{"other server", here, good, "lobby", now, ErrAudience},
		{"other signer", v, issue(t, elsewhere, grant, 0), "lobby", now, ErrUnknownKey},
		{"last second, clocks apart", v, good, "lobby", now.Add(time.Minute + Skew - time.Second), nil},
		{"expired", v, good, "lobby", now.Add(time.Minute + Skew), ErrExpired},
		{"from the future, clocks apart", v, good, "lobby", now.Add(-Skew), nil},
		{"from the future", v, good, "lobby", now.Add(-Skew - time.Second), ErrNotYet},
		{"player bent", v, bent(1 + 4 + 16), "lobby", now, ErrSignature},
		{"nonce bent", v, bent(fixedSize - 1), "lobby", now, ErrSignature},
		{"signature bent", v, bent(len(good) - 1), "lobby", now, ErrSignature},
		{"version bent", v, bent(0), "lobby", now, ErrMalformed},
		{"empty", v, nil, "lobby", now, ErrMalformed},
		{"a byte more", v, append(bytes.Clone(good), 0), "lobby", now, ErrMalformed},
		{"far too long", v, make([]byte, 5000), "lobby", now, ErrMalformed},
	} {
		g, err := c.v.Verify(c.b, c.room, c.now)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if err != nil && g != (Grant{}) {
			t.Errorf("%s: refused, but stated %+v", c.name, g)
		}
	}
	for n := range good {
		if _, err := v.Verify(good[:n], "lobby", now); err == nil {
			t.Errorf("cut to %d bytes: accepted", n)
		}
	}
	// Every single bit counts.
	for at := range good {
		for bit := range 8 {
			b := bytes.Clone(good)
			b[at] ^= 1 << bit
			if _, err := v.Verify(b, "lobby", now); err == nil {
				t.Errorf("bit %d of byte %d changed: accepted", bit, at)
			}
		}
	}
}

func TestLifetimeOfAStolenFormat(t *testing.T) {
	// A trusted key that signs for longer than MaxLifetime is refused all the same.
	i, v := newPair(t)
	b := issue(t, i, Grant{}, MaxLifetime)
	body := bytes.Clone(b[:len(b)-ed25519.SignatureSize])
	body[1+4+8+1] += 0x20 // 8192 s later
	b = append(body, ed25519.Sign(i.key, signed(body))...)
	if _, err := v.Verify(b, "", now); !errors.Is(err, ErrLifetime) {
		t.Error(err)
	}
}

// Nothing that no issuer of this package writes is accepted, though a trusted key signed it.
func TestSignedNonsense(t *testing.T) {
	i, v := newPair(t)
	const fields = 1 + keyIDSize // the instants begin here
	for name, c := range map[string]struct {
		bend func(body []byte) []byte
		want error
	}{
		"nothing changed": {func(b []byte) []byte { return b }, nil},
		"over before it began": {func(b []byte) []byte {
			binary.LittleEndian.PutUint64(b[fields+8:], uint64(now.Add(-time.Second).Unix()))
			return b
		}, ErrLifetime},
		"a control character": {func(b []byte) []byte {
			b[fixedSize+1] = '\n'
			return b
		}, ErrMalformed},
		"issued before 1970": {func(b []byte) []byte {
			binary.LittleEndian.PutUint64(b[fields:], 1<<63)
			return b
		}, ErrMalformed},
		"issued beyond all years": {func(b []byte) []byte {
			binary.LittleEndian.PutUint64(b[fields:], 1<<62)
			return b
		}, ErrMalformed},
		"expires before 1970": {func(b []byte) []byte {
			binary.LittleEndian.PutUint64(b[fields+8:], 1<<63)
			return b
		}, ErrMalformed},
		"expires beyond all years": {func(b []byte) []byte {
			binary.LittleEndian.PutUint64(b[fields+8:], 1<<62)
			return b
		}, ErrMalformed},
		"a name that is too long": {func(b []byte) []byte {
			long := append(bytes.Clone(b[:fixedSize]), session.MaxName+1)
			long = append(long, bytes.Repeat([]byte{'x'}, session.MaxName+1)...)
			return append(long, b[fixedSize+1+int(b[fixedSize]):]...)
		}, ErrMalformed},
	} {
		b := issue(t, i, grant, time.Minute)
		body := c.bend(bytes.Clone(b[:len(b)-ed25519.SignatureSize]))
		b = append(body, ed25519.Sign(i.key, signed(body))...)
		if _, err := v.Verify(b, "", now); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestIssueBounds(t *testing.T) {
	i, _ := newPair(t)
	for name, g := range map[string]Grant{
		"name":     {Name: strings.Repeat("x", session.MaxName+1)},
		"room":     {Room: "a\nb"},
		"audience": {Audience: "\xff"},
	} {
		if _, err := i.Issue(g, now, 0); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range []struct {
		name string
		ok   bool
	}{{"a\x1f", false}, {"a b", true}, {"~", true}, {"a\x7f", false}, {"a\u0080", false}, {"a\u009f", false},
		{"a\u00a0", true}} {
		if _, err := i.Issue(Grant{Name: c.name}, now, 0); (err == nil) != c.ok {
			t.Errorf("the name %q: %v, want it to be issued: %v", c.name, err, c.ok)
		}
	}
	for _, d := range []time.Duration{-time.Second, time.Millisecond, MaxLifetime + 1} {
		if _, err := i.Issue(grant, now, d); err == nil || !strings.Contains(err.Error(), "lifetime") {
			t.Errorf("lifetime %v: %v", d, err)
		}
	}
	if _, err := NewIssuer(make([]byte, 31), new(counting)); err == nil {
		t.Error("a seed of 31 bytes")
	}
	if _, err := NewIssuer(make([]byte, 32), nil); err == nil {
		t.Error("no randomness")
	}
	if _, _, err := Development(bytes.NewReader(make([]byte, 5))); err == nil {
		t.Error("randomness that runs dry")
	}
	if _, err := NewVerifier(""); err == nil {
		t.Error("no keys")
	}
	if _, err := NewVerifier("", make([]byte, 5)); err == nil {
		t.Error("a short key")
	}
}

func TestKeysCanBeReplaced(t *testing.T) {
	a, _ := newPair(t)
	b, err := NewIssuer(bytes.Repeat([]byte{9}, 32), new(counting))
	if err != nil {
		t.Fatal(err)
	}
	both, err := NewVerifier("", a.PublicKey(), b.PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []*Issuer{a, b} {
		if _, err := both.Verify(issue(t, i, grant, 0), "lobby", now); err != nil {
			t.Error(err)
		}
	}
}

func TestSpent(t *testing.T) {
	s, err := NewSpent(2)
	if err != nil {
		t.Fatal(err)
	}
	g := func(n byte) Grant {
		return Grant{Nonce: [session.KeySize]byte{n}, Expires: now.Add(time.Duration(n) * time.Second)}
	}
	if err := errors.Join(s.Use(g(1), now), s.Use(g(2), now)); err != nil {
		t.Fatal(err)
	}
	if err := s.Use(g(1), now); !errors.Is(err, ErrSpent) {
		t.Error(err)
	}
	if err := s.Use(g(3), now); err == nil || errors.Is(err, ErrSpent) {
		t.Errorf("full: %v", err)
	}
	later := now.Add(time.Second + Skew) // the first may be forgotten: nobody accepts it any more
	if err := s.Use(g(3), later); err != nil {
		t.Error(err)
	}
	if err := s.Use(g(2), later); !errors.Is(err, ErrSpent) {
		t.Error(err)
	}
	for n := byte(4); n < 100; n++ { // memory stays bounded over many tokens
		if err := s.Use(g(n), now.Add(time.Duration(n)*time.Second+Skew)); err != nil {
			t.Fatal(n, err)
		}
	}
	if len(s.seen) > 2 {
		t.Errorf("%d tokens remembered, capacity 2", len(s.seen))
	}
	if _, err := NewSpent(0); err == nil {
		t.Error("capacity 0")
	}
}

func FuzzVerify(f *testing.F) {
	i, v := newPair(f)
	f.Add(issue(f, i, grant, 0))
	f.Add(issue(f, i, Grant{}, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		if g, _, err := parse(b); err == nil &&
			len(g.Name)+len(g.Room)+len(g.Audience)+fixedSize+3+ed25519.SignatureSize != len(b) {
			t.Fatalf("%x parses as %+v", b, g)
		}
		_, _ = v.Verify(b, "lobby", now) // refusing is fine, panicking is not
	})
}

func BenchmarkVerify(b *testing.B) {
	i, v := newPair(b)
	tok := issue(b, i, grant, 0)
	for b.Loop() {
		if _, err := v.Verify(tok, "lobby", now); err != nil {
			b.Fatal(err)
		}
	}
}
