package snapshot

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/schema"
)

type (
	passenger struct {
		Horse uint32 `net:"handle,parent"`
		Pos   vec2   `net:"pos,1cm"`
	}
	bolt struct {
		Pos vec2 `net:"pos,others=1cm,draw=dr:10cm"`
		Vel vec2 `net:"vel,others=1cm/s"`
	}
)

// twins are two histories of one world: all records every entity in each tick, some only those that
// changed, and says what may have.
type twins struct {
	t         *rapid.T
	kinds     []*schema.Kind
	all, some *History
	sims      map[int32][]int64
	ents      []int32
	tick      clock.Tick
	id        uint32
}

func newTwins(t *rapid.T) *twins {
	w := &twins{t: t, sims: map[int32][]int64{}}
	for _, v := range []any{walker{}, citizen{}, passenger{}, bolt{}} {
		k, err := schema.New(reflect.TypeOf(v).Name(), reflect.TypeOf(v), 30)
		if err != nil {
			t.Fatal(err)
		}
		w.kinds = append(w.kinds, k)
	}
	w.kinds[3].Extrapolated = true
	w.all, w.some = NewHistory(codec.All(w.kinds...)), NewHistory(codec.All(w.kinds...))
	return w
}

// step runs a tick in which happen may spawn, remove and change entities.
func (w *twins) step(happen func() (changed map[int32]uint64, cut int32)) {
	w.tick++
	w.all.Begin(w.tick)
	w.some.Begin(w.tick)
	changed, cut := happen()
	for _, i := range w.ents {
		w.all.Record(i, w.sims[i], i == cut)
		if set, ok := changed[i]; ok || i == cut || w.some.At(i).Spawned == w.tick {
			w.some.Update(i, w.sims[i], set, i == cut)
		}
	}
	w.some.End()
	w.compare()
}

// compare fails if the histories do not say the same of all ticks.
func (w *twins) compare() {
	first := w.tick - min(w.tick-1, HistoryTicks-1)
	recent := func(t clock.Tick) clock.Tick { // further back each may know more than the other
		if t < first {
			return 0
		}
		return t
	}
	for i := range int32(w.all.Len()) {
		a, b := w.all.At(i), w.some.At(i)
		if a.On >= 0 { // it is where its parent was in this tick or in the one before, as they are recorded
			b.X, b.Y = a.X, a.Y
			w.some.dense.x[i], w.some.dense.y[i] = a.X, a.Y
		}
		if a.X != b.X || a.Y != b.Y || a.On != b.On || a.alive != b.alive || a.Cut() != b.Cut() ||
			!slices.Equal(a.changed, b.changed) || !slices.Equal(a.ownChanged, b.ownChanged) ||
			!slices.Equal(a.flown, b.flown) {
			w.t.Fatalf("tick %d: entity %d is %+v, want %+v", w.tick, i, b, a)
		}
		for g := range a.group {
			x, y := &a.group[g], &b.group[g]
			if x.changed != y.changed || x.moved != y.moved || x.start != y.start || x.cut != y.cut || x.rest != y.rest ||
				x.flight != y.flight {
				w.t.Fatalf("tick %d: group %d of entity %d is %+v, want %+v", w.tick, g, i, y, x)
			}
			if g < OwnerGroup && g >= len(w.kinds[a.Kind].Groups) {
				continue
			}
			for t := first - min(first, 3); t <= w.tick+1; t++ {
				x, ok1 := w.all.Values(i, g, t, nil)
				y, ok2 := w.some.Values(i, g, t, nil)
				if ok1 != ok2 || !slices.Equal(x, y) {
					w.t.Fatalf("tick %d: group %d of entity %d was %v, %v at %d, want %v, %v", w.tick, g, i, y, ok2, t, x, ok1)
				}
				if !ok1 {
					continue
				}
				cut1, start1 := a.TimesAt(g, t)
				cut2, start2 := b.TimesAt(g, t)
				if recent(cut1) != recent(cut2) || recent(start1) != recent(start2) || a.RestedAt(g, t) != b.RestedAt(g, t) {
					w.t.Fatalf("tick %d: group %d of entity %d at %d: cut %d, start %d, rest %v; want %d, %d, %v", w.tick, g,
						i, t, cut2, start2, b.RestedAt(g, t), cut1, start1, a.RestedAt(g, t))
				}
			}
		}
	}
	if !reflect.DeepEqual(w.all.dense, w.some.dense) {
		w.t.Fatalf("tick %d: %+v, want %+v", w.tick, w.some.dense, w.all.dense)
	}
	if !reflect.DeepEqual(w.all.texts, w.some.texts) {
		w.t.Fatalf("tick %d: the texts differ", w.tick)
	}
}

// Recording only what changed says the same of every tick that is remembered as recording all.
func TestRecordingWhatChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newTwins(t)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			what := rapid.IntRange(0, 9).Draw(t, "what")
			if what == 0 {
				for range rapid.SampledFrom([]int{1, restTicks, 30, HistoryTicks + 2}).Draw(t, "ticks of rest") {
					w.step(func() (map[int32]uint64, int32) { return nil, -1 })
				}
			}
			w.step(func() (changed map[int32]uint64, cut int32) {
				changed, cut = map[int32]uint64{}, -1
				if what == 1 || len(w.ents) == 0 {
					kind := rapid.IntRange(0, len(w.kinds)-1).Draw(t, "kind")
					w.id++
					owned := kind == 0 && rapid.Bool().Draw(t, "owned")
					i := w.all.Add(w.id, kind, owned)
					if j := w.some.Add(w.id, kind, owned); i != j {
						t.Fatalf("entity %d has index %d, want %d", w.id, j, i)
					}
					w.ents, w.sims[i] = append(w.ents, i), make([]int64, w.kinds[kind].Sims)
				}
				at := rapid.IntRange(0, len(w.ents)-1).Draw(t, "entity")
				i := w.ents[at]
				switch {
				case what == 2 && w.all.At(i).Spawned != w.tick:
					w.all.Remove(i)
					w.some.Remove(i)
					w.ents = slices.Delete(w.ents, at, at+1)
				case what == 3:
					cut = i
				case what > 3:
					k := w.kinds[w.all.At(i).Kind]
					p := rapid.IntRange(0, len(k.Props)-1).Draw(t, "property")
					was := w.sims[i][k.Props[p].At]
					w.sims[i][k.Props[p].At] = rapid.Int64Range(0, 60).Draw(t, "value") * 97
					if k.Props[p].Class == schema.Handle {
						w.sims[i][k.Props[p].At] %= int64(w.id + 2)
					} else if k.Props[p].Class == schema.Int {
						w.sims[i][k.Props[p].At] %= 10
					}
					if w.sims[i][k.Props[p].At] != was {
						changed[i] = 1 << uint(p)
					}
				}
				return changed, cut
			})
		}
	})
}

// What rests is not recorded, and takes memory for one row until it changes.
//
// seeds: R26
func TestRestIsFree(t *testing.T) {
	p := newPair(t)
	p.begin()
	i := p.spawn(walkerKind, false)
	p.record()
	p.h.End()
	for range 3 * restTicks {
		p.begin()
		p.h.End()
	}
	e := p.h.At(i)
	if len(p.h.awake) != 0 || !e.asleep || e.lastTick > 2*restTicks || len(e.obs) != p.h.kinds[walkerKind].Obs {
		t.Errorf("%d entities are awake, the last row is of tick %d, %d integers", len(p.h.awake), e.lastTick, len(e.obs))
	}
	if n := testing.AllocsPerRun(100, func() {
		p.begin()
		p.sims[i][x] += 1 << 20
		p.record()
		p.h.End()
	}); n != 0 {
		t.Errorf("%v allocations a tick", n)
	}
}
