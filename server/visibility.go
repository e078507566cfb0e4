package server

import (
	"math"
	"slices"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/interest"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
)

// gridCell is the least side of an interest cell in millimetres: in a dense crowd hundreds are
// within 20 m.
const gridCell = 4000

// A scene is where everything is, and who may know of it.
type scene struct {
	grid      *interest.Grid
	carried   carried
	placeless []int32 // entities without a place: they are known wherever one is
	popups    []popup // of the last second, the newest last
	// Where the rules hide entities: groups of players that may know of each, by its index in the
	// history, and of those that were removed in this tick, as of the tick before.
	shownTo        []uint64
	removedShownTo map[game.ID]uint64
	attending      *player // who is asked what it attends to
}

// carried is the entities that are on others.
type carried struct {
	riders []int32
	aboard []uint8 // by entity, how many are on it; all 0 between ticks
}

// visibility is where one player looks from, and how far. The entities that it knows are kept in
// its View alone.
type visibility struct {
	x, y   int32   // where the avatar is, or was last, in millimetres
	groups uint64  // that the player is in, where the rules hide entities
	target game.ID // whom a client of an audience looks from; 0: the first player
	// reach2 is the squared distance in square millimetres up to which everything is known;
	// negative: there is no limit.
	reach2 int64
	// watched is what the game says that the player attends to, and facing where it looks.
	watched []snapshot.Boost
	facing  snapshot.Facing
	// crowded says that slots are short. They become free as packets are acknowledged, so packets
	// must flow.
	crowded bool
	looked  clock.Tick // when the player looked around last; 0: never
	send    int        // packets a second at that time
}

// covers reports whether a place lies within sight.
func (v *visibility) covers(at geom.Vec2) bool {
	return v.within(float64(at.X*1000), float64(at.Y*1000))
}

// reaches is covers of a place in millimetres.
func (v *visibility) reaches(x, y int32) bool { return v.within(float64(x), float64(y)) }

func (v *visibility) within(x, y float64) bool {
	dx, dy := float64(v.x)-x, float64(v.y)-y
	return v.reach2 < 0 || float64(dx*dx)+float64(dy*dy) <= float64(v.reach2)
}

// hysteresis is how many entities more than Definition.See a client may know.
func hysteresis(see int) int { return max(see/16, 1) }

// viewer returns where a player looks from and how far. What comes near is known a little before it
// is among the nearest See, so that at that time it is drawn.
func (p *player) viewer() interest.Viewer {
	r, v := p.s.rules, &p.sight
	more := hysteresis(r.See)
	q := interest.Viewer{X: v.x, Y: v.y, Nearest: r.See + more/2, Margin: more - more/2, Last2: v.reach2}
	if r.Hides() {
		q.Allow = p.allows
	}
	return q
}

// place brings everything that has a place into the grid. Riders count as standing where their
// vehicle is, so that all come into sight and leave it at the same time. Where more are aboard than
// the edge of sight is wide each counts for itself, as on the ground.
func (s *Server) place() {
	s.carried.riders = s.carried.riders[:0]
	s.hist.Places(func(i, x, y, on int32) {
		if on >= 0 {
			s.carried.riders = append(s.carried.riders, i)
		} else {
			s.grid.Insert(i, x, y)
		}
	})
	more := hysteresis(s.rules.See)
	most := uint8(min(more-more/2-1, math.MaxUint8-1))
	s.carried.aboard = slices.Grow(s.carried.aboard[:0], s.hist.Len())[:s.hist.Len()]
	for _, i := range s.carried.riders {
		n := &s.carried.aboard[s.carrier(i)]
		*n = min(*n+1, most+1)
	}
	for _, i := range s.carried.riders {
		at := s.carrier(i)
		if s.carried.aboard[at] > most {
			at = i
		}
		e := s.hist.At(at)
		s.grid.Insert(i, e.X, e.Y)
	}
	for _, i := range s.carried.riders {
		s.carried.aboard[s.carrier(i)] = 0
	}
}

// carrier returns the bottom of the entities that an entity is on, or the entity itself.
func (s *Server) carrier(i int32) int32 {
	for range schema.MaxParents {
		on := s.hist.At(i).On
		if on < 0 {
			break
		}
		i = on
	}
	return i
}

// vehicles appends what the members are on and what the player's avatar is on: where they are is
// only known with it.
func (p *player) vehicles(members []interest.Neighbour, dst []int32) []int32 {
	s := p.s
	if len(s.carried.riders) == 0 {
		return dst
	}
	add := func(i int32) {
		for range schema.MaxParents {
			i = s.hist.At(i).On
			if i < 0 || slices.Contains(dst, i) {
				return
			}
			dst = append(dst, i)
		}
	}
	if p.ent >= 0 {
		add(p.ent)
	}
	for _, m := range members {
		add(m.Index)
	}
	for i := range p.sight.watched {
		add(p.sight.watched[i].Ent)
	}
	return dst
}

// see brings the client's slots in line with what it may know: its own avatar, everything without a
// place, and the nearest others, all as far as the rules allow it.
func (p *player) see(out *Outbox) {
	s, v, view := p.s, &p.sight, p.down.view
	if p.ent >= 0 {
		view.Enter(p.ent, snapshot.Mine)
		e := s.hist.At(p.ent)
		v.x, v.y = e.X, e.Y
	}
	p.seeSpawns()
	for i := range v.watched {
		if ent := v.watched[i].Ent; p.allows(ent) && !view.Enter(ent, p.detail(ent, false)) {
			v.crowded = true
		}
	}
	if s.rules.Hides() {
		out.known = view.AppendKnown(out.known[:0])
		for _, i := range out.known {
			if !p.allows(i) {
				view.Leave(i)
			}
		}
	}
	if v.crowded || p.mayLook() || v.send != p.down.send || p.popsUp() {
		v.looked, v.send = s.tick, p.down.send
		p.look(out)
	}
}

const (
	looksPerSecond = 4   // of a player in a crowd; it looks with each packet where that is cheap
	cheapLook      = 128 // entities for each tick between two looks
)

// lookEvery returns after how many ticks a player looks around again.
func (s *Server) lookEvery() clock.Tick {
	return clock.Tick(min(s.rules.Rate/looksPerSecond, s.grid.Len()/cheapLook))
}

// mayLook reports whether the player's turn to look around came since it looked last. Turns are
// lookEvery apart. Players have theirs in different ticks, whenever they joined and whatever made
// all of them look at once in between.
func (p *player) mayLook() bool {
	every, phase := p.s.lookEvery(), clock.Tick(p.down.phase)
	return every <= 1 || (p.s.tick+phase)/every != (p.sight.looked+phase)/every
}

// look finds out what is in sight, and weighs it.
func (p *player) look(out *Outbox) {
	s, v, view := p.s, &p.sight, p.down.view
	v.crowded = false
	for _, i := range s.placeless {
		if p.allows(i) {
			view.Enter(i, p.detail(i, false))
		}
	}
	set, viewer := &out.set, p.viewer()
	out.known = view.AppendKnown(out.known[:0])
	members := set.Follow(s.grid, &viewer, out.known)
	v.reach2 = set.Reach2
	out.under = p.vehicles(members, out.under[:0])
	for _, i := range out.under {
		if p.allows(i) && !view.Enter(i, p.detail(i, false)) {
			v.crowded = true
		}
	}
	for _, i := range set.Left {
		stays := !s.hist.At(i).Placed || p.watches(i) || slices.Contains(p.spawns, i) || slices.Contains(out.under, i)
		if i != p.ent && (!stays || !p.allows(i)) {
			view.Leave(i)
		}
	}
	for _, i := range set.Entered {
		if !view.Enter(i, p.detail(i, false)) {
			v.crowded = true
		}
	}
	if s.ahead.near {
		out.movers = p.approach(members, out.movers)
	}
	d := &p.down
	view.Look(&snapshot.Look{X: v.x, Y: v.y, Facing: v.facing, Boosts: v.watched, Order: s.cfg.Order,
		Pace: snapshot.Pace{Rate: uint16(s.rules.Rate),
			Send: uint16(d.send), Records: uint16(d.pace.records()), MaxClass: s.maxClass(d.send)}})
}

// A popup is an entity that was not where it is now in the tick before: it was spawned or
// teleported.
type popup struct {
	ent int32
	at  clock.Tick
}

// popsUp reports whether something popped up within sight since the player looked.
func (p *player) popsUp() bool {
	v := &p.sight
	for i := len(p.s.popups) - 1; i >= 0 && p.s.popups[i].at > v.looked; i-- {
		if e := p.s.hist.At(p.s.popups[i].ent); v.reaches(e.X, e.Y) {
			return true
		}
	}
	return false
}

// allows reports whether the rules let the player know of an entity. What is on a hidden one is
// hidden with it: its place would be relative to that of an entity which the player does not see.
func (p *player) allows(i int32) bool {
	s := p.s
	if !s.rules.Hides() {
		return true
	}
	for range schema.MaxParents + 1 {
		if i == p.ent {
			return true
		}
		if s.shownTo[i]&p.sight.groups == 0 {
			return false
		}
		if len(s.carried.riders) == 0 {
			break
		}
		if i = s.hist.At(i).On; i < 0 {
			break
		}
	}
	return true
}

// shownWith returns the groups of players that may know of an entity and of all that carries it.
func (s *Server) shownWith(i int32) uint64 {
	groups := s.shownTo[i]
	for range schema.MaxParents {
		if i = s.hist.At(i).On; i < 0 {
			break
		}
		groups &= s.shownTo[i]
	}
	return groups
}

// allowsActor reports whether the rules let the player learn of an event of an actor that is gone.
// They cannot be asked about such an actor any more, so what they said in the tick before counts;
// an actor that came and went within one tick was shown to nobody. Events without an actor are for
// everybody.
func (p *player) allowsActor(gone game.ID) bool {
	return !p.s.rules.Hides() || gone == 0 || gone == p.lost || p.s.removedShownTo[gone]&p.sight.groups != 0
}

// hide asks the rules who may know of what. Where they panic, what they did not get to is hidden.
func (s *Server) hide() {
	if !s.rules.Hides() {
		return
	}
	s.shownTo = slices.Grow(s.shownTo[:0], s.hist.Len())[:s.hist.Len()]
	clear(s.shownTo)
	s.fault(s.eng.Show(s.calls.show))
	for _, p := range s.clients {
		var err error
		p.sight.groups, err = s.eng.Groups(p.avatar)
		s.fault(err)
	}
}

// maxWatched is how many entities a player may attend to: more do not count.
const maxWatched = 16

// attend asks the rules what players attend to.
func (s *Server) attend() {
	if !s.rules.Watches() {
		return
	}
	for _, p := range s.clients {
		p.sight.watched, s.attending = p.sight.watched[:0], p
		facing, err := s.eng.Watch(p.avatar, s.calls.watch)
		p.sight.facing = snapshot.FacingOf(facing.X, facing.Y)
		s.fault(err)
	}
	s.attending = nil
}

// watchEntity notes that the player who is asked attends to an entity.
func (s *Server) watchEntity(id game.ID, times int) {
	p := s.attending
	if p == nil {
		return // the rules kept the function
	}
	v := &p.sight
	i, ok := s.hist.Find(uint32(id))
	if ok && i != p.ent && len(v.watched) < maxWatched && !p.watches(i) {
		v.watched = append(v.watched, snapshot.Boost{Ent: i, Times: int32(min(max(times, 1), math.MaxInt16))})
	}
}

// watches reports whether the player attends to an entity.
func (p *player) watches(i int32) bool {
	return slices.ContainsFunc(p.sight.watched, func(b snapshot.Boost) bool { return b.Ent == i })
}

// showEntity notes which groups of players may know of an entity.
func (s *Server) showEntity(id game.ID, groups uint64) {
	if i, ok := s.hist.Find(uint32(id)); ok {
		s.shownTo[i] = groups
	}
}
