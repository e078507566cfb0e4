package plaza

import (
	"fmt"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/netcode/packet"
	"meanwhile/netsim"
	"meanwhile/server"
)

// lossy loses every fifth packet, either way.
var lossy = netsim.Profile{Name: "lossy",
	Down: netsim.LinkConfig{Delay: 40 * time.Millisecond, Loss: netsim.Loss{InGood: 0.2}},
	Up:   netsim.LinkConfig{Delay: 40 * time.Millisecond, Loss: netsim.Loss{InGood: 0.2}}}

// People stroll where every fifth packet is lost, and then all stop. Everybody comes to see everybody
// exactly where their owners stopped; from then on nothing is sent but keep-alives. No owner was ever
// put back: only the network was bad.
//
// seeds: S6 S10
func TestStopsAndFallsSilent(t *testing.T) {
	t.Parallel()
	const people, stop = 24, 40 * Rate
	m := gametest.New(t, &Game, 5)
	for range people {
		m.Join("bot", lossy, func(w *game.World, me game.ID) Cmd {
			if c := Bot(w, me); w.Tick() < stop {
				return c
			}
			a := Avatars.Get(w, me)
			return Cmd{At: a.Pos, Fix: a.Fix}
		})
	}
	m.Run(20 * time.Second)
	walked := m.Quality()
	m.Run(25 * time.Second)
	before := make([]server.PlayerStats, people)
	sent := make([]uint64, people)
	for i, p := range m.Sim.Players() {
		before[i], _ = m.Sim.Server.Stats(p.ID)
		sent[i] = p.Client.Stats().Sent
		for id, a := range Avatars.All(m.Server()) {
			if !Avatars.Has(p.Client.World(), id) {
				t.Errorf("%s does not see %d", p.Name, id)
			} else if at := Avatars.Get(p.Client.World(), id).Pos; at != a.Pos {
				t.Errorf("%d sees %d at %v, it is at %v", p.Me(), id, at, a.Pos)
			}
			if a.Fix != 1 {
				t.Errorf("%d was put back %d times", id, a.Fix-1)
			}
		}
	}
	const quiet = time.Minute
	m.Run(quiet)
	for i, p := range m.Sim.Players() {
		after, _ := m.Sim.Server.Stats(p.ID)
		most := uint64(quiet/packet.KeepAlive) * 2 // ours and the answers to theirs
		if n := after.Records - before[i].Records; n != 0 {
			t.Errorf("%d records at rest", n)
		}
		if down, up := after.Sent-before[i].Sent, p.Client.Stats().Sent-sent[i]; down > most || up > most {
			t.Errorf("%d packets down and %d up at rest, want at most %d", down, up, most)
		}
	}
	t.Logf("%d people who walk: %.1f kbit/s down, %.1f up, for each", people, walked.DownKbps, walked.UpKbps)
}

// A bad network is no reason to put anyone back, and bots neither leave the square nor stand in what
// is on it.
//
// seeds: S10
func TestStroll(t *testing.T) {
	t.Parallel()
	for _, profile := range []netsim.Profile{netsim.HotelWiFi, netsim.Ocean} {
		m := gametest.New(t, &Game, 7)
		for range 12 {
			m.Join("bot", profile, Bot)
		}
		wrong := ""
		for range 60 * Rate {
			m.Run(time.Second / Rate)
			for id, a := range Avatars.All(m.Server()) {
				if off := clear(a.Pos).Dist(a.Pos); off > 2*Grid || a.Fix != 1 {
					wrong = fmt.Sprintf("%d at %v, off by %.2f m, was put back %d times", id, a.Pos, off, a.Fix-1)
				}
			}
		}
		if profile.Name == netsim.HotelWiFi.Name {
			m.MustBePlayable(t)
		} else if q := m.Quality(); q.HitchesPerMin > 8 {
			t.Errorf("%s: not playable: %+v", profile.Name, q)
		}
		if wrong != "" {
			t.Errorf("%s: %s", profile.Name, wrong)
		}
	}
}
