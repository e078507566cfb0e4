package client

import (
	"time"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/predict"
	"meanwhile/netcode/schema"
)

// drawnAt returns the tick time at which predicted things are drawn in this frame: between the
// newest two ticks, and no more than MaxPrediction beyond the playout time.
func (t *timelines) drawnAt() clock.TickFrac {
	at := t.tickAhead() - clock.FracPerTick
	if t.limited() {
		most := clock.TickFrac(int64(t.cfg.MaxPrediction) * clock.FracPerTick / int64(t.period))
		at = min(at, t.drawTick+most)
	}
	return at
}

// limited reports whether not all that is predicted is drawn.
func (t *timelines) limited() bool { return t.cfg.MaxPrediction > 0 && t.drawTick > 0 }

// newestDrawn returns the newest tick that counts for what is drawn: the later one of the two that
// the avatar is drawn between.
func (r *reconcile) newestDrawn() clock.Tick {
	t := min(r.up.made, r.ring.Newest())
	if r.time.limited() {
		t = min(t, r.time.drawnAt().Tick()+1)
	}
	return t
}

// SetMaxPrediction changes how far beyond the playout time the player's own things are drawn; 0
// draws all that is predicted. The picture moves over to the other timeline without a jump. It
// fails where New would.
func (c *Client) SetMaxPrediction(most time.Duration) error {
	cfg := c.cfg
	cfg.MaxPrediction = most
	if err := checkPrediction(&cfg); err != nil {
		return err
	}
	r := &c.own
	from, before := r.time.drawnAt(), r.pose()
	c.ahead.before()
	c.cfg = cfg
	if cfg.NoPrediction {
		return nil
	}
	gap := time.Duration(int64(r.time.drawnAt()-from) * int64(r.time.period) / clock.FracPerTick)
	c.ahead.blend(gap) // first, as one of them may carry the avatar
	blend(&r.smooth, before, r.pose(), gap)
	return nil
}

// pose is where and how the avatar is drawn, without its fading error.
type pose struct {
	at     geom.Vec3 // in the world
	turn   geom.Quat // relative to its parent
	parent int64
	cut    clock.Tick // newest teleport before it
	known  bool
}

// pose returns that of this frame.
func (r *reconcile) pose() pose {
	if r.me == 0 {
		return pose{}
	}
	a, b, u := r.between()
	if b == nil {
		return pose{}
	}
	p := r.poseOf(r.rules.Kinds[r.kind], a, b, u)
	p.cut = r.drawnCut
	return p
}

// poseOf returns that of a state which is u/65536 of the way from a to b. It is not known if the
// parent is not.
func (r *reconcile) poseOf(k *schema.Kind, a, b []int64, u int64) (p pose) {
	p.at, p.known = r.placeOf(k, a, b, u)
	r.placeVals = k.AppendExact(r.placeVals[:0], a, b, u)
	p.turn = k.TurnOf(r.placeVals)
	if k.Parent >= 0 {
		p.parent = b[k.Props[k.Parent].At]
	}
	return p
}

// hide hides that what is drawn goes over from one pose to another at once.
func hide(s *predict.Smoother, from, to pose) {
	if !from.known || !to.known {
		return
	}
	if from.parent != to.parent { // the turns are relative to different things
		s.Add(from.at.Sub(to.at))
		return
	}
	s.Correct(from.at.Sub(to.at), predict.Between(from.turn, to.turn))
}

// blend hides that what is drawn goes over to another timeline, gap earlier or later.
func blend(s *predict.Smoother, from, to pose, gap time.Duration) {
	if from.known && to.known {
		s.Blend(from.at.Sub(to.at), predict.Between(from.turn, to.turn), gap)
	}
}

// within reports whether two states of the avatar differ so little in place and turn that the
// difference does not count.
func (r *reconcile) within(t predict.Tolerance, k *schema.Kind, a, b []int64) bool {
	from, to := r.poseOf(k, a, a, 0), r.poseOf(k, b, b, 0)
	return from.known && to.known && from.parent == to.parent &&
		t.Within(to.at.Sub(from.at), predict.Between(from.turn, to.turn))
}
