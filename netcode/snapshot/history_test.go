package snapshot

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
)

func kindFor[T any]() (*schema.Kind, error) {
	t := reflect.TypeFor[T]()
	return schema.New(strings.ToLower(t.Name()), t, 30)
}

func TestBegin(t *testing.T) {
	refused := func(name string, h *History, tick clock.Tick) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s: tick %d after %d is taken", name, tick, h.Tick())
			}
		}()
		h.Begin(tick)
	}
	h := NewHistory(codec.All(kinds(t)...))
	refused("no tick", h, 0)
	h.Begin(500) // a world that goes on
	refused("the same", h, 500)
	refused("back", h, 499)
	refused("a gap", h, 502) // the rows between would be read as if they had been written
	h.Begin(501)
}

// What is remembered: the last HistoryTicks of what is there, and of what is gone as long, up to
// its last record.
func TestValues(t *testing.T) {
	p := newPair(t)
	var i int32
	p.rest(10)
	p.begin()
	i = p.spawn(gemKind, true)
	p.record()
	spawned := p.tick
	for range 200 {
		p.begin()
		p.sims[i][x] = int64(p.tick)
		p.record()
	}
	check := func(last clock.Tick) {
		t.Helper()
		for tick := clock.Tick(1); tick < p.tick+10; tick++ {
			want := tick >= spawned && tick <= last && p.tick-tick < HistoryTicks
			vals, ok := p.h.Values(i, 0, tick, nil)
			if ok != want || ok && vals[0] != int64(tick) {
				t.Fatalf("at tick %d: tick %d is %v, %v; want %v", p.tick, tick, vals, ok, want)
			}
			if own, ok := p.h.Values(i, OwnerGroup, tick, nil); ok != want || ok && own[0] != int64(tick) {
				t.Fatalf("at tick %d: the owner's tick %d is %v, %v; want %v", p.tick, tick, own, ok, want)
			}
		}
	}
	check(p.tick)
	last := p.tick
	p.begin()
	p.remove(i) // before it is recorded at this tick
	p.record()
	check(last)
	if p.h.At(i).Alive() {
		t.Error("it is alive")
	}
	if _, ok := p.h.Find(1); ok {
		t.Error("it is found")
	}
	p.h.Remove(i) // twice is once
	p.rest(RewindTicks / 2)
	check(last)
	p.begin()
	j := p.spawn(gemKind, false)
	p.record()
	if j == i {
		t.Fatal("its index was given away while its past can be asked for")
	}
	p.rest(RewindTicks / 2)
	check(last)
	p.begin()
	k := p.spawn(walkerKind, false)
	p.record()
	if k != i {
		t.Errorf("its index %d is not used again: %d", i, k)
	}
	if _, ok := p.h.Values(k, OwnerGroup, p.tick, nil); ok {
		t.Error("what nobody owns has an owner's state")
	}
	if p.h.Len() != 2 {
		t.Errorf("%d indices for two at a time", p.h.Len())
	}
}

func TestPlace(t *testing.T) {
	p := newPair(t)
	p.begin()
	i := p.spawn(gemKind, false) // 1 cm
	p.sims[i][x], p.sims[i][y] = 1234, -5
	p.record()
	if e := p.h.At(i); e.X != 12340 || e.Y != -50 || !e.Placed || p.h.Kind(e).Name != "gem" {
		t.Errorf("%d, %d mm", e.X, e.Y)
	}
	p.begin()
	p.sims[i][x], p.sims[i][y] = schema.MaxValue, -schema.MaxValue
	p.record()
	if e := p.h.At(i); e.X != math.MaxInt32 || e.Y != math.MinInt32 {
		t.Errorf("far away: %d, %d mm", e.X, e.Y)
	}
	type score struct {
		N int `net:"int,0..9"`
	}
	h := NewHistory(codec.All(mustKind[score](t)))
	h.Begin(1)
	if h.At(h.Add(1, 0, false)).Placed {
		t.Error("a score has a place")
	}
}

// A rewind has the values of each of the last RewindTicks of what can be hit, whether it moved,
// slept, woke or died since; asked for older ones it gets the oldest.
//
// seeds: B16
func TestPast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := NewHistory(codec.All(kinds(t)...))
		h.Begin(clock.Tick(rapid.Uint32Range(1, 300).Draw(t, "first")))
		i, spawned := h.Add(1, walkerKind, false), h.Tick()
		sims := make([]int64, h.kinds[walkerKind].Sims)
		truth := map[clock.Tick]int64{}
		record := func(x0 int64) {
			if h.At(i).Alive() && (x0 != sims[x] || h.Tick() == spawned) {
				sims[x] = x0
				h.Record(i, sims, false)
			}
			h.End()
			if vals, ok := h.Values(i, 0, h.Tick(), nil); ok {
				truth[h.Tick()] = vals[0]
			}
		}
		record(0)
		died := clock.Tick(math.MaxUint32)
		pass := func(t *rapid.T, most int, step int64) {
			for range rapid.IntRange(1, most).Draw(t, "ticks") {
				h.Begin(h.Tick() + 1)
				record(sims[x] + step)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"move": func(t *rapid.T) { pass(t, 50, 25600) },
			"rest": func(t *rapid.T) { pass(t, 400, 0) },
			"die": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "die") == 0 && h.Tick() > spawned && died == math.MaxUint32 {
					h.Begin(h.Tick() + 1)
					died = h.Tick()
					h.Remove(i)
					h.End()
				}
			},
			"": func(t *rapid.T) {
				if died != math.MaxUint32 && h.Tick()-died >= RewindTicks {
					return
				}
				for tick := h.Tick() - min(h.Tick(), RewindTicks+9); tick <= h.Tick(); tick++ {
					want := max(tick, spawned, h.Tick()-min(h.Tick(), RewindTicks-1))
					vals, at, ok := h.Past(i, 0, tick, nil)
					if ok != (want < died) || ok && (at != want || vals[0] != truth[at]) {
						t.Fatalf("at tick %d, asked for %d: %v of tick %d, %v; want %d of tick %d, spawned at %d, died at %d",
							h.Tick(), tick, vals, at, ok, truth[want], want, spawned, died)
					}
				}
			},
		})
	})
}

// Teleports and starts of movement are remembered exactly, as long as values are.
func TestTimesAt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(t)
		p.begin()
		i := p.spawn(gemKind, false)
		p.record()
		first := p.tick
		var cuts, starts []clock.Tick
		t.Repeat(map[string]func(*rapid.T){
			"rest": func(t *rapid.T) { p.rest(rapid.IntRange(1, 90).Draw(t, "ticks")) },
			"move": func(t *rapid.T) {
				for range rapid.IntRange(1, 30).Draw(t, "ticks") {
					p.begin()
					if p.h.At(i).group[0].rest {
						starts = append(starts, p.tick)
					}
					p.sims[i][x]++
					p.record()
				}
			},
			"cut": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "ticks") {
					p.begin()
					p.record(i)
					cuts = append(cuts, p.tick)
				}
			},
			"": func(t *rapid.T) {
				newest := func(ticks []clock.Tick, at clock.Tick) clock.Tick {
					for n := len(ticks) - 1; n >= 0 && p.tick-ticks[n] < RewindTicks; n-- {
						if ticks[n] <= at {
							return ticks[n]
						}
					}
					return 0
				}
				for at := max(first, p.tick-min(p.tick-1, RewindTicks+3)); at <= p.tick+2; at++ {
					cut, start := p.h.At(i).TimesAt(0, at)
					if cut != newest(cuts, at) || start != newest(starts, at) {
						t.Fatalf("at tick %d, asked of %d: teleport %d, start %d; want %d, %d", p.tick, at, cut, start,
							newest(cuts, at), newest(starts, at))
					}
				}
				base := clock.Tick(rapid.Uint32Range(0, uint32(p.tick)).Draw(t, "base"))
				after := func(ticks []clock.Tick) clock.Tick {
					if n := len(ticks); n > 0 && ticks[n-1] > base {
						return ticks[n-1]
					}
					return 0
				}
				cut, start, rest := p.h.At(i).times(0, base)
				if cut != after(cuts) || start != after(starts) || rest != (p.tick-p.h.At(i).ChangedIn(0) >= restTicks) {
					t.Fatalf("at tick %d, since %d: teleport %d, start %d, rest %v; want %d, %d", p.tick, base, cut,
						start, rest, after(cuts), after(starts))
				}
			},
		})
	})
}

// Insertion against a sorted list that forgets the oldest but the pinned one.
func TestHeldStates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g Group
		var want []clock.Tick
		vals := func(tick clock.Tick) []int64 { return []int64{int64(tick) * 3, int64(tick)} }
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				tick := clock.Tick(rapid.Uint32Range(1, 150).Draw(t, "tick"))
				s := stateOf(tick, vals(tick))
				g.insert(&s)
				at, have := slices.BinarySearch(want, tick)
				if have {
					return
				}
				want = slices.Insert(want, at, tick)
				if len(want) > HeldStates {
					out := 0
					if want[0] == g.pin {
						out = 1
					}
					want = slices.Delete(want, out, out+1)
				}
			},
			"many": func(t *rapid.T) {
				from := clock.Tick(rapid.Uint32Range(1, 90).Draw(t, "from"))
				for tick := from; tick < from+HeldStates; tick++ {
					if _, have := slices.BinarySearch(want, tick); !have && (len(want) < HeldStates || tick > want[len(want)-1]) {
						s := stateOf(tick, vals(tick))
						g.insert(&s)
						at, _ := slices.BinarySearch(want, tick)
						want = slices.Insert(want, at, tick)
						if len(want) > HeldStates {
							out := 0
							if want[0] == g.pin {
								out = 1
							}
							want = slices.Delete(want, out, out+1)
						}
					}
				}
			},
			"pin": func(t *rapid.T) {
				if len(want) > 0 {
					g.pin = max(g.pin, rapid.SampledFrom(want).Draw(t, "pin"))
				}
			},
			"": func(t *rapid.T) {
				var got []clock.Tick
				for i := range g.states {
					s := &g.states[i]
					got = append(got, s.Tick)
					if !slices.Equal(s.Vals, vals(s.Tick)) || g.At(s.Tick) != s {
						t.Fatalf("tick %d is held as %v", s.Tick, s.Vals)
					}
				}
				if !slices.Equal(got, want) {
					t.Fatalf("held %v, want %v", got, want)
				}
				at := clock.TickFrac(rapid.Int64Range(0, 151*clock.FracPerTick).Draw(t, "time"))
				a, b := g.Around(at)
				n, have := slices.BinarySearch(want, at.Tick())
				if !have {
					n--
				}
				switch { // n is the newest at or before the time
				case len(want) == 0:
					if a != nil || b != nil || g.Newest() != nil {
						t.Fatal("something is held")
					}
				case n < 0:
					if a.Tick != want[0] || b != nil {
						t.Fatalf("before all: %v, %v", a, b)
					}
				case n == len(want)-1:
					if a.Tick != want[n] || b != nil || g.Newest() != a {
						t.Fatalf("after all: %v, %v", a, b)
					}
				default:
					if a.Tick != want[n] || b.Tick != want[n+1] {
						t.Fatalf("around %d: %v, %v", at, a, b)
					}
				}
			},
		})
	})
}

// What is shown late is held longer: with any bounds, and records as often as can be, a client
// draws the last HeldStates-2 ticks from what it would draw them from if it never let go of
// anything. When bounds are short again it holds no more than it did.
func TestHeldForLongBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g Group
		var all []motion.State
		tick, most := clock.Tick(0), 0
		put := func(s motion.State) {
			all = append(all, s)
			g.insert(&s)
			most = max(most, len(g.states))
			for back := range clock.Tick(HeldStates - 1) {
				at := (tick - min(back, tick)).Frac()
				var want *motion.State
				for i := range all {
					if all[i].Shown() <= at {
						want = &all[i]
					}
				}
				a, _ := g.Around(at)
				if want == nil {
					want = &all[0]
				}
				if a == nil || a.Tick != want.Tick || !slices.Equal(a.Vals, want.Vals) {
					t.Fatalf("at tick %d, newest %d: drawn from %+v, not from %d", at.Tick(), tick, a, want.Tick)
				}
			}
		}
		for range rapid.IntRange(1, 4).Draw(t, "spells") {
			bound := rapid.Uint8Range(0, motion.Bounds-1).Draw(t, "class")
			mixed := rapid.Bool().Draw(t, "mixed")
			for range rapid.IntRange(1, 250).Draw(t, "records") {
				if mixed {
					bound = rapid.Uint8Range(0, motion.Bounds-1).Draw(t, "class")
				}
				tick++
				if g.pin = max(g.pin, tick-min(tick, 20)); rapid.IntRange(0, 9).Draw(t, "gap") == 0 {
					tick += clock.Tick(rapid.Uint32Range(0, 5).Draw(t, "ticks"))
				}
				put(motion.State{Tick: tick, Bound: bound, Vals: []int64{int64(tick)}})
			}
		}
		for range HeldStates + 2 {
			tick++
			put(motion.State{Tick: tick, Vals: []int64{int64(tick)}})
		}
		if most > MostStates || len(g.states) > HeldStates {
			t.Fatalf("%d states were held, %d are", most, len(g.states))
		}
	})
}
