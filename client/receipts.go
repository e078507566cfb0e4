package client

import (
	"math"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/rewind"
)

// A Receipt says how the server judged a shot of this player: an entity that a command hit, here or
// on the server. A command that hit several has one for each.
type Receipt struct {
	Target game.ID // the entity that it hit here or, where it hit none, on the server
	Hit    bool    // the server hit it
	// Seen is where Target was on this player's screen when it shot, Used where the server judged
	// it, in metres. X is NaN of what is not known.
	Seen, Used geom.Vec3
	Reason     rewind.Reason // why the server judged another past than the player saw
}

// maxShots is how many commands with a hit wait for their receipt, maxReceipts how many receipts
// wait for Client.Receipts. Beyond them the oldest shot, or
// the newest receipt, is dropped.
const (
	maxShots    = 64
	maxReceipts = 64
)

// verdicts are the newest hits of this player's prediction, and what the server said of them.
type verdicts struct {
	list     []verdict // by tick modulo maxShots; nil until there is one
	receipts []Receipt
	hits     [2][]engine.Hit // scratch of claim
}

// A verdict is what a command hit.
type verdict struct {
	tick clock.Tick
	n    int
	hits [engine.MaxTargets + 1]hit // the first n: those here, then those that only the server speaks of
}

type hit struct {
	_ [0]func() // no == for it, which pages would have to load

	target game.ID // 0: the server does not say
	at     geom.Vec3
	seen   geom.Vec3 // where it was on the screen: elsewhere, if rules bound the age of what counts
	judged bool      // the server's receipt is here
}

// of returns the place of a tick's verdict, which may have another one.
func (v *verdicts) of(t clock.Tick) *verdict {
	if v.list == nil {
		v.list = make([]verdict, maxShots)
	}
	return &v.list[t%maxShots]
}

// claim states in a command that was just predicted for the first time what it hit.
func (c *Client) claim(cmd *packet.Command) {
	if !c.eng.Looked(cmd.Tick) {
		return
	}
	cmd.Claim = packet.Missed
	v, scratch := &c.play.view, &c.verdicts.hits
	hits, hash := c.eng.Hits(c.own.me, v, scratch[0][:0])
	if scratch[0] = hits; len(hits) == 0 {
		return
	}
	cmd.Claim = packet.HitClaim(uint32(hits[len(hits)-1].ID), hash)
	seen := hits
	if drawn := v.receipt.Stated; v.receipt.Used != drawn {
		v.look(drawn, v.frame, 0)
		seen, _ = c.eng.Hits(c.own.me, v, scratch[1][:0])
		scratch[1] = seen
	}
	x := c.verdicts.of(cmd.Tick)
	*x = verdict{tick: cmd.Tick, n: len(hits)}
	for i, h := range hits {
		x.hits[i] = hit{target: h.ID, at: h.At, seen: nowhere}
		for _, s := range seen {
			if s.ID == h.ID {
				x.hits[i].seen = s.At
			}
		}
	}
}

// nowhere is a place that is not known.
var nowhere = geom.Vec3{X: math.NaN()}

// receive applies the receipts of a datagram.
func (v *verdicts) receive(l *packet.Receipts) {
	for i := range l.N {
		v.apply(&l.List[i])
	}
}

// apply applies a receipt, if it did not come before.
func (v *verdicts) apply(x *packet.Receipt) {
	own := v.of(x.Tick)
	if own.tick != x.Tick {
		if x.Same {
			return // of a shot that is forgotten
		}
		*own = verdict{tick: x.Tick}
	}
	if x.Same {
		for i := range own.hits[:own.n] {
			h := &own.hits[i]
			v.add(h, Receipt{Target: h.target, Hit: true, Seen: h.seen, Used: h.at})
		}
		return
	}
	h := own.about(game.ID(x.Target))
	if h == nil {
		return
	}
	r := Receipt{Target: h.target, Hit: x.Hit, Seen: h.seen, Used: nowhere, Reason: rewind.Reason(x.Reason)}
	if x.Target != 0 {
		r.Used = geom.Vec3{X: float64(x.At[0]) / 100, Y: float64(x.At[1]) / 100, Z: float64(x.At[2]) / 100}
	}
	v.add(h, r)
}

// about returns the hit that a receipt speaks of: without a target of the newest of those here; nil
// if there is none, or no room for another one.
func (own *verdict) about(target game.ID) *hit {
	for i := own.n - 1; i >= 0; i-- {
		if h := &own.hits[i]; target == 0 || h.target == target {
			return h
		}
	}
	if target == 0 || own.n == len(own.hits) {
		return nil
	}
	h := &own.hits[own.n]
	own.n++
	*h = hit{target: target, seen: nowhere}
	return h
}

// add keeps a receipt of a hit.
func (v *verdicts) add(h *hit, r Receipt) {
	if !h.judged && len(v.receipts) < maxReceipts {
		h.judged = true
		v.receipts = append(v.receipts, r)
	}
}

// Receipts appends to dst how the server judged this player's shots, as far as it said so since the
// last call.
func (c *Client) Receipts(dst []Receipt) []Receipt {
	dst = append(dst, c.verdicts.receipts...)
	c.verdicts.receipts = c.verdicts.receipts[:0]
	return dst
}
