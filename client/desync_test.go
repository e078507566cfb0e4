package client

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
)

// Each wrong prediction is kept with both states, the command and the likely cause.
func TestDesyncs(t *testing.T) {
	s := &sky{}
	d := newDuo(t, s.rules(t))
	p := d.join(40*ms, Config{})
	d.join(40*ms, Config{}) // 10 m away
	d.run(3 * time.Second)
	for _, text := range p.c.Desyncs(nil) { // the first commands came late
		if !strings.HasSuffix(text, "cause: starved") && !strings.HasSuffix(text, "cause: late") {
			t.Errorf("of a match in which nothing was: %s", text)
		}
	}
	lose := func() { // the way up, for a moment
		p.path = func(up bool) []clock.Time {
			if up {
				return nil
			}
			return []clock.Time{0}
		}
		d.run(300 * time.Millisecond)
		p.path = nil
		d.run(time.Second)
	}
	at := func(do func(w *game.World)) {
		s.referee = func(w *game.World) {
			do(w)
			s.referee = nil
		}
		d.run(time.Second)
	}
	me, other := p.c.Me(), d.sides[1].c.Me()
	place := func(id game.ID) geom.Vec2 { return pilots.Get(d.s.World(), id).Pos }
	for _, c := range []struct {
		name string
		do   func()
		want []string // parts of the newest text
		last string   // its end
	}{
		{"referee", func() { at(func(w *game.World) { pilots.Get(w, me).Score += 7 }) },
			[]string{fmt.Sprintf("pilot %d (own avatar), Score predicted as [", me), "] and on the server [",
				"; predicted with "},
			"; the server ran the same, as far as is known; likely cause: Referee, or another player's command"},
		{"teleport", func() { at(func(w *game.World) { pilots.Get(w, me).Pos.X += 300; w.Cut(me) }) },
			[]string{"Pos predicted as ["},
			"; the server ran the same, as far as is known; likely cause: a teleport by the server"},
		{"touch", func() {
			at(func(w *game.World) { pilots.Get(w, other).Pos = place(me).Add(geom.Vec2{X: 1}) })
			at(func(w *game.World) {
				pilots.Get(w, other).Pos = place(me).Add(geom.Vec2{X: 1})
				pilots.Get(w, me).Vel.X += 3
			})
		}, []string{"Vel predicted as ["},
			fmt.Sprintf("; the server ran the same, as far as is known; likely cause: touched by pilot %d", other)},
		{"starved", lose, []string{"; predicted with ", "; the server had no command for "},
			" of the last ticks and repeated the movement of the one before; likely cause: starved"},
	} {
		before := p.c.own.desyncs.n
		c.do()
		got := p.c.Desyncs(nil)
		if p.c.own.desyncs.n == before {
			t.Errorf("%s: nothing was noted", c.name)
			continue
		}
		found := ""
		for _, text := range got[:min(p.c.own.desyncs.n-before, len(got))] {
			if strings.HasSuffix(text, c.last) {
				found = text
			}
		}
		if found == "" || !strings.HasPrefix(found, "tick ") {
			t.Errorf("%s: none of %q ends in %q", c.name, got[:min(p.c.own.desyncs.n-before, len(got))], c.last)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(found, part) {
				t.Errorf("%s: %q does not contain %q", c.name, found, part)
			}
		}
	}
}

// The newest 64 are kept, the newest first, and notes allocate nothing once there is one.
func TestDesyncsAreBounded(t *testing.T) {
	c := newClient(t)
	r := &c.own
	r.me = 1
	k := c.rules.Kinds[0]
	predicted := &engine.Set{Members: []engine.Member{{ID: 1}}, Vals: make([]int64, k.Sims)}
	server := make([]int64, k.Sims)
	server[0] = 256
	c.up.acked = 1000
	tick := clock.Tick(100)
	note := func() {
		tick++
		r.desyncs.note(tick, predicted, &predicted.Members[0], server, false)
		r.desyncs.note(tick, predicted, &predicted.Members[0], server, false) // twice is once
	}
	note()
	if n := testing.AllocsPerRun(20, note); n != 0 {
		t.Errorf("%v allocations in a note", n)
	}
	for range 100 {
		note()
	}
	got := c.Desyncs(nil)
	if len(got) != maxDesyncs || r.desyncs.n != 122 {
		t.Fatalf("%d kept of %d", len(got), r.desyncs.n)
	}
	const rest = " and on the server [0.001 0]; predicted with no command; the server ran the same, as far as is known; " +
		"likely cause: Referee, or another player's command"
	for i, text := range got {
		if want := fmt.Sprintf("tick %d: pilot 1 (own avatar), Pos predicted as [0 0]", int(tick)-i) + rest; text != want {
			t.Fatalf("%d:\n%s\nwant\n%s", i, text, want)
		}
	}
}

// The cause follows from what the client knows, the most certain first.
func TestCauseOfADesync(t *testing.T) {
	c := newClient(t)
	r := &c.own
	r.me = 1
	k := c.rules.Kinds[0]
	r.ring.Push(100).Vals = make([]int64, c.rules.Command.Sims)
	place := k.PlaceProp()
	set := &engine.Set{}
	for id, x := range map[game.ID]float64{1: 0, 2: touchRange - 0.01, 3: touchRange + 0.01} {
		vals := set.Of(set.Add(id, 0, k), k)
		vals[place.At] = int64(math.Round(x * place.Sim))
	}
	c.up.acked = 200
	tick := clock.Tick(100)
	for _, x := range []struct {
		id      game.ID
		starved uint8
		late    bool
		cut     bool
		gone    bool
		want    cause
		by      game.ID
	}{
		{id: 1, starved: 2, late: true, cut: true, want: byStarving},
		{id: 1, late: true, cut: true, want: byLateness},
		{id: 1, cut: true, want: byTeleport},
		{id: 1, want: byTouch, by: 2},
		{id: 2, starved: 2, late: true, want: byTouch, by: 3},
		{id: 2, gone: true, starved: 1, want: byRefusal},
	} {
		tick++
		r.desyncs.compared()
		r.desyncs.feedback(x.starved, x.late)
		m := set.Find(x.id)
		server := append([]int64{}, set.Of(m, k)...)
		if server[k.Sims-1]++; x.gone {
			server = nil
		}
		r.desyncs.note(tick, set, m, server, x.cut)
		if got := r.desyncs.ring[r.desyncs.n-1]; got.tick != tick || got.cause != x.want || got.by != x.by {
			t.Errorf("%+v: tick %d, cause %d by %d", x, got.tick, got.cause, got.by)
		}
	}
	r.desyncs.feedback(packet.StarvedRange-1, false)
	if r.desyncs.starved == 0 {
		t.Error("feedback is not noted")
	}
	if r.desyncs.compared(); r.desyncs.starved != 0 || r.desyncs.late {
		t.Error("what was compared is not forgotten")
	}
}
