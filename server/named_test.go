package server

import "testing"

// A message of a player comes with its avatar's ID, but not to players from whom the rules hide
// that avatar: they would learn that it exists, and which one speaks.
func TestHiddenPlayersSpeakWithoutAName(t *testing.T) {
	n := newSpies(t)
	red := n.talker("red1")
	peers := map[string]*peer{"red1": red.peer, "red2": n.connect("red2"), "blue1": n.connect("blue1")}
	n.tick(nil)
	red.queue(squeakKind, text("psst"))
	red.deliver()
	for range 5 {
		n.tick(func(id PlayerID, b []byte) {
			for _, p := range peers {
				if p.id == id {
					p.take(b)
				}
			}
		})
	}
	me := uint32(n.s.Avatar(red.id))
	for name, want := range map[string]uint32{"red1": me, "red2": me, "blue1": 0} {
		p := peers[name]
		if len(p.events) != 1 || p.events[0].Entity != want {
			t.Errorf("%s received %+v, want one message from %d", name, p.events, want)
		}
	}
}
