package lobby

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"meanwhile/internal/verify/golden"
	"meanwhile/netcode/wire"
)

// places are what the vectors encode.
var places = []struct {
	name string
	p    Place
}{
	{"where player 1 appeared", Place{User: 1, X: 0, Y: 0}},
	{"the first step of player 3", Place{User: 3, Seq: 1, X: 1.5, Y: -2.25}},
	{"the last number before the wrap", Place{User: 255, Seq: 65535, X: 1024.125, Y: 0.1}},
	{"after the wrap", Place{User: 255, Seq: 0, X: -0.5, Y: 16777216}},
	{"far out and close by", Place{User: 200, Seq: 0x1234, X: math.MaxFloat32, Y: math.SmallestNonzeroFloat32}},
}

// The vectors pin the bytes of places and messages.
//
// seeds: S8
func TestPlaceVectors(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Places: name, the 11 bytes of the place, the 16 of its message, and what they say.\n")
	for _, c := range places {
		fmt.Fprintf(
			&b,
			"\n%s\n  %x\n  %x\n  user %d seq %d x %v y %v\n",
			c.name,
			c.p.Append(nil),
			c.p.AppendMessage(nil),
			c.p.User,
			c.p.Seq,
			c.p.X,
			c.p.Y,
		)
	}
	text := golden.Check(t, "testdata/places.txt", b.String())
	blocks := strings.Split(text, "\n\n")[1:]
	for i, block := range blocks {
		lines := strings.Split(block, "\n")
		for j, decode := range []func([]byte) (Place, int, error){DecodePlace, DecodeMessage} {
			data, err := hex.DecodeString(strings.TrimSpace(lines[1+j]))
			if err != nil || len(data) != [...]int{PlaceBytes, MessageBytes}[j] {
				t.Fatalf("%s: %d bytes, %v", lines[0], len(data), err)
			}
			if p, n, err := decode(append(data, 0xaa)); p != places[i].p || n != len(data) || err != nil {
				t.Errorf("%s: decodes as %+v in %d bytes, %v", lines[0], p, n, err)
			}
			if p, n, err := decode(data); p != places[i].p || n != len(data) || err != nil {
				t.Errorf("%s, nothing behind it: decodes as %+v in %d bytes, %v", lines[0], p, n, err)
			}
			for cut := range data {
				if p, n, err := decode(data[:cut]); p != (Place{}) || n != 0 || !errors.Is(err, wire.ErrTruncated) {
					t.Errorf("%s cut to %d bytes: %+v, %d, %v", lines[0], cut, p, n, err)
				}
			}
		}
	}
	if len(blocks) != len(places) {
		t.Errorf("%d vectors, want %d", len(blocks), len(places))
	}
}

// Decoders refuse bytes that no encoder writes.
func TestHostilePlaces(t *testing.T) {
	good := Place{User: 9, Seq: 9, X: 1, Y: 2}.AppendMessage(nil)
	for i, want := range map[int]string{
		0: "message of kind", 1: "message of kind",
		13: "ends with", 14: "ends with", 15: "ends with",
	} {
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		if p, n, err := DecodeMessage(bad); p != (Place{}) || n != 0 || !errors.Is(err, wire.ErrMalformed) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("byte %d changed: %+v, %d, %v", i, p, n, err)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, p := range []Place{{X: float32(v)}, {Y: float32(v)}} {
			if got, n, err := DecodeMessage(p.AppendMessage(nil)); got != (Place{}) || n != 0 ||
				!errors.Is(err, wire.ErrMalformed) {
				t.Errorf("%+v: %+v, %d, %v", p, got, n, err)
			}
		}
	}
}

// FuzzPlace decodes any bytes as a place and as a message. Encoding the result gives the same
// bytes.
func FuzzPlace(f *testing.F) {
	for _, c := range places {
		f.Add(c.p.Append(nil))
		f.Add(c.p.AppendMessage(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, n, err := DecodePlace(b); err == nil && !bytes.Equal(p.Append(nil), b[:n]) {
			t.Fatalf("%x decodes as %+v, which encodes as %x", b[:n], p, p.Append(nil))
		}
		if p, n, err := DecodeMessage(b); err == nil && !bytes.Equal(p.AppendMessage(nil), b[:n]) {
			t.Fatalf("%x decodes as %+v, which encodes as %x", b[:n], p, p.AppendMessage(nil))
		}
	})
}
