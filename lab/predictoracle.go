package lab

import (
	"meanwhile/examples/kick"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
)

// A cause says what can have made a client's prediction of a thing differ from the server's state.
type cause uint8

const (
	clean   cause = iota // nothing: a difference is a mistake
	starved              // the server ran another command than the player's: it did not have that in time
	touched              // another player, or the referee
)

// causes is how far back an oracle looks, in ticks.
const causes = 512

// contactGap is how close two bodies count as touching, in metres: what the solver calls touching
// and then some.
const contactGap = 0.05

// An oracle knows who can have influenced whom in a match of kick. Influence travels by contact:
// along the chain of contacts that lead to a thing, since each link's newest exact state that the
// client had, there must be no other avatar, nothing that another player's command or the referee
// changed, and no tick in which the server ran another command of the player than the client
// predicted. Contacts are taken from the places in every Step, of the server and of the client's
// prediction, as a client may expect one that does not happen.
type oracle struct {
	server contacts
	rides  rides
	marks  [causes]marked
	ran    map[game.ID]*orders // by avatar
}

// orders are the commands of one player that the rules ran, by tick.
type orders [causes]struct {
	tick clock.Tick
	cmd  kick.Cmd
}

func (o *orders) note(t clock.Tick, c kick.Cmd) {
	x := &o[t%causes]
	x.tick, x.cmd = t, c
}

// at returns the command that ran in a tick; ok is false where none did.
func (o *orders) at(t clock.Tick) (c kick.Cmd, ok bool) {
	if o == nil || o[t%causes].tick != t {
		return c, false
	}
	return o[t%causes].cmd, true
}

// run notes a command that the server runs.
func (o *oracle) run(t clock.Tick, me game.ID, c kick.Cmd) {
	if o.ran == nil {
		o.ran = map[game.ID]*orders{}
	}
	if o.ran[me] == nil {
		o.ran[me] = &orders{}
	}
	o.ran[me].note(t, c)
}

// marked is what changed in one tick of the server other than by Step.
type marked struct {
	tick clock.Tick
	by   []change
}

type change struct{ by, id game.ID } // by is 0 for the referee

// contacts are the pairs that touched, by tick.
type contacts struct {
	ticks  [causes]pairs
	before []solid
	after  []solid
}

type pairs struct {
	tick clock.Tick
	all  [][2]game.ID
}

// A solid is a body as the oracle sees it: a circle, or a box within one.
type solid struct {
	id     game.ID
	at, v  geom.Vec2
	radius float64
	half   geom.Vec2 // of a box
	turn   geom.Angle
}

// solids appends the bodies of a world.
func solids(w *game.World, to []solid) []solid {
	for id, p := range kick.Players.All(w) {
		if p.Cart == 0 {
			to = append(to, solid{id: id, at: p.Pos, v: p.Vel, radius: kick.PlayerRadius})
		}
	}
	for id, b := range kick.Balls.All(w) {
		to = append(to, solid{id: id, at: b.Pos, v: b.Vel, radius: kick.BallRadius})
	}
	crate := geom.Vec2{X: kick.CrateHalf, Y: kick.CrateHalf}
	for id, c := range kick.Crates.All(w) {
		to = append(to, solid{id: id, at: c.Pos, v: c.Vel, radius: crate.Len(), half: crate, turn: c.Turn})
	}
	cart := geom.Vec2{X: kick.CartLength / 2, Y: kick.CartWidth / 2}
	for id, c := range kick.Carts.All(w) {
		to = append(to, solid{id: id, at: c.Pos, v: c.Vel, radius: cart.Len(), half: cart, turn: c.Turn})
	}
	return to
}

// gap returns how far two bodies are apart at most; boxes count as their circles among each other.
func (a *solid) gap(b *solid) float64 {
	if a.half != (geom.Vec2{}) {
		a, b = b, a
	}
	if b.half == (geom.Vec2{}) || a.half != (geom.Vec2{}) {
		return a.at.Dist(b.at) - a.radius - b.radius
	}
	p := a.at.Sub(b.at).Rotate(-b.turn)
	d := geom.Vec2{X: p.X - geom.Clamp(p.X, -b.half.X, b.half.X), Y: p.Y - geom.Clamp(p.Y, -b.half.Y, b.half.Y)}
	return d.Len() - a.radius
}

// step notes which bodies can have touched in the step of a tick; run makes it.
func (c *contacts) step(w *game.World, run func(*game.World)) {
	c.before = solids(w, c.before[:0])
	run(w)
	c.after = solids(w, c.after[:0])
	p := &c.ticks[w.Tick()%causes]
	p.tick, p.all = w.Tick(), p.all[:0]
	for i := range c.after {
		for j := range i {
			touch := meets(&c.after[i], &c.after[j], w.Dt())
			if len(c.before) == len(c.after) {
				touch = touch || meets(&c.before[i], &c.before[j], w.Dt())
			}
			if touch {
				p.all = append(p.all, [2]game.ID{c.after[i].id, c.after[j].id})
			}
		}
	}
}

// rides are the pairs of players and what they ride, by tick.
type rides struct{ ticks [causes]pairs }

// note notes who rides what in the step of a tick.
func (c *rides) note(w *game.World) {
	p := &c.ticks[w.Tick()%causes]
	p.tick, p.all = w.Tick(), p.all[:0]
	for id, x := range kick.Players.All(w) {
		if x.Cart != 0 {
			p.all = append(p.all, [2]game.ID{id, x.Cart})
		}
	}
}

func meets(a, b *solid, dt float64) bool {
	return a.gap(b) < contactGap+a.v.Sub(b.v).Len()*dt
}

func (c *contacts) at(t clock.Tick) [][2]game.ID { return at(&c.ticks, t) }
func (c *rides) at(t clock.Tick) [][2]game.ID    { return at(&c.ticks, t) }

func at(ticks *[causes]pairs, t clock.Tick) [][2]game.ID {
	if p := &ticks[t%causes]; p.tick == t {
		return p.all
	}
	return nil
}

// mark notes that something but Step changed a thing in a tick of the server: a player's command,
// or the referee (0).
func (o *oracle) mark(t clock.Tick, by, id game.ID) {
	m := &o.marks[t%causes]
	if m.tick != t {
		m.tick, m.by = t, m.by[:0]
	}
	m.by = append(m.by, change{by, id})
}

// A link is a thing whose state mattered for the one that is judged.
type link struct {
	id    game.ID
	since clock.Tick // the newest state of it that the client had; what came before does not matter
}

// cause says what can have made the prediction of a thing as of a tick wrong.
func (w *spectator) cause(id game.ID, t clock.Tick) (c cause, coarse bool) {
	w.chain = append(w.chain[:0], link{id, w.knownBefore(id, t)})
	if w.chain[0].since == 0 {
		return touched, false
	}
	for s := t; s+causes > t && s > 0; s-- {
		active := false
		for i := 0; i < len(w.chain); i++ { // it grows meanwhile
			l := w.chain[i]
			if s <= l.since {
				continue
			}
			active = true
			if got := w.marked(l.id, s); got != clean {
				return got, coarse
			}
			for _, side := range [2]*rides{&w.match.oracle.rides, &w.rides} {
				for _, p := range side.at(s) {
					if p[0] == w.me && p[1] == l.id { // its commands move it
						w.involve(w.me, s)
					} else if p[0] == w.me && p[0] == l.id { // and whether it rides depends on who else wants to
						w.involve(p[1], s)
					}
				}
			}
			for _, side := range [2]*contacts{&w.match.oracle.server, &w.seen} {
				for _, p := range side.at(s) {
					other := p[0]
					if p[0] == l.id {
						other = p[1]
					} else if p[1] != l.id {
						continue
					}
					if w.match.avatars[other] && other != w.me {
						return touched, coarse
					}
					coarse = w.involve(other, s) || coarse
				}
			}
		}
		if !active {
			return clean, coarse
		}
	}
	return touched, coarse // it goes back further than anybody remembers
}

// involve adds a thing that mattered for another in a tick to the chain, and reports whether the
// client knew it only as observers do. A newer state of it that the client had changes nothing:
// what the thing did to the other in that tick came from an older one.
func (w *spectator) involve(id game.ID, s clock.Tick) (coarse bool) {
	for _, l := range w.chain {
		if l.id == id && s > l.since {
			return false
		}
	}
	w.chain = append(w.chain, link{id, w.knownBefore(id, s)})
	return !w.predicts(id, s)
}

// marked says what changed a thing in a tick of the server.
func (w *spectator) marked(id game.ID, s clock.Tick) cause {
	if id == w.me {
		server, ok := w.match.oracle.ran[id].at(s)
		if own, did := w.ran.at(s); did != ok || own != server {
			return starved
		}
	}
	if w.kicked[s%causes] == s { // the server may not have run it
		switch id {
		case w.match.ball:
			w.involve(w.me, s)
		case w.me:
			w.involve(w.match.ball, s) // was it in reach?
		}
	}
	if m := &w.match.oracle.marks[s%causes]; m.tick == s {
		for _, x := range m.by {
			if id == w.me && x.by == id {
				w.involve(x.id, s) // a player kicks what is in reach
			}
			if x.id != id {
				continue
			}
			if x.by != w.me {
				return touched
			}
			w.involve(w.me, s) // a kick goes by where the player stands
		}
	}
	return clean
}

// knownBefore returns the newest tick before s of which the client had the exact state of a thing
// before the present frame, 0 for none.
func (w *spectator) knownBefore(id game.ID, s clock.Tick) (newest clock.Tick) {
	for _, t := range w.known[id] {
		if t < s && t > newest {
			newest = t
		}
	}
	return newest
}
