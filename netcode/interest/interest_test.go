package interest

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// random is splitmix64: the same crowds on every machine.
type random uint64

func (r *random) next() uint64 {
	*r += 0x9E3779B97F4A7C15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

func (r *random) n(n int) int { return int(r.next() % uint64(n)) }

// crowd returns n points of a kilometre, in millimetres: spread evenly, or ("hot") four fifths
// of them in a disc of 100 m radius.
func crowd(n int, hot bool) []point {
	r := random(n)
	points := make([]point, 0, n)
	for i := range n {
		x, y := r.n(1_000_000), r.n(1_000_000)
		for hot && i%5 != 0 {
			dx, dy := r.n(200_000)-100_000, r.n(200_000)-100_000
			if dx*dx+dy*dy < 100_000*100_000 {
				x, y = 500_000+dx, 500_000+dy
				break
			}
		}
		points = append(points, point{int32(x), int32(y), int32(i)})
	}
	return points
}

func newGrid(t testing.TB, cell int32, points []point) *Grid {
	g, err := NewGrid(cell)
	if err != nil {
		t.Fatal(err)
	}
	fill(g, points)
	return g
}

func fill(g *Grid, points []point) {
	g.Reset()
	for _, p := range points {
		g.Insert(p.index, p.x, p.y)
	}
	g.Build()
}

// nearest returns the n nearest points in order, found by a Set.
func nearest(s *Set, g *Grid, x, y int32, n int, last2 int64) []Neighbour {
	found := slices.Clone(s.Follow(g, &Viewer{X: x, Y: y, Nearest: n, Last2: last2}, nil))
	slices.SortFunc(found, compareNeighbours)
	return found
}

// obvious is nearest by sorting everything.
func obvious(points []point, x, y int32, n int) []Neighbour {
	var all []Neighbour
	for _, p := range points {
		dx, dy := int64(p.x)-int64(x), int64(p.y)-int64(y)
		d, carry := bits.Add64(uint64(dx*dx), uint64(dy*dy), 0) // squares are below 1<<64
		if carry != 0 || d > math.MaxInt64 {
			d = math.MaxInt64
		}
		all = append(all, Neighbour{int64(d), p.index})
	}
	slices.SortFunc(all, compareNeighbours)
	return all[:max(0, min(n, len(all)))]
}

// seeds: R18
func TestFollowEqualsObvious(t *testing.T) {
	coordinate := rapid.OneOf(
		rapid.Int32Range(-20, 20),
		rapid.Int32Range(-100_000, 100_000),
		rapid.Int32(),
		rapid.SampledFrom([]int32{math.MinInt32, math.MinInt32 + 1, -1 << 30, -1, 0, 1, 1 << 30,
			math.MaxInt32 - 1, math.MaxInt32}),
	)
	g := newGrid(t, 1, nil)
	var s Set
	rapid.Check(t, func(t *rapid.T) {
		g.least = uint(rapid.IntRange(0, 31).Draw(t, "log of the cell"))
		x, y := coordinate, coordinate
		if rapid.Bool().Draw(t, "tiny world") { // many at the same place
			x, y = rapid.Int32Range(-3, 3), rapid.Int32Range(-3, 3)
		}
		var points []point
		for i := range rapid.IntRange(0, 60).Draw(t, "points") {
			points = append(points, point{x.Draw(t, "x"), y.Draw(t, "y"), int32(i)})
		}
		if rapid.Bool().Draw(t, "crowd") { // and more of them in one or two discs
			r := random(rapid.Uint64().Draw(t, "seed"))
			cx, cy := int64(coordinate.Draw(t, "centre x")), int64(coordinate.Draw(t, "centre y"))
			size := 1 << rapid.IntRange(0, 31).Draw(t, "log of the size")
			for range rapid.IntRange(0, 1000).Draw(t, "crowd") {
				px, py := clamp(cx+int64(r.n(size))), clamp(cy+int64(r.n(size)))
				points = append(points, point{px, py, int32(len(points))})
			}
		}
		if rapid.Bool().Draw(t, "backwards") {
			slices.Reverse(points)
		}
		fill(g, points)
		for range 3 {
			px, py := coordinate.Draw(t, "at x"), coordinate.Draw(t, "at y")
			if len(points) > 0 && rapid.Bool().Draw(t, "at a point") {
				p := points[rapid.IntRange(0, len(points)-1).Draw(t, "which")]
				px, py = p.x, p.y
			}
			n := rapid.OneOf(rapid.IntRange(-1, 20), rapid.IntRange(0, len(points)+5)).Draw(t, "n")
			want := obvious(points, px, py, n)
			last2 := int64(0)
			if len(want) > 0 && rapid.Bool().Draw(t, "hint") {
				d := float64(want[len(want)-1].Dist2)
				last2 = int64(d / 4 * rapid.Float64Range(0, 4).Draw(t, "wrong by"))
			}
			if got := nearest(&s, g, px, py, n, last2); !slices.Equal(got, want) {
				t.Fatalf("the nearest %d of %d to %d, %d, hint %d:\n got %v\nwant %v",
					n, len(points), px, py, last2, got, want)
			}
		}
	})
}

func clamp(v int64) int32 { return int32(min(max(v, math.MinInt32), math.MaxInt32)) }

// Of equally far points on both sides of a cell's edge the one with the lesser index comes first,
// also if its cell need not be searched otherwise. In small worlds of small cells such ties are
// common.
func TestFollowTiesAtCellEdges(t *testing.T) {
	r := random(7)
	g := newGrid(t, 1, nil)
	var s Set
	for range 4000 {
		g.least = uint(r.n(3))
		size, count := 20+r.n(40), 20+r.n(60)
		points := make([]point, count)
		for i := range points {
			points[i] = point{int32(r.n(size)), int32(r.n(size)), int32((i * 37) % count)}
		}
		fill(g, points)
		for range 10 {
			x, y, n := int32(r.n(size)), int32(r.n(size)), 1+r.n(6)
			want := obvious(points, x, y, n)
			for _, hint := range []int64{0, want[len(want)-1].Dist2} {
				if got := nearest(&s, g, x, y, n, hint); !slices.Equal(got, want) {
					t.Fatalf("the nearest %d to %d, %d of %v:\n got %v\nwant %v", n, x, y, points, got, want)
				}
			}
		}
	}
}

// The shapes of worlds that hurt some grid.
func TestFollowShapes(t *testing.T) {
	line := make([]point, 3000)
	diagonal := make([]point, 3000)
	corners := make([]point, 2000)
	parked := crowd(2000, false)
	onePlace := make([]point, 2000)
	towns := make([]point, 2000)
	spiral := make([]point, 1500) // distances grow by half an octave each: no bucket fits
	r := random(1)
	for i := range line {
		line[i] = point{int32(i * 1000), 5, int32(i)}
		diagonal[i] = point{int32(i*700 - 1e6), int32(i * 700), int32(i)}
	}
	for i := range corners {
		ends := []int32{math.MinInt32, math.MaxInt32}
		corners[i] = point{ends[i&1], ends[i>>1&1], int32(i)}
		onePlace[i] = point{77, -77, int32(len(onePlace) - i)}
		towns[i] = point{int32(i%10*400_000_000-2_000_000_000) + int32(r.n(100_000)), int32(r.n(100_000)), int32(i)}
		if i%16 == 0 {
			parked[i] = point{math.MinInt32, math.MinInt32, int32(i)}
		}
	}
	for i := range spiral {
		spiral[i] = point{int32(1 << (i % 31)), int32(i), int32(i)}
	}
	for _, c := range []struct {
		name   string
		points []point
	}{
		{"uniform", crowd(2000, false)}, {"hot", crowd(2000, true)}, {"line", line}, {"diagonal", diagonal},
		{"corners", corners}, {"parked far away", parked}, {"one place", onePlace}, {"towns", towns}, {"spiral", spiral},
		{"one", line[:1]}, {"none", nil},
	} {
		for _, cell := range []int32{1, 1000, math.MaxInt32} {
			g := newGrid(t, cell, c.points)
			if g.Len() != len(c.points) || g.rows*g.cols > max(leastCells, cellsPerPoint*len(c.points)) {
				t.Errorf("%s: %d points, %d cells", c.name, g.Len(), g.rows*g.cols)
			}
			var s Set
			for i := range 20 {
				x, y := int32(r.next()), int32(r.next())
				if i > 3 && len(c.points) > 0 {
					p := c.points[r.n(len(c.points))]
					x, y = p.x, p.y
				}
				for _, n := range []int{1, 10, 250, len(c.points) - 1, len(c.points), len(c.points) + 1} {
					if want := obvious(c.points, x, y, n); !slices.Equal(nearest(&s, g, x, y, n, s.Reach2), want) {
						t.Fatalf("%s, cell %d: the nearest %d to %d, %d differ", c.name, cell, n, x, y)
					}
				}
			}
		}
	}
}

// A few points parked at the end of the world do not make the cells of the others coarse.
func TestWindow(t *testing.T) {
	points := crowd(1000, false)
	g := newGrid(t, 1, points)
	want := g.shift
	for i := range 50 {
		points[i*20].x, points[i*20].y = math.MaxInt32, math.MinInt32
	}
	fill(g, points)
	if g.shift > want+1 {
		t.Errorf("cells of %d units, without parked points %d", 1<<g.shift, 1<<want)
	}
}

func TestNewGrid(t *testing.T) {
	for _, cell := range []int32{0, -1, math.MinInt32} {
		if _, err := NewGrid(cell); err == nil {
			t.Errorf("NewGrid(%d) succeeded", cell)
		} else if want := fmt.Sprintf("interest: cell %d is not positive", cell); err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
	g := newGrid(t, math.MaxInt32, nil)
	var s Set
	if got := nearest(&s, g, 0, 0, 5, 0); len(got) != 0 {
		t.Errorf("an empty grid found %v", got)
	}
	g.Insert(3, 1, 2)
	if got := nearest(&s, g, 0, 0, 5, 0); len(got) != 0 {
		t.Errorf("found %v before Build", got)
	}
	g.Build()
	g.Reset()
	if got, want := nearest(&s, g, 0, 0, 5, 0), []Neighbour{{5, 3}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: Reset changes nothing before Build", got, want)
	}
}

func TestDistance2(t *testing.T) {
	for _, c := range []struct{ dx, dy, want int64 }{
		{0, 0, 0}, {3, -4, 25}, {1<<31 - 1, 1<<31 - 1, 2 * (1<<31 - 1) * (1<<31 - 1)},
		{1 << 31, 1 << 31, math.MaxInt64}, // 1<<63
		{3037000499, 0, 3037000499 * 3037000499},
		{3037000500, 0, math.MaxInt64},
		{1<<32 - 1, -(1<<32 - 1), math.MaxInt64},
		{0, -(1<<32 - 1), math.MaxInt64},
	} {
		if got := distance2(c.dx, c.dy); got != c.want {
			t.Errorf("distance2(%d, %d) = %d, want %d", c.dx, c.dy, got, c.want)
		}
	}
}

// A follower is a client with a Set of its own, which knows what it was last shown.
type follower struct {
	set   Set
	knows []int32
}

// follow makes the follower see the indexes, which stand one step apart, in their order.
func (f *follower) follow(g *Grid, near []int32, n, margin int, allow func(int32) bool) (visible []int32) {
	g.Reset()
	for i, index := range near {
		g.Insert(index, int32(i), 0)
	}
	g.Build()
	v := Viewer{Nearest: n, Margin: margin, Last2: f.set.Reach2, Allow: allow}
	members := slices.Clone(f.set.Follow(g, &v, f.knows))
	slices.SortFunc(members, compareNeighbours)
	for _, m := range members {
		visible = append(visible, m.Index)
	}
	f.knows = visible
	return visible
}

// A client sees the nearest n and keeps what it knows until margin more are nearer. One that is not
// allowed any more leaves at once.
//
// seeds: R17
func TestSet(t *testing.T) {
	var f follower
	g := newGrid(t, 1, nil)
	list := func(v ...int32) []int32 { return v }
	for _, c := range []struct {
		name          string
		near          []int32
		n, margin     int
		hidden        int32
		visible       []int32
		entered, left []int32
		reach         int64 // rank of the last that is surely visible; -1: all are
	}{
		{name: "first", near: list(7, 300, 2, 64), n: 3, margin: 1,
			visible: list(7, 300, 2), entered: list(7, 300, 2), reach: 2},
		{name: "no change", near: list(2, 300, 7, 64), n: 3, margin: 1, visible: list(2, 300, 7), reach: 2},
		{name: "4th stays", near: list(2, 64, 300, 7), n: 3, margin: 1,
			visible: list(2, 64, 300, 7), entered: list(64), reach: 2},
		{name: "5th leaves", near: list(2, 64, 300, 1, 7), n: 3, margin: 1,
			visible: list(2, 64, 300), left: list(7), reach: 2},
		{name: "4th does not enter", near: list(2, 64, 300, 7), n: 3, margin: 1, visible: list(2, 64, 300), reach: 2},
		{name: "hidden: leaves at once and takes no rank", near: list(2, 64, 300, 7), n: 3, margin: 1, hidden: 64,
			visible: list(2, 300, 7), entered: list(7), left: list(64), reach: -1},
		{name: "no candidate any more", near: list(300), n: 3, margin: 1, visible: list(300), left: list(2, 7), reach: -1},
		{name: "nobody", near: list(300, 1), n: -1, margin: -5, left: list(300), reach: -1},
		{name: "far index", near: list(100_000), n: 1, visible: list(100_000), entered: list(100_000), reach: -1},
		{name: "far index left", n: 1, left: list(100_000), reach: -1},
	} {
		got := f.follow(g, c.near, c.n, c.margin, func(i int32) bool { return i != c.hidden })
		if !slices.Equal(got, c.visible) || !slices.Equal(f.set.Entered, c.entered) || !slices.Equal(f.set.Left, c.left) {
			t.Errorf("%s: sees %v, entered %v, left %v; want %v, %v, %v",
				c.name, got, f.set.Entered, f.set.Left, c.visible, c.entered, c.left)
		}
		if want := c.reach * max(c.reach, 1); f.set.Reach2 != want {
			t.Errorf("%s: the squared reach is %d, want %d", c.name, f.set.Reach2, want)
		}
	}
}

// Those at the same place come and go together, unless they are more than the margin.
//
// seeds: R17
func TestTogether(t *testing.T) {
	g := newGrid(t, 1, nil)
	r := random(11)
	var s Set
	whole, cut, changes := 0, 0, 0
	for range 300 {
		n, margin := r.n(12), r.n(6)
		groups := make([]int, 25) // how many are at each place
		for i := range groups {
			groups[i] = 1 + r.n(5)
		}
		var knows []int32
		for range 20 {
			at := map[int32]int{} // which group is at each distance
			var points []point
			for i, size := range groups {
				x := int32(r.n(60))
				for _, taken := at[x]; taken; _, taken = at[x] {
					x++
				}
				at[x] = i
				for k := range size {
					points = append(points, point{x, 0, int32(i*8 + k)})
				}
			}
			fill(g, points)
			members := s.Follow(g, &Viewer{Nearest: n, Margin: margin, Last2: int64(r.n(900))}, knows)
			if len(members) < n || len(members) > n+margin {
				t.Fatalf("%d members, want %d to %d", len(members), n, n+margin)
			}
			in := map[int32]int{}
			knows = knows[:0]
			for _, m := range members {
				in[m.Index/8]++
				knows = append(knows, m.Index)
			}
			for i, k := range in {
				size := groups[i]
				if k == size {
					whole++
				} else if cut++; size <= margin {
					t.Fatalf("%d of %d are members, of nearest %d and %d more: %v", k, size, n, margin, points)
				}
			}
			changes += len(s.Entered) + len(s.Left)
		}
	}
	if whole < 1000 || cut < 100 || changes < 1000 {
		t.Errorf("%d whole groups, %d cut ones, %d changes", whole, cut, changes)
	}
}

// A set equals the obvious: ranks among those that are allowed, however many are hidden.
func TestSetProperties(t *testing.T) {
	g := newGrid(t, 1, nil)
	var shared Set // by all followers: nothing of one may reach another
	rapid.Check(t, func(t *rapid.T) {
		f := follower{set: shared}
		was := map[int32]bool{}
		for range rapid.IntRange(1, 20).Draw(t, "updates") {
			distinct := rapid.SliceOfDistinct(rapid.Int32Range(0, 150), func(v int32) int32 { return v })
			indexes := distinct.Draw(t, "near")
			n, margin := rapid.IntRange(0, 40).Draw(t, "n"), rapid.IntRange(0, 20).Draw(t, "margin")
			hidden := rapid.Int32Range(1, 10).Draw(t, "hidden")
			allow := func(i int32) bool { return i%hidden != 1 }
			now, rank, reach := map[int32]bool{}, 0, 0
			var visible, entered []int32
			for at, v := range indexes {
				if !allow(v) {
					continue
				}
				if rank < n {
					reach = at
				}
				if rank < n || rank < n+margin && was[v] {
					now[v] = true
					visible = append(visible, v)
					if !was[v] {
						entered = append(entered, v)
					}
				}
				rank++
			}
			var left []int32
			for _, v := range f.knows {
				if !now[v] {
					left = append(left, v)
				}
			}
			got := f.follow(g, indexes, n, margin, allow)
			if !slices.Equal(got, visible) || !slices.Equal(f.set.Entered, entered) || !slices.Equal(f.set.Left, left) {
				t.Fatalf("sees %v, entered %v, left %v; want %v, %v, %v",
					got, f.set.Entered, f.set.Left, visible, entered, left)
			}
			if want := int64(reach) * int64(reach); n+margin > 0 && rank > n && f.set.Reach2 != want ||
				rank <= n && f.set.Reach2 >= 0 {
				t.Fatalf("the squared reach is %d, want %d, of %d that are allowed", f.set.Reach2, want, rank)
			}
			was = now
		}
		shared = f.set
	})
}

// What clients of a moving crowd know equals the obvious after every refresh, with one Set for all
// of them and the search that starts from the last reach.
//
// seeds: R17 R18
func TestCrowd(t *testing.T) {
	for _, hot := range []bool{false, true} {
		points := crowd(1500, hot)
		g := newGrid(t, cell, points)
		var s Set
		clients := make([]client, 30)
		r := random(4)
		for round := range 12 {
			for i := range points {
				points[i].x += int32(r.n(8001)) - 4000
			}
			if round == 6 { // a teleport
				points[0].x += 400_000
			}
			fill(g, points)
			for i := range clients {
				c, p := &clients[i], points[i*7]
				v := Viewer{X: p.x, Y: p.y, Nearest: sees, Margin: margin, Last2: c.last2}
				members := slices.Clone(s.Follow(g, &v, c.knows))
				slices.SortFunc(members, compareNeighbours)
				var want []Neighbour
				for rank, e := range obvious(points, p.x, p.y, sees+margin) {
					if rank < sees || slices.Contains(c.knows, e.Index) {
						want = append(want, e)
					}
				}
				if !slices.Equal(members, want) || s.Reach2 != want[sees-1].Dist2 {
					t.Fatalf("hot %v, round %d, client %d: %d members, want %d; reach %d, want %d",
						hot, round, i, len(members), len(want), s.Reach2, want[sees-1].Dist2)
				}
				c.knows, c.last2 = c.knows[:0], s.Reach2
				for _, e := range members {
					c.knows = append(c.knows, e.Index)
				}
			}
		}
	}
}
