package bridge

import (
	"math"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// meter counts the bytes of the last second, in slots of 1/32 s.
type meter struct {
	slots [32]int
	at    int64 // number of the newest slot
	sum   int
}

func (m *meter) add(now clock.Time, bytes int) {
	m.advance(now)
	m.slots[m.at%int64(len(m.slots))] += bytes
	m.sum += bytes
}

func (m *meter) advance(now clock.Time) {
	at := int64(now) / (int64(time.Second) / int64(len(m.slots)))
	for n := 0; m.at < at && n < len(m.slots); n++ {
		m.at++
		s := &m.slots[m.at%int64(len(m.slots))]
		m.sum -= *s
		*s = 0
	}
	m.at = max(m.at, at)
}

// second returns the bytes of the last second.
func (m *meter) second(now clock.Time) int {
	m.advance(now)
	return m.sum
}

// flight is one datagram of the page's ribbon of timelines: its direction (0 down, 1 up), when it
// was sent and when it arrived, in milliseconds (NaN: never), and its size in bytes.
type flight struct{ up, sent, arrived, bytes float64 }

// maxFlights is how many datagrams one frame reports. Beyond it the oldest are left out.
const maxFlights = 256

func (b *Bridge) addFlight(f flight) {
	if len(b.flights) >= maxFlights {
		b.flights = append(b.flights[:0], b.flights[1:]...)
	}
	b.flights = append(b.flights, f)
}

// noteDown notes a datagram from the server that arrived at an instant, or that the simulated
// network lost (arrived is NaN). Its stamp and the estimate of the server's clock tell when it was
// sent.
func (b *Bridge) noteDown(data []byte, at clock.Time, arrived float64) {
	if b.set.packets && len(data) >= wire.LeadSize {
		b.addFlight(flight{0, min(millis(b.sentAt(data, at)), millis(at)), arrived, float64(len(data))})
	}
}

// noteUp notes a datagram to the server that leaves at release.
func (b *Bridge) noteUp(d []byte, release clock.Time) {
	if b.set.packets {
		arrives := max(release, b.now.Add(b.client.Stats().LeastRTT/2))
		b.addFlight(flight{1, millis(b.now), millis(arrives), float64(len(d))})
	}
}

// noteLostUp notes a datagram to the server that the simulated network lost.
func (b *Bridge) noteLostUp(d []byte) {
	if b.set.packets {
		b.addFlight(flight{1, millis(b.now), math.NaN(), float64(len(d))})
	}
}
