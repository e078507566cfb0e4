package baseline

import "meanwhile/netcode/interest"

// Groups is how Ryzom's Ring knows who is in sight (ryzomcore, server_share, r2_vision): viewers
// who stand together share one search. A group follows its centre of gravity. A viewer leaves it
// beyond the radius, and groups whose centres come within half of that become one. All of a group
// know the same entities, so what one of them knows is as right as the group is small.
type Groups struct {
	radius       int64
	see, margin  int
	of, into     []int32 // group of each viewer; of each group, the one that it becomes a part of
	all          []group
	grid         *interest.Grid
	near, search interest.Set // among centres; among entities
}

type group struct {
	x, y, n int64 // sums of its viewers, then the centre of gravity
	knows   []int32
	last2   int64
}

// A Place is where a viewer stands, in millimetres.
type Place struct{ X, Y int32 }

// NewGroups returns groups of a radius in millimetres, above 0, whose viewers know the nearest see
// entities and keep them among see and margin. It begins with a group in each square that fits into
// the radius.
func NewGroups(radius int32, see, margin int, at []Place) (*Groups, error) {
	grid, err := interest.NewGrid(radius)
	if err != nil {
		return nil, err
	}
	g := &Groups{radius: int64(radius), see: see, margin: margin, of: make([]int32, len(at)),
		into: make([]int32, len(at)), grid: grid, all: make([]group, len(at))}
	type square struct{ x, y int64 }
	first := map[square]int32{}
	for i, p := range at {
		s := square{int64(p.X) * 3 / (g.radius * 4), int64(p.Y) * 3 / (g.radius * 4)}
		if _, ok := first[s]; !ok {
			first[s] = int32(i)
		}
		g.of[i] = first[s]
	}
	return g, nil
}

// Follow splits and merges groups, and lets each search once in a grid of all entities.
func (g *Groups) Follow(at []Place, grid *interest.Grid) {
	g.gather(at)
	g.split(at)
	g.merge()
	g.gather(at)
	for i := range g.all {
		c := &g.all[i]
		if c.n == 0 {
			continue
		}
		v := interest.Viewer{X: int32(c.x), Y: int32(c.y), Nearest: g.see, Margin: g.margin, Last2: c.last2}
		members := g.search.Follow(grid, &v, c.knows)
		c.knows, c.last2 = c.knows[:0], g.search.Reach2
		for _, m := range members {
			c.knows = append(c.knows, m.Index)
		}
	}
}

// gather moves all centres to where their viewers are.
func (g *Groups) gather(at []Place) {
	for i := range g.all {
		c := &g.all[i]
		c.x, c.y, c.n = 0, 0, 0
	}
	for i, p := range at {
		c := &g.all[g.of[i]]
		c.x, c.y, c.n = c.x+int64(p.X), c.y+int64(p.Y), c.n+1
	}
	for i := range g.all {
		if c := &g.all[i]; c.n > 0 {
			c.x, c.y = c.x/c.n, c.y/c.n
		}
	}
}

// split makes a group of its own of each viewer who is too far away from its centre.
func (g *Groups) split(at []Place) {
	empty := 0
	for i, p := range at {
		c := &g.all[g.of[i]]
		if c.n <= 1 || c.distance2(p) <= g.radius*g.radius {
			continue
		}
		for g.all[empty].n > 0 {
			empty++
		}
		c.n--
		g.of[i] = int32(empty)
		g.all[empty] = group{int64(p.X), int64(p.Y), 1, append(g.all[empty].knows[:0], c.knows...), c.last2}
	}
}

// merge makes one of groups whose centres are within half of the radius.
func (g *Groups) merge() {
	g.grid.Reset()
	for i := range g.all {
		if c := &g.all[i]; c.n > 0 {
			g.grid.Insert(int32(i), int32(c.x), int32(c.y))
		}
	}
	g.grid.Build()
	for i := range g.all {
		g.into[i] = int32(i)
		c := &g.all[i]
		if c.n == 0 {
			continue
		}
		v := interest.Viewer{X: int32(c.x), Y: int32(c.y), Nearest: 2, Last2: 2 * g.radius * g.radius}
		for _, o := range g.near.Follow(g.grid, &v, nil) {
			if o.Index < int32(i) && g.into[o.Index] == o.Index && 4*o.Dist2 <= g.radius*g.radius {
				g.into[i] = o.Index
			}
		}
	}
	for i := range g.of {
		g.of[i] = g.into[g.of[i]]
	}
}

func (c *group) distance2(p Place) int64 {
	dx, dy := int64(p.X)-c.x, int64(p.Y)-c.y
	return dx*dx + dy*dy
}

// Known returns the entities that a viewer knows. It is valid until the next Follow.
func (g *Groups) Known(viewer int) []int32 { return g.all[g.of[viewer]].knows }

// Group returns the number of a viewer's group, and how far its centre is from the viewer's place,
// squared.
func (g *Groups) Group(viewer int, at Place) (number int32, distance2 int64) {
	return g.of[viewer], g.all[g.of[viewer]].distance2(at)
}

// Len returns how many groups there are.
func (g *Groups) Len() (n int) {
	for i := range g.all {
		if g.all[i].n > 0 {
			n++
		}
	}
	return n
}
