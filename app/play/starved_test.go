package play

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/host"
	"meanwhile/transport"
	"meanwhile/transport/memory"
)

// starved is a room with two players in virtual time, whose machine has no time for them now and
// then.
type starved struct {
	t    *testing.T
	rng  *rand.Rand
	a, b *Client[zap.Cmd]
	cmd  zap.Cmd // of a; b stands where it is

	hang atomic.Int64 // for how long the server's next tick stands still

	shots, taken, seen int // that a was shown, that were taken back, and that b was shown
}

// weather is what the machine and the path do to players.
type weather struct {
	rate  int  // of the room, in ticks a second
	hangs bool // the server stands still, too
	loss  int  // datagrams lost, in percent
}

// filter is a path of 20 to 60 ms.
func (w weather) filter(seed uint64) memory.Filter {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 2))
	return func(datagram []byte, deliver func([]byte)) {
		mu.Lock()
		defer mu.Unlock()
		wait := 20*time.Millisecond + time.Duration(rng.IntN(40))*time.Millisecond
		if rng.IntN(100) >= w.loss {
			time.AfterFunc(wait, func() { deliver(datagram) })
		}
	}
}

// game is zap in which nobody runs out of ammunition, and nobody is hit.
func (s *starved) game(w weather) *game.Rules {
	def := zap.Game
	def.Rate = w.rate
	def.Join = func(w *game.World, name string) game.ID {
		return zap.Pilots.Spawn(w, zap.Pilot{Pos: geom.Vec2{X: 20, Y: 12}, Ammo: 5})
	}
	def.Referee = func(w *game.World) {
		for _, p := range zap.Pilots.All(w) {
			p.Ammo = 5
		}
		time.Sleep(time.Duration(s.hang.Swap(0)))
	}
	rules, err := def.Rules()
	if err != nil {
		s.t.Fatal(err)
	}
	return rules
}

// starve lets both players join, and then f play.
func starve(t *testing.T, seed uint64, w weather, f func(s *starved)) {
	synctest.Test(t, func(t *testing.T) {
		s := &starved{t: t, rng: rand.New(rand.NewPCG(seed, 1))}
		rules := s.game(w)
		h, err := host.New(host.Config{Rules: rules, Seed: seed + 1})
		if err != nil {
			t.Fatal(err)
		}
		l, err := memory.Listen(memory.Config{Client: h.Clock(), Server: h.Clock(),
			Up: w.filter(2 * seed), Down: w.filter(2*seed + 1)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := h.Run(ctx, l); err != nil {
				t.Error(err)
			}
		})
		defer running.Wait()
		defer stop()
		enter := func() *Client[zap.Cmd] {
			dial := func(context.Context) (transport.Conn, error) { return l.Dial() }
			conn, err := l.Dial()
			if err != nil {
				t.Fatal(err)
			}
			c, err := join[zap.Cmd](ctx, rules, h.Clock(), conn, &Options{}, dial)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		s.a, s.b = enter(), enter()
		defer s.a.Close()
		defer s.b.Close()
		s.run(3 * time.Second)
		f(s)
	})
}

// frame runs a frame of both and counts the shots in it.
func (s *starved) frame() {
	if err := s.a.Frame(s.cmd); err != nil {
		s.t.Fatal(err)
	}
	if err := s.b.Frame(zap.Cmd{}); err != nil {
		s.t.Fatal(err)
	}
	s.cmd.Fire = false
	for e := range zap.Zaps.Shown(s.a) {
		if s.shots++; e.Cancelled {
			s.shots--
			s.taken++
		}
	}
	for range zap.Zaps.Shown(s.b) {
		s.seen++
	}
}

// run runs frames at irregular times, as on a machine that has time for them.
func (s *starved) run(d time.Duration) {
	for begun := time.Now(); time.Since(begun) < d; {
		s.frame()
		time.Sleep(time.Duration(2+s.rng.IntN(18)) * time.Millisecond)
	}
}

// stumble runs a few frames with pauses up to ten seconds between them. With hangs most of them are
// the server's, too.
func (s *starved) stumble(hangs bool) {
	for range 1 + s.rng.IntN(3) {
		s.run(time.Duration(s.rng.IntN(150)) * time.Millisecond)
		wait := time.Duration(s.rng.IntN(600)) * time.Millisecond
		if s.rng.IntN(2) == 0 {
			wait = time.Second + time.Duration(s.rng.IntN(9000))*time.Millisecond
		}
		if hangs && s.rng.IntN(3) > 0 {
			s.hang.Store(int64(wait))
		}
		time.Sleep(wait)
	}
}

// views returns the pilot of a as a itself and as b draws it.
func (s *starved) views() (own, other zap.Pilot) {
	n := 0
	for e, p := range zap.Pilots.Drawn(s.a) {
		if e.Mine {
			own = p
			n++
		}
	}
	for e, p := range zap.Pilots.Drawn(s.b) {
		if e.ID == s.a.Me() && !e.Mine {
			other = p
			n++
		}
	}
	if n != 2 {
		s.t.Errorf("the pilot is drawn by %d of 2", n)
	}
	return own, other
}

// Whoever stops is drawn where it stands by all, whatever frames, server and path did meanwhile.
// Beyond 15 m others receive places in steps of 4 cm instead of 1 cm.
func TestStarvedPlayersStopForGood(t *testing.T) {
	w := weather{rate: 30, hangs: true, loss: 5}
	for seed := range uint64(10) {
		starve(t, seed, w, func(s *starved) {
			for round := range 4 {
				s.cmd.Move = geom.Vec2{X: float64(s.rng.IntN(3) - 1), Y: float64(s.rng.IntN(3) - 1)}
				s.cmd.Aim = geom.Angle(s.rng.IntN(7) - 3)
				s.run(time.Duration(200+s.rng.IntN(800)) * time.Millisecond)
				s.stumble(w.hangs)
				s.cmd.Move = geom.Vec2{}
				s.stumble(w.hangs)
				s.run(4 * time.Second)
				own, other := s.views()
				most := 0.01
				if own.Pos.Sub(geom.Vec2{X: 20, Y: 12}).Len() > 15 {
					most = 0.03
				}
				if d := own.Pos.Sub(other.Pos).Len(); d > most || own.Vel != (geom.Vec2{}) || other.Vel != (geom.Vec2{}) ||
					max(own.Aim.Diff(other.Aim), other.Aim.Diff(own.Aim), own.Aim.Diff(s.cmd.Aim), s.cmd.Aim.Diff(own.Aim)) > 0.02 {
					t.Errorf("seed %d, round %d: %+v is drawn by others as %+v, %.3f m off", seed, round, own, other, d)
				}
			}
		})
	}
}

// A click is one shot, also if it is made in the first frame after a pause or in the last before
// one.
func TestStarvedClicksAreOneShotEach(t *testing.T) {
	const clicks = 4
	for _, rate := range []int{10, 20, 30, 60} {
		w := weather{rate: rate}
		for seed := range uint64(4) {
			starve(t, seed, w, func(s *starved) {
				for range clicks {
					s.stumble(w.hangs)
					s.cmd.Fire = true
					s.frame()
					if s.rng.IntN(2) == 0 {
						time.Sleep(time.Duration(s.rng.IntN(3000)) * time.Millisecond)
					}
					s.stumble(w.hangs)
					s.run(2 * time.Second)
				}
				s.run(4 * time.Second)
				if s.seen != clicks || s.shots > clicks {
					t.Errorf("rate %d, seed %d: %d clicks are %d shots, of which the shooter was shown %d, and %d taken back", rate,
						seed, clicks, s.seen, s.shots, s.taken)
				}
			})
		}
	}
}

// Where the server stands still and datagrams are lost clicks may be lost, but none is two shots.
func TestStarvedClicksAreNeverTwoShots(t *testing.T) {
	w := weather{rate: 30, hangs: true, loss: 5}
	for seed := range uint64(10) {
		starve(t, seed, w, func(s *starved) {
			for n := range 6 {
				s.shots, s.taken, s.seen = 0, 0, 0
				s.cmd.Fire = true
				s.stumble(w.hangs)
				s.run(6 * time.Second)
				if s.seen > 1 || s.shots > 1 || s.taken > s.shots+1 {
					t.Errorf("seed %d, click %d: %d shots, of which the shooter was shown %d, and %d taken back", seed, n, s.seen,
						s.shots, s.taken)
				}
			}
		})
	}
}
