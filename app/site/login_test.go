package site

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"meanwhile/headless"
	"meanwhile/host"
	"meanwhile/session"
	"meanwhile/session/token"
	"meanwhile/transport"
	"meanwhile/transport/cert"
	"meanwhile/transport/quic"
)

// A gated site lets in players with tokens alone.
type gated struct {
	*Site
	t *testing.T
}

func newGated(t *testing.T, cfg Config) *gated {
	t.Helper()
	cfg.Addr, cfg.Host.Rules = "127.0.0.1:0", rules(t)
	s, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, nil) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &gated{s, t}
}

// join tries to play with a token for a moment.
func (g *gated) join(tok []byte) error {
	g.t.Helper()
	prints, err := g.Fingerprints()
	if err != nil {
		g.t.Fatal(err)
	}
	conn, err := quic.Dial(g.t.Context(), g.QUIC(), quic.DialConfig{Clock: g.Host().Clock(), TLS: cert.Pin(prints...)})
	if err != nil {
		g.t.Fatal(err)
	}
	_, err = headless.Join(g.t.Context(), conn, headless.Config{Rules: g.cfg.Host.Rules, Clock: g.Host().Clock(),
		Token: func(context.Context) ([]byte, error) { return tok, nil }})
	conn.Close("")
	return err
}

// post sends a request and returns its status and its answer.
func (g *gated) post(url, body string, headers ...string) (int, string) {
	g.t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		g.t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return answer.StatusCode, string(b)
}

func refusedWith(err error, code session.Code) bool {
	var r session.Refusal
	return errors.As(err, &r) && r.Code == code
}

// A login server asks at the address of whoever runs the server; what it gets lets one player in.
// From there players are sent away, banned and revoked, too. Pages cannot ask there.
func TestOrders(t *testing.T) {
	s := newGated(t, Config{Door: Door{Login: true, Metrics: "localhost:0", State: t.TempDir(), Audience: "here"}})
	op := "http://" + s.op.Addr().String()
	order := func(path, body string, want int) string {
		t.Helper()
		status, answer := s.post(op+path, body, "Content-Type", "application/json")
		if status != want {
			t.Errorf("%s %s: %d %s", path, body, status, answer)
		}
		return answer
	}
	issue := func() []byte {
		t.Helper()
		var got struct {
			Token []byte `json:"token"`
		}
		if err := json.Unmarshal([]byte(order("/token", `{"player": 7, "name": "Ada"}`, http.StatusOK)), &got); err != nil {
			t.Fatal(err)
		}
		return got.Token
	}
	if err := s.join(nil); !refusedWith(err, session.NoToken) {
		t.Errorf("without a token: %v", err)
	}
	if err := s.join(issue()); err != nil {
		t.Errorf("with one: %v", err)
	}
	order("/ban", `{"player": 7, "seconds": 3600, "why": "cheating"}`, http.StatusOK)
	if err := s.join(issue()); !refusedWith(err, session.Removed) || !strings.Contains(err.Error(), "cheating") {
		t.Errorf("banned: %v", err)
	}
	order("/ban", `{"player": 7, "seconds": 10000000000, "why": "for ever"}`, http.StatusOK) // more than a Duration has
	if err := s.join(issue()); !refusedWith(err, session.Removed) || !strings.Contains(err.Error(), "for ever") {
		t.Errorf("banned for ever: %v", err)
	}
	order("/ban", `{"player": 7}`, http.StatusBadRequest)
	order("/ban", `{"player": 7, "seconds": -3}`, http.StatusBadRequest)
	if err := s.join(issue()); !refusedWith(err, session.Removed) {
		t.Errorf("a ban without a length has lifted the one before: %v", err)
	}
	order("/ban", `{"player": 7, "seconds": 0}`, http.StatusOK)
	tok := issue()
	order("/revoke", `{"player": 7}`, http.StatusOK)
	if err := s.join(tok); !refusedWith(err, session.BadToken) {
		t.Errorf("revoked: %v", err)
	}
	order("/revoke", `{"from": "192.0.2.7"}`, http.StatusBadRequest) // no token is an address's
	for _, bad := range []string{`{}`, `{"from": "127.0.0.0/8"}`, `{"from": "::1"}`} {
		order("/kick", bad, http.StatusBadRequest)
		order("/ban", strings.Replace(bad, "}", `"seconds": 60}`, 1), http.StatusBadRequest)
	}
	if n := order("/kick", `{"from": "192.0.2.0/24", "why": "enough"}`, http.StatusOK); n != "0\n" {
		t.Errorf("%q were kicked", n)
	}
	for _, bad := range []string{`{}`, `{"player": 0}`, `{"player": 7, "guest": true}`, `{"name": "Ada"}`} {
		order("/token", bad, http.StatusBadRequest) // a login server whose player is missing lets nobody in
	}
	order("/token", `{"guest": true}`, http.StatusOK)
	if n := order("/kick", `{"from": "192.0.2.7", "why": "enough"}`, http.StatusOK); n != "0\n" {
		t.Errorf("%q were kicked", n)
	}
	why := order("/ban", `{"from": "here", "seconds": 9}`, http.StatusBadRequest)
	if !strings.Contains(why, "such as 192.0.2.0/24") {
		t.Errorf("a ban of here: %s", why)
	}
	order("/ban", `{"seconds": 3600}`, http.StatusBadRequest)
	order("/ban", `{"playr": 7}`, http.StatusBadRequest)
	order("/kick", strings.Repeat(" ", maxOrder+1)+"{}", http.StatusBadRequest)
	for _, headers := range [][]string{{"Content-Type", "text/plain"},
		{"Content-Type", "application/json", "Origin", "https://evil.example"}} {
		status, _ := s.post(op+"/ban", `{"player": 7, "seconds": 3600}`, headers...)
		if status != http.StatusUnsupportedMediaType {
			t.Errorf("a page got %d", status)
		}
	}
	if status, _ := s.post(s.URL()+"token", `{}`, "Content-Type", "application/json"); status == http.StatusOK {
		t.Error("the address of the players issues tokens")
	}
}

// Who watches the server learns when it is ready, and that it drains while players still play.
func TestReadiness(t *testing.T) {
	s, err := Listen(Config{Addr: "127.0.0.1:0", Host: host.Config{Rules: rules(t)},
		Door: Door{Metrics: "localhost:0", Drain: time.Minute, DrainTo: "https://b.example/", RoomsPerAddress: 7}})
	if err != nil {
		t.Fatal(err)
	}
	if n := s.cfg.Host.RoomsPerAddress; n != 7 {
		t.Errorf("an address may open %d rooms, the flag says 7", n)
	}

	check := func(path, want string, status int) {
		t.Helper()
		w := httptest.NewRecorder()
		s.operator().ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+path, nil))
		if w.Code != status || w.Body.String() != want+"\n" {
			t.Errorf("%s: %d %q, want %d %q", path, w.Code, w.Body, status, want)
		}
	}
	// ends returns what a page learns that comes now.
	ends := func() (c pageConfig) {
		t.Helper()
		w := httptest.NewRecorder()
		s.handler().ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/meanwhile.json", nil))
		if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil {
			t.Errorf("%v in %s", err, w.Body)
		}
		return c
	}
	p, err := NewProgram([]byte("\x00asm"+strings.Repeat("meanwhile ", 1000)), nil, []byte("// wasm_exec.js"))
	if err != nil {
		t.Fatal(err)
	}
	check("/healthz", "ok", http.StatusOK)
	check("/readyz", "starting", http.StatusServiceUnavailable)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, p) }()
	prints, err := s.Fingerprints()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := quic.Dial(t.Context(), s.QUIC(), quic.DialConfig{Clock: s.Host().Clock(), TLS: cert.Pin(prints...)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = headless.Join(t.Context(), conn, headless.Config{Rules: s.cfg.Host.Rules, Clock: s.Host().Clock()})
	if err != nil {
		t.Fatal(err)
	}
	check("/healthz", "ok", http.StatusOK)
	check("/readyz", "ready", http.StatusOK)
	if c := ends(); c.Ends || c.To != "" {
		t.Errorf("a server that goes on says %+v", c)
	}
	stop()
	if _, err := conn.ReceiveMessage(t.Context()); err != nil { // the farewell
		t.Fatal(err)
	}
	check("/healthz", "draining", http.StatusServiceUnavailable)
	check("/readyz", "draining", http.StatusServiceUnavailable)
	if c := ends(); !c.Ends || c.To != "https://b.example/" {
		t.Errorf("a server that ends says %+v", c)
	}
	conn.Close(session.Goodbye)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	check("/readyz", "ended", http.StatusServiceUnavailable)
}

// A page that was given a token is expected at the gate: strangers do not put it out.
func TestTokenHoldersAreExpected(t *testing.T) {
	s, err := Listen(Config{Addr: "127.0.0.1:0", Host: host.Config{Rules: rules(t)},
		Authenticate: func(Applicant) (Account, error) { return Account{}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := httptest.NewRequest("POST", "http://localhost/token", nil)
	r.RemoteAddr = "203.0.113.7:1"
	w := httptest.NewRecorder()
	if s.handler().ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	out := map[string]bool{}
	for _, from := range []string{"203.0.113.7:2", "192.0.2.1:1"} {
		v, ok := s.gate.Enter(from)
		if !ok {
			t.Fatal("the gate is shut")
		}
		v.Ends(func() { out[from] = true; v.Leave() })
	}
	for i := range 2 * transport.MaxVisitors {
		if v, ok := s.gate.Enter(fmt.Sprintf("198.%d.%d.1:1", 18+i>>8, i&255)); ok {
			v.Ends(v.Leave)
		}
	}
	if out["203.0.113.7:2"] || !out["192.0.2.1:1"] {
		t.Errorf("put out: %v", out)
	}
}

// An address gets so many tokens and then few, and others get theirs beside it. A credential
// reaches Authenticate unless it is too long.
func TestTokensHaveARate(t *testing.T) {
	bearer := ""
	s, err := Listen(Config{Addr: "127.0.0.1:0", Host: host.Config{Rules: rules(t)},
		Authenticate: func(a Applicant) (Account, error) { bearer = a.Bearer; return Account{}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ask := func(from, credential string) int {
		r := httptest.NewRequest("POST", "http://localhost/token", nil)
		r.RemoteAddr = from
		r.Header.Set("Authorization", "Bearer "+credential)
		w := httptest.NewRecorder()
		s.handler().ServeHTTP(w, r)
		return w.Code
	}
	if code := ask("192.0.2.1:1", strings.Repeat("x", maxBearer+1)); code != http.StatusBadRequest || bearer != "" {
		t.Errorf("a credential that is too long: %d, %d bytes of it arrived", code, len(bearer))
	}
	if code := ask("192.0.2.1:1", "xyz"); code != http.StatusOK || bearer != "xyz" {
		t.Errorf("%d, the credential is %q", code, bearer)
	}
	got := map[int]int{}
	for range 2 * loginTries {
		got[ask("203.0.113.7:1", "")]++
	}
	if got[http.StatusOK] < loginTries || got[http.StatusTooManyRequests] == 0 {
		t.Errorf("one address got %v", got)
	}
	issued, refused, tooMany := s.sources().Tokens()
	if issued != uint64(got[http.StatusOK])+1 || refused != 1 || tooMany != uint64(got[http.StatusTooManyRequests]) {
		t.Errorf("counted are %d issued, %d refused, %d too many; the address got %v", issued, refused, tooMany, got)
	}
	if code := ask("192.0.2.2:1", ""); code != http.StatusOK {
		t.Errorf("another address got %d", code)
	}
}

// A login elsewhere needs only to tell its public key.
func TestLoginKey(t *testing.T) {
	issuer, err := token.NewIssuer(bytes.Repeat([]byte{1}, ed25519.SeedSize), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := newGated(t, Config{Door: Door{LoginKey: []string{hex.EncodeToString(issuer.PublicKey())}, Audience: "here"}})
	for _, c := range []struct {
		audience string
		ok       bool
	}{{"here", true}, {"", true}, {"elsewhere", false}} {
		tok, err := issuer.Issue(token.Grant{Audience: c.audience}, time.Now(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.join(tok); (err == nil) != c.ok || err != nil && !refusedWith(err, session.BadToken) {
			t.Errorf("audience %q: %v", c.audience, err)
		}
	}
}

// Pages of other hosts and pushy addresses get no tokens.
func TestWhoMayAskForTokens(t *testing.T) {
	asked := 0
	s := newGated(t, Config{Host: host.Config{}, Door: Door{Origin: []string{"https://me.example"}},
		Authenticate: func(a Applicant) (Account, error) {
			asked++
			if a.Cookies["session"] != "7" || a.Room != "one" {
				return Account{}, fmt.Errorf("got %+v", a)
			}
			return Account{ID: 7}, nil
		}})
	url := s.URL() + "token?room=one"
	own := strings.TrimSuffix(s.URL(), "/")
	for _, c := range []struct {
		origin, cookie string
		want           int
	}{
		{own, "session=7", http.StatusOK}, {"https://me.example", "session=7", http.StatusOK},
		{own, "session=8", http.StatusUnauthorized}, {"https://evil.example", "session=7", http.StatusForbidden},
		{"", "session=7", http.StatusForbidden},
	} {
		headers := []string{"Cookie", c.cookie}
		if c.origin != "" {
			headers = append(headers, "Origin", c.origin)
		}
		if status, answer := s.post(url, "", headers...); status != c.want {
			t.Errorf("%+v: %d %s", c, status, answer)
		}
	}
	if asked != 3 {
		t.Errorf("Authenticate was asked %d times, want 3", asked)
	}
	r := mustRequest(t, http.MethodOptions, url)
	r.Header.Set("Origin", "https://me.example")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if h := answer.Header; h.Get("Access-Control-Allow-Headers") != "Authorization" ||
		h.Get("Access-Control-Allow-Origin") != "https://me.example" {
		t.Errorf("a page of another host may ask: %v", h)
	}
}

func mustRequest(t *testing.T, method, url string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
