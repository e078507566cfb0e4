package protocol

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Bodies of records, as the document's "Bodies" and "Code tables" tell them.

type codeTable struct {
	damp, context string
	codes         [][]int
	zero          []int
	octaves       []string
}

// readTables reads the file of code tables.
func readTables(text string) (map[string]*codeTable, error) {
	tables := map[string]*codeTable{}
	var t *codeTable
	for _, line := range strings.Split(text, "\n") {
		word, value, _ := strings.Cut(line, " ")
		switch word {
		case "model":
			t = &codeTable{}
			tables[value] = t
		case "damp":
			t.damp += value
		case "context":
			t.context += value
		case "code":
			var lengths []int
			for _, digit := range value {
				n, err := strconv.ParseInt(string(digit), 15, 8)
				if err != nil {
					return nil, err
				}
				lengths = append(lengths, int(n))
			}
			t.codes = append(t.codes, lengths)
		case "octave":
			t.octaves = append(t.octaves, value)
		case "zero":
			for i := 0; i < len(value); i += 2 {
				n, err := strconv.ParseUint(value[i:i+2], 16, 8)
				if err != nil {
					return nil, err
				}
				t.zero = append(t.zero, int(n))
			}
		}
	}
	return tables, nil
}

// symbol reads a symbol of a canonical code bit by bit.
func (r *Reader) symbol(lengths []int) int {
	code, first := 0, 0
	for n := 1; n <= 14; n++ {
		code = code<<1 | int(r.bits.bit())
		first <<= 1
		for s, l := range lengths {
			if l == n {
				if code == first {
					return s
				}
				first++
			}
		}
	}
	refuse("no symbol")
	return 0
}

const otherSymbol = 73

// coded reads a difference.
func (r *Reader) coded(lengths []int) (v int64, other bool) {
	s := r.symbol(lengths)
	if s == otherSymbol {
		return 0, true
	}
	i := (s + 1) / 2
	switch {
	case i < 4:
		v = int64(i)
	case i < 20:
		v = int64(2+i%2)<<(i/2-1) + int64(r.bits.n(i/2-1))
	case i < 36:
		v = 1<<(i-10) + int64(r.bits.n(i-10))
	default:
		v = 1<<26 + r.bits.unsigned(20)
	}
	if s > 0 && s%2 == 0 {
		v = -v
	}
	return v, false
}

var (
	timeMS    = []float64{42, 60, 95, 140, 195, 260, 370, 520, 740, 1050, 1480, 2100}
	levelCMS  = []float64{10, 40, 90, 160, 280, 420, 700, 960, 1040, 1200, 1500, 2000, 2400}
	heightCMS = []float64{15, 50, 90, 150, 240, 350, 500, 700, 900}
	pushCMS   = []float64{30, 100, 250, 500, 900, 1500, 2500, 4000, 8000}
	changeCMS = []float64{2, 5, 12, 25, 45, 75, 120, 250, 500}
	turnDegS  = []float64{14, 42, 70, 98, 140, 196, 280, 420, 600, 900, 1400}
	speedOf   = []int{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 7} // by pace
)

// coarse is a pace in three.
func coarse(pace int) int {
	switch {
	case pace <= 4:
		return 0
	case pace <= 8:
		return 1
	}
	return 2
}

func abs(v int64) int64 { return max(v, -v) }

// classOf counts the limits that v over n reaches, per being steps of the limits' unit.
func classOf(v, n int64, limits []float64, per float64) (c int) {
	for _, l := range limits {
		if min(abs(v), 1<<40)<<16 >= int64(math.Ceil(float64(float64(l*per)*65536)))*n {
			c++
		}
	}
	return c
}

// coding is what a body is read with.
type coding struct {
	kind        *Kind
	obs         bool
	props       []*Prop // in the order of the schema text
	at          map[string]int
	base, prior []int64 // prior nil: none
	age, gap    int64

	vals     []int64
	order    []*Prop // in the order of the body
	modelled map[*Prop]bool
	vel      *Prop // the first
	mover    int
}

// component is one integer as it is coded.
type component struct {
	name    string
	at      int
	lengths []int
	zero    int
	want    int64
	turn    int64
	negated bool
	raw     int
	role    role
}

type role int

const (
	loud role = iota
	quiet
	silent
)

// bodyOrder is velocities, then places, then the others.
func bodyOrder(props []*Prop) []*Prop {
	rank := func(p *Prop) int {
		switch p.Class {
		case "vel":
			return 0
		case "pos":
			return 1
		}
		return 2
	}
	order := slices.Clone(props)
	slices.SortStableFunc(order, func(a, b *Prop) int { return rank(a) - rank(b) })
	return order
}

func (c *coding) prepare() {
	c.order = bodyOrder(c.props)
	c.modelled = map[*Prop]bool{}
	n := 0
	for _, p := range c.order {
		switch p.Class {
		case "vel", "pos", "angle", "view", "spin", "float":
			if !p.bounded() && n+p.Comps <= 24 {
				c.modelled[p] = true
				n += p.Comps
			}
		}
		if p.Class == "vel" && c.vel == nil {
			c.vel = p
		}
	}
	if c.age = min(c.age, 1024); c.prior == nil {
		c.gap = 1
	}
	c.gap = min(c.gap, 1024)
	c.vals = slices.Clone(c.base)
	for _, p := range c.order { // the first velocity, else place
		if p.Class == "vel" || p.Class == "pos" {
			if pace := c.pace(p); pace > 0 {
				c.mover = 1 + coarse(pace)
			}
			break
		}
	}
}

func (c *coding) ratio(p *Prop) int64 {
	return int64(math.Floor(float64(p.steps(c.obs)/float64(c.vel.steps(c.obs)*float64(c.kind.Rate))*(1<<20)) + 0.5))
}

// driven reports whether the place p goes by the velocity.
func (c *coding) driven(p *Prop) bool {
	return p.Class == "pos" && c.modelled[p] && c.vel != nil && c.vel.Comps == p.Comps && c.ratio(p) >= 1 &&
		c.ratio(p) <= 1<<24
}

// rise is d of the first three components.
func (c *coding) rise(p *Prop) (d [3]int64) {
	for j := range min(p.Comps, 3) {
		if c.prior != nil {
			at := c.at[p.Name] + j
			d[j] = min(max(c.base[at]-c.prior[at], -1<<40), 1<<40)
		}
	}
	return d
}

func length(x, y int64) int64 { x, y = abs(x), abs(y); return max(x, y) + 3*min(x, y)/8 }

// pace is the class of a horizontal speed: 0 unknown.
func (c *coding) pace(p *Prop) int {
	per := p.steps(c.obs) / 100
	switch {
	case p.Class == "vel":
		v := c.base[c.at[p.Name]:]
		return 1 + classOf(length(v[0], v[1]), 1, levelCMS, per)
	case c.prior == nil:
		return 0
	}
	d := c.rise(p)
	return 1 + classOf(length(d[0], d[1]), c.gap, levelCMS, per/float64(c.kind.Rate))
}

// span is the class of a square of ticks.
func (c *coding) span(square int64) (n int) {
	rate := float64(c.kind.Rate)
	for _, ms := range timeMS {
		if square >= int64(math.Ceil(float64(float64(float64(ms*ms)*rate)*rate)/1e6)) {
			n++
		}
	}
	return n
}

// components says how those of property p are coded.
func (r *Reader) components(c *coding, p *Prop) (list []component) {
	per, rate, known := p.steps(c.obs)/100, float64(c.kind.Rate), c.prior != nil
	d, turn, driven := c.rise(p), p.turn(c.obs), c.driven(p)
	old := c.span(c.age * c.age)
	span := old
	if known {
		span = c.span(c.age * (c.age + c.gap))
	}
	one := func(class int) int { // 1 + class
		if !known {
			return 0
		}
		return 1 + class
	}
	for j := range p.Comps {
		at := c.at[p.Name] + j
		m := component{name: fmt.Sprintf("%s.%d", p.Name, j), at: at, turn: turn}
		rose := int64(0)
		if j < 3 {
			rose = d[j]
		}
		model, context, octave := "", 0, 1.0
		expected := c.base[at]
		switch {
		case p.Class == "vel" && !c.obs:
			model, context = "own-speed", old*24+one(min(width(abs(rose)*c.age/c.gap), 22))
		case p.Class == "vel":
			model, octave = "speed", 1/per
			if j == 2 {
				model = "climb"
			}
			context = (span*11+one(classOf(rose, c.gap, pushCMS, per/rate)))*8 + speedOf[c.pace(p)]
		case driven:
			v, w := c.base[c.at[c.vel.Name]+j], c.vals[c.at[c.vel.Name]+j]
			m.negated = w < v
			before, after := c.age, c.age
			if c.obs {
				model, octave = "level-driven", 1/per
				if j == 2 {
					model = "height-driven"
				}
				most, steps := int64(0), c.vel.steps(true)/100
				for i := range min(p.Comps, 3) {
					most = max(most, abs(c.vals[c.at[c.vel.Name]+i]-c.base[c.at[c.vel.Name]+i]))
				}
				context = (old*10+classOf(w-v, 1, changeCMS, steps))*3 + classOf(most, 1, changeCMS[3:7], steps)/2
			} else {
				model, context = "own-place", old*24+min(width(abs(w-v)), 23)
				before, after = c.age-1, c.age+1
			}
			cut := func(v int64) int64 { return min(max(v, -1<<24), 1<<24) }
			expected += ((cut(v)*before+cut(w)*after)*c.ratio(p) + 1<<20) >> 21
			rose = 0
		case p.Class == "pos" && j == 2:
			model, octave = "height", 1/per
			h := 0
			if known {
				if h = 10 + classOf(rose, c.gap, heightCMS, per/rate); rose < 0 {
					h = 20 - h
				}
			}
			context = (span*20+h)*3 + coarse(c.pace(p))
		case p.Class == "pos":
			model, octave = "level", 1/per
			rise := 0
			if known && d[2] != 0 {
				rise = 1 + min(classOf(d[2], c.gap, heightCMS[2:4], per/rate), 1)
			}
			context = (span*15+c.pace(p))*3 + rise
		case turn > 0:
			model, octave = "turning", 256/float64(turn)
			if rose = (rose%turn + turn) % turn; 2*rose > turn {
				rose -= turn
			}
			context = (span*13+one(classOf(rose, c.gap, turnDegS, float64(turn)/360/rate)))*4 + c.mover
		default:
			model, context = "figure", span*16+one(min(width(abs(rose)*c.age/c.gap), 14))
		}
		if !driven && model != "height" {
			m.negated = rose < 0
		}
		place := 4 // among the octaves from -4 on
		f, e := math.Frexp(octave)
		if place += e - 1; f >= 0.75 {
			place++
		}
		m.raw = max(-place, 0)
		place = min(max(place, 0), 12)
		t := r.tables[model]
		code := t.octaves[place][t.context[context]-'A'] - 'A'
		m.lengths, m.zero = t.codes[code], t.zero[code]
		n, q := rose*c.age*int64(t.damp[context]-'0'), 8*c.gap
		if n < 0 {
			m.want = expected - (-n+q/2)/q
		} else {
			m.want = expected + (n+q/2)/q
		}
		list = append(list, m)
	}
	return list
}

// cast gives components their roles. asked says that a bit tells whether the quiet ones are left
// out.
func cast(list []component, led bool) (lead int, asked bool) {
	lead = -1
	for j := range list {
		if m := &list[j]; m.raw == 0 && m.zero >= 160 {
			m.role = quiet
		} else if lead < 0 && led {
			lead = j
		}
	}
	all, left := 256, 0
	for j := range list {
		m := &list[j]
		if m.role == loud {
			continue
		}
		if n := all * m.zero / 256; lead >= 0 && n >= 240 {
			all, m.role = n, silent
			continue
		}
		left++
	}
	if asked = left > 1 || led && lead < 0; !asked {
		for j := range list {
			if list[j].role == quiet {
				list[j].role = loud
			}
		}
	}
	return lead, asked
}

func (r *Reader) put(c *coding, m *component, diff int64, told bool) {
	if m.negated {
		diff = -diff
	}
	v := m.want + diff
	switch {
	case m.turn > 0:
		v = (v%m.turn + m.turn) % m.turn
	case c.obs:
		v = int64(int32(v))
	}
	c.vals[m.at] = v
	if told {
		r.note("%s %d, %+d from what is expected", m.name, v, v-m.want)
	} else {
		r.note("%s %d, as expected", m.name, v)
	}
}

// told reads the difference of a component.
func (r *Reader) told(m *component) (diff int64, other bool) {
	if diff, other = r.coded(m.lengths); !other {
		diff = diff<<m.raw | int64(r.bits.n(m.raw))
	}
	return diff, other
}

func (r *Reader) must(m *component) int64 {
	diff, other := r.told(m)
	if other {
		refuse("other properties than usual in the midst of a body")
	}
	return diff
}

// changed reads the body of a record that is a difference.
func (r *Reader) changed(c *coding) []int64 {
	c.prepare()
	if len(c.modelled) == 0 {
		r.some(c)
		return c.vals
	}
	var list []component
	for _, p := range c.order {
		if c.modelled[p] && !c.driven(p) {
			list = append(list, r.components(c, p)...)
		}
	}
	lead, asked := cast(list, true)
	quietTold, silentTold := true, false
	if asked {
		quietTold = !r.bits.is()
		r.note("quiet components as expected: %v", !quietTold)
	}
	first := lead
	if lead < 0 && quietTold {
		first = 0
	}
	if first >= 0 {
		diff, other := r.told(&list[first])
		if other {
			if lead < 0 || r.bits.is() {
				r.note("other properties than usual")
				r.some(c)
				return c.vals
			}
			r.note("silent components follow")
			silentTold = true
			diff = r.must(&list[first])
		}
		r.put(c, &list[first], diff, true)
	}
	for j := range list {
		if m := &list[j]; j != first {
			r.follow(c, m, m.role == loud || m.role == quiet && quietTold || m.role == silent && silentTold)
		}
	}
	list = list[:0]
	for _, p := range c.order {
		if c.driven(p) {
			list = append(list, r.components(c, p)...)
		}
	}
	quietTold = true
	if _, asked = cast(list, false); asked {
		quietTold = !r.bits.is()
		r.note("quiet components as expected: %v", !quietTold)
	}
	for j := range list {
		r.follow(c, &list[j], list[j].role == loud || quietTold)
	}
	return c.vals
}

// Difference reads the body of a record that is a difference, and says how many bits it has.
func (r *Reader) Difference(
	k *Kind,
	g int,
	base, prior []int64,
	age, gap int64,
	data []byte,
) (vals []int64, size int, err error) {
	defer r.caught(&err)
	r.bits = bitReader{data: data}
	props := k.members(g)
	vals = r.changed(
		&coding{kind: k, obs: g != OwnerGroup, props: props, at: places(props), base: base, prior: prior, age: age, gap: gap},
	)
	return vals, r.bits.at, nil
}

// follow reads a component that may be left out.
func (r *Reader) follow(c *coding, m *component, told bool) {
	diff := int64(0)
	if told {
		diff = r.must(m)
	}
	r.put(c, m, diff, told)
}

// set reads which of the properties follow.
func (r *Reader) set(props []*Prop) map[*Prop]bool {
	set := map[*Prop]bool{}
	if len(props) > 1 && r.bits.is() {
		n := int(r.bits.n(width(int64(len(props) - 1))))
		if n >= len(props) {
			refuse("property %d of %d", n, len(props))
		}
		set[props[n]] = true
		r.note("one property: %s", props[n].Name)
		return set
	}
	var names []string
	for _, p := range props {
		if set[p] = r.bits.is(); set[p] {
			names = append(names, p.Name)
		}
	}
	r.note("properties: %s", strings.Join(names, " "))
	return set
}

// sent returns how many integers of a property travel.
func (p *Prop) sent(obs bool) int {
	if p.Ref && obs {
		return 1
	}
	return p.Comps
}

// some reads a set of properties and their differences.
func (r *Reader) some(c *coding) {
	set := r.set(c.props)
	for _, p := range c.order {
		if !set[p] {
			continue
		}
		if c.modelled[p] {
			for _, m := range r.components(c, p) {
				r.put(c, &m, r.must(&m), true)
			}
			continue
		}
		at := c.at[p.Name]
		for i := at; i < at+p.sent(c.obs); i++ {
			c.vals[i] = r.difference(p, c.base[i], c.obs)
		}
		r.note("%s %v", p.Name, c.vals[at:at+p.sent(c.obs)])
	}
}

// whole reads a body whose values are written by themselves. What does not follow is as it was, or
// zero.
func (r *Reader) whole(c *coding, old []int64) []int64 {
	set := r.set(c.props)
	vals := make([]int64, c.at[""])
	copy(vals, old)
	for _, p := range bodyOrder(c.props) {
		if !set[p] {
			continue
		}
		at, how := c.at[p.Name], ""
		near := false
		if c.obs && p.Near > 0 && r.near {
			near = r.bits.is()
			how = map[bool]string{true: ", near the viewer", false: ", not near the viewer"}[near]
		}
		for i := at; i < at+p.sent(c.obs); i++ {
			if near {
				vals[i] = nearest(r.bits.n(p.Near), p, r.viewer[i-at])
			} else {
				vals[i] = r.alone(p, c.obs, r.Head.Tick)
			}
		}
		r.note("%s %v%s", p.Name, vals[at:at+p.sent(c.obs)], how)
	}
	return vals
}

// nearest returns the coordinate nearest to the viewer's, in millimetres, that has these low bits.
func nearest(low uint64, p *Prop, mm int64) int64 {
	v := math.Floor(float64(float64(mm)*p.Obs)/1000 + 0.5)
	at := int64(min(max(v, math.MinInt32), math.MaxInt32))
	turn := int64(1) << p.Near
	diff := (int64(low) - at) % turn
	if diff < -turn/2 {
		diff += turn
	}
	if diff >= turn/2 {
		diff -= turn
	}
	return int64(int32(at + diff))
}
