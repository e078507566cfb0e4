package server

import (
	"testing"

	"meanwhile/game"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/wire"
)

// Rules see that a player has hidden its page or lost its connection, until it is back.
func TestRulesSeeWhoIsAway(t *testing.T) {
	n := newNest(t, Config{})
	var ann, bob game.ID
	var away [2]bool
	n.referee = func(w *game.World) { away = [2]bool{w.Away(ann), w.Away(bob)} }
	p, q := n.connect("ann"), n.connect("bob")
	n.tick(nil)
	ann, bob = n.s.Avatar(p.id), n.s.Avatar(q.id)
	check := func(what string, want [2]bool) {
		t.Helper()
		n.tick(nil)
		if away != want {
			t.Errorf("%s: away are %v, want %v", what, away, want)
		}
	}
	hide := func(hidden bool) {
		p.seq++
		h := wire.Header{Seq: p.seq, Stamp: n.now.Stamp(), Elicits: true}
		p.w.Reset(nil)
		h.Append(&p.w, wire.Known{})
		packet.Uplink{Away: hidden}.Append(&p.w)
		packet.AppendCommands(&p.w, n.s.rules.Command, nil, h.Ack)
		n.s.Receive(p.id, n.now, p.w.Bytes())
	}
	p.send()
	q.send()
	check("both play", [2]bool{})
	hide(true)
	check("a hidden page", [2]bool{true, false})
	hide(false)
	check("shown again", [2]bool{})
	n.s.Suspend(q.id, n.now)
	check("no connection", [2]bool{false, true})
	if _, ok := n.s.Resume(q.id, n.now, true); !ok {
		t.Fatal("not resumed")
	}
	check("back", [2]bool{})
	n.s.Disconnect(q.id)
	check("gone", [2]bool{})
}
