package server

import (
	"testing"
	"time"

	"meanwhile/netcode/packet"
)

// reports sends a datagram with a report so long after the one before.
func (p *peer) reports(after time.Duration, report []byte) {
	p.n.now = p.n.now.Add(after)
	p.n.s.Receive(p.id, p.n.now, append(p.packet(), report...))
}

// What a client claims of its player's picture is counted: counters go on where reports are lost,
// begin again or come too often, and half a report changes nothing.
func TestReported(t *testing.T) {
	n := newNest(t, Config{})
	p := n.connect("eve")
	reported := func() Reported {
		stats, _ := n.s.Stats(p.id)
		return stats.Reported
	}
	report := func(delay time.Duration, hitches, stalls, corrections uint64) []byte {
		return packet.NewQuality(delay, hitches, stalls, corrections).Append(nil)
	}
	p.reports(0, report(60*time.Millisecond, 3, 5, 250))
	if want := (Reported{1, 60 * time.Millisecond, 3, 5, 250}); reported() != want {
		t.Errorf("the first: %+v, want %+v", reported(), want)
	}
	p.reports(2*time.Second, report(5*time.Second, 3, 7, 260)) // one was lost
	if want := (Reported{2, 1020 * time.Millisecond, 3, 7, 260}); reported() != want {
		t.Errorf("the next: %+v, want %+v", reported(), want)
	}
	before := reported()
	for i := range uint64(20) {
		p.reports(20*time.Millisecond, report(0, 3+100*i, 0, 0))
	}
	if reported() != before {
		t.Errorf("20 in 0.4 s: %+v, want %+v", reported(), before)
	}
	p.reports(time.Second, report(0, 3, 7, 5)[:packet.QualitySize-1])
	if reported() != before || n.s.Drops().Malformed != 1 {
		t.Errorf("half a report: %+v, want %+v; %d malformed", reported(), before, n.s.Drops().Malformed)
	}
	overtaken := append(p.packet(), report(0, 200, 200, 200)...)
	p.reports(time.Second, report(time.Millisecond*4, 4, 7, 4))
	n.s.Receive(p.id, n.now.Add(time.Second), overtaken)
	if want := (Reported{3, 4 * time.Millisecond, 4, 7, 260}); reported() != want {
		t.Errorf("one that was overtaken: %+v, want %+v", reported(), want)
	}
	n.s.Suspend(p.id, n.now)
	if _, ok := n.s.Resume(p.id, n.now, false); !ok {
		t.Fatal("there is no way back")
	}
	p.reports(0, report(0, 1, 0, 0)) // of a client that began anew
	if want := (Reported{4, 0, 5, 7, 260}); reported() != want {
		t.Errorf("after a new beginning: %+v, want %+v", reported(), want)
	}
}
