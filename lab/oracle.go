package lab

import (
	"slices"
	"time"

	"meanwhile/netcode/clock"
)

// The oracle knows the whole stream in advance. On a grid of 50 ms by 2.5 ms it finds the delay
// over time with the least mean. Among all delays it considers those that grow by at most 25 % of
// real time (drawing slower), shrink by at most 5 % (drawing faster) and leave at most one hitch a
// minute (dynamic programming, after Moon, Kurose and Towsley 1998). No policy can do that: it is
// what a delay is worth comparing with.
const (
	oracleStep   = 50 * time.Millisecond
	oracleGrain  = 2500 * time.Microsecond
	oracleLevels = int(outagePeak/oracleGrain) + 1
	oracleUp     = int(oracleStep / 4 / oracleGrain) // levels a step
	oracleDown   = int(oracleStep / 20 / oracleGrain)
)

// oracle returns the least mean delay above the floor, in ms, at no more than perMinute hitches a
// minute, for one who may draw up to beyond later than the newest snapshot.
//
// A price on hitches finds the corners of the lower hull of (hitches, delay). Between two corners
// it returns the straight line, which no schedule can be below, so the result is a lower bound of
// the best.
func (s *stream) oracle(perMinute float64, beyond time.Duration) float64 {
	// cost[k][d]: hitches in step k at delay level d.
	from := clock.Time(playoutSkip)
	steps := int(s.measured() / oracleStep)
	cost := make([]uint8, steps*oracleLevels)
	for _, p := range s.peaks {
		k := int(p.at.Sub(from) / oracleStep)
		if k < 0 || k >= steps {
			continue
		}
		end, _ := slices.BinarySearch(s.frames, p.at)
		row := cost[k*oracleLevels : (k+1)*oracleLevels]
		for d := range row {
			// From here on there is nothing to draw at this delay.
			dry := p.stamp.Add(s.floor + beyond + time.Duration(d)*oracleGrain)
			if dry >= p.at {
				break
			}
			first, _ := slices.BinarySearch(s.frames, dry)
			if n := hitches(end - first); n > 0 {
				row[d] = uint8(min(int(row[d])+n, 255))
			}
		}
	}
	choice := make([]int8, steps*oracleLevels)
	solve := func(price float64) (delay, hitched float64) {
		value, next := make([]float64, oracleLevels), make([]float64, oracleLevels)
		for k := steps - 1; k >= 0; k-- {
			for d := range next {
				best, at := value[d], 0
				for c := max(d-oracleDown, 0); c <= min(d+oracleUp, oracleLevels-1); c++ {
					if value[c] < best {
						best, at = value[c], c-d
					}
				}
				choice[k*oracleLevels+d] = int8(at)
				next[d] = best + float64(d) + price*float64(cost[k*oracleLevels+d])
			}
			value, next = next, value
		}
		d := 0
		for c := range value {
			if value[c] < value[d] {
				d = c
			}
		}
		sum, n := 0, 0
		for k := range steps {
			sum += d
			n += int(cost[k*oracleLevels+d])
			d += int(choice[k*oracleLevels+d])
		}
		return float64(sum) / float64(steps) * ms(oracleGrain), float64(n)
	}
	allowed := perMinute * s.measured().Minutes()
	const dear = 1e9
	lowDelay, many := solve(0)
	highDelay, few := solve(dear)
	if many <= allowed {
		return lowDelay
	}
	if few > allowed {
		return highDelay
	}
	for many > few {
		// The price at which both corners cost the same finds a corner between them, if there is
		// one.
		price := (highDelay - lowDelay) / (many - few) * float64(steps) / ms(oracleGrain)
		delay, n := solve(price)
		if n >= many || n <= few {
			break
		}
		if n > allowed {
			lowDelay, many = delay, n
		} else {
			highDelay, few = delay, n
		}
	}
	if many == few {
		return highDelay
	}
	return highDelay + (lowDelay-highDelay)*(allowed-few)/(many-few)
}
