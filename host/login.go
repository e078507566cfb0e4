package host

import (
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"meanwhile/session"
	"meanwhile/session/token"
)

const (
	// spentTokens is how many used tokens a Login remembers until they expire. While it remembers
	// that many, further tokens are refused.
	spentTokens = 1 << 16
	// repeatableTokens is how many of the newest tokens may come a second time in the same hello.
	repeatableTokens = 4096
	// maxEntering is how many connections may enter with one token at once: a race of two transports,
	// twice.
	maxEntering = 4
	// spentSize is the size in bytes of an entry in the file of Keep. That of a used token is its
	// nonce and the Unix second of its expiry; that of a revocation is the account, eight zeros, and
	// the nanosecond with the bit revoked.
	spentSize = session.KeySize + 8
	revoked   = 1 << 63
)

// errRevoked refuses a token of a revoked account.
var errRevoked = errors.New("host: token: revoked")

type key [session.KeySize]byte

// A Login checks the connect tokens in hellos. Each token admits once. Safe for concurrent use.
type Login struct {
	verifier *token.Verifier

	mu    sync.Mutex
	spent *token.Spent
	file  tokenFile // of Keep; nil: used tokens are forgotten at the end
	// entering are tokens whose players are on their way into a room, with the nonce of their hello
	// and how many such hellos there are.
	entering map[key]*entering
	// usedBy maps the nonce of a token to the nonce of the hello that used it: a client that tries
	// two transports at once sends the same hello on both.
	usedBy map[key]key
	order  []key // the keys of usedBy, a ring
	next   int
	// revoked are accounts whose tokens that were issued up to an instant are void.
	revoked map[uint64]time.Time
}

// A tokenFile is what an *os.File does for the file of Keep.
type tokenFile interface {
	Write(b []byte) (int, error)
	Stat() (os.FileInfo, error)
	Truncate(size int64) error
	Close() error
}

// keep appends an entry to the file, if there is one. A full disk may take a part of it, which would
// make all that follows unreadable: the part is taken away again. l.mu is held.
func (l *Login) keep(entry []byte) error {
	if l.file == nil {
		return nil
	}
	n, err := l.file.Write(entry)
	if n > 0 && err != nil {
		if info, failed := l.file.Stat(); failed == nil {
			_ = l.file.Truncate(info.Size() - int64(n))
		}
	}
	return err
}

type entering struct {
	hello key
	n     int
}

// NewLogin returns a Login that accepts tokens for audience that are signed with one of the keys.
// An empty audience accepts tokens for any server. It fails without keys and on malformed ones.
func NewLogin(audience string, keys ...ed25519.PublicKey) (*Login, error) {
	verifier, err := token.NewVerifier(audience, keys...)
	if err != nil {
		return nil, err
	}
	spent, err := token.NewSpent(spentTokens)
	if err != nil {
		return nil, err
	}
	return &Login{verifier: verifier, spent: spent, usedBy: make(map[key]key), entering: make(map[key]*entering),
		revoked: make(map[uint64]time.Time)}, nil
}

// Keep makes the Login remember used tokens and revocations in a file, which it makes if need be, so
// that they last when the server is started anew. What the file knows already counts from now on. It is
// called before the Login is used.
func (l *Login) Keep(path string) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("host: used tokens: %w", err)
	}
	now := time.Now()
	var kept []byte
	for ; len(old) >= spentSize; old = old[spentSize:] { // a half one at the end was being written
		when := binary.LittleEndian.Uint64(old[session.KeySize:])
		if when&revoked != 0 {
			if at := time.Unix(0, int64(when&^revoked)); now.Sub(at) <= revocationLasts {
				l.revoked[binary.LittleEndian.Uint64(old)] = at
				kept = append(kept, old[:spentSize]...)
			}
			continue
		}
		g := token.Grant{Nonce: key(old), Expires: time.Unix(int64(when), 0)}
		if now.Before(g.Expires.Add(token.Skew)) && l.spent.Use(g, now) == nil {
			kept = append(kept, old[:spentSize]...)
		}
	}
	if err := os.WriteFile(path+".new", kept, 0o600); err != nil {
		return fmt.Errorf("host: used tokens: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("host: used tokens: %w", err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("host: used tokens: %w", err)
	}
	l.file = file
	return nil
}

// revocationLasts is for how long a revocation counts: no token lives longer.
const revocationLasts = token.MaxLifetime + token.Skew

// Revoke makes the tokens of an account void that were issued up to now. Who is in already stays
// in, see Host.Kick. It fails where it cannot be kept beyond the end of this run.
func (l *Login) Revoke(account uint64) error {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for a, at := range l.revoked {
		if now.Sub(at) > revocationLasts {
			delete(l.revoked, a)
		}
	}
	l.revoked[account] = now
	var b [spentSize]byte
	binary.LittleEndian.PutUint64(b[:], account)
	binary.LittleEndian.PutUint64(b[session.KeySize:], revoked|uint64(now.UnixNano()))
	if err := l.keep(b[:]); err != nil {
		return fmt.Errorf("host: it counts until the server ends, and is not kept: %w", err)
	}
	return nil
}

// check returns what the token of a hello grants. A nil Login accepts every hello and grants
// nothing. If it accepts, settle must be called once it is known whether the player got in: only
// then the token is used.
func (l *Login) check(hello *session.Hello) (g token.Grant, settle func(in bool), err error) {
	if l == nil {
		return token.Grant{}, func(bool) {}, nil
	}
	now := time.Now()
	if g, err = l.verifier.Verify(hello.Token, hello.Room, now); err != nil {
		return token.Grant{}, nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ok := l.revoked[g.Player]; ok && g.Player != 0 && !g.Issued.After(at) {
		return token.Grant{}, nil, errRevoked
	}
	// A hello without a nonce could be anybody's, so it never counts as the same hello.
	same := func(other key) bool { return other == hello.Nonce && hello.Nonce != key{} }
	used, wasUsed := l.usedBy[g.Nonce]
	e := l.entering[g.Nonce]
	if e != nil && !same(e.hello) {
		return token.Grant{}, nil, token.ErrSpent
	}
	if err := l.spent.Check(g, now); err != nil && !(errors.Is(err, token.ErrSpent) && wasUsed && same(used)) {
		return token.Grant{}, nil, err
	}
	if e != nil && e.n >= maxEntering {
		return token.Grant{}, nil, token.ErrSpent
	}
	if e == nil {
		e = &entering{hello: hello.Nonce}
		l.entering[g.Nonce] = e
	}
	e.n++
	return g, func(in bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if e.n--; e.n == 0 {
			delete(l.entering, g.Nonce)
		}
		if in {
			l.use(g, e.hello)
		}
	}, nil
}

// use notes that a token was used by a hello. l.mu is held.
func (l *Login) use(g token.Grant, hello key) {
	if l.spent.Use(g, time.Now()) != nil {
		return // by the same hello on another transport
	}
	if len(l.order) < repeatableTokens {
		l.order = append(l.order, g.Nonce)
	} else {
		delete(l.usedBy, l.order[l.next])
		l.order[l.next] = g.Nonce
		l.next = (l.next + 1) % repeatableTokens
	}
	l.usedBy[g.Nonce] = hello
	b := binary.LittleEndian.AppendUint64(append([]byte(nil), g.Nonce[:]...), uint64(g.Expires.Unix()))
	_ = l.keep(b) // a full disk makes no player wait: the token is used until the end of this run
}
