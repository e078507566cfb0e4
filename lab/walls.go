package lab

import (
	"slices"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/snapshot"
	"meanwhile/netsim"
	"meanwhile/server"
)

var wallsExperiment = &experiment{
	name:  "walls",
	about: "what a client can read from its packets of what the rules hide from it",
	notes: `Eight clients among sixty walkers, each of which the rules show to a client for two thirds of the time, in
half seconds that differ for every pair. Each walker is followed by a shadow and by a shadow that all clients run
ahead, both with a handle to it, and calls out by an event that names it and another one. The clients decode all
that they receive.
<b>hidden_share</b> is the share of walkers that are hidden, <b>states</b> counts states of walkers and shadows that
arrived, <b>hidden_states</b> those of a walker in a tick in which the rules hid it from that client, <b>names</b>
handles that name somebody, <b>hidden_names</b> those of somebody who was hidden in that tick, in states and events.`,
	takes:    byProfile | byPolicy,
	profiles: []netsim.Profile{netsim.LAN, netsim.Ocean},
	policies: []string{ours},
	run:      runWalls,
}

type (
	hider struct {
		Pos    geom.Vec2 `net:"pos"`
		Friend game.ID   `net:"handle,group=0"`
	}
	shadow struct {
		Pos geom.Vec2 `net:"pos"`
		Of  game.ID   `net:"handle,group=0"`
	}
	call struct {
		By, To game.ID `net:"handle"`
	}
	idle struct {
		Wave bool `net:"press"`
	}
)

const (
	wallViewers = 8
	wallWalkers = 60
	wallTurn    = 15 // ticks for which a pair sees each other, or does not
)

// walls is one match of who sees what.
type walls struct {
	loop    netsim.Loop
	rules   *game.Rules
	server  *server.Server
	hiders  game.Kind[hider]
	shadows [2]game.Kind[shadow]
	calls   game.Event[call]
	first   game.ID // of the walkers, who follow each other
	viewers []*viewer

	hidden, pairs int
}

// viewer is a client that counts what it receives.
type viewer struct {
	w      *walls
	n      int // its bit
	client *client.Client
	id     server.PlayerID
	path   *netsim.Path

	states, hiddenStates, names, hiddenNames int
}

// hides reports whether the rules hide a walker from viewer n at a tick.
func (w *walls) hides(id game.ID, n int, tick clock.Tick) bool {
	if id < w.first || id >= w.first+wallWalkers {
		return false
	}
	r := geom.NewRand(uint64(id)<<32|uint64(n)<<28, uint64(tick/wallTurn))
	return r.IntN(3) == 0
}

func (w *walls) groups(id game.ID, tick clock.Tick) (groups uint64) {
	for n := range wallViewers {
		if !w.hides(id, n, tick) {
			groups |= 1 << n
		}
	}
	return groups
}

func (w *walls) define() (err error) {
	w.hiders, w.calls = game.NewKind[hider]("hider"), game.NewEvent[call]("call")
	w.shadows = [2]game.Kind[shadow]{game.NewKind[shadow]("shadow"), game.NewKind[shadow]("ahead", game.Predicted)}
	joined := 0
	def := game.Definition[idle]{
		Name: "walls", Kinds: game.Kinds(w.hiders, w.shadows[0], w.shadows[1]), Events: game.Events(w.calls),
		Join: func(x *game.World, name string) game.ID {
			if joined++; joined == 1 {
				for n := range wallWalkers {
					id := w.hiders.Spawn(x, hider{Pos: geom.Vec2{X: float64(n)}})
					w.first = id - game.ID(n)
				}
				for n := range wallWalkers {
					for k := range w.shadows {
						w.shadows[k].Spawn(x, shadow{Of: w.first + game.ID(n)})
					}
				}
			}
			return w.hiders.Spawn(x, hider{})
		},
		Act:     func(*game.World, game.ID, idle) {},
		Referee: w.referee,
		ShownTo: func(x *game.World, id game.ID) uint64 { return w.groups(id, x.Tick()) },
		Groups: func(x *game.World, me game.ID) uint64 {
			for _, v := range w.viewers {
				if w.server.Avatar(v.id) == me {
					return 1 << v.n
				}
			}
			return 0
		},
	}
	w.rules, err = def.Rules()
	return err
}

func (w *walls) referee(x *game.World) {
	t := x.Tick()
	other := func(n int) game.ID { return w.first + game.ID(n%wallWalkers) }
	for n := range wallWalkers {
		p := w.hiders.Get(x, other(n))
		p.Pos.Y, p.Friend = 3*float64(geom.Sin(float64(t)/30+float64(n))), other(n+int(t)/50)
	}
	for k := range w.shadows {
		for _, s := range w.shadows[k].All(x) {
			s.Pos = geom.Vec2{X: float64(t%100) / 10, Y: float64(k)}
		}
	}
	by := other(int(t))
	w.calls.Emit(x, by, w.hiders.Get(x, by).Pos, call{By: by, To: other(int(t) * 7)})
	w.calls.Emit(x, 0, geom.Vec2{}, call{By: other(int(t) * 3), To: other(int(t) * 11)})
	for n := range wallWalkers {
		for v := range wallViewers {
			if w.pairs++; w.hides(other(n), v, t) {
				w.hidden++
			}
		}
	}
}

// name counts a handle that a viewer read, as of a tick.
func (v *viewer) name(id uint32, tick clock.Tick) {
	if id == 0 {
		return
	}
	if v.names++; v.w.hides(game.ID(id), v.n, tick) {
		v.hiddenNames++
	}
}

func (v *viewer) applied(e *snapshot.Replica, g int, s *motion.State) {
	if v.states++; v.w.hides(game.ID(e.ID), v.n, s.Tick) {
		v.hiddenStates++
	}
	k := v.w.rules.Kinds[e.Kind]
	if at := k.Offset(g, 1); !e.Mine { // both kinds have a place and a handle
		v.name(uint32(s.Vals[at]), s.Tick)
	}
}

func (v *viewer) receive(at clock.Time, data []byte) {
	if v.client != nil {
		v.client.Receive(at, data)
	}
}

func (v *viewer) frame() bool {
	w := v.w
	now := w.loop.Now()
	for range v.client.Frame(now) {
		v.client.Tick([]int64{0})
	}
	for _, e := range v.client.Events() {
		v.name(uint32(e.Actor), e.Tick)
		for _, id := range e.Vals {
			v.name(uint32(id), e.Tick)
		}
	}
	for b := v.client.Encode(now); b != nil; b = v.client.Encode(now) {
		v.path.Up.Push(now, slices.Clone(b))
		v.path.Up.Deliver(&w.loop, func(at clock.Time, data []byte) { w.server.Receive(v.id, at, data) })
	}
	return true
}

func newWalls(seed uint64, p netsim.Profile) (w *walls, err error) {
	w = &walls{}
	if err = w.define(); err != nil {
		return nil, err
	}
	if w.server, err = server.New(w.rules, server.Config{Seed: seed}); err != nil {
		return nil, err
	}
	for n := range wallViewers {
		v := &viewer{w: w, n: n}
		if v.path, err = netsim.NewPath(seed+uint64(n), p); err != nil {
			return nil, err
		}
		id, welcome, err := w.server.Connect(0, "viewer")
		if err != nil {
			return nil, err
		}
		if v.client, err = client.New(w.rules, welcome, 0, client.Config{}); err != nil {
			return nil, err
		}
		v.id, v.client.Store().Applied = id, v.applied
		w.viewers = append(w.viewers, v)
		w.loop.Every(clock.Time(time.Duration(n+1)*time.Millisecond), time.Second/60, v.frame)
	}
	var out server.Outbox
	period := w.server.Period()
	w.loop.Every(clock.Time(period), period, func() bool {
		now := w.loop.Now()
		w.server.Begin(now)
		out.Reset()
		w.server.Encode(0, w.server.Clients(), &out)
		for i := range out.Len() {
			to, data := out.At(i)
			for _, v := range w.viewers {
				if v.id == to {
					v.path.Down.Push(now, data)
					v.path.Down.Deliver(&w.loop, v.receive)
				}
			}
		}
		w.server.End()
		return true
	})
	return w, nil
}

// wallsResult is what all viewers read.
type wallsResult struct {
	hiddenShare                              float64
	states, hiddenStates, names, hiddenNames int
}

func playWalls(seed uint64, p netsim.Profile, span time.Duration) (res wallsResult, err error) {
	w, err := newWalls(seed, p)
	if err != nil {
		return res, err
	}
	w.loop.Run(clock.Time(span))
	res.hiddenShare = float64(w.hidden) / float64(max(w.pairs, 1))
	for _, v := range w.viewers {
		res.states, res.hiddenStates = res.states+v.states, res.hiddenStates+v.hiddenStates
		res.names, res.hiddenNames = res.names+v.names, res.hiddenNames+v.hiddenNames
	}
	return res, nil
}

func runWalls(r *run) error {
	span := time.Minute
	if r.quick {
		span = 20 * time.Second
	}
	for _, p := range r.profiles {
		got, err := playWalls(r.seed, p, span)
		if err != nil {
			return err
		}
		r.emit(Row{r.name, p.Name, ours, r.seed, r.params(), Values{
			{"hidden_share", got.hiddenShare}, {"states", got.states}, {"hidden_states", got.hiddenStates},
			{"names", got.names}, {"hidden_names", got.hiddenNames},
		}})
	}
	return nil
}
