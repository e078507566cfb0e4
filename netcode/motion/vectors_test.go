package motion_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"meanwhile/geom"
	"meanwhile/internal/verify/golden"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
)

// ways has a property of each way of drawing, in a group of its own kind, so that a vector shows
// one at a time.
var ways = []struct {
	name string
	of   any
}{
	{"step", struct {
		P geom.Vec2 `net:"pos,draw=step"`
	}{}},
	{"line", struct {
		P geom.Vec2 `net:"pos"`
	}{}},
	{"cubic", struct {
		P geom.Vec2 `net:"pos,draw=hermite"`
		V geom.Vec2 `net:"vel"`
	}{}},
	{"angle", struct {
		A geom.Angle `net:"angle,1deg"`
	}{}},
	{"view", struct {
		A geom.View `net:"view,1deg"`
	}{}},
	{"rotation", struct {
		Q geom.Quat `net:"quat,9bit"`
	}{}},
	{"reckoned", struct {
		P geom.Vec2 `net:"pos,draw=dr:10cm"`
		V geom.Vec2 `net:"vel"`
	}{}},
	{"reckoned-angle", struct {
		A geom.Angle `net:"angle,1deg,draw=dr:5deg"`
		S geom.Angle `net:"spin,1deg/s"`
	}{}},
	{"jump", struct {
		P geom.Vec2 `net:"pos,warp=2m"`
	}{}},
	{"parent", struct {
		H uint32    `net:"handle,parent"`
		P geom.Vec2 `net:"pos"`
	}{}},
}

// What is drawn from two records, for clients in other languages: testdata/drawn.txt. A new line
// means that old clients draw, and old servers judge, something else: a change of the protocol.
func TestVectors(t *testing.T) {
	var b strings.Builder
	b.WriteString("# What is drawn at 30 ticks a second: way; values of the older record and of the newer one, " +
		"with its ticks of cut, start, bound and R where it rests;\n" +
		"# playout time in 1/256 ticks; drawn values in 1/256 steps. A - is no newer record. The kinds, as schema text:\n")
	for _, way := range ways {
		k, err := schema.New(way.name, reflect.TypeOf(way.of), 30)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("# kind " + strings.ReplaceAll(strings.TrimSuffix(k.Text(), "\n"), "\n", "\n# ") + "\n")
	}
	pairs := map[string][][2][]int64{
		"step":  {{{0, 5}, {100, -5}}},
		"line":  {{{0, 5}, {100, -5}}, {{-1, 7}, {0, 7}}},
		"cubic": {{{0, 0, 300, 0}, {100, -50, 300, 30}}, {{0, 0, -900, 0}, {40, 0, 9000, 0}}},
		"angle": {{{350}, {20}}, {{0}, {180}}, {{20}, {350}}},
		"view":  {{{350, 350}, {20, 40}}, {{0, 90}, {180, 270}}},
		"rotation": {{{0, 0, 0}, {0, 0, 255}}, {{100, 100, 100}, {612, -100, 60}}, {{512, 512, 0}, {-255, 0, 0}},
			{{180, 180, 180}, {180, 180, -180}}},
		"reckoned":       {{{0, 0, 300, -30}, {90, 5, 600, 0}}},
		"reckoned-angle": {{{350, 90}, {20, 0}}},
		"jump":           {{{0, 0}, {120, 120}}, {{0, 0}, {200, 1}}},
		"parent":         {{{7, 10, 10}, {7, 20, 10}}, {{7, 10, 10}, {8, 20, 10}}},
	}
	for _, way := range ways {
		k, err := schema.New("k", reflect.TypeOf(way.of), 30)
		if err != nil {
			t.Fatal(err)
		}
		for _, pair := range pairs[way.name] {
			for _, to := range []*motion.State{{Tick: 110}, {Tick: 110, Cut: 104}, {Tick: 110, Start: 106},
				{Tick: 110, Bound: 3}, {Tick: 110, Rest: true}, nil} {
				from := &motion.State{Tick: 100, Vals: pair[0]}
				said := "-"
				if to != nil {
					to.Vals = pair[1]
					if said = fmt.Sprint("110 ", to.Vals, " ", to.Cut, " ", to.Start, " ", to.Bound); to.Rest {
						said += " R"
					}
				}
				for _, at := range []clock.TickFrac{99 * 256, 102*256 + 77, 107*256 + 1, 111 * 256} {
					dst := make([]int64, k.Groups[0].N)
					motion.Draw(k, &k.Groups[0], from, to, at, dst)
					fmt.Fprintf(&b, "%s 100 %v %s at %d drawn %v\n", way.name, from.Vals, said, at, dst)
				}
			}
		}
	}
	golden.Check(t, "testdata/drawn.txt", b.String())
}
