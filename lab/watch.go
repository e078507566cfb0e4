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
	runners, watchers := game.NewKind[watchedRunner]("runner", options...), game.NewKind[watcher]("watcher")
	def := game.Definition[watcherCommand]{
		Name: name, Rate: watchRate, Send: 20, Kinds: game.Kinds(runners, watchers),
		Join: func(w *game.World, name string) game.ID {
			runners.Spawn(w, watchedRunner{})
			return watchers.Spawn(w, watcher{})
		},
		Act: func(w *game.World, me game.ID, c watcherCommand) {},
		Referee: func(w *game.World) {
			for _, r := range runners.All(w) {
				r.Pos = where(w.Tick())
			}
		},
	}
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
