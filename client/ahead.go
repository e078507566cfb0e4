package client

import (
	"math"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/predict"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
)

// ahead is how entities are drawn that the client runs ahead, besides the avatar: at the time of
// the newest predicted tick, with the fading errors of their corrections. An entity that comes near
// or goes away changes between that time and the playout time, which is blended.
type ahead struct {
	rules *game.Rules
	cfg   *Config
	store *snapshot.Store
	time  *timelines
	own   *reconcile
	play  *playback

	tracks    []track
	smoothing predict.Smoothing
	vals      []float64
	spare     []float64
	drawn     []int64        // its own: what rides an entity is being drawn into playback.drawn meanwhile
	any       bool           // some kind is run ahead
	guests    []game.ID      // other players' avatars that are run ahead
	reach     clock.TickFrac // guestReach
}

// A track is how one such entity is drawn.
type track struct {
	_ [0]func() // no == for it, which pages would have to load

	id    game.ID
	shown game.ID // under which it is drawn: what a prediction spawned keeps the ID that it was given
	kind  int
	state drawState

	smooth predict.Smoother
	cut    clock.Tick // newest teleport before what is drawn
	cutNow bool       // teleported since the frame that Drawn marked

	was  pose // where it would have been drawn in this frame before the newest records arrived
	seen bool // in this round
}

// drawState says by which timeline an entity is drawn.
type drawState uint8

const (
	late     drawState = iota // at playout time
	onTime                    // at the newest predicted tick
	departed                  // at playout time and no longer run ahead, while its error fades
)

func (a *ahead) init(c *Client) {
	a.rules, a.cfg, a.store, a.time, a.own, a.play = c.rules, &c.cfg, c.store, &c.time, &c.own, &c.play
	a.any, a.drawn = c.rules.Ahead(), make([]int64, len(c.play.drawn))
	a.setSmoothing()
	a.reach = clock.TickFrac(int64(guestReach) * clock.FracPerTick / int64(c.welcome.Period))
}

// setSmoothing takes over how corrections fade. Unless the Config says otherwise they do so at any
// distance: the kick of another player, which nobody foresees, moves a ball by metres at once, and
// what is a teleport is said by Cut.
func (a *ahead) setSmoothing() {
	if a.smoothing = a.cfg.Smoothing; a.smoothing.Snap == 0 {
		a.smoothing.Snap = math.Inf(1)
	}
}

// find returns the track of an entity, or nil.
func (a *ahead) find(id game.ID) *track {
	for i := range a.tracks {
		if a.tracks[i].id == id {
			return &a.tracks[i]
		}
	}
	return nil
}

// of returns the track of an entity of which records arrived, or nil.
func (a *ahead) of(h *snapshot.Replica) *track {
	if t := a.find(game.ID(h.ID)); t != nil && t.kind == h.Kind {
		return t
	}
	return nil
}

// replica returns what arrived of a track's entity, nil if nothing, or another kind of entity now
// has its ID.
func (a *ahead) replica(t *track) *snapshot.Replica {
	if h := a.store.Find(uint32(t.id)); h != nil && h.Kind == t.kind {
		return h
	}
	return nil
}

// step lets dt seconds pass.
func (a *ahead) step(dt float64) {
	for i := range a.tracks {
		a.tracks[i].smooth.Step(dt)
	}
}

// rename follows an entity that the server gave its ID.
func (a *ahead) rename(from, to game.ID) {
	if t := a.find(from); t != nil {
		t.id = to
	}
}

// shownID returns the ID under which an entity is drawn.
func (a *ahead) shownID(id game.ID) game.ID {
	if t := a.find(id); t != nil {
		return t.shown
	}
	return id
}

// before notes where everything would be drawn in this frame by what was known in the last one.
func (a *ahead) before() {
	if !a.any {
		return
	}
	for i := range a.tracks {
		t := &a.tracks[i]
		t.was, t.seen = a.pose(t), false
	}
}

// after follows what arrived: it begins and ends tracks, and hides the steps that entities would
// make.
func (a *ahead) after() {
	if !a.any {
		return
	}
	newest, _ := a.own.drawnState()
	if a.own.me == 0 {
		newest = nil
	}
	if newest != nil {
		for i := range newest.Members {
			if m := &newest.Members[i]; m.ID != a.own.me {
				a.follow(m)
			}
		}
	}
	a.guests = a.guests[:0]
	for _, h := range a.store.Entities() {
		if !h.Exact && newest != nil && a.isGuest(h) {
			a.followGuest(h)
		}
	}
	kept := a.tracks[:0]
	for i := range a.tracks {
		if t := &a.tracks[i]; t.seen || a.depart(t) {
			kept = append(kept, *t)
		}
	}
	a.tracks = kept
}

// blend hides that predicted entities are drawn gap earlier or later than before noted.
func (a *ahead) blend(gap time.Duration) {
	for i := range a.tracks {
		if t := &a.tracks[i]; t.state == onTime {
			blend(&t.smooth, t.was, a.pose(t), gap)
		}
	}
}

// track returns the track of an entity, new ones with the place where it was drawn so far.
func (a *ahead) track(id game.ID, kind int) *track {
	if t := a.find(id); t != nil && t.kind == kind {
		if t.state == departed {
			t.state = late
		}
		return t
	}
	a.tracks = append(a.tracks, track{id: id, shown: id, kind: kind})
	t := &a.tracks[len(a.tracks)-1]
	t.smooth.By = &a.smoothing
	if t.was = a.pose(t); !t.was.known {
		t.state = onTime // nobody has seen it before
	}
	t.cut = a.cut(t)
	return t
}

// appear begins the tracks of what the newest command spawned.
func (a *ahead) appear() {
	newest := a.own.ring.Drawn(a.own.up.made)
	if newest == nil || !a.any {
		return
	}
	for i := range newest.Members {
		if m := &newest.Members[i]; m.ID.Foreseen() && m.Gone == 0 {
			a.track(m.ID, m.Kind)
		}
	}
}

// follow brings the track of a predicted entity up to date.
func (a *ahead) follow(m *engine.Member) {
	t := a.track(m.ID, m.Kind)
	t.seen = true
	a.settle(t, a.isNear(t, m.ID))
}

// settle hides the step that a track would make in this frame.
func (a *ahead) settle(t *track, near bool) {
	was := t.state
	if t.state = late; near && !a.cfg.NoPrediction {
		t.state = onTime
	}
	a.join(t, was != t.state)
}

// join hides the step from where a track was drawn in this frame, by what was known before, to
// where it is drawn now; by another timeline, if timelines changed.
func (a *ahead) join(t *track, changed bool) {
	switch now := a.pose(t); {
	case t.was.known && now.known && t.was.cut != now.cut:
		t.smooth.Clear() // that is a teleport
	case changed:
		blend(&t.smooth, t.was, now, a.gap())
	default:
		hide(&t.smooth, t.was, now)
	}
}

// depart goes on with a track whose entity is not run ahead any more, until its error has faded;
// with that of a spawn until it is gone, as it is drawn under its first ID. It returns false at the
// end.
func (a *ahead) depart(t *track) bool {
	h := a.replica(t)
	if h == nil || !t.was.known && t.state != departed {
		return false
	}
	if from := t.state; from != departed {
		t.state = departed
		a.join(t, from == onTime)
	}
	return t.shown != t.id || !t.smooth.Idle() || a.isChanging(h)
}

// isChanging reports whether an entity that is not run ahead any more is still drawn before its
// first record at the precision of observers.
func (a *ahead) isChanging(h *snapshot.Replica) bool {
	g := movingGroup(a.rules.Kinds[h.Kind])
	if h.Exact || g < 0 {
		return false
	}
	first, _ := h.Groups[g].Around(0)
	return first == nil || first.Shown() > a.time.drawTick
}

// gap returns how far the two timelines are apart.
func (a *ahead) gap() time.Duration {
	return time.Duration(int64(a.head()-a.time.drawTick) * int64(a.time.period) / clock.FracPerTick)
}

// head returns the tick time at which predicted entities are drawn in this frame.
func (a *ahead) head() clock.TickFrac {
	_, t := a.own.drawnState()
	if t == 0 {
		return a.time.drawTick
	}
	return (t - 1).Frac() + a.own.drawnIn(t)
}

// isNear reports whether an entity is drawn on time: it was spawned by the player's command, is of
// a kind that always is, or is close enough to be touched before its playout time comes.
func (a *ahead) isNear(t *track, id game.ID) bool {
	k := a.rules.Kinds[t.kind]
	if k.Ahead == schema.Predicted || t.shown.Foreseen() {
		return true
	}
	newest, tick := a.own.drawnState()
	older := a.own.ring.Drawn(tick - min(tick, closingTicks))
	d, ok := a.distance(newest, id)
	if !ok {
		return false
	}
	closing := 0.0
	if before, ok := a.distance(older, id); ok {
		closing = float64(float64(max(before-d, 0)*float64(k.Rate)) / closingTicks)
	}
	reach := k.Reach + float64(closing*(a.gap().Seconds()+0.3))
	if t.state == onTime {
		reach = float64(reach*1.2) + 0.5
	}
	return d <= reach
}

// closingTicks is over how many ticks the speed is measured with which entities come closer.
const closingTicks = 4

// distance returns how far the avatar is from an entity in a predicted state.
func (a *ahead) distance(s *engine.Set, id game.ID) (d float64, ok bool) {
	if s == nil {
		return 0, false
	}
	me, other := s.Find(a.own.me), s.Find(id)
	if me == nil || other == nil {
		return 0, false
	}
	km, ko := a.rules.Kinds[me.Kind], a.rules.Kinds[other.Kind]
	p, found := a.own.placeOf(km, s.Of(me, km), s.Of(me, km), 0)
	q, there := a.own.placeOf(ko, s.Of(other, ko), s.Of(other, ko), 0)
	return p.Sub(q).Len(), found && there
}

// pose returns where an entity is drawn in this frame by its track, without its error.
func (a *ahead) pose(t *track) (p pose) {
	if a.vals, p.known = a.raw(t, a.vals[:0]); !p.known {
		return p
	}
	p.cut = a.cut(t)
	k := a.rules.Kinds[t.kind]
	if p.turn = k.TurnOf(a.vals); k.Parent >= 0 {
		p.parent = int64(a.vals[k.Props[k.Parent].At])
	}
	p.known = a.play.attachOwn(k, a.vals)
	p.at, _ = k.PlaceOf(a.vals)
	return p
}

// values appends how an entity is drawn in this frame by its track, in the world and without its
// error. ok is false if nothing is known of it, or if its end was predicted.
func (a *ahead) values(t *track, vals []float64) (_ []float64, ok bool) {
	n := len(vals)
	if vals, ok = a.raw(t, vals); !ok {
		return vals[:n], false
	}
	return vals, a.play.attachOwn(a.rules.Kinds[t.kind], vals[n:])
}

func (a *ahead) raw(t *track, vals []float64) (_ []float64, ok bool) {
	k := a.rules.Kinds[t.kind]
	h := a.replica(t)
	at := a.time.drawTick
	if t.state == onTime {
		at = a.head()
		if h != nil && !h.Exact {
			return a.guestValues(h, at, vals)
		}
	}
	lo, hi := at.Tick(), at.Tick()
	if at > lo.Frac() {
		hi++
	}
	x, from := a.member(lo, t)
	y, to := a.member(hi, t)
	switch {
	case y != nil && y.Gone != 0 || y == nil && x != nil && x.Gone != 0:
		return vals, false
	case x != nil && y != nil && x.Cut == y.Cut && !parentsDiffer(k, from, to):
		return k.AppendExact(vals, from, to, int64(at-lo.Frac())<<8), true
	case y != nil && t.state == onTime:
		return k.AppendExact(vals, nil, to, 65536), true
	}
	if h == nil {
		return vals, false
	}
	return a.recorded(h, at, vals)
}

// cut returns the newest teleport of an entity before what is drawn of it in this frame.
func (a *ahead) cut(t *track) clock.Tick {
	h := a.replica(t)
	at := a.time.drawTick
	if t.state == onTime {
		at = a.head()
	}
	if h == nil || h.Exact {
		tick := at.Tick()
		if t.state == onTime && at > tick.Frac() {
			tick++ // it is drawn beyond a teleport at once
		}
		if m, _ := a.member(tick, t); m != nil {
			return m.Cut
		}
	}
	if h == nil {
		return t.cut
	}
	cut := clock.Tick(0)
	for g := range h.Groups {
		cut = max(cut, h.Groups[g].CutBy(at))
	}
	return cut
}

// mark notes that a track is drawn now.
func (a *ahead) mark(t *track) {
	if cut := a.cut(t); cut != t.cut {
		t.cut, t.cutNow = cut, true
		t.smooth.Clear()
	}
}

// member returns a track's entity in the predicted state after a tick, and its integers.
func (a *ahead) member(tick clock.Tick, t *track) (*engine.Member, []int64) {
	s := a.own.ring.Drawn(tick)
	if s == nil {
		return nil, nil
	}
	m := s.Find(t.id)
	if m == nil || m.Kind != t.kind {
		return nil, nil
	}
	return m, s.Of(m, a.rules.Kinds[m.Kind])
}

// recorded appends how an entity is drawn between the records of it that arrived. Where those of
// one precision end and those of the other begin, it goes from the last to the first on a line.
func (a *ahead) recorded(h *snapshot.Replica, at clock.TickFrac, vals []float64) (_ []float64, ok bool) {
	exact, coarse := span{}, span{}
	exact.begin(&h.Groups[snapshot.OwnerGroup], at)
	k := a.rules.Kinds[h.Kind]
	if g := movingGroup(k); g >= 0 {
		coarse.begin(&h.Groups[g], at)
	}
	n := len(vals)
	switch {
	case exact.lo == nil && coarse.lo != nil && exact.hi != nil && exact.hi.Cut > coarse.lo.Tick:
		return a.coarsely(h, at, vals)
	case coarse.lo == nil && exact.lo != nil && coarse.hi != nil && coarse.hi.Cut > exact.lo.Tick:
		return k.AppendExact(vals, nil, exact.lo.Vals, 65536), true
	case coarse.lo != nil && exact.lo == nil && coarse.hi == nil && exact.hi != nil:
		if vals, ok = a.coarsely(h, at, vals); ok {
			a.towards(k, vals[n:], k.AppendExact(a.spare[:0], nil, exact.hi.Vals, 65536),
				at-coarse.lo.Shown(), exact.hi.Shown()-coarse.lo.Shown())
		}
		return vals, ok
	case exact.lo != nil && coarse.lo == nil && exact.hi == nil && coarse.hi != nil:
		vals = k.AppendExact(vals, nil, exact.lo.Vals, 65536)
		if next, ok := a.coarsely(h, coarse.hi.Shown(), a.spare[:0]); ok {
			a.towards(k, vals[n:], next, at-exact.lo.Shown(), coarse.hi.Shown()-exact.lo.Shown())
		}
		return vals, true
	case exact.lo == nil && (coarse.lo != nil || exact.hi == nil),
		coarse.lo != nil && exact.lo != nil && coarse.lo.Tick > exact.lo.Tick:
		return a.coarsely(h, at, vals)
	case exact.lo == nil:
		return k.AppendExact(vals, nil, exact.hi.Vals, 65536), true
	case exact.hi == nil || exact.hi.Cut > exact.lo.Tick || parentsDiffer(k, exact.lo.Vals, exact.hi.Vals):
		return k.AppendExact(vals, nil, exact.lo.Vals, 65536), true
	}
	u := int64(at-exact.lo.Shown()) << 16 / int64(exact.hi.Shown()-exact.lo.Shown())
	return k.AppendExact(vals, exact.lo.Vals, exact.hi.Vals, u), true
}

// span is the records of a group around a time, nil where there is none.
type span struct{ lo, hi *motion.State }

func (s *span) begin(g *snapshot.Group, at clock.TickFrac) {
	s.lo, s.hi = g.Around(at)
	if s.lo != nil && s.lo.Shown() > at {
		s.lo, s.hi = nil, s.lo
	}
}

// movingGroup returns the first group of a kind that is drawn between records, -1 if there is none.
func movingGroup(k *schema.Kind) int {
	for g := range k.Groups {
		if k.Groups[g].Moving {
			return g
		}
	}
	return -1
}

// coarsely appends how an entity is drawn between its records at the precision of observers.
func (a *ahead) coarsely(h *snapshot.Replica, at clock.TickFrac, vals []float64) (_ []float64, ok bool) {
	k := a.rules.Kinds[h.Kind]
	drawn := a.drawn[:k.Obs]
	if !a.play.drawInto(h, at, drawn) {
		return vals, false
	}
	a.play.texts.Spell(k, drawn)
	return k.AppendDrawn(vals, drawn), true
}

// towards moves the place in vals part/whole of the way to that in next, and turns it as far.
func (a *ahead) towards(k *schema.Kind, vals, next []float64, part, whole clock.TickFrac) {
	a.spare = next
	p := k.PlaceProp()
	if p == nil || whole <= 0 || k.Parent >= 0 && vals[k.Props[k.Parent].At] != next[k.Props[k.Parent].At] {
		return
	}
	u := min(max(float64(part)/float64(whole), 0), 1)
	for c := p.At; c < p.At+p.Comps; c++ {
		vals[c] += float64((next[c] - vals[c]) * u)
	}
	q := predict.Between(k.TurnOf(next), k.TurnOf(vals))
	if q.W < 0 {
		q = geom.Quat{W: -q.W, X: -q.X, Y: -q.Y, Z: -q.Z}
	}
	if q != (geom.Quat{}) {
		k.Turn(vals, geom.Quat{W: 1 - u + float64(u*q.W), X: float64(u * q.X), Y: float64(u * q.Y),
			Z: float64(u * q.Z)}.Unit())
	}
}

// guestReach is for how long another player's avatar goes on moving as it did last.
const guestReach = 250 * time.Millisecond

// isGuest reports whether an avatar of another player is near enough to be run ahead.
func (a *ahead) isGuest(h *snapshot.Replica) bool {
	k := a.rules.Kinds[h.Kind]
	if k.Ahead != schema.Near || h.Kind != a.own.kind || a.cfg.NoPrediction {
		return false
	}
	me := a.own.pose()
	if !me.known {
		return false
	}
	var ok bool
	if a.vals, ok = a.guestValues(h, a.head(), a.vals[:0]); !ok || !a.play.attachOwn(k, a.vals) {
		return false
	}
	at, _ := k.PlaceOf(a.vals)
	reach := k.Reach
	if t := a.of(h); t != nil && t.state == onTime {
		reach = float64(reach*1.2) + 0.5
	}
	return at.Sub(me.at).Len() <= reach
}

// followGuest brings the track of another player's avatar up to date.
func (a *ahead) followGuest(h *snapshot.Replica) {
	t := a.track(game.ID(h.ID), h.Kind)
	t.seen = true
	a.guests = append(a.guests, t.id)
	a.settle(t, true)
}

// moveGuests moves other players' avatars to where they will be at a tick, if they go on as they
// did. Those that went away since they were found are left out.
func (a *ahead) moveGuests(tick clock.Tick) {
	for _, id := range a.guests {
		h := a.store.Find(uint32(id))
		if h == nil || h.Exact || h.Kind != a.own.kind {
			continue
		}
		if drawn := a.drawn[:a.rules.Kinds[h.Kind].Obs]; a.play.guest(h, tick.Frac(), a.reach, drawn) {
			a.own.eng.PutKnown(id, h.Kind, drawn)
		}
	}
}

// guestValues appends how another player's avatar is drawn.
func (a *ahead) guestValues(h *snapshot.Replica, at clock.TickFrac, vals []float64) (_ []float64, ok bool) {
	k := a.rules.Kinds[h.Kind]
	drawn := a.drawn[:k.Obs]
	if !a.play.guest(h, at, a.reach, drawn) {
		return vals, false
	}
	return k.AppendDrawn(vals, drawn), true
}

// addError adds what still fades of a track to its values.
func (t *track) addError(k *schema.Kind, vals []float64) {
	if t.smooth.Idle() {
		return
	}
	if p := k.PlaceProp(); p != nil {
		off := t.smooth.Error()
		for j, d := range [3]float64{off.X, off.Y, off.Z} {
			if j < p.Comps {
				vals[p.At+j] += d
			}
		}
	}
	k.Turn(vals, t.smooth.Turn())
}
