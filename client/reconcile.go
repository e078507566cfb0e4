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
	rules  *game.Rules
	cfg    *Config
	eng    *engine.Engine
	time   *timelines
	up     *uplink
	events *eventQueue
	play   *playback // what commands see, and where what carries the avatar is drawn
	stats  *Stats

	me     game.ID // the avatar, 0 before it is known
	kind   int
	ring   *predict.Predictor[engine.Set, packet.Command]
	smooth predict.Smoother

	truth     engine.Set // what the server said of one tick
	truthTick clock.Tick // server tick of the newest state of the avatar that was confirmed
	truthCut  clock.Tick // newest command before it that teleported the avatar
	serverCut clock.Tick // newest teleport in that state
	drawnCut  clock.Tick // newest teleport before what is drawn of the avatar
	cuts      uint64     // teleports that were drawn

	ran       [ranTicks]ranAt // where commands are queued, by server tick modulo ranTicks
	placeVals []float64
}

// ranAt says which queued command the server had run last as of a tick.
type ranAt struct{ tick, cmd clock.Tick }

const ranTicks = 128

func (r *reconcile) init(c *Client) {
	r.rules, r.cfg, r.eng, r.time, r.up = c.rules, &c.cfg, c.eng, &c.time, &c.up
	r.events, r.play, r.stats = &c.events, &c.play, &c.stats
	r.ring = predict.New[engine.Set, packet.Command](&model{r})
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
		r.eng.LoadSet(s)
	}
}

// own returns the avatar's integers in a state, and the newest command that teleported it; nil
// without a state, or without the avatar in it.
func (r *reconcile) own(s *engine.Set) (vals []int64, cut clock.Tick) {
	if s == nil {
		return nil, 0
	}
	m := s.Find(r.me)
	if m == nil {
		return nil, 0
	}
	return s.Of(m, r.rules.Kinds[m.Kind]), m.Cut
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
		r.truthCut, r.truthTick, r.serverCut, r.drawnCut = 0, 0, 0, 0
		r.eng.SetAvatar(r.me)
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
	before := r.pose()
	predicted, cut := r.own(r.ring.State(tick))
	if predicted != nil {
		off = r.distance(k, predicted, s.Vals)
	}
	if s.Cut > r.truthTick && r.truthTick > 0 { // since the state before
		r.truthCut = r.teleportedBy(s.Cut, tick, cut, known)
	}
	r.truthTick = s.Tick
	r.truth.Clear()
	copy(r.truth.Of(r.truth.Add(r.me, r.kind, k), k), s.Vals)
	r.truth.Members[0].Cut = r.truthCut
	if !r.ring.Agrees(tick, &r.truth) {
		r.events.foreseen.begin(tick)
	}
	o = r.ring.Confirm(tick, &r.truth)
	r.stats.Prediction.Confirmed++
	r.stats.Prediction.Replayed += uint64(o.Replayed)
	if last := r.ring.Last(); r.up.made < last {
		r.up.skipTo(last) // the server is ahead of our commands: it has no use for those of its past
	}
	if o.Corrected {
		r.stats.Prediction.Corrections++
		r.hide(before, r.pose())
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
// the newest command in the state that brought the news, predicted the newest command up to it that
// was predicted to teleport, known the newest command that was confirmed before.
func (r *reconcile) teleportedBy(cut, tick, predicted, known clock.Tick) clock.Tick {
	switch {
	case !r.time.queued:
		return cut
	case predicted > known: // which of the commands since then, only the prediction knows
		return predicted
	}
	return tick
}

// drawnState returns the newest state that is computed, which is drawn; nil if there is none. With
// debt it is older than the newest command.
func (r *reconcile) drawnState() (*engine.Set, clock.Tick) {
	t := r.newestDrawn()
	return r.ring.State(t), t
}

// detectTeleport notices that the avatar is drawn on the other side of a teleport than before, and
// reports whether it is. Then nothing fades.
func (r *reconcile) detectTeleport() bool {
	s, _ := r.drawnState()
	vals, cut := r.own(s)
	if vals == nil || cut == r.drawnCut {
		return false
	}
	r.drawnCut = cut
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
	a, _ := r.own(r.ring.State(r.up.made - 1))
	b, _ := r.own(r.ring.State(r.up.made))
	if a == nil || b == nil || !parentsDiffer(k, a, b) {
		return
	}
	r.hide(r.poseOf(k, a, a, 0), r.poseOf(k, b, b, 0))
}

// between returns the own states before and after the moment that is drawn, and how far between
// them it is, in 1/65536. Both are nil if nothing is predicted.
func (r *reconcile) between() (a, b []int64, u int64) {
	s, t := r.drawnState()
	b, cut := r.own(s)
	if b == nil {
		return nil, nil, 0
	}
	a, before := r.own(r.ring.State(t - 1))
	if a == nil || before != cut || parentsDiffer(r.rules.Kinds[r.kind], a, b) {
		return b, b, 65536
	}
	f := int64(r.time.drawnAt() - (t - 1).Frac())
	return a, b, min(max(f, 0), clock.FracPerTick) << 8
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

// model lets package predict run the game's rules over what is predicted.
type model struct{ r *reconcile }

func (m *model) Copy(dst, src *engine.Set) { dst.CopyFrom(src) }

func (m *model) Same(server, predicted *engine.Set) bool {
	tolerance := m.r.cfg.Tolerance
	for i := range server.Members {
		want := &server.Members[i]
		got := predicted.Find(want.ID)
		if got == nil {
			return false
		}
		k := m.r.rules.Kinds[want.Kind]
		a, b := server.Of(want, k), predicted.Of(got, k)
		if !sameOwned(k, a, b) && (tolerance.Exact() || !m.r.within(tolerance, k, a, b)) {
			return false
		}
	}
	return true
}

// sameOwned reports whether two states of an entity are equal in all that its predictors receive.
func sameOwned(k *schema.Kind, a, b []int64) bool {
	for _, i := range k.Owned {
		p := &k.Props[i]
		for c := p.At; c < p.At+p.Comps; c++ {
			if a[c] != b[c] {
				return false
			}
		}
	}
	return true
}

func (m *model) Adopt(dst, server, predicted *engine.Set) {
	for i := range server.Members {
		from := &server.Members[i]
		k := m.r.rules.Kinds[from.Kind]
		to := dst.Find(from.ID)
		if to == nil {
			to = dst.Add(from.ID, from.Kind, k)
		}
		to.Cut, to.Gone = from.Cut, 0
		adoptOwned(k, dst.Of(to, k), server.Of(from, k))
	}
}

// adoptOwned takes over from a state what the predictors of an entity receive.
func adoptOwned(k *schema.Kind, dst, src []int64) {
	for _, i := range k.Owned {
		p := &k.Props[i]
		copy(dst[p.At:p.At+p.Comps], src[p.At:p.At+p.Comps])
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

func (m *model) Run(tick clock.Tick, cmd *packet.Command, s *engine.Set, replay bool) {
	r := m.r
	r.eng.SetTick(tick)
	r.eng.Unhide(tick, tick) // its removals are decided anew
	r.eng.LoadSet(s)
	r.play.view.at = cmd.Seen
	if r.eng.Act(r.me, cmd.Vals, &r.play.view, replay) != nil {
		r.stats.Prediction.Faults++
	}
	if r.eng.Step(replay) != nil {
		r.stats.Prediction.Faults++
	}
	r.eng.SaveSet(s)
}
