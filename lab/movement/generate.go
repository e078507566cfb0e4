package movement

import (
	"math"
	"math/rand/v2"
	"time"

	"meanwhile/geom"
)

// Generate makes things of a sort move for a while, rate times a second, and samples them at even
// steps. One seed gives one result.
func Generate(s Sort, things int, length, step time.Duration, rate int, seed uint64) *Movement {
	dt := 1 / float64(rate)
	m := &Movement{Name: "generated-" + s.String(), Sort: s, Step: step}
	for i := range things {
		r := rand.New(rand.NewPCG(seed, uint64(i)<<8|uint64(s)))
		var move func() Sample
		switch s {
		case Walkers:
			move = walker(r, dt)
		case Shooters:
			move = shooter(r, dt)
		default:
			move = car(r, dt)
		}
		var track []Sample
		for tick := range int(length.Seconds() * float64(rate)) {
			at := move()
			if time.Duration(tick)*time.Second/time.Duration(rate) >= step*time.Duration(len(track)) {
				track = append(track, at)
			}
		}
		m.Tracks, m.Starts = append(m.Tracks, track), append(m.Starts, 0)
	}
	return m
}

const side = 60.0 // of the square that things stay in, metres

// walker goes from one place to the next, at its own pace, and stands in between.
func walker(r *rand.Rand, dt float64) func() Sample {
	s := Sample{X: r.Float64() * side, Y: r.Float64() * side}
	tx, ty := r.Float64()*side, r.Float64()*side
	pace := 0.7 + r.Float64()
	wait, v, sway := 0.0, 0.0, 0.0
	return func() Sample {
		dx, dy := tx-s.X, ty-s.Y
		d := geom.Hypot(dx, dy)
		want := pace
		if wait > 0 {
			wait -= dt
			want = 0
		} else if d < 0.5 {
			tx, ty = r.Float64()*side, r.Float64()*side
			if r.IntN(2) == 0 {
				wait = r.ExpFloat64() * 5
			}
		}
		v += min(max(want-v, -3*dt), 2*dt)
		sway += float64((-sway/2 + float64(r.NormFloat64()*1.5)) * dt * 5)
		turn := math.Remainder(geom.Atan2(dy, dx)+float64(sway*0.3)-s.Yaw, 2*math.Pi)
		s.Yaw += min(max(turn, -2*dt), 2*dt)
		s.X += float64(v * geom.Cos(s.Yaw) * dt)
		s.Y += float64(v * geom.Sin(s.Yaw) * dt)
		return s
	}
}

// floor is the height of the ground at a place: blocks of 12 m.
func floor(x, y float64) float64 {
	i, j := int(math.Floor(x/12)), int(math.Floor(y/12))
	return float64((i*7+j*13+i*j)%5+4) * 0.45
}

// shooter runs, jumps and strafes as in an old shooter: it accelerates along its wish up to 10 m/s,
// friction slows it on the ground, gravity is 25 m/s^2, and in the air it gains speed by turning
// into its strafe.
func shooter(r *rand.Rand, dt float64) func() Sample {
	s := Sample{X: r.Float64() * side, Y: r.Float64() * side}
	s.Z = floor(s.X, s.Y)
	aim, aimRate, flick := r.Float64()*2*math.Pi, 0.0, 0.0
	forward, strafe, jump := 1.0, 0.0, false
	keys, look := 0.0, 0.0
	return func() Sample {
		if keys -= dt; keys <= 0 { // other keys
			keys = 0.1 + float64(r.ExpFloat64()*0.5)
			forward, strafe = float64(r.IntN(4)-1), float64(r.IntN(3)-1)
			forward = min(forward, 1)
			jump = r.IntN(10) < 4
			if r.IntN(12) == 0 {
				forward, strafe, jump = 0, 0, false
			}
		}
		if look -= dt; look <= 0 { // another thing to look at
			look = 0.05 + float64(r.ExpFloat64()*0.4)
			aimRate = r.NormFloat64() * 1.5
			if r.IntN(5) == 0 {
				flick = r.NormFloat64() * 1.2
			}
			if r.IntN(4) == 0 {
				aimRate = 0
			}
			if strafe != 0 && r.IntN(2) == 0 {
				aimRate = math.Copysign(1.5+r.Float64(), -strafe)
			}
			if out := geom.Hypot(s.X-side/2, s.Y-side/2); out > side*0.4 {
				aim = geom.Atan2(side/2-s.Y, side/2-s.X)
			}
		}
		aim += float64(aimRate*dt) + float64(flick*dt*10)
		flick -= float64(flick * dt * 10)
		s.Yaw = math.Mod(aim+20*math.Pi, 2*math.Pi)
		wx, wy := float64(forward*geom.Cos(aim))+float64(strafe*geom.Sin(aim)),
			float64(forward*geom.Sin(aim))-float64(strafe*geom.Cos(aim))
		if n := geom.Hypot(wx, wy); n > 0 {
			wx, wy = wx/n, wy/n
		}
		ground := floor(s.X, s.Y)
		wishing, accel := 10.0, 10.0
		if s.Z <= ground+1e-6 && s.VZ <= 0 {
			if jump {
				s.VZ = 8.4
			} else if v := geom.Hypot(s.VX, s.VY); v > 0 {
				f := max(v-float64(max(v, 3.1)*4*dt), 0) / v
				s.VX, s.VY = s.VX*f, s.VY*f
			}
		} else {
			wishing = 0.94
		}
		if add := min(wishing-(float64(s.VX*wx)+float64(s.VY*wy)), accel*10*dt); add > 0 && (wx != 0 || wy != 0) {
			s.VX, s.VY = s.VX+float64(add*wx), s.VY+float64(add*wy)
		}
		s.VZ -= float64(25 * dt)
		x, y := s.X+float64(s.VX*dt), s.Y+float64(s.VY*dt)
		if x < 0 || x > side || floor(x, s.Y) > s.Z+0.56 { // a wall, or a step too high
			x, s.VX = s.X, 0
		}
		if y < 0 || y > side || floor(x, y) > s.Z+0.56 {
			y, s.VY = s.Y, 0
		}
		s.X, s.Y = x, y
		if s.Z += float64(s.VZ * dt); s.Z <= floor(x, y) {
			s.Z, s.VZ = floor(x, y), 0
		}
		return s
	}
}

// car drives with grip, boosts, brakes, and now and then jumps and turns over in the air.
func car(r *rand.Rand, dt float64) func() Sample {
	s := Sample{X: r.Float64() * side, Y: r.Float64() * side, Z: 0.17}
	speed, steer, throttle, keys := 10.0, 0.0, 1.0, 0.0
	wheel, spinP, spinR, drift := 0.0, 0.0, 0.0, 0.0
	return func() Sample {
		if keys -= dt; keys <= 0 {
			keys = 0.15 + float64(r.ExpFloat64()*0.6)
			steer, throttle = r.NormFloat64()*0.8, float64(r.Float64()*1.6)-0.4
			if r.IntN(3) == 0 {
				steer = 0
			}
			if s.Z <= 0.17 && r.IntN(10) == 0 {
				s.VZ = 5 + float64(r.Float64()*4)
				spinP, spinR = r.NormFloat64()*2, r.NormFloat64()*2
			}
			if out := geom.Hypot(s.X-side/2, s.Y-side/2); out > side*0.45 {
				steer = math.Copysign(1.5, math.Remainder(geom.Atan2(side/2-s.Y, side/2-s.X)-s.Yaw, 2*math.Pi))
			}
		}
		wheel += float64((steer - wheel) * dt * 8)
		if s.Z <= 0.17 {
			speed = min(max(speed+float64(throttle*12*dt)-float64(speed*0.3*dt), -8), 23)
			s.Yaw += float64(wheel * min(math.Abs(speed)/8, 1.6) * dt)
			drift += float64((s.Yaw - drift) * min(dt*6, 1))
			s.VX, s.VY = speed*geom.Cos(drift), speed*geom.Sin(drift)
			s.Pitch, s.Roll = s.Pitch*0.9, math.Remainder(s.Roll, 2*math.Pi)*0.9
		} else {
			s.Yaw += float64(wheel * dt)
			drift = geom.Atan2(s.VY, s.VX)
			if speed < 0 {
				drift += math.Pi
			}
			drift = s.Yaw + math.Remainder(drift-s.Yaw, 2*math.Pi)
			s.Pitch += float64(spinP * dt)
			s.Roll += float64(spinR * dt)
		}
		s.VZ -= float64(6.5 * dt)
		s.X, s.Y = s.X+float64(s.VX*dt), s.Y+float64(s.VY*dt)
		if s.Z += float64(s.VZ * dt); s.Z <= 0.17 {
			s.Z, s.VZ = 0.17, 0
		}
		return s
	}
}
