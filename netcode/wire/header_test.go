package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
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

var headers = []struct {
	name string
	h    Header
}{
	{"from a client, nothing but itself", Header{Session: 0x1234, Seq: 1, Stamp: 0xddccbbaa}},
	{"from a client, everything, all packets before arrived", Header{Session: 7, Seq: 65535, Stamp: 1,
		Elicits: true, Idle: true, Resync: true,
		HasAck: true, Ack: Ack{Latest: 0x0102, History: ^uint64(0)}, HasEcho: true, Echo: 0x000b0c00, EchoAt: 0x00012230}},
	{"one of the last 16 is missing", Header{Session: 7, Seq: 2, Stamp: 1, HasAck: true,
		Ack: Ack{Latest: 300, History: ^uint64(0) &^ (1 << 15)}}},
	{"one of the last 32 is missing", Header{Session: 7, Seq: 3, Stamp: 1, HasAck: true,
		Ack: Ack{Latest: 301, History: ^uint64(0) &^ (1 << 16)}}},
	{"one of the last 64 is missing", Header{Session: 7, Seq: 4, Stamp: 1, HasAck: true,
		Ack: Ack{Latest: 302, History: ^uint64(0) &^ (1 << 63)}}},
	{"nothing before arrived", Header{Session: 7, Seq: 5, Stamp: 1, HasAck: true, Ack: Ack{Latest: 303}}},
	{"from a server, at the nominal period", Header{Session: 7, Seq: 6, Stamp: 1, Elicits: true,
		Server: true, Tick: 0x01020304, Time: 0x05060708, NextDue: 5}},
	{"from a server whose tick is late", Header{Session: 7, Stamp: 90, Server: true, Heartbeat: true,
		Tick: 9, Time: 10, Period: 50 * time.Millisecond}},
	{"from a server, stretched tick, silent from here on", Header{Session: 7, Seq: 7, Stamp: 1, Server: true,
		Tick: 9, Time: 10, NextDue: Quiet, Period: 50 * time.Millisecond}},
	{"the longest", Header{Session: 0xffff, Seq: 0xffff, Stamp: 0xffffffff, Elicits: true, Idle: true,
		Resync: true, HasAck: true, Ack: Ack{Latest: 0xffff},
		HasEcho: true, Echo: 0xffffffff, EchoAt: 0xffffff, Server: true, Tick: 0xffffffff, Time: 0xffffffff,
		NextDue: Quiet, Period: MaxPeriod}},
}

// String says what differs from the zero Header.
func (h *Header) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "session %d seq %d stamp %d", h.Session, h.Seq, h.Stamp)
	for _, f := range []struct {
		set  bool
		name string
	}{{h.Heartbeat, "heartbeat"}, {h.Elicits, "elicits"}, {h.Idle, "idle"}, {h.Resync, "resync"}} {
		if f.set {
			b.WriteString(" " + f.name)
		}
	}
	if h.HasAck || h.Ack != (Ack{}) {
		fmt.Fprintf(&b, " ack %d history %016x", h.Ack.Latest, h.Ack.History)
	}
	if h.HasEcho || h.Echo != 0 || h.EchoAt != 0 {
		fmt.Fprintf(&b, " echo %d at %d", h.Echo, h.EchoAt)
	}
	if h.Server || h.Tick != 0 || h.Time != 0 || h.NextDue != 0 || h.Period != 0 {
		fmt.Fprintf(&b, " tick %d time %d next due %d period %v", h.Tick, h.Time, h.NextDue, h.Period)
	}
	return b.String()
}

// The bytes of headers, pinned. They change only together with docs/PROTOCOL.md and the version of
// the protocol.
func TestHeaderVectors(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Headers: name, bytes, and what they say.\n")
	for _, c := range headers {
		fmt.Fprintf(&b, "\n%s\n  %x\n  %v\n", c.name, c.h.Append(nil), &c.h)
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
		h, n, err := DecodeHeader(append(data, 0xaa))
		if err != nil || n != len(data) || h.String() != strings.TrimSpace(lines[2]) {
			t.Errorf("%s: decodes as %v in %d bytes, %v", lines[0], &h, n, err)
		}
	}
}

func TestHeaderPrefixes(t *testing.T) {
	longest := 0
	for _, c := range headers {
		b := c.h.Append(nil)
		longest = max(longest, len(b))
		for n := range b {
			if h, used, err := DecodeHeader(b[:n]); !errors.Is(err, ErrTruncated) || h != (Header{}) || used != 0 {
				t.Errorf("%s cut to %d of %d bytes: %v, %d, %v", c.name, n, len(b), &h, used, err)
			}
		}
	}
	if longest != MaxHeader {
		t.Errorf("the longest header has %d bytes, MaxHeader is %d", longest, MaxHeader)
	}
}

func TestMalformedHeaders(t *testing.T) {
	head := "00000000 00000000" // session to stamp
	for _, c := range []struct{ name, data, want string }{
		{"a width without an ack", "10" + head, "ack width 1 without an ack"},
		{"a width that says nothing", "14" + head + "0100 ffff", "ack history 0xffffffffffffffff in 2 bytes"},
		{"a width of 4 that 2 would do for", "24" + head + "0100 00ff ffff", "ack history 0xffffffffffffff00 in 4 bytes"},
		{"a width of 8 that 4 would do for", "34" + head + "0100 ffff 00ff ffffffff",
			"ack history 0xffffffffff00ffff in 8 bytes"},
		{"unknown bits beside the next due", "01" + head + "01000000 00000000 10", "next-due byte 0x10"},
		{"a heartbeat with a number", "01 0000 0100 00000000 01000000 00000000 40", "next-due byte 0x40"},
		{"a heartbeat that asks for an answer", "03" + head + "01000000 00000000 40", "next-due byte 0x40"},
		{"a heartbeat that promises", "01" + head + "01000000 00000000 45", "next-due byte 0x45"},
		{"a period of nothing", "01" + head + "01000000 00000000 80 000000", "tick period 0"},
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(c.data, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		h, n, err := DecodeHeader(b)
		if !errors.Is(err, ErrMalformed) || !strings.HasSuffix(err.Error(), c.want) || h != (Header{}) || n != 0 {
			t.Errorf("%s: %v, %d, %v; want %s", c.name, &h, n, err, c.want)
		}
	}
}

// What Append cannot say it says as nearly as it can.
func TestHeaderLimits(t *testing.T) {
	for _, c := range []struct{ period, want time.Duration }{
		{-time.Second, 0}, {999, 0}, {1999, 1000}, {MaxPeriod, MaxPeriod}, {MaxPeriod + 1, MaxPeriod}, {time.Hour, MaxPeriod},
	} {
		h := Header{Server: true, Period: c.period}
		if got, _, err := DecodeHeader(h.Append(nil)); err != nil || got.Period != c.want {
			t.Errorf("a period of %v arrives as %v, %v; want %v", c.period, got.Period, err, c.want)
		}
	}
	h := Header{Ack: Ack{Latest: 5}, Echo: 6, Tick: 7, NextDue: 8}
	if got, _, err := DecodeHeader(h.Append(nil)); err != nil || got != (Header{}) {
		t.Errorf("fields without their flags arrive: %v, %v", &got, err)
	}
}

func drawHeader(t *rapid.T) Header {
	flag := rapid.Bool()
	h := Header{Session: rapid.Uint16().Draw(t, "session"), Seq: Seq(rapid.Uint16().Draw(t, "seq")),
		Stamp:   clock.Stamp(rapid.Uint32().Draw(t, "stamp")),
		Elicits: flag.Draw(t, "elicits"), Idle: flag.Draw(t, "idle"), Resync: flag.Draw(t, "resync")}
	if h.HasAck = flag.Draw(t, "ack"); h.HasAck {
		h.Ack.Latest = Seq(rapid.Uint16().Draw(t, "latest"))
		h.Ack.History = rapid.Uint64().Draw(t, "history") | ^uint64(0)<<rapid.IntRange(0, 64).Draw(t, "all before")
	}
	if h.HasEcho = flag.Draw(t, "echo"); h.HasEcho {
		h.Echo, h.EchoAt = clock.Stamp(rapid.Uint32().Draw(t, "echo")),
			clock.Stamp(rapid.Uint32Range(0, 1<<24-1).Draw(t, "echo at"))
	}
	if h.Server = flag.Draw(t, "server"); !h.Server {
		h.Echo, h.EchoAt = h.Echo&0xffff0, h.EchoAt&0xffff0
	} else {
		h.Tick, h.Time = clock.Tick(rapid.Uint32().Draw(t, "tick")), clock.Stamp(rapid.Uint32().Draw(t, "time"))
		h.NextDue = Due(rapid.IntRange(0, 15).Draw(t, "due"))
		h.Period = time.Duration(rapid.IntRange(0, 1<<24-1).Draw(t, "period")) * time.Microsecond
	}
	return h
}

func TestHeaderRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHeader(t)
		b := h.Append([]byte{1, 2})
		tail := rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "tail")
		got, n, err := DecodeHeader(append(b[2:], tail...))
		if err != nil || n != len(b)-2 || got != h {
			t.Fatalf("%v arrives as %v in %d of %d bytes, %v", &h, &got, n, len(b)-2, err)
		}
		if SeqOf(b[2:]) != h.Seq {
			t.Fatalf("SeqOf gives %d", SeqOf(b[2:]))
		}
		stamp := clock.Stamp(rapid.Uint32().Draw(t, "patched stamp"))
		PatchStamp(b[2:], stamp)
		h.Stamp = stamp
		if got, _, err := DecodeHeader(b[2:]); err != nil || got != h {
			t.Fatalf("patched: %v, %v; want %v", &got, err, &h)
		}
	})
}

func TestShortDatagrams(t *testing.T) {
	for n := range 9 {
		b := bytes.Repeat([]byte{7}, n)
		PatchStamp(b, 1) // must not write beyond
		if n < 5 && SeqOf(b) != 0 || n >= 5 && SeqOf(b) != 0x0707 {
			t.Errorf("SeqOf of %d bytes is %#x", n, SeqOf(b))
		}
		if bytes.Count(b, []byte{7}) != n {
			t.Errorf("PatchStamp changed a datagram of %d bytes to %x", n, b)
		}
	}
	b := make([]byte, 9)
	if PatchStamp(b, 0x04030201); hex.EncodeToString(b) != "000000000001020304" {
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
			b := (&Header{HasEcho: true, Echo: at.Stamp(), EchoAt: at.Stamp()}).Append(nil)
			h, _, err := DecodeHeader(b)
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
// 16.78 s.
func TestArrival(t *testing.T) {
	const most = 1<<24 - 1
	for _, send := range []clock.Time{0, 1000, 20e9, 71*60e9 + 123456000, 3600e9 * 1000} {
		for _, held := range []int64{0, 1, 1000, most} {
			at := send - clock.Time(held*1000)
			h := Header{Server: true, EchoAt: at.Stamp() & most}
			if got := h.Arrival(send); got != at/1000*1000 {
				t.Errorf("arrived at %d, sent on at %d: computed %d", at, send, got)
			}
		}
	}
}

// FuzzDecodeHeader: whatever is decoded is encoded as the same bytes, so there is one encoding of
// each header.
func FuzzDecodeHeader(f *testing.F) {
	for _, c := range headers {
		f.Add(c.h.Append(nil))
	}
	f.Add([]byte{0x14, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, n, err := DecodeHeader(b)
		if err != nil {
			if !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrMalformed) || h != (Header{}) || n != 0 {
				t.Fatalf("%x: %v with %v, %d bytes", b, err, &h, n)
			}
			return
		}
		if n > MaxHeader {
			t.Fatalf("a header of %d bytes", n)
		}
		if again := h.Append(nil); !bytes.Equal(again, b[:n]) {
			t.Fatalf("decoded %x as %v, which encodes as %x", b[:n], &h, again)
		}
	})
}

func BenchmarkHeader(b *testing.B) {
	h := headers[6].h
	h.HasAck, h.Ack = true, Ack{Latest: 900, History: ^uint64(0) &^ 4}
	buf := make([]byte, 0, MaxHeader)
	data := h.Append(nil)
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			buf = h.Append(buf[:0])
		}
		b.ReportMetric(float64(len(data)), "wire-B/op")
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := DecodeHeader(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
