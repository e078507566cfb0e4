package lab

import (
	"math"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/lab/movement"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
	"meanwhile/server"
)

var deadreckonExperiment = &experiment{
	name:  "deadreckon",
	about: "dead reckoning beside snapshots, in the past or at the present: records, bits and errors by movement",
	notes: `Ten things move for a while; a real server sends them at 20 Hz at most to a real client. <b>interpolate</b>
draws between received places, as what can be hit is drawn. <b>carry</b> sends the same records and draws them carried
on to the present (game.Extrapolated). <b>reckon-10</b> and <b>reckon-50</b> send place and velocity when the
receiver's extrapolation is wrong by more than 10 or 50 cm (draw=dr), and draw that at the present too. Movement:
<b>lanes</b> is vehicles at a steady speed that turn at crossings; <b>walkers</b>, <b>shooters</b> and <b>cars</b> are
those of the other experiments. <b>records</b> and <b>bits</b> are of one thing and second, without headers of packets.
<b>err</b> is the distance from where the thing is at that instant, on the server; <b>behind</b> how old the drawn
moment is. A <b>jolt</b> is a frame whose step differs by more than 5 cm from the true one over the same time,
a <b>kink</b> one whose step differs by more than 5 cm from the step before.`,
	takes:    byProfile | byTrace,
	profiles: []netsim.Profile{netsim.HotelWiFi},
	first:    firstLook{metrics: "records_per_s bits_per_s err_p95_cm jolts_per_min kinks_per_min"},
	run:      runDeadreckon,
}

// What is reckoned is watched so.
const (
	reckonThings = 10
	reckonSettle = 5 * time.Second
	reckonShown  = 7 // seconds of the figure
)

// The things by how they are sent.
type (
	snapThing struct {
		Pos geom.Vec3 `net:"pos,1mm,others=1cm"`
	}
	reckon10 struct {
		Pos geom.Vec3 `net:"pos,1mm,others=1cm,draw=dr:10cm"`
		Vel geom.Vec3 `net:"vel,1cm/s"`
	}
	reckon50 struct {
		Pos geom.Vec3 `net:"pos,1mm,others=1cm,draw=dr:50cm"`
		Vel geom.Vec3 `net:"vel,1cm/s"`
	}
)

// reckonModes are the ways to send and to draw.
var reckonModes = []string{"interpolate", "carry", "reckon-10", "reckon-50"}

// reckonTracks are the movements by name, each at watchRate.
func reckonTracks(seed uint64, span time.Duration) []*movement.Movement {
	step := time.Second / watchRate
	m := []*movement.Movement{lanes(seed, span)}
	for s := range movement.Sort(movement.Sorts) {
		m = append(m, movement.Generate(s, reckonThings, span, step, watchRate, seed))
	}
	return m
}

// lanes is vehicles that follow streets at a steady speed, and turn right or left at a crossing now
// and then, in a second and a half.
func lanes(seed uint64, span time.Duration) *movement.Movement {
	m := &movement.Movement{Name: "lanes", Sort: movement.Cars, Step: time.Second / watchRate}
	for i := range reckonThings {
		r := geom.NewRand(seed, 41, uint64(i))
		x, y, dir, turn, left := 100*r.Float64(), 100*r.Float64(), 0.0, 0.0, 0
		speed := 8 + 7*r.Float64()
		var track []movement.Sample
		for range int(span.Seconds() * watchRate) {
			if left--; left < 0 {
				if turn != 0 { // straight on for five to fifteen seconds
					turn, left = 0, watchRate*5+r.IntN(watchRate*10)
				} else {
					turn, left = math.Pi/2/(1.5*watchRate), watchRate*3/2-1
					if r.Chance(0.5) {
						turn = -turn
					}
				}
			}
			dir += turn
			vx, vy := speed*geom.Cos(dir), speed*geom.Sin(dir)
			track = append(track, movement.Sample{X: x, Y: y, VX: vx, VY: vy})
			x, y = x+vx/watchRate, y+vy/watchRate
		}
		m.Tracks, m.Starts = append(m.Tracks, track), append(m.Starts, 0)
	}
	return m
}

// reckonRun is what one mode did with one movement.
type reckonRun struct {
	errs, behind []float64 // cm and milliseconds, by frame and thing
	jolts, kinks int
	records      uint64
	bits         uint64
	seconds      float64
	shown, truth []xy // of the first thing, over reckonShown, in metres
	sent         []xy // where its records have it
}

// reckonGame returns the game of a mode. place says where thing i is at a tick, and how fast.
func reckonGame(
	mode string, place func(i int, t clock.Tick) (pos, vel geom.Vec3),
) game.Definition[watcherCommand] {
	switch mode {
	case "reckon-10":
		return reckonOf(game.NewKind[reckon10]("thing", game.Extrapolated), func(v *reckon10, i int, t clock.Tick) {
			v.Pos, v.Vel = place(i, t)
		})
	case "reckon-50":
		return reckonOf(game.NewKind[reckon50]("thing", game.Extrapolated), func(v *reckon50, i int, t clock.Tick) {
			v.Pos, v.Vel = place(i, t)
		})
	}
	things := game.NewKind[snapThing]("thing")
	if mode == "carry" {
		things = game.NewKind[snapThing]("thing", game.Extrapolated)
	}
	return reckonOf(things, func(v *snapThing, i int, t clock.Tick) { v.Pos, _ = place(i, t) })
}

func reckonOf[T any](things game.Kind[T], set func(v *T, i int, t clock.Tick)) game.Definition[watcherCommand] {
	return watchGame("reckon", watchRate, 20, things, reckonThings, set)
}

// watchReckoned lets a real client watch a movement in a mode.
func watchReckoned(mode string, m *movement.Movement, seed uint64, p netsim.Profile, span time.Duration) (
	res reckonRun, err error,
) {
	at := func(i int, t clock.TickFrac) geom.Vec3 {
		track := m.Tracks[i]
		n := min(int(t.Tick()), len(track)-2)
		u := float64(t-t.Tick().Frac()) / clock.FracPerTick
		a, b := &track[n], &track[n+1]
		return geom.Vec3{X: a.X + (b.X-a.X)*u, Y: a.Y + (b.Y-a.Y)*u, Z: a.Z + (b.Z-a.Z)*u}
	}
	s, player, err := watchOver(reckonGame(mode, func(i int, t clock.Tick) (pos, vel geom.Vec3) {
		pos = at(i, t.Frac())
		return pos, at(i, (t + 1).Frac()).Sub(pos).Mul(watchRate)
	}), seed, p)
	if err != nil {
		return res, err
	}
	period := int64(s.Server.Period())
	w := reckonWatch{run: &res, at: at, last: make([]reckoned, reckonThings)}
	var vals []float64
	player.OnFrame = func() {
		now := s.Server.Tick().Frac() + clock.TickFrac(int64(s.Loop.Now().Sub(s.Server.Now()))*clock.FracPerTick/period)
		if s.Loop.Now() < clock.Time(reckonSettle) {
			return
		}
		thing := 0
		vals = player.Client.Draw(vals, func(e *client.Entity) {
			if e.Kind == 0 {
				w.note(thing, player.Client, e, now)
				thing++
			}
		})
	}
	s.Run(reckonSettle)
	before, _ := s.Server.Stats(player.ID)
	s.Run(span)
	after, _ := s.Server.Stats(player.ID)
	res.records = after.Records - before.Records
	res.bits = after.MovingBits - before.MovingBits + after.OtherBits - before.OtherBits
	res.seconds = span.Seconds()
	return res, s.Diverged()
}

// reckonWatch compares what is drawn with the truth.
type reckonWatch struct {
	run  *reckonRun
	at   func(i int, t clock.TickFrac) geom.Vec3
	last []reckoned
}

// reckoned is how a thing was drawn last.
type reckoned struct {
	pos, step geom.Vec3
	at        clock.TickFrac
	frames    int
	newest    clock.Tick
}

// note notes how thing i is drawn at tick now.
func (w *reckonWatch) note(i int, c *client.Client, e *client.Entity, now clock.TickFrac) {
	t, _ := c.TimeOf(e.Replica)
	pos := geom.Vec3{X: e.Vals[0], Y: e.Vals[1], Z: e.Vals[2]}
	last := &w.last[i]
	truth := w.at(i, now)
	w.run.errs = append(w.run.errs, 100*pos.Sub(truth).Len())
	w.run.behind = append(w.run.behind, float64(now-t)*1000/(watchRate*clock.FracPerTick))
	step := pos.Sub(last.pos)
	if last.frames > 0 && 100*step.Sub(w.at(i, t).Sub(w.at(i, last.at))).Len() > 5 {
		w.run.jolts++
	}
	if last.frames > 1 && 100*step.Sub(last.step).Len() > 5 {
		w.run.kinks++
	}
	newest := e.Replica.Groups[0].Newest()
	if i == 0 && last.frames < 60*reckonShown {
		w.run.shown, w.run.truth = append(w.run.shown, xy{pos.X, pos.Y}), append(w.run.truth, xy{truth.X, truth.Y})
		if newest != nil && newest.Tick > last.newest {
			p := w.at(0, newest.Tick.Frac())
			w.run.sent = append(w.run.sent, xy{p.X, p.Y})
			last.newest = newest.Tick
		}
	}
	last.pos, last.step, last.at, last.frames = pos, step, t, last.frames+1
}

func runDeadreckon(r *run) error {
	span := 120 * time.Second
	if r.quick {
		span = 20 * time.Second
	}
	for _, p := range r.profiles {
		tracks := reckonTracks(r.seed, span+reckonSettle+time.Second)
		type cell struct {
			move *movement.Movement
			mode string
		}
		var cells []cell
		for _, m := range tracks {
			for _, mode := range reckonModes {
				cells = append(cells, cell{m, mode})
			}
		}
		got, err := each(len(cells), func(i int) (reckonRun, error) {
			return watchReckoned(cells[i].mode, cells[i].move, r.seed, p, span)
		})
		if err != nil {
			return err
		}
		for i := range got {
			g, n := &got[i], float64(reckonThings)
			r.emit(Row{r.name, p.Name, ours, r.seed, r.params(Value{"movement", cells[i].move.Name},
				Value{"mode", cells[i].mode}, Value{"things", reckonThings}, Value{"rate_hz", 20},
				Value{"run_s", int(span.Seconds())}), Values{
				{"records_per_s", float64(g.records) / n / g.seconds}, {"bits_per_s", float64(g.bits) / n / g.seconds},
				{"err_mean_cm", average(g.errs)}, {"err_p95_cm", quantile(g.errs, 0.95)}, {"behind_ms", average(g.behind)},
				{"jolts_per_min", float64(g.jolts) * 60 / n / g.seconds}, {"kinks_per_min", float64(g.kinks) * 60 / n / g.seconds},
			}})
		}
		if r.drawing {
			path, err := reckonFigure(p, r.seed)
			if err != nil {
				return err
			}
			twins, err := twinsFigure(p, r.seed)
			if err != nil {
				return err
			}
			r.figures = append(r.figures, path, twins)
		}
	}
	return nil
}

// reckonFigure draws the way of a reckoned vehicle and of its copy.
func reckonFigure(p netsim.Profile, seed uint64) (figure, error) {
	const span = reckonShown * time.Second
	g, err := watchReckoned("reckon-50", lanes(seed, span+reckonSettle+time.Second), seed, p, span)
	return figure{
		title: "A vehicle and its dead reckoned copy, " + p.Name + ", seen from above", x: "m", y: "m",
		lines: []line{{name: "where it is", at: g.truth}, {name: "where it is drawn", at: g.shown},
			{name: "what was sent", at: g.sent, points: true}},
		file: "deadreckon-path", answers: answers{ryzomArticle, "1, dead reckoning"},
		caption: "A record is sent where the copy would be more than 50 cm off; it then bends back to where the vehicle is.",
	}, err
}

type (
	twin struct {
		Pos geom.Vec2 `net:"pos,1mm,others=1cm"`
	}
	twinCommand struct {
		Go geom.Vec2 `net:"stick"`
	}
)

// twinsFigure draws two players who start to run at once, as one of them sees it: the own avatar,
// the other between its records, and the other carried on to the present.
func twinsFigure(p netsim.Profile, seed uint64) (f figure, err error) {
	f = figure{title: "Two players run off together, as one of them sees it, " + p.Name, x: "seconds", y: "m run",
		file: "deadreckon-twins", answers: answers{ryzomArticle, "3, the delay of others"},
		caption: "Both start at once. Drawn between its records, the other is always behind; carried on to the present, it " +
			"is beside, but for its first and last steps."}
	for _, option := range []game.KindOption{game.Playout, game.ExtrapolatedBeyond(0.1)} {
		runners := game.NewKind[twin]("runner", option)
		def := game.Definition[twinCommand]{
			Name: "twins", Rate: watchRate, Send: 20, Kinds: game.Kinds(runners),
			Join: func(w *game.World, name string) game.ID {
				return runners.Spawn(w, twin{Pos: geom.Vec2{Y: 40 * float64(runners.Len(w))}})
			},
			Act: func(w *game.World, me game.ID, c twinCommand) {
				r := runners.Get(w, me)
				r.Pos = r.Pos.Add(c.Go.Mul(6 * w.Dt()))
			},
			Bot: func(w *game.World, me game.ID) (c twinCommand) {
				if t := w.Tick() % (4 * watchRate); t > watchRate && t < 3*watchRate {
					c.Go.X = 1
				}
				return c
			},
		}
		rules, err := def.Rules()
		if err != nil {
			return f, err
		}
		s, err := gametest.NewSim(rules, seed, server.Config{})
		if err != nil {
			return f, err
		}
		one, err := s.Join("one", p, rules.Bot())
		if err != nil {
			return f, err
		}
		if _, err = s.Join("two", p, rules.Bot()); err != nil {
			return f, err
		}
		s.Run(8 * time.Second)
		own, other := line{name: "the own avatar"}, line{name: "the other, between records"}
		if len(f.lines) > 0 {
			other.name = "the other, at the present"
		}
		began, from, first := s.Loop.Now(), map[bool]float64{}, true
		var vals []float64
		one.OnFrame = func() {
			at := s.Loop.Now().Sub(began).Seconds()
			vals = one.Client.Draw(vals, func(e *client.Entity) {
				to := &other
				if e.Mine {
					to = &own
				}
				if first {
					from[e.Mine] = e.Vals[0]
				}
				to.at = append(to.at, xy{at, e.Vals[0] - from[e.Mine]})
			})
			first = false
		}
		s.Run(4 * time.Second)
		if err := s.Diverged(); err != nil {
			return f, err
		}
		if len(f.lines) == 0 {
			f.lines = append(f.lines, own)
		}
		f.lines = append(f.lines, other)
	}
	return f, nil
}

func average(v []float64) float64 {
	var m mean
	for _, x := range v {
		m.add(x)
	}
	return m.get()
}
