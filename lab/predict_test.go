package lab

import (
	"testing"

	"meanwhile/examples/kick"
	"meanwhile/game"
	"meanwhile/netcode/clock"
)

// Influence travels along contacts up to the newest exact state that the client had of each link.
func TestInfluenceTravelsByContact(t *testing.T) {
	const me, other, ball, crate = game.ID(1), game.ID(2), game.ID(10), game.ID(11)
	for _, c := range []struct {
		name    string
		touches map[clock.Tick][2]game.ID
		marks   map[clock.Tick][2]game.ID // by, id
		starved clock.Tick                // without the own command
		want    cause
	}{
		{"nothing", nil, nil, 0, clean},
		{"my own push", map[clock.Tick][2]game.ID{98: {me, ball}}, nil, 0, clean},
		{"another's push", map[clock.Tick][2]game.ID{98: {other, ball}}, nil, 0, touched},
		{"before the newest state", map[clock.Tick][2]game.ID{96: {other, ball}}, nil, 0, clean},
		{"through a crate", map[clock.Tick][2]game.ID{98: {crate, ball}, 93: {other, crate}}, nil, 0, touched},
		{"before the crate's", map[clock.Tick][2]game.ID{98: {crate, ball}, 89: {other, crate}}, nil, 0, clean},
		{"the referee", nil, map[clock.Tick][2]game.ID{99: {0, ball}}, 0, touched},
		{"another's kick", nil, map[clock.Tick][2]game.ID{99: {other, ball}}, 0, touched},
		{"my kick", nil, map[clock.Tick][2]game.ID{99: {me, ball}}, 0, clean},
		{"my kick while others push me", map[clock.Tick][2]game.ID{98: {other, me}},
			map[clock.Tick][2]game.ID{99: {me, ball}}, 0, touched},
		{"my push before my newest state",
			map[clock.Tick][2]game.ID{99: {crate, ball}, 98: {me, crate}, 95: {me, crate}}, nil, 94, starved},
		{"my push after a missing command", map[clock.Tick][2]game.ID{98: {me, ball}}, nil, 97, starved},
	} {
		m := &football{avatars: map[game.ID]bool{me: true, other: true}}
		w := &spectator{match: m, me: me, known: map[game.ID][]clock.Tick{me: {90, 96}, ball: {90, 96}, crate: {90}}}
		w.predicts = func(game.ID, clock.Tick) bool { return true }
		for tick, p := range c.touches {
			m.oracle.server.ticks[tick] = pairs{tick, [][2]game.ID{p}}
		}
		for tick, p := range c.marks {
			m.oracle.mark(tick, p[0], p[1])
		}
		for t := clock.Tick(1); t <= 100; t++ {
			w.ran.note(t, kick.Cmd{Sprint: true})
			m.oracle.run(t, me, kick.Cmd{Sprint: t != c.starved})
		}
		if got, _ := w.cause(ball, 100); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// Whether a player kicks depends on where the ball is, on the server and in the prediction.
func TestKickDependsOnTheBall(t *testing.T) {
	const me, other, ball = game.ID(1), game.ID(2), game.ID(10)
	for name, kick := range map[string]func(*spectator){
		"nobody":     nil,
		"the client": func(w *spectator) { w.kicked[98] = 98 },
		"the server": func(w *spectator) { w.match.oracle.mark(98, me, ball) },
	} {
		m := &football{avatars: map[game.ID]bool{me: true, other: true}, ball: ball}
		w := &spectator{match: m, me: me, known: map[game.ID][]clock.Tick{me: {96}, ball: {90}}}
		w.predicts = func(game.ID, clock.Tick) bool { return true }
		m.oracle.server.ticks[93] = pairs{93, [][2]game.ID{{other, ball}}}
		want := clean
		if kick != nil {
			kick(w)
			want = touched
		}
		if got, _ := w.cause(me, 100); got != want {
			t.Errorf("%s kicked: %d, want %d", name, got, want)
		}
	}
}

// Seconds of both games: nothing is wrong by itself, and rockets appear within a tick.
func TestPredictShort(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: a minute of virtual time")
	}
	for _, o := range rows(t, "predict", "--quick", "--profile", "loopback,wifi", "--policy", "meanwhile") {
		if o.Metrics["clean_mispredictions"] != 0 || o.Metrics["judged"] < 500 ||
			o.Metrics["spawn_latency_max_ms"] > 34 {
			t.Errorf("%+v", o)
		}
	}
}
