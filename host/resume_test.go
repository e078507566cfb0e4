package host

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/headless"
	"meanwhile/netcode/clock"
	"meanwhile/server"
	"meanwhile/session"
	"meanwhile/transport"
)

// A roamer is a player who dials again. Its present connection can be made to end, or to fall
// silent.
type roamer struct {
	*visitor
	conn      atomic.Pointer[lossyConn]
	returns   atomic.Int64
	restarted atomic.Bool
}

// A lossyConn stops carrying anything once it is dead, and does not say so.
type lossyConn struct {
	transport.Conn
	dead atomic.Bool
	deaf atomic.Bool // the way down alone is dead
}

func (c *lossyConn) Send(d []byte) {
	if !c.dead.Load() {
		c.Conn.Send(d)
	}
}

func (c *lossyConn) SendMessage(m []byte) error {
	if c.dead.Load() {
		return nil
	}
	return c.Conn.SendMessage(m)
}

func (c *lossyConn) Deliver(f func(d []byte, at clock.Time)) {
	c.Conn.Deliver(func(d []byte, at clock.Time) {
		if !c.dead.Load() && !c.deaf.Load() {
			f(d, at)
		}
	})
}

// roam adds a player who comes back by itself.
func (s *stage) roam(name string, keep func() bool) *roamer { return s.roamWith(name, keep, nil, nil) }

// roamWith does so with what hears the words of the rules, and with a connect token.
func (s *stage) roamWith(
	name string,
	keep func() bool,
	hear func(c *client.Client, w *client.Word),
	tok []byte,
) *roamer {
	s.t.Helper()
	r := &roamer{}
	dial := func(context.Context) (transport.Conn, error) {
		if keep != nil && !keep() {
			return nil, errors.New("no way")
		}
		c := &lossyConn{Conn: s.dial()}
		r.conn.Store(c)
		return c, nil
	}
	first, _ := dial(context.Background())
	p, err := headless.Join(context.Background(), first, headless.Config{Rules: s.cfg.Rules, Clock: s.Clock(),
		Name: name, Bot: s.cfg.Rules.Bot(), Hear: hear, Dial: dial,
		Token: func(context.Context) ([]byte, error) { return tok, nil }, OnReturn: func(_ session.Welcome, restarted bool) {
			r.returns.Add(1)
			r.restarted.Store(restarted)
		}})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.visitor = &visitor{p, cancel, make(chan error, 1)}
	go func() { r.left <- p.Run(ctx) }()
	return r
}

// avatar returns a player's avatar on the server.
func (s *stage) avatar(id server.PlayerID) (avatar game.ID) {
	s.room(DefaultRoom).call(func() { avatar = s.room(DefaultRoom).srv.Avatar(id) })
	return avatar
}

// A player whose connection is lost, with a word or without, comes back to its avatar, again and
// again; nothing of it is left behind.
func TestLostConnection(t *testing.T) {
	for _, silent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, Config{})
			ann, bob := s.roam("ann", nil), s.join("bob", "")
			time.Sleep(5 * time.Second)
			id, avatar := ann.ID(), s.avatar(ann.ID())
			for n := range 5 {
				if silent {
					ann.conn.Load().dead.Store(true)
				} else {
					ann.conn.Load().Conn.Close("") // as when an operating system ends it
				}
				time.Sleep(8 * time.Second)
				if ann.ID() != id || s.avatar(id) != avatar || ann.returns.Load() != int64(n+1) || ann.restarted.Load() {
					t.Log(s.log)
					t.Fatalf("silent %v, %d: player %d with avatar %d after %d returns; was %d with %d", silent, n,
						ann.ID(), s.avatar(id), ann.returns.Load(), id, avatar)
				}
			}
			if st := s.Stats(); st.Players != 2 || st.Absent != 0 || st.Resumed != 5 || st.Joined != 2 {
				t.Errorf("silent %v: %d players, %d absent, %d resumed, %d joined", silent, st.Players, st.Absent,
					st.Resumed, st.Joined)
			}
			ann.leave()
			<-ann.left
			time.Sleep(2 * time.Second)
			if st := s.Stats(); st.Players != 1 {
				t.Errorf("silent %v: %d players after a goodbye, want 1", silent, st.Players)
			}
			bob.leave()
			<-bob.left
			s.end()
		})
	}
}

// A player who does not come back is removed after its time, and at once where a full room needs
// the place.
func TestDoesNotComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Players: 2})
		var open atomic.Bool
		open.Store(true)
		ann := s.roam("ann", func() bool { return open.Load() })
		bob := s.join("bob", "")
		time.Sleep(5 * time.Second)
		open.Store(false)
		ann.conn.Load().Conn.Close("") // a clean end without a goodbye: its page may be loading
		time.Sleep(5 * time.Second)
		if st := s.Stats(); st.Players != 2 || st.Absent != 1 {
			t.Errorf("%d players, %d absent", st.Players, st.Absent)
		}
		time.Sleep(7 * time.Second)
		if st := s.Stats(); st.Players != 1 || st.Absent != 0 {
			t.Errorf("after 12 s %d players, %d absent", st.Players, st.Absent)
		}
		ann.leave()
		<-ann.left
		cid := s.roam("cid", func() bool { return open.Load() || s.Stats().Players < 2 })
		time.Sleep(5 * time.Second)
		cid.conn.Load().Conn.Close("")
		time.Sleep(time.Second)
		dan, err := s.try("dan", "", nil)
		if err != nil {
			t.Fatalf("a place was kept from a newcomer: %v", err)
		}
		cid.leave()
		for _, g := range []*visitor{bob, dan, cid.visitor} {
			g.leave()
			<-g.left
		}
		s.end()
	})
}

// A key is good until its client has the next one, for one session, and for whoever has it; a wrong
// one joins anew, and the newest connection wins.
func TestResumeKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{})
		greet := func(h session.Hello) (transport.Conn, session.Welcome) {
			t.Helper()
			c := s.dial()
			h.Schema = s.cfg.Rules.Hash
			b, err := h.Append(nil)
			if err == nil {
				err = c.SendMessage(b)
			}
			if err != nil {
				t.Fatal(err)
			}
			m, err := c.ReceiveMessage(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			w, err := session.DecodeWelcome(m)
			if err != nil {
				t.Fatal(err)
			}
			return c, w
		}
		c, first := greet(session.Hello{Nonce: [16]byte{1}})
		if first.Resume == [16]byte{} || first.Grace != DefaultResume || first.Resumed {
			t.Fatalf("the first welcome is %+v", first)
		}
		// A welcome that is lost: the same key is good again, and again.
		for n := range 3 {
			next, w := greet(session.Hello{Nonce: [16]byte{2, byte(n)}, Resume: first.Resume})
			if !w.Resumed || w.Player != first.Player || w.Resume == first.Resume || w.Kept {
				t.Fatalf("%d: %+v", n, w)
			}
			if m, err := c.ReceiveMessage(context.Background()); err != nil {
				t.Errorf("the former connection ended with %v", err)
			} else if r, _ := session.DecodeRefusal(m); r.Code != session.TakenOver {
				t.Errorf("the former connection got %+v", r)
			}
			c = next
			if n == 2 {
				// What a client kept of the first welcome is not what the server began since.
				last, w := greet(session.Hello{Nonce: [16]byte{3}, Resume: first.Resume, Kept: true})
				if !w.Resumed || w.Kept {
					t.Errorf("an older state goes on: %+v", w)
				}
				again, kept := greet(session.Hello{Nonce: [16]byte{4}, Resume: w.Resume, Kept: true})
				if !kept.Resumed || !kept.Kept {
					t.Errorf("the newest state does not go on: %+v", kept)
				}
				last.Close("")
				again.Send(make([]byte, 20)) // the client has its key
				time.Sleep(100 * time.Millisecond)
				_, anew := greet(session.Hello{Nonce: [16]byte{5}, Resume: first.Resume})
				if anew.Resumed || anew.Player == first.Player {
					t.Errorf("an old key resumed: %+v", anew)
				}
			}
		}
		guess := first.Resume
		guess[15] ^= 1
		if _, w := greet(session.Hello{Nonce: [16]byte{6}, Resume: guess}); w.Resumed {
			t.Error("a wrong key resumed")
		}
		guess = first.Resume
		guess[0] ^= 1
		if _, w := greet(session.Hello{Nonce: [16]byte{7}, Resume: guess}); w.Resumed {
			t.Error("a key of another run resumed")
		}
		s.end()
	})
}

// A server that restarted is named as such, and its players join anew by themselves.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newStage(t, Config{})
		var second *stage
		ready := make(chan struct{})
		r := &roamer{}
		p, err := headless.Join(context.Background(), first.dial(), headless.Config{Rules: first.cfg.Rules,
			Clock: first.Clock(), Name: "ann", Bot: first.cfg.Rules.Bot(),
			Dial: func(context.Context) (transport.Conn, error) {
				select {
				case <-ready:
					return second.dial(), nil
				default:
					return nil, errors.New("nobody listens")
				}
			},
			OnReturn: func(_ session.Welcome, restarted bool) { r.returns.Add(1); r.restarted.Store(restarted) },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(context.Background())
		left := make(chan error, 1)
		go func() { left <- p.Run(ctx) }()
		time.Sleep(4 * time.Second)
		first.end()
		second = newStage(t, Config{Rules: first.cfg.Rules})
		close(ready)
		time.Sleep(10 * time.Second)
		if r.returns.Load() != 1 || !r.restarted.Load() || second.Stats().Players != 1 {
			t.Errorf("%d returns, restarted: %v, %d players", r.returns.Load(), r.restarted.Load(),
				second.Stats().Players)
		}
		leave()
		if err := <-left; err != nil {
			t.Error(err)
		}
		second.end()
	})
}

// A host that drains says when it ends and where to go, admits nobody new, lets players come back,
// and ends when all have left, or at the time that it said.
func TestDrain(t *testing.T) {
	for _, stay := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, Config{Drain: 10 * time.Second, DrainTo: "https://b.example/"})
			ann := s.roam("ann", nil)
			conn := s.dial()
			hello := session.Hello{Schema: s.cfg.Rules.Hash, Nonce: [16]byte{1}}
			b, _ := hello.Append(nil)
			if err := conn.SendMessage(b); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.ReceiveMessage(context.Background()); err != nil { // the welcome
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			began := time.Now()
			s.stop()
			m, err := conn.ReceiveMessage(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			f, err := session.DecodeFarewell(m)
			if err != nil || f.In < 9*time.Second || f.In > 10*time.Second || f.To != "https://b.example/" {
				t.Errorf("%+v, %v", f, err)
			}
			time.Sleep(time.Second)
			var why session.Refusal
			if _, err := s.try("bob", "", nil); !errors.As(err, &why) || why.Code != session.ShuttingDown {
				t.Errorf("a newcomer gets %v", err)
			}
			ann.conn.Load().Conn.Close("")
			time.Sleep(2 * time.Second)
			if ann.returns.Load() != 1 {
				t.Error("a player did not come back to a host that drains")
			}
			conn.Close(session.Goodbye)
			if !stay {
				ann.leave()
			}
			if err := <-s.done; err != nil {
				t.Error(err)
			}
			took := time.Since(began)
			if stay && took < 10*time.Second || took > 14*time.Second || !stay && took > 7*time.Second {
				t.Errorf("stays %v: ended after %v", stay, took)
			}
			ann.leave()
			<-ann.left
			if !strings.Contains(s.log.String(), "no new players are admitted") {
				t.Error("the log says nothing of it")
			}
		})
	}
}

// However many welcomes are lost, the key that the client has stays good, and so do the newest.
func TestKeysOfLostWelcomes(t *testing.T) {
	r, p := &room{h: &Host{cfg: Config{Resume: DefaultResume}}}, &player{}
	var issued [][session.KeySize]byte
	for range 10 {
		var w session.Welcome
		r.issue(p, &w)
		issued = append(issued, w.Resume)
	}
	good := make(map[[session.KeySize]byte]bool)
	for _, k := range p.back.keys {
		good[k.key] = true
	}
	if len(good) != maxKeys || !good[issued[0]] || !good[issued[9]] || !good[issued[8]] || !good[issued[7]] {
		t.Errorf("%d keys are good; the first %v, the last three %v %v %v", len(good), good[issued[0]],
			good[issued[7]], good[issued[8]], good[issued[9]])
	}
}

// Players who have only just come learn of the end, too, and play until then.
func TestDrainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Drain: 10 * time.Second})
		ann := s.roam("ann", nil)
		synctest.Wait()
		began := time.Now()
		s.stop()
		if err := <-s.done; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 10*time.Second || took > 14*time.Second {
			t.Errorf("the host drained for %v", took)
		}
		ann.leave()
		<-ann.left
	})
}

// Whoever acted is waited for however short that was, also in a room of its own; whoever only looked
// in is not for long, and whoever sent nothing is not at all.
func TestComesBackSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{})
		var open atomic.Bool
		open.Store(true)
		ann := s.roam("ann", open.Load)
		time.Sleep(time.Second)
		id, avatar := ann.ID(), s.avatar(ann.ID())
		open.Store(false)
		ann.conn.Load().Conn.Close("")
		time.Sleep(7 * time.Second)
		open.Store(true)
		time.Sleep(5 * time.Second)
		if n := s.Stats().Joined; n != 1 || ann.ID() != id || s.avatar(id) != avatar || avatar == 0 {
			t.Errorf("player %d has avatar %d, player %d had %d; %d joined", ann.ID(), s.avatar(ann.ID()), id, avatar, n)
		}
		ann.leave()
		<-ann.left
		for looks, want := range map[bool]int{false: 0, true: 1} {
			time.Sleep(3 * time.Second)
			c := s.dial()
			h := session.Hello{Schema: s.cfg.Rules.Hash, Nonce: [16]byte{1}}
			b, _ := h.Append(nil)
			if err := c.SendMessage(b); err != nil {
				t.Fatal(err)
			}
			if _, err := c.ReceiveMessage(context.Background()); err != nil {
				t.Fatal(err)
			}
			if looks {
				c.Send(make([]byte, 30))
			}
			time.Sleep(200 * time.Millisecond)
			c.Close("")
			for _, after := range []time.Duration{time.Second, 2 * time.Second} {
				time.Sleep(after)
				if n := s.seated(); n != want {
					t.Errorf("looks %v: %d are waited for, want %d", looks, n, want)
				}
				want = 0
			}
		}
		s.end()
	})
}
