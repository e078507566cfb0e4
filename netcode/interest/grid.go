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
	smallSort     = 12 // elements up to which sorting by insertion is fastest
	mostBuckets   = 512
)

// A Grid finds the nearest of many points. Points are inserted, then Build arranges them, then
// Nearest may be called from any number of goroutines until the next Insert, Reset or Build.
//
// Points are sorted by cell, row by row, so that the points of neighbouring cells in a row lie next
// to each other in memory, and a table of sums counts those in any rectangle of cells with four
// reads. The cells cover the points that are not far off; the outermost cells also hold everything
// beyond them, so a few points parked at the end of the world do not make all cells coarse.
// Memory is about 60 bytes a point at most, wherever the points are, and is reused.
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

// Reset removes all points. Nearest still answers from the last Build.
func (g *Grid) Reset() { g.inserted = g.inserted[:0] }

// Insert adds a point under index, which Nearest hands back. Several points may share an index or a
// position. Nearest sees the point after the next Build. Inserting in order of index is fastest.
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
	if len(g.inserted) == 0 {
		g.x0, g.y0, g.minX, g.maxX, g.minY, g.maxY = 0, 0, 0, 0, 0, 0
		g.shift, g.cols, g.rows = g.least, 1, 1
		return
	}
	minX, maxX := int64(math.MaxInt32), int64(math.MinInt32)
	minY, maxY := minX, maxX
	for i := range g.inserted {
		p := &g.inserted[i]
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

// count returns how many points the cells of columns c0..c1 and rows r0..r1 hold.
func (g *Grid) count(c0, r0, c1, r1 int) int {
	w := g.cols + 1
	top, bottom := g.sums[r0*w:], g.sums[(r1+1)*w:]
	return int(bottom[c1+1] - bottom[c0] - top[c1+1] + top[c0])
}

// Nearest returns the n points nearest to x, y, or all if there are fewer, sorted by distance and
// among equals by index: exactly what sorting all of them would give. A point at x, y itself, the
// asking entity too, comes first like any other.
//
// It overwrites dst, grows it as needed and returns the part that holds the answer; the memory
// beyond is scratch. Hand the result back as dst the next time, one dst to each goroutine, and
// nothing is allocated. n <= 0 gives nothing.
func (g *Grid) Nearest(x, y int32, n int, dst []Neighbour) []Neighbour {
	total := len(g.points)
	n = min(n, total)
	if n <= 0 {
		return dst[:0]
	}
	px, py := int64(x), int64(y)
	col := int(min(max((px-g.x0)>>g.shift, 0), int64(g.cols-1)))
	row := int(min(max((py-g.y0)>>g.shift, 0), int64(g.rows-1)))

	// The smallest square of cells around x, y with so many points that the circle inside it
	// probably holds n: 4/pi of them, and a little more.
	enough := min(total, n+n/3+n/64)
	r := max(g.cols, g.rows)
	if n < total {
		least := 0 // a square this small is not enough
		for r = 1; g.around(col, row, r) < enough; r *= 2 {
			least = r
		}
		for r-least > 1 {
			if mid := (least + r) / 2; g.around(col, row, mid) < enough {
				least = mid
			} else {
				r = mid
			}
		}
	}
	wide := max(px-g.minX, g.maxX-px, py-g.minY, g.maxY-py) >= 1<<31
	for {
		c0, c1, r0, r1 := max(col-r, 0), min(col+r, g.cols-1), max(row-r, 0), min(row+r, g.rows-1)
		// Points of all other cells are farther away than reach. The outermost cells have no end
		// on their outer side.
		reach := int64(math.MaxInt64)
		if c0 > 0 {
			reach = min(reach, px-(g.x0+int64(c0)<<g.shift))
		}
		if r0 > 0 {
			reach = min(reach, py-(g.y0+int64(r0)<<g.shift))
		}
		if c1 < g.cols-1 {
			reach = min(reach, g.x0+int64(c1+1)<<g.shift-px-1)
		}
		if r1 < g.rows-1 {
			reach = min(reach, g.y0+int64(r1+1)<<g.shift-py-1)
		}
		limit := int64(math.MaxInt64)
		if reach < math.MaxInt64 {
			limit = min(distance2(reach, 0), math.MaxInt64-1) // limited distances are ties: take all or none
		}
		m := g.count(c0, r0, c1, r1)
		dst = slices.Grow(dst[:0], 2*m)[:2*m]
		if wide {
			m = g.gatherWide(dst, px, py, c0, r0, c1, r1, limit)
		} else {
			m = g.gather(dst, px, py, c0, r0, c1, r1, limit)
		}
		if m >= n {
			lo, hi := int64(0), limit
			if limit == math.MaxInt64 {
				lo, hi = bounds(dst[:m])
			}
			sortFirst(dst[:m], dst[m:2*m], n, lo, hi)
			return dst[:n]
		}
		r += 1 + r/8 // at most sqrt(2) times the first one
	}
}

// around returns how many points the square of cells with r cells on each side holds.
func (g *Grid) around(col, row, r int) int {
	return g.count(max(col-r, 0), max(row-r, 0), min(col+r, g.cols-1), min(row+r, g.rows-1))
}

// gather writes the points of some cells that are at most limit away, squared, to dst, which must
// have room for all points of those cells, and returns how many. No point may be 1<<31 or more
// from px or py.
func (g *Grid) gather(dst []Neighbour, px, py int64, c0, r0, c1, r1 int, limit int64) int {
	m := 0
	for row := r0; row <= r1; row++ {
		i := row * g.cols
		for _, p := range g.points[g.start[i+c0]:g.start[i+c1+1]] {
			dx, dy := int64(p.x)-px, int64(p.y)-py
			d := dx*dx + dy*dy
			dst[m] = Neighbour{d, p.index}
			m += 1 - int(uint64(limit-d)>>63) // without a branch: which are near enough is noise
		}
	}
	return m
}

// gatherWide is gather for any distance.
func (g *Grid) gatherWide(dst []Neighbour, px, py int64, c0, r0, c1, r1 int, limit int64) int {
	m := 0
	for row := r0; row <= r1; row++ {
		i := row * g.cols
		for _, p := range g.points[g.start[i+c0]:g.start[i+c1+1]] {
			if d := distance2(int64(p.x)-px, int64(p.y)-py); d <= limit {
				dst[m] = Neighbour{d, p.index}
				m++
			}
		}
	}
	return m
}

// bounds returns the least and the greatest distance in a, which is not empty.
func bounds(a []Neighbour) (lo, hi int64) {
	lo, hi = a[0].Dist2, a[0].Dist2
	for _, v := range a {
		lo, hi = min(lo, v.Dist2), max(hi, v.Dist2)
	}
	return lo, hi
}

// sortFirst puts the n first of a in front, in order; the rest is left in any order. All distances
// in a are within [lo, hi]; tmp is scratch of the same length.
//
// In a plane of even density squared distances are evenly spread, so they are sorted into buckets
// of equal width, one or two to a bucket. A bucket that holds many is sorted into narrower ones: at
// most eight levels deep, because each is at least 256 times narrower or has few elements.
func sortFirst(a, tmp []Neighbour, n int, lo, hi int64) {
	if len(a) <= smallSort {
		sortInto(a, a)
		return
	}
	if lo == hi {
		slices.SortFunc(a, compareNeighbours)
		return
	}
	var ends [mostBuckets + 1]uint32 // [b+1]: end of bucket b
	log := min(bits.Len(uint(len(a))), bits.Len(mostBuckets)-1)
	shift := max(0, bits.Len64(uint64(hi-lo))-log)
	buckets := int(uint64(hi-lo)>>shift) + 1
	counts := ends[:buckets+1]
	for i := range a {
		counts[uint64(a[i].Dist2-lo)>>shift+1]++
	}
	sum := uint32(0)
	for b, c := range counts {
		sum += c
		counts[b] = sum
	}
	// Placing moves counts[b], the start of bucket b, to its end.
	for i := range a {
		b := uint64(a[i].Dist2-lo) >> shift
		tmp[counts[b]] = a[i]
		counts[b]++
	}
	begin, end := 0, 0
	for b := 0; begin < n; b++ {
		next := int(counts[b])
		end = next
		if next-begin > smallSort {
			bucket := tmp[begin:next]
			lo, hi := bounds(bucket)
			sortFirst(bucket, a[begin:next], min(n, next)-begin, lo, hi)
			end = min(next, n)
		}
		begin = next
	}
	sortInto(a, tmp[:end])
}

// sortInto sorts a to the front of dst by insertion: fast if a is short or almost sorted. The two
// may be the same.
func sortInto(dst, a []Neighbour) {
	dst = dst[:len(a)]
	for i, v := range a {
		j := i
		for ; j > 0 && v.before(dst[j-1]); j-- {
			dst[j] = dst[j-1]
		}
		dst[j] = v
	}
}
