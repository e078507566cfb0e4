package schema

import (
	"reflect"
	"unsafe"
)

// Class is what a property means.
type Class uint8

// The classes. What each does stands in a file of its own, and all of them in the table classes.
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

// NumClasses is how many classes there are.
const NumClasses = int(Bytes) + 1

// classes is the table of all that depends on a property's class.
var classes = [NumClasses]*class{
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

// A class is all that sets properties of one class apart from others.
type class struct {
	name  string // in tags
	goes  string // with which Go types, in messages
	typed string // the name of the Go type that is of this class if nothing else is said; "": see usual
	usual bool   // Go types that it fits are of this class if nothing else is said and no class claims their name
	works string // a tag that works

	tags   tagRules
	facts  facts
	values valueRules
}

// tagRules is what the words of a tag may say of a class, and what they come to.
type tagRules struct {
	kind reflect.Kind                 // of the Go types that it fits
	fits func(p *Prop, t goType) bool // whether it fits a Go type, where that is not just a kind; sets what follows from the type

	sim, obs float64                                     // the precisions of a tag without any, in steps per unit; 0: 1
	perTick  float64                                     // not 0: sim is per tick and this many units a second
	steps    func(p *Prop, word string) (float64, error) // what a precision says, in steps per unit; nil: there is none
	need     string                                      // the mistake of leaving it out; "": none
	same     bool                                        // without others=, observers receive the simulation's precision
	ranges   bool                                        // a range may stand beside the precision

	slow    func(word string) (perSecond float64, ok bool) // what slow= says; nil: the word does not fit
	unit    unit                                           // of what slow= is about
	curves  bool                                           // draw=hermite fits
	reckons bool                                           // draw=dr fits
	leader  Class                                          // whose values these two go by
	team    bool                                           // it may name a team
	group   int                                            // the record of tags without group=
	finish  func(p *Prop, t *tag) error                    // derives what all words together say; nil: nothing
}

// facts are what others ask of a class.
type facts struct {
	shape  Shape // ShapeVec2 stands for vectors of any number of components
	motion Motion
	input  Input
	graded bool // its values come in steps of some size: observers may receive coarser ones, and others lie between two
	turns  bool // its precision is the steps of a turn
	faces  bool // says which way an entity faces
}

// valueRules turn values of a class into integers and back. Functions are given the integers or
// numbers of one property.
type valueRules struct {
	load    func(q *Prop, f unsafe.Pointer, dst []int64)          // a field, rounded onto the simulation's grid
	store   func(q *Prop, g *grid, f unsafe.Pointer, src []int64) // a field, from integers of a grid
	clamp   func(q *Prop, v []int64)                              // forces simulation integers into what load could have made
	observe func(q *Prop, src []int64, dst []int32)               // observer integers of simulation integers
	drawn   func(q *Prop, src []int64, dst []float64)             // numbers of drawn integers
	exact   func(q *Prop, a, b []int64, u float64, dst []float64) // numbers of simulation integers, u of the way from a to b
	round   func(q *Prop, src []float64, dst []int64)             // simulation integers of such numbers; clamp follows
	redraw  func(q *Prop, src []float64, dst []int64)             // drawn integers of such numbers; nil: nothing that is relative to others
	form    form                                                  // how a value is written by itself, where its range does not say
	bits    int                                                   // in as many bits; 0: its range, or the form
	delta   int                                                   // order of the code of differences
	alone   int                                                   // order of the code of unbounded values by themselves; 0: not needed
	whole   bool                                                  // values have no differences: they are always written by themselves
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
