package schema

import (
	"math"
	"math/bits"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// A model is what is expected of a component before it is coded: the value to differ from, and which code table to use. Both come from the
// baseline alone, and from what was coded before it in the same record, so both sides compute them. All of it is integers;
// docs/PROTOCOL.md, "Bodies", has the rules.

// Model is the kind of movement that a component makes.
type Model uint8

// The models. What has none is coded as [Prop.AppendDelta] does.
const (
	Level       Model = iota // horizontal component of a place
	Height                   // third component of a place
	LevelDriven              // the same two of a place whose velocity is in the record
	HeightDriven
	Speed    // horizontal component of a velocity
	Climb    // third component of a velocity
	Turning  // angle
	Figure   // float
	OwnPlace // owner's place with its velocity
	OwnSpeed // owner's velocity
	Models   = iota
)

var modelNames = [Models]string{"level", "height", "level-driven", "height-driven", "speed", "climb", "turning", "figure", "own-place", "own-speed"}

func (m Model) String() string { return modelNames[m] }

const noModel = Model(Models)

// Limits of classes, in units of the real world so that tick rates and precisions do not matter. A value's class is how many of them
// it reaches.
var (
	spanLimits    = [...]int64{42, 60, 95, 140, 195, 260, 370, 520, 740, 1050, 1480, 2100}        // milliseconds
	levelLimits   = [...]int64{10, 40, 90, 160, 280, 420, 700, 960, 1040, 1200, 1500, 2000, 2400} // cm/s
	heightLimits  = [...]int64{15, 50, 90, 150, 240, 350, 500, 700, 900}                          // cm/s
	pushLimits    = [...]int64{30, 100, 250, 500, 900, 1500, 2500, 4000, 8000}                    // cm/s a second
	changeLimits  = [...]int64{2, 5, 12, 25, 45, 75, 120, 250, 500}                               // cm/s
	turningLimits = [...]int64{14, 42, 70, 98, 140, 196, 280, 420, 600, 900, 1400}                // degrees a second
	spans         = Spans
	coarseLevel   = [...]uint8{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2} // of three, from the level's class
	speedLevel    = [...]uint8{0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 7} // of eight
)

// Spans is how many classes of time there are; contexts are numbered by them first.
const Spans = len(spanLimits) + 1

// Numbers of contexts.
var contexts = [Models]int{
	Level:        spans * (len(levelLimits) + 2) * 3,
	Height:       spans * (2*len(heightLimits) + 2) * 3,
	LevelDriven:  spans * (len(changeLimits) + 1) * 3,
	HeightDriven: spans * (len(changeLimits) + 1) * 3,
	Speed:        spans * (len(pushLimits) + 2) * 8,
	Climb:        spans * (len(pushLimits) + 2) * 8,
	Turning:      spans * (len(turningLimits) + 2) * 4,
	Figure:       spans * 16,
	OwnPlace:     spans * 24,
	OwnSpeed:     spans * 24,
}

// Contexts returns how many contexts a model has.
func (m Model) Contexts() int { return contexts[m] }

// Octaves by which a step may be finer or coarser than the steps that a model's tables were made for: 1 cm, 1 cm/s, 1/256 turn.
// Finer bits than that are coded as they are.
const (
	finestOctave   = -4
	coarsestOctave = 8
	Octaves        = coarsestOctave - finestOctave + 1
)

// maxModelled is how many components of a group have a model at most; properties beyond have none.
const maxModelled = 24

// coder is how a property is coded in one precision.
type coder struct {
	model  Model // of the first component
	at, n  int   // its components among the group's integers
	tab    *tab
	third  *tab   // of a third component
	index  int    // of the octave in tables
	raw    int    // low bits of a difference that are coded as they are
	octave int    // by which its steps are coarser than the model's own
	turn   int64  // steps of a turn, 0 if not an angle
	limits *scale // of the component's class, in steps a tick, 16 bits after the point
	rise   *scale // the same for the third
	push   *scale
	change *scale
	vel    int // index of the velocity in Props, -1 without
	velAt  int
	ratio  int64 // steps of place a tick and step of velocity, 20 bits after the point
	leads  bool  // its movement is context of others
}

// body is how the records of one group are coded.
type body struct {
	order    []int    // indices of properties: velocities, then places, then the others
	alone    uint64   // those of them that are coded without regard to others of the record
	usual    uint64   // those with a model
	modelled int      // how many components they have
	coders   []coder  // by property
	lone     []*coder // those of alone, in their order
	driven   []*coder // the others of usual
	spans    *scale   // of age x (age + gap), in ticks
	near     *[near][near]classes
}

// near is up to which age and gap in ticks their classes are kept.
const near = 16

// classes are those of an age and a gap together, and of the age alone.
type classes struct{ span, old uint8 }

// plan settles how each group is coded.
func (k *Kind) plan() {
	k.bodies = make([]body, MaxGroups+1)
	for g := range k.bodies {
		if g < len(k.Groups) || g == OwnerGroup {
			k.bodies[g] = k.planGroup(g)
		}
	}
	k.Use(shipped)
}

// A tab is a model's table as it is at one octave.
type tab struct {
	choices []choice // by context
	codings [64]coding
	turn    int64 // steps of a turn, 0 if not an angle
	narrow  uint  // bits of 64 that a value does not have
	flips   int64 // -1: what follows a step down changes its sign, so that codes see it as one up; 0
}

// A choice is what a context chooses: a code, and from bit 8 on a damping.
type choice uint16

// A coding is a code and the share of 256 in which it codes no difference, where that is quietShare or more.
type coding struct {
	code *wire.Code
	zero role // until it is cast; loud if it never is another
}

// at returns the table of a model for a property of group g.
func (t *Tables) at(c *coder, m Model, g int) *tab {
	of := &t.models[m]
	v := &tab{choices: of.choices, turn: c.turn}
	if g != OwnerGroup {
		v.narrow = 32
	}
	if m != Height {
		v.flips = -1
	}
	for i, letter := range of.octaves[c.index] {
		v.codings[i].code = of.codes[letter]
		if c.raw > 0 {
			v.codings[i].code = of.codes[letter].WithRaw(uint8(c.raw))
		} else if of.zero[letter] >= quietShare {
			v.codings[i].zero = role(of.zero[letter])
		}
	}
	return v
}

// third is the model of a third component.
func (m Model) third() Model {
	switch m {
	case Level, LevelDriven, Speed:
		return m + 1
	}
	return m
}

func (k *Kind) planGroup(g int) body {
	b := body{coders: make([]coder, len(k.Props))}
	rate := float64(k.Rate)
	var spans [len(spanLimits)]int64
	for i, ms := range spanLimits {
		spans[i] = int64(math.Ceil(float64(float64(float64(ms*ms)*rate)*rate) / 1e6))
	}
	b.spans = newScale(spans[:])
	b.near = new([near][near]classes)
	for age := range int64(near) {
		for gap := range int64(near) {
			b.near[age][gap] = classes{uint8(b.spans.of(age * (age + gap))), uint8(b.spans.of(age * age))}
		}
	}
	own := g == OwnerGroup
	vel, n, led := -1, 0, false
	rank := func(i int) int {
		switch k.Props[i].Class {
		case Vel:
			return 0
		case Pos:
			return 1
		}
		return 2
	}
	for r := range 3 {
		for _, i := range k.Members(g) {
			if rank(i) == r {
				b.order = append(b.order, i)
			}
		}
	}
	for _, i := range b.order {
		q, c := &k.Props[i], &b.coders[i]
		c.model, c.vel = noModel, -1
		c.at, c.n = q.place(k, g), q.Comps
		steps, natural := q.Obs, 100.0
		if own {
			steps = q.Sim
		}
		limits := func(of []int64, per float64) *scale { // in steps a tick
			l := make([]int64, len(of))
			for j, v := range of {
				l[j] = int64(math.Ceil(float64(float64(float64(v)*per) * 65536)))
			}
			return newScale(l)
		}
		switch q.Class {
		case Vel:
			c.model = Speed
			if own {
				c.model = OwnSpeed
			}
			if vel < 0 {
				vel = i
			}
			c.limits = limits(levelLimits[:], steps/100) // of a velocity, not of a way in a tick
			c.push = limits(pushLimits[:], steps/100/rate)
			c.change = limits(changeLimits[:], steps/100)
		case Pos:
			c.model = Level
			c.limits = limits(levelLimits[:], steps/100/rate)
			c.rise = limits(heightLimits[:], steps/100/rate)
			if vel >= 0 && k.Props[vel].Comps == q.Comps {
				c.vel, c.velAt = vel, b.coders[vel].at
				from := k.Props[vel].Obs
				c.model = LevelDriven
				if own {
					from = k.Props[vel].Sim
					c.model = OwnPlace
				}
				c.ratio = round(float64(steps / float64(from*rate) * (1 << 20)))
				c.change = b.coders[vel].change
				if c.ratio < 1 || c.ratio > 1<<24 {
					c.vel, c.model = -1, Level
				}
			}
		case Angle, View:
			c.model = Turning
			natural = 256
			c.turn = q.turn(!own)
			steps = float64(c.turn)
			c.limits = limits(turningLimits[:], steps/360/rate)
		case Float, Spin:
			if !q.ranged() {
				c.model = Figure
				natural = steps // of no known unit
			}
		}
		if n += q.Comps; c.model == noModel || n > maxModelled {
			n -= q.Comps
			c.model = noModel
			continue
		}
		b.usual |= 1 << uint(i)
		if c.model != LevelDriven && c.model != OwnPlace {
			b.alone |= 1 << uint(i)
			b.lone = append(b.lone, c)
		} else {
			b.driven = append(b.driven, c)
		}
		if !led && (q.Class == Vel || q.Class == Pos) {
			c.leads, led = true, true
		}
		if c.model != OwnPlace && c.model != OwnSpeed {
			c.octave = octave(natural / steps)
		}
		c.index, c.raw = max(c.octave-finestOctave, 0), max(finestOctave-c.octave, 0)
		c.index = min(c.index, Octaves-1)
	}
	b.modelled = n
	return b
}

// octave returns the base-2 logarithm of v, to the nearest integer: halves of an octave begin at 1.5 times a power of two.
func octave(v float64) int {
	f, e := math.Frexp(v) // f in [0.5, 1)
	if f >= 0.75 {
		return e
	}
	return e - 1
}

// A scale has the limits of classes, which rise. A value's class is how many of them it reaches.
type scale struct {
	limits [16]int64  // then the largest integer, which ends every search
	start  [256]uint8 // class of the least value of each quarter of an octave: below 8 of 12 + v, then of 4 octave + its three highest bits
}

const scaleBits = 57 // of the largest value

func newScale(limits []int64) *scale {
	s := new(scale)
	for i := range s.limits {
		s.limits[i] = math.MaxInt64
	}
	copy(s.limits[:], limits)
	c := 0
	for i := 12; i < 4*(scaleBits+2); i++ {
		least := int64(i - 12) // below 8
		if i >= 20 {           // octaves are counted by bits, 4 for 8 to 15
			least = int64(4|i&3) << (i/4 - 4)
		}
		for least >= s.limits[c] {
			c++
		}
		s.start[i] = uint8(c)
	}
	return s
}

// of returns the class of v, 0 <= v < 1<<scaleBits.
func (s *scale) of(v int64) int {
	octave := bits.Len64(uint64(v) | 4)
	c := int(s.start[uint8(octave*4)+uint8(v>>(uint(octave-3)&63))])
	for v >= s.limits[c&15] {
		c++
	}
	return c
}

// magnitude is |v|: the sign is as good as random, so no branch.
func magnitude(v int64) int64 { return (v ^ v>>63) - v>>63 }

// sight is what one record's models see of its baseline.
type sight struct {
	age, gap  int64
	per       uint64 // 1<<63 / gap, rounded up
	span, old int    // classes of age and gap, and of age alone
	known     bool   // there is a state before the baseline
	mover     int    // class of the horizontal speed of the group's place, of four

	// Of the components of the property that was looked at last:
	v       [4]int64 // their values in the baseline, or where the velocity of a driven place leads to
	d       [4]int64 // by how much they changed from the state before the baseline to it; of a driven place, its velocity since
	w       [4]int64 // their values in the record that is written
	context [4]int
}

func (s *sight) see(b *body, age, gap clock.Tick, known bool) {
	s.age, s.gap, s.known = int64(min(age, 1<<10)), int64(min(gap, 1<<10)), known
	if !known || gap == 0 {
		s.gap = 1
	}
	if s.per = 1 << 63; s.gap > 1 {
		s.per = (s.per-1)/uint64(s.gap) + 1
	}
	if s.age < near && s.gap < near && known {
		at := b.near[s.age][s.gap]
		s.span, s.old = int(at.span), int(at.old)
		return
	}
	s.old = b.spans.of(s.age * s.age)
	if s.span = s.old; known {
		s.span = b.spans.of(s.age * (s.age + s.gap))
	}
}

// over returns v / gap, rounded down, for 0 <= v < 1<<53: the error of per, below gap / 1<<63, is too small to be seen.
func (s *sight) over(v int64) int64 {
	q, _ := bits.Mul64(uint64(v)<<1, s.per)
	return int64(q)
}

// class returns the class of v / gap, 0 <= v < 1<<37, by limits with 16 bits after the point.
func (s *sight) class(of *scale, v int64) int { return of.of(s.over(v << 16)) }

// far is class for any v.
func (s *sight) far(of *scale, v int64) int { return of.of(min(v, 1<<40) << 16 / s.gap) }

// A Guess is what is expected of one component.
type Guess struct {
	Model   Model
	Context int
	Octave  int   // index, 0 for the finest
	Raw     int   // low bits of the difference that are coded as they are
	Base    int64 // the value in the baseline, or where its velocity leads to
	Neg     bool  // the difference changes its sign before it is coded
	Turn    int64 // steps of a turn, 0 if not an angle

	drift int64 // what is added to Base, in eighths by the context's damping
	sight *sight
}

// wide reports whether T has more than 32 bits. It is a constant where T is known.
func wide[T int32 | int64]() bool {
	v := int64(1) << 40
	return int64(T(v)) == v
}

// change is d, by which a component changed, within 1<<40. What 32 bits hold needs no bounds.
func change[T int32 | int64](d int64) int64 {
	if wide[T]() {
		d = clamp(d, -1<<40, 1<<40)
	}
	return d
}

// look appends the components of some properties: by how much they changed from the state before the baseline to it, and what their
// contexts choose. cur holds the record's velocities where they are coded before; what a driven place changed by is its velocity since.
// The group's place comes before all that have its movement for a context.
func look[T int32 | int64](ps *parts, s *sight, props []*coder, base *Base[T], cur []T) {
	for _, c := range props {
		at, vals := c.at, base.Vals
		if ps.writes {
			s.w[0] = int64(cur[at])
			if c.n > 1 {
				if s.w[1] = int64(cur[at+1]); c.n > 2 {
					s.w[2] = int64(cur[at+2])
				}
			}
		}
		if c.vel >= 0 {
			lookDriven(s, c, vals, cur)
			ps.put(s, c)
			continue
		}
		v0, v1, v2 := int64(vals[at]), int64(0), int64(0)
		if c.n > 1 {
			if v1 = int64(vals[at+1]); c.n > 2 {
				v2 = int64(vals[at+2])
			}
		}
		s.v[0], s.v[1], s.v[2] = v0, v1, v2
		if s.known {
			prior := base.Prior
			v0 = change[T](v0 - int64(prior[at]))
			if c.n > 1 {
				if v1 = change[T](v1 - int64(prior[at+1])); c.n > 2 {
					v2 = change[T](v2 - int64(prior[at+2]))
				}
			}
			s.d[0], s.d[1], s.d[2] = v0, v1, v2
		} else {
			s.d = [4]int64{}
		}
		s.choose(c, c.tab.narrow == 0)
		ps.put(s, c)
	}
}

// choose finds the contexts of components that are not driven. long says that they may have more than 32 bits.
func (s *sight) choose(c *coder, long bool) {
	switch c.model {
	case Level:
		pace, rise, height := 0, 0, 0
		if s.known {
			if long {
				pace = 1 + s.far(c.limits, span2(s.d[0], s.d[1]))
			} else {
				pace = 1 + s.class(c.limits, span2(s.d[0], s.d[1]))
			}
			if c.leads {
				s.mover = 1 + coarse(pace)
			}
			if c.n > 2 {
				d, climb := s.d[2], 0
				if long {
					climb = s.far(c.rise, magnitude(d))
				} else {
					climb = s.class(c.rise, magnitude(d))
				}
				rise = int(bit(d != 0) + bit(climb > 2))
				height = (climb ^ int(d>>63)) - int(d>>63) + len(heightLimits) + 1
			}
		}
		s.context[0] = (s.span*(len(levelLimits)+2)+pace)*3 + rise
		s.context[1] = s.context[0]
		s.context[2] = (s.span*(2*len(heightLimits)+2)+height)*3 + coarse(pace)
	case Turning:
		first := s.span*(len(turningLimits)+2)*4 + s.mover
		s.context[0], s.context[1] = first, first
		if s.known {
			s.d[0] = c.short(s.d[0])
			s.context[0] = first + 4 + 4*s.class(c.limits, magnitude(s.d[0]))
			if c.n > 1 {
				s.d[1] = c.short(s.d[1])
				s.context[1] = first + 4 + 4*s.class(c.limits, magnitude(s.d[1]))
			}
		}
	case Speed:
		pace := s.pace(c)
		first := s.span*(len(pushLimits)+2)*8 + int(speedLevel[pace-1])
		for j := range s.context {
			if s.context[j] = first; s.known && j < c.n {
				s.context[j] = first + 8 + 8*s.class(c.push, magnitude(s.d[j]))
			}
		}
	case OwnSpeed:
		s.pace(c)
		for j := range s.context {
			s.context[j] = s.old*24 + s.size(s.d[j], 22)
		}
	case Figure:
		for j := range s.context {
			s.context[j] = s.span*16 + s.size(s.d[j], 14)
		}
	}
}

// lookDriven is look for a place whose velocity is in the record.
func lookDriven[T int32 | int64](s *sight, c *coder, vals, cur []T) {
	m, n, most := s.age, s.age, int64(0)
	if c.model == OwnPlace {
		m, n = m-1, n+1
	}
	for j := 0; j < c.n; j++ {
		v, w := int64(vals[c.velAt+j]), int64(cur[c.velAt+j])
		d := w - v
		s.d[j&3], s.v[j&3] = d, int64(vals[c.at+j])+travel(v, w, m, n, c.ratio)
		d = magnitude(d)
		most = max(most, d)
		if c.model == LevelDriven {
			s.context[j&3] = (s.old*(len(changeLimits)+1) + c.change.of(min(d, 1<<40)<<16)) * 3
		} else {
			s.context[j&3] = s.old*24 + min(bits.Len64(uint64(d)), 23)
		}
	}
	if c.model == LevelDriven {
		half := min(max(c.change.of(min(most, 1<<40)<<16)-3, 0), 4) / 2
		s.context[0] += half
		s.context[1] += half
		s.context[2] += half
	}
}

// put settles what is expected of the components that were looked at last, how they are coded and, where that is wanted, by how much
// they differ.
func (ps *parts) put(s *sight, c *coder) {
	t, n := c.tab, ps.n
	for j := 0; j < c.n; j++ {
		if j == 2 {
			t = c.third
		}
		choice := t.choices[s.context[j&3]]
		coding := &t.codings[choice&63]
		p, e := &ps.list[n], &ps.diffs[n]
		n++
		zero := coding.zero
		p.as = zero
		ps.shy |= zero
		e.Code = coding.code
		d, want := s.d[j&3], s.v[j&3]
		minus := d >> 63
		if c.vel < 0 { // else its velocity says where it leads, not how it went on
			want += s.damped(d, int64(choice>>8))
		}
		minus &= t.flips
		p.want, p.minus = want, int32(minus)
		if ps.writes {
			e.V = t.difference(s.w[j&3], want, minus)
		}
	}
	ps.n = n
}

// pace is the class of a velocity, from 1.
func (s *sight) pace(c *coder) int {
	pace := 1 + c.limits.of(min(span2(s.v[0], s.v[1]), 1<<40)<<16)
	if c.leads {
		s.mover = 1 + coarse(pace)
	}
	return pace
}

// coarse is the class of a pace of three.
func coarse(pace int) int { return int(coarseLevel[max(pace-1, 0)]) }

// size is the class of a change by how many bits it takes over an age, from 1; 0 if nothing is known.
func (s *sight) size(d int64, most int) int {
	if !s.known {
		return 0
	}
	return 1 + min(bits.Len64(uint64(magnitude(d)*s.age/s.gap)), most)
}

// short is the short way of a change of an angle.
func (c *coder) short(d int64) int64 {
	if 2*d > c.turn {
		return d - c.turn
	} else if 2*d <= -c.turn {
		return d + c.turn
	}
	return d
}

// span2 is about the length of (x, y): at most 8 % too long, 3 % too short.
func span2(x, y int64) int64 {
	x, y = magnitude(x), magnitude(y)
	return max(x, y) + 3*min(x, y)>>3
}

// travel is the way of something whose velocity went from one to the other, with their weights in half ticks; rounded to the nearest.
func travel(from, to, w, x, ratio int64) int64 {
	const most = 1 << 24
	from, to = clamp(from, -most, most), clamp(to, -most, most)
	return ((from*w+to*x)*ratio + 1<<20) >> 21 // below 1<<60
}

// damped is d age eighths / (8 gap), to the nearest.
func (s *sight) damped(d, eighths int64) int64 {
	minus := d >> 63
	v := s.over((magnitude(d)*s.age*eighths + 4*s.gap) >> 3)
	return (v ^ minus) - minus
}

// Value is the value that is expected with a damping of eighths.
func (q *Guess) Value(eighths int64) int64 { return q.Base + q.sight.damped(q.drift, eighths) }

// Guesses calls f with what is expected of each component that has a model, for those who make tables: its number among the group's
// integers, and its value.
func Guesses[T int32 | int64](k *Kind, g int, cur []T, base *Base[T], f func(e *Guess, at int, v T)) {
	b := &k.bodies[g]
	var s sight
	var ps parts
	s.see(b, base.Age, base.Gap, base.Prior != nil)
	for _, i := range b.order {
		if b.coders[i].model == noModel {
			continue
		}
		c := &b.coders[i]
		ps.n = 0
		look(&ps, &s, []*coder{c}, base, cur)
		for j := range c.n {
			p, at := &ps.list[j], c.at+j
			e := Guess{
				Model: c.model, Context: s.context[j], Octave: c.index, Raw: c.raw, Turn: c.turn,
				Base: int64(base.Vals[at]), drift: s.d[j], sight: &s, Neg: p.minus != 0,
			}
			if c.vel >= 0 {
				e.Base, e.drift = p.want, 0
			}
			if j == 2 {
				e.Model = c.model.third()
			}
			f(&e, at, cur[at])
		}
	}
}

// Difference returns what is coded of v under a damping of eighths, the bits that follow as they are included.
func Difference[T int32 | int64](e *Guess, v T, eighths int64) int64 {
	t := tab{turn: e.Turn}
	if !wide[T]() {
		t.narrow = 32
	}
	return t.difference(int64(v), e.Value(eighths), -int64(bit(e.Neg)))
}

// Damping returns the eighths by which the kind's tables damp what is guessed.
func (k *Kind) Damping(e *Guess) int64 { return int64(k.coded.models[e.Model].choices[e.Context] >> 8) }
