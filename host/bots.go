package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/session"
	"meanwhile/transport"
)

// botSpacing is the time between two bots that join a room, so that a new room fills up instead of
// beginning with a crowd in one place.
const botSpacing = 120 * time.Millisecond

// errNobody refuses bots in a room without people.
var errNobody = errors.New("host: nobody is there to play with")

// botNames are the names of bots, in an order that differs from room to room. When there are more
// bots than names, the second Ada is called "Ada 2".
var botNames = [...]string{
	"Ada", "Alan", "Barbara", "Bjarne", "Clara", "Dana", "Dennis", "Edsger", "Frances", "Grace", "Hedy", "Ivan",
	"Joan", "John", "Karen", "Ken", "Leslie", "Linus", "Lotfi", "Mary", "Niklaus", "Olga", "Paul", "Radia",
	"Rob", "Rosa", "Sophie", "Tim", "Tony", "Vint", "Whit", "Yuri",
}

// botName returns the name of the i-th bot of a room.
func botName(room string, i int) string {
	parts := make([]uint64, len(room))
	for j := range parts {
		parts[j] = uint64(room[j])
	}
	rand := geom.NewRand(parts...)
	n := len(botNames)
	name := botNames[(rand.IntN(n)+(i%n)*11)%n] // 11 and n have no common divisor
	if i >= n {
		return fmt.Sprintf("%s %d", name, 1+i/n)
	}
	return name
}

// A Bot is what a room needs of the clients that play as its bots. *headless.Bot is one. The room
// calls it from one goroutine.
type Bot interface {
	// Receive applies a datagram from the room that arrived at the time at. It must not retain it.
	Receive(at clock.Time, datagram []byte)
	// Frame advances to now and returns the datagram to send, nil if there is none, which stays
	// valid until the next call. err is a fault of the game's rules: it is logged and counted.
	Frame(now clock.Time) (datagram []byte, err error)
}

// A crowd plays the bots of one room. One goroutine drives them all, once after each tick of the
// room, so their commands are never late for the next tick.
type crowd struct {
	r    *room
	bots []*bot
}

// A bot is one player of a crowd. It is also the peer that the room sends to.
type bot struct {
	core  Bot
	p     *player
	mail  transport.Queue // datagrams from the room
	clock transport.Clock
	spare []byte
}

// Send implements peer.
func (b *bot) Send(datagram []byte) {
	now := b.clock()
	wire.PatchStamp(datagram, now.Stamp())
	b.mail.Put(datagram, now)
}

// Dropped implements peer. A datagram that does not fit the bot's queue counts as lost on the path.
func (b *bot) Dropped(seqs []wire.Seq) []wire.Seq { return seqs }

// SendMessage implements peer: bots ignore messages.
func (b *bot) SendMessage([]byte) error { return nil }

// Close implements peer.
func (b *bot) Close(string) { b.mail.Close() }

// run plays until ctx or the room ends.
func (c *crowd) run(ctx context.Context) {
	r := c.r
	defer func() {
		if v := recover(); v != nil {
			err := caught(v)
			r.log.Error("the bots of this room have failed", "panic", err.value, "stack", string(err.stack))
			for _, b := range c.bots {
				select {
				case r.leaves <- leaving{b.p.id, 0, err}:
				case <-r.done:
				}
			}
		}
	}()
	faults := faultLog{log: r.log.With("bots", true)}
	next := r.h.clock()
	joined, company := 0, uint64(0)
	for {
		now := r.h.clock()
		if c := r.company.Load(); c != company {
			joined, company, next = 0, c, now
		}
		for company != 0 && joined < r.h.cfg.Bots && now >= next {
			if !c.join(ctx, botName(r.name, joined)) {
				return
			}
			joined++
			next = next.Add(botSpacing)
		}
		stay := c.bots[:0]
		for _, b := range c.bots {
			if b.mail.Closed() {
				continue
			}
			stay = append(stay, b)
			if err := b.play(now); err != nil {
				r.n.faults.Add(1)
				faults.add(err, now)
			}
		}
		clear(c.bots[len(stay):])
		c.bots = stay
		faults.flush(now)
		select {
		case <-ctx.Done():
			return
		case <-r.ticked:
		}
	}
}

// join adds one more bot, and reports whether the room still runs.
func (c *crowd) join(ctx context.Context, name string) bool {
	r := c.r
	b := &bot{clock: r.h.clock}
	var welcome session.Welcome
	j := &joining{name: name, peer: b, bot: true, answer: make(chan error, 1),
		ready: func(p *player, w session.Welcome) { b.p, welcome = p, w }}
	select {
	case r.joins <- j:
	case <-ctx.Done():
		return false
	case <-r.done:
		return false
	}
	select {
	case err := <-j.answer:
		if errors.Is(err, errNobody) {
			return true
		}
		if err == nil {
			b.core, err = r.h.cfg.NewBot(r.h.cfg.Rules, welcome, r.h.clock())
		}
		if err != nil {
			r.log.Warn("a bot could not join", "name", name, "error", err)
			return true
		}
		c.bots = append(c.bots, b)
		return true
	case <-ctx.Done():
		return false
	case <-r.done:
		return false
	}
}

// play runs one frame of a bot.
func (b *bot) play(now clock.Time) error {
	for ok := true; ok; {
		var at clock.Time
		if b.spare, at, ok = b.mail.Take(b.spare); ok {
			b.core.Receive(at, b.spare)
		}
	}
	datagram, err := b.core.Frame(now)
	if datagram != nil {
		at := b.clock()
		wire.PatchStamp(datagram, at.Stamp())
		b.p.in.Put(datagram, at)
	}
	return err
}
