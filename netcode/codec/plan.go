package codec

import (
	"math"

	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// maxModelled is how many components of a group have a model at most; properties beyond have none.
const maxModelled = 24

// member is how a property is coded in one precision.
type member struct {
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

// group is how the records of one group are coded.
type group struct {
	order    []int     // indices of properties: velocities, then places, then the others
	alone    uint64    // those of them that are coded without regard to others of the record
	usual    uint64    // those with a model
	modelled int       // how many components they have
	members  []member  // by property
	lone     []*member // those of alone, in their order
	driven   []*member // the others of usual
	times    *times
}

// near is up to which age and gap in ticks their classes are kept.
const near = 16

// times are the classes of time at a tick rate.
type times struct {
	spans scale // of age x (age + gap), in ticks
	near  [near][near]classes
}

func newTimes(rate int) *times {
	var spans [len(spanLimits)]int64
	for i, ms := range spanLimits {
		spans[i] = int64(math.Ceil(float64(float64(float64(ms*ms)*float64(rate))*float64(rate)) / 1e6))
	}
	t := &times{spans: *newScale(spans[:])}
	for age := range int64(near) {
		for gap := range int64(near) {
			t.near[age][gap] = classes{uint8(t.spans.of(age * (age + gap))), uint8(t.spans.of(age * age))}
		}
	}
	return t
}

// classes are those of an age and a gap together, and of the age alone.
type classes struct{ span, old uint8 }

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
func (t *Tables) at(c *member, m Model, g int) *tab {
	of := &t.models[m]
	v := &tab{choices: of.choices, turn: c.turn}
	if g != schema.OwnerGroup {
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

// plan settles how the records of group g are coded.
func (b *group) plan(k *schema.Kind, g int, t *Tables) {
	b.members = make([]member, len(k.Props))
	own := g == schema.OwnerGroup
	for first := range 3 {
		for _, i := range k.Members(g) {
			if rank(&k.Props[i]) == first {
				b.order = append(b.order, i)
			}
		}
	}
	vel, n, led := -1, 0, false
	for _, i := range b.order {
		q, c := &k.Props[i], &b.members[i]
		c.at, c.n = k.Offset(g, i), q.Comps
		natural, steps := c.choose(k, i, vel, own, b)
		if q.Motion() == schema.Speeds && vel < 0 {
			vel = i
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
		if m := q.Motion(); !led && (m == schema.Speeds || m == schema.Travels) {
			c.leads, led = true, true
		}
		if c.model != OwnPlace && c.model != OwnSpeed {
			c.octave = octave(natural / steps)
		}
		c.index, c.raw = max(c.octave-finestOctave, 0), max(finestOctave-c.octave, 0)
		c.index = min(c.index, Octaves-1)
		c.tab = t.at(c, c.model, g)
		if c.third = c.tab; c.model.third() != c.model {
			c.third = t.at(c, c.model.third(), g)
		}
	}
	b.modelled = n
}

// rank is the place of a property in the order of a group.
func rank(q *schema.Prop) int {
	switch q.Motion() {
	case schema.Speeds:
		return 0
	case schema.Travels:
		return 1
	}
	return 2
}

// limits turns limits into steps a tick, 16 bits after the point.
func limits(of []int64, per float64) *scale {
	l := make([]int64, len(of))
	for j, v := range of {
		l[j] = int64(math.Ceil(float64(float64(float64(v)*per) * 65536)))
	}
	return newScale(l)
}

// choose settles the model of the property at an index of k, and the limits of its classes. natural is how many steps a unit has in which
// the model's tables were made, steps how many it has.
func (c *member) choose(k *schema.Kind, i, vel int, own bool, b *group) (natural, steps float64) {
	q, rate := &k.Props[i], float64(k.Rate)
	c.model, c.vel = noModel, -1
	steps, natural = q.Obs, 100.0
	if own {
		steps = q.Sim
	}
	switch q.Motion() {
	case schema.Speeds:
		c.model = Speed
		if own {
			c.model = OwnSpeed
		}
		c.limits = limits(levelLimits[:], steps/100) // of a velocity, not of a way in a tick
		c.push = limits(pushLimits[:], steps/100/rate)
		c.change = limits(changeLimits[:], steps/100)
	case schema.Travels:
		c.model = Level
		c.limits = limits(levelLimits[:], steps/100/rate)
		c.rise = limits(heightLimits[:], steps/100/rate)
		if vel >= 0 && k.Props[vel].Comps == q.Comps {
			c.vel, c.velAt = vel, b.members[vel].at
			from := k.Props[vel].Obs
			c.model = LevelDriven
			if own {
				from = k.Props[vel].Sim
				c.model = OwnPlace
			}
			c.ratio = nearest(float64(steps / float64(from*rate) * (1 << 20)))
			c.change = b.members[vel].change
			if c.ratio < 1 || c.ratio > 1<<24 {
				c.vel, c.model = -1, Level
			}
		}
	case schema.Turns:
		c.model = Turning
		natural = 256
		if c.turn = q.Turn; own {
			c.turn = q.SimTurn
		}
		steps = float64(c.turn)
		c.limits = limits(turningLimits[:], steps/360/rate)
	case schema.Varies:
		c.model = Figure
		natural = steps // of no known unit
	}
	return natural, steps
}
