package host

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/headless"
	"meanwhile/session"
	"meanwhile/session/token"
	"meanwhile/transport"
)

// All players of a school, who share one address, come back to their avatars although their former
// connections still look alive, and although their login gives one address few tokens a minute.
func TestSchoolComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer, login := newLogin(t)
		s := newStage(t, Config{Login: login})
		defer s.end()
		const school = "203.0.113.9:4433"
		s.away.all = school
		gate := transport.NewGate(0, 0) // that of the stage counts nobody
		logins := transport.NewRates[string](DefaultPlayersPerAddress, time.Minute)
		var back atomic.Int64
		players := make([]*visitor, DefaultPlayersPerAddress)
		conns := make([]atomic.Pointer[lossyConn], len(players))
		for i := range players {
			dial := func(context.Context) (transport.Conn, error) {
				v, ok := gate.Enter(school)
				if !ok {
					return nil, errors.New("the gate is shut")
				}
				v.Leave()
				conn, err := s.l.Dial()
				if err != nil {
					return nil, err
				}
				c := &lossyConn{Conn: conn}
				conns[i].Store(c)
				return c, nil
			}
			time.Sleep(100 * time.Millisecond)
			conn, err := dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p, err := headless.Join(t.Context(), conn, headless.Config{Rules: s.cfg.Rules, Clock: s.Clock(), FrameRate: 10,
				Dial: dial, OnReturn: func(w session.Welcome, _ bool) {
					if w.Resumed {
						back.Add(1)
					}
				}, Token: func(context.Context) ([]byte, error) {
					if !logins.Take(school) {
						return nil, errors.New("too many requests")
					}
					return issue(t, issuer, token.Grant{Player: uint64(i + 1)}), nil
				}})
			if err != nil {
				t.Fatalf("player %d: %v", i, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			players[i] = &visitor{p, cancel, make(chan error, 1)}
			go func() { players[i].left <- p.Run(ctx) }()
		}
		time.Sleep(resumeAfter + time.Second)
		for i := range conns {
			conns[i].Load().dead.Store(true)
		}
		began := time.Now()
		for back.Load() < int64(len(players)) && time.Since(began) < DefaultResume {
			time.Sleep(100 * time.Millisecond)
		}
		if st := s.Stats(); back.Load() != int64(len(players)) || st.Players != len(players) || st.Absent != 0 {
			t.Errorf("after %v %d of %d are back; %d players, %d of them absent", time.Since(began), back.Load(),
				len(players), st.Players, st.Absent)
		}
		if _, err := s.tryHello("203.0.113.9", session.Hello{Token: issue(t, issuer, token.Grant{})}); err == nil {
			t.Error("one more player of the school got in: nobody is counted")
		}
		for _, p := range players {
			p.leave()
		}
		for _, p := range players {
			if err := <-p.left; err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Second)
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.Host.from) != 0 {
			t.Errorf("%v are still counted", s.Host.from)
		}
	})
}

// A player whose session is no more asks for a token then, and joins anew.
func TestTokenWhereTheSessionIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer, login := newLogin(t)
		s := newStage(t, Config{Login: login})
		defer s.end()
		asked := make(chan bool, 9)
		var open atomic.Bool
		open.Store(true)
		var conn atomic.Pointer[transport.Conn]
		dial := func(context.Context) (transport.Conn, error) {
			if !open.Load() {
				return nil, errors.New("no way")
			}
			c, err := s.l.Dial()
			conn.Store(&c)
			return c, err
		}
		first, err := dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		resumed := make(chan bool, 9)
		p, err := headless.Join(t.Context(), first, headless.Config{Rules: s.cfg.Rules, Clock: s.Clock(), Dial: dial,
			OnReturn: func(w session.Welcome, _ bool) { resumed <- w.Resumed },
			Token: func(context.Context) ([]byte, error) {
				asked <- true
				return issue(t, issuer, token.Grant{Player: 7}), nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { left <- p.Run(ctx) }()
		for _, c := range []struct {
			away    time.Duration
			resumed bool
			asked   int
		}{{time.Second, true, 1}, {reloadFor + 5*time.Second, false, 2}} {
			time.Sleep(5 * time.Second)
			open.Store(false)
			(*conn.Load()).Close("")
			time.Sleep(c.away)
			open.Store(true)
			if got := <-resumed; got != c.resumed || len(asked) != c.asked {
				t.Errorf("away for %v: resumed %v, %d tokens were asked for; want %v and %d", c.away, got, len(asked),
					c.resumed, c.asked)
			}
		}
		leave()
		if err := <-left; err != nil {
			t.Error(err)
		}
	})
}
