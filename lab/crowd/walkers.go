// Package crowd is a reference workload: people who walk about a square of a kilometre, each of
// them a player with a client, and the measurement of what the server spends on them and of what
// their clients know. The benchmark crowd and the experiment budget share it.
//
// The walkers are defined to the bit, so that other engines can be measured with the same ones.
package crowd

import "math"

// The world of the crowd.
const (
	side = 100_000 // cm: coordinates are 0 to side-1
	Rate = 20      // ticks a second
	near = 250     // how many a client knows at the same time, its own walker included
)

// Walkers are the crowd at one tick. Walker i has its place in centimetres, its heading in 1/65536
// turn, its health of 0 to 100 and what it does: 0 it stands, 1 it walks, 2 to 7 are emotes.
//
// A walker goes to a random place at a speed of its own, 15 to 35 cm a tick, up to 30 degrees off
// the straight way, rests there for up to two seconds, and goes on.
type Walkers struct {
	x, y    []int32
	heading []uint16
	health  []uint8
	anim    []uint8

	random random
	all    []walker
}

type walker struct {
	x, y, toX, toY float64
	speed, wander  float64
	hot            bool
	pause          int
	health         uint8
}

// random is splitmix64, part of the definition of the workload.
type random uint64

func (r *random) next() uint64 {
	*r += 0x9E3779B97F4A7C15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

func (r *random) float() float64         { return float64(r.next()>>11) / (1 << 53) }
func (r *random) below(n int) int        { return int(float64(r.float() * float64(n))) }
func (r *random) chance(p float64) bool  { return r.float() < p }
func (w *walker) reached() bool          { return math.Hypot(w.toX-w.x, w.toY-w.y) < 2*w.speed }
func within(v float64) (clamped float64) { return math.Min(side-1, math.Max(0, v)) }

// place returns a random place of a walker: anywhere or, for hot ones, in a disc with a radius of
// 100 m in the centre.
func (w *walker) place(r *random) (x, y float64) {
	if !w.hot {
		x = float64(r.float() * (side - 1))
		return x, float64(r.float() * (side - 1))
	}
	far, turn := 10_000*math.Sqrt(r.float()), 2*math.Pi*r.float()
	return side/2 + float64(far*math.Cos(turn)), side/2 + float64(far*math.Sin(turn))
}

// NewWalkers returns n walkers before their first Step. In a hot crowd four of five stay in a disc
// with a radius of 100 m.
func NewWalkers(n int, hot bool) *Walkers {
	w := &Walkers{x: make([]int32, n), y: make([]int32, n), heading: make([]uint16, n), health: make([]uint8, n),
		anim: make([]uint8, n), random: random(12345 + 7*uint64(n)), all: make([]walker, n)}
	for i := range w.all {
		e, r := &w.all[i], &w.random
		e.hot = hot && i%5 != 0
		e.x, e.y = e.place(r)
		e.toX, e.toY = e.place(r)
		e.speed = 15 + float64(20*r.float())
		e.health = 100
		if r.chance(0.1) {
			e.pause = r.below(120)
		}
	}
	return w
}

// Step moves all walkers on by one tick.
func (w *Walkers) Step() {
	r := &w.random
	for i := range w.all {
		e := &w.all[i]
		if r.chance(0.01) {
			e.health = uint8(r.below(101))
		}
		emote := r.chance(0.01)
		way := math.Atan2(e.toY-e.y, e.toX-e.x)
		if r.chance(0.1) {
			e.wander = float64((r.float()*2 - 1) * math.Pi / 6)
		}
		anim := uint8(0)
		if e.pause > 0 {
			e.pause--
		} else {
			anim = 1
			way += e.wander
			e.x = within(e.x + float64(e.speed*math.Cos(way)))
			e.y = within(e.y + float64(e.speed*math.Sin(way)))
			if e.reached() {
				e.toX, e.toY = e.place(r)
				e.pause = r.below(40)
			}
			w.heading[i] = uint16(int(math.Floor(way/(2*math.Pi)*65536 + 0.5)))
		}
		if emote {
			anim = uint8(2 + r.below(6))
		}
		w.x[i], w.y[i], w.health[i], w.anim[i] = int32(e.x), int32(e.y), e.health, anim
	}
}

// Len returns the number of walkers.
func (w *Walkers) Len() int { return len(w.all) }

// At returns the place of a walker in centimetres.
func (w *Walkers) At(i int) (x, y int32) { return w.x[i], w.y[i] }
