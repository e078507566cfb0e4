package lab

import (
	"math"
	"slices"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/wire"
	"meanwhile/netsim"
	"meanwhile/server"
	"meanwhile/session"
)

var cheatsExperiment = &experiment{
	name:  "cheats",
	about: "clients that cheat with the time of commands: movement gained, jumps, time in which nobody can hit them",
	notes: `A real client runs straight on at 6 m/s and cheats with when and for which ticks it sends commands; another
one, which is honest and on a path like a LAN, draws it and shoots at it ten times a second. Games run commands at
their tick or never (<b>timed</b>) or each once and in order (<b>queued</b>). <b>gained_ticks_per_min</b> is how much
further the cheat ran in a minute than time allows, in ticks of running. <b>jump_cm</b> is its longest way in one tick
beyond one tick's way, <b>seen_jump_cm</b> the same of what the other player saw in one frame. <b>untouchable_ms</b> is
the longest time in which no shot hit what was on the shooter's screen. <b>rewritten_per_min</b> counts ticks that ran
the second of two commands for them. <b>size_ms</b> is how long the cheat says nothing and then everything
(lag-switch), how far it goes back (redo), or how far ahead of their ticks it sends commands (burst, fast).`,
	takes:    byProfile | byPolicy,
	profiles: []netsim.Profile{netsim.LAN, netsim.Ocean},
	policies: []string{ours},
	first:    firstLook{metrics: "gained_ticks_per_min jump_cm seen_jump_cm untouchable_ms"},
	run:      runCheats,
}

// Who runs, and who shoots at it.
type (
	sprinter struct {
		Pos  geom.Vec2 `net:"pos,others=1cm"`
		Hits int       `net:"int,0..65535,server"`
	}
	sprint struct {
		Run  geom.Vec2 `net:"stick,4bit"`
		Fire bool      `net:"press"`
	}
)

const (
	cheatRate   = 60
	cheatSpeed  = 6.0 // m/s
	cheatStep   = cheatSpeed / cheatRate
	cheatWarmup = 10 * time.Second
	cheatCycle  = 4 * time.Second // from one spell of silence to the next
	cheatShots  = 6               // ticks between two shots
	fullStick   = 7               // of four bits
)

// A cheat is what a client does with its commands.
type cheat struct {
	name  string
	sizes []time.Duration
	// upTo returns for which tick the client makes its newest command now; nil: as an honest
	// client.
	upTo func(c *cheater) clock.Tick
	// silent says nothing for the size at the end of each cycle, and then everything.
	silent bool
	// back repeats commands that were sent, and turns them round.
	back bool
}

var cheats = []cheat{
	{name: "honest", sizes: []time.Duration{0}},
	{name: "fast", sizes: []time.Duration{100 * lieUnit, 1000 * lieUnit}, upTo: (*cheater).fast},
	{name: "burst", sizes: []time.Duration{500 * lieUnit, 1000 * lieUnit}, upTo: (*cheater).burst},
	{name: "lag-switch", sizes: []time.Duration{250 * lieUnit, 500 * lieUnit, 1000 * lieUnit}, silent: true},
	{name: "backtrack", sizes: []time.Duration{0}, back: true},
	{name: "redo", sizes: []time.Duration{250 * lieUnit, 1000 * lieUnit}, upTo: (*cheater).redo},
}

// fast makes commands by a clock that is a quarter too fast, as far ahead as it chose.
func (c *cheater) fast() clock.Tick {
	if c.clock += 1.25 * cheatRate / 60; c.clock < float64(c.newest) {
		c.clock = float64(c.newest)
	}
	return min(clock.Tick(c.clock), c.ahead())
}

// burst makes commands for all that time at once.
func (c *cheater) burst() clock.Tick {
	if to := c.ahead(); c.newest == 0 || to >= c.newest+clock.Tick(frac(c.size)/clock.FracPerTick) {
		return to
	}
	return c.newest
}

// redo goes back each second and makes the commands of that time anew.
func (c *cheater) redo() clock.Tick {
	to := c.client.CommandTick()
	if c.newest != 0 && to >= c.redone+cheatRate {
		c.redone = to
		n := int(min(clock.Tick(frac(c.size)/clock.FracPerTick), c.newest-1))
		c.newest -= clock.Tick(n)
		c.cmds = c.cmds[:max(len(c.cmds)-n, 0)]
	}
	return to
}

// ahead returns the tick that lies the cheat's size ahead of the server's, as the client knows it.
func (c *cheater) ahead() clock.Tick {
	return (c.client.ServerTick() + clock.TickFrac(frac(c.size))).Tick()
}

// A cheater is a client that cheats, with the server and the player who shoots at it.
type cheater struct {
	of   *cheat
	size time.Duration

	loop   netsim.Loop
	rules  *game.Rules
	kind   game.Kind[sprinter]
	server *server.Server
	id     server.PlayerID
	client *client.Client
	path   *netsim.Path
	gunner *gunman

	newest, redone clock.Tick
	clock          float64
	cmds           []packet.Command
	acked          wire.Received
	w              wire.BitWriter

	was        geom.Vec2
	way        float64 // metres since the warm-up
	ticks      int
	jump, seen float64 // metres
	rewritten  int
}

// A gunman is the player who draws a cheater and shoots at it.
type gunman struct {
	c       *cheater
	client  *client.Client
	id      server.PlayerID
	path    *netsim.Path
	vals    []float64
	was     geom.Vec3
	drawn   bool
	hits    uint64
	hitAt   clock.Tick // newest tick with a hit
	longest clock.Tick // without one
	shots   uint64
	missed  uint64
}

func (c *cheater) define(mode game.CommandMode) (err error) {
	c.kind = game.NewKind[sprinter]("sprinter")
	def := game.Definition[sprint]{
		Name: "cheats", Rate: cheatRate, Send: 20, Kinds: game.Kinds(c.kind), Commands: mode,
		Join: func(w *game.World, name string) game.ID { return c.kind.Spawn(w, sprinter{}) },
		Act: func(w *game.World, me game.ID, cmd sprint) {
			p := c.kind.Get(w, me)
			p.Pos = p.Pos.Add(cmd.Run.Mul(cheatStep))
			if cmd.Fire {
				for id := range c.kind.Seen(w, me) {
					c.kind.Get(w, id).Hits++
				}
			}
		},
	}
	c.rules, err = def.Rules()
	return err
}

func newCheater(of *cheat, size time.Duration, mode game.CommandMode, seed uint64, p netsim.Profile) (*cheater, error) {
	c := &cheater{of: of, size: size}
	err := c.define(mode)
	if err != nil {
		return nil, err
	}
	if c.server, err = server.New(c.rules, server.Config{Seed: seed}); err != nil {
		return nil, err
	}
	if c.path, err = netsim.NewPath(seed, p); err != nil {
		return nil, err
	}
	c.gunner = &gunman{c: c}
	if c.gunner.path, err = netsim.NewPath(seed+1, netsim.LAN); err != nil {
		return nil, err
	}
	var welcome [2]session.Welcome
	for i, id := range []*server.PlayerID{&c.id, &c.gunner.id} {
		if *id, welcome[i], err = c.server.Connect(0, "player"); err != nil {
			return nil, err
		}
	}
	period := c.server.Period()
	var out server.Outbox
	c.loop.Every(clock.Time(period), period, func() bool {
		now := c.loop.Now()
		c.server.Begin(now)
		out.Reset()
		c.server.Encode(0, c.server.Clients(), &out)
		for i := range out.Len() {
			to, data := out.At(i)
			path, receive := c.path, c.receive
			if to != c.id {
				path, receive = c.gunner.path, c.gunner.receive
			}
			path.Down.Push(now, data)
			path.Down.Deliver(&c.loop, receive)
		}
		c.server.End()
		c.measure()
		return true
	})
	for i, to := range []**client.Client{&c.client, &c.gunner.client} {
		frame := []func() bool{c.frame, c.gunner.frame}[i]
		c.loop.At(clock.Time(20*time.Millisecond), func() {
			*to, err = client.New(c.rules, welcome[i], c.loop.Now(), client.Config{})
			c.loop.Every(c.loop.Now().Add(time.Duration(i+1)*5*time.Millisecond), time.Second/60, frame)
		})
	}
	return c, err
}

// measure notes where the cheater is after a tick, and whether it was hit.
func (c *cheater) measure() {
	me := c.server.Avatar(c.id)
	at := c.kind.Get(c.server.World(), me).Pos
	if c.loop.Now() > clock.Time(cheatWarmup) {
		way := at.Dist(c.was)
		c.way += way
		c.ticks++
		c.jump = max(c.jump, way-cheatStep)
		if at.X < c.was.X {
			c.rewritten++
		}
	}
	c.was = at
	g := c.gunner
	st, _ := c.server.Stats(g.id)
	if st.Agreed > g.hits || c.loop.Now() < clock.Time(cheatWarmup) {
		g.hits, g.hitAt = st.Agreed, c.server.Tick()
	}
	g.longest = max(g.longest, c.server.Tick()-g.hitAt)
	g.shots, g.missed = st.Agreed+st.Disagreed, st.Disagreed
}

func (c *cheater) receive(at clock.Time, data []byte) {
	if c.client == nil {
		return
	}
	c.client.Receive(at, data)
	if seq := wire.SeqOf(data); c.acked.Accepts(seq) {
		c.acked.Applied(seq)
	}
}

// vals returns the command that runs straight on, or turns round.
func (c *cheater) vals(back bool) []int64 {
	if back {
		return []int64{-fullStick, 0, 0}
	}
	return []int64{fullStick, 0, 0}
}

func (c *cheater) frame() bool {
	now := c.loop.Now()
	for range c.client.Frame(now) {
		c.client.Tick(c.vals(false))
	}
	c.client.Events()
	to := c.client.CommandTick()
	if c.of.upTo != nil && now > clock.Time(cheatWarmup/2) {
		to = c.of.upTo(c)
	}
	if c.newest == 0 || to > c.newest+packet.MaxCommands {
		c.newest, c.cmds = to-min(to, 1), c.cmds[:0]
	}
	for fresh := 0; c.newest < to; fresh++ {
		c.newest++
		c.cmds = append(c.cmds, packet.Command{Tick: c.newest, Vals: c.vals(false)})
	}
	if n := len(c.cmds) - packet.MaxCommands*3/4; n > 0 {
		c.cmds = slices.Delete(c.cmds, 0, n)
	}
	for b := c.client.Encode(now); b != nil; b = c.client.Encode(now) {
		b := slices.Clone(c.rewrite(b))
		wait := time.Duration(0)
		if since := time.Duration(now) % cheatCycle; c.of.silent && since >= cheatCycle-c.size {
			wait = cheatCycle - since
		}
		c.loop.After(wait, func() {
			c.path.Up.Push(c.loop.Now(), b)
			c.path.Up.Deliver(&c.loop, func(at clock.Time, data []byte) { c.server.Receive(c.id, at, data) })
		})
	}
	return true
}

// rewrite returns an honest datagram with the cheater's commands.
func (c *cheater) rewrite(b []byte) []byte {
	var r wire.BitReader
	h, err := wire.DecodeUp(&r, b, c.client.NewestPacket()+1)
	if err != nil {
		return b
	}
	flags := packet.DecodeUplink(&r)
	h.Stamp = wire.StampOf(b)
	h.Ack, h.HasAck = c.acked.Ack()
	cmds := c.cmds
	if c.of.back {
		cmds = slices.Clone(cmds)
		for i := range cmds[:max(len(cmds)-1, 0)] {
			cmds[i].Vals = c.vals(true)
		}
	}
	c.w.Reset(nil)
	h.Append(&c.w, wire.Known{Ack: h.Ack.Latest - wire.Window})
	flags.Append(&c.w)
	packet.AppendCommands(&c.w, c.rules.Command, cmds, h.Ack)
	return c.w.Bytes()
}

func (g *gunman) receive(at clock.Time, data []byte) {
	if g.client != nil {
		g.client.Receive(at, data)
	}
}

func (g *gunman) frame() bool {
	c := g.c
	now := c.loop.Now()
	for range g.client.Frame(now) {
		fire := int64(0)
		if g.client.CommandTick()%cheatShots == 0 {
			fire = 1
		}
		g.client.Tick([]int64{0, 0, fire})
	}
	g.vals = g.client.Draw(g.vals, func(e *client.Entity) {
		if e.ID != c.server.Avatar(c.id) {
			return
		}
		at, ok := c.rules.Kinds[0].PlaceOf(e.Vals)
		if ok && g.drawn && now > clock.Time(cheatWarmup) {
			c.seen = max(c.seen, at.Dist(g.was)-cheatSpeed/60)
		}
		g.was, g.drawn = at, ok
	})
	g.client.Events()
	for b := g.client.Encode(now); b != nil; b = g.client.Encode(now) {
		g.path.Up.Push(now, slices.Clone(b))
		g.path.Up.Deliver(&c.loop, func(at clock.Time, data []byte) { c.server.Receive(g.id, at, data) })
	}
	return true
}

// cheatResult is what one cheater gained.
type cheatResult struct {
	gained, rewritten float64 // a minute
	jump, seen        float64 // cm
	untouchable       float64 // ms
	shots, missed     uint64
	stats             server.PlayerStats
}

func playCheat(of *cheat, size time.Duration, mode game.CommandMode, seed uint64, p netsim.Profile, span time.Duration,
) (res cheatResult, err error) {
	c, err := newCheater(of, size, mode, seed, p)
	if err != nil {
		return res, err
	}
	c.loop.Run(clock.Time(cheatWarmup + span))
	res.stats, _ = c.server.Stats(c.id)
	minutes := span.Minutes()
	res.gained = (c.way/cheatStep - float64(c.ticks)) / minutes
	res.rewritten = float64(c.rewritten) / minutes
	res.jump, res.seen = 100*max(c.jump, 0), 100*max(c.seen, 0)
	period := float64(time.Second/time.Millisecond) / cheatRate
	res.untouchable = math.Max(float64(c.gunner.longest)-2*cheatShots, 0) * period
	res.shots, res.missed = c.gunner.shots, c.gunner.missed
	return res, nil
}

func runCheats(r *run) error {
	span := time.Minute
	if r.quick {
		span = 20 * time.Second
	}
	for _, p := range r.profiles {
		for _, mode := range []game.CommandMode{game.Timed, game.Queued} {
			for i := range cheats {
				of := &cheats[i]
				got, err := each(len(of.sizes), func(n int) (cheatResult, error) {
					return playCheat(of, of.sizes[n], mode, r.seed, p, span)
				})
				if err != nil {
					return err
				}
				for n := range got {
					r.cheat(of, of.sizes[n], mode, p, &got[n])
				}
			}
		}
	}
	return nil
}

func (r *run) cheat(of *cheat, size time.Duration, mode game.CommandMode, p netsim.Profile, got *cheatResult) {
	commands := "timed"
	if mode == game.Queued {
		commands = "queued"
	}
	params := r.params(Value{"cheat", of.name}, Value{"size_ms", int(size / lieUnit)})
	params.put("commands", commands)
	r.emit(Row{r.name, p.Name, ours, r.seed, params, Values{
		{"gained_ticks_per_min", got.gained}, {"jump_cm", got.jump}, {"seen_jump_cm", got.seen},
		{"untouchable_ms", got.untouchable}, {"rewritten_per_min", got.rewritten}, {"shots", got.shots},
		{"missed", got.missed},
		{"late", got.stats.Late}, {"refused", got.stats.TooEarly + got.stats.Expired}, {"starved", got.stats.Starved},
	}})
}
