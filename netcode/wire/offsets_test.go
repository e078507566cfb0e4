package wire

import (
	"bytes"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Every length of an Exp-Golomb code comes back from every place in a word of the reader and of the
// writer, takes what UvarintBits says, and is not read where its end is cut off. One longer than
// any writer's is refused, however much follows it.
func TestUvarintAtEveryPlace(t *testing.T) {
	for _, k := range []int{0, 1, 7, 20, 43, 56} {
		for extra := range 58 - k {
			v := uint64(1)<<(k+extra) - 1<<k // the least value with so many ones before its zero
			for at := range 65 {
				var w BitWriter
				w.Reset(nil)
				w.Bits(^uint64(0), at)
				if extra+k > 56 { // written by hand: ones, a zero, and more than enough behind it
					w.Bits(^uint64(0), extra)
					for range 5 {
						w.Bits(0, 64)
					}
				} else {
					w.Uvarint(v, k)
					if n := w.Len() - at; n != UvarintBits(v, k) || n != k+2*extra+1 {
						t.Fatalf("%d in order %d has %d bits, UvarintBits says %d, want %d", v, k, n, UvarintBits(v, k), k+2*extra+1)
					}
				}
				size := w.Len()
				b := w.Bytes()
				var r BitReader
				r.Reset(b)
				r.Bits(at)
				got := r.Uvarint(k)
				if extra+k > 56 {
					if got != 0 || !r.Bad() || r.Bits(64) != 0 && !r.Bad() {
						t.Fatalf("%d ones in order %d after %d bits are read as %d, bad %v", extra, k, at, got, r.Bad())
					}
					continue
				}
				if got != v || r.Bad() || len(b)*8-r.Left() != size {
					t.Fatalf("%d in order %d after %d bits reads as %d, bad %v, %d bits left", v, k, at, got, r.Bad(), r.Left())
				}
				r.Reset(b[:(size-1)/8]) // without the byte of its last bit
				r.Bits(at)
				if got := r.Uvarint(k); got != 0 || !r.Bad() {
					t.Fatalf("%d in order %d after %d bits, cut short, reads as %d, bad %v", v, k, at, got, r.Bad())
				}
			}
		}
	}
}

// Copy writes what reading bit by bit and writing bit by bit would, from any place to any place and
// up to the last bit.
func TestCopy(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	src := make([]byte, 21)
	for i := range src {
		src[i] = byte(r.Uint32())
	}
	for at := range len(src)*8 + 1 {
		for _, n := range []int{0, 1, 7, 8, 24, 25, 31, 32, 33, 57, 63, 64, 65, len(src)*8 - at} {
			if at+n > len(src)*8 || n < 0 {
				continue
			}
			into := at % 37
			var got, want BitWriter
			got.Reset(nil)
			want.Reset(nil)
			got.Bits(5, into)
			want.Bits(5, into)
			got.Copy(src, at, n)
			for i := at; i < at+n; i++ {
				want.Bool(src[i/8]>>(i%8)&1 != 0)
			}
			if l := got.Len(); l != into+n || !bytes.Equal(got.Bytes(), want.Bytes()) {
				t.Fatalf("%d bits from bit %d to bit %d: %d bits, %x, want %x", n, at, into, l, got.Bytes(), want.Bytes())
			}
		}
	}
}

// A coded difference comes back from every place in a word, with and without raw bits; where its
// end is cut off it is not read, and nothing is read after it.
func TestCodedAtEveryPlace(t *testing.T) {
	rd := rand.New(rand.NewPCG(11, 12))
	lens := lengthsFor(rd)
	for lens[2*escape-1] != MaxCode || lens[0] == MaxCode {
		lens = lengthsFor(rd) // the longest code before the longest rest
	}
	c, err := NewCode(lens)
	if err != nil {
		t.Fatal(err)
	}
	withRaw := c.WithRaw(3)
	for o := range 56 {
		for _, v := range []int64{0, 1<<o - 1, 1 << o, -1 << o, 1<<o + rd.Int64N(1<<o), -rd.Int64N(1 << o)} {
			for at := range 64 {
				for _, raw := range []uint8{0, 3} {
					c := c
					if raw > 0 {
						c = withRaw
					}
					var w BitWriter
					w.Reset(nil)
					w.Bits(^uint64(0), at)
					w.Differences([]Difference{{Code: c, V: v}})
					size := w.Len()
					w.Bits(0x5a, 8)
					b := w.Bytes()
					var r BitReader
					r.Reset(b)
					r.Bits(at)
					got := []Difference{{Code: c}}
					if n := r.Differences(got); got[0].V != v || n != 1 || r.Bad() || len(b)*8-r.Left() != size || r.Bits(8) != 0x5a {
						t.Fatalf("%d after %d bits, %d raw, reads as %d, %d of 1, bad %v", v, at, raw, got[0].V, n, r.Bad())
					}
					r.Reset(b[:(size-1)/8])
					r.Bits(at)
					if n := r.Differences(got); got[0].V != 0 && raw == 0 || n != 1 || !r.Bad() || r.Bits(1) != 0 {
						t.Fatalf("%d after %d bits, %d raw, cut short, reads as %d, %d of 1, bad %v", v, at, raw, got[0].V, n, r.Bad())
					}
				}
			}
		}
	}
}

// Nearest gives the one coordinate with these low bits that is closest to the reference, across
// both wraps.
func TestNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ref, low := rapid.Int32().Draw(t, "ref"), rapid.Uint16().Draw(t, "low")
		got := Nearest(uint32(low), 16, ref)
		if d := int64(int32(uint32(got) - uint32(ref))); uint16(got) != low || d < -1<<15 || d >= 1<<15 {
			t.Fatalf("%#x near %#x is %#x, %d away", low, uint32(ref), uint32(got), d)
		}
	})
}

// Codes are made of exactly Symbols lengths: a complete code of more or fewer is refused.
func TestNewCodeCounts(t *testing.T) {
	good := lengthsFor(rand.New(rand.NewPCG(5, 6)))
	i := slices.IndexFunc(good, func(n uint8) bool { return n < MaxCode })
	more := append(bytes.Clone(good), good[i]+1)
	more[i]++
	fewer := make([]uint8, 64)
	for i := range fewer {
		fewer[i] = uint8(bits.Len(63))
	}
	for name, lens := range map[string][]uint8{"one more": more, "ten fewer": fewer} {
		if _, err := NewCode(lens); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
