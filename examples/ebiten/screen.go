package main

import (
	"context"
	"image/png"
	"os"
	"time"

	"github.com/hajimehoshi/ebiten/v2"
	"github.com/hajimehoshi/ebiten/v2/inpututil"

	"meanwhile/app/play"
	"meanwhile/examples/ebiten/scene"
	"meanwhile/examples/zap"
	"meanwhile/geom"
)

// A screen is the game as Ebitengine runs it.
type screen struct {
	wish   wish
	scene  *scene.Scene
	client *play.Client[zap.Cmd] // nil: not in
	joined chan joined
	say    string // why there is nothing to see
	last   time.Time
	began  time.Time
	paint  *painter
	size   struct{ x, y int }
	done   bool // the picture was taken
}

// joined is what came of joining.
type joined struct {
	client *play.Client[zap.Cmd]
	err    error
}

func newScreen(w wish) *screen {
	return &screen{wish: w, scene: scene.New(), joined: make(chan joined, 1), say: "Connecting…", began: time.Now(),
		last: time.Now(), paint: newPainter()}
}

// join connects while the window says so.
func (s *screen) join(dial func(context.Context) (*play.Client[zap.Cmd], error)) {
	ctx, cancel := context.WithTimeout(context.Background(), joinTimeout)
	defer cancel()
	c, err := dial(ctx)
	s.joined <- joined{c, err}
}

// Update implements ebiten.Game. It runs once for each frame.
func (s *screen) Update() error {
	now := time.Now()
	dt := now.Sub(s.last)
	s.last = now
	if inpututil.IsKeyJustPressed(ebiten.KeyF2) {
		s.wish.panel = !s.wish.panel
	}
	if s.done {
		return ebiten.Termination
	}
	if s.client == nil {
		select {
		case j := <-s.joined:
			if j.err != nil {
				s.say = j.err.Error()
				return nil
			}
			s.client = j.client
		default:
			return nil
		}
	}
	if s.wish.panel {
		s.try()
	}
	s.client.SetAway(ebiten.IsWindowMinimized())
	if err := s.client.Frame(s.command()); err != nil {
		s.say = err.Error()
		return nil
	}
	s.say = s.client.Notice()
	s.scene.Look(s.client, dt)
	return nil
}

// try changes the simulated network and the techniques by the keys that the panel names.
func (s *screen) try() {
	c, t := s.client, s.client.Techniques()
	switch {
	case inpututil.IsKeyJustPressed(ebiten.KeyN):
		if err := c.SetNetwork(scene.NextNetwork(c.Network())); err != nil {
			s.say = err.Error()
		}
	case inpututil.IsKeyJustPressed(ebiten.KeyP):
		t.NoPrediction = !t.NoPrediction
	case inpututil.IsKeyJustPressed(ebiten.KeyI):
		t.NoInterpolation = !t.NoInterpolation
	case inpututil.IsKeyJustPressed(ebiten.KeyR):
		t.NoRewind = !t.NoRewind
	}
	if t != c.Techniques() {
		c.SetTechniques(t)
	}
}

// command is what the player wants in this frame.
func (s *screen) command() (c zap.Cmd) {
	held := func(keys ...ebiten.Key) (v float64) {
		for _, k := range keys {
			if ebiten.IsKeyPressed(k) {
				v = 1
			}
		}
		return v
	}
	c.Move = geom.Vec2{
		X: held(ebiten.KeyD, ebiten.KeyArrowRight) - held(ebiten.KeyA, ebiten.KeyArrowLeft),
		Y: held(ebiten.KeyS, ebiten.KeyArrowDown) - held(ebiten.KeyW, ebiten.KeyArrowUp),
	}
	v := s.scene.View(s.size.x, s.size.y)
	c.Aim = v.Place(ebiten.CursorPosition()).Sub(s.scene.Me.Pos).Angle()
	c.Fire = inpututil.IsMouseButtonJustPressed(ebiten.MouseButtonLeft) || inpututil.IsKeyJustPressed(ebiten.KeySpace)
	if c.Fire || c.Move != (geom.Vec2{}) {
		s.wish.auto = false
	}
	if s.wish.auto {
		return s.scene.Autopilot()
	}
	return c
}

// Draw implements ebiten.Game.
func (s *screen) Draw(to *ebiten.Image) {
	v := s.scene.View(s.size.x, s.size.y)
	s.paint.scene(to, s.scene, &v)
	if s.client != nil {
		s.paint.hud(to, s.scene)
		if s.wish.panel {
			s.paint.panel(to, s.client.Quality().Rows(), scene.Choices(s.client.Network(), s.client.Techniques()))
		}
	}
	if s.say != "" {
		s.paint.notice(to, s.say)
	}
	if s.wish.shot != "" && time.Since(s.began) > s.wish.after {
		if f, err := os.Create(s.wish.shot); err == nil {
			_ = png.Encode(f, to)
			_ = f.Close()
		}
		s.wish.shot, s.done = "", true
	}
}

// Layout implements ebiten.Game.
func (s *screen) Layout(width, height int) (int, int) {
	f := ebiten.Monitor().DeviceScaleFactor()
	s.size.x, s.size.y = int(float64(width)*f), int(float64(height)*f)
	return s.size.x, s.size.y
}
