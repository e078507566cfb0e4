package gametest_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netsim"
)

// recorder is a test that keeps its failures.
type recorder struct {
	name     string
	cleanups []func()
	errors   []string
	logs     []string
}

func (r *recorder) Helper()          {}
func (r *recorder) Name() string     { return r.name }
func (r *recorder) Failed() bool     { return len(r.errors) > 0 }
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Logf(format string, args ...any) {
	r.logs = append(r.logs, fmt.Sprintf(format, args...))
}
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// end runs the cleanups and returns all errors.
func (r *recorder) end() string {
	for _, f := range r.cleanups {
		f()
	}
	return strings.Join(r.errors, "\n")
}

// playZap plays the quickstart's match with an Act that change makes of the game's own.
func playZap(change func(act func(*game.World, game.ID, zap.Cmd)) func(*game.World, game.ID, zap.Cmd),
	prepare func(m *gametest.Match[zap.Cmd])) *recorder {
	t := &recorder{name: "TestZap"}
	def := zap.Game
	def.Act = change(def.Act)
	m := gametest.New(t, &def, 7)
	m.Join("ann", netsim.HotelWiFi, zap.Bot)
	for range 3 {
		m.Join("bot", netsim.TrainLTE, zap.Bot)
	}
	prepare(m)
	m.Run(10 * time.Second)
	return t
}

// Rules that use math/rand, or a variable of their own, predict something else than the server
// decides. A match then fails and names the property, even if the game can be played well.
func TestMatchFailsOnRulesThatAreNotDeterministic(t *testing.T) {
	type act = func(*game.World, game.ID, zap.Cmd)
	steps := 0
	cases := map[string]struct {
		change func(act) act
		want   string // named in the error; "": no error
	}{
		"as it is": {func(a act) act { return a }, ""},
		"math/rand": {func(a act) act {
			return func(w *game.World, me game.ID, c zap.Cmd) {
				a(w, me, c)
				p := zap.Pilots.Get(w, me)
				p.Vel = p.Vel.Mul(1 + 0.001*rand.Float64())
			}
		}, "Vel predicted as"},
		"a variable": {func(a act) act {
			return func(w *game.World, me game.ID, c zap.Cmd) {
				a(w, me, c)
				if steps++; steps%100 == 0 {
					zap.Pilots.Get(w, me).Ready += 2
				}
			}
		}, "Ready predicted as"},
	}
	for name, c := range cases {
		rec := playZap(c.change, func(*gametest.Match[zap.Cmd]) {})
		errs := rec.end()
		if c.want == "" {
			if errs != "" {
				t.Errorf("%s: %s", name, errs)
			}
			continue
		}
		for _, want := range []string{c.want, "World.Rand", "AllowMispredictions"} {
			if !strings.Contains(errs, want) {
				t.Errorf("%s: the error does not say %q:\n%s", name, want, errs)
			}
		}
		if n := strings.Count(errs, "gave pilot.Vel as"); name == "math/rand" && n != 1 {
			t.Errorf("%s: the line is named %d times, not once for all clients:\n%s", name, n, errs)
		}
		if len(rec.logs) == 0 || rec.logs[len(rec.logs)-1] != "replay: go test -run '^TestZap$' -match.seed=7" {
			t.Errorf("%s: no replay command in %q", name, rec.logs)
		}
		allowed := playZap(c.change, (*gametest.Match[zap.Cmd]).AllowMispredictions)
		if errs := allowed.end(); strings.Contains(errs, "predictions were wrong") {
			t.Errorf("%s, allowed: %s", name, errs)
		}
	}
}

// A panic of the rules and a mistake in the definition fail a match too.
func TestMatchFailsOnPanicsOfRules(t *testing.T) {
	rec := playZap(func(act func(*game.World, game.ID, zap.Cmd)) func(*game.World, game.ID, zap.Cmd) {
		return func(w *game.World, me game.ID, c zap.Cmd) {
			if act(w, me, c); w.Tick() == 400 {
				panic("no pilot")
			}
		}
	}, func(*gametest.Match[zap.Cmd]) {})
	if errs := rec.end(); !strings.Contains(errs, "Act of game \"zap\" panicked at tick 400: no pilot") {
		t.Errorf("errors %q", errs)
	}
	defer func() {
		if err := fmt.Sprint(recover()); !strings.Contains(err, "Rate 1000 is outside") {
			t.Errorf("a wrong Rate: %s", err)
		}
	}()
	def := zap.Game
	def.Rate = 1000
	gametest.New(&recorder{}, &def, 1)
}

// A respawn that the client did not foresee corrects its prediction by tens of metres.
// CorrectionP99 leaves it out, as it is a teleport.
func TestCorrectionsLeaveTeleportsOut(t *testing.T) {
	type soul struct {
		Pos geom.Vec2 `net:"pos,others=1cm"`
	}
	type walk struct {
		Move geom.Vec2 `net:"stick,5bit"`
	}
	for _, cut := range []bool{true, false} {
		souls := game.NewKind[soul]("soul")
		def := game.Definition[walk]{
			Name: "limbo", Kinds: game.Kinds(souls),
			Join: func(w *game.World, name string) game.ID { return souls.Spawn(w, soul{}) },
			Act: func(w *game.World, me game.ID, c walk) {
				p := souls.Get(w, me)
				p.Pos = p.Pos.Add(c.Move.Mul(3 * w.Dt()))
			},
			Referee: func(w *game.World) {
				for id, p := range souls.All(w) {
					if w.Tick()%90 == 0 {
						if p.Pos.X += 30; cut {
							w.Cut(id)
						}
					}
				}
			},
		}
		m := gametest.New(t, &def, 3)
		m.Join("ann", netsim.Ocean, func(w *game.World, me game.ID) walk { return walk{geom.Vec2{Y: 1}} })
		m.Run(20 * time.Second)
		q := m.Quality()
		if far := q.CorrectionP99 > 20; far == cut || q.Corrections < 5 {
			t.Errorf("teleports marked as such: %v; %d corrections of %.1f m", cut, q.Corrections, q.CorrectionP99)
		}
	}
}
