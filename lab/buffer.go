package lab

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/lobby"
	"meanwhile/netcode/wire"
	"meanwhile/netsim"
)

var bufferExperiment = &experiment{
	name:  "buffer",
	about: "somebody strolls and rests, ten places a second: when a buffer begins to play, and what shows without one",
	notes: `Somebody walks for 4 s at 1.4 m/s, rests for 3 s, and so on. All is measured from what is drawn.
<b>meanwhile</b> is a real client of a real server. <b>article</b> is package lobby with the article's numbers: ten
numbered places a second while there is movement, the place of the stop until it arrives, 250 ms from the second
place to the beginning of the movement. <b>at-once</b> draws the same packets where they say, as they arrive.
<b>starts_ms</b> is how long after the walk the drawn one begins, <b>behind_ms</b> how late the drawn place is
while it moves; both have the path's delay in them. A <b>hitch</b> is more than 16.7 ms of standing still on the
way, one more for each further 250 ms, and <b>jumps</b> are frames whose step is back, or more than twice the true
one and 5 cm. <b>stop_error_cm</b> is how far from the true place it rests at the end of the rest, at worst.`,
	takes:    byProfile,
	profiles: []netsim.Profile{netsim.Fiber, netsim.HotelWiFi, netsim.Ocean},
	policies: []string{ours},
	run:      runBuffer,
}

const (
	bufferRate  = 10
	strollSpeed = 1.4 // metres a second
	strollWalk  = 4.0 // seconds
	strollRest  = 3.0
	strollRound = strollWalk + strollRest
	strollEdge  = 0.15             // metres from where a walk begins or ends: a little more than a send interval
	bufferShown = 2.0              // seconds of the figure
	bufferSpan  = 70 * time.Second // longer walks end so far away that places become coarser
)

// stroll returns how far somebody has walked, in metres, at a time in seconds, in which round, and
// how long that one lasts already.
func stroll(t float64) (at float64, round int, since float64) {
	round = int(math.Floor(t / strollRound))
	since = t - float64(round)*strollRound
	return strollSpeed * (float64(round)*strollWalk + min(since, strollWalk)), round, since
}

// strolledAt returns when somebody was at a place on the way, in seconds; ok is false near
// where the walks begin and end, as records show those only to the next send interval.
func strolledAt(at float64) (t float64, ok bool) {
	const walk = strollSpeed * strollWalk
	round := math.Floor(at / walk)
	in := at - round*walk
	return round*strollRound + in/strollSpeed, in > strollEdge && in < walk-strollEdge
}

// drawnStroll is what one way to draw shows.
type drawnStroll struct {
	last          float64 // metres
	any           bool
	still         int // frames on the way without movement
	hitches       int
	jumps, frames int
	behind        mean
	starts        mean
	begun         int     // the round whose walk is seen to have begun
	stop          float64 // cm
	trail         []xy
}

// add notes what a frame at a time in seconds shows: metres on the way.
func (d *drawnStroll) add(now, at float64) {
	if now < playoutSkip.Seconds() {
		return
	}
	_, round, since := stroll(now)
	begin := strollSpeed * strollWalk * float64(round)
	if d.any {
		step := at - d.last
		const true1 = strollSpeed / 60
		t, moving := strolledAt(at)
		if moving {
			d.behind.add(1000 * (now - t))
		}
		if moving && step < true1/5 {
			d.still++
		} else {
			d.hitches += hitches(d.still)
			d.still = 0
		}
		if step < -0.01 || step > 2*true1+0.05 {
			d.jumps++
		}
		if d.begun != round && at > begin+0.01 && d.last <= begin+0.01 {
			d.begun = round
			d.starts.add(1000 * since)
		}
	}
	if since > strollRound-0.1 {
		d.stop = max(d.stop, 100*math.Abs(at-begin-strollSpeed*strollWalk))
	}
	d.frames, d.last, d.any = d.frames+1, at, true
	d.trail = append(d.trail, xy{now, at})
}

// pool adds another run; the trail stays that of the first.
func (d *drawnStroll) pool(o *drawnStroll) {
	d.hitches, d.jumps, d.frames = d.hitches+o.hitches, d.jumps+o.jumps, d.frames+o.frames
	d.behind.sum, d.behind.n = d.behind.sum+o.behind.sum, d.behind.n+o.behind.n
	d.starts.sum, d.starts.n = d.starts.sum+o.starts.sum, d.starts.n+o.starts.n
	d.stop = max(d.stop, o.stop)
}

func (d *drawnStroll) metrics() Values {
	minutes := (time.Duration(d.frames) * playoutFrame).Minutes()
	return Values{{"starts_ms", d.starts.get()}, {"behind_ms", d.behind.get()},
		{"hitches_per_min", float64(d.hitches) / minutes}, {"jumps_per_min", float64(d.jumps) / minutes},
		{"stop_error_cm", d.stop}}
}

// strolled is a run of experiment buffer.
type strolled struct {
	client, article, atOnce drawnStroll
	arrivals                []xy // seconds, metres: of the packets of article and at-once
}

// watchStroll lets a real client look at somebody who strolls.
func (d *strolled) watchStroll(seed uint64, p netsim.Profile, span time.Duration) error {
	walkers := game.NewKind[watchedRunner]("walker")
	s, player, err := watchOver(watchGame("stroll", watchRate, bufferRate, walkers, 1,
		func(w *watchedRunner, _ int, t clock.Tick) {
			w.Pos.X, _, _ = stroll(float64(t) / watchRate)
		}), seed, p)
	if err != nil {
		return err
	}
	var vals []float64
	player.OnFrame = func() {
		now := float64(s.Server.Tick())/watchRate + s.Loop.Now().Sub(s.Server.Now()).Seconds()
		vals = player.Client.Draw(vals, func(e *client.Entity) {
			if e.Kind == 0 {
				d.client.add(now, e.Vals[0])
			}
		})
	}
	s.Run(span)
	return s.Diverged()
}

// play draws the packets of somebody who strolls, over the same path, with the article's buffer and
// without.
func (d *strolled) play(seed uint64, p netsim.Profile, span time.Duration) error {
	path, err := netsim.NewPath(seed, p)
	if err != nil {
		return err
	}
	type packet struct {
		at  clock.Time
		seq wire.Seq
		x   float64
	}
	const send, sends = 1.0 / bufferRate, int(strollWalk * bufferRate)
	var came []packet
	for i := 1; float64(i)*send < span.Seconds(); i++ {
		// A place is sent as it is reached, the last one of a walk until the next walk.
		round, n := (i-1)/int(strollRound*bufferRate), (i-1)%int(strollRound*bufferRate)+1
		n = min(n, sends)
		x := strollSpeed * (float64(round)*strollWalk + float64(n)*send)
		at, copies := path.Down.Send(clock.Time(i)*clock.Time(time.Second/bufferRate), lobby.MessageBytes+wire.Overhead)
		for _, t := range at[:copies] {
			came = append(came, packet{t, wire.Seq(round*sends + n), x})
		}
	}
	slices.SortStableFunc(came, func(a, b packet) int { return cmp.Compare(a.at, b.at) })
	var buffer lobby.Interpolator
	buffer.Reset(geom.Vec2{})
	newest := 0.0
	for now := clock.Time(0); now < clock.Time(span); now = now.Add(playoutFrame) {
		for len(came) > 0 && came[0].at <= now {
			if _, err := buffer.Push(came[0].at, came[0].seq, geom.Vec2{X: came[0].x}); err != nil {
				return err
			}
			newest = came[0].x
			d.arrivals = append(d.arrivals, xy{came[0].at.Sub(0).Seconds(), newest})
			came = came[1:]
		}
		at, err := buffer.Draw(now)
		if err != nil {
			return err
		}
		d.article.add(now.Sub(0).Seconds(), at.X)
		d.atOnce.add(now.Sub(0).Seconds(), newest)
	}
	return nil
}

func runBuffer(r *run) error {
	seeds := r.seeds(6)
	if r.quick {
		seeds = seeds[:1]
	}
	for _, p := range r.profiles {
		got, err := each(len(seeds), func(i int) (d strolled, err error) {
			return d, errors.Join(d.watchStroll(seeds[i], p, bufferSpan), d.play(seeds[i], p, bufferSpan))
		})
		if err != nil {
			return err
		}
		d := got[0]
		for i := range got[1:] {
			d.client.pool(&got[i+1].client)
			d.article.pool(&got[i+1].article)
			d.atOnce.pool(&got[i+1].atOnce)
		}
		for _, c := range []struct {
			policy string
			of     *drawnStroll
		}{{ours, &d.client}, {"article", &d.article}, {"at-once", &d.atOnce}} {
			r.emit(Row{r.name, p.Name, c.policy, r.seed, r.params(Value{"rate_hz", bufferRate},
				Value{"seeds", len(seeds)}, Value{"run_s", int(bufferSpan.Seconds())}), c.of.metrics()})
		}
		r.figures = append(r.figures, d.figure(p))
	}
	return nil
}

// figure draws one walk.
func (d *strolled) figure(p netsim.Profile) figure {
	f := figure{
		title: fmt.Sprintf("The beginning of a walk, as it is drawn, %s, 10 places a second", p.Name),
		x:     "seconds since the walk began", y: "m walked",
		answers: answers{lobbyArticle, "when a buffer begins to play"},
		caption: "The article's buffer waits for the second place and 250 ms more, and then moves at an even pace whatever " +
			"is late or lost. Our client's delay follows the path. Places drawn as they arrive are steps.",
	}
	if p.Name == netsim.Ocean.Name {
		f.file = "buffer"
	}
	const round = 2
	begin, from := round*strollRound, round*strollWalk*strollSpeed
	cut := func(v []xy) (at []xy) {
		for _, q := range v {
			if t := q.x - begin; t >= 0 && t < bufferShown {
				at = append(at, xy{t, q.y - from})
			}
		}
		return at
	}
	truth := line{name: "the walk", at: []xy{{0, 0}, {bufferShown, bufferShown * strollSpeed}}}
	f.lines = []line{{name: ours, at: cut(d.client.trail)}, {name: "article", at: cut(d.article.trail)},
		{name: "at-once", at: cut(d.atOnce.trail)}, truth, {name: "packets arrive", at: cut(d.arrivals), points: true}}
	return f
}
