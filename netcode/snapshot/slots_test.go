package snapshot

import (
	"testing"

	"pgregory.net/rapid"
)

// Entities are found by their index, whichever came and went before.
func TestFind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(t)
		p.begin()
		for range Slots + 20 {
			p.spawn(gemKind, false)
		}
		p.record()
		in := map[int32]bool{}
		check := func() {
			for i := range int32(Slots + 20) {
				n, ok := p.v.slots.find(i)
				if ok != in[i] || ok && p.v.slots.list[n].ent != i {
					t.Fatalf("entity %d is in slot %d: %v, want %v", i, n, ok, in[i])
				}
			}
			if n, _ := p.v.Count(); n != len(in) {
				t.Fatalf("%d entities, want %d", n, len(in))
			}
		}
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			from, step := rapid.IntRange(0, Slots).Draw(t, "from"), rapid.IntRange(1, 7).Draw(t, "step")
			leave := rapid.Bool().Draw(t, "leave")
			for n := range rapid.IntRange(0, Slots+20).Draw(t, "many") {
				i := int32((from + n*step) % (Slots + 20))
				if leave {
					p.v.Leave(i)
					delete(in, i)
				} else if p.v.Enter(i, Observed) {
					in[i] = true
				} else if len(in) < Slots {
					t.Fatalf("no slot for entity %d beside %d", i, len(in))
				}
			}
			check()
		}
	})
}
