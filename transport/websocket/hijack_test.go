package websocket

import (
	"net"
	"testing"

	"meanwhile/transport"
)

// A half is a socket whose way out can be closed alone.
type half struct {
	net.Conn
	shut, closed bool
}

func (h *half) CloseWrite() error { h.shut = true; return nil }
func (h *half) Close() error      { h.closed = true; return nil }

// A wrapper hides what its socket can.
type wrapper struct{ net.Conn }

func (w wrapper) NetConn() net.Conn { return w.Conn }

// A client that floods gets the time to read why, also where others wrap the socket.
func TestFloodersReadWhy(t *testing.T) {
	for _, over := range []bool{false, true} {
		socket := &half{}
		m := &metered{Conn: wrapper{wrapper{socket}}}
		if over {
			m.stop(transport.TooManyBytes)
		}
		if err := m.Close(); err != nil || socket.shut != over {
			t.Errorf("over the limit %v: its way out was closed first: %v, %v", over, socket.shut, err)
		}
	}
}
