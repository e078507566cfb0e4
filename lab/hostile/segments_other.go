//go:build !linux

package hostile

import "net"

// writeSegments sends b as datagrams of size bytes, the last one shorter.
func writeSegments(conn *net.UDPConn, b []byte, size int) (sent int, err error) {
	return writeEach(conn, b, size)
}
