package motion

import (
	"math"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
)

// A Carry draws one group of an entity at the present, where its newest record carries it by now.
// Places go on by their velocity where they have one (draw=hermite, draw=dr), else by how far they
// came between records; all else stays as it is in the newest record. They slow down and stand as
// far beyond the record as a Horizon says.
//
// When a new record disagrees, drawing goes on from where it was, at the speed it had, and the
// difference fades like a critically damped spring. So the result depends on what was drawn before
// and not on records alone: only where the entity cannot be hit. The zero Carry is ready to use.
type Carry struct {
	Share int64 // for its owner: how much of what is drawn is of the present, in 1/65536

	from    State      // a copy of the newest record
	pace    []float64  // of its places, in 1/schema.SubSteps a tick; 0 for all else
	horizon float64    // ticks
	at      float64    // the tick that was drawn last
	now     clock.Time // when that was, on the local clock
	off     []float64  // what is still drawn off from where the record puts it, in 1/schema.SubSteps
	speed   []float64  // how fast that changes, a second
	last    []int64    // what was drawn
	jump    clock.Tick // the newest record at which drawing jumped
}

// Records are what arrived of a group, such as a snapshot.Group: Since returns the newest state up
// to tick t, and the next newer one.
type Records interface {
	Since(t clock.Tick) (a, b *State)
}

// The blend.
const (
	// stiffness is the largest angular frequency of the spring, a second: half of a small
	// difference is gone in 125 ms.
	stiffness = 2 / 0.15

	// maxBlend bounds how the blend accelerates a place, in metres per second squared: 60 frames a
	// second change their step by 3.3 cm at most. So larger differences fade more slowly.
	maxBlend = 120

	// maxFade is the largest difference that fades, in metres: half of it is gone in 0.3 s. A larger
	// one, of an entity that was not heard of for long, would be a slide that nobody believes.
	maxFade = 4

	// turnFade is the time constant with which directions fade.
	turnFade = 0.1

	// maxPause is how long ago the last drawing may be for its difference to fade.
	maxPause = 250 * time.Millisecond

	// courseTime is over how much time the pace of a place is measured at least, where records
	// reach back so far: two records of one centimetre that are 50 ms apart would give a pace that
	// is wrong by 20 cm/s. A longer time misses turns.
	courseTime = 100 * time.Millisecond
)

// Draw writes the values of group g of kind k at tick time t, the present, to dst: observer
// integers in 1/schema.SubSteps. r has at least one state. h is the kind's, now the time of drawing
// on any clock. Nothing fades after a teleport, over more than maxFade or a property's Warp, or
// if the last drawing is long ago.
func (c *Carry) Draw(k *schema.Kind, g *schema.Group, r Records, h *Horizon, t clock.TickFrac, now clock.Time,
	dst []int64) {
	newest, _ := r.Since(math.MaxUint32)
	dt := now.Sub(c.now)
	goesOn := c.off != nil && dt >= 0 && dt < maxPause
	if c.off == nil {
		n := len(dst)
		room := make([]float64, 3*n)
		c.pace, c.off, c.speed, c.last = room[:n:n], room[n:2*n:2*n], room[2*n:], make([]int64, n)
	}
	if newest.Tick != c.from.Tick {
		goesOn = goesOn && newest.Tick > c.from.Tick && newest.Cut <= c.from.Tick &&
			!jumps(k, g, c.from.Vals, newest.Vals)
		if goesOn {
			h.learn(c, k, g, newest)
		}
		c.follow(k, g, r, newest, h)
	} else if c.horizon != h.of(k, g) {
		c.follow(k, g, r, newest, h)
	}
	if !goesOn {
		clear(c.off)
		clear(c.speed)
	}
	c.at, c.now = float64(float64(t)/clock.FracPerTick), now
	after := c.after(c.at)
	for _, i := range g.Props {
		p := &k.Props[i]
		at := p.ObsAt - g.At
		switch {
		case !goesOn || p.Draw == schema.Step:
		case p.Motion() == schema.Travels:
			c.spring(p, at, dt.Seconds())
		case p.Rotates():
			c.turn(p, at, dt.Seconds(), dst)
			continue
		case p.Motion() == schema.Turns:
			for j := at; j < at+p.Comps; j++ {
				c.off[j] = float64(c.off[j]*turnFade) / (turnFade + dt.Seconds())
			}
		}
		for j := at; j < at+p.Comps; j++ {
			off := min(max(float64(c.pace[j]*after)+c.off[j], -1<<50), 1<<50)
			if dst[j] = c.from.Vals[j]*schema.SubSteps + int64(off); p.Turn > 0 {
				dst[j] = mod(dst[j], p.Turn*schema.SubSteps)
			}
		}
	}
	copy(c.last, dst)
}

// follow makes s the record that drawing goes on from: what was drawn last becomes a difference
// from where s would have put it.
func (c *Carry) follow(k *schema.Kind, g *schema.Group, r Records, s *State, h *Horizon) {
	c.shift(k, g, 1)
	vals := append(c.from.Vals[:0], s.Vals...)
	c.from = *s
	c.from.Vals = vals
	c.setPace(k, g, r, s)
	c.horizon = h.of(k, g)
	c.shift(k, g, -1)
	for _, i := range g.Props {
		p := &k.Props[i]
		for j := p.ObsAt - g.At; j < p.ObsAt-g.At+p.Comps; j++ {
			if p.Turn > 0 {
				c.off[j] = float64(upward(int64(c.off[j]), p.Turn*schema.SubSteps))
			}
			if !p.GoesOn() || p.Draw == schema.Step {
				c.off[j], c.speed[j] = 0, 0
			}
			if s.Rest {
				c.speed[j] = 0 // what stopped does not slide on
			}
		}
		if p.Motion() == schema.Travels && c.tooFar(p, p.ObsAt-g.At) {
			clear(c.off[p.ObsAt-g.At:][:p.Comps])
			clear(c.speed[p.ObsAt-g.At:][:p.Comps])
			c.jump = s.Tick
		}
	}
}

// tooFar reports whether the difference of a place is too large to fade.
func (c *Carry) tooFar(p *schema.Prop, at int) bool {
	most := float64(maxFade * p.Obs)
	if p.Warp > 0 {
		most = min(most, float64(p.Warp))
	}
	far := 0.0
	for _, off := range c.off[at:][:p.Comps] {
		far += float64(off * off)
	}
	return math.Sqrt(far) > float64(most*schema.SubSteps)
}

// shift adds to the differences, times sign, where the record puts everything at the last drawing,
// and to their speeds how fast it moves there.
func (c *Carry) shift(k *schema.Kind, g *schema.Group, sign float64) {
	if len(c.from.Vals) != len(c.off) {
		return // there was none
	}
	after := c.after(c.at)
	slope := float64((after - c.after(c.at-0.25)) * 4)
	for j, v := range c.from.Vals {
		c.off[j] += float64(sign * (float64(v*schema.SubSteps) + float64(c.pace[j]*after)))
		c.speed[j] += float64(sign * float64(float64(c.pace[j]*slope)*float64(k.Rate)))
	}
}

// Reach returns how far beyond its newest record the entity still moves.
func (c *Carry) Reach() clock.TickFrac {
	return clock.TickFrac(float64(float64(1.5*c.horizon) * clock.FracPerTick))
}

// Jumped returns the tick of the newest record to which the entity jumped, as it was drawn too far
// from there to fade; 0: none.
func (c *Carry) Jumped() clock.Tick { return c.jump }

// after returns for how many ticks the record is carried on at a tick.
func (c *Carry) after(tick float64) float64 { return carried(tick-float64(c.from.Tick), c.horizon) }

// carried returns for how many ticks a place goes on at full pace in so much time: all of it up to
// half the horizon, ever less up to one and a half, and the horizon from there on. A clock that is
// late may ask for a moment before the record.
func carried(ticks, horizon float64) float64 {
	half := float64(horizon / 2)
	switch {
	case ticks <= half:
		return max(ticks, -half)
	case ticks >= float64(3*half):
		return horizon
	}
	x := ticks - half
	return half + x - float64(x*x)/float64(4*half)
}

// setPace finds how fast the places of s, the newest record, move.
func (c *Carry) setPace(k *schema.Kind, g *schema.Group, r Records, s *State) {
	clear(c.pace)
	if s.Rest {
		return
	}
	a, since := course(k, g, r, s)
	for _, i := range g.Props {
		p := &k.Props[i]
		at := p.ObsAt - g.At
		switch {
		case p.Draw == schema.Hermite || p.Draw == schema.Reckon:
			vel := k.Props[p.Tangent].ObsAt - g.At
			for j := range p.Comps {
				v := min(max(s.Vals[vel+j], -1<<24), 1<<24)
				tangent := float64(float64(v) * float64(min(p.TangentQ, 1<<36)))
				c.pace[at+j] = float64(float64(tangent/(1<<32)) * schema.SubSteps)
			}
		case p.Motion() == schema.Travels && p.Draw != schema.Step && a != nil:
			for j := at; j < at+p.Comps; j++ {
				c.pace[j] = float64((s.Vals[j]-a.Vals[j])*schema.SubSteps) / float64(s.Tick-since)
			}
		}
	}
}

// course returns the state from which the pace of s, the newest, is measured, and the tick at which
// the entity was still there; nil if there is none since the last teleport.
func course(k *schema.Kind, g *schema.Group, r Records, s *State) (a *State, since clock.Tick) {
	span := clock.Tick((int64(courseTime)*int64(k.Rate) + int64(time.Second) - 1) / int64(time.Second))
	for next := s; s.Tick-next.Tick < span; {
		b, _ := r.Since(next.Tick - 1)
		if b == nil || b.Tick >= next.Tick || next.Cut > b.Tick || jumps(k, g, b.Vals, next.Vals) {
			break
		}
		if next.Start > b.Tick+1 && next.Start <= next.Tick {
			return b, next.Start - 1 // it rested until then
		}
		a, since, next = b, b.Tick, b
	}
	return a, since
}

// spring moves the difference of a place towards zero, as a critically damped spring does in dt
// seconds.
func (c *Carry) spring(p *schema.Prop, at int, dt float64) {
	far, fast := 0.0, 0.0
	for j := at; j < at+p.Comps; j++ {
		far += float64(c.off[j] * c.off[j])
		fast += float64(c.speed[j] * c.speed[j])
	}
	if far < 1 && fast < 1 {
		return
	}
	most := float64(maxBlend * float64(p.Obs*schema.SubSteps))
	w := min(stiffness, math.Sqrt(most/max(math.Sqrt(far), 1)))
	e := fade(float64(w * dt))
	for j := at; j < at+p.Comps; j++ {
		x, v := c.off[j], c.speed[j]
		both := v + float64(w*x)
		c.off[j] = float64((x + float64(both*dt)) * e)
		c.speed[j] = float64((v - float64(float64(w*both)*dt)) * e)
	}
}

// fade approximates exp(-x) for x >= 0, the same on every machine, within 0.2 % up to 1.
func fade(x float64) float64 {
	return 1 / (1 + x + float64(float64(0.48*x)*x) + float64(float64(float64(0.235*x)*x)*x))
}

// turn draws a rotation in space on the way from where it was drawn last to where the record has
// it.
func (c *Carry) turn(p *schema.Prop, at int, dt float64, dst []int64) {
	var to [3]int64
	for j := range to {
		to[j] = c.from.Vals[at+j] * schema.SubSteps
	}
	turnedFine(p, c.last[at:at+3], to[:], int64(float64(65536*dt)/(turnFade+dt)), dst[at:at+3])
}

// Mix writes to dst what is w/65536 of the way from the drawn values a of group g to b. Values
// without a way between them are those that are nearer. dst may be a or b.
func Mix(k *schema.Kind, g *schema.Group, a, b []int64, w int64, dst []int64) {
	for _, i := range g.Props {
		p := &k.Props[i]
		at := p.ObsAt - g.At
		if p.Rotates() && p.Draw != schema.Step {
			turnedFine(p, a[at:at+3], b[at:at+3], w, dst[at:at+3])
			continue
		}
		for j := at; j < at+p.Comps; j++ {
			va, vb := a[j], b[j]
			switch {
			case w <= 0 || w < 65536 && w < 32768 && (p.Draw == schema.Step || !p.GoesOn()):
				dst[j] = va
			case w >= 65536 || p.Draw == schema.Step || !p.GoesOn():
				dst[j] = vb
			case p.Turn > 0:
				turn := p.Turn * schema.SubSteps
				dst[j] = mod(va+upward(vb-va, turn)*w>>16, turn)
			default:
				dst[j] = va + (vb-va)*w>>16
			}
		}
	}
}

// A Horizon learns for how long the entities of a kind go on as they did: each new record says how
// far off each of a few horizons would have been. What walks to a far place goes on for seconds;
// what dodges is best left where it would be in a quarter of one. The zero Horizon is ready to use.
type Horizon struct {
	off  [len(horizons)]float64 // of each, weighted towards the last few hundred records
	best int
}

// horizons has the choices in seconds; the first is used until something is known.
var horizons = [...]float64{1, 2, 0.5, 4, 0.25, 8}

// horizonMemory is over how many records a Horizon averages.
const horizonMemory = 256

// of returns the horizon of a group of kind k in ticks.
func (h *Horizon) of(k *schema.Kind, g *schema.Group) float64 {
	if g.Reckoned != 0 {
		return float64(2 * float64(Reach(k))) // its sender sees to it that it goes on
	}
	return h.ticks(k.Rate)
}

// ticks returns the best horizon in ticks at a tick rate.
func (h *Horizon) ticks(rate int) float64 { return float64(horizons[h.best] * float64(rate)) }

// learn compares where c would have been at the tick of newest, for each horizon. Long intervals
// count more, as their error is seen for longer.
func (h *Horizon) learn(c *Carry, k *schema.Kind, g *schema.Group, newest *State) {
	p := k.PlaceProp()
	if p == nil || p.ObsAt < g.At || p.ObsAt >= g.At+g.N || p.Draw == schema.Step || g.Reckoned != 0 ||
		c.from.Rest {
		return
	}
	ticks := float64(newest.Tick - c.from.Tick)
	for i, s := range horizons {
		after, sum := carried(ticks, float64(s*float64(k.Rate))), 0.0
		for j := p.ObsAt - g.At; j < p.ObsAt-g.At+p.Comps; j++ {
			d := float64(newest.Vals[j]-c.from.Vals[j]) - float64(float64(c.pace[j]*after)/schema.SubSteps)
			sum += float64(d * d)
		}
		h.off[i] += float64((float64(math.Sqrt(sum)*ticks) - h.off[i]) / horizonMemory)
	}
	for i, v := range h.off {
		if v < float64(0.98*h.off[h.best]) {
			h.best = i
		}
	}
}
