package interest

import (
	"fmt"
	"slices"
	"testing"
)

// groups is the other way to know who is in sight, to compare Set with: viewers who stand together
// share one search. A group follows its centre of gravity. A viewer leaves it beyond radius of the
// centre, and groups whose centres come within half of that become one. All of a group know the
// same entities, so what one of them knows is as right as the group is small.
type groups struct {
	radius int64
	of     []int32 // group of each viewer
	all    []group
	grid   *Grid
	near   Set // among centres
	set    Set
	marks  []uint8
}

type group struct {
	x, y, n int64 // sums of its viewers, then the centre of gravity
	knows   []int32
	last2   int64
}

// newGroups begins with a group in each square that fits into radius.
func newGroups(t testing.TB, radius int64, points []point) *groups {
	g := &groups{radius: radius, of: make([]int32, len(points)), grid: newGrid(t, int32(radius), nil),
		all: make([]group, len(points)), marks: make([]uint8, len(points))}
	type square struct{ x, y int64 }
	first := map[square]int32{}
	for i, p := range points {
		at := square{int64(p.x) * 3 / (radius * 4), int64(p.y) * 3 / (radius * 4)}
		if _, ok := first[at]; !ok {
			first[at] = int32(i)
		}
		g.of[i] = first[at]
	}
	return g
}

// gather moves all centres to where their viewers are.
func (g *groups) gather(points []point) {
	for i := range g.all {
		c := &g.all[i]
		c.x, c.y, c.n = 0, 0, 0
	}
	for i, p := range points {
		c := &g.all[g.of[i]]
		c.x, c.y, c.n = c.x+int64(p.x), c.y+int64(p.y), c.n+1
	}
	for i := range g.all {
		if c := &g.all[i]; c.n > 0 {
			c.x, c.y = c.x/c.n, c.y/c.n
		}
	}
}

// follow splits and merges groups and lets each search once.
func (g *groups) follow(points []point, grid *Grid) {
	g.gather(points)
	empty := 0
	for i, p := range points { // who is too far away is a group of its own
		c := &g.all[g.of[i]]
		if c.n > 1 && distance2(int64(p.x)-c.x, int64(p.y)-c.y) > g.radius*g.radius {
			for g.all[empty].n > 0 {
				empty++
			}
			old := c
			old.n--
			g.of[i] = int32(empty)
			g.all[empty] = group{int64(p.x), int64(p.y), 1, append(g.all[empty].knows[:0], old.knows...), old.last2}
		}
	}
	g.grid.Reset()
	for i := range g.all {
		if c := &g.all[i]; c.n > 0 {
			g.grid.Insert(int32(i), int32(c.x), int32(c.y))
		}
	}
	g.grid.Build()
	into := make([]int32, len(g.all))
	for i := range g.all {
		into[i] = int32(i)
		c := &g.all[i]
		if c.n == 0 {
			continue
		}
		v := Viewer{X: int32(c.x), Y: int32(c.y), Nearest: 2, Last2: 2 * g.radius * g.radius}
		for _, o := range g.near.Follow(g.grid, &v, nil) {
			if o.Index < int32(i) && into[o.Index] == o.Index && 4*o.Dist2 <= g.radius*g.radius {
				into[i] = o.Index
			}
		}
	}
	for i := range g.of {
		g.of[i] = into[g.of[i]]
	}
	g.gather(points)
	for i := range g.all {
		c := &g.all[i]
		if c.n == 0 {
			continue
		}
		v := Viewer{X: int32(c.x), Y: int32(c.y), Nearest: sees, Margin: margin, Last2: c.last2}
		members := g.set.Follow(grid, &v, c.knows)
		c.knows, c.last2 = c.knows[:0], g.set.Reach2
		for _, m := range members {
			c.knows = append(c.knows, m.Index)
		}
	}
}

// change brings what a viewer knows in line with its group, and returns how many came and went.
func (g *groups) change(viewer int, knows []int32) (_ []int32, changes int) {
	now := g.all[g.of[viewer]].knows
	for _, i := range knows {
		g.marks[i] = known
	}
	for _, i := range now {
		if g.marks[i] == unknown {
			changes++
		}
		g.marks[i] = member
	}
	for _, i := range knows {
		if g.marks[i] == known {
			changes++
		}
		g.marks[i] = unknown
	}
	for _, i := range now {
		g.marks[i] = unknown
	}
	return append(knows[:0], now...), changes
}

// Groups stay within their radius, and in a crowd that moves few viewers change theirs.
//
// seeds: R19
func TestGroups(t *testing.T) {
	const radius = 20_000
	w := newWorld(t, crowd(1000, true))
	g := newGroups(t, radius, w.points)
	changed, rounds := 0, 40
	for round := range rounds {
		was := slices.Clone(g.of)
		w.move()
		fill(w.grid, w.points)
		g.follow(w.points, w.grid)
		far := 0
		for i, p := range w.points {
			c := g.all[g.of[i]]
			if distance2(int64(p.x)-c.x, int64(p.y)-c.y) > radius*radius*9/4 {
				far++
			}
			if was[i] != g.of[i] && round >= rounds/2 {
				changed++
			}
		}
		if far > 0 {
			t.Fatalf("round %d: %d viewers are beyond the radius and half of it", round, far)
		}
	}
	if most := len(w.points) * rounds / 2 / 20; changed > most {
		t.Errorf("%d times a viewer changed its group, want at most %d", changed, most)
	}
}

// BenchmarkGroups compares Set with groups of some radii, in a hot crowd whose sets are refreshed
// four times a second: what a refresh costs a viewer, how many share a search, how much of its true
// nearest 250 and 50 a viewer knows, and how many entities come and go.
func BenchmarkGroups(b *testing.B) {
	for _, n := range []int{1000, 8000} {
		for _, radius := range []int64{0, 2000, 5000, 10_000, 20_000} {
			b.Run(fmt.Sprintf("entities=%d/radius=%dm", n, radius/1000), func(b *testing.B) {
				w := newWorld(b, crowd(n, true))
				g := newGroups(b, max(radius, 1), w.points)
				changes, rounds := 0, 0
				refresh := func() {
					for range 5 {
						w.move()
					}
					if radius == 0 {
						w.follow()
						return
					}
					fill(w.grid, w.points)
					g.follow(w.points, w.grid)
					for i := range w.clients {
						c, more := &w.clients[i], 0
						c.knows, more = g.change(i, c.knows)
						changes += more
					}
				}
				for range 10 {
					refresh()
				}
				changes, w.changes = 0, 0
				for b.Loop() {
					refresh()
					rounds++
				}
				viewers := float64(n * rounds)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/viewers, "ns/viewer")
				b.ReportMetric(float64(changes+2*w.changes)/viewers, "changes/refresh")
				if radius > 0 {
					used := 0
					for i := range g.all {
						if g.all[i].n > 0 {
							used++
						}
					}
					b.ReportMetric(float64(n)/float64(used), "viewers/group")
				}
				has250, has50, looked := 0, 0, 0
				for i := 0; i < n; i += n / 100 {
					p := w.points[i]
					looked++
					for rank, e := range obvious(w.points, p.x, p.y, sees) {
						if slices.Contains(w.clients[i].knows, e.Index) {
							has250++
							if rank < 50 {
								has50++
							}
						}
					}
				}
				b.ReportMetric(float64(has250)/float64(looked*sees), "of-250")
				b.ReportMetric(float64(has50)/float64(looked*50), "of-50")
			})
		}
	}
}
