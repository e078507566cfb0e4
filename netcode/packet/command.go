package packet

import (
	"math"
	"math/bits"
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
	maxPacketsBack = 127

	// MaxEyeBack is how far before the state that a command begins with the eye may lie, in ticks.
	// It is enough for a screen that draws once in so many ticks.
	MaxEyeBack = 4

	maxViewChange = 1 << 40 // of a playout time, in 1/256 ticks; more is cut, and out of bounds anyway
)

// Orders of the Exp-Golomb codes of commands.
const (
	countOrder       = 2
	firstTurnOrder   = 3  // by how much an angle of the second command differs from that of the first
	firstSeenOrder   = 11 // how far the playout time lies behind the command's tick
	seenOrder        = 0  // by how much its advance differs from the one before
	firstNewestOrder = 1
	newestOrder      = 0 // by how many packets the newest one advanced
	lacksOrder       = 0 // how many packets a frame lacked
	lackOrder        = 2 // how far one lies before the one before
	firstEyeOrder    = 7 // how far the own avatar is drawn behind the state before the command
	eyeOrder         = 2 // by how much its advance differs from that of the playout time
)

const (
	tickBits   = 14 // of a tick that travel: two minutes at 60 Hz either way, as far as a clock may be set
	tickRange  = 1 << tickBits
	momentBits = 8
	orderBits  = 2 // say half the order of a datagram's differences of turns
)

// A Command is a player's intent for one tick, with what the player had on the screen.
type Command struct {
	Tick   clock.Tick
	Vals   []int64        // the command's simulation integers
	Seen   clock.TickFrac // playout time of the frame that the player reacted to; 0: none
	Newest wire.Seq       // newest packet whose records were in that frame
	// Without are older packets whose records were not, as in wire.Basis. Those travel that the
	// datagram acknowledges: they were overtaken, and arrived after the frame.
	Without uint64
	// Eye is the tick time that the player's own avatar was drawn at in that frame: between its
	// states of two ticks before the command's. 0: none. It travels with presses only.
	Eye clock.TickFrac
	// Frame is the client's own number of that frame, 0 for one that has seen all that arrived. It
	// does not travel.
	Frame uint32
	// Moment is when within the tick its presses happened, in 1/256 tick; 0 says nothing. It
	// travels with presses only.
	Moment uint8
	// Claim is what the client says that the command hit. It travels with presses only.
	Claim Claim
}

// Basis returns the packets from which the frame was drawn.
func (c *Command) Basis() wire.Basis { return wire.Basis{Newest: c.Newest, Without: c.Without} }

// AppendCommands writes commands of consecutive ticks, oldest first, MaxCommands at most. ack is
// the acknowledgement of the same datagram, with its whole history. A playout time after the
// command's own tick is written as that tick, an eye as BoundEye has it, a newest packet more than
// 127 before the newest acknowledged as the one 127 before.
//
//	count      Exp-Golomb of order 2
//	tick       the low 14 bits of the last command's; none follows if count is 0
//	order      if count is more than 2 and there are angles: 2 bits, half the order of their differences
//	lacking    1 bit whether some command's frame lacked a packet that the datagram acknowledges and
//	           that is older than its newest one
//	per command
//	  values   the first: per property a presence bit and, if set, its absolute value; absent ones are zero.
//	           Later ones: 1 bit whether all are as foreseen. If not: 1 bit whether it is the properties of
//	           the change before in this datagram, at first all angles, else a bit for each property; and
//	           their values: of an angle the difference from what was foreseen, in the second command of order 3,
//	           later of the order above. It is signed; of a single angle, which differs, without its first bit
//	  moment   only with a press: 1 bit whether there is one, then 8 bits
//	  claim    only with a press: a Claim
//	  seen     where the command before has none: 1 bit whether there is one, then tick*256-seen by Exp-Golomb of
//	           order 11; else: its advance minus the advance before, at first 256, signed, of order 0
//	  eye      only with a press: 1 bit whether there is one. Then where the command before has one, too: its
//	           advance minus that of seen, signed, of order 2; else (tick-1)*256-eye by Exp-Golomb of order 7
//	  newest   first: latest-newest, order 1; later: its advance, modulo 2^16, order 0
//	  without  if lacking: how many such packets, order 0; of each, newest first, how far it lies
//	           before the one before it, at first the newest packet, less 1, order 2
//
// Angles are foreseen to go on turning as in the command before; everything else stays.
func AppendCommands(w *wire.BitWriter, k *schema.Kind, cmds []Command, ack wire.Ack) {
	w.Uvarint(uint64(len(cmds)), countOrder)
	if len(cmds) == 0 {
		return
	}
	w.Bits(uint64(cmds[len(cmds)-1].Tick), tickBits)
	o := newOutlook(k, cmds)
	if o.hasOrder() {
		half := o.bestOrder()
		w.Bits(uint64(half), orderBits)
		o.order = 2 * half
	}
	lacking := false
	for i := range cmds {
		lacking = lacking || cmds[i].lacks(ack) != 0
	}
	w.Bool(lacking)
	var seen, eye clock.TickFrac // of the command before, as the reader has it
	var newest wire.Seq
	for i := range cmds {
		c := &cmds[i]
		if i == 0 {
			appendFirst(w, k, c)
		} else {
			o.appendValues(w, i)
		}
		if HasPress(k, c.Vals) {
			if w.Bool(c.Moment != 0); c.Moment != 0 {
				w.Bits(uint64(c.Moment), momentBits)
			}
			c.Claim.append(w)
		}
		s := min(max(c.Seen, 0), c.Tick.Frac())
		if seen > 0 {
			w.Varint(int64(s-seen-o.advance), seenOrder)
			o.advance = s - seen
		} else if w.Bool(s > 0); s > 0 {
			w.Uvarint(uint64(c.Tick.Frac()-s), firstSeenOrder)
		}
		e := clock.TickFrac(0)
		if HasPress(k, c.Vals) {
			e = BoundEye(c.Eye, c.Tick)
			appendEye(w, e, eye, c.Tick, s-seen)
		}
		back := min(ack.Latest-c.Newest, maxPacketsBack)
		if i == 0 {
			w.Uvarint(uint64(back), firstNewestOrder)
		} else {
			w.Uvarint(uint64(ack.Latest-back-newest), newestOrder)
		}
		if lacking {
			appendWithout(w, c.lacks(ack))
		}
		seen, eye, newest = s, e, ack.Latest-back
	}
}

// lacks returns those packets of Without that an acknowledgement has.
func (c *Command) lacks(ack wire.Ack) uint64 {
	return c.Without & (ack.History >> (ack.Latest - c.Newest)) // a shift by 64 or more gives 0, as it must
}

// appendWithout writes a set of packets before the newest.
func appendWithout(w *wire.BitWriter, set uint64) {
	w.Uvarint(uint64(bits.OnesCount64(set)), lacksOrder)
	for from := 0; set != 0; set &= set - 1 {
		at := bits.TrailingZeros64(set)
		w.Uvarint(uint64(at-from), lackOrder)
		from = at + 1
	}
}

// readWithout reads what appendWithout wrote. It leaves r Bad or reports false for what none
// writes.
func readWithout(r *wire.BitReader) (set uint64, ok bool) {
	n := r.Uvarint(lacksOrder)
	at := uint64(0)
	for ; n > 0 && !r.Bad(); n-- {
		d := r.Uvarint(lackOrder)
		if at+min(d, wire.Window) >= wire.Window {
			return 0, false
		}
		at += d + 1
		set |= 1 << (at - 1)
	}
	return set, true
}

// appendFirst writes the values of a datagram's first command.
func appendFirst(w *wire.BitWriter, k *schema.Kind, c *Command) {
	for i := range k.Props {
		p := &k.Props[i]
		present := false
		for _, v := range c.Vals[p.At : p.At+p.Comps] {
			present = present || v != 0
		}
		if w.Bool(present); present {
			appendProp(w, p, c.Vals, c.Tick)
		}
	}
}

// appendEye writes the tick time at which the own avatar was drawn, 0 for none. before is that of
// the command before, and seen by how much the playout time advanced since.
func appendEye(w *wire.BitWriter, eye, before clock.TickFrac, tick clock.Tick, seen clock.TickFrac) {
	w.Bool(eye > 0)
	switch {
	case eye == 0:
	case before > 0:
		w.Varint(int64(eye-before-seen), eyeOrder)
	default:
		w.Uvarint(uint64((tick-1).Frac()-eye), firstEyeOrder)
	}
}

// BoundEye brings the eye of a command of some tick into its bounds: from MaxEyeBack ticks before
// the state that the command begins with to that state. 0, which is none, stays.
func BoundEye(eye clock.TickFrac, tick clock.Tick) clock.TickFrac {
	if eye == 0 {
		return 0
	}
	last := (tick - 1).Frac()
	return min(max(eye, last-MaxEyeBack*clock.FracPerTick, 0), last)
}

// An outlook foresees a command from those before it in the same datagram. Players turn smoothly
// and keep to what else they do: most commands are as foreseen.
type outlook struct {
	k       *schema.Kind
	cmds    []Command
	changed uint64         // properties of the newest change
	advance clock.TickFrac // of the playout time, from one command to the next
	order   int            // of the differences of angles, from the third command on
}

func newOutlook(k *schema.Kind, cmds []Command) outlook {
	o := outlook{k: k, cmds: cmds, advance: clock.FracPerTick}
	for i := range k.Props {
		if k.Props[i].Motion() == schema.Turns {
			o.changed |= 1 << uint(i)
		}
	}
	return o
}

// hasOrder reports whether the datagram states the order of differences of angles.
func (o *outlook) hasOrder() bool { return len(o.cmds) > 2 && o.changed != 0 }

// bestOrder returns half the order that takes the fewest bits: players turn by hand or by program.
func (o *outlook) bestOrder() (half int) {
	var bits [1 << orderBits]int
	for i := 2; i < len(o.cmds); i++ {
		for j := range o.k.Props {
			p := &o.k.Props[j]
			if p.Motion() != schema.Turns {
				continue
			}
			for at := p.At; at < p.At+p.Comps; at++ {
				if d := o.difference(p, i, at); d != 0 {
					for q := range bits {
						bits[q] += wire.UvarintBits(uint64(max(d, -d)-1), 2*q)
					}
				}
			}
		}
	}
	for q := range bits {
		if bits[q] < bits[half] {
			half = q
		}
	}
	return half
}

// turned returns what component at of a property that turns is foreseen to be in command i, not the
// first.
func (o *outlook) turned(p *schema.Prop, i, at int) int64 {
	v := o.cmds[i-1].Vals[at]
	if i > 1 {
		v += v - o.cmds[i-2].Vals[at]
	}
	return wrapTurn(v, p.SimTurn)
}

// wrapTurn brings a sum or difference of values of a turn into 0 to turn-1.
func wrapTurn(v, turn int64) int64 {
	if v %= turn; v < 0 {
		v += turn
	}
	return v
}

// difference returns by how much component at of a property that turns differs from what was
// foreseen in command i, not the first: the short way.
func (o *outlook) difference(p *schema.Prop, i, at int) int64 {
	d := wrapTurn(o.cmds[i].Vals[at]-o.turned(p, i, at), p.SimTurn)
	if 2*d > p.SimTurn {
		d -= p.SimTurn
	}
	return d
}

// orderOf returns the order of the differences of angles in command i, not the first.
func (o *outlook) orderOf(i int) int {
	if i == 1 {
		return firstTurnOrder
	}
	return o.order
}

// differs reports whether property p of command i is not as foreseen.
func (o *outlook) differs(p *schema.Prop, i int) bool {
	turns := p.Motion() == schema.Turns
	for at := p.At; at < p.At+p.Comps; at++ {
		foreseen := o.cmds[i-1].Vals[at]
		if turns {
			foreseen = o.turned(p, i, at)
		}
		if o.cmds[i].Vals[at] != foreseen {
			return true
		}
	}
	return false
}

// appendValues writes the values of command i, not the first.
func (o *outlook) appendValues(w *wire.BitWriter, i int) {
	set := uint64(0)
	for j := range o.k.Props {
		if o.differs(&o.k.Props[j], i) {
			set |= 1 << uint(j)
		}
	}
	if w.Bool(set == 0); set == 0 {
		return
	}
	if w.Bool(set == o.changed); set != o.changed {
		w.Bits(set, len(o.k.Props))
		o.changed = set
	}
	c := &o.cmds[i]
	for j := range o.k.Props {
		if set>>uint(j)&1 == 0 {
			continue
		}
		p := &o.k.Props[j]
		if p.Motion() != schema.Turns {
			appendProp(w, p, c.Vals, c.Tick)
			continue
		}
		for at := p.At; at < p.At+p.Comps; at++ {
			d := o.difference(p, i, at)
			if p.Comps > 1 {
				w.Varint(d, o.orderOf(i))
			} else { // it is not 0
				w.Bool(d < 0)
				w.Uvarint(uint64(max(d, -d)-1), o.orderOf(i))
			}
		}
	}
}

// DecodeCommands reads commands into dst, whose Vals are reused. Their ticks are the nearest to
// now, the receiver's tick. Values are clamped to what the schema allows; a playout time before 0
// or after the command's tick becomes none, and so does an eye outside its bounds. It fails with
// wire.ErrTruncated or wire.ErrMalformed, and then nothing in dst may be used.
func DecodeCommands(r *wire.BitReader, k *schema.Kind, dst []Command, latest wire.Seq, now clock.Tick) ([]Command,
	error) {
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
	low := int64(r.Bits(tickBits))
	if r.Bad() {
		return nil, wire.ErrTruncated
	}
	last := int64(now) - tickRange/2
	last += (low - last) & (tickRange - 1)
	if last < int64(n) || last > math.MaxUint32 {
		return nil, fault.Errorf("%w: %d commands up to tick %d", wire.ErrMalformed, n, last)
	}
	if cap(dst) < int(n) {
		dst = append(dst[:cap(dst)], make([]Command, int(n)-cap(dst))...)
	}
	dst = dst[:n]
	o := newOutlook(k, dst)
	if o.hasOrder() {
		o.order = 2 * int(r.Bits(orderBits))
	}
	lacking := r.Bool()
	for i := range dst {
		c := &dst[i]
		c.Tick = clock.Tick(last) - clock.Tick(len(dst)-1-i)
		if cap(c.Vals) < k.Sims {
			c.Vals = make([]int64, k.Sims)
		}
		c.Vals = c.Vals[:k.Sims]
		if i == 0 {
			decodeFirst(r, k, c)
		} else {
			o.decodeValues(r, i)
		}
		c.Moment, c.Claim = 0, 0
		if HasPress(k, c.Vals) {
			if r.Bool() {
				c.Moment = uint8(r.Bits(momentBits))
			}
			c.Claim = decodeClaim(r)
		}
		o.decodeView(r, i, latest)
		sound := true
		if c.Without = 0; lacking {
			c.Without, sound = readWithout(r)
		}
		switch {
		case r.Bad():
			return nil, wire.ErrTruncated
		case !sound:
			return nil, fault.Errorf("%w: a packet more than %d before the newest of a frame", wire.ErrMalformed, wire.Window)
		}
		if c.Seen < 0 || c.Seen > c.Tick.Frac() {
			c.Seen = 0 // a claim that no honest client makes
		}
		if c.Eye != BoundEye(c.Eye, c.Tick) {
			c.Eye = 0
		}
	}
	return dst, nil
}

// decodeFirst reads the values of a datagram's first command.
func decodeFirst(r *wire.BitReader, k *schema.Kind, c *Command) {
	clear(c.Vals)
	for i := range k.Props {
		if r.Bool() {
			decodeProp(r, &k.Props[i], c.Vals, c.Tick)
		}
	}
	k.Clamp(c.Vals)
}

// decodeValues reads the values of command i, not the first.
func (o *outlook) decodeValues(r *wire.BitReader, i int) {
	c := &o.cmds[i]
	copy(c.Vals, o.cmds[i-1].Vals)
	set := uint64(0)
	if !r.Bool() {
		if !r.Bool() {
			o.changed = r.Bits(len(o.k.Props))
		}
		set = o.changed
	}
	for j := range o.k.Props {
		p := &o.k.Props[j]
		changed := set>>uint(j)&1 != 0
		if p.Motion() != schema.Turns {
			if changed {
				decodeProp(r, p, c.Vals, c.Tick)
			}
			continue
		}
		for at := p.At; at < p.At+p.Comps; at++ {
			v := o.turned(p, i, at)
			if changed {
				v = wrapTurn(v+readDifference(r, p, o.orderOf(i)), p.SimTurn)
			}
			c.Vals[at] = v
		}
	}
	o.k.Clamp(c.Vals)
}

// readDifference reads by how much an integer of a property that turns differs from what was
// foreseen, within a turn.
func readDifference(r *wire.BitReader, p *schema.Prop, order int) int64 {
	if p.Comps > 1 {
		return r.Varint(order) % p.SimTurn
	}
	negative := r.Bool()
	d := int64(r.Uvarint(order)%uint64(p.SimTurn)) + 1
	if negative {
		return -d
	}
	return d
}

// decodeView reads what the player of command i had on the screen.
func (o *outlook) decodeView(r *wire.BitReader, i int, latest wire.Seq) {
	c := &o.cmds[i]
	c.Seen = 0
	if i > 0 && o.cmds[i-1].Seen > 0 {
		o.advance += clock.TickFrac(min(max(r.Varint(seenOrder), -maxViewChange), maxViewChange))
		c.Seen = o.cmds[i-1].Seen + o.advance
	} else if r.Bool() {
		c.Seen = c.Tick.Frac() - clock.TickFrac(min(r.Uvarint(firstSeenOrder), maxViewChange))
	}
	if c.Eye, c.Frame = 0, 0; HasPress(o.k, c.Vals) && r.Bool() {
		if i > 0 && o.cmds[i-1].Eye > 0 {
			seen := c.Seen - o.cmds[i-1].Seen
			c.Eye = o.cmds[i-1].Eye + seen + clock.TickFrac(min(max(r.Varint(eyeOrder), -maxViewChange), maxViewChange))
		} else {
			c.Eye = (c.Tick - 1).Frac() - clock.TickFrac(min(r.Uvarint(firstEyeOrder), maxViewChange))
		}
	}
	if i == 0 {
		c.Newest = latest - wire.Seq(r.Uvarint(firstNewestOrder))
	} else {
		c.Newest = o.cmds[i-1].Newest + wire.Seq(r.Uvarint(newestOrder))
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

// HasPresses reports whether commands of a kind can have a press.
func HasPresses(k *schema.Kind) bool {
	for i := range k.Props {
		if k.Props[i].Input() == schema.InputPress {
			return true
		}
	}
	return false
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
