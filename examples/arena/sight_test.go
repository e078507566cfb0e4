package arena

import (
	"fmt"
	"testing"
	"unsafe"

	"meanwhile/geom"
	"meanwhile/internal/verify/golden"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

// The cost of a player who comes into sight: everything that others receive of it. Half of that,
// its score, deaths, crouch and aim, is as when it joined. The name is sent apart, once.
//
// seeds: X12
func TestFirstSight(t *testing.T) {
	rules, err := Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	k := rules.Kinds[0]
	h := snapshot.NewHistory(rules.Coders)
	v := snapshot.NewView(h)
	h.Begin(100)
	i := h.Add(300, 0, false)
	p := Player{
		Pos:    geom.Vec3{X: 31.4, Y: 17.2, Z: 2.5},
		Vel:    geom.Vec3{X: -3.1, Y: 4.2},
		Health: 75,
		Name:   "Wilhelmina",
		Alive:  true,
	}
	sims := make([]int64, k.Sims)
	k.Extract(unsafe.Pointer(&p), sims)
	h.Record(i, sims, false)
	v.Enter(i, snapshot.Observed)
	var w wire.BitWriter
	w.Reset(nil)
	due := v.Pending(clock.Time(1), 0, nil)
	var log wire.Log
	new(snapshot.Writer).All(&w, v, due, log.Sent(1, 100, nil), 1)
	name := 0
	v.UnsentTexts(nil, func(body []byte) bool { name += len(body); return true })
	props := ""
	for _, q := range k.Props {
		if q.Audience == schema.Everyone {
			props += " " + q.Name
		}
	}
	t.Logf("first sight of%s: %d bits, and once the name: %d bytes", props, w.Len(), name)
	golden.Quoted(t, "../../docs/results/codec.md", fmt.Sprintf("%d bits and the name (`go test", w.Len()))
	if w.Len() > 250 || name != 2+len(p.Name) {
		t.Errorf("a first sight takes %d bits, want at most 250; the name %d bytes", w.Len(), name)
	}
}
