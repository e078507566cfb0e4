package crowd

import (
	"fmt"
	"math"
	"strconv"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
)

// The two kinds of walkers: with six properties (place of two, heading, health, what it does, and
// a name), and with nineteen more that change by themselves.
type (
	plain struct {
		Pos     geom.Vec2  `net:"pos,others=1cm"`
		Heading geom.Angle `net:"angle,8bit"`
		Health  int        `net:"int,0..100"`
		Anim    int        `net:"int,0..7"`
		Name    string     `net:"text,10,ref"`
		Number  int        `net:"int,0..65535,server"` // of the walker
	}
	rich struct {
		Pos     geom.Vec2  `net:"pos,others=1cm"`
		Heading geom.Angle `net:"angle,8bit"`
		Health  int        `net:"int,0..100"`
		Anim    int        `net:"int,0..7"`
		Name    string     `net:"text,10,ref"`
		Number  int        `net:"int,0..65535,server"`

		P1, P2, P3, P4, P5, P6, P7, P8, P9, P10, P11, P12, P13, P14, P15, P16, P17, P18, P19 int `net:"int,0..255"`
	}
	command struct {
		Move geom.Vec2  `net:"stick,8bit"`
		Aim  geom.Angle `net:"angle,8bit"`
	}
)

// Numbers of properties of a walker.
const (
	Few  = 6
	Many = 25

	others = Many - Few
)

// changes is the chance that one of the other properties changes in a tick.
const changes = 0.01

// Where Client.Draw has the name among the numbers of a walker, after place, heading, health and
// anim.
const drawnName = 5

// scene is the world of a run: the walkers and who they are in the game.
type scene struct {
	walkers *Walkers
	ids     []game.ID // by walker; 0: not there
	numbers []int32   // walkers by game.ID
	alone   []int32   // walkers without a player, who appear with the next tick
	// detour, where set, puts a walker elsewhere than its way.
	detour func(walker int) (x, y int32, ok bool)
	jumped []int32         // walkers that are teleported with the next tick
	cuts   []int32         // walkers that were teleported in this tick
	x, y   []int32         // places one tick before
	rests  []spell         // by walker
	others []uint8         // the other properties of all walkers, where they have them
	random random          // draws those
	drawn  game.KindOption // whether walkers are drawn at the present
}

// name returns the name of walker i, which is the name of its player.
func name(i int) string { return fmt.Sprintf("ent-%06d", i) }

// rules returns the game of a crowd. Players command nothing: the referee moves their walkers.
func (s *scene) rules(properties int) (*game.Rules, error) {
	switch properties {
	case Few:
		return rulesOf(s, game.NewKind[plain]("walker", s.drawn), func(p *plain) {
			s.put(p.Number, &p.Pos, &p.Heading, &p.Health, &p.Anim)
		}, func(i int) plain { return plain{Name: name(i), Number: i, Health: 100} })
	case Many:
		return rulesOf(s, game.NewKind[rich]("walker", s.drawn), func(p *rich) {
			s.put(p.Number, &p.Pos, &p.Heading, &p.Health, &p.Anim)
			for j, v := range [others]*int{&p.P1, &p.P2, &p.P3, &p.P4, &p.P5, &p.P6, &p.P7, &p.P8, &p.P9, &p.P10, &p.P11, &p.P12,
				&p.P13, &p.P14, &p.P15, &p.P16, &p.P17, &p.P18, &p.P19} {
				*v = int(s.others[p.Number*others+j])
			}
		}, func(i int) rich { return rich{Name: name(i), Number: i, Health: 100} })
	}
	return nil, fmt.Errorf("crowd: %d properties: there are walkers with %d and %d", properties, Few, Many)
}

func rulesOf[T any](
	s *scene, kind game.Kind[T], move func(*T), spawn func(int) T,
) (*game.Rules, error) {
	add := func(w *game.World, i int) game.ID {
		id := kind.Spawn(w, spawn(i))
		for len(s.numbers) <= int(id) {
			s.numbers = append(s.numbers, -1)
		}
		s.ids[i], s.numbers[id] = id, int32(i)
		move(kind.Get(w, id))
		return id
	}
	d := game.Definition[command]{
		Name: "crowd", Rate: Rate, Send: Rate, See: near, Kinds: game.Kinds(kind),
		Join: func(w *game.World, name string) game.ID {
			i, err := strconv.Atoi(name[4:])
			if err != nil {
				panic(err)
			}
			return add(w, i)
		},
		Act: func(*game.World, game.ID, command) {},
		Referee: func(w *game.World) {
			for _, i := range s.alone {
				add(w, int(i))
			}
			s.alone = s.alone[:0]
			for _, p := range kind.All(w) {
				move(p)
			}
			for _, i := range s.cuts {
				w.Cut(s.ids[i])
			}
		},
	}
	return d.Rules()
}

// spell is a walker's newest time of rest: the last tick in which it moved before, and the last in
// which it rested.
type spell struct{ moved, rested clock.Tick }

// step moves the walkers on by a tick, and changes their other properties.
func (s *scene) step(now clock.Tick) {
	s.x, s.y = append(s.x[:0], s.walkers.x...), append(s.y[:0], s.walkers.y...)
	s.walkers.Step()
	s.cuts, s.jumped = append(s.cuts[:0], s.jumped...), s.jumped[:0]
	for i := range s.walkers.all {
		if s.detour == nil {
			break
		}
		if x, y, ok := s.detour(i); ok {
			s.walkers.x[i], s.walkers.y[i] = x, y
		}
	}
	for i := range s.x {
		if s.x[i] != s.walkers.x[i] || s.y[i] != s.walkers.y[i] {
			continue
		}
		r := &s.rests[i]
		if r.rested != now-1 {
			r.moved = now - 1
		}
		r.rested = now
	}
	for i := range s.others {
		if s.random.chance(changes) {
			s.others[i] = uint8(s.random.next())
		}
	}
}

// put writes the state of a walker as it is now.
func (s *scene) put(i int, pos *geom.Vec2, heading *geom.Angle, health, anim *int) {
	w := s.walkers
	x, y := w.x[i], w.y[i]
	*pos = geom.Vec2{X: float64(x) / 100, Y: float64(y) / 100}
	*heading = geom.Angle(float64(w.heading[i]) / (1 << 16) * 2 * math.Pi)
	*health, *anim = int(w.health[i]), int(w.anim[i])
}
