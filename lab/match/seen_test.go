package match

import (
	"fmt"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netsim"
	"meanwhile/server"
)

type hunter struct {
	Pos    geom.Vec2  `net:"pos,others=1cm,draw=hermite"`
	Vel    geom.Vec2  `net:"vel,others=1cm/s"`
	Aim    geom.Angle `net:"angle,8bit"`
	Crouch bool       `net:"bool"`
	Stock  int        `net:"int,0..9,to=owner"`
}

type hunterCmd struct {
	Move  geom.Vec2  `net:"stick,5bit"`
	Aim   geom.Angle `net:"angle,8bit"`
	Jump  bool       `net:"press"`
	Crawl bool       `net:"bool"`
}

// look is what one player saw when it made the command of one tick.
type look struct {
	player game.ID
	tick   game.Tick
}

// hunt is a game whose Act notes all that its player sees, on both sides.
type hunt struct {
	hunters game.Kind[hunter]
	server  *game.World
	saw     map[look]map[game.ID]hunter // in clients, when the command was made
	seen    func(l look, saw map[game.ID]hunter)
	herd    map[game.ID]bool
	changed bool // Seen or a rewind changed the world
}

func (h *hunt) rules(see, herd int) (*game.Rules, error) {
	h.hunters, h.saw, h.herd = game.NewKind[hunter]("hunter"), map[look]map[game.ID]hunter{}, map[game.ID]bool{}
	field := geom.Rect{Max: geom.Vec2{X: 60, Y: 60}}
	def := game.Definition[hunterCmd]{
		Name: "hunt", Rate: 30, See: see, Kinds: game.Kinds(h.hunters),
		Join: func(w *game.World, name string) game.ID {
			for ; herd > 0; herd-- {
				h.herd[h.hunters.Spawn(w, hunter{Pos: field.Random(w.Rand())})] = true
			}
			return h.hunters.Spawn(w, hunter{Pos: field.Random(w.Rand())})
		},
		Act: func(w *game.World, me game.ID, c hunterCmd) {
			l := look{me, w.Tick()}
			saw := map[game.ID]hunter{}
			before := h.state(w)
			for id, other := range h.hunters.Seen(w, me) {
				saw[id] = other
			}
			h.changed = h.changed || h.state(w) != before
			if w == h.server {
				h.seen(l, saw)
			} else if _, again := h.saw[l]; !again {
				h.saw[l] = saw
			}
			p := h.hunters.Get(w, me)
			p.Aim, p.Crouch = c.Aim, c.Crawl
			p.Vel = p.Vel.Toward(c.Move.Mul(7), 40*w.Dt())
			p.Pos = field.Clamp(p.Pos.Add(p.Vel.Mul(w.Dt())))
			if c.Jump { // a teleport
				p.Pos = field.Random(w.Rand())
				w.Cut(me)
			}
		},
		Referee: func(w *game.World) { // those of the herd go and stop, and sometimes jump
			for id, p := range h.hunters.All(w) {
				r := geom.NewRand(5, uint64(id), uint64(w.Tick())/50)
				if !h.herd[id] || r.Chance(0.4) {
					continue
				}
				p.Vel = r.Angle().Dir().Mul(4)
				p.Pos, p.Crouch = field.Clamp(p.Pos.Add(p.Vel.Mul(w.Dt()))), r.Chance(0.3)
				if w.Tick()%50 == 7 && r.Chance(0.05) {
					p.Pos = field.Random(w.Rand())
					w.Cut(id)
				}
			}
		},
		Bot: func(w *game.World, me game.ID) (c hunterCmd) {
			r := geom.NewRand(uint64(me), uint64(w.Tick())/20)
			if r.Chance(0.7) {
				c.Move = r.Angle().Dir()
			}
			c.Aim = r.Angle()
			c.Crawl = r.Chance(0.3)
			c.Jump = w.Tick()%20 == 3 && r.Chance(0.1)
			return c
		},
	}
	return def.Rules()
}

// state is all that a world says of itself.
func (h *hunt) state(w *game.World) string {
	if w != h.server {
		return ""
	}
	var s string
	if w.Tick()%64 == 5 {
		for id, p := range h.hunters.All(w) {
			s += fmt.Sprint(id, *p)
		}
	}
	return s
}

// What the server rewinds to is what the player saw, bit for bit: every property of every entity, moving, resting, crouching
// or teleporting, for each command that came in time. And nothing is moved by looking back. Only where a budget so small that losses
// make gaps above rewind.MaxGap lets a client draw what is older than it may, that is judged by a newer state, and counted.
//
// seeds: B15 B16
func TestRewindIsWhatWasSeen(t *testing.T) {
	for _, c := range []struct {
		profile netsim.Profile
		see     int // entities known at most: with few, they come and go all the time
		herd    int // besides the players
		budget  int // with a small one and a herd, records come now and then, and are announced so
	}{{netsim.Fiber, 250, 0, 0}, {netsim.Ocean, 250, 0, 0}, {netsim.Ocean, 5, 0, 0}, {netsim.HotelWiFi, 250, 0, 0},
		{netsim.Fiber, 250, 90, 2400}, {netsim.Ocean, 250, 80, 6000}, {netsim.Ocean, 250, 80, 2400}, {netsim.HotelWiFi, 250, 90, 2400}} {
		h := &hunt{}
		rules, err := h.rules(c.see, c.herd)
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewSim(rules, 4, server.Config{Budget: c.budget})
		if err != nil {
			t.Fatal(err)
		}
		h.server = s.Server.World()
		var commands, same, differ, missing, extra, untimely, unknown int
		newer, allowed := 0, 0 // that differ, and may, because lost records made a gap above rewind.MaxGap
		clamped, outdated := map[*Player]uint64{}, map[*Player]uint64{}
		judge := func(l look, saw map[game.ID]hunter) {
			drawn, ok := h.saw[l]
			if !ok {
				unknown++
				return
			}
			delete(h.saw, l)
			var p *Player
			for _, q := range s.players {
				if s.Server.Avatar(q.ID) == l.player {
					p = q
				}
			}
			st, _ := s.Server.Stats(p.ID)
			bounded := st.Clamped != clamped[p]
			young := l.tick < 60 || c.herd > 0 && l.tick < 120 // its first commands are run when its avatar is known, and by then it sees more; first sights take time
			late := int(st.Newer - outdated[p])
			outdated[p] = st.Newer
			if clamped[p] = st.Clamped; young || bounded || st.LastStarved == l.tick {
				untimely++
				return
			}
			commands++
			allowed += late
			for id, want := range drawn {
				got, ok := saw[id]
				switch {
				case !ok:
					missing++
				case got != want && late > 0:
					late--
					newer++
				case got != want:
					differ++
					if differ < 12 {
						t.Logf("%s see %d: tick %d player %d entity %d: drawn %+v, rewound %+v", c.profile.Name, c.see, l.tick, l.player, id, want, got)
					}
				default:
					same++
				}
			}
			for id := range saw {
				if _, ok := drawn[id]; !ok {
					extra++
				}
			}
		}
		h.seen = judge
		for i := range 12 {
			if _, err := s.Join(fmt.Sprint(i), c.profile, rules.Bot()); err != nil {
				t.Fatal(err)
			}
		}
		s.Run(20 * time.Second)
		if err := s.Diverged(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s see %d: %d commands in time, %d not, %d unknown: %d entities alike, %d different, %d missing, %d extra, %d of %d that were outdated judged by newer ones", c.profile.Name, c.see, commands, untimely, unknown, same, differ, missing, extra, newer, allowed)
		later := 0 // of what is held at the end
		for _, p := range s.players {
			for _, e := range p.Client.Store().Entities() {
				if st := e.Groups[0].Newest(); st != nil && st.Bound > 0 {
					later++
				}
			}
		}
		if (later > 100) != (c.herd > 0) {
			t.Errorf("%s see %d: %d entities are drawn later than the playout time", c.profile.Name, c.see, later)
		}
		most := 0
		if c.see == 5 { // 8 in half a million: a packet overtaken by another, and the datagram lost that would have said so
			most = 3
		}
		if differ+extra+missing > most || same < 20_000 {
			t.Errorf("%s see %d: %d entities alike, %d different, %d missing, %d not drawn", c.profile.Name, c.see, same, differ, missing, extra)
		}
		switch scarce := c.profile.Name == netsim.Ocean.Name && c.budget > 0; {
		case newer*1000 > same, !scarce && allowed > 0, scarce && c.budget == 2400 && newer == 0: // else nothing of the kind was tested
			t.Errorf("%s see %d, %d bytes a second: %d of %d entities judged by a newer state than was drawn", c.profile.Name, c.see, c.budget, newer, allowed)
		}
		if h.changed {
			t.Errorf("%s: looking changed the world", c.profile.Name)
		}
	}
}
