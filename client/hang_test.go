package client

import (
	"fmt"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/netcode/clock"
)

// hangRules is a game of either mode of commands, at 60 ticks a second.
func hangRules(t *testing.T, mode game.CommandMode) *game.Rules {
	if mode == game.Queued {
		return trackRules(t, 60, mode, nil)
	}
	return (&sky{rate: 60}).rules(t)
}

// A server that hung goes on where it stood. So do its players: 0.3 s after its first packet their
// commands run again, those of now and not those of the hang.
func TestServerHangs(t *testing.T) {
	for _, hang := range []time.Duration{400, 2_000, 10_000, 30_000} {
		for _, mode := range []game.CommandMode{game.Timed, game.Queued} {
			for _, lost := range []bool{false, true} {
				hangs(t, mode, hang*time.Millisecond, lost)
			}
		}
	}
}

// hangs lets a server hang. With lost it has room for only the newest datagrams of that time.
func hangs(t *testing.T, mode game.CommandMode, hang time.Duration, lost bool) {
	name := fmt.Sprintf("mode %v, a hang of %v, datagrams lost: %v", mode, hang, lost)
	d := newDuo(t, hangRules(t, mode))
	d.join(30*ms, Config{})
	d.join(90*ms, Config{})
	d.run(5 * time.Second)
	d.hangs = d.now.Add(hang)
	for _, p := range d.sides {
		p.path = func(up bool) []clock.Time {
			if lost && up && d.now < d.hangs-250*ms {
				return nil
			}
			return []clock.Time{0}
		}
	}
	d.run(hang)
	d.run(90*time.Millisecond + 300*time.Millisecond)
	may := uint64(2)
	if mode == game.Queued { // the first of the commands that waited run at once
		may = 6
	}
	for _, p := range d.sides {
		p.healthyBut(name, may)
		if st, _ := d.s.Stats(p.id); p.c.Stats().Hangs != 1 || st.Withdrawn > 1 {
			t.Errorf("%s: noticed %d times, commands withdrawn %d times", name, p.c.Stats().Hangs, st.Withdrawn)
		}
	}
}

// After a hang the avatar does what the player wants now: not what it wanted when the hang began,
// although those commands arrived first.
func TestHangWithdrawsCommands(t *testing.T) {
	for _, late := range []bool{false, true} {
		d := newDuo(t, hangRules(t, game.Timed))
		p := d.join(30*ms, Config{})
		wish := []int64{15, 0, 0, 0, 0}
		p.play = func() []int64 { return wish }
		d.run(3 * time.Second)
		d.hangs = d.now + 1000*ms
		d.run(400 * time.Millisecond)
		if late { // one datagram of the hang arrives after what withdraws it
			p.path = func(bool) []clock.Time {
				p.path = nil
				return []clock.Time{700 * ms}
			}
		}
		d.run(400 * time.Millisecond)
		wish = []int64{-15, 0, 0, 0, 0}
		d.run(500 * time.Millisecond)
		at := pilots.Get(d.s.World(), p.c.Me()).Pos.X
		d.run(500 * time.Millisecond)
		if x := pilots.Get(d.s.World(), p.c.Me()).Pos.X; x > at-3.9 {
			t.Errorf("late %v: moved by %.2f m in 0.5 s, want -4", late, x-at)
		}
	}
}
