package hostile

import (
	"net"
	"syscall"
)

// UDP_SEGMENT of Linux: one write makes datagrams of so many bytes.
const udpSegment = 103

// writeSegments sends b as datagrams of size bytes, the last one shorter.
func writeSegments(conn *net.UDPConn, b []byte, size int) (sent int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_UDP, udpSegment, size)
	})
	if err != nil || failed != nil {
		return writeEach(conn, b, size)
	}
	return conn.Write(b)
}
