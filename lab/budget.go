package lab

import (
	"meanwhile/lab/baseline"
	reference "meanwhile/lab/crowd"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/snapshot"
)

var budgetExperiment = &experiment{
	name:  "budget",
	about: "what clients know of a thousand walkers through 13, 32 and 64 kbit/s, by the order of records",
	notes: `A thousand walkers go about a square of a kilometre, or four of five of them within 100 m of its centre
(<b>hot</b>); each client may know the nearest 250, itself included. Viewers spread over the crowd receive what the
real server sends through 50 ms and 2 % loss each way, acknowledge it, and draw 60 frames a second; all other walkers
have no players, as the order of one client's records hangs on no other client. Errors are against the server's
truth of the same moment, over all that should be known; what is not known counts as 500 cm. <b>held</b> is the
newest state as it is, <b>drawn</b> what is on the screen. <b>score_cm</b> is the error of what is held over its
distance, 0.2 at most, as large as it looks at 10 m. <b>known_share</b> is the share of what should be known whose
state was true within the last 2 s. <b>stale_p99_ms</b> is the age of states that are wrong. <b>records_per_s</b> are
records that arrived and moved somebody. <b>max_window_bits</b> are the most bits sent in any second, counted by the
experiment. <b>meanwhile</b> is the server as shipped; <b>unannounced</b> the same without announcements of the next
record. <b>ryzom</b> orders by ticks waited over distance, and sends what went further than a hundredth of its
distance;
<b>ryzom-buckets</b> is its first algorithm. <b>age</b> and <b>distance</b> know nothing else. Two oracles know how
wrong what each client holds is: <b>oracle</b> goes by error over distance, times ticks waited, <b>oracle-flat</b> by
error times ticks waited. Only the order of records differs, and that none but ours announces the next one.`,
	takes:    byPolicy,
	policies: append([]string{ours, "unannounced"}, orderNames()...),
	first:    firstLook{metrics: "records_per_s held_10m_cm held_30m_cm held_all_cm drawn_30m_cm known_share"},
	run:      runBudget,
}

// orderNames are those of the rivals.
func orderNames() (names []string) {
	for _, o := range baseline.Orders() {
		names = append(names, o.Name)
	}
	return names
}

// budgetCase is one row of budget.
type budgetCase struct {
	hot    bool
	budget int // bits a second
	policy string
}

func runBudget(r *run) error {
	budgets := []int{13_000, 32_000, 64_000}
	if r.quick {
		budgets = budgets[:1]
	}
	var cases []budgetCase
	for _, hot := range [...]bool{false, true} {
		for _, b := range budgets {
			for _, policy := range r.chosen {
				cases = append(cases, budgetCase{hot, b, policy})
			}
		}
	}
	rows, err := each(len(cases), func(i int) (Row, error) { return cases[i].row(r) })
	for _, row := range rows {
		r.emit(row)
	}
	return err
}

// row runs one case.
func (c budgetCase) row(r *run) (Row, error) {
	viewers, warm, ticks := 24, 400, 200
	if r.quick {
		viewers, warm, ticks = 8, 340, 60
	}
	var world wrongs
	run, err := reference.New(reference.Config{Walkers: 1000, Hot: c.hot, Budget: c.budget,
		Properties: reference.Few, Viewers: viewers, Alone: true, Order: c.order(&world), Seed: r.seed})
	if err != nil {
		return Row{}, err
	}
	world.run = run
	var q reference.Quality
	moved := uint64(0)
	for i := range warm + ticks {
		var look *reference.Quality
		if i >= warm {
			look = &q
		}
		if i == warm {
			_, moved = run.Downlink()
		}
		if err := run.Tick(look); err != nil {
			return Row{}, err
		}
	}
	_, moves := run.Downlink()
	variant := "uniform"
	if c.hot {
		variant = "hot"
	}
	row := Row{Experiment: r.name, Policy: c.policy, Seed: r.seed,
		Params: Values{{"crowd", variant}, {"budget_bps", c.budget}}}
	m := &row.Metrics
	m.put("records_per_s", float64(moves-moved)/float64(viewers)/float64(ticks)*reference.Rate)
	m.put("max_window_bits", run.Sums.MaxWindow)
	m.put("score_cm", q.Score.Value())
	for i, name := range [...]string{"held_10m_cm", "held_30m_cm", "held_100m_cm", "held_all_cm"} {
		m.put(name, q.Held[i].Value())
	}
	m.put("drawn_30m_cm", q.Drawn[1].Value())
	m.put("known_share", float64(q.Known)/float64(q.Things))
	m.put("stale_p99_ms", q.Percentile(0.99, true))
	return row, nil
}

// order returns the order of a policy, nil for ours.
func (c budgetCase) order(w *wrongs) *snapshot.Order {
	if c.policy == "unannounced" {
		return &snapshot.Order{Unannounced: true}
	}
	for _, o := range baseline.Orders() {
		if o.Name == c.policy {
			return o.New(w)
		}
	}
	return nil
}

// wrongs is the baseline.World of a run that is made after its order.
type wrongs struct{ run *reference.Run }

func (w *wrongs) Wrong(ent int32, since clock.Tick) (float64, int64) { return w.run.Wrong(ent, since) }
