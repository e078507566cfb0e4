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

// rules returns the rules of the quickstart's game.
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
	away *elsewhere // gives connections addresses
	log  *logBook
	stop context.CancelFunc
	done chan error
}

// A logBook keeps log lines.
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

// newStage starts a host. In a bubble of synctest its time is virtual. The test must call end.
func newStage(t testing.TB, cfg Config) *stage {
	t.Helper()
	if cfg.Rules == nil {
		cfg.Rules = rules(t)
	}
	s := &stage{t: t, log: &logBook{}, done: make(chan error, 1)}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.NewTextHandler(s.log, nil))
	}
	cfg.NewBot = newBot
	if cfg.Seed == 0 {
		cfg.Seed = 1
	}
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.Host = h
	l := memory.Config{Client: h.Clock(), Server: h.Clock(), HelloTimeout: h.cfg.HelloTimeout, Gate: cfg.Gate}
	if s.l, err = memory.Listen(l); err != nil {
		t.Fatal(err)
	}
	s.away = &elsewhere{Listener: s.l, from: make(chan string, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	go func() { s.done <- h.Run(ctx, s.away) }()
	return s
}

// newBot plays bots as programs do.
func newBot(rules *game.Rules, welcome session.Welcome, now clock.Time) (Bot, error) {
	return headless.NewBot(rules, welcome, now, nil)
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

// A visitor is a headless player that runs.
type visitor struct {
	*headless.Player
	leave context.CancelFunc
	left  chan error
}

// join adds a player, played by the game's bot.
func (s *stage) join(name, room string) *visitor {
	s.t.Helper()
	g, err := s.try(name, room, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return g
}

func (s *stage) try(name, room string, tok []byte) (*visitor, error) {
	var issued func(context.Context) ([]byte, error)
	if tok != nil {
		issued = func(context.Context) ([]byte, error) { return tok, nil }
	}
	time.Sleep(3 * time.Millisecond) // or its frames would fall on the instants of ticks, and either could come first
	p, err := headless.Join(context.Background(), s.dial(), headless.Config{
		Rules: s.cfg.Rules, Clock: s.Clock(), Name: name, Room: room, Bot: s.cfg.Rules.Bot(), Token: issued,
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

// converged returns an error unless every guest has exactly the state that it should see, and has
// acknowledged it. The world must be at rest.
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
					err = fmt.Errorf("guest %d has %d entities of %d, unacknowledged: %v", i,
						len(c.Store().Entities()), seen, v.Unacked())
					return
				}
				for _, e := range c.Store().Entities() {
					at, ok := h.Find(e.ID)
					if !ok {
						err = fmt.Errorf("guest %d has entity %d, which is gone", i, e.ID)
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
						schema.Coarsen(s.cfg.Rules.Kinds[e.Kind], n, int(st.Level), want)
						if !slices.Equal(want, st.Vals) {
							err = fmt.Errorf("guest %d, entity %d, group %d: has %v, the server has %v", i, e.ID, n,
								st.Vals, want)
							return
						}
					}
				}
			})
		}
	})
	return err
}

// Two players and three bots play; then all stand still, and all have the same world.
func TestPlay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Bots: 3})
		defer s.end()
		ann, bob := s.join("ann", ""), s.join("bob", "lobby")
		time.Sleep(5 * time.Second)
		st := s.Stats()
		if len(st.Rooms) != 1 || st.Rooms[0].Name != "lobby" || st.Players != 2 || st.Bots != 3 || st.Joined != 2 ||
			st.Hellos != 2 || st.Greeting != 0 {
			t.Errorf("%+v", st)
		}
		if rate := st.Ticks; rate < 140 || rate > 155 {
			t.Errorf("%d ticks in 5 s at 30 Hz", rate)
		}
		if st.Drops.Malformed+st.Drops.HostileAck+st.Displaced+st.Faults != 0 ||
			st.Received < 4*5*25 || st.Sent < 4*5*10 {
			t.Errorf("%+v", st.Totals)
		}
		for _, g := range []*visitor{ann, bob} {
			g.Do(func(c *client.Client) {
				q := c.Stats()
				if q.Starved > 5 || q.Malformed+q.NoBaseline != 0 || q.Bound > 20*time.Millisecond ||
					zap.Pilots.Len(c.World()) != 5 {
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
					r.sendAway(p, session.Refusal{Code: session.Removed, Text: "enough"})
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
			if r.srv.Clients() != 1 || len(r.order) != 1 || r.humans != 1 {
				t.Errorf("%d players after one of two left", r.srv.Clients())
			}
		})
		bob.leave()
		<-bob.left
	})
}

// When the host ends, players get a refusal, and every goroutine ends: the bubble would report any
// that is left.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Bots: 2})
		ann := s.join("ann", "one")
		bob := s.join("bob", "two")
		mute := s.dial() // has sent nothing yet
		time.Sleep(time.Second)
		s.end()
		for _, g := range []*visitor{ann, bob} {
			var refusal session.Refusal
			if err := <-g.left; !errors.As(err, &refusal) || refusal.Code != session.ShuttingDown {
				t.Errorf("a player got %v", err)
			}
		}
		<-mute.Done()
		if err := mute.Err(); err == nil || !strings.Contains(err.Error(), "shutting down") {
			t.Errorf("a visitor's connection says %v", err)
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

// A room stays open while a human is in it, and for the grace time afterwards.
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
		synctest.Wait() // the log is written behind the host
		if n := strings.Count(s.log.String(), "as the test asked"); n < 2 || n > 10 {
			t.Errorf("%d lines in the log on %d faults", n, st.Faults)
		}
		one := s.room("one")
		one.call(func() { one.srv.History().Begin(one.srv.Tick() + 1) }) // now the next tick cannot be recorded
		var refusal session.Refusal
		if err := <-ann.left; !errors.As(err, &refusal) || refusal.Code != session.InternalError {
			t.Errorf("ann got %v", err)
		}
		time.Sleep(2 * time.Second)
		st = s.Stats()
		if st.Failed != 1 || st.Players != 1 || len(st.Rooms) != 1 || st.Rooms[0].Name != "two" {
			t.Errorf("%+v", st)
		}
		synctest.Wait()
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
			t.Errorf("eve got %v", err)
		}
		synctest.Wait() // eve gets her answer before the room is counted
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
			t.Errorf("ann got %v", err)
		}
	})
}

// A brittle peer panics when it is sent a datagram.
type brittle struct{ peer }

func (b *brittle) Send([]byte) { panic("as the test asked") }

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
		{Config{Rules: r, Players: 1 << 14, Bots: 100}, "is outside [1, 16284]"},
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
	for name, ok := range map[string]bool{
		"": false, "a": true, "room-1": true, "A": false, "a/b": false, "..": false, "é": false,
		strings.Repeat("x", 64): true, strings.Repeat("x", 65): false,
	} {
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
