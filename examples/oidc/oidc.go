// Package oidc shows how a game lets in whoever has an account at a provider of OpenID Connect. The
// page gets an ID token from the provider, as its documentation says, and joins with it:
//
//	const game = await join({ canvas, credential: () => idToken })
//
// The game's program checks it and says who that is:
//
//	provider := oidc.Provider{Issuer: "https://accounts.example", Client: "my-game"}
//	app.Main(&mygame.Game, app.Options{Authenticate: func(a app.Applicant) (app.Account, error) {
//		who, err := provider.Check(a.Bearer)
//		if err != nil {
//			return app.Account{}, err
//		}
//		return app.Account{ID: token.Player(provider.Issuer, who.Subject), Name: who.Name}, nil
//	}})
//
// It needs the standard library alone, and checks what OpenID Connect Core 1.0 asks for in section
// 3.1.3.7 of tokens that are signed with ES256 or RS256.
package oidc

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// keysEvery is the least time between two questions for the provider's keys: tokens that name
	// unknown keys cost no more.
	keysEvery = time.Minute
	// p256Bytes is the size of a coordinate of P-256 in a JSON Web Key (RFC 7518, section 6.2.1.2).
	p256Bytes = 32
	// maxAnswer is the largest answer of a provider in bytes.
	maxAnswer = 1 << 20
	// skew is how far the clocks of provider and game may differ.
	skew = 30 * time.Second
	// timeout bounds each question to the provider.
	timeout = 10 * time.Second
)

// A Provider checks the ID tokens of one provider. Issuer and Client must be set. Safe for
// concurrent use.
type Provider struct {
	// Issuer is the provider's address, as its tokens name it, and Client the name that it knows
	// the game by.
	Issuer, Client string

	mu    sync.Mutex
	keys  map[string]crypto.PublicKey
	asked time.Time
}

// A Person is whom an ID token is about.
type Person struct {
	// Subject is the same whenever the person comes.
	Subject string `json:"sub"`
	// Name is what others call the person; it may be empty.
	Name string `json:"name"`
}

type claims struct {
	Person
	Issuer   string          `json:"iss"`
	Audience json.RawMessage `json:"aud"` // one text, or a list
	Party    string          `json:"azp"`
	Expires  float64         `json:"exp"`
}

// Check returns whom an ID token is about, or an error for a person to read.
func (p *Provider) Check(idToken string) (Person, error) {
	if idToken == "" {
		return Person{}, errors.New("log in first")
	}
	parts := strings.Split(idToken, ".")
	if len(parts) != 3 {
		return Person{}, errors.New("this is no ID token")
	}
	var head struct{ Alg, Kid string }
	var c claims
	if err := errors.Join(decode(parts[0], &head), decode(parts[1], &c)); err != nil {
		return Person{}, errors.New("this is no ID token")
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return Person{}, errors.New("this is no ID token")
	}
	key, err := p.key(head.Kid)
	if err != nil {
		return Person{}, err
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !signed(key, head.Alg, sum[:], signature) {
		return Person{}, errors.New("the login is not signed by its provider")
	}
	var many []string
	var one string
	if json.Unmarshal(c.Audience, &one) == nil {
		many = []string{one}
	} else if json.Unmarshal(c.Audience, &many) != nil {
		return Person{}, errors.New("this is no ID token")
	}
	switch {
	case c.Issuer != p.Issuer || len(many) != 1 || many[0] != p.Client || c.Party != "" && c.Party != p.Client:
		return Person{}, errors.New("the login is for another game")
	case time.Now().After(time.Unix(int64(c.Expires), 0).Add(skew)):
		return Person{}, errors.New("the login has expired; log in again")
	case c.Subject == "":
		return Person{}, errors.New("the login names nobody")
	}
	return c.Person, nil
}

func decode(part string, into any) error {
	b, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}

// signed reports whether a signature is that of the key. The key decides how to check, never the
// token alone.
func signed(key crypto.PublicKey, alg string, sum, signature []byte) bool {
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		return alg == "ES256" && len(signature) == 64 &&
			ecdsa.Verify(k, sum, new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
	case *rsa.PublicKey:
		return alg == "RS256" && rsa.VerifyPKCS1v15(k, crypto.SHA256, sum, signature) == nil
	}
	return false
}

// key returns the provider's key of a name. It asks for the keys anew if it does not know it.
func (p *Provider) key(name string) (crypto.PublicKey, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k, ok := p.keys[name]; ok {
		return k, nil
	}
	if now := time.Now(); now.Sub(p.asked) >= keysEvery {
		p.asked = now
		keys, err := p.ask()
		if err != nil {
			return nil, fmt.Errorf("the login's provider does not answer: %w", err)
		}
		p.keys = keys
	}
	if k, ok := p.keys[name]; ok {
		return k, nil
	}
	return nil, errors.New("the login is signed with a key that its provider does not know")
}

// ask fetches the provider's keys (OpenID Connect Discovery 1.0, RFC 7517).
func (p *Provider) ask() (map[string]crypto.PublicKey, error) {
	var found struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := fetch(strings.TrimSuffix(p.Issuer, "/")+"/.well-known/openid-configuration", &found); err != nil {
		return nil, err
	}
	if found.Issuer != p.Issuer {
		return nil, fmt.Errorf("it calls itself %q", found.Issuer)
	}
	var set struct {
		Keys []struct{ Kty, Kid, Crv, X, Y, N, E string }
	}
	if err := fetch(found.Keys, &set); err != nil {
		return nil, err
	}
	bytesOf := func(text string) []byte {
		b, _ := base64.RawURLEncoding.DecodeString(text)
		return b
	}
	number := func(text string) *big.Int { return new(big.Int).SetBytes(bytesOf(text)) }
	keys := make(map[string]crypto.PublicKey)
	for _, k := range set.Keys {
		switch {
		case k.Kty == "EC" && k.Crv == "P-256":
			// An uncompressed point of SEC 1: 4, then both coordinates. It is checked to be on the curve.
			point := make([]byte, 1+2*p256Bytes)
			point[0] = 4
			if x, y := bytesOf(k.X), bytesOf(k.Y); len(x) == p256Bytes && len(y) == p256Bytes {
				copy(point[1:], x)
				copy(point[1+p256Bytes:], y)
			}
			if key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point); err == nil {
				keys[k.Kid] = key
			}
		case k.Kty == "RSA" && number(k.E).IsInt64():
			keys[k.Kid] = &rsa.PublicKey{N: number(k.N), E: int(number(k.E).Int64())}
		}
	}
	return keys, nil
}

func fetch(url string, into any) error {
	client := http.Client{Timeout: timeout}
	r, err := client.Get(url)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return errors.New(r.Status)
	}
	return json.NewDecoder(io.LimitReader(r.Body, maxAnswer)).Decode(into)
}
