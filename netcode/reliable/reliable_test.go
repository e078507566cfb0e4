package reliable

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"meanwhile/internal/verify/golden"
	"meanwhile/netcode/clock"
)

const rto = 200 * time.Millisecond

func newSender(t testing.TB, cfg Config) *Sender {
	t.Helper()
	s, err := NewSender(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustSend(t testing.TB, s *Sender, ms ...Message) {
	t.Helper()
	for _, m := range ms {
		if err := s.Send(m); err != nil {
			t.Fatal(err)
		}
	}
}

// take reads b as a packet that has nothing but a section, and returns copies of the messages that
// are next.
func take(t testing.TB, r *Receiver, b []byte) []Message {
	t.Helper()
	n, err := r.Read(b)
	if err != nil || n != len(b) {
		t.Fatalf("Read(%x) = %d, %v; want %d, nil", b, n, err, len(b))
	}
	return drain(r)
}

func drain(r *Receiver) (got []Message) {
	for m, ok := r.Next(); ok; m, ok = r.Next() {
		m.Body = bytes.Clone(m.Body)
		got = append(got, m)
	}
	return got
}

func same(a, b Message) bool {
	return a.Tick == b.Tick && a.Entity == b.Entity && a.Kind == b.Kind && a.AtOnce == b.AtOnce &&
		bytes.Equal(a.Body, b.Body)
}

func body(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

func text(s string) Message { return Message{Tick: 1, Kind: 1, Body: []byte(s)} }

func TestDelivery(t *testing.T) {
	s, r := newSender(t, Config{}), new(Receiver)
	want := []Message{
		{Tick: 100, Entity: 7, Kind: 3, Body: []byte("hit")},
		{Tick: 99, Entity: 1<<32 - 1, Kind: 255, AtOnce: true, Body: []byte{}},
		{Tick: 1<<32 - 1, Body: body(PartSize)},
		{Tick: 0, Kind: 9, Body: body(PartSize + 1)},
		{Tick: 5, Kind: 1, Body: body(3 * PartSize)},
	}
	mustSend(t, s, want...)
	if got := s.Pending(); got != 5 {
		t.Errorf("Pending() = %d, want 5", got)
	}
	if got, want := s.bodyBytes(), 3+0+200+201+600; got != want {
		t.Errorf("Bytes() = %d, want %d", got, want)
	}
	b := s.Append(nil, 1, 4000, 0, rto)
	got := take(t, r, b)
	if len(got) != len(want) {
		t.Fatalf("got %d messages, want %d", len(got), len(want))
	}
	for i, id := range []uint16{0, 1, 2, 3, 5} { // the fourth takes two numbers
		if !same(got[i], want[i]) || got[i].ID != id {
			t.Errorf("message %d: got %+v, want %+v with ID %d", i, got[i], want[i], id)
		}
	}
	s.Delivered(1)
	if s.Pending() != 0 || s.bodyBytes() != 0 || s.NeedsSend(1<<40, rto) {
		t.Errorf("after Delivered: %d pending, %d bytes, due %v", s.Pending(), s.bodyBytes(), s.NeedsSend(1<<40, rto))
	}
}

func TestDue(t *testing.T) {
	s := newSender(t, Config{})
	mustSend(t, s, text("a"))
	at := clock.Time(0)
	step := func(name string, seq uint16, after time.Duration, want bool) {
		t.Helper()
		at = at.Add(after)
		if s.NeedsSend(at, rto) != want {
			t.Errorf("%s: Due = %v, want %v", name, !want, want)
		}
		if b := s.Append(nil, seq, 1000, at, rto); (len(b) > 0) != want {
			t.Errorf("%s: Append wrote %x, want something: %v", name, b, want)
		}
	}
	step("never sent", 1, 0, true)
	step("in flight", 2, rto-1, false)
	step("timeout", 3, 1, true)
	s.Lost(1)
	step("an older copy was lost", 4, 0, false)
	s.Lost(3)
	step("the newest copy was lost", 5, 0, true)
	s.Lost(5)
	s.Delivered(1)
	step("an older copy had arrived after all", 6, 10*rto, false)
	mustSend(t, s, text("b"))
	step("next", 7, 0, true)
	s.Lost(2) // carried nothing
	s.Delivered(4711)
	step("unknown packets", 8, 0, false)
	s.LostAll()
	step("resumed", 0, 0, true)
	s.Delivered(7) // of the connection before
	step("in flight again", 1, 0, false)
	s.Delivered(0)
	step("delivered", 2, 10*rto, false)
}

func TestRoom(t *testing.T) {
	for _, size := range []int{0, 1, PartSize} {
		s := newSender(t, Config{})
		mustSend(t, s, Message{Tick: 1<<32 - 1, Entity: 1<<32 - 1, Kind: 1, Body: body(size)})
		need := sectionHeader + maxPartHeader + size
		for room := -1; room < need; room++ {
			if b := s.Append([]byte("header"), 1, room, 0, rto); string(b) != "header" {
				t.Errorf("room %d of %d: wrote %x", room, need, b)
			}
		}
		if b := s.Append(nil, 1, need, 0, rto); len(b) != need {
			t.Errorf("wrote %d bytes, want %d", len(b), need)
		}
	}
	// What does not fit is passed over by what does.
	s, r := newSender(t, Config{}), new(Receiver)
	mustSend(t, s, text("a"), Message{Tick: 1, Body: body(150)}, text("b"))
	b := s.Append(nil, 1, 40, 0, rto)
	if got := take(t, r, b); len(got) != 1 || len(b) > 40 {
		t.Fatalf("%d messages in %d bytes", len(got), len(b))
	}
	if got := take(t, r, s.Append(nil, 2, MinRoom, 0, rto)); len(got) != 2 {
		t.Fatalf("%d messages, want 2", len(got))
	}
}

func TestWindow(t *testing.T) {
	for _, before := range []int{0, 1, 32767, 65472, 65535} { // the wrap of numbers, too
		s, r := newSender(t, Config{}), new(Receiver)
		s.base, r.next = uint16(before), uint16(before)
		for i := range Window + 1 {
			mustSend(t, s, text(fmt.Sprint(i)))
		}
		first := s.Append(nil, 1, 10, 0, rto) // only part 0
		rest := s.Append(nil, 2, 10000, 0, rto)
		if got := rest[0]; got != Window-1 {
			t.Fatalf("base %d: %d parts in flight, want %d", before, got+1, Window)
		}
		if s.Append(nil, 3, 10000, 0, rto) != nil {
			t.Fatalf("base %d: the window is open", before)
		}
		s.Delivered(2)
		if s.Append(nil, 4, 10000, 0, rto) != nil {
			t.Fatalf("base %d: the window opened although its first part is in flight", before)
		}
		if got := take(t, r, rest); len(got) != 0 {
			t.Fatalf("base %d: delivered %q before the first", before, got[0].Body)
		}
		if got := take(t, r, first); len(got) != Window {
			t.Fatalf("base %d: got %d messages, want %d", before, len(got), Window)
		}
		s.Delivered(1)
		if got := take(t, r, s.Append(nil, 5, 10000, 0, rto)); len(got) != 1 || string(got[0].Body) != "64" {
			t.Fatalf("base %d: got %v", before, got)
		}
		if got := take(t, r, rest); len(got) != 0 { // a duplicate from before the window
			t.Fatalf("base %d: delivered twice: %v", before, got)
		}
		s.Delivered(5)
		if s.Pending() != 0 || int(s.base) != (before+65)%65536 {
			t.Fatalf("base %d: pending %d, base now %d", before, s.Pending(), s.base)
		}
	}
}

func TestBounds(t *testing.T) {
	for _, cfg := range []Config{{MaxParts: -1}, {MaxParts: mostParts + 1}, {MaxBytes: MaxMessage - 1},
		{MaxBytes: mostBytes + 1}} {
		if _, err := NewSender(cfg); err == nil {
			t.Errorf("NewSender(%+v) succeeded", cfg)
		}
	}
	_, err := NewSender(Config{MaxBytes: 5})
	if want := "reliable: MaxBytes 5 is outside [16384, 16777216]"; err == nil || err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}

	check := func(s *Sender, m Message, want error, wantText string) {
		t.Helper()
		pending, size := s.Pending(), s.bodyBytes()
		if err := s.Send(m); !errors.Is(err, want) || err.Error() != wantText {
			t.Errorf("got %v, want %q", err, wantText)
		}
		if s.Pending() != pending || s.bodyBytes() != size {
			t.Error("a refused message was queued")
		}
	}
	s := newSender(t, Config{MaxParts: 3, MaxBytes: MaxMessage})
	check(s, Message{Body: body(MaxMessage + 1)}, ErrTooLong, "reliable: message is too long: bytes 16385, bound "+
		"16384")
	check(s, Message{Body: body(3*PartSize + 1)}, ErrFull, "reliable: queue is full: parts 4, bound 3")
	mustSend(t, s, text("a"), text(""), text("c"))
	check(s, Message{}, ErrFull, "reliable: queue is full: parts 4, bound 3")

	s = newSender(t, Config{MaxBytes: MaxMessage})
	mustSend(t, s, Message{Body: body(MaxMessage)})
	check(s, text("a"), ErrFull, "reliable: queue is full: bytes 16385, bound 16384")
	mustSend(t, s, text(""))
}

// A message of the greatest size has more parts than the window: it is joined while it is sent.
func TestLongest(t *testing.T) {
	s, r := newSender(t, Config{}), new(Receiver)
	want := Message{Tick: 12, Entity: 3, Kind: 4, Body: body(MaxMessage)}
	mustSend(t, s, want, text("after"))
	var got []Message
	for seq := uint16(0); s.Pending() > 0; seq++ {
		got = append(got, take(t, r, s.Append(nil, seq, 1000, 0, rto))...)
		s.Delivered(seq)
		if seq > 100 {
			t.Fatal("no end")
		}
	}
	if len(got) != 2 || !same(got[0], want) || string(got[1].Body) != "after" {
		t.Fatalf("got %d messages", len(got))
	}
	// One part more would be too long.
	var b []byte
	next := r.next
	for i := range 82 {
		p := part{number: next + uint16(i), flags: flagMore, body: body(PartSize)}
		if i == 0 {
			p.flags |= flagStart
		}
		b = encode(p)
		if _, err := r.Read(b); (err == nil) != (i < 81) { // 81 * 200 = 16200 <= 16384
			t.Fatalf("part %d: %v", i, err)
		} else if err != nil && !errors.Is(err, ErrTooLong) {
			t.Fatal(err)
		}
		r.Next()
	}
	last := part{number: next + 81, body: body(MaxMessage - 81*PartSize)}
	if got := take(t, r, encode(last)); len(got) != 1 || len(got[0].Body) != MaxMessage {
		t.Fatal("the greatest message was refused")
	}
}

// encode writes a section of parts, valid or not.
func encode(parts ...part) []byte {
	b := []byte{uint8(len(parts)), uint8(parts[0].number), uint8(parts[0].number >> 8)}
	c := cursor{number: parts[0].number}
	for i := range parts {
		b = append(c.append(b, &parts[i], len(parts[i].body)), parts[i].body...)
	}
	return b
}

func start(number uint16, flags uint8, n int) part {
	return part{number: number, flags: flagStart | flags, kind: 1, tick: 9, body: body(n)}
}
func more(number uint16, flags uint8, n int) part {
	return part{number: number, flags: flags, body: body(n)}
}

func TestRefused(t *testing.T) {
	whole := func(numbers ...uint16) []byte {
		var parts []part
		for _, n := range numbers {
			parts = append(parts, start(n, 0, 1))
		}
		return encode(parts...)
	}
	edit := func(b []byte, at int, v ...byte) []byte {
		return append(append(bytes.Clone(b[:at]), v...), b[at+1:]...)
	}
	plain := whole(0) // 01 0000 01 01 12 01 00: count, number, flags, kind, tick 9 zigzag, length, body
	if got := hex.EncodeToString(plain); got != "0100000101120100" {
		t.Fatal(got)
	}
	for _, c := range []struct {
		name string
		b    []byte
		want error
	}{
		{"nothing", nil, ErrTruncated},
		{"count 65", edit(plain, 0, 65), ErrFormat},
		{"unknown flag", edit(plain, 3, 1|32), ErrFormat},
		{"at once without start", encode(more(0, flagAtOnce, 1)), ErrFormat},
		{"entity without start", edit(encode(more(0, 0, 1)), 3, flagEntity), ErrFormat},
		{"gap on the first", edit(plain, 3, flagStart|flagGap), ErrFormat},
		{"gap 0", edit(whole(0, 2), 9, 0), ErrFormat},
		{"gap 63", edit(whole(0, 2), 9, 63), ErrFormat},
		{"64 apart", whole(0, 33, 64), ErrFormat},
		{"tick -1", edit(plain, 5, 1), ErrFormat},
		{"tick 2^32", edit(plain, 5, 0x80, 0x80, 0x80, 0x80, 0x20), ErrFormat},
		{"tick difference of 34 bits", edit(plain, 5, 0xff, 0xff, 0xff, 0xff, 0x3f), ErrFormat},
		{"tick of 65 bits", edit(plain, 5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), ErrFormat},
		{"long form of a tick", edit(plain, 5, 0x92, 0), ErrFormat},
		{"entity of 33 bits", edit(edit(plain, 5, 18, 0xff, 0xff, 0xff, 0xff, 0x1f), 3, flagStart|flagEntity),
			ErrFormat},
		{"entity zero", edit(edit(plain, 5, 18, 0), 3, flagStart|flagEntity), ErrFormat},
		{"201 bytes", encode(start(0, 0, 201)), ErrFormat},
		{"short part with more", encode(start(0, flagMore, 199)), ErrFormat},
		{"empty part in the middle", encode(start(0, flagMore, 200), more(1, 0, 0)), ErrFormat},
		{"beyond the window", whole(64), ErrAhead},
		{"far beyond the window", whole(32767), ErrAhead},
		{"goes on with nothing", encode(more(0, 0, 1)), ErrFormat},
		{"start inside", encode(start(0, flagMore, 200), start(1, 0, 1)), ErrFormat},
		{"goes on after the end", encode(start(0, 0, 1), more(1, 0, 1)), ErrFormat},
		{"goes on after a stored part", encode(more(11, 0, 1)), ErrFormat},
		{"start before what goes on", encode(start(19, 0, 1)), ErrFormat},
		{"good part, then bad", encode(start(0, 0, 1), more(11, 0, 1)), ErrFormat},
	} {
		var r Receiver
		take(t, &r, encode(start(10, 0, 1), more(20, 0, 1)))
		before := r.has
		if n, err := r.Read(c.b); n != 0 || !errors.Is(err, c.want) {
			t.Errorf("%s: Read(%x) = %d, %v; want 0, %v", c.name, c.b, n, err, c.want)
		}
		if r.has != before || len(drain(&r)) > 0 {
			t.Errorf("%s: a refused section left parts behind", c.name)
		}
	}
	var r Receiver
	if n, err := r.Read([]byte{0, 1}); n != 1 || err != nil {
		t.Errorf("empty section: %d, %v; want 1, nil", n, err)
	}
}

func TestJoiningAcrossReads(t *testing.T) {
	var r Receiver
	if got := take(t, &r, encode(start(0, flagMore, 200))); len(got) != 0 {
		t.Fatal(got)
	}
	if _, err := r.Read(encode(start(1, 0, 1))); !errors.Is(err, ErrFormat) {
		t.Fatalf("a start inside a message: %v", err)
	}
	if got := take(t, &r, encode(more(1, 0, 7))); len(got) != 1 || len(got[0].Body) != 207 {
		t.Fatal(got)
	}
}

func TestTruncated(t *testing.T) {
	for name, b := range sections(t) {
		for n := range len(b) {
			var r Receiver
			if used, err := r.Read(b[:n]); used != 0 || !errors.Is(err, ErrTruncated) {
				t.Errorf("%s: the first %d of %d bytes: %d, %v; want 0, %v", name, n, len(b), used, err, ErrTruncated)
			}
			if r.has != 0 || len(r.stored) != 0 {
				t.Errorf("%s: the first %d bytes left parts behind", name, n)
			}
		}
		var r Receiver
		if used, err := r.Read(append(bytes.Clone(b), "more of the packet"...)); used != len(b) || err != nil {
			t.Errorf("%s: %d, %v; want %d, nil", name, used, err, len(b))
		}
	}
}

// sections returns what senders wrote in some situations, by name.
func sections(t testing.TB) map[string][]byte {
	write := func(seq uint16, f func(s *Sender)) []byte {
		s := newSender(t, Config{})
		f(s)
		return s.Append(nil, seq, 1000, 0, rto)
	}
	return map[string][]byte{
		"one": write(1,
			func(s *Sender) { mustSend(t, s, Message{Tick: 300, Entity: 5, Kind: 2, Body: []byte("hit")}) }),
		"at once": write(1, func(s *Sender) {
			mustSend(t, s, Message{Tick: 300, Kind: 1, AtOnce: true, Body: []byte("hello")})
		}),
		"empty body": write(1, func(s *Sender) { mustSend(t, s, Message{}) }),
		"three, ticks up and down": write(1, func(s *Sender) {
			mustSend(t, s, Message{Tick: 216000, Entity: 200, Kind: 7, Body: []byte{1}},
				Message{Tick: 216001, Kind: 8, Body: []byte{2, 3}}, Message{Tick: 215990, Entity: 1 << 20, Kind: 9})
		}),
		"largest numbers": write(1, func(s *Sender) {
			mustSend(t, s, Message{Tick: 1<<32 - 1, Entity: 1<<32 - 1, Kind: 255, AtOnce: true, Body: []byte{255}},
				Message{Kind: 1})
		}),
		"two parts": write(1,
			func(s *Sender) { mustSend(t, s, Message{Tick: 4, Entity: 6, Kind: 3, Body: body(203)}) }),
		"gap": write(2, func(s *Sender) {
			mustSend(t, s, text("first"), Message{Tick: 1, Body: body(20)}, text("third"))
			s.Append(nil, 0, 24, 0, rto) // the first and the third: there is no room for more
			s.Append(nil, 1, 100, 0, rto)
			mustSend(t, s, text("fourth"))
			s.Delivered(1) // the second
			s.Lost(0)
		}),
		"number wraps": write(1, func(s *Sender) {
			s.base = 65535
			mustSend(t, s, text("65535"), text("0"))
		}),
	}
}

// The wire format. A changed vector is a change of the protocol.
func TestGolden(t *testing.T) {
	const path = "testdata/sections.txt"
	var b strings.Builder
	b.WriteString("# Sections as a sender writes them: name, bytes, and what a receiver makes of them (ID tick " +
		"entity kind body).\n")
	all := sections(t)
	for _, name := range []string{"one", "at once", "empty body", "three, ticks up and down", "largest numbers",
		"two parts", "gap", "number wraps"} {
		fmt.Fprintf(&b, "\n%s\n  %x\n", name, all[name])
		var s section
		if _, err := s.read(all[name]); err != nil {
			t.Fatal(err)
		}
		for _, p := range s.parts[:s.n] {
			fmt.Fprintf(&b, "  part %d flags %d kind %d tick %d entity %d: %d bytes %.40q\n", p.number, p.flags,
				p.kind, p.tick, p.entity, len(p.body), p.body)
		}
	}
	golden.Check(t, path, b.String())
}

func FuzzSection(f *testing.F) {
	for _, b := range sections(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s section
		n, err := s.read(b)
		if err != nil || s.n == 0 {
			return // refusing is fine, panicking is not
		}
		if again := encode(s.parts[:s.n]...); !bytes.Equal(again, b[:n]) {
			t.Fatalf("%x decodes as %+v, which encodes as %x", b[:n], s.parts[:s.n], again)
		}
	})
}

// Hostile bytes in any order and number neither panic nor take more than the bounds.
func FuzzReceiver(f *testing.F) {
	var all []byte
	for _, b := range sections(f) {
		f.Add(b)
		all = append(all, b...)
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Receiver
		for len(b) > 0 {
			n, err := r.Read(b)
			if err != nil {
				n = 1
			}
			b = b[n:]
			for m, ok := r.Next(); ok; m, ok = r.Next() {
				if len(m.Body) > MaxMessage {
					t.Fatalf("message of %d bytes", len(m.Body))
				}
			}
			checkMemory(t, &r)
		}
	})
}

func checkMemory(t interface{ Fatalf(string, ...any) }, r *Receiver) {
	size := cap(r.whole.Body)
	for i := range r.stored {
		size += cap(r.stored[i].body)
	}
	if len(r.stored) > Window || size > Window*256+2*MaxMessage {
		t.Fatalf("receiver holds %d parts, %d bytes", len(r.stored), size)
	}
}

func TestHold(t *testing.T) {
	var h Hold
	for i, m := range []Message{
		{Tick: 10, Entity: 1, Body: []byte("a")}, {Tick: 12, Entity: 2, Body: []byte("b")},
		{Tick: 11, Entity: 1, Body: []byte("c")}, {Tick: 99, Entity: 1, AtOnce: true, Body: []byte("d")},
	} {
		if !h.Put(m) {
			t.Fatal(i)
		}
	}
	drawn := map[uint32]clock.Tick{1: 9, 2: 9}
	due := func(e uint32, at clock.Tick) bool { return at <= drawn[e] }
	expect := func(want string) {
		t.Helper()
		got := ""
		for m, ok := h.Take(due); ok; m, ok = h.Take(due) {
			got += string(m.Body)
		}
		if got != want {
			t.Errorf("drawn at %v: took %q, want %q", drawn, got, want)
		}
	}
	expect("d")
	drawn[2] = 12 // nearer entities are drawn at later ticks
	expect("b")
	drawn[1] = 11
	expect("ac")
	if m := h.Pop(); h.Len() != 0 || m.Body != nil {
		t.Errorf("Pop on an empty Hold: %+v", m)
	}

	shown := 0
	never := func(uint32, clock.Tick) bool { return false }
	for i := range 1000 {
		for !h.Put(Message{Tick: clock.Tick(i), Body: body(i)}) {
			if m := h.Pop(); m.Tick != clock.Tick(shown) {
				t.Fatalf("popped %d, want %d", m.Tick, shown)
			}
			shown++
		}
		if h.Len() > maxHoldMessages || h.bytes > maxHoldBytes {
			t.Fatalf("%d messages, %d bytes", h.Len(), h.bytes)
		}
		if _, ok := h.Take(never); ok {
			t.Fatal("took what is not due")
		}
	}
	if shown+h.Len() != 1000 {
		t.Errorf("%d shown, %d waiting, want 1000 in all", shown, h.Len())
	}
	if !new(Hold).Put(Message{Body: body(maxHoldBytes + 1)}) {
		t.Error("an empty Hold refused a message")
	}
}
