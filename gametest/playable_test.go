package gametest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netsim"
)

// noted is a test that keeps what it is failed with.
type noted struct {
	gametest.TB
	failures []string
}

func (n *noted) Errorf(format string, args ...any) {
	n.failures = append(n.failures, fmt.Sprintf(format, args...))
}

func TestMustBePlayable(t *testing.T) {
	m := gametest.New(t, &zap.Game, 7)
	for range 4 {
		m.Join("bot", netsim.HotelWiFi, zap.Bot)
	}
	m.Run(10 * time.Second)
	m.MustBePlayable(t)
	q := m.Quality()
	if text := q.String(); !strings.Contains(text, "agreement") || !strings.Contains(text, " kbit/s ") ||
		strings.Count(text, "\n") != 18 {
		t.Errorf("the table of a match:\n%s", text)
	}
	for line := range strings.Lines(q.String()) {
		if len(line) > 120 {
			t.Errorf("wider than 120 columns: %s", line)
		}
	}

	// On a network that loses most packets it must not.
	network := netsim.TrainLTE
	network.Down.Loss = netsim.Loss{InGood: 0.6, InBad: 0.6}
	bad := gametest.New(t, &zap.Game, 7)
	for range 4 {
		bad.Join("bot", network, zap.Bot)
	}
	bad.Run(20 * time.Second)
	n := &noted{TB: t}
	if bad.MustBePlayable(n); len(n.failures) != 1 || !strings.Contains(n.failures[0], "not playable: ") {
		t.Errorf("a match on a bad network: %q\n%s", n.failures, bad.Quality())
	}
}

type (
	digger struct {
		Depth int `net:"int,0..9999"`
	}
	shout struct {
		Depth int `net:"int,0..9999"`
	}
)

// A match whose players are shown other events than the server's names these; one without such
// events does not boast of agreement.
func TestUnplayableNamesTheEvent(t *testing.T) {
	diggers, shouts := game.NewKind[digger]("digger"), game.NewEvent[shout]("shout")
	def := game.Definition[dribble]{
		Name: "diggers", Kinds: game.Kinds(diggers), Events: game.Events(shouts),
		Join: func(w *game.World, _ string) game.ID { return diggers.Spawn(w, digger{}) },
		Act: func(w *game.World, me game.ID, c dribble) {
			for id, d := range diggers.All(w) { // how deep the others are now, which no client knows
				if id != me && c.Move.X > 0 && w.Tick()%10 == 0 {
					shouts.Emit(w, me, geom.Vec2{}, shout{d.Depth})
				}
			}
		},
		Step: func(w *game.World) {
			for _, d := range diggers.All(w) {
				d.Depth = (d.Depth + 1) % 10000
			}
		},
	}
	play := func(move geom.Vec2) (gametest.Quality, []string) {
		m := gametest.New(t, &def, 3)
		m.AllowMispredictions()
		for range 2 {
			m.Join("bot", netsim.HotelWiFi, func(*game.World, game.ID) dribble { return dribble{move} })
		}
		m.Run(10 * time.Second)
		n := &noted{TB: t}
		m.MustBePlayable(n)
		return m.Quality(), n.failures
	}
	if q, failures := play(geom.Vec2{X: 1}); len(failures) != 1 || !strings.Contains(failures[0], "with 0.0 %") ||
		!strings.Contains(failures[0], fmt.Sprintf("(shout 0 of %d)", q.Shots)) {
		t.Errorf("%q\n%s", failures, q)
	}
	if q, failures := play(geom.Vec2{}); len(failures) != 0 || !strings.Contains(q.String(), "there was no shot") {
		t.Errorf("without events: %q\n%s", failures, q)
	}
}
