package estimate_test

import (
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/estimate"
	"meanwhile/netcode/playout"
	"meanwhile/netsim"
)

const ms = time.Millisecond

// A whole playout on generated profiles at 20 Hz: its delay above the floor, and its hitches. The
// full experiment, with an oracle and rivals, is the lab's `playout`.
func TestPlayout(t *testing.T) {
	var delay, hitches float64
	profiles := []netsim.Profile{netsim.Fiber, netsim.HotelWiFi, netsim.BurstLoss, netsim.CityLTE, netsim.UrbanLTE,
		netsim.TrainLTE, netsim.EVDO}
	for _, p := range profiles {
		d, h := play(t, p.Down, 300)
		t.Logf("%-6s %3.0f ms %.1f hitches a minute", p.Name, d, h)
		if h > 2.5 {
			t.Errorf("%s: %.1f hitches a minute at %.0f ms", p.Name, h, d)
		}
		delay += d / float64(len(profiles))
		hitches += h / float64(len(profiles))
	}
	if delay > 240 || hitches > 1.2 {
		t.Errorf("in the mean %.0f ms and %.2f hitches a minute", delay, hitches)
	}
	if d, _ := play(t, netsim.Fiber.Down, 300); d > 62 {
		t.Errorf("fiber needs %.0f ms", d)
	}
}

func play(t *testing.T, link netsim.LinkConfig, seconds int) (meanDelay, hitchesPerMinute float64) {
	const interval, step = 50 * ms, 2500 * time.Microsecond
	pipe, err := netsim.NewPipe(1, link)
	if err != nil {
		t.Fatal(err)
	}
	e, err := estimate.New(estimate.Config{Interval: interval})
	if err != nil {
		t.Fatal(err)
	}
	var (
		a             estimate.Ages
		delay         = e.Target()
		stall         playout.Stall
		sum           time.Duration
		steps         int
		felt, hitches int
		sent          []clock.Time
		datagram      = make([]byte, 500)
	)
	for now := clock.Time(0); now < clock.Time(seconds)*1e9; now += clock.Time(step) {
		for next := clock.Time(len(sent)) * clock.Time(interval); next <= now; next += clock.Time(interval) {
			datagram[0], datagram[1] = byte(len(sent)), byte(len(sent)>>8)
			sent = append(sent, next)
			pipe.Push(next, datagram)
		}
		for {
			data, at, ok := pipe.Pop(now)
			if !ok {
				break
			}
			if x, _, counts := a.Arrive(at, sent[int(data[0])|int(data[1])<<8]); counts {
				e.Observe(at, x)
				if x <= estimate.MaxTarget {
					hitches += felt
				}
				felt = 0
			}
		}
		if _, ok := a.Newest(); !ok {
			continue
		}
		age, target := a.Age(now), e.Target()
		if age > delay { // nothing left to play
			if stall.Add(step) {
				felt++
				e.Hitch(1)
			}
			if delay < target {
				delay = min(delay+step, target)
			}
		} else {
			stall.End()
			moved := estimate.PlayoutSlew.Step(delay, target, step)
			if slow := (estimate.Overdue{}).Slow(age, delay, e.Typical(), target); slow > 0 {
				moved = max(moved, delay) + time.Duration(slow*float64(step))
			}
			delay = moved
		}
		sum += delay
		steps++
	}
	return float64(sum) / float64(steps) / 1e6, float64(hitches) * 60 / float64(seconds)
}
