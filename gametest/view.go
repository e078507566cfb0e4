package gametest

import (
	"math"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/playout"
	"meanwhile/netcode/schema"
	"meanwhile/server"
)

// view measures what one player's client draws of other entities.
type view struct {
	errors    []float64 // metres between what was drawn and the truth at the same playout time
	errorsNow []float64 // metres between what was drawn and the newest truth that the client could know
	age       time.Duration
	ages      int
	hitches   int
	jolts     int
	moving    time.Duration // for which moving things were drawn
	outage    time.Duration // of it, during outages
	drawn     time.Duration
	tracks    map[game.ID]*track
}

// track is how one entity was drawn in the last frame.
type track struct {
	stall  playout.Stall
	x, y   float64
	tx, ty float64    // truth at the same playout time
	frame  uint64     // in which it was drawn
	cut    clock.Tick // newest teleport that was drawn
}

// frameTimes are moments of one frame, in ticks of the server.
type frameTimes struct {
	now  clock.TickFrac // the present
	best clock.TickFrac // of the newest state that the client could know: one way and one send interval ago
}

func (p *Player) frameTimes() frameTimes {
	s := p.sim
	period := int64(s.Server.Period())
	since := s.now().Sub(s.Server.Now())
	best := s.Server.Now().Add(since - p.Profile.Down.Delay - time.Second/time.Duration(s.Rules.Send))
	return frameTimes{
		now:  s.Server.Tick().Frac() + clock.TickFrac(int64(since)*clock.FracPerTick/period),
		best: clock.TickFrac(int64(best) * clock.FracPerTick / period),
	}
}

// look compares what is drawn in one frame with the truth. sample says that the distances of this
// frame count.
func (p *Player) look(sample bool) {
	c, q := p.Client, &p.q.view
	if q.tracks == nil {
		q.tracks = map[game.ID]*track{}
	}
	if c.Playout() == 0 {
		return
	}
	times := p.frameTimes()
	q.drawn += frame
	out := c.Stats().Age > outage
	if out {
		q.outage += frame
	}
	p.vals = c.Draw(p.vals, func(e *client.Entity) { p.lookAt(e, times, out, sample) })
}

// lookAt compares one drawn entity with the truth. out says that the path is in an outage.
func (p *Player) lookAt(e *client.Entity, times frameTimes, out, sample bool) {
	s, q := p.sim, &p.q.view
	h := s.Server.History()
	k := s.Rules.Kinds[e.Kind]
	if e.Mine || e.Drawn == nil || k.Place < 0 || !k.Groups[0].Moving { // its own, and what its client runs ahead
		return
	}
	if k.Parent >= 0 && e.Drawn[k.Props[k.Parent].ObsAt] != 0 { // drawn in the world, while its truth is relative
		delete(q.tracks, e.ID)
		return
	}
	i, ok := h.Find(uint32(e.ID))
	if !ok {
		return
	}
	place := k.PlaceProp()
	g := place.Group
	t, _ := p.Client.TimeOf(e.Replica)
	if sample {
		q.age += time.Duration(int64(times.now-t) * int64(s.Server.Period()) / clock.FracPerTick)
		q.ages++
	}
	x := float64(e.Drawn[place.ObsAt]) / schema.SubSteps * place.Millimetres() / 1000
	y := float64(e.Drawn[place.ObsAt+1]) / schema.SubSteps * place.Millimetres() / 1000
	tx, ty, moving, ok := truth(s.Server, i, k, g, t)
	if !ok {
		return
	}
	tr := q.tracks[e.ID]
	if tr == nil {
		tr = &track{}
		q.tracks[e.ID] = tr
	}
	cut, _ := h.At(i).TimesAt(g, t.Tick())
	if tr.frame+1 == p.frames && cut == tr.cut {
		d := math.Hypot(x-tr.x, y-tr.y)
		if want := math.Hypot(tx-tr.tx, ty-tr.ty); d > 2*want+0.05 {
			q.jolts++
		}
	}
	tr.x, tr.y, tr.tx, tr.ty, tr.frame, tr.cut = x, y, tx, ty, p.frames, cut
	if moving && !out {
		q.moving += frame
		carried := k.Groups[g].Reckoned != 0 || t > p.Client.Playout() // it goes on without a record
		if carried || e.Replica.Groups[g].Newest().Tick.Frac() >= t {
			tr.stall.End()
		} else if tr.stall.Add(frame) {
			q.hitches++
		}
	}
	if sample {
		q.errors = append(q.errors, math.Hypot(x-tx, y-ty))
		if bx, by, _, ok := truth(s.Server, i, k, g, times.best); ok {
			q.errorsNow = append(q.errorsNow, math.Hypot(x-bx, y-by))
		}
	}
}

// truth returns where an entity was at tick time t, between its states of two ticks, and whether it
// moved. After the newest tick it goes on as in the one before, for a tick at most: what is drawn at
// the present moves there too.
func truth(s *server.Server, i int32, k *schema.Kind, g int, t clock.TickFrac) (x, y float64, moving, ok bool) {
	h := s.History()
	var bufA, bufB [schema.MaxComps]int64
	from := min(t.Tick(), h.Tick()-1)
	a, okA := h.Values(i, g, from, bufA[:0])
	if !okA {
		return 0, 0, false, false
	}
	b, okB := h.Values(i, g, from+1, bufB[:0])
	if !okB {
		b = a
	}
	c, mm := k.Offset(g, k.Place), k.PlaceProp().Millimetres()
	u := min(float64(t-from.Frac())/clock.FracPerTick, 2)
	if e := h.At(i); e.Cut() == from+1 {
		u = math.Floor(min(u, 1))
	}
	at := func(c int) float64 { return (float64(a[c]) + (float64(b[c])-float64(a[c]))*u) * mm / 1000 }
	return at(c), at(c + 1), a[c] != b[c] || a[c+1] != b[c+1], true
}
