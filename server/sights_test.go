package server

import (
	"testing"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/snapshot"
)

// sighting returns a client that knows so many crumbs, which walk, and to which a few dozen come
// into sight at once; and what is due then.
func sighting(t *testing.T, known int) (*nest, *player, []snapshot.Candidate) {
	const at = 100
	n := newNest(t, Config{Budget: MaxBudget})
	n.referee = func(w *game.World) {
		for crumbs.Len(w) < known {
			crumbs.Spawn(w, crumb{Pos: geom.Vec2{X: 10, Y: float64(crumbs.Len(w))}})
		}
		for _, c := range crumbs.All(w) {
			c.Pos.Y += 0.1
		}
		for i := 0; i < 36 && w.Tick() == at; i++ {
			place := geom.Vec2{X: 20 + float64(i)/3}
			if crumbs.Spawn(w, crumb{Pos: place}); i%4 == 0 {
				ants.Spawn(w, ant{Name: "somebody", Pos: place, Score: 9999})
			}
		}
	}
	p := n.connect("ann")
	for n.s.Tick() < at-1 {
		n.tick(func(_ PlayerID, b []byte) { p.take(b) })
		p.send(command(n.s.Tick()+2, antCmd{}))
	}
	n.now = n.now.Add(n.s.Period())
	n.s.Begin(n.now)
	_, c := n.s.find(p.id)
	c.see(&n.out)
	return n, c, c.down.view.Due(n.now, c.down.path.timeout(), clock.Tick(1), 100, &n.out.urgent, nil)
}

// Where a large first sight does not fit and smaller ones do, those are written once, though what
// did not fit is tried again when all records have their room.
func TestFirstSightsAreWrittenOnce(t *testing.T) {
	n, p, due := sighting(t, 1)
	tried := 0
	for share := 20; share < 300; share++ {
		of := p.down.choose(&n.out.entries, due, n.now, 100, share, 1200, 100_000)
		kept := 0
		for i := range due {
			if due[i].First && n.out.entries.Keeps(&due[i]) {
				kept++
			}
		}
		if of.first != kept {
			t.Errorf("with %d bytes %d first sights were counted, %d are written", share, of.first, kept)
		}
		tried += kept
	}
	if tried < 500 {
		t.Errorf("only %d first sights were written", tried)
	}
}

// While more comes into sight and more moves than there is room for, first sights get about three quarters, and
// records the rest.
//
// seeds: R32
func TestFirstSightsAndRecordsShare(t *testing.T) {
	n, p, due := sighting(t, 60)
	for share := 50; share < 90; share++ {
		of := p.down.choose(&n.out.entries, due, n.now, 100, share, 1200, 100_000)
		if all := of.firstBits + of.movingBits; of.firstBits < all/2 || of.movingBits < all/6 {
			t.Errorf("of %d bytes %d bits are first sights, %d records", share, of.firstBits, of.movingBits)
		}
	}
}
