package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meanwhile/internal/verify/golden"
	"meanwhile/netsim"
)

// The urgency of a thing is a sawtooth: it rises until a record is sent. The nearer a thing comes
// the more often that is, and not before things that are usual elsewhere are sent.
//
// seeds: R24 R33
func TestUrgencyIsASawtooth(t *testing.T) {
	p, err := newPass(1, netsim.HotelWiFi, passSpan)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range p.watched() {
		falls, sent := 0, len(w.sent)
		for i := range w.at[1:] {
			if w.at[i+1].y < 0.7*w.at[i].y {
				falls++
			}
		}
		t.Logf("%s: %d records, urgency falls %d times, %v", w.name(), sent, falls, p.metrics(w, passSpan))
		if falls < sent/2 || falls > sent || sent < 10 {
			t.Errorf("%s: urgency falls %d times, by %d records", w.name(), falls, sent)
		}
	}
	near, far := p.metrics(p.watched()[0], passSpan), p.metrics(p.watched()[2], passSpan)
	passing, _ := near.Get("near_per_s")
	away, _ := near.Get("far_per_s")
	edge, _ := far.Get("near_per_s")
	if passing < 1.5*away || passing < 2*edge {
		t.Errorf("the thing at hand: %.1f records a second while it is near, %.1f otherwise, %.1f at the edge",
			passing, away, edge)
	}
	last := 0.0
	for _, b := range p.bands(passSpan) {
		if len(b.at) > 0 && b.away() < last {
			t.Errorf("things with %s records are %.0f m away, those with more %.0f m", b.name, b.away(), last)
		}
		last = max(last, b.away())
	}
}

// One command draws all figures of the article but two screenshots of games, and writes those that pages
// show.
//
// seeds: R33
func TestArticleFigures(t *testing.T) {
	dir := t.TempDir()
	if status, out, errs := lab("article", "--out", dir); status != 0 || !strings.Contains(out, "article: 8 rows") {
		t.Fatalf("status %d, %s%s", status, out, errs)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if n := strings.Count(string(page), "<svg"); n != 6 || err != nil {
		t.Errorf("%d figures, %v", n, err)
	}
	for _, name := range []string{"article-urgency", "article-rates", "article-window", "intervals"} {
		if b, err := os.ReadFile(filepath.Join(dir, name+".svg")); err != nil || len(b) < 10_000 {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}

// A coordinate is right up to 524 m from the viewer, with the article's example.
//
// seeds: R38
func TestWindowFigure(t *testing.T) {
	if reach := windowReach(); reach < 524 || reach > 525 {
		t.Errorf("the window reaches %.1f m each way", reach)
	}
	svg, err := windowFigure().svg()
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "../docs/results/article-window.svg", string(svg))
}
