package gametest

import (
	"fmt"
	"slices"

	"meanwhile/game"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
)

// maxReported is how many findings of one sort an error lists.
const maxReported = 10

// comparison compares every state that a client applies with the server's state of the same tick.
type comparison struct {
	diverged  []string // the first few
	divergent uint64
	compared  uint64
	tooOld    uint64 // the server does not keep the state any more
}

// compareState compares a state that the client applied with the server's.
func (p *Player) compareState(e *snapshot.Replica, g int, st *motion.State) {
	s, c := p.sim, &p.sim.states
	i, ok := s.Server.History().Find(e.ID)
	if !ok {
		c.tooOld++
		return
	}
	var buf [schema.MaxComps]int64
	want, ok := s.Server.History().Values(i, g, st.Tick, buf[:0])
	if !ok {
		c.tooOld++
		return
	}
	c.compared++
	asReceived(s.Rules.Kinds[e.Kind], g, int(st.Level), want)
	if v := s.Server.View(p.ID); v != nil {
		v.AsSent(e, i, g, st.Tick, want)
	}
	if slices.Equal(want, st.Vals) {
		return
	}
	if c.divergent++; len(c.diverged) < maxReported {
		c.diverged = append(c.diverged, fmt.Sprintf("%s: entity %d group %d tick %d: client %v, server %v",
			p.Name, e.ID, g, st.Tick, st.Vals, want))
	}
}

// asReceived turns the server's values of a group into those that a client receives: coarser with
// distance, and without what is never sent.
func asReceived(k *schema.Kind, g, level int, vals []int64) {
	if len(vals) == 0 {
		return
	}
	if g != snapshot.OwnerGroup {
		schema.Coarsen(k, g, level, vals)
		return
	}
	for pi := range k.Props {
		if q := &k.Props[pi]; q.Audience == schema.Server || q.Audience == schema.Kept {
			clear(vals[q.At : q.At+q.Comps])
		}
	}
}

// Diverged returns an error if a state that a client applied differs from the server's, if rules
// panicked, or if a player could not connect.
func (s *Sim) Diverged() error {
	if len(s.states.diverged) > 0 {
		return fmt.Errorf("gametest: clients diverged: %v", s.states.diverged)
	}
	if len(s.faults) > 0 {
		return fmt.Errorf("gametest: %w", s.faults[0])
	}
	return nil
}

// Divergences returns how many states that clients applied differ from the server's.
func (s *Sim) Divergences() uint64 { return s.states.divergent }

// Checked returns how many states were compared with the server's, and how many were too old for
// that.
func (s *Sim) Checked() (compared, tooOld uint64) { return s.states.compared, s.states.tooOld }

// Converged returns an error that names the first client that does not hold exactly what the
// server's view of it says, or nil.
func (s *Sim) Converged() error {
	for _, p := range s.players {
		if p.away.left {
			continue
		}
		if err := p.converged(); err != nil {
			return fmt.Errorf("gametest: %s %w", p.Name, err)
		}
	}
	return nil
}

func (p *Player) converged() error {
	s := p.sim
	h, v := s.Server.History(), s.Server.View(p.ID)
	if p.Client == nil || v == nil {
		return fmt.Errorf("is not connected")
	}
	if v.Unacked() {
		return fmt.Errorf("has not acknowledged everything")
	}
	if err := p.predictsTruth(); err != nil {
		return err
	}
	entities := p.Client.Store().Entities()
	if seen, _ := v.Count(); len(entities) != seen {
		return fmt.Errorf("holds %d entities, the server says %d", len(entities), seen)
	}
	for _, e := range entities {
		i, ok := h.Find(e.ID)
		if !ok || !v.Has(i) {
			return fmt.Errorf("holds entity %d, which it does not see", e.ID)
		}
		if e.Exact && !e.Mine {
			truth, _ := h.Values(i, snapshot.OwnerGroup, h.Tick(), nil)
			mine := slices.Clone(p.Client.Predicted(game.ID(e.ID), p.Client.CommandTick()))
			asReceived(s.Rules.Kinds[e.Kind], snapshot.OwnerGroup, 0, truth)
			v.AsSent(e, i, snapshot.OwnerGroup, h.Tick(), truth)
			asReceived(s.Rules.Kinds[e.Kind], snapshot.OwnerGroup, 0, mine)
			if mine != nil && apart(mine, truth) {
				return fmt.Errorf("predicts entity %d at %v, truth %v", e.ID, mine, truth)
			}
			continue
		}
		for g := range e.Groups {
			st := e.Groups[g].Newest()
			if st == nil || g == snapshot.OwnerGroup && !e.Mine { // of when it ran ahead
				continue
			}
			want, _ := h.Values(i, g, h.Tick(), nil)
			asReceived(s.Rules.Kinds[e.Kind], g, int(st.Level), want)
			v.AsSent(e, i, g, h.Tick(), want)
			if !slices.Equal(want, st.Vals) {
				return fmt.Errorf("entity %d group %d: holds %v of tick %d, truth %v", e.ID, g, st.Vals, st.Tick, want)
			}
		}
	}
	return nil
}

// apart reports whether a prediction is further off than observers see others, who may push what is
// predicted: 2 cm, in 1/256 mm.
func apart(mine, truth []int64) bool {
	const most = 20 * 256
	for i := range mine {
		if d := mine[i] - truth[i]; d > most || d < -most {
			return true
		}
	}
	return len(mine) != len(truth)
}

// predictsTruth compares what the client predicts of its avatar with the server's newest state.
func (p *Player) predictsTruth() error {
	h := p.sim.Server.History()
	i, ok := h.Find(uint32(p.Client.Me()))
	own := p.Client.Own(p.Client.CommandTick())
	if !ok || own == nil {
		return nil
	}
	truth, _ := h.Values(i, snapshot.OwnerGroup, h.Tick(), nil)
	k := p.sim.Rules.Kinds[h.At(i).Kind]
	// Another avatar that touches this one pushes it from where observers see that one.
	pushed := p.sim.Server.Engine().LastStepChange(p.Me()) > 0 && p.hasCompany()
	for _, pi := range k.Owned {
		q := &k.Props[pi]
		mine, his := own[q.At:q.At+q.Comps], truth[q.At:q.At+q.Comps]
		if !slices.Equal(mine, his) && (!pushed || q.Class != schema.Pos || apart(mine, his)) {
			return fmt.Errorf("predicts %s %v of itself, truth %v", q.Name, mine, his)
		}
	}
	return nil
}
