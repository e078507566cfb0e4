package weather

import (
	"strings"
	"time"

	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
	"meanwhile/server"
)

// A kind is a sort of fault. begin and end run for each player that it concerns, or once with a nil
// seat where it concerns the server.
type kind struct {
	name        string
	least, most int // length in ms
	from, to    int // size
	server, all bool
	storm       bool // in the game storm alone
	back        bool // commands may go back
	settles     int  // ms for which a player is not yet calm after it; -1: its size
	weight      int  // 0 means 4
	begin, end  func(w *world, f *fault, s *seat)
}

var kindList = []*kind{
	{name: "cut", least: 50, most: 9000, all: true,
		begin: func(w *world, f *fault, s *seat) { s.cut[0]++; s.cut[1]++ },
		end:   func(w *world, f *fault, s *seat) { s.cut[0]--; s.cut[1]-- }},
	{name: "cut-down", least: 50, most: 9000, all: true,
		begin: func(w *world, f *fault, s *seat) { s.cut[0]++ },
		end:   func(w *world, f *fault, s *seat) { s.cut[0]-- }},
	{name: "cut-up", least: 50, most: 9000, all: true,
		begin: func(w *world, f *fault, s *seat) { s.cut[1]++ },
		end:   func(w *world, f *fault, s *seat) { s.cut[1]-- }},
	{name: "flap", settles: 5000, least: 500, most: 6000, from: 40, to: 600, all: true, // ms
		begin: func(w *world, f *fault, s *seat) { s.flap = ms(f.Size) },
		end:   func(w *world, f *fault, s *seat) { s.flap = 0 }},
	{name: "loss", settles: 5000, least: 500, most: 6000, from: 5, to: 80, all: true, // percent
		begin: func(w *world, f *fault, s *seat) { s.loss = f.Size; s.repath() },
		end:   func(w *world, f *fault, s *seat) { s.loss = 0; s.repath() }},
	{name: "delay", least: 200, most: 6000, from: 20, to: 900, all: true, // ms
		begin: func(w *world, f *fault, s *seat) { s.delay = f.Size; s.repath() },
		end:   func(w *world, f *fault, s *seat) { s.delay = 0; s.repath() }},
	{name: "reorder", least: 500, most: 6000, from: 5, to: 300, all: true, // ms
		begin: func(w *world, f *fault, s *seat) { s.reorder = f.Size; s.repath() },
		end:   func(w *world, f *fault, s *seat) { s.reorder = 0; s.repath() }},
	{name: "duplicate", least: 500, most: 6000, from: 5, to: 100, all: true, // percent
		begin: func(w *world, f *fault, s *seat) { s.twice = f.Size; s.repath() },
		end:   func(w *world, f *fault, s *seat) { s.twice = 0; s.repath() }},
	{name: "replay", settles: -1, least: 500, most: 6000, from: 100, to: 6000, all: true, // ms later
		begin: func(w *world, f *fault, s *seat) { s.again = ms(f.Size) },
		end:   func(w *world, f *fault, s *seat) { s.again = 0 }},
	{name: "corrupt", least: 500, most: 5000, from: 2, to: 60, // percent
		begin: func(w *world, f *fault, s *seat) { s.damage(f.Size) },
		end:   func(w *world, f *fault, s *seat) { s.repair() }},
	{name: "mtu", least: 500, most: 6000, from: 250, to: 1100, all: true, // bytes
		begin: func(w *world, f *fault, s *seat) { s.mtu = f.Size },
		end:   func(w *world, f *fault, s *seat) { s.mtu = 0 }},
	{name: "rate", settles: 3000, least: 500, most: 6000, from: 8, to: 200, all: true, // kbit/s
		begin: func(w *world, f *fault, s *seat) { s.rate = f.Size; s.repath() },
		end:   func(w *world, f *fault, s *seat) { s.rate = 0; s.repath() }},
	{name: "roam", settles: 5000, from: 0, to: len(roads) - 1, // the path of roads
		begin: func(w *world, f *fault, s *seat) { s.roam(roads[f.Size]) },
		end:   func(w *world, f *fault, s *seat) {}},
	{name: "stutter", least: 500, most: 6000, from: 30, to: 500, // ms a frame
		begin: func(w *world, f *fault, s *seat) { w.stutter(s, ms(f.Size), w.at(f.until())) },
		end:   func(w *world, f *fault, s *seat) {}},
	{name: "hang", back: true, least: 100, most: 9000,
		begin: func(w *world, f *fault, s *seat) { s.p.Freeze(ms(f.For)) },
		end:   func(w *world, f *fault, s *seat) {}},
	{name: "stop", back: true, least: 100, most: 9000,
		begin: func(w *world, f *fault, s *seat) { s.p.Hang(ms(f.For)) },
		end:   func(w *world, f *fault, s *seat) {}},
	{name: "sleep", back: true, least: 100, most: 9000, // the clock stands still, too
		begin: func(w *world, f *fault, s *seat) { s.p.Hang(ms(f.For)) },
		end:   func(w *world, f *fault, s *seat) { s.p.StepClock(-ms(f.For)) }},
	{name: "clock", back: true, from: -20000, to: 20000, // ms
		begin: func(w *world, f *fault, s *seat) { s.p.StepClock(ms(f.Size)) },
		end:   func(w *world, f *fault, s *seat) {}},
	{name: "nudge", settles: 4000, back: true, from: -400, to: 400, // ms
		begin: func(w *world, f *fault, s *seat) { s.p.StepClock(ms(f.Size)) },
		end:   func(w *world, f *fault, s *seat) {}},
	{name: "drift", from: -500, to: 500, all: true, // ppm, for good; of all, as against them the server's clock drifts
		begin: func(w *world, f *fault, s *seat) { s.p.SetDrift(int64(f.Size)) },
		end:   func(w *world, f *fault, s *seat) {}},
	{name: "away", least: 100, most: 8000,
		begin: func(w *world, f *fault, s *seat) { s.away(true) },
		end:   func(w *world, f *fault, s *seat) { s.away(false) }},
	{name: "server-stop", back: true, least: 100, most: 12000, server: true,
		begin: func(w *world, f *fault, s *seat) { w.sim.Hang(ms(f.For)) },
		end:   func(w *world, f *fault, s *seat) {}},
	{name: "server-slow", back: true, least: 200, most: 5000, from: 20, to: 400, server: true, // ms a tick
		begin: func(w *world, f *fault, s *seat) { w.sim.Slow(ms(f.Size), ms(f.For)) },
		end:   func(w *world, f *fault, s *seat) {}},
	{name: "server-sleep", back: true, least: 100, most: 9000, server: true, // its clock stands still, too
		begin: func(w *world, f *fault, s *seat) { w.sim.Sleep(ms(f.For)) },
		end:   func(w *world, f *fault, s *seat) {}},
	{name: "anew", least: 0, most: 5000, server: true,
		begin: func(w *world, f *fault, s *seat) { w.close() },
		end:   func(w *world, f *fault, s *seat) { w.open() }},
	{name: "move", least: 0, most: 3000, from: 1, to: 40, server: true, // ticks
		begin: func(w *world, f *fault, s *seat) { w.moves = f.Size },
		end:   func(w *world, f *fault, s *seat) { w.moves = 0 }},
	{name: "suspend", least: 0, most: 9000, all: true,
		begin: func(w *world, f *fault, s *seat) { s.suspend() },
		end:   func(w *world, f *fault, s *seat) { s.resume(true) }},
	{name: "restart", least: 0, most: 9000,
		begin: func(w *world, f *fault, s *seat) { s.suspend() },
		end:   func(w *world, f *fault, s *seat) { s.resume(false) }},
	{name: "expiry", least: 35500, most: 40000, weight: 1,
		begin: func(w *world, f *fault, s *seat) { s.suspend() },
		end:   func(w *world, f *fault, s *seat) { s.resume(true) }},
	{name: "leave", least: 0, most: 5000,
		begin: func(w *world, f *fault, s *seat) { s.leave() },
		end:   func(w *world, f *fault, s *seat) { s.come() }},
	{name: "guests", least: 100, most: 5000, from: 1, to: 6, server: true, // players
		begin: func(w *world, f *fault, s *seat) { w.invite(f.Size) },
		end:   func(w *world, f *fault, s *seat) { w.dismiss(f.Size) }},
	{name: "budget", least: 500, most: 8000, from: 8, to: 200, all: true, // kbit/s
		begin: func(w *world, f *fault, s *seat) { s.limit(server.Limits{Budget: f.Size * 1000 / 8}) },
		end:   func(w *world, f *fault, s *seat) { s.limit(server.Limits{}) }},
	{name: "send-rate", least: 500, most: 8000, from: 1, to: 15, all: true, // packets a second
		begin: func(w *world, f *fault, s *seat) { s.limit(server.Limits{Send: f.Size}) },
		end:   func(w *world, f *fault, s *seat) { s.limit(server.Limits{}) }},
	{name: "burst", least: 50, most: 5000, from: 5, to: 250, server: true, storm: true, // creatures
		begin: func(w *world, f *fault, s *seat) { w.storm.extra += f.Size },
		end:   func(w *world, f *fault, s *seat) { w.storm.strike = true }},
	{name: "jump", server: true, storm: true,
		begin: func(w *world, f *fault, s *seat) { w.storm.jump = true },
		end:   func(w *world, f *fault, s *seat) {}},
	{name: "flicker", least: 200, most: 6000, from: 1, to: 12, server: true, storm: true, // ticks
		begin: func(w *world, f *fault, s *seat) { w.storm.flicker = f.Size },
		end:   func(w *world, f *fault, s *seat) { w.storm.flicker = 0 }},
	{name: "chatter", from: 1, to: 60, server: true, storm: true, // messages
		begin: func(w *world, f *fault, s *seat) { w.storm.chatter += f.Size },
		end:   func(w *world, f *fault, s *seat) {}},
	{name: "panic-act", least: 30, most: 3000, storm: true,
		begin: func(w *world, f *fault, s *seat) { s.panics(w.sim.Server.Tick(), ms(f.For)) },
		end:   func(w *world, f *fault, s *seat) {}},
	{name: "panic-referee", least: 30, most: 2000, server: true, storm: true,
		begin: func(w *world, f *fault, s *seat) { w.storm.broken = true },
		end:   func(w *world, f *fault, s *seat) { w.storm.broken = false }},
}

// settling returns for how long a player is not yet calm after a fault: estimates of a path need up
// to five seconds to believe another one, what it is believed to carry falls when much is lost and
// grows by 5 % a round trip, and a clock that was set back by less than clock.StepLimit is followed
// slowly.
func (k *kind) settling(f *fault) time.Duration {
	switch back := clock.StepLimit.Milliseconds(); {
	case k.settles < 0:
		return ms(f.Size)
	case strings.HasSuffix(k.name, "sleep") && f.For <= int(back), k.name == "clock" && f.Size < 0 && -f.Size <= int(back):
		return ms(kinds["nudge"].settles)
	}
	return ms(k.settles)
}

// roads are the paths to which players roam.
var roads = []netsim.Profile{netsim.LAN, netsim.Fiber, netsim.HotelWiFi, netsim.Ocean}

var kinds = func() map[string]*kind {
	m := map[string]*kind{}
	for _, k := range kindList {
		m[k.name] = k
	}
	return m
}()

// Kinds returns the names of the kinds of faults.
func Kinds() (names []string) {
	for _, k := range kindList {
		names = append(names, k.name)
	}
	return names
}

// drawn lists the kinds that plans of a game draw from, those that are likelier more often.
func drawn(name string) (list []*kind) {
	for _, k := range kindList {
		n := k.weight
		if n == 0 {
			n = 4
		}
		for range n {
			if !k.storm || name == "storm" {
				list = append(list, k)
			}
		}
	}
	return list
}

// rateQueue is the least that waits at a rate, bytes. What waits when the rate ends still leaves at
// it, within three seconds at 8 kbit/s: a longer queue would be a fault that outlasts its plan.
const rateQueue = 3000

// repath gives the player's links the parameters that its faults ask for.
func (s *seat) repath() {
	for i, cfg := range []netsim.LinkConfig{s.path.Down, s.path.Up} {
		if s.loss > 0 {
			cfg.Loss = netsim.Loss{InGood: float64(s.loss) / 100}
		}
		cfg.Delay += ms(s.delay)
		if s.reorder > 0 {
			cfg.Jitter, cfg.Reorder = netsim.Uniform(ms(s.reorder)), true
		}
		if s.twice > 0 {
			cfg.Duplicate = float64(s.twice) / 100
		}
		if s.rate > 0 {
			cfg.Rate, cfg.Cell, cfg.Trace, cfg.Cross, cfg.Queue = int64(s.rate)*1000, netsim.Cell{}, nil, 0, 0
			cfg.Queue = max(rateQueue, s.rate*1000/8)
		}
		if err := s.p.Link(i == 1).Set(cfg); err != nil {
			s.w.fail("%v", err)
		}
	}
}

// roam moves the player to another path. What is under way is lost.
func (s *seat) roam(to netsim.Profile) {
	s.path = to
	s.roamed = true
	s.p.Reroute()
	s.repath()
}

// stutter lets the player's program make a frame only every d.
func (w *world) stutter(s *seat, d time.Duration, until clock.Time) {
	p := s.p
	w.sim.Loop.Every(w.sim.Loop.Now(), d, func() bool {
		if w.sim.Loop.Now() >= until || s.p != p {
			return false
		}
		p.Freeze(d - time.Millisecond)
		return true
	})
}

// panics lets the player's Act panic for d, on both sides: in ticks that no client has predicted
// yet.
func (s *seat) panics(now clock.Tick, d time.Duration) {
	s.panicFrom = now + clock.Tick(2*s.w.sim.Rules.Rate)
	s.panicTo = s.panicFrom + clock.Tick(d/s.w.sim.Server.Period())
}

// act reports whether the Act of a player panics in a tick.
func (w *world) act(me game.ID, tick game.Tick) bool {
	for _, s := range w.seats {
		if s.panicTo != 0 && s.p.Me() == me && clock.Tick(tick) > s.panicFrom && clock.Tick(tick) <= s.panicTo {
			return true
		}
	}
	return false
}
