package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

func limit(n int) func() int { return func() int { return n } }

func TestFrames(t *testing.T) {
	var stream []byte
	messages := []string{"", "a", "hello", strings.Repeat("x", 1000)}
	for _, m := range messages {
		stream = AppendFrame(stream, []byte(m))
	}
	if want := []byte{0, 0, 0, 0, 1, 0, 0, 0, 'a', 5, 0, 0, 0, 'h'}; !bytes.HasPrefix(stream, want) {
		t.Fatalf("stream begins with %x, want %x", stream[:len(want)], want)
	}
	r := bytes.NewReader(stream)
	for _, m := range messages {
		if got, err := ReadFrame(r, limit(1000)); err != nil || string(got) != m {
			t.Fatalf("%q, %v; want %q", got, err, m)
		}
	}
	if _, err := ReadFrame(r, limit(1000)); err != io.EOF {
		t.Error(err)
	}
	// Cut anywhere, a stream ends with EOF between frames and with an error inside them.
	for n := range stream {
		r := bytes.NewReader(stream[:n])
		whole := 0
		for _, m := range messages {
			if _, err := ReadFrame(r, limit(1000)); err == nil {
				whole += frameHeader + len(m)
			} else if want := map[bool]error{true: io.EOF, false: io.ErrUnexpectedEOF}[whole == n]; err != want {
				t.Fatalf("cut to %d bytes: %v, want %v", n, err, want)
			} else {
				break
			}
		}
	}
	if _, err := ReadFrame(bytes.NewReader(stream), limit(0)); err != nil {
		t.Error(err)
	}
	if _, err := ReadFrame(bytes.NewReader(stream[frameHeader:]), limit(0)); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add(AppendFrame(nil, []byte("hello")))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		for {
			m, err := ReadFrame(r, limit(MaxMessage))
			if err != nil {
				return
			}
			if at := len(b) - r.Len(); !bytes.Equal(AppendFrame(nil, m), b[at-len(m)-frameHeader:at]) {
				t.Fatalf("%x read as %x", b, m)
			}
		}
	})
}

// The mailbox against the obvious: a list of which only the last two are kept.
func TestMailbox(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMailbox()
		var (
			waiting, dropped []wire.Seq
			buf              []byte
			seq              wire.Seq
		)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				seq++
				if displaced := m.put(datagram(seq)); displaced != (len(waiting) == Mailbox) {
					t.Fatalf("displaced %v with %d waiting", displaced, len(waiting))
				}
				if waiting = append(waiting, seq); len(waiting) > Mailbox {
					dropped, waiting = append(dropped, waiting[0]), waiting[1:]
				}
			},
			"take": func(t *rapid.T) {
				b, ok := m.take(buf)
				if buf = b; ok != (len(waiting) > 0) {
					t.Fatalf("took %v with %d waiting", ok, len(waiting))
				}
				if ok {
					if !bytes.Equal(b, datagram(waiting[0])) {
						t.Fatalf("took %x, want %d", b, waiting[0])
					}
					waiting = waiting[1:]
				}
			},
			"reports": func(t *rapid.T) {
				want := dropped[max(0, len(dropped)-DropReports):]
				if got := m.reports(nil); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("reports %v, want %v", got, want)
				}
				dropped = nil
			},
		})
	})
}

func TestOrigins(t *testing.T) {
	listed := Origins{"https://Play.example", "http://localhost:*", "http://[::1]:8080"}
	for _, c := range []struct {
		list         Origins
		origin, host string
		want         bool
	}{
		{nil, "", "game.example:4433", true},                      // not a page
		{nil, "https://game.example", "game.example:4433", false}, // a name can be made to lead here
		{nil, "https://192.0.2.7:8443", "192.0.2.7:4433", true},
		{nil, "https://192.0.2.7", "192.0.2.70", false},
		{nil, "http://[2001:db8::1]", "[2001:db8::1]", true},
		{Origins{"self", "https://game.example:*"}, "https://game.example", "game.example:4433", true},
		{nil, "http://localhost:8080", "localhost:4433", true},
		{nil, "http://LOCALHOST:8080", "localhost", true},
		{nil, "http://[::1]:8080", "[::1]:4433", true},
		{nil, "http://localhost:8080", "127.0.0.1:4433", false},
		{nil, "https://evil.example", "game.example", false},
		{nil, "https://game.example.evil.example", "game.example", false},
		{nil, "null", "game.example", false},
		{Origins{}, "https://game.example", "game.example", false},
		{Origins{}, "", "game.example", true},
		{listed, "https://play.example", "127.0.0.1:1", true},
		{listed, "https://play.example:444", "127.0.0.1:1", false},
		{listed, "http://play.example", "127.0.0.1:1", false},
		{listed, "http://localhost:1234", "127.0.0.1:1", true},
		{listed, "http://localhost", "127.0.0.1:1", true},
		{listed, "https://localhost:1234", "127.0.0.1:1", false},
		{listed, "http://localhost.evil.example:1234", "127.0.0.1:1", false},
		{listed, "http://[::1]:8080", "127.0.0.1:1", true},
		{listed, "http://[::1]:8081", "127.0.0.1:1", false},
		{listed, "http://localhost:*", "127.0.0.1:1", true}, // no browser has such a page
		{Origins{"*"}, "null", "127.0.0.1:1", true},
		{Origins{"*"}, "https://any.example", "127.0.0.1:1", true},
		{listed, "http://user@localhost:1", "127.0.0.1:1", false},
		{listed, "http://localhost:1/path", "127.0.0.1:1", false},
	} {
		if got := c.list.Allow(c.origin, c.host); got != c.want {
			t.Errorf("%q: page %q at %q: %v, want %v", c.list, c.origin, c.host, got, c.want)
		}
	}
}

func TestGate(t *testing.T) {
	synctest.Test(t, testGate)
}

func testGate(t *testing.T) {
	var out []string
	enter := func(g *Gate, addr string, want bool) *Visitor {
		t.Helper()
		v, ok := g.Enter(addr)
		if ok != want {
			t.Fatalf("%s: %v, want %v, with %d inside", addr, ok, want, g.Visitors())
		}
		if ok {
			v.Ends(func() { out = append(out, addr) })
		}
		time.Sleep(time.Millisecond)
		return v
	}
	gone := func(want ...string) {
		t.Helper()
		if fmt.Sprint(out) != fmt.Sprint(want) {
			t.Errorf("%v were put out, want %v", out, want)
		}
		out = nil
	}
	g := NewGate(9, 4)
	first := enter(g, "203.0.113.1:1", true)
	enter(g, "203.0.113.1:2", true)
	if !g.Crowded("203.0.113.1:9") || g.Crowded("203.0.114.2:9") || g.Hurried() {
		t.Error("two of an address's four places taken are a crowd, none is not")
	}
	first.Leave()
	first.Leave() // once is enough
	enter(g, "203.0.113.1:3", true)
	enter(g, "203.0.113.1:4", true)
	enter(g, "203.0.113.1:5", false)          // too soon
	enter(g, "[::ffff:203.0.113.1]:1", false) // the same address in IPv6 clothes
	time.Sleep(EntryRefill / 2)
	gone()
	for i := range 4 {
		enter(g, fmt.Sprintf("[2001:db8:1:2:%d::1]:1", i), true)
	}
	time.Sleep(EntryRefill / 2)
	enter(g, "[2001:db8:1:2:abcd::9]:1", true) // the same /64: in place of its oldest, after too long
	gone("203.0.113.1:2", "203.0.113.1:3", "203.0.113.1:4", "[2001:db8:1:2:0::1]:1")

	// A full gate: the oldest of the largest network goes, never one of a small network.
	out = nil
	g = NewGate(6, 4)
	enter(g, "198.51.100.1:1", true)
	for i := range 3 {
		enter(g, fmt.Sprintf("203.0.113.%d:1", i), true)
	}
	enter(g, "[2001:db8:1:1::1]:1", true)
	enter(g, "[2001:db8:1:2::1]:1", true)
	last := enter(g, "192.0.2.1:1", true)
	gone("203.0.113.0:1")
	enter(g, "192.0.2.2:1", true) // all networks but one have two now: the oldest of them goes
	gone("203.0.113.1:1")
	if refused, put := g.Counts(); refused != 0 || put != 2 || g.Visitors() != 6 || !g.Hurried() {
		t.Errorf("%d refused, %d put out, %d inside", refused, put, g.Visitors())
	}
	last.Leave()
	enter(g, "192.0.2.1:2", true)
	gone()
	// Who is slow in a crowd goes first.
	time.Sleep(CrowdedHelloTimeout)
	enter(g, "192.0.2.9:1", true)
	if len(out) != 4 || g.Visitors() != 3 { // until it is no crowd any more
		t.Errorf("%v were put out, %d are inside", out, g.Visitors())
	}

	// All networks of a /48 are one, as they commonly have one owner.
	g = NewGate(4, 4)
	out = nil
	enter(g, "198.51.100.1:1", true)
	enter(g, "203.0.113.1:1", true)
	enter(g, "[2001:db8:1:1::1]:1", true)
	enter(g, "[2001:db8:1:2::1]:1", true)
	enter(g, "192.0.2.1:1", true)
	gone("[2001:db8:1:1::1]:1")
	g = NewGate(4, 4)
	enter(g, "[2001:db8:1::1]:1", true)
	enter(g, "[2001:db8:2::1]:1", true) // another owner
	enter(g, "203.0.113.1:1", true)
	enter(g, "203.0.113.2:1", true)
	enter(g, "192.0.2.1:1", true)
	gone("203.0.113.1:1")

	// Connections that do not end although they were put out are bounded too.
	g = NewGate(5, 2)
	var all []*Visitor
	for range 10 {
		all = append(all, enter(g, "127.0.0.1:1", true)) // the machine itself is bounded by the whole only
	}
	enter(g, "127.0.0.1:1", false)
	if refused, _ := g.Counts(); refused != 1 {
		t.Errorf("%d were refused, want 1", refused)
	}
	all[0].Leave()
	enter(g, "127.0.0.1:1", true)
	late := false
	all[1].Ends(func() { late = true })
	if !late {
		t.Error("who was put out before it had a connection stays")
	}
	g = NewGate(5, 2)
	enter(g, "nonsense", true)
	enter(g, "more nonsense", true)
	enter(g, "and more", false)
	if g := NewGate(0, -1); g.most != MaxVisitors || g.mostPerAddress != MaxVisitorsPerAddress {
		t.Error(g)
	}
}

// An address that connects again and again gets in at a bounded rate, and does not delay others.
func TestExpectedVisitorsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(40, 20)
		out := map[string]int{}
		enter := func(addr string) {
			t.Helper()
			v, ok := g.Enter(addr)
			if !ok {
				t.Fatalf("%s is refused", addr)
			}
			host := addr[:strings.LastIndex(addr, ":")]
			v.Ends(func() { out[host]++; v.Leave() })
		}
		network := 0
		crowd := func(n int) {
			for range n {
				network++
				enter(fmt.Sprintf("198.%d.%d.1:1", 18+network>>8&1, network&255))
			}
		}
		crowd(40)
		enter("203.0.113.7:1") // a stranger of a small network is put out once it is the oldest
		crowd(80)
		if out["203.0.113.7"] != 1 {
			t.Errorf("put out: %v", out)
		}
		const grace = 30 * time.Second
		for _, a := range []string{"203.0.113.8", "203.0.113.9", "203.0.113.10"} {
			g.Expect(netip.MustParseAddr(a), grace)
			for range ExpectedPerAddress + 1 {
				enter(a + ":1")
			}
		}
		time.Sleep(CrowdedHelloTimeout) // who is slow goes first, the expected ones excepted
		crowd(200)
		// A quarter of the places: 8 of the first address, 2 of the next, none of the last.
		if out["203.0.113.8"] != 1 || out["203.0.113.9"] != 7 || out["203.0.113.10"] != 9 || g.Visitors() != 40 {
			t.Errorf("put out: %d, %d and %d of 9; %d inside", out["203.0.113.8"], out["203.0.113.9"], out["203.0.113.10"],
				g.Visitors())
		}
		time.Sleep(grace)
		enter("203.0.113.10:1")
		crowd(80)
		if out["203.0.113.10"] != 10 {
			t.Error("an address is expected for longer than it was said")
		}

		// Memory stays bounded, and those whose time is over make place.
		for i := range 2 * MaxExpected {
			g.Expect(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), grace)
		}
		if len(g.known) != MaxExpected {
			t.Errorf("%d addresses are expected, want %d", len(g.known), MaxExpected)
		}
		time.Sleep(grace)
		g.Expect(netip.MustParseAddr("203.0.113.8"), grace)
		if len(g.known) != 1 {
			t.Errorf("%d addresses are expected, want 1", len(g.known))
		}
	})
}

func TestGateBoundsEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(0, 0)
		in := 0
		for range 10_000 { // ten seconds
			if v, ok := g.Enter("203.0.113.1:1"); ok {
				in++
				v.Leave()
			}
			time.Sleep(time.Millisecond)
		}
		if want := MaxVisitorsPerAddress + MaxVisitorsPerAddress*int(10*time.Second)/int(EntryRefill); in < want-1 ||
			in > want+1 {
			t.Errorf("%d entries in ten seconds, want %d", in, want)
		}
		if !g.Crowded("203.0.113.1:2") || g.Crowded("203.0.113.2:1") {
			t.Error("the pushy one need not prove its address, or another must")
		}
		if _, ok := g.Enter("203.0.113.2:1"); !ok {
			t.Error("another address does not get in")
		}
		time.Sleep(time.Minute)
		if g.Crowded("203.0.113.1:2") {
			t.Error("never forgiven")
		}
	})
}

func TestGateForgetsAddresses(t *testing.T) {
	g := NewGate(10, 0)
	for i := range 10_000 {
		v, ok := g.Enter(fmt.Sprintf("203.0.%d.%d:1", i/256, i%256))
		if !ok {
			t.Fatal(i)
		}
		v.Leave()
	}
	if len(g.by)+len(g.nets) != 0 {
		t.Errorf("%d addresses remembered", len(g.by))
	}
}

// When an Intake has closed, every connection's Done is closed.
func TestIntakeOutlivesItsConnections(t *testing.T) {
	for range 2000 {
		in := NewIntake()
		var l *Link
		if err := in.Join(LinkConfig{Clock: func() clock.Time { return 0 }}, func(cfg LinkConfig) (*Link, error) {
			f := newFake()
			l = NewLink(cfg, f, f.read)
			return l, nil
		}); err != nil {
			t.Fatal(err)
		}
		in.Close("over")
		select {
		case <-l.Done():
		default:
			t.Fatal("Close returned before the connection had ended")
		}
	}
}

func TestCutReason(t *testing.T) {
	for in, want := range map[string]string{
		"":                                     "",
		"short":                                "short",
		strings.Repeat("x", 200):               strings.Repeat("x", MaxReason),
		strings.Repeat("x", MaxReason-1) + "é": strings.Repeat("x", MaxReason-1),
		"a\xffb":                               "a\ufffdb",
	} {
		if got := CutReason(in); got != want || !utf8.ValidString(got) {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestCloseErrorText(t *testing.T) {
	for want, e := range map[string]CloseError{
		"transport: closed here":                 {},
		"transport: closed here: tired":          {Reason: "tired"},
		"transport: closed by the peer: go away": {Reason: "go away", Remote: true},
		"transport: closed by the peer":          {Remote: true},
		"transport: closed here: EOF after 3":    {Reason: "EOF after 3", Cause: io.EOF},
	} {
		if e.Error() != want || !errors.Is(&e, ErrClosed) || errors.Is(&e, io.EOF) != (e.Cause != nil) {
			t.Errorf("%q, want %q", e.Error(), want)
		}
	}
}

// A client may be as far ahead of its rate as Allowance says, once; after a pause again.
func TestPace(t *testing.T) {
	const rate = 240
	most := rate * int(Allowance/time.Second)
	for _, start := range []clock.Time{0, -clock.Time(time.Hour), clock.Time(time.Hour)} {
		var p Pace
		now := start
		for i := range most {
			if p.Over(now, 1, rate) {
				t.Fatalf("from %v: number %d of %d at once is too many", start, i, most)
			}
		}
		if !p.Over(now, 1, rate) {
			t.Errorf("from %v: %d at once are not too many", start, most+1)
		}
		now = now.Add(2 * Allowance)
		for range most {
			now = now.Add(time.Second / rate)
			if p.Over(now, 1, rate) {
				t.Fatalf("from %v: an even rate is too much", start)
			}
		}
	}
}

// A measured carrier says how many packets came.
type measured struct {
	*fake
	packets uint64
}

func (m *measured) Measure(s *Stats) { s.PacketsReceived = m.packets }

// Packets count whatever is in them.
func TestPacketFlood(t *testing.T) {
	in := NewIntake()
	m := &measured{fake: newFake()}
	var now clock.Time
	var l *Link
	err := in.Join(LinkConfig{Clock: func() clock.Time { return now }, Visitor: true},
		func(cfg LinkConfig) (*Link, error) {
			l = NewLink(cfg, m, m.fake.read)
			return l, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	for range 60 { // a minute as fast as allowed
		m.packets += ClientPackets
		now = now.Add(time.Second)
		in.CheckPackets()
	}
	if err := l.Err(); err != nil {
		t.Fatal(err)
	}
	m.packets += ClientPackets * (1 + uint64(Allowance/time.Second))
	in.CheckPackets()
	if err := l.Err(); err == nil || !strings.Contains(err.Error(), TooManyPackets) {
		t.Errorf("the flood ends with %v", err)
	}
	in.Close("")
}

// Who shares one of its two counters with others who did too much may go on.
func TestRatesOfManyKeys(t *testing.T) {
	r := NewRates[int](1, time.Hour)
	const n = 512
	for key := range n {
		r.Take(key)
	}
	refused := 0
	for key := range n {
		if r.Take(key) {
			t.Fatalf("key %d may twice", key)
		}
		if !r.Take(n + key) {
			refused++
		}
	}
	if refused > 45 { // about 16 of them share both; with one counter each about 90 would share it
		t.Errorf("%d of %d keys are refused for what others did", refused, n)
	}
}
