package packet

import (
	"slices"
	"time"

	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// Limits of commands.
const (
	// MaxCommands is how many commands one datagram carries at most: those of the last second at 60
	// Hz. More are refused.
	MaxCommands = 64
	// LatePress is how late a command may arrive and its presses still run, at the server's next
	// tick. A client does not repeat commands that would be later.
	LatePress = 250 * time.Millisecond

	// maxPacketsBack is how many packets before the newest acknowledged one Command.Newest of a
	// datagram's first command can lie. AppendCommands cuts it to that.
	maxPacketsBack = 1<<newestBits - 1
	newestBits     = 7

	maxViewChange = 1 << 40 // of a playout time, in 1/256 ticks; more is cut, and out of bounds anyway
)

// Orders of the Exp-Golomb codes of commands.
const (
	countOrder     = 2
	firstSeenOrder = 12 // how far the playout time lies behind the command's tick
	seenOrder      = 3  // by how much its advance differs from a tick
	newestOrder    = 0  // by how many packets the newest one advanced
)

// A Command is a player's intent for one tick, with what the player had on the screen.
type Command struct {
	Tick   clock.Tick
	Vals   []int64        // the command's simulation integers
	Seen   clock.TickFrac // playout time of the frame that the player reacted to; 0: none
	Newest wire.Seq       // newest packet whose records were in that frame
}

// AppendCommands writes commands of consecutive ticks, oldest first, MaxCommands at most. latest is
// the packet that the same datagram acknowledges as newest. A playout time after the command's own
// tick is written as that tick, a newest packet more than 127 before latest as the one 127 before.
//
//	count      Exp-Golomb of order 2
//	tick       32 bits, of the last command; none follows if count is 0
//	per command
//	  same     1 bit: the properties are those of the command before
//	  props    per property a presence bit and, if set, its absolute value; absent ones are those of the
//	           command before, or zero in the first
//	  seen     where the command before has none: 1 bit whether there is one, then tick*256-seen by Exp-Golomb of
//	           order 12; else: its advance minus 256, signed, of order 3
//	  newest   first: latest-newest, 7 bits; later: its advance, modulo 2^16, Exp-Golomb of order 0
func AppendCommands(w *wire.BitWriter, k *schema.Kind, cmds []Command, latest wire.Seq) {
	w.Uvarint(uint64(len(cmds)), countOrder)
	if len(cmds) == 0 {
		return
	}
	w.Bits(uint64(cmds[len(cmds)-1].Tick), 32)
	var seen clock.TickFrac // of the command before, as the reader has it
	var newest wire.Seq
	var before *Command
	for i := range cmds {
		c := &cmds[i]
		appendValues(w, k, c, before)
		before = c

		s := min(max(c.Seen, 0), c.Tick.Frac())
		if seen > 0 {
			w.Varint(int64(s-seen)-clock.FracPerTick, seenOrder)
		} else if w.Bool(s > 0); s > 0 {
			w.Uvarint(uint64(c.Tick.Frac()-s), firstSeenOrder)
		}
		back := min(latest-c.Newest, maxPacketsBack)
		if i == 0 {
			w.Bits(uint64(back), newestBits)
		} else {
			w.Uvarint(uint64(latest-back-newest), newestOrder)
		}
		seen, newest = s, latest-back
	}
}

// appendValues writes the properties of c, as a change of those of the command before, nil for the
// first.
func appendValues(w *wire.BitWriter, k *schema.Kind, c, before *Command) {
	same := before != nil && slices.Equal(c.Vals, before.Vals)
	if w.Bool(same); same {
		return
	}
	for i := range k.Props {
		p := &k.Props[i]
		present := false
		for j := p.At; j < p.At+p.Comps; j++ {
			old := int64(0)
			if before != nil {
				old = before.Vals[j]
			}
			present = present || c.Vals[j] != old
		}
		if w.Bool(present); present {
			appendProp(w, p, c.Vals, c.Tick)
		}
	}
}

// DecodeCommands reads commands into dst, whose Vals are reused. Values are clamped to what the
// schema allows; a playout time before 0 or after the command's tick becomes none. It fails with
// wire.ErrTruncated or wire.ErrMalformed, and then nothing in dst may be used.
func DecodeCommands(r *wire.BitReader, k *schema.Kind, dst []Command, latest wire.Seq) ([]Command, error) {
	n := r.Uvarint(countOrder)
	if r.Bad() {
		return nil, wire.ErrTruncated
	}
	if n > MaxCommands {
		return nil, fault.Errorf("%w: %d commands, at most %d fit a packet", wire.ErrMalformed, n, MaxCommands)
	}
	if n == 0 {
		return dst[:0], nil
	}
	last := clock.Tick(r.Bits(32))
	if r.Bad() {
		return nil, wire.ErrTruncated
	}
	if last < clock.Tick(n) {
		return nil, fault.Errorf("%w: %d commands up to tick %d", wire.ErrMalformed, n, last)
	}
	if cap(dst) < int(n) {
		dst = append(dst[:cap(dst)], make([]Command, int(n)-cap(dst))...)
	}
	dst = dst[:n]
	for i := range dst {
		var before *Command
		if i > 0 {
			before = &dst[i-1]
		}
		c := &dst[i]
		c.Tick = last - clock.Tick(len(dst)-1-i)
		if !decodeValues(r, k, c, before) {
			return nil, fault.Errorf("%w: the first command is said to be that of the tick before", wire.ErrMalformed)
		}
		decodeView(r, c, before, latest)
		if r.Bad() {
			return nil, wire.ErrTruncated
		}
		if c.Seen < 0 || c.Seen > c.Tick.Frac() {
			c.Seen = 0 // a claim that no honest client makes
		}
	}
	return dst, nil
}

// decodeValues reads the properties of c; before is the command before, nil for the first. It
// returns false if the first is written as equal to the one before.
func decodeValues(r *wire.BitReader, k *schema.Kind, c, before *Command) bool {
	if cap(c.Vals) < k.Sims {
		c.Vals = make([]int64, k.Sims)
	}
	c.Vals = c.Vals[:k.Sims]
	if before != nil {
		copy(c.Vals, before.Vals)
	} else {
		clear(c.Vals)
	}
	if same := r.Bool(); same {
		return before != nil
	}
	for i := range k.Props {
		if r.Bool() {
			decodeProp(r, &k.Props[i], c.Vals, c.Tick)
		}
	}
	k.Clamp(c.Vals)
	return true
}

// decodeView reads what the player of c had on the screen.
func decodeView(r *wire.BitReader, c, before *Command, latest wire.Seq) {
	c.Seen = 0
	if before != nil && before.Seen > 0 {
		change := min(max(r.Varint(seenOrder), -maxViewChange), maxViewChange)
		c.Seen = before.Seen + clock.FracPerTick + clock.TickFrac(change)
	} else if r.Bool() {
		c.Seen = c.Tick.Frac() - clock.TickFrac(min(r.Uvarint(firstSeenOrder), maxViewChange))
	}
	if before == nil {
		c.Newest = latest - wire.Seq(r.Bits(newestBits))
	} else {
		c.Newest = before.Newest + wire.Seq(r.Uvarint(newestOrder))
	}
}

// ClearPresses takes the presses out of a command: where a command is repeated, a press must not
// be.
func ClearPresses(k *schema.Kind, vals []int64) {
	for i := range k.Props {
		if p := &k.Props[i]; p.Input() == schema.InputPress {
			vals[p.At] = 0
		}
	}
}

// ClearSticks takes the movement out of a command: its sticks stand in the middle.
func ClearSticks(k *schema.Kind, vals []int64) {
	for i := range k.Props {
		if p := &k.Props[i]; p.Input() == schema.InputMove {
			clear(vals[p.At : p.At+p.Comps])
		}
	}
}

// Neutral turns a command into that of a player who lets go of everything: no movement, nothing
// pressed or kept down. Aim and choices stay as they are.
func Neutral(k *schema.Kind, vals []int64) {
	for i := range k.Props {
		switch p := &k.Props[i]; p.Input() {
		case schema.InputMove, schema.InputPress, schema.InputHeld:
			clear(vals[p.At : p.At+p.Comps])
		}
	}
}

// HasPress reports whether a command has a press.
func HasPress(k *schema.Kind, vals []int64) bool {
	for i := range k.Props {
		if p := &k.Props[i]; p.Input() == schema.InputPress && vals[p.At] != 0 {
			return true
		}
	}
	return false
}
