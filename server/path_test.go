package server

import (
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/rate"
	"meanwhile/netcode/wire"
)

// Losses are counted against packets and not against acknowledgements: on a path that loses 7 %
// the rate grows, however many packets one acknowledgement is for.
func TestLossesPerPacket(t *testing.T) {
	for _, each := range []int{1, 2, 4, 8} {
		const budget, perSecond = 8000, 30
		capacity, err := rate.NewCapacity(rate.CapacityConfig{Floor: 1000, Ceiling: budget, Start: budget / 2})
		if err != nil {
			t.Fatal(err)
		}
		p := path{capacity: capacity}
		for i := 1; i < 60*perSecond; i++ {
			sent := clock.Time(i) * clock.Time(time.Second/perSecond)
			at := sent.Add(60 * time.Millisecond)
			capacity.Limited()
			if i%14 == 0 {
				capacity.Missing(at)
			} else {
				p.arrived(int(capacity.Rate()) / perSecond)
			}
			if i%each == 0 {
				h := wire.Header{Stamp: at.Add(-30 * time.Millisecond).Stamp()}
				p.acknowledged(&h, &wire.Packet{Seq: wire.Seq(i), Sent: sent}, at, 0)
			}
		}
		if got := capacity.Rate(); got < budget {
			t.Errorf("with %d packets an acknowledgement the rate is %d B/s, want %d", each, got, budget)
		}
	}
}
