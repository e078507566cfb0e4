package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"meanwhile/headless"
	"meanwhile/lab"
	"meanwhile/lab/hostile"
)

// tripBench holds the flags of meanwhile bench trip: what the load of a server adds to round trips.
type tripBench struct {
	others  int // players of the load
	seconds int
}

const (
	// tripProbes is how many players measure. They join at moments of their own, so that their
	// datagrams reach the server everywhere within a tick.
	tripProbes = 8
	probeEvery = 137 * time.Millisecond
	tripFPS    = 30
	// maxTripOthers bounds the load; tripJoin is the time that it takes for one of its players to join.
	maxTripOthers = 1000
	tripJoin      = 20 * time.Millisecond
)

// print writes what run measured as a table, or as JSON.
func (t *tripBench) print(ctx context.Context, w io.Writer, quick, asJSON bool) error {
	if quick {
		t.seconds = min(t.seconds, 3)
	}
	rows, err := t.run(ctx)
	if err != nil {
		return err
	}
	return writeRows(w, rows, asJSON, lab.WriteTable)
}

// run measures round trips of few players whose process does nothing else, alone on a server and
// beside the players of another process. What these measure themselves shows how long datagrams
// wait in a process that plays many.
func (t *tripBench) run(ctx context.Context) ([]lab.Row, error) {
	if t.others < 1 || t.others > maxTripOthers || t.seconds < 1 || t.seconds > maxHostile {
		return nil, usageError{fmt.Errorf("bench: --others %d is outside [1, %d], or --seconds %d outside [1, %d]",
			t.others, maxTripOthers, t.seconds, maxHostile)}
	}
	v, err := startVictim(ctx, false, "--players", strconv.Itoa(t.others+2*tripProbes))
	if err != nil {
		return nil, err
	}
	defer v.stop()
	target, err := findTarget(ctx, v.url)
	if err != nil {
		return nil, err
	}
	var rows []lab.Row
	for _, others := range []int{0, t.others} {
		row, err := t.measure(ctx, v, target, others)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// measure lets the probes play beside others.
func (t *tripBench) measure(
	ctx context.Context, v *victim, target *hostile.Target, others int,
) (row lab.Row, err error) {
	span := time.Duration(t.seconds) * time.Second
	joining := time.Duration(others)*tripJoin + tripProbes*probeEvery + 5*time.Second
	var load *exec.Cmd
	if others > 0 {
		self, err := os.Executable()
		if err != nil {
			return row, err
		}
		load = exec.CommandContext(ctx, self, "load", v.url, "-n", strconv.Itoa(others), "--fps",
			strconv.Itoa(tripFPS), "--for", (2*joining + span).String()) // interrupted before
		if err := load.Start(); err != nil {
			return row, err
		}
		defer func() {
			_ = load.Process.Signal(os.Interrupt)
			_ = load.Wait()
		}()
		wait(ctx, joining)
	}
	playing, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	var probes []*headless.Player
	for range tripProbes {
		bounded, cancel := context.WithTimeout(ctx, joinTimeout)
		conn, err := target.Dial(bounded, "quic")
		var p *headless.Player
		if err == nil {
			p, err = headless.Join(bounded, conn, headless.Config{Rules: target.Rules, Clock: target.Clock, Name: "probe",
				FrameRate: tripFPS})
		}
		if cancel(); err != nil {
			return row, err
		}
		probes = append(probes, p)
		running.Go(func() { _ = p.Run(playing) })
		wait(ctx, probeEvery)
	}
	wait(ctx, 3*time.Second)
	first, err := v.look(ctx)
	if err != nil {
		return row, err
	}
	began := time.Now()
	w := &town{}
	for _, p := range probes {
		w.regulars = append(w.regulars, &regular{Player: p})
	}
	var trips []float64
	for time.Since(began) < span && ctx.Err() == nil {
		for _, s := range w.stats() {
			trips = append(trips, s.RTT.Seconds()*1000)
		}
		wait(ctx, sampleEvery)
	}
	if ctx.Err() != nil {
		return row, errors.New("interrupted")
	}
	last, err := v.look(ctx)
	if err != nil {
		return row, err
	}
	const cpu, players = "process_cpu_seconds_total", `meanwhile_players{what="human"}`
	return lab.Row{Experiment: "trip", Policy: "meanwhile", Params: lab.Values{{Name: "others", V: others}},
		Metrics: lab.Values{
			{Name: "players", V: last[players]},
			{Name: "rtt_p50_ms", V: quantile(trips, 0.5)}, {Name: "rtt_p90_ms", V: quantile(trips, 0.9)},
			{Name: "rtt_p99_ms", V: quantile(trips, 0.99)},
			{Name: "server_cores", V: (last[cpu] - first[cpu]) / time.Since(began).Seconds()},
			{Name: "tick_p99_ms", V: tickQuantile(first, last, 0.99) * 1000}}}, nil
}
