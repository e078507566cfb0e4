package snapshot

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"meanwhile/netcode/clock"
)

// A packet counts as late after the caller's timeout, to a millisecond, however often packets are
// sent and however long none is.
func TestLate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s sentTimes
		wait := time.Duration(rapid.IntRange(50, 1000).Draw(t, "rto")) * time.Millisecond
		type packet struct {
			tick clock.Tick
			at   clock.Time
		}
		var all []packet
		now, tick := clock.Time(0), clock.Tick(0)
		s.late(now, wait)
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) {},
			"send": func(t *rapid.T) {
				for range rapid.IntRange(1, 30).Draw(t, "packets") {
					tick++
					now += clock.Time(rapid.SampledFrom([]int{16, 33, 50, 1000, 40_000}).Draw(t, "ms")) * clock.Time(time.Millisecond)
					s.note(tick, now)
					all = append(all, packet{tick, now})
				}
			},
			"look": func(t *rapid.T) {
				now += clock.Time(rapid.SampledFrom([]int{0, 10, 300, 2000}).Draw(t, "ms")) * clock.Time(time.Millisecond)
				late := s.late(now, wait)
				for i, sent := range all {
					want := uint32(now>>msB)-uint32(sent.at>>msB) > uint32(wait>>msB)
					if got := sent.tick <= late; got != want && len(all)-i <= mostSent {
						t.Fatalf("%v after tick %d it is late: %v, want %v", now.Sub(sent.at), sent.tick, got, want)
					}
				}
			},
		})
	})
}
