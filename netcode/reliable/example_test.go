package reliable_test

import (
	"fmt"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/reliable"
)

// Two messages are in a packet that is lost; the next packet carries them again.
func Example() {
	sender, err := reliable.NewSender(reliable.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var receiver reliable.Receiver

	sender.Send(reliable.Message{Tick: 300, Entity: 5, Kind: 1, Body: []byte("door opens")})
	sender.Send(reliable.Message{Tick: 301, Kind: 2, Body: []byte("gg"), AtOnce: true})

	const rto = 200 * time.Millisecond
	now := clock.Time(0)
	room := 1000 // bytes that the packet has left
	first := sender.Append(nil, 1, room, now, rto)
	sender.Lost(1) // the peer has not acknowledged it

	now = now.Add(50 * time.Millisecond)
	second := sender.Append(nil, 2, room, now, rto)
	fmt.Println(len(first), "bytes, again", len(second))

	if _, err := receiver.Read(second); err != nil {
		fmt.Println(err) // count it and drop the packet, unacknowledged
	}
	for m, ok := receiver.Next(); ok; m, ok = receiver.Next() {
		fmt.Printf("tick %d entity %d kind %d at once %v: %s\n", m.Tick, m.Entity, m.Kind, m.AtOnce, m.Body)
	}
	sender.Delivered(2)
	fmt.Println(sender.Pending(), "pending")
	// Output:
	// 25 bytes, again 25
	// tick 300 entity 5 kind 1 at once false: door opens
	// tick 301 entity 0 kind 2 at once true: gg
	// 0 pending
}

// Received messages wait until their entity is drawn at their tick.
func ExampleHold() {
	var hold reliable.Hold
	playout := clock.Tick(298) // what the screen shows of everybody else
	show := func(m reliable.Message) { fmt.Printf("at tick %d: %s\n", playout, m.Body) }

	for !hold.Put(reliable.Message{Tick: 300, Entity: 5, Body: []byte("door opens")}) {
		show(hold.Pop()) // full: too early is better than lost
	}
	for ; playout <= 301; playout++ {
		due := func(entity uint32, t clock.Tick) bool { return t <= playout }
		for m, ok := hold.Take(due); ok; m, ok = hold.Take(due) {
			show(m)
		}
	}
	// Output: at tick 300: door opens
}
