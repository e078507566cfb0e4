package server

import (
	"slices"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/rate"
	"meanwhile/netcode/reliable"
	"meanwhile/netcode/snapshot"
	"meanwhile/session"
)

// keptFor is for how long a client may have been without a connection and still go on with what it
// received. What it keeps is older than the whole history after a few seconds, but sound; beyond
// this it costs more to describe the changes than to begin anew.
const keptFor = Timeout

// begin makes what the server knows of a connection new, as of a client that knows nothing. Counters
// go on.
func (p *player) begin(now clock.Time) error {
	s := p.s
	sender, err := reliable.NewSender(reliable.Config{})
	if err != nil {
		return err
	}
	budget := rate.BytesPerSecond(p.limits.Budget)
	window := p.down.window // the budget is one for all connections of a player
	if window == nil {
		if window, err = rate.NewWindow(budget); err != nil {
			return err
		}
		window.Guard = s.cfg.Guard
	}
	capacity, err := rate.NewCapacity(rate.CapacityConfig{Floor: MinBudget, Ceiling: budget})
	if err != nil {
		return err
	}
	p.up, p.commands, p.trail = uplink{heard: now}, commands{stats: p.commands.stats}, trail{}
	p.sight.looked, p.sight.crowded = 0, false
	if p.words != nil { // what waits was sent, and how often stays bounded
		p.words.receiver = reliable.Receiver{MaxBytes: p.words.receiver.MaxBytes}
	}
	d := &p.down
	*d = downlink{view: snapshot.NewView(s.hist), messages: sender, window: window, path: path{capacity: capacity},
		applied: s.tick, lineNo: s.line.no, send: p.limits.Send, phase: int(p.id) % s.rules.Rate,
		stats: p.down.stats}
	if s.line.Period == s.period {
		d.line.Learned() // by the welcome
	}
	d.view.Share(&s.look)
	p.commands.claims.Without, p.commands.claims.Chosen = s.cfg.Unchecked, s.cfg.Playout
	p.commands.last.Vals = make([]int64, s.rules.Command.Sims)
	s.rules.Command.Clamp(p.commands.last.Vals) // zeros may lie outside a range
	return nil
}

// welcome returns the answer to a player who is in. The host adds what is its own.
func (p *player) welcome() session.Welcome {
	s := p.s
	return session.Welcome{Session: uint16(p.id)*40503 + 1, Player: uint32(p.id), Tick: s.tick, ServerTime: s.now,
		Period: s.period, SendRate: uint16(p.limits.Send), Seed: s.cfg.Seed, History: snapshot.HistoryTicks,
		BudgetDown: uint32(p.limits.Budget) * 8, Late: min(s.late, session.MaxGrace), Room: s.cfg.Room, Game: s.rules.Name}
}

// Suspend says that a player has no connection any more, but may come back. Its avatar stays and
// does nothing; no tick counts as starved. Nothing is sent, and events are not kept for the player.
func (s *Server) Suspend(id PlayerID, now clock.Time) {
	_, p := s.find(id)
	if p == nil || p.absent {
		return
	}
	p.absent, p.since = true, now
	p.down.log.Expire(clock.Time(1)<<62, p.down.resend)
	p.commands.withdraw(s)
	p.commands.late.Tick = 0
	p.commands.idle, p.commands.idles = true, 0
	packet.Neutral(s.rules.Command, p.commands.last.Vals)
}

// Resume says that a player has another connection, whether it was suspended or not; kept says that
// its client has all that it received. It returns the welcome, which says whether the server goes
// on from that, or begins anew with the same avatar. ok is false if there is no such player.
func (s *Server) Resume(id PlayerID, now clock.Time, kept bool) (w session.Welcome, ok bool) {
	_, p := s.find(id)
	if p == nil {
		return session.Welcome{}, false
	}
	gone := time.Duration(0)
	if p.absent {
		gone = now.Sub(p.since)
	}
	s.Suspend(id, now)
	p.absent = false
	if kept = kept && gone <= keptFor && !p.missed; kept {
		p.anotherPath(now)
	} else {
		for _, i := range p.spawns {
			delete(s.owners.spawns, i)
		}
		p.spawns = slices.Delete(p.spawns, 0, len(p.spawns))
		_ = p.begin(now) // its limits were accepted before
		p.missed, p.ended = false, false
	}
	w = p.welcome()
	w.Resumed, w.Kept = true, kept
	return w, true
}

// anotherPath forgets what was known of the path, as the client comes over another one.
func (p *player) anotherPath(now clock.Time) {
	p.up.heard, p.up.echoDue, p.up.queue, p.up.queued = now, false, rate.OneWay{}, 0
	d := &p.down
	d.log.Resume(p.s.tick)
	d.path.capacity.Restart()
	d.path = path{capacity: d.path.capacity, answered: d.path.answered}
	d.lastSent, d.mustAck = now, true
}
