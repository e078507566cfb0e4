package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/andybalholm/brotli"

	"meanwhile/app/site"
	"meanwhile/cmd/meanwhile/bench"
	"meanwhile/host"
	"meanwhile/lab"
	"meanwhile/lab/crowd"
	engine "meanwhile/server"
)

// benches are the benchmarks.
var benches = []struct{ name, about string }{
	{"crowd", "what a server of a thousand walkers and clients costs, and what the clients know"},
	{"frames", "what a game's page computes for a frame, how many it shows, what it writes to the console"},
	{"hostile", "what honest players notice of attacks on their server, and what stays of them"},
	{"judge", "what it costs to judge one shot by what its player saw, among 250 and 1000 candidates"},
	{"page", "how soon the demo is playable in a browser, how soon a key shows, how large its program is"},
	{"record", "what recording costs a room of arena with 20 players, and how fast it is replayed"},
	{"rooms", "what a server computes for 50 rooms of 8 players each"},
	{"soak", "hours of many players on mixed networks, in trouble: a server's memory, ticks and goroutines"},
	{"trip", "what a server's load adds to round trips: few players alone, and beside 100 of another process"},
}

// small are the benchmarks that no flag but --quick changes.
var small = map[string]func(quick bool) ([]lab.Row, error){"judge": bench.Judge, "record": bench.Record,
	"rooms": bench.Rooms}

// runBench runs `meanwhile bench NAME [--json] [--quick]`, or `meanwhile bench list`.
func runBench(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	asJSON := f.Bool("json", false, "print one JSON object per row and nothing else")
	quick := f.Bool("quick", false, "page: load it once; crowd: fewer ticks; judge: fewer shots; "+
		"hostile: 3 s an attack, 4 minutes in all; trip: 3 s")
	var c bench.Crowd
	f.IntVar(&c.Walkers, "n", 1000, "crowd: walkers, each with a client")
	f.BoolVar(&c.Hot, "hot", false, "crowd: four of five walkers in a disc of 100 m")
	f.Float64Var(&c.Kbit, "kbit", 13, "crowd: kbit/s to each client")
	f.IntVar(&c.Properties, "properties", crowd.Few, "crowd: of a walker, 6 or 25")
	f.BoolVar(&c.Interpolated, "interpolated", false, "crowd: walkers are drawn in the past, as if they could be hit")
	f.IntVar(&c.Workers, "workers", 1, "crowd: that encode at the same time")
	f.IntVar(&c.Viewers, "viewers", 24, "crowd: clients that decode and draw; 0 measures no quality")
	f.IntVar(&c.Ticks, "ticks", 200, "crowd: measured ticks")
	f.Uint64Var(&c.Seed, "seed", 1, "crowd: of losses; hostile: of the attacks; soak: of trouble")
	var fr framesBench
	f.StringVar(&fr.game, "game", "arena", "frames: arena, invasion or plaza")
	f.DurationVar(&fr.span, "span", time.Minute, "frames: how long the page is measured")
	var h hostileBench
	f.StringVar(&h.attack, "attack", "", "hostile: this attack alone")
	f.StringVar(&h.over, "over", "", "hostile: over this transport alone: quic, webtransport, websocket, udp or http")
	f.StringVar(
		&h.against,
		"against",
		"",
		"hostile: attack the server at this address of this machine, and measure nothing",
	)
	f.IntVar(&h.bots, "bots", 8, "hostile: in each room, while a person is there; frames: beside the player (default 249)")
	f.IntVar(&h.honest, "honest", 3, "hostile: players whose game is measured, over all transports in turn")
	f.BoolVar(&h.unreadLog, "unread-log", false, "hostile: the server logs all it can to a pipe that nobody reads")
	f.IntVar(&h.seconds, "seconds", 10, "hostile: before, during and after each attack; trip: of each row")
	var k soakBench
	f.IntVar(&k.players, "players", 200, "soak: players")
	f.DurationVar(&k.span, "for", 2*time.Hour, "soak: how long")
	f.DurationVar(&k.trouble, "trouble", time.Minute, "soak: how often something happens to each player, on the average")
	var trip tripBench
	f.IntVar(&trip.others, "others", 100, "trip: players of the other process")
	enter := f.Bool("enter", false, "crowd: how soon players know a crowd that they enter or travel through instead")
	f.StringVar(&c.Profile, "cpuprofile", "", "crowd: write a CPU profile of the measured ticks to a file")
	var names []string
	for rest := args; ; {
		if err := f.Parse(rest); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				fmt.Fprintln(stdout, "usage: meanwhile bench NAME [--json] [--quick]; meanwhile bench list")
				f.SetOutput(stdout)
				f.PrintDefaults()
				return nil
			}
			return usageError{fmt.Errorf("bench: %w", err)}
		}
		if f.NArg() == 0 {
			break
		}
		names, rest = append(names, f.Arg(0)), f.Args()[1:]
	}
	var all []string
	for _, b := range benches {
		all = append(all, b.name)
	}
	switch {
	case len(names) == 1 && names[0] == "list":
		for _, b := range benches {
			fmt.Fprintf(stdout, "%-7s %s\n", b.name, b.about)
		}
		return nil
	case len(names) != 1 || !slices.Contains(all, names[0]):
		return usageError{fmt.Errorf("bench: name one of: %s", strings.Join(all, " "))}
	}
	if names[0] == "page" {
		row, err := benchPage(ctx, *quick, stderr)
		if err != nil {
			return err
		}
		return writeRows(stdout, []lab.Row{row}, *asJSON, lab.WriteTable)
	}
	if names[0] == "frames" {
		bots := 249
		f.Visit(func(g *flag.Flag) {
			if g.Name == "bots" {
				bots = h.bots
			}
		})
		row, err := fr.run(ctx, bots, stderr)
		if err != nil {
			return err
		}
		return writeRows(stdout, []lab.Row{row}, *asJSON, lab.WriteTable)
	}
	if names[0] == "hostile" {
		h.seed, h.quick, h.json = c.Seed, *quick, *asJSON
		return h.run(ctx, stdout)
	}
	if names[0] == "soak" {
		k.seed, k.json = c.Seed, *asJSON
		return k.run(ctx, stdout)
	}
	if names[0] == "trip" {
		trip.seconds = h.seconds
		return trip.print(ctx, stdout, *quick, *asJSON)
	}
	if run := small[names[0]]; run != nil {
		rows, err := run(*quick)
		if err != nil {
			return err
		}
		return writeRows(stdout, rows, *asJSON, lab.WriteTable)
	}
	rows, err := benchCrowd(c, *quick, *enter)
	if err != nil {
		return err
	}
	return writeRows(stdout, rows, *asJSON, bench.WriteTable)
}

// writeRows writes rows as JSON, or as a table.
func writeRows(w io.Writer, rows []lab.Row, asJSON bool, table func(io.Writer, []lab.Row) error) error {
	if !asJSON {
		return table(w, rows)
	}
	for _, r := range rows {
		if _, err := w.Write(append(r.JSON(), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// benchCrowd measures a crowd.
func benchCrowd(c bench.Crowd, quick, enter bool) ([]lab.Row, error) {
	c.Warm = 400 // twenty seconds: everyone knows their neighbours
	if quick {
		c.Warm, c.Ticks = 300, min(c.Ticks, 40)
	}
	switch {
	case c.Workers < 1 || c.Workers > bench.MaxWorkers:
		return nil, usageError{fmt.Errorf("bench: --workers %d is outside [1, %d]", c.Workers, bench.MaxWorkers)}
	case c.Ticks < 1:
		return nil, usageError{fmt.Errorf("bench: --ticks %d is below 1", c.Ticks)}
	case c.Walkers < 1 || c.Walkers > engine.MaxClients:
		return nil, usageError{fmt.Errorf("bench: --n %d is outside [1, %d]", c.Walkers, engine.MaxClients)}
	case !(c.Kbit*1000 >= engine.MinBudget*8 && c.Kbit*1000 <= engine.MaxBudget*8):
		return nil, usageError{fmt.Errorf("bench: --kbit %v is outside [%v, %v]", c.Kbit, engine.MinBudget*8/1e3,
			engine.MaxBudget*8/1e3)}
	case c.Properties != crowd.Few && c.Properties != crowd.Many:
		return nil, usageError{fmt.Errorf("bench: --properties %d: %d or %d", c.Properties, crowd.Few, crowd.Many)}
	}
	c.Viewers = min(max(c.Viewers, 0), c.Walkers)
	if enter {
		return c.Travel()
	}
	row, err := c.Run()
	return []lab.Row{row}, err
}

// serveDemo serves the demo of a game on a free port until stop is called.
func serveDemo(ctx context.Context, which string, bots int, stderr io.Writer) (
	s *site.Site, program *site.Program, stop func(), err error,
) {
	g, err := findGame(which)
	if err != nil {
		return nil, nil, nil, err
	}
	rules, err := g.rules()
	if err != nil {
		return nil, nil, nil, err
	}
	if program, err = g.program(ctx, rules, stderr); err != nil {
		return nil, nil, nil, err
	}
	s, err = g.listen(rules, site.Config{Addr: "127.0.0.1:0", Truth: true, Host: host.Config{Bots: bots,
		Budget: engine.DefaultBudget}})
	if err != nil {
		return nil, nil, nil, err
	}
	serving, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- s.Serve(serving, program) }()
	return s, program, func() {
		cancel()
		<-done
	}, nil
}

// framesBench is what the flags of bench frames say.
type framesBench struct {
	game string
	span time.Duration
}

// run lets a browser play a game with bots, and prints what that cost the page.
func (b framesBench) run(ctx context.Context, bots int, stderr io.Writer) (lab.Row, error) {
	if b.span < time.Second {
		return lab.Row{}, usageError{fmt.Errorf("bench: --span %v is below 1s", b.span)}
	}
	s, _, stop, err := serveDemo(ctx, b.game, bots, stderr)
	if err != nil {
		return lab.Row{}, err
	}
	defer stop()
	r, err := bench.Frames(ctx, s.URL(), b.span)
	if err != nil {
		return lab.Row{}, err
	}
	for _, line := range r.Console {
		fmt.Fprintln(stderr, line)
	}
	return lab.Row{Experiment: "frames", Policy: "meanwhile",
		Params: lab.Values{{Name: "game", V: b.game}, {Name: "browser", V: r.Browser},
			{Name: "seconds", V: int(b.span.Seconds())}},
		Metrics: lab.Values{
			{Name: "avatars", V: r.Avatars}, {Name: "fps", V: r.FPS},
			{Name: "frame_p50_ms", V: bench.Percentile(r.FrameMS, 0.5)},
			{Name: "frame_p99_ms", V: bench.Percentile(r.FrameMS, 0.99)}, {Name: "frame_max_ms", V: slices.Max(r.FrameMS)},
			{Name: "main_ms", V: r.MainMS}, {Name: "heap_mb", V: r.HeapMB[0]}, {Name: "heap_after_mb", V: r.HeapMB[1]},
			{Name: "console_lines", V: len(r.Console)},
		}}, nil
}

// benchPage serves the demo without bots on a free port and loads it in fresh browsers.
func benchPage(ctx context.Context, quick bool, stderr io.Writer) (lab.Row, error) {
	s, program, stop, err := serveDemo(ctx, "arena", 0, stderr)
	if err != nil {
		return lab.Row{}, err
	}
	defer stop()
	loads, presses := 5, 11
	if quick {
		loads, presses = 1, 4
	}
	within, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	r, err := bench.Page(within, s.URL(), loads, presses)
	if err != nil {
		return lab.Row{}, err
	}
	raw := program.Wasm()
	var best bytes.Buffer
	w := brotli.NewWriterLevel(&best, brotli.BestCompression)
	if _, err := w.Write(raw); err != nil {
		return lab.Row{}, err
	}
	if err := w.Close(); err != nil {
		return lab.Row{}, err
	}
	var steps lab.Values
	for i, name := range bench.Steps {
		steps = append(steps, lab.Value{Name: name + "_ms", V: bench.Median(r.Steps[i])})
	}
	return lab.Row{Experiment: "page", Policy: "meanwhile",
		Params: lab.Values{{Name: "browser", V: r.Browser}, {Name: "loads", V: loads},
			{Name: "transport", V: r.Transport}},
		Metrics: append(lab.Values{
			{Name: "painted_ms", V: bench.Median(r.PaintedMS)},
			{Name: "playable_ms", V: bench.Median(r.PlayableMS)},
			{Name: "playable_max_ms", V: slices.Max(r.PlayableMS)},
			{Name: "wasm_brotli_kb", V: float64(best.Len()) / 1000}, {Name: "wasm_kb", V: float64(len(raw)) / 1000},
			{Name: "key_to_state_ticks", V: bench.Median(r.KeyTicks)},
			{Name: "key_to_state_max_ticks", V: slices.Max(r.KeyTicks)},
			{Name: "key_to_state_ms", V: bench.Median(r.KeyMS)},
		}, steps...)}, nil
}
