package interest

import (
	"math"
	"math/bits"
	"slices"
)

// Shape of a Grid. None of these changes a result, only what it costs.
const (
	cellsPerPoint = 2  // cells at most, relative to points
	leastCells    = 16 // cells that are always allowed
	windowSpread  = 4  // mean absolute deviations that the window reaches to each side of the mean
	windowPasses  = 8  // times the window may shrink
)

// A Grid is where a Set searches the nearest of many points. Points are inserted, then Build
// arranges them, then any number of goroutines may search it, until the next Build.
//
// Points are sorted by cell, row by row, so that the points of neighbouring cells in a row lie next
// to each other in memory, and a table of sums counts those in any rectangle of cells with four
// reads. The cells cover the points that are not far off; the outermost cells also hold everything
// beyond them, so a few points parked at the end of the world do not make all cells coarse. Memory
// is about 60 bytes a point at most, wherever the points are, and is reused.
type Grid struct {
	least uint // log2 of the smallest cell edge

	inserted []point
	cell     []uint32 // of each inserted point

	// Made by Build.
	points     []point // by cell, then in order of Insert
	rows, cols int
	shift      uint    // log2 of the cell edge
	x0, y0     int64   // corner of cell 0, 0
	minX, maxX int64   // of all points
	minY, maxY int64   //
	bound      int     // above every index
	start      []int32 // first point of each cell, row by row, and the end of the last
	sums       []int32 // (rows+1) x (cols+1): points in all cells above and to the left
}

type point struct{ x, y, index int32 }

// NewGrid returns an empty Grid. cell is the least edge of a cell, in units of position, worth
// having: about the distance that an entity moves in a tick, or its size. It is rounded up to a
// power of two. Build takes coarser cells where there are few points. Not positive is an error.
func NewGrid(cell int32) (*Grid, error) {
	if cell <= 0 {
		return nil, &argumentError{"cell", int64(cell), "positive"}
	}
	g := &Grid{least: uint(bits.Len32(uint32(cell - 1)))}
	g.Build()
	return g, nil
}

// Reset removes all points. A search still sees those of the last Build.
func (g *Grid) Reset() { g.inserted = g.inserted[:0] }

// Insert adds a point under index, which must not be negative or that of another point. A search
// sees it after the next Build.
func (g *Grid) Insert(index int32, x, y int32) {
	g.inserted = append(g.inserted, point{x, y, index})
}

// Len returns how many points the last Build saw.
func (g *Grid) Len() int { return len(g.points) }

// Build arranges the points inserted since the last Reset. It takes time linear in their number.
func (g *Grid) Build() {
	n := len(g.inserted)
	g.points = slices.Grow(g.points[:0], n)[:n]
	g.cell = slices.Grow(g.cell[:0], n)[:n]
	g.cover()

	cells := g.rows * g.cols
	g.start = slices.Grow(g.start[:0], cells+1)[:cells+1]
	clear(g.start)
	x0, y0, shift, cols := g.x0, g.y0, g.shift, g.cols
	lastCol, lastRow := int64(g.cols-1), int64(g.rows-1)
	for i := range g.inserted {
		p := &g.inserted[i]
		col := min(max((int64(p.x)-x0)>>shift, 0), lastCol)
		row := min(max((int64(p.y)-y0)>>shift, 0), lastRow)
		c := uint32(int(row)*cols + int(col))
		g.cell[i] = c
		g.start[c]++
	}

	// Sums by cell, and starts[c] = end of cell c, which the placing below moves down to its start.
	g.sums = slices.Grow(g.sums[:0], (g.rows+1)*(g.cols+1))[:(g.rows+1)*(g.cols+1)]
	clear(g.sums[:g.cols+1])
	end := int32(0)
	for row := range g.rows {
		starts := g.start[row*g.cols:][:g.cols]
		above := g.sums[row*(g.cols+1):][:g.cols+1]
		sums := g.sums[(row+1)*(g.cols+1):][:g.cols+1]
		sums[0] = 0
		first := end
		for col, count := range starts {
			end += count
			starts[col] = end
			sums[col+1] = above[col+1] + end - first
		}
	}
	g.start[cells] = end
	for i := n - 1; i >= 0; i-- { // from the back, so that the order of Insert stays
		c := g.cell[i]
		g.start[c]--
		g.points[g.start[c]] = g.inserted[i]
	}
}

// cover chooses the cells: their edge, where they begin and how many there are.
func (g *Grid) cover() {
	g.bound = 0
	if len(g.inserted) == 0 {
		g.x0, g.y0, g.minX, g.maxX, g.minY, g.maxY = 0, 0, 0, 0, 0, 0
		g.shift, g.cols, g.rows = g.least, 1, 1
		return
	}
	minX, maxX := int64(math.MaxInt32), int64(math.MinInt32)
	minY, maxY := minX, maxX
	for i := range g.inserted {
		p := &g.inserted[i]
		g.bound = max(g.bound, int(p.index)+1)
		minX, maxX = min(minX, int64(p.x)), max(maxX, int64(p.x))
		minY, maxY = min(minY, int64(p.y)), max(maxY, int64(p.y))
	}
	g.minX, g.maxX, g.minY, g.maxY = minX, maxX, minY, maxY

	// Shrink the window to where the points are: mean +- windowSpread times the mean absolute
	// deviation of those inside. Evenly spread points deviate by a quarter of their range, so
	// nothing is cut off them; a share of up to a tenth that is far off is.
	for range windowPasses {
		var n, sumX, sumY int64
		for i := range g.inserted {
			if x, y := int64(g.inserted[i].x), int64(g.inserted[i].y); x >= minX && x <= maxX && y >= minY && y <= maxY {
				n, sumX, sumY = n+1, sumX+x, sumY+y
			}
		}
		if n == 0 {
			break
		}
		meanX, meanY := sumX/n, sumY/n
		sumX, sumY = 0, 0
		for i := range g.inserted {
			if x, y := int64(g.inserted[i].x), int64(g.inserted[i].y); x >= minX && x <= maxX && y >= minY && y <= maxY {
				dx, dy := x-meanX, y-meanY
				sumX, sumY = sumX+max(dx, -dx), sumY+max(dy, -dy)
			}
		}
		// One spread for both axes keeps a crowd on a line whole.
		spread := windowSpread * (max(sumX, sumY)/n + 1)
		wide, high := maxX-minX, maxY-minY
		minX, maxX = max(minX, meanX-spread), min(maxX, meanX+spread)
		minY, maxY = max(minY, meanY-spread), min(maxY, meanY+spread)
		if 2*(maxX-minX) > wide && 2*(maxY-minY) > high { // little left to gain
			break
		}
	}

	most := int64(max(leastCells, cellsPerPoint*len(g.inserted)))
	g.x0, g.y0 = minX, minY
	for g.shift = g.least; ; g.shift++ {
		cols, rows := (maxX-minX)>>g.shift+1, (maxY-minY)>>g.shift+1
		if cols <= most && rows <= most && cols*rows <= most {
			g.cols, g.rows = int(cols), int(rows)
			return
		}
	}
}

// A block is some cells: columns c0 to c1 of rows r0 to r1.
type block struct{ c0, r0, c1, r1 int }

// around returns the cells that hold every point of the square that reaches r units to each side.
func (g *Grid) around(px, py, r int64) block {
	return block{g.col(px - r), g.row(py - r), g.col(px + r), g.row(py + r)}
}

func (g *Grid) col(x int64) int { return int(min(max((x-g.x0)>>g.shift, 0), int64(g.cols-1))) }
func (g *Grid) row(y int64) int { return int(min(max((y-g.y0)>>g.shift, 0), int64(g.rows-1))) }

// count returns how many points a block holds.
func (g *Grid) count(b block) int {
	w := g.cols + 1
	top, bottom := g.sums[b.r0*w:], g.sums[(b.r1+1)*w:]
	return int(bottom[b.c1+1] - bottom[b.c0] - top[b.c1+1] + top[b.c0])
}

// reach returns the square of a radius within which probably lie so many points: that of the circle
// inside the smallest square of cells around px, py that holds 4/pi of them and a little more.
// It is math.MaxInt64 where that takes all.
func (g *Grid) reach(px, py int64, points int) int64 {
	enough := points + points/3 + points/64
	if enough >= len(g.points) {
		return math.MaxInt64
	}
	col, row := g.col(px), g.row(py)
	square := func(r int) block {
		return block{max(col-r, 0), max(row-r, 0), min(col+r, g.cols-1), min(row+r, g.rows-1)}
	}
	least, r := 0, 1 // a square of least is not enough
	for ; g.count(square(r)) < enough; r *= 2 {
		least = r
	}
	for r-least > 1 {
		if mid := (least + r) / 2; g.count(square(mid)) < enough {
			least = mid
		} else {
			r = mid
		}
	}
	// The outermost cells have no end on their outer side.
	b, reach := square(r), int64(math.MaxInt64)
	if b.c0 > 0 {
		reach = min(reach, px-(g.x0+int64(b.c0)<<g.shift))
	}
	if b.r0 > 0 {
		reach = min(reach, py-(g.y0+int64(b.r0)<<g.shift))
	}
	if b.c1 < g.cols-1 {
		reach = min(reach, g.x0+int64(b.c1+1)<<g.shift-px)
	}
	if b.r1 < g.rows-1 {
		reach = min(reach, g.y0+int64(b.r1+1)<<g.shift-py)
	}
	if reach == math.MaxInt64 {
		return reach
	}
	return distance2(reach, 0)
}

// within finds the points of a block that are at most limit away, squared. It overwrites inner with
// those that are nearer than edge, and outer with the others.
func (g *Grid) within(px, py, edge, limit int64, b block, inner, outer []Neighbour) (_, _ []Neighbour) {
	size := g.count(b) + 1 // the loops below write one more than they keep
	inner, outer = slices.Grow(inner[:0], size)[:size], slices.Grow(outer[:0], size)[:size]
	in, out := 0, 0
	if max(px-g.minX, g.maxX-px, py-g.minY, g.maxY-py) >= 1<<31 { // squares may be too large for an int64
		for row := b.r0; row <= b.r1; row++ {
			i := row * g.cols
			for _, p := range g.points[g.start[i+b.c0]:g.start[i+b.c1+1]] {
				switch d := distance2(int64(p.x)-px, int64(p.y)-py); {
				case d < edge:
					inner[in] = Neighbour{d, p.index}
					in++
				case d <= limit:
					outer[out] = Neighbour{d, p.index}
					out++
				}
			}
		}
		return inner[:in], outer[:out]
	}
	for row := b.r0; row <= b.r1; row++ {
		i := row * g.cols
		for _, p := range g.points[g.start[i+b.c0]:g.start[i+b.c1+1]] {
			dx, dy := int64(p.x)-px, int64(p.y)-py
			d := dx*dx + dy*dy
			inner[in], outer[out] = Neighbour{d, p.index}, Neighbour{d, p.index}
			// Without a branch, as which are near enough is noise.
			is := less(d, edge)
			in += is
			out += 1 - is - less(limit, d)
		}
	}
	return inner[:in], outer[:out]
}

// less returns 1 if a < b, else 0. The difference must be within the range of an int64.
func less(a, b int64) int { return int(uint64(a-b) >> 63) }
