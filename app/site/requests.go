package site

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"meanwhile/netcode/wire"
	"meanwhile/web"
)

// forwarded gives requests that come through a trusted proxy the address of the player: limits are
// per address, and all players would else share the proxy's.
func (s *Site) forwarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		values := r.Header.Values("X-Forwarded-For")
		switch {
		case err != nil || len(values) == 0:
		case s.front.trusts(from.Addr()):
			if a, ok := s.front.player(values); ok {
				c := *r
				c.RemoteAddr = netip.AddrPortFrom(a, 0).String()
				r = &c
			}
		case len(s.front.proxies) == 0 && from.Addr().Unmap().IsLoopback():
			s.once("a reverse proxy on this machine forwards players, whose addresses are not believed, so that they "+
				"share one address and its limits; mend it with --trust-proxy ADDRESS", "from", from.Addr().Unmap().String())
		}
		next.ServeHTTP(w, r)
	})
}

// trusts reports whether an address is that of a trusted proxy.
func (f *front) trusts(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(f.proxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// player returns the address that the outermost trusted proxy saw: each proxy appends the address
// that it was called from, so the last one that is no proxy's counts. What comes before is the
// caller's own word. ok is false if there is none that can be read.
func (f *front) player(values []string) (a netip.Addr, ok bool) {
	list := strings.Split(strings.Join(values, ","), ",")
	for _, text := range slices.Backward(list) {
		text = strings.TrimSpace(text)
		next, err := netip.ParseAddr(strings.Trim(text, "[]"))
		if err != nil {
			ap, err := netip.ParseAddrPort(text) // some write the port, too
			if err != nil {
				return a, ok
			}
			next = ap.Addr()
		}
		a, ok = next.Unmap().WithZone(""), true
		if !f.trusts(a) {
			return a, true
		}
	}
	return a, ok
}

// known refuses requests for a host that this server is not: a page whose owner makes its name lead
// here could else read what this server answers to others (DNS rebinding).
func (s *Site) known(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := hostOf(r.Host)
		if s.knows(host) {
			next.ServeHTTP(w, r)
			return
		}
		s.once("somebody asked for a host that this server does not know by that name; if players call it so, "+
			"start it with --public-addr HOST", "host", host)
		http.Error(w, fmt.Sprintf("This server does not go by the name %q. Whoever runs it can name it with --public-addr.",
			host), http.StatusMisdirectedRequest)
	})
}

// knows reports whether a host in lower case is this server: an IP address, localhost, or one of
// its names.
func (s *Site) knows(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	host = strings.TrimSuffix(host, ".")
	if slices.Contains(s.front.names, host) {
		return true
	}
	return slices.ContainsFunc(s.cert.names, func(name string) bool { return strings.EqualFold(name, host) })
}

// hostOf returns the host of a Host header in lower case, without port and brackets.
func hostOf(header string) string {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = strings.Trim(header, "[]")
	}
	return strings.ToLower(host)
}

// shared lets pages of other hosts that may connect read what they need to (CORS), and tells others
// why they may not.
func (s *Site) shared(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		if origin == "" {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Add("Vary", "Origin")
		switch {
		case s.origins.Allow(origin, r.Host):
			w.Header().Set("Access-Control-Allow-Origin", origin)
		case slices.Contains(web.Modules(), r.URL.Path):
			w.Header().Set("Access-Control-Allow-Origin", "*") // it shows the sentence below
		case r.URL.Path == "/meanwhile.json":
			w.Header().Set("Access-Control-Allow-Origin", "*")
			if origin != Stranger {
				s.once("a page of another host asked to play here; if it may, start this server with --origin ORIGIN",
					"origin", origin)
			}
			http.Error(w, fmt.Sprintf("This server lets no pages of %s in. Whoever runs it can allow them with --origin %[1]s.",
				origin), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

const (
	// maxOnce is how often once logs a sentence, with another value each time: strangers choose it.
	maxOnce = 32
	// maxShown is how much of that value is logged, in bytes.
	maxShown = 128
)

// once logs a warning about a value that was not logged before.
func (s *Site) once(sentence, attr, value string) {
	value = wire.CutText(value, maxShown)
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.logged[sentence]
	if len(known) >= maxOnce || slices.Contains(known, value) {
		return
	}
	if s.logged == nil {
		s.logged = make(map[string][]string)
	}
	s.logged[sentence] = append(known, value)
	s.log.Warn(sentence, attr, value)
}

// splitAddr splits the address of a listener.
func splitAddr(a net.Addr) (ip netip.Addr, port string, ok bool) {
	ap, err := netip.ParseAddrPort(a.String())
	return ap.Addr(), strconv.Itoa(int(ap.Port())), err == nil
}

// withPort returns host with a port, unless it is the one of https.
func withPort(host, port string) string {
	if port == "443" {
		if strings.Contains(host, ":") {
			return "[" + host + "]"
		}
		return host
	}
	return net.JoinHostPort(host, port)
}
