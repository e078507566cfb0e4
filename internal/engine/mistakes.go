package engine

import (
	"slices"

	"meanwhile/internal/fault"
	"meanwhile/netcode/schema"
)

const (
	// checkEvery is how many runs of Act, or of Step, there are to each that is run twice to see
	// whether it is pure.
	checkEvery = 32
	// searchEvery is how many ticks pass between two searches for the line of one kind of mistake.
	searchEvery = 60
	// maxMistakes is how many mistakes an engine reports.
	maxMistakes = 64
)

// mistakes looks for what rules do without effect in a client, and for rules that are not pure. To
// find the line of a mistake, and to compare two results, it runs a callback again from where it
// began.
type mistakes struct {
	report   func(sentence string)
	known    []string // sentences that were reported
	searched []mistake
	runs     [stepping + 1]int
	unnamed  [showing]bool // callbacks that are impure in what no entity stands for
	impure   uint64        // kinds that impure rules change

	// Of the callback that runs, or ran last.
	wanted  bool     // it made a mistake whose line is not known
	tracing bool     // it runs again to find lines
	reached []reach  // where it reached for entities; of traced runs
	hidden  []hiding // what it despawned without predicting it

	before, first, second Set
}

// A mistake is one property of a kind that a callback writes, or a kind that it spawns.
type mistake struct {
	phase phase
	kind  int
	prop  int  // -1 for a spawn
	last  Tick // when its line was searched
}

// A reach is the first line of a callback that reached for an entity.
type reach struct {
	id   ID
	line string
}

// A hiding is an entity that a callback despawned, and its hidden from before.
type hiding struct {
	entity *entity
	before Tick
}

// Report makes a client's engine look for mistakes of the rules. f gets a sentence about each, once
// for each kind, property and line, and must not call the engine.
func (e *Engine) Report(f func(sentence string)) {
	e.w.mistakes = &mistakes{report: f}
}

// Impure reports whether two runs of one command gave an entity of a kind different states.
func (e *Engine) Impure(kind int) bool {
	m := e.w.mistakes
	return m != nil && m.impure&(1<<kind) != 0
}

// predict runs Act or Step. A client that looks for mistakes runs some of them again.
func (w *World) predict(p phase, actor ID, f func()) error {
	m := w.mistakes
	if m == nil || w.server || len(m.known) >= maxMistakes {
		return w.run(p, actor, w.seed, f)
	}
	e := Engine{w}
	e.SaveSet(&m.before)
	events := len(w.events)
	m.wanted, m.hidden = false, m.hidden[:0]
	if err := w.run(p, actor, w.seed, f); err != nil {
		return err
	}
	m.runs[p]++
	if !m.wanted && m.runs[p]%checkEvery != 0 {
		return nil
	}
	e.SaveSet(&m.first)
	spawned, emitted := len(w.spawned), len(w.events)-events
	again := func(trace bool) {
		for _, h := range m.hidden {
			h.entity.hidden = h.before
		}
		e.LoadSet(&m.before)
		m.hidden, m.reached, m.tracing = m.hidden[:0], m.reached[:0], trace
		_ = w.run(p, actor, w.seed, f)
		m.tracing = false
	}
	again(m.wanted)
	e.SaveSet(&m.second)
	id, what := m.difference(w, w.events[events:events+emitted], w.events[events+emitted:])
	if what != "" {
		again(true)
		said := m.unnamed[p]
		if s, _ := w.entity(id); s != nil {
			said = m.impure&(1<<s.index) != 0
			m.impure |= 1 << s.index
		} else {
			m.unnamed[p] = true
		}
		if !said { // once for a kind: the values differ each time
			m.say("game: " + p.String() + " is impure: two runs of one command on the same state" + what +
				m.at(id) + "; randomness comes from World.Rand, time from World.Tick, and what rules remember " +
				"belongs into the state of entities")
		}
		e.LoadSet(&m.first)
	}
	for _, x := range w.events[events+emitted:] {
		w.spare = append(w.spare, x.Vals)
	}
	w.spawned, w.events = w.spawned[:spawned], w.events[:events+emitted]
	return nil
}

// difference says how the second run of a callback differs from the first, and in which entity; ""
// if it does not. Both runs emitted events.
func (m *mistakes) difference(w *World, a, b []Emitted) (ID, string) {
	for i := range m.first.Members {
		x := &m.first.Members[i]
		k := w.rules.Kinds[x.Kind]
		y := m.second.Find(x.ID)
		if y == nil {
			return 0, " did not spawn the same " + k.Name
		}
		if x.Gone != y.Gone {
			return x.ID, " did not despawn the same " + k.Name
		}
		what := ""
		if a, b := m.first.Of(x, k), m.second.Of(y, k); !slices.Equal(a, b) {
			k.Differ(a, b, func(p *schema.Prop, a, b []float64) {
				if what == "" {
					what = fault.Sprintf(" gave %s.%s as %v and %v", k.Name, p.Name, a, b)
				}
			})
			return x.ID, what
		}
	}
	same := len(m.first.Members) == len(m.second.Members) && slices.EqualFunc(a, b, func(a, b Emitted) bool {
		return a.Event == b.Event && a.Actor == b.Actor && slices.Equal(a.Vals, b.Vals)
	})
	if !same {
		return 0, " did not spawn and emit the same"
	}
	return 0, ""
}

// say reports a sentence once.
func (m *mistakes) say(sentence string) {
	if !slices.Contains(m.known, sentence) && len(m.known) < maxMistakes {
		m.known = append(m.known, sentence)
		m.report(sentence)
	}
}

// find says whether a mistake is to be reported now, as its line is known. Otherwise the callback
// will be run again, unless that happened lately.
func (m *mistakes) find(w *World, kind, prop int) bool {
	if m.tracing {
		return true
	}
	for i := range m.searched {
		x := &m.searched[i]
		if x.phase == w.phase && x.kind == kind && x.prop == prop {
			if w.now >= x.last+searchEvery {
				x.last, m.wanted = w.now, true
			}
			return false
		}
	}
	m.searched, m.wanted = append(m.searched, mistake{w.phase, kind, prop, w.now}), true
	return false
}

// late reports whether players see what is done to a kind later than its author may have meant:
// clients draw it in the past without its author having said so.
func (w *World) late(s *Store) bool {
	return s.schema.Ahead == schema.Playout && !s.kind.Playout && !s.kind.Extrapolated
}

// noteWrite notes that a callback changed an entity that no client predicts from a to b. It is what
// commands do to other avatars, and to what they look at as their player saw it.
func (m *mistakes) noteWrite(w *World, s *Store, e *entity, a, b []int64) {
	if w.phase != acting && w.phase != stepping || !w.late(s) || w.looked&(1<<s.index) != 0 || s.any(w.avatar) != nil {
		return
	}
	for i := range s.schema.Props {
		p := &s.schema.Props[i]
		from, to := p.At, p.At+p.Comps
		if p.ObsAt < 0 || slices.Equal(a[from:to], b[from:to]) || !m.find(w, s.index, i) {
			continue
		}
		m.say("game: " + w.phase.String() + " writes " + s.schema.Name + "." + p.Name + m.at(e.id) +
			", which has no effect in a client, as it does not predict any " + s.schema.Name +
			": declare the kind with game.Predicted or game.Near, or with game.Playout if that is meant")
	}
}

// noteSpawn notes that a callback spawned what a client cannot.
func (m *mistakes) noteSpawn(w *World, s *Store) {
	if s.kind.Playout || !m.find(w, s.index, -1) {
		return
	}
	text := "game: " + w.phase.String() + " spawns a " + s.schema.Name + place(caller())
	switch {
	case w.phase == stepping:
		text += ", which clients do not predict: spawn it in Act, or in Referee, which the server runs alone"
	case w.late(s):
		text += ", which players see a round trip later: declare the kind with game.Predicted or game.Near, " +
			"or with game.Playout if that is meant"
	default:
		return
	}
	m.say(text)
}

// noteReach notes the line of a callback that reaches for an entity.
func (m *mistakes) noteReach(id ID) { m.reached = append(m.reached, reach{id, caller()}) }

// at is " at " and the line that reached for an entity first, "" if it is not known.
func (m *mistakes) at(id ID) string {
	for _, r := range m.reached {
		if r.id == id {
			return place(r.line)
		}
	}
	return ""
}

func place(line string) string {
	if line == "" {
		return ""
	}
	return " at " + line
}

// caller returns the line of the game's rules that called the engine.
func caller() string { return fault.Line("internal/engine", "game") }
