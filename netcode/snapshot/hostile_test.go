package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

func stateOf(tick clock.Tick, vals []int64) motion.State { return motion.State{Tick: tick, Vals: vals} }

// image is everything that a Store holds, as one string: two that are equal are in the same state.
func image(s *Store) string {
	var b []byte
	num := func(vs ...int64) {
		for _, v := range vs {
			b = binary.AppendVarint(b, v)
		}
	}
	yes := func(v bool) int64 {
		if v {
			return 1
		}
		return 0
	}
	num(int64(s.turns), int64(len(s.spare)))
	for n, h := range s.slots {
		if num(int64(s.ended[n]), yes(h != nil)); h == nil {
			continue
		}
		num(int64(h.ID), int64(h.Kind), yes(h.Mine), int64(h.since), yes(h.alive), int64(h.slot), yes(h.Fresh))
		num(yes(h.Exact), int64(h.Spawn.Tick), int64(h.Spawn.N))
		for g := range h.Groups {
			num(int64(h.Groups[g].pin), int64(len(h.Groups[g].states)))
			for _, st := range h.Groups[g].states {
				num(int64(st.Tick), int64(st.Cut), int64(st.Start), yes(st.Rest), int64(st.Bound))
				num(st.Vals...)
			}
		}
	}
	for _, h := range s.alive {
		num(int64(h.ID), int64(h.slot))
	}
	return string(b)
}

// sound checks what always holds of a Store.
func sound(s *Store) error {
	for i, h := range s.alive {
		switch {
		case !h.alive || s.slots[h.slot] != h:
			return fmt.Errorf("entity %d is listed but not in its slot", h.ID)
		case i > 0 && s.alive[i-1].ID >= h.ID:
			return fmt.Errorf("entity %d is listed after %d", h.ID, s.alive[i-1].ID)
		case s.Find(h.ID) != h:
			return fmt.Errorf("entity %d is not found", h.ID)
		}
	}
	n := 0
	for at, h := range s.slots {
		if h == nil {
			continue
		}
		if h.slot != uint16(at) || slices.Contains(s.spare, h) {
			return fmt.Errorf("slot %d holds what belongs elsewhere", at)
		}
		if h.alive {
			n++
		}
		k := s.kinds[h.Kind]
		for g := range h.Groups {
			want := k.Sims
			if g < len(k.Groups) {
				want = k.Groups[g].N
			}
			states := h.Groups[g].states
			if len(states) > MostStates {
				return fmt.Errorf("%d states", len(states))
			}
			for i, st := range states {
				if len(st.Vals) != want || i > 0 && states[i-1].Tick >= st.Tick || st.Cut > st.Tick ||
					st.Start > st.Tick || st.Bound >= motion.Bounds {
					return fmt.Errorf("slot %d group %d holds %+v", at, g, st)
				}
			}
		}
	}
	if n != len(s.alive) {
		return fmt.Errorf("%d are alive, %d are listed", n, len(s.alive))
	}
	return nil
}

// replay leads clients into the midst of a match, by the packets that led one there.
type replay struct {
	t       testing.TB
	pair    *pair
	packets []*packet
}

// newReplay returns a replay and the packets that come next. Slots 0, 2 and 4 hold walkers, of
// which the first is the client's own, 1, 3 and 5 gems, 6 a cart of its team, at tick 7; later one
// comes, one goes and is back, and the cart goes away and changes sides. A barrel that the client
// spawned comes and is observed later, and one that is observed is run ahead later.
func newReplay(t testing.TB) (*replay, []*packet) {
	p := pairOf(t, append(kinds(t), mustKind[cart](t), barrels(t)))
	r := &replay{t: t, pair: p}
	var next []*packet
	for n := range 13 {
		p.begin()
		var cut []int32
		switch n {
		case 0:
			for n := range 6 {
				p.v.Enter(p.spawn(n%2, n == 0), detailOf(n == 0))
			}
			i := p.spawn(cartKind, false)
			p.sims[i][cartSide] = 1
			p.v.Team(1)
			p.v.Enter(i, Observed)
			p.v.far(i, 0)
		case 2, 9:
			p.v.far(p.ents[6], int64(n)*1e9) // 45 m and 95 m
		case 4:
			cut = p.ents[:2]
		case 7:
			p.v.Leave(p.ents[3])
			p.sims[p.ents[6]][cartSide] = 2
		case 10:
			p.sims[p.ents[6]][cartSide] = 1
		case 8:
			p.v.Enter(p.ents[3], Observed)
			p.v.Enter(p.spawn(walkerKind, false), Observed)
			i := p.spawn(barrelKind, false)
			p.h.At(i).Spawn = Spawn{Tick: p.tick - 3, N: 2}
			p.v.Enter(i, Spawned)
			p.v.Enter(p.spawn(barrelKind, false), Observed)
		case 11:
			p.v.Switch(p.ents[8], Observed)
			p.v.Switch(p.ents[9], Exact)
		}
		for _, i := range p.ents {
			p.sims[i][x] += int64(1000 * n)
			p.sims[i][gemOn] ^= 1
		}
		p.record(cut...)
		k := p.send(plenty)
		if n >= 7 {
			next = append(next, k)
			continue
		}
		p.mustArrive(k)
		p.ack()
		r.packets = append(r.packets, k)
	}
	return r, next
}

// agreedAt is what both sides know at a tick: that the packets up to that of tick 7 were applied.
func agreedAt(tick clock.Tick) uint64 { return ^uint64(0) << (tick - min(tick, 7)) }

func (r *replay) store() *Store {
	s := NewStore(codec.All(r.pair.h.kinds...))
	var br wire.BitReader
	for _, k := range r.packets {
		br.Reset(k.body)
		if err := s.Read(&br, k.tick, agreedAt(k.tick)); err != nil {
			r.t.Fatal(err)
		}
	}
	return s
}

// read feeds one packet of any bytes to a Store and checks that it was applied whole, or not at
// all.
func read(s *Store, tick clock.Tick, body []byte) error {
	return readAgreed(s, tick, agreedAt(tick), body)
}

func readAgreed(s *Store, tick clock.Tick, agreed uint64, body []byte) error {
	before := image(s)
	var r wire.BitReader
	r.Reset(body)
	err := s.Read(&r, tick, agreed)
	if err != nil {
		if !errors.Is(err, wire.ErrTruncated) && !errors.Is(err, wire.ErrMalformed) && !errors.Is(err, ErrBaseline) &&
			!errors.Is(err, ErrSlot) && !errors.Is(err, ErrOvertaken) {
			return fmt.Errorf("refused with %w", err)
		}
		if after := image(s); after != before {
			return fmt.Errorf("refused with %w, but changed from %x to %x", err, before, after)
		}
	}
	return sound(s)
}

// Every packet, cut anywhere, is refused and changes nothing; whole, it is applied.
func TestCutPackets(t *testing.T) {
	r, next := newReplay(t)
	s := r.store()
	for _, k := range next {
		before := image(s)
		for n := range k.body {
			var br wire.BitReader
			br.Reset(k.body[:n])
			if err := s.Read(&br, k.tick, agreedAt(k.tick)); !errors.Is(err, wire.ErrTruncated) || image(s) != before {
				t.Fatalf("tick %d cut to %d of %d bytes: %v, changed: %v", k.tick, n, len(k.body), err, image(s) != before)
			}
		}
		if err := read(s, k.tick, k.body); err != nil {
			t.Fatal(err)
		}
		if image(s) == before {
			t.Fatalf("tick %d changed nothing", k.tick)
		}
	}
}

// Packets with bits turned over, and packets of noise, never make a client panic and never are
// applied by half.
func TestMutatedPackets(t *testing.T) {
	r, next := newReplay(t)
	rounds := 4000
	if testing.Short() {
		rounds = 400
	}
	g := rng(3)
	s := r.store()
	taken := 0
	for n := range rounds {
		if n%50 == 0 {
			s = r.store()
		}
		k := next[g.n(len(next))]
		body := slices.Clone(k.body)
		if n%5 == 0 {
			for i := range body {
				body[i] = byte(g.next())
			}
		} else {
			for range 1 + g.n(4) {
				body[g.n(len(body))] ^= 1 << g.n(8)
			}
		}
		tick := k.tick
		if g.chance(0.2) {
			tick = clock.Tick(g.next()) >> g.n(32)
		}
		before := s.turns
		if err := read(s, tick, body); err != nil {
			t.Fatalf("round %d: tick %d, %x: %v", n, tick, body, err)
		}
		if s.turns != before {
			taken++
		}
	}
	if taken == 0 {
		t.Error("no mutation was applied, so nothing was tried")
	}
}

// hand writes packets that no server writes.
type hand struct {
	wire.BitWriter          // other entries than ordinary ones
	entries, next  uint64   // of them
	shape          shape    // of the list of ordinary ones
	list           []uint64 // distances in it
	order          int      // of their code
	bodies         wire.BitWriter
}

// heldTop is the number after the highest slot of the newest packet of newReplay.
const heldTop = 7

// entry begins one.
func (w *hand) entry(slot uint64) {
	w.entries++
	w.Uvarint(slot-w.next, 5)
	w.next = slot + 1
}

// ordinary has an ordinary update of a slot so far after the one before, whose body begins with 8
// zeros.
func (w *hand) ordinary(distance uint64) {
	w.list = append(w.list, distance)
	w.bodies.Bits(0, 8)
}

// update begins one that names its groups.
func (w *hand) update(slot, groups uint64, n int) {
	w.entry(slot)
	general.append(&w.BitWriter)
	w.Bits(groups, n)
}

// against is a record's baseline, so many ticks ago, and the state so many ticks before that.
func (w *hand) against(age, gap uint64) {
	w.Bool(true)
	w.Uvarint(age-1, ageK)
	w.Uvarint(gap, gapK)
}

func (w *hand) gone(slot uint64) { w.entry(slot); isGone.append(&w.BitWriter) }

// forget tells the client to forget groups.
func (w *hand) forget(slot, groups uint64) {
	w.entry(slot)
	mustForget.append(&w.BitWriter)
	w.Bits(groups, schema.MaxGroups)
}

func (w *hand) sight(slot, kind, id uint64, mine bool) {
	w.entry(slot)
	firstSight.append(&w.BitWriter)
	w.Bits(kind, 2)
	w.Uvarint(id, idK)
	w.Bool(mine)
}

// spawned is a first sight of an exact entity that the client's command of some ticks ago spawned.
func (w *hand) spawned(ago int64, n uint64) {
	w.sight(500, 3, 90, true)
	w.Bool(false)
	w.Bool(true)
	w.Varint(ago, spawnK)
	w.Uvarint(n, spawnNK)
	w.Bits(0, 8)
}

func byHand(write func(w *hand)) []byte {
	h := hand{order: 7}
	h.Reset(nil)
	h.bodies.Reset(nil)
	write(&h)
	n, bodies := h.Len(), h.bodies.Len()
	entries, last := h.Bytes(), h.bodies.Bytes()
	var w wire.BitWriter
	w.Reset(nil)
	if w.Bool(h.shape != likeBefore); h.shape != likeBefore {
		w.Bool(h.shape == changed)
		w.Uvarint(h.entries, othersK)
		if h.shape == changed {
			h.order = sparse(heldTop)
			w.Uvarint(uint64(len(h.list)), changesK)
		} else {
			w.Uvarint(uint64(len(h.list)), countK)
		}
		if h.entries > 0 {
			w.Bool(true)
			w.Bits(5, orderB)
		}
		if h.shape == plainly && len(h.list) > 0 {
			w.Bool(true)
			w.Bits(uint64(h.order), orderB)
		}
	}
	w.Copy(entries, 0, n)
	for _, d := range h.list {
		w.Uvarint(d, h.order)
	}
	w.Copy(last, 0, bodies)
	return append(w.Bytes(), make([]byte, 64)...)
}

// agreesOnNothing is the name of a case in which the server knew nothing of what the client holds.
const agreesOnNothing = "nothing is agreed on"

func TestRefusals(t *testing.T) {
	const tick = 20
	var newest uint64 // state held in slot 1
	{
		r, _ := newReplay(t)
		newest = uint64(r.store().slots[1].Groups[0].Newest().Tick)
	}
	for _, c := range []struct {
		name  string
		write func(w *hand)
		want  error
	}{
		{"nothing", func(w *hand) {}, nil},
		{"the end of what never was", func(w *hand) { w.gone(500) }, nil},
		{"a slot beyond the last", func(w *hand) { w.gone(511); w.gone(512) }, wire.ErrMalformed},
		{"more entries than slots", func(w *hand) { w.entries = 513 }, wire.ErrMalformed},
		{"more ordinary updates than slots", func(w *hand) { w.list = make([]uint64, 513) }, wire.ErrMalformed},
		{"an ordinary update of a slot beyond the last", func(w *hand) { w.ordinary(512) }, wire.ErrMalformed},
		{"a slot twice", func(w *hand) { w.gone(1); w.ordinary(1) }, wire.ErrMalformed},
		{"the slots of the packet before", func(w *hand) { w.shape = likeBefore }, nil},
		{"those and another", func(w *hand) { w.shape = changed; w.ordinary(500) }, ErrSlot},
		{"those but for one that is gone", func(w *hand) { w.shape = changed; w.gone(1) }, nil},
		{"those but for one that is gone, which then is there all the same",
			func(w *hand) { w.shape = changed; w.gone(1); w.ordinary(1) }, wire.ErrMalformed},
		{"an empty slot", func(w *hand) { w.update(500, 0, 0) }, ErrSlot},
		{"an ordinary update of an empty slot", func(w *hand) { w.ordinary(500) }, ErrSlot},
		{"no group", func(w *hand) { w.update(1, 0, 2) }, wire.ErrMalformed},
		{"a baseline before time began", func(w *hand) { w.update(1, 1, 2); w.against(20, 0) }, wire.ErrMalformed},
		{"a baseline that is not held", func(w *hand) { w.update(1, 1, 2); w.against(5, 0) }, ErrBaseline},
		{agreesOnNothing, func(w *hand) { w.ordinary(1) }, ErrBaseline},
		{agreesOnNothing + ", nor on a packet", func(w *hand) { w.shape = likeBefore }, ErrBaseline},
		{"a state before the baseline that is not held", func(w *hand) { w.update(1, 1, 2); w.against(tick-newest, 30) },
			ErrBaseline},
		{"a state before the baseline from before time began",
			func(w *hand) { w.update(1, 1, 2); w.against(tick-newest, 50) }, ErrBaseline},
		{"a state too long before the baseline", func(w *hand) { w.update(1, 1, 2); w.against(tick-newest, 64) },
			wire.ErrMalformed},
		{"an ordinary update", func(w *hand) { w.ordinary(1) }, nil},
		{"no group to forget", func(w *hand) { w.forget(1, 0) }, wire.ErrMalformed},
		{"a group to forget that all receive", func(w *hand) { w.forget(1, 1) }, wire.ErrMalformed},
		{"a group to forget of an empty slot", func(w *hand) { w.forget(500, 1) }, ErrSlot},
		{"groups to forget", func(w *hand) { w.forget(6, 0b1100) }, nil},
		{"a first sight without what moves",
			func(w *hand) { w.sight(500, 2, 90, false); w.Bits(0b1110, 4) }, wire.ErrMalformed},
		{"a first sight of no group", func(w *hand) { w.sight(500, 1, 90, false); w.Bits(0, 8) }, wire.ErrMalformed},
		{"a level beyond the last", func(w *hand) {
			w.sight(500, 2, 90, false)
			w.Bits(0b0011, 4)
			w.Bits(0b000,
				3)
			w.Bits(0b001, 3)
		}, wire.ErrMalformed},
		{"an own one of a kind that is run ahead",
			func(w *hand) { w.sight(500, 3, 90, true); w.Bool(true); w.Bits(0, 8) }, nil},
		{"an exact one that nobody spawned",
			func(w *hand) { w.sight(500, 3, 90, true); w.Bits(0b00, 2); w.Bits(0, 8) }, nil},
		{"one that a command spawned", func(w *hand) { w.spawned(19, 255) }, nil},
		{"one that a command to come spawned", func(w *hand) { w.spawned(-(1<<32 - 21), 0) }, nil},
		{"one that a command before time began spawned", func(w *hand) { w.spawned(20, 0) }, wire.ErrMalformed},
		{"one that a command after all time spawned", func(w *hand) { w.spawned(-(1<<32 - 20), 0) }, wire.ErrMalformed},
		{"one that a command spawned after 256 others", func(w *hand) { w.spawned(3, 256) }, wire.ErrMalformed},
		{"no identity", func(w *hand) { w.sight(500, 1, 0, false) }, wire.ErrMalformed},
		{"an identity beyond 32 bits", func(w *hand) { w.sight(500, 1, 1<<32, false) }, wire.ErrMalformed},
		{"a teleport before time began", func(w *hand) {
			w.sight(500, 1, 90, false)
			w.Bits(0b11, 2) // both groups
			w.Bits(0b11, 2)
			w.Uvarint(20, agoK)
		}, wire.ErrTruncated},
		{"a first sight", func(w *hand) { w.sight(500, 1, 90, false); w.Bits(0b11, 10) }, nil},
		{"a first sight of the same entity in two slots", func(w *hand) {
			w.sight(500, 1, 90, false)
			w.Bits(0b11, 8) // both groups; no flags, no rest, the same bound, no place; the same bound, not on
			w.sight(501, 1, 90, false)
			w.Bits(0b01, 6) // without whether it is on
		}, nil},
		{"another bound that is the same", func(w *hand) {
			w.sight(500, 1, 90, false)
			w.Bits(0b11, 4)
			w.Bool(true)
			w.Bits(0, boundB)
		}, wire.ErrMalformed},
		{"another kind in a slot that is in use", func(w *hand) { w.sight(1, 0, 2, false); w.Bits(0b111, 33) }, nil},
		{"an own one that was another's", func(w *hand) { w.sight(1, 1, 2, true); w.Bits(0, 30) }, nil},
	} {
		r, _ := newReplay(t)
		s := r.store()
		body := byHand(c.write)
		before, agreed := image(s), agreedAt(tick)
		if strings.HasPrefix(c.name, agreesOnNothing) {
			agreed = 0
		}
		var br wire.BitReader
		br.Reset(body)
		if err := s.Read(&br, tick, agreed); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		} else if (image(s) == before) != (c.want != nil || c.name == "nothing") {
			t.Errorf("%s: changed: %v", c.name, image(s) != before)
		}
		if err := sound(s); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		// And the client goes on: any update of any slot is refused or applied.
		g := rng(1)
		for range 300 {
			body := byHand(func(w *hand) {
				if w.shape = shape(g.n(3)); g.chance(0.5) {
					w.entry(uint64(g.n(8)))
					general.append(&w.BitWriter)
					w.Bits(g.next(), 3)
					w.against(uint64(1+g.n(20)), uint64(g.n(8)))
					w.Bits(g.next(), 60)
				} else {
					w.ordinary(uint64(g.n(8)))
				}
				w.bodies.Bits(g.next(), 60)
			})
			if err := read(s, tick+1, body); err != nil {
				t.Fatalf("%s, then %x: %v", c.name, body, err)
			}
		}
	}
}

// FuzzStoreRead reads any bytes as a packet for a client in the midst of a match.
func FuzzStoreRead(f *testing.F) {
	r, next := newReplay(f)
	for _, k := range next {
		f.Add(uint32(k.tick), k.body, k.body)
	}
	f.Add(uint32(1<<32-1), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, []byte{})
	f.Fuzz(func(t *testing.T, tick uint32, first, second []byte) {
		s := r.store()
		for i, body := range [][]byte{first, second} {
			if err := read(s, clock.Tick(tick)+clock.Tick(i), body); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// FuzzStoreAgreed lets a server know anything of what was applied, also of packets to come and of
// packets that never were.
func FuzzStoreAgreed(f *testing.F) {
	r, next := newReplay(f)
	for i, k := range next {
		f.Add(uint32(k.tick), agreedAt(k.tick), uint8(i), k.body, k.body)
		f.Add(uint32(k.tick)+60, uint64(1)<<63|uint64(i), uint8(60), k.body, k.body)
	}
	f.Fuzz(func(t *testing.T, tick uint32, agreed uint64, later uint8, first, second []byte) {
		s := r.store()
		for _, body := range [][]byte{first, second, first} {
			if err := readAgreed(s, clock.Tick(tick), agreed, body); err != nil {
				t.Fatal(err)
			}
			agreed, tick = agreed<<(later&63)|uint64(later>>7)<<later, tick+uint32(later)
		}
	})
}
