package lab

import (
	"fmt"
	"math"
	"time"

	"meanwhile/client"
	"meanwhile/clock"
	"meanwhile/geom"
	"meanwhile/lab/rival"
	"meanwhile/netsim"
)

var inputExperiment = &experiment{
	name:     "input",
	about:    "how far ahead of the server a client makes its commands, and how often one still comes too late",
	notes:    ``,
	takes:    byProfile | byPolicy | byTrace,
	profiles: seven,
	policies: inputPolicies(),
	run:      runInput,
}

func inputPolicies() []string {
	p := []string{ours}
	for _, l := range rival.Leads() {
		p = append(p, l.Name)
	}
	return p
}

const (
	inputPeriod  = rival.InputTick
	reportEvery  = 3 // ticks: 20 a second
	reportBytes  = 500
	inputWarmup  = 10 * time.Second
	maxInputs    = 40 // commands in one packet
	maxFrameTick = 8  // commands made in one frame
)

// leader is a policy under test: rival.Lead and, for ours, what it wants to know besides.
type leader interface {
	rival.Lead
}

// ourLead is the client's own.
type ourLead struct {
	l     *client.Lead
	least time.Duration
}

func newOurLead() *ourLead {
	l, err := client.NewLead(client.LeadConfig{})
	if err != nil {
		panic(err) // the defaults are sound
	}
	return &ourLead{l: l}
}

func (o *ourLead) Exchange(x rival.Exchange) {
	rtt := x.T3.Sub(x.T0) - x.T2.Sub(x.T1)
	if o.least == 0 || rtt < o.least {
		o.least = rtt
	}
}

func (o *ourLead) Report(r rival.InputReport) {
	if r.Fresh {
		o.l.Feedback(r.At, r.Slack)
	}
}

func (o *ourLead) Move(dt time.Duration) time.Duration { return o.l.Move(dt, o.least) }

// inputResult is what one policy did on one path.
type inputResult struct {
	lead      float64 // ms above the floor, sum
	made      int
	starved   int // ticks
	events    int // runs of them
	long      int // of them, longer than half a second
	ticks     int
	deviation float64 // sum over frames of |speed - 1|
	frames    int
	trail     []xy
	minutes   float64
}

// commandRecord is what the model knows of the command of one tick.
type commandRecord struct {
	made clock.Time // true time, 0: never
	got  clock.Time // arrival, 0: never
}

type inputPacket struct {
	stamp    clock.Time // local
	from, to clock.Tick
}

type inputDown struct {
	sent          clock.Time
	tick          clock.Tick
	echo          clock.Time // local stamp of the newest packet up
	echoAt        clock.Time // server time of its arrival
	fresh         bool
	slack, newest time.Duration
	starved       int
	acked         clock.Tick
}

func runOneInput(seed uint64, p netsim.Profile, l leader, span time.Duration) (res inputResult, err error) {
	path, err := netsim.NewPath(seed, p)
	if err != nil {
		return res, err
	}
	r := geom.NewRand(seed, 97)
	offset, ppm := clock.Time(r.IntN(int(time.Hour))), clock.Time(r.IntN(101)-50)
	phase := clock.Time(r.IntN(int(inputPeriod)))
	local := func(t clock.Time) clock.Time { return t + offset + t/1_000_000*ppm }
	var loop netsim.Loop
	ticks := int((span + inputWarmup) / inputPeriod)
	cmds := make([]commandRecord, ticks+1000)
	var est clock.Estimator
	out := clock.NewOutput(&est)
	var line clock.Timeline

	// The server.
	tick := clock.Tick(0)
	at := func(t clock.Tick) clock.Time { return clock.Time(t) * clock.Time(inputPeriod) }
	var down inputDown
	var inbox []inputDown
	var inboxAt []clock.Time
	starvedTotal, run := 0, 0
	upSeen := clock.Time(-1)
	receive := func(k inputPacket) {
		now := loop.Now()
		if k.stamp > upSeen {
			upSeen, down.echo, down.echoAt = k.stamp, k.stamp, now
		}
		for t := k.from; t <= k.to && t > 0; t++ {
			c := &cmds[t]
			if c.got != 0 || c.made == 0 {
				continue
			}
			c.got = now
			slack := at(t).Sub(now)
			if !down.fresh || slack < down.slack {
				down.slack = slack
			}
			if t >= down.acked {
				down.acked, down.newest = t, slack
			}
			down.fresh = true
		}
	}
	loop.Every(clock.Time(inputPeriod), inputPeriod, func() bool {
		tick++
		now := loop.Now()
		warm := now >= clock.Time(inputWarmup)
		if got := cmds[tick].got; got == 0 || got > now {
			starvedTotal++
			if warm {
				res.starved++
				if run++; run == 1 {
					res.events++
				}
				if run == int(time.Second/2/inputPeriod) {
					res.long++
				}
			}
		} else {
			run = 0
		}
		if warm {
			res.ticks++
		}
		if tick%reportEvery == 0 {
			d := down
			d.sent, d.tick, d.starved = now, tick, starvedTotal
			down.fresh = false
			arrivals, n := path.Down.Send(now, reportBytes)
			if n > 0 {
				loop.At(arrivals[0], func() { inbox, inboxAt = append(inbox, d), append(inboxAt, loop.Now()) })
			}
		}
		return int(tick) < ticks
	})

	// The client.
	var made, acked, starvedKnown = clock.Tick(0), clock.Tick(0), 0
	var seen clock.Tick
	var before, beforeCmd clock.Time
	var hello int
	loop.Every(phase, inputPeriod, func() bool {
		now := loop.Now()
		here := local(now)
		for i, d := range inbox {
			got := local(inboxAt[i])
			if d.echo != 0 {
				x := rival.Exchange{T0: d.echo, T1: d.echoAt, T2: d.sent, T3: got}
				if seen == 0 {
					est.Seed(got, d.sent)
				}
				est.Receive(got, d.sent.Stamp(), d.echo.Stamp(), d.sent.Sub(d.echoAt).Truncate(time.Microsecond))
				l.Exchange(x)
			}
			line.Update(d.tick, d.sent, inputPeriod)
			if d.tick > seen {
				seen = d.tick
				acked = max(acked, d.acked)
				l.Report(rival.InputReport{At: got, Fresh: d.fresh, Slack: d.slack, Newest: d.newest, Starved: d.starved - starvedKnown})
				starvedKnown = d.starved
			}
		}
		inbox, inboxAt = inbox[:0], inboxAt[:0]
		dt := here.Sub(before)
		warm := now >= clock.Time(inputWarmup)
		if _, known := est.Offset(); known {
			lead := l.Move(dt)
			cmdTime := out.Now(here).Add(lead)
			if warm {
				res.deviation += math.Abs(float64(cmdTime.Sub(beforeCmd))/float64(dt) - 1)
				if res.frames++; res.frames%15 == 0 {
					res.trail = append(res.trail, xy{float64(now) / 1e9, ms(lead - p.Up.Delay)})
				}
			}
			beforeCmd = cmdTime
			if t := line.TickAt(cmdTime).Tick(); t > made {
				if n := t - made; made == 0 || n > maxFrameTick {
					made = t - 1
				}
				for made < t {
					made++
					if int(made) < len(cmds) {
						cmds[made].made = now
						if warm {
							res.lead += ms(at(made).Sub(now) - p.Up.Delay)
							res.made++
						}
					}
				}
			}
		}
		before = here
		k := inputPacket{stamp: here}
		if made > 0 {
			k.from, k.to = max(acked+1, made-min(made-1, maxInputs-1)), made
		} else if hello++; hello%3 != 1 {
			return true
		}
		size := 30
		if k.to >= k.from && k.to > 0 {
			size += 6 * int(k.to-k.from+1)
		}
		arrivals, n := path.Up.Send(now, size)
		if n > 0 {
			loop.At(arrivals[0], func() { receive(k) })
		}
		return true
	})
	loop.Run(clock.Time(span + inputWarmup))
	res.minutes = span.Minutes()
	return res, nil
}

func (a *inputResult) add(b inputResult) {
	a.lead, a.made, a.starved, a.events, a.long, a.ticks = a.lead+b.lead, a.made+b.made, a.starved+b.starved, a.events+b.events, a.long+b.long, a.ticks+b.ticks
	a.deviation, a.frames, a.minutes = a.deviation+b.deviation, a.frames+b.frames, a.minutes+b.minutes
}

func (a *inputResult) metrics() Values {
	return Values{
		{"mean_lead_ms", a.lead / float64(max(a.made, 1))},
		{"starved_per_min", float64(a.events) / a.minutes},
		{"long_per_min", float64(a.long) / a.minutes},
		{"starved_share", float64(a.starved) / float64(max(a.ticks, 1))},
		{"speed_deviation", a.deviation / float64(max(a.frames, 1))},
	}
}

func runInput(r *run) error {
	span, seeds := 300*time.Second, r.seeds(3)
	if r.quick {
		span, seeds = 60*time.Second, seeds[:1]
	}
	makers := map[string]func() leader{ours: func() leader { return newOurLead() }}
	for _, l := range rival.Leads() {
		makers[l.Name] = func() leader { return l.New() }
	}
	for _, p := range r.profiles {
		for _, policy := range r.chosen {
			got, err := each(len(seeds), func(i int) (inputResult, error) {
				return runOneInput(seeds[i], p, makers[policy](), span)
			})
			if err != nil {
				return err
			}
			var sum inputResult
			for _, g := range got {
				sum.add(g)
			}
			r.emit(Row{r.name, p.Name, policy, r.seed, r.params(Value{"seeds", len(seeds)}, Value{"run_s", int(span.Seconds())}), sum.metrics()})
		}
	}
	_ = fmt.Sprint
	return nil
}
