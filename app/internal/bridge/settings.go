package bridge

import (
	"encoding/binary"
	"strconv"
	"time"

	"meanwhile/client"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/playout"
	"meanwhile/netcode/wire"
	"meanwhile/netsim"
)

// settings are what the page can change while it plays; they hold across connections.
type settings struct {
	away, autopilot, packets      bool
	predict, interpolate, lagcomp bool
	playout                       time.Duration
}

func (s *settings) client() client.Config {
	return client.Config{Playout: s.playout, NoPrediction: !s.predict, NoInterpolation: !s.interpolate, NoRewind: !s.lagcomp}
}

// Bounds of the network panel's settings.
const (
	maxDelayMs = 5000
	maxLossPct = 100
)

// Set changes a setting whose value is a number. It returns "" or why not.
func (b *Bridge) Set(name string, v float64) string {
	within := func(most float64) string {
		if !(v >= 0 && v <= most) {
			return name + " " + number(v) + " is outside 0 to " + number(most) + "."
		}
		return ""
	}
	on := v != 0
	s, c := &b.set, b.client
	if name == "profile" && v == 0 {
		return b.SetText(name, "")
	}
	refused := ""
	switch name {
	case "away", "autopilot", "packets", "predict", "interpolate", "lagcomp":
		refused = within(1)
	case "delayMs", "jitterMs", "outageMs":
		refused = within(maxDelayMs)
	case "lossPct":
		refused = within(maxLossPct)
	case "playoutMs":
		refused = within(spanMs(playout.MaxDelay))
	default:
		return "There is no setting " + strconv.Quote(name) + "."
	}
	if refused != "" {
		return refused
	}
	switch name {
	case "away":
		if s.away == on {
			return ""
		}
		s.away = on
		if c != nil {
			c.SetAway(on)
		}
		if on {
			b.farewell()
		}
	case "autopilot":
		if on && b.rules.Bot() == nil {
			return "The game " + b.rules.Name + " has no bot that could drive."
		}
		s.autopilot = on
	case "packets":
		s.packets = on
		b.flights = b.flights[:0]
	case "delayMs":
		b.shim.delay = time.Duration(v * 1e6)
		return b.reshape()
	case "jitterMs":
		b.shim.jitter = time.Duration(v * 1e6)
		return b.reshape()
	case "lossPct":
		b.shim.loss = v / 100
		return b.reshape()
	case "outageMs":
		b.shim.cut = b.now.Add(time.Duration(v * 1e6))
	case "playoutMs":
		s.playout = time.Duration(v * 1e6)
		if c != nil {
			if err := c.SetPlayout(s.playout); err != nil {
				return err.Error()
			}
		}
	case "predict", "interpolate":
		if name == "predict" {
			s.predict = on
		} else {
			s.interpolate = on
		}
		if c != nil {
			c.SetTechniques(s.predict, s.interpolate)
		}
	case "lagcomp":
		s.lagcomp = on
		if c != nil {
			c.SetRewind(on)
		}
	}
	return ""
}

// SetText changes a setting whose value is a text. It returns "" or why not.
func (b *Bridge) SetText(name, value string) string {
	if name == "profile" {
		old := b.shim.profile
		b.shim.profile = value
		refused := b.reshape()
		if refused != "" {
			b.shim.profile = old
		}
		return refused
	}
	v, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return name + " " + strconv.Quote(value) + " is not a number."
	}
	return b.Set(name, v)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// offered are the networks that the page's panel names, with about what each does to a datagram one way.
var offered = [...]struct {
	name, title         string
	delay, jitter, loss float64
}{
	{"wifi", "Hotel Wi-Fi", 15, 15, 0.5},
	{"burst", "Loss in bursts", 25, 5, 2.5},
	{"ocean", "Across an ocean", 75, 30, 5},
	{"lte-c", "LTE on a train", 20, 150, 0},
	{"evdo", "3G", 40, 150, 0},
	{"modem", "Modem, 13 kbit/s", 120, 0, 0},
}

// shim is the network panel's network: it sits outside the stamps, so that the client takes what it does for the
// path's own. Of datagrams up only the way is simulated, the page holds the bytes.
type shim struct {
	delay, jitter time.Duration
	loss          float64
	profile       string     // "": by the three above
	cut           clock.Time // until then nothing gets through in either direction
	active        bool
	path          *netsim.Path // nil until it is first used
}

// shimSeed draws what happens: the same in every page, so that two can be compared.
const shimSeed = 1

// clear drops what is under way: it belongs to a connection that is over.
func (s *shim) clear() {
	if s.path != nil {
		s.path.Down.Clear()
	}
}

// reshape brings the shim in line with its settings. It returns "" or why it cannot.
func (b *Bridge) reshape() string {
	s := &b.shim
	p, active := netsim.Profile{}, true
	if s.profile != "" {
		var err error
		if p, err = netsim.ByName(s.profile); err != nil {
			return "There is no network " + strconv.Quote(s.profile) + "."
		}
	} else {
		l := netsim.LinkConfig{Delay: s.delay, Jitter: netsim.Uniform(s.jitter), Loss: netsim.Loss{InGood: s.loss}}
		if s.jitter == 0 {
			l.Jitter = netsim.Jitter{}
		}
		p.Down, p.Up = l, l
		active = s.delay > 0 || s.jitter > 0 || s.loss > 0
	}
	if active && s.path == nil {
		path, err := netsim.NewPath(shimSeed, p)
		if err != nil {
			return err.Error()
		}
		s.path, s.active = path, true
		return ""
	}
	if s.path != nil {
		if err := s.path.Set(p); err != nil {
			return err.Error()
		}
	}
	s.active = active
	return ""
}

// stampEnd is the least size of a datagram that has a stamp.
const stampEnd = wire.StampOffset + 4

// sentAt returns when a datagram from the server that arrived at the instant at was sent, on the page's clock.
func (b *Bridge) sentAt(data []byte, at clock.Time) clock.Time {
	if !b.client.Stats().Synced {
		return at
	}
	skew := b.client.ServerTime(b.shown).Sub(b.shown)
	stamp := clock.Stamp(binary.LittleEndian.Uint32(data[wire.StampOffset:]))
	return at.Add(skew).Near(stamp).Add(-skew)
}
