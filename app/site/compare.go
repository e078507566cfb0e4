package site

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
	"meanwhile/server"
)

// What follows where the same inputs meet other settings or other rules: two worlds are compared
// tick by tick.

// A state is a whole world after a tick, in integers, as --states prints it.
type state struct {
	Tick     clock.Tick    `json:"tick"`
	Time     clock.Time    `json:"time"`
	Entities []entityState `json:"entities"`
	Players  []playerState `json:"players"`
	Events   []uint64      `json:"events"` // of each kind, so far; nil: not known
}

type entityState struct {
	ID   game.ID `json:"id"`
	Kind int     `json:"kind"`
	Sims []int64 `json:"sims"`
}

type playerState struct {
	ID     server.PlayerID    `json:"id"`
	Avatar game.ID            `json:"avatar"`
	Stats  server.PlayerStats `json:"stats"`
}

// stateOf returns the state of a server.
func stateOf(srv *server.Server, events []uint64) *state {
	s := &state{Tick: srv.Tick(), Time: srv.Now(), Events: slices.Clone(events)}
	eng := srv.Engine()
	eng.States(func(_ string, id game.ID, _ any) bool {
		kind, sims := eng.Sims(id)
		s.Entities = append(s.Entities, entityState{id, kind, slices.Clone(sims)})
		return true
	})
	for _, id := range srv.Players(nil) {
		stats, _ := srv.Stats(id)
		s.Players = append(s.Players, playerState{id, srv.Avatar(id), stats})
	}
	return s
}

func (s *state) byID() map[game.ID]*entityState {
	m := make(map[game.ID]*entityState, len(s.Entities))
	for i := range s.Entities {
		m[s.Entities[i].ID] = &s.Entities[i]
	}
	return m
}

const (
	// apartEvery is the time between two lines about how far worlds are apart.
	apartEvery = time.Second
	// maxParting is how many differences of the first other tick are named.
	maxParting = 8
)

// A comparison is of two worlds that get the same inputs.
type comparison struct {
	rules *game.Rules
	print func(row map[string]any, format string, args ...any)

	from    clock.Time // of the first tick that is replayed
	parted  clock.Tick // the first tick with another state; 0: none
	last    clock.Time // of the newest line
	was, is *state     // the newest two; nil: nothing was compared
	// events of each kind before the first tick that was compared
	wasEvents, isEvents []uint64
}

// add compares the states of both worlds after a tick.
func (c *comparison) add(was, is *state) {
	if c.is == nil {
		c.wasEvents, c.isEvents = was.Events, is.Events
	}
	c.was, c.is = was, is
	if c.parted == 0 {
		if !c.part() {
			return
		}
		c.parted = is.Tick
		c.line()
		return
	}
	if is.Time.Sub(c.last) >= apartEvery {
		c.line()
	}
}

// part names the first differences, and reports whether there are any.
func (c *comparison) part() bool {
	named := 0
	name := func(row map[string]any, format string, args ...any) {
		if named++; named > maxParting {
			return
		}
		row["what_if"], row["tick"] = "parts", c.is.Tick
		c.print(row, "tick %d  "+format, append([]any{c.is.Tick}, args...)...)
	}
	was, is := c.was.byID(), c.is.byID()
	for i := range c.is.Entities {
		e := &c.is.Entities[i]
		title := c.rules.Kinds[e.Kind].Name
		before := was[e.ID]
		if before == nil || before.Kind != e.Kind || len(before.Sims) != len(e.Sims) {
			name(map[string]any{"entity": e.ID, "kind": title, "new": true}, "%s %d is there, and was not", title, e.ID)
			continue
		}
		c.rules.Kinds[e.Kind].Differ(before.Sims, e.Sims, func(p *schema.Prop, x, y []float64) {
			a, b := valueText(p, x, before.Sims), valueText(p, y, e.Sims)
			name(map[string]any{"entity": e.ID, "kind": title, "property": p.Name, "was": a, "is": b},
				"%s of %s %d is %s, and was %s", p.Name, title, e.ID, b, a)
		})
	}
	for i := range c.was.Entities {
		e := &c.was.Entities[i]
		if after := is[e.ID]; after == nil || after.Kind != e.Kind {
			title := c.rules.Kinds[e.Kind].Name
			name(map[string]any{"entity": e.ID, "kind": title, "gone": true}, "%s %d was there, and is not", title, e.ID)
		}
	}
	if named > maxParting {
		c.print(map[string]any{"what_if": "more", "tick": c.is.Tick, "differences": named - maxParting},
			"tick %d  and %d differences more", c.is.Tick, named-maxParting)
	}
	return named > 0
}

// valueText returns the value of a property for a person.
func valueText(p *schema.Prop, v []float64, sims []int64) string {
	if p.Class == schema.Text {
		return strconv.Quote(string(p.AppendText(nil, sims)))
	}
	var s []string
	for _, x := range v {
		s = append(s, strconv.FormatFloat(math.Round(x*1000)/1000, 'f', -1, 64))
	}
	return strings.Join(s, " ")
}

// line prints how far the worlds are apart.
func (c *comparison) line() {
	was, is := c.was.byID(), c.is.byID()
	sum, most, n, added, gone, other := 0.0, 0.0, 0, 0, 0, 0
	var whose *entityState
	for i := range c.is.Entities {
		e := &c.is.Entities[i]
		before := was[e.ID]
		if before == nil || before.Kind != e.Kind || len(before.Sims) != len(e.Sims) {
			added++
			continue
		}
		if !slices.Equal(before.Sims, e.Sims) {
			other++
		}
		k := c.rules.Kinds[e.Kind]
		a, ok := k.PlaceOf(k.AppendExact(nil, nil, before.Sims, 65536))
		b, _ := k.PlaceOf(k.AppendExact(nil, nil, e.Sims, 65536))
		if !ok {
			continue
		}
		d := b.Sub(a).Len()
		n++
		if sum += d; whose == nil || d > most {
			most, whose = d, e
		}
	}
	for i := range c.was.Entities {
		e := &c.was.Entities[i]
		if after := is[e.ID]; after == nil || after.Kind != e.Kind {
			gone++
		}
	}
	c.last = c.is.Time
	row := map[string]any{"what_if": "apart", "tick": c.is.Tick, "time_s": c.seconds(), "entities": n, "other": other,
		"mean_m": sum / max(float64(n), 1), "most_m": most, "only_before": gone, "only_now": added}
	text := ""
	if whose != nil && most > 0 {
		row["farthest"] = whose.ID
		text = fmt.Sprintf(", %s %d", c.rules.Kinds[whose.Kind].Name, whose.ID)
	}
	c.print(
		row,
		"tick %d  %.3f s  %d entities differ, %.2f m apart in the mean, %.2f m at most%s; %d were there, %d are new",
		c.is.Tick,
		c.seconds(),
		other,
		sum/max(float64(n), 1),
		most,
		text,
		gone,
		added,
	)
}

func (c *comparison) seconds() float64 { return c.is.Time.Sub(c.from).Seconds() }

// end prints what differs in the newest tick that both worlds have: what players' avatars count,
// their shots, and events.
func (c *comparison) end() {
	if c.parted != 0 && c.last != c.is.Time {
		c.line()
	}
	was, is := c.was.byID(), c.is.byID()
	for i := range c.is.Players {
		p := &c.is.Players[i]
		at := slices.IndexFunc(c.was.Players, func(q playerState) bool { return q.ID == p.ID })
		if at < 0 {
			continue
		}
		a, b := &c.was.Players[at].Stats, &p.Stats
		text := ""
		differ := map[string]any{}
		x, y := was[c.was.Players[at].Avatar], is[p.Avatar]
		if x != nil && y != nil && x.Kind == y.Kind && len(x.Sims) == len(y.Sims) {
			c.rules.Kinds[y.Kind].Differ(x.Sims, y.Sims, func(q *schema.Prop, v, w []float64) {
				if counts(q) {
					differ[q.Name] = [2]string{valueText(q, v, x.Sims), valueText(q, w, y.Sims)}
					text += fmt.Sprintf("  %s %s, %s", q.Name, valueText(q, v, x.Sims), valueText(q, w, y.Sims))
				}
			})
		}
		c.print(map[string]any{"what_if": "player", "player": p.ID, "was": a, "is": b, "properties": differ},
			"player %d  judged %d, %d  clamped %d, %d  agreed %d, %d  disagreed %d, %d%s", p.ID, a.Judged, b.Judged, a.Clamped,
			b.Clamped, a.Agreed, b.Agreed, a.Disagreed, b.Disagreed, text)
	}
	for i, e := range c.rules.Events {
		if i >= len(c.was.Events) || i >= len(c.is.Events) {
			break
		}
		if a, b := c.was.Events[i]-c.wasEvents[i], c.is.Events[i]-c.isEvents[i]; a != b {
			c.print(map[string]any{"what_if": "event", "event": e.Name, "was": a, "is": b}, "event %s  %d, %d", e.Name, a, b)
		}
	}
}

// counts reports whether a property counts something, such as a score.
func counts(p *schema.Prop) bool {
	return p.Class == schema.Int || p.Class == schema.Enum || p.Class == schema.Bool
}

// Another program replays the same file, for the worlds that its rules make.
type against struct {
	name   string
	rules  *game.Rules
	cmd    *exec.Cmd
	out    *json.Decoder
	stderr bytes.Buffer
	ended  bool
}

// startAgainst begins to read the worlds of another program's replay, from a tick to another.
func startAgainst(
	ctx context.Context, rules *game.Rules, program, file string, from, to clock.Tick,
) (*against, error) {
	a := &against{name: program, rules: rules}
	a.cmd = exec.CommandContext(
		ctx,
		program,
		"replay",
		file,
		"--states",
		"--at",
		fmt.Sprint(from),
		"--until",
		fmt.Sprint(to),
	)
	a.cmd.Stderr = &a.stderr
	out, err := a.cmd.StdoutPipe()
	if err == nil {
		err = a.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("--against %s: %w", program, err)
	}
	a.out = json.NewDecoder(out)
	return a, nil
}

// next returns the next world.
func (a *against) next() (*state, error) {
	s := &state{}
	err := a.out.Decode(s)
	if slices.ContainsFunc(s.Entities, func(e entityState) bool { return e.Kind < 0 || e.Kind >= len(a.rules.Kinds) }) {
		err = errors.New("it is of another game")
	}
	if err != nil {
		a.stop()
		text, _, _ := strings.Cut(strings.TrimSpace(a.stderr.String()), "\n")
		if text == "" {
			text = err.Error()
		}
		return nil, fmt.Errorf("--against %s: its replay ended early: %s", a.name, text)
	}
	return s, nil
}

// end waits for the program, which has printed its last world. A nil against does nothing.
func (a *against) end() error {
	if a == nil {
		return nil
	}
	err := a.cmd.Wait()
	if a.ended = true; err == nil {
		return nil
	}
	text, _, _ := strings.Cut(strings.TrimSpace(a.stderr.String()), "\n")
	return fmt.Errorf("--against %s: it does not replay what was recorded: %s: %w", a.name, text, err)
}

// stop ends the program where it is not needed any more.
func (a *against) stop() {
	if !a.ended {
		a.ended = true
		_ = a.cmd.Cancel()
		_ = a.cmd.Wait()
	}
}
