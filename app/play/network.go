package play

import (
	"sync"
	"time"

	"meanwhile/client"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/netsim"
	"meanwhile/transport"
)

// networkSeed makes the simulated network the same in every program, so that two can be compared.
const networkSeed = 1

// A network simulates a worse network than the player's own. It lies between the connection and the
// client, which sees its effects as the path's own.
type network struct {
	clock transport.Clock

	mu   sync.Mutex
	name string
	path *netsim.Path // nil: none
	conn *throughNetwork
}

// A throughNetwork is a connection whose datagrams pass the network.
type throughNetwork struct {
	transport.Conn
	of   *network
	wake chan struct{} // a datagram is under way
	give func(datagram []byte, arrival clock.Time)
}

// over puts the network before a connection, in place of the one that it was before.
func (n *network) over(conn transport.Conn) transport.Conn {
	t := &throughNetwork{Conn: conn, of: n, wake: make(chan struct{}, 1)}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conn = t
	if n.path != nil {
		n.path.Down.Clear()
		n.path.Up.Clear()
	}
	t.stamps(n.path != nil)
	go t.run()
	return t
}

// set makes the network that of a profile; "" is none. What is under way is lost.
func (n *network) set(name string) error {
	var path *netsim.Path
	if name != "" {
		p, err := netsim.ByName(name)
		if err != nil {
			return err
		}
		if path, err = netsim.NewPath(networkSeed, p); err != nil {
			return err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.name, n.path = name, path
	n.conn.stamps(path != nil)
	return nil
}

// stamps says whether datagrams are stamped here, before they are under way.
func (t *throughNetwork) stamps(here bool) {
	if l, ok := t.Conn.(interface{ KeepStamps(bool) }); ok {
		l.KeepStamps(here)
	}
}

// Send implements transport.Conn.
func (t *throughNetwork) Send(datagram []byte) {
	n := t.of
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.path == nil || n.conn != t {
		t.Conn.Send(datagram)
		return
	}
	now := n.clock()
	wire.PatchStamp(datagram, now.Stamp())
	n.path.Up.Push(now, datagram)
	t.push()
}

// Deliver implements transport.Conn.
func (t *throughNetwork) Deliver(f func(datagram []byte, arrival clock.Time)) {
	n := t.of
	n.mu.Lock()
	t.give = f
	n.mu.Unlock()
	t.Conn.Deliver(func(datagram []byte, arrival clock.Time) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.path == nil || n.conn != t {
			f(datagram, arrival)
			return
		}
		n.path.Down.Push(n.clock(), datagram)
		t.push()
	})
}

func (t *throughNetwork) push() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// run delivers what is under way when it arrives, until the connection has ended.
func (t *throughNetwork) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if next, ok := t.deliver(); ok {
			timer.Reset(next)
		}
		select {
		case <-timer.C:
		case <-t.wake:
		case <-t.Done():
			return
		}
	}
}

// deliver delivers what has arrived. It returns in how long more does; false: nothing is under way.
func (t *throughNetwork) deliver() (next time.Duration, some bool) {
	n := t.of
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.path == nil || n.conn != t {
		return 0, false
	}
	now := n.clock()
	for b, _, ok := n.path.Up.Pop(now); ok; b, _, ok = n.path.Up.Pop(now) {
		t.Conn.Send(b)
	}
	for b, at, ok := n.path.Down.Pop(now); ok && t.give != nil; b, at, ok = n.path.Down.Pop(now) {
		t.give(b, at)
	}
	for _, p := range []*netsim.Pipe{n.path.Up, n.path.Down} {
		if at, ok := p.Next(); ok && (!some || at.Sub(now) < next) {
			next, some = at.Sub(now), true
		}
	}
	return next, some
}

// SetNetwork simulates a worse network than the player's own, to show how the game copes:
// netsim.Presets has names and titles for a panel, "" is none. Datagrams alone pass it. The client
// learns of the path from the start. The error names what there is.
func (c *Client[C]) SetNetwork(name string) error {
	if err := c.network.set(name); err != nil {
		return err
	}
	c.player.Do((*client.Client).AnotherPath)
	return nil
}

// Network returns the name of the network that is simulated, "" if none is.
func (c *Client[C]) Network() string {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	return c.network.name
}

// Techniques says what to do without, to show what it is worth; the zero Techniques is all of them.
type Techniques struct {
	NoPrediction    bool // the player's own things wait for the server, too
	NoInterpolation bool // others are drawn where the newest packet says
	NoRewind        bool // the server judges shots by its present
}

// SetTechniques switches techniques off and on again. They stay so over connections.
func (c *Client[C]) SetTechniques(t Techniques) {
	c.techniques = t
	if c.core != nil {
		c.applyTechniques(c.core)
	}
}

// Techniques returns what the player does without.
func (c *Client[C]) Techniques() Techniques { return c.techniques }

func (c *Client[C]) applyTechniques(core *client.Client) {
	core.SetTechniques(!c.techniques.NoPrediction, !c.techniques.NoInterpolation)
	core.SetRewind(!c.techniques.NoRewind)
}
