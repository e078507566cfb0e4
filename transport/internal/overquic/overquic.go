// Package overquic is what native QUIC and WebTransport have in common: datagrams and one stream of
// frames on a QUIC connection.
package overquic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/quic-go/quic-go"

	"meanwhile/netcode/packet"
	"meanwhile/transport"
)

// Application error codes in QUIC's CONNECTION_CLOSE.
const (
	CodeClosed  quic.ApplicationErrorCode = 0 // Close was called; the reason says why
	CodeRefused quic.ApplicationErrorCode = 1 // a visitor was refused
)

// Limits of a QUIC connection. What a peer can make us hold unread is bounded by the initial
// windows; they grow only while somebody reads.
const (
	initialWindow = 64 << 10
	streamWindow  = 256 << 10
	connWindow    = 384 << 10
	// Streams is how many streams of each kind a peer may have open: HTTP/3 needs three one-way
	// ones and one for the session; our own is one more.
	Streams = 8
)

// Config returns the QUIC configuration of both sides. Both extensions are needed by WebTransport.
// Packets stay at the size that every path takes: our datagrams need no more, and probing for more
// would cost slow paths dear. InitialPacketSize stays unset also because the pacer of quic-go
// 0.64.1 counts in packets of 1280 bytes until that size changes: with larger ones its loop is busy
// instead of waiting while there is budget for 1280 bytes but not for a packet, without end in
// virtual time.
func Config(idle, handshake time.Duration) *quic.Config {
	if idle <= 0 {
		idle = transport.IdleTimeout
	}
	if handshake <= 0 {
		handshake = transport.HelloTimeout
	}
	return &quic.Config{
		EnableDatagrams:                  true,
		EnableStreamResetPartialDelivery: true,
		DisablePathMTUDiscovery:          true,
		HandshakeIdleTimeout:             handshake,
		MaxIdleTimeout:                   idle,
		KeepAlivePeriod:                  min(packet.KeepAlive, idle/2),
		InitialStreamReceiveWindow:       initialWindow,
		InitialConnectionReceiveWindow:   initialWindow,
		MaxStreamReceiveWindow:           streamWindow,
		MaxConnectionReceiveWindow:       connWindow,
		MaxIncomingStreams:               Streams,
		MaxIncomingUniStreams:            Streams,
	}
}

// A Path is a transport.Carrier over a QUIC connection.
type Path struct {
	// Conn is the connection, for its counters.
	Conn *quic.Conn
	// Datagrams carries datagrams: the connection itself, or a session on it.
	Datagrams interface {
		SendDatagram([]byte) error
		ReceiveDatagram(context.Context) ([]byte, error)
	}
	// Stream carries messages. Close ends our direction of it.
	Stream io.ReadWriteCloser
	// End closes everything with a reason; Why turns an error into the reason for the end of the
	// connection, and nil means Explain.
	End func(reason string)
	Why func(err error) *transport.CloseError

	frame []byte // scratch of WriteMessage
}

var _ transport.Carrier = (*Path)(nil)

// SendDatagram implements transport.Carrier.
func (p *Path) SendDatagram(b []byte) error {
	err := p.Datagrams.SendDatagram(b)
	var large *quic.DatagramTooLargeError
	if errors.As(err, &large) {
		return fmt.Errorf("%w: a datagram of %d bytes, the path takes %d", transport.ErrTooLarge, len(b),
			large.MaxDatagramPayloadSize)
	}
	return err
}

// WriteMessage implements transport.Carrier.
func (p *Path) WriteMessage(b []byte) error {
	p.frame = transport.AppendFrame(p.frame[:0], b)
	_, err := p.Stream.Write(p.frame)
	if cap(p.frame) > transport.MaxEarlyMessage { // rare large ones need not be kept room for
		p.frame = nil
	}
	return err
}

// Finish implements transport.Carrier.
func (p *Path) Finish() { _ = p.Stream.Close() }

// Close implements transport.Carrier.
func (p *Path) Close(reason string) { p.End(reason) }

// Explain implements transport.Carrier.
func (p *Path) Explain(err error) *transport.CloseError {
	if p.Why != nil {
		return p.Why(err)
	}
	return Explain(err)
}

// Explain turns an error of quic-go into the reason for the end of a connection.
func Explain(err error) *transport.CloseError {
	var (
		app   *quic.ApplicationError
		idle  *quic.IdleTimeoutError
		large = errors.Is(err, transport.ErrTooLarge)
	)
	switch {
	case errors.As(err, &app):
		return &transport.CloseError{Reason: transport.CutReason(app.ErrorMessage), Remote: app.Remote, Cause: err}
	case errors.As(err, &idle):
		return &transport.CloseError{Reason: "the peer has gone silent", Cause: err}
	case large:
		return &transport.CloseError{Reason: err.Error(), Cause: err}
	default:
		return &transport.CloseError{Reason: transport.CutReason("connection lost: " + err.Error()), Cause: err}
	}
}

// Measure implements transport.Carrier.
func (p *Path) Measure(s *transport.Stats) {
	q := p.Conn.ConnectionStats()
	s.PacketsSent, s.PacketBytesSent = q.PacketsSent, q.BytesSent
	s.PacketsReceived, s.PacketBytesReceived = q.PacketsReceived, q.BytesReceived
	s.PacketsLost, s.CongestionWindow = q.PacketsLost, q.CongestionWindow
	s.RTT, s.MinRTT = q.SmoothedRTT, q.MinRTT
}

// ReadDatagrams is a reader for transport.NewLink.
func (p *Path) ReadDatagrams(l *transport.Link) error {
	// With the connection's own context: a session's stream that both sides end at once can be
	// forgotten by quic-go v0.64.1 without waking who waits for its datagrams.
	ctx := p.Conn.Context()
	for {
		b, err := p.Datagrams.ReceiveDatagram(ctx)
		if err != nil {
			if ended := context.Cause(ctx); ended != nil { // says who closed it, and why
				err = ended
			}
			return lost(err)
		}
		l.Arrived(b, true, l.Now())
	}
}

// ReadMessages is a reader for transport.NewLink.
func (p *Path) ReadMessages(l *transport.Link) error {
	for {
		m, err := transport.ReadFrame(p.Stream, l.MessageLimit)
		if err != nil {
			return err // io.EOF is the peer's goodbye
		}
		l.Incoming(m)
	}
}

// lost keeps an end of the connection from being taken for the end of the peer's messages.
func lost(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the session has ended")
	}
	return err
}
