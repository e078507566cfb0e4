//go:build !unix

package lab

import "time"

var cpuBegan = time.Now()

// cpuTime returns the time that has passed, where the CPU time of a process is not known.
func cpuTime() time.Duration { return time.Since(cpuBegan) }
