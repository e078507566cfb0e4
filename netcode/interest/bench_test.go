package interest

import (
	"fmt"
	"testing"
)

// The workload 'crowd': everyone sees 250 of them and 32 records are chosen. hot: four fifths are in a disc of
// 100 m radius in a world of one square kilometre.
const (
	sees   = 250
	margin = 25
	takes  = 32
)

func crowds(b *testing.B, f func(b *testing.B, points []point)) {
	for _, hot := range []bool{false, true} {
		for _, n := range []int{250, 1000, 8000} {
			name := fmt.Sprintf("uniform/entities=%d", n)
			if hot {
				name = fmt.Sprintf("hot/entities=%d", n)
			}
			b.Run(name, func(b *testing.B) { f(b, crowd(n, hot)) })
		}
	}
}

const cell = 4096 // about 4 m

func BenchmarkBuild(b *testing.B) {
	crowds(b, func(b *testing.B, points []point) {
		g := newGrid(b, cell, points)
		for b.Loop() {
			fill(g, points)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(points)), "ns/entity")
	})
}

func BenchmarkNearest(b *testing.B) {
	crowds(b, func(b *testing.B, points []point) {
		g := newGrid(b, cell, points)
		var dst []Neighbour
		i := 0
		for b.Loop() {
			p := points[i%len(points)]
			dst = g.Nearest(p.x, p.y, sees+margin, dst)
			i += 7919
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/client")
	})
}

// Follow is one tick of all clients' visible sets: everybody moves, the grid is built anew, each
// set follows the nearest.
func BenchmarkFollow(b *testing.B) {
	crowds(b, func(b *testing.B, points []point) {
		w := newWorld(b, points)
		for range 5 {
			w.move()
			w.follow()
		}
		b.ReportAllocs()
		for b.Loop() {
			w.move()
			w.follow()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(points)), "ns/client")
		b.ReportMetric(float64(w.changes)/float64(w.updates), "changes/client")
	})
}

// Choose is one tick of all clients' schedulers: score what is visible, take the best.
func BenchmarkChoose(b *testing.B) {
	crowds(b, func(b *testing.B, points []point) {
		w := newWorld(b, points)
		w.follow()
		for range 20 {
			w.choose()
		}
		b.ReportAllocs()
		for b.Loop() {
			w.choose()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(points)), "ns/client")
	})
}

func BenchmarkSelect(b *testing.B) {
	for _, n := range []int{250, 1000, 8000} {
		b.Run(fmt.Sprintf("entities=%d", n), func(b *testing.B) {
			var r random
			all := make([]Key, n+1<<16) // fresh keys each time: the branch predictor must not learn them
			s := Scale{Near: 1000, Creep: 10}
			for i := range all {
				d := int64(1000 + r.n(300_000))
				all[i] = MakeKey(s.Priority(uint32(r.n(5000)), uint32(r.n(100)), d*d), uint32(i))
			}
			var dst []Key
			i := 0
			for b.Loop() {
				dst = Select(all[i:i+n], takes, dst)
				i = (i + 251) & (1<<16 - 1)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/client")
		})
	}
}

// A world of walkers who are clients, too.
type world struct {
	points  []point
	grid    *Grid
	near    []Neighbour
	c       Changes
	keys    []Key
	best    []Key
	clients []client
	r       random
	tick    uint32
	changes int
	updates int
}

type client struct {
	set     Set
	visible []seen
}

type seen struct {
	index  int32
	weight uint32
	sentAt uint32
}

var scale = Scale{Near: 1000, Creep: 10}

func newWorld(t testing.TB, points []point) *world {
	return &world{points: points, grid: newGrid(t, cell, points), clients: make([]client, len(points))}
}

// move takes everybody a step of up to 25 cm, the speed of walkers at 20 Hz.
func (w *world) move() {
	for i := range w.points {
		v := w.r.next()
		p := &w.points[i]
		p.x += int32(v%512) - 256
		p.y += int32(v>>32%512) - 256
	}
	w.tick++
}

func (w *world) follow() {
	fill(w.grid, w.points)
	for i := range w.clients {
		p, cl := w.points[i], &w.clients[i]
		w.near = w.grid.Nearest(p.x, p.y, sees+margin, w.near)
		visible := cl.set.Update(w.near, sees, margin, nil, &w.c)
		w.changes += len(w.c.Entered)
		w.updates++
		cl.visible = cl.visible[:0]
		for _, v := range visible {
			cl.visible = append(cl.visible, seen{v.Index, scale.Weight(v.Dist2), w.tick})
		}
	}
}

func (w *world) choose() {
	w.tick++
	for i := range w.clients {
		cl := &w.clients[i]
		w.keys = w.keys[:0]
		for slot := range cl.visible {
			v := &cl.visible[slot]
			age := w.tick - v.sentAt
			err := age * uint32(v.index&255) // stands for a table by entity and age
			w.keys = append(w.keys, MakeKey(scale.Score(err, age, v.weight), uint32(slot)))
		}
		w.best = Select(w.keys, takes, w.best)
		for _, k := range w.best {
			cl.visible[k.ID()].sentAt = w.tick
		}
	}
}

func TestAllocations(t *testing.T) {
	for _, hot := range []bool{false, true} {
		w := newWorld(t, crowd(300, hot))
		tick := func() {
			w.move()
			w.follow()
			w.choose()
		}
		for range 50 {
			tick()
		}
		if n := testing.AllocsPerRun(20, tick); n != 0 {
			t.Errorf("hot %v: %v allocations a tick, want 0", hot, n)
		}
	}
}
