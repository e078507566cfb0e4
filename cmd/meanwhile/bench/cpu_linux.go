package bench

import (
	"syscall"
	"time"
	"unsafe"
)

// The clocks of Linux, see clock_gettime(2).
const (
	processCPU = 2
	threadCPU  = 3
)

func cpu(which uintptr) time.Duration {
	var t syscall.Timespec
	if _, _, e := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, which, uintptr(unsafe.Pointer(&t)), 0); e != 0 {
		panic(e) // Linux has both clocks
	}
	return time.Duration(t.Nano())
}

// processTime returns the CPU time of the process: of all its threads, the garbage collector's
// included.
func processTime() time.Duration { return cpu(processCPU) }

// threadTime returns the CPU time of the calling thread.
func threadTime() time.Duration { return cpu(threadCPU) }
