// Package reach has rules that are reached in many ways, and functions that no rule reaches.
package reach

import (
	"math"
	"sort"
	"time"

	"meanwhile/game"
	"rules/helper"
)

type Cmd struct{ X, Y float64 }

var Game = game.Definition[Cmd]{
	Act:  func(w *game.World, me game.ID, c Cmd) { inLiteral(c) },
	Step: step,
}

func inLiteral(c Cmd) { _ = math.Sin(c.X) } // want `math\.Sin .* \(in Act\)`

var moves = []func(float64) float64{wave}

func wave(x float64) float64 { return math.Cos(x) } // want `math\.Cos`

var table = sines()

func sines() (t [8]float64) {
	for i := range t {
		t[i] = math.Tan(float64(i)) // want `math\.Tan`
	}
	return t
}

var late float64

func init() { late = math.Atan(2) } // want `math\.Atan`

type shape interface{ area() float64 }
type disc struct{ r float64 }

func (d disc) area() float64 { return math.Log(d.r) } // want `math\.Log`

type byTime []float64

func (b byTime) Len() int           { return len(b) }
func (b byTime) Less(i, j int) bool { return math.Exp(b[i]) < b[j] } // want `math\.Exp`
func (b byTime) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }

func step(w *game.World) {
	_ = moves[0](1) + table[2] + late
	var s shape = disc{1}
	_ = s.area()
	sort.Sort(byTime{1, 2})
	_ = helper.Mix(1, 2, 3) // want `helper\.Mix is not safe in rules, see helper/helper\.go:\d+:\d+: x \* y may be fused`
	_ = helper.Deep(1)      // want `helper\.Deep is not safe in rules, see helper/helper\.go:\d+:\d+: math\.Sin has`
	_ = helper.Sines[1]     // want `helper\.Sines is not safe in rules, see helper/helper\.go:\d+:\d+: math\.Sin has`
	_ = helper.Silenced()
	_ = helper.Sound(1, 2)
	_ = helper.Sound(float64(len(moves))*table[1], 2)
	_ = helper.Add(table[0]*table[1], 2) // want `table\[0\] \* table\[1\] is passed to helper\.Add unrounded`
	helper.Fill(buffer[:])               // want `writes to buffer`
	helper.Count()                       // want `helper\.Count is not safe in rules, .*: writes to count`
	var v helper.Vec
	v = v.Turned(2)               // want `helper\.Vec\.Turned is not safe in rules`
	_ = helper.Generic(1.5, 2, 3) // want `helper\.Generic is not safe in rules`
	again(3)
}

var buffer [4]int

func again(n int) {
	if n > 0 {
		again(n - 1)
	}
	_ = math.Sinh(1) // want `math\.Sinh`
}

// Unreached is no rule.
func Unreached(x, y, z float64) float64 {
	count++
	return float64(time.Now().Unix()) + x*y + z
}

var count int

type definition = game.Definition[Cmd]

func variable() {
	act := func(w *game.World, me game.ID, c Cmd) { _ = math.Cosh(c.X) } // want `math\.Cosh`
	_ = definition{Act: act}
	_ = game.Definition[Cmd]{Act: wrapped(func(c Cmd) { _ = math.Tanh(c.X) })} // want `math\.Tanh`
}

func wrapped(f func(Cmd)) func(*game.World, game.ID, Cmd) {
	return func(_ *game.World, _ game.ID, c Cmd) { f(c) }
}
