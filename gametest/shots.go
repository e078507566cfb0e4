package gametest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"meanwhile/client"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/server"
)

const (
	// outage is how long a path must carry nothing for an outage. No delay bridges an outage, so it
	// is counted apart.
	outage = 500 * time.Millisecond

	// aftermath is how long after an outage a player's own state may still be wrong because of it.
	aftermath = time.Second

	// outcomeSlack is how far apart, in metres, the places of two events may lie that count as the
	// same outcome: half an avatar. A starved tick moves the shooter by centimetres, but whom the
	// shot hit is what matters. The distance between the predicted and the decided place of the
	// event is added.
	outcomeSlack = 0.3
)

// verdicts compares events that clients predicted with those that the server decided.
type verdicts struct {
	pending map[clock.Tick][]predicted // by the tick at which the server will decide
	late    []predicted                // their commands did not arrive in time; the presses may run a little later
	counts  []eventCount               // of all players, by the event's number
}

// eventCount is how many predicted events of one kind count, and how many of them the server agreed with.
type eventCount struct{ agreed, all int }

// shots counts the predicted events of one player.
type shots struct {
	agreed, disagreed, late, interrupted, cutOff int
}

// predicted is an event that a player's own command caused in its client.
type predicted struct {
	p     *Player
	event client.Event
	base  clock.Tick // newest state of its avatar that the client knew
	from  []int64    // the avatar's predicted state before the command
	took  bool       // the command despawned something, as predicted; another player may have been quicker
}

// settle counts a predicted event of a player.
func (s *Sim) settle(p *Player, event int, agreed bool) {
	t := &s.shots.counts[event]
	t.all++
	if agreed {
		t.agreed++
		p.q.shots.agreed++
	} else {
		p.q.shots.disagreed++
	}
}

// denied names the events that the server agreed with less than wholly: "kick 109 of 207".
func (s *Sim) denied() string {
	var list []string
	for i, t := range s.shots.counts {
		if t.agreed < t.all {
			list = append(list, fmt.Sprintf("%s %d of %d", s.Rules.Events[i].Name, t.agreed, t.all))
		}
	}
	return strings.Join(list, ", ")
}

// judgeShots compares what players predicted for this tick with what the server decided.
func (s *Sim) judgeShots() {
	tick := s.Server.Tick()
	for _, p := range s.players {
		silent := s.now().Sub(s.Server.Heard(p.ID)) > server.RepeatFor
		if p.Client != nil && (silent || p.Client.Stats().Age > outage) {
			p.cutOff = s.Loop.Now()
		}
	}
	late := s.shots.late[:0]
	for _, w := range s.shots.late {
		switch {
		case s.decided(&w) == agreed:
			s.settle(w.p, w.event.Event, true)
			w.p.q.shots.late++
		case tick-w.event.Tick < clock.Tick(packet.LatePress/s.Server.Period()):
			late = append(late, w)
		default:
			s.settle(w.p, w.event.Event, false)
		}
	}
	s.shots.late = late
	for _, w := range s.shots.pending[tick] {
		verdict := s.decided(&w)
		st, _ := s.Server.Stats(w.p.ID)
		switch {
		case verdict == agreed:
			s.settle(w.p, w.event.Event, true)
		case s.interrupted(&w, tick, verdict == otherwise):
			w.p.q.shots.interrupted++
		case w.p.cutOff != 0 && s.Loop.Now().Sub(w.p.cutOff) < aftermath:
			w.p.q.shots.cutOff++
		case verdict == nothing && st.LastStarved == tick:
			s.shots.late = append(s.shots.late, w)
		default:
			s.settle(w.p, w.event.Event, false)
		}
	}
	delete(s.shots.pending, tick)
}

type verdict uint8

const (
	nothing   verdict = iota // the server decided no such event in this tick
	otherwise                // it decided one with another outcome
	agreed
)

// decided returns what the server decided in this tick about an event that a client predicted.
func (s *Sim) decided(w *predicted) verdict {
	v := nothing
	for i := range s.Server.Engine().Events() {
		e := &s.Server.Engine().Events()[i]
		if e.Actor != w.event.Actor || e.Event != w.event.Event {
			continue
		}
		v = otherwise
		slack := outcomeSlack + e.At.Sub(w.event.At).Len()
		if sameOutcome(s.Rules.Events[e.Event], e.Vals, w.event.Vals, slack) {
			return agreed
		}
	}
	return v
}

// sameOutcome compares two payloads: numbers, names and flags exactly, places within slack metres,
// directions within 1/64 of a turn.
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

// interrupted reports whether others changed the player between the newest state that its client
// knew and the command, or took what the command was about to take. A command that did not arrive
// in time is no interruption: the player's own network delayed it.
func (s *Sim) interrupted(w *predicted, tick clock.Tick, decided bool) bool {
	if st, ok := s.Server.Stats(w.p.ID); !ok || st.LastStarved > w.base {
		return false
	}
	i, ok := s.Server.History().Find(uint32(w.event.Actor))
	if !ok || !decided && w.took {
		return true // killed, or another player was quicker
	}
	var buf [schema.MaxComps]int64
	was, ok := s.Server.History().Values(i, snapshot.OwnerGroup, tick-1, buf[:0])
	return s.Server.Engine().LastExternalChange(w.event.Actor) > w.base || ok && !slices.Equal(was, w.from)
}
