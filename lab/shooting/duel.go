package shooting

import (
	"time"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
	"meanwhile/server"
)

// A Duel is a player who holds a place against one who comes out from behind a wall and goes back,
// again and again. Both shoot in the first frame that shows them the other; the holder goes on
// until it does not any more. Times are in milliseconds.
type Duel struct {
	// Ages are how old the holder's pictures of the other were when its shots were judged by them.
	Ages []float64
	// OnScreen counts the holder's shots that hit on its screen, Honoured those that the server
	// confirmed, Clamped those that it judged by another moment.
	OnScreen, Honoured, Clamped int
	// Behind are the times that the runner had been behind the wall when the server confirmed a
	// hit, Felt the same by what the runner's own screen showed when it learned of the hit. Hits
	// that were no surprise are zero in the one, and not in the other.
	Behind, Felt []float64
	// Advantage is by how much earlier the runner's first shot was judged than the holder's, each
	// time that it came out. The runner is the peeker.
	Advantage []float64

	first [2]clock.Tick // of either's first shots, not paired yet
}

// The two players.
const (
	holder = iota
	runnerUp
)

// posts are where they begin: the wall in the middle of the field stands between them.
var posts = [...]geom.Vec3{{X: 12}, {X: -4, Y: 1}}

// The runner turns at these heights of its way. It comes into sight between them.
const (
	hidden  = 1.0
	exposed = 10.0
)

// foe is what a player of a duel remembers.
type foe struct {
	seen    bool       // in the frame before
	last    clock.Time // the last frame in which it could see the other
	hits    int
	descend bool
}

// NewDuel runs a duel for a while over paths that only delay, by these round trips. cfg says how far
// back shots are judged.
func NewDuel(holds, runs time.Duration, cfg server.Config, seed uint64, d time.Duration) (*Duel, error) {
	path := func(rtt time.Duration) netsim.Profile {
		c := netsim.LinkConfig{Delay: rtt / 2}
		return netsim.Profile{Name: "delay", Down: c, Up: c}
	}
	duel := &Duel{}
	r, err := New(Config{Shooters: 2, Alone: true, Seed: seed, server: cfg, duel: duel,
		each: []netsim.Profile{path(holds), path(runs)}})
	if err != nil {
		return nil, err
	}
	return duel, r.Run(d)
}

// pace moves a player of a duel.
func (s *shooter) pace() {
	s.move, s.crouch = geom.Vec2{}, false
	if s.n == holder {
		return
	}
	if y := s.screen.eye.Y; y > exposed || y < hidden {
		s.foe.descend = y > exposed
	}
	if s.move.Y = 1; s.foe.descend {
		s.move.Y = -1
	}
}

// fight looks for the other player and shoots.
func (s *shooter) fight(now clock.Time) {
	v, f := &s.screen, &s.foe
	if !v.ok || len(v.bodies) == 0 {
		return
	}
	b := &v.bodies[0]
	if v.visible(b.at.Add(geom.Vec3{Z: eyeHeight(b.crouch)}), &body{at: v.eye.Sub(geom.Vec3{Z: eyeHeight(s.crouch)})}) {
		f.last = now
	}
	if v.hits != f.hits {
		if f.hits = v.hits; s.n == runnerUp && s.r.counts {
			s.r.cfg.duel.Felt = append(s.r.cfg.duel.Felt, float64(now.Sub(f.last))/1e6)
		}
	}
	line := geom.Ray3To(v.eye, b.at.Add(geom.Vec3{Z: eyeHeight(b.crouch)}))
	free, _ := v.covered(line)
	sees := free >= line.Len
	first := sees && !f.seen
	f.seen = sees
	if !sees || s.still || s.click != nil || !first && (s.n == runnerUp || now < s.ready) {
		return
	}
	x := &shot{by: s, number: s.number % shotNumbers, at: now, eye: v.eye.Sub(v.off), shown: v.shown, counts: s.r.counts,
		first: first}
	x.claim = claim{target: b.id, drawn: *b}
	x.yaw, x.pitch = s.round(b.at.Add(geom.Vec3{Z: b.height() / 2}).Sub(v.eye))
	x.truth, _ = v.trace(v.eye, x.yaw, x.pitch)
	s.number, s.ready = s.number+1, now.Add(refire)
	s.shots[x.number], s.click = x, x
	s.open = append(s.open, x)
}

// count notes what became of a shot.
func (d *Duel) count(r *Range, x *shot) {
	if x.judged == 0 {
		return
	}
	if x.first {
		d.first[x.by.n] = x.judged
		if a, b := d.first[holder], d.first[runnerUp]; a != 0 && b != 0 {
			if apart := int(a) - int(b); max(apart, -apart) < Rate {
				d.Advantage = append(d.Advantage, float64(apart)*1000/Rate)
				d.first = [2]clock.Tick{}
			}
		}
	}
	if x.by.n != holder {
		return
	}
	d.Ages = append(d.Ages, x.age*1000/Rate)
	if x.clamped {
		d.Clamped++
	}
	if x.truth == 0 {
		return
	}
	d.OnScreen++
	if x.verdict == x.truth {
		d.Honoured++
		d.Behind = append(d.Behind, float64(r.past.behind(x.by.avatar, x.verdict, x.judged))*1000/Rate)
	}
}

// Add adds what another duel counted.
func (d *Duel) Add(o *Duel) {
	d.Ages = append(d.Ages, o.Ages...)
	d.OnScreen += o.OnScreen
	d.Honoured += o.Honoured
	d.Clamped += o.Clamped
	d.Behind = append(d.Behind, o.Behind...)
	d.Felt = append(d.Felt, o.Felt...)
	d.Advantage = append(d.Advantage, o.Advantage...)
}
