// Package schema says what the network sees of a Go struct: its properties, how finely each is kept,
// who receives it and how it is drawn. Everything else (history, wire, motion) works on the integers
// that a Kind extracts, so that no later stage ever rounds again.
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
// The precision is that of the simulation: the state is rounded to it after each step, and the owner of an entity
// receives exactly that. Words, in any order after the class, each at most once:
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
// What rules move a little in each tick wants a fine precision, or it stands still: at 30 ticks a second a place kept in steps of 1 cm is not
// moved by less than 15 cm/s. Leave the precision out there and write others=; slow= has New check it. Fields may be unexported.
//
// A Kind is made from the tags of a struct by New, or from the same words without reflection by Build.
package schema

import (
	"errors"
	"hash/fnv"
	"reflect"
	"strconv"
	"strings"
	"unsafe"

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

	// MaxParents is how many entities may carry each other: a rider on a horse on a ferry has two parents. The place of
	// an entity with more parents is unknown.
	MaxParents = 4

	// MaxValue bounds the magnitude of every simulation integer: 1.1 million kilometres at the default precision.
	// What is beyond stops there. Up to it rounding a value that lies on the grid gives that value again.
	MaxValue = 1 << 48
)

// Class is what a property means.
type Class uint8

// The classes.
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

var classNames = [NumClasses]string{"pos", "vel", "angle", "float", "int", "bool", "tick", "handle", "text", "stick", "press", "view", "quat", "spin", "enum", "bytes"}

func (c Class) String() string { return classNames[c] }

// graded reports whether values of the class come in steps of some size: observers may receive coarser ones, and there are
// values between two of them.
func (c Class) graded() bool {
	switch c {
	case Pos, Vel, Angle, Float, View, Quat, Spin:
		return true
	}
	return false
}

// whole reports whether the class has no differences: values are always written by themselves.
func (c Class) whole() bool {
	switch c {
	case Bool, Press, Text, Stick, Enum, Bytes:
		return true
	}
	return false
}

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
	IsTeam   bool             // the entity's team
	IsParent bool             // what the first pos is relative to

	obsMin, obsMax int64 // Min and Max in observer steps
	bits           int   // width of the absolute value where it is bounded; 0 otherwise
	k              int   // order of the code of differences
	absK           int   // order of the code of unbounded absolute values
	offset         uintptr
	typ            reflect.Kind
	width          int // bytes in each component of a Bytes

	tag     string // for messages
	works   string // a tag that fits the type
	levels  [MaxLevels - 1]level
	far     int     // how many of levels there are
	slow    float64 // units per second
	slowest string  // the same, as written
	within  string  // bound of dead reckoning, as written
}

// A level is a coarser precision from some distance on.
type level struct {
	from  float64 // metres
	shift uint8
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
	PlaceX int   // observer component of the first pos property's x, or -1; y follows it

	PlaceMM float64 // millimetres of one observer step of that property

	Place  int       // index in Props of that property, or -1
	Facing int       // index of the quat, angle or view by which things that are relative to such an entity are turned, or -1
	Parent int       // index of the handle of the entity that the first pos is relative to, or -1
	Team   int       // index of the property that names the entity's team, or -1
	Refs   bool      // observers receive some text as a number
	Near   bool      // some pos that observers receive is coded beside the viewer
	Levels []float64 // metres at which the levels after the first begin, rising; Prop.Shift says what each is

	// Extrapolated says that clients may draw the kind beyond its newest record, so that nobody can hit it. Whoever made the kind sets it.
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

// Builder makes a Kind field by field, as New does from a struct type.
type Builder struct {
	kind  *Kind
	title string // of the struct, in messages
	err   error  // makes all else meaningless
	errs  []error
	base  unsafe.Pointer
	size  uintptr
}

func builder(name, title string, rate int) *Builder {
	b := &Builder{kind: &Kind{Name: name, Rate: rate, PlaceX: -1, Place: -1, Facing: -1, Parent: -1, Team: -1}, title: title}
	if rate < 1 || rate > 1000 {
		b.err = fault.Errorf("schema: %s: rate %d Hz is outside [1, 1000]", name, rate)
	}
	return b
}

func (b *Builder) add(name, tag string, tagged bool, offset uintptr, t goType) {
	if b.err != nil {
		return
	}
	works := t.example()
	switch {
	case works == "":
		b.errs = append(b.errs, fault.Errorf("%s.%s has the type %s, which no class fits; %s", b.title, name, t.name, fitting))
		return
	case !tagged:
		b.errs = append(b.errs, fault.Errorf("%s.%s has no net tag; write for example `net:%q`, or `net:%q` if it never leaves the server", b.title, name, works, works+",server"))
		return
	}
	class, _, _ := strings.Cut(tag, ",")
	p := Prop{Name: name, offset: offset, tag: tag, works: t.exampleOf(class)}
	if err := p.parse(t, b.kind.Rate); err != nil {
		b.wrong(&p, err)
		return
	}
	b.kind.Props = append(b.kind.Props, p)
}

func (b *Builder) wrong(p *Prop, err error) {
	b.errs = append(b.errs, fault.Errorf("%s.%s `net:%q`: %w; an example that works: `net:%q`", b.title, p.Name, p.tag, err, p.works))
}

// Kind returns the finished kind, or every mistake that was made in one error.
func (b *Builder) Kind() (*Kind, error) {
	if b.err != nil {
		return nil, b.err
	}
	k := b.kind
	if len(k.Props) > MaxProps {
		b.errs = append(b.errs, fault.Errorf("%s has %d properties, at most %d fit a kind", b.title, len(k.Props), MaxProps))
	}
	if len(b.errs) == 0 { // what follows is about properties beside each other
		b.layout()
	}
	if len(b.errs) > 0 {
		return nil, fault.Errorf("schema: %s: %w", k.Name, errors.Join(b.errs...))
	}
	k.coarse = k.coarser()
	return k, nil
}

// observed reports whether anyone but the owner receives the property.
func (p *Prop) observed() bool { return p.Audience == Everyone || p.Audience == Team }

func (b *Builder) layout() {
	k := b.kind
	for i := range k.Props {
		p := &k.Props[i]
		p.At, p.ObsAt = k.Sims, -1
		k.Sims += p.Comps
		if p.observed() || p.Audience == Owner {
			k.Owned = append(k.Owned, i)
		}
		switch {
		case p.IsTeam && k.Team >= 0:
			b.wrong(p, fault.Errorf("%s names the entity's team already", k.Props[k.Team].Name))
		case p.IsTeam:
			k.Team = i
		}
		switch {
		case p.IsParent && k.Parent >= 0:
			b.wrong(p, fault.Errorf("%s names the parent already", k.Props[k.Parent].Name))
		case p.IsParent:
			k.Parent = i
		}
		if p.Class == Pos && p.Audience == Everyone && k.Place < 0 {
			k.Place = i
		}
		if (p.Class == Quat || p.Class == Angle || p.Class == View) && p.Audience == Everyone && k.Facing < 0 {
			k.Facing = i
		}
	}
	if k.Sims > MaxComps {
		b.errs = append(b.errs, fault.Errorf("%s has %d integers, at most %d fit a kind", k.Name, k.Sims, MaxComps))
	}
	b.levels()
	b.groups()
	for i := range k.Props {
		p := &k.Props[i]
		if p.Audience == Team && k.Team < 0 {
			b.wrong(p, errors.New("to=team needs a property with the word team, which says whose team"))
		}
		if p.IsParent && (k.Place < 0 || k.Props[k.Place].Group != p.Group) {
			b.wrong(p, errors.New("a parent needs a pos for everyone in its group, which is relative to it"))
		}
		if i == k.Place && p.Far > 0 {
			b.wrong(p, errors.New("far= is measured from the first pos for everyone, so all who know of the entity receive that one; leave it out, or give far= to what else they need not know"))
		}
		if p.slow > 0 {
			if err := k.stalls(p); err != nil {
				b.wrong(p, err)
			}
		}
		if (p.Draw == Hermite || p.Draw == Reckon) && p.observed() {
			if err := k.tangent(i); err != nil {
				b.wrong(p, err)
			}
		}
	}
}

// groups gives every combination of group number, audience and distance a record of its own.
func (b *Builder) groups() {
	k := b.kind
	type key struct {
		group    int
		audience Audience
		far      float64
	}
	of := func(i int) key { return key{k.Props[i].Group, k.Props[i].Audience, k.Props[i].Far} }
	before := func(a, b key) bool {
		if a.group != b.group || a.audience != b.audience {
			return a.group < b.group || a.group == b.group && a.audience < b.audience
		}
		return a.far < b.far
	}
	var props []int
	for i := range k.Props {
		if !k.Props[i].observed() {
			continue
		}
		props = append(props, i) // sorted in: there are few, and package slices would be 5 kB more of each page's program
		for j := len(props) - 1; j > 0 && before(of(i), of(props[j-1])); j-- {
			props[j], props[j-1] = props[j-1], i
		}
	}
	for at, i := range props {
		p := &k.Props[i]
		if at == 0 || of(props[at-1]) != of(i) {
			k.Groups = append(k.Groups, Group{At: k.Obs, Audience: p.Audience, Far: p.Far})
		}
		g := &k.Groups[len(k.Groups)-1]
		p.ObsAt = k.Obs
		k.Obs += p.Comps
		k.Refs = k.Refs || p.Ref
		k.Near = k.Near || p.Near
		g.N += p.Comps
		g.Props = append(g.Props, i)
		g.Moving = g.Moving || p.Draw != Step
		if p.Warp > 0 {
			g.Warps = append(g.Warps, i)
		}
	}
	for g := range k.Groups { // groups without members leave no hole
		for _, i := range k.Groups[g].Props {
			k.Props[i].Group = g
		}
	}
	if len(k.Groups) > MaxGroups {
		b.errs = append(b.errs, fault.Errorf("%s has %d groups by number, audience and distance, at most %d fit a kind", b.title, len(k.Groups), MaxGroups))
	}
	if len(k.Groups) == 0 {
		k.Groups = append(k.Groups, Group{}) // a record must say that the thing is there
	}
	if k.Place >= 0 {
		k.PlaceX, k.PlaceMM = k.Props[k.Place].ObsAt, 1000/k.Props[k.Place].Obs
	}
}

// levels merges the distances of all properties.
func (b *Builder) levels() {
	k := b.kind
	for i := range k.Props {
		for _, l := range k.Props[i].levels[:k.Props[i].far] {
			at := 0
			for at < len(k.Levels) && k.Levels[at] < l.from {
				at++
			}
			if at == len(k.Levels) || k.Levels[at] != l.from {
				k.Levels = append(k.Levels[:at], append([]float64{l.from}, k.Levels[at:]...)...)
			}
		}
	}
	if len(k.Levels) >= MaxLevels {
		b.errs = append(b.errs, fault.Errorf("%s has %d distances at which precisions change, at most %d fit a kind: %v m", b.title, len(k.Levels), MaxLevels-1, k.Levels))
		return
	}
	for i := range k.Props {
		p := &k.Props[i]
		for n, from := range k.Levels {
			p.Shift[n+1] = p.Shift[n]
			for _, l := range p.levels[:p.far] {
				if l.from == from {
					p.Shift[n+1] = l.shift
				}
			}
		}
	}
}

// Level returns which of the kind's precisions those receive who are so many metres away.
func (k *Kind) Level(metres float64) int {
	n := 0
	for n < len(k.Levels) && metres >= k.Levels[n] {
		n++
	}
	return n
}

// stalls reports a precision in which the slowest movement that matters would stand still (docs/adr/0011).
//
// A place moves by slow/rate in a tick. Rounded to whole steps it advances by at least one only if a step is no longer than that.
// A velocity that friction of 1/s takes down loses slow/rate in a tick; what is less than half a step, or half a step exactly, is
// rounded away, and it glides for ever.
func (k *Kind) stalls(p *Prop) error {
	tick := p.slow / float64(k.Rate) // units in one tick at that speed
	per := p.Sim                     // steps in a unit
	if p.Class == Angle {
		per /= twoPi
	}
	if p.Class == Vel || p.Class == Spin {
		if float64(float64(2*tick)*per) > 1 {
			return nil
		}
		return fault.Errorf("a step of %s is too coarse for slow=%s at %d Hz: friction of 1/s takes away %s in a tick, of which half a step or less is rounded away for ever; write a precision of %s or finer",
			p.amount(1/per, 3), p.slowest, k.Rate, p.amount(tick, 3), p.advice(float64(1.999*tick)))
	}
	if float64(tick*per) >= 1-1e-9 {
		return nil
	}
	return fault.Errorf("a step of %s is too coarse for slow=%s at %d Hz, which is %s a tick; write a precision of %s or finer",
		p.amount(1/per, 3), p.slowest, k.Rate, p.amount(tick, 3), p.advice(tick))
}

// tangent finds the velocity that draws the property at an index.
func (k *Kind) tangent(at int) error {
	p := &k.Props[at]
	class, what, comps := Vel, "a vel", p.Comps
	if p.Class == Angle {
		class, what = Spin, "a spin"
	}
	how := "hermite"
	if p.Draw == Reckon {
		how = "dr"
	}
	for i := range k.Props {
		v := &k.Props[i]
		if v.Class != class || v.Comps != comps || !v.observed() || v.Group != p.Group {
			continue
		}
		p.Tangent = i
		if p.Draw == Reckon {
			k.Groups[p.Group].Reckoned |= 1<<at | 1<<i
		}
		per := p.Obs
		if p.Class == Angle {
			per /= twoPi
		}
		p.TangentQ = round(float64(per / float64(v.Obs*float64(k.Rate)) * (1 << 32)))
		return nil
	}
	return fault.Errorf("draws %s and needs %s property of %d components for everyone in its group", how, what, comps)
}

// Words returns the words of an Enum, the first of which is 0.
func (p *Prop) Words() []string { return strings.Split(p.Names, "|") }

// Plain returns an error if a property has words that only make sense for entities: commands and events have no place, no
// distance and no team.
func (k *Kind) Plain() error {
	var errs []error
	for i := range k.Props {
		p := &k.Props[i]
		word := ""
		switch {
		case p.IsParent:
			word = "parent"
		case p.IsTeam:
			word = "team"
		case p.Audience == Team:
			word = "to=team"
		case p.Far > 0:
			word = "far="
		case p.Warp > 0:
			word = "warp="
		case p.far > 0:
			word = "@ distances"
		case p.Draw == Reckon:
			word = "draw=dr"
		default:
			continue
		}
		errs = append(errs, fault.Errorf("schema: %s: %s `net:%q`: %s is for entities only; an example that works: `net:%q`", k.Name, p.Name, p.tag, word, p.works))
	}
	return errors.Join(errs...)
}

// Hash identifies the schema text s; equal texts speak the same wire format.
func Hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// Text describes the kind in a line per property, for hashes and for naming differences.
func (k *Kind) Text() string {
	var b []byte
	word := func(parts ...string) {
		for _, p := range parts {
			b = append(b, p...)
		}
	}
	num := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	whole := func(v int64) string { return strconv.FormatInt(v, 10) }
	word(k.Name, " rate=", whole(int64(k.Rate)))
	sep := " levels="
	for _, m := range k.Levels {
		word(sep, num(m))
		sep = ","
	}
	if k.Extrapolated {
		word(" guessed")
	}
	word("\n")
	for i := range k.Props {
		p := &k.Props[i]
		if p.Audience == Server {
			continue // never on the wire
		}
		word(" ", p.Name, " ", p.Class.String(), " x", whole(int64(p.Comps)), " sim=", num(p.Sim), " obs=", num(p.Obs),
			" range=", whole(p.Min), "..", whole(p.Max), " to=", whole(int64(p.Audience)), " draw=", whole(int64(p.Draw)), " group=", whole(int64(p.Group)))
		if p.Names != "" {
			word(" names=", p.Names)
		}
		if p.Draw == Reckon {
			word(" dr=", whole(p.Bound))
		}
		if p.Warp > 0 {
			word(" warp=", whole(p.Warp))
		}
		if p.Far > 0 {
			word(" far=", num(p.Far))
		}
		sep := " shift="
		for l := 1; p.far > 0 && l <= len(k.Levels); l++ {
			word(sep, whole(int64(p.Shift[l])))
			sep = ","
		}
		for _, w := range [...]struct {
			said bool
			word string
		}{{p.Ref, " ref"}, {p.Near, " near"}, {p.IsParent, " parent"}, {p.IsTeam, " team"}} {
			if w.said {
				word(w.word)
			}
		}
		word("\n")
	}
	return string(b)
}
