package client

import (
	"slices"
	"time"

	"meanwhile/game"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/predict"
	"meanwhile/netcode/rate"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// How much is sent, in bytes a second, wire.Overhead per datagram included.
const (
	// defaultUp is the budget of the way up where the welcome names none.
	defaultUp = rate.BytesPerSecond(16000)
	// minUp is always sent if there is something to send, however little the path seems to carry.
	minUp = rate.BytesPerSecond(800)
	// initialUp is assumed until the path is known. A command in each frame, repeated as often as a
	// path of 150 ms that loses 5 % asks for, takes 6,600. A slower path is found out within
	// seconds; one that is thought too slow would starve the avatar until the estimate has grown.
	initialUp = rate.BytesPerSecond(7000)
	// slowUp is the rate below which not every packet repeats all commands.
	slowUp = rate.BytesPerSecond(4000)
)

// When something is sent.
const (
	// hello is from one packet to the next while the server's time is not known.
	hello = 50 * time.Millisecond
	// longestFlight is how long a packet may go unanswered before it counts as lost.
	longestFlight = 5 * time.Second
	// ackDelay is how much longer than the round trip an acknowledgement may take: they ride in
	// what the server sends anyway, some of which is lost.
	ackDelay = 200 * time.Millisecond
	// probeAfter is for how long at most nothing is sent because too much is unanswered: only a
	// packet shows whether a path that stood still carries again. A fast path has only paused, or
	// lost the answers, and to wait for them starves the avatar. A slow one is given longer, as
	// each packet takes its time.
	probeAfter, slowProbeAfter = 50 * time.Millisecond, 200 * time.Millisecond
)

// What a packet repeats.
const (
	// maxRepeat is how many commands one packet carries at most, unless commands are queued.
	maxRepeat = 40
	// fullRepeatEvery: on a slow path at least every fourth packet with commands repeats all that
	// are not known to have arrived. The others repeat only those that can still be in time.
	fullRepeatEvery = 4
	// fullRepeatAfter: on a path without loss, with packets less often than ticks, all are repeated
	// when a packet is known to be lost, and so long after a press that was not answered, but no
	// more often than that. Sooner than packet.LatePress, so that no press dies.
	fullRepeatAfter = 180 * time.Millisecond
	// losslessAfter is after how many packets without a known loss a path counts as one without:
	// then fewer than 1.2 % are lost, in 95 of 100 cases.
	losslessAfter = 256
	// idleAfter is how many equal commands make a player idle.
	idleAfter = 30
)

// uplink decides which commands are due, what the next datagram repeats of them, and when it is
// sent: no more than the path carries, and nothing while the player idles.
type uplink struct {
	rules *game.Rules
	cfg   *Config
	time  *timelines
	down  *downlink
	ring  *predict.Predictor[engine.Set, packet.Command] // has the commands
	stats *Stats

	made    clock.Tick // newest command
	due     int        // commands that are still to be made in this frame
	acked   clock.Tick // the server needs no command up to here any more
	starved uint8      // the server's count, modulo packet.StarvedRange

	same      int      // commands since one differed from that before it
	idleFrom  wire.Seq // first packet that said that commands stay as they are; 0: none
	idleKnown bool     // the server knows
	away      bool
	awayFrom  wire.Seq // first packet that said whether the player is away; 0: none
	awayKnown bool     // the server knows
	backFrom  wire.Seq // first packet with commands since they went back; 0: none
	backKnown bool     // the server knows; what it says of commands before that is of those withdrawn

	words *words

	log  wire.Log
	path *rate.Capacity // what the way up carries
	departures

	sentTick     clock.Tick // newest command that was sent
	prevSentTick clock.Tick // newest command of the packet before
	repeats

	cmds []packet.Command // of the newest packet
	buf  []byte
	w    wire.BitWriter
}

// departures is when something is sent.
type departures struct {
	lastSent    clock.Time
	nextSend    clock.Time
	wait        time.Duration // from the newest packet to the next
	lastQuality clock.Time    // the newest packet.Quality
}

// repeats is what decides which commands a packet repeats.
type repeats struct {
	sinceFull uint       // packets with commands since all were repeated
	missed    bool       // a packet is known to be lost since
	lastFull  clock.Time // when all were repeated
	sinceLoss uint       // packets since one was lost, or went unanswered
	pressed   clock.Tick // newest command with a press
	sentAgain clock.Tick // newest command that went out a second time at once
}

func (u *uplink) init(c *Client, local clock.Time) (err error) {
	u.rules, u.cfg, u.time, u.down, u.ring, u.stats = c.rules, &c.cfg, &c.time, &c.down, c.own.ring, &c.stats
	u.words = &c.words
	u.awayKnown, u.backKnown, u.lastSent = true, true, local-clock.Time(time.Hour)
	budget := rate.BytesPerSecond(c.welcome.BudgetUp / 8)
	if budget == 0 {
		budget = defaultUp
	}
	most := max(budget, rate.MinBudget)
	u.path, err = rate.NewCapacity(rate.CapacityConfig{
		Floor: min(minUp, most), Ceiling: min(most, rate.MaxBudget), Start: min(initialUp, most)})
	return err
}

func (u *uplink) setAway(away bool) {
	if away != u.away {
		u.away, u.awayKnown, u.awayFrom = away, false, 0
	}
}

// mayBeAway reports whether the player is away, or was until the server knows better.
func (u *uplink) mayBeAway() bool { return u.away || !u.awayKnown }

// schedule returns how many commands are due in this frame, up to that of tick t. After a longer
// pause most are skipped: they would only come late.
func (u *uplink) schedule(t clock.Tick) int {
	u.due = 0
	if t <= u.made {
		return 0
	}
	if u.made == 0 || t-u.made > MaxTicks {
		u.skipTo(t - 1)
	}
	u.due = int(t - u.made)
	return u.due
}

// skipTo gives up the commands up to tick t that are not made yet.
func (u *uplink) skipTo(t clock.Tick) {
	u.made = t
	u.acked = max(u.acked, t)
}

// next returns the tick of the next due command, which is made now.
func (u *uplink) next() clock.Tick {
	u.due--
	u.made++
	return u.made
}

// truncate forgets that commands after tick t were made and sent, as a clock was set or the server
// hung.
func (u *uplink) truncate(t clock.Tick) {
	u.made = t
	u.backFrom, u.backKnown = 0, false
	u.acked, u.sentTick = min(u.acked, t), min(u.sentTick, t)
	u.pressed, u.sentAgain = min(u.pressed, t), min(u.sentAgain, t)
}

// restart forgets what is known of the path, as a clock was set.
func (u *uplink) restart(now clock.Time) {
	u.nextSend = now
	u.path.Restart()
}

// noteCommand finds out whether a new command is equal to the one before, so that the player idles.
func (u *uplink) noteCommand(cmd *packet.Command) {
	u.same++
	if packet.HasPress(u.rules.Command, cmd.Vals) {
		u.pressed = cmd.Tick
	}
	if u.differs(cmd) {
		if u.idleKnown { // the commands since were as the server assumed: they are not sent late
			u.acked = max(u.acked, cmd.Tick-1)
		}
		u.same, u.idleFrom, u.idleKnown = 0, 0, false
	}
	if u.away {
		u.same = max(u.same, idleAfter)
	}
}

// differs reports whether a command is news: not that of the tick before, or not one that may stand
// for what follows.
func (u *uplink) differs(cmd *packet.Command) bool {
	before := u.ring.Command(cmd.Tick - 1)
	if before == nil || !slices.Equal(before.Vals, cmd.Vals) {
		return true
	}
	for i := range u.rules.Command.Props {
		switch p := &u.rules.Command.Props[i]; p.Input() {
		case schema.InputPress: // never repeated
			if cmd.Vals[p.At] != 0 {
				return true
			}
		case schema.InputMove: // a player who runs must go on saying so, or would run for ever in an outage
			if cmd.Vals[p.At] != 0 || cmd.Vals[p.At+1] != 0 {
				return true
			}
		}
	}
	return false
}

// noteStarved takes over the server's count of starved ticks and returns how many are new.
func (u *uplink) noteStarved(count uint8) (more uint8) {
	more = (count - u.starved) % packet.StarvedRange
	u.starved = count
	return more
}

// delivered notes that the server applied a packet of ours. That packet, or a later one, says
// whatever all since the first say.
func (u *uplink) delivered(p *wire.Packet) {
	u.path.Delivered(u.time.now, p.Size, -1)
	u.down.received.Delivered(p.Seq)
	u.words.settle(p.Seq, true)
	if u.awayFrom != 0 && !u.awayFrom.Newer(p.Seq) {
		u.awayKnown = true
	}
	if u.backFrom != 0 && !u.backFrom.Newer(p.Seq) && p.Note == withCommands {
		u.backKnown = true
	}
	if u.idleFrom != 0 && !u.idleFrom.Newer(p.Seq) {
		u.idleKnown = true
	}
}

// missing notes that a packet of ours was lost.
func (u *uplink) missing(p *wire.Packet) {
	u.missed, u.sinceLoss = true, 0
	u.words.settle(p.Seq, false)
	u.path.Missing(u.time.now)
}

// unanswered notes that nothing was heard of a packet. That says nothing of the path: in an outage
// nothing is.
func (u *uplink) unanswered(p *wire.Packet) {
	u.missed, u.sinceLoss = true, 0
	u.words.settle(p.Seq, false)
}

// wordTimeout is after how long a message without an answer is sent again.
func (u *uplink) wordTimeout() time.Duration { return u.time.rtt.Timeout() + ackDelay }
