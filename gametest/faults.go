package gametest

import (
	"fmt"
	"slices"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netsim"
	"meanwhile/server"
	"meanwhile/transport"
)

// What may go wrong in a match beside its networks: the server or a client stands still, a clock is
// set, a player loses its connection, comes back or leaves.

// A beat is when the server's ticks run, as in a room of package host.
type beat struct {
	pacer     clock.Pacer
	took      time.Duration // how long the tick that runs takes
	slow      time.Duration // how long each of the next ticks takes,
	slowFor   clock.Time    // until then
	running   bool          // a tick has begun, and its datagrams have not left
	due       int           // ticks of this turn that are still to run
	number    int           // of the next one in this turn
	announced time.Duration // period
}

// absence is what keeps a player from playing.
type absence struct {
	cable   bool       // there is no connection
	greeted bool       // the client waits for the welcome to a new connection
	anew    bool       // what its client received is of before the server began anew, which it does not know yet
	left    bool       // for good
	visit   int        // how many connections it has lost
	resumed clock.Tick // the server's tick when it had another one
	frozen  clock.Time // the program makes no frame until then
	inbox   transport.Queue
	spare   []byte
}

// Faults returns the errors of the server, of clients and of rules.
func (s *Sim) Faults() []error { return s.faults }

// Hang lets the server's process stand still for d, as when its machine is paused: it neither reads
// nor ticks nor sends. What arrives meanwhile waits and is read at the end. Of the ticks that it
// missed it makes up for one at most. Zero or less does nothing.
func (s *Sim) Hang(d time.Duration) { s.hung = max(s.hung, s.Loop.Now().Add(d)) }

// Sleep is Hang where the server's clock stands still, too, as that of a virtual machine that is
// suspended: afterwards it is d behind what players expect.
func (s *Sim) Sleep(d time.Duration) {
	s.Hang(d)
	s.woke = s.now()
	wakes := s.woke.Add(s.slept) // later than now if it sleeps already
	s.slept += max(s.Loop.Now().Add(d).Sub(wakes), 0)
}

// now returns the time on the server's clock, which is that of Loop but for what it slept.
func (s *Sim) now() clock.Time { return max(s.Loop.Now().Add(-s.slept), s.woke) }

// Slow lets each tick of the next while take d to compute. Heartbeats go out as in package host.
func (s *Sim) Slow(d, while time.Duration) {
	s.beat.slow, s.beat.slowFor = d, s.Loop.Now().Add(while)
}

// tick runs the ticks that are due.
func (s *Sim) tick() {
	b := &s.beat
	if s.Loop.Now() < s.hung {
		s.Loop.At(s.hung, s.tick)
		return
	}
	b.due, b.number = b.pacer.Due(s.now()), 0
	s.turn()
}

// turn begins the next tick of this turn, or waits for the next turn.
func (s *Sim) turn() {
	b, now := &s.beat, s.Loop.Now()
	if b.due == 0 {
		s.Loop.At(b.pacer.Next().Add(s.slept), s.tick)
		return
	}
	planned, spacing := b.pacer.Planned(b.number), b.pacer.Spacing()
	b.due, b.number, b.running, b.took = b.due-1, b.number+1, true, 0
	if spacing != b.announced {
		b.announced = spacing
		s.calls.SetPeriod(spacing)
	}
	s.calls.Begin(planned)
	s.judgeShots()
	if now >= b.slowFor {
		s.finish()
		return
	}
	b.took = b.slow
	for at := planned.Add(s.slept + spacing + spacing/2); at < now.Add(b.took); at = at.Add(100 * time.Millisecond) {
		s.Loop.At(at, func() { s.heartbeat(planned, spacing) })
	}
	s.Loop.After(b.took, s.finish)
}

// finish sends what the tick has made.
func (s *Sim) finish() {
	b, now := &s.beat, s.Loop.Now()
	if s.now() != s.Server.Now() {
		s.calls.LeaveAt(s.now())
	}
	s.encode(now)
	s.calls.End()
	s.faults = append(s.faults, s.Server.Faults()...)
	if s.journal != nil && s.journal.Due() {
		if err := s.journal.Checkpoint(); err != nil {
			s.faults = append(s.faults, err)
		}
	}
	b.pacer.Ran(b.took)
	b.running = false
	if s.OnTick != nil {
		s.OnTick()
	}
	s.release()
	s.turn()
}

// heartbeat says that the tick after one that began at a time is late.
func (s *Sim) heartbeat(began clock.Time, period time.Duration) {
	now := s.Loop.Now()
	if now < s.hung || !s.beat.running {
		return
	}
	beat := packet.Heartbeat{Stamp: s.now().Stamp(), Tick: s.Server.Tick(), Time: began.Stamp(), Period: period}
	for _, p := range s.players {
		data := beat.Append(nil) // OnSend may change it
		if p.ID != 0 && !p.away.cable && s.calls.Beat(p.ID, s.now(), len(data)) {
			p.send(p.down, now, data)
		}
	}
}

// release hands over what waited while a tick was computed.
func (s *Sim) release() {
	for _, p := range s.players {
		a := &p.away
		for {
			var at clock.Time
			var ok bool
			if a.spare, at, ok = a.inbox.Take(a.spare); !ok {
				break
			}
			s.calls.Receive(p.ID, at, a.spare)
		}
	}
}

// Freeze lets the player's program make no frame for d. Datagrams go on arriving.
func (p *Player) Freeze(d time.Duration) { p.away.frozen = p.sim.Loop.Now().Add(d) }

// StepClock sets the player's clock by d: forward, or back if d is negative.
func (p *Player) StepClock(d time.Duration) { p.offset = p.offset.Add(d) }

// SetDrift makes the player's clock so many parts per million faster from now on.
func (p *Player) SetDrift(ppm int64) {
	now := p.sim.Loop.Now()
	before := p.local(now)
	p.ppm = ppm
	p.offset += before - p.local(now)
}

// Link returns one direction of the player's path, whose parameters may be changed: towards the
// server (up), or from it.
func (p *Player) Link(up bool) *netsim.Link {
	if up {
		return p.up.Link
	}
	return p.down.Link
}

// Reroute drops what is under way in both directions, as when a player moves to another network.
func (p *Player) Reroute() {
	p.up.Clear()
	p.down.Clear()
}

// Push puts a datagram on the player's path, past OnSend.
func (p *Player) Push(up bool, datagram []byte) {
	pipe := p.down
	if up {
		pipe = p.up
	}
	pipe.Push(p.sim.Loop.Now(), datagram)
	p.deliver(pipe)
}

// Visit returns how many connections the player has lost.
func (p *Player) Visit() int { return p.away.visit }

// Connected reports whether the player has a client and a connection.
func (p *Player) Connected() bool { return p.Client != nil && !p.away.cable }

// Leave takes the player out of the match, as on the server's side its host does.
func (p *Player) Leave() {
	p.Suspend()
	p.sim.calls.Disconnect(p.ID)
	p.forget()
}

// Reopen puts a new world in the place of the match's own, between two ticks, as a host opens a
// room anew after its world has failed. All players must have left. It is not recorded.
func (s *Sim) Reopen() error {
	for _, p := range s.players {
		if !p.away.left {
			return fmt.Errorf("gametest: %s is still in the match", p.Name)
		}
		p.ID = 0 // that of another player from now on
	}
	s.cfg.Seed, s.cfg.Secret = s.cfg.Seed+2, s.cfg.Secret+2
	srv, err := server.New(s.Rules, s.cfg)
	if err != nil {
		return err
	}
	s.GoOn(srv)
	s.beat.pacer = clock.Pacer{Step: srv.Period()}
	s.beat.announced, s.beat.due = srv.Period(), 0
	clear(s.shots.pending)
	s.shots.late = nil
	return nil
}

// forget notes that the player is out of the match for good. A long match has many of those.
func (p *Player) forget() {
	s := p.sim
	p.away.left = true
	if s.byID[p.ID] == p {
		delete(s.byID, p.ID)
	}
	if i := slices.Index(s.players, p); i >= 0 && !s.measuring() {
		s.players = slices.Delete(s.players, i, i+1)
	}
}

// Left reports whether the player is out of the match for good.
func (p *Player) Left() bool { return p.away.left }

// Suspend ends the player's connection, with all that is under way. Its avatar stays.
func (p *Player) Suspend() {
	p.away.cable, p.away.greeted = true, false
	p.away.visit++
	p.up.Clear()
	p.down.Clear()
	for ok := true; ok; {
		p.away.spare, _, ok = p.away.inbox.Take(p.away.spare)
	}
	p.sim.calls.Suspend(p.ID, p.sim.now())
}

// Resume gives the player another connection over the same path, and the welcome a moment later.
// kept says that its client has what it received; if not, or if the server does not go on from
// that, the player gets a new client.
func (p *Player) Resume(kept bool) {
	s := p.sim
	w, ok := s.calls.Resume(p.ID, s.now(), kept && p.Client != nil && !p.away.anew) // a host knows by the key
	if !ok || p.away.left {
		p.forget()
		return
	}
	p.away.anew = !w.Kept
	visit := p.away.visit
	p.away.resumed = s.Server.Tick()
	p.away.greeted = true
	trip, _ := p.down.Send(s.Loop.Now(), 100)
	s.Loop.At(max(trip[0], s.Loop.Now().Add(20*time.Millisecond)), func() {
		if p.away.visit != visit || p.away.left {
			return // that connection has ended, too
		}
		p.away.cable, p.away.greeted = false, false
		if p.away.anew = false; !w.Kept {
			p.begin(w)
		} else if err := p.Client.Resume(w); err != nil {
			s.faults = append(s.faults, err)
		}
	})
}
