package transport

import (
	"net/netip"
	"sync"
	"time"
)

// Default limits of a Gate.
const (
	// MaxVisitors is how many clients may be connected without having been admitted. One more puts
	// out another.
	MaxVisitors = 256
	// MaxVisitorsPerAddress is how many of them may come from one address: an IPv4 address or a /64
	// of IPv6. This machine is exempt, since bots and reverse proxies live there.
	MaxVisitorsPerAddress = 64
	// EntryRefill is the time in which an address may enter as often as it may have visitors, at a
	// steady rate: a handshake costs half a millisecond of work even if it fails.
	EntryRefill = 6 * time.Second
	// CrowdedHelloTimeout is how long a visitor may take to be admitted while the gate is crowded.
	CrowdedHelloTimeout = 2 * time.Second
	// RetryVisitors is from how many visitors on a newcomer must prove its address before the
	// server sends it more than it sent.
	RetryVisitors = 8
)

// CrowdedOut is why a visitor's connection ends that makes place for a newcomer.
const CrowdedOut = "the server is crowded, and you have not said hello"

// A Gate counts clients from their first packet until they are admitted: what strangers can make a
// server hold is bounded by its size. When it is full, a newcomer puts out the oldest visitor of
// the network that most visitors come from, so whoever fills it loses its own places. Listeners may
// share one. Safe for concurrent use.
type Gate struct {
	most, mostPerAddress int
	entries              *Rates[netip.Addr]

	mu      sync.Mutex
	inside  []*Visitor         // the oldest first
	by      map[netip.Addr]int // those inside by address; its size is bounded by inside
	nets    map[netip.Addr]int // the same by network
	fading  int                // visitors that were put out and whose connection has not ended
	refused uint64
	out     uint64 // visitors that were put out
}

// A Visitor is a client that a Gate has let in and that is not admitted yet.
type Visitor struct {
	gate    *Gate
	address netip.Addr
	counted bool // its address has a bound
	net     netip.Addr
	since   time.Time
	end     func()
	// state says where it is: inside the gate, put out, or gone.
	state visitorState
}

type visitorState uint8

const (
	visitorInside visitorState = iota
	visitorOut
	visitorGone
)

// NewGate returns a Gate that holds so many visitors at once, and perAddress of them from one
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
		nets: make(map[netip.Addr]int), entries: NewRates[netip.Addr](perAddress, EntryRefill)}
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

// network returns the network that an address is in: its /24, or /48 of IPv6, which commonly has
// one owner.
func network(a netip.Addr) netip.Addr {
	bits := 24
	if a.Is6() {
		bits = 48
	}
	if p, err := a.Prefix(bits); err == nil {
		return p.Addr()
	}
	return a
}

// Origin returns what clients from address ("host:port") count as: an IPv4 address, or a /64
// network of IPv6. ok is false if they cannot be told apart: on this machine, or if the address is
// not an IP.
func Origin(address string) (a netip.Addr, ok bool) {
	a, ok = origin(address)
	return a, ok && !a.IsUnspecified()
}

// Enter lets in a visitor from address ("host:port"), if need be in place of another, or refuses
// it: an address that enters too often, or anybody while too many that were put out have not ended.
// The caller must call Leave once the visitor is admitted or gone.
func (g *Gate) Enter(address string) (v *Visitor, ok bool) {
	a, counted := origin(address)
	g.mu.Lock()
	if g.fading >= g.most || counted && !g.entries.Take(a) {
		g.refused++
		g.mu.Unlock()
		return nil, false
	}
	now := time.Now()
	var ends []func()
	remove := func(i int) {
		if end := g.putOut(i); end != nil {
			ends = append(ends, end)
		}
	}
	for 2*len(g.inside) >= g.most && now.Sub(g.inside[0].since) >= CrowdedHelloTimeout {
		remove(0)
	}
	if counted && g.by[a] >= g.mostPerAddress {
		remove(g.oldest(func(v *Visitor) bool { return v.address == a }))
	} else if len(g.inside) >= g.most {
		most := 0
		for _, n := range g.nets {
			most = max(most, n)
		}
		remove(g.oldest(func(v *Visitor) bool { return g.nets[v.net] == most }))
	}
	v = &Visitor{gate: g, address: a, counted: counted, net: network(a), since: now}
	g.inside = append(g.inside, v)
	g.by[a]++
	g.nets[v.net]++
	g.mu.Unlock()
	for _, end := range ends {
		end()
	}
	return v, true
}

// oldest returns the index of the oldest visitor that ok accepts, of which there is one.
func (g *Gate) oldest(ok func(v *Visitor) bool) int {
	for i, v := range g.inside {
		if ok(v) {
			return i
		}
	}
	panic("transport: nobody to put out")
}

// putOut takes a visitor's place and returns what ends its connection, if that is known. g.mu is
// held.
func (g *Gate) putOut(i int) (end func()) {
	v := g.inside[i]
	g.remove(i)
	v.state = visitorOut
	g.fading++
	g.out++
	return v.end
}

// remove takes a visitor out of the counts. g.mu is held.
func (g *Gate) remove(i int) {
	v := g.inside[i]
	copy(g.inside[i:], g.inside[i+1:])
	g.inside[len(g.inside)-1] = nil
	g.inside = g.inside[:len(g.inside)-1]
	for _, c := range []struct {
		counts map[netip.Addr]int
		key    netip.Addr
	}{{g.by, v.address}, {g.nets, v.net}} {
		if c.counts[c.key]--; c.counts[c.key] == 0 {
			delete(c.counts, c.key)
		}
	}
}

// Ends says how the visitor's connection is ended if it has to go. end must not block, and may be
// called at once: the visitor may have been put out before it had a connection.
func (v *Visitor) Ends(end func()) {
	v.gate.mu.Lock()
	v.end = end
	out := v.state == visitorOut
	v.gate.mu.Unlock()
	if out {
		end()
	}
}

// Leave frees the visitor's place, since it is admitted or its connection has ended. Further calls
// do nothing.
func (v *Visitor) Leave() {
	g := v.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	switch v.state {
	case visitorInside:
		g.remove(g.oldest(func(w *Visitor) bool { return w == v }))
	case visitorOut:
		g.fading--
	}
	v.state, v.end = visitorGone, nil
}

// Crowded reports whether there are so many visitors that a newcomer should first prove its
// address: RetryVisitors, half of what the gate holds, or half of what this address may have.
func (g *Gate) Crowded(address string) bool {
	a, counted := origin(address)
	g.mu.Lock()
	defer g.mu.Unlock()
	half := float64(g.mostPerAddress) / 2
	return len(g.inside) >= min(RetryVisitors, (g.most+1)/2) ||
		counted && (float64(g.by[a]) >= half || g.entries.used(a) >= half)
}

// Hurried reports whether the gate is half full, so that visitors have only CrowdedHelloTimeout.
func (g *Gate) Hurried() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return 2*len(g.inside) >= g.most
}

// Visitors returns how many are inside now.
func (g *Gate) Visitors() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.inside)
}

// Counts returns how many newcomers were refused so far, and how many visitors were put out for
// others.
func (g *Gate) Counts() (refused, out uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused, g.out
}
