// Package scene is what moves on the screen beside what the client draws: camera, beams and sparks.
// It needs no window.
package scene

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"meanwhile/app/play"
	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/geom"
)

// The Field of zap, in metres.
var Field = geom.Vec2{X: 40, Y: 24}

const (
	viewWidth = 27.0 // how much of the Field is seen across, in metres
	follow    = 6.0  // how fast the camera follows, per second
	BeamLasts = 220 * time.Millisecond
	PopLasts  = 900 * time.Millisecond
)

// A Scene is what moves on the screen beyond what the client draws: camera, beams and sparks. It
// has no window.
type Scene struct {
	Now    time.Duration // of this frame
	camera geom.Vec2     // middle of what is seen
	placed bool          // the camera has been at the avatar
	Me     zap.Pilot
	In     bool // the avatar is known
	Pilots []Pilot
	Gems   []Gem
	Beams  []Beam
	Pops   []Pop
	scores map[game.ID]int
}

type Pilot struct {
	play.DrawnInfo
	zap.Pilot
	Name string
	Hue  float64 // 0 to 1
}

type Gem struct {
	ID game.ID
	At geom.Vec2
}

// A Beam is a shot that fades.
type Beam struct {
	zap.Zap
	Mine   bool
	number uint32
	Born   time.Duration
}

// A Pop is a text that rises and fades, or a ring that grows.
type Pop struct {
	At   geom.Vec2
	Text string
	Born time.Duration
}

func New() *Scene {
	return &Scene{camera: Field.Mul(0.5), scores: map[game.ID]int{}}
}

// Look takes over what a frame of the client shows. dt is since the frame before.
func (s *Scene) Look(c *play.Client[zap.Cmd], dt time.Duration) {
	s.Now += dt
	s.Pilots, s.Gems, s.In = s.Pilots[:0], s.Gems[:0], false
	for e, g := range zap.Gems.Drawn(c) {
		s.Gems = append(s.Gems, Gem{e.ID, g.Pos})
	}
	for e, p := range zap.Pilots.Drawn(c) {
		v := Pilot{DrawnInfo: e, Pilot: p, Name: fmt.Sprintf("Pilot %d", e.ID), Hue: math.Mod(float64(e.ID)*0.381966, 1)}
		if e.Mine {
			s.Me, s.In, v.Name = p, true, "You"
		}
		s.note(&v)
		s.Pilots = append(s.Pilots, v)
	}
	for e, z := range zap.Zaps.Shown(c) {
		s.shoot(e, z)
	}
	s.Beams = slices.DeleteFunc(s.Beams, func(b Beam) bool { return s.Now-b.Born > BeamLasts })
	s.Pops = slices.DeleteFunc(s.Pops, func(p Pop) bool { return s.Now-p.Born > PopLasts })
	s.move(dt.Seconds())
}

// note lets a score that grew rise from its pilot.
func (s *Scene) note(p *Pilot) {
	if was, ok := s.scores[p.ID]; ok && p.Score > was {
		s.Pops = append(s.Pops, Pop{p.Pos, fmt.Sprintf("+%d", p.Score-was), s.Now})
	} else if ok && (p.Cut || p.Score < was) {
		s.Pops = append(s.Pops, Pop{p.Pos, "", s.Now})
	}
	s.scores[p.ID] = p.Score
}

// shoot shows a beam, or takes one back that was foreseen and has not happened.
func (s *Scene) shoot(e play.ShownInfo, z zap.Zap) {
	if e.Cancelled {
		s.Beams = slices.DeleteFunc(s.Beams, func(b Beam) bool { return b.number == e.Number && e.Number != 0 })
		return
	}
	s.Beams = append(s.Beams, Beam{z, e.Mine, e.Number, s.Now})
}

// move lets the camera follow the avatar, and look a little ahead of it.
func (s *Scene) move(dt float64) {
	if !s.In {
		return
	}
	want := s.Me.Pos.Add(s.Me.Vel.Mul(0.25))
	if !s.placed || want.Sub(s.camera).Len() > viewWidth {
		s.camera, s.placed = want, true
	}
	s.camera = s.camera.Add(want.Sub(s.camera).Mul(1 - math.Exp(-follow*dt)))
}

// Ranking returns the pilots by score, the best first.
func (s *Scene) Ranking() []Pilot {
	best := slices.Clone(s.Pilots)
	slices.SortStableFunc(best, func(a, b Pilot) int { return cmp.Compare(b.Score, a.Score) })
	return best
}

// A View turns metres into pixels.
type View struct {
	middle        geom.Vec2 // in metres
	width, height float64   // of the window, in pixels
	Scale         float64   // pixels in a metre
}

func (s *Scene) View(width, height int) View {
	v := View{s.camera, float64(width), float64(height), float64(width) / viewWidth}
	const edge = 2.0 // what is seen beyond the Field, in metres
	limit := func(at, half, size float64) float64 {
		if 2*half > size+2*edge {
			return size / 2
		}
		return min(max(at, half-edge), size+edge-half)
	}
	v.middle.X = limit(v.middle.X, v.width/v.Scale/2, Field.X)
	v.middle.Y = limit(v.middle.Y, v.height/v.Scale/2, Field.Y)
	return v
}

// At returns where a place is in the window.
func (v *View) At(p geom.Vec2) (x, y float32) {
	return float32((p.X-v.middle.X)*v.Scale + v.width/2), float32((p.Y-v.middle.Y)*v.Scale + v.height/2)
}

// Place is the way back.
func (v *View) Place(x, y int) geom.Vec2 {
	return geom.Vec2{X: (float64(x)-v.width/2)/v.Scale + v.middle.X, Y: (float64(y)-v.height/2)/v.Scale + v.middle.Y}
}

// Px returns metres in pixels.
func (v *View) Px(metres float64) float32 { return float32(metres * v.Scale) }

// Autopilot plays from what is on the screen.
func (s *Scene) Autopilot() (c zap.Cmd) {
	best := math.Inf(1)
	for _, g := range s.Gems {
		if way := g.At.Sub(s.Me.Pos); way.Len() < best {
			best, c.Move = way.Len(), way.Unit()
		}
	}
	best = math.Inf(1)
	for _, p := range s.Pilots {
		if way := p.Pos.Sub(s.Me.Pos); !p.Mine && way.Len() < best {
			best, c.Aim = way.Len(), way.Angle()
		}
	}
	c.Fire = best < 9 && s.Me.Ammo > 1 && int(s.Now/time.Second)%3 == 0
	return c
}
