package transport

import (
	"sync"

	"meanwhile/netcode/clock"
)

// arrivals keeps the newest datagrams that came in until someone asks for them, or hands them on at
// once.
type arrivals struct {
	mu      sync.Mutex
	ring    [Arrivals]arrival // ring[first] is the oldest of n
	first   int
	n       int
	deliver func([]byte, clock.Time)
	wake    chan struct{} // holds a token when there may be something to take
}

type arrival struct {
	data []byte
	at   clock.Time
}

func newArrivals() *arrivals { return &arrivals{wake: make(chan struct{}, 1)} }

// put stores b, which the caller gives away if owned and which is copied otherwise. It reports
// whether an older datagram had to go.
func (a *arrivals) put(b []byte, owned bool, at clock.Time) (displaced bool) {
	a.mu.Lock()
	if a.deliver != nil {
		a.deliver(b, at)
		a.mu.Unlock()
		return false
	}
	if !owned {
		b = append([]byte(nil), b...)
	}
	if a.n == Arrivals {
		a.first, a.n = (a.first+1)%Arrivals, a.n-1
		displaced = true
	}
	a.ring[(a.first+a.n)%Arrivals] = arrival{b, at}
	a.n++
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
	return displaced
}

func (a *arrivals) take() (arrival, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n == 0 {
		return arrival{}, false
	}
	v := a.ring[a.first]
	a.ring[a.first] = arrival{}
	a.first, a.n = (a.first+1)%Arrivals, a.n-1
	return v, true
}

// to sets where datagrams go from now on, those that wait first.
func (a *arrivals) to(f func([]byte, clock.Time)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deliver = f
	for ; f != nil && a.n > 0; a.n-- {
		v := a.ring[a.first]
		a.ring[a.first] = arrival{}
		a.first = (a.first + 1) % Arrivals
		f(v.data, v.at)
	}
}
