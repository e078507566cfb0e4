package codec

// An Expectation is what is expected of one component, for those who make tables.
type Expectation struct {
	Model   Model
	Context int
	Octave  int   // its index in tables, 0 for the finest
	Raw     int   // low bits of the difference that are written as they are
	Base    int64 // the value in the baseline, or where its velocity leads
	Neg     bool  // the difference changes its sign before it is coded
	Turn    int64 // steps of a turn; 0: not an angle

	drift int64 // by how much it changed before; a damping says how much of that goes on
	from  *contexts
}

// Value is the value that is expected with a damping of so many eighths.
func (e *Expectation) Value(eighths int64) int64 { return e.Base + e.from.damped(e.drift, eighths) }

// Expect calls f for each component of group g that has a model, with what is expected of it, its
// number among the group's integers and its value in cur.
func Expect[T int32 | int64](c *Coder, g int, cur []T, base *Base[T], f func(e *Expectation, at int, v T)) {
	b := &c.groups[g]
	var s contexts
	var ps parts
	s.see(b, base.Age, base.Gap, base.Prior != nil)
	for _, i := range b.order {
		m := &b.members[i]
		if m.model == noModel {
			continue
		}
		ps.n = 0
		expect(&ps, &s, []*member{m}, base, cur)
		for j := range m.n {
			p, at := &ps.list[j], m.at+j
			e := Expectation{
				Model: m.model, Context: s.context[j], Octave: m.octave, Raw: m.raw, Turn: m.turn,
				Base: int64(base.Vals[at]), drift: s.d[j], from: &s, Neg: p.minus != 0,
			}
			if m.vel >= 0 {
				e.Base, e.drift = p.want, 0
			}
			if j == 2 {
				e.Model = m.model.ofThird()
			}
			f(&e, at, cur[at])
		}
	}
}

// Difference returns what is coded of v with a damping of so many eighths, raw bits included.
func Difference[T int32 | int64](e *Expectation, v T, eighths int64) int64 {
	t := octaveTable{turn: e.Turn}
	if !wide[T]() {
		t.narrow = 32
	}
	return t.difference(int64(v), e.Value(eighths), -int64(bit(e.Neg)))
}

// Damping returns the eighths that the Coder's tables choose.
func (c *Coder) Damping(e *Expectation) int64 {
	return int64(c.tables.models[e.Model].choices[e.Context] >> 8)
}
