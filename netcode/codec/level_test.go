package codec_test

import (
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"meanwhile/geom"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

type levelled struct {
	Pos   geom.Vec3  `net:"pos,others=1cm,4cm@30m,64cm@100m"`
	Vel   geom.Vec3  `net:"vel,others=1cm/s,8cm/s@30m"`
	Yaw   geom.Angle `net:"angle,others=8bit,6bit@30m"`
	Pitch geom.Angle `net:"angle,others=1deg,8deg@100m"`
	Rot   geom.Quat  `net:"quat,others=9bit,7bit@30m"`
	Heat  float64    `net:"float,0.1,-3..50,others=0.1,0.4@50m"`
	Name  string     `net:"text,6"`
}

// What is rounded to a level stays as it is when it is rounded again, comes back from the steps in
// which it is written, and takes no more bits than the finer value.
func TestLevels(t *testing.T) {
	k, err := schema.New("levelled", reflect.TypeFor[levelled](), 20)
	if err != nil {
		t.Fatal(err)
	}
	if len(k.Levels) != 3 {
		t.Fatalf("levels at %v", k.Levels)
	}
	coder := codec.For(k)
	rapid.Check(t, func(t *rapid.T) {
		sims := make([]int64, k.Sims)
		for c := range sims {
			sims[c] = rapid.Int64().Draw(t, "value") >> rapid.IntRange(16, 63).Draw(t, "shift")
		}
		k.Clamp(sims)
		fine := make([]int32, k.Obs)
		k.Observe(sims, fine)
		for g := range k.Groups {
			at, n := k.Groups[g].At, k.Groups[g].N
			for level := range len(k.Levels) + 1 {
				row := append([]int32(nil), fine[at:at+n]...)
				schema.Coarsen(k, g, level, row)
				again := append([]int32(nil), row...)
				if schema.Coarsen(k, g, level, again); !reflect.DeepEqual(row, again) {
					t.Fatalf("level %d: %v, rounded again %v", level, row, again)
				}
				steps := append([]int32(nil), row...)
				schema.Shrink(k, g, level, steps)
				var w wire.BitWriter
				w.Reset(nil)
				base := codec.Base[int32]{}
				codec.Append(&w, coder.At(level), g, steps, &base, schema.Nonzero(k, g, steps), 9)
				var r wire.BitReader
				r.Reset(w.Bytes())
				got := make([]int32, n)
				if codec.Read(&r, coder.At(level), g, got, &base, 9); r.Bad() || !reflect.DeepEqual(got, steps) {
					t.Fatalf("level %d: %v of %v is read as %v", level, steps, row, got)
				}
				if schema.Grow(k, g, level, got); !reflect.DeepEqual(got, row) {
					t.Fatalf("level %d: %v comes back as %v", level, row, got)
				}
				for _, i := range k.Groups[g].Props {
					q := &k.Props[i]
					for c := q.ObsAt - at; c < q.ObsAt-at+q.Comps; c++ {
						if d := math.Abs(float64(row[c]) - float64(fine[at+c])); q.Class != schema.Quat && q.Turn == 0 &&
							math.Abs(float64(row[c])) < 1<<31-1<<10 && d > float64(int64(1)<<q.Shift[level]) {
							t.Fatalf("level %d: %s %d is rounded to %d", level, q.Name, fine[at+c], row[c])
						}
					}
				}
			}
		}
	})
}
