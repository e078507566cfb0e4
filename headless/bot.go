// Package headless plays without a screen: as a bot in a room of this process, or over a connection
// for load, tests and tools. A Bot is a client core that makes commands; a Player is a Bot with a
// connection and a loop of its own.
package headless

import (
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/session"
	"meanwhile/transport"
)

// A Bot is a client core without a screen. It knows what a person in its place would know. Not safe
// for concurrent use; its owner calls Receive and Frame.
type Bot struct {
	core  *client.Client
	hear  func(c *client.Client, w *client.Word) // gets what the rules say; nil drops it
	think client.BotFunc                         // nil: the avatar stands still
	idle  []int64                                // a command that does nothing
	mute  bool                                   // there is no connection to send over
	clock transport.Clock                        // by which frames are timed; nil: they are not

	pause   time.Duration // from one decision to the next, at least; 0: each frame decides
	decides clock.Time    // when the next decision is due
}

// NewBot returns the bot that a welcome admits, played by the game's own Bot function. now is on
// the clock on which datagrams for it will be stamped. report is client.Config.Report and may be
// nil.
func NewBot(
	rules *game.Rules, welcome session.Welcome, now clock.Time, report func(sentence string),
) (*Bot, error) {
	return newBot(rules, welcome, now, client.Config{Report: report}, rules.Bot())
}

func newBot(
	rules *game.Rules, welcome session.Welcome, now clock.Time, cfg client.Config, think client.BotFunc,
) (*Bot, error) {
	core, err := client.New(rules, welcome, now, cfg)
	if err != nil {
		return nil, err
	}
	return &Bot{core: core, think: think, idle: make([]int64, rules.Command.Sims)}, nil
}

// Receive applies a datagram from the server that arrived at the time at. It is not retained.
func (b *Bot) Receive(at clock.Time, datagram []byte) { b.core.Receive(at, datagram) }

// Frame advances the bot to now, which must not decrease: it makes the commands that are due, by at
// most one decision, and returns the datagram to send, if there is one. The datagram is valid until
// the next call. err is the last panic of the Bot function in this frame; those commands do
// nothing.
func (b *Bot) Frame(now clock.Time) (datagram []byte, err error) {
	b.core.Store().Touch() // bots are many
	due := b.core.Frame(now)
	if b.clock != nil {
		b.core.FrameTook(b.clock().Sub(now))
	}
	think := b.think
	if due > 0 && b.pause > 0 {
		if now < b.decides {
			think = nil
		} else {
			b.decides = max(b.decides.Add(b.pause), now)
		}
	}
	for range due {
		if b.think == nil {
			b.core.Tick(b.idle)
		} else if e := b.core.Think(think); e != nil {
			err = e
		}
		think = nil // one decision a frame
	}
	b.core.Events()
	b.listen(b.core)
	if b.mute {
		return nil, err
	}
	return b.core.Encode(now), err
}

// driven is Frame by f, which makes the commands, and shows and takes what is to be shown.
func (b *Bot) driven(now clock.Time, f func(c *client.Client, now clock.Time, due int)) (datagram []byte) {
	due := b.core.Frame(now)
	b.core.FrameTook(b.clock().Sub(now))
	b.listen(b.core)
	f(b.core, now, due)
	if b.mute {
		return nil
	}
	return b.core.Encode(now)
}

// listen hands on what the rules said to b, to which the core now answers.
func (b *Bot) listen(now *client.Client) {
	for _, w := range b.core.Words() {
		if b.hear != nil {
			b.hear(now, &w)
		}
	}
}
