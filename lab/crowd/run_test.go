package crowd

import "testing"

// small runs a small crowd whose clients can know everybody.
func small(t *testing.T, cfg Config, warm, ticks int) (*Run, *Quality) {
	t.Helper()
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var q Quality
	for i := range warm + ticks {
		var look *Quality
		if i >= warm {
			look = &q
		}
		if err := r.Tick(look); err != nil {
			t.Fatal(err)
		}
	}
	return r, &q
}

// TestRunKnowsTheTruth checks that viewers of a crowd that fits into its budget hold what is true
// half a tick's way ago, that the bits of all uses are those that were sent, and that they stay
// within the budget.
//
// seeds: R3
func TestRunKnowsTheTruth(t *testing.T) {
	const budget = 64_000
	cfg := Config{Walkers: 30, Hot: true, Budget: budget, Properties: Few, Viewers: 6, Seed: 1}
	r, q := small(t, cfg, 60, 60)
	if want := 6 * 60 * 29; q.Things != want || q.Known != want || q.Named != want {
		t.Errorf("%d things, %d known, %d named, want %d", q.Things, q.Known, q.Named, want)
	}
	// A walker moves up to 35 cm a tick; a packet a tick takes one tick, or two after a loss.
	for name, m := range map[string]float64{"held": q.Held[3].Value(), "carried": q.Carried[3].Value()} {
		if m == 0 || m > 60 {
			t.Errorf("%s %.1f cm wrong, want up to 60", name, m)
		}
	}
	cfg.Interpolated = true
	_, past := small(t, cfg, 60, 60)
	if max(q.Carried[3].Value(), q.Drawn[3].Value()) >= q.Held[3].Value() ||
		past.Held[3].Value() >= past.Drawn[3].Value() {
		t.Errorf("carried %.1f cm and drawn %.1f, held %.1f, drawn in the past %.1f: each should be nearer than the next",
			q.Carried[3].Value(), q.Drawn[3].Value(), q.Held[3].Value(), past.Drawn[3].Value())
	}
	c, _ := r.Downlink()
	bits := c.MovingBits + c.FirstBits + c.GoneBits + c.OtherBits
	if body := 8*r.Sums.Bytes - c.HeaderBits; bits == 0 || bits > body || bits < body*8/10 {
		t.Errorf("%d bits of entries in %d bits behind headers", bits, body)
	}
	if r.Sums.MaxWindow > budget || r.Sums.MaxWindow < budget/4 {
		t.Errorf("%d bits in one second, budget %d", r.Sums.MaxWindow, budget)
	}
}

// TestRunRepeats checks that one seed gives one result, and that the number of workers changes
// nothing.
func TestRunRepeats(t *testing.T) {
	cfg := Config{Walkers: 40, Budget: 13_000, Properties: Many, Viewers: 3, Seed: 7}
	a, p := small(t, cfg, 40, 20)
	cfg.Workers = 3
	b, q := small(t, cfg, 40, 20)
	if a.Sums != b.Sums || p.Held != q.Held || p.Drawn != q.Drawn {
		t.Errorf("%+v %v, with three workers %+v %v", a.Sums, p.Held, b.Sums, q.Held)
	}
	cfg.Seed = 8
	if c, _ := small(t, cfg, 40, 20); c.Sums == a.Sums {
		t.Errorf("another seed gives the same %+v", c.Sums)
	}
}

// TestTravel checks that each scene finds something.
func TestTravel(t *testing.T) {
	cfg := Config{Walkers: 50, Hot: true, Budget: 64_000, Properties: Few, Viewers: 3, Seed: 1}
	for _, scene := range []string{Enter, Ride, Teleport} {
		got, err := Travel(cfg, scene)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{Enter: 3, Teleport: jumps * 3}[scene]
		for g, s := range got.Seconds {
			if len(s) != want {
				t.Errorf("%s: %d waits for %s, want %d", scene, len(s), Goals[g], want)
			}
			for i, v := range s {
				if v <= 0 || v >= got.Horizon {
					t.Errorf("%s: player %d waited %.2f s for %s, of %.0f", scene, i, v, Goals[g], got.Horizon)
				}
			}
		}
		if got.Unknown > 0.05 {
			t.Errorf("%s: %.3f unknown", scene, got.Unknown)
		}
	}
}
