//go:build !unix

package load

import "time"

// cpuTime returns 0, where the CPU time of a process is not known.
func cpuTime() time.Duration { return 0 }
