package scene

import (
	"testing"
	"time"

	"meanwhile/app/play"
	"meanwhile/examples/zap"
	"meanwhile/geom"
	"meanwhile/netsim"
)

// What the window shows at a pixel is where the mouse aims, wherever the camera is.
func TestViewThereAndBack(t *testing.T) {
	s := New()
	for _, me := range []geom.Vec2{{}, {X: 20, Y: 12}, {X: 40, Y: 24}} {
		s.Me, s.In = zap.Pilot{Pos: me}, true
		for range 300 {
			s.move(1.0 / 60)
		}
		v := s.View(1280, 720)
		x, y := v.At(me)
		if x < 0 || x > 1280 || y < 0 || y > 720 {
			t.Errorf("the avatar at %v is drawn at %v, %v, outside of the window", me, x, y)
		}
		if back := v.Place(int(x), int(y)); back.Sub(me).Len() > 0.1 {
			t.Errorf("%v is drawn at %v, %v, where the mouse points at %v", me, x, y, back)
		}
	}
}

// The camera glides after the avatar, and jumps where it was far away.
func TestCameraFollows(t *testing.T) {
	s := New()
	s.Me, s.In = zap.Pilot{Pos: geom.Vec2{X: 5, Y: 5}}, true
	s.move(1.0 / 60)
	if s.camera != s.Me.Pos {
		t.Errorf("the camera begins at %v, the avatar is at %v", s.camera, s.Me.Pos)
	}
	s.Me.Pos.X += 4
	s.move(1.0 / 60)
	if went := s.camera.X - 5; went <= 0 || went > 1 {
		t.Errorf("the camera went %v m in a frame, want a part of 4", went)
	}
	s.Me.Pos = geom.Vec2{X: 39, Y: 23}
	s.move(1.0 / 60)
	if s.camera != s.Me.Pos {
		t.Errorf("the camera slides across the field, to %v", s.camera)
	}
}

// A shot that was foreseen and did not happen is taken back; others stay.
func TestCancelledShot(t *testing.T) {
	s := New()
	s.shoot(play.ShownInfo{Mine: true, Number: 7}, zap.Zap{})
	s.shoot(play.ShownInfo{}, zap.Zap{})
	s.shoot(play.ShownInfo{Number: 7, Cancelled: true}, zap.Zap{})
	if len(s.Beams) != 1 || s.Beams[0].Mine {
		t.Errorf("beams are %+v, want the other one's alone", s.Beams)
	}
}

// A score that grew rises from its pilot; whoever was hit leaves a ring.
func TestScoresRise(t *testing.T) {
	s := New()
	p := Pilot{Pilot: zap.Pilot{Score: 3}}
	p.ID = 9
	s.note(&p)
	p.Score = 5
	s.note(&p)
	p.Score = 0
	s.note(&p)
	if len(s.Pops) != 2 || s.Pops[0].Text != "+2" || s.Pops[1].Text != "" {
		t.Errorf("pops are %+v, want +2 and a ring", s.Pops)
	}
}

func TestRankingAndAutopilot(t *testing.T) {
	s := New()
	s.Now = time.Minute // it shoots in every third second
	s.Me = zap.Pilot{Pos: geom.Vec2{X: 10, Y: 10}, Ammo: 3}
	for i, score := range []int{2, 9, 4} {
		p := Pilot{Pilot: zap.Pilot{Score: score, Pos: geom.Vec2{X: 10, Y: 10 + 5*float64(i)}}}
		p.Mine = i == 0
		s.Pilots = append(s.Pilots, p)
	}
	s.Gems = []Gem{{1, geom.Vec2{X: 30, Y: 10}}, {2, geom.Vec2{X: 8, Y: 10}}}
	if r := s.Ranking(); r[0].Score != 9 || r[1].Score != 4 || r[2].Score != 2 {
		t.Errorf("the ranking is %v", r)
	}
	c := s.Autopilot()
	if c.Move.X != -1 || c.Aim != (geom.Vec2{Y: 1}).Angle() || !c.Fire {
		t.Errorf("it wants %+v: to the nearest gem, at the nearest pilot", c)
	}
}

// The panel's key for the network goes once through all that there are, and back to the player's own.
func TestNetworksInTurn(t *testing.T) {
	seen := map[string]bool{}
	name := ""
	for range 20 {
		title := Choices(name, play.Techniques{NoRewind: true})[0].Value
		if seen[title] {
			break
		}
		seen[title] = true
		name = NextNetwork(name)
	}
	if name != "" || len(seen) != len(netsim.Presets())+1 || !seen["as it is"] || !seen["Across an ocean"] {
		t.Errorf("the networks are %v, the last one %q", seen, name)
	}
	if all := Choices("", play.Techniques{NoRewind: true}); all[3].Value != "off" || all[1].Value != "on" {
		t.Errorf("the choices are %v", all)
	}
}
