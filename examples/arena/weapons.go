package arena

import (
	"meanwhile/game"
	"meanwhile/geom"
)

// Weapons. Keep is what a command says that wants no other weapon.
const (
	Keep = iota
	Rifle
	Launcher
	endOfWeapons
)

// What the hands of a player do. Ready says when they have done it.
const (
	Idle = iota // the weapon fires as soon as Ready has come
	Holster
	Draw
	Reload
)

// weapon is a row of the armoury. Times are in ticks.
type weapon struct {
	name     string
	magazine int       // rounds in a full one
	start    int       // rounds beside it at birth
	most     int       // rounds beside it
	pack     int       // rounds in an ammunition pack
	cooldown game.Tick // from shot to shot
	late     game.Tick // by which a shot may be late without delaying the next one
	holster  game.Tick // to put it away, also half-drawn or half-loaded
	draw     game.Tick // to take it into the hands
	reload   game.Tick // for a whole magazine; before that, there is not one round more
	fire     func(w *game.World, me game.ID, p *Player, from geom.Vec3)
}

// armoury has the weapons. To put one away and take it again takes longer than its cooldown, so
// that nobody fires faster by switching.
var armoury = [endOfWeapons]weapon{
	Rifle: {
		name:     "Rifle",
		magazine: 30,
		start:    60,
		most:     120,
		pack:     30,
		cooldown: 8,
		late:     6,
		holster:  10,
		draw:     14,
		reload:   75,
		fire:     shoot,
	},
	Launcher: {
		name:     "Rockets",
		magazine: 3,
		start:    3,
		most:     9,
		pack:     3,
		cooldown: 45,
		late:     6,
		holster:  18,
		draw:     28,
		reload:   110,
		fire:     launch,
	},
}

// rounds returns a player's rounds for a weapon: in it, and beside it.
func (p *Player) rounds(weapon int) (in, beside *int) {
	if weapon == Launcher {
		return &p.Rockets, &p.Crate
	}
	return &p.Ammo, &p.Spare
}

// arm gives a new or dead player what everybody begins with. The weapon in the hands stays.
func arm(p *Player) {
	p.Doing, p.Next, p.Ready = Idle, p.Weapon, 0
	for i := Rifle; i < endOfWeapons; i++ {
		in, beside := p.rounds(i)
		*in, *beside = armoury[i].magazine, armoury[i].start
	}
}

// supply gives a player the rounds of an ammunition pack, and reports whether there was room for
// any.
func supply(p *Player) (useful bool) {
	for i := Rifle; i < endOfWeapons; i++ {
		if _, beside := p.rounds(i); *beside < armoury[i].most {
			*beside, useful = min(*beside+armoury[i].pack, armoury[i].most), true
		}
	}
	return useful
}

// handle does with the weapons what a command wants. It depends on the player, the command, the
// tick and whether weapons work at all, so clients predict every round.
func handle(w *game.World, me game.ID, p *Player, c Cmd) {
	now := w.Tick()
	if c.Weapon != Keep {
		choose(p, c.Weapon, now)
	}
	finish(p, now)
	if p.Doing != Idle {
		return
	}
	gun := &armoury[p.Weapon]
	in, beside := p.rounds(p.Weapon)
	if c.Fire && *in > 0 && now >= p.Ready && armed(w) {
		begin := now
		if begin < p.Ready+gun.late {
			begin = p.Ready // a slightly late shot does not delay the next ones
		}
		*in, p.Ready = *in-1, begin+gun.cooldown
		p.shot()
		eye := eyeOf(w, me) // where the player saw itself at the click
		gun.fire(w, me, p, muzzle(&eye))
	}
	if (c.Reload && *in < gun.magazine || *in == 0) && *beside > 0 {
		p.Doing, p.Ready = Reload, now+gun.reload
	}
}

// choose begins to put away the weapon in the hands, unless the wanted one is in them or comes
// next. A reload that is not done is lost. Whoever wants the old weapon back while the hands put it
// away must wait until they have.
func choose(p *Player, weapon int, now game.Tick) {
	if weapon == p.Next {
		return
	}
	if p.Next = weapon; p.Doing != Holster {
		p.Doing, p.Ready = Holster, now+armoury[p.Weapon].holster
	}
}

// finish ends what the hands did, if its time has come.
func finish(p *Player, now game.Tick) {
	if p.Doing == Idle || now < p.Ready {
		return
	}
	switch p.Doing {
	case Holster:
		p.Weapon = p.Next
		p.Doing, p.Ready = Draw, p.Ready+armoury[p.Weapon].draw
		return
	case Reload:
		in, beside := p.rounds(p.Weapon)
		n := min(armoury[p.Weapon].magazine-*in, *beside)
		*in, *beside = *in+n, *beside-n
	}
	p.Doing = Idle
}
