package server

import (
	"time"

	"meanwhile/game"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

// PlayerStats counts what happened to one player's commands and packets.
type PlayerStats struct {
	CommandStats
	DownlinkStats
	WordStats
	Reported Reported
	// RTT is the smoothed round trip of the network alone; 0 before it was measured.
	RTT time.Duration
	// DownRate is how many bytes a second the way down carries, as far as the server knows.
	DownRate int
	Budget   int // bytes that it may be sent in any one second
}

// Reported is what a client claims about once a second of how its player sees the game. Nothing but
// figures depends on it: of each counter a client can claim 510 a second.
type Reported struct {
	Reports     uint64        // that counted
	Delay       time.Duration // playout delay in the newest, up to 1.02 s
	Hitches     uint64        // see client.Stats
	Stalls      uint64        // client.Stats.SingleHitches
	Corrections uint64        // client.Prediction.Corrections
}

// player is one connected player. Its parts have their own state: what arrives from its client, the
// commands, what it may know of the world, and what is sent to it.
type player struct {
	s      *Server
	id     PlayerID
	name   string
	avatar game.ID // 0: none
	lost   game.ID // the newest avatar that the rules removed; 0: none
	ent    int32   // the avatar's index in the history; -1: none
	joined clock.Tick
	absent bool           // suspended: there is no connection,
	since  clock.Time     // since then
	spawns []int32        // see noteSpawn
	record *engine.Record // see SetRecord; nil: none that lasts

	limits Limits

	up       uplink
	commands commands
	trail    trail // where commands are queued
	sight    visibility
	down     downlink

	words     *words // nil until the first message
	wordStats WordStats
	reported  Reported
	ended     bool // see Server.Ends
	missed    bool // a message to it was lost while it was absent: its client begins anew
}

// delivered handles the acknowledgement of a packet.
func (p *player) delivered(sent *wire.Packet) {
	d := &p.down
	d.path.arrived(sent.Size)
	d.view.Delivered(sent)
	d.messages.Delivered(uint16(sent.Seq))
	d.rest.Delivered(sent.Seq)
	d.line.Delivered(sent.Seq)
	d.applied = max(d.applied, sent.Tick)
	p.up.received.Delivered(sent.Seq)
	d.receipts.settle(sent.Seq, true)
}

// missing handles a packet that later acknowledgements show to be lost. The slack that it reported
// is reported again: reports tend to be lost in just the moments in which commands are late.
func (p *player) missing(sent *wire.Packet) {
	p.down.stats.Lost++
	p.down.path.capacity.Missing(max(p.up.heard, p.s.now))
	p.down.resend(sent)
	if sent.Note != noSlackReported {
		p.commands.noteSlack(int64(sent.Note) << 4)
	}
}

// Stats returns what happened to a player's commands and packets; false if it is not connected.
func (s *Server) Stats(id PlayerID) (PlayerStats, bool) {
	_, p := s.find(id)
	if p == nil {
		return PlayerStats{}, false
	}
	path, commands := &p.down.path, p.commands.stats
	commands.Suspicion = p.commands.claims.Suspicion()
	return PlayerStats{CommandStats: commands, DownlinkStats: p.down.stats, WordStats: p.wordStats,
		Reported: p.reported, RTT: path.rtt.Smoothed(), DownRate: int(path.capacity.Rate()), Budget: p.limits.Budget}, true
}

// Avatar returns a player's avatar; 0 before it appeared, and for a player who only watches.
func (s *Server) Avatar(id PlayerID) game.ID {
	if _, p := s.find(id); p != nil {
		return p.avatar
	}
	return 0
}

// Dropped notes that the transport threw a player's datagram away before it reached the path: its
// content is due again at once.
func (s *Server) Dropped(id PlayerID, seq wire.Seq) {
	if _, p := s.find(id); p != nil {
		p.down.log.Drop(seq, p.down.resend)
	}
}

// Beat charges a player's budget for a datagram of size bytes that the edge sends itself, a
// heartbeat, and reports whether it fits. If it does not it must not be sent. Beat may run beside
// Begin, which sends nothing, but beside no other method.
func (s *Server) Beat(id PlayerID, now clock.Time, size int) bool {
	_, p := s.find(id)
	return p != nil && p.down.spend(now, size)
}

// Heard returns when the newest datagram of a player arrived; 0 if it is not connected.
func (s *Server) Heard(id PlayerID) clock.Time {
	if _, p := s.find(id); p != nil {
		return p.up.heard
	}
	return 0
}

// View returns what a player's client is known to hold, for tests and tools; nil if it is not
// connected.
func (s *Server) View(id PlayerID) *snapshot.View {
	if _, p := s.find(id); p != nil {
		return p.down.view
	}
	return nil
}
