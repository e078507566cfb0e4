// Package schema says what the network sees of a Go struct: its properties, how precise each is,
// who receives it and how it is drawn. Everything after it (history, wire, drawing) works on the
// integers that a Kind extracts, so that nothing is rounded twice.
//
// A field's tag is `net:"class[,precision][,word...]"`:
//
//	class   Go types                    precision            meaning
//	pos     geom.Vec2, geom.Vec3        1/256mm 1mm 1cm 1m   a place in metres
//	vel     geom.Vec2, geom.Vec3        1cm/s                a velocity in metres per second
//	angle   geom.Angle, float64         1deg, 16bit          a direction in radians
//	view    geom.View                   1deg, 16bit          yaw and pitch in radians, the pitch within a quarter turn
//	quat    geom.Quat                   4bit up to 20bit     a rotation in space: bits of each of three numbers
//	spin    geom.Vec3, geom.Angle       1deg/s               an angular velocity in radians per second
//	float   float64                     0.1                  a number in steps; a range such as 0..5 bounds it
//	int     every integer type          0..999               an integer in a range, both ends included
//	enum    every integer type          idle|walk|run        one of these words, the first being 0
//	bool    bool
//	tick    clock.Tick (game.Tick)                           a tick number
//	handle  a uint32 type (game.ID)                          another entity; 0 for players who do not see that one
//	text    string                      12                   UTF-8 without zeros, in bytes: 31 at most, in messages 255
//	bytes   an array of 1 to 32 bytes                        bytes as they are
//	stick   geom.Vec2                   5bit                 commands: a direction within the unit disc
//	press   bool                                             commands: an edge, never repeated; if late, it moves to
//	                                                         the next tick
//
// Without a precision, pos has 1/256 mm, vel 1/256 mm a tick, angle, view and quat 16 bits, spin
// 1/65536 turn a tick and stick 5 bits. The precision is that of the simulation: the state is
// rounded to it after each step, and the owner of an entity receives exactly that.
//
// Words stand in any order after the class, each at most once:
//
//	others=P                    the coarser precision that observers receive, of pos, vel, angle, view, quat, spin and
//	                            float. Without it: pos 1 cm, vel 1 cm/s, quat 9 bits, spin 1deg/s, or the
//	                            simulation's precision where that is coarser
//	P@D                         after others=: the precision from the distance D on, such as 4cm@30m. It is 2, 4, 8, ...
//	                            times as coarse as others=. A property and a kind have at most three distances.
//	                            Without any in a kind, the first pos, vel, angle and view get coarser where nobody
//	                            sees it: from 20, 80 and 320 m on they are wrong by a 1000th of the distance at most
//	levels=none                 pos, vel, angle, view: no such coarser steps
//	draw=linear|hermite|step    how it is drawn between two records. hermite needs a vel beside the pos. Angles, views
//	                            and quaternions always turn the short way
//	draw=dr:10cm                dead reckoning of a pos by its vel, or an angle by its spin (draw=dr:2deg): drawn on
//	                            from the newest record, and sent only when that is wrong by more
//	warp=2m                     pos: records further apart than that are not joined by a line
//	slow=1cm/s                  pos, vel, angle, spin: the slowest movement that matters. New refuses a precision in
//	                            which it would stand still
//	to=owner, server, kept      who receives it instead of everyone: its owner; nobody; nobody, but the owner's
//	                            prediction computes it too
//	to=team                     only players whose avatar is of the entity's team receive it
//	team                        int, enum, handle: the entity's team, 0 being none. An event with one goes only to
//	                            players whose avatar is of that team
//	parent                      handle: the entity that the first pos is relative to, 0 being none; see game.World.On
//	ref                         text: observers receive a number, and the text itself once, reliably. Until it arrives
//	                            they see none. For names that appear again and again; owners always receive the text
//	wire=near                   pos: where it stands by itself, 16 bits a coordinate do near the receiving player, 327 m
//	                            at 1 cm. For worlds much larger than what a player sees of them
//	far=50m                     players further away from the first pos for everyone do not get it; not for that pos
//	group=0..3                  the record that it travels in, complete or not at all. Without it, movement, state and
//	                            text are apart. Other audiences and distances get records of their own
//
// A handle is sent as it is to whose avatar has it, since the prediction needs it, and where it is a
// parent or a team. A kind without a pos for everyone has no place: all players know its entities.
//
// A property that rules change a little in each tick needs a fine precision, or it stands still: at
// 30 ticks a second, a place in steps of 1 cm does not move at less than 15 cm/s. Leave the precision out and
// write others= instead; slow= makes New check it. Fields may be unexported.
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
	MaxLine   = 255 // bytes of a text of a message
	MaxBytes  = 32  // bytes of a bytes property
	MaxNames  = 256 // names of an enum
	MaxComps  = 96  // integer components of a kind
	MaxLevels = 4   // precisions by distance
	NearBits  = 16  // of a coordinate with wire=near

	// MaxParents is how many entities may carry each other: a rider on a horse on a ferry has two
	// parents. The place of an entity with more parents is unknown.
	MaxParents = 4

	// MaxValue bounds the magnitude of every simulation integer: 1.1 million kilometres at the
	// default precision. Larger values stop there. Within it, rounding a value that lies on the
	// grid gives that value again.
	MaxValue = 1 << 48
)

// Audience is who receives a property.
type Audience uint8

// The audiences. A client cannot read what it is not sent, however much it cheats.
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

// Ahead says which clients run the entities of a kind ahead with their own avatar, instead of
// drawing them in the past. They receive such an entity at simulation precision.
type Ahead uint8

// The choices of Ahead.
const (
	Playout   Ahead = iota // none: everyone draws it between its records
	Predicted              // all
	Near                   // those whose avatar is near, and the player whose command spawned it
)

// Prop is one property of a kind: a field of the struct, as 1 to 8 integers.
type Prop struct {
	Name     string
	Class    Class
	Audience Audience
	Draw     Draw
	Group    int // index in Kind.Groups

	Comps int     // how many integers: x, y, z; yaw, pitch; three of a rotation; four bytes of a text each
	Sim   float64 // precision of the simulation, in steps per unit: metre, m/s, rad/s; steps of a turn; 2 to a Quat's bits
	Obs   float64 // the same of observers, at most Sim
	At    int     // index of the first component among the simulation integers
	ObsAt int     // the same among the observer integers; -1: observers do not receive it

	Min, Max int64  // the range of an Int, an Enum or a Float, in simulation steps; Max is the length of a Text or Bytes
	Names    string // the words of an Enum, with | between them
	SimTurn  int64  // simulation steps of a turn; 0: not an angle
	Turn     int64  // observer steps of a turn; 0: not an angle

	Tangent  int              // Hermite and Reckon: index in Kind.Props of the velocity
	TangentQ int64            // Hermite and Reckon: observer steps a tick at one step of velocity, in 1/1<<32
	Bound    int64            // Reckon: by how many observer steps it may be wrong
	Warp     int64            // observer steps: records further apart are not joined by a line; 0: all are
	Far      float64          // metres: players further away do not receive it; 0: no limit
	Shift    [MaxLevels]uint8 // for each level of the kind: by how many bits observer integers are coarser
	Ref      bool             // a Text that observers receive as a number, its first observer integer
	Near     uint8            // bits of a coordinate beside the receiving player, of a Pos that stands by itself

	own, others precision // of simulation and observer integers
	drawn       grid
	ranged      bool // Min and Max bound it
	field       field
	tag         written
}

// A precision is how integers of a property count, and how they are written.
type precision struct {
	grid grid
	code code
}

// A field is where in a Go struct a property stands.
type field struct {
	offset uintptr
	size   uintptr
	kind   reflect.Kind
	width  int // bytes in each component of a Bytes
}

// Group is a set of properties that travel in one record, complete or not at all.
type Group struct {
	Props    []int    // indices in Kind.Props; observers receive all of them
	At, N    int      // where its observer integers begin, and how many there are
	Moving   bool     // some property is drawn between records
	Audience Audience // Everyone or Team
	Far      float64  // metres: players further away do not receive it; 0: no limit
	Warps    []int    // those of Props that have a Warp
	Reckoned uint64   // a set of indices in Kind.Props: what is dead reckoned, and the velocities by which
}

// Kind is the schema of one struct type. It does not change once it is in use.
type Kind struct {
	Name   string
	Type   reflect.Type
	Rate   int // ticks per second
	Props  []Prop
	Groups []Group
	Owned  []int // properties that the owner receives, in order
	Sims   int   // how many simulation integers there are
	Obs    int   // how many observer integers there are

	// Indices in Props; -1: none.
	Place  int // the entity's place: the first pos that everyone receives; see PlaceProp
	Facing int // the quat, angle or view by which children of such an entity are turned
	Parent int // the entity that Place is relative to
	Team   int // the entity's team

	Refs   bool      // observers receive some text as a number
	Near   bool      // observers receive some pos that is coded beside them
	Levels []float64 // metres at which the levels after the first begin, rising; see Prop.Shift

	// Extrapolated says that clients draw the kind at the present, beyond its newest record, so
	// that nobody can hit it. New leaves it false; internal/engine sets it.
	Extrapolated bool
	// Beyond says that clients draw such an entity at the present while it is further than so many
	// metres from the player's avatar, where Seen leaves it out. Zero: nowhere. New leaves it zero;
	// internal/engine sets it.
	Beyond float64
	// Ahead says whose clients run the kind ahead; Reach is the distance of Near in metres. New
	// leaves both zero; internal/engine sets them.
	Ahead Ahead
	Reach float64

	coarse []*Kind // for records of the levels after the first
	// reduced is, of such a kind, how the properties of each group become those of its level.
	reduced [][]reduction
}

// New reads the schema of struct type t from its tags. One error reports all wrong tags. rate is
// the tick rate in Hz, 1 to 1000: the default precision of velocities is relative to a tick.
func New(name string, t reflect.Type, rate int) (*Kind, error) {
	return newKind(name, t, rate, MaxText)
}

// NewMessage is New for what travels in a message of its own: its texts may have MaxLine bytes.
func NewMessage(name string, t reflect.Type, rate int) (*Kind, error) {
	return newKind(name, t, rate, MaxLine)
}

func newKind(name string, t reflect.Type, rate, maxText int) (*Kind, error) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil, fault.Errorf("schema: %s is a %v, want a struct", name, t)
	}
	if rate < 1 || rate > 1000 {
		return nil, fault.Errorf("schema: %s: rate %d Hz is outside [1, 1000]", name, rate)
	}
	b := &builder{title: t.Name(), maxText: maxText, kind: &Kind{
		Name: name, Type: t, Rate: rate, Place: -1, Facing: -1, Parent: -1, Team: -1,
	}}
	for i := range t.NumField() {
		b.add(t.Field(i))
	}
	return b.finish()
}
