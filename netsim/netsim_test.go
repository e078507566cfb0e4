package netsim

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meanwhile/internal/verify/golden"
	"meanwhile/netcode/clock"
)

func all() []Profile { return append(Profiles(), holdouts[:]...) }

// sent is the fate of one datagram.
type sent struct {
	at, arrives clock.Time
	n           int
}

// flow sends n datagrams of the given size with the given spacing.
func flow(t testing.TB, seed uint64, c LinkConfig, n, size int, every time.Duration) ([]sent, *Link) {
	l, err := NewLink(seed, c)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]sent, n)
	for i := range out {
		at := clock.Time(i) * clock.Time(every)
		arrivals, k := l.Send(at, size)
		out[i] = sent{at, arrivals[0], k}
	}
	return out, l
}

// The arrivals of each profile are pinned: the same seed gives the same nanoseconds on every
// platform, and what is measured on a profile stays comparable. A changed line is a changed
// network: measure again.
func TestGolden(t *testing.T) {
	var b strings.Builder
	for _, p := range all() {
		for _, d := range []struct {
			name string
			c    LinkConfig
		}{{"down", p.Down}, {"up", p.Up}} {
			h := fnv.New64a()
			l, err := NewLink(1, d.c)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 2400 { // two minutes at 20 Hz
				arrivals, n := l.Send(clock.Time(i)*50e6, 40+i*37%1000)
				fmt.Fprintln(h, n, arrivals)
			}
			fmt.Fprintf(&b, "%016x %s %s\n", h.Sum64(), p.Name, d.name)
		}
	}
	golden.Check(t, "testdata/arrivals.txt", b.String())
}

func TestSeeds(t *testing.T) {
	a, _ := flow(t, 1, HotelWiFi.Down, 1000, 500, 50*time.Millisecond)
	b, _ := flow(t, 1, HotelWiFi.Down, 1000, 500, 50*time.Millisecond)
	c, _ := flow(t, 2, HotelWiFi.Down, 1000, 500, 50*time.Millisecond)
	if !slices.Equal(a, b) {
		t.Error("one seed gives two results")
	}
	if slices.Equal(a, c) {
		t.Error("two seeds give one result")
	}
	p, err := NewPath(1, HotelWiFi)
	if err != nil {
		t.Fatal(err)
	}
	down, _ := p.Down.Send(0, 10)
	up, _ := p.Up.Send(0, 10)
	if down == up {
		t.Error("both directions draw the same numbers")
	}
}

// The intended statistics of the profiles: median and 99th percentile of the delay of what arrives,
// loss, and mean length of a run of losses, over an hour at 20 Hz.
func TestProfileStatistics(t *testing.T) {
	for _, c := range []struct {
		p           Profile
		median, p99 float64 // ms, +-4 % and +-15 %
		loss        float64 // +-15 % and 0.0002
		run         float64 // +-12 %
		duplicates  float64
	}{
		// 12 + 0.4 e^(0.5 N): p99 = 12 + 0.4 e^(0.5*2.326) = 13.28
		{p: Fiber, median: 12.4, p99: 13.3, loss: 0.0005, run: 1},
		// 15 + 3 e^(0.9 N): p99 = 15 + 3 e^2.094 = 39.3 without pauses; those take 1 % of the time,
		// in which the delay is anything up to 180 ms.
		{p: HotelWiFi, median: 18, p99: 50, loss: 0.005, run: 1},
		// Bad share 0.01/0.36 = 0.0278; loss 0.0278*0.8 + 0.9722*0.002 = 0.0242.
		{p: BurstLoss, median: 27, p99: 33, loss: 0.0242, run: 2.0},
		// |N| 11.65: median 7.85, p99 30
		{p: Ocean, median: 82.9, p99: 105, loss: 0.05, run: 3},
		{p: LAN, median: 0.5, p99: 0.5, loss: 0, run: 0},
		{p: Holdout(8), median: 65.5, p99: 101, loss: 0.02, run: 2, duplicates: 0.005},
	} {
		out, l := flow(t, 5, c.p.Down, 72_000, 500, 50*time.Millisecond)
		var delays []float64
		lost, runs, in := 0, 0, false
		for _, s := range out {
			if s.n == 0 {
				lost++
				if !in {
					runs++
				}
				in = true
				continue
			}
			in = false
			delays = append(delays, float64(s.arrives.Sub(s.at))/1e6)
		}
		slices.Sort(delays)
		median, p99 := delays[len(delays)/2], delays[len(delays)*99/100]
		loss, run := float64(lost)/float64(len(out)), float64(lost)/max(float64(runs), 1)
		if !near(median, c.median, 0.04) || !near(p99, c.p99, 0.15) {
			t.Errorf("%s: delay %.2f, p99 %.2f ms; want %.2f and %.2f", c.p.Name, median, p99, c.median, c.p99)
		}
		if !near(loss, c.loss, 0.15) && math.Abs(loss-c.loss) > 0.0002 || c.run > 0 && !near(run, c.run, 0.12) {
			t.Errorf("%s: loss %.4f in runs of %.2f; want %.4f and %.2f", c.p.Name, loss, run, c.loss, c.run)
		}
		if want := c.p.Down.Loss.Rate(); !near(want, c.loss, 0.02) && math.Abs(want-c.loss) > 0.0001 {
			t.Errorf("%s: Loss.Rate says %.4f", c.p.Name, want)
		}
		if d := float64(l.Stats().Duplicated) / float64(len(out)); !near(d, c.duplicates, 0.2) &&
			math.Abs(d-c.duplicates) > 0.0002 {
			t.Errorf("%s: %.4f duplicated", c.p.Name, d)
		}
	}
}

func near(got, want, share float64) bool { return math.Abs(got-want) <= share*want }

// The generated capacities against the recordings that they resemble. The figures are those of the
// recordings, measured on one-minute cuts (seeds of the random search: see profile.go): deviation
// over mean of the capacity in windows of 20 ms and 1 s, gaps longer than 20, 100 and 500 ms a
// minute. Rare gaps and slow wander differ from minute to minute, hence the tolerances.
func TestCells(t *testing.T) {
	for _, c := range []struct {
		name         string
		cell         Cell
		cv20, cv1000 float64
		gaps         [3]float64
	}{
		{"tmobile down", tmobileDown, 0.68, 0.44, [3]float64{123, 10.5, 0}},
		{"verizon down", verizonDown, 0.78, 0.50, [3]float64{217, 10, 0}},
		{"verizon up", verizonUp, 0.70, 0.51, [3]float64{124, 7, 1}},
		{"att down", attDown, 1.12, 0.97, [3]float64{146, 15, 3}},
		{"att up", attUp, 1.50, 0.98, [3]float64{515, 35, 5}},
		{"evdo down", evdoDown, 1.40, 0.41, [3]float64{778, 88, 4}},
	} {
		const span = 20 * 60_000 // ms
		counts := make([]float64, span)
		s := newCell(c.cell, 11, 0)
		last, total, gaps := int64(0), 0.0, [3]float64{}
		for {
			at, bytes := s.next()
			slot := int64(at) / 1e6
			if slot >= span {
				break
			}
			if int64(at)%1e6 != 0 || slot <= last && last > 0 {
				t.Fatalf("%s: opportunity at %d after %d ms", c.name, at, last)
			}
			counts[slot] = float64(bytes)
			total += float64(bytes)
			for i, longer := range []int64{20, 100, 500} {
				if slot-last > longer {
					gaps[i] += 60_000.0 / span
				}
			}
			last = slot
		}
		if mean := total * 8 / (span / 1000); !near(mean, float64(c.cell.Mean), 0.10) {
			t.Errorf("%s: %.0f bit/s, want %d", c.name, mean, c.cell.Mean)
		}
		for _, w := range []struct {
			window int
			want   float64
		}{{20, c.cv20}, {1000, c.cv1000}} {
			if got := deviation(counts, w.window); !near(got, w.want, 0.30) {
				t.Errorf("%s: relative deviation %.2f in %d ms, want %.2f", c.name, got, w.window, w.want)
			}
		}
		for i, rel := range []float64{0.60, 0.60, 0.60} {
			if math.Abs(gaps[i]-c.gaps[i]) > rel*c.gaps[i]+1 && !(i == 0 && gaps[i] < 2.2*c.gaps[i] &&
				gaps[i] > 0.5*c.gaps[i]) {
				t.Errorf("%s: %.1f gaps a minute over %d ms, want %.1f", c.name, gaps[i], []int{20, 100, 500}[i],
					c.gaps[i])
			}
		}
	}
}

func deviation(counts []float64, window int) float64 {
	var sums []float64
	for i := 0; i+window <= len(counts); i += window {
		sum := 0.0
		for _, x := range counts[i : i+window] {
			sum += x
		}
		sums = append(sums, sum)
	}
	mean, v := 0.0, 0.0
	for _, x := range sums {
		mean += x / float64(len(sums))
	}
	for _, x := range sums {
		v += (x - mean) * (x - mean) / float64(len(sums))
	}
	return math.Sqrt(v) / mean
}

func TestOrder(t *testing.T) {
	for _, p := range all() {
		for _, c := range []LinkConfig{p.Down, p.Up} {
			out, _ := flow(t, 3, c, 20_000, 300, 5*time.Millisecond)
			late, last := 0, clock.Time(0)
			for _, s := range out {
				if s.n == 0 {
					continue
				}
				if s.arrives < s.at.Add(c.Delay) {
					t.Fatalf("%s: sent %d, arrived %d: faster than Delay", p.Name, s.at, s.arrives)
				}
				if s.arrives < last {
					late++
				}
				last = max(last, s.arrives)
			}
			if c.Reorder != (late > 0) {
				t.Errorf("%s: %d datagrams out of order, Reorder is %v", p.Name, late, c.Reorder)
			}
		}
	}
}

// 1000 B/s; each datagram is 58 + 42 = 100 B and takes 100 ms. The queue holds 250 B: two, and the
// one being sent.
func TestRateAndDropTail(t *testing.T) {
	l, err := NewLink(1, LinkConfig{Rate: 8000, Queue: 250, Delay: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		now, arrives float64 // ms; 0: dropped
		queued       int
	}{
		{0, 110, 100},
		{0, 210, 200},
		{1, 0, 200},     // full
		{99, 0, 200},    // still
		{100, 310, 200}, // the first has left
		{350, 460, 100}, // idle since 300
	} {
		arrivals, n := l.Send(clock.Time(c.now*1e6), 58)
		if got := float64(arrivals[0]) / 1e6; n > 0 && got != c.arrives || n == 0 && c.arrives != 0 {
			t.Errorf("sent at %v ms: arrives at %v (%d), want %v", c.now, got, n, c.arrives)
		}
		if l.queue.bytes != c.queued {
			t.Errorf("sent at %v ms: %d B queued, want %d", c.now, l.queue.bytes, c.queued)
		}
	}
	if s := l.Stats(); s != (Stats{Sent: 6, SentBytes: 6 * 58, Dropped: 2}) {
		t.Errorf("%+v", s)
	}
}

// No second of a saturated modem delivers more than 13 kbit, and in the long run all of it is used.
func TestModemIsFull(t *testing.T) {
	out, l := flow(t, 1, Modem.Down, 20*600, 200, 50*time.Millisecond)
	bytes, first := 0, clock.Time(0)
	var in []sent
	for _, s := range out {
		if s.n == 0 {
			continue
		}
		in = append(in, s)
		if first == 0 {
			first = s.arrives
		}
		bytes += 242
	}
	rate := float64(bytes-242) * 8 / (float64(in[len(in)-1].arrives-first) / 1e9)
	if !near(rate, 13_000, 0.001) {
		t.Errorf("%.1f bit/s delivered", rate)
	}
	if l.Stats().Dropped == 0 {
		t.Error("nothing was dropped")
	}
	// 2000 B of queue are 1.23 s; 120 ms of delay.
	worst := time.Duration(0)
	for _, s := range in {
		worst = max(worst, s.arrives.Sub(s.at))
	}
	if worst > 1351*time.Millisecond || worst < 1100*time.Millisecond {
		t.Errorf("worst delay %v", worst)
	}
}

// Opportunities at 5 (two), 20 and 30 ms, each 1500 B; a datagram costs its size + 42.
func TestTraceServes(t *testing.T) {
	tr, err := ReadTrace(strings.NewReader("5\n5\n20\n30\n"))
	if err != nil {
		t.Fatal(err)
	}
	if tr.Period() != 30*time.Millisecond || tr.Mean() != 4*1500*8*1000/30 {
		t.Errorf("period %v, mean %d", tr.Period(), tr.Mean())
	}
	l, err := NewLink(1, LinkConfig{Trace: tr})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		now  float64
		size int
		slot int64 // ms in which it arrives
	}{
		{0, 1000, 5},
		{0, 1000, 5},
		{0, 1000, 20},         // 916 B of the two at 5 ms, the rest at 20
		{10, 100, 20},         // what is left there serves it
		{25, 1458, 30},        // all of 30
		{26, 100, 35},         // the second round begins at 30
		{60, 3*1500 - 42, 65}, // an idle link saves nothing: one at 60, two at 65
	} {
		arrivals, n := l.Send(clock.Time(c.now*1e6), c.size)
		if got := int64(arrivals[0]) / 1e6; n != 1 || got != c.slot {
			t.Errorf("sent at %v ms: arrives at %v ms, want %v", c.now, got, c.slot)
		}
	}
	late, err := NewLink(1, LinkConfig{Trace: tr, TraceStart: 12 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if a, _ := late.Send(0, 100); int64(a[0])/1e6 != 8 {
		t.Errorf("from 12 ms on the first opportunity is at %v, want 8 ms", a[0])
	}
}

func TestReadTraceErrors(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", "no lines"},
		{"blank", "\n\n", "no lines"},
		{"word", "1\n2\nthree\n", `line 3: "three" is not a whole number`},
		{"fraction", "1.5\n", "line 1"},
		{"negative", "-1\n", "line 1: -1 ms is outside [0, 24h0m0s]"},
		{"too large", "1\n99999999999\n", "line 2: 99999999999 ms is outside"},
		{"beyond int64", "99999999999999999999\n", "line 1"},
		{"decreasing", "5\n\n4\n", "line 3: 4 ms comes after 5 ms"},
		{"no length", "0\n0\n", "line 2: the last time, which is the period, is 0 ms"},
		{"long line", strings.Repeat("1", 70_000), "line 1: longer than 65536 bytes"},
	} {
		if _, err := ReadTrace(strings.NewReader(c.in)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if tr, err := ReadTrace(strings.NewReader(" 1\t\r\n2")); err != nil || tr.total != 2 {
		t.Errorf("spaces, carriage return and a missing newline: %v", err)
	}
}

func FuzzReadTrace(f *testing.F) {
	f.Add([]byte("0\n0\n7\n15\n"))
	f.Add([]byte("1\nx\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		tr, err := ReadTrace(bytes.NewReader(b))
		if err != nil {
			return
		}
		p, last := newPlayer(tr, 3*time.Millisecond, 0), clock.Time(-1)
		for range 3 * len(tr.opps) {
			at, bytes := p.next()
			if at < last || bytes < OpportunityBytes {
				t.Fatalf("%d bytes at %d after %d", bytes, at, last)
			}
			last = at
		}
	})
}

func TestPause(t *testing.T) {
	out, _ := flow(t, 1, LinkConfig{Pause: HotelWiFi.Down.Pause}, 1_000_000, 100, time.Millisecond)
	var lengths []float64
	for i := 0; i < len(out); i++ {
		if wait := out[i].arrives.Sub(out[i].at); wait > 0 {
			lengths = append(lengths, float64(wait)/1e6)
			for ; i < len(out) && out[i].arrives > out[i].at; i++ {
			}
		}
	}
	mean := 0.0
	for _, x := range lengths {
		mean += x / float64(len(lengths))
		if x < 58 || x > 180 {
			t.Errorf("a pause of %v ms", x)
		}
	}
	// 1000 s: one in 12.12 s, 120 ms long
	if !near(mean, 120, 0.15) || len(lengths) < 65 || len(lengths) > 100 {
		t.Errorf("%d pauses of %.1f ms", len(lengths), mean)
	}
}

func TestCross(t *testing.T) {
	quiet, _ := flow(t, 1, LinkConfig{Rate: 1_000_000}, 20_000, 100, 50*time.Millisecond)
	busy, l := flow(t, 1, LinkConfig{Rate: 1_000_000, Cross: 0.5}, 20_000, 100, 50*time.Millisecond)
	mean := func(s []sent) (m float64) {
		for _, x := range s {
			m += float64(x.arrives-x.at) / 1e6 / float64(len(s))
		}
		return m
	}
	if a, b := mean(quiet), mean(busy); !near(a, 1.136, 0.001) || b < 1.4 || b > 20 {
		t.Errorf("alone %v ms, among others %v ms", a, b)
	}
	if l.Stats().Sent != 20_000 {
		t.Error("other traffic was counted")
	}
}

// Everything may change while datagrams are under way.
func TestSet(t *testing.T) {
	l, err := NewLink(1, LinkConfig{Delay: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	at := func(now float64) float64 {
		a, n := l.Send(clock.Time(now*1e6), 58)
		if n == 0 {
			return 0
		}
		return float64(a[0]) / 1e6
	}
	set := func(change func(*LinkConfig)) {
		c := l.Config()
		change(&c)
		if err := l.Set(c); err != nil {
			t.Fatal(err)
		}
	}
	if at(0) != 100 {
		t.Error("delay")
	}
	set(func(c *LinkConfig) { c.Delay = 10 * time.Millisecond })
	if got := at(1); got != 100 { // order is kept
		t.Errorf("after a cut in delay: %v", got)
	}
	if got := at(200); got != 210 {
		t.Errorf("later: %v", got)
	}
	set(func(c *LinkConfig) { c.Rate = 8000 })
	if a, b := at(300), at(300); a != 410 || b != 510 {
		t.Errorf("with a rate: %v %v", a, b)
	}
	set(func(c *LinkConfig) { c.Rate = 0 })
	if got := at(301); got != 510 { // behind what waits
		t.Errorf("without a rate: %v", got)
	}
	set(func(c *LinkConfig) { c.Loss.InGood = 1 })
	if got := at(600); got != 0 {
		t.Errorf("all lost, but %v", got)
	}
	// Capacities that are set in the middle of a match begin there.
	slot := int64(at(3_600_000)) // nothing, lost
	set(func(c *LinkConfig) { c.Loss.InGood, c.Delay, c.Cell = 0, 0, evdoDown })
	if got := at(3_600_001); got < 3_600_001 || got > 3_603_000 || slot != 0 {
		t.Errorf("with a Cell: %v", got)
	}
	tr, err := ReadTrace(strings.NewReader("5\n20\n"))
	if err != nil {
		t.Fatal(err)
	}
	set(func(c *LinkConfig) { c.Cell, c.Trace = Cell{}, tr })
	if got := at(3_700_000); got < 3_700_000 || got > 3_700_020 {
		t.Errorf("with a Trace: %v", got)
	}
	before := l.Config()
	bad := before
	bad.Delay = -1
	if err := l.Set(bad); err == nil || l.Config() != before {
		t.Error("an invalid change was taken")
	}
	p, err := NewPath(1, Fiber)
	if err != nil {
		t.Fatal(err)
	}
	bad2 := LAN
	bad2.Up.Delay = time.Hour
	if err := p.Set(bad2); err == nil || p.Down.Config() != Fiber.Down {
		t.Error("half an invalid profile was taken")
	}
	if err := p.Set(Ocean); err != nil || p.Up.Config() != Ocean.Up {
		t.Error(err)
	}
}

// A change of one parameter leaves the numbers of the others as they were.
func TestStreamsAreSeparate(t *testing.T) {
	c := HotelWiFi.Down
	c.Reorder = true // else delays influence each other
	a, _ := flow(t, 1, c, 2000, 100, 50*time.Millisecond)
	c.Loss = Bursts(0.2, 2)
	b, _ := flow(t, 1, c, 2000, 100, 50*time.Millisecond)
	lost := 0
	for i := range a {
		if b[i].n == 0 {
			lost++
		} else if a[i].n > 0 && a[i] != b[i] {
			t.Fatalf("datagram %d: %v without, %v with loss", i, a[i], b[i])
		}
	}
	if !near(float64(lost), 400, 0.25) {
		t.Errorf("%d of 2000 lost", lost)
	}
}

func TestValidate(t *testing.T) {
	tr, err := ReadTrace(strings.NewReader("1\n2\n"))
	if err != nil {
		t.Fatal(err)
	}
	good := CityLTE.Down
	cell := func(change func(*Cell)) LinkConfig {
		c := good
		change(&c.Cell)
		return c
	}
	for _, c := range []struct {
		c    LinkConfig
		want string
	}{
		{LinkConfig{Delay: -1}, "Delay -1ns is outside [0, 10s]"},
		{LinkConfig{Delay: time.Minute}, "Delay 1m0s is outside [0, 10s]"},
		{LinkConfig{Jitter: Uniform(-1)}, "Jitter.Scale -1ns"},
		{LinkConfig{Jitter: Jitter{Shape: 9}}, "Jitter.Shape 9"},
		{LinkConfig{Jitter: LogNormal(1, 4)}, "Jitter.Sigma 4 is outside [0, 3]"},
		{LinkConfig{Jitter: LogNormal(1, math.NaN())}, "Jitter.Sigma NaN"},
		{LinkConfig{Loss: Loss{ToBad: 2}}, "Loss.ToBad 2 is outside [0, 1]"},
		{LinkConfig{Loss: Loss{ToGood: -1}}, "Loss.ToGood -1"},
		{LinkConfig{Loss: Loss{InGood: math.NaN()}}, "Loss.InGood NaN"},
		{LinkConfig{Loss: Loss{InBad: 1.5}}, "Loss.InBad 1.5"},
		{LinkConfig{Duplicate: 1.5}, "Duplicate 1.5"},
		{LinkConfig{Pause: Pause{Every: -1}}, "Pause.Every -1ns"},
		{LinkConfig{Pause: Pause{Every: 1, Min: 2, Max: 1}}, "Pause.Min 2ns is outside [0, 1ns]"},
		{LinkConfig{Rate: 1}, "Rate 1 bit/s is outside [1000, 100000000000]"},
		{LinkConfig{Rate: -1}, "Rate -1"},
		{LinkConfig{Rate: 8000, Trace: tr}, "2 of Rate, Cell and Trace are set"},
		{LinkConfig{Trace: &Trace{}}, "Trace is empty"},
		{LinkConfig{Trace: tr, TraceStart: -1}, "TraceStart -1ns"},
		{LinkConfig{Cross: 0.5}, "Cross 0.5 needs a Rate"},
		{LinkConfig{Rate: 8000, Cross: 2}, "Cross 2 is outside [0, 1]"},
		{LinkConfig{Queue: -1}, "Queue -1 B is outside [0, 67108864]"},
		{cell(func(c *Cell) { c.Mean = 5 }), "Cell.Mean 5 bit/s is outside [1000, 200000000]"},
		{cell(func(c *Cell) { c.Grant = 0 }), "Cell.Grant 0 is outside [1, 32]"},
		{cell(func(c *Cell) { c.Slow.Sigma = 3 }), "Cell.Slow.Sigma 3"},
		{cell(func(c *Cell) { c.Fast.Time = 1 }), "Cell.Fast.Time 1ns"},
		{cell(func(c *Cell) { c.FadesPerMinute = -1 }), "Cell.FadesPerMinute -1"},
		{cell(func(c *Cell) { c.FadeMean = -1 }), "Cell.FadeMean -1ns"},
		{cell(func(c *Cell) { c.OutagesPerMinute = 1e6 }), "Cell.OutagesPerMinute 1e+06"},
		{cell(func(c *Cell) { c.OutageMin = c.OutageMax + 1 }), "Cell.OutageMin"},
		{cell(func(c *Cell) { c.OutageMax = time.Hour }), "Cell.OutageMax 1h0m0s is above 10s"},
		{cell(func(c *Cell) { c.OutageShape = 0 }), "Cell.OutageShape 0"},
		{cell(func(c *Cell) { c.FadesPerMinute, c.FadeMean = 1000, time.Second }), "leave 0.0"},
	} {
		if err := c.c.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
		if _, err := NewPipe(1, c.c); err == nil {
			t.Errorf("%q: NewPipe took it", c.want)
		}
		_, err := NewPath(1, Profile{"x", LinkConfig{}, c.c})
		if err == nil || !strings.Contains(err.Error(), `profile "x", up`) {
			t.Errorf("%q: NewPath says %v", c.want, err)
		}
	}
	for _, p := range all() {
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestByName(t *testing.T) {
	want := "fiber wifi burst lte-a lte-b lte-c evdo lan ocean modem held-1 held-2 held-3 held-4 held-5 held-6 " +
		"held-7 held-8"
	if got := strings.Join(names(), " "); got != want {
		t.Errorf("names: %s", got)
	}
	for _, name := range names() {
		if p, err := ByName(name); err != nil || p.Name != name {
			t.Errorf("%s: %v, %v", name, p.Name, err)
		}
	}
	if _, err := ByName("dsl"); err == nil || !strings.Contains(err.Error(), `no profile "dsl"; there are: `+want) {
		t.Error(err)
	}
}

func TestWithTraces(t *testing.T) {
	tr, err := ReadTrace(strings.NewReader("1\n2\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := CityLTE.WithTraces(tr, nil)
	if p.Down.Trace != tr || p.Down.Cell.Mean != 0 || p.Up != CityLTE.Up || p.Down.Cross != CityLTE.Down.Cross ||
		p.Validate() != nil {
		t.Errorf("%+v", p)
	}
	if CityLTE.Down.Trace != nil {
		t.Error("the original changed")
	}
}

// A Pipe delivers exactly what its Link decided, in order of arrival, bytes unharmed.
func TestPipe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := LinkConfig{
			Delay: 10 * time.Millisecond, Jitter: Uniform(30 * time.Millisecond),
			Reorder: rapid.Bool().Draw(t, "reorder"),
			Loss:    Loss{InGood: 0.2}, Duplicate: 0.2,
		}
		seed := rapid.Uint64().Draw(t, "seed")
		l, _ := NewLink(seed, c)
		p, err := NewPipe(seed, c)
		if err != nil {
			t.Fatal(err)
		}
		type arrival struct {
			at clock.Time
			id byte
		}
		var want, got []arrival
		now := clock.Time(0)
		drain := func() {
			for {
				next, some := p.Next()
				data, at, ok := p.Pop(now)
				if ok != (some && next <= now) || ok && (at != next || at > now) {
					t.Fatalf("Next %v %v, Pop %v %v at %v", next, some, at, ok, now)
				}
				if !ok {
					return
				}
				if len(data) != int(data[0])+1 || data[len(data)-1] != data[0] {
					t.Fatalf("datagram %v", data)
				}
				got = append(got, arrival{at, data[0]})
			}
		}
		for i := range 100 {
			now += clock.Time(rapid.Int64Range(0, 20e6).Draw(t, "gap"))
			data := make([]byte, i+1)
			data[0], data[i] = byte(i), byte(i)
			arrivals, n := l.Send(now, len(data))
			if p.Push(now, data) != n {
				t.Fatal("Push and Send disagree")
			}
			data[0] = 255 // the pipe holds a copy
			for _, at := range arrivals[:n] {
				want = append(want, arrival{at, byte(i)})
			}
			if rapid.Bool().Draw(t, "drain") {
				drain()
			}
		}
		now += 1e9
		drain()
		slices.SortStableFunc(want, func(a, b arrival) int { return int(a.at - b.at) })
		if !slices.Equal(got, want) || p.InFlight() != 0 {
			t.Fatalf("got %v\nwant %v", got, want)
		}
		if n, over := p.Delivered(); n != uint64(len(want)) || over != 0 {
			t.Fatalf("counted %d, %d", n, over)
		}
	})
}

// What was pushed while others were under way arrives on time, though no push follows.
func TestDeliverInTime(t *testing.T) {
	p, err := NewPipe(1, LinkConfig{Delay: time.Second, Rate: 8000})
	if err != nil {
		t.Fatal(err)
	}
	var loop Loop
	got := 0
	for range 3 {
		p.Push(0, make([]byte, 500))
		p.Deliver(&loop, func(at clock.Time, data []byte) {
			if got++; at != loop.Now() || len(data) != 500 {
				t.Errorf("%d bytes that arrived at %v were handed over at %v", len(data), at, loop.Now())
			}
		})
	}
	loop.Run(clock.Time(10 * time.Second))
	if got != 3 {
		t.Errorf("%d of 3 arrived", got)
	}
}

func TestPipeClear(t *testing.T) {
	p, err := NewPipe(1, LinkConfig{Delay: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	p.Push(0, []byte("a"))
	p.Clear()
	if _, ok := p.Next(); ok || p.InFlight() != 0 {
		t.Error("Clear left something")
	}
	for range MaxInFlight + 5 {
		p.Push(1, []byte("b"))
	}
	if _, over := p.Delivered(); over != 5 || p.InFlight() != MaxInFlight {
		t.Errorf("%d dropped, %d in flight", over, p.InFlight())
	}
}

func TestLoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type ran struct {
			at clock.Time
			id int
		}
		var l Loop
		var want, got []ran
		id := 0
		var add func(depth int)
		add = func(depth int) {
			at := l.Now() + clock.Time(rapid.Int64Range(-2, 5).Draw(t, "at"))
			me := id
			id++
			want = append(want, ran{max(at, l.Now()), me})
			l.At(at, func() {
				got = append(got, ran{l.Now(), me})
				if depth < 3 && rapid.Bool().Draw(t, "more") {
					add(depth + 1)
				}
			})
		}
		for range 20 {
			add(0)
		}
		l.Run(3)
		if l.Now() != 3 {
			t.Fatalf("now %d", l.Now())
		}
		for _, r := range got {
			if r.at > 3 {
				t.Fatalf("ran %v too early", r)
			}
		}
		add(0)
		l.Run(1000)
		// Adding order breaks ties, so a stable sort by time of what was added is what must have
		// run.
		slices.SortStableFunc(want, func(a, b ran) int { return int(a.at - b.at) })
		if !slices.Equal(got, want) {
			t.Fatalf("ran %v\nwant %v", got, want)
		}
		if _, ok := l.Next(); ok || l.Step() {
			t.Fatal("something is left")
		}
	})
}

func TestLoopEvery(t *testing.T) {
	var l Loop
	var at []clock.Time
	l.Every(5, 10, func() bool { at = append(at, l.Now()); return len(at) < 4 })
	l.Every(7, 0, func() bool { at = append(at, l.Now()); return true })
	l.After(6, func() { at = append(at, l.Now()) })
	l.Run(100)
	if !slices.Equal(at, []clock.Time{5, 6, 7, 15}) {
		t.Errorf("%v", at)
	}
}

func TestAllocs(t *testing.T) {
	for _, p := range all() {
		pipe, err := NewPipe(1, p.Down)
		if err != nil {
			t.Fatal(err)
		}
		now, data := clock.Time(0), make([]byte, 500)
		step := func() {
			now += 50e6
			pipe.Push(now, data)
			for {
				if _, _, ok := pipe.Pop(now); !ok {
					return
				}
			}
		}
		for range 5000 { // until the queues have seen their worst
			step()
		}
		if n := testing.AllocsPerRun(2000, step); n != 0 {
			t.Errorf("%s: %v allocations", p.Name, n)
		}
	}
}

func BenchmarkLink(b *testing.B) {
	for _, p := range []Profile{Fiber, CityLTE, TrainLTE} {
		b.Run("profile="+p.Name, func(b *testing.B) {
			l, err := NewLink(1, p.Down)
			if err != nil {
				b.Fatal(err)
			}
			now := clock.Time(0)
			for b.Loop() {
				now += 50e6
				l.Send(now, 500)
			}
		})
	}
}
