package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A busy server's figures, in part.
const busyFigures = `# HELP meanwhile_rooms Open rooms.
# TYPE meanwhile_rooms gauge
meanwhile_rooms 120
meanwhile_players{what="human"} 1500
meanwhile_players{what="bot"} 12000
meanwhile_load 0.25
meanwhile_max_stretch 1.5
meanwhile_max_suspicion 100
meanwhile_tick_seconds_bucket{le="0.001"} 50
meanwhile_tick_seconds_bucket{le="0.002"} 98
meanwhile_tick_seconds_bucket{le="0.004"} 99
meanwhile_tick_seconds_bucket{le="+Inf"} 100
meanwhile_received_datagrams_total{what="taken"} 1e+06
meanwhile_sent_bytes_total 3e+06
meanwhile_rtt_seconds_bucket{path="near",le="0.05"} 0
meanwhile_rtt_seconds_bucket{path="near",le="+Inf"} 3
meanwhile_client_datagrams_total{path="far",what="sent"} 1000
meanwhile_client_datagrams_total{path="far",what="lost"} 25
meanwhile_hitches_total{path="far"} 3
meanwhile_played_seconds_total{path="far"} 90
meanwhile_reported_delay_seconds_bucket{path="far",le="0.2"} 90
meanwhile_reported_delay_seconds_bucket{path="far",le="+Inf"} 90
meanwhile_reported_total{path="far",what="hitches"} 6
meanwhile_reported_total{path="far",what="stalls"} 99
meanwhile_connected_players{transport="quic"} 17
meanwhile_transport_datagrams_total{transport="quic",what="sent"} 1000
meanwhile_transport_datagrams_total{transport="quic",what="lost"} 10
meanwhile_transport_bytes_total{transport="quic"} 125000
meanwhile_transport_played_seconds_total{transport="quic"} 60
meanwhile_transport_played_seconds_total{transport="websocket"} 0
meanwhile_transport_hitches_total{transport="quic",what="seen"} 7
meanwhile_transport_hitches_total{transport="quic",what="reported"} 8
meanwhile_record_bits_total{kind="pilot",property="Vel"} 300
meanwhile_record_bits_total{kind="pilot",property="Pos"} 600
meanwhile_record_bits_total{kind="gem",property="head"} 100
meanwhile_record_bits_total{kind="gem",property="Pos"} 0
meanwhile_refused_total{reason="room is full"} 7
meanwhile_refused_total{reason="busy"} 9
meanwhile_refused_total{reason="unknown room"} 0
meanwhile_flooded_total{reason="too many datagrams"} 2
`

func TestTop(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/rooms" {
			fmt.Fprint(
				w,
				`[{"room":"b\u001b[2J and a name that is long","players":3,"load":0.25,"stretch":1,"longest_tick_ms":2.5,`+
					`"played_s":60,"sent":100,"lost":5,"hitches":2,"reported_hitches":4}]`,
			)
			return
		}
		if r.URL.Path != "/metrics" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, busyFigures)
	}))
	defer server.Close()
	for _, address := range []string{server.URL, strings.TrimPrefix(server.URL, "http://"), server.URL + "/metrics"} {
		var out, errs bytes.Buffer
		if code := run(context.Background(), []string{"top", "--once", address}, &out, &errs); code != 0 || errs.Len() > 0 {
			t.Fatalf("%s: status %d, %s", address, code, errs.String())
		}
		for _, want := range []string{
			"rooms 120    players 1500   bots 12000", "load 0.25", "1.50 times slower", "suspicion up to 100 of 100\n",
			"p50 1 ms   p99 4 ms", "in 1000000 ", "24000 kbit ", "near         >50", " 2.5%      2.0       - |       200     " +
				" 4.0\n",
			"\nquic               17      1000   1.0%       0.0%      7.0 |      8.0\n",
			"\n\"b\\x1b[2J and a        3     0  0.25    1.00        2.5   5.0%     2.0 |     4.0\n",
			"records      pilot.Pos 60.0%, pilot.Vel 30.0%, gem.head 10.0%\n",
			"refused      16: busy 9, room is full 7\n", "flooded      2: too many datagrams 2\n",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is missing in\n%s", address, want, out.String())
			}
		}
		for line := range strings.Lines(out.String()) {
			if len(strings.TrimSuffix(line, "\n")) > topWidth {
				t.Errorf("wider than a screen: %q", line)
			}
		}
	}
	var out, errs bytes.Buffer
	code := run(context.Background(), []string{"top", "--once", server.URL + "/page"}, &out, &errs)
	if want := "without a server's figures"; code != 1 || out.Len() > 0 || !strings.Contains(errs.String(), want) {
		t.Errorf("status %d, %q, %q; want 1, %q", code, out.String(), errs.String(), want)
	}
}

// Later screens show what happened since one before, by the second. A server that began again
// counts from zero.
func TestTopLooksBack(t *testing.T) {
	now := parseFigures(busyFigures)
	before := parseFigures(strings.NewReplacer(
		"1e+06", "900000", `busy"} 9`, `busy"} 1`, `le="0.001"} 50`, `le="0.001"} 45`, `le="0.002"} 98`, `le="0.002"} 88`,
		`le="0.004"} 99`, `le="0.004"} 89`, `le="+Inf"} 100`, `le="+Inf"} 90`, "_total 3e+06", "_total 5e+06",
	).Replace(busyFigures))
	screen := now.screen(before, 10*time.Second)
	for _, want := range []string{
		"in the last 10 s:", "in 10000/s ", "2400 kbit/s", "p50 1 ms   p99 2 ms",
		"refused      16: busy 9", // of all
	} {
		if !strings.Contains(screen, want) {
			t.Errorf("%q is missing in\n%s", want, screen)
		}
	}
}
