package metrics_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/headless"
	"meanwhile/host"
	"meanwhile/host/metrics"
	"meanwhile/netcode/clock"
	"meanwhile/session"
	"meanwhile/transport"
	"meanwhile/transport/memory"
)

// One player and two bots play for three virtual seconds; Prometheus then gets every counter.
func TestHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules, err := zap.Game.Rules()
		if err != nil {
			t.Fatal(err)
		}
		h, err := host.New(host.Config{
			Rules: rules, Seed: 1, Bots: 2,
			NewBot: func(rules *game.Rules, welcome session.Welcome, now clock.Time) (host.Bot, error) {
				return headless.NewBot(rules, welcome, now, nil)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		l, err := memory.Listen(memory.Config{Client: h.Clock(), Server: h.Clock()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() { ended <- h.Run(ctx, l) }()
		conn, err := l.Dial()
		if err != nil {
			t.Fatal(err)
		}
		ann, err := headless.Join(ctx, conn, headless.Config{Rules: rules, Clock: h.Clock(), Name: "ann"})
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- ann.Run(ctx) }()
		time.Sleep(3 * time.Second)

		rec := httptest.NewRecorder()
		from := metrics.Sources{Host: h, Gate: transport.NewGate(0, 0)}
		metrics.Handler(from).ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
		for _, want := range []string{
			"meanwhile_rooms 1\n", `meanwhile_players{what="human"} 1`, `meanwhile_players{what="bot"} 2`,
			"meanwhile_joined_total 1\n", `meanwhile_visitors_total{what="put_out"} 0`, "meanwhile_text_ref_overflow_total 0\n",
			`meanwhile_refused_total{reason="room is full"} 0`, `meanwhile_verdicts_total{what="disagreed"} 0`,
			`meanwhile_judged_total{reason="too old"} 0`, "meanwhile_least_agreement 1\n", "meanwhile_max_suspicion 0\n",
			"meanwhile_contradicted_total 0\n",
			"meanwhile_tick_seconds_count 9", `meanwhile_tick_seconds_bucket{le="0.0001"} 9`, "go_goroutines",
			// A path in memory has a round trip of next to nothing. Ann is seen at joining and once
			// a second.
			`meanwhile_rtt_seconds_bucket{path="near",le="0.01"} 2`, `meanwhile_rtt_seconds_count{path="far"} 0`,
			`meanwhile_view_age_seconds_count{path="near"} 2`, `meanwhile_hitches_total{path="near"} 0`,
			`meanwhile_client_datagrams_total{path="near",what="lost"} 0`, "meanwhile_max_stretch 1\n",
			`meanwhile_commands_total{path="near",what="late"} 0`,
			`meanwhile_reported_delay_seconds_count{path="near"} 2`, `meanwhile_reported_total{path="near",what="hitches"} 0`,
			`meanwhile_connected_players{transport="other"} 1`,
			`meanwhile_transport_hitches_total{transport="quic",what="seen"} 0`,
		} {
			if !strings.Contains(rec.Body.String(), want) {
				t.Errorf("%q is missing in\n%s", want, rec.Body)
			}
		}
		stop()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}
