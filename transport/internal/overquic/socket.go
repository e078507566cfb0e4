package overquic

import (
	"encoding/binary"
	"net"
	"sync/atomic"

	"golang.org/x/net/ipv4"
)

// A Socket is a server's UDP socket that drops what cannot be for it before anything else looks at
// it, so that a flood of garbage costs little. quic-go finds ReadBatch where it reads in batches; on
// other systems it reads all that arrives.
type Socket struct {
	*net.UDPConn
	read    func(ms []ipv4.Message, flags int) (int, error) // of the kernel
	garbage atomic.Uint64
}

// NewSocket returns a Socket that owns c.
func NewSocket(c *net.UDPConn) *Socket {
	return &Socket{UDPConn: c, read: ipv4.NewPacketConn(c).ReadBatch}
}

// Garbage returns how many datagrams were dropped.
func (s *Socket) Garbage() uint64 { return s.garbage.Load() }

// ReadBatch reads at least one datagram that may be QUIC. Each buffer stays with its message, as
// quic-go keeps track of them: datagrams behind garbage are copied to its place.
func (s *Socket) ReadBatch(ms []ipv4.Message, flags int) (int, error) {
	for {
		n, err := s.read(ms, flags)
		if n <= 0 || err != nil {
			return n, err
		}
		kept := 0
		for i := range n {
			m := &ms[i]
			if !mayBeQUIC(m.Buffers[0][:m.N]) {
				continue
			}
			if to := &ms[kept]; kept != i {
				to.N = copy(to.Buffers[0], m.Buffers[0][:m.N])
				to.NN = copy(to.OOB, m.OOB[:m.NN])
				to.Addr, to.Flags = m.Addr, m.Flags
			}
			kept++
		}
		if kept < n {
			s.garbage.Add(uint64(n - kept))
		}
		if kept > 0 {
			return kept, nil
		}
	}
}

const (
	// minPacket is the size in bytes of the shortest packet that can be for a connection: what is
	// shorter cannot be told from noise (RFC 9000 §10.3).
	minPacket = 21
	// minFirst is the least size in bytes of a datagram that begins with an Initial packet (RFC 9000
	// §14.1), or is answered though its version is unknown (§6.1).
	minFirst = 1200

	formLong, fixedBit = 0x80, 0x40
	typeMask           = 0x30
	version1, version2 = 1, 0x6b3343cf
)

// mayBeQUIC reports whether a server has to look at a datagram. It looks at a few bytes alone, which
// every client sends as they must be.
func mayBeQUIC(b []byte) bool {
	if len(b) < minPacket {
		return false
	}
	if b[0]&formLong == 0 {
		return b[0]&fixedBit != 0
	}
	initial := byte(0)
	switch binary.BigEndian.Uint32(b[1:]) {
	case 0: // only servers speak so
		return false
	case version1:
	case version2:
		initial = 0x10
	default:
		return len(b) >= minFirst
	}
	return b[0]&fixedBit != 0 && (b[0]&typeMask != initial || len(b) >= minFirst)
}
