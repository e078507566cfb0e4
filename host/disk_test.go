package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/host/journal"
	"meanwhile/netcode/clock"
	"meanwhile/session"
)

// A stored record has a mark beside its fields, and none else is lost.
func TestMarks(t *testing.T) {
	m := mark{3, 0xfedcba9876543210, 4294967295}
	for _, c := range []struct {
		v    any
		mark mark
		want string
	}{
		{&purse{Joins: 2}, m, `{"Version":0,"Joins":2,"Ticks":0,"Leaves":0,"~saved":"3.fedcba9876543210.4294967295"}`},
		{&struct{}{}, mark{1, 2, 3}, `{"~saved":"1.2.3"}`},
		{"a text", mark{}, `"a text"`},
	} {
		b, err := json.Marshal(marked{c.v, c.mark})
		if err != nil || string(b) != c.want || markOf(b) != c.mark {
			t.Errorf("%v: %s, %v, with mark %+v", c.v, b, err, markOf(b))
		}
	}
	for _, b := range []string{``, `7`, `{}`, `{"~saved":7}`, `{"~saved":""}`, `{"~saved":"1.2"}`, `{"~saved":"1.2.3.4"}`,
		`{"~saved":"-1.2.3"}`, `{"~saved":"1.x.3"}`, `{"~saved":"1.2.99999999999"}`} {
		if m := markOf([]byte(b)); m != (mark{}) {
			t.Errorf("%s has mark %+v", b, m)
		}
	}
}

// Which record is newer: the stored one, or that of a world, 7, as of tick 100, which had loaded it
// with some mark.
func TestNewerMark(t *testing.T) {
	for _, c := range []struct {
		name   string
		stored mark
		base   mark
		want   bool
	}{
		{"nothing is stored", mark{}, mark{}, false},
		{"nothing is stored any more", mark{}, mark{3, 9, 50}, false},
		{"stored without a mark", mark{}, mark{}, false},
		{"not saved since it was loaded", mark{3, 9, 50}, mark{3, 9, 50}, false},
		{"saved by this world before", mark{4, 7, 90}, mark{3, 9, 50}, false},
		{"by this world at that tick", mark{4, 7, 100}, mark{3, 9, 50}, false},
		{"by this world later", mark{4, 7, 101}, mark{3, 9, 50}, true},
		{"by another world after it", mark{5, 8, 3}, mark{3, 9, 50}, true},
		{"by another world beside it", mark{4, 8, 3}, mark{3, 9, 50}, true},
		{"by an earlier world later", mark{3, 9, 60}, mark{3, 9, 50}, true},
		{"what was loaded was never stored", mark{3, 9, 40}, mark{3, 9, 50}, false},
		{"nor what came before", mark{2, 8, 900}, mark{3, 9, 50}, false},
		{"another world of the same load", mark{3, 8, 10}, mark{3, 9, 50}, true},
	} {
		if got := c.stored.newer(c.base, 7, 100); got != c.want {
			t.Errorf("%s: newer is %v", c.name, got)
		}
	}
}

// A rising store fails the test when what it has of ann goes back.
type rising struct {
	shelf
	t *testing.T
}

func (s *rising) Save(ctx context.Context, records map[string][]byte) error {
	was := s.purse(s.t, 1).Ticks
	err := s.shelf.Save(ctx, records)
	if is := s.purse(s.t, 1).Ticks; err == nil && is < was {
		s.t.Errorf("the store had %d ticks of ann and has %d", was, is)
	}
	return err
}

// copied returns a store with the same records.
func (s *rising) copied() *rising {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &rising{shelf: shelf{records: maps.Clone(s.records)}, t: s.t}
}

// What is stored never goes back, however old the world is that a crash left: where the store is a
// little newer, the world goes on with what is stored, and where it is far newer, the room begins
// anew, and so it does for a player who has played elsewhere since.
func TestTheStoreDoesNotGoBack(t *testing.T) {
	for _, c := range []struct {
		name      string
		behind    time.Duration // the journal that is left is so much older than the store
		elsewhere bool          // meanwhile ann plays in a room of which nothing is left
		restored  bool
	}{
		{"a crash", 0, false, true},
		{"a slow disk", 3 * time.Second, false, true},
		{"a full disk", time.Minute, false, false},
		{"in another room", 3 * time.Second, true, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			rules, _ := miners(t)
			store := &rising{t: t}
			first := newStage(t, Config{Rules: rules, Journal: t.TempDir(), Store: store, SaveEvery: time.Second})
			ann := first.enter("ann", "here", 1)
			time.Sleep(7*time.Second + 500*time.Millisecond)
			synctest.Wait()
			left := copyOf(t, first.cfg.Journal)
			if c.elsewhere {
				ann.leave()
				<-ann.left
				ann = first.enter("ann", "there", 1)
			}
			time.Sleep(c.behind)
			synctest.Wait()
			then := store.copied()
			had := then.purse(t, 1).Ticks
			ann.leave()
			first.end()

			second := newStage(t, Config{Rules: rules, Journal: left, Store: then, SaveEvery: time.Second})
			time.Sleep(2 * time.Second)
			second.mu.Lock()
			restored := second.rooms["here"] != nil
			second.mu.Unlock()
			if restored != c.restored {
				t.Errorf("%s: the room is restored: %v", c.name, restored)
			}
			if log := second.log.String(); c.restored == strings.Contains(log, "newer than what was recorded") {
				t.Errorf("%s: the log says %s", c.name, log)
			}
			ann = second.enter("ann", "here", 1)
			time.Sleep(3 * time.Second)
			ann.leave()
			second.end()
			if got := then.purse(t, 1).Ticks; got < had+20 || c.name == "a crash" && got > had+80 {
				t.Errorf("%s: ann has %d ticks after five seconds more, and had %d", c.name, got, had)
			}
		})
	}
}

// While the store does not answer nobody knows what is newer: the host does not start, whether the
// store fails or says nothing at all, and the rooms stay on the disk.
func TestNoRoomWithoutItsStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules, _ := miners(t)
		store := &shelf{}
		first := newStage(t, Config{Rules: rules, Journal: t.TempDir(), Store: store})
		ann := first.enter("ann", "here", 1)
		time.Sleep(3 * time.Second)
		left := copyOf(t, first.cfg.Journal)
		ann.leave()
		first.end()
		store.set(func(s *shelf) { s.fail = fmt.Errorf("it is being moved") })
		_, err := New(Config{Rules: rules, Journal: left, Store: store})
		if err == nil || !strings.Contains(err.Error(), "did not answer") || !strings.Contains(err.Error(), "being moved") {
			t.Errorf("got %v", err)
		}
		store.set(func(s *shelf) { s.fail = nil })
		hung := &hungStore{release: make(chan struct{})}
		began := time.Now()
		if _, err := New(Config{Rules: rules, Journal: left, Store: hung}); err == nil || time.Since(began) > loadTimeout {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		close(hung.release)
		h, err := New(Config{Rules: rules, Journal: left, Store: store})
		if err != nil || len(h.restored) != 1 || h.restored[0].recorded.IsZero() {
			t.Errorf("%d rooms are restored: %v", len(h.restored), err)
		}
	})
}

// A disk stands still or is full when it is asked to, for every file that is created meanwhile.
type disk struct {
	mu    sync.Mutex
	still chan struct{} // closed: it goes on; nil: it does not stand still
	room  int           // bytes until it is full; negative: it is not
}

func (d *disk) create(path string) (segmentFile, error) {
	f, err := createFile(path)
	return &diskFile{f, d}, err
}

func (d *disk) set(still chan struct{}, room int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.still, d.room = still, room
}

type diskFile struct {
	segmentFile
	d *disk
}

func (f *diskFile) Write(b []byte) (int, error) {
	f.d.mu.Lock()
	still, room := f.d.still, f.d.room
	if room >= 0 {
		f.d.room -= min(len(b), room)
	}
	f.d.mu.Unlock()
	if still != nil {
		<-still
	}
	if room < 0 || len(b) <= room {
		return f.segmentFile.Write(b)
	}
	n, _ := f.segmentFile.Write(b[:room])
	return n, fmt.Errorf("no space left on device")
}

// A disk that stands still holds up nobody: neither the players, nor those who join again when their
// room has failed, nor the operator who asks for a moment.
func TestADiskThatStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{room: -1}
		s := newStage(t, Config{Journal: t.TempDir(), create: d.create})
		ann := s.join("ann", "")
		time.Sleep(3 * time.Second)
		goOn, stood := make(chan struct{}), time.Now()
		d.set(goOn, -1)
		time.Sleep(time.Second)
		save := func() {
			t.Helper()
			began := time.Now()
			if _, err := s.Save(""); err == nil || time.Since(began) > saveWait {
				t.Errorf("saved after %v: %v", time.Since(began), err)
			}
		}
		save() // as long as it waits
		time.Sleep(40*time.Second - time.Since(stood))
		synctest.Wait()
		r := s.room(DefaultRoom)
		if tick := r.srv.Tick(); tick < 42*30 {
			t.Errorf("the room is at tick %d after 43 s", tick)
		}
		if log := s.log.String(); !strings.Contains(log, "is not recorded until the next checkpoint") {
			t.Errorf("the log says %s", log)
		}
		save()                                                     // the queue is full
		r.call(func() { r.srv.History().Begin(r.srv.Tick() + 1) }) // now the next tick cannot be computed
		time.Sleep(time.Second)
		bob := s.join("bob", "")
		time.Sleep(time.Second)
		if next := s.room(DefaultRoom); next == nil || next == r || next.archive.dir <= r.archive.dir {
			t.Error("bob did not get a room of his own")
		}
		d.set(nil, -1)
		close(goOn)
		time.Sleep(time.Second)
		ann.leave()
		bob.leave()
		s.end()
		if n := s.unwritten.Load(); n != 0 {
			t.Errorf("%d bytes wait for ever", n)
		}
	})
}

// A disk that is full in the middle of a checkpoint, or of the log, leaves the rooms restorable from
// what came before; no torn files gather on it, and it is used again when it has room.
func TestADiskThatIsFull(t *testing.T) {
	for _, room := range []int{0, 40, 3000} { // a header has some 600 bytes, a checkpoint 8 kB
		synctest.Test(t, func(t *testing.T) {
			d := &disk{room: -1}
			s := newStage(t, Config{Journal: t.TempDir(), create: d.create})
			ann := s.join("ann", "")
			time.Sleep(34 * time.Second)
			d.set(nil, room)
			time.Sleep(110 * time.Second)
			synctest.Wait()
			files := segmentsOf(s.room(DefaultRoom).archive.dir)
			if len(files) > 4 {
				t.Errorf("%d bytes of room: %d files", room, len(files))
			}
			h, err := New(Config{Rules: s.cfg.Rules, Journal: copyOf(t, s.cfg.Journal)})
			if err != nil || len(h.restored) != 1 || h.restored[0].replay.Server.Tick() < 33*30 {
				t.Fatalf("%d bytes of room: %d rooms: %v", room, len(h.restored), err)
			}
			d.set(nil, -1)
			time.Sleep(40 * time.Second)
			path, err := s.Save("")
			if err != nil {
				t.Fatal(err)
			}
			replayed(t, path, s.cfg)
			ann.leave()
			s.end()
		})
	}
}

// A room is restored from the newest segments that it takes, and the others are not read.
func TestOldSegmentsAreNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Journal: t.TempDir()})
		ann := s.join("ann", "")
		time.Sleep(100 * time.Second)
		synctest.Wait()
		tick := s.room(DefaultRoom).srv.Tick()
		left := copyOf(t, s.cfg.Journal)
		ann.leave()
		s.end()
		files := segmentsOf(only(t, left, roomsDir, "*"))
		if len(files) != 4 {
			t.Fatalf("%q", files)
		}
		torn, err := os.ReadFile(files[3])
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range []struct {
			newest []byte
			from   clock.Tick
		}{{torn, tick - 9}, {torn[:100], tick - 400}, {torn[:len(torn)/2], tick - 400}} {
			dir := copyOf(t, left)
			files := segmentsOf(only(t, dir, roomsDir, "*"))
			for _, old := range files[:2] { // a folder cannot be read
				if err := os.Remove(old); err != nil {
					t.Fatal(err)
				}
				if err := os.Mkdir(old, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(files[3], c.newest, 0o600); err != nil {
				t.Fatal(err)
			}
			h, err := New(Config{Rules: s.cfg.Rules, Journal: dir})
			if err != nil || len(h.restored) != 1 || h.restored[0].replay.Server.Tick() < c.from {
				t.Errorf("case %d: %d rooms: %v", i, len(h.restored), err)
			}
		}
	})
}

// A room that ends this program while it is restored begins anew after some attempts; the rooms
// beside it are not counted.
func TestAttemptsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Journal: t.TempDir()})
		ann, bob := s.join("ann", "here"), s.join("bob", "there")
		time.Sleep(5 * time.Second)
		left := copyOf(t, s.cfg.Journal)
		ann.leave()
		bob.leave()
		s.end()
		for i := range maxRestarts + 1 {
			next := ""
			h, err := New(Config{Rules: s.cfg.Rules, Journal: left, create: func(path string) (segmentFile, error) {
				f, err := createFile(path)
				if strings.Contains(path, roomsDir+string(filepath.Separator)+"there.") {
					return &onClose{f, func() { next = copyOf(t, left) }}, err // as if this program ended here
				}
				return f, err
			}})
			want := 2
			if i == maxRestarts {
				want = 1
			}
			if err != nil || len(h.restored) != want {
				t.Fatalf("attempt %d: %d rooms: %v", i, len(h.restored), err)
			}
			for _, w := range h.restored {
				if w.name == "here" && w.header.Restarts != 0 || w.name == "there" && w.header.Restarts != i {
					t.Errorf("attempt %d: room %s has been restarted %d times", i, w.name, w.header.Restarts)
				}
			}
			left = next
		}
	})
}

type onClose struct {
	segmentFile
	f func()
}

func (c *onClose) Close() error {
	err := c.segmentFile.Close()
	c.f()
	return err
}

// A folder that is opened after the clock was set back is still the newest of its name.
func TestFoldersAfterTheClockWasSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		ahead := filepath.Join(dir, roomsDir, fmt.Sprintf("%s.%020d", DefaultRoom, time.Now().Add(time.Hour).UnixNano()))
		if err := os.MkdirAll(ahead, 0o700); err != nil {
			t.Fatal(err)
		}
		s := newStage(t, Config{Journal: dir})
		ann := s.join("ann", "")
		time.Sleep(time.Second)
		if now := s.room(DefaultRoom).archive.dir; now <= ahead {
			t.Errorf("%s is older than %s", now, ahead)
		}
		ann.leave()
		s.end()
	})
}

// The name of the run outlives a program that ended while it wrote it.
func TestTornRunFile(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, runFile)
	if err := os.WriteFile(run, []byte{1}, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(run+".new", []byte{2, 3}, 0o600); err != nil {
		t.Fatal(err)
	}
	first, err := New(Config{Rules: rules(t), Journal: dir})
	if err != nil {
		t.Fatal(err)
	}
	second, err := New(Config{Rules: rules(t), Journal: dir})
	if err != nil || first.name != second.name || first.name == [session.RunSize]byte{} {
		t.Errorf("%x and then %x: %v", first.name, second.name, err)
	}
}

// Rules that panic save what led to that, once in ten minutes, and do not displace what the operator
// saved. Rooms that could not be restored do not fill the disk.
func TestSavedMomentsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules, bankrupt := miners(t)
		s := newStage(t, Config{Rules: rules, Journal: t.TempDir()})
		ann := s.join("ann", "")
		time.Sleep(3 * time.Second)
		asked, err := s.Save("")
		if err != nil {
			t.Fatal(err)
		}
		s.room(DefaultRoom).call(bankrupt)
		time.Sleep(2 * time.Second)
		b, err := os.ReadFile(only(t, s.cfg.Journal, momentsDir, "*panic"+JournalSuffix))
		if err != nil || !bytes.Contains(b, []byte{journal.KindLog}) {
			t.Error(err)
		}
		r := s.room(DefaultRoom)
		for range keptMoments + 5 {
			done := make(chan error, 1)
			r.call(func() { r.saveMoment("panic", func(_ string, err error) { done <- err }) })
			if err := <-done; err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
		}
		if n := len(glob(t, s.cfg.Journal, momentsDir, "*panic"+JournalSuffix)); n != keptMoments {
			t.Errorf("%d moments are kept, want %d", n, keptMoments)
		}
		if _, err := os.Stat(asked); err != nil {
			t.Error(err)
		}
		ann.leave()
		s.end()
		for i := range keptLost + 4 {
			dir := filepath.Join(s.cfg.Journal, "x")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			s.putAside(dir, fmt.Sprintf("room%02d", i))
			time.Sleep(time.Second)
		}
		rest := glob(t, s.cfg.Journal, lostDir, "*")
		if len(rest) != keptLost || filepath.Base(rest[len(rest)-1]) != fmt.Sprintf("room%02d", keptLost+3) {
			t.Errorf("%q are kept", rest)
		}
	})
}

func glob(t *testing.T, pattern ...string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(pattern...))
	if err != nil {
		t.Fatal(err)
	}
	return names
}
