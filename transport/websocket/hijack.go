package websocket

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"meanwhile/transport"
)

// A hijacker notes the socket when a request is taken over, and counts what is read from it.
type hijacker struct {
	http.ResponseWriter
	clock transport.Clock
	conn  *metered
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.conn = &metered{Conn: conn, clock: h.clock}
	return h.conn, buf, nil
}

// goodbye is how long a client that sends too much may take to read why its connection ends.
const goodbye = 250 * time.Millisecond

// A metered socket refuses to read from a client that sends too much: also frames that the library
// answers by itself.
type metered struct {
	net.Conn
	clock transport.Clock
	pace  transport.Pace
	pings transport.Pace
	over  atomic.Pointer[string] // why nothing more is read, or nil
}

var errFlood = errors.New("websocket: the peer sends too much")

// stop reads nothing more, for a reason of transport.Floods. The first reason stays.
func (m *metered) stop(reason string) { m.over.CompareAndSwap(nil, &reason) }

func (m *metered) Read(b []byte) (int, error) {
	if m.over.Load() != nil {
		return 0, errFlood
	}
	n, err := m.Conn.Read(b)
	if m.pace.Over(m.clock(), n, transport.ClientStreamBytes) {
		m.stop(transport.TooManyBytes)
		return 0, errFlood
	}
	return n, err
}

// ping counts a ping as a message, and reports whether it is answered: an answer costs far more
// than the six bytes of the ping.
func (m *metered) ping() bool {
	if m.pings.Over(m.clock(), 1, transport.ClientMessages) {
		m.stop(transport.TooManyMessages)
	}
	return m.over.Load() == nil
}

// Close lets a client that floods read why, without reading what it still sends: an ordinary close
// would destroy the reason on its way.
func (m *metered) Close() error {
	if m.over.Load() != nil && closeWrite(m.Conn) {
		time.Sleep(goodbye)
	}
	return m.Conn.Close()
}

// closeWrite ends the way to the client, of the outermost socket that can, and reports whether it did.
func closeWrite(conn net.Conn) bool {
	for {
		if c, ok := conn.(interface{ CloseWrite() error }); ok {
			return c.CloseWrite() == nil
		}
		inner, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return false
		}
		conn = inner.NetConn()
	}
}

// NetConn returns the socket below.
func (m *metered) NetConn() net.Conn { return m.Conn }
