//go:build !js

package play

import (
	"context"
	"errors"
	"fmt"
	"time"

	"meanwhile/app/offer"
	"meanwhile/netcode/clock"
	"meanwhile/transport"
	"meanwhile/transport/quic"
	"meanwhile/transport/websocket"
)

// headStart is how long QUIC is tried alone: where UDP does not pass, WebSocket follows.
const headStart = 400 * time.Millisecond

// here is where the program comes from: nowhere.
func here() string { return "" }

// newClock returns a clock that begins now.
func newClock() transport.Clock {
	began := time.Now()
	return func() clock.Time { return clock.Time(time.Since(began)) }
}

// dial connects to the server by what answers first.
func (d *dialer) dial(ctx context.Context) (transport.Conn, error) {
	s, err := d.ask(ctx)
	if err != nil {
		return nil, err
	}
	var ways []way
	if s.Session != nil && d.o.Transport != offer.WebSocket {
		ways = append(ways, func(ctx context.Context) (transport.Conn, error) {
			return quic.Dial(ctx, s.Session.Host, quic.DialConfig{Clock: d.clock, TLS: s.Trust})
		})
	}
	pinned := d.o.Fingerprint != "" && d.base.Scheme == "http" // a socket without TLS proves nothing
	if d.o.Transport != offer.QUIC && !pinned {
		ways = append(ways, func(ctx context.Context) (transport.Conn, error) {
			return websocket.Dial(ctx, s.Socket, websocket.DialConfig{Clock: d.clock, TLS: s.SocketTrust})
		})
	}
	if len(ways) == 0 {
		return nil, fmt.Errorf("play: the server at %s does not offer %s", d.base.Host, d.o.Transport)
	}
	conn, err := race(ctx, headStart, ways)
	if err != nil {
		return nil, d.explain(err)
	}
	return conn, nil
}

// A way opens a connection.
type way func(ctx context.Context) (transport.Conn, error)

// race tries one way after the other, the next one when the last has failed or has taken wait, and
// returns the first connection. Later ones are closed.
func race(ctx context.Context, wait time.Duration, ways []way) (transport.Conn, error) {
	ctx, stop := context.WithCancel(ctx)
	type result struct {
		conn transport.Conn
		err  error
	}
	results := make(chan result)
	begun, ended := 0, 0
	begin := func() {
		dial := ways[begun]
		begun++
		go func() {
			conn, err := dial(ctx)
			results <- result{conn, err}
		}()
	}
	defer func() {
		stop()
		rest := begun - ended
		go func() {
			for range rest {
				if r := <-results; r.conn != nil {
					r.conn.Close("")
				}
			}
		}()
	}()
	begin()
	var failures []error
	for {
		var late <-chan time.Time
		if begun < len(ways) {
			late = time.After(wait)
		}
		select {
		case r := <-results:
			if ended++; r.err == nil {
				return r.conn, nil
			}
			failures = append(failures, r.err)
			if begun == len(ways) && ended == begun {
				return nil, errors.Join(failures...)
			}
			if begun < len(ways) {
				begin()
			}
		case <-late:
			begin()
		}
	}
}
