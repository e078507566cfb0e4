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
	"meanwhile/netcode/packet"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
)

// Entity is one entity as it is to be drawn.
type Entity struct {
	ID   game.ID
	Kind int
	Mine bool
	// Vals are the kind's properties as numbers, see schema.Kind.AppendDrawn; valid during the call.
	Vals []float64
	// Drawn are the integers behind them, of what is not mine.
	Drawn []int64
	// Held is what is known of it.
	Held *snapshot.Replica
}

// Draw calls f for every entity in sight by kind and rising ID: the player's own avatar predicted, with its
// fading error, everything else at the playout time. What is relative to a parent is drawn where that is, and left out if its parent is not in
// sight. What a predicted command removed is left out.
func (c *Client) Draw(vals []float64, f func(e *Entity)) []float64 {
	e := &c.shown
	for kind, k := range c.rules.Kinds {
		for _, h := range c.store.Entities() {
			if h.Kind != kind || !c.cfg.NoPrediction && c.eng.Hidden(game.ID(h.ID)) {
				continue
			}
			*e = Entity{ID: game.ID(h.ID), Kind: kind, Mine: h.Mine, Held: h}
			if h.Mine {
				var ok bool
				if vals, ok = c.drawOwn(vals[:0], h, k); !ok || !c.attachOwn(k, vals) {
					continue
				}
				if p := ownPlace(k); p != nil {
					off := c.fading(h)
					for j, d := range [3]float64{off.X, off.Y, off.Z} {
						if j < p.Comps {
							vals[p.At+j] += d
						}
					}
				}
			} else {
				drawn, ok := c.picture(h)
				if !ok || !c.attach(k, drawn, c.playT, 0) {
					continue
				}
				e.Drawn = drawn
				vals = k.AppendDrawn(vals[:0], drawn)
			}
			e.Vals = vals
			f(e)
		}
	}
	return vals
}

// drawOwn appends the numbers of what the player owns, without its fading error and relative to its parent.
func (c *Client) drawOwn(vals []float64, h *snapshot.Replica, k *schema.Kind) ([]float64, bool) {
	a, b, u := c.between()
	if !c.predicts(h) {
		s := h.Groups[snapshot.OwnerGroup].Newest()
		if s == nil {
			return vals, false
		}
		return k.AppendExact(vals, nil, s.Vals, 65536), true
	}
	return k.AppendExact(vals, a, b, u), true
}

// predicts reports whether an entity is drawn as it is predicted.
func (c *Client) predicts(h *snapshot.Replica) bool {
	return !c.cfg.NoPrediction && game.ID(h.ID) == c.me && c.own.State(min(c.cmdTick, c.own.Done())) != nil
}

// fading returns the error that is added to the place of what the player owns, in the world.
func (c *Client) fading(h *snapshot.Replica) geom.Vec3 {
	if !c.predicts(h) {
		return geom.Vec3{}
	}
	return c.smooth.Error()
}

// ownPlace returns the property that says where an entity is, nil if none does.
func ownPlace(k *schema.Kind) *schema.Prop {
	if k.PlaceX < 0 {
		return nil
	}
	for i := range k.Props {
		if p := &k.Props[i]; p.Class == schema.Pos && p.ObsAt == k.PlaceX {
			return p
		}
	}
	return nil
}

// drawAt draws an entity at a playout time; ok is false if no record of some group is held.
func (c *Client) drawAt(h *snapshot.Replica, t clock.TickFrac) (drawn []int64, ok bool) {
	k := c.rules.Kinds[h.Kind]
	drawn = c.drawn[:k.Obs]
	if !c.drawInto(h, t, drawn) {
		return nil, false
	}
	c.texts.Spell(k, drawn)
	return drawn, true
}

// TimeOf returns the tick time that an entity is drawn at in this frame: the playout time, earlier where the server said that
// records of it take longer, later where it is guessed. ok is false if nothing of it is drawn between records.
func (c *Client) TimeOf(h *snapshot.Replica) (t clock.TickFrac, ok bool) {
	k := c.rules.Kinds[h.Kind]
	at := c.playT
	if c.guesses(k) {
		at = c.guessT
	}
	for g := range k.Groups {
		if !k.Groups[g].Moving || h.Mine {
			continue
		}
		if a, b := h.Groups[g].Around(at); a != nil {
			return motion.Time(a, b, at), true
		}
	}
	return at, false
}

// starved counts what an entity, of which records were taken in just now, stood still for want of them: from when the newest record before was
// drawn as it is until the last frame. That is known only now, since who does not move needs no record.
func (c *Client) starved(h *snapshot.Replica, k *schema.Kind) {
	last := c.lastT
	if c.guesses(k) {
		last = c.lastG - c.guess
	}
	for g := range k.Groups {
		if !k.Groups[g].Moving || k.Groups[g].Reckoned != 0 { // what is dead reckoned goes on
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
		if b.Start > a.Tick+1 {
			from = max(from, (b.Start-1).Frac()+motion.Wait(b.Bound).Frac())
		}
		c.stats.EntityHitches += c.hitches(last - from)
		c.stats.SingleHitches += c.hitches(min(last, c.lastNewest.Frac()) - from)
		return
	}
}

// hitches returns how many hitches it is to stand still for so many ticks.
func (c *Client) hitches(stood clock.TickFrac) uint64 {
	return playout.Hitches(time.Duration(int64(stood) * int64(c.welcome.Period) / clock.FracPerTick))
}

// OwnOffset returns the fading error of the avatar's prediction that is added to its place.
func (c *Client) OwnOffset() geom.Vec3 { return c.smooth.Error() }

// seer answers what this player sees at a playout time.
type seer struct {
	c *Client
	t clock.TickFrac
}

// Seen implements engine.Seer.
func (s *seer) Seen(kind int, me game.ID, dst *engine.Sight) {
	t := s.t
	if t == 0 {
		t = 1 << 62 // nothing was drawn yet: the newest, as the server will take it
	}
	for _, h := range s.c.store.Entities() {
		if h.Kind != kind || game.ID(h.ID) == me || h.Mine {
			continue
		}
		if drawn, ok := s.c.drawAt(h, t); ok {
			dst.Add(game.ID(h.ID), drawn)
		}
	}
}

// ownState is a state of the avatar: its simulation integers, and the newest command that teleported it, 0 for none. What replays a command decides anew
// whether it does.
type ownState struct {
	vals []int64
	cut  clock.Tick
}

// model lets package predict run the game's rules over the avatar's simulation integers.
type model struct{ c *Client }

func (m model) Copy(dst, src *ownState) {
	dst.vals, dst.cut = append(dst.vals[:0], src.vals...), src.cut
}

func (m model) kind() *schema.Kind { return m.c.rules.Kinds[m.c.meKind] }

func (m model) Same(server, predicted *ownState) bool {
	k := m.kind()
	for _, i := range k.Owned {
		p := &k.Props[i]
		for c := p.At; c < p.At+p.Comps; c++ {
			if server.vals[c] != predicted.vals[c] {
				return false
			}
		}
	}
	return true
}

func (m model) Adopt(dst, server, predicted *ownState) {
	k := m.kind()
	dst.cut = server.cut
	if len(dst.vals) != k.Sims {
		dst.vals = make([]int64, k.Sims)
	}
	for _, i := range k.Owned {
		p := &k.Props[i]
		copy(dst.vals[p.At:p.At+p.Comps], server.vals[p.At:p.At+p.Comps])
	}
}

func (m model) Repeat(tick clock.Tick, dst, src *packet.Command) {
	k := m.c.rules.Command
	*dst = packet.Command{Tick: tick, Vals: append(dst.Vals[:0], src.Vals...), Seen: src.Seen, Newest: src.Newest}
	for len(dst.Vals) < k.Sims {
		dst.Vals = append(dst.Vals, 0)
	}
	for i := range k.Props {
		if p := &k.Props[i]; p.Class == schema.Press {
			dst.Vals[p.At] = 0
		}
	}
}

func (m model) Run(tick clock.Tick, cmd *packet.Command, s *ownState, replay bool) {
	c := m.c
	c.eng.SetTick(tick)
	c.eng.Unhide(tick, tick) // its removals are decided anew
	c.eng.PutOwned(c.me, c.meKind, s.vals)
	c.seer.t = cmd.Seen
	if c.eng.Act(c.me, cmd.Vals, &c.seer, replay) != nil {
		c.stats.Faults++
	}
	if c.eng.Step(replay) != nil {
		c.stats.Faults++
	}
	if _, sims := c.eng.Sims(c.me); sims != nil {
		s.vals = append(s.vals[:0], sims...)
	}
	if c.eng.WasCut(c.me) {
		s.cut = tick
	}
}
