package server

import (
	"fmt"
	"testing"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
)

// What may be hit, in all the ways in which it may be drawn: coarser in the distance, along curves,
// carried by what turns and by what is carried itself, drawn on by its velocity, run ahead.
type (
	alongMan struct {
		Pos geom.Vec3  `net:"pos,1mm,others=1cm,16cm@5m,128cm@10m,warp=20m"`
		Yaw geom.Angle `net:"angle,8bit"`
		Up  bool       `net:"bool,group=1"`
	}
	alongCar struct {
		Pos geom.Vec2  `net:"pos,others=1cm,draw=hermite"`
		Vel geom.Vec2  `net:"vel,1cm/s"`
		Dir geom.Angle `net:"angle,8bit"`
	}
	alongRider struct {
		On  game.ID   `net:"handle,parent"`
		Pos geom.Vec2 `net:"pos,others=1cm"`
	}
	alongTram struct {
		Pos geom.Vec2 `net:"pos,1mm,others=1cm,draw=dr:20cm"`
		Vel geom.Vec2 `net:"vel,1cm/s"`
	}
	alongLift struct {
		Pos geom.Vec2 `net:"pos"`
	}
	alongDrone struct {
		Pos geom.Vec2 `net:"pos,others=1cm"`
	}
)

// plane is a world of these, and the players who look at it.
type plane struct {
	*strollers
	men    game.Kind[alongMan]
	cars   game.Kind[alongCar]
	riders game.Kind[alongRider]
	trams  game.Kind[alongTram]
	lifts  game.Kind[alongLift]
	drones game.Kind[alongDrone]
	rng    geom.Rand

	near, all map[string]int // by kind: given by SeenAlong, and by Seen
}

const planeSize = 50.0 // metres from the middle, in both axes

func newPlane(t testing.TB, seed uint64) *plane {
	t.Helper()
	p := &plane{men: game.NewKind[alongMan]("man"), cars: game.NewKind[alongCar]("car"),
		riders: game.NewKind[alongRider]("rider"), trams: game.NewKind[alongTram]("tram"),
		lifts:  game.NewKind[alongLift]("lift", game.Predicted),
		drones: game.NewKind[alongDrone]("drone", game.ExtrapolatedBeyond(25)),
		rng:    geom.NewRand(seed), near: map[string]int{}, all: map[string]int{}}
	d := game.Definition[stroll]{
		Name: "plane", Rate: 30, Send: 15, See: 90,
		Kinds:   game.Kinds(p.men, p.cars, p.riders, p.trams, p.lifts, p.drones),
		Join:    func(w *game.World, _ string) game.ID { return p.men.Spawn(w, alongMan{Pos: p.place().At(0)}) },
		Act:     p.look,
		Step:    p.step,
		Referee: p.referee,
	}
	rules, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	p.strollers = newStrollersOf(t, rules, 3, 4000)
	p.late = 2
	return p
}

func (p *plane) place() geom.Vec2 {
	return geom.Vec2{X: p.rng.Range(-planeSize, planeSize), Y: p.rng.Range(-planeSize, planeSize)}
}

// wander moves what stands at pos: some rest for longer than the history is, now and then one is
// teleported.
func (p *plane) wander(w *game.World, id game.ID, pos *geom.Vec2) (vel geom.Vec2) {
	if phase := (uint64(w.Tick()) + uint64(id)*31) / 40; phase*2654435761>>8%3 != 0 && (phase/6+uint64(id))%3 != 0 {
		vel = geom.Angle(float64(phase * uint64(id) % 7)).Dir().Mul(8)
	}
	*pos = pos.Add(vel.Mul(w.Dt()))
	if p.rng.Chance(0.002) {
		*pos = p.place()
		w.Cut(id)
	}
	return vel
}

func (p *plane) step(w *game.World) {
	for id, o := range p.men.All(w) {
		at := o.Pos.XY()
		o.Yaw = p.wander(w, id, &at).Angle()
		o.Pos = at.At(o.Pos.Z)
		o.Up = w.Tick()/50%2 == 0
	}
	for id, o := range p.cars.All(w) {
		o.Vel = p.wander(w, id, &o.Pos)
		o.Dir = (o.Dir + geom.Angle(p.rng.Range(0, 0.2))).Norm()
	}
	for id, o := range p.riders.All(w) {
		if p.wander(w, id, &o.Pos); p.rng.Chance(0.003) {
			o.On, o.Pos = p.parent(w, id), geom.Vec2{X: p.rng.Range(-4, 4), Y: p.rng.Range(-4, 4)}
		}
	}
	for id, o := range p.trams.All(w) {
		o.Vel = p.wander(w, id, &o.Pos)
	}
	for id, o := range p.lifts.All(w) {
		p.wander(w, id, &o.Pos)
	}
	for id, o := range p.drones.All(w) {
		p.wander(w, id, &o.Pos)
	}
}

// parent returns what rider id is on from now on: nothing, a car, a lift, a tram, a player, another
// rider.
func (p *plane) parent(w *game.World, id game.ID) game.ID {
	on, n := game.ID(0), p.rng.IntN(12)
	pick := func(other game.ID) {
		if n--; n == 0 && other < id {
			on = other
		}
	}
	for other := range p.riders.All(w) {
		pick(other)
	}
	n += p.rng.IntN(8)
	for other := range p.cars.All(w) {
		pick(other)
	}
	for other := range p.lifts.All(w) {
		pick(other)
	}
	if p.rng.Chance(0.2) {
		on = game.ID(1 + p.rng.IntN(3))
	}
	return on
}

func (p *plane) referee(w *game.World) {
	for id := range p.riders.All(w) {
		if p.rng.Chance(0.002) {
			w.Despawn(id)
		}
	}
	for id := range p.cars.All(w) {
		if p.rng.Chance(0.001) {
			w.Despawn(id)
		}
	}
	for p.men.Len(w) < 60 {
		p.men.Spawn(w, alongMan{Pos: p.place().At(1)})
	}
	for p.cars.Len(w) < 20 {
		p.cars.Spawn(w, alongCar{Pos: p.place()})
	}
	for p.lifts.Len(w) < 4 {
		p.lifts.Spawn(w, alongLift{Pos: p.place()})
	}
	for p.riders.Len(w) < 60 {
		p.riders.Spawn(w, alongRider{Pos: p.place()})
	}
	for p.trams.Len(w) < 15 {
		p.trams.Spawn(w, alongTram{Pos: p.place()})
	}
	for p.drones.Len(w) < 20 {
		p.drones.Spawn(w, alongDrone{Pos: p.place()})
	}
}

// look compares, for some lines, what SeenAlong gives with what is near them of what Seen gives.
// The player is elsewhere meanwhile than in the newest tick of the history.
func (p *plane) look(w *game.World, me game.ID, _ stroll) {
	if !p.rng.Chance(0.2) {
		return
	}
	self := p.men.Get(w, me)
	defer func(was geom.Vec3) { self.Pos = was }(self.Pos)
	self.Pos = p.place().At(0)
	from := p.place()
	to := from.Add(p.rng.Angle().Dir().Mul([...]float64{0, 1, 40, 300}[p.rng.IntN(4)]))
	c := geom.Capsule{Axis: geom.Segment{A: from, B: to}, Radius: [...]float64{0, 0.5, 3, 15}[p.rng.IntN(4)]}
	along(p, w, me, c, p.men, func(o *alongMan) (geom.Vec3, game.ID) { return o.Pos, 0 })
	along(p, w, me, c, p.cars, func(o *alongCar) (geom.Vec3, game.ID) { return o.Pos.At(0), 0 })
	along(p, w, me, c, p.riders, func(o *alongRider) (geom.Vec3, game.ID) { return o.Pos.At(0), o.On })
	along(p, w, me, c, p.trams, func(o *alongTram) (geom.Vec3, game.ID) { return o.Pos.At(0), 0 })
	along(p, w, me, c, p.lifts, func(o *alongLift) (geom.Vec3, game.ID) { return o.Pos.At(0), 0 })
	along(p, w, me, c, p.drones, func(o *alongDrone) (geom.Vec3, game.ID) { return o.Pos.At(0), 0 })
}

func along[T any](p *plane, w *game.World, me game.ID, c geom.Capsule, kind game.Kind[T],
	place func(*T) (geom.Vec3, game.ID),
) {
	var want, got []string
	name := fmt.Sprintf("%T", kind)
	for id, o := range kind.Seen(w, me) {
		at, on := place(&o)
		at, ok := w.SeenOn(me, on, at)
		if ok && c.Contains(at.XY()) {
			want = append(want, fmt.Sprint(id, o))
		}
		p.all[name]++
	}
	for id, o := range kind.SeenAlong(w, me, c.Axis.A, c.Axis.B, c.Radius) {
		got = append(got, fmt.Sprint(id, o))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		p.t.Errorf("tick %d, %s within %v: %v, want %v", w.Tick(), name, c, got, want)
	}
	p.near[name] += len(got)
}

// SeenAlong gives those of Seen that are near the line where the player saw them, to the bit,
// whatever became of the packets: also across teleports and deaths, on vehicles, after long rests
// and after outages that are longer than the history.
//
// seeds: B15
func TestSeenAlongIsSeenNearby(t *testing.T) {
	for seed := range uint64(3) {
		p := newPlane(t, seed+1)
		for p.tick < 1500 && !t.Failed() {
			switch phase := p.tick % 500; {
			case phase < 300:
				p.loss = 0.05
			case phase < 350:
				p.loss = 0.5
			case phase < 500-clock.Tick(seed)*50:
				p.loss = 1 // for up to 150 ticks
			}
			p.arrive()
			p.serve()
			p.send()
			p.deliver()
		}
		for name, n := range p.near {
			if all := p.all[name]; n < 15 || n > all/4 {
				t.Errorf("%s: %d of %d were near", name, n, all)
			}
		}
	}
}
