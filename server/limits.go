package server

import "meanwhile/netcode/rate"

// Limits are what is sent to one player at most.
type Limits struct {
	// Budget is in bytes in any one second, wire.Overhead per datagram included. Zero means that of
	// the Config; smaller ones than MinBudget and larger ones than MaxBudget count as these.
	Budget int
	// Send is in packets a second. Zero means as many as the game sends; a larger or negative
	// number counts as that. A small Budget allows for fewer.
	Send int
}

// SetLimits changes what is sent to a player, at any time between ticks, and returns what holds
// from then on; false if the player is not connected. A budget that shrinks holds at once: sending
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
	p.limits = l
	_ = p.down.path.capacity.SetCeiling(rate.BytesPerSecond(l.Budget)) // both are within their bounds
	return l, true
}
