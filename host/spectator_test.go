package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/netcode/clock"
)

// A spectator gets the positions of every avatar about thirty times a second until its room ends.
func TestSpectator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Bots: 3, Grace: 5 * time.Second})
		defer s.end()
		if _, err := s.Spectate(""); !errors.Is(err, ErrNoRoom) {
			t.Errorf("a room that is not open: %v", err)
		}
		ann := s.join("ann", "")
		time.Sleep(time.Second)
		w, err := s.Spectate("")
		if err != nil {
			t.Fatal(err)
		}
		var last clock.Tick
		n, start := 0, time.Now()
		for time.Since(start) < time.Second {
			positions, err := w.Next(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			n++
			if positions.Tick <= last || len(positions.Avatars) != 4 {
				t.Fatalf("after tick %d: %+v", last, positions)
			}
			last = positions.Tick
			for _, a := range positions.Avatars {
				if a.ID == 0 || a.At.X < 0 || a.At.X > 40 || a.At.Y < 0 || a.At.Y > 24 {
					t.Fatalf("%+v", positions)
				}
			}
		}
		if n < 28 || n > 32 {
			t.Errorf("%d positions in a second", n)
		}
		for range maxSpectators - 1 {
			if _, err := s.Spectate("lobby"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Spectate("lobby"); !errors.Is(err, ErrTooManySpectators) {
			t.Errorf("one too many: %v", err)
		}
		w.Close()
		if w, err = s.Spectate("lobby"); err != nil {
			t.Error(err)
		}
		ann.leave()
		<-ann.left
		for err == nil {
			_, err = w.Next(context.Background())
		}
		if !errors.Is(err, ErrNoRoom) {
			t.Error(err)
		}
		w.Close()
	})
}
