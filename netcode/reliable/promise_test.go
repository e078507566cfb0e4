package reliable

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"meanwhile/netcode/clock"
)

// A Hold keeps copies, up to exactly its bounds, and taking one makes room again.
func TestHoldToTheByte(t *testing.T) {
	var h Hold
	b := []byte("mine")
	h.Put(Message{Tick: 1, Body: b})
	copy(b, "gone")
	if m := h.Pop(); string(m.Body) != "mine" {
		t.Errorf("the Hold has %q: it kept the caller's memory", m.Body)
	}
	for round := range 3 {
		if !h.Put(Message{Body: body(maxHoldBytes - 1000)}) || !h.Put(Message{Body: body(1000)}) {
			t.Fatalf("round %d: less than the bound is refused", round)
		}
		if h.Put(Message{Body: body(1)}) || !h.Put(Message{}) {
			t.Fatalf("round %d: not to the byte", round)
		}
		for want := 2; h.Len() > 0; want-- {
			if h.Pop(); h.Len() != want {
				t.Fatalf("round %d: %d are left, want %d", round, h.Len(), want)
			}
		}
	}
	for range maxHoldMessages {
		if !h.Put(Message{}) {
			t.Fatal("fewer than the bound are refused")
		}
	}
	if h.Put(Message{}) {
		t.Error("more than the bound are taken")
	}
}

// A section needs exactly its length as room: what was sent in that many bytes is sent in them
// again, with and without entities, gaps and starts, and no section is longer than its room.
func TestSectionsFillTheirRoom(t *testing.T) {
	build := func(room int) []byte {
		s := newSender(t, Config{})
		for i := range 12 {
			m := Message{Tick: clock.Tick(1000 + 100*i), Entity: uint32(i % 3 * 1000), Kind: 7, Body: body(i * 37)}
			if i == 5 {
				m.Body = body(3*PartSize + 5)
			}
			mustSend(t, s, m)
		}
		s.Append(nil, 1, 10_000, 0, rto) // all
		s.LostAll()
		for _, n := range []struct {
			seq  uint16
			part int
		}{{2, 1}, {3, 4}, {4, 9}} { // these arrive by themselves, and leave gaps
			due := s.due
			s.due = 1 << n.part
			s.Append(nil, n.seq, 1000, 0, rto)
			s.due = due
			s.Delivered(n.seq)
		}
		return s.Append(nil, 5, room, 0, rto)
	}
	whole := build(10_000)
	for room := len(whole); room > 0; room-- {
		b := build(room)
		if len(b) > room {
			t.Fatalf("%d bytes in a room of %d", len(b), room)
		}
		if room == len(whole) && !bytes.Equal(b, whole) || room < len(whole) && len(b) == len(whole) {
			t.Fatalf("%d bytes in a room of %d, all take %d", len(b), room, len(whole))
		}
	}
}

// A section that waits for one before it is stored once, however often it arrives.
func TestDuplicatesTakeNoMemory(t *testing.T) {
	s, r := newSender(t, Config{}), new(Receiver)
	mustSend(t, s, text("first"), text("second"), Message{Tick: 1, Kind: 1, Body: body(2*PartSize + 7)})
	first := s.Append(nil, 1, 15, 0, rto)
	rest := s.Append(nil, 2, 10_000, 0, rto)
	for range 1000 {
		if got := take(t, r, rest); len(got) != 0 {
			t.Fatalf("%q before the first", got[0].Body)
		}
	}
	if len(r.stored) != 4 {
		t.Errorf("%d parts are stored of 4", len(r.stored))
	}
	got := take(t, r, first)
	if len(got) != 3 || string(got[0].Body) != "first" || string(got[1].Body) != "second" ||
		!bytes.Equal(got[2].Body, body(2*PartSize+7)) {
		t.Errorf("got %v", got)
	}
	checkMemory(t, r)
}

// Parts that arrived behind a missing one are not sent again, and need no packet.
func TestOnlyWhatIsMissingIsDue(t *testing.T) {
	s, r := newSender(t, Config{}), new(Receiver)
	mustSend(t, s, text("a"), text("b"), text("c"))
	s.Append(nil, 1, 10, 0, rto)        // a
	b := s.Append(nil, 2, 1000, 0, rto) // b and c
	take(t, r, b)
	s.Delivered(2)
	now := clock.Time(0).Add(rto)
	if !s.NeedsSend(now, rto) || s.NeedsSend(now-1, rto) {
		t.Error("a is not due after the timeout, or before it")
	}
	b = s.Append(nil, 3, 1000, now, rto)
	if len(b) == 0 || b[0] != 1 {
		t.Fatalf("after the timeout %x goes out, want one part", b)
	}
	if s.NeedsSend(now+1, rto) {
		t.Error("what has arrived is due")
	}
	s.Lost(2) // late news of a packet that had arrived
	if s.NeedsSend(now+1, rto) || s.Append(nil, 4, 1000, now+1, rto) != nil {
		t.Error("what has arrived is due once its packet is called lost")
	}
	if got := take(t, r, b); len(got) != 3 {
		t.Errorf("%d messages, want 3", len(got))
	}
}

// After a resumption the numbers of packets start anew: reports about the old ones change nothing.
func TestLostAllForgetsPackets(t *testing.T) {
	s := newSender(t, Config{})
	mustSend(t, s, text("a"), text("b"))
	s.Append(nil, 1, 1000, 0, rto)
	s.LostAll()
	if s.Delivered(1); s.Pending() != 2 {
		t.Errorf("a packet of the old connection delivers, %d pending", s.Pending())
	}
	s.Append(nil, 1, 1000, 0, rto)
	if s.Delivered(1); s.Pending() != 0 {
		t.Errorf("a packet of the new connection does not deliver, %d pending", s.Pending())
	}
}

// Packets are remembered separately while their number grows, also once the oldest are forgotten,
// and until all that they carried arrived.
func TestNotesGrow(t *testing.T) {
	for forgotten := range 5 {
		s := newSender(t, Config{})
		seq := uint16(0)
		one := func() uint16 {
			seq++
			mustSend(t, s, text(fmt.Sprint(seq)))
			if b := s.Append(nil, seq, 20, 0, time.Hour); len(b) == 0 {
				t.Fatal("nothing goes out")
			}
			return seq
		}
		for range forgotten {
			one()
		}
		seq += 1 << 14 // the ones before are too old now
		var sent []uint16
		for range 40 {
			sent = append(sent, one())
		}
		for i, q := range sent[:len(sent)-1] {
			if s.Delivered(q); s.Pending() != forgotten+len(sent)-i-1 && forgotten == 0 || s.noted != len(sent)-i-1 {
				t.Fatalf("%d forgotten: after %d of %d packets arrived %d messages are pending, %d packets noted",
					forgotten, i+1, len(sent), s.Pending(), s.noted)
			}
		}
		if want := uint64(1)<<39 - 1; s.done>>forgotten != want && forgotten > 0 {
			t.Errorf("%d forgotten: arrived %b", forgotten, s.done)
		}
	}
}

// A burst of messages takes no memory any more once all of it arrived; the next one starts anew.
func TestBurstLeavesNoMemory(t *testing.T) {
	s, r := newSender(t, Config{}), &Receiver{}
	for seq := uint16(1); seq <= 3; seq++ {
		for i := range 60 {
			mustSend(t, s, text(fmt.Sprint(seq, i)))
		}
		if _, err := r.Read(s.Append(nil, seq, 5000, 0, rto)); err != nil {
			t.Fatal(err)
		}
		for i := range 60 {
			if m, ok := r.Next(); !ok || string(m.Body) != fmt.Sprint(seq, i) {
				t.Fatalf("message %d of burst %d: %q", i, seq, m.Body)
			}
		}
		if s.Delivered(seq); s.Pending() != 0 || len(s.items) > keptItems || len(s.body) > keptItems*PartSize {
			t.Errorf("%d messages pending, room for %d parts and %d bytes", s.Pending(), len(s.items), len(s.body))
		}
	}
}

// When bytes are short, as many messages are replaced as needed, or none; a message of several
// parts is replaced as a whole.
func TestPriorityOfBytes(t *testing.T) {
	m := func(prio uint8, n int) Message { return Message{Tick: 1, Kind: 1, Priority: prio, Body: body(n)} }
	for _, c := range []struct {
		name    string
		size    int
		want    error
		dropped uint64
	}{
		{"just what the first frees", 1000, nil, 1},
		{"what both free", 1300, nil, 2},
		{"a byte more than both", 1301, ErrFull, 0},
	} {
		s := newSender(t, Config{MaxBytes: MaxMessage})
		mustSend(t, s, m(0, 1000), m(1, MaxMessage-1300), m(0, 300))
		if err := s.Send(m(1, c.size)); !errors.Is(err, c.want) || s.Dropped() != c.dropped {
			t.Errorf("%s: %v, %d gave way", c.name, err, s.Dropped())
			continue
		}
		want := MaxMessage
		if c.want == nil {
			want += c.size - []int{0, 1000, 1300}[c.dropped]
		}
		if s.bodyBytes() != want {
			t.Errorf("%s: %d bytes queued, want %d", c.name, s.bodyBytes(), want)
		}
		var r Receiver
		var sizes []int
		for seq := uint16(1); s.Pending() > 0; seq++ {
			for _, m := range take(t, &r, s.Append(nil, seq, 10_000, 0, rto)) {
				if !bytes.Equal(m.Body, body(len(m.Body))) {
					t.Errorf("%s: a body of %d bytes is not what was sent", c.name, len(m.Body))
				}
				sizes = append(sizes, len(m.Body))
			}
			s.Delivered(seq)
		}
		if left := map[uint64]string{0: fmt.Sprint([]int{1000, MaxMessage - 1300, 300}),
			1: fmt.Sprint([]int{MaxMessage - 1300, 300, c.size}),
			2: fmt.Sprint([]int{MaxMessage - 1300, c.size})}; fmt.Sprint(sizes) != left[c.dropped] {
			t.Errorf("%s: %v arrive, want %s", c.name, sizes, left[c.dropped])
		}
	}
}

// The bounds of a Config are allowed, and a queue of that many parts accepts that many full ones.
func TestConfigAtItsBounds(t *testing.T) {
	for _, cfg := range []Config{{MaxParts: 1}, {MaxParts: mostParts}, {MaxBytes: MaxMessage},
		{MaxBytes: mostBytes}} {
		if _, err := NewSender(cfg); err != nil {
			t.Error(err)
		}
	}
	s := newSender(t, Config{MaxParts: 2})
	mustSend(t, s, Message{Body: body(PartSize)}, Message{Body: body(PartSize)})
	s = newSender(t, Config{MaxParts: 2})
	mustSend(t, s, Message{Body: body(2 * PartSize)})
	if s = newSender(t, Config{MaxParts: 2}); !errors.Is(s.Send(Message{Body: body(2*PartSize + 1)}), ErrFull) {
		t.Error("three parts fit two")
	}
}

// The rest of a message whose beginning has arrived, with nothing else sent, is not replaced: the
// peer waits for it.
func TestTheRestOfWhatArrivedStays(t *testing.T) {
	s, r := newSender(t, Config{MaxParts: 3}), new(Receiver)
	mustSend(t, s, Message{Tick: 1, Body: body(2*PartSize + 1)})
	take(t, r, s.Append(nil, 1, sectionHeader+5+PartSize, 0, rto))
	if s.Delivered(1); s.sent != 0 || s.count != 2 {
		t.Fatalf("%d parts are left, sent %b", s.count, s.sent)
	}
	if err := s.Send(Message{Tick: 2, Priority: 9, Body: body(PartSize + 1)}); !errors.Is(err, ErrFull) ||
		s.Dropped() != 0 || s.bodyBytes() != PartSize+1 {
		t.Errorf("%v, %d gave way, %d bytes queued", err, s.Dropped(), s.bodyBytes())
	}
	mustSend(t, s, Message{Tick: 2, Priority: 9, Body: body(7)})
	if got := take(t, r, s.Append(nil, 2, 1000, 0, rto)); len(got) != 2 ||
		!bytes.Equal(got[0].Body, body(2*PartSize+1)) || !bytes.Equal(got[1].Body, body(7)) {
		t.Errorf("got %v", got)
	}
}
