package client

import "time"

// Stats is what a client knows of its own state. Counters count since New.
type Stats struct {
	Received      uint64 // datagrams applied
	ReceivedBytes uint64 // of those, wire.Overhead per datagram included
	Sent          uint64 // datagrams
	SentBytes     uint64 // wire.Overhead per datagram included
	Heartbeats    uint64 // datagrams by which the server said that a tick is late

	// Datagrams, and events in them, that had no effect, by reason.
	Malformed    uint64 // not decodable
	Duplicate    uint64 // applied before, or too old
	NoBaseline   uint64 // a baseline that they need is gone
	InboxDropped uint64 // more than maxInbox arrived within a frame
	EventsLost   uint64 // events beyond maxEvents, as nobody asked for them in time
	WordsLost    uint64 // messages beyond maxWords, likewise

	Prediction Prediction
	Starved    uint64 // ticks for which the server had no command of this player's, as far as it reported

	// Hitches counts stalls of the playout time, in which everything stood still, see
	// playout.Hitches.
	Hitches uint64
	// EntityHitches counts stalls of single entities: nothing newer had arrived for them while they
	// moved.
	EntityHitches uint64
	// SingleHitches is the part of EntityHitches in which records of others had arrived. Most are no
	// fault: what pauses for fewer ticks than it takes to rest (snapshot), or turns by a step now and
	// then, has no record meanwhile, and nothing says when it went on; nor has what rests and is sent
	// on a finer level. On a path without loss all are of these.
	SingleHitches uint64

	RTT      time.Duration // smoothed round trip
	LeastRTT time.Duration // least round trip lately
	UpRate   int           // bytes a second that the way up carries, as far as is known

	Synced     bool          // the server reported on commands of this player's
	ClockSteps uint64        // how often a clock was set, the local one or the server's
	Hangs      uint64        // how often commands were made anew, as the server had stood still
	Bound      time.Duration // of the error of the estimated server time, see clock.Estimator.MaxError
	Estimated  time.Duration // the same while the clocks' rates change slowly: see clock.Estimator.SteadyError

	Delay       time.Duration // playout delay: server time minus playout time
	DelayTarget time.Duration // playout delay that is aimed at, above the path's floor
	Age         time.Duration // of the newest packet that arrived, above the path's floor
	Lead        time.Duration // command time minus server time
}

// Prediction counts what became of what a client predicted.
type Prediction struct {
	Confirmed   uint64 // own states that the server sent
	Corrections uint64 // of those, states that differed from the prediction
	Replayed    uint64 // ticks that were predicted again
	Deferred    uint64 // frames that left some of that to the next one: Config.ReplayBudget was spent
	Owed        int    // ticks that are still to be predicted again
	Cancelled   uint64 // predicted events that were taken back
	Faults      uint64 // predicted commands that panicked in the game's rules
}

// Stats returns what the client knows of its own state.
func (c *Client) Stats() Stats {
	s, t := c.stats, &c.time
	s.LeastRTT, s.RTT = t.est.RTT()
	s.Bound = t.est.MaxError()
	if t.synced() {
		s.Estimated = t.est.SteadyError(t.now) + t.server.Error().Abs()
	}
	if at := t.play.DisplayTime(); at != 0 && t.synced() {
		s.Delay = t.server.Now(t.now).Sub(at)
	}
	s.DelayTarget, s.Age, s.Hitches = t.play.Target(), t.play.Age(t.now), t.play.Hitches()
	s.Prediction.Owed = c.own.ring.Debt()
	s.Lead, s.Synced = t.ahead(), t.lead.reported()
	s.UpRate = int(c.up.path.Rate())
	return s
}
