package lab

import (
	"fmt"
	"time"

	"meanwhile/examples/plaza"
	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
)

var plazaExperiment = &experiment{
	name:  "plaza",
	about: "a lobby of 255 people who all see each other, at rest and strolling: bytes a second for each",
	notes: `255 people are on the square of the game <b>plaza</b>, ten places a second, on a path of 100 ms there and back
that loses 2 %. At <b>rest</b> all stand still; as they <b>stroll</b>, two of three move now and then, as the game's
bots do; with <b>all</b> everybody runs all the time. What is measured for half a minute begins 25 s after the first
person came. <b>down</b> and <b>up</b> are bytes a second of one person, 42 for the headers of each datagram included.
<b>article</b> is what relaying the same places costs in the article's messages of 16 bytes, without headers.
<b>known_share</b> is over all people and whom they know at the end, <b>tick_cpu</b> the CPU time of the server for
one tick of 100 ms; it differs from machine to machine.`,
	takes:    byProfile,
	profiles: []netsim.Profile{rtt100},
	policies: []string{ours},
	run:      runPlaza,
}

const (
	articleMessage = 16 // bytes of one place in the article's lobby
	plazaBudget    = 256_000
)

func runPlaza(r *run) error {
	warm, span := 25*time.Second, 30*time.Second
	if r.quick {
		span = 10 * time.Second
	}
	for _, p := range r.profiles {
		for _, moving := range []string{"rest", "stroll", "all"} {
			def := plaza.Game
			switch moving {
			case "rest":
				def.Bot = stand
			case "all":
				def.Bot = runAbout
			}
			rules, err := def.Rules()
			if err != nil {
				return err
			}
			b, err := newBattle(rules, r.seed, plaza.People, plazaBudget, p)
			if err != nil {
				return err
			}
			for _, f := range b.fighters {
				f.viewer = false
			}
			b.loop.Run(clock.Time(warm))
			b.measure()
			b.loop.Run(clock.Time(warm + span))
			if b.fault != nil {
				return fmt.Errorf("lab: plaza, %s, seed %d: %w", moving, r.seed, b.fault)
			}
			r.emit(Row{r.name, p.Name, ours, r.seed,
				r.params(Value{"moving", moving}, Value{"match_s", int(span.Seconds())}), b.lobbyMetrics(span)})
		}
	}
	return nil
}

// stand stays where it is.
func stand(w *game.World, me game.ID) plaza.Cmd {
	a := plaza.Avatars.Get(w, me)
	return plaza.Cmd{At: a.Pos, Fix: a.Fix}
}

// runAbout goes to and fro at the speed of a walk.
func runAbout(w *game.World, me game.ID) plaza.Cmd {
	c := stand(w, me)
	if c.At.X += 0.3; w.Tick()/20%2 == 0 {
		c.At.X -= 0.6
	}
	return c
}

// lobbyMetrics are those of a lobby.
func (b *battle) lobbyMetrics(span time.Duration) Values {
	records, packets, sent := -float64(b.sum.records), -float64(b.sum.packets), -float64(b.sum.sent)
	known := 0
	for _, f := range b.fighters {
		st, _ := b.srv.Stats(f.id)
		records, packets, sent = records+float64(st.Records), packets+float64(st.Sent), sent+float64(st.SentBytes)
		known += len(f.client.Store().Entities())
	}
	n := float64(len(b.fighters))
	each := n * span.Seconds()
	return Values{
		{"people", len(b.fighters)}, {"known_share", float64(known) / (n * n)},
		{"down_bytes_per_s", sent / each}, {"up_bytes_per_s", float64(b.ups) / each},
		{"article_bytes_per_s", records / each * articleMessage}, {"records_per_s", records / each},
		{"packets_per_s", packets / each}, {"tick_cpu_ms", ms(b.spent) / float64(b.ticks)},
	}
}
