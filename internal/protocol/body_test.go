package protocol_test

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"meanwhile/clock"
	"meanwhile/geom"
	"meanwhile/schema"
	"meanwhile/wire"
)

// Bodies of records as docs/PROTOCOL.md, "Bodies" and "Code tables", tells them, written without a look at package schema: what a client in
// another language would do.

type codeTable struct {
	damp, context string
	codes         []string
	zero          []int
	octaves       []string
}

// readTables reads the file of code tables.
func readTables(file string) (map[string]*codeTable, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	tables := map[string]*codeTable{}
	var t *codeTable
	for _, line := range strings.Split(string(b), "\n") {
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
			t.codes = append(t.codes, value)
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

// symbol reads a symbol of a canonical code, whose lengths are digits in base 15, bit by bit.
func (d *dissector) symbol(lengths string) int {
	code, first := 0, 0
	for n := 1; n <= 14; n++ {
		code = code<<1 | int(d.r.Bits(1))
		first <<= 1
		for s := range lengths {
			if l, _ := strconv.ParseInt(lengths[s:s+1], 15, 8); int(l) == n {
				if code == first {
					return s
				}
				first++
			}
		}
	}
	d.t.Fatal("no symbol")
	return 0
}

const otherSymbol = 73

// coded reads a difference.
func (d *dissector) coded(lengths string) (v int64, other bool) {
	s := d.symbol(lengths)
	if s == otherSymbol {
		return 0, true
	}
	i := (s + 1) / 2
	switch {
	case i < 4:
		v = int64(i)
	case i < 20:
		v = int64(2+i%2)<<(i/2-1) + int64(d.r.Bits(i/2-1))
	case i < 36:
		v = 1<<(i-10) + int64(d.r.Bits(i-10))
	default:
		v = 1<<26 + int64(d.r.Uvarint(20))
	}
	if s > 0 && s%2 == 0 {
		v = -v
	}
	return v, false
}

var (
	spanMS    = []float64{42, 60, 95, 140, 195, 260, 370, 520, 740, 1050, 1480, 2100}
	levelCMS  = []float64{10, 40, 90, 160, 280, 420, 700, 960, 1040, 1200, 1500, 2000, 2400}
	heightCMS = []float64{15, 50, 90, 150, 240, 350, 500, 700, 900}
	pushCMS   = []float64{30, 100, 250, 500, 900, 1500, 2500, 4000, 8000}
	changeCMS = []float64{2, 5, 12, 25, 45, 75, 120, 250, 500}
	turnDegS  = []float64{14, 42, 70, 98, 140, 196, 280, 420, 600, 900, 1400}
	coarseOf  = []int{0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}
	speedOf   = []int{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 7}
)

func abs(v int64) int64 { return max(v, -v) }

// classOf counts the limits that v over n reaches, per being steps of a unit.
func classOf(v, n int64, limits []float64, per float64) (c int) {
	for _, l := range limits {
		if min(abs(v), 1<<40)<<16 >= int64(math.Ceil(l*per*65536))*n {
			c++
		}
	}
	return c
}

// bodyOf is what a body is read with.
type bodyOf struct {
	k           *schema.Kind
	obs         bool
	props       []*schema.Prop // in the order of the body
	at          map[*schema.Prop]int
	base, prior []int64 // prior nil: none
	age, gap    int64
	vals        []int64
	tables      map[string]*codeTable
	vel         *schema.Prop
	mover       int
}

// component is one integer as it is coded.
type component struct {
	p       *schema.Prop
	at      int
	name    string
	lengths string
	zero    int
	want    int64
	turn    int64
	neg     bool
	raw     int
	role    string
}

func (b *bodyOf) steps(p *schema.Prop) float64 {
	if b.obs {
		return p.Obs
	}
	return p.Sim
}

// modelled reports whether a property is coded by a model, and driven whether by its velocity.
func (b *bodyOf) modelled(p *schema.Prop) (modelled, driven bool) {
	switch p.Class {
	case schema.Vel, schema.Angle, schema.View:
		return true, false
	case schema.Float, schema.Spin:
		return p.Min == p.Max, false
	case schema.Pos:
		return true, b.vel != nil && b.vel.Comps == p.Comps && b.ratio(p) >= 1 && b.ratio(p) <= 1<<24
	}
	return false, false
}

func (b *bodyOf) ratio(p *schema.Prop) int64 {
	return int64(math.Floor(b.steps(p)/(b.steps(b.vel)*float64(b.k.Rate))*(1<<20) + 0.5))
}

func (b *bodyOf) moved(p *schema.Prop) (d [3]int64) {
	for j := range min(p.Comps, 3) {
		if b.prior != nil {
			d[j] = min(max(b.base[b.at[p]+j]-b.prior[b.at[p]+j], -1<<40), 1<<40)
		}
	}
	return d
}

func about(x, y int64) int64 { x, y = abs(x), abs(y); return max(x, y) + 3*min(x, y)/8 }

// level is the class of a horizontal speed: 0 unknown.
func (b *bodyOf) level(p *schema.Prop) int {
	per := b.steps(p) / 100
	switch {
	case p.Class == schema.Vel:
		v := b.base[b.at[p]:]
		return 1 + classOf(about(v[0], v[1]), 1, levelCMS, per)
	case b.prior == nil:
		return 0
	}
	d := b.moved(p)
	return 1 + classOf(about(d[0], d[1]), b.gap, levelCMS, per/float64(b.k.Rate))
}

// components says how those of property p are coded.
func (b *bodyOf) components(p *schema.Prop) (list []component) {
	per, rate := b.steps(p)/100, float64(b.k.Rate)
	known := b.prior != nil
	d := b.moved(p)
	span := func(ticks2 int64) (c int) {
		for _, ms := range spanMS {
			if ticks2 >= int64(math.Ceil(ms*ms*rate*rate/1e6)) {
				c++
			}
		}
		return c
	}
	old := span(b.age * b.age)
	both := old
	if known {
		both = span(b.age * (b.age + b.gap))
	}
	_, driven := b.modelled(p)
	change := 0
	if driven {
		most := int64(0)
		for j := range min(p.Comps, 3) {
			most = max(most, abs(b.vals[b.at[b.vel]+j]-b.base[b.at[b.vel]+j]))
		}
		change = min(classOf(most, 1, changeCMS[3:7], b.steps(b.vel)/100), 4) / 2
	}
	for j := range p.Comps {
		at := b.at[p] + j
		c := component{p: p, at: at, name: fmt.Sprintf("%s.%d", p.Name, j)}
		m := int64(0)
		if j < 3 {
			m = d[j]
		}
		model, context, octave := "", 0, 0.0
		drift := m * b.age
		want := b.base[at]
		yes := func(n int) int {
			if known {
				return n
			}
			return 0
		}
		switch {
		case p.Class == schema.Vel && !b.obs:
			model = "own-speed"
			if known {
				context = 1 + min(bits.Len64(uint64(abs(m)*b.age/b.gap)), 22)
			}
			context += old * 24
			c.neg = m < 0
		case p.Class == schema.Vel:
			if model = "speed"; j == 2 {
				model = "climb"
			}
			context = (both*11+yes(1+classOf(m, b.gap, pushCMS, per/rate)))*8 + speedOf[b.level(p)]
			c.neg = m < 0
			octave = 1 / per
		case driven:
			v, w := b.base[b.at[b.vel]+j], b.vals[b.at[b.vel]+j]
			c.neg = w < v
			drift = 0
			before, after := b.age, b.age
			if model = "level-driven"; j == 2 {
				model = "height-driven"
			}
			if context = (old*10+classOf(w-v, 1, changeCMS, b.steps(b.vel)/100))*3 + change; !b.obs {
				model, context = "own-place", old*24+min(bits.Len64(uint64(abs(w-v))), 23)
				before, after = b.age-1, b.age+1
			}
			cut := func(v int64) int64 { return min(max(v, -1<<24), 1<<24) }
			want += ((cut(v)*before+cut(w)*after)*b.ratio(p) + 1<<20) >> 21
			octave = 1 / per
		case p.Class == schema.Pos && j == 2:
			model = "height"
			v := 0
			if known {
				if v = 10 + classOf(m, b.gap, heightCMS, per/rate); m < 0 {
					v = 10 - classOf(m, b.gap, heightCMS, per/rate)
				}
			}
			context = (both*20+v)*3 + coarseOf[b.level(p)]
			octave = 1 / per
		case p.Class == schema.Pos:
			model = "level"
			rising := 0
			if known && p.Comps > 2 && d[2] != 0 {
				rising = 1 + min(classOf(d[2], b.gap, heightCMS[2:4], per/rate), 1)
			}
			context = (both*15+b.level(p))*3 + rising
			c.neg = m < 0
			octave = 1 / per
		case p.Class == schema.Angle || p.Class == schema.View:
			c.turn = turn(p, b.obs)
			if m = ((m % c.turn) + c.turn) % c.turn; 2*m > c.turn {
				m -= c.turn
			}
			drift = m * b.age
			model = "turning"
			context = (both*13+yes(1+classOf(m, b.gap, turnDegS, float64(c.turn)/360/rate)))*4 + b.mover
			c.neg = m < 0
			octave = 256 / float64(c.turn)
		default:
			model = "figure"
			if known {
				context = 1 + min(bits.Len64(uint64(abs(m)*b.age/b.gap)), 14)
			}
			context += both * 16
			c.neg = m < 0
			octave = 1
		}
		o := 4
		if !strings.HasPrefix(model, "own") {
			f, e := math.Frexp(octave)
			if o += e - 1; f >= 0.75 {
				o++
			}
		}
		c.raw = max(-o, 0)
		o = min(max(o, 0), 12)
		t := b.tables[model]
		code := t.octaves[o][t.context[context]-'A'] - 'A'
		c.lengths, c.zero = t.codes[code], t.zero[code]
		num, den := drift*int64(t.damp[context]-'0'), 8*max(b.gap, 1)
		switch {
		case num < 0:
			want -= (-num + den/2) / den
		case num > 0:
			want += (num + den/2) / den
		}
		c.want = want
		list = append(list, c)
	}
	return list
}

// cast says which components are left out of a body.
func cast(list []component, led bool) (lead int, asked bool) {
	lead = -1
	for j := range list {
		list[j].role = "loud"
		if list[j].raw == 0 && list[j].zero >= 160 {
			list[j].role = "quiet"
		} else if lead < 0 && led {
			lead = j
		}
	}
	all, left := 256, 0
	for j := range list {
		if list[j].role == "quiet" {
			if n := all * list[j].zero / 256; lead >= 0 && n >= 240 {
				all = n
				list[j].role = "silent"
			} else {
				left++
			}
		}
	}
	if asked = left > 1 || led && lead < 0; !asked {
		for j := range list {
			if list[j].role == "quiet" {
				list[j].role = "loud"
			}
		}
	}
	return lead, asked
}

func (d *dissector) put(b *bodyOf, c *component, diff int64, told bool) {
	if c.neg {
		diff = -diff
	}
	v := c.want + diff
	switch {
	case c.turn > 0:
		v = ((v % c.turn) + c.turn) % c.turn
	case b.obs:
		v = int64(int32(v))
	}
	b.vals[c.at] = v
	if told {
		d.note("%s %d, %+d from what is expected", c.name, v, v-c.want)
	} else {
		d.note("%s %d, as expected", c.name, v)
	}
}

func (d *dissector) take(c *component) (diff int64, other bool) {
	if diff, other = d.coded(c.lengths); !other {
		diff = diff<<c.raw | int64(d.r.Bits(c.raw))
	}
	return diff, other
}

// changed reads body of a record that is a difference.
func (d *dissector) changed(k *schema.Kind, obs bool, props []*schema.Prop, base, prior []int64, age, gap clock.Tick) []int64 {
	if d.tables == nil {
		var err error
		if d.tables, err = readTables("../../schema/tables.txt"); err != nil {
			d.t.Fatal(err)
		}
	}
	b := &bodyOf{k: k, obs: obs, at: map[*schema.Prop]int{}, base: base, prior: prior, age: min(int64(age), 1<<10), gap: min(int64(gap), 1<<10), tables: d.tables}
	if prior == nil {
		b.gap = 1
	}
	b.vals = append([]int64(nil), base...)
	at := 0
	for _, p := range props {
		b.at[p] = at
		at += p.Comps
	}
	for _, class := range []schema.Class{schema.Vel, schema.Pos} {
		for _, p := range props {
			if p.Class == class {
				b.props = append(b.props, p)
			}
		}
	}
	if len(b.props) > 0 && b.props[0].Class == schema.Vel {
		b.vel = b.props[0]
	}
	for _, p := range props {
		if p.Class != schema.Vel && p.Class != schema.Pos {
			b.props = append(b.props, p)
		}
	}
	var alone, driven []component
	usual := false
	for i, p := range b.props {
		if i == 0 && (p.Class == schema.Vel || p.Class == schema.Pos) {
			if l := b.level(p); l > 0 {
				b.mover = 1 + coarseOf[l]
			}
		}
		if m, dr := b.modelled(p); m && !dr {
			usual = true
			alone = append(alone, b.components(p)...)
		}
	}
	if !usual {
		d.some(b, props)
		return b.vals
	}
	lead, asked := cast(alone, true)
	quietTold, silentTold := true, false
	if asked {
		quietTold = d.r.Bits(1) == 0
		d.note("quiet components as expected: %v", !quietTold)
	}
	first := lead
	if lead < 0 && quietTold {
		first = 0
	}
	diff, other := int64(0), false
	if first >= 0 {
		if diff, other = d.take(&alone[first]); other {
			if lead >= 0 && d.r.Bits(1) == 0 {
				d.note("silent components follow")
				silentTold = true
				diff, other = d.take(&alone[first])
			} else {
				d.note("other properties than usual")
				d.some(b, props)
				return b.vals
			}
		}
		d.put(b, &alone[first], diff, true)
	}
	for j := range alone {
		c := &alone[j]
		told := c.role == "loud" || c.role == "quiet" && quietTold || c.role == "silent" && silentTold
		if j == first {
			continue
		}
		if diff = 0; told {
			if diff, other = d.take(c); other {
				d.t.Fatal("other")
			}
		}
		d.put(b, c, diff, told)
	}
	for _, p := range b.props {
		if _, dr := b.modelled(p); dr {
			driven = append(driven, b.components(p)...)
		}
	}
	_, asked = cast(driven, false)
	quietTold = true
	if asked {
		quietTold = d.r.Bits(1) == 0
		d.note("quiet components as expected: %v", !quietTold)
	}
	for j := range driven {
		c := &driven[j]
		told := c.role == "loud" || quietTold
		if diff = 0; told {
			if diff, other = d.take(c); other {
				d.t.Fatal("other")
			}
		}
		d.put(b, c, diff, told)
	}
	return b.vals
}

// set reads which of the properties follow.
func (d *dissector) set(props []*schema.Prop) map[*schema.Prop]bool {
	set := map[*schema.Prop]bool{}
	if len(props) > 1 && d.r.Bits(1) == 1 {
		n := d.r.Bits(bits.Len(uint(len(props) - 1)))
		set[props[n]] = true
		d.note("one property: %s", props[n].Name)
		return set
	}
	var names []string
	for _, p := range props {
		if set[p] = d.r.Bits(1) == 1; set[p] {
			names = append(names, p.Name)
		}
	}
	d.note("properties: %s", strings.Join(names, " "))
	return set
}

// some reads a set of properties and their differences.
func (d *dissector) some(b *bodyOf, props []*schema.Prop) {
	set := d.set(props)
	order := b.props
	for _, p := range order {
		if !set[p] {
			continue
		}
		if m, _ := b.modelled(p); m {
			for _, c := range b.components(p) {
				diff, other := d.take(&c)
				if other {
					d.t.Fatal("other")
				}
				d.put(b, &c, diff, true)
			}
			continue
		}
		var line []int64
		for c := range p.Comps {
			if p.Ref && b.obs && c > 0 {
				continue
			}
			at := b.at[p] + c
			b.vals[at] = d.difference(p, b.base[at], b.obs)
			line = append(line, b.vals[at])
		}
		d.note("%s %v", p.Name, line)
	}
}

// whole reads a body whose values are written by themselves. What does not follow is as it was, or zero.
func (d *dissector) whole(obs bool, props []*schema.Prop, old []int64) []int64 {
	set := d.set(props)
	n := 0
	at := map[*schema.Prop]int{}
	for _, p := range props {
		at[p] = n
		n += p.Comps
	}
	vals := make([]int64, n)
	copy(vals, old)
	for _, first := range []bool{true, false} { // velocities, then places, then the others
		for _, class := range []schema.Class{schema.Vel, schema.Pos} {
			for _, p := range props {
				is := p.Class == class
				if !first {
					is = class == schema.Vel && p.Class != schema.Vel && p.Class != schema.Pos
				}
				if !is || !set[p] {
					continue
				}
				var line []int64
				for c := range p.Comps {
					if !p.Ref || !obs || c == 0 {
						vals[at[p]+c] = d.alone(p, obs, d.h.Tick)
						line = append(line, vals[at[p]+c])
					}
				}
				d.note("%s %v", p.Name, line)
			}
		}
	}
	return vals
}

// everything is a kind with every model: places with and without a velocity, angles, and what has none.
type everything struct {
	Pos    geom.Vec3  `net:"pos,others=1cm"`
	Vel    geom.Vec3  `net:"vel,others=2cm/s"`
	Eye    geom.Vec2  `net:"pos,1mm,others=5mm"`
	Aim    geom.Angle `net:"angle,12bit,others=1deg"`
	Heat   float64    `net:"float,0.1,group=0"`
	Charge int        `net:"int,0..100,group=0"`
	Flag   geom.Vec3  `net:"pos,1cm,others=8cm,group=1"`
	Turn   geom.Angle `net:"angle,16bit,others=10bit,group=1"`
	Alone  geom.Angle `net:"angle,8bit,group=2"`
	Name   string     `net:"text,8,group=2"`
	Ammo   int        `net:"int,0..9,to=owner"`
}

// A reader that was written from the document reads what package schema writes.
func TestBodies(t *testing.T) {
	doc, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	d := newDissector(t, string(doc))
	for _, rate := range []int{20, 60} {
		k, err := schema.New("everything", reflect.TypeFor[everything](), rate)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, uint64(rate)))
		for n := range 30_000 {
			g := r.IntN(len(k.Groups) + 1)
			props := owned(k)
			obs := g < len(k.Groups)
			if obs {
				props = groups(k)[g]
			} else {
				g = schema.OwnerGroup
			}
			states := [3][]int64{} // the state before, the baseline, the record
			wide := r.IntN(4) == 0
			for i := range states {
				for _, p := range props {
					for c := range p.Comps {
						v := int64(0)
						if i > 0 {
							v = states[i-1][len(states[i])]
						}
						if i == 0 || r.IntN(3) > 0 {
							v += (r.Int64N(2001) - 1000) >> r.IntN(11) << r.IntN(1+16*r.IntN(2))
						}
						if wide && r.IntN(4) == 0 {
							v = r.Int64() >> (16 + r.IntN(48))
						}
						switch {
						case p.Class == schema.Angle:
							tn := turn(p, obs)
							v = ((v % tn) + tn) % tn
						case p.Class == schema.Int:
							v = min(max(v, p.Min), p.Max)
						case p.Class == schema.Text:
							v = int64(uint32(v) & 0x7f7f7f7f)
							if obs {
								v = int64(int32(v))
							}
						case obs:
							v = int64(int32(v))
						}
						_ = c
						states[i] = append(states[i], v)
					}
				}
			}
			age, gap := clock.Tick(1+r.IntN(127)>>r.IntN(7)), clock.Tick(1+r.IntN(62)>>r.IntN(6))
			prior := states[0]
			if r.IntN(4) == 0 {
				prior, gap = nil, 0
			}
			set, at := uint64(0), 0
			for i := range k.Props {
				for _, p := range props {
					if p == &k.Props[i] && !slices.Equal(states[1][at:at+p.Comps], states[2][at:at+p.Comps]) {
						set |= 1 << i
					}
				}
				if slices.Contains(props, &k.Props[i]) {
					at += k.Props[i].Comps
				}
			}
			var w wire.BitWriter
			w.Reset(nil)
			schema.AppendBody(&w, k, g, states[2], &schema.Base[int64]{Vals: states[1], Prior: prior, Age: age, Gap: gap}, set, 500)
			size := w.Len()
			d.at = 0
			d.b.Reset()
			d.r.Reset(w.Bytes())
			d.body = strings.Repeat("0", len(w.Bytes())*8)
			got := d.changed(k, obs, props, states[1], prior, age, gap)
			if !slices.Equal(got, states[2]) {
				t.Fatalf("record %d, group %d, age %d, gap %d, after %d, %d: %d is read as %d\n%s", n, g, age, gap, states[0], states[1], states[2], got, d.b.String())
			}
			if read := len(d.body) - d.r.Left(); read != size {
				t.Fatalf("record %d has %d bits, %d were read\n%s", n, size, read, d.b.String())
			}
		}
	}
}
