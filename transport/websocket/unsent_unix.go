//go:build linux || darwin

package websocket

import (
	"net"
	"syscall"
)

// limitUnsent tells the kernel to refuse more when n bytes wait that TCP cannot send yet. Without
// success the connection works all the same, with older news on slow paths.
func limitUnsent(c *net.TCPConn, n int) {
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotSentLowAt, n)
		})
	}
}
