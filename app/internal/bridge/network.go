package bridge

import (
	"strconv"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/netsim"
)

// network simulates a worse network than the player's own. It lies outside the send and arrival
// stamps, so the client sees its effects as the path's own. For datagrams up it only says when they
// leave: the page keeps the bytes until then.
type network struct {
	_ [0]func() // no == for it, which pages would have to load

	delay, jitter time.Duration
	loss          float64      // 0 to 1
	profile       string       // a network of package netsim, in place of the three above; "": none
	outage        clock.Time   // nothing gets through in either direction before this instant
	active        bool         // path is used
	path          *netsim.Path // nil until first used
}

// networkSeed makes the simulated network the same in every page, so that two pages can be
// compared.
const networkSeed = 1

// clear drops the datagrams that are on their way, since their connection is over.
func (n *network) clear() {
	if n.path != nil {
		n.path.Down.Clear()
	}
}

// update brings the path in line with the settings. It returns "" or why it cannot.
func (n *network) update() (refused string) {
	p, active := netsim.Profile{}, true
	if n.profile != "" {
		var err error
		if p, err = netsim.ByName(n.profile); err != nil {
			names := ""
			for _, p := range netsim.Profiles() {
				names += " " + p.Name
			}
			return "There is no network " + strconv.Quote(n.profile) + ". There are:" + names + "."
		}
	} else {
		l := netsim.LinkConfig{Delay: n.delay, Jitter: netsim.Uniform(n.jitter), Loss: netsim.Loss{InGood: n.loss}}
		if n.jitter == 0 {
			l.Jitter = netsim.Jitter{}
		}
		p.Down, p.Up = l, l
		active = n.delay > 0 || n.jitter > 0 || n.loss > 0
	}
	if active && n.path == nil {
		path, err := netsim.NewPath(networkSeed, p)
		if err != nil {
			return err.Error()
		}
		n.path, n.active = path, true
		return ""
	}
	if n.path != nil {
		if err := n.path.Set(p); err != nil {
			return err.Error()
		}
	}
	n.active = active
	return ""
}

// sentAt returns when the server sent a datagram that arrived at an instant, on the page's clock.
func (b *Bridge) sentAt(data []byte, arrival clock.Time) clock.Time {
	if !b.client.Stats().Synced {
		return arrival
	}
	skew := b.client.ServerTime(b.shown).Sub(b.shown)
	sent := arrival.Add(skew)
	return sent.Near(wire.NearStamp(sent.Stamp(), wire.StampOf(data))).Add(-skew)
}
