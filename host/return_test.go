package host

import (
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/session"
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
