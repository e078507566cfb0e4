package site

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"meanwhile/host"
	"meanwhile/session/token"
	"meanwhile/transport"
)

// Files in the folder of --state: used tokens, and bans.
const (
	tokensFile = "tokens"
	bansFile   = "bans.json"
)

// tokenPath is where pages ask for tokens.
const tokenPath = "/token"

const (
	// loginTries is how many tokens one address may ask for at once, such as all players of a
	// school when the server has restarted, and loginRefill in which time as many again.
	loginTries  = host.DefaultPlayersPerAddress
	loginRefill = time.Minute
	// loginsAtOnce is how many calls of Config.Authenticate run at once; further requests wait.
	loginsAtOnce = 32
	// maxBearer is the longest credential in bytes, and maxOrder the longest order of an operator.
	maxBearer = 8 << 10
	maxOrder  = 4 << 10
	// maxBanSeconds is a hundred years: a longer ban lasts as long, and does not overflow.
	maxBanSeconds = 100 * 365 * 24 * 60 * 60
)

// An Applicant is a page that asks for a connect token.
type Applicant struct {
	// Bearer is the credential that the page sent, such as an ID token of OpenID Connect.
	Bearer string
	// Cookies are those of the page, if it comes from this server.
	Cookies map[string]string
	// Room is where the player wants to play; empty: the default room.
	Room string
}

// An Account is who an Applicant is.
type Account struct {
	// ID is the same whenever the player comes; 0 is a guest. token.Player makes one.
	ID uint64
	// Name is what others call the player; empty: what the player chooses.
	Name string
	// Room is the only room that the player may join; empty: any.
	Room string
}

// A login issues connect tokens and says which ones the host accepts.
type login struct {
	mu     sync.Mutex // the issuer's
	issuer *token.Issuer
	rates  *transport.Rates[netip.Addr]
	busy   chan struct{}

	issued, refused, tooMany atomic.Uint64 // requests of pages
}

// openLogin makes the host demand connect tokens if Config.Authenticate or a flag says so.
func (s *Site) openLogin() error {
	d := &s.cfg.Door
	if s.cfg.Authenticate == nil && !d.Login && len(d.LoginKey) == 0 {
		if d.Audience != "" {
			return errors.New("--audience needs --login or --login-key")
		}
		return nil
	}
	if d.Login && d.Metrics == "" {
		return errors.New("--login needs --metrics HOST:PORT, where your login server asks for tokens")
	}
	var keys []ed25519.PublicKey
	for _, text := range d.LoginKey {
		b, err := hex.DecodeString(text)
		if err != nil || len(b) != ed25519.PublicKeySize {
			return fmt.Errorf("--login-key %q is not the %d hexadecimal digits of an Ed25519 public key", text,
				2*ed25519.PublicKeySize)
		}
		keys = append(keys, b)
	}
	if s.cfg.Authenticate != nil || d.Login {
		seed, err := secret(d.State, loginKeyFile, ed25519.SeedSize)
		if err != nil {
			return err
		}
		issuer, err := token.NewIssuer(seed, rand.Reader)
		if err != nil {
			return err
		}
		s.login = &login{issuer: issuer, rates: transport.NewRates[netip.Addr](loginTries, loginRefill),
			busy: make(chan struct{}, loginsAtOnce)}
		keys = append(keys, issuer.PublicKey())
	}
	l, err := host.NewLogin(d.Audience, keys...)
	if err == nil && d.State != "" {
		err = l.Keep(filepath.Join(d.State, tokensFile))
	}
	s.cfg.Host.Login = l
	return err
}

// issue answers a request with a token for an account.
func (s *Site) issue(w http.ResponseWriter, a Account) {
	g := token.Grant{Player: a.ID, Name: a.Name, Room: a.Room, Audience: s.cfg.Door.Audience}
	s.login.mu.Lock()
	b, err := s.login.issuer.Issue(g, time.Now(), 0)
	s.login.mu.Unlock()
	if err != nil {
		s.log.Error("no token could be issued", "error", err)
		http.Error(w, "No token could be issued.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", types[".json"])
	_ = json.NewEncoder(w).Encode(map[string]any{"token": base64.StdEncoding.EncodeToString(b),
		"expires": time.Now().Add(token.DefaultLifetime).Unix()})
}

// mayAsk answers what browsers ask before a page of another host may send its credential (CORS).
func (s *Site) mayAsk(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Access-Control-Allow-Methods", http.MethodPost)
	w.Header().Set("Access-Control-Allow-Headers", "Authorization")
	w.WriteHeader(http.StatusNoContent)
}

// token answers POST /token of pages with what Config.Authenticate says.
func (s *Site) token(w http.ResponseWriter, r *http.Request) {
	// Cookies are sent by the browser, whoever asks: so only pages that may connect may ask.
	origin := r.Header.Get("Origin")
	if !s.origins.Allow(origin, r.Host) || origin == "" && r.Header.Get("Cookie") != "" {
		s.login.refused.Add(1)
		http.Error(w, "This page may not ask for tokens here.", http.StatusForbidden)
		return
	}
	from, counted := transport.Origin(r.RemoteAddr)
	if counted && !s.login.rates.Take(from) {
		s.login.tooMany.Add(1)
		http.Error(w, "Too many requests; try again in a minute.", http.StatusTooManyRequests)
		return
	}
	a := Applicant{Cookies: make(map[string]string), Room: r.URL.Query().Get("room")}
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		a.Bearer = bearer
	}
	if len(a.Bearer) > maxBearer {
		s.login.refused.Add(1)
		http.Error(w, "The credential is too long.", http.StatusBadRequest)
		return
	}
	for _, c := range r.Cookies() {
		a.Cookies[c.Name] = c.Value
	}
	select {
	case s.login.busy <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	account, err := func() (Account, error) {
		defer func() { <-s.login.busy }() // also after a panic
		return s.cfg.Authenticate(a)
	}()
	if err != nil {
		s.login.refused.Add(1)
		s.log.Info("a login failed", "from", r.RemoteAddr, "error", err)
		http.Error(w, sentence(err.Error()), http.StatusUnauthorized)
		return
	}
	if counted {
		s.gate.Expect(from, token.DefaultLifetime)
	}
	s.login.issued.Add(1)
	s.issue(w, account)
}

// An order is what an operator asks for with POST.
type order struct {
	Player  uint64  `json:"player"`
	Guest   bool    `json:"guest"`
	Name    string  `json:"name"`
	Room    string  `json:"room"`
	From    network `json:"from"`
	Seconds *int64  `json:"seconds"`
	Why     string  `json:"why"`
}

// A network is an address, or several as 192.0.2.0/24 names them.
type network netip.Prefix

// UnmarshalText reads either.
func (n *network) UnmarshalText(text []byte) error {
	p, err := netip.ParsePrefix(string(text))
	if a, wrong := netip.ParseAddr(string(text)); wrong == nil {
		p, err = netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
	}
	if err != nil {
		return fmt.Errorf("from %q is neither an address nor a network such as 192.0.2.0/24", text)
	}
	*n = network(p)
	return nil
}

// who returns whom an order names.
func (o *order) who() (host.Who, error) {
	w := host.Who{Account: o.Player, From: netip.Prefix(o.From)}
	switch {
	case w == host.Who{}:
		return w, errors.New("nobody is named: give player, or from")
	case w.From.Addr().IsLoopback():
		return w, errors.New("players on this machine are not told apart by their addresses; name one by player")
	}
	return w, nil
}

// orders adds what only operators and login servers may do to mux: POST /token, /kick, /ban,
// /revoke and /save, each with a JSON object.
func (s *Site) orders(mux *http.ServeMux) {
	handle := func(path string, do func(w http.ResponseWriter, o order) error) {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			var o order
			// No page can send this content type here without asking first, which is refused.
			if r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Origin") != "" {
				http.Error(w, "Send application/json, and not from a page.", http.StatusUnsupportedMediaType)
				return
			}
			in := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder))
			in.DisallowUnknownFields()
			err := in.Decode(&o)
			if err == nil {
				err = do(w, o)
			}
			if err != nil {
				http.Error(w, sentence(strings.TrimPrefix(err.Error(), "host: ")), http.StatusBadRequest)
			}
		})
	}
	handle("/kick", func(w http.ResponseWriter, o order) error {
		who, err := o.who()
		if err == nil {
			fmt.Fprintln(w, s.host.Kick(who, o.Why))
		}
		return err
	})
	handle("/ban", func(w http.ResponseWriter, o order) error {
		who, err := o.who()
		if err != nil {
			return err
		}
		if o.Seconds == nil || *o.Seconds < 0 {
			return errors.New("for how many seconds is missing, or below 0; 0 lifts a ban")
		}
		length := time.Duration(min(*o.Seconds, maxBanSeconds)) * time.Second
		return s.host.Ban(who, length, o.Why)
	})
	if s.cfg.Door.KeepRooms {
		handle("/save", func(w http.ResponseWriter, o order) error {
			path, err := s.host.Save(o.Room)
			if err == nil {
				fmt.Fprintln(w, path)
			}
			return err
		})
	}
	if l := s.cfg.Host.Login; l != nil {
		handle("/revoke", func(_ http.ResponseWriter, o order) error {
			if o.Player == 0 {
				return errors.New("player is missing or 0, which is nobody's account; addresses have no tokens")
			}
			return l.Revoke(o.Player)
		})
	}
	if s.login != nil {
		handle("/token", func(w http.ResponseWriter, o order) error {
			if o.Guest == (o.Player != 0) {
				return errors.New("player is missing or 0, which is nobody's account; a guest's token is asked for by guest alone")
			}
			s.issue(w, Account{o.Player, o.Name, o.Room})
			return nil
		})
	}
}
