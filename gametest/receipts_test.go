package gametest

import (
	"fmt"
	"math"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/netcode/rewind"
	"meanwhile/netsim"
	"meanwhile/server"
)

// A tally is what receipts of a match say: those that clients got, and those that the server kept.
type tally struct {
	server.CommandStats
	got, off   int // receipts that clients got, and those of targets judged elsewhere
	incomplete int // without one of both places
	reasons    map[rewind.Reason]int
	kept       []server.Receipt
}

// duel plays zap across an ocean on a server of cfg; with a shotgun that meets all in sight.
func duel(t *testing.T, cfg server.Config, shotgun bool) (sum tally) {
	def := zap.Game
	if act := def.Act; shotgun {
		def.Act = func(w *game.World, me game.ID, c zap.Cmd) {
			act(w, me, c)
			for id := range zap.Pilots.Seen(w, me) {
				if c.Fire {
					zap.Pilots.Get(w, id)
				}
			}
		}
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSim(rules, 3, cfg)
	if err != nil {
		t.Fatal(err)
	}
	sum.reasons = map[rewind.Reason]int{}
	var list []client.Receipt
	var players []*Player
	for n := range 6 {
		p, err := s.Join(fmt.Sprint(n), netsim.Ocean, rules.Bot())
		if err != nil {
			t.Fatal(err)
		}
		players = append(players, p)
		p.OnFrame = func() {
			list = p.Client.Receipts(list[:0])
			for _, r := range list {
				sum.got++
				sum.reasons[r.Reason]++
				apart := r.Seen.Dist(r.Used)
				switch {
				case r.Target == 0 || r.Target == p.Me():
					t.Fatalf("%+v", r)
				case math.IsNaN(apart):
					sum.incomplete++
				case apart > 0.02: // beyond centimetres
					sum.off++
				}
			}
		}
	}
	s.Run(60 * time.Second)
	for _, p := range players {
		st, _ := s.Server.Stats(p.ID)
		sum.Agreed += st.Agreed
		sum.Disagreed += st.Disagreed
		sum.kept = append(sum.kept, s.Server.Receipts(p.ID, nil)...)
	}
	return sum
}

// What clients claim to have hit is what the server hit, drawn in the same way. With a bound that a
// path across an ocean exceeds the server says so, and both sides know how far apart their pictures
// were.
//
// seeds: B15 B17
func TestReceiptsAcrossAnOcean(t *testing.T) {
	sum := duel(t, server.Config{}, false)
	// Over eight seeds 2 % disagree, of 250 shots of one between 1 and 4 %.
	if all := sum.Agreed + sum.Disagreed; all < 200 || float64(sum.Disagreed) > 0.05*float64(all) {
		t.Errorf("%d shots agreed, %d did not", sum.Agreed, sum.Disagreed)
	}
	if sum.got < 50 || sum.off > sum.got/50 || sum.incomplete > sum.got/10 || sum.reasons[rewind.Exact] < sum.got*9/10 {
		t.Errorf("%d receipts, %d of targets judged elsewhere, %d incomplete, reasons %v", sum.got, sum.off,
			sum.incomplete, sum.reasons)
	}
	for _, x := range sum.kept {
		if x.Reason == rewind.Exact && (x.Used != x.Stated || x.Verdict == server.Agreed && x.Off != 0) {
			t.Errorf("%+v", x)
		}
	}

	sum = duel(t, server.Config{Rewind: time.Millisecond, RewindTotal: 150 * time.Millisecond}, false)
	if sum.Disagreed < sum.Agreed/10 || sum.off < sum.got/5 || sum.reasons[rewind.TooOld] < sum.got/5 {
		t.Errorf("with a bound of 150 ms %d agreed, %d did not; %d of %d receipts were off, reasons %v", sum.Agreed,
			sum.Disagreed, sum.off, sum.got, sum.reasons)
	}
	known := 0
	for _, x := range sum.kept {
		if x.Reason == rewind.TooOld && (x.Used != x.Bound || x.Stated >= x.Bound) {
			t.Errorf("%+v", x)
		}
		if x.Off > 20 && x.Claimed != 0 {
			known++
		}
	}
	if known < 10 {
		t.Errorf("of %d receipts %d know how far the target was from where it was drawn", len(sum.kept), known)
	}
}

// A shot that hits several has a receipt of each, on both sides.
func TestReceiptsOfShotguns(t *testing.T) {
	sum := duel(t, server.Config{}, true)
	// Over eight seeds 2 % disagree, of 250 shots of one between 1 and 4 %.
	if all := sum.Agreed + sum.Disagreed; all < 200 || float64(sum.Disagreed) > 0.05*float64(all) {
		t.Errorf("%d shots agreed, %d did not", sum.Agreed, sum.Disagreed)
	}
	if all := sum.Agreed + sum.Disagreed; sum.got < 3*int(all) || sum.off > sum.got/50 || sum.incomplete > sum.got/10 {
		t.Errorf(
			"%d shots, %d receipts, %d of targets judged elsewhere, %d incomplete",
			all,
			sum.got,
			sum.off,
			sum.incomplete,
		)
	}
}
