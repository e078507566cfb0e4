package server

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/snapshot"
)

// From record to record the bound grows by no more than the time between them, so that the drawn
// time runs at half of real time at least, and shrinks by no more than a third of it, so that it
// runs half faster at most, whatever is wanted and whichever records are lost.
func TestBoundsChangeSlowly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &Server{tick: 1}
		d := snapshot.Candidate{}
		type announced struct {
			at, wait clock.Tick
		}
		var all []announced
		for range rapid.IntRange(2, 60).Draw(t, "records") {
			want := uint8(rapid.IntRange(0, motion.Bounds-1).Draw(t, "class"))
			d.Bound = s.announce(&d, want)
			d.Announced = s.tick
			all = append(all, announced{s.tick, motion.Wait(d.Bound)})
			s.tick += clock.Tick(rapid.IntRange(1, 50).Draw(t, "ticks"))
		}
		for i, a := range all {
			for _, b := range all[i+1:] {
				gap := b.at - a.at
				if b.wait > a.wait+gap || b.wait+gap/3 < a.wait {
					t.Fatalf("from %d ticks at %d to %d ticks at %d", a.wait, a.at, b.wait, b.at)
				}
			}
		}
	})
}

// The announced class is the least that is enough for the wanted period, at any rates; after a rest
// it is announced at once.
func TestClassOfAPeriod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.IntRange(1, 240).Draw(t, "rate")
		send := rapid.IntRange(1, rate).Draw(t, "send")
		var p pace
		p.plan(rate, send, motion.Bounds-1)
		want := int64(rapid.IntRange(0, 16*500).Draw(t, "want"))
		class, share := p.class(want)
		if share <= 0 || share > costScale {
			t.Fatalf("a share of %d/%d packets", share, costScale)
		}
		comes := func(c uint8) int64 { return p.packets[c] * p.gap } // when the last packet leaves that keeps the word
		if comes(class) < want && class < motion.Bounds-1 || class > 0 && comes(class-1) >= want {
			t.Fatalf("class %d for %d/16 ticks: %d; the class before: %d", class, want, comes(class), comes(max(class, 1)-1))
		}
		if most := (p.firstDue + int64(motion.Wait(class))) * 16; comes(class) > most {
			t.Fatalf("class %d: the record comes after %d/16 ticks, later than %d", class, comes(class), most)
		}
	})
	s := &Server{tick: 100}
	d := snapshot.Candidate{Announced: 99, Bound: 15, Start: true}
	if got := s.announce(&d, 2); got != 2 {
		t.Errorf("after a rest class %d is announced, not 2", got)
	}
}

// The longest bound leaves the history room for a rewind.
func TestLongestBound(t *testing.T) {
	for _, c := range []struct {
		rate, send int
		rewind     bool
		most       clock.Tick
	}{{60, 20, true, 36}, {30, 20, true, 48}, {20, 20, true, 48}, {20, 20, false, 48}, {60, 20, false, 48}} {
		cfg := Config{Rewind: -1}
		if c.rewind {
			cfg.Rewind = DefaultRewind
		}
		s := &Server{rules: &game.Rules{Rate: c.rate}, cfg: cfg, period: time.Second / time.Duration(c.rate)}
		if got := motion.Wait(s.maxClass(c.send)); got != c.most {
			t.Errorf("%d ticks and %d packets a second, rewind %v: %d ticks, want %d", c.rate, c.send, c.rewind, got, c.most)
		}
	}
}

// A rider is announced, and so drawn, as late as its parent: where it steps off, both are shown at
// the same time.
func TestRidersAreAsLateAsTheirParents(t *testing.T) {
	type ship struct {
		Pos geom.Vec2 `net:"pos"`
	}
	type rider struct {
		On  game.ID   `net:"handle,parent"`
		Pos geom.Vec2 `net:"pos"`
	}
	type cmd struct {
		Go bool `net:"bool"`
	}
	kinds := game.Kinds(game.NewKind[ship]("ship"), game.NewKind[rider]("rider"))
	def := game.Definition[cmd]{Name: "sea", Rate: 60, Kinds: kinds,
		Join: func(w *game.World, name string) game.ID { return 0 }, Act: func(w *game.World, me game.ID, c cmd) {}}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(rules, Config{})
	if err != nil {
		t.Fatal(err)
	}
	p := &player{s: s, ent: -1}
	p.down.send = 20
	s.tick = 1
	s.hist.Begin(1)
	metres := func(i int, m float64) int64 { return int64(m * rules.Kinds[i].PlaceProp().Sim) }
	far, man := s.hist.Add(1, 0, false), s.hist.Add(2, 1, false)
	bird, swimmer := s.hist.Add(3, 1, false), s.hist.Add(4, 1, false)
	s.hist.Record(far, []int64{metres(0, 60), 0}, false)
	s.hist.Record(man, []int64{1, metres(1, 40), 0}, false)
	s.hist.Record(bird, []int64{2, metres(1, 40), 0}, false)
	s.hist.Record(swimmer, []int64{0, metres(1, 100), 0}, false)
	p.down.pace.scale = 1 << 15
	var due []snapshot.Candidate
	for _, i := range []int32{far, man, bird, swimmer} {
		due = append(due, snapshot.Candidate{Ent: i, Moves: true})
	}
	s.prioritise(p, due)
	class := map[int32]uint8{}
	for _, d := range due {
		class[d.Ent] = d.Bound
	}
	if class[far] == 0 || class[man] != class[far] || class[bird] != class[far] || class[swimmer] == class[far] {
		t.Errorf("classes %v of the ship, who stands on it, what sits on them, and who swims 40 m beside", class)
	}
}

// Candidates go in this order: the own avatar, removals, what begins to move, records that must
// go now to keep an announcement, and the rest by waiting time over distance. First sights are
// among the rest, as if nothing had been announced for longer than the wanted period.
//
// seeds: R20 R23 R24 R41
func TestOrderOfWhatIsDue(t *testing.T) {
	n := newNest(t, Config{})
	n.s.tick = 100
	n.s.hist.Begin(100)
	k := n.s.rules.Kinds[1]
	p := &player{s: n.s, ent: -1}
	p.down.send = 20
	p.down.pace.scale = 1 << 15
	var due []snapshot.Candidate
	var names []string
	add := func(name string, metres float64, c snapshot.Candidate) {
		vals := make([]int64, k.Sims)
		vals[0] = int64(metres * k.Props[k.Place].Sim)
		c.Ent = n.s.hist.Add(uint32(len(due)+1), 1, false)
		n.s.hist.Record(c.Ent, vals, false)
		due = append(due, c)
		names = append(names, name)
	}
	add("far, late", 50, snapshot.Candidate{Moves: true, Age: 20, Bound: 3, Announced: 80})
	add("near, early", 10, snapshot.Candidate{Moves: true, Age: 2, Bound: 8, Announced: 98})
	add("nearer, early", 5, snapshot.Candidate{Moves: true, Age: 2, Bound: 8, Announced: 98})
	add("near, waited longer", 10, snapshot.Candidate{Moves: true, Age: 4, Bound: 8, Announced: 96})
	add("starts", 80, snapshot.Candidate{Moves: true, Start: true, Age: 1, Announced: 50})
	add("starts nearer", 20, snapshot.Candidate{Moves: true, Start: true, Age: 1, Announced: 50})
	add("gone", 90, snapshot.Candidate{Gone: true})
	add("changed at rest, long ago", 50, snapshot.Candidate{Stale: 40})
	add("own", 30, snapshot.Candidate{Mine: true})
	add("pops up", 4, snapshot.Candidate{First: true, Stale: 8})
	n.s.prioritise(p, due)
	want := []string{"own", "gone", "starts nearer", "starts", "pops up", "changed at rest, long ago", "far, late",
		"near, waited longer", "nearer, early", "near, early"}
	var got []string
	for _, d := range due {
		got = append(got, names[d.Ent])
	}
	if !slices.Equal(got, want) {
		t.Errorf("the order is\n%q, want\n%q", got, want)
	}
}
