package site

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"

	"meanwhile/app/internal/rerun"
	"meanwhile/geom"
)

// A picture is a frame of a page, and where the server had everybody.
type picture struct {
	rerun.Picture
	number int
	ms     float64
	trails map[uint32][]geom.Vec2 // where it was drawn in the frames before
	now    map[uint32]geom.Vec3   // where the server had it at the frame; nil: not known
	then   map[uint32]geom.Vec3   // the same at the moment of the past that was drawn
}

const (
	pictureWide, pictureHigh = 960.0, 600.0
	pictureScale             = 24.0 // pixels for a metre
	pictureGrid              = 5.0  // metres
	captionHigh              = 46.0
)

// svg draws the picture around the own avatar: hollow circles where the page drew everybody, with
// the way that they came; dots where the server had them at that moment.
func (s *picture) svg() []byte {
	var b bytes.Buffer
	var mid geom.Vec2
	for i := range s.Entities {
		if e := &s.Entities[i]; e.Placed && (e.Mine || mid == geom.Vec2{}) {
			mid = geom.Vec2{X: e.X, Y: e.Y}
			if e.Mine {
				break
			}
		}
	}
	at := func(x, y float64) (float64, float64) {
		return pictureWide/2 + (x-mid.X)*pictureScale, pictureHigh/2 + (y-mid.Y)*pictureScale
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %[1]g %[2]g" `+
		`font-family="sans-serif" font-size="13">`+"\n", pictureWide, pictureHigh+captionHigh)
	fmt.Fprintf(&b, `<rect width="%g" height="%g" fill="#0a0d12"/>`+"\n", pictureWide, pictureHigh+captionHigh)
	fmt.Fprintf(&b, `<clipPath id="c"><rect width="%g" height="%g"/></clipPath><g clip-path="url(#c)">`+"\n",
		pictureWide, pictureHigh)
	for i := -9.0; i <= 9; i++ {
		x, y := at((math.Round(mid.X/pictureGrid)+i)*pictureGrid, (math.Round(mid.Y/pictureGrid)+i)*pictureGrid)
		fmt.Fprintf(&b, `<path d="M%.1f 0V%g M0 %.1fH%g" stroke="#1c2531"/>`+"\n", x, pictureHigh, y, pictureWide)
	}
	for i := range s.Entities {
		if e := &s.Entities[i]; e.Placed {
			s.entity(&b, e, at)
		}
	}
	b.WriteString("</g>\n")
	st := s.Stats
	lines := []string{
		fmt.Sprintf("frame %d, %.3f s: playout delay %.0f ms, newest record %.0f ms old, %.0f corrections, %.0f hitches",
			s.number, s.ms/1000, st["delayMs"], st["ageMs"], st["corrections"], st["hitches"]),
		"hollow: drawn by the page, and the way there; yellow: where the server had it at that moment. Grid of 5 m.",
	}
	for i, l := range lines {
		fmt.Fprintf(&b, `<text x="12" y="%g" fill="#b4bfcd">`, pictureHigh+18*float64(i+1))
		_ = xml.EscapeText(&b, []byte(l)) // a bytes.Buffer does not fail
		b.WriteString("</text>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// entity draws one.
func (s *picture) entity(b *bytes.Buffer, e *rerun.Entity, at func(x, y float64) (float64, float64)) {
	color := "#d7dee8"
	switch {
	case e.Stalled:
		color = "#ff5d73"
	case e.Mine:
		color = "#56b4e9"
	}
	x, y := at(e.X, e.Y)
	b.WriteString(`<path d="M`)
	for i, p := range s.trails[e.ID] {
		if i > 0 {
			b.WriteByte('L')
		}
		px, py := at(p.X, p.Y)
		fmt.Fprintf(b, "%.1f %.1f", px, py)
	}
	fmt.Fprintf(b, `" fill="none" stroke="%s" stroke-opacity=".45" stroke-dasharray="2 2"/>`+"\n", color)
	if t, ok := s.now[e.ID]; ok {
		tx, ty := at(t.X, t.Y)
		fmt.Fprintf(b, `<path d="M%.1f %.1fL%.1f %.1f" stroke="#e8b339" stroke-opacity=".6"/>`, x, y, tx, ty)
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="4" fill="#e8b339"/>`+"\n", tx, ty)
	}
	fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="9" fill="none" stroke="%s" stroke-width="2"/>`, x, y, color)
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" fill="%s">`, x+12, y-8, color)
	_ = xml.EscapeText(b, fmt.Appendf(nil, "%s %d", e.Kind, e.ID))
	b.WriteString("</text>\n")
}
