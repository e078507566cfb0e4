package host

import (
	"sync"

	"meanwhile/netcode/clock"
)

// Queue is how many datagrams of one player wait for the next tick. A client sends at most sixty a second, so this
// bridges a tick that hangs for a quarter of a second. One more displaces the oldest: commands are repeated in later
// datagrams, so the newest knows most. Every player has a queue of its own, so that one who floods displaces only its own.
const Queue = 16

// A queue holds the newest datagrams that came for somebody. Safe for concurrent use.
type queue struct {
	mu      sync.Mutex
	ring    [Queue]datagram // ring[first] is the oldest of n; the slices of free places are kept for later
	first   int
	n       int
	taken   uint64
	dropped uint64
	closed  bool
}

type datagram struct {
	data []byte
	at   clock.Time
}

// put stores a copy of data, unless the queue is closed.
func (q *queue) put(data []byte, at clock.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	if q.n == Queue {
		q.first, q.n = (q.first+1)%Queue, q.n-1
		q.dropped++
	}
	p := &q.ring[(q.first+q.n)%Queue]
	p.data, p.at = append(p.data[:0], data...), at
	q.n++
}

// take returns the oldest datagram. It swaps in spare, which the caller gives away, for the slice that it returns.
func (q *queue) take(spare []byte) (data []byte, at clock.Time, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.n == 0 {
		return spare, 0, false
	}
	p := &q.ring[q.first]
	data, at, p.data = p.data, p.at, spare
	q.first, q.n = (q.first+1)%Queue, q.n-1
	q.taken++
	return data, at, true
}

// close makes the queue refuse what comes later.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.n = true, 0
}

// isClosed reports whether close was called.
func (q *queue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// counts returns how many datagrams were taken and how many were displaced.
func (q *queue) counts() (taken, dropped uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.taken, q.dropped
}
