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
	store  *snapshot.Store
	time   *timelines
	down   *downlink
	up     *uplink
	ahead  *ahead
	events *eventQueue
	play   *playback // what commands see, and where what carries the avatar is drawn
	stats  *Stats

	me     game.ID // the avatar, 0 before it is known
	kind   int
	ring   *predict.Predictor[engine.Set, packet.Command]
	smooth predict.Smoother

	truth     engine.Set   // what the server said of one tick
	ticks     []clock.Tick // ticks of which it said something new
	turns     uint64       // store.Turns when the spawns were last matched
	spawned   clock.Tick   // the client knows what lives of all that commands up to this one spawned
	implied   motion.State // see news
	truthTick clock.Tick   // server tick of the newest state of the avatar that was confirmed
	truthCut  clock.Tick   // newest command before it that teleported the avatar
	serverCut clock.Tick   // newest teleport in that state
	drawnCut  clock.Tick   // newest teleport before what is drawn of the avatar
	cuts      uint64       // teleports that were drawn

	desyncs   desyncs
	ran       [ranTicks]ranAt // where commands are queued, by server tick modulo ranTicks
	placeVals []float64
}

// ranAt says which queued command the server had run last as of a tick.
type ranAt struct{ tick, cmd clock.Tick }

const ranTicks = 128

func (r *reconcile) init(c *Client) {
	r.rules, r.cfg, r.eng, r.store, r.ahead = c.rules, &c.cfg, c.eng, c.store, &c.ahead
	r.time, r.down, r.up = &c.time, &c.down, &c.up
	r.events, r.play, r.stats = &c.events, &c.play, &c.stats
	r.desyncs.own = r
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
	if s := r.ring.Drawn(t); s != nil {
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
	r.ahead.appear()
}

// lose notes that the player has no avatar.
func (r *reconcile) lose() {
	if r.me == 0 {
		return
	}
	r.me = 0
	r.truth.Clear()
	r.eng.LoadSet(&r.truth)
	r.eng.SetAvatar(0)
}

// confirm applies a state of the player's avatar that arrived, and passes on what it meant. It
// returns false if the state says nothing new.
func (c *Client) confirm(e *snapshot.Replica, s *motion.State) bool {
	tick, o, off, ok := c.own.confirm(e, s)
	if !ok {
		return false
	}
	if c.OnConfirm != nil {
		c.OnConfirm(tick, o, off)
	}
	c.events.collect()
	return true
}

// news returns the newest state of the avatar that the server told of since the last one: that of
// its newest record or, after a settled datagram, the same of a later tick. It returns nil if there
// is none.
func (r *reconcile) news(e *snapshot.Replica) *motion.State {
	s := e.Groups[snapshot.OwnerGroup].Newest()
	if s == nil {
		return nil
	}
	if t := r.down.settledTick; t > s.Tick && t > r.ring.Base() && r.is(e) && !r.time.queued {
		r.implied = *s
		r.implied.Tick = t
		return &r.implied
	}
	if e.Fresh || !r.is(e) {
		return s
	}
	return nil
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
	predicted, cut := r.own(r.ring.State(tick))
	wrong := false
	if predicted != nil {
		off = r.distance(k, predicted, s.Vals)
		wrong = !r.agrees(k, predicted, s.Vals)
	}
	if s.Cut > r.truthTick && r.truthTick > 0 { // since the state before
		r.truthCut = r.teleportedBy(s.Cut, tick, cut, known)
	}
	r.truthTick = s.Tick
	if wrong {
		r.state(tick, s, true)
		r.desyncs.differ(tick, &r.truth)
	}
	r.desyncs.compared()
	replayed := r.revise(tick, wrong)
	r.state(tick, s, true)
	if !r.ring.Agrees(tick, &r.truth) {
		r.events.foreseen.begin(tick)
	}
	o = r.ring.Confirm(tick, &r.truth)
	o.Corrected = wrong
	o.Replayed += replayed
	r.stats.Prediction.Confirmed++
	r.stats.Prediction.Replayed += uint64(o.Replayed)
	if last := r.ring.Last(); r.up.made < last {
		r.up.skipTo(last) // the server is ahead of our commands: it has no use for those of its past
	}
	if o.Corrected {
		r.stats.Prediction.Corrections++
	}
	r.detectTeleport()
	return tick, o, off, true
}

// revise compares what the server said of the entities that are run ahead, since it was last
// called, with the prediction, and corrects it from the first difference on. With also, own, the
// avatar differs at tick own. It returns how many ticks ran again.
func (r *reconcile) revise(own clock.Tick, also bool) (replayed int) {
	if !r.ahead.any {
		return 0
	}
	r.ticks = r.ticks[:0]
	r.match()
	for _, h := range r.store.Entities() {
		if !h.Exact || h.Mine || !h.Fresh {
			continue
		}
		h.Fresh = false
		if st := h.Groups[snapshot.OwnerGroup].Newest(); st != nil {
			r.note(st.Tick)
		}
	}
	r.note(r.down.newestTick) // something may be gone, or refused
	if also {
		r.note(own)
	}
	for _, t := range r.ticks {
		if r.ring.State(t) == nil {
			continue
		}
		r.state(t, nil, false)
		if r.ring.Agrees(t, &r.truth) {
			continue
		}
		r.desyncs.differ(t, &r.truth)
		r.events.foreseen.begin(t)
		return r.ring.Revise(t, &r.truth).Replayed
	}
	return 0
}

// hideFrom hides that the avatar would be drawn elsewhere in this frame than before noted, on what
// carries it as that is drawn now. Nothing fades across a teleport that was not foreseen, or was
// predicted in vain.
func (r *reconcile) hideFrom(before pose) {
	if r.detectTeleport(); before.cut == r.drawnCut {
		hide(&r.smooth, before, r.pose())
	}
}

// note adds a tick to ticks, in order.
func (r *reconcile) note(t clock.Tick) {
	at := len(r.ticks)
	for at > 0 && r.ticks[at-1] >= t {
		if at--; r.ticks[at] == t {
			return
		}
	}
	r.ticks = append(r.ticks, 0)
	copy(r.ticks[at+1:], r.ticks[at:])
	r.ticks[at] = t
}

// match gives what predictions spawned the IDs of the server.
func (r *reconcile) match() {
	if n := r.store.Turns(); n == r.turns {
		return
	}
	r.turns = r.store.Turns()
	for _, h := range r.store.Entities() {
		if h.Spawn.Tick == 0 || h.Spawn.N >= engine.MaxSpawns { // no prediction makes so many
			continue
		}
		key := engine.SpawnKey{Tick: h.Spawn.Tick, N: h.Spawn.N}
		h.Spawn = snapshot.Spawn{}
		from, to := key.ID(), game.ID(h.ID)
		r.eng.Adopt(key, to)
		r.ring.Each(func(s *engine.Set) { s.Rename(from, to) })
		r.ahead.rename(from, to)
		r.events.foreseen.rename(from, to)
	}
}

// state writes to truth what the server said of tick t: avatar, a state of the avatar if one is of
// that tick, and the states of all else that the client runs ahead. With upTo these are the newest
// up to t, as nothing is predicted yet.
func (r *reconcile) state(t clock.Tick, avatar *motion.State, upTo bool) {
	r.truth.Clear()
	if avatar != nil {
		r.add(r.me, r.kind, avatar.Vals, r.truthCut)
	}
	if !r.ahead.any {
		return
	}
	upTo = upTo && r.ring.State(t) == nil
	for _, h := range r.store.Entities() {
		if !h.Exact || h.Mine && (avatar != nil || r.time.queued) {
			continue // a queued command's tick is not that of the server's which ran it
		}
		g := &h.Groups[snapshot.OwnerGroup]
		st := g.At(t)
		if upTo || r.down.isSettled(t) {
			if st, _ = g.Since(t); st != nil && st.Tick > t {
				st = nil
			}
		}
		if st == nil {
			continue
		}
		cut := st.Cut
		if h.Mine {
			cut = min(r.truthCut, t)
		}
		r.add(game.ID(h.ID), h.Kind, st.Vals, cut)
	}
}

// add adds an entity to truth.
func (r *reconcile) add(id game.ID, kind int, vals []int64, cut clock.Tick) {
	k := r.rules.Kinds[kind]
	m := r.truth.Add(id, kind, k)
	m.Cut = cut
	copy(r.truth.Of(m, k), vals)
}

// over reports whether a predicted entity does not exist any more: the server removed it, sends it
// as observers receive it, or refused to spawn it.
func (r *reconcile) over(m *engine.Member) bool {
	if m.ID.Foreseen() {
		return m.ID.SpawnedBy(r.spawned)
	}
	h := r.store.Find(uint32(m.ID))
	return h == nil || !h.Exact || h.Kind != m.Kind
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
// debt it is outdated.
func (r *reconcile) drawnState() (*engine.Set, clock.Tick) {
	t := r.newestDrawn()
	return r.ring.Drawn(t), t
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
	a, _ := r.own(r.ring.Drawn(r.up.made - 1))
	b, _ := r.own(r.ring.Drawn(r.up.made))
	if a == nil || b == nil || !parentsDiffer(k, a, b) {
		return
	}
	hide(&r.smooth, r.poseOf(k, a, a, 0), r.poseOf(k, b, b, 0))
}

// between returns the own states before and after the moment that is drawn, and how far between
// them it is, in 1/65536. Both are nil if nothing is predicted.
func (r *reconcile) between() (a, b []int64, u int64) {
	s, t := r.drawnState()
	b, cut := r.own(s)
	if b == nil {
		return nil, nil, 0
	}
	a, before := r.own(r.ring.Drawn(t - 1))
	if a == nil || before != cut || parentsDiffer(r.rules.Kinds[r.kind], a, b) {
		return b, b, 65536
	}
	return a, b, int64(r.drawnIn(t)) << 8
}

// drawnIn returns how far between the ticks t-1 and t predicted things are drawn.
func (r *reconcile) drawnIn(t clock.Tick) clock.TickFrac {
	return min(max(r.time.drawnAt()-(t-1).Frac(), 0), clock.FracPerTick)
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
		*to[j] = (float64(from) + float64(float64(float64(b[p.At+j]-from)*float64(u))/65536)) / p.Sim
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

// AppendMe appends the properties of the player's avatar as of the newest command, or the newest
// tick that MaxPrediction lets the player see, and returns its kind. Its place is the eye, from
// which the next command aims: where the frame that the command states drew the avatar, see
// game.Kind.Eye. What a correction moved is there at once, while Draw fades the error. A place that
// is relative to a parent is where that frame drew the parent. ok is false, and nothing is
// appended, while there is no avatar.
func (c *Client) AppendMe(vals []float64) (_ []float64, kind int, ok bool) {
	h := c.store.Find(uint32(c.own.me))
	if c.own.me == 0 || h == nil || !h.Mine {
		return vals, 0, false
	}
	k, n, g := c.rules.Kinds[h.Kind], len(vals), c.aimed()
	if _, now, _ := c.own.between(); now == nil || c.cfg.NoPrediction { // it aims from where it is drawn
		vals, ok = c.play.drawOwn(vals, h, k)
	} else {
		vals, ok = k.AppendExact(vals, nil, now, 65536), true
		c.own.placeAt(k, g.eye, now, vals[n:])
	}
	c.play.frame = g.number
	ok = ok && c.play.attachAt(k, vals[n:], g.seen)
	if c.play.frame = 0; !ok {
		return vals[:n], 0, false
	}
	return vals, h.Kind, true
}

// placeAt writes to vals, the values of state now, the place of the avatar at an earlier time, as
// game.Kind.Eye has it. It leaves them where that is relative to something else, or not known.
func (r *reconcile) placeAt(k *schema.Kind, t clock.TickFrac, now []int64, vals []float64) {
	later := clock.Tick((t + clock.FracPerTick - 1) / clock.FracPerTick)
	p := k.PlaceProp()
	b, cut := r.own(r.ring.Drawn(later))
	if p == nil || b == nil || parentsDiffer(k, b, now) {
		return
	}
	a, before := r.own(r.ring.Drawn(later - 1))
	u := int64(t-later.Frac()) + clock.FracPerTick
	if a == nil || before != cut || parentsDiffer(k, a, b) {
		a = b
	}
	r.placeVals = k.AppendExact(r.placeVals[:0], a, b, u<<8)
	copy(vals[p.At:p.At+p.Comps], r.placeVals[p.At:])
}

// model lets package predict run the game's rules over what is predicted.
type model struct{ r *reconcile }

func (m *model) Copy(dst, src *engine.Set) { dst.CopyFrom(src) }

func (m *model) Same(server, predicted *engine.Set) bool {
	if m.r.ahead.any {
		for i := range predicted.Members {
			if got := &predicted.Members[i]; got.ID != m.r.me && m.r.over(got) {
				return false
			}
		}
	}
	for i := range server.Members {
		want := &server.Members[i]
		got := predicted.Find(want.ID)
		if got == nil || got.Gone != 0 {
			return false
		}
		k := m.r.rules.Kinds[want.Kind]
		if !m.r.agrees(k, predicted.Of(got, k), server.Of(want, k)) {
			return false
		}
	}
	return true
}

// agrees reports whether a predicted state of an entity is what the server said, or close enough.
func (r *reconcile) agrees(k *schema.Kind, predicted, server []int64) bool {
	t := r.cfg.Tolerance
	return sameOwned(k, predicted, server) || !t.Exact() && r.within(t, k, predicted, server)
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
	if m.r.ahead.any {
		for i := len(dst.Members) - 1; i >= 0; i-- {
			if got := &dst.Members[i]; got.ID != m.r.me && m.r.over(got) {
				dst.Remove(i)
			}
		}
	}
	for i := range server.Members {
		from := &server.Members[i]
		k := m.r.rules.Kinds[from.Kind]
		to := dst.Find(from.ID)
		if to == nil {
			to = dst.Add(from.ID, from.Kind, k)
		}
		if to.Gone = 0; from.ID == m.r.me || from.Cut > to.Cut {
			to.Cut = from.Cut
		}
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
	*dst = packet.Command{Tick: tick, Vals: append(dst.Vals[:0], src.Vals...), Seen: src.Seen, Newest: src.Newest,
		Without: src.Without, Frame: src.Frame}
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
	r.ahead.moveGuests(tick)
	r.play.view.look(cmd.Seen, cmd.Frame, tick)
	r.eng.SetMoment(cmd.Moment)
	r.eng.SetEye(cmd.Eye)
	if r.eng.Act(r.me, cmd.Vals, &r.play.view, replay) != nil {
		r.stats.Prediction.Faults++
	}
	if r.eng.Step(replay) != nil {
		r.stats.Prediction.Faults++
	}
	r.eng.SaveSet(s)
	if r.ahead.any && tick <= r.down.newestTick {
		r.state(tick, nil, false)
		m.Adopt(s, &r.truth, s)
	}
}
