package client

import (
	"testing"

	"meanwhile/netcode/clock"
)

// A command states the newest frame that was drawn before its press, or the newest of all, or the
// present one where none was drawn; never an older one than the command before.
func TestScreen(t *testing.T) {
	var s screen
	frame := func(n uint32) glance { return glance{number: n, local: clock.Time(n) * 10} }
	want := func(name string, present, want uint32) {
		t.Helper()
		g := s.state(frame(present))
		if g.number != want {
			t.Errorf("%s: frame %d, want %d", name, g.number, want)
		}
		s.made(g)
	}
	want("nothing was drawn", 1, 1)
	for n := uint32(1); n <= 5; n++ {
		s.draw(frame(n))
	}
	want("no press", 6, 5)
	s.made(frame(2))
	s.pressed = s.at(39)
	want("a press between two frames", 6, 3)
	want("the press was for one command", 6, 5)
	s.pressed = s.at(39)
	want("a press before the frame that was stated", 6, 5)
	for n := uint32(6); n <= 60; n++ {
		s.draw(frame(n))
	}
	if g := s.at(5); g.number != 60-glances+1 {
		t.Errorf("long ago is frame %d", g.number)
	}
	s.forget()
	want("a clock was set", 61, 61)
}

// A frame shows the packets that were applied by then, and what is older than all that is known.
func TestScreenKnowsWhatHadArrived(t *testing.T) {
	var s screen
	for s.number = 1; s.number <= 3; s.number++ {
		s.arrive(clock.Tick(1000 + 2*s.number))
	}
	s.number = 4
	s.arrive(1003) // overtaken
	for tick, first := range map[clock.Tick]uint32{1002: 1, 1003: 4, 1004: 2, 1006: 3, 900: 1, 1006 - arrivals: 1} {
		for frame := uint32(1); frame <= 5; frame++ {
			if s.has(frame, tick) != (frame >= first) {
				t.Errorf("frame %d has the packet of tick %d: %v", frame, tick, s.has(frame, tick))
			}
		}
		if !s.has(0, tick) {
			t.Errorf("the present lacks the packet of tick %d", tick)
		}
	}
}
