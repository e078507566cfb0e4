package host

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/rewind"
	"meanwhile/server"
)

// Whose shots differ most from what the client claims comes first, whether they were judged by
// another time or hit something else; whoever shot twice as often is no more suspect for that.
func TestSuspectsFirst(t *testing.T) {
	player := func(agreed, disagreed uint64, clamped ...bool) (p PlayerReceipts) {
		p.Agreed, p.Disagreed = agreed, disagreed
		for _, c := range clamped {
			x := server.Receipt{Stated: clock.Tick(10).Frac(), Used: clock.Tick(10).Frac()}
			if c {
				x.Used, x.Reason = clock.Tick(12).Frac(), rewind.TooOld
			}
			p.Receipts = append(p.Receipts, x)
		}
		return p
	}
	var odd []uint64
	for _, p := range []PlayerReceipts{
		player(0, 0, true, true), player(50, 50), player(20, 0, true, true, false), player(200, 2), player(100, 1),
		player(100, 0, false),
	} {
		odd = append(odd, p.odd())
	}
	if !slices.IsSortedFunc(odd, func(a, b uint64) int { return int(b) - int(a) }) || odd[0] != 1000 || odd[5] != 0 {
		t.Errorf("%v", odd)
	}
}

// A host lists who has shot, and counts the shots of humans when they have left, too.
//
// seeds: B15
func TestReceipts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Bots: 3})
		defer s.end()
		ann := s.join("ann", "")
		time.Sleep(20 * time.Second)
		list := s.Receipts("")
		shots := 0
		for _, p := range list {
			if p.Room != s.cfg.Room || p.Agreed == 0 || p.Disagreed > p.Agreed/2 || len(p.Receipts) == 0 {
				t.Errorf("%+v", p)
			}
			shots += len(p.Receipts)
			for _, x := range p.Receipts {
				if x.Tick > p.Tick || x.Used > x.Tick.Frac() || x.Used < x.Bound {
					t.Errorf("%s: %+v", p.Name, x)
				}
			}
		}
		if len(list) < 3 || shots < 10 {
			t.Errorf("%d players, %d shots", len(list), shots)
		}
		if here, none := s.Receipts(s.cfg.Room), s.Receipts("elsewhere"); len(here) < 3 || len(none) > 0 {
			t.Errorf("%d players in this room, %d in one that there is not", len(here), len(none))
		}
		before := s.Stats().Agreed
		ann.leave()
		if err := <-ann.left; err != nil {
			t.Error(err)
		}
		time.Sleep(3 * time.Second)
		if st := s.Stats(); st.Players != 0 || before == 0 || st.Agreed < before || st.Disagreed > st.Agreed/2 {
			t.Errorf("%d shots agreed while she played, %d and %d not when she has left", before, st.Agreed, st.Disagreed)
		}
	})
}
