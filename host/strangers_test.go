package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/session"
	"meanwhile/session/token"
	"meanwhile/transport"
)

// An elsewhere gives the connections of a listener the addresses that their clients dial from.
type elsewhere struct {
	transport.Listener
	from chan string // of the next connection
	all  string      // of every connection, unless empty
}

type distant struct {
	transport.Conn
	remote string
}

func (d distant) Remote() string { return d.remote }

func (e *elsewhere) Accept(ctx context.Context) (transport.Conn, error) {
	conn, err := e.Listener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case remote := <-e.from:
		return distant{conn, remote}, nil
	default:
		if e.all != "" {
			return distant{conn, e.all}, nil
		}
		return conn, nil
	}
}

// from makes the next connection come from an address.
func (s *stage) from(address string) { s.away.from <- address + ":4433" }

// tryHello sends a hello from an address and returns the connection if it is welcome.
func (s *stage) tryHello(address string, hello session.Hello) (transport.Conn, error) {
	s.t.Helper()
	s.from(address)
	c := s.dial()
	hello.Schema = s.cfg.Rules.Hash
	b, err := hello.Append(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := c.SendMessage(b); err != nil {
		s.t.Fatal(err)
	}
	m, err := c.ReceiveMessage(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	if session.KindOf(m) == session.KindWelcome {
		return c, nil
	}
	r, err := session.DecodeRefusal(m)
	if err != nil {
		s.t.Fatal(err)
	}
	<-c.Done()
	return nil, r
}

// refusedFor returns an error unless err is a refusal with the code and a text that contains want.
func refusedFor(err error, code session.Code, want string) error {
	var r session.Refusal
	if !errors.As(err, &r) || r.Code != code || !strings.Contains(r.Text, want) {
		return fmt.Errorf("got %v, want %v with %q", err, code, want)
	}
	return nil
}

func end(c transport.Conn) {
	c.Close("")
	<-c.Done()
}

// One address opens a few rooms, and after that one in a while; others open theirs beside it. The
// default room needs no place, and who joins a room that is open needs none either.
func TestRoomsPerAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{})
		defer s.end()
		var conns []transport.Conn
		join := func(address, room string) error {
			c, err := s.tryHello(address, session.Hello{Room: room})
			if err == nil {
				conns = append(conns, c)
			}
			return err
		}
		for i := range 20 {
			err := join("203.0.113.7", fmt.Sprintf("r%d", i))
			if i >= DefaultRoomsPerAddress {
				err = refusedFor(err, session.Busy, "4 rooms")
			}
			if err != nil {
				t.Fatalf("room %d: %v", i, err)
			}
		}
		for _, c := range []struct{ address, room string }{
			{"203.0.113.7", ""}, {"203.0.113.7", "r0"}, {"203.0.113.8", "other"}, {"203.0.113.8", "r1"},
		} {
			if err := join(c.address, c.room); err != nil {
				t.Errorf("%s, room %q: %v", c.address, c.room, err)
			}
		}
		for _, c := range conns {
			end(c)
		}
		time.Sleep(time.Second)
		if n := len(s.Stats().Rooms); n != 0 {
			t.Errorf("%d rooms are open, in which nobody stayed", n)
		}
		// The rate: opening and leaving at once gains nothing.
		opened := 0
		for i := range 240 {
			c, err := s.tryHello("203.0.113.7", session.Hello{Room: fmt.Sprintf("s%d", i)})
			if err == nil {
				opened++
				end(c)
			}
			time.Sleep(500 * time.Millisecond)
		}
		if most := int(2*time.Minute/RoomRefill) + 1; opened < most-2 || opened > most {
			t.Errorf("%d rooms were opened in two minutes, want about %d", opened, most)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.opened) != 0 {
			t.Errorf("%v are still counted", s.opened)
		}
	})
}

// An account counts for itself wherever it comes from; so a school's players with tokens open their
// own rooms.
func TestRoomsPerAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer, login := newLogin(t)
		s := newStage(t, Config{Login: login, RoomsPerAddress: 1})
		defer s.end()
		for i, c := range []struct {
			account uint64
			address string
			in      bool
		}{{1, "203.0.113.7", true}, {2, "203.0.113.7", true}, {1, "203.0.113.9", false}, {0, "203.0.113.7", true},
			{0, "203.0.113.7", false}} {
			tok := issue(t, issuer, token.Grant{Player: c.account})
			conn, err := s.tryHello(c.address, session.Hello{Room: fmt.Sprintf("r%d", i), Token: tok})
			if err == nil {
				defer end(conn)
			} else if e := refusedFor(err, session.Busy, "1 rooms"); e != nil {
				t.Error(e)
			}
			if in := err == nil; in != c.in {
				t.Errorf("%d: account %d from %s: %v", i, c.account, c.address, err)
			}
		}
	})
}

// A room in which nobody stayed ends at once. One in which somebody stayed waits for the grace
// time, and bots play in it only while a person is there.
func TestRoomsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Bots: 3, Grace: time.Minute})
		defer s.end()
		bots := func(want int) {
			t.Helper()
			time.Sleep(lookEvery + time.Second)
			if st := s.Stats(); st.Bots != want || len(st.Rooms) != 1 {
				t.Errorf("%d bots in %d rooms, want %d in one", st.Bots, len(st.Rooms), want)
			}
		}
		end(s.greet(session.Hello{Room: "one"}))
		time.Sleep(100 * time.Millisecond)
		if st := s.Stats(); len(st.Rooms) != 0 || st.Closed != 1 {
			t.Errorf("%d rooms are open, %d closed", len(st.Rooms), st.Closed)
		}
		ann := s.join("ann", "two")
		bots(3)
		time.Sleep(Stay)
		ann.leave()
		<-ann.left
		bots(0)
		bob := s.join("bob", "two")
		bots(3)
		bob.leave() // briefly, where ann had stayed
		<-bob.left
		bots(0)
		time.Sleep(time.Minute)
		if st := s.Stats(); len(st.Rooms) != 0 {
			t.Errorf("%d rooms are open after the grace time", len(st.Rooms))
		}
		synctest.Wait()
		if st := s.Stats(); strings.Contains(s.log.String(), "could not join") {
			t.Errorf("%+v\n%s", st, s.log)
		}
	})
}

// One address fills a room only as long as nobody else wants in: then it keeps half of the places.
func TestShareOfARoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Players: 6})
		defer s.end()
		var conns []transport.Conn
		join := func(address string, in bool) {
			t.Helper()
			c, err := s.tryHello(address, session.Hello{})
			if err == nil {
				conns = append(conns, c)
				defer time.Sleep(100 * time.Millisecond)
			} else if e := refusedFor(err, session.RoomFull, "has its 6 players"); e != nil {
				t.Error(e)
			}
			if (err == nil) != in {
				t.Errorf("from %s: %v, want in: %v", address, err, in)
			}
		}
		for range 6 {
			join("203.0.113.7", true)
		}
		join("203.0.113.7", false)
		for i := range 3 {
			join(fmt.Sprintf("198.51.100.%d", i), true)
		}
		join("198.51.100.3", false)
		for i, c := range conns {
			if out := i >= 3 && i < 6; (c.Err() != nil) != out {
				t.Errorf("connection %d: %v, want out: %v", i, c.Err(), out)
			} else if out && !strings.Contains(c.Err().Error(), "come from your address") {
				t.Error(c.Err())
			}
		}
		for _, c := range conns {
			end(c)
		}
	})
}

// Whoever has done nothing for minutes makes place in a full room; whoever plays does not.
func TestIdlePlayersMakePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Players: 2})
		defer s.end()
		ann, bob := s.join("ann", ""), s.join("bob", "")
		bob.SetBot(nil) // sends commands that stay the same
		time.Sleep(IdleTime - 10*time.Second)
		if _, err := s.try("eve", "", nil); refusedFor(err, session.RoomFull, "has its 2 players") != nil {
			t.Errorf("before the time: %v", err)
		}
		time.Sleep(20 * time.Second)
		cat, err := s.try("cat", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := <-bob.left; refusedFor(err, session.Removed, "done nothing") != nil {
			t.Errorf("the idle player got %v", err)
		}
		if _, err := s.try("eve", "", nil); refusedFor(err, session.RoomFull, "has its 2 players") != nil {
			t.Errorf("nobody is idle any more: %v", err)
		}
		for _, g := range []*visitor{ann, cat} {
			if err := g.Conn().Err(); err != nil {
				t.Error(err)
			}
			g.leave()
			<-g.left
		}
	})
}

// A crowd of strangers does not put out who shows a valid token, nor who comes from the address of a
// player whose connection was lost.
func TestCrowdKeepsNoPlayerOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer, login := newLogin(t)
		gate := transport.NewGate(16, 16)
		s := newStage(t, Config{Login: login, Gate: gate})
		defer s.end()
		crowd := func() {
			for i := range 200 {
				v, ok := gate.Enter(fmt.Sprintf("198.18.%d.1:1", i))
				if !ok {
					t.Fatal("the gate is shut")
				}
				v.Ends(v.Leave)
			}
		}
		tok := func(player uint64) []byte { return issue(t, issuer, token.Grant{Player: player}) }
		first := s.greet(session.Hello{Token: tok(7)})
		go s.room(DefaultRoom).call(func() { time.Sleep(time.Second) }) // the others wait
		synctest.Wait()
		send := func(hello session.Hello) transport.Conn {
			hello.Schema = s.cfg.Rules.Hash
			b, err := hello.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			c := s.dial()
			if err := c.SendMessage(b); err != nil {
				t.Fatal(err)
			}
			return c
		}
		known := send(session.Hello{Token: tok(8)})
		silent := s.dial()
		synctest.Wait()
		crowd()
		if m, err := known.ReceiveMessage(t.Context()); err != nil || session.KindOf(m) != session.KindWelcome {
			t.Errorf("with a token: %x, %v", m, err)
		}
		if _, err := silent.ReceiveMessage(t.Context()); err == nil || !strings.Contains(err.Error(), transport.CrowdedOut) {
			t.Errorf("without a hello: %v", err)
		}
		end(known)
		end(first)

		s.away.all = "203.0.113.7:4433"
		roamer := s.roamWith("ann", nil, nil, tok(9))
		time.Sleep(5 * time.Second)
		roamer.conn.Load().dead.Store(true)
		roamer.conn.Load().Conn.Close("")
		synctest.Wait()
		put := false
		v, ok := gate.Enter("203.0.113.7:1")
		if !ok {
			t.Fatal("the gate is shut")
		}
		v.Ends(func() { put = true })
		crowd()
		if put {
			t.Error("a player who comes back was put out by strangers")
		}
		v.Leave()
		roamer.leave()
		<-roamer.left
	})
}
