package client

import (
	"time"

	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
)

// A frame, in order: the edge calls Frame, Tick or Think for each command that is due, Draw and
// Events, and Encode.

// Frame begins a frame at the local time now and returns how many commands are due.
func (c *Client) Frame(now clock.Time) (due int) {
	dt := c.time.begin(now)
	c.screen.number++
	replayed := c.stats.Prediction.Replayed
	c.own.ring.Begin(c.replay.limit(c.cfg.ReplayBudget))
	c.applyInbox()       // take packets in
	c.followSteps(dt)    // advance the timelines: server time,
	c.time.movePlayout() // playout time,
	c.refresh()          // what arrived becomes the world that rules see, and corrects the prediction
	c.payDebt()          // also what earlier frames left
	c.replay.ran = c.stats.Prediction.Replayed - replayed
	c.own.smooth.Step(min(max(dt.Seconds(), 0), 1))
	c.ahead.step(min(max(dt.Seconds(), 0), 1))
	t := c.time.commandTick(dt, c.up.away) // and command time
	c.followHang(t)
	return c.up.schedule(t)
}

// MaxTicks is how many commands one frame makes at most. After a longer pause the rest is skipped.
const MaxTicks = 8

// Pressed says that a press of the next command happened at a local time: so rules know when within
// the tick, and which frame was on the screen. Of several the first counts. A press without it
// counts as at the tick's end, with the newest frame that was drawn.
func (c *Client) Pressed(at clock.Time) {
	if m := c.time.tickAt(at) - c.up.made.Frac(); c.moment == 0 {
		c.moment = uint8(min(max(m, 1), clock.FracPerTick-1))
		c.screen.pressed = c.screen.at(at)
	}
}

// aimed returns what was on the screen when the player decided on the next command. Nobody looks at
// the screen of a player who is away.
func (c *Client) aimed() glance {
	if c.up.away {
		return c.glance()
	}
	return c.screen.state(c.glance())
}

// Tick makes the command of the next due tick from the game's command vals, and predicts it. It
// states the frame that was on the screen, see Drawn. Without a due command it does nothing.
func (c *Client) Tick(vals []int64) { c.tick(vals, c.aimed()) }

// tick makes a command by what g showed.
func (c *Client) tick(vals []int64, g glance) {
	if c.up.due <= 0 {
		return
	}
	tick := c.up.next()
	c.time.made(tick)
	cmd := c.own.ring.Push(tick)
	cmd.Tick, cmd.Seen, cmd.Newest, cmd.Frame = tick, g.seen, g.newest, g.number
	cmd.Without = g.without
	cmd.Vals = append(cmd.Vals[:0], vals[:min(len(vals), c.rules.Command.Sims)]...)
	for len(cmd.Vals) < c.rules.Command.Sims {
		cmd.Vals = append(cmd.Vals, 0)
	}
	c.rules.Command.Clamp(cmd.Vals) // as the server will: both must run the same
	if c.up.away {
		packet.Neutral(c.rules.Command, cmd.Vals)
	}
	if cmd.Moment, cmd.Eye = 0, 0; packet.HasPress(c.rules.Command, cmd.Vals) {
		cmd.Moment, cmd.Eye = c.moment, packet.BoundEye(g.eye, tick)
	}
	cmd.Claim, c.moment = 0, 0
	c.screen.made(g)
	c.up.noteCommand(cmd)
	c.own.predict()
	c.claim(cmd)
	c.events.collect()
}

// Think makes the next due command by a bot, which sees what a player on this connection would, in
// the present frame. It fails if the bot panics; the command is made all the same, of what the bot
// had written by then. A nil bot repeats what it decided last, without presses: a person, too,
// decides once a frame, however many ticks it covers.
func (c *Client) Think(bot BotFunc) error {
	if c.botVals == nil {
		c.botVals = make([]int64, c.rules.Command.Sims)
	}
	var err error
	if bot == nil {
		packet.ClearPresses(c.rules.Command, c.botVals)
	} else {
		err = c.decide(bot, c.botVals)
	}
	c.tick(c.botVals, c.glance())
	return err
}

// decide writes to vals the command that a bot decides on by what the present frame shows. It fails
// if the bot panics.
func (c *Client) decide(bot BotFunc, vals []int64) (err error) {
	clear(vals)
	if c.own.me != 0 {
		c.eng.SetTick(c.up.made + 1)
		if c.own.show(c.own.newestDrawn()); c.cfg.NoPrediction { // what it has on its screen
			c.own.show(c.own.ring.Base())
		}
		g := c.glance()
		c.play.view.look(g.seen, 0, 0)
		c.eng.SetEye(g.eye)
		err = c.eng.Think(bot, c.own.me, vals, &c.play.view)
	}
	return err
}

// Draw calls f for every entity in sight by kind and rising ID: the player's own avatar predicted,
// with its fading error, everything else at the playout time. What is relative to a parent is drawn
// where the parent is drawn, and left out while the parent is not in sight. What a predicted
// command removed is left out. vals is memory for the values; Draw returns it for the next call.
func (c *Client) Draw(vals []float64, f func(e *Entity)) []float64 { return c.play.draw(vals, f) }

// Drawn says that the screen shows what Draw gave. Commands state the newest such frame before
// their press, and Entity.Cut is about what changes after it.
func (c *Client) Drawn() {
	c.play.markDrawn()
	c.screen.draw(c.glance())
}

// Events returns what is to be shown in this frame: what this player's own commands did, at once,
// and what others did, when they are drawn doing it. It is valid until the next call.
func (c *Client) Events() []Event {
	c.events.showDue()
	c.events.releaseDelayed()
	return c.events.take()
}

// Encode returns the next datagram to send, or nil if no more is due; a frame calls it until then.
// There are two while a press is on its way on a path that loses. A datagram is valid until the
// next call; its stamp may be patched.
func (c *Client) Encode(now clock.Time) []byte { return c.up.encode(now) }

// followSteps notices when a clock was set, this one or the server's. What was dated by the wrong
// time is made anew.
func (c *Client) followSteps(dt time.Duration) {
	if !c.time.followStep(dt) {
		return
	}
	c.stats.ClockSteps++
	c.screen.forget()
	c.up.restart(c.time.now)
	c.goBack(c.time.tickAhead().Tick())
}

// hangAfter is by how much command time may fall behind the newest command until commands go back.
// Within it the commands that were made are those of the ticks to come, only early.
const hangAfter = 200 * time.Millisecond

// followHang notices by the command tick t that the server goes on where it stood some time ago: it
// hung. It would run none of the commands that were made meanwhile in time, or outdated ones, so
// they are made anew.
func (c *Client) followHang(t clock.Tick) {
	if t == 0 || time.Duration(c.up.made-min(t, c.up.made))*c.time.period <= hangAfter {
		return
	}
	before := c.own.pose()
	c.goBack(t)
	if c.own.me != 0 {
		c.own.hideFrom(before)
	}
	c.stats.Hangs++
}

// goBack makes t the newest command; those after it are made anew.
func (c *Client) goBack(t clock.Tick) {
	if t < c.up.made {
		c.up.truncate(t)
		c.own.ring.Truncate(t)
		c.time.lead.truncate(t)
	}
}

// refresh brings the world that rules see up to the newest records, and the prediction to the
// newest own one.
func (c *Client) refresh() {
	if !c.down.fresh {
		return
	}
	c.down.fresh = false
	c.ahead.before()
	me, before := c.own.me, c.own.pose()
	if n := c.store.Turns(); n != c.refreshed {
		c.refreshed = n
		c.eng.Retain(func(id game.ID) bool { return c.store.Find(uint32(id)) != nil })
	}
	var avatar *snapshot.Replica // the newest, should a server name several
	for _, e := range c.store.Entities() {
		switch {
		case e.Mine:
			avatar = e
		case e.Exact: // the prediction has it
		case e.Fresh:
			e.Fresh = false
			c.play.countStall(e)
			c.eng.NoteNews(game.ID(e.ID), e.Kind)
		}
	}
	if avatar == nil {
		c.own.lose()
	} else if s := c.own.news(avatar); s != nil && c.confirm(avatar, s) {
		avatar.Fresh = false
	} else if avatar.Fresh = false; c.own.me != 0 { // nothing new of it, perhaps of what is run ahead
		c.stats.Prediction.Replayed += uint64(c.own.revise(0, false))
		c.events.collect()
	}
	c.ahead.after()
	if before.known = before.known && c.own.me == me; c.own.me != 0 {
		c.own.hideFrom(before)
	}
	c.unhide()
}

const (
	// despawnGrace is how long an entity that a predicted command despawned stays hidden after the
	// server ran that command: the news of its end may be on its way.
	despawnGrace = 500 * time.Millisecond
	// despawnGraceLossy is despawnGrace where packets were lost since: the news may have been in
	// one of them, and be lost again.
	despawnGraceLossy = 2 * time.Second
)

// unhide shows what predicted commands despawned again, once it is clear that the server did not.
func (c *Client) unhide() {
	base := c.own.ring.Base()
	if base == 0 {
		return
	}
	grace := clock.Tick(despawnGrace / c.welcome.Period)
	if c.down.gapTick+grace > base && c.down.gapTick > 0 {
		grace = clock.Tick(despawnGraceLossy / c.welcome.Period)
	}
	if base > grace {
		c.eng.Unhide(1, base-grace)
	}
}

// newest returns the newest known values of an entity, as the rules see them: observer integers in
// 1/schema.SubSteps, zero where nothing is known of a group. They are valid until the next call. It
// returns nil for what is not known, or predicted.
func (p *playback) newest(id game.ID) []int64 {
	e := p.store.Find(uint32(id))
	if e == nil || e.Exact {
		return nil
	}
	k := p.rules.Kinds[e.Kind]
	drawn := p.known[:k.Obs]
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
	p.texts.Spell(k, drawn)
	return drawn
}
