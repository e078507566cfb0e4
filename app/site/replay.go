package site

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"meanwhile/app/internal/rerun"
	"meanwhile/game"
	"meanwhile/host"
	"meanwhile/host/journal"
	"meanwhile/netcode/clock"
)

// replayFlags are those of the command replay.
type replayFlags struct {
	File string `arg:"" help:"A journal, the folder of a room with several, or that of a report."`

	At    string `placeholder:"TICK|TIME" help:"Show the world at a tick, or at a time such as 12.5s after the first."`
	Until string `placeholder:"TICK|TIME" help:"Stop there."`

	Entity []uint32 `placeholder:"ID" help:"Show this entity."`
	Player []uint32 `placeholder:"N" help:"Show this player and its avatar."`
	All    bool     `help:"Show every entity."`
	Step   bool     `help:"Show every tick from --at on, not one."`
	JSON   bool     `name:"json" help:"Print JSON objects, one a line."`

	Kbit        int           `help:"What if: send each player at most so many kbit/s."`
	Rewind      time.Duration `help:"What if: judge shots by pictures at most so much older than the path asks for."`
	RewindTotal time.Duration `help:"What if: judge shots by pictures at most so old."`
	Against     string        `placeholder:"PROGRAM" help:"What if: compare with PROGRAM, which recorded it."`
	States      bool          `hidden:"" help:"Print whole worlds, for --against."`

	pageFlags
}

// page reports whether it is only asked for what a page drew.
func (o *replayFlags) page() bool { return o.Frame != "" || o.Picture != "" || len(o.Playout) > 0 }

// changes reports whether settings are to differ from what was recorded.
func (o *replayFlags) changes() bool { return o.Kbit != 0 || o.Rewind != 0 || o.RewindTotal != 0 }

// Replay is the command replay of a program called name: it replays a journal with the rules that
// find returns for the game in it. It returns the exit status: 1 if the replay differs from what
// was recorded, 2 for a file that it cannot replay.
func Replay(
	ctx context.Context, name string, find func(game string) (*game.Rules, error), args []string,
	stdout, stderr io.Writer,
) int {
	var o replayFlags
	about := "Replay what a room recorded, bit for bit."
	if _, code, done := Parse(&o, name+" replay", about, nil, args, stdout, stderr); done {
		return code
	}
	out := bufio.NewWriter(stdout)
	defer out.Flush()
	page, err := readLog(o.File)
	if err == nil && page == nil && o.page() {
		err = fmt.Errorf("%s has no log of a page, which --frame, --picture and --playout are about", o.File)
	}
	if err != nil {
		fmt.Fprintln(stderr, Sentence(name, err))
		return 2
	}
	r, err := openReplay(&o, find, page, out)
	if err != nil {
		fmt.Fprintln(stderr, Sentence(name, err))
		return 2
	}
	if r.page != nil {
		if err := r.page.run(); err != nil {
			out.Flush()
			fmt.Fprintln(stderr, Sentence(name, err))
			return 1
		}
	}
	if r.file == nil || r.page != nil && o.page() {
		return 0
	}
	if r.file.Torn != nil {
		fmt.Fprintln(stderr, Sentence(name, fmt.Errorf("the end is missing: %w", r.file.Torn)))
	}
	if r.changed {
		fmt.Fprintf(stderr, "%s: it was recorded by build %s of the program, and this is build %s: their rules may differ\n",
			name, r.file.Header.Build, host.Build())
	}
	if err = r.run(ctx); err != nil {
		out.Flush()
		fmt.Fprintln(stderr, Sentence(name, err))
		return 1
	}
	return 0
}

// replay is a replay that is printed.
type replay struct {
	o         *replayFlags
	file      *journal.File
	real      *journal.Replay
	other     *journal.Replay // what if; nil: nothing
	at, until clock.Tick
	first     clock.Tick
	out       *bufio.Writer
	page      *playback // of the player who reported; nil: nobody did

	// changed says that another build recorded it, so that its rules may differ: a what-if.
	changed bool
	differs *journal.Tick // the first tick that is not as it was recorded
	before  *against      // what recorded it; nil: not asked for
	compare comparison    // of what was recorded, or real, with real or other

	totals   [2]totals
	parted   *journal.Tick // the first tick in which other sent something else
	computed clock.Tick
	from, to clock.Time
}

// totals is what one replay did.
type totals struct{ datagrams, bytes, faults int }

func (s *totals) add(t journal.Tick) {
	s.datagrams += t.Datagrams
	s.bytes += t.Bytes
	s.faults += len(t.Faults)
}

// readJournal reads a file, or all journals of a folder.
func readJournal(path string) (files [][]byte, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		b, err := os.ReadFile(path)
		return [][]byte{b}, err
	}
	list, err := os.ReadDir(path) // by name
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(e os.DirEntry) bool { return !strings.HasSuffix(e.Name(), host.JournalSuffix) })
	if len(list) == 0 {
		return nil, fmt.Errorf("no journal is in %s: their names end in %s", path, host.JournalSuffix)
	}
	for _, e := range list {
		n := filepath.Join(path, e.Name())
		b, err := os.ReadFile(n)
		if err != nil {
			return nil, err
		}
		files = append(files, b)
	}
	return files, nil
}

// openReplay opens a journal, and the log of a page with it; or that alone, where the file is one.
func openReplay(
	o *replayFlags, find func(string) (*game.Rules, error), page *rerun.Log, out *bufio.Writer,
) (*replay, error) {
	r := &replay{o: o, out: out}
	if page != nil {
		rules, err := find(page.Header.Game)
		if err != nil {
			return nil, err
		}
		r.page = &playback{o: o, rules: rules, log: page, print: r.print}
		if info, err := os.Stat(o.File); err != nil || !info.IsDir() {
			return r, err
		}
	}
	files, err := readJournal(o.File)
	if err != nil {
		return nil, err
	}
	f, err := journal.Parse(files...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.File, err)
	}
	rules, err := find(f.Header.Game)
	if err != nil {
		return nil, err
	}
	r.file = f
	if r.page != nil {
		r.page.room = f
	}
	b := f.Header.Build
	r.changed = o.Against != "" || b != "" && b != host.Build()
	if r.changed {
		r.real, err = journal.WhatIf(rules, f, journal.Tuning{})
	} else {
		r.real, err = journal.NewReplay(rules, f)
	}
	if err != nil {
		return nil, err
	}
	r.compare = comparison{rules: rules, print: r.print}
	var last clock.Tick
	r.first, last, _ = f.Ends()
	if r.at, err = r.moment("--at", o.At, r.first); err != nil {
		return nil, err
	}
	if r.until, err = r.moment("--until", o.Until, last); err != nil {
		return nil, err
	}
	if o.At != "" && !o.Step && o.Until == "" {
		r.until = r.at
	}
	if r.at < r.first || r.until > last || r.at > r.until {
		return nil, fmt.Errorf("the journal has the ticks %d to %d, %v; from %d to %d is asked for", r.first, last,
			(time.Duration(last-r.first) * r.real.Server.Period()).Round(time.Millisecond), r.at, r.until)
	}
	if o.changes() && o.Against != "" {
		return nil, errors.New("--against compares rules: it does not go with other settings")
	}
	if o.changes() {
		r.other, err = journal.WhatIf(rules, f,
			journal.Tuning{Budget: o.Kbit * 1000 / 8, Rewind: o.Rewind, RewindTotal: o.RewindTotal})
	}
	return r, err
}

// moment reads a tick or a time since the first one.
func (r *replay) moment(flag, text string, otherwise clock.Tick) (clock.Tick, error) {
	if text == "" {
		return otherwise, nil
	}
	if n, err := strconv.ParseUint(text, 10, 32); err == nil {
		return clock.Tick(n), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%s %q is neither a tick nor a time such as 12.5s", flag, text)
	}
	return r.first + clock.Tick(d/r.real.Server.Period()), nil
}

// run replays and prints.
func (r *replay) run(ctx context.Context) error {
	began := time.Now()
	start := r.first - 1
	if r.o.At != "" {
		start = r.at - 1
	}
	if err := r.seek(start); err != nil {
		return err
	}
	r.from = r.real.Server.Now()
	r.compare.from = r.from
	if r.o.Against != "" {
		var err error
		if r.before, err = startAgainst(ctx, r.compare.rules, r.o.Against, r.o.File, start+1, r.until); err != nil {
			return err
		}
		defer r.before.stop()
	}
	for r.real.Server.Tick() < r.until && ctx.Err() == nil {
		if err := r.step(); err != nil {
			return err
		}
	}
	if err := r.before.end(); err != nil {
		return err
	}
	if r.o.States {
		return r.difference()
	}
	if r.o.At != "" || r.o.Step || r.o.Until != "" && r.shows() {
		if !r.o.Step && !r.show() {
			r.print(map[string]any{"tick": r.until, "found": false},
				"tick %d  none of these players and entities is there", r.until)
		}
		if r.real.Differs != nil {
			return r.real.Differs
		}
		if r.o.At != "" && r.other == nil && r.before == nil {
			return ctx.Err()
		}
	}
	r.summary(time.Since(began))
	return cmp.Or(r.difference(), ctx.Err())
}

// difference returns an error if the replay is not what was recorded.
func (r *replay) difference() error {
	switch {
	case r.differs == nil:
		return nil
	case r.real.Differs != nil:
		return r.real.Differs
	}
	return fmt.Errorf("the replay by this build differs from what was recorded from tick %d on", r.differs.Tick)
}

func (r *replay) shows() bool { return r.o.All || len(r.o.Entity) > 0 || len(r.o.Player) > 0 }

func (r *replay) seek(tick clock.Tick) error {
	if tick == 0 {
		return nil
	}
	if err := r.real.Seek(tick); err != nil {
		return err
	}
	if r.other != nil {
		return r.other.Seek(tick)
	}
	return nil
}

// step computes one tick.
func (r *replay) step() error {
	t, err := r.real.Step()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	if r.from == 0 {
		r.from, r.compare.from = t.Time, t.Time
	}
	r.to = t.Time
	r.computed++
	r.totals[0].add(t)
	if !t.Same && r.differs == nil {
		r.differs = &t
	}
	if t.Again && !r.o.States {
		r.print(map[string]any{"what_if": "again", "tick": t.Tick},
			"tick %d  the room was restored, or a part was not recorded: the replay goes on with the recorded world", t.Tick)
	}
	if err := r.worlds(); err != nil {
		return err
	}
	if r.other != nil {
		u, err := r.other.Step()
		if err != nil {
			return fmt.Errorf("with the other settings: %w", err)
		}
		r.totals[1].add(u)
		r.compare.add(stateOf(r.real.Server, r.real.Events), stateOf(r.other.Server, r.other.Events))
		if r.parted == nil && u.Sum != t.Sum {
			r.parted = &u
		}
	}
	if r.o.Step && t.Tick >= r.at {
		r.line(t)
		if r.shows() {
			r.show()
		}
	}
	return nil
}

// worlds compares the world with the recorded one, where that is known, and prints it for another
// program.
func (r *replay) worlds() error {
	srv := r.real.Server
	switch {
	case r.o.States:
		return json.NewEncoder(r.out).Encode(stateOf(srv, r.real.Events))
	case r.before != nil:
		was, err := r.before.next()
		if err != nil {
			return err
		}
		r.compare.add(was, stateOf(srv, r.real.Events))
	case r.changed && r.differs != nil && r.other == nil:
		was, err := r.real.Recorded()
		if err != nil || was == nil {
			return err
		}
		r.compare.add(stateOf(was, nil), stateOf(srv, nil))
	}
	return nil
}

// since returns the seconds from the first tick that is shown.
func (r *replay) since(t clock.Time) float64 { return t.Sub(r.from).Seconds() }

// print prints a line: an object as JSON, or else the text.
func (r *replay) print(row map[string]any, format string, args ...any) {
	if r.o.JSON {
		if b, err := json.Marshal(row); err == nil {
			_, _ = r.out.Write(append(b, '\n'))
		}
		return
	}
	fmt.Fprintf(r.out, format+"\n", args...)
}

// line prints what a tick did.
func (r *replay) line(t journal.Tick) {
	var faults []string
	for _, f := range t.Faults {
		faults = append(faults, f.Error())
	}
	r.print(map[string]any{"tick": t.Tick, "time_s": r.since(t.Time), "received": t.Received, "datagrams": t.Datagrams,
		"bytes": t.Bytes, "faults": faults},
		"tick %d  %.3f s  received %d, sent %d of %d bytes  %s", t.Tick, r.since(t.Time), t.Received, t.Datagrams, t.Bytes,
		strings.Join(faults, "; "))
}

// show prints the entities and players that are asked for, or everybody and how many entities there
// are. It reports whether any was there.
func (r *replay) show() bool {
	srv := r.real.Server
	tick := srv.Tick()
	avatars, found := map[game.ID]bool{}, false
	for _, id := range srv.Players(nil) {
		if r.shows() && !slices.Contains(r.o.Player, uint32(id)) {
			continue
		}
		stats, _ := srv.Stats(id)
		avatar := srv.Avatar(id)
		avatars[avatar], found = true, true
		r.print(map[string]any{"tick": tick, "player": id, "avatar": avatar, "stats": stats},
			"tick %d  player %d  avatar %d  rtt %v  starved %d  late %d  judged %d  clamped %d", tick, id, avatar,
			stats.RTT.Round(time.Millisecond), stats.Starved, stats.Late, stats.Judged, stats.Clamped)
	}
	counts := map[string]int{}
	var kinds []string
	srv.Engine().States(func(kind string, id game.ID, state any) bool {
		if counts[kind]++; counts[kind] == 1 {
			kinds = append(kinds, kind)
		}
		if r.o.All || slices.Contains(r.o.Entity, uint32(id)) || len(r.o.Player) > 0 && avatars[id] {
			found = true
			r.print(map[string]any{"tick": tick, "entity": id, "kind": kind, "state": state},
				"tick %d  %s %d  %s", tick, kind, id, strings.TrimPrefix(fmt.Sprintf("%+v", state), "&"))
		}
		return true
	})
	if r.shows() {
		return found
	}
	for _, k := range kinds {
		r.print(map[string]any{"tick": tick, "kind": k, "entities": counts[k]}, "tick %d  %d of kind %s", tick, counts[k], k)
	}
	return true
}

// summary prints what was replayed, and with other settings what they changed.
func (r *replay) summary(took time.Duration) {
	h := &r.file.Header
	span := r.to.Sub(r.from)
	speed := float64(span) / float64(max(took, 1))
	same := r.differs == nil
	r.print(map[string]any{"game": h.Game, "room": h.Settings.Room, "started": h.Started, "build": h.Build,
		"ticks": r.computed, "span_s": span.Seconds(), "same": same, "datagrams": r.totals[0].datagrams,
		"bytes": r.totals[0].bytes, "faults": r.totals[0].faults, "speed": speed},
		"%s, room %q, %d ticks, %v: %d datagrams of %d bytes, %d faults; %.0f times real time", h.Game, h.Settings.Room,
		r.computed, span.Round(time.Millisecond), r.totals[0].datagrams, r.totals[0].bytes, r.totals[0].faults, speed)
	switch {
	case r.other == nil:
		if r.changed && r.differs != nil {
			r.rulesDiffer()
		}
		return
	case r.parted == nil:
		r.print(map[string]any{"what_if": "same"}, "with the other settings every datagram is the same")
		return
	}
	r.print(map[string]any{"what_if": "differs", "tick": r.parted.Tick, "datagrams": r.totals[1].datagrams,
		"bytes": r.totals[1].bytes}, "with the other settings the first other tick is %d; %d datagrams of %d bytes",
		r.parted.Tick, r.totals[1].datagrams, r.totals[1].bytes)
	r.compare.end()
}

// rulesDiffer prints what other rules than the recorded ones change.
func (r *replay) rulesDiffer() {
	r.print(map[string]any{"what_if": "differs", "tick": r.differs.Tick, "time_s": r.since(r.differs.Time)},
		"with the rules of this build the first other tick is %d, %.3f s in", r.differs.Tick, r.since(r.differs.Time))
	if r.compare.is != nil {
		r.compare.end()
	}
	if r.before == nil {
		r.print(map[string]any{"what_if": "checkpoints"},
			"compared at the checkpoints of the log alone; --against PROGRAM, what recorded it, compares every tick")
	}
}

// rulesFor returns a find for Replay that knows one game.
func rulesFor(rules *game.Rules) func(string) (*game.Rules, error) {
	return func(name string) (*game.Rules, error) {
		if name != rules.Name {
			return nil, fmt.Errorf("it is of game %s, and this program plays %s", name, rules.Name)
		}
		return rules, nil
	}
}

// ReplayGame is Replay for the program of one game.
func ReplayGame(ctx context.Context, rules *game.Rules, args []string, stdout, stderr io.Writer) int {
	return Replay(ctx, rules.Name, rulesFor(rules), args, stdout, stderr)
}
