package lab

import "math"

// The oracle of leads knows how long the commands of every frame will take. On a grid of 2 frames
// by 1 ms it finds the lead over time with the least mean + inputPrice for each starved run a
// minute, among all that grow by at most 9 % and shrink by at most 3 % of real time (dynamic
// programming). A run that lasts counts once more each inputOutage; otherwise it would seem best to
// starve always. It makes its commands at the same frames as all policies, so the lead of a command
// moves in steps of a frame. It is judged by the schedule that it chose, like all policies.
const (
	leadOracleFrames = 2 // of one step
	leadOracleUp     = 3 // ms a step
	leadOracleDown   = 1
	leadOracleLevels = inputMost + 1
)

// oracle is the result of the oracle on the path of a run, whose policy must have kept one lead: so
// there is one command of each frame.
func (r *inputRun) oracle(price float64) inputResult {
	t, _ := r.trips()
	period := ms(inputPeriod)
	steps := len(t.took) / leadOracleFrames
	minutes := t.minutes()
	// With a lead of l ms a command has had[l]: the most that frames allow. They are as long as
	// ticks, so the phase is that of any command.
	phase := math.NaN()
	for _, had := range t.had {
		if !math.IsNaN(had) {
			phase = math.Mod(had, period)
			break
		}
	}
	had := make([]float64, leadOracleLevels)
	for l := range had {
		had[l] = phase + float64(period*math.Floor((float64(l)-phase)/period))
	}
	// By lead, twice: after a tick that had its command, and after a starved one.
	value, next := make([]float64, 2*leadOracleLevels), make([]float64, 2*leadOracleLevels)
	choice := make([]int8, steps*len(value))
	per := float64(price*float64(len(t.took))) / minutes
	for k := steps - 1; k >= 0; k-- {
		for was := range 2 {
			for l := range leadOracleLevels {
				cost, starved := float64(leadOracleFrames*had[l]), was
				for _, took := range t.took[k*leadOracleFrames : (k+1)*leadOracleFrames] {
					if took <= had[l] {
						starved = 0
						continue
					}
					cost += per / float64(inputOutage/inputPeriod)
					if starved == 0 {
						cost += per
					}
					starved = 1
				}
				then := value[starved*leadOracleLevels : (starved+1)*leadOracleLevels]
				best, at := then[l], 0
				for c := max(l-leadOracleDown, 0); c <= min(l+leadOracleUp, leadOracleLevels-1); c++ {
					v := then[c]
					if had[c] > had[l] && starved == 0 && k+1 < steps && t.took[(k+1)*leadOracleFrames] > had[l] {
						v += per // the first frame makes the command that is left out of the old lead, too
					}
					if v < best {
						best, at = v, c-l
					}
				}
				choice[k*len(value)+was*leadOracleLevels+l] = int8(at)
				next[was*leadOracleLevels+l] = best + cost
			}
		}
		value, next = next, value
	}
	l := 0
	for c := range leadOracleLevels {
		if value[c] < value[l] {
			l = c
		}
	}
	// Play it: a command is made at the first frame whose lead reaches its tick.
	res := inputResult{runs: 1, minutes: minutes, frames: len(t.took)}
	made, starved, before := math.MinInt, 0, 0
	for i, took := range t.took {
		tick := i + int(math.Floor((float64(l)-phase)/period))
		if made == math.MinInt {
			made = tick - 1
		}
		for ; made < tick; made++ {
			h := phase + period*float64(made+1-i)
			res.lead += h
			res.commands++
			res.ticks++
			if took <= h {
				starved = 0
				continue
			}
			res.starved++
			if starved++; starved == 1 {
				res.events++
			}
			if starved == int(inputOutage/inputPeriod)+1 {
				res.outages++
			}
		}
		if i%15 == 0 {
			res.trail = append(res.trail, xy{(float64(r.begin) + float64(i)*float64(inputPeriod)) / 1e9, float64(l)})
		}
		if i%leadOracleFrames == leadOracleFrames-1 && i/leadOracleFrames < steps {
			step := choice[i/leadOracleFrames*len(value)+before*leadOracleLevels+l]
			before = 0
			if took > had[l] {
				before = 1
			}
			l += int(step)
			res.deviation += math.Abs(float64(step)) / period
		}
	}
	return res
}
