package client

import (
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

// SetRewind says whether the server should judge by what this player saw, or by the present: to show what
// lag compensation is worth. The prediction always goes by what is seen.
func (c *Client) SetRewind(on bool) { c.cfg.NoRewind = !on }

// LastPredictedDespawn returns the newest tick at which a predicted command despawned something.
func (c *Client) LastPredictedDespawn() clock.Tick { return c.eng.LastPredictedDespawn(c.me) }

// Newest returns the newest tick that the server is known to have computed, when it was (server time), and the length of a tick then.
// The tick is that of the welcome until a packet arrives.
func (c *Client) Newest() (clock.Tick, clock.Time, time.Duration) { return c.line.Newest() }

// NewestPacket returns the number of the newest packet that was applied, to be named when the session is resumed.
func (c *Client) NewestPacket() wire.Seq { return c.newest }

// Quiet reports whether the server said that it is silent until something changes, packet.KeepAlive at most.
func (c *Client) Quiet() bool { return c.quiet }

// AppendMe appends the properties of the player's avatar as of the newest command, without smoothing, and says which it is. What is relative
// to a parent is where that is drawn. ok is false, and nothing appended, while there is none.
func (c *Client) AppendMe(vals []float64) (_ []float64, kind int, ok bool) {
	h := c.store.Find(uint32(c.me))
	if c.me == 0 || h == nil || !h.Mine {
		return vals, 0, false
	}
	k := c.rules.Kinds[h.Kind]
	_, now, _ := c.between()
	if now == nil || c.cfg.NoPrediction {
		s := h.Groups[snapshot.OwnerGroup].Newest()
		if s == nil {
			return vals, 0, false
		}
		now = s.Vals
	}
	n := len(vals)
	if vals = k.AppendExact(vals, nil, now, 65536); !c.attachOwn(k, vals[n:]) {
		return vals[:n], 0, false
	}
	return vals, h.Kind, true
}
