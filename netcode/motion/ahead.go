package motion

import (
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
)

// Ahead extrapolates: it writes the drawn values of group g of kind k at playout time t, after b,
// the newest record, was shown. Places and directions go on as they did: by their velocity where
// they have one (draw=hermite), else from a, the record before b, which may be nil. They go on for
// at most most beyond b. All else stays as it is, also what rests, what was teleported, and
// rotations in space. Only for what cannot be hit so: rules see it drawn between records.
func Ahead(k *schema.Kind, g *schema.Group, a, b *State, t, most clock.TickFrac, dst []int64) {
	Draw(k, g, b, nil, t, dst)
	beyond := min(max(t-b.Shown(), 0), most, MaxForward*clock.FracPerTick)
	if b.Rest || beyond == 0 {
		return
	}
	ticks := int64(0)
	if a != nil && a.Tick < b.Tick && b.Cut <= a.Tick && !jumps(k, g, a.Vals, b.Vals) {
		if ticks = int64(b.Tick - a.Tick); b.Start > a.Tick+1 && b.Start <= b.Tick {
			ticks = int64(b.Tick - b.Start + 1)
		}
	}
	for _, i := range g.Props {
		p := &k.Props[i]
		at := p.ObsAt - g.At
		out := dst[at : at+p.Comps]
		switch {
		case p.Draw == schema.Hermite:
			forward(k, g, p, b, beyond, out)
		case p.Draw != schema.Linear || ticks == 0 || !p.GoesOn():
		default:
			for c := range out {
				if p.Pitch(c) {
					break // nobody looks up ever further
				}
				d := b.Vals[at+c] - a.Vals[at+c]
				if p.Turn > 0 {
					d = upward(d, p.Turn)
				}
				out[c] += d * schema.SubSteps * int64(beyond) / (ticks * clock.FracPerTick)
				if p.Turn > 0 {
					out[c] = mod(out[c], p.Turn*schema.SubSteps)
				}
			}
		}
	}
}
