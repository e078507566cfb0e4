package transport

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// fake is a Carrier that does what a test says.
type fake struct {
	mu       sync.Mutex
	sent     [][]byte
	written  [][]byte
	finished bool
	reason   string
	block    chan struct{} // SendDatagram waits for it, if not nil
	stuck    chan struct{} // WriteMessage waits for it, if not nil
	closed   chan struct{}
	sendErr  error
}

func newFake() *fake { return &fake{closed: make(chan struct{})} }

func (f *fake) wait(c chan struct{}) error {
	if c != nil {
		select {
		case <-c:
		case <-f.closed:
			return io.ErrClosedPipe
		}
	}
	return nil
}

func (f *fake) SendDatagram(b []byte) error {
	if err := f.wait(f.block); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent = append(f.sent, append([]byte(nil), b...))
	return f.sendErr
}

func (f *fake) WriteMessage(b []byte) error {
	if err := f.wait(f.stuck); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.written = append(f.written, append([]byte(nil), b...))
	return nil
}

func (f *fake) Finish() { f.mu.Lock(); f.finished = true; f.mu.Unlock() }

func (f *fake) Close(reason string) {
	f.mu.Lock()
	f.reason = reason
	f.mu.Unlock()
	close(f.closed)
}

func (f *fake) Explain(err error) *CloseError { return &CloseError{Reason: err.Error(), Cause: err} }
func (f *fake) Measure(*Stats)                {}

// read is a reader that ends with the carrier.
func (f *fake) read(*Link) error { <-f.closed; return io.ErrClosedPipe }

func (f *fake) seqs() (s []wire.Seq) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.sent {
		s = append(s, wire.SeqOf(b))
	}
	return s
}

// bubbleClock is a clock in the fake time of a bubble, whose zero is the start of the bubble.
func bubbleClock() Clock {
	start := time.Now()
	return func() clock.Time { return clock.Time(time.Since(start)) }
}

func datagram(s wire.Seq) []byte {
	b := make([]byte, 20)
	b[3], b[4] = byte(s), byte(s>>8)
	return b
}

func stamp(b []byte) clock.Stamp {
	return wire.StampOf(b)
}

// The newest two datagrams win while the path is blocked, the others are reported in order, and the
// stamp is that of the moment in which the path takes the datagram.
func TestBlockedPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.block = make(chan struct{})
		l := NewLink(LinkConfig{Clock: bubbleClock()}, f, f.read)
		for s := wire.Seq(1); s <= 10; s++ {
			l.Send(datagram(s))
			synctest.Wait() // the first one sits in SendDatagram
		}
		time.Sleep(7 * time.Second)
		close(f.block)
		synctest.Wait()
		if s := f.seqs(); len(s) != 3 || s[0] != 1 || s[1] != 9 || s[2] != 10 {
			t.Errorf("sent %v, want [1 9 10]", s)
		}
		if at := stamp(f.sent[2]); at != 7_000_000 {
			t.Errorf("stamped at %d us, want 7000000", at)
		}
		if d := l.Dropped(nil); len(d) != 7 || d[0] != 2 || d[6] != 8 {
			t.Errorf("reports %v, want 2 to 8", d)
		}
		if d := l.Dropped(nil); len(d) != 0 {
			t.Errorf("reported twice: %v", d)
		}
		if s := l.Stats(); s.Sent != 3 || s.DroppedOld != 7 || s.Unreported != 0 {
			t.Errorf("%+v", s)
		}
		l.Close("")
		<-l.Done()
	})
}

func TestReportsAreBounded(t *testing.T) { synctest.Test(t, testReportsAreBounded) }

func testReportsAreBounded(t *testing.T) {
	f := newFake()
	f.block = make(chan struct{})
	l := NewLink(LinkConfig{Clock: func() clock.Time { return 0 }}, f, f.read)
	for s := wire.Seq(1); s <= 500; s++ {
		l.Send(datagram(s))
		synctest.Wait() // the first one sits in SendDatagram
	}
	d := l.Dropped([]wire.Seq{7}) // appends
	s := l.Stats()
	if len(d) != 1+DropReports || d[0] != 7 || s.Unreported != s.DroppedOld-DropReports {
		t.Errorf("%d reports, %+v", len(d), s)
	}
	if last := d[len(d)-1]; last != 498 { // 499 and 500 wait
		t.Errorf("last report is %d, want 498", last)
	}
	l.Close("")
	<-l.Done()
}

// A blocked path and a stuck stream hold up Close for Linger at most, and then all is over.
func TestCloseWhileStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.block, f.stuck = make(chan struct{}), make(chan struct{})
		l := NewLink(LinkConfig{Clock: bubbleClock(), HalfClose: true}, f, f.read)
		l.Send(datagram(1))
		if err := l.SendMessage([]byte("x")); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		l.Close("enough")
		if l.Err() == nil {
			t.Error("usable after Close")
		}
		<-l.Done()
		if d := time.Since(start); d != Linger {
			t.Errorf("took %v, want %v", d, Linger)
		}
		if f.reason != "enough" {
			t.Errorf("reason %q", f.reason)
		}
	})
}

// The end of the peer's messages lets us say what we have to say, and ends in good time even if the
// peer then forgets to close.
func TestPeerSaysGoodbye(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		bye := make(chan struct{})
		l := NewLink(LinkConfig{Clock: bubbleClock(), HalfClose: true}, f, f.read,
			func(*Link) error { <-bye; return io.EOF })
		if err := l.SendMessage([]byte("last words")); err != nil {
			t.Fatal(err)
		}
		close(bye)
		synctest.Wait()
		f.mu.Lock()
		if len(f.written) != 1 || !f.finished {
			t.Errorf("wrote %q, finished %v", f.written, f.finished)
		}
		f.mu.Unlock()
		start := time.Now()
		<-l.Done()
		if d := time.Since(start); d != Linger {
			t.Errorf("took %v, want %v", d, Linger)
		}
		var closed *CloseError
		if !errors.As(l.Err(), &closed) || !closed.Remote {
			t.Error(l.Err())
		}
	})
}

func TestHelloTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := 0
		links := make([]*Link, 2)
		for i := range links {
			f := newFake()
			links[i] = NewLink(LinkConfig{Clock: bubbleClock(), Visitor: true, OnAdmit: func() { left++ }}, f, f.read)
		}
		links[1].Admit()
		start := time.Now()
		<-links[0].Done()
		if d := time.Since(start); d != HelloTimeout {
			t.Errorf("sent away after %v, want %v", d, HelloTimeout)
		}
		time.Sleep(time.Hour)
		if links[1].Err() != nil || left != 1 {
			t.Errorf("the admitted one: %v, %d admitted", links[1].Err(), left)
		}
		links[1].Close("")
		<-links[1].Done()
	})
}

// Datagrams that nobody asks for displace older ones.
func TestArrivalsAreBounded(t *testing.T) {
	f := newFake()
	l := NewLink(LinkConfig{Clock: func() clock.Time { return 0 }}, f, f.read)
	for s := wire.Seq(1); s <= Arrivals+10; s++ {
		l.Arrived(datagram(s), true, clock.Time(s))
	}
	for s := wire.Seq(11); s <= Arrivals+10; s++ {
		b, at, err := l.Receive(context.Background())
		if err != nil || wire.SeqOf(b) != s || at != clock.Time(s) {
			t.Fatalf("datagram %d at %d, %v; want %d", wire.SeqOf(b), at, err, s)
		}
	}
	if s := l.Stats(); s.IgnoredOld != 10 {
		t.Errorf("%+v", s)
	}
	// What was read before the end is still returned after it.
	l.Arrived(datagram(500), false, 1)
	l.Close("over")
	<-l.Done()
	if b, _, err := l.Receive(context.Background()); err != nil || wire.SeqOf(b) != 500 {
		t.Error(b, err)
	}
	if _, _, err := l.Receive(context.Background()); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestQueueIsBounded(t *testing.T) { synctest.Test(t, testQueueIsBounded) } // Close takes its time

func testQueueIsBounded(t *testing.T) {
	f := newFake()
	f.stuck = make(chan struct{})
	l := NewLink(LinkConfig{Clock: func() clock.Time { return 0 }}, f, f.read)
	count := func(size int) (n int) {
		for l.SendMessage(make([]byte, size)) == nil {
			n++
		}
		return n
	}
	if n := count(1); n != QueuedMessages && n != QueuedMessages+1 { // the writer may hold one
		t.Errorf("%d small messages queued, bound %d", n, QueuedMessages)
	}
	l.Close("")
	<-l.Done()
	f = newFake()
	f.stuck = make(chan struct{})
	l = NewLink(LinkConfig{Clock: func() clock.Time { return 0 }}, f, f.read)
	if n := count(MaxMessage); n != QueuedBytes/MaxMessage && n != QueuedBytes/MaxMessage+1 {
		t.Errorf("%d large messages queued, bound %d bytes", n, QueuedBytes)
	}
	l.Close("")
	<-l.Done()
}

func TestFailingPathEndsTheConnection(t *testing.T) {
	f := newFake()
	f.sendErr = errors.New("cable cut")
	l := NewLink(LinkConfig{Clock: func() clock.Time { return 0 }}, f, f.read)
	l.Send(datagram(1))
	<-l.Done()
	if err := l.Err(); !errors.Is(err, ErrClosed) || !errors.Is(err, f.sendErr) ||
		err.Error() != "transport: closed here: cable cut" {
		t.Error(err)
	}
}

// Everything may be called at once, also while the connection ends (for the race detector).
func TestAllAtOnce(t *testing.T) {
	for range 20 {
		f := newFake()
		l := NewLink(LinkConfig{Clock: func() clock.Time { return 0 }, Visitor: true}, f, f.read,
			func(l *Link) error {
				for range 100 {
					l.Arrived(datagram(1), false, l.Now())
					l.Incoming([]byte{1})
				}
				return io.EOF
			})
		var wg sync.WaitGroup
		for _, f := range []func(){
			l.Admit,
			func() { l.Send(datagram(1)) },
			func() { l.Dropped(nil) },
			func() { _ = l.SendMessage([]byte("x")) },
			func() { _, _, _ = l.Receive(context.Background()) },
			func() { _, _ = l.ReceiveMessage(context.Background()) },
			func() { l.Deliver(func([]byte, clock.Time) {}); l.Deliver(nil) },
			func() { l.Stats(); _ = l.Err(); _ = l.Name(); _ = l.Remote() },
		} {
			wg.Go(func() {
				for l.Err() == nil {
					f()
				}
			})
		}
		wg.Go(func() { l.Close("a") })
		wg.Go(func() { l.Close("b") })
		wg.Wait()
		<-l.Done()
	}
}

func TestSteadyFlowAllocatesNothing(t *testing.T) {
	f := newFake()
	f.block = make(chan struct{})
	l := NewLink(LinkConfig{Clock: func() clock.Time { return 0 }}, f, f.read)
	d := datagram(1)
	for range 10 {
		l.Send(d)
	}
	seqs := make([]wire.Seq, 0, DropReports)
	if n := testing.AllocsPerRun(1000, func() { l.Send(d); seqs = l.Dropped(seqs[:0]) }); n != 0 {
		t.Errorf("Send allocates %v times", n)
	}
	l.Deliver(func([]byte, clock.Time) {})
	if n := testing.AllocsPerRun(1000, func() { l.Arrived(d, false, 1) }); n != 0 {
		t.Errorf("Arrived allocates %v times", n)
	}
	l.Close("")
	<-l.Done()
}

func TestNewLinkNeedsAClock(t *testing.T) {
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), "Clock") {
			t.Error(r)
		}
	}()
	NewLink(LinkConfig{}, newFake())
}

// A visitor for whom somebody vouches has left the gate, and is not admitted yet.
func TestVouch(t *testing.T) {
	left := 0
	l := &Link{cfg: LinkConfig{OnAdmit: func() { left++ }}}
	l.Vouch()
	if left != 1 || l.admitted.Load() {
		t.Errorf("it left %d times, admitted: %v", left, l.admitted.Load())
	}
	l.Vouch()
	l.Admit()
	if left != 1 || !l.admitted.Load() {
		t.Errorf("it left %d times, admitted: %v", left, l.admitted.Load())
	}
}
