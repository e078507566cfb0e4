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
)

// benches are the benchmarks.
var benches = []struct{ name, about string }{
	{"page", "how soon the demo is playable in a browser, how soon a key shows, how large its program is"},
}

// runBench runs `meanwhile bench NAME [--json] [--quick]`, or `meanwhile bench --list`.
func runBench(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	asJSON := f.Bool("json", false, "print one JSON object per row and nothing else")
	list := f.Bool("list", false, "list the benchmarks")
	quick := f.Bool("quick", false, "load the page once")
	var names []string
	for rest := args; ; {
		if err := f.Parse(rest); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				fmt.Fprintln(stdout, "usage: meanwhile bench NAME [--json] [--quick]; meanwhile bench --list")
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
	case *list:
		for _, b := range benches {
			fmt.Fprintf(stdout, "%-6s %s\n", b.name, b.about)
		}
		return nil
	case len(names) != 1 || !slices.Contains(all, names[0]):
		return usageError{fmt.Errorf("bench: name one of: %s", strings.Join(all, " "))}
	}
	row, err := benchPage(ctx, *quick, stderr)
	if err != nil {
		return err
	}
	if *asJSON {
		_, err = stdout.Write(append(row.JSON(), '\n'))
		return err
	}
	return lab.WriteTable(stdout, []lab.Row{row})
}

// benchPage serves the demo without bots on a free port and loads it in fresh browsers.
func benchPage(ctx context.Context, quick bool, stderr io.Writer) (lab.Row, error) {
	g, err := findGame("arena")
	if err != nil {
		return lab.Row{}, err
	}
	rules, err := g.rules()
	if err != nil {
		return lab.Row{}, err
	}
	program, err := g.program(ctx, rules, stderr)
	if err != nil {
		return lab.Row{}, err
	}
	s, err := site.Listen(site.Config{Addr: "127.0.0.1:0", Host: host.Config{Rules: rules}, Pages: g.pages,
		Handlers: g.handlers})
	if err != nil {
		return lab.Row{}, err
	}
	serving, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- s.Serve(serving, program) }()
	defer func() {
		stop()
		<-done
	}()
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
			{Name: "playable_ms", V: bench.Median(r.PlayableMS)},
			{Name: "playable_max_ms", V: slices.Max(r.PlayableMS)},
			{Name: "wasm_brotli_kb", V: float64(best.Len()) / 1000}, {Name: "wasm_kb", V: float64(len(raw)) / 1000},
			{Name: "key_to_state_ticks", V: bench.Median(r.KeyTicks)},
			{Name: "key_to_state_max_ticks", V: slices.Max(r.KeyTicks)},
			{Name: "key_to_state_ms", V: bench.Median(r.KeyMS)},
		}, steps...)}, nil
}
