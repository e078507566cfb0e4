package codec_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
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

// flat moves in a plane, in steps that no power of two makes a turn of; its place follows from
// its velocity.
type flat struct {
	Vel  geom.Vec2  `net:"vel,others=3cm/s"`
	Pos  geom.Vec2  `net:"pos,1/256mm,others=1cm,4cm@30m,16cm@100m,draw=hermite"`
	Side geom.Vec2  `net:"pos,others=1mm"`
	Wind geom.Vec3  `net:"vel,others=1mm/s"`
	Aim  geom.Angle `net:"angle,1deg,others=3deg"`
	Flag bool       `net:"bool"`
}

// fine has steps so small, and so large, that octaves end and bits go as they are.
type fine struct {
	Pos  geom.Vec3  `net:"pos,1/256mm,others=1/64mm"`
	Far  geom.Vec3  `net:"pos,1m,others=64m,group=1"`
	Look geom.View  `net:"view,24bit,others=16bit"`
	Turn geom.Angle `net:"angle,4bit"`
	Spin geom.Vec3  `net:"spin,1deg/s,others=2deg/s"`
	Heat float64    `net:"float,0.001,others=0.1"`
	Gear int        `net:"int,0..9"`
}

// many has more components than most, and more than have a model.
type many struct {
	A, B, C, D geom.Vec3 `net:"pos,others=1cm"`
	E, F, G, H geom.Vec3 `net:"vel,others=1cm/s"`
	I, J       geom.View `net:"view,14bit,others=8bit"`
}

// An ID names an entity.
type ID uint32

// Gait is an integer type of the rules.
type Gait uint8

// rigid has the properties of what turns in space, and the classes that came later.
type rigid struct {
	Team    ID         `net:"handle,team"`
	Car     ID         `net:"handle,parent"`
	Pos     geom.Vec3  `net:"pos,1mm,others=1cm,4cm@30m,16cm@100m,draw=dr:10cm,warp=3m,slow=10cm/s"`
	Vel     geom.Vec3  `net:"vel,others=1cm/s,2cm/s@100m"`
	Turn    geom.Quat  `net:"quat,others=9bit,8bit@30m"`
	Spin    geom.Vec3  `net:"spin,others=2deg/s"`
	Look    geom.View  `net:"view,14bit,others=8bit"`
	Heading geom.Angle `net:"angle,2deg,draw=dr:4deg"`
	Rate    float64    `net:"spin,1deg/s"`
	Gait    Gait       `net:"enum,idle|walk|run,group=1"`
	Gear    int        `net:"enum,park|drive,far=50m"`
	Skin    [9]byte    `net:"bytes,group=1"`
	Key     [1]byte    `net:"bytes,to=owner"`
	Blob    [32]byte   `net:"bytes,group=1"`
	Heat    float64    `net:"float,0.25,-20..60,others=1"`
	Plan    uint16     `net:"int,0..9,to=team"`
	Own     geom.Quat  `net:"quat,20bit,to=owner"`
	Rough   geom.Quat  `net:"quat,4bit,others=4bit,draw=step"`
	Fine    geom.View  `net:"view,3deg,others=6deg"`
	Kept    geom.Angle `net:"spin,kept"`
}

// randomRow are integers as a group of k may have them: about those of from, or any.
func randomRow[T int32 | int64](r *rand.Rand, k *schema.Kind, g int, from []T, wild int) []T {
	row := make([]T, k.Width(g))
	for _, i := range k.Members(g) {
		q := &k.Props[i]
		at, turn, most := q.At, q.SimTurn, int64(schema.MaxValue)
		if g != schema.OwnerGroup {
			at, turn, most = q.ObsAt-k.Groups[g].At, q.Turn, 1<<31-1
		}
		size := r.IntN(12)
		for c := at; c < at+q.Comps; c++ {
			v := int64(r.Int32N(1000))
			if from != nil {
				if v = int64(from[c]); r.IntN(4) > 0 {
					v += r.Int64N(2<<size+1) - 1<<size
				}
			}
			if r.IntN(wild) == 0 {
				v = int64(r.Uint64()) >> r.IntN(64)
			}
			switch {
			case turn > 0:
				v = (v%turn + turn) % turn
			case q.Class == schema.Int || q.Class == schema.Bool:
				v = min(max(v, q.Min), max(q.Max, 1))
			}
			row[c] = T(min(max(v, -most), most))
		}
	}
	return row
}

func randomTicks(r *rand.Rand) clock.Tick {
	switch r.IntN(8) {
	case 0:
		return clock.Tick(1 + r.IntN(100))
	case 1:
		return clock.Tick(1 + r.IntN(3000))
	}
	return clock.Tick(1 + r.IntN(6))
}

func longer[T int32 | int64](row []T) []int64 {
	l := make([]int64, len(row))
	for i, v := range row {
		l[i] = int64(v)
	}
	return l
}

// sumBodies is the sum of bodies of random records of a group, and of what random bytes are read
// as.
func sumBodies[T int32 | int64](t *testing.T, r *rand.Rand, k *schema.Kind, c *codec.Coder, g, n int) uint64 {
	h := fnv.New64a()
	refused := 0
	for range n {
		wild := 1 << (3 + r.IntN(8))
		prior := randomRow[T](r, k, g, nil, wild)
		vals := randomRow(r, k, g, prior, wild)
		cur := randomRow(r, k, g, vals, wild)
		base := codec.Base[T]{Vals: vals, Prior: prior, Age: randomTicks(r), Gap: randomTicks(r)}
		switch r.IntN(16) {
		case 0:
			base.Prior, base.Gap = nil, 0
		case 1:
			base.Age = 0
		}
		set := uint64(0)
		for _, i := range k.Members(g) {
			q := &k.Props[i]
			at := q.At
			if g != schema.OwnerGroup {
				at = q.ObsAt - k.Groups[g].At
			}
			if r.IntN(6) == 0 {
				copy(cur[at:at+q.Comps], vals[at:])
			}
			for j := at; j < at+q.Comps; j++ {
				if cur[j] != vals[j] {
					set |= 1 << i
				}
			}
		}
		if r.IntN(16) == 0 {
			set |= 1 << k.Members(g)[0]
		}
		var w wire.BitWriter
		w.Reset(nil)
		w.Bits(r.Uint64(), r.IntN(9))
		skip := w.Len()
		codec.Append(&w, c, g, cur, &base, set, 500)
		size := w.Len()
		b := w.Bytes()
		fmt.Fprintf(h, "%x %d\n", b, size)
		var rd wire.BitReader
		for i := range 4 {
			rd.Reset(b)
			rd.Bits(skip)
			dst := append([]T(nil), vals...)
			codec.Read(&rd, c, g, dst, &base, 500)
			if g != schema.OwnerGroup { // into longer integers, as clients read, it is the same
				long := codec.Base[int64]{Vals: longer(vals), Age: base.Age, Gap: base.Gap}
				if base.Prior != nil {
					long.Prior = longer(prior)
				}
				var again wire.BitReader
				again.Reset(b)
				again.Bits(skip)
				other := longer(vals)
				codec.Read(&again, c, g, other, &long, 500)
				if again.Bad() != rd.Bad() || !rd.Bad() && !slices.Equal(other, longer(dst)) {
					t.Fatalf("%d is read as %d into longer integers", dst, other)
				}
			}
			if rd.Bad() {
				refused++
				fmt.Fprintln(h, "refused")
			} else {
				fmt.Fprintln(h, dst, rd.Left())
			}
			if i == 0 && r.IntN(2) == 0 {
				b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
			}
			if i < 2 {
				b[r.IntN(len(b))] ^= 1 << r.IntN(8)
			} else {
				for j := range b {
					b[j] = byte(r.Uint32())
				}
			}
		}
	}
	return h.Sum64()
}

// What the bodies of random records of every class, precision and age are stays what it is, and so
// does what is read of any bytes.
func TestBodiesStay(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Sums of bodies of random records, and of what is made of random bytes: kind, level, group, for " +
		"observers and for the owner.\n")
	for i, k := range []*schema.Kind{bodyKind[mover](t, 20), bodyKind[driver](t, 60), bodyKind[rigid](t, 60),
		bodyKind[flat](t, 30), bodyKind[fine](t, 128), bodyKind[many](t, 10)} {
		coder := codec.For(k)
		for level := range len(k.Levels) + 1 {
			k, coder := k.At(level), coder.At(level)
			for g := range k.Groups {
				r := rand.New(rand.NewPCG(uint64(i), uint64(g)))
				fmt.Fprintf(&b, "%d %d %d %016x\n", i, level, g, sumBodies[int32](t, r, k, coder, g, 4000))
			}
		}
		r := rand.New(rand.NewPCG(uint64(i), 99))
		fmt.Fprintf(&b, "%d owner %016x\n", i, sumBodies[int64](t, r, k, coder, schema.OwnerGroup, 4000))
	}
	golden.Check(t, "testdata/sums.txt", b.String())
}
