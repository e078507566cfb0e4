package load

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"meanwhile/client"
)

const (
	// outage is for how long nothing must have come for an outage.
	outage = 500 * time.Millisecond
	// busy is the part of this machine from which on the players themselves are short of it, late
	// by how many milliseconds 1 of 100 of their timers may be.
	busy = 0.85
	late = 25
)

// A tally is what one seat's players met.
type tally struct {
	span                 time.Duration
	hitches, starved     uint64
	sent, received       uint64 // datagrams
	up, down             uint64 // bytes
	confirmed, corrected uint64
	out                  time.Duration // in outages
	rtt, delay           time.Duration // sums over looks
	looks                int           // at a client that knew the server's time
}

// add counts what is between two looks at a client.
func (t *tally) add(from, to *client.Stats, span time.Duration) {
	t.span += span
	t.hitches += to.Hitches - from.Hitches
	t.starved += to.Starved - from.Starved
	t.sent, t.received = t.sent+to.Sent-from.Sent, t.received+to.Received-from.Received
	t.up, t.down = t.up+to.SentBytes-from.SentBytes, t.down+to.ReceivedBytes-from.ReceivedBytes
	t.confirmed += to.Prediction.Confirmed - from.Prediction.Confirmed
	t.corrected += to.Prediction.Corrections - from.Prediction.Corrections
	if to.Age > outage {
		t.out += span
	}
	if to.Synced {
		t.rtt, t.delay = t.rtt+to.RTT, t.delay+to.Delay
		t.looks++
	}
}

// A spread is how a figure is spread over the players.
type spread struct {
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	Worst float64 `json:"worst"`
}

func spreadOf(values []float64) (s spread) {
	if len(values) == 0 {
		return s
	}
	slices.Sort(values)
	for _, v := range values {
		s.Mean += v / float64(len(values))
	}
	at := func(q float64) float64 { return values[int(q*float64(len(values)-1)+0.5)] }
	s.P50, s.P99, s.Worst = at(0.5), at(0.99), at(1)
	return s
}

// figures are those of some players. Their names are those of the laboratory's tables.
type figures struct {
	Hitches   spread `json:"hitches_per_min"`
	Starved   spread `json:"starved_share"`
	RTT       spread `json:"rtt_ms"`
	Delay     spread `json:"playout_delay_ms"`
	Outage    spread `json:"outage_share"`
	Corrected spread `json:"corrected_share"`
	DownKbps  spread `json:"down_kbps"`
	UpKbps    spread `json:"up_kbps"`
	DownHz    spread `json:"down_hz"`
	UpHz      spread `json:"up_hz"`
}

// figuresOf sums tallies up; rate is in ticks a second.
func figuresOf(tallies []*tally, rate int) (f figures) {
	for _, c := range []struct {
		to    *spread
		value func(t *tally) float64
	}{
		{&f.Hitches, func(t *tally) float64 { return float64(t.hitches) / t.span.Minutes() }},
		{&f.Starved, func(t *tally) float64 { return min(float64(t.starved)/(t.span.Seconds()*float64(rate)), 1) }},
		{&f.RTT, func(t *tally) float64 { return ms(t.rtt) / float64(max(t.looks, 1)) }},
		{&f.Delay, func(t *tally) float64 { return ms(t.delay) / float64(max(t.looks, 1)) }},
		{&f.Outage, func(t *tally) float64 { return t.out.Seconds() / t.span.Seconds() }},
		{&f.Corrected, func(t *tally) float64 { return float64(t.corrected) / float64(max(t.confirmed, 1)) }},
		{&f.DownKbps, func(t *tally) float64 { return float64(t.down) * 8 / 1000 / t.span.Seconds() }},
		{&f.UpKbps, func(t *tally) float64 { return float64(t.up) * 8 / 1000 / t.span.Seconds() }},
		{&f.DownHz, func(t *tally) float64 { return float64(t.received) / t.span.Seconds() }},
		{&f.UpHz, func(t *tally) float64 { return float64(t.sent) / t.span.Seconds() }},
	} {
		var values []float64
		for _, t := range tallies {
			if t.span > 0 {
				values = append(values, c.value(t))
			}
		}
		*c.to = spreadOf(values)
	}
	return f
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// A group is the players of one transport and network.
type group struct {
	Transport string `json:"transport"`
	Network   string `json:"network"` // at the beginning
	Players   int    `json:"players"`
	Lost      int    `json:"lost"`
	figures

	tallies []*tally
}

// result is what a load prints.
type result struct {
	Game     string  `json:"game"`
	Address  string  `json:"address"`
	Room     string  `json:"room,omitempty"`
	Rooms    int     `json:"rooms,omitempty"` // 0: the server chose
	Players  int     `json:"players"`         // asked for
	Joined   int     `json:"joined"`
	Lost     int     `json:"lost"`     // those who were not in at the end, or never came in
	Returned int     `json:"returned"` // how often one came back over another connection
	Left     int     `json:"left"`     // how often one left and another one came
	Seconds  float64 `json:"seconds"`
	FPS      int     `json:"fps"`
	Commands string  `json:"commands"` // "bot", "random", or "watching"
	figures
	Groups  []*group `json:"groups"`
	CPU     float64  `json:"cpu_s"`              // of this program
	Late    float64  `json:"timers_late_p99_ms"` // of this program
	Cores   int      `json:"cores"`
	Error   string   `json:"error,omitempty"` // the newest
	OK      bool     `json:"ok"`
	Verdict string   `json:"verdict"`
}

// sum returns what all seats met. networks are those that they began with.
func (w *swarm) sum(networks []string, span, spent time.Duration) *result {
	f := w.flags
	r := &result{Players: len(w.seats), Rooms: f.Rooms, Seconds: span.Seconds(), FPS: f.FPS, CPU: spent.Seconds(),
		Cores: runtime.GOMAXPROCS(0), Commands: "bot"}
	if w.rules.Bot() == nil || f.Random {
		r.Commands = "random"
	}
	if f.Watch {
		r.Commands = "watching"
	}
	var all []*tally
	for i, s := range w.seats {
		at := slices.IndexFunc(r.Groups, func(g *group) bool { return g.Transport == s.over && g.Network == networks[i] })
		if at < 0 {
			at = len(r.Groups)
			r.Groups = append(r.Groups, &group{Transport: s.over, Network: networks[i]})
		}
		g := r.Groups[at]
		g.Players++
		s.mu.Lock()
		if s.joined {
			r.Joined++
		}
		s.mu.Unlock()
		if !s.in() {
			g.Lost++
			r.Lost++
		}
		all, g.tallies = append(all, &s.tally), append(g.tallies, &s.tally)
	}
	slices.SortFunc(r.Groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.Transport, b.Transport), cmp.Compare(a.Network, b.Network))
	})
	for _, g := range r.Groups {
		g.figures = figuresOf(g.tallies, w.rules.Rate)
	}
	r.figures = figuresOf(all, w.rules.Rate)
	w.mu.Lock()
	defer w.mu.Unlock()
	r.Returned, r.Left = w.returned, w.left
	if w.err != nil {
		r.Error = w.err.Error()
	}
	return r
}

// judge compares what was measured with what was asked for.
func (r *result) judge(l *limits) {
	var short []string
	miss := func(format string, args ...any) { short = append(short, fmt.Sprintf(format, args...)) }
	if n := r.Players - r.Joined; n > 0 {
		miss("%d of %d players could not join (%s)", n, r.Players, r.Error)
	}
	if r.Lost > l.Lost {
		why := ""
		if r.Joined == r.Players && r.Error != "" {
			why = " (" + r.Error + ")"
		}
		miss("%d of %d players were not in at the end, %d may be%s", r.Lost, r.Players, l.Lost, why)
	}
	if r.Joined == 0 {
		l = &limits{Lost: l.Lost} // nothing was measured
	}
	if l.Hitches != nil && r.Hitches.Mean > *l.Hitches {
		miss("%.2f hitches a minute, at most %.2f were asked for", r.Hitches.Mean, *l.Hitches)
	}
	if l.Starved != nil && r.Starved.Mean > float64(*l.Starved) {
		miss("%.3f %% of ticks starved, at most %.3f %% were asked for", r.Starved.Mean*100, *l.Starved*100)
	}
	if l.RTT != nil && r.RTT.P99 > ms(*l.RTT) {
		miss("a round trip of %.2f ms for 99 of 100 players, at most %.2f were asked for", r.RTT.P99, ms(*l.RTT))
	}
	if l.Delay != nil && r.Delay.P99 > ms(*l.Delay) {
		miss("a playout delay of %.1f ms for 99 of 100 players, at most %.1f were asked for", r.Delay.P99, ms(*l.Delay))
	}
	r.OK = len(short) == 0
	if r.Verdict = "ok"; !r.OK {
		r.Verdict = "not ok: " + strings.Join(short, "; ")
	}
}

// starving reports whether this program was short of its own machine, so that its figures say
// little of the server.
func (r *result) starving() bool { return r.CPU > busy*float64(r.Cores)*r.Seconds || r.Late > late }

func (r *result) writeJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// write prints the result for people, in 120 columns.
func (r *result) write(w io.Writer, l *limits) error {
	var b strings.Builder
	where := fmt.Sprintf("%d rooms", r.Rooms)
	if r.Rooms == 0 {
		where = "room " + r.Room
	}
	fmt.Fprintf(&b, "%s at %s, %s: %d of %d players joined", r.Game, r.Address, where, r.Joined, r.Players)
	fmt.Fprintf(&b, ", %d came back, %d left for others, %d were lost\n", r.Returned, r.Left, r.Lost)
	if r.Joined > 0 {
		commands := "the game's bot"
		switch r.Commands {
		case "random":
			commands = "random commands"
		case "watching":
			commands = "watching"
		}
		fmt.Fprintf(&b, "measured for %.1f s, %d frames/s, %s; this program used %.2f of %d cores and woke "+
			"%.1f ms late (p99)\n\n", r.Seconds, r.FPS, commands, r.CPU/max(r.Seconds, 1e-3), r.Cores, r.Late)
		r.table(&b, l)
		if len(r.Groups) > 1 {
			r.groups(&b)
		}
	}
	if r.Error != "" {
		fmt.Fprintf(&b, "last error: %s\n", r.Error)
	}
	if r.starving() {
		b.WriteString("This program was short of CPU itself: the figures say little of the server. " +
			"Use fewer --fps, or another machine.\n")
	}
	fmt.Fprintln(&b, r.Verdict)
	_, err := io.WriteString(w, b.String())
	return err
}

// table prints how the figures are spread over the players.
func (r *result) table(b *strings.Builder, l *limits) {
	fmt.Fprintf(b, "%-21s %8s %8s %8s %8s  %-13s\n", "", "mean", "p50", "p99", "worst", "asked for")
	asked := make([]string, 4)
	if l.Hitches != nil {
		asked[0] = fmt.Sprintf("mean <= %.4g", *l.Hitches)
	}
	if l.Starved != nil {
		asked[1] = fmt.Sprintf("mean <= %.4g", *l.Starved*100)
	}
	if l.RTT != nil {
		asked[2] = fmt.Sprintf("p99 <= %.4g", ms(*l.RTT))
	}
	if l.Delay != nil {
		asked[3] = fmt.Sprintf("p99 <= %.4g", ms(*l.Delay))
	}
	for i, row := range []struct {
		name  string
		s     spread
		scale float64
		about string
	}{
		{"hitches a minute", r.Hitches, 1, "others stood still: nothing newer had come"},
		{"starved ticks, %", r.Starved, 100, "the server had no command of the player"},
		{"round trip, ms", r.RTT, 1, "smoothed, with waiting in the server"},
		{"playout delay, ms", r.Delay, 1, "how old others are when they are drawn"},
		{"outage, %", r.Outage, 100, "of the time nothing had come for half a second"},
		{"corrections, %", r.Corrected, 100, "of own states differed from the prediction"},
		{"down, kbit/s", r.DownKbps, 1, "with 42 bytes of headers for each datagram"},
		{"up, kbit/s", r.UpKbps, 1, ""},
		{"down, datagrams/s", r.DownHz, 1, ""},
		{"up, datagrams/s", r.UpHz, 1, ""},
	} {
		limit := ""
		if i < len(asked) {
			limit = asked[i]
		}
		line := fmt.Sprintf("%-21s %8.2f %8.2f %8.2f %8.2f  %-13s  %s", row.name, row.s.Mean*row.scale,
			row.s.P50*row.scale, row.s.P99*row.scale, row.s.Worst*row.scale, limit, row.about)
		fmt.Fprintln(b, strings.TrimRight(line, " "))
	}
	b.WriteString("p50, p99 and worst: of the players; the mean of each over the whole time\n\n")
}

// groups prints the figures by transport and network.
func (r *result) groups(b *strings.Builder) {
	fmt.Fprintf(b, "%-13s %-11s %8s %5s %12s %10s %12s %12s %9s %9s\n", "transport", "network", "players", "lost",
		"hitches/min", "starved %", "trip p50 ms", "delay p50 ms", "down kb/s", "up kb/s")
	for _, g := range r.Groups {
		fmt.Fprintf(b, "%-13s %-11s %8d %5d %12.2f %10.2f %12.2f %12.1f %9.1f %9.1f\n", g.Transport, g.Network,
			g.Players, g.Lost, g.Hitches.Mean, g.Starved.Mean*100, g.RTT.P50, g.Delay.P50, g.DownKbps.Mean, g.UpKbps.Mean)
	}
	b.WriteByte('\n')
}
