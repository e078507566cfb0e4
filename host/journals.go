package host

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"meanwhile/host/journal"
	"meanwhile/netcode/clock"
	"meanwhile/server"
	"meanwhile/session"
	"meanwhile/transport"
)

// What is on the disk of a room that outlasts a crash, in Config.Journal:
//
//	rooms/NAME.TIME/00000007.journal  the newest segments: a checkpoint each, and what followed
//	moments/NAME-...                  copies of segments that were saved, see Host.Save
//	reports/NAME-.../                 the same, and logs of the players who asked for it, see Host.Report
//	lost/NAME/                        of a room that could not be restored
//	run                               what resume keys begin with
const (
	// JournalSuffix is how the names of journals end.
	JournalSuffix = ".journal"

	roomsDir   = "rooms"
	momentsDir = "moments"
	lostDir    = "lost"
	runFile    = "run"

	// keptSegments is how many segments a room keeps, each of half a minute.
	keptSegments = 10
	// keptMoments is how many saved moments there are at most; the oldest go first.
	keptMoments = 50
	// syncEvery is the longest time for which what was written may not be on the disk, so that a
	// power cut costs that and what journal holds back. A crash of this program costs only the
	// latter, a tenth of a second.
	syncEvery = time.Second
	// maxQueued is how many bytes wait to be written before a room is no longer recorded.
	maxQueued = 64 << 20
	// queuedChunks is the same in chunks.
	queuedChunks = 256
	// maxRestarts is how often a room is restored that keeps failing within half a minute.
	maxRestarts = 3
	// saveSpacing is the least time between two moments of a room that are saved because rules
	// failed.
	saveSpacing = 10 * time.Minute
)

// Build identifies this program by its executable; empty if that cannot be read.
var Build = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
})

// An archive writes the journal of one room, in a goroutine of its own. No tick waits for it.
type archive struct {
	root string // Config.Journal
	name string
	dir  string // of the segments: two rooms of one name, one of which ends, do not meet
	log  *slog.Logger

	work   chan archived
	queued atomic.Int64 // bytes
	broken atomic.Bool  // until the next segment

	// Of the goroutine.
	file   *os.File
	number int
	synced time.Time
	buf    []byte
}

// archived is one thing to do: to write a chunk, or else anything.
type archived struct {
	chunk journal.Chunk
	do    func()
}

func newArchive(root, name string, log *slog.Logger) *archive {
	dir := filepath.Join(root, roomsDir, fmt.Sprintf("%s.%020d", name, time.Now().UnixNano()))
	return &archive{root: root, name: name, dir: dir, log: log, work: make(chan archived, queuedChunks)}
}

// put queues a chunk, see journal.New.
func (a *archive) put(c journal.Chunk) bool {
	if c.Kind == journal.KindHeader {
		a.broken.Store(false) // the next try
	}
	if a.broken.Load() || a.queued.Load()+int64(len(c.Payload)) > maxQueued {
		return false
	}
	a.queued.Add(int64(len(c.Payload)))
	select {
	case a.work <- archived{chunk: c}:
		return true
	default:
		a.queued.Add(-int64(len(c.Payload)))
		return false
	}
}

// run writes until work is closed.
func (a *archive) run() {
	for w := range a.work {
		if w.do != nil {
			w.do()
			continue
		}
		a.queued.Add(-int64(len(w.chunk.Payload)))
		if err := a.write(&w.chunk); err != nil {
			a.broken.Store(true)
			a.close()
			a.log.Error("the room cannot be recorded; the next try follows", "error", err)
		}
	}
	a.close()
}

// close ends a segment.
func (a *archive) close() {
	if a.file != nil {
		_ = a.file.Close() // it was written, or it is torn, as Parse finds out
		a.file = nil
	}
}

// write writes a chunk. A header begins a segment; a checkpoint is on the disk before segments that
// it makes needless go.
func (a *archive) write(c *journal.Chunk) (err error) {
	if c.Kind == journal.KindHeader {
		if err := a.open(); err != nil {
			return err
		}
	}
	if a.file == nil {
		return nil
	}
	if a.buf, err = c.Append(a.buf[:0]); err != nil {
		return err
	}
	if _, err := a.file.Write(a.buf); err != nil {
		return err
	}
	if c.Kind == journal.KindLog && time.Since(a.synced) < syncEvery {
		return nil
	}
	a.synced = time.Now()
	if err := a.file.Sync(); err != nil {
		return err
	}
	if c.Kind == journal.KindCheckpoint {
		a.prune()
	}
	return nil
}

// open begins the next segment.
func (a *archive) open() error {
	a.close()
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return err
	}
	a.number++
	f, err := os.OpenFile(filepath.Join(a.dir, fmt.Sprintf("%08d%s", a.number, JournalSuffix)),
		os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		a.file = f
	}
	return err
}

// prune removes old segments.
func (a *archive) prune() {
	names := a.segments()
	for len(names) > keptSegments {
		_ = os.Remove(names[0])
		names = names[1:]
	}
}

// segments returns the files of the room, the oldest first.
func (a *archive) segments() []string { return segmentsOf(a.dir) }

func segmentsOf(dir string) []string {
	names, _ := filepath.Glob(filepath.Join(dir, "*"+JournalSuffix)) // the pattern is sound
	slices.Sort(names)
	return names
}

// save copies the segments into one file, and returns its name. It runs in the goroutine.
func (a *archive) save(why string) (string, error) {
	dir := filepath.Join(a.root, momentsDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	old, _ := filepath.Glob(filepath.Join(dir, "*"+JournalSuffix))
	slices.SortFunc(old, func(x, y string) int { return modified(x).Compare(modified(y)) })
	for len(old) >= keptMoments {
		_ = os.Remove(old[0])
		old = old[1:]
	}
	at := time.Now().UTC().Format("20060102-150405.000")
	name := filepath.Join(dir, a.name+"-"+at+"-"+why+JournalSuffix)
	return name, a.copyTo(name)
}

// copyTo copies the segments into one new file. It runs in the goroutine.
func (a *archive) copyTo(name string) error {
	if a.file != nil {
		_ = a.file.Sync()
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	for _, s := range a.segments() {
		b, err := os.ReadFile(s)
		if err == nil { // what a crash or a full disk tore would hide what follows
			_, err = f.Write(b[:journal.Sound(b)])
		}
		if err != nil {
			_ = f.Close()
			_ = os.Remove(name)
			return err
		}
	}
	return errors.Join(f.Sync(), f.Close())
}

func modified(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// savedPlayer is what the journal notes of a player.
type savedPlayer struct {
	Name    string
	Nonce   [session.KeySize]byte
	Account uint64   `json:",omitempty"`
	Profile string   `json:",omitempty"` // the key of its record
	Keys    [][]byte // that it may come back with
	Begun   int
}

// savedRoom is what it notes of the room itself.
type savedRoom struct{ Code string }

// note notes what is needed to restore a player.
func (r *room) note(p *player) {
	if r.archive == nil || p.bot {
		return
	}
	n := savedPlayer{Name: p.name, Nonce: p.nonce, Account: p.account, Begun: p.back.begun}
	for _, k := range p.back.keys {
		n.Keys = append(n.Keys, slices.Clone(k.key[:]))
	}
	if p.profile != nil {
		n.Profile = p.profile.key
	}
	b, err := json.Marshal(&n)
	if err == nil {
		r.srv.Note(p.id, b)
	}
}

// noteRoom notes what is needed to restore the room.
func (r *room) noteRoom() {
	if b, err := json.Marshal(savedRoom{r.code}); err == nil && r.archive != nil {
		r.srv.Note(0, b)
	}
}

// record is called after each tick: it makes checkpoints, says when the room is not recorded, and
// saves what led to a failure of the rules.
func (r *room) record(now clock.Time) {
	if r.archive == nil {
		return
	}
	if r.srv.Due() {
		began := r.h.clock()
		err := r.srv.Checkpoint() // Lost says it, too
		r.h.span(SpanCheckpoint, began, err, slog.String("room", r.name))
	}
	if lost := r.srv.Lost(); (lost != nil) != r.unrecorded {
		if r.unrecorded = lost != nil; r.unrecorded {
			r.log.Error("the room is not recorded until the next checkpoint", "error", lost)
		} else {
			r.log.Warn("the room is recorded again")
		}
	}
	if r.failing && (r.moment == 0 || now.Sub(r.moment) >= saveSpacing) {
		r.moment = max(now, 1)
		r.saveMoment("panic", nil)
	}
	r.failing = false
}

// saveMoment saves what was recorded of the last minutes and calls done, if it is not nil, with the
// name of the file, from another goroutine. It runs in the room's loop.
func (r *room) saveMoment(why string, done func(path string, err error)) {
	if r.archive == nil {
		if done != nil {
			done("", ErrNotRecorded)
		}
		return
	}
	err := r.saveTo(func(a *archive) {
		path, err := a.save(why)
		if err != nil {
			a.log.Error("a moment could not be saved", "error", err)
		} else {
			a.log.Warn("a moment was saved", "why", why, "file", path)
		}
		if done != nil {
			done(path, err)
		}
	})
	if err != nil && done != nil {
		done("", err)
	}
}

// saveTo lets do copy what was recorded up to now, in the goroutine of the archive. It runs in the
// room's loop.
func (r *room) saveTo(do func(a *archive)) error {
	r.srv.Flush()
	a := r.archive
	select {
	case a.work <- archived{do: func() { do(a) }}:
		return nil
	default:
		return errors.New("host: the disk is too slow")
	}
}

// Save saves what was recorded of the last minutes of a room, for replays, and returns the name of
// the file; an empty name is the default room.
func (h *Host) Save(name string) (path string, err error) {
	if name == "" {
		name = h.cfg.Room
	}
	h.mu.Lock()
	r := h.rooms[name]
	h.mu.Unlock()
	if r == nil {
		return "", fmt.Errorf("%w: %q", ErrNoRoom, name)
	}
	if r.archive == nil {
		return "", ErrNotRecorded
	}
	type result struct {
		path string
		err  error
	}
	saved := make(chan result, 1)
	if !r.call(func() { r.saveMoment("asked", func(path string, err error) { saved <- result{path, err} }) }) {
		return "", fmt.Errorf("%w: %q", ErrNoRoom, name)
	}
	x := <-saved
	return x.path, x.err
}

// archiving runs the archive of a room until stop is called, which ends it. A room that has ended
// leaves nothing to restore; one whose world failed leaves what led to that.
func (r *room) archiving() (stop func(why session.Refusal)) {
	if r.archive == nil {
		return func(session.Refusal) {}
	}
	a := r.archive
	var wg sync.WaitGroup
	wg.Go(a.run)
	return func(why session.Refusal) {
		r.srv.Flush()
		a.work <- archived{do: func() {
			if why.Code == session.InternalError {
				path, err := a.save("failed")
				a.log.Error("what led to the failure was saved", "file", path, "error", err)
			}
		}}
		close(a.work)
		wg.Wait()
		if err := os.RemoveAll(a.dir); err != nil {
			a.log.Error("the journal of a room that has ended is still there", "error", err)
		}
	}
}

// openJournals makes the folder of journals ready, restores the rooms of a host that crashed, and
// sets the host's clock so that theirs go on. It runs before anything else of the host.
func (h *Host) openJournals() error {
	if h.cfg.Journal == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(h.cfg.Journal, roomsDir), 0o700); err != nil {
		return fmt.Errorf("host: Journal: %w", err)
	}
	run := filepath.Join(h.cfg.Journal, runFile)
	if b, err := os.ReadFile(run); err == nil && len(b) == len(h.name) {
		copy(h.name[:], b)
	} else if err := os.WriteFile(run, h.name[:], 0o600); err != nil {
		return fmt.Errorf("host: Journal: %w", err)
	}
	list, err := os.ReadDir(filepath.Join(h.cfg.Journal, roomsDir)) // sorted
	if err != nil {
		return fmt.Errorf("host: Journal: %w", err)
	}
	newest := map[string]string{} // folder, by room
	for _, e := range list {
		name, _, ok := strings.Cut(e.Name(), ".")
		if !ok || !e.IsDir() || CheckRoom(name) != nil {
			continue
		}
		if old := newest[name]; old != "" {
			_ = os.RemoveAll(old) // its room was about to end
		}
		newest[name] = filepath.Join(h.cfg.Journal, roomsDir, e.Name())
	}
	for _, name := range slices.Sorted(maps.Keys(newest)) {
		world, err := h.readWorld(newest[name])
		if err == nil {
			world.name = name
			h.restored = append(h.restored, world)
			h.base = max(h.base, world.replay.Server.Now().Add(world.replay.Server.Period()))
			continue
		}
		h.log.Error("a room could not be restored and begins anew; what is left of it was put aside", "room", name,
			"error", err)
		h.putAside(newest[name], name)
	}
	if base, of := h.base, h.clock; base > 0 {
		start := of()
		h.clock = func() clock.Time { return base + (of() - start) }
	}
	return nil
}

// putAside moves the journal of a room to where it does no harm.
func (h *Host) putAside(dir, name string) {
	to := filepath.Join(h.cfg.Journal, lostDir, name)
	_ = os.RemoveAll(to)
	err := os.MkdirAll(filepath.Dir(to), 0o700)
	if err == nil {
		err = os.Rename(dir, to)
	}
	if err != nil {
		h.log.Error(
			"the journal of a room could not be put aside",
			"room",
			name,
			"error",
			errors.Join(err, os.RemoveAll(dir)),
		)
	}
}

// A restoredWorld is a world of before a crash, as of its newest recorded tick.
type restoredWorld struct {
	name   string
	dir    string
	header journal.Header
	number int // of the newest segment
	replay *journal.Replay
}

// readWorld restores the world in a folder.
func (h *Host) readWorld(dir string) (*restoredWorld, error) {
	var parts [][]byte
	w := &restoredWorld{dir: dir}
	for _, name := range segmentsOf(dir) {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		parts = append(parts, b)
		if _, err := fmt.Sscanf(filepath.Base(name), "%d", &w.number); err != nil {
			return nil, fmt.Errorf("host: %s is no name of a segment", name)
		}
	}
	f, err := journal.Parse(parts...)
	if err != nil {
		return nil, err
	}
	if f.Torn != nil {
		h.log.Warn("the journal of a room is damaged; what is sound counts", "dir", dir, "error", f.Torn)
	}
	if w.header = f.Header; w.header.Build != Build() || Build() == "" {
		return nil, fmt.Errorf("host: it was recorded by another build of the program, %s; this one is %s", w.header.Build,
			Build())
	}
	if w.header.Restarts >= maxRestarts {
		return nil, fmt.Errorf("host: it failed soon after each of the last %d restarts", maxRestarts)
	}
	var why error
	if err := guarded(func() error {
		w.replay, why = journal.Restore(h.cfg.Rules, f)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("host: it could not be read: %w", err)
	}
	if w.replay == nil {
		return nil, why
	} else if why != nil {
		h.log.Error("a part of what was recorded of a room could not be replayed; it goes on from before", "dir", dir,
			"tick", w.replay.Server.Tick(), "error", why)
	}
	return w, nil
}

// revive opens the rooms that were restored, before Run accepts anybody. Their players have no
// connection yet.
func (h *Host) revive() {
	// Who changed rooms just before a crash may be in two worlds: the newer one keeps it.
	slices.SortStableFunc(h.restored, func(a, b *restoredWorld) int {
		return cmp.Compare(b.replay.Server.Now(), a.replay.Server.Now())
	})
	for _, w := range h.restored {
		r := h.reviveRoom(w)
		h.rooms[r.name], h.alive[r] = r, struct{}{}
		r.log.Warn("room restored", "tick", r.srv.Tick(), "players", r.humans)
	}
	h.restored = nil
}

func (h *Host) reviveRoom(w *restoredWorld) *room {
	r := makeRoom(h, w.name, origin{})
	r.archive.dir, r.archive.number = w.dir, w.number
	header := journal.Header{Build: Build(), Started: w.header.Started, Restarts: w.header.Restarts + 1}
	// Its settings are the recorded ones, whatever this host has: a replay begins with them.
	r.srv = journal.Record(w.replay.Server, w.header.Settings.Config(), header, w.replay.Notes, r.archive.put)
	r.setUp()
	var room savedRoom
	if b := w.replay.Notes[0]; b != nil && json.Unmarshal(b, &room) == nil {
		r.code = room.Code
	}
	for _, id := range r.srv.Players(nil) {
		var n savedPlayer
		if b := w.replay.Notes[id]; b == nil || json.Unmarshal(b, &n) != nil {
			r.srv.Disconnect(id) // a bot
			continue
		}
		r.revivePlayer(id, &n)
	}
	if s := h.cfg.Rules.Saved(true); s != nil && h.keeper != nil {
		if rec := r.srv.RoomRecord(); rec != nil {
			r.last.record = h.keeper.adopt(r.recordKey(), r, rec)
		}
	}
	r.revived, r.stayed = true, true
	if r.humans > 0 {
		r.companies++
		r.company.Store(r.companies)
	}
	r.heart.players(r)
	_ = r.srv.Checkpoint() // Lost says why not
	return r
}

// revivePlayer makes a player who has no connection yet.
func (r *room) revivePlayer(id server.PlayerID, n *savedPlayer) {
	now := r.h.clock()
	p := &player{id: id, name: n.Name, peer: nobody{}, nonce: n.Nonce, account: n.Account, joined: now,
		entered: r.srv.Tick(), in: new(transport.Queue), visit: 1}
	p.log = r.logOf(p, nil)
	// Its client may have received what this world has not sent: it begins anew.
	p.back = resumption{begun: n.Begun + 1, heard: true, since: now, until: now.Add(max(r.h.cfg.Resume, 0))}
	for _, k := range n.Keys {
		var key issuedKey
		copy(key.key[:], k)
		key.begun = n.Begun
		p.back.keys = append(p.back.keys, key)
	}
	if rec := r.srv.Record(id); rec != nil && n.Profile != "" && r.h.keeper != nil {
		if p.profile = r.h.keeper.adopt(n.Profile, r, rec); p.profile == nil {
			r.srv.Disconnect(id)
			return
		}
	}
	if r.h.cfg.LimitsOf != nil {
		p.class = r.h.cfg.LimitsOf(Visitor{Name: p.name, Account: p.account, Room: r.name})
	}
	r.players[id] = p
	r.order = append(r.order, p)
	r.humans++
	r.n.joined(p)
	r.srv.Suspend(id, now)
	r.h.seats[p] = r
	r.note(p)
}
