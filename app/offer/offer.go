// Package offer asks a server what it offers to players: /meanwhile.json, and what follows from it
// for programs.
package offer

import (
	"context"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"meanwhile/transport/cert"
)

// The transports, as players name them.
const (
	QUIC         = "quic"
	WebTransport = "webtransport"
	WebSocket    = "websocket"
)

// maxConfig is how many bytes of a server's answers are read.
const maxConfig = 64 << 10

// A Server is what a server's /meanwhile.json says, and what follows from it.
type Server struct {
	Game   string
	Room   string
	Schema string
	Wasm   string
	Exec   string
	Ends   bool   // nobody new is admitted
	To     string // where players should go then: the address of a page; "": nowhere

	Session     *url.URL           // of WebTransport, whose host is that of QUIC, too; nil if there is neither
	Trust       *tls.Config        // for these
	Hashes      []cert.Fingerprint // of the certificates that it trusts; none: an authority vouches for it
	Socket      string             // address of WebSocket
	SocketTrust *tls.Config        // for it; nil: the authorities of this machine
}

// answer is /meanwhile.json.
type answer struct {
	Game, Room, Schema, Wasm, Exec string

	WebTransport struct {
		URL    string
		Hashes []string
	}
	WebSocket string
	Ends      bool
	To        string
}

// Ask fetches the /meanwhile.json of the server at base. trust has the authorities that
// may have signed the certificate of its page; nil: those of this machine.
func Ask(ctx context.Context, base *url.URL, room string, trust *tls.Config) (*Server, error) {
	u := base.JoinPath("meanwhile.json")
	if room != "" {
		u.RawQuery = url.Values{"room": {room}}.Encode()
	}
	response, b, err := Fetch(ctx, u, "", trust)
	if err != nil {
		return nil, fmt.Errorf("no server answers at %s: %w", base, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server at %s says: %s", base, strings.TrimSpace(string(b)))
	}
	var a answer
	if err := json.Unmarshal(b, &a); err != nil || a.Game == "" {
		return nil, fmt.Errorf("%s does not answer like the server of a game", base)
	}
	s := &Server{Game: a.Game, Room: a.Room, Schema: a.Schema, Wasm: a.Wasm, Exec: a.Exec, Ends: a.Ends, To: a.To,
		SocketTrust: trust}
	return s, s.complete(base, &a)
}

// Fetch asks for an address as a page of origin does, or as a program if that is "".
func Fetch(ctx context.Context, u *url.URL, origin string, trust *tls.Config) (*http.Response, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, nil, err
	}
	if origin != "" {
		request.Header.Set("Origin", origin)
	}
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment,
		TLSClientConfig: trust}}
	response, err := c.Do(request)
	if err != nil {
		return nil, nil, errors.Unwrap(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(io.LimitReader(response.Body, maxConfig))
	return response, b, err
}

// complete reads the addresses in a server's answer.
func (s *Server) complete(base *url.URL, a *answer) error {
	u, err := base.Parse(a.WebSocket)
	if err != nil {
		return fmt.Errorf("the server's WebSocket address %q cannot be read", a.WebSocket)
	}
	u.Scheme = strings.Replace(u.Scheme, "http", "ws", 1)
	s.Socket = u.String()
	address := a.WebTransport.URL // ":port/path" on this host, or whole
	if address == "" {
		return nil
	}
	if strings.HasPrefix(address, ":") {
		name := base.Hostname()
		if name == "localhost" {
			name = "127.0.0.1" // QUIC tries one address only
		}
		if strings.Contains(name, ":") {
			name = "[" + name + "]"
		}
		address = "https://" + name + address
	}
	if s.Session, err = url.Parse(address); err != nil || s.Session.Host == "" {
		return fmt.Errorf("the server's WebTransport address %q cannot be read", a.WebTransport.URL)
	}
	if len(a.WebTransport.Hashes) == 0 { // an authority vouches for it
		s.Trust = s.SocketTrust
		return nil
	}
	for _, hash := range a.WebTransport.Hashes {
		var f cert.Fingerprint
		if len(hash) != hex.EncodedLen(len(f)) {
			return fmt.Errorf("the server's certificate hash %q cannot be read", hash)
		}
		if n, err := hex.Decode(f[:], []byte(hash)); err != nil || n != len(f) {
			return fmt.Errorf("the server's certificate hash %q cannot be read", hash)
		}
		s.Hashes = append(s.Hashes, f)
	}
	s.Trust = cert.Pin(s.Hashes...)
	return nil
}

// Via lets all players connect to address, "host:port"; "" changes nothing.
func (s *Server) Via(address string) *Server {
	if address == "" {
		return s
	}
	t := *s
	if s.Session != nil {
		u := *s.Session
		u.Host, t.Session = address, &u
		if t.Trust = s.Trust.Clone(); t.Trust == nil {
			t.Trust = &tls.Config{}
		}
		t.Trust.ServerName = s.Session.Hostname()
	}
	if u, err := url.Parse(s.Socket); err == nil { // it was parsed before
		if t.SocketTrust = s.SocketTrust.Clone(); t.SocketTrust == nil {
			t.SocketTrust = &tls.Config{}
		}
		t.SocketTrust.ServerName = u.Hostname()
		u.Host = address
		t.Socket = u.String()
	}
	return &t
}

// HostOf returns "host:port" of what a transport connects to.
func (s *Server) HostOf(over string) (string, error) {
	if over != WebSocket {
		if s.Session == nil {
			return "", fmt.Errorf("the server offers WebSocket alone; use --transport %s", WebSocket)
		}
		return s.Session.Host, nil
	}
	u, err := url.Parse(s.Socket)
	if err != nil {
		return "", err
	}
	if u.Port() == "" {
		port := "80"
		if u.Scheme == "wss" {
			port = "443"
		}
		return net.JoinHostPort(u.Hostname(), port), nil
	}
	return u.Host, nil
}

// Around returns where players over QUIC and WebTransport connect to, "host:port", if that is
// another port than the page's at base; else "".
func (s *Server) Around(base *url.URL) string {
	if s.Session == nil || s.Session.Port() == base.Port() || base.Port() == "" {
		return ""
	}
	return s.Session.Host
}

// Loopback reports whether a host name is this machine.
func Loopback(name string) bool {
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}
