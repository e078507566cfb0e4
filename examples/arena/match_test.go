package arena

import (
	"math"
	"slices"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
	"meanwhile/netsim"
	"meanwhile/server"
)

// Twelve bots on bad networks: predictions come true, shots hit what the shooter saw, and
// everything moves smoothly. Most shots that the server decides otherwise are those whose command
// came too late, a few of a thousand, in runs of two or three: one match says little, so four count
// together. A rewind which is half a tick off takes 0.2 to 0.5 % of them and fails the test.
//
// seeds: B7 B15
func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		profile   netsim.Profile
		agreement float64
		hitches   float64 // a minute
		viewCm    float64
	}{{netsim.HotelWiFi, 0.994, 2, 3}, {netsim.Ocean, 0.993, 4, 3}} {
		shots, agreed := 0, 0.0
		for seed := range uint64(4) {
			q := playMatch(t, 11+seed, c.profile)
			if q.HitchesPerMin > c.hitches || q.ViewErrorP95 > c.viewCm/100 || q.Shots < 100 {
				t.Errorf("%s: not playable:\n%s", c.profile.Name, q)
			}
			shots, agreed = shots+q.Shots, agreed+float64(q.Shots)*q.Agreement
		}
		if a := agreed / float64(shots); a < c.agreement {
			t.Errorf("%s: %.4f of %d shots hit what the shooter saw, want %v", c.profile.Name, a, shots, c.agreement)
		} else {
			t.Logf("%s: %.4f of %d shots hit what the shooter saw", c.profile.Name, a, shots)
		}
	}
}

// playMatch plays a match on a network, checks what holds of every match, and returns how it was.
func playMatch(t *testing.T, seed uint64, profile netsim.Profile) gametest.Quality {
	s := crowd(t, seed, 12, profile)
	s.Run(10 * time.Second)
	s.Measure()
	s.Run(60 * time.Second) // shorter, one run of lost packets decides
	q := s.Quality()
	t.Logf("%s: %+v", profile.Name, q)
	if err := s.Diverged(); err != nil {
		t.Errorf("%s: %v", profile.Name, err)
	}
	if q.CleanMispredictions != 0 {
		t.Errorf("%s: %d predictions were wrong without outside influence", profile.Name, q.CleanMispredictions)
	}
	// When all players stand still, each client has the server's weapons, cooldown and clock of
	// the round.
	s.Still()
	s.Run(5 * time.Second)
	for _, p := range s.Players() {
		mine, truth := *Players.Get(p.Client.World(), p.Me()), *Players.Get(s.Server.World(), p.Me())
		if mine.hands() != truth.hands() || mine.Gun != truth.Gun || mine.Pos != truth.Pos {
			t.Errorf("%s: %s predicts %+v, the server has %+v", profile.Name, p.Name, mine, truth)
		}
		var theirs, ours Round
		for _, r := range Rounds.All(p.Client.World()) {
			theirs = *r
		}
		for _, r := range Rounds.All(s.Server.World()) {
			ours = *r
		}
		if theirs != ours {
			t.Errorf("%s: %s has the round %+v, the server %+v", profile.Name, p.Name, theirs, ours)
		}
	}
	return q
}

// Timers are ticks that are sent once: the rest of the time follows from the server's tick. In each
// frame of each client, on any network, the clock of the round is within a tick of the server's. So
// is the moment from which its rifle may fire, at the tick of its command.
//
// seeds: U5
func TestTimersAgree(t *testing.T) {
	t.Parallel()
	s := crowd(t, 9, 0, netsim.LAN)
	for _, p := range []netsim.Profile{netsim.LAN, netsim.Fiber, netsim.HotelWiFi, netsim.Ocean, netsim.CityLTE,
		netsim.TrainLTE} {
		if _, err := s.Join(p.Name, p, s.Rules.Bot()); err != nil {
			t.Fatal(err)
		}
	}
	s.Run(15 * time.Second)
	k := s.Rules.Kinds[0]
	ready := k.Props[slices.IndexFunc(k.Props, func(p schema.Prop) bool { return p.Name == "Ready" })].At
	type key struct {
		player game.ID
		tick   game.Tick
	}
	believed := map[key]int64{}
	frames, off, worst := 0, 0, 0.0
	for _, p := range s.Players() {
		p.OnFrame = func() {
			c := p.Client
			if own := c.Own(c.CommandTick()); own != nil {
				if k := (key{c.Me(), c.CommandTick()}); believed[k] == 0 {
					believed[k] = own[ready]
				}
			}
			var theirs, ours Round
			for _, r := range Rounds.All(c.World()) {
				theirs = *r
			}
			for _, r := range Rounds.All(s.Server.World()) {
				ours = *r
			}
			now := float64(s.Server.Tick()) + float64(s.Loop.Now().Sub(s.Server.Now()))/float64(s.Server.Period())
			left := float64(theirs.Ends) - float64(c.ServerTick())/clock.FracPerTick
			if frames++; theirs.Number == ours.Number && theirs.Phase == ours.Phase {
				d := math.Abs(left - (float64(ours.Ends) - now))
				if worst = max(worst, d); d > 1 {
					off++
				}
			}
		}
	}
	var alike, nearly, apart int
	for range 30 * Rate {
		s.Run(time.Second / Rate)
		for _, p := range s.Players() {
			k := key{p.Me(), s.Server.Tick()}
			st, _ := s.Server.Stats(p.ID)
			if max(st.LastStarved, s.Server.Engine().LastExternalChange(k.player))+Rate >= k.tick {
				// Its commands were late, or it was hit, died or came back.
				continue
			}
			if guess, ok := believed[k]; ok {
				_, sims := s.Server.Engine().Sims(k.player)
				switch d := guess - sims[ready]; {
				case d == 0:
					alike++
				case d*d == 1:
					nearly++
				default:
					apart++
				}
			}
		}
	}
	t.Logf("%d frames, the clock of the round %.2f ticks off at most; cooldowns %d alike, %d a tick apart, %d further",
		frames, worst, alike, nearly, apart)
	if frames < 10_000 || off > 0 {
		t.Errorf("in %d of %d frames the clock of the round was more than a tick off, %.2f at most", off, frames, worst)
	}
	if alike < 3000 || apart*1000 > alike {
		t.Errorf("cooldowns: %d alike, %d a tick apart, %d further", alike, nearly, apart)
	}
}

// The height of the muzzle is never sent. Each client computes it with every command, and it equals
// the server's.
//
// seeds: B6
func TestKept(t *testing.T) {
	t.Parallel()
	same, moved, all := 0, 0, 0
	for _, seed := range []uint64{4, 5} { // a command that came too late makes a few dozen differ
		kept(t, seed, &same, &moved, &all)
	}
	if all < 1000 || moved < all/100 || same < all*98/100 {
		t.Errorf("of %d states %d had the server's muzzle, %d not at rest", all, same, moved)
	}
}

func kept(t *testing.T, seed uint64, same, moved, all *int) {
	s := crowd(t, seed, 6, netsim.Ocean)
	s.Run(5 * time.Second)
	k := s.Rules.Kinds[0]
	gun := -1
	for i := range k.Props {
		if p := &k.Props[i]; p.Name == "Gun" && p.Audience == schema.Kept {
			gun = p.At
		}
	}
	truth := map[game.Tick]map[game.ID]int64{}
	for range 20 * Rate {
		s.Run(time.Second / Rate)
		now := map[game.ID]int64{}
		for id := range Players.All(s.Server.World()) {
			_, sims := s.Server.Engine().Sims(id)
			now[id] = sims[gun]
		}
		truth[s.Server.Tick()] = now
		for _, p := range s.Players() {
			own := p.Client.Own(p.Client.Confirmed())
			then, ok := truth[p.Client.Confirmed()]
			if own == nil || !ok {
				continue
			}
			*all++
			if own[gun] == then[p.Me()] {
				*same++
			}
			if own[gun] != int64(gunStanding*100) {
				*moved++
			}
		}
	}
}

// A player who dies comes back elsewhere, and nobody sees it slide there: it is always drawn near a
// place where it was a moment before.
//
// seeds: B13
func TestNobodySlides(t *testing.T) {
	t.Parallel()
	s := crowd(t, 6, 6, netsim.Ocean)
	s.Run(3 * time.Second)
	type trail struct {
		at [2 * Rate]geom.Vec3
		n  int
	}
	trails := map[game.ID]*trail{}
	drawn, cuts := 0, 0
	var vals []float64
	for range 25 * Rate {
		s.Run(time.Second / Rate)
		for id, p := range Players.All(s.Server.World()) {
			tr := trails[id]
			if tr == nil {
				tr = &trail{}
				trails[id] = tr
			}
			if tr.n > 0 && tr.at[(tr.n-1)%len(tr.at)].Dist(p.Pos) > 1 {
				cuts++
			}
			tr.at[tr.n%len(tr.at)] = p.Pos
			tr.n++
		}
		for _, p := range s.Players() {
			vals = p.Client.Draw(vals, func(e *client.Entity) {
				tr := trails[e.ID]
				if e.Kind != 0 || e.Mine || tr == nil || tr.n < len(tr.at) {
					return
				}
				at, least := geom.Vec3{X: e.Vals[0], Y: e.Vals[1], Z: e.Vals[2]}, 1e9
				for _, was := range tr.at {
					least = min(least, was.Dist(at))
				}
				if drawn++; least > 1 {
					t.Errorf("tick %d: %s sees player %d at %v, %v m from everywhere it was", s.Server.Tick(), p.Name, e.ID, at, least)
				}
			})
		}
		if t.Failed() {
			return
		}
	}
	if drawn < 10000 || cuts < 5 {
		t.Errorf("%d drawn, %d teleports", drawn, cuts)
	}
}

func TestSameBytesTwice(t *testing.T) {
	t.Parallel()
	var hashes [3]uint64
	for i, seed := range []uint64{5, 5, 6} {
		s := crowd(t, seed, 8, netsim.Ocean)
		s.Run(8 * time.Second)
		hashes[i] = s.Hash()
	}
	if hashes[0] != hashes[1] || hashes[0] == hashes[2] {
		t.Errorf("seeds 5, 5 and 6 hash to %x", hashes)
	}
}

// A hundred players in one world all see each other, where they are.
//
// seeds: P10
func TestHundred(t *testing.T) {
	t.Parallel()
	n, span, viewError := 100, 10*time.Second, 0.5
	if testing.Short() {
		n, span, viewError = 40, 5*time.Second, 0.03
	}
	s := crowd(t, 1, n, netsim.HotelWiFi)
	s.Run(span / 2)
	s.Measure()
	s.Run(span / 2)
	if err := s.Diverged(); err != nil {
		t.Fatal(err)
	}
	compared, tooOld := s.Checked()
	if compared < uint64(n*n)*20 || tooOld > compared/100 {
		t.Errorf("%d states were compared with the truth, %d were too old", compared, tooOld)
	}
	for _, p := range s.Players() {
		if got := Players.Len(p.Client.World()); got != n {
			t.Errorf("%s sees %d players, want %d", p.Name, got, n)
		}
		drawn := 0
		p.Client.Draw(nil, func(e *client.Entity) {
			if e.Kind == 0 {
				drawn++
			}
		})
		if drawn != n {
			t.Errorf("%s draws %d players, want %d", p.Name, drawn, n)
		}
		if st, _ := s.Server.Stats(p.ID); st.MaxWindow > server.DefaultBudget {
			t.Errorf("%s was sent %d bytes in a second, at most %d are allowed", p.Name, st.MaxWindow, server.DefaultBudget)
		}
	}
	if q := s.Quality(); q.ViewErrorP95 > viewError {
		t.Errorf("players are drawn %.2f m from where they were at that moment", q.ViewErrorP95)
	}
	// Near players are known roughly where they are now, as the budget goes to what is near.
	far := 0
	for _, p := range s.Players() {
		me := Players.Get(s.Server.World(), p.Me()).Pos
		for id, o := range Players.All(p.Client.World()) {
			truth := Players.Get(s.Server.World(), id).Pos
			if id != p.Me() && truth.Dist(me) < 10 && o.Pos.Dist(truth) > 5 {
				far++
			}
		}
	}
	if far > n/2 {
		t.Errorf("%d near players are known more than 5 m off", far)
	}
}
