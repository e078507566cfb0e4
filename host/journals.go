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
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"meanwhile/host/journal"
	"meanwhile/internal/engine"
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
//	lost/NAME/                        of a room that could not be restored, the newest keptLost
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
	// keptMoments is how many saved moments there are at most for each reason, see makePlace.
	keptMoments = 20
	// keptLost is how many rooms that could not be restored are kept; the oldest go first.
	keptLost = 16
	// syncEvery is the longest time for which what was written may not be on the disk, so that a
	// power cut costs that and what journal holds back. A crash of this program costs only the
	// latter, a tenth of a second.
	syncEvery = time.Second
	// maxQueued is how many bytes wait to be written before a room is no longer recorded,
	// maxWritten the same of all rooms together.
	maxQueued, maxWritten = 64 << 20, 256 << 20
	// queuedChunks is the same in chunks.
	queuedChunks = 256
	// maxRestarts is how often a room is restored that keeps failing within half a minute.
	maxRestarts = 3
	// saveSpacing is the least time between two moments of a room that are saved because rules
	// failed.
	saveSpacing = 10 * time.Minute
	// saveWait is how long Save waits for the disk.
	saveWait = 30 * time.Second
	// maxBehind is how much older than what is stored a restored world may be: the tenth of a
	// second of a crash, the second of a power cut, and some delay of the disk. An older one would
	// have again what players have taken out of it since.
	maxBehind = 5 * time.Second
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
	root   string // Config.Journal
	name   string
	dir    string // of the segments: two rooms of one name, one of which ends, do not meet
	create func(path string) (segmentFile, error)
	log    *slog.Logger

	work   chan archived
	queued atomic.Int64  // bytes
	total  *atomic.Int64 // the same of all rooms
	broken atomic.Bool   // until the next segment

	// Of the goroutine.
	file   segmentFile
	path   string
	number int
	begun  bool // the file has something to begin a replay with
	synced time.Time
	buf    []byte
}

// A segmentFile is a file that is written.
type segmentFile interface {
	io.WriteCloser
	Sync() error
}

// createFile makes a file in a folder, and both outlive a power cut.
func createFile(path string) (segmentFile, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	syncFolder(dir)
	syncFolder(filepath.Dir(dir))
	return f, nil
}

// syncFolder writes to the disk which files a folder has. Some file systems cannot, and do it by
// themselves.
func syncFolder(dir string) {
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// archived is one thing to do: to write a chunk, or else anything.
type archived struct {
	chunk journal.Chunk
	do    func()
	drop  func() // in place of do, when the room has ended
}

func newArchive(h *Host, name string, log *slog.Logger) *archive {
	root := h.cfg.Journal
	return &archive{root: root, name: name, dir: filepath.Join(root, roomsDir, name+h.folderTime()), create: h.cfg.create,
		log: log, work: make(chan archived, queuedChunks), total: &h.unwritten}
}

// folderTime returns the end of a new folder's name. It rises, also where the clock was set back
// between two runs: the newest folder of a name counts.
func (h *Host) folderTime() string {
	for {
		old := h.newestFolder.Load()
		if at := max(time.Now().UnixNano(), old+1); h.newestFolder.CompareAndSwap(old, at) {
			return fmt.Sprintf(".%020d", at)
		}
	}
}

// put queues a chunk, see journal.New.
func (a *archive) put(c journal.Chunk) bool {
	if c.Kind == journal.KindHeader {
		a.broken.Store(false) // the next try
	}
	size := int64(len(c.Payload))
	if a.broken.Load() || a.queued.Load()+size > maxQueued || a.total.Load()+size > maxWritten {
		return false
	}
	a.count(size)
	select {
	case a.work <- archived{chunk: c}:
		return true
	default:
		a.count(-size)
		return false
	}
}

// count counts bytes that wait.
func (a *archive) count(bytes int64) {
	a.queued.Add(bytes)
	a.total.Add(bytes)
}

// forget drops what waits to be written.
func (a *archive) forget() {
	for {
		select {
		case w := <-a.work:
			a.count(-int64(len(w.chunk.Payload)))
			if w.drop != nil {
				w.drop()
			}
		default:
			return
		}
	}
}

// run writes until work is closed.
func (a *archive) run() {
	for w := range a.work {
		if w.do != nil {
			w.do()
			continue
		}
		a.count(-int64(len(w.chunk.Payload)))
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
	if a.file == nil {
		return
	}
	_ = a.file.Close() // it was written, or it is torn, as Parse finds out
	if a.file = nil; !a.begun {
		_ = os.Remove(a.path) // of no use, and the disk may be full
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
	a.begun = a.begun || c.Kind != journal.KindHeader
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
	a.number++
	a.path, a.begun = "", false
	path := segmentPath(a.dir, a.number)
	f, err := a.create(path)
	if err == nil {
		a.file, a.path = f, path
	}
	return err
}

func segmentPath(dir string, number int) string {
	return filepath.Join(dir, fmt.Sprintf("%08d%s", number, JournalSuffix))
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
	return pathsIn(dir, JournalSuffix)
}

// pathsIn returns what is in a folder under names that end so, by name; nothing where it cannot be
// read. The folder's own name may have any characters, so it is no part of a pattern.
func pathsIn(dir, suffix string) (paths []string) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if strings.HasSuffix(e.Name(), suffix) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

// save copies the segments into one file, and returns its name. It runs in the goroutine.
func (a *archive) save(why string) (string, error) {
	segments, bytes, err := a.newest()
	if err != nil {
		return "", err
	}
	name := a.momentPath(why, bytes)
	return name, a.copyTo(name, segments)
}

// copyTo copies segments into one new file. It runs in the goroutine.
func (a *archive) copyTo(name string, segments []string) error {
	if a.file != nil {
		_ = a.file.Sync()
	}
	f, err := a.create(name)
	if err != nil {
		return err
	}
	for _, s := range segments {
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
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		_ = os.Remove(name)
		return err
	}
	return nil
}

// removeOldest removes files or folders in dir whose names end so, but for the newest.
func removeOldest(dir, suffix string, keep int) {
	old := pathsIn(dir, suffix)
	slices.SortFunc(old, func(x, y string) int { return modified(x).Compare(modified(y)) })
	for _, name := range old[:max(len(old)-keep, 0)] {
		_ = os.RemoveAll(name)
	}
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
	if r.archive == nil && r.tail == nil {
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
			a.log.Warn("a moment was saved", "reason", why, "file", path)
		}
		if done != nil {
			done(path, err)
		}
	}, done)
	if err != nil && done != nil {
		done("", err)
	}
}

// saveTo lets do copy what was recorded up to now, in the goroutine of the archive; if the room ends
// before that, drop is called with the reason, if it is not nil. It runs in the room's loop.
func (r *room) saveTo(do func(a *archive), drop func(path string, err error)) error {
	r.srv.Flush()
	a := r.archive
	w := archived{do: func() { do(a) }, drop: func() {
		if drop != nil {
			drop("", ErrNoRoom)
		}
	}}
	select {
	case a.work <- w:
		return nil
	default:
		return fmt.Errorf("%w: %d things wait for it", errSlowDisk, queuedChunks)
	}
}

// errSlowDisk is wrapped by errors of Save and Report.
var errSlowDisk = errors.New("host: the disk is too slow")

// A savedFile is a file or folder that was written for a request.
type savedFile struct {
	path string
	err  error
}

// awaitFile waits for a file, but not for ever: the disk may stand still.
func awaitFile(saved <-chan savedFile) (path string, err error) {
	select {
	case x := <-saved:
		return x.path, x.err
	case <-time.After(saveWait):
		return "", fmt.Errorf("%w: nothing was saved in %v", errSlowDisk, saveWait)
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
	saved := make(chan savedFile, 1)
	if !r.call(func() { r.saveMoment("asked", func(path string, err error) { saved <- savedFile{path, err} }) }) {
		return "", fmt.Errorf("%w: %q", ErrNoRoom, name)
	}
	return awaitFile(saved)
}

// archiving runs the archive of a room until stop is called, which ends it. A room that has ended
// leaves nothing to restore; one whose world failed leaves what led to that. stop waits for the
// disk, so nobody may wait for it.
func (r *room) archiving() (stop func(why session.Refusal)) {
	if r.archive == nil {
		return func(session.Refusal) {}
	}
	a := r.archive
	var wg sync.WaitGroup
	wg.Go(a.run)
	return func(why session.Refusal) {
		if why.Code == session.InternalError {
			r.srv.Flush()
			a.work <- archived{do: func() {
				path, err := a.save("failed")
				a.log.Error("what led to the failure was saved", "file", path, "error", err)
			}}
		} else {
			a.forget()
		}
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
	if err := h.keepName(filepath.Join(h.cfg.Journal, runFile)); err != nil {
		return fmt.Errorf("host: Journal: %w", err)
	}
	list, err := os.ReadDir(filepath.Join(h.cfg.Journal, roomsDir)) // sorted
	if err != nil {
		return fmt.Errorf("host: Journal: %w", err)
	}
	newest := map[string]string{} // folder, by room
	for _, e := range list {
		name, at, ok := strings.Cut(e.Name(), ".")
		if !ok || !e.IsDir() || CheckRoom(name) != nil {
			continue
		}
		if n, err := strconv.ParseInt(at, 10, 64); err == nil && n < math.MaxInt64 {
			h.newestFolder.Store(max(h.newestFolder.Load(), n))
		}
		if old := newest[name]; old != "" {
			_ = os.RemoveAll(old) // its room was about to end
		}
		newest[name] = filepath.Join(h.cfg.Journal, roomsDir, e.Name())
	}
	for _, name := range slices.Sorted(maps.Keys(newest)) {
		world, err := h.readWorld(newest[name])
		if err == nil {
			err = h.compare(world)
			if errors.Is(err, errNoStore) {
				return err
			}
		}
		if err == nil {
			world.name = name
			h.restored = append(h.restored, world)
			h.base = max(h.base, world.replay.Server.Now().Add(world.replay.Server.Period()))
			continue
		}
		if h.cfg.AnyBuild && errors.Is(err, journal.ErrSchema) { // its author has just changed that
			h.log.Info("a room of another schema begins anew", "room", name)
		} else {
			h.log.Error("a room could not be restored and begins anew; what is left of it was put aside", "room", name,
				"error", err)
		}
		h.putAside(newest[name], name)
	}
	if base, of := h.base, h.clock; base > 0 {
		start := of()
		h.clock = func() clock.Time { return base + (of() - start) }
	}
	return nil
}

// keepName gives the host the name that is in a file, or writes it there.
func (h *Host) keepName(path string) error {
	b, err := os.ReadFile(path)
	if err == nil && len(b) == len(h.name) {
		copy(h.name[:], b)
		return nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	work := path + ".new"
	_ = os.Remove(work)
	f, err := createFile(work)
	if err != nil {
		return err
	}
	_, err = f.Write(h.name[:])
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Rename(work, path); err == nil {
		syncFolder(filepath.Dir(path))
	}
	return err
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
		err = errors.Join(err, os.RemoveAll(dir))
		h.log.Error("the journal of a room could not be put aside", "room", name, "error", err)
		return
	}
	now := time.Now()
	_ = os.Chtimes(to, now, now) // if it fails, another one goes first
	removeOldest(filepath.Join(h.cfg.Journal, lostDir), "", keptLost)
}

// A restoredWorld is a world of before a crash, as of its newest recorded tick.
type restoredWorld struct {
	name   string
	dir    string
	header journal.Header
	number int // of the newest segment
	replay *journal.Replay
	// recorded is when the segment was written last whose checkpoint the world comes from.
	recorded time.Time
	newer    map[string][]byte // by key: records that are stored and newer than those of the world
}

// readWorld restores the world in a folder, from the newest segments that it takes.
func (h *Host) readWorld(dir string) (*restoredWorld, error) {
	names := segmentsOf(dir)
	w := &restoredWorld{dir: dir}
	if len(names) == 0 {
		return nil, errors.New("host: it has no file")
	}
	if _, err := fmt.Sscanf(filepath.Base(names[len(names)-1]), "%d", &w.number); err != nil {
		return nil, fmt.Errorf("host: %s is no name of a segment", names[len(names)-1])
	}
	var parts [][]byte
	for i := len(names) - 1; ; i-- {
		b, err := os.ReadFile(names[i])
		if err != nil {
			return nil, err
		}
		parts = slices.Insert(parts, 0, b)
		f, err := journal.Parse(parts...)
		if err == nil {
			if f.Torn != nil {
				h.log.Warn("the journal of a room is damaged; what is sound counts", "file", dir, "error", f.Torn)
			}
			if i > 0 && !f.Begins() {
				continue
			}
			w.recorded = modified(names[i]).UTC()
			err = h.restore(w, f)
		}
		if w.replay != nil || i == 0 || errors.Is(err, errNotAgain) {
			return w, err
		}
	}
}

// errNotAgain is wrapped by errors about rooms that older segments do not help.
var errNotAgain = errors.New("host: it is not restored")

// restore restores a world from a journal. The attempt is noted on the disk first, so that it is
// counted even if it ends this program.
func (h *Host) restore(w *restoredWorld, f *journal.File) error {
	if w.header = f.Header; !h.cfg.AnyBuild && (w.header.Build != Build() || Build() == "") {
		return fmt.Errorf("%w: it was recorded by another build of the program, %s; this one is %s", errNotAgain,
			w.header.Build, Build())
	}
	if w.header.Restarts >= maxRestarts {
		return fmt.Errorf("%w: it failed soon after each of the last %d restarts", errNotAgain, maxRestarts)
	}
	w.number++
	attempt := segmentPath(w.dir, w.number)
	if err := h.noteAttempt(attempt, w.header); err != nil {
		h.log.Warn("a restart of a room could not be noted", "file", w.dir, "error", err)
	}
	var why error
	if err := guarded(func() error {
		w.replay, why = journal.Restore(h.cfg.Rules, f)
		return nil
	}); err != nil {
		why = fmt.Errorf("host: it could not be read: %w", err)
	}
	_ = os.Remove(attempt) // other rooms may end this program yet
	switch {
	case w.replay == nil && errors.Is(why, journal.ErrSchema): // older segments have the same
		return fmt.Errorf("%w: %w", errNotAgain, why)
	case w.replay == nil:
		return why
	case why != nil && h.cfg.AnyBuild && w.header.Build != Build():
		h.log.Info("the new rules compute something else than was recorded; the room goes on from before", "file", w.dir,
			"tick", w.replay.Server.Tick(), "error", why)
	case why != nil:
		h.log.Error("a part of what was recorded of a room could not be replayed; it goes on from before", "file", w.dir,
			"tick", w.replay.Server.Tick(), "error", why)
	}
	return nil
}

// noteAttempt writes a segment that says of a room that it was restarted once more.
func (h *Host) noteAttempt(path string, header journal.Header) error {
	header.Restarts++
	b, err := header.Append(nil)
	if err != nil {
		return err
	}
	f, err := h.cfg.create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}

// errNoStore is an error of New.
var errNoStore = errors.New("host: the store did not answer, so nobody knows whether its records are newer than " +
	"a room that is to be restored; try again, or move the room's folder out of " + roomsDir + " to go on without it")

// compare looks up what is stored for those in a restored world. It fails if that is so much newer
// that the world is not to be used.
func (h *Host) compare(w *restoredWorld) error {
	if h.keeper == nil {
		return nil
	}
	srv := w.replay.Server
	records := map[string]*engine.Record{}
	if rec := srv.RoomRecord(); rec != nil && h.cfg.Rules.Saved(true) != nil {
		records[roomKey(h.cfg.Rules.Name, w.header.Settings.Room)] = rec
	}
	for _, id := range srv.Players(nil) {
		var n savedPlayer
		if b := w.replay.Notes[id]; b != nil && json.Unmarshal(b, &n) == nil && n.Profile != "" {
			if rec := srv.Record(id); rec != nil {
				records[n.Profile] = rec
			}
		}
	}
	w.newer = map[string][]byte{}
	var behind time.Duration
	all, err := h.keeper.storedAll(slices.Sorted(maps.Keys(records)))
	if err != nil {
		return fmt.Errorf("%w: %s, %w", errNoStore, w.dir, err)
	}
	for key, rec := range records {
		stored := all[key]
		m := markOf(stored)
		if !m.newer(parseMark(rec.Mark()), w.header.World, srv.Tick()) {
			continue
		}
		if w.newer[key] = stored; m.world == w.header.World && m.tick > srv.Tick() {
			behind = max(behind, time.Duration(m.tick-srv.Tick())*srv.Period())
		}
	}
	if behind > maxBehind {
		return fmt.Errorf("host: what is stored of its players is %v newer than what was recorded of it, at most %v",
			behind.Round(time.Millisecond), maxBehind)
	}
	return nil
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
		if h.cfg.AnyBuild { // whenever its author saves a file
			r.log.Info("room restored", "tick", r.srv.Tick(), "players", r.humans)
			continue
		}
		r.log.Warn("room restored", "tick", r.srv.Tick(), "players", r.humans, "recorded", w.recorded,
			"newer", len(w.newer))
	}
	h.restored = nil
}

func (h *Host) reviveRoom(w *restoredWorld) *room {
	r := makeRoom(h, w.name, origin{})
	r.archive.dir, r.archive.number = w.dir, w.number
	r.world = w.header.World
	header := journal.Header{Build: Build(), World: r.world, Started: w.header.Started, Restarts: w.header.Restarts + 1}
	// Its settings are the recorded ones, whatever this host has: a replay begins with them.
	r.srv = journal.Record(w.replay.Server, w.header.Settings.Config(), header, w.replay.Notes, r.put)
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
		r.revivePlayer(id, &n, w.newer)
	}
	if s := h.cfg.Rules.Saved(true); s != nil && h.keeper != nil {
		if rec := r.srv.RoomRecord(); rec != nil {
			r.last.record = h.keeper.adopt(r.recordKey(), r, rec, w.newer[r.recordKey()])
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
func (r *room) revivePlayer(id server.PlayerID, n *savedPlayer, newer map[string][]byte) {
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
		if p.profile = r.h.keeper.adopt(n.Profile, r, rec, newer[n.Profile]); p.profile == nil {
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
