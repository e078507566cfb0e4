package invasion

import (
	"math"

	"meanwhile/geom"
)

// crowd finds what is near a place among thousands. It is a hash table of square cells, filled anew
// in each tick. The zero crowd is not usable: set cell.
type crowd struct {
	cell  float64 // edge of a cell in metres
	at    []geom.Vec2
	x, y  []int32        // cells
	next  []int32        // the next one in the same bucket, as index+1
	first [buckets]int32 // of each bucket, as index+1
}

const buckets = 1 << 12

func bucket(x, y int32) uint32 { return (uint32(x)*0x9e3779b1 ^ uint32(y)*0x85ebca6b) >> (32 - 12) }

func (c *crowd) cellOf(v float64) int32 { return int32(math.Floor(v / c.cell)) }

func (c *crowd) reset() {
	c.at, c.x, c.y, c.next = c.at[:0], c.x[:0], c.y[:0], c.next[:0]
	clear(c.first[:])
}

// add adds a place under the next index.
func (c *crowd) add(at geom.Vec2) {
	x, y := c.cellOf(at.X), c.cellOf(at.Y)
	b := bucket(x, y)
	c.at, c.x, c.y, c.next = append(c.at, at), append(c.x, x), append(c.y, y), append(c.next, c.first[b])
	c.first[b] = int32(len(c.at))
}

// near calls f for each place within r of at, with the way there.
func (c *crowd) near(at geom.Vec2, r float64, f func(i int, way geom.Vec2)) {
	x0, x1 := c.cellOf(at.X-r), c.cellOf(at.X+r)
	y0, y1 := c.cellOf(at.Y-r), c.cellOf(at.Y+r)
	for x := x0; x <= x1; x++ {
		for y := y0; y <= y1; y++ {
			for n := c.first[bucket(x, y)]; n != 0; n = c.next[n-1] {
				i := int(n - 1)
				if c.x[i] != x || c.y[i] != y {
					continue // another cell with the same bucket
				}
				if way := c.at[i].Sub(at); way.Len2() <= float64(r*r) {
					f(i, way)
				}
			}
		}
	}
}

// nearest returns the index of the nearest place within r of at; -1 for none.
func (c *crowd) nearest(at geom.Vec2, r float64) int {
	best, least := -1, math.Inf(1)
	c.near(at, r, func(i int, way geom.Vec2) {
		if d := way.Len2(); d < least {
			best, least = i, d
		}
	})
	return best
}
