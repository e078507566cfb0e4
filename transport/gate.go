package transport

import (
	"maps"
	"net/netip"
	"slices"
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
	// MaxExpected is how many addresses a Gate expects at once, see Gate.Expect. Their visitors
	// keep a quarter of its places, and ExpectedPerAddress of these for one address.
	MaxExpected        = 4096
	ExpectedPerAddress = 8
)

// CrowdedOut is why a visitor's connection ends that makes place for a newcomer.
const CrowdedOut = "the server is crowded, and you have not said hello"

// A Gate counts clients from their first packet until they are admitted: what strangers can make a
// server hold is bounded by its size. When it is full, a newcomer puts out the oldest visitor of
// the network that most visitors come from, so whoever fills it loses its own places, and visitors
// that are expected keep theirs. Listeners may share one. Safe for concurrent use.
type Gate struct {
	most, mostPerAddress int
	entries              *Rates[netip.Addr]

	mu      sync.Mutex
	inside  []*Visitor               // the oldest first
	by      map[netip.Addr]int       // those inside by address; its size is bounded by inside
	nets    map[netip.Addr]int       // the same by network
	fading  int                      // visitors that were put out and whose connection has not ended
	known   map[netip.Addr]time.Time // addresses that are expected, and until when
	keeps   map[netip.Addr]int       // those inside with a reserved place, by address
	kept    int                      // all of them
	refused uint64
	out     uint64 // visitors that were put out
}

// A Visitor is a client that a Gate has let in and that is not admitted yet.
type Visitor struct {
	gate    *Gate
	address netip.Addr
	counted bool // its address has a bound
	keeps   bool // it has a reserved place
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
	return &Gate{
		most: visitors, mostPerAddress: perAddress, entries: NewRates[netip.Addr](perAddress, EntryRefill),
		by: make(map[netip.Addr]int), nets: make(map[netip.Addr]int), keeps: make(map[netip.Addr]int),
		known: make(map[netip.Addr]time.Time),
	}
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
	for 2*len(g.inside) >= g.most {
		i := g.oldest(func(v *Visitor) bool { return !v.keeps })
		if i < 0 || now.Sub(g.inside[i].since) < CrowdedHelloTimeout {
			break
		}
		remove(i)
	}
	if counted && g.by[a] >= g.mostPerAddress {
		remove(g.oldest(func(v *Visitor) bool { return v.address == a }))
	} else if len(g.inside) >= g.most {
		most := 0 // a quarter of the places at most are reserved
		for _, v := range g.inside {
			if !v.keeps {
				most = max(most, g.nets[v.net])
			}
		}
		remove(g.oldest(func(v *Visitor) bool { return !v.keeps && g.nets[v.net] == most }))
	}
	v = &Visitor{gate: g, address: a, counted: counted, net: network(a), since: now}
	v.keeps = now.Before(g.known[a]) && g.keeps[a] < ExpectedPerAddress && g.kept < g.most/4
	g.inside = append(g.inside, v)
	g.note(v, 1)
	g.mu.Unlock()
	for _, end := range ends {
		end()
	}
	return v, true
}

// Expect says that a player is likely to come from an address within a time: one whose connection
// was lost, or who was given a token. Strangers do not put out its visitors.
func (g *Gate) Expect(address netip.Addr, within time.Duration) {
	if !address.IsValid() {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if _, ok := g.known[address]; !ok && len(g.known) >= MaxExpected {
		maps.DeleteFunc(g.known, func(_ netip.Addr, until time.Time) bool { return !now.Before(until) })
		if len(g.known) >= MaxExpected {
			return
		}
	}
	if until := now.Add(within); until.After(g.known[address]) {
		g.known[address] = until
	}
}

// oldest returns the index of the oldest visitor that ok accepts, -1 if there is none.
func (g *Gate) oldest(ok func(v *Visitor) bool) int { return slices.IndexFunc(g.inside, ok) }

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
	g.note(v, -1)
}

// note counts a visitor, or forgets it with -1. g.mu is held.
func (g *Gate) note(v *Visitor, n int) {
	count := func(counts map[netip.Addr]int, key netip.Addr) {
		if counts[key] += n; counts[key] == 0 {
			delete(counts, key)
		}
	}
	count(g.by, v.address)
	count(g.nets, v.net)
	if v.keeps {
		count(g.keeps, v.address)
		g.kept += n
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
