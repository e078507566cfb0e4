package bridge

import (
	"math"
	"strconv"
	"time"

	"meanwhile/client"
	"meanwhile/netcode/playout"
	"meanwhile/netcode/predict"
	"meanwhile/session"
)

// settings are the choices of the page that hold across connections.
type settings struct {
	_ [0]func() // no == for it, which pages would have to load

	away, autopilot, packets      bool
	watch                         bool // in place of playing, from the next hello on
	follow                        uint32
	predict, interpolate, lagcomp bool
	playout                       time.Duration // 0: adaptive
	predicts                      time.Duration // at most; allPredicted: everything
	fading                        predict.Smoothing
	classic                       bool          // in place of fading
	replay                        time.Duration // 0: as client.Config has it
	limits                        session.Limits
}

// allPredicted stands for everything that is predicted.
const allPredicted = 5 * time.Second

func (s *settings) client() client.Config {
	by, tolerance := s.smoothing()
	return client.Config{
		Playout: s.playout, NoPrediction: !s.predicting(), NoInterpolation: !s.interpolate, NoRewind: !s.lagcomp,
		MaxPrediction: s.most(), Smoothing: by, Tolerance: tolerance, ReplayBudget: s.replay,
	}
}

// predicting reports whether the own avatar is drawn ahead of what the server said.
func (s *settings) predicting() bool { return s.predict && s.predicts > 0 }

// most is how much is predicted as the client counts it: 0 is everything.
func (s *settings) most() time.Duration {
	if s.predicts >= allPredicted {
		return 0
	}
	return s.predicts
}

func (s *settings) smoothing() (predict.Smoothing, predict.Tolerance) {
	if s.classic {
		return predict.Classic(), predict.ClassicTolerance()
	}
	return s.fading, predict.Tolerance{}
}

// maxSnapCm bounds the setting of how large a correction may be and still be hidden.
const maxSnapCm = 10_000

// Bounds of what a page asks the server for.
const (
	maxKbps = 100_000
	maxHz   = 1000
)

// Bounds of the simulated network.
const (
	maxDelayMs = 5000
	maxLossPct = 100
)

// limit returns the largest value of a setting; false means that there is none of that name.
func limit(name string) (most float64, known bool) {
	switch name {
	case "away", "autopilot", "packets", "predict", "interpolate", "lagcomp", "classic", "watch":
		return 1, true
	case "predictMs":
		return spanMs(allPredicted), true
	case "smoothMs":
		return spanMs(predict.MaxTau), true
	case "snapCm":
		return maxSnapCm, true
	case "replayMs":
		return spanMs(client.MaxReplayBudget), true
	case "delayMs", "jitterMs", "outageMs":
		return maxDelayMs, true
	case "lossPct":
		return maxLossPct, true
	case "downKbps":
		return maxKbps, true
	case "downHz":
		return maxHz, true
	case "playoutMs":
		return spanMs(playout.MaxDelay), true
	case "follow":
		return math.MaxUint32, true
	}
	return 0, false
}

// ask asks the server to send at most what the page wants.
func (b *Bridge) ask() {
	if !b.joined || b.cfg.Message == nil {
		return
	}
	if m, err := b.set.limits.Append(nil); err == nil {
		b.cfg.Message(m)
	}
}

// sayFollow says whom a page that watches looks from.
func (b *Bridge) sayFollow() {
	if !b.joined || b.welcome.Late == 0 || b.cfg.Message == nil {
		return
	}
	if m, err := (session.Follow{Entity: b.set.follow}).Append(nil); err == nil {
		b.cfg.Message(m)
	}
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
	case "watch":
		b.set.watch = on
	case "follow":
		b.set.follow = uint32(v)
		b.sayFollow()
	case "packets":
		b.set.packets = on
		b.flights = b.flights[:0]
	case "predict":
		b.set.predict = on
		return b.applyPrediction()
	case "predictMs":
		b.set.predicts = span(v)
		return b.applyPrediction()
	case "interpolate":
		b.set.interpolate = on
		return b.applyPrediction()
	case "smoothMs":
		b.set.fading.Tau = span(v)
		return b.applySmoothing()
	case "snapCm":
		b.set.fading.Snap = v / 100
		return b.applySmoothing()
	case "classic":
		b.set.classic = on
		return b.applySmoothing()
	case "replayMs":
		b.set.replay = span(v)
		if b.client != nil {
			return refusal(b.client.SetReplayBudget(b.set.replay))
		}
	case "lagcomp":
		b.set.lagcomp = on
		if b.client != nil {
			b.client.SetRewind(on)
		}
	case "playoutMs":
		return b.setPlayout(span(v))
	case "downKbps":
		b.set.limits.BudgetDown = uint32(v) * 1000
		b.ask()
	case "downHz":
		b.set.limits.SendRate = uint16(v)
		b.ask()
	case "outageMs":
		b.network.outage = b.now.Add(span(v))
	case "delayMs":
		b.network.delay = span(v)
		return b.anotherNetwork()
	case "jitterMs":
		b.network.jitter = span(v)
		return b.anotherNetwork()
	case "lossPct":
		b.network.loss = v / 100
		return b.anotherNetwork()
	}
	return ""
}

// anotherNetwork brings the simulated network in line with the settings. Packets that are on their
// way over the one before are lost, and the client learns of the new one from the start.
func (b *Bridge) anotherNetwork() string {
	refused := b.network.update()
	if refused == "" && b.client != nil {
		b.network.clear()
		b.client.AnotherPath()
	}
	return refused
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

// applyPrediction gives the client the settings of prediction and interpolation.
func (b *Bridge) applyPrediction() string {
	if b.client == nil {
		return ""
	}
	b.client.SetTechniques(b.set.predicting(), b.set.interpolate)
	return refusal(b.client.SetMaxPrediction(b.set.most()))
}

// applySmoothing gives the client the settings of how corrections are hidden.
func (b *Bridge) applySmoothing() string {
	if b.client == nil {
		return ""
	}
	return refusal(b.client.SetSmoothing(b.set.smoothing()))
}

func refusal(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func (b *Bridge) setPlayout(delay time.Duration) string {
	b.set.playout = delay
	if b.client != nil {
		return refusal(b.client.SetPlayout(delay))
	}
	return ""
}

// SetText changes a setting whose value is a text. It returns "" or why the value is refused.
func (b *Bridge) SetText(name, value string) string {
	if name == "profile" {
		old := b.network.profile
		b.network.profile = value
		refused := b.anotherNetwork()
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
