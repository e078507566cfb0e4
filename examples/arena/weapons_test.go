package arena

import (
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/predict"
	"meanwhile/netsim"
)

// hands is what a player has in the hands and on the back.
type hands struct {
	weapon, doing, next, ammo, spare, rockets, crate int
	ready                                            game.Tick
}

func (p *Player) hands() hands {
	return hands{p.Weapon, p.Doing, p.Next, p.Ammo, p.Spare, p.Rockets, p.Crate, p.Ready}
}

// fired reports whether a player with these hands has fired when it has other hands in the next
// tick.
func (h hands) fired(next hands, tick game.Tick) bool {
	loaded := h.ammo + h.rockets
	if h.doing == Reload && tick >= h.ready { // it may fire in the tick that ends the reload
		loaded += h.spare + h.crate - next.spare - next.crate
	}
	return next.ammo+next.rockets == loaded-1
}

// all returns how many rounds of a weapon a player has.
func (p *Player) all(weapon int) int {
	in, beside := p.rounds(weapon)
	return *in + *beside
}

// Nobody fires faster by a switch and a change of mind between the shots. Every number of the
// armoury fits into its property.
func TestArmoury(t *testing.T) {
	for i := Rifle; i < endOfWeapons; i++ {
		a := &armoury[i]
		if a.holster+a.draw < a.cooldown {
			t.Errorf("weapon %d fires faster if it is put away and taken again between the shots", i)
		}
		p := Player{Alive: true, Health: MaxHealth}
		in, beside := p.rounds(i)
		*in, *beside = a.magazine, a.most
		h := newHall(t)
		id := h.join(30, 20, 0)
		*h.get(id) = p
		h.pass(1)
		if in, beside := h.get(id).rounds(i); *in != a.magazine || *beside != a.most {
			t.Errorf("weapon %d: of %d and %d rounds %d and %d are kept", i, a.magazine, a.most, *in, *beside)
		}
	}
}

// A weapon fires at its rate, reloads by itself when it is empty, and never fires more rounds than
// there are.
//
// seeds: B7
func TestMagazine(t *testing.T) {
	for _, weapon := range []int{Rifle, Launcher} {
		h, gun := newHall(t), &armoury[weapon]
		me := h.join(30, 20, 0)
		h.take(me, weapon)
		h.pass(10)
		var fired []game.Tick
		for range 2000 {
			if h.fires(me, Cmd{Fire: true}) {
				fired = append(fired, h.tick)
			}
			h.get(me).Health = MaxHealth
			if p := h.get(me); p.all(weapon)+len(fired) != gun.magazine+gun.start {
				t.Fatalf("weapon %d, tick %d: %+v after %d shots", weapon, h.tick, p.hands(), len(fired))
			}
		}
		if len(fired) != gun.magazine+gun.start {
			t.Fatalf("weapon %d: %d shots, want %d", weapon, len(fired), gun.magazine+gun.start)
		}
		for i := 1; i < len(fired); i++ {
			want := gun.cooldown
			if i%gun.magazine == 0 {
				want = gun.reload
			}
			if d := fired[i] - fired[i-1]; d != want {
				t.Errorf("weapon %d: shot %d came %d ticks after the last, want %d", weapon, i, d, want)
			}
		}
		if p := h.get(me); p.Doing != Idle {
			t.Errorf("weapon %d: without a round left, the hands do %d", weapon, p.Doing)
		}
	}
}

// take makes a player switch to a weapon.
func (h *hall) take(id game.ID, weapon int) {
	h.step(id, Cmd{Weapon: weapon})
	for range 200 {
		if p := h.get(id); p.Weapon == weapon && p.Doing == Idle {
			return
		}
		h.step(id, Cmd{})
	}
	h.t.Fatalf("weapon %d is never in the hands", weapon)
}

// fires makes one tick with a command and reports whether it fired.
func (h *hall) fires(id game.ID, c Cmd) bool {
	h.t.Helper()
	n := 0
	for _, e := range h.step(id, c) {
		if e.Event == 0 || e.Event == 2 { // Shots and Launches
			n++
		}
	}
	if n > 1 {
		h.t.Fatalf("tick %d: %d shots at once", h.tick, n)
	}
	return n == 1
}

// A shot that the network made a little late does not delay the next ones. After a pause, the
// rhythm begins anew.
func TestBeat(t *testing.T) {
	h := newHall(t)
	me := h.join(30, 20, 0)
	for _, c := range []struct {
		tick  game.Tick
		fires bool
	}{{100, true}, {107, false}, {108, true}, {119, true}, {123, false}, {124, true}, {160, true}, {167, false},
		{168, true}} {
		for h.tick+1 < c.tick {
			h.step(me, Cmd{})
		}
		if fires := h.fires(me, Cmd{Fire: true}); fires != c.fires {
			t.Errorf("tick %d: fires %v, want %v", c.tick, fires, c.fires)
		}
	}
}

// The hands put one weapon away and take the other, each in its time, and fire nothing meanwhile.
//
// seeds: B7
func TestSwitch(t *testing.T) {
	h := newHall(t)
	me := h.join(30, 20, 0)
	away, taken := armoury[Rifle].holster, armoury[Launcher].draw
	begin := h.tick + 1
	for range away + taken {
		if h.fires(me, Cmd{Fire: true, Weapon: Launcher}) {
			t.Fatalf("fires %d ticks after the switch", h.tick-begin)
		}
		want := hands{Launcher, Draw, Launcher, 30, 60, 3, 3, begin + away + taken}
		if h.tick < begin+away {
			want.weapon, want.doing, want.ready = Rifle, Holster, begin+away
		}
		if got := h.get(me).hands(); got != want {
			t.Fatalf("%d ticks after the switch: %+v, want %+v", h.tick-begin, got, want)
		}
	}
	if !h.fires(me, Cmd{Fire: true, Weapon: Launcher}) || h.get(me).Rockets != 2 {
		t.Errorf("the launcher does not fire once it is drawn: %+v", h.get(me).hands())
	}

	// Keep, as in the commands of a player who is not heard of, changes nothing.
	h.pass(200)
	if h.step(me, Cmd{}); h.get(me).Weapon != Launcher {
		t.Error("a command that wants no weapon changed it")
	}

	// A change of mind: the hands put the weapon away, then take it again.
	h.step(me, Cmd{Weapon: Rifle})
	h.step(me, Cmd{Weapon: Launcher})
	begin = h.tick - 1
	for h.get(me).Doing != Idle {
		if h.step(me, Cmd{}); h.get(me).Weapon != Launcher {
			t.Fatal("the rifle came after all")
		}
	}
	if d := h.tick - begin; d != armoury[Launcher].holster+armoury[Launcher].draw {
		t.Errorf("to put a weapon away and take it again takes %d ticks", d)
	}
}

// A reload brings all rounds at its end. A switch in between loses it, and so does death.
//
// seeds: B7
func TestReload(t *testing.T) {
	h, gun := newHall(t), &armoury[Rifle]
	me := h.join(30, 20, 0)
	if h.step(me, Cmd{Reload: true}); h.get(me).Doing != Idle {
		t.Error("a full magazine is reloaded")
	}
	h.step(me, Cmd{Fire: true})
	h.step(me, Cmd{Reload: true})
	for range gun.reload - 1 {
		if h.fires(me, Cmd{Fire: true, Reload: true}) || h.get(me).Ammo != 29 || h.get(me).Doing != Reload {
			t.Fatalf("during the reload: %+v", h.get(me).hands())
		}
	}
	if h.step(me, Cmd{}); h.get(me).hands() != (hands{Rifle, Idle, Rifle, 30, 59, 3, 3, h.tick}) {
		t.Errorf("after the reload: %+v", h.get(me).hands())
	}

	h.step(me, Cmd{Fire: true})
	h.step(me, Cmd{Reload: true})
	h.step(me, Cmd{Weapon: Launcher})
	for range gun.reload {
		h.step(me, Cmd{Weapon: Launcher})
	}
	if got := h.get(me); got.Weapon != Launcher || got.Doing != Idle || got.Ammo != 29 || got.Spare != 59 {
		t.Errorf("after a switch during the reload: %+v", got.hands())
	}

	h.take(me, Rifle)
	h.step(me, Cmd{Reload: true})
	h.get(me).Health = 0
	for h.pass(1); !h.get(me).Alive; h.pass(1) {
	}
	if got, want := h.get(me).hands(), (hands{Rifle, Idle, Rifle, 30, 60, 3, 3, 0}); got != want {
		t.Errorf("who comes back has %+v, want %+v", got, want)
	}
}

// Whatever a player commands: no round appears or vanishes but by shots, no shot comes too early,
// and none while the hands do something else.
//
// seeds: B7
func TestAmmunitionProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := newHall(t)
		me := h.join(30, 20, 0)
		fired := [endOfWeapons]int{}
		last := [endOfWeapons]game.Tick{}
		cmd := rapid.Custom(func(r *rapid.T) Cmd {
			return Cmd{Fire: rapid.Bool().Draw(r, "fire"), Weapon: rapid.IntRange(Keep, Launcher).Draw(r, "weapon"),
				Reload: rapid.IntRange(0, 3).Draw(r, "reload") == 0}
		})
		for range rapid.IntRange(1, 40).Draw(r, "commands") {
			c := cmd.Draw(r, "command")
			for range rapid.IntRange(1, 50).Draw(r, "ticks") {
				before := h.get(me).hands()
				shot := h.fires(me, c)
				p := h.get(me)
				p.Health = MaxHealth
				if shot {
					fired[p.Weapon]++
					busy := before.doing != Idle && h.tick < before.ready
					if busy || last[p.Weapon] > 0 &&
						h.tick < last[p.Weapon]+armoury[p.Weapon].cooldown-armoury[p.Weapon].late {
						r.Fatalf("tick %d: a shot from %+v, the last at %d", h.tick, before, last[p.Weapon])
					}
					last[p.Weapon] = h.tick
				}
				for i := Rifle; i < endOfWeapons; i++ {
					in, beside := p.rounds(i)
					if *in < 0 || *beside < 0 || *in > armoury[i].magazine ||
						*in+*beside+fired[i] != armoury[i].magazine+armoury[i].start {
						r.Fatalf("tick %d: %+v after %d shots", h.tick, p.hands(), fired[i])
					}
				}
			}
		}
	})
}

// juggler plays as a bot does, but switches and reloads as it likes.
var juggler = client.BotOf(func(w *game.World, me game.ID) Cmd {
	c := Bot(w, me)
	m, r := mood(me, 100, w.Tick(), 25), geom.NewRand(uint64(me), 101, uint64(w.Tick()))
	c.Weapon, c.Fire, c.Reload = Keep+m.IntN(3), c.Fire || m.Chance(0.5), r.Chance(0.04)
	return c
})

// Players who switch, reload and fire all the time on bad networks: each state of the hands that a
// client confirmed is the server's of that tick, every prediction that nobody disturbed was right,
// and in the end both have the same rounds. Each shot is shown once, and what is shown and not
// taken back has happened.
//
// seeds: B5 B7
func TestHandsAgree(t *testing.T) {
	t.Parallel()
	shuffled := netsim.Ocean
	shuffled.Name = "shuffled"
	shuffled.Down.Jitter, shuffled.Down.Reorder = netsim.Uniform(60*time.Millisecond), true
	shuffled.Down.Loss = netsim.Bursts(0.05, 2)
	shuffled.Up.Jitter, shuffled.Up.Reorder, shuffled.Up.Loss = shuffled.Down.Jitter, true, shuffled.Down.Loss
	for _, profile := range []netsim.Profile{netsim.HotelWiFi, netsim.Ocean, netsim.TrainLTE, shuffled} {
		s := crowd(t, 21, 0, profile)
		for range 6 {
			if _, err := s.Join("juggler", profile, juggler); err != nil {
				t.Fatal(err)
			}
		}
		type key struct {
			id   game.ID
			tick game.Tick
		}
		truth := map[key]hands{}
		shown := map[key]int{}
		fired, saw := map[game.ID]int{}, map[game.ID]int{}
		confirmed, wrong, switches, reloads := 0, 0, 0, 0
		for _, p := range s.Players() {
			p.OnEvent = func(e *client.Event) {
				if !e.Own || e.Actor != p.Me() || e.Event != 0 && e.Event != 2 { // what its rockets do, or its blade
					return
				}
				n := 1
				if e.Cancelled {
					n = -1
				}
				shown[key{e.Actor, e.Tick}] += n
				saw[p.Me()] += n
			}
		}
		watch := func() {
			s.Run(time.Second / Rate)
			for id, p := range Players.All(s.Server.World()) {
				tick := s.Server.Tick()
				now, before := p.hands(), truth[key{id, tick - 1}]
				if truth[key{id, tick}] = now; now.doing == Draw && before.doing == Holster {
					switches++
				} else if now.doing == Reload && before.doing == Idle {
					reloads++
				}
				if before.fired(now, tick) {
					fired[id]++
				}
			}
		}
		for range Rate {
			watch()
		}
		for _, p := range s.Players() {
			next := p.Client.OnConfirm
			p.Client.OnConfirm = func(tick clock.Tick, o predict.Outcome, off float64) {
				next(tick, o, off)
				if want, ok := truth[key{p.Me(), tick}]; ok {
					var own Player
					s.Rules.Kinds[0].Store(unsafe.Pointer(&own), p.Client.Own(tick))
					if confirmed++; own.hands() != want {
						wrong++
					}
				}
			}
		}
		for i := range 30 * Rate {
			if i == 10*Rate {
				s.Measure()
			}
			watch()
		}
		q := s.Quality()
		t.Logf(
			"%s: %d states compared, %d switches, %d reloads, %d shots shown, %+v",
			profile.Name,
			confirmed,
			switches,
			reloads,
			len(shown),
			q,
		)
		if err := s.Diverged(); err != nil {
			t.Errorf("%s: %v", profile.Name, err)
		}
		if q.CleanMispredictions != 0 || wrong > 0 {
			t.Errorf("%s: %d clean mispredictions, %d hands other than the server's", profile.Name, q.CleanMispredictions, wrong)
		}
		if min(switches/70, reloads/30, len(shown)/100) == 0 {
			t.Errorf("%s: %d switches, %d reloads, %d shots", profile.Name, switches, reloads, len(shown))
		}
		for k, n := range shown {
			if max(n, 1-n) > 1 {
				t.Errorf("%s: player %d saw its shot of tick %d %d times", profile.Name, k.id, k.tick, n)
			}
		}
		s.Still()
		for range 6 * Rate {
			watch()
		}
		sameHands(t, s, fired, saw)
	}
}

// sameHands checks that every client has the server's hands, and what it was shown of its shots.
func sameHands(t *testing.T, s *gametest.Sim, fired, saw map[game.ID]int) {
	t.Helper()
	for _, p := range s.Players() {
		// Nobody is shown a shot that did not happen. One may be missing: a player who is dead
		// in its client and alive on the server does not predict it.
		if n := fired[p.Me()] - saw[p.Me()]; n < 0 || n > 3 {
			t.Errorf("%s: %s fired %d shots and was shown %d", p.Profile.Name, p.Name, fired[p.Me()], saw[p.Me()])
		}
		mine, its := Players.Get(p.Client.World(), p.Me()).hands(), Players.Get(s.Server.World(), p.Me()).hands()
		if mine != its {
			t.Errorf("%s: %s has %+v in its hands, by the server %+v", p.Profile.Name, p.Name, mine, its)
		}
		for id, o := range Players.All(p.Client.World()) {
			if its := Players.Get(s.Server.World(), id); o.Weapon != its.Weapon || o.Doing != its.Doing {
				t.Errorf("%s: %s sees player %d with weapon %d, doing %d; it has %d, doing %d", p.Profile.Name, p.Name, id,
					o.Weapon, o.Doing, its.Weapon, its.Doing)
			}
		}
	}
}
