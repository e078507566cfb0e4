package lobby

import (
	"reflect"
	"testing"
	"time"
	"unsafe"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

type stroller struct {
	Pos geom.Vec2 `net:"pos,others=1cm"`
}

// strollerAt walks in a circle at 4 m/s.
func strollerAt(i int, tick clock.Tick) stroller {
	a := float64(i) + float64(tick)/9
	return stroller{Pos: geom.Vec2{
		X: 20 + float64(i%16) + float64(3.6*geom.Cos(a)),
		Y: 20 + float64(i/16) + float64(3.6*geom.Sin(a)),
	}}
}

// What the place of one player costs in this format and in the engine's records: the same walks,
// ten states a second.
//
// seeds: S8
func TestPlaceBesideARecord(t *testing.T) {
	kind, err := schema.New("stroller", reflect.TypeFor[stroller](), 10)
	if err != nil {
		t.Fatal(err)
	}
	const players, inSight = 255, 250
	kinds := []*schema.Kind{kind}
	h := snapshot.NewHistory(codec.All(kinds...))
	v := snapshot.NewView(h)
	store := snapshot.NewStore(codec.All(kinds...))
	var log wire.Log
	var received wire.Received
	var ids [players]int32
	sims := make([]int64, kind.Sims)
	bits, places := 0, 0
	for tick := clock.Tick(1); tick <= 60; tick++ {
		h.Begin(tick)
		for i := range players {
			if tick == 1 {
				ids[i] = h.Add(uint32(i+1), 0, false)
				if i < inSight {
					v.Enter(ids[i], snapshot.Observed)
				}
			}
			s := strollerAt(i, tick)
			kind.Extract(unsafe.Pointer(&s), sims)
			h.Record(ids[i], sims, false)
		}
		now := clock.Time(tick) * 100 * ms
		p := log.Sent(now, tick, v.Missing)
		due := v.Pending(now, time.Second, nil)
		var w wire.BitWriter
		w.Reset(nil)
		new(snapshot.Writer).All(&w, v, due, p, now)
		if tick > 2 { // first sights are over
			bits += w.Len()
			places += len(due)
		}
		var r wire.BitReader
		r.Reset(w.Bytes())
		if err := store.Read(&r, tick, ^uint64(0)); err != nil {
			t.Fatal(err)
		}
		received.Applied(p.Seq)
		ack, _ := received.Ack()
		log.Acked(ack, v.Delivered, v.Missing)
	}
	record := float64(bits) / float64(places)
	t.Logf("a place: %d bits, as a message %d; a record with slot and flags, 1 cm: %.1f bits",
		8*PlaceBytes, 8*MessageBytes, record)
	if places != inSight*58 || record > 8*MessageBytes/6 {
		t.Errorf("%d records of %.1f bits, want %d of at most %d", places, record, inSight*58, 8*MessageBytes/6)
	}
}
