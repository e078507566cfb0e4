package websocket

import (
	"bufio"
	"net"
	"net/http"
)

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.conn = conn
	return conn, buf, err
}
