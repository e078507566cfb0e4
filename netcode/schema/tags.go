package schema

import (
	"errors"
	"math"
	"math/bits"
	"reflect"
	"strconv"
	"strings"

	"meanwhile/internal/fault"
)

// fitting says what can be networked.
const fitting = "use geom.Vec2, geom.Vec3, geom.View, geom.Quat, geom.Angle, float64, an integer type, bool, string, an array of 1 to 32 bytes, game.Tick or game.ID; keep other things outside of entities"

// A goType is what of a Go type decides which classes fit it.
type goType struct {
	name  string // in messages
	kind  reflect.Kind
	short string // its own name: Angle, Tick and ID are recognised by it
	n     int    // fields of a struct of float64, bytes of an array
	shape string // names of the fields of such a struct, joined
}

func typeOf(t reflect.Type) goType {
	g := goType{name: t.String(), kind: t.Kind(), short: t.Name()}
	switch {
	case t.Kind() == reflect.Struct && t.NumField() <= 4:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Type.Kind() != reflect.Float64 {
				g.n, g.shape = 0, ""
				break
			}
			g.n++
			g.shape += f.Name
		}
	case t.Kind() == reflect.Array && t.Elem().Kind() == reflect.Uint8:
		g.n = t.Len()
	}
	return g
}

// vector returns how many fields a vector type has, 0 if it is none.
func (t goType) vector() int {
	if t.kind == reflect.Struct && (t.n == 2 || t.n == 3) && !t.view() {
		return t.n
	}
	return 0
}

func (t goType) view() bool { return t.kind == reflect.Struct && t.shape == "YawPitch" }

func (t goType) quat() bool { return t.kind == reflect.Struct && t.shape == "WXYZ" }

// exampleOf returns a tag of a class that works for a Go type, or any other that does where the class does not fit the type.
func (t goType) exampleOf(class string) string {
	_, most, integer := intRange(t.kind)
	switch {
	case class == "vel" && t.vector() > 0:
		return "vel,others=1cm/s"
	case class == "stick" && t.vector() == 2:
		return "stick,5bit"
	case class == "spin" && (t.vector() == 3 || t.kind == reflect.Float64):
		return "spin,1deg/s"
	case class == "angle" && t.kind == reflect.Float64:
		return "angle,1deg"
	case class == "enum" && integer && most >= 2:
		return "enum,idle|walk|run"
	case class == "press" && t.kind == reflect.Bool:
		return "press"
	}
	return t.example()
}

// example returns a tag that works for a Go type, or "" if none does.
func (t goType) example() string {
	switch {
	case t.vector() > 0:
		return "pos,others=1cm"
	case t.view():
		return "view,1deg"
	case t.quat():
		return "quat,others=9bit"
	case t.kind == reflect.Float64 && t.short == "Angle":
		return "angle,1deg"
	case t.kind == reflect.Float64:
		return "float,0.1"
	case t.kind == reflect.Bool:
		return "bool"
	case t.kind == reflect.String:
		return "text,12"
	case t.kind == reflect.Array && t.n >= 1 && t.n <= MaxBytes:
		return "bytes"
	case t.kind == reflect.Uint32 && t.short == "Tick":
		return "tick"
	case t.kind == reflect.Uint32 && t.short == "ID":
		return "handle"
	}
	if _, _, ok := intRange(t.kind); ok {
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

// fits checks the class against the Go type.
func (p *Prop) fits(t goType) error {
	ok, want := false, ""
	switch p.Class {
	case Pos, Vel:
		p.Comps = t.vector()
		ok, want = p.Comps > 0, "geom.Vec2 or geom.Vec3"
	case Stick:
		p.Comps = t.vector()
		ok, want = p.Comps == 2, "geom.Vec2"
	case View:
		p.Comps = 2
		ok, want = t.view(), "geom.View"
	case Quat:
		p.Comps = 3
		ok, want = t.quat(), "geom.Quat"
	case Spin:
		if t.kind == reflect.Struct {
			p.Comps = t.vector()
		}
		ok, want = t.kind == reflect.Float64 || p.Comps == 3, "geom.Vec3, geom.Angle or float64"
	case Angle, Float:
		ok, want = t.kind == reflect.Float64, "geom.Angle or float64"
	case Int, Enum:
		_, _, ok = intRange(t.kind)
		want = "an integer type"
	case Bool, Press:
		ok, want = t.kind == reflect.Bool, "bool"
	case Tick, Handle:
		ok, want = t.kind == reflect.Uint32, "game.Tick or game.ID"
	case Text:
		ok, want = t.kind == reflect.String, "string"
	case Bytes:
		ok, want = t.kind == reflect.Array && t.n >= 1 && t.n <= MaxBytes, fault.Sprintf("an array of 1 to %d bytes", MaxBytes)
		if ok { // in as few integers as hold four bytes each, equally full
			p.Comps = (t.n + 3) / 4
			p.width, p.Max = (t.n+p.Comps-1)/p.Comps, int64(t.n)
		}
	}
	if !ok {
		return fault.Errorf("class %s does not fit Go type %s, want %s", p.Class, t.name, want)
	}
	return nil
}

func (p *Prop) defaults(rate int) {
	p.Sim, p.Obs = 1, 1
	switch p.Class {
	case Pos:
		p.Sim, p.Obs, p.k, p.absK = 256000, 100, 4, 12
	case Vel:
		p.Sim, p.Obs, p.k = 256000/float64(rate), 100, 4
	case Angle, View:
		p.Sim, p.Obs, p.k = 65536, 65536, 3
	case Quat:
		p.Sim, p.Obs, p.k = 1<<16, 1<<9, 3
	case Spin:
		p.Sim, p.Obs, p.k = 65536/float64(twoPi*float64(rate)), 360/twoPi, 4
	case Stick:
		p.Sim, p.Obs = 15, 15
	}
	if p.Class.graded() {
		p.Draw = Linear
	}
}

// words are what may stand behind the class.
const words = "a precision, others=, draw=, warp=, slow=, far=, group=, wire=near, ref, team, parent, to=owner, to=team, server or kept"

func (p *Prop) parse(t goType, rate int) error {
	p.typ, p.Group, p.Comps, p.ObsAt, p.k, p.absK = t.kind, -1, 1, -1, 2, 8
	said := strings.Split(p.tag, ",")
	class := -1
	for i, n := range classNames {
		if n == said[0] {
			class = i
		}
	}
	if class < 0 {
		return fault.Errorf("unknown class %q, want one of %s", said[0], strings.Join(classNames[:], " "))
	}
	p.Class = Class(class)
	if err := p.fits(t); err != nil {
		return err
	}
	p.defaults(rate)
	var others, precise, drawn, told, ranged bool
	var lo, hi, warp float64
	var far []string // precisions by distance
	audience := func(a Audience) error {
		if told {
			return errors.New("to=owner, to=team, server and kept exclude each other")
		}
		p.Audience, told = a, true
		return nil
	}
	for _, w := range said[1:] {
		key, val, has := strings.Cut(w, "=")
		var err error
		switch {
		case key == "others" && has && !others:
			if !p.Class.graded() {
				return fault.Errorf("others=%s: observers receive class %s as it is", val, p.Class)
			}
			p.Obs, err = p.precision(val)
			others = true
		case strings.Contains(w, "@") && others:
			far = append(far, w)
		case key == "draw" && has && !drawn:
			drawn = true
			how, bound, bounded := strings.Cut(val, ":")
			switch {
			case val == "step":
				p.Draw = Step
			case val == "linear" && p.Class.graded():
				p.Draw = Linear
			case val == "hermite" && p.Class == Pos:
				p.Draw = Hermite
			case how == "dr" && (p.Class == Pos || p.Class == Angle):
				p.Draw, p.within = Reckon, bound
				if !bounded {
					err = errors.New("draw=dr needs a bound, by how much it may be wrong, such as draw=dr:10cm or draw=dr:2deg")
				}
			default:
				err = fault.Errorf("draw=%s does not fit class %s", val, p.Class)
			}
		case key == "warp" && has && warp == 0:
			if warp, err = metres(val); err == nil && p.Class != Pos {
				err = fault.Errorf("warp=%s does not fit class %s: it is the distance of a pos", val, p.Class)
			}
		case key == "far" && has && p.Far == 0:
			p.Far, err = metres(val)
		case key == "slow" && has && p.slow == 0:
			p.slow, err = p.speed(val)
			p.slowest = val
		case w == "ref" && !p.Ref:
			if p.Ref = true; p.Class != Text {
				err = fault.Errorf("ref does not fit class %s, only text", p.Class)
			}
		case key == "wire" && has && !p.Near:
			if p.Near = true; val != "near" || p.Class != Pos {
				err = fault.Errorf("wire=%s does not fit class %s: only wire=near does, for a pos", val, p.Class)
			}
		case w == "team" && !p.IsTeam:
			if p.IsTeam = true; p.Class != Int && p.Class != Enum && p.Class != Handle {
				err = fault.Errorf("team does not fit class %s, want int, enum or handle", p.Class)
			}
		case w == "parent" && !p.IsParent:
			if p.IsParent = true; p.Class != Handle {
				err = fault.Errorf("parent does not fit class %s, want handle", p.Class)
			}
		case w == "to=owner":
			err = audience(Owner)
		case w == "to=team":
			err = audience(Team)
		case w == "server":
			err = audience(Server)
		case w == "kept":
			err = audience(Kept)
		case key == "group" && has && p.Group < 0:
			n, e := strconv.Atoi(val)
			if e != nil || n < 0 || n >= MaxGroups {
				err = fault.Errorf("group=%s is outside 0..%d", val, MaxGroups-1)
			}
			p.Group = n
		case p.Class == Float && strings.Contains(w, "..") && !ranged:
			a, b, _ := strings.Cut(w, "..")
			var e1, e2 error
			lo, e1 = strconv.ParseFloat(a, 64)
			hi, e2 = strconv.ParseFloat(b, 64)
			if ranged = true; e1 != nil || e2 != nil || !(lo < hi) || !(hi-lo <= math.MaxFloat64) {
				err = fault.Errorf("range %q, want one such as 0..5", w)
			}
		case !precise && !has && w != "":
			p.Sim, err = p.precision(w)
			precise = true
		default:
			err = fault.Errorf("unknown or repeated word %q, want %s", w, words)
		}
		if err != nil {
			return err
		}
	}
	switch p.Class {
	case Text, Int, Float:
		if !precise {
			return fault.Errorf("class %s needs a precision", p.Class)
		}
	case Enum:
		if !precise {
			return errors.New("class enum needs its words, such as idle|walk|run")
		}
	}
	if precise && !others && (p.Sim < p.Obs || p.Class == Angle || p.Class == View || p.Class == Stick || p.Class == Float) {
		p.Obs = p.Sim
	}
	if !precise && !others {
		p.Obs = min(p.Obs, p.Sim)
	}
	if p.Obs > p.Sim {
		return fault.Errorf("others is finer than the simulation: %v against %v steps a unit", p.Obs, p.Sim)
	}
	if err := p.distances(far); err != nil {
		return err
	}
	if err := p.finish(lo, hi, ranged, warp); err != nil {
		return err
	}
	return p.sense()
}

// sense refuses words that change nothing.
func (p *Prop) sense() error {
	if p.observed() {
		return nil
	}
	for _, w := range [...]struct {
		word string
		said bool
	}{{"far=", p.Far > 0}, {"warp=", p.Warp > 0}, {"@ distances", p.far > 0}, {"draw=dr", p.Draw == Reckon}, {"parent", p.IsParent}} {
		if w.said {
			return fault.Errorf("%s is about what others receive, and they do not receive it", w.word)
		}
	}
	return nil
}

// distances reads precisions by distance: each a power of two coarser than the one for those who are near.
func (p *Prop) distances(said []string) error {
	for _, w := range said {
		precision, distance, _ := strings.Cut(w, "@")
		per, err := p.precision(precision)
		if err != nil {
			return fault.Errorf("%s: %w", w, err)
		}
		from, err := metres(distance)
		if err != nil {
			return fault.Errorf("%s: %w", w, err)
		}
		shift, ratio := 0, p.Obs/per
		for ratio > 1.5 && shift < 16 {
			ratio /= 2
			shift++
		}
		if p.far == len(p.levels) {
			return fault.Errorf("%s: at most %d distances fit a property", w, len(p.levels))
		}
		if last := p.far - 1; shift == 0 || math.Abs(ratio-1) > 1e-9 || last >= 0 && (from <= p.levels[last].from || uint8(shift) <= p.levels[last].shift) {
			return fault.Errorf("%s: want rising distances, and precisions that are 2, 4, 8, ... up to 65536 times as coarse as others=, rising too", w)
		}
		p.levels[p.far] = level{from, uint8(shift)}
		p.far++
	}
	return nil
}

func number(s string) (float64, bool) {
	num, den, frac := strings.Cut(s, "/")
	v, err := strconv.ParseFloat(num, 64)
	if frac && err == nil {
		d, err2 := strconv.ParseFloat(den, 64)
		v, err = v/d, err2
	}
	return v, err == nil && v > 0 && !math.IsInf(v, 0)
}

// length parses a length and returns how many of it make a metre.
func length(s string) (float64, bool) {
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

// metres parses a distance.
func metres(s string) (float64, error) {
	for _, u := range [...]struct {
		suffix string
		per    float64
	}{{"mm", 1000}, {"cm", 100}, {"km", 1e-3}, {"m", 1}} {
		if v, found := strings.CutSuffix(s, u.suffix); found {
			if n, ok := number(v); ok && n/u.per >= 1e-3 && n/u.per <= 1e6 {
				return n / u.per, nil
			}
			break
		}
	}
	return 0, fault.Errorf("distance %q, want one such as 50m, from 1mm to 1000km", s)
}

// speed parses what slow= says, in units per second.
func (p *Prop) speed(s string) (float64, error) {
	v, per := strings.CutSuffix(s, "/s")
	switch p.Class {
	case Pos, Vel:
		if n, ok := length(v); ok && per {
			return 1 / n, nil
		}
		return 0, fault.Errorf("slow=%s, want a speed such as 1cm/s", s)
	case Angle, Spin:
		v, deg := strings.CutSuffix(v, "deg")
		if n, ok := number(v); ok && per && deg && n >= 1e-6 && n <= 1e6 {
			return float64(n * (twoPi / 360)), nil
		}
		return 0, fault.Errorf("slow=%s, want a speed such as 1deg/s", s)
	}
	return 0, fault.Errorf("slow=%s does not fit class %s, want pos, vel, angle or spin", s, p.Class)
}

// amount writes an amount of the property's unit with so many digits.
func (p *Prop) amount(v float64, digits int) string {
	suffix := ""
	switch p.Class {
	case Pos:
		v, suffix = float64(v*1000), "mm"
	case Vel:
		v, suffix = float64(v*1000), "mm/s"
	case Angle:
		v, suffix = float64(v*360)/twoPi, "deg"
	case Spin:
		v, suffix = float64(v*360)/twoPi, "deg/s"
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	return strconv.FormatFloat(v, 'f', -1, 64) + suffix
}

// advice writes a precision no coarser than v.
func (p *Prop) advice(v float64) string {
	per, _ := p.precision(p.amount(v, 2))
	if p.Class == Angle {
		per /= twoPi
	}
	if float64(per*v) < 1 { // it was rounded up
		return p.amount(float64(v*0.95), 2)
	}
	return p.amount(v, 2)
}

// precision parses the precision word of the property's class into steps per unit.
func (p *Prop) precision(w string) (float64, error) {
	bad := func(want string) (float64, error) {
		return 0, fault.Errorf("precision %q, want %s", w, want)
	}
	bit := func(least, most int) int {
		if s, ok := strings.CutSuffix(w, "bit"); ok {
			if n, err := strconv.Atoi(s); err == nil && n >= least && n <= most {
				return n
			}
		}
		return 0
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
	case Angle, View:
		if s, ok := strings.CutSuffix(w, "deg"); ok {
			if v, ok := number(s); ok && 360/v >= 2 && 360/v <= 1<<24 {
				return math.Floor(360/v + 0.5), nil
			}
		}
		if n := bit(1, 24); n > 0 {
			return float64(int64(1) << uint(n)), nil
		}
		return bad("an angle such as 1deg, or 8bit up to 24bit")
	case Quat:
		if n := bit(minQuat, maxQuat); n > 0 {
			return float64(int64(1) << uint(n)), nil
		}
		return bad(fault.Sprintf("%dbit up to %dbit", minQuat, maxQuat))
	case Spin:
		if s, ok := strings.CutSuffix(w, "deg/s"); ok {
			if v, ok := number(s); ok && v >= 1e-6 && v <= 1e6 {
				return 360 / float64(v*twoPi), nil
			}
		}
		return bad("an angular velocity such as 1deg/s")
	case Stick:
		if n := bit(2, 16); n > 0 {
			return float64(int64(1)<<uint(n-1) - 1), nil
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
			return bad(fault.Sprintf("a range that fits Go type %s", p.typ))
		}
		p.Min, p.Max = a, b
		return 1, nil
	case Enum:
		names := strings.Split(w, "|")
		for i, n := range names {
			if !goodWord(n) || i >= MaxNames {
				return bad(fault.Sprintf("1 to %d words such as idle|walk|run, of letters, digits, - and _", MaxNames))
			}
			for _, other := range names[:i] {
				if n == other {
					return bad("each word once, and " + n + " stands there twice")
				}
			}
		}
		if _, most, _ := intRange(p.typ); int64(len(names))-1 > most {
			return bad(fault.Sprintf("as many words as fit Go type %s", p.typ))
		}
		p.Names, p.Max = w, int64(len(names))-1
		return 1, nil
	case Text:
		n, err := strconv.Atoi(w)
		if err != nil || n < 1 || n > MaxText {
			return bad(fault.Sprintf("a number of bytes, 1 to %d", MaxText))
		}
		p.Max, p.Comps = int64(n), (n+3)/4
		return 1, nil
	}
	return bad("none for class " + p.Class.String())
}

// goodWord reports whether s can name a value of an enum.
func goodWord(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}

// finish derives what follows from the words.
func (p *Prop) finish(lo, hi float64, ranged bool, warp float64) error {
	switch p.Class {
	case Angle, View:
		p.SimTurn, p.Turn = int64(p.Sim), int64(p.Obs)
		p.bits = bits.Len64(uint64(p.Turn - 1))
	case Quat:
		p.bits = bits.Len64(uint64(p.Obs))
	case Float:
		if ranged {
			p.Min, p.Max = round(float64(lo*p.Sim)), round(float64(hi*p.Sim))
			p.obsMin, p.obsMax = p.observe(p.Min), p.observe(p.Max)
			if p.Min >= p.Max || p.obsMin < math.MinInt32 || p.obsMax > math.MaxInt32 {
				return fault.Errorf("a range of %v..%v has to be a step at least, and for observers at most 32 bits", lo, hi)
			}
			p.bits = bits.Len64(uint64(p.obsMax - p.obsMin))
		}
	case Int, Enum:
		p.obsMin, p.obsMax = p.Min, p.Max
		p.bits = bits.Len64(uint64(p.Max - p.Min))
	case Bool, Press:
		p.bits = 1
	case Text:
		p.bits = 32
	case Bytes:
		p.bits = 8 * p.width
	case Stick:
		p.bits = bits.Len64(uint64(float64(2 * p.Obs)))
	case Tick:
		p.k, p.absK = 4, 6
	case Handle:
		p.k, p.absK = 6, 10
	}
	if warp > 0 {
		if p.Warp = round(float64(warp * p.Obs)); p.Warp < 1 || p.Warp > 1<<30 {
			return fault.Errorf("warp=%vm is %d steps of what observers receive, want 1 to 2^30", warp, p.Warp)
		}
	}
	if p.Draw == Reckon {
		per, err := p.precision(p.within)
		if err != nil {
			return fault.Errorf("draw=dr:%s: %w", p.within, err)
		}
		if p.Bound = round(p.Obs / per); p.Bound < 1 || p.Bound > 1<<30 {
			return fault.Errorf("draw=dr:%s is %d steps of what observers receive, want 1 to 2^30", p.within, p.Bound)
		}
	}
	if p.Group < 0 {
		switch {
		case p.Class == Pos || p.Class == Vel || p.SimTurn > 0 || p.Class == Quat || p.Class == Spin || p.IsParent:
			p.Group = 0
		case p.Class == Text || p.Class == Bytes:
			p.Group = 2
		default:
			p.Group = 1
		}
	}
	return nil
}

// Ranged reports whether values have bounds, from which absolute ones are counted.
func (p *Prop) Ranged() bool {
	return p.Class == Int || p.Class == Enum || p.Class == Float && p.Max > p.Min
}

// bounds returns the least and the largest value of a property that is ranged.
func (p *Prop) bounds(obs bool) (least, most int64) {
	if obs {
		return p.obsMin, p.obsMax
	}
	return p.Min, p.Max
}
