package host

import (
	"context"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/headless"
	"meanwhile/server"
	"meanwhile/session"
	"meanwhile/session/token"
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
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.Host.from) != 0 {
			t.Errorf("players are counted who are not here: %v", s.Host.from)
		}
	})
}

// resumes comes back with a key and returns the welcome, as a client that may have kept what it
// received.
func (s *stage) resumes(hello session.Hello, key [session.KeySize]byte, kept bool) (transport.Conn, session.Welcome) {
	s.t.Helper()
	hello.Schema, hello.Resume, hello.Kept = s.cfg.Rules.Hash, key, kept
	b, err := hello.Append(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	c := s.dial()
	if err := c.SendMessage(b); err != nil {
		s.t.Fatal(err)
	}
	m, err := c.ReceiveMessage(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	w, err := session.DecodeWelcome(m)
	if err != nil {
		s.t.Fatal(err)
	}
	return c, w
}

// Whoever comes back reads in the welcome what it is sent at most: what it asked for, if it goes
// on, and what everybody gets, if it begins anew. If the server is about to end, it reads that,
// too. Heartbeats go to those who have a connection, nothing that was counted is lost, and the room
// can end.
func TestWelcomeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, wish = 40000, 20000 // bytes a second
		s := newStage(t, Config{Budget: most, Drain: 10 * time.Second, DrainTo: "https://b.example/"})
		c, w := s.resumes(session.Hello{}, [session.KeySize]byte{}, false)
		look := func(what string, beats int) {
			t.Helper()
			synctest.Wait()
			r := s.room(DefaultRoom)
			r.call(func() {
				if n := len(r.heart.beats); n != beats {
					t.Errorf("%s: heartbeats go to %d, want %d", what, n, beats)
				}
			})
			s.mu.Lock()
			defer s.mu.Unlock()
			if r.pending != 0 {
				t.Errorf("%s: %d players are on their way in", what, r.pending)
			}
		}
		read := func() []byte {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			m, err := c.ReceiveMessage(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		look("joined", 1)
		ask, err := session.Limits{BudgetDown: 8 * wish}.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SendMessage(ask)
		read()
		c.Send(make([]byte, 30)) // who sent nothing is not waited for
		time.Sleep(5 * time.Second)
		before := s.Stats().Received
		end(c)
		look("away", 0)
		c, w = s.resumes(session.Hello{}, w.Resume, true)
		if !w.Resumed || !w.Kept || w.BudgetDown != 8*wish {
			t.Errorf("who goes on reads %+v", w)
		}
		look("back", 1)
		time.Sleep(2 * lookEvery)
		if n := s.Stats().Received; before == 0 || n < before {
			t.Errorf("%d datagrams were counted before, %d after", before, n)
		}
		s.stop()
		time.Sleep(time.Second)
		read()
		c.Send(make([]byte, 30))
		time.Sleep(time.Second)
		end(c)
		c, w = s.resumes(session.Hello{}, w.Resume, false)
		if !w.Resumed || w.Kept || w.BudgetDown != 8*most {
			t.Errorf("who begins anew reads %+v", w)
		}
		f, err := session.DecodeFarewell(read())
		if err != nil || f.In != 8*time.Second || f.To != "https://b.example/" || !strings.Contains(f.Text, "another") {
			t.Errorf("who comes back while the server drains reads %+v, %v", f, err)
		}
		c.Close(session.Goodbye)
		s.end()
	})
}

// A guest who comes again from elsewhere takes its place with its record, and leaves none in use.
func TestGuestComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules, _ := miners(t)
		s := newStage(t, Config{Rules: rules, Store: &shelf{}})
		defer s.end()
		hello := session.Hello{Guest: [session.KeySize]byte{1}}
		first, second := s.greet(hello), s.greet(hello)
		<-first.Done()
		time.Sleep(2 * lookEvery)
		if n := s.Stats(); n.Players != 1 || n.Resumed != 1 {
			t.Errorf("%d players, %d came back", n.Players, n.Resumed)
		}
		second.Close(session.Goodbye)
		time.Sleep(time.Second)
		s.keeper.mu.Lock()
		defer s.keeper.mu.Unlock()
		if p := s.keeper.inUse[playerKey("mine", 0, hello.Guest)]; p != nil {
			t.Errorf("its record has %d users when it has left", p.refs)
		}
	})
}

// A key that is none does not spare a player the login, whatever else of the hello is known.
func TestNoSessionWithoutItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer, login := newLogin(t)
		s := newStage(t, Config{Login: login})
		defer s.end()
		hello := session.Hello{Nonce: [session.KeySize]byte{1}, Token: issue(t, issuer, token.Grant{Player: 7})}
		ann := s.greet(hello)
		hello.Token, hello.Resume = nil, [session.KeySize]byte{session.RunSize: 1}
		copy(hello.Resume[:], s.name[:])
		_, err := s.tryHello("203.0.113.7", hello)
		if e := refusedFor(err, session.NoToken, ""); e != nil {
			t.Error(e)
		}
		end(ann)
	})
}

// A player who is refused gives its place in the shared budget back.
func TestRefusedPlayersHaveNoBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Players: 1, TotalBudget: 8 * server.MinBudget, PlayersPerAddress: 99})
		defer s.end()
		ann := s.join("ann", "")
		defer func() { ann.leave(); <-ann.left }()
		for range 20 { // more than there is budget for
			_, err := s.tryHello("203.0.113.7", session.Hello{})
			if e := refusedFor(err, session.RoomFull, ""); e != nil {
				t.Error(e)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(shareMemory * shareEvery)
		s.total.mu.Lock()
		defer s.total.mu.Unlock()
		if n := len(s.total.list); n != 1 {
			t.Errorf("%d players share the budget, want 1", n)
		}
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
