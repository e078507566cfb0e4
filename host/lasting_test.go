package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/game"
	"meanwhile/game/saved"
	"meanwhile/geom"
	"meanwhile/headless"
	"meanwhile/session"
	"meanwhile/transport"
)

// A shelf is a store in memory, which fails and dawdles as a test likes.
type shelf struct {
	mu      sync.Mutex
	records map[string][]byte
	fail    error         // of Load and Save
	dawdle  time.Duration // of both
	saves   int           // that were tried
	most    int           // records in one
}

func (s *shelf) Load(ctx context.Context, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records[key], s.fail
}

func (s *shelf) Save(ctx context.Context, records map[string][]byte) error {
	s.mu.Lock()
	dawdle := s.dawdle
	s.mu.Unlock()
	time.Sleep(dawdle)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saves++
	if s.fail != nil {
		return s.fail
	}
	s.most = max(s.most, len(records))
	if s.records == nil {
		s.records = map[string][]byte{}
	}
	maps.Copy(s.records, records)
	return nil
}

func (s *shelf) set(f func(s *shelf)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

// count returns how many records there are, and how many were stored together at most.
func (s *shelf) count() (records, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.records), s.most
}

func (s *shelf) get(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.records[key])
}

// Rules of a game in which a player gains a coin at each join, each tick and each leave.
type (
	purse struct {
		Version int
		Joins   int
		Ticks   int
		Leaves  int
	}
	ledger struct{ Ticks, Rich int }
	miner  struct {
		Pos geom.Vec2 `net:"pos,1m"`
	}
	nothing struct {
		On bool `net:"bool"`
	}
)

func miners(t testing.TB) (rules *game.Rules, bankrupt func()) {
	t.Helper()
	purses, ledgers := saved.ForPlayers[purse](), saved.ForRooms[ledger]()
	kind := game.NewKind[miner]("miner")
	ruin := false
	d := game.Definition[nothing]{Name: "mine", Rate: 10, Kinds: game.Kinds(kind), Saved: saved.List(purses, ledgers),
		Join: func(w *game.World, name string) game.ID {
			p := purses.Of(w, 0)
			if p.Version < 2 {
				p.Version = 2
			}
			p.Joins++
			return kind.Spawn(w, miner{})
		},
		Leave: func(w *game.World, me game.ID) {
			purses.Of(w, me).Leaves++
			w.Despawn(me)
		},
		Act: func(w *game.World, me game.ID, c nothing) {},
		Referee: func(w *game.World) {
			ledgers.Of(w).Ticks++
			for id := range kind.All(w) {
				purses.Of(w, id).Ticks++
				if purses.Lasts(w, id) {
					ledgers.Of(w).Rich++
				}
			}
			if ruin {
				panic("bankrupt")
			}
		},
		Bot: func(w *game.World, me game.ID) nothing { return nothing{} },
	}
	r, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return r, func() { ruin = true }
}

func (s *stage) enter(name, room string, key byte) *visitor {
	s.t.Helper()
	time.Sleep(3 * time.Millisecond)
	p, err := headless.Join(context.Background(), s.dial(), headless.Config{Rules: s.cfg.Rules, Clock: s.Clock(),
		Name: name, Room: room, Guest: [session.KeySize]byte{key}})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	g := &visitor{p, cancel, make(chan error, 1)}
	go func() { g.left <- p.Run(ctx) }()
	return g
}

func (s *shelf) purse(t *testing.T, key byte) (p purse) {
	t.Helper()
	b := s.get(playerKey("mine", 0, [session.KeySize]byte{key}))
	if b == "" {
		return purse{}
	}
	if err := json.Unmarshal([]byte(b), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// A player's record comes back with the player, in another room and after the host has ended;
// Join sees it, and what Leave wrote is in it. The room's record comes back with the room. Only
// players with a key have a record that lasts.
func TestRecordsLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shelf{}
		rules, _ := miners(t)
		s := newStage(t, Config{Rules: rules, Store: store})
		ann, bob := s.enter("ann", "", 1), s.enter("bob", "", 0)
		time.Sleep(2 * time.Second)
		ann.leave()
		<-ann.left
		time.Sleep(200 * time.Millisecond)
		first := store.purse(t, 1)
		if first.Version != 2 || first.Joins != 1 || first.Leaves != 1 || first.Ticks < 18 || first.Ticks > 22 {
			t.Errorf("after two seconds of play ann's record is %+v", first)
		}
		ann = s.enter("ann", "other", 1)
		time.Sleep(time.Second)
		s.end()
		<-ann.left
		<-bob.left
		second := store.purse(t, 1)
		if second.Joins != 2 || second.Leaves != 2 || second.Ticks < first.Ticks+8 {
			t.Errorf("after another second in another room it is %+v, was %+v", second, first)
		}
		lobby := store.get("mine/room/lobby")
		if n, _ := store.count(); n != 3 || !strings.Contains(lobby, `"Ticks":3`) {
			t.Errorf("stored are %d records, the lobby's is %s", n, lobby)
		}

		s = newStage(t, Config{Rules: rules, Store: store})
		ann = s.enter("ann", "", 1)
		time.Sleep(defaultSaveEvery + time.Second)
		if p := store.purse(t, 1); p.Joins != 3 || p.Ticks < second.Ticks+40 {
			t.Errorf("after a new start and %v without a leave it is %+v, was %+v", defaultSaveEvery, p, second)
		}
		if n := s.Stats().Records; n.Loaded != 2 || n.Saved == 0 || n.Waiting != 0 {
			t.Errorf("counted %+v", n)
		}
		s.end()
		<-ann.left
	})
}

// A player who joins again elsewhere takes its record along: the older one is sent away first, and
// nothing is doubled or lost. In the same room it goes on with its avatar.
func TestNewestConnectionTakesTheRecord(t *testing.T) {
	for _, room := range []string{"lobby", "other"} {
		synctest.Test(t, func(t *testing.T) {
			store := &shelf{dawdle: 300 * time.Millisecond}
			rules, _ := miners(t)
			s := newStage(t, Config{Rules: rules, Store: store})
			old := s.enter("ann", "lobby", 1)
			time.Sleep(2 * time.Second)
			ann := s.enter("ann", room, 1)
			var err error
			select {
			case err = <-old.left:
			case <-time.After(10 * time.Second):
			}
			var why session.Refusal
			if !errors.As(err, &why) || why.Code != session.TakenOver {
				t.Errorf("the older one left with %v", err)
			}
			time.Sleep(time.Second)
			s.end()
			<-ann.left
			want := 2
			if room == "lobby" {
				want = 1
			}
			if p := store.purse(t, 1); p.Joins != want || p.Leaves != want || p.Ticks < 27 || p.Ticks > 33 {
				t.Errorf("room %s: after three seconds in all the record is %+v", room, p)
			}
		})
	}
}

// A store that fails for a while, and is slow, delays no tick, loses nothing and is asked less and
// less often. Whoever has a record cannot join meanwhile, since it would be overwritten.
func TestStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shelf{}
		rules, _ := miners(t)
		s := newStage(t, Config{Rules: rules, Store: store})
		ann := s.enter("ann", "", 1)
		time.Sleep(time.Second)
		store.set(func(s *shelf) { s.fail, s.dawdle = errors.New("the disk is full"), 2*time.Second })
		time.Sleep(time.Minute)
		_, err := headless.Join(context.Background(), s.dial(), headless.Config{Rules: rules, Clock: s.Clock(),
			Guest: [session.KeySize]byte{2}})
		if err == nil || !strings.Contains(err.Error(), "could not be loaded") {
			t.Errorf("a join without a store gave %v", err)
		}
		n := s.Stats()
		if n.Records.Waiting != 2 || n.Records.SaveFailed < 3 || n.Records.SaveFailed > 10 || n.Records.LoadFailed != 1 {
			t.Errorf("after a minute without a store: %+v", n.Records)
		}
		if n.Ticks < 605 || n.Longest > time.Millisecond {
			t.Errorf("%d ticks in 61 s, the longest took %v", n.Ticks, n.Longest)
		}
		synctest.Wait() // the log is written behind the host
		if log := s.log.String(); strings.Count(log, "records could not be stored") != int(n.Records.SaveFailed) {
			t.Errorf("the log says\n%s", log)
		}
		store.set(func(s *shelf) { s.fail, s.dawdle = nil, 0 })
		time.Sleep(lastRetry + time.Second)
		if p := store.purse(t, 1); p.Ticks < 580 {
			t.Errorf("once it works again the record is %+v", p)
		}
		if _, most := store.count(); most < 2 {
			t.Errorf("at most %d records were stored together", most)
		}
		s.end()
		<-ann.left
	})
}

// While too many records wait nobody new is admitted.
func TestTooManyRecordsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shelf{}
		rules, _ := miners(t)
		s := newStage(t, Config{Rules: rules, Store: store})
		store.set(func(s *shelf) { s.dawdle = 5 * time.Second })
		records := map[string]any{}
		s.keeper.put(map[string]any{"mine/x": &purse{}})
		time.Sleep(time.Second) // it is being stored
		for i := range maxWaiting {
			records[fmt.Sprint("mine/", i)] = &purse{}
		}
		s.keeper.put(records)
		_, err := headless.Join(context.Background(), s.dial(), headless.Config{Rules: rules, Clock: s.Clock(),
			Guest: [session.KeySize]byte{2}})
		if err == nil || !strings.Contains(err.Error(), "cannot store what players gain") {
			t.Errorf("a join gave %v", err)
		}
		time.Sleep(20 * time.Second)
		if n, _ := store.count(); n != maxWaiting+1 || s.Stats().Records.Waiting != 0 {
			t.Errorf("%d records are stored: %+v", n, s.Stats().Records)
		}
		s.end()
	})
}

// A callback that panics leaves records as they were, and a record that cannot be read is not
// overwritten.
func TestRecordsOfBrokenRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shelf{}
		rules, bankrupt := miners(t)
		s := newStage(t, Config{Rules: rules, Store: store})
		ann := s.enter("ann", "", 1)
		time.Sleep(time.Second)
		s.room("lobby").call(bankrupt)
		time.Sleep(5 * time.Second)
		ann.leave()
		<-ann.left
		time.Sleep(time.Second)
		if p := store.purse(t, 1); p.Ticks < 8 || p.Ticks > 12 || p.Leaves != 1 {
			t.Errorf("after a second of play and five of panics the record is %+v", p)
		}
		s.end()

		key := playerKey("mine", 0, [session.KeySize]byte{1})
		store.set(func(s *shelf) { s.records[key] = []byte(`{"Joins": "many"}`) })
		s = newStage(t, Config{Rules: rules, Store: store})
		_, err := headless.Join(context.Background(), s.dial(), headless.Config{Rules: rules, Clock: s.Clock(),
			Guest: [session.KeySize]byte{1}})
		synctest.Wait()
		if err == nil || !strings.Contains(s.log.String(), key) {
			t.Errorf("a record that is no JSON of the rules' gave %v, and the log says\n%s", err, s.log)
		}
		s.end()
		if got := store.get(key); got != `{"Joins": "many"}` {
			t.Errorf("it was overwritten: %s", got)
		}
	})
}

// A grumpy store panics.
type grumpy struct{ *shelf }

func (g grumpy) Load(ctx context.Context, key string) ([]byte, error) {
	if b, err := g.shelf.Load(ctx, key); err != nil || b != nil {
		return b, err
	}
	panic("nothing there")
}

// A store that panics keeps a player out, as one that fails does, and ends nothing.
func TestStorePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules, _ := miners(t)
		store := &shelf{records: map[string][]byte{"mine/room/lobby": []byte("{}")}}
		s := newStage(t, Config{Rules: rules, Store: grumpy{store}})
		_, err := headless.Join(context.Background(), s.dial(), headless.Config{Rules: rules, Clock: s.Clock(),
			Guest: [session.KeySize]byte{1}})
		if e := refusedFor(err, session.InternalError, "could not be loaded"); e != nil {
			t.Error(e)
		}
		s.end()
	})
}

// stuck is a peer that cannot even be sent away.
type stuck struct{ peer }

func (stuck) SendMessage([]byte) error { panic("stuck") }

// A player whom a broken room could not send away plays with the same record elsewhere.
func TestRecordsOfABrokenRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules, _ := miners(t)
		store := &shelf{}
		s := newStage(t, Config{Rules: rules, Store: store})
		s.away.all = "203.0.113.7:4433"
		ann := s.enter("ann", "", 1)
		time.Sleep(time.Second)
		r := s.room("lobby")
		r.call(func() {
			p := r.players[ann.ID()]
			p.peer = stuck{p.peer}
			panic("the world breaks")
		})
		<-ann.left
		again := s.enter("ann", "", 1)
		time.Sleep(time.Second)
		again.leave()
		<-again.left
		s.end()
		if len(s.Host.from) != 0 || len(s.seats) != 0 {
			t.Errorf("counted by address: %v; %d seats", s.Host.from, len(s.seats))
		}
		if p := store.purse(t, 1); p.Joins != 2 {
			t.Errorf("the record is %+v", p)
		}
	})
}

// Fields come and go: what a record lacks is zero, what the rules no longer have is skipped, and
// Join brings the version up.
func TestRecordsOfOlderRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := playerKey("mine", 7, [session.KeySize]byte{1})
		if key != "mine/account/7" || playerKey("mine", 0, [session.KeySize]byte{}) != "" {
			t.Errorf("an account's key is %q", key)
		}
		key = playerKey("mine", 0, [session.KeySize]byte{1})
		store := &shelf{records: map[string][]byte{key: []byte(`{"Version": 1, "Gems": [1, 2], "Joins": 41}`)}}
		rules, _ := miners(t)
		s := newStage(t, Config{Rules: rules, Store: store})
		ann := s.enter("ann", "", 1)
		time.Sleep(time.Second)
		s.end()
		<-ann.left
		if p := store.purse(t, 1); p.Version != 2 || p.Joins != 42 || p.Leaves != 1 || p.Ticks < 8 {
			t.Errorf("the record became %+v", p)
		}
	})
}

// A hungStore does not answer for players, whatever its contexts say, until it is released. From
// then on it stores.
type hungStore struct {
	shelf
	asked   atomic.Int64
	release chan struct{}
}

func (s *hungStore) Load(ctx context.Context, key string) ([]byte, error) {
	if strings.Contains(key, "/guest/") || strings.Contains(key, "/account/") {
		s.asked.Add(1)
		<-s.release
	}
	return s.shelf.Load(ctx, key)
}

func (s *hungStore) Save(ctx context.Context, records map[string][]byte) error {
	<-s.release
	return s.shelf.Save(ctx, records)
}

// A store that does not answer keeps its players out, and nobody waits for it for ever: it is asked
// once for each record, and for a bounded number of them.
func TestStuckStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules, _ := miners(t)
		store := &hungStore{release: make(chan struct{})}
		s := newStage(t, Config{Rules: rules, Store: store, PlayersPerAddress: 2 * maxLoads})
		defer s.end()
		stays := s.greet(session.Hello{}) // without a record
		try := func(guest int) error {
			_, err := s.tryHello("203.0.113.7", session.Hello{Guest: [session.KeySize]byte{1, byte(guest), byte(guest >> 8)}})
			return err
		}
		for range 3 {
			if e := refusedFor(try(0), session.Busy, "waits for what you gained"); e != nil {
				t.Error(e)
			}
		}
		if n := store.asked.Load(); n != 1 || s.Stats().Greeting != 0 {
			t.Errorf("the store was asked %d times, %d connections still wait", n, s.Stats().Greeting)
		}
		for guest := 1; guest < guestLoads; guest++ {
			if e := refusedFor(try(guest), session.Busy, "waits for what you gained"); e != nil {
				t.Errorf("guest %d: %v", guest, e)
			}
		}
		if e := refusedFor(try(guestLoads), session.Busy, "players gained"); e != nil {
			t.Error(e)
		}
		// Who has just left, and accounts, have the rest.
		left := [session.KeySize]byte{2}
		s.keeper.mu.Lock()
		s.keeper.waiting[playerKey(rules.Name, 0, left)] = struct{}{}
		s.keeper.mu.Unlock()
		if c, err := s.tryHello("203.0.113.7", session.Hello{Guest: left}); err != nil {
			t.Errorf("a guest whose record still waits to be stored: %v", err)
		} else {
			end(c)
		}
		for account := uint64(1); account <= maxLoads-guestLoads+1; account++ {
			want := "waits for what you gained"
			if account > maxLoads-guestLoads {
				want = "players gained"
			}
			_, err := s.loadPlayer(t.Context(), &room{}, account, [session.KeySize]byte{})
			if e := refusedFor(err, session.Busy, want); e != nil {
				t.Errorf("account %d: %v", account, e)
			}
		}
		if n := store.asked.Load(); n != maxLoads {
			t.Errorf("the store was asked %d times, want %d", n, maxLoads)
		}
		close(store.release)
		synctest.Wait()
		c, err := s.tryHello("203.0.113.7", session.Hello{Guest: [session.KeySize]byte{1}})
		if err != nil {
			t.Fatal(err)
		}
		end(c)
		end(stays)
		time.Sleep(time.Second)
		s.keeper.mu.Lock()
		defer s.keeper.mu.Unlock()
		if len(s.keeper.inUse) > 1 || s.keeper.loads != 0 {
			t.Errorf("%d records are in use, %d are being loaded", len(s.keeper.inUse), s.keeper.loads)
		}
	})
}

// A player whose record was still being loaded when the host began to drain learns of the end, too.
func TestDrainOnTheWayIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules, _ := miners(t)
		store := &hungStore{release: make(chan struct{})}
		s := newStage(t, Config{Rules: rules, Store: store, Drain: 10 * time.Second})
		stays := s.greet(session.Hello{})
		came := make(chan transport.Conn, 1)
		go func() {
			c, err := s.tryHello("203.0.113.7", session.Hello{Guest: [session.KeySize]byte{1}})
			if err != nil {
				t.Error(err)
			}
			came <- c
		}()
		synctest.Wait()
		s.stop()
		time.Sleep(time.Second)
		close(store.release)
		c := <-came
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		m, err := c.ReceiveMessage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := session.DecodeFarewell(m); err != nil || f.In != 9*time.Second {
			t.Errorf("it reads %+v, %v", f, err)
		}
		end(c)
		end(stays)
		if err := <-s.done; err != nil {
			t.Error(err)
		}
	})
}
