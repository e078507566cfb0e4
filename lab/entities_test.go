package lab

import (
	"testing"
	"time"

	"meanwhile/netsim"
)

// Among 200 entities that stop and go, with a budget for 40 of them at a time: near ones are drawn
// less than half as late as far ones, nearly none stalls, and movement is even. Without announced
// bounds it stops and goes.
//
// seeds: R12 R42
func TestCrowdIsDrawnAsAnnounced(t *testing.T) {
	budget, err := crowdBudget(netsim.Fiber, 40)
	if err != nil {
		t.Fatal(err)
	}
	look := func(noBounds bool) *onlooker {
		o, err := watch(netsim.Fiber, 3, budget, noBounds, nil, 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	o, naive := look(false), look(true)
	near, far := o.own.near/float64(o.own.nears), o.own.far/float64(o.own.fars)
	if 2*near > far {
		t.Errorf("near ones are drawn %.0f ms late, far ones %.0f ms", near, far)
	}
	early, broken := float64(o.early)/float64(o.promised), float64(o.broken)/float64(o.promised)
	t.Logf("delay near %.0f far %.0f mean %.0f ms, %.2f hitches per entity-minute; sooner than announced %.3f, "+
		"later %.4f of %d", near, far, o.own.mean(), o.own.hitching(), early, broken, o.promised)
	if o.promised < 10_000 || broken > 0.01 || early > 0.95 {
		t.Errorf("of %d records %.3f came sooner than was announced and %.4f later", o.promised, early, broken)
	}
	if share := o.own.hitching() / 60 / 2; share > 0.02 { // a hitch is shorter than half a second here
		t.Errorf("%.2f hitches per entity-minute", o.own.hitching())
	}
	even, uneven := o.own.drawn.variance(), naive.own.drawn.variance()
	if 2*even > uneven {
		t.Errorf("the variance of the speed is %.3f, without bounds %.3f", even, uneven)
	}
	ours, theirs := o.player.Client.Stats().EntityHitches-o.hitches,
		naive.player.Client.Stats().EntityHitches-naive.hitches
	t.Logf("the client counts %d hitches of entities with bounds, %d without", ours, theirs)
	if ours > 50 || theirs < 1000 {
		t.Errorf("the client counts %d hitches of entities with bounds, %d without", ours, theirs)
	}
}
