package shooting

import (
	"slices"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
)

// A Matter is something that a target does and that servers get wrong.
type Matter int

// The matters. A shot is about one if its target did it within about of the moment that the screen
// showed; about a door or a platform if one is in play.
const (
	ofTeleport Matter = iota
	ofSpawn
	ofDeath
	ofCrouch
	ofDoor
	ofPlatform
	Matters
)

func (m Matter) String() string {
	return [...]string{"teleports", "spawns", "deaths", "crouches", "doors", "platforms"}[m]
}

// about is how many ticks before or after what it did a shot at a target is about it.
const about = 12

// roles of targets.
const (
	runner = iota
	strafer
	jumper
	croucher
	teleporter
	mortal
	newcomer
	rider
	peeker
	roles
)

// target is a man whom nobody commands.
type target struct {
	role  int
	id    game.ID
	on    int       // the platform of a rider, -1: the ground
	cover geom.Vec2 // what a peeker walks to and fro behind
	next  clock.Tick
	turns clock.Tick
}

// deeds are the ticks of the last things of one sort that a man did.
type deeds [6]clock.Tick

func (d *deeds) add(t clock.Tick) { copy(d[1:], d[:]); d[0] = t }

func (d *deeds) near(t clock.Tick) bool {
	return slices.ContainsFunc(d[:], func(x clock.Tick) bool { return x != 0 && max(x, t)-min(x, t) <= about })
}

// stage is what moves by itself.
type stage struct {
	rng       geom.Rand
	targets   []target
	platforms []game.ID
	doors     []game.ID
	did       map[game.ID]*[ofDoor]deeds
}

var doorSpots = [...]geom.Vec2{{X: -8, Y: -16}, {X: 8, Y: 16}, {X: -16, Y: 10}, {X: 17, Y: -4}}

// platformSpots are the middles of the ways of platforms.
var platformSpots = [...]geom.Vec2{{X: -5, Y: -4}, {X: 6, Y: 5}, {X: 0, Y: 19}}

const (
	platformHeight = 1.0
	platformHalf   = 1.8 // metres that riders go to each side
)

func (s *stage) note(id game.ID, m Matter, t clock.Tick) {
	d := s.did[id]
	if d == nil {
		d = new([ofDoor]deeds)
		s.did[id] = d
	}
	d[m].add(t)
}

// build puts everything in its place.
func (s *stage) build(w *game.World, targets int) {
	for range platformSpots {
		s.platforms = append(s.platforms, platforms.Spawn(w, platform{}))
	}
	for range doorSpots {
		s.doors = append(s.doors, doors.Spawn(w, door{}))
	}
	s.slide(w)
	for i := range targets {
		t := target{role: i % roles, on: -1}
		t.cover = doorSpots[i/roles%len(doorSpots)]
		if i/roles%3 == 2 {
			t.cover = walls[i/roles/3%4].Center().XY()
		}
		s.appear(w, &t)
		s.targets = append(s.targets, t)
	}
}

// slide moves platforms and doors on.
func (s *stage) slide(w *game.World) {
	swing := func(period, at float64) float64 {
		return geom.Sin(float64(2*geom.Pi) * (float64(w.Tick())/Rate/period + at))
	}
	for i, id := range s.platforms {
		at := platformSpots[i]
		platforms.Get(w, id).Pos = at.Add(geom.Vec2{X: 7 * swing(7+float64(i), 0.3*float64(i))}).At(platformHeight)
	}
	for i, id := range s.doors {
		at := doorSpots[i]
		doors.Get(w, id).Pos = at.Add(geom.Vec2{X: 1.8 * swing(3+0.5*float64(i), 0.2*float64(i))}).At(0)
	}
}

// appear spawns a target.
func (s *stage) appear(w *game.World, t *target) {
	m := man{Pos: field.Random(&s.rng).At(0), Alive: true}
	if t.role == peeker {
		m.Pos = t.cover.Add(geom.Vec2{X: s.rng.Range(-3, 3), Y: 1}).At(0)
	}
	t.id = men.Spawn(w, m)
	t.next = w.Tick() + clock.Tick(s.rng.IntN(2*Rate))
	s.note(t.id, ofSpawn, w.Tick())
}

// step moves the targets on by a tick.
func (s *stage) step(w *game.World) {
	s.slide(w)
	for i := range s.targets {
		t := &s.targets[i]
		p := men.Get(w, t.id)
		if w.Tick() >= t.turns {
			s.turn(w, t, p)
		}
		if w.Tick() >= t.next {
			s.act(w, t, p)
			if p = men.Get(w, t.id); t.role == newcomer {
				continue // a new one, who is there from the end of the tick
			}
		}
		s.move(w, t, p)
	}
}

// turn gives a target another way to go.
func (s *stage) turn(w *game.World, t *target, p *man) {
	speed, most := s.rng.Range(4, 8), 2.5
	way := s.rng.Dir().Mul(speed)
	switch t.role {
	case strafer:
		most = 0.5
		way = geom.Vec2{X: -p.Vel.Y, Y: p.Vel.X}.Unit().Mul(speed)
		if s.rng.Chance(0.7) || way == (geom.Vec2{}) {
			way = p.Vel.XY().Neg().Unit().Mul(speed)
		}
		if way == (geom.Vec2{}) {
			way = geom.Vec2{X: speed}
		}
	case rider:
		if t.on >= 0 {
			way, most = s.rng.Dir().Mul(1.5), 0.8
		}
	case peeker:
		most = 1.2
		way = geom.Vec2{X: speed * 0.7}
		if p.Pos.X > t.cover.X {
			way.X = -way.X
		}
	case croucher:
		way = way.Mul(0.4)
	}
	p.Vel.X, p.Vel.Y = way.X, way.Y
	t.turns = w.Tick() + clock.Tick(s.rng.Range(0.2, most)*Rate)
}

// act does what a target of its role does now and then.
func (s *stage) act(w *game.World, t *target, p *man) {
	after := s.rng.Range(0.8, 2.5)
	switch t.role {
	case jumper:
		if p.Pos.Z == 0 {
			p.Vel.Z, after = 5.5, s.rng.Range(0.6, 1.6)
		}
	case croucher:
		p.Crouch, after = !p.Crouch, s.rng.Range(0.4, 1.2)
		s.note(t.id, ofCrouch, w.Tick())
	case teleporter:
		p.Pos = field.Clamp(p.Pos.XY().Add(s.rng.Dir().Mul(s.rng.Range(1, 15)))).At(0)
		w.Cut(t.id)
		s.note(t.id, ofTeleport, w.Tick())
	case mortal:
		p.Alive = !p.Alive
		s.note(t.id, ofDeath, w.Tick())
		if p.Vel = (geom.Vec3{}); p.Alive {
			p.Pos = field.Random(&s.rng).At(0)
			w.Cut(t.id)
			s.note(t.id, ofTeleport, w.Tick())
		}
	case newcomer:
		w.Despawn(t.id)
		s.note(t.id, ofDeath, w.Tick())
		s.appear(w, t)
		return
	case rider:
		s.hop(w, t, p)
		after = s.rng.Range(2, 5)
	}
	t.next = w.Tick() + clock.Tick(after*Rate)
}

// hop gets a rider on or off a platform.
func (s *stage) hop(w *game.World, t *target, p *man) {
	if t.on >= 0 {
		at, _ := w.On(p.On, p.Pos)
		p.On, p.Pos, t.on = 0, at.XY().At(0), -1
		return
	}
	t.on = s.rng.IntN(len(s.platforms))
	p.On, p.Pos, p.Vel = s.platforms[t.on], geom.Vec3{}, geom.Vec3{}
}

const gravity = 15.0 // m/s²

// move moves a target by its velocity.
func (s *stage) move(w *game.World, t *target, p *man) {
	if !p.Alive {
		return
	}
	at := p.Pos.XY().Add(p.Vel.XY().Mul(w.Dt()))
	if t.on >= 0 {
		half := geom.Vec2{X: platformHalf, Y: platformHalf}
		p.Pos = geom.Rect{Min: half.Neg(), Max: half}.Clamp(at).At(0)
		return
	}
	z := max(p.Pos.Z+float64(p.Vel.Z*w.Dt()), 0)
	if p.Vel.Z -= gravity * w.Dt(); z == 0 {
		p.Vel.Z = 0
	}
	p.Pos = field.Clamp(at).At(z)
}
