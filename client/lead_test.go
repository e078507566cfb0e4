package client

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"meanwhile/netcode/clock"
)

// Whatever a server reports, the lead grows by at most a tenth of real time and shrinks by at most
// 3 %; it jumps forward only where it is too short by more than 250 ms, and never back.
func TestLeadMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := NewLead(time.Second/60, false)
		now, tick := clock.Time(0), clock.Tick(0)
		least := time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "least"))
		before := l.Move(16*time.Millisecond, least)
		honest := rapid.Bool().Draw(t, "honest")
		for range 400 {
			dt := time.Duration(rapid.Int64Range(1e6, 5e7).Draw(t, "dt"))
			now += clock.Time(dt)
			tick++
			l.Made(tick, before-time.Duration(rapid.Int64Range(0, 16e6).Draw(t, "lost")))
			if rapid.IntRange(0, 2).Draw(t, "reports") == 0 {
				slack := before - time.Duration(rapid.Int64Range(0, 6e8).Draw(t, "took"))
				if !honest && rapid.IntRange(0, 9).Draw(t, "lies") == 0 {
					slack = time.Duration(rapid.Int64Range(-2e10, 2e10).Draw(t, "slack"))
				}
				l.Feedback(now, tick-min(tick, clock.Tick(rapid.Uint32Range(0, 5).Draw(t, "behind"))), slack)
			}
			after := l.Move(dt, least)
			if moved := after - before; moved < -dt*3/100-1 || moved > dt/10+1 && moved <= leadJump {
				t.Fatalf("in %v the lead moved from %v to %v", dt, before, after)
			}
			before = after
		}
	})
}

// Each command takes 30 ms, every 100th 90 ms: at 60 of them a second that is 36 starved runs a
// minute, worth a longer lead; at one in 2400 it is not. Frames and ticks keep step, so the lead is
// one that frames allow.
func TestLeadIsWorthIt(t *testing.T) {
	const frame = time.Second / 60
	for _, c := range []struct {
		every    int
		from, to time.Duration // of what commands have
	}{{100, 90 * time.Millisecond, 112 * time.Millisecond}, {2400, 30 * time.Millisecond, 54 * time.Millisecond}} {
		l := NewLead(time.Second/60, false)
		ahead := time.Duration(0)
		for i := 1; i <= 60*120; i++ {
			now := clock.Time(i) * clock.Time(frame)
			lead := l.Move(frame, 60*time.Millisecond)
			const phase = 5 * time.Millisecond
			ahead = phase + (lead-phase)/frame*frame
			l.Made(clock.Tick(i), ahead)
			took := 30 * time.Millisecond
			if i%c.every == 0 {
				took = 90 * time.Millisecond
			}
			l.Feedback(now, clock.Tick(i), ahead-took)
		}
		if ahead < c.from || ahead > c.to {
			t.Errorf("one of %d takes 60 ms longer: commands have %v, want %v to %v", c.every, ahead, c.from, c.to)
		}
	}
}

// A screen that shows 15 frames a second makes four commands at once. Five seconds after the start
// the lead bridges such a frame, and no command comes late.
func TestLeadOfSlowScreens(t *testing.T) {
	const tick, transit = time.Second / 60, 12 * time.Millisecond
	for _, frame := range []time.Duration{time.Second / 10, time.Second / 15, time.Second / 20, time.Second / 30} {
		l := NewLead(tick, true)
		var made clock.Tick
		late := 0
		for now := time.Duration(0); now < 20*time.Second; now += frame {
			last := clock.Tick((now + l.Move(frame, 2*transit)) / tick)
			slack := time.Hour
			for made < last {
				made++
				ahead := time.Duration(made)*tick - now
				l.Made(made, ahead)
				if slack = min(slack, ahead-transit); ahead < transit && now > 5*time.Second {
					late++
				}
			}
			if slack != time.Hour {
				l.Feedback(clock.Time(now), made, slack)
			}
		}
		if late > 0 {
			t.Errorf("frames of %v: %d commands came late after five seconds", frame, late)
		}
	}
}

// Commands that were made while ticks were assumed to be half as long do not show how long commands
// take.
func TestLeadRemapped(t *testing.T) {
	l := NewLead(time.Second/60, false)
	const frame = 20 * time.Millisecond
	var now clock.Time
	made := clock.Tick(0)
	report := func(ahead, slack time.Duration) {
		now += clock.Time(frame)
		made++
		l.Made(made, ahead)
		l.Feedback(now, made-min(made, 5), slack)
		l.Move(frame, 40*time.Millisecond)
	}
	for range 500 {
		report(80*time.Millisecond, 40*time.Millisecond)
	}
	before := l.floor[0]
	l.remapped()
	for range 5 { // of those that were under way
		report(130*time.Millisecond, 140*time.Millisecond)
	}
	for range 500 {
		report(130*time.Millisecond, 90*time.Millisecond)
	}
	if l.floor[0] != before || before != 40*time.Millisecond {
		t.Errorf("the least that a command took was %v, then %v, want 40 ms", before, l.floor[0])
	}
}

func TestLeadAllocs(t *testing.T) {
	l := NewLead(time.Second/60, false)
	tick := clock.Tick(0)
	if n := testing.AllocsPerRun(1000, func() {
		tick++
		l.Made(tick, l.Move(16*time.Millisecond, 50*time.Millisecond))
		l.Feedback(clock.Time(tick)*16e6, tick, 10*time.Millisecond)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Commands share a packet where the wait is a small part of what they have above the floor, and
// about 30 packets a second remain; presses that are sent twice do not wait.
func TestCommandsSharePackets(t *testing.T) {
	const at60, at30, at128 = time.Second / 60, time.Second / 30, time.Second / 128
	for _, c := range []struct {
		name          string
		period        time.Duration
		shared        bool
		target        time.Duration // what commands have above the floor
		before, every clock.Tick
	}{
		{"a good path", at60, true, 20 * time.Millisecond, 1, 1},
		{"just below twelve ticks", at60, true, 199 * time.Millisecond, 1, 1},
		{"twelve ticks", at60, true, 200 * time.Millisecond, 1, 2},
		{"back to ten", at60, true, 167 * time.Millisecond, 2, 2},
		{"below ten", at60, true, 166 * time.Millisecond, 2, 1},
		{"very long", at60, true, 600 * time.Millisecond, 1, 2},
		{"long ticks", at30, true, 600 * time.Millisecond, 1, 1},
		{"short ticks", at128, true, 190 * time.Millisecond, 1, 3}, // two of them wait 15.6 ms, a twelfth of 188
		{"short ticks, very long", at128, true, 600 * time.Millisecond, 1, 4},
		{"a rate that was asked for", at60, false, 600 * time.Millisecond, 1, 1},
	} {
		l := NewLead(c.period, c.shared)
		l.target, l.every = c.target, c.before
		if l.share(); l.Every() != c.every {
			t.Errorf("%s: %d share a packet, want %d", c.name, l.Every(), c.every)
		}
	}

	l := NewLead(at60, true)
	l.target, l.every = 600*time.Millisecond, 2
	if l.noteSentAgain(); !l.pressing() {
		t.Error("a press that was sent twice is forgotten at once")
	}
	if l.share(); l.Every() != 1 {
		t.Error("presses wait for other commands")
	}
	if l.age += leadPressFor; l.pressing() {
		t.Errorf("a press counts after %v", leadPressFor)
	}

	// That they wait for each other is not taken for a slow path, but makes the lead longer.
	l = NewLead(at60, true)
	l.every = 2
	l.target = 300 * time.Millisecond
	for tick := clock.Tick(1); tick <= 100; tick++ { // so few that it chooses nothing yet
		l.Made(tick, 400*time.Millisecond)
		if tick%2 == 0 { // both arrive 100 ms later
			l.Feedback(clock.Time(tick)*clock.Time(at60), tick, 300*time.Millisecond-at60)
		}
	}
	if floor := l.floor[0]; floor != 100*time.Millisecond {
		t.Errorf("commands are thought to take at least %v, want 100 ms", floor)
	}
	l.target = 300 * time.Millisecond
	if got, want := l.Move(0, 0), 400*time.Millisecond+at60; got != want {
		t.Errorf("a lead of %v, want %v", got, want)
	}
}
