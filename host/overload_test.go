package host

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/transport"
)

type walker struct {
	Pos geom.Vec2 `net:"pos,1cm"`
}

type stroll struct {
	Move geom.Vec2 `net:"stick,5bit"`
}

var walkers = game.NewKind[walker]("walker")

// slowRules returns the rules of a game whose ticks take as long as a test wants.
func slowRules(t *testing.T, rate int, takes *atomic.Int64) *game.Rules {
	t.Helper()
	d := game.Definition[stroll]{
		Name: "slow", Rate: rate, Kinds: game.Kinds(walkers),
		Join: func(w *game.World, name string) game.ID { return walkers.Spawn(w, walker{}) },
		Act: func(w *game.World, me game.ID, c stroll) {
			p := walkers.Get(w, me)
			p.Pos = p.Pos.Add(c.Move.Mul(w.Dt()))
		},
		Referee: func(*game.World) { time.Sleep(time.Duration(takes.Load())) },
		Bot: func(w *game.World, me game.ID) stroll {
			return stroll{Move: geom.Angle(w.Tick() / 20).Dir()}
		},
	}
	r, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Ticks that take twice their period for ten seconds become longer, are announced as such, and are never
// made up for in a burst. A client follows, and its playout delay grows by little.
//
// seeds: R16
func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var takes atomic.Int64
		s := newStage(t, Config{Rules: slowRules(t, 20, &takes), Players: 4})
		defer s.end()
		ann := s.join("ann", "")
		defer func() { ann.leave(); <-ann.left }()
		type sample struct {
			ticks  clock.Tick
			period time.Duration
			delay  time.Duration
		}
		watch := func(span time.Duration) (all []sample) {
			for end := time.Now().Add(span); time.Now().Before(end); {
				time.Sleep(100 * time.Millisecond)
				ann.Do(func(c *client.Client) {
					tick, _, period := c.Newest()
					all = append(all, sample{tick, period, c.Stats().Delay})
				})
			}
			return all
		}
		mean := func(all []sample) (d time.Duration) {
			for _, x := range all {
				d += x.delay / time.Duration(len(all))
			}
			return d
		}
		takes.Store(int64(20 * time.Millisecond))
		watch(20 * time.Second)
		usual := watch(10 * time.Second)
		before := s.stats(t)
		takes.Store(int64(100 * time.Millisecond))
		loaded := watch(10 * time.Second)
		if n := s.stats(t).Starved - before.Starved; n > 2 {
			t.Errorf("%d ticks of the overload had no command of their own", n)
		}
		ann.Do(func(c *client.Client) {
			if n := c.Stats().Heartbeats; n > 5 { // once it is announced, ticks of 100 ms are not late
				t.Errorf("%d heartbeats", n)
			}
		})
		takes.Store(int64(20 * time.Millisecond))
		after := watch(15 * time.Second)

		// A tick's date is its beginning, and computing it takes 80 ms longer than before: that
		// part is no delay of playout.
		if grown := mean(loaded) - mean(usual) - 80*time.Millisecond; grown > 60*time.Millisecond {
			t.Errorf("the playout delay grows by %v under load", grown)
		}
		if last := loaded[len(loaded)-1].period; last < 95*time.Millisecond {
			t.Errorf("at the end of the overload ticks are announced to take %v", last)
		}
		if n := loaded[len(loaded)-1].ticks - loaded[0].ticks; n < 85 || n > 105 {
			t.Errorf("%d ticks in ten seconds, want about 100", n)
		}
		if last := after[len(after)-1].period; last > 75*time.Millisecond {
			t.Errorf("fifteen seconds after the overload ticks are still announced to take %v", last)
		}
		for i := 10; i < len(after); i++ {
			if n := after[i].ticks - after[i-10].ticks; n > 22 {
				t.Errorf("%d ticks in one second after the overload, the game has 20", n)
			}
		}
	})
}

// The server sends again at the next tick what a connection dropped before it reached the path.
func TestDroppedIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{})
		defer s.end()
		ann, bob := s.join("ann", ""), s.join("bob", "")
		time.Sleep(2 * time.Second)
		var full *fullMailbox
		s.room(DefaultRoom).call(func() {
			p := s.room(DefaultRoom).order[0]
			full = &fullMailbox{Conn: p.peer.(transport.Conn)}
			p.peer = full
		})
		time.Sleep(5 * time.Second)
		if full.reported.Load() < 10 {
			t.Errorf("the room asked for %d dropped datagrams of %d", full.reported.Load(), full.dropped)
		}
		ann.SetBot(nil)
		bob.SetBot(nil)
		s.room(DefaultRoom).call(func() { full.off = true })
		time.Sleep(5 * time.Second)
		if err := s.converged(DefaultRoom, ann, bob); err != nil {
			t.Error(err)
		}
		for _, g := range []*visitor{ann, bob} {
			g.leave()
			<-g.left
		}
	})
}

// A fullMailbox drops every second datagram, and reports it.
type fullMailbox struct {
	transport.Conn
	n, dropped int
	off        bool
	seqs       []wire.Seq
	reported   atomic.Int64
}

func (f *fullMailbox) Send(b []byte) {
	if f.n++; f.n%2 == 0 && !f.off {
		f.dropped++
		f.seqs = append(f.seqs, wire.SeqOf(b))
		return
	}
	f.Conn.Send(b)
}

func (f *fullMailbox) Dropped(seqs []wire.Seq) []wire.Seq {
	f.reported.Add(int64(len(f.seqs)))
	seqs, f.seqs = append(f.seqs, seqs...), nil
	return seqs
}
