package snapshot

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/wire"
)

// plainKnown is what known says in fewer bytes.
type plainKnown struct {
	acked, prior, last, before clock.Tick
	vague, lost                bool
	level, priorLevel          uint8
	lastLevel, bound           uint8
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
		r.agreed = k.last == k.acked || k.before == k.acked && now-k.last < wire.AgreedTicks
	}
	return r
}

// What is kept in few bytes says the same as ticks written out, whatever is said, acknowledged, lost or forgotten, and however long nothing happens in
// between: a tick, as long as a reference counts, as long as sixteen bits last, a day. Slots come and go meanwhile.
func TestKnown(t *testing.T) {
	waits := []int{1, 1, 1, 2, 3, priorTicks - 1, priorTicks, priorTicks + 1, 200, 1<<16 - 3, 1<<16 - 2, 1<<16 - 1, 1 << 16, 1<<16 + 1, 5_184_000}
	rapid.Check(t, func(t *rapid.T) {
		v := NewView(NewHistory(codec.All(kinds(t)...)))
		var slots [5]slot
		var plain [5][8]plainKnown
		var said [5][8][]clock.Tick // not acknowledged
		var units [5]int
		now := clock.Tick(1)
		fill := func(i int) {
			units[i] = rapid.IntRange(1, 8).Draw(t, "units")
			v.occupy(&slots[i], units[i])
			plain[i], said[i] = [8]plainKnown{}, [8][]clock.Tick{}
		}
		for i := range slots {
			v.slots = grown(v.slots, 1)
			fill(i)
		}
		pick := func(t *rapid.T) (i, u, unit int) {
			i = rapid.IntRange(0, len(slots)-1).Draw(t, "slot")
			u = rapid.IntRange(0, units[i]-1).Draw(t, "group")
			return i, u, int(slots[i].at) + u
		}
		t.Repeat(map[string]func(*rapid.T){
			"wait": func(t *rapid.T) { now += clock.Tick(rapid.SampledFrom(waits).Draw(t, "ticks")) },
			"say": func(t *rapid.T) {
				i, u, unit := pick(t)
				level := uint8(rapid.IntRange(0, 3).Draw(t, "level"))
				if k := &plain[i][u]; k.last != now { // once in a tick
					v.say(unit, now, level)
					k.last, k.before, k.lastLevel, k.lost = now, k.last, level, false
					said[i][u] = append(said[i][u], now)
				}
			},
			"ack": func(t *rapid.T) {
				i, u, unit := pick(t)
				if open := said[i][u]; len(open) > 0 {
					n := rapid.IntRange(0, len(open)-1).Draw(t, "which")
					tick := open[n]
					level, bound := uint8(rapid.IntRange(0, 3).Draw(t, "level")), uint8(rapid.IntRange(0, 15).Draw(t, "bound"))
					k := &plain[i][u]
					if tick == k.acked {
						return
					}
					if newer := v.holds(unit, tick, level, bound); newer != (tick > k.acked) {
						t.Fatalf("tick %d is newer than %d: %v", tick, k.acked, newer)
					}
					switch {
					case tick > k.acked:
						k.prior, k.priorLevel, k.acked, k.level, k.bound = k.acked, k.level, tick, level, bound
					case tick > k.prior:
						k.prior, k.priorLevel = tick, level
					}
				}
			},
			"lose": func(t *rapid.T) {
				i, u, unit := pick(t)
				if k := &plain[i][u]; k.last > k.acked {
					k.lost = true
					v.known[unit].flags |= isLost
				}
			},
			"reset": func(t *rapid.T) {
				i, u, unit := pick(t)
				v.reset(unit)
				plain[i][u], said[i][u] = plainKnown{vague: true}, nil
			},
			"empty": func(t *rapid.T) {
				i, _, _ := pick(t)
				v.slots[i] = slots[i]
				v.empty(uint16(i))
				fill(i)
			},
			"": func(t *rapid.T) {
				for i := range slots {
					if from, to := v.units(&slots[i]); to-from != units[i] {
						t.Fatalf("slot %d has %d units, want %d", i, to-from, units[i])
					}
					for u := range units[i] {
						unit := int(slots[i].at) + u
						k, want := &v.known[unit], &plain[i][u]
						r, plain := v.ref(unit, now), want.ref(now)
						far := want.last-want.before > priorTicks // there it may take what is so for not so
						if far && !r.agreed {
							plain.agreed = false
						}
						if v.acked(unit) != want.acked || k.said() != want.last || r != plain || k.lost() != want.lost {
							t.Fatalf("tick %d: %d acknowledged, %d said, %+v; want %+v, %+v", now, v.acked(unit), k.said(), r, want, plain)
						}
						sent := want.lastLevel
						if want.lost {
							sent = want.level
						}
						if k.level() != want.level || r.prior != 0 && k.priorLevel() != want.priorLevel || k.sentLevel() != sent || k.bound() != want.bound {
							t.Fatalf("levels %d %d %d, bound %d, want %+v", k.level(), k.priorLevel(), k.sentLevel(), k.bound(), want)
						}
						if only := want.before != 0 && want.before == want.acked; k.only() != only && (k.only() || !far) {
							t.Fatalf("acknowledged is what was said last but one: %v, want %+v", k.only(), want)
						}
					}
				}
				if len(v.known) > 5*36 {
					t.Fatalf("room for %d groups", len(v.known))
				}
			},
		})
	})
}

// Entities are found by their index, whichever came and went before.
func TestFind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(t)
		p.begin()
		for range Slots + 20 {
			p.spawn(gemKind, false)
		}
		p.record()
		in := map[int32]bool{}
		check := func() {
			for i := range int32(Slots + 20) {
				n, ok := p.v.find(i)
				if ok != in[i] || ok && p.v.slots[n].ent != i {
					t.Fatalf("entity %d is in slot %d: %v, want %v", i, n, ok, in[i])
				}
			}
			if n, _ := p.v.Count(); n != len(in) {
				t.Fatalf("%d entities, want %d", n, len(in))
			}
		}
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			from, step := rapid.IntRange(0, Slots).Draw(t, "from"), rapid.IntRange(1, 7).Draw(t, "step")
			leave := rapid.Bool().Draw(t, "leave")
			for n := range rapid.IntRange(0, Slots+20).Draw(t, "many") {
				i := int32((from + n*step) % (Slots + 20))
				if leave {
					p.v.Leave(i)
					delete(in, i)
				} else if p.v.Enter(i, false) {
					in[i] = true
				} else if len(in) < Slots {
					t.Fatalf("no slot for entity %d beside %d", i, len(in))
				}
			}
			check()
		}
	})
}

// What the log notes of entries comes back as it was.
func TestEntryLog(t *testing.T) {
	type based struct {
		age          clock.Tick
		level, bound uint8
	}
	rapid.Check(t, func(t *rapid.T) {
		var w logWriter
		var want []logEntry
		var bases []based
		w.begin(nil)
		for slot, runs := -1, 0; ; {
			slot += 1 + rapid.OneOf(rapid.IntRange(0, 10), rapid.IntRange(0, 600)).Draw(t, "gap")
			if slot >= Slots || len(want) > 50+50*runs {
				if slot, runs = -1, runs+1; runs < 2 {
					continue
				}
				break
			}
			e := logEntry{slot: uint16(slot), level: uint8(rapid.IntRange(0, 3).Draw(t, "level")), bound: uint8(rapid.IntRange(0, 15).Draw(t, "bound"))}
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				e.gone = true
			case 1:
				e.gone, e.groups = true, uint32(rapid.IntRange(1, 15).Draw(t, "groups"))
			case 2:
				e.groups = 1 << OwnerGroup
			default:
				e.groups = uint32(rapid.SampledFrom([]int{1, 1, 1, 2, 3, 15}).Draw(t, "groups"))
			}
			e.based = !e.gone && rapid.Bool().Draw(t, "based")
			w.put(e)
			want = append(want, e)
			for set := e.groups; e.based && set != 0; set &= set - 1 {
				b := based{clock.Tick(rapid.Uint32().Draw(t, "age")), e.level, e.bound}
				if rapid.Bool().Draw(t, "other") {
					b.level, b.bound = uint8(rapid.IntRange(0, 3).Draw(t, "level")), uint8(rapid.IntRange(0, 15).Draw(t, "bound"))
				}
				w.base(&e, b.age, b.level, b.bound)
				bases = append(bases, b)
			}
		}
		skip := rapid.Bool().Draw(t, "skip")
		var r logReader
		n := 0
		for r.begin(w.b); r.next(); n++ {
			if n >= len(want) || r.logEntry != want[n] {
				t.Fatalf("entry %d is %+v, want %+v", n, r.logEntry, want[n])
			}
			for r.bases > 0 && !skip {
				if age, level, bound := r.base(); (based{age, level, bound}) != bases[0] {
					t.Fatalf("based on %d %d %d, want %+v", age, level, bound, bases[0])
				}
				bases = bases[1:]
			}
		}
		if n != len(want) {
			t.Fatalf("%d entries, want %d", n, len(want))
		}
	})
}

// What was said counts as unanswered for as long as the caller says, to a millisecond, how often whatever is said and however long nothing is.
func TestLate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := NewView(NewHistory(nil))
		wait := time.Duration(rapid.IntRange(50, 1000).Draw(t, "rto")) * time.Millisecond
		type said struct {
			tick clock.Tick
			at   clock.Time
		}
		var all []said
		now, tick := clock.Time(0), clock.Tick(0)
		v.late(now, wait)
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) {},
			"say": func(t *rapid.T) {
				for range rapid.IntRange(1, 30).Draw(t, "packets") {
					tick++
					now += clock.Time(rapid.SampledFrom([]int{16, 33, 50, 1000, 40_000}).Draw(t, "ms")) * clock.Time(time.Millisecond)
					v.speaks(tick, 0, now)
					all = append(all, said{tick, now})
				}
			},
			"look": func(t *rapid.T) {
				now += clock.Time(rapid.SampledFrom([]int{0, 10, 300, 2000}).Draw(t, "ms")) * clock.Time(time.Millisecond)
				late := v.late(now, wait)
				for i, s := range all {
					want := uint32(now>>msB)-uint32(s.at>>msB) > uint32(wait>>msB)
					if got := s.tick <= late; got != want && len(all)-i <= mostSaid {
						t.Fatalf("%v after tick %d it is late: %v, want %v", now.Sub(s.at), s.tick, got, want)
					}
				}
			},
		})
	})
}
