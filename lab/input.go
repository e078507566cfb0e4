package lab

import (
	"fmt"
	"math"
	"slices"
	"time"

	"meanwhile/client"
	"meanwhile/geom"
	"meanwhile/lab/baseline"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/estimate"
	"meanwhile/netsim"
)

var inputExperiment = &experiment{
	name:  "input",
	about: "how far ahead of the server commands are made, and how often one is late, beside five rules and an oracle",
	notes: `A client makes a command for each tick of 1/60 s, at frames of 1/60 s whose clock drifts. It sends rate_hz
packets a second, each with all commands that are not acknowledged. The server answers with 20 packets a second
on the lossy way down: which commands arrived, how early or late new ones were, how many ticks were starved. All
policies read our clock, so only the lead differs. Everything counts from the tenth second on. <b>mean_lead</b>
is the time from the frame at which a command was made to its tick, above the least time that any packet of the
run took to the server. A tick is starved when its command has not arrived. <b>starved_per_min</b> counts runs
of starved ticks, long ones once; <b>outages_per_min</b> counts those of them that last longer than half a
second, which no lead bridges; <b>starved_share</b> is a share of ticks. <b>speed_deviation</b> is the mean of
|speed - 1| of the command time over all frames. The time that a command takes does not depend on its lead, so
any lead can be judged afterwards: <b>lead_at_6</b> is the mean lead of the same policy with one constant added
or taken off, the same on all profiles of the run, so that the mean over the profiles is 6 starved runs a
minute. It is missing where half a second more does not achieve that. Policy best-constant is the best single
lead of each run in hindsight: the least lead + 10 ms per starved run a minute, a price near ours; it need not
wait for frames. Policies send-60 and send-30, if asked for, are meanwhile with 60 and 30 packets a second on every
path. Policy oracle knows as much and moves its lead, by at most +9 % and -3 % of real time, at the
same price, at the frames of all policies. Rows of profile "mean" are means over the profiles.`,
	takes:    byProfile | byPolicy | byRate | byTrace,
	profiles: seven,
	policies: inputPolicies(),
	asked:    []string{allUp, halfUp},
	rates:    []int{60},
	first:    firstLook{profile: "mean"},
	run:      runInput,
}

// Policies that know the future: one holds one lead, the other moves it.
const (
	bestConstant = "best-constant"
	oracleLead   = "oracle"
)

func inputPolicies() []string {
	p := []string{ours}
	for _, l := range baseline.Leads() {
		p = append(p, l.Name)
	}
	return append(p, bestConstant, oracleLead)
}

// The model's client and server.
const (
	inputPeriod  = baseline.InputTick
	inputTicks   = int(time.Second / inputPeriod) // a second
	reportEvery  = 3                              // ticks: 20 a second
	reportBytes  = 500                            // of a packet down, records included
	inputHead    = 30                             // bytes of a packet up without commands
	inputBytes   = 6                              // of a command
	inputSkip    = 10 * time.Second
	inputHello   = 50 * time.Millisecond // between packets before the clock is known
	inputsRepeat = 64                    // commands in one packet at most
	inputsMade   = client.MaxTicks       // commands made in one frame at most
	inputOutage  = 500 * time.Millisecond
	fixedStarved = 6.0  // a minute, of lead_at_6_ms
	inputPrice   = 10.0 // ms for each starved run a minute
	inputMost    = 600  // ms; of leads that are looked at afterwards
	extraMost    = 500  // ms; that are added to a lead afterwards, or taken off
)

// ourLead is the lead of our own client.
type ourLead struct {
	*client.Lead
	least time.Duration
	down  estimate.Ages
}

func (o *ourLead) Exchange(x baseline.Exchange) {
	if rtt := x.T3.Sub(x.T0) - x.T2.Sub(x.T1); o.least == 0 || rtt < o.least {
		o.least = rtt
	}
	o.down.Arrive(x.T3, x.T2)
	if more, another := o.down.Another(); another && more == 0 {
		o.FasterPath()
	}
}

func (o *ourLead) Report(r baseline.InputReport) {
	if r.Fresh {
		o.Feedback(r.At, r.Acked, r.Slack)
	}
}

func (o *ourLead) Move(dt time.Duration) time.Duration { return o.Lead.Move(dt, o.least) }

// newLead returns a policy by name.
func newLead(policy string, rate int) (baseline.Lead, error) {
	for _, l := range baseline.Leads() {
		if l.Name == policy {
			return l.New(), nil
		}
	}
	if policy == oracleLead {
		return &baseline.FixedLead{Extra: 100 * time.Millisecond}, nil
	}
	return &ourLead{Lead: client.NewLead(inputPeriod, rate >= inputTicks && policy == ours)}, nil
}

// input is the fate of the command of one tick.
type input struct {
	made clock.Time // true time of the frame, 0: never
	got  clock.Time // first arrival, 0: never
}

// inputPacket is a packet with commands, client to server.
type inputPacket struct {
	stamp    clock.Time // local
	from, to clock.Tick // none if to is 0
}

// inputAnswer is a packet from server to client.
type inputAnswer struct {
	at            clock.Time // local time of its arrival
	sent          clock.Time
	tick          clock.Tick
	echo, echoAt  clock.Time // newest stamp received, and when
	fresh         bool
	slack, newest time.Duration
	acked         clock.Tick
	starved       int // so far
}

// inputRun is one policy on one path.
type inputRun struct {
	loop   netsim.Loop
	path   *netsim.Path
	lead   baseline.Lead
	local  func(clock.Time) clock.Time
	inputs []input // by tick
	begin  clock.Time

	// The server.
	tick  clock.Tick
	state inputAnswer // what the next answer will say

	// The client.
	inbox   []inputAnswer
	est     clock.Estimator
	out     *clock.Output
	line    clock.Timeline
	made    clock.Tick // newest command
	sent    clock.Tick // newest command of the newest packet
	packets int
	acked   clock.Tick
	answer  clock.Tick // newest answer
	starved int
	before  clock.Time // local time of the last frame
	command clock.Time // command time of the last frame
	next    clock.Time // when the next packet is due
	gap     time.Duration

	deviation float64 // sum
	frames    int
	trail     []xy
	errors    []xy // of the clock, ms
}

func inputAt(t clock.Tick) clock.Time { return clock.Time(t) * clock.Time(inputPeriod) }

// playInput lets a policy work on a path, which becomes another with each of later.
func playInput(
	seed uint64, p netsim.Profile, l baseline.Lead, rate int, span time.Duration, later ...leg,
) (*inputRun, error) {
	path, err := netsim.NewPath(seed, p)
	if err != nil {
		return nil, err
	}
	rng := geom.NewRand(seed, 97)
	offset, ppm := clock.Time(rng.IntN(int(time.Hour))), clock.Time(rng.IntN(101)-50)
	end := clock.Time(inputSkip + span)
	r := &inputRun{
		path: path, lead: l, local: func(t clock.Time) clock.Time { return t + offset + t/1_000_000*ppm },
		begin: clock.Time(inputSkip), inputs: make([]input, int(end)/int(inputPeriod)+1),
		gap: time.Second / time.Duration(rate),
	}
	r.out = clock.NewOutput(&r.est)
	r.loop.Every(clock.Time(inputPeriod), inputPeriod, r.serve)
	r.loop.Every(clock.Time(rng.IntN(int(inputPeriod))), inputPeriod, r.frame)
	for _, next := range later {
		r.loop.At(next.from, func() {
			if e := path.Set(next.path); e != nil {
				err = e
			}
		})
	}
	r.loop.Run(end)
	return r, err
}

// serve is one tick of the server.
func (r *inputRun) serve() bool {
	now := r.loop.Now()
	r.tick++
	if got := r.inputs[r.tick].got; got == 0 {
		r.state.starved++
	}
	if r.tick%reportEvery == 0 {
		a := r.state
		a.sent, a.tick = now, r.tick
		r.state.fresh = false
		if at, n := r.path.Down.Send(now, reportBytes); n > 0 {
			r.loop.At(at[0], func() {
				a.at = r.local(r.loop.Now())
				r.inbox = append(r.inbox, a)
			})
		}
	}
	return int(r.tick)+1 < len(r.inputs)
}

// receive applies a packet at the server.
func (r *inputRun) receive(p inputPacket) {
	now, s := r.loop.Now(), &r.state
	if p.stamp > s.echo {
		s.echo, s.echoAt = p.stamp, now
	}
	for t := p.from; t <= p.to && p.to > 0; t++ {
		in := &r.inputs[t]
		if in.got != 0 || in.made == 0 {
			continue
		}
		in.got = now
		slack := inputAt(t).Sub(now)
		if !s.fresh || slack < s.slack {
			s.slack = slack
		}
		if t > s.acked {
			s.acked, s.newest = t, slack
		}
		s.fresh = true
	}
}

// frame is one frame of the client.
func (r *inputRun) frame() bool {
	now := r.loop.Now()
	here := r.local(now)
	for _, a := range r.inbox {
		r.take(a)
	}
	r.inbox = r.inbox[:0]
	dt := here.Sub(r.before)
	r.before = here
	_, known := r.est.Offset()
	if known {
		command := r.out.Now(here).Add(r.lead.Move(dt))
		if now >= r.begin {
			r.deviation += math.Abs(float64(command.Sub(r.command))/float64(dt) - 1)
			r.frames++
		}
		r.command = command
		if r.frames%15 == 0 && now >= r.begin {
			r.errors = append(r.errors, xy{float64(now) / 1e9, ms(r.out.Now(here).Sub(now))})
		}
		r.make(r.line.TickAt(command).Tick(), now, here)
	}
	if here < r.next || !r.due() {
		return true
	}
	r.packets, r.sent = r.packets+1, r.made
	size, p := inputHead, inputPacket{stamp: here}
	if known {
		r.next = max(r.next.Add(r.gap), here.Add(-r.gap))
		if r.made > r.acked {
			p.to = r.made
			p.from = max(r.acked+1, r.made-min(r.made-1, inputsRepeat-1))
			size += inputBytes * int(p.to-p.from+1)
		}
	} else {
		r.next = here.Add(inputHello)
	}
	if at, n := r.path.Up.Send(now, size); n > 0 {
		r.loop.At(at[0], func() { r.receive(p) })
	}
	return true
}

// due reports whether a packet is due: with every command, or with those that share one.
func (r *inputRun) due() bool {
	o, ok := r.lead.(*ourLead)
	if !ok || r.made == 0 || o.Every() == 1 {
		return true
	}
	return r.made/o.Every() > r.sent/o.Every()
}

// make makes the commands up to tick t.
func (r *inputRun) make(t clock.Tick, now, here clock.Time) {
	t = min(t, clock.Tick(len(r.inputs)-1))
	if t > r.made && (r.made == 0 || t-r.made > inputsMade) {
		r.made = t - 1
	}
	for r.made < t {
		r.made++
		r.inputs[r.made].made = now
		if o, ok := r.lead.(*ourLead); ok {
			o.Made(r.made, r.line.TimeOf(r.made.Frac()).Sub(r.out.Now(here)))
		}
		if now >= r.begin && r.made%15 == 0 {
			r.trail = append(r.trail, xy{float64(now) / 1e9, ms(inputAt(r.made).Sub(now))})
		}
	}
}

// take applies an answer at the client.
func (r *inputRun) take(a inputAnswer) {
	if a.echo != 0 {
		if r.answer == 0 {
			r.est.Seed(a.at, a.sent) // the welcome carries the time in full
		}
		r.est.Receive(a.at, a.sent.Stamp(), a.echo.Stamp(), a.sent.Sub(a.echoAt).Truncate(time.Microsecond))
		r.lead.Exchange(baseline.Exchange{T0: a.echo, T1: a.echoAt, T2: a.sent, T3: a.at})
	}
	r.line.Update(a.tick, a.sent, inputPeriod)
	if a.tick <= r.answer {
		return
	}
	r.lead.Report(baseline.InputReport{At: a.at, Fresh: a.fresh, Slack: a.slack, Newest: a.newest, Acked: a.acked,
		Starved: a.starved - r.starved})
	r.answer, r.acked, r.starved = a.tick, max(r.acked, a.acked), a.starved
}

// inputResult is the result of one run, or of several.
type inputResult struct {
	runs      int
	minutes   float64
	lead      float64 // ms, sum over commands
	commands  int
	starved   int // ticks
	ticks     int
	events    int // runs of starved ticks
	outages   int // of them, long ones
	deviation float64
	frames    int
	with      []int // events, had leads been longer by -extraMost, -extraMost+1 .. extraMost ms
	trail     []xy
}

func (a *inputResult) add(b inputResult) {
	a.runs, a.minutes, a.lead, a.commands = a.runs+b.runs, a.minutes+b.minutes, a.lead+b.lead, a.commands+b.commands
	a.starved, a.ticks, a.events, a.outages = a.starved+b.starved, a.ticks+b.ticks, a.events+b.events,
		a.outages+b.outages
	a.deviation, a.frames = a.deviation+b.deviation, a.frames+b.frames
	if len(a.with) == 0 {
		a.with = make([]int, len(b.with))
	}
	for i, n := range b.with {
		a.with[i] += n
	}
}

// trips are how long commands took and how long they had, in ms above the floor, by tick. A command
// that never came, or never was made, took for ever.
type trips struct{ took, had []float64 }

// trips are how long commands took and how long they had, in ms above the floor, by tick. A command
// that never arrived, or was never made, took for ever.
func (r *inputRun) trips() (t trips, floor float64) {
	floor = math.Inf(1)
	for _, in := range r.inputs {
		if in.got != 0 {
			floor = min(floor, ms(in.got.Sub(in.made)))
		}
	}
	from := int(r.begin) / int(inputPeriod)
	to := len(r.inputs) - int(time.Second/inputPeriod) // those of the last second may be under way
	for k := from; k < to; k++ {
		in, took, had := r.inputs[k], math.Inf(1), math.NaN()
		if in.got != 0 {
			took = ms(in.got.Sub(in.made)) - floor
		}
		if in.made != 0 {
			had = ms(inputAt(clock.Tick(k)).Sub(in.made)) - floor
		}
		t.took, t.had = append(t.took, took), append(t.had, had)
	}
	return t, floor
}

// starved counts starved ticks, runs of them and long runs, had every command been made extra ms
// earlier; fixed replaces what they had by that one lead.
func (t trips) starved(extra float64, fixed bool) (ticks, events, outages int) {
	run := 0
	for k, took := range t.took {
		had := extra
		if !fixed {
			had += t.had[k]
		}
		if took <= had { // not if either is unknown
			run = 0
			continue
		}
		ticks++
		if run++; run == 1 {
			events++
		}
		if run == int(inputOutage/inputPeriod)+1 {
			outages++
		}
	}
	return ticks, events, outages
}

func (t trips) minutes() float64 { return float64(len(t.took)) / float64(time.Minute/inputPeriod) }

// result measures a run.
func (r *inputRun) result() inputResult {
	t, floor := r.trips()
	res := inputResult{runs: 1, minutes: t.minutes(), ticks: len(t.took), deviation: r.deviation, frames: r.frames,
		trail: r.trail}
	for _, had := range t.had {
		if !math.IsNaN(had) {
			res.lead += had
			res.commands++
		}
	}
	for i := range res.trail {
		res.trail[i].y -= floor
	}
	res.starved, res.events, res.outages = t.starved(0, false)
	res.with = make([]int, 2*extraMost+1)
	for i := range res.with {
		ticks, events, _ := t.starved(float64(i-extraMost), false)
		if ticks > res.ticks/2 {
			events = ticks // starved always is one run
		}
		res.with[i] = events
	}
	return res
}

// best is the result of the constant lead that is best in hindsight.
func (r *inputRun) best() inputResult {
	t, _ := r.trips()
	res := inputResult{runs: 1, minutes: t.minutes(), ticks: len(t.took), frames: 1}
	cost := math.Inf(1)
	for lead := float64(inputMost); lead >= 0; lead-- {
		ticks, events, outages := t.starved(lead, true)
		if ticks > res.ticks/2 {
			break // starved always is one run
		}
		if c := lead + float64(inputPrice*float64(events))/res.minutes; c <= cost {
			cost = c
			res.lead, res.commands, res.starved, res.events, res.outages = lead, 1, ticks, events, outages
		}
	}
	return res
}

func (a *inputResult) metrics() Values {
	return Values{
		{"mean_lead_ms", a.lead / float64(max(a.commands, 1))},
		{"starved_per_min", float64(a.events) / a.minutes},
		{"outages_per_min", float64(a.outages) / a.minutes},
		{"starved_share", float64(a.starved) / float64(max(a.ticks, 1))},
		{"speed_deviation", a.deviation / float64(max(a.frames, 1))},
	}
}

func runInput(r *run) error {
	span, seeds := 300*time.Second, r.seeds(6)
	if r.quick {
		span, seeds = 60*time.Second, seeds[:min(2, len(seeds))]
	}
	for _, rate := range r.rates {
		params := r.params(Value{"seeds", len(seeds)}, Value{"rate_hz", rate}, Value{"run_s", int(span.Seconds())})
		all := make([][]inputResult, len(r.chosen)) // by policy and profile
		for _, p := range r.profiles {
			got, err := each(len(seeds)*len(r.chosen), func(i int) (inputResult, error) {
				policy := r.chosen[i%len(r.chosen)]
				rate := rate
				if policy == halfUp {
					rate = halfUpRate
				}
				l, err := newLead(policy, rate)
				if err != nil {
					return inputResult{}, err
				}
				one, err := playInput(seeds[i/len(r.chosen)], p, l, rate, span)
				if err != nil {
					return inputResult{}, err
				}
				switch policy {
				case bestConstant:
					return one.best(), nil
				case oracleLead:
					return one.oracle(inputPrice), nil
				}
				return one.result(), nil
			})
			if err != nil {
				return err
			}
			var lines []line
			for k, policy := range r.chosen {
				var sum inputResult
				for i := range seeds {
					sum.add(got[i*len(r.chosen)+k])
				}
				all[k] = append(all[k], sum)
				if len(got[k].trail) > 0 {
					lines = append(lines, line{name: policy, at: got[k].trail})
				}
			}
			if r.drawing {
				r.figures = append(r.figures, figure{
					title: fmt.Sprintf("Lead of commands over time, %s", p.Name),
					x:     "seconds", y: "ms above the floor (500 ms clipped)", lines: lines, clip: 500, file: "input-" + p.Name,
					caption: "How far ahead of the server commands are made, above the path's floor. Less is better only where " +
						"few commands come too late: the table has both.",
				})
			}
		}
		extra := make([]float64, len(r.chosen))
		for k := range all {
			extra[k] = extraAt6(all[k])
		}
		for i, p := range append(slices.Clone(r.profiles), netsim.Profile{Name: "mean"}) {
			for k, policy := range r.chosen {
				var m Values
				if i < len(r.profiles) {
					m = all[k][i].metrics()
				} else if i > 1 {
					for _, one := range all[k] {
						m = plus(m, one.metrics(), 1/float64(len(r.profiles)))
					}
				} else {
					continue // a mean of one
				}
				if lead, _ := m.Get("mean_lead_ms"); !math.IsNaN(extra[k]) {
					m.put("lead_at_6_ms", lead+extra[k])
				}
				r.emit(Row{r.name, p.Name, policy, r.seed, params, m})
			}
		}
	}
	return nil
}

// extraAt6 returns the constant in ms that brings the mean over the profiles to fixedStarved, NaN
// if none does.
func extraAt6(profiles []inputResult) float64 {
	found := math.NaN()
	for i := 2 * extraMost; i >= 0; i-- {
		sum := 0.0
		for _, p := range profiles {
			if len(p.with) == 0 {
				return found
			}
			sum += float64(p.with[i]) / p.minutes
		}
		if sum > float64(fixedStarved*float64(len(profiles))) {
			break
		}
		found = float64(i - extraMost)
	}
	return found
}

// plus adds weight times each of the values to the sum of the same name. Names that some summands
// lack are left out.
func plus(sum, v Values, weight float64) Values {
	first := sum == nil
	var out Values
	for _, x := range v {
		n, _ := v.Get(x.Name)
		s, ok := sum.Get(x.Name)
		if ok || first {
			out.put(x.Name, s+float64(n*weight))
		}
	}
	return out
}
