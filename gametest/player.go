package gametest

import (
	"slices"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
	"meanwhile/server"
	"meanwhile/session"
)

// Player is one simulated player.
type Player struct {
	Name    string
	Profile netsim.Profile
	Client  *client.Client // nil until the server let it in
	ID      server.PlayerID

	// OnFrame is called at the end of each of the player's frames. It may be nil. In it a kind's
	// Get and All show what the player's rules predict in Client.World, and the truth in
	// Match.Server: a ball that answers at once moves in the former first.
	OnFrame func()
	// OnEvent is called for each event that the player's client shows. It may be nil. The event is
	// valid during the call.
	OnEvent func(e *client.Event)
	// OnWord is called for each message and answer that the player's client receives, and may be
	// nil. client.Heard and client.Answered read it; client.Say and client.Ask send with
	// Player.Client. The word is valid during the call.
	OnWord func(w *client.Word)
	// OnSend is called for each datagram that the player's client (up) or the server sends, before
	// the path has it. It may change it, and returns false to drop it. It may be nil.
	OnSend func(up bool, datagram []byte) bool

	sim    *Sim
	bot    client.BotFunc // nil: commands nothing
	still  bool           // see Sim.Still
	up     *netsim.Pipe
	down   *netsim.Pipe
	cut    clock.Time // nothing gets through until then
	hung   clock.Time // until when the player's process stands still, see Hang
	cutOff clock.Time // newest moment at which the path had carried nothing for a while
	offset clock.Time // local clock minus that of Loop
	ppm    int64      // by which the local clock is faster
	rng    geom.Rand
	frames uint64
	vals   []float64 // scratch of Draw
	q      quality
	away   absence

	teleports uint64 // of the avatar, drawn by the end of the last frame
}

const (
	// frame is the time between a client's frames: 60 a second.
	frame = time.Second / 60

	// maxDrift is the most that a client's clock is faster or slower, in parts per million.
	maxDrift = 50
)

// Join adds a player on a network, who connects now. bot makes its commands; nil commands nothing.
func (s *Sim) Join(name string, profile netsim.Profile, bot client.BotFunc) (*Player, error) {
	n := s.joined
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
	s.joined, s.players = s.joined+1, append(s.players, p)
	s.Loop.After(0, p.connect)
	if !s.started {
		s.started = true
		s.beat.pacer.Step, s.beat.announced = s.Server.Period(), s.Server.Period()
		s.Loop.After(s.Server.Period(), s.tick)
	}
	return p, nil
}

// Me returns the player's avatar, 0 before the server let it in.
func (p *Player) Me() game.ID {
	if p.Client == nil {
		return 0
	}
	return p.Client.Me()
}

// Cut drops everything that is sent to or by the player in the next d.
func (p *Player) Cut(d time.Duration) { p.cut = p.sim.Loop.Now().Add(d) }

// Hang lets the player's process stand still for d, as when its machine is paused: it neither reads
// nor draws nor sends. What arrives meanwhile waits and is read at the end. Zero or less does
// nothing.
func (p *Player) Hang(d time.Duration) { p.hung = max(p.hung, p.sim.Loop.Now().Add(d)) }

// local returns the player's own clock at a server time.
func (p *Player) local(t clock.Time) clock.Time {
	return t + p.offset + clock.Time(int64(t)/1000*p.ppm/1000)
}

// connect lets the player in. The welcome takes a round trip.
func (p *Player) connect() {
	s := p.sim
	if p.away.left {
		return
	}
	id, w, err := s.calls.Connect(s.now(), p.Name)
	if err != nil {
		s.faults = append(s.faults, err)
		return
	}
	p.ID = id
	s.byID[id] = p
	trip, _ := p.down.Send(s.Loop.Now(), 100) // delayed like any packet; the reliable stream repeats a lost one
	at := max(trip[0], s.Loop.Now().Add(20*time.Millisecond))
	s.Loop.At(at, func() {
		if p.away.left {
			return
		}
		p.begin(w)
		if p.Client != nil {
			s.Loop.Every(s.Loop.Now().Add(time.Duration(p.rng.IntN(int(frame)))), frame, p.frame)
		}
	})
}

// begin gives the player a client that knows nothing yet.
func (p *Player) begin(w session.Welcome) {
	s := p.sim
	cfg := s.Client
	cfg.Report = s.noteMistake
	c, err := client.New(s.Rules, w, p.local(s.Loop.Now()), cfg)
	if err != nil {
		s.faults = append(s.faults, err)
		return
	}
	p.Client = c
	c.Store().Applied = p.compareState
	c.OnConfirm = p.confirmed
}

// send passes a datagram to one direction of the player's path.
func (p *Player) send(pipe *netsim.Pipe, now clock.Time, data []byte) {
	p.sim.mix(data)
	if now < p.cut || p.away.cable && !p.away.greeted {
		return
	}
	if p.OnSend != nil && !p.OnSend(pipe == p.up, data) {
		return
	}
	pipe.Push(now, data)
	p.deliver(pipe)
}

// deliver hands over what a pipe carries, as it arrives. Call it after each push.
func (p *Player) deliver(pipe *netsim.Pipe) {
	pipe.Deliver(&p.sim.Loop, func(at clock.Time, data []byte) {
		hung := p.hung
		if pipe == p.up {
			hung = p.sim.hung
		}
		if at >= hung {
			p.receive(pipe, at, data)
			return
		}
		data = slices.Clone(data)
		visit := p.away.visit
		p.sim.Loop.At(hung, func() {
			if p.away.visit == visit { // or that connection has ended
				p.receive(pipe, hung, data)
			}
		})
	})
}

// receive hands over a datagram of a pipe that is read at a server time.
func (p *Player) receive(pipe *netsim.Pipe, at clock.Time, data []byte) {
	switch {
	case pipe == p.up && p.sim.beat.running:
		p.away.inbox.Put(data, p.sim.now())
	case pipe == p.up:
		p.sim.calls.Receive(p.ID, p.sim.now(), data)
	case p.Client != nil && !p.away.cable:
		p.Client.Receive(p.local(at), data)
	}
}

// frame is one frame of the client.
func (p *Player) frame() bool {
	s := p.sim
	now := s.Loop.Now()
	if p.away.left {
		return false
	}
	if now < p.hung || now < p.away.frozen {
		return true
	}
	local := p.local(now)
	c := p.Client
	made := c.CommandTick()
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
		if p.OnEvent != nil {
			p.OnEvent(&e)
		}
		if !e.Own || e.Cancelled || e.Actor != c.Me() || !s.measuring() {
			continue
		}
		if e.Tick <= made {
			continue // a correction brought it: it is no prediction of what comes
		}
		if e.Tick <= s.Server.Tick() {
			s.settle(p, e.Event, false) // too late to run at its tick
			continue
		}
		e.Vals = slices.Clone(e.Vals)
		s.shots.pending[e.Tick] = append(s.shots.pending[e.Tick], predicted{
			p: p, event: e, base: c.Confirmed(), from: slices.Clone(c.Own(e.Tick - 1)),
			took: c.LastPredictedDespawn() == e.Tick,
		})
	}
	for _, w := range c.Words() {
		if p.OnWord != nil {
			p.OnWord(&w)
		}
	}
	p.teleports = c.Cuts()
	p.frames++
	if s.measuring() {
		p.look(p.frames%6 == 0)
	}
	for !p.away.cable {
		b := c.Encode(local)
		if b == nil {
			break
		}
		p.send(p.up, now, b)
	}
	if p.OnFrame != nil {
		p.OnFrame()
	}
	return true
}
