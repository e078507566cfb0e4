// Package conntest checks that a transport keeps the contract of transport.Conn, whichever it is.
package conntest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/transport"
)

// patience bounds every wait. It is generous: it says that something hangs, never that it is slow.
const patience = 30 * time.Second

// A Network is a listener and a way to reach it.
type Network struct {
	transport.Listener
	Dial func(ctx context.Context) (transport.Conn, error)
}

// A Factory opens a Network whose visitors have hello to be admitted; 0 means the default.
type Factory func(t testing.TB, hello time.Duration) Network

// Clock is a clock for tests: it counts from the start of the test program.
func Clock() clock.Time { return clock.Time(time.Since(began)) }

var began = time.Now()

// ClockFrom counts from start, for tests in a bubble of synctest.
func ClockFrom(start time.Time) transport.Clock {
	return func() clock.Time { return clock.Time(time.Since(start)) }
}

// Context returns a context that ends with the test, and before the test program gives up.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// Datagram returns a datagram of n bytes with a sequence number and no stamp yet.
func Datagram(seq wire.Seq, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i) ^ byte(seq)
	}
	binary.LittleEndian.PutUint16(b[3:], uint16(seq))
	wire.PatchStamp(b, 0)
	return b
}

// Stamp returns the stamp of a datagram.
func Stamp(b []byte) clock.Stamp {
	return wire.StampOf(b)
}

// Connect dials, says hello, and returns both ends; the server has read the hello and admitted the
// client if admit is set.
func Connect(t testing.TB, n Network, admit bool) (client, server transport.Conn) {
	t.Helper()
	ctx := Context(t)
	client, err := n.Dial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { End(t, client) })
	if err := client.SendMessage([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	server, err = n.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := server.ReceiveMessage(ctx); err != nil || string(m) != "hello" {
		t.Fatalf("the server read %q, %v", m, err)
	}
	if admit {
		server.Admit()
	}
	return client, server
}

// End closes a connection and waits for the last of it.
func End(t testing.TB, c transport.Conn) {
	t.Helper()
	c.Close("test is over")
	Wait(t, c.Done(), c.Name()+" connection does not end")
}

// Wait waits for a channel to be closed.
func Wait(t testing.TB, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatal(what)
	}
}

// Until waits for a condition.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never happened: " + what)
		}
	}
}

// Run runs every check against networks that open makes.
func Run(t *testing.T, name string, open Factory) {
	for _, c := range []struct {
		name  string
		check func(*testing.T, Network)
	}{
		{"datagrams", datagrams},
		{"messages", messages},
		{"bounds", bounds},
		{"deliver", deliver},
		{"contexts", contexts},
		{"goodbye", goodbye},
		{"goodbye of the client", goodbyeOfTheClient},
		{"goodbye of both", goodbyeOfBoth},
		{"backpressure", backpressure},
		{"probation", probation},
		{"listener", listener},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := open(t, patience) // nobody is sent away because the machine is busy
			t.Cleanup(func() { n.Close("test is over") })
			c.check(t, n)
		})
	}
	t.Run("name", func(t *testing.T) {
		n := open(t, patience)
		defer n.Close("test is over")
		client, server := Connect(t, n, true)
		if client.Name() != name || server.Name() != name || client.Remote() == "" || server.Remote() == "" {
			t.Errorf("%s to %q, %s to %q, want %s", client.Name(), client.Remote(), server.Name(), server.Remote(),
				name)
		}
	})
}

// HelloTimeout checks that a visitor who is not admitted is disconnected when its time is over,
// with a reason. open makes a Network in a bubble of synctest: on a slow machine a real second is
// over before the visitor has come in.
func HelloTimeout(t *testing.T, open Factory) {
	synctest.Test(t, func(t *testing.T) {
		n := open(t, time.Second)
		defer n.Close("test is over")
		client, server := Connect(t, n, false)
		start := time.Now()
		Wait(t, server.Done(), "a visitor stays")
		Wait(t, client.Done(), "a visitor does not notice")
		var closed *transport.CloseError
		if !errors.As(client.Err(), &closed) || !closed.Remote ||
			!strings.Contains(closed.Reason, "not admitted within 1s") {
			t.Errorf("the client's connection says %v", client.Err())
		}
		if d := time.Since(start); d > time.Second+transport.Linger {
			t.Errorf("gone after %v", d)
		}
	})
}

// datagrams arrive as they were sent but for the stamp, which is that of the last moment.
func datagrams(t *testing.T, n Network) {
	client, server := Connect(t, n, true)
	ctx := Context(t)
	for _, way := range []struct{ from, to transport.Conn }{{client, server}, {server, client}} {
		for i := range 20 {
			size := transport.MinDatagram + i*(transport.MaxDatagram-transport.MinDatagram)/19
			want := Datagram(wire.Seq(1000+i), size)
			before := Clock()
			way.from.Send(want)
			if Stamp(want) != 0 {
				t.Fatal("Send changed the caller's slice")
			}
			got, at, err := way.to.Receive(ctx)
			if err != nil {
				t.Fatalf("datagram %d of %d bytes: %v", i, size, err)
			}
			sent := before.Near(wire.NearStamp(before.Stamp(), Stamp(got))) // of 24 bits: they wrap after 17 s
			if sent < before-1000 || at < sent-1000 || at > Clock() {
				t.Errorf("sent after %d, stamped %d, arrived %d, now %d", before, sent, at, Clock())
			}
			wire.PatchStamp(got, 0)
			if !bytes.Equal(got, want) {
				t.Fatalf("sent %x, got %x", want, got)
			}
		}
		if d := way.from.Dropped(nil); len(d) > 0 {
			t.Errorf("dropped %v on a free path", d)
		}
	}
	var want transport.Stats
	for i := range 20 {
		want.Sent++
		want.SentBytes += uint64(transport.MinDatagram + i*(transport.MaxDatagram-transport.MinDatagram)/19)
	}
	for _, c := range []transport.Conn{client, server} {
		Until(t, "all counted", func() bool { return c.Stats().Sent == want.Sent })
		if s := c.Stats(); s.SentBytes != want.SentBytes || s.Received != want.Sent ||
			s.ReceivedBytes != want.SentBytes {
			t.Errorf("stats %+v, want %d datagrams of %d bytes each way", s, want.Sent, want.SentBytes)
		}
	}
}

// messages arrive once and in order, whatever their size.
func messages(t *testing.T, n Network) {
	client, server := Connect(t, n, true)
	ctx := Context(t)
	sizes := []int{0, 1, 2, 3, 100, 1150, 2046, 2047, 2048, 2049, 5000, transport.MaxEarlyMessage,
		transport.MaxEarlyMessage + 1, transport.MaxMessage - 1, transport.MaxMessage}
	for _, way := range []struct{ from, to transport.Conn }{{client, server}, {server, client}} {
		var sender sync.WaitGroup
		sender.Go(func() {
			for i, size := range sizes {
				m := bytes.Repeat([]byte{byte(i + 1)}, size)
				for {
					err := way.from.SendMessage(m)
					if err == nil {
						break
					}
					if !errors.Is(err, transport.ErrQueueFull) {
						t.Errorf("message of %d bytes: %v", size, err)
						return
					}
					time.Sleep(time.Millisecond)
				}
				clear(m) // the connection keeps a copy
			}
		})
		for i, size := range sizes {
			m, err := way.to.ReceiveMessage(ctx)
			if err != nil || !bytes.Equal(m, bytes.Repeat([]byte{byte(i + 1)}, size)) {
				t.Fatalf("message %d of %d bytes arrived as %d bytes %.10x, %v", i, size, len(m), m, err)
			}
		}
		sender.Wait()
	}
}

// bounds of what callers may send.
func bounds(t *testing.T, n Network) {
	client, server := Connect(t, n, true)
	client.Send(nil)
	client.Send(make([]byte, transport.MinDatagram-1))
	client.Send(Datagram(77, transport.MaxDatagram+1))
	if d := client.Dropped(nil); len(d) != 1 || d[0] != 77 {
		t.Errorf("reports %v, want [77]", d) // the others have no sequence number
	}
	if s := client.Stats(); s.DroppedSize != 3 || s.Sent != 0 {
		t.Errorf("stats %+v", s)
	}
	if err := client.SendMessage(make([]byte, transport.MaxMessage+1)); !errors.Is(err, transport.ErrTooLarge) {
		t.Error(err)
	}
	client.Send(Datagram(1, 20)) // and goes on
	if _, _, err := server.Receive(Context(t)); err != nil {
		t.Error(err)
	}
}

// deliver pushes what has arrived and what arrives.
func deliver(t *testing.T, n Network) {
	client, server := Connect(t, n, true)
	var (
		mu  sync.Mutex
		got []wire.Seq
	)
	client.Send(Datagram(1, 20))
	Until(t, "first datagram", func() bool { return server.Stats().Received == 1 })
	server.Deliver(func(b []byte, at clock.Time) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, wire.SeqOf(b))
		if at <= 0 {
			t.Errorf("arrived at %d", at)
		}
		clear(b)
	})
	for s := wire.Seq(2); s <= 5; s++ {
		client.Send(Datagram(s, 20))
		Until(t, "delivery", func() bool { mu.Lock(); defer mu.Unlock(); return len(got) == int(s) })
	}
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(got) != "[1 2 3 4 5]" {
		t.Error(got)
	}
}

// contexts end waiting, and nothing else.
func contexts(t *testing.T, n Network) {
	client, server := Connect(t, n, true)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := server.Receive(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := server.ReceiveMessage(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := client.SendMessage([]byte("still there")); err != nil {
		t.Fatal(err)
	}
	if m, err := server.ReceiveMessage(Context(t)); err != nil || string(m) != "still there" {
		t.Errorf("%q, %v", m, err)
	}
	if server.Err() != nil {
		t.Error(server.Err())
	}
}

// goodbye loses no message, and tells the reason.
func goodbye(t *testing.T, n Network) {
	client, server := Connect(t, n, true)
	checkGoodbye(t, server, client)
}

func goodbyeOfTheClient(t *testing.T, n Network) {
	client, server := Connect(t, n, true)
	checkGoodbye(t, client, server)
}

func checkGoodbye(t *testing.T, leaver, stayer transport.Conn) {
	const messages = 30
	for i := range messages {
		if err := leaver.SendMessage(bytes.Repeat([]byte{byte(i)}, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	leaver.Close("the last round is over")
	if err := leaver.SendMessage([]byte("too late")); !errors.Is(err, transport.ErrClosed) {
		t.Error(err)
	}
	leaver.Send(Datagram(1, 20)) // harmless
	for i := range messages {
		m, err := stayer.ReceiveMessage(Context(t))
		if err != nil || len(m) != 1000 || m[0] != byte(i) {
			t.Fatalf("message %d: %d bytes, %v", i, len(m), err)
		}
	}
	_, err := stayer.ReceiveMessage(Context(t))
	var closed *transport.CloseError
	if !errors.As(err, &closed) || !closed.Remote || closed.Reason != "the last round is over" {
		t.Errorf("the one who stays got %v (%+v)", err, closed)
	}
	Wait(t, leaver.Done(), "the one who leaves does not end")
	Wait(t, stayer.Done(), "the one who stays does not end")
	if !errors.As(leaver.Err(), &closed) || closed.Remote || closed.Reason != "the last round is over" {
		t.Errorf("the one who leaves says %v", leaver.Err())
	}
	if _, _, err := stayer.Receive(Context(t)); !errors.Is(err, transport.ErrClosed) {
		t.Error(err)
	}
	stayer.Close("again") // harmless
	if s := leaver.Stats(); s.MessagesSent < messages {
		t.Errorf("%+v", s)
	}
}

// goodbyeOfBoth at once ends both quickly enough.
func goodbyeOfBoth(t *testing.T, n Network) {
	client, server := Connect(t, n, true)
	client.Close("a")
	server.Close("b")
	Wait(t, client.Done(), "the client does not end")
	Wait(t, server.Done(), "the server does not end")
}

// backpressure: a peer that reads no messages makes the queue full, and nothing worse.
func backpressure(t *testing.T, n Network) {
	client, server := Connect(t, n, true)
	m := make([]byte, 32<<10)
	var sent int
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if err = server.SendMessage(m); err == nil {
			sent++
			continue
		}
		if !errors.Is(err, transport.ErrQueueFull) {
			t.Fatal(err)
		}
		// Full for a while: either it stays so, or the network still takes some.
		time.Sleep(50 * time.Millisecond)
		if err = server.SendMessage(m); err != nil {
			break
		}
		sent++
	}
	if !errors.Is(err, transport.ErrQueueFull) {
		t.Fatalf("after %d messages that nobody reads: %v", sent, err)
	}
	for range sent {
		if m, err := client.ReceiveMessage(Context(t)); err != nil || len(m) != 32<<10 {
			t.Fatal(len(m), err)
		}
	}
}

// probation: until a client is admitted its datagrams are dropped and its messages are small.
func probation(t *testing.T, n Network) {
	client, server := Connect(t, n, false)
	client.Send(Datagram(1, 20))
	Until(t, "early datagram", func() bool { return server.Stats().IgnoredEarly == 1 })
	small := make([]byte, transport.MaxEarlyMessage)
	if err := client.SendMessage(small); err != nil {
		t.Fatal(err)
	}
	if m, err := server.ReceiveMessage(Context(t)); err != nil || len(m) != len(small) {
		t.Fatal(len(m), err)
	}
	server.Admit()
	server.Admit() // harmless
	client.Send(Datagram(2, 20))
	if b, _, err := server.Receive(Context(t)); err != nil || wire.SeqOf(b) != 2 {
		t.Fatal(b, err)
	}
	if s := server.Stats(); s.Received != 1 || s.IgnoredEarly != 1 {
		t.Errorf("%+v", s)
	}

	client, server = Connect(t, n, false)
	if err := client.SendMessage(make([]byte, transport.MaxEarlyMessage+1)); err != nil {
		t.Fatal(err)
	}
	Wait(t, server.Done(), "a large early message is borne")
	var closed *transport.CloseError
	if _, err := server.ReceiveMessage(Context(t)); !errors.As(err, &closed) || closed.Remote ||
		!strings.Contains(closed.Reason, "bound of 8192") {
		t.Error(err)
	}
	Wait(t, client.Done(), "the client does not notice")
}

// listener: Close ends connections and waiting.
func listener(t *testing.T, n Network) {
	client, server := Connect(t, n, true)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if _, err := n.Accept(context.Background()); !errors.Is(err, transport.ErrClosed) {
			t.Errorf("Accept ended with %v", err)
		}
	})
	n.Close("going down")
	waiting.Wait()
	select {
	case <-server.Done():
	default:
		t.Error("Close returned before the connection had ended")
	}
	Wait(t, client.Done(), "the client does not end")
	var closed *transport.CloseError
	if !errors.As(client.Err(), &closed) || closed.Reason != "going down" || !closed.Remote {
		t.Errorf("the client's connection says %v", client.Err())
	}
	n.Close("again") // harmless
	if n.Addr() == "" {
		t.Error("no address")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if c, err := n.Dial(ctx); err == nil {
		_ = c.SendMessage([]byte("hello"))
		Wait(t, c.Done(), "a closed listener serves")
	}
}
