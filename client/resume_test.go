package client

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/server"
)

// drop takes the connection of a player away: nothing arrives any more, and the server may know.
func (p *side) drop(known bool) {
	p.up, p.down = nil, nil
	p.path = func(bool) []clock.Time { return nil }
	p.mute = true
	if known {
		p.d.s.Suspend(p.id, p.d.now)
	}
}

// resume gives a player another connection, of another delay. With kept its client goes on, else a
// new one begins.
func (p *side) resume(delay clock.Time, kept bool) {
	d := p.d
	d.t.Helper()
	w, ok := d.s.Resume(p.id, d.now, kept)
	if !ok || !w.Resumed {
		d.t.Fatalf("resumed: %v, %+v", ok, w)
	}
	p.up, p.down, p.path, p.mute, p.delay = nil, nil, nil, false, delay
	if w.Kept {
		if err := p.c.Resume(w); err != nil {
			d.t.Fatal(err)
		}
		return
	}
	was := p.c
	c, err := New(d.rules, w, d.now+p.offset, was.cfg)
	if err != nil {
		d.t.Fatal(err)
	}
	c.OnConfirm, p.c = was.OnConfirm, c
}

// A player who comes back after its connection was lost has its avatar, and plays as before within
// half a second. A client that kept its records is sent what changed, and not all anew.
func TestResume(t *testing.T) {
	for _, gone := range []time.Duration{0, 300 * time.Millisecond, 5 * time.Second, 25 * time.Second} {
		for _, known := range []bool{false, true} {
			for _, kept := range []bool{false, true} {
				resumes(t, gone, known, kept)
			}
		}
	}
}

func resumes(t *testing.T, gone time.Duration, known, kept bool) {
	name := fmt.Sprintf("gone for %v, noticed %v, kept %v", gone, known, kept)
	k := &sky{referee: func(w *game.World) {
		for i := range 60 - gems.Len(w) {
			gems.Spawn(w, gem{Pos: geom.Vec2{X: float64(40 + i), Y: 30}})
		}
	}}
	d := newDuo(t, k.rules(t))
	a, b := d.join(40*ms, Config{}), d.join(20*ms, Config{})
	d.run(4 * time.Second)
	avatar := a.c.Me()
	before, _ := d.s.Stats(a.id)
	a.drop(known)
	d.run(gone)
	lost, _ := d.s.Stats(a.id)
	a.resume(70*ms, kept)
	d.run(500 * time.Millisecond)
	after, _ := d.s.Stats(a.id)
	if a.c.Me() != avatar || d.s.Avatar(a.id) != avatar || !pilots.Has(d.s.World(), avatar) {
		t.Fatalf("%s: avatar %d, the server says %d, was %d", name, a.c.Me(), d.s.Avatar(a.id), avatar)
	}
	if first := after.First - lost.First; kept && first > 4 || !kept && first < 50 {
		t.Errorf("%s: %d first sights are sent on return", name, first)
	}
	if known && lost.Sent != before.Sent {
		t.Errorf("%s: %d datagrams were sent to nobody", name, lost.Sent-before.Sent)
	}
	if n := lost.Starved - before.Starved; known && n > 0 {
		t.Errorf("%s: %d ticks starved meanwhile", name, n)
	}
	a.healthy(name)
	if st := a.c.Stats(); st.Malformed+st.NoBaseline > 0 {
		t.Errorf("%s: %d datagrams malformed, %d without a baseline", name, st.Malformed, st.NoBaseline)
	}
	if n, _ := d.s.View(a.id).Count(); len(a.c.Store().Entities()) != n || n != 62 {
		t.Errorf("%s: the client has %d entities, the server thinks %d", name, len(a.c.Store().Entities()), n)
	}
	b.healthy(name + ", the other one")
}

// An avatar whose player has no connection stands still: it neither runs on nor keeps a button
// pressed.
func TestAvatarStandsWhileSuspended(t *testing.T) {
	d := newDuo(t, new(sky).rules(t))
	a := d.join(40*ms, Config{})
	a.play = func() []int64 { return []int64{15, 0, 0, 0, 1} } // runs and ducks
	d.run(3 * time.Second)
	a.drop(true)
	d.run(2 * time.Second)
	before := *pilots.Get(d.s.World(), a.c.Me())
	d.run(time.Second)
	if now := *pilots.Get(d.s.World(), a.c.Me()); now != before || now.Duck != 0 {
		t.Errorf("from %+v to %+v without a player", before, now)
	}
	a.resume(40*ms, true)
	d.run(time.Second)
	if now := *pilots.Get(d.s.World(), a.c.Me()); now.Pos.X < before.Pos.X+3 || now.Duck == 0 {
		t.Errorf("%+v a second after the player came back", now)
	}
	d.s.Suspend(99, d.now) // nobody
	if _, ok := d.s.Resume(99, d.now, true); ok {
		t.Error("a player who never was came back")
	}
}

// Reliable messages arrive once each over a change of connection, in order.
func TestResumeDeliversOnce(t *testing.T) {
	for seed := range uint64(20) {
		d := newDuo(t, new(sky).rules(t))
		a, b := d.join(40*ms, Config{}), d.join(20*ms, Config{})
		d.run(2 * time.Second)
		a.path = lossy(seed+1, 0.2)
		for range 4 {
			d.run(700 * time.Millisecond)
			a.drop(false)
			d.run(300 * time.Millisecond)
			a.resume(60*ms, true)
			a.path = lossy(seed+100, 0.2)
		}
		a.path = nil
		b.play = func() []int64 { return make([]int64, 5) }
		d.run(2 * time.Second)
		shown := a.counts(0, b.c.Me())
		for n := int64(1); n <= int64(d.shots[b.c.Me()]); n++ {
			if shown[n] != 1 {
				t.Fatalf("seed %d: shot %d of %d was shown %d times", seed, n, d.shots[b.c.Me()], shown[n])
			}
		}
		var order []int64
		for _, e := range a.events {
			if e.Event == 0 && e.Actor == b.c.Me() {
				order = append(order, e.Vals[0])
			}
		}
		if !slices.IsSorted(order) {
			t.Fatalf("seed %d: shots were shown in the order %v", seed, order)
		}
	}
}

// A welcome of another session changes nothing.
func TestResumeRefuses(t *testing.T) {
	d := newDuo(t, new(sky).rules(t))
	a := d.join(40*ms, Config{})
	w, _ := d.s.Resume(a.id, d.now, true)
	for _, bend := range []func(){
		func() { w.Session++ }, func() { w.Player++ }, func() { w.Seed++ }, func() { w.Kept = false },
	} {
		good := w
		if bend(); a.c.Resume(w) == nil {
			t.Errorf("%+v was accepted", w)
		}
		w = good
	}
	if err := a.c.Resume(w); err != nil {
		t.Error(err)
	}
}

// Queued commands run once and in order over a change of connections, too: what was on its way is
// sent again, what the server gave up is passed over by both sides, and half a second later no
// prediction is wrong.
func TestResumeWithQueuedCommands(t *testing.T) {
	for _, gone := range []time.Duration{0, 200 * time.Millisecond, 2 * time.Second, 12 * time.Second} {
		for _, known := range []bool{false, true} {
			for _, kept := range []bool{false, true} {
				name := fmt.Sprintf("gone for %v, noticed %v, kept %v", gone, known, kept)
				var world *game.World
				var ran []game.Tick // on the server
				d := newDuo(t, trackRules(t, 60, game.Queued, func(w *game.World, _ float64) {
					if w == world {
						ran = append(ran, w.Tick())
					}
				}))
				world = d.s.World()
				p := d.join(40*ms, Config{})
				p.play = func() []int64 { return []int64{15, 0, int64(p.c.CommandTick()) % 1000, 1} }
				d.run(4 * time.Second)
				before := len(ran)
				p.drop(known)
				d.run(gone)
				p.resume(70*ms, kept)
				d.run(500 * time.Millisecond)
				p.healthy(name)
				for i, tick := range ran[1:] {
					if short := gone < server.QueuedCredit && kept && !known; tick <= ran[i] || short && i > 60 && tick != ran[i]+1 {
						t.Fatalf("%s: of %d commands %d ran before, and that of tick %d after that of %d", name, len(ran),
							before, tick, ran[i])
					}
				}
				if last := ran[len(ran)-1]; len(ran) < before+120 || d.s.Tick()-last > 20 {
					t.Errorf("%s: %d commands ran, %d of them before, the last at tick %d of %d", name, len(ran), before, last,
						d.s.Tick())
				}
			}
		}
	}
}
