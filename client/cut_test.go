package client

import (
	"fmt"
	"math"
	"meanwhile/netcode/clock"
	"slices"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/snapshot"
)

type walker struct {
	Pos geom.Vec2 `net:"pos,others=1cm"`
}

type walkCmd struct {
	Move geom.Vec2 `net:"stick,5bit"`
}

type pad struct {
	Shut bool `net:"bool,server"` // what no client can know
}

// hops is a game in which a player who walks 3 m east jumps back by 1.5 m, less than a correction
// may fade over.
type hops struct {
	walkers game.Kind[walker]
	pads    game.Kind[pad]
	referee func(w *game.World, p *walker, id game.ID)
}

func (h *hops) rules(t testing.TB, mode game.CommandMode) *game.Rules {
	t.Helper()
	h.walkers, h.pads = game.NewKind[walker]("walker"), game.NewKind[pad]("pad")
	def := game.Definition[walkCmd]{
		Name: "hops", Rate: 30, Kinds: game.Kinds(h.walkers, h.pads), Commands: mode,
		Join: func(w *game.World, name string) game.ID {
			h.pads.Spawn(w, pad{})
			return h.walkers.Spawn(w, walker{})
		},
		Act: func(w *game.World, me game.ID, c walkCmd) {
			p := h.walkers.Get(w, me)
			p.Pos = p.Pos.Add(c.Move.Mul(3 * w.Dt()))
			for _, gate := range h.pads.All(w) {
				if p.Pos.X >= 3 && !gate.Shut {
					p.Pos.X -= 1.5
					w.Cut(me)
				}
			}
		},
		Referee: func(w *game.World) {
			for id, p := range h.walkers.All(w) {
				if h.referee != nil {
					h.referee(w, p, id)
				}
			}
		},
	}
	r, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The player's own teleport is never drawn as a slide and counted at once: a predicted one in the
// frame of its command, also if the answer corrects what was before it; one that the server
// decided, when its word arrives; and one that was predicted in vain, when that turns out.
//
// seeds: B13
func TestOwnTeleports(t *testing.T) {
	for _, mode := range []game.CommandMode{game.Timed, game.Queued} {
		for _, c := range []struct {
			name      string
			referee   func(h *hops) func(w *game.World, p *walker, id game.ID)
			corrected bool
		}{
			{"predicted", nil, false},
			{"pushed back before it", func(h *hops) func(w *game.World, p *walker, id game.ID) {
				return func(w *game.World, p *walker, id game.ID) {
					if w.Tick()%41 == 0 && p.Pos.X < 2.9 {
						p.Pos.X -= 0.25
					}
				}
			}, true},
			{"pushed sideways", func(h *hops) func(w *game.World, p *walker, id game.ID) {
				return func(w *game.World, p *walker, id game.ID) {
					if w.Tick()%41 == 0 {
						p.Pos.Y += 0.05
					}
				}
			}, true},
			{"decided by the server", func(h *hops) func(w *game.World, p *walker, id game.ID) {
				return func(w *game.World, p *walker, id game.ID) {
					if w.Tick()%41 == 0 {
						p.Pos.X -= 1
						w.Cut(id)
					}
				}
			}, true},
			{"in vain", func(h *hops) func(w *game.World, p *walker, id game.ID) {
				return func(w *game.World, p *walker, id game.ID) {
					for _, gate := range h.pads.All(w) {
						gate.Shut = w.Tick()%100 < 50
					}
					if p.Pos.X > 3.6 {
						p.Pos.X -= 2.4 // and back, far from the gate
						w.Cut(id)
					}
				}
			}, true},
		} {
			t.Run(fmt.Sprintf("%d/%s", mode, c.name), func(t *testing.T) {
				h := &hops{}
				rules := h.rules(t, mode)
				d := newDuo(t, rules)
				p := d.join(60*ms, Config{})
				p.fps = 240
				p.play = func() []int64 { return []int64{15, 0} }
				d.run(2 * time.Second)
				if c.referee != nil {
					h.referee = c.referee(h)
				}
				var vals []float64
				x, y, cuts := math.NaN(), 0.0, p.c.Cuts()
				tick := p.c.CommandTick()
				jumps, flags, early, predicted := 0, 0, 0, 0
				p.corrections = 0
				p.frame = func() {
					now, nowY := math.NaN(), 0.0
					vals = p.c.Draw(vals, func(e *Entity) {
						if e.Mine {
							now, nowY = e.Vals[0], e.Vals[1]
						}
					})
					n := p.c.Cuts() - cuts
					cuts += n
					if n > 0 {
						flags++
					}
					if at := p.c.CommandTick(); at != tick {
						if a, b := p.c.Own(at-1), p.c.Own(at); a != nil && b != nil &&
							cutOf(p.c, at) == at {
							predicted++
							if n > 0 && p.c.Confirmed() < at {
								early++
							}
						}
						tick = at
					}
					// A frame walks 1.25 cm, and a correction of 25 cm fades by 1.1 cm in it.
					if off := math.Hypot(now-x, nowY-y); off > 0.04 {
						jumps++
						if n == 0 {
							t.Errorf("drawn at %v and then at %v without a flag", x, now)
						}
					}
					x, y = now, nowY
				}
				d.run(36 * time.Second) // once around the ring of states
				if predicted < 3 || early != predicted {
					t.Errorf("%d teleports predicted, %d counted at once", predicted, early)
				}
				if (p.corrections > 0) != c.corrected {
					t.Errorf("%d corrections", p.corrections)
				}
				if !c.corrected && (jumps != flags || flags != predicted) {
					t.Errorf("%d jumps, %d flags, %d predicted", jumps, flags, predicted)
				}
				t.Logf("%d jumps, %d flags, %d predicted, %d corrections", jumps, flags, predicted, p.corrections)
				if n := testing.AllocsPerRun(20, func() { vals = p.c.Draw(vals, func(*Entity) {}) }); n != 0 {
					t.Errorf("%v allocations in a frame", n)
				}
				held := p.c.store.Find(uint32(p.c.Me()))
				s := *held.Groups[snapshot.OwnerGroup].Newest()
				s.Vals = slices.Clone(s.Vals)
				replayed := p.c.stats.Prediction.Replayed
				// wrong, and teleported, in the answer to one command after the other
				if n := testing.AllocsPerRun(20, func() {
					p.c.own.ring.Push(p.c.own.ring.Last() + 1).Vals = p.c.own.ring.Command(p.c.own.ring.Last() - 1).Vals
					p.c.own.ring.Catch()
					p.c.up.made = p.c.own.ring.Last()
					s.Tick++
					s.Vals[0]++
					s.Cut = s.Tick
					p.c.own.ran[s.Tick%ranTicks] = ranAt{s.Tick, p.c.own.ring.Base() + 1}
					p.c.confirm(held, &s)
				}); n != 0 {
					t.Errorf("%v allocations in a correction", n)
				}
				if n := p.c.stats.Prediction.Replayed - replayed; n < 20 {
					t.Errorf("%d ticks replayed", n)
				}
			})
		}
	}
}

// cutOf returns the newest command up to a tick that was predicted to teleport the avatar.
func cutOf(c *Client, t clock.Tick) clock.Tick {
	_, cut := c.own.own(c.own.ring.State(t))
	return cut
}
