// Package transport defines what the engine needs of a connection, and implements what all
// connections share: a mailbox that keeps the newest datagrams, frames for a reliable stream,
// limits for visitors that have not been admitted, and Link, which makes a Conn of the few calls
// that QUIC, WebTransport, WebSocket or a pair in memory offer.
//
// A connection carries datagrams, which may be lost, duplicated or reordered, and messages, which
// arrive once and in order. The client speaks first: nothing that a server sends before it has
// heard from a client can be relied on, since a browser drops datagrams that come before its page
// listens. So the client sends its hello as the first message, the server answers with a message,
// and datagrams follow. What goes over the wire on each transport is in docs/PROTOCOL.md,
// "Transports".
//
// A datagram begins with three bytes of the stamp of its sending and two of its sequence number
// (package wire). A Conn writes the stamp at the last moment before it hands the datagram over, but
// for one that keeps what a simulated network wrote (Link.KeepStamps).
package transport

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// ALPN is the application protocol of native clients, Path where WebTransport and WebSocket clients
// find the server unless it is configured otherwise.
const (
	ALPN = "meanwhile/1"
	Path = "/meanwhile"
)

// Bounds of every connection.
const (
	// MinDatagram is the least size of a datagram in bytes: one that has both.
	MinDatagram = wire.LeadSize
	// MaxDatagram is the largest datagram in bytes. It fits the smallest packet of QUIC, with room
	// for WebTransport's prefix. Larger ones are dropped and counted on either side.
	MaxDatagram = wire.MaxDatagram
	// MaxMessage is the largest message in bytes. A peer that sends a larger one is disconnected.
	MaxMessage = 64 << 10
	// MaxEarlyMessage is the largest message in bytes that a server reads from a client that it has
	// not admitted.
	MaxEarlyMessage = 8 << 10
	// Mailbox is how many datagrams wait for the path to take them. One more displaces the oldest.
	Mailbox = 2
	// Arrivals is how many datagrams wait for Receive. One more displaces the oldest.
	Arrivals = 64
	// QueuedMessages and QueuedBytes bound the messages that wait to be sent; SendMessage refuses
	// further ones with ErrQueueFull.
	QueuedMessages = 64
	QueuedBytes    = 256 << 10
	// ArrivedMessages is how many messages wait for ReceiveMessage. When so many wait, the
	// connection reads no further, and the peer has to wait.
	ArrivedMessages = 8
	// DropReports is how many sequence numbers of dropped datagrams wait for Dropped. Later ones
	// displace the oldest; they are still counted in Stats.
	DropReports = 64
	// MaxReason is the longest reason of Close in bytes: a WebSocket carries no more. Longer ones
	// are cut.
	MaxReason = 123
)

// Default times, which configurations can change.
const (
	// HelloTimeout is how long a client may take until the server admits it.
	HelloTimeout = 5 * time.Second
	// IdleTimeout is how long a peer may be silent before the connection counts as lost.
	IdleTimeout = 30 * time.Second
	// Linger is how long Close waits for the last messages to arrive.
	Linger = 2 * time.Second
)

// A Clock returns the time since an instant of the program's choice. It must be monotonic and safe
// for concurrent use.
type Clock func() clock.Time

// A Conn is a connection to one peer. All methods are safe for concurrent use, but only one caller
// at a time may wait in Receive, and one in ReceiveMessage.
type Conn interface {
	// Send sends a datagram, or drops it: it never blocks, and it does not retain the slice. Up to
	// Mailbox datagrams wait for the path; the newest ones win. Datagrams outside
	// [MinDatagram, MaxDatagram] are dropped.
	Send(datagram []byte)

	// Dropped appends to seqs the sequence numbers of datagrams that Send dropped since the last
	// call, oldest first: the engine must not mistake them for losses on the path.
	Dropped(seqs []wire.Seq) []wire.Seq

	// Receive waits for the next datagram and returns it with the moment at which it was read off
	// the socket. The slice belongs to the caller. The error is a *CloseError when the connection
	// has ended, or that of ctx.
	Receive(ctx context.Context) (datagram []byte, arrival clock.Time, err error)

	// Deliver hands every datagram that waits, and every later one, to f in place of Receive. f is
	// called by the goroutine that reads the socket, never twice at once: it must be quick, must
	// not keep the slice, and must not call methods of the Conn.
	Deliver(f func(datagram []byte, arrival clock.Time))

	// SendMessage queues a message of at most MaxMessage bytes. It never blocks, and does not
	// retain the slice. It fails with ErrQueueFull, with ErrTooLarge, or with a *CloseError.
	SendMessage(message []byte) error

	// ReceiveMessage waits for the next message, which belongs to the caller. Messages that arrived
	// before the connection ended are still returned. Errors are those of Receive.
	ReceiveMessage(ctx context.Context) ([]byte, error)

	// Admit ends the probation in which a server's connections begin: its client may now send
	// datagrams and messages of full size, and no longer counts as a visitor. Until then datagrams
	// from it are dropped, and after the hello timeout so is the connection. Without effect on a
	// client's side.
	Admit()

	// Vouch says that the client of a server's connection is no stranger: it no longer counts as a
	// visitor, so none puts it out while it waits for Admit. Without effect on a client's side.
	Vouch()

	// Close ends the connection. Messages that are queued are still sent, for at most Linger. It
	// does not wait; Done tells when all is over. The reason reaches the peer when it can.
	Close(reason string)

	// Done is closed when the connection has ended and all its goroutines have returned.
	Done() <-chan struct{}

	// Err returns nil while the connection is usable, and then why it ended, a *CloseError.
	Err() error

	// Stats returns a consistent enough copy of the counters.
	Stats() Stats

	// Name is "quic", "webtransport", "websocket" or "memory".
	Name() string

	// Remote is the peer's address in words.
	Remote() string
}

// A Listener takes connections in.
type Listener interface {
	// Accept waits for the next connection, on which the client has yet to be admitted. The error
	// is ErrClosed after Close, or that of ctx.
	Accept(ctx context.Context) (Conn, error)
	// Close refuses new connections, closes those that are open with the reason, and returns when
	// all of them have ended.
	Close(reason string)
	// Addr is the address that clients dial, in words.
	Addr() string
}

// Stats counts what a connection carried. Bytes of datagrams and messages are theirs alone, without
// any header of the transport.
type Stats struct {
	Sent, SentBytes         uint64 // datagrams handed to the path
	Received, ReceivedBytes uint64 // datagrams read off the path and kept

	DroppedOld   uint64 // not sent: displaced by newer ones while the path was blocked
	DroppedSize  uint64 // not sent: outside [MinDatagram, MaxDatagram], or larger than the path takes
	Unreported   uint64 // of these, how many Dropped can no longer name
	IgnoredEarly uint64 // received before admission
	IgnoredSize  uint64 // received outside [MinDatagram, MaxDatagram]
	IgnoredOld   uint64 // received and displaced by newer ones before anyone asked for them

	MessagesSent, MessageBytesSent         uint64
	MessagesReceived, MessageBytesReceived uint64
	MessagesDiscarded                      uint64 // arrived while the connection was closing

	// What really crossed the network, as far as the transport knows; 0 is unknown. Packets are
	// UDP payloads: add 28 bytes each for IPv4 and UDP, 48 for IPv6.
	PacketsSent, PacketBytesSent         uint64
	PacketsReceived, PacketBytesReceived uint64
	PacketsLost                          uint64
	CongestionWindow                     uint64        // in bytes
	RTT, MinRTT                          time.Duration // smoothed, and the least seen
}

// Errors that callers tell apart with errors.Is.
var (
	ErrClosed    = errors.New("transport: closed")
	ErrQueueFull = errors.New("transport: message queue is full")
	ErrTooLarge  = errors.New("transport: message is too large")
)

// A CloseError says why a connection ended. It is ErrClosed for errors.Is.
type CloseError struct {
	// Reason is the argument of Close, here or at the peer, or what went wrong.
	Reason string
	// Remote reports that the peer closed the connection.
	Remote bool
	// Cause is the transport's own error, or nil.
	Cause error
}

func (e *CloseError) Error() string {
	who := "here"
	if e.Remote {
		who = "by the peer"
	}
	if e.Reason == "" {
		return "transport: closed " + who
	}
	return "transport: closed " + who + ": " + e.Reason
}

// Is makes a CloseError ErrClosed.
func (e *CloseError) Is(target error) bool { return target == ErrClosed }

// Unwrap returns the transport's own error.
func (e *CloseError) Unwrap() error { return e.Cause }

// CutReason returns reason, cut to MaxReason bytes, and with anything that is not UTF-8 replaced.
func CutReason(reason string) string { return wire.CutText(toValid(reason), MaxReason) }

func toValid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

func tooLarge(n, limit int) error {
	return fmt.Errorf("%w: %d bytes, over the bound of %d", ErrTooLarge, n, limit)
}
