package journal

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"meanwhile/game"
	"meanwhile/host/freeze"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/server"
	"meanwhile/session"
)

const (
	// checkpointEvery is the time between two checkpoints, as ticks last as a rule.
	checkpointEvery = 30 * time.Second
	// flushEvery is the same between two blocks of the log.
	flushEvery = 100 * time.Millisecond
	// sumEvery is after how many ticks the sum of a tick has the whole world in it, beside what was
	// sent.
	sumEvery = 32
)

// A Server is a server.Server whose calls are recorded. Whoever calls it in any other way than
// through this type, except to read, makes the record useless.
type Server struct {
	*server.Server

	header Header
	put    func(Chunk) bool // nil: nothing is recorded
	form   *freeze.Form
	size   int // of the last checkpoint
	notes  map[server.PlayerID][]byte
	gone   map[server.PlayerID]*engine.Record // of players who were disconnected since End

	on      bool // entries are written down
	log     scribe
	ended   clock.Tick // the newest tick that is complete
	flushed clock.Tick // the newest that was put
	checked clock.Tick // that of the newest checkpoint, or of the newest try
	period  time.Duration
	lost    error // why nothing is recorded until the next checkpoint

	encoded atomic.Bool   // since Begin
	sum     atomic.Uint64 // of the tick's datagrams

	mu    sync.Mutex
	beats []beat
}

// A beat is a call of Server.Beat.
type beat struct {
	id   server.PlayerID
	at   clock.Time
	size int
}

// New opens a world. put gets the chunks, in order, between ticks: it must not wait, and returns
// false if it has no room; nothing is recorded from then on until the next checkpoint. A nil put
// records nothing.
func New(rules *game.Rules, cfg server.Config, h Header, put func(Chunk) bool) (*Server, error) {
	srv, err := server.New(rules, cfg)
	if err != nil {
		return nil, err
	}
	s := Record(srv, cfg, h, nil, put)
	s.begin()
	return s, nil
}

// Record goes on recording a world that Restore returned, with the notes that it had. The first
// chunk is a checkpoint.
func Record(srv *server.Server, cfg server.Config, h Header, notes map[server.PlayerID][]byte,
	put func(Chunk) bool) *Server {
	rules := srv.Rules()
	h.Format, h.Settings = fmt.Sprintf(format, version), settingsOf(&cfg)
	h.Game, h.Hash, h.Text = rules.Name, rules.Hash, rules.Text
	s := &Server{Server: srv, header: h, put: put, notes: map[server.PlayerID][]byte{},
		gone: map[server.PlayerID]*engine.Record{}, ended: srv.Tick()}
	maps.Copy(s.notes, notes)
	if put != nil {
		s.form, _ = formOf(srv) // now and not in a tick; freeze reports what is wrong
	}
	return s
}

// begin records from the first tick on, without a checkpoint.
func (s *Server) begin() {
	if s.put != nil {
		s.on = s.putHeader()
		s.restart()
	}
}

// Lost returns why nothing is recorded at present; nil if all is, or nothing is to be.
func (s *Server) Lost() error { return s.lost }

func (s *Server) putHeader() bool {
	b, err := json.Marshal(&s.header)
	return err == nil && s.put(Chunk{Kind: KindHeader, tick: s.ended, time: s.Now(), Payload: b})
}

// restart begins a block that needs nothing of those before.
func (s *Server) restart() {
	s.log = scribe{}
	s.flushed, s.checked, s.period, s.lost = s.ended, s.ended, 0, nil
	clear(s.gone) // their players are in an earlier block
}

// Checkpoint puts everything that the world is, between End and the next Begin, once the caller has
// called Faults and Ends. Recording begins anew with it where it had ended.
func (s *Server) Checkpoint() error {
	if s.put == nil {
		return nil
	}
	s.flush()
	s.checked = s.ended
	c, err := s.freeze()
	switch {
	case err != nil:
	case !s.putHeader() || !s.put(c):
		err = errNoRoom
	default:
		s.on = true
		s.restart()
		s.header.Restarts = 0
		return nil
	}
	s.on, s.lost = false, err
	return err
}

// freeze returns a checkpoint.
func (s *Server) freeze() (Chunk, error) {
	if s.form == nil {
		var err error
		if s.form, err = formOf(s.Server); err != nil {
			return Chunk{}, err
		}
	}
	w := scribe{b: make([]byte, 0, s.size+s.size/8)}
	w.number(uint64(len(s.notes)))
	for _, id := range slices.Sorted(maps.Keys(s.notes)) {
		w.number(uint64(id))
		w.bytes(s.notes[id])
	}
	b, err := s.frozen(w.b)
	s.size = len(b)
	return Chunk{Kind: KindCheckpoint, tick: s.ended, time: s.Now(), Payload: b}, err
}

// frozen appends the frozen world to dst. A panic, such as of a map of a game with NaN as a key, is
// an error: it must not end a room that can be played.
func (s *Server) frozen(dst []byte) (b []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			b, err, s.form = dst, fmt.Errorf("journal: the world cannot be written: %v", v), nil
		}
	}()
	return s.form.Freeze(dst, s.Server)
}

// formOf returns the form of checkpoints of a world.
func formOf(srv *server.Server) (*freeze.Form, error) {
	rules := srv.Rules()
	var samples []any
	for _, ofRoom := range []bool{false, true} {
		if saved := rules.Saved(ofRoom); saved != nil {
			samples = append(samples, saved.NewRecord(false))
		}
	}
	return freeze.New(srv, rules, samples...)
}

// Moved returns another server of the rules in the state that from is in between two ticks.
func Moved(rules *game.Rules, from *server.Server) (*server.Server, error) {
	fresh, err := server.New(rules, server.Config{})
	if err != nil {
		return nil, err
	}
	form, err := formOf(fresh)
	if err != nil {
		return nil, err
	}
	frozen, err := form.Freeze(nil, from)
	if err != nil {
		return nil, err
	}
	return fresh, form.Thaw(frozen, fresh)
}

// flush puts the entries since the last block.
func (s *Server) flush() {
	if !s.on || len(s.log.b) == 0 {
		return
	}
	if !s.put(Chunk{Kind: KindLog, tick: s.ended, time: s.Now(), Payload: s.log.b}) {
		s.on, s.lost = false, errNoRoom
	}
	s.log = scribe{b: make([]byte, 0, len(s.log.b)+len(s.log.b)/4)}
	s.flushed = s.ended
}

// Note keeps a few bytes about a player, or about the room for id 0, in the journal: the newest of
// each are in every checkpoint, and Restore returns them. Those of a player go with it.
func (s *Server) Note(id server.PlayerID, note []byte) {
	if s.put == nil {
		return
	}
	s.notes[id] = slices.Clone(note)
	if s.on {
		s.log.entry(entryNote)
		s.log.number(uint64(id))
		s.log.bytes(note)
	}
}

// Connect implements server.Server, as do the methods below.
func (s *Server) Connect(now clock.Time, name string) (server.PlayerID, session.Welcome, error) {
	id, w, err := s.Server.Connect(now, name)
	if s.on {
		s.log.entry(entryConnect)
		s.log.time(now)
		s.log.bytes([]byte(name))
		s.log.number(uint64(id))
	}
	return id, w, err
}

func (s *Server) Disconnect(id server.PlayerID) {
	if rec := s.Record(id); rec != nil {
		s.gone[id] = rec
	}
	delete(s.notes, id)
	s.Server.Disconnect(id)
	if s.on {
		s.log.entry(entryDisconnect)
		s.log.number(uint64(id))
	}
}

func (s *Server) Suspend(id server.PlayerID, now clock.Time) {
	s.Server.Suspend(id, now)
	if s.on {
		s.log.entry(entrySuspend)
		s.log.number(uint64(id))
		s.log.time(now)
	}
}

func (s *Server) Resume(id server.PlayerID, now clock.Time, kept bool) (session.Welcome, bool) {
	w, ok := s.Server.Resume(id, now, kept)
	if s.on {
		s.log.entry(entryResume)
		s.log.number(uint64(id))
		s.log.time(now)
		s.log.bool(kept)
	}
	return w, ok
}

func (s *Server) Receive(id server.PlayerID, arrival clock.Time, data []byte) {
	if s.on {
		s.log.entry(entryReceive)
		s.log.number(uint64(id))
		s.log.time(arrival)
		s.log.bytes(data)
	}
	s.Server.Receive(id, arrival, data)
}

func (s *Server) Dropped(id server.PlayerID, seq wire.Seq) {
	s.Server.Dropped(id, seq)
	if s.on {
		s.log.entry(entryDropped)
		s.log.number(uint64(id))
		s.log.number(uint64(seq))
	}
}

func (s *Server) SetLimits(id server.PlayerID, l server.Limits) (server.Limits, bool) {
	if s.on {
		s.log.entry(entryLimits)
		s.log.number(uint64(id))
		s.log.signed(int64(l.Budget))
		s.log.signed(int64(l.Send))
		s.log.span(l.Rewind)
		s.log.span(l.RewindTotal)
	}
	return s.Server.SetLimits(id, l)
}

func (s *Server) SetRecord(id server.PlayerID, rec *engine.Record) {
	if s.on {
		s.log.entry(entryRecord)
		s.log.number(uint64(id))
		s.recordOf(rec)
	}
	s.Server.SetRecord(id, rec)
}

// recordOf writes a record: its player, if one has it already, or its content.
func (s *Server) recordOf(rec *engine.Record) {
	for id, r := range s.gone { // unordered: a record is that of one of them at most
		if r == rec {
			s.log.number(uint64(id))
			return
		}
	}
	for _, id := range s.Players(nil) {
		if rec != nil && s.Record(id) == rec {
			s.log.number(uint64(id))
			return
		}
	}
	s.log.number(0)
	s.log.record(rec)
}

// record writes the content of a record.
func (s *scribe) record(rec *engine.Record) {
	if rec == nil {
		s.number(0)
		s.bytes(nil)
		s.bytes(nil)
		return
	}
	v, lasts := rec.Whole()
	b, err := json.Marshal(v)
	if err != nil { // it came from JSON, so this is a value that rules wrote, such as NaN
		b = nil
	}
	s.bool(lasts)
	s.bytes(b)
	s.bytes([]byte(rec.Mark()))
}

func (s *Server) SetRoomRecord(rec *engine.Record) {
	if s.on {
		s.log.entry(entryRoomRecord)
		s.log.record(rec)
	}
	s.Server.SetRoomRecord(rec)
}

func (s *Server) SetPeriod(d time.Duration) {
	if s.on && d != s.period {
		s.log.entry(entryPeriod)
		s.log.span(d)
		s.period = d
	}
	s.Server.SetPeriod(d)
}

func (s *Server) Begin(now clock.Time) {
	s.encoded.Store(false)
	s.sum.Store(0)
	if s.on {
		s.log.entry(entryBegin)
		s.log.time(now)
	}
	s.Server.Begin(now)
}

// Beat may run beside Begin. It is written down with the end of the tick: the rules do not touch
// what it changes.
func (s *Server) Beat(id server.PlayerID, now clock.Time, size int) bool {
	ok := s.Server.Beat(id, now, size)
	if s.put != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.beats = append(s.beats, beat{id, now, size})
	}
	return ok
}

func (s *Server) LeaveAt(now clock.Time) {
	if s.on {
		s.log.entry(entryLeave)
		s.log.time(now)
	}
	s.Server.LeaveAt(now)
}

func (s *Server) Encode(from, to int, out *server.Outbox) {
	before := out.Len()
	s.Server.Encode(from, to, out)
	s.encoded.Store(true)
	if s.on {
		s.sum.Add(sumOut(out, before))
	}
}

// sumOut returns the sum of the datagrams of an outbox from one on. Sums of parts make up that of
// all.
func sumOut(out *server.Outbox, from int) (sum uint64) {
	var to [4]byte
	for i := from; i < out.Len(); i++ {
		id, data := out.At(i)
		binary.LittleEndian.PutUint32(to[:], uint32(id))
		part := crc32.Update(crc32.Checksum(to[:], castagnoli), castagnoli, data)
		sum += uint64(part)*0x9e3779b97f4a7c15 + uint64(len(data))
	}
	return sum
}

// sumTick completes the sum of a tick, before End.
func sumTick(srv *server.Server, sent uint64) uint64 {
	if srv.Tick()%sumEvery == 0 {
		return sent + srv.Engine().Sum()
	}
	return sent
}

func (s *Server) End() {
	s.mu.Lock()
	for _, b := range s.beats {
		if s.on {
			s.log.entry(entryBeat)
			s.log.number(uint64(b.id))
			s.log.time(b.at)
			s.log.number(uint64(b.size))
		}
	}
	s.beats = s.beats[:0] // also where nothing is recorded: later they would be of another tick
	s.mu.Unlock()
	if s.on {
		s.log.entry(entryEnd)
		s.log.bool(s.encoded.Load())
		s.log.b = binary.LittleEndian.AppendUint64(s.log.b, sumTick(s.Server, s.sum.Load()))
	}
	s.Server.End()
	s.ended = s.Tick()
	clear(s.gone)
	if s.on && s.ticks(flushEvery, s.flushed) {
		s.flush()
	}
}

// Due reports whether the next checkpoint is due.
func (s *Server) Due() bool { return s.put != nil && s.ticks(checkpointEvery, s.checked) }

// ticks reports whether some time has gone by since a tick, as ticks last as a rule.
func (s *Server) ticks(d time.Duration, since clock.Tick) bool {
	return time.Duration(s.ended-since)*s.Period() >= d
}

// Flush puts what was recorded so far, when a world ends.
func (s *Server) Flush() { s.flush() }
