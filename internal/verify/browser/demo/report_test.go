package demo_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meanwhile/app/site"
	"meanwhile/demo"
	"meanwhile/examples/arena"
	"meanwhile/game"
	"meanwhile/host"
	"meanwhile/internal/verify/browser"
	"meanwhile/internal/verify/sites"
)

// A moment that a player reports is replayed to the same picture: every frame that the page drew in
// a browser is computed again, bit for bit, by this program, on a network that delays and loses.
func TestReportedMomentReplays(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: a report of a page in a browser")
	}
	state := t.TempDir()
	rules := sites.Rules(t, &arena.Game)
	s, _ := sites.Serve(t, site.Config{
		Door: site.Door{State: state, KeepRooms: true}, Pages: []fs.FS{demo.Files},
		Host:     host.Config{Rules: rules, Bots: 7, Seed: 3},
		Handlers: map[string]http.Handler{"GET /arena/map.json": site.Static("application/json", arena.MapJSON())},
	}, sites.Program(t, "demo/client", "arena"))
	p := browser.New(t)
	p.Open(s.URL() + "?profile=lte-c")
	p.WaitFor(ready + " && g.stats.rttMs > 0")
	p.Eval(`{ // a hand plays, after the bot has
		window.drawn = 0
		const { draw } = g
		g.draw = world => { draw(world); drawn++ }
		0
	}`, nil)
	p.WaitFor("drawn > 60")
	p.Eval(`g.autopilot = false; g.keys.press("KeyD"); g.keys.press("Space"); g.set("playoutMs", 150); drawn = 0`, nil)
	p.WaitFor("drawn > 60")
	p.Eval(`g.autopilot = true; g.set("playoutMs", 0); drawn = 0`, nil)
	p.WaitFor("drawn > 30")
	// What the page shows in the frame of the report.
	var shown struct {
		Name  string
		Log   bool
		Me    game.ID
		Delay float64
		Pos   struct{ X, Y, Z float64 }
	}
	p.Eval(`new Promise((done, fail) => {
		const { draw } = g
		g.draw = world => {
			draw(world)
			g.draw = draw
			const it = { me: g.me.id, delay: g.stats.delayMs, pos: { ...g.me.pos } }
			g.report().then(({ name, log }) => done({ name, log, ...it }), fail)
		}
	})`, &shown)
	if !shown.Log || shown.Name == "" {
		t.Fatalf("%+v", shown)
	}
	// The key says what became of it: this comes too soon after the first. It comes before the
	// replays, which may last longer than a player must wait between two reports.
	p.Eval(`document.dispatchEvent(new KeyboardEvent("keydown", { code: "F8" }))`, nil)
	p.WaitFor(`/too often/.test(g.notice.text)`)
	p.Errors() // the browser's own line about the answer
	p.Screenshot("reported")
	dir := filepath.Join(state, "journal", "reports", shown.Name)
	picture := filepath.Join(t.TempDir(), "picture.svg")
	rows := replayReport(t, rules, dir, "--frame", "last", "--picture", picture, "--playout", "300ms")
	var frames, me int
	for _, r := range rows {
		switch {
		case r["same"] != nil:
			frames = int(r["frames"].(float64))
			if r["same"] != true || r["reported_frame"] != r["frames"] {
				t.Errorf("the page's replay: %v", r)
			}
		case r["stats"] != nil:
			if got := r["stats"].(map[string]any)["delayMs"]; got != shown.Delay {
				t.Errorf("the playout delay is %v, on the page it was %v", got, shown.Delay)
			}
		case r["entity"] == float64(shown.Me):
			me++
			if r["x"] != shown.Pos.X || r["y"] != shown.Pos.Y || r["z"] != shown.Pos.Z {
				t.Errorf("the avatar is at %v, on the page it was at %v", r, shown.Pos)
			}
		}
	}
	if frames < 150 || me != 1 {
		t.Errorf("%d frames, %d own avatars", frames, me)
	}
	if b, err := os.ReadFile(picture); err != nil || !bytes.Contains(b, []byte("#e8b339")) {
		t.Errorf("the picture has nothing of the server: %v", err)
	}
	// The room of the same folder replays, too.
	if rows := replayReport(t, rules, dir); rows[len(rows)-1]["same"] != true || rows[len(rows)-1]["ticks"] == nil {
		t.Errorf("the room's replay: %v", rows[len(rows)-1])
	}
}

// replayReport runs the command replay, which must find everything the same, and returns its rows.
func replayReport(t *testing.T, rules *game.Rules, args ...string) (rows []map[string]any) {
	t.Helper()
	var out, errs strings.Builder
	if code := site.ReplayGame(t.Context(), rules, append(args, "--json"), &out, &errs); code != 0 {
		t.Errorf("exit status %d: %s", code, errs.String())
	}
	for lines := bufio.NewScanner(strings.NewReader(out.String())); lines.Scan(); {
		var row map[string]any
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if os.Getenv("MEANWHILE_SHOW") != "" {
		t.Log(out.String())
	}
	return rows
}
