package server

import (
	"fmt"
	"time"

	"meanwhile/game"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/snapshot"
)

// An audience is a Server whose clients see the world of another one and do nothing in it: they
// have no avatar, no command of theirs runs, and the rules hear nothing from them. That world
// computes what it would without them. They may know everything that some player may know, so
// theirs must be a world of the past, see package host.

// A past is the world that an audience sees; the zero past is that of a world.
type past struct {
	world *Server
	late  time.Duration // so much later
}

// watchedTimes is how often the avatar that a spectator follows is sent, compared with others.
const watchedTimes = 4

// NewAudience returns the audience of a world, for so many clients. Their time is that of the world
// and late, in which a Begin of the audience follows each Begin of the world: then both encode,
// then both end. The other methods are those of every Server.
func NewAudience(world *Server, clients int, late time.Duration) (*Server, error) {
	if clients < 1 || clients > MaxClients {
		return nil, fmt.Errorf("server: an audience of %d is outside [1, %d]", clients, MaxClients)
	}
	s := &Server{rules: world.rules, cfg: world.cfg, eng: world.eng, hist: world.hist, nextID: 1, period: world.period,
		owners: owners{map[game.ID]*player{}, map[int32]*player{}}, past: past{world, late}}
	s.cfg.Clients = clients
	s.tick, s.now = world.tick, world.now.Add(late)
	s.current, s.line.Period = world.current, world.period
	s.send, s.ahead = s.sendRate(s.cfg.Budget), world.ahead
	s.followLine()
	return s, nil
}

// SetLate changes by how much the ticks of an audience are late, from the next one on. Its clients
// take that for a pause of the server. A welcome names session.MaxGrace at most.
func (s *Server) SetLate(late time.Duration) { s.late = late }

// LookFrom makes a client of an audience look from where an entity is; 0 is the avatar of the first
// player. Where there is none it stays where it was.
func (s *Server) LookFrom(id PlayerID, target game.ID) {
	if _, p := s.find(id); p != nil {
		p.sight.target = target
	}
}

// watch is Begin of an audience.
func (s *Server) watch() {
	w := s.world
	s.tick, s.now, s.current = w.tick, w.now.Add(s.late), w.current
	s.leaves = s.now
	s.followLine()
	s.scene = w.scene // slices are the world's own, until its next Begin
	clear(s.joins)
	s.joins = s.joins[:0]
	s.tellAll()
	for _, p := range s.clients {
		p.sight.groups = ^uint64(0)
		p.turnDown()
		p.lookAt(p.followed())
	}
}

// followed returns whom a spectator looks from, by its index in the history.
func (p *player) followed() (i int32, ok bool) {
	if id := p.sight.target; id != 0 {
		if i, ok = p.s.hist.Find(uint32(id)); ok {
			return i, p.allows(i)
		}
	}
	for _, q := range p.s.world.clients { // by rising ID
		if q.ent >= 0 && p.allows(q.ent) {
			return q.ent, true
		}
	}
	return -1, false
}

// lookAt moves a spectator to an entity, and sends that one before others.
func (p *player) lookAt(i int32, ok bool) {
	v := &p.sight
	v.watched = v.watched[:0]
	if !ok {
		return
	}
	v.watched = append(v.watched, snapshot.Boost{Ent: i, Times: watchedTimes})
	at := p.s.carrier(i)
	if e := p.s.hist.At(at); e.Placed {
		if !v.reaches(e.X, e.Y) {
			v.crowded = true // look at once
		}
		v.x, v.y = e.X, e.Y
	}
}

// turnDown refuses the messages of a spectator: the rules that it sees are in the past.
func (p *player) turnDown() {
	if p.words == nil {
		return
	}
	for i := range p.words.waiting {
		x := &p.words.waiting[i]
		if p.s.rules.Messages[x.message].Answer != nil {
			if call, _, err := packet.DecodeRequest(x.body); err == nil {
				p.tell(x.message, 0, call.AppendRefused(nil, "you only watch"))
			}
		}
		p.refuse()
	}
	p.words.waiting = p.words.waiting[:0]
}
