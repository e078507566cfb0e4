//go:build !js

package main

import (
	"flag"
	"time"
)

// wishes reads the command line.
func wishes() (w wish, err error) {
	flag.StringVar(&w.name, "name", "Ada", "the player's name")
	flag.BoolVar(&w.auto, "auto", false, "play by itself, until you do")
	flag.BoolVar(&w.panel, "panel", false, "show the network panel (F2)")
	flag.IntVar(&w.width, "width", 1280, "how wide the window is, in pixels")
	flag.StringVar(&w.shot, "shot", "", "write a picture to this `file`, and end")
	flag.DurationVar(&w.after, "after", 8*time.Second, "when to take the picture")
	flag.Parse()
	if w.address = flag.Arg(0); w.address == "" {
		w.address = "localhost:8080"
	}
	return w, nil
}
