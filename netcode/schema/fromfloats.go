package schema

import (
	"math"

	"meanwhile/geom"
)

// FromFloats is AppendExact's way back, for commands that a page makes: it rounds numbers, in order of properties and
// components, onto the simulation grid and into what the schema allows. src and dst hold Floats numbers. Whatever src holds,
// infinities and NaN too, dst is what Extract could have made. Texts become empty.
func (k *Kind) FromFloats(src []float64, dst []int64) {
	for i := range k.Props {
		q := &k.Props[i]
		in, out := src[q.At:q.At+q.Comps], dst[q.At:q.At+q.Comps]
		switch q.Class {
		case Stick:
			q.stick(in[0], in[1], out)
		case Angle:
			out[0] = round(float64(in[0] / twoPi * q.Sim))
		case View:
			q.view(in[0], in[1], out)
		case Quat:
			base, m := quatScale(q.Sim, 1)
			roundQuat(upQuat(in), base, m, out)
		case Bytes:
			for c := range out {
				out[c] = round(in[c])
			}
		case Bool, Press:
			out[0] = 0
			if in[0] != 0 && in[0] == in[0] {
				out[0] = 1
			}
		case Int, Enum:
			out[0] = round(in[0])
		case Tick, Handle:
			out[0] = clamp(round(in[0]), 0, math.MaxUint32)
		case Text:
			clear(out)
		default:
			for c := range out {
				out[c] = round(float64(in[c] * q.Sim))
			}
		}
	}
	k.Clamp(dst)
}

// FromExact gives the drawn values (1/SubSteps) of the places, rotations and handles among numbers as AppendExact makes them, for what
// is relative to an entity of which only those are known. All else becomes 0. src holds Floats numbers, dst Obs integers.
func (k *Kind) FromExact(src []float64, dst []int64) {
	for i := range k.Props {
		q := &k.Props[i]
		if q.ObsAt < 0 {
			continue
		}
		in, out := src[q.At:q.At+q.Comps], dst[q.ObsAt:q.ObsAt+q.Comps]
		clear(out)
		switch q.Class {
		case Pos:
			for c := range out {
				out[c] = round(float64(in[c] * float64(q.Obs*SubSteps)))
			}
		case Angle, View:
			for c := range out {
				out[c] = wrap(round(float64(in[c]/twoPi*float64(q.Turn*SubSteps))), q.Turn*SubSteps)
			}
		case Quat:
			base, m := q.QuatScale()
			roundQuat(upQuat(in), base, m, out)
		case Handle:
			out[0] = clamp(round(in[0]), 0, math.MaxUint32) * SubSteps
		}
	}
}

// upQuat is upright's way back.
func upQuat(v []float64) geom.Quat {
	n := float64(v[0]*v[0]) + float64(v[1]*v[1]) + float64(v[2]*v[2])
	return geom.Quat{W: math.Sqrt(max(1-n, 0)), X: v[0], Y: v[1], Z: v[2]}
}
