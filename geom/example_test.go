package geom_test

import (
	"fmt"

	"meanwhile/geom"
)

// A pilot speeds up toward where the stick points, and stays in the field.
func ExampleVec2_Toward() {
	field := geom.Rect{Max: geom.Vec2{X: 40, Y: 24}}
	pos, vel := geom.Vec2{X: 39.9, Y: 12}, geom.Vec2{}
	stick, dt := geom.Vec2{X: 1, Y: 0}, 1.0/30

	vel = vel.Toward(stick.Mul(9), 60*dt) // at most 60 m/s² up to 9 m/s
	pos = field.Clamp(pos.Add(vel.Mul(dt)))
	fmt.Println(vel, pos)

	pos = field.Clamp(pos.Add(vel.Mul(dt)))
	fmt.Println(pos)
	// Output:
	// {2 0} {39.96666666666667 12}
	// {40 12}
}

// A shot hits the nearest of those in its way: each hit shortens the ray for the next.
func ExampleRay_Circle() {
	others := []geom.Vec2{{X: 20, Y: 0.3}, {X: 8, Y: -0.2}, {X: 8, Y: 3}}
	shot := geom.Ray{From: geom.Vec2{X: 1, Y: 0}, Dir: 0, Len: 30}
	hit := -1
	for i, other := range others {
		if d, ok := shot.Circle(other, 0.6); ok {
			shot.Len, hit = d, i
		}
	}
	fmt.Printf("hit %d at %.3f\n", hit, shot.End())
	// Output:
	// hit 1 at {7.434 0.000}
}

// Who runs into a wall at a slant goes on along it.
func ExampleSlide() {
	walls := []geom.Rect{
		{Min: geom.Vec2{X: 5, Y: -10}, Max: geom.Vec2{X: 6, Y: 10}},
	}
	pos := geom.Slide(geom.Vec2{X: 4, Y: 0}, geom.Vec2{X: 3, Y: 1}, 0.5, walls)
	fmt.Printf("%.3f\n", pos)
	// Output:
	// {4.500 1.000}
}

// A grenade bounces: what is left of its way after the hit is mirrored.
func ExampleWalls_Sweep() {
	walls := geom.Walls{Segments: []geom.Segment{{A: geom.Vec2{X: -9, Y: 0}, B: geom.Vec2{X: 9, Y: 0}}}}
	ball, way := geom.Circle{Center: geom.Vec2{X: 0, Y: 2}, Radius: 1}, geom.Vec2{X: 1, Y: -4}
	if hit, ok := walls.Sweep(ball, way); ok {
		ball.Center = ball.Center.Add(way.Mul(hit.Share))
		way = way.Mul(1 - hit.Share).Reflect(hit.Normal)
	}
	fmt.Println(ball.Center.Add(way))
	// Output:
	// {1 4}
}

// Hits in a game with heights: hulls are upright cylinders, walls are boxes.
func ExampleRay3_Cylinder() {
	eye := geom.Vec3{X: 0, Y: 0, Z: 1.7}
	shot := geom.Ray3{From: eye, Dir: geom.Direction(0, -2*geom.Degree), Len: 100}
	wall := geom.Rect{Min: geom.Vec2{X: 20, Y: -3}, Max: geom.Vec2{X: 21, Y: 3}}.Box(0, 0.9)
	if d, ok := shot.Box(wall); ok {
		shot.Len = d
	}
	d, ok := shot.Cylinder(geom.Vec3{X: 30, Y: 0.2, Z: 0}, 0.4, 1.8)
	fmt.Printf("%.2f %v: the wall is too low to protect\n", d, ok)
	// Output:
	// 29.67 true: the wall is too low to protect
}

// The same parts give the same numbers, on the server, in the browser, and again in a replay.
func ExampleNewRand() {
	const seed, tick, entity = 42, 1007, 3
	r := geom.NewRand(seed, tick, entity)
	fmt.Println(r.IntN(6)+1, r.IntN(6)+1)
	again := geom.NewRand(seed, tick, entity)
	fmt.Println(again.IntN(6)+1, again.IntN(6)+1)
	// Output:
	// 3 2
	// 3 2
}

// Turning goes the short way round.
func ExampleAngle_Toward() {
	a := 170 * geom.Degree
	for range 3 {
		a = a.Toward(-170*geom.Degree, 8*geom.Degree)
		fmt.Printf("%.0f ", a.Degrees())
	}
	fmt.Println()
	// Output:
	// 178 -174 -170
}

// Friction that does not depend on the tick rate.
func ExampleExp() {
	speed := 10.0
	for range 60 {
		speed = float64(speed * geom.Exp(-4.0/60)) // 4 per second
	}
	fmt.Printf("%.4f\n", speed)
	// Output:
	// 0.1832
}
