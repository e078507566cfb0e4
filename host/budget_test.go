package host

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/wire"
	"meanwhile/server"
)

// throngRules is a game of 20 ticks a second with so many walkers that no budget suffices. A tick
// takes as long as takes says.
func throngRules(t *testing.T, takes *atomic.Int64) *game.Rules {
	t.Helper()
	d := game.Definition[stroll]{
		Name: "throng", Rate: 20, Kinds: game.Kinds(walkers),
		Join: func(w *game.World, name string) game.ID {
			for i := walkers.Len(w); i < 150; i++ {
				walkers.Spawn(w, walker{Pos: geom.Vec2{X: float64(i)}})
			}
			return walkers.Spawn(w, walker{})
		},
		Act: func(w *game.World, me game.ID, c stroll) {},
		Referee: func(w *game.World) {
			time.Sleep(time.Duration(takes.Load()))
			for id, p := range walkers.All(w) {
				p.Pos.Y += 0.05 * float64(1+id%7)
			}
		},
		Bot: func(w *game.World, me game.ID) stroll { return stroll{} },
	}
	r, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A tap counts what reaches a player's connection, on its own.
type tap struct {
	peer
	mu    sync.Mutex
	at    []time.Time
	bytes []int
	beats int
}

func (c *tap) Send(b []byte) {
	c.mu.Lock()
	c.at, c.bytes = append(c.at, time.Now()), append(c.bytes, len(b)+wire.Overhead)
	if len(b) < 24 {
		c.beats++
	}
	c.mu.Unlock()
	c.peer.Send(b)
}

// window returns the most bytes of taps together in any one second, and how many there were.
func window(taps ...*tap) (most, total int) {
	type sent struct {
		at    time.Time
		bytes int
	}
	var all []sent
	for _, c := range taps {
		c.mu.Lock()
		for i := range c.at {
			all = append(all, sent{c.at[i], c.bytes[i]})
			total += c.bytes[i]
		}
		c.mu.Unlock()
	}
	for _, from := range all {
		sum := 0
		for _, x := range all {
			if since := x.at.Sub(from.at); since >= 0 && since < time.Second {
				sum += x.bytes
			}
		}
		most = max(most, sum)
	}
	return most, total
}

// tap counts from now on what a player is sent.
func (s *stage) tap(g *visitor, name string) *tap {
	r, c := s.room(name), &tap{}
	r.call(func() {
		p := r.players[g.ID()]
		c.peer = p.peer
		p.peer = c
	})
	return c
}

// No second has more than the budget, also where ticks hang and heartbeats are sent meanwhile, by a
// counter of the test and by the host's own.
//
// seeds: B14 R16
func TestNoSecondAboveTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const budget = server.MinBudget
		var takes atomic.Int64
		s := newStage(t, Config{Rules: throngRules(t, &takes), Players: 4, Budget: budget})
		defer s.end()
		ann := s.join("ann", "")
		defer func() { ann.leave(); <-ann.left }()
		c := s.tap(ann, DefaultRoom)
		for i := range 30 { // each at another moment between two packets
			hang := []time.Duration{120 * time.Millisecond, 450 * time.Millisecond, 900 * time.Millisecond,
				1100 * time.Millisecond, 1300 * time.Millisecond, 3 * time.Second}[i%6]
			takes.Store(int64(hang))
			time.Sleep(60 * time.Millisecond) // into the tick that hangs
			takes.Store(int64(5 * time.Millisecond))
			time.Sleep(hang + 4*time.Second + time.Duration(i)*30*time.Millisecond)
		}
		most, total := window(c)
		if most > budget || s.Stats().MaxWindow != most {
			t.Errorf("%d bytes in one second, the host says %d, of a budget of %d", most, s.Stats().MaxWindow, budget)
		}
		if c.beats < 30 || total < 20*budget {
			t.Errorf("%d heartbeats, %d bytes in all", c.beats, total)
		}
	})
}
