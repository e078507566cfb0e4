package client

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

// A client that has lost all records asks for everything anew, and gets it.
func TestResyncAfterLostBaselines(t *testing.T) {
	k := &sky{referee: func(w *game.World) {
		for gems.Len(w) < 40 {
			gems.Spawn(w, gem{Pos: geom.Vec2{X: w.Rand().Range(-20, 20), Y: w.Rand().Range(-20, 20)}})
		}
	}}
	d := newDuo(t, k.rules(t))
	a, b := d.join(60*ms, Config{}), d.join(20*ms, Config{})
	b.play = func() []int64 { return []int64{3, 3, 0, 0, 0} }
	d.run(4 * time.Second)
	a.c.store = snapshot.NewStore(d.rules.Coders) // as no honest loss could
	a.c.play.store, a.c.refreshed = a.c.store, 0
	d.run(4 * time.Second)
	v := d.s.View(a.id)
	if n, _ := v.Count(); len(a.c.Store().Entities()) != n || n != 42 {
		t.Errorf("holds %d entities of %d 4 s after it lost everything", len(a.c.Store().Entities()), n)
	}
	if v.Resyncs < 1 || v.Resyncs > 4 || a.c.Stats().NoBaseline == 0 || a.c.down.resync {
		t.Errorf("%d resyncs, %d packets without a baseline, still asking: %v", v.Resyncs, a.c.Stats().NoBaseline,
			a.c.down.resync)
	}
	a.corrections = 0
	d.run(2 * time.Second)
	if a.c.Me() != d.s.Avatar(a.id) || a.corrections > 0 {
		t.Errorf("avatar %d, %d corrections afterwards", a.c.Me(), a.corrections)
	}
}

// healthy checks that a client plays as it should: commands in time, predictions right, a picture
// of the recent past.
func (p *side) healthy(what string) {
	p.d.t.Helper()
	p.healthyBut(what, 2)
}

// healthyBut is healthy where more ticks may starve.
func (p *side) healthyBut(what string, starved uint64) {
	p.d.t.Helper()
	p.corrections, p.confirmed = 0, 0
	before, _ := p.d.s.Stats(p.id)
	p.d.run(2 * time.Second)
	after, _ := p.d.s.Stats(p.id)
	st := p.c.Stats()
	if n := after.Starved - before.Starved; n > starved || p.corrections > 0 || p.confirmed < 20 {
		p.d.t.Errorf("%s: %d ticks starved, %d of %d predictions corrected", what, n, p.corrections, p.confirmed)
	}
	if age := p.d.s.Tick().Frac() - p.c.Playout(); age < 0 || age > 20*clock.FracPerTick {
		p.d.t.Errorf("%s: draws %.1f ticks ago", what, float64(age)/clock.FracPerTick)
	}
	if st.Lead > 400*time.Millisecond || st.Delay > 500*time.Millisecond {
		p.d.t.Errorf("%s: lead %v, delay %v", what, st.Lead, st.Delay)
	}
	if off := int64(p.c.ServerTime(p.d.now+p.offset) - p.d.now); math.Abs(float64(off)) > 5e6 {
		p.d.t.Errorf("%s: its idea of server time is off by %v", what, time.Duration(off))
	}
}

// After a pause, of a tab, a machine or a debugger, a client is back at once: no burst of old
// commands, no replay without an end.
func TestPauses(t *testing.T) {
	for _, pause := range []time.Duration{300 * time.Millisecond, 2 * time.Second, 30 * time.Second} {
		for _, away := range []bool{false, true} {
			d := newDuo(t, new(sky).rules(t))
			a, _ := d.join(50*ms, Config{}), d.join(20*ms, Config{})
			d.run(4 * time.Second)
			if away {
				a.c.SetAway(true)
				d.run(100 * time.Millisecond)
			}
			a.paused = true
			d.run(pause)
			a.paused = false
			a.c.SetAway(false)
			sent := a.c.Stats().Sent
			most := 0
			a.frame = func() { most = max(most, int(a.c.Stats().Prediction.Replayed)) }
			replayed := a.c.Stats().Prediction.Replayed
			d.run(time.Second)
			a.frame = nil
			if n := a.c.Stats().Prediction.Replayed - replayed; n > 400 {
				t.Errorf("pause of %v: %d ticks were run again", pause, n)
			}
			if n := a.c.Stats().Sent - sent; n > 70 {
				t.Errorf("pause of %v: %d packets in the second after it", pause, n)
			}
			a.healthy(fmt.Sprintf("a pause of %v, away %v", pause, away))
		}
	}
}

// After a hang a client applies no more than its next datagram acknowledges: the server would count
// the rest as lost, and judge shots without it.
func TestHangAppliesWhatItAcknowledges(t *testing.T) {
	d := newDuo(t, new(sky).rules(t))
	a := d.join(20*ms, Config{})
	d.run(2 * time.Second)
	a.paused = true
	d.run(20 * time.Second)
	before := a.c.Stats()
	a.paused = false
	d.run(20 * time.Millisecond)
	st := a.c.Stats()
	if n := st.Received - before.Received; st.InboxDropped == 0 || n > wire.Window+2 {
		t.Errorf("%d packets were applied at once, %d were dropped", n, st.InboxDropped)
	}
}

// A clock that is set by seconds, either way, is noticed and followed.
func TestClockSteps(t *testing.T) {
	for _, step := range []clock.Time{2000 * ms, -2000 * ms, 100_000 * ms, -100_000 * ms} {
		d := newDuo(t, new(sky).rules(t))
		a, _ := d.join(50*ms, Config{}), d.join(20*ms, Config{})
		d.run(5 * time.Second)
		a.offset += step
		d.run(2 * time.Second)
		a.healthy(fmt.Sprintf("a step of %v", time.Duration(step)))
	}
}

// A clock that is set by less than clock.StepLimit is followed by running faster or slower for
// seconds. What seems to take less than no time meanwhile teaches the lead nothing: later commands
// come in time, also if the player stood still in between, so that nothing else was learned.
func TestSmallClockSteps(t *testing.T) {
	for _, step := range []clock.Time{230 * ms, -230 * ms} {
		d := newDuo(t, new(sky).rules(t))
		a, _ := d.join(1*ms, Config{}), d.join(20*ms, Config{})
		moves := true
		a.play = func() []int64 {
			if !moves {
				return make([]int64, 5)
			}
			return []int64{int64(d.now/(200*ms)%15) - 7, 3, 0, 0, 0}
		}
		d.run(5 * time.Second)
		a.offset += step
		d.run(600 * time.Millisecond)
		moves = false
		d.run(4 * time.Second)
		moves = true
		before, _ := d.s.Stats(a.id)
		d.run(10 * time.Second)
		after, _ := d.s.Stats(a.id)
		if n := after.Starved - before.Starved; n > 2 {
			t.Errorf("a step of %v: %d ticks starved, the lead is %v", time.Duration(step), n, a.c.Stats().Lead)
		}
		a.healthy(fmt.Sprintf("a step of %v", time.Duration(step)))
	}
}

// While nobody looks, commands are neutral, and that is no starvation.
func TestAway(t *testing.T) {
	d := newDuo(t, new(sky).rules(t))
	p := d.join(30*ms, Config{})
	p.play = func() []int64 { return []int64{15, 0, 0, 1, 1} }
	d.run(3 * time.Second)
	p.c.SetAway(true)
	d.run(time.Second)
	x := pilots.Get(d.s.World(), p.c.Me()).Pos.X
	before, _ := d.s.Stats(p.id)
	p.paused = true
	d.run(5 * time.Second)
	after, _ := d.s.Stats(p.id)
	if now := pilots.Get(d.s.World(), p.c.Me()).Pos.X; now != x || after.Starved != before.Starved {
		t.Errorf("away: moved from %v to %v, %d ticks starved", x, now, after.Starved-before.Starved)
	}
}

// A hidden tab runs a frame a second, if any: its player stands still and starves nobody, the
// server sends it little, and what is learned of the path is not spoiled. On return the picture is
// where it should be within a moment, each thing at its newest, and no commands are made up for.
func TestHiddenAndBack(t *testing.T) {
	for _, hidden := range []time.Duration{3 * time.Second, 40 * time.Second} {
		d := newDuo(t, new(sky).rules(t))
		a, _ := d.join(40*ms, Config{}), d.join(20*ms, Config{})
		d.run(6 * time.Second)
		usual := a.c.Stats()
		a.c.SetAway(true)
		d.run(300 * time.Millisecond) // a page says so before its frames stop
		a.fps = 1
		a.next = d.now + 1000*ms
		d.run(2 * time.Second)
		x := pilots.Get(d.s.World(), a.c.Me()).Pos
		before, _ := d.s.Stats(a.id)
		d.run(hidden)
		after, _ := d.s.Stats(a.id)
		if n := after.Sent - before.Sent; n > uint64(hidden/time.Second)+2 {
			t.Errorf("hidden for %v: %d packets were sent to it", hidden, n)
		}
		if y := pilots.Get(d.s.World(), a.c.Me()).Pos; x != y || after.Starved != before.Starved {
			t.Errorf("hidden for %v: moved from %v to %v, starved %d ticks", hidden, x, y, after.Starved-before.Starved)
		}
		a.c.SetAway(false)
		a.fps, a.next = 60, d.now
		made, at := a.c.CommandTick(), d.s.Tick()
		hitches := a.c.Stats().Hitches
		most := 0
		a.frame = func() {
			n := int(a.c.CommandTick() - made)
			made = a.c.CommandTick()
			if d.s.Tick() > at+1 {
				most = max(most, n)
			}
		}
		d.run(400 * time.Millisecond)
		if st := a.c.Stats(); st.Age > 150*time.Millisecond || st.Delay > usual.Delay+100*time.Millisecond ||
			st.Lead > usual.Lead+60*time.Millisecond {
			t.Errorf("0.4 s after %v: newest state %v old, drawn %v behind (%v before), commands %v ahead (%v before)",
				hidden, st.Age, st.Delay, usual.Delay, st.Lead, usual.Lead)
		}
		if most > MaxTicks {
			t.Errorf("after %v: %d commands in one frame", hidden, most)
		}
		d.run(3 * time.Second)
		if st := a.c.Stats(); st.Hitches > hitches+1 || st.DelayTarget > usual.DelayTarget+40*time.Millisecond {
			t.Errorf("after %v: %d hitches, delay %v above the floor aimed at, %v before", hidden, st.Hitches-hitches,
				st.DelayTarget, usual.DelayTarget)
		}
		a.healthy("after a hidden tab")
	}
}

// A fast path on which no answers come is not given up: there commands flow on, and hardly a tick
// starves. Waiting for the answers would starve the avatar whenever the way down stands still.
func TestUnansweredFlowsOn(t *testing.T) {
	d := newDuo(t, (&sky{rate: 60}).rules(t))
	p := d.join(40*ms, Config{})
	var mute bool
	var last, gap clock.Time
	p.path = func(up bool) []clock.Time {
		switch {
		case up:
			if mute {
				gap = max(gap, d.now-last)
			}
			last = d.now
		case mute:
			return nil
		}
		return []clock.Time{0}
	}
	d.run(20 * time.Second)
	before, _ := d.s.Stats(p.id)
	mute = true
	d.run(1500 * time.Millisecond)
	after, _ := d.s.Stats(p.id)
	t.Logf("longest gap %v, %d of 90 ticks starved", time.Duration(gap), after.Starved-before.Starved)
	if most := clock.Time(probeAfter) + 18*ms; gap > most || after.Starved-before.Starved > 6 {
		t.Errorf("without answers for 1.5 s: a gap of %v, at most %v is right, and %d of 90 ticks starved",
			time.Duration(gap), time.Duration(most), after.Starved-before.Starved)
	}
}

// A server that sends two datagrams in one tick, or one of tick 0, is not misunderstood: the second
// is refused, and the match goes on.
func TestOneDatagramATick(t *testing.T) {
	d := newDuo(t, new(sky).rules(t))
	p := d.join(20*ms, Config{})
	d.run(6 * time.Second) // until ticks do not fit the low bits
	for len(p.down) == 0 {
		d.run(time.Millisecond)
	}
	held := p.down[0].data
	d.run(100 * time.Millisecond)
	before := p.c.Stats()
	for i, tick := range []uint32{0, 1} {
		h := wire.Header{Server: true, Seq: wire.SeqOf(held) + 1000 + wire.Seq(i), Tick: p.c.down.newestTick}
		h.Tick *= clock.Tick(tick)
		var w wire.BitWriter
		w.Reset(nil)
		h.Append(&w, wire.Known{})
		p.c.Receive(d.now+p.offset, append(w.Bytes(), 0, 0, 0, 0))
	}
	d.run(time.Second)
	if st := p.c.Stats(); st.Malformed != before.Malformed+2 || st.Received < before.Received+20 {
		t.Errorf("%d refused, %d received", st.Malformed-before.Malformed, st.Received-before.Received)
	}
}

// A datagram whose records are sound and whose reliable section is not is refused whole, so that a
// client holds nothing that it does not acknowledge.
func TestUnsoundLaneTakesNothingIn(t *testing.T) {
	d := newDuo(t, new(sky).rules(t))
	p := d.join(20*ms, Config{})
	d.run(time.Second)
	refused := 0
	for range 40 {
		for len(p.down) == 0 {
			d.run(time.Millisecond)
		}
		last := &p.down[len(p.down)-1]
		sound, seen := p.c.Stats(), holdings(p.c)
		p.c.Receive(d.now+p.offset, append(slices.Clone(last.data), 0xff, 0xff, 0xff))
		p.c.Frame(d.now + p.offset)
		st, now := p.c.Stats(), holdings(p.c)
		if st.Malformed == sound.Malformed { // it had a reliable section of its own, and these bytes lie behind that
			continue
		}
		refused++
		if st.Received != sound.Received || !slices.Equal(seen, now) {
			t.Fatalf("packet %d: the client holds\n%v\nof a datagram that it refused; before\n%v",
				wire.SeqOf(last.data), now, seen)
		}
		d.run(60 * time.Millisecond) // the sound one arrives
	}
	if st := p.c.Stats(); refused < 20 || st.Received < 40 {
		t.Errorf("%d of 40 refused, %d received", refused, st.Received)
	}
}

// holdings lists the ticks of all states that a client holds.
func holdings(c *Client) (list []clock.Tick) {
	for _, e := range c.store.Entities() {
		for g := range e.Groups {
			if s := e.Groups[g].Newest(); s != nil {
				list = append(list, s.Tick)
			}
		}
	}
	return list
}
