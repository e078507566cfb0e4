package netsim

import (
	"time"

	"meanwhile/geom"
)

// Streams of a link: one per concern, so that changing one parameter leaves the others' numbers as
// they were.
const (
	forLoss uint64 = iota + 1
	forJitter
	forDuplicate
	forPause
	forCross
	forCell
	forFade
	forPhase
)

// exponential returns a span with the given mean, of an exponential distribution.
func exponential(r *geom.Rand, mean time.Duration) time.Duration {
	return time.Duration(float64(float64(mean) * -geom.Log(1-r.Float64())))
}

// normal draws from N(0, 1) by the polar method (Marsaglia and Bray 1964).
func normal(r *geom.Rand) float64 {
	for {
		x, y := float64(2*r.Float64())-1, float64(2*r.Float64())-1
		if s := float64(x*x) + float64(y*y); s < 1 && s > 0 {
			return float64(x * geom.Sqrt(float64(-2*geom.Log(s))/s))
		}
	}
}

// pareto returns a span of a Pareto distribution with the given shape, at least low, cut off at
// high.
func pareto(r *geom.Rand, low, high time.Duration, shape float64) time.Duration {
	x := float64(float64(low) * geom.Exp(-geom.Log(1-r.Float64())/shape))
	if !(x < float64(high)) {
		return high
	}
	return time.Duration(x)
}

// draw returns one datagram's jitter.
func (j Jitter) draw(r *geom.Rand) time.Duration {
	x := 0.0
	switch j.Shape {
	case UniformJitter:
		x = float64(float64(j.Scale) * r.Float64())
	case HalfNormalJitter:
		x = float64(float64(j.Scale) * normal(r))
		if x < 0 {
			x = -x
		}
	case LogNormalJitter:
		x = float64(float64(j.Scale) * geom.Exp(float64(j.Sigma*normal(r))))
	}
	if !(x < float64(MaxDelay)) {
		return MaxDelay
	}
	return time.Duration(x)
}
