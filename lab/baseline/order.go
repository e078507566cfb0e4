package baseline

import (
	"math"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/snapshot"
)

// World is what orders know of the world besides distances. Ryzom's knows how far things went;
// oracles know how wrong what a client holds is.
type World interface {
	// Wrong returns by how many millimetres a place of an entity as of a tick is wrong now, and the
	// length of its way since then, along both axes.
	Wrong(ent int32, since clock.Tick) (off float64, way int64)
}

// An Order is a rule for which records a server sends a client first, where not all have room.
type Order struct {
	Name string
	New  func(w World) *snapshot.Order
}

// Orders returns the rivals, in the order of tables. None of them announces when the next record
// comes. First sights go first in all of them, and the budget is the same.
func Orders() []Order {
	return []Order{
		{"ryzom", ryzomOrder},
		{"ryzom-buckets", ryzomBuckets},
		{"age", func(World) *snapshot.Order {
			return plainOrder(func(w snapshot.Waiting) int { return min(int(w.Waited), snapshot.MostScore) })
		}},
		{"distance", func(World) *snapshot.Order {
			return plainOrder(func(w snapshot.Waiting) int { return w.Weight })
		}},
		{"oracle", func(world World) *snapshot.Order {
			return plainOrder(func(w snapshot.Waiting) int {
				off, _ := world.Wrong(w.Ent, w.Sent)
				return oracleScore(off/metric(w.Weight), w)
			})
		}},
		{"oracle-flat", func(world World) *snapshot.Order {
			return plainOrder(func(w snapshot.Waiting) int {
				off, _ := world.Wrong(w.Ent, w.Sent)
				return oracleScore(off/oracleFlat, w)
			})
		}},
	}
}

// An oracle knows by how much what was sent last is wrong, and sends first what is most wrong times
// the ticks that it took: where an error grows evenly, records as often as the square root of its
// growth make the sum of all errors least, and sending at equal such areas does that. The score is
// its logarithm, in steps of 1/12; errors below a millimetre at 130 m do not count.
func oracleScore(wrong float64, w snapshot.Waiting) int {
	const steps, least = 12, 1.0 / (1 << 17)
	waited := float64(max(w.Waited, 1))
	return int(steps * (math.Log2(max(wrong, least)) - math.Log2(least) + math.Log2(waited)))
}

// oracleFlat is the distance in millimetres at which everything is to oracle-flat.
const oracleFlat = 10_000

// plainOrder is an order by a score that knows of the distance alone: Waiting.Weight falls by
// octave with each doubling of it.
func plainOrder(score func(snapshot.Waiting) int) *snapshot.Order {
	return &snapshot.Order{Weight: byDistance, Score: score, Unannounced: true}
}

const (
	octave     = 8
	mostWeight = 319
	nearest    = 100 // millimetres; nearer things count as so far away
)

// byDistance is a Weight that tells the distance, see metric.
func byDistance(distance, _ int64) int {
	return mostWeight - int(math.Round(octave*math.Log2(float64(max(distance, nearest)))))
}

// metric returns the distance in millimetres of a weight.
func metric(weight int) float64 { return math.Exp2(float64(mostWeight-weight) / octave) }

// ryzomOrder is that of Ryzom's front end (ryzomcore, frontend_service, distance_prioritizer): in
// each pass the score of an entity grows by 10000 over its Manhattan distance in millimetres, and
// sending resets it. A place is sent if the entity went further than a hundredth of its distance
// since, along its way: the mileage.
func ryzomOrder(world World) *snapshot.Order {
	return plainOrder(func(w snapshot.Waiting) int {
		if _, way := world.Wrong(w.Ent, w.Sent); float64(way)*100 <= metric(w.Weight) {
			return 0
		}
		return w.Weight + int(octave*math.Log2(float64(max(w.Waited, 1))))
	})
}

// ryzomBuckets is Ryzom's first algorithm, of which the sources keep a version (pair_selector,
// prioritizer, selection_generator): entities lie in buckets by distance, and the nearest bucket is
// visited in each pass, the next in every second, the one after it in every fourth. Within a bucket
// everything has its turn. Here a bucket reaches twice as far as the one before it, from 4 m on.
func ryzomBuckets(World) *snapshot.Order {
	return plainOrder(func(w snapshot.Waiting) int {
		bucket := max(math.Ceil(math.Log2(metric(w.Weight)/bucketReach)), 0)
		turns := float64(w.Waited) / math.Exp2(bucket)
		return int(turns * visits)
	})
}

const (
	bucketReach = 4000 // millimetres to the end of the nearest bucket
	visits      = 8    // score of what missed a visit, for each tick of it
)
