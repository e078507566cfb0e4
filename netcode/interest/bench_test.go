package interest

import (
	"fmt"
	"testing"
)

// The workload 'crowd': everyone sees 250 of them. hot: four fifths are in a disc of 100 m radius
// in a world of one square kilometre.
const (
	sees   = 250
	margin = 25
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

// A world of walkers who are clients, too.
type world struct {
	points  []point
	grid    *Grid
	set     Set
	clients []client
	r       random
	changes int
	updates int
}

// A client is what is kept of one from one Follow to the next.
type client struct {
	knows []int32
	last2 int64
}

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
}

func (w *world) follow() {
	fill(w.grid, w.points)
	for i := range w.clients {
		p, c := w.points[i], &w.clients[i]
		v := Viewer{X: p.x, Y: p.y, Nearest: sees, Margin: margin, Last2: c.last2}
		members := w.set.Follow(w.grid, &v, c.knows)
		c.last2, c.knows = w.set.Reach2, c.knows[:0]
		for _, m := range members {
			c.knows = append(c.knows, m.Index)
		}
		w.changes += len(w.set.Entered)
		w.updates++
	}
}

func TestAllocations(t *testing.T) {
	for _, hot := range []bool{false, true} {
		w := newWorld(t, crowd(300, hot))
		tick := func() {
			w.move()
			w.follow()
		}
		for range 50 {
			tick()
		}
		if n := testing.AllocsPerRun(20, tick); n != 0 {
			t.Errorf("hot %v: %v allocations a tick, want 0", hot, n)
		}
	}
}
