package server

import (
	"slices"
	"testing"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/snapshot"
)

type scout struct {
	Pos   geom.Vec2 `net:"pos"`
	Chief game.ID   `net:"handle"`
}

type shell struct {
	Pos   geom.Vec2 `net:"pos"`
	Owner game.ID   `net:"handle"`
	Power int       `net:"int,0..999"`
}

type bolt struct {
	Pos   geom.Vec2 `net:"pos"`
	Owner game.ID   `net:"handle"`
}

type flag struct {
	On  game.ID   `net:"handle,parent"`
	Pos geom.Vec2 `net:"pos"`
}

type felled struct {
	By, Who, With game.ID `net:"handle"`
}

var (
	scouts = game.NewKind[scout]("scout")
	shells = game.NewKind[shell]("shell")
	bolts  = game.NewKind[bolt]("bolt", game.Predicted)
	flags  = game.NewKind[flag]("flag")
	fellin = game.NewEvent[felled]("felled")
)

// hideout is a game in which rules hide entities from everyone but their own player.
type hideout struct {
	*nest
	hidden map[game.ID]bool
	saw    map[game.ID]game.ID // owner of a shell that each player saw last
	peers  map[string]*peer
}

func newHideout(t *testing.T, see int) *hideout {
	t.Helper()
	n := &hideout{nest: &nest{t: t}, hidden: map[game.ID]bool{}, saw: map[game.ID]game.ID{}, peers: map[string]*peer{}}
	d := n.def()
	d.See, d.Kinds, d.Events = see, game.Kinds(scouts, shells, bolts, flags), game.Events(fellin)
	d.Join = func(w *game.World, name string) game.ID {
		return scouts.Spawn(w, scout{Pos: geom.Vec2{X: float64(10 * scouts.Len(w))}})
	}
	d.Act = func(w *game.World, me game.ID, c antCmd) {
		for _, x := range shells.Seen(w, me) {
			n.saw[me] = x.Owner
		}
	}
	d.Bot, d.Leave = nil, nil
	if see == 0 {
		d.ShownTo = func(w *game.World, id game.ID) uint64 {
			if n.hidden[id] {
				return 0
			}
			return 1
		}
		d.Groups = func(w *game.World, me game.ID) uint64 { return 1 }
	}
	rules, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	if n.s, err = New(rules, Config{}); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *hideout) turns(turns int) {
	for range turns {
		n.tick(func(id PlayerID, b []byte) {
			for _, p := range n.peers {
				if p.id == id {
					p.take(b)
				}
			}
		})
		for _, p := range n.peers {
			cmd := command(n.s.Tick()+1, antCmd{})
			if ack, ok := p.recv.Ack(); ok { // drawn from all that it has, as of its newest record
				cmd.Newest, cmd.Seen = ack.Latest, n.s.Tick().Frac()
			}
			p.send(cmd)
		}
	}
}

// reads returns the handle that a peer holds of an entity; -1: it does not know the entity.
func (n *hideout) reads(name string, id game.ID) int64 {
	e := n.peers[name].store.Find(uint32(id))
	if e == nil {
		return -1
	}
	k := n.s.rules.Kinds[e.Kind]
	for i := range k.Props {
		q := &k.Props[i]
		if q.Class.String() != "handle" {
			continue
		}
		if e.Exact {
			return e.Groups[snapshot.OwnerGroup].Newest().Vals[q.At]
		}
		return e.Groups[q.Group].Newest().Vals[k.Offset(q.Group, i)]
	}
	return -1
}

// A handle is 0 for a player who does not see what it names, in records of what is drawn between
// them, in exact ones, and in events; and it is there as soon as the player does. What a hidden
// entity carries is hidden with it.
//
// seeds: B20
func TestHandlesToTheUnseen(t *testing.T) {
	n := newHideout(t, 0)
	for _, name := range []string{"spy", "guard", "chief"} {
		n.peers[name] = n.connect(name)
		n.turns(1)
	}
	spy, guard, chief := n.s.Avatar(n.peers["spy"].id), n.s.Avatar(n.peers["guard"].id), n.s.Avatar(n.peers["chief"].id)
	var shot, fast, banner, own game.ID
	var dead game.ID
	n.referee = func(w *game.World) {
		if shot == 0 {
			shot, fast = shells.Spawn(w, shell{Owner: spy}), bolts.Spawn(w, bolt{Owner: spy})
			banner, own = flags.Spawn(w, flag{On: spy}), flags.Spawn(w, flag{On: guard})
			scouts.Get(w, guard).Chief, scouts.Get(w, chief).Chief = chief, spy
			dead = scouts.Spawn(w, scout{})
		}
		switch w.Tick() {
		case 40, 64:
			fellin.Emit(w, 0, geom.Vec2{}, felled{By: spy, Who: guard, With: dead})
		case 100:
			w.Despawn(dead)
			fellin.Emit(w, 0, geom.Vec2{}, felled{By: chief, Who: dead, With: bolts.Spawn(w, bolt{})})
		}
	}
	n.hidden[spy] = true
	check := func(when string, shown bool) {
		t.Helper()
		want, there := int64(0), int64(-1)
		if shown {
			want, there = int64(spy), int64(spy)
		}
		for _, x := range []struct {
			peer string
			of   game.ID
			want int64
		}{
			{"spy", shot, int64(spy)}, {"spy", fast, int64(spy)}, {"guard", shot, want}, {"guard", fast, want},
			{"guard", chief, want}, {"chief", chief, int64(spy)}, {"guard", guard, int64(chief)}, {"chief", guard, int64(chief)},
			{"spy", banner, int64(spy)}, {"guard", banner, there}, {"guard", own, int64(guard)}, {"spy", own, int64(guard)},
		} {
			if got := n.reads(x.peer, x.of); got != x.want {
				t.Errorf("%s: %s reads %d in entity %d, want %d", when, x.peer, got, x.of, x.want)
			}
		}
		if n.saw[spy] != spy || n.saw[guard] != game.ID(want) {
			t.Errorf("%s: the rules see that the spy sees owner %d, and the guard %d", when, n.saw[spy], n.saw[guard])
		}
	}
	n.turns(57)
	check("hidden", false)
	n.hidden[spy] = false
	n.turns(5)
	check("shown", true)
	for range 2 {
		n.hidden[spy] = true
		n.turns(3)
		check("hidden again", false)
		n.hidden[spy] = false
		n.turns(3)
		check("shown again", true)
	}
	n.turns(40)
	var heard [][3]int64
	var vals [3]int64
	for _, m := range n.peers["guard"].events {
		if err := packet.DecodeEvent(m.Body, n.s.rules.Events[0], m.Tick, vals[:]); err != nil {
			t.Fatal(err)
		}
		heard = append(heard, vals)
	}
	want := [][3]int64{{0, int64(guard), int64(dead)}, {int64(spy), int64(guard), int64(dead)},
		{int64(chief), int64(dead), int64(n.s.Engine().NextID()) - 1}}
	if !slices.Equal(heard, want) {
		t.Errorf("the guard heard that %v, want %v", heard, want)
	}
}

// Where no rule hides anything, handles that name what is outside a player's sight are 0.
func TestHandlesOutOfSight(t *testing.T) {
	n := newHideout(t, 2)
	for _, name := range []string{"a", "b", "c", "d"} {
		n.peers[name] = n.connect(name)
		n.turns(1)
	}
	a, b, d := n.s.Avatar(n.peers["a"].id), n.s.Avatar(n.peers["b"].id), n.s.Avatar(n.peers["d"].id)
	n.referee = func(w *game.World) { scouts.Get(w, b).Chief = d }
	n.turns(20)
	if got := n.reads("a", b); got != 0 {
		t.Errorf("a, who sees two, reads %d in its neighbour, want 0", got)
	}
	n.referee = func(w *game.World) { scouts.Get(w, b).Chief = a }
	n.turns(20)
	if got := n.reads("a", b); got != int64(a) {
		t.Errorf("a reads %d in its neighbour, want itself, %d", got, a)
	}
}
