package transport

import (
	"net/netip"
	"sync"
	"time"
)

// Default limits of a Gate.
const (
	// MaxVisitors is how many clients may be connected without having been admitted.
	MaxVisitors = 256
	// MaxVisitorsPerAddress is how many of them may come from one address: an IPv4 address or a /64
	// of IPv6. This machine is exempt, since bots and reverse proxies live there.
	MaxVisitorsPerAddress = 64
	// EntryRefill is the time in which an address may enter as often as it may have visitors, at a
	// steady rate: a handshake costs half a millisecond of work even if it fails.
	EntryRefill = 6 * time.Second
)

// A Gate counts clients from their first packet until they are admitted, and refuses those beyond
// its limits: what strangers can make a server hold is bounded by its size. Listeners may share
// one. Safe for concurrent use.
type Gate struct {
	most, mostPerAddress int

	mu      sync.Mutex
	inside  int
	by      map[netip.Addr]int // its size is bounded by inside
	refused uint64
	entries *Rates[netip.Addr]
}

// NewGate returns a Gate that admits so many visitors at once, and perAddress of them from one
// address. Zero or less means the default. Behind a proxy on another machine all clients have its
// address, so perAddress should then equal visitors.
func NewGate(visitors, perAddress int) *Gate {
	if visitors <= 0 {
		visitors = MaxVisitors
	}
	if perAddress <= 0 {
		perAddress = MaxVisitorsPerAddress
	}
	return &Gate{most: visitors, mostPerAddress: perAddress, by: make(map[netip.Addr]int),
		entries: NewRates[netip.Addr](perAddress, EntryRefill)}
}

// origin returns what an address counts as, and whether it is counted at all. All unreadable
// addresses count as one.
func origin(address string) (netip.Addr, bool) {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.IPv6Unspecified(), true
	}
	a := ap.Addr().Unmap()
	if a.IsLoopback() {
		return a, false
	}
	if p, err := a.WithZone("").Prefix(64); a.Is6() && err == nil {
		a = p.Addr()
	}
	return a, true
}

// Origin returns what clients from address ("host:port") count as: an IPv4 address, or a /64
// network of IPv6. ok is false if they cannot be told apart: on this machine, or if the address is
// not an IP.
func Origin(address string) (a netip.Addr, ok bool) {
	a, ok = origin(address)
	return a, ok && !a.IsUnspecified()
}

// Enter admits a visitor from address ("host:port") to the gate, or refuses. The caller must call
// leave once the visitor is admitted or gone; further calls do nothing.
func (g *Gate) Enter(address string) (leave func(), ok bool) {
	a, counted := origin(address)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside >= g.most || counted && (g.by[a] >= g.mostPerAddress || !g.entries.Take(a)) {
		g.refused++
		return nil, false
	}
	g.inside++
	if counted {
		g.by[a]++
	}
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.inside--
		if !counted {
			return
		}
		if g.by[a]--; g.by[a] == 0 {
			delete(g.by, a)
		}
	}), true
}

// Crowded reports whether so many visitors are inside, or came lately, in all or from this address,
// that a newcomer should first prove its address. So forged addresses use up half of a limit at
// most.
func (g *Gate) Crowded(address string) bool {
	a, counted := origin(address)
	g.mu.Lock()
	defer g.mu.Unlock()
	half := float64(g.mostPerAddress) / 2
	return 2*g.inside >= g.most || counted && (float64(g.by[a]) >= half || g.entries.used(a) >= half)
}

// Visitors returns how many are inside now.
func (g *Gate) Visitors() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inside
}

// Refused returns how many visitors were refused so far.
func (g *Gate) Refused() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused
}
