package lab

import (
	"testing"
	"time"

	"meanwhile/internal/verify/golden"
	"meanwhile/netsim"
)

// Dead reckoning is for what moves steadily: vehicles in lanes need a fraction of the records and
// bits of snapshots. Those who dodge need more bits, and jolt. Carried on, snapshots are as near.
//
// seeds: R6 R7 R9
func TestDeadReckoningIsForVehicles(t *testing.T) {
	const span = 20 * time.Second
	tracks := reckonTracks(2, span+reckonSettle+time.Second)
	run := func(mode string, movement int) reckonRun {
		g, err := watchReckoned(mode, tracks[movement], 2, netsim.HotelWiFi, span)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	const steady, humanoid = 0, 2
	plain, carried, reckoned := run("interpolate", steady), run("carry", steady), run("reckon-50", steady)
	if reckoned.records*10 > plain.records || reckoned.bits*2 > plain.bits {
		t.Errorf("vehicles: %d records and %d bits reckoned, %d and %d as snapshots", reckoned.records, reckoned.bits,
			plain.records, plain.bits)
	}
	for name, g := range map[string]reckonRun{"carried": carried, "reckoned": reckoned} {
		if e := quantile(g.errs, 0.95); e > quantile(plain.errs, 0.95)/4 || g.kinks*10 > plain.kinks {
			t.Errorf("vehicles %s: %.0f cm off, %d kinks; %.0f cm between records", name, e, g.kinks, quantile(plain.errs, 0.95))
		}
	}
	plain, carried, reckoned = run("interpolate", humanoid), run("carry", humanoid), run("reckon-10", humanoid)
	if reckoned.bits < plain.bits || reckoned.jolts < 3*plain.jolts {
		t.Errorf("shooters: %d bits and %d jolts reckoned, %d and %d as snapshots", reckoned.bits, reckoned.jolts,
			plain.bits, plain.jolts)
	}
	if c, p := average(carried.errs), average(plain.errs); c > p*3/4 {
		t.Errorf("shooters: carried %.0f cm off, between records %.0f", c, p)
	}
}

// The figures on the page are what the experiment draws.
func TestDeadReckoningFigures(t *testing.T) {
	path, err := reckonFigure(netsim.HotelWiFi, 1)
	if err != nil {
		t.Fatal(err)
	}
	twins, err := twinsFigure(netsim.HotelWiFi, 1)
	if err != nil {
		t.Fatal(err)
	}
	for file, f := range map[string]figure{"deadreckon-path": path, "deadreckon-twins": twins} {
		svg, err := f.svg()
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, "../docs/results/"+file+".svg", string(svg))
	}
}
