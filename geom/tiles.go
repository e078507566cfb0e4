package geom

import "math"

// MaxTiles bounds the width and the height of Tiles.
const MaxTiles = 4096

// Tiles is a grid of square tiles, each of them solid or free: the map of a game with blocks. All
// around the grid is free. The zero value has no tiles.
type Tiles struct {
	min           Vec2
	side          float64
	width, height int
	solid         []uint64 // a bit for each tile, row after row
}

// NewTiles returns a grid of width times height free tiles. Tile (0, 0) has its lowest corner at
// min, and every tile has the given side. It has no tiles if a number is not above 0, not finite, or
// above MaxTiles.
func NewTiles(min Vec2, side float64, width, height int) Tiles {
	if !min.Finite() || !(side > 0) || !finite(side) {
		return Tiles{}
	}
	if width <= 0 || height <= 0 || width > MaxTiles || height > MaxTiles {
		return Tiles{}
	}
	return Tiles{min, side, width, height, make([]uint64, (width*height+63)/64)}
}

// At reports whether tile (x, y) is solid; false outside the grid.
func (t Tiles) At(x, y int) bool {
	if x < 0 || y < 0 || x >= t.width || y >= t.height {
		return false
	}
	i := y*t.width + x
	return t.solid[i>>6]>>(i&63)&1 != 0
}

// Set makes tile (x, y) solid or free. Outside the grid it does nothing.
func (t Tiles) Set(x, y int, solid bool) {
	if x < 0 || y < 0 || x >= t.width || y >= t.height {
		return
	}
	i := y*t.width + x
	t.solid[i>>6] &^= 1 << (i & 63)
	if solid {
		t.solid[i>>6] |= 1 << (i & 63)
	}
}

// Tile returns the tile that p is in, also outside the grid, where numbers end at -1 and at the
// width and height. A point on a border belongs to the tile above or to the right.
func (t Tiles) Tile(p Vec2) (x, y int) {
	return t.column(p.X), t.row(p.Y)
}

func (t Tiles) column(x float64) int { return cell(sub(x, t.min.X), t.side, t.width) }
func (t Tiles) row(y float64) int    { return cell(sub(y, t.min.Y), t.side, t.height) }

func cell(at, side float64, most int) int {
	return int(Clamp(math.Floor(at/side), -1, float64(most)))
}

// Rect returns the place of tile (x, y).
func (t Tiles) Rect(x, y int) Rect {
	return Rect{
		Min: Vec2{add(t.min.X, float64(float64(x)*t.side)), add(t.min.Y, float64(float64(y)*t.side))},
		Max: Vec2{add(t.min.X, float64(float64(x+1)*t.side)), add(t.min.Y, float64(float64(y+1)*t.side))},
	}
}

// SweepCircle reports where c, moving by delta, first touches a solid tile. A tile that c touches or
// overlaps from the beginning counts, at share 0, only if the movement goes further into it. Sides
// between two solid tiles do not count, so nothing catches on them.
func (t Tiles) SweepCircle(c Circle, delta Vec2) (Hit, bool) {
	if !(c.Radius >= 0) {
		return Hit{}, false
	}
	return t.sweep(probe{c.Center, Vec2{c.Radius, c.Radius}, true, 0}, delta)
}

// SweepRect reports where r, moving by delta, first touches a solid tile, as SweepCircle does.
func (t Tiles) SweepRect(r Rect, delta Vec2) (Hit, bool) {
	half := r.Size().Mul(0.5)
	if !(half.X >= 0) || !(half.Y >= 0) {
		return Hit{}, false
	}
	return t.sweep(probe{r.Center(), half, false, 0}, delta)
}

// SlideCircle moves c by delta, and where it meets solid tiles, along them. It returns where the
// centre arrives: never through a tile, no farther than delta, and with a gap of Skin. A circle that
// overlaps tiles from the beginning is not pushed out, and can move away from them. If the radius is
// negative or anything is not finite, SlideCircle returns the centre as it is.
func (t Tiles) SlideCircle(c Circle, delta Vec2) Vec2 {
	if !(c.Radius >= 0) {
		return c.Center
	}
	return t.slide(probe{c.Center, Vec2{c.Radius, c.Radius}, true, 0}, delta)
}

// SlideRect is SlideCircle for a rectangle, whose place after the movement it returns.
func (t Tiles) SlideRect(r Rect, delta Vec2) Rect {
	half := r.Size().Mul(0.5)
	if !(half.X >= 0) || !(half.Y >= 0) {
		return r
	}
	center := r.Center()
	moved := t.slide(probe{center, half, false, 0}, delta).Sub(center)
	return Rect{r.Min.Add(moved), r.Max.Add(moved)}
}

// probe is what moves over tiles: a circle, whose radius is in both coordinates of half, or a
// rectangle.
type probe struct {
	at, half Vec2
	round    bool
	skin     float64 // a rectangle that a tile covers by no more than this passes along it
}

func (t Tiles) slide(p probe, delta Vec2) Vec2 {
	if !p.at.Finite() || !p.half.Finite() || !delta.Finite() {
		return p.at
	}
	p.half, p.skin = p.half.Add(Vec2{Skin, Skin}), Skin
	for range maxSlides {
		hit, ok := t.sweep(p, delta)
		if !ok {
			return p.at.Add(delta)
		}
		p.at = p.at.Add(delta.Mul(hit.Share))
		delta = delta.Mul(1 - hit.Share).Along(hit.Normal)
	}
	return p.at
}

// sweep looks at the tiles along the way, step by step.
func (t Tiles) sweep(p probe, delta Vec2) (Hit, bool) {
	if t.width == 0 || !p.at.Finite() || !p.half.Finite() || !delta.Finite() {
		return Hit{}, false
	}
	// The part of the way on which p is over the grid.
	grid := Rect{t.Rect(0, 0).Min, t.Rect(t.width-1, t.height-1).Max}
	around := Rect{grid.Min.Sub(p.half), grid.Max.Add(p.half)}.hair()
	from, to := slab(p.at.X, delta.X, around.Min.X, around.Max.X, 0, 1)
	from, to = slab(p.at.Y, delta.Y, around.Min.Y, around.Max.Y, from, to)
	if !(from <= to) {
		return Hit{}, false
	}
	best, ok := Hit{Share: 1}, false
	// Steps as long as p is: fewer would look at many tiles beside the way, more at many tiles again.
	length, stride := max(math.Abs(delta.X), math.Abs(delta.Y)), t.side+max(p.half.X, p.half.Y)
	steps := int(Clamp(math.Ceil(float64(length*(to-from))/stride), 1, 2*MaxTiles))
	for i := range steps {
		a := add(from, float64((to-from)*(float64(i)/float64(steps))))
		b := add(from, float64((to-from)*(float64(i+1)/float64(steps))))
		frame := Segment{p.at.Add(delta.Mul(a)), p.at.Add(delta.Mul(b))}.frame()
		frame = Rect{frame.Min.Sub(p.half), frame.Max.Add(p.half)}.hair()
		for y := t.row(frame.Min.Y); y <= t.row(frame.Max.Y); y++ {
			for x := t.column(frame.Min.X); x <= t.column(frame.Max.X); x++ {
				if !t.At(x, y) {
					continue
				}
				if h, hit := t.sweepTile(p, delta, x, y); hit && (!ok || h.Share < best.Share) {
					best, ok = h, true
				}
			}
		}
		if ok && best.Share <= b {
			break
		}
	}
	return best, ok
}

// sweepTile moves p against one solid tile. A hit that leads out into a solid neighbour is none: the
// neighbour is met instead.
func (t Tiles) sweepTile(p probe, delta Vec2, x, y int) (hit Hit, ok bool) {
	if p.round {
		hit, ok = Circle{p.at, p.half.X}.SweepRect(delta, t.Rect(x, y))
	} else {
		hit, ok = p.sweepRect(delta, t.Rect(x, y))
	}
	if !ok || hit.Normal.X > grazing && t.At(x+1, y) || hit.Normal.X < -grazing && t.At(x-1, y) ||
		hit.Normal.Y > grazing && t.At(x, y+1) || hit.Normal.Y < -grazing && t.At(x, y-1) {
		return Hit{}, false
	}
	return hit, true
}

// sweepRect moves a rectangle against r: the centre against r grown by its half sides.
func (p probe) sweepRect(delta Vec2, r Rect) (Hit, bool) {
	grown := Rect{r.Min.Sub(p.half), r.Max.Add(p.half)}
	if grown.Contains(p.at) {
		_, n := rectDistance(p.at, grown)
		return Hit{Normal: n}, into(delta, n)
	}
	tx, tx1 := slab(p.at.X, delta.X, grown.Min.X, grown.Max.X, 0, 1)
	ty, ty1 := slab(p.at.Y, delta.Y, grown.Min.Y, grown.Max.Y, 0, 1)
	share := max(tx, ty)
	if !(share <= min(tx1, ty1)) {
		return Hit{}, false
	}
	// Beside one pair of sides, and then between the other ones too: those that it came by last
	// are hit, unless the others are so near that it passes along them.
	at := p.at.Add(delta.Mul(share))
	beside := tx > ty
	other := edge(at.X, grown.Min.X, grown.Max.X)
	if beside {
		other = edge(at.Y, grown.Min.Y, grown.Max.Y)
	}
	if other < p.skin {
		beside = !beside
	}
	n := Vec2{Y: side(at.Y - r.Center().Y)}
	if beside {
		n = Vec2{X: side(at.X - r.Center().X)}
	}
	return Hit{Share: share, Normal: n}, into(delta, n)
}

// edge returns how far x is inside the nearer end of [lo, hi].
func edge(x, lo, hi float64) float64 { return min(sub(x, lo), sub(hi, x)) }
