package snapshot_test

import (
	"fmt"
	"reflect"
	"time"
	"unsafe"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

type Sheep struct {
	Pos  geom.Vec2 `net:"pos,others=1cm"`
	Name string    `net:"text,8"`
}

// A server tells a client of one sheep: once in full, then only what changes, and at rest nothing.
func Example() {
	kind, err := schema.New("sheep", reflect.TypeFor[Sheep](), 30)
	if err != nil {
		fmt.Println(err)
		return
	}
	kinds := []*schema.Kind{kind}
	history := snapshot.NewHistory(codec.All(kinds...)) // shared by all clients
	view := snapshot.NewView(history)                   // what one client is known to hold
	var writer snapshot.Writer
	var log wire.Log
	store := snapshot.NewStore(codec.All(kinds...)) // the client
	var received wire.Received
	// what the client had applied when it sent each of its own packets, which number as the
	// server's here
	var agreement wire.Agreement

	sheep := Sheep{Name: "Dolly"}
	var index int32
	sims := make([]int64, kind.Sims)
	for tick := clock.Tick(1); tick <= 20; tick++ {
		now := clock.Time(tick) * clock.Time(time.Second/30)
		history.Begin(tick)
		if tick == 1 {
			index = history.Add(7, 0, false)
			view.Enter(index, snapshot.Observed)
		}
		if tick <= 3 {
			sheep.Pos.X += 0.1
		}
		kind.Extract(unsafe.Pointer(&sheep), sims)
		history.Record(index, sims, false)

		due := view.Pending(now, 200*time.Millisecond, nil)
		if len(due) == 0 {
			continue
		}
		packet := log.Sent(now, tick, view.Missing)
		var w wire.BitWriter
		w.Reset(nil)
		writer.Begin(view, due, 8*wire.MaxDatagram)
		for i := range due { // ordered by the caller
			if writer.Try(&due[i]) <= 8*wire.MaxDatagram {
				writer.Keep()
			}
		}
		writer.End(&w, packet, now)
		body := w.Bytes()

		var r wire.BitReader
		r.Reset(body)
		agreed, _ := agreement.Agreed(tick, packet.Seq-1)
		if err := store.Read(&r, tick, agreed); err != nil {
			fmt.Println(err) // count it; do not acknowledge
			continue
		}
		received.Applied(packet.Seq)
		agreement.Applied(tick, packet.Seq)
		ack, _ := received.Ack()
		log.Acked(ack, view.Delivered, view.Missing)

		state := store.Find(7).Groups[0].Newest()
		fmt.Printf("tick %d: %d bytes, x is %d cm, rests: %v\n", tick, len(body), state.Vals[0], state.Rest)
	}
	// Output:
	// tick 1: 15 bytes, x is 10 cm, rests: false
	// tick 2: 2 bytes, x is 20 cm, rests: false
	// tick 3: 1 bytes, x is 30 cm, rests: false
	// tick 9: 4 bytes, x is 30 cm, rests: true
}
