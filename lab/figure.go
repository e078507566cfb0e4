package lab

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A figure is a drawing of lines or of points.
type figure struct {
	title, x, y string
	caption     string // what is seen
	answers     answers
	file        string // its name without .svg, for a page; "": it has none
	lines       []line
	dots        bool    // points with lines between them
	clip        float64 // values beyond are drawn at it; 0: none are
	log         bool    // y by powers of ten
	marks       []mark
}

// answers names the figure of one of the articles behind this project that a figure stands for.
type answers struct {
	article string // "": of none
	figure  string
}

// The articles, in the order of the report.
const (
	lobbyArticle      = "Snapshot interpolation for a lobby of 255 (2025)"
	predictionArticle = "Client-side prediction of rigid bodies (2022)"
	bernierArticle    = "Latency compensating methods (Yahn W. Bernier, 2001)"
	clockArticle      = "A network clock for multiplayer games (2024)"
	ryzomArticle      = "Propagation of visual entity properties under bandwidth constraints (Olivier Cado, 2007)"
)

var articles = []string{lobbyArticle, predictionArticle, bernierArticle, clockArticle, ryzomArticle}

type line struct {
	name   string
	at     []xy // a point that is not a number interrupts the line
	dashed bool // in the colour of the line before, without points
	points bool // points alone, without a line between them
}

// gap interrupts a line.
var gap = xy{math.NaN(), math.NaN()}

// roundTicks puts about six marks at round numbers.
type roundTicks struct{}

func (roundTicks) Ticks(low, high float64) (t []plot.Tick) {
	if !(high > low) {
		return plot.DefaultTicks{}.Ticks(low, high)
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/3)))
	for _, by := range []float64{5, 2} {
		if (high-low)/(step*by) >= 4 {
			step *= by
			break
		}
	}
	for i := math.Ceil(low/step - 1e-9); i*step <= high*(1+1e-9); i++ {
		at := i*step + 0 // no minus zero
		t = append(t, plot.Tick{Value: at, Label: strconv.FormatFloat(at, 'g', 6, 64)})
	}
	return t
}

// powerTicks names the powers of ten of an axis that shows logarithms, with small marks between.
// plot.LogScale would do, but makes room above for the axis' name as if that stood half way up the
// values.
type powerTicks struct{}

func (powerTicks) Ticks(low, high float64) (t []plot.Tick) {
	for e := math.Floor(low); e <= high; e++ {
		for i := 1.0; i < 10; i++ {
			if at := e + math.Log10(i); at >= low && at <= high {
				t = append(t, plot.Tick{Value: at})
			}
		}
		if e >= low {
			t = append(t, plot.Tick{Value: e, Label: strconv.FormatFloat(math.Pow(10, e), 'g', 6, 64)})
		}
	}
	return t
}

type xy struct{ x, y float64 }

// mark is a level worth pointing out.
type mark struct {
	name string
	y    float64
}

// palette has colours that most eyes distinguish (Okabe and Ito 2008); the first one is ours alone.
var palette = []color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{230, 159, 0, 255}, {86, 180, 233, 255}, {120, 120, 120, 255}, {148, 103, 60, 255},
	{70, 70, 160, 255}, {190, 190, 60, 255}, {60, 160, 160, 255}, {0, 0, 0, 255},
}

// glyphs are the shapes of points, in the order of the palette, for those who do not see its colours.
var glyphs = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.RingGlyph{},
	draw.CrossGlyph{}, draw.BoxGlyph{}, draw.PlusGlyph{}, draw.PyramidGlyph{}}

// An entry is one name of the legend and what it looks like.
type entry struct {
	name   string
	thumbs []plot.Thumbnailer
}

// A look is how a line is drawn.
type look struct {
	color color.Color
	width vg.Length
	glyph draw.GlyphDrawer
}

// svg draws the figure.
func (f figure) svg() ([]byte, error) {
	p := plot.New()
	f.style(p)
	p.Add(plotter.NewGrid())
	legend, err := f.addLines(p)
	if err != nil {
		return nil, fmt.Errorf("lab: figure %q: %w", f.title, err)
	}
	if f.log {
		p.Y.Min, p.Y.Max = math.Floor(p.Y.Min), math.Ceil(p.Y.Max)
	} else if p.Y.Min > 0 {
		p.Y.Min = 0 // a length is compared from its beginning
	}
	for _, e := range legend {
		p.Legend.Add(e.name, e.thumbs...)
	}
	for _, m := range f.marks {
		if f.log {
			m.y = math.Log10(m.y)
		}
		level := plotter.NewFunction(func(float64) float64 { return m.y })
		level.Color, level.Dashes = color.Gray{120}, []vg.Length{vg.Points(4), vg.Points(4)}
		p.Add(level)
		p.Legend.Add(m.name, level)
	}
	return render(p)
}

// style sets the fonts, spaces and ticks of a plot, and its titles.
func (f figure) style(p *plot.Plot) {
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.title, f.x, f.y
	for _, style := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label,
		&p.Legend.TextStyle,
	} {
		style.Font.Variant = "Sans"
	}
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, vg.Points(2)
	p.Title.Padding, p.X.Label.Padding, p.Y.Label.Padding = vg.Points(8), vg.Points(4), vg.Points(4)
	p.Title.TextStyle.Font.Size = vg.Points(12)
	p.X.Tick.Marker, p.Y.Tick.Marker = roundTicks{}, roundTicks{}
	if f.log {
		p.Y.Tick.Marker = powerTicks{}
	}
}

// addLines draws the figure's lines and returns the legend. Ours is drawn last, over the others,
// and named first.
func (f figure) addLines(p *plot.Plot) ([]entry, error) {
	order := append([]line(nil), f.lines...)
	for i, l := range order {
		if l.name == ours {
			order = append(append(order[:i:i], order[i+1:]...), l)
			break
		}
	}
	var legend []entry
	others := 0
	for _, l := range order {
		how := look{palette[0], vg.Points(2), glyphs[0]}
		if l.name != ours {
			if !l.dashed {
				others++
			}
			nth := max(others-1, 0)
			how = look{palette[1+nth%(len(palette)-1)], vg.Points(1), glyphs[1+nth%(len(glyphs)-1)]}
		}
		thumbs, err := f.addLine(p, l, how)
		if err != nil {
			return nil, err
		}
		if thumbs != nil {
			legend = append(legend, entry{l.name, thumbs})
		}
	}
	if n := len(legend); n > 0 && legend[n-1].name == ours {
		legend = append([]entry{legend[n-1]}, legend[:n-1]...)
	}
	return legend, nil
}

// addLine draws one line, in pieces where values are missing, and returns what its first piece looks
// like for the legend; nil if it has no values at all.
func (f figure) addLine(p *plot.Plot, l line, how look) (first []plot.Thumbnailer, err error) {
	for at := 0; at < len(l.at); at++ {
		var pts plotter.XYs
		pts, at = f.piece(l, at)
		if len(pts) == 0 {
			continue
		}
		var looks []plot.Thumbnailer
		if !l.points {
			pl, err := plotter.NewLine(pts)
			if err != nil {
				return nil, err
			}
			if pl.Color, pl.Width = how.color, how.width; l.dashed {
				pl.Dashes, pl.StepStyle = []vg.Length{vg.Points(4), vg.Points(2)}, plotter.PreStep
			}
			p.Add(pl)
			looks = append(looks, pl)
		}
		if l.points || f.dots && !l.dashed {
			sc, err := plotter.NewScatter(pts)
			if err != nil {
				return nil, err
			}
			sc.Color, sc.Radius, sc.Shape = how.color, vg.Points(2.5), how.glyph
			p.Add(sc)
			looks = append(looks, sc)
		}
		if first == nil {
			first = looks
		}
	}
	return first, nil
}

// piece returns the points of l from at on up to the first that cannot be drawn, and the index of
// that one.
func (f figure) piece(l line, at int) (pts plotter.XYs, end int) {
	for ; at < len(l.at); at++ {
		x, y := l.at[at].x, l.at[at].y
		if f.clip > 0 {
			y = min(max(y, -f.clip), f.clip)
		}
		if f.log {
			y = math.Log10(y)
		}
		if math.IsNaN(x) || math.IsNaN(y) || math.IsInf(x, 0) || math.IsInf(y, 0) {
			break
		}
		pts = append(pts, plotter.XY{X: x, Y: y})
	}
	return pts, at
}

// render draws a plot as SVG for use inside a page, its legend to the right of the plot and not
// over it.
func render(p *plot.Plot) ([]byte, error) {
	const beside = 150
	c := vgsvg.New(vg.Points(820), vg.Points(360))
	legend := p.Legend
	p.Legend = plot.NewLegend()
	whole := draw.New(c)
	p.Draw(draw.Crop(whole, vg.Points(4), -vg.Points(beside), 0, -vg.Points(6)))
	legend.Draw(draw.Crop(whole, vg.Points(820-beside+8), 0, 0, -vg.Points(24)))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	out := b.Bytes()
	if i := bytes.Index(out, []byte("<svg")); i > 0 { // the XML prologue has no place inside a page
		out = out[i:]
	}
	fonts := []byte("font-family:Liberation Sans,Arial,sans-serif")
	return bytes.ReplaceAll(out, []byte("font-family:Liberation Sans"), fonts), nil
}
