// Package protocol reads datagrams by docs/PROTOCOL.md and nothing else: it imports nothing of this
// module, and takes the code tables and the classes of values from the files that the document
// names. It is what a client in another language would be, without any haste: tests hold the
// document to the code with it.
package protocol

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// OwnerGroup is the number that a Reader gives to an owner's record, which is of no group.
const OwnerGroup = 4

// Slots is how many slots there are.
const Slots = 512

// A State is what a record said.
type State struct {
	Tick, Cut, Start int64
	Rest             bool
	Bound, Level     int
	Vals             []int64
}

// An Entity is what a slot holds.
type Entity struct {
	ID, Kind int
	Exact    bool // its records are owner's records
	Mine     bool
	Spawned  int64 // tick of the client's command that spawned it, 0: none
	Number   int64 // which of the entities that the command spawned
	Since    int64
	Alive    bool
	Groups   [OwnerGroup + 1]Group
}

// A Group has states by rising tick.
type Group struct {
	States []State
	forgot int64
}

func (g *Group) at(tick int64) *State {
	for i := range g.States {
		if g.States[i].Tick == tick {
			return &g.States[i]
		}
	}
	return nil
}

// before returns the newest state before a tick that both sides agree on.
func (r *Reader) before(g *Group, tick int64) (s *State) {
	for i := range g.States {
		if g.States[i].Tick < tick && r.agreed(g.States[i].Tick) {
			s = &g.States[i]
		}
	}
	return s
}

type class struct {
	difference int // order; -1: by itself
	kind       string
	order      int
}

// A Reader keeps what a client would keep. Out, where set, gets a line about what each bit means.
type Reader struct {
	Schema   *Schema
	Period   int64 // nominal, of a tick, in nanoseconds; the welcome states tick 0, which began at 0
	Out      *strings.Builder
	Head     Header
	Slots    [Slots]*Entity
	Messages []Message // of the datagram down that was read last, in order of their numbers
	Spoken   []Message // of the datagram up that was read last, likewise
	Spawned  int64     // the newest command of which that datagram said that all it spawned is known

	gone       [Slots]int64
	tables     map[string]*codeTable
	classes    map[string]class
	data       []byte
	bits       bitReader
	noted      int
	sent       uint16                 // the client's newest datagram
	packets    []packet               // datagrams applied
	newestSeq  uint16                 // of those
	lines      []line                 // when ticks begin
	stated     *line                  // by the datagram at hand
	applied    map[int64]uint16       // by tick, the client's first datagram after it
	newest     int64                  // tick
	rode       map[int64]map[int]bool // slots of updates and first sights, by tick
	everything bool                   // all that was applied was acknowledged
	near       bool                   // the datagram names a viewer
	viewer     [3]int64
	ops        []func()
	reliable   reliableReader
	upward     reliableReader
}

var classRow = regexp.MustCompile(
	`(?m)^\| ([a-z, ]+) \| ([0-9]+|-) \| ` +
		`(signed|unsigned|bits|range|disc|ticks|words|rotation)[^|]*?(?:, order ([0-9]+))? \|`,
)

// NewReader returns a Reader that holds nothing. It takes the text of the document, for its table
// of classes, and that of the code tables.
func NewReader(document, tables string, s *Schema) (*Reader, error) {
	r := &Reader{
		Schema:  s,
		Period:  s.period(),
		classes: map[string]class{},
		applied: map[int64]uint16{},
		rode:    map[int64]map[int]bool{},
	}
	for _, m := range classRow.FindAllStringSubmatch(document, -1) {
		c := class{difference: -1, kind: m[3]}
		if m[2] != "-" {
			c.difference, _ = strconv.Atoi(m[2])
		}
		c.order, _ = strconv.Atoi(m[4])
		for _, name := range strings.Split(m[1], ", ") {
			r.classes[name] = c
		}
	}
	for _, list := range [][]*Kind{s.Kinds, s.Events, {s.Command}} {
		for _, k := range list {
			if k == nil {
				continue // a part of a schema
			}
			for i := range k.Props {
				if _, ok := r.classes[k.Props[i].Class]; !ok {
					return nil, fmt.Errorf("protocol: the document's table of classes lacks %s", k.Props[i].Class)
				}
			}
			if k.Tables != "" {
				return nil, fmt.Errorf("protocol: kind %s has tables of its own", k.Name)
			}
		}
	}
	var err error
	r.tables, err = readTables(tables)
	return r, err
}

// refusal is what a datagram is refused for.
type refusal struct{ error }

func refuse(format string, args ...any) { panic(refusal{fmt.Errorf("protocol: "+format, args...)}) }

func (r *Reader) caught(err *error) {
	if e := recover(); e != nil {
		why, ok := e.(refusal)
		if !ok {
			panic(e)
		}
		*err = why.error
	}
}

// A bitReader reads bits, the lowest of each byte first.
type bitReader struct {
	data []byte
	at   int
}

func (b *bitReader) bit() uint64 {
	if b.at >= 8*len(b.data) {
		refuse("cut short")
	}
	v := b.data[b.at/8] >> (b.at % 8) & 1
	b.at++
	return uint64(v)
}

func (b *bitReader) is() bool { return b.bit() == 1 }

func (b *bitReader) n(n int) (v uint64) {
	for i := range n {
		v |= b.bit() << i
	}
	return v
}

func (b *bitReader) unsigned(k int) int64 {
	e := 0
	for b.is() {
		if e++; e+k > 56 {
			refuse("a number of more than 56 bits")
		}
	}
	return int64(b.n(k+e) | 1<<(k+e) - 1<<k)
}

func (b *bitReader) signed(k int) int64 {
	if !b.is() {
		return 0
	}
	negative := b.is()
	if m := b.unsigned(k) + 1; negative {
		return -m
	} else {
		return m
	}
}

// note writes down what the bits since the last note mean.
func (r *Reader) note(format string, args ...any) {
	if r.Out == nil {
		return
	}
	var text strings.Builder
	for i := r.noted; i < r.bits.at; i++ {
		text.WriteByte('0' + r.bits.data[i/8]>>(i%8)&1)
	}
	r.noted = r.bits.at
	list := text.String()
	switch {
	case len(list) > 32:
		list = fmt.Sprintf("%s..(%d bits)", list[:16], len(list))
	case list == "":
		list = "-"
	}
	fmt.Fprintf(r.Out, "%-32s %s\n", list, fmt.Sprintf(format, args...))
}

// begin begins a datagram.
func (r *Reader) begin(data []byte) {
	r.data = slices.Clone(data)
	if r.Out != nil {
		for rest := data; len(rest) > 0; {
			n := min(len(rest), 24)
			fmt.Fprintf(r.Out, "%x\n", rest[:n])
			rest = rest[n:]
		}
		r.Out.WriteString("\n")
	}
	r.bits, r.noted = bitReader{data: data}, 0
}

// Down reads a datagram of a server, all of it or, with an error, none.
func (r *Reader) Down(data []byte) (err error) {
	defer r.caught(&err)
	if err := r.StartDown(data); err != nil {
		return err
	}
	b, tick := &r.bits, r.Head.Tick
	if _, twice := r.applied[tick]; twice || tick == 0 || r.newest-tick > 192 {
		refuse("a datagram of tick %d, after one of tick %d", tick, r.newest)
	}
	newest := tick
	if f := r.readFeedback(tick); r.Schema.Queued {
		newest = f.Ran
	}
	r.ops = r.ops[:0]
	r.entries()
	if r.Schema.Ahead {
		r.readSpawned(tick, newest)
	}
	if pad := -b.at & 7; pad > 0 {
		b.n(pad)
		r.note("padding")
	}
	r.Messages = r.Messages[:0]
	if rest := b.data[b.at/8:]; len(rest) > 0 {
		if r.Out != nil {
			fmt.Fprintf(r.Out, "%-32x reliable section\n", rest)
		}
		r.section(rest)
	}
	for _, op := range r.ops {
		op()
	}
	r.applied[tick], r.newest = r.sent+1, max(r.newest, tick)
	r.appliedDown()
	r.tellMessages()
	return nil
}

// A Feedback is what a datagram says of the client's commands.
type Feedback struct {
	Acked, Slack, Starved, Ran, Events int64
	HasSlack                           bool
	Receipts                           []Receipt
}

// A Receipt says how the server judged a command.
type Receipt struct {
	Tick, Reason, Target int64
	Same, Hit            bool
	At                   [3]int64
}

func (r *Reader) readReceipt(tick int64) (x Receipt) {
	b := &r.bits
	x.Tick = tick - b.signed(4)
	if x.Same = b.is(); x.Same {
		r.note("feedback: the command of tick %d hit what it claims", x.Tick)
		return x
	}
	x.Reason, x.Hit = int64(b.n(4)), b.is()
	if b.is() {
		x.Target = b.unsigned(7) + 1
		x.At = [3]int64{b.signed(10), b.signed(10), b.signed(10)}
	}
	r.note("feedback: of tick %d, reason %d, hit %v entity %d at %v cm", x.Tick, x.Reason, x.Hit, x.Target, x.At)
	return x
}

// Feedback reads the feedback of a datagram of a tick.
func (r *Reader) Feedback(tick int64, data []byte) (f Feedback, err error) {
	defer r.caught(&err)
	r.bits = bitReader{data: data}
	return r.readFeedback(tick), nil
}

func (r *Reader) readFeedback(tick int64) (f Feedback) {
	b := &r.bits
	if b.is() {
		f.Acked = tick - b.signed(4)
		r.note("feedback: commands arrived up to tick %d", f.Acked)
	} else {
		r.note("feedback: no command has arrived")
	}
	if f.HasSlack = b.is(); f.HasSlack {
		f.Slack = b.signed(5)
		r.note("feedback: the tightest new one was %d/16 ticks early", f.Slack)
	} else {
		r.note("feedback: no new one")
	}
	f.Starved = int64(b.n(4))
	r.note("feedback: %d ticks without a command, modulo 16", f.Starved)
	if r.Schema.Queued {
		if b.is() {
			f.Ran = tick - b.signed(3)
			r.note("feedback: the newest command that ran was of tick %d", f.Ran)
		} else {
			r.note("feedback: no command has run")
		}
	}
	if len(r.Schema.Events) > 0 {
		f.Events = int64(b.n(4))
		r.note("feedback: %d events by its commands, modulo 16", f.Events)
	}
	if r.Schema.Command.shoots() {
		for len(f.Receipts) < 4 && b.is() {
			f.Receipts = append(f.Receipts, r.readReceipt(tick))
		}
		r.note("feedback: %d receipts", len(f.Receipts))
	}
	return f
}

// Known reads what a datagram of a tick says of what it does not mention.
func (r *Reader) Known(tick, newest int64, data []byte) (settled bool, err error) {
	defer r.caught(&err)
	r.bits = bitReader{data: data}
	return r.readSpawned(tick, newest), nil
}

// readSpawned reads what the client may conclude from what the datagram does not say.
func (r *Reader) readSpawned(tick, newest int64) (settled bool) {
	r.Spawned = newest
	if r.bits.is() {
		r.note("settled")
		return true
	}
	if !r.bits.is() {
		r.Spawned = min(newest, max(tick-r.bits.unsigned(3), 1)-1)
	}
	r.note("not settled; what commands up to tick %d spawned is known", r.Spawned)
	return false
}

// Payload reads the payload of an event of a tick, whose properties are those of k.
func (r *Reader) Payload(k *Kind, tick int64, data []byte) (vals []int64, err error) {
	defer r.caught(&err)
	r.bits = bitReader{data: data}
	for i := range k.Props {
		for range k.Props[i].Comps {
			vals = append(vals, r.alone(&k.Props[i], false, tick))
		}
	}
	return vals, nil
}

// Entries reads the entries of a datagram of a tick, without a reliable section, where all before
// it was acknowledged.
func (r *Reader) Entries(tick int64, data []byte) (err error) {
	defer r.caught(&err)
	r.Head, r.everything = Header{Tick: tick}, true
	r.bits, r.noted, r.ops = bitReader{data: data}, 0, r.ops[:0]
	r.entries()
	for _, op := range r.ops {
		op()
	}
	return nil
}

// Value reads a value by itself, at a tick.
func (r *Reader) Value(p *Prop, observer bool, tick int64, data []byte) (v int64, size int, err error) {
	defer r.caught(&err)
	r.bits = bitReader{data: data}
	v = r.alone(p, observer, tick)
	return v, r.bits.at, nil
}

// Change reads a value as the difference from another.
func (r *Reader) Change(p *Prop, observer bool, from int64, data []byte) (v int64, size int, err error) {
	defer r.caught(&err)
	r.bits = bitReader{data: data}
	v = r.difference(p, from, observer)
	return v, r.bits.at, nil
}

// readViewer reads the place beside which near places are written.
func (r *Reader) readViewer() {
	if r.near = r.bits.is(); !r.near {
		r.note("no place is coded beside the viewer")
		return
	}
	var e *Entity
	var s *State
	named := ""
	if r.bits.is() {
		slot := r.bits.n(9)
		named = fmt.Sprintf(" in slot %d", slot)
		tick := r.Head.Tick - 1 - r.bits.unsigned(2)
		if e = r.Slots[slot]; e == nil || !e.Mine {
			refuse("a viewer in slot %d", slot)
		}
		if s = e.Groups[OwnerGroup].at(tick); s == nil {
			refuse("a viewer at tick %d, which is not held", tick)
		}
	} else {
		for _, o := range r.Slots {
			if o != nil && o.Alive && o.Mine && o.Since < r.Head.Tick {
				if e != nil {
					refuse("a viewer, and there are two")
				}
				e = o
			}
		}
		if e == nil {
			refuse("a viewer, and there is none")
		}
		if s = r.before(&e.Groups[OwnerGroup], r.Head.Tick); s == nil {
			refuse("a viewer of which nothing is held")
		}
	}
	at, ok := 0, false
	for _, p := range r.Schema.Kinds[e.Kind].members(OwnerGroup) {
		if ok = p.Class == "pos" && p.To == 0; ok {
			r.viewer = [3]int64{}
			for c := range p.Comps {
				r.viewer[c] = int64(math.Floor(float64(s.Vals[at+c]*1000) / p.Sim))
			}
			break
		}
		at += p.Comps
	}
	if !ok {
		refuse("a viewer without a place")
	}
	r.note("beside the viewer%s as of tick %d: %v mm", named, s.Tick, r.viewer)
}

// taken brings states into order.
func (g *Group) take(s State) {
	if s.Tick <= g.forgot || g.at(s.Tick) != nil {
		return
	}
	g.States = append(g.States, s)
	slices.SortFunc(g.States, func(a, b State) int { return int(a.Tick - b.Tick) })
	if len(g.States) > 400 { // more than may be named
		g.States = slices.Clone(g.States[100:])
	}
}

// record reads a record of group g, of which held has the states.
func (r *Reader) record(k *Kind, held *Group, g int, based, ordinary bool) State {
	b, tick := &r.bits, r.Head.Tick
	obs, name := g != OwnerGroup, fmt.Sprint("record of group ", g)
	if !obs {
		name = "its owner's record"
	}
	s := State{Tick: tick}
	alone := ""
	if based && !ordinary && k.later(g) && b.is() {
		based, alone = false, ", by itself"
	}
	var base, prior *State
	if based {
		var named bool
		base, prior, named = r.baseline(held, ordinary)
		before := int64(0)
		if prior != nil {
			before = prior.Tick
		}
		says := ""
		if named {
			says = ", as it says"
		}
		s.Bound, s.Level = base.Bound, base.Level
		r.note("%s, against tick %d, before it %d%s", name, base.Tick, before, says)
	} else {
		r.note("%s%s", name, alone)
	}
	ago := func() int64 {
		n := b.unsigned(3)
		if n >= tick {
			refuse("a tick before 1")
		}
		return tick - n
	}
	if !ordinary && k.moving(g) {
		if b.is() {
			jump, start := "", ""
			if b.is() {
				s.Cut = ago()
				jump = fmt.Sprint(", teleported at tick ", s.Cut)
			}
			if b.is() {
				s.Start = ago()
				start = fmt.Sprint(", moves since tick ", s.Start)
			}
			r.note("special%s%s", jump, start)
		} else {
			r.note("nothing special")
		}
		s.Rest = b.is()
		r.note("rests: %v", s.Rest)
	}
	if !ordinary && obs && k.paced() {
		still := " still"
		if b.is() {
			s.Bound, still = int(b.n(4)), ""
		}
		r.note("bound class %d%s", s.Bound, still)
	}
	if !ordinary && k.graded(g) {
		still := " still"
		if b.is() {
			if s.Level, still = int(b.n(2)), ""; s.Level > k.Levels {
				refuse("level %d of %d", s.Level, k.Levels)
			}
		}
		r.note("level %d%s", s.Level, still)
	}
	r.body(k, g, base, prior, &s)
	return s
}

// baseline finds what a record is a difference from, and the state before it.
func (r *Reader) baseline(held *Group, ordinary bool) (base, prior *State, named bool) {
	b, tick := &r.bits, r.Head.Tick
	if ordinary || !b.is() {
		if base = r.before(held, tick); base == nil {
			refuse("a baseline, and nothing is held")
		}
		if prior = r.before(held, base.Tick); prior != nil && tick-prior.Tick > 63 {
			prior = nil
		}
		return base, prior, false
	}
	age := b.unsigned(3) + 1
	gap := b.unsigned(2)
	if gap > 63 {
		refuse("a state %d ticks before the baseline", gap)
	}
	if base = held.at(tick - age); base == nil {
		refuse("a baseline of tick %d, which is not held", tick-age)
	}
	if gap > 0 {
		if prior = held.at(base.Tick - gap); prior == nil {
			refuse("a state of tick %d before the baseline, which is not held", base.Tick-gap)
		}
	}
	return base, prior, true
}

// body reads the values of a record.
func (r *Reader) body(k *Kind, g int, base, prior *State, s *State) {
	obs, props := g != OwnerGroup, k.members(g)
	level := s.Level
	var old, older []int64
	if base != nil {
		old = k.coarsened(props, base.Vals, level)
	}
	if prior != nil && s.Cut == 0 && base.Cut <= prior.Tick {
		older = k.coarsened(props, prior.Vals, level)
	}
	if level > 0 {
		props, old, older = atLevel(props, level), shrunk(props, old, level), shrunk(props, older, level)
	}
	c := coding{kind: k, obs: obs, props: props, at: places(props)}
	if base != nil && s.Tick-base.Tick < 128 {
		c.base, c.prior, c.age = old, older, s.Tick-base.Tick
		if older != nil {
			c.gap = base.Tick - prior.Tick
		}
		s.Vals = r.changed(&c)
	} else {
		s.Vals = r.whole(&c, old)
	}
	if level > 0 {
		s.Vals = grown(k.members(g), s.Vals, level)
	}
}

// places says where the integers of each property begin.
func places(props []*Prop) map[string]int {
	at, n := map[string]int{}, 0
	for _, p := range props {
		at[p.Name] = n
		n += p.Comps
	}
	at[""] = n
	return at
}

func (r *Reader) class(p *Prop, obs bool) class {
	if p.Ref && obs {
		return r.classes["ref"]
	}
	return r.classes[p.Class]
}

// finer is how much higher orders are in simulation precision.
func finer(p *Prop, obs bool) (n int) {
	if obs || p.angle() {
		return 0
	}
	for q := p.Sim / p.Obs; q >= 2 && n < 40; q /= 2 {
		n++
	}
	return n
}

func width(most int64) int { return bits.Len64(uint64(most)) }

// alone reads a value by itself.
func (r *Reader) alone(p *Prop, obs bool, tick int64) int64 {
	b, c := &r.bits, r.class(p, obs)
	kind := c.kind
	if p.bounded() {
		kind = "range"
	}
	var v int64
	switch kind {
	case "signed":
		order := c.order
		if p.lower > 0 {
			order = max(order-p.lower, 2)
		}
		return b.signed(order + finer(p, obs))
	case "unsigned":
		v = b.unsigned(c.order)
	case "bits":
		if p.angle() {
			v = int64(b.n(width(p.turn(obs) - 1)))
			if v >= p.turn(obs) {
				refuse("an angle of %d", v)
			}
			return v
		}
		v = int64(b.n(1))
	case "range":
		least, most := p.Min, p.Max
		if obs {
			least, most = p.obsMin, p.obsMax
		}
		if v = least + int64(b.n(width(most-least))); v > most {
			refuse("%d beyond %d", v, most)
		}
		return v
	case "rotation":
		per := int64(p.steps(obs))
		return int64(b.n(width(per))) - (per/2 - 1)
	case "disc":
		return int64(b.n(width(2*int64(p.Sim)))) - int64(p.Sim)
	case "ticks":
		if !b.is() {
			v = int64(uint32(tick + b.signed(c.order)))
		}
	case "words":
		v = int64(b.n(8 * p.bytes()))
	}
	if obs {
		v = int64(int32(v))
	}
	return v
}

// difference reads a value as the difference from another.
func (r *Reader) difference(p *Prop, before int64, obs bool) int64 {
	c := r.class(p, obs)
	if c.difference < 0 {
		return r.alone(p, obs, 0)
	}
	d := r.bits.signed(c.difference + finer(p, obs))
	switch {
	case p.angle():
		t := p.turn(obs)
		return ((before+d)%t + t) % t
	case p.Class == "tick" || p.Class == "handle":
		before = int64(uint32(int64(uint32(before)) + d))
		if d = 0; obs {
			before = int64(int32(before))
		}
	}
	return before + d
}

// Reliable messages that are no events.
const textMessage = 255

func (r *Reader) tellMessages() {
	if r.Out == nil {
		return
	}
	for _, m := range r.Messages {
		if m.Kind == textMessage {
			fmt.Fprintf(r.Out, "%-32x text %d is %q\n", m.Body, binary.LittleEndian.Uint16(m.Body), m.Body[2:])
			continue
		}
		if m.Kind >= firstMessage {
			s, err := r.Say(m, false)
			fmt.Fprintf(
				r.Out,
				"%-32x message %s of tick %d from entity %d: %d %q, %v %q %v\n",
				m.Body,
				s.Name,
				m.Tick,
				m.Entity,
				s.Call,
				s.Refusal,
				s.Vals,
				s.Texts,
				err,
			)
			continue
		}
		k := r.Schema.Events[m.Kind]
		fmt.Fprintf(r.Out, "%-32x event %s of tick %d by entity %d", m.Body, k.Name, m.Tick, m.Entity)
		r.bits = bitReader{data: m.Body}
		for i := range k.Props {
			for range k.Props[i].Comps {
				fmt.Fprintf(r.Out, ", %s %d", k.Props[i].Name, r.alone(&k.Props[i], false, m.Tick))
			}
		}
		r.Out.WriteString("\n")
	}
}
