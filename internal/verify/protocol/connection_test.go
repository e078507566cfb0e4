package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/headless"
	"meanwhile/host"
	"meanwhile/session"
	"meanwhile/transport"
	"meanwhile/transport/memory"
)

// connections returns the table of docs/STATES.md on how connections end: what a real host does
// with clients over a transport in memory, in virtual time.
func connections(t *testing.T) string {
	rules, err := kiteGame.Rules()
	if err != nil {
		t.Fatal(err)
	}
	var rows table
	rows.row("the client", "after", "it gets", "the connection ends with")
	synctest.Test(t, func(t *testing.T) {
		h, err := host.New(host.Config{Rules: rules, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		// The host has the same timeout as its listeners, and either may be first; here it is the
		// host.
		l, err := memory.Listen(memory.Config{
			Client: h.Clock(), Server: h.Clock(), HelloTimeout: 2 * transport.HelloTimeout,
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.Run(ctx, l) }()

		dial := func() transport.Conn {
			conn, err := l.Dial()
			if err != nil {
				t.Fatal(err)
			}
			return conn
		}
		// greet sends a hello and returns the name of the answer.
		greet := func(conn transport.Conn, hello session.Hello) string {
			b, err := hello.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := conn.SendMessage(b); err != nil {
				t.Fatal(err)
			}
			m, err := conn.ReceiveMessage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if session.KindOf(m) == session.KindWelcome {
				return "a welcome"
			}
			r, err := session.DecodeRefusal(m)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("refusal %d", r.Code)
		}
		// watch waits for the end of a connection and adds a row.
		watch := func(what string, conn transport.Conn, start time.Time, got string) {
			for {
				m, err := conn.ReceiveMessage(t.Context())
				if err != nil {
					break
				}
				if r, err := session.DecodeRefusal(m); err == nil {
					got += fmt.Sprintf(", refusal %d", r.Code)
				}
			}
			after := time.Since(start)
			<-conn.Done()
			var closed *transport.CloseError
			if !errors.As(conn.Err(), &closed) || !closed.Remote {
				t.Errorf("%s: the server did not close the connection: %v", what, conn.Err())
			}
			rows.row(what, after.Round(time.Second), got, closed.Reason)
		}
		same := session.Hello{Schema: rules.Hash, Nonce: [session.KeySize]byte{1}}

		conn, start := dial(), time.Now()
		watch("says nothing", conn, start, "nothing")

		conn, start = dial(), time.Now()
		watch("plays another game", conn, start, greet(conn, session.Hello{Schema: rules.Hash + 1}))

		conn, start = dial(), time.Now()
		watch("joins, then sends nothing", conn, start, greet(conn, session.Hello{Schema: rules.Hash}))

		conn, start = dial(), time.Now()
		got := greet(conn, same)
		time.Sleep(3 * time.Second)
		again := dial()
		if second := greet(again, same); second != "a welcome" {
			t.Errorf("the second connection got %s", second)
		}
		watch("joins again 3 s later", conn, start, got)
		again.Close("")
		<-again.Done()

		conn, start = dial(), time.Now()
		p, err := headless.Join(ctx, conn, headless.Config{Rules: rules, Clock: h.Clock()})
		if err != nil {
			t.Fatal(err)
		}
		playing := make(chan error, 1)
		go func() { playing <- p.Run(context.Background()) }()
		time.Sleep(time.Minute)
		end()
		var refusal session.Refusal
		err = <-playing
		var closed *transport.CloseError
		if !errors.As(err, &refusal) || !errors.As(conn.Err(), &closed) {
			t.Fatalf("when the server ends, a player gets %v and %v", err, conn.Err())
		}
		rows.row("plays until the server ends", time.Since(start).Round(time.Second),
			fmt.Sprintf("a welcome, refusal %d", refusal.Code), closed.Reason)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return rows.text()
}
