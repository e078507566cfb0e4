package client

import (
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
)

// While nothing is answered packets do not grow: what is repeated is what is in time and what may
// hold a press that the server still moves, all of that, and nothing older, which nobody would run.
func TestRepeatsWhatIsUseful(t *testing.T) {
	d := newDuo(t, (&sky{rate: 60}).rules(t))
	p := d.join(40*ms, Config{})
	var mute bool
	var since clock.Time
	packets, most := 0, 0
	p.path = func(up bool) []clock.Time {
		if !up || !mute {
			return []clock.Time{0}
		}
		cmds := p.c.up.cmds
		if len(cmds) == 0 || d.now < since+600*ms { // by then more is unanswered than is of use
			return nil
		}
		packets++
		most = max(most, len(cmds))
		arrives := d.s.Tick() + 2 // 40 ms later
		late := clock.Tick(packet.LatePress / p.c.welcome.Period)
		if first := cmds[0].Tick; first+late+2*spareTicks < arrives || first+late > arrives {
			t.Fatalf("%v: a packet that arrives in tick %d begins with the command of tick %d; "+
				"presses move for %d ticks", d.now, arrives, first, late)
		}
		return nil
	}
	d.run(20 * time.Second)
	mute, since = true, d.now
	d.run(2 * time.Second)
	t.Logf("%d packets, %d commands in one at most", packets, most)
	if packets < 10 || most > 30 {
		t.Errorf("%d packets without an answer, want 10 at least; %d commands in one, want 30 at most", packets, most)
	}
}
