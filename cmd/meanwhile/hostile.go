package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"meanwhile/app/offer"
	"meanwhile/client"
	"meanwhile/headless"
	"meanwhile/host"
	"meanwhile/lab"
	"meanwhile/lab/hostile"
	"meanwhile/netcode/clock"
)

const (
	// programPatience is how long a server may take to build its program, settlePatience how long
	// what an attack leaves behind may stay.
	programPatience = 5 * time.Minute
	settlePatience  = 60 * time.Second
	// joinTimeout is how long a player may take to join, and the server to answer.
	joinTimeout = 15 * time.Second
	// sampleEvery is between two looks at the players, lookEvery between two at the server.
	sampleEvery = 50 * time.Millisecond
	lookEvery   = 500 * time.Millisecond
)

// hostileBench holds the flags of meanwhile bench hostile.
type hostileBench struct {
	attack, over string
	against      string // attack a server that runs already, and measure nothing
	seconds      int
	bots         int // in each of the server's rooms, while a person is there
	honest       int // players whose game is measured, over all transports in turn
	seed         uint64
	quick, json  bool
	unreadLog    bool // the server logs all it can to a pipe that nobody reads
}

const (
	// maxHostile bounds one attack, in seconds, maxHonest the players whose game is measured.
	maxHostile = 600
	maxHonest  = 40
	// honestDecisions is how often a second honest players decide, about as people do.
	honestDecisions = 10
	// mostLeft is by how many MB the heap may grow from before an attack until after it: a room
	// keeps the buffers of its fullest hour.
	mostLeft = 16
)

func (h *hostileBench) run(ctx context.Context, stdout io.Writer) error {
	if h.seconds < 1 || h.seconds > maxHostile {
		return usageError{fmt.Errorf("bench: --seconds %d is outside [1, %d]", h.seconds, maxHostile)}
	}
	if h.bots < 0 || h.bots > host.MaxBots {
		return usageError{fmt.Errorf("bench: --bots %d is outside [0, %d]", h.bots, host.MaxBots)}
	}
	if h.honest < 1 || h.honest > maxHonest {
		return usageError{fmt.Errorf("bench: --honest %d is outside [1, %d]", h.honest, maxHonest)}
	}
	if h.attack != "" {
		if _, err := hostile.Find(h.attack); err != nil {
			return usageError{fmt.Errorf("bench: %w", err)}
		}
	}
	if h.against != "" {
		return h.strike(ctx, stdout)
	}
	s, err := startVictim(ctx, h.unreadLog, "--trust-proxy", "127.0.0.1", "--bots", strconv.Itoa(h.bots))
	if err != nil {
		return err
	}
	defer s.stop()
	return h.measure(ctx, s, stdout)
}

// findTarget asks a server on this machine what an attack needs to know.
func findTarget(ctx context.Context, address string) (*hostile.Target, error) {
	base, err := url.Parse(address)
	if err != nil {
		return nil, usageError{err}
	}
	asking, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	s, err := offer.Ask(asking, base, "", nil)
	if err != nil {
		return nil, err
	}
	g, err := findGame(s.Game)
	if err != nil {
		return nil, err
	}
	rules, err := g.rules()
	if err != nil {
		return nil, err
	}
	if s.Session == nil {
		return nil, errors.New("the server offers WebSocket alone")
	}
	start := time.Now()
	return &hostile.Target{Rules: rules, Clock: func() clock.Time { return clock.Time(time.Since(start)) },
		Page: base.Host, QUIC: s.Session.Host, Trust: s.Trust, File: s.Wasm}, nil
}

// strike attacks, and prints what became of it as JSON.
func (h *hostileBench) strike(ctx context.Context, stdout io.Writer) error {
	target, err := findTarget(ctx, h.against)
	if err != nil {
		return err
	}
	a, err := hostile.Find(h.attack)
	if err != nil {
		return usageError{err}
	}
	r, err := a.Run(ctx, target, h.over, h.seed, hostile.Bounds{For: time.Duration(h.seconds) * time.Second})
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(r)
}

// A victim is a server in a process of its own.
type victim struct {
	cmd     *exec.Cmd
	url     string
	metrics *url.URL
	errs    bytes.Buffer
	// log is the end of a pipe that nobody reads, logged the other end; nil: the log goes to errs.
	log, logged *os.File
	full        sync.WaitGroup
}

// startVictim starts meanwhile serve arena with more flags, such as those of a server behind a reverse
// proxy of this machine.
func startVictim(ctx context.Context, unreadLog bool, more ...string) (*victim, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	operator := free.Addr().String()
	_ = free.Close()
	v := &victim{metrics: &url.URL{Scheme: "http", Host: operator, Path: "/metrics"}}
	args := []string{"serve", "arena", "--addr", "127.0.0.1:0", "--metrics", operator, "--drain", "0s"}
	v.cmd = exec.CommandContext(ctx, self, append(args, more...)...)
	v.cmd.Cancel = func() error { return v.cmd.Process.Signal(syscall.SIGTERM) }
	v.cmd.WaitDelay = 10 * time.Second
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if v.cmd.Stderr = &v.errs; unreadLog {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		v.cmd.Args, v.cmd.Stderr = append(v.cmd.Args, "--verbose"), w
		v.log, v.logged = r, w
	}
	if err := v.cmd.Start(); err != nil {
		return nil, err
	}
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(out).ReadString('\n')
		line <- strings.TrimSpace(text)
	}()
	select {
	case v.url = <-line:
	case <-time.After(programPatience):
	}
	if v.url == "" {
		v.stop()
		return nil, fmt.Errorf("the server did not start: %s", v.errs.String())
	}
	if v.log != nil {
		v.full.Go(func() { // until the pipe is full, and so stays, or stop closes it
			for err := error(nil); err == nil; {
				_, err = v.logged.WriteString(strings.Repeat("log\n", 1000))
			}
		})
	}
	return v, nil
}

func (v *victim) stop() {
	_ = v.cmd.Process.Signal(syscall.SIGTERM)
	_ = v.cmd.Wait()
	if v.log != nil {
		_ = v.log.Close()
		_ = v.logged.Close()
		v.full.Wait()
	}
}

// collect lets the server collect its garbage, and reads its figures.
func (v *victim) collect(ctx context.Context) (map[string]float64, error) {
	u := *v.metrics
	u.Path, u.RawQuery = "/debug/pprof/heap", "gc=1"
	if _, _, err := offer.Fetch(ctx, &u, "", nil); err != nil {
		return nil, err
	}
	return v.look(ctx)
}

// look reads the server's figures.
func (v *victim) look(ctx context.Context) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	_, b, err := offer.Fetch(ctx, v.metrics, "", nil)
	if err != nil {
		return nil, fmt.Errorf("the server's figures: %w", err)
	}
	figures := map[string]float64{}
	for line := range strings.Lines(string(b)) {
		if at := strings.LastIndexByte(strings.TrimSpace(line), ' '); at > 0 && line[0] != '#' {
			f, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
			if err == nil {
				figures[line[:at]] = f
			}
		}
	}
	figures["kernel_bytes"] = kernelBytes()
	return figures, nil
}

// kernelBytes is what the kernel holds for all sockets of this machine; 0 where it does not say.
func kernelBytes() float64 {
	b, err := os.ReadFile("/proc/net/sockstat")
	if err != nil {
		return 0
	}
	pages := 0
	for line := range strings.Lines(string(b)) {
		if words := strings.Fields(line); len(words) > 2 && words[len(words)-2] == "mem" {
			n, _ := strconv.Atoi(words[len(words)-1])
			pages += n
		}
	}
	return float64(pages * os.Getpagesize())
}

// A regular is an honest player who plays all the time.
type regular struct {
	*headless.Player
	over string
	left chan error
}

// A phase is what was measured in a stretch of time.
type phase struct {
	hitches, starved     float64 // a minute, of the honest player who had most
	rtt50, rtt99, delay  float64 // in milliseconds
	ticks, cores         float64 // a second; of all rooms
	tick99               float64 // how long a tick took, in milliseconds
	live                 float64 // heap in MB at the begin, without garbage
	heap, rss, kernel    float64 // the most, in MB
	goroutines, files    float64 // the most
	newcomers, in        int
	counted              map[string]float64 // the server's counters that grew
	lost                 string             // an honest player who was lost, and why
	rooms, players, bots float64
}

// A town is a server under attack and its honest players.
type town struct {
	*victim
	target   *hostile.Target
	regulars []*regular
	proxy    *hostile.Proxy
	strange  int  // newcomers so far
	away     bool // they all come from addresses of their own
}

// stats returns what the honest players know of themselves.
func (w *town) stats() []client.Stats {
	all := make([]client.Stats, len(w.regulars))
	for i, p := range w.regulars {
		p.Do(func(c *client.Client) { all[i] = c.Stats() })
	}
	return all
}

// newcomer joins over QUIC or WebSocket, the latter from an address of its own, and leaves.
func (w *town) newcomer(ctx context.Context, n int) bool {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	target, over := *w.target, "quic"
	if n%2 == 1 || w.away {
		target.Page, over = w.proxy.From(fmt.Sprintf("198.51.100.%d", n%250+1)), "websocket"
	}
	conn, err := target.Dial(ctx, over)
	if err != nil {
		return false
	}
	p, err := headless.Join(ctx, conn, headless.Config{Rules: target.Rules, Clock: target.Clock, Name: "newcomer"})
	if err != nil {
		return false
	}
	gone, leave := context.WithCancel(ctx)
	leave()
	return p.Run(gone) == nil
}

// watch measures for so long.
func (w *town) watch(ctx context.Context, span time.Duration) (p phase, err error) {
	first, err := w.collect(ctx)
	if err != nil {
		return p, err
	}
	p.live = first[heapInUse] / mb
	before, began := w.stats(), time.Now()
	var (
		rtts, delays []float64
		joining      sync.WaitGroup
		mu           sync.Mutex
		last         = first
		looked       = began
	)
	for time.Since(began) < span && ctx.Err() == nil {
		for _, s := range w.stats() {
			rtts, delays = append(rtts, s.RTT.Seconds()*1000), append(delays, s.Delay.Seconds()*1000)
		}
		if time.Since(looked) >= lookEvery {
			looked = time.Now()
			if last, err = w.look(ctx); err != nil {
				return p, err
			}
			p.most(last)
			n := w.strange
			w.strange++
			joining.Go(func() {
				in := w.newcomer(ctx, n)
				mu.Lock()
				defer mu.Unlock()
				if p.newcomers++; in {
					p.in++
				}
			})
		}
		time.Sleep(sampleEvery)
	}
	after, took := w.stats(), time.Since(began)
	joining.Wait()
	if ctx.Err() != nil {
		return p, ctx.Err()
	}
	if last, err = w.look(ctx); err != nil {
		return p, err
	}
	p.most(last)
	for i, s := range after {
		p.hitches = max(p.hitches, float64(s.Hitches-before[i].Hitches)/took.Minutes())
		p.starved = max(p.starved, float64(s.Starved-before[i].Starved)/took.Minutes())
		if err := w.regulars[i].Conn().Err(); err != nil {
			p.lost = w.regulars[i].over + ": " + err.Error()
		}
	}
	whole := time.Since(began).Seconds() // newcomers may have taken longer
	grown := func(name string) float64 { return (last[name] - first[name]) / whole }
	p.ticks, p.cores = grown("meanwhile_tick_seconds_count"), grown("process_cpu_seconds_total")
	p.tick99 = tickQuantile(first, last, 0.99) * 1000
	p.rtt50, p.rtt99, p.delay = quantile(rtts, 0.5), quantile(rtts, 0.99), quantile(delays, 0.5)
	p.counted = map[string]float64{}
	for name, v := range last {
		if n := v - first[name]; n > 0 && slices.ContainsFunc(telling, func(t string) bool {
			return strings.HasPrefix(name, "meanwhile_"+t)
		}) {
			p.counted[strings.TrimPrefix(name, "meanwhile_")] = n
		}
	}
	return p, nil
}

// tickQuantile returns how long a tick took, in seconds, by the server's histogram between two looks;
// within a bucket all lengths count as equally frequent. 0: there was none.
func tickQuantile(first, last map[string]float64, q float64) float64 {
	const name = "meanwhile_tick_seconds_bucket{le="
	type bucket struct{ upTo, n float64 }
	var all []bucket
	for key, v := range last {
		if rest, ok := strings.CutPrefix(key, name); ok {
			upTo, err := strconv.ParseFloat(strings.Trim(rest, `"}`), 64)
			if err == nil {
				all = append(all, bucket{upTo, v - first[key]})
			}
		}
	}
	slices.SortFunc(all, func(a, b bucket) int { return cmp.Compare(a.upTo, b.upTo) })
	if len(all) == 0 {
		return 0
	}
	from, below, want := 0.0, 0.0, q*all[len(all)-1].n
	for _, b := range all {
		switch {
		case b.n < want:
			from, below = b.upTo, b.n
			continue
		case b.n == below || math.IsInf(b.upTo, 1):
			return from
		}
		return from + (b.upTo-from)*(want-below)/(b.n-below)
	}
	return from
}

// telling are the counters that say how the server met an attack.
var telling = []string{"flooded_total", "refused_total", "visitors_total", "sent_away_total", "silent_total",
	"resumed_total", "log_lines_dropped_total", "rooms_total{what=\"opened\"}", "refused_connections_total",
	"received_datagrams_total{what=\"malformed\"}", "received_datagrams_total{what=\"duplicate\"}",
	"received_datagrams_total{what=\"hostile_ack\"}", "received_datagrams_total{what=\"displaced\"}", "faults_total"}

const (
	heapInUse = "go_memstats_heap_inuse_bytes"
	mb        = 1 << 20
)

// most keeps the highest figures.
func (p *phase) most(figures map[string]float64) {
	for _, f := range []struct {
		into  *float64
		name  string
		scale float64
	}{
		{&p.heap, heapInUse, mb}, {&p.rss, "process_resident_memory_bytes", mb},
		{&p.kernel, "kernel_bytes", mb}, {&p.goroutines, "go_goroutines", 1}, {&p.files, "process_open_fds", 1},
		{&p.rooms, "meanwhile_rooms", 1}, {&p.players, `meanwhile_players{what="human"}`, 1},
		{&p.bots, `meanwhile_players{what="bot"}`, 1},
	} {
		*f.into = max(*f.into, figures[f.name]/f.scale)
	}
}

// quantile returns one of a list; 0 of none.
func quantile(list []float64, q float64) float64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[int(q*float64(len(list)-1)+0.5)]
}

// settle waits until the server has as few goroutines, files and players as before.
func (w *town) settle(ctx context.Context, calm map[string]float64) error {
	for end := time.Now().Add(settlePatience); ; time.Sleep(lookEvery) {
		now, err := w.look(ctx)
		if err != nil {
			return err
		}
		over := ""
		for _, name := range []string{"go_goroutines", "process_open_fds", "meanwhile_rooms", "meanwhile_greeting",
			`meanwhile_players{what="human"}`, "meanwhile_absent_players"} {
			if slack := map[string]float64{"go_goroutines": 2, "process_open_fds": 1}[name]; now[name] > calm[name]+slack {
				over += fmt.Sprintf("%s %v instead of %v; ", name, now[name], calm[name])
			}
		}
		if over == "" {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("a minute later there is still %s", strings.TrimSuffix(over, "; "))
		}
	}
}

// measure plays at a server, and attacks it in every way, one after the other.
func (h *hostileBench) measure(ctx context.Context, v *victim, stdout io.Writer) (err error) {
	w := &town{victim: v}
	if w.target, err = findTarget(ctx, v.url); err != nil {
		return err
	}
	if w.proxy, err = hostile.NewProxy(w.target.Page); err != nil {
		return err
	}
	defer w.proxy.Close()
	playing, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		for _, p := range w.regulars {
			<-p.left
		}
	}()
	for i := range h.honest {
		over := hostile.Transports[i%len(hostile.Transports)]
		joining, cancel := context.WithTimeout(ctx, joinTimeout)
		conn, err := w.target.Dial(joining, over)
		var p *headless.Player
		if err == nil {
			p, err = headless.Join(joining, conn, headless.Config{Rules: w.target.Rules, Clock: w.target.Clock, Name: over,
				Bot: w.target.Rules.Bot(), Decisions: honestDecisions})
		}
		if cancel(); err != nil {
			return err
		}
		r := &regular{p, over, make(chan error, 1)}
		go func() { r.left <- p.Run(playing) }()
		w.regulars = append(w.regulars, r)
	}
	span := time.Duration(h.seconds) * time.Second
	if h.quick {
		span = 3 * time.Second
	}
	wait(ctx, max(span, 15*time.Second)) // until clocks, playout delays and buffers have settled
	calm, err := w.look(ctx)
	if err != nil {
		return err
	}
	before, err := w.watch(ctx, span)
	if err != nil {
		return err
	}
	var short []string
	n := 0
	for i := range hostile.Attacks {
		a := &hostile.Attacks[i]
		for j, over := range a.Over {
			if h.attack != "" && a.Name != h.attack || h.over != "" && over != h.over || h.quick && j > 0 && h.over == "" {
				continue
			}
			b := &battle{attack: a, over: over, span: span, before: before}
			if err := b.fight(ctx, w, calm, h.seed); err != nil {
				return err
			}
			before = b.after
			if n++; n == 1 && !h.json {
				fmt.Fprintln(stdout, battleHead)
			}
			if why := b.verdict(); why != "" {
				short = append(short, why)
			}
			b.print(stdout, h)
		}
	}
	verdict := fmt.Sprintf("honest players play as without attacks, and nothing stays, in %d of %d rows", n-len(short), n)
	if h.json {
		row := lab.Row{Experiment: "hostile_verdict", Policy: "meanwhile", Seed: h.seed,
			Metrics: lab.Values{{Name: "rows", V: n}, {Name: "short", V: len(short)}}}
		fmt.Fprintf(stdout, "%s\n", row.JSON())
	} else {
		fmt.Fprintln(stdout, verdict)
	}
	if short != nil {
		return fmt.Errorf("%s", strings.Join(short, "; "))
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// A battle is one attack over one transport.
type battle struct {
	attack                *hostile.Attack
	over                  string
	span                  time.Duration
	before, during, after phase
	result                hostile.Result
	stays                 error // what did not go away
}

// fight lets another process attack, and measures meanwhile and after.
func (b *battle) fight(ctx context.Context, w *town, calm map[string]float64, seed uint64) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, self, "bench", "hostile", "--against", w.url, "--attack", b.attack.Name, "--over",
		b.over, "--seed", strconv.FormatUint(seed, 10), "--seconds", strconv.Itoa(int(b.span.Seconds())))
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		return err
	}
	w.away = b.attack.Away
	b.during, err = w.watch(ctx, b.span)
	w.away = false
	if e := cmd.Wait(); e != nil && err == nil {
		err = fmt.Errorf("%s over %s: %w: %s", b.attack.Name, b.over, e, errs.String())
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out.Bytes(), &b.result); err != nil {
		return err
	}
	b.stays = w.settle(ctx, calm)
	b.after, err = w.watch(ctx, b.span)
	return err
}

// ends says how clients of the attack ended, the most frequent first.
func (b *battle) ends() string {
	list := slices.SortedFunc(
		maps.Keys(b.result.Ends),
		func(x, y string) int { return b.result.Ends[y] - b.result.Ends[x] },
	)
	for i, why := range list {
		list[i] = fmt.Sprintf("%s %d", why, b.result.Ends[why])
	}
	return strings.Join(list, ", ")
}

// counted says which of the server's counters grew.
func (b *battle) counted() string {
	list := slices.Sorted(maps.Keys(b.during.counted))
	for i, name := range list {
		list[i] = fmt.Sprintf("%s %.0f", name, b.during.counted[name])
	}
	return strings.Join(list, ", ")
}

// verdict returns what falls short, or "". Twice a shared machine's own hitches are no fault of the
// attack's, nor are two of them.
func (b *battle) verdict() string {
	var list []string
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	least := 2 / b.span.Minutes()
	if most := 2*max(b.before.hitches, b.after.hitches) + least; b.during.hitches > most {
		say("%.0f hitches a minute, more than %.0f", b.during.hitches, most)
	}
	if most := 2*max(b.before.starved, b.after.starved) + 10*least; b.during.starved > most {
		say("%.0f starved ticks a minute, more than %.0f", b.during.starved, most)
	}
	for _, p := range []phase{b.during, b.after} {
		if p.lost != "" {
			say("an honest player was lost over %s", p.lost)
			break
		}
	}
	if b.during.in < b.during.newcomers {
		say("%d of %d newcomers came in", b.during.in, b.during.newcomers)
	}
	flooded := b.during.counted[fmt.Sprintf("flooded_total{reason=%q}", b.attack.Ends)]
	if b.attack.Ends != "" && b.result.Ends[b.attack.Ends] == 0 && flooded == 0 {
		say("nobody ended with %q", b.attack.Ends)
	}
	if b.after.live > b.before.live+mostLeft {
		say("%.1f MB of heap in use, %.1f MB before", b.after.live, b.before.live)
	}
	if b.stays != nil {
		say("%v", b.stays)
	}
	if list == nil {
		return ""
	}
	return fmt.Sprintf("%s over %s: %s", b.attack.Name, b.over, strings.Join(list, ", "))
}

const battleHead = "before / during / after: hitches and starved ticks a minute, RTT p99 ms, playout delay ms, " +
	"ticks/s, tick p99 ms, " +
	"cores, heap MB without garbage, with it, RSS MB, kernel MB, goroutines"

// print writes the battle as one JSON object, or for reading.
func (b *battle) print(stdout io.Writer, h *hostileBench) {
	if h.json {
		fmt.Fprintf(stdout, "%s\n", b.row(h.seed).JSON())
		return
	}
	fmt.Fprintf(stdout, "%s/%s (%s): %.0f steps/s, newcomers %d of %d", b.attack.Name, b.over, b.attack.About,
		float64(b.result.Steps)/b.span.Seconds(), b.during.in, b.during.newcomers)
	for _, p := range []phase{b.before, b.during, b.after} {
		fmt.Fprintf(
			stdout,
			"\n  %5.0f %5.0f %7.2f %6.1f %5.0f %6.2f %5.2f %6.1f %6.1f %6.1f %6.1f %5.0f",
			p.hitches,
			p.starved,
			p.rtt99,
			p.delay,
			p.ticks,
			p.tick99,
			p.cores,
			p.live,
			p.heap,
			p.rss,
			p.kernel,
			p.goroutines,
		)
	}
	if b.result.Sent > 0 {
		fmt.Fprintf(stdout, "\n  unproved addresses sent %d bytes and got %.2f times as many", b.result.Sent, b.grew())
	}
	fmt.Fprintf(stdout, "\n  ended: %s\n  counted: %s\n", b.ends(), b.counted())
	if why := b.verdict(); why != "" {
		fmt.Fprintf(stdout, "  SHORT %s\n", why)
	}
}

// grew is how many bytes an unproved address got for each that it sent.
func (b *battle) grew() float64 { return float64(b.result.Got) / float64(max(b.result.Sent, 1)) }

func (b *battle) row(seed uint64) lab.Row {
	r := lab.Row{Experiment: "hostile", Policy: "meanwhile", Seed: seed,
		Params: lab.Values{{Name: "attack", V: b.attack.Name}, {Name: "over", V: b.over},
			{Name: "seconds", V: int(b.span.Seconds())}}}
	put := func(name string, v any) { r.Metrics = append(r.Metrics, lab.Value{Name: name, V: v}) }
	put("steps_per_s", float64(b.result.Steps)/b.span.Seconds())
	for i, p := range []phase{b.before, b.during, b.after} {
		when := []string{"_before", "_during", "_after"}[i]
		put("hitches_per_min"+when, p.hitches)
		put("starved_per_min"+when, p.starved)
		put("rtt_p50_ms"+when, p.rtt50)
		put("rtt_p99_ms"+when, p.rtt99)
		put("playout_delay_ms"+when, p.delay)
		put("ticks_per_s"+when, p.ticks)
		put("tick_p99_ms"+when, p.tick99)
		put("cores"+when, p.cores)
		put("live_mb"+when, p.live)
		put("heap_mb"+when, p.heap)
		put("rss_mb"+when, p.rss)
		put("kernel_mb"+when, p.kernel)
		put("goroutines"+when, p.goroutines)
		put("files"+when, p.files)
		put("rooms"+when, p.rooms)
		put("players"+when, p.players)
		put("bots"+when, p.bots)
		put("newcomers"+when, p.newcomers)
		put("newcomers_in"+when, p.in)
	}
	put("got_per_sent", b.grew())
	put("ended", b.ends())
	put("counted", b.counted())
	put("short", b.verdict())
	return r
}
