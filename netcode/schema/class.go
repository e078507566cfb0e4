package schema

import (
	"reflect"
	"unsafe"
)

// Class is what a property means.
type Class uint8

// The classes. Each has a file of its own, and a line in the table classes.
const (
	Pos Class = iota
	Vel
	Angle
	Float
	Int
	Bool
	Tick
	Handle
	Text
	Stick
	Press
	View
	Quat
	Spin
	Enum
	Bytes
)

// numClasses is how many classes there are.
const numClasses = int(Bytes) + 1

// classes is the table of all that depends on a property's class.
var classes = [numClasses]*class{
	Pos: &placeClass, Vel: &velocityClass, Angle: &angleClass, Float: &floatClass, Int: &intClass, Bool: &boolClass,
	Tick: &tickClass, Handle: &handleClass, Text: &textClass, Stick: &stickClass, Press: &pressClass, View: &viewClass,
	Quat: &quatClass, Spin: &spinClass, Enum: &enumClass, Bytes: &bytesClass,
}

func (c Class) String() string { return classes[c].name }

// fits reports whether a class fits a Go type, and sets what follows from the type.
func (c *class) fits(p *Prop, t goType) bool {
	if c.tags.fits != nil {
		return c.tags.fits(p, t)
	}
	return t.kind == c.tags.kind
}

// A class is all that sets properties of one class apart from others. A new class is one of these
// in a file of its own, and a line in classes.
type class struct {
	name  string // in tags
	goes  string // which Go types it fits, in messages
	typed string // Go types with this name are of the class; "": see usual
	usual bool   // Go types that it fits are of the class if no other class claims their name
	works string // a tag that works

	tags   tagRules
	facts  facts
	values valueRules
}

// tagRules is what the words of a tag may say of a class, and what they come to.
type tagRules struct {
	// kind is that of the Go types it fits. fits, where it is set, decides instead and may set what
	// follows from the type.
	kind reflect.Kind
	fits func(p *Prop, t goType) bool

	// sim and obs are the precisions of a tag without any, in steps per unit; 0 is 1. Where perTick
	// is not 0, sim is relative to a tick, and perTick units a second are one.
	sim, obs, perTick float64
	// steps is what a precision says, in steps per unit; nil: the class has none. need is the
	// mistake of leaving it out; "": that is none.
	steps func(p *Prop, word string) (float64, error)
	need  string

	same   bool // without others=, observers receive the simulation's precision
	ranges bool // a range may stand beside the precision
	team   bool // the property may be the entity's team
	group  int  // the record of a tag without group=

	// slow reads what slow= says, in units per second; nil: the word does not fit. unit is how
	// messages about it write amounts.
	slow func(word string) (perSecond float64, ok bool)
	unit unit

	curves  bool  // draw=hermite fits
	reckons bool  // draw=dr fits
	leader  Class // whose values these two go by

	// finish derives what all words together say; nil: nothing.
	finish func(p *Prop, t *tag) error
}

// facts are what others ask of a class.
type facts struct {
	shape  Shape // ShapeVec2 stands for vectors of any number of components
	motion Motion
	input  Input
	graded bool // values come in steps: observers may receive coarser ones, and others lie between two
	turns  bool // the precision is the steps of a turn
	faces  bool // it says which way an entity faces
}

// valueRules turn values of a class into integers and back. Functions are given the integers or
// numbers of one property, and keep none of them.
type valueRules struct {
	// load rounds a field onto the simulation's grid; store writes a field from integers of a grid.
	load  func(q *Prop, f unsafe.Pointer, dst []int64)
	store func(q *Prop, g *grid, f unsafe.Pointer, src []int64)
	// clamp forces simulation integers into what load could have made.
	clamp func(q *Prop, v []int64)
	// observe makes observer integers of simulation integers.
	observe func(q *Prop, src []int64, dst []int32)

	// drawn makes numbers of drawn integers; exact makes them of simulation integers, the part u of
	// the way from a to b. round turns such numbers into simulation integers, and clamp follows;
	// redraw turns them into drawn integers; nil: nothing that an entity's children need.
	drawn  func(q *Prop, src []int64, dst []float64)
	exact  func(q *Prop, a, b []int64, u float64, dst []float64)
	round  func(q *Prop, src []float64, dst []int64)
	redraw func(q *Prop, src []float64, dst []int64)

	form  form // how a value is written by itself, where it has no bounds
	bits  int  // how many bits it takes; 0: its bounds or the form say
	alone int  // order of the code of an unbounded value by itself
	delta int  // order of the code of a difference
	whole bool // there are no differences: values are always written by themselves
}

// A Shape is what a value looks like to those who know no classes, such as a page.
type Shape string

// The shapes. A vector of one component is a number.
const (
	ShapeNumber Shape = "number"
	ShapeVec2   Shape = "vec2"
	ShapeVec3   Shape = "vec3"
	ShapeAngle  Shape = "angle"
	ShapeView   Shape = "view"
	ShapeQuat   Shape = "quat"
	ShapeBool   Shape = "bool"
	ShapePress  Shape = "press"
	ShapeEnum   Shape = "enum"
	ShapeText   Shape = "text"
	ShapeBytes  Shape = "bytes"
)

// Shape returns what values of the property look like.
func (p *Prop) Shape() Shape {
	s := classes[p.Class].facts.shape
	switch {
	case s == ShapeVec2 && p.Comps == 1:
		return ShapeNumber
	case s == ShapeVec2 && p.Comps == 3:
		return ShapeVec3
	}
	return s
}

// Motion is how values go on from tick to tick.
type Motion uint8

// The motions.
const (
	Still   Motion = iota // they change when something happens, by anything
	Travels               // a place, which goes on in its direction
	Speeds                // a velocity
	Turns                 // a direction, which goes on turning
	Varies                // a number, which goes on rising or falling
)

// Motion returns how values of the property go on. Those that have bounds do not.
func (p *Prop) Motion() Motion {
	if p.ranged {
		return Still
	}
	return classes[p.Class].facts.motion
}

// GoesOn reports whether the property may be drawn on in its direction when no newer record is
// there: a place, or an angle.
func (p *Prop) GoesOn() bool {
	m := classes[p.Class].facts.motion
	return m == Travels || m == Turns
}

// Input is what a property of a command is.
type Input uint8

// The inputs.
const (
	InputChoice Input = iota // an aim or a choice: it stays until the player changes it
	InputMove                // where the player goes
	InputHeld                // what is held down, until it is let go
	InputPress               // an edge: never repeated, and moved to the next tick when it is late
)

// Input returns what the property of a command is.
func (p *Prop) Input() Input { return classes[p.Class].facts.input }

// A grid is the steps in which the integers of a property count.
type grid struct {
	per        float64 // steps per unit; of angles, in a turn
	turn       int64   // of angles: steps of a turn
	base, most int64   // of rotations, see quatScale; most also of sticks: the steps from the middle to the edge
	shift      uint    // of values without steps: by how many bits they are shifted
}

func (p *Prop) gridOf(steps float64, sub int64) grid {
	g := grid{per: float64(steps * float64(sub))}
	if sub > 1 {
		g.shift = 8
	}
	switch f := &classes[p.Class].facts; {
	case f.turns:
		g.turn = int64(steps) * sub
	case p.Rotates():
		g.base, g.most = quatScale(steps, sub)
	case p.isStick():
		g.most = int64(steps)
	}
	return g
}
