package transport

import (
	"net/netip"
	"sync"
)

// Bounds of a Gate that is not told others.
const (
	// MaxVisitors is how many clients may be connected without having been admitted.
	MaxVisitors = 256
	// MaxVisitorsPerAddress is how many of them may come from one address: an IPv4 address or a
	// /64 of IPv6. The machine itself is exempt, since bots and reverse proxies live there.
	MaxVisitorsPerAddress = 64
)

// A Gate counts clients from their first packet until they are admitted, and turns away those who
// would be too many: what a stranger can make a server hold is bounded by its size. Listeners may
// share one. Safe for concurrent use.
type Gate struct {
	most, mostPerAddress int

	mu      sync.Mutex
	inside  int
	by      map[netip.Addr]int // its size is bounded by inside
	refused uint64
}

// NewGate returns a Gate for visitors of whom no more than perAddress come from one address. Zero or
// less means the default of each.
func NewGate(visitors, perAddress int) *Gate {
	if visitors <= 0 {
		visitors = MaxVisitors
	}
	if perAddress <= 0 {
		perAddress = MaxVisitorsPerAddress
	}
	return &Gate{most: visitors, mostPerAddress: perAddress, by: make(map[netip.Addr]int)}
}

// origin returns what an address counts as, and whether it is counted at all. Addresses that cannot
// be read count as one.
func origin(address string) (netip.Addr, bool) {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.Addr{}, true
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

// Enter lets a visitor in from address ("host:port"), or refuses. leave must be called when it has
// been admitted or has gone; more calls are harmless.
func (g *Gate) Enter(address string) (leave func(), ok bool) {
	a, counted := origin(address)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside >= g.most || counted && g.by[a] >= g.mostPerAddress {
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

// Crowded reports that so many visitors are inside, in all or from this address, that a newcomer
// should first prove that it really has the address it writes from.
func (g *Gate) Crowded(address string) bool {
	a, counted := origin(address)
	g.mu.Lock()
	defer g.mu.Unlock()
	return 2*g.inside >= g.most || counted && 2*g.by[a] >= g.mostPerAddress
}

// Visitors is how many are inside now.
func (g *Gate) Visitors() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inside
}

// Refused is how many visitors were turned away so far.
func (g *Gate) Refused() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused
}
