package journal

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"time"

	"meanwhile/game"
	"meanwhile/host/freeze"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/server"
	"meanwhile/session"
)

var errNoRoom = errors.New("journal: there was no room for it, as the disk is slow or full")

// A Replay computes again what was recorded.
type Replay struct {
	// Server is the world as of the newest Step, for reading.
	Server *server.Server
	// Notes are the newest of Server.Note.
	Notes map[server.PlayerID][]byte
	// Events counts the events of each kind in all ticks that were computed so far.
	Events []uint64
	// Differs is the first tick whose result was not the recorded one; nil: none so far.
	Differs *Difference

	f     *File
	rules *game.Rules
	cfg   server.Config
	next  int // chunk
	in    reader
	form  *freeze.Form
	gone  map[server.PlayerID]*engine.Record
	out   server.Outbox
	calls calls            // Server, or what records it
	put   func(Chunk) bool // see Again; nil: nothing is recorded
	again *Server
	other bool // rules or settings may be others than those of the recording; see WhatIf
	tuned *Tuning
	was   Tuning // the recorded settings, where tuned is set
}

// A Tuning is what a replay computes with in place of what was recorded: what if? Zero stands for
// what was recorded. The players do in it what they did, so it says what follows for them at once,
// and not how they would have played on.
type Tuning struct {
	Budget              int // bytes a second
	Rewind, RewindTotal time.Duration
}

// A Difference is a tick that a replay computed otherwise than it was recorded.
type Difference struct {
	Tick      clock.Tick
	Time      clock.Time
	sum, want uint64
}

func (d *Difference) Error() string {
	return fmt.Sprintf("journal: the replay differs from what was recorded from tick %d on (%.3f s)", d.Tick,
		time.Duration(d.Time).Seconds())
}

// A Tick is what one Step did.
type Tick struct {
	Tick      clock.Tick
	Time      clock.Time
	Datagrams int // sent
	Bytes     int
	Received  int    // datagrams
	Sum       uint64 // of all that was sent, and in some ticks of the world
	Same      bool   // Sum is the recorded one
	Again     bool   // a what-if went on with the recorded world, as WhatIf describes
	Faults    []error
}

// NewReplay returns a Replay that begins with the first tick of the file.
func NewReplay(rules *game.Rules, f *File) (*Replay, error) {
	if err := f.Header.check(rules); err != nil {
		return nil, err
	}
	r := &Replay{f: f, rules: rules, cfg: f.Header.Settings.Config()}
	return r, r.fresh()
}

// calls are the calls of a server that change it.
type calls interface {
	Connect(now clock.Time, name string) (server.PlayerID, session.Welcome, error)
	Disconnect(id server.PlayerID)
	Suspend(id server.PlayerID, now clock.Time)
	Resume(id server.PlayerID, now clock.Time, kept bool) (session.Welcome, bool)
	Receive(id server.PlayerID, arrival clock.Time, data []byte)
	Dropped(id server.PlayerID, seq wire.Seq)
	SetLimits(id server.PlayerID, l server.Limits) (server.Limits, bool)
	SetRecord(id server.PlayerID, rec *engine.Record)
	SetRoomRecord(rec *engine.Record)
	SetPeriod(d time.Duration)
	Begin(now clock.Time)
	Beat(id server.PlayerID, now clock.Time, size int) bool
	LeaveAt(now clock.Time)
	Encode(from, to int, out *server.Outbox)
	End()
}

// Again returns a Replay whose calls are recorded again, to measure what that costs. The file has
// no checkpoint.
func Again(rules *game.Rules, f *File, put func(Chunk) bool) (*Replay, error) {
	r, err := NewReplay(rules, f)
	if err != nil {
		return nil, err
	}
	r.put = put
	return r, r.fresh()
}

// Checkpoint makes a checkpoint of what Again records.
func (r *Replay) Checkpoint() error { return r.again.Checkpoint() }

// WhatIf returns a Replay with other settings, or rules that have changed since: a zero Tuning
// changes no setting. Its ticks differ from what was recorded; that is no Difference. Checkpoints
// on its way do not replace its world, but for the one after a crash or a gap: what happened to the
// world there is in no entry. Tick.Again says so.
func WhatIf(rules *game.Rules, f *File, t Tuning) (*Replay, error) {
	r, err := NewReplay(rules, f)
	if err != nil {
		return nil, err
	}
	if r.other = true; t == (Tuning{}) {
		return r, nil
	}
	was := r.cfg
	was.Budget = cmp.Or(was.Budget, server.DefaultBudget)
	was.Rewind, was.RewindTotal = cmp.Or(was.Rewind, server.DefaultRewind), cmp.Or(was.RewindTotal, server.MaxRewind)
	r.tuned = &Tuning{cmp.Or(t.Budget, was.Budget), cmp.Or(t.Rewind, was.Rewind), cmp.Or(t.RewindTotal, was.RewindTotal)}
	r.was = Tuning{was.Budget, was.Rewind, was.RewindTotal}
	changed := was
	changed.Budget, changed.Rewind, changed.RewindTotal = r.tuned.Budget, r.tuned.Rewind, r.tuned.RewindTotal
	if _, err := server.New(rules, changed); err != nil {
		return nil, err
	}
	return r, r.fresh()
}

// Recorded returns the world that was recorded at the newest tick, for reading, where the file has
// a checkpoint of it; nil: it has none.
func (r *Replay) Recorded() (*server.Server, error) {
	if len(r.in.b) > 0 || r.next >= len(r.f.chunks) {
		return nil, nil
	}
	s := r.f.chunks[r.next]
	if s.kind != KindCheckpoint || s.tick != r.Server.Tick() || s.revived {
		return nil, nil
	}
	was := Replay{f: &File{}, rules: r.rules, cfg: r.cfg, form: r.form}
	err := was.thaw(s)
	r.form = was.form
	return was.Server, err
}

// tune changes limits that were those of the recorded settings.
func (r *Replay) tune(l *server.Limits) {
	if r.tuned == nil {
		return
	}
	if l.Budget == r.was.Budget {
		l.Budget, l.Send = r.tuned.Budget, 0
	}
	if l.Rewind == r.was.Rewind {
		l.Rewind = r.tuned.Rewind
	}
	if l.RewindTotal == r.was.RewindTotal {
		l.RewindTotal = r.tuned.RewindTotal
	}
}

// fresh begins with a world in which nothing has happened.
func (r *Replay) fresh() (err error) {
	if r.Server, err = server.New(r.rules, r.cfg); err == nil && r.tuned != nil {
		r.Server.Retune(r.tuned.Budget, r.tuned.Rewind, r.tuned.RewindTotal)
	}
	r.calls = r.Server
	if r.Events == nil {
		r.Events = make([]uint64, len(r.rules.Events))
	}
	if err == nil && r.put != nil {
		r.again = Record(r.Server, r.cfg, Header{}, nil, r.put)
		r.again.begin()
		r.calls = r.again
	}
	r.Notes, r.gone = map[server.PlayerID][]byte{}, map[server.PlayerID]*engine.Record{}
	return err
}

// Seek goes to the end of a tick as fast as possible, forward or back: from the newest checkpoint
// before it.
func (r *Replay) Seek(tick clock.Tick) error {
	from := -1
	for i, s := range r.f.chunks {
		if s.kind == KindCheckpoint && s.tick <= tick {
			from = i
		}
	}
	switch {
	case from < 0 && len(r.f.chunks) > 0 && r.f.chunks[0].kind == KindCheckpoint:
		first, _, _ := r.f.Ends()
		return fmt.Errorf("journal: it begins with tick %d, after %d", first, tick)
	case from >= 0 && (tick < r.Server.Tick() || r.f.chunks[from].tick > r.Server.Tick()):
		if err := r.thaw(r.f.chunks[from]); err != nil {
			return err
		}
		r.next, r.in = from+1, reader{}
	case from < 0 && tick < r.Server.Tick():
		if err := r.fresh(); err != nil {
			return err
		}
		r.next, r.in = 0, reader{}
	}
	for r.Server.Tick() < tick {
		if _, err := r.Step(); err != nil {
			return err
		}
	}
	return nil
}

// thaw puts a checkpoint in place of the world.
func (r *Replay) thaw(s span) error {
	p, err := s.payload()
	if err != nil {
		return err
	}
	return r.thawBytes(p)
}

// thawBytes is thaw of the payload of a checkpoint.
func (r *Replay) thawBytes(p []byte) (err error) {
	if err := r.fresh(); err != nil {
		return err
	}
	in := reader{b: p}
	for range in.number() {
		id := server.PlayerID(in.number())
		note := in.bytes()
		if in.err != nil {
			return in.err
		}
		r.Notes[id] = slices.Clone(note) // the payload is large
	}
	if in.err != nil {
		return in.err
	}
	if r.form == nil {
		if r.form, err = formOf(r.Server); err != nil {
			return err
		}
	}
	if err = r.form.Thaw(in.b, r.Server); err == nil {
		err = sound(r.Server)
	}
	if err == nil && r.tuned != nil {
		r.Server.Retune(r.tuned.Budget, r.tuned.Rewind, r.tuned.RewindTotal)
	}
	return err
}

// sound returns an error unless a thawed server has an engine that rules can use.
func sound(srv *server.Server) error {
	e := srv.Engine()
	if e == nil {
		return fmt.Errorf("%w: a world without an engine", ErrMalformed)
	}
	if err := e.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return nil
}

// Step computes the next tick. It returns io.EOF at the end of the journal, and an error that
// Malformed wraps where the journal makes no sense; the world is then that of some tick before.
func (r *Replay) Step() (t Tick, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("journal: the world failed again in tick %d: %v\n%s", r.Server.Tick(), v, debug.Stack())
		}
	}()
	for {
		for len(r.in.b) == 0 {
			if err := r.load(&t); err != nil {
				return t, err
			}
		}
		ended, err := r.entry(&t)
		if err != nil {
			return t, err
		}
		if ended {
			t.Faults = r.end()
			return t, nil
		}
	}
}

// load begins the next chunk.
func (r *Replay) load(t *Tick) error {
	if r.next >= len(r.f.chunks) {
		return io.EOF
	}
	s := r.f.chunks[r.next]
	r.next++
	if s.kind == KindCheckpoint { // also where the replay is: after a crash players were suspended in it
		if r.other && s.tick == r.Server.Tick() && !s.revived {
			return nil
		}
		t.Again = r.other && r.Server.Tick() > 0
		return r.thaw(s)
	}
	p, err := s.payload()
	r.in = reader{b: p}
	return err
}

// entry makes the call of one entry, and reports whether it ended a tick.
func (r *Replay) entry(t *Tick) (ended bool, err error) {
	in, srv := &r.in, r.calls
	kind := in.entry()
	switch kind {
	case entryConnect:
		now, name := in.time(), in.bytes()
		want := server.PlayerID(in.number())
		if in.err != nil {
			break
		}
		if id, _, _ := srv.Connect(now, string(name)); id != want {
			return false, fmt.Errorf("%w: player %d was let in as %d", ErrMalformed, id, want)
		}
	case entryRoomRecord:
		s := r.rules.Saved(true)
		rec, err := in.record(s)
		if err != nil {
			return false, err
		}
		srv.SetRoomRecord(rec)
	case entryPeriod:
		if d := time.Duration(in.signed()); in.err == nil {
			srv.SetPeriod(d)
		}
	case entryBegin:
		if now := in.time(); in.err == nil {
			t.Time = now
			srv.Begin(now)
			t.Tick = r.Server.Tick()
		}
	case entryLeave:
		if now := in.time(); in.err == nil {
			srv.LeaveAt(now)
		}
	case entryEnd:
		encoded, want := in.number(), in.word()
		if in.err != nil {
			break
		}
		r.encode(t, encoded != 0, want)
		return true, nil
	default:
		return false, r.ofPlayer(kind, t)
	}
	return false, in.err
}

// ofPlayer makes the call of an entry that begins with a player.
func (r *Replay) ofPlayer(kind byte, t *Tick) error {
	in, srv := &r.in, r.calls
	id := server.PlayerID(in.number())
	switch kind {
	case entryDisconnect:
		if rec := r.Server.Record(id); rec != nil {
			r.gone[id] = rec
		}
		delete(r.Notes, id)
		srv.Disconnect(id)
	case entrySuspend:
		if now := in.time(); in.err == nil {
			srv.Suspend(id, now)
		}
	case entryResume:
		now, kept := in.time(), in.number()
		if in.err == nil {
			srv.Resume(id, now, kept != 0)
		}
	case entryReceive:
		at, data := in.time(), in.bytes()
		if in.err == nil {
			t.Received++
			srv.Receive(id, at, data)
		}
	case entryDropped:
		if seq := in.number(); in.err == nil {
			srv.Dropped(id, wire.Seq(seq))
		}
	case entryLimits:
		l := server.Limits{Budget: int(in.signed()), Send: int(in.signed()), Rewind: time.Duration(in.signed()),
			RewindTotal: time.Duration(in.signed())}
		if in.err == nil {
			r.tune(&l)
			srv.SetLimits(id, l)
		}
	case entryRecord:
		return r.record(id)
	case entryBeat:
		at, size := in.time(), in.number()
		if in.err == nil {
			srv.Beat(id, at, int(min(size, maxBeat)))
		}
	case entryNote:
		if note := in.bytes(); in.err == nil {
			r.Notes[id] = note
		}
	default:
		in.fail(fmt.Sprintf("there is no entry %d", kind))
	}
	return in.err
}

// maxBeat bounds a heartbeat, in bytes.
const maxBeat = 1 << 16

// record gives a player its record.
func (r *Replay) record(id server.PlayerID) error {
	in := &r.in
	if of := server.PlayerID(in.number()); of != 0 {
		rec := r.gone[of]
		if rec == nil {
			rec = r.Server.Record(of)
		}
		r.calls.SetRecord(id, rec)
		return in.err
	}
	rec, err := in.record(r.rules.Saved(false))
	if err == nil {
		r.calls.SetRecord(id, rec)
	}
	return err
}

// record reads the content of a record.
func (r *reader) record(s *engine.Saved) (*engine.Record, error) {
	lasts, b, mark := r.number(), r.bytes(), r.bytes()
	if r.err != nil || s == nil || b == nil && lasts == 0 {
		return nil, r.err
	}
	rec := s.NewRecord(lasts != 0)
	rec.SetMark(string(mark))
	if len(b) == 0 {
		return rec, nil
	}
	err := rec.Fill(func(into any) error { return json.Unmarshal(b, into) })
	if err != nil {
		return nil, fmt.Errorf("%w: a record: %w", ErrMalformed, err)
	}
	return rec, nil
}

// encode makes the datagrams of a tick and compares.
func (r *Replay) encode(t *Tick, encoded bool, want uint64) {
	srv := r.Server
	sum := uint64(0)
	if encoded {
		r.out.Reset()
		r.calls.Encode(0, srv.Clients(), &r.out)
		sum = sumOut(&r.out, 0)
		t.Datagrams = r.out.Len()
		for i := range r.out.Len() {
			_, data := r.out.At(i)
			t.Bytes += len(data)
		}
	}
	sum = sumTick(srv, sum)
	if t.Sum, t.Same = sum, sum == want; !t.Same && !r.other && r.Differs == nil {
		r.Differs = &Difference{t.Tick, t.Time, sum, want}
	}
	for i := range srv.Engine().Events() {
		r.Events[srv.Engine().Events()[i].Event]++
	}
}

// end completes a tick.
func (r *Replay) end() (faults []error) {
	r.calls.End()
	faults = r.Server.Faults()
	r.Server.Ends()
	clear(r.gone)
	return faults
}

// Restore returns a Replay that stands at the end of a journal: the world as it was after the last
// tick that was written down, which cannot step any further. It begins at the newest sound
// checkpoint. Where the log behind that leads to another result than was recorded, the world is
// that of the checkpoint, and why says so.
func Restore(rules *game.Rules, f *File) (r *Replay, why error) {
	r, err := NewReplay(rules, f)
	if err != nil {
		return nil, err
	}
	defer func() {
		if r != nil { // nobody steps on, and a file is large
			r.f, r.in = &File{Header: f.Header}, reader{}
		}
	}()
	for last := len(f.chunks); ; {
		from := last - 1
		for from >= 0 && f.chunks[from].kind != KindCheckpoint {
			from--
		}
		err := r.restore(from, len(f.chunks))
		if err == nil {
			return r, why
		}
		why = errors.Join(why, err)
		if from < 0 {
			return nil, why
		}
		if err := r.restore(from, from+1); err == nil { // the checkpoint without what followed
			return r, why
		}
		last = from
	}
}

// restore replays from a checkpoint, or from the start, up to a chunk.
func (r *Replay) restore(from, to int) error {
	all := r.f.chunks
	defer func() { r.f.chunks = all }()
	r.f.chunks = all[:to]
	r.next, r.in, r.Differs = from+1, reader{}, nil
	if from < 0 {
		if len(all) > 0 && all[0].kind == KindCheckpoint {
			return errors.New("journal: no checkpoint is sound")
		}
		if err := r.fresh(); err != nil {
			return err
		}
	} else if err := r.thaw(all[from]); err != nil {
		return err
	}
	for {
		_, err := r.Step()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case r.Differs != nil:
			return r.Differs
		}
	}
}
