package bridge

import (
	"strconv"
	"time"

	"meanwhile/client"
	"meanwhile/netcode/playout"
)

// settings are the choices of the page that hold across connections.
type settings struct {
	away, autopilot, packets      bool
	predict, interpolate, lagcomp bool
	playout                       time.Duration // 0: adaptive
}

func (s *settings) client() client.Config {
	return client.Config{
		Playout: s.playout, NoPrediction: !s.predict, NoInterpolation: !s.interpolate, NoRewind: !s.lagcomp,
	}
}

// Bounds of the simulated network.
const (
	maxDelayMs = 5000
	maxLossPct = 100
)

// limit returns the largest value of a setting; false means that there is none of that name.
func limit(name string) (most float64, known bool) {
	switch name {
	case "away", "autopilot", "packets", "predict", "interpolate", "lagcomp":
		return 1, true
	case "delayMs", "jitterMs", "outageMs":
		return maxDelayMs, true
	case "lossPct":
		return maxLossPct, true
	case "playoutMs":
		return spanMs(playout.MaxDelay), true
	}
	return 0, false
}

// Set changes a setting whose value is a number; docs/BRIDGE.md lists them all. It returns "" or
// why the value is refused.
func (b *Bridge) Set(name string, v float64) string {
	if name == "profile" && v == 0 {
		return b.SetText(name, "")
	}
	most, known := limit(name)
	switch {
	case !known:
		return "There is no setting " + strconv.Quote(name) + "."
	case !(v >= 0 && v <= most):
		return name + " " + number(v) + " is outside 0 to " + number(most) + "."
	}
	on := v != 0
	switch name {
	case "away":
		b.setAway(on)
	case "autopilot":
		if on && b.rules.Bot() == nil {
			return "The game " + b.rules.Name + " has no bot that could drive."
		}
		b.set.autopilot = on
	case "packets":
		b.set.packets = on
		b.flights = b.flights[:0]
	case "predict":
		b.setTechniques(on, b.set.interpolate)
	case "interpolate":
		b.setTechniques(b.set.predict, on)
	case "lagcomp":
		b.set.lagcomp = on
		if b.client != nil {
			b.client.SetRewind(on)
		}
	case "playoutMs":
		return b.setPlayout(span(v))
	case "outageMs":
		b.network.outage = b.now.Add(span(v))
	case "delayMs":
		b.network.delay = span(v)
		return b.network.update()
	case "jitterMs":
		b.network.jitter = span(v)
		return b.network.update()
	case "lossPct":
		b.network.loss = v / 100
		return b.network.update()
	}
	return ""
}

func (b *Bridge) setAway(on bool) {
	if b.set.away == on {
		return
	}
	b.set.away = on
	if b.client != nil {
		b.client.SetAway(on)
	}
	if on {
		b.sendAway()
	}
}

func (b *Bridge) setTechniques(predict, interpolate bool) {
	b.set.predict, b.set.interpolate = predict, interpolate
	if b.client != nil {
		b.client.SetTechniques(predict, interpolate)
	}
}

func (b *Bridge) setPlayout(delay time.Duration) string {
	b.set.playout = delay
	if b.client != nil {
		if err := b.client.SetPlayout(delay); err != nil {
			return err.Error()
		}
	}
	return ""
}

// SetText changes a setting whose value is a text. It returns "" or why the value is refused.
func (b *Bridge) SetText(name, value string) string {
	if name == "profile" {
		old := b.network.profile
		b.network.profile = value
		refused := b.network.update()
		if refused != "" {
			b.network.profile = old
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
