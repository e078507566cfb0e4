// Command ebiten plays zap in a window, or in a browser, with Ebitengine: the same rules, the same
// server, other pixels.
//
//	go run ./examples/zap/cmd/zap          the server, from the folder of Meanwhile
//	go run . localhost:8080                a player, from this folder
//
// README.md says how the browser gets it.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/hajimehoshi/ebiten/v2"

	"meanwhile/app/play"
	"meanwhile/examples/zap"
)

// joinTimeout bounds the wait for the server.
const joinTimeout = 20 * time.Second

func main() {
	w, err := wishes()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ebiten:", err)
		os.Exit(2)
	}
	ebiten.SetWindowTitle("zap")
	ebiten.SetWindowSize(w.width, w.width*9/16)
	ebiten.SetWindowResizingMode(ebiten.WindowResizingModeEnabled)
	ebiten.SetTPS(ebiten.SyncWithFPS) // one frame of the client for each that is shown
	s := newScreen(w)
	go s.join(func(ctx context.Context) (*play.Client[zap.Cmd], error) {
		return play.Dial(ctx, &zap.Game, w.address, play.Options{Name: w.name})
	})
	err = ebiten.RunGame(s)
	if s.client != nil {
		s.client.Close()
	}
	if err != nil && err != ebiten.Termination {
		fmt.Fprintln(os.Stderr, "ebiten:", err)
		os.Exit(1)
	}
}

// A wish is what the person who starts the program wants.
type wish struct {
	address, name string
	auto, panel   bool          // play by itself; show the network panel
	width         int           // of the window
	shot          string        // file of a picture, after which the program ends; "": none
	after         time.Duration // when it is taken
}
