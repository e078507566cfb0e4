package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/headless"
	"meanwhile/session"
)

// sparse makes a file of many bytes that takes none of the disk, written so long after the year 2026
// began.
func sparse(t *testing.T, path string, bytes int64, at time.Duration) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	when := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(at)
	if err := f.Truncate(bytes); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
}

// Who has most gives way, with its oldest: by number, and by bytes.
func TestMakePlace(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		name   string
		have   string // owners, the oldest first
		mb     int64  // of each
		number int
		owner  string
		bytes  int64
		left   string
	}{
		{"there is place", "abc", 1, 4, "d", mb, "abc"},
		{"one has most", "abaac", 1, 5, "d", mb, "baac"},
		{"with the new one", "bacab", 1, 5, "a", mb, "bcab"},
		{"all have one", "abcd", 1, 4, "e", mb, "bcd"},
		{"too many of one", "aaaab", 1, 3, "a", mb, "ab"},
		{"too many bytes", "abbacb", 200, 20, "d", 24 * mb, "abacb"},
		{"the new one has many", "abcde", 180, 20, "e", 200 * mb, "abcd"},
		{"of one who had none", "abcd", 240, 20, "e", 250 * mb, "bcd"},
	} {
		dir := t.TempDir()
		for i, owner := range c.have {
			sparse(t, filepath.Join(dir, fmt.Sprintf("%d%c-x", i, owner)), c.mb*mb, time.Duration(i)*time.Minute)
		}
		sparse(t, filepath.Join(dir, "other"), 2*keptBytes, 0) // of another reason
		makePlace(dir, "-x", c.number, c.owner, c.bytes, func(path string) string { return filepath.Base(path)[1:2] })
		left := ""
		for _, path := range pathsIn(dir, "-x") {
			left += filepath.Base(path)[1:2]
		}
		if left != c.left {
			t.Errorf("%s: %s is left, want %s", c.name, left, c.left)
		}
		if _, err := os.Stat(filepath.Join(dir, "other")); err != nil {
			t.Error(err)
		}
	}
}

// Of a room that records too much the newest segments are saved; and where not even the newest one
// fits, an error says how large it is, and how large it may be.
func TestNewestSegments(t *testing.T) {
	a := &archive{name: "den", dir: t.TempDir()}
	if segments, bytes, err := a.newest(); len(segments) != 0 || bytes != 0 || err != nil {
		t.Errorf("without a segment: %v, %d bytes: %v", segments, bytes, err)
	}
	for i := range 4 {
		sparse(t, segmentPath(a.dir, i), maxSaved/3, 0)
	}
	segments, bytes, err := a.newest()
	if want := a.segments()[1:]; err != nil || bytes != maxSaved/3*3 || !slices.Equal(segments, want) {
		t.Errorf("%v, %d bytes: %v; want %v", segments, bytes, err, want)
	}
	sparse(t, segmentPath(a.dir, 4), maxSaved+1, 0)
	if _, _, err = a.newest(); err == nil || !strings.Contains(err.Error(), fmt.Sprint(maxSaved+1)) ||
		!strings.Contains(err.Error(), fmt.Sprint("at most ", maxSaved)) {
		t.Error(err)
	}
}

// One address that reports all the time pushes out its own reports, and nobody else's.
func TestReportsOfAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Journal: t.TempDir()})
		old := func(name, address string, at time.Duration) string {
			dir := filepath.Join(s.cfg.Journal, reportsDir, name)
			from := filepath.Join(dir, reportFrom)
			sparse(t, from, 0, 0)
			if err := os.WriteFile(from, []byte(address), 0o600); err != nil {
				t.Fatal(err)
			}
			when := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(at)
			if err := os.Chtimes(dir, when, when); err != nil {
				t.Fatal(err)
			}
			return dir
		}
		bob := old("bob", "198.51.100.1", 0)
		for i := range keptReports - 1 {
			old(fmt.Sprint("ann-", i), "203.0.113.7", time.Duration(i+1)*time.Minute)
		}
		s.from("203.0.113.7")
		p, err := headless.Join(t.Context(), s.dial(), headless.Config{Rules: s.cfg.Rules, Clock: s.Clock(), Name: "ann"})
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = p.Run(t.Context()) }()
		time.Sleep(time.Second)
		var key [session.KeySize]byte
		r := s.room(DefaultRoom)
		r.call(func() { key = r.players[p.ID()].back.keys[0].key })
		var newest []string
		for range 2 {
			dir, _, err := s.Report(DefaultRoom, key)
			if err != nil {
				t.Fatal(err)
			}
			newest = append(newest, dir)
			time.Sleep(reportSpacing)
		}
		list := pathsIn(filepath.Join(s.cfg.Journal, reportsDir), "")
		for _, dir := range append(newest, bob) {
			if !slices.Contains(list, dir) {
				t.Errorf("%s is not kept", dir)
			}
		}
		if len(list) != keptReports {
			t.Errorf("%d reports are kept", len(list))
		}
		s.end()
	})
}

// Who watches a room has it computed twice, so that counts as a room that the address opened. The
// default room may always be watched.
func TestGalleriesOfAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Spectators: 4, WatchLate: time.Second, RoomsPerAddress: 2, Grace: time.Second})
		stay := func(address, room string) {
			s.from(address)
			p, err := headless.Join(t.Context(), s.dial(),
				headless.Config{Rules: s.cfg.Rules, Clock: s.Clock(), Name: "ann", Room: room})
			if err != nil {
				t.Fatal(err)
			}
			go func() { _ = p.Run(t.Context()) }()
		}
		for i := range 3 {
			stay(fmt.Sprintf("198.51.100.%d", i), fmt.Sprintf("r%d", i))
		}
		stay("198.51.100.4", "")
		time.Sleep(3 * time.Second)
		var eves []*visitor
		watch := func(address, room string) error {
			s.from(address)
			v, err := s.watch("eve", room)
			if err == nil {
				eves = append(eves, v)
			}
			return err
		}
		for _, room := range []string{"r0", "r1", "r1", ""} {
			if err := watch("203.0.113.7", room); err != nil {
				t.Errorf("room %q: %v", room, err)
			}
		}
		if err := refusedFor(watch("203.0.113.7", "r2"), session.Busy, "2 rooms"); err != nil {
			t.Error(err)
		}
		if err := watch("203.0.113.8", "r2"); err != nil {
			t.Errorf("from another address: %v", err)
		}
		if err := watch("203.0.113.7", "r2"); err != nil {
			t.Errorf("a gallery that is open: %v", err)
		}
		for _, v := range eves {
			v.leave()
		}
		time.Sleep(2 * RoomRefill)
		if err := watch("203.0.113.7", "r2"); err != nil {
			t.Errorf("after the galleries have ended: %v", err)
		}
		for _, v := range eves[len(eves)-1:] {
			v.leave()
		}
		s.stop()
		if err := <-s.done; err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.opened) != 0 {
			t.Errorf("%v are still counted", s.opened)
		}
	})
}
