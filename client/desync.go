package client

import (
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/engine"
	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
)

const (
	// maxDesyncs is how many wrong predictions are kept; the oldest are forgotten first.
	maxDesyncs = 64
	// touchRange is how near something must be, from place to place in metres, to be blamed for a
	// wrong prediction.
	touchRange = 2.5
)

// desyncs keeps the newest wrong predictions, to be read by whoever wants to know why.
type desyncs struct {
	own  *reconcile
	ring [maxDesyncs]desync
	n    int // so many were noted since New

	starved int  // ticks without a command since the newest state of the avatar that was compared
	late    bool // a command came late since then

	vals []float64
}

// A desync is a prediction that the server contradicted.
type desync struct {
	tick      clock.Tick
	id        game.ID
	kind      int
	predicted []int64 // simulation integers of the entity after the tick
	server    []int64 // empty: the server does not have the entity
	command   []int64 // with which the tick was predicted
	cause     cause
	starved   int
	by        game.ID // touched it, with the kind byKind
	byKind    int
}

// cause is why a prediction was wrong, as far as a client can judge.
type cause uint8

const (
	byServer   cause = iota // nothing that the client knows of
	byStarving              // the server had no command, and repeated the movement of the one before
	byLateness              // a command came late: its presses ran later, and its movement never
	byRefusal               // the server spawned nothing, or removed it
	byImpurity              // the rules were seen to be impure
	byTeleport              // the server teleported it
	byTouch                 // something else was near
)

// feedback notes what the server said about commands: how many more ticks had none, and whether one
// came late.
func (d *desyncs) feedback(starved uint8, late bool) {
	d.starved += int(starved)
	d.late = d.late || late
}

// compared begins anew to look at commands, as a state of the avatar was compared.
func (d *desyncs) compared() { d.starved, d.late = 0, false }

// differ notes in what the server's state after tick t differs from the prediction.
func (d *desyncs) differ(t clock.Tick, server *engine.Set) {
	r := d.own
	predicted := r.ring.State(t)
	if predicted == nil {
		return
	}
	for i := range server.Members {
		m := &server.Members[i]
		k := r.rules.Kinds[m.Kind]
		if got := predicted.Find(m.ID); got != nil && got.Kind == m.Kind &&
			!r.agrees(k, predicted.Of(got, k), server.Of(m, k)) {
			d.note(t, predicted, got, server.Of(m, k), m.Cut > got.Cut)
		}
	}
	for i := range predicted.Members {
		if m := &predicted.Members[i]; m.ID != r.me && m.Gone == 0 && r.over(m) {
			d.note(t, predicted, m, nil, false)
		}
	}
}

// note notes that the prediction of m was wrong at a tick, unless that is known. cut: the server
// teleported it.
func (d *desyncs) note(t clock.Tick, predicted *engine.Set, m *engine.Member, server []int64, cut bool) {
	for i := range min(d.n, maxDesyncs) {
		if x := &d.ring[i]; x.id == m.ID && (x.tick == t || server == nil && len(x.server) == 0) {
			return
		}
	}
	r := d.own
	k := r.rules.Kinds[m.Kind]
	if d.n == 0 {
		d.reserve()
	}
	x := &d.ring[d.n%maxDesyncs]
	d.n++
	x.tick, x.id, x.kind, x.starved = t, m.ID, m.Kind, d.starved
	x.predicted = append(x.predicted[:0], predicted.Of(m, k)...)
	x.server = append(x.server[:0], server...)
	x.command = x.command[:0]
	if cmd := r.ring.Command(t); cmd != nil {
		x.command = append(x.command, cmd.Vals...)
	}
	mine := m.ID == r.me
	switch x.by = 0; {
	case server == nil:
		x.cause = byRefusal
	case mine && d.starved > 0:
		x.cause = byStarving
	case mine && (d.late || t > r.up.acked):
		x.cause = byLateness
	case r.eng.Impure(m.Kind):
		x.cause = byImpurity
	case cut:
		x.cause = byTeleport
	default:
		x.cause = byServer
		if d.nearest(x, predicted, k, server); x.by != 0 {
			x.cause = byTouch
		}
	}
}

// reserve makes room for all that the ring can have, at once: later notes allocate nothing.
func (d *desyncs) reserve() {
	most := 0
	for _, k := range d.own.rules.Kinds {
		most = max(most, k.Sims)
	}
	cmd := d.own.rules.Command.Sims
	room := make([]int64, maxDesyncs*(2*most+cmd))
	for i := range d.ring {
		x := &d.ring[i]
		x.predicted, room = room[:0:most], room[most:]
		x.server, room = room[:0:most], room[most:]
		x.command, room = room[:0:cmd], room[cmd:]
	}
}

// nearest blames whatever is nearest to an entity with a state, within touchRange.
func (d *desyncs) nearest(x *desync, predicted *engine.Set, k *schema.Kind, state []int64) {
	r := d.own
	if hasParent(k, state) {
		return
	}
	d.vals = k.AppendExact(d.vals[:0], nil, state, 65536)
	at, ok := k.PlaceOf(d.vals)
	if !ok {
		return
	}
	most := touchRange
	try := func(id game.ID, kind int) {
		other := r.rules.Kinds[kind]
		var to geom.Vec3
		if to, ok = other.PlaceOf(d.vals); !ok || id == x.id || other.Parent >= 0 &&
			d.vals[other.Props[other.Parent].At] != 0 {
			return
		}
		if far := to.Sub(at).Len(); far < most {
			most, x.by, x.byKind = far, id, kind
		}
	}
	for i := range predicted.Members {
		m := &predicted.Members[i]
		k := r.rules.Kinds[m.Kind]
		d.vals = k.AppendExact(d.vals[:0], nil, predicted.Of(m, k), 65536)
		try(m.ID, m.Kind)
	}
	for _, h := range r.store.Entities() {
		if !h.Exact {
			d.vals = r.rules.Kinds[h.Kind].AppendDrawn(d.vals[:0], r.play.newest(game.ID(h.ID)))
			try(game.ID(h.ID), h.Kind)
		}
	}
}

// Desyncs appends a text about each of the newest predictions that the server contradicted, at most
// 64 and the newest first: what was predicted and what the server said, the commands of both, and
// the likely cause.
func (c *Client) Desyncs(dst []string) []string {
	d := &c.own.desyncs
	for i := d.n - 1; i >= max(0, d.n-maxDesyncs); i-- {
		dst = append(dst, d.text(&d.ring[i%maxDesyncs]))
	}
	return dst
}

func (d *desyncs) text(x *desync) string {
	r := d.own
	k := r.rules.Kinds[x.kind]
	b := fault.Sprintf("tick %d: %s %d", x.tick, k.Name, x.id)
	if x.id == r.me {
		b += " (own avatar)"
	}
	if len(x.server) == 0 {
		b += " predicted, and not on the server"
	} else {
		k.Differ(x.predicted, x.server, func(p *schema.Prop, a, z []float64) {
			if p.Audience != schema.Server && p.Audience != schema.Kept {
				b += fault.Sprintf(", %s predicted as %v and on the server %v", p.Name, a, z)
			}
		})
	}
	cmd := r.rules.Command
	b += "; predicted with"
	if len(x.command) == cmd.Sims {
		vals := cmd.AppendExact(nil, nil, x.command, 65536)
		for i := range cmd.Props {
			if p := &cmd.Props[i]; !isZero(x.command[p.At : p.At+p.Comps]) {
				b += fault.Sprintf(" %s %v", p.Name, vals[p.At:p.At+p.Comps])
			}
		}
		if isZero(x.command) {
			b += " an idle command"
		}
	} else {
		b += " no command"
	}
	return b + d.reason(x)
}

func isZero(vals []int64) bool {
	for _, v := range vals {
		if v != 0 {
			return false
		}
	}
	return true
}

// reason says what the server ran, and the likely cause.
func (d *desyncs) reason(x *desync) string {
	const same = "; the server ran the same, as far as is known; likely cause: "
	switch x.cause {
	case byStarving:
		return fault.Sprintf("; the server had no command for %d of the last ticks and repeated the movement of the "+
			"one before; likely cause: starved", x.starved)
	case byLateness:
		return "; a command came too late: its presses ran later, its movement never; likely cause: late"
	case byRefusal:
		if x.id.Foreseen() {
			return same + "the server refused the spawn"
		}
		return same + "the server removed it"
	case byImpurity:
		return same + "impure rules, see the report"
	case byTeleport:
		return same + "a teleport by the server"
	case byTouch:
		k := d.own.rules.Kinds[x.byKind]
		return same + fault.Sprintf("touched by %s %d", k.Name, x.by)
	}
	return same + "Referee, or another player's command"
}
