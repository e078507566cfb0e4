package packet_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"meanwhile/geom"
	"meanwhile/internal/verify/golden"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// bitsOf returns the bytes that write writes.
func bitsOf(write func(w *wire.BitWriter)) []byte {
	var w wire.BitWriter
	w.Reset(nil)
	write(&w)
	return bytes.Clone(w.Bytes())
}

func readerOf(b []byte) *wire.BitReader {
	r := &wire.BitReader{}
	r.Reset(b)
	return r
}

// A vector is a named message: its bytes and what they say. check holds a file of vectors: what the
// encoder writes, and that the bytes in the file are read as the text beside them.
type vector struct{ name, bytes, text string }

func check(t *testing.T, file, head string, vectors []vector, read func(b []byte) (string, error)) {
	t.Helper()
	var b strings.Builder
	b.WriteString(head)
	for _, v := range vectors {
		fmt.Fprintf(&b, "\n%s\n  %s\n  %s\n", v.name, v.bytes, v.text)
	}
	for block := range strings.SplitSeq(golden.Check(t, file, b.String()), "\n\n") {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		if strings.HasPrefix(lines[0], "#") {
			continue
		}
		data, err := hex.DecodeString(strings.TrimSpace(lines[1]))
		if err != nil {
			t.Fatal(err)
		}
		whole := string(data)
		if got, err := read(data); err != nil || got != strings.TrimSpace(lines[2]) {
			t.Errorf("%s: read as %q, %v; want %q", lines[0], got, err, strings.TrimSpace(lines[2]))
		}
		for n := range len(whole) {
			if got, err := read([]byte(whole[:n])); err == nil {
				t.Errorf("%s: the first %d of %d bytes are read as %q", lines[0], n, len(whole), got)
			}
		}
	}
}

func uplinkText(u packet.Uplink) string { return fmt.Sprintf("away %v sparse %v", u.Away, u.Sparse) }

func TestUplinkVectors(t *testing.T) {
	var list []vector
	for _, u := range []packet.Uplink{{}, {Away: true}, {Sparse: true}, {Away: true, Sparse: true}} {
		name := strings.TrimSpace(strings.Repeat("away ", btoi(u.Away)) + strings.Repeat("sparse", btoi(u.Sparse)))
		if name == "" {
			name = "neither"
		}
		list = append(list, vector{name, hex.EncodeToString(bitsOf(u.Append)), uplinkText(u)})
	}
	head := "# What a client's datagram says before its commands: name, the two bits in a byte, and what they say.\n"
	check(t, "testdata/uplinks.txt", head, list, func(b []byte) (string, error) {
		r := readerOf(b)
		u := packet.DecodeUplink(r)
		if r.Bad() {
			return "", wire.ErrTruncated
		}
		return uplinkText(u), nil
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

const vectorTick = 1000

func feedbackText(f packet.Feedback, form packet.FeedbackForm) string {
	slack := "none"
	if f.HasSlack {
		slack = fmt.Sprint(f.Slack)
	}
	text := fmt.Sprintf("acked %d slack %s starved %d", f.Acked, slack, f.Starved)
	if form.Queued {
		text += fmt.Sprintf(" ran %d", f.Ran)
	}
	if form.Events {
		text += fmt.Sprintf(" events %d", f.Events)
	}
	for _, x := range f.Receipts.List[:f.Receipts.N] {
		if text += fmt.Sprintf("; shot of %d same %v", x.Tick, x.Same); !x.Same {
			text += fmt.Sprintf(" reason %d hit %v target %d at %v", x.Reason, x.Hit, x.Target, x.At)
		}
	}
	return text
}

func TestFeedbackVectors(t *testing.T) {
	for _, file := range []struct {
		name, where string
		packet.FeedbackForm
	}{
		{"feedback", "", packet.FeedbackForm{}},
		{"feedback-queued", ", where commands are queued", packet.FeedbackForm{Queued: true}},
		{"feedback-events", ", in a game with events", packet.FeedbackForm{Events: true}},
		{"feedback-queued-events", ", where commands are queued, in a game with events",
			packet.FeedbackForm{Queued: true, Events: true}},
		{"feedback-shots", ", in a game whose commands have a press", packet.FeedbackForm{Shoots: true}},
	} {
		var list []vector
		for _, c := range []struct {
			name string
			f    packet.Feedback
		}{
			{"nothing arrived yet", packet.Feedback{}},
			{"all commands up to the present", packet.Feedback{Acked: vectorTick, Ran: vectorTick}},
			{"commands ahead of the present, one of them by three ticks and a half", packet.Feedback{Acked: 1004,
				HasSlack: true, Slack: 56, Ran: 1003}},
			{"one came two ticks late, and two ticks starved", packet.Feedback{Acked: 998, HasSlack: true, Slack: -32,
				Starved: 2, Ran: 995, Events: 7}},
			{"the player's commands stay away", packet.Feedback{Acked: 880, Starved: 15, Ran: 870}},
			{"the most that is reported", packet.Feedback{Acked: 1, HasSlack: true, Slack: packet.MaxSlack, Ran: 1}},
			{"the least that is reported", packet.Feedback{Acked: 1128, HasSlack: true, Slack: -packet.MaxSlack,
				Ran: 1128, Events: 15}},
		} {
			if !file.Queued {
				c.f.Ran = 0
			}
			if file.Shoots {
				c.f.Receipts = someReceipts(len(list))
			}
			b := bitsOf(func(w *wire.BitWriter) { c.f.Append(w, vectorTick, file.FeedbackForm) })
			list = append(list, vector{c.name, hex.EncodeToString(b), feedbackText(c.f, file.FeedbackForm)})
		}
		head := "# The feedback in a server's datagram of tick 1000" + file.where +
			": name, bytes, and what they say.\n"
		check(t, "testdata/"+file.name+".txt", head, list, func(b []byte) (string, error) {
			r := readerOf(b)
			f := packet.DecodeFeedback(r, vectorTick, file.FeedbackForm)
			if r.Bad() {
				return "", wire.ErrTruncated
			}
			return feedbackText(f, file.FeedbackForm), nil
		})
	}
}

// The longest receipts have MaxReceiptBytes.
func TestMaxReceiptBytes(t *testing.T) {
	long := packet.Feedback{}
	l := &long.Receipts
	for range packet.MaxReceipts {
		const far = 1 << 62 // At is cut
		l.List[l.N] = packet.Receipt{Tick: math.MaxUint32, Target: math.MaxUint32, At: [3]int64{far, -far, far}}
		l.N++
	}
	var w wire.BitWriter
	size := func(f *packet.Feedback) int {
		w.Reset(nil)
		f.Append(&w, 0, packet.FeedbackForm{Shoots: true})
		return w.Len()
	}
	if n := (size(&long) - size(&packet.Feedback{}) + 1 + 7) / 8; n != packet.MaxReceiptBytes {
		t.Errorf("the longest receipts have %d bytes, MaxReceiptBytes is %d", n, packet.MaxReceiptBytes)
	}
}

// someReceipts returns up to packet.MaxReceipts receipts.
func someReceipts(n int) (l packet.Receipts) {
	all := []packet.Receipt{
		{Tick: vectorTick, Same: true},
		{Tick: 990, Reason: 2, Hit: true, Target: 7, At: [3]int64{1250, -830, 0}},
		{Tick: 1003, Target: math.MaxUint32, At: [3]int64{-1, 1_000_000_000, -1_000_000_000}},
		{Tick: 1, Reason: 15},
	}
	l.N = min(n, len(all))
	copy(l.List[:l.N], all)
	return l
}

// What lies beyond the limits is cut to them, by the writer and by the reader.
func TestFeedbackBeyondItsLimits(t *testing.T) {
	f := packet.Feedback{Acked: 5, HasSlack: true, Slack: packet.MaxSlack + 1, Starved: packet.StarvedRange + 3,
		Events: packet.EventsRange + 2}
	form := packet.FeedbackForm{Events: true}
	got := packet.DecodeFeedback(readerOf(bitsOf(func(w *wire.BitWriter) { f.Append(w, 9, form) })), 9, form)
	if want := (packet.Feedback{Acked: 5, HasSlack: true, Slack: packet.MaxSlack, Starved: 3, Events: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, back := range []int64{10, 1 << 50, -1 << 50} {
		b := bitsOf(func(w *wire.BitWriter) {
			w.Bool(true)
			w.Varint(back, 4)
			w.Bool(true)
			w.Varint(back, 5)
			w.Bits(0, 4)
			w.Bool(true)
			w.Varint(back, 3)
		})
		r := readerOf(b)
		got := packet.DecodeFeedback(r, 9, packet.FeedbackForm{Queued: true})
		want := packet.Feedback{HasSlack: true, Slack: int(min(max(back, -packet.MaxSlack), packet.MaxSlack))}
		if back < 0 {
			want.Acked, want.Ran = math.MaxUint32, math.MaxUint32
		}
		if got != want || r.Bad() {
			t.Errorf("%d ticks back: %+v, want %+v", back, got, want)
		}
	}
}

func TestSpawnedVectors(t *testing.T) {
	type spawned struct {
		settled bool
		oldest  clock.Tick
	}
	var list []vector
	for _, c := range []struct {
		name string
		spawned
		text string
	}{
		{"settled", spawned{true, 0}, "spawned 1000 settled true"},
		{"not settled, and nothing that its commands spawned is lacking", spawned{false, 0}, "spawned 1000 settled false"},
		{"what the command of this tick spawned is lacking", spawned{false, vectorTick}, "spawned 999 settled false"},
		{"what that of 40 ticks ago spawned is lacking", spawned{false, vectorTick - 40}, "spawned 959 settled false"},
		{"what a queued command to come spawned is lacking", spawned{false, vectorTick + 9}, "spawned 999 settled false"},
		{"what the first command spawned is lacking", spawned{false, 1}, "spawned 0 settled false"},
	} {
		b := bitsOf(func(w *wire.BitWriter) {
			packet.AppendSpawned(w, vectorTick, c.settled, c.oldest)
			if n := packet.SpawnedBits(vectorTick, c.oldest); w.Len() > n {
				t.Errorf("%s: %d bits, promised were %d", c.name, w.Len(), n)
			}
		})
		list = append(list, vector{c.name, hex.EncodeToString(b), c.text})
	}
	head := "# What a server's datagram of tick 1000 says of what it does not mention: name, bytes, and up to which " +
		"command " +
		"the client knows\n# what its commands spawned, of those up to tick 1000.\n"
	check(t, "testdata/spawned.txt", head, list, func(b []byte) (string, error) {
		r := readerOf(b)
		spawned, settled := packet.DecodeSpawned(r, vectorTick, vectorTick)
		if r.Bad() {
			return "", wire.ErrTruncated
		}
		return fmt.Sprintf("spawned %d settled %v", spawned, settled), nil
	})
}

func FuzzDecodeSpawned(f *testing.F) {
	for _, oldest := range []clock.Tick{0, 1, 480, 500, 509} {
		f.Add(bitsOf(func(w *wire.BitWriter) { packet.AppendSpawned(w, 500, false, oldest) }), uint32(500), uint32(490))
	}
	f.Fuzz(func(t *testing.T, b []byte, tick, newest uint32) {
		r := readerOf(b)
		spawned, settled := packet.DecodeSpawned(r, clock.Tick(tick), clock.Tick(newest))
		if spawned > clock.Tick(newest) || settled && spawned != clock.Tick(newest) {
			t.Fatalf("%x: spawned up to %d of %d, settled %v", b, spawned, newest, settled)
		}
	})
}

func FuzzDecodeFeedback(f *testing.F) {
	for _, x := range []packet.Feedback{
		{}, {Acked: 7, HasSlack: true, Slack: -40, Starved: 9}, {Acked: 900, Ran: 3, Events: 9},
	} {
		for _, queued := range []bool{false, true} {
			for shots := range packet.MaxReceipts + 1 {
				form := packet.FeedbackForm{Queued: queued, Events: queued, Shoots: shots > 0}
				if shots > 0 {
					x.Receipts = someReceipts(shots - 1)
				}
				f.Add(bitsOf(func(w *wire.BitWriter) { x.Append(w, 500, form) }), uint32(500), queued, queued, shots > 0)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, tick uint32, queued, events, shoots bool) {
		r, form := readerOf(b), packet.FeedbackForm{Queued: queued, Events: events, Shoots: shoots}
		x := packet.DecodeFeedback(r, clock.Tick(tick), form)
		if r.Bad() {
			return
		}
		again := bitsOf(func(w *wire.BitWriter) { x.Append(w, clock.Tick(tick), form) })
		if y := packet.DecodeFeedback(readerOf(again), clock.Tick(tick), form); y != x {
			t.Fatalf("%+v becomes %+v", x, y)
		}
	})
}

func FuzzDecodeUplink(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte{3})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := readerOf(b)
		u := packet.DecodeUplink(r)
		if r.Bad() != (len(b) == 0) {
			t.Fatalf("%x: bad %v", b, r.Bad())
		}
		if !r.Bad() && bitsOf(u.Append)[0] != b[0]&3 {
			t.Fatalf("%x is read as %+v", b, u)
		}
	})
}

// splash is an event with a property of each sort that events have.
type splash struct {
	At    geom.Vec2 `net:"pos,1cm"`
	Who   uint32    `net:"handle"`
	Since uint32    `net:"tick"`
	Loud  float64   `net:"float,0.25,0..8"`
	Sort  int       `net:"int,-3..9"`
	Wet   bool      `net:"bool"`
	Cry   string    `net:"text,6"`
}

func splashKind(t testing.TB) *schema.Kind {
	t.Helper()
	k, err := schema.New("splash", reflect.TypeFor[splash](), 30)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestEventVectors(t *testing.T) {
	k := splashKind(t)
	var list []vector
	for _, c := range []struct {
		name string
		vals []int64
	}{
		{"everything zero", []int64{0, 0, 0, 0, 0, 0, 0, 0, 0}},
		{"a small one", []int64{-250, 1200, 7, vectorTick - 3, 5, -2, 1, 'a', 'h'}},
		{"at the bounds", []int64{math.MaxInt32 / 10, math.MinInt32 / 10, math.MaxUint32, math.MaxUint32, 32, 9, 1,
			'o', 'h'}},
	} {
		vals := append(c.vals, make([]int64, max(k.Sims-len(c.vals), 0))...)[:k.Sims]
		k.Clamp(vals)
		b := bitsOf(func(w *wire.BitWriter) { packet.AppendEvent(w, k, vectorTick, vals) })
		list = append(list, vector{c.name, hex.EncodeToString(b), fmt.Sprint(vals)})
	}
	head := "# Payloads of an event of tick 1000: name, bytes, and the integers of its properties. " +
		"The event, as schema text:\n# kind " +
		strings.ReplaceAll(strings.TrimSpace(k.Text()), "\n", "\n# ") + "\n"
	check(t, "testdata/events.txt", head, list, func(b []byte) (string, error) {
		vals := make([]int64, k.Sims)
		err := packet.DecodeEvent(b, k, vectorTick, vals)
		return fmt.Sprint(vals), err
	})
}

// Whatever arrives is refused, or is an event that the rules could have emitted.
func FuzzDecodeEvent(f *testing.F) {
	k := splashKind(f)
	vals := make([]int64, k.Sims)
	f.Add(bitsOf(func(w *wire.BitWriter) { packet.AppendEvent(w, k, 5, vals) }), uint32(5))
	for i := range vals {
		vals[i] = int64(i * 7)
	}
	k.Clamp(vals)
	f.Add(bitsOf(func(w *wire.BitWriter) { packet.AppendEvent(w, k, 5, vals) }), uint32(5))
	f.Fuzz(func(t *testing.T, b []byte, tick uint32) {
		vals := make([]int64, k.Sims)
		if err := packet.DecodeEvent(b, k, clock.Tick(tick), vals); err != nil {
			if !errors.Is(err, wire.ErrTruncated) {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		clamped := slices.Clone(vals)
		if k.Clamp(clamped); !slices.Equal(clamped, vals) {
			t.Fatalf("values %v, which no rules emit", vals)
		}
		again := make([]int64, k.Sims)
		body := bitsOf(func(w *wire.BitWriter) { packet.AppendEvent(w, k, clock.Tick(tick), vals) })
		if err := packet.DecodeEvent(body, k, clock.Tick(tick), again); err != nil || !slices.Equal(again, vals) {
			t.Fatalf("%v becomes %v, %v", vals, again, err)
		}
	})
}

func decodeHeartbeat(b []byte) (packet.Heartbeat, error) {
	var r wire.BitReader
	h, err := wire.NewIncoming(0, 0, time.Millisecond).Decode(&r, b)
	if err != nil {
		return packet.Heartbeat{}, err
	}
	return packet.HeartbeatOf(&h, &r)
}

func heartbeatText(h packet.Heartbeat) string {
	return fmt.Sprintf("stamp %d tick %d time %d period %v", h.Stamp, h.Tick, h.Time, h.Period)
}

func TestHeartbeatVectors(t *testing.T) {
	var list []vector
	for _, c := range []struct {
		name string
		h    packet.Heartbeat
	}{
		{"at the nominal period", packet.Heartbeat{Stamp: 20_060_000, Tick: 600, Time: 20_000_000}},
		{"at a stretched period", packet.Heartbeat{Stamp: 5, Tick: 1<<32 - 1, Time: 1<<32 - 1,
			Period: 40 * time.Millisecond}},
	} {
		list = append(list, vector{c.name, hex.EncodeToString(c.h.Append(nil)), heartbeatText(c.h)})
	}
	check(t, "testdata/heartbeats.txt", "# Heartbeats: name, bytes, and what they say.\n", list,
		func(b []byte) (string, error) {
			h, err := decodeHeartbeat(b)
			return heartbeatText(h), err
		})
}

func TestDecodeHeartbeatRefuses(t *testing.T) {
	h := packet.Heartbeat{Tick: 600}
	if _, err := decodeHeartbeat(append(h.Append(nil), 0)); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("a heartbeat with a body: %v", err)
	}
	header := wire.Header{Seq: 1, Server: true, Tick: 1}
	var w wire.BitWriter
	w.Reset(nil)
	header.Append(&w, wire.Known{})
	if _, err := decodeHeartbeat(w.Bytes()); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("an ordinary header: %v", err)
	}
}

func FuzzDecodeHeartbeat(f *testing.F) {
	f.Add((&packet.Heartbeat{Tick: 600}).Append(nil))
	f.Add((&packet.Heartbeat{Stamp: 4, Tick: 5, Time: 6, Period: time.Millisecond}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHeartbeat(b)
		if err != nil {
			if !errors.Is(err, wire.ErrTruncated) && !errors.Is(err, wire.ErrMalformed) &&
				!errors.Is(err, wire.ErrDuplicate) {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		if again := h.Append(nil); !bytes.Equal(again, b) {
			t.Fatalf("%x is read as %+v, which encodes as %x", b, h, again)
		}
	})
}
