//go:build unix

package lab

import (
	"syscall"
	"time"
)

// cpuTime returns how much CPU the process has used, the garbage collector included. It belongs to
// the few metrics that are not the same on every machine.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
