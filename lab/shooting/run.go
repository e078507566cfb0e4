package shooting

import (
	"fmt"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/lab/baseline"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/rewind"
	"meanwhile/netsim"
	"meanwhile/server"
)

// Config says what is run.
type Config struct {
	Profile  netsim.Profile // of every shooter
	Shooters int
	Targets  int
	InSight  int  // how many of them a shooter knows; 0: all
	Budget   int  // bits a second down to each shooter; 0 means 64,000
	Alone    bool // nothing is compared with other systems
	Seed     uint64

	server server.Config
	each   []netsim.Profile // in place of Profile, by shooter
	duel   *Duel            // nil: shooters run about and fire at targets
}

const (
	// A shooter clicks again after 100 ms at the earliest, as a fast rifle does, and then in every
	// second frame.
	refire = 100 * time.Millisecond
	clicks = 0.5

	frame    = time.Second / 60
	maxDrift = 50 // parts per million by which a client's clock is faster or slower

	// lost is how long after it was fired a shot counts as never judged.
	lost = 2 * time.Second

	// warmup is how long clocks and delays may settle before shots count.
	warmup = 12 * time.Second

	shotNumbers = 1 << 16
)

// Range is a match that is watched. See New.
type Range struct {
	loop netsim.Loop
	srv  *server.Server

	cfg      Config
	gameOf   *game.Rules
	world    *game.World // of the server
	stage    stage
	past     past
	shooters []*shooter
	byAvatar map[game.ID]*shooter
	out      server.Outbox
	seen     sight   // of the shot that is being judged
	fresh    []*shot // judged in this tick
	counts   bool    // shots count from now on
	rewinds  []rival // of others, to compare with
	ours     Tally
	present  Tally
	faults   []error
	scratch  [2]sight
}

// rival is one other system and its results.
type rival struct {
	baseline.Rewind
	tally Tally
}

// New returns a range at which everybody connects at once.
func New(cfg Config) (*Range, error) {
	r := &Range{cfg: cfg, byAvatar: map[game.ID]*shooter{}}
	r.stage = stage{rng: geom.NewRand(cfg.Seed, 1), did: map[game.ID]*[ofDoor]deeds{}}
	rules, err := r.rules()
	if err != nil {
		return nil, err
	}
	r.gameOf = rules
	sc := cfg.server
	sc.Seed, sc.Secret, sc.Budget = cfg.Seed*2+1, cfg.Seed*2+2, cfg.Budget/8
	r.srv, err = server.New(rules, sc)
	if err != nil {
		return nil, err
	}
	r.world = r.srv.World()
	if !cfg.Alone {
		for _, s := range baseline.Rewinds() {
			r.rewinds = append(r.rewinds, rival{Rewind: s})
		}
	}
	for i := range cfg.Shooters {
		if err := r.join(i); err != nil {
			return nil, err
		}
	}
	r.loop.Every(r.loop.Now().Add(r.srv.Period()), r.srv.Period(), r.tick)
	return r, nil
}

// Run fires shots for a while, after the warm-up.
func (r *Range) Run(d time.Duration) error {
	r.loop.Run(r.loop.Now().Add(warmup))
	r.counts = true
	r.loop.Run(r.loop.Now().Add(d))
	for _, s := range r.shooters { // what is under way is judged, nothing new is fired
		s.still = true
	}
	r.loop.Run(r.loop.Now().Add(lost + time.Second))
	if len(r.faults) > 0 {
		return fmt.Errorf("shooting: %w", r.faults[0])
	}
	return nil
}

// Policies returns the systems that were compared: ours, the present, and others.
func Policies() []string {
	names := []string{"meanwhile", "none"}
	for _, s := range baseline.Rewinds() {
		names = append(names, s.Name)
	}
	return names
}

// Tally returns what was counted for a system of Policies.
func (r *Range) Tally(policy string) *Tally {
	switch policy {
	case "meanwhile":
		return &r.ours
	case "none":
		return &r.present
	}
	for i := range r.rewinds {
		if r.rewinds[i].Name == policy {
			return &r.rewinds[i].tally
		}
	}
	return nil
}

// referee moves what nobody commands, at the end of each tick.
func (r *Range) referee(w *game.World) {
	if r.cfg.duel != nil {
		// Nobody but the two.
	} else if w.Tick() == 1 {
		r.stage.build(w, r.cfg.Targets)
	} else {
		r.stage.step(w)
	}
	r.past.record(w)
}

// tick is one tick of the server.
func (r *Range) tick() bool {
	now := r.loop.Now()
	r.srv.Begin(now)
	r.settle()
	r.out.Reset()
	r.srv.Encode(0, r.srv.Clients(), &r.out)
	for i := range r.out.Len() {
		to, data := r.out.At(i)
		for _, s := range r.shooters {
			if s.id == to {
				s.down.Push(now, data)
				s.down.Deliver(&r.loop, s.receive)
			}
		}
	}
	r.srv.End()
	r.faults = append(r.faults, r.srv.Faults()...)
	return true
}

// judged notes the verdict on a shot of the server, which sees r.seen.
func (r *Range) judged(w *game.World, me game.ID, c order, eye geom.Vec3) {
	s := r.byAvatar[me]
	if s == nil {
		return
	}
	x := s.shots[c.Shot%shotNumbers]
	if x == nil || x.judged != 0 {
		return
	}
	x.judged = w.Tick()
	x.verdict, _ = r.seen.trace(eye, c.Yaw, c.Pitch)
	receipt := w.Receipt()
	x.age = float64(w.Tick()) - receipt.Used
	x.timeOff = receipt.Stated != float64(x.shown)/clock.FracPerTick
	switch receipt.Reason {
	case rewind.Exact:
	case rewind.None, rewind.Off:
		x.refused = true
	default:
		x.clamped = true
	}
	if v := men.Get(w, x.verdict); r.cfg.duel != nil && x.verdict != 0 {
		v.Hits = (v.Hits + 1) % maxHits
	}
	x.eyeOff = 1000 * eye.Dist(x.eye)
	x.viewOff = unseen
	if b := r.seen.find(x.target); b != nil {
		x.viewOff = 1000 * b.at.Dist(x.drawn.at)
		x.poseOff = b.crouch != x.drawn.crouch || b.alive != x.drawn.alive
	}
	r.fresh = append(r.fresh, x)
}

// unseen is the error in millimetres of a target that one side saw and the other did not.
const unseen = 5000

// settle counts what was judged in this tick, and what never will be.
func (r *Range) settle() {
	for _, x := range r.fresh {
		r.close(x)
	}
	r.fresh = r.fresh[:0]
	now := r.loop.Now()
	for _, s := range r.shooters {
		for len(s.open) > 0 && now.Sub(s.open[0].at) > lost {
			x := s.open[0]
			s.open = s.open[1:]
			if x.judged == 0 {
				r.close(x)
			}
			if !x.arrived {
				r.neverArrived(x)
			}
			delete(s.shots, x.number)
		}
	}
}

// close counts one shot for us, for the present, and for those who run commands at their tick.
func (r *Range) close(x *shot) {
	if !x.counts {
		return
	}
	if r.cfg.duel != nil {
		r.cfg.duel.count(r, x)
		return
	}
	late := x.judged == 0 || x.judged != x.tick
	v := verdict{about: x.about, truth: x.truth, hit: x.verdict, lost: x.judged == 0, late: late, clamped: x.clamped,
		refused: x.refused, timeOff: x.timeOff, viewOff: x.viewOff, eyeOff: x.eyeOff, poseOff: x.poseOff}
	if x.judged == 0 {
		v.viewOff, v.eyeOff = 0, 0
	} else {
		v.behind = r.past.behind(x.by.avatar, x.verdict, x.judged)
	}
	r.ours.add(v)
	if x.judged == 0 {
		r.present.add(verdict{about: x.about, truth: x.truth, lost: true, late: true})
	} else {
		now := r.past.at((x.judged - 1).Frac(), 1, 1<<30, &r.scratch[0])
		r.present.add(r.compare(x, &x.claim, now, late, x.judged))
	}
	for i := range r.rewinds {
		if s := &r.rewinds[i]; !s.OnArrival {
			r.closeOther(x, i, x.judged, late)
		}
	}
}

// arrived is called when a shot's first datagram reaches the server.
func (r *Range) arrived(x *shot) {
	if !x.counts || r.cfg.duel != nil {
		return
	}
	for i := range r.rewinds {
		if s := &r.rewinds[i]; s.OnArrival {
			r.closeOther(x, i, r.srv.Tick()+1, false)
		}
	}
}

// neverArrived counts a shot of which no datagram reached the server, for those who run commands
// when they arrive.
func (r *Range) neverArrived(x *shot) {
	for i := range r.rewinds {
		if s := &r.rewinds[i]; s.OnArrival && x.counts && r.cfg.duel == nil {
			s.tally.add(verdict{about: x.about, truth: x.others[i].truth, lost: true, late: true})
		}
	}
}

// closeOther counts one shot for another system, whose command runs in a tick.
func (r *Range) closeOther(x *shot, i int, tick clock.Tick, late bool) {
	s, c := &r.rewinds[i], &x.others[i]
	if c.target == 0 {
		return // nothing was on its screen
	}
	if tick == 0 {
		s.tally.add(verdict{about: x.about, truth: c.truth, lost: true, late: true})
		return
	}
	st, _ := r.srv.Stats(x.by.id)
	period := r.srv.Period()
	now := clock.Time(tick) * clock.Time(period)
	judged := x.by.others[i].Judge(now, st.RTT, c.screen)
	every := max(clock.Tick((s.Every+period/2)/period), 1)
	seen := r.past.at(clock.TickFrac(judged*clock.FracPerTick/clock.Time(period)), every, s.Kept, &r.scratch[0])
	s.tally.add(r.compare(x, c, seen, late, tick))
}

// compare judges a claim by a server's idea of what was seen; nil if it has none, and refuses. The
// shooter's eye is given to it exactly.
func (r *Range) compare(x *shot, c *claim, seen *sight, late bool, tick clock.Tick) verdict {
	v := verdict{about: x.about, truth: c.truth, late: late, viewOff: unseen, refused: seen == nil}
	if seen == nil {
		return v
	}
	for i := range seen.bodies {
		if seen.bodies[i].id == x.by.avatar {
			seen.bodies[i].alive = false // nobody shoots himself
		}
	}
	v.hit, _ = seen.trace(x.eye, c.yaw, c.pitch)
	if b := seen.find(c.target); b != nil {
		v.viewOff = 1000 * b.at.Dist(c.drawn.at)
	}
	v.behind = r.past.behind(x.by.avatar, v.hit, tick)
	return v
}
