package bench

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"

	"meanwhile/lab"
	"meanwhile/lab/crowd"
	"meanwhile/netcode/wire"
)

// Crowd says what of the workload crowd is measured. See package crowd.
type Crowd struct {
	Walkers      int
	Hot          bool
	Kbit         float64 // kbit/s to each client
	Properties   int
	Workers      int
	Interpolated bool // walkers are drawn in the past
	Viewers      int  // zero measures no quality
	Warm         int  // ticks before those that are measured
	Ticks        int
	Seed         uint64
	Profile      string // a file for the CPU profile of the measured ticks; "" writes none
}

// MaxWorkers bounds Crowd.Workers.
const MaxWorkers = 64

// allocTicks is in how many ticks, after the measured ones, allocations are counted.
const allocTicks = 20

// Run measures, and returns a row.
func (b Crowd) Run() (lab.Row, error) {
	before := runtime.GOMAXPROCS(b.Workers)
	defer runtime.GOMAXPROCS(before)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	budget := int(b.Kbit * 1000)
	floor := b.floor(budget)
	r, err := crowd.New(crowd.Config{Walkers: b.Walkers, Hot: b.Hot, Budget: budget, Properties: b.Properties,
		Viewers: b.Viewers, Interpolated: b.Interpolated, Workers: b.Workers, Seed: b.Seed, Clock: threadTime})
	if err != nil {
		return lab.Row{}, err
	}
	for range b.Warm {
		if err := r.Tick(nil); err != nil {
			return lab.Row{}, err
		}
	}
	q := &crowd.Quality{}
	if b.Viewers == 0 {
		q = nil
	}
	m, err := b.measure(r, q)
	if err != nil {
		return lab.Row{}, err
	}
	row := lab.Row{
		Experiment: "crowd",
		Policy:     "meanwhile",
		Seed:       b.Seed,
		Params: lab.Values{{Name: "variant", V: b.variant()},
			{Name: "n", V: b.Walkers}, {Name: "kbit", V: b.Kbit}, {Name: "properties", V: b.Properties},
			{Name: "workers", V: b.Workers}},
	}
	m.add("floor_ms_per_tick", floor)
	row.Metrics = m.values
	return row, nil
}

// variant names the crowd.
func (b Crowd) variant() string {
	if b.Hot {
		return "hot"
	}
	return "uniform"
}

// Travel measures how soon players know a crowd that they enter or travel through.
func (b Crowd) Travel() (rows []lab.Row, err error) {
	for _, scene := range [...]string{crowd.Enter, crowd.Ride, crowd.Teleport} {
		t, err := crowd.Travel(crowd.Config{Walkers: b.Walkers, Hot: b.Hot, Budget: int(b.Kbit * 1000),
			Properties: b.Properties, Viewers: b.Viewers, Seed: b.Seed}, scene)
		if err != nil {
			return nil, err
		}
		var f figures
		for g, goal := range crowd.Goals {
			if s := t.Seconds[g]; len(s) > 0 {
				never := 0
				for _, v := range s {
					if v >= t.Horizon {
						never++
					}
				}
				f.add("nearest_"+goal+"_mean_s", mean(s))
				f.add("nearest_"+goal+"_max_s", slices.Max(s))
				f.add("nearest_"+goal+"_never", float64(never))
			}
		}
		if scene == crowd.Ride {
			f.add("unknown_20m_share", t.Unknown)
		}
		rows = append(rows, lab.Row{Experiment: "crowd", Policy: "meanwhile", Seed: b.Seed, Params: lab.Values{
			{Name: "scene", V: scene}, {Name: "variant", V: b.variant()}, {Name: "n", V: b.Walkers}, {Name: "kbit", V: b.Kbit},
			{Name: "properties", V: b.Properties}}, Metrics: f.values})
	}
	return rows, nil
}

// floor returns what the floor program takes for a tick, in milliseconds.
func (b Crowd) floor(budget int) float64 {
	w := crowd.NewWalkers(b.Walkers, b.Hot)
	f := crowd.NewFloor(w, budget)
	spent := time.Duration(0)
	const warm, ticks = 20, 100
	for tick := range warm + ticks {
		w.Step()
		begun := processTime()
		f.Tick(int32(tick))
		if tick >= warm {
			spent += processTime() - begun
		}
	}
	return ms(spent) / ticks
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// figures collects the metrics of a row.
type figures struct{ values lab.Values }

func (f *figures) add(name string, v float64) {
	f.values = append(f.values, lab.Value{Name: name, V: v})
}

// meter measures the phases of ticks.
type meter struct {
	run      *crowd.Run
	spent    [crowd.Phases]time.Duration // since the tick began
	mallocs  bool
	allocs   uint64
	critical time.Duration // of the longest worker
	workers  []time.Duration
}

func (m *meter) around(p crowd.Phase, f func()) {
	if m.mallocs {
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		was := s.Mallocs
		f()
		runtime.ReadMemStats(&s)
		m.allocs += s.Mallocs - was
		return
	}
	copy(m.workers, m.run.Spent)
	begun := processTime()
	f()
	took := processTime() - begun
	m.spent[p] += took
	if p != crowd.Encode || len(m.workers) == 1 {
		m.critical += took
		return
	}
	longest := time.Duration(0)
	for i, s := range m.run.Spent {
		longest = max(longest, s-m.workers[i])
	}
	m.critical += longest
}

// measure runs the measured ticks.
func (b Crowd) measure(r *crowd.Run, q *crowd.Quality) (f figures, err error) {
	m := &meter{run: r, workers: make([]time.Duration, len(r.Spent))}
	r.Around = m.around
	if b.Profile != "" {
		out, err := os.Create(b.Profile)
		if err != nil {
			return f, err
		}
		defer out.Close()
		if err := pprof.StartCPUProfile(out); err != nil {
			return f, err
		}
		defer pprof.StopCPUProfile()
	}
	r.Sums = crowd.Sums{}
	statsBefore, movesBefore := r.Downlink()
	var phases [crowd.Phases]time.Duration
	var each, critical []float64
	slots := 0
	for i := range b.Ticks {
		m.spent, m.critical = [crowd.Phases]time.Duration{}, 0
		if err := r.Tick(q); err != nil {
			return f, err
		}
		sum := time.Duration(0)
		for p, s := range m.spent {
			phases[p] += s
			sum += s
		}
		each, critical = append(each, ms(sum)), append(critical, ms(m.critical))
		if i%20 == 0 {
			slots = max(slots, r.Slots())
		}
	}
	stats, moves := r.Downlink()
	sums := r.Sums
	m.mallocs = true
	for range allocTicks {
		if err := r.Tick(nil); err != nil {
			return f, err
		}
	}
	ticks, clients := float64(b.Ticks), float64(b.Walkers)
	second := 1 / (clients * ticks / crowd.Rate) // of a client
	slices.Sort(each)
	slices.Sort(critical)
	f.add("cpu_ms_per_tick", mean(each))
	f.add("p50_ms", Percentile(each, 0.5))
	f.add("p99_ms", Percentile(each, 0.99))
	f.add("receive_ms", ms(phases[crowd.Receive])/ticks)
	f.add("begin_ms", ms(phases[crowd.Begin])/ticks)
	f.add("encode_ms", ms(phases[crowd.Encode])/ticks)
	f.add("critical_ms_per_tick", mean(critical))
	f.add("critical_p99_ms", Percentile(critical, 0.99))
	f.add("allocs_per_tick", float64(m.allocs)/allocTicks)
	f.add("bytes_per_client_s", float64(sums.Bytes+sums.Packets*wire.Overhead)*second)
	f.add("packets_per_s", float64(sums.Packets)*second)
	f.add("max_window_bits", float64(sums.MaxWindow))
	stats.Sub(&statsBefore)
	f.add("records_per_s", float64(stats.Records)*second)
	f.add("moving_per_s", float64(stats.Moving)*second)
	f.add("first_per_s", float64(stats.First)*second)
	bits(&f, sums, &stats, second)
	moving := max(stats.Moving, 1)
	f.add("bits_per_moving", float64(stats.MovingBits)/float64(moving))
	if q != nil {
		f.add("moves_per_s", float64(moves-movesBefore)/float64(b.Viewers)/(ticks/crowd.Rate))
		quality(&f, q)
	}
	f.add("slots_max", float64(slots))
	f.add("memory_per_client_kb", memory(r, b.Walkers)/1000)
	return f, nil
}

// bits adds what the bits of a client and second were used for.
func bits(f *figures, sums crowd.Sums, s *crowd.Counts, second float64) {
	entries := s.MovingBits + s.FirstBits + s.GoneBits + s.OtherBits
	f.add("overhead_bits_per_s", float64(sums.Packets*wire.Overhead*8)*second)
	f.add("header_bits_per_s", float64(s.HeaderBits)*second)
	f.add("message_bits_per_s", float64(sums.Bytes*8-s.HeaderBits-s.FeedbackBits-entries)*second)
	f.add("feedback_bits_per_s", float64(s.FeedbackBits)*second)
	f.add("first_bits_per_s", float64(s.FirstBits)*second)
	f.add("moving_bits_per_s", float64(s.MovingBits)*second)
	f.add("other_bits_per_s", float64(s.OtherBits)*second)
	f.add("gone_bits_per_s", float64(s.GoneBits)*second)
}

// bands are the names of crowd.Bands.
var bands = [len(crowd.Bands)]string{"10m", "30m", "100m", "all"}

// quality adds what the viewers knew and drew.
func quality(f *figures, q *crowd.Quality) {
	for _, e := range [...]struct {
		name string
		by   *[len(crowd.Bands)]crowd.Mean
	}{{"held", &q.Held}, {"carried", &q.Carried}, {"drawn", &q.Drawn}} {
		for i, band := range bands {
			f.add(e.name+"_"+band+"_cm", e.by[i].Value())
		}
	}
	f.add("score_cm", q.Score.Value())
	f.add("known_share", float64(q.Known)/float64(max(q.Things, 1)))
	f.add("named_share", float64(q.Named)/float64(max(q.Things, 1)))
	f.add("age_p50_ms", q.Percentile(0.5, false))
	f.add("age_p99_ms", q.Percentile(0.99, false))
	f.add("stale_p99_ms", q.Percentile(0.99, true))
}

// memory returns how many bytes the server keeps for each of its clients, which it then has no
// more: their walkers stay.
func memory(r *crowd.Run, clients int) float64 {
	with := heap()
	r.DisconnectAll()
	without := heap()
	runtime.KeepAlive(r)
	return (with - without) / float64(clients)
}

// heap returns the bytes of what can be reached.
func heap() float64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

func mean(v []float64) (m float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	return m
}

// Percentile returns the value of a sorted list that a share of it does not exceed.
func Percentile(sorted []float64, share float64) float64 {
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

// WriteTable writes the metrics of rows below each other, as a row has too many for a line.
func WriteTable(w io.Writer, rows []lab.Row) error {
	for _, r := range rows {
		for _, part := range []lab.Values{r.Params, r.Metrics} {
			for _, v := range part {
				text := fmt.Sprint(v.V)
				if x, ok := v.V.(float64); ok {
					if text = fmt.Sprintf("%.4g", x); x >= 1000 {
						text = fmt.Sprintf("%.0f", x)
					}
				}
				if _, err := fmt.Fprintf(w, "%-24s %10s\n", v.Name, text); err != nil {
					return err
				}
			}
		}
		fmt.Fprintln(w)
	}
	return nil
}
