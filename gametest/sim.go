package gametest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/predict"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/netsim"
	"meanwhile/server"
)

// Sim is a match in virtual time: a real server and real clients over simulated links. One seed gives one
// result, byte for byte.
type Sim struct {
	Loop    netsim.Loop
	Rules   *game.Rules
	Server  *server.Server
	Workers int           // ranges of clients that are encoded concurrently; 0 means 1
	Client  client.Config // of all who join from now on

	seed    uint64
	players []*Player
	byID    map[server.PlayerID]*Player
	outs    []server.Outbox
	hash    uint64
	pending map[clock.Tick][]predicted // by the tick at which the server will decide
	late    []predicted
	started bool
	measure clock.Time // when measuring began

	diverged  []string // the first few
	divergent uint64
	checked   uint64
	unchecked uint64
	faults    []error
}

// predicted is an event that a player's own command caused in its client.
type predicted struct {
	p    *Player
	e    client.Event
	base clock.Tick // newest state that the client knew of its avatar
	from []int64    // the avatar's state before the command, as predicted
	took bool       // the command despawned something, as predicted: others may have been quicker
}

// Player is one simulated player.
type Player struct {
	Name    string
	Profile netsim.Profile
	Client  *client.Client // nil until it was let in
	ID      server.PlayerID

	// OnFrame, where set, is called at the end of each of its frames.
	OnFrame func()

	sim    *Sim
	bot    game.BotFunc
	still  bool
	cutAt  clock.Time // newest moment at which its path had carried nothing for a while
	cut    clock.Time // until then nothing gets through
	up     *netsim.Pipe
	down   *netsim.Pipe
	offset clock.Time // local clock minus server clock
	ppm    int64
	rng    geom.Rand
	frames uint64
	vals   []float64
	q      quality
}

// Drift of clients' clocks in parts per million lies within +-this.
const maxDrift = 50

// NewSim returns a match of the given rules. cfg.Seed and cfg.Secret are derived from seed where they are 0.
func NewSim(rules *game.Rules, seed uint64, cfg server.Config) (*Sim, error) {
	if cfg.Seed == 0 {
		cfg.Seed = seed*2 + 1
	}
	if cfg.Secret == 0 {
		cfg.Secret = seed*2 + 2
	}
	srv, err := server.New(rules, cfg)
	if err != nil {
		return nil, err
	}
	return &Sim{Rules: rules, Server: srv, seed: seed, byID: map[server.PlayerID]*Player{}, hash: 14695981039346656037,
		pending: map[clock.Tick][]predicted{}}, nil
}

// Join adds a player on a network; bot makes its commands, nil makes none. It connects at the present time.
func (s *Sim) Join(name string, profile netsim.Profile, bot game.BotFunc) (*Player, error) {
	n := uint64(len(s.players))
	up, err := netsim.NewPipe(s.seed*1000003+2*n, profile.Up)
	if err != nil {
		return nil, err
	}
	down, err := netsim.NewPipe(s.seed*1000003+2*n+1, profile.Down)
	if err != nil {
		return nil, err
	}
	p := &Player{Name: name, Profile: profile, sim: s, bot: bot, up: up, down: down, rng: geom.NewRand(s.seed, n, 77)}
	p.offset = clock.Time(p.rng.IntN(int(time.Hour)))
	p.ppm = int64(p.rng.IntN(2*maxDrift+1)) - maxDrift
	s.players = append(s.players, p)
	s.Loop.After(0, p.connect)
	if !s.started {
		s.started = true
		s.Loop.Every(s.Loop.Now().Add(s.Server.Period()), s.Server.Period(), s.tick)
	}
	return p, nil
}

// Cut lets nothing that is sent to or by the player in the next d get through.
func (p *Player) Cut(d time.Duration) { p.cut = p.sim.Loop.Now().Add(d) }

// Players returns the players in order of Join.
func (s *Sim) Players() []*Player { return s.players }

// local returns the player's own clock at a server time.
func (p *Player) local(t clock.Time) clock.Time {
	return t + p.offset + clock.Time(int64(t)/1000*p.ppm/1000)
}

// connect lets the player in; the welcome takes a round trip.
func (p *Player) connect() {
	s := p.sim
	id, w, err := s.Server.Connect(s.Loop.Now(), p.Name)
	if err != nil {
		s.faults = append(s.faults, err)
		return
	}
	p.ID = id
	s.byID[id] = p
	trip, _ := p.down.Send(s.Loop.Now(), 100) // shaped like any packet; lost ones are repeated by the reliable stream
	at := max(trip[0], s.Loop.Now().Add(20*time.Millisecond))
	s.Loop.At(at, func() {
		c, err := client.New(s.Rules, w, p.local(s.Loop.Now()), s.Client)
		if err != nil {
			s.faults = append(s.faults, err)
			return
		}
		p.Client = c
		c.Store().Applied = p.check
		c.OnConfirm = p.confirmed
		s.Loop.Every(s.Loop.Now().Add(time.Duration(p.rng.IntN(int(frame)))), frame, p.frame)
	})
}

// frame is the length of a client's frame: 60 a second.
const frame = time.Second / 60

func (s *Sim) tick() bool {
	now := s.Loop.Now()
	s.Server.Begin(now)
	s.compare()
	n := max(s.Workers, 1)
	for len(s.outs) < n {
		s.outs = append(s.outs, server.Outbox{})
	}
	total := s.Server.Clients()
	var wg sync.WaitGroup
	for i := range n {
		s.outs[i].Reset()
		from, to := total*i/n, total*(i+1)/n
		if n == 1 {
			s.Server.Encode(from, to, &s.outs[i])
			continue
		}
		wg.Go(func() { s.Server.Encode(from, to, &s.outs[i]) })
	}
	wg.Wait()
	for i := range n {
		for j := range s.outs[i].Len() {
			to, data := s.outs[i].At(j)
			s.mix(data)
			if p := s.byID[to]; p != nil && now >= p.cut {
				p.down.Push(now, data)
				p.pump(p.down, now)
			}
		}
	}
	s.Server.End()
	s.faults = append(s.faults, s.Server.Faults()...)
	return true
}

func (s *Sim) mix(data []byte) {
	h := s.hash
	for _, b := range data {
		h = (h ^ uint64(b)) * 1099511628211
	}
	s.hash = h
}

// Hash identifies every byte that was sent so far, both ways.
func (s *Sim) Hash() uint64 { return s.hash }

// pump makes sure that what is under way will be delivered.
func (p *Player) pump(pipe *netsim.Pipe, now clock.Time) {
	at, ok := pipe.Next()
	if !ok {
		return
	}
	p.sim.Loop.At(at, func() {
		for {
			data, at, ok := pipe.Pop(p.sim.Loop.Now())
			if !ok {
				return
			}
			if pipe == p.down {
				if p.Client != nil {
					p.Client.Receive(p.local(at), data)
				}
			} else {
				p.sim.Server.Receive(p.ID, at, data)
			}
		}
	})
}

func (p *Player) frame() bool {
	s := p.sim
	now := s.Loop.Now()
	local := p.local(now)
	c := p.Client
	due := c.Frame(local)
	for range due {
		if p.bot != nil && !p.still {
			if err := c.Think(p.bot); err != nil {
				s.faults = append(s.faults, err)
			}
		} else {
			c.Tick(make([]int64, s.Rules.Command.Sims))
		}
	}
	for _, e := range c.Events() {
		p.q.events++
		if !e.Own || !s.measuring() {
			continue
		}
		if e.Tick <= s.Server.Tick() {
			p.q.disagreed++ // too late to be run at its tick
			continue
		}
		e.Vals = slices.Clone(e.Vals)
		s.pending[e.Tick] = append(s.pending[e.Tick], predicted{p, e, c.Confirmed(), slices.Clone(c.Own(e.Tick - 1)), c.LastPredictedDespawn() == e.Tick})
	}
	p.frames++
	if s.measuring() {
		p.look(p.frames%6 == 0)
	}
	if b := c.Encode(local); b != nil {
		s.mix(b)
		if now >= p.cut {
			p.up.Push(now, b)
			p.pump(p.up, now)
		}
	}
	if p.OnFrame != nil {
		p.OnFrame()
	}
	return true
}

// compare holds what players were shown of their own commands against what the server decided in this tick.
func (s *Sim) compare() {
	tick := s.Server.Tick()
	for _, p := range s.players {
		if p.Client != nil && (s.Loop.Now().Sub(s.Server.Heard(p.ID)) > server.RepeatFor || p.Client.Stats().Age > outage) {
			p.cutAt = s.Loop.Now()
		}
	}
	late := s.late[:0]
	for _, w := range s.late { // presses that came too late for their own tick are run a little later
		switch {
		case s.decided(&w) == agreed:
			w.p.q.agreed++
			w.p.q.late++
		case tick-w.e.Tick < clock.Tick(packet.LatePress/s.Server.Period()):
			late = append(late, w)
		default:
			w.p.q.disagreed++
		}
	}
	s.late = late
	for _, w := range s.pending[tick] {
		verdict := s.decided(&w)
		st, _ := s.Server.Stats(w.p.ID)
		switch {
		case verdict == agreed:
			w.p.q.agreed++
		case s.interrupted(&w, tick, verdict == otherwise):
			w.p.q.interrupted++
		case w.p.cutAt != 0 && s.Loop.Now().Sub(w.p.cutAt) < aftermath:
			w.p.q.cutOff++
		case verdict == nothing && st.LastStarved == tick:
			s.late = append(s.late, w)
		default:
			w.p.q.disagreed++
		}
	}
	delete(s.pending, tick)
}

type verdict uint8

const (
	nothing   verdict = iota // the server decided no such event in this tick
	otherwise                // it did, with another outcome
	agreed
)

// decided returns what the server decided in this tick of an event that a client predicted.
func (s *Sim) decided(w *predicted) verdict {
	v := nothing
	for i := range s.Server.Engine().Events() {
		e := &s.Server.Engine().Events()[i]
		if !e.ByActor || e.Actor != w.e.Actor || e.Event != w.e.Event {
			continue
		}
		if v = otherwise; sameOutcome(s.Rules.Events[e.Event], e.Vals, w.e.Vals, outcomeSlack+e.At.Sub(w.e.At).Len()) {
			return agreed
		}
	}
	return v
}

// outage is how long a path must carry nothing before that is an outage, which no delay bridges: it is counted apart.
const outage = 500 * time.Millisecond

// aftermath is how long after an outage a player's own state may still be off because of it.
const aftermath = time.Second

// outcomeSlack is how far apart places of one event may lie, in metres, to count as the same outcome: half an avatar. A
// starved tick moves the shooter by centimetres; whom the shot hit is what matters. What the shooter itself was
// moved between its prediction and the server's decision is added.
const outcomeSlack = 0.3

// sameOutcome compares two payloads: numbers, names and flags exactly, places and directions nearly.
func sameOutcome(k *schema.Kind, a, b []int64, slack float64) bool {
	for i := range k.Props {
		p := &k.Props[i]
		for c := p.At; c < p.At+p.Comps; c++ {
			d := float64(max(a[c]-b[c], b[c]-a[c]))
			switch p.Class {
			case schema.Pos, schema.Vel, schema.Spin:
				if d > slack*p.Sim {
					return false
				}
			case schema.Angle, schema.View:
				if d > p.Sim/64 && d < p.Sim*63/64 {
					return false
				}
			default:
				if d != 0 {
					return false
				}
			}
		}
	}
	return true
}

// interrupted reports whether others changed the player between what its client knew and the command, or took
// what it was about to take. A command that did not come in time is the player's network's fault, and counts.
func (s *Sim) interrupted(w *predicted, tick clock.Tick, decided bool) bool {
	if st, ok := s.Server.Stats(w.p.ID); !ok || st.LastStarved > w.base {
		return false
	}
	i, ok := s.Server.History().Find(uint32(w.e.Actor))
	if !ok || !decided && w.took {
		return true // killed, or forestalled
	}
	var buf [schema.MaxComps]int64
	was, ok := s.Server.History().Values(i, snapshot.OwnerGroup, tick-1, buf[:0])
	return s.Server.Engine().LastExternalChange(w.e.Actor) > w.base || ok && !slices.Equal(was, w.from)
}

// check compares a state that a client took in with the truth of that tick.
func (p *Player) check(e *snapshot.Replica, g int, st *motion.State) {
	s := p.sim
	i, ok := s.Server.History().Find(e.ID)
	if !ok {
		s.unchecked++
		return
	}
	var buf [schema.MaxComps]int64
	want, ok := s.Server.History().Values(i, g, st.Tick, buf[:0])
	if !ok {
		s.unchecked++
		return
	}
	s.checked++
	k := s.Rules.Kinds[e.Kind]
	if g != snapshot.OwnerGroup {
		schema.Coarsen(k, g, int(st.Level), want) // who is far away is told less
	} else {
		for pi := range k.Props {
			if q := &k.Props[pi]; q.Audience == schema.Server || q.Audience == schema.Kept {
				clear(want[q.At : q.At+q.Comps])
			}
		}
	}
	if slices.Equal(want, st.Vals) {
		return
	}
	if s.divergent++; len(s.diverged) < 10 {
		s.diverged = append(s.diverged, fmt.Sprintf("%s: entity %d group %d tick %d: client %v, server %v", p.Name, e.ID, g, st.Tick, st.Vals, want))
	}
}

// Diverged returns an error if any state that any client took in differed from the server's.
func (s *Sim) Diverged() error {
	if len(s.diverged) > 0 {
		return fmt.Errorf("match: clients diverged: %v", s.diverged)
	}
	if len(s.faults) > 0 {
		return fmt.Errorf("match: %w", s.faults[0])
	}
	return nil
}

// Divergences returns how many states that any client took in differed from the server's.
func (s *Sim) Divergences() uint64 { return s.divergent }

// Checked returns how many states were compared with the truth, and how many were too old to be.
func (s *Sim) Checked() (compared, tooOld uint64) { return s.checked, s.unchecked }

// Told returns the server's tick of the newest state of its avatar that the player's client was told.
func (p *Player) Told() clock.Tick {
	if h := p.Client.Store().Find(uint32(p.Client.Me())); h != nil {
		if s := h.Groups[snapshot.OwnerGroup].Newest(); s != nil {
			return s.Tick
		}
	}
	return 0
}

// confirmed sorts the server's answers to predictions.
func (p *Player) confirmed(t clock.Tick, o predict.Outcome, off float64) {
	if o.Stale || o.Unknown || !p.sim.measuring() {
		p.q.base, p.q.told = t, p.Told()
		return
	}
	st, _ := p.sim.Server.Stats(p.ID)
	eng := p.sim.Server.Engine()
	since, told := p.q.base, p.q.told // of commands, and of the server: it runs queued ones in other ticks than their own
	p.q.base, p.q.told = t, p.Told()
	p.q.confirmed++
	starved := st.LastStarved > told
	touched := eng.LastExternalChange(p.Client.Me()) > told || eng.LastSideEffect(p.Client.Me()) > told || p.Client.LastSideEffect() > since
	switch {
	case starved:
		p.q.starvedConfirms++
	case touched:
		p.q.touchedConfirms++
	}
	if !o.Corrected {
		return
	}
	p.q.corrections = append(p.q.corrections, off)
	p.q.replayed = append(p.q.replayed, o.Replayed)
	if !starved && !touched {
		p.q.clean++
	}
}

// Run lets virtual time pass.
func (s *Sim) Run(d time.Duration) { s.Loop.Run(s.Loop.Now().Add(d)) }

// Measure begins measuring now: what came before is forgotten.
func (s *Sim) Measure() {
	s.measure = s.Loop.Now()
	clear(s.pending)
	for _, p := range s.players {
		p.q = quality{base: p.q.base, told: p.q.told, since: s.measure}
		if p.Client != nil {
			p.q.start = p.Client.Stats()
		}
		p.q.startServer, _ = s.Server.Stats(p.ID)
	}
}

func (s *Sim) measuring() bool { return s.measure != 0 }

// Still stops all bots: their players command nothing from now on.
func (s *Sim) Still() {
	for _, p := range s.players {
		p.still = true
	}
}

// Converged returns an error naming the first client that does not hold exactly what the server says it
// should see.
func (s *Sim) Converged() error {
	h := s.Server.History()
	for _, p := range s.players {
		v := s.Server.View(p.ID)
		if p.Client == nil || v == nil {
			return fmt.Errorf("match: %s is not connected", p.Name)
		}
		if v.Unacked() {
			return fmt.Errorf("match: %s has not acknowledged everything", p.Name)
		}
		if i, ok := h.Find(uint32(p.Client.Me())); ok { // what it predicts of itself counts too
			own := p.Client.Own(p.Client.CommandTick())
			truth, _ := h.Values(i, snapshot.OwnerGroup, h.Tick(), nil)
			k := s.Rules.Kinds[h.At(i).Kind]
			for _, pi := range k.Owned {
				if q := &k.Props[pi]; own != nil && !slices.Equal(own[q.At:q.At+q.Comps], truth[q.At:q.At+q.Comps]) {
					return fmt.Errorf("match: %s predicts %s %v of itself, truth %v", p.Name, q.Name, own[q.At:q.At+q.Comps], truth[q.At:q.At+q.Comps])
				}
			}
		}
		seen, _ := v.Count()
		if n := len(p.Client.Store().Entities()); n != seen {
			return fmt.Errorf("match: %s holds %d entities, the server says %d", p.Name, n, seen)
		}
		for _, e := range p.Client.Store().Entities() {
			i, ok := h.Find(e.ID)
			if !ok || !v.Has(i) {
				return fmt.Errorf("match: %s holds entity %d, which it does not see", p.Name, e.ID)
			}
			for g := range e.Groups {
				st := e.Groups[g].Newest()
				if st == nil {
					continue
				}
				want, _ := h.Values(i, g, h.Tick(), nil)
				if st.Level != 0 {
					schema.Coarsen(s.Rules.Kinds[e.Kind], g, int(st.Level), want)
				}
				if g == snapshot.OwnerGroup {
					k := s.Rules.Kinds[e.Kind]
					for pi := range k.Props {
						if q := &k.Props[pi]; q.Audience == schema.Server || q.Audience == schema.Kept {
							clear(want[q.At : q.At+q.Comps])
						}
					}
				}
				if !slices.Equal(want, st.Vals) {
					return fmt.Errorf("match: %s entity %d group %d: holds %v of tick %d, truth %v", p.Name, e.ID, g, st.Vals, st.Tick, want)
				}
			}
		}
	}
	return nil
}
