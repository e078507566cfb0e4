package client

import (
	"meanwhile/internal/fault"
	"meanwhile/netcode/rate"
	"meanwhile/session"
)

// Resume goes on over another connection, as its welcome with Kept says: with all that is known of
// the world, and with the numbers of datagrams where they were. What was sent over the former
// connection and not acknowledged counts as lost. It fails, and changes nothing, on the welcome of
// another session, or without Kept: then a new Client begins with it.
//
// Between two connections Frame may be called, but not Encode.
func (c *Client) Resume(w session.Welcome) error {
	if !w.Kept || w.Session != c.welcome.Session || w.Player != c.welcome.Player || w.Seed != c.welcome.Seed {
		return fault.Errorf("client: the welcome is not that of the session of player %d", c.welcome.Player)
	}
	c.welcome = w
	c.up.anotherPath()
	c.time.anotherPath()
	c.down.echoed, c.down.mustAck = false, true
	return nil
}

// AnotherPath says that packets come and go over another path from now on, as where the network of
// a phone has changed: what was learned of the path before is forgotten. Without it a client finds
// that out, which takes seconds.
func (c *Client) AnotherPath() {
	t := &c.time
	t.rtt, t.down = rate.RTT{}, rate.OneWay{}
	t.lead.startAnew()
	t.play.AnotherPath()
	c.up.restart(t.now)
}

// anotherPath forgets what was known of the path, and says again what the server forgot meanwhile.
func (u *uplink) anotherPath() {
	u.log.Expire(1<<62, u.unanswered)
	u.restart(u.time.now)
	u.idleFrom, u.idleKnown, u.same = 0, false, 0
	u.awayFrom, u.awayKnown = 0, false
	u.backFrom, u.backKnown = 0, false
}
