package baseline

import (
	"testing"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/snapshot"
)

// still is a World in which everything is as wrong, and has gone as far, as these say.
type still struct {
	off float64
	way int64
}

func (s still) Wrong(int32, clock.Tick) (float64, int64) { return s.off, s.way }

func order(t *testing.T, name string, w World) func(metres float64, waited clock.Tick) int {
	t.Helper()
	for _, o := range Orders() {
		if o.Name == name {
			made := o.New(w)
			if !made.Unannounced {
				t.Errorf("%s announces", name)
			}
			return func(metres float64, waited clock.Tick) int {
				s := made.Score(snapshot.Waiting{Weight: made.Weight(int64(metres*1000), 1), Waited: waited})
				if s < 0 || s > snapshot.MostScore {
					t.Errorf("%s: score %d at %.0f m after %d ticks, outside [0, %d]", name, s, metres, waited, snapshot.MostScore)
				}
				return s
			}
		}
	}
	t.Fatalf("no order %s", name)
	return nil
}

// TestRyzomOrder checks that scores grow with time over distance, and that only what went further
// than a hundredth of its distance is sent, however near it came back.
//
// seeds: R20 R22 R24
func TestRyzomOrder(t *testing.T) {
	score := order(t, "ryzom", still{way: 100_000})
	if a, b := score(10, 4), score(40, 16); a-b > 1 || b-a > 1 {
		t.Errorf("10 m after 4 ticks %d, 40 m after 16 %d: want the same", a, b)
	}
	if score(10, 5) >= score(10, 10) || score(10, 5) <= score(20, 5) {
		t.Error("the score does not grow with time, or not with nearness")
	}
	if score := order(t, "ryzom", still{way: 990}); score(108, 50) != 0 || score(90, 50) == 0 {
		t.Error("a way of 99 cm should count up to 99 m, about")
	}
}

// seeds: R27
func TestRyzomBuckets(t *testing.T) {
	score := order(t, "ryzom-buckets", nil)
	// 3, 7 and 15 m lie in the buckets of each, each second and each fourth pass.
	if score(3, 1) != score(7, 2) || score(7, 2) != score(15, 4) || score(3, 1) <= score(7, 1) {
		t.Errorf("scores %d %d %d %d", score(3, 1), score(7, 2), score(15, 4), score(7, 1))
	}
	if score(5, 3) != score(7, 3) {
		t.Error("within a bucket distance counts")
	}
}

func TestPlainOrders(t *testing.T) {
	if age := order(t, "age", nil); age(5, 3) != age(500, 3) || age(5, 3) >= age(5, 4) {
		t.Error("age: distance counts, or time does not")
	}
	if far := order(t, "distance", nil); far(5, 1) != far(5, 100) || far(5, 1) <= far(6, 100) {
		t.Error("distance: time counts, or nearness does not")
	}
}

func TestOracles(t *testing.T) {
	little, much := order(t, "oracle", still{off: 100}), order(t, "oracle", still{off: 1000})
	if a, b := little(10, 1), much(100, 1); a-b > 2 || b-a > 2 {
		t.Errorf("10 cm at 10 m %d, 1 m at 100 m %d: want the same", a, b)
	}
	if little(10, 1) >= much(10, 1) {
		t.Error("oracle: errors do not count")
	}
	little, much = order(t, "oracle-flat", still{off: 100}), order(t, "oracle-flat", still{off: 1000})
	if little(5, 1) >= much(500, 1) || little(5, 1) != little(500, 1) {
		t.Error("oracle-flat: distance counts, or errors do not")
	}
	if zero := order(t, "oracle", still{}); zero(10, 1) != 0 {
		t.Error("oracle: what is right is urgent")
	}
}
