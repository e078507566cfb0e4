package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strings"

	"github.com/hajimehoshi/ebiten/v2"
	"github.com/hajimehoshi/ebiten/v2/text/v2"
	"github.com/hajimehoshi/ebiten/v2/vector"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"

	"meanwhile/app/play"
	"meanwhile/examples/ebiten/scene"
	"meanwhile/geom"
)

var (
	night  = color.NRGBA{11, 15, 26, 255}
	floor  = color.NRGBA{18, 25, 42, 255}
	grid   = color.NRGBA{120, 150, 210, 22}
	rim    = color.NRGBA{98, 140, 220, 255}
	gold   = color.NRGBA{255, 196, 84, 255}
	white  = color.NRGBA{235, 241, 250, 255}
	pale   = color.NRGBA{150, 166, 192, 255}
	mine   = color.NRGBA{86, 196, 255, 255}
	danger = color.NRGBA{255, 98, 120, 255}
	glass  = color.NRGBA{8, 12, 22, 215}
)

// A painter draws with shapes alone.
type painter struct {
	dot           *ebiten.Image // one white pixel
	regular, bold *text.GoTextFaceSource
	vertices      []ebiten.Vertex
	indices       []uint16
}

func newPainter() *painter {
	p := &painter{dot: ebiten.NewImage(3, 3)}
	p.dot.Fill(color.White)
	var err error
	if p.regular, err = text.NewGoTextFaceSource(bytes.NewReader(goregular.TTF)); err != nil {
		panic(err)
	}
	if p.bold, err = text.NewGoTextFaceSource(bytes.NewReader(gobold.TTF)); err != nil {
		panic(err)
	}
	return p
}

// fade returns a colour with a part of its opacity.
func fade(c color.NRGBA, part float64) color.NRGBA {
	c.A = uint8(float64(c.A) * min(max(part, 0), 1))
	return c
}

// mix is part of the way from a to b.
func mix(a, b color.NRGBA, part float64) color.NRGBA {
	m := func(x, y uint8) uint8 { return uint8(float64(x) + (float64(y)-float64(x))*part) }
	return color.NRGBA{m(a.R, b.R), m(a.G, b.G), m(a.B, b.B), m(a.A, b.A)}
}

// hue returns a light colour.
func hue(h float64) color.NRGBA {
	c := func(shift float64) uint8 { return uint8(168 + 72*math.Cos(2*math.Pi*(h-shift))) }
	return color.NRGBA{c(0), c(1.0 / 3), c(2.0 / 3), 255}
}

// fill fills a path.
func (p *painter) fill(to *ebiten.Image, path *vector.Path, c color.NRGBA) {
	p.vertices, p.indices = path.AppendVerticesAndIndicesForFilling(p.vertices[:0], p.indices[:0])
	r, g, b, a := c.RGBA()
	for i := range p.vertices {
		v := &p.vertices[i]
		v.SrcX, v.SrcY = 1, 1
		v.ColorR, v.ColorG, v.ColorB, v.ColorA = float32(r)/0xffff, float32(g)/0xffff, float32(b)/0xffff, float32(a)/0xffff
	}
	to.DrawTriangles(p.vertices, p.indices, p.dot, &ebiten.DrawTrianglesOptions{AntiAlias: true,
		FillRule: ebiten.FillRuleNonZero})
}

// shape fills a closed line of points in metres, turned and moved.
func (p *painter) shape(
	to *ebiten.Image,
	v *scene.View,
	at geom.Vec2,
	turn geom.Angle,
	c color.NRGBA,
	points ...geom.Vec2,
) {
	var path vector.Path
	for i, q := range points {
		x, y := v.At(at.Add(q.Rotate(turn)))
		if i == 0 {
			path.MoveTo(x, y)
		} else {
			path.LineTo(x, y)
		}
	}
	path.Close()
	p.fill(to, &path, c)
}

// glow draws a soft disc.
func (p *painter) glow(to *ebiten.Image, v *scene.View, at geom.Vec2, radius float64, c color.NRGBA) {
	x, y := v.At(at)
	for i := 1; i <= 4; i++ {
		vector.DrawFilledCircle(to, x, y, v.Px(radius*float64(i)/4), fade(c, 0.11), true)
	}
}

func (p *painter) words(to *ebiten.Image, s string, x, y, size float64, c color.NRGBA, bold bool, align text.Align) {
	face := &text.GoTextFace{Source: p.regular, Size: size}
	if bold {
		face.Source = p.bold
	}
	o := &text.DrawOptions{}
	o.GeoM.Translate(x, y)
	o.ColorScale.ScaleWithColor(c)
	o.PrimaryAlign = align
	text.Draw(to, s, face, o)
}

// scene draws the world.
func (p *painter) scene(to *ebiten.Image, s *scene.Scene, v *scene.View) {
	to.Fill(night)
	x0, y0 := v.At(geom.Vec2{})
	x1, y1 := v.At(scene.Field)
	vector.DrawFilledRect(to, x0, y0, x1-x0, y1-y0, floor, true)
	for m := 2.0; m < scene.Field.X; m += 2 {
		x, _ := v.At(geom.Vec2{X: m})
		vector.StrokeLine(to, x, y0, x, y1, 1, grid, true)
	}
	for m := 2.0; m < scene.Field.Y; m += 2 {
		_, y := v.At(geom.Vec2{Y: m})
		vector.StrokeLine(to, x0, y, x1, y, 1, grid, true)
	}
	for i, part := range []float64{0.12, 0.25, 1} { // a rim that shines
		width := v.Px([]float64{0.5, 0.25, 0.07}[i])
		vector.StrokeRect(to, x0, y0, x1-x0, y1-y0, width, fade(rim, part), true)
	}
	for _, g := range s.Gems {
		p.gem(to, s, v, g)
	}
	for i := range s.Beams {
		p.beam(to, s, v, &s.Beams[i])
	}
	for i := range s.Pilots {
		p.pilot(to, s, v, &s.Pilots[i])
	}
	for _, o := range s.Pops {
		p.ring(to, s, v, o)
	}
	// Letters come last: changing between smooth shapes and pictures costs a pass over the window.
	for i := range s.Pilots {
		o := &s.Pilots[i]
		x, y := v.At(o.Pos.Add(geom.Vec2{Y: 0.95}))
		p.words(to, o.Name, float64(x), float64(y), v.Scale*0.36, fade(white, 0.85), o.Mine, text.AlignCenter)
	}
	for _, o := range s.Pops {
		age := float64(s.Now-o.Born) / float64(scene.PopLasts)
		x, y := v.At(o.At.Sub(geom.Vec2{Y: 1.2 + 1.1*age}))
		p.words(to, o.Text, float64(x), float64(y), v.Scale*0.5, fade(gold, 1-age*age), true, text.AlignCenter)
	}
}

func (p *painter) gem(to *ebiten.Image, s *scene.Scene, v *scene.View, g scene.Gem) {
	t := s.Now.Seconds()*2.2 + float64(g.ID)
	at := g.At.Add(geom.Vec2{Y: 0.08 * math.Sin(t)})
	p.glow(to, v, g.At, 0.9, gold)
	w := 0.16 + 0.16*math.Abs(math.Cos(t*0.7)) // it turns
	top, low, left, right := geom.Vec2{Y: -0.42}, geom.Vec2{Y: 0.42}, geom.Vec2{X: -w}, geom.Vec2{X: w}
	p.shape(to, v, at, 0, mix(gold, night, 0.25), left, top, right, low)
	p.shape(to, v, at, 0, mix(gold, white, 0.55), left, top, geom.Vec2{})
	p.shape(to, v, at, 0, gold, geom.Vec2{}, top, right)
	p.shape(to, v, at, 0, mix(gold, night, 0.45), geom.Vec2{}, right, low)
}

func (p *painter) beam(to *ebiten.Image, s *scene.Scene, v *scene.View, b *scene.Beam) {
	left := 1 - float64(s.Now-b.Born)/float64(scene.BeamLasts)
	c := danger
	if b.Mine {
		c = mine
	}
	x0, y0 := v.At(b.From)
	x1, y1 := v.At(b.To)
	for _, w := range []float64{0.5, 0.28, 0.12} {
		vector.StrokeLine(to, x0, y0, x1, y1, v.Px(w*left), fade(c, 0.30*left), true)
	}
	vector.StrokeLine(to, x0, y0, x1, y1, v.Px(0.05), fade(white, left), true)
	p.glow(to, v, b.To, 1.2*left, c)
}

func (p *painter) pilot(to *ebiten.Image, s *scene.Scene, v *scene.View, o *scene.Pilot) {
	c := hue(o.Hue)
	if o.Mine {
		c = mine
	}
	if o.Stalled { // nothing newer is known
		c = mix(c, floor, 0.5)
	}
	speed := o.Vel.Len()
	p.shape(to, v, o.Pos.Add(geom.Vec2{X: 0.12, Y: 0.2}), o.Aim, color.NRGBA{0, 0, 0, 90}, ship...)
	if o.Mine {
		x, y := v.At(o.Pos)
		vector.StrokeCircle(to, x, y, v.Px(1.05), v.Px(0.05), fade(c, 0.5), true)
	}
	if speed > 0.5 { // exhaust, against the way it goes
		back := o.Vel.Angle()
		long := 0.5 + 0.09*speed*(1+0.2*math.Sin(s.Now.Seconds()*50+float64(o.ID)))
		tail := o.Pos.Sub(o.Vel.Unit().Mul(0.35))
		p.shape(to, v, tail, back, fade(gold, 0.35), geom.Vec2{Y: -0.3}, geom.Vec2{X: -long * 1.3}, geom.Vec2{Y: 0.3})
		p.shape(to, v, tail, back, fade(white, 0.8), geom.Vec2{Y: -0.16}, geom.Vec2{X: -long * 0.7}, geom.Vec2{Y: 0.16})
	}
	p.glow(to, v, o.Pos, 1.3, c)
	p.shape(to, v, o.Pos, o.Aim, mix(c, night, 0.35), ship...)
	p.shape(to, v, o.Pos, o.Aim, c, geom.Vec2{X: 0.85}, geom.Vec2{X: -0.5, Y: -0.6}, geom.Vec2{X: -0.2})
	p.shape(
		to,
		v,
		o.Pos,
		o.Aim,
		mix(c, white, 0.7),
		geom.Vec2{X: 0.35},
		geom.Vec2{X: -0.1, Y: -0.16},
		geom.Vec2{X: -0.1, Y: 0.16},
	)
}

// ship is its outline, in metres, looking along X.
var ship = []geom.Vec2{{X: 0.85}, {X: -0.5, Y: 0.6}, {X: -0.2}, {X: -0.5, Y: -0.6}}

// ring grows where a pilot was hit, or came from.
func (p *painter) ring(to *ebiten.Image, s *scene.Scene, v *scene.View, o scene.Pop) {
	if o.Text != "" {
		return
	}
	age := float64(s.Now-o.Born) / float64(scene.PopLasts)
	x, y := v.At(o.At)
	vector.StrokeCircle(to, x, y, v.Px(0.4+2.2*math.Sqrt(age)), v.Px(0.16*(1-age)), fade(white, 0.8*(1-age)), true)
}

// unit is how large letters are in a window.
func unit(to *ebiten.Image) float64 {
	b := to.Bounds()
	return max(float64(min(b.Dx(), b.Dy()*16/9))/80, 10)
}

// plate is the dark glass behind letters.
func (p *painter) plate(to *ebiten.Image, x, y, w, h, r float64) {
	var path vector.Path
	x0, y0, x1, y1, c := float32(x), float32(y), float32(x+w), float32(y+h), float32(r)
	path.MoveTo(x0+c, y0)
	path.ArcTo(x1, y0, x1, y1, c)
	path.ArcTo(x1, y1, x0, y1, c)
	path.ArcTo(x0, y1, x0, y0, c)
	path.ArcTo(x0, y0, x1, y0, c)
	path.Close()
	p.fill(to, &path, glass)
}

// hud draws the scores, and what the own pilot has.
func (p *painter) hud(to *ebiten.Image, s *scene.Scene) {
	u := unit(to)
	width := float64(to.Bounds().Dx())
	best := s.Ranking()
	best = best[:min(len(best), 8)]
	x, y, w := width-15*u, u, 14*u
	bottom := float64(to.Bounds().Dy())
	p.plate(to, x, y, w, (float64(len(best))*1.5+2.4)*u, 0.5*u)
	for i, o := range best {
		c := hue(o.Hue)
		if o.Mine {
			c = mine
		}
		vector.DrawFilledCircle(to, float32(x+1.3*u), float32(y+(2.65+1.5*float64(i))*u), float32(0.3*u), c, true)
	}
	if s.In {
		p.plate(to, u, bottom-4*u, 14*u, 3*u, 0.5*u)
		for i := range 5 {
			c := fade(pale, 0.25)
			if i < s.Me.Ammo {
				c = mine
			}
			vector.DrawFilledRect(
				to,
				float32(6.2*u+float64(i)*1.6*u),
				float32(bottom-3.3*u),
				float32(1.1*u),
				float32(1.6*u),
				c,
				true,
			)
		}
	}
	p.words(to, "SCORES", x+u, y+0.6*u, 0.85*u, pale, true, text.AlignStart)
	for i, o := range best {
		c, at := white, y+(2+1.5*float64(i))*u
		if o.Mine {
			c = mine
		}
		p.words(to, o.Name, x+2.2*u, at, u, c, o.Mine, text.AlignStart)
		p.words(to, fmt.Sprint(o.Score), x+w-u, at, u, c, true, text.AlignEnd)
	}
	if !s.In {
		return
	}
	p.words(to, "SHOTS", 2*u, bottom-3.1*u, 0.85*u, pale, true, text.AlignStart)
	p.words(
		to,
		"WASD move    mouse aims, click shoots    F2 network",
		width/2,
		bottom-1.8*u,
		0.85*u,
		fade(pale, 0.8),
		false,
		text.AlignCenter,
	)
}

// panel says how well the network carries the game, and what can be tried.
func (p *painter) panel(to *ebiten.Image, rows []play.Row, choices []scene.Choice) {
	u := unit(to)
	w := 36 * u
	below := (3.2 + 2.7*float64(len(rows))) * u
	p.plate(to, u, u, w, below+(1.7*float64(len(choices))-0.2)*u, 0.5*u)
	for i, c := range choices {
		y := below + 1.7*float64(i)*u
		p.words(to, c.Key, 2.4*u, y, u, pale, true, text.AlignCenter)
		p.words(to, c.Name, 3.4*u, y, u, white, false, text.AlignStart)
		p.words(to, c.Value, w, y, u, white, true, text.AlignEnd)
	}
	for i, r := range rows {
		y := (3.2 + 2.7*float64(i)) * u
		c := mix(color.NRGBA{110, 220, 150, 255}, danger, r.Bad)
		x := float32(2.4 * u)
		if r.Bad > 0.5 { // a triangle, for those who do not tell the colours apart
			var path vector.Path
			path.MoveTo(x, float32(y+0.1*u))
			path.LineTo(x+float32(0.5*u), float32(y+u))
			path.LineTo(x-float32(0.5*u), float32(y+u))
			path.Close()
			p.fill(to, &path, c)
		} else {
			vector.DrawFilledCircle(to, x, float32(y+0.65*u), float32(0.36*u), c, true)
		}
	}
	p.words(to, fmt.Sprintf("NETWORK    %.0f frames a second", ebiten.ActualFPS()), 2*u, 1.6*u, 0.85*u, pale, true,
		text.AlignStart)
	for i, r := range rows {
		y := (3.2 + 2.7*float64(i)) * u
		p.words(to, r.Name, 3.4*u, y, u, white, false, text.AlignStart)
		p.words(to, r.Value, w, y, u, white, true, text.AlignEnd)
		p.words(to, r.Help, 3.4*u, y+1.2*u, 0.75*u, pale, false, text.AlignStart)
	}
}

// notice says something about the connection.
func (p *painter) notice(to *ebiten.Image, say string) {
	u := unit(to)
	b := to.Bounds()
	lines := wrap(say, 64)
	w, h := 46*u, (float64(len(lines))*1.6+1.2)*u
	x, y := (float64(b.Dx())-w)/2, float64(b.Dy())*0.3
	p.plate(to, x, y, w, h, 0.5*u)
	for i, line := range lines {
		p.words(to, line, float64(b.Dx())/2, y+(0.7+1.6*float64(i))*u, 1.1*u, white, false, text.AlignCenter)
	}
}

// wrap breaks a text into lines of at most so many bytes, where a word fits.
func wrap(s string, most int) (lines []string) {
	for _, word := range strings.Fields(s) {
		if n := len(lines); n > 0 && len(lines[n-1])+1+len(word) <= most {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}
