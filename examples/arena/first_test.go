package arena

import (
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netsim"
)

// Two players press a plate and grasp a pack, one three ticks after the other and before it can
// know. Both clients show it at once. The first one has it, by the tick of its command and not by
// its network; the other's client takes the click, the health and the pack back.
func TestFirstOneHasIt(t *testing.T) {
	t.Parallel()
	const when, after = 600, 3 // ticks
	for _, c := range []struct {
		name          string
		first, second netsim.Profile
	}{{"near first", netsim.LAN, netsim.Ocean}, {"far first", netsim.Ocean, netsim.LAN}} {
		var ids [2]game.ID
		k := gates[0].plate
		s, _, _ := staged(t, 2, func(w *game.World) {
			if w.Tick() != when/2 {
				return
			}
			for id := range Packs.All(w) {
				w.Despawn(id)
			}
			Packs.Spawn(w, Pack{k.Add(geom.Vec2{Y: Grasp + 0.6}).At(0), HealthPack, 0})
			for i, id := range ids {
				p := Players.Get(w, id)
				p.Pos, p.Vel, p.Health = k.Add(geom.Vec2{X: float64(i) - 0.5}).At(0), geom.Vec3{}, 10
			}
		}, func(*game.World, game.ID, Cmd) string { return "" })
		for i, profile := range []netsim.Profile{c.first, c.second} {
			from := game.Tick(when + i*after)
			bot := client.BotOf(func(w *game.World, me game.ID) (c Cmd) {
				if now := w.Tick(); now >= from {
					c.Press = now == from
					c.Move = geom.Vec2{Y: 1} // towards the pack, alike
				}
				return c
			})
			if _, err := s.Join("", profile, bot); err != nil {
				t.Fatal(err)
			}
		}
		s.Run(2 * time.Second)
		for i, p := range s.Players() {
			ids[i] = p.Me()
		}
		clicks, backs, healthy := [2]int{}, [2]int{}, [2]bool{}
		for i, p := range s.Players() {
			p.OnEvent = func(e *client.Event) {
				switch {
				case s.Rules.Events[e.Event].Name != "press" || e.Actor != p.Me():
				case e.Cancelled:
					backs[i]++
				default:
					clicks[i]++
				}
			}
			p.OnFrame = func() {
				healthy[i] = healthy[i] || Players.Get(p.Client.World(), p.Me()).Health == 10+HealthInPack
			}
		}
		s.Run(13 * time.Second)
		if clicks != [2]int{1, 1} || backs != [2]int{0, 1} {
			t.Errorf("%s: %d clicks are shown, %d of them taken back", c.name, clicks, backs)
		}
		if healthy != [2]bool{true, true} {
			t.Errorf("%s: the pack is foreseen by %v", c.name, healthy)
		}
		for i, p := range s.Players() {
			for _, w := range []*game.World{s.Server.World(), p.Client.World()} {
				if h := Players.Get(w, ids[i]).Health; h != 10+HealthInPack*(1-i) {
					t.Errorf("%s: player %d ends with health %d", c.name, i, h)
				}
				for _, d := range Doors.All(w) {
					if d.Gate == 0 && d.Rises != when+DoorWarns {
						t.Errorf("%s: the door rises at %d, want %d", c.name, d.Rises, when+DoorWarns)
					}
				}
			}
		}
	}
}
