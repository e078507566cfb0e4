package motion

import (
	"math"
	"slices"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
)

// Limits of dead reckoning.
const (
	// MaxForward is for how many ticks a record is drawn on by its velocity; then it stands. A
	// record that is drawn on so far is still in the server's history when a shot at it is judged.
	MaxForward = 80

	// Repeat is after how many ticks a sender sends a new record though nothing strays: if that one
	// is lost, there is time for another.
	Repeat = MaxForward / 2

	// maxFlight takes the place of MaxForward for kinds that cannot be hit
	// (schema.Kind.Extrapolated): no server has to know later what was drawn, so a projectile needs
	// one record for as long as it flies. 1<<14 ticks are four and a half minutes at 60 Hz. Half of
	// it takes the place of Repeat.
	maxFlight = 1 << 14

	// converge is in how many ticks a newer record replaces what was drawn on from the one before
	// it. A record that arrives later than that makes a step.
	converge = 4
)

// Reach returns for how many ticks a record of a kind is drawn on: MaxForward or maxFlight. Its
// sender sends a new one after half of that.
func Reach(k *schema.Kind) clock.Tick {
	if k.Extrapolated {
		return maxFlight
	}
	return MaxForward
}

// reckon draws a dead reckoned property: on from a by its velocity and, if there is a b, over to b
// within the last converge ticks before it, so that there is no step at b. From b on it is drawn on
// from b. u is the fraction of between.
func reckon(k *schema.Kind, g *schema.Group, p *schema.Prop, a, b *State, t clock.TickFrac, u int64, dst []int64) {
	at := p.ObsAt - g.At
	out := dst[at : at+p.Comps]
	if a == b || u == 65536 {
		forward(k, g, p, b, t-b.Shown(), out)
		return
	}
	forward(k, g, p, a, t-a.Shown(), out)
	if b.Cut > a.Tick || jumps(k, g, a.Vals, b.Vals) {
		return
	}
	last := b.Shown()
	from := max(last-converge*clock.FracPerTick, a.Shown())
	if b.Start > a.Tick+1 {
		from = max(from, (b.Start-1).Frac()+Wait(b.Bound).Frac())
	}
	if t <= from || t >= last {
		return
	}
	var end [3]int64
	forward(k, g, p, a, last-a.Shown(), end[:p.Comps])
	w := int64(t-from) << 16 / int64(last-from)
	for c := range out {
		d := b.Vals[at+c]*schema.SubSteps - end[c]
		if p.Turn > 0 {
			d = upward(d, p.Turn*schema.SubSteps)
			out[c] = mod(out[c]+d*w>>16, p.Turn*schema.SubSteps)
			continue
		}
		out[c] += d * w >> 16
	}
}

// forward draws p on from s by its velocity for a time, in 1/schema.SubSteps.
func forward(k *schema.Kind, g *schema.Group, p *schema.Prop, s *State, after clock.TickFrac, out []int64) {
	at, vel := p.ObsAt-g.At, k.Props[p.Tangent].ObsAt-g.At
	dt := int64(min(max(after, 0), Reach(k).Frac()))
	if s.Rest {
		dt = 0
	}
	for c := range out {
		v := min(max(s.Vals[vel+c], -1<<24), 1<<24)
		q := min(p.TangentQ, 1<<36)
		// velocity steps x (steps per tick and velocity step, /2^32) x dt/256 ticks, in 1/256
		// steps; v q >> 16 is kept within 2^24 steps a tick, so that nothing overflows within
		// maxFlight
		d := min(max(v*q>>16, -1<<40), 1<<40) * dt >> 16
		out[c] = s.Vals[at+c]*schema.SubSteps + d
		if p.Turn > 0 {
			out[c] = mod(out[c], p.Turn*schema.SubSteps)
		}
	}
}

// Strays reports whether a client whose newest record of the group is s draws a dead reckoned
// property wrong by more than its Bound at tick now, where its true values are vals. Then a record
// is due, as it is after Repeat anyway. Properties that are not dead reckoned do not count.
func Strays(k *schema.Kind, g *schema.Group, s *State, vals []int64, now clock.Tick) bool {
	return strays(k, g, s, vals, now, schema.SubSteps)
}

// Flies reports whether the dead reckoned properties of a group go on as they did at s: their
// velocities are the same, and they stray from there by no more than half their Bound. Then a
// client with any record from in between draws them as exactly as Strays asks.
func Flies(k *schema.Kind, g *schema.Group, s *State, vals []int64, now clock.Tick) bool {
	for _, i := range g.Props {
		p := &k.Props[i]
		if p.Draw != schema.Reckon {
			continue
		}
		v := &k.Props[p.Tangent]
		if at := v.ObsAt - g.At; !slices.Equal(s.Vals[at:at+v.Comps], vals[at:at+v.Comps]) {
			return false
		}
	}
	return !strays(k, g, s, vals, now, schema.SubSteps/2)
}

// strays is Strays with a limit of so many 1/schema.SubSteps for each step of Bound.
func strays(k *schema.Kind, g *schema.Group, s *State, vals []int64, now clock.Tick, of int64) bool {
	if now < s.Tick {
		return true
	}
	for _, i := range g.Props {
		p := &k.Props[i]
		if p.Draw != schema.Reckon {
			continue
		}
		var at [3]int64
		forward(k, g, p, s, (now - s.Tick).Frac(), at[:p.Comps])
		var d [3]int64
		for c := range p.Comps {
			d[c] = vals[p.ObsAt-g.At+c]*schema.SubSteps - at[c]
			if p.Turn > 0 {
				d[c] = upward(d[c], p.Turn*schema.SubSteps)
			}
		}
		if length(d) > p.Bound*of {
			return true
		}
	}
	return false
}

// Error returns the visible error of a client that has observer integers a of a kind and should
// have b: how far apart the places are, in steps. Without a place it is 0. Differences count up to
// 2^30 steps.
func Error(k *schema.Kind, a, b []int64) int64 {
	p := k.PlaceProp()
	if p == nil {
		return 0
	}
	var d [3]int64
	for c := range p.Comps {
		d[c] = b[p.ObsAt+c] - a[p.ObsAt+c]
	}
	return length(d)
}

// length returns the length of a vector, rounded down, each component limited to 2^30.
func length(d [3]int64) int64 {
	sum := int64(0)
	for _, v := range d {
		v = min(max(v, -1<<30), 1<<30)
		sum += v * v
	}
	return root(sum)
}

// Attach turns the drawn place of a child, which is relative to its parent, into a place in the
// world: turned as the parent is, and moved to the parent. child and parent are drawn values of
// whole entities, observer integers in 1/schema.SubSteps, both at the parent's playout time. The
// child's own rotation stays relative. A parent without a place changes nothing.
func Attach(ck *schema.Kind, child []int64, pk *schema.Kind, parent []int64) {
	c, p := ck.PlaceProp(), pk.PlaceProp()
	if c == nil || p == nil {
		return
	}
	var v geom.Vec3
	v.X, v.Y = float64(child[c.ObsAt]), float64(child[c.ObsAt+1])
	if c.Comps == 3 {
		v.Z = float64(child[c.ObsAt+2])
	}
	if f := pk.Facing; f >= 0 {
		q := &pk.Props[f]
		switch {
		case q.Rotates():
			base, m := q.QuatScale()
			r := schema.UnpackQuat(parent[q.ObsAt:q.ObsAt+3], base, m)
			v = geom.Quat{W: float64(r[0]), X: float64(r[1]), Y: float64(r[2]), Z: float64(r[3])}.Unit().Rotate(v)
		default: // about the upright axis
			yaw := geom.Angle(float64(float64(parent[q.ObsAt])/float64(q.Turn*schema.SubSteps)) * float64(geom.Turn))
			v = v.XY().Rotate(yaw).At(v.Z)
		}
	}
	ratio := c.Obs / p.Obs // child steps in a step of the parent's
	at := [3]float64{v.X, v.Y, v.Z}
	for i := range c.Comps {
		w := at[i]
		if i < p.Comps {
			w = float64(w) + float64(float64(parent[p.ObsAt+i])*ratio)
		}
		child[c.ObsAt+i] = nearest(min(max(w, -1<<50), 1<<50))
	}
}

// nearest rounds v, at most 2^50, to the nearest integer, halves upwards.
func nearest(v float64) int64 { return int64(math.Floor(v + 0.5)) }
