package lab

import (
	"cmp"
	"slices"
	"time"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
)

// correctionFigure draws how large the corrections of the ball are, a line for each profile. got are
// matches of our own policy.
func correctionFigure(profiles []netsim.Profile, got []kicked) figure {
	f := figure{title: "Size of the ball's corrections (the remaining states were as predicted)", x: "cm",
		y: "share of all states of the ball", log: true, file: "predict-corrections",
		caption: "How many states moved the predicted ball by more than so much: other people's kicks."}
	for i := range got {
		cm := slices.Sorted(slices.Values(got[i].ballMoved))
		all := float64(len(cm) + got[i].agreed)
		l := line{name: profiles[i].Name}
		for _, x := range []float64{0, 1, 2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 400} {
			at, _ := slices.BinarySearchFunc(cm, x, cmp.Compare[float64])
			if left := len(cm) - at; left > 0 {
				l.at = append(l.at, xy{x, float64(left) / all})
			}
		}
		f.lines = append(f.lines, l)
	}
	return f
}

const (
	flightTicks = 36   // of a shot without anybody in its way
	flightSpeed = 7.0  // m/s, all the time
	pathBefore  = 150  // milliseconds that are drawn of it
	pathAfter   = 1000 //
)

// pathFigure draws one shot as the server, the shooter and the goalkeeper of the other team have it.
func pathFigure(seed uint64) (f figure, err error) {
	f = figure{title: "One shot on the ocean: where the ball is, by the clock on the wall",
		x: "milliseconds since the press", y: "metres from where it was kicked", file: "predict-path",
		caption: "The ball leaves the shooter's foot with the press. The server has the shot when its command's tick " +
			"comes, and the goalkeeper's picture joins it."}
	m, err := newFootball(seed, kickBots, netsim.Ocean, ours)
	if err != nil {
		return f, err
	}
	m.run(time.Minute)
	k, ok := m.shot()
	if !ok {
		return f, nil
	}
	keeper := m.players[1-slices.Index(m.players, k.by)%2] // teams take turns, and the first of each keeps
	frame, ok := k.by.frameOf(k.tick)
	if !ok {
		return f, nil
	}
	from, at := m.truth[k.tick-1].at, k.by.frames[frame].at
	add := func(l *line, when clock.Time, ball geom.Vec2) {
		if x := ms(when.Sub(at)); x > -pathBefore && x < pathAfter {
			l.at = append(l.at, xy{x, ball.Dist(from)})
		}
	}
	truth := line{name: "server"}
	for i := range m.truth {
		add(&truth, m.truth[i].when, m.truth[i].at)
	}
	f.lines = append(f.lines, truth)
	for _, w := range []struct {
		name string
		*spectator
	}{{"shooter", k.by}, {"goalkeeper", keeper}} {
		l := line{name: w.name}
		for i := range w.frames {
			add(&l, w.frames[i].at, w.frames[i].ball)
		}
		f.lines = append(f.lines, l)
	}
	return f, nil
}

// shot returns the first kick after which the ball flies undisturbed for a while.
func (m *football) shot() (k strike, ok bool) {
	for _, k := range m.kicks {
		if int(k.tick)+flightTicks >= len(m.truth) || m.truth[k.tick].when < m.from || !m.predictedBy(k) {
			continue
		}
		free := true
		for t := k.tick + 1; t <= k.tick+flightTicks && free; t++ {
			a, b := &m.truth[t-1], &m.truth[t]
			free = b.v.Len() > flightSpeed && a.v.Dist(b.v) < 1
		}
		if free {
			return k, true
		}
	}
	return k, false
}

// predictedBy reports whether a kick's player saw the ball where it was.
func (m *football) predictedBy(k strike) bool {
	i, ok := k.by.frameOf(k.tick)
	if !ok {
		return false
	}
	before, ok := m.at(k.by.frames[i-1].shown)
	return ok && before.at.Dist(k.by.frames[i-1].ball) <= foreseen
}
