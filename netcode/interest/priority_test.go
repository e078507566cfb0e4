package interest

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestScore(t *testing.T) {
	s := Scale{Near: 1000, Creep: 10}
	for _, c := range []struct {
		name     string
		err, age uint32
		distance int64
		want     float64 // radians
	}{
		{"1 m at 1 m", 1000, 0, 1000, 1},
		{"1 m at 10 m", 1000, 0, 10_000, 0.1},
		{"nearer than Near", 1000, 0, 1, 1},
		{"at the same place", 1000, 0, 0, 1},
		{"age alone: 100 ticks of 1 cm", 0, 100, 10_000, 0.1},
		{"both", 1000, 100, 10_000, 0.2},
		{"up to date", 0, 0, 10_000, 0},
		{"a millimetre at 1000 km", 1, 0, 1e9, 1.0 / Radian},
		{"more than fits", math.MaxUint32, math.MaxUint32, 1, math.MaxUint32 / float64(Radian)},
	} {
		got := float64(s.Priority(c.err, c.age, c.distance*c.distance)) / Radian
		if math.Abs(got-c.want) > 0.005*c.want {
			t.Errorf("%s: %.6f, want %.6f", c.name, got, c.want)
		}
	}
	if got := (Scale{Near: -5}).Weight(-3); got != math.MaxUint32 {
		t.Errorf("weight at distance 0 with Near 1: %d", got)
	}
	if a, b := PerBits(1000, 64, 32), PerBits(1000, 0, 1); a != 500 || b != 1000 {
		t.Errorf("PerBits: %d, %d; want 500, 1000", a, b)
	}
	if a, b, c := PerBits(1, 640, 32), PerBits(0, 1, 32), PerBits(math.MaxUint32, 1, 32); a != 1 || b != 0 || c != math.MaxUint32 {
		t.Errorf("PerBits at its bounds: %d, %d, %d", a, b, c)
	}
}

func TestWeight(t *testing.T) {
	s := Scale{}
	last := uint32(math.MaxUint32)
	for d2 := int64(1); d2 > 0 && d2 < math.MaxInt64/2; d2 += 1 + d2/500 {
		got, want := s.Weight(d2), math.Min(math.MaxUint32, (1<<32)/math.Sqrt(float64(d2)))
		if got > last {
			t.Fatalf("weight grows to %d at %d", got, d2)
		}
		if last = got; math.Abs(float64(got)-want) > 0.004*want+1 {
			t.Fatalf("at %d: weight %d, want %.1f", d2, got, want)
		}
	}
	if got := s.Weight(math.MaxInt64); got != 1 {
		t.Errorf("the least weight is %d, want 1", got)
	}
}

func TestSelectEqualsObvious(t *testing.T) {
	var dst []Key
	rapid.Check(t, func(t *rapid.T) {
		score := rapid.OneOf(rapid.Uint32(), rapid.Uint32Range(0, 40), rapid.Uint32Range(1000, 1010), rapid.Just(uint32(math.MaxUint32)))
		var keys, all []Key
		for id := range rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, 400)).Draw(t, "keys") {
			k := MakeKey(score.Draw(t, "score"), uint32(id))
			keys = append(keys, k)
			if k.Score() > 0 {
				all = append(all, k)
			}
		}
		if rapid.Bool().Draw(t, "backwards") {
			slices.Reverse(keys)
		}
		k := rapid.OneOf(rapid.IntRange(-1, 40), rapid.IntRange(0, len(keys)+1)).Draw(t, "k")
		slices.SortFunc(all, func(a, b Key) int {
			if a.Score() != b.Score() {
				return int(int64(b.Score()) - int64(a.Score()))
			}
			return int(int64(a.ID()) - int64(b.ID()))
		})
		dst = Select(keys, k, dst)
		if want := all[:max(0, min(k, len(all)))]; !slices.Equal(dst, want) {
			t.Fatalf("Select(%d of %d) = %x, want %x", k, len(keys), dst, want)
		}
	})
}

func TestScoreBuckets(t *testing.T) {
	if got := scoreBucket(math.MaxUint32); got != scoreBuckets-1 {
		t.Errorf("the last bucket is %d, want %d", got, scoreBuckets-1)
	}
	for b := range scoreBuckets {
		least := leastScore(b)
		if scoreBucket(least) != b || least > 0 && scoreBucket(least-1) != b-1 {
			t.Errorf("bucket %d does not begin at %d", b, least)
		}
	}
}

// Walkers of equal speed at 5, 20 and 80 m, and one of double speed: rates of records go with
// speed over distance, and among 200 others nobody out of date waits for ever.
//
// seeds: R20, R21, R24
func TestRates(t *testing.T) {
	type entity struct {
		distance, speed, err, age, sent, worst uint32
	}
	s := Scale{Near: 1000, Creep: 50}
	entities := []entity{{distance: 5000, speed: 250}, {distance: 20_000, speed: 250}, {distance: 80_000, speed: 250}, {distance: 20_000, speed: 500}}
	for i := range 200 {
		entities = append(entities, entity{distance: 10_000 + uint32(i)*1000, speed: uint32(i%4) * 100})
	}
	const changed = 17 // no speed, but out of date once: its err stays 1 mm
	entities[changed] = entity{distance: 200_000, err: 1, age: 1}
	var keys, best []Key
	for range 8000 {
		keys = keys[:0]
		for i := range entities {
			e := &entities[i]
			if e.speed > 0 {
				e.err += e.speed
			}
			if e.err > 0 {
				e.age++
			}
			e.worst = max(e.worst, e.age)
			keys = append(keys, MakeKey(s.Priority(e.err, e.age, int64(e.distance)*int64(e.distance)), uint32(i)))
		}
		best = Select(keys, 4, best)
		for _, k := range best {
			e := &entities[k.ID()]
			e.err, e.age, e.sent = 0, 0, e.sent+1
		}
	}
	near, middle, far, fast := &entities[0], &entities[1], &entities[2], &entities[3]
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"5 m to 20 m", float64(near.sent) / float64(middle.sent), 4},
		{"20 m to 80 m", float64(middle.sent) / float64(far.sent), 4},
		{"double speed", float64(fast.sent) / float64(middle.sent), 2},
	} {
		if math.Abs(c.got-c.want) > 0.25*c.want {
			t.Errorf("%s: ratio of rates %.2f, want about %.0f", c.name, c.got, c.want)
		}
	}
	t.Logf("periods of ticks: %.1f %.1f %.1f %.1f, a change of 1 mm waited %d ticks",
		8000/float64(near.sent), 8000/float64(middle.sent), 8000/float64(far.sent), 8000/float64(fast.sent), entities[changed].worst)
	for i, e := range entities {
		if (e.speed > 0 || i == changed) && e.sent == 0 {
			t.Errorf("entity %d never had a turn", i)
		}
		if e.speed == 0 && i != changed && e.sent > 0 {
			t.Errorf("entity %d rests and was sent %d times", i, e.sent)
		}
	}
	if e := entities[changed]; e.worst > 700 || e.sent != 1 {
		t.Errorf("a change of 1 mm at 200 m waited %d ticks, was sent %d times", e.worst, e.sent)
	}
}
