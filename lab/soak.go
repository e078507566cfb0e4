package lab

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"meanwhile/examples/arena"
	"meanwhile/examples/kick"
	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
	"meanwhile/server"
)

var soakExperiment = &experiment{
	name:  "soak",
	about: "two hours of many players whom everything happens to: memory must stay flat; takes hours, not part of all",
	notes: `200 players (--players N) play for two hours (--for TIME) in rooms of up to 20: two of five rooms play zap,
two arena, one kick. Each player has a network of its own, and on the average every minute something happens to it:
nothing passes for 0.3 to 9 s (<b>cuts</b>), it moves to another network (<b>roams</b>), its connection ends and it
comes back after 0.2 to 9 s, with what it had received or without (<b>returns</b>), it hides its tab for 1 to 30 s, or
it leaves and somebody else comes (<b>leaves</b>). Every state that a client applies is compared with the server's
history (<b>states_compared</b>, <b>divergences</b>). <b>heap_mb</b> is what servers, clients and networks use together
after a collection of garbage: the mean of one measurement each virtual minute. <b>deaf</b> counts players to whom
nothing came for 10 s, looked at each minute, although nothing had happened to them for 30 s. <b>cpu_s</b> depends on
the machine. Each row is ten minutes, or a tenth part of less than 100 minutes. <b>growth</b> in the last row is that of
the memory in the second half of the time, by the line that fits its measurements best. It must be below 0.02, and
neither divergences nor deaf players nor errors may occur. <b>empty_mb</b> is used after all have left.`,
	takes: bySpan | byPlayers,
	run:   runSoak,
}

const (
	soakPlayers = 200
	soakFor     = 2 * time.Hour
	soakSettle  = 2 * time.Minute // until histories, which grow with the match, are full
	soakRow     = 10 * time.Minute
	soakLook    = time.Minute // between two measurements of the memory
	soakRoom    = 20          // players
	soakGrowth  = 0.02        // most, in the second half
	soakCalm    = 30 * time.Second
	soakDeaf    = 10 * time.Second
	soakErrors  = 10 // that a room keeps

	soakQuickPlayers = 6
	soakQuickFor     = time.Minute
)

// soakGames are the games of rooms, in turn. A player of kick costs three times one of zap.
var soakGames = []func() (*game.Rules, error){zap.Game.Rules, arena.Game.Rules, zap.Game.Rules, arena.Game.Rules,
	kick.Game.Rules}

// soakPaths are the networks of players. The slowest are left out: over them nothing may come for
// long although nothing is wrong.
var soakPaths = []netsim.Profile{netsim.Fiber, netsim.HotelWiFi, netsim.BurstLoss, netsim.CityLTE, netsim.UrbanLTE,
	netsim.TrainLTE, netsim.LAN, netsim.Ocean}

// A soakWorld is one room.
type soakWorld struct {
	sim   *gametest.Sim
	seats []*soakSeat
	rand  geom.Rand
	seen  soakCount
	errs  []error
}

// soakCount is what happened.
type soakCount struct {
	cuts, roams, returns, leaves, deaf int
	hitches, starved                   uint64
	span                               time.Duration // of players
}

// A soakSeat is one player after the other.
type soakSeat struct {
	w       *soakWorld
	p       *gametest.Player
	path    int // of soakPaths
	came    int
	calm    clock.Time // since when nothing happens to it
	busy    bool
	hitches uint64 // at the last look
	starved uint64
}

func newSoakWorld(rules *game.Rules, seed uint64, players int) (*soakWorld, error) {
	sim, err := gametest.NewSim(rules, seed, server.Config{})
	if err != nil {
		return nil, err
	}
	w := &soakWorld{sim: sim, rand: geom.NewRand(seed, 5)}
	sim.OnTick = w.end
	for range players {
		s := &soakSeat{w: w}
		w.seats = append(w.seats, s)
		w.sim.Loop.After(time.Duration(w.rand.IntN(int(10*time.Second))), func() { s.come(); s.wait() })
	}
	return w, nil
}

// end ends the connections that the server gives up.
func (w *soakWorld) end() {
	for _, e := range w.sim.Server.Ends() {
		for _, s := range w.seats {
			if s.p == nil || s.p.ID != e.Player || s.p.Left() {
				continue
			}
			if p := s.p; p.Connected() {
				p.Suspend()
				w.sim.Loop.After(s.within(200*time.Millisecond, time.Second), func() { s.comeBack(p, true) })
			}
		}
	}
}

func (s *soakSeat) within(least, most time.Duration) time.Duration {
	return least + time.Duration(s.w.rand.IntN(int(most-least)))
}

// come lets a new player sit down here.
func (s *soakSeat) come() {
	s.path, s.hitches, s.starved = s.w.rand.IntN(len(soakPaths)), 0, 0
	s.came++
	p, err := s.w.sim.Join(fmt.Sprint("soak ", s.came), soakPaths[s.path], s.w.sim.Rules.Bot())
	if err != nil {
		s.w.fail(err)
		return
	}
	s.p = p
}

// comeBack gives a player another connection, or its place to somebody else if the server does not
// know it any more.
func (s *soakSeat) comeBack(p *gametest.Player, kept bool) {
	if p.Left() || p.Connected() {
		return
	}
	if p.Resume(kept); p.Left() {
		s.come()
	}
	s.w.seen.returns++
}

// wait lets something happen to the player after a while.
func (s *soakSeat) wait() {
	s.busy, s.calm = false, s.w.sim.Loop.Now()
	s.w.sim.Loop.After(time.Second+time.Duration(min(s.w.rand.Exp(), 5)*float64(time.Minute)), func() {
		s.busy = true
		s.w.sim.Loop.After(s.happen(), s.wait)
	})
}

// happen lets something happen to the player and returns how long it takes.
func (s *soakSeat) happen() time.Duration {
	w := s.w
	if s.p == nil || !s.p.Connected() {
		return time.Second // it is on its way
	}
	switch n := w.rand.IntN(16); {
	case n < 5:
		d := s.within(300*time.Millisecond, 9*time.Second)
		s.p.Cut(d)
		w.seen.cuts++
		return d
	case n < 9:
		s.roam()
		w.seen.roams++
		return 0
	case n < 12:
		d, kept, p := s.within(200*time.Millisecond, 9*time.Second), w.rand.Chance(0.7), s.p
		p.Suspend()
		w.sim.Loop.After(d, func() { s.comeBack(p, kept) })
		return d + time.Second
	case n < 14:
		d, c := s.within(time.Second, 30*time.Second), s.p.Client
		c.SetAway(true)
		w.sim.Loop.After(d, func() { c.SetAway(false) })
		return d
	default:
		s.p.Leave()
		w.seen.leaves++
		w.sim.Loop.After(s.within(0, 5*time.Second), s.come)
		return 10 * time.Second
	}
}

// roam moves the player to another network. What is under way is lost.
func (s *soakSeat) roam() {
	s.path = s.w.rand.IntN(len(soakPaths))
	s.p.Reroute()
	for i, cfg := range []netsim.LinkConfig{soakPaths[s.path].Down, soakPaths[s.path].Up} {
		if err := s.p.Link(i == 1).Set(cfg); err != nil {
			s.w.fail(err)
		}
	}
}

// fail keeps the first errors.
func (w *soakWorld) fail(err error) {
	if len(w.errs) < soakErrors {
		w.errs = append(w.errs, err)
	}
}

// look counts what the players met since the last look, that long ago.
func (w *soakWorld) look(ago time.Duration) {
	now := w.sim.Loop.Now()
	for _, s := range w.seats {
		if s.p == nil || s.p.Client == nil {
			continue
		}
		st := s.p.Client.Stats()
		if st.Hitches < s.hitches || st.Starved < s.starved {
			s.hitches, s.starved = 0, 0 // another client
		}
		w.seen.hitches += st.Hitches - s.hitches
		w.seen.starved += st.Starved - s.starved
		s.hitches, s.starved = st.Hitches, st.Starved
		w.seen.span += ago
		if !s.busy && now.Sub(s.calm) > soakCalm && st.Age > soakDeaf {
			w.seen.deaf++
			w.fail(fmt.Errorf("lab: at %v nothing has come to %s in %s on %s for %v",
				time.Duration(now), s.p.Name, w.sim.Rules.Name, soakPaths[s.path].Name, st.Age))
		}
	}
}

// live returns the bytes that are in use after a collection of garbage.
func live() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what finalizers and pools kept
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// Growth returns by which part values grow from first to last, by the line that fits them best.
func Growth(values []float64) float64 {
	n := float64(len(values))
	if n < 2 {
		return 0
	}
	var sx, sy, sxx, sxy float64
	for i, y := range values {
		x := float64(i)
		sx, sy, sxx, sxy = sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	slope := (n*sxy - sx*sy) / (n*sxx - sx*sx)
	first := (sy - slope*sx) / n
	return slope * (n - 1) / first
}

// A soak is all rooms of a run.
type soak struct {
	worlds []*soakWorld
	heap   []float64 // bytes, one for each look
}

func newSoak(seed uint64, players int) (*soak, error) {
	k := &soak{}
	rooms := (players + soakRoom - 1) / soakRoom
	for i := range rooms {
		rules, err := soakGames[i%len(soakGames)]()
		if err != nil {
			return nil, err
		}
		w, err := newSoakWorld(rules, seed*1000+uint64(i), players*(i+1)/rooms-players*i/rooms)
		if err != nil {
			return nil, err
		}
		k.worlds = append(k.worlds, w)
	}
	return k, nil
}

// run lets virtual time pass in all rooms.
func (k *soak) run(d time.Duration) {
	_, _ = each(len(k.worlds), func(i int) (struct{}, error) {
		k.worlds[i].sim.Run(d)
		return struct{}{}, nil
	})
}

// sum returns what happened so far, and what was compared.
func (k *soak) sum() (c soakCount, compared, divergences uint64, err error) {
	for _, w := range k.worlds {
		c.cuts, c.roams, c.returns = c.cuts+w.seen.cuts, c.roams+w.seen.roams, c.returns+w.seen.returns
		c.leaves, c.deaf = c.leaves+w.seen.leaves, c.deaf+w.seen.deaf
		c.hitches, c.starved, c.span = c.hitches+w.seen.hitches, c.starved+w.seen.starved, c.span+w.seen.span
		n, _ := w.sim.Checked()
		compared, divergences = compared+n, divergences+w.sim.Divergences()
		err = errors.Join(err, w.sim.Diverged(), w.sim.Mistaken(), errors.Join(w.errs...))
	}
	return c, compared, divergences, err
}

// part lets one row's time pass and returns the row's metrics.
func (k *soak) part(span, look time.Duration) Values {
	before, compared, _, _ := k.sum()
	began, first := cpuTime(), len(k.heap)
	for t := time.Duration(0); t < span; t += look {
		k.run(look)
		for _, w := range k.worlds {
			w.look(look)
		}
		k.heap = append(k.heap, live())
	}
	after, total, divergences, _ := k.sum()
	minutes := (after.span - before.span).Minutes()
	mean := 0.0
	for _, b := range k.heap[first:] {
		mean += b / float64(len(k.heap)-first)
	}
	return Values{{"heap_mb", mean / 1e6}, {"cuts", after.cuts - before.cuts}, {"roams", after.roams - before.roams},
		{"returns", after.returns - before.returns}, {"leaves", after.leaves - before.leaves},
		{"states_compared", total - compared}, {"divergences", divergences}, {"deaf", after.deaf},
		{"hitches_per_min", float64(after.hitches-before.hitches) / minutes},
		{"starved_per_min", float64(after.starved-before.starved) / minutes},
		{"cpu_s", (cpuTime() - began).Seconds()}}
}

func runSoak(r *run) error {
	players, span := soakPlayers, soakFor
	if r.quick {
		players, span = soakQuickPlayers, soakQuickFor
	}
	if r.players > 0 {
		players = r.players
	}
	if r.span > 0 {
		span = r.span
	}
	k, err := newSoak(r.seed, players)
	if err != nil {
		return err
	}
	row := min(soakRow, span/10)
	look := min(soakLook, row/5)
	k.run(min(soakSettle, span/10))
	for t := row; t <= span; t += row {
		m := k.part(row, look)
		r.emit(Row{r.name, "", ours, r.seed, r.params(Value{"players", players}, Value{"minute", t.Minutes()}), m})
		heap, _ := m.Get("heap_mb")
		spent, _ := m.Get("cpu_s")
		fmt.Fprintf(os.Stderr, "%v of %v: %.2f MB in use, %.1f s of CPU\n", t, span, heap, spent)
	}
	grown := Growth(k.heap[len(k.heap)/2:])
	c, compared, divergences, err := k.sum()
	for _, w := range k.worlds {
		for _, s := range w.seats {
			if s.p != nil && !s.p.Left() {
				s.p.Leave()
			}
			s.p = nil
		}
	}
	k.run(time.Second)
	r.emit(Row{r.name, "", ours, r.seed, r.params(Value{"players", players}, Value{"minutes", span.Minutes()}),
		Values{{"growth", grown}, {"empty_mb", live() / 1e6}, {"states_compared", compared},
			{"divergences", divergences}, {"deaf", c.deaf}}})
	if grown >= soakGrowth && !r.quick { // too short to say
		err = errors.Join(err, fmt.Errorf("lab: soak: memory in use grew by %.1f %% in the second half, at most %.0f %% is "+
			"allowed; seed %d", grown*100, soakGrowth*100, r.seed))
	}
	return err
}
