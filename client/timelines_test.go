package client

import (
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/rate"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
	"meanwhile/session"
)

const testPeriod = 40 * time.Millisecond

// newClient returns a client of a match in which tick 100 began 4 s after the server's clock, with
// 25 ticks and packets a second. Its own clock began with that tick.
func newClient(t *testing.T) *Client {
	t.Helper()
	w := session.Welcome{Session: 7, Tick: 100, ServerTime: tickTime(100), Period: testPeriod, SendRate: 25,
		History: snapshot.HistoryTicks, Game: "sky"}
	c, err := New(new(sky).rules(t), w, 0, Config{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// tickTime returns the server time at which a tick begins.
func tickTime(t clock.Tick) clock.Time { return clock.Time(t) * clock.Time(testPeriod) }

// arrives lets the header of a packet of a tick arrive, on a path without delay, which left so long
// after the instant of its tick.
func (t *timelines) arrives(tick clock.Tick, hold, period time.Duration) {
	left := tickTime(tick).Add(hold)
	local := left - tickTime(100)
	h := wire.Header{
		Server:  true,
		Tick:    tick,
		HasTime: true,
		Time:    tickTime(tick).Stamp(),
		Stamp:   left.Stamp(),
		NextDue: 5,
		Period:  period,
		HasEcho: true,
		Echo:    local.Stamp(),
		EchoAt:  left.Stamp(),
	}
	t.synchronise(local, &h, &wire.Packet{Sent: local}, false)
}

// beat lets a heartbeat arrive that left so long after the instant of the tick that it names.
func (t *timelines) beat(tick clock.Tick, after time.Duration) {
	left := tickTime(tick).Add(after)
	t.heartbeat(left-tickTime(100), &packet.Heartbeat{Tick: tick, Time: tickTime(tick).Stamp(), Stamp: left.Stamp()})
}

// A heartbeat holds command time back by as much as the next tick is late, and never less than an
// earlier one said: heartbeats overtake each other. The next tick ends it.
func TestHeartbeatsHoldCommandTime(t *testing.T) {
	tl := &newClient(t).time
	for i := range clock.Tick(10) {
		tl.arrives(100+i, 0, 0)
	}
	lead := tl.ahead()
	for _, c := range []struct {
		name  string
		tick  clock.Tick
		after time.Duration
		want  time.Duration
	}{
		{"in time", 109, testPeriod, 0},
		{"late by 60 ms", 109, testPeriod + 60*time.Millisecond, 60 * time.Millisecond},
		{"of an earlier tick", 108, 5 * testPeriod, 60 * time.Millisecond},
		{"later still", 109, testPeriod + 100*time.Millisecond, 100 * time.Millisecond},
		{"overtaken", 109, testPeriod + 80*time.Millisecond, 100 * time.Millisecond},
		{"twice the same", 109, testPeriod + 100*time.Millisecond, 100 * time.Millisecond},
		{"absurdly late", 109, time.Hour / 2, clock.MaxPeriod},
		{"of a tick whose packet is still to come", 111, testPeriod + 30*time.Millisecond, 30 * time.Millisecond},
	} {
		if tl.beat(c.tick, c.after); tl.overdue != c.want || tl.ahead() != lead-c.want {
			t.Errorf("%s: overdue by %v, want %v; command time %v ahead", c.name, tl.overdue, c.want, tl.ahead())
		}
	}
	if tick, _, _ := tl.ticks.Newest(); tick != 111 {
		t.Errorf("the newest tick known is %d", tick)
	}
	tl.arrives(112, 0, 0)
	if tl.overdue != 0 {
		t.Errorf("overdue by %v after the tick came", tl.overdue)
	}
	// The packet of a tick that a heartbeat called stuck: the next one begins no sooner than it
	// left.
	tl.beat(112, testPeriod+20*time.Millisecond)
	tl.beat(113, testPeriod+20*time.Millisecond)
	tl.arrives(113, 2*testPeriod, 0)
	if tl.overdue != testPeriod {
		t.Errorf("overdue by %v after a tick that took 80 ms to compute, want %v", tl.overdue, testPeriod)
	}
}

// A heartbeat that comes twice changes nothing, also when packets that it overtook came in between.
func TestHeartbeatTwice(t *testing.T) {
	tl := &newClient(t).time
	for i := range clock.Tick(10) {
		tl.arrives(100+i, 0, 0)
	}
	tl.beat(111, testPeriod+60*time.Millisecond)
	tl.arrives(110, 0, 0) // it says that nothing is late
	before, overdue := tl.play.Target(), tl.overdue
	tl.beat(111, testPeriod+60*time.Millisecond)
	if got := tl.play.Target(); got != before || tl.overdue != overdue {
		t.Errorf("a heartbeat that came twice: playout delay %v, %v before; overdue %v, %v before", got, before,
			tl.overdue, overdue)
	}
}

// A small change of the period keeps what the lead has learned, a larger one does not.
func TestPeriodTolerance(t *testing.T) {
	for _, c := range []struct {
		period time.Duration
		kept   bool
	}{{testPeriod + testPeriod/16, true}, {testPeriod - testPeriod/16, true},
		{testPeriod + testPeriod/16 + time.Microsecond, false}, {testPeriod / 2, false}} {
		tl := &newClient(t).time
		tl.arrives(101, 0, 0)
		tl.lead.Made(105, 50*time.Millisecond)
		tl.arrives(102, 0, c.period)
		if kept := tl.lead.from <= 105; kept != c.kept {
			t.Errorf("from %v to %v: history kept %v, want %v", testPeriod, c.period, kept, c.kept)
		}
	}
}

// The error of the server's time that a client publishes holds, and where one way takes all of the
// round trip, so that nobody could know better, it is no larger than it must be.
//
// seeds: U4
func TestPublishedErrorHolds(t *testing.T) {
	for _, c := range []struct{ up, down clock.Time }{{0, 80 * ms}, {80 * ms, 0}, {40 * ms, 40 * ms}} {
		d := newDuo(t, new(sky).rules(t))
		p := d.join(0, Config{})
		p.path = func(up bool) []clock.Time {
			if up {
				return []clock.Time{c.up}
			}
			return []clock.Time{c.down}
		}
		d.run(3 * time.Second)
		for range 100 {
			d.run(50 * time.Millisecond)
			st := p.c.Stats()
			off := p.c.ServerTime(d.now + p.offset).Sub(d.now).Abs()
			if tiny := 100 * time.Microsecond; off > st.Estimated+tiny || off > st.Bound+tiny {
				t.Fatalf("%v up, %v down: off by %v, said to be at most %v, %v whatever happens",
					time.Duration(c.up), time.Duration(c.down), off, st.Estimated, st.Bound)
			}
			if most := time.Duration(c.up+c.down)/2 + 25*time.Millisecond; st.Estimated > most {
				t.Fatalf("%v up, %v down: said to be off by %v, at most %v is possible",
					time.Duration(c.up), time.Duration(c.down), st.Estimated, most)
			}
		}
	}
}

// A clock that was set starts anew what was dated by the wrong time.
func TestClockStepStartsAnew(t *testing.T) {
	tl := &newClient(t).time
	for i := range clock.Tick(10) {
		tl.arrives(100+i, 0, 0)
	}
	tl.begin(10 * clock.Time(testPeriod))
	tl.movePlayout()
	tl.rtt.Sample(tl.now, 90*time.Millisecond)
	if dt := tl.begin(tl.now + 20*ms); tl.followStep(dt) || tl.rtt.Least() == 0 {
		t.Errorf("a frame of %v is taken for a clock that was set", dt)
	}
	tl.drawTick = 7
	if dt := tl.begin(tl.now - 251*ms); !tl.followStep(dt) || tl.drawTick != 0 || tl.rtt != (rate.RTT{}) ||
		tl.down != (rate.OneWay{}) {
		t.Errorf("a step of %v: drawn at %d, least round trip %v", dt, tl.drawTick, tl.rtt.Least())
	}
}

// Between a local clock that was set back and the next estimate a packet arrives, and the server's
// clock falls behind before more do: the playout time does not go by that packet any more.
func TestFloorFromBeforeAnEstimateThatBeginsAnew(t *testing.T) {
	tl := &newClient(t).time
	for i := range clock.Tick(30) {
		tl.arrives(100+i, 0, 0)
	}
	now := tl.now + 29*clock.Time(testPeriod)
	tl.begin(now)
	server := tickTime(129)
	arrives := func(tick clock.Tick, after, asleep time.Duration) {
		now, server = now.Add(after), server.Add(after-asleep)
		h := wire.Header{Server: true, Tick: tick, HasTime: true, Time: server.Stamp(), Stamp: server.Stamp(),
			NextDue: 5, HasEcho: true, Echo: now.Stamp(), EchoAt: server.Stamp()}
		tl.synchronise(now, &h, &wire.Packet{Sent: now}, false)
	}
	now -= 12 * clock.Time(time.Second)
	tl.followStep(tl.begin(now))
	arrives(130, testPeriod, 0)
	if got, want := tl.play.Floor(), now.Sub(server); got != want {
		t.Fatalf("after the local clock was set packets take %v, want %v", got, want)
	}
	arrives(131, 6*time.Second, 420*time.Millisecond)
	if got, want := tl.play.Floor(), now.Sub(server); got != want {
		t.Errorf("after the server slept packets take %v, want %v", got, want)
	}
}

// Until the server has reported on commands they are made a tick further ahead, or, where frames
// are as long as ticks, none would ever be made that it can report on. The lead of a player who is
// away stays as it is.
func TestLeadUntilReportsAndAway(t *testing.T) {
	tl := &newClient(t).time
	for i := range clock.Tick(10) {
		tl.arrives(100+i, 0, 0)
	}
	tl.begin(9 * clock.Time(testPeriod)) // server time is that of tick 109
	first := tl.commandTick(0, false)
	if want := tl.tickAhead().Tick() + 1; first != want {
		t.Errorf("before a report the command of tick %d is due, want %d", first, want)
	}
	tl.lead.lead = 5 * time.Millisecond
	if tl.commandTick(20*time.Millisecond, true); tl.lead.Now() != 5*time.Millisecond {
		t.Errorf("away: the lead moved from 5 ms to %v", tl.lead.Now())
	}
	if tl.commandTick(20*time.Millisecond, false); tl.lead.Now() != leadInitial {
		t.Errorf("back: the lead is %v, want %v", tl.lead.Now(), leadInitial)
	}
	tl.lead.Made(110, 60*time.Millisecond)
	tl.lead.Feedback(tl.now, 110, 30*time.Millisecond)
	if got, want := tl.commandTick(0, false), tl.tickAhead().Tick(); got != want {
		t.Errorf("after a report the command of tick %d is due, want %d", got, want)
	}
}
