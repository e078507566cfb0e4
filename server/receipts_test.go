package server

import (
	"slices"
	"testing"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/wire"
)

func count(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// A receipt goes out until it is known to have arrived, at most packet.MaxReceipts with a datagram
// and maxUnsent at a time, the newest if there are more. Nobody who does not shoot has any.
func TestReceiptsArrive(t *testing.T) {
	ticks := func(r packet.Receipts) (list []clock.Tick) {
		for _, x := range r.List[:r.N] {
			list = append(list, x.Tick)
		}
		return list
	}
	var l receipts
	take := func(seq wire.Seq, want ...clock.Tick) {
		t.Helper()
		var r packet.Receipts
		if l.take(&r, seq); !slices.Equal(ticks(r), want) {
			t.Fatalf("packet %d has receipts of %v, want %v", seq, ticks(r), want)
		}
	}
	for tick := clock.Tick(1); tick <= 6; tick++ {
		l.queue(packet.Receipt{Tick: tick})
	}
	take(10, 1, 2, 3, 4)
	take(11, 5, 6)
	take(12)
	l.settle(10, false)
	l.settle(11, true)
	l.settle(9, true) // of another packet
	take(13, 1, 2, 3, 4)
	l.settle(10, true) // it is late, and 13 may be lost
	l.settle(13, false)
	take(14, 1, 2, 3, 4)
	l.settle(14, true)
	take(15)
	for tick := clock.Tick(1); tick <= maxUnsent+3; tick++ {
		l.queue(packet.Receipt{Tick: tick})
	}
	take(16, 4, 5, 6, 7)

	var none *receipts
	none.settle(1, true)
	none.take(&packet.Receipts{}, 1)
}

// The server keeps receipts of those who shoot, the newest receiptRing, and of nobody else. What a
// command hit is the entities that its rules got, of those that they had looked at. A claim that
// differs in the entity or in how it was drawn is counted, and answered; one that agrees is
// answered with a bit.
//
// seeds: B15 B20
func TestReceiptsOfClaims(t *testing.T) {
	n := newNest(t, Config{})
	var targets []game.ID // whom ann's commands get
	looks := false
	n.act = func(w *game.World, me game.ID, c antCmd) {
		if p := ants.Get(w, me); p.Pos.X < 10 {
			p.Pos = geom.Vec2{X: 10 * float64(me)}
		}
		if me != 1 || !looks {
			return
		}
		ants.Get(w, 3) // before it looks
		for range ants.Seen(w, me) {
		}
		for _, id := range targets {
			ants.Get(w, id)
		}
		ants.Get(w, me)
		ants.Get(w, 4) // there is none
	}
	ann := n.connect("ann")
	n.connect("bob")
	n.connect("cid")
	newest := func() wire.Seq { a, _ := ann.recv.Ack(); return a.Latest }
	var got []packet.Receipt
	shoot := func(claim packet.Claim) {
		c := command(n.s.Tick()+1, antCmd{Bite: true})
		c.Seen, c.Newest, c.Claim = (n.s.Tick() - 2).Frac(), newest(), claim
		ann.send(c)
		n.tick(func(p PlayerID, b []byte) {
			if p == ann.id {
				ann.take(b)
				got = append(got, ann.receipts...)
			}
		})
	}
	for range 20 {
		shoot(packet.Missed)
	}
	if list := n.s.Receipts(ann.id, nil); list != nil || n.s.Receipts(99, nil) != nil {
		t.Errorf("receipts of a player who has not looked: %v", list)
	}
	looks, targets = true, []game.ID{3}
	_, p := n.s.find(ann.id)
	cmd := &packet.Command{Tick: n.s.Tick(), Seen: (n.s.Tick() - 2).Frac(), Newest: newest(),
		Vals: make([]int64, antCmdInts)}
	n.s.seer.begin(p, cmd)
	if err := n.s.eng.Act(1, cmd.Vals, &n.s.seer, false); err != nil {
		t.Fatal(err)
	}
	hits, hash := n.s.eng.Hits(1, &n.s.seer, nil)
	_, _, bob, _ := n.s.eng.See(1, 2, 0, &n.s.seer)
	if len(hits) != 1 || hits[0].ID != 3 || hits[0].At.X != 30 {
		t.Fatalf("ann hits %v", hits)
	}
	three := []game.ID{3}
	right, both := packet.HitClaim(3, hash), packet.HitClaim(3, 31*bob+hash)
	of := func(hit bool, target uint32) packet.Receipt {
		return packet.Receipt{Hit: hit, Target: target, At: [3]int64{int64(target) * 1000}}
	}
	same := []packet.Receipt{{Same: true}}
	for _, c := range []struct {
		name    string
		claim   packet.Claim
		targets []game.ID
		verdict Verdict
		kept    [][3]int32 // of each receipt the target, the claimed one and how far off
		got     []packet.Receipt
	}{
		{"the truth", right, three, Agreed, [][3]int32{{3, 3, 0}}, same},
		{"drawn otherwise", packet.HitClaim(3, hash+1), three, Disagreed, [][3]int32{{3, 3, -1}},
			[]packet.Receipt{of(true, 3)}},
		{"another one", packet.HitClaim(2, 7), three, Disagreed, [][3]int32{{3, 0, -1}, {0, 2, -1}},
			[]packet.Receipt{of(true, 3), of(false, 2)}},
		{"one that it does not see", packet.HitClaim(900, 7), three, Disagreed, [][3]int32{{3, 0, -1}, {0, 0, -1}},
			[]packet.Receipt{of(true, 3), {}}},
		{"nobody", packet.Missed, three, Disagreed, [][3]int32{{3, 0, -1}}, []packet.Receipt{of(true, 3)}},
		{"nothing", 0, three, Unstated, [][3]int32{{3, 0, -1}}, []packet.Receipt{of(true, 3)}},
		{"a hit of its own", right, nil, Disagreed, [][3]int32{{0, 3, 0}}, []packet.Receipt{of(false, 3)}},
		{"both", both, []game.ID{2, 3}, Agreed, [][3]int32{{2, 2, 0}, {3, 3, 0}}, same},
		{"one of both", right, []game.ID{2, 3}, Disagreed, [][3]int32{{2, 0, -1}, {3, 3, 0}},
			[]packet.Receipt{of(true, 2), of(true, 3)}},
		{"both of one", both, three, Disagreed, [][3]int32{{3, 3, -1}}, []packet.Receipt{of(true, 3)}},
		{"the newest four of many", right, []game.ID{2, 3, 5, 6, 7, 8}, Disagreed, [][3]int32{{0, 3, 0}},
			[]packet.Receipt{of(false, 3)}},
	} {
		before, _ := n.s.Stats(ann.id)
		got, targets = nil, c.targets
		shoot(c.claim)
		looks = false
		for range 10 {
			shoot(0)
		}
		looks = true
		list := n.s.Receipts(ann.id, nil)
		list = list[max(len(list)-len(c.kept), 0):]
		for i, x := range list {
			if want := c.kept[i]; x.Verdict != c.verdict || [3]int32{int32(x.Target), int32(x.Claimed), x.Off} != want ||
				x.Reason != 0 {
				t.Errorf("%s: %+v, want %v", c.name, x, want)
			}
		}
		after, _ := n.s.Stats(ann.id)
		agreed, not := after.Agreed-before.Agreed, after.Disagreed-before.Disagreed
		if agreed != count(c.verdict == Agreed) || not != count(c.verdict == Disagreed) {
			t.Errorf("%s: %d agreed, %d did not", c.name, agreed, not)
		}
		for i := range c.got {
			c.got[i].Tick = list[0].Tick
		}
		if !slices.Equal(got, c.got) {
			t.Errorf("%s: the player receives %+v, want %+v", c.name, got, c.got)
		}
	}
	targets = three
	for range receiptRing {
		shoot(right)
	}
	list := n.s.Receipts(ann.id, nil)
	if len(list) != receiptRing || list[0].Tick != list[receiptRing-1].Tick-receiptRing+1 {
		t.Errorf("%d receipts from tick %d on", len(list), list[0].Tick)
	}
	cmd.Tick, cmd.Seen, cmd.Newest = n.s.Tick(), (n.s.Tick() - 2).Frac(), newest()
	kept := p.down.receipts.n
	if allocs := testing.AllocsPerRun(100, func() {
		n.s.seer.begin(p, cmd)
		_ = n.s.eng.Act(1, cmd.Vals, &n.s.seer, false)
		n.s.seer.end(cmd)
	}); allocs > 0 || p.down.receipts.n == kept {
		t.Errorf("a shot with its receipt allocates %v times, of %d receipts", allocs, p.down.receipts.n-kept)
	}
	leavesAndIsClaimed(t, n, p, cmd, packet.HitClaim(3, hash+1))
}

// leavesAndIsClaimed tests what a client learns that still showed entity 3, which has left its
// sight since: not where it is.
func leavesAndIsClaimed(t *testing.T, n *nest, p *player, cmd *packet.Command, claim packet.Claim) {
	i, _ := n.s.hist.Find(3)
	p.down.view.Leave(i)
	cmd.Claim = claim
	n.s.seer.begin(p, cmd)
	_ = n.s.eng.Act(1, cmd.Vals, &n.s.seer, false)
	n.s.seer.end(cmd)
	l := p.down.receipts
	if got := l.unsent[l.waits-1].Receipt; !got.Hit || got.Target != 0 || got.At != [3]int64{} {
		t.Errorf("of one that left its sight the player receives %+v", got)
	}
}
