// Package client is one player's side of a connection as a pure core: datagrams, commands and the
// time go in; datagrams, entities to draw and events come out. Transports, goroutines and clocks
// belong to the edge.
//
// A frame is Frame, one Tick for each command that is due, Draw and Events, and Encode: frame.go
// has them in this order. Receive may be called at any time in between. Not safe for concurrent
// use.
//
// Four parts do the work, each with its own state:
//
//   - timelines (package clock, package playout, Lead): server time, tick time, the playout time at
//     which others are drawn, and how far ahead of the server commands are made;
//   - reconcile (package predict): the predicted avatar, corrected by the server's states of it;
//   - uplink: which commands go into which datagram, and how many datagrams the path carries;
//   - playback (package motion): entities drawn between the records that arrived, or beyond them.
//
// Others are drawn in the past, between records that really arrived. The player's own avatar is
// predicted by the rules that the server runs. After a pause, in a hidden tab, or when a clock was
// set, all timelines go on from where they should be by then.
package client

import (
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/engine"
	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/predict"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
	"meanwhile/session"
)

// Config tunes a Client. The zero Config is a sound default.
type Config struct {
	// Playout is a fixed playout delay above the path's floor. Zero adapts it to the path; at most
	// playout.MaxDelay.
	Playout time.Duration
	// SendRate is how many datagrams with commands are sent a second at most, up to MaxSendRate.
	// Zero sends one with each new command, and about 30 where that costs no lead, see Lead.Every.
	// Each carries all commands that are new or may be lost, so a lower rate only makes commands
	// wait.
	SendRate int
	// Smoothing says how corrections of the prediction fade. Zero fields are its defaults.
	Smoothing predict.Smoothing
	// Tolerance says from where on a prediction counts as wrong. The zero Tolerance is exact: every
	// bit counts.
	Tolerance predict.Tolerance
	// MaxPrediction is how far beyond the playout time, at which others are drawn, what is
	// predicted is drawn at most: what is left of prediction when somebody wants to see what it is
	// worth. Zero draws all that is predicted, as do values beyond the way from playout time to
	// command time.
	MaxPrediction time.Duration
	// ReplayBudget is how much of a frame corrections of the prediction may take, at most
	// MaxReplayBudget; what is left to do goes to the next frames, and until then the outdated
	// prediction goes on. Zero means 4 ms.
	// It counts where FrameTook is called.
	ReplayBudget time.Duration
	// NoPrediction runs commands on the server only: to show what prediction is worth.
	NoPrediction bool
	// NoInterpolation draws others at their newest record: to show what playout is worth.
	NoInterpolation bool
	// NoExtrapolation draws extrapolated kinds as all others: to show what extrapolating is worth.
	NoExtrapolation bool
	// NoRewind asks the server to judge by the present: to show what lag compensation is worth.
	NoRewind bool
	// Report is called with a sentence about each mistake of the rules that the prediction shows,
	// once for each kind, property and line: writes and spawns without effect, rules that are not
	// pure. To see that, about one command in 32 is predicted twice. Report must not call the
	// Client. Nil looks for nothing.
	Report func(sentence string)
}

// MaxSendRate bounds Config.SendRate.
const MaxSendRate = 240

// Client is one player's side. See New.
type Client struct {
	rules   *game.Rules
	cfg     Config
	welcome session.Welcome
	eng     *engine.Engine  // the world as rules see it
	store   *snapshot.Store // the records that arrived

	time     timelines
	screen   screen
	down     downlink
	up       uplink
	own      reconcile
	ahead    ahead
	play     playback
	events   eventQueue
	replay   budget
	verdicts verdicts
	words    words
	stats    Stats

	refreshed uint64 // store.Turns when the world was last brought up to date
	botVals   []int64
	moment    uint8 // of the next command's presses, in 1/256 of its tick; 0: none

	// OnConfirm may be nil. It is called for each state of the avatar that arrives, with its tick,
	// how the prediction compares with it, and by how many metres the prediction was wrong.
	OnConfirm func(tick clock.Tick, o predict.Outcome, off float64)
}

// New returns the client of a connection that was welcomed; local is the local time now. It fails
// if the welcome does not fit the rules, or on a Config outside its bounds.
func New(rules *game.Rules, w session.Welcome, local clock.Time, cfg Config) (*Client, error) {
	if w.History != snapshot.HistoryTicks {
		return nil, fault.Errorf("client: the server's history is %d ticks, this client's %d",
			w.History, snapshot.HistoryTicks)
	}
	if w.Game != rules.Name {
		return nil, fault.Errorf("client: the server plays %q, this client %q", w.Game, rules.Name)
	}
	if w.Period < clock.MinPeriod || w.Period > clock.MaxPeriod {
		return nil, fault.Errorf("client: the welcome's tick period %v is outside [%v, %v]",
			w.Period, clock.MinPeriod, clock.MaxPeriod)
	}
	if cfg.SendRate < 0 || cfg.SendRate > MaxSendRate {
		return nil, fault.Errorf("client: SendRate %d is outside [0, %d] packets a second", cfg.SendRate, MaxSendRate)
	}
	if err := checkPrediction(&cfg); err != nil {
		return nil, err
	}
	c := &Client{rules: rules, cfg: cfg, welcome: w,
		eng: engine.NewClient(rules, w.Seed), store: snapshot.NewStore(rules.Coders)}
	if err := c.time.init(c, local); err != nil {
		return nil, err
	}
	if cfg.Report != nil {
		c.eng.Report(cfg.Report)
	}
	c.own.init(c)
	c.own.smooth.By = &c.cfg.Smoothing
	c.down.received = wire.NewIncoming(w.Tick, w.ServerTime, w.Period)
	if err := c.up.init(c, local); err != nil {
		return nil, err
	}
	c.play.init(c)
	c.ahead.init(c)
	c.events.init(c)
	if err := c.words.init(c); err != nil {
		return nil, err
	}
	return c, nil
}

// checkPrediction returns an error that names what is outside its bounds of how much is predicted,
// and how corrections are hidden.
func checkPrediction(cfg *Config) error {
	err := cfg.Smoothing.Check()
	if err == nil {
		err = cfg.Tolerance.Check()
	}
	if err != nil {
		return fault.Errorf("client: %w", err)
	}
	if cfg.MaxPrediction < 0 {
		return fault.Errorf("client: MaxPrediction %v is negative", cfg.MaxPrediction)
	}
	if cfg.ReplayBudget < 0 || cfg.ReplayBudget > MaxReplayBudget {
		return fault.Errorf("client: ReplayBudget %v is outside [0, %v]", cfg.ReplayBudget, MaxReplayBudget)
	}
	return nil
}

// SetAway says that nobody is looking: the tab is hidden, or the machine is about to sleep. From
// the next Tick on commands are neutral, whatever the page asks for, and the server learns that
// they stay so, which does not count as starvation.
//
// While a player is away the server sends little. On return the timelines go on from where they
// should be by then, and nothing of what was missed is made up for.
func (c *Client) SetAway(away bool) { c.up.setAway(away) }

// SetPlayout changes the fixed playout delay above the path's floor; 0 adapts it. It fails outside
// [0, playout.MaxDelay].
func (c *Client) SetPlayout(d time.Duration) error { return c.time.play.SetFixed(d) }

// SetTechniques switches prediction and interpolation, to show what they are worth.
func (c *Client) SetTechniques(prediction, interpolation bool) {
	if c.cfg.NoPrediction == !prediction && c.cfg.NoInterpolation == !interpolation {
		return
	}
	c.own.smooth.Clear()
	c.cfg.NoPrediction, c.cfg.NoInterpolation = !prediction, !interpolation
	c.down.fresh = true
}

// SetSmoothing changes how corrections fade, those that still do included, and from where on a
// prediction counts as wrong. It fails where New would.
func (c *Client) SetSmoothing(by predict.Smoothing, t predict.Tolerance) error {
	cfg := c.cfg
	cfg.Smoothing, cfg.Tolerance = by, t
	if err := checkPrediction(&cfg); err != nil {
		return err
	}
	c.cfg = cfg
	c.ahead.setSmoothing()
	return nil
}

// SetRewind says whether the server should judge by what this player saw, or by the present: to
// show what lag compensation is worth. The prediction always goes by what the player saw.
func (c *Client) SetRewind(on bool) { c.cfg.NoRewind = !on }

// Me returns the player's avatar, 0 before it is known.
func (c *Client) Me() game.ID { return c.own.me }

// Idle reports whether the server knows that the commands stay as they are.
func (c *Client) Idle() bool { return c.up.idleKnown }

// CommandTick returns the tick of the newest command.
func (c *Client) CommandTick() clock.Tick { return c.up.made }

// Confirmed returns the newest command tick after which the server's state of the avatar is known.
func (c *Client) Confirmed() clock.Tick { return c.own.ring.Base() }

// Own returns the predicted simulation integers of the avatar after a tick, not to be kept; nil if
// they are not known.
func (c *Client) Own(t clock.Tick) []int64 {
	vals, _ := c.own.own(c.own.ring.State(t))
	return vals
}

// Predicted returns the predicted simulation integers of an entity after a tick, not to be kept;
// nil if the client did not run it ahead then, or does not know them any more.
func (c *Client) Predicted(id game.ID, t clock.Tick) []int64 {
	s := c.own.ring.Drawn(t)
	if s == nil {
		return nil
	}
	m := s.Find(id)
	if m == nil {
		return nil
	}
	return s.Of(m, c.rules.Kinds[m.Kind])
}

// PredictedAt returns the moment of this frame's predicted things, in tick time: what is drawn of
// them is how the server has them then.
func (c *Client) PredictedAt() clock.TickFrac { return c.ahead.head() }

// OwnOffset returns the fading error of the prediction that Draw adds to the avatar's place, in
// metres: the drawn place less this is where the rules have it, the eye from which it aims.
func (c *Client) OwnOffset() geom.Vec3 {
	if c.cfg.NoPrediction {
		return geom.Vec3{}
	}
	return c.own.smooth.Error()
}

// Cuts returns how often the drawn avatar was teleported: at once by a predicted command, when the
// server's state arrives by anything else, and once more to take back a wrong prediction.
func (c *Client) Cuts() uint64 { return c.own.cuts }

// LastSideEffect returns the newest tick at which a predicted command changed something else than
// the player's own avatar.
func (c *Client) LastSideEffect() clock.Tick { return c.eng.LastSideEffect(c.own.me) }

// LastPredictedDespawn returns the newest tick at which a predicted command despawned something.
func (c *Client) LastPredictedDespawn() clock.Tick { return c.eng.LastPredictedDespawn(c.own.me) }

// World returns the world as rules see it in this client.
func (c *Client) World() *game.World { return (*game.World)(c.eng.World()) }

// Store returns the records that arrived, for tests and tools.
func (c *Client) Store() *snapshot.Store { return c.store }

// SendRate returns how many packets a second the server announced that it sends.
func (c *Client) SendRate() int { return int(time.Second / c.time.spacing) }

// Playout returns the playout time of this frame in tick time, 0 before anything arrived.
func (c *Client) Playout() clock.TickFrac { return c.time.drawTick }

// ServerTime returns the estimated time of the server at a local time.
func (c *Client) ServerTime(local clock.Time) clock.Time { return c.time.server.Now(local) }

// ServerTick returns the estimated tick time of the server now.
func (c *Client) ServerTick() clock.TickFrac {
	return c.time.ticks.TickAt(c.time.server.Now(c.time.now))
}

// Newest returns the newest tick that the server is known to have computed, when it was (server
// time), and the length of a tick then. The tick is that of the welcome until a packet arrives.
func (c *Client) Newest() (clock.Tick, clock.Time, time.Duration) { return c.time.ticks.Newest() }

// NewestPacket returns the number of the newest packet that was applied.
func (c *Client) NewestPacket() wire.Seq { return c.down.newest }

// Quiet reports whether the server announced that it is silent until something changes, for
// packet.KeepAlive at most.
func (c *Client) Quiet() bool { return c.down.quiet }
