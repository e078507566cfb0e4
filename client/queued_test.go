package client

import (
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
)

// A runner's state depends on every command that ever ran, on its order and on its tick.
type runner struct {
	Pos geom.Vec2 `net:"pos,others=1cm"`
	Sum int       `net:"int,0..999983,to=owner"`
	Ran int       `net:"int,0..999999,to=owner"`
}

type step struct {
	Move geom.Vec2 `net:"stick,5bit"`
	N    int       `net:"int,0..999"`
	Jump bool      `net:"press"`
}

var runners = game.NewKind[runner]("runner")

func trackOwn(t testing.TB, rate int) *game.Rules { return trackRules(t, rate, game.Queued, nil) }

// trackRules returns the rules of the game; pressed is called with the moment of each press.
func trackRules(
	t testing.TB,
	rate int,
	mode game.CommandMode,
	pressed func(w *game.World, moment float64),
) *game.Rules {
	t.Helper()
	d := game.Definition[step]{
		Name: "track", Rate: rate, Send: min(rate, 20), Kinds: game.Kinds(runners), Commands: mode,
		Join: func(w *game.World, name string) game.ID { return runners.Spawn(w, runner{}) },
		Act: func(w *game.World, me game.ID, c step) {
			r := runners.Get(w, me)
			r.Pos = r.Pos.Add(c.Move.Mul(5 * w.Dt()))
			r.Sum = (r.Sum*31 + c.N*7 + int(w.Tick())) % 999983
			if c.Jump {
				r.Sum = (r.Sum + w.Rand().IntN(1000) + int(w.Moment()*256)) % 999983
				if pressed != nil {
					pressed(w, w.Moment())
				}
			}
			r.Ran++
		},
		Bot: func(w *game.World, me game.ID) step {
			r := geom.NewRand(uint64(me), uint64(w.Tick()))
			return step{Move: geom.Angle(w.Tick() / 10).Dir(), N: r.IntN(1000), Jump: r.Chance(0.2)}
		},
	}
	rules, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// Queued commands are predicted exactly, however the path loses, repeats and reorders: each runs
// once, in order, at the tick that it was predicted at, and none has to be corrected. They need no
// lead.
//
// seeds: P6
func TestQueuedPredictionIsExact(t *testing.T) {
	for seed := range uint64(8) {
		d := newDuo(t, trackOwn(t, 60))
		p := d.join(clock.Time(10+10*seed)*ms, Config{})
		p.path = lossy(seed, 0.15)
		d.run(5 * time.Second)
		p.corrections, p.confirmed = 0, 0
		before, _ := d.s.Stats(p.id)
		ran := runners.Get(d.s.World(), p.c.Me()).Ran
		d.run(20 * time.Second)
		after, _ := d.s.Stats(p.id)
		if p.corrections > 0 || p.confirmed < 100 {
			t.Errorf("seed %d: %d of %d predictions were corrected", seed, p.corrections, p.confirmed)
		}
		if n := runners.Get(d.s.World(), p.c.Me()).Ran - ran; n < 1185 || n > 1215 || after.Expired != before.Expired {
			t.Errorf("seed %d: %d commands ran in 1200 ticks, %d were passed over", seed, n,
				after.Expired-before.Expired)
		}
		if st := p.c.Stats(); st.Lead > time.Duration(p.delay)+20*time.Millisecond {
			t.Errorf("seed %d: commands are made %v ahead on a path of %v", seed, st.Lead, time.Duration(p.delay))
		}
	}
}

// Rules see the moment of a press within its tick, in the prediction as on the server.
//
// seeds: B2
func TestMomentOfPress(t *testing.T) {
	for _, mode := range []game.CommandMode{game.Timed, game.Queued} {
		var server *game.World
		ran, predicted := map[game.Tick]float64{}, map[game.Tick]float64{}
		d := newDuo(t, trackRules(t, 60, mode, func(w *game.World, moment float64) {
			if w == server {
				ran[w.Tick()] = moment
			} else {
				predicted[w.Tick()] = moment
			}
		}))
		server = d.s.World()
		p := d.join(40*ms, Config{})
		p.play = func() []int64 {
			next := p.c.CommandTick() + 1
			if next%4 == 0 {
				return []int64{15, 0, int64(next) % 1000, 0}
			}
			if next%4 != 1 { // else nothing is said of when
				p.c.Pressed(p.c.time.now - clock.Time(next%16)*ms)
				p.c.Pressed(p.c.time.now - 1) // the first counts
			}
			return []int64{15, 0, int64(next) % 1000, 1}
		}
		d.run(5 * time.Second)
		clear(ran)
		clear(predicted)
		p.corrections = 0
		d.run(5 * time.Second)
		seen := map[float64]bool{}
		for tick, moment := range ran {
			if want, ok := predicted[tick]; ok && moment != want {
				t.Fatalf("mode %v, tick %d: pressed at %v, predicted %v", mode, tick, moment, want)
			}
			if (moment == 1) != (tick%4 == 1) {
				t.Fatalf("mode %v, tick %d: pressed at %v", mode, tick, moment)
			}
			seen[moment] = true
		}
		if len(ran) < 200 || len(seen) < 8 || p.corrections > 0 {
			t.Errorf("mode %v: %d presses at %d moments, %d corrections", mode, len(ran), len(seen), p.corrections)
		}
	}
}

// The same after rests, in which nothing is sent, and after pauses, in which nothing is made.
func TestQueuedAfterSilence(t *testing.T) {
	d := newDuo(t, trackOwn(t, 60))
	p := d.join(40*ms, Config{})
	p.path = lossy(3, 0.1)
	busy := true
	p.play = func() []int64 {
		if busy {
			return []int64{15, 0, int64(p.c.CommandTick()) % 1000, 0}
		}
		return []int64{0, 0, 5, 0}
	}
	d.run(5 * time.Second)
	for _, rest := range []time.Duration{200 * time.Millisecond, 700 * time.Millisecond, 2 * time.Second,
		12 * time.Second} {
		busy = false
		d.run(rest)
		busy = true
		p.corrections = 0
		d.run(3 * time.Second)
		if p.corrections > 0 {
			t.Errorf("after %v of rest %d predictions were corrected", rest, p.corrections)
		}
	}
	for _, pause := range []time.Duration{200 * time.Millisecond, 2 * time.Second, 30 * time.Second} {
		p.paused = true
		d.run(pause)
		p.paused = false
		d.run(2 * time.Second)
		p.corrections = 0
		d.run(3 * time.Second)
		if p.corrections > 0 || p.confirmed == 0 {
			t.Errorf("two seconds after a pause of %v %d predictions were corrected", pause, p.corrections)
		}
		if off := d.s.Tick() - p.c.Confirmed(); off > 30 {
			t.Errorf("after a pause of %v the newest confirmed command is of %d ticks ago", pause, off)
		}
	}
}

// How many packets carry the commands changes nothing but how long they take: each runs once, in
// order, and none is corrected.
//
// seeds: P7
func TestQueuedSendRate(t *testing.T) {
	for _, rate := range []int{30, 64} {
		for _, hz := range []int{2, 5, 10, 20, 64, 128} {
			d := newDuo(t, trackOwn(t, rate))
			p := d.join(40*ms, Config{SendRate: hz})
			p.fps = 128
			d.run(8 * time.Second)
			p.corrections, p.confirmed = 0, 0
			sent, before := p.c.Stats().Sent, clock.Tick(0)
			waits, n := clock.Tick(0), clock.Tick(0)
			d.after = func() {
				if c := p.c.CommandTick(); c > before {
					before = c
					waits += c - min(p.c.Confirmed(), c)
					n++
				}
			}
			st0, _ := d.s.Stats(p.id)
			d.run(10 * time.Second)
			st1, _ := d.s.Stats(p.id)
			packets := p.c.Stats().Sent - sent
			t.Logf("%d ticks, %d packets asked for: %.1f packets a second, commands confirmed after %v, %d passed over",
				rate, hz, float64(packets)/10,
				(time.Duration(waits) * d.s.Period() / time.Duration(max(n, 1))).Round(time.Millisecond),
				st1.Expired-st0.Expired)
			if hz > 2 && (p.corrections > 0 || st1.Expired != st0.Expired) || p.confirmed == 0 {
				t.Errorf("%d ticks and %d packets a second: %d of %d predictions corrected, %d passed over", rate, hz,
					p.corrections, p.confirmed, st1.Expired-st0.Expired)
			}
			if most := uint64(min(hz, 128)*10 + 5); packets > most {
				t.Errorf("%d packets a second were asked for, %d went in ten", hz, packets)
			}
		}
	}
}

// A wide command does not fit a packet more than a few times.
type wide struct {
	A int `net:"int,0..1000000000"`
	B int `net:"int,0..1000000000"`
	C int `net:"int,0..1000000000"`
	D int `net:"int,0..1000000000"`
	E int `net:"int,0..1000000000"`
	F int `net:"int,0..1000000000"`
	G int `net:"int,0..1000000000"`
	H int `net:"int,0..1000000000"`
	I int `net:"int,0..1000000000"`
	J int `net:"int,0..1000000000"`
	K int `net:"int,0..1000000000"`
	L int `net:"int,0..1000000000"`
	M int `net:"int,0..1000000000"`
	N int `net:"int,0..1000000000"`
	O int `net:"int,0..1000000000"`
	P int `net:"int,0..1000000000"`
}

// Where all commands that a path lost do not fit one packet, the oldest go first: what comes after
// them waits, and each runs once.
//
// seeds: P6
func TestQueuedWideCommands(t *testing.T) {
	def := game.Definition[wide]{
		Name: "wide", Rate: 60, Send: 20, Kinds: game.Kinds(runners), Commands: game.Queued,
		Join: func(w *game.World, name string) game.ID { return runners.Spawn(w, runner{}) },
		Act: func(w *game.World, me game.ID, c wide) {
			r := runners.Get(w, me)
			r.Sum = (r.Sum*31 + (c.A^c.P)%1000 + int(w.Tick())) % 999983
			r.Ran++
		},
		Bot: func(w *game.World, me game.ID) (c wide) {
			r := geom.NewRand(uint64(me), uint64(w.Tick()))
			for _, p := range []*int{&c.A, &c.B, &c.C, &c.D, &c.E, &c.F, &c.G, &c.H, &c.I, &c.J, &c.K, &c.L, &c.M,
				&c.N, &c.O, &c.P} {
				*p = r.IntN(1_000_000_000)
			}
			return c
		},
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	d := newDuo(t, rules)
	p := d.join(30*ms, Config{})
	d.run(5 * time.Second)
	for range 10 {
		p.corrections = 0
		before, _ := d.s.Stats(p.id)
		ran := runners.Get(d.s.World(), p.c.Me()).Ran
		p.path = func(up bool) []clock.Time {
			if up {
				return nil
			}
			return []clock.Time{0}
		}
		d.run(370 * time.Millisecond) // some 22 commands of 60 bytes, where 1,200 bytes fit
		p.path = nil
		d.run(1630 * time.Millisecond)
		after, _ := d.s.Stats(p.id)
		if n := runners.Get(d.s.World(), p.c.Me()).Ran - ran; p.corrections > 0 || n < 118 || n > 122 ||
			after.Expired != before.Expired {
			t.Errorf("%d corrections, %d commands ran in 120 ticks, %d were passed over", p.corrections, n,
				after.Expired-before.Expired)
		}
	}
}
