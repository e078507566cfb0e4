// Package arena is a shooter seen from above at an angle: run, jump and crouch among walls, shoot,
// collect packs, in rounds. It is a whole game: the same rules run on the server, in the browser
// and in tests.
//
// Axes: x to the right, y down the screen, z up, in metres. Angles run from +x towards +y. A shot
// needs a direction on the ground only: up and down the rifle finds its way itself, to whatever
// part of a body it can reach over a wall.
package arena

import (
	"meanwhile/game"
	"meanwhile/geom"
)

// Numbers of the game. Rate ticks are a second.
const (
	Rate = 60

	MaxHealth    = 100
	Damage       = 17                // of one shot
	Cooldown     = 8                 // ticks from shot to shot: 7.5 a second
	Catch        = 6                 // ticks within which a late shot keeps the beat
	Magazine     = 30                // rounds
	Reload       = Rate * 5 / 4      // ticks after the last round of a magazine
	Breather     = 2 * Rate          // ticks without a shot after which the magazine is filled up by the way
	StartSpare   = 60                // rounds beside the first magazine
	MaxSpare     = 120               //
	Range        = 40.0              // metres that a bullet flies
	RespawnAfter = Rate * 5 / 2      // ticks; longer than any rewind, so that nobody is hit for where they died
	HealthInPack = 50                //
	AmmoInPack   = 30                //
	Grasp        = 1.0               // metres from which a pack is picked up
	RefillEvery  = 12 * Rate         // ticks; an empty pad gets a pack then
	WarmUpTicks  = 5 * Rate          //
	RoundTicks   = 180 * Rate        //
	ResultTicks  = 8 * Rate          // weapons are silent, the scores stand
	MaxScore     = 999               // and deaths
	spreadStill  = 0.6 * geom.Degree // how far a bullet strays at most
	spreadRun    = 1.4 * geom.Degree
	spreadAir    = 2.8 * geom.Degree
	spreadCrouch = 0.2 * geom.Degree
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
	Pos    geom.Vec3  `net:"pos,others=1cm,draw=hermite"` // the middle of the feet
	Vel    geom.Vec3  `net:"vel,others=2cm/s"`
	Aim    geom.Angle `net:"angle,12bit,others=8bit"`
	Health int        `net:"int,0..100"`
	Score  int        `net:"int,0..999"`
	Deaths int        `net:"int,0..999"`
	Name   string     `net:"text,12,ref"`
	Crouch bool       `net:"bool"`
	Alive  bool       `net:"bool"`

	Ammo  int       `net:"int,0..30,to=owner"`  // in the magazine
	Spare int       `net:"int,0..120,to=owner"` // beside it
	Ready game.Tick `net:"tick,to=owner"`       // the rifle may fire from then on
	Back  game.Tick `net:"tick,to=owner"`       // the dead are back then
	Hop   game.Tick `net:"tick,to=owner"`       // a jump asked for in the air is remembered until then

	Gun float64 `net:"float,0.01,kept"` // height of the muzzle above the feet: it takes a moment to crouch
	By  game.ID `net:"handle,server"`   // who hit last
}

// Pack lies on a pad until someone takes it.
type Pack struct {
	Pos  geom.Vec3 `net:"pos,1cm"`
	Sort int       `net:"int,0..1"` // HealthPack or AmmoPack
	Pad  int       `net:"int,0..31"`
}

// Round is the clock of the match. There is one, from the first tick on.
type Round struct {
	Number int       `net:"int,0..999"`
	Phase  int       `net:"int,0..2"`
	Ends   game.Tick `net:"tick"` // the next phase begins then
	Open   game.Tick `net:"tick"` // weapons work from then on
	Shut   game.Tick `net:"tick"` // and no longer from then on
}

// Shot is one bullet. Hit names the player that it met, as its shooter saw it; 0: a wall, or
// nothing.
type Shot struct {
	From, To geom.Vec3 `net:"pos,1cm"`
	Hit      game.ID   `net:"handle"`
}

// Frag is a death. A Killer of 0 has left.
type Frag struct {
	Killer, Victim game.ID `net:"handle"`
}

// Cmd is what a player wants in one tick.
type Cmd struct {
	Move   geom.Vec2  `net:"stick,5bit"`
	Aim    geom.Angle `net:"angle,12bit"`
	Jump   bool       `net:"press"` // held, it jumps again on each landing
	Crouch bool       `net:"bool"`
	Fire   bool       `net:"press"` // held, it fires as fast as the rifle can
}

// The game and what lives in it.
var (
	Players = game.NewKind[Player]("player")
	Packs   = game.NewKind[Pack]("pack")
	Rounds  = game.NewKind[Round]("round")
	Shots   = game.NewEvent[Shot]("shot")
	Frags   = game.NewUrgentEvent[Frag]("frag")

	Game = game.Definition[Cmd]{
		Name: "arena", Rate: Rate, Send: 20,
		Kinds: game.Kinds(Players, Packs, Rounds), Events: game.Events(Shots, Frags),
		Static: mapHash(),
		Join:   join, Act: act, Referee: referee, Bot: Bot,
	}
)

func join(w *game.World, name string) game.ID {
	p := Player{Name: name}
	ready(w, &p, 0)
	return Players.Spawn(w, p)
}

// ready puts a player, new or dead, onto the field.
func ready(w *game.World, p *Player, me game.ID) {
	p.Pos, p.Vel = birthplace(w, me).At(0), geom.Vec3{}
	p.Aim = field.Center().Sub(p.Pos.XY()).Angle()
	p.Health, p.Alive, p.Crouch, p.Gun = MaxHealth, true, false, gunStanding
	p.Ammo, p.Spare, p.Ready, p.Back, p.Hop, p.By = Magazine, StartSpare, 0, 0, 0, 0
}

// birthplace draws a free place on the ground, the farthest from living enemies of a few.
func birthplace(w *game.World, me game.ID) geom.Vec2 {
	best, most := field.Center(), -1.0
	for range 10 {
		at := walls.Free(field.Expand(-1.5).Random(w.Rand()), Radius+0.3)
		least := Range
		for id, o := range Players.All(w) {
			if id != me && o.Alive {
				least = min(least, o.Pos.XY().Dist(at))
			}
		}
		if least > most && floorAt(at, 0, Radius) == 0 && !blocked(at, 0) {
			best, most = at, least
		}
	}
	return best
}

// act runs one command of one player: at once as a prediction in the browser, for good on the
// server.
func act(w *game.World, me game.ID, c Cmd) {
	p := Players.Get(w, me)
	p.Aim = c.Aim
	if !p.Alive {
		return
	}
	walk(p, c, w.Tick(), w.Dt())
	pickUp(w, p)
	if load(p, w.Tick()); c.Fire && p.Ammo > 0 && w.Tick() >= p.Ready && armed(w) {
		shoot(w, me, p)
	}
}

// pickUp takes what lies here and is of use.
func pickUp(w *game.World, p *Player) {
	for id, k := range Packs.All(w) {
		if k.Pos.Dist(p.Pos) > Grasp {
			continue
		}
		switch {
		case k.Sort == HealthPack && p.Health < MaxHealth:
			p.Health = min(p.Health+HealthInPack, MaxHealth)
		case k.Sort == AmmoPack && p.Spare < MaxSpare:
			p.Spare = min(p.Spare+AmmoInPack, MaxSpare)
		default:
			continue
		}
		w.Despawn(id) // predicted: gone here until the server agrees, or back again
	}
}

// load fills the magazine: a while after it ran empty, or after a breather.
func load(p *Player, now game.Tick) {
	if p.Ammo == 0 && now >= p.Ready || now >= p.Ready+Breather {
		n := min(Magazine-p.Ammo, p.Spare)
		p.Ammo, p.Spare = p.Ammo+n, p.Spare-n
	}
}

// armed reports whether weapons work: not while a result stands. When they fall silent is known
// long before, and a round that is over does not change what was, so that a client predicts it to
// the tick.
func armed(w *game.World) bool {
	for _, r := range Rounds.All(w) {
		return w.Tick() >= r.Open && w.Tick() < r.Shut
	}
	return true
}

// shoot fires one bullet.
func shoot(w *game.World, me game.ID, p *Player) {
	begin := w.Tick()
	if begin < p.Ready+Catch {
		begin = p.Ready // a shot that came a little late does not delay those after it
	}
	if p.Ammo, p.Ready = p.Ammo-1, begin+Cooldown; p.Ammo == 0 {
		p.Ready = begin + Reload
	}
	stray := spread(p)
	yaw := (p.Aim + geom.Angle(w.Rand().Range(-float64(stray), float64(stray)))).Norm()
	from := muzzle(p)
	to, hit := flight(w, me, from, yaw)
	if hit != 0 {
		// The victim as it is now: who died meanwhile is not hurt. In the browser writes to it are
		// discarded.
		if v := Players.Get(w, hit); v.Alive {
			v.Health, v.By = max(v.Health-Damage, 0), me
		}
	}
	Shots.Emit(w, me, from.XY(), Shot{from, to, hit}) // once for each who sees the place; at once for the shooter
}

func spread(p *Player) geom.Angle {
	switch {
	case !grounded(p):
		return spreadAir
	case p.Vel.XY().Len() > CrouchSpeed:
		return spreadRun
	case p.Crouch:
		return spreadCrouch
	}
	return spreadStill
}

func muzzle(p *Player) geom.Vec3 { return p.Pos.Add(geom.Vec3{Z: p.Gun}) }

// marks are the heights of a body that the rifle tries, as shares of its height.
var marks = [...]float64{0.55, 0.8}

// flight returns where a bullet that me fires in direction yaw ends, and whom it meets: the first
// of the others, exactly as me sees them, of whom the way to chest or head is free.
func flight(w *game.World, me game.ID, from geom.Vec3, yaw geom.Angle) (to geom.Vec3, hit game.ID) {
	ray := geom.Ray{From: from.XY(), Dir: yaw, Len: Range}
	for id, o := range Players.Seen(w, me) {
		if !o.Alive {
			continue
		}
		d, ok := ray.Circle(o.Pos.XY(), Radius)
		if !ok || hit != 0 && d >= ray.Len {
			continue
		}
		for _, share := range marks {
			at := ray.At(d).At(o.Pos.Z + float64(share*tall(o.Crouch)))
			if free(from, at) {
				ray.Len, to, hit = d, at, id
				break
			}
		}
	}
	if hit == 0 {
		level := geom.Ray3{From: from, Dir: yaw.Dir().At(0), Len: Range}
		to = level.At(reach(level))
	}
	return to, hit
}

// referee runs after all commands of a tick, on the server alone.
func referee(w *game.World) {
	now := w.Tick()
	if Rounds.Len(w) == 0 {
		ends := now + WarmUpTicks
		Rounds.Spawn(w, Round{Number: 1, Phase: WarmUp, Ends: ends, Open: now, Shut: ends + RoundTicks})
	}
	for _, r := range Rounds.All(w) {
		if now+1 >= r.Ends { // what is decided here holds from the next tick on
			next(w, r)
		}
	}
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
}

// next goes on to the next phase. With a new round all begin anew.
func next(w *game.World, r *Round) {
	switch r.Phase {
	case WarmUp:
		r.Phase, r.Ends = Play, r.Shut
	case Play:
		r.Phase, r.Ends = Result, r.Ends+ResultTicks
	case Result:
		r.Number, r.Phase = min(r.Number+1, MaxScore), Play
		r.Open, r.Shut = r.Ends, r.Ends+RoundTicks
		r.Ends = r.Shut
		for id, p := range Players.All(w) {
			p.Score, p.Deaths = 0, 0
			ready(w, p, id)
			w.Cut(id)
		}
	}
}

func die(w *game.World, me game.ID, p *Player) {
	p.Alive, p.Vel, p.Back = false, geom.Vec3{}, w.Tick()+RespawnAfter
	p.Deaths = min(p.Deaths+1, MaxScore)
	killer := p.By
	if Players.Has(w, killer) {
		k := Players.Get(w, killer)
		k.Score = min(k.Score+1, MaxScore)
	} else {
		killer = 0
	}
	Frags.Emit(w, me, p.Pos.XY(), Frag{Killer: killer, Victim: me})
}

// refill puts packs onto empty pads. Each pad has its own beat, so that they do not all come at
// once.
func refill(w *game.World) {
	for i := range pads {
		if w.Tick() > 1 && (int(w.Tick())+i*RefillEvery/len(pads))%RefillEvery != 0 {
			continue
		}
		full := false
		for _, k := range Packs.All(w) {
			full = full || k.Pad == i
		}
		if !full {
			Packs.Spawn(w, Pack{pads[i].pos, pads[i].sort, i})
		}
	}
}
