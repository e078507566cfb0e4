package client

import (
	"slices"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/playout"
	"meanwhile/netcode/rewind"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
)

// playback draws the entities in sight: others at the playout time between their records, or at the
// present beyond them, the player's own as predicted, and all on what carries them.
type playback struct {
	rules *game.Rules
	cfg   *Config
	eng   *engine.Engine
	store *snapshot.Store
	time  *timelines
	down  *downlink
	own   *reconcile
	ahead *ahead
	stats *Stats

	screen *screen
	frame  uint32         // which frame is drawn, with what had arrived by then; 0: the present one
	view   view           // what the rules see
	texts  snapshot.Texts // what references stand for
	seen   frameMark      // what the player has seen last

	packetTicks clock.Tick       // from packet to packet, rounded up
	horizons    []motion.Horizon // by kind, of what is drawn at the present
	me          struct {         // the avatar in this frame
		at    geom.Vec3
		known bool
	}

	shown      Entity                     // the one that draw hands over
	drawn      []int64                    // its values
	known      []int64                    // those of what rules look at
	present    []int64                    // a group's values at the present
	parents    [schema.MaxParents][]int64 // drawn values of what carries it
	parentVals []float64
}

// frameMark says which frame was drawn.
type frameMark struct {
	at     clock.TickFrac // its playout time
	newest clock.Tick     // newest tick known then
	cuts   uint64         // teleports of the avatar that were drawn
}

func (p *playback) init(c *Client) {
	p.rules, p.cfg, p.eng, p.store, p.time = c.rules, &c.cfg, c.eng, c.store, &c.time
	p.down, p.own, p.ahead, p.stats, p.screen = &c.down, &c.own, &c.ahead, &c.stats, &c.screen
	p.view.p = p
	period := c.welcome.Period
	p.packetTicks = clock.Tick((c.time.spacing + period*15/16) / period)
	most := 1
	for _, k := range c.rules.Kinds {
		most = max(most, k.Obs)
	}
	p.drawn, p.present, p.known = make([]int64, most), make([]int64, most), make([]int64, most)
	p.eng.OnLook(p.newest)
	p.horizons = make([]motion.Horizon, len(c.rules.Kinds))
	for i := range p.parents {
		p.parents[i] = make([]int64, most)
	}
}

// draw is Client.Draw.
func (p *playback) draw(vals []float64, f func(e *Entity)) []float64 {
	p.locate()
	for kind := range p.rules.Kinds {
		for _, h := range p.store.Entities() {
			if h.Kind == kind && (p.cfg.NoPrediction || !p.eng.Hidden(game.ID(h.ID)) || h.Exact) {
				vals = p.drawEntity(h, vals, f)
			}
		}
		for i := range p.ahead.tracks { // what exists in the prediction only
			if t := &p.ahead.tracks[i]; t.kind == kind && t.id.Foreseen() && !p.cfg.NoPrediction {
				vals = p.drawTrack(t, nil, vals, f)
			}
		}
	}
	return vals
}

// drawEntity draws an entity of which records arrived.
func (p *playback) drawEntity(h *snapshot.Replica, vals []float64, f func(e *Entity)) []float64 {
	k := p.rules.Kinds[h.Kind]
	if t := p.ahead.of(h); t != nil {
		return p.drawTrack(t, h, vals, f)
	}
	e := &p.shown
	*e = Entity{ID: game.ID(h.ID), Kind: h.Kind, Mine: h.Mine, Replica: h, play: p}
	switch {
	case h.Mine:
		var ok bool
		if vals, ok = p.drawOwn(vals[:0], h, k); !ok || !p.attachOwn(k, vals) {
			return vals
		}
		e.Predicted = p.predicts(h)
		p.addFading(k, h, vals)
	case h.Exact: // nobody runs it ahead here
		var ok bool
		if vals, ok = p.ahead.recorded(h, p.time.drawTick, vals[:0]); !ok || !p.attachOwn(k, vals) {
			return vals
		}
	default:
		drawn, ok := p.drawOther(h)
		if !ok || !p.attach(k, drawn, p.time.drawTick, 0) {
			return vals
		}
		e.Drawn = drawn
		vals = k.AppendDrawn(vals[:0], drawn)
	}
	e.Vals = vals
	f(e)
	return vals
}

// drawTrack draws an entity that is run ahead; h is nil if it exists in the prediction only.
func (p *playback) drawTrack(t *track, h *snapshot.Replica, vals []float64, f func(e *Entity)) []float64 {
	vals, ok := p.ahead.values(t, vals[:0])
	if !ok {
		return vals
	}
	p.ahead.mark(t)
	t.addError(p.rules.Kinds[t.kind], vals)
	e := &p.shown
	*e = Entity{ID: t.shown, Kind: t.kind, Predicted: t.state == onTime, Vals: vals, Replica: h, play: p, track: t}
	f(e)
	return vals
}

// addFading adds the fading error of the prediction to the place in vals, and turns it.
func (p *playback) addFading(k *schema.Kind, h *snapshot.Replica, vals []float64) {
	if p.predicts(h) {
		k.Turn(vals, p.own.smooth.Turn())
	}
	place := k.PlaceProp()
	if place == nil {
		return
	}
	off := p.fading(h)
	for j, d := range [3]float64{off.X, off.Y, off.Z} {
		if j < place.Comps {
			vals[place.At+j] += d
		}
	}
}

// drawOwn appends the values of an entity that the player owns, without its fading error and
// relative to its parent. ok is false if nothing is known of it.
func (p *playback) drawOwn(vals []float64, h *snapshot.Replica, k *schema.Kind) (_ []float64, ok bool) {
	a, b, u := p.own.between()
	if p.predicts(h) {
		return k.AppendExact(vals, a, b, u), true
	}
	if p.cfg.NoPrediction && !p.cfg.NoInterpolation && p.time.drawTick > 0 { // it glides, late, as all others
		if vals, ok = p.ahead.recorded(h, p.time.drawTick, vals); ok {
			return vals, true
		}
	}
	s := h.Groups[snapshot.OwnerGroup].Newest()
	if s == nil {
		return vals, false
	}
	return k.AppendExact(vals, nil, s.Vals, 65536), true
}

// predicts reports whether an entity is drawn as it is predicted.
func (p *playback) predicts(h *snapshot.Replica) bool {
	if p.cfg.NoPrediction || game.ID(h.ID) != p.own.me {
		return false
	}
	s, _ := p.own.drawnState()
	return s != nil
}

// fading returns the error that is added to the place of an entity that the player owns, in the
// world.
func (p *playback) fading(h *snapshot.Replica) geom.Vec3 {
	if !p.predicts(h) {
		return geom.Vec3{}
	}
	return p.own.smooth.Error()
}

// drawAt draws an entity at a playout time, as the server would when it rewinds. ok is false if no
// record of some group arrived yet.
func (p *playback) drawAt(h *snapshot.Replica, t clock.TickFrac) (drawn []int64, ok bool) {
	k := p.rules.Kinds[h.Kind]
	drawn = p.drawn[:k.Obs]
	if !p.drawInto(h, t, drawn) {
		return nil, false
	}
	p.texts.Spell(k, drawn)
	return drawn, true
}

// drawInto draws an entity's groups at a playout time into drawn. It returns false if no record of
// some group arrived yet; groups that are not sent to this player are zero.
func (p *playback) drawInto(h *snapshot.Replica, t clock.TickFrac, drawn []int64) bool {
	k := p.rules.Kinds[h.Kind]
	for g := range k.Groups {
		group := &k.Groups[g]
		if group.N == 0 {
			continue
		}
		a, b := p.around(&h.Groups[g], t)
		if a == nil && k.Later(g) {
			clear(drawn[group.At : group.At+group.N])
			continue
		}
		if a == nil {
			return false
		}
		motion.Draw(k, group, a, b, t, drawn[group.At:group.At+group.N])
	}
	return true
}

// around returns the states that an entity is drawn between at a playout time, of those that had
// arrived by the frame that is drawn.
func (p *playback) around(g *snapshot.Group, t clock.TickFrac) (a, b *motion.State) {
	if p.cfg.NoInterpolation {
		a = g.Newest()
	} else {
		a, b = g.Around(t)
	}
	for b != nil && !p.screen.has(p.frame, b.Tick) {
		_, b = g.Since(b.Tick)
	}
	for a != nil && !p.screen.has(p.frame, a.Tick) {
		a, _ = g.Since(a.Tick - 1)
	}
	if a == nil { // before its first state it is drawn where that puts it
		a, b = b, nil
	}
	return a, b
}

// timeOf returns the tick time that an entity is drawn at in this frame. ok is false if it does not
// move.
func (p *playback) timeOf(h *snapshot.Replica) (t clock.TickFrac, ok bool) {
	k := p.rules.Kinds[h.Kind]
	at := p.time.drawTick
	for g := range k.Groups {
		if !k.Groups[g].Moving || h.Mine {
			continue
		}
		if p.carry(k, &h.Groups[g]) != nil {
			return p.time.nowTick, true
		}
		if a, b := h.Groups[g].Around(at); a != nil {
			return motion.Time(a, b, at), true
		}
	}
	return at, false
}

// TimeOf returns the tick time that an entity is drawn at in this frame: the playout time, earlier
// where the server announced that records of it take longer, the present where it is extrapolated.
// ok is false if nothing of it is drawn between records.
func (c *Client) TimeOf(h *snapshot.Replica) (t clock.TickFrac, ok bool) { return c.play.timeOf(h) }

// countStall counts for how long an entity, of which records just arrived, stood still because
// nothing newer had arrived for it: from when the newest record before was drawn as it is until the
// last frame. That is known only now, since an entity that rests needs no record.
func (p *playback) countStall(h *snapshot.Replica) {
	k := p.rules.Kinds[h.Kind]
	last := p.time.prevDrawTick
	for g := range k.Groups {
		if !k.Groups[g].Moving || k.Groups[g].Reckoned != 0 { // dead reckoning goes on
			continue
		}
		a, b := h.Groups[g].Since(h.Looked)
		if newest := h.Groups[g].Newest(); newest != nil {
			h.Looked = newest.Tick
		}
		if a == nil || b == nil || b.Cut > a.Tick || slices.Equal(a.Vals, b.Vals) {
			return
		}
		from := a.Shown()
		if carry := p.carry(k, &h.Groups[g]); carry != nil {
			from, last = a.Tick.Frac()+carry.Reach(), p.time.prevNowTick
		}
		if b.Start > a.Tick+1 {
			from = max(from, (b.Start-1).Frac()+motion.Wait(b.Bound).Frac())
		}
		p.stats.EntityHitches += p.hitches(last - from)
		p.stats.SingleHitches += p.hitches(min(last, p.time.prevNewest.Frac()) - from)
		return
	}
}

// hitches returns how many hitches it is to stand still for so many ticks.
func (p *playback) hitches(stall clock.TickFrac) uint64 {
	return playout.Hitches(time.Duration(int64(stall) * int64(p.time.period) / clock.FracPerTick))
}

// view is what this player sees at a playout time. It implements engine.Seer.
type view struct {
	_ [0]func() // no == for it, which pages would have to load

	p       *playback
	frame   uint32         // 0: the present one
	tick    clock.Tick     // of the command that is predicted; 0: none is
	receipt rewind.Receipt // Stated is the playout time, 0: nothing was drawn yet
}

// look begins a view.
func (v *view) look(at clock.TickFrac, frame uint32, tick clock.Tick) {
	v.frame, v.tick, v.receipt = frame, tick, rewind.Receipt{Stated: at, Used: at}
	if at == 0 || v.p.cfg.NoRewind {
		v.receipt.Reason = rewind.None
	}
}

// RewindAtMost bounds the age of what the rest of the command sees, as the server does in the tick
// that the command is for. Queued commands run in ticks that clients do not know.
func (v *view) RewindAtMost(most time.Duration) {
	if v.tick != 0 && !v.p.time.queued {
		v.receipt.AtMost(most, v.tick, v.p.time.period)
	}
}

// Past implements engine.Seer.
func (v *view) Past(id game.ID, t clock.Tick) (sims []int64, cut clock.Tick) {
	s := v.p.own.ring.Drawn(t)
	if s == nil || id != v.p.own.me && v.p.time.queued { // of all else the server has ticks of its own
		return nil, 0
	}
	m := s.Find(id)
	if m == nil || m.Gone != 0 {
		return nil, 0
	}
	return s.Of(m, v.p.rules.Kinds[m.Kind]), m.Cut
}

// Receipt implements engine.Seer.
func (v *view) Receipt() engine.Receipt {
	return engine.NewReceipt(v.receipt.Stated, v.receipt.Used, 0, v.receipt.Reason)
}

// Seen implements engine.Seer.
func (v *view) Seen(q engine.Query, dst *engine.Sight) {
	t := v.receipt.Used
	if t == 0 || v.receipt.Reason == rewind.Off {
		t = 1 << 62 // the newest; the server judges by its present
	}
	v.p.frame = v.frame
	defer func() { v.p.frame = 0 }()
	for _, h := range v.p.store.Entities() {
		if id := game.ID(h.ID); h.Kind != q.Kind || id == q.Me || h.Exact || !q.Names(id) {
			continue
		}
		if drawn, ok := v.p.drawAt(h, t); ok {
			dst.Add(game.ID(h.ID), drawn)
		}
	}
}
