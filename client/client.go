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
	"slices"
	"time"

	"meanwhile/game"
	"meanwhile/internal/engine"
	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/estimate"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/playout"
	"meanwhile/netcode/predict"
	"meanwhile/netcode/rate"
	"meanwhile/netcode/reliable"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
	"meanwhile/session"
)

// Limits.
const (
	// MaxInbox is how many datagrams wait for the next frame; the oldest are dropped beyond it.
	MaxInbox = 256
	// MaxTicks is how many commands one frame makes at most; after a longer pause the rest is skipped.
	MaxTicks = 8
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
	// Extrapolate is how far beyond their newest record entities of kinds that are game.Extrapolated may be drawn: they are drawn so much closer to the
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
	// SingleHitches counts the part of that for which other records came meanwhile: what stood still alone.
	SingleHitches uint64
	RTT           time.Duration // smoothed
	LeastRTT      time.Duration
	Bound         time.Duration // of the error of the estimate of server time, whatever the path does
	Estimated     time.Duration // the same while the clocks' rates change slowly: see clock.Estimator.Estimated
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

// Client is one player's side. See New.
type Client struct {
	rules   *game.Rules
	cfg     Config
	welcome session.Welcome
	eng     *engine.Engine
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
	lastNewest clock.Tick     // the newest that was received by then
	every      clock.Tick     // ticks from packet to packet, rounded up
	guess      clock.TickFrac // no further beyond a record than this, in ticks; 0: nothing is guessed
	newest     wire.Seq       // newest packet applied
	newestTick clock.Tick     // its tick
	gap        clock.Tick     // of the newest packet that came without the one before it
	fresh      bool           // records came since the world was brought up to date
	quiet      bool           // the newest packet said that the server is silent until something changes
	starved4   uint8

	recv      wire.Received
	agreement wire.Agreement
	log       wire.Log
	mustAck   bool
	resync    bool
	lost      int // packets dropped in a row for a lost baseline
	lane      reliable.Receiver
	hold      reliable.Hold
	texts     snapshot.Texts
	events    *eventList // for the next call of Events
	later     eventList  // own ones that wait for the server's state, where nothing is predicted

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
	own      *predict.Predictor[ownState, packet.Command]
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
	cmds      []packet.Command
	buf       []byte
	w         wire.BitWriter
	drawn     []int64
	before    []int64           // what was drawn in the last picture
	rides     [schema.MaxParents][]int64 // drawn parents of what is drawn
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
	c := &Client{rules: rules, cfg: cfg, guess: clock.TickFrac(int64(cfg.Extrapolate) * clock.FracPerTick / int64(w.Period)), every: clock.Tick((spacing + w.Period*15/16) / w.Period), welcome: w, eng: engine.NewClient(rules, w.Seed), store: snapshot.NewStore(rules.Coders),
		path: path, awaySaid: true, play: play, spacing: spacing, lead: lead, lastSent: local - clock.Time(time.Hour), now: local, events: &eventList{}, shownEvents: &eventList{}}
	c.queued = rules.Mode == game.Queued
	c.out = clock.NewOutput(&c.est)
	c.est.Seed(local, w.ServerTime)
	c.line.Update(w.Tick, w.ServerTime, w.Period)
	c.own = predict.New[ownState, packet.Command](model{c})
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
	c.lastT, c.lastG, c.lastNewest = c.playT, c.guessT, drawn
	if c.play.Advance(now) != 0 {
		t := c.play.DisplayTime()
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
func (c *Client) overdue(at clock.Time, h *packet.Heartbeat) {
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
func (c *Client) differs(cmd *packet.Command) bool {
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
		packet.Neutral(c.rules.Command, cmd.Vals)
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

// refresh brings the world that rules see up to the newest records, and the prediction to the newest own one.
func (c *Client) refresh() {
	if n := c.store.Turns(); n != c.turns {
		c.turns = n
		c.eng.Retain(func(id game.ID) bool { return c.store.Find(uint32(id)) != nil })
	}
	var avatar *snapshot.Replica // the newest, should a server name several
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

// LastSideEffect returns the newest tick at which a predicted command reached beyond the player's own avatar.
func (c *Client) LastSideEffect() clock.Tick { return c.eng.LastSideEffect(c.me) }

// Me returns the player's avatar, 0 before it is known.
func (c *Client) Me() game.ID { return c.me }

// World returns the world as rules see it in this client.
func (c *Client) World() *game.World { return (*game.World)(c.eng.World()) }

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
	s.Bound = c.est.MaxError()
	if _, ok := c.est.Offset(); ok {
		s.Estimated = c.est.SteadyError(c.now) + c.out.Error().Abs()
	}
	s.DelayTarget, s.Age = c.play.Target(), c.play.Age(c.now)
	if t := c.play.DisplayTime(); t != 0 {
		s.Delay = c.out.Now(c.now).Sub(t)
	}
	s.UpRate = int(c.path.Rate())
	s.Lead, s.Synced, s.Hitches = c.ahead(), c.lead.Synced(), c.play.Hitches()
	return s
}
