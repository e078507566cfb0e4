//go:build !js

package playout_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/playout"
)

// A twin shows what its clock would with another delay: with the same one the same, whatever
// happens, and SetFixed is not for it.
func TestTwin(t *testing.T) {
	c, err := playout.New(playout.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Twin, err = playout.New(playout.Config{}); err != nil {
		t.Fatal(err)
	}
	late, err := playout.New(playout.Config{Fixed: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	c.Twin.Twin = late
	r := rand.New(rand.NewPCG(1, 2))
	ms := func(n int) time.Duration { return time.Duration(r.IntN(n)) * time.Millisecond }
	now := clock.Time(time.Hour)
	for range 20_000 {
		now = now.Add(ms(17))
		switch r.IntN(40) {
		case 0:
			c.Paced(now, ms(200), ms(200), ms(40))
		case 1:
			c.Overdue(ms(300))
		case 2:
			if r.IntN(20) == 0 {
				c.Reset()
			}
		case 3:
			now = now.Add(ms(400))
		case 4:
			if r.IntN(20) == 0 {
				c.AnotherPath()
			}
		default:
			if r.IntN(4) == 0 {
				c.Arrive(now, now.Add(-20*time.Millisecond-ms(30)), r.IntN(9) == 0)
			}
		}
		if at := c.Advance(now); at != c.Twin.Now() || c.Delay() != c.Twin.Delay() ||
			c.Hitches() != c.Twin.Hitches() || c.DisplayTime() != c.Twin.DisplayTime() {
			t.Fatalf("at %v, its twin %v", at, c.Twin.Now())
		}
	}
	if c.Hitches() == 0 || late.Hitches() == c.Hitches() || late.Delay() == c.Delay() {
		t.Errorf("%d hitches, %d with 300 ms", c.Hitches(), late.Hitches())
	}
	if err := c.SetFixed(70 * time.Millisecond); err != nil || c.Twin.Target() == c.Target() {
		t.Errorf("the twin has %v, too: %v", c.Twin.Target(), err)
	}
}
