package main

import (
	"fmt"
	"hash/fnv"
	"math"
	"reflect"
	"strings"
	"time"
	"unsafe"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

// thing has a property of each class, in both precisions where there are two.
type thing struct {
	Pos   geom.Vec3  `net:"pos,others=1cm,draw=hermite"`
	Vel   geom.Vec3  `net:"vel,others=2cm/s"`
	Yaw   geom.Angle `net:"angle,14bit,others=8bit"`
	Pitch geom.Angle `net:"angle,1deg"`
	Heat  float64    `net:"float,0.3,others=0.7,group=0"`
	Score int        `net:"int,-3..999"`
	Until clock.Tick `net:"tick"`
	Enemy uint32     `net:"handle"`
	Name  string     `net:"text,12"`
	Ammo  uint16     `net:"int,0..30,to=owner"`
	Gun   float64    `net:"float,0.01,kept"`

	Car  geom.Vec3  `net:"pos,1mm,others=1cm,4cm@30m,draw=dr:20cm,warp=40m"`
	Turn geom.Quat  `net:"quat,20bit,others=11bit,10bit@30m"`
	Spin geom.Vec3  `net:"spin"`
	Look geom.View  `net:"view,14bit,others=8bit"`
	Head geom.Angle `net:"angle,1deg,draw=dr:2deg"`
	Rate geom.Angle `net:"spin,2deg/s"`
	Gait uint8      `net:"enum,idle|walk|run"`
	Skin [9]byte    `net:"bytes,group=1"`
	Load float64    `net:"float,0.3,-20..60,others=1.2"`
}

type stick struct {
	Move geom.Vec2  `net:"stick,9bit"`
	Aim  geom.Angle `net:"angle,13bit"`
	Fire bool       `net:"press"`
}

// recordSum hashes states on their whole way: rounded, recorded, written as records against what a
// client holds, read, and drawn between two records as integers and as numbers.
func recordSum() uint64 {
	h := fnv.New64a()
	num := func(vs ...float64) {
		for _, v := range vs {
			fmt.Fprintf(h, "%016x", math.Float64bits(v))
		}
	}
	things, err := schema.New("thing", reflect.TypeFor[thing](), 60)
	fail(err)
	sticks, err := schema.New("stick", reflect.TypeFor[stick](), 60)
	fail(err)
	h.Write([]byte(things.Text() + sticks.Text()))

	r := geom.NewRand(3)
	any := func() float64 {
		if r.Chance(0.02) {
			return math.Float64frombits(r.Uint64())
		}
		return r.Range(-1000, 1000)
	}
	ints := make([]int64, sticks.Sims)
	for range 5000 {
		s := stick{Move: geom.Vec2{X: any() / 500, Y: any() / 500}, Aim: geom.Angle(any())}
		sticks.Extract(unsafe.Pointer(&s), ints)
		fmt.Fprint(h, ints)
		sticks.Store(unsafe.Pointer(&s), ints)
		num(s.Move.X, s.Move.Y, float64(s.Aim))
		num(sticks.AppendExact(nil, nil, ints, 65536)...)
	}

	const count = 30
	kinds := []*schema.Kind{things}
	history := snapshot.NewHistory(codec.All(kinds...))
	view, store := snapshot.NewView(history), snapshot.NewStore(codec.All(kinds...))
	var writer snapshot.Writer
	var log wire.Log
	var received wire.Received
	var state [count]thing
	sims, drawn := make([]int64, things.Sims), make([]int64, things.Obs)
	names := strings.Fields("Ada Zoë Łukasz 李雷 x \xff\xfe averylongnameindeed")
	for tick := clock.Tick(1); tick <= 1500; tick++ {
		now := clock.Time(tick) * clock.Time(time.Second/60)
		history.Begin(tick)
		for i := range state {
			if tick == 1 {
				history.Add(uint32(i+1), 0, i == 0)
				detail := snapshot.Observed
				if i == 0 {
					detail = snapshot.Mine
				}
				view.Enter(int32(i), detail)
			}
			t, rests := &state[i], i%3 == 1 && tick/100%2 == 1
			cut := r.Chance(0.005)
			switch {
			case rests:
				cut = false
			case cut:
				t.Pos = geom.Vec3{X: any(), Y: any(), Z: any()}
			default:
				t.Vel = t.Vel.Add(geom.Vec3{X: r.Range(-1, 1), Y: r.Range(-1, 1), Z: r.Range(-1, 1)}).Limit(12)
				t.Pos = t.Pos.Add(t.Vel.Mul(1.0 / 60))
				t.Turn = t.Turn.Mul(geom.Around(geom.Vec3{X: any(), Y: any(), Z: 1}, geom.Angle(r.Range(-0.2, 0.2)))).Unit()
				t.Spin, t.Rate = geom.Vec3{X: r.Range(-3, 3), Z: any()}, geom.Angle(r.Range(-3, 3))
				t.Turn, t.Head = t.Turn.Spun(t.Spin.Limit(3), 1.0/60), t.Head+t.Rate/60
				t.Car = t.Car.Add(t.Turn.Rotate(t.Vel).Mul(1.0 / 60))
				t.Look = geom.View{Yaw: geom.Angle(any()), Pitch: t.Pitch}
				t.Yaw, t.Pitch = geom.Angle(any()), t.Pitch+geom.Angle(r.Range(-0.1, 0.1))
			}
			if r.Chance(0.05) && !rests {
				t.Heat, t.Score, t.Until, t.Enemy, t.Name, t.Ammo = any(), r.IntN(
					2000,
				)-500, tick+clock.Tick(
					r.IntN(300),
				), uint32(
					r.Uint64(),
				), names[r.IntN(len(names))], uint16(
					r.IntN(40),
				)
				t.Gait, t.Load = uint8(r.IntN(4)), any()
				t.Skin[r.IntN(9)] = byte(r.Uint64())
			}
			things.Extract(unsafe.Pointer(t), sims)
			things.Store(unsafe.Pointer(t), sims)
			history.Record(int32(i), sims, cut)
		}
		due := view.Pending(now, 200*time.Millisecond, nil)
		packet := log.Sent(now, tick, view.Missing)
		var w wire.BitWriter
		w.Reset(nil)
		writer.Begin(view, due, 1<<20)
		for i := range due {
			if r.Chance(0.7) { // as if a budget left it out
				writer.Try(&due[i])
				writer.Keep()
			}
		}
		writer.End(&w, packet, now)
		body := w.Bytes()
		h.Write(body)
		if r.Chance(0.1) {
			continue // lost
		}
		var bits wire.BitReader
		bits.Reset(body)
		fail(store.Read(&bits, tick, ^uint64(0)))
		received.Applied(packet.Seq)
		ack, _ := received.Ack()
		log.Acked(ack, view.Delivered, view.Missing)

		at := tick.Frac() - clock.TickFrac(r.IntN(20*clock.FracPerTick))
		for _, e := range store.Entities() {
			if e.Mine {
				num(things.AppendExact(nil, nil, e.Groups[snapshot.OwnerGroup].Newest().Vals, 65536)...)
				continue
			}
			for g := range things.Groups {
				group := &things.Groups[g]
				a, b := e.Groups[g].Around(at)
				motion.Draw(things, group, a, b, at, drawn[group.At:group.At+group.N])
			}
			fmt.Fprint(h, drawn)
			for g := range things.Groups {
				if s := e.Groups[g].Newest(); s != nil {
					fmt.Fprint(h, motion.Strays(things, &things.Groups[g], s, s.Vals, tick))
				}
			}
			child := append([]int64(nil), drawn...)
			motion.Attach(things, child, things, drawn)
			for i := range things.Props {
				if q := &things.Props[i]; q.ObsAt >= 0 {
					fmt.Fprint(h, q.Coarsen(int32(drawn[q.ObsAt]>>8), 1))
				}
			}
			fmt.Fprint(h, child, motion.Error(things, child, drawn))
			num(things.AppendDrawn(nil, drawn)...)
			var t thing
			things.StoreDrawn(unsafe.Pointer(&t), drawn)
			num(t.Pos.X, t.Vel.Y, float64(t.Yaw), t.Heat, t.Turn.W, t.Turn.Z, t.Spin.X, float64(t.Look.Pitch), t.Car.Y)
		}
	}
	return h.Sum64()
}
