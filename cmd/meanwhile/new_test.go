package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"meanwhile/app/dev"
	"meanwhile/app/site"
	"meanwhile/client"
	"meanwhile/examples/steps/step6"
	"meanwhile/headless"
	"meanwhile/internal/verify/process"
	"meanwhile/netcode/clock"
	"meanwhile/transport"
	"meanwhile/transport/websocket"
)

// writeGame writes a new game into a folder of its own and returns that.
func writeGame(t *testing.T, name string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), name)
	files, err := gameFiles(name, dir, root)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeFiles(dir, files); err != nil {
		t.Fatal(err)
	}
	return dir
}

// in runs the go command in a folder, as somebody without a network would.
func in(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// A new game compiles and passes its own test, without a download.
func TestNewGame(t *testing.T) {
	dir := writeGame(t, "sky-race")
	in(t, dir, "vet", "./...")
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: the new game's own test")
	}
	in(t, dir, "test", "-short", "./...")
}

func TestNewGameNames(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Mkdir("there", 0o777); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"":                      "is not 1 to 32 lower-case letters",
		"Pilots":                "is not 1 to 32",
		"7up":                   "with a letter first",
		"a/B":                   "the name \"B\" is not 1 to 32",
		"there/race":            "",
		"..":                    "is not 1 to 32",
		strings.Repeat("a", 33): "is not 1 to 32",
		"time":                  "choose another, such as time-game",
		"meanwhile":             "means something else to Go",
		"there":                 "there is already something called there here",
		strings.Repeat("a", 32): "",
		"sky-race":              "",
	} {
		g := newGame{name}
		err := g.check()
		if err == nil {
			err = g.write(root, io.Discard)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("new %q: %v, want %q", name, err, want)
		}
	}
	for _, dir := range []string{"sky-race", "there/race"} {
		mod, err := os.ReadFile(dir + "/go.mod")
		if err != nil || !bytes.HasPrefix(mod, []byte("module "+path.Base(dir)+"\n")) {
			t.Errorf("%s: %v\n%s", dir, err, mod)
		}
	}
}

// written keeps what several write.
type written struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *written) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(b)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// edit replaces a text of a file.
func edit(t *testing.T, name, from, to string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil || !bytes.Contains(b, []byte(from)) {
		t.Fatalf("%s has no %q: %v", name, from, err)
	}
	if err := os.WriteFile(name, bytes.Replace(b, []byte(from), []byte(to), 1), 0o666); err != nil {
		t.Fatal(err)
	}
}

// The first minute of whoever writes a game: a new game is played under dev, a typing error is
// shown in the page while the game goes on, a changed rule holds as soon as it is saved, in the
// world as it was, and a second player joins. Nothing waits for time alone.
func TestDev(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: a new game is built, edited and played")
	}
	began := time.Now()
	now := func() clock.Time { return clock.Time(time.Since(began)) }
	dir := writeGame(t, "pilots")
	rules := filepath.Join(dir, "game.go")
	t.Setenv("GOWORK", "off")
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	errs := &written{}
	ended := make(chan int, 1)
	address := "127.0.0.1:" + process.Port(t)
	go func() {
		ended <- dev.In(ctx, name, []string{dir, "--addr", address, "--bots", "0"}, w, errs)
		w.Close()
	}()
	defer func() {
		if t.Failed() {
			t.Logf("dev said:\n%s", errs.String())
		}
	}()
	end := func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("dev ended with status %d", code)
		}
	}
	defer func() { end() }()
	lines := bufio.NewScanner(r)
	if !lines.Scan() {
		end = func() {}
		t.Fatalf("dev printed no address: status %d", <-ended)
	}
	url := lines.Text()

	// until waits for what pages are shown.
	until := func(what string, is func(s *site.DevStatus) bool) {
		t.Helper()
		var s site.DevStatus
		for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			response, err := http.Get(url + "meanwhile/dev/status")
			if err != nil {
				continue // between two programs
			}
			err = json.NewDecoder(response.Body).Decode(&s)
			response.Body.Close()
			if err == nil && is(&s) {
				return
			}
		}
		t.Fatalf("%s: never; the page is shown %+v", what, s)
	}
	game, err := step6.Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context) (transport.Conn, error) {
		return websocket.Dial(ctx, "ws://"+address+transport.Path, websocket.DialConfig{Clock: now})
	}
	play := func(name string, bot client.BotFunc) *headless.Player {
		t.Helper()
		conn, err := dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p, err := headless.Join(t.Context(), conn, headless.Config{Rules: game, Clock: now, Name: name, Bot: bot, Dial: dial})
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = p.Run(ctx) }()
		return p
	}
	// see returns the score that a player sees of the one with a name, -1 if it sees nobody of it,
	// and how many gems.
	see := func(p *headless.Player, name string) (score, gems int) {
		score = -1
		p.Do(func(c *client.Client) {
			for _, pilot := range step6.Pilots.All(c.World()) {
				if pilot.Name == name {
					score = pilot.Score
				}
			}
			gems = step6.Gems.Len(c.World())
		})
		return score, gems
	}
	waitFor := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Minute); !done(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: never", what)
			}
		}
	}

	ann := play("ann", game.Bot())
	waitFor("ann collects a gem", func() bool { score, _ := see(ann, "ann"); return score > 0 })

	edit(t, rules, "Gems.Len(w) < 12", "Gems.Len(w) < twelve")
	until("the page shows what the compiler says", func(s *site.DevStatus) bool {
		return s.Build == 1 && strings.Contains(s.Error, "game.go:") && strings.Contains(s.Error, "undefined: twelve")
	})
	edit(t, rules, "Gems.Len(w) < twelve", "Gems.Len(w) < 40")
	edit(t, rules, "game.Kinds(Pilots, Gems)", "game.Kinds(Pilots)")
	until("a kind that is not listed is named", func(s *site.DevStatus) bool {
		return s.Build == 1 && strings.Contains(s.Error, `kind "gem" (main.Gem), made at pilots/game.go:`)
	})
	score, _ := see(ann, "ann")

	edit(t, rules, "game.Kinds(Pilots)", "game.Kinds(Pilots, Gems)")
	until("the new program runs", func(s *site.DevStatus) bool { return s.Build == 2 && s.Error == "" && s.Note == "" })
	ben := play("ben", nil) // it stands still, and does not shoot at ann
	waitFor("ben sees the new rule hold, and ann in the world as it was", func() bool {
		is, gems := see(ben, "ann")
		return gems > 20 && is >= score
	})
	t.Logf("%v from nothing to a second player with a changed rule", time.Since(began).Round(time.Second/10))

	edit(t, rules, `Score int        `+"`net:\"int,0..999\"`", `Score int        `+"`net:\"int,0..9999\"`")
	until("a changed state is said to begin anew", func(s *site.DevStatus) bool {
		return s.Build == 3 && strings.Contains(s.Note, "another form")
	})
	alarms := regexp.MustCompile(`level=(WARN|ERROR) msg=".*(journal|restored).*`)
	if alarm := alarms.FindString(errs.String()); alarm != "" {
		t.Errorf("dev says more than that its world began anew: %s", alarm)
	}
	if said := errs.String(); strings.Contains(said, "Players on this machine") {
		t.Errorf("each program says what players get: %s", said)
	}
	edit(t, filepath.Join(dir, "web", "game.js"), "lineWidth = 0.12", "lineWidth = 0.2")
	until("a changed page is loaded anew", func(s *site.DevStatus) bool { return s.Build == 3 && s.Page > 0 })
}
