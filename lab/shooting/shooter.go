package shooting

import (
	"fmt"
	"slices"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/lab/baseline"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/snapshot"
	"meanwhile/netsim"
	"meanwhile/server"
)

// shooter is one player: a client that is looked at and clicked as a person would.
type shooter struct {
	r      *Range
	id     server.PlayerID
	avatar game.ID
	client *client.Client
	up     *netsim.Link
	down   *netsim.Pipe
	offset clock.Time // local clock minus server clock
	ppm    int64
	rng    geom.Rand
	still  bool
	n      int

	screen screen
	click  *shot // waits for the next command
	shots  map[int]*shot
	open   []*shot // in the order of clicks
	number int
	ready  clock.Time // when the weapon may fire again

	move   geom.Vec2
	crouch bool
	foe    foe // of a duel
	until  clock.Time

	others []baseline.Compensator
	times  []clock.Time // what their screens show, by the server's clock
	newest clock.Tick

	floats []float64
	ints   []int64
	vals   []float64
	drawn  [2][]int64
	other  sight
}

// screen is what one frame shows.
type screen struct {
	sight
	eye   geom.Vec3 // with what fades of a correction, as the camera has it
	off   geom.Vec3 // that part of it
	ok    bool
	shown clock.TickFrac
	hits  int // that the player knows of
}

// claim is what a shot was by one system's screen.
type claim struct {
	target     game.ID // near whose edge it was aimed
	drawn      body    // the target, as the screen showed it
	yaw, pitch geom.Angle
	truth      game.ID    // whom it hit on the screen
	screen     clock.Time // what the screen showed
}

// shot is one shot, from the click to the verdict.
type shot struct {
	claim
	by     *shooter
	number int
	at     clock.Time // of the click, server's clock
	tick   clock.Tick // for which the command was made
	eye    geom.Vec3
	about  uint8 // bit by Matter
	counts bool
	others []claim

	arrived bool
	judged  clock.Tick // 0: not yet
	verdict game.ID
	clamped bool
	refused bool
	timeOff bool           // the server used another moment than that of the frame at the click
	age     float64        // ticks from the moment that it was judged by to its command's
	shown   clock.TickFrac // the moment on the screen
	first   bool           // of a duel: the first since the enemy came into sight
	viewOff float64        // millimetres between the target on the screen and as the server judged it
	eyeOff  float64
	poseOff bool
}

func (r *Range) join(n int) error {
	p, seed := r.cfg.Profile, r.cfg.Seed*1000003+2*uint64(n)
	if r.cfg.each != nil {
		p = r.cfg.each[n]
	}
	up, err := netsim.NewLink(seed, p.Up)
	if err != nil {
		return err
	}
	down, err := netsim.NewPipe(seed+1, p.Down)
	if err != nil {
		return err
	}
	s := &shooter{r: r, n: n, up: up, down: down, rng: geom.NewRand(r.cfg.Seed, uint64(n), 78), shots: map[int]*shot{}}
	s.offset = clock.Time(s.rng.IntN(int(time.Hour)))
	s.ppm = int64(s.rng.IntN(2*maxDrift+1)) - maxDrift
	for _, o := range r.rewinds {
		s.others = append(s.others, o.New(time.Second/20))
	}
	s.times = make([]clock.Time, len(s.others))
	r.shooters = append(r.shooters, s)
	r.loop.After(0, s.connect)
	return nil
}

// connect lets the player in. The welcome takes a round trip.
func (s *shooter) connect() {
	id, w, err := s.r.srv.Connect(s.r.loop.Now(), fmt.Sprint(s.n))
	if err != nil {
		s.r.faults = append(s.r.faults, err)
		return
	}
	s.id = id
	trip, _ := s.down.Send(s.r.loop.Now(), 100)
	s.r.loop.At(max(trip[0], s.r.loop.Now().Add(20*time.Millisecond)), func() {
		c, err := client.New(s.r.gameOf, w, s.local(s.r.loop.Now()), client.Config{})
		if err != nil {
			s.r.faults = append(s.r.faults, err)
			return
		}
		s.client = c
		s.floats, s.ints = make([]float64, s.r.gameOf.Command.Floats()), make([]int64, s.r.gameOf.Command.Sims)
		for i := range s.drawn {
			for _, k := range s.r.gameOf.Kinds {
				s.drawn[i] = slices.Grow(s.drawn[i], k.Obs)[:max(len(s.drawn[i]), k.Obs)]
			}
		}
		s.r.loop.Every(s.r.loop.Now().Add(time.Duration(s.rng.IntN(int(frame)))), frame, s.frame)
	})
}

// local returns the player's own clock at a server time.
func (s *shooter) local(t clock.Time) clock.Time {
	return t + s.offset + clock.Time(int64(t)/1000*s.ppm/1000)
}

func (s *shooter) receive(at clock.Time, data []byte) {
	if s.client != nil {
		s.client.Receive(s.local(at), data)
	}
}

// frame is one frame of the client: commands, of which the first has the click since the frame
// before, then the picture, then the next click, which the player makes by that picture.
func (s *shooter) frame() bool {
	now, c := s.r.loop.Now(), s.client
	local := s.local(now)
	due := c.Frame(local)
	if s.avatar != c.Me() {
		s.avatar = c.Me()
		s.r.byAvatar[s.avatar] = s
	}
	s.watch(local)
	for range due {
		s.command(now)
	}
	s.look()
	c.Events()
	for b := c.Encode(local); b != nil; b = c.Encode(local) {
		s.send(now, b)
	}
	if s.r.cfg.duel != nil {
		s.fight(now)
	} else if s.click == nil && !s.still && s.screen.ok && now >= s.ready && s.rng.Chance(clicks) {
		s.aim(now.Add(time.Duration(s.rng.IntN(int(frame)))))
	}
	return true
}

// watch lets the other systems' clients know what arrived, and moves their screens on.
func (s *shooter) watch(local clock.Time) {
	tick, at, _ := s.client.Newest()
	for i, o := range s.others {
		if tick > s.newest {
			o.Arrive(local, at)
		}
		s.times[i] = o.Advance(local)
	}
	s.newest = max(s.newest, tick)
}

// command makes the command of one tick.
func (s *shooter) command(now clock.Time) {
	if s.r.cfg.duel != nil {
		s.pace()
	} else if now >= s.until {
		s.move, s.crouch = s.rng.Disc(1.2), s.rng.Chance(0.2)
		if s.rng.Chance(0.3) {
			s.move = geom.Vec2{}
		}
		if p := s.screen.eye.XY(); !field.Expand(-3).Contains(p) { // back to the middle
			s.move = p.Neg().Unit()
		}
		s.until = now.Add(time.Duration(s.rng.Range(0.2, 1.5) * float64(time.Second)))
	}
	x := s.click
	clear(s.floats)
	s.floats[0], s.floats[1] = s.move.X, s.move.Y
	if s.crouch {
		s.floats[4] = 1
	}
	if x != nil {
		s.floats[2], s.floats[3], s.floats[5], s.floats[6] = float64(x.yaw), float64(x.pitch), 1, float64(x.number)
	}
	s.r.gameOf.Command.FromFloats(s.floats, s.ints)
	if x != nil {
		s.client.Pressed(s.local(x.at))
	}
	s.client.Tick(s.ints)
	if x != nil {
		x.tick, s.click = s.client.CommandTick(), nil
	}
}

// look draws the frame.
func (s *shooter) look() {
	c, v := s.client, &s.screen
	v.reset()
	v.ok, v.shown = false, c.Playout()
	s.vals = c.Draw(s.vals, func(e *client.Entity) {
		k := s.r.gameOf.Kinds[e.Kind]
		at, _ := k.PlaceOf(e.Vals)
		switch e.Kind {
		case menKind:
			crouch, alive := e.Vals[k.Props[crouchProp].At] != 0, e.Vals[k.Props[aliveProp].At] != 0
			if e.Mine {
				v.hits = int(e.Vals[k.Props[hitsProp].At])
				v.eye, v.off, v.ok = at.Add(geom.Vec3{Z: eyeHeight(crouch)}), c.OwnOffset(), true
				return
			}
			v.bodies = append(v.bodies, body{e.ID, at, crouch, alive})
		case doorKind:
			v.doors = append(v.doors, at)
		}
	})
	c.Drawn()
}

// send puts a datagram on its way.
func (s *shooter) send(now clock.Time, b []byte) {
	at, n := s.up.Send(now, len(b))
	made := s.client.CommandTick()
	for i := range n {
		data := slices.Clone(b)
		s.r.loop.At(at[i], func() {
			s.r.srv.Receive(s.id, s.r.loop.Now(), data)
			for _, x := range s.open {
				if !x.arrived && x.tick != 0 && x.tick <= made {
					x.arrived = true
					s.r.arrived(x)
				}
			}
		})
	}
}

// Distances in metres of targets.
const (
	nearest  = 3.0
	furthest = 35.0
)

// choose returns a target on the screen; those about whom there is something to get wrong are
// preferred.
func (s *shooter) choose() (best *body, about uint8) {
	for range 6 {
		if len(s.screen.bodies) == 0 {
			return nil, 0
		}
		b := &s.screen.bodies[s.rng.IntN(len(s.screen.bodies))]
		if d := b.at.Dist(s.screen.eye); d < nearest || d > furthest {
			continue
		}
		m := s.matters(b)
		if !b.alive && m == 0 {
			continue
		}
		if best == nil || about == 0 {
			best, about = b, m
		}
	}
	return best, about
}

// matters returns what a shot at a target is about.
func (s *shooter) matters(b *body) (about uint8) {
	if d := s.r.stage.did[b.id]; d != nil {
		for m := range d {
			if d[m].near(s.screen.shown.Tick()) {
				about |= 1 << m
			}
		}
	}
	if h := s.client.Store().Find(uint32(b.id)); h != nil && b.at.Z >= platformHeight {
		for _, t := range s.r.stage.targets {
			if t.id == b.id && t.role == rider {
				about |= 1 << ofPlatform
			}
		}
	}
	return about
}

// aim makes the player's next shot, by what is on the screen now.
func (s *shooter) aim(at clock.Time) {
	b, about := s.choose()
	if b == nil {
		return
	}
	v := &s.screen
	to := mark(v.eye, b, &s.rng)
	x := &shot{by: s, number: s.number % shotNumbers, at: at, eye: v.eye.Sub(v.off), shown: v.shown, about: about,
		counts: s.r.counts}
	x.claim = claim{target: b.id, drawn: *b}
	x.yaw, x.pitch = s.round(to.Sub(v.eye))
	r := geom.Ray3To(v.eye, to)
	if _, door := v.covered(r); door {
		x.about |= 1 << ofDoor
	}
	x.truth, to = v.trace(v.eye, x.yaw, x.pitch)
	if v.off != (geom.Vec3{}) { // the gun is not where the camera is: it is aimed at what is under the crosshair
		if x.truth == 0 {
			to = geom.Ray3{From: v.eye, Dir: geom.Direction(x.yaw, x.pitch)}.At(b.at.Dist(v.eye))
		}
		x.yaw, x.pitch = s.round(to.Sub(x.eye))
	}
	s.number, s.ready = s.number+1, at.Add(refire)
	s.shots[x.number], s.click = x, x
	s.open = append(s.open, x)
	if x.counts {
		s.aimOthers(x)
	}
}

// round returns a direction as the command will have it.
func (s *shooter) round(way geom.Vec3) (yaw, pitch geom.Angle) {
	clear(s.floats)
	s.floats[2], s.floats[3] = float64(way.Yaw()), float64(way.Pitch())
	k := s.r.gameOf.Command
	k.FromFloats(s.floats, s.ints)
	s.vals = k.AppendExact(s.vals[:0], nil, s.ints, 65536)
	return geom.Angle(s.vals[2]), geom.Angle(s.vals[3])
}

// aimOthers aims the same shot by what the clients of other systems would show.
func (s *shooter) aimOthers(x *shot) {
	x.others = make([]claim, len(s.others))
	period := s.r.srv.Period()
	for i := range s.others {
		if s.times[i] <= 0 {
			continue
		}
		at := clock.TickFrac(s.times[i] * clock.FracPerTick / clock.Time(period))
		s.drawAt(at)
		b := s.other.find(x.target)
		if b == nil {
			continue
		}
		way := mark(x.eye, b, &s.rng).Sub(x.eye)
		c := claim{target: b.id, drawn: *b, screen: s.times[i], yaw: way.Yaw(), pitch: way.Pitch()}
		c.truth, _ = s.other.trace(x.eye, c.yaw, c.pitch)
		x.others[i] = c
	}
}

// drawAt draws the records that arrived as the client of another system does: at another moment.
func (s *shooter) drawAt(at clock.TickFrac) {
	s.other.reset()
	for _, h := range s.client.Store().Entities() {
		if h.Exact || h.Kind == platformKind {
			continue
		}
		drawn, ok := s.entityAt(h, at, 0)
		if !ok {
			continue
		}
		k := s.r.gameOf.Kinds[h.Kind]
		s.vals = k.AppendDrawn(s.vals[:0], drawn)
		place, _ := k.PlaceOf(s.vals)
		if h.Kind == doorKind {
			s.other.doors = append(s.other.doors, place)
			continue
		}
		s.other.bodies = append(s.other.bodies, body{game.ID(h.ID), place, s.vals[k.Props[crouchProp].At] != 0,
			s.vals[k.Props[aliveProp].At] != 0})
	}
}

// entityAt draws one entity in the world.
func (s *shooter) entityAt(h *snapshot.Replica, at clock.TickFrac, depth int) (drawn []int64, ok bool) {
	k := s.r.gameOf.Kinds[h.Kind]
	drawn = s.drawn[depth][:k.Obs]
	for g := range k.Groups {
		group := &k.Groups[g]
		if group.N == 0 {
			continue
		}
		a, b := h.Groups[g].Since(at.Tick())
		if a == nil { // before its first record it is drawn where that puts it
			a, b = b, nil
		}
		if a == nil && k.Later(g) {
			clear(drawn[group.At : group.At+group.N])
			continue
		}
		if a == nil {
			return nil, false
		}
		from, to := *a, motion.State{} // others announce no bounds, by which records are shown later
		if from.Bound = 0; b != nil {
			to = *b
			to.Bound, b = 0, &to
		}
		motion.Draw(k, group, &from, b, at, drawn[group.At:group.At+group.N])
	}
	if k.Parent >= 0 && depth == 0 {
		if id := k.AppendDrawn(s.vals[:0], drawn)[k.Props[k.Parent].At]; id != 0 {
			parent := s.client.Store().Find(uint32(id))
			if parent == nil {
				return nil, false
			}
			on, ok := s.entityAt(parent, at, 1)
			if !ok {
				return nil, false
			}
			motion.Attach(k, drawn, s.r.gameOf.Kinds[parent.Kind], on)
		}
	}
	return drawn, true
}
