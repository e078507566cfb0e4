package host

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/rate"
	"meanwhile/netcode/wire"
	"meanwhile/server"
	"meanwhile/session"
)

// throngRules is a game of 20 ticks a second with so many walkers that no budget suffices. A tick
// takes as long as takes says.
func throngRules(t *testing.T, takes *atomic.Int64) *game.Rules {
	t.Helper()
	d := game.Definition[stroll]{
		Name: "throng", Rate: 20, Kinds: game.Kinds(walkers),
		Join: func(w *game.World, name string) game.ID {
			for i := walkers.Len(w); i < 150; i++ {
				walkers.Spawn(w, walker{Pos: geom.Vec2{X: float64(i)}})
			}
			return walkers.Spawn(w, walker{})
		},
		Act: func(w *game.World, me game.ID, c stroll) {},
		Referee: func(w *game.World) {
			time.Sleep(time.Duration(takes.Load()))
			for id, p := range walkers.All(w) {
				p.Pos.Y += 0.05 * float64(1+id%7)
			}
		},
		Bot: func(w *game.World, me game.ID) stroll { return stroll{} },
	}
	r, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A tap counts what reaches a player's connection, on its own.
type tap struct {
	peer
	mu    sync.Mutex
	at    []time.Time
	bytes []int
}

func (c *tap) Send(b []byte) {
	c.mu.Lock()
	c.at, c.bytes = append(c.at, time.Now()), append(c.bytes, len(b)+wire.Overhead)
	c.mu.Unlock()
	c.peer.Send(b)
}

// window returns the most bytes of taps together in any one second, and how many there were.
func window(taps ...*tap) (most, total int) {
	type sent struct {
		at    time.Time
		bytes int
	}
	var all []sent
	for _, c := range taps {
		c.mu.Lock()
		for i := range c.at {
			all = append(all, sent{c.at[i], c.bytes[i]})
			total += c.bytes[i]
		}
		c.mu.Unlock()
	}
	for _, from := range all {
		sum := 0
		for _, x := range all {
			if since := x.at.Sub(from.at); since >= 0 && since < time.Second {
				sum += x.bytes
			}
		}
		most = max(most, sum)
	}
	return most, total
}

// tap counts from now on what a player is sent.
func (s *stage) tap(g *visitor, name string) *tap {
	r, c := s.room(name), &tap{}
	r.call(func() {
		p := r.players[g.ID()]
		c.peer = p.peer
		p.peer = c
	})
	return c
}

// No second has more than the budget, also where ticks hang and heartbeats are sent meanwhile, by a
// counter of the test and by the host's own.
//
// seeds: B14 R16
func TestNoSecondAboveTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const budget = server.MinBudget
		var takes atomic.Int64
		s := newStage(t, Config{Rules: throngRules(t, &takes), Players: 4, Budget: budget})
		defer s.end()
		ann := s.join("ann", "")
		defer func() { ann.leave(); <-ann.left }()
		c := s.tap(ann, DefaultRoom)
		for i := range 30 { // each at another moment between two packets
			hang := []time.Duration{120 * time.Millisecond, 450 * time.Millisecond, 900 * time.Millisecond,
				1100 * time.Millisecond, 1300 * time.Millisecond, 3 * time.Second}[i%6]
			takes.Store(int64(hang))
			time.Sleep(60 * time.Millisecond) // into the tick that hangs
			takes.Store(int64(5 * time.Millisecond))
			time.Sleep(hang + 4*time.Second + time.Duration(i)*30*time.Millisecond)
		}
		most, total := window(c)
		if most > budget || s.Stats().MaxWindow != most {
			t.Errorf("%d bytes in one second, the host says %d, of a budget of %d", most, s.Stats().MaxWindow, budget)
		}
		h := &s.room(DefaultRoom).heart
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.sent < 200 || total < 80*budget {
			t.Errorf("%d heartbeats, %d bytes in all", h.sent, total)
		}
	})
}

// A class of players has limits of its own. A player may ask for less, at any time, and learns what
// holds; what it asks for beyond its class it does not get.
//
// seeds: B14
func TestPlayersChooseTheirLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var takes atomic.Int64
		s := newStage(t, Config{Rules: throngRules(t, &takes), Players: 4, Budget: 4000,
			LimitsOf: func(v Visitor) server.Limits {
				if v.Name == "ann" && v.Room == DefaultRoom {
					return server.Limits{Budget: 6000, Send: 15}
				}
				return server.Limits{}
			}})
		defer s.end()
		ann, bob := s.join("ann", ""), s.join("bob", "")
		defer func() { ann.leave(); <-ann.left; bob.leave(); <-bob.left }()
		for _, c := range []struct {
			g    *visitor
			ask  session.Limits
			want session.Limits
		}{
			{ann, session.Limits{}, session.Limits{BudgetDown: 48_000, SendRate: 15}},
			{bob, session.Limits{}, session.Limits{BudgetDown: 32_000, SendRate: 16}},
			{ann, session.Limits{BudgetDown: 13_000, SendRate: 4}, session.Limits{BudgetDown: 13_000, SendRate: 4}},
			{bob, session.Limits{BudgetDown: 99_000_000, SendRate: 999}, session.Limits{BudgetDown: 32_000, SendRate: 16}},
			{bob, session.Limits{BudgetDown: 1}, session.Limits{BudgetDown: server.MinBudget * 8, SendRate: 4}},
			{ann, session.Limits{}, session.Limits{BudgetDown: 48_000, SendRate: 15}},
		} {
			if err := c.g.Ask(c.ask); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			tap := s.tap(c.g, DefaultRoom)
			time.Sleep(5 * time.Second)
			if got := c.g.Limits(); got != c.want {
				t.Errorf("asked for %+v: %+v, want %+v", c.ask, got, c.want)
			}
			most, total := window(tap)
			if most > int(c.want.BudgetDown/8) || total < 5*int(c.want.BudgetDown/8)/4 ||
				len(tap.at) > 5*int(c.want.SendRate)+1 || len(tap.at) < 5*int(c.want.SendRate)-5 {
				t.Errorf("asked for %+v: %d bytes in one second, %d bytes and %d datagrams in five", c.ask, most, total,
					len(tap.at))
			}
		}
		if st := s.Stats(); st.StrayMessages != 0 {
			t.Errorf("%d stray messages", st.StrayMessages)
		}
	})
}

// Several rooms share the budget of the process. In no second is it exceeded, while players come
// and go. Who wants less than an equal part gets that, all others get equal parts of the rest, at a
// steady pace.
func TestRoomsShareOneBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total = 16_000
		var takes atomic.Int64
		s := newStage(t, Config{Rules: throngRules(t, &takes), Players: 8, TotalBudget: total})
		defer s.end()
		var taps []*tap
		join := func(name, room string) (*visitor, *tap) {
			g := s.join(name, room)
			c := s.tap(g, room)
			taps = append(taps, c)
			return g, c
		}
		guests, of := []*visitor{}, []*tap{}
		for i, room := range []string{"one", "one", "one", "two", "two", "three"} {
			g, c := join(string(rune('a'+i)), room)
			guests, of = append(guests, g), append(of, c)
			time.Sleep(300 * time.Millisecond)
		}
		defer func() {
			for _, g := range guests {
				g.leave()
				<-g.left
			}
		}()
		if err := guests[0].Ask(session.Limits{BudgetDown: 1200 * 8}); err != nil {
			t.Fatal(err)
		}
		last := make([]int, len(of))
		for phase := range 3 {
			time.Sleep(8 * time.Second)
			for i, c := range of {
				_, last[i] = window(c)
			}
			time.Sleep(10 * time.Second)
			sum, least, most := 0, total, 0
			for i, c := range of {
				_, now := window(c)
				rate := (now - last[i]) / 10
				if i == 0 && (rate > 1200 || rate < 900) {
					t.Errorf("phase %d: who wants 1200 gets %d", phase, rate)
				}
				if sum += rate; i > 0 {
					least, most = min(least, rate), max(most, rate)
				}
			}
			t.Logf("phase %d: %d of %d bytes a second, %d to %d each", phase, sum, total, least, most)
			if least < most*8/10 || sum < total*6/10 {
				t.Errorf("phase %d: %d of %d bytes a second, %d to %d each", phase, sum, total, least, most)
			}
			switch phase {
			case 0: // two leave
				for _, i := range []int{5, 4} {
					guests[i].leave()
					<-guests[i].left
				}
				guests, of = guests[:4], of[:4]
			case 1: // and others come
				for _, room := range []string{"two", "two", "four"} {
					g, c := join("x"+room, room)
					guests, of = append(guests, g), append(of, c)
				}
				last = make([]int, len(of))
			}
		}
		if most, _ := window(taps...); most > total {
			t.Errorf("%d bytes in one second, of %d", most, total)
		}
	})
}

// Players who use whatever they may at once, who come, go and change their minds, never get more
// together than the budget in any one second.
func TestSharesAreStrict(t *testing.T) {
	const total = 20_000
	a := &shares{total: total, usual: 8000}
	type greedy struct {
		*share
		p      *player
		window *rate.Window
	}
	var all []greedy
	r := geom.NewRand(5)
	var log [20]int // bytes in each 50 ms of a second
	whole, most := 0, 0
	for step := range 6000 {
		now := clock.Time(step) * clock.Time(50*time.Millisecond)
		if r.Chance(0.01) && len(all) < 15 {
			if s := a.enter(); s != nil {
				g := greedy{share: s, p: &player{}}
				g.window, _ = rate.NewWindow(server.MinBudget)
				a.belongs(s, g.p)
				s.most.Store(8000)
				all = append(all, g)
			}
		}
		if n := len(all); n > 0 && r.Chance(0.008) {
			i := r.IntN(n)
			a.leave(all[i].share)
			all = append(all[:i], all[i+1:]...)
		}
		for _, g := range all {
			if r.Chance(0.01) {
				g.most.Store(int64(server.MinBudget + r.IntN(9000)))
			}
		}
		if step%5 == 0 {
			a.divide()
		}
		log[step%20] = 0
		for _, g := range all {
			if err := g.window.SetBudget(rate.BytesPerSecond(g.cap.Load())); err != nil {
				t.Fatal(err)
			}
			if room := g.window.Room(now); room > 0 && r.Chance(0.5) {
				g.window.Spend(now, room)
				g.p.sent.Add(1)
				g.p.sentBytes.Add(uint64(room))
				log[step%20] += room + wire.Overhead
			}
		}
		sum := 0
		for _, b := range log {
			sum += b
		}
		if most = max(most, sum); sum > total {
			t.Fatalf("step %d: %d bytes in one second, of %d", step, sum, total)
		}
		whole += sum
	}
	t.Logf("at most %d bytes in one second, %d on average", most, whole/6000)
	if whole/6000 < total*6/10 {
		t.Errorf("only %d bytes a second of %d", whole/6000, total)
	}
}
