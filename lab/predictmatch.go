package lab

import (
	"fmt"
	"slices"
	"time"

	"meanwhile/client"
	"meanwhile/examples/kick"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/netsim"
	"meanwhile/server"
)

// football is one match of kick that is watched.
type football struct {
	sim     *gametest.Sim
	world   *game.World // of the server
	worlds  map[*game.World]*spectator
	avatars map[game.ID]bool
	players []*spectator
	oracle  oracle
	ball    game.ID
	truth   []state // of the ball, by tick
	kicks   []strike
	copies  map[game.ID]any
	from    clock.Time // when measuring began
}

// state is that of the ball after a tick.
type state struct {
	at, v geom.Vec2
	cut   bool
	when  clock.Time // the server computed it
}

// A strike is a kick that the server ran.
type strike struct {
	by    *spectator
	tick  clock.Tick
	alone bool // nobody else was near the ball
}

// A spectator looks at what one player's client predicts and draws.
type spectator struct {
	match *football
	p     *gametest.Player
	me    game.ID

	seen    contacts // as the client predicted them
	rides   rides
	known   map[game.ID][]clock.Tick // the ticks of the exact states that the client has received
	arrived []link                   // since the last frame
	ran     orders                   // commands, as the client predicted them
	kicked  [causes]clock.Tick       // the client predicted a kick
	chain   []link
	// predicts reports whether the client has predicted a thing as of a tick.
	predicts func(id game.ID, t clock.Tick) bool
	vals     []float64
	exact    []float64

	frames []framed

	judged, byTouch, byStarving, clean, half int

	first     []string  // the first clean mispredictions
	ownMoved  []float64 // metres, by corrections of the avatar in touched ticks, without cuts
	ballMoved []float64
	agreed    int // states of the ball that were as predicted
	near      int // frames near the ball
	inside    int
	stepMax   float64
	steps     int       // beyond stepSeen
	replayed  []float64 // ticks in a frame
	lastCount uint64
}

// framed is one frame of a player.
type framed struct {
	at        clock.Time
	made      clock.Tick     // the newest command
	shown     clock.TickFrac // the moment of the ball in it
	own       clock.TickFrac // and of the avatar
	ball      geom.Vec2
	ballSpeed geom.Vec2
	speeds    [2]geom.Vec2 // of the ball after the ticks around the moment, where it is predicted
	moved     geom.Vec2    // how far the prediction, as it is now, has the ball moved since the frame before
	ok        bool         // the ball is drawn
}

// pulse is what whole-scene rollback adds: it is different with every record, so that every packet
// puts everything back.
type pulse struct {
	N int `net:"int,0..65535"`
}

var pulses = game.NewKind[pulse]("pulse", game.Predicted)

// knownTicks is how many records of a thing a spectator remembers.
const knownTicks = 128

func newFootball(seed uint64, n int, p netsim.Profile, policy string) (*football, error) {
	m := &football{worlds: map[*game.World]*spectator{}, avatars: map[game.ID]bool{}, copies: map[game.ID]any{}}
	def := kick.Game
	def.Act, def.Step, def.Referee = m.act, m.step, m.referee
	if policy == wholeScene {
		def.Kinds = append(slices.Clone(def.Kinds), pulses)
	}
	rules, err := def.Rules()
	if err != nil {
		return nil, err
	}
	setAhead(rules, policy)
	if m.sim, err = gametest.NewSim(rules, seed, server.Config{}); err != nil {
		return nil, err
	}
	m.world, m.sim.Client = m.sim.Server.World(), clientOf(policy)
	for i := range n {
		pl, err := m.sim.Join(fmt.Sprint("bot", i), p, rules.Bot())
		if err != nil {
			return nil, err
		}
		w := &spectator{match: m, p: pl, known: map[game.ID][]clock.Tick{}}
		pl.OnFrame = w.frame
		m.players = append(m.players, w)
	}
	return m, nil
}

// setAhead changes which kinds of a game clients run ahead, as a policy wants it. Nothing has used
// the rules yet.
func setAhead(rules *game.Rules, policy string) {
	for _, k := range rules.Kinds {
		switch policy {
		case avatarOnly:
			k.Ahead = schema.Playout
		case wholeScene:
			if k.Place >= 0 {
				k.Ahead = schema.Predicted
			}
		}
	}
}

func clientOf(policy string) client.Config {
	return client.Config{NoPrediction: policy == unpredicted}
}

// act is the game's, and notes what else than the own avatar a command changed.
func (m *football) act(w *game.World, me game.ID, c kick.Cmd) {
	if w != m.world {
		ready := kick.Players.Get(w, me).Ready
		kick.Game.Act(w, me, c)
		if x := m.worlds[w]; x != nil && kick.Players.Get(w, me).Ready != ready {
			x.kicked[w.Tick()%causes] = w.Tick()
		}
		if x := m.worlds[w]; x != nil && x.me == me {
			x.ran.note(w.Tick(), c)
		}
		return
	}
	m.oracle.run(w.Tick(), me, c)
	before := *kick.Players.Get(w, me)
	m.changes(w, me, func() { kick.Game.Act(w, me, c) })
	p := kick.Players.Get(w, me)
	if p.Cart != before.Cart {
		m.oracle.mark(w.Tick(), me, max(p.Cart, before.Cart)) // nobody else can get on it now, or all can
	}
	if p.Ready != before.Ready {
		for _, b := range kick.Balls.All(w) {
			for _, x := range m.players {
				if x.me == me {
					m.kicks = append(m.kicks, strike{x, w.Tick(), alone(w, me, b.Pos)})
				}
			}
		}
	}
}

// alone reports whether no other player was near a place, who could have been in the way.
func alone(w *game.World, me game.ID, at geom.Vec2) bool {
	for id, p := range kick.Players.All(w) {
		if id != me && p.Pos.Dist(at) < aloneWithin {
			return false
		}
	}
	return true
}

const aloneWithin = 1.5 // metres

// changes notes what f changes.
func (m *football) changes(w *game.World, by game.ID, f func()) {
	eachState(w, func(id game.ID, v any) { m.copies[id] = v })
	f()
	eachState(w, func(id game.ID, v any) {
		if id != by && m.copies[id] != v {
			m.oracle.mark(w.Tick(), by, id)
		}
	})
}

func eachState(w *game.World, f func(id game.ID, v any)) {
	for id, p := range kick.Players.All(w) {
		f(id, *p)
	}
	for id, b := range kick.Balls.All(w) {
		f(id, kick.Ball{Pos: b.Pos, Vel: b.Vel}) // clients have no part in the rest
	}
	for id, c := range kick.Crates.All(w) {
		f(id, *c)
	}
	for id, c := range kick.Carts.All(w) {
		f(id, *c)
	}
}

// step is the game's, and notes who touches whom.
func (m *football) step(w *game.World) {
	if w == m.world {
		m.oracle.rides.note(w)
		m.oracle.server.step(w, kick.Game.Step)
		return
	}
	if x := m.worlds[w]; x != nil {
		x.rides.note(w)
		x.seen.step(w, kick.Game.Step)
		return
	}
	kick.Game.Step(w)
}

// referee is the game's, at the end of each tick of the server.
func (m *football) referee(w *game.World) {
	m.changes(w, 0, func() { kick.Game.Referee(w) })
	m.beat(w)
	for id, b := range kick.Balls.All(w) {
		m.ball = id
		for clock.Tick(len(m.truth)) <= w.Tick() {
			m.truth = append(m.truth, state{})
		}
		s := state{at: b.Pos, v: b.Vel, when: m.sim.Loop.Now()}
		if n := len(m.truth) - 2; n > 0 {
			s.cut = b.Vel == geom.Vec2{} && b.Pos == geom.Vec2{} && m.truth[n].at != geom.Vec2{}
		}
		m.truth[w.Tick()] = s
	}
}

// beat changes the pulse, in a game that has one.
func (m *football) beat(w *game.World) {
	if len(m.sim.Rules.Kinds) == len(kick.Game.Kinds) {
		return
	}
	if pulses.Len(w) == 0 {
		pulses.Spawn(w, pulse{})
	}
	for _, p := range pulses.All(w) {
		p.N = (p.N + 1) % 65536
	}
}

// frame is called at the end of each frame.
func (w *spectator) frame() {
	c, m := w.p.Client, w.match
	now := m.sim.Loop.Now()
	if w.me != c.Me() {
		if w.me == 0 {
			w.hook(c)
		}
		w.me = c.Me()
		m.avatars[w.me], m.worlds[c.World()] = true, w
	}
	for _, l := range w.arrived {
		k := w.known[l.id]
		if len(k) == knownTicks {
			k = slices.Delete(k, 0, 1)
		}
		w.known[l.id] = append(k, l.since)
	}
	w.arrived = w.arrived[:0]
	if m.from == 0 || w.me == 0 {
		return
	}
	count := c.Stats().Prediction.Replayed
	if d := count - w.lastCount; d > 0 {
		w.replayed = append(w.replayed, float64(d))
	}
	w.lastCount = count
	w.look(c, now)
}

// hook listens to the records that the client applies.
func (w *spectator) hook(c *client.Client) {
	w.predicts = func(id game.ID, t clock.Tick) bool { return c.Predicted(id, t) != nil }
	others := c.Store().Applied
	c.Store().Applied = func(e *snapshot.Replica, g int, s *motion.State) {
		others(e, g, s)
		if g == snapshot.OwnerGroup && (e.Exact || e.Mine) {
			w.record(c, game.ID(e.ID), w.match.sim.Rules.Kinds[e.Kind], s)
		}
	}
}

// record compares a state that arrived with the prediction of it.
func (w *spectator) record(c *client.Client, id game.ID, k *schema.Kind, s *motion.State) {
	m := w.match
	w.arrived = append(w.arrived, link{id, s.Tick})
	if m.from == 0 || k.Place < 0 || m.sim.Client.NoPrediction {
		return
	}
	predicted := c.Predicted(id, s.Tick)
	if predicted == nil || c.Own(s.Tick) == nil { // or outdated: a correction has not reached that tick yet
		return
	}
	why, coarse := w.cause(id, s.Tick)
	w.judged++
	switch why {
	case touched:
		w.byTouch++
	case starved:
		w.byStarving++
	}
	if sameSent(k, predicted, s.Vals) {
		if id == m.ball {
			w.agreed++
		}
		return
	}
	if why == clean {
		if coarse {
			w.half++
		}
		w.clean++
		if len(w.first) < 3 {
			w.first = append(w.first, fmt.Sprintf("%s: %s %d at tick %d, known of %d%s", w.p.Name, k.Name, id, s.Tick,
				w.knownBefore(id, s.Tick), differs(k, predicted, s.Vals)))
		}
	}
	if cut := s.Cut > w.knownBefore(id, s.Tick); cut {
		return
	}
	a, _ := k.PlaceOf(k.AppendExact(nil, nil, predicted, 65536))
	b, _ := k.PlaceOf(k.AppendExact(nil, nil, s.Vals, 65536))
	switch {
	case id == w.me:
		if why == touched && (k.Parent < 0 || predicted[k.Props[k.Parent].At] == s.Vals[k.Props[k.Parent].At]) {
			w.ownMoved = append(w.ownMoved, 100*a.Dist(b))
		}
	case id == m.ball:
		w.ballMoved = append(w.ballMoved, 100*a.Dist(b))
	}
}

func differs(k *schema.Kind, a, b []int64) (text string) {
	k.Differ(a, b, func(p *schema.Prop, x, y []float64) {
		if p.Audience != schema.Server && p.Audience != schema.Kept {
			text += fmt.Sprintf(", %s %v and on the server %v", p.Name, x, y)
		}
	})
	return text
}

// sameSent reports whether two states are equal in all that a predicting client receives.
func sameSent(k *schema.Kind, a, b []int64) bool {
	for _, i := range k.Owned {
		p := &k.Props[i]
		if !slices.Equal(a[p.At:p.At+p.Comps], b[p.At:p.At+p.Comps]) {
			return false
		}
	}
	return true
}

// look measures what one frame shows.
func (w *spectator) look(c *client.Client, now clock.Time) {
	m := w.match
	f := framed{at: now, made: c.CommandTick(), own: c.PredictedAt()}
	var me geom.Vec2
	mine, cut := false, false
	w.vals = c.Draw(w.vals, func(e *client.Entity) {
		k := m.sim.Rules.Kinds[e.Kind]
		at, _ := k.PlaceOf(e.Vals)
		switch {
		case e.Mine:
			me, mine = at.XY(), true
			if !e.Predicted {
				newest, _, _ := c.Newest() // what has not changed until then has sent no record
				f.own = newest.Frac()
			}
		case e.ID == m.ball:
			f.ball, f.ok, cut = at.XY(), true, e.Cut()
			v := k.Props[ballVel].At
			f.ballSpeed = geom.Vec2{X: e.Vals[v], Y: e.Vals[v+1]}
			f.shown, f.speeds = c.Playout(), [2]geom.Vec2{f.ballSpeed, f.ballSpeed}
			if e.Predicted {
				f.shown = c.PredictedAt()
				w.expect(c, &f)
			}
		}
	})
	c.Drawn()
	if n := len(w.frames); n > 0 && w.frames[n-1].ok && f.ok && !cut && now.Sub(w.frames[n-1].at) < 20*time.Millisecond {
		step := stepOf(&w.frames[n-1], &f, m.sim.Server.Period())
		if w.stepMax = max(w.stepMax, step); step > stepSeen {
			w.steps++
		}
	}
	w.frames = append(w.frames, f)
	if !mine || !f.ok {
		return
	}
	if p := kick.Players.Get(m.world, w.me); p.Cart == 0 {
		for _, b := range kick.Balls.All(m.world) {
			if b.Pos.Dist(p.Pos) < 2 {
				w.near++
				if me.Dist(f.ball) < kick.PlayerRadius+kick.BallRadius-0.4 {
					w.inside++
				}
			}
		}
	}
}

// expect notes how the ball moves by the prediction alone.
func (w *spectator) expect(c *client.Client, f *framed) {
	k := w.match.sim.Rules.Kinds[ballKind]
	after := func(t clock.Tick) (at, v geom.Vec2) {
		if s := c.Predicted(w.match.ball, t); s != nil {
			w.exact = k.AppendExact(w.exact[:0], nil, s, 65536)
			p, q := k.PlaceProp().At, k.Props[ballVel].At
			return geom.Vec2{X: w.exact[p], Y: w.exact[p+1]}, geom.Vec2{X: w.exact[q], Y: w.exact[q+1]}
		}
		return at, v
	}
	at := func(t clock.TickFrac) geom.Vec2 {
		a, _ := after(t.Tick())
		b, _ := after(t.Tick() + 1)
		return a.Lerp(b, float64(t-t.Tick().Frac())/clock.FracPerTick)
	}
	_, f.speeds[0] = after(f.shown.Tick())
	_, f.speeds[1] = after(f.shown.Tick() + 1)
	if n := len(w.frames); n > 0 {
		f.moved = at(f.shown).Sub(at(w.frames[n-1].shown))
	}
}

const ballKind = 1 // index in kick.Game.Kinds

// stepSeen is the step in metres from which on it is one.
const stepSeen = 0.15

const ballVel = 1 // index of kick.Ball.Vel

// stepOf returns how far, in metres, the ball was drawn from where its speed would have taken it
// since the frame before, or the prediction: any speed between two of those that it had as either
// frame's prediction has it, as it may have been hit in between.
func stepOf(a, b *framed, period time.Duration) float64 {
	dt := float64(b.shown-a.shown) / clock.FracPerTick * period.Seconds()
	d := b.ball.Sub(a.ball)
	speeds := [...]geom.Vec2{a.ballSpeed, a.speeds[0], a.speeds[1], b.ballSpeed, b.speeds[0], b.speeds[1]}
	least := d.Dist(b.moved)
	for i, v := range speeds {
		for _, u := range speeds[:i] {
			from, way := v.Mul(dt), u.Sub(v).Mul(dt)
			part := 0.0
			if l := way.Len2(); l > 0 {
				part = geom.Clamp(d.Sub(from).Dot(way)/l, 0, 1)
			}
			least = min(least, d.Dist(from.Add(way.Mul(part))))
		}
	}
	return least
}

// at returns the ball as the server had it at a moment. ok is false outside of what is known, and
// across a kick-off.
func (m *football) at(t clock.TickFrac) (s state, ok bool) {
	lo := t.Tick()
	if lo < 1 || int(lo)+1 >= len(m.truth) || m.truth[lo+1].cut {
		return s, false
	}
	a, b := m.truth[lo], m.truth[lo+1]
	u := float64(t-lo.Frac()) / clock.FracPerTick
	return state{at: a.at.Lerp(b.at, u), v: a.v.Lerp(b.v, u)}, true
}

// run plays the match.
func (m *football) run(span time.Duration) {
	m.sim.Run(gametest.Warmup)
	m.sim.Measure()
	m.from = m.sim.Loop.Now()
	m.sim.Run(span)
}

// ballErrors returns how far the ball was drawn from where the server had it at the moment that the
// frame shows, while it moved, in centimetres.
func (m *football) ballErrors() (cm []float64) {
	for _, w := range m.players {
		for i := range w.frames {
			f := &w.frames[i]
			if s, ok := m.at(f.shown); ok && f.ok && s.v.Len() > 0.1 {
				cm = append(cm, 100*s.at.Dist(f.ball))
			}
		}
	}
	return cm
}

// touchLatency returns how long after the frame that made the command of each kick the ball was
// drawn flying as it was kicked, in milliseconds, and how many kicks were never seen so.
func (m *football) touchLatency() (millis []float64, missed int) {
	for _, k := range m.kicks {
		w := k.by
		made, ok := w.frameOf(k.tick)
		if !ok {
			continue
		}
		was, is := m.truth[k.tick-1].v, m.truth[k.tick].v
		if after := m.truth[min(int(k.tick)+1, len(m.truth)-1)].v; after.Dist(is) > after.Dist(was) {
			continue // it was kicked against a wall and stands again: there is no flight to see
		}
		if was.Dist(is) < touchLeast || !k.alone || !m.predictedBy(k) {
			continue
		}
		seen := false
		for i := made; i < len(w.frames) && w.frames[i].at.Sub(w.frames[made].at) < time.Second; i++ {
			if f := &w.frames[i]; f.ok && f.ballSpeed.Dist(is) < f.ballSpeed.Dist(was) {
				millis = append(millis, ms(f.at.Sub(w.frames[made].at)))
				seen = true
				break
			}
		}
		if !seen {
			missed++
		}
	}
	return millis, missed
}

// touchLeast is by how much a kick must change the ball's velocity to be seen in it, in m/s.
const touchLeast = 4

// foreseen is within how many metres of the truth a player must see the ball for its kick to count.
const foreseen = 0.1

// frameOf returns the first frame that was drawn after a command was made. The avatar's time in it
// is beyond the tick before the command's where that is predicted.
func (w *spectator) frameOf(t clock.Tick) (int, bool) {
	i, _ := slices.BinarySearchFunc(w.frames, t, func(f framed, t clock.Tick) int {
		if f.made >= t {
			return 1
		}
		return -1
	})
	return i, i > 0 && i < len(w.frames)
}

// ownLatency returns how long after the frame that made a command its effect on the avatar began to
// be drawn, in milliseconds.
func (w *spectator) ownLatency() (millis []float64) {
	at := 0
	for i := range w.frames {
		if i == 0 || w.frames[i].made == w.frames[i-1].made {
			continue
		}
		at = max(at, i)
		for at < len(w.frames) && w.frames[at].own <= (w.frames[i].made-1).Frac() {
			at++
		}
		if at == len(w.frames) {
			break
		}
		millis = append(millis, ms(w.frames[at].at.Sub(w.frames[i].at)))
	}
	return millis
}
