package memory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/transport"
	"meanwhile/transport/internal/conntest"
	"meanwhile/transport/memory"
)

func open(t testing.TB, hello time.Duration) conntest.Network {
	l, err := memory.Listen(memory.Config{Client: conntest.Clock, Server: conntest.Clock, HelloTimeout: hello})
	if err != nil {
		t.Fatal(err)
	}
	return conntest.Network{Listener: l, Dial: func(context.Context) (transport.Conn, error) { return l.Dial() }}
}

func TestConn(t *testing.T) {
	t.Parallel()
	conntest.Run(t, "memory", open)
}

func TestHelloTimeout(t *testing.T) { conntest.HelloTimeout(t, open) }

// In virtual time, over paths that delay: stamps and arrivals tell the delay exactly.
func TestFilterInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		now := func() clock.Time { return clock.Time(time.Since(start)) }
		late := func(d time.Duration) memory.Filter {
			return func(b []byte, deliver func([]byte)) { time.AfterFunc(d, func() { deliver(b) }) }
		}
		twice := func(b []byte, deliver func([]byte)) { deliver(b); deliver(b) }
		client, server, err := memory.Pair(memory.Config{Client: now, Server: now, Up: late(80 * time.Millisecond),
			Down: twice})
		if err != nil {
			t.Fatal(err)
		}
		server.Admit()
		time.Sleep(time.Second)
		client.Send(conntest.Datagram(1, 20))
		time.Sleep(time.Millisecond)
		client.Send(conntest.Datagram(2, 20))
		time.Sleep(time.Millisecond)
		client.Send(conntest.Datagram(3, 20)) // memory takes any number: nothing is displaced
		for want := wire.Seq(1); want <= 3; want++ {
			sent := clock.Time(999+time.Duration(want)) * clock.Time(time.Millisecond)
			b, at, err := server.Receive(t.Context())
			if err != nil || wire.SeqOf(b) != want || conntest.Stamp(b) != sent.Stamp() ||
				at != sent.Add(80*time.Millisecond) {
				t.Errorf("datagram %d stamped %d arrived at %d, %v", wire.SeqOf(b), conntest.Stamp(b), at, err)
			}
		}
		server.Send(conntest.Datagram(4, 20))
		for range 2 {
			if b, _, err := client.Receive(t.Context()); err != nil || wire.SeqOf(b) != 4 {
				t.Error(b, err)
			}
		}
		client.Send(conntest.Datagram(5, 20))
		client.Close("gone") // before it arrives
		<-client.Done()
		<-server.Done()
		time.Sleep(time.Second)
		if s := server.Stats(); s.Received != 3 {
			t.Errorf("%+v", s)
		}
	})
}

func TestHelloTimeoutInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		now := func() clock.Time { return clock.Time(time.Since(start)) }
		l, err := memory.Listen(memory.Config{Client: now, Server: now})
		if err != nil {
			t.Fatal(err)
		}
		client, err := l.Dial()
		if err != nil {
			t.Fatal(err)
		}
		<-client.Done()
		if d := time.Since(start); d != transport.HelloTimeout {
			t.Errorf("sent away after %v", d)
		}
		l.Close("over")
	})
}

// Clients that nobody accepts are turned away at once; those beyond the gate put others out.
func TestTurnedAway(t *testing.T) { synctest.Test(t, testTurnedAway) } // or their time could be over

func testTurnedAway(t *testing.T) {
	l, err := memory.Listen(memory.Config{Client: conntest.Clock, Server: conntest.Clock,
		Gate: transport.NewGate(transport.Backlog, 0)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close("over")
	for range transport.Backlog {
		if _, err := l.Dial(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Dial(); !errors.Is(err, transport.ErrBusy) {
		t.Error(err)
	}
	c, err := l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.Admit()
	if _, err := l.Dial(); err != nil {
		t.Error(err)
	}
	if _, err := l.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Dial(); err != nil { // in place of the oldest
		t.Error(err)
	}
}

func TestClocksMustBeSet(t *testing.T) {
	if _, _, err := memory.Pair(memory.Config{}); err == nil {
		t.Error("Pair")
	}
	if _, err := memory.Listen(memory.Config{Client: conntest.Clock}); err == nil {
		t.Error("Listen")
	}
}
