// Package invasion is a mass battle: thousands of creatures attack the beacons that hundreds of
// players defend, in a world of kilometres. It is a whole game about numbers: each player knows the
// nearest 250 of all, through as little as 13 kbit/s.
//
//	go run ./cmd/meanwhile demo --game invasion --bots 300
//
// prints the address of the page. Add ?bot to let the bot play, ?downKbps=13 to see what little is
// needed, ?rates to colour everything by how often records of it arrive.
//
// Players strike at once in their own browser. Creatures are the server's alone: its Referee moves
// them, and clients draw them from records. So Act touches nothing but the player's own avatar,
// which is what makes a thousand players cheap to predict.
//
// Axes: x to the right, y down the screen, in metres, from the middle of the world. Angles run from
// +x towards +y.
package invasion

import (
	"meanwhile/game"
	"meanwhile/geom"
)

// Numbers of the game. A second has Rate ticks.
const (
	Rate = 20

	MostCreatures  = 3000
	LeastCreatures = 1000 // with few players
	PerPlayer      = 10   // creatures for each player in between

	MaxHealth = 100
	MaxCharge = 100

	StrikeReach = 2.6 // metres from a player to the middle of what its strike hits
	StrikeArc   = 0.3 // cosine of the angle to either side that a strike covers
	BlastReach  = 7.0 // metres around a player
	strikeAfter = 12  // ticks from one strike to the next
	blastAfter  = 8 * Rate
	blastDamage = 3

	speed        = 6.0  // m/s of a player
	push         = 45.0 // m/s² from standing to running, and back
	respawnAfter = 4 * Rate
	homeRadius   = 9.0 // metres around its beacon within which a player appears
)

// Sites are where the beacons stand, a kilometre apart. web/game.js has them too, to draw.
var Sites = [...]geom.Vec2{
	{X: -1040, Y: -930}, {X: 60, Y: -1110}, {X: 980, Y: -890},
	{X: -1150, Y: 110}, {X: 0, Y: 0}, {X: 1090, Y: 70},
	{X: -910, Y: 1010}, {X: -70, Y: 1080}, {X: 1020, Y: 940},
}

// field is the world that players can reach.
var field = geom.Rect{Min: geom.Vec2{X: -1600, Y: -1600}, Max: geom.Vec2{X: 1600, Y: 1600}}

// Player is an avatar. It lies where it fell while its Health is 0.
type Player struct {
	Pos    geom.Vec2  `net:"pos,others=2cm,draw=hermite"`
	Vel    geom.Vec2  `net:"vel,others=4cm/s"`
	Aim    geom.Angle `net:"angle,8bit,others=5bit"`
	Health int        `net:"int,0..100"`
	Swing  int        `net:"int,0..7"` // counts strikes; those who see it seldom miss some
	Name   string     `net:"text,12,ref"`

	Kills  int       `net:"int,0..9999,to=owner"`
	Home   int       `net:"int,0..8,to=owner"` // its beacon, an index of Sites
	Ready  game.Tick `net:"tick,to=owner"`     // when it may strike again
	Loaded game.Tick `net:"tick,to=owner"`     // when it may blast again
	Back   game.Tick `net:"tick,to=owner"`     // when it stands up again
}

// Creature is one of thousands. Strikes are judged in the present and nothing by Seen, so clients
// draw creatures and players at the present.
type Creature struct {
	Pos    geom.Vec2 `net:"pos,others=4cm"`
	Breed  int       `net:"enum,crawler|hound|brute"`
	Health int       `net:"int,0..7"`

	Vel  geom.Vec2 `net:"vel,server"`
	Prey game.ID   `net:"handle,server"`   // the player it goes for; 0: none, it goes for its beacon
	Site int       `net:"int,0..8,server"` // that beacon, an index of Sites
}

// Beacon is what all fight for. It has no place on the wire, so everyone knows all nine, however
// far away.
type Beacon struct {
	Site   int `net:"int,0..8"`   // an index of Sites
	Charge int `net:"int,0..100"` // 0: it is dark
	Foes   int `net:"int,0..300"` // tens of creatures that go for it
}

// Blast is a shock wave around a player.
type Blast struct {
	At geom.Vec2 `net:"pos,10cm"`
}

// Slain says that a player fell.
type Slain struct {
	Who game.ID   `net:"handle"`
	At  geom.Vec2 `net:"pos,10cm"`
}

// Fallen says that a beacon went dark.
type Fallen struct {
	Site int `net:"int,0..8"`
}

// Cmd is what a player wants in one tick.
type Cmd struct {
	Move   geom.Vec2  `net:"stick,5bit"`
	Aim    geom.Angle `net:"angle,8bit"`
	Strike bool       `net:"press"` // while held, the player strikes as soon as it may
	Blast  bool       `net:"press"`
}

// The game, its kinds and its events.
var (
	Players   = game.NewKind[Player]("player", game.Extrapolated)
	Creatures = game.NewKind[Creature]("creature", game.Extrapolated)
	Beacons   = game.NewKind[Beacon]("beacon")
	Blasts    = game.NewEvent[Blast]("blast")
	Slains    = game.NewEvent[Slain]("slain")
	Falls     = game.NewUrgentEvent[Fallen]("fallen")

	Game = game.Definition[Cmd]{
		Name: "invasion", Rate: Rate,
		Kinds: game.Kinds(Players, Creatures, Beacons), Events: game.Events(Blasts, Slains, Falls),
		Static: siteHash(),
		Join:   join, Act: act, Referee: referee, Bot: Bot,
	}
)

// siteHash identifies the map: client and server must agree on it.
func siteHash() uint64 {
	h := geom.NewRand()
	for _, at := range Sites {
		h = geom.NewRand(h.Uint64(), uint64(int64(at.X)), uint64(int64(at.Y)))
	}
	return h.Uint64()
}

// join sends a player to the beacon with the fewest defenders.
func join(w *game.World, name string) game.ID {
	var defenders [len(Sites)]int
	for _, p := range Players.All(w) {
		defenders[p.Home]++
	}
	home := 0
	for i, n := range defenders {
		if n < defenders[home] {
			home = i
		}
	}
	return Players.Spawn(w, Player{Pos: homePlace(w, home), Health: MaxHealth, Name: name, Home: home})
}

// homePlace returns where a player of a beacon appears.
func homePlace(w *game.World, home int) geom.Vec2 {
	return Sites[home].Add(w.Rand().Disc(homeRadius))
}

// act runs one command of one player: at once in the player's browser, for good on the server. It
// notes a strike and a blast in the times of the next ones; referee works out what they hit.
func act(w *game.World, me game.ID, c Cmd) {
	p := Players.Get(w, me)
	if p.Health == 0 {
		p.Vel = geom.Vec2{}
		return
	}
	p.Aim = c.Aim
	p.Vel = p.Vel.Toward(c.Move.Mul(speed), float64(push*w.Dt()))
	p.Pos = field.Clamp(p.Pos.Add(p.Vel.Mul(w.Dt())))
	if c.Strike && w.Tick() >= p.Ready {
		p.Ready, p.Swing = w.Tick()+strikeAfter, (p.Swing+1)%8
	}
	if c.Blast && w.Tick() >= p.Loaded {
		p.Loaded = w.Tick() + blastAfter
		Blasts.Emit(w, me, p.Pos, Blast{p.Pos}) // everyone sees it once, the player at once
	}
}
