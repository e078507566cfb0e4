package geom_test

import (
	"testing"

	. "meanwhile/geom"
)

// level is a hall with n blocks in it.
func level(n int) Walls {
	r, hall := NewRand(1), Rect{Max: Vec2{60, 60}}
	w := Walls{Circles: []Circle{{Vec2{30, 30}, 1}}, Segments: []Segment{{Vec2{1, 1}, Vec2{5, 9}}}}
	for range n {
		p := hall.Random(&r)
		w.Rects = append(w.Rects, Rect{p, p.Add(Vec2{r.Range(0.5, 3), r.Range(0.5, 3)})})
	}
	return w
}

func TestNothingAllocates(t *testing.T) {
	w, sink := level(32), 0.0
	box := Rect{Max: Vec2{3, 3}}.Box(0, 2)
	for name, f := range map[string]func(){
		"functions": func() { sink += Sin(1e6) + Atan2(sink, 2) + Exp(-sink) + Log(2) + Pow(2, 0.5) + Hypot(1, sink) },
		"Rand": func() {
			r := NewRand(1, 2, 3)
			sink += r.Float64() + r.Norm() + float64(r.IntN(9)) + box.Floor().Random(&r).X
		},
		"Ray":        func() { d, _ := Ray{Vec2{1, 1}, 0.5, 50}.Circle(Vec2{20, 10}, 2); sink += d },
		"Ray3":       func() { d, _ := Ray3{Vec3{9, 9, 1}, Direction(4, 0), 50}.Box(box); sink += d },
		"Walls.Ray":  func() { d, _ := w.Ray(Ray{Vec2{1, 1}, 0.5, 50}); sink += d },
		"Walls.Free": func() { sink += w.Free(Vec2{30, 30}, 0.5).X },
		"Slide":      func() { sink += Slide(Vec2{30, 20}, Vec2{3, 4}, 0.5, w.Rects).X },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	if sink != sink {
		t.Error("NaN")
	}
}

func BenchmarkFunctions(b *testing.B) {
	for _, f := range []struct {
		name string
		f    func(float64) float64
	}{
		{"Sin", Sin},
		{"Atan2", func(x float64) float64 { return Atan2(x, 1.5) }},
		{"Exp", Exp},
		{"Log", Log},
		{"Pow", func(x float64) float64 { return Pow(x, 1.5) }},
		{"Hypot", func(x float64) float64 { return Hypot(x, 1.5) }},
	} {
		b.Run(f.name, func(b *testing.B) {
			b.ReportAllocs()
			x, sum := 0.5, 0.0
			for b.Loop() {
				sum += f.f(x)
				x += 0.01
				if x > 9 {
					x = 0.5
				}
			}
			if sum != sum {
				b.Error("NaN")
			}
		})
	}
}

func BenchmarkRand(b *testing.B) {
	b.ReportAllocs()
	r, sum := NewRand(1), 0.0
	for b.Loop() {
		sum += r.Float64()
	}
	if sum < 0 {
		b.Error(sum)
	}
}

func BenchmarkRayCircle(b *testing.B) {
	b.ReportAllocs()
	ray, hits := Ray{Vec2{1, 1}, 0.5, 50}, 0
	for b.Loop() {
		if _, ok := ray.Circle(Vec2{20, 11}, 2); ok {
			hits++
		}
	}
	if hits == 0 {
		b.Error("no hit")
	}
}

func BenchmarkWalls(b *testing.B) {
	for _, c := range []struct {
		name string
		n    int
	}{{"walls=16", 16}, {"walls=256", 256}} {
		w := level(c.n)
		b.Run("Slide/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			pos, r := w.Free(Vec2{30, 20}, 0.5), NewRand(1)
			way := r.Dir().Mul(0.15)
			for b.Loop() {
				next := w.Slide(pos, way, 0.5)
				if next.Dist(pos) < 0.1 || next.X < 0 || next.X > 60 || next.Y < 0 || next.Y > 60 {
					way = r.Dir().Mul(0.15)
				}
				pos = Rect{Max: Vec2{60, 60}}.Clamp(next)
			}
		})
		b.Run("Ray/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			ray := Ray{Vec2{30, 20}, 0, 40}
			for b.Loop() {
				ray.Dir += 0.01
				w.Ray(ray)
			}
		})
	}
}
