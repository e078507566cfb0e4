package geom_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	. "meanwhile/geom"
)

// gridOf reads a map; the last row is row 0, and '#' is solid.
func gridOf(min Vec2, side float64, rows ...string) Tiles {
	t := NewTiles(min, side, len(rows[0]), len(rows))
	for i, row := range rows {
		for x, c := range row {
			t.Set(x, len(rows)-1-i, c == '#')
		}
	}
	return t
}

func TestTiles(t *testing.T) {
	g := gridOf(Vec2{-1, 2}, 0.5,
		"#.#",
		"..#")
	for _, c := range []struct {
		p     Vec2
		x, y  int
		solid bool
	}{
		{Vec2{-1, 2}, 0, 0, false}, {Vec2{0.1, 2.1}, 2, 0, true},
		{Vec2{-0.9, 2.6}, 0, 1, true}, {Vec2{-0.5, 2.5}, 1, 1, false},
		{Vec2{-9, 2}, -1, 0, false}, {Vec2{9, 99}, 3, 2, false}, {Vec2{math.NaN(), math.Inf(1)}, -1, 2, false},
	} {
		if x, y := g.Tile(c.p); x != c.x || y != c.y || g.At(x, y) != c.solid {
			t.Errorf("%v is in tile %d, %d, solid: %v", c.p, x, y, g.At(x, y))
		}
	}
	if r := g.Rect(2, 1); r != (Rect{Vec2{0, 2.5}, Vec2{0.5, 3}}) {
		t.Errorf("tile 2, 1 is at %v", r)
	}
	g.Set(2, 1, false)
	g.Set(7, 7, true)
	if g.At(2, 1) || !g.At(2, 0) || g.At(7, 7) {
		t.Error("Set changes another tile than it should")
	}
	for _, none := range []Tiles{
		{}, NewTiles(Vec2{}, 0, 3, 3), NewTiles(Vec2{}, 1, 0, 3), NewTiles(Vec2{}, 1, 3, MaxTiles+1),
		NewTiles(Vec2{math.NaN(), 0}, 1, 3, 3), NewTiles(Vec2{}, math.Inf(1), 3, 3),
	} {
		none.Set(0, 0, true)
		if _, ok := none.SweepCircle(Circle{Vec2{-5, 0.5}, 1}, Vec2{10, 0}); ok || none.At(0, 0) {
			t.Errorf("%v has tiles", none)
		}
	}
}

// genGrid draws a grid of 8 x 8 tiles, and lists the solid ones.
func genGrid(r *Rand) (Tiles, []Rect) {
	g := NewTiles(Vec2{-4, -3}, 0.75, 8, 8)
	solid, dense := []Rect{}, r.Range(0, 0.6)
	for i := range 64 {
		if r.Chance(dense) {
			g.Set(i%8, i/8, true)
			solid = append(solid, g.Rect(i%8, i/8))
		}
	}
	return g, solid
}

// genPlace draws a place; often a coordinate lies in the middle of tiles.
func genPlace(r *Rand, most float64) Vec2 {
	on := func() float64 {
		if r.Chance(0.4) {
			return math.Round(r.Range(-most, most)/0.75)*0.75 + 0.375
		}
		return math.Round(r.Range(-most, most)*256) / 256
	}
	return Vec2{on(), on()}
}

func genHalf(r *Rand, most float64, round bool) Vec2 {
	half := Vec2{math.Ceil(r.Range(0, most)*256) / 256, math.Ceil(r.Range(0, most)*256) / 256}
	if r.Chance(0.3) {
		half.X = 0.375 // as wide as a tile
	}
	if round {
		half.Y = half.X
	}
	return half
}

// clearOf returns how far a circle, or a rectangle with half sides, is from all solid tiles; negative
// if it is in one.
func clearOf(p, half Vec2, round bool, solid []Rect) float64 {
	d := math.Inf(1)
	for _, r := range solid {
		if round {
			if near := r.Clamp(p); near != p {
				d = min(d, p.Dist(near)-half.X)
			} else {
				d = min(d, -half.X)
			}
			continue
		}
		x := max(r.Min.X-p.X, p.X-r.Max.X) - half.X
		y := max(r.Min.Y-p.Y, p.Y-r.Max.Y) - half.Y
		if x > 0 && y > 0 {
			d = min(d, math.Hypot(x, y))
		} else {
			d = min(d, max(x, y))
		}
	}
	return d
}

// A sweep over tiles finds what small steps along the way find.
func TestTileSweepProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := NewRand(rapid.Uint64().Draw(t, "seed"))
		g, solid := genGrid(&r)
		round := r.Chance(0.5)
		half := genHalf(&r, 1, round)
		p, delta := genPlace(&r, 6), genPlace(&r, 9)
		if clearOf(p, half, round, solid) < 0 {
			t.Skip("begins inside")
		}
		at := func(share float64) Vec2 { return p.Add(delta.Mul(share)) }
		hit, ok := g.SweepCircle(Circle{p, half.X}, delta)
		if !round {
			hit, ok = g.SweepRect(Rect{p.Sub(half), p.Add(half)}, delta)
		}
		if ok && (hit.Share < 0 || hit.Share > 1 || !near(hit.Normal.Len(), 1, 1e-15) || hit.Normal.Dot(delta) >= 0) {
			t.Fatalf("hit %v for a movement of %v", hit, delta)
		}
		const steps = 2000
		for i := range steps + 1 {
			share := float64(i) / steps
			if ok && share > hit.Share {
				break
			}
			if c := clearOf(at(share), half, round, solid); c < -1e-9 {
				t.Fatalf("hit %v %v, but at share %v it is %v deep", hit, ok, share, -c)
			}
		}
		if ok {
			if c := clearOf(at(hit.Share), half, round, solid); !near(c, 0, 1e-9) {
				t.Fatalf("hit %v where the distance is %v", hit, c)
			}
			if c := clearOf(at(hit.Share).Sub(hit.Normal.Mul(1e-4)), half, round, solid); c > -0.9e-4 {
				t.Fatalf("hit %v, but against the normal the distance is %v", hit, c)
			}
		}
	})
}

// Wherever it slides, it stays out of solid tiles, also when places are rounded in between.
func TestTileSlideProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := NewRand(rapid.Uint64().Draw(t, "seed"))
		g, solid := genGrid(&r)
		round := r.Chance(0.5)
		half := genHalf(&r, 0.4, round)
		p, way := genPlace(&r, 5), genPlace(&r, 2)
		if clearOf(p, half, round, solid) < 2*Skin {
			t.Skip("begins inside")
		}
		for range 40 {
			was := p
			if round {
				p = g.SlideCircle(Circle{p, half.X}, way)
			} else {
				p = g.SlideRect(Rect{p.Sub(half), p.Add(half)}, way).Center()
			}
			if p.Dist(was) > way.Len()*(1+1e-12) {
				t.Fatalf("slides by %v, farther than %v", p.Sub(was), way)
			}
			p = Vec2{math.RoundToEven(p.X*256e3) / 256e3, math.RoundToEven(p.Y*256e3) / 256e3}
			if c := clearOf(p, half, round, solid); c < 0 {
				t.Fatalf("from %v by %v to %v: %v deep", was, way, p, -c)
			}
			way = way.Rotate(Angle(r.Range(0, 0.7)))
		}
	})
}

// Nothing catches on the borders between tiles, and a rectangle that slides along a wall passes a
// gap in it.
func TestTileSlideAlong(t *testing.T) {
	floor := gridOf(Vec2{}, 1, "..........", "##########", "##########")
	gap := gridOf(Vec2{}, 1, "..........", "###..###.#", "##########")
	const r = 0.4
	for _, c := range []struct {
		name string
		g    Tiles
		dx   float64
	}{{"floor", floor, 0.1}, {"floor, leftwards", floor, -0.1}, {"gap", gap, 0.1}, {"gap, leftwards", gap, -0.1}} {
		for _, push := range []float64{0, -0.01} {
			if push != 0 && c.g.At(3, 1) == false {
				continue // it would go down into the gap
			}
			ball, crate := Vec2{5, 2.5}, Rect{Vec2{4.6, 2.1}, Vec2{5.4, 2.9}}
			ball = c.g.SlideCircle(Circle{Vec2{1.5, 2.5}, r}, Vec2{0, -1})
			crate = c.g.SlideRect(Rect{Vec2{1.1, 2.1}, Vec2{1.9, 2.9}}, Vec2{0, -1})
			if c.dx < 0 {
				ball.X, crate = 8.5, Rect{crate.Min.Add(Vec2{7, 0}), crate.Max.Add(Vec2{7, 0})}
			}
			for range 60 {
				ball = c.g.SlideCircle(Circle{ball, r}, Vec2{c.dx, push})
				crate = c.g.SlideRect(crate, Vec2{c.dx, push})
			}
			want := 1.5 + 60*c.dx
			if c.dx < 0 {
				want = 8.5 + 60*c.dx
			}
			if !near(ball.X, want, 1e-9) || !near(crate.Center().X, want, 1e-9) || !near(crate.Min.Y, 2, 2*Skin) {
				t.Errorf("%s, pressed by %v: ball at %v, crate at %v, want x = %v", c.name, push, ball, crate, want)
			}
		}
	}
}

// What lies exactly on a floor of tiles is held by it, and not by the next tile's side.
func TestTileSweepAlong(t *testing.T) {
	floor := gridOf(Vec2{}, 1, "......", "######", "######")
	crate, ball := Rect{Vec2{1.2, 2}, Vec2{2, 2.5}}, Circle{Vec2{1.5, 2.5}, 0.5}
	for _, c := range []struct {
		delta Vec2
		hit   Hit
		ok    bool
	}{
		{Vec2{3, 0}, Hit{}, false}, {Vec2{-1, 0}, Hit{}, false},
		{Vec2{3, 1}, Hit{}, false}, {Vec2{3, -1}, Hit{0, Vec2{0, 1}}, true},
	} {
		if hit, ok := floor.SweepRect(crate, c.delta); ok != c.ok || ok && hit != c.hit {
			t.Errorf("crate, by %v: %v %v", c.delta, hit, ok)
		}
		if hit, ok := floor.SweepCircle(ball, c.delta); ok != c.ok || ok && hit != c.hit {
			t.Errorf("ball, by %v: %v %v", c.delta, hit, ok)
		}
	}
	// Between two rows of tiles, from inside the solid: the side between them leads nowhere.
	if hit, ok := floor.SweepRect(Rect{Vec2{1.2, 1.9}, Vec2{1.4, 1.95}}, Vec2{0, -3}); !ok || hit.Normal != (Vec2{0, 1}) {
		t.Errorf("from inside: %v %v", hit, ok)
	}
}

// A tile that is found first need not be the first that is touched: a large circle comes by the
// corner of one, and meets another one before that lies farther on.
func TestTileSweepFindsTheFirst(t *testing.T) {
	g := NewTiles(Vec2{-2.8, -2.8}, 0.25, 40, 40)
	g.Set(20, 20, true) // from 2.2 on: its corner is met at 2.2 - sqrt(1/2) = 1.493
	g.Set(21, 17, true) // from 2.45 on: its side is met at 1.45
	hit, ok := g.SweepCircle(Circle{Vec2{}, 1}, Vec2{2.5, 2.5})
	if !ok || !near(hit.Share, 0.58, 1e-9) || hit.Normal != (Vec2{-1, 0}) {
		t.Errorf("%v %v", hit, ok)
	}
}

func ExampleTiles_SlideRect() {
	level := NewTiles(Vec2{}, 1, 8, 4)
	for x := range 8 {
		level.Set(x, 0, true) // the ground
	}
	level.Set(5, 1, true) // a step

	hero := Rect{Min: Vec2{X: 2, Y: 1.5}, Max: Vec2{X: 2.8, Y: 3}}
	hero = level.SlideRect(hero, Vec2{X: 1, Y: -2})
	fmt.Printf("lands at %.2f\n", hero.Min)
	hero = level.SlideRect(hero, Vec2{X: 4, Y: 0})
	fmt.Printf("runs into the step at %.2f\n", hero.Max.X)
	// Output:
	// lands at {3.00 1.00}
	// runs into the step at 5.00
}
