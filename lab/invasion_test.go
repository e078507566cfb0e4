package lab

import (
	"slices"
	"strings"
	"testing"
	"time"

	"meanwhile/netcode/clock"
)

// A small battle has all promised metrics, keeps to the budget in every second, and knows what is
// near.
//
// seeds: R45 R3 R4
func TestInvasion(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: a small battle at 13 kbit/s; lab gate --quick checks it too")
	}
	all := rows(t, "invasion", "--quick", "--seed", "2")
	if len(all) != 1 || all[0].Params["budget_bps"] != 13000.0 {
		t.Fatalf("%+v", all)
	}
	m := all[0].Metrics
	for _, name := range strings.Fields("players creatures max_window_bits held_10m_cm hitches_per_min tick_cpu_ms " +
		"held_30m_cm held_100m_cm drawn_30m_cm jolts_per_min between_30m_cm known_share records_per_s down_kbps") {
		if _, ok := m[name]; !ok {
			t.Errorf("no %s", name)
		}
	}
	if m["max_window_bits"] > 13000 || m["down_kbps"] < 8 || m["down_kbps"] > 13 {
		t.Errorf("%v bits in one second, %v kbit/s", m["max_window_bits"], m["down_kbps"])
	}
	// On the path of 50 ms a creature runs ten centimetres or more.
	if m["held_10m_cm"] < 5 || m["held_10m_cm"] > 50 || m["known_share"] < 0.98 || m["hitches_per_min"] > 1 {
		t.Errorf("held %v cm within 10 m, known %v, %v hitches", m["held_10m_cm"], m["known_share"], m["hitches_per_min"])
	}
	if m["drawn_30m_cm"] > 0.5*m["between_30m_cm"] {
		t.Errorf("at the present %v cm, between records %v cm", m["drawn_30m_cm"], m["between_30m_cm"])
	}
}

// The bits of a second are those of any second, not of whole ones.
func TestWindowSlides(t *testing.T) {
	f := &fighter{}
	var got []int
	for _, at := range []time.Duration{0, 600, 999, 1000, 1599, 1600, 5000} {
		got = append(got, f.sent(clock.Time(at*time.Millisecond), 100))
	}
	if want := []int{100, 200, 300, 300, 400, 400, 100}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
