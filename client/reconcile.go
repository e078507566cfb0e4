package client

import (
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/predict"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
)

// reconcile predicts the player's own avatar and corrects it by what the server says. What a
// correction moves fades away; nothing fades across a teleport.
type reconcile struct {
	rules *game.Rules
	cfg   *Config
	eng   *engine.Engine
	time  *timelines
	up    *uplink
	play  *playback // what commands see, and where what carries the avatar is drawn
	stats *Stats

	me     game.ID // the avatar, 0 before it is known
	kind   int
	ring   *predict.Predictor[ownState, packet.Command]
	smooth predict.Smoother

	truth     ownState   // the newest state that was confirmed, as the server sent it
	truthTick clock.Tick // its server tick
	serverCut clock.Tick // newest teleport in it
	drawnCut  clock.Tick // newest teleport before what is drawn of the avatar
	cuts      uint64     // teleports that were drawn

	ran       [ranTicks]ranAt // where commands are queued, by server tick modulo ranTicks
	placeVals []float64
}

// ownState is a state of the avatar: its simulation integers, and the newest command that
// teleported it, 0 for none. A replay of a command decides anew whether it teleports.
type ownState struct {
	vals []int64
	cut  clock.Tick
}

// ranAt says which queued command the server had run last as of a tick.
type ranAt struct{ tick, cmd clock.Tick }

const ranTicks = 128

func (r *reconcile) init(c *Client) {
	r.rules, r.cfg, r.eng, r.time, r.up, r.play, r.stats = c.rules, &c.cfg, c.eng, &c.time, &c.up, &c.play, &c.stats
	r.ring = predict.New[ownState, packet.Command](&model{r})
}

// is reports whether an entity is the avatar that is predicted.
func (r *reconcile) is(h *snapshot.Replica) bool { return r.me == game.ID(h.ID) && r.kind == h.Kind }

// noteRan notes the newest queued command that the server had run as of a tick, 0 for none.
func (r *reconcile) noteRan(tick, cmd clock.Tick) {
	if cmd != 0 {
		r.ran[tick%ranTicks] = ranAt{tick, cmd}
	}
}

// show makes the avatar's state after a tick the one that rules see.
func (r *reconcile) show(t clock.Tick) {
	if s := r.ring.State(t); s != nil {
		r.eng.PutOwned(r.me, r.kind, s.vals)
	}
}

// predict runs the newest command.
func (r *reconcile) predict() {
	if r.me == 0 {
		return
	}
	if r.ring.Catch(); !r.detectTeleport() {
		r.absorbParentChange()
	}
}

// confirm applies a state of the player's avatar that arrived, and passes on what it meant.
func (c *Client) confirm(e *snapshot.Replica, s *motion.State) {
	tick, o, off, ok := c.own.confirm(e, s)
	if !ok {
		return
	}
	if c.OnConfirm != nil {
		c.OnConfirm(tick, o, off)
	}
	c.events.collect()
}

// confirm compares a state of the avatar that arrived with the prediction, and replays later
// commands where they differ. tick is that of the newest command in the state, off how many metres
// the prediction was off. ok is false if the state is old, or of no command yet.
func (r *reconcile) confirm(e *snapshot.Replica, s *motion.State) (tick clock.Tick, o predict.Outcome, off float64,
	ok bool) {
	k := r.rules.Kinds[e.Kind]
	if !r.is(e) {
		r.ring.Reset()
		r.smooth.Clear()
		r.me, r.kind = game.ID(e.ID), e.Kind
		r.truth.cut, r.truthTick, r.serverCut, r.drawnCut = 0, 0, 0, 0
	}
	if s.Cut > r.serverCut {
		if r.cfg.NoPrediction && r.truthTick > 0 {
			r.cuts++
		}
		r.serverCut = s.Cut
	}
	known := r.ring.Base()
	if tick = r.commandOf(s.Tick); tick <= known {
		return 0, o, 0, false
	}
	before, had := r.place(k)
	predicted := r.ring.State(tick)
	if predicted != nil {
		off = r.distance(k, predicted.vals, s.Vals)
	}
	r.truth.vals = s.Vals
	if s.Cut > r.truthTick && r.truthTick > 0 { // since the state before
		r.truth.cut = r.teleportedBy(s.Cut, tick, predicted, known)
	}
	r.truthTick = s.Tick
	o = r.ring.Confirm(tick, &r.truth)
	r.stats.Confirmed++
	r.stats.Replayed += uint64(o.Replayed)
	if last := r.ring.Last(); r.up.made < last {
		r.up.skipTo(last) // the server is ahead of our commands: it has no use for those of its past
	}
	if o.Corrected {
		r.stats.Corrections++
		if after, ok := r.place(k); had && ok {
			r.smooth.Add(before.Sub(after))
		}
	}
	r.detectTeleport() // nothing fades across a teleport that was not foreseen, or was predicted in vain
	return tick, o, off, true
}

// commandOf returns the newest command in the server's state of a tick, 0 if none has run yet.
func (r *reconcile) commandOf(tick clock.Tick) clock.Tick {
	if !r.time.queued {
		return tick
	}
	if at := &r.ran[tick%ranTicks]; at.tick == tick {
		return at.cmd
	}
	return 0
}

// teleportedBy returns the command that a teleport at a tick of the server's belongs to. tick is
// the newest command in the state that brought the news, predicted what was predicted for it, known
// the newest command that was confirmed before.
func (r *reconcile) teleportedBy(cut, tick clock.Tick, predicted *ownState, known clock.Tick) clock.Tick {
	switch {
	case !r.time.queued:
		return cut
	case predicted != nil && predicted.cut > known: // which of the commands since then, only the prediction knows
		return predicted.cut
	}
	return tick
}

// drawnState returns the newest state that is computed, which is drawn; nil if there is none. With
// debt it is older than the newest command.
func (r *reconcile) drawnState() (*ownState, clock.Tick) {
	t := min(r.up.made, r.ring.Done())
	return r.ring.State(t), t
}

// detectTeleport notices that the avatar is drawn on the other side of a teleport than before, and
// reports whether it is. Then nothing fades.
func (r *reconcile) detectTeleport() bool {
	s, _ := r.drawnState()
	if s == nil || s.cut == r.drawnCut {
		return false
	}
	r.drawnCut = s.cut
	r.smooth.Clear()
	if !r.cfg.NoPrediction {
		r.cuts++
	}
	return true
}

// absorbParentChange hides the step that it is when the newest command put the avatar onto another
// entity, or off it: the avatar is predicted, but what carries it is drawn in the past.
func (r *reconcile) absorbParentChange() {
	k := r.rules.Kinds[r.kind]
	a, b := r.ring.State(r.up.made-1), r.ring.State(r.up.made)
	if a == nil || b == nil || !parentsDiffer(k, a.vals, b.vals) {
		return
	}
	from, ok := r.placeOf(k, a.vals, a.vals, 0)
	to, there := r.placeOf(k, b.vals, b.vals, 0)
	if ok && there {
		r.smooth.Add(from.Sub(to))
	}
}

// between returns the own states before and after the moment that is drawn, and how far between
// them it is, in 1/65536. Both are nil if nothing is predicted.
func (r *reconcile) between() (a, b []int64, u int64) {
	sb, t := r.drawnState()
	if sb == nil {
		return nil, nil, 0
	}
	sa := r.ring.State(t - 1)
	if sa == nil || sa.cut != sb.cut || parentsDiffer(r.rules.Kinds[r.kind], sa.vals, sb.vals) {
		return sb.vals, sb.vals, 65536
	}
	f := int64(r.time.tickAhead() - r.up.made.Frac())
	return sa.vals, sb.vals, min(max(f, 0), clock.FracPerTick) << 8
}

// place returns where in the world the avatar is drawn, without its fading error. ok is false if it
// is not known.
func (r *reconcile) place(k *schema.Kind) (at geom.Vec3, ok bool) {
	a, b, u := r.between()
	if b == nil {
		return at, false
	}
	return r.placeOf(k, a, b, u)
}

// placeOf returns where in the world an avatar is drawn whose state is u/65536 of the way from a to
// b. ok is false if its parent is not known.
func (r *reconcile) placeOf(k *schema.Kind, a, b []int64, u int64) (v geom.Vec3, ok bool) {
	p := k.PlaceProp()
	if p == nil {
		return v, true
	}
	to := [3]*float64{&v.X, &v.Y, &v.Z}
	if hasParent(k, b) {
		r.placeVals = k.AppendExact(r.placeVals[:0], a, b, u)
		if !r.play.attachOwn(k, r.placeVals) {
			return v, false
		}
		for j := range p.Comps {
			*to[j] = r.placeVals[p.At+j]
		}
		return v, true
	}
	for j := range p.Comps {
		from := a[p.At+j]
		*to[j] = (float64(from) + float64(float64(b[p.At+j]-from)*float64(u))/65536) / p.Sim
	}
	return v, true
}

// distance returns how many metres two states of the avatar are apart. States with different
// parents are as far apart as they are drawn.
func (r *reconcile) distance(k *schema.Kind, a, b []int64) float64 {
	from, ok := r.placeOf(k, a, a, 0)
	to, there := r.placeOf(k, b, b, 0)
	if !ok || !there {
		return 0
	}
	return to.Sub(from).Len()
}

// AppendMe appends the properties of the player's avatar as of the newest command, without
// smoothing, and returns its kind. A place that is relative to a parent is where the parent is
// drawn. ok is false, and nothing is appended, while there is no avatar.
func (c *Client) AppendMe(vals []float64) (_ []float64, kind int, ok bool) {
	h := c.store.Find(uint32(c.own.me))
	if c.own.me == 0 || h == nil || !h.Mine {
		return vals, 0, false
	}
	k := c.rules.Kinds[h.Kind]
	_, now, _ := c.own.between()
	if now == nil || c.cfg.NoPrediction {
		s := h.Groups[snapshot.OwnerGroup].Newest()
		if s == nil {
			return vals, 0, false
		}
		now = s.Vals
	}
	n := len(vals)
	if vals = k.AppendExact(vals, nil, now, 65536); !c.play.attachOwn(k, vals[n:]) {
		return vals[:n], 0, false
	}
	return vals, h.Kind, true
}

// model lets package predict run the game's rules over the avatar's simulation integers.
type model struct{ r *reconcile }

func (m *model) Copy(dst, src *ownState) {
	dst.vals, dst.cut = append(dst.vals[:0], src.vals...), src.cut
}

func (m *model) kind() *schema.Kind { return m.r.rules.Kinds[m.r.kind] }

func (m *model) Same(server, predicted *ownState) bool {
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

func (m *model) Adopt(dst, server, predicted *ownState) {
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

func (m *model) Repeat(tick clock.Tick, dst, src *packet.Command) {
	k := m.r.rules.Command
	*dst = packet.Command{Tick: tick, Vals: append(dst.Vals[:0], src.Vals...), Seen: src.Seen, Newest: src.Newest}
	for len(dst.Vals) < k.Sims {
		dst.Vals = append(dst.Vals, 0)
	}
	packet.ClearPresses(k, dst.Vals)
}

func (m *model) Run(tick clock.Tick, cmd *packet.Command, s *ownState, replay bool) {
	r := m.r
	r.eng.SetTick(tick)
	r.eng.Unhide(tick, tick) // its removals are decided anew
	r.eng.PutOwned(r.me, r.kind, s.vals)
	r.play.view.at = cmd.Seen
	if r.eng.Act(r.me, cmd.Vals, &r.play.view, replay) != nil {
		r.stats.Faults++
	}
	if r.eng.Step(replay) != nil {
		r.stats.Faults++
	}
	if _, sims := r.eng.Sims(r.me); sims != nil {
		s.vals = append(s.vals[:0], sims...)
	}
	if r.eng.WasCut(r.me) {
		s.cut = tick
	}
}
