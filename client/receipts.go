package client

import (
	"math"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/rewind"
)

// A Receipt says how the server judged a shot of this player: a command that hit an entity, here or
// on the server.
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
}

// A verdict is what a command hit.
type verdict struct {
	tick   clock.Tick
	target game.ID // 0: nothing here, but the server said so
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
	target, looked := c.eng.Target(cmd.Tick)
	if !looked {
		return
	}
	cmd.Claim = packet.Missed
	if target == 0 {
		return
	}
	v := &c.play.view
	if id, at, hash, ok := c.eng.See(c.own.me, target, 0, v); ok {
		cmd.Claim = packet.HitClaim(uint32(id), hash)
		hit := verdict{tick: cmd.Tick, target: id, at: at, seen: at}
		if drawn := v.receipt.Stated; v.receipt.Used != drawn {
			v.look(drawn, v.frame, 0)
			if _, hit.seen, _, ok = c.eng.See(c.own.me, target, 0, v); !ok {
				hit.seen.X = math.NaN()
			}
		}
		*c.verdicts.of(cmd.Tick) = hit
	}
}

// receive applies the receipts of a datagram.
func (v *verdicts) receive(l *packet.Receipts) {
	for i := range l.N {
		x := &l.List[i]
		own := v.of(x.Tick)
		if own.tick != x.Tick && !x.Same {
			*own = verdict{tick: x.Tick}
		}
		if own.tick != x.Tick || own.judged || len(v.receipts) == maxReceipts {
			continue // it came twice
		}
		own.judged = true
		nowhere := geom.Vec3{X: math.NaN()}
		r := Receipt{
			Target: game.ID(x.Target),
			Hit:    x.Hit,
			Seen:   nowhere,
			Used:   nowhere,
			Reason: rewind.Reason(x.Reason),
		}
		if x.Target != 0 {
			r.Used = geom.Vec3{X: float64(x.At[0]) / 100, Y: float64(x.At[1]) / 100, Z: float64(x.At[2]) / 100}
		} else {
			r.Target = own.target
		}
		if own.target != 0 && own.target == r.Target {
			r.Seen = own.seen
		}
		if x.Same {
			r.Hit, r.Used = true, own.at
		}
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
