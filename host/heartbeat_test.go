package host

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/client"
	"meanwhile/netcode/clock"
	"meanwhile/server"
)

// In a game of 60 ticks a second, a tick that hangs for up to a second costs a player only the commands
// that could not be made in time: afterwards its commands continue where the server does, not where
// the server would have been without the hang.
//
// seeds: R16
func TestAfterAHang(t *testing.T) {
	for _, hang := range []time.Duration{150 * time.Millisecond, 500 * time.Millisecond, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var takes atomic.Int64
			s := newStage(t, Config{Rules: slowRules(t, 60, &takes), Players: 4})
			defer s.end()
			ann := s.join("ann", "")
			defer func() { ann.leave(); <-ann.left }()
			takes.Store(int64(5 * time.Millisecond))
			time.Sleep(10 * time.Second)
			before := s.stats(t)
			takes.Store(int64(hang))
			time.Sleep(60 * time.Millisecond) // into the tick that hangs
			takes.Store(int64(5 * time.Millisecond))
			time.Sleep(hang + 3*time.Second)
			if after := s.stats(t); after.Starved > before.Starved+2 || after.TooEarly > before.TooEarly {
				t.Errorf("a tick of %v: %d starved, %d commands came too early", hang, after.Starved-before.Starved,
					after.TooEarly-before.TooEarly)
			}
			ann.Do(func(c *client.Client) {
				if n := c.Stats().Heartbeats; n == 0 {
					t.Error("no heartbeat arrived")
				}
			})
		})
	}
}

// stats returns the server's counters of the first player in the default room.
func (s *stage) stats(t *testing.T) (st server.PlayerStats) {
	r := s.room(DefaultRoom)
	if !r.call(func() { st, _ = r.srv.Stats(r.order[0].id) }) {
		t.Fatal("the room has ended")
	}
	return st
}

// While a tick hangs, players get heartbeats from half a period after its planned time on; their
// commands wait for it, and when it is over nobody has run ahead. Without a late tick no heartbeat is
// sent.
//
// seeds: R16
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var takes atomic.Int64
		s := newStage(t, Config{Rules: slowRules(t, 20, &takes), Players: 4})
		defer s.end()
		ann := s.join("ann", "")
		defer func() { ann.leave(); <-ann.left }()
		takes.Store(int64(5 * time.Millisecond))
		time.Sleep(10 * time.Second)
		look := func() (beats uint64, made, newest clock.Tick) {
			ann.Do(func(c *client.Client) {
				beats, made = c.Stats().Heartbeats, c.CommandTick()
				newest, _, _ = c.Newest()
			})
			return
		}
		if beats, _, _ := look(); beats != 0 {
			t.Errorf("%d heartbeats while no tick was late", beats)
		}
		takes.Store(int64(time.Second))
		time.Sleep(60 * time.Millisecond) // into the tick that takes a second
		takes.Store(int64(5 * time.Millisecond))
		_, before, _ := look()
		time.Sleep(150 * time.Millisecond)
		if beats, _, _ := look(); beats == 0 {
			t.Error("no heartbeat for a tick that hangs for 100 ms and more")
		}
		time.Sleep(600 * time.Millisecond)
		beats, made, newest := look()
		if beats < 5 || beats > 9 {
			t.Errorf("%d heartbeats in three quarters of a second", beats)
		}
		if n := made - before; n > 7 { // 15 would be due
			t.Errorf("%d commands were made for ticks after %d, of which none was run", n, newest)
		}
		time.Sleep(3 * time.Second)
		if after, _, _ := look(); after > beats+6 {
			t.Errorf("%d heartbeats went on after the tick", after-beats)
		}
		ann.Do(func(c *client.Client) {
			if st := c.Stats(); st.Lead > 150*time.Millisecond {
				t.Errorf("two seconds later commands are made %v ahead", st.Lead)
			}
		})
	})
}

// A tick that does not end gets fifty heartbeats in five seconds, and then no more: a heartbeat
// promises that the server still works on it.
func TestHeartbeatsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var takes atomic.Int64
		s := newStage(t, Config{Rules: slowRules(t, 20, &takes), Players: 4})
		defer s.end()
		ann := s.join("ann", "")
		defer func() { ann.leave(); <-ann.left }()
		time.Sleep(2 * time.Second)
		beats := func() (n uint64) {
			ann.Do(func(c *client.Client) { n = c.Stats().Heartbeats })
			return n
		}
		before := beats()
		takes.Store(int64(12 * time.Second))
		time.Sleep(60 * time.Millisecond) // into the tick that takes twelve seconds
		takes.Store(int64(time.Millisecond))
		time.Sleep(4 * time.Second)
		if n := beats() - before; n < 38 || n > 41 {
			t.Errorf("%d heartbeats in the first four seconds, want one each 100 ms", n)
		}
		time.Sleep(7 * time.Second)
		if n := beats() - before; n != 50 {
			t.Errorf("%d heartbeats for one tick, want 50", n)
		}
		time.Sleep(5 * time.Second)
	})
}
