package lab

import (
	"fmt"
	"math"
	"time"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/playout"
	"meanwhile/netsim"
)

var ticksExperiment = &experiment{
	name: "ticks",
	about: "what a client notices of a server that is overloaded or stands still, beside four other ways to keep " +
		"time",
	notes: `A server runs rate_hz ticks a second and sends 20 packets of records a second, each when its tick is
computed. One client draws sixty times a second, counted from the twentieth second on. Load <b>steady</b>: a tick
takes 32 to 48 % of its nominal length. Load <b>overload</b>: in the last ten seconds of each minute it takes 160 to
200 %. Load <b>stalls</b>: besides the steady load the process stands still for 250 ms, three times a minute, at
times that are the same for all policies. <b>meanwhile</b> moves late ticks, announces how long ticks really take,
and dates each tick by when it ran. <b>catch-up</b> runs all ticks that it owes at once. <b>ryzom</b> begins a tick
when the last is done and steers to a smoothed length. <b>nominal-stamps</b> keeps time as meanwhile does but dates
tick n by n nominal lengths. <b>learns-lateness</b> is our server with a client that takes the server's lateness for
the path's; all other policies have the same client, timeline and playout clock. <b>mean_delay</b> is the time since
the drawn state was computed, above the path's floor. <b>delay_growth</b> is how much longer it is under load (in
the ten seconds of an overload and the one after; with stalls, always) than on the steady server of the same policy.
<b>age_growth</b> is the same since the begin of the tick, so it includes the longer computation. <b>hitches</b> are
as in experiment playout, outages included; <b>injected</b> are the stalls, <b>beyond</b> are the hitches besides
those and besides those of the steady server's rows. <b>rush_share</b> is the share of time in which the drawn world
runs more than 1.25 times as fast as it should. <b>ticks_lost</b> is how many of the nominal ticks are missing, on
average over the runs: what is not lost under overload is run in a rush after it.`,
	takes:    byProfile | byPolicy | byRate,
	profiles: []netsim.Profile{netsim.Fiber},
	policies: []string{ours, learnsLateness, "catch-up", "ryzom", "nominal-stamps"},
	rates:    []int{60, 20},
	first:    firstLook{metrics: "delay_growth_ms hitches_per_min beyond_per_min rush_share ticks_lost"},
	run:      runTicks,
}

// The model's load and traffic.
const (
	ticksSend     = 20 // packets a second with records, from every few ticks
	ticksFrame    = time.Second / 60
	ticksSkip     = 20 * time.Second
	steadyLow     = 0.32 // share of a tick's nominal length that it takes
	steadyHigh    = 0.48
	overloadLow   = 1.6
	overloadHigh  = 2.0
	overloadEvery = time.Minute
	overloadFor   = 10 * time.Second
	overloadWake  = time.Second      // after an overload that counts as loaded
	stallEvery    = 20 * time.Second // mean
	stallFor      = 250 * time.Millisecond
	wakeLate      = 500 * time.Microsecond // at most, by which a timer fires late
	ticksOffset   = clock.Time(time.Hour)  // of the client's clock
	rushFrames    = 12                     // over which the speed of the drawn world is taken
	rushPercent   = 125                    // of the nominal speed, above which it rushes
)

// learnsLateness is our server with a client that takes the server's lateness for the path's.
const learnsLateness = "learns-lateness"

// loads are the patterns; the first is what the others are compared with.
var loads = []string{"steady", "overload", "stalls"}

// A beat decides when a server runs its ticks, and for when it announces them.
type beat interface {
	// Due returns how many ticks to run at once.
	Due(now clock.Time) int
	// Stamp returns the server time that is announced for the i-th of them, which begins at now.
	Stamp(i int, tick clock.Tick, now clock.Time) clock.Time
	// Spacing returns the announced length of a tick.
	Spacing() time.Duration
	// Ran records how long each took.
	Ran(d time.Duration)
	// Next returns when to call Due again.
	Next() clock.Time
}

// ourBeat is the server's own.
type ourBeat struct{ clock.Pacer }

func (b *ourBeat) Stamp(i int, _ clock.Tick, _ clock.Time) clock.Time { return b.Planned(i) }

// nominalBeat paces as ours, but dates each tick as if it had run when it should have.
type nominalBeat struct{ ourBeat }

func (b *nominalBeat) Stamp(_ int, tick clock.Tick, _ clock.Time) clock.Time {
	return clock.Time(tick) * clock.Time(b.Step)
}

func (b *nominalBeat) Spacing() time.Duration { return b.Step }

// burstBeat runs every tick that is owed, as soon as it can: the fixed time step of most tutorials.
type burstBeat struct {
	step time.Duration
	next clock.Time
}

func (b *burstBeat) Due(now clock.Time) int {
	if now < b.next {
		return 0
	}
	n := int(now.Sub(b.next)/b.step) + 1
	b.next = b.next.Add(time.Duration(n) * b.step)
	return n
}

func (b *burstBeat) Stamp(_ int, _ clock.Tick, now clock.Time) clock.Time { return now }
func (b *burstBeat) Spacing() time.Duration                               { return b.step }
func (b *burstBeat) Ran(time.Duration)                                    {}
func (b *burstBeat) Next() clock.Time                                     { return b.next }

// ryzomBeat is the tick service of Ryzom Core: a tick begins when every service has answered the
// last, and its length is a quarter of what is wanted and three quarters of the last one's.
type ryzomBeat struct {
	nominal, last time.Duration
	began         clock.Time
	running       bool
}

func (b *ryzomBeat) Due(now clock.Time) int {
	if b.running && now < b.Next() {
		return 0
	}
	b.running, b.began = true, now
	return 1
}

func (b *ryzomBeat) Stamp(_ int, _ clock.Tick, now clock.Time) clock.Time { return now }
func (b *ryzomBeat) Spacing() time.Duration                               { return b.last }
func (b *ryzomBeat) Ran(d time.Duration) {
	b.last = (max(b.nominal, d) + 3*b.last) / 4
}
func (b *ryzomBeat) Next() clock.Time { return b.began.Add(b.last) }

func newBeat(policy string, step time.Duration) beat {
	switch policy {
	case "catch-up":
		return &burstBeat{step: step}
	case "ryzom":
		return &ryzomBeat{nominal: step, last: step}
	case "nominal-stamps":
		return &nominalBeat{ourBeat{clock.Pacer{Step: step}}}
	}
	return &ourBeat{clock.Pacer{Step: step}}
}

// computed is when a tick was: its first instant and when its packet could leave.
type computed struct{ begun, done clock.Time }

// ticksRun is one way to keep time under one pattern of load, and one client.
type ticksRun struct {
	loop  netsim.Loop
	path  *netsim.Path
	beat  beat
	load  string
	step  time.Duration
	every clock.Tick // ticks from packet to packet
	deaf  bool       // the client ignores the server's announced lateness
	rng   geom.Rand
	halts geom.Rand
	stall clock.Time // when the next one begins
	tick  clock.Tick
	ran   []computed // by tick

	play       *playout.Clock
	line       clock.Timeline
	newest     clock.Time // stamp received
	newestTick clock.Tick // newest tick whose records arrived
	shown      clock.Tick // the same, as of the last frame
	drawn      clock.TickFrac
	before     clock.TickFrac // drawn, rushFrames ago
	floor      time.Duration  // of the path, least
	dry        playout.Stall  // nothing newer was there to draw

	res ticksResult
}

// ticksResult is the result of one run, or of several.
type ticksResult struct {
	runs                 int
	minutes              float64
	frames, loaded       int
	delay, age           float64 // ms, sums over all frames
	loadDelay, loadAge   float64 // over those under load
	hitches, stalls, run int
	rush                 int // stretches of rushFrames
	trail                []xy
}

func (a *ticksResult) add(b ticksResult) {
	a.runs, a.minutes, a.frames, a.loaded = a.runs+1, a.minutes+b.minutes, a.frames+b.frames, a.loaded+b.loaded
	a.delay, a.age, a.loadDelay, a.loadAge = a.delay+b.delay, a.age+b.age, a.loadDelay+b.loadDelay,
		a.loadAge+b.loadAge
	a.hitches, a.stalls, a.run, a.rush = a.hitches+b.hitches, a.stalls+b.stalls, a.run+b.run, a.rush+b.rush
}

func playTicks(
	seed uint64, p netsim.Profile, policy, load string, rate int, span time.Duration,
) (ticksResult, error) {
	path, err := netsim.NewPath(seed, p)
	if err != nil {
		return ticksResult{}, err
	}
	play, err := playout.New(playout.Config{Interval: time.Second / ticksSend})
	if err != nil {
		return ticksResult{}, err
	}
	step := time.Second / time.Duration(rate)
	r := &ticksRun{path: path, beat: newBeat(policy, step), load: load, step: step,
		every: clock.Tick(max(rate/ticksSend, 1)),
		deaf:  policy == learnsLateness, rng: geom.NewRand(seed, 96), halts: geom.NewRand(seed, 95),
		ran: make([]computed, 1), play: play, floor: math.MaxInt64}
	r.stall = r.nextStall(0)
	r.loop.At(clock.Time(step), r.wake)
	r.loop.Every(clock.Time(r.rng.IntN(int(ticksFrame))), ticksFrame, r.frame)
	r.loop.Run(clock.Time(ticksSkip))
	r.res.run, r.res.stalls = -int(r.tick), 0
	r.loop.Run(clock.Time(ticksSkip + span))
	r.res.run += int(r.tick)
	r.res.minutes = span.Minutes()
	return r.res, nil
}

// nextStall draws when the stall after t begins.
func (r *ticksRun) nextStall(t clock.Time) clock.Time {
	if r.load != "stalls" {
		return math.MaxInt64
	}
	return t.Add(stallFor + time.Duration(float64(stallEvery)*-geom.Log(1-r.halts.Float64())))
}

// loaded reports whether the load at t is not the steady one.
func (r *ticksRun) loaded(t clock.Time) bool {
	return r.load == "overload" && t%clock.Time(overloadEvery) >= clock.Time(overloadEvery-overloadFor)
}

// after returns when work of d that begins at t is done: while the process stands still, nothing
// is.
func (r *ticksRun) after(t clock.Time, d time.Duration) clock.Time {
	for r.stall <= t.Add(d) {
		d += stallFor
		r.stall = r.nextStall(r.stall)
		r.res.stalls++
	}
	return t.Add(d)
}

// wake is when the server's timer fires.
func (r *ticksRun) wake() {
	now := r.loop.Now()
	r.work(0, r.beat.Due(now), now)
}

// work runs the i-th of n ticks and those after it.
func (r *ticksRun) work(i, n int, now clock.Time) {
	if i >= n {
		sleep := max(r.beat.Next().Sub(now), 0) + time.Duration(r.rng.IntN(int(wakeLate)))
		r.loop.At(r.after(now, sleep), r.wake)
		return
	}
	r.tick++
	tick, stamp, spacing := r.tick, r.beat.Stamp(i, r.tick, now), r.beat.Spacing()
	low, high := steadyLow, steadyHigh
	if r.loaded(now) {
		low, high = overloadLow, overloadHigh
	}
	share := low + float64((high-low)*r.rng.Float64())
	done := r.after(now, time.Duration(float64(share*float64(r.step))))
	r.ran = append(r.ran, computed{now, done})
	r.loop.At(done, func() {
		r.beat.Ran(done.Sub(now))
		if tick%r.every == 0 {
			if at, copies := r.path.Down.Send(done, snapshotBytes(ticksSend)); copies > 0 {
				r.floor = min(r.floor, at[0].Sub(done))
				r.loop.At(at[0], func() { r.arrive(tick, stamp, spacing, done) })
			}
		}
		r.work(i+1, n, done)
	})
}

// arrive applies a packet at the client, as package client does.
func (r *ticksRun) arrive(tick clock.Tick, stamp clock.Time, spacing time.Duration, sent clock.Time) {
	at, hold := r.loop.Now()+ticksOffset, sent.Sub(stamp)
	if t, before, _ := r.line.Newest(); t != 0 && tick > t && !r.deaf {
		longer := time.Duration(r.every) * (max(spacing, hold) - r.step)
		r.play.Paced(at, stamp.Sub(before)-time.Duration(tick-t)*r.step, longer, hold)
	}
	r.line.Update(tick, stamp, spacing)
	r.play.Arrive(at, stamp, false)
	r.newest, r.newestTick = max(r.newest, stamp), max(r.newestTick, tick)
}

// frame is one frame of the client.
func (r *ticksRun) frame() bool {
	now := r.loop.Now()
	t := r.play.Advance(now + ticksOffset)
	if t == 0 {
		return true
	}
	r.drawn = max(min(r.drawn, r.shown.Frac()), r.line.TickAt(t))
	r.shown = r.newestTick
	if now < clock.Time(ticksSkip) {
		return true
	}
	seen := min(r.drawn, r.newestTick.Frac())
	from, to := r.ran[seen.Tick()], r.ran[min(int(seen.Tick())+1, len(r.ran)-1)]
	when := func(a, b clock.Time) float64 {
		return ms(now.Sub(a)-r.floor) - float64(ms(b.Sub(a))*float64(seen.Part()))/clock.FracPerTick
	}
	delay, age := when(from.done, to.done), when(from.begun, to.begun)
	r.res.frames++
	r.res.delay, r.res.age = r.res.delay+delay, r.res.age+age
	if r.load != "overload" || r.loaded(now) || r.loaded(now.Add(-overloadWake)) {
		r.res.loaded++
		r.res.loadDelay, r.res.loadAge = r.res.loadDelay+delay, r.res.loadAge+age
	}
	if t >= r.newest {
		if r.dry.Add(ticksFrame) {
			r.res.hitches++
		}
	} else {
		r.dry.End()
	}
	if r.res.frames%rushFrames == 0 {
		if moved := int64(r.drawn - r.before); r.res.frames > rushFrames &&
			moved*int64(r.step)*100 > int64(rushFrames*ticksFrame)*clock.FracPerTick*rushPercent {
			r.res.rush++
		}
		r.before = r.drawn
		r.res.trail = append(r.res.trail, xy{float64(now) / 1e9, delay})
	}
	return true
}

func runTicks(r *run) error {
	span, seeds := 300*time.Second, r.seeds(6)
	if r.quick {
		span, seeds = 120*time.Second, seeds[:min(2, len(seeds))]
	}
	for _, p := range r.profiles {
		for _, rate := range r.rates {
			n := len(r.chosen) * len(seeds)
			got, err := each(len(loads)*n, func(i int) (ticksResult, error) {
				return playTicks(seeds[i%len(seeds)], p, r.chosen[i%n/len(seeds)], loads[i/n], rate, span)
			})
			if err != nil {
				return err
			}
			steady := make([]ticksResult, len(r.chosen))
			for l, load := range loads {
				var lines []line
				for k, policy := range r.chosen {
					var sum ticksResult
					part := got[l*n+k*len(seeds):][:len(seeds)]
					for _, one := range part {
						sum.add(one)
					}
					if l == 0 {
						steady[k] = sum
					}
					r.emit(Row{r.name, p.Name, policy, r.seed,
						r.params(Value{"load", load}, Value{"seeds", len(seeds)}, Value{"rate_hz", rate},
							Value{"run_s", int(span.Seconds())}),
						sum.metrics(&steady[k], rate)})
					lines = append(lines, line{name: policy, at: part[0].trail})
				}
				if r.drawing && rate == r.rates[0] {
					r.figures = append(r.figures, figure{
						title: fmt.Sprintf("Delay of what is drawn, %s, load %s, %d ticks a second", p.Name, load,
							rate),
						x: "seconds", y: "ms above the floor (600 ms clipped)", lines: lines, clip: 600,
						caption: "How late others are drawn while the server is loaded so.",
					})
				}
			}
		}
	}
	return nil
}

// metrics compares a result with that of the same policy on the steady server.
func (a *ticksResult) metrics(steady *ticksResult, rate int) Values {
	usual, usualAge := steady.delay/float64(steady.frames), steady.age/float64(steady.frames)
	perMinute, injected := float64(a.hitches)/a.minutes, float64(a.stalls)/a.minutes
	return Values{
		{"mean_delay_ms", a.delay / float64(a.frames)},
		{"delay_growth_ms", a.loadDelay/float64(a.loaded) - usual},
		{"age_growth_ms", a.loadAge/float64(a.loaded) - usualAge},
		{"hitches_per_min", perMinute}, {"injected_per_min", injected},
		{"beyond_per_min", perMinute - injected - float64(steady.hitches)/steady.minutes},
		{"rush_share", float64(a.rush*rushFrames) / float64(a.frames)},
		{"ticks_lost", (float64(a.minutes*float64(60*rate)) - float64(a.run)) / float64(a.runs)},
	}
}
