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
//	float   float64                     0.1                  any number, in steps
//	int     every integer type          0..999               a ranged integer, both ends included
//	bool    bool
//	tick    clock.Tick (game.Tick)                           a tick number
//	handle  a uint32 type (game.ID)                          another entity
//	text    string                      12                   at most so many bytes of UTF-8, 31 at most, without zeros
//	stick   geom.Vec2                   5bit                 commands: a direction within the unit disc; without: 5 bits
//	press   bool                                             commands: an edge; never repeated, moved to the next tick when late
//
// The precision is that of the simulation: the state is rounded to it after each step, and the owner of an entity
// receives exactly that. Words, in any order after the class, each at most once:
//
//	others=P                    the coarser precision that observers receive: pos, vel, angle, float; without it pos and
//	                            vel are 1 cm and 1 cm/s or the simulation's, whichever is coarser
//	draw=linear|hermite|step    how it is drawn between two records; hermite needs a vel beside the pos
//	to=owner, server, kept      who receives it, instead of everyone: its owner; nobody; nobody, but the owner's
//	                            prediction computes it too
//	ref                         text: observers receive a number for it, and the text itself once, reliably; until that has
//	                            arrived they see none. For names that come into sight again and again
//	group=0..3                  the atomic record that it travels in; without it movement, state and text are apart
package schema

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/bits"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Limits of a kind.
const (
	MaxProps  = 64
	MaxGroups = 4
	MaxText   = 31 // bytes of a text property
	MaxComps  = 96 // integer components of a kind

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
)

var classNames = [...]string{"pos", "vel", "angle", "float", "int", "bool", "tick", "handle", "text", "stick", "press"}

func (c Class) String() string { return classNames[c] }

// Audience is who receives a property.
type Audience uint8

// The audiences. What is not sent to a client cannot be read by it, however much it cheats.
const (
	Everyone Audience = iota
	Owner             // the player whose avatar it is
	Server            // nobody
	Kept              // nobody, but the owner's prediction computes it too
)

// Draw is how a property is drawn between two records.
type Draw uint8

// The drawing modes.
const (
	Step    Draw = iota // the older record's value until the newer record's time
	Linear              // a straight line
	Hermite             // a cubic through both places with the velocities of both
)

// Prop is one property of a kind: a field of the struct as 1 to 8 integers.
type Prop struct {
	Name     string
	Class    Class
	Audience Audience
	Draw     Draw
	Group    int
	Comps    int     // integer components: x, y, z, or a text in groups of four bytes
	Sim      float64 // steps per unit in simulation, or steps per turn for angles
	Obs      float64 // the same for observers; at most Sim
	Min, Max int64   // of an Int
	Turn     int64   // observer steps per turn; 0 if not an angle
	SimTurn  int64   // the same in simulation
	At       int     // index of the first component among the simulation integers
	ObsAt    int     // the same among the observer integers; -1 if observers do not receive it
	Ref      bool    // a Text that observers receive as a number: the first of its observer integers, the others being 0
	Tangent  int     // for Hermite: index in Props of the velocity
	TangentQ int64   // for Hermite: observer position steps per tick and velocity step, in 1/1<<32
	bits     int     // width of the absolute value where it is bounded; 0 otherwise
	k        int     // order of the code of differences
	absK     int     // order of the code of unbounded absolute values
	offset   uintptr
	typ      reflect.Kind
	fields   int // float64 fields for pos, vel, stick
}

// Group is a set of properties that travel in one atomic record.
type Group struct {
	Props  []int // indices into Kind.Props, observers' properties only
	At, N  int   // the group's range among the observer integers
	Moving bool  // has properties that are drawn between records
}

// Kind is the schema of one struct type.
type Kind struct {
	Name   string
	Type   reflect.Type
	Rate   int // ticks per second
	Props  []Prop
	Groups []Group
	Owned  []int // properties that the owner receives, in order
	Sims   int   // number of simulation integers
	Obs    int   // number of observer integers
	Refs   bool  // observers receive some text as a number
	PlaceX int   // observer component of the first pos property's x, or -1; y follows it

	PlaceMM float64 // millimetres of one observer step of that property
}

// New reads the schema of struct type t from its tags. All wrong tags are reported in one error.
// rate is the tick rate in Hz: the default precision of velocities is relative to a tick.
func New(name string, t reflect.Type, rate int) (*Kind, error) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("schema: %s is a %v, want a struct", name, t)
	}
	if rate < 1 || rate > 1000 {
		return nil, fmt.Errorf("schema: %s: rate %d Hz is outside [1, 1000]", name, rate)
	}
	k := &Kind{Name: name, Type: t, Rate: rate, PlaceX: -1}
	var errs []error
	for i := range t.NumField() {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("net")
		works := example(f.Type)
		if works == "" {
			errs = append(errs, fmt.Errorf("%s.%s has the type %s, which no class fits; %s", t.Name(), f.Name, f.Type, fitting))
			continue
		}
		if !ok {
			errs = append(errs, fmt.Errorf("%s.%s has no net tag; write for example `net:%q`, or `net:%q` if it never leaves the server", t.Name(), f.Name, works, works+",server"))
			continue
		}
		p, err := parse(f, tag, rate)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s.%s `net:%q`: %w; an example that works: `net:%q`", t.Name(), f.Name, tag, err, works))
			continue
		}
		k.Props = append(k.Props, p)
	}
	if len(k.Props) > MaxProps {
		errs = append(errs, fmt.Errorf("%s has %d properties, at most %d fit a kind", t.Name(), len(k.Props), MaxProps))
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("schema: %s: %w", name, errors.Join(errs...))
	}
	if err := k.layout(); err != nil {
		return nil, err
	}
	return k, nil
}

func (k *Kind) layout() error {
	vel := -1
	for i := range k.Props {
		p := &k.Props[i]
		p.At, p.ObsAt = k.Sims, -1
		k.Sims += p.Comps
		if p.Audience == Everyone || p.Audience == Owner {
			k.Owned = append(k.Owned, i)
		}
		if p.Class == Vel && p.Audience == Everyone && vel < 0 {
			vel = i
		}
	}
	for g := range MaxGroups {
		group := Group{At: k.Obs}
		for i := range k.Props {
			p := &k.Props[i]
			if p.Group != g || p.Audience != Everyone {
				continue
			}
			p.ObsAt = k.Obs
			k.Refs = k.Refs || p.Ref
			k.Obs += p.Comps
			group.Props = append(group.Props, i)
			group.Moving = group.Moving || p.Draw != Step
			if p.Class == Pos && k.PlaceX < 0 {
				k.PlaceX, k.PlaceMM = p.ObsAt, 1000/p.Obs
			}
		}
		group.N = k.Obs - group.At
		if group.N > 0 {
			k.Groups = append(k.Groups, group)
		}
	}
	if len(k.Groups) == 0 {
		k.Groups = append(k.Groups, Group{}) // a record must say that the thing is there
	}
	for g := range k.Groups { // groups without members leave no hole
		for _, i := range k.Groups[g].Props {
			k.Props[i].Group = g
		}
	}
	if k.Sims > MaxComps {
		return fmt.Errorf("schema: %s has %d integers, at most %d fit a kind", k.Name, k.Sims, MaxComps)
	}
	for i := range k.Props {
		p := &k.Props[i]
		if p.Draw != Hermite || p.Audience != Everyone {
			continue
		}
		if vel < 0 || k.Props[vel].Comps != p.Comps || k.Props[vel].Group != p.Group {
			return fmt.Errorf("schema: %s: %s draws hermite and needs a vel property of %d components for everyone in its group", k.Name, p.Name, p.Comps)
		}
		p.Tangent = vel
		p.TangentQ = round(float64(p.Obs / float64(k.Props[vel].Obs*float64(k.Rate)) * (1 << 32)))
	}
	return nil
}

// fitting says what can be networked.
const fitting = "use geom.Vec2, geom.Vec3, geom.Angle, float64, an integer type, bool, string, game.Tick or game.ID; keep other things outside of entities"

// example returns a tag that works for a Go type, or "" if none does.
func example(t reflect.Type) string {
	switch k := t.Kind(); {
	case floatFields(t) > 0:
		return "pos,others=1cm"
	case k == reflect.Float64 && t.Name() == "Angle":
		return "angle,1deg"
	case k == reflect.Float64:
		return "float,0.1"
	case k == reflect.Bool:
		return "bool"
	case k == reflect.String:
		return "text,12"
	case k == reflect.Uint32 && t.Name() == "Tick":
		return "tick"
	case k == reflect.Uint32 && t.Name() == "ID":
		return "handle"
	}
	if _, _, ok := intRange(t.Kind()); ok {
		return "int,0..100"
	}
	return ""
}

// intRange returns the least and the largest value of an integer type, as far as an int64 goes.
func intRange(k reflect.Kind) (least, most int64, ok bool) {
	switch k {
	case reflect.Int, reflect.Int64:
		return math.MinInt64, math.MaxInt64, true
	case reflect.Int8:
		return math.MinInt8, math.MaxInt8, true
	case reflect.Int16:
		return math.MinInt16, math.MaxInt16, true
	case reflect.Int32:
		return math.MinInt32, math.MaxInt32, true
	case reflect.Uint, reflect.Uint64:
		return 0, math.MaxInt64, true
	case reflect.Uint8:
		return 0, math.MaxUint8, true
	case reflect.Uint16:
		return 0, math.MaxUint16, true
	case reflect.Uint32:
		return 0, math.MaxUint32, true
	}
	return 0, 0, false
}

// floatFields returns how many float64 fields a vector type has, 0 if it is none.
func floatFields(t reflect.Type) int {
	if t.Kind() != reflect.Struct || t.NumField() < 2 || t.NumField() > 3 {
		return 0
	}
	for i := range t.NumField() {
		if t.Field(i).Type.Kind() != reflect.Float64 {
			return 0
		}
	}
	return t.NumField()
}

func parse(f reflect.StructField, tag string, rate int) (Prop, error) {
	words := strings.Split(tag, ",")
	p := Prop{Name: f.Name, offset: f.Offset, typ: f.Type.Kind(), Group: -1, Comps: 1, ObsAt: -1, k: 2, absK: 8}
	class := -1
	for i, n := range classNames {
		if n == words[0] {
			class = i
		}
	}
	if class < 0 {
		return p, fmt.Errorf("unknown class %q, want one of %s", words[0], strings.Join(classNames[:], " "))
	}
	p.Class = Class(class)
	if err := p.fits(f.Type); err != nil {
		return p, err
	}
	p.defaults(rate)
	others, precise, drawn, told := false, false, false, false
	audience := func(a Audience) error {
		if told {
			return errors.New("to=owner, server and kept exclude each other")
		}
		p.Audience, told = a, true
		return nil
	}
	for _, w := range words[1:] {
		key, val, said := strings.Cut(w, "=")
		var err error
		switch {
		case key == "others" && said && !others:
			if p.Class > Float {
				return p, fmt.Errorf("others=%s: observers receive class %s as it is", val, p.Class)
			}
			p.Obs, err = p.precision(val)
			others = true
		case key == "draw" && said && !drawn:
			drawn = true
			switch {
			case val == "step":
				p.Draw = Step
			case val == "linear" && p.Class <= Float:
				p.Draw = Linear
			case val == "hermite" && p.Class == Pos:
				p.Draw = Hermite
			default:
				err = fmt.Errorf("draw=%s does not fit class %s", val, p.Class)
			}
		case w == "ref" && !p.Ref:
			if p.Ref = true; p.Class != Text {
				err = fmt.Errorf("ref does not fit class %s, only text", p.Class)
			}
		case w == "to=owner":
			err = audience(Owner)
		case w == "server":
			err = audience(Server)
		case w == "kept":
			err = audience(Kept)
		case key == "group" && said && p.Group < 0:
			n, e := strconv.Atoi(val)
			if e != nil || n < 0 || n >= MaxGroups {
				err = fmt.Errorf("group=%s is outside 0..%d", val, MaxGroups-1)
			}
			p.Group = n
		case !precise && !said && w != "":
			p.Sim, err = p.precision(w)
			precise = true
		default:
			err = fmt.Errorf("unknown or repeated word %q, want a precision, others=, draw=, group=, ref, to=owner, server or kept", w)
		}
		if err != nil {
			return p, err
		}
	}
	if p.Class == Text && !precise || p.Class == Int && !precise || p.Class == Float && !precise {
		return p, fmt.Errorf("class %s needs a precision", p.Class)
	}
	if precise && !others && (p.Sim < p.Obs || p.Class == Angle || p.Class == Stick || p.Class == Float) {
		p.Obs = p.Sim
	}
	if p.Obs > p.Sim {
		return p, fmt.Errorf("others is finer than the simulation: %v against %v steps a unit", p.Obs, p.Sim)
	}
	p.finish()
	return p, nil
}

func (p *Prop) fits(t reflect.Type) error {
	ok, want := false, ""
	switch p.Class {
	case Pos, Vel:
		p.fields = floatFields(t)
		p.Comps = p.fields
		ok, want = p.fields > 0, "geom.Vec2 or geom.Vec3"
	case Stick:
		p.fields = floatFields(t)
		p.Comps = p.fields
		ok, want = p.fields == 2, "geom.Vec2"
	case Angle, Float:
		ok, want = t.Kind() == reflect.Float64, "geom.Angle or float64"
	case Int:
		_, _, ok = intRange(t.Kind())
		want = "an integer type"
	case Bool, Press:
		ok, want = t.Kind() == reflect.Bool, "bool"
	case Tick, Handle:
		ok, want = t.Kind() == reflect.Uint32, "game.Tick or game.ID"
	case Text:
		ok, want = t.Kind() == reflect.String, "string"
	}
	if !ok {
		return fmt.Errorf("class %s does not fit Go type %s, want %s", p.Class, t, want)
	}
	return nil
}

func (p *Prop) defaults(rate int) {
	p.Sim, p.Obs = 1, 1
	switch p.Class {
	case Pos:
		p.Sim, p.Obs, p.Draw, p.k, p.absK = 256000, 100, Linear, 4, 12
	case Vel:
		p.Sim, p.Obs, p.Draw, p.k, p.absK = 256000/float64(rate), 100, Linear, 4, 8
	case Angle:
		p.Sim, p.Obs, p.Draw, p.k = 65536, 65536, Linear, 3
	case Float:
		p.Draw = Linear
	case Stick:
		p.Sim, p.Obs = 15, 15
	}
	if p.Class > Angle && p.Class != Float && p.Class != Stick {
		p.Draw = Step
	}
}

// precision parses the precision word of the property's class into steps per unit.
func (p *Prop) precision(w string) (float64, error) {
	bad := func(want string) (float64, error) {
		return 0, fmt.Errorf("precision %q, want %s", w, want)
	}
	number := func(s string) (float64, bool) {
		num, den, frac := strings.Cut(s, "/")
		v, err := strconv.ParseFloat(num, 64)
		if frac && err == nil {
			d, err2 := strconv.ParseFloat(den, 64)
			v, err = v/d, err2
		}
		return v, err == nil && v > 0 && !math.IsInf(v, 0)
	}
	length := func(s string) (float64, bool) {
		for _, u := range [...]struct {
			suffix string
			per    float64
		}{{"mm", 1000}, {"cm", 100}, {"m", 1}} {
			if v, found := strings.CutSuffix(s, u.suffix); found {
				n, ok := number(v)
				return u.per / n, ok && u.per/n >= 1e-3 && u.per/n <= 1e9
			}
		}
		return 0, false
	}
	switch p.Class {
	case Pos:
		if v, ok := length(w); ok {
			return v, nil
		}
		return bad("a length such as 1cm, 1mm or 1/256mm")
	case Vel:
		if s, ok := strings.CutSuffix(w, "/s"); ok {
			if v, ok := length(s); ok {
				return v, nil
			}
		}
		return bad("a speed such as 1cm/s")
	case Angle:
		if s, ok := strings.CutSuffix(w, "deg"); ok {
			if v, ok := number(s); ok && 360/v >= 2 && 360/v <= 1<<24 {
				return math.Floor(360/v + 0.5), nil
			}
		}
		if s, ok := strings.CutSuffix(w, "bit"); ok {
			if n, err := strconv.Atoi(s); err == nil && n >= 1 && n <= 24 {
				return float64(int64(1) << uint(n)), nil
			}
		}
		return bad("an angle such as 1deg, or 8bit up to 24bit")
	case Stick:
		if s, ok := strings.CutSuffix(w, "bit"); ok {
			if n, err := strconv.Atoi(s); err == nil && n >= 2 && n <= 16 {
				return float64(int64(1)<<uint(n-1) - 1), nil
			}
		}
		return bad("2bit up to 16bit")
	case Float:
		if v, ok := number(w); ok && v >= 1e-9 && v <= 1e9 {
			return 1 / v, nil
		}
		return bad("a step such as 0.1, from 1e-9 to 1e9")
	case Int:
		lo, hi, found := strings.Cut(w, "..")
		a, err1 := strconv.ParseInt(lo, 10, 64)
		b, err2 := strconv.ParseInt(hi, 10, 64)
		if !found || err1 != nil || err2 != nil || a > b || a < math.MinInt32 || b > math.MaxInt32 {
			return bad("a range such as 0..999 within 32 bits")
		}
		if least, most, _ := intRange(p.typ); a < least || b > most {
			return bad(fmt.Sprintf("a range that fits Go type %s", p.typ))
		}
		p.Min, p.Max = a, b
		return 1, nil
	case Text:
		n, err := strconv.Atoi(w)
		if err != nil || n < 1 || n > MaxText {
			return bad(fmt.Sprintf("a number of bytes, 1 to %d", MaxText))
		}
		p.Max, p.Comps = int64(n), (n+3)/4
		return 1, nil
	}
	return bad("none for class " + p.Class.String())
}

func (p *Prop) finish() {
	switch p.Class {
	case Angle:
		p.SimTurn, p.Turn = int64(p.Sim), int64(p.Obs)
		p.bits = bits.Len64(uint64(p.Turn - 1))
	case Int:
		p.bits = bits.Len64(uint64(p.Max - p.Min))
	case Bool, Press:
		p.bits = 1
	case Text:
		p.bits = 32
	case Stick:
		p.bits = bits.Len64(uint64(float64(2 * p.Obs)))
	case Tick:
		p.k, p.absK = 4, 6
	case Handle:
		p.k, p.absK = 6, 10
	}
	if p.Group < 0 {
		switch {
		case p.Class == Pos || p.Class == Vel || p.Class == Angle:
			p.Group = 0
		case p.Class == Text:
			p.Group = 2
		default:
			p.Group = 1
		}
	}
}

// Hash identifies the schema text s; equal texts speak the same wire format.
func Hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// Text describes the kind in a line per property, for hashes and for naming differences.
func (k *Kind) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s rate=%d\n", k.Name, k.Rate)
	for i := range k.Props {
		p := &k.Props[i]
		if p.Audience == Server {
			continue // never on the wire
		}
		fmt.Fprintf(&b, " %s %s x%d sim=%s obs=%s range=%d..%d to=%d draw=%d group=%d%s\n", p.Name, p.Class, p.Comps,
			strconv.FormatFloat(p.Sim, 'g', -1, 64), strconv.FormatFloat(p.Obs, 'g', -1, 64), p.Min, p.Max, p.Audience, p.Draw, p.Group, p.words())
	}
	return b.String()
}

// words are what Text says at the end of a property's line, where there is something to say.
func (q *Prop) words() string {
	if q.Ref {
		return " ref"
	}
	return ""
}

// round gives the nearest integer, half a step upwards, within MaxValue; NaN becomes 0. The product with the steps per
// unit has at most two roundings by 2^-53 of a value below 2^48, so a value from the grid never ends half a step away.
func round(v float64) int64 {
	switch {
	case v != v:
		return 0
	case v >= MaxValue:
		return MaxValue
	case v <= -MaxValue:
		return -MaxValue
	}
	return int64(math.Floor(v + 0.5))
}

func wrap(v, turn int64) int64 {
	if v %= turn; v < 0 {
		v += turn
	}
	return v
}

const twoPi = 2 * math.Pi

// Extract writes the simulation integers of the struct at p into dst, which holds Sims of them.
func (k *Kind) Extract(p unsafe.Pointer, dst []int64) {
	for i := range k.Props {
		q := &k.Props[i]
		q.extract(unsafe.Add(p, q.offset), dst[q.At:q.At+q.Comps])
	}
}

func (q *Prop) extract(p unsafe.Pointer, dst []int64) {
	switch q.Class {
	case Pos, Vel:
		for c := range dst {
			dst[c] = round(float64(*(*float64)(unsafe.Add(p, c*8)) * q.Sim))
		}
	case Stick:
		q.stick(*(*float64)(p), *(*float64)(unsafe.Add(p, 8)), dst)
	case Angle:
		dst[0] = wrap(round(float64(*(*float64)(p)/twoPi*q.Sim)), q.SimTurn)
	case Float:
		dst[0] = round(float64(*(*float64)(p) * q.Sim))
	case Int:
		dst[0] = clamp(q.loadInt(p), q.Min, q.Max)
	case Bool, Press:
		dst[0] = 0
		if *(*bool)(p) {
			dst[0] = 1
		}
	case Tick, Handle:
		dst[0] = int64(*(*uint32)(p))
	case Text:
		packText(dst, *(*string)(p), int(q.Max))
	}
}

// packText writes s, four bytes to an integer, as Store gives it back: valid UTF-8 without zero bytes, cut between two
// characters where it is longer than most.
func packText(dst []int64, s string, most int) {
	clear(dst)
	n := 0
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		char := s[:size]
		s = s[size:]
		if r == 0 || r == utf8.RuneError && size == 1 {
			continue
		}
		if n+size > most {
			return
		}
		for i := range size {
			dst[n/4] |= int64(char[i]) << (8 * uint(n%4))
			n++
		}
	}
}

// unpackText writes the bytes of a packed text into b and returns how many there are, zeros left out.
func unpackText(b *[textBytes]byte, src []int64) (n int) {
	for _, v := range src {
		for j := range 4 {
			if ch := byte(v >> (8 * j)); ch != 0 {
				b[n] = ch
				n++
			}
		}
	}
	return n
}

const textBytes = (MaxText + 3) / 4 * 4

func clamp(v, lo, hi int64) int64 { return min(max(v, lo), hi) }

func (q *Prop) loadInt(p unsafe.Pointer) int64 {
	switch q.typ {
	case reflect.Int:
		return int64(*(*int)(p))
	case reflect.Int8:
		return int64(*(*int8)(p))
	case reflect.Int16:
		return int64(*(*int16)(p))
	case reflect.Int32:
		return int64(*(*int32)(p))
	case reflect.Int64:
		return *(*int64)(p)
	case reflect.Uint:
		return int64(min(*(*uint)(p), math.MaxInt32)) // no range ends beyond
	case reflect.Uint64:
		return int64(min(*(*uint64)(p), math.MaxInt32))
	case reflect.Uint8:
		return int64(*(*uint8)(p))
	case reflect.Uint16:
		return int64(*(*uint16)(p))
	}
	return int64(*(*uint32)(p))
}

func (q *Prop) storeInt(p unsafe.Pointer, v int64) {
	switch q.typ {
	case reflect.Int:
		*(*int)(p) = int(v)
	case reflect.Int8:
		*(*int8)(p) = int8(v)
	case reflect.Int16:
		*(*int16)(p) = int16(v)
	case reflect.Int32:
		*(*int32)(p) = int32(v)
	case reflect.Int64:
		*(*int64)(p) = v
	case reflect.Uint:
		*(*uint)(p) = uint(v)
	case reflect.Uint64:
		*(*uint64)(p) = uint64(v)
	case reflect.Uint8:
		*(*uint8)(p) = uint8(v)
	case reflect.Uint16:
		*(*uint16)(p) = uint16(v)
	default:
		*(*uint32)(p) = uint32(v)
	}
}

// Store writes simulation integers into the struct at p: the state as the rules see it, on the grid.
func (k *Kind) Store(p unsafe.Pointer, src []int64) {
	for i := range k.Props {
		q := &k.Props[i]
		q.store(unsafe.Add(p, q.offset), src[q.At:q.At+q.Comps])
	}
}

func (q *Prop) store(p unsafe.Pointer, src []int64) {
	switch q.Class {
	case Pos, Vel, Stick:
		for c := range src {
			*(*float64)(unsafe.Add(p, c*8)) = float64(src[c]) / q.Sim
		}
	case Angle:
		*(*float64)(p) = turnToAngle(src[0], q.SimTurn)
	case Float:
		*(*float64)(p) = float64(src[0]) / q.Sim
	case Int:
		q.storeInt(p, src[0])
	case Bool, Press:
		*(*bool)(p) = src[0] != 0
	case Tick, Handle:
		*(*uint32)(p) = uint32(src[0])
	case Text:
		q.storeText(p, src)
	}
}

func (q *Prop) storeText(p unsafe.Pointer, src []int64) {
	var b [textBytes]byte
	n := unpackText(&b, src)
	if s := (*string)(p); *s != string(b[:n]) { // the comparison does not allocate
		*s = strings.ToValidUTF8(string(b[:n]), "")
	}
}

// turnToAngle maps 0..turn-1 to radians in (-pi, pi].
func turnToAngle(v, turn int64) float64 {
	if 2*v > turn {
		v -= turn
	}
	return float64(float64(v) / float64(turn) * twoPi)
}

// Observe derives the observer integers dst from the simulation integers src.
func (k *Kind) Observe(src []int64, dst []int32) {
	for i := range k.Props {
		q := &k.Props[i]
		if q.ObsAt < 0 {
			continue
		}
		for c := range q.Comps {
			v := src[q.At+c]
			switch {
			case q.SimTurn > 0 && q.SimTurn != q.Turn:
				v = wrap((2*v*q.Turn+q.SimTurn)/(2*q.SimTurn), q.Turn)
			case q.Sim != q.Obs:
				v = round(float64(v) / (q.Sim / q.Obs))
			}
			switch q.Class {
			case Tick, Handle, Text:
				dst[q.ObsAt+c] = int32(uint32(v))
			default:
				dst[q.ObsAt+c] = int32(clamp(v, math.MinInt32, math.MaxInt32))
			}
		}
	}
}

// SubSteps is the resolution of drawn values: 1/256 of an observer step.
const SubSteps = 256

// StoreDrawn writes drawn values, observer integers in 1/SubSteps, into the struct at p. Properties that
// observers do not receive become zero.
func (k *Kind) StoreDrawn(p unsafe.Pointer, drawn []int64) {
	for i := range k.Props {
		q := &k.Props[i]
		f := unsafe.Add(p, q.offset)
		if q.ObsAt < 0 {
			var zero [8]int64
			q.store(f, zero[:q.Comps])
			continue
		}
		src := drawn[q.ObsAt : q.ObsAt+q.Comps]
		switch q.Class {
		case Pos, Vel, Stick:
			for c := range src {
				*(*float64)(unsafe.Add(f, c*8)) = float64(src[c]) / float64(q.Obs*SubSteps)
			}
		case Angle:
			*(*float64)(f) = turnToAngle(src[0], q.Turn*SubSteps)
		case Float:
			*(*float64)(f) = float64(src[0]) / float64(q.Obs*SubSteps)
		default:
			var v [8]int64
			for c := range src {
				v[c] = src[c] >> 8
				if q.Class == Text || q.Class == Tick || q.Class == Handle {
					v[c] &= math.MaxUint32
				}
			}
			q.store(f, v[:len(src)])
		}
	}
}

// stick rounds a direction, shortened to length 1 where it is longer.
func (q *Prop) stick(x, y float64, dst []int64) {
	if n := float64(x*x) + float64(y*y); n > 1 {
		n = math.Sqrt(n)
		x, y = x/n, y/n
	}
	dst[0], dst[1] = round(float64(x*q.Sim)), round(float64(y*q.Sim))
	q.intoDisc(dst)
}

// intoDisc brings a stick into its disc, in whole steps. Rounding may leave the disc by half a step, and sender
// and receiver must agree on what that becomes: doing it twice changes nothing.
func (q *Prop) intoDisc(s []int64) {
	m := int64(q.Sim)
	s[0], s[1] = clamp(s[0], -m, m), clamp(s[1], -m, m)
	if n2 := s[0]*s[0] + s[1]*s[1]; n2 > (m+2)*(m+2) { // no rounding of ours: shorten it, towards zero
		n := int64(math.Sqrt(float64(n2))) + 1
		s[0], s[1] = s[0]*m/n, s[1]*m/n
	}
	for s[0]*s[0]+s[1]*s[1] > m*m { // at most a few times
		big := 0
		if max(s[1], -s[1]) > max(s[0], -s[0]) {
			big = 1
		}
		if s[big] > 0 {
			s[big]--
		} else {
			s[big]++
		}
	}
}

// Clamp forces simulation integers that came from outside, v holding Sims of them, into what Extract could have made.
func (k *Kind) Clamp(v []int64) {
	for i := range k.Props {
		q := &k.Props[i]
		s := v[q.At : q.At+q.Comps]
		switch q.Class {
		case Angle:
			s[0] = wrap(s[0], q.SimTurn)
		case Int:
			s[0] = clamp(s[0], q.Min, q.Max)
		case Bool, Press:
			s[0] &= 1
		case Tick, Handle:
			s[0] &= math.MaxUint32
		case Stick:
			q.intoDisc(s)
		case Text:
			var b [textBytes]byte
			n := unpackText(&b, s)
			packText(s, unsafe.String(&b[0], n), int(q.Max))
		default:
			for c := range s {
				s[c] = clamp(s[c], -MaxValue, MaxValue)
			}
		}
	}
}
