package host

import (
	"crypto/ed25519"
	"errors"
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
)

// A Login checks the connect tokens in hellos. Each token admits once. Safe for concurrent use.
type Login struct {
	verifier *token.Verifier

	mu    sync.Mutex
	spent *token.Spent
	// usedBy maps the nonce of a token to the nonce of the hello that used it: a client that tries
	// two transports at once sends the same hello on both.
	usedBy map[[session.KeySize]byte][session.KeySize]byte
	order  [][session.KeySize]byte // the keys of usedBy, a ring
	next   int
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
	usedBy := make(map[[session.KeySize]byte][session.KeySize]byte)
	return &Login{verifier: verifier, spent: spent, usedBy: usedBy}, nil
}

// check returns what the token of a hello grants. A nil Login accepts every hello and grants
// nothing.
func (l *Login) check(hello *session.Hello) (token.Grant, error) {
	if l == nil {
		return token.Grant{}, nil
	}
	if len(hello.Token) == 0 {
		return token.Grant{}, errors.New("this server needs a connect token")
	}
	now := time.Now()
	g, err := l.verifier.Verify(hello.Token, hello.Room, now)
	if err != nil {
		return token.Grant{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err = l.spent.Use(g, now)
	// A hello without a nonce could be anybody's, so it never counts as the same hello.
	same := l.usedBy[g.Nonce] == hello.Nonce && hello.Nonce != [session.KeySize]byte{}
	switch {
	case errors.Is(err, token.ErrSpent) && same:
		return g, nil
	case err != nil:
		return token.Grant{}, err
	}
	if len(l.order) < repeatableTokens {
		l.order = append(l.order, g.Nonce)
	} else {
		delete(l.usedBy, l.order[l.next])
		l.order[l.next] = g.Nonce
		l.next = (l.next + 1) % repeatableTokens
	}
	l.usedBy[g.Nonce] = hello.Nonce
	return g, nil
}
