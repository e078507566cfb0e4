// Package token issues and verifies connect tokens: short-lived statements, signed by the operator of a
// login, that a player may join. A game server needs only public keys to verify them, so whoever steals
// a server cannot issue any. The package is pure: time and randomness come from the caller.
//
// A token is, integers little-endian:
//
//	size  field
//	1     version, 1
//	4     the first bytes of SHA-256 of the signer's public key
//	8     Issued, Unix seconds
//	8     Expires, Unix seconds
//	8     Player
//	16    Nonce
//	1+n   Name, at most 48 bytes of UTF-8
//	1+n   Room, at most 64 bytes of UTF-8
//	1+n   Audience, at most 128 bytes of UTF-8
//	64    Ed25519 signature (RFC 8032) of "meanwhile connect token\x00" and all of the above
package token

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"meanwhile/session"
)

const (
	version     = 1
	domain      = "meanwhile connect token\x00"
	keyIDSize   = 4
	fixedSize   = 1 + keyIDSize + 8 + 8 + 8 + session.KeySize
	maxAudience = 128
	lastSecond  = 1e11 // in the year 5138: keeps time arithmetic far from overflow
)

// Bounds and defaults.
const (
	// DefaultLifetime is how long a token is valid if the issuer does not choose.
	DefaultLifetime = time.Minute
	// MaxLifetime is the longest lifetime that an Issuer gives and a Verifier accepts.
	MaxLifetime = time.Hour
	// Skew is how far the clocks of login and game server may differ.
	Skew = 30 * time.Second
	// MaxSize is the size of the largest token in bytes. It fits session.MaxToken.
	MaxSize = fixedSize + 3 + session.MaxName + session.MaxRoom + maxAudience + ed25519.SignatureSize
)

// Errors of Verify and Use, for errors.Is.
var (
	ErrMalformed  = errors.New("token: malformed")
	ErrUnknownKey = errors.New("token: signed with a key that this server does not know")
	ErrSignature  = errors.New("token: signature does not match")
	ErrExpired    = errors.New("token: expired")
	ErrNotYet     = errors.New("token: issued in the future")
	ErrLifetime   = errors.New("token: lives longer than servers accept")
	ErrAudience   = errors.New("token: made for another server")
	ErrRoom       = errors.New("token: made for another room")
	ErrSpent      = errors.New("token: used before")
	ErrFull       = errors.New("token: all places for used tokens are taken")
)

// Grant is what a token states.
type Grant struct {
	// Player is the account at the login, the same each time; 0 is a guest.
	Player uint64
	// Name is what others call the player.
	Name string
	// Room is the only room that the token opens; empty opens all.
	Room string
	// Audience names the server the token is for, commonly its address as the client dials it;
	// empty is any server that trusts the key.
	Audience string
	// Issued and Expires are in whole seconds, in UTC.
	Issued, Expires time.Time
	// Nonce makes each token unique.
	Nonce [session.KeySize]byte
}

// An Issuer signs tokens. Not safe for concurrent use if its source of randomness is not.
type Issuer struct {
	key  ed25519.PrivateKey
	id   [keyIDSize]byte
	rand io.Reader
}

// NewIssuer returns an Issuer that derives its key from seed, which must be 32 secret bytes, and
// draws nonces from rand.
func NewIssuer(seed []byte, rand io.Reader) (*Issuer, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("token: seed is %d bytes long, want %d", len(seed), ed25519.SeedSize)
	}
	if rand == nil {
		return nil, errors.New("token: NewIssuer needs a source of randomness")
	}
	key := ed25519.NewKeyFromSeed(seed)
	return &Issuer{key: key, id: keyID(key.Public().(ed25519.PublicKey)), rand: rand}, nil
}

// Development returns an Issuer with a key drawn from rand and a Verifier that trusts it, for a
// server without a login. Nothing else accepts its tokens.
func Development(rand io.Reader) (*Issuer, *Verifier, error) {
	seed := make([]byte, ed25519.SeedSize)
	if rand == nil {
		return nil, nil, errors.New("token: Development needs a source of randomness")
	}
	if _, err := io.ReadFull(rand, seed); err != nil {
		return nil, nil, fmt.Errorf("token: drawing a key: %w", err)
	}
	i, err := NewIssuer(seed, rand)
	if err != nil {
		return nil, nil, err
	}
	v, err := NewVerifier("", i.PublicKey())
	return i, v, err
}

// PublicKey returns the key that verifiers need.
func (i *Issuer) PublicKey() ed25519.PublicKey { return i.key.Public().(ed25519.PublicKey) }

// Issue returns a token for g, valid from now on for lifetime; 0 means DefaultLifetime. It sets
// Issued, Expires and Nonce itself. It fails on a lifetime outside [1s, MaxLifetime], on a text out
// of bounds, and if no randomness can be read.
func (i *Issuer) Issue(g Grant, now time.Time, lifetime time.Duration) ([]byte, error) {
	if lifetime == 0 {
		lifetime = DefaultLifetime
	}
	if lifetime < time.Second || lifetime > MaxLifetime {
		return nil, fmt.Errorf("token: lifetime %v is outside [1s, %v]", lifetime, MaxLifetime)
	}
	if _, err := io.ReadFull(i.rand, g.Nonce[:]); err != nil {
		return nil, fmt.Errorf("token: drawing a nonce: %w", err)
	}
	b := make([]byte, 0, MaxSize)
	b = append(b, version)
	b = append(b, i.id[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(now.Unix()))
	b = binary.LittleEndian.AppendUint64(b, uint64(now.Add(lifetime).Unix()))
	b = binary.LittleEndian.AppendUint64(b, g.Player)
	b = append(b, g.Nonce[:]...)
	for _, f := range g.texts() {
		if len(*f.text) > f.limit || !printable(*f.text) {
			return nil, fmt.Errorf("token: %s %q is longer than %d bytes, not UTF-8, or holds control characters",
				f.name, *f.text, f.limit)
		}
		b = append(b, byte(len(*f.text)))
		b = append(b, *f.text...)
	}
	return append(b, ed25519.Sign(i.key, signed(b))...), nil
}

// Player returns the number of an account that a login knows by issuer and subject, as OpenID
// Connect does: the first 63 bits of their hash, never 0.
func Player(issuer, subject string) uint64 {
	h := sha256.New()
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(issuer)))) // "a","bc" is not "ab","c"
	h.Write([]byte(issuer + subject))
	return max(binary.LittleEndian.Uint64(h.Sum(nil))>>1, 1)
}

// A Verifier verifies tokens. It keeps no state: Spent detects tokens that come twice. Safe for
// concurrent use.
type Verifier struct {
	audience string
	keys     map[[keyIDSize]byte]ed25519.PublicKey
}

// NewVerifier returns a Verifier for the server named audience. It trusts several keys, so that a
// key can be replaced. An empty audience accepts tokens for any server.
func NewVerifier(audience string, keys ...ed25519.PublicKey) (*Verifier, error) {
	v := &Verifier{audience: audience, keys: make(map[[keyIDSize]byte]ed25519.PublicKey, len(keys))}
	for n, k := range keys {
		if len(k) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("token: key %d is %d bytes long, want %d", n, len(k), ed25519.PublicKeySize)
		}
		id := keyID(k)
		if have, ok := v.keys[id]; ok && !have.Equal(k) {
			return nil, fmt.Errorf("token: keys %x and %x begin with the same hash %x; replace one", have, k, id)
		}
		v.keys[id] = k
	}
	if len(v.keys) == 0 {
		return nil, errors.New("token: NewVerifier needs at least one key")
	}
	return v, nil
}

// Verify returns the Grant of token b if a trusted key signed it, it is valid at now, and it is for
// this server and for room; an empty room accepts tokens for any. Failures wrap an error of this
// package; b is not retained. Cheap checks come first, so that a flood of rubbish costs no
// signature checks.
func (v *Verifier) Verify(b []byte, room string, now time.Time) (Grant, error) {
	g, id, err := parse(b)
	if err != nil {
		return Grant{}, err
	}
	key, ok := v.keys[id]
	switch {
	case !ok:
		return Grant{}, ErrUnknownKey
	case !now.Before(g.Expires.Add(Skew)):
		return Grant{}, fmt.Errorf("%w %v ago", ErrExpired, now.Sub(g.Expires).Round(time.Second))
	case g.Issued.After(now.Add(Skew)):
		return Grant{}, fmt.Errorf("%w: in %v", ErrNotYet, g.Issued.Sub(now).Round(time.Second))
	case g.Expires.Sub(g.Issued) > MaxLifetime || g.Expires.Before(g.Issued):
		return Grant{}, fmt.Errorf("%w: %v, bound %v", ErrLifetime, g.Expires.Sub(g.Issued), MaxLifetime)
	case g.Audience != "" && v.audience != "" && g.Audience != v.audience:
		return Grant{}, fmt.Errorf("%w: %q", ErrAudience, g.Audience)
	case g.Room != "" && room != "" && g.Room != room:
		return Grant{}, fmt.Errorf("%w: %q", ErrRoom, g.Room)
	}
	body, sig := b[:len(b)-ed25519.SignatureSize], b[len(b)-ed25519.SignatureSize:]
	if !ed25519.Verify(key, signed(body), sig) {
		return Grant{}, ErrSignature
	}
	return g, nil
}

// parse reads the fields of a token without checking that anyone signed it.
func parse(b []byte) (g Grant, id [keyIDSize]byte, err error) {
	if len(b) < fixedSize+3+ed25519.SignatureSize || len(b) > MaxSize {
		return Grant{}, id, fmt.Errorf("%w: %d bytes, want %d to %d", ErrMalformed, len(b),
			fixedSize+3+ed25519.SignatureSize, MaxSize)
	}
	if b[0] != version {
		return Grant{}, id, fmt.Errorf("%w: version %d, want %d", ErrMalformed, b[0], version)
	}
	body := b[1 : len(b)-ed25519.SignatureSize]
	body = body[copy(id[:], body):]
	issued, expires := int64(binary.LittleEndian.Uint64(body)), int64(binary.LittleEndian.Uint64(body[8:]))
	if issued < 0 || expires < 0 || issued > lastSecond || expires > lastSecond {
		return Grant{}, id, fmt.Errorf("%w: issued at second %d, expires at %d", ErrMalformed, issued, expires)
	}
	g.Issued, g.Expires = time.Unix(issued, 0).UTC(), time.Unix(expires, 0).UTC()
	g.Player = binary.LittleEndian.Uint64(body[16:])
	body = body[24:]
	body = body[copy(g.Nonce[:], body):]
	for _, f := range g.texts() {
		if len(body) == 0 || len(body) <= int(body[0]) || int(body[0]) > f.limit {
			return Grant{}, id, fmt.Errorf("%w: %s is cut short or longer than %d bytes", ErrMalformed, f.name, f.limit)
		}
		n := 1 + int(body[0])
		*f.text = string(body[1:n])
		body = body[n:]
		if !printable(*f.text) {
			return Grant{}, id, fmt.Errorf("%w: %s is not UTF-8 or holds control characters", ErrMalformed, f.name)
		}
	}
	if len(body) != 0 {
		return Grant{}, id, fmt.Errorf("%w: %d bytes follow the audience", ErrMalformed, len(body))
	}
	return g, id, nil
}

type textField struct {
	name  string
	text  *string
	limit int
}

// texts lists the texts of a token in their order on the wire.
func (g *Grant) texts() [3]textField {
	return [...]textField{{"name", &g.Name, session.MaxName}, {"room", &g.Room, session.MaxRoom},
		{"audience", &g.Audience, maxAudience}}
}

func printable(s string) bool {
	for _, r := range s {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return false
		}
	}
	return utf8.ValidString(s)
}

// signed returns the bytes that the signature covers. The domain makes it worthless elsewhere.
func signed(body []byte) []byte { return append([]byte(domain), body...) }

func keyID(k ed25519.PublicKey) (id [keyIDSize]byte) {
	h := sha256.Sum256(k)
	copy(id[:], h[:])
	return id
}

// Spent remembers used tokens until they expire, so that an overheard one is useless. When it is
// full it refuses further tokens until the oldest expire; only tokens of a trusted login get that
// far. Not safe for concurrent use.
type Spent struct {
	seen  map[[session.KeySize]byte]struct{}
	queue []Grant // a ring in order of use; only Nonce and Expires matter
	first int
	n     int
}

// NewSpent returns an empty Spent that remembers up to capacity tokens, at least 1.
func NewSpent(capacity int) (*Spent, error) {
	if capacity < 1 {
		return nil, fmt.Errorf("token: capacity %d is below 1", capacity)
	}
	return &Spent{seen: make(map[[session.KeySize]byte]struct{}), queue: make([]Grant, capacity)}, nil
}

// Check returns ErrSpent if a verified token was used before, and an error that is not ErrSpent if
// no place is left to remember it.
func (s *Spent) Check(g Grant, now time.Time) error {
	// Tokens expire nearly in the order of their use, so it is enough to forget from the oldest on.
	// One that lives longer delays the others, by at most MaxLifetime.
	for s.n > 0 && !now.Before(s.queue[s.first].Expires.Add(Skew)) {
		delete(s.seen, s.queue[s.first].Nonce)
		s.first, s.n = (s.first+1)%len(s.queue), s.n-1
	}
	if _, ok := s.seen[g.Nonce]; ok {
		return ErrSpent
	}
	if s.n == len(s.queue) {
		return fmt.Errorf("%w: %d", ErrFull, len(s.queue))
	}
	return nil
}

// Use marks a verified token as used. It fails as Check does.
func (s *Spent) Use(g Grant, now time.Time) error {
	if err := s.Check(g, now); err != nil {
		return err
	}
	s.seen[g.Nonce] = struct{}{}
	s.queue[(s.first+s.n)%len(s.queue)] = Grant{Nonce: g.Nonce, Expires: g.Expires}
	s.n++
	return nil
}
