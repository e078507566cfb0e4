package body_test

import (
	"fmt"
	"sync"

	"meanwhile/geom"
	"meanwhile/geom/body"
)

// scenes serve all worlds of the process: a scene keeps memory, and nothing of its world.
var scenes = sync.Pool{New: func() any { return new(body.Scene) }}

// A ball bounces off a wall. The rules of a game fill a scene from their entities in each tick, and
// write the results back.
func Example() {
	ball := body.Build{Radius: 0.5, Mass: 0.4, Surface: body.Surface{Bounce: 0.5}}
	walls := geom.Walls{Rects: []geom.Rect{{Min: geom.Vec2{X: 10, Y: -5}, Max: geom.Vec2{X: 11, Y: 5}}}}
	pos, vel := geom.Vec2{X: 8}, geom.Vec2{X: 6} // what the ball's entity keeps

	const dt = 1.0 / 10
	for tick := range 5 {
		s := scenes.Get().(*body.Scene)
		s.Reset()
		s.Walls = walls
		i := s.Add(body.Body{Build: ball, Pos: pos, Vel: vel})
		s.Step(dt)
		pos, vel = s.Bodies[i].Pos, s.Bodies[i].Vel
		fmt.Printf("tick %d: at %.2f with %.1f m/s\n", tick, pos.X, vel.X)
		for _, t := range s.Touches {
			fmt.Printf("thud: %.0f m/s\n", t.Speed)
		}
		scenes.Put(s)
	}
	// Output:
	// tick 0: at 8.60 with 6.0 m/s
	// tick 1: at 9.20 with 6.0 m/s
	// tick 2: at 9.50 with -3.0 m/s
	// thud: 6 m/s
	// tick 3: at 9.20 with -3.0 m/s
	// tick 4: at 8.90 with -3.0 m/s
}
