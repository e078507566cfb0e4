package snapshot

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
)

// boat is dead reckoned within 20 cm; its flag has nothing to do with that.
type boat struct {
	Pos  vec2 `net:"pos,1mm,others=1cm,draw=dr:20cm"`
	Vel  vec2 `net:"vel,1cm/s"`
	Flag int  `net:"int,0..9,group=0"`
}

func boats(t failer) *pair {
	k, err := schema.New("boat", reflect.TypeFor[boat](), 30)
	if err != nil {
		t.Fatal(err)
	}
	ks := []*schema.Kind{k}
	h := NewHistory(codec.All(ks...))
	return &pair{t: t, h: h, v: NewView(h), s: NewStore(codec.All(ks...)), sims: map[int32][]int64{}}
}

// sailed is what came of a voyage.
type sailed struct {
	records int
	worst   float64 // cm between where the client, drawing the present, has it and where it is
}

// sail plays a boat for so many ticks over a path that takes delay ticks each way and loses a share
// of packets. Until stop it sails, weaving by so much; then it stops.
func sail(t *testing.T, delay int, loss, weave float64, stop, ticks clock.Tick) (sailed, *pair, int32) {
	p := boats(t)
	type flight struct {
		at clock.Tick
		k  *packet
	}
	var down []flight
	var up []clock.Tick
	var out sailed
	var boat int32
	r := rng(7)
	pos := [2]float64{}
	for tick := clock.Tick(1); tick <= ticks; tick++ {
		p.begin()
		if tick == 1 {
			boat = p.spawn(0, false)
			p.v.Enter(boat, Observed)
		}
		way := weave * math.Sin(float64(tick)/30)
		vel := [2]float64{500 * math.Cos(way), 500 * math.Sin(way)} // cm/s
		if tick >= stop {
			vel = [2]float64{}
		}
		for c := range vel {
			pos[c] += vel[c] / 30 * 10 // mm
			p.sims[boat][c], p.sims[boat][2+c] = int64(math.Floor(pos[c]+0.5)), int64(math.Floor(vel[c]+0.5))
		}
		p.record()
		if k := p.send(plenty); k != nil {
			out.records++
			if !r.chance(loss) {
				down = append(down, flight{tick + clock.Tick(delay), k})
			}
		}
		for len(down) > 0 && down[0].at <= tick {
			p.mustArrive(down[0].k)
			down, up = down[1:], append(up, tick+clock.Tick(delay))
		}
		for len(up) > 0 && up[0] <= tick {
			up = up[1:]
			p.ack()
		}
		if held := p.s.Find(p.h.At(boat).ID); held != nil {
			s := held.Groups[0].Newest()
			dst := make([]int64, 5)
			k := p.h.kinds[0]
			motion.Draw(k, &k.Groups[0], s, nil, tick.Frac(), dst)
			d := math.Hypot(float64(dst[0])/256-pos[0]/10, float64(dst[1])/256-pos[1]/10)
			out.worst = max(out.worst, d)
		}
	}
	return out, p, boat
}

// A straight sailer is sent in fewer than one tick of twenty, one that weaves more often; without
// delay neither is ever seen further off than the bound and the rounding, with delay by what it can
// do meanwhile, and after the stop both sides are equal and silent.
//
// seeds: R6
func TestReckonedIsSentWhenItStrays(t *testing.T) {
	const stop, end = 1500, 1800
	for _, c := range []struct {
		name        string
		delay       int
		loss, weave float64
		share       float64
		worst       float64 // cm
	}{
		{"straight", 0, 0, 0, 0.03, 21.5},
		{"weaving", 0, 0, 0.6, 0.2, 21.5},
		{"straight, far away, with loss", 3, 0.1, 0, 0.03, 21.5 + 3*500/30}, // it stops
		{"weaving, far away, with loss", 3, 0.1, 0.6, 0.15, 100},
	} {
		got, p, i := sail(t, c.delay, c.loss, c.weave, stop, end)
		if share := float64(got.records) / stop; share > c.share || got.worst > c.worst {
			t.Errorf("%s: sent in %.1f %% of the ticks, at most %.1f cm off; want %v %% and %v cm", c.name,
				100*share, got.worst, 100*c.share, c.worst)
		}
		now, _ := p.h.Values(i, 0, p.tick, nil)
		if s := p.newest(i, 0); !slices.Equal(s.Vals, now) || !s.Rest || p.v.Unacked() {
			t.Errorf("%s: the client ends with %+v, the server with %v", c.name, s, now)
		}
		t.Logf("%s: %.2f %% of the ticks, %.1f cm", c.name, 100*float64(got.records)/stop, got.worst)
	}
}

// A projectile, which nobody can hit, is sent once for as long as its flight goes on, longer than
// the history reaches back, also where acknowledgements come later than the timeout. A change of
// its flight is sent at once, over lost packets too.
func TestFlightIsSentOnce(t *testing.T) {
	const turn, stop, end = 5000, 5200, 5600
	for _, loss := range []float64{0, 0.3} {
		p := boats(t)
		p.h.kinds[0].Extrapolated = true
		type flight struct {
			at clock.Tick
			k  *packet
		}
		var down []flight
		var up []clock.Tick
		var i int32
		r := rng(9)
		flying, turning := 0, 0
		for tick := clock.Tick(1); tick <= end; tick++ {
			p.begin()
			if tick == 1 {
				i = p.spawn(0, false)
				p.sims[i][2] = 600 // cm/s, 20 cm a tick
				p.v.Enter(i, Observed)
			}
			switch sim := p.sims[i]; {
			case tick < turn:
				sim[0] += 200
			case tick < stop:
				sim[2], sim[3] = 0, 300
				sim[1] += 100
			default:
				sim[3] = 0
			}
			p.record()
			if k := p.send(plenty); k != nil {
				switch {
				case tick > 200 && tick < turn:
					flying++
				case tick >= turn && tick < stop:
					turning++
				}
				if !r.chance(loss) {
					down = append(down, flight{tick + 9, k})
				}
			}
			for len(down) > 0 && down[0].at <= tick {
				p.mustArrive(down[0].k)
				down, up = down[1:], append(up, tick+9)
			}
			for len(up) > 0 && up[0] <= tick {
				up = up[1:]
				p.ack()
			}
			held := p.s.Find(p.h.At(i).ID)
			if tick < 200 || tick >= turn && tick < turn+120 || tick >= stop && tick < stop+120 {
				continue // its record is under way
			}
			dst := make([]int64, 5)
			k := p.h.kinds[0]
			motion.Draw(k, &k.Groups[0], held.Groups[0].Newest(), nil, tick.Frac(), dst)
			if d := math.Hypot(float64(dst[0])/256-float64(p.sims[i][0])/10,
				float64(dst[1])/256-float64(p.sims[i][1])/10); d > 20.5 {
				t.Fatalf("loss %v, tick %d: drawn %.1f cm off", loss, tick, d)
			}
		}
		if flying != 0 || turning == 0 || loss == 0 && turning > 8 {
			t.Errorf("loss %v: %d records in a straight flight, want 0, and %d after a turn", loss, flying, turning)
		}
		now, _ := p.h.Values(i, 0, p.tick, nil)
		if s := p.newest(i, 0); !slices.Equal(s.Vals, now) || !s.Rest || p.v.Unacked() {
			t.Errorf("loss %v: the client ends with %+v, the server with %v", loss, s, now)
		}
	}
}

// However something flies, turns, stands and jumps, and whatever is lost or comes late, both ways:
// the client has what was sent, drawn within the bound where nothing happened since all is known
// and nobody can hit it, and in the end exactly what is, in silence.
func TestReckonedProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := boats(t)
		p.h.kinds[0].Extrapolated = rapid.Bool().Draw(t, "guessed")
		loss := rapid.SampledFrom([]float64{0, 0.1, 0.4}).Draw(t, "loss")
		delay := clock.Tick(rapid.IntRange(0, 20).Draw(t, "delay"))
		r := rng(rapid.IntRange(1, 1<<20).Draw(t, "seed"))
		type flight struct {
			at clock.Tick
			k  *packet
		}
		var down []flight
		var up []clock.Tick
		var i int32
		changed := clock.Tick(0) // when something happened that nobody can foresee
		tick := func(change func(sim []int64) (cut bool)) {
			p.begin()
			if p.tick == 1 {
				i = p.spawn(0, false)
				p.v.Enter(i, Observed)
			}
			sim := p.sims[i]
			for c := range 2 { // cm/s and mm: 30 ticks a second
				sim[c] += sim[2+c] / 3
			}
			if change != nil {
				if changed = p.tick; change(sim) {
					p.record(i)
				} else {
					p.record()
				}
			} else {
				p.record()
			}
			if k := p.send(plenty); k != nil && !r.chance(loss) {
				down = append(down, flight{p.tick + delay, k})
			}
			for len(down) > 0 && down[0].at <= p.tick {
				p.mustArrive(down[0].k)
				if down = down[1:]; !r.chance(loss) {
					up = append(up, p.tick+delay)
				}
			}
			for len(up) > 0 && up[0] <= p.tick {
				up = up[1:]
				p.ack()
			}
			if p.tick < changed+400 || !p.h.kinds[0].Extrapolated { // else it stands when two repetitions are lost
				return
			}
			held, k, dst := p.s.Find(p.h.At(i).ID), p.h.kinds[0], make([]int64, 5)
			motion.Draw(k, &k.Groups[0], held.Groups[0].Newest(), nil, p.tick.Frac(), dst)
			if d := math.Hypot(float64(dst[0])/256-float64(sim[0])/10, float64(dst[1])/256-float64(sim[1])/10); d > 21.5 {
				t.Fatalf("tick %d: drawn %.1f cm off, the last change was at %d", p.tick, d, changed)
			}
		}
		speed := func() int64 { return int64(r.n(400)-200) * 3 }
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			what := rapid.SampledFrom([]string{"turn", "stand", "jump", "flag"}).Draw(t, "what")
			tick(func(sim []int64) bool {
				switch what {
				case "turn":
					sim[2], sim[3] = speed(), speed()
				case "stand":
					sim[2], sim[3] = 0, 0
				case "jump":
					sim[0] += int64(r.n(20_000))
				case "flag":
					sim[4] = (sim[4] + 1) % 10
				}
				return what == "jump"
			})
			for range rapid.SampledFrom([]int{1, 5, 60, 200, 700}).Draw(t, "ticks") {
				tick(nil)
			}
		}
		tick(func(sim []int64) bool { sim[2], sim[3] = 0, 0; return false })
		for range 1500 {
			tick(nil)
		}
		now, _ := p.h.Values(i, 0, p.tick, nil)
		if s := p.newest(i, 0); !slices.Equal(s.Vals, now) || !s.Rest || p.v.Unacked() {
			t.Errorf("the client ends with %+v, the server with %v", s, now)
		}
	})
}

// Noting that something flies on costs no memory.
func TestFlightAllocs(t *testing.T) {
	p := boats(t)
	p.h.kinds[0].Extrapolated = true
	p.begin()
	i := p.spawn(0, false)
	p.record()
	sim := p.sims[i]
	if n := testing.AllocsPerRun(100, func() {
		p.h.Begin(p.h.Tick() + 1)
		sim[0] += 100
		p.h.Record(i, sim, false)
	}); n != 0 {
		t.Errorf("%v allocations a tick", n)
	}
}

// What is not dead reckoned and a teleport are said at once, and what strays nowhere is repeated.
func TestReckonedSaysTheRest(t *testing.T) {
	p := boats(t)
	var i int32
	sent := func(change func(), cut ...int32) bool {
		p.begin()
		if change != nil {
			change()
		}
		p.sims[i][0] += 100 // 3 m/s, as it says
		p.record(cut...)
		k := p.send(plenty)
		if k != nil {
			p.mustArrive(k)
			p.ack()
		}
		return k != nil
	}
	if !sent(func() { i = p.spawn(0, false); p.sims[i][2] = 300; p.v.Enter(i, Observed) }) {
		t.Error("no first sight")
	}
	for range 20 {
		if sent(nil) {
			t.Errorf("tick %d: sent as it goes on", p.tick)
		}
	}
	if !sent(func() { p.sims[i][4] = 5 }) || p.newest(i, 0).Vals[4] != 5 {
		t.Error("the flag is not sent")
	}
	if !sent(func() { p.sims[i][0] += 10 }, i) || p.newest(i, 0).Cut != p.tick {
		t.Error("a teleport is not sent")
	}
	if sent(func() { p.sims[i][0] += 150 }) {
		t.Error("15 cm off is sent")
	}
	if !sent(func() { p.sims[i][0] += 150 }) {
		t.Error("30 cm off is not sent")
	}
	n := 0
	for range 4 * HistoryTicks {
		if sent(nil) {
			n++
		}
	}
	if want := 4 * HistoryTicks / motion.Repeat; n != want {
		t.Errorf("sent %d times in %d ticks, want %d", n, 4*HistoryTicks, want)
	}
}

// rider stands on a boat.
type rider struct {
	On  uint32 `net:"handle,parent"`
	Pos vec2   `net:"pos,1cm"`
}

// An entity that is relative to a parent is found where the parent is.
func TestPlaceOnAParent(t *testing.T) {
	p := boats(t)
	k, err := schema.New("rider", reflect.TypeFor[rider](), 30)
	if err != nil {
		t.Fatal(err)
	}
	p.h = NewHistory(codec.All(append(p.h.kinds, k)...))
	p.begin()
	on := p.spawn(0, false)
	i := p.spawn(1, false)
	p.sims[on][0], p.sims[on][1] = 50_000, -7_000 // mm
	p.sims[i][0], p.sims[i][1], p.sims[i][2] = int64(p.h.At(on).ID), 200, 300
	p.record()
	if e := p.h.At(i); e.X != 52_000 || e.Y != -4_000 {
		t.Errorf("it is at %d %d mm, want 52000 -4000", e.X, e.Y)
	}
	p.begin()
	p.sims[i][0] = 0
	p.record()
	if e := p.h.At(i); e.X != 2_000 || e.Y != 3_000 {
		t.Errorf("on nothing it is at %d %d mm, want 2000 3000", e.X, e.Y)
	}
	p.begin()
	p.sims[i][0] = int64(p.h.At(i).ID) // itself
	p.record()
	if e := p.h.At(i); e.X != 2_000 {
		t.Errorf("on itself it is at %d mm", e.X)
	}
}

// drifter is a boat that is drawn between records.
type drifter struct {
	Pos  vec2 `net:"pos,1mm,others=1cm"`
	Vel  vec2 `net:"vel,1cm/s"`
	Flag int  `net:"int,0..9,group=0"`
}

// voyage plays a path of velocities in cm/s for a minute, 100 ms away, and draws it as it was 200
// ms ago. It returns the bits of all packets, and the largest jolt: by how many cm the way drawn in
// a tick differs from the way of the tick before.
func voyage(t *testing.T, of any, path func(tick clock.Tick) (vx, vy float64)) (bits int, jolt float64) {
	k, err := schema.New("k", reflect.TypeOf(of), 30)
	if err != nil {
		t.Fatal(err)
	}
	ks := []*schema.Kind{k}
	h := NewHistory(codec.All(ks...))
	p := &pair{t: t, h: h, v: NewView(h), s: NewStore(codec.All(ks...)), sims: map[int32][]int64{}}
	type flight struct {
		at clock.Tick
		k  *packet
	}
	var down []flight
	var i int32
	var x, y float64
	var was, before [2]float64
	for tick := clock.Tick(1); tick <= 30*60; tick++ {
		p.begin()
		if tick == 1 {
			i = p.spawn(0, false)
			p.v.Enter(i, Observed)
		}
		vx, vy := path(tick)
		x, y = x+vx/30*10, y+vy/30*10
		copy(p.sims[i], []int64{int64(math.Floor(x + 0.5)), int64(math.Floor(y + 0.5)), int64(math.Floor(vx + 0.5)),
			int64(math.Floor(vy + 0.5))})
		p.record()
		if tick%3 != 0 { // 20 of 30 ticks
			if k := p.send(plenty); k != nil {
				bits += p.w.Len()
				down = append(down, flight{tick + 3, k})
			}
		}
		for len(down) > 0 && down[0].at <= tick {
			p.mustArrive(down[0].k)
			p.ack()
			down = down[1:]
		}
		held := p.s.Find(p.h.At(i).ID)
		if held == nil {
			continue
		}
		now := tick.Frac() - 6*clock.FracPerTick
		a, b := held.Groups[0].Around(now)
		dst := make([]int64, 5)
		motion.Draw(k, &k.Groups[0], a, b, now, dst)
		at := [2]float64{float64(dst[0]) / 256, float64(dst[1]) / 256}
		if tick > 60 {
			jolt = max(jolt, math.Hypot(at[0]-2*was[0]+before[0], at[1]-2*was[1]+before[1]))
		}
		was, before = at, was
	}
	return bits, jolt
}

// A vehicle takes less than a seventh of the bits when it is dead reckoned, and is nowhere drawn
// with a jolt of half its bound; someone who runs as people do still takes about half of them, and
// jolts twice as much as drawn between records: for people interpolation wins. A share falls and
// rises with what it is a share of, so bits a second are bounded too.
//
// seeds: R9
func TestReckoningIsForVehicles(t *testing.T) {
	vehicle := func(tick clock.Tick) (float64, float64) {
		a := 0.4 * math.Sin(float64(tick)/60)
		return 900 * math.Cos(a), 900 * math.Sin(a)
	}
	// As in shooters: 10 m/s, up to 90 m/s2, another direction every fifth of a second.
	r := rng(3)
	vel := make([][2]float64, 30*60+1)
	var v, to [2]float64
	for i := range vel {
		if i%6 == 0 {
			a := float64(r.n(628)) / 100
			to = [2]float64{1000 * math.Cos(a), 1000 * math.Sin(a)}
		}
		for c := range v {
			v[c] += min(max(to[c]-v[c], -300), 300)
		}
		vel[i] = v
	}
	person := func(tick clock.Tick) (float64, float64) { return vel[tick][0], vel[tick][1] }
	for _, c := range []struct {
		name            string
		path            func(clock.Tick) (float64, float64)
		fewest, most    float64 // share of the bits of what is drawn between records
		joltiest, least float64 // jolts in cm at most, and at least so many times those of what is drawn between records
		reckoned, drawn float64 // bit/s at most
	}{
		{"vehicle", vehicle, 0, 1.0 / 7, 10, 0, 55, 395},
		{"person", person, 0.4, 1, 1000, 1.8, 440, 975},
	} {
		bits, jolt := voyage(t, boat{}, c.path)
		others, smooth := voyage(t, drifter{}, c.path)
		share, times := float64(bits)/float64(others), jolt/smooth
		t.Logf("%s: %.0f bit/s dead reckoned and %.0f drawn between records, jolts of %.1f and %.1f cm",
			c.name, float64(bits)/60, float64(others)/60, jolt, smooth)
		if share < c.fewest || share > c.most || times < c.least || jolt > c.joltiest {
			t.Errorf("%s: %.2f of the bits, %.1f times the jolts", c.name, share, times)
		}
		if a, b := float64(bits)/60, float64(others)/60; a > c.reckoned || b > c.drawn {
			t.Errorf("%s: %.1f and %.1f bit/s, want at most %v and %v", c.name, a, b, c.reckoned, c.drawn)
		}
	}
}
