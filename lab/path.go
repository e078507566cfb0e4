package lab

import (
	"slices"
	"time"

	"meanwhile/client"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/netsim"
	"meanwhile/server"
)

var pathExperiment = &experiment{
	name:  "path",
	about: "how soon a server finds out that a path carries less than the budget, and how full it keeps the path then",
	notes: `One player stands among 200 walkers, of which a real server always has more to send than the budget of
64 kbit/s allows; a real client receives and presses a button now and then. <b>narrows</b> carries 41 kbit/s down,
and 30 from the fortieth second on, with 30 ms each way and a queue of 30 kB. <b>widens</b> carries 30 and then 60.
<b>modem</b> carries 13 kbit/s each way from the beginning, behind 120 ms and 2 kB. <b>settle_s</b> is how long
after the change, or after the first packet, the queue ahead of a packet was last above settled_ms before it stayed
below for three seconds. <b>queue_p50_ms, queue_p99_ms</b> are of the time that packets stand in the queue in the
minutes after that, <b>queue_peak_ms</b> is the longest from the change on. <b>relapses</b> are how often it then
exceeds relapse_ms. <b>utilisation</b> is the share of what the path could carry after settling.`,
	takes:    byProfile,
	profiles: []netsim.Profile{narrows.profile(), widens.profile(), netsim.Modem},
	policies: []string{ours},
	run:      runPaths,
}

const (
	pathBudget  = 8000 // bytes a second
	pathChange  = 40 * time.Second
	pathSettled = 250 * time.Millisecond
	pathRelapse = 400 * time.Millisecond
	pathCalm    = 3 * time.Second
)

// A pathStep is a path down whose capacity changes at pathChange.
type pathStep struct {
	name     string
	from, to int64 // bit/s
}

var (
	narrows = pathStep{"narrows", 41_000, 30_000}
	widens  = pathStep{"widens", 30_000, 60_000}
)

func (s pathStep) profile() netsim.Profile {
	return netsim.Profile{Name: s.name, Down: netsim.LinkConfig{Delay: 30 * time.Millisecond, Rate: s.from},
		Up: netsim.LinkConfig{Delay: 30 * time.Millisecond}}
}

// A pathPacket is one datagram down a path.
type pathPacket struct {
	at     clock.Time    // when it was sent
	waited time.Duration // in the queue
	bits   int           // with overhead
}

// playPath runs server and client over a path, which carries to bit/s down from pathChange on if to
// is not 0.
func playPath(seed uint64, p netsim.Profile, to int64, span time.Duration) (packets []pathPacket, err error) {
	rules, err := crowd(seed)
	if err != nil {
		return nil, err
	}
	srv, err := server.New(rules, server.Config{Seed: seed, Secret: seed, Budget: pathBudget})
	if err != nil {
		return nil, err
	}
	path, err := netsim.NewPath(seed, p)
	if err != nil {
		return nil, err
	}
	id, welcome, err := srv.Connect(0, "eye")
	if err != nil {
		return nil, err
	}
	c, err := client.New(rules, welcome, 0, client.Config{})
	if err != nil {
		return nil, err
	}
	var loop netsim.Loop
	var out server.Outbox
	var sent []clock.Time // of those under way
	arrived := func(at clock.Time, data []byte) {
		cfg, bits := path.Down.Config(), (len(data)+wire.Overhead)*8
		alone := cfg.Delay + time.Duration(bits)*time.Second/time.Duration(cfg.Rate)
		packets = append(packets, pathPacket{sent[0], max(at.Sub(sent[0])-alone, 0), bits})
		sent = sent[1:]
		c.Receive(at, data)
	}
	loop.Every(clock.Time(srv.Period()), srv.Period(), func() bool {
		now := loop.Now()
		srv.Begin(now)
		out.Reset()
		srv.Encode(0, srv.Clients(), &out)
		for i := range out.Len() {
			if _, data := out.At(i); path.Down.Push(now, data) > 0 {
				sent = append(sent, now)
				path.Down.Deliver(&loop, arrived)
			}
		}
		srv.End()
		return true
	})
	frames := 0
	first := time.Duration(1+seed%16) * time.Millisecond // frames have no fixed place between ticks
	loop.Every(clock.Time(first), playoutFrame, func() bool {
		now := loop.Now()
		for range c.Frame(now) {
			press := int64(0)
			if frames++; frames%20 == 0 {
				press = 1
			}
			c.Tick([]int64{press})
		}
		for b := c.Encode(now); b != nil; b = c.Encode(now) {
			if path.Up.Push(now, b) > 0 {
				path.Up.Deliver(&loop, func(at clock.Time, data []byte) { srv.Receive(id, at, data) })
			}
		}
		return true
	})
	if to != 0 {
		loop.At(clock.Time(pathChange), func() {
			p.Down.Rate = to
			if err == nil {
				err = path.Set(p)
			}
		})
	}
	loop.Run(clock.Time(span))
	return packets, err
}

// pathScore is how a path was used after a change.
type pathScore struct {
	settle         float64 // seconds
	p50, p99, peak float64 // milliseconds
	relapses       int
	utilisation    float64
}

// scorePath judges packets sent from change to end, on a path that carries rate bit/s then.
func scorePath(packets []pathPacket, change, end clock.Time, rate int64) (s pathScore) {
	settled := change
	var calm clock.Time // until when nothing waited long
	for _, x := range packets {
		if x.at < change || calm != 0 && x.at >= calm {
			continue
		}
		s.peak = max(s.peak, ms(x.waited))
		if x.waited > pathSettled {
			settled, calm = x.at.Add(x.waited), 0
		} else if x.at.Sub(settled) >= pathCalm {
			break
		}
	}
	s.settle = settled.Sub(change).Seconds()
	var waits []float64
	bits, high := 0, false
	for _, x := range packets {
		if x.at < settled {
			continue
		}
		waits = append(waits, ms(x.waited))
		bits += x.bits
		if x.waited > pathRelapse && !high {
			s.relapses, high = s.relapses+1, true
		}
		high = high && x.waited > pathSettled
	}
	slices.Sort(waits)
	if n := len(waits); n > 0 {
		s.p50, s.p99 = waits[n/2], waits[n*99/100]
		s.utilisation = float64(bits) / (float64(rate) * end.Sub(settled).Seconds())
	}
	return s
}

func runPaths(r *run) error {
	seeds, span := r.seeds(3), pathChange+2*time.Minute
	if r.quick {
		seeds, span = seeds[:1], pathChange+30*time.Second
	}
	for _, p := range r.profiles {
		change, to, rate := clock.Time(0), int64(0), p.Down.Rate
		for _, s := range []pathStep{narrows, widens} {
			if s.name == p.Name {
				change, to, rate = clock.Time(pathChange), s.to, s.to
			}
		}
		if rate == 0 {
			return badUsage("path needs profiles of a fixed capacity: narrows, widens, modem; not %s", p.Name)
		}
		got, err := each(len(seeds), func(i int) (pathScore, error) {
			packets, err := playPath(seeds[i], p, to, span)
			return scorePath(packets, change, clock.Time(span), rate), err
		})
		if err != nil {
			return err
		}
		all := got[0]
		for _, s := range got[1:] {
			all.settle, all.p50, all.p99 = max(all.settle, s.settle), max(all.p50, s.p50), max(all.p99, s.p99)
			all.peak, all.relapses = max(all.peak, s.peak), all.relapses+s.relapses
			all.utilisation = min(all.utilisation, s.utilisation)
		}
		r.emit(Row{r.name, p.Name, ours, r.seed, r.params(Value{"seeds", len(seeds)},
			Value{"budget_kbps", pathBudget * 8 / 1000}, Value{"carries_kbps", int(rate / 1000)}), Values{
			{"settle_s", all.settle}, {"queue_p50_ms", all.p50}, {"queue_p99_ms", all.p99}, {"queue_peak_ms", all.peak},
			{"relapses", all.relapses}, {"utilisation", all.utilisation},
		}})
	}
	return nil
}
