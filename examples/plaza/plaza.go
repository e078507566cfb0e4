// Package plaza is a lobby: up to 255 people walk about a square, all see each other, wave and talk.
// It is a whole game about trust: the page of each player decides where its avatar is, and the
// server only checks that nobody is faster than people walk.
//
//	go run ./cmd/meanwhile demo --game plaza --bots 254
//
// prints the address of the page. Add ?bot to let the bot stroll, ?delayMs=75&lossPct=3 or
// ?profile=lte-c for a worse network, ?article to see how others draw such a lobby.
//
// Owner-decided positions are simple: the command says where the avatar is, Act checks and stores
// it. Nothing is to be predicted then, and no correction is ever felt. The price is that the server
// cannot know more than the checks: who walks through a tree that only pages know does so for
// everybody. That is right for a lobby, and wrong wherever a place decides who wins.
//
// Axes: x to the right, y down the screen, in metres, from the middle of the fountain.
package plaza

import (
	"strings"

	"meanwhile/game"
	"meanwhile/geom"
)

// Numbers of the game. A second has Rate ticks.
const (
	Rate = 10 // places a second, as each avatar's page sends them and all others receive them

	People = 255 // at most

	MaxSpeed = 4.6 // m/s on average, a little more than pages walk
	Credit   = 9.2 // metres that may be made up for after commands were lost: two seconds of walking
	Grid     = 0.01

	emoteAfter = 8 // ticks from one emote to the next
)

// Emotes, in the order of their number keys.
const (
	Wave = iota
	Heart
	Laugh
	Dance
	Wow
	Question
)

// Looks is how many looks an avatar can have.
const Looks = 12

// square is where people can be, and blocks are what they walk around. web/game.js has both, too.
var (
	square = geom.Rect{Min: geom.Vec2{X: -29, Y: -17}, Max: geom.Vec2{X: 29, Y: 17}}
	blocks = [...]geom.Circle{
		{Radius: 4.2}, // the fountain
		{Center: geom.Vec2{X: -17, Y: -9}, Radius: 1.5}, {Center: geom.Vec2{X: 17, Y: -9}, Radius: 1.5}, // trees
		{Center: geom.Vec2{X: -17, Y: 9}, Radius: 1.5}, {Center: geom.Vec2{X: 17, Y: 9}, Radius: 1.5},
	}
)

// Avatar is a person on the square.
type Avatar struct {
	Pos  geom.Vec2 `net:"pos,1cm,levels=none"` // also far away everybody sees it exactly
	Look int       `net:"int,0..11"`
	Name string    `net:"text,12,ref"`

	Fix   int       `net:"int,0..255,to=owner"`        // counts how often the server has put the avatar somewhere
	Left  float64   `net:"float,0.01,0..9.2,to=owner"` // metres that it may go now
	Ready game.Tick `net:"tick,to=owner"`              // when it may show the next emote
}

// Cmd says where the avatar is.
type Cmd struct {
	At    geom.Vec2 `net:"pos,1cm"`
	Fix   int       `net:"int,0..255"` // of the avatar, as the page knows it; with another one At says nothing
	Emote int       `net:"enum,wave|heart|laugh|dance|wow|question"`
	Show  bool      `net:"press"`
}

// Emote is what somebody shows for a moment.
type Emote struct {
	What int `net:"enum,wave|heart|laugh|dance|wow|question"`
}

// Line is what somebody says to all.
type Line struct {
	Text string `net:"text,160"`
}

// The game, its kinds, events and messages.
var (
	Avatars = game.NewKind[Avatar]("avatar")
	Emotes  = game.NewEvent[Emote]("emote")
	Chat    = game.NewMessage[Line]("chat", 0.7, 4)

	Game = game.Definition[Cmd]{
		Name: "plaza", Rate: Rate, Send: Rate, See: People,
		Kinds: game.Kinds(Avatars), Events: game.Events(Emotes), Messages: game.Messages(Chat.On(chat)),
		Static: mapHash(),
		Join:   join, Act: act, Bot: Bot,
	}
)

// Viewer is the name of those who only look on. The page that shows two ways to draw the lobby
// joins a second time with it.
const Viewer = "(viewer)"

// join lets a person arrive somewhere on the square.
func join(w *game.World, name string) game.ID {
	if name == Viewer {
		return 0
	}
	r := w.Rand()
	at := clear(square.Expand(-3).Random(r))
	return Avatars.Spawn(w, Avatar{Pos: at, Look: r.IntN(Looks), Name: name, Fix: 1, Left: Credit})
}

// act runs one command of one player: at once in the player's browser, for good on the server. Both
// come to the same result, so a page whose avatar is put back sees it in the next tick.
//
// Left is a bucket that fills at MaxSpeed. One number so checks speed and teleports alike, and
// forgives commands that the network lost.
func act(w *game.World, me game.ID, c Cmd) {
	a := Avatars.Get(w, me)
	a.Left = min(a.Left+float64(MaxSpeed*w.Dt()), Credit)
	if c.Show && w.Tick() >= a.Ready {
		a.Ready = w.Tick() + emoteAfter
		Emotes.Emit(w, me, a.Pos, Emote{c.Emote}) // everyone sees it once, the player at once
	}
	if c.Fix != a.Fix || c.At == a.Pos {
		return
	}
	way := c.At.Dist(a.Pos)
	if way > a.Left+2*Grid || clear(c.At).Dist(c.At) > 2*Grid {
		a.Fix = a.Fix%255 + 1 // the page goes on from Pos
		return
	}
	a.Pos, a.Left = c.At, max(a.Left-way, 0)
}

// clear returns the nearest place to at where a person can be.
func clear(at geom.Vec2) geom.Vec2 {
	for _, b := range blocks {
		if way := at.Sub(b.Center); way.Len() < b.Radius {
			at = b.Center.Add(way.Unit().Mul(b.Radius))
		}
	}
	return square.Clamp(at)
}

// mapHash identifies the square: client and server must agree on it.
func mapHash() uint64 {
	h := geom.NewRand()
	for _, b := range blocks {
		h = geom.NewRand(
			h.Uint64(),
			uint64(int64(b.Center.X*100)),
			uint64(int64(b.Center.Y*100)),
			uint64(int64(b.Radius*100)),
		)
	}
	return h.Uint64()
}

// chat passes on what a person said.
func chat(w *game.World, from game.ID, l Line) {
	if l.Text = strings.Join(strings.Fields(l.Text), " "); l.Text != "" && Avatars.Has(w, from) {
		Chat.SendAll(w, nil, l)
	}
}
