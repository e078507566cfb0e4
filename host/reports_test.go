package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/headless"
	"meanwhile/host/journal"
	"meanwhile/session"
)

// A player's report saves what its room recorded: for whoever has the player's key, not too often,
// and not without end.
func TestReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "st[a") // nothing in the name of a folder is a pattern
		s := newStage(t, Config{Journal: dir, Bots: 1})
		for i := range keptReports {
			name := filepath.Join(dir, reportsDir, fmt.Sprintf("old-%d", i))
			if err := os.MkdirAll(name, 0o700); err != nil {
				t.Fatal(err)
			}
			long := time.Now().Add(-time.Hour).Add(time.Duration(i) * time.Minute)
			if err := os.Chtimes(name, long, long); err != nil {
				t.Fatal(err)
			}
		}
		ann, err := headless.Join(t.Context(), s.dial(), headless.Config{Rules: s.cfg.Rules, Clock: s.Clock(), Name: "ann"})
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = ann.Run(t.Context()) }()
		time.Sleep(time.Second)
		var key [session.KeySize]byte
		r := s.room(DefaultRoom)
		r.call(func() { key = r.players[ann.ID()].back.keys[0].key })
		if _, _, err := s.Report("nowhere", key); !errors.Is(err, ErrNoRoom) {
			t.Error(err)
		}
		wrong := key
		wrong[session.KeySize-1] ^= 1
		for _, k := range [][session.KeySize]byte{wrong, {}} {
			if _, _, err := s.Report(DefaultRoom, k); !errors.Is(err, ErrStranger) {
				t.Error(err)
			}
		}
		saved, by, err := s.Report(DefaultRoom, key)
		if err != nil || by != ann.ID() {
			t.Fatalf("player %d: %v", by, err)
		}
		b, err := os.ReadFile(filepath.Join(saved, "room"+JournalSuffix))
		if err != nil {
			t.Fatal(err)
		}
		f, err := journal.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		if f.Torn != nil {
			t.Fatal(f.Torn)
		}
		if _, last, _ := f.Ends(); int(last) < s.cfg.Rules.Rate*9/10 {
			t.Errorf("it ends with tick %d", last)
		}
		if _, _, err := s.Report(DefaultRoom, key); !errors.Is(err, ErrTooOften) {
			t.Error(err)
		}
		time.Sleep(reportSpacing)
		if _, _, err := s.Report(DefaultRoom, key); err != nil {
			t.Errorf("after %v: %v", reportSpacing, err)
		}
		time.Sleep(reportSpacing)
		for s.reports.Take(struct{}{}) { // what others report
			continue
		}
		if _, _, err := s.Report(DefaultRoom, key); !errors.Is(err, ErrTooOften) {
			t.Errorf("after as many reports as all players may make: %v", err)
		}
		list, err := os.ReadDir(filepath.Join(dir, reportsDir))
		if err != nil || len(list) != keptReports {
			t.Errorf("%d reports are kept: %v", len(list), err)
		}
		if _, err := os.Stat(saved); err != nil {
			t.Errorf("an old one was kept in place of a new one: %v", err)
		}
		s.end()
	})
}

// A server that records no rooms says so.
func TestNoReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{})
		if _, _, err := s.Report(DefaultRoom, [session.KeySize]byte{}); !errors.Is(err, ErrNotRecorded) {
			t.Error(err)
		}
		s.end()
	})
}
