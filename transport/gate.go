package transport

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// Bounds of a Gate that is not told others.
const (
	// MaxVisitors is how many clients may be connected without having been admitted.
	MaxVisitors = 256
	// MaxVisitorsPerAddress is how many of them may come from one address: an IPv4 address or a
	// /64 of IPv6. The machine itself is exempt, since bots and reverse proxies live there.
	MaxVisitorsPerAddress = 64
	// EntryRefill is how long an address that came in as often as it may have visitors waits until
	// it may come in as often again, at a steady rate: a handshake costs half a millisecond of
	// work, whatever comes of it.
	EntryRefill = 6 * time.Second
	// entryCounters is among how many counters the addresses are spread, by a hash with a secret
	// seed, so that their memory is bounded and nobody can choose whom to share with.
	entryCounters = 4096
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
	seed    maphash.Seed
	entries [entryCounters]bucket
}

// A bucket of permits to come in, which fills again with time.
type bucket struct {
	used float64 // permits taken and not yet given back, as of at
	at   time.Time
}

// NewGate returns a Gate for visitors of whom no more than perAddress come from one address. Zero
// or less means the default of each. Behind a proxy on another machine all clients have its
// address, and perAddress should be as large as visitors.
func NewGate(visitors, perAddress int) *Gate {
	if visitors <= 0 {
		visitors = MaxVisitors
	}
	if perAddress <= 0 {
		perAddress = MaxVisitorsPerAddress
	}
	return &Gate{most: visitors, mostPerAddress: perAddress, by: make(map[netip.Addr]int), seed: maphash.MakeSeed()}
}

// origin returns what an address counts as, and whether it is counted at all. Addresses that cannot
// be read count as one.
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

// Origin returns what clients from address ("host:port") are counted under: an IPv4 address, or an
// IPv6 network of 64 bits. ok is false for those that are not told apart by their address: of this
// machine, or in words of another kind.
func Origin(address string) (a netip.Addr, ok bool) {
	a, ok = origin(address)
	return a, ok && !a.IsUnspecified()
}

// Enter lets a visitor in from address ("host:port"), or refuses. leave must be called when it has
// been admitted or has gone; more calls are harmless.
func (g *Gate) Enter(address string) (leave func(), ok bool) {
	a, counted := origin(address)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside >= g.most || counted && (g.by[a] >= g.mostPerAddress || g.used(a).used+1 > float64(g.mostPerAddress)) {
		g.refused++
		return nil, false
	}
	g.inside++
	if counted {
		g.by[a]++
		g.used(a).used++
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

// used returns the permits of an address as of now. g.mu is held.
func (g *Gate) used(a netip.Addr) *bucket {
	key := a.As16()
	b := &g.entries[maphash.Bytes(g.seed, key[:])%entryCounters]
	now := time.Now()
	b.used = max(0, b.used-float64(g.mostPerAddress)*(float64(now.Sub(b.at))/float64(EntryRefill)))
	b.at = now
	return b
}

// Crowded reports that so many visitors are inside or came in lately, in all or from this address,
// that a newcomer should first prove that it really has the address it writes from. Forged
// addresses can therefore use up half of what an address is allowed, and no more.
func (g *Gate) Crowded(address string) bool {
	a, counted := origin(address)
	g.mu.Lock()
	defer g.mu.Unlock()
	half := float64(g.mostPerAddress) / 2
	return 2*g.inside >= g.most || counted && (float64(g.by[a]) >= half || g.used(a).used >= half)
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
