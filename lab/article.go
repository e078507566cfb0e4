package lab

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
	"meanwhile/netsim"
	"meanwhile/server"
)

var articleExperiment = &experiment{
	name:  "article",
	about: "the figures of the article on Ryzom's network, drawn from runs of today",
	notes: `The article is "Propagation of Visual Entity Properties Under Bandwidth Constraints" (Olivier Cado, 2007). Its
second and eighth figures are screenshots of games. <b>1</b> and <b>3</b> are those of deadreckon, <b>7</b> is
that of entities. For <b>4</b> and <b>5</b> a player runs past 249 walkers, who all go on at one speed, through
13 kbit/s. <b>urgency</b> is the score by which the server chooses: it grows with the time since the last
record, the faster the nearer a thing is, and 1 is its median where a record was sent; in the table it is the
median of the thing's own records. <b>least_m</b> is how near the player comes to the thing, and
<b>near_per_s</b> and <b>far_per_s</b> are its records within 4 s of that moment and at all other times. A
<b>band</b> of figure 5 is the things of one colour: how many they are, and how far away on average. <b>6</b> is
the window within which 16 bits of a coordinate are enough, by wire.Nearest; window_m is how far it reaches each
way.`,
	takes:    byProfile,
	profiles: []netsim.Profile{netsim.HotelWiFi},
	policies: []string{ours},
	run:      runArticle,
}

// The model of the group that a player runs past.
const (
	passers       = 249
	passersReach  = 60.0  // metres from the middle of the group to its edge
	passersSpeed  = 1.4   // metres a second, all the time
	passersStray  = 2.0   // metres from their places that they go before they turn back
	passFrom      = -75.0 // metres along the player's way from the middle of the group
	passSpeed     = 5.0   // metres a second
	passRate      = 20
	passBudget    = 13_000 / 8
	passSpan      = 30 * time.Second
	passNear      = 4 * time.Second
	passWindow    = 16    // bits of a coordinate in figure 6
	passUnit      = 0.016 // metres, of a coordinate in figure 6
	passUpdates   = 40    // records a tick in figure 7
	passIntervals = 20 * time.Second
	passViewer    = 0x2C000 // coordinate of the viewer in figure 6
)

func runArticle(r *run) error {
	span := passSpan
	for _, p := range r.profiles {
		pass, err := newPass(r.seed, p, span)
		if err != nil {
			return err
		}
		for _, t := range pass.watched() {
			r.emit(
				Row{r.name, p.Name, ours, r.seed, r.params(Value{"figure", 4}, Value{"thing", t.name()}), pass.metrics(t, span)},
			)
		}
		for _, b := range pass.bands(span) {
			r.emit(Row{r.name, p.Name, ours, r.seed, r.params(Value{"figure", 5}, Value{"band", b.name}),
				Values{{"things", len(b.at)}, {"away_m", b.away()}}})
		}
		r.emit(Row{r.name, p.Name, ours, r.seed, r.params(Value{"figure", 6}), Values{{"window_m", windowReach()}}})
		if !r.drawing {
			continue
		}
		path, err := reckonFigure(p, r.seed)
		if err != nil {
			return err
		}
		twins, err := twinsFigure(p, r.seed)
		if err != nil {
			return err
		}
		budget, err := crowdBudget(p, passUpdates)
		if err != nil {
			return err
		}
		o, err := watch(p, r.seed, budget, false, nil, passIntervals)
		if err != nil {
			return err
		}
		intervals := o.intervals(p.Name, passUpdates)
		intervals.file = "intervals"
		intervals.answers = answers{ryzomArticle, "7, measured and predicted intervals"}
		intervals.caption = "Where the predicted interval is below the measured one, movement would stop. The article " +
			"predicts from past intervals; here the server, which chooses them, announces the longest."
		r.figures = append(r.figures, path, twins, pass.urgencies(), pass.rates(span), windowFigure(), intervals)
	}
	return nil
}

type (
	passer struct {
		Pos  geom.Vec2  `net:"pos,others=1cm"`
		Aim  geom.Angle `net:"angle,8bit"`
		Step int        `net:"int,0..255"` // of its walk, for an animation
	}
	passing struct {
		Pos geom.Vec2 `net:"pos,1mm"`
	}
	passCommand struct {
		Go geom.Vec2 `net:"stick"`
	}
)

// pass is one run of a player past the group, as the server's order sees it.
type pass struct {
	profile string
	things  []*passed
	usual   float64 // median urgency of what was sent
}

// passed is what is known of one thing.
type passed struct {
	home   geom.Vec2
	at     []xy      // urgency over seconds
	sent   []float64 // seconds
	scores []float64 // urgency where it was sent
	least  float64   // metres, the nearest that the player came
	when   float64   // seconds, at that time
	middle geom.Vec2 // as seen from the player half way

	waited float64 // ticks, when it was looked at last
}

// newPass lets a player run past the group.
func newPass(seed uint64, p netsim.Profile, span time.Duration) (*pass, error) {
	rules, err := passRules()
	if err != nil {
		return nil, err
	}
	run := &pass{profile: p.Name, things: make([]*passed, passers)}
	for i := range run.things {
		run.things[i] = &passed{home: passHome(i), least: math.Inf(1)}
	}
	var s *gametest.Sim
	order := &snapshot.Order{Score: func(w snapshot.Waiting) int {
		score := w.Weight + int(math.Round(8*math.Log2(float64(max(w.Waited, 1)))))
		if i := int(s.Server.History().At(w.Ent).ID) - 1; i < passers {
			run.things[i].look(s.Loop.Now().Sub(0).Seconds(), float64(w.Waited), math.Exp2(float64(score)/8))
		}
		return score
	}}
	if s, err = gametest.NewSim(rules, seed, server.Config{Budget: passBudget, Order: order}); err != nil {
		return nil, err
	}
	player, err := s.Join("passing", p, rules.Bot())
	if err != nil {
		return nil, err
	}
	half := false
	player.OnFrame = func() {
		h := s.Server.History()
		own, ok := h.Find(uint32(player.Me()))
		if !ok {
			return
		}
		me, now := h.At(own), s.Loop.Now().Sub(0).Seconds()
		halfWay := !half && now >= span.Seconds()/2
		for i, t := range run.things {
			n, _ := h.Find(uint32(i + 1))
			at := h.At(n)
			away := geom.Vec2{X: float64(at.X-me.X) / 1000, Y: float64(at.Y-me.Y) / 1000}
			if d := away.Len(); d < t.least {
				t.least, t.when = d, now
			}
			if halfWay {
				t.middle = away
			}
		}
		half = half || halfWay
	}
	s.Run(span)
	run.normalise()
	return run, s.Diverged()
}

// passRules returns the game: all walk about their places, a player runs straight on.
func passRules() (*game.Rules, error) {
	walkers := game.NewKind[passer]("walker", game.Extrapolated)
	players := game.NewKind[passing]("player")
	def := game.Definition[passCommand]{
		Name: "passing", Rate: passRate, Send: passRate, Kinds: game.Kinds(walkers, players),
		Join: func(w *game.World, name string) game.ID {
			for i := range passers {
				walkers.Spawn(w, passer{Pos: passHome(i)})
			}
			return players.Spawn(w, passing{Pos: geom.Vec2{X: passFrom}})
		},
		Act: func(w *game.World, me game.ID, c passCommand) {
			a := players.Get(w, me)
			a.Pos = a.Pos.Add(c.Go.Mul(passSpeed * w.Dt()))
		},
		Referee: func(w *game.World) {
			now := uint64(w.Tick())
			for id, a := range walkers.All(w) {
				r := geom.NewRand(79, uint64(id), now)
				if now%(passRate/2) == uint64(id)%(passRate/2) {
					a.Aim = r.Angle()
					if off := passHome(int(id) - 1).Sub(a.Pos); off.Len() > passersStray {
						a.Aim = off.Angle()
					}
				}
				a.Step = r.IntN(256)
				a.Pos = a.Pos.Add(a.Aim.Dir().Mul(passersSpeed * w.Dt()))
			}
		},
		Bot: func(w *game.World, me game.ID) passCommand { return passCommand{Go: geom.Vec2{X: 1}} },
	}
	return def.Rules()
}

// passHome returns the place of a walker: they are evenly spread over a disc.
func passHome(i int) geom.Vec2 {
	const golden = 2.399963229728653 // radians
	return geom.Angle(golden * float64(i)).Dir().Mul(passersReach * math.Sqrt((float64(i)+0.5)/passers))
}

// look notes how urgent the thing is when a packet is filled. If it waits for less than it did at
// the packet before, with the time since, that one carried a record of it.
func (t *passed) look(now, waited, urgency float64) {
	if n := len(t.at); n > 0 && waited < t.waited+(now-t.at[n-1].x)*passRate-0.5 {
		t.sent, t.scores = append(t.sent, t.at[n-1].x), append(t.scores, t.at[n-1].y)
	}
	t.at, t.waited = append(t.at, xy{now, urgency}), waited
}

// normalise makes 1 of the median urgency of what was sent.
func (p *pass) normalise() {
	var all []float64
	for _, t := range p.things {
		all = append(all, t.scores...)
	}
	p.usual = quantile(all, 0.5)
	for _, t := range p.things {
		for i := range t.at {
			t.at[i].y /= p.usual
		}
		for i := range t.scores {
			t.scores[i] /= p.usual
		}
	}
}

// watched returns the things of figure 4: one that the player nearly runs into, one on the way to
// the edge of the group, one at its edge.
func (p *pass) watched() (w []*passed) {
	for _, at := range []geom.Vec2{{X: 0, Y: 3}, {X: -15, Y: 20}, {X: 0, Y: 55}} {
		best := slices.MinFunc(p.things, func(a, b *passed) int {
			return cmp.Compare(a.home.Sub(at).Len(), b.home.Sub(at).Len())
		})
		w = append(w, best)
	}
	return w
}

// name says where the thing is beside the player's way.
func (t *passed) name() string { return fmt.Sprintf("%.0f m aside", math.Abs(t.home.Y)) }

func (p *pass) metrics(t *passed, span time.Duration) Values {
	near := 0
	for _, at := range t.sent {
		if math.Abs(at-t.when) < passNear.Seconds() {
			near++
		}
	}
	around := 2 * passNear.Seconds()
	return Values{{"least_m", t.least}, {"near_per_s", float64(near) / around},
		{"far_per_s", float64(len(t.sent)-near) / (span.Seconds() - around)},
		{"urgency", quantile(slices.Clone(t.scores), 0.5)}}
}

// urgencies is figure 4: each record makes a thing's urgency fall, waiting makes it rise, the
// faster the nearer the thing is.
func (p *pass) urgencies() figure {
	f := figure{
		file:  "article-urgency",
		title: "How urgent a record is, as a player passes, " + p.profile,
		x:     "seconds",
		y:     "times the usual",
		marks: []mark{{"records are sent at", 1}},

		answers: answers{ryzomArticle, "4, priority of watched things over time"},
		caption: "A sawtooth: waiting makes a record more urgent, the faster the nearer its thing is, and sending it makes " +
			"that fall. At the beginning everything wants to be sent for the first time, and in the middle the player is " +
			"among many. The article draws it upside down.",
	}
	for _, t := range p.watched() {
		f.lines = append(f.lines, line{name: t.name(), at: t.at})
	}
	return f
}

// A band is the things of one colour of figure 5.
type band struct {
	name  string
	least float64 // records a second
	at    []xy
}

// away returns how far away the things are on average.
func (b *band) away() float64 {
	var m mean
	for _, p := range b.at {
		m.add(math.Hypot(p.x, p.y))
	}
	return m.get()
}

// bands sorts things by how often records of them come while the player is in the middle.
func (p *pass) bands(span time.Duration) []*band {
	bands := []*band{{name: "4 a second or more", least: 4}, {name: "2 to 4", least: 2}, {name: "1 to 2", least: 1},
		{name: "fewer than 1"}}
	for _, t := range p.things {
		n := 0
		for _, at := range t.sent {
			if math.Abs(at-span.Seconds()/2) < passNear.Seconds()/2 {
				n++
			}
		}
		for _, b := range bands {
			if float64(n)/passNear.Seconds() >= b.least {
				b.at = append(b.at, xy{t.middle.X, t.middle.Y})
				break
			}
		}
	}
	return bands
}

// rates is figure 5.
func (p *pass) rates(span time.Duration) figure {
	f := figure{file: "article-rates", title: "Records a second, by place beside the player, " + p.profile, x: "m", y: "m",
		lines:   []line{{name: "the player", at: []xy{{0, 0}}, points: true}},
		answers: answers{ryzomArticle, "5, rates of updates around the viewer"},
		caption: "Each point is a walker, 249 of them through 13 kbit/s: the nearer, the more records a second."}
	for _, b := range p.bands(span) {
		f.lines = append(f.lines, line{name: b.name, at: b.at, points: true})
	}
	return f
}

// windowReach returns how far from a viewer, in metres, a coordinate comes back from its 16 low
// bits.
func windowReach() float64 {
	n := int32(0)
	for lengthened(passViewer+n) == passViewer+n {
		n++
	}
	return float64(n) * passUnit
}

// lengthened is what passViewer makes of a coordinate's low bits.
func lengthened(full int32) int32 {
	return wire.Nearest(uint32(full)&(1<<passWindow-1), passWindow, passViewer)
}

// windowFigure is figure 6, with the article's coordinates.
func windowFigure() figure {
	sent := func(full int32) xy {
		return xy{float64(full) * passUnit, float64(full&(1<<passWindow-1)) * passUnit}
	}
	f := figure{
		file:  "article-window",
		title: "Where things are, and what travels of it: 16 bits of 16 mm",
		x:     "m",
		y:     "m, modulo 1049 m",

		answers: answers{ryzomArticle, "6, the window of positions around the viewer"},
		caption: "16 bits say where something is up to 524 m from the viewer, across every wrap. A, B and C are the " +
			"article's example.",
	}
	within, all := line{name: "within the window"}, line{name: "beyond it"}
	const step = 1 << 8
	for full := int32(passViewer - 3<<14); full < passViewer+3<<14; full += step {
		for _, l := range []struct {
			to *line
			ok bool
		}{{&within, lengthened(full) == full}, {&all, lengthened(full) != full}} {
			if n := len(l.to.at); n > 0 && (!l.ok || sent(full).y < l.to.at[n-1].y) {
				l.to.at = append(l.to.at, gap)
			}
			if l.ok {
				l.to.at = append(l.to.at, sent(full))
			}
		}
	}
	f.lines = []line{within, all}
	for _, t := range []struct {
		name string
		full int32
	}{{"viewer", passViewer}, {"A", 0x2E000}, {"B", 0x26000}, {"C", 0x32000}} {
		f.lines = append(f.lines, line{points: true, at: []xy{sent(t.full)},
			name: fmt.Sprintf("%s: %04x, %+.0f m", t.name, uint16(t.full), float64(lengthened(t.full)-passViewer)*passUnit)})
	}
	return f
}
