package transport

import (
	"net/netip"
	"strings"
)

// Origins lists the web origins whose pages may connect: without it any page that a player opens
// could speak to a server on the player's own machine or network. Programs that are not browsers
// send no origin and are not concerned.
//
// An entry is an origin as browsers write it, such as "https://play.example" or
// "http://localhost:8080"; with the port "*" it stands for all ports of that host. The entry "self"
// stands for pages from the IP address that the client connects to, on any port, or from localhost
// if it connects to that, and "*" for every page. Nil means "self". An empty list that is not nil
// lets no page in.
//
// A server's own name needs an entry, such as "https://game.example": whoever owns a name can make
// it lead to any address, so that a page's name which equals the one asked for proves nothing (DNS
// rebinding).
type Origins []string

// Allow reports whether a page from origin may connect to host ("name" or "name:port"), as the
// headers Origin and Host state them. An empty origin is not a page's, and allowed.
func (o Origins) Allow(origin, host string) bool {
	if origin == "" {
		return true
	}
	if o == nil {
		o = Origins{"self"}
	}
	origin = strings.ToLower(origin)
	scheme, page, ok := strings.Cut(origin, "://")
	if !ok || scheme == "" || page == "" || strings.ContainsAny(page, "/?#@") {
		return contains(o, "*") // "null" and whatever else a sandboxed page may send
	}
	for _, entry := range o {
		switch entry = strings.ToLower(entry); {
		case entry == "*", entry == origin:
			return true
		case entry == "self":
			if own := withoutPort(strings.ToLower(host)); own == withoutPort(page) && fixed(own) {
				return true
			}
		case strings.HasSuffix(entry, ":*"):
			if entry[:len(entry)-2] == scheme+"://"+withoutPort(page) {
				return true
			}
		}
	}
	return false
}

// fixed reports whether nobody can make this host lead elsewhere: an IP address, or localhost.
func fixed(host string) bool {
	if host == "localhost" {
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}

func contains(o Origins, entry string) bool {
	for _, e := range o {
		if e == entry {
			return true
		}
	}
	return false
}

// withoutPort cuts the port off "name:port" or "[::1]:port".
func withoutPort(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		return host[:i]
	}
	return host
}
