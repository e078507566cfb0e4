package transport

import (
	"testing"

	"meanwhile/netcode/clock"
)

func TestQueue(t *testing.T) {
	var q Queue
	var spare []byte
	for i := range QueueLength + 3 {
		q.Put([]byte{byte(i)}, clock.Time(i))
	}
	for i := 3; i < QueueLength+3; i++ {
		var at clock.Time
		var ok bool
		if spare, at, ok = q.Take(spare); !ok || spare[0] != byte(i) || at != clock.Time(i) {
			t.Fatalf("place %d holds %v of %v, %v", i, spare, at, ok)
		}
	}
	if _, _, ok := q.Take(spare); ok {
		t.Error("an empty queue gives something")
	}
	if taken, displaced := q.Counts(); taken != QueueLength || displaced != 3 {
		t.Errorf("%d taken, %d displaced", taken, displaced)
	}
	data := make([]byte, 100)
	if n := testing.AllocsPerRun(100, func() {
		q.Put(data, 1)
		spare, _, _ = q.Take(spare)
	}); n != 0 {
		t.Errorf("%v allocations for a datagram", n)
	}
	q.Put(data, 1)
	q.Close()
	q.Put(data, 2)
	if _, _, ok := q.Take(nil); ok || !q.Closed() {
		t.Error("a closed queue gives something")
	}
}
