// Package helper has no rules; those of another package call it.
package helper

import "math"

type Vec struct{ X, Y float64 }

func (v Vec) Turned(a float64) Vec { return Vec{math.Cos(a), v.Y} }

func Mix(x, y, z float64) float64 { return x*y + z }

func Deep(x float64) float64 { return deeper(x) }

func deeper(x float64) float64 { return math.Sin(x) }

var Sines = [4]float64{deeper(0), deeper(1)}

func Silenced() float64 {
	return math.Sin(0) //meanwhile:ok the sine of 0 is 0 on every machine
}

func Sound(x, y float64) bool { return x < y }

func Add(x, y float64) float64 { return x + y }

func Fill(b []int) { b[0] = 1 }

var count int

func Count() { count++ }

func Generic[T float64](x, y, z T) T { return x*y + z }
