package wire

import (
	"math/rand/v2"
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
	for range 300 {
		lens := lengthsFor(r)
		c, err := NewCode(lens)
		if err != nil {
			t.Fatal(err)
		}
		var w BitWriter
		w.Reset(nil)
		var want []int
		total := 0
		for range 50 {
			s := r.IntN(Symbols)
			w.Symbol(c, s)
			want = append(want, s)
			total += c.Len(s)
		}
		if w.Len() != total {
			t.Fatalf("%d bits, want %d", w.Len(), total)
		}
		b := w.Bytes()
		var fast, slow BitReader
		fast.Reset(b)
		slow.Reset(b)
		for i, s := range want {
			if f, o := fast.Symbol(c), slowSymbol(&slow, lens); f != s || o != s || fast.Left() != slow.Left() {
				t.Fatalf("symbol %d is %d, read as %d and %d", i, s, f, o)
			}
		}
		for cut := range b {
			fast.Reset(b[:cut])
			for range want {
				fast.Symbol(c)
			}
			if !fast.Bad() && cut*8 < total {
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
		var w BitWriter
		w.Reset(nil)
		w.Coded(c, v, 0)
		size := w.Len()
		s, more := Bucket(v)
		seen[s] = true
		if v > -1<<26 && v < 1<<26 && size != c.Len(s)+more {
			t.Errorf("%d takes %d bits, its bucket %d and %d", v, size, c.Len(s), more)
		}
		var rd BitReader
		rd.Reset(w.Bytes())
		if got, other := rd.Coded(c, 0); got != v || other || rd.Bad() || len(w.buf)*8-rd.Left() != size {
			t.Errorf("%d is read as %d", v, got)
		}
		w.Reset(nil)
		w.Coded(c, v, 5)
		rd.Reset(w.Bytes())
		if got, other := rd.Coded(c, 5); got != v || other || rd.Bad() {
			t.Errorf("%d with 5 raw bits is read as %d", v, got)
		}
	}
	if len(seen) != Symbols-1 {
		t.Errorf("%d symbols were met, want %d", len(seen), Symbols-1)
	}
	var w BitWriter
	w.Reset(nil)
	w.Symbol(c, Other)
	var rd BitReader
	rd.Reset(w.Bytes())
	if _, other := rd.Coded(c, 0); !other {
		t.Error("the symbol that means no difference is read as one")
	}
}

func TestNewCodeRefuses(t *testing.T) {
	good := lengthsFor(rand.New(rand.NewPCG(5, 6)))
	with := func(i int, v uint8) []uint8 {
		l := append([]uint8(nil), good...)
		l[i] = v
		return l
	}
	for name, lens := range map[string][]uint8{"none": nil, "one short": good[1:], "zero": with(3, 0), "too long": with(3, MaxCode+1), "too little": with(0, MaxCode), "too much": with(0, 1)} {
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
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Fuzz(func(t *testing.T, b []byte) {
		var r BitReader
		r.Reset(b)
		for range 20 {
			v, other := r.Coded(c, 0)
			if r.Bad() {
				return
			}
			var w BitWriter
			w.Reset(nil)
			if w.Coded(c, v, 0); other {
				continue
			}
			var again BitReader
			again.Reset(w.Bytes())
			if got, _ := again.Coded(c, 0); got != v {
				t.Fatalf("%d comes back as %d", v, got)
			}
		}
	})
}
