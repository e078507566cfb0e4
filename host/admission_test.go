package host

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/headless"
	"meanwhile/session"
	"meanwhile/session/token"
	"meanwhile/transport"
)

// hello sends a first message and returns the refusal that comes back, with the reason of the
// close.
func (s *stage) hello(message []byte) (session.Refusal, error) {
	s.t.Helper()
	c := s.dial()
	if err := c.SendMessage(message); err != nil {
		s.t.Fatal(err)
	}
	m, err := c.ReceiveMessage(context.Background())
	if err != nil {
		return session.Refusal{}, err
	}
	if session.KindOf(m) == session.KindWelcome {
		c.Close("")
		return session.Refusal{}, nil
	}
	r, err := session.DecodeRefusal(m)
	if err != nil {
		s.t.Fatal(err)
	}
	<-c.Done()
	if err := c.Err(); !strings.Contains(err.Error(), reason(r)) {
		s.t.Errorf("refused with %q, closed with %v", reason(r), err)
	}
	return r, r
}

// Each hello that cannot be admitted is refused with its code and a sentence, and counted by code.
func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Rooms: 2, Players: 1})
		defer s.end()
		good := session.Hello{Schema: s.cfg.Rules.Hash, Name: "ann"}
		encode := func(h session.Hello) []byte {
			b, err := h.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		version := encode(good)
		version[1] = 9
		other, upper := good, good
		other.Schema++
		upper.Room = "Lobby"
		first, second, third := good, good, good
		first.Room, second.Room, third.Room = "one", "two", "three"
		var stay []*visitor
		for _, c := range []struct {
			name string
			b    []byte
			code session.Code
			text string
		}{
			{"other version", version, session.WrongVersion, "version 4 of the protocol, you speak version 9"},
			{"empty", nil, session.Malformed, "truncated"},
			{"rubbish", []byte("GET / HTTP/1.1\r\n\r\n"), session.Malformed, "kind"},
			{"cut short", encode(good)[:20], session.Malformed, "truncated"},
			{"other rules", encode(other), session.WrongSchema, "other rules of zap"},
			{"bad room", encode(upper), session.NoRoom, `room "Lobby"`},
		} {
			r, _ := s.hello(c.b)
			if r.Code != c.code || !strings.Contains(r.Text, c.text) {
				t.Errorf("%s: %+v", c.name, r)
			}
			if c.code == session.WrongSchema && r.SchemaText != s.cfg.Rules.Text {
				t.Errorf("the server's schema is %q, sent %q", s.cfg.Rules.Text, r.SchemaText)
			}
		}
		if n := len(s.Stats().Rooms); n != 0 {
			t.Errorf("%d rooms were opened for players that were refused", n)
		}
		for _, room := range []string{"one", "two"} {
			stay = append(stay, s.join("ann", room))
		}
		if r, _ := s.hello(encode(first)); r.Code != session.RoomFull {
			t.Errorf("one more in a full room: %+v", r)
		}
		if r, _ := s.hello(encode(third)); r.Code != session.Busy || !strings.Contains(r.Text, "all 2 rooms") {
			t.Errorf("one more room: %+v", r)
		}
		if _, err := s.Room("three"); err == nil {
			t.Error("a third room is promised")
		}
		if name, err := s.Room("two"); err != nil || name != "two" {
			t.Errorf("the second room: %q, %v", name, err)
		}
		st := s.Stats()
		for code, want := range map[session.Code]uint64{
			session.Malformed: 3, session.WrongVersion: 1, session.WrongSchema: 1, session.NoRoom: 1,
			session.RoomFull: 1, session.Busy: 1,
		} {
			if st.Refused[code] != want {
				t.Errorf("%v was counted %d times, want %d", code, st.Refused[code], want)
			}
		}
		for _, g := range stay {
			g.leave()
			<-g.left
		}
	})
}

// A client that plays by other rules learns the first line that differs.
func TestSchemaDifference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{})
		defer s.end()
		mine := *s.cfg.Rules
		mine.Text = strings.Replace(mine.Text, "rate=30", "rate=60", 1)
		mine.Hash++
		_, err := headless.Join(context.Background(), s.dial(), headless.Config{Rules: &mine, Clock: s.Clock()})
		var refusal session.Refusal
		if !errors.As(err, &refusal) || refusal.Code != session.WrongSchema ||
			!strings.Contains(err.Error(), "rate=30") {
			t.Error(err)
		}
	})
}

// Of a thousand connections that send no hello, or too large a message, the host greets no more at
// once than the gate admits, and all of them end.
func TestHelloFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{HelloTimeout: 3 * time.Second})
		defer s.end()
		inside, most := 0, 0
		var conns []transport.Conn
		for i := range 1000 {
			c, err := s.l.Dial()
			if err != nil {
				continue
			}
			inside++
			conns = append(conns, c)
			if i%2 == 0 {
				_ = c.SendMessage(make([]byte, transport.MaxEarlyMessage+1))
			}
			if i%16 == 0 {
				synctest.Wait()
				most = max(most, s.Stats().Greeting)
			}
		}
		if most > transport.MaxVisitors {
			t.Errorf("%d of %d greeted at once, more than %d", most, inside, transport.MaxVisitors)
		}
		time.Sleep(3*time.Second + transport.Linger + time.Second)
		for _, c := range conns {
			<-c.Done()
		}
		if st := s.Stats(); st.Greeting != 0 || len(st.Rooms) != 0 || st.Hellos != 0 {
			t.Errorf("%+v", st)
		}
		// Afterwards a player still gets in.
		g := s.join("ann", "")
		g.leave()
		<-g.left
	})
}

// One player who joins on two connections is one player: the newest connection wins. The same nonce
// says so for a client that tries two transports at once, the same account of a token for
// everybody.
func TestTakenOver(t *testing.T) {
	const account = 7
	issuer, login := newLogin(t)
	for _, c := range []struct {
		name   string
		login  *Login
		hellos [2]session.Hello
		same   bool
	}{
		{"one nonce", nil, [2]session.Hello{{Nonce: [session.KeySize]byte{7}}, {Nonce: [session.KeySize]byte{7}}},
			true},
		{"two nonces", nil, [2]session.Hello{{Nonce: [session.KeySize]byte{7}}, {Nonce: [session.KeySize]byte{8}}},
			false},
		{"no nonce", nil, [2]session.Hello{}, false},
		{"one account", login, [2]session.Hello{
			{Nonce: [session.KeySize]byte{1}, Token: issue(t, issuer, token.Grant{Player: account})},
			{Nonce: [session.KeySize]byte{2}, Token: issue(t, issuer, token.Grant{Player: account})},
		}, true},
		{"two accounts", login, [2]session.Hello{
			{Nonce: [session.KeySize]byte{1}, Token: issue(t, issuer, token.Grant{Player: account})},
			{Nonce: [session.KeySize]byte{2}, Token: issue(t, issuer, token.Grant{Player: account + 1})},
		}, false},
		{"two guests with tokens", login, [2]session.Hello{
			{Nonce: [session.KeySize]byte{1}, Token: issue(t, issuer, token.Grant{})},
			{Nonce: [session.KeySize]byte{2}, Token: issue(t, issuer, token.Grant{})},
		}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, Config{Login: c.login})
			defer s.end()
			var conns [2]transport.Conn
			for i, hello := range c.hellos {
				conns[i] = s.greet(hello)
			}
			if c.same {
				m, err := conns[0].ReceiveMessage(t.Context())
				if err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
				if r, err := session.DecodeRefusal(m); err != nil || r.Code != session.TakenOver {
					t.Errorf("%s: the first connection got %+v, %v", c.name, r, err)
				}
				<-conns[0].Done()
			}
			time.Sleep(2 * time.Second)
			if n, same := s.Stats().Players, conns[0].Err() != nil; same != c.same || n == 1 != c.same {
				t.Errorf("%s: %d players, the first connection says %v", c.name, n, conns[0].Err())
			}
			if err := conns[1].Err(); err != nil {
				t.Errorf("%s: the second connection ended: %v", c.name, err)
			}
			for _, conn := range conns {
				conn.Close("")
				<-conn.Done()
			}
		})
	}
}

// greet joins with a hello and expects a welcome.
func (s *stage) greet(hello session.Hello) transport.Conn {
	s.t.Helper()
	hello.Schema = s.cfg.Rules.Hash
	b, err := hello.Append(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	c := s.dial()
	if err := c.SendMessage(b); err != nil {
		s.t.Fatal(err)
	}
	m, err := c.ReceiveMessage(context.Background())
	if err != nil || session.KindOf(m) != session.KindWelcome {
		s.t.Fatalf("got %x, %v; want a welcome", m, err)
	}
	return c
}

// newLogin returns a Login and the issuer whose tokens it accepts.
func newLogin(t *testing.T) (*token.Issuer, *Login) {
	t.Helper()
	issuer, err := token.NewIssuer(bytes.Repeat([]byte{1}, ed25519.SeedSize), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	login, err := NewLogin("", issuer.PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	return issuer, login
}

// bubbleStart is the instant at which every bubble of synctest begins.
var bubbleStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// issue returns a token for g that is valid at the beginning of a bubble.
func issue(t *testing.T, issuer *token.Issuer, g token.Grant) []byte {
	t.Helper()
	b, err := issuer.Issue(g, bubbleStart, token.DefaultLifetime)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A token admits once, into the rooms it names, under its name, until it expires.
func TestTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer, login := newLogin(t)
		stranger, err := token.NewIssuer(bytes.Repeat([]byte{2}, ed25519.SeedSize), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		s := newStage(t, Config{Login: login})
		defer s.end()
		refusedAs := func(what string, tok []byte, code session.Code, want string) {
			t.Helper()
			_, err := s.try("eve", "lobby", tok)
			var refusal session.Refusal
			if !errors.As(err, &refusal) || refusal.Code != code || !strings.Contains(refusal.Text, want) {
				t.Errorf("%s: %v", what, err)
			}
		}
		refused := func(what string, tok []byte, want string) {
			t.Helper()
			refusedAs(what, tok, session.BadToken, want)
		}
		good := issue(t, issuer, token.Grant{Name: "Ada"})
		refusedAs("no token", nil, session.NoToken, "needs a login")
		refused("a stranger's", issue(t, stranger, token.Grant{}), "not valid here")
		refused("for another room", issue(t, issuer, token.Grant{Room: "cellar"}), "another room")
		g, err := s.try("eve", "lobby", good)
		if err != nil {
			t.Fatal(err)
		}
		r := s.room("lobby")
		r.call(func() {
			if name := r.order[0].name; name != "Ada" {
				t.Errorf("the player is called %q, the token says Ada", name)
			}
		})
		refused("a second time, in another hello", good, "used before")
		late := issue(t, issuer, token.Grant{})
		g.leave()
		<-g.left
		time.Sleep(10 * time.Minute)
		refused("too late", late, "has expired")
	})
}

// While a player is on its way in, its token is good for the same hello on other transports alone.
// It is used once the player is in, and not if the player was refused.
func TestTokenOnItsWay(t *testing.T) { synctest.Test(t, testTokenOnItsWay) }

func testTokenOnItsWay(t *testing.T) {
	issuer, l := newLogin(t)
	hello := func(tok []byte, nonce byte) *session.Hello {
		return &session.Hello{Room: "lobby", Token: tok, Nonce: [session.KeySize]byte{nonce}}
	}
	tok := issue(t, issuer, token.Grant{})
	try := func(nonce byte, want error) (settle func(bool)) {
		t.Helper()
		_, settle, err := l.check(hello(tok, nonce))
		if !errors.Is(err, want) {
			t.Fatalf("a hello with nonce %d: %v, want %v", nonce, err, want)
		}
		return settle
	}
	for range 2 {
		settles := []func(bool){try(1, nil)}
		try(2, token.ErrSpent)
		for range maxEntering - 1 {
			settles = append(settles, try(1, nil))
		}
		try(1, token.ErrSpent) // too many at once
		for _, settle := range settles {
			settle(false)
		}
	}
	a, b := try(2, nil), try(2, nil) // nobody got in before
	a(true)
	try(1, token.ErrSpent)
	b(true)
	if len(l.order) != 1 || len(l.entering) != 0 {
		t.Errorf("%d tokens can come again, %d are on their way", len(l.order), len(l.entering))
	}
	try(2, nil)(true) // its welcome was lost
	first := tok
	for range repeatableTokens {
		tok = issue(t, issuer, token.Grant{})
		try(3, nil)(true)
	}
	if len(l.order) != repeatableTokens || len(l.usedBy) != repeatableTokens {
		t.Errorf("%d and %d tokens can come again, want %d", len(l.order), len(l.usedBy), repeatableTokens)
	}
	try(3, nil)(true) // the newest one
	tok = first
	try(2, token.ErrSpent) // too many were used since
}

// A token may come a second time in the same hello, on another transport. Hellos without a nonce
// are never the same: a stranger who overheard the token could have written one.
func TestTokenInTwoHellos(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer, login := newLogin(t)
		s := newStage(t, Config{Login: login})
		defer s.end()
		for _, c := range []struct {
			name   string
			nonces [2][session.KeySize]byte
			code   session.Code // of the second hello; 0 is a welcome
		}{
			{"the same nonce", [2][session.KeySize]byte{{3}, {3}}, 0},
			{"another nonce", [2][session.KeySize]byte{{3}, {4}}, session.BadToken},
			{"no nonce", [2][session.KeySize]byte{}, session.BadToken},
		} {
			tok := issue(t, issuer, token.Grant{Room: "lobby"})
			for i, nonce := range c.nonces {
				b, err := session.Hello{Schema: s.cfg.Rules.Hash, Nonce: nonce, Token: tok}.Append(nil)
				if err != nil {
					t.Fatal(err)
				}
				want := session.Code(0)
				if i == 1 {
					want = c.code
				}
				if r, _ := s.hello(b); r.Code != want {
					t.Errorf("%s: hello %d got %q, want %q", c.name, i, r.Code, want)
				}
			}
		}
	})
}

// A room admits exactly as many humans as it is made for, even while its bots are still to come:
// their places are not for humans.
func TestPlacesOfBotsStayTheirs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Players: 2, Bots: 3})
		defer s.end()
		hello := session.Hello{Nonce: [session.KeySize]byte{1}}
		first := s.greet(hello)
		hello.Nonce[0]++
		second := s.greet(hello)
		hello.Nonce[0]++
		hello.Schema = s.cfg.Rules.Hash
		b, err := hello.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if r, _ := s.hello(b); r.Code != session.RoomFull || !strings.Contains(r.Text, "has its 2 players") {
			t.Errorf("the third of two players got %+v", r)
		}
		time.Sleep(2 * time.Second)
		if st := s.Stats(); st.Players != 2 || st.Bots != 3 {
			t.Errorf("%d players and %d bots, want 2 and 3", st.Players, st.Bots)
		}
		for _, c := range []transport.Conn{first, second} {
			c.Close("")
			<-c.Done()
		}
	})
}

// The default room stays joinable when all rooms are taken: a stranger who opens rooms of any name
// cannot keep others out.
func TestDefaultRoomStaysOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Rooms: 1})
		defer s.end()
		ann := s.join("ann", "one")
		_, err := s.try("eve", "two", nil)
		var refusal session.Refusal
		if !errors.As(err, &refusal) || refusal.Code != session.Busy {
			t.Errorf("a second room: %v", err)
		}
		if name, err := s.Room(""); err != nil || name != DefaultRoom {
			t.Errorf("the page is sent to room %q, %v", name, err)
		}
		bob, err := s.try("bob", "", nil)
		if err != nil {
			t.Fatalf("the default room: %v", err)
		}
		if n := len(s.Stats().Rooms); n != 2 {
			t.Errorf("%d rooms are open, want one and the default room", n)
		}
		for _, g := range []*visitor{ann, bob} {
			g.leave()
			<-g.left
		}
	})
}

// Players from one address are bounded, also once they are admitted; those of this machine are not.
func TestPlayersPerAddress(t *testing.T) {
	h, err := New(Config{Rules: rules(t), PlayersPerAddress: 2})
	if err != nil {
		t.Fatal(err)
	}
	var counted []netip.Addr
	for i, c := range []struct {
		remote string
		in     bool
	}{
		{"203.0.113.9:1", true}, {"203.0.113.9:2", true}, {"203.0.113.9:3", false},
		{"[::ffff:203.0.113.9]:4", false}, {"203.0.113.10:1", true},
		{"[2001:db8::1]:1", true}, {"[2001:db8::2]:1", true}, {"[2001:db8::3]:1", false},
		{"127.0.0.1:1", true}, {"127.0.0.1:2", true}, {"127.0.0.1:3", true},
		{"memory:1", true}, {"memory:2", true}, {"memory:3", true},
	} {
		from := address(c.remote)
		err := h.count(from, true)
		var refusal session.Refusal
		if in := err == nil; in != c.in || !in && (!errors.As(err, &refusal) || refusal.Code != session.Busy) {
			t.Errorf("%d: %s: %v, want in: %v", i, c.remote, err, c.in)
		}
		if err == nil {
			counted = append(counted, from)
		}
	}
	for _, from := range counted {
		h.uncount(from)
	}
	if len(h.from) != 0 {
		t.Errorf("%v are still counted", h.from)
	}
}
