package schema

import (
	"math"
	"math/bits"

	"meanwhile/clock"
	"meanwhile/wire"
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
	model  Model  // of the first component
	at, n  int    // its components among the group's integers
	tabs   [2]tab // of the model, and of a third component
	drifts int64  // -1: the movement before the baseline goes on; 0: the velocity says where it leads
	index  int    // of the octave in tables
	raw    int    // low bits of a difference that are coded as they are
	octave int    // by which its steps are coarser than the model's own
	turn   int64  // steps of a turn, 0 if not an angle
	limits scale  // of the component's class, in steps a tick, 16 bits after the point
	rise   scale  // the same for the third
	push   scale
	change scale
	vel    int // index of the velocity in Props, -1 without
	velAt  int
	ratio  int64 // steps of place a tick and step of velocity, 20 bits after the point
}

// body is how the records of one group are coded.
type body struct {
	order    []int   // indices of properties: velocities, then places, then the others
	alone    uint64  // those of them that are coded without regard to others of the record
	usual    uint64  // those with a model
	modelled int     // how many components they have
	place    int     // index of the property whose movement is context of others: a velocity or a place; -1
	coders   []coder // by property
	spans    scale   // of age x (age + gap), in ticks
}

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
	codings []coding
	flips   int8 // -1: what follows a step down changes its sign, so that codes see it as one up; 0
}

// A choice is what a context chooses.
type choice struct{ code, damp uint8 }

// A coding is a code and the share of 256 in which it codes no difference, where that is quietShare or more.
type coding struct {
	code *wire.Code
	zero role // until it is cast; loud if it never is another
}

// at returns the table of a model at an octave, raw bits of which are coded as they are.
func (t *Tables) at(m Model, octave, raw int) tab {
	of := &t.models[m]
	v := tab{choices: of.choices}
	if m != Height {
		v.flips = -1
	}
	for _, c := range of.octaves[octave] {
		as := loud
		if raw == 0 && of.zero[c] >= quietShare {
			as = role(of.zero[c])
		}
		v.codings = append(v.codings, coding{of.codes[c], as})
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
	b := body{place: -1, coders: make([]coder, len(k.Props))}
	rate := float64(k.Rate)
	var spans [len(spanLimits)]int64
	for i, ms := range spanLimits {
		spans[i] = int64(math.Ceil(float64(float64(float64(ms*ms)*rate)*rate) / 1e6))
	}
	b.spans = newScale(spans[:])
	own := g == OwnerGroup
	vel, n := -1, 0
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
		limits := func(of []int64, per float64) scale { // in steps a tick
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
		}
		if b.place < 0 && (q.Class == Vel || q.Class == Pos) {
			b.place = i
		}
		if c.model != OwnPlace && c.model != OwnSpeed {
			c.octave = octave(natural / steps)
		}
		if c.drifts = -1; c.vel >= 0 {
			c.drifts = 0
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
	limits []int64
	start  [4 * (scaleBits + 1)]uint8 // class of the least value of each quarter of an octave
}

const scaleBits = 57 // of the largest value

func newScale(limits []int64) scale {
	s := scale{limits: append(limits, math.MaxInt64)} // which ends every search
	c := 0
	for i := 4 * 3; i < len(s.start); i++ {
		least := int64(4|i&3) << (i/4 - 3)
		if i < 4*4 {
			least = int64(i & 3) // the lowest octave has all that is below, too
		}
		for least >= limits[min(c, len(limits)-1)] && c < len(limits) {
			c++
		}
		s.start[i] = uint8(c)
	}
	return s
}

// of returns the class of v, 0 <= v < 1<<scaleBits.
func (s *scale) of(v int64) int {
	octave := uint(bits.Len64(uint64(v) | 4))
	c := int(s.start[octave*4+uint(v)>>((octave-3)&63)&3])
	for v >= s.limits[c] {
		c++
	}
	return c
}

// class returns the class of the magnitude of v / n, with 16 bits after the point.
func (s *scale) class(v, n int64) int {
	if v = min(max(v, -v), 1<<40) << 16; n > 1 {
		v /= n
	}
	return s.of(v)
}

// sight is what one record's models see of its baseline.
type sight struct {
	age, gap  int64
	span, old int      // classes of age and gap, and of age alone
	known     bool     // there is a state before the baseline
	level     int      // class of the horizontal speed, of the property being coded; 0 unknown
	climb     int      // class of the third component's speed
	context   int      // of the components that share theirs
	mover     int      // class of the horizontal speed of the group's place, of four
	d         [3]int64 // by how much the components changed from the state before the baseline to it; of a driven place, its velocity since
	from, to  [3]int64 // velocity in the baseline and in the record
	rising    int      // class of three
	change    int      // class of three
}

func (s *sight) see(b *body, age, gap clock.Tick, known bool) {
	s.age, s.gap, s.known = int64(min(age, 1<<10)), int64(min(gap, 1<<10)), known
	if !known {
		s.gap = 1
	}
	s.old = b.spans.of(s.age * s.age)
	if s.span = s.old; known {
		s.span = b.spans.of(s.age * (s.age + s.gap))
	}
}

// A Guess is what is expected of one component.
type Guess struct {
	Model   Model
	Context int
	Octave  int   // index, 0 for the finest
	Raw     int   // low bits of the difference that are coded as they are
	Base    int64 // the value in the baseline, or where its velocity leads to
	Drift   int64 // what is added to Base in eighths of Over, by the context's damping
	Over    int64
	Neg     bool  // the difference changes its sign before it is coded
	Turn    int64 // steps of a turn, 0 if not an angle
}

// look prepares s for the components of property i. cur holds the record's velocities where they are coded before i.
// The group's place comes before all that have its movement for a context.
func look[T int32 | int64](s *sight, b *body, i int, base *Base[T], cur []T) {
	c := &b.coders[i]
	at, n := c.at, c.n
	s.d[0], s.d[1], s.d[2] = 0, 0, 0
	if s.known && c.vel < 0 {
		vals, prior := base.Vals[at:at+n], base.Prior[at:at+n]
		for j := range min(n, 3) {
			s.d[j] = clamp(int64(vals[j])-int64(prior[j]), -1<<40, 1<<40)
		}
	}
	switch c.model {
	case Level:
		s.level, s.climb, s.rising = 0, 0, 0
		if s.known {
			s.level = 1 + c.limits.class(span2(s.d[0], s.d[1]), s.gap)
			if i == b.place {
				s.mover = 1 + int(coarseLevel[s.level-1])
			}
			if n > 2 {
				s.climb = c.rise.class(s.d[2], s.gap)
				s.rising = int(bit(s.d[2] != 0) + bit(s.climb > 2))
			}
		}
		s.context = (s.span*(len(levelLimits)+2)+s.level)*3 + s.rising
	case Turning:
		for j := range min(n, 3) {
			if d := &s.d[j]; 2**d > c.turn {
				*d -= c.turn
			} else if 2**d <= -c.turn {
				*d += c.turn
			}
		}
	case Speed, OwnSpeed:
		s.level = 1 + c.limits.class(span2(int64(base.Vals[at]), int64(base.Vals[at+1])), 1)
		if i == b.place {
			s.mover = 1 + int(coarseLevel[s.level-1])
		}
	case LevelDriven, OwnPlace:
		v := c.velAt
		most := int64(0)
		for j := range min(n, 3) {
			s.from[j], s.to[j] = int64(base.Vals[v+j]), int64(cur[v+j])
			d := s.to[j] - s.from[j]
			s.d[j] = d
			most = max(most, d, -d)
		}
		s.change = min(max(b.coders[c.vel].change.class(most, 1)-3, 0), 4) / 2
	}
}

// span2 is about the length of (x, y): at most 8 % too long, 3 % too short.
func span2(x, y int64) int64 {
	x, y = max(x, -x), max(y, -y)
	return max(x, y) + 3*min(x, y)>>3
}

// guess says what is expected of component j of a property, which look has prepared and which last changed by d: its context, and the way
// that its velocity leads beyond its value in the baseline.
func (s *sight) guess(c *coder, j int, d int64) (context int, way int64) {
	switch c.model {
	case Level:
		if j < 2 {
			return s.context, 0
		}
		v := 0
		if s.known {
			v = (s.climb ^ int(d>>63)) - int(d>>63) + len(heightLimits) + 1
		}
		return (s.span*(2*len(heightLimits)+2)+v)*3 + int(coarseLevel[max(s.level-1, 0)]), 0
	case Speed:
		v := 0
		if s.known {
			v = 1 + c.push.class(d, s.gap)
		}
		return (s.span*(len(pushLimits)+2)+v)*8 + int(speedLevel[max(s.level-1, 0)]), 0
	case LevelDriven:
		return (s.old*(len(changeLimits)+1)+c.change.class(d, 1))*3 + s.change, travel(s.from[j], s.to[j], s.age, s.age, c.ratio)
	case OwnPlace:
		return s.old*24 + min(bits.Len64(uint64(max(d, -d))), 23), travel(s.from[j], s.to[j], s.age-1, s.age+1, c.ratio)
	case OwnSpeed:
		v := 0
		if s.known {
			v = 1 + min(bits.Len64(uint64(max(d, -d)*s.age/s.gap)), 22)
		}
		return s.old*24 + v, 0
	case Turning:
		v := 0
		if s.known {
			v = 1 + c.limits.class(d, s.gap)
		}
		return (s.span*(len(turningLimits)+2)+v)*4 + s.mover, 0
	case Figure:
		v := 0
		if s.known {
			v = 1 + min(bits.Len64(uint64(max(d, -d)*s.age/s.gap)), 14)
		}
		return s.span*16 + v, 0
	}
	return 0, 0
}

// travel is the way of something whose velocity went from one to the other, with their weights in half ticks; rounded to the nearest.
func travel(from, to, w, x, ratio int64) int64 {
	const most = 1 << 24
	from, to = min(max(from, -most), most), min(max(to, -most), most)
	return ((from*w+to*x)*ratio + 1<<20) >> 21 // below 1<<60
}

// damped is drift x eighths / (8 x over), to the nearest.
func damped(drift, eighths, over int64) int64 {
	v := drift * eighths
	minus := v >> 63 // the sign is as good as random: no branches
	if v = (v ^ minus) - minus; over == 1 {
		v = (v + 4) >> 3
	} else {
		v = (v + 4*over) / (8 * over)
	}
	return (v ^ minus) - minus
}

// Value is the value that is expected with a damping of eighths.
func (q *Guess) Value(eighths int64) int64 { return q.Base + damped(q.Drift, eighths, q.Over) }

// Guesses calls f with what is expected of each component that has a model, for those who make tables: its number among the group's
// integers, and its value.
func Guesses[T int32 | int64](k *Kind, g int, cur []T, base *Base[T], f func(e *Guess, at int, v T)) {
	b := &k.bodies[g]
	var s sight
	s.see(b, base.Age, base.Gap, base.Prior != nil)
	for _, i := range b.order {
		if b.coders[i].model == noModel {
			continue
		}
		look(&s, b, i, base, cur)
		at := k.Props[i].place(k, g)
		for j := range k.Props[i].Comps {
			c := &b.coders[i]
			d, t := s.d[j], &c.tabs[j/2]
			context, way := s.guess(c, j, d)
			e := Guess{
				Model: c.model, Context: context, Octave: c.index, Raw: c.raw, Turn: c.turn,
				Base: int64(base.Vals[at+j]) + way, Drift: d * s.age & c.drifts, Over: s.gap, Neg: d < 0 && t.flips != 0,
			}
			if j == 2 {
				e.Model = c.model.third()
			}
			f(&e, at+j, cur[at+j])
		}
	}
}

// Difference returns what is coded of v under a damping of eighths, the bits that follow as they are included.
func Difference[T int32 | int64](e *Guess, v T, eighths int64) int64 {
	return difference(&part{want: e.Value(eighths), turn: int32(e.Turn), minus: -int8(bit(e.Neg))}, v)
}

// Damping returns the eighths by which the kind's tables damp what is guessed.
func (k *Kind) Damping(e *Guess) int64 { return int64(k.coded.models[e.Model].choices[e.Context].damp) }
