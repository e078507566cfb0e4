package codec_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"meanwhile/geom"
	"meanwhile/internal/verify/golden"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

type mover struct {
	Pos   geom.Vec3  `net:"pos,others=1cm"`
	Yaw   geom.Angle `net:"angle,16bit,others=8bit"`
	Crest int        `net:"int,0..9,group=0"`
}

type driver struct {
	Pos  geom.Vec3  `net:"pos,others=1cm,draw=hermite"`
	Vel  geom.Vec3  `net:"vel,others=1cm/s"`
	Yaw  geom.Angle `net:"angle,16bit,others=9bit"`
	Heat float64    `net:"float,0.1,group=1"`
}

func bodyKind[T any](t testing.TB, rate int) *schema.Kind {
	k, err := schema.New("mover", reflect.TypeFor[T](), rate)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func changedSet(k *schema.Kind, g int, a, b []int32) (set uint64) {
	for _, i := range k.Members(g) {
		q := &k.Props[i]
		at := q.ObsAt - k.Groups[g].At
		if !slices.Equal(a[at:at+q.Comps], b[at:at+q.Comps]) {
			set |= 1 << i
		}
	}
	return set
}

// Bodies of every model, by what they say. The lines tell the values before the baseline, in it and
// in the record.
func TestBodyVectors(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Bodies of records: kind and tick rate, ages in ticks of the baseline and from the state before " +
		"to it, then the integers of\n" +
		"# that state, of the baseline and of the record, and the body, lowest bit first. The kinds, as schema text:\n")
	b.WriteString(inComments("kind " + bodyKind[mover](t, 20).Text()))
	b.WriteString(inComments("kind driver" + strings.TrimPrefix(bodyKind[driver](t, 60).Text(), "mover")))
	for _, c := range []struct {
		kind       string
		k          *schema.Kind
		age, gap   clock.Tick
		a, b, c    []int32
		explicitly string
	}{
		{"mover", bodyKind[mover](t, 20), 1, 1, []int32{0, 0, 0, 10, 3}, []int32{50, 10, 0, 10, 3},
			[]int32{100, 20, 0, 10, 3}, "it goes on as it did"},
		{"mover", bodyKind[mover](t, 20), 1, 1, []int32{0, 0, 0, 10, 3}, []int32{50, 10, 0, 12, 3},
			[]int32{95, 28, 0, 17, 3}, "it turns"},
		{"mover", bodyKind[mover](t, 20), 3, 1, []int32{0, 0, 20, 10, 3}, []int32{-50, -10, 40, 12, 3},
			[]int32{-190, -60, 60, 250, 3}, "it jumps"},
		{"mover", bodyKind[mover](t, 20), 6, 0, nil, []int32{-50, -10, 40, 12, 3}, []int32{-190, -60, 60, 250, 3},
			"nothing is known before the baseline"},
		{"mover", bodyKind[mover](t, 20), 2, 2, []int32{5, 5, 5, 5, 3}, []int32{5, 5, 5, 5, 3}, []int32{5, 5, 5, 5, 4},
			"what is not usual has changed"},
		{"mover", bodyKind[mover](t, 20), 2, 2, []int32{5, 5, 5, 5, 3}, []int32{5, 5, 5, 5, 3}, []int32{9, 5, 5, 7, 4},
			"and the place as well"},
		{"mover", bodyKind[mover](t, 20), 1, 1, []int32{5, 5, 5, 5, 3}, []int32{5, 5, 5, 5, 3},
			[]int32{1 << 30, -1 << 31, 5, 7, 3}, "far away"},
		{"driver", bodyKind[driver](t, 60), 3, 3, []int32{0, 0, 17, 1000, 0, 0, 100}, []int32{50, 0, 17, 1010, 0, 0, 100},
			[]int32{100, 1, 17, 1020, 20, 0, 101}, "it drives"},
		{"driver", bodyKind[driver](t, 60), 6, 3, []int32{0, 0, 17, 1000, 0, 300, 100},
			[]int32{50, 0, 30, 1010, 0, 270, 500}, []int32{151, 1, 47, 1020, 20, 210, 12}, "it flies"},
		{"driver", bodyKind[driver](t, 60), 3, 3, []int32{0, 0, 17, 0, 0, 0, 100}, []int32{0, 0, 17, 0, 0, 0, 100},
			[]int32{0, 0, 17, 0, 0, 0, 102}, "it stands and turns"},
	} {
		base := codec.Base[int32]{Vals: c.b, Prior: c.a, Age: c.age, Gap: c.gap}
		var w wire.BitWriter
		w.Reset(nil)
		codec.Append(&w, codec.For(c.k), 0, c.c, &base, changedSet(c.k, 0, c.b, c.c), 100)
		n := w.Len()
		bits := ""
		for i, v := range w.Bytes() {
			for j := range 8 {
				if i*8+j < n {
					bits += string('0' + rune(v>>j&1))
				}
			}
		}
		fmt.Fprintf(&b, "\n%s\n  %s %d Hz, age %d, gap %d\n  %d %d %d\n  %s\n", c.explicitly, c.kind, c.k.Rate, c.age,
			c.gap, c.a, c.b, c.c, bits)
	}
	golden.Check(t, "testdata/bodies.txt", b.String())
}

// inComments makes comments of lines, for files of vectors.
func inComments(s string) string {
	return "# " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n# ") + "\n"
}

// record is a random record of a kind: states as a game makes them, and now and then anything.
func randomRecord(r *rand.Rand, k *schema.Kind, g int) (base codec.Base[int32], cur []int32) {
	n := k.Width(g)
	rows := [3][]int32{}
	for i := range rows {
		rows[i] = make([]int32, n)
		for _, pi := range k.Members(g) {
			q := &k.Props[pi]
			at := q.ObsAt - k.Groups[g].At
			for c := at; c < at+q.Comps; c++ {
				v := int64(r.Int32N(1000))
				if i > 0 {
					v = int64(rows[i-1][c]) + (r.Int64N(401)-200)>>r.IntN(9)
				}
				if r.IntN(50) == 0 {
					v = int64(int32(r.Uint32()))
				}
				switch {
				case q.Turn > 0:
					v = (v%q.Turn + q.Turn) % q.Turn
				case q.Class == schema.Int:
					v = min(max(v, q.Min), q.Max)
				}
				rows[i][c] = int32(v)
			}
		}
	}
	base = codec.Base[int32]{Prior: rows[0], Vals: rows[1], Age: clock.Tick(1 + r.IntN(12)),
		Gap: clock.Tick(1 + r.IntN(6))}
	if r.IntN(8) == 0 {
		base.Prior, base.Gap = nil, 0
	}
	return base, rows[2]
}

// Whatever is written is read, and every prefix of it is refused and touches nothing beyond its
// values.
func TestBodyRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	kinds := []*schema.Kind{bodyKind[mover](t, 20), bodyKind[driver](t, 60)}
	coders := []*codec.Coder{codec.For(kinds[0]), codec.For(kinds[1])}
	whole := 0
	for n := range 50_000 {
		k, c := kinds[n%2], coders[n%2]
		g := r.IntN(len(k.Groups))
		base, cur := randomRecord(r, k, g)
		var w wire.BitWriter
		w.Reset(nil)
		codec.Append(&w, c, g, cur, &base, changedSet(k, g, base.Vals, cur), 500)
		size := w.Len()
		b := slices.Clone(w.Bytes())
		// Counted by property it is the same body.
		base.Costs = &codec.Costs{}
		w.Reset(nil)
		codec.Append(&w, c, g, cur, &base, changedSet(k, g, base.Vals, cur), 500)
		rest := size
		for i, bits := range base.Costs {
			if rest -= int(bits); bits > 0 && !slices.Contains(k.Members(g), i) {
				t.Fatalf("record %d: property %d of group %d takes %d bits", n, i, g, bits)
			}
		}
		if rest == 0 {
			whole++
		}
		if rest < 0 || rest > 24 || !bytes.Equal(w.Bytes(), b) {
			t.Fatalf("record %d: %x, counted %x; %d of %d bits are no property's", n, b, w.Bytes(), rest, size)
		}
		var rd wire.BitReader
		rd.Reset(b)
		dst := slices.Clone(base.Vals)
		codec.Read(&rd, c, g, dst, &base, 500)
		if rd.Bad() || !slices.Equal(dst, cur) || len(b)*8-rd.Left() != size {
			t.Fatalf("record %d: %d after %d and %d is read as %d", n, cur, base.Prior, base.Vals, dst)
		}
		if n%50 == 0 {
			for cut := range len(b) {
				rd.Reset(b[:cut])
				copy(dst, base.Vals)
				if codec.Read(&rd, c, g, dst, &base, 500); !rd.Bad() && cut*8 < size {
					t.Fatalf("%d of %d bytes are read", cut, len(b))
				}
			}
		}
	}
	if whole < 10_000 {
		t.Errorf("only %d bodies are nothing but values", whole)
	}
}

func FuzzBody(f *testing.F) {
	k := bodyKind[driver](f, 60)
	c := codec.For(k)
	r := rand.New(rand.NewPCG(9, 9))
	for range 20 {
		base, cur := randomRecord(r, k, 0)
		var w wire.BitWriter
		w.Reset(nil)
		codec.Append(&w, c, 0, cur, &base, changedSet(k, 0, base.Vals, cur), 500)
		f.Add(w.Bytes(), uint64(1), uint8(base.Age), uint8(base.Gap))
	}
	f.Fuzz(func(t *testing.T, b []byte, seed uint64, age, gap uint8) {
		base, _ := randomRecord(rand.New(rand.NewPCG(seed, 9)), k, 0)
		base.Age = clock.Tick(max(age, 1))
		if base.Gap = clock.Tick(gap); gap == 0 {
			base.Prior = nil
		} else if base.Prior == nil {
			base.Prior = base.Vals
		}
		dst := slices.Clone(base.Vals)
		var rd wire.BitReader
		rd.Reset(b)
		codec.Read(&rd, c, 0, dst, &base, 500)
		if rd.Bad() { // refusing is fine, panicking is not
			return
		}
		var w wire.BitWriter
		w.Reset(nil)
		codec.Append(&w, c, 0, dst, &base, changedSet(k, 0, base.Vals, dst), 500)
		again := slices.Clone(base.Vals)
		rd.Reset(w.Bytes())
		if codec.Read(&rd, c, 0, again, &base, 500); rd.Bad() || !slices.Equal(again, dst) {
			t.Fatalf("decoded %x as %d, which comes back as %d", b, dst, again)
		}
	})
}

func TestBodyAllocations(t *testing.T) {
	k := bodyKind[driver](t, 60)
	c := codec.For(k)
	base, cur := randomRecord(rand.New(rand.NewPCG(1, 1)), k, 0)
	buf := make([]byte, 0, 256)
	dst := slices.Clone(base.Vals)
	set := changedSet(k, 0, base.Vals, cur)
	if n := testing.AllocsPerRun(100, func() {
		var w wire.BitWriter
		w.Reset(buf)
		codec.Append(&w, c, 0, cur, &base, set, 500)
		var rd wire.BitReader
		rd.Reset(w.Bytes())
		codec.Read(&rd, c, 0, dst, &base, 500)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTablesRefused(t *testing.T) {
	good := codec.DefaultTables().String()
	for name, text := range map[string]string{
		"nothing":        "",
		"no model":       "damp 012\n",
		"unknown model":  "model flight\n",
		"twice":          good + good,
		"unknown word":   "model level\nflavour 1\n",
		"a bad digit":    strings.Replace(good, "damp ", "damp 9", 1),
		"a short code":   strings.Replace(good, "code ", "code 1", 1),
		"contexts short": strings.Replace(good, "context ", "# ", 1),
		"cut":            good[:len(good)/2],
	} {
		if _, err := codec.ParseTables(text); err == nil {
			t.Errorf("%s: read", name)
		}
	}
	tb, err := codec.ParseTables(good)
	if err != nil || tb.String() != good {
		t.Fatal(err)
	}
}

func BenchmarkBody(b *testing.B) {
	for _, c := range []struct {
		name string
		k    *schema.Kind
	}{{"shooter", bodyKind[mover](b, 20)}, {"car", bodyKind[driver](b, 60)}} {
		k, coder := c.k, codec.For(c.k)
		r := rand.New(rand.NewPCG(5, 5))
		const n = 64
		var bases [n]codec.Base[int32]
		var curs [n][]int32
		var sets [n]uint64
		var coded [n][]byte
		bits := 0
		for i := range n {
			cur := make([]int32, k.Width(0))
			vals, prior := make([]int32, len(cur)), make([]int32, len(cur))
			for j := range min(len(cur), 7) { // it goes on about as it did
				if c.name == "shooter" && j == 4 { // its crest
					continue
				}
				v := r.Int32N(90) - 45
				prior[j] = r.Int32N(200) + 20
				vals[j] = prior[j] + v
				cur[j] = vals[j] + v + r.Int32N(9) - 4
			}
			bases[i], curs[i] = codec.Base[int32]{Vals: vals, Prior: prior, Age: 1, Gap: 1}, cur
			sets[i] = changedSet(k, 0, vals, cur)
			var w wire.BitWriter
			w.Reset(nil)
			codec.Append(&w, coder, 0, cur, &bases[i], sets[i], 9)
			bits += w.Len()
			coded[i] = w.Bytes()
		}
		buf := make([]byte, 0, 4096)
		dst := make([]int32, k.Width(0))
		b.Run("encode/"+c.name, func(b *testing.B) {
			var w wire.BitWriter
			for b.Loop() {
				w.Reset(buf)
				for i := range n {
					codec.Append(&w, coder, 0, curs[i], &bases[i], sets[i], 9)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
			b.ReportMetric(float64(bits)/n, "bits/record")
		})
		b.Run("decode/"+c.name, func(b *testing.B) {
			var rd wire.BitReader
			for b.Loop() {
				for i := range n {
					rd.Reset(coded[i])
					codec.Read(&rd, coder, 0, dst, &bases[i], 9)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
		})
		b.Run("copy/"+c.name, func(b *testing.B) {
			for b.Loop() {
				for i := range n {
					copy(dst, curs[i])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
		})
	}
}
