package gametest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/predict"
	"meanwhile/netcode/snapshot"
)

// maxMispredictions is how many clean mispredictions an error describes.
const maxMispredictions = 3

// corrections measures how the server's states of one player's avatar compare with its predictions.
type corrections struct {
	base        clock.Tick // newest command that was confirmed
	confirmedAt clock.Tick // the server's tick of the state that confirmed it

	confirmed, starved, touched, corrected int

	clean int       // corrections without outside influence
	moved []float64 // metres by which each correction moved the avatar, without teleports
}

// confirmed is called when a state from the server confirms or corrects the prediction of tick t.
// off is how far the correction moved the avatar, in metres.
func (p *Player) confirmed(t clock.Tick, o predict.Outcome, off float64) {
	q := &p.q.corrections
	teleported := p.Client.Cuts() != p.teleports // by this state: a respawn, for example
	p.teleports = p.Client.Cuts()
	// With queued commands, ticks of commands and ticks of the server differ.
	base, confirmedAt := q.base, q.confirmedAt
	q.base, q.confirmedAt = t, t
	if p.sim.Rules.Mode == game.Queued {
		q.confirmedAt = p.ownStateTick()
	}
	if o.Stale || o.Unknown || !p.sim.measuring() {
		return
	}
	st, _ := p.sim.Server.Stats(p.ID)
	eng, me := p.sim.Server.Engine(), p.Client.Me()
	// A player who acts again after it announced to idle is believed to idle until that arrives.
	starved := st.LastStarved > confirmedAt || p.away.resumed > confirmedAt ||
		st.LastAssumed > confirmedAt && !p.Client.Idle()
	touched := eng.LastExternalChange(me) > confirmedAt || eng.LastSideEffect(me) > confirmedAt ||
		p.Client.LastSideEffect() > base || eng.LastStepChange(me) > confirmedAt && p.hasCompany()
	q.confirmed++
	switch {
	case starved:
		q.starved++
	case touched:
		q.touched++
	}
	if !o.Corrected {
		return
	}
	q.corrected++
	if !teleported {
		q.moved = append(q.moved, off)
	}
	if !starved && !touched {
		q.clean++
		if len(p.sim.wrong) < maxMispredictions {
			p.sim.wrong = append(p.sim.wrong, p.Name+" at "+p.desync(t))
		}
	}
}

// hasCompany reports whether the player knows of another player's avatar. Where Step moves avatars,
// others can push this one, or what pushes it.
func (p *Player) hasCompany() bool {
	for _, o := range p.sim.players {
		if me := o.Me(); o != p && me != 0 && p.Client.Store().Find(uint32(me)) != nil {
			return true
		}
	}
	return false
}

// ownStateTick returns the server's tick of the newest state of its avatar that the client
// received, or 0.
func (p *Player) ownStateTick() clock.Tick {
	if h := p.Client.Store().Find(uint32(p.Client.Me())); h != nil {
		if s := h.Groups[snapshot.OwnerGroup].Newest(); s != nil {
			return s.Tick
		}
	}
	return 0
}

// desync returns what the client knows of a wrong prediction of its avatar. It leaves out the
// cause, as the match knows better.
func (p *Player) desync(t clock.Tick) string {
	own := fmt.Sprintf("tick %d: %s %d ", t, p.sim.Rules.Kinds[p.Client.Store().Find(uint32(p.Me())).Kind].Name, p.Me())
	for _, text := range p.Client.Desyncs(nil) {
		if strings.HasPrefix(text, own) {
			text, _, _ = strings.Cut(text, "; the server ran")
			return text
		}
	}
	return fmt.Sprintf("tick %d", t)
}

// numbers are the values in what a client reports.
var numbers = regexp.MustCompile(`\[[^]]*\]`)

// noteMistake keeps what a client reported about the rules, once for all clients: they meet the same
// mistake with other values.
func (s *Sim) noteMistake(sentence string) {
	same := func(known string) bool {
		return numbers.ReplaceAllLiteralString(known, "") == numbers.ReplaceAllLiteralString(sentence, "")
	}
	if !slices.ContainsFunc(s.mistakes, same) {
		s.mistakes = append(s.mistakes, sentence)
	}
}

// Mistaken returns an error with the mistakes of the rules that clients reported, one line each:
// see client.Config.Report.
func (s *Sim) Mistaken() error {
	if len(s.mistakes) == 0 {
		return nil
	}
	return errors.New(strings.Join(s.mistakes, "\n"))
}

// Mispredicted returns an error if predictions were wrong without outside influence since Measure:
// no other player, late command or rule of the server had changed the player, so client and server
// computed different results from the same state and commands. Where Step moves avatars, only what
// is wrong while no other player is in sight counts. Ticks in which the player changed
// another entity are left out too, such as one it took or hit.
func (s *Sim) Mispredicted() error {
	n := 0
	for _, p := range s.players {
		n += p.q.corrections.clean
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf(`gametest: %d predictions were wrong although nothing else had changed the player. The first:
  %s
Act and Step must compute the same from the same world and command, on both sides. Look for
- random numbers from math/rand: use World.Rand
- clocks such as time.Now: use World.Tick
- a range over a map, whose order differs each time
- variables outside of the World that rules change
- math.Sin and others whose last bit differs between machines: use package geom
- decisions by where other entities are now (Get, All, On): a client knows only their newest records. Use Seen,
  or declare kinds that Step moves together with the player, avatars too, with game.Predicted or game.Near
If the game needs it as it is, call AllowMispredictions; it also silences writes and spawns without effect`,
		n, strings.Join(s.wrong, "\n  "))
}
