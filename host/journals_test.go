package host

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/headless"
	"meanwhile/host/journal"
	"meanwhile/netcode/clock"
	"meanwhile/session"
	"meanwhile/transport"
)

// copyOf copies a folder, as a crash leaves it.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// only returns the only file or folder of a pattern.
func only(t *testing.T, pattern ...string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(pattern...))
	if err != nil || len(names) != 1 {
		t.Fatalf("%v: %q, want one: %v", pattern, names, err)
	}
	return names[0]
}

// sums notes the sum of a room's world after each tick, until the test ends.
type sums struct {
	of   map[clock.Tick]uint64
	stop atomic.Bool
}

func (s *sums) watch(r *room) {
	for !s.stop.Load() && r.call(func() { s.of[r.srv.Tick()] = r.srv.Engine().Sum() }) {
		time.Sleep(5 * time.Millisecond)
	}
}

// A room goes on where a crash left it: its world is bit-equal to that of the room that did not
// crash, at most a quarter of a second old, and its players come back to their avatars.
func TestARoomGoesOnAfterACrash(t *testing.T) {
	for _, span := range []time.Duration{5 * time.Second, 40 * time.Second} { // without a checkpoint, and with one
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			before := newStage(t, Config{Journal: dir, Bots: 2})
			var now atomic.Pointer[stage]
			now.Store(before)
			dial := func(context.Context) (transport.Conn, error) { return now.Load().dial(), nil }
			conn, _ := dial(t.Context())
			returns, kept := atomic.Int64{}, atomic.Bool{}
			ann, err := headless.Join(t.Context(), conn, headless.Config{Rules: before.cfg.Rules, Clock: before.Clock(),
				Name: "ann", Bot: before.cfg.Rules.Bot(), Dial: dial, OnReturn: func(w session.Welcome, _ bool) {
					returns.Add(1)
					kept.Store(w.Kept)
				}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, leave := context.WithCancel(context.Background())
			left := make(chan error, 1)
			go func() { left <- ann.Run(ctx) }()
			seen := &sums{of: map[clock.Tick]uint64{}}
			watched := make(chan struct{})
			go func() { defer close(watched); seen.watch(before.room(DefaultRoom)) }()
			time.Sleep(span)
			var crashed clock.Tick
			before.room(DefaultRoom).call(func() { crashed = before.room(DefaultRoom).srv.Tick() })
			avatar := before.avatar(ann.ID())
			left1 := copyOf(t, dir)
			time.Sleep(100 * time.Millisecond)
			seen.stop.Store(true)
			<-watched

			h, err := New(Config{Rules: before.cfg.Rules, Journal: copyOf(t, left1)})
			if err != nil || len(h.restored) != 1 {
				t.Fatalf("%d rooms were restored: %v", len(h.restored), err)
			}
			srv := h.restored[0].replay.Server
			if was, ok := seen.of[srv.Tick()]; !ok || was != srv.Engine().Sum() {
				t.Errorf("tick %d: another world than before the crash", srv.Tick())
			}
			if srv.Tick()+clock.Tick(srv.Rules().Rate)/4 < crashed {
				t.Errorf("it goes on at tick %d and crashed after %d", srv.Tick(), crashed)
			}
			after := newStage(t, Config{Journal: left1, Bots: 2})
			now.Store(after)
			time.Sleep(time.Millisecond)
			r := after.room(DefaultRoom)
			r.call(func() {
				if r.humans != 1 || !r.order[0].absent() || r.order[0].name != "ann" {
					t.Errorf("%d players", r.humans)
				}
			})
			ann.Conn().Close("") // as the crash did
			time.Sleep(3 * time.Second)
			if returns.Load() != 1 || kept.Load() || after.avatar(ann.ID()) != avatar || avatar == 0 {
				t.Errorf("after %d returns, kept %v, ann has avatar %d, and had %d", returns.Load(), kept.Load(),
					after.avatar(ann.ID()), avatar)
			}
			time.Sleep(31 * time.Second) // the journal of the restored room is a journal, too
			path, err := after.Save("")
			if err != nil {
				t.Fatal(err)
			}
			replayed(t, path, after.cfg)
			leave()
			<-left
			before.end()
			after.end()
			if rest, _ := filepath.Glob(filepath.Join(left1, roomsDir, "*")); len(rest) != 0 {
				t.Errorf("rooms that have ended left %q", rest)
			}
		})
	}
}

// replayed replays a saved moment.
func replayed(t *testing.T, path string, cfg Config) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := journal.Parse(b)
	if err != nil || f.Torn != nil {
		t.Fatal(err, f.Torn)
	}
	r, err := journal.Restore(cfg.Rules, f)
	if err != nil {
		t.Fatal(err)
	}
	first, last, _ := f.Ends()
	if r.Server.Tick() != last || last < first+30 {
		t.Errorf("the moment has ticks %d to %d and was replayed to %d", first, last, r.Server.Tick())
	}
}

// A room that was restored by a host with other settings is recorded as it is: after the next crash
// it goes on from there, and its restarts are counted.
func TestCrashAfterOtherSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newStage(t, Config{Journal: t.TempDir(), Players: 8})
		ann := first.join("ann", "")
		time.Sleep(5 * time.Second)
		left := copyOf(t, first.cfg.Journal)
		ann.leave()
		first.end()
		second := newStage(t, Config{Journal: left, Players: 16})
		time.Sleep(5 * time.Second)
		synctest.Wait()
		tick := second.room(DefaultRoom).srv.Tick()
		last := copyOf(t, left)
		second.end()
		h, err := New(Config{Rules: first.cfg.Rules, Journal: last})
		if err != nil || len(h.restored) != 1 {
			t.Fatalf("%d rooms were restored: %v", len(h.restored), err)
		}
		w := h.restored[0]
		if w.replay.Server.Tick()+clock.Tick(first.cfg.Rules.Rate)/4 < tick || w.header.Restarts != 1 {
			t.Errorf("it goes on at tick %d after %d restarts, and crashed after %d", w.replay.Server.Tick(),
				w.header.Restarts, tick)
		}
	})
}

// A player whom two restored worlds have, as it changed rooms just before a crash, is in one of
// them: what lasts of it has one home.
func TestAPlayerOfTwoWorlds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules, _ := miners(t)
		first := newStage(t, Config{Rules: rules, Journal: t.TempDir(), Store: &shelf{}})
		ann := first.enter("ann", "here", 1)
		time.Sleep(3 * time.Second)
		left := copyOf(t, first.cfg.Journal)
		ann.leave()
		first.end()
		here := only(t, left, roomsDir, "here.*")
		there := strings.Replace(here, "here.", "there.", 1)
		if err := os.CopyFS(there, os.DirFS(here)); err != nil {
			t.Fatal(err)
		}
		second := newStage(t, Config{Rules: rules, Journal: left, Store: &shelf{}})
		time.Sleep(time.Second)
		humans := 0
		for _, name := range []string{"here", "there"} {
			if r := second.room(name); r != nil {
				r.call(func() { humans += r.humans })
			}
		}
		if humans != 1 {
			t.Errorf("%d players go on, want one", humans)
		}
		second.end()
	})
}

// What is left of a room that cannot be restored is put aside, with the reason in the log, and the
// room begins anew.
func TestUnsoundJournals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := newStage(t, Config{Journal: dir})
		ann := s.join("ann", "")
		time.Sleep(5 * time.Second)
		left := copyOf(t, dir)
		ann.leave()
		s.end()
		for _, c := range []struct {
			name  string
			spoil func(segment string, b []byte) []byte
			want  string
		}{
			{"empty", func(_ string, b []byte) []byte { return nil }, "it is empty"},
			{"no header", func(_ string, b []byte) []byte { b[3] ^= 1; return b }, "checksum"},
			{"torn", func(_ string, b []byte) []byte { return b[:len(b)-7] }, ""},
			{"other build", func(segment string, _ []byte) []byte {
				c := journal.Chunk{Kind: journal.KindHeader,
					Payload: []byte(`{"Format":"meanwhile journal 2","Game":"zap","Build":"abc"}`)}
				b, err := c.Append(nil)
				if err != nil {
					t.Error(err)
				}
				return b
			}, "another build of the program, abc"},
		} {
			dir := copyOf(t, left)
			segment := only(t, dir, roomsDir, DefaultRoom+".*", "*"+JournalSuffix)
			b, err := os.ReadFile(segment)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(segment, c.spoil(segment, b), 0o600); err != nil {
				t.Fatal(err)
			}
			s := newStage(t, Config{Journal: dir})
			bob := s.join("bob", "")
			time.Sleep(time.Second)
			synctest.Wait()
			tick := s.room(DefaultRoom).srv.Tick()
			aside := filepath.Join(dir, lostDir, DefaultRoom)
			_, err = os.Stat(aside)
			if anew := c.want != ""; anew != (err == nil) || anew != (tick < 60) || !strings.Contains(s.log.String(), c.want) {
				t.Errorf("%s: at tick %d, put aside: %v; %s", c.name, tick, err, s.log)
			}
			bob.leave()
			s.end()
		}
	})
}

// A room of another schema begins anew and is put aside, which is an error; under dev, whose author
// has just changed the schema, it is one sentence.
func TestRoomOfAnotherSchema(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := t.TempDir()
		s := newStage(t, Config{Journal: left})
		ann := s.join("ann", "")
		time.Sleep(5 * time.Second)
		left = copyOf(t, left)
		ann.leave()
		s.end()
		def := zap.Game
		def.Events = append(slices.Clip(def.Events), game.NewEvent[struct {
			Loud bool `net:"bool"`
		}]("crack"))
		other, err := def.Rules()
		if err != nil {
			t.Fatal(err)
		}
		for anyBuild, want := range map[bool]string{false: "level=ERROR", true: "level=INFO"} {
			dir := copyOf(t, left)
			s := newStage(t, Config{Journal: dir, Rules: other, AnyBuild: anyBuild})
			s.end()
			_, err := os.Stat(filepath.Join(dir, lostDir, DefaultRoom))
			said := ""
			for line := range strings.Lines(s.log.String()) {
				if strings.Contains(line, "begins anew") {
					said += line
				}
			}
			if strings.Count(said, "\n") != 1 || !strings.Contains(said, want) || err != nil ||
				anyBuild == strings.Contains(s.log.String(), "level=ERROR") {
				t.Errorf("any build %v: %v; %s", anyBuild, err, s.log)
			}
		}
	})
}

// A room whose disk fails says so and runs on; it is recorded again once the disk works.
func TestNoRoomOnTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := newStage(t, Config{Journal: dir})
		blocked := filepath.Join(dir, roomsDir)
		if err := os.RemoveAll(blocked); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(blocked, nil, 0o600); err != nil { // a file in the place of the folder
			t.Fatal(err)
		}
		ann := s.join("ann", "")
		time.Sleep(5 * time.Second)
		if log := s.log.String(); !strings.Contains(log, "cannot be recorded") || !strings.Contains(log, "is not recorded") {
			t.Errorf("the log says %s", log)
		}
		if err := os.Remove(blocked); err != nil {
			t.Fatal(err)
		}
		time.Sleep(40 * time.Second)
		if log := s.log.String(); !strings.Contains(log, "is recorded again") {
			t.Errorf("the log says %s", log)
		}
		path, err := s.Save("")
		if err != nil {
			t.Fatal(err)
		}
		replayed(t, path, s.cfg)
		synctest.Wait()
		if s.room(DefaultRoom).srv.Tick() < 40*30 {
			t.Error("the room did not run on")
		}
		ann.leave()
		s.end()
	})
}

// A world that failed leaves what led to that, whose replay fails in the same tick.
func TestFailedWorldIsSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := newStage(t, Config{Journal: dir})
		ann := s.join("ann", "")
		time.Sleep(3 * time.Second)
		defer ann.leave()
		r := s.room(DefaultRoom)
		r.call(func() { r.srv.History().Begin(r.srv.Tick() + 1) }) // now the next tick cannot be computed
		time.Sleep(3 * time.Second)
		path := only(t, dir, momentsDir, "*failed"+JournalSuffix)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := journal.Parse(b); err != nil {
			t.Error(err)
		}
		if rest, _ := filepath.Glob(filepath.Join(dir, roomsDir, "*")); len(rest) != 0 {
			t.Errorf("a room that has failed would be restored from %q", rest)
		}
		s.end()
	})
}
