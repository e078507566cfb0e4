package snapshot

import (
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/wire"
)

// The log notes what a packet carried until it arrives; of entities that cannot be hit no longer,
// and never what their records were differences from.
func TestLogKeepsWhatMayBeHit(t *testing.T) {
	for _, hit := range []bool{true, false} {
		k := mustKind[cart](t)
		k.Extrapolated = !hit
		h := NewHistory(codec.All(k))
		v := NewView(h)
		var log wire.Log
		var w wire.BitWriter
		var writer Writer
		sims := make([]int64, k.Sims)
		sizes := 0
		for tick := clock.Tick(1); tick < 100; tick++ {
			h.Begin(tick)
			if tick == 1 {
				h.Add(1, 0, false)
				v.Enter(0, Observed)
			}
			sims[0] += 5000
			h.Record(0, sims, false)
			now := clock.Time(tick) * clock.Time(time.Second/30)
			p := log.Sent(now, tick, v.Missing)
			w.Reset(nil)
			writer.All(&w, v, v.Pending(now, 0, nil), p, now)
			noted := len(p.Refs)
			sizes = max(sizes, noted)
			log.Charge(p, 100)
			if tick > 30 { // so that baselines are longer ago than the log is sure to reach
				continue
			}
			log.Acked(wire.Ack{Latest: p.Seq, History: ^uint64(0)}, v.Delivered, v.Missing)
			if left := len(log.Get(p.Seq).Refs); noted == 0 || hit != (left == noted) || !hit && left > 0 {
				t.Fatalf("may be hit: %v: of %d bytes %d are left", hit, noted, left)
			}
		}
		if hit != (sizes > 2) {
			t.Errorf("may be hit: %v: up to %d bytes for a packet of one entry", hit, sizes)
		}
	}
}
