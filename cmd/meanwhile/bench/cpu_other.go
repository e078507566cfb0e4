//go:build !linux

package bench

import "time"

var started = time.Now()

// processTime returns the time that passed, where there is no clock of CPU time: measure on a quiet
// machine.
func processTime() time.Duration { return time.Since(started) }

// threadTime is processTime here.
func threadTime() time.Duration { return processTime() }
