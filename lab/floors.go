package lab

import (
	"math"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
)

var floorsExperiment = &experiment{
	name:  "floors",
	about: "what a height costs, and what the number of a floor would cost in its place",
	notes: `Two dozen walkers are watched by a client without a budget on a path without loss, 20 records a second each. In
the <b>house</b> of six floors of 3 m, joined by stairs, they walk about and set out for the stairs every ten
seconds or so. On the <b>hills</b>, which rise by 8 m, there is one floor. <b>height</b> sends three coordinates
in steps of 1 cm, as differences from what is expected. <b>floor</b> sends two coordinates and, when it changes,
the number of the floor; a client that has the map works out the height. <b>flat</b> sends two coordinates
alone. <b>z16</b> is what "flat" and 16 bits of height in each record would take. update_bits are of everything
that an update of one walker takes, and first_bits those of its first sight.`,
	takes:    byPolicy | byProfile,
	profiles: []netsim.Profile{netsim.Fiber},
	policies: []string{"height", "floor", "flat", "z16"},
	run:      runFloors,
}

// The maps of floors.
const (
	floorsWalkers = 24
	floorsRate    = 20
	floorsCount   = 6
	floorHeight   = 3.0  // metres
	floorsSide    = 40.0 // metres, of the house and of the hills
	stairsLength  = 6.0  // metres
	stairsWidth   = 2.0
	floorsSpeed   = 1.4 // metres a second
	hillHeight    = 4.0 // metres above and below the middle
	stairsChance  = 0.1 / floorsRate
)

// A floorWalker is where a walker is on a map.
type floorWalker struct {
	at    geom.Vec2
	aim   geom.Angle
	floor int
	climb int  // whether it goes up, 1, or down, -1; 0: it stays on its floor
	on    bool // the stairs; before that it goes there
}

// stairs returns where the stairs from a floor to the next begin: at one wall on even floors, at
// the other on odd ones.
func stairs(floor int) geom.Vec2 {
	return geom.Vec2{X: 2, Y: 1 + float64(floor%2)*(floorsSide-2)}
}

// height returns how high the walker is. The stairs are a part of the floor below.
func (w *floorWalker) height(hills bool) float64 {
	switch {
	case hills:
		return hillHeight * geom.Angle(w.at.X/6).Dir().Y * geom.Angle(w.at.Y/5).Dir().X
	case w.on:
		return floorHeight * (float64(w.floor) + (w.at.X-stairs(w.floor).X)/stairsLength)
	}
	return floorHeight * float64(w.floor)
}

// step moves the walker by one tick.
func (w *floorWalker) step(hills bool, r *geom.Rand) {
	const way = floorsSpeed / floorsRate
	switch {
	case w.on:
		w.at.X += float64(w.climb) * way
		if x := w.at.X - stairs(w.floor).X; x > stairsLength || x < 0 {
			w.floor += max(w.climb, 0)
			w.on, w.climb = false, 0
		}
		return
	case w.climb != 0:
		foot := stairs(w.floor)
		if w.climb < 0 {
			foot = stairs(w.floor - 1).Add(geom.Vec2{X: stairsLength})
		}
		off := foot.Sub(w.at)
		if w.aim = off.Angle(); off.Len() <= way {
			w.at, w.on = foot, true
			w.floor += min(w.climb, 0)
			return
		}
	case !hills && r.Chance(stairsChance):
		w.climb = 1
		if w.floor == floorsCount-1 || w.floor > 0 && r.Chance(0.5) {
			w.climb = -1
		}
	case r.Chance(1.0 / floorsRate):
		w.aim = r.Angle()
	}
	to := w.at.Add(w.aim.Dir().Mul(way))
	if to.X < 0 || to.Y < 0 || to.X > floorsSide || to.Y > floorsSide {
		w.aim = geom.Vec2{X: floorsSide / 2, Y: floorsSide / 2}.Sub(w.at).Angle()
		return
	}
	w.at = to
}

type (
	highWalker struct {
		Pos geom.Vec3 `net:"pos,1cm,others=1cm"`
	}
	storeyWalker struct {
		Pos   geom.Vec2 `net:"pos,1cm,others=1cm"`
		Floor int       `net:"int,0..7"`
	}
	flatWalker struct {
		Pos geom.Vec2 `net:"pos,1cm,others=1cm"`
	}
)

// floorsBits is what a policy costs.
type floorsBits struct {
	update, first float64 // bits of one
	updates       uint64
	wrong         int // walkers that the client has elsewhere than they are, in the end
}

// measureFloors lets a client watch walkers for span, and rests a second. put says what is sent of
// a walker, and right whether the client's numbers are it.
func measureFloors[T any](
	seed uint64, p netsim.Profile, hills bool, span time.Duration, put func(*T, *floorWalker),
	right func(vals []float64, w *floorWalker) bool,
) (b floorsBits, err error) {
	var all []floorWalker
	end := clock.Tick(span.Seconds() * floorsRate)
	walkers := game.NewKind[T]("walker")
	s, player, err := watchOver(watchGame("floors", floorsRate, floorsRate, walkers, floorsWalkers,
		func(v *T, i int, t clock.Tick) {
			if i == len(all) {
				r := geom.NewRand(80+seed, uint64(i))
				a := floorWalker{at: geom.Vec2{X: r.Range(0, floorsSide), Y: r.Range(0, floorsSide)}, aim: r.Angle()}
				if !hills {
					a.floor = i % floorsCount
				}
				all = append(all, a)
			} else if r := geom.NewRand(81+seed, uint64(i+1), uint64(t)); t < end {
				all[i].step(hills, &r)
			}
			put(v, &all[i])
		}), seed, p)
	if err != nil {
		return b, err
	}
	s.Run(span + time.Second)
	st, _ := s.Server.Stats(player.ID)
	b = floorsBits{update: float64(st.MovingBits+st.OtherBits) / float64(max(st.Moving, 1)),
		first: float64(st.FirstBits) / float64(max(st.First, 1)), updates: st.Moving, wrong: len(all)}
	player.Client.Draw(nil, func(e *client.Entity) {
		if i := int(e.ID) - 1; i < len(all) && right(e.Vals, &all[i]) {
			b.wrong--
		}
	})
	return b, s.Diverged()
}

// floorsOf measures a policy.
func floorsOf(policy string, seed uint64, p netsim.Profile, hills bool, span time.Duration) (floorsBits, error) {
	const near = 0.1 // metres: far away places are coarser
	flat := func(v []float64, w *floorWalker) bool { return geom.Vec2{X: v[0], Y: v[1]}.Dist(w.at) < near }
	switch policy {
	case "height":
		return measureFloors(seed, p, hills, span, func(h *highWalker, w *floorWalker) {
			h.Pos = geom.Vec3{X: w.at.X, Y: w.at.Y, Z: w.height(hills)}
		}, func(v []float64, w *floorWalker) bool { return flat(v, w) && math.Abs(v[2]-w.height(hills)) < near })
	case "floor":
		return measureFloors(seed, p, hills, span, func(s *storeyWalker, w *floorWalker) {
			s.Pos, s.Floor = w.at, w.floor
		}, func(v []float64, w *floorWalker) bool { return flat(v, w) && int(v[2]) == w.floor })
	}
	b, err := measureFloors(seed, p, hills, span, func(f *flatWalker, w *floorWalker) { f.Pos = w.at }, flat)
	if policy == "z16" {
		b.update, b.first = b.update+16, b.first+16
	}
	return b, err
}

func runFloors(r *run) error {
	span := 5 * time.Minute
	if r.quick {
		span = time.Minute
	}
	for _, p := range r.profiles {
		for _, hills := range []bool{false, true} {
			name := "house"
			if hills {
				name = "hills"
			}
			for _, policy := range r.chosen {
				b, err := floorsOf(policy, r.seed, p, hills, span)
				if err != nil {
					return err
				}
				r.emit(Row{r.name, p.Name, policy, r.seed, Values{{"map", name}}, Values{{"update_bits", b.update},
					{"first_bits", b.first}, {"updates", b.updates}, {"wrong", b.wrong}}})
			}
		}
	}
	return nil
}
