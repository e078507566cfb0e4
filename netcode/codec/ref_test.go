package codec_test

import (
	"reflect"
	"strings"
	"testing"

	"meanwhile/netcode/codec"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// A text by reference is one number for observers, whatever its length, and words for its owner.
func TestRefCodes(t *testing.T) {
	type named struct {
		Name string `net:"text,31,ref"`
	}
	k, err := schema.New("named", reflect.TypeFor[named](), 30)
	if err != nil {
		t.Fatal(err)
	}
	if !k.Refs || k.Obs != 8 || k.Sims != 8 || !strings.HasSuffix(k.Text(), " ref\n") {
		t.Fatalf("%+v\n%s", k, k.Text())
	}
	base := &codec.Base[int32]{Vals: make([]int32, 8)}
	for _, c := range []struct {
		number int32
		bits   int // beside the presence
	}{
		{0, 7},
		{1, 7},
		{63, 7},
		{64, 9},
		{191, 9},
		{192, 11},
		{4095, 19}, // 4095+64 has 13 bits: 7 and twice the 6 beyond
	} {
		for _, b := range []*codec.Base[int32]{{}, base} {
			var w wire.BitWriter
			w.Reset(nil)
			codec.Append(&w, codec.For(k), 0, []int32{c.number, 0, 0, 0, 0, 0, 0, 0}, b, 1, 9)
			n := w.Len()
			data := w.Bytes()
			var r wire.BitReader
			r.Reset(data)
			got := make([]int32, 8)
			if codec.Read(&r, codec.For(k), 0, got, b, 9); r.Bad() || got[0] != c.number {
				t.Errorf("%d is read as %d", c.number, got[0])
			}
			if n-1 != c.bits {
				t.Errorf("%d takes %d bits, want %d", c.number, n-1, c.bits)
			}
		}
	}
	var w wire.BitWriter
	w.Reset(nil)
	w.Bool(true)
	w.Uvarint(schema.MaxRefs, 6)
	var r wire.BitReader
	r.Reset(w.Bytes())
	if codec.Read(&r, codec.For(k), 0, make([]int32, 8), base, 9); !r.Bad() {
		t.Error("a number beyond the last is read")
	}
}
