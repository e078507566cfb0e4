package codec

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

// Value is the value that is expected with a damping of eighths.
func (q *Guess) Value(eighths int64) int64 { return q.Base + q.sight.damped(q.drift, eighths) }

// Guesses calls f with what is expected of each component that has a model, for those who make tables: its number among the group's
// integers, and its value.
func Guesses[T int32 | int64](coder *Coder, g int, cur []T, base *Base[T], f func(e *Guess, at int, v T)) {
	b := &coder.groups[g]
	var s sight
	var ps parts
	s.see(b, base.Age, base.Gap, base.Prior != nil)
	for _, i := range b.order {
		if b.members[i].model == noModel {
			continue
		}
		c := &b.members[i]
		ps.n = 0
		look(&ps, &s, []*member{c}, base, cur)
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

// Damping returns the eighths by which the tables damp what is guessed.
func (c *Coder) Damping(e *Guess) int64 {
	return int64(c.tables.models[e.Model].choices[e.Context] >> 8)
}
