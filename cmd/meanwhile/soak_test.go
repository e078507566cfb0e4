package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// A soak names what fell short: memory, ticks, faults and goroutines.
func TestSoakVerdict(t *testing.T) {
	flat := []float64{100, 120, 100, 100, 101, 100}
	rows := func(p99 ...float64) (list []soakRow) {
		for _, p := range p99 {
			list = append(list, soakRow{P99: p})
		}
		return list
	}
	for _, c := range []struct {
		name string
		v    soakVerdict
		want string
	}{
		{"ok", soakVerdict{looks: flat, rows: rows(4, 8, 4), Before: 30, After: 40}, ""},
		{"nothing", soakVerdict{}, "nothing was measured"},
		{"leak", soakVerdict{looks: []float64{100, 100, 100, 100, 104, 108}, rows: rows(4)},
			"the heap grew by 8.0 % in the second half, at most 2 % is allowed"},
		{"slower", soakVerdict{looks: flat, rows: rows(4, 16)},
			"ticks took 4 times as long as in the first part (99 of 100), at most 2 is allowed"},
		{"faults", soakVerdict{looks: flat, rows: []soakRow{{P99: 4, Faults: 2}}}, "2 callbacks panicked or rooms failed"},
		{"desyncs", soakVerdict{looks: flat, rows: []soakRow{{P99: 4, Desyncs: 3}}},
			"3 times a room that was computed again came out otherwise"},
		{"goroutines", soakVerdict{looks: flat, rows: rows(4), Before: 30, After: 41},
			"41 goroutines were left of 30 before, at most 10 more are allowed"},
		{"lost", soakVerdict{looks: flat, rows: rows(4), Short: []string{"the load is not ok"}}, "the load is not ok"},
	} {
		c.v.judge()
		if got := strings.Join(c.v.Short, "; "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A row is what happened between two looks at the server's figures.
func TestSoakRow(t *testing.T) {
	before := map[string]float64{`meanwhile_tick_seconds_bucket{le="0.001"}`: 900,
		`meanwhile_tick_seconds_bucket{le="0.002"}`: 1000, `meanwhile_tick_seconds_bucket{le="+Inf"}`: 1000,
		"meanwhile_joined_total": 10, "process_cpu_seconds_total": 5, `meanwhile_rooms_total{what="failed"}`: 1}
	now := map[string]float64{`meanwhile_tick_seconds_bucket{le="0.001"}`: 910,
		`meanwhile_tick_seconds_bucket{le="0.002"}`: 1100, `meanwhile_tick_seconds_bucket{le="+Inf"}`: 1101,
		"meanwhile_joined_total": 14, "process_cpu_seconds_total": 7.5, `meanwhile_rooms_total{what="failed"}`: 2,
		`meanwhile_players{what="human"}`: 19, `meanwhile_players{what="bot"}`: 3, "go_goroutines": 50,
		"process_resident_memory_bytes": 5e7}
	got := soakRowOf(before, now, []float64{1e6, 3e6}, 10*time.Minute)
	want := soakRow{Minute: 10, Heap: 2, RSS: 50, Goroutines: 50, Players: 19, P99: 2, CPU: 2.5, Joined: 4, Faults: 1}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// asProgram makes this test's program the program itself, for processes that it starts.
const asProgram = "MEANWHILE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// A short soak: a server and a load in processes of their own. How fast they are nobody knows, so
// the verdict may be either.
func TestSoakRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: a soak of seconds, whose server must build its program")
	}
	t.Setenv(asProgram, "1")
	var out bytes.Buffer
	b := &soakBench{players: 6, span: minSoak, trouble: 2 * time.Second, seed: 1, json: true}
	err := b.run(t.Context(), &out)
	if err != nil && !strings.HasPrefix(err.Error(), "bench: soak: ") {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var rows []soakRow
	most := 0.0 // players: those of a busy machine come late
	for _, line := range lines[:len(lines)-1] {
		var r soakRow
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Heap <= 0 || r.Goroutines <= 0 {
			t.Errorf("%s: %v", line, err)
		}
		rows, most = append(rows, r), max(most, r.Players)
	}
	var v soakVerdict
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &v); err != nil || len(rows) == 0 || most == 0 ||
		v.Before <= 0 || v.After <= 0 {
		t.Errorf("%v: %s", err, out.String())
	}
}
