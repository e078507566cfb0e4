package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"meanwhile/internal/engine"
	"meanwhile/session"
)

const (
	// defaultSaveEvery is how often a room hands over what changed in its records.
	defaultSaveEvery = 5 * time.Second
	// maxRecord is the size of the largest record that is stored, in bytes of JSON. A larger one is
	// logged, counted and left as it was stored last.
	maxRecord = 64 << 10
	// maxWaiting is how many records may wait to be stored before further players, who would add
	// more, are refused as busy. Those who play already are at most so many beyond it.
	maxWaiting = 4096
	// maxLoads is how many records are loaded at once. While a store does not answer, further
	// players are refused as busy. A quarter is kept for whom a stranger cannot invent: accounts,
	// rooms, and guests whose record still waits to be stored.
	maxLoads   = 256
	guestLoads = maxLoads - maxLoads/4
	// startLoads is how many records are loaded at once at the start.
	startLoads = 16
	// loadTimeout bounds one load, saveTimeout one save.
	loadTimeout = 3 * time.Second
	saveTimeout = 10 * time.Second
	// firstRetry is how long the keeper waits after a save that failed; each further failure
	// doubles it, up to lastRetry.
	firstRetry = 250 * time.Millisecond
	lastRetry  = 30 * time.Second
	// takeOverEvery is how often a player who joins from elsewhere asks for its place.
	takeOverEvery = 50 * time.Millisecond
)

// A Store keeps records beyond the process, each under a key such as "arena/account/7". Several
// goroutines call it, never a tick loop. Package host/bolt has one in a file.
type Store interface {
	// Load returns the newest record of a key; nil if there is none.
	Load(ctx context.Context, key string) ([]byte, error)
	// Save stores all these records or, if it fails, none: they are of one tick, so that what one
	// player gave to another is never stored with both or with neither. It does not retain them.
	Save(ctx context.Context, records map[string][]byte) error
}

// A keeper loads records before rules see them, and stores what rules changed. Rooms hand over
// copies, the newest of each key waits, and one goroutine stores all that wait at once.
type keeper struct {
	store Store
	log   *slog.Logger

	loading sync.WaitGroup

	mu      sync.Mutex
	loads   int // under way
	inUse   map[string]*profile
	waiting map[string]any // by key: a copy of the record
	saving  map[string]any // what is being stored
	wake    chan struct{}  // holds a token while something waits

	loaded, loadFailed, saved, saveFailed, refused atomic.Uint64
}

// A profile is a record that a room has, or is about to have: of a player, or of the room itself.
type profile struct {
	key    string
	room   *room
	rec    *engine.Record
	refs   int           // guarded by keeper.mu
	loaded chan struct{} // closed once rec or err is set
	err    error
	gone   chan struct{} // closed when no room has it any more and its newest state waits or is stored
}

func newKeeper(store Store, log *slog.Logger) *keeper {
	return &keeper{store: store, log: log, inUse: make(map[string]*profile), waiting: make(map[string]any),
		wake: make(chan struct{}, 1)}
}

// playerKey returns the key of a player's record; "" if it has none. A guest's secret is not
// stored, so that nobody who reads the store can play in the name of others.
func playerKey(game string, account uint64, guest [session.KeySize]byte) string {
	switch {
	case account != 0:
		return game + "/account/" + strconv.FormatUint(account, 10)
	case guest != [session.KeySize]byte{}:
		sum := sha256.Sum256(guest[:])
		return game + "/guest/" + hex.EncodeToString(sum[:16])
	}
	return ""
}

// acquire returns the record of a key for a room, loaded. Only one room has it at a time: whoever
// plays with it in another one is sent away first. Each call needs a release, unless it fails.
// guest says that the key is a guest's, which anybody can invent.
func (k *keeper) acquire(ctx context.Context, key string, guest bool, r *room, s *engine.Saved) (*profile, error) {
	for {
		k.mu.Lock()
		p := k.inUse[key]
		if p == nil {
			if len(k.waiting) >= maxWaiting {
				k.mu.Unlock()
				return nil, refusal(session.Busy, "the server cannot store what players gain at present")
			}
			most := maxLoads
			if guest && k.waiting[key] == nil && k.saving[key] == nil {
				most = guestLoads
			}
			if k.loads >= most {
				k.mu.Unlock()
				return nil, refusal(session.Busy, "the server waits for what players gained before")
			}
			k.loads++
			// One reference is that of the load, so that a store that never answers is asked once.
			p = &profile{key: key, room: r, refs: 1, loaded: make(chan struct{}), gone: make(chan struct{})}
			k.inUse[key] = p
			k.loading.Go(func() {
				p.rec, p.err = k.load(key, s)
				close(p.loaded)
				k.mu.Lock()
				k.loads--
				k.mu.Unlock()
				k.release(p)
			})
		}
		if p.room == r {
			p.refs++
			k.mu.Unlock()
			select {
			case <-p.loaded:
				return k.ready(p)
			case <-ctx.Done(): // the store ignores loadTimeout
				k.release(p)
				return nil, refusal(session.Busy, "the server waits for what you gained before")
			}
		}
		k.mu.Unlock()
		select {
		case p.room.calls <- func() { p.room.takeOver(p) }:
		case <-p.room.done:
		case <-ctx.Done():
		}
		select {
		case <-p.gone:
		case <-time.After(takeOverEvery):
		case <-ctx.Done():
			return nil, refusal(session.Busy, "you still play in room %s", p.room.name)
		}
	}
}

// adopt makes a record that a room has already, from before a crash, one that this keeper stores.
// newer is what is stored if that is newer, else nil. It returns nil if another room has adopted
// the record, or if newer cannot be read.
func (k *keeper) adopt(key string, r *room, rec *engine.Record, newer []byte) *profile {
	p := &profile{key: key, room: r, rec: rec, refs: 1, loaded: make(chan struct{}), gone: make(chan struct{})}
	close(p.loaded)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.inUse[key] != nil {
		return nil
	}
	if newer == nil {
		rec.Touch()
	} else if err := guarded(func() error { return fill(rec, newer) }); err != nil {
		k.loadFailed.Add(1)
		k.log.Error("a record could not be loaded", "key", key, "error", err)
		return nil
	}
	k.inUse[key] = p
	return p
}

// stored returns the stored record of a key; nil if there is none. It waits for loadTimeout at most,
// also for a store that ignores its context.
func (k *keeper) stored(key string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
	defer cancel()
	type answer struct {
		b   []byte
		err error
	}
	got := make(chan answer, 1)
	go func() {
		var a answer
		a.err = guarded(func() (err error) {
			a.b, err = k.store.Load(ctx, key)
			return err
		})
		got <- a
	}()
	select {
	case a := <-got:
		return a.b, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("host: nothing came in %v", loadTimeout)
	}
}

// storedAll returns the stored records of keys, or the error of one that cannot be had. It asks for
// startLoads at once, as the store may be far away, and for no more once one has failed.
func (k *keeper) storedAll(keys []string) (map[string][]byte, error) {
	type answer struct {
		key string
		b   []byte
		err error
	}
	all, answers := make(map[string][]byte, len(keys)), make(chan answer, startLoads)
	var first error
	for next, under := 0, 0; ; {
		for ; first == nil && next < len(keys) && under < startLoads; next, under = next+1, under+1 {
			key := keys[next]
			go func() {
				b, err := k.stored(key)
				answers <- answer{key, b, err}
			}()
		}
		if under == 0 {
			return all, first
		}
		a := <-answers
		if under--; a.err != nil && first == nil {
			first = fmt.Errorf("record %s: %w", a.key, a.err)
		}
		all[a.key] = a.b
	}
}

// ready returns a profile that has been loaded, or releases it.
func (k *keeper) ready(p *profile) (*profile, error) {
	if p.err != nil {
		k.release(p)
		return nil, p.err
	}
	return p, nil
}

// release gives up a profile. Before that the room has handed over what changed.
func (k *keeper) release(p *profile) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p.refs--; p.refs == 0 {
		delete(k.inUse, p.key)
		close(p.gone)
	}
}

// load returns the newest record of a key: one that still waits to be stored, or the stored one. A
// record that cannot be read keeps its player out, as it would be overwritten otherwise.
func (k *keeper) load(key string, s *engine.Saved) (*engine.Record, error) {
	ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
	defer cancel()
	k.mu.Lock()
	held := k.waiting[key]
	if held == nil {
		held = k.saving[key]
	}
	k.mu.Unlock()
	rec := s.NewRecord(true)
	err := guarded(func() error {
		var stored []byte
		var err error
		if held != nil {
			stored, err = json.Marshal(held)
		} else {
			stored, err = k.store.Load(ctx, key)
		}
		if err != nil {
			return err
		}
		return fill(rec, stored)
	})
	if err != nil {
		k.loadFailed.Add(1)
		k.log.Error("a record could not be loaded", "key", key, "error", err)
		return nil, refusal(session.InternalError, "what the server stored could not be loaded; try again")
	}
	k.loaded.Add(1)
	return rec, nil
}

// put takes over copies of records that changed. It does not wait.
func (k *keeper) put(records map[string]any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, v := range records {
		k.waiting[key] = v
	}
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// run stores what waits until ctx ends, and then once more.
func (k *keeper) run(ctx context.Context) {
	retry := firstRetry
	for {
		select {
		case <-k.wake:
		case <-ctx.Done():
			k.finish()
			return
		}
		if k.flush(context.Background()) {
			retry = firstRetry
			continue
		}
		select {
		case <-time.After(retry):
		case <-ctx.Done():
		}
		retry = min(2*retry, lastRetry)
		select { // what failed waits again
		case k.wake <- struct{}{}:
		default:
		}
	}
}

// finish stores what waits when the host ends.
func (k *keeper) finish() {
	ctx, cancel := context.WithTimeout(context.Background(), endPatience)
	defer cancel()
	for ctx.Err() == nil {
		if k.flush(ctx) {
			return
		}
		time.Sleep(firstRetry)
	}
	k.log.Error("the newest records could not be stored", "records", k.stats().Waiting)
}

// flush stores all that waits, and reports whether that succeeded.
func (k *keeper) flush(ctx context.Context) bool {
	k.mu.Lock()
	k.saving, k.waiting = k.waiting, make(map[string]any)
	saving := k.saving
	k.mu.Unlock()
	batch := make(map[string][]byte, len(saving))
	for key, v := range saving {
		var b []byte
		err := guarded(func() (err error) {
			b, err = json.Marshal(v)
			return err
		})
		if err == nil && len(b) > maxRecord {
			err = fmt.Errorf("host: it has %d bytes, at most %d", len(b), maxRecord)
		}
		if err != nil {
			k.refused.Add(1)
			k.log.Error("a record is not stored", "key", key, "error", err)
			continue
		}
		batch[key] = b
	}
	err := k.save(ctx, batch)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.saving = nil
	if err == nil {
		k.saved.Add(uint64(len(batch)))
		return true
	}
	k.saveFailed.Add(1)
	k.log.Error("records could not be stored; the next try follows", "records", len(batch), "error", err)
	for key, v := range saving {
		if k.waiting[key] == nil && batch[key] != nil {
			k.waiting[key] = v
		}
	}
	return false
}

// save calls the store.
func (k *keeper) save(ctx context.Context, batch map[string][]byte) error {
	if len(batch) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	return guarded(func() error { return k.store.Save(ctx, batch) })
}

// guarded runs code of others: of a store, or of the types of a record. Its panic is an error, and
// does not end the process.
func guarded(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = caught(v)
		}
	}()
	return f()
}

// RecordStats counts what happened to records.
type RecordStats struct {
	Waiting            int    // changed, and not stored yet
	Loaded, LoadFailed uint64 // one by one
	Saved              uint64 // records
	SaveFailed         uint64 // saves, each of all records that waited
	Refused            uint64 // too large, or not to be written as JSON
}

// stats returns the counters. A nil keeper has none.
func (k *keeper) stats() RecordStats {
	if k == nil {
		return RecordStats{}
	}
	k.mu.Lock()
	n := len(k.waiting)
	for key := range k.saving {
		if k.waiting[key] == nil {
			n++
		}
	}
	k.mu.Unlock()
	return RecordStats{Waiting: n, Loaded: k.loaded.Load(), LoadFailed: k.loadFailed.Load(), Saved: k.saved.Load(),
		SaveFailed: k.saveFailed.Load(), Refused: k.refused.Load()}
}
