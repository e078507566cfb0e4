package schema

// Floats is how many numbers AppendDrawn and AppendExact give for a kind: its simulation integers.
func (k *Kind) Floats() int { return k.Sims }

// AppendDrawn appends the properties of drawn observer integers (1/SubSteps) as numbers, in order of
// properties and components: metres, metres per second, radians, integers as they are, texts in groups of four
// bytes. What observers do not receive is 0.
func (k *Kind) AppendDrawn(dst []float64, drawn []int64) []float64 {
	for i := range k.Props {
		q := &k.Props[i]
		for c := range q.Comps {
			v := 0.0
			if q.ObsAt >= 0 {
				switch d := drawn[q.ObsAt+c]; {
				case q.Class == Angle:
					v = turnToAngle(d, q.Turn*SubSteps)
				case q.Class == Tick || q.Class == Handle || q.Class == Text:
					v = float64(uint32(d >> 8))
				case q.Class == Pos || q.Class == Vel || q.Class == Float || q.Class == Stick:
					v = float64(d) / float64(q.Obs*SubSteps)
				default:
					v = float64(d >> 8)
				}
			}
			dst = append(dst, v)
		}
	}
	return dst
}

// AppendExact does the same for simulation integers, u/65536 of the way from a to b: places, velocities and
// angles in between, all else as in b. a may be nil.
func (k *Kind) AppendExact(dst []float64, a, b []int64, u int64) []float64 {
	for i := range k.Props {
		q := &k.Props[i]
		for c := q.At; c < q.At+q.Comps; c++ {
			from, to := b[c], b[c]
			if a != nil {
				from = a[c]
			}
			part := float64(u) / 65536
			switch {
			case q.Audience == Server:
				dst = append(dst, 0)
			case q.Class == Angle:
				d := wrap(to-from, q.SimTurn)
				if 2*d > q.SimTurn {
					d -= q.SimTurn
				}
				dst = append(dst, float64((float64(from)+float64(float64(d)*part))/q.Sim*twoPi))
				if v := &dst[len(dst)-1]; *v > twoPi/2 {
					*v -= twoPi
				}
			case q.Class == Pos || q.Class == Vel || q.Class == Float:
				dst = append(dst, (float64(from)+float64(float64(to-from)*part))/q.Sim)
			case q.Class == Stick:
				dst = append(dst, float64(to)/q.Sim)
			default:
				dst = append(dst, float64(to))
			}
		}
	}
	return dst
}
