package game

import (
	"time"

	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// A Command is a player's intent for one tick, as it travels: integers, and what its player had on the screen.
type Command struct {
	Tick   Tick
	Vals   []int64        // the command's simulation integers
	Seen   clock.TickFrac // playout time of the picture that the player reacted to; 0: none
	Newest wire.Seq       // newest packet whose records were in that picture
}

// Unpress clears the presses of a command: where a command is repeated, an edge must not be.
func Unpress(k *schema.Kind, vals []int64) {
	for i := range k.Props {
		if p := &k.Props[i]; p.Class == schema.Press {
			vals[p.At] = 0
		}
	}
}

// Still takes the movement out of a command: its sticks stand in the middle.
func Still(k *schema.Kind, vals []int64) {
	for i := range k.Props {
		if p := &k.Props[i]; p.Class == schema.Stick {
			clear(vals[p.At : p.At+p.Comps])
		}
	}
}

// Neutral turns a command into that of someone who lets go of everything: no movement, nothing pressed or held. Aim and
// choices stay as they are.
func Neutral(k *schema.Kind, vals []int64) {
	for i := range k.Props {
		switch p := &k.Props[i]; p.Class {
		case schema.Stick, schema.Press, schema.Bool:
			clear(vals[p.At : p.At+p.Comps])
		}
	}
}

// Pressed reports whether a command has a press.
func Pressed(k *schema.Kind, vals []int64) bool {
	for i := range k.Props {
		if p := &k.Props[i]; p.Class == schema.Press && vals[p.At] != 0 {
			return true
		}
	}
	return false
}

// LatePress is how late a command may come and its presses be run all the same, at the server's next tick. What is later is neither repeated nor run.
const LatePress = 250 * time.Millisecond

// MaxCommands is how many commands one packet repeats at most: those of the last second at 60 Hz.
const MaxCommands = 64

// Orders of the codes of AppendCommands.
const (
	countK = 2
	firstK = 12 // how far the playout time lies behind the command
	seenK  = 3  // by how much its advance differs from a tick
	packK  = 0  // by how many packets the newest one moved on
)

// An Uplink is what a client says before its commands.
//
//	1 bit   Away
//	1 bit   Sparse
type Uplink struct {
	Away   bool // nobody looks: little needs to be sent
	Sparse bool // older commands than those in this datagram may still come; otherwise the server need not wait for any
}

// Append writes u.
func (u Uplink) Append(w *wire.BitWriter) {
	w.Bool(u.Away)
	w.Bool(u.Sparse)
}

// ReadUplink reads what Append wrote. Where the datagram is cut short the reader says so.
func ReadUplink(r *wire.BitReader) (u Uplink) {
	u.Away = r.Bool()
	u.Sparse = r.Bool()
	return u
}

// AppendCommands writes commands of consecutive ticks, oldest first, MaxCommands at most. latest is the packet that the same
// datagram acknowledges as newest. A playout time after the command's own tick is written as that tick, a newest packet more
// than 127 before latest as the one 127 before.
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
	w.Uvarint(uint64(len(cmds)), countK)
	if len(cmds) == 0 {
		return
	}
	w.Bits(uint64(cmds[len(cmds)-1].Tick), 32)
	var seen clock.TickFrac // of the command before, as the reader has it
	var newest wire.Seq
	for i := range cmds {
		c := &cmds[i]
		same := i > 0
		for j := 0; same && j < len(c.Vals); j++ {
			same = c.Vals[j] == cmds[i-1].Vals[j]
		}
		w.Bool(same)
		if !same {
			for pi := range k.Props {
				p := &k.Props[pi]
				present := false
				for j := p.At; j < p.At+p.Comps; j++ {
					before := int64(0)
					if i > 0 {
						before = cmds[i-1].Vals[j]
					}
					present = present || c.Vals[j] != before
				}
				w.Bool(present)
				for j := p.At; present && j < p.At+p.Comps; j++ {
					p.AppendAbsolute(w, c.Vals[j], false, int64(c.Tick))
				}
			}
		}
		s := min(max(c.Seen, 0), c.Tick.Frac())
		if i > 0 && seen > 0 {
			w.Varint(int64(s-seen)-clock.FracPerTick, seenK)
		} else if w.Bool(s > 0); s > 0 {
			w.Uvarint(uint64(c.Tick.Frac()-s), firstK)
		}
		back := min(latest-c.Newest, 127)
		if i == 0 {
			w.Bits(uint64(back), 7)
		} else {
			w.Uvarint(uint64(latest-back-newest), packK)
		}
		seen, newest = s, latest-back
	}
}

// ReadCommands reads what AppendCommands wrote into dst, whose Vals are reused. Values are clamped to what
// the schema allows. On an error nothing in dst may be used.
func ReadCommands(r *wire.BitReader, k *schema.Kind, dst []Command, latest wire.Seq) ([]Command, error) {
	n := r.Uvarint(countK)
	if r.Bad() {
		return nil, wire.ErrTruncated
	}
	if n > MaxCommands {
		return nil, fault.Errorf("%w: %d commands, at most %d fit a packet", wire.ErrMalformed, n, MaxCommands)
	}
	if n == 0 {
		return dst[:0], nil
	}
	last := Tick(r.Bits(32))
	if r.Bad() {
		return nil, wire.ErrTruncated
	}
	if last < Tick(n) {
		return nil, fault.Errorf("%w: %d commands up to tick %d", wire.ErrMalformed, n, last)
	}
	if cap(dst) < int(n) {
		dst = append(dst[:cap(dst)], make([]Command, int(n)-cap(dst))...)
	}
	dst = dst[:n]
	for i := range dst {
		c := &dst[i]
		c.Tick = last - Tick(len(dst)-1-i)
		if cap(c.Vals) < k.Sims {
			c.Vals = make([]int64, k.Sims)
		}
		c.Vals = c.Vals[:k.Sims]
		if i > 0 {
			copy(c.Vals, dst[i-1].Vals)
		} else {
			clear(c.Vals)
		}
		if same := r.Bool(); same && i == 0 {
			return nil, fault.Errorf("%w: the first command is said to be that of the tick before", wire.ErrMalformed)
		} else if !same {
			for pi := range k.Props {
				p := &k.Props[pi]
				if !r.Bool() {
					continue
				}
				for j := p.At; j < p.At+p.Comps; j++ {
					c.Vals[j] = p.ReadAbsolute(r, false, int64(c.Tick))
				}
			}
			k.Clamp(c.Vals)
		}
		c.Seen = 0
		if i > 0 && dst[i-1].Seen > 0 {
			c.Seen = dst[i-1].Seen + clock.FracPerTick + clock.TickFrac(min(max(r.Varint(seenK), -1<<40), 1<<40))
		} else if r.Bool() {
			c.Seen = c.Tick.Frac() - clock.TickFrac(min(r.Uvarint(firstK), 1<<40))
		}
		if i == 0 {
			c.Newest = latest - wire.Seq(r.Bits(7))
		} else {
			c.Newest = dst[i-1].Newest + wire.Seq(r.Uvarint(packK))
		}
		if r.Bad() {
			return nil, wire.ErrTruncated
		}
		if c.Seen < 0 || c.Seen > c.Tick.Frac() {
			c.Seen = 0 // a claim that no honest client makes
		}
	}
	return dst, nil
}
