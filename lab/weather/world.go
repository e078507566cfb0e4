package weather

import (
	"fmt"
	"time"

	"meanwhile/client"
	"meanwhile/examples/arena"
	"meanwhile/examples/kick"
	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/host/journal"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
	"meanwhile/server"
)

const (
	warm   = 6000 // ms before the first fault
	settle = 8000 // ms after the last one, until everything is whole
	window = 3000 // ms over which the ends are measured
	calmBy = 25 * time.Second
)

// games make the rules of a plan. The storm is nil in all but one.
var games = map[string]func(p *Plan) (*game.Rules, *storm, error){
	"storm": func(p *Plan) (*game.Rules, *storm, error) {
		s := newStorm(p)
		rules, err := s.def.Rules()
		return rules, s, err
	},
	"zap":   func(*Plan) (*game.Rules, *storm, error) { r, err := zap.Game.Rules(); return r, nil, err },
	"arena": func(*Plan) (*game.Rules, *storm, error) { r, err := arena.Game.Rules(); return r, nil, err },
	"kick":  func(*Plan) (*game.Rules, *storm, error) { r, err := kick.Game.Rules(); return r, nil, err },
}

// Games returns the names of the games of plans.
func Games() []string { return []string{"storm", "arena", "kick", "zap"} }

// A world is one plan as it runs.
type world struct {
	plan  *Plan
	sim   *gametest.Sim
	storm *storm // nil in other games
	seats []*seat
	rand  geom.Rand
	names int

	shut    int     // what keeps everybody out until there is a new world
	opening int     // of these, which are over
	moves   int     // the match goes on in another server every so many ticks; 0: it stays
	server  trouble // that concerns everybody
	still   bool    // everybody stands still
	failed  error   // the first
	result  Result
}

// trouble is what concerns a player, or everybody.
type trouble struct {
	active int
	since  clock.Time // when the newest fault ended, and what followed from it
}

// calm returns for how long nothing has been wrong.
func (t *trouble) calm(now clock.Time) time.Duration {
	if t.active > 0 {
		return 0
	}
	return now.Sub(t.since)
}

// A seat is one player of a plan, over all its connections.
type seat struct {
	w     *world
	i     int
	p     *gametest.Player
	guest bool
	path  netsim.Profile

	trouble
	settling                                        time.Duration // that is left, see kind.settling
	roamed                                          bool
	gone                                            int    // what keeps it out of the match
	damaged                                         int    // what damages its datagrams
	down                                            int    // what keeps it without a connection
	keeps                                           bool   // its client has what it received
	cut                                             [2]int // down, up
	flap                                            time.Duration
	again                                           time.Duration
	loss, delay, reorder, twice, corrupt, mtu, rate int

	panicFrom, panicTo clock.Tick

	watched watched
}

// fail notes why the plan failed.
func (w *world) fail(format string, args ...any) {
	if w.failed == nil {
		w.failed = fmt.Errorf("at %.2f s: "+format, append([]any{float64(w.sim.Loop.Now()) / 1e9}, args...)...)
	}
}

// at returns an instant of the plan.
func (w *world) at(n int) clock.Time { return clock.Time(ms(n)) }

// newWorld returns a plan before its begin.
func newWorld(p *Plan) (*world, error) {
	rules, s, err := games[p.Game](p)
	if err != nil {
		return nil, err
	}
	sim, err := gametest.NewSim(rules, p.Seed, server.Config{Budget: p.Budget / 8})
	if err != nil {
		return nil, err
	}
	w := &world{plan: p, sim: sim, storm: s, rand: geom.NewRand(p.Seed, 91)}
	sim.OnTick = w.check
	if s != nil {
		s.begin(p.Things)
		s.panics, s.heard = w.act, w.heard
	}
	for i, name := range p.Paths {
		path, err := netsim.ByName(name)
		if err != nil {
			return nil, err
		}
		seat := &seat{w: w, i: i, path: path}
		w.seats = append(w.seats, seat)
		w.join(seat)
	}
	for i := range p.Faults {
		w.plot(&p.Faults[i])
	}
	return w, w.failed
}

// plot enters a fault into the loop.
func (w *world) plot(f *fault) {
	k := kinds[f.Kind]
	if k.storm && w.storm == nil {
		return
	}
	concerned := func() (list []*seat) {
		for _, s := range w.seats {
			if f.Who < 0 && !s.guest || s.i == f.Who {
				list = append(list, s)
			}
		}
		return list
	}
	w.sim.Loop.At(w.at(f.At), func() {
		if k.server {
			w.server.active++
			k.begin(w, f, nil)
			return
		}
		for _, s := range concerned() {
			s.active++
			k.begin(w, f, s)
		}
	})
	w.sim.Loop.At(w.at(f.until()), func() {
		now := w.sim.Loop.Now()
		if k.server {
			k.end(w, f, nil)
			w.server.active--
			w.server.since = now
			for _, s := range w.seats {
				s.settling = max(s.settling, k.settling(f))
			}
			return
		}
		for _, s := range concerned() {
			k.end(w, f, s)
			s.active--
			s.since = max(s.since, now)
			s.settling = max(s.settling, k.settling(f))
		}
	})
}

// move freezes the server between two ticks and goes on in another one, as after a crash.
func (w *world) move() error {
	fresh, err := journal.Moved(w.sim.Rules, w.sim.Server)
	if err != nil {
		return err
	}
	w.sim.GoOn(fresh)
	w.result.moves++
	return nil
}

// close takes everybody out of the match, as a host does when its world has failed or the host ends.
func (w *world) close() {
	w.shut++
	for _, s := range w.seats {
		s.leave()
	}
}

// open lets everybody into a new world, as soon as the tick that runs is over.
func (w *world) open() { w.opening++ }

// reopen makes the new world. Who is kept away by another fault of this kind waits for the next one.
func (w *world) reopen() {
	w.result.worlds++
	if err := w.sim.Reopen(); err != nil {
		w.fail("open: %v", err)
		return
	}
	if w.storm != nil {
		w.storm.begin(w.plan.Things)
	}
	for ; w.opening > 0; w.opening-- {
		w.shut--
		for _, s := range w.seats {
			s.panicFrom, s.panicTo = 0, 0
			s.come()
		}
	}
}

// join connects a seat's player.
func (w *world) join(s *seat) {
	w.names++
	p, err := w.sim.Join(fmt.Sprint("p", w.names), s.path, w.sim.Rules.Bot())
	if err != nil {
		w.fail("%v", err)
		return
	}
	s.p, s.watched, s.down = p, watched{limit: w.plan.Budget / 8}, 0
	s.since = w.sim.Loop.Now()
	p.OnSend = s.onSend
	p.OnFrame = s.onFrame
	p.OnWord = s.onWord
	p.OnEvent = s.onEvent
	s.repath()
}

// invite adds guests, who play on good paths and are watched like all.
func (w *world) invite(n int) {
	if w.shut > 0 {
		return
	}
	for range n {
		s := &seat{w: w, i: 1000 + len(w.seats), path: netsim.LAN, guest: true}
		w.seats = append(w.seats, s)
		w.join(s)
	}
}

// dismiss lets the newest guests leave.
func (w *world) dismiss(n int) {
	for ; n > 0 && len(w.seats) > 0 && w.seats[len(w.seats)-1].guest; n-- {
		w.seats[len(w.seats)-1].p.Leave()
		w.seats = w.seats[:len(w.seats)-1]
	}
}

// suspend takes the player's connection away, until as many calls of resume.
func (s *seat) suspend() {
	if s.down++; s.down == 1 {
		s.keeps = true
		s.p.Suspend()
	}
}

// resume gives the player another connection, if nothing else keeps it away.
func (s *seat) resume(kept bool) {
	if s.down == 0 {
		return // another player sits here by now
	}
	s.keeps = s.keeps && kept
	if s.down--; s.down == 0 {
		s.p.Resume(s.keeps)
	}
}

func (s *seat) limit(l server.Limits) {
	now, ok := s.w.sim.Server.SetLimits(s.p.ID, l)
	if ok {
		s.watched.limit = now.Budget
	}
}

func (s *seat) away(away bool) {
	if s.p.Client != nil {
		s.p.Client.SetAway(away)
	}
}

// leave takes the player out of the match, until as many calls of come.
func (s *seat) leave() {
	if s.gone++; s.gone == 1 {
		s.p.Leave()
	}
}

// come lets another player sit down here.
func (s *seat) come() {
	if s.gone--; s.gone == 0 {
		s.w.join(s)
	}
}

// repair ends one damage. After the last one the client begins anew.
func (s *seat) repair() {
	if s.damaged--; s.damaged == 0 {
		s.corrupt = 0
		s.suspend()
		s.resume(false)
	}
}

// damage changes bytes of so many percent of the player's datagrams from now on. Transports tell
// such a datagram from a good one, so this is what a hostile peer sends: nothing may panic, and
// nobody else may notice. What is checked of the client itself is switched off.
func (s *seat) damage(percent int) {
	s.damaged++
	s.corrupt = percent
	s.watched.news = 0 // the last words of this client, just after the repair, may follow on none
	s.distrust()
}

// distrust switches off what is checked of the states that the player's client applies.
func (s *seat) distrust() {
	if c := s.p.Client; c != nil {
		c.Store().Applied, c.OnConfirm = nil, nil
	}
}

// onSend is what the faults do to one datagram.
func (s *seat) onSend(up bool, data []byte) bool {
	now := s.w.sim.Loop.Now()
	way := 0
	if up {
		way = 1
	} else {
		s.spent(now, len(data))
	}
	if s.cut[way] > 0 || s.mtu > 0 && len(data) > s.mtu || s.flap > 0 && now/clock.Time(s.flap)%2 == 1 {
		return false
	}
	known := up || s.p.Connected() && s.p.Client == s.watched.client // one that just began is still believed
	if s.corrupt > 0 && known && s.w.rand.IntN(100) < s.corrupt {
		for range 1 + s.w.rand.IntN(4) {
			data[s.w.rand.IntN(len(data))] ^= byte(1 << s.w.rand.IntN(8))
		}
	}
	if s.again > 0 {
		copied, p, visit := append([]byte(nil), data...), s.p, s.p.Visit()
		s.w.sim.Loop.After(s.again, func() {
			if p.Visit() == visit {
				p.Push(up, copied)
			}
		})
	}
	return true
}

// say lets the player say something to the rules.
func (s *seat) say() {
	w, c := s.w, s.p.Client
	if w.storm == nil || c == nil {
		return
	}
	l := line{Life: s.watched.life, Number: s.watched.said + 1, Text: "hello"}
	if client.Say(c, w.storm.says, l) == nil {
		s.watched.said++
	}
}
