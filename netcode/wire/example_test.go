package wire_test

import (
	"fmt"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// A datagram is a header, then bits.
func Example() {
	start, period := clock.Time(20e9), 50*time.Millisecond // both sides know of tick 599 and when it began
	h := wire.Header{Seq: 1, Server: true, Tick: 600, NextDue: 5}
	var w wire.BitWriter
	w.Reset(nil)
	h.Append(&w, wire.Known{Tick: 599})
	w.Bool(true)
	w.Bits(300, 9)    // a number of known width
	w.Varint(-12, 3)  // a small difference, likely near zero
	w.Uvarint(700, 8) // an age
	datagram := w.Bytes()
	wire.PatchStamp(datagram, clock.Stamp(20_050_350)) // by the edge, right before it leaves

	var r wire.BitReader
	got, err := wire.NewIncoming(599, start, period).Decode(&r, datagram)
	if err != nil {
		fmt.Println(err) // count it and drop the packet
		return
	}
	fmt.Println(len(datagram), "bytes, tick", got.Tick, "sent at", got.Stamp, "us")
	fmt.Println(r.Bool(), r.Bits(9), r.Varint(3), r.Uvarint(8), "cut short:", r.Bad())
	// Output:
	// 11 bytes, tick 600 sent at 20050350 us
	// true 300 -12 700 cut short: false
}

// Both ends of acknowledgement: what a receiver says, and what the sender makes of it.
func ExampleLog() {
	var sender wire.Log
	var receiver wire.Received
	lost := func(p *wire.Packet) { fmt.Println("packet", p.Seq, "is lost, with", p.Refs) }
	arrived := func(p *wire.Packet) { fmt.Println("packet", p.Seq, "arrived, with", p.Refs) }

	for i := range byte(5) {
		p := sender.Sent(clock.Time(i), 1, lost)
		p.Refs = append(p.Refs, 100+i) // what rides in it
		sender.Charge(p, 80)           // its size
		if p.Seq == 2 {
			continue // the network loses it
		}
		if receiver.Accepts(p.Seq) { // not seen before, not too old
			receiver.Applied(p.Seq) // completely, or it must not be acknowledged
		}
	}
	ack, _ := receiver.Ack()
	fmt.Println(sender.Acked(ack, arrived, lost), sender.InFlight())
	// Output:
	// packet 1 arrived, with [100]
	// packet 3 arrived, with [102]
	// packet 4 arrived, with [103]
	// packet 5 arrived, with [104]
	// packet 2 is lost, with [101]
	// true 0
}
