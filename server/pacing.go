package server

import (
	"time"

	"meanwhile/netcode/motion"
	"meanwhile/netcode/snapshot"
)

// pace learns how many records of others a packet to one client has room for.
type pace struct {
	cost  int64 // bits of a record, smoothed, in 1/costScale
	other int64 // bits of all else in a packet, smoothed, in 1/costScale
	room  int64 // records that fit in a packet, in 1/costScale
}

const (
	costScale   = 1 << 10
	initialCost = 80 * costScale // bits of a record, before any was written
)

// spends notes the content of a packet: n records with a sum of bits, and
// other bits of all else but first sights, which do not last. even is how many bits a packet may
// have if all are of the same size.
func (p *pace) spends(n, moving, other, even int) {
	if p.cost == 0 {
		p.cost, p.other = initialCost, int64(other)*costScale
	}
	if n > 0 {
		p.cost += (int64(moving)*costScale/int64(n) - p.cost) / 16
	}
	p.other += (int64(other)*costScale - p.other) / 16
	p.room = max(int64(even)*costScale-p.other, 0) * costScale / max(p.cost, costScale)
}

// records returns for how many records a packet has room, at least 1.
func (p *pace) records() int { return int(max(p.room/costScale, 1)) }

// exactRewind is how far back shots at far targets are judged by what was drawn, to the bit.
const exactRewind = 700 * time.Millisecond

// maxClass returns the greatest class with which a rewind still finds everything that was drawn in
// the history: the playout time may lie as far back as shots are judged, a record is shown later by
// its bound, and the one before it was drawn, too.
func (s *Server) maxClass(send int) uint8 {
	back := int64(0)
	if s.cfg.Rewind > 0 {
		back = int64(min(s.cfg.RewindTotal, exactRewind) / s.period)
	}
	room := (snapshot.HistoryTicks - 2 - back - int64((s.rules.Rate+send-1)/send)) / 2
	c := uint8(motion.Bounds - 1)
	for c > 0 && int64(motion.Wait(c)) > room {
		c--
	}
	return c
}
