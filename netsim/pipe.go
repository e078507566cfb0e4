package netsim

import "meanwhile/netcode/clock"

// MaxInFlight is how many datagrams a Pipe carries at once. Further ones are dropped and counted.
const MaxInFlight = 1 << 16

// A Pipe is a Link together with the datagrams that are under way on it. It copies the data passed
// to it and, once warm, does not allocate. It is not safe for concurrent use.
type Pipe struct {
	*Link
	heap     []flight
	order    uint64
	free     [][]byte
	out      []byte // handed out by Pop
	overflow uint64
	popped   uint64
}

type flight struct {
	at    clock.Time
	order uint64 // of Push, for equal times
	data  []byte
}

// NewPipe returns an empty pipe over a new Link.
func NewPipe(seed uint64, cfg LinkConfig) (*Pipe, error) {
	l, err := NewLink(seed, cfg)
	if err != nil {
		return nil, err
	}
	return &Pipe{Link: l}, nil
}

// Push sends a datagram at now, which must not be before that of the last Push. The data is copied.
// It returns how many copies will arrive: 0, 1 or 2.
func (p *Pipe) Push(now clock.Time, data []byte) int {
	arrivals, n := p.Send(now, len(data))
	for i := range n {
		if len(p.heap) == MaxInFlight {
			p.overflow++
			return i
		}
		var b []byte
		if k := len(p.free); k > 0 {
			b, p.free = p.free[k-1], p.free[:k-1]
		}
		p.heap = append(p.heap, flight{arrivals[i], p.order, append(b[:0], data...)})
		p.order++
		p.up(len(p.heap) - 1)
	}
	return n
}

// Next returns when the next datagram arrives, or false if none is under way.
func (p *Pipe) Next() (clock.Time, bool) {
	if len(p.heap) == 0 {
		return 0, false
	}
	return p.heap[0].at, true
}

// Pop takes out the earliest datagram that has arrived by now, with the time of its arrival; at
// equal times, the one pushed first. It reports false if there is none. The data is valid until the
// next Pop.
func (p *Pipe) Pop(now clock.Time) (data []byte, at clock.Time, ok bool) {
	if p.out != nil {
		p.free = append(p.free, p.out)
		p.out = nil
	}
	if len(p.heap) == 0 || p.heap[0].at > now {
		return nil, 0, false
	}
	f := p.heap[0]
	k := len(p.heap) - 1
	p.heap[0] = p.heap[k]
	p.heap[k] = flight{}
	p.heap = p.heap[:k]
	p.down(0)
	p.out = f.data
	p.popped++
	return f.data, f.at, true
}

// Deliver calls receive with each datagram when it arrives, by events of loop. Call it after each
// Push: an event that finds nothing ends, and one that finds something waits for the next.
func (p *Pipe) Deliver(loop *Loop, receive func(at clock.Time, data []byte)) {
	next, ok := p.Next()
	if !ok {
		return
	}
	loop.At(next, func() {
		some := false
		for data, at, ok := p.Pop(loop.Now()); ok; data, at, ok = p.Pop(loop.Now()) {
			receive(at, data)
			some = true
		}
		if some {
			p.Deliver(loop, receive)
		}
	})
}

// InFlight returns how many datagrams are under way.
func (p *Pipe) InFlight() int { return len(p.heap) }

// Delivered returns how many datagrams were popped, and how many were dropped because MaxInFlight
// were under way.
func (p *Pipe) Delivered() (popped, overflow uint64) { return p.popped, p.overflow }

// Clear drops everything under way, as when a connection moves to another network.
func (p *Pipe) Clear() {
	for i := range p.heap {
		p.free = append(p.free, p.heap[i].data)
		p.heap[i] = flight{}
	}
	p.heap = p.heap[:0]
}

func (p *Pipe) less(i, j int) bool {
	a, b := &p.heap[i], &p.heap[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}

func (p *Pipe) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !p.less(i, parent) {
			return
		}
		p.heap[i], p.heap[parent] = p.heap[parent], p.heap[i]
		i = parent
	}
}

func (p *Pipe) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(p.heap) {
			return
		}
		if child+1 < len(p.heap) && p.less(child+1, child) {
			child++
		}
		if !p.less(child, i) {
			return
		}
		p.heap[i], p.heap[child] = p.heap[child], p.heap[i]
		i = child
	}
}

// A Path is both directions between a server and one client.
type Path struct {
	Down, Up *Pipe // server to client, client to server
}

// NewPath returns an idle path. Its directions draw from unrelated streams of the seed.
func NewPath(seed uint64, p Profile) (*Path, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	down, up := seeds(seed)
	d, err := NewPipe(down, p.Down)
	if err != nil {
		return nil, err
	}
	u, err := NewPipe(up, p.Up)
	if err != nil {
		return nil, err
	}
	return &Path{Down: d, Up: u}, nil
}

// Set changes the parameters of both directions while datagrams are under way; if either is not
// valid, nothing changes.
func (p *Path) Set(to Profile) error {
	if err := to.Validate(); err != nil {
		return err
	}
	if err := p.Down.Set(to.Down); err != nil {
		return err
	}
	return p.Up.Set(to.Up)
}
