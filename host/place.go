package host

import (
	"net/netip"
	"slices"

	"meanwhile/netcode/clock"
	"meanwhile/session"
)

// makePlace puts out a player of a full room for a newcomer from an address, and reports whether
// there was one to put out: who has done nothing for IdleTime, the longest first; else, where one
// address has more than half of the places, the newest player from there, unless the newcomer's
// address would then have as many. Where addresses cannot be told apart, only idleness counts.
func (r *room) makePlace(newcomer netip.Addr) bool {
	var idlest *player
	since := r.srv.Tick() - min(r.srv.Tick(), clock.Tick(IdleTime/r.srv.Period()))
	from := make(map[netip.Addr]int)
	for _, p := range r.order {
		if p.bot {
			continue
		}
		if p.address.IsValid() {
			from[p.address]++
		}
		stats, _ := r.srv.Stats(p.id)
		if acted := max(stats.LastActed, p.entered); acted < since {
			idlest, since = p, acted
		}
	}
	if idlest != nil {
		r.sendAway(idlest, session.Refusal{Code: session.Removed,
			Text: "the room is full, and you have done nothing for a while"})
		return true
	}
	for _, p := range slices.Backward(r.order) { // the newest first
		n := from[p.address]
		if newcomer.IsValid() && !p.bot && 2*n > r.places() && from[newcomer]+1 < n {
			r.sendAway(p, refusal(session.RoomFull, "the room is full, and %d of its players come from your address", n))
			return true
		}
	}
	return false
}
