package shooting

import (
	"math"

	"meanwhile/game"
	"meanwhile/geom"
)

const (
	hullRadius = 0.4
	standing   = 1.8 // metres from the feet to the top of the head
	crouching  = 1.2
	farthest   = 80.0 // metres that a bullet flies
)

func eyeHeight(crouch bool) float64 {
	if crouch {
		return 1
	}
	return 1.5
}

// body is a man as somebody sees him.
type body struct {
	id     game.ID
	at     geom.Vec3
	crouch bool
	alive  bool
}

func (b *body) height() float64 {
	if b.crouch {
		return crouching
	}
	return standing
}

// sight is everything that a bullet can meet, as somebody sees it.
type sight struct {
	bodies []body
	doors  []geom.Vec3
}

func (s *sight) reset() { s.bodies, s.doors = s.bodies[:0], s.doors[:0] }

// find returns a man; nil if nobody sees him.
func (s *sight) find(id game.ID) *body {
	for i := range s.bodies {
		if s.bodies[i].id == id {
			return &s.bodies[i]
		}
	}
	return nil
}

// walls stand still and are known to all.
var walls = [...]geom.Box{
	wall(-12, -8, 4, 0.3), wall(10, -10, 4, 0.3), wall(-6, 12, 4, 0.3), wall(14, 9, 4, 0.3),
	wall(0, 0, 0.3, 4), wall(-18, 3, 0.3, 4),
}

const wallHeight = 2.5

// wall returns one from its middle and its half sides.
func wall(x, y, halfX, halfY float64) geom.Box {
	return geom.Box{Min: geom.Vec3{X: x - halfX, Y: y - halfY}, Max: geom.Vec3{X: x + halfX, Y: y + halfY, Z: wallHeight}}
}

// leaf is the size of a door, which stands with its middle at a place.
func leaf(at geom.Vec3) geom.Box { return wall(at.X, at.Y, 1.2, 0.15) }

// covered returns how far a bullet gets, whoever stands in its way, and whether a door stops it.
func (s *sight) covered(r geom.Ray3) (length float64, byDoor bool) {
	length = r.Len
	for i := range walls {
		if d, ok := r.Box(walls[i]); ok && d < length {
			length = d
		}
	}
	for _, at := range s.doors {
		if d, ok := r.Box(leaf(at)); ok && d < length {
			length, byDoor = d, true
		}
	}
	return length, byDoor
}

// trace returns whom a bullet hits first, 0 for nobody, and where it ends.
func (s *sight) trace(eye geom.Vec3, yaw, pitch geom.Angle) (hit game.ID, to geom.Vec3) {
	r := geom.Ray3{From: eye, Dir: geom.Direction(yaw, pitch), Len: farthest}
	r.Len, _ = s.covered(r)
	for i := range s.bodies {
		b := &s.bodies[i]
		if !b.alive {
			continue
		}
		if d, ok := r.Cylinder(b.at, hullRadius, b.height()); ok && d < r.Len {
			r.Len, hit = d, b.id
		}
	}
	return hit, r.End()
}

// visible reports whether any part of a man can be seen from an eye past walls and doors: his
// middle or one of his sides.
func (s *sight) visible(eye geom.Vec3, b *body) bool {
	aside := b.at.XY().Sub(eye.XY()).Perp().Unit().Mul(hullRadius * 0.98)
	for _, side := range [...]float64{0, -1, 1} {
		for _, high := range [...]float64{0.5, 0.95} {
			to := b.at.Add(aside.Mul(side).At(high * b.height()))
			r := geom.Ray3To(eye, to)
			if d, _ := s.covered(r); d >= r.Len {
				return true
			}
		}
	}
	return false
}

// near is how far a contestable shot passes a hull at most: within 30 cm of its edge, or inside.
const near = 0.3

// mark chooses a point to aim at near the edge of a hull: mostly at one side, sometimes over the
// head. It lies within near of the edge, in or out.
func mark(eye geom.Vec3, b *body, rng *geom.Rand) geom.Vec3 {
	way := b.at.XY().Sub(eye.XY())
	off, h := rng.Range(-near, near), b.height()
	if rng.Chance(0.2) {
		return b.at.Add(way.Perp().Unit().Mul(rng.Range(-0.8, 0.8) * hullRadius).At(h + off))
	}
	side := 1.0
	if rng.Chance(0.5) {
		side = -1
	}
	// The silhouette of a cylinder, seen from a distance, is where the tangent touches: a little in
	// front of its middle, and a little less aside than its radius.
	d := max(way.Len(), 2*hullRadius)
	edge := hullRadius * d / math.Sqrt(d*d-hullRadius*hullRadius)
	return b.at.Add(way.Perp().Unit().Mul(side * (edge + off)).At(rng.Range(0.1, 0.95) * h))
}
