package lab

import (
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
	"meanwhile/server"
)

// watchedRunner is what a watcher looks at; a watcher does nothing.
type (
	watchedRunner struct {
		Pos geom.Vec2 `net:"pos,others=1mm"`
	}
	watcher struct {
		Name string `net:"text,12"`
	}
	watcherCommand struct {
		Blink bool `net:"press"`
	}
)

// watchRate is the ticks a second of newWatch.
const watchRate = 60

// newWatch returns a match in which a real client looks over p at a runner. The runner is of kind 0
// with the given options, is at where(tick) in each tick, and is sent 20 times a second.
func newWatch(
	name string, seed uint64, p netsim.Profile, where func(clock.Tick) geom.Vec2, options ...game.KindOption,
) (*gametest.Sim, *gametest.Player, error) {
	runners := game.NewKind[watchedRunner]("runner", options...)
	return watchOver(watchGame(name, watchRate, 20, runners, 1, func(r *watchedRunner, _ int, t clock.Tick) {
		r.Pos = where(t)
	}), seed, p)
}

// watchGame returns a game with a watcher and n things, which are kind 0. set makes thing i what it
// is at a tick, at first when the watcher joins.
func watchGame[T any](
	name string, rate, send int, things game.Kind[T], n int, set func(v *T, i int, t clock.Tick),
) game.Definition[watcherCommand] {
	watchers := game.NewKind[watcher]("watcher")
	return game.Definition[watcherCommand]{
		Name: name, Rate: rate, Send: send, Kinds: game.Kinds(things, watchers),
		Join: func(w *game.World, _ string) game.ID {
			for i := range n {
				var v T
				set(&v, i, w.Tick())
				things.Spawn(w, v)
			}
			return watchers.Spawn(w, watcher{})
		},
		Act: func(*game.World, game.ID, watcherCommand) {},
		Referee: func(w *game.World) {
			i := 0
			for _, v := range things.All(w) {
				set(v, i, w.Tick())
				i++
			}
		},
	}
}

// watchOver lets a real client look at such a game over p.
func watchOver(
	def game.Definition[watcherCommand], seed uint64, p netsim.Profile,
) (*gametest.Sim, *gametest.Player, error) {
	rules, err := def.Rules()
	if err != nil {
		return nil, nil, err
	}
	s, err := gametest.NewSim(rules, seed, server.Config{})
	if err != nil {
		return nil, nil, err
	}
	player, err := s.Join("watcher", p, nil)
	return s, player, err
}
