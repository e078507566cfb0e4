package server

import (
	"time"

	"meanwhile/netcode/rate"
)

// Limits are what is sent to one player at most, and how far back its shots are judged at most.
type Limits struct {
	// Budget is in bytes in any one second, wire.Overhead per datagram included. Zero means that of
	// the Config; smaller ones than MinBudget and larger ones than MaxBudget count as these.
	Budget int
	// Send is in packets a second. Zero means as many as the game sends; a larger or negative
	// number counts as that. A small Budget allows for fewer.
	Send int
	// Rewind and RewindTotal are those of the Config for this player's shots: the smaller one holds,
	// and a weapon may bound it further (game.World.RewindAtMost). Zero means that of the Config; a
	// negative Rewind judges by the present, a negative RewindTotal counts as zero.
	Rewind, RewindTotal time.Duration
}

// Retune changes what the Config says of budgets and of how far back shots are judged, in the ranges
// of New, between two ticks; also for players whose limits are those of the Config.
func (s *Server) Retune(budget int, most, total time.Duration) {
	was := s.cfg
	s.cfg.Budget, s.cfg.Rewind, s.cfg.RewindTotal = budget, most, total
	s.send = s.sendRate(budget)
	for _, p := range s.clients {
		l := p.limits
		if l.Budget == was.Budget {
			l.Budget, l.Send = budget, 0
		}
		if l.Rewind == was.Rewind {
			l.Rewind = most
		}
		if l.RewindTotal == was.RewindTotal {
			l.RewindTotal = total
		}
		s.SetLimits(p.id, l)
	}
}

// SetLimits changes the limits of a player, at any time between ticks, and returns what holds from
// then on; false if the player is not connected. A budget that shrinks holds at once: sending
// stops until the last second fits it.
func (s *Server) SetLimits(id PlayerID, l Limits) (Limits, bool) {
	_, p := s.find(id)
	if p == nil {
		return Limits{}, false
	}
	if l.Budget == 0 {
		l.Budget = s.cfg.Budget
	}
	l.Budget = min(max(l.Budget, MinBudget), MaxBudget)
	most := s.sendRate(l.Budget)
	if l.Send <= 0 || l.Send > most {
		l.Send = most
	}
	if s.cfg.Rewind < 0 || l.Rewind == 0 || l.Rewind > s.cfg.Rewind {
		l.Rewind = s.cfg.Rewind
	}
	if l.RewindTotal <= 0 || l.RewindTotal > s.cfg.RewindTotal {
		l.RewindTotal = s.cfg.RewindTotal
	}
	p.limits = l
	down := &p.down
	_ = down.path.capacity.SetCeiling(rate.BytesPerSecond(l.Budget)) // both are within their bounds
	_ = down.window.SetBudget(down.path.capacity.Rate())             // a heartbeat may come before the next packet
	return l, true
}
