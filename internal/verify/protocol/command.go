package protocol

import (
	"fmt"
	"slices"
)

// Up reads a datagram of the client, in the order in which it sends them.
func (r *Reader) Up(data []byte) (err error) {
	defer r.caught(&err)
	if err := r.StartUp(data); err != nil {
		return err
	}
	r.sent = r.Head.Seq
	r.note("away: %v", r.bits.is())
	r.note("older commands may still come: %v", r.bits.is())
	r.readCommands(r.Head.Latest, r.newest)
	r.Spoken = r.Spoken[:0]
	rest := r.bits.data[(r.bits.at+7)/8:]
	if report, after := Report(rest); report != "" {
		if r.Out != nil {
			fmt.Fprintf(r.Out, "%-32x report: %s\n", rest[:len(rest)-len(after)], report)
		}
		rest = after
	}
	if len(rest) > 0 {
		if r.Out != nil {
			fmt.Fprintf(r.Out, "%-32x reliable section\n", rest)
		}
		r.upward.take(readSection(rest), &r.Spoken)
	}
	return nil
}

// Report reads what a client says of how its player sees the game, and returns what follows it; ""
// where there is none. One that is cut short is refused.
func Report(b []byte) (text string, rest []byte) {
	if len(b) == 0 || b[0] != 255 {
		return "", b
	}
	if len(b) < 5 {
		refuse("a report of %d bytes", len(b))
	}
	return fmt.Sprintf("delay %d hitches %d stalls %d corrections %d", b[1], b[2], b[3], b[4]), b[5:]
}

// A Command is one of a datagram.
type Command struct {
	Tick, Seen, Moment int64
	Eye                int64
	Newest             uint16
	Without            []uint16
	Vals               []int64
	Claim              Claim
}

// A Claim is what a client says that a command hit.
type Claim struct {
	Looked, Hit  bool
	Target, Hash int64
}

func (r *Reader) readClaim() (c Claim) {
	b := &r.bits
	switch {
	case !b.is():
		r.note("  claims nothing")
	case !b.is():
		c.Looked = true
		r.note("  claims to have hit nobody")
	default:
		c = Claim{Looked: true, Hit: true, Target: int64(b.n(10)), Hash: int64(b.n(12))}
		r.note("  claims to have hit entity %d modulo 1024, drawn as %d", c.Target, c.Hash)
	}
	return c
}

// Commands reads what a datagram that acknowledges a packet as the newest says from the number of
// commands on, at a server that is at the tick now.
func (r *Reader) Commands(latest uint16, now int64, data []byte) (list []Command, err error) {
	defer r.caught(&err)
	r.bits = bitReader{data: data}
	return r.readCommands(latest, now), nil
}

func (r *Reader) readCommands(latest uint16, now int64) (list []Command) {
	b, k := &r.bits, r.Schema.Command
	n := b.unsigned(2)
	r.note("%d commands", n)
	if n == 0 {
		return nil
	}
	if n > 64 {
		refuse("%d commands", n)
	}
	last := int64(b.n(14))
	for last < now-1<<13 {
		last += 1 << 14
	}
	r.note("the last of them of tick %d", last)
	if last < n {
		refuse("%d commands up to tick %d", n, last)
	}
	angles, order := make([]bool, len(k.Props)), 0
	for i := range k.Props {
		angles[i] = k.Props[i].angle()
	}
	changed := angles
	if n > 2 && slices.Contains(angles, true) {
		order = 2 * int(b.n(2))
		r.note("differences of angles of order %d", order)
	}
	lacking := b.is()
	r.note("overtaken packets: %v", lacking)
	advance := int64(256)
	for i := range n {
		c := Command{Tick: last - (n - 1 - i)}
		if i == 0 {
			r.note("tick %d:", c.Tick)
			c.Vals = r.firstValues(c.Tick)
		} else {
			c.Vals = slices.Clone(list[i-1].Vals)
			at := 0
			for pi := range k.Props {
				for range k.Props[pi].Comps {
					if i > 1 && angles[pi] {
						c.Vals[at] += c.Vals[at] - list[i-2].Vals[at]
					}
					at++
				}
			}
			if b.is() {
				r.note("tick %d: as foreseen", c.Tick)
				r.foresee(c.Vals, nil, 0, c.Tick)
			} else {
				r.note("tick %d:", c.Tick)
				if b.is() {
					r.note("  the same properties change")
				} else {
					changed = make([]bool, len(k.Props))
					for pi := range changed {
						changed[pi] = b.is()
					}
					r.note("  these properties change")
				}
				o := order
				if i == 1 {
					o = 3
				}
				r.foresee(c.Vals, changed, o, c.Tick)
			}
		}
		if pressed(k.Props, c.Vals) {
			if b.is() {
				c.Moment = int64(b.n(8))
			}
			r.note("  pressed at %d/256 of the tick", c.Moment)
			c.Claim = r.readClaim()
		}
		switch {
		case i > 0 && list[i-1].Seen > 0:
			advance += b.signed(0)
			c.Seen = list[i-1].Seen + advance
			r.note("  seen at %d/256 ticks", c.Seen)
		case b.is():
			c.Seen = c.Tick*256 - b.unsigned(11)
			r.note("  seen at %d/256 ticks", c.Seen)
		default:
			r.note("  no picture")
		}
		if pressed(k.Props, c.Vals) {
			if known := b.is(); known && i > 0 && list[i-1].Eye > 0 {
				c.Eye = list[i-1].Eye + c.Seen - list[i-1].Seen + b.signed(2)
			} else if known {
				c.Eye = (c.Tick-1)*256 - b.unsigned(7)
			}
			r.note("  the own avatar at %d/256 ticks", c.Eye)
		}
		if i == 0 {
			c.Newest = latest - uint16(b.unsigned(1))
		} else {
			c.Newest = list[i-1].Newest + uint16(b.unsigned(0))
		}
		r.note("  with packet %d", c.Newest)
		if lacking {
			before := int64(0)
			for range b.unsigned(0) {
				if before += b.unsigned(2) + 1; before > 64 {
					refuse("a packet %d before the newest", before)
				}
				c.Without = append(c.Without, c.Newest-uint16(before))
			}
			r.note("  without packets %v", c.Without)
		}
		list = append(list, c)
	}
	return list
}

// firstValues reads the values of a datagram's first command.
func (r *Reader) firstValues(tick int64) (vals []int64) {
	k := r.Schema.Command
	for pi := range k.Props {
		p, here := &k.Props[pi], r.bits.is()
		if !here {
			r.note("  no %s", p.Name)
		}
		for range p.Comps {
			v := int64(0)
			if here {
				v = r.alone(p, false, tick)
			}
			vals = append(vals, v)
		}
		if here {
			r.note("  %s %v", p.Name, vals[len(vals)-p.Comps:])
		}
	}
	return vals
}

// foresee brings foreseen values into their turns and reads those that changed.
func (r *Reader) foresee(vals []int64, changed []bool, order int, tick int64) {
	k, b, at := r.Schema.Command, &r.bits, 0
	for pi := range k.Props {
		p := &k.Props[pi]
		change := changed != nil && changed[pi]
		for i := at; i < at+p.Comps; i++ {
			switch {
			case !p.angle():
				if change {
					vals[i] = r.alone(p, false, tick)
				}
				continue
			case change && p.Comps > 1:
				vals[i] += b.signed(order)
			case change:
				negative := b.is()
				if d := b.unsigned(order) + 1; negative {
					vals[i] -= d
				} else {
					vals[i] += d
				}
			}
			turn := p.turn(false)
			vals[i] = (vals[i]%turn + turn) % turn
		}
		if at += p.Comps; change {
			r.note("  %s %v", p.Name, vals[at-p.Comps:at])
		}
	}
}

// pressed reports whether a command has a press.
// shoots reports whether commands can have a press.
func (k *Kind) shoots() bool {
	return slices.ContainsFunc(k.Props, func(p Prop) bool { return p.Class == "press" })
}

func pressed(props []Prop, vals []int64) bool {
	at := 0
	for i := range props {
		if props[i].Class == "press" && vals[at] != 0 {
			return true
		}
		at += props[i].Comps
	}
	return false
}
