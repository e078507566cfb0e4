package motion

import (
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
)

// Ahead extrapolates: it writes the drawn values of group g of kind k at playout time t, after b,
// the newest record, was shown. Places and directions go on as they did: by their velocity where
// they have one (draw=hermite), else from a, the record before b, which may be nil. They go on for
// at most most beyond b. All else stays as it is, also what rests, what was teleported, and
// rotations in space. Only for kinds that cannot be hit (schema.Kind.Extrapolated).
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

// A Fade hides wrong extrapolation. When a new record disagrees with what was drawn last, drawing
// goes on from there, and the difference fades. The result depends on what was drawn before, not on
// records alone: only for kinds that cannot be hit. The zero Fade is ready to use.
type Fade struct {
	at     clock.TickFrac // the playout time that was drawn last
	now    clock.Time     // when that was, on the local clock
	newest clock.Tick     // the newest record then
	last   []int64        // what was drawn
	off    []int64        // difference of last from what the records gave
}

// fadeTime is the time constant with which a wrong extrapolation fades.
const fadeTime = 33 * time.Millisecond

// Last returns the playout time that was drawn last; ok is false before the first.
func (f *Fade) Last() (t clock.TickFrac, ok bool) { return f.at, f.newest != 0 }

// Draw turns dst, the values that records give for playout time t, into what is drawn. last has the
// values that records give now for the time of Last; it is not read if there is none. newest is the
// newest record, now the time of drawing on any clock. A difference does not fade but vanishes if
// there was a teleport since, if it is larger than the property's Warp, or if the last drawing is
// long ago.
func (f *Fade) Draw(k *schema.Kind, g *schema.Group, newest *State, t clock.TickFrac, now clock.Time,
	last, dst []int64) {
	dt := now.Sub(f.now)
	keep := f.newest != 0 && newest.Cut <= f.newest && dt >= 0 && dt < fadeLong && len(f.off) == len(dst)
	if len(f.off) != len(dst) {
		f.off, f.last = make([]int64, len(dst)), make([]int64, len(dst))
	}
	for _, i := range g.Props {
		p := &k.Props[i]
		at := p.ObsAt - g.At
		for c := at; c < at+p.Comps; c++ {
			off := int64(0)
			if keep && (p.Draw == schema.Linear || p.Draw == schema.Hermite) && p.GoesOn() && !p.Pitch(c-at) {
				if off = f.last[c] - last[c]; p.Turn > 0 {
					off = upward(off, p.Turn*schema.SubSteps)
				}
				if p.Warp > 0 && max(off, -off) > p.Warp*schema.SubSteps {
					off = 0
				}
				off = off * fadeTime.Microseconds() / (fadeTime + dt).Microseconds()
			}
			f.off[c] = off
			if dst[c] += off; p.Turn > 0 {
				dst[c] = mod(dst[c], p.Turn*schema.SubSteps)
			}
		}
	}
	f.at, f.now, f.newest = t, now, newest.Tick
	copy(f.last, dst)
}

// fadeLong is how long ago the last drawing may be for its difference to fade.
const fadeLong = 250 * time.Millisecond
