package crowd

import "encoding/binary"

// Floor is the least that serving a crowd can cost: a grid, the nearest of each client every fourth
// tick, the best of them by distance and age, and as many bits as the budget has. It knows no
// acknowledgements, no loss and no identities, so it is no engine, but it shows how fast a machine
// is. Print it beside a measurement.
type Floor struct {
	walkers *Walkers
	budget  int // bytes of a packet

	first  []int32 // by cell: where its walkers begin in the lists below; and one more
	order  []int32
	x, y   []int32
	mark   []int32 // by walker: the newest refresh that found it
	turn   int32
	found  []int32
	dist   []int32
	packet []byte
	all    []floorClient
}

type floorClient struct {
	reach int32 // cm within which the newest refresh found enough
	n     int
	slots [floorSlots]floorSlot
}

// floorSlot is what a client was sent last of a walker; -1: free.
type floorSlot struct {
	walker, x, y int32
	rest         uint32 // heading, health and anim
	at           int32  // tick; -1: never
}

const (
	floorCell  = 11 // log2 of the side of a cell in cm
	floorCells = side>>floorCell + 1
	floorSlots = 256
	floorEvery = 4 // ticks from one refresh of a client to the next
)

// NewFloor returns the floor program for walkers, and a budget in bits a second.
func NewFloor(w *Walkers, budget int) *Floor {
	n := w.Len()
	f := &Floor{walkers: w, budget: budget / 8 / Rate * 92 / 100, first: make([]int32, floorCells*floorCells+1),
		order: make([]int32, n), x: make([]int32, n), y: make([]int32, n), mark: make([]int32, n),
		found: make([]int32, n+1), dist: make([]int32, n+1), packet: make([]byte, budget/8+64), all: make([]floorClient, n)}
	for i := range f.all {
		c := &f.all[i]
		c.reach = 10_000
		for j := range c.slots {
			c.slots[j].walker = -1
		}
	}
	return f
}

// Tick serves all clients at a tick and returns how many bytes that made.
func (f *Floor) Tick(tick int32) (bytes int) {
	f.sort()
	for i := range f.all {
		c := &f.all[i]
		if (int(tick)+i)%floorEvery == 0 || c.n == 0 {
			f.refresh(c, f.walkers.x[i], f.walkers.y[i])
		}
		bytes += f.pack(c, f.walkers.x[i], f.walkers.y[i], tick)
	}
	return bytes
}

// sort puts the walkers into the grid.
func (f *Floor) sort() {
	w := f.walkers
	cell := func(i int) int32 { return w.y[i]>>floorCell*floorCells + w.x[i]>>floorCell }
	clear(f.first)
	for i := range w.x {
		f.first[cell(i)+1]++
	}
	for c := 1; c < len(f.first); c++ {
		f.first[c] += f.first[c-1]
	}
	for i := range w.x {
		c := cell(i)
		at := f.first[c]
		f.first[c]++
		f.order[at], f.x[at], f.y[at] = int32(i), w.x[i], w.y[i]
	}
	copy(f.first[1:], f.first[:len(f.first)-1])
	f.first[0] = 0
}

// search finds the walkers within a Manhattan distance.
func (f *Floor) search(x, y, reach int32) (n int) {
	x0, x1 := max(x-reach, 0)>>floorCell, min(x+reach, side-1)>>floorCell
	y0, y1 := max(y-reach, 0)>>floorCell, min(y+reach, side-1)>>floorCell
	for row := y0; row <= y1; row++ {
		from, to := f.first[row*floorCells+x0], f.first[row*floorCells+x1+1]
		xs, ys, ids := f.x[from:to], f.y[from:to], f.order[from:to]
		ys, ids = ys[:len(xs)], ids[:len(xs)]
		for i := range xs { // without branches
			dx, dy := xs[i]-x, ys[i]-y
			d := max(dx, -dx) + max(dy, -dy)
			f.found[n], f.dist[n] = ids[i], d
			n += int(uint32(d-reach) >> 31)
		}
	}
	return n
}

// refresh brings a client's slots in line with the walkers near it.
func (f *Floor) refresh(c *floorClient, x, y int32) {
	want := min(near, f.walkers.Len())
	n := f.search(x, y, c.reach)
	for n < want && c.reach < 2*side {
		c.reach += c.reach/4 + 1
		n = f.search(x, y, c.reach)
	}
	if n > want { // the edge is left out: some fewer than wanted are near
		shift := 0
		for c.reach>>shift > 255 {
			shift++
		}
		var count [256]int
		for _, d := range f.dist[:n] {
			count[d>>shift]++
		}
		sum, edge := 0, int32(0)
		for ; edge < 255 && sum+count[edge] <= want; edge++ {
			sum += count[edge]
		}
		m := 0
		for i, d := range f.dist[:n] {
			f.found[m] = f.found[i]
			m += int(uint32(d>>shift-edge) >> 31)
		}
		n = m
		c.reach = min((edge+2)<<shift*17/16, 2*side)
	}
	f.turn++
	for _, w := range f.found[:n] {
		f.mark[w] = f.turn
	}
	for i := range c.slots[:c.n] {
		if s := &c.slots[i]; s.walker >= 0 && f.mark[s.walker] == f.turn {
			f.mark[s.walker] = 0
		} else {
			s.walker = -1
		}
	}
	free := 0
	for _, w := range f.found[:n] {
		if f.mark[w] != f.turn {
			continue
		}
		for free < c.n && c.slots[free].walker >= 0 {
			free++
		}
		if free == floorSlots {
			return
		}
		c.n = max(c.n, free+1)
		c.slots[free] = floorSlot{walker: w, at: -1}
	}
}

// pack writes one packet: the slots with the best scores, until it is full.
func (f *Floor) pack(c *floorClient, x, y, tick int32) int {
	w := f.walkers
	var score [floorSlots]uint8
	var count [256]int
	slots := c.slots[:c.n]
	for i := range slots {
		v := int32(255)
		if s := &slots[i]; s.walker >= 0 {
			dx, dy := w.x[s.walker]-x, w.y[s.walker]-y
			v = max(0, min(254, 160+(max(dx, -dx)+max(dy, -dy))>>8-(tick-s.at)*12))
		}
		score[i] = uint8(v)
		count[v]++
	}
	sum, limit := 0, 0
	for ; limit < 254 && sum < f.budget*8/30; limit++ {
		sum += count[limit]
	}
	b := floorBits{b: f.packet}
	b.put(uint64(tick), 16)
	sure := max(limit-2, 0)
	for _, part := range [...][2]int{{0, sure}, {sure, limit}} {
		for i := range slots {
			if v := int(score[i]); v < part[0] || v >= part[1] {
				continue
			}
			if f.record(&b, &slots[i], uint64(i), tick); b.at >= f.budget-4 {
				return b.at
			}
		}
	}
	return b.at + (b.n+7)/8
}

// record writes one walker.
func (f *Floor) record(b *floorBits, s *floorSlot, slot uint64, tick int32) {
	w := f.walkers
	x, y := w.x[s.walker], w.y[s.walker]
	rest := uint32(w.heading[s.walker]>>8)<<16 | uint32(w.health[s.walker])<<8 | uint32(w.anim[s.walker])
	dx, dy, differs := x-s.x, y-s.y, rest^s.rest
	switch {
	case s.at < 0:
		b.put(slot|1<<8|uint64(s.walker)<<9, 25)
		b.put(uint64(x), 17)
		b.put(uint64(y), 17)
		b.put(uint64(rest), 24)
		for range 10 {
			b.put('x', 7)
		}
	case dx|dy == 0 && differs == 0:
	default:
		if uint32(dx+256) < 512 && uint32(dy+256) < 512 {
			b.put(slot|uint64(dx&511)<<10|uint64(dy&511)<<19, 28)
		} else {
			b.put(slot|1<<9, 10)
			b.put(uint64(x), 17)
			b.put(uint64(y), 17)
		}
		if differs>>16 != 0 {
			b.put(1|uint64(rest>>16)<<1, 9)
		} else {
			b.put(0, 1)
		}
		if differs&0xffff != 0 {
			b.put(1|uint64(rest&0xffff)<<1, 17)
		} else {
			b.put(0, 1)
		}
	}
	s.x, s.y, s.rest, s.at = x, y, rest, tick
}

// floorBits packs bits.
type floorBits struct {
	b    []byte
	bits uint64
	n    int
	at   int
}

func (w *floorBits) put(v uint64, n int) {
	w.bits |= v << w.n
	if w.n += n; w.n >= 32 {
		binary.LittleEndian.PutUint32(w.b[w.at:], uint32(w.bits))
		w.at += 4
		w.bits >>= 32
		w.n -= 32
	}
}
