// Package client is one player's side of a connection as a pure core: datagrams, commands and the time in;
// datagrams, pictures and events out. Transports, goroutines and clocks belong to the edge.
//
// A frame is Frame(now), then one Tick for each of the commands that are due, then Draw and Events, then Encode.
// Not safe for concurrent use.
//
// Three times are at work. Commands are made ahead of the server, by what the server says they need to be there in time (Lead), and are
// predicted at once by the same rules that the server runs (package predict). Everybody else is drawn in the past, between records that
// really arrived (package playout). And the server's own time is estimated from stamps on every packet (package clock). After a pause, a
// hidden tab, or when a clock was set, all three start anew where they should be.
package client

import (
	"errors"
	"slices"
	"time"

	"meanwhile/clock"
	"meanwhile/estimate"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/fault"
	"meanwhile/lane"
	"meanwhile/motion"
	"meanwhile/playout"
	"meanwhile/predict"
	"meanwhile/rate"
	"meanwhile/schema"
	"meanwhile/session"
	"meanwhile/snapshot"
	"meanwhile/wire"
)

// Limits.
const (
	// MaxInbox is how many datagrams wait for the next frame; the oldest are dropped beyond it.
	MaxInbox = 256
	// MaxTicks is how many commands one frame makes at most; after a longer pause the rest is skipped.
	MaxTicks = 8
	// KeepAlive is how long a silent client waits before it sends an empty packet.
	KeepAlive = 10 * time.Second
	// longestFlight is how long a packet may go unanswered before it counts as lost.
	longestFlight = 5 * time.Second
	// ackSpan is how much longer than the round trip an acknowledgement may take: they ride in what the server sends anyway, some of which is lost.
	ackSpan = 200 * time.Millisecond
	// trickle is how long at most nothing is sent because too much is unanswered: whether a path that stood still carries again shows only so. A
	// slow one is given longer, as each packet takes its time. A fast one has only paused, or lost the answers: to wait for them
	// starves the avatar.
	trickle, slowTrickle = 50 * time.Millisecond, 200 * time.Millisecond
	// MaxSendRate bounds Config.SendRate.
	MaxSendRate = 240
	// DefaultUp is how many bytes a second are sent up at most, wire.Overhead per datagram included, where the welcome names no budget.
	DefaultUp = rate.BytesPerSecond(16000)
	// leastUp is what is always sent, if there is something to send, however little the path seems to carry.
	leastUp = rate.BytesPerSecond(800)
	// firstUp is what is sent before anything is known of the path: a command in each frame with its repetitions on a path of 150 ms that loses 5 %
	// takes 6,600, and then none waits. A slower path is found out within seconds; one that is thought too slow would starve until it has grown.
	firstUp = rate.BytesPerSecond(7000)
	// slowUp is the rate below which not every packet repeats all commands.
	slowUp = rate.BytesPerSecond(4000)
	// repeatAll is how many packets with commands pass at most from one that repeats all that are not known to have arrived to the next. The
	// others only repeat those that can still be in time.
	repeatAll = 4
	// idleAfter is how many equal commands make a client idle.
	idleAfter = 30
	// takeBack is how long after the server has run the command that hid an entity it may still be shown as gone, before
	// it is shown again. Where packets were lost since, the news of its end may have been in one of them, and be lost again:
	// then it may take up to takeBackLossy.
	takeBack      = 500 * time.Millisecond
	takeBackLossy = 2 * time.Second
)

// Config tunes a Client. The zero Config is a sound default.
type Config struct {
	// Playout is a fixed playout delay above the path's floor; 0 adapts.
	Playout time.Duration
	// SendRate is how many packets with commands are sent a second at most; 0 sends one with each new command. Each carries all commands
	// that are new or may be lost, so fewer packets only make commands wait.
	SendRate int
	// Extrapolate is how far beyond their newest record entities of kinds that are game.Guessed may be drawn: they are drawn so much closer to the
	// present than everything else, though no closer than the path lets anybody know. At most playout.MaxExtrapolate; 0 draws them as the others.
	Extrapolate time.Duration
	// NoPrediction runs commands on the server only: to show what prediction is worth.
	NoPrediction bool
	// NoInterpolation draws others at their newest record: to show what playout is worth.
	NoInterpolation bool
	// NoRewind asks the server to judge by the present: to show what lag compensation is worth.
	NoRewind bool
}

// Stats is what a client knows of its own state.
type Stats struct {
	Received     uint64 // datagrams applied
	Bytes        uint64 // of them, wire.Overhead per datagram included
	Sent         uint64
	SentBytes    uint64
	Malformed    uint64
	Duplicate    uint64
	Foreign      uint64 // of another session
	NoBaseline   uint64 // dropped because a baseline is gone
	InboxDropped uint64
	Confirmed    uint64  // own states that the server sent
	Corrections  uint64  // of them, those that differed from the prediction
	Replayed     uint64  // ticks that were run again
	LastOff      float64 // metres by which the newest correction moved the avatar
	Heartbeats   uint64  // by which the server said that a tick is late
	Starved      uint64  // ticks for which the server had no command, as far as it told
	Hitches      uint64
	// EntityHitches counts what single entities stood still for want of a record while they moved: beside Hitches, in which the playout
	// time stands still for all of them.
	EntityHitches uint64
	RTT           time.Duration // smoothed
	LeastRTT      time.Duration
	Bound         time.Duration // of the error of the estimate of server time
	Delay         time.Duration // playout delay: server time minus playout time
	DelayTarget   time.Duration // above the path's floor
	Age           time.Duration // of the newest record held, above the floor
	Lead          time.Duration // command time minus server time
	Synced        bool
	Steps         uint64 // how often a clock was set: the local one, or the server's
	UpRate        int    // bytes a second that the way up carries, as far as is known
	Faults        uint64 // predicted commands that panicked in the game's rules
	EventsLost    uint64 // events that nobody asked for in time
}

// ranAt says which command the server had run last as of a tick, where commands are queued.
type ranAt struct{ tick, cmd clock.Tick }

const ranTicks = 128

type held struct {
	at   clock.Time
	data []byte
}

// Event is something that happened, to be shown now.
type Event struct {
	Event int // index in the game's Events
	Actor game.ID
	Tick  clock.Tick
	Vals  []int64   // simulation integers of the payload
	Own   bool      // predicted here
	At    geom.Vec2 // where, as predicted; of own events only
}

// Client is one player's side. See New.
type Client struct {
	rules   *game.Rules
	cfg     Config
	welcome session.Welcome
	eng     *game.Engine
	store   *snapshot.Store
	now     clock.Time

	inbox []held
	spare [][]byte

	est   clock.Estimator
	out   *clock.Output
	line  clock.Timeline
	late  time.Duration // by which the server said that its next tick is overdue
	beat  clock.Tick    // the tick before that one
	paced struct {      // the newest packet's
		tick clock.Tick
		at   clock.Time
	}
	play       *playout.Clock
	spacing    time.Duration // usual, of packets
	playT      clock.TickFrac
	lastT      clock.TickFrac // of the frame before
	guessT     clock.TickFrac // what is guessed is drawn at
	lastG      clock.TickFrac // of the frame before
	every      clock.Tick     // ticks from packet to packet, rounded up
	guess      clock.TickFrac // no further beyond a record than this, in ticks; 0: nothing is guessed
	newest     wire.Seq       // newest packet applied
	newestTick clock.Tick     // its tick
	gap        clock.Tick     // of the newest packet that came without the one before it
	fresh      bool           // records came since the world was brought up to date
	quiet      bool           // the newest packet said that the server is silent until something changes
	starved4   uint8

	recv    wire.Received
	log     wire.Log
	mustAck bool
	resync  bool
	lost    int // packets dropped in a row for a lost baseline
	lane    lane.Receiver
	hold    lane.Hold
	texts   snapshot.Texts
	events  *eventList // for the next call of Events
	later   eventList  // own ones that wait for the server's state, where nothing is predicted

	laterSpare  eventList
	shownEvents *eventList // what Events returned last

	echo   clock.Stamp
	echoAt clock.Time
	echoed bool

	path     *rate.Capacity // what the way up carries
	rtt      rate.RTT
	down     rate.OneWay
	nextSend clock.Time
	wait     time.Duration // from the newest packet to the next
	sentLast clock.Tick    // newest command of the packet before the newest with commands
	packets  uint          // with commands, since all were repeated
	missed   bool          // one is known to be lost since

	me       game.ID
	meKind   int
	own      *predict.Predictor[ownState, game.Command]
	truth    ownState   // the newest state that was confirmed, as the server said it
	told     clock.Tick // the server's tick of it
	cutSaid  clock.Tick // newest teleport that the server told of
	cutDrawn clock.Tick // newest teleport before what is drawn of the avatar
	cuts     uint64
	smooth   predict.Smoother
	frameDt  float64
	lead     *Lead
	queued   bool          // commands are run when they come: they need no lead
	trip     time.Duration // then: how long they take, which is the lead
	ran      [ranTicks]ranAt
	cmdTick  clock.Tick // newest command made
	cmdAcked clock.Tick
	due      int
	same     int
	idleSeq  wire.Seq // packet that said idle, 0 while commands flow
	idleSaid bool     // the server knows
	lastSent clock.Time
	sentCmd  clock.Tick

	seer      seer
	cmds      []game.Command
	buf       []byte
	w         wire.BitWriter
	drawn     []int64
	before    []int64           // what was drawn in the last picture
	rides     [maxRides][]int64 // drawn parents of what is drawn
	rideVals  []float64
	placeVals []float64
	shown     Entity // the one that Draw hands over
	stats     Stats

	botVals  []int64
	away     bool
	awaySaid bool     // the server knows
	awaySeq  wire.Seq // first packet that said so
	turns    uint64   // of the store, when the world was last brought up to date

	// OnConfirm, where set, is called for each own state that the server sent: its tick and what it meant.
	OnConfirm func(tick clock.Tick, o predict.Outcome, off float64)
}

// New returns the client of a connection that was welcomed. It fails if the welcome does not fit the rules.
func New(rules *game.Rules, w session.Welcome, local clock.Time, cfg Config) (*Client, error) {
	if w.History != snapshot.HistoryTicks {
		return nil, fault.Errorf("client: the server's history is %d ticks, this client's %d", w.History, snapshot.HistoryTicks)
	}
	if w.Game != rules.Name {
		return nil, fault.Errorf("client: the server plays %q, this client %q", w.Game, rules.Name)
	}
	if w.Period < clock.MinPeriod || w.Period > clock.MaxPeriod {
		return nil, fault.Errorf("client: the welcome's tick period %v is outside [%v, %v]", w.Period, clock.MinPeriod, clock.MaxPeriod)
	}
	send := rules.Send
	if w.SendRate > 0 {
		send = int(w.SendRate)
	}
	spacing := time.Second / time.Duration(send)
	if cfg.SendRate < 0 || cfg.SendRate > MaxSendRate {
		return nil, fault.Errorf("client: SendRate %d is outside [0, %d] packets a second", cfg.SendRate, MaxSendRate)
	}
	up := rate.BytesPerSecond(w.BudgetUp / 8)
	if up == 0 {
		up = DefaultUp
	}
	path, err := rate.NewCapacity(rate.CapacityConfig{Floor: min(leastUp, max(up, rate.MinBudget)), Ceiling: min(max(up, rate.MinBudget), rate.MaxBudget), Start: min(firstUp, max(up, rate.MinBudget))})
	if err != nil {
		return nil, err
	}
	play, err := playout.New(playout.Config{Fixed: cfg.Playout, Interval: min(spacing, playout.MaxDelay)})
	if err != nil {
		return nil, err
	}
	lead, err := NewLead(LeadConfig{})
	if err != nil {
		return nil, err
	}
	if cfg.Extrapolate < 0 || cfg.Extrapolate > playout.MaxExtrapolate {
		return nil, fault.Errorf("client: Extrapolate %v is outside [0, %v]", cfg.Extrapolate, playout.MaxExtrapolate)
	}
	c := &Client{rules: rules, cfg: cfg, guess: clock.TickFrac(int64(cfg.Extrapolate) * clock.FracPerTick / int64(w.Period)), every: clock.Tick((spacing + w.Period*15/16) / w.Period), welcome: w, eng: game.NewClient(rules, w.Seed), store: snapshot.NewStore(rules.Kinds),
		path: path, awaySaid: true, play: play, spacing: spacing, lead: lead, lastSent: local - clock.Time(time.Hour), now: local, events: &eventList{}, shownEvents: &eventList{}}
	c.queued = rules.Mode == game.Queued
	c.out = clock.NewOutput(&c.est)
	c.est.Seed(local, w.ServerTime)
	c.line.Update(w.Tick, w.ServerTime, w.Period)
	c.own = predict.New[ownState, game.Command](model{c})
	c.seer.c = c
	most := 1
	for _, k := range rules.Kinds {
		most = max(most, k.Obs)
	}
	c.drawn = make([]int64, most)
	for i := range c.rides {
		c.rides[i] = make([]int64, most)
	}
	c.before = make([]int64, most)
	return c, nil
}

// Receive queues one datagram that arrived at the given local time; data is copied. It is applied by the next Frame.
func (c *Client) Receive(arrival clock.Time, data []byte) {
	if len(data) > wire.MaxDatagram {
		c.stats.Malformed++
		return
	}
	if len(c.inbox) >= MaxInbox {
		c.spare = append(c.spare, c.inbox[0].data)
		copy(c.inbox, c.inbox[1:])
		c.inbox = c.inbox[:len(c.inbox)-1]
		c.stats.InboxDropped++
	}
	var b []byte
	if n := len(c.spare); n > 0 {
		b, c.spare = c.spare[n-1][:0], c.spare[:n-1]
	}
	c.inbox = append(c.inbox, held{arrival, append(b, data...)})
}

// Frame takes in what arrived, moves the timelines on to now and says how many commands are due.
func (c *Client) Frame(now clock.Time) (due int) {
	c.frameDt = min(max(now.Sub(c.now).Seconds(), 0), 1)
	dt := now.Sub(c.now)
	c.now = now
	drawn, _, _ := c.line.Newest() // nothing beyond it was drawn by now
	for i := range c.inbox {
		c.apply(c.inbox[i].at, c.inbox[i].data)
		c.spare = append(c.spare, c.inbox[i].data)
	}
	c.inbox = c.inbox[:0]
	c.follow(now, dt)
	c.lastT, c.lastG = c.playT, c.guessT
	if t := c.play.Advance(now); t != 0 {
		// Beyond what was received, ticks were only supposed to run on. A server that stalled has not run them: then the playout time goes back,
		// to where the picture has stood still since.
		c.playT = max(min(c.playT, drawn.Frac()), c.line.TickAt(t))
		c.guessT = max(c.playT, c.line.TickAt(t.Add(min(c.cfg.Extrapolate, max(c.play.Delay(), 0)))))
	}
	if c.fresh {
		c.refresh()
		c.fresh = false
	}
	if c.own.Debt() > 0 && c.me != 0 {
		c.stats.Replayed += uint64(c.own.Catch())
		c.leap()
		c.collect()
	}
	c.smooth.Step(c.frameDt)
	least, _ := c.est.RTT()
	lead := c.lead.Now()
	if !c.away || lead == 0 {
		lead = c.lead.Move(dt, least)
	}
	if c.queued {
		if c.trip == 0 {
			c.trip = least / 2
		}
		c.trip = estimate.InputSlew.Step(c.trip, least/2, dt)
		lead = c.trip
	} else if !c.lead.Synced() {
		lead += c.welcome.Period // or, where frames are as long as ticks, none is ever made that the server could speak of
	}
	c.due = 0
	if _, known := c.est.Offset(); known {
		if t := c.line.TickAt(c.out.Now(now).Add(lead - c.late)).Tick(); t > c.cmdTick {
			if n := t - c.cmdTick; c.cmdTick == 0 || n > MaxTicks {
				c.cmdTick = t - 1
				c.cmdAcked = max(c.cmdAcked, c.cmdTick) // what was skipped would only come late
			}
			c.due = int(t - c.cmdTick)
		}
	}
	return c.due
}

// ahead is command time minus server time.
func (c *Client) ahead() time.Duration {
	if c.queued {
		return c.trip - c.late
	}
	return c.lead.Now() - c.late
}

// lastingly is the part of a tick's period by which it may change without regard to commands that were made before.
const lastingly = 16

// pace tells the playout clock what a packet says of how regularly the server works: how long it really took for the ticks since the newest
// packet before, how long it will take for the next ones, and how long after its instant the tick left. A tick that is
// computed for longer than its period delays the next.
func (c *Client) pace(at clock.Time, h *wire.Header, tickTime clock.Time, period time.Duration) {
	before := c.paced
	if h.Tick <= before.tick {
		return
	}
	hold := min(time.Duration(int32(h.Stamp-h.Time))*time.Microsecond, clock.MaxPeriod) // both stamps are of the server's clock
	c.paced.tick, c.paced.at = h.Tick, tickTime
	if before.tick != 0 {
		usual := c.welcome.Period
		late := tickTime.Sub(before.at) - time.Duration(h.Tick-before.tick)*usual
		longer := int64(min(max(period, hold), clock.MaxPeriod) - usual)
		c.play.Paced(at, late, time.Duration(int64(c.spacing)*longer/int64(usual)), hold)
	}
	if _, _, before := c.line.Newest(); c.line.Update(h.Tick, tickTime, period) && (period-before).Abs() > before/lastingly {
		c.lead.Remapped()
	}
	if newest, _, _ := c.line.Newest(); h.Tick == newest {
		if c.late = 0; c.beat == h.Tick { // it was told that this tick is computed for longer than its period: the next has begun no sooner than this left
			c.late = max(hold-period, 0)
		}
	}
}

// overdue takes in a heartbeat: the tick after the one that it names should have begun by now, and has not. Until it has, command time stands still
// by as much, as more commands would only wait, and playout slows before it has nothing left to draw.
func (c *Client) overdue(at clock.Time, h *wire.Header) {
	tick, began, period := c.line.Newest()
	if tick == 0 || h.Tick < tick || c.idleSaid {
		return // it has been overtaken, or nobody commands anything
	}
	if h.Tick > tick { // its packet is still to come, or was lost, or there is none
		if period = h.Period; period == 0 {
			period = c.welcome.Period
		}
		began = began.Near(h.Time)
		c.line.Update(h.Tick, began, period)
		c.late = 0
	}
	c.beat = h.Tick
	c.est.ReceiveOneWay(at, h.Stamp)
	late := min(began.Near(h.Stamp).Sub(began)-period, clock.MaxPeriod)
	if late > c.late {
		c.late = late
		c.play.Overdue(late)
	}
}

// follow notices when a clock was set, this one or the server's: what was dated by the wrong time is made anew.
func (c *Client) follow(now clock.Time, dt time.Duration) {
	c.out.Now(now)
	if !c.out.Behind() && dt > -clock.StepLimit {
		return
	}
	c.out.Step(now)
	c.play.Reset()
	c.rtt, c.down, c.nextSend = rate.RTT{}, rate.OneWay{}, now
	c.path.Restart()
	c.playT = 0
	c.stats.Steps++
	if t := c.line.TickAt(c.out.Now(now).Add(c.ahead())).Tick(); t < c.cmdTick {
		c.cmdTick = t
		c.own.Truncate(t)
		c.lead.Truncate(t)
		c.cmdAcked, c.sentCmd = min(c.cmdAcked, t), min(c.sentCmd, t)
	}
}

// SetAway says that nobody is looking: the tab is hidden, the machine is about to sleep. From the next Tick on commands are
// neutral, whatever the page asks for, and the server is told that they stay so, which is no starvation.
//
// While somebody is away the server sends little. On return the timelines go on from where they should be by then, and nothing of what was
// missed is made up for.
func (c *Client) SetAway(away bool) {
	if away != c.away {
		c.away, c.awaySaid, c.awaySeq = away, false, 0
	}
}

// differs reports whether a command is news: not that of the tick before, or not one that may stand for what follows.
func (c *Client) differs(cmd *game.Command) bool {
	before := c.own.Command(cmd.Tick - 1)
	if before == nil || !slices.Equal(before.Vals, cmd.Vals) {
		return true
	}
	for i := range c.rules.Command.Props {
		switch p := &c.rules.Command.Props[i]; p.Class {
		case schema.Press: // never repeated
			if cmd.Vals[p.At] != 0 {
				return true
			}
		case schema.Stick: // who runs must go on saying so, or an outage would let it run for ever
			if cmd.Vals[p.At] != 0 || cmd.Vals[p.At+1] != 0 {
				return true
			}
		}
	}
	return false
}

// Tick makes the command of the next due tick from the game's command vals and predicts it.
func (c *Client) Tick(vals []int64) {
	if c.due <= 0 {
		return
	}
	c.due--
	c.cmdTick++
	c.lead.Made(c.cmdTick, c.line.TimeOf(c.cmdTick.Frac()).Sub(c.out.Now(c.now)))
	cmd := c.own.Push(c.cmdTick)
	cmd.Tick, cmd.Seen, cmd.Newest = c.cmdTick, c.playT, c.newest
	cmd.Vals = append(cmd.Vals[:0], vals[:min(len(vals), c.rules.Command.Sims)]...)
	for len(cmd.Vals) < c.rules.Command.Sims {
		cmd.Vals = append(cmd.Vals, 0)
	}
	c.rules.Command.Clamp(cmd.Vals) // as the server will: both must run the same
	if c.away {
		game.Neutral(c.rules.Command, cmd.Vals)
	}
	c.same++
	if c.differs(cmd) {
		if c.idleSaid { // the ticks since were as the server was told: they are not sent late
			c.cmdAcked = max(c.cmdAcked, c.cmdTick-1)
		}
		c.same, c.idleSeq, c.idleSaid = 0, 0, false
	}
	if c.away {
		c.same = max(c.same, idleAfter)
	}
	if c.me != 0 {
		if c.own.Catch(); !c.leap() {
			c.board()
		}
	}
	c.collect()
}

// Think makes the next due command by a bot, which sees what a player on this connection would.
func (c *Client) Think(bot game.BotFunc) error {
	if c.botVals == nil {
		c.botVals = make([]int64, c.rules.Command.Sims)
	}
	clear(c.botVals)
	var err error
	if c.me != 0 {
		c.eng.SetTick(c.cmdTick + 1)
		if c.putOwn(c.cmdTick); c.cfg.NoPrediction {
			c.putOwn(c.own.Base()) // what it has on its screen
		}
		c.seer.t = c.playT
		err = c.eng.Think(bot, c.me, c.botVals, &c.seer)
	}
	c.Tick(c.botVals)
	return err
}

func (c *Client) putOwn(t clock.Tick) {
	if s := c.own.State(t); s != nil {
		c.eng.PutOwned(c.me, c.meKind, s.vals)
	}
}

// apply takes in one datagram, whole or not at all.
func (c *Client) apply(at clock.Time, data []byte) {
	h, n, err := wire.DecodeHeader(data)
	switch {
	case err != nil || !h.Server:
		c.stats.Malformed++
		return
	case h.Session != c.welcome.Session:
		c.stats.Foreign++
		return
	case h.Heartbeat:
		if c.stats.Heartbeats++; len(data) > n {
			c.stats.Malformed++
		} else {
			c.overdue(at, &h)
		}
		return
	case !c.recv.Accepts(h.Seq):
		c.stats.Duplicate++
		return
	}
	var r wire.BitReader
	r.Reset(data[n:])
	fb := c.readFeedback(&r, h.Tick)
	if r.Bad() {
		c.stats.Malformed++
		return
	}
	if err := c.store.Read(&r, h.Tick); err != nil {
		if errors.Is(err, snapshot.ErrBaseline) || errors.Is(err, snapshot.ErrSlot) {
			c.stats.NoBaseline++
			if c.lost++; c.lost > resyncAfter {
				c.resync, c.mustAck = true, true
			}
		} else {
			c.stats.Malformed++
		}
		return
	}
	if rest := r.Rest(); len(rest) > 0 {
		if _, err := c.lane.Read(rest); err != nil {
			c.stats.Malformed++ // its records are sound and taken in; unacknowledged, both come again
			return
		}
	}
	c.lost, c.resync = 0, false
	if fb.ran != 0 {
		c.ran[h.Tick%ranTicks] = ranAt{h.Tick, fb.ran}
	}
	newest := int16(h.Seq-c.newest) > 0
	c.recv.Applied(h.Seq)
	c.stats.Received++
	c.stats.Bytes += uint64(len(data) + wire.Overhead)
	c.mustAck = c.mustAck || h.Elicits
	c.fresh = true
	stood := c.down.Queued(at, at.Sub(at.Near(h.Stamp)))
	if h.HasEcho {
		hold := time.Duration((uint32(h.Stamp)-uint32(h.EchoAt))&(1<<24-1)) * time.Microsecond
		c.est.Receive(at, h.Stamp, h.Echo, hold)
		if rtt := at.Sub(at.Near(h.Echo)) - hold; rtt > 0 && rtt < rate.MaxTimeout {
			c.rtt.Sample(at, rtt)
			// What stood in a queue on the way down is no queue that less up would shorten.
			c.path.Sample(at, max(rtt-stood, min(c.rtt.Least(), rtt)))
		}
	} else {
		c.est.ReceiveOneWay(at, h.Stamp)
	}
	period := h.Period
	if period == 0 {
		period = c.welcome.Period
	}
	expect := c.out.Now(c.now) // near enough to place a stamp; reading the clock at the arrival would move it past this frame
	if _, known := c.est.Offset(); !known {
		_, expect, _ = c.line.Newest()
	}
	tickTime := expect.Near(h.Time)
	c.pace(at, &h, tickTime, period)
	c.play.Arrive(at, tickTime, h.NextDue == wire.Quiet || c.away || !c.awaySaid) // little is sent to who is away: that is no jitter
	if newest {
		if h.Seq != c.newest+1 {
			c.gap = h.Tick
		}
		c.newest, c.newestTick = h.Seq, h.Tick
		c.echo, c.echoAt, c.echoed = h.Stamp, at, true
		c.quiet = h.NextDue == wire.Quiet
		c.takeFeedback(&fb, at, period)
	}
	if h.HasAck {
		c.log.Acked(h.Ack, c.delivered, c.missing)
	}
	for {
		m, ok := c.lane.Next()
		if !ok {
			break
		}
		if m.Kind == snapshot.TextMessage {
			if c.texts.Read(m.Body) != nil {
				c.stats.Malformed++
			}
			for _, e := range c.store.Entities() {
				e.Fresh = e.Fresh || !e.Mine // it may be called so
			}
			continue
		}
		for !c.hold.Put(m) {
			c.show(c.hold.Pop())
		}
	}
}

// resyncAfter is how many packets in a row may name a baseline that is gone before everything is asked for anew.
const resyncAfter = 16

// unanswered takes in that nothing was heard of a packet, which is no loss yet: in an outage nothing is.
func (c *Client) unanswered(*wire.Packet) { c.missed = true }

func (c *Client) missing(*wire.Packet) {
	c.missed = true
	c.path.Missing(c.now)
}

func (c *Client) delivered(p *wire.Packet) {
	c.path.Delivered(c.now, p.Size, -1)
	if c.awaySeq != 0 && !c.awaySeq.Newer(p.Seq) {
		c.awaySaid = true
	}
	if c.idleSeq != 0 && !c.idleSeq.Newer(p.Seq) { // this one or a later one: all of them say idle
		c.idleSaid = true
	}
}

type feedback struct {
	acked   clock.Tick
	slack   int64
	slacked bool
	starved uint8
	ran     clock.Tick // newest queued command that was run, 0: none
}

func (c *Client) readFeedback(r *wire.BitReader, tick clock.Tick) (f feedback) {
	if r.Bool() {
		f.acked = clock.Tick(max(int64(tick)-r.Varint(4), 0))
	}
	if f.slacked = r.Bool(); f.slacked {
		f.slack = r.Varint(5)
	}
	f.starved = uint8(r.Bits(4))
	if c.queued && r.Bool() {
		f.ran = clock.Tick(max(int64(tick)-r.Varint(3), 0))
	}
	return f
}

// takeFeedback takes in what the server said of the commands, at the local time at, when a tick took so long.
func (c *Client) takeFeedback(f *feedback, at clock.Time, period time.Duration) {
	c.cmdAcked = max(c.cmdAcked, min(f.acked, c.cmdTick))
	if n := (f.starved - c.starved4) & 15; n > 0 && c.lead.Synced() {
		c.stats.Starved += uint64(n)
	}
	c.starved4 = f.starved
	if f.slacked && !c.away && c.awaySaid { // what a hidden page makes comes when it may
		c.lead.Feedback(at, min(f.acked, c.cmdTick), time.Duration(f.slack)*period/16)
	}
}

// refresh brings the world that rules see up to the newest records, and the prediction to the newest own one.
func (c *Client) refresh() {
	if n := c.store.Turns(); n != c.turns {
		c.turns = n
		c.eng.Retain(func(id game.ID) bool { return c.store.Find(uint32(id)) != nil })
	}
	var avatar *snapshot.Held // the newest, should a server name several
	for _, e := range c.store.Entities() {
		k := c.rules.Kinds[e.Kind]
		if e.Mine {
			avatar = e
			continue
		}
		if !e.Fresh {
			continue
		}
		e.Fresh = false
		c.starved(e, k)
		drawn := c.drawn[:k.Obs]
		for g := range k.Groups {
			s := e.Groups[g].Newest()
			if s == nil {
				clear(drawn[k.Groups[g].At : k.Groups[g].At+k.Groups[g].N])
				continue
			}
			for i, v := range s.Vals {
				drawn[k.Groups[g].At+i] = v * schema.SubSteps
			}
		}
		c.texts.Spell(k, drawn)
		c.eng.PutKnown(game.ID(e.ID), e.Kind, drawn)
	}
	if avatar == nil {
		c.me = 0
	} else if s := avatar.Groups[snapshot.OwnerGroup].Newest(); s != nil && (avatar.Fresh || c.me != game.ID(avatar.ID) || c.meKind != avatar.Kind) {
		avatar.Fresh = false
		c.confirm(avatar, c.rules.Kinds[avatar.Kind], s)
	}
	// What a confirmed command hid stays hidden while the news of its end may be on its way.
	if base := c.own.Base(); base > 0 {
		grace := clock.Tick(takeBack / c.welcome.Period)
		if c.gap+grace > base && c.gap > 0 {
			grace = clock.Tick(takeBackLossy / c.welcome.Period)
		}
		if base > grace {
			c.eng.Unhide(1, base-grace)
		}
	}
}

func (c *Client) confirm(e *snapshot.Held, k *schema.Kind, s *motion.State) {
	if game.ID(e.ID) != c.me || e.Kind != c.meKind {
		c.own.Reset()
		c.smooth.Clear()
		c.me, c.meKind = game.ID(e.ID), e.Kind
		c.truth.cut, c.told, c.cutSaid, c.cutDrawn = 0, 0, 0, 0
	}
	if s.Cut > c.cutSaid {
		if c.cfg.NoPrediction && c.told > 0 {
			c.cuts++
		}
		c.cutSaid = s.Cut
	}
	known := c.own.Base()
	tick := s.Tick // of the newest command that is in this state
	if c.queued {
		at := &c.ran[s.Tick%ranTicks]
		if at.tick != s.Tick {
			return // none has run yet
		}
		tick = at.cmd
	}
	if tick <= known {
		return
	}
	before, had := c.place(k)
	old := c.own.State(tick)
	off := 0.0
	if old != nil {
		off = c.distance(k, old.vals, s.Vals)
	}
	c.truth.vals = s.Vals
	if s.Cut > c.told && c.told > 0 { // since the state before
		switch {
		case !c.queued:
			c.truth.cut = s.Cut
		case old != nil && old.cut > known: // by which of the commands since then, only the prediction knows
			c.truth.cut = old.cut
		default:
			c.truth.cut = tick
		}
	}
	c.told = s.Tick
	o := c.own.Confirm(tick, &c.truth)
	c.stats.Confirmed++
	c.stats.Replayed += uint64(o.Replayed)
	if c.cmdTick < c.own.Last() { // the server is ahead of our commands: those of its past are of no use to it
		c.cmdTick = c.own.Last()
		c.cmdAcked = c.cmdTick
	}
	if o.Corrected {
		c.stats.Corrections++
		c.stats.LastOff = off
		if after, ok := c.place(k); had && ok {
			c.smooth.Add(before.Sub(after))
		}
	}
	c.leap() // nothing fades across a teleport that was not foreseen, or was in vain
	if c.OnConfirm != nil {
		c.OnConfirm(tick, o, off)
	}
	c.collect()
}

// place returns where in the world the avatar is drawn without smoothing.
func (c *Client) place(k *schema.Kind) (geom.Vec3, bool) {
	a, b, u := c.between()
	if b == nil {
		return geom.Vec3{}, false
	}
	return c.placeOf(k, a, b, u)
}

// placeOf returns where in the world an avatar is drawn that is between a and b; ok is false if its parent is not known.
func (c *Client) placeOf(k *schema.Kind, a, b []int64, u int64) (v geom.Vec3, ok bool) {
	p := ownPlace(k)
	if p == nil {
		return v, true
	}
	to := [3]*float64{&v.X, &v.Y, &v.Z}
	if relative(k, b) {
		c.placeVals = k.AppendExact(c.placeVals[:0], a, b, u)
		if !c.attachOwn(k, c.placeVals) {
			return v, false
		}
		for j := range p.Comps {
			*to[j] = c.placeVals[p.At+j]
		}
		return v, true
	}
	for j := range p.Comps {
		from := a[p.At+j]
		*to[j] = (float64(from) + float64(float64(b[p.At+j]-from)*float64(u))/65536) / p.Sim
	}
	return v, true
}

// distance returns how far two states of the avatar are apart. Such as are relative to different parents are as far apart as they are drawn.
func (c *Client) distance(k *schema.Kind, a, b []int64) float64 {
	from, ok := c.placeOf(k, a, a, 0)
	to, there := c.placeOf(k, b, b, 0)
	if !ok || !there {
		return 0
	}
	return to.Sub(from).Len()
}

// between returns the own states before and after the moment that is drawn, and how far between them it is.
func (c *Client) between() (a, b []int64, u int64) {
	t := min(c.cmdTick, c.own.Done()) // with debt, what is computed
	sb := c.own.State(t)
	if sb == nil {
		return nil, nil, 0
	}
	sa := c.own.State(t - 1)
	if sa == nil || sa.cut != sb.cut || apart(c.rules.Kinds[c.meKind], sa.vals, sb.vals) {
		return sb.vals, sb.vals, 65536
	}
	f := int64(c.line.TickAt(c.out.Now(c.now).Add(c.ahead())) - c.cmdTick.Frac())
	return sa.vals, sb.vals, min(max(f, 0), clock.FracPerTick) << 8
}

// leap takes in that the avatar is drawn on the other side of a teleport than before, and reports whether it is: nothing fades across it.
func (c *Client) leap() bool {
	s := c.own.State(min(c.cmdTick, c.own.Done()))
	if s == nil || s.cut == c.cutDrawn {
		return false
	}
	c.cutDrawn = s.cut
	c.smooth.Clear()
	if !c.cfg.NoPrediction {
		c.cuts++
	}
	return true
}

// MaxEvents is how many events wait for Events to be called; the oldest are dropped beyond it.
const MaxEvents = 512

// eventList is a list of events with memory of its own for what they hold.
type eventList struct {
	list []Event
	vals []int64
}

func (l *eventList) clear() { l.list, l.vals = l.list[:0], l.vals[:0] }

// add appends an event with room for n integers, and returns those.
func (l *eventList) add(e Event, n int) []int64 {
	at := len(l.vals)
	for range n {
		l.vals = append(l.vals, 0)
	}
	e.Vals = l.vals[at : at+n : at+n]
	l.list = append(l.list, e)
	return e.Vals
}

// collect moves what predicted rules emitted to the events to be shown now, or, without prediction, to those that are shown once the
// server's state of their tick has come.
func (c *Client) collect() {
	for i := range c.eng.Events() {
		e := &c.eng.Events()[i]
		to := c.events
		if c.cfg.NoPrediction {
			to = &c.later
		}
		if len(to.list) >= MaxEvents {
			c.stats.EventsLost++
			continue
		}
		copy(to.add(Event{Event: e.Event, Actor: e.Actor, Tick: e.Tick, Own: true, At: e.At}, len(e.Vals)), e.Vals)
	}
	c.eng.Drain()
}

// Events returns what is to be shown in this frame: what this player's own commands did, at once, and what
// others did, at the moment at which they are drawn doing it. It is valid until the next call.
func (c *Client) Events() []Event {
	for {
		m, ok := c.hold.Take(func(id uint32, t clock.Tick) bool {
			at := c.playT
			if h := c.store.Find(id); h != nil {
				at, _ = c.TimeOf(h)
			}
			return t.Frac() <= at
		})
		if !ok {
			break
		}
		c.show(m)
	}
	if len(c.later.list) > 0 {
		c.release()
	}
	ev := c.events
	c.events, c.shownEvents = c.shownEvents, ev
	c.events.clear()
	return ev.list
}

// release shows own events that waited for the server, and keeps those that still wait.
func (c *Client) release() {
	keep := &c.laterSpare
	keep.clear()
	for _, e := range c.later.list {
		to := c.events
		if e.Tick > c.own.Base() && c.cfg.NoPrediction {
			to = keep
		}
		copy(to.add(e, len(e.Vals)), e.Vals)
	}
	c.later, c.laterSpare = c.laterSpare, c.later
}

// show reads an event that the server sent.
func (c *Client) show(m lane.Message) {
	if int(m.Kind) >= len(c.rules.Events) {
		c.stats.Malformed++
		return
	}
	if len(c.events.list) >= MaxEvents {
		c.stats.EventsLost++
		return
	}
	k := c.rules.Events[m.Kind]
	vals := c.events.add(Event{Event: int(m.Kind), Actor: game.ID(m.Entity), Tick: m.Tick}, k.Sims)
	var r wire.BitReader
	r.Reset(m.Body)
	for i := range k.Props {
		p := &k.Props[i]
		for at := p.At; at < p.At+p.Comps; at++ {
			vals[at] = p.ReadAbsolute(&r, false, int64(m.Tick))
		}
	}
	k.Clamp(vals)
	if r.Bad() {
		c.stats.Malformed++
		c.events.list = c.events.list[:len(c.events.list)-1]
	}
}

// Encode returns the next datagram to send, or nil. It is valid until the next call; its stamp may be patched.
func (c *Client) Encode(now clock.Time) []byte {
	due := c.cmdTick > c.sentCmd && !c.idleSaid || !c.awaySaid
	if !due && !c.mustAck && now.Sub(c.lastSent) < KeepAlive {
		_, known := c.est.Offset()
		if known || now.Sub(c.lastSent) < hello {
			return nil
		}
	}
	c.log.Expire(now.Add(-longestFlight), c.unanswered)
	budget := c.path.Rate()
	if now < c.nextSend && c.nextSend.Sub(now) <= time.Second ||
		c.log.InFlight() > rate.Limit(budget, c.rtt.Least()+ackSpan) && now.Sub(c.lastSent) < c.trickle(budget) && now >= c.lastSent {
		if c.wait > c.cfg.gap() {
			c.path.Limited()
		}
		return nil // what is new goes with the next one
	}
	p := c.log.Sent(now, c.cmdTick, c.unanswered)
	h := wire.Header{Session: c.welcome.Session, Seq: p.Seq, Stamp: now.Stamp(), Resync: c.resync}
	h.Ack, h.HasAck = c.recv.Ack()
	if c.echoed {
		h.HasEcho, h.Echo, h.EchoAt = true, c.echo, c.echoAt.Stamp()
		c.echoed = false
	}
	// Where each command is to be run, none may be left behind that differs.
	h.Idle = c.same >= idleAfter && (!c.queued || c.cmdTick-min(c.cmdAcked, c.cmdTick) <= clock.Tick(c.same)+1)
	if h.Idle && c.idleSeq == 0 {
		c.idleSeq = p.Seq
	}
	if !c.awaySaid && c.awaySeq == 0 {
		c.awaySeq = p.Seq
	}
	up := game.Uplink{Away: c.away}
	c.cmds = c.cmds[:0]
	if c.cmdTick > 0 && !c.idleSaid {
		n := c.cmdTick - min(c.cmdAcked, c.cmdTick)
		if n = min(n, maxRepeat); c.queued {
			n = min(c.cmdTick-min(c.cmdAcked, c.cmdTick), game.MaxCommands) // each of them is to be run
		}
		if h.Idle {
			n = max(n, 1) // it stands for all that follow, also where all of them come too late to be run
		}
		if few := c.timely(now); few < n && !c.queued && c.slow(budget) && c.packets < repeatAll-1 && !c.missed {
			n, up.Sparse = few, true
			c.packets++
		} else {
			c.packets, c.missed = 0, false
		}
		for i := range n {
			t := c.cmdTick - (n - 1 - i)
			if cmd := c.own.Command(t); cmd != nil {
				c.cmds = append(c.cmds, *cmd)
				if c.cfg.NoRewind {
					c.cmds[len(c.cmds)-1].Seen = 0
				}
			} else {
				c.cmds, up.Sparse = c.cmds[:0], true
			}
		}
	}
	if c.sentCmd < c.cmdTick {
		c.sentLast, c.sentCmd = c.sentCmd, c.cmdTick
	}
	h.Elicits = len(c.cmds) > 0 || !c.lead.Synced()
	w := &c.w
	w.Reset(h.Append(c.buf[:0]))
	head := w.Mark()
	up.Append(w)
	game.AppendCommands(w, c.rules.Command, c.cmds, h.Ack.Latest)
	for w.Size() > wire.MaxDatagram && len(c.cmds) > 1 { // large commands
		w.Rewind(head)
		if c.queued { // the oldest go first: the others would have to wait for them
			c.cmds = c.cmds[:len(c.cmds)*3/4]
		} else { // the newest matter most
			c.cmds = c.cmds[(len(c.cmds)+1)/2:]
		}
		up.Append(w)
		game.AppendCommands(w, c.rules.Command, c.cmds, h.Ack.Latest)
	}
	b := w.Bytes()
	c.buf = b
	c.log.Charge(p, len(b)+wire.Overhead)
	c.wait = max(time.Duration(p.Size)*time.Second/time.Duration(budget), c.cfg.gap())
	c.nextSend = max(c.nextSend.Add(c.wait), now)
	c.mustAck, c.lastSent = false, now
	c.stats.Sent++
	c.stats.SentBytes += uint64(len(b) + wire.Overhead)
	return b
}

// gap is the time from one packet to the next that SendRate asks for.
func (cfg *Config) gap() time.Duration {
	if cfg.SendRate == 0 {
		return 0
	}
	return time.Second / time.Duration(cfg.SendRate)
}

// trickle is the longest that a path with too much under way is given nothing.
func (c *Client) trickle(budget rate.BytesPerSecond) time.Duration {
	if c.slow(budget) {
		return slowTrickle
	}
	return trickle
}

// slow reports whether what is repeated in vain takes from what is new.
func (c *Client) slow(budget rate.BytesPerSecond) bool { return budget < slowUp }

// timely returns how many of the newest commands are to be repeated because they can still be there in time, if they were lost: those whose tick
// the server has not run when this packet arrives, and those that went out only once.
func (c *Client) timely(now clock.Time) clock.Tick {
	first := c.line.TickAt(c.out.Now(now).Add(c.rtt.Least() / 2)).Tick()
	return c.cmdTick - min(max(first, spareTicks)-spareTicks, c.sentLast, c.cmdTick)
}

// spareTicks is by how many ticks timely may be wrong: ways differ, and ticks are not run at once.
const spareTicks = 2

const (
	maxRepeat = 40 // commands repeated in one packet at most
	hello     = 50 * time.Millisecond
)

// Confirmed returns the newest tick of which the server's state of the avatar is known.
func (c *Client) Confirmed() clock.Tick { return c.own.Base() }

// Own returns the predicted simulation integers of the avatar after a tick, not to be kept; nil if not known.
func (c *Client) Own(t clock.Tick) []int64 {
	if s := c.own.State(t); s != nil {
		return s.vals
	}
	return nil
}

// Cuts returns how often what is drawn of the avatar was teleported: by a predicted command at once, by others when the server's word of it came,
// and when a teleport that was predicted turned out not to be, or to have been at another tick.
func (c *Client) Cuts() uint64 { return c.cuts }

// Reach returns the newest tick at which a predicted command reached beyond the player's own avatar.
func (c *Client) Reach() clock.Tick { return c.eng.Reach(c.me) }

// Me returns the player's avatar, 0 before it is known.
func (c *Client) Me() game.ID { return c.me }

// World returns the world as rules see it in this client.
func (c *Client) World() *game.World { return c.eng.World() }

// Store returns what is held, for drawing and tests.
func (c *Client) Store() *snapshot.Store { return c.store }

// SendRate returns how many packets a second the server said that it sends.
func (c *Client) SendRate() int { return int(time.Second / c.spacing) }

// Playout returns the playout time of this frame in tick time.
func (c *Client) Playout() clock.TickFrac { return c.playT }

// CommandTick returns the tick of the newest command.
func (c *Client) CommandTick() clock.Tick { return c.cmdTick }

// ServerTime returns the estimated time of the server at a local time.
func (c *Client) ServerTime(local clock.Time) clock.Time { return c.out.Now(local) }

// ServerTick returns the estimated tick time of the server now.
func (c *Client) ServerTick() clock.TickFrac { return c.line.TickAt(c.out.Now(c.now)) }

// SetPlayout changes the fixed playout delay; 0 adapts.
func (c *Client) SetPlayout(d time.Duration) error { return c.play.SetFixed(d) }

// SetTechniques switches prediction and interpolation, to show what they are worth.
func (c *Client) SetTechniques(prediction, interpolation bool) {
	c.smooth.Clear()
	c.cfg.NoPrediction, c.cfg.NoInterpolation = !prediction, !interpolation
	c.fresh = true
}

// Stats returns what the client knows of its own state.
func (c *Client) Stats() Stats {
	s := c.stats
	s.LeastRTT, s.RTT = c.est.RTT()
	s.Bound = c.est.Bound()
	s.DelayTarget, s.Age = c.play.Target(), c.play.Age(c.now)
	if t := c.play.Now(); t != 0 {
		s.Delay = c.out.Now(c.now).Sub(t)
	}
	s.UpRate = int(c.path.Rate())
	s.Lead, s.Synced, s.Hitches = c.ahead(), c.lead.Synced(), c.play.Hitches()
	return s
}
