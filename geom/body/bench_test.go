package body_test

import (
	"testing"

	"meanwhile/geom"
	. "meanwhile/geom/body"
)

// crowd returns n balls and crates that move on a pitch, so close that they touch each other if
// dense.
func crowd(n int, dense bool) *Scene {
	s := &Scene{Walls: pitch, Surface: Surface{0.5, 0.5}}
	r := geom.NewRand(7, uint64(n))
	places := make([]int, n) // not in the order of their places
	for i := range places {
		places[i] = i
	}
	r.Shuffle(n, func(i, j int) { places[i], places[j] = places[j], places[i] })
	side, gap := 1, 3.0
	for side*side < n {
		side++
	}
	if dense {
		gap = 0.98
	}
	w := float64(float64(side)*gap)/2 + 1
	s.Walls.Rects = []geom.Rect{
		{Min: at(-w-1, -w-1), Max: at(w+1, -w)}, {Min: at(-w-1, w), Max: at(w+1, w+1)},
		{Min: at(-w-1, -w-1), Max: at(-w, w+1)}, {Min: at(w, -w-1), Max: at(w+1, w+1)},
	}
	for i, k := range places {
		b := Body{Build: crate, Pos: at(float64(k%side)*gap-w+1.5, float64(k/side)*gap-w+1.5), Vel: r.Dir().Mul(0.5)}
		if i%2 == 0 {
			b.Build = Build{Radius: 0.5, Mass: 10, Surface: Surface{0.5, 0.3}}
		} else {
			b.Angle = geom.Angle(r.Range(-0.2, 0.2))
		}
		s.Add(b)
	}
	return s
}

func BenchmarkStep(b *testing.B) {
	for _, c := range []struct {
		name  string
		n     int
		dense bool
	}{
		{"bodies=20", 20, false}, {"bodies=200", 200, false},
		{"touching=20", 20, true}, {"touching=200", 200, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			s := crowd(c.n, c.dense)
			first := append([]Body(nil), s.Bodies...)
			s.Step(dt)
			tick, touches := 0, 0
			for b.Loop() {
				if tick%30 == 0 { // a replay of 30 ticks, again and again
					copy(s.Bodies, first)
				}
				tick++
				s.Step(dt)
				touches += len(s.Touches)
			}
			b.ReportMetric(float64(touches)/float64(tick), "touches/op")
		})
	}
}

func TestStepAllocatesNothing(t *testing.T) {
	s := crowd(50, true)
	for range 10 {
		s.Step(dt)
	}
	if n := testing.AllocsPerRun(100, func() { s.Step(dt) }); n != 0 {
		t.Errorf("Step allocates %v times", n)
	}
}
