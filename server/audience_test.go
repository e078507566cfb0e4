package server

import (
	"slices"
	"testing"
	"time"

	"meanwhile/netcode/packet"
	"meanwhile/session"
)

// groupsOf returns which groups a client knows of its first entity. An ant has a property for its
// owner.
func groupsOf(p *peer) (known []int) {
	for g, x := range p.store.Entities()[0].Groups {
		if x.Newest() != nil {
			known = append(known, g)
		}
	}
	return known
}

// An audience sees a world and is not heard in it: no command of its clients runs, their messages
// reach no rules, requests are refused, and who sends too many is sent away.
func TestAudienceIsNotHeard(t *testing.T) {
	const late = 3 * time.Second
	n := newNest(t, Config{})
	n.keep = true
	ann := n.connect("ann")
	n.tick(func(_ PlayerID, b []byte) { ann.take(b) })
	a, err := NewAudience(n.s, 2, late)
	if err != nil {
		t.Fatal(err)
	}
	hall := &nest{t: t, s: a, now: n.now.Add(late)} // its clients
	eve := hall.talker("eve")
	if eve.welcome.Late != late || eve.welcome.Tick != n.s.Tick() || eve.welcome.ServerTime != hall.now {
		t.Errorf("welcomed with %+v", eve.welcome)
	}
	tick := func() {
		n.now = n.now.Add(n.s.Period())
		hall.now = n.now.Add(late)
		n.s.Begin(n.now)
		n.out.Reset()
		n.s.Encode(0, n.s.Clients(), &n.out)
		for i := range n.out.Len() {
			_, b := n.out.At(i)
			ann.take(b)
		}
		a.Begin(0)
		hall.out.Reset()
		a.Encode(0, a.Clients(), &hall.out)
		for i := range hall.out.Len() {
			_, b := hall.out.At(i)
			eve.take(b)
		}
		a.End()
		n.s.End()
	}
	for range 20 {
		n.s.Receive(ann.id, n.now, ann.packet())
		eve.send(command(n.s.Tick()+2, antCmd{Tool: 7}))
		tick()
	}
	for _, r := range n.ran {
		if r.c.Tool == 7 {
			t.Fatal("a command of the audience ran")
		}
	}
	if a.Avatar(eve.id) != 0 || len(eve.store.Entities()) != 1 || len(n.s.Players(nil)) != 1 {
		t.Errorf("eve has avatar %d and %d entities", a.Avatar(eve.id), len(eve.store.Entities()))
	}
	if mine, seen := groupsOf(ann), groupsOf(eve.peer); len(mine) == 0 || len(seen) == 0 || slices.Equal(mine, seen) {
		t.Errorf("ann knows groups %v, eve %v", mine, seen)
	}
	for i := range packet.Request(3) {
		eve.queue(squeakKind, text("hey"))
		eve.queue(digKind, append([]byte{byte(i)}, 3<<4))
		eve.deliver()
		tick()
	}
	for range 20 {
		eve.send()
		tick()
	}
	if len(n.heard) != 0 {
		t.Errorf("the rules heard %q", n.heard)
	}
	refused := 0
	for _, m := range eve.events {
		if _, _, why, no, err := packet.DecodeAnswer(m.Body); err == nil && no && why == "you only watch" {
			refused++
		}
	}
	if refused != 3 {
		t.Errorf("%d of 3 requests were refused: %v", refused, eve.events)
	}
	a.SetLate(session.MaxGrace + time.Second) // by a hang, of those who watch as late as they may
	if _, w, err := a.Connect(hall.now, "carl"); err != nil || w.Late != session.MaxGrace {
		t.Errorf("later than a welcome can say: %v, %v", w.Late, err)
	}
	a.SetLate(late)
	for range maxRefused {
		eve.queue(squeakKind, text("hey"))
		eve.deliver()
		tick()
	}
	if ends := a.Ends(); len(ends) != 1 || !ends[0].Refused {
		t.Errorf("who sends too many: %+v", ends)
	}
}
