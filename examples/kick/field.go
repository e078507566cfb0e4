package kick

import (
	"meanwhile/geom"
	"meanwhile/geom/body"
)

// Sizes in metres. web/game.js has them too, to draw.
const (
	HalfLength = 15.0 // from the centre spot to the goal lines
	HalfWidth  = 9.0
	Corner     = 3.0 // radius of the rounded corners
	GoalHalf   = 2.4 // from the middle of a goal to its posts
	GoalDepth  = 1.6
	PostRadius = 0.12

	PlayerRadius = 0.45
	BallRadius   = 0.35
	CrateHalf    = 0.55
	CartLength   = 2.3
	CartWidth    = 1.4
)

// Layers of bodies. Crates and carts stay out of the goals.
const (
	layerLight uint32 = 1 << iota
	layerHeavy
	layerNet
)

var (
	boards = body.Surface{Bounce: 0.45, Friction: 0.1}

	playerBuild = body.Build{
		Radius: PlayerRadius, Mass: 60, Surface: body.Surface{Bounce: 0.1, Friction: 0.1},
		NoSpin: true, Layer: layerLight,
	}
	ballBuild = body.Build{
		Radius: BallRadius, Mass: 3, Surface: body.Surface{Bounce: 0.4, Friction: 0.1},
		Drag: 0.45, Grip: 0.5, NoSpin: true, Layer: layerLight,
	}
	crateBuild = body.Build{
		Half: geom.Vec2{X: CrateHalf, Y: CrateHalf}, Mass: 30, Surface: body.Surface{Bounce: 0.2, Friction: 0.4},
		Drag: 1.5, SpinDrag: 3, Grip: 4, Layer: layerHeavy,
	}
	cartBuild = body.Build{
		Half: geom.Vec2{X: CartLength / 2, Y: CartWidth / 2}, Mass: 150,
		Surface: body.Surface{Bounce: 0.2, Friction: 0.2},
		Drag:    1.2, SpinDrag: 4, Grip: 1, Layer: layerHeavy,
	}

	parkedBuild = braked(cartBuild, 6)

	// nets are the insides of the goals, for what must not get in.
	nets = [2]body.Body{net(-1), net(1)}

	walls = makeWalls()
)

// braked returns a build that stands more firmly.
func braked(b body.Build, grip float64) body.Build {
	b.Grip = grip
	return b
}

func net(side float64) body.Body {
	const deep = GoalDepth / 2
	return body.Body{
		Build: body.Build{Half: geom.Vec2{X: deep, Y: GoalHalf}, Layer: layerNet, Mask: layerHeavy},
		Pos:   geom.Vec2{X: float64(side * (HalfLength + deep))},
	}
}

// makeWalls builds a quarter of the boards and mirrors it.
func makeWalls() geom.Walls {
	var w geom.Walls
	const steps = 4
	for _, mirror := range []geom.Vec2{{X: 1, Y: 1}, {X: -1, Y: 1}, {X: -1, Y: -1}, {X: 1, Y: -1}} {
		at := func(x, y float64) geom.Vec2 { return geom.Vec2{X: float64(x * mirror.X), Y: float64(y * mirror.Y)} }
		line := []geom.Vec2{at(0, HalfWidth)}
		for i := range steps + 1 {
			d := (geom.Pi / 2 * geom.Angle(steps-i) / steps).Dir().Mul(Corner)
			line = append(line, at(HalfLength-Corner+d.X, HalfWidth-Corner+d.Y))
		}
		line = append(line, at(HalfLength, GoalHalf), at(HalfLength+GoalDepth, GoalHalf), at(HalfLength+GoalDepth, 0))
		for i := range len(line) - 1 {
			w.Segments = append(w.Segments, geom.Segment{A: line[i], B: line[i+1]})
		}
		w.Circles = append(w.Circles, geom.Circle{Center: at(HalfLength, GoalHalf), Radius: PostRadius})
	}
	return w
}

// fieldHash identifies the walls: client and server must agree on them.
func fieldHash() uint64 {
	h := geom.NewRand()
	for _, s := range walls.Segments {
		for _, x := range []float64{s.A.X, s.A.Y, s.B.X, s.B.Y} {
			h = geom.NewRand(h.Uint64(), uint64(int64(float64(x*1000))))
		}
	}
	return h.Uint64()
}

// blocked reports whether a player cannot stand at to, or a wall is between from and to.
func blocked(from, to geom.Vec2) bool {
	way := to.Sub(from)
	_, hit := walls.Ray(geom.Ray{From: from, Dir: way.Angle(), Len: way.Len() + PlayerRadius})
	return hit
}

// goalLine returns the middle of the goal that a team defends.
func goalLine(team int) geom.Vec2 {
	if team == Amber {
		return geom.Vec2{X: -HalfLength}
	}
	return geom.Vec2{X: HalfLength}
}
