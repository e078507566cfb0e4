package snapshot

import (
	"testing"

	"pgregory.net/rapid"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// plainKnown is a unit of the ledger with its ticks written out.
type plainKnown struct {
	acked, prior, sent, before clock.Tick
	vague, lost                bool
	level, priorLevel          uint8
	sentLevel, bound           uint8
}

func (k *plainKnown) ref(now clock.Tick) ref {
	r := ref{base: k.acked}
	if k.acked == 0 {
		return r
	}
	if k.prior != 0 && now-k.prior <= priorTicks {
		r.prior = k.prior
	}
	if r.agreed = k.prior != 0 || !k.vague; now-k.acked >= wire.AgreedTicks {
		r.agreed = k.sent == k.acked || k.before == k.acked && now-k.sent < wire.AgreedTicks
	}
	return r
}

// plainLedger is a ledger beside one that is written out.
type plainLedger struct {
	ledger
	at    [5]uint16          // pieces
	plain [5][]plainKnown    // their units
	open  [5][8][]clock.Tick // records sent and not acknowledged
	now   clock.Tick
}

func (l *plainLedger) occupyNew(t *rapid.T, i int) {
	n := rapid.IntRange(1, 8).Draw(t, "units")
	l.at[i] = l.occupy(n)
	l.plain[i], l.open[i] = make([]plainKnown, n), [8][]clock.Tick{}
}

// pick draws a unit: number u of piece i.
func (l *plainLedger) pick(t *rapid.T) (i, u, unit int, k *plainKnown) {
	i = rapid.IntRange(0, len(l.at)-1).Draw(t, "piece")
	u = rapid.IntRange(0, len(l.plain[i])-1).Draw(t, "unit")
	return i, u, int(l.at[i]) + u, &l.plain[i][u]
}

func (l *plainLedger) sendOne(t *rapid.T) {
	i, u, unit, k := l.pick(t)
	level := uint8(rapid.IntRange(0, 3).Draw(t, "level"))
	if k.sent == l.now {
		return // at most once in a tick
	}
	l.send(unit, l.now, level)
	k.sent, k.before, k.sentLevel, k.lost = l.now, k.sent, level, false
	l.open[i][u] = append(l.open[i][u], l.now)
}

func (l *plainLedger) ackOne(t *rapid.T) {
	i, u, unit, k := l.pick(t)
	if len(l.open[i][u]) == 0 {
		return
	}
	tick := rapid.SampledFrom(l.open[i][u]).Draw(t, "which")
	level := uint8(rapid.IntRange(0, 3).Draw(t, "level"))
	bound := uint8(rapid.IntRange(0, 15).Draw(t, "bound"))
	if tick == k.acked {
		return
	}
	if newer := l.acknowledge(unit, tick, level, bound); newer != (tick > k.acked) {
		t.Fatalf("tick %d is newer than %d: %v", tick, k.acked, newer)
	}
	switch {
	case tick > k.acked:
		k.prior, k.priorLevel, k.acked, k.level, k.bound = k.acked, k.level, tick, level, bound
	case tick > k.prior:
		k.prior, k.priorLevel = tick, level
	}
}

// check compares a unit with what is written out.
func (l *plainLedger) check(t *rapid.T, unit int, want *plainKnown) {
	k := &l.known[unit]
	r, plain := l.ref(unit, l.now), want.ref(l.now)
	far := want.sent-want.before > priorTicks // then the ledger may not know that it agrees
	if far && !r.agreed {
		plain.agreed = false
	}
	if l.acked(unit) != want.acked || k.sent() != want.sent || r != plain || k.lost() != want.lost {
		t.Fatalf("tick %d: %d acknowledged, %d sent, %+v; want %+v, %+v",
			l.now, l.acked(unit), k.sent(), r, want, plain)
	}
	sent := want.sentLevel
	if want.lost {
		sent = want.level
	}
	if k.level() != want.level || r.prior != 0 && k.priorLevel() != want.priorLevel ||
		k.sentLevel() != sent || k.bound() != want.bound {
		t.Fatalf("levels %d %d %d, bound %d, want %+v",
			k.level(), k.priorLevel(), k.sentLevel(), k.bound(), want)
	}
	before := want.before != 0 && want.before == want.acked
	if k.ackedBefore() != before && (k.ackedBefore() || !far) {
		t.Fatalf("the record sent before the newest is the acknowledged one: %v, want %+v", k.ackedBefore(), want)
	}
	if k.due(l.now) != true || want.sent > 0 && k.due(want.sent-1) != want.lost {
		t.Fatalf("due by tick %d: %v, want %+v", want.sent, k.due(want.sent-1), want)
	}
}

// The ledger says the same as ticks written out, whatever is sent, acknowledged, lost or forgotten,
// and however long nothing happens in between: a tick, as long as a reference counts, as long as
// sixteen bits last, a day. Pieces come and go meanwhile.
func TestLedger(t *testing.T) {
	waits := []int{1, 1, 1, 2, 3, priorTicks - 1, priorTicks, priorTicks + 1, 200,
		1<<16 - 3, 1<<16 - 2, 1<<16 - 1, 1 << 16, 1<<16 + 1, 5_184_000}
	rapid.Check(t, func(t *rapid.T) {
		l := plainLedger{now: 1}
		for i := range l.at {
			l.occupyNew(t, i)
		}
		t.Repeat(map[string]func(*rapid.T){
			"wait": func(t *rapid.T) { l.now += clock.Tick(rapid.SampledFrom(waits).Draw(t, "ticks")) },
			"send": l.sendOne,
			"ack":  l.ackOne,
			"lose": func(t *rapid.T) {
				if _, _, unit, k := l.pick(t); k.sent > k.acked {
					k.lost = true
					l.known[unit].setLost()
				}
			},
			"reset": func(t *rapid.T) {
				i, u, unit, k := l.pick(t)
				l.reset(unit)
				*k, l.open[i][u] = plainKnown{vague: true}, nil
			},
			"release": func(t *rapid.T) {
				i, _, _, _ := l.pick(t)
				l.release(l.at[i])
				l.occupyNew(t, i)
			},
			"": func(t *rapid.T) {
				for i := range l.at {
					from, to := l.piece(l.at[i])
					if from != int(l.at[i]) || to-from != len(l.plain[i]) {
						t.Fatalf("piece %d has %d units, want %d", i, to-from, len(l.plain[i]))
					}
					for u := range l.plain[i] {
						l.check(t, from+u, &l.plain[i][u])
					}
				}
				if len(l.known) > 5*36 || len(l.far) > len(l.known) {
					t.Fatalf("%d units, %d of them far", len(l.known), len(l.far))
				}
			},
		})
	})
}

// Where exactly a record need not name its baseline any more: for the 63 ticks of which a client
// knows what the server knew, and beyond while only one record could be meant.
func TestLedgerAgrees(t *testing.T) {
	const edge = wire.AgreedTicks
	type step struct {
		sent bool
		tick clock.Tick
	}
	send, ack := func(t clock.Tick) step { return step{true, t} }, func(t clock.Tick) step { return step{false, t} }
	two := []step{send(100), ack(100), send(110), ack(110)}
	for _, c := range []struct {
		name  string
		steps []step
		now   clock.Tick
		want  ref
	}{
		{"nothing acknowledged", []step{send(100)}, 101, ref{}},
		{"one acknowledged", two[:2], 101, ref{base: 100, agreed: true}},
		{"two acknowledged", two, 111, ref{base: 110, prior: 100, agreed: true}},
		{"the prior one just counts", two, 100 + edge - 1, ref{base: 110, prior: 100, agreed: true}},
		{"it does not any more", two, 100 + edge, ref{base: 110, agreed: true}},
		{"two under way", append(two, send(120), send(130)), 110 + edge - 1, ref{base: 110, agreed: true}},
		{"two under way, too old", append(two, send(120), send(130)), 110 + edge, ref{base: 110}},
		{"one under way", append(two, send(120)), 120 + edge - 1, ref{base: 110, agreed: true}},
		{"one under way, too old", append(two, send(120)), 120 + edge, ref{base: 110}},
		{"nothing under way, long ago", two, 110 + 1000, ref{base: 110, agreed: true}},
		{"overtaken", []step{send(100), send(110), ack(110), ack(100)}, 111, ref{base: 110, prior: 100, agreed: true}},
	} {
		var l ledger
		unit := int(l.occupy(1))
		for _, s := range c.steps {
			if s.sent {
				l.send(unit, s.tick, 0)
			} else {
				l.acknowledge(unit, s.tick, 0, 0)
			}
		}
		if got := l.ref(unit, c.now); got != c.want {
			t.Errorf("%s: at tick %d %+v, want %+v", c.name, c.now, got, c.want)
		}
	}
}
