package body

import (
	"math"

	"meanwhile/geom"
)

// Limits of a step, with what happens beyond them.
const (
	// MaxPlace bounds coordinates, in metres: a body beyond takes no part.
	MaxPlace = 1e6
	// MaxWall bounds the coordinates and radii of walls, in metres: a wall beyond does not count.
	MaxWall = 1e9
	// MaxSpeed bounds velocities, in metres per second: faster bodies are slowed down to it.
	MaxSpeed = 1000
	// MaxSpin bounds angular velocities, in radians per second.
	MaxSpin = 200
	// MaxSize bounds radius and half sides, in metres: larger ones count as that.
	MaxSize = 1e4
	// MaxMass bounds masses, in kilograms: larger ones count as that. MinMass bounds those above 0.
	MaxMass = 1e9
	MinMass = 1e-6
	// MaxRate bounds Drag, SpinDrag and Grip.
	MaxRate = 1e6
)

// StopSpeed is the speed in metres per second below which a body is set to rest: the speed of its
// centre, and that of its rim around the centre. While Gravity pulls, only a body that touches
// something stops. Bodies with an Accel do not stop.
const StopSpeed = 0.02

// WallLayer is the layer of a scene's walls, for Build.Mask.
const WallLayer uint32 = 1 << 31

// Surface says what happens where two things touch. Of two surfaces the greater Bounce counts, and
// the geometric mean of both frictions.
type Surface struct {
	// Bounce is the share of the closing speed that is given back, from 0 to 1. Things that close
	// in more slowly than 0.4 m/s do not bounce.
	Bounce float64
	// Friction is the most that friction can be, as a share of the pressure; commonly 0 to 1.
	Friction float64
}

// Build is what a body is made of, the same in each tick: commonly a package variable of the game.
// Negative and NaN numbers count as 0.
type Build struct {
	// Radius makes the body a circle. Half makes it a box, with half its width and height, when
	// Radius is 0. A body without any size moves and touches nothing.
	Radius float64
	Half   geom.Vec2
	// Mass is in kilograms. A body with mass 0 is kinematic: it moves with its Vel and Spin, pushes
	// others and is not pushed.
	Mass    float64
	Surface Surface
	// Drag and SpinDrag slow the body down by this share of its velocity per second.
	Drag, SpinDrag float64
	// Grip slows the body down by so much, in m/s², as the ground of a game that is seen from above
	// does, until it stands.
	Grip float64
	// NoSpin keeps the body from turning, such as a player's avatar: its Spin is set to 0.
	NoSpin bool
	// Layer has the bits of the groups that the body is in; 0 means 1. Mask has the bits of the
	// groups that it touches; 0 means all. Two bodies touch if each one's Mask has a bit of the
	// other's Layer.
	Layer, Mask uint32
}

// Body is a thing in a Scene.
type Body struct {
	Build
	// ID is the caller's own number for the body. Step does not read it.
	ID uint32
	// Pos is the centre, in metres, and Vel its velocity, in metres per second.
	Pos, Vel geom.Vec2
	// Angle is how far the body is turned, and Spin how fast it turns, in radians per second.
	Angle, Spin geom.Angle
	// Accel is an acceleration in this step, in m/s², such as of a cart that drives.
	Accel geom.Vec2
}

// Push changes the velocities of b as a blow at a point of the world does. The impulse is in
// kilogram metres per second. A kinematic body is not changed.
func (b *Body) Push(impulse, at geom.Vec2) {
	im, ii := b.inverse()
	b.Vel = b.Vel.Add(impulse.Mul(im))
	b.Spin += geom.Angle(float64(ii * at.Sub(b.Pos).Cross(impulse)))
}

// inverse returns one over the mass, and one over the moment of inertia; 0 for what cannot be
// moved.
func (b *Build) inverse() (mass, inertia float64) {
	if !(b.Mass > 0) {
		return 0, 0
	}
	mass = 1 / geom.Clamp(b.Mass, MinMass, MaxMass)
	if b.NoSpin {
		return mass, 0
	}
	if g2 := b.gyration2(); g2 > 0 {
		inertia = mass / g2
	}
	return mass, inertia
}

// gyration2 returns the moment of inertia of one kilogram, in m².
func (b *Build) gyration2() float64 {
	if r := geom.Clamp(b.Radius, 0, MaxSize); r > 0 {
		return float64(float64(r*r) / 2)
	}
	x, y := geom.Clamp(b.Half.X, 0, MaxSize), geom.Clamp(b.Half.Y, 0, MaxSize)
	return (float64(x*x) + float64(y*y)) / 3
}

// Touch reports that two bodies touched in a step, or a body and a wall.
type Touch struct {
	// A and B are indices in Scene.Bodies, A below B. B is -1 for a wall.
	A, B int
	// At is a place on the border between them, and Normal the unit vector there from A to B.
	At, Normal geom.Vec2
	// Speed is how fast they closed in, in metres per second; 0 if they did not.
	Speed float64
	// Impulse is how hard they pressed in this step, in kilogram metres per second.
	Impulse float64
}

// Scene is what takes part in a step. Its zero value is an empty scene. A Scene may be used again
// and again, also for another world: it keeps its memory and nothing else. It is not safe for
// concurrent use, and one process may run many worlds at once, so rules keep scenes in a sync.Pool.
type Scene struct {
	// Gravity accelerates all bodies with mass, in m/s². It is zero in a game that is seen from
	// above.
	Gravity geom.Vec2
	// Walls stand still, with a surface that all of them share. Every body with mass looks at every
	// wall.
	Walls   geom.Walls
	Surface Surface
	// Bodies are moved by Step. Their order decides who is served first, so it must be the same on
	// all machines: by rising ID.
	Bodies []Body
	// Touches lists what touched in the last Step: bodies by their indices, then walls.
	Touches []Touch

	work scratch
}

// Reset empties the scene and keeps its memory.
func (s *Scene) Reset() {
	s.Gravity, s.Walls, s.Surface = geom.Vec2{}, geom.Walls{}, Surface{}
	s.Bodies, s.Touches = s.Bodies[:0], s.Touches[:0]
}

// Add appends a body and returns its index.
func (s *Scene) Add(b Body) int {
	s.Bodies = append(s.Bodies, b)
	return len(s.Bodies) - 1
}

func finite(v geom.Vec2, a geom.Angle) bool {
	return math.Abs(v.X) <= MaxPlace && math.Abs(v.Y) <= MaxPlace && a.Finite()
}
