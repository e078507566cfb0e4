package weather

import (
	"errors"
	"maps"
	"slices"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/netsim"
	"meanwhile/server"
)

// watched is what is known of one player, for the checks.
type watched struct {
	client *client.Client // whose memory the rest is about

	limit int      // budget in force, bytes a second
	sent  []charge // of the last second
	sum   int

	command     clock.Tick // newest command
	unseen      clock.Tick // commands up to this one are not compared
	playout     clock.TickFrac
	hangs       uint64
	steps       uint64
	starved     uint64 // ticks, at the last look
	ran         clock.Tick
	odd         uint64        // of what lets a command be judged by another picture
	substituted uint64        // states, see server.Stats
	link        netsim.Stats  // of the way up, at the last look
	deaf        int           // seconds in which most ticks had no command
	heard       time.Duration // in which packets came
	lastSeen    []departure   // since when entities are held that the server does not show

	life    int          // of the client, counted
	said    int          // newest line that the player said
	got     int          // newest line of it that the rules heard
	gotOf   int          // and of which life
	doubted bool         // what it says, after damage
	news    int          // newest news that arrived; 0: none in this life
	events  map[int]bool // bangs that arrived

	before, after ends
	least         ends // delay and lead since the present one of these began
}

// departure is an entity that the server stopped showing.
type departure struct {
	id    uint32
	at    clock.Time
	heard time.Duration // of the player's by then
}

// charge is a datagram that was sent.
type charge struct {
	at   clock.Time
	cost int
}

// ends is what a player had in a window of time.
type ends struct {
	starved uint64
	hitches uint64
	ticks   clock.Tick
	delay   time.Duration
	lead    time.Duration
}

const (
	heardFor   = 2 * time.Second // after which commands must arrive in time, over the last second
	calmFor    = 3 * time.Second // after which a player must be whole in most respects
	lookEvery  = 3               // ticks, between two looks at what a player holds
	longestRun = 40              // datagrams in a row that a path loses, seldom enough
	staleFor   = 3 * time.Second // with packets, for which an entity may be held that the server does not show
	silentFor  = time.Second     // without a packet, after which the path itself is silent
)

// spent checks the budget of a datagram that leaves now (invariant 7).
func (s *seat) spent(now clock.Time, size int) {
	m := &s.watched
	for len(m.sent) > 0 && now.Sub(m.sent[0].at) >= time.Second {
		m.sum -= m.sent[0].cost
		m.sent = m.sent[1:]
	}
	cost := size + wire.Overhead
	m.sent, m.sum = append(m.sent, charge{now, cost}), m.sum+cost
	s.w.result.Sent++
	if m.sum > m.limit {
		s.w.fail("budget: player %d is sent %d bytes within a second, its limit is %d", s.i, m.sum, m.limit)
	}
}

// check looks at everything at the end of a tick.
func (w *world) check() {
	srv := w.sim.Server
	w.result.ticks++
	if w.sim.Divergences() > 0 {
		w.fail("divergence: %v", w.sim.Diverged())
	}
	for _, err := range w.sim.Faults()[w.result.faults:] {
		w.result.faults++
		if p := (*engine.PanicError)(nil); !errors.As(err, &p) || w.storm == nil {
			w.fail("fault: %v", err)
		}
	}
	for _, e := range srv.Ends() {
		w.end(e.Player, e.Why, e.Refused)
	}
	now := w.sim.Loop.Now()
	for _, s := range w.seats {
		s.check(now)
	}
	if w.moves > 0 && srv.Tick()%clock.Tick(w.moves) == 0 {
		if err := w.move(); err != nil {
			w.fail("move: %v", err)
		}
		srv = w.sim.Server
	}
	if w.opening > 0 {
		w.reopen()
		return
	}
	if w.storm != nil && srv.Tick()%clock.Tick(w.sim.Rules.Rate) == 0 {
		w.storm.forget(srv.Tick() - min(srv.Tick(), clock.Tick(8*w.sim.Rules.Rate)))
		w.storm.chatter++
		for _, s := range w.seats {
			if s.p.Connected() {
				s.say()
			}
		}
	}
}

// end does what a host does when the server wants a connection to end.
func (w *world) end(id server.PlayerID, why string, refused bool) {
	for _, s := range w.seats {
		if s.p.ID != id {
			continue
		}
		w.result.ends++
		if refused && s.trusted() {
			w.fail("end: player %d, who is honest, is sent away: %s", s.i, why)
		}
		s.leave()
		s.active++
		w.sim.Loop.After(time.Second, func() {
			s.active--
			s.come()
		})
	}
}

// trusted reports whether nothing damages the player's datagrams.
func (s *seat) trusted() bool { return s.damaged == 0 }

// settle counts what is left of the settling after faults, which takes packets both ways.
func (s *seat) settle(now clock.Time) {
	if s.settling > 0 && s.active+s.w.server.active == 0 && s.p.Connected() {
		s.settling -= s.w.sim.Server.Period()
		s.since = max(s.since, now)
	}
}

// calmAll returns for how long nothing that concerns the player has been wrong.
func (s *seat) calmAll(now clock.Time) time.Duration {
	if !s.trusted() || !s.p.Connected() {
		return 0
	}
	return min(s.calm(now), s.w.server.calm(now))
}

// renew begins anew what is about one client.
func (s *seat) renew() {
	m := &s.watched
	if m.client == s.p.Client {
		return
	}
	if m.client = s.p.Client; m.client == nil {
		return
	}
	m.life++
	s.unsee()
	if !s.trusted() {
		s.distrust()
	}
	m.said, m.news, m.events = 0, 0, map[int]bool{}
	m.command, m.playout, m.lastSeen = 0, 0, nil
	m.hangs, m.steps = 0, 0
	s.since = s.w.sim.Loop.Now()
}

// check looks at one player at the end of a tick.
func (s *seat) check(now clock.Time) {
	s.renew()
	c, m, srv := s.p.Client, &s.watched, s.w.sim.Server
	if c == nil {
		return
	}
	s.settle(now)
	cs := c.Stats()
	m.least.delay, m.least.lead = min(m.least.delay, cs.Delay), min(m.least.lead, cs.Lead)
	calm := s.calmAll(now)
	if s.w.storm != nil {
		s.checkSight(calm)
	}
	if calm > calmFor && !s.w.still {
		tick, _, _ := c.Newest()
		wait := 1 + s.patience()
		if s.path.Down.Loss.Rate() > 0 {
			wait = max(wait, min(longestRun/max(len(m.sent), 1), 8))
		}
		if s.behind() > time.Duration(wait)*time.Second {
			s.w.fail("blind: player %d, calm for %v, has tick %d of %d", s.i, calm, tick, srv.Tick())
		}
	}
	s.checkKnown(now, calm, srv.Tick()%lookEvery == 0)
	if srv.Tick()%clock.Tick(s.w.sim.Rules.Rate) != 0 {
		return
	}
	st, ok := srv.Stats(s.p.ID)
	if !ok {
		return
	}
	ticks, without := srv.Tick()-m.ran, st.Starved
	if s.w.sim.Rules.Mode == game.Queued {
		without = st.Expired // several commands run in one tick, so that others have none
	}
	starved := without - min(m.starved, without)
	m.starved, m.ran = without, srv.Tick()
	link, was := s.p.Link(true).Stats(), m.link
	if m.link = link; 2*(link.Lost-min(was.Lost, link.Lost)) > link.Sent-min(was.Sent, link.Sent) {
		return // the path lost most of this second by itself
	}
	if calm < heardFor || 2*starved <= uint64(ticks) {
		m.deaf = 0
	} else if m.deaf++; m.deaf > s.patience() {
		s.w.fail("deaf: player %d, calm for %v, had no command in %d of %d ticks; lead %v", s.i, calm, starved, ticks,
			c.Stats().Lead)
	}
}

// patience returns for how many seconds a path may carry nothing by itself.
func (s *seat) patience() int {
	if s.path.Down.Mean() > 0 || s.path.Down.Loss.Rate() > 0 && s.w.plan.Budget < 32_000 { // few packets, lost in runs
		return 5
	}
	return 1
}

// hasRoom reports whether everything that the server has for the player gets through at once.
func (s *seat) hasRoom() bool {
	return s.path.Down.Mean() == 0 && s.path.Down.Loss.Rate() == 0 && 8*s.watched.limit >= 64_000
}

// behind returns how much older than the present the newest packet is that the player has, 0 in an
// announced silence.
func (s *seat) behind() time.Duration {
	if s.p.Client.Quiet() {
		return 0
	}
	srv := s.w.sim.Server
	tick, _, _ := s.p.Client.Newest()
	return time.Duration(srv.Tick()-min(tick, srv.Tick())) * srv.Period()
}

// checkKnown looks for entities that the player holds though the server stopped showing them. Time
// in which the path is silent by itself does not count: the first packet after it need not have
// what was lost. all says whether to look for new ones.
func (s *seat) checkKnown(now clock.Time, calm time.Duration, all bool) {
	m, h, v := &s.watched, s.w.sim.Server.History(), s.w.sim.Server.View(s.p.ID)
	if v == nil || calm < staleFor {
		m.lastSeen = m.lastSeen[:0]
		return
	}
	left := func(id uint32) bool {
		i, ok := h.Find(id)
		return !ok || !v.Has(i)
	}
	m.lastSeen = slices.DeleteFunc(m.lastSeen, func(d departure) bool {
		return !left(d.id) || s.p.Client.Store().Find(d.id) == nil
	})
	if s.behind() <= silentFor {
		m.heard += s.w.sim.Server.Period()
	}
	for _, d := range m.lastSeen {
		if m.heard-d.heard > staleFor {
			s.w.fail("stale: player %d, calm for %v, holds entity %d that left %v ago", s.i, calm, d.id, now.Sub(d.at))
		}
	}
	if !all {
		return
	}
	for _, e := range s.p.Client.Store().Entities() {
		known := slices.ContainsFunc(m.lastSeen, func(d departure) bool { return d.id == e.ID })
		if !known && left(e.ID) {
			m.lastSeen = append(m.lastSeen, departure{e.ID, now, m.heard})
		}
	}
}

// checkSight compares what the player saw with what the server judged by (invariant 6).
func (s *seat) checkSight(calm time.Duration) {
	w, m := s.w, &s.watched
	st, ok := w.sim.Server.Stats(s.p.ID)
	if !ok || !s.trusted() || w.sim.Rules.Mode == game.Queued { // those run in other ticks
		return
	}
	cs := s.p.Client.Stats()
	me, tick := s.p.Me(), w.sim.Server.Tick()
	odd := st.Clamped + st.Moved + st.Contradicted + cs.Hangs + cs.ClockSteps + uint64(m.life)<<40
	changed, substituted := odd != m.odd, st.Substituted != m.substituted
	m.odd, m.substituted = odd, st.Substituted
	k := gaze{me, game.Tick(tick)}
	judged, ok := w.storm.judged[k]
	if !ok || changed || st.LastStarved == tick || w.server.calm(w.sim.Loop.Now()) < heardFor {
		return
	}
	foreseen, ok := w.storm.foreseen[k]
	if !ok || foreseen.none || tick <= m.unseen {
		return
	}
	if substituted {
		// A newer state in the place of one that is too old may be drawn the same, as the picture
		// had gone on to the next one. Where records come in time none is too old. After a silence
		// the server does not know for some packets what was shown.
		w.result.Substituted++
		if judged == foreseen && calm > calmFor+w.plan.unsaid() && s.hasRoom() {
			w.fail("substituted: the server says that player %d shot at another state in tick %d, but it was the same", s.i,
				tick)
		}
		return
	}
	w.result.Sights++
	if judged.details != foreseen.details {
		w.result.Blurred++
	}
	if judged.places != foreseen.places {
		w.fail("picture: player %d shot at something else in tick %d than the server judged by", s.i, tick)
	}
}

// unsee forgets what the player saw when it made its commands up to now. Some of them may be made
// anew, though the server has them already.
func (s *seat) unsee() {
	if s.w.storm != nil {
		me := s.w.sim.Server.Avatar(s.p.ID)
		maps.DeleteFunc(s.w.storm.foreseen, func(k gaze, _ picture) bool { return k.me == me })
		s.watched.unseen = max(s.watched.command, s.p.Client.CommandTick())
	}
}

// miss notes which of the newest commands did not run in the frame that made them: one that catches
// up runs them later, by newer records.
func (s *seat) miss(from, to clock.Tick) {
	if s.w.storm == nil {
		return
	}
	for t := max(from, to-min(to, 64)) + 1; t <= to; t++ {
		k := gaze{s.p.Me(), game.Tick(t)}
		if _, ok := s.w.storm.foreseen[k]; !ok {
			s.w.storm.foreseen[k] = picture{none: true}
		}
	}
}

// onFrame looks at one frame of a client.
func (s *seat) onFrame() {
	s.renew()
	c, m := s.p.Client, &s.watched
	st := c.Stats()
	if st.Hangs != m.hangs || st.ClockSteps != m.steps {
		m.hangs, m.steps = st.Hangs, st.ClockSteps
		s.unsee() // its commands are made anew
		m.command, m.playout = 0, 0
	}
	if t := c.CommandTick(); t < m.command {
		s.w.fail("monotone: the commands of player %d go back from %d to %d", s.i, m.command, t)
	} else {
		s.miss(m.command, t)
		m.command = t
	}
	// Beyond the newest tick that it knows, a client only assumes that time goes on.
	newest, _, _ := c.Newest()
	if t := min(c.Playout(), newest.Frac()); t < m.playout {
		s.w.fail("monotone: the playout time of player %d goes back from %d to %d", s.i, m.playout, t)
	} else {
		m.playout = t
	}
}

// onWord checks that news arrive once, in order and without a gap.
func (s *seat) onWord(x *client.Word) {
	s.renew()
	if s.w.storm == nil || !s.trusted() {
		return
	}
	l, ok := client.Heard(s.p.Client, x, s.w.storm.news)
	if !ok {
		return
	}
	m := &s.watched
	if m.news != 0 && l.Number != m.news+1 {
		s.w.fail("words: player %d hears news %d after %d", s.i, l.Number, m.news)
	}
	m.news = l.Number
	s.w.result.Words++
}

// heard checks that what a player says arrives once, in order and without a gap.
func (w *world) heard(from game.ID, l line) {
	for _, s := range w.seats {
		if w.sim.Server.Avatar(s.p.ID) != from || from == 0 {
			continue
		}
		m := &s.watched
		// What it says may be damaged, until the next client says its first line.
		if m.doubted = !s.trusted() || m.doubted && (l.Number != 1 || l.Life != m.life); m.doubted {
			m.got, m.gotOf = 0, 0
			continue
		}
		if l.Life != m.gotOf && l.Number != 1 || l.Life == m.gotOf && l.Number != m.got+1 || l.Life < m.gotOf {
			w.fail("words: the rules hear line %d of life %d of player %d after line %d of life %d", l.Number, l.Life, s.i,
				m.got, m.gotOf)
		}
		m.got, m.gotOf = l.Number, l.Life
		w.result.Words++
	}
}

// onEvent checks that an event is shown once.
func (s *seat) onEvent(e *client.Event) {
	s.renew()
	if s.w.storm == nil || e.Event != 0 || !s.trusted() {
		return
	}
	n := int(e.Vals[0])
	if s.watched.events[n] {
		s.w.fail("events: player %d is shown bang %d twice", s.i, n)
	}
	s.watched.events[n] = true
}

// measure returns the counters of a player now.
func (s *seat) measure() ends {
	var e ends
	if s.p.Client == nil {
		return e
	}
	cs := s.p.Client.Stats()
	st, _ := s.w.sim.Server.Stats(s.p.ID)
	return ends{st.Starved, cs.Hitches, s.w.sim.Server.Tick(), cs.Delay, cs.Lead}
}
