package oidc_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"meanwhile/app/site"
	"meanwhile/examples/oidc"
	"meanwhile/examples/zap"
	"meanwhile/headless"
	"meanwhile/host"
	"meanwhile/internal/verify/sites"
	"meanwhile/session"
	"meanwhile/session/token"
	"meanwhile/transport/cert"
	"meanwhile/transport/quic"
)

// A standIn is a provider of OpenID Connect.
type standIn struct {
	*httptest.Server
	key *ecdsa.PrivateKey
}

func newStandIn(t *testing.T) *standIn {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &standIn{key: key}
	b64 := base64.RawURLEncoding.EncodeToString
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": p.URL, "jwks_uri": p.URL + "/keys"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		x, y := make([]byte, 32), make([]byte, 32)
		key.X.FillBytes(x)
		key.Y.FillBytes(y)
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []map[string]string{
			{"kty": "EC", "kid": "1", "crv": "P-256", "x": b64(x), "y": b64(y)}}})
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// sign returns an ID token of these claims.
func (p *standIn) sign(t *testing.T, head, claims map[string]any) string {
	b64 := base64.RawURLEncoding.EncodeToString
	h, _ := json.Marshal(head)
	c, _ := json.Marshal(claims)
	text := b64(h) + "." + b64(c)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, p.key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return text + "." + b64(signature)
}

// From an account at a provider to a player in the game: the page's ID token becomes a connect
// token, once, and the server knows the account. Nobody gets in without.
func TestFromProviderToGame(t *testing.T) {
	stand := newStandIn(t)
	provider := oidc.Provider{Issuer: stand.URL, Client: "my-game"}
	rules := sites.Rules(t, &zap.Game)
	s, _ := sites.Serve(t, site.Config{
		Host: host.Config{Rules: rules},
		Authenticate: func(a site.Applicant) (site.Account, error) {
			who, err := provider.Check(a.Bearer)
			if err != nil {
				return site.Account{}, err
			}
			return site.Account{ID: token.Player(provider.Issuer, who.Subject), Name: who.Name}, nil
		},
	}, nil)
	ctx := t.Context()
	ask := func(idToken string) (status int, answer string) {
		t.Helper()
		r, err := http.NewRequest(http.MethodPost, s.URL()+"token", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+idToken)
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		b, err := io.ReadAll(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		return got.StatusCode, string(b)
	}
	prints, err := s.Fingerprints()
	if err != nil {
		t.Fatal(err)
	}
	join := func(tok []byte) error {
		t.Helper()
		conn, err := quic.Dial(ctx, s.QUIC(), quic.DialConfig{Clock: s.Host().Clock(), TLS: cert.Pin(prints...)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = headless.Join(ctx, conn, headless.Config{Rules: rules, Clock: s.Host().Clock(), Name: "me",
			Token: func(context.Context) ([]byte, error) { return tok, nil }})
		conn.Close("")
		return err
	}

	head := map[string]any{"alg": "ES256", "kid": "1"}
	good := map[string]any{"iss": stand.URL, "aud": "my-game", "sub": "248289761001", "name": "Jane",
		"exp": time.Now().Add(time.Hour).Unix()}
	status, answer := ask(stand.sign(t, head, good))
	var issued struct {
		Token []byte `json:"token"`
	}
	if err := json.Unmarshal([]byte(answer), &issued); status != http.StatusOK || err != nil {
		t.Fatalf("%d %s", status, answer)
	}
	if err := join(issued.Token); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		tok  []byte
		code session.Code
	}{"no token": {nil, session.NoToken}, "used before": {issued.Token, session.BadToken}} {
		var r session.Refusal
		if err := join(c.tok); !errors.As(err, &r) || r.Code != c.code {
			t.Errorf("%s: %v", what, err)
		}
	}

	// What is wrong with an ID token is said to the player.
	with := func(key string, value any) map[string]any {
		c := maps.Clone(good)
		c[key] = value
		return c
	}
	parts := strings.Split(stand.sign(t, head, good), ".")
	for _, c := range []struct{ name, id, want string }{
		{"none", "", "Log in first"},
		{"rubbish", "a.b", "no ID token"},
		{"expired", stand.sign(t, head, with("exp", time.Now().Add(-time.Hour).Unix())), "expired"},
		{"another game's", stand.sign(t, head, with("aud", "other")), "another game"},
		{"two games'", stand.sign(t, head, with("aud", []string{"my-game", "other"})), "another game"},
		{"another provider's", stand.sign(t, head, with("iss", "https://evil.example")), "another game"},
		{"nobody", stand.sign(t, head, with("sub", "")), "names nobody"},
		{"unsigned", stand.sign(t, map[string]any{"alg": "none", "kid": "1"}, good), "not signed"},
		{"an unknown key", stand.sign(t, map[string]any{"alg": "ES256", "kid": "2"}, good), "does not know"},
		{"another's claims", parts[0] + "." + strings.Split(stand.sign(t, head, with("sub", "1")), ".")[1] + "." + parts[2],
			"not signed"},
	} {
		if status, answer := ask(c.id); status != http.StatusUnauthorized || !strings.Contains(answer, c.want) {
			t.Errorf("%s: %d %s", c.name, status, answer)
		}
	}
}
