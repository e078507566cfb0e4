package recipes

import (
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netsim"
)

// A ball that players run into answers at once on a train, and both sides agree on it afterwards.
func TestBallAnswersAtOnce(t *testing.T) {
	m := gametest.New(t, &Football, 5)
	ann := m.Join("ann", netsim.TrainLTE, Chase)
	m.Join("ben", netsim.HotelWiFi, func(w *game.World, me game.ID) Run { return Run{} })
	ball := func(w *game.World) (at Ball, ok bool) {
		for _, b := range Balls.All(w) {
			return *b, true
		}
		return at, false
	}
	kicks, first := 0, 0
	ann.OnFrame = func() {
		if ann.Me() == 0 {
			return
		}
		own, ok := ball(ann.Client.World())
		server, known := ball(m.Server())
		if !ok || !known {
			return
		}
		switch near := Kickers.Get(ann.Client.World(), ann.Me()).Pos.Dist(own.Pos) < touch+0.2; {
		case near && own.Vel != (geom.Vec2{}):
			if kicks++; server.Vel != own.Vel {
				first++ // the server does not know of it yet
			}
		}
	}
	m.Run(40 * time.Second)
	m.MustBePlayable(t)
	b, _ := ball(m.Server())
	t.Logf("%d frames at the ball, %d before the server; %d:%d", kicks, first, b.West, b.East)
	if kicks == 0 || first == 0 {
		t.Errorf("%d frames at the rolling ball, in %d of them it rolls otherwise than at the server: "+
			"it does not answer at once", kicks, first)
	}
	if b.West+b.East == 0 {
		t.Error("no goal in 40 s")
	}
}

// With eight players at one ball most kicks come second. That is no fault of the network, so the
// match asks for the rest alone: it is smooth, and no prediction is wrong without another player.
func TestEightAtOneBall(t *testing.T) {
	m := gametest.New(t, &Football, 5)
	for i := range 8 {
		m.Join(string(rune('a'+i)), []netsim.Profile{netsim.HotelWiFi, netsim.Ocean}[i%2], Chase)
	}
	m.Run(60 * time.Second)
	q := m.Quality()
	t.Logf("%d kicks, of which the server agreed with %.0f %%", q.Shots, 100*q.Agreement)
	if q.Shots < 20 || q.HitchesPerMin > 3 || q.CorrectionP99 > 1 {
		t.Errorf("not playable:\n%s", q)
	}
}
