package wire

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// lengthsFor makes the lengths of a complete code by halving what is left at random.
func lengthsFor(r *rand.Rand) []uint8 {
	lens := []uint8{0}
	for len(lens) < Symbols {
		i := r.IntN(len(lens))
		if lens[i] == MaxCode {
			continue
		}
		lens[i]++
		lens = append(lens, lens[i])
	}
	return lens
}

// slowSymbol reads a canonical code bit by bit, as docs/PROTOCOL.md tells it.
func slowSymbol(r *BitReader, lens []uint8) int {
	code, first := 0, 0
	for n := uint8(1); n <= MaxCode; n++ {
		code, first = code<<1|int(r.Bits(1)), first<<1
		for s, l := range lens {
			if l == n {
				if code == first {
					return s
				}
				first++
			}
		}
	}
	return -1
}

func TestCodeIsTheObviousOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		lens := lengthsFor(r)
		c, err := NewCode(lens)
		if err != nil {
			t.Fatal(err)
		}
		for acc := range uint64(1 << MaxCode) {
			var slow BitReader
			slow.Reset([]byte{byte(acc), byte(acc >> 8)})
			s := slowSymbol(&slow, lens)
			if e := c.entry(acc); e != entries[s]|entry(lens[s]) || 16-slow.Left() != int(lens[s]) {
				t.Fatalf("%014b begins with symbol %d of %d bits, looked up as %04x", acc, s, lens[s], e)
			}
		}
		for s := range Symbols {
			var w BitWriter
			w.Reset(nil)
			w.Symbol(c, s)
			var slow BitReader
			if slow.Reset(w.Bytes()); slowSymbol(&slow, lens) != s || c.Len(s) != int(lens[s]) {
				t.Fatalf("symbol %d is written as %08b", s, w.Bytes())
			}
		}
	}
}

// slowDifference reads a difference as docs/PROTOCOL.md tells it.
func slowDifference(r *BitReader, lens []uint8, raw uint8) (v int64, other bool) {
	s := slowSymbol(r, lens)
	switch i := (s + 1) / 2; {
	case s == Other:
		return 0, true
	case i < 4:
		v = int64(i)
	case i < 20:
		o := i / 2
		v = int64(2+i%2)<<(o-1) | int64(r.Bits(o-1))
	case i < 36:
		v = 1<<(i-10) | int64(r.Bits(i-10))
	default:
		v = 1<<26 + int64(r.Uvarint(20))
	}
	if s > 0 && s%2 == 0 {
		v = -v
	}
	return v<<raw | int64(r.Bits(int(raw))), false
}

// Lists of differences are written and read as one after the other would be, wherever in a word
// they begin, and no prefix holds all.
func TestDifferences(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 400 {
		var lens [4][]uint8
		var codes [4]*Code
		for i := range codes {
			lens[i] = lengthsFor(r)
			codes[i], _ = NewCode(lens[i])
		}
		var list [20]Difference
		which, raw := make([]int, len(list)), make([]uint8, len(list))
		for i := range list {
			which[i] = r.IntN(len(codes))
			v := r.Int64N(1<<r.IntN(55) + 1)
			if r.IntN(2) == 0 {
				v = r.Int64N(300)
			}
			if r.IntN(2) == 0 {
				v = -v
			}
			list[i] = Difference{Code: codes[which[i]], V: v}
			switch r.IntN(12) {
			case 0:
				raw[i] = uint8(r.IntN(6))
				list[i].Code = list[i].Code.WithRaw(raw[i])
			case 1:
				list[i] = Difference{}
			}
		}
		var w BitWriter
		w.Reset(nil)
		w.Bits(0, n%64)
		w.Differences(list[:7])
		w.Differences(list[7:])
		size := w.Len()
		sum := n % 64
		for i := range list {
			sum += list[i].Bits()
		}
		if sum != size {
			t.Fatalf("%v take %d bits, not %d", list, size, sum)
		}
		w.Bits(1, 1)
		b := w.Bytes()
		var fast, slow BitReader
		fast.Reset(b)
		slow.Reset(b)
		fast.Bits(n % 64)
		slow.Bits(n % 64)
		got := list
		for i := range got {
			got[i].V = 77
		}
		if k := fast.Differences(got[:9]) + fast.Differences(got[9:]); k != len(list) || got != list || fast.Bad() {
			t.Fatalf("%v are read as %v", list, got)
		}
		for i, p := range list {
			if p.Code == nil {
				continue
			}
			if v, other := slowDifference(&slow, lens[which[i]], raw[i]); v != p.V || other {
				t.Fatalf("%d is written as %d", p.V, v)
			}
		}
		if at := len(b)*8 - size; fast.Left() != at || slow.Left() != at {
			t.Fatalf("%d and %d bits are left, want %d", fast.Left(), slow.Left(), at)
		}
		for cut := range b {
			fast.Reset(b[:cut])
			fast.Bits(n % 64)
			if fast.Differences(got[:]); !fast.Bad() && cut*8 < size {
				t.Fatalf("%d of %d bytes hold all", cut, len(b))
			}
		}
	}
}

func TestCodedDifferences(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	c, err := NewCode(lengthsFor(r))
	if err != nil {
		t.Fatal(err)
	}
	var vals []int64
	for o := range 56 {
		for _, v := range []int64{1<<o - 1, 1 << o, 1<<o + 1, 1<<o + r.Int64N(1<<o)} {
			if v < 1<<55 {
				vals = append(vals, v, -v)
			}
		}
	}
	seen := map[int]bool{}
	for _, v := range vals {
		for _, raw := range []uint8{0, 5} {
			var w BitWriter
			w.Reset(nil)
			c := c.WithRaw(raw)
			w.Differences([]Difference{{Code: c, V: v}})
			size := w.Len()
			s, more := Bucket(v >> raw)
			seen[s] = true
			if v>>raw > -1<<26 && v>>raw < 1<<26 && size != c.Len(s)+more+int(raw) {
				t.Errorf("%d takes %d bits, its bucket %d and %d", v, size, c.Len(s), more)
			}
			var rd BitReader
			rd.Reset(w.Bytes())
			got := []Difference{{Code: c}}
			if n := rd.Differences(got); got[0].V != v || n != 1 || rd.Bad() || len(w.buf)*8-rd.Left() != size {
				t.Errorf("%d with %d raw bits is read as %d", v, raw, got[0].V)
			}
		}
	}
	if len(seen) != Symbols-1 {
		t.Errorf("%d symbols were met, want %d", len(seen), Symbols-1)
	}
	var w BitWriter
	w.Reset(nil)
	w.Differences([]Difference{{Code: c, V: 9}})
	w.Symbol(c, Other)
	w.Differences([]Difference{{Code: c, V: 10}})
	var rd BitReader
	rd.Reset(w.Bytes())
	got := []Difference{{Code: c}, {Code: c}, {Code: c}}
	if n := rd.Differences(got); n != 1 || got[0].V != 9 || rd.Bad() {
		t.Errorf("the symbol that means no difference is read as one, %d before it", n)
	}
	if n := rd.Differences(got[:1]); n != 1 || got[0].V != 10 || rd.Bad() {
		t.Errorf("after the symbol that means no difference comes %d", got[0].V)
	}
}

func TestNewCodeRefuses(t *testing.T) {
	good := lengthsFor(rand.New(rand.NewPCG(5, 6)))
	with := func(i int, v uint8) []uint8 {
		l := append([]uint8(nil), good...)
		l[i] = v
		return l
	}
	for name, lens := range map[string][]uint8{"none": nil, "one short": good[1:], "zero": with(3, 0),
		"too long": with(3, MaxCode+1), "too little": with(0, MaxCode), "too much": with(0, 1)} {
		if _, err := NewCode(lens); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzCoded(f *testing.F) {
	c, err := NewCode(lengthsFor(rand.New(rand.NewPCG(7, 8))))
	if err != nil {
		f.Fatal(err)
	}
	raw := c.WithRaw(3)
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Fuzz(func(t *testing.T, b []byte) {
		var r BitReader
		r.Reset(b)
		for range 20 {
			list := []Difference{{Code: c}, {Code: raw}, {}, {Code: c}}
			n := r.Differences(list)
			if r.Bad() {
				return
			}
			var w BitWriter
			w.Reset(nil)
			w.Differences(list[:n])
			w.Symbol(c, Other)
			again := []Difference{{Code: c}, {Code: raw}, {}, {Code: c}}
			var rd BitReader
			rd.Reset(w.Bytes())
			if got := rd.Differences(again[:min(n+1, len(again))]); got != n || !slices.Equal(again[:n], list[:n]) {
				t.Fatalf("%v come back as %v", list[:n], again[:got])
			}
		}
	})
}
