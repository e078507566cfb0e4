package packet_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// letter is a message with a property of each sort that messages have.
type letter struct {
	Title string    `net:"text,12"`
	At    geom.Vec2 `net:"pos,1cm"`
	Who   uint32    `net:"handle"`
	Since uint32    `net:"tick"`
	Sort  int       `net:"enum,note|offer"`
	Text  string    `net:"text,255"`
	Paid  bool      `net:"bool"`
}

func letterKind(t testing.TB) *schema.Kind {
	t.Helper()
	k, err := schema.NewMessage("letter", reflect.TypeFor[letter](), 30)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// letterOf returns the integers of a letter.
func letterOf(t testing.TB, k *schema.Kind, title, text string, ints ...int64) []int64 {
	t.Helper()
	vals := make([]int64, k.Sims)
	copy(vals[k.Props[1].At:], ints)
	k.Clamp(vals)
	for i, s := range map[int]string{0: title, 5: text} {
		if !k.Props[i].SetText(vals, []byte(s)) {
			t.Fatalf("%q is no text", s)
		}
	}
	return vals
}

func letterText(k *schema.Kind, vals []int64) string {
	ints := vals[k.Props[1].At:k.Props[5].At]
	return fmt.Sprintf(
		"%q %v %q %d",
		k.Props[0].AppendText(nil, vals),
		ints,
		k.Props[5].AppendText(nil, vals),
		vals[k.Props[6].At],
	)
}

func letters(t testing.TB, k *schema.Kind) map[string][]int64 {
	paid := letterOf(t, k, "re", "agreed", -250, 1200, 7, vectorTick-3, 1)
	paid[k.Props[6].At] = 1
	return map[string][]int64{
		"empty":       letterOf(t, k, "", ""),
		"a short one": letterOf(t, k, "hi", "żółw ✓", -250, 1200, 7, vectorTick-3, 1),
		"paid":        paid,
		"as long as can be": letterOf(
			t,
			k,
			strings.Repeat("x", 12),
			strings.Repeat("ab", 127)+"c",
			1<<30,
			-1<<30,
			math.MaxUint32,
			math.MaxUint32,
		),
		"of a tick in the past": letterOf(t, k, "", "x", 0, 0, 0, 1),
	}
}

func TestMessageVectors(t *testing.T) {
	k := letterKind(t)
	all := letters(t, k)
	var list []vector
	for _, name := range []string{"empty", "a short one", "paid", "as long as can be", "of a tick in the past"} {
		b := bitsOf(func(w *wire.BitWriter) { packet.AppendMessage(w, k, vectorTick, all[name]) })
		if len(b) > packet.MessageSize(k) {
			t.Errorf("%s: %d bytes, more than MessageSize %d", name, len(b), packet.MessageSize(k))
		}
		list = append(list, vector{name, hex.EncodeToString(b), letterText(k, all[name])})
	}
	head := "# Payloads of a message of tick 1000: name, bytes, and its properties, texts in quotes. The message, as " +
		"schema " +
		"text:\n# kind " + strings.ReplaceAll(
		strings.TrimSpace(k.Text()),
		"\n",
		"\n# ",
	) + "\n"
	check(t, "testdata/messages.txt", head, list, func(b []byte) (string, error) {
		vals := make([]int64, k.Sims)
		err := packet.DecodeMessage(b, k, vectorTick, vals)
		return letterText(k, vals), err
	})
}

func TestAnswerVectors(t *testing.T) {
	k := letterKind(t)
	vals := letters(t, k)["paid"]
	granted := bitsOf(func(w *wire.BitWriter) {
		w.Reset(packet.Request(255).AppendGranted(nil))
		packet.AppendMessage(w, k, vectorTick, vals)
	})
	list := []vector{
		{"granted", hex.EncodeToString(granted), "255 granted " + letterText(k, vals)},
		{"refused", hex.EncodeToString(packet.Request(0).AppendRefused(nil, "not now")), `0 refused "not now"`},
		{"refused, and no word", hex.EncodeToString(packet.Request(1).AppendRefused(nil, "\xff\x00")), `1 refused ""`},
	}
	head := "# Answers to requests: name, bytes, and the number of the request, with the payload, which is a message " +
		"of\n" +
		"# messages.txt, or the sentence.\n"
	check(t, "testdata/answers.txt", head, list, func(b []byte) (string, error) {
		number, payload, why, refused, err := packet.DecodeAnswer(b)
		if refused {
			return fmt.Sprintf("%d refused %q", number, why), err
		}
		got := make([]int64, k.Sims)
		if err == nil {
			err = packet.DecodeMessage(payload, k, vectorTick, got)
		}
		return fmt.Sprintf("%d granted %s", number, letterText(k, got)), err
	})
	long := packet.Request(1).AppendRefused(nil, strings.Repeat("ż", 100))
	if _, _, why, _, err := packet.DecodeAnswer(long); err != nil || why != strings.Repeat("ż", 80) {
		t.Errorf("%q, %v", why, err)
	}
}

// What ends too early or too late, and what is no text, is refused.
func TestMessageRefused(t *testing.T) {
	k := letterKind(t)
	vals := make([]int64, k.Sims)
	for name, of := range letters(t, k) {
		whole := bitsOf(func(w *wire.BitWriter) { packet.AppendMessage(w, k, 9, of) })
		for n := range whole {
			if packet.DecodeMessage(whole[:n], k, 9, vals) == nil {
				t.Errorf("%s: %d of %d bytes are enough", name, n, len(whole))
			}
		}
		if packet.DecodeMessage(append(bytes.Clone(whole), 0), k, 9, vals) == nil {
			t.Errorf("%s: a byte follows", name)
		}
	}
	for _, b := range []string{"\x01\xff", "\x01\x00", "\x0d" + strings.Repeat("x", 13), "\x02\xc5x"} {
		if packet.DecodeMessage(append([]byte(b), make([]byte, 40)...), k, 9, vals) == nil {
			t.Errorf("%q is a text", b)
		}
	}
	whole := packet.Request(3).AppendRefused(nil, "no")
	for n := range len(whole) - 1 {
		if _, _, _, _, err := packet.DecodeAnswer(whole[:n]); err == nil {
			t.Errorf("%d bytes are an answer", n)
		}
	}
	long := append([]byte{1, 1, 161}, bytes.Repeat([]byte("x"), 161)...)
	for _, b := range [][]byte{{1, 2}, {1, 1, 1, 0xff}, {1, 1, 1, 0}, {1, 1, 0, 'x'}, long} {
		if _, _, _, _, err := packet.DecodeAnswer(b); err == nil {
			t.Errorf("%x is an answer", b)
		}
	}
	if _, _, err := packet.DecodeRequest(nil); err == nil {
		t.Error("nothing is a request")
	}
}

// Whatever arrives is refused, or is a message that somebody could have sent.
func FuzzDecodeMessage(f *testing.F) {
	k := letterKind(f)
	for _, vals := range letters(f, k) {
		f.Add(bitsOf(func(w *wire.BitWriter) { packet.AppendMessage(w, k, 5, vals) }), uint32(5))
	}
	f.Fuzz(func(t *testing.T, b []byte, tick uint32) {
		vals := make([]int64, k.Sims)
		if packet.DecodeMessage(b, k, clock.Tick(tick), vals) != nil {
			return
		}
		clamped := slices.Clone(vals)
		if k.Clamp(clamped); !slices.Equal(clamped, vals) {
			t.Fatalf("values %v, which nobody sends", vals)
		}
		again := make([]int64, k.Sims)
		body := bitsOf(func(w *wire.BitWriter) { packet.AppendMessage(w, k, clock.Tick(tick), vals) })
		if err := packet.DecodeMessage(body, k, clock.Tick(tick), again); err != nil || !slices.Equal(again, vals) {
			t.Fatalf("%v becomes %v, %v", vals, again, err)
		}
	})
}

func FuzzDecodeAnswer(f *testing.F) {
	f.Add(packet.Request(3).AppendRefused(nil, "no"))
	f.Add(append(packet.Request(3).AppendGranted(nil), 1, 2, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		number, payload, why, refused, err := packet.DecodeAnswer(b)
		if err != nil {
			return
		}
		again := append(number.AppendGranted(nil), payload...)
		if refused {
			again = number.AppendRefused(nil, why)
		}
		if !bytes.Equal(again, b) {
			t.Fatalf("%x becomes %x", b, again)
		}
	})
}
