package client

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/rate"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// Commands are due up to the tick that command time has reached. After a pause of more than
// MaxTicks only the newest is made, and the server needs none of the others.
func TestSchedule(t *testing.T) {
	for _, c := range []struct {
		name        string
		made, acked clock.Tick
		tick        clock.Tick // that command time has reached
		due         int
		next        clock.Tick // of the first command that is due
		wantAcked   clock.Tick
	}{
		{"server time is not known", 0, 0, 0, 0, 1, 0},
		{"the first", 0, 0, 500, 1, 500, 499},
		{"one", 500, 490, 501, 1, 501, 490},
		{"none", 500, 490, 500, 0, 501, 490},
		{"command time went back", 500, 490, 480, 0, 501, 490},
		{"as many as a frame makes", 500, 490, 508, 8, 501, 490},
		{"one more", 500, 490, 509, 1, 509, 508},
	} {
		u := uplink{made: c.made, acked: c.acked, due: 77}
		if due := u.schedule(c.tick); due != c.due || u.acked != c.wantAcked {
			t.Errorf("%s: %d are due, want %d; acknowledged up to %d, want %d", c.name, due, c.due, u.acked,
				c.wantAcked)
		}
		if next := u.next(); next != c.next {
			t.Errorf("%s: the next is of tick %d, want %d", c.name, next, c.next)
		}
	}
}

// A player idles after 30 equal commands that may stand for what follows: no presses, and no stick
// held.
func TestIdle(t *testing.T) {
	c := newClient(t)
	u := &c.up
	tick := func(vals ...int64) {
		cmd := c.own.ring.Push(u.made + 1)
		*cmd = packet.Command{Tick: u.made + 1, Vals: vals}
		u.made++
		u.noteCommand(cmd)
	}
	for _, x := range []struct {
		name  string
		vals  []int64 // move x and y, aim, fire, duck
		idles bool
	}{
		{"nothing", []int64{0, 0, 0, 0, 0}, true},
		{"aims at something", []int64{0, 0, 90, 0, 0}, true},
		{"ducks", []int64{0, 0, 90, 0, 1}, true},
		{"runs", []int64{15, 0, 90, 0, 0}, false},
		{"presses", []int64{0, 0, 90, 1, 0}, false},
	} {
		for i := range 40 {
			tick(x.vals...)
			h := u.header(&wire.Packet{Seq: wire.Seq(1 + i)}, 0)
			if want := x.idles && i >= idleAfter; h.Idle != want {
				t.Fatalf("%s: command %d: idle %v, want %v", x.name, i+1, h.Idle, want)
			}
		}
		if !x.idles {
			continue
		}
		// Once the server knows, nothing is sent until a command differs, and what lies between is
		// done with.
		u.delivered(&wire.Packet{Seq: u.idleFrom})
		if u.sentTick = u.made - 1; !u.idleKnown || u.hasNews(u.lastSent+ms) {
			t.Errorf("%s: the server knows %v, something is to be sent", x.name, u.idleKnown)
		}
		before := u.made
		tick(0, 0, 33, 0, 0)
		if u.idleKnown || u.idleFrom != 0 || u.acked != before {
			t.Errorf("%s: idle after another command; acknowledged up to %d, want %d", x.name, u.acked, before)
		}
	}
}

// The server's count of starved ticks has four bits.
func TestStarvedCountWraps(t *testing.T) {
	var u uplink
	for _, c := range []struct{ count, more uint8 }{{3, 3}, {3, 0}, {15, 12}, {1, 2}, {0, 15}} {
		if more := u.noteStarved(c.count); more != c.more {
			t.Errorf("count %d: %d more, want %d", c.count, more, c.more)
		}
	}
}

// Somebody who goes away, or comes back, is news until a packet that says so has arrived, whatever
// was said before.
func TestAwayIsTold(t *testing.T) {
	c := newClient(t)
	u := &c.up
	if u.mayBeAway() {
		t.Error("away from the beginning")
	}
	for i, away := range []bool{true, false} {
		c.SetAway(away)
		first := wire.Seq(10 * (i + 1))
		u.header(&wire.Packet{Seq: first}, 0)
		u.header(&wire.Packet{Seq: first + 1}, 0)
		if u.delivered(&wire.Packet{Seq: first - 1}); u.awayKnown || !u.mayBeAway() {
			t.Errorf("away %v: known by a packet of before", away)
		}
		if !u.hasNews(u.lastSent + ms) {
			t.Errorf("away %v: it is no news", away)
		}
		if u.delivered(&wire.Packet{Seq: first + 1}); !u.awayKnown || u.mayBeAway() != away {
			t.Errorf("away %v: known %v, may be away %v", away, u.awayKnown, u.mayBeAway())
		}
	}
}

// On a slow path at least every fourth packet repeats all commands that may be lost, and each does
// after a loss; the others carry those that can still be in time, and say so.
func TestSlowPathRepeatsAllNowAndThen(t *testing.T) {
	d := newDuo(t, (&sky{rate: 60}).rules(t))
	p := d.join(100*ms, Config{})
	d.run(2 * time.Second)
	p.paused = true
	u := &p.c.up
	u.acked = u.made - 15
	u.prevSentTick, u.sinceFull, u.missed = u.made-1, 0, false
	now := d.now + p.offset
	for i := range 12 {
		u.missed = i == 9
		sparse := u.choose(now, slowUp-1, false, false)
		if want := i != 3 && i != 7 && i != 9; sparse != want {
			t.Errorf("packet %d: sparse %v, want %v", i, sparse, want)
		}
		if few := clock.Tick(len(u.cmds)) < 15; few != sparse {
			t.Errorf("packet %d: %d commands, sparse %v", i, len(u.cmds), sparse)
		}
	}
	if u.choose(now, slowUp, false, false) || len(u.cmds) != 15 {
		t.Errorf("on a fast path %d commands", len(u.cmds))
	}
}

// A command is predicted as the server will run it: within the bounds of the schema.
func TestCommandsAreClamped(t *testing.T) {
	c := newClient(t)
	c.up.due = 1
	c.Tick([]int64{1 << 40, -7, 0, 5, 0})
	want := []int64{1 << 40, -7, 0, 5, 0}
	c.rules.Command.Clamp(want)
	if got := c.own.ring.Command(c.up.made).Vals; !slices.Equal(got, want) || want[0] > 15 {
		t.Errorf("%d, want %d", got, want)
	}
}

// An idle player's newest command is sent although the server has it, as it stands for all that
// follow. A player whose commands are queued idles only once none that differs is under way.
func TestIdleStandsForAll(t *testing.T) {
	c := newClient(t)
	u := &c.up
	for range 50 {
		*c.own.ring.Push(u.made + 1) = packet.Command{Tick: u.made + 1, Vals: make([]int64, c.rules.Command.Sims)}
		u.made++
	}
	u.acked = u.made
	if u.choose(0, initialUp, true, false); len(u.cmds) != 1 || u.cmds[0].Tick != u.made {
		t.Errorf("%d commands", len(u.cmds))
	}
	c.time.queued, u.same = true, 40
	for _, x := range []struct {
		acked clock.Tick
		idle  bool
	}{{u.made - 42, false}, {u.made - 41, true}} {
		u.acked = x.acked
		if h := u.header(&wire.Packet{Seq: 1}, 0); h.Idle != x.idle {
			t.Errorf("%d commands are under way, the newest 40 equal: idle %v", u.unacked(), h.Idle)
		}
	}
}

type longCmd struct {
	A, B, C string `net:"text,31"`
	N       int    `net:"int,0..999"`
}

// Where not all commands fit a datagram, the newest go, or where each of them is to be run, the
// oldest.
func TestWhichLargeCommandsGo(t *testing.T) {
	for _, queued := range []bool{false, true} {
		k, err := schema.New("command", reflect.TypeFor[longCmd](), 30)
		if err != nil {
			t.Fatal(err)
		}
		c := newClient(t)
		u := &c.up
		rules := *c.rules
		rules.Command, u.rules, c.time.queued = k, &rules, queued
		for i := range 40 {
			vals := make([]int64, k.Sims)
			for j := range vals {
				vals[j] = int64(i*31+j*7) % 90
			}
			u.cmds = append(u.cmds, packet.Command{Tick: clock.Tick(100 + i), Vals: vals})
		}
		b := u.write(&wire.Header{}, packet.Uplink{})
		if n := len(u.cmds); len(b) > wire.MaxDatagram || n < 3 || n > 39 {
			t.Fatalf("%d bytes with %d commands", len(b), n)
		}
		if first, last := u.cmds[0].Tick, u.cmds[len(u.cmds)-1].Tick; queued && first != 100 || !queued && last != 139 {
			t.Errorf("queued %v: commands %d to %d", queued, first, last)
		}
	}
}

// A full path is probed again after 50 ms, a slow one after 200 ms.
func TestFullPathIsProbed(t *testing.T) {
	c := newClient(t)
	u := &c.up
	u.log.Charge(u.log.Sent(0, 1, u.unanswered), 1<<20)
	u.lastSent, u.nextSend = 0, -clock.Time(time.Hour)
	for _, x := range []struct {
		after clock.Time
		slow  bool
		wait  bool
	}{{49 * ms, false, true}, {50 * ms, false, false}, {50 * ms, true, true}, {199 * ms, true, true}, {200 * ms, true,
		false}, {-ms, false, false}} {
		budget := slowUp
		if x.slow {
			budget--
		}
		if wait := u.mustWait(x.after, budget, false); wait != x.wait {
			t.Errorf("%v after the last packet, slow path %v: waits %v", time.Duration(x.after), x.slow, wait)
		}
	}
}

// On a path without loss packets that are fewer than ticks repeat nothing, and all from the first
// loss on.
//
// seeds: P6
func TestLosslessPathRepeatsNothing(t *testing.T) {
	d := newDuo(t, (&sky{rate: 60}).rules(t))
	p := d.join(40*ms, Config{SendRate: 30})
	var lose bool
	counts := map[int]int{}
	p.path = func(up bool) []clock.Time {
		if up {
			counts[len(p.c.up.cmds)]++
			if lose {
				lose = false
				return nil
			}
		}
		return []clock.Time{0}
	}
	d.run(2 * time.Second)
	clear(counts)
	d.run(5 * time.Second)
	if few := counts[1] + counts[2] + counts[3]; few > 0 {
		t.Errorf("on a path not known yet: packets by their number of commands %v", counts)
	}
	d.run(5 * time.Second)
	clear(counts)
	d.run(5 * time.Second)
	if few := counts[1] + counts[2] + counts[3]; few < 148 {
		t.Errorf("on a path without loss: packets by their number of commands %v", counts)
	}
	lose = true
	d.run(time.Second)
	clear(counts)
	d.run(2 * time.Second)
	if counts[1]+counts[2]+counts[3] > 0 {
		t.Errorf("after a loss: packets by their number of commands %v", counts)
	}
}

// There a press that was not answered for fullRepeatAfter is repeated, with all else, and that no
// more often than once in fullRepeatAfter.
//
// seeds: P6
func TestLosslessPathRepeatsPresses(t *testing.T) {
	d := newDuo(t, (&sky{rate: 60}).rules(t))
	p := d.join(40*ms, Config{SendRate: 30})
	rules := d.rules
	p.play = func() []int64 { return make([]int64, rules.Command.Sims) }
	d.run(2 * time.Second)
	p.paused = true
	u := &p.c.up
	u.acked, u.sentTick, u.sinceLoss, u.missed = u.made-15, u.made-2, losslessAfter, false
	u.idleKnown = false
	now := d.now + p.offset
	for _, c := range []struct {
		name   string
		age    clock.Tick // of a press; 0: none
		full   clock.Time // since all were repeated
		sparse bool
	}{
		{"no press", 0, 1000 * ms, true},
		{"a new press", 9, 1000 * ms, true},
		{"a press without an answer", 10, 1000 * ms, false},
		{"it was repeated just now", 10, 170 * ms, true},
		{"it was repeated before", 14, 190 * ms, false},
		{"a press that was answered", 15, 1000 * ms, true},
	} {
		press := u.ring.Command(u.made - c.age).Vals
		for i := range rules.Command.Props {
			if q := &rules.Command.Props[i]; q.Input() == schema.InputPress && c.age > 0 {
				press[q.At] = 1
			}
		}
		u.lastFull = now - c.full
		if sparse := u.choose(now, slowUp, false, false); sparse != c.sparse || sparse != (len(u.cmds) == 2) {
			t.Errorf("%s: sparse %v, %d commands", c.name, sparse, len(u.cmds))
		}
		packet.ClearPresses(rules.Command, press)
	}
	// A packet with each command repeats all: the next one brings what is lost in time.
	u.cfg.SendRate = 0
	if u.choose(now, slowUp, false, false) || len(u.cmds) != 15 {
		t.Errorf("with a packet for each command %d commands", len(u.cmds))
	}
}

// Where commands share packets, one goes out with each command whose tick is a multiple of their
// number, and an acknowledgement waits for it, but not for longer.
//
// seeds: P7
func TestPacketsWaitForTheirCommands(t *testing.T) {
	d := newDuo(t, (&sky{rate: 60}).rules(t))
	p := d.join(40*ms, Config{})
	d.run(2 * time.Second)
	u := &p.c.up
	period := clock.Time(u.time.period)
	u.idleKnown, u.awayKnown = false, true
	for _, c := range []struct {
		every, sent, made clock.Tick
		silent            clock.Time
		ack, news         bool
	}{
		{1, 10, 10, period, false, false},
		{1, 10, 11, period, false, true},
		{2, 10, 11, period, false, false},
		{2, 10, 12, 2 * period, false, true},
		{2, 9, 10, period, false, true}, // the number has just changed
		{3, 9, 11, 2 * period, false, false},
		{3, 9, 12, 3 * period, false, true},
		{2, 10, 11, period - 1, true, false},
		{2, 10, 11, period, true, true},
	} {
		u.time.lead.every, u.sentTick, u.made, u.down.mustAck = c.every, c.sent, c.made, c.ack
		if news := u.hasNews(u.lastSent + c.silent); news != c.news {
			t.Errorf("%+v: something to send: %v", c, news)
		}
	}
}

// On a path that loses, a press goes out twice with each new command until it is known to have
// arrived or is too late, within what the path carries.
func TestPressesGoOutTwice(t *testing.T) {
	d := newDuo(t, (&sky{rate: 60}).rules(t))
	p := d.join(40*ms, Config{})
	p.play = func() []int64 { return make([]int64, d.rules.Command.Sims) }
	d.run(2 * time.Second)
	p.paused = true
	u := &p.c.up
	now, late := u.time.now, u.time.runBy(u.time.now)
	fast, err := rate.NewCapacity(rate.CapacityConfig{Floor: minUp, Ceiling: defaultUp})
	if err != nil {
		t.Fatal(err)
	}
	slow, err := rate.NewCapacity(rate.CapacityConfig{Floor: minUp, Ceiling: slowUp - 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		pressed clock.Tick
		change  func()
		twice   bool
	}{
		{"a new press", u.made, func() {}, true},
		{"a press that can be in time", late + 1, func() {}, true},
		{"no press", 0, func() {}, false},
		{"a press that is too late", late, func() {}, false},
		{"a press that arrived", u.made, func() { u.acked = u.made }, false},
		{"nothing is lost", u.made, func() { u.sinceLoss = losslessAfter }, false},
		{"a slow path", u.made, func() { u.path = slow }, false},
		{"a rate that was asked for", u.made, func() { u.cfg.SendRate = 60 }, false},
		{"queued commands", u.made, func() { u.time.queued = true }, false},
	} {
		u.pressed, u.acked, u.sentAgain, u.sinceLoss, u.path = c.pressed, late-8, u.made-1, 0, fast
		u.cfg.SendRate, u.time.queued, u.idleKnown, u.same = 0, false, false, 0
		u.lastSent, u.nextSend, u.sentTick = now-20*ms, now-20*ms, u.made-1
		c.change()
		var commands []int
		for b := u.encode(now); b != nil && len(commands) < 4; b = u.encode(now) {
			commands = append(commands, len(u.cmds))
		}
		want := []int{int(u.unacked())}
		if c.twice { // what is late already goes once
			want = append(want, int(u.made-late))
		}
		if c.twice && !slices.Equal(commands, want) || !c.twice && len(commands) > 1 {
			t.Errorf("%s: datagrams with %v commands, want %v", c.name, commands, want)
		}
	}

	// A press goes out though answers are missing, at once; its second packet waits for them.
	u.pressed, u.acked, u.time.queued, u.path = u.made, late-8, false, fast
	u.log.Charge(u.log.Sent(now, 1, u.unanswered), 1<<20)
	u.lastSent, u.nextSend = now-20*ms, now-20*ms
	if u.mustWait(now, slowUp, false) || !u.mustWait(now, slowUp, true) || !u.mustWait(now, slowUp-1, false) {
		t.Error("without answers a press waits, or its second packet or one on a slow path does not")
	}
}
