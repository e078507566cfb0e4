package pictures_test

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"flag"
	"fmt"
	"image"
	"image/gif"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"

	"meanwhile/internal/verify/browser"
	"meanwhile/internal/verify/process"
)

var update = flag.Bool("update", false, "write docs/images/demo.gif")

// The moving picture of the README. The page is a little larger than the picture, since smaller ones
// get the layout of a phone.
const (
	pageWidth, pageHeight = 840, 490
	picWidth, picHeight   = 640, 374
	picRecords            = 30 * time.Second // of which the best part is shown
	picLasts              = 6200 * time.Millisecond
	picEvery              = 100 * time.Millisecond // between two frames, where the browser draws so many
	picFile               = "docs/images/demo.gif"
	maxPicture            = 1_500_000 // bytes
	few                   = 4         // frames without -update
)

// steer plays the page by keys and mouse, and shows which are down.
//
//go:embed testdata/steer.js
var steer string

// A frame is one picture of the page, and when it was drawn.
type frame struct {
	at  time.Time
	img image.Image
}

// at converts milliseconds of Unix time.
func at(ms float64) time.Time { return time.UnixMicro(int64(ms * 1000)) }

// record keeps pictures of the page for a while, and returns the best part of them; without -update
// the first few.
func record(t *testing.T, p *browser.Page) []frame {
	t.Helper()
	p.Eval(fmt.Sprintf("steered.record(%d, %d, %d, %d)", picWidth, picHeight, picEvery.Milliseconds(),
		picRecords.Milliseconds()), nil)
	if *update {
		p.WaitLonger("steered.done()", picRecords+time.Minute)
	} else {
		p.WaitFor(fmt.Sprintf("steered.kept.length >= %d", few))
	}
	var drawn []float64
	p.Eval("steered.kept.map(k => k.MS)", &drawn)
	var marks []mark
	p.Eval("steered.log", &marks)
	first, end := 0, few
	if *update {
		first, end = best(drawn, marks, picLasts)
	}
	var frames []frame
	for i := first; i < end; i++ {
		var b64 string
		p.Eval(fmt.Sprintf("steered.picture(%d)", i), &b64)
		b, err := base64.StdEncoding.DecodeString(b64)
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, frame{at(drawn[i]), img})
	}
	return frames
}

// A person plays across an ocean. Left is the page's own screen, right the same moment without the
// techniques. With -update the picture goes to the README; without, a short one is made.
func TestMovingPicture(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: the moving picture of the README can be made")
	}
	cmd := exec.Command(process.Build(t, "meanwhile/cmd/meanwhile"), "demo", "--addr", "127.0.0.1:0")
	cmd.Dir = root
	url := process.Start(t, cmd, 10*time.Minute).URL()
	p := browser.New(t)
	p.Run(emulation.SetDeviceMetricsOverride(pageWidth, pageHeight, 1, false))
	p.Open(url + "?bot=0&name=You&profile=ocean")
	p.WaitFor(playing)
	p.Eval(beside+`("raw")`, nil)
	p.WaitFor(`document.querySelector("iframe")?.contentWindow.g?.stats.rttMs > 120`)
	p.Eval(steer, nil)
	p.WaitFor(`globalThis.steered`)
	if *update {
		time.Sleep(5 * time.Second) // the paths are known by then
	}
	frames := record(t, p)
	b, err := encode(frames)
	for err == nil && len(b) > maxPicture && len(frames) > 40 { // a busy scene: it begins later
		frames = frames[4:]
		b, err = encode(frames)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d frames of %v in %v, %d bytes", len(frames), frames[0].img.Bounds().Size(),
		frames[len(frames)-1].at.Sub(frames[0].at), len(b))
	if dir := os.Getenv(browser.EnvScreenshots); dir != "" {
		for i := 0; i < len(frames); i += max(1, len(frames)/6) {
			save(t, filepath.Join(dir, fmt.Sprintf("moving-%02d.png", i)), frames[i].img)
		}
	}
	made, err := gif.DecodeAll(bytes.NewReader(b))
	if err != nil || len(made.Image) != len(frames) || made.LoopCount != 0 ||
		made.Config.Width != picWidth || made.Config.Height != picHeight {
		t.Errorf("the picture: %v", err)
	}
	if len(b) > maxPicture {
		t.Errorf("the picture has %d bytes, more than %d", len(b), maxPicture)
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root, picFile), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func save(t *testing.T, name string, img image.Image) {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
