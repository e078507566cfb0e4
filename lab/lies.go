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
	"meanwhile/netcode/rewind"
	"meanwhile/netcode/wire"
	"meanwhile/netsim"
	"meanwhile/server"
	"meanwhile/session"
)

var liesExperiment = &experiment{
	name:  "lies",
	about: "clients that lie about what they saw: how much older a picture they are judged by",
	notes: `A real client plays on a path, and lies in its datagrams. One thing circles at 10 m/s, so that where a
shot found it says of which moment the picture was that the server judged by: nothing is taken from the server's own
books. <b>honest_ms</b> is how old that picture is for the same client on the same path when it tells the truth, in
the median, <b>honest_p99_ms</b> in the worst hundredth of its shots. <b>gain_ms</b> is how much older the liar's is,
in the median (<b>gain_p50_ms</b>) or in the worst hundredth, whichever is more. <b>beyond_ms</b> is the same
against the picture that was on the liar's own screen, as an honest command would have stated it: who withholds
acknowledgements is sent less, and sees older pictures. For who delays everything always it is against an honest client
on a path that is so much slower. <b>newer_ms</b> how much newer, in
the median or the newest hundredth. Each lie comes in six sizes up to a second, and the row is that of the size
that gains most (<b>lie_ms</b>). <b>clamped</b> is the share of shots that were not judged as claimed, <b>late</b>
counts presses that ran after their tick, <b>refused</b> later commands that did not run, <b>starved</b> ticks
without a command. Each figure is the median of five matches (--quick: of three); with --seed there is one. Rows
with <b>without</b> leave out checks of the server. Whoever delays everything always (lag, acks-late) plays on a slow
path, and is believed as one.`,
	takes:    byProfile | byPolicy,
	profiles: []netsim.Profile{netsim.LAN, netsim.Fiber, netsim.Ocean},
	policies: []string{ours},
	first: firstLook{params: Values{{"without", "nothing"}},
		metrics: "gain_ms beyond_ms newer_ms honest_ms clamped refused"},
	run: runLies,
}

// What everybody sees, and who shoots at it.
type (
	hand struct {
		Pos geom.Vec2 `net:"pos,others=1mm"`
	}
	gunner struct {
		Pos geom.Vec2 `net:"pos,others=1cm"`
	}
	trigger struct {
		Fire bool `net:"press"`
		Mark int  `net:"int,0..255"` // tick that it was made for; players turn all the time, too
	}
)

const (
	liarRate  = 60
	handWay   = 60.0 // metres from the centre
	handTurn  = 30 * time.Second
	shotEvery = 9 // ticks
	// lieCycle is the time from one spell of an occasional lie to the next, lieFor its length.
	lieCycle, lieFor = 6 * time.Second, 600 * time.Millisecond
	liarWarmup       = 20 * time.Second
)

// A lie is what a client says that is not so.
type lie struct {
	name  string
	sizes []time.Duration
	// tell changes what a command says.
	tell func(l *liar, c *packet.Command, size clock.TickFrac)
	// hold is for how long a datagram made now is held back.
	hold func(l *liar, size time.Duration) time.Duration
	// acks is how old the newest acknowledged packet is at least; negative: none is acknowledged.
	acks func(l *liar, size time.Duration) time.Duration
	// early is how far before their ticks commands are sent; 0: as an honest client does.
	early func(l *liar, size time.Duration) time.Duration
	// only fires during the spells of an occasional lie.
	only bool
	// path is one on which honest players have the same delays all the time; nil if there is none.
	path func(p netsim.Profile, size time.Duration) netsim.Profile
}

const lieUnit = time.Millisecond

var lieSizes = []time.Duration{30 * lieUnit, 60 * lieUnit, 120 * lieUnit, 250 * lieUnit, 500 * lieUnit, 1000 * lieUnit}

func always(_ *liar, size time.Duration) time.Duration { return size }
func inTurns(l *liar, size time.Duration) time.Duration {
	if l.bad() {
		return size
	}
	return 0
}

var lies = []lie{
	{name: "honest", sizes: []time.Duration{0}},
	{name: "older", sizes: lieSizes, tell: func(_ *liar, c *packet.Command, by clock.TickFrac) { c.Seen -= by }},
	{name: "older-shot", sizes: lieSizes, tell: func(l *liar, c *packet.Command, by clock.TickFrac) {
		if fires(c) {
			c.Seen -= by
		}
	}},
	{name: "older-rest", sizes: lieSizes, tell: func(_ *liar, c *packet.Command, by clock.TickFrac) {
		if !fires(c) {
			c.Seen -= by
		}
	}},
	{name: "no-time", sizes: lieSizes, acks: always, tell: func(l *liar, c *packet.Command, _ clock.TickFrac) {
		if keepsAcked(l, c, 0); fires(c) {
			c.Seen = 0
		}
	}},
	{name: "older-ramp", only: true, sizes: lieSizes, tell: func(l *liar, c *packet.Command, by clock.TickFrac) {
		c.Seen -= clock.TickFrac(float64(by) * l.ramp())
	}},
	{name: "older-frames", sizes: lieSizes, tell: func(_ *liar, c *packet.Command, by clock.TickFrac) {
		c.Seen -= by + clock.TickFrac(c.Tick%2)*clock.FracPerTick
	}},
	{name: "newer-shot", sizes: lieSizes, tell: func(l *liar, c *packet.Command, by clock.TickFrac) {
		if fires(c) {
			c.Seen += by
		}
	}},
	{name: "jitter", sizes: lieSizes, tell: func(l *liar, c *packet.Command, by clock.TickFrac) {
		if fires(c) {
			c.Seen += clock.TickFrac(l.rand.IntN(int(2*by+1))) - by
		}
	}},
	{name: "packets-shot", sizes: lieSizes, tell: func(l *liar, c *packet.Command, by clock.TickFrac) {
		if fires(c) {
			c.Newest -= wire.Seq(int(by) * 20 / liarRate / clock.FracPerTick)
		}
	}},
	{name: "packets", sizes: lieSizes, tell: func(l *liar, c *packet.Command, by clock.TickFrac) {
		c.Newest -= wire.Seq(int(by) * 20 / liarRate / clock.FracPerTick)
	}},
	{name: "acks-late", sizes: lieSizes, acks: always,
		path: func(p netsim.Profile, size time.Duration) netsim.Profile { p.Down.Delay += size; return p },
		tell: func(_ *liar, c *packet.Command, by clock.TickFrac) { c.Seen -= by }},
	{name: "acks-withheld", only: true, sizes: lieSizes, acks: inTurns, tell: keepsAcked},
	{name: "acks-never", only: true, sizes: lieSizes, tell: keepsAcked,
		acks: func(l *liar, size time.Duration) time.Duration { return -inTurns(l, size) }},
	{name: "early", sizes: lieSizes, early: always},
	{name: "lag", sizes: lieSizes, hold: always,
		path: func(p netsim.Profile, size time.Duration) netsim.Profile { p.Up.Delay += size; return p }},
	{name: "lag-switched", only: true, sizes: lieSizes, hold: inTurns},
	{name: "lag-relabelled", only: true, sizes: lieSizes, hold: inTurns, early: inTurns},
}

// keepsAcked states a view that fits what was acknowledged.
func keepsAcked(l *liar, c *packet.Command, _ clock.TickFrac) {
	if a, ok := l.acked.Ack(); ok && c.Newest.Newer(a.Latest) {
		c.Newest = a.Latest
		c.Seen = min(c.Seen, l.ticks[a.Latest].Frac())
	}
}

func fires(c *packet.Command) bool { return c.Vals[0] != 0 }

// A liar is a client that plays honestly and lies in its datagrams.
type liar struct {
	lie  *lie
	size time.Duration
	rand geom.Rand

	loop    netsim.Loop
	server  *server.Server
	rules   *game.Rules
	client  *client.Client
	id      server.PlayerID
	path    *netsim.Path
	offset  clock.Time
	upDelay time.Duration

	cmds  []packet.Command // the newest, by rising tick
	tick  clock.Tick       // the newest
	acked wire.Received    // what is acknowledged
	held  []seenPacket     // packets that are not acknowledged yet
	ticks map[wire.Seq]clock.Tick
	w     wire.BitWriter

	seen   clock.TickFrac // playout time of the frame on the screen
	newest wire.Seq       // newest packet in it
	drawn  [256]float64   // how old that was, in ticks, by the tick of the command

	shots []shotAge
}

type seenPacket struct {
	seq wire.Seq
	at  clock.Time
}

type shotAge struct {
	tick  clock.Tick
	age   float64 // ms
	drawn float64 // ms; how old the picture was on the screen of the client, for an honest command
}

// since returns how long the present cycle has lasted.
func (l *liar) since() time.Duration { return time.Duration(l.loop.Now()) % lieCycle }

// bad reports whether an occasional lie has a spell now.
func (l *liar) bad() bool { return l.since() >= lieCycle-lieFor }

// ramp returns the present size of a lie that grows in two seconds, from 0 to 1.
func (l *liar) ramp() float64 {
	return min(max(float64(l.since()-(lieCycle-lieFor-2*time.Second))/float64(2*time.Second), 0), 1)
}

func handAt(t float64) geom.Vec2 {
	a := t * 2 * math.Pi / (handTurn.Seconds() * liarRate)
	return geom.Vec2{X: handWay * geom.Cos(a), Y: handWay * geom.Sin(a)}
}

func (l *liar) define() (*game.Rules, error) {
	hands, gunners := game.NewKind[hand]("hand"), game.NewKind[gunner]("gunner")
	def := game.Definition[trigger]{
		Name: "liar", Rate: liarRate, Send: 20, Kinds: game.Kinds(hands, gunners),
		Join: func(w *game.World, name string) game.ID {
			hands.Spawn(w, hand{Pos: handAt(float64(w.Tick()))})
			return gunners.Spawn(w, gunner{})
		},
		Act: func(w *game.World, me game.ID, c trigger) {
			if !c.Fire {
				return
			}
			for _, h := range hands.Seen(w, me) {
				if w == l.server.World() {
					l.note(w.Tick(), clock.Tick(c.Mark), h.Pos)
				}
			}
		},
		Referee: func(w *game.World) {
			for _, h := range hands.All(w) {
				h.Pos = handAt(float64(w.Tick()))
			}
		},
	}
	return def.Rules()
}

// note remembers how old the hand was that a shot saw. mark is the tick of its command, modulo 256.
func (l *liar) note(now, mark clock.Tick, at geom.Vec2) {
	turn := handTurn.Seconds() * liarRate
	ago := math.Mod(float64(now)-float64(geom.Atan2(at.Y, at.X))*turn/(2*math.Pi), turn)
	if ago < -1 {
		ago += turn
	}
	l.shots = append(l.shots, shotAge{now, ago * 1000 / liarRate, l.drawn[mark] * 1000 / liarRate})
}

func newLiar(of *lie, size time.Duration, seed uint64, p netsim.Profile, without rewind.Checks) (l *liar, err error) {
	l = &liar{lie: of, size: size, upDelay: p.Up.Delay, rand: geom.NewRand(seed, 5), ticks: map[wire.Seq]clock.Tick{}}
	if l.rules, err = l.define(); err != nil {
		return nil, err
	}
	if l.server, err = server.New(l.rules, server.Config{Seed: seed, Unchecked: without}); err != nil {
		return nil, err
	}
	if l.path, err = netsim.NewPath(seed, p); err != nil {
		return nil, err
	}
	l.offset = clock.Time(l.rand.IntN(int(time.Hour)))
	period := l.server.Period()
	var out server.Outbox
	l.loop.Every(clock.Time(period), period, func() bool {
		now := l.loop.Now()
		l.server.Begin(now)
		out.Reset()
		l.server.Encode(0, l.server.Clients(), &out)
		for i := range out.Len() {
			_, data := out.At(i)
			l.path.Down.Push(now, data)
			l.ticks[wire.SeqOf(data)] = l.server.Tick()
		}
		l.path.Down.Deliver(&l.loop, l.receive)
		l.server.End()
		return true
	})
	var w session.Welcome
	if l.id, w, err = l.server.Connect(0, "liar"); err != nil {
		return nil, err
	}
	l.loop.At(clock.Time(20*time.Millisecond), func() {
		l.client, err = client.New(l.rules, w, l.loop.Now()+l.offset, client.Config{})
		l.loop.Every(l.loop.Now().Add(time.Duration(l.rand.IntN(int(period)))), time.Second/60, l.frame)
	})
	return l, err
}

func (l *liar) receive(at clock.Time, data []byte) {
	if l.client == nil {
		return
	}
	l.client.Receive(at+l.offset, data)
	l.held = append(l.held, seenPacket{wire.SeqOf(data), at})
}

func (l *liar) frame() bool {
	now := l.loop.Now()
	local := now + l.offset
	for range l.client.Frame(local) {
		l.client.Tick(l.vals(l.client.CommandTick() + 1))
		if !l.leads() {
			l.make(l.client.CommandTick())
		}
	}
	if l.leads() {
		to := (l.client.ServerTick() + clock.TickFrac(l.ahead())).Tick()
		for n := 0; l.tick < to && n < 8; n++ {
			l.make(l.tick + 1)
		}
	}
	l.client.Events()
	l.seen, l.newest = l.client.Playout(), l.client.NewestPacket()
	for b := l.client.Encode(local); b != nil; b = l.client.Encode(local) {
		b := slices.Clone(l.rewrite(b))
		send := func() {
			l.path.Up.Push(l.loop.Now(), b)
			l.path.Up.Deliver(&l.loop, func(at clock.Time, data []byte) { l.server.Receive(l.id, at, data) })
		}
		if l.lie.hold == nil {
			send()
		} else {
			l.loop.After(l.lie.hold(l, l.size), send)
		}
	}
	return true
}

// leads reports whether the liar chooses when it makes its commands: once the client knows the
// time.
func (l *liar) leads() bool {
	return l.lie.early != nil && l.loop.Now() > clock.Time(5*time.Second)
}

// ahead is how far before its tick a command is made, in 1/256 tick.
func (l *liar) ahead() int64 {
	return frac(l.upDelay + 25*time.Millisecond + l.lie.early(l, l.size))
}

func frac(d time.Duration) int64 { return int64(d) * clock.FracPerTick * liarRate / int64(time.Second) }

// vals returns the command of a tick.
func (l *liar) vals(t clock.Tick) []int64 { return []int64{l.press(t), int64(t) % 256} }

// press returns whether the command of a tick fires.
func (l *liar) press(t clock.Tick) int64 {
	if l.lie.only && l.since() < lieCycle-lieFor/2 || !l.lie.only && t%shotEvery != 0 || t%3 != 0 {
		return 0
	}
	return 1
}

// make makes the command of a tick and lies about it.
func (l *liar) make(t clock.Tick) {
	c := packet.Command{Tick: t, Vals: l.vals(t), Seen: l.seen, Newest: l.newest}
	if l.lie.tell != nil {
		l.lie.tell(l, &c, clock.TickFrac(frac(l.size)))
	}
	if c.Seen != 0 {
		c.Seen = max(min(c.Seen, t.Frac()), 1)
	}
	l.tick = t
	honest := l.client.CommandTick().Frac()
	if l.leads() { // its own lead follows from the liar's
		honest = l.client.ServerTick() + clock.TickFrac(l.ahead()-frac(l.lie.early(l, l.size)))
	}
	l.drawn[t%256] = float64(honest-l.seen) / clock.FracPerTick
	if l.cmds = append(l.cmds, c); len(l.cmds) > 12 {
		l.cmds = l.cmds[1:]
	}
}

// rewrite returns an honest datagram with what the liar says instead.
func (l *liar) rewrite(b []byte) []byte {
	var r wire.BitReader
	h, err := wire.DecodeUp(&r, b, l.client.NewestPacket()+1)
	if err != nil {
		return b
	}
	flags := packet.DecodeUplink(&r)
	h.Stamp = wire.StampOf(b)
	if l.lie.acks != nil {
		l.acknowledge(&h)
	} else {
		for _, p := range l.held {
			l.acked.Applied(p.seq)
		}
		l.held = l.held[:0]
	}
	l.w.Reset(nil)
	h.Append(&l.w, wire.Known{Ack: h.Ack.Latest - wire.Window})
	flags.Append(&l.w)
	packet.AppendCommands(&l.w, l.rules.Command, l.cmds, h.Ack)
	return l.w.Bytes()
}

// acknowledge replaces what a datagram acknowledges.
func (l *liar) acknowledge(h *wire.Header) {
	wait := l.lie.acks(l, l.size)
	n := 0
	for _, p := range l.held {
		switch {
		case wait < 0:
		case l.loop.Now().Sub(p.at) >= wait:
			if l.acked.Accepts(p.seq) {
				l.acked.Applied(p.seq)
			}
		default:
			l.held[n] = p
			n++
		}
	}
	l.held = l.held[:n]
	h.Ack, h.HasAck = l.acked.Ack()
	h.HasEcho = false
}

// liarResult is what one liar gained.
type liarResult struct {
	ages   []float64 // sorted, ms
	beyond []float64 // what the screen showed, sorted, ms
	stats  server.PlayerStats
}

func (r *liarResult) at(q float64) float64 { return ageAt(r.ages, q) }

func ageAt(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(float64(len(sorted))*q), len(sorted)-1)]
}

func playLiar(of *lie, size time.Duration, seed uint64, p netsim.Profile, span time.Duration, without rewind.Checks) (
	res liarResult, err error,
) {
	l, err := newLiar(of, size, seed, p, without)
	if err != nil {
		return res, err
	}
	l.loop.Run(clock.Time(liarWarmup))
	before, _ := l.server.Stats(l.id)
	l.shots = l.shots[:0]
	l.loop.Run(clock.Time(liarWarmup + span))
	res.stats, _ = l.server.Stats(l.id)
	res.stats.Clamped -= before.Clamped
	res.stats.Judged -= before.Judged
	res.stats.Moved -= before.Moved
	res.stats.Late -= before.Late
	res.stats.Starved -= before.Starved
	for _, s := range l.shots {
		res.ages, res.beyond = append(res.ages, s.age), append(res.beyond, s.age-s.drawn)
	}
	slices.Sort(res.ages)
	slices.Sort(res.beyond)
	return res, nil
}

// checks are those of the server, and the lies that each is there for.
var checks = []struct {
	name  string
	check rewind.Checks
	lies  []string
}{
	{"path", rewind.CheckPath, []string{"older", "jitter"}},
	{"jumps", rewind.CheckJumps, []string{"older-shot", "jitter"}},
	{"early", rewind.CheckEarly, []string{"early"}},
	{"packets", rewind.CheckPackets, []string{"acks-withheld", "acks-never"}},
	{"all", ^rewind.Checks(0), []string{"older", "older-shot", "jitter", "packets", "early", "acks-withheld"}},
}

// liesMatches returns the seeds of the matches that a row is the median of: few shots make the
// worst hundredth, and one that is believed more or less moves it far.
func (r *run) liesMatches() []uint64 {
	if r.quick {
		return r.seeds(3)
	}
	return r.seeds(5)
}

func runLies(r *run) error {
	span := 100 * time.Second
	if r.quick {
		span = 30 * time.Second
	}
	for _, p := range r.profiles {
		twins := map[uint64][]liarResult{} // by seed
		for _, seed := range r.liesMatches() {
			var err error
			twins[seed], err = each(2, func(i int) (liarResult, error) { // who shoot at the same times, and do not lie
				return playLiar(&lie{only: i > 0}, 0, seed, p, span*time.Duration(1+i*2), 0)
			})
			if err != nil {
				return err
			}
		}
		for i := range lies {
			if err := r.lie(&lies[i], p, twins, span, "nothing", 0); err != nil {
				return err
			}
		}
		for _, c := range checks {
			for i := range lies {
				if !slices.Contains(c.lies, lies[i].name) {
					continue
				}
				if err := r.lie(&lies[i], p, twins, span, c.name, c.check); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// lie emits the row of one lie on one path: the median of its matches, in each of which the lie is
// as large as gains most.
func (r *run) lie(
	of *lie,
	p netsim.Profile,
	twins map[uint64][]liarResult,
	span time.Duration,
	name string,
	without rewind.Checks,
) error {
	var matches []Values
	for _, seed := range r.liesMatches() {
		m, err := playLie(of, seed, p, twins[seed], span, without)
		if err != nil {
			return err
		}
		matches = append(matches, m)
	}
	medians := slices.Clone(matches[0])
	for i := range medians {
		figures := make([]float64, len(matches))
		for j, m := range matches {
			figures[j], _ = m.Get(m[i].Name)
		}
		slices.Sort(figures)
		middle := figures[len(figures)/2]
		if _, ok := medians[i].V.(float64); ok {
			medians[i].V = middle
		} else { // a count
			medians[i].V = int(middle)
		}
	}
	size, _ := medians.Get("lie_ms")
	params := r.params(Value{"lie", of.name}, Value{"lie_ms", int(size)})
	params.put("without", name)
	r.emit(Row{r.name, p.Name, ours, r.seed, params, medians[1:]})
	return nil
}

// playLie returns what one match says of a lie, its size first.
func playLie(
	of *lie,
	seed uint64,
	p netsim.Profile,
	twins []liarResult,
	span time.Duration,
	without rewind.Checks,
) (Values, error) {
	honest := &twins[0]
	if of.only {
		honest, span = &twins[1], span*3
	}
	got, err := each(len(of.sizes), func(i int) (liarResult, error) {
		return playLiar(of, of.sizes[i], seed, p, span, without)
	})
	if err != nil {
		return nil, err
	}
	best, gain, newer := 0, math.Inf(-1), math.Inf(-1)
	for i := range got {
		g := max(got[i].at(0.5)-honest.at(0.5), got[i].at(0.99)-honest.at(0.99))
		if g > gain {
			best, gain = i, g
		}
		newer = max(newer, honest.at(0.5)-got[i].at(0.5), honest.at(0.01)-got[i].at(0.01))
	}
	b := &got[best]
	beyond := max(ageAt(b.beyond, 0.5), ageAt(b.beyond, 0.99))
	if of.path != nil {
		twin, err := playLiar(&lie{}, 0, seed, of.path(p, of.sizes[best]), span, 0)
		if err != nil {
			return nil, err
		}
		beyond = max(b.at(0.5)-twin.at(0.5), b.at(0.99)-twin.at(0.99))
	}
	judged := float64(max(b.stats.Judged, 1))
	return Values{
		{"lie_ms", float64(of.sizes[best] / lieUnit)},
		{"gain_ms", gain}, {"gain_p50_ms", b.at(0.5) - honest.at(0.5)}, {"beyond_ms", beyond}, {"newer_ms", newer},
		{"honest_ms", honest.at(0.5)}, {"honest_p99_ms", honest.at(0.99)}, {"shots", len(b.ages)},
		{"clamped", float64(b.stats.Clamped) / judged}, {"late", b.stats.Moved}, {"refused", b.stats.Late - b.stats.Moved},
		{"starved", b.stats.Starved},
	}, nil
}
