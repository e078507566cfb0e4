package codec_test

import (
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"meanwhile/netcode/codec"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

func nearKind(t interface{ Fatal(...any) }) *codec.Coder {
	type beast struct {
		Pos struct{ X, Y, Z float64 } `net:"pos,16mm,wire=near"`
	}
	k, err := schema.New("beast", reflect.TypeFor[beast](), 30)
	if err != nil {
		t.Fatal(err)
	}
	return codec.For(k)
}

// body writes a place beside a viewer, reads it again, and returns its bits.
func body(k *codec.Coder, place []int32, v *codec.Viewer) (bits string, back []int32, bad bool) {
	var w wire.BitWriter
	w.Reset(nil)
	base := &codec.Base[int32]{Viewer: v}
	codec.Append(&w, k, 0, place, base, 1, 9)
	n := w.Len()
	b := w.Bytes()
	var r wire.BitReader
	r.Reset(b)
	for range n {
		bits += string('0' + rune(r.Bits(1)))
	}
	r.Reset(b)
	back = make([]int32, len(place))
	codec.Read(&r, k, 0, back, base, 9)
	return bits, back, r.Bad()
}

// The truncated coordinates of the article, in a record: A, B and C beside the viewer take 16 bits
// each, in all three axes.
//
// seeds: R38
func TestNearIsTheArticles(t *testing.T) {
	k := nearKind(t)
	viewer := &codec.Viewer{MM: [3]int64{0x2C0000, 0x2C0000, 0x2C0000}}
	bits, back, bad := body(k, []int32{0x2E0000 / 16, 0x260000 / 16, 0x320000 / 16}, viewer)
	// present, near, and 0xE000, 0x6000, 0x2000 from the low end
	if want := "1" + "1" + "0000000000000111" + "0000000000000110" + "0000000000000100"; bits != want {
		t.Errorf("%s, want %s", bits, want)
	}
	if bad || back[0] != 0x2E000 || back[1] != 0x26000 || back[2] != 0x32000 || !viewer.Asked {
		t.Errorf("%x, bad %v", back, bad)
	}
}

// Beside any viewer any place comes back as it is; it takes 16 bits a coordinate exactly where all
// of it is near, also across the wrap of 32 bits.
//
// seeds: R37
func TestNearRoundTrip(t *testing.T) {
	k := nearKind(t)
	rapid.Check(t, func(t *rapid.T) {
		var v codec.Viewer
		place := make([]int32, 3)
		near := true
		for c := range place {
			at := rapid.OneOf(rapid.Int32(), rapid.SampledFrom([]int32{0, math.MaxInt32, math.MinInt32})).Draw(t,
				"viewer") // in steps
			v.MM[c] = int64(at) * 16
			off := rapid.OneOf(rapid.Int32Range(-40000, 40000), rapid.Int32(),
				rapid.SampledFrom([]int32{-32769, -32768, 32767, 32768})).Draw(t, "offset")
			place[c] = at + off // wraps
			near = near && off >= -32768 && off <= 32767
		}
		bits, back, bad := body(k, place, &v)
		if bad || !reflect.DeepEqual(back, place) {
			t.Fatalf("beside %v: %v comes back as %v", v.MM, place, back)
		}
		if short := len(bits) == 2+3*16 && bits[1] == '1'; short != near {
			t.Fatalf("beside %v: %v takes %d bits, near %v", v.MM, place, len(bits), near)
		}
	})
	if bits, back, bad := body(k, []int32{1, 2, 3}, nil); bad || back[2] != 3 || len(bits) >= 2+3*16 {
		t.Errorf("without a viewer: %s, %v", bits, back)
	}
}

// A viewer is the first place of a kind, in millimetres, rounded down.
func TestViewer(t *testing.T) {
	type me struct {
		Score int                    `net:"int,0..9"`
		Pos   struct{ X, Y float64 } `net:"pos"`
	}
	k, err := schema.New("me", reflect.TypeFor[me](), 30)
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := codec.ViewerOf(k, []int64{5, 256*70 + 255, -1}); !ok || v.MM != [3]int64{70, -1, 0} {
		t.Errorf("%v, %v", v.MM, ok)
	}
	type blind struct {
		Score int `net:"int,0..9"`
	}
	if k, err = schema.New("blind", reflect.TypeFor[blind](), 30); err != nil {
		t.Fatal(err)
	}
	if _, ok := codec.ViewerOf(k, []int64{5}); ok {
		t.Error("a kind without a place is somewhere")
	}
}
