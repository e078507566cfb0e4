package host

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"meanwhile/session"
	"meanwhile/session/token"
)

// spentTokens is how many used tokens are remembered. They are forgotten when they expire; while so many are valid,
// more are refused.
const spentTokens = 1 << 16

// A Login checks the connect tokens of those who join. Safe for concurrent use.
type Login struct {
	verifier *token.Verifier
	issuer   *token.Issuer // nil: tokens come from elsewhere
	now      func() time.Time

	mu    sync.Mutex
	spent *token.Spent
	// by says which hello used a token: a client that tries two transports says the same hello on both.
	by    map[[session.KeySize]byte][session.KeySize]byte
	order [][session.KeySize]byte // the keys of by, a ring
	next  int
}

// sameHello is how many of the newest tokens may come twice in the same hello.
const sameHello = 4096

// NewLogin returns a Login that lets in who brings a token for audience signed with one of the keys. An empty audience
// accepts tokens for any server.
func NewLogin(audience string, keys ...ed25519.PublicKey) (*Login, error) {
	v, err := token.NewVerifier(audience, keys...)
	if err != nil {
		return nil, err
	}
	return newLogin(v, nil)
}

// NewDevelopmentLogin returns a Login that issues its own tokens, for a server that has no other login.
func NewDevelopmentLogin() (*Login, error) {
	issuer, v, err := token.Development(rand.Reader)
	if err != nil {
		return nil, err
	}
	return newLogin(v, issuer)
}

func newLogin(v *token.Verifier, issuer *token.Issuer) (*Login, error) {
	spent, err := token.NewSpent(spentTokens)
	if err != nil {
		return nil, err
	}
	return &Login{verifier: v, issuer: issuer, now: time.Now, spent: spent, by: make(map[[session.KeySize]byte][session.KeySize]byte)}, nil
}

// ErrNoIssuer reports that tokens come from elsewhere.
var ErrNoIssuer = errors.New("host: this server issues no tokens")

// Token returns a token with which a guest of this name may join the room; an empty room means any. It fails with
// ErrNoIssuer unless the Login is a development server's.
func (l *Login) Token(name, room string) ([]byte, error) {
	if l == nil || l.issuer == nil {
		return nil, ErrNoIssuer
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.issuer.Issue(token.Grant{Name: name, Room: room}, l.now(), token.DefaultLifetime)
}

// check returns what the token of a hello grants. A nil Login grants everything to everybody.
func (l *Login) check(hello session.Hello) (token.Grant, error) {
	if l == nil {
		return token.Grant{}, nil
	}
	if len(hello.Token) == 0 {
		return token.Grant{}, errors.New("this server lets in only who brings a connect token")
	}
	g, err := l.verifier.Verify(hello.Token, hello.Room, l.now())
	if err != nil {
		return token.Grant{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err = l.spent.Use(g, l.now())
	if errors.Is(err, token.ErrSpent) && l.by[g.Nonce] == hello.Nonce && hello.Nonce != [session.KeySize]byte{} {
		return g, nil
	}
	if err != nil {
		return token.Grant{}, err
	}
	if len(l.order) < sameHello {
		l.order = append(l.order, g.Nonce)
	} else {
		delete(l.by, l.order[l.next])
		l.order[l.next] = g.Nonce
		l.next = (l.next + 1) % sameHello
	}
	l.by[g.Nonce] = hello.Nonce
	return g, nil
}
