package server

import (
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/wire"
)

// inbox keeps a player's commands until it is their turn. It has room for as many as wait at once,
// at most cmdWindow: a client is no further ahead than its path asks for, so most need room for
// eight.
type inbox struct {
	slots []storedCommand // a power of two of them; a command is at its tick modulo their number
	vals  []int64         // their integers, one after the other

	newest clock.Tick             // that arrived
	came   [cmdWindow / 64]uint64 // which of the cmdWindow ticks up to that one did, by tick modulo cmdWindow
}

type storedCommand struct {
	seen   clock.TickFrac
	lacks  uint64        // packet.Command.Without
	waits  time.Duration // how long it waits for its tick; where commands are queued, when it arrived
	tick   clock.Tick
	newest wire.Seq
	eye    uint16 // 1 more than how far packet.Command.Eye lies before tick-1; 0: none
	claim  packet.Claim
	moment uint8
}

// arrived reports whether the command of tick t arrived. It is false for ticks cmdWindow or more
// before the newest.
func (b *inbox) arrived(t clock.Tick) bool {
	return t <= b.newest && b.newest-t < cmdWindow && b.came[t%cmdWindow/64]>>(t%64)&1 != 0
}

// arrive notes that the command of tick t arrived.
func (b *inbox) arrive(t clock.Tick) {
	switch {
	case t <= b.newest && b.newest-t >= cmdWindow:
		return
	case t > b.newest && t-b.newest >= cmdWindow:
		b.came, b.newest = [cmdWindow / 64]uint64{}, t
	}
	for b.newest < t {
		b.newest++
		b.came[b.newest%cmdWindow/64] &^= 1 << (b.newest % 64)
	}
	b.came[t%cmdWindow/64] |= 1 << (t % 64)
}

// truncate forgets all commands after tick t.
func (b *inbox) truncate(t clock.Tick) {
	b.newest = min(b.newest, t)
	for i := range b.slots {
		if b.slots[i].tick > t {
			b.slots[i].tick = 0
		}
	}
}

// put stores a command. Commands up to tick ran are of no use any more; their places are used
// again.
func (b *inbox) put(cmd *packet.Command, waits time.Duration, ran clock.Tick) {
	for !b.free(cmd.Tick, ran) {
		b.grow(len(cmd.Vals), ran)
	}
	at := int(cmd.Tick) % len(b.slots)
	eye := uint16(0)
	if e := packet.BoundEye(cmd.Eye, cmd.Tick); e != 0 {
		eye = uint16((cmd.Tick-1).Frac()-e) + 1
	}
	b.slots[at] = storedCommand{cmd.Seen, cmd.Without, waits, cmd.Tick, cmd.Newest, eye, cmd.Claim, cmd.Moment}
	copy(b.vals[at*len(cmd.Vals):], cmd.Vals)
}

// free reports whether the place of tick t is free of commands that are still of use.
func (b *inbox) free(t, ran clock.Tick) bool {
	n := len(b.slots)
	if n == 0 {
		return false
	}
	old := b.slots[int(t)%n].tick
	return n == cmdWindow || old <= ran || old == t
}

// grow doubles the room.
func (b *inbox) grow(ints int, ran clock.Tick) {
	old, vals := b.slots, b.vals
	b.slots = make([]storedCommand, max(2*len(old), 8))
	b.vals = make([]int64, len(b.slots)*ints)
	for i := range old {
		if h := old[i]; h.tick > ran {
			at := int(h.tick) % len(b.slots)
			b.slots[at] = h
			copy(b.vals[at*ints:], vals[i*ints:(i+1)*ints])
		}
	}
}

// take sets cmd to the command of tick t, if it is there, and returns the waits that put got with
// it.
func (b *inbox) take(t clock.Tick, cmd *packet.Command) (waits time.Duration, ok bool) {
	if len(b.slots) == 0 {
		return 0, false
	}
	at := int(t) % len(b.slots)
	h := &b.slots[at]
	if h.tick != t {
		return 0, false
	}
	ints := len(b.vals) / len(b.slots)
	vals := append(cmd.Vals[:0], b.vals[at*ints:(at+1)*ints]...)
	*cmd = packet.Command{Tick: t, Vals: vals, Seen: h.seen, Newest: h.newest, Without: h.lacks, Moment: h.moment,
		Claim: h.claim}
	if h.eye != 0 {
		cmd.Eye = (t - 1).Frac() - clock.TickFrac(h.eye-1)
	}
	return h.waits, true
}
