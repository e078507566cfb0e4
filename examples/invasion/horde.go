package invasion

import (
	"sync"

	"meanwhile/game"
	"meanwhile/geom"
)

// Numbers of the creatures.
const (
	sight       = 30.0 // metres at which a creature notices a player
	bodies      = 1.1  // metres that creatures keep from each other
	biteReach   = 1.3  // metres
	gnawReach   = 5.0  // metres from a beacon at which creatures stop and gnaw at it
	homeLight   = 14.0 // metres around a beacon in which it heals
	decideEvery = 10   // ticks: each creature looks for prey in its own one
	steerEvery  = 4    // ticks: each creature chooses its direction in its own one
	biteEvery   = 10   // ticks
	biteDamage  = 5
	healEvery   = 10       // ticks
	countEvery  = 2 * Rate // ticks between two reports of a beacon
	herd        = 30       // creatures that appear together
	herdEvery   = 5        // ticks
	herdWide    = 11.0     // metres
	herdNear    = 60.0     // metres from the beacon, at least
	herdFar     = 150.0    // at most
)

// Breeds of creatures.
const (
	crawler = iota
	hound
	brute
)

// breeds says how fast and tough each breed is.
var breeds = [...]struct {
	speed  float64 // m/s
	health int
	share  float64 // of all
}{crawler: {2.4, 4, 0.7}, hound: {4.2, 3, 0.2}, brute: {1.8, 7, 0.1}}

// battle is one tick as the referee works on it: everything that lives, in arrays and by place.
type battle struct {
	creatures  []*Creature
	creatureID []game.ID
	players    []*Player
	playerID   []game.ID
	herds      crowd // of creatures
	fighters   crowd // of players who stand
	standing   []int // who of players each of the fighters is
	index      map[game.ID]int
}

// battles lends the memory of a tick. Many worlds may run at once, and a battle that was read has
// nothing of the world before.
var battles = sync.Pool{New: func() any {
	return &battle{herds: crowd{cell: 2.6}, fighters: crowd{cell: 16}, index: map[game.ID]int{}}
}}

// referee runs after all commands of a tick, on the server alone.
func referee(w *game.World) {
	if Beacons.Len(w) == 0 {
		for i := range Sites {
			Beacons.Spawn(w, Beacon{Site: i, Charge: MaxCharge})
		}
	}
	fight(w)
	if w.Tick()%herdEvery == 0 {
		arrive(w)
	}
}

// fight is a tick of all that lives.
func fight(w *game.World) {
	b := battles.Get().(*battle)
	b.Reset()
	defer battles.Put(b)
	b.read(w)
	b.strikes(w)
	b.move(w)
	b.heal(w)
	b.beacons(w)
}

// Reset forgets everything.
func (b *battle) Reset() {
	b.creatures, b.creatureID = b.creatures[:0], b.creatureID[:0]
	b.players, b.playerID, b.standing = b.players[:0], b.playerID[:0], b.standing[:0]
	b.herds.reset()
	b.fighters.reset()
	clear(b.index)
}

// read notes everything that lives.
func (b *battle) read(w *game.World) {
	for id, c := range Creatures.All(w) {
		b.creatures, b.creatureID = append(b.creatures, c), append(b.creatureID, id)
		b.herds.add(c.Pos)
	}
	for id, p := range Players.All(w) {
		b.index[id] = len(b.players)
		if p.Health > 0 {
			b.standing = append(b.standing, len(b.players))
			b.fighters.add(p.Pos)
		}
		b.players, b.playerID = append(b.players, p), append(b.playerID, id)
	}
}

// strikes lets strikes and blasts of this tick hit.
func (b *battle) strikes(w *game.World) {
	for _, n := range b.standing {
		p := b.players[n]
		if p.Ready == w.Tick()+strikeAfter {
			ahead := p.Aim.Dir()
			b.herds.near(p.Pos, StrikeReach, func(i int, way geom.Vec2) {
				if way.Dot(ahead) >= float64(StrikeArc*way.Len()) {
					b.hit(w, p, i, 1)
				}
			})
		}
		if p.Loaded == w.Tick()+blastAfter {
			b.herds.near(p.Pos, BlastReach, func(i int, _ geom.Vec2) { b.hit(w, p, i, blastDamage) })
		}
	}
}

// hit takes health from a creature.
func (b *battle) hit(w *game.World, by *Player, i, damage int) {
	c := b.creatures[i]
	if c.Health == 0 {
		return // another one was first
	}
	if c.Health = max(c.Health-damage, 0); c.Health == 0 {
		by.Kills = min(by.Kills+1, 9999)
		w.Despawn(b.creatureID[i])
	}
}

// move moves the creatures. Each decides and steers in its own ticks, so that all ticks cost the
// same.
func (b *battle) move(w *game.World) {
	dt := w.Dt()
	for i, c := range b.creatures {
		turn := uint32(w.Tick()) + uint32(b.creatureID[i])
		if c.Health == 0 {
			continue
		}
		if turn%decideEvery == 0 {
			c.Prey = 0
			if n := b.fighters.nearest(c.Pos, sight); n >= 0 {
				c.Prey = b.playerID[b.standing[n]]
			}
		}
		if turn%steerEvery == 0 {
			c.Vel = b.steer(w, i, c)
		}
		if c.Vel != (geom.Vec2{}) {
			c.Pos = field.Clamp(c.Pos.Add(c.Vel.Mul(dt)))
		}
		if turn%biteEvery == 0 && c.Prey != 0 {
			b.bite(w, c)
		}
	}
}

// steer returns how fast a creature goes where: to its prey or its beacon, a little to one side,
// and away from those who are too near.
func (b *battle) steer(w *game.World, i int, c *Creature) geom.Vec2 {
	target, stop := Sites[c.Site], gnawReach
	if n, ok := b.index[c.Prey]; ok && c.Prey != 0 {
		target, stop = b.players[n].Pos, biteReach*0.8
	}
	way := target.Sub(c.Pos)
	var want geom.Vec2
	if way.Len() > stop {
		r := geom.NewRand(uint64(b.creatureID[i]), uint64(w.Tick()/(2*Rate)))
		want = way.Unit().Rotate(geom.Angle(r.Range(-0.4, 0.4)))
	}
	var apart geom.Vec2
	b.herds.near(c.Pos, bodies, func(other int, way geom.Vec2) {
		if d := way.Len(); other != i && d > 0 {
			apart = apart.Sub(way.Mul((bodies - d) / d))
		}
	})
	v := want.Add(apart.Mul(1.2)).Limit(1)
	if v.Len() < 0.25 {
		return geom.Vec2{} // in a crowd it stands, instead of trembling
	}
	return v.Mul(breeds[c.Breed].speed)
}

// bite hurts a creature's prey, if it is near enough.
func (b *battle) bite(w *game.World, c *Creature) {
	n, ok := b.index[c.Prey]
	if !ok {
		return
	}
	p := b.players[n]
	if p.Health == 0 || p.Pos.Dist(c.Pos) > biteReach {
		return
	}
	if p.Health = max(p.Health-biteDamage, 0); p.Health == 0 {
		p.Vel, p.Back = geom.Vec2{}, w.Tick()+respawnAfter
		Slains.Emit(w, b.playerID[n], p.Pos, Slain{b.playerID[n], p.Pos})
	}
}

// heal heals players, at their beacon faster, and lets the fallen stand up there.
func (b *battle) heal(w *game.World) {
	for n, p := range b.players {
		switch {
		case p.Health == 0 && w.Tick() >= p.Back:
			p.Pos, p.Health = homePlace(w, p.Home), MaxHealth
			w.Cut(b.playerID[n]) // a teleport: nobody draws it as a slide
		case p.Health > 0 && p.Health < MaxHealth && (uint32(w.Tick())+uint32(b.playerID[n]))%healEvery == 0:
			gain := 1
			if p.Pos.Dist(Sites[p.Home]) < homeLight {
				gain = 4
			}
			p.Health = min(p.Health+gain, MaxHealth)
		}
	}
}

// beacons lets each beacon in its own tick gain or lose charge, and count its foes.
func (b *battle) beacons(w *game.World) {
	for id, beacon := range Beacons.All(w) {
		if (uint32(w.Tick())+uint32(beacon.Site*4))%countEvery != 0 {
			continue
		}
		foes, gnawing, friends := 0, 0, 0
		for _, c := range b.creatures {
			if c.Site == beacon.Site {
				foes++
			}
		}
		at := Sites[beacon.Site]
		b.herds.near(at, gnawReach+1, func(int, geom.Vec2) { gnawing++ })
		b.fighters.near(at, homeLight, func(int, geom.Vec2) { friends++ })
		was := beacon.Charge
		beacon.Foes = foes / 10
		beacon.Charge = min(max(was+min(friends, 5)-min(gnawing, 10), 0), MaxCharge)
		if was > 0 && beacon.Charge == 0 {
			Falls.Emit(w, id, at, Fallen{beacon.Site})
		}
	}
}

// arrive sends the next herd to a beacon, until there are as many creatures as the players deserve.
func arrive(w *game.World) {
	missing := min(max(PerPlayer*Players.Len(w), LeastCreatures), MostCreatures) - Creatures.Len(w)
	if missing <= 0 {
		return
	}
	r := w.Rand()
	site := r.IntN(len(Sites))
	at := Sites[site].Add(r.Dir().Mul(r.Range(herdNear, herdFar)))
	for range min(missing, herd) {
		breed, dice := crawler, r.Float64()
		for ; breed < brute && dice >= breeds[breed].share; breed++ {
			dice -= breeds[breed].share
		}
		Creatures.Spawn(w, Creature{Pos: field.Clamp(at.Add(r.Disc(herdWide))), Breed: breed,
			Health: breeds[breed].health, Site: site})
	}
}
