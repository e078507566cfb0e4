package arena

import (
	"meanwhile/game"
	"meanwhile/geom"
)

// Numbers of the platforms, in metres and ticks.
const (
	PlatformSpeed = 3.0      // m/s
	PlatformWaits = 3 * Rate // at each end
	platformThick = 0.25     //
	maxTracks     = 2        // of a level
)

// Platform goes to and fro. Where it is depends on the tick alone, so that everybody computes it
// for every time: all clients run it ahead, and no record ever corrects them. Its velocity is there
// because records of what moves by it are short.
//
// Whoever stands on it is placed relative to it (Player.On), and so rides along for everybody,
// however late its records arrive.
type Platform struct {
	Pos   geom.Vec3 `net:"pos"` // the middle of its top
	Vel   geom.Vec3 `net:"vel"`
	Track int       `net:"int,0..1"`
}

// A track is the way of a platform, from middle to middle of its top.
type track struct {
	from, to geom.Vec3
	size     geom.Vec2
}

// travels returns the ticks of a crossing.
func (k *track) travels() game.Tick { return game.Tick(int(k.to.Dist(k.from) / PlatformSpeed * Rate)) }

// crossing returns the number of the crossing that goes on, or that a wait is before.
func (k *track) crossing(now game.Tick) game.Tick { return now / (k.travels() + PlatformWaits) }

// moves reports whether the platform goes on after a tick.
func (k *track) moves(now game.Tick) bool { return now%(k.travels()+PlatformWaits) >= PlatformWaits }

// end returns the nearer end for somebody.
func (k *track) end(p geom.Vec3) geom.Vec3 {
	if p.Dist(k.from) < p.Dist(k.to) {
		return k.from
	}
	return k.to
}

// at returns where the platform is after a tick.
func (k *track) at(now game.Tick) geom.Vec3 {
	way, travels := k.to.Sub(k.from), k.travels()
	switch n := now % (2 * (travels + PlatformWaits)); {
	case n < PlatformWaits:
		return k.from
	case n < PlatformWaits+travels:
		return k.from.Add(way.Mul(float64(n-PlatformWaits) / float64(travels)))
	case n < 2*PlatformWaits+travels:
		return k.to
	default:
		return k.to.Sub(way.Mul(float64(n-2*PlatformWaits-travels) / float64(travels)))
	}
}

// vel returns its velocity in a tick.
func (k *track) vel(now game.Tick) geom.Vec3 { return k.at(now).Sub(k.at(now - 1)).Mul(Rate) }

// A deck is a platform at one moment.
type deck struct {
	id  game.ID // 0: there is none
	at  geom.Vec3
	vel geom.Vec3
	box geom.Box
}

// float puts a platform where it is after a tick.
func (g *ground) float(id game.ID, n int, now game.Tick) {
	if n >= len(g.tracks) {
		return
	}
	g.moor(id, n, g.tracks[n].at(now))
	g.platforms[n].vel = g.tracks[n].vel(now)
}

// moor puts a platform at a place.
func (g *ground) moor(id game.ID, n int, at geom.Vec3) {
	if n >= len(g.tracks) {
		return
	}
	half := g.tracks[n].size.Mul(0.5)
	floor := geom.Rect{Min: at.XY().Sub(half), Max: at.XY().Add(half)}
	g.platforms[n] = deck{id: id, at: at, box: floor.Box(at.Z-platformThick, at.Z)}
}

// deck returns the platform of an ID, or nil.
func (g *ground) deck(id game.ID) *deck {
	for i := range g.platforms {
		if k := &g.platforms[i]; k.id == id && id != 0 {
			return k
		}
	}
	return nil
}

// over reports whether a platform carries feet at or above its top: the middle of the body is over
// it, or it alone holds the rest.
func (g *ground) over(k *deck, at geom.Vec3) bool {
	floor, disc := k.box.Floor(), geom.Circle{Center: at.XY(), Radius: Radius}
	return at.Z >= k.at.Z-hair && (floor.Contains(at.XY()) ||
		disc.OverlapsRect(floor) && g.uprightAt(at.XY(), k.at.Z, Radius) < k.at.Z)
}

// ride places a player who moved, in the world so far, relative to the platform that carries it, if
// there is one. Whoever jumps up from a platform stays above it, and whoever leaves it takes its
// speed along.
func (g *ground) ride(p *Player) {
	if k := g.deck(p.On); k != nil {
		if g.over(k, p.Pos) {
			p.Pos = p.Pos.Sub(k.at)
			return
		}
		p.Vel = p.Vel.Add(k.vel)
	}
	p.On = 0
	for i := range g.platforms {
		k := &g.platforms[i]
		if k.id != 0 && p.Vel.Z <= 0 && p.Pos.Z <= k.at.Z+hair && g.over(k, p.Pos) {
			p.On, p.Pos, p.Vel = k.id, p.Pos.Sub(k.at), p.Vel.Sub(k.vel)
			return
		}
	}
}

// movePlatforms moves all platforms by a tick.
func movePlatforms(w *game.World) {
	tracks := levelAt(w).tracks
	for _, k := range Platforms.All(w) {
		if k.Track < len(tracks) {
			k.Pos = tracks[k.Track].at(w.Tick())
			k.Vel = k.Pos.Sub(tracks[k.Track].at(w.Tick() - 1)).Mul(Rate)
		}
	}
}

// place returns where a player is in the world.
func place(w *game.World, p *Player) geom.Vec3 {
	at, _ := w.On(p.On, p.Pos)
	return at
}

// seen returns another player as me saw it, with its place in the world.
func seen(w *game.World, me game.ID, o Player) Player {
	o.Pos, _ = w.SeenOn(me, o.On, o.Pos)
	o.On = 0
	return o
}

// eyeOf returns the avatar of player me as shown at the press, with its place in the world.
func eyeOf(w *game.World, me game.ID) Player { return seen(w, me, Players.Eye(w, me)) }
