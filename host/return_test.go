package host

import (
	"context"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/headless"
	"meanwhile/session"
	"meanwhile/transport"
)

// A player who comes back from another address counts there and no longer where it was, and whoever
// names that address names this player. It had its place before: an address that is full by now
// does not keep it out. Until it is back, the rules see that it is away.
func TestComingBackFromAnotherAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const home, train = "203.0.113.1", "203.0.113.2"
		s := newStage(t, Config{PlayersPerAddress: 1})
		defer s.end()
		var way atomic.Bool
		way.Store(true)
		s.from(home)
		ann := s.roam("ann", way.Load)
		time.Sleep(5 * time.Second)
		full := func(address string, want bool) {
			t.Helper()
			c, err := s.tryHello(address, session.Hello{})
			if (err != nil) != want {
				t.Errorf("%s is full: %v, want %v", address, err, want)
			}
			if err == nil {
				c.Close("goodbye")
				<-c.Done()
				time.Sleep(time.Second)
			}
		}
		away := func() (is bool) {
			r := s.room(DefaultRoom)
			r.call(func() { is = r.srv.World().Away(r.srv.Avatar(ann.ID())) })
			return is
		}
		full(home, true)
		full(train, false)
		if away() {
			t.Error("who plays is away")
		}
		s.from(train)
		ann.conn.Load().Conn.Close("")
		time.Sleep(8 * time.Second)
		if ann.returns.Load() != 1 {
			t.Fatalf("%d returns", ann.returns.Load())
		}
		full(home, false)
		full(train, true)

		way.Store(false)
		ann.conn.Load().Conn.Close("")
		time.Sleep(time.Second)
		if !away() {
			t.Error("who has no connection is not away")
		}
		c, err := s.tryHello(train, session.Hello{})
		if err != nil {
			t.Fatal(err)
		}
		s.from(train)
		way.Store(true)
		time.Sleep(8 * time.Second)
		if ann.returns.Load() != 2 || away() {
			t.Errorf("%d returns, away: %v", ann.returns.Load(), away())
		}
		end(c)
		if n := s.Kick(Who{From: netip.MustParsePrefix(home + "/32")}, "enough"); n != 0 {
			t.Errorf("%d players were kicked from where none is", n)
		}
		if n := s.Kick(Who{From: netip.MustParsePrefix(train + "/32")}, "enough"); n == 0 {
			t.Error("nobody is where a player came back from")
		}
		<-ann.left
	})
}

// A lateReader gets its messages late, as in a program that is busy.
type lateReader struct{ transport.Conn }

func (c lateReader) ReceiveMessage(ctx context.Context) ([]byte, error) {
	m, err := c.Conn.ReceiveMessage(ctx)
	time.Sleep(200 * time.Millisecond)
	return m, err
}

// Whoever is sent away does not come back, although its program sees the end of the connection
// before it reads why.
func TestSentAwayForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{})
		defer s.end()
		s.away.all = "203.0.113.1:4433"
		dial := func(context.Context) (transport.Conn, error) { return lateReader{s.dial()}, nil }
		first, _ := dial(t.Context())
		p, err := headless.Join(t.Context(), first, headless.Config{Rules: s.cfg.Rules, Clock: s.Clock(), Dial: dial})
		if err != nil {
			t.Fatal(err)
		}
		left := make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() { left <- p.Run(ctx) }()
		time.Sleep(5 * time.Second)
		if n := s.Kick(Who{From: netip.MustParsePrefix("203.0.113.1/32")}, "enough"); n != 1 {
			t.Fatalf("%d players were kicked", n)
		}
		if e := refusedFor(<-left, session.Removed, "enough"); e != nil || s.Stats().Accepted != 1 {
			t.Errorf("%v; %d connections", e, s.Stats().Accepted)
		}
	})
}

// Whoever comes and goes in a full room loses its own places, not that of a player who is on its
// way back.
func TestGhostsMakePlaceForTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Players: 3})
		defer s.end()
		var way atomic.Bool
		way.Store(true)
		join := func(name, address string) *roamer {
			s.from(address)
			p := s.roam(name, way.Load)
			time.Sleep(5 * time.Second)
			return p
		}
		ann := join("ann", "203.0.113.1")
		ghosts := []*roamer{join("eve", "203.0.113.7"), join("eve", "203.0.113.7")}
		way.Store(false)
		for _, p := range append([]*roamer{ann}, ghosts...) {
			p.conn.Load().Conn.Close("")
			time.Sleep(time.Second)
		}
		for range 2 {
			c, err := s.tryHello("203.0.113.7", session.Hello{})
			if err != nil {
				t.Fatal(err)
			}
			defer end(c)
		}
		for _, p := range ghosts {
			p.leave()
			<-p.left
		}
		s.from("203.0.113.1")
		way.Store(true)
		time.Sleep(8 * time.Second)
		if ann.returns.Load() != 1 || s.Stats().Resumed != 1 {
			t.Errorf("ann returned %d times, %d players resumed, want 1 and 1", ann.returns.Load(), s.Stats().Resumed)
		}
		ann.leave()
		<-ann.left
	})
}
