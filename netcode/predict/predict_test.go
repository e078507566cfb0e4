package predict

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
)

// walk is a state that remembers every command that led to it.
type walk struct {
	hash   uint64 // of all that happened
	crouch int    // kept: the server does not send it
}

type step struct {
	tick clock.Tick
	dx   uint64
	duck int
}

// path is the model of the tests. Its Run counts first runs.
type path struct {
	firsts map[clock.Tick]int
	runs   int
}

func (m *path) Copy(dst, src *walk)               { *dst = *src }
func (m *path) Same(server, predicted *walk) bool { return server.hash == predicted.hash }
func (m *path) Adopt(dst, server, predicted *walk) {
	*dst = walk{hash: server.hash, crouch: predicted.crouch}
}
func (m *path) Repeat(t clock.Tick, dst, src *step) { *dst = step{tick: t, dx: src.dx} }
func (m *path) Run(t clock.Tick, c *step, s *walk, replay bool) {
	m.runs++
	if !replay {
		m.firsts[t]++
	}
	next(t, c, s)
}

func next(t clock.Tick, c *step, s *walk) {
	r := geom.NewRand(s.hash, uint64(t), c.dx)
	s.hash = r.Uint64()
	s.crouch += c.duck
}

func newPath() (*Predictor[walk, step], *path) {
	m := &path{firsts: map[clock.Tick]int{}}
	return New[walk, step](m), m
}

// Against a naive model under loss, reordering, duplicates, a wrong world and skipped ticks: the
// state is always what a direct run from the newest confirmed state gives, nothing moves the player
// back, first runs are first and once.
//
// seeds: P4 P5
func TestAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, m := newPath()
		cmds := map[clock.Tick]step{} // as the server would run them
		truth := map[clock.Tick]walk{1: {hash: 1}}
		newest := clock.Tick(1) // of truth
		var confirmed, last clock.Tick
		now := clock.Tick(1)
		pushTo := func(to clock.Tick, c step) {
			if last != 0 { // what Push fills in
				for s := last + 1; s < to; s++ {
					cmds[s] = step{tick: s, dx: cmds[last].dx}
				}
			}
			*p.Push(to) = c
			cmds[to], last = c, to
		}
		confirm := func(at clock.Tick) {
			w := truth[at]
			o := p.Confirm(at, &w)
			if stale := at <= confirmed; o.Stale != stale {
				t.Fatalf("tick %d after %d: %+v", at, confirmed, o)
			}
			if o.Replayed > MaxReplay {
				t.Fatalf("%d ticks in one go", o.Replayed)
			}
			confirmed = max(confirmed, at)
			if at > last { // the server was ahead
				cmds[at], last = step{tick: at}, at
			}
		}
		check := func() {
			if p.Base() != confirmed {
				t.Fatalf("base %d, confirmed %d", p.Base(), confirmed)
			}
			if confirmed == 0 {
				return
			}
			if p.Done() == 0 { // only where a command in between is not known
				for s := confirmed + 1; s <= last; s++ {
					if _, ok := cmds[s]; !ok {
						return
					}
				}
				t.Fatalf("stuck at %d although all commands up to %d are there", confirmed, last)
			}
			want := truth[confirmed]
			for s := confirmed + 1; s <= p.Done(); s++ {
				c := cmds[s]
				next(s, &c, &want)
			}
			got := p.State(p.Done())
			if got == nil || got.hash != want.hash {
				t.Fatalf("state after %d is %+v, a direct run from %d gives %+v", p.Done(), got, confirmed, want)
			}
			if p.Debt() != int(last-p.Done()) || p.State(p.Done()+1) != nil {
				t.Fatalf("debt %d at %d of %d", p.Debt(), p.Done(), last)
			}
			for tick, n := range m.firsts {
				if n != 1 {
					t.Fatalf("tick %d ran first %d times", tick, n)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				now = max(now, last) + 1
				if rapid.IntRange(0, 9).Draw(t, "skip") == 0 {
					now += clock.Tick(rapid.IntRange(1, 5).Draw(t, "ticks"))
				}
				pushTo(now, step{tick: now, dx: uint64(rapid.IntRange(0, 3).Draw(t, "move"))})
				p.Catch()
			},
			"serve": func(t *rapid.T) { // the server runs on, sometimes with something of its own
				for range rapid.IntRange(1, 4).Draw(t, "ticks") {
					w := truth[newest]
					newest++
					c := cmds[newest]
					next(newest, &c, &w)
					if rapid.IntRange(0, 5).Draw(t, "push") == 0 {
						w.hash++
					}
					truth[newest] = w
				}
			},
			"confirm": func(t *rapid.T) { // any old or new state, in any order, also twice
				confirm(clock.Tick(rapid.IntRange(max(1, int(newest)-20), int(newest)).Draw(t, "tick")))
			},
			"catch": func(t *rapid.T) { p.Catch() },
			"":      func(t *rapid.T) { check() },
		})
	})
}

// Once a clean server has caught up, whatever went wrong before leaves no trace.
func TestRecoversFromAnything(t *testing.T) {
	p, _ := newPath()
	truth := walk{hash: 9}
	p.Push(1)
	p.Confirm(1, &truth)
	const ahead = 6
	var states []walk
	for tick := clock.Tick(2); tick < 200; tick++ {
		*p.Push(tick) = step{tick: tick, dx: uint64(tick % 3)}
		p.Catch()
		c := step{tick: tick, dx: uint64(tick % 3)}
		next(tick, &c, &truth)
		if tick == 50 || tick == 51 || tick == 90 {
			truth.hash ^= 0xbad
		}
		states = append(states, truth)
		if tick > ahead+1 {
			o := p.Confirm(tick-ahead, &states[tick-2-ahead])
			hit := tick-ahead == 50 || tick-ahead == 51 || tick-ahead == 90
			if o.Corrected != hit || o.Unknown || o.Stale || hit && o.Replayed != ahead {
				t.Errorf("tick %d: %+v", tick-ahead, o)
			}
		}
	}
	for i := range ahead {
		p.Confirm(clock.Tick(194+i), &states[192+i])
	}
	if got := p.State(199); *got != truth {
		t.Errorf("in the end %+v, truth %+v", got, truth)
	}
}

// 50 commands a second and a round trip of 100 ms: a correction runs the 5 commands that are under
// way again, no more.
//
// seeds: B4
func TestReplaysWhatIsUnderWay(t *testing.T) {
	for _, c := range []struct {
		perSecond int
		rttMs     int
		want      int
	}{{50, 100, 5}, {30, 100, 3}, {60, 100, 6}, {60, 250, 15}, {128, 500, 64}} {
		p, _ := newPath()
		under := clock.Tick(c.perSecond * c.rttMs / 1000)
		for tick := clock.Tick(1); tick <= 300; tick++ {
			p.Push(tick)
			if tick <= under {
				continue
			}
			wrong := walk{hash: uint64(tick)}
			if o := p.Confirm(tick-under, &wrong); o.Replayed != c.want {
				t.Fatalf("%d a second at %d ms: %+v at tick %d, want %d replayed", c.perSecond, c.rttMs, o, tick,
					c.want)
			}
		}
	}
}

// A replay of more than MaxReplay ticks is spread, and what is not computed yet is not shown.
func TestDebt(t *testing.T) {
	p, m := newPath()
	first := walk{hash: 1}
	p.Push(1)
	p.Confirm(1, &first)
	for tick := clock.Tick(2); tick <= 201; tick++ {
		p.Push(tick)
		p.Catch()
	}
	wrong := walk{hash: 2}
	if o := p.Confirm(2, &wrong); !o.Corrected || o.Replayed != MaxReplay {
		t.Fatalf("%+v", o)
	}
	if p.Debt() != 201-2-MaxReplay || p.Done() != 2+MaxReplay || p.State(p.Done()) == nil ||
		p.State(p.Done()+1) != nil || p.State(201) != nil {
		t.Fatalf("debt %d, done %d", p.Debt(), p.Done())
	}
	// A new command runs at once, from what is outdated.
	before := p.Drawn(201).hash
	p.Begin(1)
	p.Push(202)
	if n := p.Catch(); n != 2 || p.Newest() != 202 || p.Drawn(202) == nil || p.Drawn(202).hash == before ||
		p.State(202) != nil || p.Done() != 4+MaxReplay {
		t.Fatalf("%d ran again, newest %d, done %d", n, p.Newest(), p.Done())
	}
	// A state from the part that is not computed is news, whatever an outdated prediction said of
	// it.
	stale := p.ring[150].state
	p.Begin(0)
	if o := p.Confirm(150, &stale); !o.Unknown || o.Replayed != 52 || p.Debt() != 0 {
		t.Fatalf("%+v, debt %d", o, p.Debt())
	}
	if n := p.Catch(); n != 0 {
		t.Errorf("%d more", n)
	}
	for tick, n := range m.firsts {
		if n != 1 {
			t.Errorf("tick %d ran first %d times", tick, n)
		}
	}
}

// After a pause longer than the ring there is nothing to go on from until the server speaks, and
// what it said before the pause is not taken for news.
func TestRingOverrun(t *testing.T) {
	for _, gap := range []clock.Tick{RingTicks/2 - 1, RingTicks / 2, RingTicks - 1, RingTicks, RingTicks + 1,
		5 * RingTicks} {
		p, _ := newPath()
		s := walk{hash: 1}
		for tick := clock.Tick(1); tick <= 20; tick++ {
			p.Push(tick)
		}
		p.Confirm(10, &s)
		to := 20 + gap
		p.Push(to)
		for range 20 {
			p.Catch()
		}
		if p.Base() != 10 {
			t.Fatalf("gap %d: base %d", gap, p.Base())
		}
		for _, old := range []clock.Tick{9, 10} {
			if o := p.Confirm(old, &s); !o.Stale {
				t.Errorf("gap %d: tick %d again: %+v", gap, old, o)
			}
		}
		if gap >= RingTicks {
			if o := p.Confirm(to-RingTicks, &s); !o.Stale || p.Command(to) == nil {
				t.Errorf("gap %d: the state of %d was taken: %+v", gap, to-RingTicks, o)
			}
		}
		if gap > RingTicks/2 {
			if p.Done() != 0 || p.Debt() != 0 || p.State(to) != nil || p.State(10) != nil {
				t.Errorf("gap %d: done %d, debt %d", gap, p.Done(), p.Debt())
			}
		} else if p.Done() != to {
			t.Errorf("gap %d: done %d of %d", gap, p.Done(), to)
		}
		wrong := walk{hash: 77}
		if o := p.Confirm(to-3, &wrong); o.Stale || o.Replayed != 3 || p.Done() != to || p.Debt() != 0 {
			t.Errorf("gap %d: back again: %+v, done %d", gap, o, p.Done())
		}
	}
}

// The server runs ahead of a client that stood still: its states are taken over, and later commands
// follow from them.
func TestServerAhead(t *testing.T) {
	p, m := newPath()
	a, b := walk{hash: 5}, walk{hash: 6}
	if o := p.Confirm(40, &a); !o.Unknown || p.Last() != 40 || p.State(40).hash != 5 {
		t.Fatalf("%+v, last %d", o, p.Last())
	}
	if o := p.Confirm(44, &b); !o.Unknown || p.Last() != 44 || p.Done() != 44 {
		t.Fatalf("%+v, last %d", o, p.Last())
	}
	if c := p.Push(44); c == p.Command(44) {
		t.Error("a command of the past was accepted")
	}
	p.Push(45)
	if p.Catch(); p.State(45) == nil || m.runs != 1 {
		t.Errorf("state %v after %d runs", p.State(45), m.runs)
	}
	if p.Command(44) == nil || p.Command(41) != nil || p.Command(0) != nil || p.Command(46) != nil {
		t.Error("commands")
	}
}

// What the server does not send is kept per command: a correction takes it from the prediction of
// that very tick, and the replay carries it on.
//
// seeds: B6
func TestKeptFieldsAreKept(t *testing.T) {
	p, _ := newPath()
	s := walk{hash: 1, crouch: 0}
	p.Push(1)
	p.Confirm(1, &s)
	for tick := clock.Tick(2); tick <= 10; tick++ {
		*p.Push(tick) = step{tick: tick, duck: 1}
		p.Catch()
	}
	server := walk{hash: 99, crouch: -1000} // a value that no server sends
	if o := p.Confirm(5, &server); !o.Corrected {
		t.Fatalf("%+v", o)
	}
	if a, b := p.State(5).crouch, p.State(10).crouch; a != 4 || b != 9 {
		t.Errorf("crouch is %d at tick 5 and %d at tick 10, want 4 and 9", a, b)
	}
	if o := p.Confirm(14, &server); !o.Unknown || p.State(14).crouch != 9 {
		t.Errorf("taken over at tick 14 with crouch %d, want the newest known, 9", p.State(14).crouch)
	}
}

func TestResetForgetsStates(t *testing.T) {
	p, _ := newPath()
	s := walk{hash: 1}
	for tick := clock.Tick(1); tick <= 20; tick++ {
		p.Push(tick)
	}
	p.Confirm(10, &s)
	p.Reset()
	if p.Base() != 0 || p.Done() != 0 || p.Debt() != 0 || p.State(15) != nil || p.Command(15) == nil || p.Last() != 20 {
		t.Error("a Reset leaves something behind")
	}
	if o := p.Confirm(18, &s); !o.Unknown || o.Replayed != 2 || p.State(15) != nil {
		t.Errorf("%+v, state 15 %v", o, p.State(15))
	}
}

func TestSteadyFrameAllocatesNothing(t *testing.T) {
	p, m := newPath()
	m.firsts = map[clock.Tick]int{}
	s := walk{hash: 1}
	p.Push(1)
	p.Confirm(1, &s)
	tick := clock.Tick(1)
	frame := func() {
		tick++
		p.Push(tick)
		p.Catch()
		if tick > 6 {
			s.hash = uint64(tick)
			p.Confirm(tick-5, &s)
		}
	}
	for range 2 * RingTicks {
		frame()
	}
	clear(m.firsts)
	if n := testing.AllocsPerRun(100, frame); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func ExamplePredictor() {
	p := New[walk, step](&path{firsts: map[clock.Tick]int{}})
	welcome := walk{hash: 1}
	p.Push(100)
	p.Confirm(100, &welcome) // where the server says we stand
	for tick := clock.Tick(101); tick <= 105; tick++ {
		*p.Push(tick) = step{tick: tick, dx: 1} // the player's command
		p.Catch()                               // runs at once
	}
	pushed := walk{hash: 7} // somebody pushed us
	o := p.Confirm(102, &pushed)
	fmt.Println("corrected:", o.Corrected, "replayed:", o.Replayed)
	fmt.Println("late answers are ignored:", p.Confirm(101, &welcome).Stale)
	// Output:
	// corrected: true replayed: 3
	// late answers are ignored: true
}
