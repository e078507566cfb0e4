package schema

import (
	"math/bits"

	"meanwhile/netcode/wire"
)

// A code is how one component of a property is written in one precision: by itself, and as a
// difference.
type code struct {
	form        form
	least, most int64 // where it is bounded
	bits        int   // of such a value
	alone       int   // order of the code of a value that is not
	delta       int   // order of the code of a difference
	turn        int64 // differences go round this the short way; 0: they do not
	whole       bool  // there are no differences
	wide        bool  // of simulation integers, which may have more than 32 bits
}

// A form is how a value is written by itself.
type form uint8

const (
	signed     form = iota
	unsigned        // of 32 bits
	tickNumber      // beside the packet's tick; 0 apart
	reference       // a number that stands for a text
	bounded         // in as many bits as its range takes
)

// bound makes values ones of least to most.
func (c *code) bound(least, most int64) {
	c.form, c.least, c.most, c.bits = bounded, least, most, bits.Len64(uint64(most-least))
}

// maxFiner keeps the order of a code within what package wire writes.
const maxFiner = 40

// codeOf returns how the property is written on one of its grids.
func (p *Prop) codeOf(g *grid, wide bool) code {
	v := &classes[p.Class].values
	c := code{form: v.form, alone: v.alone, delta: v.delta, whole: v.whole, wide: wide}
	if wide && g.turn == 0 { // a difference has as many more bits in simulation precision
		finer := 0
		for r := p.Sim / p.Obs; r >= 2 && finer < maxFiner; r = float64(r / 2) {
			finer++
		}
		c.alone, c.delta = c.alone+finer, c.delta+finer
	}
	switch {
	case p.Ref && !wide:
		c.form, c.alone = reference, refOrder
	case g.turn > 0:
		c.bound(0, g.turn-1)
		c.turn = g.turn
	case g.most > 0:
		c.bound(-g.most, g.base+g.most)
	case p.ranged && wide:
		c.bound(p.Min, p.Max)
	case p.ranged:
		c.bound(observeOne(p, p.Min), observeOne(p, p.Max))
	case v.bits > 0:
		c.bound(0, 1<<v.bits-1)
	case p.field.width > 0:
		c.bound(0, 1<<(8*p.field.width)-1)
	}
	return c
}

// code returns how the property is written to observers, or to its owner.
func (p *Prop) code(obs bool) *code {
	if obs {
		return &p.others.code
	}
	return &p.own.code
}

// AppendAbsolute writes one component of the property by itself. obs says which precision v has;
// tick is the packet's tick, to which tick numbers are relative.
func (p *Prop) AppendAbsolute(w *wire.BitWriter, v int64, obs bool, tick int64) {
	p.code(obs).append(w, v, tick)
}

// ReadAbsolute reads what AppendAbsolute wrote.
func (p *Prop) ReadAbsolute(r *wire.BitReader, obs bool, tick int64) int64 {
	return p.code(obs).read(r, tick)
}

// AppendDelta writes a component as the difference from base.
func (p *Prop) AppendDelta(w *wire.BitWriter, v, base int64, obs bool) {
	c := p.code(obs)
	d := v - base
	switch {
	case c.whole:
		c.append(w, v, 0)
		return
	case c.turn > 0:
		if d = wrap(d, c.turn); 2*d > c.turn {
			d -= c.turn
		}
	case c.form == unsigned || c.form == tickNumber:
		d = int64(uint32(v)) - int64(uint32(base))
	}
	w.Varint(d, c.delta)
}

// ReadDelta reads what AppendDelta wrote against the same base.
func (p *Prop) ReadDelta(r *wire.BitReader, base int64, obs bool) int64 {
	c := p.code(obs)
	if c.whole {
		return c.read(r, 0)
	}
	d := r.Varint(c.delta)
	switch {
	case c.turn > 0:
		return wrap(base+d, c.turn)
	case c.form == unsigned || c.form == tickNumber:
		return c.fold(int64(uint32(int64(uint32(base)) + d)))
	case c.form == bounded:
		if v := base + d; v >= c.least && v <= c.most {
			return v
		}
		r.Fail()
		return c.least
	}
	return c.fold(base + d)
}

func (c *code) append(w *wire.BitWriter, v, tick int64) {
	switch c.form {
	case bounded:
		w.Bits(uint64(v-c.least), c.bits)
	case unsigned, reference:
		w.Uvarint(uint64(uint32(v)), c.alone)
	case tickNumber:
		w.Bool(v == 0)
		if v != 0 {
			w.Varint(int64(uint32(v))-tick, c.alone)
		}
	default:
		w.Varint(v, c.alone)
	}
}

func (c *code) read(r *wire.BitReader, tick int64) (v int64) {
	switch c.form {
	case bounded:
		if v = int64(r.Bits(c.bits)) + c.least; v > c.most {
			r.Fail()
		}
	case unsigned:
		v = int64(uint32(r.Uvarint(c.alone)))
	case reference:
		n := r.Uvarint(c.alone)
		if n >= MaxRefs {
			r.Fail()
			n = 0
		}
		v = int64(n)
	case tickNumber:
		if !r.Bool() {
			v = int64(uint32(r.Varint(c.alone) + tick))
		}
	default:
		v = r.Varint(c.alone)
	}
	return c.fold(v)
}

// fold brings a decoded value into the range that a history can have, so that garbage cannot put
// integers into a client that no server could have.
func (c *code) fold(v int64) int64 {
	if c.wide {
		return clamp(v, -MaxValue, MaxValue)
	}
	return int64(int32(v))
}
