package codec

import (
	"math"

	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// maxModelled is how many components of a group have a model at most. Properties beyond have none.
const maxModelled = 24

// A group is how the records of one group are coded.
type group struct {
	order   []int     // indices of properties: velocities, then places, then the others
	usual   uint64    // those with a model
	members []member  // by property
	alone   []*member // those of usual that are coded without regard to others of the record
	driven  []*member // the others of usual: places that follow from a velocity
	times   *times
}

// A member is how one property of a group is coded.
type member struct {
	_ [0]func() // no == for it, which pages would have to load

	model  Model // of the first component
	prop   int   // index in Props
	at, n  int   // its components among the group's integers
	table  *octaveTable
	tableZ *octaveTable // of a third component
	turn   int64        // steps of a turn; 0: not an angle
	octave int          // its index in tables
	raw    int          // low bits of a difference that are written as they are

	// Limits, in steps a tick with 16 bits after the point.
	limits *scale // of how fast it moves or turns
	climb  *scale // of how fast its third component moves
	push   *scale // of how much a velocity changes in a tick
	change *scale // of how much it changed since the baseline

	vel   int   // index in Props of the velocity that drives it; -1: none
	velAt int   // where that is among the group's integers
	ratio int64 // steps of place in a tick at one step of that velocity, 20 bits after the point
	leads bool  // its movement is context of others
}

// plan settles how the records of group g are coded.
func (b *group) plan(k *schema.Kind, g int, t *Tables) {
	b.members = make([]member, len(k.Props))
	for turn := range 3 {
		for _, i := range k.Members(g) {
			if rank(&k.Props[i]) == turn {
				b.order = append(b.order, i)
			}
		}
	}
	vel, n, led := -1, 0, false
	for _, i := range b.order {
		q, c := &k.Props[i], &b.members[i]
		c.prop, c.at, c.n = i, k.Offset(g, i), q.Comps
		octave := c.choose(k, i, vel, g == schema.OwnerGroup, b)
		motion := q.Motion()
		if motion == schema.Speeds && vel < 0 {
			vel = i
		}
		if c.model == noModel || n+q.Comps > maxModelled {
			c.model = noModel
			continue
		}
		n += q.Comps
		b.usual |= 1 << uint(i)
		if c.model.driven() {
			b.driven = append(b.driven, c)
		} else {
			b.alone = append(b.alone, c)
		}
		if !led && (motion == schema.Speeds || motion == schema.Travels) {
			c.leads, led = true, true
		}
		c.octave, c.raw = min(max(octave-finestOctave, 0), Octaves-1), max(finestOctave-octave, 0)
		c.table = t.at(c, c.model, g)
		if c.tableZ = c.table; c.model.ofThird() != c.model {
			c.tableZ = t.at(c, c.model.ofThird(), g)
		}
	}
}

// rank orders properties: velocities first, then places.
func rank(q *schema.Prop) int {
	switch q.Motion() {
	case schema.Speeds:
		return 0
	case schema.Travels:
		return 1
	}
	return 2
}

// choose settles the model of the property at an index of k, and its limits. It returns by how many
// octaves its steps are coarser than those that the model's tables were made for. vel is the
// group's first velocity, -1 if there is none.
func (c *member) choose(k *schema.Kind, i, vel int, own bool, b *group) int {
	q, rate := &k.Props[i], float64(k.Rate)
	c.model, c.vel = noModel, -1
	steps, natural := q.Obs, 100.0 // in a unit: ours, and the tables'
	if own {
		steps = q.Sim
	}
	switch q.Motion() {
	case schema.Speeds:
		c.model = SpeedXY
		if own {
			c.model = OwnSpeed
		}
		c.limits = limitsIn(paceLimits[:], steps/100) // of a velocity, not of a way in a tick
		c.push = limitsIn(pushLimits[:], steps/100/rate)
		c.change = limitsIn(changeLimits[:], steps/100)
	case schema.Travels:
		c.model = PlaceXY
		c.limits = limitsIn(paceLimits[:], steps/100/rate)
		c.climb = limitsIn(climbLimits[:], steps/100/rate)
		if vel >= 0 && k.Props[vel].Comps == q.Comps {
			c.follow(&k.Props[vel], vel, &b.members[vel], own, steps, rate)
		}
	case schema.Turns:
		c.model = Angle
		natural = 256
		if c.turn = q.Turn; own {
			c.turn = q.SimTurn
		}
		steps = float64(c.turn)
		c.limits = limitsIn(turnLimits[:], steps/360/rate)
	case schema.Varies:
		c.model = Scalar
		natural = steps // of no known unit
	}
	if c.model == OwnPlace || c.model == OwnSpeed {
		return 0
	}
	return octave(natural / steps)
}

// follow makes a place of so many steps a metre follow from a velocity, unless their steps are too
// different.
func (c *member) follow(v *schema.Prop, vel int, of *member, own bool, steps, rate float64) {
	from, model := v.Obs, PlaceXYDriven
	if own {
		from, model = v.Sim, OwnPlace
	}
	ratio := nearest(float64(steps / float64(from*rate) * (1 << 20)))
	if ratio < 1 || ratio > 1<<24 {
		return
	}
	c.model, c.vel, c.velAt, c.ratio, c.change = model, vel, of.at, ratio, of.change
}

// limitsIn takes limits into units with so many steps, 16 bits after the point.
func limitsIn(of []int64, steps float64) *scale {
	l := make([]int64, len(of))
	for j, v := range of {
		l[j] = int64(math.Ceil(float64(float64(float64(v)*steps) * 65536)))
	}
	return newScale(l)
}

// nearTicks is up to which age and gap the classes of times are kept ready.
const nearTicks = 16

// times are the classes of time at a tick rate.
type times struct {
	spans scale // of age x (age + gap), in ticks
	near  [nearTicks][nearTicks]timeClasses
}

// timeClasses are those of an age and a gap together, and of the age alone.
type timeClasses struct{ span, old uint8 }

func newTimes(rate int) *times {
	var spans [len(spanLimits)]int64
	for i, ms := range spanLimits {
		spans[i] = int64(math.Ceil(float64(float64(float64(ms*ms)*float64(rate))*float64(rate)) / 1e6))
	}
	t := &times{spans: *newScale(spans[:])}
	for age := range int64(nearTicks) {
		for gap := range int64(nearTicks) {
			t.near[age][gap] = timeClasses{uint8(t.spans.of(age * (age + gap))), uint8(t.spans.of(age * age))}
		}
	}
	return t
}

// An octaveTable is a model's table at one octave.
type octaveTable struct {
	choices []choice // by context
	codings [64]coding
	turn    int64 // steps of a turn; 0: not an angle
	narrow  uint  // bits of 64 that a value does not have
	// flips is -1 where a difference changes its sign after a step down, so that codes see one
	// after a step up; else 0.
	flips int64
}

// A choice is what a context chooses: a code, and from bit 8 on a damping.
type choice uint16

// A coding is a code, and how often it codes no difference.
type coding struct {
	code *wire.Code
	zero role // the share of 256, where it is skipShare or more; else explicit
}

// at returns the table of a model for a property of group g.
func (t *Tables) at(c *member, m Model, g int) *octaveTable {
	of := &t.models[m]
	v := &octaveTable{choices: of.choices, turn: c.turn}
	if g != schema.OwnerGroup {
		v.narrow = 32
	}
	if m != PlaceZ {
		v.flips = -1
	}
	for i, letter := range of.octaves[c.octave] {
		v.codings[i].code = of.codes[letter]
		if c.raw > 0 {
			v.codings[i].code = of.codes[letter].WithRaw(uint8(c.raw))
		} else if of.zero[letter] >= skipShare {
			v.codings[i].zero = role(of.zero[letter])
		}
	}
	return v
}
