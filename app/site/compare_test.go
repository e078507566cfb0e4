package site

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/host"
	"meanwhile/host/journal"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
	"meanwhile/server"
)

// replaying makes this test program replay with the rules of zap.
const replaying = "SITE_TEST_REPLAYS"

// replayZap is the command replay of a program that plays zap.
func replayZap() int {
	rules, err := zap.Game.Rules()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	return ReplayGame(context.Background(), rules, os.Args[2:], os.Stdout, os.Stderr)
}

// slower returns the rules of zap, but that pilots fly at 8.1 m/s and not at 9 for a second, from a
// tick on.
func slower(t *testing.T, from game.Tick) *game.Rules {
	t.Helper()
	d := zap.Game
	d.Act = func(w *game.World, me game.ID, c zap.Cmd) {
		if w.Tick() >= from && w.Tick() < from+30 {
			c.Move = c.Move.Mul(0.9)
		}
		zap.Game.Act(w, me, c)
	}
	return rulesOf(t, &d)
}

func rulesOf[C any](t *testing.T, d *game.Definition[C]) *game.Rules {
	t.Helper()
	rules, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// recordZap writes a match of zap into a file, as another build of the program would have. It has a
// checkpoint where it begins if whole is false.
func recordZap(t *testing.T, d time.Duration, build string, whole bool) (path string) {
	t.Helper()
	var b []byte
	cut := !whole
	sim, err := gametest.NewSim(rulesOf(t, &zap.Game), 4, server.Config{})
	if err == nil {
		err = sim.Record(func(c journal.Chunk) bool {
			if c.Kind == journal.KindHeader {
				var h journal.Header
				if err := json.Unmarshal(c.Payload, &h); err != nil {
					t.Error(err)
				}
				h.Build = build
				if c.Payload, err = json.Marshal(&h); err != nil {
					t.Error(err)
				}
			}
			if cut = cut && c.Kind != journal.KindCheckpoint; cut && c.Kind == journal.KindLog {
				return true
			}
			b, err = c.Append(b)
			return err == nil
		})
	}
	for i := range 4 {
		if err == nil {
			_, err = sim.Join(fmt.Sprintf("p%d", i), netsim.LAN, client.BotFunc(sim.Rules.Bot()))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	sim.Run(d)
	path = filepath.Join(t.TempDir(), "zap"+host.JournalSuffix)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// replayed is what the command printed.
type replayed struct {
	code   int
	rows   []map[string]any
	stderr string
}

func replayFile(t *testing.T, rules *game.Rules, args ...string) (r replayed) {
	t.Helper()
	var out, errs bytes.Buffer
	r.code = ReplayGame(t.Context(), rules, append(args, "--json"), &out, &errs)
	r.stderr = errs.String()
	for line := range strings.Lines(out.String()) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		r.rows = append(r.rows, row)
	}
	return r
}

// of returns the rows of a what-if of one sort.
func (r *replayed) of(sort string) (rows []map[string]any) {
	for _, row := range r.rows {
		if row["what_if"] == sort {
			rows = append(rows, row)
		}
	}
	return rows
}

// A log of another build plays on with the rules of this one, past its checkpoints, and both worlds
// are compared in every tick with the program that recorded it.
func TestReplayWithAnotherRule(t *testing.T) {
	const from = 200
	path := recordZap(t, 40*time.Second, "before", true)
	t.Setenv(replaying, "1")
	r := replayFile(t, slower(t, from), path, "--against", os.Args[0])
	if r.code != 1 || !strings.Contains(r.stderr, "recorded by build before") {
		t.Errorf("exit status %d: %s", r.code, r.stderr)
	}
	parts, apart := r.of("parts"), r.of("apart")
	if len(parts) == 0 || len(apart) < 30 || len(r.of("player")) != 4 || len(r.of("event")) == 0 {
		t.Fatalf("%d differences, %d lines, %d players, %d events", len(parts), len(apart), len(r.of("player")),
			len(r.of("event")))
	}
	first := parts[0]
	if first["tick"] != float64(from) || first["kind"] != "pilot" ||
		first["property"] != "Pos" && first["property"] != "Vel" {
		t.Errorf("the first difference is %v", first)
	}
	var most []float64
	for _, row := range apart {
		most = append(most, row["most_m"].(float64))
	}
	// What followed is there to the end, beyond the checkpoint of the recorded world.
	if last := apart[len(apart)-1]; most[0] > 0.1 || slices.Max(most) < 3 || last["other"] == 0.0 {
		t.Errorf("apart by %v, in the end %v", most, last)
	}
	// Without that program the first other tick is found by what was sent, and worlds are compared
	// at the checkpoint that follows.
	r = replayFile(t, slower(t, from), path)
	differs, apart := r.of("differs"), r.of("apart")
	if r.code != 1 || len(differs) != 1 || len(apart) != 1 || len(r.of("parts")) == 0 {
		t.Fatalf("exit status %d: %v", r.code, r.rows)
	}
	if tick := differs[0]["tick"].(float64); tick < from || tick > from+3 {
		t.Errorf("the first other tick is %v", tick)
	}
	if tick := apart[0]["tick"].(float64); tick < 30*30 || tick > 30*30+30 {
		t.Errorf("compared at %v", tick)
	}
	// A log that begins with a checkpoint.
	path = recordZap(t, 40*time.Second, "before", false)
	r = replayFile(t, slower(t, 1000), path, "--against", os.Args[0])
	if parts := r.of("parts"); r.code != 1 || len(parts) == 0 || parts[0]["tick"] != float64(1000) {
		t.Errorf("exit status %d: %v", r.code, parts)
	}
}

// A build with the same rules, and one with rules that change nothing, say that all is the same.
func TestReplayWithTheSameRules(t *testing.T) {
	path := recordZap(t, 5*time.Second, "before", true)
	t.Setenv(replaying, "1")
	for _, args := range [][]string{{path}, {path, "--against", os.Args[0]}} {
		r := replayFile(t, slower(t, clock.Tick(1<<30)), args...)
		if r.code != 0 || len(r.rows) != 1 || r.rows[0]["same"] != true {
			t.Errorf("%q: exit status %d: %v%s", args, r.code, r.rows, r.stderr)
		}
	}
}

// Another schema, a program that recorded something else, and one that is no such program are each
// refused in a sentence.
func TestReplayAgainstOthers(t *testing.T) {
	path := recordZap(t, 2*time.Second, "before", true)
	d := zap.Game
	d.Rate = 60
	for _, c := range []struct {
		rules *game.Rules
		args  []string
		code  int
		want  string
	}{
		{rulesOf(t, &d), []string{path}, 2, "it is of another schema of zap"},
		{slower(t, 1), []string{path, "--against", filepath.Join(t.TempDir(), "none")}, 1, "no such file"},
		{slower(t, 1), []string{path, "--against", "/bin/true"}, 1, "its replay ended early"},
		{slower(t, 1), []string{path, "--against", "/bin/true", "--kbit", "20"}, 2, "does not go with other settings"},
	} {
		r := replayFile(t, c.rules, c.args...)
		if r.code != c.code || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%q: exit status %d: %s", c.args, r.code, r.stderr)
		}
	}
}
