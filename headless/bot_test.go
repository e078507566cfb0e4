package headless

import (
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/server"
)

// A bot with a pause decides that often, however many frames and commands there are; without one,
// in each frame with commands.
func TestPauseBetweenDecisions(t *testing.T) {
	for _, c := range []struct {
		pause    time.Duration
		from, to int
	}{{0, 120, 160}, {100 * time.Millisecond, 45, 51}} {
		decisions := 0
		def := zap.Game
		def.Bot = func(*game.World, game.ID) (c zap.Cmd) { decisions++; return c }
		r, err := def.Rules()
		if err != nil {
			t.Fatal(err)
		}
		s, err := server.New(r, server.Config{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		id, welcome, err := s.Connect(0, "bot")
		if err != nil {
			t.Fatal(err)
		}
		b, err := newBot(r, welcome, 0, client.Config{}, r.Bot())
		if err != nil {
			t.Fatal(err)
		}
		b.pause = c.pause
		var out server.Outbox
		for now := clock.Time(0); now < clock.Time(5*time.Second); now += clock.Time(s.Period()) {
			s.Begin(now)
			out.Reset()
			s.Encode(0, s.Clients(), &out)
			s.End()
			for i := range out.Len() {
				_, datagram := out.At(i)
				b.Receive(now, datagram)
			}
			if datagram, err := b.Frame(now); err != nil {
				t.Fatal(err)
			} else if datagram != nil {
				s.Receive(id, now, datagram)
			}
		}
		if decisions < c.from || decisions > c.to {
			t.Errorf("%d decisions in 5 s with a pause of %v, want %d to %d", decisions, c.pause, c.from, c.to)
		}
	}
}
