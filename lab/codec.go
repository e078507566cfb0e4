package lab

import (
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"meanwhile/lab/movement"
	"meanwhile/lab/train"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

var codecExperiment = &experiment{
	name:  "codec",
	about: "bits of a record of something that moved, beside its entropy and what others spend",
	notes: `Everything that moves is sampled every 50 ms and sent as often. Each record is a difference from the state
ack_age_ticks earlier, which the client has acknowledged, as it has the state before that. Records of what did
not change are not sent and do not count. <b>body</b> is what package codec writes. <b>slot</b> is the rest of
the entry that package snapshot writes in a packet: which entity, against which baseline, flags.
<b>bits_per_record</b> is both. <b>packet</b> is a record's share of what a packet has once, 42 bytes of UDP, IP
and Ethernet included, when all movers of one moment go into one packet. <b>head</b> is the part of it before
the first entry (the number of entries, their common baseline). <b>entropy</b> is the empirical conditional
entropy of the body in this movement: of each component's symbol, given the context that it is coded in (model,
context, octave, and the age), plus the bits that follow the symbol unchanged. Every record is decoded again and
compared. Rows at 60 Hz are what the owner of a generated shooter receives every third tick, in simulation
precision: place, velocity and three angles, two of which stay 0. <b>plain</b> is the format that this project
had before: differences from the baseline in Exp-Golomb codes. <b>float32</b> is 32 bits a number and no header.
<b>ryzom</b> is that game's position record of 65 bits: 16 mm, no direction, one length at every age.
<b>mirror</b> is our reading of that library's differences in bytes: 1 cm zigzag varints against the same
baseline, a direction in our precision, and four bytes for object, length, mask and baseline. <b>article</b> is
the 16-byte message of the article on interpolation: two coordinates and no direction.`,
	takes:    byPolicy | byMotion,
	policies: []string{ours, "plain", "mirror", "ryzom", "article", "float32"},
	first:    firstLook{params: Values{{"ack_age_ticks", 3}}, metrics: "bits_per_record entropy_bits body_bits slot_bits"},
	run:      runCodec,
}

var ackAges = []int{1, 3, 6}

// codecStep is the time between two records.
const codecStep = 50 * time.Millisecond

// precisionsOf returns the precisions that a sort is measured at; the first is what the others are
// compared at.
func precisionsOf(s movement.Sort) []movement.Precision {
	if s == movement.Cars {
		return []movement.Precision{movement.FineCars}
	}
	return []movement.Precision{movement.Fine, {Pos: "1mm", Angle: "12bit"}, {Pos: "8cm", Angle: "6bit"}}
}

func runCodec(r *run) error {
	tables, err := r.tables()
	if err != nil {
		return err
	}
	var all []*movement.Movement
	for _, rec := range r.motion {
		all = append(all, rec.At(codecStep))
	}
	if r.motion == nil {
		length, things := 120*time.Second, 8
		if r.quick {
			length, things = 40*time.Second, 4
		}
		for s := range movement.Sort(movement.Sorts) {
			all = append(all, movement.Generate(s, things, length, codecStep, 60, r.seed+1000))
		}
	}
	for _, m := range all {
		for i, p := range precisionsOf(m.Sort) {
			if i > 0 && r.quick {
				break
			}
			k, err := movement.Kind(m.Sort, p, int(time.Second/codecStep))
			if err != nil {
				return err
			}
			coder := codec.With(k, tables)
			for _, age := range ackAges {
				if err := codecRows(r, m, p, k, coder, age, i == 0); err != nil {
					return err
				}
			}
		}
	}
	if r.motion == nil {
		return ownerRows(r, tables)
	}
	return nil
}

// ownerRows measures what the owner of a generated shooter receives: place and velocity in 1/256 mm
// and 1/256 mm a tick, three angles of 16 bits, two of them 0; ticks at 60 Hz, a record every
// third.
func ownerRows(r *run, tables *codec.Tables) error {
	const rate, every = 60, 3
	length := 60 * time.Second
	if r.quick {
		length /= 3
	}
	m := movement.Generate(movement.Shooters, 4, length, time.Second/rate, rate, r.seed+1000)
	k, err := movement.Kind(movement.Cars, movement.Precision{Pos: "1/256mm", Vel: "60/256mm/s", Angle: "16bit"},
		rate)
	if err != nil {
		return err
	}
	coder := codec.With(k, tables)
	for _, age := range []int{3, 6, 12} {
		records, body, plain := 0, 0, 0
		entropy := newEntropy()
		var w wire.BitWriter
		buf := make([]byte, 0, 4096)
		dst := make([]int64, k.Sims)
		for _, track := range m.Tracks {
			rows, _ := movement.Values(k, track)
			for i := age + every; i < len(rows); i += every {
				base := codec.Base[int64]{Vals: rows[i-age], Prior: rows[i-age-every], Age: clock.Tick(age),
					Gap: every}
				cur := rows[i]
				if slices.Equal(cur, base.Vals) {
					continue
				}
				records++
				set := uint64(0)
				for _, pi := range k.Owned {
					q := &k.Props[pi]
					plain++
					if slices.Equal(cur[q.At:q.At+q.Comps], base.Vals[q.At:q.At+q.Comps]) {
						continue
					}
					set |= 1 << pi
					for c := q.At; c < q.At+q.Comps; c++ {
						w.Reset(buf[:0])
						q.AppendDelta(&w, cur[c], base.Vals[c], false)
						plain += w.Len()
					}
				}
				w.Reset(buf[:0])
				codec.Append(&w, coder, schema.OwnerGroup, cur, &base, set, clock.Tick(i))
				body += w.Len()
				var rd wire.BitReader
				rd.Reset(w.Bytes())
				copy(dst, base.Vals)
				if codec.Read(&rd, coder, schema.OwnerGroup, dst, &base, clock.Tick(i)); rd.Bad() ||
					!slices.Equal(dst, cur) {
					return fmt.Errorf("lab: codec: the owner's %v from %v was decoded as %v", cur, base.Vals, dst)
				}
				codec.Expect(coder, schema.OwnerGroup, cur, &base, func(e *codec.Expectation, _ int, v int64) {
					entropy.add(e, codec.Difference(e, v, coder.Damping(e)))
				})
			}
		}
		n := float64(records)
		params := Values{{"movement", m.Name}, {"precision", "owner's"}, {"ack_age_ticks", age}, {"rate_hz", rate}}
		if r.wants(ours) {
			r.emit(Row{"codec", "", ours, r.seed, params, Values{{"body_bits", float64(body) / n},
				{"entropy_bits", entropy.bits() / n}, {"records", records}}})
		}
		if r.wants("plain") {
			r.emit(Row{"codec", "", "plain", r.seed, params, Values{{"body_bits", float64(plain) / n},
				{"records", records}}})
		}
	}
	return nil
}

// tables returns the tables that the flags ask for, the shipped ones if they ask for none.
func (r *run) tables() (*codec.Tables, error) {
	var text string
	switch {
	case r.tablesFile != "":
		b, err := os.ReadFile(r.tablesFile)
		if err != nil {
			return nil, usageError{fmt.Errorf("lab: %w", err)}
		}
		text = string(b)
	case r.training != nil:
		var err error
		if text, err = train.Tables(r.training, aboutTables(r.training)); err != nil {
			return nil, err
		}
	default:
		return codec.DefaultTables(), nil
	}
	t, err := codec.ParseTables(text)
	if err != nil {
		return nil, usageError{fmt.Errorf("lab: %s: %w", r.tablesFile, err)}
	}
	return t, nil
}

// codecRows measures a movement at one age.
func codecRows(
	r *run, m *movement.Movement, p movement.Precision, k *schema.Kind, coder *codec.Coder, age int, rivals bool,
) error {
	var (
		records, body, plain, mirror int
		entropy                      = newEntropy()
	)
	var w wire.BitWriter
	buf := make([]byte, 0, 4096)
	dst := make([]int32, k.Obs)
	for _, track := range m.Tracks {
		_, rows := movement.Values(k, track)
		for i := age + 1; i < len(rows); i++ {
			base := codec.Base[int32]{Vals: rows[i-age], Prior: rows[i-age-1], Age: clock.Tick(age), Gap: 1}
			cur := rows[i]
			if slices.Equal(cur, base.Vals) {
				continue
			}
			records++
			tick := clock.Tick(i)
			w.Reset(buf[:0])
			codec.Append(&w, coder, 0, cur, &base, differing(k, cur, base.Vals), tick)
			body += w.Len()
			var rd wire.BitReader
			rd.Reset(w.Bytes())
			copy(dst, base.Vals)
			codec.Read(&rd, coder, 0, dst, &base, tick)
			if rd.Bad() || !slices.Equal(dst, cur) {
				return fmt.Errorf("lab: codec: %s: %v from %v was decoded as %v", m.Name, cur, base.Vals, dst)
			}
			codec.Expect(coder, 0, cur, &base, func(e *codec.Expectation, _ int, v int32) {
				entropy.add(e, codec.Difference(e, v, coder.Damping(e)))
			})
			w.Reset(buf[:0])
			plain += plainBits(&w, k, cur, base.Vals)
			mirror += mirrorBits(k, cur, base.Vals)
		}
	}
	if records == 0 {
		return nil
	}
	n := float64(records)
	row := func(policy string, params Values, metrics ...Value) {
		if r.wants(policy) && (policy == ours || rivals) {
			r.emit(Row{"codec", "", policy, r.seed,
				append(Values{{"movement", m.Name}, {"precision", precisionText(p, m.Sort)},
					{"ack_age_ticks", age}}, params...), metrics})
		}
	}
	bodyBits := float64(body) / n
	slot, head, packet, err := slotBits(m, k, age)
	if err != nil {
		return err
	}
	row(ours, nil, Value{"bits_per_record", bodyBits + slot}, Value{"body_bits", bodyBits},
		Value{"slot_bits", slot}, Value{"head_bits", head}, Value{"packet_bits", packet},
		Value{"entropy_bits", entropy.bits() / n}, Value{"records", records})
	const plainHeader = 1 + 9 + 1 + 1 + 4 + 1 + 1 // more, slot, kind of entry, group, age, special, rest
	row("plain", nil, Value{"bits_per_record", float64(plain)/n + plainHeader},
		Value{"body_bits", float64(plain) / n}, Value{"slot_bits", plainHeader}, Value{"records", records})
	row("mirror", nil, Value{"bits_per_record", float64(mirror)/n + 32}, Value{"body_bits", float64(mirror) / n},
		Value{"slot_bits", 32}, Value{"records", records})
	row("ryzom", nil, Value{"bits_per_record", 65}, Value{"body_bits", 48}, Value{"slot_bits", 17},
		Value{"records", records})
	row("article", nil, Value{"bits_per_record", 128}, Value{"body_bits", 64}, Value{"slot_bits", 64},
		Value{"records", records})
	row("float32", nil, Value{"bits_per_record", 32 * k.Obs}, Value{"body_bits", 32 * k.Obs}, Value{"slot_bits", 0},
		Value{"records", records})
	return nil
}

// slotBits sends the movement through a history, a view and a writer, acknowledged age ticks later.
// It returns what they write beside the bodies for each record, and a record's share of the
// packet's header. First sights and removals do not count, nor do packets with them.
func slotBits(m *movement.Movement, k *schema.Kind, age int) (slot, head, packet float64, err error) {
	type thing struct {
		from int // tick
		sim  [][]int64
		obs  [][]int32
		ent  int32
		on   bool
	}
	var things []thing
	last := 0
	first := slices.Min(m.Starts)
	for i, track := range m.Tracks {
		if len(track) <= 4*age {
			continue
		}
		sim, obs := movement.Values(k, track)
		things = append(things, thing{from: m.Starts[i] - first + 1, sim: sim, obs: obs})
		last = max(last, m.Starts[i]-first+1+len(track))
	}
	coder := codec.For(k)
	h := snapshot.NewHistory([]*codec.Coder{coder})
	v := snapshot.NewView(h)
	var log wire.Log
	var x snapshot.Writer
	var w, body wire.BitWriter
	var due []snapshot.Candidate
	buf, bodyBuf := make([]byte, 0, 1<<14), make([]byte, 0, 1<<10)
	var sent []wire.Seq // by tick
	header := wire.Header{Server: true, HasAck: true}
	w.Reset(nil)
	header.Append(&w, wire.Known{})
	headerBits := w.Len() + 8*wire.Overhead
	records, bits, heads, packets := 0, 0, 0, 0
	of := map[int32]*thing{}
	for tick := 1; tick < last; tick++ {
		now := clock.Time(tick) * clock.Time(codecStep)
		h.Begin(clock.Tick(tick))
		for i := range things {
			t := &things[i]
			switch n := tick - t.from; {
			case n == 0:
				t.ent, t.on = h.Add(uint32(i+1), 0, false), true
				v.Enter(t.ent, snapshot.Observed)
				of[t.ent] = t
				fallthrough
			case n > 0 && n < len(t.sim):
				h.Record(t.ent, t.sim[n], false)
			case t.on:
				v.Leave(t.ent)
				h.Remove(t.ent)
				t.on = false
			}
		}
		sent = append(sent, 0)
		if at := tick - age; at > 0 && sent[at-1] != 0 {
			log.Acked(wire.Ack{Latest: sent[at-1] - 1, History: ^uint64(0)}, v.Delivered, v.Missing)
		}
		if due = v.Pending(now, time.Second, due[:0]); len(due) == 0 {
			continue
		}
		counts, bodies := true, 0
		for i := range due {
			d := &due[i]
			t := of[d.Ent]
			n := tick - t.from
			if counts = counts && !d.First && !d.Gone && n > 2*age &&
				int(v.AckedTick(d.Ent, 0)) == tick-age; !counts {
				break
			}
			base := codec.Base[int32]{Vals: t.obs[n-age], Prior: t.obs[n-age-1], Age: clock.Tick(age), Gap: 1}
			if slices.Equal(t.obs[n], base.Vals) {
				counts = false // the entry says that it rests
				break
			}
			body.Reset(bodyBuf[:0])
			codec.Append(&body, coder, 0, t.obs[n], &base, differing(k, t.obs[n], base.Vals), clock.Tick(tick))
			bodies += body.Len()
		}
		p := log.Sent(now, clock.Tick(tick), v.Missing)
		sent[tick-1] = p.Seq + 1
		w.Reset(buf[:0])
		x.All(&w, v, due, p, now)
		if counts {
			records, packets = records+len(due), packets+1
			bits += w.Len() - x.Head() - bodies
			heads += x.Head()
		}
	}
	if records == 0 {
		return 0, 0, 0, fmt.Errorf("lab: codec: %s has no packet that can be counted at age %d", m.Name, age)
	}
	n := float64(records)
	return float64(bits) / n, float64(heads) / n, float64(heads+headerBits*packets) / n, nil
}

func precisionText(p movement.Precision, s movement.Sort) string {
	switch s {
	case movement.Walkers:
		return p.Pos
	case movement.Cars:
		return p.Pos + " " + p.Vel + " 3x" + p.Angle
	}
	return p.Pos + " " + p.Angle
}

// differing is the set of the properties whose values differ.
func differing(k *schema.Kind, a, b []int32) (set uint64) {
	for _, i := range k.Members(0) {
		q := &k.Props[i]
		if !slices.Equal(a[q.ObsAt:q.ObsAt+q.Comps], b[q.ObsAt:q.ObsAt+q.Comps]) {
			set |= 1 << i
		}
	}
	return set
}

// plainBits is the length of a body without models: a bit for the presence of each property, and
// differences in Exp-Golomb codes.
func plainBits(w *wire.BitWriter, k *schema.Kind, cur, base []int32) int {
	set := differing(k, cur, base)
	for _, i := range k.Members(0) {
		q := &k.Props[i]
		w.Bool(set>>i&1 != 0)
		for c := q.ObsAt; c < q.ObsAt+q.Comps && set>>i&1 != 0; c++ {
			q.AppendDelta(w, int64(cur[c]), int64(base[c]), true)
		}
	}
	return w.Len()
}

// mirrorBits is the length of differences in bytes: one up to 240, two up to 2287, three up to
// 67,823.
func mirrorBits(k *schema.Kind, cur, base []int32) (n int) {
	set := differing(k, cur, base)
	for _, i := range k.Members(0) {
		q := &k.Props[i]
		if set>>i&1 == 0 {
			continue
		}
		for c := q.ObsAt; c < q.ObsAt+q.Comps; c++ {
			if q.Turn > 0 {
				n += int(math.Ceil(math.Log2(float64(q.Turn))))
				continue
			}
			d := int64(cur[c]) - int64(base[c])
			switch z := uint64(d<<1 ^ d>>63); {
			case z <= 240:
				n += 8
			case z <= 2287:
				n += 16
			case z <= 67823:
				n += 24
			default:
				n += 40
			}
		}
	}
	return n
}

// An entropyCount counts symbols by the context that they are coded in.
type entropyCount struct {
	symbols map[[3]int]*[wire.Symbols]int
	order   [][3]int
	rest    int // bits that follow symbols as they are
}

func newEntropy() *entropyCount { return &entropyCount{symbols: map[[3]int]*[wire.Symbols]int{}} }

func (c *entropyCount) add(e *codec.Expectation, d int64) {
	key := [3]int{int(e.Model), e.Context, e.Octave}
	h := c.symbols[key]
	if h == nil {
		h = new([wire.Symbols]int)
		c.symbols[key] = h
		c.order = append(c.order, key)
	}
	s, n := wire.Bucket(d >> e.Raw)
	h[s]++
	c.rest += n + e.Raw
}

// bits is the entropy of all that was added.
func (c *entropyCount) bits() float64 {
	sum := float64(c.rest)
	for _, key := range c.order {
		total := 0
		for _, n := range c.symbols[key] {
			total += n
		}
		for _, n := range c.symbols[key] {
			if n > 0 {
				sum -= float64(n) * math.Log2(float64(n)/float64(total))
			}
		}
	}
	return sum
}
