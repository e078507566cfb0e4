package lab

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/estimate"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/playout"
	"meanwhile/netcode/snapshot"
	"meanwhile/netsim"
	"meanwhile/server"
)

var entitiesExperiment = &experiment{
	name:  "entities",
	about: "how late each of 200 that stop and go is drawn when the budget suffices for a few of them at a time",
	notes: `One player stands among 200 walkers. They move for five seconds and rest for three on average, at
distances from 5 to 100 m, equally many for each factor of distance. A real server sends 20 packets a second, each
with room for updates_per_tick of them on average; a real client receives them. <b>meanwhile</b> is drawn as
shipped: the server announces with each record how soon the next one comes. Rivals see the same records arrive, with
or without the schedule that keeps announced bounds (<b>schedule</b>). <b>global</b> is our client with a server
that announces nothing: one adaptive delay for all. <b>global-2</b> draws everything two send intervals back.
<b>ryzom</b> uses the 80th percentile of the entity's last 25 intervals and a tick, <b>ryzom-rest</b> the same with
rests among the intervals. <b>q95</b> uses the 95th percentile and our client's allowance for the path. <b>price</b>
is our estimator with its budget, one for each entity. Rivals know the server's clock and the path's floor, retime
at once at rest, and follow their target within half and one and a half times real time. All their entities get the
same addition, <b>margin_ms</b>: the least from a list with which they have at most one hitch per entity-minute on
each path, or the largest. <b>delay</b> is the time since the drawn state was true, above the path's floor, while
the thing moves. A <b>hitch</b> is more than 16.7 ms drawn at or past the newest record while it moves, and one more
for each further 250 ms; times in which nothing arrived for half a second do not count. <b>broken_share</b> is the
share of records of movers that come later than announced, <b>early_share</b> of those that come sooner.
<b>speed_deviation</b> is how much the drawn time of movers runs faster or slower than real time on average, stalls
and jumps included; <b>speed_variance</b> is the variance of that speed.`,
	takes:    byProfile | byPolicy,
	profiles: []netsim.Profile{netsim.Fiber, netsim.HotelWiFi, mustProfile("lte-b")},
	policies: []string{ours, "global", "global-2", "ryzom", "ryzom-rest", "q95", "price"},
	first: firstLook{profile: "mean", metrics: "mean_delay_ms hitches_per_entity_min near_delay_ms " +
		"far_delay_ms records_per_s"},
	run: runEntities,
}

func mustProfile(name string) netsim.Profile {
	p, err := netsim.ByName(name)
	if err != nil {
		panic(err)
	}
	return p
}

// The model of the crowd.
const (
	crowdSize   = 200
	crowdRate   = 20
	crowdPeriod = time.Second / crowdRate
	crowdNear   = 5.0 // metres
	crowdFar    = 100.0
	crowdSpeed  = 2.0 // metres a second
	crowdMoves  = 5.0 // seconds, mean
	crowdRests  = 3.0
	crowdSettle = 20 * time.Second
)

type crowdWalker struct {
	Pos   geom.Vec2  `net:"pos,others=1mm"`
	Aim   geom.Angle `net:"angle,8bit"`
	Step  int        `net:"int,0..255"` // of its walk, for an animation
	Home  geom.Vec2  `net:"pos,server"`
	Until int        `net:"int,0..1000000,server"`
	Moves bool       `net:"bool,server"`
}

// mean returns how many seconds the walker stays as it is, on average.
func (a *crowdWalker) mean() float64 {
	if a.Moves {
		return crowdMoves
	}
	return crowdRests
}

type crowdEye struct {
	Pos geom.Vec2 `net:"pos"`
}

type crowdCommand struct {
	Blink bool `net:"press"`
}

// crowd returns a game of walkers around one eye.
func crowd(seed uint64) (*game.Rules, error) {
	walkers, eyes := game.NewKind[crowdWalker]("walker"), game.NewKind[crowdEye]("eye")
	def := game.Definition[crowdCommand]{
		Name: "crowd", Rate: crowdRate, Send: crowdRate, See: crowdSize + 1, Kinds: game.Kinds(walkers, eyes),
		Join: func(w *game.World, name string) game.ID {
			for i := range crowdSize {
				r := geom.NewRand(77+2*seed, uint64(i))
				home := r.Angle().Dir().Mul(crowdNear * math.Pow(crowdFar/crowdNear, (float64(i)+0.5)/crowdSize))
				a := crowdWalker{Pos: home, Home: home, Moves: r.Chance(crowdMoves / (crowdMoves + crowdRests))}
				a.Until = int(w.Tick()) + int(r.Float64()*a.mean()*crowdRate)
				walkers.Spawn(w, a)
			}
			return eyes.Spawn(w, crowdEye{})
		},
		Act: func(w *game.World, me game.ID, c crowdCommand) {},
		Referee: func(w *game.World) {
			now := int(w.Tick())
			for id, a := range walkers.All(w) {
				r := geom.NewRand(78+2*seed, uint64(id), uint64(now))
				if now >= a.Until {
					a.Moves = !a.Moves
					a.Until = now + int((0.5+r.Float64())*a.mean()*crowdRate)
				}
				if !a.Moves {
					continue
				}
				if now%10 == int(id)%10 {
					a.Aim = r.Angle()
					if off := a.Home.Sub(a.Pos); off.Len() > crowdNear/2 {
						a.Aim = off.Angle()
					}
				}
				a.Step = r.IntN(256)
				a.Pos = a.Pos.Add(a.Aim.Dir().Mul(crowdSpeed * w.Dt()))
			}
		},
	}
	return def.Rules()
}

// crowdBudget returns the bytes a second with which about that many records are sent per tick on a
// path.
func crowdBudget(p netsim.Profile, updates int) (int, error) {
	budget := crowdRate * (60 + 6*updates)
	for range 4 {
		o, err := watch(p, 1000, budget, false, nil, 20*time.Second)
		if err != nil {
			return 0, err
		}
		records := int(o.stats.Records-o.before.Records) / 20
		bytes := int(o.stats.SentBytes-o.before.SentBytes) / 20
		each := max((bytes-crowdRate*70)/max(records, 1), 4)
		budget += (crowdRate*updates - records) * each
	}
	return budget, nil
}

// onlooker is the one client that watches the crowd.
type onlooker struct {
	sim           *gametest.Sim
	player        *gametest.Player
	floor         time.Duration
	rivals        []*crowdRival
	own           crowdScore
	ents          map[game.ID]*crowdEntity
	hooked        bool
	tick          clock.Tick
	hitches       uint64 // that the client counted before
	every         int    // ticks from packet to packet, rounded up
	promised      int    // records that were announced by the one before
	broken        int    // of them, those that came later than that
	early         int    // and those that came sooner
	began         clock.Time
	before, stats server.PlayerStats
}

// crowdEntity is one walker as it is drawn.
type crowdEntity struct {
	radius float64
	index  int32
	moved  [snapshot.HistoryTicks]bool // by tick
	newest clock.Tick
	rest   bool
	bound  uint8
	x, y   int64
	track  crowdTrack
	views  []rivalView // by rival
	// Intervals between records while it moves, in ms over seconds, and what was announced for
	// them.
	measured, announced []xy
}

// crowdTrack follows the drawn time of one thing under one policy.
type crowdTrack struct {
	shown clock.TickFrac // last as far as there was something to draw, while it moved
	stall playout.Stall
}

// crowdScore adds up what was drawn.
type crowdScore struct {
	moving              time.Duration
	delay, near, far    float64 // milliseconds x frames
	frames, nears, fars int
	hitches             int
	speed               float64
	speeds              int
	drawn               spread // speed of what is drawn, stalls included
}

const (
	nearest  = 7.0 // metres up to which a walker is near
	farthest = 80.0
)

// see records one frame of a thing that moves, drawn at tick time t. now is the tick time of the
// frame less the floor.
func (s *crowdScore) see(tr *crowdTrack, e *crowdEntity, t, now clock.TickFrac) {
	const frame = time.Second / 60
	s.moving += frame
	ms := float64(now-t) * crowdPeriod.Seconds() * 1000 / clock.FracPerTick
	s.delay += ms
	s.frames++
	if e.radius < nearest {
		s.near += ms
		s.nears++
	} else if e.radius > farthest {
		s.far += ms
		s.fars++
	}
	shown := min(t, e.newest.Frac())
	if tr.shown > 0 {
		rate := max(float64(shown)-float64(tr.shown), 0) * crowdPeriod.Seconds() / clock.FracPerTick / frame.Seconds()
		s.drawn.add(rate)
		s.speed += math.Abs(rate - 1)
		s.speeds++
	}
	tr.shown = shown
	if t >= e.newest.Frac()-1 {
		if tr.stall.Add(frame) {
			s.hitches++
		}
	} else {
		tr.stall.End()
	}
}

// spread adds up values for their variance.
type spread struct{ n, sum, squares float64 }

func (s *spread) add(x float64) { s.n, s.sum, s.squares = s.n+1, s.sum+x, s.squares+x*x }

func (s *spread) variance() float64 {
	n := max(s.n, 1)
	return max(s.squares/n-s.sum/n*s.sum/n, 0)
}

func (s *crowdScore) add(o *crowdScore) {
	s.moving += o.moving
	s.delay += o.delay
	s.near += o.near
	s.far += o.far
	s.frames += o.frames
	s.nears += o.nears
	s.fars += o.fars
	s.hitches += o.hitches
	s.speed += o.speed
	s.speeds += o.speeds
	s.drawn = spread{s.drawn.n + o.drawn.n, s.drawn.sum + o.drawn.sum, s.drawn.squares + o.drawn.squares}
}

func (s *crowdScore) mean() float64     { return s.delay / float64(max(s.frames, 1)) }
func (s *crowdScore) hitching() float64 { return float64(s.hitches) / max(s.moving.Minutes(), 1e-9) }

func (s *crowdScore) metrics() Values {
	return Values{{"mean_delay_ms", s.mean()}, {"hitches_per_entity_min", s.hitching()},
		{"near_delay_ms", s.near / float64(max(s.nears, 1))}, {"far_delay_ms", s.far / float64(max(s.fars, 1))},
		{"speed_deviation", s.speed / float64(max(s.speeds, 1))}, {"speed_variance", s.drawn.variance()}}
}

// crowdMargins are what rivals may add for all entities.
var crowdMargins = func() (m []time.Duration) {
	for d := time.Duration(0); d <= 2400*time.Millisecond; d += 25*time.Millisecond +
		d/12/time.Millisecond*time.Millisecond {
		m = append(m, d)
	}
	return m
}()

// crowdRival is one policy with every margin.
type crowdRival struct {
	name   string
	scores []crowdScore // by margin
}

// rivalView is a rival's view of one entity.
type rivalView struct {
	intervals []float64 // milliseconds
	target    time.Duration
	est       *estimate.Estimator
	ages      estimate.Ages
	delay     []time.Duration // by margin
	track     []crowdTrack
}

// arrives records that a record came after another.
func (g *rivalView) arrives(
	policy string, now, stamp clock.Time, gap clock.Tick, rested, rest bool, path time.Duration,
) {
	switch policy {
	case "global-2":
		g.target = 2 * time.Second / crowdRate
	case "price":
		if g.est == nil {
			g.est, _ = estimate.New(estimate.Config{Interval: crowdPeriod, Budget: 1})
		}
		if x, fresh, counts := g.ages.Arrive(now, stamp); fresh && counts {
			g.est.Observe(now, x)
		}
		if rest {
			g.ages.Quiet()
		}
		g.target = g.est.Target()
	default:
		if gap > 0 && (!rested || policy == "ryzom-rest") {
			if g.intervals = append(g.intervals, float64(gap)*crowdPeriod.Seconds()*1000); len(g.intervals) > 25 {
				g.intervals = g.intervals[1:]
			}
		}
		q := 0.8
		if policy == "q95" {
			q = 0.95
		}
		d := time.Duration(quantileOf(g.intervals, q) * float64(time.Millisecond))
		if policy == "q95" {
			g.target = d + path
		} else {
			g.target = d + crowdPeriod
		}
	}
}

// quantileOf interpolates; 100 ms while nothing is known.
func quantileOf(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 100
	}
	s := slices.Sorted(slices.Values(v))
	at := q * float64(len(s)-1)
	i := min(int(at), len(s)-1)
	return s[i] + (s[min(i+1, len(s)-1)]-s[i])*(at-float64(i))
}

// follow moves the delays of one entity on by a frame.
func (g *rivalView) follow(rest bool) {
	const frame = time.Second / 60
	if g.delay == nil {
		g.delay, g.track = make([]time.Duration, len(crowdMargins)), make([]crowdTrack, len(crowdMargins))
		rest = true
	}
	for m := range g.delay {
		want := g.target + crowdMargins[m]
		if rest {
			g.delay[m] = want
			continue
		}
		g.delay[m] += min(max(want-g.delay[m], -frame/2), frame/2)
	}
}

// watch lets one player look at the crowd for a while, and rivals too.
func watch(
	p netsim.Profile, seed uint64, budget int, noBounds bool, rivals []string, span time.Duration,
) (*onlooker, error) {
	rules, err := crowd(0)
	if err != nil {
		return nil, err
	}
	cfg := server.Config{Budget: budget}
	if noBounds {
		cfg.Order = &snapshot.Order{Unannounced: true}
	}
	s, err := gametest.NewSim(rules, seed, cfg)
	if err != nil {
		return nil, err
	}
	o := &onlooker{sim: s, floor: p.Down.Delay, ents: map[game.ID]*crowdEntity{}}
	for _, name := range rivals {
		o.rivals = append(o.rivals, &crowdRival{name, make([]crowdScore, len(crowdMargins))})
	}
	if o.player, err = s.Join("eye", p, nil); err != nil {
		return nil, err
	}
	o.player.OnFrame = o.frame
	s.Run(crowdSettle)
	o.before, _ = s.Server.Stats(o.player.ID)
	o.began, o.hitches = s.Loop.Now(), o.player.Client.Stats().EntityHitches
	s.Run(span)
	o.stats, _ = s.Server.Stats(o.player.ID)
	return o, s.Diverged()
}

func (o *onlooker) entity(id game.ID) *crowdEntity {
	e := o.ents[id]
	if e == nil {
		e = &crowdEntity{views: make([]rivalView, len(o.rivals))}
		e.index, _ = o.sim.Server.History().Find(uint32(id))
		at := o.sim.Server.History().At(e.index)
		e.radius = math.Hypot(float64(at.X), float64(at.Y)) / 1000
		o.ents[id] = e
	}
	return e
}

// path is what the client's playout delay allows for the path alone.
func (o *onlooker) path() time.Duration {
	return max(o.player.Client.Stats().DelayTarget-crowdPeriod, 0)
}

// hook looks at every record that the client applies from now on.
func (o *onlooker) hook() {
	o.hooked = true
	o.every = (crowdRate + o.player.Client.SendRate() - 1) / o.player.Client.SendRate()
	store := o.player.Client.Store()
	check := store.Applied
	store.Applied = func(h *snapshot.Replica, g int, st *motion.State) {
		check(h, g, st)
		if h.Mine || g != 0 {
			return
		}
		e := o.entity(game.ID(h.ID))
		if st.Tick <= e.newest {
			return
		}
		gap := clock.Tick(0)
		if e.newest > 0 {
			gap = st.Tick - e.newest
		}
		if gap > 0 && !e.rest && o.began > 0 && (st.Vals[0] != e.x || st.Vals[1] != e.y) {
			o.promised++
			if int(gap) < o.every+int(motion.Wait(e.bound)) {
				o.early++
			}
			e.measured = append(e.measured, xy{float64(o.sim.Loop.Now().Sub(o.began)) / 1e9,
				ms(time.Duration(gap) * crowdPeriod)})
			e.announced = append(e.announced,
				xy{e.measured[len(e.measured)-1].x,
					ms(time.Duration(o.every+int(motion.Wait(e.bound))) * crowdPeriod)})
			if int(gap) > o.every+int(motion.Wait(e.bound)) {
				o.broken++
			}
		}
		e.bound, e.x, e.y = st.Bound, st.Vals[0], st.Vals[1]
		for i, r := range o.rivals {
			e.views[i].arrives(r.name, o.sim.Loop.Now(), clock.Time(st.Tick)*clock.Time(crowdPeriod), gap, e.rest,
				st.Rest, o.path())
		}
		e.newest, e.rest = st.Tick, st.Rest
	}
}

// frame measures what is drawn.
func (o *onlooker) frame() {
	c := o.player.Client
	if !o.hooked {
		o.hook()
	}
	h := o.sim.Server.History()
	srv := o.sim.Server
	now := srv.Tick().Frac() +
		clock.TickFrac(int64(o.sim.Loop.Now().Sub(srv.Now())-o.floor)*clock.FracPerTick/int64(crowdPeriod))
	measured := o.began > 0 && c.Stats().Age < 500*time.Millisecond
	moves := func(e *crowdEntity, t clock.TickFrac) bool {
		n := min(t.Tick()+1, h.Tick())
		return h.Tick()-n < snapshot.HistoryTicks && e.moved[n%snapshot.HistoryTicks]
	}
	if h.Tick() != o.tick {
		o.tick = h.Tick()
		for _, e := range o.ents {
			e.moved[o.tick%snapshot.HistoryTicks] = h.At(e.index).ChangedIn(0) == o.tick
		}
	}
	for _, held := range c.Store().Entities() {
		if held.Mine {
			continue
		}
		e := o.entity(game.ID(held.ID))
		t, ok := c.TimeOf(held)
		if !ok || e.newest == 0 {
			continue
		}
		if moving := moves(e, t); moving && measured {
			o.own.see(&e.track, e, t, now)
		} else {
			e.track = crowdTrack{}
		}
		for i, r := range o.rivals {
			g := &e.views[i]
			g.follow(e.rest)
			for m := range g.delay {
				t := now - clock.TickFrac(int64(g.delay[m])*clock.FracPerTick/int64(crowdPeriod))
				tr := &g.track[m]
				if measured && moves(e, t) {
					hitches := r.scores[m].hitches
					if r.scores[m].see(tr, e, t, now); m == 0 && g.est != nil && r.scores[m].hitches > hitches {
						g.est.Hitch(1)
					}
				} else {
					*tr = crowdTrack{}
				}
			}
		}
	}
}

func runEntities(r *run) error {
	span, seeds := 2*time.Minute, r.seeds(3)
	if r.quick {
		span = 40 * time.Second
	}
	var rivals []string
	for _, p := range r.chosen {
		if p != ours && p != "global" {
			rivals = append(rivals, p)
		}
	}
	for _, updates := range []int{40, 20} {
		if r.quick && updates != 40 {
			continue
		}
		budgets, err := each(len(r.profiles), func(i int) (int, error) { return crowdBudget(r.profiles[i], updates) })
		if err != nil {
			return err
		}
		for _, schedule := range []string{"announced", "priority"} {
			noBounds := schedule == "priority"
			if noBounds && len(rivals) == 0 && !r.wants("global") {
				continue
			}
			results, err := each(len(r.profiles)*len(seeds), func(i int) (*onlooker, error) {
				return watch(r.profiles[i/len(seeds)], seeds[i%len(seeds)], budgets[i/len(seeds)], noBounds, rivals,
					span)
			})
			if err != nil {
				return err
			}
			if noBounds && r.wants("global") {
				o := &entityRows{r, updates, schedule, seeds, results}
				o.emit("global", 0, func(w *onlooker) *crowdScore { return &w.own })
			}
			o := &entityRows{r, updates, schedule, seeds, results}
			if r.wants(ours) && !noBounds {
				o.emit(ours, 0, func(w *onlooker) *crowdScore { return &w.own })
				if r.drawing {
					r.figures = append(r.figures, o.results[0].intervals(r.profiles[0].Name, updates))
				}
			}
			for i, name := range rivals {
				m := 0
				for ; m < len(crowdMargins)-1; m++ {
					if o.pooled(func(w *onlooker) *crowdScore { return &w.rivals[i].scores[m] }).hitching() <= 1 {
						break
					}
				}
				o.emit(name, crowdMargins[m], func(w *onlooker) *crowdScore { return &w.rivals[i].scores[m] })
			}
		}
	}
	return nil
}

type entityRows struct {
	r        *run
	updates  int
	schedule string
	seeds    []uint64
	results  []*onlooker
}

func (o *entityRows) pooled(of func(w *onlooker) *crowdScore) *crowdScore {
	var s crowdScore
	for _, w := range o.results {
		s.add(of(w))
	}
	return &s
}

// emit prints a row for each profile and one for all of them.
func (o *entityRows) emit(policy string, margin time.Duration, of func(w *onlooker) *crowdScore) {
	params := Values{{"updates_per_tick", o.updates}, {"schedule", o.schedule},
		{"margin_ms", int(margin.Milliseconds())}}
	all := 0.0
	for i, p := range o.r.profiles {
		var s crowdScore
		records, span, broken, early, promised := 0.0, 0.0, 0.0, 0.0, 0.0
		for j := range o.seeds {
			w := o.results[i*len(o.seeds)+j]
			s.add(of(w))
			records += float64(w.stats.Records - w.before.Records)
			broken += float64(w.broken)
			early += float64(w.early)
			promised += float64(w.promised)
			span += w.sim.Loop.Now().Sub(w.began).Seconds()
		}
		all += records / span / float64(len(o.r.profiles))
		o.r.emit(Row{o.r.name, p.Name, policy, o.r.seed, params,
			append(s.metrics(), Value{"records_per_s", records / span},
				Value{"broken_share", broken / max(promised, 1)}, Value{"early_share", early / max(promised, 1)})})
	}
	if len(o.r.profiles) > 1 {
		o.r.emit(Row{o.r.name, "mean", policy, o.r.seed, params,
			append(o.pooled(of).metrics(), Value{"records_per_s", all})})
	}
}

// intervals draws, for a walker that is near, one further off and one far away, what was announced
// and what came: figure 7 of the article on Ryzom.
func (o *onlooker) intervals(profile string, updates int) figure {
	f := figure{
		title: fmt.Sprintf("Interval between records, measured and announced, %s, %d records a tick", profile,
			updates),
		x: "seconds", y: "ms", dots: true,
		caption: "What the server announced, and when the next record came: above it, the thing would stop.",
	}
	for _, at := range []float64{6, 25, 90} {
		var best *crowdEntity
		for _, id := range slices.Sorted(maps.Keys(o.ents)) {
			if e := o.ents[id]; len(e.measured) > 1 &&
				(best == nil || math.Abs(e.radius-at) < math.Abs(best.radius-at)) {
				best = e
			}
		}
		if best == nil {
			continue
		}
		const shown = 20.0 // seconds
		cut := func(v []xy) []xy {
			var kept []xy
			for i, p := range v {
				if p.x > shown {
					break
				}
				if i > 0 && p.x-v[i-1].x > 2*p.y/1000 { // it stood in between
					kept = append(kept, gap)
				}
				kept = append(kept, p)
			}
			return kept
		}
		name := fmt.Sprintf("%.0f m, ", best.radius)
		f.lines = append(f.lines, line{name: name + "measured", at: cut(best.measured)},
			line{name: name + "announced", at: cut(best.announced), dashed: true})
	}
	return f
}
