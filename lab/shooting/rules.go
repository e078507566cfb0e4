// Package shooting is a shooting range in virtual time: a real server, real clients on simulated
// networks, and targets that do everything a server can get wrong when it asks what the shooter
// saw. They run, jump, crouch, teleport, die, appear, ride and hide behind doors.
//
// Each client is played as a person would play it: who clicks looks at the frame that is on the
// screen, and what that frame shows decides whether the shot hits. Run compares that with the
// server's verdict, shot by shot.
package shooting

import (
	"meanwhile/game"
	"meanwhile/geom"
)

// Rate is how many ticks a second has.
const Rate = 60

// man is a shooter or a target. Its place is relative to what it stands on.
type man struct {
	Pos    geom.Vec3 `net:"pos,others=1cm,draw=hermite"` // the middle of the feet
	Vel    geom.Vec3 `net:"vel,others=2cm/s"`
	On     game.ID   `net:"handle,parent"`
	Crouch bool      `net:"bool"`
	Alive  bool      `net:"bool"`
	Hits   int       `net:"int,0..255,to=owner"` // that it suffered in a duel
}

// platform carries men.
type platform struct {
	Pos geom.Vec3 `net:"pos,others=1cm"`
}

// door is moving cover.
type door struct {
	Pos geom.Vec3 `net:"pos,others=1cm"` // the middle of its foot
}

// order is the command of a shooter.
type order struct {
	Move   geom.Vec2  `net:"stick,5bit"`
	Yaw    geom.Angle `net:"angle,16bit"`
	Pitch  geom.Angle `net:"angle,16bit"`
	Crouch bool       `net:"bool"`
	Fire   bool       `net:"press"`
	Shot   int        `net:"int,0..65535"` // numbers the shots of a player, so that both verdicts find each other
}

// Indices of the kinds, and of the properties of a man and of an order.
const (
	menKind = iota
	platformKind
	doorKind

	crouchProp = 3
	aliveProp  = 4
	hitsProp   = 5

	maxHits = 256
)

var (
	men       = game.NewKind[man]("man")
	platforms = game.NewKind[platform]("platform")
	doors     = game.NewKind[door]("door")
)

// field is where everybody is.
var field = geom.Rect{Min: geom.Vec2{X: -25, Y: -25}, Max: geom.Vec2{X: 25, Y: 25}}

const (
	shooterSpeed = 6.0  // m/s
	shooterPush  = 40.0 // m/s²
)

// rules returns the game of a range.
func (r *Range) rules() (*game.Rules, error) {
	d := game.Definition[order]{
		Name: "range", Rate: Rate, See: r.cfg.InSight, Kinds: game.Kinds(men, platforms, doors),
		Join: func(w *game.World, name string) game.ID {
			if r.cfg.duel != nil {
				return men.Spawn(w, man{Pos: posts[name[0]-'0'], Alive: true})
			}
			return men.Spawn(w, man{Pos: field.Random(w.Rand()).At(0), Alive: true})
		},
		Act: r.act, Referee: r.referee,
	}
	return d.Rules()
}

// act runs one command of a shooter, on both sides. Only the server judges.
func (r *Range) act(w *game.World, me game.ID, c order) {
	p := men.Get(w, me)
	p.Crouch = c.Crouch
	p.Vel = p.Vel.XY().Toward(c.Move.Mul(shooterSpeed), shooterPush*w.Dt()).At(0)
	p.Pos = field.Clamp(p.Pos.XY().Add(p.Vel.XY().Mul(w.Dt()))).At(0)
	if c.Fire && w == r.world {
		eye := men.Eye(w, me)
		r.judge(w, me, c, eye.Pos.Add(geom.Vec3{Z: eyeHeight(eye.Crouch)}))
	}
}

// judge decides a shot by what the shooter saw.
func (r *Range) judge(w *game.World, me game.ID, c order, eye geom.Vec3) {
	r.seen.reset()
	for id, o := range men.Seen(w, me) {
		if at, ok := w.SeenOn(me, o.On, o.Pos); ok {
			r.seen.bodies = append(r.seen.bodies, body{id, at, o.Crouch, o.Alive})
		}
	}
	for _, d := range doors.Seen(w, me) {
		r.seen.doors = append(r.seen.doors, d.Pos)
	}
	r.judged(w, me, c, eye)
}
