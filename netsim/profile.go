package netsim

import (
	"strings"
	"time"

	"meanwhile/geom"
	"meanwhile/internal/fault"
)

// A Profile is a kind of path: both directions. It is a value; change a copy as you like.
type Profile struct {
	Name     string
	Down, Up LinkConfig // server to client, client to server
}

// WithTraces returns p with recorded capacities in place of its own; nil keeps that direction.
// Delay, loss and the other traffic stay.
func (p Profile) WithTraces(down, up *Trace) Profile {
	replace := func(c *LinkConfig, t *Trace) {
		if t != nil {
			c.Rate, c.Cell, c.Trace = 0, Cell{}, t
		}
	}
	replace(&p.Down, down)
	replace(&p.Up, up)
	return p
}

func seeds(seed uint64) (down, up uint64) {
	r := geom.NewRand(seed)
	return r.Uint64(), r.Uint64()
}

const ms = time.Millisecond

func both(name string, c LinkConfig) Profile { return Profile{name, c, c} }

func cellular(name string, delay time.Duration, down, up Cell, cross float64) Profile {
	return Profile{
		Name: name,
		Down: LinkConfig{Delay: delay, Cell: down, Cross: cross},
		Up:   LinkConfig{Delay: delay, Cell: up, Cross: cross},
	}
}

// Capacities that resemble one-minute cuts of the recordings made for Winstein, Sivaraman and
// Balakrishnan, "Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular
// Networks", NSDI 2013, as the mahimahi emulator distributes them. The parameters were found by
// random search so that these agree: mean; deviation of the capacity in windows of 5 ms to 2 s; its
// correlation at 500 ms; share of empty milliseconds; gaps per minute longer than 10 ms to 1 s; and
// the delay quantiles of a 20 Hz flow among other traffic. TestCells holds them to it.
var (
	tmobileDown = Cell{
		Mean: 16_160_000, Grant: 3.5, Slow: Wander{0.43, 3750 * ms}, Fast: Wander{0.38, 10 * ms},
		FadesPerMinute: 61, FadeMean: 60 * ms,
		OutagesPerMinute: 4, OutageMin: 140 * ms, OutageMax: 1000 * ms, OutageShape: 2.8,
	}
	verizonDown = Cell{
		Mean: 4_760_000, Grant: 1.34, Slow: Wander{0.48, 4900 * ms}, Fast: Wander{0.62, 27 * ms},
		FadesPerMinute: 27, FadeMean: 80 * ms,
		OutagesPerMinute: 2.7, OutageMin: 63 * ms, OutageMax: 600 * ms, OutageShape: 2.7,
	}
	verizonUp = Cell{
		Mean: 6_040_000, Grant: 1.7, Slow: Wander{0.49, 4000 * ms}, Fast: Wander{0.18, 36 * ms},
		FadesPerMinute: 38, FadeMean: 64 * ms,
		OutagesPerMinute: 2.5, OutageMin: 240 * ms, OutageMax: 2050 * ms, OutageShape: 0.61,
	}
	attDown = Cell{
		Mean: 4_370_000, Grant: 1.2, Slow: Wander{0.8, 2400 * ms}, Fast: Wander{0.46, 34 * ms},
		FadesPerMinute: 31, FadeMean: 85 * ms,
		OutagesPerMinute: 4, OutageMin: 190 * ms, OutageMax: 1350 * ms, OutageShape: 0.5,
	}
	attUp = Cell{
		Mean: 1_950_000, Grant: 1.24, Slow: Wander{0.9, 690 * ms}, Fast: Wander{0.63, 31 * ms},
		FadesPerMinute: 28, FadeMean: 48 * ms,
		OutagesPerMinute: 4.5, OutageMin: 470 * ms, OutageMax: 4500 * ms, OutageShape: 0.4,
	}
	evdoDown = Cell{
		Mean: 690_000, Grant: 1.43, Slow: Wander{0.33, 5000 * ms}, Fast: Wander{0.8, 24 * ms},
		FadesPerMinute: 48, FadeMean: 60 * ms,
		OutagesPerMinute: 2.5, OutageMin: 400 * ms, OutageMax: 900 * ms, OutageShape: 3,
	}
)

// The profiles. Delays are one way; of the cellular ones each direction has its own capacity.
var (
	// Fiber is a good wired line.
	Fiber = both("fiber", LinkConfig{Delay: 12 * ms, Jitter: LogNormal(400*time.Microsecond, 0.5),
		Loss: Loss{InGood: 0.0005}})
	// HotelWiFi is a shared radio that leaves for 60 to 180 ms every 12 s.
	HotelWiFi = both("wifi", LinkConfig{
		Delay: 15 * ms, Jitter: LogNormal(3*ms, 0.9), Loss: Loss{InGood: 0.005},
		Pause: Pause{Every: 12 * time.Second, Min: 60 * ms, Max: 180 * ms},
	})
	// BurstLoss loses runs of datagrams, about 2.5 % in all.
	BurstLoss = both("burst", LinkConfig{
		Delay: 25 * ms, Jitter: LogNormal(2*ms, 0.6),
		Loss: Loss{ToBad: 0.01, ToGood: 0.35, InGood: 0.002, InBad: 0.8},
	})
	// CityLTE is a fast cell, UrbanLTE a slower one, TrainLTE one that is driven through, with
	// outages of seconds.
	CityLTE  = cellular("lte-a", 20*ms, tmobileDown, verizonUp, 0.35)
	UrbanLTE = cellular("lte-b", 20*ms, verizonDown, verizonUp, 0.35)
	TrainLTE = cellular("lte-c", 20*ms, attDown, attUp, 0.35)
	// EVDO is third-generation mobile: 0.7 Mbit/s down.
	EVDO = cellular("evdo", 40*ms, evdoDown, attUp, 0.35)
	// LAN is one building.
	LAN = both("lan", LinkConfig{Delay: 500 * time.Microsecond})
	// Ocean is another continent: jitter that reorders, and 5 % loss each way in runs of 3.
	Ocean = both("ocean", LinkConfig{
		Delay: 75 * ms, Jitter: HalfNormal(30 * ms), Reorder: true, Loss: Bursts(0.05, 3),
	})
	// Modem is a telephone line of 13 kbit/s each way with a queue of 2 kB.
	Modem = both("modem", LinkConfig{Delay: 120 * ms, Rate: 13_000, Queue: 2_000})
)

// Holdout returns the i-th of HoldoutCount profiles that nothing is ever tuned on, so that
// measurements on them are honest. It panics if i is outside [1, HoldoutCount].
func Holdout(i int) Profile { return holdouts[i-1] }

// HoldoutCount is the number of profiles kept aside, held-1 to held-8.
const HoldoutCount = 8

var holdouts = [HoldoutCount]Profile{
	// A telephone cable: wired, with a little queueing.
	both("held-1", LinkConfig{Delay: 18 * ms, Jitter: LogNormal(1200*time.Microsecond, 0.8),
		Loss: Loss{InGood: 0.001}}),
	// A crowded radio in a block of flats.
	both("held-2", LinkConfig{
		Delay: 9 * ms, Jitter: LogNormal(5*ms, 0.8), Loss: Loss{InGood: 0.012},
		Pause: Pause{Every: 7 * time.Second, Min: 40 * ms, Max: 220 * ms},
	}),
	// Longer runs of loss than burst, rarer.
	both("held-3", LinkConfig{
		Delay: 38 * ms, Jitter: LogNormal(3*ms, 0.5),
		Loss: Loss{ToBad: 0.006, ToGood: 0.2, InGood: 0.001, InBad: 0.65},
	}),
	// A radio with other people's downloads behind a slow line.
	{
		Name: "held-4",
		Down: LinkConfig{Delay: 14 * ms, Jitter: LogNormal(2*ms, 1), Loss: Loss{InGood: 0.003}, Rate: 6_000_000,
			Queue: 120_000, Cross: 0.5},
		Up: LinkConfig{Delay: 14 * ms, Jitter: LogNormal(2*ms, 1), Loss: Loss{InGood: 0.003}, Rate: 1_000_000,
			Queue: 50_000, Cross: 0.5},
	},
	// A cell that is walked through.
	cellular("held-5", 24*ms,
		Cell{
			Mean: 9_000_000, Grant: 2.2, Slow: Wander{0.6, 6 * time.Second}, Fast: Wander{0.5, 20 * ms},
			FadesPerMinute: 40, FadeMean: 45 * ms,
			OutagesPerMinute: 3, OutageMin: 120 * ms, OutageMax: 900 * ms, OutageShape: 1.5,
		},
		Cell{
			Mean: 3_000_000, Grant: 1.5, Slow: Wander{0.6, 5 * time.Second}, Fast: Wander{0.4, 25 * ms},
			FadesPerMinute: 50, FadeMean: 50 * ms,
			OutagesPerMinute: 3, OutageMin: 150 * ms, OutageMax: 1500 * ms, OutageShape: 1,
		}, 0.3),
	// A cell at its edge.
	cellular("held-6", 30*ms,
		Cell{
			Mean: 2_200_000, Grant: 1.3, Slow: Wander{0.7, 3 * time.Second}, Fast: Wander{0.6, 40 * ms},
			FadesPerMinute: 60, FadeMean: 60 * ms,
			OutagesPerMinute: 4, OutageMin: 150 * ms, OutageMax: 1200 * ms, OutageShape: 0.8,
		},
		Cell{
			Mean: 900_000, Grant: 1.2, Slow: Wander{0.7, 2 * time.Second}, Fast: Wander{0.6, 40 * ms},
			FadesPerMinute: 50, FadeMean: 60 * ms,
			OutagesPerMinute: 3, OutageMin: 200 * ms, OutageMax: 2500 * ms, OutageShape: 0.7,
		}, 0.3),
	// Third-generation mobile with more capacity than evdo and longer stops.
	cellular("held-7", 45*ms,
		Cell{
			Mean: 1_400_000, Grant: 1.6, Slow: Wander{0.45, 4 * time.Second}, Fast: Wander{0.7, 30 * ms},
			FadesPerMinute: 40, FadeMean: 70 * ms,
			OutagesPerMinute: 2, OutageMin: 300 * ms, OutageMax: 1600 * ms, OutageShape: 1.2,
		},
		Cell{
			Mean: 700_000, Grant: 1.4, Slow: Wander{0.5, 3 * time.Second}, Fast: Wander{0.6, 30 * ms},
			FadesPerMinute: 40, FadeMean: 60 * ms,
			OutagesPerMinute: 2, OutageMin: 300 * ms, OutageMax: 2000 * ms, OutageShape: 1,
		}, 0.2),
	// Far away, with jitter that reorders and a radio at the end.
	both("held-8", LinkConfig{
		Delay: 55 * ms, Jitter: HalfNormal(40 * ms), Reorder: true, Loss: Bursts(0.02, 2), Duplicate: 0.005,
		Pause: Pause{Every: 20 * time.Second, Min: 50 * ms, Max: 150 * ms},
	}),
}

// Profiles returns all profiles except those kept aside.
func Profiles() []Profile {
	return []Profile{Fiber, HotelWiFi, BurstLoss, CityLTE, UrbanLTE, TrainLTE, EVDO, LAN, Ocean, Modem}
}

// names returns the names that ByName knows.
func names() []string {
	var names []string
	for _, p := range append(Profiles(), holdouts[:]...) {
		names = append(names, p.Name)
	}
	return names
}

// ByName returns the profile with the given name. The error lists the names there are.
func ByName(name string) (Profile, error) {
	for _, p := range append(Profiles(), holdouts[:]...) {
		if p.Name == name {
			return p, nil
		}
	}
	return Profile{}, fault.Errorf("netsim: no profile %q; there are: %s", name, strings.Join(names(), " "))
}
