//go:build !linux && !darwin

package websocket

import "net"

// limitUnsent does nothing: the system has no such bound.
func limitUnsent(*net.TCPConn, int) {}
