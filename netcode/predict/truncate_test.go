package predict

import (
	"testing"

	"meanwhile/netcode/clock"
)

// walked returns a Predictor with commands up to last, whose state after base is confirmed; the
// command of tick t moves by t.
func walked(base, last clock.Tick) (*Predictor[walk, step], *path) {
	p, m := newPath()
	for tick := clock.Tick(1); tick <= last; tick++ {
		*p.Push(tick) = step{tick: tick, dx: uint64(tick)}
		p.Catch()
		if s := (walk{hash: 1}); tick == base {
			p.Confirm(tick, &s)
		}
	}
	return p, m
}

// A clock that is set back forgets what was commanded for later; what is pushed then is run for the
// first time, and leads from the state that is left to where a player would be that had never done
// anything else.
func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		name             string
		base, last, to   clock.Tick
		wantLast, wantOn clock.Tick // newest command; newest state
	}{
		{"to a tick that is computed", 5, 20, 12, 12, 12},
		{"to the confirmed one", 5, 20, 5, 5, 5},
		{"to the newest", 5, 20, 20, 20, 20},
		{"to the future", 5, 20, 30, 20, 20},
		{"before the confirmed one", 5, 20, 4, 4, 0},
	} {
		p, m := walked(c.base, c.last)
		p.Truncate(c.to)
		if p.Last() != c.wantLast || p.Done() != c.wantOn || p.Debt() != 0 || p.Base() != min(c.base, c.wantLast) {
			t.Errorf("%s: last %d, done %d, base %d, debt %d", c.name, p.Last(), p.Done(), p.Base(), p.Debt())
		}
		for tick := clock.Tick(1); tick <= c.last+2; tick++ {
			if cmd := p.Command(tick); (cmd != nil) != (tick <= c.wantLast) || cmd != nil && cmd.dx != uint64(tick) {
				t.Errorf("%s: command of tick %d: %+v", c.name, tick, cmd)
			}
			if s := p.State(tick); (s != nil) != (tick >= c.base && tick <= c.wantOn) {
				t.Errorf("%s: state after tick %d: %+v", c.name, tick, s)
			}
		}
		next, never := p.Last()+1, walk{}
		if c.wantOn > 0 {
			q, _ := walked(c.base, c.wantLast)
			q.Push(next).dx = 99
			q.Catch()
			never = *q.State(next)
		}
		m.firsts[next] = 0
		p.Push(next).dx = 99
		if p.Catch(); c.wantOn == 0 {
			s := walk{hash: 3}
			if p.State(next) != nil || !p.Confirm(c.to, &s).Stale {
				t.Errorf("%s: there is something to go on from", c.name)
			}
			if o := p.Confirm(next, &s); !o.Unknown || p.Done() != next {
				t.Errorf("%s: what the server says next is not taken over: %+v", c.name, o)
			}
		} else if s := p.State(next); s == nil || *s != never || m.firsts[next] != 1 {
			t.Errorf("%s: tick %d leads to %+v, want %+v; %d first runs", c.name, next, s, never, m.firsts[next])
		}
	}
}

// So far back that the ring no longer has it, nothing is left to go on from and the command is what
// the server assumes.
func TestTruncateBeyondTheRing(t *testing.T) {
	p, _ := walked(5, 3*RingTicks)
	p.Truncate(RingTicks)
	if c := p.Command(RingTicks); p.Last() != RingTicks || p.Done() != 0 || p.Base() != 5 || c == nil || c.dx != 0 ||
		p.State(RingTicks) != nil {
		t.Errorf("last %d, done %d, base %d, command %+v", p.Last(), p.Done(), p.Base(), c)
	}
	p.Push(RingTicks + 1)
	s := walk{hash: 7}
	if n := p.Catch(); n != 0 || p.Confirm(RingTicks, &s).Replayed != 1 || p.Done() != RingTicks+1 {
		t.Errorf("%d ticks from nothing, done %d", n, p.Done())
	}
}

// Before the server has spoken nothing runs, the first command invents none before it, and ticks
// that are skipped leave those before them as they were.
func TestPushBeforeAnything(t *testing.T) {
	p, m := newPath()
	p.Push(1)
	p.Push(2)
	if n := p.Catch(); n != 0 || m.runs != 0 || p.State(1) != nil || p.Debt() != 0 {
		t.Errorf("%d ticks ran from nothing", n)
	}
	p, _ = newPath()
	if p.Push(100); p.Command(99) != nil || p.Command(1) != nil {
		t.Error("the first command is not the first")
	}
	p, _ = walked(5, 20)
	p.Push(30)
	for tick := clock.Tick(1); tick < 30; tick++ {
		if c := p.Command(tick); c == nil || c.dx != uint64(min(tick, 20)) || c.tick != tick {
			t.Errorf("command of tick %d: %+v", tick, c)
		}
	}
	if p.State(20) == nil || p.State(21) != nil {
		t.Error("a skip takes states with it, or gives some")
	}
}

// Where the server ran ahead, the command of its tick is the blank one, not that of a tick long ago
// whose place it takes.
func TestServerAheadTakesABlankCommand(t *testing.T) {
	p, _ := walked(5, 20)
	s := walk{hash: 2}
	if o := p.Confirm(RingTicks+10, &s); !o.Unknown || p.Command(RingTicks+10).dx != 0 ||
		p.Command(RingTicks+10).tick != RingTicks+10 {
		t.Errorf("%+v, command %+v", o, p.Command(RingTicks+10))
	}
}
