package transport

import (
	"sync"

	"meanwhile/netcode/clock"
)

// QueueLength is how many datagrams a Queue holds. A client sends sixty a second as a rule, so this
// bridges a tick that hangs for a quarter of a second; an eighth where it sends presses twice.
const QueueLength = 16

// A Queue holds the newest datagrams that have arrived for one player or client until its loop
// takes them. One datagram too many displaces the oldest: commands are repeated in later datagrams,
// so the newest ones carry the most. Its buffers are reused, so a steady flow allocates nothing.
// The zero Queue is empty and open. Safe for concurrent use.
type Queue struct {
	mu        sync.Mutex
	ring      [QueueLength]queued // ring[first] is the oldest of n; free places keep their buffers
	first     int
	n         int
	taken     uint64
	displaced uint64
	closed    bool
}

type queued struct {
	data []byte
	at   clock.Time
}

// Put stores a copy of a datagram that arrived at the time at. After Close it does nothing. It fits
// Conn.Deliver.
func (q *Queue) Put(datagram []byte, at clock.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	if q.n == QueueLength {
		q.first, q.n = (q.first+1)%QueueLength, q.n-1
		q.displaced++
	}
	p := &q.ring[(q.first+q.n)%QueueLength]
	p.data, p.at = append(p.data[:0], datagram...), at
	q.n++
}

// Take removes the oldest datagram and returns it with its arrival time. The queue keeps buf, which
// may be nil, for a later datagram; if the queue is empty, Take returns buf and false.
func (q *Queue) Take(buf []byte) (datagram []byte, at clock.Time, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.n == 0 {
		return buf, 0, false
	}
	p := &q.ring[q.first]
	datagram, at, p.data = p.data, p.at, buf
	q.first, q.n = (q.first+1)%QueueLength, q.n-1
	q.taken++
	return datagram, at, true
}

// Close empties the queue and makes it ignore later datagrams.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.n = true, 0
}

// Closed reports whether Close was called.
func (q *Queue) Closed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// Counts returns how many datagrams were taken, and how many newer ones displaced.
func (q *Queue) Counts() (taken, displaced uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.taken, q.displaced
}
