package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"meanwhile/lab"
)

// soakBench holds the flags of meanwhile bench soak: a server and a load in processes of their own.
type soakBench struct {
	players int
	span    time.Duration
	trouble time.Duration
	seed    uint64
	json    bool

	look, part time.Duration // between two looks at the server, and of one row
}

const (
	soakLook = 10 * time.Second
	soakPart = 10 * time.Minute
	// soakRoom is how many players a room has.
	soakRoom = 20
	// soakGrowth is by which part the memory may grow in the second half, soakSlower by which
	// factor ticks may be slower than in the first part.
	soakGrowth = 0.02
	soakSlower = 2
	// soakLeft is how many goroutines more than before there may be when all have left.
	soakLeft = 10
	// soakWarm is how long the load plays before its first row: caches and histories fill.
	soakWarm = 2 * time.Minute

	minSoak        = 10 * time.Second
	maxSoak        = 12 * time.Hour
	maxSoakPlayers = 1000
)

// A soakRow is what the server was like in a stretch of the soak.
type soakRow struct {
	Minute     float64 `json:"minute"` // of its end
	Heap       float64 `json:"heap_mb"`
	RSS        float64 `json:"rss_mb"`
	Goroutines float64 `json:"goroutines"`
	Players    float64 `json:"players"`
	P99        float64 `json:"tick_p99_ms"` // upper bound of the histogram's bucket; 0: above all
	CPU        float64 `json:"cpu_s"`
	Returned   float64 `json:"returned"` // players who came back over another connection
	Joined     float64 `json:"joined"`
	Faults     float64 `json:"faults"` // callbacks of rules that panicked, and rooms that failed
	Desyncs    float64 `json:"desyncs"`
}

// soakVerdict is the last line of a soak.
type soakVerdict struct {
	Growth float64  `json:"growth"` // of the heap in the second half, by the line that fits it best
	Slower float64  `json:"slower"` // the slowest row's p99 over the first one's
	Before float64  `json:"goroutines_before"`
	After  float64  `json:"goroutines_after"`
	Lost   int      `json:"lost"`
	Short  []string `json:"short"` // what fell short; none: ok

	looks []float64
	rows  []soakRow
}

func (b *soakBench) check() error {
	switch {
	case b.players < 1 || b.players > maxSoakPlayers:
		return usageError{fmt.Errorf("bench: --players %d is outside [1, %d]", b.players, maxSoakPlayers)}
	case b.span < minSoak || b.span > maxSoak:
		return usageError{fmt.Errorf("bench: --for %v is outside [%v, %v]", b.span, minSoak, maxSoak)}
	}
	b.look, b.part = min(soakLook, b.span/10), min(soakPart, b.span/5)
	return nil
}

// run starts a server and a load, and looks at the server until the load ends.
func (b *soakBench) run(ctx context.Context, stdout io.Writer) error {
	if err := b.check(); err != nil {
		return err
	}
	s, err := startVictim(ctx, false, "--check")
	if err != nil {
		return err
	}
	defer s.stop()
	empty, err := s.collect(ctx)
	if err != nil {
		return err
	}
	warm := min(soakWarm, b.span/5)
	load, out, err := b.startLoad(ctx, s.url, warm+b.span)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = load.Wait() // its verdict says it, too
		close(ended)
	}()
	v := &soakVerdict{Before: empty["go_goroutines"]}
	err = b.watch(ctx, s, v, warm, ended, stdout)
	if err != nil {
		_ = load.Process.Signal(syscall.SIGTERM)
		<-ended
		return err
	}
	b.readLoad(v, out.Bytes())
	if err := b.settle(ctx, s, v); err != nil {
		return err
	}
	return b.conclude(v, stdout)
}

// startLoad starts the players.
func (b *soakBench) startLoad(ctx context.Context, url string, span time.Duration) (*exec.Cmd, *bytes.Buffer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, self, "load", url, "-n", strconv.Itoa(b.players), "--rooms",
		strconv.Itoa((b.players+soakRoom-1)/soakRoom), "--for", span.String(), "--transport", "mixed", "--profile", "mixed",
		"--trouble", b.trouble.String(), "--seed", strconv.FormatUint(b.seed, 10), "--fps", "30", "--ramp", "20", "--json")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	return cmd, &out, cmd.Start()
}

// watch looks at the server until the load ends.
func (b *soakBench) watch(
	ctx context.Context, s *victim, v *soakVerdict, warm time.Duration, ended <-chan struct{}, stdout io.Writer,
) error {
	select {
	case <-time.After(warm):
	case <-ended:
		return fmt.Errorf("bench: the load ended at once; the server says: %s", s.errs.String())
	case <-ctx.Done():
		return ctx.Err()
	}
	before, err := s.collect(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	row := began
	var heaps []float64
	ticker := time.NewTicker(b.look)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ended:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
		if time.Since(began) > b.span {
			continue // the players leave
		}
		now, err := s.collect(ctx)
		if err != nil {
			return err
		}
		heap := now["go_memstats_heap_alloc_bytes"]
		heaps, v.looks = append(heaps, heap), append(v.looks, heap)
		if time.Since(row) < b.part-b.look/2 {
			continue
		}
		r := soakRowOf(before, now, heaps, time.Since(began))
		v.rows = append(v.rows, r)
		if err := b.print(stdout, &r, len(v.rows) == 1); err != nil {
			return err
		}
		before, heaps, row = now, nil, time.Now()
	}
}

// soakRowOf returns what changed between two looks.
func soakRowOf(before, now map[string]float64, heaps []float64, at time.Duration) soakRow {
	d := figures(now).since(before)
	mean := 0.0
	for _, h := range heaps {
		mean += h / float64(len(heaps))
	}
	p99, _ := strconv.ParseFloat(d.quantile("tick_seconds", 0.99), 64)
	return soakRow{Minute: at.Minutes(), Heap: mean / 1e6, RSS: now["process_resident_memory_bytes"] / 1e6,
		Goroutines: now["go_goroutines"], Players: figures(now).sum("players", `"human"`), P99: p99,
		CPU:      now["process_cpu_seconds_total"] - before["process_cpu_seconds_total"],
		Returned: d.sum("resumed_total"), Joined: d.sum("joined_total"),
		Faults: d.sum("faults_total") + d.sum("rooms_total", `"failed"`), Desyncs: d.sum("desyncs_total")}
}

func (b *soakBench) print(w io.Writer, r *soakRow, first bool) error {
	if b.json {
		return json.NewEncoder(w).Encode(r)
	}
	if first {
		if _, err := fmt.Fprintf(w, "%8s %9s %9s %11s %8s %12s %8s %9s %7s %7s %7s\n", "minute", "heap MB", "rss MB",
			"goroutines", "players", "tick p99 ms", "cpu s", "returned", "joined", "faults", "desyncs"); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%8.1f %9.2f %9.1f %11.0f %8.0f %12.4g %8.1f %9.0f %7.0f %7.0f %7.0f\n", r.Minute, r.Heap,
		r.RSS, r.Goroutines, r.Players, r.P99, r.CPU, r.Returned, r.Joined, r.Faults, r.Desyncs)
	return err
}

// readLoad reads what the players say.
func (b *soakBench) readLoad(v *soakVerdict, out []byte) {
	var r struct {
		Lost    int
		OK      bool
		Verdict string
	}
	if err := json.Unmarshal(out, &r); err != nil {
		v.Short = append(v.Short, fmt.Sprintf("the load said nothing: %.200s", out))
		return
	}
	if v.Lost = r.Lost; !r.OK {
		v.Short = append(v.Short, "the load is "+r.Verdict)
	}
}

// settle waits until the server has forgotten the players.
func (b *soakBench) settle(ctx context.Context, s *victim, v *soakVerdict) error {
	for end := time.Now().Add(settlePatience); ; {
		now, err := s.collect(ctx)
		if err != nil {
			return err
		}
		if v.After = now["go_goroutines"]; v.After <= v.Before+soakLeft || time.Now().After(end) {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// judge says what fell short.
func (v *soakVerdict) judge() {
	v.Growth = lab.Growth(v.looks[len(v.looks)/2:])
	miss := func(format string, args ...any) { v.Short = append(v.Short, fmt.Sprintf(format, args...)) }
	if v.Growth >= soakGrowth {
		miss("the heap grew by %.1f %% in the second half, at most %.0f %% is allowed", v.Growth*100, soakGrowth*100)
	}
	if len(v.rows) == 0 {
		miss("nothing was measured")
		return
	}
	first, worst, faults, desyncs := v.rows[0].P99, 0.0, 0.0, 0.0
	for _, r := range v.rows {
		p99 := r.P99
		if p99 == 0 {
			p99 = math.MaxFloat64 // above the histogram
		}
		worst, faults, desyncs = max(worst, p99), faults+r.Faults, desyncs+r.Desyncs
	}
	if v.Slower = 1; first > 0 {
		v.Slower = worst / first
	}
	if v.Slower > soakSlower {
		miss("ticks took %.4g times as long as in the first part (99 of 100), at most %d is allowed", v.Slower, soakSlower)
	}
	if faults > 0 {
		miss("%.0f callbacks panicked or rooms failed", faults)
	}
	if desyncs > 0 {
		miss("%.0f times a room that was computed again came out otherwise", desyncs)
	}
	if v.After > v.Before+soakLeft {
		miss("%.0f goroutines were left of %.0f before, at most %d more are allowed", v.After, v.Before, soakLeft)
	}
}

// conclude prints the verdict.
func (b *soakBench) conclude(v *soakVerdict, stdout io.Writer) error {
	v.judge()
	v.Short = slices.Compact(v.Short)
	if b.json {
		if err := json.NewEncoder(stdout).Encode(v); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(stdout, "heap in the second half %+.2f %%, slowest p99 %.3g x the first, goroutines %.0f before and "+
			"%.0f "+
			"after, %d players lost\n", v.Growth*100, v.Slower, v.Before, v.After, v.Lost)
		if len(v.Short) == 0 {
			fmt.Fprintln(stdout, "ok")
		}
	}
	if len(v.Short) > 0 {
		return fmt.Errorf("bench: soak: %s", strings.Join(v.Short, "; "))
	}
	return nil
}
