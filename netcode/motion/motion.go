// Package motion draws recorded states: integer maths alone turns records and a playout time into
// drawn values. Client and server call the same functions with the same integers, so the server
// reproduces exactly what a client saw.
//
// Draw draws between two records, and from the newest record on for what is dead reckoned. Ahead
// extrapolates kinds that cannot be hit. Strays says when a dead reckoned property needs a new
// record. Attach moves a child to where its parent is drawn.
package motion

import (
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
)

// State is one record of one group as a client holds it: the values, and when things happened to
// them.
type State struct {
	Tick  clock.Tick // when the values were true
	Cut   clock.Tick // the newest teleport up to Tick, if it came after the baseline; or 0
	Start clock.Tick // the tick at which the newest movement up to Tick began after rest, or 0
	Rest  bool       // the thing rests: silence from here on is not starvation
	Bound uint8      // class of how soon the next record comes at the latest, see Wait
	Level uint8      // how coarse the values are, see schema.Kind.Levels
	Vals  []int64    // observer integers of the group
}

// between returns how far b has replaced a at playout time t, in 1/65536, rounded down: 0 is a,
// 65536 is b. Each state is reached at its Shown time.
//
// A teleport is never drawn as a slide: before it a shows, from it on b. An entity that rested
// after a stays at a until the tick before its first movement, where it still was. How far back it
// is drawn changes at once while it rests.
func between(a, b *State, t clock.TickFrac) int64 {
	from, to := a.Shown(), b.Shown()
	if t >= to {
		return 65536
	}
	if b.Cut > a.Tick {
		if t >= b.CutShown() {
			return 65536
		}
		return 0
	}
	if b.Start > a.Tick+1 {
		from = max(from, (b.Start-1).Frac()+Wait(b.Bound).Frac())
	}
	if t <= from {
		return 0
	}
	return int64(t-from) << 16 / int64(to-from)
}

// Draw writes the drawn values of group g of kind k at playout time t, which lies between states a
// and b, to dst: observer integers in 1/schema.SubSteps, rounded down. dst has g.N of them. If b is
// nil or t lies outside [a, b], it draws the nearer state: what can be hit is never extrapolated,
// but for dead reckoned properties. a and b have g.N values within 32 bits, as a decoder leaves
// them; values of any size give a result between both.
func Draw(k *schema.Kind, g *schema.Group, a, b *State, t clock.TickFrac, dst []int64) {
	u := int64(0)
	if b == nil {
		b = a
	} else if u = between(a, b, t); u > 0 && u < 65536 && jumps(k, g, a.Vals, b.Vals) {
		u = 0
	}
	for _, i := range g.Props {
		p := &k.Props[i]
		at := p.ObsAt - g.At
		if p.Draw == schema.Reckon {
			reckon(k, g, p, a, b, t, u, dst)
			continue
		}
		if p.Rotates() && u > 0 && u < 65536 && p.Draw != schema.Step {
			turned(p, a.Vals[at:at+3], b.Vals[at:at+3], u, dst[at:at+3])
			continue
		}
		for c := range p.Comps {
			va, vb := a.Vals[at+c], b.Vals[at+c]
			out := &dst[at+c]
			switch {
			case u == 0 || va == vb && p.Draw != schema.Hermite:
				*out = va * schema.SubSteps
			case u == 65536:
				*out = vb * schema.SubSteps
			case p.Draw == schema.Step:
				*out = va * schema.SubSteps
			case p.Pitch(c): // looking up and down never goes over the back
				va, vb = upward(va, p.Turn), upward(vb, p.Turn)
				*out = mod(va*schema.SubSteps+(vb-va)*u>>8, p.Turn*schema.SubSteps)
			case p.Turn > 0:
				d := vb - va
				if d = mod(d, p.Turn); 2*d > p.Turn {
					d -= p.Turn
				}
				*out = mod(va*schema.SubSteps+d*u>>8, p.Turn*schema.SubSteps)
			case p.Draw == schema.Hermite:
				v := k.Props[p.Tangent].ObsAt - g.At + c
				*out = hermite(va, vb, tangent(a.Vals[v], a, b, p), tangent(b.Vals[v], a, b, p), u)
			default:
				*out = va*schema.SubSteps + (vb-va)*u>>8
			}
		}
	}
}

// jumps reports whether two states of a group are never joined by a line, as if there were a
// teleport between them: they are further apart than a property's Warp, or relative to different
// parents.
func jumps(k *schema.Kind, g *schema.Group, a, b []int64) bool {
	return moved(k, g, a, b) || apart(k, g, a, b)
}

// Warped reports whether two states of a group are further apart than a property's Warp, and
// relative to the same parent.
func Warped(k *schema.Kind, g *schema.Group, a, b []int64) bool {
	return apart(k, g, a, b) && !moved(k, g, a, b)
}

// moved reports whether two states are relative to different parents.
func moved(k *schema.Kind, g *schema.Group, a, b []int64) bool {
	if k.Parent < 0 {
		return false
	}
	at := k.Props[k.Parent].ObsAt - g.At
	return at >= 0 && at < g.N && a[at] != b[at]
}

// apart reports whether two states are further apart than a property's Warp.
func apart(k *schema.Kind, g *schema.Group, a, b []int64) bool {
	for _, i := range g.Warps {
		p := &k.Props[i]
		sum := int64(0)
		for c := p.ObsAt - g.At; c < p.ObsAt-g.At+p.Comps; c++ {
			d := b[c] - a[c]
			if d > p.Warp || d < -p.Warp {
				return true
			}
			sum += d * d
		}
		if sum > p.Warp*p.Warp {
			return true
		}
	}
	return false
}

// upward brings an angle into [-turn/2, turn/2].
func upward(v, turn int64) int64 {
	if v = mod(v, turn); 2*v > turn {
		v -= turn
	}
	return v
}

func mod(v, m int64) int64 {
	if v %= m; v < 0 {
		v += m
	}
	return v
}

// tangent turns a recorded velocity into position steps over the whole interval.
func tangent(v int64, a, b *State, p *schema.Prop) int64 {
	v = min(max(v, -1<<24), 1<<24)
	ticks := int64(b.Tick - a.Tick)
	if b.Start > a.Tick+1 {
		ticks = int64(b.Tick - b.Start + 1)
	}
	q := min(p.TangentQ, 1<<36)
	return v * q >> 16 * min(ticks, 1<<8) >> 16
}

// hermite evaluates the cubic through pa and pb with tangents ma and mb (steps over the interval)
// at u/65536, in 1/SubSteps. Tangents are limited to three times the chord and to its direction,
// which keeps the curve between its ends (Fritsch and Carlson, 1980), up to the rounding of the
// powers of u, which the last line takes off: a bad velocity never draws a place beyond both
// records.
func hermite(pa, pb, ma, mb, u int64) int64 {
	d := pb - pa
	ma, mb = limit(ma, d), limit(mb, d)
	u2 := u * u >> 16
	u3 := u2 * u >> 16
	h01 := 3*u2 - 2*u3
	h10 := u3 - 2*u2 + u
	h11 := u3 - u2
	v := pa*schema.SubSteps + (h01*d+h10*ma+h11*mb)>>8
	return min(max(v, min(pa, pb)*schema.SubSteps), max(pa, pb)*schema.SubSteps)
}

func limit(m, d int64) int64 {
	if d >= 0 {
		return min(max(m, 0), 3*d)
	}
	return max(min(m, 0), 3*d)
}
