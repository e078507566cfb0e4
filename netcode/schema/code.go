package schema

import "meanwhile/netcode/wire"

// AppendAbsolute writes one component of the property by itself. obs says which precision v has;
// tick is the packet's tick, to which tick numbers are relative.
func (q *Prop) AppendAbsolute(w *wire.BitWriter, v int64, obs bool, tick int64) {
	switch {
	case q.Ranged():
		least, most := q.bounds(obs)
		w.Bits(uint64(v-least), simBits(most-least+1))
	case q.SimTurn > 0 && !obs:
		w.Bits(uint64(v), simBits(q.SimTurn))
	case q.Class == Quat:
		base, m := q.quatScale(obs)
		w.Bits(uint64(v+m), simBits(base)+1)
	case q.Class == Stick:
		w.Bits(uint64(v+int64(q.Sim)), q.bits)
	case q.Ref && obs:
		w.Uvarint(uint64(uint32(v)), refK)
	case q.bits > 0:
		w.Bits(uint64(v)&(1<<uint(q.bits)-1), q.bits)
	case q.Class == Tick:
		w.Bool(v == 0)
		if v != 0 {
			w.Varint(int64(uint32(v))-tick, q.absK)
		}
	case q.Class == Handle:
		w.Uvarint(uint64(uint32(v)), q.absK)
	default:
		w.Varint(v, q.absK+q.finer(obs))
	}
}

// ReadAbsolute reads what AppendAbsolute wrote.
func (q *Prop) ReadAbsolute(r *wire.BitReader, obs bool, tick int64) int64 {
	var v int64
	switch {
	case q.Ranged():
		least, most := q.bounds(obs)
		if v = int64(r.Bits(simBits(most-least+1))) + least; v > most {
			r.Fail()
		}
	case q.SimTurn > 0 && !obs:
		if v = int64(r.Bits(simBits(q.SimTurn))); v >= q.SimTurn {
			r.Fail()
		}
	case q.Class == Quat:
		base, m := q.quatScale(obs)
		if v = int64(r.Bits(simBits(base)+1)) - m; v > base+m {
			r.Fail()
		}
	case q.SimTurn > 0:
		if v = int64(r.Bits(q.bits)); v >= q.Turn {
			r.Fail()
		}
	case q.Class == Stick:
		if v = int64(r.Bits(q.bits)) - int64(q.Sim); v > int64(q.Sim) {
			r.Fail()
		}
	case q.Ref && obs:
		n := r.Uvarint(refK)
		if n >= MaxRefs {
			r.Fail()
			n = 0
		}
		v = int64(n)
	case q.bits > 0:
		v = int64(r.Bits(q.bits))
	case q.Class == Tick:
		if !r.Bool() {
			v = int64(uint32(r.Varint(q.absK) + tick))
		}
	case q.Class == Handle:
		v = int64(uint32(r.Uvarint(q.absK)))
	default:
		v = r.Varint(q.absK + q.finer(obs))
	}
	return q.canonical(v, obs)
}

// AppendDelta writes a component as the difference from base.
func (q *Prop) AppendDelta(w *wire.BitWriter, v, base int64, obs bool) {
	d := v - base
	switch {
	case q.Class.whole():
		q.AppendAbsolute(w, v, obs, 0)
		return
	case q.SimTurn > 0:
		turn := q.turn(obs)
		if d = wrap(d, turn); 2*d > turn {
			d -= turn
		}
	case q.Class == Tick || q.Class == Handle:
		d = int64(uint32(v)) - int64(uint32(base))
	}
	w.Varint(d, q.k+q.finer(obs))
}

// ReadDelta reads what AppendDelta wrote against the same base.
func (q *Prop) ReadDelta(r *wire.BitReader, base int64, obs bool) int64 {
	if q.Class.whole() {
		return q.ReadAbsolute(r, obs, 0)
	}
	d := r.Varint(q.k + q.finer(obs))
	switch {
	case q.SimTurn > 0:
		return wrap(base+d, q.turn(obs))
	case q.Class == Tick || q.Class == Handle:
		return q.canonical(int64(uint32(int64(uint32(base))+d)), obs)
	case q.Class == Quat:
		turn, m := q.quatScale(obs)
		if v := base + d; v >= -m && v <= turn+m {
			return v
		}
		r.Fail()
		return 0
	case q.Ranged():
		least, most := q.bounds(obs)
		if v := base + d; v >= least && v <= most {
			return v
		}
		r.Fail()
		return least
	}
	return q.canonical(base+d, obs)
}

// MaxRefs bounds the numbers that stand for texts; 0 stands for none.
const MaxRefs = 4096

// refK is the order of the code of such a number: 7 bits up to 63.
const refK = 6

// WireComps returns how many integers of the property travel in a record.
func (q *Prop) WireComps(obs bool) int {
	if obs && q.Ref {
		return 1
	}
	return q.Comps
}

// canonical folds a decoded value into the range that the history holds, so that garbage cannot
// put integers into a client that no server could have.
func (q *Prop) canonical(v int64, obs bool) int64 {
	if !obs {
		return clamp(v, -MaxValue, MaxValue)
	}
	return int64(int32(v))
}

func (q *Prop) quatScale(obs bool) (base, m int64) {
	if obs {
		return quatScale(q.Obs, 1)
	}
	return quatScale(q.Sim, 1)
}

func (q *Prop) turn(obs bool) int64 {
	if obs {
		return q.Turn
	}
	return q.SimTurn
}

func simBits(turn int64) int {
	n := 0
	for v := turn - 1; v > 0; v >>= 1 {
		n++
	}
	return n
}

// maxFiner keeps the order of a code within what package wire writes.
const maxFiner = 40

// finer is how many more bits a difference has in simulation precision than in observer precision.
func (q *Prop) finer(obs bool) int {
	if obs || q.SimTurn > 0 {
		return 0
	}
	n := 0
	for r := q.Sim / q.Obs; r >= 2 && n < maxFiner; r /= 2 {
		n++
	}
	return n
}
