package lab

import (
	"time"

	"meanwhile/lab/shooting"
	"meanwhile/server"
)

var fairnessExperiment = &experiment{
	name:  "fairness",
	about: "what lag compensation costs its victims: time behind cover, peeker's advantage, with and without caps",
	notes: `Two players duel round a corner; the round trip of the one who shoots, of the one who runs, or of the one who
holds the corner varies.
picture_age_ms: how old the judged picture is.
behind_share, behind_max_ms: hits on somebody behind cover by then, of all hits, and for how long at most; felt_: the
same on that player's own screen.
peeker_advantage_ms: how much earlier whoever comes round the corner sees the other one.
docs/tuning/rewind-cap.md says how to choose a cap.`,
	policies: []string{ours},
	first:    firstLook{metrics: "honoured behind_share behind_max_ms peeker_advantage_ms"},
	run:      runFairness,
}

// fairTrips are the round trips, in milliseconds.
var fairTrips = []int{2, 50, 100, 200, 300, 500}

const (
	usualTrip  = 50 // of whoever does not vary
	duelFor    = 2 * time.Minute
	duelParts  = 3
	fewerDuels = 20 * time.Second
)

// A rewindCap is one way to bound how far back shots are judged.
type rewindCap struct {
	name string
	cfg  server.Config
}

var rewindCaps = []rewindCap{
	{"default", server.Config{}},
	{"50 beyond path", server.Config{Rewind: 50 * time.Millisecond}},
	{"250 in all", server.Config{RewindTotal: 250 * time.Millisecond}},
	{"150 in all", server.Config{RewindTotal: 150 * time.Millisecond}},
	{"off", server.Config{Rewind: -1}},
}

// duel is one case of fairness and what came out.
type duel struct {
	holder, runner int // round trips in milliseconds
	limit          string
	cfg            server.Config
	got            shooting.Duel
}

func runFairness(r *run) error {
	var cases []duel
	for _, c := range rewindCaps {
		for _, trip := range fairTrips {
			cases = append(cases, duel{holder: trip, runner: usualTrip, limit: c.name, cfg: c.cfg})
		}
	}
	for _, trip := range fairTrips {
		if trip != usualTrip {
			cases = append(cases, duel{holder: usualTrip, runner: trip, limit: rewindCaps[0].name, cfg: rewindCaps[0].cfg})
		}
	}
	seeds, span := r.seeds(duelParts), duelFor
	if r.quick {
		seeds, span = seeds[:1], fewerDuels
	}
	got, err := each(len(cases)*len(seeds), func(i int) (*shooting.Duel, error) {
		c := cases[i/len(seeds)]
		trip := func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }
		return shooting.NewDuel(trip(c.holder), trip(c.runner), c.cfg, seeds[i%len(seeds)], span)
	})
	if err != nil {
		return err
	}
	for i := range cases {
		c := &cases[i]
		for _, d := range got[i*len(seeds) : (i+1)*len(seeds)] {
			c.got.Add(d)
		}
		d := &c.got
		r.emit(Row{r.name, "", ours, r.seed,
			r.params(Value{"holder_rtt_ms", c.holder}, Value{"runner_rtt_ms", c.runner}, Value{"cap", c.limit}),
			Values{
				{"picture_age_ms", quantile(d.Ages, 0.5)},
				{"shots", d.OnScreen}, {"honoured", float64(d.Honoured) / float64(max(d.OnScreen, 1))},
				{"clamped", d.Clamped},
				{"behind_share", positive(d.Behind)}, {"behind_max_ms", quantile(d.Behind, 1)},
				{"felt_share", positive(d.Felt)}, {"felt_max_ms", quantile(d.Felt, 1)},
				{"peeker_advantage_ms", quantile(d.Advantage, 0.5)},
			}})
	}
	if r.drawing {
		r.figures = append(r.figures, fairnessFigures(cases)...)
	}
	return nil
}

// positive returns the share of values above 0.
func positive(v []float64) float64 {
	n := 0
	for _, x := range v {
		if x > 0 {
			n++
		}
	}
	return float64(n) / float64(max(len(v), 1))
}

// fairnessFigures draws how long victims had been behind cover, and the advantage of who comes
// round the corner, by round trip.
func fairnessFigures(cases []duel) []figure {
	cover := figure{file: "fairness-cover",
		title: "Longest time behind cover when a hit is decided (the runner's round trip is 50 ms)",
		x:     "round trip of the shooter in ms", y: "ms", dots: true,
		answers: answers{bernierArticle, "shot behind cover"},
		caption: "The slower the shooter's path, the longer its victim is behind the wall already, in the server's world. " +
			"A cap bounds that, for shots that slow players then miss."}
	peek := figure{file: "fairness-peek",
		title: "By how much earlier than the holder of a place its visitor can shoot",
		x:     "round trip of who varies, in ms; the other has 50 ms", y: "ms", dots: true,
		caption: "Peeker's advantage: who comes round the corner sees the other one earlier."}
	lines := map[string]*line{}
	var order []string
	add := func(name string, x int, y float64) {
		if lines[name] == nil {
			lines[name], order = &line{name: name}, append(order, name)
		}
		lines[name].at = append(lines[name].at, xy{float64(x), y})
	}
	for i := range cases {
		c := &cases[i]
		if c.runner == usualTrip {
			add(c.limit, c.holder, quantile(c.got.Behind, 1))
			if c.limit == rewindCaps[0].name {
				add("on victim's screen", c.holder, quantile(c.got.Felt, 1))
			}
		}
	}
	for _, name := range order {
		cover.lines = append(cover.lines, *lines[name])
	}
	holds, comes := line{name: "the holder varies"}, line{name: "the visitor varies"}
	for i := range cases {
		c := &cases[i]
		if c.limit != rewindCaps[0].name {
			continue
		}
		y := quantile(c.got.Advantage, 0.5)
		if c.runner == usualTrip {
			holds.at = append(holds.at, xy{float64(c.holder), y})
		}
		if c.holder == usualTrip {
			comes.at = append(comes.at, xy{float64(c.runner), y})
		}
	}
	if len(comes.at) > 1 && comes.at[0].x > comes.at[1].x { // the case that both lines share was first
		comes.at[0], comes.at[1] = comes.at[1], comes.at[0]
	}
	peek.lines = []line{holds, comes}
	return []figure{cover, peek}
}
