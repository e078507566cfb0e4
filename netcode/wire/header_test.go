package wire

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meanwhile/internal/verify/golden"
	"meanwhile/netcode/clock"
)

// seeds: S1
func TestNewer(t *testing.T) {
	for _, c := range []struct {
		a, b         Seq
		newer, older bool // a than b
	}{
		{0, 0, false, false},
		{1, 0, true, false},
		{0, 1, false, true},
		{32767, 0, true, false}, // 32767 apart: the most that has an order
		{32768, 0, false, false},
		{32769, 0, false, true}, // 32767 apart the other way
		{65535, 0, false, true},
		{0, 65535, true, false}, // across the wrap
		{65535, 65534, true, false},
		{0, 32768, false, false},
		{32768, 32767, true, false},
		{32767, 32768, false, true},
		{65535, 32767, false, false},
		{65535, 32768, true, false},
		{10, 65530, true, false},
		{65530, 10, false, true},
	} {
		if c.a.Newer(c.b) != c.newer || c.b.Newer(c.a) != c.older {
			t.Errorf("%d newer than %d: %v, the other way round %v; want %v, %v", c.a, c.b, c.a.Newer(c.b),
				c.b.Newer(c.a), c.newer, c.older)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a := Seq(rapid.Uint16().Draw(t, "a"))
		b := a + Seq(rapid.OneOf(rapid.Uint16(), rapid.SampledFrom([]uint16{0, 1, 32767, 32768, 32769, 65535})).Draw(t,
			"apart"))
		one, other := a.Newer(b), b.Newer(a)
		if unordered := a == b || a == b+1<<15; one && other || (one || other) == unordered {
			t.Fatalf("%d, %d: %v and %v", a, b, one, other)
		}
		if d := b - a; other != (d >= 1 && d < 1<<15) {
			t.Fatalf("%d is %d after %d, newer %v", b, d, a, other)
		}
	})
}

func TestDue(t *testing.T) {
	if Due(0).Span() != 0 || Quiet.Span() != 0 || Due(200).Span() != 0 {
		t.Error("no promise, silence and nonsense have a span")
	}
	last := time.Duration(0)
	for d := Due(1); d < Quiet; d++ {
		span := d.Span()
		if span <= last {
			t.Errorf("code %d spans %v, %d spans %v", d, span, d-1, last)
		}
		for _, c := range []struct {
			d    time.Duration
			want Due
		}{{span, d}, {last + 1, d}, {span - 1, d}} {
			if got := DueWithin(c.d); got != c.want {
				t.Errorf("DueWithin(%v) = %d, want %d", c.d, got, c.want)
			}
		}
		last = span
	}
	// 10 ms x 1.5^13 = 1946.2 ms: 15000 22500 33750 50625 75937 113905 170857 256285 384427 576640
	// 864960 1297440 1946160 us
	if last != 1946160*time.Microsecond {
		t.Errorf("the longest span is %v", last)
	}
	for _, d := range []time.Duration{-time.Hour, 0, 1} {
		if got := DueWithin(d); got != 1 {
			t.Errorf("DueWithin(%v) = %d", d, got)
		}
	}
	if got := DueWithin(time.Hour); got != 14 {
		t.Errorf("DueWithin(1h) = %d", got)
	}
}

// headers are pinned. known is what the reader is known to know, in what it does know.
var headers = []struct {
	name  string
	h     Header
	known Known
}{
	{"up, before anything arrived", Header{Seq: 1, Stamp: 0xddccbbaa, Elicits: true}, Known{}},
	{"up, all arrived", Header{Seq: 65535, Stamp: 1, Elicits: true, HasAck: true, Ack: acks(300)}, Known{Ack: 296}},
	{"up, nothing new arrived", Header{Seq: 2, Stamp: 1, HasAck: true, Ack: acks(300)}, Known{Ack: 300}},
	{"up, two of the four before are missing", Header{Seq: 3, Stamp: 1, HasAck: true, Ack: acks(301, 298, 300)},
		Known{Ack: 296}},
	{"up, everything", Header{Seq: 4, Stamp: 1, Elicits: true, Idle: true, Resync: true, HasAck: true,
		Ack: acks(302, 238), HasEcho: true, Echo: 0x000b0c00, EchoAt: 0x00012230}, Known{Ack: 0}},
	{"down, as most are", Header{Seq: 6, Stamp: 0x05060a08, Elicits: true, Server: true, Tick: 604, HasAck: true,
		Ack: acks(211), NextDue: 5}, Known{Tick: 596, Ack: 209}},
	{"down, with an echo", Header{Seq: 7, Stamp: 0x05060a08, Server: true, Tick: 604, HasAck: true, Ack: acks(211, 210),
		HasEcho: true, Echo: 0x112233, EchoAt: 0x445566, NextDue: 5}, Known{Tick: 596, Ack: 209}},
	{"down, after a long pause", Header{Seq: 8, Stamp: 0x05060a08, Server: true, Tick: 1800, HasAck: true,
		Ack: acks(400), NextDue: Quiet}, Known{Tick: 596, Ack: 209}},
	{"down, stretched ticks", Header{Seq: 9, Stamp: 20_060_000, Server: true, Tick: 600, HasTime: true,
		Time: 20_000_000, Period: 50 * time.Millisecond}, Known{Tick: 596}},
	{"down, ticks as usual again", Header{Seq: 10, Stamp: 20_060_000, Server: true, Tick: 601, HasTime: true,
		Time: 20_050_000, NextDue: 2}, Known{Tick: 596}},
	{"heartbeat", Header{Stamp: 90, Server: true, Heartbeat: true, HasTime: true, Tick: 9, Time: 10,
		Period: 50 * time.Millisecond}, Known{Tick: 8}},
	{"the longest", Header{Seq: 0x7ff0, Stamp: 0xfffffff0, Elicits: true, HasAck: true, Ack: Ack{Latest: 0x7fff},
		HasEcho: true, Echo: 0xffffff, EchoAt: 0xffffff, Server: true, Tick: 0xfffffffe, HasTime: true, Time: 0xfffffff0,
		NextDue: Quiet, Period: MaxPeriod}, Known{}},
}

// acks acknowledges latest and all before it but some.
func acks(latest Seq, missing ...Seq) Ack {
	a := Ack{Latest: latest, History: ^uint64(0)}
	for _, s := range missing {
		a.History &^= 1 << (latest - s - 1)
	}
	return a
}

// reader returns what reads the header of a server's packet and knows no more than known says.
func reader(known Known) *Incoming {
	in := NewIncoming(known.Tick, 0, 50*time.Millisecond)
	in.base.acked = known.Ack
	for i := range in.ring {
		in.ring[i] = in.base
	}
	return in
}

// bytesOf encodes a header.
func bytesOf(h *Header, known Known) []byte {
	var w BitWriter
	w.Reset(nil)
	h.Append(&w, known)
	return w.Bytes()
}

// decode reads a header of either direction and reports how many bits follow it.
func decode(b []byte, server bool, known Known, next Seq) (h Header, left int, err error) {
	var r BitReader
	if server {
		h, err = reader(known).Decode(&r, b)
	} else {
		h, err = DecodeUp(&r, b, next)
	}
	return h, r.Left(), err
}

// travels returns what of a header arrives at a reader that knows no more than known.
func (h Header) travels(known Known) Header {
	n := min(max(int(h.Ack.Latest-known.Ack)-1, 0), Window)
	h.Ack.History &= 1<<n - 1
	if !h.HasAck {
		h.Ack = Ack{}
	}
	if !h.HasEcho {
		h.Echo, h.EchoAt = 0, 0
	}
	if !h.Server {
		h.Stamp &= stampMask
		h.Echo, h.EchoAt = h.Echo&0xffff0, h.EchoAt&0xffff0
		h.Tick, h.Time, h.Period, h.NextDue, h.HasTime, h.Heartbeat = 0, 0, 0, 0, false, false
		return h
	}
	h.Idle, h.Resync = false, false
	if !h.HasTime {
		in := reader(known)
		h.Time, h.Period = in.time(&in.lines[0], h.Tick), 0
	}
	return h
}

// String says what differs from the zero Header.
func (h *Header) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seq %d stamp %d", h.Seq, h.Stamp)
	for _, f := range []struct {
		set  bool
		name string
	}{{h.Heartbeat, "heartbeat"}, {h.Elicits, "elicits"}, {h.Idle, "idle"}, {h.Resync, "resync"}} {
		if f.set {
			b.WriteString(" " + f.name)
		}
	}
	if h.HasAck {
		fmt.Fprintf(&b, " ack %d history %x", h.Ack.Latest, h.Ack.History)
	}
	if h.HasEcho {
		fmt.Fprintf(&b, " echo %d at %d", h.Echo, h.EchoAt)
	}
	if h.Server {
		fmt.Fprintf(&b, " tick %d time %d next due %d period %v", h.Tick, h.Time, h.NextDue, h.Period)
	}
	return b.String()
}

// The bytes of headers, pinned. They change only together with docs/PROTOCOL.md and the version of
// the protocol.
func TestHeaderVectors(t *testing.T) {
	var b strings.Builder
	b.WriteString(
		"# Headers: name, bytes, what a reader knows of tick and acknowledged number, and what they say to it.\n",
	)
	for _, c := range headers {
		h := c.h.travels(c.known)
		if c.h.Server && !c.h.HasTime {
			h.Stamp = h.Time - stampsBefore + (h.Stamp-h.Time+stampsBefore)&stampMask
		}
		fmt.Fprintf(&b, "\n%s\n  %x\n  knows tick %d, acknowledged %d\n  %v\n", c.name, bytesOf(&c.h, c.known),
			c.known.Tick, c.known.Ack, &h)
	}
	text := golden.Check(t, "testdata/headers.txt", b.String())
	for block := range strings.SplitSeq(text, "\n\n") {
		lines := strings.Split(block, "\n")
		if strings.HasPrefix(lines[0], "#") {
			continue
		}
		data, err := hex.DecodeString(strings.TrimSpace(lines[1]))
		if err != nil {
			t.Fatal(err)
		}
		var known Known
		if _, err := fmt.Sscanf(lines[2], "  knows tick %d, acknowledged %d", &known.Tick, &known.Ack); err != nil {
			t.Fatal(err)
		}
		h, left, err := decode(append(data, 0xaa), !strings.HasPrefix(lines[0], "up"), known, 303)
		if err != nil || left/8 != 1 || h.String() != strings.TrimSpace(lines[3]) {
			t.Errorf("%s: decodes as %v with %d bits left, %v", lines[0], &h, left, err)
		}
	}
}

// Most headers take 9 bytes down and 8 up, or less.
func TestMostHeadersAreShort(t *testing.T) {
	for name, most := range map[string]int{"up, all arrived": 8, "up, nothing new arrived": 8, "down, as most are": 9,
		"down, with an echo": 15, "down, after a long pause": 21, "heartbeat": 18} {
		i := slices.IndexFunc(headers, func(c struct {
			name  string
			h     Header
			known Known
		}) bool {
			return c.name == name
		})
		if n := len(bytesOf(&headers[i].h, headers[i].known)); n > most {
			t.Errorf("%s takes %d bytes, want %d", name, n, most)
		}
	}
}

func TestHeaderPrefixes(t *testing.T) {
	longest := 0
	for _, c := range headers {
		b := bytesOf(&c.h, c.known)
		longest = max(longest, len(b))
		for n := range b {
			if h, _, err := decode(b[:n], c.h.Server, c.known, 303); !errors.Is(err, ErrTruncated) || h != (Header{}) {
				t.Errorf("%s cut to %d of %d bytes: %v, %v", c.name, n, len(b), &h, err)
			}
		}
	}
	if longest != MaxHeader {
		t.Errorf("the longest header has %d bytes, MaxHeader is %d", longest, MaxHeader)
	}
}

// Datagrams that no sender of ours writes are refused, each for what is wrong with it.
func TestMalformedHeaders(t *testing.T) {
	write := func(fields ...uint64) []byte { // value, bits
		var w BitWriter
		w.Reset(nil)
		w.Bits(0, stampBits+seqBits)
		for i := 0; i < len(fields); i += 2 {
			w.Bits(fields[i], int(fields[i+1]))
		}
		w.Bits(0, 32)
		return w.Bytes()
	}
	for _, c := range []struct {
		name   string
		server bool
		data   []byte
	}{
		{"up, 65 acknowledgements", false, write(0, 3, 1, 1, 0, upAckBits, 0b01111, 5, 65+4-64, 6)},
		{"up, missing ones, of which none is missing", false, write(0, 3, 1, 1, 0, upAckBits, 0b110, 3, 1, 1, 7, 3)},
		{"down, a period of nothing", true, write(0, 2, 0, 7, 0, 2, 1, 1, 0, 33, 1, 1, 0, 24)},
		{"a heartbeat with an ack", true, write(2, 2, 9, 32, 1, 1, 1, 16, 0, 3, 0, 1, 3, 2, 0, 32, 0, 1)},
		{"a heartbeat that asks for an answer", true, write(3, 2, 9, 32, 0, 2, 3, 2, 0, 32, 0, 1)},
		{"a heartbeat that promises", true, write(2, 2, 9, 32, 0, 2, 3, 2, 0, 32, 0, 1, 5, 4)},
		{"a heartbeat whose tick is cut", true, write(0, 2, 9, 7, 0, 2, 3, 2, 0, 32, 0, 1)},
		{"a tick before the newest", true, bytesOf(&Header{Server: true, Seq: 1, Tick: 499, HasTime: true}, Known{})},
		{"the same tick", true, bytesOf(&Header{Server: true, Seq: 1, Tick: 500, HasTime: true}, Known{})},
		{"an older number acknowledged", true, bytesOf(&Header{Server: true, Seq: 1, Tick: 900, HasTime: true,
			HasAck: true, Ack: acks(99)}, Known{})},
	} {
		h, _, err := decode(c.data, c.server, Known{Tick: 500, Ack: 100}, 1)
		if !errors.Is(err, ErrMalformed) || h != (Header{}) {
			t.Errorf("%s: %v, %v", c.name, &h, err)
		}
	}
	if h, _, err := decode(bytesOf(&Header{Server: true, Seq: 1, Tick: 1<<32 - 1, HasTime: true}, Known{}), true,
		Known{Tick: 1<<32 - 2}, 1); err != nil || h.Tick != 1<<32-1 {
		t.Errorf("the last tick: %v, %v", &h, err)
	}
	if h, _, err := decode(bytesOf(&Header{Server: true, Seq: 1, Tick: 3, HasTime: true}, Known{}), true,
		Known{Tick: 1<<32 - 2}, 1); !errors.Is(err, ErrMalformed) {
		t.Errorf("a tick beyond the last: %v, %v", &h, err)
	}
}

// What Append cannot say it says as nearly as it can.
func TestHeaderLimits(t *testing.T) {
	for _, c := range []struct{ period, want time.Duration }{
		{-time.Second, 0}, {999, 0}, {1999, 1000}, {MaxPeriod, MaxPeriod}, {MaxPeriod + 1, MaxPeriod}, {time.Hour, MaxPeriod},
	} {
		h := Header{Server: true, Seq: 1, Tick: 1, HasTime: true, Period: c.period}
		if got, _, err := decode(bytesOf(&h, Known{}), true, Known{}, 1); err != nil || got.Period != c.want {
			t.Errorf("a period of %v arrives as %v, %v; want %v", c.period, got.Period, err, c.want)
		}
	}
	h := Header{Ack: Ack{Latest: 5}, Echo: 6, Tick: 7, NextDue: 8}
	if got, _, err := decode(bytesOf(&h, Known{}), false, Known{}, 1); err != nil || got != (Header{}) {
		t.Errorf("fields without their flags arrive: %v, %v", &got, err)
	}
}

func drawHeader(t *rapid.T) Header {
	flag := rapid.Bool()
	h := Header{Seq: Seq(rapid.Uint16Range(1, 1<<15-1).Draw(t, "seq")),
		Stamp:   clock.Stamp(rapid.Uint32().Draw(t, "stamp")),
		Elicits: flag.Draw(t, "elicits"), Idle: flag.Draw(t, "idle"), Resync: flag.Draw(t, "resync")}
	if h.HasAck = flag.Draw(t, "ack"); h.HasAck {
		h.Ack.Latest = Seq(rapid.Uint16().Draw(t, "latest"))
		h.Ack.History = rapid.Uint64().Draw(t, "history") | ^uint64(0)<<rapid.IntRange(0, 64).Draw(t, "all before")
	}
	if h.HasEcho = flag.Draw(t, "echo"); h.HasEcho {
		h.Echo = clock.Stamp(rapid.Uint32Range(0, 1<<24-1).Draw(t, "echo"))
		h.EchoAt = clock.Stamp(rapid.Uint32Range(0, 1<<24-1).Draw(t, "echo at"))
	}
	if h.Server = flag.Draw(t, "server"); h.Server {
		h.Tick = clock.Tick(rapid.Uint32Range(1, 1<<32-1).Draw(t, "tick"))
		h.NextDue = Due(rapid.IntRange(0, 15).Draw(t, "due"))
		if h.HasTime = flag.Draw(t, "time"); h.HasTime {
			h.Time = clock.Stamp(rapid.Uint32().Draw(t, "at"))
			h.Period = time.Duration(rapid.IntRange(0, 1<<24-1).Draw(t, "period")) * time.Microsecond
		}
	}
	return h
}

// Whatever the reader is known to know, a header arrives as it was, but for what it need not say.
func TestHeaderRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHeader(t)
		back := rapid.OneOf(rapid.Uint32Range(0, 140), rapid.Uint32())
		known := Known{Tick: h.Tick - 1 - clock.Tick(min(back.Draw(t, "tick known"), uint32(max(h.Tick, 1)-1))),
			Ack: h.Ack.Latest - Seq(back.Draw(t, "ack known")%(1<<15))}
		want := h.travels(known)
		if h.Server { // the edge stamps it soon
			h.Stamp = want.Time - stampsBefore + h.Stamp&stampMask
			want.Stamp = h.Stamp
		}
		b := bytesOf(&h, known)
		tail := rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "tail")
		got, left, err := decode(append(b, tail...), h.Server, known, h.Ack.Latest+1)
		if err != nil || left/8 != len(tail) || got != want {
			t.Fatalf("%v arrives as %v with %d bits left, %v; want %v", &h, &got, left, err, &want)
		}
		if SeqOf(b) != h.Seq || StampOf(b) != h.Stamp&stampMask {
			t.Fatalf("SeqOf gives %d, StampOf %d", SeqOf(b), StampOf(b))
		}
		PatchStamp(b, h.Stamp+1000)
		if StampOf(b) != (h.Stamp+1000)&stampMask || SeqOf(b) != h.Seq {
			t.Fatalf("patched to %d: %x", h.Stamp+1000, b)
		}
	})
}

// A tick or a number is written in full as soon as its low bits would not do.
func TestNearFieldsToTheirLimit(t *testing.T) {
	short := 0
	for apart := 1; apart < 300; apart++ {
		h := Header{Server: true, Seq: 1, Tick: 5000 + clock.Tick(apart), HasAck: true, Ack: acks(700)}
		b := bytesOf(&h, Known{Tick: 5000, Ack: 700})
		got, _, err := decode(b, true, Known{Tick: 5000, Ack: 700}, 1)
		if err != nil || got.Tick != h.Tick || (len(b) < 10) != (apart <= 128) {
			t.Errorf("%d ticks apart: %v in %d bytes, %v", apart, &got, len(b), err)
		}
		h.Tick, h.Ack = 5001, acks(700+Seq(apart))
		b = bytesOf(&h, Known{Tick: 5000, Ack: 700})
		if got, _, err = decode(b, true, Known{Tick: 5000, Ack: 700}, 1); err != nil || got.Ack.Latest != h.Ack.Latest {
			t.Errorf("%d numbers apart: %v, %v", apart, &got, err)
		}
		if len(b) < 13 {
			short++
		}
	}
	if short != 127 {
		t.Errorf("%d numbers are short, want 127", short)
	}
}

func TestShortDatagrams(t *testing.T) {
	for n := range LeadSize {
		b := slices.Repeat([]byte{7}, n)
		PatchStamp(b, 1) // must not write beyond
		if SeqOf(b) != 0 || n < seqOffset && StampOf(b) != 0 || n >= seqOffset && StampOf(b) != 1 {
			t.Errorf("SeqOf of %d bytes is %#x, StampOf %#x", n, SeqOf(b), StampOf(b))
		}
	}
	b := make([]byte, LeadSize)
	if PatchStamp(b, 0x04030201); hex.EncodeToString(b) != "0102030000" {
		t.Errorf("patched: %x", b)
	}
}

// A client's echo is right to 16 us: the stamp, if the packet was stamped at most 1.04 s after it
// was encoded, and its arrival, if it was held for less than MaxEchoHold.
func TestClientEcho(t *testing.T) {
	const us = clock.Time(time.Microsecond)
	for _, sent := range []clock.Time{0, 1000, 20e9 + 7, 71*60e9 + 123456000, 3600e9 * 1000} {
		for _, d := range []clock.Time{0, 16 * us, 1000 * us, 250_000 * us, 1_040_000 * us} {
			at := sent + d
			h, _, err := decode(bytesOf(&Header{HasEcho: true, Echo: at.Stamp(), EchoAt: at.Stamp()}, Known{}), false,
				Known{}, 1)
			if err != nil {
				t.Fatal(err)
			}
			if got := h.Echoed(sent - 16*us); got > at || at-got >= 17*us {
				t.Errorf("encoded at %d, stamped at %d: computed %d", sent, at, got)
			}
			if got := h.Arrival(at + d); got > at || at-got >= 17*us {
				t.Errorf("arrived at %d, sent on at %d: computed %d", at, at+d, got)
			}
		}
	}
}

// The arrival of an echoed stamp of a server is right as long as it was held for less than 2^24 us =
// 16.78 s, and the stamp itself as long as the packet left so long after it was encoded.
func TestServerEcho(t *testing.T) {
	const most = 1<<24 - 1
	for _, send := range []clock.Time{0, 1000, 20e9, 71*60e9 + 123456000, 3600e9 * 1000} {
		for _, held := range []int64{0, 1, 1000, most} {
			at := send - clock.Time(held*1000)
			h := Header{Server: true, EchoAt: at.Stamp() & most, Echo: send.Stamp() & most}
			if got := h.Arrival(send); got != at/1000*1000 {
				t.Errorf("arrived at %d, sent on at %d: computed %d", at, send, got)
			}
			if got := h.Echoed(at); got != send/1000*1000 {
				t.Errorf("encoded at %d, left at %d: computed %d", at, send, got)
			}
		}
	}
}

// FuzzDecodeHeader: whatever a reader makes of bytes, it is a header that arrives as it is, and
// nothing it knows changes.
func FuzzDecodeHeader(f *testing.F) {
	for _, c := range headers {
		f.Add(bytesOf(&c.h, c.known), c.h.Server, uint32(c.known.Tick), uint16(c.known.Ack))
	}
	f.Fuzz(func(t *testing.T, b []byte, server bool, tick uint32, acked uint16) {
		known := Known{Tick: clock.Tick(tick), Ack: Seq(acked)}
		h, left, err := decode(b, server, known, known.Ack+10)
		if err != nil {
			if !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrDuplicate) ||
				h != (Header{}) {
				t.Fatalf("%x: %v with %v", b, err, &h)
			}
			return
		}
		if n := len(b) - left/8; n > MaxHeader {
			t.Fatalf("a header of %d bytes", n)
		}
		again, _, err := decode(bytesOf(&h, Known{Ack: h.Ack.Latest - Window - 1}), server, known, known.Ack+10)
		if again.Ack.History &= h.Ack.History; err != nil || again != h {
			t.Fatalf("decoded %x as %v, which arrives as %v, %v", b, &h, &again, err)
		}
	})
}

func BenchmarkHeader(b *testing.B) {
	c := &headers[5]
	var w BitWriter
	buf := make([]byte, 0, MaxHeader)
	data := bytesOf(&c.h, c.known)
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			w.Reset(buf)
			c.h.Append(&w, c.known)
			w.Bytes()
		}
		b.ReportMetric(float64(len(data)), "wire-B/op")
	})
	b.Run("decode", func(b *testing.B) {
		in := reader(c.known)
		var r BitReader
		for b.Loop() {
			if _, err := in.Decode(&r, data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
