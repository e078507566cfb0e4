package rewind

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

// Two kinds of things: wagons are told the coarser the further away they are, and what they plan only to their side; birds are not.
type wagon struct {
	Pos  geom.Vec2 `net:"pos,others=1cm,4cm@30m,64cm@100m,warp=20m"`
	Load int       `net:"int,0..9"`
	Side int       `net:"int,0..2,server,team"`
	Plan int       `net:"int,1..99,to=team"`
}

type bird struct {
	Pos  geom.Vec3 `net:"pos,others=1cm"`
	Wing float64   `net:"angle,1deg"`
}

// Whatever a client was told, of things that come and go, die, jump, stop and start, near and far, of its own side and of the other, on a
// path that loses packets: the rewind draws each of them exactly as it did, and nothing else.
//
// seeds: B15 B16
func TestEachDrawsWhatTheClientDrew(t *testing.T) {
	const rate, things, team = 20, 12, 1
	kw, err := schema.New("wagon", reflect.TypeFor[wagon](), rate)
	if err != nil {
		t.Fatal(err)
	}
	kb, err := schema.New("bird", reflect.TypeFor[bird](), rate)
	if err != nil {
		t.Fatal(err)
	}
	kinds := []*schema.Kind{kw, kb}
	h, store := snapshot.NewHistory(codec.All(kinds...)), snapshot.NewStore(codec.All(kinds...))
	view := snapshot.NewView(h)
	view.Team(team)
	var log wire.Log
	var received wire.Received
	var writer snapshot.Writer
	r := Rewinder{History: h, View: view, Log: &log}
	random := geom.NewRand(7)
	chance := func(p float64) bool { return random.Float64() < p }
	type thing struct {
		i      int32
		id     uint32
		kind   int
		x, y   int64 // mm
		vx     int64
		side   int64
		born   clock.Tick
		inView bool
	}
	list := make([]*thing, things)
	ids := uint32(0)
	newest := wire.Seq(0)
	compared := map[string]int{}
	drawn := make([]int64, 8)
	for tick := clock.Tick(1); tick <= 4000; tick++ {
		now := clock.Time(tick) * clock.Time(time.Second/rate)
		h.Begin(tick)
		for n, w := range list {
			if w != nil && chance(0.004) {
				h.Remove(w.i)
				view.Leave(w.i)
				w = nil
			}
			if w == nil {
				ids++
				w = &thing{id: ids*7%1000 + ids*1000, kind: n % 2, side: int64(n / 2 % 3), x: int64(n) * 17_000, born: tick}
				w.i = h.Add(w.id, w.kind, false)
			}
			list[n] = w
			if chance(0.03) {
				w.vx = int64(random.Uint64()%3) * 137 // and 0: rest
			}
			cut := chance(0.004)
			if cut {
				w.y += 40_000
			}
			if w.x += w.vx; w.x > 220_000 {
				w.x, cut = 0, true
			}
			if w.kind == 0 {
				h.Record(w.i, []int64{w.x * 256, w.y * 256, int64(tick) / 40 % 10, w.side, 1 + w.x/1000%99}[:kw.Sims], cut)
			} else {
				h.Record(w.i, []int64{w.x * 256, w.y * 256, w.vx * 256, w.x / 100 % 360}[:kb.Sims], cut)
			}
			switch {
			case w.inView && chance(0.01):
				view.Leave(w.i)
				w.inView = false
			case !w.inView && chance(0.1):
				w.inView = view.Enter(w.i, false)
			}
			view.Distance(w.i, w.x*w.x+w.y*w.y)
		}
		p := log.Sent(now, tick, view.Missing)
		var out wire.BitWriter
		out.Reset(nil)
		writer.All(&out, view, view.Pending(now, 100*time.Millisecond, nil), p, now)
		if chance(0.8) {
			var b wire.BitReader
			b.Reset(out.Bytes())
			if err := store.Read(&b, tick, ^uint64(0)); err != nil {
				t.Fatalf("tick %d: %v", tick, err)
			}
			received.Applied(p.Seq)
			newest = p.Seq
			a, _ := received.Ack()
			log.Acked(a, view.Delivered, view.Missing)
			view.Reclaim(newest)
		}
		for _, back := range []clock.TickFrac{0, 1, 2*256 + 77, 5 * 256, 11*256 + 200, 19 * 256} {
			at := tick.Frac() - back
			if at <= 0 {
				continue
			}
			for kind, k := range kinds {
				want := map[uint32]string{}
				for _, held := range store.Entities() {
					if held.Kind != kind {
						continue
					}
					d := drawn[:k.Obs]
					what := "whole"
					for g := range k.Groups {
						group := &k.Groups[g]
						a, b := held.Groups[g].Around(at)
						if a == nil {
							if !k.Limited(g) {
								t.Fatalf("tick %d: no record of %d", tick, held.ID)
							}
							clear(d[group.At : group.At+group.N])
							what = "limited"
							continue
						}
						if a.Level > 0 {
							what = "coarse"
						}
						motion.Draw(k, group, a, b, at, d[group.At:group.At+group.N])
					}
					compared[what]++
					want[held.ID] = fmt.Sprint(d)
				}
				last := uint32(0)
				r.Each(kind, k, -1, Receipt{Used: at, Newest: newest, Oldest: 0}, func(id uint32, got []int64) bool {
					if id <= last {
						t.Fatalf("tick %d: %d comes after %d", tick, id, last)
					}
					last = id
					if text := fmt.Sprint(got); text != want[id] {
						t.Fatalf("tick %d, %d/256 back: %d of kind %d rewound %v, drawn %q", tick, back, id, kind, text, want[id])
					}
					delete(want, id)
					return true
				})
				if len(want) > 0 {
					t.Fatalf("tick %d, %d/256 back: kind %d, not rewound: %v", tick, back, kind, want)
				}
				// Switched off: all that is alive and in sight, or was and the client has not heard of it, as it is now.
				var present []uint32
				r.Each(kind, k, list[kind].i, Receipt{Used: tick.Frac(), Newest: newest, Reason: Off}, func(id uint32, got []int64) bool { present = append(present, id); return true })
				for n, w := range list {
					is := slices.Index(present, w.id)
					if w.kind == kind && w.inView && n != kind && is < 0 || is >= 0 && (n == kind || w.kind != kind || !w.inView && store.Find(w.id) == nil) {
						t.Fatalf("tick %d: %d of kind %d, in sight %v: switched off the rewind draws %v", tick, w.id, w.kind, w.inView, present)
					}
					if is >= 0 {
						present = slices.Delete(present, is, is+1)
					}
				}
				if len(present) > 0 {
					t.Fatalf("tick %d: switched off the rewind draws %v, which are dead", tick, present)
				}
			}
		}
	}
	for _, what := range []string{"whole", "coarse", "limited"} {
		if compared[what] < 10_000 {
			t.Errorf("%v compared", compared)
		}
	}
	if r.Substituted != 0 {
		t.Errorf("%d judged by something newer than was drawn", r.Substituted)
	}
}

// Nothing that moves is judged by anything older than MaxGap before the moment that is used; without lag compensation by nothing but the present.
func TestJudgeOldest(t *testing.T) {
	const now = clock.Tick(100) // 50 ms: 20 ticks are MaxGap
	for _, c := range []struct {
		stated clock.TickFrac
		bound  time.Duration
		now    clock.Tick
		want   clock.Tick
	}{
		{clock.Tick(95).Frac(), time.Second, now, 75},
		{clock.Tick(95).Frac() + 255, time.Second, now, 75},
		{clock.Tick(10).Frac(), time.Second, now, 60}, // 80 is used
		{clock.Tick(95).Frac(), -1, now, 100},
		{0, time.Second, now, 80},
		{clock.Tick(5).Frac(), time.Second, 10, 0},
	} {
		if got := Judge(c.stated, 1, c.now, c.bound, period).Oldest; got != c.want {
			t.Errorf("%d stated at %d, bound %v: oldest %d, want %d", c.stated, c.now, c.bound, got, c.want)
		}
	}
}
