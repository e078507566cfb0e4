// Package schema says what the network sees of a Go struct: its properties, how finely each is
// kept, who receives it and how it is drawn. Everything else (history, wire, motion) works on the
// integers that a Kind extracts, so that no later stage ever rounds again.
//
// A field's tag is `net:"class[,precision][,word...]"`:
//
//	class   Go types                    precision            meaning
//	pos     geom.Vec2, geom.Vec3        1/256mm 1mm 1cm 1m   a place in metres; without a precision 1/256 mm
//	vel     geom.Vec2, geom.Vec3        1cm/s                a velocity in metres per second; without: 1/256 mm a tick
//	angle   geom.Angle, float64         1deg, 16bit          a direction in radians; without: 16 bits
//	view    geom.View                   1deg, 16bit          yaw and pitch in radians, pitch kept within a quarter turn
//	quat    geom.Quat                   4bit up to 20bit     a rotation in space: bits of each of three numbers; without: 16 bits
//	spin    geom.Vec3, geom.Angle       1deg/s               an angular velocity in radians per second; without: 1/65536 turn a tick
//	float   float64                     0.1                  any number, in steps; a range 0..5 beside it bounds it
//	int     every integer type          0..999               a ranged integer, both ends included
//	enum    every integer type          idle|walk|run        one of these words, the first being 0
//	bool    bool
//	tick    clock.Tick (game.Tick)                           a tick number
//	handle  a uint32 type (game.ID)                          another entity; who receives it learns that number, in sight or not
//	text    string                      12                   at most so many bytes of UTF-8, 31 at most, without zeros
//	bytes   an array of 1 to 32 bytes                        bytes as they are
//	stick   geom.Vec2                   5bit                 commands: a direction within the unit disc; without: 5 bits
//	press   bool                                             commands: an edge; never repeated, moved to the next tick when late
//
// The precision is that of the simulation: the state is rounded to it after each step, and the
// owner of an entity receives exactly that. Words, in any order after the class, each at most once:
//
//	others=P                    the coarser precision that observers receive: pos, vel, angle, view, quat, spin, float; without it
//	                            pos and vel are 1 cm and 1 cm/s, quat 9 bits and spin 1deg/s, or the simulation's where that is coarser
//	P@D                         after others=: the precision of those who are D or further away, 4cm@30m: twice, four times, ... as
//	                            coarse as that before it; three at most, and three distances in a kind
//	draw=linear|hermite|step    how it is drawn between two records; hermite needs a vel beside the pos. Angles, views and quaternions
//	                            are always drawn the short way round
//	draw=dr:10cm                dead reckoning of a pos by its vel, an angle by its spin (draw=dr:2deg): drawn on from the newest
//	                            record, and sent only when that is wrong by more
//	warp=2m                     a pos: two records further apart than that are not joined by a line, as if it had been moved there
//	slow=1cm/s                  pos, vel, angle, spin: the least speed that matters; a precision that would stall it is refused
//	to=owner, server, kept      who receives it, instead of everyone: its owner; nobody; nobody, but the owner's
//	                            prediction computes it too
//	to=team                     only those whose avatar's team is that of this entity
//	team                        an int, enum or handle: the team that the entity belongs to, 0 being none
//	parent                      a handle: the entity that the first pos is relative to, 0 being none; see game.World.On
//	ref                         text: observers receive a number for it, and the text itself once, reliably; until that has
//	                            arrived they see none. For names that come into sight again and again; the owner's own record has the text itself
//	wire=near                   pos: where its value stands by itself, 16 bits a coordinate do while it is near the one who looks: 327 m
//	                            at 1 cm. For worlds much larger than what is seen of them
//	far=50m                     nobody further away than that from the first pos receives it; not for that pos itself
//	group=0..3                  the atomic record that it travels in; without it movement, state and text are apart. What has another
//	                            audience or another distance than the rest of its group travels in a record of its own
//
// What rules move a little in each tick wants a fine precision, or it stands still: at 30 ticks a
// second a place kept in steps of 1 cm is not moved by less than 15 cm/s. Leave the precision out
// there and write others=; slow= has New check it. Fields may be unexported.
//
// A Kind is made from the tags of a struct by New, or from the same words without reflection by
// Build.
package schema

import (
	"reflect"

	"meanwhile/internal/fault"
)

// Limits of a kind.
const (
	MaxProps  = 64
	MaxGroups = 4
	MaxText   = 31  // bytes of a text property
	MaxBytes  = 32  // bytes of a bytes property
	MaxNames  = 256 // names of an enum
	MaxComps  = 96  // integer components of a kind
	MaxLevels = 4   // precisions by distance

	// MaxParents is how many entities may carry each other: a rider on a horse on a ferry has two
	// parents. The place of an entity with more parents is unknown.
	MaxParents = 4

	// MaxValue bounds the magnitude of every simulation integer: 1.1 million kilometres at the
	// default precision. What is beyond stops there. Up to it rounding a value that lies on the
	// grid gives that value again.
	MaxValue = 1 << 48
)

// Audience is who receives a property.
type Audience uint8

// The audiences. What is not sent to a client cannot be read by it, however much it cheats.
const (
	Everyone Audience = iota
	Owner             // the player whose avatar it is
	Server            // nobody
	Kept              // nobody, but the owner's prediction computes it too
	Team              // players whose avatar is of the entity's team
)

// Draw is how a property is drawn between two records.
type Draw uint8

// The drawing modes.
const (
	Step    Draw = iota // the older record's value until the newer record's time
	Linear              // a straight line, or the short way round
	Hermite             // a cubic through both places with the velocities of both
	Reckon              // dead reckoning: on from the older record by its velocity
)

// Prop is one property of a kind: a field of the struct as 1 to 8 integers.
type Prop struct {
	Name     string
	Class    Class
	Audience Audience
	Draw     Draw
	Group    int
	Comps    int              // integer components: x, y, z; yaw, pitch; a rotation in three; or a text in groups of four bytes
	Sim      float64          // steps per unit in simulation: metre, m/s, rad/s or 1; steps per turn of angles; 2 to the bits of a Quat
	Obs      float64          // the same for observers; at most Sim
	Min, Max int64            // of an Int, an Enum, or a Float that has a range, in simulation steps; Max is the bytes of a Text or Bytes
	Names    string           // of an Enum: its words, with | between them
	Turn     int64            // observer steps per turn; 0 if not an Angle or View
	SimTurn  int64            // the same in simulation
	At       int              // index of the first component among the simulation integers
	ObsAt    int              // the same among the observer integers; -1 if observers do not receive it
	Tangent  int              // for Hermite and Reckon: index in Props of the velocity
	TangentQ int64            // for Hermite and Reckon: observer steps per tick and velocity step, in 1/1<<32
	Bound    int64            // for Reckon: by how many observer steps it may be wrong
	Warp     int64            // observer steps: records further apart are not joined; 0: all are
	Far      float64          // metres: nobody further away receives it; 0: no limit
	Shift    [MaxLevels]uint8 // at each level of the kind: by how many bits observers' integers are coarser
	Ref      bool             // a Text that observers receive as a number: the first of its observer integers, the others being 0
	Near     bool             // a Pos that is coded beside the viewer where it stands by itself

	own, others precision // of simulation and observer integers
	drawn       grid
	ranged      bool // values have bounds, from which they are counted
	field       field
	said        written
}

// A precision is how integers of a property count, and how they are written.
type precision struct {
	grid grid
	code code
}

// A field is where in a Go struct a property stands.
type field struct {
	offset uintptr
	kind   reflect.Kind
	width  int // bytes in each component of a Bytes
}

// Group is a set of properties that travel in one atomic record.
type Group struct {
	Props    []int    // indices into Kind.Props, observers' properties only
	At, N    int      // the group's range among the observer integers
	Moving   bool     // has properties that are drawn between records
	Audience Audience // Everyone or Team
	Far      float64  // metres: nobody further away receives it; 0: no limit
	Warps    []int    // those of Props that have a Warp
	Reckoned uint64   // set of indices into Kind.Props: those that are dead reckoned, and the velocities by which they go on
}

// Kind is the schema of one struct type.
type Kind struct {
	Name   string
	Type   reflect.Type // nil if the kind was built without reflection
	Rate   int          // ticks per second
	Props  []Prop
	Groups []Group
	Owned  []int // properties that the owner receives, in order
	Sims   int   // number of simulation integers
	Obs    int   // number of observer integers

	Place  int       // index in Props of the entity's place, the first pos that everyone receives, or -1; see PlaceProp
	Facing int       // index of the quat, angle or view by which things that are relative to such an entity are turned, or -1
	Parent int       // index of the handle of the entity that the first pos is relative to, or -1
	Team   int       // index of the property that names the entity's team, or -1
	Refs   bool      // observers receive some text as a number
	Near   bool      // some pos that observers receive is coded beside the viewer
	Levels []float64 // metres at which the levels after the first begin, rising; Prop.Shift says what each is

	// Extrapolated says that clients may draw the kind beyond its newest record, so that nobody can
	// hit it. Whoever made the kind sets it.
	Extrapolated bool

	coarse []*Kind // by which records of the levels after the first are coded
}

// New reads the schema of struct type t from its tags. All wrong tags are reported in one error.
// rate is the tick rate in Hz: the default precision of velocities is relative to a tick.
func New(name string, t reflect.Type, rate int) (*Kind, error) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil, fault.Errorf("schema: %s is a %v, want a struct", name, t)
	}
	b := builder(name, t.Name(), rate)
	b.kind.Type = t
	for i := range t.NumField() {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("net")
		b.add(f.Name, tag, ok, f.Offset, typeOf(f.Type))
	}
	return b.Kind()
}
