package journal

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"meanwhile/examples/arena"
	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/server"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// goldenFile is a journal in which every entry stands.
var goldenFile = filepath.Join("testdata", fmt.Sprintf("version-%d.journal", version))

// goldenJournal records each call once.
func goldenJournal(t *testing.T, rules *game.Rules) (b []byte) {
	t.Helper()
	put := func(c Chunk) bool {
		var err error
		if b, err = c.Append(b); err != nil {
			t.Error(err)
		}
		return true
	}
	s, err := New(rules, server.Config{Seed: 1, Secret: 2, Clients: 3, Room: "lobby"},
		Header{Build: "a build", World: 7, Started: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)}, put)
	if err != nil {
		t.Fatal(err)
	}
	const ms = clock.Time(time.Millisecond)
	rec := rules.Saved(false).NewRecord(true)
	rec.SetMark("1.7.9")
	s.Note(0, []byte("of the room"))
	id, _, _ := s.Connect(3*ms, "ann")
	s.SetRecord(id, rec)
	s.SetLimits(id, server.Limits{Budget: 8000, Send: 20, Rewind: 100 * time.Millisecond})
	s.SetPeriod(20 * time.Millisecond)
	s.Receive(id, 4*ms, []byte("no datagram"))
	s.Dropped(id, 300)
	s.Begin(17 * ms)
	s.Beat(id, 20*ms, 12)
	s.LeaveAt(19 * ms)
	var out server.Outbox
	s.Encode(0, s.Clients(), &out)
	s.End()
	s.Suspend(id, 33*ms)
	s.Resume(id, 34*ms, true)
	s.Disconnect(id)
	s.Flush()
	return b
}

// dump returns a journal as text: its header, and the bytes of each entry but for sums of ticks, which
// change with what the world sends.
func dump(t *testing.T, b []byte) string {
	t.Helper()
	f, err := Parse(b)
	if err != nil || f.Torn != nil {
		t.Fatal(err, f.Torn)
	}
	h := f.Header
	h.Text, h.Hash = "", 0 // those of arena
	text := fmt.Sprintf("%+v\n", h)
	for _, c := range f.Chunks() {
		text += fmt.Sprintf("chunk %c to tick %d, %d ns\n", c.Kind, c.tick, c.time)
		for in := (reader{b: c.Payload}); len(in.b) > 0; {
			all := in.b
			name := in.pass(t)
			entry := fmt.Sprintf("% x", all[:len(all)-len(in.b)])
			if name == "end" {
				entry = entry[:5] + " (sum)"
			}
			text += fmt.Sprintf("%-10s %s\n", name, entry)
		}
	}
	return text
}

// pass reads an entry and returns its name.
func (r *reader) pass(t *testing.T) string {
	t.Helper()
	numbers := func(n int) {
		for range n {
			r.number()
		}
	}
	defer func() {
		if r.err != nil {
			t.Fatal(r.err)
		}
	}()
	switch kind := r.entry(); kind {
	case entryConnect:
		r.time()
		r.bytes()
		numbers(1)
		return "connect"
	case entryDisconnect:
		numbers(1)
		return "disconnect"
	case entrySuspend:
		numbers(2)
		return "suspend"
	case entryResume:
		numbers(3)
		return "resume"
	case entryReceive:
		numbers(2)
		r.bytes()
		return "receive"
	case entryDropped:
		numbers(2)
		return "dropped"
	case entryLimits:
		numbers(5)
		return "limits"
	case entryRecord:
		numbers(3)
		r.bytes()
		r.bytes()
		return "record"
	case entryPeriod:
		numbers(1)
		return "period"
	case entryBegin:
		numbers(1)
		return "begin"
	case entryLeave:
		numbers(1)
		return "leave"
	case entryBeat:
		numbers(3)
		return "beat"
	case entryEnd:
		numbers(1)
		r.word()
		return "end"
	case entryNote:
		numbers(1)
		r.bytes()
		return "note"
	default:
		t.Fatalf("entry %d", kind)
		return ""
	}
}

// The journal's format is that of the golden file: one that was written then is read now, and what is
// written now is the same. A change is a new version.
func TestGolden(t *testing.T) {
	rules, err := arena.Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	is := goldenJournal(t, rules)
	text := strings.TrimSuffix(goldenFile, ".journal") + ".txt"
	if *update {
		for name, b := range map[string][]byte{goldenFile: is, text: []byte(dump(t, is))} {
			if err := os.WriteFile(name, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	was, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(text)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"written now": is, "written then": was} {
		if got := dump(t, b); got != string(want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

// A journal of another version is refused by a sentence that names both.
func TestOtherVersions(t *testing.T) {
	for _, c := range []struct{ says, want string }{
		{"meanwhile journal 1", "it has version 1, older than version 2, which this program reads"},
		{"meanwhile journal 3", "it has version 3, newer than version 2, which this program reads"},
		{"meanwhile journal 02", `its header says "meanwhile journal 02", not "meanwhile journal 2"`},
		{"a diary", `its header says "a diary"`},
		{"", `its header says ""`},
	} {
		h := Header{Format: c.says, Game: "zap"}
		b, err := h.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.says, err)
		}
	}
}
