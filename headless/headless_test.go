package headless_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/client"
	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/headless"
	"meanwhile/host"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/server"
	"meanwhile/session"
	"meanwhile/transport"
	"meanwhile/transport/memory"
)

func rules(t *testing.T) *game.Rules {
	t.Helper()
	r, err := zap.Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A bot whose function panics says so, commands nothing, and goes on.
func TestBotPanics(t *testing.T) {
	def := zap.Game
	def.Bot = func(*game.World, game.ID) zap.Cmd { panic("as the test asked") }
	r, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(r, server.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	id, welcome, err := s.Connect(0, "bot")
	if err != nil {
		t.Fatal(err)
	}
	b, err := headless.NewBot(r, welcome, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	faults, sent := 0, 0
	var out server.Outbox
	for now := clock.Time(0); now < clock.Time(2e9); now += clock.Time(s.Period()) {
		s.Begin(now)
		out.Reset()
		s.Encode(0, s.Clients(), &out)
		s.End()
		for i := range out.Len() {
			_, datagram := out.At(i)
			b.Receive(now, datagram)
		}
		datagram, err := b.Frame(now)
		if err != nil {
			faults++
			if !strings.Contains(err.Error(), "as the test asked") {
				t.Fatal(err)
			}
		}
		if datagram != nil {
			sent++
			s.Receive(id, now, datagram)
		}
	}
	if faults < 10 || sent < 10 {
		t.Errorf("%d faults and %d datagrams in two seconds", faults, sent)
	}
}

// Join fails on an incomplete Config, and with the server's refusal or an unreadable answer, and
// then closes the connection.
func TestJoinFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rules(t)
		now := func() clock.Time { return 1 }
		refusal, err := session.Refusal{
			Code: session.WrongSchema, SchemaText: strings.Replace(r.Text, "rate=30", "rate=60", 1),
		}.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name   string
			cfg    headless.Config
			answer []byte
			want   string
		}{
			{"no clock", headless.Config{Rules: r}, nil, "must be set"},
			{"no rules", headless.Config{Clock: now}, nil, "must be set"},
			{"a refusal", headless.Config{Rules: r, Clock: now}, refusal, "game has rate=60 there and rate=30 here"},
			{"half a refusal", headless.Config{Rules: r, Clock: now}, refusal[:5], "truncated"},
			{"rubbish", headless.Config{Rules: r, Clock: now}, []byte("rubbish"), "kind"},
			{"no answer", headless.Config{Rules: r, Clock: now}, nil, "no welcome"},
		} {
			client, srv, err := memory.Pair(memory.Config{Client: now, Server: now})
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				if _, err := srv.ReceiveMessage(t.Context()); err != nil {
					return
				}
				if c.answer != nil {
					_ = srv.SendMessage(c.answer)
				}
				srv.Close("")
			}()
			_, err = headless.Join(t.Context(), client, c.cfg)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.name, err, c.want)
			}
			var r session.Refusal
			if got := errors.As(err, &r); got != (c.name == "a refusal") {
				t.Errorf("%s: a session.Refusal is in the error: %v", c.name, got)
			}
			<-client.Done()
			srv.Close("")
			<-srv.Done()
		}
	})
}

// lossy is a connection that drops three datagrams of ten before they reach the path.
type lossy struct {
	transport.Conn
	silent bool // it does not report them

	mu      sync.Mutex
	luck    geom.Rand
	dropped []wire.Seq
}

func (l *lossy) Send(datagram []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.luck.Float64() >= 0.3 {
		l.Conn.Send(datagram)
	} else if !l.silent {
		l.dropped = append(l.dropped, wire.SeqOf(datagram))
	}
}

func (l *lossy) Dropped(seqs []wire.Seq) []wire.Seq {
	l.mu.Lock()
	defer l.mu.Unlock()
	seqs = append(seqs, l.dropped...)
	l.dropped = l.dropped[:0]
	return seqs
}

// A datagram that the connection drops before the path is no loss on the path: a player who learns
// of them keeps its rate, and one who does not sends less and less.
func TestDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rules(t)
		// rate plays for 20 seconds and returns what the path up is then taken to carry, in bytes a
		// second.
		rate := func(silent bool) (up int) {
			h, err := host.New(host.Config{Rules: r, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			l, err := memory.Listen(memory.Config{Client: h.Clock(), Server: h.Clock()})
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
			conn, err := l.Dial()
			if err != nil {
				t.Fatal(err)
			}
			p, err := headless.Join(ctx, &lossy{Conn: conn, silent: silent, luck: geom.NewRand(9)}, headless.Config{
				Rules: r, Clock: h.Clock(), Bot: r.Bot(),
			})
			if err != nil {
				t.Fatal(err)
			}
			running.Go(func() {
				if err := p.Run(ctx); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(20 * time.Second)
			p.Do(func(c *client.Client) { up = c.Stats().UpRate })
			return up
		}
		if reported, silent := rate(false), rate(true); reported < 7000 || silent > 3500 {
			t.Errorf("%d B/s with reports, want at least 7000; %d without, want at most 3500", reported, silent)
		}
	})
}

// A program whose frames pause, as a window does while it is dragged, goes on where it was: nothing
// that arrived meanwhile is taken for a lost connection.
func TestDrivePauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rules(t)
		h, err := host.New(host.Config{Rules: r, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		l, err := memory.Listen(memory.Config{Client: h.Clock(), Server: h.Clock()})
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
		dial := func(context.Context) (transport.Conn, error) { return l.Dial() }
		conn, err := l.Dial()
		if err != nil {
			t.Fatal(err)
		}
		p, err := headless.Join(ctx, conn, headless.Config{Rules: r, Clock: h.Clock(), Dial: dial})
		if err != nil {
			t.Fatal(err)
		}
		d := p.Drive()
		defer d.Leave()
		commands := 0
		for range 3 {
			for range 60 {
				err := d.Frame(func(c *client.Client, now clock.Time, due int) {
					for ; due > 0; due-- {
						c.Tick(nil)
						commands++
					}
				})
				if err != nil || d.Returning() {
					t.Fatalf("the connection counts as lost: %v", err)
				}
				time.Sleep(time.Second / 60)
			}
			time.Sleep(5 * time.Second)
		}
		if commands < 60 {
			t.Errorf("%d commands in three seconds of frames", commands)
		}
	})
}
