package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/client"
	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/headless"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/session"
	"meanwhile/transport"
	"meanwhile/transport/memory"
)

// rules are those of the quickstart's game.
func rules(t testing.TB) *game.Rules {
	t.Helper()
	r, err := zap.Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A stage is a host that runs, with a listener in memory.
type stage struct {
	*Host
	t    testing.TB
	l    *memory.Listener
	log  *logBook
	stop context.CancelFunc
	done chan error
}

// logBook keeps log lines.
type logBook struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logBook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newStage starts a host. In a bubble of synctest, time is virtual. end must be called.
func newStage(t testing.TB, cfg Config) *stage {
	t.Helper()
	if cfg.Rules == nil {
		cfg.Rules = rules(t)
	}
	s := &stage{t: t, log: &logBook{}, done: make(chan error, 1)}
	cfg.Log = slog.New(slog.NewTextHandler(s.log, nil))
	cfg.NewBot = newBot
	if cfg.Seed == 0 {
		cfg.Seed = 1
	}
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.Host = h
	if s.l, err = memory.Listen(memory.Config{Client: h.Clock(), Server: h.Clock(), HelloTimeout: h.cfg.HelloTimeout}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	go func() { s.done <- h.Run(ctx, s.l) }()
	return s
}

// newBot plays bots as programs do.
func newBot(rules *game.Rules, welcome session.Welcome, now clock.Time) (Bot, error) {
	return headless.NewBot(rules, welcome, now)
}

func (s *stage) end() {
	s.t.Helper()
	s.stop()
	if err := <-s.done; err != nil {
		s.t.Errorf("Run: %v", err)
	}
	if s.t.Failed() {
		s.t.Log(s.log)
	}
}

func (s *stage) dial() transport.Conn {
	s.t.Helper()
	c, err := s.l.Dial()
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// A guest is a headless player that plays.
type visitor struct {
	*headless.Player
	leave context.CancelFunc
	left  chan error
}

// join brings in a player, played by the game's bot.
func (s *stage) join(name, room string) *visitor {
	s.t.Helper()
	g, err := s.try(name, room, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return g
}

func (s *stage) try(name, room string, tok []byte) (*visitor, error) {
	time.Sleep(3 * time.Millisecond) // or its frames would fall on the instants of ticks, and either could come first
	p, err := headless.Join(context.Background(), s.dial(), headless.Config{
		Rules: s.cfg.Rules, Clock: s.Clock(), Name: name, Room: room, Bot: s.cfg.Rules.Bot(), Token: tok,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	g := &visitor{p, cancel, make(chan error, 1)}
	go func() { g.left <- p.Run(ctx) }()
	return g, nil
}

// room returns an open room.
func (s *stage) room(name string) *room {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rooms[name]
	if r == nil {
		s.t.Fatalf("room %s is not open", name)
	}
	return r
}

// converged returns an error unless every guest holds exactly what the server says that it should see, and has taken
// it in; for worlds at rest.
func (s *stage) converged(room string, guests ...*visitor) (err error) {
	s.t.Helper()
	r := s.room(room)
	r.call(func() {
		h := r.srv.History()
		for i, g := range guests {
			g.Do(func(c *client.Client) {
				v := r.srv.View(g.ID())
				if v == nil || c.Me() == 0 {
					err = fmt.Errorf("guest %d is not in the world", i)
					return
				}
				if seen, _ := v.Count(); v.Unacked() || len(c.Store().Entities()) != seen {
					err = fmt.Errorf("guest %d holds %d entities of %d, unacknowledged: %v", i, len(c.Store().Entities()), seen, v.Unacked())
					return
				}
				for _, e := range c.Store().Entities() {
					at, ok := h.Find(e.ID)
					if !ok {
						err = fmt.Errorf("guest %d holds entity %d, which is gone", i, e.ID)
						return
					}
					for n := range e.Groups {
						st := e.Groups[n].Newest()
						if st == nil {
							continue
						}
						want, _ := h.Values(at, n, h.Tick(), nil)
						if n == snapshot.OwnerGroup {
							k := s.cfg.Rules.Kinds[e.Kind]
							for p := range k.Props {
								if q := &k.Props[p]; q.Audience == schema.Server || q.Audience == schema.Kept {
									clear(want[q.At : q.At+q.Comps])
								}
							}
						}
						if !slices.Equal(want, st.Vals) {
							err = fmt.Errorf("guest %d, entity %d, group %d: holds %v, the truth is %v", i, e.ID, n, st.Vals, want)
							return
						}
					}
				}
			})
		}
	})
	return err
}

// Two players and three bots play; then all stand still, and everybody holds the same world.
func TestPlay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Bots: 3})
		defer s.end()
		ann, bob := s.join("ann", ""), s.join("bob", "lobby")
		time.Sleep(5 * time.Second)
		st := s.Stats()
		if len(st.Rooms) != 1 || st.Rooms[0].Name != "lobby" || st.Players != 2 || st.Bots != 3 || st.Joined != 2 || st.Hellos != 2 || st.Greeting != 0 {
			t.Errorf("%+v", st)
		}
		if rate := st.Ticks; rate < 140 || rate > 155 {
			t.Errorf("%d ticks in 5 s at 30 Hz", rate)
		}
		if st.Drops.Malformed+st.Drops.Session+st.Drops.HostileAck+st.Displaced+st.Faults != 0 || st.Received < 4*5*25 || st.Sent < 4*5*10 {
			t.Errorf("%+v", st.Totals)
		}
		for _, g := range []*visitor{ann, bob} {
			g.Do(func(c *client.Client) {
				q := c.Stats()
				if q.Starved > 5 || q.Malformed+q.Foreign+q.NoBaseline != 0 || q.Bound > 20*time.Millisecond || zap.Pilots.Len(c.World()) != 5 {
					t.Errorf("%d pilots, %+v", zap.Pilots.Len(c.World()), q)
				}
			})
			g.SetBot(nil)
		}
		// The bots go, so that the world comes to rest.
		r := s.room("lobby")
		r.call(func() {
			for _, p := range slices.Clone(r.order) {
				if p.bot {
					r.drop(p, session.Refusal{Code: session.Removed, Text: "enough"})
				}
			}
		})
		time.Sleep(2 * time.Second)
		if err := s.converged("lobby", ann, bob); err != nil {
			t.Error(err)
		}
		ann.leave()
		if err := <-ann.left; err != nil {
			t.Error(err)
		}
		time.Sleep(100 * time.Millisecond)
		if st := s.Stats(); st.Left != 1 {
			t.Errorf("%+v", st.Totals)
		}
		r.call(func() {
			if r.srv.Players() != 1 || len(r.order) != 1 || r.humans != 1 {
				t.Errorf("%d players after one of two left", r.srv.Players())
			}
		})
		bob.leave()
		<-bob.left
	})
}

// When the host ends, players are told, and every goroutine ends: the bubble would report any that is left.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Bots: 2})
		ann := s.join("ann", "one")
		bob := s.join("bob", "two")
		mute := s.dial() // has said nothing yet
		time.Sleep(time.Second)
		s.end()
		for _, g := range []*visitor{ann, bob} {
			var refusal session.Refusal
			if err := <-g.left; !errors.As(err, &refusal) || refusal.Code != session.ShuttingDown {
				t.Errorf("a player was told %v", err)
			}
		}
		<-mute.Done()
		if err := mute.Err(); err == nil || !strings.Contains(err.Error(), "shutting down") {
			t.Errorf("a visitor was told %v", err)
		}
		st := s.Stats()
		if len(st.Rooms) != 0 || st.Opened != 2 || st.Closed != 2 || st.Failed != 0 || st.Joined != 2 || st.Left != 2 {
			t.Errorf("%+v", st)
		}
		if err := s.Run(context.Background()); err == nil {
			t.Error("Run twice")
		}
	})
}

// hello sends a first message and returns the refusal that comes back, with the reason of the close.
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

func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Rooms: 2, Players: 1})
		defer s.end()
		good := session.Hello{Schema: s.cfg.Rules.Hash, Name: "ann"}
		bytes := func(h session.Hello) []byte {
			b, err := h.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		version := bytes(good)
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
			{"other version", version, session.WrongVersion, "version 1 of the protocol, you speak version 9"},
			{"empty", nil, session.Malformed, "truncated"},
			{"rubbish", []byte("GET / HTTP/1.1\r\n\r\n"), session.Malformed, "kind"},
			{"cut short", bytes(good)[:20], session.Malformed, "truncated"},
			{"other rules", bytes(other), session.WrongSchema, "other rules of zap"},
			{"bad room", bytes(upper), session.NoRoom, `room "Lobby"`},
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
		if r, _ := s.hello(bytes(first)); r.Code != session.RoomFull {
			t.Errorf("one more in a full room: %+v", r)
		}
		if r, _ := s.hello(bytes(third)); r.Code != session.Busy || !strings.Contains(r.Text, "all 2 rooms") {
			t.Errorf("one more room: %+v", r)
		}
		if _, err := s.Room("three"); err == nil {
			t.Error("a third room is promised")
		}
		if name, err := s.Room("two"); err != nil || name != "two" {
			t.Errorf("the second room: %q, %v", name, err)
		}
		st := s.Stats()
		for code, want := range map[session.Code]uint64{session.Malformed: 3, session.WrongVersion: 1, session.WrongSchema: 1, session.NoRoom: 1, session.RoomFull: 1, session.Busy: 1} {
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

// A client that plays by other rules is told the first line that differs.
func TestSchemaDifference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{})
		defer s.end()
		mine := *s.cfg.Rules
		mine.Text = strings.Replace(mine.Text, "rate=30", "rate=60", 1)
		mine.Hash++
		_, err := headless.Join(context.Background(), s.dial(), headless.Config{Rules: &mine, Clock: s.Clock()})
		var refusal session.Refusal
		if !errors.As(err, &refusal) || refusal.Code != session.WrongSchema || !strings.Contains(err.Error(), "rate=30") {
			t.Error(err)
		}
	})
}

// A thousand connections that say nothing, or too much, cost no more than the gate lets in, and all of them end.
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
		// And then somebody who means it.
		g := s.join("ann", "")
		g.leave()
		<-g.left
	})
}

// A room lives as long as somebody is in it, and the grace time longer.
func TestGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Bots: 2, Grace: 10 * time.Second})
		defer s.end()
		g := s.join("ann", "")
		time.Sleep(30 * time.Second)
		first := s.room("lobby")
		g.leave()
		<-g.left
		time.Sleep(8 * time.Second)
		g = s.join("ann", "")
		time.Sleep(15 * time.Second)
		if s.room("lobby") != first {
			t.Error("the room did not wait for its player")
		}
		g.leave()
		<-g.left
		time.Sleep(12 * time.Second)
		if st := s.Stats(); len(st.Rooms) != 0 || st.Closed != 1 || st.Joined != 2 {
			t.Errorf("%+v", st)
		}
		g = s.join("ann", "")
		if s.room("lobby") == first {
			t.Error("a room that has ended came back")
		}
		g.leave()
		<-g.left
	})
}

// The same hello on two connections is one player: the newest wins.
func TestTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{})
		defer s.end()
		hello, err := session.Hello{Schema: s.cfg.Rules.Hash, Nonce: [session.KeySize]byte{7}}.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		first, second := s.dial(), s.dial()
		for _, c := range []transport.Conn{first, second} {
			if err := c.SendMessage(hello); err != nil {
				t.Fatal(err)
			}
			if m, err := c.ReceiveMessage(context.Background()); err != nil || session.KindOf(m) != session.KindWelcome {
				t.Fatalf("%x, %v", m, err)
			}
		}
		m, err := first.ReceiveMessage(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if r, err := session.DecodeRefusal(m); err != nil || r.Code != session.TakenOver {
			t.Errorf("%+v, %v", r, err)
		}
		<-first.Done()
		time.Sleep(2 * time.Second)
		if st := s.Stats(); st.Players != 1 || second.Err() != nil {
			t.Errorf("%d players, the second connection: %v", st.Players, second.Err())
		}
		second.Close("")
		<-second.Done()
	})
}

func TestTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		login, err := NewDevelopmentLogin()
		if err != nil {
			t.Fatal(err)
		}
		stranger, err := NewDevelopmentLogin()
		if err != nil {
			t.Fatal(err)
		}
		s := newStage(t, Config{Login: login})
		defer s.end()
		issue := func(l *Login, room string) []byte {
			b, err := l.Token("Ada", room)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		good := issue(login, "")
		for _, c := range []struct {
			name string
			b    []byte
			want string
		}{
			{"none", nil, "lets in only who brings"},
			{"a stranger's", issue(stranger, ""), "does not know"},
			{"for another room", issue(login, "cellar"), "another room"},
		} {
			_, err := s.try("eve", "lobby", c.b)
			var refusal session.Refusal
			if !errors.As(err, &refusal) || refusal.Code != session.BadToken || !strings.Contains(refusal.Text, c.want) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
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
		if _, err := s.try("eve", "lobby", good); err == nil || !strings.Contains(err.Error(), "used before") {
			t.Errorf("a token used twice: %v", err)
		}
		// The same hello may come on a second transport.
		hello, err := session.Hello{Schema: s.cfg.Rules.Hash, Nonce: [session.KeySize]byte{3}, Token: issue(login, "lobby")}.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if _, err := s.hello(hello); err != nil {
				t.Errorf("hello %d: %v", i, err)
			}
		}
		late := issue(login, "")
		g.leave()
		<-g.left
		time.Sleep(10 * time.Minute)
		if _, err := s.try("eve", "lobby", late); err == nil || !strings.Contains(err.Error(), "expired") {
			t.Errorf("an old token: %v", err)
		}
		var none *Login
		if _, err := none.Token("x", ""); !errors.Is(err, ErrNoIssuer) {
			t.Error(err)
		}
	})
}

// A player that floods displaces only its own datagrams; one that sends rubbish changes nothing; one that sends messages
// that nobody asked for is put out.
func TestHostilePlayers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{})
		defer s.end()
		ann := s.join("ann", "")
		hello, err := session.Hello{Schema: s.cfg.Rules.Hash}.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		eve := s.dial()
		if err := eve.SendMessage(hello); err != nil {
			t.Fatal(err)
		}
		if _, err := eve.ReceiveMessage(context.Background()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		before := s.Stats()
		for range 100 {
			for i := range 100 {
				eve.Send(slices.Repeat([]byte{byte(i)}, transport.MinDatagram+i))
			}
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(2 * time.Second)
		st := s.Stats()
		if st.Displaced < 8000 || st.Drops.Malformed+st.Drops.Session < 100 {
			t.Errorf("%+v", st.Totals)
		}
		ann.Do(func(c *client.Client) {
			if q := c.Stats(); q.Starved > 3 {
				t.Errorf("another player starved %d times", q.Starved)
			}
		})
		if st.Faults != before.Faults || st.Players != 2 {
			t.Errorf("%d players, %d faults", st.Players, st.Faults)
		}
		for range 2 * strayMessages {
			if err := eve.SendMessage([]byte("hello?")); err != nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		<-eve.Done()
		time.Sleep(time.Second + time.Millisecond)
		if st := s.Stats(); st.Players != 1 || st.StrayMessages <= strayMessages {
			t.Errorf("%d players, %d stray messages", st.Players, st.StrayMessages)
		}
		ann.leave()
		<-ann.left
	})
}

// A panic in Act is a fault of that command; a panic of the world itself ends that world alone.
func TestPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		def := zap.Game
		act := def.Act
		def.Act = func(w *game.World, me game.ID, c zap.Cmd) {
			if w.Tick() > 30 && w.Tick() < 90 {
				panic("as the test asked")
			}
			act(w, me, c)
		}
		r, err := def.Rules()
		if err != nil {
			t.Fatal(err)
		}
		s := newStage(t, Config{Rules: r, Bots: 3})
		defer s.end()
		ann, bob := s.join("ann", "one"), s.join("bob", "two")
		time.Sleep(7 * time.Second)
		st := s.Stats()
		if st.Faults < 50 || st.Failed != 0 || st.Players != 2 {
			t.Errorf("%+v", st)
		}
		if n := strings.Count(s.log.String(), "as the test asked"); n < 2 || n > 10 {
			t.Errorf("%d lines in the log on %d faults", n, st.Faults)
		}
		one := s.room("one")
		one.call(func() { one.srv.History().Begin(one.srv.Tick() + 1) }) // now the next tick cannot be recorded
		var refusal session.Refusal
		if err := <-ann.left; !errors.As(err, &refusal) || refusal.Code != session.InternalError {
			t.Errorf("ann was told %v", err)
		}
		time.Sleep(2 * time.Second)
		st = s.Stats()
		if st.Failed != 1 || st.Players != 1 || len(st.Rooms) != 1 || st.Rooms[0].Name != "two" {
			t.Errorf("%+v", st)
		}
		if !strings.Contains(s.log.String(), "begins after") {
			t.Error("the log does not say what happened")
		}
		ann = s.join("ann", "one") // a new world
		time.Sleep(time.Second)
		one = s.room("one")
		one.calls <- func() { // which fails between two ticks, while somebody waits to join
			time.Sleep(time.Second)
			panic("between two ticks")
		}
		if _, err := s.try("eve", "one", nil); err == nil || !strings.Contains(err.Error(), "has failed") {
			t.Errorf("eve was told %v", err)
		}
		synctest.Wait() // eve is told before the room is counted
		if st := s.Stats(); st.Failed != 2 {
			t.Errorf("%+v", st)
		}
		bob.leave()
		<-ann.left
		<-bob.left
	})
}

// Encoding may panic in a helper: that ends the room, not the process.
func TestEncodePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Bots: 40})
		defer s.end()
		ann := s.join("ann", "")
		time.Sleep(40 * botSpacing)
		r := s.room("lobby")
		r.call(func() { r.order[20].peer = &brittle{r.order[20].peer} })
		if err := <-ann.left; err == nil || !strings.Contains(err.Error(), "has failed") {
			t.Errorf("ann was told %v", err)
		}
	})
}

// A brittle peer panics when it is sent a datagram.
type brittle struct{ peer }

func (b *brittle) Send([]byte) { panic("as the test asked") }

// Nobody has to read a world's players from its history.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Bots: 3, Grace: 5 * time.Second})
		defer s.end()
		if _, err := s.Spectate(""); !errors.Is(err, ErrNoRoom) {
			t.Errorf("watching a room that is not open: %v", err)
		}
		ann := s.join("ann", "")
		time.Sleep(time.Second)
		w, err := s.Spectate("")
		if err != nil {
			t.Fatal(err)
		}
		var last clock.Tick
		n, start := 0, time.Now()
		for time.Since(start) < time.Second {
			truth, err := w.Next(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			n++
			if truth.Tick <= last || len(truth.Avatars) != 4 {
				t.Fatalf("after tick %d: %+v", last, truth)
			}
			last = truth.Tick
			for _, a := range truth.Avatars {
				if a.ID == 0 || a.At.X < 0 || a.At.X > 40 || a.At.Y < 0 || a.At.Y > 24 {
					t.Fatalf("%+v", truth)
				}
			}
		}
		if n < 28 || n > 32 {
			t.Errorf("%d truths in a second", n)
		}
		for range maxSpectators - 1 {
			if _, err := s.Spectate("lobby"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Spectate("lobby"); !errors.Is(err, ErrTooManySpectators) {
			t.Errorf("one too many: %v", err)
		}
		w.Close()
		if w, err = s.Spectate("lobby"); err != nil {
			t.Error(err)
		}
		ann.leave()
		<-ann.left
		for err == nil {
			_, err = w.Next(context.Background())
		}
		if !errors.Is(err, ErrNoRoom) {
			t.Error(err)
		}
		w.Close()
	})
}

func TestConfig(t *testing.T) {
	r := rules(t)
	mute := zap.Game
	mute.Bot = nil
	muteRules, err := mute.Rules()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, "Rules must be set"},
		{Config{Rules: r, Rooms: -1}, "Rooms -1 is outside [1, 4096]"},
		{Config{Rules: r, Rooms: 5000}, "Rooms 5000"},
		{Config{Rules: r, Bots: -1}, "Bots -1"},
		{Config{Rules: r, Bots: 2000}, "Bots 2000"},
		{Config{Rules: r, Players: -1}, "Players -1"},
		{Config{Rules: r, Players: 4000, Bots: 100}, "Players 4000 is outside [1, 3996]"},
		{Config{Rules: r, Grace: -1}, "Grace -1ns"},
		{Config{Rules: r, Room: "a b"}, `room "a b"`},
		{Config{Rules: r, Budget: 5}, "Budget 5"},
		{Config{Rules: muteRules, Bots: 1}, "game zap has no bot"},
		{Config{Rules: r, Bots: 1}, "Bots is 1 and NewBot is not set"},
	} {
		if _, err := New(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.want, err)
		}
	}
	for name, ok := range map[string]bool{"": false, "a": true, "room-1": true, "A": false, "a/b": false, "..": false, "é": false, strings.Repeat("x", 64): true, strings.Repeat("x", 65): false} {
		if err := CheckRoom(name); (err == nil) != ok {
			t.Errorf("room %q: %v", name, err)
		}
	}
}

func TestBotNames(t *testing.T) {
	seen := map[string]bool{}
	for i := range 100 {
		name := botName("lobby", i)
		if seen[name] || len(name) > session.MaxName {
			t.Errorf("bot %d is called %q", i, name)
		}
		seen[name] = true
	}
	if botName("a", 0) == botName("b", 0) && botName("a", 0) == botName("c", 0) {
		t.Error("the first bot is called the same everywhere")
	}
}
