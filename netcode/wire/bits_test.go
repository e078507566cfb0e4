package wire

import (
	"bytes"
	"math"
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

// One value in each code, with its bits written out. Bits fill bytes from the least significant
// one, so a code reads from right to left in a byte.
func TestCodes(t *testing.T) {
	for _, c := range []struct {
		name  string
		write func(w *BitWriter)
		want  string // in the order in which they are written
	}{
		{"bits, low end first", func(w *BitWriter) { w.Bits(0b1101, 4) }, "1011"},
		{"only the low bits", func(w *BitWriter) { w.Bits(^uint64(0), 3) }, "111"},
		{"no bits", func(w *BitWriter) { w.Bits(7, 0) }, ""},
		{"yes, no", func(w *BitWriter) { w.Bool(true); w.Bool(false) }, "10"},
		{"0 in order 0", func(w *BitWriter) { w.Uvarint(0, 0) }, "0"},
		{"1 in order 0", func(w *BitWriter) { w.Uvarint(1, 0) }, "100"},   // 1+1 = 0b10: one more bit, which is 0
		{"2 in order 0", func(w *BitWriter) { w.Uvarint(2, 0) }, "101"},   // 2+1 = 0b11
		{"3 in order 0", func(w *BitWriter) { w.Uvarint(3, 0) }, "11000"}, // 3+1 = 0b100
		{"0 in order 3", func(w *BitWriter) { w.Uvarint(0, 3) }, "0000"},
		{"7 in order 3", func(w *BitWriter) { w.Uvarint(7, 3) }, "0111"},
		{"8 in order 3", func(w *BitWriter) { w.Uvarint(8, 3) }, "100000"},   // 8+8 = 0b10000
		{"13 in order 3", func(w *BitWriter) { w.Uvarint(13, 3) }, "101010"}, // 13+8 = 0b10101, from the low end
		{"0, signed", func(w *BitWriter) { w.Varint(0, 5) }, "0"},
		{"1, signed", func(w *BitWriter) { w.Varint(1, 2) }, "10000"}, // not 0, not negative, 1-1 in order 2
		{"-1, signed", func(w *BitWriter) { w.Varint(-1, 2) }, "11000"},
		{"-4, signed", func(w *BitWriter) { w.Varint(-4, 2) }, "11011"}, // 4-1 = 0b11
	} {
		var w BitWriter
		w.Reset(nil)
		c.write(&w)
		n := w.Len()
		var r BitReader
		r.Reset(w.Bytes())
		got := ""
		for range n {
			got += string('0' + rune(r.Bits(1)))
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A field is one value of one code, as properties draw it.
type field struct {
	kind int // 0 Bits, 1 Bool, 2 Uvarint, 3 Varint
	n    int // width or order
	v    uint64
}

func (f field) write(w *BitWriter) {
	switch f.kind {
	case 0:
		w.Bits(f.v, f.n)
	case 1:
		w.Bool(f.v != 0)
	case 2:
		w.Uvarint(f.v, f.n)
	case 3:
		w.Varint(int64(f.v), f.n)
	}
}

func (f field) read(r *BitReader) uint64 {
	switch f.kind {
	case 0:
		return r.Bits(f.n)
	case 1:
		if r.Bool() {
			return 1
		}
		return 0
	case 2:
		return r.Uvarint(f.n)
	default:
		return uint64(r.Varint(f.n))
	}
}

// size is the length that the code of f should have, from its definition.
func (f field) size() int {
	uvarint := func(v uint64) int { return f.n + 2*(bits.Len64(v+1<<f.n)-1-f.n) + 1 }
	switch v := int64(f.v); f.kind {
	case 0:
		return f.n
	case 2:
		return uvarint(f.v)
	case 3:
		if v != 0 {
			return 2 + uvarint(uint64(max(v, -v)-1))
		}
	}
	return 1
}

func drawField(t *rapid.T) field {
	f := field{kind: rapid.IntRange(0, 3).Draw(t, "code")}
	switch f.kind {
	case 0:
		f.n = rapid.IntRange(0, 64).Draw(t, "bits")
		f.v = rapid.Uint64().Draw(t, "value")
		if f.n < 64 {
			f.v &= 1<<f.n - 1
		}
	case 1:
		f.v = rapid.Uint64Range(0, 1).Draw(t, "value")
	case 2:
		f.n = rapid.IntRange(0, 56).Draw(t, "order")
		f.v = rapid.Uint64().Draw(t, "value") >> rapid.IntRange(8, 63).Draw(t, "shift")
	case 3:
		f.n = rapid.IntRange(0, 56).Draw(t, "order")
		f.v = uint64(rapid.Int64Range(-1<<56, 1<<56).Draw(t, "value") >> rapid.IntRange(0, 56).Draw(t, "shift"))
	}
	return f
}

// What is written is read, takes the length that its code says, and leaves what was in the slice
// alone; what is taken back leaves no trace.
func TestBitsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "before")
		fields := rapid.SliceOfN(rapid.Custom(drawField), 0, 40).Draw(t, "fields")
		undone := rapid.Custom(drawField)
		var w BitWriter
		w.Reset(bytes.Clone(before))
		want := 0
		for i, f := range fields {
			if m := w.Mark(); i%3 == 1 {
				for range rapid.IntRange(1, 3).Draw(t, "undone fields") {
					undone.Draw(t, "undone").write(&w)
				}
				w.Rewind(m)
			}
			f.write(&w)
			want += f.size()
			if w.Len() != want || w.Size() != len(before)+(want+7)/8 {
				t.Fatalf("after %+v: Len %d, Size %d; want %d bits after %d bytes", f, w.Len(), w.Size(), want, len(before))
			}
		}
		b := w.Bytes()
		if !bytes.Equal(b[:len(before)], before) || len(b) != len(before)+(want+7)/8 {
			t.Fatalf("%d bytes written after %x: %x", len(b)-len(before), before, b)
		}
		var r BitReader
		r.Reset(b[len(before):])
		for _, f := range fields {
			left := r.Left()
			if got := f.read(&r); got != f.v || r.Bad() || left-r.Left() != f.size() {
				t.Fatalf("%+v reads as %d in %d bits, bad %v; it has %d", f, got, left-r.Left(), r.Bad(), f.size())
			}
		}
		if r.Left() > 7 || r.Bits(r.Left()) != 0 {
			t.Fatal("the padding is not less than a byte of zeros")
		}
		if r.Bool() || !r.Bad() {
			t.Fatal("there is something after the end")
		}
	})
}

// Rest gives what follows the bits, from any place in them.
func TestRest(t *testing.T) {
	for n := range 130 {
		var w BitWriter
		w.Reset(nil)
		for range n {
			w.Bool(true)
		}
		b := append(w.Bytes(), "tail, and more than a word"...)
		var r BitReader
		r.Reset(b)
		for range n {
			r.Bool()
		}
		if got := string(r.Rest()); got != "tail, and more than a word" {
			t.Errorf("after %d bits: %q", n, got)
		}
		if r.Left() != 26*8 || r.Bits(8) != 't' {
			t.Errorf("after %d bits: Rest does not leave r at the tail", n)
		}
	}
	var r BitReader
	r.Reset([]byte{1, 2})
	r.Bits(40)
	if got := r.Rest(); len(got) != 0 || !r.Bad() {
		t.Errorf("after a read past the end: %x, bad %v", got, r.Bad())
	}
}

// Past the end and after an impossible code everything reads as zero, and Bad stays.
func TestReadingPastTheEnd(t *testing.T) {
	full := bytes.Repeat([]byte{0xff}, 9)
	for n := range full {
		for _, f := range []field{{0, 64, 0}, {0, 57, 0}, {2, 0, 0}, {2, 56, 0}, {3, 3, 0}} {
			var r BitReader
			r.Reset(full[:n])
			for range 200 {
				f.read(&r)
			}
			if got := f.read(&r); got != 0 || !r.Bad() {
				t.Errorf("%+v read 201 times from %d bytes: %d, bad %v", f, n, got, r.Bad())
			}
		}
	}
	var r BitReader
	r.Reset([]byte{0, 0})
	if r.Fail(); !r.Bad() || r.Bits(3) != 0 || !r.Bad() {
		t.Error("Fail does not last")
	}
}

// Prefixes of a code that are cut anywhere are never read as a value.
func TestCutCodes(t *testing.T) {
	for _, f := range []field{{2, 0, 1<<56 - 1}, {2, 12, 1 << 40}, {3, 4, math.MaxUint64 - 1<<30},
		{0, 64, math.MaxUint64}, {3, 56, 1 << 56}} {
		var w BitWriter
		w.Reset(nil)
		f.write(&w)
		b := w.Bytes()
		for n := range b {
			var r BitReader
			r.Reset(b[:n])
			if got := f.read(&r); got != 0 || !r.Bad() {
				t.Errorf("%+v cut to %d of %d bytes reads as %d, bad %v", f, n, len(b), got, r.Bad())
			}
		}
	}
}

// FuzzBits reads any bytes by any codes: reading is bounded, and what was read can be written again
// and is then the same.
func FuzzBits(f *testing.F) {
	f.Add([]byte{0, 9, 0x40, 0x83, 0xc4}, []byte{1, 2, 3, 4, 5})
	f.Add([]byte{0x80, 0xb8, 0xc0, 0xf8}, bytes.Repeat([]byte{0xff}, 20))
	f.Fuzz(func(t *testing.T, script, data []byte) {
		var r BitReader
		r.Reset(data)
		var w BitWriter
		w.Reset(nil)
		whole := 0
		for _, s := range script {
			fd := field{kind: int(s >> 6), n: int(s&63) % 57}
			left := r.Left()
			fd.v = fd.read(&r)
			if left < r.Left() || r.Left() < 0 {
				t.Fatalf("%d bits left after %d", r.Left(), left)
			}
			if r.Bad() {
				if fd.v != 0 {
					t.Fatalf("%+v read past the end or the range", fd)
				}
				break
			}
			whole = len(data)*8 - r.Left()
			if fd.kind == 2 && fd.v >= 1<<56 || fd.kind == 3 && max(int64(fd.v), -int64(fd.v)) > 1<<56 {
				return // readable, though no encoder may write it
			}
			fd.write(&w)
		}
		if w.Len() != whole {
			t.Fatalf("read %d bits that are written as %d", whole, w.Len())
		}
		again := w.Bytes()
		for i, b := range again {
			mask := byte(0xff)
			if over := len(again)*8 - whole; i == len(again)-1 {
				mask >>= over
			}
			if data[i]&mask != b {
				t.Fatalf("byte %d of %x was read as what is written %x", i, data, b)
			}
		}
		r.Rest()
	})
}

func BenchmarkBits(b *testing.B) {
	buf := make([]byte, 0, 4096)
	b.Run("write", func(b *testing.B) {
		var w BitWriter
		for b.Loop() {
			w.Reset(buf)
			for i := range 256 {
				w.Bits(uint64(i), 9)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/field")
	})
	var w BitWriter
	w.Reset(buf)
	for i := range 256 {
		w.Varint(int64(i*i-9000), 6)
	}
	data := w.Bytes()
	b.Run("varint write", func(b *testing.B) {
		var w BitWriter
		for b.Loop() {
			w.Reset(buf)
			for i := range 256 {
				w.Varint(int64(i*i-9000), 6)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/field")
	})
	b.Run("varint read", func(b *testing.B) {
		var r BitReader
		for b.Loop() {
			r.Reset(data)
			for range 256 {
				r.Varint(6)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/field")
	})
}
