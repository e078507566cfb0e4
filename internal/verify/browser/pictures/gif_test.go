package pictures_test

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"slices"
	"time"
)

// A mark is something that happened on the page: "hit" or "dead".
type mark struct {
	MS   float64
	What string
}

// best returns the part of the pictures in which the player lives longest, hits most, and the
// browser drew most often. drawn is when each was, in milliseconds.
func best(drawn []float64, marks []mark, lasts time.Duration) (first, end int) {
	most := -1 << 30
	for i, from := range drawn {
		j := i
		for j < len(drawn) && drawn[j]-from < float64(lasts.Milliseconds()) {
			j++
		}
		if j == len(drawn) && i > 0 {
			break // too short
		}
		worth := 4 * (j - i)
		for _, m := range marks {
			if from <= m.MS && m.MS <= drawn[j-1] {
				worth += map[string]int{"hit": 10, "dead": -4}[m.What]
			}
		}
		if worth > most {
			most, first, end = worth, i, j
		}
	}
	return first, end
}

// picColors is how many colours the picture has, beside the one of what does not change: few, so that
// large parts of the floor are of one colour.
const picColors = 31

// encode makes a GIF that loops. What a frame does not change is transparent in it.
func encode(frames []frame) ([]byte, error) {
	palette := colors(frames)
	clear := uint8(len(palette))
	nearest := map[uint32]uint8{}
	find := func(r, g, b uint8) uint8 {
		key := uint32(r)<<16 | uint32(g)<<8 | uint32(b)
		i, ok := nearest[key]
		if !ok {
			i = uint8(palette.Index(color.RGBA{r, g, b, 255}))
			nearest[key] = i
		}
		return i
	}
	size := frames[0].img.Bounds()
	out := gif.GIF{Config: image.Config{Width: size.Dx(), Height: size.Dy()}}
	shown := image.NewRGBA(size) // as a viewer sees it
	full := append(slices.Clone(palette), color.RGBA{})
	for n, f := range frames {
		src := image.NewRGBA(size)
		draw.Draw(src, size, f.img, f.img.Bounds().Min, draw.Src)
		img := image.NewPaletted(size, full)
		for i := range img.Pix {
			s, d := src.Pix[4*i:4*i+3], shown.Pix[4*i:4*i+3]
			c := find(s[0], s[1], s[2])
			img.Pix[i] = c
			p := palette[c].(color.RGBA)
			if n > 0 && p.R == d[0] && p.G == d[1] && p.B == d[2] {
				img.Pix[i] = clear
			}
			d[0], d[1], d[2] = p.R, p.G, p.B
		}
		until := time.Second // the last one stays
		if n+1 < len(frames) {
			until = frames[n+1].at.Sub(f.at)
		}
		// Rounded from the start, so that errors do not add up.
		since := f.at.Sub(frames[0].at)
		delay := hundredths(since+until) - hundredths(since)
		out.Image = append(out.Image, img)
		out.Delay = append(out.Delay, delay)
		out.Disposal = append(out.Disposal, gif.DisposalNone)
	}
	var b bytes.Buffer
	err := gif.EncodeAll(&b, &out)
	return b.Bytes(), err
}

func hundredths(d time.Duration) int { return int((d + 5*time.Millisecond) / (10 * time.Millisecond)) }

// colors chooses a palette by median cut, with the corner of a box where most of its pixels are.
func colors(frames []frame) color.Palette {
	count := map[[3]uint8]int{}
	for n := 0; n < len(frames); n += max(1, len(frames)/12) {
		img := frames[n].img
		size := img.Bounds()
		for y := size.Min.Y; y < size.Max.Y; y++ {
			for x := size.Min.X; x < size.Max.X; x++ {
				r, g, b, _ := img.At(x, y).RGBA()
				count[[3]uint8{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)}]++
			}
		}
	}
	type box struct {
		colors [][3]uint8
		pixels int
		worth  float64
		along  int
	}
	measure := func(list [][3]uint8) box {
		b := box{colors: list}
		low, high := [3]uint8{255, 255, 255}, [3]uint8{}
		for _, c := range list {
			b.pixels += count[c]
			for i, v := range c {
				low[i], high[i] = min(low[i], v), max(high[i], v)
			}
		}
		wide := 0
		for i := range 3 {
			if w := int(high[i]) - int(low[i]); w > wide {
				wide, b.along = w, i
			}
		}
		// Rare bright colours are what one looks at: the number of pixels counts little.
		b.worth = float64(wide*wide) * float64(len(list)+b.pixels/4000)
		if wide == 0 {
			b.worth = 0
		}
		return b
	}
	all := make([][3]uint8, 0, len(count))
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b [3]uint8) int { return slices.Compare(a[:], b[:]) })
	boxes := []box{measure(all)}
	for len(boxes) < picColors {
		at := 0
		for i := range boxes {
			if boxes[i].worth > boxes[at].worth {
				at = i
			}
		}
		b := boxes[at]
		if b.worth == 0 {
			break
		}
		slices.SortStableFunc(b.colors, func(p, q [3]uint8) int { return cmp.Compare(p[b.along], q[b.along]) })
		half, seen := 1, count[b.colors[0]]
		for half < len(b.colors)-1 && 2*seen < b.pixels {
			seen += count[b.colors[half]]
			half++
		}
		boxes[at] = measure(b.colors[:half])
		boxes = append(boxes, measure(b.colors[half:]))
	}
	var palette color.Palette
	for _, b := range boxes {
		var sum [3]int
		for _, c := range b.colors {
			for i, v := range c {
				sum[i] += int(v) * count[c]
			}
		}
		for i := range sum {
			sum[i] /= b.pixels
		}
		palette = append(palette, color.RGBA{uint8(sum[0]), uint8(sum[1]), uint8(sum[2]), 255})
	}
	return palette
}
