package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// A Carrier is what a transport can do for a Link. The Link calls SendDatagram from one goroutine,
// WriteMessage and Finish from another, and Close once, at the end.
type Carrier interface {
	// SendDatagram sends b and does not retain it. It may block. ErrTooLarge means that the path
	// takes only smaller ones; any other error, that the connection is lost.
	SendDatagram(b []byte) error
	// WriteMessage sends b after all earlier messages and does not retain it. It may block.
	WriteMessage(b []byte) error
	// Finish tells the peer that no message follows, where the transport can.
	Finish()
	// Close ends the connection, telling the peer the reason if it can, and makes every other call
	// return.
	Close(reason string)
	// Explain turns an error of the transport into the reason for the end of the connection.
	Explain(err error) *CloseError
	// Measure fills in what the transport knows about its packets.
	Measure(s *Stats)
}

// LinkConfig says what a Link does not learn from its Carrier.
type LinkConfig struct {
	// Name and Remote are what the methods return.
	Name, Remote string
	// Clock stamps what is sent and what arrives. It must be set.
	Clock Clock
	// Visitor makes the connection begin in probation: see Conn.Admit. HelloTimeout is how long
	// that may last; 0 means the default.
	Visitor      bool
	HelloTimeout time.Duration
	// HalfClose says that the peer learns of Finish and answers by finishing too.
	HalfClose bool
	// Direct says that SendDatagram never blocks, so that it needs no mailbox and no goroutine, and
	// may be called by several at once.
	Direct bool
	// OnAdmit and OnDone are called once each, if not nil: when the visitor is admitted, or vouched
	// for, and right before Done is closed.
	OnAdmit, OnDone func()

	// ended is the Intake's: it is called right after Done is closed, so that whoever waits for the
	// Intake finds Done closed.
	ended func()
}

// A Link is a Conn made of a Carrier. It owns the goroutines of the connection: one that sends
// datagrams, one that writes messages, and the readers it was given. They end when the connection
// does, and Done is closed after the last of them.
type Link struct {
	cfg     LinkConfig
	carrier Carrier

	mail     *mailbox
	arrived  *arrivals
	messages chan []byte // arrived ones

	out struct {
		mu    sync.Mutex
		queue [][]byte
		bytes int
		wake  chan struct{}
	}

	end struct {
		once  sync.Once
		err   *CloseError // set before closing is closed
		flush bool        // send what is queued first
	}
	closing  chan struct{} // the connection is no longer usable
	written  chan struct{} // no message will be written any more
	finished chan struct{} // the peer will send no message any more
	gone     chan struct{} // the path is lost: waiting for the peer is useless
	done     chan struct{}
	finish   sync.Once
	lose     sync.Once
	wg       sync.WaitGroup

	admitted atomic.Bool
	stamped  atomic.Bool // KeepStamps
	vouched  atomic.Bool // OnAdmit was called
	paces    paces       // of a server's client

	timers struct {
		mu            sync.Mutex
		hello, linger *time.Timer
		stopped       bool
	}

	n counters
}

type counters struct {
	sent, sentBytes, received, receivedBytes                  atomic.Uint64
	droppedOld, droppedSize                                   atomic.Uint64
	ignoredEarly, ignoredSize, ignoredOld                     atomic.Uint64
	messagesSent, messageBytesSent                            atomic.Uint64
	messagesReceived, messageBytesReceived, messagesDiscarded atomic.Uint64
}

var _ Conn = (*Link)(nil)

// NewLink starts a connection over carrier. Each reader runs in a goroutine of its own until it
// returns; it calls Arrived and Incoming with what it reads. A reader that returns io.EOF has seen
// the end of the peer's messages; any other error ends the connection. NewLink panics if the config
// has no Clock.
func NewLink(cfg LinkConfig, carrier Carrier, readers ...func(*Link) error) *Link {
	if cfg.Clock == nil {
		panic("transport: LinkConfig.Clock is nil")
	}
	l := &Link{
		cfg: cfg, carrier: carrier,
		mail: newMailbox(), arrived: newArrivals(), messages: make(chan []byte, ArrivedMessages),
		closing: make(chan struct{}), written: make(chan struct{}), finished: make(chan struct{}),
		gone: make(chan struct{}), done: make(chan struct{}),
	}
	l.out.wake = make(chan struct{}, 1)
	l.admitted.Store(!cfg.Visitor)
	l.wg.Add(1) // this function: nobody may see the last goroutine off before all have started
	defer l.wg.Done()
	if !cfg.Direct {
		l.wg.Go(l.sendDatagrams)
	}
	l.wg.Go(l.writeMessages)
	for _, read := range readers {
		l.wg.Go(func() {
			if err := read(l); errors.Is(err, io.EOF) {
				l.Finished()
			} else if err != nil {
				l.Lost(err)
			}
		})
	}
	if cfg.Visitor {
		wait := cfg.HelloTimeout
		if wait <= 0 {
			wait = HelloTimeout
		}
		l.after(&l.timers.hello, wait, func() { l.Close(fmt.Sprintf("not admitted within %v", wait)) })
	}
	return l
}

// after starts a timer that stops with the connection, if it has not ended already.
func (l *Link) after(t **time.Timer, d time.Duration, f func()) {
	l.timers.mu.Lock()
	defer l.timers.mu.Unlock()
	if !l.timers.stopped {
		*t = time.AfterFunc(d, f)
	}
}

// Send implements Conn.
func (l *Link) Send(datagram []byte) {
	select {
	case <-l.closing:
		return
	default:
	}
	if len(datagram) < MinDatagram || len(datagram) > MaxDatagram {
		l.refuse(datagram)
		return
	}
	if l.cfg.Direct {
		b := append([]byte(nil), datagram...)
		l.stamp(b)
		l.sent(b, l.carrier.SendDatagram(b))
		return
	}
	if l.mail.put(datagram) {
		l.n.droppedOld.Add(1)
	}
}

// KeepStamps says whether what is sent has its send stamp already, be it that it was under way in a
// simulated network. Otherwise it gets one when the path takes it.
func (l *Link) KeepStamps(keep bool) { l.stamped.Store(keep) }

// KeepsStamps reports what KeepStamps said last.
func (l *Link) KeepsStamps() bool { return l.stamped.Load() }

func (l *Link) stamp(datagram []byte) {
	if !l.stamped.Load() {
		wire.PatchStamp(datagram, l.cfg.Clock().Stamp())
	}
}

// sendDatagrams feeds the path at the speed at which it takes them.
func (l *Link) sendDatagrams() {
	var b []byte
	for {
		select {
		case <-l.closing:
			return
		case <-l.mail.wake:
		}
		for ok := true; ok; {
			if b, ok = l.mail.take(b); ok {
				l.stamp(b)
				if !l.sent(b, l.carrier.SendDatagram(b)) {
					return
				}
			}
		}
	}
}

// sent counts a datagram that was handed over, and reports whether the connection goes on.
func (l *Link) sent(b []byte, err error) bool {
	switch {
	case err == nil:
		l.n.sent.Add(1)
		l.n.sentBytes.Add(uint64(len(b)))
	case errors.Is(err, ErrTooLarge):
		l.refuse(b)
	default:
		l.Lost(err)
		return false
	}
	return true
}

// refuse counts a datagram that no path will take.
func (l *Link) refuse(b []byte) {
	l.n.droppedSize.Add(1)
	if len(b) >= wire.LeadSize {
		l.mail.refuse(wire.SeqOf(b))
	}
}

// Dropped implements Conn.
func (l *Link) Dropped(seqs []wire.Seq) []wire.Seq { return l.mail.reports(seqs) }

// Now reads the connection's clock; readers call it directly after the socket.
func (l *Link) Now() clock.Time { return l.cfg.Clock() }

// Arrived stores a datagram that was read at the time at. b belongs to the Link if owned; otherwise
// it is copied as far as needed.
func (l *Link) Arrived(b []byte, owned bool, at clock.Time) {
	if l.cfg.Visitor && (l.paces.datagrams.Over(at, 1, ClientDatagrams) || l.paces.bytes.Over(at, len(b), ClientBytes)) {
		l.Flood(TooManyDatagrams)
		return
	}
	switch {
	case !l.admitted.Load():
		l.n.ignoredEarly.Add(1)
	case len(b) < MinDatagram || len(b) > MaxDatagram:
		l.n.ignoredSize.Add(1)
	default:
		l.n.received.Add(1)
		l.n.receivedBytes.Add(uint64(len(b)))
		if l.arrived.put(b, owned, at) {
			l.n.ignoredOld.Add(1)
		}
	}
}

// Receive implements Conn.
func (l *Link) Receive(ctx context.Context) ([]byte, clock.Time, error) {
	for {
		if a, ok := l.arrived.take(); ok {
			return a.data, a.at, nil
		}
		select {
		case <-l.arrived.wake:
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		case <-l.closing:
			if a, ok := l.arrived.take(); ok {
				return a.data, a.at, nil
			}
			return nil, 0, l.end.err
		}
	}
}

// Deliver implements Conn.
func (l *Link) Deliver(f func(datagram []byte, arrival clock.Time)) { l.arrived.to(f) }

// SendMessage implements Conn.
func (l *Link) SendMessage(message []byte) error {
	if len(message) > MaxMessage {
		return tooLarge(len(message), MaxMessage)
	}
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	// Close looks at the queue under the same lock, so what is accepted here is not forgotten
	// there.
	select {
	case <-l.closing:
		return l.end.err
	default:
	}
	if len(l.out.queue) >= QueuedMessages || l.out.bytes+len(message) > QueuedBytes {
		return fmt.Errorf("%w: %d messages of %d bytes wait", ErrQueueFull, len(l.out.queue), l.out.bytes)
	}
	l.out.queue = append(l.out.queue, append([]byte(nil), message...))
	l.out.bytes += len(message)
	select {
	case l.out.wake <- struct{}{}:
	default:
	}
	return nil
}

func (l *Link) nextMessage() (message []byte, ok bool) {
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	if len(l.out.queue) == 0 {
		return nil, false
	}
	message = l.out.queue[0]
	l.out.queue[0] = nil
	if l.out.queue = l.out.queue[1:]; len(l.out.queue) == 0 {
		l.out.queue = nil // let the array go, so that it does not creep through memory
	}
	l.out.bytes -= len(message)
	return message, true
}

// writeMessages writes what is queued, and at the end what is left.
func (l *Link) writeMessages() {
	defer close(l.written)
	for {
		if !l.writeQueued() {
			return
		}
		select {
		case <-l.out.wake:
			continue
		case <-l.closing:
			if !l.end.flush {
				return
			}
		case <-l.finished:
		}
		if l.writeQueued() { // what came just before the end
			l.carrier.Finish()
		}
		return
	}
}

// writeQueued empties the queue and reports whether the connection goes on.
func (l *Link) writeQueued() bool {
	for {
		m, ok := l.nextMessage()
		if !ok {
			return true
		}
		if err := l.carrier.WriteMessage(m); err != nil {
			l.Lost(err)
			return false
		}
		l.n.messagesSent.Add(1)
		l.n.messageBytesSent.Add(uint64(len(m)))
	}
}

// MessageLimit is the size in bytes of the largest message that may come in now.
func (l *Link) MessageLimit() int {
	if l.admitted.Load() {
		return MaxMessage
	}
	return MaxEarlyMessage
}

// Incoming stores a message, which then belongs to the Link. It waits while ArrivedMessages of
// them are unread.
func (l *Link) Incoming(message []byte) {
	select {
	case <-l.closing:
		l.n.messagesDiscarded.Add(1)
		return
	default:
	}
	if now := l.Now(); l.cfg.Visitor && (l.paces.messages.Over(now, 1, ClientMessages) ||
		l.paces.messageBytes.Over(now, len(message), ClientMessageBytes)) {
		l.Flood(TooManyMessages)
		return
	}
	select {
	case l.messages <- message:
		l.n.messagesReceived.Add(1)
		l.n.messageBytesReceived.Add(uint64(len(message)))
	case <-l.closing:
		l.n.messagesDiscarded.Add(1)
	}
}

// ReceiveMessage implements Conn.
func (l *Link) ReceiveMessage(ctx context.Context) ([]byte, error) {
	select {
	case m := <-l.messages: // those that arrived before the end come before its error
		return m, nil
	default:
	}
	select {
	case m := <-l.messages:
		return m, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-l.closing:
		select {
		case m := <-l.messages:
			return m, nil
		default:
			return nil, l.end.err
		}
	}
}

// Admit implements Conn.
func (l *Link) Admit() {
	if l.admitted.Swap(true) {
		return
	}
	l.timers.mu.Lock()
	if l.timers.hello != nil {
		l.timers.hello.Stop()
	}
	l.timers.mu.Unlock()
	l.Vouch()
}

// Vouch implements Conn.
func (l *Link) Vouch() {
	if l.cfg.OnAdmit != nil && !l.vouched.Swap(true) {
		l.cfg.OnAdmit()
	}
}

// Close implements Conn.
func (l *Link) Close(reason string) {
	l.stop(&CloseError{Reason: CutReason(reason)}, true)
}

// PutOut ends the connection at once, since its peer is a visitor that has to make place.
func (l *Link) PutOut() { l.stop(&CloseError{Reason: CrowdedOut}, false) }

// Lost ends the connection because of an error of the transport.
func (l *Link) Lost(err error) {
	l.lose.Do(func() { close(l.gone) })
	l.stop(l.carrier.Explain(err), false)
}

// Finished notes that the peer will send no more messages: it is about to close the connection, and
// waits for us to finish too.
func (l *Link) Finished() {
	l.finish.Do(func() {
		close(l.finished)
		l.after(&l.timers.linger, Linger, func() {
			l.stop(&CloseError{Reason: "the peer said goodbye", Remote: true}, false)
		})
	})
}

// stop makes the connection unusable and lets the rest end in its own time.
func (l *Link) stop(err *CloseError, flush bool) {
	l.end.once.Do(func() {
		l.end.err, l.end.flush = err, flush
		l.out.mu.Lock()
		close(l.closing)
		l.out.mu.Unlock()
		go l.shut()
	})
}

// shut is the last goroutine of a connection. It waits for the others.
func (l *Link) shut() {
	if l.end.flush {
		patience := time.NewTimer(Linger)
		waits := []<-chan struct{}{l.written}
		if l.cfg.HalfClose {
			waits = append(waits, l.finished)
		}
	wait:
		for _, w := range waits {
			select {
			case <-w:
			case <-l.gone:
				break wait
			case <-patience.C:
				break wait
			}
		}
		patience.Stop()
	}
	l.carrier.Close(l.end.err.Reason)
	l.wg.Wait()
	l.timers.mu.Lock()
	l.timers.stopped = true
	for _, t := range []*time.Timer{l.timers.hello, l.timers.linger} {
		if t != nil {
			t.Stop()
		}
	}
	l.timers.mu.Unlock()
	if l.cfg.OnDone != nil {
		l.cfg.OnDone()
	}
	close(l.done)
	if l.cfg.ended != nil {
		l.cfg.ended()
	}
}

// Done implements Conn.
func (l *Link) Done() <-chan struct{} { return l.done }

// Closing is closed when the connection is no longer usable, before Done: readers return then.
func (l *Link) Closing() <-chan struct{} { return l.closing }

// Err implements Conn.
func (l *Link) Err() error {
	select {
	case <-l.closing:
		return l.end.err
	default:
		return nil
	}
}

// Stats implements Conn.
func (l *Link) Stats() Stats {
	s := Stats{
		Sent: l.n.sent.Load(), SentBytes: l.n.sentBytes.Load(),
		Received: l.n.received.Load(), ReceivedBytes: l.n.receivedBytes.Load(),
		DroppedOld: l.n.droppedOld.Load(), DroppedSize: l.n.droppedSize.Load(), Unreported: l.mail.unreported(),
		IgnoredEarly: l.n.ignoredEarly.Load(), IgnoredSize: l.n.ignoredSize.Load(), IgnoredOld: l.n.ignoredOld.Load(),
		MessagesSent: l.n.messagesSent.Load(), MessageBytesSent: l.n.messageBytesSent.Load(),
		MessagesReceived: l.n.messagesReceived.Load(), MessageBytesReceived: l.n.messageBytesReceived.Load(),
		MessagesDiscarded: l.n.messagesDiscarded.Load(),
	}
	l.carrier.Measure(&s)
	return s
}

// Name implements Conn.
func (l *Link) Name() string { return l.cfg.Name }

// Remote implements Conn.
func (l *Link) Remote() string { return l.cfg.Remote }
