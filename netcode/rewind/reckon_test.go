package rewind

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

// tram is dead reckoned: long straight ways, of which nothing is sent.
type tram struct {
	Pos  geom.Vec2 `net:"pos,1mm,others=1cm,draw=dr:20cm"`
	Vel  geom.Vec2 `net:"vel,1cm/s"`
	Door bool      `net:"bool,group=0"`
}

// driver drives a tram.
type driver struct{ x, y, vx, vy float64 } // mm, cm/s

// drive drives for a tick: 400 ticks straight on, 200 in a curve, 150 against a wall while the
// wheels turn, 150 at rest.
func (d *driver) drive(tick clock.Tick, rate float64) {
	switch phase := tick % 900; {
	case phase < 400:
		d.vx, d.vy = 800, 100
	case phase < 600:
		a := float64(phase-400) / 40
		d.vx, d.vy = 800*math.Cos(a), 800*math.Sin(a)
	case phase < 750:
		d.vx, d.vy = 300, 0
	default:
		d.vx, d.vy = 0, 0
	}
	if tick%900 < 600 {
		d.x, d.y = d.x+d.vx*10/rate, d.y+d.vy*10/rate
	}
}

// A dead reckoned entity is judged where it was drawn, to the bit: on ways of seconds without a
// record, in curves, where it stands still while its wheels turn, and at rest; with loss, for every
// playout time that the rewind allows.
func TestReckonedIsRewoundAsDrawn(t *testing.T) {
	const rate, delay = 60, 5
	k, err := schema.New("tram", reflect.TypeFor[tram](), rate)
	if err != nil {
		t.Fatal(err)
	}
	kinds := []*schema.Kind{k}
	h, store := snapshot.NewHistory(codec.All(kinds...)), snapshot.NewStore(codec.All(kinds...))
	view := snapshot.NewView(h)
	var log wire.Log
	var received wire.Received
	var agreement wire.Agreement
	var sent, got wire.Seq // the client's packets: its newest, and the newest that the server has
	r := Rewinder{History: h, View: view, Log: &log}
	type flight struct {
		at     clock.Tick
		seq    wire.Seq
		tick   clock.Tick
		latest wire.Seq // the client's newest packet that the server had
		body   []byte
	}
	var down []flight
	type ack struct {
		at clock.Tick
		wire.Ack
	}
	var up []ack
	var index int32
	var writer snapshot.Writer
	random := geom.NewRand(5)
	var d driver
	newest := wire.Seq(0)
	compared, forward, outages := 0, 0, 0
	sims, want := make([]int64, k.Sims), make([]int64, k.Obs)
	for tick := clock.Tick(1); tick <= 60*rate; tick++ {
		now := clock.Time(tick) * clock.Time(time.Second/rate)
		h.Begin(tick)
		if tick == 1 {
			index = h.Add(7, 0, false)
			view.Enter(index, snapshot.Observed)
		}
		d.drive(tick, rate)
		for c, v := range []float64{d.x, d.y, d.vx, d.vy, 0} {
			sims[c] = int64(math.Round(v))
		}
		h.Record(index, sims, false)
		if due := view.Pending(now, 300*time.Millisecond, nil); len(due) > 0 && tick%3 == 0 {
			p := log.Sent(now, tick, view.Missing)
			var w wire.BitWriter
			w.Reset(nil)
			writer.All(&w, view, due, p, now)
			if random.Float64() > 0.2 {
				down = append(down, flight{tick + delay, p.Seq, tick, got, slices.Clone(w.Bytes())})
			}
		}
		for len(down) > 0 && down[0].at <= tick {
			f := down[0]
			down = down[1:]
			var b wire.BitReader
			b.Reset(f.body)
			agreed, _ := agreement.Agreed(f.tick, f.latest)
			if err := store.Read(&b, f.tick, agreed); err != nil {
				continue
			}
			received.Applied(f.seq)
			agreement.Applied(f.tick, sent+1)
			newest = f.seq
			if a, ok := received.Ack(); ok {
				up = append(up, ack{tick + delay, a})
				sent++
			}
		}
		for len(up) > 0 && up[0].at <= tick { // the command that says what was on the screen comes with the ack
			log.Acked(up[0].Ack, view.Delivered, view.Missing)
			up = up[1:]
			got++
		}
		held := store.Find(7)
		if held == nil || len(up) > 0 || len(down) > 0 {
			continue
		}
		for _, back := range []clock.TickFrac{1, 8*256 + 77, 20 * 256, 29*256 + 200, 40 * 256} {
			at := tick.Frac() - back
			a, b := held.Groups[0].Around(at)
			if a == nil || tick < 2*snapshot.HistoryTicks {
				continue
			}
			// an outage, of which a shooter may not make use
			if at.Tick()-min(at.Tick(), a.Tick) > motion.MaxForward && !a.Rest {
				outages++
				continue
			}
			motion.Draw(k, &k.Groups[0], a, b, at, want)
			n := 0
			r.Each(
				k,
				Query{Self: -1},
				Judge(at, wire.Basis{Newest: newest}, tick, time.Second, time.Second/rate),
				func(_ uint32, got []int64) bool {
					if n++; !slices.Equal(got, want) {
						t.Errorf("tick %d, %d/256 ticks back: drawn %v from tick %d, rewound %v", tick, back, want, a.Tick, got)
					}
					return true
				},
			)
			if n != 1 {
				t.Fatalf("tick %d: %d entities", tick, n)
			}
			if compared++; b == nil {
				forward++
			}
			if t.Failed() {
				return
			}
		}
	}
	if compared < 5000 || forward < 1000 || outages > compared/50 {
		t.Errorf("%d pictures compared, %d of them drawn on, %d in outages", compared, forward, outages)
	}
}
