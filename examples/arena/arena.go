// Package arena is a shooter seen from above at an angle: run, jump and crouch among walls, shoot,
// collect packs, in rounds. It is a whole game: the same rules run on the server, in the browser
// and in tests.
//
// Axes: x to the right, y down the screen, z up, in metres. Angles run from +x towards +y. Players
// aim in the plane only: the rifle itself aims up or down, at a part of a body that it can reach
// over a wall.
package arena

import (
	"meanwhile/game"
	"meanwhile/game/saved"
	"meanwhile/geom"
)

// Numbers of the game. A second has Rate ticks.
const (
	Rate = 60

	MaxHealth    = 100
	RespawnAfter = Rate * 5 / 2 // ticks; longer than any rewind, so that nobody is hit where they died
	HealthInPack = 50
	Grasp        = 1.0        // metres from which a pack is picked up
	RefillEvery  = 12 * Rate  // ticks; an empty pad gets a pack then
	WarmUpTicks  = 5 * Rate   //
	RoundTicks   = 180 * Rate //
	ResultTicks  = 8 * Rate   // nobody can shoot, the scores stay
	StandTicks   = Rate / 2   // nobody moves, longer than the new map takes to all screens
	MaxScore     = 999        // and deaths
)

// Phases of a round.
const (
	WarmUp = iota
	Play
	Result
)

// What a pack holds.
const (
	HealthPack = iota
	AmmoPack
)

// Player is an avatar.
type Player struct {
	Pos    geom.Vec3  `net:"pos,others=1cm,draw=hermite"` // the middle of the feet, relative to On
	Vel    geom.Vec3  `net:"vel,others=2cm/s"`
	Aim    geom.Angle `net:"angle,12bit,others=8bit"`
	Health int        `net:"int,0..100"`
	Score  int        `net:"int,0..999"`
	Deaths int        `net:"int,0..999"`
	Name   string     `net:"text,12,ref"`
	Crouch bool       `net:"bool"`
	Alive  bool       `net:"bool"`
	On     game.ID    `net:"handle,parent"` // the platform that carries the player, 0: none

	Weapon int `net:"int,1..2"`                      // the one in the hands: Rifle or Launcher
	Doing  int `net:"enum,idle|holster|draw|reload"` // what the hands do with it

	Next    int       `net:"int,1..2,to=owner"`   // the weapon that the hands take next
	Ammo    int       `net:"int,0..30,to=owner"`  // rounds in the rifle
	Spare   int       `net:"int,0..120,to=owner"` // beside it
	Rockets int       `net:"int,0..3,to=owner"`   // in the launcher
	Crate   int       `net:"int,0..9,to=owner"`   // beside it
	Ready   game.Tick `net:"tick,to=owner"`       // when the hands may do the next thing, such as fire
	Back    game.Tick `net:"tick,to=owner"`       // when a dead player comes back
	Hop     game.Tick `net:"tick,to=owner"`       // until when a jump that was pressed in the air still counts

	Strike game.Tick `net:"tick,to=owner"` // when the present swing of the blade began, or the last one; 0: none yet
	Rest   game.Tick `net:"tick,to=owner"` // when the next swing or shove can begin

	Gun  float64 `net:"float,0.01,kept"` // height of the muzzle above the feet; changes while the player crouches
	Cut1 game.ID `net:"handle,kept"`     // whom the present swing has met, 0: nobody
	Cut2 game.ID `net:"handle,kept"`
	Cut3 game.ID `net:"handle,kept"`
	By   game.ID `net:"handle,server"` // who hit the player last

	Shots int `net:"int,0..9999,server"` // bullets and rockets in this round
	Hits  int `net:"int,0..9999,server"` // of them

	Voted game.ID `net:"handle,server"` // the newest Poll that the player voted in
	Yes   bool    `net:"bool,server"`   // and how
}

// Pack lies on a pad until someone takes it.
type Pack struct {
	Pos  geom.Vec3 `net:"pos,1cm"`
	Sort int       `net:"int,0..1"` // HealthPack or AmmoPack
	Pad  int       `net:"int,0..31"`
}

// Round is the clock of the match. There is exactly one, since the first tick.
type Round struct {
	Number int       `net:"int,0..999"`
	Phase  int       `net:"int,0..2"`
	Map    int       `net:"int,0..2"`
	Skill  int       `net:"int,0..2"` // of the bots: Novice, Regular or Expert
	Ends   game.Tick `net:"tick"`     // when the next phase begins
	Open   game.Tick `net:"tick"`     // when weapons begin to work
	Shut   game.Tick `net:"tick"`     // when they stop working
}

// Frag is a death. Killer is 0 if the killer has left, and the victim itself after its own rocket.
type Frag struct {
	Killer, Victim game.ID `net:"handle"`
}

// Cmd is what a player wants in one tick.
type Cmd struct {
	Move   geom.Vec2  `net:"stick,5bit"`
	Aim    geom.Angle `net:"angle,12bit"`
	Jump   bool       `net:"press"` // while held, the player jumps on each landing
	Crouch bool       `net:"bool"`
	Fire   bool       `net:"press"` // while held, the weapon fires as fast as it can
	Reload bool       `net:"press"` // has no effect on a full magazine
	Swing  bool       `net:"press"`
	Shove  bool       `net:"press"`
	Press  bool       `net:"press"`    // on the plate of a door in reach
	Weapon int        `net:"int,0..2"` // the weapon that the player wants in the hands; Keep: the present one
}

// The game, its kinds and its events.
var (
	Players = game.NewKind[Player]("player")
	Packs   = game.NewKind[Pack]("pack")
	Rounds  = game.NewKind[Round]("round")
	Rockets = game.NewKind[Rocket]("rocket", game.Predicted)
	Doors   = game.NewKind[Door]("door", game.Predicted)
	Bests   = game.NewKind[Best]("best")
	Tallies = game.NewKind[Tally]("tally")

	Platforms = game.NewKind[Platform]("platform", game.Predicted)

	Shots    = game.NewEvent[Shot]("shot")
	Launches = game.NewEvent[Launch]("launch")
	Blasts   = game.NewEvent[Blast]("blast")
	Frags    = game.NewUrgentEvent[Frag]("frag")
	Swings   = game.NewEvent[Swing]("swing")
	Cuts     = game.NewEvent[Cut]("cut")
	Shoves   = game.NewEvent[Shove]("shove")
	Presses  = game.NewEvent[Press]("press")

	Game = game.Definition[Cmd]{
		Name: "arena", Rate: Rate, Send: 20,
		Kinds:    game.Kinds(Players, Packs, Rounds, Rockets, Doors, Polls, Bests, Platforms, Tallies),
		Events:   game.Events(Shots, Frags, Launches, Blasts, Swings, Cuts, Shoves, Presses),
		Messages: game.Messages(Chat.On(chat), Votes.On(vote)),
		Static:   mapHash(),
		Saved:    saved.List(careers, boards),
		Join:     join, Act: act, Step: step, Referee: referee, Bot: Bot,
	}
)

func join(w *game.World, name string) game.ID {
	p := Player{Name: name, Weapon: Rifle}
	ready(w, &p, 0)
	return Players.Spawn(w, p)
}

// ready puts a new or dead player onto the field.
func ready(w *game.World, p *Player, me game.ID) {
	p.Pos, p.Vel, p.On = birthplace(w, me).At(0), geom.Vec3{}, 0
	p.Aim = field.Center().Sub(p.Pos.XY()).Angle()
	p.Health, p.Alive, p.Crouch, p.Gun = MaxHealth, true, false, gunStanding
	p.Back, p.Hop, p.By, p.Strike, p.Rest = 0, 0, 0, 0, 0
	arm(p)
}

// birthplace tries a few free places on the ground and returns the one farthest from living
// enemies.
func birthplace(w *game.World, me game.ID) geom.Vec2 {
	g := groundAt(w)
	best, most := field.Center(), -1.0
	for range 10 {
		at := g.walls.Free(field.Expand(-1.5).Random(w.Rand()), Radius+0.3)
		least := Range
		for id, o := range Players.All(w) {
			if id != me && o.Alive {
				least = min(least, place(w, o).XY().Dist(at))
			}
		}
		if least > most && g.floorAt(at, 0, Radius) == 0 && !g.blocked(at, 0) {
			best, most = at, least
		}
	}
	return best
}

// act runs one command of one player: at once in the player's browser, for good on the server.
func act(w *game.World, me game.ID, c Cmd) {
	p := Players.Get(w, me)
	p.Aim = c.Aim
	if !p.Alive || standing(w) {
		return
	}
	g := groundAt(w)
	walk(&g, p, c, w.Tick(), w.Dt())
	pickUp(w, p)
	if c.Press {
		press(w, me)
	}
	strike(w, me, p, c)
	handle(w, me, p, c)
}

// pickUp takes packs that are near and useful.
func pickUp(w *game.World, p *Player) {
	at := place(w, p)
	for id, k := range Packs.All(w) {
		if k.Pos.Dist(at) > Grasp {
			continue
		}
		switch {
		case k.Sort == HealthPack && p.Health < MaxHealth:
			p.Health = min(p.Health+HealthInPack, MaxHealth)
		case k.Sort == AmmoPack && supply(p):
		default:
			continue
		}
		w.Despawn(id) // gone in the browser at once, and back if the server disagrees
	}
}

// armed reports whether weapons work, which they do not while a result is shown. Clients know Open
// and Shut long before, so they predict the moment to the tick.
func armed(w *game.World) bool {
	for _, r := range Rounds.All(w) {
		return w.Tick() >= r.Open && w.Tick() < r.Shut
	}
	return true
}

// standing reports whether a round has just begun: nobody moves before all see the new map.
func standing(w *game.World) bool {
	for _, r := range Rounds.All(w) {
		return w.Tick() < r.Open
	}
	return false
}

// referee runs after all commands of a tick, on the server alone.
func referee(w *game.World) {
	now := w.Tick()
	if Rounds.Len(w) == 0 {
		ends := now + WarmUpTicks
		Rounds.Spawn(w, Round{Number: 1, Phase: WarmUp, Skill: Regular, Ends: ends, Open: now, Shut: ends + RoundTicks})
		furnish(w)
	}
	for _, r := range Rounds.All(w) {
		if now+1 >= r.Ends { // what is decided here counts from the next tick on
			next(w, r, following(r.Map))
		}
	}
	polls(w)
	burst(w)
	for id, p := range Players.All(w) {
		switch {
		case p.Alive && p.Health == 0:
			die(w, id, p)
		case !p.Alive && now >= p.Back:
			ready(w, p, id)
			w.Cut(id) // a teleport: nobody draws it as a slide
		}
	}
	refill(w)
	showBoard(w)
}

// next starts the next phase. A new round is on the map level, and resets all players.
func next(w *game.World, r *Round, level int) {
	switch r.Phase {
	case WarmUp:
		r.Phase, r.Ends = Play, r.Shut
	case Play:
		r.Phase, r.Ends = Result, r.Ends+ResultTicks
		count(w)
	case Result:
		r.Number, r.Phase = min(r.Number+1, MaxScore), Play
		r.Open, r.Shut = r.Ends+StandTicks, r.Ends+RoundTicks
		r.Ends = r.Shut
		if r.Map != level {
			r.Map = level
			furnish(w)
		}
		forget(w)
		for id, p := range Players.All(w) {
			p.Score, p.Deaths, p.Shots, p.Hits = 0, 0, 0, 0
			ready(w, p, id)
			w.Cut(id)
		}
	}
}

func die(w *game.World, me game.ID, p *Player) {
	p.Alive, p.Vel, p.Back = false, geom.Vec3{}, w.Tick()+RespawnAfter
	p.Deaths = min(p.Deaths+1, MaxScore)
	killer := p.By
	switch {
	case killer == me: // its own rocket
	case Players.Has(w, killer):
		k := Players.Get(w, killer)
		k.Score = min(k.Score+1, MaxScore)
		credit(w, killer, k)
	default:
		killer = 0
	}
	Frags.Emit(w, me, place(w, p).XY(), Frag{Killer: killer, Victim: me})
}

// furnish puts the doors, platforms and packs of the level in place of those of the last one.
func furnish(w *game.World) {
	for id := range Doors.All(w) {
		w.Despawn(id)
	}
	for id := range Platforms.All(w) {
		w.Despawn(id)
	}
	for id := range Packs.All(w) {
		w.Despawn(id)
	}
	for id := range Rockets.All(w) {
		w.Despawn(id)
	}
	l := levelAt(w)
	for i := range l.gates {
		Doors.Spawn(w, Door{Pos: l.gates[i].floor.Center().At(0), Gate: i})
	}
	for i := range l.tracks {
		Platforms.Spawn(w, Platform{Pos: l.tracks[i].at(w.Tick()), Track: i})
	}
	for i := range l.pads {
		l.supply(w, i)
	}
}

func (l *level) supply(w *game.World, i int) {
	Packs.Spawn(w, Pack{l.pads[i].pos, l.pads[i].sort, i})
}

// refill puts packs onto empty pads. Each pad has its own rhythm, so that packs do not appear all
// at once.
func refill(w *game.World) {
	l := levelAt(w)
	for i := range l.pads {
		if w.Tick() <= 1 || (int(w.Tick())+i*RefillEvery/len(l.pads))%RefillEvery != 0 {
			continue
		}
		full := false
		for _, k := range Packs.All(w) {
			full = full || k.Pad == i
		}
		if !full {
			l.supply(w, i)
		}
	}
}
