package main

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/headless"
	"meanwhile/host"
	"meanwhile/netcode/clock"
	"meanwhile/session"
	"meanwhile/transport"
	"meanwhile/transport/memory"
)

// serveArena runs a host of arena within a bubble, until stop.
func serveArena(t *testing.T, cfg host.Config) (
	rules *game.Rules, now transport.Clock, s *memory.Listener, stop func(),
) {
	t.Helper()
	g, err := findGame("arena")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Rules, err = g.rules(); err != nil {
		t.Fatal(err)
	}
	h, err := host.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	now = func() clock.Time { return clock.Time(time.Since(start)) }
	if s, err = memory.Listen(memory.Config{Client: now, Server: h.Clock()}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- h.Run(ctx, s) }()
	return cfg.Rules, now, s, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// What players of a load send and get, in virtual time, where it does not depend on the machine.
func TestLoadRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules, now, server, stop := serveArena(t, host.Config{
			Bots: 2, Seed: 1,
			NewBot: func(r *game.Rules, w session.Welcome, now clock.Time) (host.Bot, error) {
				return headless.NewBot(r, w, now, nil)
			},
		})
		defer stop()
		l := &load{Players: 3, For: 10 * time.Second}
		r := l.play(t.Context(), rules, now, func(context.Context) (transport.Conn, error) { return server.Dial() })
		// Until a path has shown that it loses nothing, presses go out twice.
		if r.Joined != 3 || r.Lost != 0 || r.Error != "" || r.Seconds != 10 || r.UpHz < 58 || r.UpHz > 63 ||
			r.DownHz < 19 || r.DownHz > 21 || r.Confirmed < 3*190 || r.Delay99 > 120 || r.Starved > 0 {
			t.Errorf("%+v", *r)
		}
	})
}

// Players of a load whose connections are lost come back, and those who cannot are lost, which fails
// the load.
func TestLoadLosesPlayers(t *testing.T) {
	for _, back := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			rules, now, server, stop := serveArena(t, host.Config{Seed: 1})
			defer stop()
			var mu sync.Mutex
			var conns []transport.Conn
			cut := false
			dial := func(context.Context) (transport.Conn, error) {
				mu.Lock()
				defer mu.Unlock()
				if cut && !back {
					return nil, errors.New("no way")
				}
				c, err := server.Dial()
				conns = append(conns, c)
				return c, err
			}
			time.AfterFunc(5*time.Second, func() {
				mu.Lock()
				defer mu.Unlock()
				cut = true
				for _, c := range conns[:2] {
					c.Close("")
				}
			})
			l := &load{Players: 3, For: 10 * time.Second}
			r := l.play(t.Context(), rules, now, dial)
			r.Players = l.Players
			failed := r.failed()
			if back && (r.Returned != 2 || r.Lost != 0 || failed != nil) {
				t.Errorf("%+v, %v", *r, failed)
			}
			if !back && (r.Returned != 0 || r.Lost != 2 || failed == nil || !strings.Contains(failed.Error(), "2 were lost")) {
				t.Errorf("nobody comes back: %+v, %v", *r, failed)
			}
		})
	}
}

// Rates are means over the players, of what came in between.
func TestLoadSums(t *testing.T) {
	r := &loadResult{Seconds: 4}
	before := []client.Stats{{Sent: 100, SentBytes: 9000, Received: 50, ReceivedBytes: 40000, Hitches: 1, Starved: 10,
		Prediction: client.Prediction{Confirmed: 1000, Corrections: 7}}, {}}
	after := []client.Stats{
		{Sent: 340, SentBytes: 25000, Received: 170, ReceivedBytes: 80000, Hitches: 3, Starved: 14,
			Prediction: client.Prediction{
				Confirmed:   1200,
				Corrections: 9,
			}, RTT: 20 * time.Millisecond, Delay: 80 * time.Millisecond},
		{Sent: 80, SentBytes: 8000, Received: 40, ReceivedBytes: 10000,
			Prediction: client.Prediction{
				Confirmed:   40,
				Corrections: 1,
			}, RTT: 30 * time.Millisecond, Delay: 90 * time.Millisecond},
	}
	r.sum(before, after)
	want := loadResult{Seconds: 4, UpHz: 40, DownHz: 20, UpKbps: 24, DownKbps: 50, RTT50: 30, RTT99: 30, Delay50: 90,
		Delay99: 90, Hitches: 15, Starved: 30, Confirmed: 240, Corrected: 3}
	for _, c := range [][2]float64{{r.UpHz, want.UpHz}, {r.DownHz, want.DownHz}, {r.UpKbps, want.UpKbps},
		{r.DownKbps, want.DownKbps}, {r.RTT50, want.RTT50}, {r.RTT99, want.RTT99},
		{r.Delay50, want.Delay50}, {r.Delay99, want.Delay99}, {r.Hitches, want.Hitches}, {r.Starved, want.Starved}} {
		if math.Abs(c[0]-c[1]) > 1e-9 {
			t.Errorf("got %+v, want %+v", *r, want)
		}
	}
	if r.Confirmed != want.Confirmed || r.Corrected != want.Corrected {
		t.Errorf("got %+v, want %+v", *r, want)
	}
}
