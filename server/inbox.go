package server

import (
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/wire"
)

// inbox keeps a player's commands until their turn comes. It has room for as many as wait at once, cmdWindow at most: a client is no further
// ahead than its path asks for, so that most need room for eight.
type inbox struct {
	held []heldCommand // a power of two of them; a command is at its tick modulo their number
	vals []int64       // their integers, one after the other

	newest clock.Tick             // that arrived
	came   [cmdWindow / 64]uint64 // which of the cmdWindow ticks up to that one did, by tick modulo cmdWindow
}

type heldCommand struct {
	seen   clock.TickFrac
	early  time.Duration // how long it will have waited for its tick; where commands are queued, when it arrived
	tick   clock.Tick
	newest wire.Seq
}

// arrived reports whether the command of tick t came: false for those cmdWindow ticks before the newest, which nobody asks for.
func (b *inbox) arrived(t clock.Tick) bool {
	return t <= b.newest && b.newest-t < cmdWindow && b.came[t%cmdWindow/64]>>(t%64)&1 != 0
}

// arrive notes that the command of tick t came.
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

// put keeps a command. Those up to tick ran are of no use any more.
func (b *inbox) put(cmd *packet.Command, early time.Duration, ran clock.Tick) {
	for !b.free(cmd.Tick, ran) {
		b.grow(len(cmd.Vals), ran)
	}
	at := int(cmd.Tick) % len(b.held)
	b.held[at] = heldCommand{cmd.Seen, early, cmd.Tick, cmd.Newest}
	copy(b.vals[at*len(cmd.Vals):], cmd.Vals)
}

// free reports whether nothing that is still of use is at the place of tick t.
func (b *inbox) free(t, ran clock.Tick) bool {
	n := len(b.held)
	if n == 0 {
		return false
	}
	old := b.held[int(t)%n].tick
	return n == cmdWindow || old <= ran || old == t
}

func (b *inbox) grow(ints int, ran clock.Tick) {
	old, vals := b.held, b.vals
	b.held = make([]heldCommand, max(2*len(old), 8))
	b.vals = make([]int64, len(b.held)*ints)
	for i := range old {
		if h := old[i]; h.tick > ran {
			at := int(h.tick) % len(b.held)
			b.held[at] = h
			copy(b.vals[at*ints:], vals[i*ints:(i+1)*ints])
		}
	}
}

// take sets cmd to the command of tick t, and reports whether it is there, and what put was told of it.
func (b *inbox) take(t clock.Tick, cmd *packet.Command) (early time.Duration, ok bool) {
	if len(b.held) == 0 {
		return 0, false
	}
	at := int(t) % len(b.held)
	h := &b.held[at]
	if h.tick != t {
		return 0, false
	}
	ints := len(b.vals) / len(b.held)
	*cmd = packet.Command{Tick: t, Vals: append(cmd.Vals[:0], b.vals[at*ints:(at+1)*ints]...), Seen: h.seen, Newest: h.newest}
	return h.early, true
}
