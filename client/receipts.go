package client

import (
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/rewind"
)

// A Receipt says how the server judged a shot of this player: a command that hit an entity, here or
// on the server.
type Receipt struct {
	Tick   clock.Tick // of the command
	Target game.ID    // the entity that it hit here or, where it hit none, on the server
	Hit    bool       // the server hit it
	// Seen is where the command's rules had Target on this player's screen, Used where the server
	// judged it, in metres. Either may be missing.
	Seen, Used       geom.Vec3
	HasSeen, HasUsed bool
	Reason           rewind.Reason // why the server judged another past than the player saw
}

// maxShots is how many commands with a hit wait for their receipt, maxReceipts how many receipts
// wait for Client.Receipts. Beyond them the oldest are dropped.
const (
	maxShots    = 64
	maxReceipts = 64
)

// verdicts are the newest hits of this player's prediction, and what the server said of them.
type verdicts struct {
	list     [maxShots]verdict // by tick modulo their number
	receipts []Receipt
}

// A verdict is what a command hit.
type verdict struct {
	tick   clock.Tick
	target game.ID // 0: nothing here, but the server said so
	at     geom.Vec3
	judged bool // the server's receipt is here
}

// note notes what a command hit that was just predicted for the first time, and states it in the
// command.
func (v *verdicts) note(eng *engine.Engine, me game.ID, cmd *packet.Command, seer engine.Seer) {
	target, looked := eng.Target()
	if looked {
		cmd.Claim = packet.Missed
	}
	if target == 0 {
		return
	}
	id, at, hash, ok := eng.See(me, target, 0, seer)
	if !ok {
		return
	}
	cmd.Claim = packet.HitClaim(uint32(id), hash)
	v.list[cmd.Tick%maxShots] = verdict{tick: cmd.Tick, target: id, at: at}
}

// receive applies the receipts of a datagram.
func (v *verdicts) receive(l *packet.Receipts) {
	for i := range l.N {
		x := &l.List[i]
		r := Receipt{
			Tick:    x.Tick,
			Target:  game.ID(x.Target),
			Hit:     x.Hit,
			HasUsed: x.Target != 0,
			Reason:  rewind.Reason(x.Reason),
		}
		r.Used = geom.Vec3{X: float64(x.At[0]) / 100, Y: float64(x.At[1]) / 100, Z: float64(x.At[2]) / 100}
		own := &v.list[x.Tick%maxShots]
		if own.tick != x.Tick && !x.Same {
			*own = verdict{tick: x.Tick}
		}
		if own.tick != x.Tick || own.judged {
			continue // it came twice
		}
		own.judged = true
		if x.Same {
			r.Target, r.Hit, r.Used, r.HasUsed = own.target, true, own.at, true
		}
		if own.target != 0 && (own.target == r.Target || !r.HasUsed) {
			r.Target, r.Seen, r.HasSeen = own.target, own.at, true
		}
		if len(v.receipts) == maxReceipts {
			v.receipts = append(v.receipts[:0], v.receipts[1:]...)
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
