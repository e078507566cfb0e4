package arena

import (
	"sync"

	"meanwhile/geom"
)

// Bots find their way by distance fields: the way to a goal from every cell of a grid of one metre.
// A field is computed when the first bot needs it.
const (
	cells      = Width * Depth
	climbable  = 1.25 // height in metres that a jump can reach
	climbCost  = 30   // what a jump onto something costs, in tenths of a metre of way
	goalEvery  = 6    // metres between goals
	farAway    = 1 << 15
	roomToWalk = Radius + 0.05
)

type distances [cells]uint16

// goal is a place with its distance field.
type goal struct {
	at    geom.Vec3
	level *level
	once  sync.Once
	field distances // tenths of a metre; see far
}

// ways are what bots know of a level.
type ways struct {
	once    sync.Once
	heights [cells]float64         // of the floor in each cell, farAway where nobody can stand
	arcs    [cells][len(steps)]arc // into each cell
	goals   []goal                 // the pads, in their order, and then places all over the level
}

// chart returns the ways of a level.
func (l *level) chart() *ways {
	l.ways.once.Do(l.survey) //meanwhile:ok the result is the same for all worlds, and never changes
	return &l.ways
}

// far returns the distance field of a goal.
func (g *goal) far() *distances {
	g.once.Do(g.spread) //meanwhile:ok the result is the same for all worlds, and never changes
	return &g.field
}

func center(c int) geom.Vec2 {
	return geom.Vec2{X: float64(c%Width) + 0.5, Y: float64(c/Width) + 0.5}
}

func cellAt(p geom.Vec2) int {
	return min(max(int(p.Y), 0), Depth-1)*Width + min(max(int(p.X), 0), Width-1)
}

// survey computes the heights, the arcs and the goals, without their fields.
func (l *level) survey() {
	w, flat := &l.ways, l.flat()
	for c := range w.heights {
		w.heights[c] = flat.floorAt(center(c), high, roomToWalk)
		if !field.Contains(center(c)) || w.heights[c] >= high {
			w.heights[c] = farAway
		}
	}
	for a := range cells { // all fields use them: to call toll each time takes ten times as long
		for i, s := range steps {
			if b, cost, ok := w.toll(a, s); ok {
				w.arcs[b][i] = arc{uint16(a), uint16(cost)}
			}
		}
	}
	var at []geom.Vec3
	for _, p := range l.pads {
		at = append(at, p.pos)
	}
	for y := goalEvery / 2; y < Depth; y += goalEvery {
		for x := goalEvery / 2; x < Width; x += goalEvery {
			if c := y*Width + x; w.heights[c] == 0 {
				at = append(at, center(c).At(0))
			}
		}
	}
	w.goals = make([]goal, len(at))
	for i := range w.goals {
		w.goals[i].at, w.goals[i].level = at[i], l
	}
}

// steps are the eight ways out of a cell, straight ones first.
var steps = [8][3]int{
	{1, 0, 10}, {-1, 0, 10}, {0, 1, 10}, {0, -1, 10},
	{1, 1, 14}, {-1, 1, 14}, {1, -1, 14}, {-1, -1, 14},
}

// beside returns the cell one step away.
func beside(c int, s [3]int) (int, bool) {
	x, y := c%Width+s[0], c/Width+s[1]
	return y*Width + x, x >= 0 && x < Width && y >= 0 && y < Depth
}

// toll returns the cost of step s out of cell a; ok is false if the step is not possible.
func (w *ways) toll(a int, s [3]int) (b, cost int, ok bool) {
	if b, ok = beside(a, s); !ok || w.heights[b]-w.heights[a] > climbable || w.heights[a] == farAway {
		return b, 0, false
	}
	if s[0] != 0 && s[1] != 0 { // a diagonal step must not cut a corner
		for _, half := range [2][3]int{{s[0], 0}, {0, s[1]}} {
			if c, _ := beside(a, half); w.heights[c] > max(w.heights[a], w.heights[b]) {
				return b, 0, false
			}
		}
	}
	if cost = s[2]; w.heights[b]-w.heights[a] > StepUp {
		cost += climbCost
	}
	return b, cost, true
}

// An arc is a step into a cell: the cell that it comes from, and its cost; 0 if it is not possible.
type arc struct{ from, cost uint16 }

// spread fills the field from the goal outwards.
func (g *goal) spread() {
	w, far := g.level.chart(), &g.field
	for c := range far {
		far[c] = farAway
	}
	first := cellAt(g.at.XY())
	far[first] = 0
	queue, waits := []uint16{uint16(first)}, [cells]bool{}
	for len(queue) > 0 {
		b := queue[0]
		queue = queue[1:]
		waits[b] = false
		for _, s := range w.arcs[b] {
			if s.cost == 0 || far[b]+s.cost >= far[s.from] {
				continue
			}
			if far[s.from] = far[b] + s.cost; !waits[s.from] {
				waits[s.from] = true
				queue = append(queue, s.from)
			}
		}
	}
}

// from returns the way to the goal in metres.
func (g *goal) from(p geom.Vec2) float64 {
	_, d := g.nearest(p)
	return float64(d) / 10
}

// nearest returns the best cell at or beside p. Nobody may be able to stand in the middle of p's
// own.
func (g *goal) nearest(p geom.Vec2) (cell int, d uint16) {
	far := g.far()
	cell = cellAt(p)
	if d = far[cell]; d < farAway {
		return cell, d
	}
	for _, s := range steps {
		if c, ok := beside(cell, s); ok && far[c] < d {
			cell, d = c, far[c]
		}
	}
	return cell, d
}

// lookahead is how many cells of the way a bot looks ahead to take a straight line.
const lookahead = 6

// way returns the direction from p, at height z, to the goal; zero at the goal.
func (g *goal) way(p geom.Vec2, z float64) geom.Vec2 {
	cell, d := g.nearest(p)
	if d == 0 {
		return toward(p, g.at.XY())
	}
	target, far, w := center(cell), g.far(), g.level.chart()
	for i := range lookahead {
		best, least := cell, far[cell]
		for _, s := range steps {
			if c, cost, ok := w.toll(cell, s); ok && far[c] < least && far[c]+uint16(cost) <= far[cell] {
				best, least = c, far[c]
			}
		}
		if best == cell || i > 0 && !g.level.passable(p, center(best), z) {
			break
		}
		cell, target = best, center(best)
	}
	return toward(p, target)
}

func toward(from, to geom.Vec2) geom.Vec2 {
	if way := to.Sub(from); way.Len() > 0.2 {
		return way.Unit()
	}
	return geom.Vec2{}
}

// passable reports whether a player can run straight from one point to another, jumping onto low
// walls.
func (l *level) passable(from, to geom.Vec2, z float64) bool {
	ray := geom.RayTo(from, to)
	for i := range l.boxes {
		if l.boxes[i].Max.Z > z+climbable {
			if _, ok := ray.Rect(l.boxes[i].Floor().Expand(roomToWalk)); ok {
				return false
			}
		}
	}
	return true
}
