package lab

import (
	"fmt"
	"time"

	"meanwhile/client"
	"meanwhile/examples/arena"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
	"meanwhile/server"
)

// rocketBots is how many play the arena, for its rockets.
const rocketBots = 6

// rockets is one match of the arena whose rockets are watched.
type rockets struct {
	sim    *gametest.Sim
	world  *game.World
	fired  map[rocketKey]bool // that the server made
	ids    map[game.ID]rocketKey
	kind   int
	owners []*shooter
	from   clock.Time
}

// A rocketKey names a rocket by its shooter and command.
type rocketKey struct {
	by   game.ID
	tick clock.Tick
}

// A shooter looks when a player's own rockets are drawn.
type shooter struct {
	match  *rockets
	p      *gametest.Player
	made   clock.Tick
	last   clock.Time             // the frame that made the command before
	since  [causes]clock.Time     // the earliest moment of a press of a command: that frame
	first  map[rocketKey]drawnAt  // of own rockets
	again  map[rocketKey]struct{} // those that came in place of one the server had not made
	ahead  map[rocketKey]struct{} // those that were drawn before the server's arrived
	newest rocketKey              // of ahead
	vals   []float64
}

// again is for how many ticks after a rocket that the server did not make another one may stand for
// it.
const again = 60

type drawnAt struct {
	after time.Duration // from the earliest moment of the press
	at    clock.Time
}

// launched is what a match of the arena gave.
type launched struct {
	delays         []float64 // milliseconds
	ahead, refused int
	again          int
}

func playRockets(seed uint64, p netsim.Profile, policy string, span time.Duration) (l launched, err error) {
	m := &rockets{fired: map[rocketKey]bool{}, ids: map[game.ID]rocketKey{}, kind: -1}
	def := arena.Game
	def.Referee = m.referee
	rules, err := def.Rules()
	if err != nil {
		return l, err
	}
	setAhead(rules, policy)
	for i, k := range rules.Kinds {
		if k.Name == "rocket" {
			m.kind = i
		}
	}
	if m.sim, err = gametest.NewSim(rules, seed, server.Config{}); err != nil {
		return l, err
	}
	m.world, m.sim.Client = m.sim.Server.World(), clientOf(policy)
	for i := range rocketBots {
		pl, err := m.sim.Join(fmt.Sprint("bot", i), p, rules.Bot())
		if err != nil {
			return l, err
		}
		s := &shooter{
			match: m,
			p:     pl,
			first: map[rocketKey]drawnAt{},
			ahead: map[rocketKey]struct{}{},
			again: map[rocketKey]struct{}{},
		}
		pl.OnFrame = s.frame
		m.owners = append(m.owners, s)
	}
	m.sim.Run(gametest.Warmup)
	m.from = m.sim.Loop.Now()
	m.sim.Run(span)
	for _, s := range m.owners {
		for key, d := range s.first {
			if _, ok := s.again[key]; ok {
				l.again++
			} else {
				l.delays = append(l.delays, ms(d.after))
			}
			if _, ok := s.ahead[key]; !ok {
				continue
			}
			if l.ahead++; !m.fired[key] && d.at < m.sim.Loop.Now().Add(-time.Second) {
				l.refused++
			}
		}
	}
	return l, m.sim.Diverged()
}

// referee is the game's. Before it, all rockets of a tick exist.
func (m *rockets) referee(w *game.World) {
	for id, r := range arena.Rockets.All(w) {
		if _, ok := m.ids[id]; ok {
			continue
		}
		by, key := m.sim.Server.Engine().Spawner(id)
		if by == 0 { // nobody runs rockets ahead
			by, key.Tick = r.Owner, w.Tick()
		}
		m.ids[id] = rocketKey{by, key.Tick}
		m.fired[m.ids[id]] = true
	}
	arena.Game.Referee(w)
}

// frame is called at the end of each frame.
func (s *shooter) frame() {
	c, m := s.p.Client, s.match
	now := m.sim.Loop.Now()
	if made := c.CommandTick(); made != s.made {
		for t := max(s.made+1, made-min(made, causes-1)); t <= made; t++ {
			s.since[t%causes] = s.last
		}
		s.made, s.last = made, now
	}
	if m.from == 0 {
		return
	}
	s.vals = c.Draw(s.vals, func(e *client.Entity) {
		if e.Kind != m.kind {
			return
		}
		key := rocketKey{c.Me(), engine.SpawnTick(e.ID, s.made)}
		if !e.ID.Foreseen() {
			key = m.ids[e.ID]
		}
		if _, known := s.first[key]; known || key.by != c.Me() || key.tick+causes <= s.made {
			return
		}
		if s.newest.tick+again > key.tick && !m.fired[s.newest] && key.tick < s.made {
			s.again[key] = struct{}{}
		}
		if e.ID.Foreseen() {
			s.ahead[key] = struct{}{}
			s.newest = key
		}
		if since := s.since[key.tick%causes]; since >= m.from {
			s.first[key] = drawnAt{now.Sub(since), now}
		}
	})
}
