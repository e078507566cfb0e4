package rewind

import (
	"reflect"
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

// cart moves 10 cm a tick, and ever faster if it is dead reckoned.
type cart struct {
	Pos struct{ X, Y float64 } `net:"pos,1cm"`
}

// oldRecords plays 110 ticks in which one client gets records of one entity at ticks 10 and 15
// alone, with these bounds, and returns what the server rewinds with. Those of the three ticks after
// each are lost.
func oldRecords(t *testing.T, k *schema.Kind, bounds [2]uint8) (r *Rewinder, newest wire.Seq) {
	h := snapshot.NewHistory(codec.All(k))
	v := snapshot.NewView(h)
	var log wire.Log
	var writer snapshot.Writer
	sims := make([]int64, k.Sims)
	for tick := clock.Tick(1); tick <= 110; tick++ {
		h.Begin(tick)
		if tick == 1 {
			h.Add(7, 0, false)
			v.Enter(0, snapshot.Observed)
		}
		if sims[0] = int64(tick) * 10; k.Groups[0].Reckoned != 0 {
			sims[0] *= int64(tick)
		}
		h.Record(0, sims, false)
		if tick < 10 || tick > 18 || (tick-10)%5 > 3 {
			continue
		}
		now := clock.Time(tick) * clock.Time(period)
		due := v.Pending(now, time.Second, nil)
		for i := range due {
			due[i].Bound = bounds[tick/15]
		}
		p := log.Sent(now, tick, v.Missing)
		var w wire.BitWriter
		w.Reset(nil)
		writer.All(&w, v, due, p, now)
		if tick%5 != 0 {
			continue
		}
		newest = p.Seq
		if !log.Acked(wire.Ack{Latest: newest}, v.Delivered, v.Missing) {
			t.Fatal("ack refused")
		}
	}
	return &Rewinder{History: h, View: v, Log: &log}, newest
}

// A shooter makes use of a record up to two of its Waits older than Receipt.Oldest: it is shown one
// later, and the next comes one later. What is dead reckoned may be MaxForward older still. If three
// were sent after it that are no younger than that, a newer state takes the record's place: two may
// have been lost.
func TestRecordsOlderThanOldest(t *testing.T) {
	plain, err := schema.New("cart", reflect.TypeFor[cart](), 20)
	if err != nil {
		t.Fatal(err)
	}
	reckoned, err := schema.New("tram", reflect.TypeFor[tram](), 20)
	if err != nil {
		t.Fatal(err)
	}
	const long = 8 // a class
	wait := motion.Wait(long)
	for _, c := range []struct {
		name   string
		kind   *schema.Kind
		bounds [2]uint8
		at     clock.TickFrac
		record clock.Tick // that is drawn from
		slack  clock.Tick
	}{
		{"no bound", plain, [2]uint8{}, clock.Tick(17).Frac(), 15, 0},
		{"a long bound", plain, [2]uint8{0, long}, (15 + wait).Frac(), 15, 2 * wait},
		{"towards a long bound", plain, [2]uint8{0, long}, clock.Tick(12).Frac(), 10, 2 * wait},
		{"from a long bound", plain, [2]uint8{long, 0}, (10 + wait).Frac(), 10, 2 * wait},
		{"dead reckoned", reckoned, [2]uint8{}, clock.Tick(40).Frac(), 15, motion.MaxForward},
	} {
		r, newest := oldRecords(t, c.kind, c.bounds)
		if c.name == "from a long bound" {
			newest-- // as both would be shown by then
		}
		for _, more := range []clock.Tick{0, 1, 2, 3} {
			r.Substituted = 0
			n, receipt := 0, Receipt{Used: c.at, By: wire.Basis{Newest: newest}, Oldest: c.record + c.slack + more}
			r.Each(c.kind, Query{Self: -1}, receipt, func(uint32, []int64) bool { n++; return true })
			if n != 1 || (r.Substituted != 0) != (more == 3) {
				t.Errorf("%s: record %d, oldest %d+%d: %d entities, %d of them judged by a newer state",
					c.name, c.record, c.record+c.slack, more, n, r.Substituted)
			}
		}
	}
}

// A pose that the server had no room to send since is the one on the screen, however old. If it was
// sent three times and did not arrive, the shooter may make use of the old one for MaxGap.
//
// seeds: B16
func TestPosesThatWait(t *testing.T) {
	type man struct {
		Pos    struct{ X, Y float64 } `net:"pos,1cm"`
		Crouch bool                   `net:"bool"`
	}
	k, err := schema.New("man", reflect.TypeFor[man](), 20)
	if err != nil {
		t.Fatal(err)
	}
	for _, sent := range []clock.Tick{0, 2, 3} { // in tick 25, and again a second later, and two
		h := snapshot.NewHistory(codec.All(k))
		v := snapshot.NewView(h)
		var log wire.Log
		var writer snapshot.Writer
		sims := make([]int64, k.Sims)
		for tick := clock.Tick(1); tick <= 100; tick++ {
			h.Begin(tick)
			if tick == 1 {
				h.Add(7, 0, false)
				v.Enter(0, snapshot.Observed)
			}
			if tick == 20 {
				sims[2] = 1
			}
			h.Record(0, sims, false)
			if tick > 1 && (tick != 25 || sent < 1) && (tick != 46 || sent < 2) && (tick != 67 || sent < 3) {
				continue
			}
			now := clock.Time(tick) * clock.Time(period)
			p := log.Sent(now, tick, v.Missing)
			var w wire.BitWriter
			w.Reset(nil)
			writer.All(&w, v, v.Pending(now, time.Second, nil), p, now)
			log.Charge(p, 100)
			if tick == 1 && !log.Acked(wire.Ack{Latest: 1}, v.Delivered, v.Missing) {
				t.Fatal("ack refused")
			}
		}
		r := &Rewinder{History: h, View: v, Log: &log}
		for _, oldest := range []clock.Tick{24, 46, 67} {
			want := int64(0) // the pose of tick 1
			if sent == 3 && oldest == 67 {
				want = schema.SubSteps
			}
			receipt := Receipt{Used: clock.Tick(80).Frac(), By: wire.Basis{Newest: 1}, Oldest: oldest}
			r.Each(k, Query{Self: -1}, receipt, func(_ uint32, drawn []int64) bool {
				if drawn[2] != want {
					t.Errorf("sent %d times from tick 25 on, oldest %d: crouches %d, want %d", sent, oldest, drawn[2], want)
				}
				return true
			})
		}
	}
}
