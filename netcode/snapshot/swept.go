package snapshot

import (
	"math"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
)

// swept has for each entity, by index, a box around all places that it can have been drawn at for a
// shot that is judged now. A rewind asks for the few that may touch a line: it scans the boxes, and
// looks up only what is left.
//
// What is drawn lies in the box. Each of the two records that it is drawn between has the values of
// a tick of the history, or rounds them to a coarser level, which the margin covers. In between
// each component lies between both: on a line, on a curve that is kept between its ends, or at one
// of them. Kinds of which that is not so are in no box: what is dead reckoned or run ahead, and
// what may be drawn without its place. Who is carried is drawn at its distance from where its
// parent is drawn, so within that distance of the parent's box.
type swept struct {
	boxes  []sweptBox // of all ticks that the history has, and up to sweptTicks more
	blocks [][sweptBlocks]sweptBox
	margin float64 // by how many millimetres a place is drawn outside at most
}

const (
	// sweptTicks is the length of a block. The box of a block holds the places of its ticks, so
	// that old places fall out of an entity's box.
	sweptTicks  = 32
	sweptBlocks = RewindTicks/sweptTicks + 1
)

// sweptBox is a box of places, in millimetres, as seen from above.
type sweptBox struct {
	minX, minY, maxX, maxY int32
	on                     int32 // index of the parent that the places are relative to, or one of these
}

const (
	onGround   = -1 // they are relative to none
	onAnything = -2 // nothing is known of them
)

// add grows the box to hold another one.
func (b *sweptBox) add(o *sweptBox) {
	b.minX, b.minY = min(b.minX, o.minX), min(b.minY, o.minY)
	b.maxX, b.maxY = max(b.maxX, o.maxX), max(b.maxY, o.maxY)
	if b.on != o.on {
		b.on = onAnything
	}
}

// furthest returns how far from the origin the box reaches.
func (b *sweptBox) furthest() float64 {
	x, y := max(-float64(b.minX), float64(b.maxX)), max(-float64(b.minY), float64(b.maxY))
	if max(x, y) >= math.MaxInt32 { // it is saturated
		return math.Inf(1)
	}
	return math.Sqrt(float64(x*x) + float64(y*y))
}

// begin forgets what was known of entity i.
func (w *swept) begin(i int) {
	if i == len(w.boxes) {
		w.boxes, w.blocks = append(w.boxes, sweptBox{}), append(w.blocks, [sweptBlocks]sweptBox{})
	}
	w.boxes[i] = sweptBox{on: onAnything}
}

// sweep notes where entity i is now. last is the tick before now that was noted.
func (h *History) sweep(i int32, e *Entity, k *schema.Kind, last clock.Tick, prev, row []int32) {
	w := &h.swept
	now, is := &w.boxes[i], h.point(e, k, row)
	blocks, to := &w.blocks[i], h.tick/sweptTicks
	block := &blocks[to%sweptBlocks]
	switch from := last / sweptTicks; {
	case e.Spawned == h.tick:
		*now, *block = is, is
		for n := range blocks {
			blocks[n] = is
		}
	case from == to:
		block.add(&is)
		now.add(&is)
	default: // until now it was where it was last
		was := h.point(e, k, prev)
		for n := max(from+1, to-min(to, sweptBlocks-1)); n <= to; n++ {
			blocks[n%sweptBlocks] = was
		}
		block.add(&is)
		*now = blocks[0]
		for n := 1; n < sweptBlocks; n++ {
			now.add(&blocks[n])
		}
	}
}

// point returns the box of a single place, in a row of an entity at the present.
func (h *History) point(e *Entity, k *schema.Kind, row []int32) sweptBox {
	p := k.PlaceProp()
	mm := p.Millimetres()
	x, y := millimetres(row[p.ObsAt], mm), millimetres(row[p.ObsAt+1], mm)
	b := sweptBox{x, y, x, y, onGround}
	if k.Parent < 0 || k.Props[k.Parent].ObsAt < 0 || row[k.Props[k.Parent].ObsAt] == 0 {
		return b
	}
	b.on = onAnything
	if j := e.On; j >= 0 && h.ents[j].ID == uint32(row[k.Props[k.Parent].ObsAt]) && h.rules[h.ents[j].Kind].carries {
		b.on = j
	}
	return b
}

// An Area is the neighbourhood of a line, prepared to be compared with many boxes. See
// History.Area.
type Area struct {
	self                   int32
	minX, minY, maxX, maxY int32   // a box around it, in millimetres
	x, y, overX, overY     float64 // a point of the line, and the direction across it
	reach                  float64 // how far it reaches to both sides of the line
}

// Area returns what is in a capsule, in metres, as player self sees it: -1 is nobody.
func (h *History) Area(c geom.Capsule, self int32) Area {
	const mm = 1000
	a, b := c.Axis.A.Mul(mm), c.Axis.B.Mul(mm)
	over := b.Sub(a)
	over = geom.Vec2{X: -over.Y, Y: over.X}
	if l := over.Len(); l > 0 {
		over = over.Mul(1 / l)
	}
	area := Area{self: self, x: a.X, y: a.Y, overX: over.X, overY: over.Y, reach: float64(c.Radius*mm) + h.swept.margin}
	area.minX, area.maxX = saturated(min(a.X, b.X)-area.reach), saturated(max(a.X, b.X)+area.reach+1)
	area.minY, area.maxY = saturated(min(a.Y, b.Y)-area.reach), saturated(max(a.Y, b.Y)+area.reach+1)
	return area
}

// saturated rounds a number of millimetres down.
func saturated(v float64) int32 {
	return int32(math.Floor(min(max(v, math.MinInt32), math.MaxInt32)))
}

// touches reports whether the area may have a point within so many millimetres of a box.
func (a *Area) touches(b *sweptBox, around float64) bool {
	if around > 0 {
		b = &sweptBox{saturated(float64(b.minX) - around), saturated(float64(b.minY) - around),
			saturated(float64(b.maxX) + around + 1), saturated(float64(b.maxY) + around + 1), b.on}
	}
	if b.maxX < a.minX || b.minX > a.maxX || b.maxY < a.minY || b.minY > a.maxY {
		return false
	}
	// How far the middle of the box is from the line, and how far the box reaches there; both
	// twice.
	left, right, back, front := float64(b.minX), float64(b.maxX), float64(b.minY), float64(b.maxY)
	off := math.Abs(float64((left+right-a.x-a.x)*a.overX) + float64((back+front-a.y-a.y)*a.overY))
	wide := float64((right-left)*math.Abs(a.overX)) + float64((front-back)*math.Abs(a.overY))
	return !(off > a.reach+a.reach+wide)
}

// MayTouch reports whether entity i may have been drawn in an area, for a shot that is judged now.
// What it excludes was not.
func (h *History) MayTouch(i int32, a *Area) bool {
	b := &h.swept.boxes[i]
	around := 0.0
	for range schema.MaxParents {
		if b.on == onGround {
			return a.touches(b, around) && (around > 0 || h.stillTouches(i, a))
		}
		if b.on == onAnything || b.on == a.self {
			return true // a player's own avatar carries it: as it is now
		}
		around += b.furthest() + h.swept.margin
		b = &h.swept.boxes[b.on]
	}
	return true
}

// Touches reports whether a place among drawn observer integers of a kind may lie in an area; true
// of a place that is relative to a parent.
func (h *History) Touches(k *schema.Kind, drawn []int64, a *Area) bool {
	at, ok := k.DrawnPlace(drawn)
	if !ok || k.DrawnParent(drawn) != 0 {
		return true
	}
	x, y := saturated(float64(at.X*1000)), saturated(float64(at.Y*1000))
	return a.touches(&sweptBox{x, y, x, y, onGround}, 0)
}

// stillTouches is MayTouch for one that rests: the box of an entity that nobody records any more
// keeps places that the history has forgotten.
func (h *History) stillTouches(i int32, a *Area) bool {
	e := &h.ents[i]
	if !e.asleep || h.tick-e.lastTick < RewindTicks {
		return true
	}
	return a.touches(&sweptBox{e.X, e.Y, e.X, e.Y, onGround}, 0)
}

// marginOf returns by how many millimetres more than what its records say an entity of some kind
// may be drawn elsewhere: half a step of its coarsest level, and what is rounded.
func marginOf(kinds []*schema.Kind) (most float64) {
	for _, k := range kinds {
		if p := k.PlaceProp(); p != nil {
			for _, s := range p.Shift {
				most = max(most, float64(float64(uint64(1)<<s)*p.Millimetres()))
			}
		}
	}
	return most + 2
}
