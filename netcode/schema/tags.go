package schema

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"meanwhile/internal/fault"
)

// written is what is kept of a tag as it was written: for messages, and for what is checked beside
// other properties.
type written struct {
	text    string
	works   string // a tag that fits the field's type
	maxText int    // bytes of a text at most, if more than MaxText
	levels  []level
	slow    float64 // units per second
	slowest string  // the same, as written
	within  string  // bound of dead reckoning, as written
	parent  bool
	team    bool
	even    bool // equally precise at any distance, unless the tag says otherwise
}

// A level is a coarser precision from some distance on.
type level struct {
	from  float64 // metres
	shift uint8
}

// A tag is what is known of a property while its tag is read.
type tag struct {
	p           *Prop
	seen        []string // words that stand at most once
	others      bool     // others= was there
	precise     bool     // a precision was there
	addressed   bool     // an audience was there
	least, most float64  // a range beside the precision
	ranged      bool
	warp        float64
	far         []string // precisions by distance
}

// words are what may stand behind the class.
const words = "a precision, others=, draw=, warp=, slow=, far=, group=, wire=near, levels=none, ref, team, parent, " +
	"to=owner, to=team, server or kept"

// parse reads the property's tag for a field of a Go type.
func (p *Prop) parse(t goType, rate int) error {
	p.field.kind, p.Group, p.Comps, p.ObsAt = t.kind, -1, 1, -1
	all := strings.Split(p.tag.text, ",")
	class := -1
	for i, c := range classes {
		if c.name == all[0] {
			class = i
		}
	}
	if class < 0 {
		return fault.Errorf("unknown class %q, want one of %s", all[0], classList())
	}
	p.Class = Class(class)
	c := classes[class]
	if !c.fits(p, t) {
		return fault.Errorf("class %s does not fit Go type %s, want %s", p.Class, t.name, c.goes)
	}
	if p.Sim, p.Obs = 1, 1; c.tags.sim != 0 {
		p.Sim, p.Obs = c.tags.sim, c.tags.obs
	}
	if c.tags.perTick != 0 {
		p.Sim /= float64(c.tags.perTick * float64(rate))
	}
	if c.facts.graded {
		p.Draw = Linear
	}
	tag := &tag{p: p}
	for _, w := range all[1:] {
		if err := tag.word(w); err != nil {
			return err
		}
	}
	return tag.finish()
}

func classList() string {
	var names []string
	for _, c := range classes {
		names = append(names, c.name)
	}
	return strings.Join(names, " ")
}

// word reads one word behind the class.
func (t *tag) word(w string) error {
	rules := &classes[t.p.Class].tags
	key, val, valued := strings.Cut(w, "=")
	switch {
	case key == "others" && valued && !t.others:
		t.others = true
		return t.observers(val)
	case strings.Contains(w, "@") && t.others:
		t.far = append(t.far, w)
		return nil
	case slices.Contains(t.seen, key):
	default:
		if ok, err := t.address(w); ok {
			return err
		}
		ok, err := false, error(nil)
		if valued {
			ok, err = t.set(key, val)
		} else {
			ok, err = t.mark(w)
		}
		if ok {
			t.seen = append(t.seen, key)
			return err
		}
	}
	switch {
	case rules.ranges && strings.Contains(w, "..") && !t.ranged:
		t.ranged = true
		return t.between(w)
	case !t.precise && !valued && w != "":
		t.precise = true
		return t.precision(w)
	}
	return fault.Errorf("unknown or repeated word %q, want %s", w, words)
}

// address reads a word that says who receives the property; ok is false if it is none.
func (t *tag) address(w string) (ok bool, err error) {
	a := Everyone
	switch w {
	case "to=owner":
		a = Owner
	case "to=team":
		a = Team
	case "server":
		a = Server
	case "kept":
		a = Kept
	default:
		return false, nil
	}
	if t.addressed {
		return true, errors.New("to=owner, to=team, server and kept exclude each other")
	}
	t.p.Audience, t.addressed = a, true
	return true, nil
}

// set reads a word with a value; ok is false if it is none of those that stand at most once.
func (t *tag) set(key, val string) (ok bool, err error) {
	switch key {
	case "draw":
		return true, t.draw(val)
	case "warp":
		if t.warp, err = metres(val); err == nil && !t.p.isPlace() {
			err = fault.Errorf("warp=%s does not fit class %s: it is the distance of a pos", val, t.p.Class)
		}
	case "far":
		t.p.Far, err = metres(val)
	case "slow":
		return true, t.slowest(val)
	case "levels":
		if t.p.tag.even = true; val != "none" || !classes[t.p.Class].facts.graded {
			err = fault.Errorf("levels=%s does not fit class %s: only levels=none does, for a pos, vel, angle or view", val,
				t.p.Class)
		}
	case "wire":
		if t.p.Near = NearBits; val != "near" || !t.p.isPlace() {
			err = fault.Errorf("wire=%s does not fit class %s: only wire=near does, for a pos", val, t.p.Class)
		}
	case "group":
		n, e := strconv.Atoi(val)
		if t.p.Group = n; e != nil || n < 0 || n >= MaxGroups {
			err = fault.Errorf("group=%s is outside 0..%d", val, MaxGroups-1)
		}
	default:
		return false, nil
	}
	return true, err
}

// mark reads a word without a value; ok is false if it is none of those that stand at most once.
func (t *tag) mark(w string) (ok bool, err error) {
	fits, which := true, ""
	switch w {
	case "ref":
		t.p.Ref, fits, which = true, t.p.isText(), "only text"
	case "team":
		t.p.tag.team, fits, which = true, classes[t.p.Class].tags.team, "want int, enum or handle"
	case "parent":
		t.p.tag.parent, fits, which = true, t.p.isHandle(), "want handle"
	default:
		return false, nil
	}
	if !fits {
		err = fault.Errorf("%s does not fit class %s, %s", w, t.p.Class, which)
	}
	return true, err
}

// slowest reads slow=.
func (t *tag) slowest(val string) error {
	slow := classes[t.p.Class].tags.slow
	if slow == nil {
		return fault.Errorf("slow=%s does not fit class %s, want pos, vel, angle or spin", val, t.p.Class)
	}
	speed, per := strings.CutSuffix(val, "/s")
	v, ok := slow(speed)
	if !ok || !per {
		return fault.Errorf("slow=%s, want a speed such as %s", val, classes[t.p.Class].tags.unit.slow())
	}
	t.p.tag.slow, t.p.tag.slowest = v, val
	return nil
}

// observers reads others=.
func (t *tag) observers(val string) (err error) {
	if !classes[t.p.Class].facts.graded {
		return fault.Errorf("others=%s: observers receive class %s as it is", val, t.p.Class)
	}
	t.p.Obs, err = t.p.stepsOf(val)
	return err
}

// precision reads the word without a name.
func (t *tag) precision(w string) (err error) {
	t.p.Sim, err = t.p.stepsOf(w)
	return err
}

// stepsOf reads a precision of the property's class: steps per unit.
func (p *Prop) stepsOf(word string) (float64, error) {
	if steps := classes[p.Class].tags.steps; steps != nil {
		return steps(p, word)
	}
	return wantPrecision(word, "none for class "+p.Class.String())
}

// draw reads draw=.
func (t *tag) draw(val string) error {
	how, bound, bounded := strings.Cut(val, ":")
	c := classes[t.p.Class]
	switch {
	case val == "step":
		t.p.Draw = Step
	case val == "linear" && c.facts.graded:
		t.p.Draw = Linear
	case val == "hermite" && c.tags.curves:
		t.p.Draw = Hermite
	case how == "dr" && c.tags.reckons:
		t.p.Draw, t.p.tag.within = Reckon, bound
		if !bounded {
			return errors.New("draw=dr needs a bound, by how much it may be wrong, such as draw=dr:10cm or draw=dr:2deg")
		}
	default:
		return fault.Errorf("draw=%s does not fit class %s", val, t.p.Class)
	}
	return nil
}

// between reads a range beside the precision.
func (t *tag) between(w string) error {
	a, b, _ := strings.Cut(w, "..")
	var err1, err2 error
	t.least, err1 = strconv.ParseFloat(a, 64)
	t.most, err2 = strconv.ParseFloat(b, 64)
	if err1 != nil || err2 != nil || !(t.least < t.most) || !(t.most-t.least <= math.MaxFloat64) {
		return fault.Errorf("range %q, want one such as 0..5", w)
	}
	return nil
}

// finish derives what follows from all words together.
func (t *tag) finish() error {
	p, rules := t.p, &classes[t.p.Class].tags
	if !t.precise && rules.need != "" {
		return errors.New(rules.need)
	}
	if !t.others && (!t.precise || p.Sim < p.Obs || rules.same) {
		p.Obs = min(p.Obs, p.Sim)
		if t.precise {
			p.Obs = p.Sim
		}
	}
	if p.Obs > p.Sim {
		return fault.Errorf("others is finer than the simulation: %v against %v steps a unit", p.Obs, p.Sim)
	}
	if err := t.distances(); err != nil {
		return err
	}
	if rules.finish != nil {
		if err := rules.finish(p, t); err != nil {
			return err
		}
	}
	if err := t.bounds(); err != nil {
		return err
	}
	if p.Group < 0 {
		if p.Group = rules.group; p.tag.parent {
			p.Group = 0
		}
	}
	p.settle()
	return p.sense()
}

// settle derives the grids of the property, and its codes.
func (p *Prop) settle() {
	p.own.grid, p.others.grid, p.drawn = p.gridOf(p.Sim, 1), p.gridOf(p.Obs, 1), p.gridOf(p.Obs, SubSteps)
	p.SimTurn, p.Turn = p.own.grid.turn, p.others.grid.turn
	p.own.code, p.others.code = p.codeOf(&p.own.grid, true), p.codeOf(&p.others.grid, false)
}

// bounds takes warp= and the bound of draw=dr into observer steps.
func (t *tag) bounds() error {
	p := t.p
	if t.warp > 0 {
		if p.Warp = round(float64(t.warp * p.Obs)); p.Warp < 1 || p.Warp > 1<<30 {
			return fault.Errorf("warp=%vm is %d steps of what observers receive, want 1 to 2^30", t.warp, p.Warp)
		}
	}
	if p.Draw == Reckon {
		per, err := p.stepsOf(p.tag.within)
		if err != nil {
			return fault.Errorf("draw=dr:%s: %w", p.tag.within, err)
		}
		if p.Bound = round(p.Obs / per); p.Bound < 1 || p.Bound > 1<<30 {
			return fault.Errorf("draw=dr:%s is %d steps of what observers receive, want 1 to 2^30", p.tag.within, p.Bound)
		}
	}
	return nil
}

// sense refuses words that change nothing.
func (p *Prop) sense() error {
	if p.observed() {
		return nil
	}
	if word := p.relative(); word != "" {
		return fault.Errorf("%s is about what others receive, and they do not receive it", word)
	}
	return nil
}

// distances reads precisions by distance: each a power of two coarser than the one for those who
// are near.
func (t *tag) distances() error {
	p := t.p
	for _, w := range t.far {
		precision, distance, _ := strings.Cut(w, "@")
		per, err := p.stepsOf(precision)
		if err != nil {
			return fault.Errorf("%s: %w", w, err)
		}
		from, err := metres(distance)
		if err != nil {
			return fault.Errorf("%s: %w", w, err)
		}
		shift, ratio := 0, p.Obs/per
		for ratio > 1.5 && shift < 16 {
			ratio = float64(ratio / 2)
			shift++
		}
		n := len(p.tag.levels)
		if n == MaxLevels-1 {
			return fault.Errorf("%s: at most %d distances fit a property", w, n)
		}
		rising := n == 0 || from > p.tag.levels[n-1].from && uint8(shift) > p.tag.levels[n-1].shift
		if shift == 0 || math.Abs(ratio-1) > 1e-9 || !rising {
			return fault.Errorf("%s: want rising distances, and precisions that are 2, 4, 8, ... up to 65536 times as coarse "+
				"as others=, rising too", w)
		}
		p.tag.levels = append(p.tag.levels, level{from, uint8(shift)})
	}
	return nil
}
