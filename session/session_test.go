package session

import (
	"bytes"
	"encoding/hex"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"meanwhile/internal/verify/golden"
	"meanwhile/netcode/clock"
)

var (
	hello = Hello{
		Schema: 0x0123456789abcdef,
		Nonce:  [KeySize]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
		Resume: [KeySize]byte{0xff, 15: 0xee},
		Guest:  [KeySize]byte{0xaa, 15: 0xbb},
		Kept:   true,
		Watch:  true,
		Room:   "lobby",
		Name:   "Zoë 🎈",
		Token:  []byte{0xde, 0xad, 0xbe, 0xef},
		Code:   "7f212K",
	}
	welcome = Welcome{
		Session: 7, Player: 42, Tick: 1000, ServerTime: clock.Time(16_666_666_667), Period: time.Second / 60,
		SendRate: 20, Seed: 0xfeedfacecafebeef, History: 256, BudgetDown: 64_000, BudgetUp: 32_000,
		Resume: [KeySize]byte{9, 8, 7}, Grace: 30 * time.Second, Resumed: true, Kept: true, Late: 10 * time.Second,
		Room: "lobby", Game: "arena",
	}
	refusal = Refusal{Code: WrongSchema, Text: "this server plays arena 2", SchemaText: "Avatar\n\tPos\t1/256mm\n"}
)

// message is what all messages have in common, for tests that treat them alike.
type message interface {
	Append([]byte) ([]byte, error)
}

var vectors = []struct {
	name   string
	m      message
	decode func([]byte) (message, error)
}{
	{"hello", hello, decodeHello},
	{"hello-empty", Hello{}, decodeHello},
	{"welcome", welcome, decodeWelcome},
	{"welcome-least", Welcome{Period: 1}, decodeWelcome},
	{"refusal", refusal, decodeRefusal},
	{"refusal-empty", Refusal{}, decodeRefusal},
	{"limits", Limits{BudgetDown: 13_000, SendRate: 6}, decodeLimits},
	{"farewell", Farewell{In: 15 * time.Second, To: "https://eu2.example/", Text: "This server restarts."},
		decodeFarewell},
	{"follow", Follow{Entity: 0x1234}, decodeFollow},
}

func decodeHello(b []byte) (message, error)   { return DecodeHello(b) }
func decodeWelcome(b []byte) (message, error) { return DecodeWelcome(b) }
func decodeRefusal(b []byte) (message, error) { return DecodeRefusal(b) }
func decodeLimits(b []byte) (message, error)  { return DecodeLimits(b) }

func decodeFarewell(b []byte) (message, error) { return DecodeFarewell(b) }

func decodeFollow(b []byte) (message, error) { return DecodeFollow(b) }

func mustEncode(t testing.TB, m message) []byte {
	t.Helper()
	b, err := m.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGolden(t *testing.T) {
	for _, v := range vectors {
		path := filepath.Join("testdata", v.name+".hex")
		got := mustEncode(t, v.m)
		text := golden.Check(t, path, dump(got))
		kept, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		m, err := v.decode(kept)
		if err != nil || !reflect.DeepEqual(m, v.m) {
			t.Errorf("%s decodes as %+v, %v", v.name, m, err)
		}
	}
}

// dump writes b as hexadecimal digits, 16 bytes on a line.
func dump(b []byte) string {
	var s strings.Builder
	for len(b) > 0 {
		n := min(16, len(b))
		s.WriteString(hex.EncodeToString(b[:n]) + "\n")
		b = b[n:]
	}
	return s.String()
}

func TestEveryPrefixIsRefused(t *testing.T) {
	for _, v := range vectors {
		b := mustEncode(t, v.m)
		for n := range b {
			m, err := v.decode(b[:n])
			if !errors.Is(err, ErrTruncated) {
				t.Errorf("%s cut to %d of %d bytes: %v", v.name, n, len(b), err)
			}
			if zero := reflect.New(reflect.TypeOf(m)).Elem().Interface(); !reflect.DeepEqual(m, zero) {
				t.Errorf("%s cut to %d bytes leaves %+v", v.name, n, m)
			}
		}
		if _, err := v.decode(append(b, 0)); err == nil || !strings.Contains(err.Error(), "1 bytes follow") {
			t.Errorf("%s with a byte too many: %v", v.name, err)
		}
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	b, err := hello.Append([]byte("xyz"))
	if err != nil || string(b[:3]) != "xyz" || !bytes.Equal(b[3:], mustEncode(t, hello)) {
		t.Fatalf("%x, %v", b, err)
	}
}

func TestBounds(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		name string
		m    message
		want string // part of the error; empty: fine
	}{
		{"name at its bound", Hello{Name: long(MaxName)}, ""},
		{"name over it", Hello{Name: long(MaxName + 1)}, "name is 49 bytes long, over the bound of 48"},
		{"room over", Hello{Room: long(MaxRoom + 1)}, "room is 65"},
		{"token at its bound", Hello{Token: make([]byte, MaxToken)}, ""},
		{"token over", Hello{Token: make([]byte, MaxToken+1)}, "token is 1025"},
		{"code at its bound", Hello{Code: long(MaxCode)}, ""},
		{"code over", Hello{Code: long(MaxCode + 1)}, "code is 33"},
		{"a length that wraps 16 bits", Hello{Token: make([]byte, 65536+4)}, "token is 65540"},
		{"broken UTF-8", Hello{Name: "a\xff"}, "name is not valid UTF-8"},
		{"control character", Hello{Name: "a\x1b[31m"}, "name holds the control character U+001B at byte 1"},
		{"the last C0 control character", Hello{Name: "a\x1f"}, "U+001F at byte 1"},
		{"a space", Hello{Name: "a b"}, ""},
		{"the character before DEL", Hello{Name: "~"}, ""},
		{"DEL", Hello{Name: "a\x7f"}, "U+007F at byte 1"},
		{"the first C1 control character", Hello{Name: "a\u0080"}, "U+0080"},
		{"C1 control character", Hello{Name: "a\u0085"}, "U+0085"},
		{"the last C1 control character", Hello{Name: "a\u009f"}, "U+009F"},
		{"the character after C1", Hello{Name: "a\u00a0b"}, ""},
		{"line feed in a name", Hello{Name: "a\nb"}, "U+000A"},
		{"line feed in a text", Refusal{Text: "a\nb"}, ""},
		{"period 0", Welcome{}, "period 0s is outside [1ns, 10s]"},
		{"period over", Welcome{Period: 11 * time.Second}, "period 11s"},
		{"delay over", Welcome{Period: 1, Late: 11 * time.Minute}, "delay 11m"},
		{"grace negative", Welcome{Period: 1, Grace: -1}, "grace -1ns"},
		{"schema at its bound", Refusal{Text: long(MaxText), SchemaText: long(MaxSchemaText)}, ""},
		{"schema over", Refusal{SchemaText: long(MaxSchemaText + 1)}, "schema text is 4097"},
	} {
		b, err := c.m.Append(nil)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			if len(b) > MaxMessage {
				t.Errorf("%s: %d bytes, over MaxMessage %d", c.name, len(b), MaxMessage)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// The decoder holds the same bounds against a peer that does not.
func TestDecodeRefusesWhatAppendWould(t *testing.T) {
	const name = 2 + 8 + 16 + 16 + 16 + 1 + 1 + 2 // offset of the length of Name when Room is empty
	for _, c := range []struct {
		name, want string
		bend       func() []byte
	}{
		{"long name", "name is 49 bytes long", func() []byte {
			b := mustEncode(t, Hello{})
			b[name] = MaxName + 1
			return append(b, make([]byte, 60)...)
		}},
		{"broken UTF-8", "name is not valid UTF-8", func() []byte {
			b := mustEncode(t, Hello{Name: "ab"})
			b[name+2] = 0xc0
			return b
		}},
		{"control character", "U+0007", func() []byte {
			b := mustEncode(t, Hello{Name: "ab"})
			b[name+2] = 7
			return b
		}},
		{"period beyond all bounds", "period", func() []byte {
			b := mustEncode(t, Welcome{Period: 1})
			b[2+2+4+4+8+7] = 0x7f
			return b
		}},
		{"flag 2", "resumed is 2", func() []byte {
			b := mustEncode(t, Welcome{Period: 1})
			b[len(b)-14] = 2
			return b
		}},
		{"other kind", "message is of kind 2, want 1", func() []byte { return mustEncode(t, Welcome{Period: 1}) }},
	} {
		b := c.bend()
		var err error
		if KindOf(b) == KindHello || c.name == "other kind" {
			_, err = DecodeHello(b)
		} else {
			_, err = DecodeWelcome(b)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestVersions(t *testing.T) {
	b := mustEncode(t, hello)
	b[1] = 9
	var v *VersionError
	if _, err := DecodeHello(b); !errors.As(err, &v) || v.Got != 9 || v.Want != Version {
		t.Errorf("hello of version 9: %v", err)
	}
	b = mustEncode(t, refusal)
	b[1] = 9
	if r, err := DecodeRefusal(b); err != nil || r != refusal {
		t.Errorf("a refusal of version 9 must be readable: %+v, %v", r, err)
	}
	if KindOf(nil) != 0 || KindOf(b) != KindRefusal {
		t.Error("KindOf")
	}
}

func TestDecodeDoesNotRetain(t *testing.T) {
	b := mustEncode(t, hello)
	h, err := DecodeHello(b)
	clear(b)
	if err != nil || !reflect.DeepEqual(h, hello) {
		t.Fatalf("%+v, %v", h, err)
	}
}

func TestRefusalIsAnError(t *testing.T) {
	if s := refusal.Error(); s != "session: refused: wrong schema: this server plays arena 2" {
		t.Error(s)
	}
	for c := Malformed; c <= InternalError; c++ {
		if s := c.String(); s == "" || strings.HasPrefix(s, "code") {
			t.Errorf("code %d has no name", c)
		}
	}
	if s := Code(999).String(); s != "code 999" {
		t.Error(s)
	}
}

func fuzz(f *testing.F, decode func([]byte) (message, error)) {
	for _, v := range vectors {
		f.Add(mustEncode(f, v.m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decode(b) // refusing is fine, panicking is not
		if err != nil {
			return
		}
		again, err := m.Append(nil)
		if err != nil {
			t.Fatalf("decoded %x as %+v, which does not encode: %v", b, m, err)
		}
		if KindOf(b) == KindRefusal {
			again[1] = b[1] // the version of a refusal is not kept
		}
		if !bytes.Equal(again, b) {
			t.Fatalf("decoded %x as %+v, which encodes as %x", b, m, again)
		}
	})
}

func FuzzDecodeHello(f *testing.F)   { fuzz(f, decodeHello) }
func FuzzDecodeWelcome(f *testing.F) { fuzz(f, decodeWelcome) }
func FuzzDecodeRefusal(f *testing.F) { fuzz(f, decodeRefusal) }
func FuzzDecodeLimits(f *testing.F)  { fuzz(f, decodeLimits) }

func FuzzDecodeFarewell(f *testing.F) { fuzz(f, decodeFarewell) }

func FuzzDecodeFollow(f *testing.F) { fuzz(f, decodeFollow) }
