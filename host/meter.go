package host

import (
	"sync/atomic"
	"time"

	"meanwhile/netcode/clock"
)

// A meter counts what really leaves in any one second, apart from what limits it: by the instants
// at which datagrams are handed to a connection. One goroutine at a time adds; anybody may ask.
type meter struct {
	ring    []metered // as many as there ever were in a second
	first   int
	used    int
	sum     int
	largest atomic.Int64
}

type metered struct {
	at    clock.Time
	bytes int
}

// add counts bytes that leave at now, and returns how many did in the second up to now.
func (m *meter) add(now clock.Time, bytes int) int {
	for m.used > 0 && now.Sub(m.ring[m.first].at) >= time.Second {
		m.sum -= m.ring[m.first].bytes
		m.first = (m.first + 1) % len(m.ring)
		m.used--
	}
	if m.used == len(m.ring) {
		grown := make([]metered, 2*m.used+8)
		for i := range m.used {
			grown[i] = m.ring[(m.first+i)%m.used]
		}
		m.ring, m.first = grown, 0
	}
	m.ring[(m.first+m.used)%len(m.ring)] = metered{now, bytes}
	m.used++
	m.sum += bytes
	if int64(m.sum) > m.largest.Load() {
		m.largest.Store(int64(m.sum))
	}
	return m.sum
}

// most returns the most bytes that left in any one second so far.
func (m *meter) most() int { return int(m.largest.Load()) }
