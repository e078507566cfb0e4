package host

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/headless"
	"meanwhile/host/journal"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
	"meanwhile/session"
)

// observed is the first group that observers get.
const observed = 0

// watch adds a spectator.
func (s *stage) watch(name, room string) (*visitor, error) {
	s.t.Helper()
	time.Sleep(3 * time.Millisecond)
	p, err := headless.Join(context.Background(), s.dial(), headless.Config{
		Rules: s.cfg.Rules, Clock: s.Clock(), Name: name, Room: room, Watch: true})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	g := &visitor{p, cancel, make(chan error, 1)}
	go func() { g.left <- p.Run(ctx) }()
	return g, nil
}

// refused returns the code of a refusal; 0 if there was none.
func refused(err error) session.Code {
	var r session.Refusal
	errors.As(err, &r)
	return r.Code
}

// places is what observers get of each entity, by tick.
type places struct {
	mu   sync.Mutex // of at
	at   map[clock.Tick]map[uint32][]int64
	over chan struct{}
	late time.Duration

	checked, most int // states, and entities at a time
}

// compare compares what a spectator has, while the room's newest tick is now, with what was.
func (p *places) compare(s *stage, c *client.Client, now clock.Tick, period time.Duration) {
	if c.Me() != 0 {
		s.t.Error("a spectator has an avatar")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	all := c.Store().Entities()
	p.most = max(p.most, len(all))
	newest := clock.Tick(0)
	for _, e := range all {
		n := e.Groups[observed].Newest()
		if n == nil {
			continue
		}
		newest = max(newest, n.Tick)
		if want, ok := p.at[n.Tick][e.ID]; ok {
			want = slices.Clone(want)
			schema.Coarsen(s.cfg.Rules.Kinds[e.Kind], observed, int(n.Level), want)
			if !slices.Equal(n.Vals, want) {
				s.t.Errorf("entity %d at tick %d: %v, was %v", e.ID, n.Tick, n.Vals, want)
			}
			p.checked++
		}
	}
	ago := time.Duration(now-newest) * period
	if newest > 0 && (ago < p.late-period || ago > p.late+300*time.Millisecond) {
		s.t.Errorf("what a spectator has is %v old", ago)
	}
}

// note keeps the places of every tick of a room until stop is called.
func (p *places) note(r *room) (stop func()) {
	end := make(chan struct{})
	go func() {
		defer close(p.over)
		for {
			select {
			case <-end:
				return
			case <-time.After(5 * time.Millisecond):
			}
			r.call(func() {
				h := r.srv.History()
				all := map[uint32][]int64{}
				r.srv.Engine().States(func(kind string, id game.ID, _ any) bool {
					if i, ok := h.Find(uint32(id)); ok {
						v, _ := h.Values(i, observed, h.Tick(), nil)
						all[uint32(id)] = v
					}
					return true
				})
				p.mu.Lock()
				defer p.mu.Unlock()
				p.at[r.srv.Tick()] = all
			})
		}
	}()
	return func() { close(end); <-p.over }
}

// A spectator sees the room as it was, in its own time, and nothing in the room knows of it.
func TestSpectatorSeesThePast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const late = 3 * time.Second
		s := newStage(t, Config{Spectators: 2, WatchLate: late, Bots: 2, Grace: 2 * time.Second})
		defer s.end()
		if _, err := s.watch("early", ""); refused(err) != session.Busy || !strings.Contains(err.Error(), "nobody plays") {
			t.Errorf("no room: %v", err)
		}
		ann := s.join("ann", "")
		if _, err := s.watch("early", ""); refused(err) != session.Busy || !strings.Contains(err.Error(), "watched in 3 s") {
			t.Errorf("a room that has just begun: %v", err)
		}
		r := s.room(DefaultRoom)
		was := &places{late: late, at: map[clock.Tick]map[uint32][]int64{}, over: make(chan struct{})}
		stop := was.note(r)
		time.Sleep(5 * time.Second)
		eve, err := s.watch("eve", "")
		if err != nil {
			t.Fatal(err)
		}
		bob, err := s.watch("bob", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.watch("carl", ""); refused(err) != session.RoomFull {
			t.Errorf("a third spectator of two: %v", err)
		}
		if eve.Late() != late || bob.Late() != late || ann.Late() != 0 {
			t.Errorf("late by %v, %v and %v", eve.Late(), bob.Late(), ann.Late())
		}
		for range 60 {
			time.Sleep(100 * time.Millisecond)
			var now clock.Tick
			r.call(func() { now = r.srv.Tick() })
			eve.Do(func(c *client.Client) { was.compare(s, c, now, r.srv.Period()) })
		}
		if was.checked < 100 || was.most < 3 {
			t.Errorf("%d states of %d entities were checked", was.checked, was.most)
		}
		eve.Do(func(c *client.Client) {
			if st := c.Stats(); st.Hitches > 2 {
				t.Errorf("%d hitches", st.Hitches)
			}
		})
		var known game.ID // whom bob looks from
		bob.Do(func(c *client.Client) {
			all := c.Store().Entities()
			known = game.ID(all[len(all)-1].ID)
		})
		if err := bob.Follow(known); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		s.mu.Lock()
		g := r.gallery
		s.mu.Unlock()
		g.call(func() {
			if id := g.srv.View(bob.ID()); id == nil || g.n.stray.Load() != 0 {
				t.Errorf("bob is %v, %d stray messages", id, g.n.stray.Load())
			}
		})
		if err := ann.Follow(1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n := r.n.stray.Load(); n != 1 {
			t.Errorf("a player who looks from another counts %d times as a stranger, want 1", n)
		}
		stats := s.Stats()
		if len(stats.Rooms) != 1 || stats.Rooms[0].Watched != 2 || stats.Rooms[0].Players != 1 || stats.Desyncs != 0 {
			t.Errorf("%+v", stats.Rooms)
		}
		stop()
		eve.leave()
		bob.leave()
		time.Sleep(3 * time.Second)
		s.mu.Lock()
		left := r.gallery
		s.mu.Unlock()
		if left != nil {
			t.Error("nobody watches, and the second world is still there")
		}
		ann.leave()
	})
}

// Rooms are not watched unless the operator allows it, nor private ones without their code.
func TestWhoMayWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{})
		ann := s.join("ann", "")
		if _, err := s.watch("eve", ""); refused(err) != session.NoRoom ||
			!strings.Contains(err.Error(), "nobody may watch") {
			t.Errorf("%v", err)
		}
		ann.leave()
		s.end()
		s = newStage(t, Config{Spectators: 1, WatchLate: time.Second})
		defer s.end()
		if _, err := s.tryHello("203.0.113.7", session.Hello{Room: "den", Code: "1234"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if _, err := s.watch("eve", "den"); refused(err) != session.NoCode {
			t.Errorf("without the code of a private room: %v", err)
		}
	})
}

// A spectator sees a room to its end, and is then sent away as the players were.
func TestSpectatorSeesTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const late = 4 * time.Second
		s := newStage(t, Config{Spectators: 1, WatchLate: late, Grace: time.Second})
		defer s.end()
		ann := s.join("ann", "other")
		time.Sleep(12 * time.Second)
		eve, err := s.watch("eve", "other")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		r := s.room("other")
		ann.leave()
		<-r.done
		closed := s.Clock()()
		err = <-eve.left
		if after := s.Clock()().Sub(closed); refused(err) != session.NoRoom || after < late-time.Second ||
			after > late+time.Second {
			t.Errorf("sent away after %v: %v", after, err)
		}
	})
}

type orb struct {
	Pos geom.Vec2 `net:"pos"`
}

// leaky are rules that remember something beside the world, from a tick on.
func leaky(t *testing.T, from game.Tick) *game.Rules {
	t.Helper()
	var calls atomic.Int64 // of two worlds at a time
	orbs := game.NewKind[orb]("orb")
	d := game.Definition[stroll]{Name: "orbs", Rate: 20, Kinds: game.Kinds(orbs),
		Join: func(w *game.World, name string) game.ID { return orbs.Spawn(w, orb{}) },
		Act:  func(w *game.World, me game.ID, c stroll) {},
		Referee: func(w *game.World) {
			n := calls.Add(1)
			for _, o := range orbs.All(w) {
				o.Pos.X = float64(w.Tick() % 7)
				if w.Tick() >= from {
					o.Pos.X += float64(n % 1000)
				}
			}
		},
		Bot: func(w *game.World, me game.ID) stroll { return stroll{} },
	}
	rules, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// A check finds rules that are not deterministic within a second, says what they changed, and saves
// what led to it, which a replay finds to differ in the same tick. The room goes on.
func TestCheckFindsDesync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const from = 200
		dir := t.TempDir()
		s := newStage(t, Config{Rules: leaky(t, from), Check: true, Journal: dir})
		defer s.end()
		ann := s.join("ann", "")
		defer ann.leave()
		time.Sleep(9 * time.Second)
		if n := s.Stats().Desyncs; n != 0 {
			t.Fatalf("%d desyncs before there was one", n)
		}
		time.Sleep(2 * time.Second) // the tick is at 10 s
		synctest.Wait()
		if n := s.Stats().Desyncs; n == 0 {
			t.Error("no desync")
		}
		time.Sleep(time.Second)
		log := s.log.String()
		for _, want := range []string{"computed again, came out otherwise", "tick=200", "Pos of orb 1"} {
			if !strings.Contains(log, want) {
				t.Errorf("the log lacks %q", want)
			}
		}
		if err := ann.Conn().Err(); err != nil {
			t.Errorf("the player was sent away: %v", err)
		}
		f := readJournal(t, only(t, dir, momentsDir, "*-desync"+JournalSuffix))
		r, err := journal.NewReplay(leaky(t, from), f)
		for err == nil && r.Differs == nil {
			_, err = r.Step()
		}
		if r.Differs == nil || r.Differs.Tick != from {
			t.Errorf("the replay differs at %v, want tick %d", r.Differs, from)
		}
		again := readJournal(t, only(t, dir, momentsDir, "*-again"+JournalSuffix))
		if first, _, _ := again.Ends(); first != from+1 {
			t.Errorf("the other world is that of tick %d, want %d", first-1, from)
		}
	})
}

// A check finds nothing where there is nothing, however long it takes, beside bots, with players
// who come and go, and with checkpoints between.
func TestCheckFindsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Check: true, Bots: 3})
		for range 4 {
			ann := s.join("ann", "")
			time.Sleep(11 * time.Second)
			ann.leave()
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if n := s.Stats().Desyncs; n != 0 || strings.Contains(s.log.String(), "begins anew") {
			t.Errorf("%d desyncs, or the check began anew", n)
		}
		s.end()
	})
}

// A spectator of a room whose rules are not deterministic goes on watching: it begins anew.
func TestSpectatorAfterDesync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Rules: leaky(t, 100), Spectators: 1, WatchLate: time.Second})
		defer s.end()
		defer s.join("ann", "").leave()
		time.Sleep(3 * time.Second)
		eve, err := s.watch("eve", "")
		if err != nil {
			t.Fatal(err)
		}
		if err := <-eve.left; refused(err) != session.Busy {
			t.Errorf("%v", err)
		}
		if n := s.Stats().Desyncs; n != 1 {
			t.Errorf("%d desyncs", n)
		}
		time.Sleep(10 * time.Second)
		if eve, err = s.watch("eve", ""); err != nil {
			t.Fatalf("again: %v", err)
		}
		eve.leave()
	})
}

func readJournal(t *testing.T, name string) *journal.File {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := journal.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
