package server

import (
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/wire"
)

// A proof is what a client had applied for certain: it acknowledged it when it was making the
// commands of a tick.
type proof struct {
	ack  wire.Ack
	tick clock.Tick // 0: there is none
}

// proofAge is how much later a command must be than the one that arrived with a proof for the proof
// to hold: the frame that it was made from may have been drawn some frames before the proof was
// sent.
const proofAge = 100 * time.Millisecond

// completeBasis adds to a command that has just arrived which packets its frame lacked because they
// had not arrived at all. A client chooses by what it says only among packets that it may just have
// got: where it contradicts what it acknowledged long ago, that counts, and so does a packet that
// it does not acknowledge. It reports whether there was a contradiction.
func (u *uplink) completeBasis(cmd *packet.Command, log *wire.Log, period time.Duration) (contradicts bool) {
	newest, any := log.Acknowledged()
	if any && cmd.Newest.Newer(newest.Latest) {
		cmd.Newest, cmd.Without, contradicts = newest.Latest, 0, true
	}
	cmd.Without |= ^log.AckedBefore(cmd.Newest)
	age := max(clock.Tick(proofAge/period), 1)
	for i := range u.proofs {
		p := &u.proofs[i]
		if p.tick == 0 || cmd.Tick < p.tick+age {
			continue
		}
		had := p.ack.History
		switch d := cmd.Newest - p.ack.Latest; {
		case d >= 1<<15: // the client had a newer packet by then
			cmd.Newest, cmd.Without, contradicts = p.ack.Latest, ^had, true
		case d > 0:
			had = had<<d | 1<<(d-1)
		}
		if cmd.Without&had != 0 {
			cmd.Without, contradicts = cmd.Without&^had, true
		}
	}
	return contradicts
}

// stepBack says that the commands after a tick are made anew: after all that is proved by now.
func (u *uplink) stepBack(tick clock.Tick) {
	for i := range u.proofs {
		if p := &u.proofs[i]; p.tick != 0 {
			p.tick = max(min(p.tick, tick), 1)
		}
	}
}

// prove keeps what is acknowledged now, together with the newest command that the client has made.
func (u *uplink) prove(log *wire.Log, newest clock.Tick, period time.Duration) {
	a, ok := log.Acknowledged()
	if last := &u.proofs[1]; ok && (last.tick == 0 || newest >= last.tick+max(clock.Tick(proofAge/period), 1)) {
		u.proofs[0] = *last
		*last = proof{a, newest}
	}
}
