package protocol

// Up reads a datagram of the client, in the order in which it sends them.
func (r *Reader) Up(data []byte) (err error) {
	defer r.caught(&err)
	if err := r.Start(data); err != nil {
		return err
	}
	r.sent = r.Head.Seq
	r.note("away: %v", r.bits.is())
	r.note("older commands may still come: %v", r.bits.is())
	r.readCommands(r.Head.Latest)
	return nil
}

// A Command is one of a datagram.
type Command struct {
	Tick, Seen int64
	Newest     uint16
	Vals       []int64
}

// Commands reads what a datagram that acknowledges a packet as the newest says from the number of
// commands on.
func (r *Reader) Commands(latest uint16, data []byte) (list []Command, err error) {
	defer r.caught(&err)
	r.bits = bitReader{data: data}
	return r.readCommands(latest), nil
}

func (r *Reader) readCommands(latest uint16) (list []Command) {
	b, k := &r.bits, r.Schema.Command
	n := b.unsigned(2)
	r.note("%d commands", n)
	if n == 0 {
		return nil
	}
	if n > 64 {
		refuse("%d commands", n)
	}
	last := int64(b.n(32))
	r.note("the last of them of tick %d", last)
	vals := map[string][]int64{}
	for i := range k.Props {
		vals[k.Props[i].Name] = make([]int64, k.Props[i].Comps)
	}
	seen, newest := int64(0), uint16(0)
	for i := range n {
		tick := last - (n - 1 - i)
		if b.is() {
			r.note("tick %d: the same", tick)
		} else {
			r.note("tick %d:", tick)
			for pi := range k.Props {
				p := &k.Props[pi]
				if !b.is() {
					r.note("  %s as before", p.Name)
					continue
				}
				for c := range p.Comps {
					vals[p.Name][c] = r.alone(p, false, tick)
				}
				r.note("  %s %v", p.Name, vals[p.Name])
			}
		}
		switch {
		case seen > 0:
			seen += 256 + b.signed(3)
			r.note("  seen at %d/256 ticks", seen)
		case b.is():
			seen = tick*256 - b.unsigned(12)
			r.note("  seen at %d/256 ticks", seen)
		default:
			r.note("  no picture")
		}
		if i == 0 {
			newest = latest - uint16(b.n(7))
		} else {
			newest += uint16(b.unsigned(0))
		}
		r.note("  with packet %d", newest)
		c := Command{Tick: tick, Seen: seen, Newest: newest}
		for i := range k.Props {
			c.Vals = append(c.Vals, vals[k.Props[i].Name]...)
		}
		list = append(list, c)
	}
	return list
}
