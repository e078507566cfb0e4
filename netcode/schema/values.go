package schema

import (
	"math"
	"reflect"
	"strings"
	"unicode/utf8"
	"unsafe"

	"meanwhile/geom"
)

// round gives the nearest integer, half a step upwards, within MaxValue; NaN becomes 0. The product with the steps per
// unit has at most two roundings by 2^-53 of a value below 2^48, so a value from the grid never ends half a step away.
func round(v float64) int64 {
	switch {
	case v != v:
		return 0
	case v >= MaxValue:
		return MaxValue
	case v <= -MaxValue:
		return -MaxValue
	}
	return int64(math.Floor(v + 0.5))
}

func wrap(v, turn int64) int64 {
	if turn&(turn-1) == 0 { // as most are
		return v & (turn - 1)
	}
	if v %= turn; v < 0 {
		v += turn
	}
	return v
}

const twoPi = 2 * math.Pi

// Extract writes the simulation integers of the struct at p into dst, which holds Sims of them.
func (k *Kind) Extract(p unsafe.Pointer, dst []int64) {
	for i := range k.Props {
		q := &k.Props[i]
		q.extract(unsafe.Add(p, q.offset), dst[q.At:q.At+q.Comps])
	}
}

func (q *Prop) extract(p unsafe.Pointer, dst []int64) {
	switch q.Class {
	case Pos, Vel, Spin:
		for c := range dst {
			dst[c] = round(float64(*(*float64)(unsafe.Add(p, c*8)) * q.Sim))
		}
	case View:
		q.view(*(*float64)(p), *(*float64)(unsafe.Add(p, 8)), dst)
	case Quat:
		base, m := quatScale(q.Sim, 1)
		roundQuat(*(*geom.Quat)(p), base, m, dst)
	case Stick:
		q.stick(*(*float64)(p), *(*float64)(unsafe.Add(p, 8)), dst)
	case Angle:
		dst[0] = wrap(round(float64(*(*float64)(p)/twoPi*q.Sim)), q.SimTurn)
	case Float:
		dst[0] = round(float64(*(*float64)(p) * q.Sim))
		if q.Ranged() {
			dst[0] = clamp(dst[0], q.Min, q.Max)
		}
	case Int, Enum:
		dst[0] = clamp(q.loadInt(p), q.Min, q.Max)
	case Bool, Press:
		dst[0] = 0
		if *(*bool)(p) {
			dst[0] = 1
		}
	case Tick, Handle:
		dst[0] = int64(*(*uint32)(p))
	case Text:
		packText(dst, *(*string)(p), int(q.Max))
	case Bytes:
		clear(dst)
		for i, b := range unsafe.Slice((*byte)(p), int(q.Max)) {
			dst[i/q.width] |= int64(b) << (8 * (i % q.width))
		}
	}
}

// view rounds a direction of sight; its pitch is kept as an angle too, down being the end of a turn.
func (q *Prop) view(yaw, pitch float64, dst []int64) {
	dst[0] = wrap(round(float64(yaw/twoPi*q.Sim)), q.SimTurn)
	dst[1] = wrap(clamp(round(float64(pitch/twoPi*q.Sim)), -q.SimTurn/4, q.SimTurn/4), q.SimTurn)
}

// packText writes s, four bytes to an integer, as Store gives it back: valid UTF-8 without zero bytes, cut between two
// characters where it is longer than most.
func packText(dst []int64, s string, most int) {
	clear(dst)
	n := 0
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		char := s[:size]
		s = s[size:]
		if r == 0 || r == utf8.RuneError && size == 1 {
			continue
		}
		if n+size > most {
			return
		}
		for i := range size {
			dst[n/4] |= int64(char[i]) << (8 * uint(n%4))
			n++
		}
	}
}

// unpackText writes the bytes of a packed text into b and returns how many there are, zeros left out.
func unpackText(b *[textBytes]byte, src []int64) (n int) {
	for _, v := range src {
		for j := range 4 {
			if ch := byte(v >> (8 * j)); ch != 0 {
				b[n] = ch
				n++
			}
		}
	}
	return n
}

const textBytes = (MaxText + 3) / 4 * 4

func clamp(v, lo, hi int64) int64 { return min(max(v, lo), hi) }

func (q *Prop) loadInt(p unsafe.Pointer) int64 {
	switch q.typ {
	case reflect.Int:
		return int64(*(*int)(p))
	case reflect.Int8:
		return int64(*(*int8)(p))
	case reflect.Int16:
		return int64(*(*int16)(p))
	case reflect.Int32:
		return int64(*(*int32)(p))
	case reflect.Int64:
		return *(*int64)(p)
	case reflect.Uint:
		return int64(min(*(*uint)(p), math.MaxInt32)) // no range ends beyond
	case reflect.Uint64:
		return int64(min(*(*uint64)(p), math.MaxInt32))
	case reflect.Uint8:
		return int64(*(*uint8)(p))
	case reflect.Uint16:
		return int64(*(*uint16)(p))
	}
	return int64(*(*uint32)(p))
}

func (q *Prop) storeInt(p unsafe.Pointer, v int64) {
	switch q.typ {
	case reflect.Int:
		*(*int)(p) = int(v)
	case reflect.Int8:
		*(*int8)(p) = int8(v)
	case reflect.Int16:
		*(*int16)(p) = int16(v)
	case reflect.Int32:
		*(*int32)(p) = int32(v)
	case reflect.Int64:
		*(*int64)(p) = v
	case reflect.Uint:
		*(*uint)(p) = uint(v)
	case reflect.Uint64:
		*(*uint64)(p) = uint64(v)
	case reflect.Uint8:
		*(*uint8)(p) = uint8(v)
	case reflect.Uint16:
		*(*uint16)(p) = uint16(v)
	default:
		*(*uint32)(p) = uint32(v)
	}
}

// Store writes simulation integers into the struct at p: the state as the rules see it, on the grid.
func (k *Kind) Store(p unsafe.Pointer, src []int64) {
	for i := range k.Props {
		q := &k.Props[i]
		q.store(unsafe.Add(p, q.offset), src[q.At:q.At+q.Comps])
	}
}

func (q *Prop) store(p unsafe.Pointer, src []int64) {
	switch q.Class {
	case Pos, Vel, Stick, Spin:
		for c := range src {
			*(*float64)(unsafe.Add(p, c*8)) = float64(src[c]) / q.Sim
		}
	case Angle, View:
		for c := range src {
			*(*float64)(unsafe.Add(p, c*8)) = turnToAngle(src[c], q.SimTurn)
		}
	case Quat:
		base, m := quatScale(q.Sim, 1)
		*(*geom.Quat)(p) = floatQuat(src, base, m)
	case Float:
		*(*float64)(p) = float64(src[0]) / q.Sim
	case Int, Enum:
		q.storeInt(p, src[0])
	case Bool, Press:
		*(*bool)(p) = src[0] != 0
	case Tick, Handle:
		*(*uint32)(p) = uint32(src[0])
	case Text:
		q.storeText(p, src)
	case Bytes:
		for i := range unsafe.Slice((*byte)(p), int(q.Max)) {
			*(*byte)(unsafe.Add(p, i)) = byte(src[i/q.width] >> (8 * (i % q.width)))
		}
	}
}

func (q *Prop) storeText(p unsafe.Pointer, src []int64) {
	var b [textBytes]byte
	n := unpackText(&b, src)
	if s := (*string)(p); *s != string(b[:n]) { // the comparison does not allocate
		*s = strings.ToValidUTF8(string(b[:n]), "")
	}
}

// turnToAngle maps 0..turn-1 to radians in (-pi, pi].
func turnToAngle(v, turn int64) float64 {
	if 2*v > turn {
		v -= turn
	}
	return float64(float64(v) / float64(turn) * twoPi)
}

// Observe derives the observer integers dst from the simulation integers src.
func (k *Kind) Observe(src []int64, dst []int32) {
	for i := range k.Props {
		q := &k.Props[i]
		if q.ObsAt < 0 {
			continue
		}
		for c := range q.Comps {
			v := q.observe(src[q.At+c])
			switch q.Class {
			case Tick, Handle, Text, Bytes:
				dst[q.ObsAt+c] = int32(uint32(v))
			default:
				dst[q.ObsAt+c] = int32(clamp(v, math.MinInt32, math.MaxInt32))
			}
		}
	}
}

// observe rounds a simulation integer to the observers' precision.
func (q *Prop) observe(v int64) int64 {
	switch {
	case q.Sim == q.Obs:
		return v
	case q.SimTurn > 0:
		return wrap((2*v*q.Turn+q.SimTurn)/(2*q.SimTurn), q.Turn)
	case q.Class == Quat:
		return q.observeQuat(v)
	}
	return round(float64(v) / (q.Sim / q.Obs))
}

// Coarsen rounds an observer integer to the precision of a level of the kind: to a multiple of 1<<Shift, half a step upwards and
// kept within 32 bits. What is a multiple stays as it is, so its lower bits need not be written.
func (q *Prop) Coarsen(v int32, level int) int32 {
	s := q.Shift[level]
	if s == 0 {
		return v
	}
	digit := int64(0)
	w, least, most := int64(v), int64(math.MinInt32), int64(math.MaxInt32)
	switch {
	case q.Class == Quat: // a component by itself, without what says which one is left out
		base, m := quatScale(q.Obs, 1)
		if w > base/2 {
			w, digit = w-base, base
		}
		least, most = -m, m
	case q.Ranged():
		w, digit, least, most = w-q.obsMin, q.obsMin, 0, q.obsMax-q.obsMin
	}
	w = (w + 1<<(s-1)) >> s
	w = clamp(w, -(-least>>s), most>>s) << s
	if q.Turn > 0 && w >= q.Turn {
		w = 0
	}
	return int32(w + digit)
}

// SubSteps is the resolution of drawn values: 1/256 of an observer step.
const SubSteps = 256

// StoreDrawn writes drawn values, observer integers in 1/SubSteps, into the struct at p. Properties that
// observers do not receive become zero.
func (k *Kind) StoreDrawn(p unsafe.Pointer, drawn []int64) {
	for i := range k.Props {
		q := &k.Props[i]
		f := unsafe.Add(p, q.offset)
		if q.ObsAt < 0 {
			var zero [8]int64
			q.store(f, zero[:q.Comps])
			continue
		}
		src := drawn[q.ObsAt : q.ObsAt+q.Comps]
		switch q.Class {
		case Pos, Vel, Stick, Spin:
			for c := range src {
				*(*float64)(unsafe.Add(f, c*8)) = float64(src[c]) / float64(q.Obs*SubSteps)
			}
		case Angle, View:
			for c := range src {
				*(*float64)(unsafe.Add(f, c*8)) = turnToAngle(src[c], q.Turn*SubSteps)
			}
		case Quat:
			base, m := q.QuatScale()
			*(*geom.Quat)(f) = floatQuat(src, base, m)
		case Float:
			*(*float64)(f) = float64(src[0]) / float64(q.Obs*SubSteps)
		default:
			var v [8]int64
			for c := range src {
				v[c] = src[c] >> 8
				switch q.Class {
				case Text, Tick, Handle, Bytes:
					v[c] &= math.MaxUint32
				}
			}
			q.store(f, v[:len(src)])
		}
	}
}

// stick rounds a direction, shortened to length 1 where it is longer.
func (q *Prop) stick(x, y float64, dst []int64) {
	if n := float64(x*x) + float64(y*y); n > 1 {
		n = math.Sqrt(n)
		x, y = x/n, y/n
	}
	dst[0], dst[1] = round(float64(x*q.Sim)), round(float64(y*q.Sim))
	q.intoDisc(dst)
}

// intoDisc brings a stick into its disc, in whole steps. Rounding may leave the disc by half a step, and sender
// and receiver must agree on what that becomes: doing it twice changes nothing.
func (q *Prop) intoDisc(s []int64) {
	m := int64(q.Sim)
	s[0], s[1] = clamp(s[0], -m, m), clamp(s[1], -m, m)
	if n2 := s[0]*s[0] + s[1]*s[1]; n2 > (m+2)*(m+2) { // no rounding of ours: shorten it, towards zero
		n := int64(math.Sqrt(float64(n2))) + 1
		s[0], s[1] = s[0]*m/n, s[1]*m/n
	}
	for s[0]*s[0]+s[1]*s[1] > m*m { // at most a few times
		big := 0
		if max(s[1], -s[1]) > max(s[0], -s[0]) {
			big = 1
		}
		if s[big] > 0 {
			s[big]--
		} else {
			s[big]++
		}
	}
}

// Clamp forces simulation integers that came from outside, v holding Sims of them, into what Extract could have made.
func (k *Kind) Clamp(v []int64) {
	for i := range k.Props {
		q := &k.Props[i]
		s := v[q.At : q.At+q.Comps]
		switch q.Class {
		case Angle:
			s[0] = wrap(s[0], q.SimTurn)
		case View:
			s[0] = wrap(s[0], q.SimTurn)
			if s[1] = wrap(s[1], q.SimTurn); 2*s[1] > q.SimTurn {
				s[1] -= q.SimTurn
			}
			s[1] = wrap(clamp(s[1], -q.SimTurn/4, q.SimTurn/4), q.SimTurn)
		case Quat:
			base, m := quatScale(q.Sim, 1)
			canonQuat(s, base, m)
		case Int, Enum:
			s[0] = clamp(s[0], q.Min, q.Max)
		case Bytes:
			for c := range s {
				s[c] &= 1<<(8*min(q.width, int(q.Max)-c*q.width)) - 1
			}
		case Bool, Press:
			s[0] &= 1
		case Tick, Handle:
			s[0] &= math.MaxUint32
		case Stick:
			q.intoDisc(s)
		case Text:
			var b [textBytes]byte
			n := unpackText(&b, s)
			packText(s, unsafe.String(&b[0], n), int(q.Max))
		default:
			least, most := int64(-MaxValue), int64(MaxValue)
			if q.Ranged() {
				least, most = q.Min, q.Max
			}
			for c := range s {
				s[c] = clamp(s[c], least, most)
			}
		}
	}
}
